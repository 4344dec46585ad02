"""One tile of a matrix product: its sums stay in registers along the inner dimension.
Which tiles there are, and what is copied for them, is in `tiled_product.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, TypeAlias

from xdsl.dialects.builtin import MemRefType, bf16
from xdsl.ir import Block, SSAValue

from xdsl_rlx.dialects.lir.bounds import constant_index
from xdsl_rlx.dialects.lir.memory import memref_of
from xdsl_rlx.dialects.lir.scalar_builder import Scalar
from xdsl_rlx.lowering.kernel_dsl.kernel_builder import Nest, end_block
from xdsl_rlx.lowering.tile_blocks.factors import Factors, Strided

Lane: TypeAlias = Callable[[Nest, SSAValue, int], None]
"""What is done with one sum of a line: it gets the lane, and the vector that this is in."""


Part: TypeAlias = Callable[[Nest, SSAValue], None]
"""What is done before a part of the inner dimension, of which there are as many as rows; it gets the number of one."""

GROUP = 4
"""Rows whose elements are loaded by one address and up to three strides."""


def padded_columns(columns: int, lanes: int) -> int:
    """Columns up to a whole vector."""
    return -(-columns // lanes) * lanes


@dataclass(frozen=True)
class Panel:
    """
    Lines `low` to `high` of some columns of the right factor, and a copy of them if there is one.

    The copy has line after line, or `by_vectors` the first vector of all lines, then the second one. If it is `padded`,
    zeros fill the last vector of each line, and tiles compute with whole vectors only. `last` is a copy of the lines of
    the terms that are left over.
    """

    low: SSAValue
    high: SSAValue
    column: SSAValue
    columns: int
    copy: SSAValue | None = None
    by_vectors: bool = False
    last: SSAValue | None = None
    padded: bool = False

    def width(self, lanes: int) -> int:
        """How many columns tiles compute with vectors of so many lanes."""
        return padded_columns(self.columns, lanes) if self.padded else self.columns

    @property
    def known_length(self) -> int | None:
        """How many lines, if that is known."""
        low, high = constant_index(self.low), constant_index(self.high)
        return None if low is None or high is None else high - low

    def length(self, nest: Nest) -> SSAValue:
        """How many lines."""
        if constant_index(self.low) == 0 and constant_index(self.high) is not None:
            return self.high
        return (nest.scalars.of(self.high) - nest.scalars.of(self.low)).value

    def place(self, nest: Nest, k: SSAValue, j: SSAValue, vector: int, lanes: int) -> list[SSAValue]:
        """Where the copy has column `j`, one of this vector, of line `k`."""
        s = nest.scalars
        line = s.of(k) if constant_index(self.low) == 0 else s.of(k) - s.of(self.low)
        if not self.by_vectors:
            return [line.value, j]
        lane = s.of(j) - vector * lanes if vector else s.of(j)
        return [nest.kernel.index(vector), (line * lanes + lane).value]

    def lanes(
        self, nest: Nest, lanes: int, copied: bool = True, whole: bool = False
    ) -> Iterator[tuple[Nest, SSAValue, int]]:
        """
        Loops over the columns, as vectors of so many lanes: those of a copy that has them so one by one.

        The body has a column and the number of its vector. `whole`: those that pad the last vector, too.
        """
        kernel = nest.kernel
        for low, high in pairwise(_cuts(self.width(lanes) if whole else self.columns, lanes)):
            step = lanes if self.by_vectors and copied else high - low
            for first in range(low, high, step):
                bounds = kernel.index(first), kernel.index(min(first + step, high))
                for inside, j in nest.over(bounds, "j", lanes=True):
                    yield inside, j, first // lanes


@dataclass(frozen=True)
class StridedPanel(Panel):
    """A panel in a flat buffer, of which it is known where code runs how far apart its lines and its vectors are."""

    apart: tuple[SSAValue, SSAValue] | None = None

    def place(self, nest: Nest, k: SSAValue, j: SSAValue, vector: int, lanes: int) -> list[SSAValue]:
        """Where column `j`, one of this vector, of line `k` is."""
        assert self.apart is not None
        s, (line, width) = nest.scalars, self.apart
        lane = s.of(j) - vector * lanes if vector else s.of(j)
        start = s.of(k) * s.of(line)
        return [((start + s.of(width) * vector if vector else start) + lane).value]


@dataclass(frozen=True)
class TileRows:
    """Rows of a tile: `count` from `first` on, those below `new` computed by the tile before too."""

    first: SSAValue
    count: int
    new: SSAValue | None = None

    @property
    def start(self) -> SSAValue:
        """Where they would begin if none were computed twice."""
        return self.first if self.new is None else self.new

    def at(self, nest: Nest, r: SSAValue) -> SSAValue:
        """The number of a row in all."""
        return self.first if self.count == 1 else (nest.scalars.of(self.first) + nest.scalars.of(r)).value


@dataclass(frozen=True)
class Left:
    """A copy of rows of the left factor from `first` on: tile by tile, in each line by line, of at most `lines`."""

    copy: SSAValue
    first: SSAValue
    low: SSAValue
    lines: int

    def place(self, nest: Nest, rows: TileRows, k: SSAValue, r: SSAValue) -> list[SSAValue]:
        """Where row `r` of line `k` is, of the tile of these rows."""
        s, kernel = nest.scalars, nest.kernel
        before = (s.of(rows.start) - s.of(self.first)) * s.of(kernel.index(self.lines))
        return [(before + (s.of(k) - s.of(self.low)) * s.of(kernel.index(rows.count)) + s.of(r)).value]


@dataclass(frozen=True)
class TileBlock:
    """
    The tile of some rows, of all columns of a panel; its vectors have `lanes` numbers.

    `goes_on`: sums are added to what there is, where `begins` is 0 to zeros instead.
    `chains`: in how many sums each is added up, a power of two that divides the lines. `before`: what is done before
    each part of the inner dimension.
    """

    factors: Factors
    panel: Panel
    left: Left | None
    rows: TileRows
    lanes: int
    goes_on: bool
    begins: SSAValue | None
    chains: int
    before: Part | None = None

    ROLLED: ClassVar[bool] = False
    """Whether rows stay a loop."""

    def emit(self, nest: Nest) -> None:
        """The sums are added up, and stored or added at the end."""
        kernel, sums = nest.kernel, self._stored(nest, self._add_up(nest))
        if self.begins is None or self.rows.new is not None:
            self._rows(nest, lambda at, r, i: self._end(at, sums, r, i, self.goes_on), copied=False)
            return
        first, later = Block(), Block()
        for block, adds in ((first, False), (later, True)):
            inside = Nest(block, kernel)
            self._rows(inside, lambda at, r, i, adds=adds: self._end(at, sums, r, i, adds), copied=False)
            end_block(block)
        nest.choose((nest.scalars.of(self.begins) < 1).value, first, later)

    def _add_up(self, nest: Nest) -> SSAValue:
        """The buffer of the sums, which start from zero."""
        kernel, panel, chains = nest.kernel, self.panel, self.chains
        element = self.factors.element
        shape = [chains * self.rows.count, panel.width(self.lanes)]
        sums = kernel.scratch(MemRefType(element, shape), "sums", outlined=True)
        self._rows(nest, lambda at, r, i: self._begin(at, sums, r, i), copied=False, whole=True)
        if chains == 1:
            self._along(nest, (panel.low, panel.high), "k", lambda inside, k: self._step(inside, sums, k, 0))
            return sums

        def steps(inside: Nest, n: SSAValue) -> None:
            s = inside.scalars
            first = s.of(panel.low) + s.of(n) * s.of(kernel.index(chains))
            for chain in range(chains):
                self._step(inside, sums, (first + chain).value, chain)

        self._along(nest, (kernel.index(0), nest.quotient(panel.length(nest), chains)), "n", steps)
        return sums

    def _stored(self, nest: Nest, sums: SSAValue) -> SSAValue:
        """Sums in vectors that are padded in memory: a part of a vector that stays in a register costs as a whole."""
        if not self.panel.padded:
            return sums
        type_ = memref_of(sums)
        stored = nest.kernel.scratch(MemRefType(type_.element_type, type_.get_shape()), "stored", outlined=True)

        def copy(at: Nest, line: SSAValue) -> Lane:
            return lambda deep, j, _: deep.store(deep.load(sums, [line, j]), stored, [line, j])

        for chain in range(self.chains):
            self._rows(nest, lambda at, r, i, n=chain: copy(at, self._sums_of(at, r)[n]), copied=False, whole=True)
        return stored

    def _along(
        self, nest: Nest, ends: tuple[SSAValue, SSAValue], name: str, step: Callable[[Nest, SSAValue], None]
    ) -> None:
        """All steps, in parts if something is done before each."""
        before, parts, (low, high) = self.before, self.rows.count, ends
        if before is None:
            for inside, k in nest.over(ends, name):
                step(inside, k)
            return
        s = nest.scalars
        each = s.div(s.of(high) - s.of(low) + (parts - 1), parts)
        for inside, n in nest.times(parts, "part"):
            t = inside.scalars
            before(inside, n)
            first = t.of(low) + t.of(n) * each
            for deep, k in inside.over((first.value, t.minimum(first + each, t.of(high)).value), name):
                step(deep, k)

    def _rows(
        self,
        nest: Nest,
        line: Callable[[Nest, SSAValue, SSAValue], Lane],
        copied: bool = True,
        whole: bool = False,
    ) -> None:
        """What `line` does with each lane, given the row's number in the tile and in all."""
        for inside, r in nest.times(self.rows.count, "r", rolled=self.ROLLED):
            lane = line(inside, r, self.rows.at(inside, r))
            for deep, j, vector in self.panel.lanes(inside, self.lanes, copied, whole):
                lane(deep, j, vector)

    def _sums_of(self, nest: Nest, r: SSAValue) -> list[SSAValue]:
        """The numbers of the lines of sums, one for each chain, of a row of the tile."""
        return [(nest.scalars.of(r) + n * self.rows.count).value if n else r for n in range(self.chains)]

    def _column(self, nest: Nest, j: SSAValue) -> SSAValue:
        return (nest.scalars.of(self.panel.column) + nest.scalars.of(j)).value

    def _begin(self, nest: Nest, sums: SSAValue, r: SSAValue, i: SSAValue) -> Lane:
        first, *others = self._sums_of(nest, r)

        def lane(deep: Nest, j: SSAValue, _: int) -> None:
            zero = deep.scalars.const(0, self.factors.element)
            deep.store(self._start(deep, i, zero), sums, [first, j])
            for line in others:
                deep.store(zero, sums, [line, j])

        return lane

    def _start(self, nest: Nest, i: SSAValue, zero: Scalar) -> Scalar:
        """What the sum of a row starts from, in the first part."""
        offsets, s = self.factors.offsets, nest.scalars
        if offsets is None:
            return zero
        number = nest.load(offsets.buffer, [(s.of(i) - s.of(offsets.first)).value])
        return number if constant_index(self.panel.low) == 0 else s.select(s.of(self.panel.low) < 1, number, zero)

    def _step(self, nest: Nest, sums: SSAValue, k: SSAValue, chain: int) -> None:
        """Add the products with line `k` of the right factor to the sums of a chain."""
        factors, panel = self.factors, self.panel

        def add(at: Nest, r: SSAValue, i: SSAValue) -> Lane:
            if self.left is None:
                return multiplied(at, r, factors.left.load(at, i, k))
            return multiplied(at, r, at.load(self.left.copy, self.left.place(at, self.rows, k, r)))

        def multiplied(at: Nest, r: SSAValue, number: Scalar) -> Lane:
            line, factor = self._sums_of(at, r)[chain], number.value

            def lane(deep: Nest, j: SSAValue, vector: int) -> None:
                s = deep.scalars
                if panel.copy is None:
                    term = factors.right.load(deep, k, self._column(deep, j))
                else:
                    term = deep.load(panel.copy, panel.place(deep, k, j, vector, self.lanes))
                total = factors.multiply_add(deep, s.of(factor), term, deep.load(sums, [line, j]))
                deep.store(total, sums, [line, j])

            return lane

        left = factors.left
        if not isinstance(left, Strided) or left.strides[0] is None:
            self._rows(nest, add, whole=True)
            return
        self._from_row_to_row(nest, left, k, multiplied)

    def _from_row_to_row(
        self, nest: Nest, left: Strided, k: SSAValue, body: Callable[[Nest, SSAValue, Scalar], Lane]
    ) -> None:
        """
        `body` with the numbers of a column of the left factor, in groups of rows.

        Processors add strides to the address of the first row of a group when they load. The address of each row in a
        register would be more registers than there are.
        """
        (stride, _), zero, count = left.strides, nest.kernel.index(0), self.rows.count
        assert stride is not None
        step = nest.scalars.of(stride)

        def group(inside: Nest, first: SSAValue, place: SSAValue, rows: int) -> None:
            for deep, t in inside.over((zero, nest.kernel.index(rows)), "t"):
                s = deep.scalars
                number = deep.load(left.buffer, [place, (s.of(t) * step).value])
                lane = body(deep, (s.of(first) + s.of(t)).value, number)
                for at, j, vector in self.panel.lanes(deep, self.lanes, whole=True):
                    lane(at, j, vector)

        whole = count // GROUP * GROUP
        place = {"first": nest.scalars.freeze(nest.scalars.of(left.at(nest, zero, k)[0])).value}
        if whole:
            for inside, first in nest.over((zero, nest.kernel.index(whole)), "r", place, step=GROUP):
                group(inside, first, place["first"], GROUP)
                place["first"] = (inside.scalars.of(place["first"]) + step * GROUP).value
        if whole < count:
            group(nest, nest.kernel.index(whole), place["first"], count - whole)

    def _end(self, nest: Nest, sums: SSAValue, r: SSAValue, i: SSAValue, adds: bool) -> Lane:
        into, lines = self.factors.into, self._sums_of(nest, r)

        def lane(deep: Nest, j: SSAValue, _: int) -> None:
            at = into.at(deep, i, self._column(deep, j))
            total = self._with_last(deep, i, j, _sum([deep.load(sums, [line, j]) for line in lines]))
            deep.store(self._rounded(deep, self._onto(deep, at, i, total) if adds else total), into.buffer, at)

        return lane

    def _rounded(self, nest: Nest, total: Scalar) -> Scalar:
        """A sum as the result has it: of packed bf16, subnormal numbers are zeros already."""
        rounds = self.factors.packed and memref_of(self.factors.into.buffer).element_type == bf16
        return nest.scalars.round_bf16(total) if rounds else total

    def _with_last(self, nest: Nest, i: SSAValue, j: SSAValue, total: Scalar) -> Scalar:
        """A sum and the terms that are left over."""
        last, copy = self.factors.last, self.panel.last
        if last is None or copy is None:
            return total
        s, low, before = nest.scalars, self.panel.low, total
        for k in map(nest.kernel.index, range(last.depth)):
            total = last.multiply_add(nest, last.left.load(nest, i, k), nest.load(copy, [k, j]), total)
        # of several parts, the first one has them
        return total if constant_index(low) == 0 else s.select(s.of(low) < 1, total, before)

    def _onto(self, nest: Nest, at: list[SSAValue], i: SSAValue, total: Scalar) -> Scalar:
        """A sum and what it is added to, once."""
        s = nest.scalars
        there = nest.load(self.factors.into.buffer, at)
        before = there
        if self.begins is not None and self.rows.new is not None:
            before = s.select(s.of(self.begins) < 1, s.like(0.0, there), there)
        after = before + total
        return after if self.rows.new is None else s.select(s.of(i) < s.of(self.rows.new), there, after)


def _sum(terms: list[Scalar]) -> Scalar:
    """The sum of a power of two of numbers, by pairs."""
    while len(terms) > 1:
        terms = [a + b for a, b in zip(terms[::2], terms[1::2], strict=True)]
    return terms[0]


def _cuts(columns: int, lanes: int) -> list[int]:
    """Where a line of a tile is cut into whole vectors and into powers of two, which are vectors too."""
    cuts = [0]
    if columns >= lanes:
        cuts.append(columns // lanes * lanes)
    while (rest := columns - cuts[-1]) > 0:
        cuts.append(cuts[-1] + (1 << rest.bit_length() - 1))
    return cuts
