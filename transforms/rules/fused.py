"""Rows of composite ops that are kept as one for speed: their decompositions, which all else follows from."""

from collections.abc import Sequence

from xdsl_rlx.dialects.mir.builder import MirBuilder, Value
from xdsl_rlx.dialects.mir.fused import FusedMatmulBiasActOp
from xdsl_rlx.transforms.rules.rows import decompose


@decompose(FusedMatmulBiasActOp)
def fused_matmul_bias_act_decompose(op: FusedMatmulBiasActOp, b: MirBuilder) -> Sequence[Value]:
    y = b.matmul(op.x, op.w) + op.bias
    return [y if op.activation is None else b.activation(y, op.activation.data)]
