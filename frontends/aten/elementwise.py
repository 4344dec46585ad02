"""Rows of operators that compute each element of their result from one of each operand."""

# Arguments of operators are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from xdsl_rlx import nn, special
from xdsl_rlx.frontends.aten.rows import ROWS, Call
from xdsl_rlx.frontends.aten.values import alike, cast, category, dtype_of
from xdsl_rlx.op_functions import function

_UNARY: dict[str, Callable[[Any], Any]] = {
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atanh": np.arctanh,
    "cos": np.cos,
    "cosh": np.cosh,
    "digamma": special.digamma,
    "erf": special.erf,
    "erfc": special.erfc,
    "erfinv": special.erfinv,
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "i0": special.i0,
    "lgamma": special.gammaln,
    "log": np.log,
    "log10": np.log10,
    "log1p": np.log1p,
    "log2": np.log2,
    "log_sigmoid": nn.log_sigmoid,
    "mish": nn.mish,
    "neg": np.negative,
    "positive": np.positive,
    "reciprocal": np.reciprocal,
    "relu": lambda x: np.maximum(x, cast(0, str(x.dtype))) if _is_integer(x) else nn.relu(x),
    "relu6": nn.relu6,
    "rsqrt": lambda x: 1 / np.sqrt(x) if _is_complex(x) else function("rsqrt")(x),
    "selu": nn.selu,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)) if _is_complex(x) else nn.sigmoid(x),
    "silu": lambda x: x / (1 + np.exp(-x)) if _is_complex(x) else nn.silu(x),
    "sin": np.sin,
    "sinh": np.sinh,
    "special_bessel_j0": special.j0,
    "special_bessel_j1": special.j1,
    "special_entr": special.entr,
    "special_erfcx": special.erfcx,
    "special_i0e": special.i0e,
    "special_i1": special.i1,
    "special_i1e": special.i1e,
    "special_log_ndtr": special.log_ndtr,
    "special_ndtri": special.ndtri,
    "sqrt": np.sqrt,
    "square": np.square,
    "tan": np.tan,
    "tanh": np.tanh,
}
"""Functions whose argument has the element type of the result."""


def _is_complex(x: Any) -> bool:
    return category(dtype_of(x)) == 3


def _is_integer(x: Any) -> bool:
    return category(str(x.dtype)) == 1


def _unary(of: Callable[[Any], Any]) -> Callable[[Call, Any], Any]:
    return lambda c, self: of(cast(self, c.dtype))


for _name, _of in _UNARY.items():
    ROWS.add(f"{_name}.default")(_unary(_of))


def _rounding(of: Callable[[Any], Any]) -> Callable[[Call, Any], Any]:
    """Of integers these are the identity; the derivative of rounding is 0."""

    def build(c: Call, self: Any) -> Any:
        return self if category(c.dtype) < 2 else of(cast(self, c.dtype))

    return build


for _name, _of in {
    "ceil": np.ceil,
    "floor": np.floor,
    "trunc": np.trunc,
    "round": lambda x: function("stop_gradient")(np.round(x)),
}.items():
    ROWS.add(f"{_name}.default")(_rounding(_of))


def _binary(of: Callable[[Any, Any], Any]) -> Callable[[Call, Any, Any], Any]:
    return lambda c, self, other: of(cast(self, c.dtype), cast(other, c.dtype))


_WITH_NUMBERS = ("mul", "fmod", "remainder", "copysign", "bitwise_and", "bitwise_or", "bitwise_xor")
"""Functions that have overloads for numbers."""

for _name, _of in {
    "mul": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "fmod": np.fmod,
    "remainder": np.remainder,
    "atan2": np.arctan2,
    "hypot": np.hypot,
    "copysign": np.copysign,
    "logaddexp": np.logaddexp,
    "nextafter": np.nextafter,
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
    "special_zeta": special.zeta,
    "igamma": special.gammainc,
    "igammac": special.gammaincc,
}.items():
    _both = _binary(_of)
    _overloads = ("Tensor", "Scalar") if _name in _WITH_NUMBERS else ("default",)
    ROWS.add(*(f"{_name}.{one}" for one in _overloads))(_both)

