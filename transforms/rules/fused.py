"""Rows of composite ops that are kept as one for speed: their decompositions, which all else follows from."""

from collections.abc import Sequence

from xdsl_rlx.dialects.mir.builder import MirBuilder, Value
from xdsl_rlx.dialects.mir.fused import FusedMatmulBiasActOp
from xdsl_rlx.transforms.rules.rows import aligned, decompose, rebuilt
from xdsl_rlx.transforms.rules.table import VMAP


@decompose(FusedMatmulBiasActOp)
def fused_matmul_bias_act_decompose(op: FusedMatmulBiasActOp, b: MirBuilder) -> Sequence[Value]:
    y = b.matmul(op.x, op.w) + op.bias
    return [y if op.activation is None else b.activation(y, op.activation.data)]


@VMAP.rule(FusedMatmulBiasActOp)
def fused_matmul_bias_act_vmap(
    op: FusedMatmulBiasActOp, b: MirBuilder, batched: Sequence[bool], size: int, *operands: Value
) -> Sequence[Value] | None:
    """The product is to have the axis: a bias cannot be larger than that."""
    return rebuilt(op, b, size, aligned(op, b, batched, operands)) if any(batched[:2]) else None
