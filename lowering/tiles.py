"""A matrix product as loops over tiles whose sums stay in registers, and how large these are.
Which products become loops is decided in `lir_tile_products.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product
from typing import TypeAlias

from xdsl.dialects.builtin import AnyFloat, MemRefType, f64
from xdsl.ir import SSAValue

from xdsl_rlx.dialects.lir import GemmOp
from xdsl_rlx.dialects.lir.bounds import constant_index
from xdsl_rlx.dialects.lir.memory import element_bytes, strides_of
from xdsl_rlx.dialects.lir.program import memref_of
from xdsl_rlx.lowering.nest import Nest
from xdsl_rlx.lowering.side_by_side import MERGED, SideBySide
from xdsl_rlx.transforms.scalar import Scalar

Lane: TypeAlias = Callable[[Nest, SSAValue, int], None]
"""What is done with one sum of a line: it gets the lane, and the vector that this is in."""

MOST_ROWS = 14
"""Rows of a tile at most: with two vectors in each, their sums and what they are of fill 32 registers."""

MOST_VECTORS = 8
"""Vectors in a row of a tile at most."""

DEPTH = 256
"""Lines of a panel of the right factor that stay in a core's own cache."""

ONE_PART = DEPTH + DEPTH // 2
"""Lines up to which a panel is not cut, for the digits' sake by the inner dimension alone."""

FIRST = 1 << 15
"""Bytes of the first level of a core's cache, for which a panel that is copied is made."""

FAR = 5
"""Multiplications in the time that a vector takes from the second level of the cache."""

LATENCY = 8
"""Multiplications that can be under way at once; with fewer sums, processors wait."""

ROWS_AT_ONCE = 512
"""Rows of the left factor that stay in a core's own cache while panel after panel is multiplied by them."""

COPIED_ROWS = 24
"""Rows from which on it pays to copy panels of a right factor that lies in lines: these no longer fall on few places
of the cache, and are read from its first level."""


@dataclass(frozen=True)
class Registers:
    """The vector registers of a processor: `lanes` numbers of 32 bits in each of `count`."""

    lanes: int = 8
    count: int = 16

    def lanes_of(self, element: AnyFloat) -> int:
        """Numbers of a type in one register."""
        return self.lanes // 2 if element == f64 else self.lanes


COMMON = Registers()
"""Those of AVX2, which most processors have at least."""


@dataclass(frozen=True)
class Tile:
    """Sums that are computed side by side."""

    rows: int
    columns: int
    lanes: int


