"""NumPy's sorting, searching and running extremes, on `mir.topk`, `mir.bisect` and `mir.scan`."""

from __future__ import annotations

from xdsl.dialects.builtin import AnyFloat
from xdsl.utils.str_enum import StrEnum

from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.dialects.mir.compositions import comparable, row_or_axis, running_scan
from xdsl_rlx.dialects.mir.fields import word_of
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder
from xdsl_rlx.dialects.mir.value import Operand, Value
from xdsl_rlx.dialects.shapes import dims, element_of, shape_of

_COMPARED = 32
"""How many elements a loop that fuses with what is around it compares faster than a binary search finds them."""


class SearchSide(StrEnum):
    """On which side of elements that are equal to it a number is put in."""

    LEFT = "left"
    RIGHT = "right"


def sort(m: MirBuilder, x: Operand, axis: int | None = -1) -> Value:
    """Sort along `axis` in ascending order, NaN last; differentiable. With `axis=None`, sort the flattened `x`."""
    value, axis = row_or_axis(m, x, axis)
    rows = m.moveaxis(comparable(value), axis, -1)
    # `mir-raise-composites` makes a `mir.sort` of it, unless the positions are read too, as by the derivative
    last = rows.rank - 1
    found = m.gather(rows, m.topk(rows, rows.shape[-1], smallest=True), last, last)
    return m.moveaxis(m.cast(found, element_of(value.ssa)), -1, axis)


def topk_values(m: MirBuilder, x: Operand, k: int) -> Value:
    """Return the `k` largest elements along the last axis, gathered at `mir.topk`; differentiable."""
    value = m.operand(x)
    last = len(shape_of(value)) - 1
    return m.gather(value, m.topk(value, k), last, last)


def searchsorted(m: MirBuilder, a: Operand, v: Operand, side: SearchSide | str = SearchSide.LEFT) -> Value:
    """
    Return the i64 insertion index of each element of `v` in the ascending vector `a`, as `np.searchsorted`.

    A short `a` is compared with every element of `v`; in a longer one they are found by `mir.bisect`.
    """
    side = word_of(SearchSide, "side", side)
    line, numbers = (m.value(x) for x in m.operands(a, v))
    if line.rank != 1:
        raise GraphError(f"searchsorted: expected a vector to search in, got shape {dims(line.shape)}")
    if line.size > _COMPARED:
        return m.bisect(*map(comparable, (line, numbers)), left=side is SearchSide.LEFT)
    each = m.expand_dims(numbers, -1)
    below = line < each if side is SearchSide.LEFT else line <= each
    if isinstance(element_of(line.ssa), AnyFloat):
        behind = m.eq(line, line) if side is SearchSide.LEFT else m.constant(True)
        below = m.where(m.eq(each, each), below, behind)
    return m.reduce_sum(below, -1)


def cummax(m: MirBuilder, x: Operand, axis: int = -1) -> Value:
    """Return the cumulative maximum along `axis`, by a `mir.scan`; NaN from the first NaN on."""
    return running_scan(m, m.value(m.operand(x)), axis, m.max)


def cummin(m: MirBuilder, x: Operand, axis: int = -1) -> Value:
    """Return the cumulative minimum along `axis`, by a `mir.scan`; NaN from the first NaN on."""
    return running_scan(m, m.value(m.operand(x)), axis, m.min)