for _name in ("bitwise_and", "bitwise_or", "bitwise_xor", "remainder"):
    ROWS.add(f"{_name}.Scalar_Tensor")(_binary(getattr(np, _name)))


@ROWS.add("add.Tensor", "add.Scalar")
def _add(c: Call, self: Any, other: Any, alpha: Any = 1) -> Any:
    if c.dtype == "i1":
        return np.logical_or(cast(self, "i1"), cast(other, "i1"))
    return cast(self, c.dtype) + _times(c, other, alpha)


@ROWS.add("sub.Tensor", "sub.Scalar")
def _sub(c: Call, self: Any, other: Any, alpha: Any = 1) -> Any:
    return cast(self, c.dtype) - _times(c, other, alpha)


@ROWS.add("rsub.Scalar", "rsub.Tensor")
def _rsub(c: Call, self: Any, other: Any, alpha: Any = 1) -> Any:
    return cast(other, c.dtype) - _times(c, self, alpha)


def _times(c: Call, x: Any, alpha: Any) -> Any:
    x = cast(x, c.dtype)
    return x if alpha == 1 else x * cast(alpha, c.dtype)


@ROWS.add("div.Tensor", "div.Scalar", "div.Tensor_mode", "div.Scalar_mode")
def _div(c: Call, self: Any, other: Any, rounding_mode: str | None = None) -> Any:
    x, y = cast(self, c.dtype), cast(other, c.dtype)
    if rounding_mode is None:
        return x / y
    if rounding_mode == "floor":
        return x // y
    if category(c.dtype) == 1:
        # away from zero where the signs differ, and a division leaves something
        down = x // y
        return down + cast((down * y != x) & ((x < 0) != (y < 0)), c.dtype)
    return np.trunc(x / y)


@ROWS.add("floor_divide.default", "floor_divide.Scalar")
def _floor_divide(c: Call, self: Any, other: Any) -> Any:
    return cast(self, c.dtype) // cast(other, c.dtype)


@ROWS.add("pow.Tensor_Tensor", "pow.Tensor_Scalar", "pow.Scalar")
def _pow(c: Call, self: Any, exponent: Any) -> Any:
    x = cast(self, c.dtype)
    if isinstance(exponent, int | float) and float(exponent).is_integer() and abs(exponent) < 1 << 31:
        return x ** int(exponent)
    y = cast(exponent, c.dtype)
    if category(c.dtype) == 1 and c.dtype not in ("u8", "u32"):
        # a whole number to a negative power is cut to 0, but for 1 and -1
        unit = np.where(x == 1, 1, np.where(x == -1, 1 - 2 * (y % 2), 0))
        return np.where(y < 0, cast(unit, c.dtype), x ** np.where(y < 0, 0, y))
    return x**y


for _name, _of in {
    "eq": lambda x, y: x == y,
    "ne": lambda x, y: x != y,
    "lt": lambda x, y: x < y,
    "le": lambda x, y: x <= y,
    "gt": lambda x, y: x > y,
    "ge": lambda x, y: x >= y,
}.items():

    def _compare(c: Call, self: Any, other: Any, of: Callable[[Any, Any], Any] = _of) -> Any:
        return of(*alike(c.floating, self, other)[0])

    ROWS.add(f"{_name}.Tensor", f"{_name}.Scalar")(_compare)


@ROWS.add("logical_not.default")
def _logical_not(c: Call, self: Any) -> Any:
    return np.logical_not(cast(self, "i1"))


@ROWS.add("bitwise_not.default")
def _bitwise_not(c: Call, self: Any) -> Any:
    return np.logical_not(self) if c.dtype == "i1" else np.invert(self)


for _name, _of in {
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
}.items():

    def _logical(c: Call, self: Any, other: Any, of: Callable[[Any, Any], Any] = _of) -> Any:
        return of(cast(self, "i1"), cast(other, "i1"))

    ROWS.add(f"{_name}.default")(_logical)


