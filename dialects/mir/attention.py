"""Scaled dot-product attention, its backward op, and their builder methods. Rotary embeddings are in `rope.py`."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from math import isfinite
from typing import Any, NamedTuple, TypedDict, Unpack

from xdsl.dialects.builtin import BFloat16Type, Float16Type, TensorType, f32, f64, i1
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, SpacedOpaqueSyntaxAttribute, SSAValue
from xdsl.irdl import (
    irdl_attr_definition,
    result_def,
    traits_def,
)
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.dialects.mir.core import HasKernel, MirOp
from xdsl_rlx.dialects.mir.fields import (
    AnyTensorConstr,
    Integer,
    OptionalInteger,
    OptionalReal,
    OptionalResult,
    OptionalTensor,
    Tensor,
    Word,
    integer,
    optional_result,
    optional_tensor,
    real,
    tensor,
    word,
    word_of,
)
from xdsl_rlx.dialects.mir.heads import (
    HeadLayout,
    HeadLayoutAttr,
    Heads,
    head_count,
    heads_of,
    layout_named,
    shape_with,
)
from xdsl_rlx.dialects.mir.shape import ReshapeOp
from xdsl_rlx.dialects.mir.value import BuilderCore, Operand, Value, with_options
from xdsl_rlx.dialects.shapes import FLOATS, check_element, dims, element_of, same_element_type, shape_of


class MaskKind(StrEnum):
    """Which keys a query sees, and whether a fourth operand says so or is added to the scores."""

    NONE = "none"
    CAUSAL = "causal"
    SLIDING_WINDOW = "sliding_window"
    CUSTOM = "custom"
    BIAS = "bias"


@irdl_attr_definition
class MaskKindAttr(EnumAttribute[MaskKind], SpacedOpaqueSyntaxAttribute):
    """The kind of a mask, as a property."""

    name = "mir.mask_kind"


class AttentionExtents(NamedTuple):
    """The extents of an attention. Query head `h` reads key head `h // group`."""

    batch: int
    heads: int
    kv_heads: int
    queries: int
    keys: int
    width: int
    value_width: int

    @property
    def group(self) -> int:
        """Query heads per key head."""
        return self.heads // self.kv_heads

    @property
    def shift(self) -> int:
        """The position of query 0 among the keys: queries are aligned with the last keys."""
        return self.keys - self.queries


def statistics_type(element: Attribute) -> Attribute:
    """The element type of the log-sum-exp: f32 for half floats."""
    return f32 if isinstance(element, Float16Type | BFloat16Type) else element


def mask_extents(shape: tuple[int, ...], full: tuple[int, int, int, int], padding: bool) -> tuple[int, int, int, int]:
    """A mask's shape as `[B|1, H|1, Sq|1, Sk]`; with `padding` it may be `[B, Sk]`. VerifyException otherwise."""
    batch, _, _, keys = full
    if padding and shape == (batch, keys):
        return batch, 1, 1, keys
    if len(shape) == 4 and shape[3] == keys and all(n in (1, m) for n, m in zip(shape, full, strict=True)):
        return shape
    either = f"{dims((batch, keys))} or " if padding else ""
    raise VerifyException(
        f"expected a mask of shape {either}{dims(full)} (1 for one batch, head or query), got {dims(shape)}"
    )


