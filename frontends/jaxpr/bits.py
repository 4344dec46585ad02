"""Rows of primitives on the bits of numbers, and conversions of element types."""

# Operands of rows are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any

import numpy as np

from xdsl_rlx.frontends.jaxpr.rows import ROWS, Call
from xdsl_rlx.frontends.jaxpr.types import (
    AS_SIGNED,
    COMPLEXES,
    FLOATS,
    dtype_of,
    is_constant,
    like,
    numpy_dtype,
    traced,
)
from xdsl_rlx.op_functions import function


def _width(dtype: str) -> int:
    return 8 * numpy_dtype(dtype).itemsize


@ROWS.add("shift_left", "shift_right_logical", "shift_right_arithmetic", composite=True)
def _shift(c: Call, x: Any, amount: Any) -> Any:
    """A shift by the width or more leaves nothing of the bits: zeros, or copies of the sign."""
    name, dtype = c.eqn.primitive.name, dtype_of(x)
    bits = _width(dtype)
    arithmetic = name == "shift_right_arithmetic"
    if is_constant(amount):
        n = np.asarray(amount)
        if np.all((n >= 0) & (n < bits)):
            return _shifted(name, x, amount)
    within = (amount >= like(0, dtype)) & (amount < like(bits, dtype))
    safe = np.where(within, amount, like(bits - 1 if arithmetic else 0, dtype))
    found = _shifted(name, x, safe)
    return found if arithmetic else np.where(within, found, like(0, dtype))


def _shifted(name: str, x: Any, amount: Any) -> Any:
    if name == "shift_left":
        return x << amount
    unsigned = dtype_of(x)[0] == "u"
    if (name == "shift_right_logical") == unsigned:
        return x >> amount
    if unsigned:
        signed = "i" + dtype_of(x)[1:]
        return _bits(_bits(x, signed) >> _bits(amount, signed), dtype_of(x))
    if is_constant(x) and is_constant(amount):
        plain = np.dtype(f"u{x.dtype.itemsize}")
        return np.asarray(np.asarray(x).view(plain) >> np.asarray(amount).view(plain)).view(x.dtype)
    return function("shift_right_logical")(traced(x), amount)


def _bits(x: Any, dtype: str) -> Any:
    """The same bits in another element type of the same width."""
    if is_constant(x):
        return np.asarray(x).view(numpy_dtype(dtype))
    return function("bitcast_convert_type")(x, dtype)


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
    """
    An operand in another element type, as XLA converts it; `source` and `target` are JAX's names of the types.

    Floats to integers are cut, NaN is 0, and what does not fit is the nearest number that does.
    """
    if source == target:
        return x
    own = dtype_of(x)
    if dtype == "i1":
        return x != like(0, own)
    if own in COMPLEXES and dtype not in COMPLEXES:
        x, own = np.real(x), {"c64": "f32", "c128": "f64"}[own]
    if source in AS_SIGNED:
        return _from_unsigned(x, source, dtype)
    if own in FLOATS and dtype[0] in "iu":
        return _to_integer(x, target, dtype)
    return x if own == dtype else x.astype(numpy_dtype(dtype))


def _from_unsigned(x: Any, source: str, dtype: str) -> Any:
    """From an unsigned type that is kept as a signed one."""
    if dtype[0] in "iu":
        wide = x.astype(numpy_dtype("i32")) & like(0xFFFF, "i32") if source == "uint16" else x
        return wide if dtype_of(wide) == dtype else wide.astype(numpy_dtype(dtype))
    real = {"c64": "f32", "c128": "f64"}.get(dtype, dtype)
    if source == "uint16":
        found = (x.astype(numpy_dtype("i32")) & like(0xFFFF, "i32")).astype(numpy_dtype(real))
    else:
        # half of it, with the lowest bit kept for rounding, fits
        half = _shifted("shift_right_logical", x, like(1, "i64")) | (x & like(1, "i64"))
        doubled = half.astype(numpy_dtype(real)) * like(2, real)
        found = np.where(x < like(0, "i64"), doubled, x.astype(numpy_dtype(real)))
    return found if real == dtype else found.astype(numpy_dtype(dtype))


def _to_integer(x: Any, target: str, dtype: str) -> Any:
    """A float as an integer: cut, and clipped to what the type holds."""
    own = dtype_of(x)
    limits = np.iinfo(np.dtype(target))
    low, high = int(limits.min), int(limits.max)
    if is_constant(x):
        wide = np.nan_to_num(np.asarray(x, np.float64), nan=0.0, posinf=np.inf, neginf=-np.inf)
        below, above = wide <= low, wide >= high
        inside = np.where(below | above, 0, wide).astype(np.dtype(target))
        found = np.where(below, np.array(low, target), np.where(above, np.array(high, target), inside))
        return found.view(numpy_dtype(dtype))
    if target in AS_SIGNED:
        return _to_unsigned(x, own, dtype, high)
    if own in ("f16", "bf16"):
        x, own = x.astype(numpy_dtype("f32")), "f32"
    above, below = x >= like(float(high), own), x <= like(float(low), own)
    inside = np.where(above | below | (x != x), like(0, own), x).astype(numpy_dtype(dtype))
    return np.where(above, like(high, dtype), np.where(below, like(low, dtype), inside))


def _to_unsigned(x: Any, own: str, dtype: str, high: int) -> Any:
    """To an unsigned type that is kept as a signed one: from half the range on, less the other half."""
    if own in ("f16", "bf16"):
        x, own = x.astype(numpy_dtype("f32")), "f32"
    half = float(1 << (_width(dtype) - 1))
    above, below = x >= like(2 * half, own), x <= like(0.0, own)
    safe = np.where(above | below | (x != x), like(0, own), x)
    upper = safe >= like(half, own)
    inside = np.where(upper, safe - like(half, own), safe).astype(numpy_dtype(dtype))
    inside = inside ^ np.where(upper, like(-(1 << (_width(dtype) - 1)), dtype), like(0, dtype))
    return np.where(above, like(-1, dtype), inside)
