"""NumPy's sorting, searching and running products and extremes, as builder methods."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import AnyFloat, i1
from xdsl.ir import Attribute
from xdsl.utils.str_enum import StrEnum

from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.dialects.mir.fields import word_of
from xdsl_rlx.dialects.mir.index import CumprodOp
from xdsl_rlx.dialects.mir.value import BuilderCore, Operand, Value
from xdsl_rlx.dialects.shapes import FLOATS, INTS, dims, element_of, normalize_axis, u8, u32

if TYPE_CHECKING:
    from xdsl_rlx.dialects.mir.mir_builder import MirBuilder

_LARGEST: dict[Attribute, int] = {u8: 2**8 - 1, u32: 2**32 - 1}
"""Of unsigned integers; the order of signed ones is turned around by `-1 - x`."""


_COMPARED = 32
"""How many elements a loop that fuses with what is around it compares faster than a binary search finds them."""


class SearchSide(StrEnum):
    """On which side of elements that are equal to it a number is put in."""

    LEFT = "left"
    RIGHT = "right"


class SortingBuilder(BuilderCore):
    """Builder methods of this family."""

    def argsort(self, x: Operand, axis: int | None = -1) -> Value:
        """
        Return the i64 indices that sort along `axis`, or the flattened `x` if `axis` is None.

        The sort is stable, and NaN is last, as in NumPy's stable sort.
        """
        value, axis = self._row_or_axis(x, axis)
        rows = self._this.moveaxis(self._comparable(value), axis, -1)
        return self._this.moveaxis(self._this.topk(rows, rows.shape[-1], smallest=True), -1, axis)

    def sort(self, x: Operand, axis: int | None = -1) -> Value:
        """Sort along `axis` in ascending order, NaN last; differentiable. With `axis=None`, sort the flattened `x`."""
        value, axis = self._row_or_axis(x, axis)
        m, rows = self._this, self._this.moveaxis(self._comparable(value), axis, -1)
        # `mir-raise-composites` makes a `mir.sort` of it, unless the positions are read too, as by the derivative
        last = rows.rank - 1
        found = m.gather(rows, m.topk(rows, rows.shape[-1], smallest=True), last, last)
        return m.moveaxis(m.cast(found, element_of(value.ssa)), -1, axis)

    def argmax(self, x: Operand, axis: int | None = None, keepdims: bool = False) -> Value:
        """
        Return the i64 index of the largest element along `axis`, the first of equal ones; None means the flattened `x`.

        NaN counts as the largest. GraphError for an axis of extent 0.
        """
        return self._position(x, axis, keepdims, lambda value: value)

    def argmin(self, x: Operand, axis: int | None = None, keepdims: bool = False) -> Value:
        """Return the i64 index of the smallest element, as `argmax`; NaN counts as the smallest."""
        return self._position(x, axis, keepdims, self._turned)

    def _position(self, x: Operand, axis: int | None, keepdims: bool, order: Callable[[Value], Value]) -> Value:
        given = self.value(self.operand(x))
        value, place = self._row_or_axis(given, axis)
        if not value.shape[place]:
            raise GraphError(f"expected at least one element along the axis to reduce, got shape {dims(given.shape)}")
        rows = self._this.moveaxis(order(self._comparable(value)), place, -1)
        best = self._this.moveaxis(self._this.topk(rows, 1), -1, place)
        if keepdims:
            return self._this.reshape(best, (1,) * given.rank) if axis is None else best
        return self._this.squeeze(best, place)

    def _row_or_axis(self, x: Operand, axis: int | None) -> tuple[Value, int]:
        """A value and its axis, or its elements in one row."""
        value = self.value(self.operand(x))
        return (self._this.ravel(value), 0) if axis is None else (value, normalize_axis(axis, value.rank))

    def _comparable(self, value: Value) -> Value:
        """Truth values as integers."""
        return value.cast("i8") if element_of(value.ssa) == i1 else value

    def _turned(self, value: Value) -> Value:
        """Numbers in the opposite order, without one that overflows; NaN stays NaN."""
        element = element_of(value.ssa)
        return -value if isinstance(element, AnyFloat) else _LARGEST.get(element, -1) - value

    def searchsorted(self, a: Operand, v: Operand, side: SearchSide | str = SearchSide.LEFT) -> Value:
        """
        Return the i64 insertion index of each element of `v` in the ascending vector `a`, as `np.searchsorted`.

        A short `a` is compared with every element of `v`; in a longer one they are found by `mir.bisect`.
        """
        side = word_of(SearchSide, "side", side)
        line, numbers = (self.value(x) for x in self.operands(a, v))
        if line.rank != 1:
            raise GraphError(f"searchsorted: expected a vector to search in, got shape {dims(line.shape)}")
        b = self._this
        if line.size > _COMPARED:
            found = [value.cast("i8") if element_of(value.ssa) == i1 else value for value in (line, numbers)]
            return b.bisect(*found, left=side is SearchSide.LEFT)
        each = b.expand_dims(numbers, -1)
        below = line < each if side is SearchSide.LEFT else line <= each
        if isinstance(element_of(line.ssa), AnyFloat):
            behind = b.eq(line, line) if side is SearchSide.LEFT else b.constant(True)
            below = b.where(b.eq(each, each), below, behind)
        return b.reduce_sum(below, -1)

    def cumprod(self, x: Operand, axis: int = -1, dtype: object = None) -> Value:
        """`mir.cumprod`: the cumulative product along `axis`; integers and `dtype` behave as in `cumsum`."""
        value = self.accumulated(x, dtype)
        if element_of(value.ssa) in (*FLOATS, *INTS):
            return self.op(CumprodOp, value.ssa, axis)
        return running_scan(self._this, value, axis, self._this.mul)

    def cummax(self, x: Operand, axis: int = -1) -> Value:
        """Return the cumulative maximum along `axis`, by a `mir.scan`; NaN from the first NaN on."""
        return running_scan(self._this, self.value(self.operand(x)), axis, self._this.max)

    def cummin(self, x: Operand, axis: int = -1) -> Value:
        """Return the cumulative minimum along `axis`, by a `mir.scan`; NaN from the first NaN on."""
        return running_scan(self._this, self.value(self.operand(x)), axis, self._this.min)


def running_scan(b: MirBuilder, value: Value, axis: int, step: Callable[[Value, Value], Value]) -> Value:
    """Return what `step` makes of the elements along an axis up to each position, by a `mir.scan`."""
    rows = b.moveaxis(value, axis, 0)
    if not rows.shape[0]:
        return value
    first = b.narrow(rows, 0, 0, 1)

    def body(carry: Value, row: Value) -> tuple[Value, Value]:
        total = step(carry, row)
        return total, total

    _, rest = b.scan(body, b.squeeze(first, 0), b.narrow(rows, 0, 1, rows.shape[0] - 1))
    assert isinstance(rest, Value)
    return b.moveaxis(b.concat([first, rest], 0), 0, axis)
