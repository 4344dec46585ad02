"""Layers of transformers with learnt positions."""

from collections.abc import Sequence

from xdsl_rlx.dialects.hir.transformer_layers import TransformerBlockOp, TransformerLayerOp
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Operand, Value
from xdsl_rlx.transforms.rules.block_table import BLOCKS, FusionPolicy
from xdsl_rlx.transforms.rules.hir.linear import dense


def _projections(
    b: MirBuilder, policy: FusionPolicy, x: Operand, qkv_w: Operand, qkv_b: Operand | None
) -> tuple[Value, Value, Value]:
    """q, k and v, the thirds of one product."""
    qkv = dense(b, policy, x, qkv_w, qkv_b)
    width = qkv.shape[2] // 3
    q, k, v = (b.narrow(qkv, 2, part * width, width) for part in range(3))
    return q, k, v


@BLOCKS.rule(TransformerLayerOp)
def transformer_layer(op: TransformerLayerOp, b: MirBuilder, policy: FusionPolicy) -> Sequence[Value]:
    if policy.composite:
        return op.as_mir(b)
    q, k, v = _projections(b, policy, op.hidden, op.qkv_w, op.qkv_b)
    seen = b.attention(q, k, v, op.mask, num_heads=op.heads.heads)
    h = dense(b, policy, seen, op.out_w, op.out_b) + op.hidden
    h = b.layer_norm(h, op.ln1_g, op.ln1_b, -1, op.eps1.value.data)
    kind = None if op.activation is None else op.activation.data
    inner = dense(b, policy, h, op.fc1_w, op.fc1_b, kind)
    return [b.layer_norm(dense(b, policy, inner, op.fc2_w, op.fc2_b) + h, op.ln2_g, op.ln2_b, -1, op.eps2.value.data)]


@BLOCKS.rule(TransformerBlockOp)
def transformer_block(op: TransformerBlockOp, b: MirBuilder, policy: FusionPolicy) -> Sequence[Value]:
    eps = op.eps.value.data
    n = b.layer_norm(op.x, op.ln1_g, op.ln1_b, -1, eps)
    q, k, v = _projections(b, policy, n, op.qkv_w, op.qkv_b)
    seen = b.attention(q, k, v, op.mask, num_heads=op.heads.heads, **op.options)
    h = dense(b, policy, seen, op.out_w, op.out_b) + op.x
    inner = dense(b, policy, b.layer_norm(h, op.ln2_g, op.ln2_b, -1, eps), op.fc1_w, op.fc1_b, op.activation.data)
    return [dense(b, policy, inner, op.fc2_w, op.fc2_b) + h]
