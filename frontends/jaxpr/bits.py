"""Rows of primitives on the bits of numbers, and conversions of element types."""

# Operands of rows are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any

import numpy as np

from xdsl_rlx.frontends.jaxpr.rows import ROWS, Call
from xdsl_rlx.frontends.jaxpr.types import AS_SIGNED, FLOATS, like
from xdsl_rlx.frontends.shared import numbers
from xdsl_rlx.frontends.shared.values import cast, dtype_of, is_constant, traced
from xdsl_rlx.op_functions import function


@ROWS.add("shift_left", "shift_right_logical", "shift_right_arithmetic", composite=True)
def _shift(c: Call, x: Any, amount: Any) -> Any:
    """A shift by the width or more leaves nothing of the bits: zeros, or copies of the sign."""
    name = c.eqn.primitive.name
    if is_constant(x, amount):
        return _folded(name, np.asarray(x), np.asarray(amount))
    return getattr(numbers, name)(x, amount)


def _folded(name: str, x: np.ndarray[Any, Any], amount: np.ndarray[Any, Any]) -> Any:
    bits = 8 * x.dtype.itemsize
    kind = np.dtype(f"{'i' if name == 'shift_right_arithmetic' else 'u'}{x.dtype.itemsize}")
    inside = (amount >= 0) & (amount < bits)
    plain, by = x.view(kind), np.where(inside, amount, bits - 1).astype(kind)
    if name == "shift_right_arithmetic":
        return np.asarray(plain >> by).view(x.dtype)
    found = plain << by if name == "shift_left" else plain >> by
    return np.where(inside, found, 0).astype(kind).view(x.dtype)


@ROWS.add("bitcast_convert_type")
def _bitcast_convert_type(c: Call, x: Any) -> Any:
    return x if dtype_of(x) == c.dtype else function("bitcast_convert_type")(traced(x), c.dtype)


@ROWS.add("population_count", "clz")
def _count(c: Call, x: Any) -> Any:
    return function(c.eqn.primitive.name)(traced(x))


@ROWS.add("mulhi", composite=True)
def _mulhi(c: Call, x: Any, y: Any) -> Any:
    if c.given[0] not in AS_SIGNED:
        return function("mulhi")(traced(x), traced(y))
    # as signed numbers each factor is too small by 2^n where its highest bit is 1
    x, y = traced(x), traced(y)
    none = like(0, dtype_of(x))
    high = function("mulhi")(x, y)
    return high + np.where(x < none, y, none) + np.where(y < none, x, none)


@ROWS.add("convert_element_type", composite=True)
def _convert_element_type(c: Call, x: Any) -> Any:
    return converted(x, c.given[0], c.made[0], c.dtype)


def converted(x: Any, source: str, target: str, dtype: str) -> Any:
    """An operand in another element type, as XLA converts it; `source` and `target` are JAX's names of the types."""
    if source == target:
        return x
    if dtype == "i1":
        return x != like(0, dtype_of(x))
    if source in AS_SIGNED:
        return _from_unsigned(x, source, dtype)
    if target in AS_SIGNED and dtype_of(x) in FLOATS:
        return _to_unsigned(x, dtype)
    return cast(x, dtype)


def _from_unsigned(x: Any, source: str, dtype: str) -> Any:
    """From an unsigned type that is kept as a signed one."""
    if source == "uint16":
        return cast(cast(x, "i32") & like(0xFFFF, "i32"), dtype)
    if dtype[0] in "iu":
        return cast(x, dtype)
    real = {"c64": "f32", "c128": "f64"}.get(dtype, dtype)
    # half of it fits, with the lowest bit kept for rounding
    half = numbers.shift_right_logical(x, like(1, "i64")) | (x & like(1, "i64"))
    return cast(np.where(x < like(0, "i64"), cast(half, real) * like(2, real), cast(x, real)), dtype)


def _to_unsigned(x: Any, dtype: str) -> Any:
    """To an unsigned type that is kept as a signed one: from half the range on, less the other half."""
    x = cast(x, "f32") if dtype_of(x) in ("f16", "bf16") else x
    own, bits = dtype_of(x), int(dtype[1:])
    half = like(2.0 ** (bits - 1), own)
    above, below = x >= half + half, x <= like(0, own)
    safe = np.where(above | below | (x != x), like(0, own), x)
    upper = safe >= half
    inside = cast(np.where(upper, safe - half, safe), dtype)
    inside = inside ^ np.where(upper, like(-(1 << (bits - 1)), dtype), like(0, dtype))
    return np.where(above, like(-1, dtype), inside)
