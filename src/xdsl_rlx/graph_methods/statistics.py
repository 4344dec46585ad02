"""Variances, logarithms of sums of exponentials, and truth over axes.

Half floats are computed with in f32 and rounded once, integers in f64. `keepdims` keeps extents of 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, prod
from typing import TypeAlias

from xdsl.dialects.builtin import bf16, f16, f32, f64

from xdsl_rlx.dialects.mir.mir_builder import MirBuilder
from xdsl_rlx.dialects.mir.value import Operand, Value
from xdsl_rlx.dialects.shapes import COMPLEXES, FLOATS, element_of, i1

Axes: TypeAlias = int | Sequence[int] | None
"""What is reduced over: None is all axes."""


def any(m: MirBuilder, x: Operand, axis: Axes = None, keepdims: bool = False) -> Value:
    """
    Return an i1: whether any element along `axis`, by default any at all, is not 0; false over an empty extent.
    """
    return m.reduce_max(_truth(m.value(m.operand(x))), axis, keepdims) > 0


def all(m: MirBuilder, x: Operand, axis: Axes = None, keepdims: bool = False) -> Value:
    """Return an i1: whether all elements along `axis`, by default all, are not 0; true over an empty extent."""
    return m.reduce_min(_truth(m.value(m.operand(x))), axis, keepdims) > 0


def logsumexp(m: MirBuilder, x: Operand, axis: Axes = None, keepdims: bool = False) -> Value:
    """Return `ln sum e^x` along `axis`, by default all, without overflow; -inf if empty or if all are -inf."""
    value = m.value(m.operand(x))
    total, shift = _exponentials(_wide(value), axis, keepdims)
    return _narrow(total + m.reshape(shift, total.shape), value)


def log_softmax(m: MirBuilder, x: Operand, axis: int = -1) -> Value:
    """`x - ln sum e^x` along `axis`: the logarithm of `mir.softmax`, finite where that is 0."""
    value = m.value(m.operand(x))
    wide = _wide(value)
    total, shift = _exponentials(wide, axis, True)
    return _narrow(wide - shift - total, value)


def var(m: MirBuilder, x: Operand, axis: Axes = None, ddof: int = 0, keepdims: bool = False) -> Value:
    """Return `sum |x - mean|^2 / (count - ddof)` along `axis`, by default all; the divisor is at least 0."""
    value = m.value(m.operand(x))
    return _narrow(_variance(value, axis, ddof, keepdims), value)


def std(m: MirBuilder, x: Operand, axis: Axes = None, ddof: int = 0, keepdims: bool = False) -> Value:
    """
    Return the square root of `var`. Its derivative at 0 is NaN, as in JAX; use `safe_sqrt` for a derivative of 0.
    """
    value = m.value(m.operand(x))
    return _narrow(m.sqrt(_variance(value, axis, ddof, keepdims)), value)


def _truth(x: Value) -> Value:
    """1 of what is not 0, as NaN is not."""
    return (x if element_of(x.ssa) == i1 else x.b.ne(x, 0)).cast("i8")


def _exponentials(x: Value, axis: Axes, keepdims: bool) -> tuple[Value, Value]:
    """`ln sum e^(x - shift)`, and the shift, kept: the greatest element, held fixed, or 0 where it is not finite."""
    b = x.b
    top = b.stop_gradient(b.reduce_max(x, axis, True))
    shift = b.where(b.abs(top) < inf, top, 0.0)
    return b.log(b.reduce_sum(b.exp(x - shift), axis, keepdims)), shift


def _variance(x: Value, axis: Axes, ddof: int, keepdims: bool) -> Value:
    """In the type that is computed in."""
    b, wide = x.b, _wide(x)
    centred = wide - b.reduce_mean(wide, axis, True)
    squares = b.complex_norm_sq(centred) if element_of(wide.ssa) in COMPLEXES else centred * centred
    total = b.reduce_sum(squares, axis, keepdims)
    count = prod(x.shape) // max(prod(total.shape), 1)
    return total / float(max(count - ddof, 0))


def _wide(x: Value) -> Value:
    """The value in the type that is computed in."""
    type_ = element_of(x.ssa)
    if type_ in (f16, bf16):
        return x.cast(f32)
    return x if type_ in (*FLOATS, *COMPLEXES) else x.cast(f64)


def _narrow(result: Value, x: Value) -> Value:
    """What was computed of half floats, rounded."""
    type_ = element_of(x.ssa)
    return result.cast(type_) if type_ in (f16, bf16) else result
