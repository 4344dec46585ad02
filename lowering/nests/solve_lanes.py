"""Factorisations and solves of many small matrices: an iteration handles a block of them side by side.

In the scratch of a block the same element of all its matrices is one vector, whose places are called lanes. Arithmetic
and pivots are those of solve.py, lane by lane; of rows that are interchanged, each lane takes its own by comparison."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import MemRefType, f32, i32, i64
from xdsl.ir import Attribute, SSAValue

from xdsl_rlx.dialects.lir.program import memref_of
from xdsl_rlx.dialects.lir.scalar_builder import Scalar
from xdsl_rlx.dialects.mir.solve import LuOp, LuSolveOp
from xdsl_rlx.dialects.shapes import element_of, shape_of
from xdsl_rlx.lowering.nest.builder import INDEX, Nest
from xdsl_rlx.lowering.nests.table import Iteration, Work
from xdsl_rlx.lowering.tiles.side_by_side import SideBySide

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


def chosen_row(nest: Nest, pivots: SSAValue, at: Sequence[SSAValue], n: int) -> Scalar:
    """The row to interchange with, counted from 0; whatever the number is, a row of the matrix."""
    s = nest.scalars
    return s.minimum(s.maximum(nest.load(pivots, at) - 1, 0), n - 1)


def mirrored(nest: Nest, index: SSAValue, n: int) -> SSAValue:
    """The index counted from the end."""
    return (nest.scalars.of(nest.kernel.index(n - 1)) - nest.scalars.of(index)).value


def lu_side_by_side(op: LuOp, work: Work) -> None:
    """An iteration factorises a block of matrices."""
    batch, n = prod(shape_of(op.operand)[:-2]), shape_of(op.operand)[-1]
    operand = work.read(op.operand, (batch, n * n))
    packed, pivots = work.write(op.packed, (batch, n * n)), work.write(op.pivots, (batch, n))
    element = element_of(op.operand)

    def body(it: Iteration, operand: SSAValue, packed: SSAValue, pivots: SSAValue) -> None:
        block = _Block(it, batch, n, element)
        block.bring(it.nest, operand, block.matrix)
        _Factorisation(block, it.nest).emit(it.nest, pivots)
        block.take(it.nest, block.matrix, packed)

    lanes = lanes_of(element)
    work.launch(-(-batch // lanes), lanes * (n * n + 2 * n * n * n // 3), [operand], [packed, pivots], body)


def lu_solve_side_by_side(op: LuSolveOp, work: Work) -> None:
    """An iteration solves with a block of matrices; see `lu_solve_nest` for the two directions."""
    shape, element = shape_of(op.packed), element_of(op.packed)
    batch, n = prod(shape[:-2]), shape[-1]
    columns = prod(shape_of(op.b)) // (batch * n)
    packed, pivots = work.read(op.packed, (batch, n * n)), work.read(op.pivots, (batch, n))
    rhs, result = work.read(op.b, (batch, n * columns)), work.write(op.result, (batch, n * columns))

    def body(it: Iteration, packed: SSAValue, pivots: SSAValue, b: SSAValue, x: SSAValue) -> None:
        nest, block = it.nest, _Block(it, batch, n, element)
        solve = _Solve(block, nest, columns)
        block.bring(nest, packed, block.matrix)
        block.bring(nest, b, solve.x)
        if op.transpose is not None:
            solve.interchange(nest, pivots, backwards=False)
            solve.take_out(nest, below=True)
            solve.take_out(nest, below=False)
        else:
            solve.gather(nest, below=False)
            solve.gather(nest, below=True)
            solve.interchange(nest, pivots, backwards=True)
        block.take(nest, solve.x, x)

    lanes = lanes_of(element)
    work.launch(-(-batch // lanes), lanes * 2 * n * n * columns, [packed, pivots, rhs], [result], body)


@dataclass(frozen=True)
class _Vectors:
    """Scratch of a block: some elements of each matrix, and for each of them all lanes next to each other."""

    buffer: SSAValue
    lanes: int

    def load(self, nest: Nest, at: Scalar, lane: SSAValue) -> Scalar:
        return nest.load(self.buffer, [self._place(nest, at, lane)])

    def store(self, nest: Nest, value: Scalar, at: Scalar, lane: SSAValue) -> None:
        nest.store(value, self.buffer, [self._place(nest, at, lane)])

    def _place(self, nest: Nest, at: Scalar, lane: SSAValue) -> SSAValue:
        s = nest.scalars
        return (s.of(at.value) * self.lanes + s.of(lane)).value


@dataclass(frozen=True)
class _Line:
    """Elements `start`, `start + step`, ... of a buffer of vectors."""

    vectors: _Vectors
    start: Scalar
    step: int = 1

    def load(self, nest: Nest, i: SSAValue, lane: SSAValue) -> Scalar:
        return self.vectors.load(nest, self._at(nest, i), lane)

    def store(self, nest: Nest, value: Scalar, i: SSAValue, lane: SSAValue) -> None:
        self.vectors.store(nest, value, self._at(nest, i), lane)

    def _at(self, nest: Nest, i: SSAValue) -> Scalar:
        s = nest.scalars
        return s.of(self.start.value) + (s.of(i) if self.step == 1 else s.of(i) * self.step)


class _Block:
    """A block of matrices of `n` rows: where it is in the batch, and its scratch."""

    def __init__(self, it: Iteration, batch: int, n: int, element: Attribute):
        self.batch, self.n, self.element, self.lanes = batch, n, element, lanes_of(element)
        self.first = it.nest.scalars.of(it.index) * self.lanes
        self.matrix = self.room(it.nest, n * n, element, "block")
        self.between = self.room(it.nest, n * n, element, "between").buffer

    def room(self, nest: Nest, size: int, element: Attribute, name: str) -> _Vectors:
        """So many elements of each matrix."""
        return _Vectors(nest.kernel.scratch(MemRefType(element, [size * self.lanes]), name), self.lanes)

    def line(self, nest: Nest, j: SSAValue) -> _Line:
        """Line `j` of the matrices."""
        return _Line(self.matrix, nest.scalars.of(j) * self.n)

    def each(self, nest: Nest, body: Callable[[Nest, SSAValue], None]) -> None:
        """A loop over the lanes, of which LLVM makes a vector."""
        nest.lanes((nest.kernel.index(0), nest.kernel.index(self.lanes)), "lane", body)

    def over(
        self, nest: Nest, bounds: tuple[SSAValue, SSAValue], body: Callable[[Nest, SSAValue, SSAValue], None]
    ) -> None:
        """A loop around one over the lanes."""
        nest.each(bounds, "i", lambda inside, i: self.each(inside, lambda deep, lane: body(deep, i, lane)))

    def row(self, nest: Nest, lane: Scalar) -> SSAValue:
        """The number of a lane's matrix: that of the last one for lanes behind the end of the batch."""
        s = nest.scalars
        number = s.of(self.first.value) + lane
        return (number if self.batch % self.lanes == 0 else s.minimum(number, self.batch - 1)).value

    def bring(self, nest: Nest, source: SSAValue, target: _Vectors) -> None:
        """Lay the elements of all matrices side by side."""
        size = memref_of(source).get_shape()[-1]
        SideBySide(self.lanes, size, self.between).bring(
            nest,
            nest.kernel.index(size),
            self.row,
            lambda inside, row, e: inside.load(source, [row, e]),
            lambda inside, x, place: inside.store(x, target.buffer, [place]),
        )

    def take(self, nest: Nest, source: _Vectors, target: SSAValue) -> None:
        """Lay the elements of each matrix side by side again."""
        size = memref_of(target).get_shape()[-1]
        SideBySide(self.lanes, size, self.between).take(
            nest,
            nest.kernel.index(size),
            self.row,
            lambda inside, place: inside.load(source.buffer, [place]),
            lambda inside, x, row, e: inside.store(x, target, [row, e]),
        )


