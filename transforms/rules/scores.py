"""Attention as it is written by hand: what the rows of RAISE for `mir.attention` take apart.
What a mask lets through is in `masks.py`, the rows themselves in `attention.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite, prod
from typing import NamedTuple

from xdsl.dialects.builtin import f16, f32, i1
from xdsl.ir import Attribute, SSAValue

from xdsl_rlx.dialects.constants import round_to
from xdsl_rlx.dialects.mir.attention import MaskKind
from xdsl_rlx.dialects.mir.cast import CastOp
from xdsl_rlx.dialects.mir.elementwise import AddOp, DivOp, MulOp, SubOp, TanhOp, WhereOp
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.mir.shape import ExpandOp, ReshapeOp, TransposeOp
from xdsl_rlx.dialects.shapes import broadcast_shapes, element_of, shape_of
from xdsl_rlx.transforms.rules.contraction import SUMMED, Contraction, Laid, contraction, laid
from xdsl_rlx.transforms.rules.masks import Row, all_rows_see, hides_a_row, opposite, rows_kept, rows_seen
from xdsl_rlx.transforms.rules.raise_table import Missed, Reason
from xdsl_rlx.transforms.rules.terms import Term, bare, moved_from, number, parts, term
from xdsl_rlx.transforms.rules.wide import is_half

_LOW: dict[Attribute, float] = {f16: -3e4}
"""A finite score below this is as good as -inf beside one that is seen: exp of the difference is 0."""


@dataclass(frozen=True)
class Mask:
    """A value `[.., Sq|1, Sk]` that says which keys are seen, or which are not, or is added to the scores."""

    values: Laid
    is_added: bool = False
    factor: float = 1.0
    """What is added is multiplied by it."""
    is_hidden: bool = False
    """Of truth values: whether they say what is not seen."""

    def build(self, b: MirBuilder) -> Value:
        """The value, as `mir.attention` takes it."""
        value = self.values.build(b)
        if self.is_added:
            return value if self.factor == 1.0 else value * self.factor
        return b.eq(value, False) if self.is_hidden else value


@dataclass(frozen=True)
class Visible:
    """The mask of an attention: its kind, with a window or what it is made of."""

    kind: MaskKind = MaskKind.NONE
    window: int | None = None
    masks: tuple[Mask, ...] = ()

    @property
    def is_by_position(self) -> bool:
        """Whether scores that are not seen are not computed."""
        return self.kind in (MaskKind.CAUSAL, MaskKind.SLIDING_WINDOW)

    def beside(self, mask: Mask) -> Visible:
        """With one more mask: values that are added, all together, -inf where one of booleans hides a key."""
        masks = (*self.masks, mask)
        return Visible(MaskKind.BIAS if any(one.is_added for one in masks) else MaskKind.CUSTOM, None, masks)

    def build(self, b: MirBuilder) -> Value | None:
        """The one mask that all are."""
        built = [(one, one.build(b)) for one in self.masks]
        added = [value for one, value in built if one.is_added]
        if not added:
            return built[0][1] if built else None
        total = added[0]
        for value in added[1:]:
            total = total + value
        for one, value in built:
            total = total if one.is_added else b.where(value, total, -inf)
        return total


@dataclass(frozen=True)
class ScoresByHand:
    """`softcap tanh(scale q k^T / softcap)`, and what is seen of it."""

    q: Laid
    """`[.., Sq, D]`."""
    keys: Laid
    """`[.., Sk, D]`."""
    order: tuple[int, ...]
    """The dimensions of the scores as `[.., Sq, Sk]`."""
    scale: float = 1.0
    """Of the product itself, whatever the softcap."""
    softcap: float | None = None
    visible: Visible = Visible()

    @property
    def total_scale(self) -> float:
        """What the op multiplies the product by, in front of a softcap by which it divides."""
        return self.scale if self.softcap is None else self.scale * self.softcap

    def is_held_by(self, element: Attribute) -> bool:
        """Whether products of numbers, which by hand are taken one by one, are numbers of a float type."""
        cap = 1.0 if self.softcap is None else round_to(self.softcap, element)
        return 0 < cap < inf and isfinite(round_to(self.total_scale, element))

    def times(self, factor: float) -> ScoresByHand | None:
        """These scores, without a mask, multiplied by a number."""
        if self.softcap is None:
            return replace(self, scale=self.scale * factor)
        return replace(self, softcap=self.softcap * factor) if factor > 0 else None


class _Place(NamedTuple):
    """Where scores are looked for: below something of this shape, of which an axis is that of the keys."""

    full: Term
    axis: int
    factor: float = 1.0
    """The positive number that they are multiplied by then."""
    depth: int = 6
    """How many masks and numbers may follow: what is a sum of itself could be taken apart for ever."""

    @property
    def inside(self) -> _Place:
        """One step further."""
        return self._replace(depth=self.depth - 1)


def scores_of(z: SSAValue, axis: int) -> ScoresByHand | Missed | None:
    """The scores that a softmax along an axis, that of the keys, is taken of."""
    full = term(z)
    return _masked(full, _Place(full, axis)) if len(full.at) > 1 else None


def _masked(x: Term, place: _Place) -> ScoresByHand | Missed | None:
    """Scores with masks, or without."""
    if not place.depth:
        return None
    if len(found := parts(x, WhereOp)) == 3:
        return _hidden(found, place.inside)
    if len(found := parts(x, AddOp, SubOp)) == 2:
        first, second = found
        if isinstance(bare(x).owner, SubOp):
            return _biased(first, second, -place.factor, place.inside)
        one_way = _biased(first, second, place.factor, place.inside)
        return _biased(second, first, place.factor, place.inside) if one_way is None else one_way
    if (scores := _scaled(x, place)) is not None:
        return scores.times(place.factor)
    inner = _factor(x)
    if inner is None or inner[1] <= 0:
        return None
    return _masked(inner[0], place.inside._replace(factor=place.factor * inner[1]))


def _scaled(x: Term, place: _Place) -> ScoresByHand | None:
    """Scores times numbers, with a softcap or without; the factor of the place is left out."""
    if not place.depth:
        return None
    place, x = place.inside, bare(x)
    op = x.owner
    if isinstance(op, CastOp) and is_half(op.operand) and element_of(op.result) == f32:
        return _scaled(Term(op.operand, x.at), place)
    if (found := contraction(x)) is not None:
        return _product_of_heads(found, place) if {*place.full.at} <= {*x.at, -1} else None
    factor = _factor(x)
    if factor is None:
        return None
    inner, by = factor
    capped = parts(inner, TanhOp)
    if capped:
        scores = _scaled(capped[0], place)
        return None if scores is None or scores.softcap is not None or by <= 0 else replace(scores, softcap=by)
    scores = _scaled(inner, place)
    return None if scores is None else scores.times(by)


def _product_of_heads(found: Contraction, place: _Place) -> ScoresByHand | None:
    """
    The product of queries and keys, either first; keys run over the axis.

    Queries run over the dimension in front of the last one if that may be, else over the largest one that may: those
    which heads share keys along may be, too. These come last among the leading dimensions.
    """
    shape, rank, axis = shape_of(place.full.value), len(place.full.at), place.axis
    others = sorted((d for d in range(rank) if d != axis), key=lambda d: (d == rank - 2, shape[d], d), reverse=True)
    for row in others:
        for queries, keys in (found, found[::-1]):
            (q, of_q), (k, of_k) = _unscaled(queries), _unscaled(keys)
            outer = [d for d in range(rank) if d not in (row, axis)]
            lead = sorted(outer, key=lambda d, k=k: shape[d] != 1 and d not in k.at)
            laid_q, laid_k = laid(q, (*lead, row, SUMMED)), laid(k, (*lead, axis, SUMMED))
            if laid_q is not None and laid_k is not None:
                return ScoresByHand(laid_q, laid_k, (*lead, row, axis), of_q * of_k)
    return None


def _factor(x: Term) -> tuple[Term, float] | None:
    """A value and the number that it is multiplied by."""
    if len(found := parts(x, MulOp)) == 2:
        for part, other in (found, found[::-1]):
            if (by := number(other)) is not None and isfinite(by) and by:
                return part, by
    elif len(found := parts(x, DivOp)) == 2 and (by := number(found[1])) is not None and isfinite(by) and by:
        return found[0], 1 / by
    return None


def _unscaled(x: Term) -> tuple[Term, float]:
    """A factor of the product without a number that it alone is multiplied by, and the number."""
    at: Term | None = x
    while at is not None and at.value.has_one_use():
        if isinstance(at.owner, MulOp | DivOp) and (found := _factor(at)) is not None:
            return found if found[0].value.type == at.value.type else (x, 1.0)
        at = moved_from(at)
    return x, 1.0


def _is_low(z: SSAValue, factor: float) -> Callable[[float], bool]:
    limit = _LOW.get(element_of(z), -1e9)
    return lambda n: n * factor <= limit


_UNSEEN = (
    "a row that sees no key is 0 in mir.attention, and not by hand: write the op with the mask kind custom, or add a "
    "mask with a finite number to the scores"
)
_TWICE = "mir.attention takes one mask of booleans: write it as one, by & of both"


def _hidden(found: Sequence[Term], place: _Place) -> ScoresByHand | Missed | None:
    """Scores where a mask says so, or does not, and a low number elsewhere; every query is to see a key."""
    cond, *sides = found
    for part, other, is_hidden in ((*sides, False), (*sides[::-1], True)):
        low = number(other)
        if low is None or not _is_low(other.value, place.factor)(low):
            continue
        scores = _masked(part, place)
        if not isinstance(scores, ScoresByHand):
            return scores
        if scores.visible.kind not in (MaskKind.NONE, MaskKind.BIAS) or any(
            not one.is_added for one in scores.visible.masks
        ):
            return Missed(Reason.MASK, _TWICE)
        return _seen(scores, cond, is_hidden, shape_of(place.full.value))
    return None


def _seen(scores: ScoresByHand, cond: Term, is_hidden: bool, shape: Sequence[int]) -> ScoresByHand | Missed | None:
    """Scores, perhaps with a bias, of which a mask of booleans lets some through."""
    *_, row, column = scores.order
    queries, keys = shape[row], shape[column]
    values = laid(cond, scores.order)
    if not keys or values is None:
        return None
    rows = rows_seen(cond, row, column, queries, keys)
    if rows is not None and is_hidden:
        rows = opposite(rows, keys)
    if rows is None and not all_rows_see(cond, column, keys, is_hidden):
        return Missed(Reason.MASK, _UNSEEN)
    if rows is not None and any(low == high for low, high in rows):
        return Missed(Reason.MASK, _UNSEEN)
    named = None if rows is None or scores.visible.masks else _by_rows(rows, queries, keys)
    if named is None and element_of(cond.value) != i1:
        return None
    return replace(scores, visible=named or scores.visible.beside(Mask(values, is_hidden=is_hidden)))


def _biased(part: Term, bias: Term, by: float, place: _Place) -> ScoresByHand | Missed | None:
    """Scores plus a bias times a factor."""
    scores = _masked(part, place)
    if not isinstance(scores, ScoresByHand):
        return scores
    *_, row, column = scores.order
    queries, keys = (shape_of(place.full.value)[d] for d in (row, column))
    values = laid(bias, scores.order)
    if values is None or values.shape[-1] != keys:
        return None
    if scores.visible.is_by_position or any(not one.is_added for one in scores.visible.masks):
        return Missed(Reason.MASK, "a bias is added in front of a mask of booleans, which is by position here")
    rows = rows_kept(bias, row, column, queries, keys, _is_low(bias.value, by))
    if rows is not None and all(low < high for low, high in rows) and not scores.visible.masks:
        visible = _by_rows(rows, queries, keys)
        if visible is not None:
            return replace(scores, visible=visible)
    if hides_a_row(bias, row, column, queries, keys, by):
        return Missed(Reason.MASK, _UNSEEN)
    return replace(scores, visible=scores.visible.beside(Mask(values, is_added=True, factor=by)))


def _by_rows(rows: Sequence[Row], queries: int, keys: int) -> Visible | None:
    """The kind of a mask by which each query sees some keys in a row; None if it has no name."""
    last = [at + 1 for at in range(keys - queries, keys)]
    if all(row == (0, keys) for row in rows):
        return Visible()
    if [high for _, high in rows] != last:
        return None
    window = last[-1] - 1 - rows[-1][0]
    if all(low == 0 for low, _ in rows):
        return Visible(MaskKind.CAUSAL)
    if all(low == max(end - 1 - window, 0) for (low, _), end in zip(rows, last, strict=True)):
        return Visible(MaskKind.SLIDING_WINDOW, window)
    return None


@dataclass(frozen=True)
class LeadingAxes:
    """Leading dimensions of a product of heads as batches, heads of keys, and heads of queries for each of these."""

    batch: int
    kv_heads: int
    group: int


def batches_of(q: Laid, keys: Laid, v: Laid, full: Sequence[int]) -> LeadingAxes | None:
    """How leading dimensions `full` are batches and heads: those that keys and values are repeated along are groups."""
    if q.shape[:-2] != tuple(full):
        return None
    shared, others = len(full), [keys.shape[:-2], v.shape[:-2]]
    while shared and all(other[shared - 1] == 1 for other in others):
        shared -= 1
    if any(other[:shared] != tuple(full[:shared]) for other in others):
        return None
    outer = full[:shared]
    heads = outer[-1] if len(outer) > 1 else 1
    return LeadingAxes(prod(outer[:-1]) if len(outer) > 1 else prod(outer), heads, prod(full[shared:]))


def mask_of(b: MirBuilder, mask: Value, full: Sequence[int], to: LeadingAxes) -> Value:
    """A mask that broadcasts to `[*full, Sq, Sk]` as one of rank 4."""
    *lead, rows, columns = mask.shape
    return b.reshape(mask, (*_mask_lead(lead, full, to), rows, columns))


def _mask_lead(lead: Sequence[int], full: Sequence[int], to: LeadingAxes) -> tuple[int, int]:
    heads = to.kv_heads * to.group
    cut = next(at for at in range(len(full) + 1) if prod(full[at:]) == heads and prod(full[:at]) == to.batch)
    return prod(lead[:cut]), prod(lead[cut:])


def fits(masks: Sequence[Mask], full: Sequence[int], to: LeadingAxes) -> bool:
    """Whether masks are together one for all batches or one for each, and the same of heads."""
    *lead, _, _ = broadcast_shapes(*(one.values.shape for one in masks))
    batch, heads = _mask_lead(lead, full, to)
    return batch in (1, to.batch) and heads in (1, to.kv_heads * to.group)


def repeated(b: MirBuilder, x: Value) -> tuple[Value, int]:
    """
    Heads `[B, H, S, D]` that are each of fewer heads several times, one after the other: those, and how often.

    Heads are expanded along a new axis behind theirs, which a reshape merges.
    """
    op = x.ssa.owner
    if isinstance(op, TransposeOp) and op.perm_list == (0, 2, 1, 3):
        inner, group = _repeated_along(b, op.operand, 2)
        return (x, 1) if inner is None else (b.transpose(inner, op.perm_list), group)
    inner, group = _repeated_along(b, x.ssa, 1)
    return (x, 1) if inner is None else (inner, group)


def _repeated_along(b: MirBuilder, x: SSAValue, axis: int) -> tuple[Value | None, int]:
    op = x.owner
    if not isinstance(op, ReshapeOp) or not isinstance(expand := op.operand.owner, ExpandOp):
        return None, 1
    wide, after = shape_of(expand.result), shape_of(op.result)
    if len(wide) != 5 or len(after) != 4:
        return None, 1
    lead, (heads, group), rest = wide[:axis], wide[axis : axis + 2], wide[axis + 2 :]
    if shape_of(expand.operand) != (*lead, heads, 1, *rest) or after != (*lead, heads * group, *rest):
        return None, 1
    return b.reshape(expand.operand, (*lead, heads, *rest)), group
