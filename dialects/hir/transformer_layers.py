"""Transformer layers with learnt positions: post-norm encoders and pre-norm decoders."""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Attribute
from xdsl.irdl import result_def

from xdsl_rlx.dialects.hir.block import HirOp, OneOp, check_eps, check_rank, check_shapes, float_element, int_of
from xdsl_rlx.dialects.hir.self_attention import Attends
from xdsl_rlx.dialects.mir.attention import MaskKind, MaskKindAttr
from xdsl_rlx.dialects.mir.core import Activation, ActivationAttr
from xdsl_rlx.dialects.mir.fields import (
    AnyTensorConstr,
    Integer,
    OptionalInteger,
    OptionalReal,
    OptionalTensor,
    OptionalWord,
    Real,
    Tensor,
    Word,
    integer,
    optional_tensor,
    real,
    tensor,
    word,
)
from xdsl_rlx.dialects.mir.heads import HeadLayout, Heads, head_count, heads_of
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.shapes import element_of, shape_of


class TransformerLayerOp(OneOp, name="hir.transformer_layer"):
    """
    A post-norm encoder layer, as in BERT: `h = layer_norm(x + block(x), ln1_g, ln1_b)`, `result = layer_norm(h + f(h @
    fc1_w + fc1_b) @ fc2_w + fc2_b, ln2_g, ln2_b)`.

    x is the operand hidden, `[B, S, W]`. With `q | k | v = x @ qkv_w + qkv_b`, `block` is `attention(q, k, v) @ out_w +
    out_b` with `num_heads` heads. qkv_w is `[W, 3W]`, out_w `[W, W]`, fc1_w `[W, I]`, fc2_w `[I, W]`, and `f` is named
    by `activation`. The optional mask is an i1 mask of kind `custom` in `hir.attention`. All biases are optional.
    """

    hidden: Tensor = tensor()
    qkv_w: Tensor = tensor()
    out_w: Tensor = tensor()
    ln1_g: Tensor = tensor()
    fc1_w: Tensor = tensor()
    fc2_w: Tensor = tensor()
    ln2_g: Tensor = tensor()
    mask: OptionalTensor = optional_tensor(default=None, alone=True)
    num_heads: OptionalInteger = integer(default=None)
    head_dim: OptionalInteger = integer(default=None)
    eps1: Real = real(default=1e-05)
    eps2: Real = real(default=1e-05)
    activation: Word[Activation] = word(ActivationAttr, "activation", default=Activation.GELU)
    qkv_b: OptionalTensor = optional_tensor(default=None)
    out_b: OptionalTensor = optional_tensor(default=None)
    ln1_b: OptionalTensor = optional_tensor(default=None)
    fc1_b: OptionalTensor = optional_tensor(default=None)
    fc2_b: OptionalTensor = optional_tensor(default=None)
    ln2_b: OptionalTensor = optional_tensor(default=None)
    result = result_def(AnyTensorConstr)

    @property
    def heads(self) -> int:
        """How many heads there are."""
        said = int_of(self.num_heads), int_of(self.head_dim)
        return head_count(shape_of(self.hidden), HeadLayout.PACKED, *said, "hidden")[0]

    def as_mir(self, b: MirBuilder) -> list[Value]:
        layer = b.fused_transformer_layer(
            self.hidden,
            self.qkv_w,
            self.out_w,
            self.ln1_g,
            self.fc1_w,
            self.fc2_w,
            self.ln2_g,
            self.mask,
            num_heads=int_of(self.num_heads),
            head_dim=int_of(self.head_dim),
            eps1=self.eps1.value.data,
            eps2=self.eps2.value.data,
            activation=self.activation.data,
            qkv_b=self.qkv_b,
            out_b=self.out_b,
            ln1_b=self.ln1_b,
            fc1_b=self.fc1_b,
            fc2_b=self.fc2_b,
            ln2_b=self.ln2_b,
        )
        return [layer]


class TransformerBlockOp(Attends, HirOp, name="hir.transformer_block"):
    """
    A pre-norm decoder layer, as in GPT-2: `h = x + attention(q, k, v) @ out_w + out_b` with `q | k | v = layer_norm(x,
    ln1_g, ln1_b) @ qkv_w + qkv_b`, `result = h + f(layer_norm(h, ln2_g, ln2_b) @ fc1_w + fc1_b) @ fc2_w + fc2_b`.

    x is `[B, S, W]` with `W` the concatenation of the `num_heads` heads, qkv_w `[W, 3W]`, out_w `[W, W]`, fc1_w `[W,
    I]`, fc2_w `[I, W]`, and `f` is named by `activation`. All biases are optional. The mask and its options are as in
    `hir.attention`; with neither mask nor `mask_kind` the attention is causal.
    """

    x: Tensor = tensor()
    ln1_g: Tensor = tensor()
    qkv_w: Tensor = tensor()
    out_w: Tensor = tensor()
    ln2_g: Tensor = tensor()
    fc1_w: Tensor = tensor()
    fc2_w: Tensor = tensor()
    num_heads: Integer = integer()
    mask: OptionalTensor = optional_tensor(default=None, alone=True)
    ln1_b: OptionalTensor = optional_tensor(default=None)
    qkv_b: OptionalTensor = optional_tensor(default=None)
    out_b: OptionalTensor = optional_tensor(default=None)
    ln2_b: OptionalTensor = optional_tensor(default=None)
    fc1_b: OptionalTensor = optional_tensor(default=None)
    fc2_b: OptionalTensor = optional_tensor(default=None)
    activation: Word[Activation] = word(ActivationAttr, "activation", default=Activation.GELU)
    eps: Real = real(default=1e-05)
    mask_kind: OptionalWord[MaskKind] = word(MaskKindAttr, "mask kind", default=None)
    window: OptionalInteger = integer(default=None)
    score_scale: OptionalReal = real(default=None)
    attn_logit_softcap: OptionalReal = real(default=None)
    result = result_def(AnyTensorConstr)

    WITHOUT_MASK: ClassVar[MaskKind | None] = MaskKind.CAUSAL

    @property
    def heads(self) -> Heads:
        """The extents of q, k and v."""
        return heads_of(shape_of(self.x), HeadLayout.PACKED, self.num_heads.value.data, "x")

    def infer_types(self) -> tuple[Attribute]:
        float_element(*(value for value in self.operands if value is not self.mask))
        width = check_rank("x", self.x, "[B, S, W]")[2]
        inner = check_rank("fc1_w", self.fc1_w, "[W, I]")[1]
        check_shapes(
            ln1_g=(self.ln1_g, (width,)),
            ln1_b=(self.ln1_b, (width,)),
            qkv_w=(self.qkv_w, (width, 3 * width)),
            qkv_b=(self.qkv_b, (3 * width,)),
            out_w=(self.out_w, (width, width)),
            out_b=(self.out_b, (width,)),
            ln2_g=(self.ln2_g, (width,)),
            ln2_b=(self.ln2_b, (width,)),
            fc1_w=(self.fc1_w, (width, inner)),
            fc1_b=(self.fc1_b, (inner,)),
            fc2_w=(self.fc2_w, (inner, width)),
            fc2_b=(self.fc2_b, (width,)),
        )
        self.check_seen(self.heads, self.heads.heads, element_of(self.x))
        check_eps(self.eps)
        return (self.x.type,)
