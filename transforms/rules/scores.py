"""Attention as it is written by hand: what the rows of RAISE for `mir.attention` take apart.
What a mask lets through is in `masks.py`, the rows themselves in `attention.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite, prod

from xdsl.dialects.builtin import f16, f32
from xdsl.ir import Attribute, SSAValue

from xdsl_rlx.dialects.constants import round_to
from xdsl_rlx.dialects.mir.attention import MaskKind
from xdsl_rlx.dialects.mir.cast import CastOp
from xdsl_rlx.dialects.mir.elementwise import AddOp, ConstantOp, DivOp, MulOp, TanhOp, WhereOp
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.mir.shape import ExpandOp, ReshapeOp, TransposeOp
from xdsl_rlx.dialects.shapes import element_of, shape_of
from xdsl_rlx.transforms.rules.contraction import SUMMED, Contraction, Laid, contraction, laid
from xdsl_rlx.transforms.rules.masks import Row, hides_a_row, rows_kept, rows_seen, truths
from xdsl_rlx.transforms.rules.raise_table import Missed, Reason
from xdsl_rlx.transforms.rules.terms import Term, bare, is_in_order, moved_from, number, parts, term
from xdsl_rlx.transforms.rules.wide import is_half

_LOW: dict[Attribute, float] = {f16: -3e4}
"""A finite score below this is as good as -inf beside one that is seen: exp of the difference is 0."""


@dataclass(frozen=True)
class Visible:
    """The mask of an attention: its kind, with a window or a value."""

    kind: MaskKind = MaskKind.NONE
    window: int | None = None
    mask: SSAValue | None = None

    @property
    def is_by_position(self) -> bool:
        """Whether scores that are not seen are not computed."""
        return self.kind in (MaskKind.CAUSAL, MaskKind.SLIDING_WINDOW)


@dataclass(frozen=True)
class ScoresByHand:
    """`softcap tanh(scale q k^T / softcap)`, and what is seen of it."""

    q: Laid
    """`[.., Sq, D]`."""
    keys: Laid
    """`[.., Sk, D]`."""
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


def scores_of(z: SSAValue) -> ScoresByHand | Missed | None:
    """The scores `[.., Sq, Sk]` that a softmax is taken of."""
    x = bare(term(z))
    if not is_in_order(x) or len(x.at) < 2:
        return None
    if len(found := parts(x, WhereOp)) == 3:
        return _hidden(x, found)
    if len(found := parts(x, AddOp)) == 2:
        for part, bias in (found, found[::-1]):
            if (scores := _scaled(part, x)) is not None:
                return _biased(scores, bias.value, shape_of(x.value))
        return None
    return _scaled(x, x)


def _scaled(x: Term, full: Term) -> ScoresByHand | None:
    """Scores times numbers, with a softcap or without, that have all loops of `full`."""
    x = bare(x)
    op = x.owner
    if isinstance(op, CastOp) and is_half(op.operand) and element_of(op.result) == f32:
        return _scaled(Term(op.operand, x.at), full)
    if (found := contraction(x)) is not None:
        return _product_of_heads(found, full) if {*full.at} <= {*x.at, -1} else None
    factor = _factor(x)
    if factor is None:
        return None
    inner, by = factor
    capped = parts(inner, TanhOp)
    if capped:
        scores = _scaled(capped[0], full)
        return None if scores is None or scores.softcap is not None or by <= 0 else replace(scores, softcap=by)
    scores = _scaled(inner, full)
    if scores is None:
        return None
    if scores.softcap is not None:
        return replace(scores, softcap=scores.softcap * by) if by > 0 else None
    return replace(scores, scale=scores.scale * by)


def _product_of_heads(found: Contraction, full: Term) -> ScoresByHand | None:
    """The product of queries, which run over the last loop but one, and keys, which run over the last; either first."""
    *lead, row, column = range(len(full.at))
    for queries, keys in (found, found[::-1]):
        (q, of_q), (k, of_k) = _unscaled(queries), _unscaled(keys)
        laid_q, laid_k = laid(q, (*lead, row, SUMMED)), laid(k, (*lead, column, SUMMED))
        if laid_q is not None and laid_k is not None:
            return ScoresByHand(laid_q, laid_k, of_q * of_k)
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


def _is_low(z: SSAValue) -> Callable[[float], bool]:
    limit = _LOW.get(element_of(z), -1e9)
    return lambda n: n <= limit


_UNSEEN = (
    "a row that sees no key is 0 in mir.attention, and not by hand: write the op with the mask kind custom, or add a "
    "mask with a finite number to the scores"
)


def _hidden(z: Term, found: Sequence[Term]) -> ScoresByHand | Missed | None:
    """Scores where a mask says so, and a low number elsewhere; every query is to see a key."""
    cond, part, other = found
    scores, low = _scaled(part, z), number(other)
    if scores is None or low is None or not _is_low(z.value)(low):
        return None
    queries, keys = shape_of(z.value)[-2:]
    if not keys:
        return None
    mask = bare(cond)
    rows = rows_seen(cond.value, queries, keys)
    if rows is None:
        owner = mask.owner
        by_rows = shape_of(mask.value)[-1:] == (keys,) and mask.at[-1:] == z.at[-1:]
        if not isinstance(owner, ConstantOp) or not by_rows:
            return Missed(Reason.MASK, _UNSEEN)
        data = truths(owner.value)
        seen = all(any(data[at : at + keys]) for at in range(0, len(data), keys))
        return (
            replace(scores, visible=Visible(MaskKind.CUSTOM, mask=cond.value)) if seen else Missed(Reason.MASK, _UNSEEN)
        )
    if any(low == high for low, high in rows):
        return Missed(Reason.MASK, _UNSEEN)
    return replace(scores, visible=_by_rows(rows, queries, keys) or Visible(MaskKind.CUSTOM, mask=cond.value))


def _biased(scores: ScoresByHand, bias: SSAValue, shape: Sequence[int]) -> ScoresByHand | Missed | None:
    queries, keys = shape[-2:]
    if shape_of(bias)[-1:] != (keys,):
        return None
    rows = rows_kept(bias, queries, keys, _is_low(bias))
    if rows is not None and all(low < high for low, high in rows):
        visible = _by_rows(rows, queries, keys)
        if visible is not None:
            return replace(scores, visible=visible)
    if hides_a_row(bias, queries, keys):
        return Missed(Reason.MASK, _UNSEEN)
    return replace(scores, visible=Visible(MaskKind.BIAS, mask=bias))


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


def mask_of(b: MirBuilder, mask: SSAValue, full: Sequence[int], to: LeadingAxes) -> Value:
    """A mask that broadcasts to `[*full, Sq, Sk]` as one of rank 4."""
    shape = shape_of(mask)
    *lead, rows, columns = (1,) * (len(full) + 2 - len(shape)) + shape
    return b.reshape(mask, (*_mask_lead(lead, full, to), rows, columns))


def _mask_lead(lead: Sequence[int], full: Sequence[int], to: LeadingAxes) -> tuple[int, int]:
    heads = to.kv_heads * to.group
    cut = next(at for at in range(len(full) + 1) if prod(full[at:]) == heads and prod(full[:at]) == to.batch)
    return prod(lead[:cut]), prod(lead[cut:])


def fits(mask: SSAValue, full: Sequence[int], to: LeadingAxes) -> bool:
    """Whether a mask is one for all batches or one for each, and the same of heads."""
    shape = shape_of(mask)
    *lead, _, _ = (1,) * (len(full) + 2 - len(shape)) + shape
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
