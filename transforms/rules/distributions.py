"""Rows of draws by rejection and by shuffling: those of real numbers are differentiated at fixed probability."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl_rlx.dialects.mir.distributions import (
    GammaSlopeOp,
    RngBinomialOp,
    RngGammaOp,
    RngPermutationOp,
    RngPoissonOp,
)
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.transforms.rules.rows import leading, zero
from xdsl_rlx.transforms.rules.rule_table import JVP, VJP, Cotangent

zero(RngPoissonOp, "it draws integers")
zero(RngBinomialOp, "it draws integers")
zero(RngPermutationOp, "it depends on a key only")

for _op in (RngGammaOp, GammaSlopeOp, RngPoissonOp, RngBinomialOp, RngPermutationOp):
    leading(_op)


def _slope(op: RngGammaOp, b: MirBuilder) -> Value:
    return b.gamma_slope(op.alpha, op.result, op.log is not None)


@VJP.rule(RngGammaOp)
def rng_gamma_vjp(op: RngGammaOp, b: MirBuilder, g: Value) -> Sequence[Cotangent]:
    """`dalpha = g dx/dalpha` at fixed probability: implicit reparameterisation (Figurnov et al., 2018)."""
    return [None, lambda: g * _slope(op, b)]


@JVP.rule(RngGammaOp)
def rng_gamma_jvp(op: RngGammaOp, b: MirBuilder, _: Value | None, t: Value | None) -> Sequence[Value | None]:
    return [None if t is None else t * _slope(op, b)]


STEP = 1e-4
"""Of a central difference in f64, relative: its error and that of rounding are both near 1e-9 of the result."""


def _partial(op: GammaSlopeOp, b: MirBuilder, operand: int) -> Value:
    """The derivative of the slope by one operand, as a central difference; 0 where an operand that has no sign is 0."""
    alpha, x = (b.cast(b.value(given), "f64") for given in op.operands)
    is_log = op.log is not None
    size = b.abs(x if operand else alpha)
    step = (b.max(size, 1.0) if operand and is_log else size) * STEP
    above, below = (
        b.gamma_slope(alpha, x + move, is_log) if operand else b.gamma_slope(alpha + move, x, is_log)
        for move in (step, -step)
    )
    is_zero = step == 0.0
    difference = b.where(is_zero, 0.0, (above - below) / b.where(is_zero, 1.0, step * 2.0))
    return b.cast(difference, b.value(op.result).dtype)


@VJP.rule(GammaSlopeOp)
def gamma_slope_vjp(op: GammaSlopeOp, b: MirBuilder, g: Value) -> Sequence[Cotangent]:
    return [lambda: g * _partial(op, b, 0), lambda: g * _partial(op, b, 1)]


@JVP.rule(GammaSlopeOp)
def gamma_slope_jvp(op: GammaSlopeOp, b: MirBuilder, *tangents: Value | None) -> Sequence[Value | None]:
    parts = [t * _partial(op, b, operand) for operand, t in enumerate(tangents) if t is not None]
    return [parts[0] if len(parts) == 1 else parts[0] + parts[1]]