@ROWS.add("where.self", "where.ScalarOther", "where.ScalarSelf", "where.Scalar")
def _where(c: Call, condition: Any, self: Any, other: Any) -> Any:
    return np.where(cast(condition, "i1"), cast(self, c.dtype), cast(other, c.dtype))


@ROWS.add("masked_fill.Scalar", "masked_fill.Tensor")
def _masked_fill(c: Call, self: Any, mask: Any, value: Any) -> Any:
    return np.where(mask, cast(value, c.dtype), self)


@ROWS.add("clamp.default", "clamp.Tensor")
def _clamp(c: Call, self: Any, min: Any = None, max: Any = None) -> Any:
    """The gradient passes at the bounds as well, which that of `np.clip` halves."""
    x = cast(self, c.dtype)
    if min is not None:
        low = cast(min, c.dtype)
        x = np.where(x < low, low, x)
    if max is not None:
        high = cast(max, c.dtype)
        x = np.where(x > high, high, x)
    return x


@ROWS.add("clamp_min.default", "clamp_min.Tensor")
def _clamp_min(c: Call, self: Any, min: Any) -> Any:
    return _clamp(c, self, min=min)


@ROWS.add("clamp_max.default", "clamp_max.Tensor")
def _clamp_max(c: Call, self: Any, max: Any) -> Any:
    return _clamp(c, self, max=max)


@ROWS.add("gelu.default")
def _gelu(c: Call, self: Any, approximate: str = "none") -> Any:
    return nn.gelu(self, approximate=approximate == "tanh")


@ROWS.add("leaky_relu.default")
def _leaky_relu(c: Call, self: Any, negative_slope: float = 0.01) -> Any:
    return nn.leaky_relu(self, negative_slope)


@ROWS.add("elu.default")
def _elu(c: Call, self: Any, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0) -> Any:
    x = self
    return np.where(x > 0, x * scale, np.expm1(np.where(x > 0, 0, x) * input_scale) * (alpha * scale))


@ROWS.add("hardtanh.default")
def _hardtanh(c: Call, self: Any, min_val: float = -1.0, max_val: float = 1.0) -> Any:
    return _clamp(c, self, min_val, max_val)


@ROWS.add("hardswish.default")
def _hardswish(c: Call, self: Any) -> Any:
    return nn.hard_silu(self)


@ROWS.add("hardsigmoid.default")
def _hardsigmoid(c: Call, self: Any) -> Any:
    return nn.hard_sigmoid(self)


@ROWS.add("softplus.default")
def _softplus(c: Call, self: Any, beta: float = 1.0, threshold: float = 20.0) -> Any:
    x = self * beta
    return np.where(x > threshold, self, nn.softplus(np.where(x > threshold, 0, x)) / beta)


@ROWS.add("prelu.default")
def _prelu(c: Call, self: Any, weight: Any) -> Any:
    if np.ndim(weight) and np.ndim(self) > 1:
        weight = weight.reshape(weight.size, *[1] * (np.ndim(self) - 2))
    return np.where(self > 0, self, self * weight)


@ROWS.add("isnan.default")
def _isnan(c: Call, self: Any) -> Any:
    return self != self


@ROWS.add("isinf.default")
def _isinf(c: Call, self: Any) -> Any:
    return abs(cast(self, c.floating)) == np.inf if category(str(self.dtype)) < 2 else abs(self) == np.inf


@ROWS.add("sign.default")
def _sign(c: Call, self: Any) -> Any:
    return self if c.dtype == "i1" else np.sign(self)


@ROWS.add("_to_copy.default", "to.dtype", "to.device", "to.dtype_layout", "_assert_tensor_metadata.default")
def _to_copy(c: Call, self: Any, *_: Any, dtype: str | None = None, **__: Any) -> Any:
    return cast(self, c.dtype)


@ROWS.add("clone.default", "contiguous.default", "alias.default", "lift_fresh_copy.default")
def _identity(c: Call, self: Any, *_: Any, **__: Any) -> Any:
    return self


@ROWS.add("detach.default")
def _detach(c: Call, self: Any) -> Any:
    return function("stop_gradient")(self)
