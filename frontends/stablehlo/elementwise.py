"""Rows of operations that compute each element of their result from one of each operand."""

# Operands of rows are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from xdsl_rlx import special
from xdsl_rlx.frontends.shared import complexes, numbers
from xdsl_rlx.frontends.shared.values import cast, dtype_of, is_constant, numpy_dtype, shape_of, traced
from xdsl_rlx.frontends.shared.windows import is_neutral
from xdsl_rlx.frontends.stablehlo.rows import ROWS, Call
from xdsl_rlx.frontends.stablehlo.tree import Type
from xdsl_rlx.frontends.stablehlo.types import AS_SIGNED, COMPLEXES, FLOATS, least, like, stored
from xdsl_rlx.op_functions import function


def scalars(*xs: Any) -> tuple[Any, ...]:
    """Tensors of one shape, of which constants that repeat one number are that number if another one is traced."""
    if is_constant(*xs):
        return xs
    return tuple(
        np.asarray(x).flat[0] if is_constant(x) and np.size(x) and not any(np.asarray(x).strides) else x for x in xs
    )


_UNARY: dict[str, Callable[[Any], Any]] = {
    "ceil": np.ceil,
    "cosine": np.cos,
    "exponential": np.exp,
    "exponential_minus_one": np.expm1,
    "floor": np.floor,
    "imag": np.imag,
    "log": np.log,
    "log_plus_one": np.log1p,
    "negate": np.negative,
    "not": np.invert,
    "real": np.real,
    "sine": np.sin,
    "sqrt": np.sqrt,
    "tan": np.tan,
    "tanh": np.tanh,
    "cbrt": np.cbrt,
    "chlo.conj": np.conj,
    "chlo.cosh": np.cosh,
    "chlo.is_inf": np.isinf,
    "chlo.sinh": np.sinh,
    "chlo.square": lambda x: x * x,
    "chlo.tan": np.tan,
}
"""Functions of one operand that NumPy has under the same conventions."""

for _name, _of in _UNARY.items():
    ROWS.add(_name, folds=True)(lambda c, x, of=_of: of(x))

_INVERSES: dict[str, Callable[[Any], Any]] = {
    "chlo.acos": np.arccos,
    "chlo.acosh": np.arccosh,
    "chlo.asin": np.arcsin,
    "chlo.asinh": np.arcsinh,
    "chlo.atan": np.arctan,
    "chlo.atanh": np.arctanh,
}


def _inverse(of: Callable[[Any], Any]) -> Callable[[Call, Any], Any]:
    on_complexes = getattr(complexes, of.__name__)
    return lambda c, x: on_complexes(traced(x)) if c.given[0] in COMPLEXES else of(x)


for _name, _of in _INVERSES.items():
    ROWS.add(_name, folds=True)(_inverse(_of))

_SPECIAL: dict[str, Callable[..., Any]] = {
    "chlo.bessel_i1e": special.i1e,
    "chlo.digamma": special.digamma,
    "chlo.erf": special.erf,
    "chlo.erf_inv": special.erf_inv,
    "chlo.erfc": special.erfc,
    "chlo.lgamma": special.lgamma,
    "chlo.polygamma": special.polygamma,
    "chlo.zeta": special.zeta,
}

for _name, _of in _SPECIAL.items():
    ROWS.add(_name)(lambda c, *xs, of=_of: of(*map(traced, xs)))


@ROWS.add("chlo.is_neg_inf", "chlo.is_pos_inf", folds=True)
def _is_signed_inf(c: Call, x: Any) -> Any:
    return x == like(-np.inf if c.op.name.endswith("neg_inf") else np.inf, dtype_of(x))


@ROWS.add("chlo.next_after")
def _next_after(c: Call, x: Any, y: Any) -> Any:
    return function("nextafter")(traced(x), traced(y))


@ROWS.add("chlo.constant", "constant")
def _constant(c: Call) -> Any:
    return c.op.attributes["value"]


@ROWS.add("is_finite", folds=True)
def _is_finite(c: Call, x: Any) -> Any:
    return np.isfinite(x)


@ROWS.add("logistic")
def _logistic(c: Call, x: Any) -> Any:
    return 1 / (1 + np.exp(-x)) if dtype_of(x) in COMPLEXES else function("sigmoid")(traced(x))


@ROWS.add("rsqrt")
def _rsqrt(c: Call, x: Any) -> Any:
    return 1 / np.sqrt(traced(x)) if dtype_of(x) in COMPLEXES else function("rsqrt")(traced(x))