def best_tile(rows: int, columns: int, lanes: int, registers: int, vectors: int = MOST_VECTORS) -> Tile:
    """
    The tile that a product of so many rows and columns takes the least time with, of at most so many vectors a row.

    One step along the inner dimension takes as long as its multiplications, as its lines of the right factor take to
    come from the second level of the cache, or until the sums of the last step are there. Among equals it is a tile
    without others at the edges, and of those the one that loads least. Its sums are in registers, and so are a number
    of the left factor and, if several rows share it, a line of the right one.
    """

    def step(r: int, w: int) -> int:
        return max(r * w, FAR * w, LATENCY) if r and w else 0

    def cost(shape: tuple[int, int]) -> tuple[int, int, float]:
        r, w = shape
        whole, rest = divmod(columns, w * lanes)
        widths = [(whole, w), (1, -(-rest // lanes))]
        heights = [(rows // r, r), (1, rows % r)]
        total = sum(n * m * step(height, width) for n, height in heights for m, width in widths)
        return total, (rest > 0 and whole > 0) + (rows % r > 0), 1 / r + 1 / w

    shapes = product(
        range(1, max(1, min(rows, MOST_ROWS)) + 1), range(1, max(1, min(-(-columns // lanes), vectors)) + 1)
    )
    r, w = min((x for x in shapes if x[0] * x[1] + (x[1] if x[0] > 1 else 0) < registers), key=cost)
    return Tile(r, w * lanes, lanes)


def lies_in_lines(op: GemmOp) -> bool:
    """Whether the columns of the right factor lie side by side."""
    return strides_of(memref_of(op.b))[-1] == 1


def vectors_of_panel(depth: int, lanes: int, element: AnyFloat) -> int:
    """Vectors in a line of a panel, so that it is in the first level of the cache."""
    return max(1, min(MOST_VECTORS, FIRST // (max(1, min(depth, DEPTH)) * lanes * element_bytes(element))))


@dataclass(frozen=True)
class _Panel:
    """
    Lines `low` to `high` of some columns of the right factor, and a copy of them if there is one.

    The copy has the first vector of all lines, then the second one.
    """

    low: SSAValue
    high: SSAValue
    column: SSAValue
    columns: int
    copy: SSAValue | None = None

    def length(self, nest: Nest) -> SSAValue:
        """How many lines."""
        low, high = constant_index(self.low), constant_index(self.high)
        if low == 0 and high is not None:
            return self.high
        return (nest.scalars.of(self.high) - nest.scalars.of(self.low)).value

    def place(self, nest: Nest, k: SSAValue, j: SSAValue, vector: int, lanes: int) -> list[SSAValue]:
        """Where the copy has column `j`, one of this vector, of line `k`."""
        s = nest.scalars
        line = s.of(k) if constant_index(self.low) == 0 else s.of(k) - s.of(self.low)
        lane = s.of(j) - vector * lanes if vector else s.of(j)
        return [nest.kernel.index(vector), (line * lanes + lane).value]


@dataclass(frozen=True)
class TiledProduct:
    """
    A product of so many columns from `op.col_lo` on and the rows between `ends`, of which the number may be known.

    `copies`: the right factor is copied panel by panel, which it has to be if its columns do not lie side by side.
    `goes_on`: sums are added to what there is.
    """

    op: GemmOp
    nest: Nest
    tile: Tile
    ends: tuple[SSAValue, SSAValue]
    rows: int | None
    columns: int
    copies: bool
    goes_on: bool

    def emit(self) -> None:
        """
        The loops over tiles, columns outermost: all rows read a panel of the right factor one after the other.

        Many rows are cut, so that they stay in cache. So is a long inner dimension: the panel stays in cache, and the
        digits of a sum of sums are more than those of one long sum.
        """
        kernel, depth = self.nest.kernel, self._depth
        if depth <= ONE_PART:
            self._by_rows(self.nest, kernel.index(0), kernel.index(depth))
            return
        if not self.goes_on:
            self._clear()
        further = replace(self, goes_on=True)

        def part(inside: Nest, ends: tuple[SSAValue, SSAValue], _: tuple[SSAValue, ...]) -> tuple[()]:
            further._by_rows(inside, *ends)
            return ()

        self.nest.blocks((kernel.index(0), kernel.index(depth)), DEPTH, (), part)

    @property
    def _depth(self) -> int:
        return memref_of(self.op.a).get_shape()[-1]

    @property
    def _lines(self) -> int:
        """How many lines of a panel are taken at a time at most."""
        return self._depth if self._depth <= ONE_PART else DEPTH

    def _clear(self) -> None:
        """Zeros to add to."""
        op = self.op

        def one(inside: Nest, i: SSAValue, j: SSAValue) -> None:
            inside.store(inside.scalars.const(0.0, memref_of(op.c).element_type), op.c, [*op.c_indices, i, j])

        bounds = op.col_lo, op.col_hi
        self.nest.each(self.ends, "i", lambda row, i: row.each(bounds, "j", lambda inside, j: one(inside, i, j)))

    def _by_rows(self, nest: Nest, low: SSAValue, high: SSAValue) -> None:
        """All columns, of some rows at a time, along a part of the inner dimension."""
        if self.rows is not None and self.rows < 2 * ROWS_AT_ONCE:
            self._columns(nest, low, high)
            return
        even = self.rows is not None and self.rows % ROWS_AT_ONCE == 0

        def part(inside: Nest, ends: tuple[SSAValue, SSAValue], _: tuple[SSAValue, ...]) -> tuple[()]:
            replace(self, ends=ends, rows=ROWS_AT_ONCE if even else None)._columns(inside, low, high)
            return ()

        nest.blocks(self.ends, ROWS_AT_ONCE, (), part, exact=even)

    def _columns(self, nest: Nest, low: SSAValue, high: SSAValue) -> None:
        """All columns, along a part of the inner dimension."""
        first, wide = self.op.col_lo, self.tile.columns
        whole, rest = divmod(self.columns, wide)
        if whole:
            self._repeat(nest, whole, first, wide, lambda at, j: self._panel(at, _Panel(low, high, j, wide)), "j")
        if rest:
            if not self.goes_on and self.columns >= (lanes := -(-rest // self.tile.lanes) * self.tile.lanes):
                # some columns twice, with the same result, rather than parts of vectors
                rest = lanes
            s = nest.scalars
            last = (s.of(first) + (self.columns - rest)).value if self.columns > rest else first
            self._panel(nest, _Panel(low, high, last, rest))

    @staticmethod
    def _repeat(
        nest: Nest, count: int, start: SSAValue, step: int, body: Callable[[Nest, SSAValue], None], name: str
    ) -> None:
        """`body` at `start + n step` for each `n < count`."""

        def one(inside: Nest, n: SSAValue) -> None:
            s = inside.scalars
            body(inside, (s.of(start) + s.of(n) * s.of(nest.kernel.index(step))).value)

        if count == 1:
            body(nest, start)
        else:
            nest.each((nest.kernel.index(0), nest.kernel.index(count)), name, one)

    def _panel(self, nest: Nest, panel: _Panel) -> None:
        """All rows of a panel."""
        (first, end), height = self.ends, self.tile.rows
        if self.copies:
            panel = self._copied(nest, panel)
        if self.rows is not None:
            whole, rest = divmod(self.rows, height)
            if whole:
                self._repeat(nest, whole, first, height, lambda at, i: self._block(at, panel, i, height), "i")
            if rest:
                s = nest.scalars
                last = (s.of(first) + whole * height).value if whole else first
                self._block(nest, panel, last, rest)
            return
        s = nest.scalars
        count = s.of(end) - s.of(first)
        whole = s.div(count, height)

        def block(inside: Nest, n: SSAValue) -> None:
            t = inside.scalars
            start = t.of(first) + t.of(n) * t.of(nest.kernel.index(height))
            self._block(inside, panel, start.value, height)

        nest.each((nest.kernel.index(0), whole.value), "i", block)
        if height > 1:
            rest = s.of(first) + whole * s.of(nest.kernel.index(height))
            nest.each((rest.value, end), "i", lambda inside, i: self._block(inside, panel, i, 1))

    def _copied(self, nest: Nest, panel: _Panel) -> _Panel:
        """The panel with a copy on the stack."""
        op, kernel, lanes = self.op, nest.kernel, self.tile.lanes
        element = memref_of(op.b).element_type
        copy = kernel.scratch(MemRefType(element, [-(-panel.columns // lanes), self._lines * lanes]), "panel")
        panel = replace(panel, copy=copy)

        def one(inside: Nest, k: SSAValue, j: SSAValue, vector: int) -> None:
            s = inside.scalars
            number = inside.load(op.b, [*op.b_indices, k, (s.of(panel.column) + s.of(j)).value])
            inside.store(number, copy, panel.place(inside, k, j, vector, lanes))

        if lies_in_lines(op):
            nest.each(
                (panel.low, panel.high),
                "k",
                lambda inside, k: self._lanes(inside, panel, lambda deep, j, vector: one(deep, k, j, vector)),
            )
            return panel
        whole = panel.columns // lanes if lanes % MERGED == 0 else 0
        if whole:
            between = kernel.scratch(MemRefType(element, [lanes * self._lines]), "between")
            merged = SideBySide(lanes, self._lines, between)
            for vector in range(whole):
                self._bring(nest, panel, merged, vector)
        for vector in range(whole, -(-panel.columns // lanes)):
            ends = vector * lanes, min((vector + 1) * lanes, panel.columns)
            nest.each(
                (kernel.index(ends[0]), kernel.index(ends[1])),
                "j",
                lambda inside, j, vector=vector: inside.each(
                    (panel.low, panel.high), "k", lambda deep, k: one(deep, k, j, vector)
                ),
            )
        return panel

    def _lanes(self, nest: Nest, panel: _Panel, body: Lane) -> None:
        """`body` for each column of a panel, as vectors: of a copy, one by one."""
        kernel, lanes = nest.kernel, self.tile.lanes
        for low, high in pairwise(_cuts(panel.columns, lanes)):
            step = lanes if panel.copy is not None else high - low
            for first in range(low, high, step):
                vector = first // lanes
                nest.lanes(
                    (kernel.index(first), kernel.index(min(first + step, high))),
                    "j",
                    lambda inside, j, vector=vector: body(inside, j, vector),
                )

    def _bring(self, nest: Nest, panel: _Panel, merged: SideBySide, vector: int) -> None:
        """Copy the columns of a vector, which are lines in memory."""
        op, copy = self.op, panel.copy
        assert copy is not None

        def column(inside: Nest, number: Scalar) -> SSAValue:
            return (inside.scalars.of(panel.column) + number + vector * self.tile.lanes).value

        def load(inside: Nest, at: SSAValue, k: SSAValue) -> Scalar:
            return inside.load(op.b, [*op.b_indices, (inside.scalars.of(panel.low) + inside.scalars.of(k)).value, at])

        merged.bring(
            nest,
            panel.length(nest),
            column,
            load,
            lambda inside, x, at: inside.store(x, copy, [inside.kernel.index(vector), at]),
        )

    def _block(self, nest: Nest, panel: _Panel, row: SSAValue, rows: int) -> None:
        """One tile: its sums start from zero, and are stored or added at the end."""
        op, kernel = self.op, nest.kernel
        element = memref_of(op.c).element_type
        sums = kernel.scratch(MemRefType(element, [rows, panel.columns]), "sums")

        def lines(at: Nest, line: Callable[[Nest, SSAValue, SSAValue], Lane]) -> None:
            def one(inside: Nest, r: SSAValue) -> None:
                i = row if rows == 1 else (inside.scalars.of(row) + inside.scalars.of(r)).value
                lane = line(inside, r, i)

                self._lanes(inside, panel, lane)

            if rows == 1:
                one(at, kernel.index(0))
            else:
                at.each((kernel.index(0), kernel.index(rows)), "r", one)

        def begin(_: Nest, r: SSAValue, i: SSAValue) -> Lane:
            return lambda deep, j, _: deep.store(deep.scalars.const(0.0, element), sums, [r, j])

        def place(deep: Nest, j: SSAValue) -> SSAValue:
            return (deep.scalars.of(panel.column) + deep.scalars.of(j)).value

        def add(at: Nest, k: SSAValue, r: SSAValue, i: SSAValue) -> Lane:
            factor = at.load(op.a, [*op.a_indices, i, k]).value

            def lane(deep: Nest, j: SSAValue, vector: int) -> None:
                s = deep.scalars
                if panel.copy is None:
                    term = deep.load(op.b, [*op.b_indices, k, place(deep, j)])
                else:
                    term = deep.load(panel.copy, panel.place(deep, k, j, vector, self.tile.lanes))
                deep.store(s.multiply_add(s.of(factor), term, deep.load(sums, [r, j])), sums, [r, j])

            return lane

        def end(_: Nest, r: SSAValue, i: SSAValue) -> Lane:
            def lane(deep: Nest, j: SSAValue, _: int) -> None:
                at, total = [*op.c_indices, i, place(deep, j)], deep.load(sums, [r, j])
                deep.store(deep.load(op.c, at) + total if self.goes_on else total, op.c, at)

            return lane

        def step(inside: Nest, k: SSAValue) -> None:
            lines(inside, lambda at, r, i: add(at, k, r, i))

        lines(nest, begin)
        nest.each((panel.low, panel.high), "k", step)
        lines(nest, end)


def _cuts(columns: int, lanes: int) -> list[int]:
    """Where a line of a tile is cut into whole vectors and into powers of two, which are vectors too."""
    cuts = [0]
    if columns >= lanes:
        cuts.append(columns // lanes * lanes)
    while (rest := columns - cuts[-1]) > 0:
        cuts.append(cuts[-1] + (1 << rest.bit_length() - 1))
    return cuts


def emit_sums(op: GemmOp, nest: Nest) -> None:
    """Each element by itself, as a sum along the inner dimension: for a right factor that lies along it."""
    kernel = nest.kernel
    depth = memref_of(op.a).get_shape()[-1]

    def element(inside: Nest, i: SSAValue, j: SSAValue) -> None:
        def add(deep: Nest, k: SSAValue, carried: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            term = deep.load(op.a, [*op.a_indices, i, k]) * deep.load(op.b, [*op.b_indices, k, j])
            return (deep.scalars.accumulate_add(deep.scalars.of(carried[0]), term).value,)

        at = [*op.c_indices, i, j]
        start: Scalar = (
            inside.load(op.c, at)
            if op.accumulate is not None
            else inside.scalars.const(0.0, memref_of(op.c).element_type)
        )
        (total,) = inside.loop((kernel.index(0), kernel.index(depth)), (start.value,), add, "k")
        inside.store(inside.scalars.of(total), op.c, at)

    nest.each(
        (op.row_lo, op.row_hi),
        "i",
        lambda row, i: row.each((op.col_lo, op.col_hi), "j", lambda inside, j: element(inside, i, j)),
    )
