"""Transformer layers with learnt positions: post-norm encoders and pre-norm decoders."""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Attribute
from xdsl.irdl import result_def

from xdsl_rlx.dialects.hir.block import OneOp, check_eps, check_rank, float_element
from xdsl_rlx.dialects.hir.self_attention import Attends
from xdsl_rlx.dialects.mir.attention import MaskKind
from xdsl_rlx.dialects.mir.core import Activation, ActivationAttr
from xdsl_rlx.dialects.mir.fields import (
    AnyTensorConstr,
    Integer,
    OptionalTensor,
    Real,
    Tensor,
    Word,
    check_operands,
    integer,
    optional_tensor,
    real,
    tensor,
    word,
)
from xdsl_rlx.dialects.mir.heads import HeadLayout, Heads, heads_of
from xdsl_rlx.dialects.mir.transformer import EncoderLayer
from xdsl_rlx.dialects.shapes import element_of, shape_of


class TransformerLayerOp(EncoderLayer, OneOp, name="hir.transformer_layer"):
    """
    A post-norm encoder layer, as in BERT: `h = layer_norm(x + block(x), ln1_g, ln1_b)`, `result = layer_norm(h + f(h @
    fc1_w + fc1_b) @ fc2_w + fc2_b, ln2_g, ln2_b)`.

    x is the operand hidden, `[B, S, W]`. With `q | k | v = x @ qkv_w + qkv_b`, `block` is `attention(q, k, v) @ out_w +
    out_b` with `num_heads` heads, or heads of `head_dim` features. qkv_w is `[W, 3W]`, out_w `[W, W]`, fc1_w `[W, I]`,
    fc2_w `[I, W]`. The optional `f` is named by `activation`. The optional mask is an i1 mask of kind `custom`
    in `hir.attention`. All biases are optional.
    """

    MIR: ClassVar[str | None] = "fused_transformer_layer"


class TransformerBlockOp(Attends, name="hir.transformer_block"):
    """
    A pre-norm decoder layer, as in GPT-2: `h = x + attention(q, k, v) @ out_w + out_b` with `q | k | v = layer_norm(x,
    ln1_g, ln1_b) @ qkv_w + qkv_b`, `result = h + f(layer_norm(h, ln2_g, ln2_b) @ fc1_w + fc1_b) @ fc2_w + fc2_b`.

    x is `[B, S, W]` with `W` the concatenation of the `num_heads` heads, qkv_w `[W, 3W]`, out_w `[W, W]`, fc1_w `[W,
    I]`, fc2_w `[I, W]`, and `f` is named by `activation`. All biases are optional. The mask and its options are as in
    `hir.attention`; with neither mask nor `mask_kind` the attention is causal.
    """

    x: Tensor = tensor()
    ln1_g: Tensor = tensor(shape="W")
    qkv_w: Tensor = tensor(shape="W, 3W")
    out_w: Tensor = tensor(shape="W, W")
    ln2_g: Tensor = tensor(shape="W")
    fc1_w: Tensor = tensor(shape="W, I")
    fc2_w: Tensor = tensor(shape="I, W")
    num_heads: Integer = integer()
    mask: OptionalTensor = optional_tensor(default=None, alone=True)
    ln1_b: OptionalTensor = optional_tensor(default=None, shape="W")
    qkv_b: OptionalTensor = optional_tensor(default=None, shape="3W")
    out_b: OptionalTensor = optional_tensor(default=None, shape="W")
    ln2_b: OptionalTensor = optional_tensor(default=None, shape="W")
    fc1_b: OptionalTensor = optional_tensor(default=None, shape="I")
    fc2_b: OptionalTensor = optional_tensor(default=None, shape="W")
    activation: Word[Activation] = word(ActivationAttr, "activation", default=Activation.GELU)
    eps: Real = real(default=1e-05)
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
        check_operands(self, W=width, I=inner)
        self.check_seen(self.heads, self.heads.heads, element_of(self.x))
        check_eps(self.eps)
        return (self.x.type,)
