"""NumPy's functions of single elements on values of a graph: universal functions, and those that are made of them.

`UFUNCS` are functions of builders, `SPELLED_OUT` a few steps of others.
"""

# NumPy is called with anything.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import factorial, inf, log, pi
from typing import Any

from xdsl_rlx.dialects import constants
from xdsl_rlx.dialects.arrays import is_number
from xdsl_rlx.dialects.errors import GraphError, GraphTypeError
from xdsl_rlx.dialects.mir.promotion import Kind, applied, innermost, joined
from xdsl_rlx.dialects.mir.value import Operand, Value
from xdsl_rlx.dialects.shapes import COMPLEXES, FLOATS, INTS, dims, element_of, i1, integers
from xdsl_rlx.frontends.numpy.rows import Function, as_value, of_one_type, row
from xdsl_rlx.graph_methods import elements
from xdsl_rlx.graph_methods.einsum import einsum

UFUNCS: dict[str, tuple[str | Function, Kind]] = {
    **{
        name: (name, Kind.FITTING)
        for name in (
            *("exp", "log", "sqrt", "sin", "cos", "tan", "tanh", "exp2", "log2", "log10", "log1p", "expm1", "cbrt"),
            *("sinh", "cosh", "hypot", "logaddexp", "copysign", "nextafter"),
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
            "isnan": "is_nan",
        }.items()
    },
    "isinf": (elements.is_inf, Kind.FITTING),
    "isfinite": (elements.is_finite, Kind.FITTING),
    **{name: (name, Kind.AS_IS) for name in ("add", "matmul", "sign", "floor", "ceil", "trunc")},
    **{
        name: (short, Kind.AS_IS)
        for name, short in {
            "subtract": "sub",
            "multiply": "mul",
            "power": "pow",
            "floor_divide": "floordiv",
            "remainder": "mod",
            "fmod": "rem",
            "maximum": "max",
            "minimum": "min",
            "negative": "neg",
            "absolute": "abs",
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
"""Universal functions of NumPy: the builder method, or the function of a builder, and what it computes in."""


def ufunc(name: str, *operands: Operand) -> Any:
    """A universal function of NumPy; GraphTypeError for one that no op computes."""
    if (made := SPELLED_OUT.get(name)) is not None:
        return made(*operands)
    if (row := UFUNCS.get(name)) is None:
        raise GraphTypeError(f"np.{name} does not support traced values: no op computes it")
    return applied(row[0], operands, row[1])


def _fitting(*operands: Operand) -> list[Value]:
    """Operands as floats, integers in the narrowest that holds them."""
    return of_one_type(operands, Kind.FITTING)


def _square(x: Value) -> Value:
    x = x.astype("int8") if element_of(x.ssa) == i1 else x
    return ufunc("multiply", x, x)


def _positive(x: Value) -> Value:
    if element_of(x.ssa) == i1:
        raise GraphTypeError("np.positive does not support booleans, as in NumPy")
    return x


def _scaled(factor: float) -> Function:
    return lambda x: _fitting(x)[0] * factor


def _reciprocal(x: Value) -> Value:
    """Of integers without the fraction, which leaves 1 and -1; of 0 it is 0."""
    if element_of(x.ssa) in INTS:
        return where(ufunc("equal", abs(x), 1), x, 0)
    return 1 / x if element_of(x.ssa) in COMPLEXES else applied("recip", [x], Kind.FITTING)


def _float_power(x: Operand, y: Operand) -> Value:
    """In f64, or complex numbers of such parts."""
    x, y = of_one_type([x, y], Kind.FLOATS)
    wide = "c128" if element_of(x.ssa) in COMPLEXES else "f64"
    return x.astype(wide) ** y.astype(wide)


def _heaviside(x: Operand, at_zero: Operand) -> Value:
    x, at_zero = _fitting(x, at_zero)
    return where(x == 0, at_zero, where(x > 0, 1.0, where(x < 0, 0.0, x)))


def _without_nan(name: str) -> Function:
    """`maximum` or `minimum`, where a NaN gives way to the other operand."""

    def chosen(x: Operand, y: Operand) -> Value:
        x, y = of_one_type([x, y])
        if element_of(x.ssa) not in (*FLOATS, *COMPLEXES):
            return ufunc(name, x, y)
        x, y = where(x.b.is_nan(x), y, x), where(y.b.is_nan(y), x, y)
        return ufunc(name, x, y)

    return chosen


def _signbit(x: Value) -> Value:
    if element_of(x.ssa) in FLOATS:
        return x.b.copysign(x.b.ones_like(x), x) < 0
    return x < 0


def _modf(x: Operand) -> tuple[Value, Value]:
    (x,) = _fitting(x)
    whole = ufunc("trunc", x)
    return ufunc("copysign", where(elements.is_inf(x.b, x), 0.0, x - whole), x), whole


def _logaddexp2(x: Operand, y: Operand) -> Value:
    """The larger one, and what the other adds: smooth at ties too, where each has half of the slope."""
    x, y = _fitting(x, y)
    given, x, y = x.dtype, *(one.astype("f32") if one.dtype == "f16" else one for one in (x, y))
    first = ufunc("greater_equal", x, y)
    larger, smaller = where(first, x, y), where(first, y, x)
    alike = ufunc("logical_and", larger == smaller, ufunc("isinf", larger))
    apart = where(alike, 0.0, smaller - larger)
    # of equal infinities the mean, so that each has half of the slope
    larger = where(alike, 0.5 * x + 0.5 * y, larger)
    return (larger + ufunc("log1p", ufunc("exp2", apart)) * (1 / log(2))).astype(given)


def _conjugate(x: Operand) -> Value:
    """Truth values become integers of 8 bits, as in NumPy."""
    found = applied("conjugate", [x])
    return found.astype("int8") if element_of(found.ssa) == i1 else found


def _ldexp(x: Operand, exponent: Operand) -> Value:
    """`x 2^exponent`, rounded once: half and single floats in the next wider type, f64 by three powers of 2."""
    (number,) = _fitting(as_value(x, exponent))
    power = as_value(exponent, number).astype("i64")
    if number.dtype != "f64":
        wide = "f64" if number.dtype == "f32" else "f32"
        reach = 300 if wide == "f64" else 60
        return (number.astype(wide) * _power_of_two(power, -reach, reach, wide)).astype(number.dtype)
    # a step down leaves 53 bits above the least normal number, so that only the last one rounds
    for _ in range(2):
        low, high = power < -1022, power > 1023
        number = number * where(low, 2.0**-969, where(high, 2.0**1023, 1.0))
        power = power + where(low, 969, where(high, -1023, 0))
    return number * _power_of_two(power, -1022, 1023, "f64")


def _power_of_two(power: Value, low: int, high: int, dtype: str) -> Value:
    return ufunc("exp2", ufunc("minimum", ufunc("maximum", power, low), high).astype(dtype))


def _bitwise_count(x: Value) -> Value:
    """The ones of the absolute value, in u8, as in NumPy."""
    x = x.astype("uint8") if element_of(x.ssa) == i1 else x
    return applied("population_count", [abs(x)]).astype("uint8")


SPELLED_OUT: dict[str, Function] = {
    "bitwise_count": _bitwise_count,
    "square": _square,
    "positive": _positive,
    "degrees": _scaled(180 / pi),
    "radians": _scaled(pi / 180),
    "rad2deg": _scaled(180 / pi),
    "deg2rad": _scaled(pi / 180),
    "fabs": lambda x: abs(_fitting(x)[0]),
    "divmod": lambda x, y: (ufunc("floor_divide", x, y), ufunc("remainder", x, y)),
    "conjugate": _conjugate,
    "logaddexp2": _logaddexp2,
    "reciprocal": _reciprocal,
    "float_power": _float_power,
    "heaviside": _heaviside,
    "fmax": _without_nan("maximum"),
    "fmin": _without_nan("minimum"),
    "signbit": _signbit,
    "modf": _modf,
    "ldexp": _ldexp,
    "vecdot": lambda x, y: _sum_of_products("...i,...i->...", x, y),
    "matvec": lambda x, y: _sum_of_products("...ij,...j->...i", x, y),
    "vecmat": lambda x, y: _sum_of_products("...i,...ij->...j", x, y),
}
"""Universal functions that are few steps of others."""


def contracted(product: Callable[..., Value], *values: Value) -> Value:
    """The sum of products that `product` computes of values of one type; of booleans, whether any product is true."""
    if element_of(values[0].ssa) != i1:
        return product(*values)
    return ufunc("not_equal", product(*(x.astype("i64") for x in values)), 0)


def _sum_of_products(subscripts: str, x: Operand, y: Operand) -> Value:
    x, y = of_one_type([x, y])
    extents: dict[str, int] = {}
    for value, part in zip((x, y), subscripts.split("->")[0].split(","), strict=True):
        letters = part.removeprefix("...")
        if value.rank < len(letters) or any(
            extents.setdefault(one, n) != n for one, n in zip(letters[::-1], value.shape[::-1], strict=False)
        ):
            # einsum would repeat an extent of 1
            raise GraphError(f"expected extents {subscripts}, got shapes {dims(x.shape)} and {dims(y.shape)}")
    if element_of(x.ssa) in COMPLEXES and subscripts.startswith("...i,"):
        x = x.b.conjugate(x)
    return contracted(partial(einsum, x.b, subscripts), x, y)


@row("where")
def where(condition: Any, x: Any = None, y: Any = None) -> Value:
    """Elements of `x` where the condition holds, else of `y`. Of two that are no values, the result gives way."""
    if x is None or y is None:
        raise GraphTypeError(
            "np.where(mask) of a traced value: the shape of the result depends on concrete values; "
            "np.where(mask, x, y) keeps the shape"
        )
    if not isinstance(x, Value) and not isinstance(y, Value):
        return _chosen(condition, x, y)
    x, y = of_one_type([x, y])
    return _of_weakness(x.b.where(_condition(condition), x, y), x.weak and y.weak)


def _chosen(condition: Any, x: Any, y: Any) -> Value:
    """One of two numbers or arrays by a condition that is a value: of NumPy's type, and as these it gives way."""
    import numpy as np

    plain = [one if is_number(one) else np.asarray(one) for one in (x, y)]
    test = _condition(condition)
    element = constants.element_type(np.result_type(*plain))
    b = innermost([test])
    return _of_weakness(b.where(test, *(b.constant(one, element) for one in plain)), element != i1)


def _condition(condition: Any) -> Any:
    return joined(condition) if isinstance(condition, list | tuple) else condition


def _of_weakness(x: Value, weak: bool) -> Value:
    return Value(x.ssa, x.b, True) if weak else x


@row("select")
def _select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Value:
    """The choice of the first condition that holds, or the default."""
    if len(condlist) != len(choicelist):
        raise GraphTypeError(f"np.select: {len(condlist)} conditions for {len(choicelist)} choices")
    *choices, found = of_one_type([*choicelist, default]) if _values([*choicelist, default]) else [*choicelist, default]
    for condition, choice in zip(reversed(condlist), reversed(choices), strict=True):
        found = where(condition, choice, found)
    return found


@row("piecewise")
def _piecewise(x: Value, condlist: Sequence[Any], funclist: Sequence[Any], *args: Any, **kw: Any) -> Value:
    """What the function of the last condition that holds gives, else the one behind them, or 0; all are computed."""
    if len(funclist) not in (len(condlist), len(condlist) + 1):
        raise GraphTypeError(f"np.piecewise: {len(condlist)} conditions for {len(funclist)} functions")
    found = [one(x, *args, **kw) if callable(one) else one for one in funclist]
    total = found[-1] if len(found) > len(condlist) else 0
    for condition, one in zip(condlist, found, strict=False):
        total = where(as_value(condition, x), one, total)
    return as_value(total, x).astype(x.dtype)


def _values(operands: Sequence[Any]) -> bool:
    return any(isinstance(x, Value) for x in operands)


@row("clip")
def _clip(
    a: Any,
    a_min: Operand | None = None,
    a_max: Operand | None = None,
    out: None = None,
    *,
    min: Operand | None = None,
    max: Operand | None = None,
) -> Value:
    """The elements, or the end of `[a_min, a_max]` that they are beyond; NaN stays NaN."""
    low, high = a_min if min is None else min, a_max if max is None else max
    a = a if low is None else ufunc("maximum", a, low)
    return a if high is None else ufunc("minimum", a, high)


@row("round", "around")
def _round(a: Value, decimals: int = 0, out: None = None) -> Value:
    """To the nearest even number of so many decimals; integers stay integers."""
    (decimals,) = integers("np.round: decimals", decimals)
    if element_of(a.ssa) in COMPLEXES:
        return a.b.complex(_round(a.b.real(a), decimals), _round(a.b.imag(a), decimals))
    if element_of(a.ssa) == i1 and decimals:
        raise GraphTypeError("np.round of booleans takes no decimals, as in NumPy; convert them with astype(float)")
    if element_of(a.ssa) in INTS:
        return a if decimals >= 0 else _round(a.astype("f64"), decimals).astype(a.dtype)
    if a.dtype == "f16" and decimals:
        return _round(a.astype("f32"), decimals).astype(a.dtype)
    factor = 10.0 ** abs(decimals)
    if decimals > 0:
        return ufunc("rint", a * factor) / factor
    return ufunc("rint", a / factor) * factor if decimals else ufunc("rint", a)


@row("fix")
def _fix(x: Value, out: None = None) -> Value:
    """Without the fraction."""
    return ufunc("trunc", x)


@row("nan_to_num")
def _nan_to_num(
    x: Value, copy: bool = True, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
) -> Value:
    """Numbers in the place of NaN and the infinities: 0, the largest and the smallest that there are."""
    if element_of(x.ssa) in COMPLEXES:
        return x.b.complex(*(_nan_to_num(part, copy, nan, posinf, neginf) for part in (x.b.real(x), x.b.imag(x))))
    if element_of(x.ssa) not in FLOATS:
        return x
    import ml_dtypes

    ends = ml_dtypes.finfo(x.dtype.dtype)
    x = where(x.b.is_nan(x), nan, x)
    x = where(ufunc("equal", x, inf), float(ends.max) if posinf is None else posinf, x)
    return where(ufunc("equal", x, -inf), float(ends.min) if neginf is None else neginf, x)


@row("sinc")
def _sinc(x: Value) -> Value:
    """
    `sin(pi x) / (pi x)`, and 1 at 0; near 0 by its series, since the derivatives of the quotient cancel there.
    """
    (x,) = of_one_type([x], Kind.FLOATS)
    if x.dtype == "f16":
        return _sinc(x.astype("f32")).astype(x.dtype)
    angle = x * pi
    small = abs(angle) < 0.5
    # in each branch numbers of the other are replaced, so that none of its derivatives is infinite there
    near, far = where(small, angle, 0.0), where(small, 1.0, angle)
    square, series = near * near, 0.0
    for n in reversed(range(_TERMS_OF_SINC)):
        series = series * square + (-1) ** n / factorial(2 * n + 1)
    return where(small, series, ufunc("sin", far) / far)


_TERMS_OF_SINC = 11
"""Below 0.5 the first that is left out of the tenth derivative is less than the last digit of f64."""


@row("angle")
def _angle(z: Value, deg: bool = False) -> Value:
    """The angle with the positive real axis, in radians or degrees."""
    (z,) = of_one_type([z], Kind.FLOATS if element_of(z.ssa) == i1 else Kind.FITTING)
    found = elements.angle(z.b, z)
    return found * (180 / pi) if deg else found


@row("real")
def _real(val: Value) -> Value:
    """The real part."""
    return val.b.real(val) if element_of(val.ssa) in COMPLEXES else val


@row("imag")
def _imag(val: Value) -> Value:
    """The imaginary part."""
    return val.b.imag(val)


@row("isreal")
def _isreal(x: Value) -> Value:
    """Whether the imaginary part is 0."""
    return ufunc("equal", _imag(x), 0)


@row("iscomplex")
def _iscomplex(x: Value) -> Value:
    """Whether the imaginary part is not 0."""
    return ufunc("not_equal", _imag(x), 0)


@row("isposinf")
def _isposinf(x: Value, out: None = None) -> Value:
    """Whether an element is +inf."""
    return ufunc("equal", x, inf) if element_of(x.ssa) in FLOATS else x.b.is_nan(x)


@row("isneginf")
def _isneginf(x: Value, out: None = None) -> Value:
    """Whether an element is -inf."""
    return ufunc("equal", x, -inf) if element_of(x.ssa) in FLOATS else x.b.is_nan(x)


@row("isclose")
def isclose(a: Operand, b: Operand, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Value:
    """Whether `|a - b| <= atol + rtol |b|`, or both are the same infinity."""
    x, y = of_one_type([a, b], Kind.FLOATS)
    near = ufunc("logical_and", abs(x - y) <= abs(y) * rtol + atol, ufunc("isfinite", y))
    near = ufunc("logical_or", near, x == y)
    both = ufunc("logical_and", ufunc("isnan", x), ufunc("isnan", y))
    return ufunc("logical_or", near, both) if equal_nan else near


@row("allclose")
def _allclose(a: Operand, b: Operand, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Value:
    """Whether all elements are close."""
    return isclose(a, b, rtol, atol, equal_nan).all()


@row("array_equal")
def _array_equal(a1: Operand, a2: Operand, equal_nan: bool = False) -> Any:
    """Whether all elements are equal; False of different shapes."""
    x, y = of_one_type([a1, a2])
    if x.shape != y.shape:
        return False
    same = x == y
    if equal_nan:
        same = ufunc("logical_or", same, ufunc("logical_and", ufunc("isnan", x), ufunc("isnan", y)))
    return same.all()


@row("isin")
def _isin(
    element: Operand, test_elements: Operand, assume_unique: bool = False, invert: bool = False, *, kind: Any = None
) -> Value:
    """Whether an element is among others."""
    x, others = of_one_type([element, test_elements])
    found = (x[..., None] == others.b.ravel(others)).any(axis=-1)
    return ufunc("logical_not", found) if invert else found
