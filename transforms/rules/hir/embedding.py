"""Both ends of a language model."""

from collections.abc import Sequence

from xdsl_rlx.dialects.hir.embedding import TiedHeadOp
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.transforms.rules.block_table import BLOCKS, FusionPolicy
from xdsl_rlx.transforms.rules.hir.linear import dense


@BLOCKS.rule(TiedHeadOp)
def tied_head(op: TiedHeadOp, b: MirBuilder, policy: FusionPolicy) -> Sequence[Value]:
    return [dense(b, policy, op.x, b.transpose(op.table, (1, 0)), op.b)]