class AttentionLike(MirOp, abc.ABC, kw_only=True):
    """What an attention and its backward op share: the configuration, and the rules of shapes."""

    num_heads: Integer = integer()
    num_kv_heads: Integer = integer()
    layout: Word[HeadLayout] = word(HeadLayoutAttr, "layout", default=HeadLayout.PACKED)
    mask_kind: Word[MaskKind] = word(MaskKindAttr, "mask kind", default=MaskKind.NONE)
    window: OptionalInteger = integer(default=None)
    score_scale: OptionalReal = real(default=None)
    attn_logit_softcap: OptionalReal = real(default=None)

    @property
    @abc.abstractmethod
    def inputs(self) -> tuple[SSAValue, SSAValue, SSAValue, SSAValue | None]:
        """q, k, v and the mask."""

    @property
    def kind(self) -> MaskKind:
        """The kind of the mask."""
        return self.mask_kind.data

    @property
    def extents(self) -> AttentionExtents:
        """The extents; VerifyException if the operands do not fit."""
        q, k, v, _ = self.inputs
        layout, kv = self.layout.data, self.num_kv_heads.value.data
        query = heads_of(shape_of(q), layout, self.num_heads.value.data, "q")
        key, value = (heads_of(shape_of(x), layout, kv, name) for x, name in ((k, "k"), (v, "v")))
        if query.heads % kv:
            raise VerifyException(f"{query.heads} query heads do not share {kv} key heads evenly")
        if query.width != key.width:
            raise VerifyException(f"expected heads of one width in q and k, got {query.width} and {key.width}")
        if key.length != value.length:
            raise VerifyException(f"expected as many values as keys, got {value.length} and {key.length}")
        if not query.batch == key.batch == value.batch:
            raise VerifyException(
                f"expected one batch size in q, k and v, got {query.batch}, {key.batch}, {value.batch}"
            )
        return AttentionExtents(query.batch, query.heads, kv, query.length, key.length, query.width, value.width)

    @property
    def scale(self) -> float:
        """What scores are multiplied by."""
        if self.score_scale is not None:
            return self.score_scale.value.data
        return max(self.extents.width, 1) ** -0.5

    @property
    def softcap(self) -> float | None:
        """The bound of scores, if any."""
        return None if self.attn_logit_softcap is None else self.attn_logit_softcap.value.data

    @property
    def mask_shape(self) -> tuple[int, int, int, int]:
        """The mask as `[B|1, H|1, Sq|1, Sk]`, repeated where there is a 1; VerifyException if it does not fit."""
        mask, e = self.inputs[3], self.extents
        assert mask is not None
        return mask_extents(shape_of(mask), (e.batch, e.heads, e.queries, e.keys), self.kind == MaskKind.CUSTOM)

    def check(self) -> AttentionExtents:
        """The extents of a configuration that is right; VerifyException otherwise."""
        q, k, v, mask = self.inputs
        check_element(same_element_type(q, k, v), FLOATS)
        extents = self.extents
        if (mask is None) == (self.kind in (MaskKind.CUSTOM, MaskKind.BIAS)):
            cure = "" if mask is None else "; use kind custom for an i1 mask, bias for one that is added to the scores"
            raise VerifyException(
                f"a mask of kind {self.kind} {'needs an' if mask is None else 'has no'} operand{cure}"
            )
        if mask is not None:
            _ = self.mask_shape
            allowed = (i1, f32, f64) if self.kind == MaskKind.CUSTOM else (element_of(q),)
            check_element(element_of(mask), allowed, "mask")
        if (self.window is None) == (self.kind == MaskKind.SLIDING_WINDOW):
            raise VerifyException("a window is given exactly where the mask is sliding_window")
        if self.window is not None and self.window.value.data < 0:
            raise VerifyException(f"expected a window of at least 0, got {self.window.value.data}")
        if not isfinite(self.scale):
            raise VerifyException(f"expected a finite score_scale, got {self.scale}")
        if self.softcap is not None and not 0 < self.softcap < float("inf"):
            raise VerifyException(f"expected a positive finite attn_logit_softcap, got {self.softcap}")
        return extents

    def result_type(self, e: AttentionExtents) -> Attribute:
        """The type of the output."""
        shape = shape_with(self.layout.data, Heads(e.batch, e.queries, e.heads, e.value_width))
        return TensorType(element_of(self.inputs[0]), shape)

    def lse_type(self, e: AttentionExtents) -> Attribute:
        """The type of the log-sum-exp."""
        return TensorType(statistics_type(element_of(self.inputs[0])), (e.batch, e.heads, e.queries))


_CONFIGURATION = (
    "`layout` $layout `heads` $num_heads `kv_heads` $num_kv_heads `mask` $mask_kind (`window` $window^)? "
    "(`scale` $score_scale^)? (`softcap` $attn_logit_softcap^)? attr-dict"
)


