"""Normalisations of sums."""

from collections.abc import Sequence

from xdsl_rlx.dialects.hir.normalization import ResidualLayerNormOp, ResidualNormOp, ResidualRmsNormOp
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.shapes import element_of, shape_of
from xdsl_rlx.transforms.rules.block_table import BLOCKS, FusionPolicy


def _sum(op: ResidualNormOp, b: MirBuilder) -> Value:
    total = b.value(op.x) + op.residual
    return total if op.bias is None else total + op.bias


def _affine(op: ResidualNormOp, b: MirBuilder) -> tuple[Value, Value]:
    """Gains and offsets, ones and zeros where left out."""
    row, element = shape_of(op.x)[-1:], element_of(op.x)
    gains = b.full(row, 1, element) if op.gamma is None else b.value(op.gamma)
    return gains, b.full(row, 0, element) if op.beta is None else b.value(op.beta)


@BLOCKS.rule(ResidualRmsNormOp)
def residual_rms_norm(op: ResidualRmsNormOp, b: MirBuilder, policy: FusionPolicy) -> Sequence[Value]:
    eps = op.eps.value.data
    if policy.composite:
        return [b.fused_residual_rms_norm(op.x, op.residual, *_affine(op, b), op.bias, eps)]
    return [b.rms_norm(_sum(op, b), op.gamma, op.beta, -1, eps)]


@BLOCKS.rule(ResidualLayerNormOp)
def residual_layer_norm(op: ResidualLayerNormOp, b: MirBuilder, policy: FusionPolicy) -> Sequence[Value]:
    eps = op.eps.value.data
    if policy.composite:
        return [b.fused_residual_ln(op.x, op.residual, *_affine(op, b), op.bias, eps)]
    return [b.layer_norm(_sum(op, b), op.gamma, op.beta, -1, eps)]
