"""A matrix product as loops over tiles (`tile_block.py`), and what is copied so that these find it near by.
Which products become loops is decided in `lir_tile_matmuls.py`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import SSAValue

from xdsl_rlx.dialects.lir import PrefetchOp
from xdsl_rlx.dialects.lir.bounds import constant_index
from xdsl_rlx.dialects.lir.memory import element_bytes, memref_of
from xdsl_rlx.dialects.lir.scalar_builder import Scalar
from xdsl_rlx.lowering.kernel_dsl.kernel_builder import Nest
from xdsl_rlx.lowering.target import TileCosts
from xdsl_rlx.lowering.tile_blocks.factors import Factors
from xdsl_rlx.lowering.tile_blocks.side_by_side import MERGED, SideBySide
from xdsl_rlx.lowering.tile_blocks.tile_block import Left, Panel, TileBlock, TileRows
from xdsl_rlx.lowering.tile_blocks.tile_sizes import TileSize, depth_of_panel, rows_in_l2


@dataclass(frozen=True)
class TiledProduct:
    """
    A product of so many columns from `first_column` on and the rows between `ends`, of which the number may be known.

    `few`: they are no more than are done at a time. `width` says how many columns there are where that is not known,
    of a product that does not go on: at most `columns`, which are then whole panels.

    `copies`: the right factor is copied panel by panel, which it has to be if its columns do not lie side by side.
    `goes_on`: sums are added to what there is, from the second part on if the product `begins` here. `fetches`: the
    right factor is far, and the panel that is copied next is brought nearer. `left` is a copy of the left one, which is
    made where this does not lie in lines.
    """

    factors: Factors
    nest: Nest
    tile: TileSize
    costs: TileCosts
    ends: tuple[SSAValue, SSAValue]
    rows: int | None
    first_column: SSAValue
    columns: int
    copies: bool
    goes_on: bool
    fetches: bool
    left: Left | None = None
    begins: bool = False
    few: bool = False
    width: SSAValue | None = None

    def emit(self) -> None:
        """
        The loops over tiles, columns outermost: all rows read a panel of the right factor one after the other.

        Many rows are cut, so that they stay in cache. So is a long inner dimension: the panel stays in cache, and the
        digits of a sum of sums are more than those of one long sum.
        """
        kernel, depth = self.nest.kernel, self._depth
        if not self.is_cut:
            self._by_rows(self.nest, *self.factors.ends(kernel))
            return
        further = replace(self, goes_on=True, begins=not self.goes_on)

        for inside, ends in self.nest.blocks((kernel.index(0), kernel.index(depth)), self._part):
            further._by_rows(inside, *ends)

    @property
    def is_cut(self) -> bool:
        """Whether the inner dimension is taken in parts."""
        packed = self.costs.packed_panel_depth // self.costs.panel_depth if self.factors.packed else 1
        return self._depth > packed * self.costs.max_uncut_depth

    @property
    def _depth(self) -> int:
        return self.factors.depth

    @property
    def _part(self) -> int:
        """Lines of a panel that are taken at a time if not all are."""
        costs, right = self.costs, self.factors.right
        if self.factors.packed:
            return costs.packed_panel_depth
        size = self._depth * right.columns * element_bytes(self.factors.element)
        return depth_of_panel(costs, not right.lies_in_lines and size > costs.l2_bytes)

    @property
    def _lines(self) -> int:
        """How many lines of a panel are taken at a time at most."""
        return self._part if self.is_cut else self._depth

    @property
    def _packs(self) -> bool:
        """Whether the left factor is copied, so that what a tile reads of it lies side by side."""
        if self.rows is None or self.rows < self.costs.min_packed_lhs_rows or self.factors.left.lies_in_lines:
            return False
        size = self.rows * self._lines * element_bytes(self.factors.element)
        return size <= self.costs.l2_operand_bytes and self._has_enough_panels

    @property
    def _rows_packed(self) -> int | None:
        """Of more rows than are copied of a left factor, how many are at a time; None if all or none are."""
        if self.rows is None or self._packs or self.factors.left.lies_in_lines or not self._depth:
            return None
        most = self.costs.l2_operand_bytes // (self._lines * element_bytes(self.factors.element))
        least = self.costs.min_packed_lhs_rows
        found = (n for n in range(min(most, self.rows // 2), least - 1, -1) if self.rows % n == 0)
        return next(found, None) if self._has_enough_panels else None

    @property
    def _has_enough_panels(self) -> bool:
        """Whether a copy of rows of the left factor is read often enough."""
        return self.columns >= self.costs.min_packed_lhs_panels * self.tile.columns

    @property
    def _overlaps(self) -> bool:
        """Whether the last tile of known rows is as high as the others, and begins in the one before it."""
        rows, height = self.rows or 0, self.tile.rows
        rest = rows % height
        return rest > 0 and rows > height and height - rest <= rows * self.costs.max_overlap

    def _packed(self, nest: Nest, low: SSAValue, high: SSAValue) -> Left:
        """A copy of the left factor along a part of the inner dimension."""
        factors, kernel, height = self.factors, nest.kernel, self.tile.rows
        assert self.rows is not None
        whole, rest = divmod(self.rows, height)
        beside = max(1, self.costs.line_bytes // (height * element_bytes(factors.element)))
        if self._overlaps:
            whole, rest = -(-self.rows // height // beside) * beside, 0
        beside = next(n for n in range(beside, 0, -1) if whole % n == 0)
        copy = kernel.scratch(MemRefType(factors.copied, [(whole * height + rest) * self._lines]), "left")
        left = Left(copy, self.ends[0], low, self._lines)

        def bring(at: Nest, tile: Callable[[Nest, SSAValue], TileRows], count: int) -> None:
            """So many tiles that lie side by side: what they have of a line comes at once."""
            for line, k in at.over((low, high), "k"):
                for inside, n in line.times(count, "n"):
                    rows = tile(inside, n)
                    for deep, r in inside.times(rows.count, "r", lanes=True):
                        deep.store(factors.left.load(deep, rows.at(deep, r), k), copy, left.place(deep, rows, k, r))

        if whole:
            for at, n in nest.times(whole // beside, "i"):
                first = _nth(at, kernel.index(0), n, beside)
                bring(at, lambda deep, m, first=first: self._tile(deep, _nth(deep, first, m, 1)), beside)
        if rest:
            last = (nest.scalars.of(self.ends[0]) + whole * height).value
            bring(nest, lambda _at, _n: TileRows(last, rest), 1)
        return left

    def _tile(self, nest: Nest, number: SSAValue) -> TileRows:
        """The rows of a whole tile of this number."""
        s, height, first = nest.scalars, self.tile.rows, self.ends[0]
        start = _nth(nest, first, number, height)
        if not self._overlaps:
            return TileRows(start, height)
        assert self.rows is not None
        return TileRows(s.minimum(s.of(start), s.of(first) + (self.rows - height)).value, height, start)

    def _by_rows(self, nest: Nest, low: SSAValue, high: SSAValue) -> None:
        """All columns, of some rows at a time, along a part of the inner dimension."""
        at_once = self._rows_packed
        if at_once is None:
            at_once = rows_in_l2(self.costs)
            if self.few or (self.rows is not None and self.rows < 2 * at_once):
                self._columns(nest, low, high)
                return
        even = self.rows is not None and self.rows % at_once == 0
        for inside, ends in nest.blocks(self.ends, at_once, exact=even):
            replace(self, ends=ends, rows=at_once if even else None)._columns(inside, low, high)

    def _columns(self, nest: Nest, low: SSAValue, high: SSAValue) -> None:
        """All columns, along a part of the inner dimension."""
        if self._packs and self.left is None:
            replace(self, left=self._packed(nest, low, high))._columns(nest, low, high)
            return
        first, wide = self.first_column, self.tile.columns
        if self.width is not None:
            self._as_many_columns_as_there_are(nest, low, high, self.width)
            return
        whole, rest = divmod(self.columns, wide)
        # some columns twice, with the same result, rather than panels of another width or parts of vectors
        twice = whole > 0 and rest > 0 and not self.goes_on and wide - rest <= self.columns * self.costs.max_overlap
        if twice:
            whole, rest = whole + 1, 0
        if whole:
            for inside, n in nest.times(whole, "j"):
                t, column = inside.scalars, _nth(inside, first, n, wide)
                if twice:
                    column = t.minimum(t.of(column), t.of(first) + (self.columns - wide)).value
                self._panel(inside, Panel(low, high, column, wide))
        if rest:
            if not self.goes_on and self.columns >= (lanes := -(-rest // self.tile.lanes) * self.tile.lanes):
                rest = lanes
            s = nest.scalars
            last = (s.of(first) + (self.columns - rest)).value if self.columns > rest else first
            self._panel(nest, Panel(low, high, last, rest))

    def _as_many_columns_as_there_are(self, nest: Nest, low: SSAValue, high: SSAValue, width: SSAValue) -> None:
        """Whole panels, of which the last has some columns that were there before; fewer than a panel one by one."""
        s, wide, first = nest.scalars, self.tile.columns, self.first_column
        whole = s.div(s.of(width), wide)
        suffice = s.minimum(whole, 1)
        panels = s.div(s.of(width) + (wide - 1), wide) * suffice
        for inside, n in nest.over((nest.kernel.index(0), panels.value), "j"):
            t = inside.scalars
            column = t.of(first) + t.minimum(t.of(n) * wide, t.of(width) - wide)
            self._panel(inside, Panel(low, high, column.value, wide))
        few = s.of(width) * (s.of(nest.kernel.index(1)) - suffice)
        emit_sums(self.factors, nest, self.ends, (first, (s.of(first) + few).value), outlined=True)

    def _panel(self, nest: Nest, panel: Panel) -> None:
        """All rows of a panel."""
        (first, end), height = self.ends, self.tile.rows
        if self.copies or self._pads(panel):
            panel = self._copied(nest, panel)
        if self.factors.last is not None:
            panel = replace(panel, last=self._last_lines(nest, panel))
        s = nest.scalars
        if self.rows is not None:
            whole, rest = divmod(self.rows, height)
            if self._overlaps:
                whole, rest = whole + 1, 0
            if whole:
                for at, n in nest.times(whole, "i", outlined=True):
                    self._whole(at, panel, n, -(-self._lines // whole))
            if rest:
                last = (s.of(first) + whole * height).value if whole else first
                self._block(nest, panel, TileRows(last, rest))
            return
        count = s.of(end) - s.of(first)
        whole = s.div(count, height)
        for at, n in nest.over((nest.kernel.index(0), whole.value), "i", outlined=True):
            self._whole(at, panel, n, self.costs.prefetched_lines)
        if height > 1:
            rest = s.of(first) + whole * s.of(nest.kernel.index(height))
            for inside, i in nest.over((rest.value, end), "i", outlined=True):
                self._block(inside, panel, TileRows(i, 1))

    def _whole(self, nest: Nest, panel: Panel, number: SSAValue, fetched: int) -> None:
        """A tile of all its rows; before it so many lines of the next panel are brought nearer."""
        if self.fetches:
            self._fetch(nest, panel, number, fetched)
        self._block(nest, panel, self._tile(nest, number))

    def _fetch(self, nest: Nest, panel: Panel, tile: SSAValue, each: int) -> None:
        """
        Bring the columns behind a panel nearer: as many lines for each tile, which are all of them in the end.

        Asked for at each step of each tile, they would be requests by the side of every few multiplications, nearly all
        of them in vain.
        """
        right, kernel, s = self.factors.right, nest.kernel, nest.scalars
        first = s.of(_nth(nest, panel.low, tile, each))
        ends = first.value, s.minimum(first + each, s.of(panel.high)).value
        last = s.of(kernel.index(right.columns - 1))

        each_bytes = element_bytes(memref_of(right.buffer).element_type)
        for inside, k in nest.over(ends, "k"):
            t = inside.scalars
            for ahead in range(0, panel.columns, self.costs.line_bytes // each_bytes):
                j = t.minimum(t.of(panel.column) + (panel.columns + ahead), last)
                for place in right.places(inside, k, j.value):
                    inside.builder.insert(PrefetchOp(right.buffer, right.at(inside, *place)))

    def _pads(self, panel: Panel) -> bool:
        """
        Whether the copy of a panel is padded: the last vector is several parts of one, each of which takes a register.

        30 columns are 4 vectors of 16, 8, 4 and 2 lanes, with which 14 rows would need 56 registers.
        """
        parts = (panel.columns % self.tile.lanes).bit_count()
        if self.rows is None:
            return parts > 1 and not self.few
        return self.rows * (parts - 1) >= self.costs.min_padded_parts

    def _last_lines(self, nest: Nest, panel: Panel) -> SSAValue:
        """A copy of the lines of the terms that are left over, whose columns are neighbours."""
        kernel, last = nest.kernel, self.factors.last
        assert last is not None
        copy = kernel.scratch(MemRefType(last.element, [last.depth, panel.columns]), "last")
        columns = kernel.index(0), kernel.index(panel.columns)
        for k in map(kernel.index, range(last.depth)):
            for inside, j in nest.over(columns, "j"):
                column = (inside.scalars.of(panel.column) + inside.scalars.of(j)).value
                inside.store(last.right.load(inside, k, column), copy, [k, j])
        return copy

    def _copied(self, nest: Nest, panel: Panel) -> Panel:
        """The panel with a copy on the stack."""
        right, kernel, lanes = self.factors.right, nest.kernel, self.tile.lanes
        element = self.factors.copied
        panel = replace(panel, padded=self._pads(panel))
        shape = [self._lines, panel.width(lanes)]
        if not right.lies_in_lines:
            shape = [-(-panel.columns // lanes), self._lines * lanes]
        copy = kernel.scratch(MemRefType(element, shape), "panel")
        panel = replace(panel, copy=copy, by_vectors=not right.lies_in_lines)

        def one(inside: Nest, k: SSAValue, j: SSAValue, vector: int) -> None:
            s = inside.scalars
            number = right.load(inside, k, (s.of(panel.column) + s.of(j)).value)
            inside.store(number, copy, panel.place(inside, k, j, vector, lanes))

        if right.lies_in_lines:
            for inside, k in nest.over((panel.low, panel.high), "k"):
                for deep, j, vector in panel.lanes(inside, lanes):
                    one(deep, k, j, vector)
                self._pad(inside, panel, k)
            return panel
        whole = panel.columns // lanes if lanes % MERGED == 0 else 0
        if whole:
            between = kernel.scratch(MemRefType(element, [lanes * self._lines]), "between", outlined=True)
            merged = SideBySide(lanes, self._lines, between)
            vectors = kernel.index(0), kernel.index(whole)
            # or LLVM would keep the patterns of its shuffles in registers that the sums need
            for inside, vector in nest.over(vectors, "vector", outlined=True):
                self._bring(inside, panel, merged, vector)
        for vector in range(whole, -(-panel.columns // lanes)):
            first, end = vector * lanes, min((vector + 1) * lanes, panel.columns)
            for inside, j in nest.over((kernel.index(first), kernel.index(end)), "j"):
                for deep, k in inside.over((panel.low, panel.high), "k"):
                    one(deep, k, j, vector)
        if panel.padded:
            for inside, k in nest.over((panel.low, panel.high), "k"):
                self._pad(inside, panel, k)
        return panel

    def _pad(self, nest: Nest, panel: Panel, k: SSAValue) -> None:
        """Zeros behind the columns of a line, if it is padded: numbers that are there could be slow to compute with."""
        lanes, width, kernel = self.tile.lanes, panel.width(self.tile.lanes), nest.kernel
        assert panel.copy is not None
        for j in map(kernel.index, range(panel.columns, width)):
            zero = nest.scalars.const(0, self.factors.copied)
            nest.store(zero, panel.copy, panel.place(nest, k, j, width // lanes - 1, lanes))

    def _bring(self, nest: Nest, panel: Panel, merged: SideBySide, vector: SSAValue) -> None:
        """Copy the columns of a vector, which are lines in memory."""
        right, copy = self.factors.right, panel.copy
        assert copy is not None

        first = (nest.scalars.of(panel.column) + nest.scalars.of(vector) * self.tile.lanes).value

        def column(inside: Nest, number: Scalar) -> SSAValue:
            return (inside.scalars.of(first) + number).value

        def load(inside: Nest, at: SSAValue, k: SSAValue) -> Scalar:
            if constant_index(panel.low) == 0:
                return right.load(inside, k, at)
            return right.load(inside, (inside.scalars.of(panel.low) + inside.scalars.of(k)).value, at)

        merged.bring(
            nest,
            panel.length(nest),
            column,
            load,
            lambda inside, x, at: inside.store(x, copy, [vector, at]),
        )

    def _block(self, nest: Nest, panel: Panel, rows: TileRows) -> None:
        tile, chains = self.tile, self._chains(panel)
        block = TileBlock(
            self.factors,
            panel,
            self.left,
            rows,
            tile.lanes,
            goes_on=self.goes_on,
            begins=panel.low if self.begins else None,
            chains=chains,
        )
        block.emit(nest)

    def _chains(self, panel: Panel) -> int:
        """
        In how many sums each is added up: several where a tile has few, which would have to wait for the last ones.

        As many in all tiles, so that rows and columns do not change their digits with their place.
        """
        length = panel.known_length
        most = self.costs.multiplications_in_flight
        under_way = self.tile.rows * -(-min(self.columns, self.tile.columns) // self.tile.lanes)
        return next((n for n in (4, 2) if length and n * under_way <= most and length % n == 0), 1)


def _nth(nest: Nest, first: SSAValue, number: SSAValue, step: int) -> SSAValue:
    """`first + number step`."""
    if constant_index(number) == 0:
        return first
    s = nest.scalars
    steps = s.of(number) if step == 1 else s.of(number) * s.of(nest.kernel.index(step))
    return (s.of(first) + steps).value


def emit_sums(
    factors: Factors,
    nest: Nest,
    rows: tuple[SSAValue, SSAValue],
    columns: tuple[SSAValue, SSAValue],
    outlined: bool = False,
) -> None:
    """Each element by itself, as a sum along the inner dimension: for a right factor that lies along it."""
    kernel, into = nest.kernel, factors.into

    for row, i in nest.over(rows, "i", outlined=outlined):
        for inside, j in row.over(columns, "j"):
            at, s = into.at(inside, i, j), inside.scalars
            start: Scalar = inside.load(into.buffer, at) if factors.accumulate else s.const(0.0, factors.element)
            total = {"sum": start.value}
            for deep, k in inside.over(factors.ends(kernel), "k", total):
                term = factors.left.load(deep, i, k) * factors.right.load(deep, k, j)
                total["sum"] = deep.scalars.accumulate_add(deep.scalars.of(total["sum"]), term).value
            inside.store(s.of(total["sum"]), into.buffer, at)
