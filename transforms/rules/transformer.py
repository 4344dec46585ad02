"""Rows of transformer blocks: their decompositions, which all else follows from."""

from collections.abc import Sequence

from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.mir.transformer import FusedAttentionBlockOp, FusedTransformerLayerOp
from xdsl_rlx.transforms.rules.rows import decompose
from xdsl_rlx.transforms.rules.rule_table import INERT

_THRESHOLD = "a mask says which keys are seen"

INERT.add(
    FusedAttentionBlockOp, "mask", _THRESHOLD, lambda op: isinstance(op, FusedAttentionBlockOp) and op.mask is not None
)
INERT.add(
    FusedTransformerLayerOp,
    "mask",
    _THRESHOLD,
    lambda op: isinstance(op, FusedTransformerLayerOp) and op.mask is not None,
)


@decompose(FusedAttentionBlockOp)
def fused_attention_block_decompose(op: FusedAttentionBlockOp, b: MirBuilder) -> Sequence[Value]:
    heads = op.heads
    width = heads.heads * heads.width
    qkv = b.matmul(op.hidden, op.qkv_w)
    if op.qkv_b is not None:
        qkv = qkv + op.qkv_b
    q, k, v = (b.narrow(qkv, 2, i * width, width) for i in range(3))
    if op.cos is not None and op.sin is not None:
        n_rot = heads.width // 2 * 2
        q, k = (b.rope(x, op.cos, op.sin, num_heads=heads.heads, n_rot=n_rot) for x in (q, k))
    seen = b.attention(q, k, v, op.mask, num_heads=heads.heads)
    out = b.matmul(seen, op.out_w)
    return [out if op.out_b is None else out + op.out_b]


@decompose(FusedTransformerLayerOp)
def fused_transformer_layer_decompose(op: FusedTransformerLayerOp, b: MirBuilder) -> Sequence[Value]:
    heads = op.num_heads.value.data
    block = b.fused_attention_block(
        op.hidden, op.qkv_w, op.out_w, op.mask, num_heads=heads, qkv_b=op.qkv_b, out_b=op.out_b
    )
    first = b.zeros_like(op.ln1_g) if op.ln1_b is None else op.ln1_b
    h = b.layer_norm(block + op.hidden, op.ln1_g, first, -1, op.eps1.value.data)
    inner = b.matmul(h, op.fc1_w)
    if op.fc1_b is not None:
        inner = inner + op.fc1_b
    y = b.matmul(b.activation(inner, None if op.activation is None else op.activation.data), op.fc2_w)
    if op.fc2_b is not None:
        y = y + op.fc2_b
    second = b.zeros_like(op.ln2_g) if op.ln2_b is None else op.ln2_b
    return [b.layer_norm(y + h, op.ln2_g, second, -1, op.eps2.value.data)]
