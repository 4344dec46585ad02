"""Layers of decoders. Key heads that several query heads share are not repeated: attention reads them as they are."""

from collections.abc import Sequence

from xdsl_rlx.dialects.hir.decoder import LlamaDecoderBlockOp, Qwen35MtpHeadOp
from xdsl_rlx.dialects.mir.attention import MaskKind
from xdsl_rlx.dialects.mir.heads import HeadLayout, Heads
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Operand, Value
from xdsl_rlx.transforms.rules.block_table import BLOCKS, FusionPolicy
from xdsl_rlx.transforms.rules.hir.feed_forward import gated
from xdsl_rlx.transforms.rules.hir.self_attention import turned


@BLOCKS.rule(LlamaDecoderBlockOp)
def llama_decoder_block(op: LlamaDecoderBlockOp, b: MirBuilder, policy: FusionPolicy) -> Sequence[Value]:
    heads, kv_heads = op.heads
    eps = op.eps.value.data
    n = b.rms_norm(op.x, op.ln1_g, op.ln1_b, -1, eps)
    q, k, v = (b.matmul(n, w) for w in (op.q_w, op.k_w, op.v_w))
    q, k = (turned(b, x, op.cos, op.sin, heads.width) for x in (q, k))
    seen = b.attention(q, k, v, op.mask, num_heads=heads.heads, num_kv_heads=kv_heads, **op.options)
    r = b.matmul(seen, op.o_w) + op.x
    m = b.rms_norm(r, op.ln2_g, op.ln2_b, -1, eps)
    return [gated(b, policy, m, op.up_w, op.gate_w, op.down_w) + r]


def _gated_attention(op: Qwen35MtpHeadOp, b: MirBuilder, n: Value) -> Value:
    """The heads of `n`, each value times what its gate lets through, packed."""
    heads, kv_heads = op.heads
    batch, length, count, width = heads
    eps = op.eps.value.data

    def split(x: Value, of: Heads) -> Value:
        return b.reshape(x, of)

    def rotated(x: Value, gain: Operand, offset: Operand) -> Value:
        x = b.rms_norm(x, gain, offset, -1, eps)
        return b.rope(x, op.cos, op.sin, n_rot=op.rotated, layout=HeadLayout.BSHD)

    both = split(b.matmul(n, op.q_gate_w), Heads(batch, length, count, 2 * width))
    q, gate = b.narrow(both, 3, 0, width), b.narrow(both, 3, width, width)
    k, v = (split(b.matmul(n, w), Heads(batch, length, kv_heads, width)) for w in (op.k_w, op.v_w))
    q, k = rotated(q, op.q_norm_w, op.q_norm_b), rotated(k, op.k_norm_w, op.k_norm_b)
    seen = b.attention(q, k, v, mask_kind=MaskKind.CAUSAL, layout=HeadLayout.BSHD)
    return b.reshape(seen * b.sigmoid(gate), (batch, length, count * width))


@BLOCKS.rule(Qwen35MtpHeadOp)
def qwen35_mtp_head(op: Qwen35MtpHeadOp, b: MirBuilder, policy: FusionPolicy) -> Sequence[Value]:
    eps = op.eps.value.data

    def norm(x: Operand, gain: Operand, offset: Operand) -> Value:
        return b.rms_norm(x, gain, offset, -1, eps)

    words = norm(b.gather(op.embed_w, op.input_ids), op.enorm_w, op.enorm_b)
    cur = b.matmul(b.concat([words, norm(op.h_pre_norm, op.hnorm_w, op.hnorm_b)], 2), op.eh_w)
    seen = _gated_attention(op, b, norm(cur, op.attn_norm_w, op.attn_norm_b))
    h = b.matmul(seen, op.o_w) + cur
    f = gated(b, policy, norm(h, op.post_norm_w, op.post_norm_b), op.up_w, op.gate_w, op.down_w) + h
    place = b.reshape(op.last_token_idx, (f.shape[0], 1))
    last = norm(b.gather(f, place, 1, 1), op.head_norm_w, op.head_norm_b)
    return [b.matmul(last, op.lm_head_w)]