class AttentionOp(AttentionLike, name="mir.attention"):
    """
    `result[b, i, h] = sum_j p_ij v[b, j, h // G]` with `p = softmax_j(z)`, and `lse = log sum_j exp(z_ij)`.

    `z_ij = scale <q[b, i, h], k[b, j, h // G]>`, with `scale` by default `1 / sqrt D`; with a softcap `c`, `z = c
    tanh(z / c)`; with a bias, `z = z + bias[b, h, i, j]`. `G = num_heads / num_kv_heads` query heads share a key head.

    Query `i` has the position `i' = i + Sk - Sq`. It attends to key `j` if: `j <= i'` (causal); `i' - window <= j <=
    i'` (sliding_window); the mask there is true, or not below 0.5 (custom). Other keys have probability 0. A row
    without any key, or whose scores are all `-inf`, is 0 with `lse = -inf`, and has no gradient.

    q is `[B, Sq, H, D]` in one of three layouts: `packed` `[B, S, H*D]`, `bshd`, `bhsd`; k and v have `num_kv_heads`
    heads. A custom mask is `[B, Sk]` or `[B|1, H|1, Sq|1, Sk]`, i1, f32 or f64; a bias is `[B|1, H|1, Sq|1, Sk]` of the
    element type of q. `lse` is `[B, H, Sq]`, f32 for half floats. The scores are never stored as a whole.
    """

    q: Tensor = tensor()
    k: Tensor = tensor()
    v: Tensor = tensor()
    mask: OptionalTensor = optional_tensor(default=None, alone=True)
    result = result_def(AnyTensorConstr)
    lse = result_def(AnyTensorConstr)

    traits = traits_def(HasKernel())
    assembly_format = f"$q `,` $k `,` $v (`,` $mask^)? {_CONFIGURATION} `:` functional-type(operands, results)"

    @property
    def inputs(self) -> tuple[SSAValue, SSAValue, SSAValue, SSAValue | None]:
        return self.q, self.k, self.v, self.mask

    def infer_types(self) -> tuple[Attribute, Attribute]:
        extents = self.check()
        return self.result_type(extents), self.lse_type(extents)


class AttentionBackwardOp(AttentionLike, name="mir.attention_backward"):
    """
    The cotangents of q, k, v and (if there is a fourth result) the bias in `mir.attention`.

    `dz = p (<dy_i, v_j> - <dy_i, out_i> + d_lse_i)`, `dbias = dz` summed over the broadcast dimensions of the bias, `ds
    = scale dz (1 - (z/c)^2)` with `z` the capped score before the bias (no factor without a softcap), `dq_i = sum_j
    ds_ij k_j`, `dk_j = sum_i ds_ij q_i`, `dv_j = sum_i p_ij dy_i`, the last two summed over the query heads of a key
    head.

    `out` and `lse` are the saved results of `mir.attention` on the same q, k, v and mask. They are not independent
    arguments, so this op is differentiated with respect to q, k, v, the bias, `dy` and `d_lse` only. `d_lse` defaults
    to 0.
    """

    q: Tensor = tensor()
    k: Tensor = tensor()
    v: Tensor = tensor()
    out: Tensor = tensor()
    lse: Tensor = tensor()
    dy: Tensor = tensor()
    mask: OptionalTensor = optional_tensor(default=None, alone=True)
    d_lse: OptionalTensor = optional_tensor(default=None)
    dbias: OptionalResult = optional_result(default=False)
    dq = result_def(AnyTensorConstr)
    dk = result_def(AnyTensorConstr)
    dv = result_def(AnyTensorConstr)

    traits = traits_def(HasKernel())
    assembly_format = (
        "$q `,` $k `,` $v `,` $out `,` $lse `,` $dy (`by` $mask^ `:` type($mask))? (`d_lse` $d_lse^ `:` type($d_lse))? "
        f"{_CONFIGURATION} `:` type($q) `,` type($k) `,` type($v) `,` type($out) `,` type($lse) `,` type($dy) "
        "`to` type($dq) `,` type($dk) `,` type($dv) (`,` type($dbias)^)?"
    )

    @property
    def inputs(self) -> tuple[SSAValue, SSAValue, SSAValue, SSAValue | None]:
        return self.q, self.k, self.v, self.mask

    def infer_types(self) -> Sequence[Attribute]:
        extents = self.check()
        expected = {"out": self.result_type(extents), "lse": self.lse_type(extents), "dy": self.result_type(extents)}
        given = {"out": self.out, "lse": self.lse, "dy": self.dy}
        if self.d_lse is not None:
            expected["d_lse"], given["d_lse"] = self.lse_type(extents), self.d_lse
        for name, value in given.items():
            if value.type != expected[name]:
                raise VerifyException(f"expected {name} of type {expected[name]}, got {value.type}")
        types = [self.q.type, self.k.type, self.v.type]
        if self.dbias is None:
            return types
        if self.mask is None or self.kind != MaskKind.BIAS:
            raise VerifyException(f"a mask of kind {self.kind} has no cotangent")
        return [*types, self.mask.type]