class _Factorisation:
    """
    `P a^T = L U` for a block, in place.

    In step `k`, `chosen` has the rows that the lanes interchange with row `k`, `quotients` the new column of `L`. Of a
    line, `old` is what was its element `k`, and `found` what becomes it. What a loop reads and writes at once are
    different buffers or the same element: LLVM would compare addresses for every vector otherwise.
    """

    def __init__(self, block: _Block, nest: Nest):
        self.block, self.bits = block, i32 if block.element == f32 else i64
        self.zero = nest.scalars.of(nest.kernel.index(0))
        self.chosen = block.room(nest, block.n, self.bits, "chosen")
        self.largest = block.room(nest, 1, self.bits, "largest")
        self.quotients = block.room(nest, block.n, block.element, "quotients")
        self.found = block.room(nest, 1, block.element, "found")
        self.old = block.room(nest, 1, block.element, "old")

    def emit(self, nest: Nest, pivots: SSAValue) -> None:
        """All steps, and what was chosen in them."""
        kernel, block = nest.kernel, self.block
        zero, end = kernel.index(0), kernel.index(block.n)

        def step(inside: Nest, k: SSAValue) -> None:
            behind = (inside.scalars.of(k) + 1).value, end
            self._choose(inside, k, behind)
            self._divide(inside, k, behind)
            inside.each((zero, k), "j", lambda deep, j: self._interchange(deep, k, block.line(deep, j), behind))
            inside.each(behind, "j", lambda deep, j: self._subtract(deep, k, block.line(deep, j), behind))

        def write(inside: Nest, lane: SSAValue) -> None:
            row = block.row(inside, inside.scalars.of(lane))

            def one(deep: Nest, k: SSAValue) -> None:
                s = deep.scalars
                deep.store(s.cast(self.chosen.load(deep, s.of(k), lane) + 1, i32), pivots, [row, k])

            inside.each((zero, end), "k", one, rolled=True)

        nest.each((zero, end), "k", step)
        nest.each((zero, kernel.index(block.lanes)), "lane", write)

    def _choose(self, nest: Nest, k: SSAValue, behind: tuple[SSAValue, SSAValue]) -> None:
        """The first of the largest magnitudes of line `k`, compared as integers, which orders NaN above all."""
        line, magnitude_bits = self.block.line(nest, k), (1 << (31 if self.bits == i32 else 63)) - 1

        def magnitude(inside: Nest, i: SSAValue, lane: SSAValue) -> Scalar:
            return inside.scalars.bitcast(line.load(inside, i, lane), self.bits) & magnitude_bits

        def begin(inside: Nest, lane: SSAValue) -> None:
            s = inside.scalars
            self.largest.store(inside, magnitude(inside, k, lane), self.zero, lane)
            self.chosen.store(inside, s.cast(s.of(k), self.bits), s.of(k), lane)

        def compare(inside: Nest, i: SSAValue, lane: SSAValue) -> None:
            s = inside.scalars
            here, before = magnitude(inside, i, lane), self.largest.load(inside, self.zero, lane)
            number, chosen = s.cast(s.of(i), self.bits), self.chosen.load(inside, s.of(k), lane)
            self.largest.store(inside, s.maximum(here, before), self.zero, lane)
            self.chosen.store(inside, s.select(here > before, number, chosen), s.of(k), lane)

        self.block.each(nest, begin)
        self.block.over(nest, behind, compare)

    def _find(self, nest: Nest, k: SSAValue, line: _Line, behind: tuple[SSAValue, SSAValue]) -> None:
        """Put what is chosen of a line in the place of its element `k`."""

        def begin(inside: Nest, lane: SSAValue) -> None:
            x = line.load(inside, k, lane)
            self.old.store(inside, x, self.zero, lane)
            self.found.store(inside, x, self.zero, lane)

        def look(inside: Nest, i: SSAValue, lane: SSAValue) -> None:
            x, found = line.load(inside, i, lane), self.found.load(inside, self.zero, lane)
            chosen = inside.scalars.select(self._is_chosen(inside, k, i, lane), x, found)
            self.found.store(inside, chosen, self.zero, lane)

        self.block.each(nest, begin)
        self.block.over(nest, behind, look)
        self.block.each(
            nest, lambda inside, lane: line.store(inside, self.found.load(inside, self.zero, lane), k, lane)
        )

    def _is_chosen(self, nest: Nest, k: SSAValue, i: SSAValue, lane: SSAValue) -> Scalar:
        s = nest.scalars
        return s.eq(self.chosen.load(nest, s.of(k), lane), s.cast(s.of(i), self.bits))

    def _interchanged(self, nest: Nest, k: SSAValue, line: _Line, i: SSAValue, lane: SSAValue) -> Scalar:
        """Element `i > k` of a line after the interchange."""
        old = self.old.load(nest, self.zero, lane)
        return nest.scalars.select(self._is_chosen(nest, k, i, lane), old, line.load(nest, i, lane))

    def _interchange(self, nest: Nest, k: SSAValue, line: _Line, behind: tuple[SSAValue, SSAValue]) -> None:
        """A line of the factors that is finished otherwise."""

        def one(inside: Nest, i: SSAValue, lane: SSAValue) -> None:
            line.store(inside, self._interchanged(inside, k, line, i, lane), i, lane)

        self._find(nest, k, line, behind)
        self.block.over(nest, behind, one)

    def _divide(self, nest: Nest, k: SSAValue, behind: tuple[SSAValue, SSAValue]) -> None:
        """Line `k`, behind the pivot divided by it, or by 1 where it is 0."""
        line = self.block.line(nest, k)

        def one(inside: Nest, i: SSAValue, lane: SSAValue) -> None:
            s, pivot = inside.scalars, self.found.load(inside, self.zero, lane)
            divisor = s.select(s.eq(pivot, 0.0), 1.0, pivot)
            quotient = self._interchanged(inside, k, line, i, lane) / divisor
            self.quotients.store(inside, quotient, s.of(i), lane)
            line.store(inside, quotient, i, lane)

        self._find(nest, k, line, behind)
        self.block.over(nest, behind, one)

    def _subtract(self, nest: Nest, k: SSAValue, line: _Line, behind: tuple[SSAValue, SSAValue]) -> None:
        """A later line, interchanged, less its element `k` times the column of `L`."""

        def one(inside: Nest, i: SSAValue, lane: SSAValue) -> None:
            s, factor = inside.scalars, -self.found.load(inside, self.zero, lane)
            x, quotient = self._interchanged(inside, k, line, i, lane), self.quotients.load(inside, s.of(i), lane)
            line.store(inside, s.fma(factor, quotient, x), i, lane)

        self._find(nest, k, line, behind)
        self.block.over(nest, behind, one)


