"""Rows of primitives that compute each element of their result from one of each operand."""

# Operands of rows are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from xdsl_rlx import special
from xdsl_rlx.frontends.jaxpr.rows import ROWS, Call
from xdsl_rlx.frontends.jaxpr.types import AS_SIGNED, COMPLEXES, FLOATS, like
from xdsl_rlx.frontends.shared import numbers
from xdsl_rlx.frontends.shared.values import cast, dtype_of, is_constant, traced
from xdsl_rlx.frontends.shared.windows import is_neutral
from xdsl_rlx.op_functions import function

_UNARY: dict[str, Callable[[Any], Any]] = {
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atanh": np.arctanh,
    "bessel_i0e": special.i0e,
    "bessel_i1e": special.i1e,
    "cbrt": np.cbrt,
    "conj": np.conj,
    "copy": lambda x: x,
    "cos": np.cos,
    "cosh": np.cosh,
    "digamma": special.digamma,
    "erf": special.erf,
    "erf_inv": special.erf_inv,
    "erfc": special.erfc,
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "imag": np.imag,
    "lgamma": special.lgamma,
    "log": np.log,
    "log1p": np.log1p,
    "neg": np.negative,
    "not": np.invert,
    "real": np.real,
    "sin": np.sin,
    "sinh": np.sinh,
    "sqrt": np.sqrt,
    "square": lambda x: x * x,
    "tan": np.tan,
    "tanh": np.tanh,
}
"""Functions of one operand that NumPy or this package has under the same conventions."""

for _name, _of in _UNARY.items():
    ROWS.add(_name)(lambda c, x, of=_of: of(x))

_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": np.add,
    "add_any": np.add,
    "and": np.bitwise_and,
    "atan2": np.arctan2,
    "complex": lambda x, y: function("complex")(x, y),
    "eq": np.equal,
    "igamma": special.igamma,
    "igamma_grad_a": special.igamma_grad_a,
    "igammac": special.igammac,
    "ne": np.not_equal,
    "nextafter": np.nextafter,
    "or": np.bitwise_or,
    "polygamma": special.polygamma,
    "sub": np.subtract,
    "xor": np.bitwise_xor,
    "zeta": special.zeta,
}

for _name, _of in _BINARY.items():
    ROWS.add(_name)(lambda c, x, y, of=_of: of(x, y))


def _ordered(of: Callable[[Any, Any], Any]) -> Callable[[Call, Any, Any], Any]:
    """A comparison; unsigned integers that are kept as signed ones are moved to begin with the least of these."""

    def build(c: Call, x: Any, y: Any) -> Any:
        if c.given[0] in AS_SIGNED:
            least = like(np.iinfo(x.dtype).min, dtype_of(x)) if is_constant(x) else _least(x)
            x, y = x ^ least, y ^ least
        return of(x, y)

    return build


def _least(x: Any) -> Any:
    dtype = dtype_of(x)
    return like(-(1 << (int(dtype[1:]) - 1)), dtype)


for _name, _of in {"ge": np.greater_equal, "gt": np.greater, "le": np.less_equal, "lt": np.less}.items():
    ROWS.add(_name)(_ordered(_of))


@ROWS.add("eq_to", "le_to", "lt_to", composite=True)
def _total_order(c: Call, x: Any, y: Any) -> Any:
    """Comparisons in which -0 is below +0, and NaN equal to itself and above all."""
    a, b = (_rank(one) if dtype_of(one) in FLOATS else one for one in (x, y))
    name = c.eqn.primitive.name
    return a == b if name == "eq_to" else a <= b if name == "le_to" else a < b


def _rank(x: Any) -> Any:
    """Integers in the total order of floats: the bits, of which those of negative numbers run backwards."""
    bits = {"f16": "i16", "bf16": "i16", "f32": "i32", "f64": "i64"}[dtype_of(x)]
    whole = numbers.bitcast(x, bits)
    return np.where(whole < 0, whole ^ like((1 << (int(bits[1:]) - 1)) - 1, bits), whole)


@ROWS.add("abs")
def _abs(c: Call, x: Any) -> Any:
    if dtype_of(x) not in FLOATS or is_constant(x):
        return np.abs(x)
    # as in JAX, the slope at 0 is 1
    return np.copysign(x + like(0, dtype_of(x)), like(1, dtype_of(x)))


@ROWS.add("logistic")
def _logistic(c: Call, x: Any) -> Any:
    return 1 / (1 + np.exp(-x)) if dtype_of(x) in COMPLEXES else function("sigmoid")(traced(x))


@ROWS.add("rsqrt")
def _rsqrt(c: Call, x: Any) -> Any:
    return 1 / np.sqrt(x) if dtype_of(x) in COMPLEXES else function("rsqrt")(traced(x))


@ROWS.add("sign")
def _sign(c: Call, x: Any) -> Any:
    if dtype_of(x) in COMPLEXES:
        size = np.abs(x)
        return np.where(size == 0, like(0, dtype_of(x)), x / np.where(size == 0, like(1, dtype_of(size)), size))
    return np.sign(x)


