"""A matrix product as calls of functions of the library: the loops of `tiled_product.py` around tiles and copies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import MemRefType, f32, f64
from xdsl.ir import SSAValue

from xdsl_rlx.dialects.lir import CallFunctionOp
from xdsl_rlx.dialects.lir.bounds import constant_index
from xdsl_rlx.dialects.lir.memory import element_bytes, memref_of, strides_of
from xdsl_rlx.dialects.shapes import DTYPE_NAMES
from xdsl_rlx.lowering.kernel_dsl.kernel_builder import Nest
from xdsl_rlx.lowering.kernel_library.called import CalledFunction
from xdsl_rlx.lowering.kernel_library.products import (
    LinesFunction,
    PaddedLinesFunction,
    PaddedTileFunction,
    RowsFunction,
    TileFunction,
    TransposedFunction,
)
from xdsl_rlx.lowering.target import TileCosts
from xdsl_rlx.lowering.tile_blocks.factors import Factors, Matrix
from xdsl_rlx.lowering.tile_blocks.side_by_side import MERGED
from xdsl_rlx.lowering.tile_blocks.tile_block import Left, Panel
from xdsl_rlx.lowering.tile_blocks.tile_sizes import rows_in_l2
from xdsl_rlx.lowering.tiles.tiled_product import TiledProduct

Place = tuple[SSAValue, Sequence[SSAValue]]


def can_be_called(factors: Factors, rows: int | None, columns: int, costs: TileCosts) -> bool:
    """
    Whether the library has functions for a product: of f32 or f64, whose factors have neighbours in memory.

    A tile of one vector is as much code as its call, and faster where its strides are known.
    """
    element, lanes = factors.element, costs.lanes_of(factors.element)
    if element not in (f32, f64) or factors.is_rounded or not rows or factors.terms is not None:
        return False
    if factors.depth < costs.min_called_terms or columns <= lanes or lanes % MERGED:
        return False
    return 1 in _strides(factors.left) and 1 in _strides(factors.right) and _strides(factors.into)[1] == 1


def _strides(matrix: Matrix) -> tuple[int, int]:
    """Elements from row to row and from column to column; 1 where there is only one of the other."""
    type_ = memref_of(matrix.buffer)
    row, column = strides_of(type_)[-2:]
    rows, columns = type_.get_shape()[-2:]
    if columns == 1 and row != 1:
        column = 1
    if rows == 1 and column != 1:
        row = 1
    return row, column


@dataclass(frozen=True)
class Lines:
    """A copy of rows of the left factor, so many elements apart."""

    copy: SSAValue
    apart: int


@dataclass(frozen=True)
class CalledProduct(TiledProduct):
    """The same product by calls, of a number of rows that is known; `lines`: a copy of the left factor's rows."""

    lines: Lines | None = None

    def _columns(self, nest: Nest, low: SSAValue, high: SSAValue) -> None:
        """All columns, along a part of the inner dimension."""
        if self.lines is None and self._collide:
            replace(self, lines=self._in_lines(nest, low, high))._columns(nest, low, high)
        else:
            super()._columns(nest, low, high)

    @property
    def _collide(self) -> bool:
        """Whether the rows of a tile of the left factor are in one set of the first cache, which has as many ways."""
        (row, column), each = _strides(self.factors.left), element_bytes(self.factors.element)
        if self.rows is None or self.rows <= self.tile.rows or not self._has_enough_panels:
            return False
        is_near = self.rows * self._lines * each <= self.costs.l2_operand_bytes
        return column == 1 and is_near and row * each % self.costs.l1_way_bytes == 0

    def _in_lines(self, nest: Nest, low: SSAValue, high: SSAValue) -> Lines:
        """A copy of a part of the rows of the left factor, at a distance that is no power of two."""
        kernel, left, (first, _) = nest.kernel, self.factors.left, self.ends
        assert self.rows is not None
        apart = self._lines + self.costs.line_bytes // element_bytes(self.factors.element)
        copy = kernel.scratch(MemRefType(self.factors.element, [self.rows * apart]), "left")
        for inside, i in nest.times(self.rows, "i"):
            number = (inside.scalars.of(first) + inside.scalars.of(i)).value
            for deep, k in inside.over((low, high), "k"):
                s = deep.scalars
                place = s.of(i) * apart + (s.of(k) - s.of(low))
                deep.store(left.load(deep, number, k), copy, [place.value])
        return Lines(copy, apart)

    @property
    def _part(self) -> int:
        """Lines of a panel, of parts of about one length: a short last one would store all sums anew."""
        most = super()._part
        if self._depth <= self.costs.max_uncut_depth:
            return most
        return -(-self._depth // -(-self._depth // most))

    @property
    def _overlaps(self) -> bool:
        """Rows that are added to are computed once."""
        return super()._overlaps and not self.goes_on

    def _call(
        self,
        nest: Nest,
        function: CalledFunction,
        words: Sequence[int],
        reads: Sequence[Place],
        writes: Sequence[Place],
        bounds: tuple[SSAValue, SSAValue],
    ) -> None:
        nest.builder.insert(CallFunctionOp(function.name, words, reads, writes, bounds))

    @property
    def _element(self) -> str:
        return DTYPE_NAMES[self.factors.element]

    def _by_rows(self, nest: Nest, low: SSAValue, high: SSAValue) -> None:
        """As many rows at a time as stay in cache, and those that are left over."""
        assert self.rows is not None
        at_once, height, (first, end) = rows_in_l2(self.costs), self.tile.rows, self.ends
        if not self._packs and not self.factors.left.lies_in_lines and self._has_enough_panels:
            at_once = self.costs.l2_operand_bytes // (self._lines * element_bytes(self.factors.element))
        at_once = max(at_once // height, 1) * height
        if self.rows < 2 * at_once:
            self._columns(nest, low, high)
            return
        whole = self.rows // at_once * at_once
        middle = (nest.scalars.of(first) + whole).value
        for inside, ends in nest.blocks((first, middle), at_once, exact=True):
            replace(self, ends=ends, rows=at_once)._columns(inside, low, high)
        if whole < self.rows:
            replace(self, ends=(middle, end), rows=self.rows - whole)._columns(nest, low, high)

    def _packed(self, nest: Nest, low: SSAValue, high: SSAValue) -> Left:
        """A copy of the left factor along a part of the inner dimension."""
        factors, kernel, height = self.factors, nest.kernel, self.tile.rows
        assert self.rows is not None
        whole, rest = divmod(self.rows, height)
        element, each = factors.element, height * self._lines
        count = (whole + 1) * each if self._overlaps else whole * each + rest * self._lines
        copy = kernel.scratch(MemRefType(element, [count]), "left")
        bounds, line = self._range(nest, low, high), _strides(factors.left)[1]
        beside = max(1, self.costs.line_bytes // (height * element_bytes(element)))
        beside = next(n for n in range(beside, 0, -1) if whole % n == 0)
        for row, tile, tiles, rows, several in self._heights(whole, rest):
            side = beside if several else 1
            at = factors.left.at(nest, _plus(nest, self.ends[0], row), low)
            function = RowsFunction(self._element, rows, side)
            words = [tiles // side, line, each]
            self._call(
                nest, function, words, [(factors.left.buffer, at)], [(copy, [kernel.index(tile * each)])], bounds
            )
        return Left(copy, self.ends[0], low, self._lines)

    def _heights(self, whole: int, rest: int) -> list[tuple[int, int, int, int, bool]]:
        """The first row, the number of the first tile, tiles, their rows, and whether they are the whole ones."""
        assert self.rows is not None
        height = self.tile.rows
        found = [(0, 0, whole, height, True)] if whole else []
        if self._overlaps:
            found.append((self.rows - height, whole, 1, height, False))
        elif rest:
            found.append((whole * height, whole, 1, rest, False))
        return found

    def _range(self, nest: Nest, low: SSAValue, high: SSAValue) -> tuple[SSAValue, SSAValue]:
        """As many numbers from 0 on."""
        zero = nest.kernel.index(0)
        return zero, high if constant_index(low) == 0 else (nest.scalars.of(high) - nest.scalars.of(low)).value

    @property
    def _lines_transposed(self) -> int:
        """Lines of a panel at most, of any product."""
        return max(self.costs.max_uncut_depth, self.costs.panel_depth)

    def _copied(self, nest: Nest, panel: Panel) -> Panel:
        """The panel with a copy on the stack."""
        right, kernel, lanes, zero = self.factors.right, nest.kernel, self.tile.lanes, nest.kernel.index(0)
        bounds, element = self._range(nest, panel.low, panel.high), self.factors.element
        source, (line, column) = (right.buffer, right.at(nest, panel.low, panel.column)), _strides(right)
        panel = replace(panel, padded=self._pads(panel))
        if right.lies_in_lines:
            copy = kernel.scratch(MemRefType(element, [self._lines, panel.width(lanes)]), "panel")
            function = (PaddedLinesFunction if panel.padded else LinesFunction)(self._element, panel.columns, lanes)
            self._call(nest, function, [line], [source], [(copy, [zero, zero])], bounds)
            return replace(panel, copy=copy)
        whole, rest = divmod(panel.columns, lanes)
        copy = kernel.scratch(MemRefType(element, [-(-panel.columns // lanes), self._lines * lanes]), "panel")
        between = kernel.scratch(MemRefType(element, [lanes * self._lines_transposed]), "between")
        words = [whole, rest, column, self._lines * lanes, panel.columns]
        writes = [(between, [zero]), (copy, [zero, zero])]
        self._call(
            nest, TransposedFunction(self._element, lanes, self._lines_transposed), words, [source], writes, bounds
        )
        return replace(panel, copy=copy, by_vectors=True)

    def _panel(self, nest: Nest, panel: Panel) -> None:
        """All rows of a panel."""
        assert self.rows is not None
        if self.copies or self._pads(panel):
            panel = self._copied(nest, panel)
        for row, tile, tiles, rows, _ in self._heights(*divmod(self.rows, self.tile.rows)):
            self._tiles(nest, panel, row, tile, tiles, rows)

    def _tiles(self, nest: Nest, panel: Panel, row: int, number: int, tiles: int, rows: int) -> None:
        """So many tiles of so many rows from a row on, which is that of a tile of this number."""
        factors, kernel, lanes = self.factors, nest.kernel, self.tile.lanes
        start = _plus(nest, self.ends[0], row)
        if self.left is not None:
            each = self.tile.rows * self.left.lines
            left, steps = (self.left.copy, [kernel.index(number * each)]), [1, rows, each]
        elif self.lines is not None:
            apart = self.lines.apart
            left, steps = (self.lines.copy, [kernel.index(row * apart)]), [apart, 1, rows * apart]
        else:
            left = factors.left.buffer, factors.left.at(nest, start, panel.low)
            row_apart, column_apart = _strides(factors.left)
            steps = [row_apart, column_apart, rows * row_apart]
        by_columns = steps[0] == 1 and steps[1] != 1
        if panel.copy is None:
            right = factors.right.buffer, factors.right.at(nest, panel.low, panel.column)
            apart = [_strides(factors.right)[0], lanes]
        else:
            right = panel.copy, [kernel.index(0), kernel.index(0)]
            apart = [lanes, self._lines * lanes] if panel.by_vectors else [panel.width(lanes), lanes]
        into = factors.into.buffer, factors.into.at(nest, start, panel.column)
        words, reads = [tiles, *steps, *apart, _strides(factors.into)[0]], [left, right]
        fetches = self.fetches and tiles > 1
        words += [_strides(factors.right)[0], -(-self._lines // tiles) if fetches else 0]
        behind = self._behind(nest, panel) if fetches else (panel.low, panel.column)
        reads.append((factors.right.buffer, factors.right.at(nest, *behind)))
        kind = PaddedTileFunction if panel.padded else TileFunction
        function = kind(self._element, rows, panel.columns, lanes, by_columns, self._chains(panel))
        self._call(nest, function, words, reads, [(into)], self._terms(nest, panel))

    def _behind(self, nest: Nest, panel: Panel) -> tuple[SSAValue, SSAValue]:
        """The first line and column of the next panel, which is one of the next part behind the last column."""
        s, end = nest.scalars, self.factors.right.columns
        low, column = s.of(panel.low), s.of(panel.column) + panel.columns
        if not self.is_cut:
            return panel.low, s.minimum(column, end - 1).value
        following = s.minimum(low + self._lines, self._depth - self._lines)
        here = column < end
        return s.select(here, low, following).value, s.select(here, column, s.of(self.first_column)).value

    def _terms(self, nest: Nest, panel: Panel) -> tuple[SSAValue, SSAValue]:
        """The range of terms, which begins at 0 where what was there before does not count."""
        if not self.goes_on:
            return self._range(nest, panel.low, panel.high)
        if self.begins:
            return panel.low, panel.high
        return _plus(nest, panel.low, 1), _plus(nest, panel.high, 1)


def _plus(nest: Nest, index: SSAValue, count: int) -> SSAValue:
    """An index and a number."""
    if not count:
        return index
    known = constant_index(index)
    return nest.kernel.index(known + count) if known is not None else (nest.scalars.of(index) + count).value
