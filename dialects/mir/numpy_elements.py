"""NumPy's functions of elements, and its reductions, on values of a graph; those of shapes are in `numpy_shapes.py`.

Each has NumPy's name and arguments, and is what builder methods make of it. `UFUNCS` have one element at a time,
`FUNCTIONS` are the others.
"""

# Trees, and what NumPy is called with, are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from xdsl_rlx.dialects.errors import GraphTypeError
from xdsl_rlx.dialects.mir.promotion import Kind, applied, innermost, together
from xdsl_rlx.dialects.mir.value import Operand, Value
from xdsl_rlx.dialects.shapes import normalize_axis

Axis: TypeAlias = int | Sequence[int] | None
Function: TypeAlias = Callable[..., Any]

UFUNCS: dict[str, tuple[str, Kind]] = {
    **{
        name: (name, Kind.FITTING)
        for name in (
            *("exp", "log", "sqrt", "sin", "cos", "tan", "tanh", "exp2", "log2", "log1p", "expm1", "cbrt"),
            *("sinh", "cosh", "hypot", "logaddexp", "copysign"),
        )
    },
    **{
        name: (short, Kind.FITTING)
        for name, short in {
            "arcsin": "asin",
            "arccos": "acos",
            "arctan": "atan",
            "arctan2": "atan2",
            "arcsinh": "asinh",
            "arccosh": "acosh",
            "arctanh": "atanh",
            "rint": "round",
            "reciprocal": "recip",
            "isnan": "is_nan",
            "isinf": "is_inf",
            "isfinite": "is_finite",
        }.items()
    },
    **{name: (name, Kind.AS_IS) for name in ("add", "matmul", "sign", "floor", "ceil", "trunc")},
    **{
        name: (short, Kind.AS_IS)
        for name, short in {
            "subtract": "sub",
            "multiply": "mul",
            "power": "pow",
            "float_power": "pow",
            "floor_divide": "floordiv",
            "remainder": "mod",
            "fmod": "rem",
            "maximum": "max",
            "minimum": "min",
            "negative": "neg",
            "absolute": "abs",
            "conjugate": "conjugate",
            "bitwise_and": "and_",
            "bitwise_or": "or_",
            "bitwise_xor": "xor",
            "invert": "not_",
            "left_shift": "shift_left",
            "right_shift": "shift_right",
            "equal": "eq",
            "not_equal": "ne",
            "less": "lt",
            "less_equal": "le",
            "greater": "gt",
            "greater_equal": "ge",
        }.items()
    },
    "divide": ("div", Kind.FLOATS),
    "logical_and": ("and_", Kind.TRUTH),
    "logical_or": ("or_", Kind.TRUTH),
    "logical_xor": ("xor", Kind.TRUTH),
    "logical_not": ("not_", Kind.TRUTH),
}
"""Universal functions of NumPy: the builder method that does the same, and what it computes in."""

SPELLED_OUT: dict[str, Function] = {
    "square": lambda x: x * x,
    "positive": lambda x: x,
    "degrees": lambda x: x * 57.29577951308232,
    "radians": lambda x: x * 0.017453292519943295,
    "rad2deg": lambda x: x * 57.29577951308232,
    "deg2rad": lambda x: x * 0.017453292519943295,
    "fabs": lambda x: ufunc("absolute", x),
    "divmod": lambda x, y: (ufunc("floor_divide", x, y), ufunc("remainder", x, y)),
}
"""Universal functions that are few of the others."""

_REDUCED = {
    "add": "sum",
    "multiply": "prod",
    "maximum": "max",
    "minimum": "min",
    "logical_and": "all",
    "logical_or": "any",
}


def ufunc(name: str, *operands: Operand) -> Any:
    """A universal function of NumPy; GraphTypeError for one that no op computes."""
    if (made := SPELLED_OUT.get(name)) is not None:
        return made(*operands)
    if (row := UFUNCS.get(name)) is None:
        raise GraphTypeError(f"np.{name} does not take a value of a graph: no op computes it")
    return applied(*((row[0], operands, row[1])))


def reduced(name: str, x: Value, axis: Axis = 0, **options: Any) -> Value:
    """`np.add.reduce` and its like."""
    if name not in _REDUCED:
        raise GraphTypeError(f"np.{name}.reduce does not take a value of a graph")
    return FUNCTIONS[_REDUCED[name]](x, axis, **options)


FUNCTIONS: dict[str, Function] = {}
"""NumPy's other functions."""


def row(*names: str) -> Callable[[Function], Function]:
    def register(function: Function) -> Function:
        for name in names or (function.__name__.strip("_"),):
            FUNCTIONS[name] = function
        return function

    return register


def as_value(x: Operand, *others: Operand) -> Value:
    """An operand as a value, of the graph that the others are of."""
    if isinstance(x, Value):
        return x
    builder = innermost(others)
    return builder.value(builder.operand(x))


def as_floats(x: Value) -> Value:
    """As NumPy has means: of floats, and integers as f64."""
    _, (converted,), _ = together([x], Kind.FLOATS)
    return as_value(converted)


@row("sum")
def sum_of(x: Value, axis: Axis = None, dtype: object = None, keepdims: bool = False) -> Value:
    """The sum over some axes, by default all; integers and truth values are summed in i64."""
    return x.b.reduce_sum(x, axis, keepdims, dtype=dtype)