@ROWS.add("floor", "ceil")
def _rounding(c: Call, x: Any) -> Any:
    return getattr(np, c.eqn.primitive.name)(x)


@ROWS.add("round", composite=True)
def _round(c: Call, x: Any) -> Any:
    even = c.params["rounding_method"].name == "TO_NEAREST_EVEN"
    return numbers.round_to_even(x) if even else numbers.round_away(x)


@ROWS.add("is_finite")
def _is_finite(c: Call, x: Any) -> Any:
    return np.isfinite(x)


@ROWS.add("mul")
def _mul(c: Call, x: Any, y: Any) -> Any:
    if c.dtype == "i1":
        return x & y
    return cast(x, c.dtype) * cast(y, c.dtype)


@ROWS.add("max", "min")
def _extreme(c: Call, x: Any, y: Any) -> Any:
    is_max = c.eqn.primitive.name == "max"
    if c.dtype == "i1":
        return x | y if is_max else x & y
    if c.dtype in COMPLEXES:
        # by the real parts, and the imaginary ones of equal real parts
        before = (np.real(x) > np.real(y)) | ((np.real(x) == np.real(y)) & (np.imag(x) > np.imag(y)))
        return np.where(before, x, y) if is_max else np.where(before, y, x)
    # JAX begins the maxima of softmax and of attention with -inf
    for one, other in ((x, y), (y, x)):
        if c.dtype in FLOATS and is_neutral(one, c.eqn.primitive.name, c.dtype) and np.shape(other) == c.shape:
            return other
    return np.maximum(x, y) if is_max else np.minimum(x, y)


@ROWS.add("div", composite=True)
def _div(c: Call, x: Any, y: Any) -> Any:
    if c.made[0] in AS_SIGNED:
        return _unsigned_division(c, x, y)[0]
    return numbers.truncating_divide(x, y) if c.dtype[0] in "iu" else x / y


@ROWS.add("rem", composite=True)
def _rem(c: Call, x: Any, y: Any) -> Any:
    return _unsigned_division(c, x, y)[1] if c.made[0] in AS_SIGNED else numbers.remainder(x, y)


def _unsigned_division(c: Call, x: Any, y: Any) -> tuple[Any, Any]:
    """Quotient and remainder of unsigned integers that are kept as signed ones: by half of the dividend, which fits."""
    dtype = c.dtype
    none, one = like(0, dtype), like(1, dtype)
    least = _ordered(np.greater_equal)
    safe = np.where(y > none, y, one)
    half = numbers.truncating_divide(numbers.shift_right_logical(x, one), safe)
    quotient = half + half
    rest = x - quotient * safe
    over = least(c, rest, safe)
    quotient, rest = np.where(over, quotient + one, quotient), np.where(over, rest - safe, rest)
    # a divisor with the highest bit goes at most once into anything
    fits = least(c, x, y)
    large = y < none
    quotient = np.where(large, cast(fits, dtype), quotient)
    rest = np.where(large, np.where(fits, x - y, x), rest)
    return np.where(y == none, like(-1, dtype), quotient), np.where(y == none, x, rest)


@ROWS.add("pow")
def _pow(c: Call, x: Any, y: Any) -> Any:
    if dtype_of(y) != c.dtype and dtype_of(y)[0] in "iu":
        if is_constant(y) and np.ndim(y) == 0:
            return _power(x, int(y))
        y = cast(y, c.dtype)
    return x**y


@ROWS.add("integer_pow")
def _integer_pow(c: Call, x: Any) -> Any:
    return _power(x, int(c.params["y"]))


def _power(x: Any, exponent: int) -> Any:
    if dtype_of(x)[0] in "iu" and exponent < 0:
        return like(1, dtype_of(x)) // x
    return x**exponent


@ROWS.add("clamp", composite=True)
def _clamp(c: Call, least: Any, x: Any, most: Any) -> Any:
    return numbers.clamp(least, x, most)


@ROWS.add("select_n")
def _select_n(c: Call, which: Any, *cases: Any) -> Any:
    if len(cases) == 1:
        return cases[0]
    if is_constant(which) and np.ndim(which) == 0:
        return cases[int(which)]
    if dtype_of(which) == "i1":
        return np.where(which, cases[1], cases[0])
    found = cases[-1]
    for number in reversed(range(len(cases) - 1)):
        found = np.where(which <= like(number, dtype_of(which)), cases[number], found)
    return found


@ROWS.add("reduce_precision")
def _reduce_precision(c: Call, x: Any) -> Any:
    return function("reduce_precision")(traced(x), int(c.params["exponent_bits"]), int(c.params["mantissa_bits"]))


@ROWS.add("stop_gradient")
def _stop_gradient(c: Call, x: Any) -> Any:
    return x if is_constant(x) else function("stop_gradient")(x)


@ROWS.add("regularized_incomplete_beta")
def _betainc(c: Call, a: Any, b: Any, x: Any) -> Any:
    return special.betainc(traced(a), traced(b), traced(x))
