"""Composite ops of a transformer; each is defined by its decomposition."""

from __future__ import annotations

import abc

from xdsl.dialects.builtin import FloatAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import result_def
from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects.mir.attention import mask_extents
from xdsl_rlx.dialects.mir.core import Activation, ActivationAttr, MirOp, TensorOp
from xdsl_rlx.dialects.mir.fields import (
    AnyTensorConstr,
    EitherInteger,
    OptionalTensor,
    OptionalWord,
    Real,
    Stated,
    Tensor,
    check_operands,
    optional_tensor,
    optional_word,
    real,
    resolved_integer,
    stated,
    tensor,
)
from xdsl_rlx.dialects.mir.heads import HeadLayout, Heads, heads_of, packed_heads
from xdsl_rlx.dialects.mir.rope import check_rotation
from xdsl_rlx.dialects.mir.value import BuilderCore, method
from xdsl_rlx.dialects.shapes import FLOATS, check_element, element_of, i1, same_element_type, shape_of


def _check_mask(mask: SSAValue | None, heads: Heads) -> None:
    if mask is None:
        return
    if element_of(mask) != i1:
        raise VerifyException(
            f"expected a mask of i1, true where a key is seen, got one of {element_of(mask)}: compare it (mask > 0.5), "
            "or add it to the scores of mir.attention as its bias"
        )
    mask_extents(shape_of(mask), (heads.batch, heads.heads, heads.length, heads.length), True)


class FusedAttentionBlockOp(MirOp, name="mir.fused_attention_block"):
    """
    `result = attention(rope(q), rope(k), v) @ out_w + out_b` with `q | k | v = hidden @ qkv_w + qkv_b`.

    hidden is `[B, S, W]` with `W` the concatenation of the `num_heads` heads, or of heads of `head_dim` features;
    `qkv_w` is `[W, 3W]`, `out_w` `[W, W]`. The biases are optional. The tables `cos` and `sin` of `mir.rope` are
    optional together; without them there is no rotation. The optional mask is an i1 mask of kind `custom` in
    `mir.attention`.
    """

    hidden: Tensor = tensor()
    qkv_w: Tensor = tensor(shape="W, 3W")
    out_w: Tensor = tensor(shape="W, W")
    mask: OptionalTensor = optional_tensor(default=None, alone=True)
    num_heads: EitherInteger = resolved_integer(packed_heads("hidden"), default=None)
    head_dim: Stated = stated(default=None)
    qkv_b: OptionalTensor = optional_tensor(default=None, shape="3W")
    out_b: OptionalTensor = optional_tensor(default=None, shape="W")
    cos: OptionalTensor = optional_tensor(default=None, alone=True)
    sin: OptionalTensor = optional_tensor(default=None, alone=True)
    result = result_def(AnyTensorConstr)

    @property
    def heads(self) -> Heads:
        """The extents of q, k and v."""
        return heads_of(shape_of(self.hidden), HeadLayout.PACKED, self.num_heads.value.data, "hidden")

    def infer_types(self) -> tuple[Attribute]:
        check_element(element_of(self.hidden), FLOATS)
        heads = self.heads
        same_element_type(*(x for x in self.operands if x not in (self.mask, self.cos, self.sin)))
        check_operands(self, W=heads.heads * heads.width)
        _check_mask(self.mask, heads)
        if (self.cos is None) != (self.sin is None):
            raise VerifyException("expected both cos and sin, or neither")
        if self.cos is not None and self.sin is not None:
            check_rotation(self.hidden, (self.cos, self.sin), heads, heads.width // 2 * 2)
        return (self.hidden.type,)


class EncoderLayer(TensorOp, abc.ABC):
    """The fields of a post-norm encoder layer: those of a layer of `hir`, and of the composite op that it is."""

    hidden: Tensor = tensor()
    qkv_w: Tensor = tensor(shape="W, 3W")
    out_w: Tensor = tensor(shape="W, W")
    ln1_g: Tensor = tensor(shape="W")
    fc1_w: Tensor = tensor(shape="W, I")
    fc2_w: Tensor = tensor(shape="I, W")
    ln2_g: Tensor = tensor(shape="W")
    mask: OptionalTensor = optional_tensor(default=None, alone=True)
    num_heads: EitherInteger = resolved_integer(packed_heads("hidden"), default=None)
    head_dim: Stated = stated(default=None)
    eps1: Real = real(default=1e-05)
    eps2: Real = real(default=1e-05)
    activation: OptionalWord[Activation] = optional_word(ActivationAttr, "activation", default=Activation.GELU)
    qkv_b: OptionalTensor = optional_tensor(default=None, shape="3W")
    out_b: OptionalTensor = optional_tensor(default=None, shape="W")
    ln1_b: OptionalTensor = optional_tensor(default=None, shape="W")
    fc1_b: OptionalTensor = optional_tensor(default=None, shape="I")
    fc2_b: OptionalTensor = optional_tensor(default=None, shape="W")
    ln2_b: OptionalTensor = optional_tensor(default=None, shape="W")
    result = result_def(AnyTensorConstr)

    @property
    def heads(self) -> Heads:
        """The extents of q, k and v."""
        return heads_of(shape_of(self.hidden), HeadLayout.PACKED, self.num_heads.value.data, "hidden")


class FusedTransformerLayerOp(EncoderLayer, MirOp, name="mir.fused_transformer_layer"):
    """
    A post-norm encoder layer: `result = norm2(f(h @ fc1_w + fc1_b) @ fc2_w + fc2_b + h)`, `h = norm1(block(x) + x)`.

    `x` is hidden `[B, S, W]`, `fc1_w` `[W, I]`, `fc2_w` `[I, W]`. `block` is `mir.fused_attention_block` without
    rotation. `norm1` and `norm2` are `mir.layer_norm` of the last axis with gains `ln1_g`, `ln2_g`, offsets `ln1_b`,
    `ln2_b`, and `eps1`, `eps2`. The optional `f` is the elementwise op named by `activation`. All six biases and the
    mask are optional.
    """

    def infer_types(self) -> tuple[Attribute]:
        check_element(element_of(self.hidden), FLOATS)
        heads = self.heads
        same_element_type(*(x for x in self.operands if x is not self.mask))
        check_operands(self, W=heads.heads * heads.width, I=(shape_of(self.fc1_w) or (0,))[-1])
        _check_mask(self.mask, heads)
        for eps in (self.eps1, self.eps2):
            _check_eps(eps)
        return (self.hidden.type,)


def _check_eps(eps: FloatAttr) -> None:
    if not 0 <= eps.value.data < float("inf"):
        raise VerifyException(f"expected a finite eps of at least 0, got {eps.value.data}")


class TransformerBuilder(BuilderCore):
    """Builder methods of this family."""

    fused_attention_block = method(FusedAttentionBlockOp)
    fused_transformer_layer = method(FusedTransformerLayerOp)