@row("prod")
def _prod(x: Value, axis: Axis = None, dtype: object = None, keepdims: bool = False) -> Value:
    """The product over some axes, by default all."""
    return x.b.reduce_prod(x, axis, keepdims, dtype=dtype)


@row("mean")
def _mean(x: Value, axis: Axis = None, dtype: object = None, keepdims: bool = False) -> Value:
    """The mean over some axes, by default all; of integers in f64."""
    x = as_floats(x if dtype is None else x.b.cast(x, dtype))
    return x.b.reduce_mean(x, axis, keepdims)


@row("max", "amax")
def largest(x: Value, axis: Axis = None, keepdims: bool = False) -> Value:
    """The largest element over some axes, by default all; NaN if one is NaN."""
    return x.b.reduce_max(x, axis, keepdims)


@row("min", "amin")
def _min(x: Value, axis: Axis = None, keepdims: bool = False) -> Value:
    """The smallest element over some axes, by default all; NaN if one is NaN."""
    return x.b.reduce_min(x, axis, keepdims)


@row("var")
def _var(x: Value, axis: Axis = None, ddof: int = 0, keepdims: bool = False) -> Value:
    """The mean of squared distances to the mean, of which the number of elements is reduced by `ddof`."""
    x = as_floats(x)
    return x.b.var(x, axis, ddof, keepdims)


@row("std")
def _std(x: Value, axis: Axis = None, ddof: int = 0, keepdims: bool = False) -> Value:
    """The square root of `var`."""
    x = as_floats(x)
    return x.b.std(x, axis, ddof, keepdims)


@row("any")
def _any(x: Value, axis: Axis = None, keepdims: bool = False) -> Value:
    """Whether an element is not 0."""
    return x.b.any(x, axis, keepdims)


@row("all")
def _all(x: Value, axis: Axis = None, keepdims: bool = False) -> Value:
    """Whether all elements are not 0."""
    return x.b.all(x, axis, keepdims)


@row("count_nonzero")
def _count_nonzero(x: Value, axis: Axis = None, keepdims: bool = False) -> Value:
    """How many elements are not 0."""
    return sum_of(ufunc("not_equal", x, 0), axis, keepdims=keepdims)


@row("average")
def _average(x: Value, axis: Axis = None, weights: Operand | None = None, keepdims: bool = False) -> Value:
    """The mean, each element counted as often as its weight says."""
    if weights is None:
        return _mean(x, axis, keepdims=keepdims)
    weights = as_value(weights, x)
    if weights.rank == 1 and isinstance(axis, int) and x.rank > 1:
        shape = [1] * x.rank
        shape[normalize_axis(axis, x.rank)] = weights.shape[0]
        weights = weights.reshape(shape)
    weights = weights.b.expand(weights, x.shape)
    return sum_of(x * weights, axis, keepdims=keepdims) / sum_of(weights, axis, keepdims=keepdims)


@row("where")
def _where(condition: Operand, x: Operand, y: Operand) -> Value:
    """Elements of `x` where the condition holds, else of `y`."""
    builder = innermost([condition, x, y])
    if isinstance(x, Value) or isinstance(y, Value):
        _, (x, y), _ = together([x, y])
    return builder.where(condition, x, y)


@row("clip")
def _clip(
    x: Value, a_min: Operand | None = None, a_max: Operand | None = None, *, min: Any = None, max: Any = None
) -> Value:
    """The elements, or the end of `[a_min, a_max]` that they are beyond; NaN stays NaN."""
    low, high = a_min if min is None else min, a_max if max is None else max
    x = x if low is None else ufunc("maximum", x, low)
    return x if high is None else ufunc("minimum", x, high)


@row("round", "around")
def _round(x: Value, decimals: int = 0) -> Value:
    """To the nearest even number of so many decimals."""
    if not decimals:
        return ufunc("rint", x)
    return ufunc("rint", x * 10.0**decimals) / 10.0**decimals


@row("nan_to_num")
def _nan_to_num(x: Value, nan: float = 0.0) -> Value:
    """Zero, or another number, in the place of NaN; infinities stay."""
    return _where(ufunc("equal", x, x), x, nan)


@row("zeros_like")
def _zeros_like(x: Value, dtype: object = None) -> Value:
    """Zeros of the shape, and by default of the element type."""
    return x.b.full(x.shape, 0, x.dtype if dtype is None else dtype)


@row("ones_like")
def _ones_like(x: Value, dtype: object = None) -> Value:
    """Ones of the shape, and by default of the element type."""
    return x.b.full(x.shape, 1, x.dtype if dtype is None else dtype)


@row("full_like")
def _full_like(x: Value, fill_value: Any, dtype: object = None) -> Value:
    """One number throughout."""
    return x.b.full(x.shape, fill_value, x.dtype if dtype is None else dtype)


@row("real")
def _real(x: Value) -> Value:
    """The real part."""
    return x.b.real(x) if x.dtype in ("c64", "c128") else x


@row("imag")
def _imag(x: Value) -> Value:
    """The imaginary part."""
    return x.b.imag(x) if x.dtype in ("c64", "c128") else _zeros_like(x)
