"""Factorisations and solves of many small matrices: an iteration handles a block of them side by side.

In the scratch of a block the same element of all its matrices is one vector, whose places are called lanes. Arithmetic
and pivots are those of solve.py, lane by lane; of rows that are interchanged, each lane takes its own by comparison."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isqrt

from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute

from xdsl_rlx.dialects.lir.scalar_builder import INDEX
from xdsl_rlx.lowering.buffers import Argument
from xdsl_rlx.lowering.kernel_dsl import Array, Iteration, Number, cast, clamp, fma, lanes, rolled, scratch
from xdsl_rlx.lowering.kernel_dsl.number_order import FloatOrder
from xdsl_rlx.lowering.kernels.work import Work
from xdsl_rlx.lowering.tile_blocks.side_by_side import MERGED

FEWEST, MOST = 3, 16
"""Rows from which on, and up to which, matrices are handled side by side: LLVM does so by itself for fewer."""

MANY = 8
"""Matrices from which on that pays: of f32, it fills half of a block."""


def fits(batch: int, n: int, columns: int = 1) -> bool:
    """Whether matrices are handled side by side; for more right hand sides, there are vectors of columns."""
    return batch >= MANY and FEWEST <= n <= MOST and 1 <= columns <= max(1, n // 2)


def lanes_of(element: Attribute) -> int:
    """Matrices of a block: 64 bytes of each element."""
    return 16 if element == f32 else 8


def chosen_row(pivot: Number, n: int) -> Number:
    """The row to interchange with, counted from 0; whatever the number is, a row of the matrix."""
    return clamp(pivot - 1, 0, n - 1)


def beyond(k: Number, n: int, below: bool) -> range:
    """The indices that are not done with `k` yet: those behind it (`below`: of `L`), or in front of it (of `U`)."""
    return range(k + 1, n) if below else range(k)


def factorise(work: Work, cost: int, operand: Argument, writes: Sequence[Argument]) -> None:
    """An iteration factorises a block of matrices, each of so many scalar operations."""
    (batch, n), element = writes[1].shape, operand.buffer.element
    order, size = FloatOrder.of(element), lanes_of(element)

    @work.over(-(-batch // size), size * cost, [operand], writes)
    def factorise_block(it: Iteration, operand: Array, packed: Array, pivots: Array) -> None:
        block, between = scratch(n * n * size, element), scratch(n * n * size, element)
        chosen, largest = scratch((n, size), order.bits), scratch(size, order.bits)
        quotients, found, old = scratch((n, size), element), scratch(size, element), scratch(size, element)
        a, matrix = _Vectors(block, n, size), _Numbers(it.index, size, batch)
        _bring(operand, a, between, matrix)
        for k in range(n):
            step = _Step(k, order, a, chosen, largest, quotients, found, old)
            step.choose()
            step.divide()
            for j in range(k):
                step.interchange(j, lambda i, lane, x: x)
            for j in range(k + 1, n):
                step.interchange(j, step.less)
        for lane in range(size):
            row = matrix[lane]
            for k in rolled(range(n)):
                pivots[row, k] = chosen[k, lane] + 1
        _take(a, packed, between, matrix)


def solve(work: Work, cost: int, reads: Sequence[Argument], result: Argument, forwards: bool) -> None:
    """An iteration solves with a block of matrices; see `lu_solve_nest` for the two directions."""
    (batch, n), element = reads[1].shape, result.buffer.element
    columns, size = result.shape[1] // n, lanes_of(element)

    @work.over(-(-batch // size), size * cost, reads, [result])
    def solve_block(it: Iteration, packed: Array, pivots: Array, b: Array, result: Array) -> None:
        block, between = scratch(n * n * size, element), scratch(n * n * size, element)
        sides, known = scratch(n * columns * size, element), scratch(size, element)
        a, x, matrix = _Vectors(block, n, size), _Vectors(sides, columns, size), _Numbers(it.index, size, batch)
        _bring(packed, a, between, matrix)
        _bring(b, x, between, matrix)
        if forwards:
            _interchange_rows(x, pivots, matrix, backwards=False)
        for below in (True, False) if forwards else (False, True):
            _solve_triangle(a, x, known, below, forwards, divides=not below)
        if not forwards:
            _interchange_rows(x, pivots, matrix, backwards=True)
        _take(x, result, between, matrix)


def solve_triangle(
    work: Work, cost: int, reads: Sequence[Argument], result: Argument, forwards: bool, below: bool, divides: bool
) -> None:
    """An iteration solves with one triangle of each of a block of matrices; see `triangular_solve_nest`."""
    (batch, elements), element = reads[0].shape, result.buffer.element
    n = isqrt(elements)
    columns, size = result.shape[1] // n, lanes_of(element)

    @work.over(-(-batch // size), size * cost, reads, [result])
    def solve_block(it: Iteration, matrices: Array, b: Array, result: Array) -> None:
        block, between = scratch(n * n * size, element), scratch(n * n * size, element)
        sides, known = scratch(n * columns * size, element), scratch(size, element)
        a, x, matrix = _Vectors(block, n, size), _Vectors(sides, columns, size), _Numbers(it.index, size, batch)
        _bring(matrices, a, between, matrix)
        _bring(b, x, between, matrix)
        _solve_triangle(a, x, known, below, forwards, divides)
        _take(x, result, between, matrix)


@dataclass(frozen=True)
class _Numbers:
    """Which matrix a lane is: the last one for lanes behind the end of the batch."""

    block: Number
    size: int
    batch: int

    def __getitem__(self, lane: Number) -> Number:
        number = self.block * self.size + lane
        return number if self.batch % self.size == 0 else min(number, self.batch - 1)

    def group(self, first: Number) -> list[Number]:
        """Every fourth or second one, from that of lane `first` on: `MERGED` in all."""
        return [self[first + number * (self.size // MERGED)] for number in range(MERGED)]


@dataclass(frozen=True)
class _Vectors:
    """Matrices of so many columns side by side: of each element, the lanes lie next to each other."""

    room: Array
    columns: int
    size: int

    def __getitem__(self, at: tuple[Number, Number, Number]) -> Number:
        return self.room[self._place(*at)]

    def __setitem__(self, at: tuple[Number, Number, Number], value: Number) -> None:
        self.room[self._place(*at)] = value

    def _place(self, i: Number, j: Number, lane: Number) -> Number:
        return (i * self.columns + j) * self.size + lane


def _bring(source: Array, target: _Vectors, between: Array, matrix: _Numbers) -> None:
    """
    Lay the elements of all matrices side by side: element `e` of lane `i` at `e * size + i`.

    Two loops do it, of which each merges a few lines into one: first every fourth or second one, then these groups.
    Both are over neighbours in memory and carry nothing: vectors are made of them before they are written out.
    """
    elements, groups = source.shape[-1], target.size // MERGED
    for group in range(groups):
        rows = matrix.group(group)
        for e in rolled(range(elements)):
            for number, row in enumerate(rows):
                between[(group * elements + e) * MERGED + number] = source[row, e]
    for e in rolled(range(elements * MERGED)):
        for group in tuple(range(groups)):
            target.room[e * groups + group] = between[group * elements * MERGED + e]


def _take(source: _Vectors, target: Array, between: Array, matrix: _Numbers) -> None:
    """What `_bring` does, backwards."""
    elements, groups = target.shape[-1], source.size // MERGED
    for e in rolled(range(elements * MERGED)):
        for group in tuple(range(groups)):
            between[group * elements * MERGED + e] = source.room[e * groups + group]
    for group in range(groups):
        rows = matrix.group(group)
        for e in rolled(range(elements)):
            for number, row in enumerate(rows):
                target[row, e] = between[(group * elements + e) * MERGED + number]


@dataclass(frozen=True)
class _Step:
    """
    Step `k` of `P a^T = L U` for a block, in place.

    `chosen[k]` has the rows that the lanes interchange with row `k`, `quotients` the new column of `L`. Of a line,
    `old` is what was its element `k`, and `found` what becomes it. What a loop reads and writes at once are different
    buffers or the same element: LLVM would compare addresses for every vector otherwise.
    """

    k: Number
    order: FloatOrder
    block: _Vectors
    chosen: Array
    largest: Array
    quotients: Array
    found: Array
    old: Array

    def choose(self) -> None:
        """The first of the largest magnitudes of line `k`, compared as integers, which orders NaN above all."""
        k, chosen, largest = self.k, self.chosen, self.largest
        for lane in lanes(range(self.block.size)):
            largest[lane] = self.order.magnitude(self.block[k, k, lane])
            chosen[k, lane] = k
        for i in range(k + 1, self.block.columns):
            for lane in lanes(range(self.block.size)):
                here, before = self.order.magnitude(self.block[k, i, lane]), largest[lane]
                number, best = cast(i, self.order.bits), chosen[k, lane]
                largest[lane] = max(here, before)
                chosen[k, lane] = number if here > before else best

    def divide(self) -> None:
        """Line `k`, behind the pivot divided by it, or by 1 where it is 0."""

        def quotient(i: Number, lane: Number, x: Number) -> Number:
            pivot = self.found[lane]
            divisor = 1.0 if pivot == 0.0 else pivot
            self.quotients[i, lane] = x / divisor
            return x / divisor

        self.interchange(self.k, quotient)

    def less(self, i: Number, lane: Number, x: Number) -> Number:
        """An element of a later line, interchanged, less its element `k` times the column of `L`."""
        factor = -self.found[lane]
        return fma(factor, self.quotients[i, lane], x)

    def interchange(self, j: Number, finished: Callable[[Number, Number, Number], Number]) -> None:
        """Put what is chosen of a line in the place of its element `k`; what is behind is `finished` then."""
        k, found = self.k, self.found
        for lane in lanes(range(self.block.size)):
            x = self.block[j, k, lane]
            self.old[lane], found[lane] = x, x
        for i in range(k + 1, self.block.columns):
            for lane in lanes(range(self.block.size)):
                x, before = self.block[j, i, lane], found[lane]
                found[lane] = x if self.chosen[k, lane] == cast(i, self.order.bits) else before
        for lane in lanes(range(self.block.size)):
            self.block[j, k, lane] = found[lane]
        for i in range(k + 1, self.block.columns):
            for lane in lanes(range(self.block.size)):
                old, x = self.old[lane], self.block[j, i, lane]
                interchanged = old if self.chosen[k, lane] == cast(i, self.order.bits) else x
                self.block[j, i, lane] = finished(i, lane, interchanged)


def _interchange_rows(x: _Vectors, pivots: Array, matrix: _Numbers, backwards: bool) -> None:
    """The interchanges of the factorisation, applied to the rows of `x`, or undone: lane by lane."""
    _, n = pivots.shape
    for lane in range(x.size):
        row = matrix[lane]
        for k in rolled(reversed(range(n)) if backwards else range(n)):
            other = cast(chosen_row(pivots[row, k], n), INDEX)
            for r in range(x.columns):
                x[k, r, lane], x[other, r, lane] = x[other, r, lane], x[k, r, lane]


def _solve_triangle(a: _Vectors, x: _Vectors, known: Array, below: bool, forwards: bool, divides: bool) -> None:
    """
    `x := L^-1 x` (`below`) or `U^-1 x`: what is known of a row is taken out of the rows that wait for it.

    Or (not `forwards`) `L^-T x`, `U^-T x`: a row is what is left when all that it waits for is taken out of it. Without
    `divides`, the diagonal counts as ones.
    """
    n, size = a.columns, x.size
    for k in range(n) if below == forwards else reversed(range(n)):
        for r in range(x.columns):
            for lane in lanes(range(size)):
                now = x[k, r, lane] / a[k, k, lane] if forwards and divides else x[k, r, lane]
                if forwards:
                    x[k, r, lane] = now
                known[lane] = now
            for i in beyond(k, n, below):
                for lane in lanes(range(size)):
                    if forwards:
                        factor = -known[lane]
                        x[i, r, lane] = fma(factor, a[k, i, lane], x[i, r, lane])
                    else:
                        factor = -a[k, i, lane]
                        known[lane] = fma(factor, x[i, r, lane], known[lane])
            if not forwards:
                for lane in lanes(range(size)):
                    x[k, r, lane] = known[lane] / a[k, k, lane] if divides else known[lane]
