"""fmod of f32 as a branch-free scalar expression: long division in f64, 52 bits of the quotient at a time."""

from __future__ import annotations

from xdsl.dialects.builtin import f64

from xdsl_rlx.dialects.lir.scalar_builder import Scalar, ScalarBuilder
from xdsl_rlx.lowering.backend.math.math_core import INF

_SHIFTS = (260, 208, 156, 104, 52, 0)
"""Quotients are below 2^277."""


def fmod(b: ScalarBuilder, x: Scalar, y: Scalar) -> Scalar:
    """
    `|x|` less multiples of `2^k |y|`, the greatest k first.

    Remainders are multiples of a last place of x or y and have no more digits than these, so each is exact. A
    quotient that was rounded is at most one too large.
    """
    size, divisor = b.cast(b.abs(x), f64), b.cast(b.abs(y), f64)
    rest = size
    for shift in _SHIFTS:
        step = divisor * 2.0**shift
        less = b.fma(-b.trunc(rest / step), step, rest)
        rest = b.select(less < 0.0, less + step, less)
    whole = b.eq(divisor, INF) & (size < INF)
    return b.select(whole, x, b.copysign(b.cast(rest, x.type), x))
