"""Attention between projections."""

from collections.abc import Sequence

from xdsl_rlx.dialects.hir.self_attention import SelfAttentionOp
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Operand, Value
from xdsl_rlx.transforms.rules.block_table import BLOCKS, FusionPolicy
from xdsl_rlx.transforms.rules.hir.linear import dense


def turned(b: MirBuilder, x: Value, cos: Operand | None, sin: Operand | None, head_dim: int) -> Value:
    """Packed heads with all their features rotated, where there are tables."""
    return x if cos is None or sin is None else b.rope(x, cos, sin, head_dim=head_dim)


@BLOCKS.rule(SelfAttentionOp)
def self_attention(op: SelfAttentionOp, b: MirBuilder, policy: FusionPolicy) -> Sequence[Value]:
    heads, kv_heads = op.heads
    q, k, v = (dense(b, policy, op.x, w, bias) for w, bias in ((op.q_w, op.q_b), (op.k_w, op.k_b), (op.v_w, op.v_b)))
    q, k = (turned(b, x, op.cos, op.sin, heads.width) for x in (q, k))
    seen = b.attention(q, k, v, op.mask, num_heads=heads.heads, num_kv_heads=kv_heads, **op.options)
    return [dense(b, policy, seen, op.o_w, op.o_b)]
