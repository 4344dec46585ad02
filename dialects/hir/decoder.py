"""Layers of decoders with rotary embeddings and gated feed-forward layers."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute
from xdsl.irdl import result_def
from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects.hir.block import HirOp, check_eps, check_rank, float_element, int_of
from xdsl_rlx.dialects.hir.feed_forward import check_swiglu
from xdsl_rlx.dialects.hir.self_attention import Attends, projected_heads, shared_heads
from xdsl_rlx.dialects.mir.attention import MaskKind
from xdsl_rlx.dialects.mir.fields import (
    AnyTensorConstr,
    Integer,
    OptionalInteger,
    OptionalTensor,
    Real,
    Tensor,
    check_operands,
    integer,
    optional_tensor,
    real,
    tensor,
)
from xdsl_rlx.dialects.mir.heads import Heads
from xdsl_rlx.dialects.mir.rope import check_rotation
from xdsl_rlx.dialects.shapes import INTS, check_element, element_of, shape_of


class LlamaDecoderBlockOp(Attends, name="hir.llama_decoder_block"):
    """
    `r = x + attention(rope(n @ q_w), rope(n @ k_w), n @ v_w) @ o_w` with `n = rms_norm(x, ln1_g, ln1_b)`, then `result
    = r + (silu(m @ gate_w) * (m @ up_w)) @ down_w` with `m = rms_norm(r, ln2_g, ln2_b)`.

    x is `[B, S, W]`, q_w `[W, H*D]`, k_w and v_w `[W, num_kv_heads*D]`, o_w `[H*D, W]`, gate_w and up_w `[W, F]`,
    down_w `[F, W]`, cos and sin `[S, D/2]` or `[B, S, D/2]`, with `H = num_heads`. The default of `num_kv_heads`
    follows from the shape of k_w. `ln1_b` and `ln2_b` may be None. The mask and its options are as in `hir.attention`;
    with neither mask nor `mask_kind` the attention is causal.
    """

    x: Tensor = tensor()
    ln1_g: Tensor = tensor(shape="W")
    ln1_b: OptionalTensor = optional_tensor(shape="W")
    q_w: Tensor = tensor(shape="W, M")
    k_w: Tensor = tensor(shape="W, K")
    v_w: Tensor = tensor(shape="W, K")
    o_w: Tensor = tensor(shape="M, W")
    ln2_g: Tensor = tensor(shape="W")
    ln2_b: OptionalTensor = optional_tensor(shape="W")
    gate_w: Tensor = tensor()
    up_w: Tensor = tensor()
    down_w: Tensor = tensor(shape="F, W")
    cos: Tensor = tensor()
    sin: Tensor = tensor()
    num_heads: Integer = integer()
    mask: OptionalTensor = optional_tensor(default=None, alone=True)
    num_kv_heads: OptionalInteger = integer(default=None)
    head_dim: OptionalInteger = integer(default=None)
    eps: Real = real(default=1e-05)
    result = result_def(AnyTensorConstr)

    WITHOUT_MASK: ClassVar[MaskKind | None] = MaskKind.CAUSAL

    @property
    def heads(self) -> tuple[Heads, int]:
        """The heads of q, and how many k and v have."""
        numbers = self.num_heads.value.data, int_of(self.num_kv_heads), int_of(self.head_dim)
        return projected_heads(self.x, self.q_w, self.k_w, *numbers)

    def infer_types(self) -> tuple[Attribute]:
        float_element(*(value for value in self.operands if value is not self.mask))
        heads, kv_heads = self.heads
        width, inner, kv = shape_of(self.x)[2], heads.heads * heads.width, kv_heads * heads.width
        (inner_features, *_) = shape_of(self.down_w) or (0,)
        check_operands(self, W=width, M=inner, K=kv, F=inner_features)
        check_swiglu(width, self.up_w, self.gate_w, self.down_w)
        check_rotation(self.x, (self.cos, self.sin), heads, heads.width)
        self.check_seen(heads, kv_heads, element_of(self.x))
        check_eps(self.eps)
        return (self.x.type,)


class Qwen35MtpHeadOp(HirOp, name="hir.qwen35_mtp_head"):
    """
    The multi-token prediction head of Qwen3.5, for the token after the next one: the logits `[B, 1, V]` at
    `last_token_idx` of each sequence.

    With `rms(x, name) = rms_norm(x, name_w, name_b)`:

    * `cur = [rms(embed_w[input_ids], enorm) | rms(h_pre_norm, hnorm)] @ eh_w`
    * With `n = rms(cur, attn_norm)` and `q | gate` the halves of each head of `n @ q_gate_w`:
      `h = cur + (attention(rope(rms(q, q_norm)), rope(rms(n @ k_w, k_norm)), n @ v_w) * sigmoid(gate)) @ o_w`.
      The attention is causal, and the norms of q and k are per head.
    * With `m = rms(h, post_norm)`: `f = h + (silu(m @ gate_w) * (m @ up_w)) @ down_w`.
    * `result = rms(f[last_token_idx], head_norm) @ lm_head_w`

    h_pre_norm is `[B, S, E]`; input_ids `[B, S]` and last_token_idx `[B]` are integers. embed_w is `[V', E]`, eh_w
    `[2E, E]`, q_gate_w `[E, H*2D]`, k_w and v_w `[E, num_kv_heads*D]`, o_w `[H*D, E]`, gate_w and up_w `[E, F]`, down_w
    `[F, E]` and lm_head_w `[E, V]`, with `H = num_heads`. cos and sin are `[S, D/2]` or `[B, S, D/2]`. The norms of q
    and k have vectors `[D]`, the others `[E]`. The default of `num_kv_heads` follows from the shape of k_w. `n_rot` is
    the number of rotated features of a head, by default all.
    """

    h_pre_norm: Tensor = tensor()
    input_ids: Tensor = tensor(alone=True, shape="B, S")
    cos: Tensor = tensor()
    sin: Tensor = tensor()
    last_token_idx: Tensor = tensor(alone=True, shape="B")
    embed_w: Tensor = tensor(shape="V, E")
    hnorm_w: Tensor = tensor(shape="E")
    hnorm_b: Tensor = tensor(shape="E")
    enorm_w: Tensor = tensor(shape="E")
    enorm_b: Tensor = tensor(shape="E")
    eh_w: Tensor = tensor(shape="2E, E")
    attn_norm_w: Tensor = tensor(shape="E")
    attn_norm_b: Tensor = tensor(shape="E")
    q_gate_w: Tensor = tensor(shape="E, 2M")
    k_w: Tensor = tensor(shape="E, K")
    v_w: Tensor = tensor(shape="E, K")
    q_norm_w: Tensor = tensor(shape="D")
    q_norm_b: Tensor = tensor(shape="D")
    k_norm_w: Tensor = tensor(shape="D")
    k_norm_b: Tensor = tensor(shape="D")
    o_w: Tensor = tensor(shape="M, E")
    post_norm_w: Tensor = tensor(shape="E")
    post_norm_b: Tensor = tensor(shape="E")
    gate_w: Tensor = tensor()
    up_w: Tensor = tensor()
    down_w: Tensor = tensor(shape="F, E")
    head_norm_w: Tensor = tensor(shape="E")
    head_norm_b: Tensor = tensor(shape="E")
    lm_head_w: Tensor = tensor(shape="E, L")
    num_heads: Integer = integer()
    num_kv_heads: OptionalInteger = integer(default=None)
    head_dim: OptionalInteger = integer(default=None)
    n_rot: OptionalInteger = integer(default=None)
    eps: Real = real(default=1e-05)
    result = result_def(AnyTensorConstr)

    @property
    def heads(self) -> tuple[Heads, int]:
        """The heads of q, and how many k and v have; VerifyException if they do not fit."""
        batch, length, _ = check_rank("h_pre_norm", self.h_pre_norm, "[B, S, E]")
        count = self.num_heads.value.data
        columns = check_rank("q_gate_w", self.q_gate_w, "[E, N]")[1]
        if columns % 2:
            raise VerifyException(f"expected q_gate_w with an even number of columns, got {columns}")
        numbers = count, int_of(self.num_kv_heads), int_of(self.head_dim)
        kv_columns = check_rank("k_w", self.k_w, "[E, N]")[1]
        width, kv_heads = shared_heads(("half of q_gate_w", columns // 2), kv_columns, *numbers)
        return Heads(batch, length, count, width), kv_heads

    @property
    def rotated(self) -> int:
        """How many features of a head are rotated."""
        given = int_of(self.n_rot)
        return self.heads[0].width if given is None else given

    def infer_types(self) -> tuple[Attribute]:
        integers = (self.input_ids, self.last_token_idx)
        for name, ids in zip(("input_ids", "last_token_idx"), integers, strict=True):
            check_element(element_of(ids), INTS, name)
        element = float_element(*(value for value in self.operands if value not in integers))
        heads, kv_heads = self.heads
        self._check_weights(shape_of(self.h_pre_norm)[2], heads, kv_heads)
        check_rotation(self.h_pre_norm, (self.cos, self.sin), heads, self.rotated)
        check_eps(self.eps)
        return (TensorType(element, (heads.batch, 1, shape_of(self.lm_head_w)[1])),)

    def _check_weights(self, e: int, heads: Heads, kv_heads: int) -> None:
        inner, kv = heads.heads * heads.width, kv_heads * heads.width
        words, out = (
            check_rank("embed_w", self.embed_w, "[V, E]")[0],
            check_rank("lm_head_w", self.lm_head_w, "[E, V]")[1],
        )
        if not words or not heads.length:
            raise VerifyException(
                f"expected at least one row in embed_w and one token in h_pre_norm, got {words} and {heads.length}"
            )
        (hidden, *_) = shape_of(self.down_w) or (0,)
        check_operands(self, B=heads.batch, S=heads.length, V=words, E=e, M=inner, D=heads.width, K=kv, F=hidden, L=out)
        check_swiglu(e, self.up_w, self.gate_w, self.down_w)
