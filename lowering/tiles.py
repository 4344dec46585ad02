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
from xdsl_rlx.dialects.lir.memory import element_bytes, strides_of
from xdsl_rlx.dialects.lir.program import memref_of
from xdsl_rlx.lowering.group import MOST_SCRATCH
from xdsl_rlx.lowering.nest import Nest
from xdsl_rlx.transforms.scalar import Scalar

Lane: TypeAlias = Callable[[Nest, SSAValue, SSAValue], None]
"""What is done with one sum of a line: it gets the lane, and the column that this is."""

MOST_ROWS = 8
"""Rows of a tile at most: more would not use a vector that has been loaded much better."""

MOST_VECTORS = 8
"""Vectors in a row of a tile at most."""

DEPTH = 256
"""Lines of a panel of the right factor that stay in a core's own cache."""

FAR = 2
"""Multiplications in the time that a vector takes from the second level of the cache."""

LATENCY = 4
"""Multiplications that can be under way at once; with fewer sums, processors wait."""


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


def best_tile(rows: int, columns: int, lanes: int, registers: int) -> Tile:
    """
    The tile that a product of so many rows and columns takes the least time with.

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
        range(1, max(1, min(rows, MOST_ROWS)) + 1), range(1, max(1, min(-(-columns // lanes), MOST_VECTORS)) + 1)
    )
    r, w = min((x for x in shapes if x[0] * x[1] + (x[1] if x[0] > 1 else 0) < registers), key=cost)
    return Tile(r, w * lanes, lanes)


def lies_in_lines(op: GemmOp) -> bool:
    """Whether the columns of the right factor lie side by side."""
    return strides_of(memref_of(op.b))[-1] == 1


@dataclass(frozen=True)
class _Panel:
    """Lines `low` to `high` of some columns of the right factor, and a copy of them if there is one."""

    low: SSAValue
    high: SSAValue
    column: SSAValue
    columns: int
    copy: SSAValue | None = None


@dataclass(frozen=True)
class TiledProduct:
    """
    A product of so many columns from `op.col_lo` on, of which the number of rows may be known.

    The right factor is copied panel by panel if its columns do not lie side by side. `goes_on`: sums are added to what
    there is.
    """

    op: GemmOp
    nest: Nest
    tile: Tile
    rows: int | None
    columns: int
    goes_on: bool

    def emit(self) -> None:
        """
        The loops over tiles, columns outermost: all rows read a panel of the right factor one after the other.

        A long inner dimension is cut: the panel stays in cache, and the digits of a sum of sums are more than those of
        one long sum.
        """
        kernel, depth = self.nest.kernel, memref_of(self.op.a).get_shape()[-1]
        if depth <= (self._lines if self._copies else DEPTH + DEPTH // 2):
            self._columns(self.nest, kernel.index(0), kernel.index(depth))
            return
        if not self.goes_on:
            self._clear()
        further = replace(self, goes_on=True)

        def part(inside: Nest, ends: tuple[SSAValue, SSAValue], _: tuple[SSAValue, ...]) -> tuple[()]:
            further._columns(inside, *ends)
            return ()

        self.nest.blocks((kernel.index(0), kernel.index(depth)), self._lines, (), part)

    @property
    def _copies(self) -> bool:
        return not lies_in_lines(self.op)

    @property
    def _lines(self) -> int:
        """How many lines of a panel are taken at a time."""
        size = element_bytes(memref_of(self.op.b).element_type) * self.tile.columns
        return min(DEPTH, MOST_SCRATCH // size) if self._copies else DEPTH

    def _clear(self) -> None:
        """Zeros to add to."""
        op = self.op

        def one(inside: Nest, i: SSAValue, j: SSAValue) -> None:
            inside.store(inside.scalars.const(0.0, memref_of(op.c).element_type), op.c, [*op.c_indices, i, j])

        bounds = op.col_lo, op.col_hi
        self.nest.each(
            (op.row_lo, op.row_hi), "i", lambda row, i: row.each(bounds, "j", lambda inside, j: one(inside, i, j))
        )

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
        first, height = self.op.row_lo, self.tile.rows
        if self._copies:
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
        count = s.of(self.op.row_hi) - s.of(first)
        whole = s.div(count, height)

        def block(inside: Nest, n: SSAValue) -> None:
            t = inside.scalars
            start = t.of(first) + t.of(n) * t.of(nest.kernel.index(height))
            self._block(inside, panel, start.value, height)

        nest.each((nest.kernel.index(0), whole.value), "i", block)
        if height > 1:
            rest = s.of(first) + whole * s.of(nest.kernel.index(height))
            nest.each((rest.value, self.op.row_hi), "i", lambda inside, i: self._block(inside, panel, i, 1))

    def _copied(self, nest: Nest, panel: _Panel) -> _Panel:
        """The panel with a copy on the stack, of which columns lie side by side."""
        op, kernel = self.op, nest.kernel
        lines = min(self._lines, memref_of(op.a).get_shape()[-1])
        copy = kernel.scratch(MemRefType(memref_of(op.b).element_type, [lines, panel.columns]), "panel")

        def column(inside: Nest, j: SSAValue) -> None:
            place = (inside.scalars.of(panel.column) + inside.scalars.of(j)).value

            def one(deep: Nest, k: SSAValue) -> None:
                line = (deep.scalars.of(k) - deep.scalars.of(panel.low)).value
                deep.store(deep.load(op.b, [*op.b_indices, k, place]), copy, [line, j])

            inside.each((panel.low, panel.high), "k", one)

        nest.each((kernel.index(0), kernel.index(panel.columns)), "j", column)
        return replace(panel, copy=copy)

    def _block(self, nest: Nest, panel: _Panel, row: SSAValue, rows: int) -> None:
        """One tile: its sums start from zero, and are stored or added at the end."""
        op, kernel = self.op, nest.kernel
        element = memref_of(op.c).element_type
        sums = kernel.scratch(MemRefType(element, [rows, panel.columns]), "sums")

        def lines(at: Nest, line: Callable[[Nest, SSAValue, SSAValue], Lane]) -> None:
            def one(inside: Nest, r: SSAValue) -> None:
                i = row if rows == 1 else (inside.scalars.of(row) + inside.scalars.of(r)).value
                lane = line(inside, r, i)

                def each(deep: Nest, j: SSAValue) -> None:
                    lane(deep, j, (deep.scalars.of(panel.column) + deep.scalars.of(j)).value)

                for low, high in pairwise(_cuts(panel.columns, self.tile.lanes)):
                    inside.lanes((kernel.index(low), kernel.index(high)), "j", each)

            if rows == 1:
                one(at, kernel.index(0))
            else:
                at.each((kernel.index(0), kernel.index(rows)), "r", one)

        def begin(_: Nest, r: SSAValue, i: SSAValue) -> Lane:
            return lambda deep, j, _: deep.store(deep.scalars.const(0.0, element), sums, [r, j])

        def add(at: Nest, k: SSAValue, r: SSAValue, i: SSAValue) -> Lane:
            factor = at.load(op.a, [*op.a_indices, i, k]).value
            line = (at.scalars.of(k) - at.scalars.of(panel.low)).value if panel.copy is not None else k

            def lane(deep: Nest, j: SSAValue, place: SSAValue) -> None:
                s = deep.scalars
                copy = panel.copy
                term = deep.load(op.b, [*op.b_indices, line, place]) if copy is None else deep.load(copy, [line, j])
                deep.store(s.multiply_add(s.of(factor), term, deep.load(sums, [r, j])), sums, [r, j])

            return lane

        def end(_: Nest, r: SSAValue, i: SSAValue) -> Lane:
            def lane(deep: Nest, j: SSAValue, place: SSAValue) -> None:
                at, total = [*op.c_indices, i, place], deep.load(sums, [r, j])
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