class AttentionOptions(TypedDict, total=False):
    """The keyword arguments of the builder methods; None stands for a default."""

    num_heads: int | None
    head_dim: int | None
    num_kv_heads: int | None
    mask_kind: MaskKind | str | None
    window: int | None
    score_scale: float | None
    attn_logit_softcap: float | None
    layout: HeadLayout | str


class AttentionBuilder(BuilderCore):
    """Builder methods of this family."""

    @with_options(AttentionOptions, layout=HeadLayout.PACKED)
    def attention(
        self,
        q: Operand,
        k: Operand,
        v: Operand,
        mask: Operand | None = None,
        **options: Unpack[AttentionOptions],
    ) -> Value:
        """
        `mir.attention`: return its output.

        Layout `packed` needs `num_heads` or `head_dim`. k and v have `num_kv_heads` heads, by default as many as fit.
        The default mask kind is `custom` for an i1 mask and `none` without a mask. A float mask needs a mask kind:
        `bias` adds it to the scores, `custom` hides the keys below 0.5. Matrices `[S, H*D]` are a batch of one.
        """
        operands, single = self._as_batch(options, q, k, v)
        fourth = None if mask is None else self.operand(mask)
        out = self.op(AttentionOp, *operands, mask=fourth, **configure(operands, fourth, options))
        return self.op(ReshapeOp, out.ssa, out.shape[1:]) if single else out

    def _as_batch(self, options: AttentionOptions, *xs: Operand) -> tuple[list[SSAValue], bool]:
        """Matrices in layout `packed` as a batch of one, and whether they were."""
        operands = [self.operand(x) for x in xs]
        packed = options.get("layout", HeadLayout.PACKED) == HeadLayout.PACKED
        single = packed and all(len(shape_of(x)) == 2 for x in operands)
        return [self.op(ReshapeOp, x, (1, *shape_of(x))).ssa for x in operands] if single else operands, single

    @with_options(AttentionOptions, layout=HeadLayout.PACKED)
    def attention_backward(
        self,
        q: Operand,
        k: Operand,
        v: Operand,
        dy: Operand,
        mask: Operand | None = None,
        **options: Unpack[AttentionOptions],
    ) -> tuple[Value, ...]:
        """
        `mir.attention_backward`, after the `mir.attention` that it needs: cotangents of q, k, v and a bias.

        Takes the arguments of `attention`, including matrices.
        """
        (*qkv, cotangent), single = self._as_batch(options, q, k, v, dy)
        fourth = None if mask is None else self.operand(mask)
        chosen = configure(qkv, fourth, options)
        saved = self.emit(AttentionOp, *qkv, mask=fourth, **chosen)
        operands = [*qkv, saved.result, saved.lse, cotangent]
        dbias = chosen["mask_kind"] == MaskKind.BIAS
        made = self.emit(AttentionBackwardOp, *operands, mask=fourth, dbias=dbias, **chosen)
        found = [self.value(result) for result in made.results]
        if single:
            found[:3] = (self.op(ReshapeOp, x.ssa, x.shape[1:]) for x in found[:3])
        return tuple(found)


def configure(qkv: Sequence[SSAValue], mask: SSAValue | None, options: AttentionOptions) -> dict[str, Any]:
    """The properties of an op from what a caller said; GraphError where it says too little or what cannot be."""
    if unknown := options.keys() - AttentionOptions.__annotations__.keys():
        raise TypeError(f"attention has no argument {min(unknown)!r}")
    layout, kind = layout_named(options.get("layout", HeadLayout.PACKED)), options.get("mask_kind")
    if kind is None and mask is not None and element_of(mask) != i1:
        raise GraphError(
            f"expected a mask_kind for a mask of {element_of(mask)}: mask_kind='bias' adds it to the scores (0 and "
            "-inf), mask_kind='custom' hides the keys where it is below 0.5; only an i1 mask has a default, custom"
        )
    default = MaskKind.CUSTOM if mask is not None else MaskKind.NONE
    mask_kind = default if kind is None else word_of(MaskKind, "mask kind", kind)
    heads, width = head_count(shape_of(qkv[0]), layout, options.get("num_heads"), options.get("head_dim"), "q")
    kv_heads = options.get("num_kv_heads")
    if kv_heads is None:
        kv_heads, _ = head_count(shape_of(qkv[1]), layout, None, width, "k")
    others = {name: options.get(name) for name in ("window", "score_scale", "attn_logit_softcap")}
    return {"num_heads": heads, "num_kv_heads": kv_heads, "layout": layout, "mask_kind": mask_kind, **others}