@ROWS.add("abs", folds=True)
def _abs(c: Call, x: Any) -> Any:
    if dtype_of(x) not in FLOATS or is_constant(x):
        return np.abs(x)
    # as in JAX, the slope at 0 is 1
    return np.copysign(x + like(0, dtype_of(x)), like(1, dtype_of(x)))


@ROWS.add("sign")
def _sign(c: Call, x: Any) -> Any:
    x = traced(x)
    if dtype_of(x) in COMPLEXES:
        size = np.abs(x)
        return np.where(size == 0, like(0, dtype_of(x)), x / np.where(size == 0, like(1, dtype_of(size)), size))
    return np.sign(x)


@ROWS.add("round_nearest_even", "round_nearest_afz", composite=True)
def _round(c: Call, x: Any) -> Any:
    return numbers.round_to_even(x) if c.op.name.endswith("even") else numbers.round_away(x)


@ROWS.add("popcnt", "count_leading_zeros")
def _count(c: Call, x: Any) -> Any:
    return function("population_count" if c.op.name.endswith("popcnt") else "clz")(traced(x))


@ROWS.add("add", "subtract", "multiply", folds=True)
def _arithmetic(c: Call, x: Any, y: Any) -> Any:
    x, y = scalars(x, y)
    kind = c.op.name.removeprefix("stablehlo.")
    if c.dtype == "i1":
        return x & y if kind == "multiply" else x ^ y if kind == "subtract" else x | y
    return x + y if kind == "add" else x - y if kind == "subtract" else x * y


@ROWS.add("divide", composite=True)
def _divide(c: Call, x: Any, y: Any) -> Any:
    if c.dtype[0] not in "iu":
        x, y = scalars(x, y)
        return traced(x) / y
    if c.given[0] in AS_SIGNED:
        return _unsigned_divide(traced(x), traced(y), c.given[0])[0]
    return numbers.truncating_divide(x, y)


@ROWS.add("remainder", composite=True)
def _remainder(c: Call, x: Any, y: Any) -> Any:
    if c.given[0] in AS_SIGNED:
        return _unsigned_divide(traced(x), traced(y), c.given[0])[1]
    return numbers.remainder(x, y)


def _unsigned_divide(x: Any, y: Any, dtype: str) -> tuple[Any, Any]:
    """Quotient and remainder of unsigned numbers whose bits are kept in signed ones; by 0, all ones and `x`."""
    if dtype == "u16":
        wide = [cast(one, "i32") & like(0xFFFF, "i32") for one in (x, y)]
        return cast(numbers.truncating_divide(*wide), "i16"), cast(numbers.remainder(*wide), "i16")
    where, zero, one = function("where"), like(0, "i64"), like(1, "i64")
    # half of x is not negative: twice its quotient is at most 1 too small
    half = numbers.truncating_divide(numbers.shift_right_logical(x, one), y)
    guess = half + half
    rest = x - guess * y
    more = (rest ^ least("i64")) >= (y ^ least("i64"))
    quotient, rest = guess + cast(more, "i64"), where(more, rest - y, rest)
    large = (x ^ least("i64")) >= (y ^ least("i64"))
    # of a y of at least 2^63, the quotient is 0 or 1
    quotient = where(y < zero, cast(large, "i64"), quotient)
    rest = where(y < zero, where(large, x - y, x), rest)
    return where(y == zero, like(-1, "i64"), quotient), where(y == zero, x, rest)


@ROWS.add("maximum", "minimum", folds=True)
def _extreme(c: Call, x: Any, y: Any) -> Any:
    x, y = scalars(x, y)
    is_max = c.op.name.endswith("maximum")
    if c.dtype == "i1":
        return x | y if is_max else x & y
    if c.dtype in COMPLEXES:
        # by the real parts, and the imaginary ones of equal real parts
        before = (np.real(x) > np.real(y)) | ((np.real(x) == np.real(y)) & (np.imag(x) > np.imag(y)))
        return np.where(before, x, y) if is_max else np.where(before, y, x)
    # JAX begins the maxima of softmax and logsumexp with -inf
    kind = "max" if is_max else "min"
    for one, other in ((x, y), (y, x)):
        if c.dtype in FLOATS and np.ndim(one) == 0 and is_neutral(one, kind, c.dtype) and shape_of(other) == c.shape:
            return other
    of = np.maximum if is_max else np.minimum
    if c.given[0] in AS_SIGNED:
        bits = least(c.dtype)
        return of(x ^ bits, y ^ bits) ^ bits
    return of(x, y)


