"""What becomes of products with the weights of experts whose blocks are not whole in a row."""

from collections.abc import Sequence

from xdsl.ir import Operation

from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.lowering.prepare.normal_forms import NORMALIZE, in_blocks
from xdsl_rlx.lowering.target import NormalizeCosts
from xdsl_rlx.plugins.gguf.ops import DequantGroupedMatmulBackwardInputOp, DequantGroupedMatmulOp


def _dequant_grouped_matmul(op: Operation, b: MirBuilder, costs: NormalizeCosts) -> Sequence[Value] | None:
    assert isinstance(op, DequantGroupedMatmulOp | DequantGroupedMatmulBackwardInputOp)
    return in_blocks(op, op.scheme.scheme, op.matrix[0], b, costs)


NORMALIZE.add(DequantGroupedMatmulOp, _dequant_grouped_matmul)
NORMALIZE.add(DequantGroupedMatmulBackwardInputOp, _dequant_grouped_matmul)
