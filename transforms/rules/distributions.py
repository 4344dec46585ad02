"""Rows of draws by rejection and by shuffling: those of real numbers are differentiated at fixed probability."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from xdsl_rlx.dialects.mir.distributions import (
    BisectOp,
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
zero(BisectOp, "it counts")
zero(RngPermutationOp, "it depends on a key only")

for _op in (BisectOp, RngGammaOp, GammaSlopeOp, RngPoissonOp, RngBinomialOp, RngPermutationOp):
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
    operands = [b.cast(x, "f64") for x in op.operands]
    x = operands[operand]
    is_log = operand == 1 and op.log is not None
    step = STEP * (b.maximum(abs(x), 1.0) if is_log else abs(x))
    above, below = (
        b.gamma_slope(*(moved if i == operand else other for i, other in enumerate(operands)), op.log is not None)
        for moved in (x + step, x - step)
    )
    difference = b.where(step == 0.0, 0.0, (above - below) / b.where(step == 0.0, 1.0, 2.0 * step))
    return b.cast(difference, b.value(op.result).dtype)


@VJP.rule(GammaSlopeOp)
def gamma_slope_vjp(op: GammaSlopeOp, b: MirBuilder, g: Value) -> Sequence[Cotangent]:
    return [partial(lambda operand: g * _partial(op, b, operand), operand) for operand in range(2)]


@JVP.rule(GammaSlopeOp)
def gamma_slope_jvp(op: GammaSlopeOp, b: MirBuilder, *tangents: Value | None) -> Sequence[Value | None]:
    parts = [t * _partial(op, b, operand) for operand, t in enumerate(tangents) if t is not None]
    return [parts[0] if len(parts) == 1 else parts[0] + parts[1]]