@ROWS.add("power")
def _power(c: Call, x: Any, y: Any) -> Any:
    if c.dtype[0] not in "iu":
        x, y = scalars(x, y)
        return traced(x) ** y
    x, y = traced(x), traced(y)
    found = function("integer_power")(x, function("max")(y, like(0, c.dtype)))
    if c.given[0].startswith("u"):
        return found
    # a negative power is that of 1 or -1, or less than 1
    odd = (y & like(1, c.dtype)) != like(0, c.dtype)
    one, minus = like(1, c.dtype), like(-1, c.dtype)
    inverse = np.where(x == one, one, np.where(x == minus, np.where(odd, minus, one), like(0, c.dtype)))
    return np.where(y < like(0, c.dtype), inverse, found)


@ROWS.add("atan2", folds=True)
def _atan2(c: Call, x: Any, y: Any) -> Any:
    return np.arctan2(x, y)


@ROWS.add("and", "or", "xor", folds=True)
def _bitwise(c: Call, x: Any, y: Any) -> Any:
    x, y = scalars(x, y)
    kind = c.op.name.removeprefix("stablehlo.")
    return x & y if kind == "and" else x | y if kind == "or" else x ^ y


@ROWS.add("shift_left", "shift_right_logical", "shift_right_arithmetic", composite=True)
def _shift(c: Call, x: Any, y: Any) -> Any:
    name = c.op.name.removeprefix("stablehlo.")
    # an amount as a number, where it is one, needs no comparison when the program runs
    x, y = (traced(x), y) if is_constant(y) else scalars(x, y)
    return getattr(numbers, name)(x, y)


@ROWS.add("complex")
def _complex(c: Call, x: Any, y: Any) -> Any:
    return function("complex")(traced(x), traced(y))


_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "EQ": np.equal,
    "NE": np.not_equal,
    "GE": np.greater_equal,
    "GT": np.greater,
    "LE": np.less_equal,
    "LT": np.less,
}


@ROWS.add("compare", folds=True)
def _compare(c: Call, x: Any, y: Any) -> Any:
    direction, dtype = str(c.get("comparison_direction")), c.given[0]
    of = _COMPARISONS[direction]
    if dtype in COMPLEXES:
        same = (np.real(x) == np.real(y)) & (np.imag(x) == np.imag(y))
        return same if direction == "EQ" else np.invert(same)
    if c.get("compare_type") == "TOTALORDER" and dtype in FLOATS:
        x, y = (total_order(one) for one in (x, y))
    x, y = scalars(x, y)
    if dtype in AS_SIGNED and direction not in ("EQ", "NE"):
        bits = least(stored(dtype))
        x, y = x ^ bits, y ^ bits
    return of(x, y)


def total_order(x: Any) -> Any:
    """Integers in the total order of floats: the bits, of which those of negative numbers run backwards."""
    bits = {"f16": "i16", "bf16": "i16", "f32": "i32", "f64": "i64"}[dtype_of(x)]
    whole = numbers.bitcast(x, bits)
    return np.where(whole < like(0, bits), whole ^ like((1 << (int(bits[1:]) - 1)) - 1, bits), whole)


@ROWS.add("select", folds=True)
def _select(c: Call, which: Any, x: Any, y: Any) -> Any:
    if is_constant(which) and np.size(which) and (np.all(which) or not np.any(which)):
        return x if np.all(which) else y
    if is_constant(which, x, y):
        return np.where(which, x, y)
    x, y = (_number(one) for one in (x, y))
    return function("where")(traced(which), *(traced(one, c.dtype) for one in (x, y)))


def _number(x: Any) -> Any:
    """A constant that repeats one number as that number."""
    splat = is_constant(x) and np.size(x) and not any(np.asarray(x).strides)
    return np.asarray(x).flat[0] if splat else x


@ROWS.add("clamp", composite=True)
def _clamp(c: Call, low: Any, x: Any, high: Any) -> Any:
    low, high = _number(low), _number(high)
    if c.given[0] in AS_SIGNED:
        bits = least(c.dtype)
        return numbers.clamp(low ^ bits, traced(x) ^ bits, high ^ bits) ^ bits
    return numbers.clamp(low, x, high)


