"""Rows of operators on bits and whole numbers, and of those that take numbers apart."""

# Arguments of operators are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any

import numpy as np

from xdsl_rlx.frontends.aten.rows import ROWS, Call
from xdsl_rlx.frontends.aten.values import cast, category, dtype_of, numpy_dtype, traced
from xdsl_rlx.op_functions import function
from xdsl_rlx.tree_control import while_loop


def _shift_names(name: str) -> list[str]:
    return [f"{name}.{one}" for one in ("Tensor", "Tensor_Scalar", "Scalar_Tensor")]


@ROWS.add(*_shift_names("bitwise_left_shift"), "__lshift__.Tensor", "__lshift__.Scalar")
def _left_shift(c: Call, self: Any, other: Any) -> Any:
    """0 if all bits are shifted out, or if the distance is negative."""
    x, by = cast(self, c.dtype), cast(other, c.dtype)
    width = numpy_dtype(c.dtype).itemsize * 8
    inside = (by >= 0) & (by < width)
    zero = cast(0, c.dtype)
    return np.where(inside, np.left_shift(x, np.where(inside, by, zero)), zero)


@ROWS.add(*_shift_names("bitwise_right_shift"), "__rshift__.Tensor", "__rshift__.Scalar")
def _right_shift(c: Call, self: Any, other: Any) -> Any:
    """All bits are the sign if the distance is negative, or is the number of bits or more."""
    x, by = cast(self, c.dtype), cast(other, c.dtype)
    most = numpy_dtype(c.dtype).itemsize * 8 - 1
    inside = (by >= 0) & (by <= most)
    found = np.right_shift(x, np.where(inside, by, cast(most, c.dtype)))
    return found if c.dtype.startswith("i") else np.where(inside, found, cast(0, c.dtype))


@ROWS.add("gcd.default", composite=True)
def _gcd(c: Call, self: Any, other: Any) -> Any:
    """By Euclid's algorithm, in as many steps as the slowest element needs."""
    a, b = np.broadcast_arrays(traced(cast(self, c.dtype)), traced(cast(other, c.dtype)))
    zero, one = cast(0, c.dtype), cast(1, c.dtype)

    def step(state: Any) -> Any:
        x, y = state
        ends = y == zero
        return np.where(ends, x, y), np.where(ends, zero, np.remainder(x, np.where(ends, one, y)))

    return while_loop(lambda state: np.any(state[1] != 0), step, (abs(a), abs(b)))[0]


@ROWS.add("lcm.default", composite=True)
def _lcm(c: Call, self: Any, other: Any) -> Any:
    a, b = cast(self, c.dtype), cast(other, c.dtype)
    divisor = _gcd(c, a, b)
    return abs(a // np.where(divisor == 0, cast(1, c.dtype), divisor) * b)


@ROWS.add("signbit.default")
def _signbit(c: Call, self: Any) -> Any:
    if category(dtype_of(self)) == 2:
        return np.copysign(cast(1, dtype_of(self)), self) < 0
    return cast(self, "i8") < 0


_FIELDS = {"f64": ("i64", 52, 0x7FF, 1022), "f32": ("i32", 23, 0xFF, 126)}
"""Of a floating-point type its bits as integers, how many are the fraction, the mask and the bias of the exponent."""


@ROWS.add("frexp.Tensor", composite=True)
def _frexp(c: Call, self: Any) -> Any:
    """The fraction, from 1/2 to 1, and the exponent, which is 0 for numbers that are not finite and for 0."""
    dtype = dtype_of(self)
    wide = self if dtype in _FIELDS else cast(self, "f32")
    integers, fraction, mask, bias = _FIELDS[dtype_of(wide)]
    tiny = abs(wide) < cast(2.0 ** (1 - bias), dtype_of(wide))
    scaled = np.where(tiny, wide * cast(2.0**fraction, dtype_of(wide)), wide)
    bits = function("bitcast_convert_type")(scaled, numpy_dtype(integers))
    exponent = (np.right_shift(bits, fraction) & mask) - bias - cast(tiny, integers) * fraction
    plain = (abs(wide) < np.inf) & (wide != 0)
    half = (bits & ~cast(mask << fraction, integers)) | cast(bias << fraction, integers)
    mantissa = np.where(plain, function("bitcast_convert_type")(half, numpy_dtype(dtype_of(wide))), wide)
    return [cast(mantissa, dtype), cast(np.where(plain, exponent, cast(0, integers)), "i32")]


@ROWS.add("round.decimals")
def _round(c: Call, self: Any, *, decimals: int = 0) -> Any:
    if category(c.dtype) < 2:
        return self
    scale = cast(10.0 ** abs(decimals), c.dtype)
    rounded = np.round(self * scale) / scale if decimals >= 0 else np.round(self / scale) * scale
    return function("stop_gradient")(rounded)


@ROWS.add("fmax.default")
def _fmax(c: Call, self: Any, other: Any) -> Any:
    """The larger one, and of a number and NaN the number."""
    x, y = cast(self, c.dtype), cast(other, c.dtype)
    return np.where((x >= y) | (y != y), x, y)


@ROWS.add("fmin.default")
def _fmin(c: Call, self: Any, other: Any) -> Any:
    x, y = cast(self, c.dtype), cast(other, c.dtype)
    return np.where((x <= y) | (y != y), x, y)
