"""Composite ops of a transformer; each is defined by its decomposition."""

from __future__ import annotations

from xdsl.dialects.builtin import FloatAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    result_def,
)
from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects.mir.attention import mask_extents
from xdsl_rlx.dialects.mir.core import Activation, ActivationAttr, MirOp
from xdsl_rlx.dialects.mir.fields import (
    AnyTensorConstr,
    Integer,
    OptionalTensor,
    OptionalWord,
    Real,
    Tensor,
    check_operands,
    integer,
    optional_tensor,
    real,
    tensor,
    word,
)
from xdsl_rlx.dialects.mir.heads import HeadLayout, Heads, head_count, heads_of
from xdsl_rlx.dialects.mir.rope import check_rotation
from xdsl_rlx.dialects.mir.value import BuilderCore, Operand, Value
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

    hidden is `[B, S, W]` with `W` the concatenation of the `num_heads` heads, `qkv_w` `[W, 3W]`, `out_w` `[W, W]`. The
    biases are optional. The tables `cos` and `sin` of `mir.rope` are optional together; without them there is no
    rotation. The optional mask is an i1 mask of kind `custom` in `mir.attention`.
    """

    hidden: Tensor = tensor()
    qkv_w: Tensor = tensor(shape="W, 3W")
    out_w: Tensor = tensor(shape="W, W")
    num_heads: Integer = integer()
    mask: OptionalTensor = optional_tensor(default=None, alone=True)
    qkv_b: OptionalTensor = optional_tensor(default=None, alone=True, shape="3W")
    out_b: OptionalTensor = optional_tensor(default=None, alone=True, shape="W")
    cos: OptionalTensor = optional_tensor(default=None, alone=True)
    sin: OptionalTensor = optional_tensor(default=None, alone=True)
    result = result_def(AnyTensorConstr)

    assembly_format = (
        "$hidden `,` $qkv_w `,` $out_w (`mask` $mask^ `:` type($mask))? (`qkv_b` $qkv_b^ `:` type($qkv_b))? "
        "(`out_b` $out_b^ `:` type($out_b))? (`cos` $cos^ `:` type($cos))? (`sin` $sin^ `:` type($sin))? "
        "`heads` $num_heads attr-dict `:` type($hidden) `,` type($qkv_w) `,` type($out_w) `to` type($result)"
    )

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


class FusedTransformerLayerOp(MirOp, name="mir.fused_transformer_layer"):
    """
    A post-norm encoder layer: `result = norm2(f(h @ fc1_w + fc1_b) @ fc2_w + fc2_b + h)`, `h = norm1(block(x) + x)`.

    `x` is hidden `[B, S, W]`, `fc1_w` `[W, I]`, `fc2_w` `[I, W]`. `block` is `mir.fused_attention_block` without
    rotation. `norm1` and `norm2` are `mir.layer_norm` of the last axis with gains `ln1_g`, `ln2_g`, offsets `ln1_b`,
    `ln2_b`, and `eps1`, `eps2`. The optional `f` is the elementwise op named by `activation`. All six biases and the
    mask are optional.
    """

    hidden: Tensor = tensor()
    qkv_w: Tensor = tensor(shape="W, 3W")
    out_w: Tensor = tensor(shape="W, W")
    ln1_g: Tensor = tensor(shape="W")
    fc1_w: Tensor = tensor(shape="W, I")
    fc2_w: Tensor = tensor(shape="I, W")
    ln2_g: Tensor = tensor(shape="W")
    num_heads: Integer = integer()
    mask: OptionalTensor = optional_tensor(default=None, alone=True)
    qkv_b: OptionalTensor = optional_tensor(default=None, alone=True, shape="3W")
    out_b: OptionalTensor = optional_tensor(default=None, alone=True, shape="W")
    ln1_b: OptionalTensor = optional_tensor(default=None, alone=True, shape="W")
    fc1_b: OptionalTensor = optional_tensor(default=None, alone=True, shape="I")
    fc2_b: OptionalTensor = optional_tensor(default=None, alone=True, shape="W")
    ln2_b: OptionalTensor = optional_tensor(default=None, alone=True, shape="W")
    eps1: Real = real(default=1e-5)
    eps2: Real = real(default=1e-5)
    activation: OptionalWord[Activation] = word(ActivationAttr, "activation", default=None)
    result = result_def(AnyTensorConstr)

    assembly_format = (
        "$hidden `,` $qkv_w `,` $out_w `,` $ln1_g `,` $fc1_w `,` $fc2_w `,` $ln2_g (`mask` $mask^ `:` type($mask))? "
        "(`qkv_b` $qkv_b^ `:` type($qkv_b))? (`out_b` $out_b^ `:` type($out_b))? "
        "(`ln1_b` $ln1_b^ `:` type($ln1_b))? (`fc1_b` $fc1_b^ `:` type($fc1_b))? "
        "(`fc2_b` $fc2_b^ `:` type($fc2_b))? (`ln2_b` $ln2_b^ `:` type($ln2_b))? "
        "`heads` $num_heads `eps` $eps1 `,` $eps2 (`activation` $activation^)? attr-dict `:` "
        "type($hidden) `,` type($qkv_w) `,` type($out_w) `,` type($ln1_g) `,` type($fc1_w) `,` type($fc2_w) `,` "
        "type($ln2_g) `to` type($result)"
    )

    @property
    def heads(self) -> Heads:
        """The extents of q, k and v."""
        return heads_of(shape_of(self.hidden), HeadLayout.PACKED, self.num_heads.value.data, "hidden")

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

    def _optional(self, *xs: Operand | None) -> list[SSAValue | None]:
        return [None if x is None else self.operand(x) for x in xs]

    def fused_attention_block(
        self,
        hidden: Operand,
        qkv_w: Operand,
        out_w: Operand,
        mask: Operand | None = None,
        *,
        num_heads: int | None = None,
        head_dim: int | None = None,
        qkv_b: Operand | None = None,
        out_b: Operand | None = None,
        cos: Operand | None = None,
        sin: Operand | None = None,
    ) -> Value:
        """`mir.fused_attention_block`; needs `num_heads` or `head_dim`."""
        hidden, qkv_w, out_w = self.operands(hidden, qkv_w, out_w)
        heads, _ = head_count(shape_of(hidden), HeadLayout.PACKED, num_heads, head_dim, "hidden")
        visible, b1, b2, c, s = self._optional(mask, qkv_b, out_b, cos, sin)
        return self.op(FusedAttentionBlockOp, hidden, qkv_w, out_w, heads, visible, b1, b2, c, s)

    def fused_transformer_layer(
        self,
        hidden: Operand,
        qkv_w: Operand,
        out_w: Operand,
        ln1_g: Operand,
        fc1_w: Operand,
        fc2_w: Operand,
        ln2_g: Operand,
        mask: Operand | None = None,
        *,
        num_heads: int | None = None,
        head_dim: int | None = None,
        eps1: float = 1e-5,
        eps2: float = 1e-5,
        activation: Activation | str | None = Activation.GELU,
        qkv_b: Operand | None = None,
        out_b: Operand | None = None,
        ln1_b: Operand | None = None,
        fc1_b: Operand | None = None,
        fc2_b: Operand | None = None,
        ln2_b: Operand | None = None,
    ) -> Value:
        """`mir.fused_transformer_layer`; needs `num_heads` or `head_dim`."""
        x, w1, w2, g1, w3, w4, g2 = self.operands(hidden, qkv_w, out_w, ln1_g, fc1_w, fc2_w, ln2_g)
        heads, _ = head_count(shape_of(x), HeadLayout.PACKED, num_heads, head_dim, "hidden")
        visible, b1, b2, b3, b4, b5, b6 = self._optional(mask, qkv_b, out_b, ln1_b, fc1_b, fc2_b, ln2_b)
        biases = b1, b2, b3, b4, b5, b6
        op = FusedTransformerLayerOp
        return self.op(op, x, w1, w2, g1, w3, w4, g2, heads, visible, *biases, eps1, eps2, activation)