@ROWS.add("convert", folds=True)
def _convert(c: Call, x: Any) -> Any:
    source, target = c.given[0], c.op.made[0].dtype
    if source in AS_SIGNED and source != target:
        return _from_unsigned(x, source, target)
    if target in AS_SIGNED and source in FLOATS:
        return _to_unsigned(x, target)
    return cast(x, stored(target))


def _from_unsigned(x: Any, source: str, target: str) -> Any:
    """Unsigned numbers whose bits are kept in signed ones, in another type."""
    if source == "u16":
        return cast(cast(x, "i32") & like(0xFFFF, "i32"), stored(target))
    if target in COMPLEXES:
        return cast(_from_unsigned(x, source, "f64" if target == "c128" else "f32"), target)
    if target not in FLOATS:
        return cast(x, stored(target))
    x = traced(x)
    # half of a number of at least 2^63, whose last bit keeps what is rounded off
    half = numbers.shift_right_logical(x, like(1, "i64")) | (x & like(1, "i64"))
    large = cast(half, target)
    return np.where(x < like(0, "i64"), large + large, cast(x, target))


def _to_unsigned(x: Any, target: str) -> Any:
    """Floats truncated and saturated to unsigned numbers, whose bits are kept in signed ones."""
    x = cast(traced(x), "f64")
    positive = np.where(x > 0, x, like(0, "f64"))
    if target == "u16":
        return cast(cast(np.minimum(positive, like(65535, "f64")), "i32"), "i16")
    middle = like(2.0**63, "f64")
    above = cast(positive - middle, "i64") ^ least("i64")
    above = np.where(positive >= like(2.0**64, "f64"), like(-1, "i64"), above)
    return np.where(positive >= middle, above, cast(positive, "i64"))


@ROWS.add("reduce_precision")
def _reduce_precision(c: Call, x: Any) -> Any:
    return function("reduce_precision")(traced(x), int(c.get("exponent_bits")), int(c.get("mantissa_bits")))


@ROWS.add("bitcast_convert")
def _bitcast_convert(c: Call, x: Any) -> Any:
    found = function("bitcast_convert_type")(traced(x), numpy_dtype(c.dtype))
    return found.reshape(c.shape) if shape_of(found) != c.shape else found


@ROWS.add("optimization_barrier")
def _identity(c: Call, *xs: Any) -> Any:
    return list(xs)


@ROWS.add("chlo.constant_like")
def _constant_like(c: Call, x: Any) -> Any:
    return np.broadcast_to(like(c.get("value"), c.dtype), c.shape)


@ROWS.add("chlo.mulhi", composite=True)
def _mulhi(c: Call, x: Any, y: Any) -> Any:
    if c.given[0] not in AS_SIGNED:
        return function("mulhi")(traced(x), traced(y))
    x, y = traced(x), traced(y)
    zero = like(0, c.dtype)
    # as signed numbers each factor is too small by 2^n where its highest bit is 1
    found = function("mulhi")(x, y)
    return found + np.where(x < zero, y, zero) + np.where(y < zero, x, zero)


_BROADCAST = (
    "stablehlo.add",
    "stablehlo.and",
    "stablehlo.atan2",
    "stablehlo.compare",
    "stablehlo.complex",
    "stablehlo.divide",
    "stablehlo.maximum",
    "stablehlo.minimum",
    "stablehlo.multiply",
    "chlo.next_after",
    "stablehlo.or",
    "chlo.polygamma",
    "stablehlo.power",
    "stablehlo.remainder",
    "stablehlo.select",
    "stablehlo.shift_left",
    "stablehlo.shift_right_arithmetic",
    "stablehlo.shift_right_logical",
    "stablehlo.subtract",
    "stablehlo.xor",
    "chlo.zeta",
)
"""Operations that CHLO has with operands that broadcast."""


def _broadcasting(name: str) -> Callable[..., Any]:
    """A builder that broadcasts its operands as NumPy, and then is that of an operation on tensors of one shape."""
    row = ROWS.get(name)
    assert row is not None and row.build is not None
    build = row.build

    def of(c: Call, *operands: Any) -> Any:
        given = tuple(Type(one.dtype, c.op.made[0].shape) for one in c.op.given)
        op = replace(c.op, name=name, given=given)
        return build(Call(op, c.walk), *(np.broadcast_to(x, c.shape) for x in operands))

    return of


for _name in _BROADCAST:
    ROWS.add(f"chlo.broadcast_{_name.partition('.')[2]}", composite=True)(_broadcasting(_name))
