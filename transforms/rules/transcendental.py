"""Rows of logarithms, exponentials, hyperbolic and inverse functions: derivatives as they do not cancel."""

from __future__ import annotations

from math import inf, log

from xdsl_rlx.dialects.lir.scalar_builder import Scalar, ScalarBuilder
from xdsl_rlx.dialects.mir import transcendental as mir
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.transforms.rules.elementwise import erf_slope
from xdsl_rlx.transforms.rules.rows import diagonal

LN_2 = log(2)
LN_10 = log(10)


def _one_minus_square(b: MirBuilder, x: Value) -> Value:
    """`1 - x^2`, as a product near -1 and 1. Its derivative is `-2 x`: that of the product cancels near 0."""
    return b.straight_through((1.0 - x) * (1.0 + x), -(x * x))


def _over_arc(b: MirBuilder, g: Value, x: Value) -> Value:
    """`g / sqrt(1 - x^2)`: infinite on the ends of [-1, 1]."""
    return g * b.rsqrt(_one_minus_square(b, x))


def _third_of_square(x: Value) -> Value:
    return x * x * (1 / 3)


def _share(b: MirBuilder, lhs: Value, rhs: Value) -> Value:
    """`e^lhs / (e^lhs + e^rhs)`, of two equal infinities 1/2: of other equal operands the difference has a slope."""
    alike = b.eq(b.abs(lhs), inf) & b.eq(lhs, rhs)
    return b.sigmoid(b.where(alike, 0.0, lhs - rhs))


def softplus_scalar(b: ScalarBuilder, x: Scalar) -> Scalar:
    return b.maximum(x, 0.0) + b.log1p(b.exp(-b.abs(x)))


def logaddexp_scalar(b: ScalarBuilder, lhs: Scalar, rhs: Scalar) -> Scalar:
    """The larger one, and what the other adds. The difference of two infinities is NaN."""
    larger = b.maximum(lhs, rhs)
    added = larger + b.log1p(b.exp(-b.abs(lhs - rhs)))
    return b.select(b.eq(lhs, rhs) & b.eq(b.abs(lhs), inf), lhs, added)


diagonal(mir.Log1pOp, lambda b, g, x, y: g / (1.0 + x), scalar=lambda b, x: b.log1p(x))
diagonal(mir.Expm1Op, lambda b, g, x, y: g * b.exp(x), scalar=lambda b, x: b.expm1(x))
diagonal(mir.Log2Op, lambda b, g, x, y: g * (1 / LN_2) / x, scalar=lambda b, x: b.log2(x))
diagonal(mir.Log10Op, lambda b, g, x, y: g * (1 / LN_10) / x, scalar=lambda b, x: b.log10(x))
diagonal(mir.Exp2Op, lambda b, g, x, y: g * (y * LN_2), scalar=lambda b, x: b.exp2(x))
diagonal(mir.CbrtOp, lambda b, g, x, y: g * _third_of_square(b.recip(y)), scalar=lambda b, x: b.cbrt(x))
diagonal(mir.AsinOp, lambda b, g, x, y: _over_arc(b, g, x), scalar=lambda b, x: b.asin(x))
diagonal(mir.AcosOp, lambda b, g, x, y: -_over_arc(b, g, x), scalar=lambda b, x: b.acos(x))
diagonal(mir.SinhOp, lambda b, g, x, y: g * b.cosh(x), scalar=lambda b, x: b.sinh(x))
diagonal(mir.CoshOp, lambda b, g, x, y: g * b.sinh(x), scalar=lambda b, x: b.cosh(x))
diagonal(mir.AsinhOp, lambda b, g, x, y: g / b.hypot(x, 1.0), scalar=lambda b, x: b.asinh(x))
diagonal(mir.AcoshOp, lambda b, g, x, y: g * (b.rsqrt(x - 1.0) * b.rsqrt(x + 1.0)), scalar=lambda b, x: b.acosh(x))
diagonal(mir.AtanhOp, lambda b, g, x, y: g / _one_minus_square(b, x), scalar=lambda b, x: b.atanh(x))
diagonal(
    mir.ErfcOp,
    lambda b, g, x, y: -(g * erf_slope(b, x)),
    scalar=lambda b, x: b.erfc(x),
)
diagonal(mir.SoftplusOp, lambda b, g, x, y: g * b.sigmoid(x), scalar=softplus_scalar)
diagonal(
    mir.LogaddexpOp,
    lambda b, g, lhs, rhs, y: g * _share(b, lhs, rhs),
    lambda b, g, lhs, rhs, y: g * _share(b, rhs, lhs),
    scalar=logaddexp_scalar,
)
