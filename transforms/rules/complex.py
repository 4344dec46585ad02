"""Rows of complex ops, and of real functions of a pair of parts. A cotangent is `dL/dx + i dL/dy` (docs/math.md)."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, pi

from xdsl_rlx.dialects.lir.scalar_builder import Scalar, ScalarBuilder
from xdsl_rlx.dialects.mir.complex import (
    Atan2Op,
    ComplexNormSqBackwardOp,
    ComplexNormSqOp,
    ComplexOp,
    ConjugateOp,
    HypotOp,
    ImagOp,
    LogHypotOp,
    RealOp,
)
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.transforms.rules.rows import decompose, diagonal, leading, linear
from xdsl_rlx.transforms.rules.rule_table import JVP, VJP, Cotangent

linear(RealOp, lambda op, b, g: [b.complex(g, b.zeros_like(g))])
linear(ImagOp, lambda op, b, g: [b.complex(b.zeros_like(g), g)])
linear(ComplexOp, lambda op, b, g: [lambda: b.real(g), lambda: b.imag(g)])
linear(ConjugateOp, lambda op, b, g: [b.conjugate(g)])

for _op in (RealOp, ImagOp, ComplexOp, ConjugateOp, ComplexNormSqOp, ComplexNormSqBackwardOp):
    leading(_op)


@decompose(ConjugateOp)
def conjugate_decompose(op: ConjugateOp, b: MirBuilder) -> Sequence[Value]:
    return [b.complex(b.real(op.operand), -b.imag(op.operand))]


def _inner(b: MirBuilder, z: Value, w: Value) -> Value:
    """`2 Re(conj(z) w)`."""
    return 2.0 * (b.real(z) * b.real(w) + b.imag(z) * b.imag(w))


@VJP.rule(ComplexNormSqOp)
def complex_norm_sq_vjp(op: ComplexNormSqOp, b: MirBuilder, g: Value) -> Sequence[Cotangent]:
    return [b.complex_norm_sq_backward(op.operand, g)]


@JVP.rule(ComplexNormSqOp)
def complex_norm_sq_jvp(op: ComplexNormSqOp, b: MirBuilder, t: Value) -> Sequence[Value | None]:
    """`2 Re(conj(z) t)`."""
    return [_inner(b, b.value(op.operand), t)]


@decompose(ComplexNormSqOp)
def complex_norm_sq_decompose(op: ComplexNormSqOp, b: MirBuilder) -> Sequence[Value]:
    re, im = b.real(op.operand), b.imag(op.operand)
    return [re * re + im * im]


@VJP.rule(ComplexNormSqBackwardOp)
def complex_norm_sq_backward_vjp(op: ComplexNormSqBackwardOp, b: MirBuilder, h: Value) -> Sequence[Cotangent]:
    """The result `2 g z` is real in `g` and complex in `z`: `2 g h`, and `2 Re(conj(z) h)`."""
    return [lambda: b.complex_norm_sq_backward(h, op.rhs), lambda: _inner(b, b.value(op.lhs), h)]


@JVP.rule(ComplexNormSqBackwardOp)
def complex_norm_sq_backward_jvp(
    op: ComplexNormSqBackwardOp, b: MirBuilder, z: Value | None, g: Value | None
) -> Sequence[Value | None]:
    parts = [
        None if z is None else b.complex_norm_sq_backward(z, op.rhs),
        None if g is None else b.complex_norm_sq_backward(op.lhs, g),
    ]
    given = [part for part in parts if part is not None]
    return [given[0] if len(given) == 1 else given[0] + given[1]]


@decompose(ComplexNormSqBackwardOp)
def complex_norm_sq_backward_decompose(op: ComplexNormSqBackwardOp, b: MirBuilder) -> Sequence[Value]:
    twice = 2.0 * b.value(op.rhs)
    return [b.complex(b.real(op.lhs) * twice, b.imag(op.lhs) * twice)]


def _quotient(b: MirBuilder, g: Value, x: Value, radius: Value, limit: Value | float, squared: bool) -> Value:
    """
    `g x / radius`, or `g x / radius^2`: 0 at the origin, and a limit where `x` is infinite.

    The operands of the quotient are guarded there, so that its own derivatives are finite.
    """
    origin = b.eq(radius, 0.0)
    outside = origin | b.eq(b.abs(x), inf)
    x, radius = b.where(outside, limit, x), b.where(outside, 1.0, radius)
    share = x / radius
    return b.where(origin, 0.0, g * (share / radius if squared else share))


def _over_radius(b: MirBuilder, g: Value, x: Value, radius: Value) -> Value:
    """`g x / radius`, and 0 at the origin."""
    return _quotient(b, g, x, radius, b.sign(x), False)


def _over_square(b: MirBuilder, g: Value, part: Value, lhs: Value, rhs: Value) -> Value:
    """`g part / (lhs^2 + rhs^2)`, and 0 at the origin, without squares that overflow."""
    return _quotient(b, g, part, b.hypot(lhs, rhs), 0.0, True)


def _sorted(b: ScalarBuilder, x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
    """The larger and the smaller magnitude; NaN, both, if one is."""
    x, y = b.abs(x), b.abs(y)
    return b.maximum(x, y), b.minimum(x, y)


def hypot_scalar(b: ScalarBuilder, x: Scalar, y: Scalar) -> Scalar:
    large, small = _sorted(b, x, y)
    ratio = b.select(b.eq(large, 0.0), 0.0, small / large)
    infinite = b.or_(b.eq(b.abs(x), inf), b.eq(b.abs(y), inf))
    return b.select(infinite, inf, large * b.sqrt(ratio * ratio + 1.0))


def log_hypot_scalar(b: ScalarBuilder, x: Scalar, y: Scalar) -> Scalar:
    """Near the unit circle `log1p(x^2 + y^2 - 1) / 2`, else `log large + log1p((small/large)^2) / 2`."""
    large, small = _sorted(b, x, y)
    ratio = b.select(b.eq(large, 0.0), 0.0, small / large)
    near = b.and_(large > 0.5, large < 2.0)
    inside = b.select(near, (large - 1.0) * (large + 1.0) + small * small, ratio * ratio)
    value = b.log1p(inside) * 0.5
    infinite = b.or_(b.eq(b.abs(x), inf), b.eq(b.abs(y), inf))
    return b.select(infinite, inf, b.select(near, value, b.log(large) + value))


def atan2_scalar(b: ScalarBuilder, y: Scalar, x: Scalar) -> Scalar:
    """The arc tangent of the smaller over the larger magnitude, reflected into the octant of the point."""
    large, small = _sorted(b, x, y)
    ratio = b.select(b.eq(large, 0.0), 0.0, b.select(b.eq(small, inf), 1.0, small / large))
    octant = b.atan(ratio)
    quadrant = b.select(b.abs(y) > b.abs(x), pi / 2 - octant, octant)
    left = b.copysign(b.like(1.0, x), x) < 0.0
    return b.copysign(b.select(left, pi - quadrant, quadrant), y)


diagonal(
    HypotOp,
    lambda b, g, lhs, rhs, y: _over_radius(b, g, lhs, y),
    lambda b, g, lhs, rhs, y: _over_radius(b, g, rhs, y),
    scalar=hypot_scalar,
)
diagonal(
    LogHypotOp,
    lambda b, g, lhs, rhs, y: _over_square(b, g, lhs, lhs, rhs),
    lambda b, g, lhs, rhs, y: _over_square(b, g, rhs, lhs, rhs),
    scalar=log_hypot_scalar,
)
diagonal(
    Atan2Op,
    lambda b, g, lhs, rhs, y: _over_square(b, g, rhs, lhs, rhs),
    lambda b, g, lhs, rhs, y: -_over_square(b, g, lhs, lhs, rhs),
    scalar=atan2_scalar,
)