class _Solve:
    """Triangular solves in place with the factors of a block: `known` is what is known of a row."""

    def __init__(self, block: _Block, nest: Nest, columns: int):
        self.block, self.columns = block, columns
        self.zero = nest.scalars.of(nest.kernel.index(0))
        self.x = block.room(nest, block.n * columns, block.element, "x")
        self.known = block.room(nest, 1, block.element, "known")

    def interchange(self, nest: Nest, pivots: SSAValue, backwards: bool) -> None:
        """The interchanges of the factorisation, applied to the rows of `x`, or undone: lane by lane."""
        kernel, block = nest.kernel, self.block
        zero, end = kernel.index(0), kernel.index(block.n)

        def each(inside: Nest, lane: SSAValue) -> None:
            row = block.row(inside, inside.scalars.of(lane))

            def step(deep: Nest, at: SSAValue) -> None:
                s, k = deep.scalars, mirrored(deep, at, block.n) if backwards else at
                other = s.cast(chosen_row(deep, pivots, [row, k], block.n), INDEX).value
                self._each_column(deep, lambda deepest, x: _swap(deepest, x, k, other, lane))

            inside.each((zero, end), "k", step, rolled=True)

        nest.each((zero, kernel.index(block.lanes)), "lane", each)

    def take_out(self, nest: Nest, below: bool) -> None:
        """`x := L^-1 x` (`below`) or `U^-1 x`: what is known of a row is taken out of the rows that wait for it."""

        def begin(inside: Nest, k: SSAValue, line: _Line, x: _Line, lane: SSAValue) -> None:
            known = x.load(inside, k, lane)
            if not below:
                known = known / line.load(inside, k, lane)
                x.store(inside, known, k, lane)
            self.known.store(inside, known, self.zero, lane)

        def take(inside: Nest, line: _Line, x: _Line, i: SSAValue, lane: SSAValue) -> None:
            factor, s = -self.known.load(inside, self.zero, lane), inside.scalars
            x.store(inside, s.fma(factor, line.load(inside, i, lane), x.load(inside, i, lane)), i, lane)

        def row(nest: Nest, k: SSAValue, line: _Line, x: _Line, rest: tuple[SSAValue, SSAValue]) -> None:
            self.block.each(nest, lambda inside, lane: begin(inside, k, line, x, lane))
            self.block.over(nest, rest, lambda inside, i, lane: take(inside, line, x, i, lane))

        self._each_row(nest, below, not below, row)

    def gather(self, nest: Nest, below: bool) -> None:
        """`x := L^-T x` (`below`) or `U^-T x`: a row is what is left when all that it waits for is taken out of it."""

        def take(inside: Nest, line: _Line, x: _Line, i: SSAValue, lane: SSAValue) -> None:
            factor, known = -line.load(inside, i, lane), self.known.load(inside, self.zero, lane)
            self.known.store(inside, inside.scalars.fma(factor, x.load(inside, i, lane), known), self.zero, lane)

        def end(inside: Nest, k: SSAValue, line: _Line, x: _Line, lane: SSAValue) -> None:
            known = self.known.load(inside, self.zero, lane)
            x.store(inside, known if below else known / line.load(inside, k, lane), k, lane)

        def row(nest: Nest, k: SSAValue, line: _Line, x: _Line, rest: tuple[SSAValue, SSAValue]) -> None:
            self.block.each(
                nest, lambda inside, lane: self.known.store(inside, x.load(inside, k, lane), self.zero, lane)
            )
            self.block.over(nest, rest, lambda inside, i, lane: take(inside, line, x, i, lane))
            self.block.each(nest, lambda inside, lane: end(inside, k, line, x, lane))

        self._each_row(nest, below, below, row)

    def _each_row(
        self,
        nest: Nest,
        below: bool,
        descending: bool,
        body: Callable[[Nest, SSAValue, _Line, _Line, tuple[SSAValue, SSAValue]], None],
    ) -> None:
        """`body` for every row `k` of each column, in order: its line, the column, and the rows beyond it."""
        kernel, n = nest.kernel, self.block.n

        def step(inside: Nest, at: SSAValue) -> None:
            k = mirrored(inside, at, n) if descending else at
            rest = ((inside.scalars.of(k) + 1).value, kernel.index(n)) if below else (kernel.index(0), k)
            line = self.block.line(inside, k)
            self._each_column(inside, lambda deep, x: body(deep, k, line, x, rest))

        nest.each((kernel.index(0), kernel.index(n)), "k", step)

    def _each_column(self, nest: Nest, body: Callable[[Nest, _Line], None]) -> None:
        def one(inside: Nest, r: SSAValue) -> None:
            body(inside, _Line(self.x, inside.scalars.of(r), self.columns))

        nest.each((nest.kernel.index(0), nest.kernel.index(self.columns)), "r", one)


def _swap(nest: Nest, x: _Line, i: SSAValue, j: SSAValue, lane: SSAValue) -> None:
    first, second = x.load(nest, i, lane), x.load(nest, j, lane)
    x.store(nest, second, i, lane)
    x.store(nest, first, j, lane)
