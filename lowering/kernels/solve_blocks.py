"""Triangular solves of many rows and several right-hand sides, block by block: most of the work is that of matmuls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Attribute

from xdsl_rlx.dialects.lir.scalar_builder import INDEX
from xdsl_rlx.lowering.buffers import Argument
from xdsl_rlx.lowering.kernel_dsl import Array, Iteration, Number, cast, rolled
from xdsl_rlx.lowering.kernels.solve_lanes import chosen_row
from xdsl_rlx.lowering.kernels.substitution import ROWS as TILE_ROWS
from xdsl_rlx.lowering.kernels.substitution import columns_of, padded, substitute
from xdsl_rlx.lowering.kernels.work import Work

ROWS = 96
"""Rows of a block at most: tiles solve one, a matmul subtracts the others from it. Larger blocks leave less to matmuls,
which are two to three times as fast; benchmark: `cholesky 500 grad` of breadth.py."""

WIDTH = 256
"""Right-hand sides that an iteration handles at most: threads share them. Matmuls of fewer are slower."""


@dataclass(frozen=True)
class Triangle:
    """Which triangle of a matrix is meant, as in `mir.triangular_solve`."""

    element: Attribute
    lower: bool
    transpose: bool = False
    unit_diagonal: bool = False


@dataclass(frozen=True)
class _Blocks:
    """How rows and right-hand sides are cut: blocks of equal extents, of which the last ones may be shorter."""

    n: int
    columns: int

    @property
    def count(self) -> int:
        return -(-self.n // ROWS)

    @property
    def rows(self) -> int:
        return padded(-(-self.n // self.count), TILE_ROWS)

    @property
    def panels(self) -> int:
        return -(-self.columns // WIDTH)

    @property
    def width(self) -> int:
        return -(-self.columns // self.panels)

    def room(self, work: Work, extent: int, cost: int, element: Attribute) -> list[Argument]:
        """A block of right-hand sides and one of the diagonal, for each piece."""
        width = padded(self.width, columns_of(element))
        shapes = {"part": (self.rows, width), "diagonal": (self.rows, self.rows)}
        return [work.scratch_per_piece(extent, cost, shape, element, name) for name, shape in shapes.items()]


def solve_triangle(work: Work, reads: Sequence[Argument], result: Argument, triangle: Triangle) -> None:
    """An iteration solves with one matrix for a panel of right-hand sides, in the result's buffer."""
    batch, n, columns = result.shape
    if not columns:
        return
    blocks = _Blocks(n, columns)
    panels, width, cost = blocks.panels, blocks.width, n * n * blocks.width
    room = blocks.room(work, batch * panels, cost, result.buffer.element)

    @work.over(batch * panels, cost, reads, [result, *room])
    def solve(it: Iteration, a: Array, b: Array, x: Array, part: Array, diagonal: Array) -> None:
        m, first = it.index // panels, it.index % panels * width
        last = min(first + width, columns)
        x[m, :, first:last] = b[m, :, first:last]
        _solve(a[m], x[m], part[it.piece], diagonal[it.piece], first, last, triangle)


def solve_with_factors(work: Work, reads: Sequence[Argument], result: Argument, forwards: bool) -> None:
    """The same with both triangles of packed factors, and their interchanges; see `lu_solve_nest`."""
    batch, n, columns = result.shape
    if not columns:
        return
    element = result.buffer.element
    blocks, lower, upper = (
        _Blocks(n, columns),
        Triangle(element, True, forwards),
        Triangle(element, False, forwards, True),
    )
    panels, width, cost = blocks.panels, blocks.width, 2 * n * n * blocks.width
    room = blocks.room(work, batch * panels, cost, element)

    @work.over(batch * panels, cost, reads, [result, *room])
    def solve(it: Iteration, a: Array, pivots: Array, b: Array, x: Array, part: Array, diagonal: Array) -> None:
        m, first = it.index // panels, it.index % panels * width
        last = min(first + width, columns)
        x[m, :, first:last] = b[m, :, first:last]
        if forwards:
            for k in rolled(range(n)):
                _interchange(x[m], k, pivots[m, k], first, last)
        for triangle in (upper, lower) if forwards else (lower, upper):
            _solve(a[m], x[m], part[it.piece], diagonal[it.piece], first, last, triangle)
        if not forwards:
            for k in rolled(reversed(range(n))):
                _interchange(x[m], k, pivots[m, k], first, last)


