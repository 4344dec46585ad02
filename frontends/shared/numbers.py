"""XLA's arithmetic where it differs from NumPy's: integer division, shifts, rounding, clamping, contractions."""

# Tensors are traced or constant.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any

import numpy as np

from xdsl_rlx.frontends.shared.values import cast, category, dtype_of, is_constant, numpy_dtype, shape_of, traced
from xdsl_rlx.op_functions import function

BITS = {"i8": 8, "u8": 8, "i16": 16, "i32": 32, "u32": 32, "i64": 64}
"""Widths of integers."""


def _number(n: int, like: Any) -> Any:
    """A number in the element type of a tensor; one that is too large wraps."""
    dtype = numpy_dtype(dtype_of(like))
    return np.array(n).astype(dtype)[()]


def truncating_divide(x: Any, y: Any) -> Any:
    """
    Return the quotient of integers, rounded towards zero.

    Division by zero gives -1, all bits set, and the least integer over -1 is itself.
    """
    if is_constant(x, y) and np.all(np.asarray(y) != 0) and dtype_of(x).startswith("u"):
        return np.floor_divide(x, y)
    x, y = traced(x), traced(y)
    rem = function("rem")
    # x - rem(x, y) is a multiple of y, whose floored quotient is exact
    quotient = function("floordiv")(x - rem(x, y), y)
    return function("where")(y == _number(0, y), _number(-1, y), quotient)


def remainder(x: Any, y: Any) -> Any:
    """Return the remainder of `truncating_divide`, with the sign of `x`: `x` itself for a `y` of 0."""
    x, y = traced(x), traced(y)
    found = function("rem")(x, y)
    if category(dtype_of(x)) != 1:
        return found
    return function("where")(y == _number(0, y), x, found)


def shift_left(x: Any, y: Any) -> Any:
    """Return `x` shifted left by `y`: 0 for a `y` of at least the width, or below 0."""
    return function("shift_left")(traced(x), traced(y))


def shift_right_logical(x: Any, y: Any) -> Any:
    """Return the bits of `x` shifted right by `y`: 0 for a `y` of at least the width, or below 0."""
    bits = BITS[dtype_of(x)]
    if is_constant(y) and np.all((np.asarray(y) >= 0) & (np.asarray(y) < bits)):
        return function("shift_right_logical")(traced(x), traced(y))
    x, y = traced(x), traced(y)
    inside = (y >= _number(0, y)) & (y < _number(bits, y))
    return function("where")(inside, function("shift_right_logical")(x, y), _number(0, x))


def shift_right_arithmetic(x: Any, y: Any) -> Any:
    """Return `x` shifted right by `y` with copies of its sign: -1 or 0 for a `y` of at least the width, or below 0."""
    dtype = dtype_of(x)
    if not dtype.startswith("u"):
        return function("shift_right")(traced(x), traced(y))
    signed = dtype.replace("u", "i")
    found = function("shift_right")(bitcast(x, signed), bitcast(y, signed))
    return bitcast(found, dtype)


def bitcast(x: Any, dtype: str) -> Any:
    """Return the bits of `x` as an element type of the same width."""
    if is_constant(x):
        return np.asarray(x).view(numpy_dtype(dtype))
    return function("bitcast_convert_type")(x, numpy_dtype(dtype))


def clamp(low: Any, x: Any, high: Any) -> Any:
    """
    Return `min(max(x, low), high)`; bounds have the shape of `x`, or none.

    As in `jax.lax.clamp`, the derivative of `x` is 1 strictly between the bounds, and 0 at them.
    """
    x = traced(x)
    if category(dtype_of(x)) != 2:
        least, most = traced(low), traced(high)
        if dtype_of(x) == "i1":
            return (x | least) & most
        return function("min")(function("max")(x, least), most)
    inside = (x > low) & (x < high)
    clipped = function("min")(function("max")(x, low), high)
    result = function("where")(inside, x, function("stop_gradient")(clipped))
    if not is_constant(low):
        result = function("where")((low > x) & (low < high), low, result)
    if not is_constant(high):
        result = function("where")(x > high, high, result)
    return result


def round_to_even(x: Any) -> Any:
    """Return the nearest integer, half to even; the derivative is 0."""
    return function("stop_gradient")(function("round")(traced(x)))


def round_away(x: Any) -> Any:
    """Return the nearest integer, half away from zero; the derivative is 0."""
    x = traced(x)
    whole = function("trunc")(x)
    half = cast(function("abs")(x - whole) >= 0.5, dtype_of(x))
    rounded = function("copysign")(whole + function("sign")(x) * half, x)
    # an infinity less itself is NaN
    return function("stop_gradient")(function("where")(function("abs")(x) < np.inf, rounded, x))


def argmax(x: Any, axis: int, dtype: str) -> Any:
    """Return the position of the largest element along an axis: of NaN the first, of equal ones the first."""
    return cast(function("argmax")(traced(x), axis), dtype)


def argmin(x: Any, axis: int, dtype: str) -> Any:
    """Return the position of the smallest element along an axis: of NaN the first, of equal ones the first."""
    return cast(function("argmin")(traced(x), axis), dtype)


def dot_general(
    lhs: Any,
    rhs: Any,
    contracting: tuple[tuple[int, ...], tuple[int, ...]],
    batch: tuple[tuple[int, ...], tuple[int, ...]] = ((), ()),
    dtype: str | None = None,
) -> Any:
    """
    Return the contraction of two tensors; the result has batch dimensions, those of `lhs`, then those of `rhs`.

    It is computed in the element type `dtype`, by default that of the operands, which may be narrower.
    """
    wide = dtype or dtype_of(lhs)
    if wide == "i1":
        found = dot_general(cast(lhs, "i32"), cast(rhs, "i32"), contracting, batch)
        return found != 0
    left, right = traced(cast(lhs, wide)), traced(cast(rhs, wide))
    if not shape_of(left) and not shape_of(right):
        return left * right
    numbers = [list(one) for one in (*contracting, *batch)]
    return function("dot_general")(left, right, *numbers)
