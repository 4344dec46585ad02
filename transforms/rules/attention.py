"""Rows of attention: its definition by matrix products, which forward mode and second order go through."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from xdsl.dialects.builtin import BytesAttr, DenseIntOrFPElementsAttr, TensorType, f32, i1
from xdsl.ir import Operation, SSAValue

from xdsl_rlx.dialects.mir.attention import AttentionBackwardOp, AttentionLike, AttentionOp, MaskKind
from xdsl_rlx.dialects.mir.cast import CastOp
from xdsl_rlx.dialects.mir.elementwise import DivOp, ExpOp, MulOp
from xdsl_rlx.dialects.mir.fields import settings_of
from xdsl_rlx.dialects.mir.heads import HeadLayout
from xdsl_rlx.dialects.mir.linalg import DotGeneralOp, MatmulOp
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.mir.reduce import ReduceSumOp
from xdsl_rlx.dialects.mir.shape import ReshapeOp, TransposeOp
from xdsl_rlx.dialects.shapes import FLOATS, element_of, shape_of
from xdsl_rlx.transforms.rules.contraction import SUMMED, Laid, contraction, laid
from xdsl_rlx.transforms.rules.norm import shifted_by_maximum, softmax_operand
from xdsl_rlx.transforms.rules.raise_table import RAISE, Missed, Raised, Reason
from xdsl_rlx.transforms.rules.rows import decompose, lift
from xdsl_rlx.transforms.rules.rule_table import IN_F32, INERT, VJP, VMAP, Cotangent
from xdsl_rlx.transforms.rules.scores import (
    LeadingAxes,
    ScoresByHand,
    batches_of,
    fits,
    mask_of,
    repeated,
    scores_of,
)
from xdsl_rlx.transforms.rules.terms import (
    Term,
    in_front_of_views,
    is_close,
    quotients,
    reduction,
    shortest,
    term,
)
from xdsl_rlx.transforms.rules.wide import is_half

_SAVED = "it is what mir.attention computed from the same operands"
_THRESHOLD = "a mask is compared with 0.5"


def _is_custom(op: Operation) -> bool:
    return isinstance(op, AttentionLike) and op.kind == MaskKind.CUSTOM


IN_F32.update((AttentionOp, AttentionBackwardOp))
INERT.add(AttentionOp, "mask", _THRESHOLD, _is_custom)
INERT.add(AttentionBackwardOp, "out", _SAVED)
INERT.add(AttentionBackwardOp, "lse", _SAVED)
INERT.add(AttentionBackwardOp, "mask", _THRESHOLD, _is_custom)


def _split(op: AttentionLike, b: MirBuilder, x: SSAValue, heads: int) -> Value:
    """`[B, Hkv, heads / Hkv, S, D]`."""
    e, value = op.extents, b.value(x)
    if op.layout.data == HeadLayout.PACKED:
        value = b.reshape(value, (*value.shape[:2], heads, value.shape[2] // heads))
    if op.layout.data != HeadLayout.BHSD:
        value = b.transpose(value, (0, 2, 1, 3))
    return b.reshape(value, (e.batch, e.kv_heads, heads // e.kv_heads, *value.shape[2:]))


def _join(op: AttentionLike, b: MirBuilder, value: Value, like: SSAValue) -> Value:
    """The inverse of `_split`."""
    batch, kv_heads, group, length, width = value.shape
    value = b.reshape(value, (batch, kv_heads * group, length, width))
    if op.layout.data != HeadLayout.BHSD:
        value = b.transpose(value, (0, 2, 1, 3))
    return b.reshape(value, shape_of(like))


def _grouped(op: AttentionLike, b: MirBuilder, mask: SSAValue) -> Value:
    """A mask as `[B|1, Hkv|1, group|1, Sq|1, Sk]`."""
    e, (batch, heads, queries, keys) = op.extents, op.mask_shape
    split = (1, 1) if heads == 1 else (e.kv_heads, e.group)
    return b.reshape(mask, (batch, *split, queries, keys))


def _visible(op: AttentionLike, b: MirBuilder) -> Value | None:
    """Where a query sees a key, broadcastable; None if everywhere."""
    e, mask = op.extents, op.inputs[3]
    if op.kind == MaskKind.CUSTOM:
        assert mask is not None
        value = _grouped(op, b, mask)
        return value if element_of(mask) == i1 else b.eq(b.lt(value, 0.5), False)
    if op.kind not in (MaskKind.CAUSAL, MaskKind.SLIDING_WINDOW):
        return None
    rows: list[bytes] = []
    for at in range(e.shift, e.shift + e.queries):
        high = min(max(at + 1, 0), e.keys)
        low = 0 if op.window is None else min(max(at - op.window.value.data, 0), high)
        rows.append(bytes(low) + b"\1" * (high - low) + bytes(e.keys - high))
    return b.constant(DenseIntOrFPElementsAttr(TensorType(i1, (e.queries, e.keys)), BytesAttr(b"".join(rows))))


@dataclass
class _Scores:
    """What the definition passes through."""

    q: Value
    k: Value
    v: Value
    capped: Value
    """The tanh of the softcap; the scores if there is none."""
    exponentials: Value
    total: Value
    """The sum of the exponentials, 1 where it is 0."""
    probabilities: Value
    lse: Value


def _scores(op: AttentionLike, b: MirBuilder) -> _Scores:
    e = op.extents
    q, k, v, bias = op.inputs
    q, k, v = _split(op, b, q, e.heads), _split(op, b, k, e.kv_heads), _split(op, b, v, e.kv_heads)
    z = capped = b.matmul(q, b.transpose(k, (0, 1, 2, 4, 3))) * op.scale
    if (c := op.softcap) is not None:
        capped = b.tanh(z / c)
        z = capped * c
    if op.kind == MaskKind.BIAS:
        assert bias is not None
        z = z + _grouped(op, b, bias)
    seen = _visible(op, b)
    if seen is not None:
        z = b.where(seen, z, -inf)
    top = b.stop_gradient(b.reduce_max(z, axes=[-1], keep_dim=True))
    top = b.where(b.eq(top, -inf), 0.0, top)
    exponentials = b.exp(z - top)
    total = b.reduce_sum(exponentials, axes=[-1], keep_dim=True)
    empty = b.eq(total, 0.0)
    safe = b.where(empty, 1.0, total)
    lse = b.where(empty, -inf, b.log(safe) + top)
    return _Scores(q, k, v, capped, exponentials, safe, exponentials / safe, lse)


def _lse_like(b: MirBuilder, lse: Value, like: SSAValue) -> Value:
    return b.cast(b.reshape(lse, shape_of(like)), element_of(like))


@decompose(AttentionOp)
def attention_decompose(op: AttentionOp, b: MirBuilder) -> Sequence[Value]:
    s = _scores(op, b)
    out = b.matmul(s.exponentials, s.v) / s.total
    return [_join(op, b, out, op.result), _lse_like(b, s.lse, op.lse)]


KEYS_BY_POSITION, KEYS = 256, 768
"""From how many keys on the op takes no longer than two products with a softmax between them, whose scores stay in
cache until they are many; with a mask by position it leaves out half of the scores or more. Measured: see the docs."""


@RAISE.rule(AttentionOp, MatmulOp, DotGeneralOp)
def attention_raise(op: MatmulOp | DotGeneralOp) -> Raised | Missed | None:
    """`softmax(scores) @ v`, with heads among the leading dimensions; half floats in f32 in between or not."""
    for weights, v in _sides(term(op.result)):
        if isinstance(cast := weights.owner, CastOp) and is_half(cast.result):
            weights = Term(cast.operand, weights.at)
        found = softmax_operand(weights.value)
        if found is not None:
            return _over_scores(*found, weights, v, op.result)
    return None


def _sides(y: Term) -> list[tuple[Term, Term]]:
    """The two sides of a sum of products, either first, the first in front of views."""
    found = contraction(y)
    pairs = () if found is None else (found, found[::-1])
    return [(in_front_of_views(weights), v) for weights, v in pairs]


@RAISE.rule(AttentionOp, DivOp, MulOp, among=(ExpOp,))
def attention_divided_last_raise(op: DivOp | MulOp) -> Raised | Missed | None:
    """`(exp(scores - m) @ v) / sum exp(scores - m)`, with the maximum `m` of a row."""
    for weighted, total in quotients(term(op.result)):
        summed = reduction(total, ReduceSumOp)
        if summed is None or weighted != term(weighted.value) or weighted.value.type != op.result.type:
            continue
        for weights, v in _sides(weighted):
            if summed.operand is weights.value:
                z = shifted_by_maximum(term(weights.value), summed.axis)
                others = [d for d in range(len(weights.at)) if d != summed.axis]
                own = term(weights.value).at
                if z is not None and z.type == weights.value.type and all(weights.at[d] == own[d] for d in others):
                    return _over_scores(z, summed.axis, weights, v, op.result)
    return None


def _over_scores(z: SSAValue, axis: int, weights: Term, values: Term, result: SSAValue) -> Raised | Missed | None:
    """The attention whose weights, in the loops of its result, are the softmax of `z` along an axis."""
    if not all(shape_of(z)) or weights.at[axis] != (SUMMED if shape_of(z)[axis] != 1 else -1):
        return None
    scores = scores_of(z, axis)
    if not isinstance(scores, ScoresByHand):
        return scores
    shape = [shape_of(z)[d] for d in scores.order]
    *lead, row, _ = (weights.at[d] for d in scores.order)
    features = [loop for loop in term(result).at if loop not in (*weights.at, -1)] or [-1]
    v, full = laid(values, (*lead, SUMMED, features[0])), shape[:-2]
    if v is None or len(features) > 1 or v.shape[-2] != shape[-1]:
        return None
    heads, element, masks = batches_of(scores.q, scores.keys, v, full), element_of(scores.q.value), scores.visible.masks
    if heads is None or element not in FLOATS or not scores.is_held_by(element):
        return None
    if element != element_of(v.value) or any(element_of(one.values.value) not in (element, i1) for one in masks):
        return Missed(Reason.DTYPE, "mir.attention requires one element type for q, k, v and the bias")
    if masks and not (all(one.values.shape[-1] == shape[-1] for one in masks) and fits(masks, full, heads)):
        return Missed(
            Reason.SHAPE, "a mask of mir.attention covers all keys, and one or all batches, heads and queries"
        )
    leaves = (scores.q.value, scores.keys.value, v.value, *(one.values.value for one in masks))
    limit = KEYS_BY_POSITION if scores.visible.is_by_position else KEYS

    def build(b: MirBuilder) -> Value:
        out = _attention(b, scores, v, heads, full)
        found = laid(Term(out.ssa, (*lead, row, features[0])), term(result).at)
        assert found is not None
        return b.reshape(found.build(b), shape_of(result))

    return Raised(leaves, build, shape[-1] >= limit)


def _attention(b: MirBuilder, scores: ScoresByHand, v: Laid, to: LeadingAxes, full: Sequence[int]) -> Value:
    """The op in layout `bhsd`, as `[*full, Sq, Dv]`."""
    heads, seen = to.kv_heads * to.group, scores.visible
    kv = [b.reshape(x.build(b), (to.batch, to.kv_heads, *x.shape[-2:])) for x in (scores.keys, v)]
    groups = [repeated(b, x) for x in kv]
    if to.group == 1 and groups[0][1] == groups[1][1] != 1:
        kv = [x for x, _ in groups]
    q = b.reshape(scores.q.build(b), (to.batch, heads, *scores.q.shape[-2:]))
    element, width = element_of(q.ssa), q.shape[-1]
    # numbers of half floats are so few that another one is another scale
    scale, precise = scores.total_scale, f32 if is_half(q.ssa) else element
    mask = seen.build(b)
    made = b.emit(
        AttentionOp,
        q.ssa,
        kv[0].ssa,
        kv[1].ssa,
        None if mask is None else mask_of(b, mask, full, to).ssa,
        num_heads=heads,
        num_kv_heads=kv[0].shape[1],
        layout=HeadLayout.BHSD,
        mask_kind=seen.kind,
        window=seen.window,
        score_scale=None if is_close(scale, max(width, 1) ** -0.5, precise) else shortest(scale, precise),
        attn_logit_softcap=None if scores.softcap is None else shortest(scores.softcap, precise),
    )
    return b.reshape(made.result, (*full, q.shape[-2], kv[1].shape[-1]))


_SWAP = (0, 2, 1, 3)


@RAISE.rule(AttentionOp, TransposeOp)
def attention_of_transposed_raise(op: TransposeOp) -> Raised | None:
    """Heads that are brought in front of positions, and back again: layout `bshd`."""
    inner = op.operand.owner
    if not isinstance(inner, AttentionOp) or inner.layout.data != HeadLayout.BHSD or op.perm_list != _SWAP:
        return None
    sources = [x.owner for x in (inner.q, inner.k, inner.v)]
    before = [x.operand for x in sources if isinstance(x, TransposeOp) and x.perm_list == _SWAP]
    return _relaid(inner, before, HeadLayout.BSHD)


@RAISE.rule(AttentionOp, ReshapeOp)
def attention_of_split_raise(op: ReshapeOp) -> Raised | None:
    """Features that are split into heads, and merged again: layout `packed`."""
    inner = op.operand.owner
    if not isinstance(inner, AttentionOp) or inner.layout.data != HeadLayout.BSHD:
        return None
    if shape_of(op.result) != _merged(inner.result):
        return None
    sources = [(x.owner, _merged(x)) for x in (inner.q, inner.k, inner.v)]
    before = [x.operand for x, merged in sources if isinstance(x, ReshapeOp) and shape_of(x.operand) == merged]
    return _relaid(inner, before, HeadLayout.PACKED)


def _merged(x: SSAValue) -> tuple[int, int, int]:
    batch, length, heads, width = shape_of(x)
    return batch, length, heads * width


def _relaid(op: AttentionOp, qkv: Sequence[SSAValue], layout: HeadLayout) -> Raised | None:
    """The op on the operands that its own are views of, where all three are and only the output is read, by one op."""
    if len(qkv) != 3 or not op.result.has_one_use() or op.lse.first_use is not None:
        return None
    q, k, v = qkv
    leaves = (q, k, v, *(() if op.mask is None else (op.mask,)))
    chosen: dict[str, Any] = {**settings_of(op), "layout": layout}
    return Raised(leaves, lambda b: b.value(b.emit(AttentionOp, q, k, v, op.mask, **chosen).result))


@decompose(AttentionBackwardOp)
def attention_backward_decompose(op: AttentionBackwardOp, b: MirBuilder) -> Sequence[Value]:
    s, e = _scores(op, b), op.extents
    p, swap = s.probabilities, (0, 1, 2, 4, 3)
    dy = _split(op, b, op.dy, e.heads)
    dp = b.matmul(dy, b.transpose(s.v, swap))
    dz = dp - b.reduce_sum(p * dp, axes=[-1], keep_dim=True)
    if op.d_lse is not None:
        rows = (e.batch, e.kv_heads, e.group, e.queries, 1)
        dz = dz + b.cast(b.reshape(op.d_lse, rows), element_of(op.dy))
    dz = p * dz
    ds = dz * op.scale
    if op.softcap is not None:
        ds = ds * (1.0 - s.capped * s.capped)
    dq = b.matmul(ds, s.k)
    dk = b.reduce_sum(b.matmul(b.transpose(ds, swap), s.q), axes=[2], keep_dim=True)
    dv = b.reduce_sum(b.matmul(b.transpose(p, swap), dy), axes=[2], keep_dim=True)
    grads = [_join(op, b, dx, x) for dx, x in zip((dq, dk, dv), (op.q, op.k, op.v), strict=True)]
    if op.dbias is None:
        return grads
    full = b.reshape(dz, (e.batch, e.heads, e.queries, e.keys))
    return [*grads, b.unbroadcast(full, shape_of(op.dbias))]


@VJP.rule(AttentionOp)
def attention_vjp(op: AttentionOp, b: MirBuilder, g: Value | None, d_lse: Value | None) -> Sequence[Cotangent]:
    """One `mir.attention_backward` gives all cotangents; canonicalization drops that of a bias nobody asks for."""
    made: list[AttentionBackwardOp] = []

    def backward() -> AttentionBackwardOp:
        if not made:
            dy = b.zeros_like(op.result) if g is None else g
            seed = None if d_lse is None else d_lse.ssa
            operands, dbias = (op.q, op.k, op.v, op.result, op.lse, dy.ssa), op.kind == MaskKind.BIAS
            made.append(b.emit(AttentionBackwardOp, *operands, op.mask, seed, dbias, **settings_of(op)))
        return made[0]

    def of_bias() -> Value:
        dbias = backward().dbias
        assert dbias is not None
        return b.value(dbias)

    of_qkv: list[Cotangent] = [
        lambda: b.value(backward().dq),
        lambda: b.value(backward().dk),
        lambda: b.value(backward().dv),
    ]
    return of_qkv if op.mask is None else [*of_qkv, of_bias]


def _mapped(
    op: AttentionLike, b: MirBuilder, has_axis: Sequence[bool], size: int, operands: Sequence[Value]
) -> dict[SSAValue, SSAValue]:
    """
    The operands of one attention over all examples: batches of batches.

    A mask that batches share is repeated for them where each example has its own, or its own cotangent.
    """
    taken: dict[SSAValue, SSAValue] = {}
    mask, batch = op.inputs[3], op.extents.batch
    for old, mapped, new in zip(op.operands, has_axis, operands, strict=True):
        if old is mask and shape_of(old)[0] != batch:
            if not mapped and not (isinstance(op, AttentionBackwardOp) and op.dbias is not None):
                taken[old] = new.ssa
                continue
            each = new if mapped else lift(b, new, size)
            repeated = b.expand(each, (size, batch, *shape_of(old)[1:]))
            taken[old] = b.reshape(repeated, (size * batch, *shape_of(old)[1:])).ssa
            continue
        every = new if mapped else lift(b, new, size)
        taken[old] = b.reshape(every, (size * shape_of(old)[0], *shape_of(old)[1:])).ssa
    return taken


@VMAP.rule(AttentionOp)
def attention_vmap(
    op: AttentionOp, b: MirBuilder, has_axis: Sequence[bool], size: int, *operands: Value
) -> Sequence[Value]:
    """A batch of batches is a batch."""
    new = _mapped(op, b, has_axis, size, operands)
    mask = None if op.mask is None else new[op.mask]
    made = b.emit(AttentionOp, new[op.q], new[op.k], new[op.v], mask, **settings_of(op))
    return [b.reshape(x, (size, *shape_of(old))) for x, old in zip(made.results, op.results, strict=True)]


@VMAP.rule(AttentionBackwardOp)
def attention_backward_vmap(
    op: AttentionBackwardOp, b: MirBuilder, has_axis: Sequence[bool], size: int, *operands: Value
) -> Sequence[Value]:
    """A batch of batches is a batch; cotangents of a bias that batches share are summed over those of an example."""
    new = _mapped(op, b, has_axis, size, operands)
    made = b.emit(
        AttentionBackwardOp,
        *(new[x] for x in (op.q, op.k, op.v, op.out, op.lse, op.dy)),
        mask=None if op.mask is None else new[op.mask],
        d_lse=None if op.d_lse is None else new[op.d_lse],
        dbias=op.dbias is not None,
        **settings_of(op),
    )
    found = [b.reshape(x, (size, op.extents.batch, *shape_of(x)[1:])) for x in made.results]
    if op.dbias is not None and shape_of(op.dbias)[0] != op.extents.batch:
        found[-1] = b.reduce_sum(found[-1], axes=[1], keep_dim=True)
    return found
