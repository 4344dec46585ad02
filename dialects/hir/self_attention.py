"""Attention, rotary embeddings, and attention with its projections."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, Any, ClassVar

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.irdl import result_def
from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects.hir.block import (
    HirOp,
    OneOp,
    aside,
    check_rank,
    float_element,
    int_of,
)
from xdsl_rlx.dialects.mir.attention import MaskKind, MaskKindAttr
from xdsl_rlx.dialects.mir.fields import (
    AnyTensorConstr,
    Integer,
    OptionalInteger,
    OptionalReal,
    OptionalTensor,
    OptionalWord,
    Tensor,
    Word,
    check_operands,
    declared_by,
    inherited,
    integer,
    optional_tensor,
    real,
    settings_of,
    tensor,
    word,
)
from xdsl_rlx.dialects.mir.heads import HeadLayout, HeadLayoutAttr, Heads
from xdsl_rlx.dialects.mir.rope import Rotates, check_rotation
from xdsl_rlx.dialects.shapes import element_of, shape_of


class RopeOp(Rotates, OneOp, name="hir.rope"):
    """
    Rotate the pairs of the first `n_rot` features of each head by the angles of the tables: `mir.rope`.

    x is `[B, S, H, D]` in one of the layouts of `hir.attention`; `cos` and `sin` are `[S, D/2]` or `[B, S, D/2]`.
    Layout `packed` needs `head_dim` or `num_heads`; `n_rot` is by default the whole head.
    """


class Attends(HirOp, abc.ABC, kw_only=True):
    """A block with an attention in it, and its options."""

    mask_kind: OptionalWord[MaskKind] = word(MaskKindAttr, "mask kind", default=None)
    window: OptionalInteger = integer(default=None)
    score_scale: OptionalReal = real(default=None)
    attn_logit_softcap: OptionalReal = real(default=None)
    if TYPE_CHECKING:
        mask: OptionalTensor = inherited()

    WITHOUT_MASK: ClassVar[MaskKind | None] = None
    """The kind of mask where nothing is said of it, and no mask is given."""

    @property
    def options(self) -> dict[str, Any]:
        """The options of the attention."""
        given = {name: value for name, value in settings_of(self).items() if name in declared_by(Attends)}
        if self.mask is None and self.mask_kind is None:
            given["mask_kind"] = self.WITHOUT_MASK
        return given

    def check_seen(self, heads: Heads, kv_heads: int, element: Attribute) -> None:
        """Require mask and options to be those of an attention of so many heads among themselves."""
        shapes = ((heads.batch, heads.length, count * heads.width) for count in (heads.heads, kv_heads, kv_heads))
        types = [TensorType(element, shape) for shape in shapes]
        stand_ins = Block(arg_types=[*types, *([] if self.mask is None else [self.mask.type])])
        with aside() as b:
            b.attention(*stand_ins.args, num_heads=heads.heads, num_kv_heads=kv_heads, **self.options)


class AttentionOp(Attends, OneOp, name="hir.attention"):
    """
    `result[b, i, h] = sum_j p_ij v[b, j, h // G]` with `p = softmax_j(score_scale <q[b, i, h], k[b, j, h // G]>)`: the
    output of `mir.attention`, with the same masks, layouts, scale and softcap.

    q is `[B, S, H, D]` in layout `packed` (`[B, S, H*D]`, or `[S, H*D]` for a batch of one), `bshd` or `bhsd`. k and v
    have `num_kv_heads` heads, by default as many as fit, and `G = num_heads / num_kv_heads`. Layout `packed` needs
    `num_heads` or `head_dim`. The default mask kind is `custom` for an i1 mask and `none` without a mask; a
    floating-point mask needs an explicit kind, `custom` or `bias`.
    """

    q: Tensor = tensor()
    k: Tensor = tensor()
    v: Tensor = tensor()
    mask: OptionalTensor = optional_tensor(default=None, alone=True)
    num_heads: OptionalInteger = integer(default=None)
    head_dim: OptionalInteger = integer(default=None)
    num_kv_heads: OptionalInteger = integer(default=None)
    layout: Word[HeadLayout] = word(HeadLayoutAttr, "layout", default=HeadLayout.PACKED, kw_only=True)
    result = result_def(AnyTensorConstr)


def shared_heads(
    q: tuple[str, int], k_columns: int, num_heads: int, num_kv_heads: int | None, head_dim: int | None
) -> tuple[int, int]:
    """Features of a head and key heads, by the columns of the weights of q (with its name) and of k_w."""
    what, columns = q
    if num_heads < 1 or columns % num_heads or head_dim not in (None, columns // num_heads):
        of_what = "" if head_dim is None else f" of {head_dim} features"
        raise VerifyException(f"{what} of {columns} columns does not give {num_heads} heads{of_what}")
    width = columns // num_heads
    kv_heads = k_columns // max(width, 1) if num_kv_heads is None else num_kv_heads
    if kv_heads < 1 or kv_heads * width != k_columns:
        count = "" if num_kv_heads is None else f"{num_kv_heads} "
        raise VerifyException(f"k_w of {k_columns} columns does not give {count}heads of {width} features")
    if num_heads % kv_heads:
        raise VerifyException(f"{num_heads} query heads do not share {kv_heads} key heads evenly")
    return width, kv_heads


def projected_heads(
    x: SSAValue, q_w: SSAValue, k_w: SSAValue, num_heads: int, num_kv_heads: int | None, head_dim: int | None
) -> tuple[Heads, int]:
    """The heads of `x @ q_w`, and how many those of `x @ k_w` are; VerifyException if they do not fit."""
    batch, length, _ = check_rank("x", x, "[B, S, W]")
    columns, kv_columns = check_rank("q_w", q_w, "[W, N]")[1], check_rank("k_w", k_w, "[W, N]")[1]
    width, kv_heads = shared_heads(("q_w", columns), kv_columns, num_heads, num_kv_heads, head_dim)
    return Heads(batch, length, num_heads, width), kv_heads


class SelfAttentionOp(Attends, name="hir.self_attention"):
    """
    `result = attention(rope(q), rope(k), v) @ o_w + o_b` with `q = x @ q_w + q_b`, `k = x @ k_w + k_b`, `v = x @ v_w +
    v_b`.

    x is `[B, S, W]`, q_w `[W, H*D]`, k_w and v_w `[W, num_kv_heads*D]`, o_w `[H*D, N]` with `H = num_heads`. The
    default of `num_kv_heads` follows from the shape of k_w. The biases are optional. The tables `cos` and `sin` of
    `hir.rope` are optional together; without them there is no rotation. The mask and its options are optional, as in
    `hir.attention`.
    """

    x: Tensor = tensor()
    q_w: Tensor = tensor(shape="W, M")
    k_w: Tensor = tensor(shape="W, K")
    v_w: Tensor = tensor(shape="W, K")
    o_w: Tensor = tensor(shape="M, N")
    num_heads: Integer = integer()
    q_b: OptionalTensor = optional_tensor(default=None, shape="M")
    k_b: OptionalTensor = optional_tensor(default=None, shape="K")
    v_b: OptionalTensor = optional_tensor(default=None, shape="K")
    o_b: OptionalTensor = optional_tensor(default=None, shape="N")
    cos: OptionalTensor = optional_tensor(default=None)
    sin: OptionalTensor = optional_tensor(default=None)
    mask: OptionalTensor = optional_tensor(default=None, alone=True)
    num_kv_heads: OptionalInteger = integer(default=None)
    result = result_def(AnyTensorConstr)

    @property
    def heads(self) -> tuple[Heads, int]:
        """The heads of q, and how many k and v have."""
        count, kv_count = self.num_heads.value.data, int_of(self.num_kv_heads)
        return projected_heads(self.x, self.q_w, self.k_w, count, kv_count, None)

    def infer_types(self) -> tuple[Attribute]:
        weights = (self.q_w, self.k_w, self.v_w, self.o_w)
        biases = (self.q_b, self.k_b, self.v_b, self.o_b)
        element = float_element(self.x, *weights, *biases, self.cos, self.sin)
        heads, kv_heads = self.heads
        width, inner, kv = shape_of(self.x)[2], heads.heads * heads.width, kv_heads * heads.width
        out = check_rank("o_w", self.o_w, "[M, N]")[1]
        check_operands(self, W=width, M=inner, K=kv, N=out)
        if (self.cos is None) != (self.sin is None):
            raise VerifyException("expected both cos and sin, or none, got one")
        if self.cos is not None and self.sin is not None:
            check_rotation(self.x, (self.cos, self.sin), heads, heads.width)
        self.check_seen(heads, kv_heads, element_of(self.x))
        return (TensorType(element, (heads.batch, heads.length, out)),)