def invert(work: Work, factors: Sequence[Argument], result: Argument) -> None:
    """
    An iteration computes a panel of columns of an inverse from packed factors; see `lu_solve_nest`.

    The inverse of the first triangle is a triangle too, so a third of the operations of a solve is left out.
    """
    batch, n, _ = result.shape
    if not batch * n:
        return
    element = result.buffer.element
    blocks, lower, upper = _Blocks(n, n), Triangle(element, True), Triangle(element, False, unit_diagonal=True)
    panels, width, cost = blocks.panels, blocks.width, 2 * n * n * blocks.width
    room = blocks.room(work, batch * panels, cost, element)

    @work.over(batch * panels, cost, factors, [result, *room])
    def invert(it: Iteration, a: Array, pivots: Array, x: Array, part: Array, diagonal: Array) -> None:
        m, first = it.index // panels, it.index % panels * width
        last = min(first + width, n)
        for i in rolled(range(n)):
            for j in rolled(range(first, last)):
                x[m, i, j] = 0.0
        for j in rolled(range(first, last)):
            x[m, j, j] = 1.0
        _solve(a[m], x[m], part[it.piece], diagonal[it.piece], first, last, lower, inverts=True)
        _solve(a[m], x[m], part[it.piece], diagonal[it.piece], first, last, upper)
        for k in rolled(reversed(range(n))):
            _interchange(x[m], k, pivots[m, k], first, last)


def _interchange(x: Array, k: Number, pivot: Number, first: Number, last: Number) -> None:
    n, _ = x.shape
    other = cast(chosen_row(pivot, n), INDEX)
    if other != k:
        for j in range(first, last):
            x[k, j], x[other, j] = x[other, j], x[k, j]


def _solve(
    a: Array,
    x: Array,
    part: Array,
    diagonal: Array,
    first: Number,
    last: Number,
    triangle: Triangle,
    inverts: bool = False,
) -> None:
    """
    Columns `first` to `last` of `x := a^-1 x`, in place.

    A block that is shorter than others is solved with rows of the identity behind it, so that all have one shape.
    `inverts`: `x` is the identity, and the triangle goes down. Then blocks in front of the first column are zeros, and
    so are columns behind the rows of a block.
    """
    (n, _), (rows, width) = x.shape, part.shape
    count, goes_down = -(-n // rows), triangle.lower != triangle.transpose
    for i in rolled(range(rows)):
        for j in rolled(range(width)):
            part[i, j] = 0.0
    begin = first // rows if inverts else 0
    for step in rolled(range(begin, count)):
        low = (step if goes_down else count - 1 - step) * rows
        high = min(low + rows, n)
        many, end_column = high - low, min(last, high) if inverts else last
        start, end, wide = begin * rows if goes_down else high, low if goes_down else n, end_column - first
        _take_diagonal(a, diagonal, low, many, triangle.transpose)
        if step > begin:
            factor = a[start:end, low:high].T if triangle.transpose else a[low:high, start:end]
            part[:many, :wide] = factor @ x[start:end, first:end_column]
            for i in rolled(range(many)):
                for j in rolled(range(wide)):
                    part[i, j] = x[low + i, first + j] - part[i, j]
        else:
            for i in rolled(range(many)):
                for j in rolled(range(wide)):
                    part[i, j] = x[low + i, first + j]
        for i in rolled(range(many, rows)):
            for j in rolled(range(wide)):
                part[i, j] = 0.0
        element, divides = triangle.element, not triangle.unit_diagonal
        size = columns_of(element)
        tiles = (wide + (size - 1)) // size
        substitute(diagonal, part, tiles, element, backwards=not goes_down, divides=divides)
        for i in rolled(range(many)):
            for j in rolled(range(wide)):
                x[low + i, first + j] = part[i, j]


def _take_diagonal(a: Array, t: Array, low: Number, many: Number, transpose: bool) -> None:
    """The transpose of a block of the matrix that is solved with, with ones behind its end."""
    rows, _ = t.shape
    for i in rolled(range(rows)):
        for j in rolled(range(rows)):
            t[i, j] = 0.0
        t[i, i] = 1.0
    for i in rolled(range(many)):
        for j in rolled(range(many)):
            if transpose:
                t[i, j] = a[low + i, low + j]
            else:
                t[j, i] = a[low + i, low + j]
