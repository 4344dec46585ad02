"""Functions of each element that build several ops."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from xdsl.dialects.builtin import i64

from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.dialects.mir.bits import width
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder
from xdsl_rlx.dialects.mir.value import Operand, Value
from xdsl_rlx.dialects.shapes import COMPLEXES, DTYPE_NAMES, FLOATS, INTS, element_of


def safe_sqrt(m: MirBuilder, x: Operand) -> Value:
    """
    Return `sqrt x` for `x > 0`, else 0 with derivative 0 (that of `mir.sqrt` is infinite or NaN); NaN stays NaN.
    """
    return _above_zero(m, x, m.sqrt)


def safe_rsqrt(m: MirBuilder, x: Operand) -> Value:
    """Return `1 / sqrt x` for `x > 0`, else 0 with derivative 0; NaN stays NaN."""
    return _above_zero(m, x, m.rsqrt)


def _above_zero(m: MirBuilder, x: Operand, function: Callable[[Value], Value]) -> Value:
    """`function` of 1 in place of what is not positive, so that no infinity reaches the gradient."""
    value = m.value(m.operand(x))
    outside = value <= 0.0
    return m.where(outside, 0.0, function(m.where(outside, 1.0, value)))


def angle(m: MirBuilder, z: Operand) -> Value:
    """Return the phase angle of `z`, from -pi to pi."""
    value = m.operand(z)
    return m.atan2(m.imag(value), m.real(value))


def is_inf(m: MirBuilder, x: Operand) -> Value:
    """Return an i1 for each element: whether it, or its real or imaginary part, is infinite; false for integers."""
    value = m.value(m.operand(x))
    if element_of(value.ssa) in COMPLEXES:
        return m.or_(*(is_inf(m, part) for part in (m.real(value), m.imag(value))))
    return m.eq(m.abs(value), inf) if element_of(value.ssa) in FLOATS else m.is_nan(value)


def is_finite(m: MirBuilder, x: Operand) -> Value:
    """Return an i1 for each element: whether it is neither infinite nor NaN; true for integers."""
    value = m.value(m.operand(x))
    if element_of(value.ssa) in COMPLEXES:
        return m.and_(*(is_finite(m, part) for part in (m.real(value), m.imag(value))))
    return m.lt(m.abs(value), inf) if element_of(value.ssa) in FLOATS else m.eq(value, value)


def mulhi(m: MirBuilder, x: Operand, y: Operand) -> Value:
    """Return the upper half of the product of integers, which has twice as many bits as they; both broadcast."""
    lhs, rhs = (m.value(one) for one in m.operands(x, y))
    element = element_of(lhs.ssa)
    if element not in INTS:
        raise GraphError(f"mulhi: expected integers, got {DTYPE_NAMES[element]}")
    bits = width(element)
    if bits < 64:
        return m.cast(m.shift_right_logical(m.cast(lhs, i64) * m.cast(rhs, i64), bits), element)
    (low, high), (less, more) = ((one & 0xFFFFFFFF, m.shift_right(one, 32)) for one in (lhs, rhs))
    middle = high * less + m.shift_right_logical(low * less, 32)
    rest = low * more + (middle & 0xFFFFFFFF)
    return high * more + m.shift_right(middle, 32) + m.shift_right(rest, 32)
