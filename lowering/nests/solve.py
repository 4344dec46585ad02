"""Nests of factorisations and solves: loops of our own for small matrices, LAPACK for others; an iteration is a matrix.
Not here: many very small matrices (solve_lanes.py), of which an iteration handles a block.

The lines of a matrix in memory are the columns that LAPACK sees, so what is factorised is the transpose of the operand,
and nothing is ever transposed in memory but right hand sides of several columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod

from xdsl.dialects.builtin import MemRefType, f32, i32, i64
from xdsl.ir import Attribute, SSAValue

from xdsl_rlx.dialects.lir import GetrfOp, GetrsOp
from xdsl_rlx.dialects.lir.memory import AnyMemRef
from xdsl_rlx.dialects.lir.program import memref_of
from xdsl_rlx.dialects.lir.scalar_builder import Scalar, ScalarBuilder
from xdsl_rlx.dialects.mir.solve import LuOp, LuSolveOp
from xdsl_rlx.dialects.shapes import element_of, shape_of
from xdsl_rlx.lowering.nest.builder import INDEX, Nest
from xdsl_rlx.lowering.nests.solve_lanes import (
    chosen_row,
    fits,
    lu_side_by_side,
    lu_solve_side_by_side,
    mirrored,
)
from xdsl_rlx.lowering.nests.table import NEST, Iteration, Work

SMALL = 64
"""Rows up to which loops of our own beat the call of LAPACK."""

MOST_BLOCKS = 4
"""Parts of an elimination, each with vector loops of extents of its own: what they save, LLVM takes to compile."""


def _blocks(n: int, below: bool) -> list[tuple[int, int]]:
    """
    Where the parts begin and end; their number of steps is a power of two from 8 on.

    An odd part that is nearly whole is the first if loops run from its begin to `n` (`below`), and the last if they
    run from 0 to its end: the extents of the other loops are whole vectors then, without remainders to compile and run.
    """
    steps = 8
    while steps * MOST_BLOCKS < n:
        steps *= 2
    odd = n % steps
    first = odd if below and 2 * odd > steps else 0
    return list(pairwise(sorted({0, *range(first, n, steps), n})))


def _next(nest: Nest, index: SSAValue) -> SSAValue:
    return (nest.scalars.of(index) + 1).value


def _copy(nest: Nest, extents: Sequence[int], source: SSAValue, target: SSAValue, at: Sequence[SSAValue]) -> None:
    def one(inside: Nest, indices: tuple[SSAValue, ...], _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
        inside.store(inside.load(source, (*at, *indices)), target, (*at, *indices))
        return ()

    nest.loops(extents, (), one, "j")


@NEST.rule(LuOp)
def lu_nest(op: LuOp, work: Work) -> None:
    """An iteration factorises one matrix, in the result's buffer, or a block of small ones."""
    shape, element = shape_of(op.operand), element_of(op.operand)
    batch, n = prod(shape[:-2]), shape[-1]
    if fits(batch, n):
        lu_side_by_side(op, work)
        return
    operand = work.read(op.operand, (batch, n, n))
    packed, pivots = work.write(op.packed, (batch, n, n)), work.write(op.pivots, (batch, n))

    def body(it: Iteration, operand: SSAValue, packed: SSAValue, pivots: SSAValue) -> None:
        nest, m = it.nest, it.index
        _copy(nest, [n, n], operand, packed, [m])
        if n > SMALL:
            nest.builder.insert(GetrfOp(packed, pivots, a_indices=[m], pivots_indices=[m]))
            return
        line = nest.kernel.scratch(_vector(n, element), "line")
        for low, high in _blocks(n, below=True):
            start, stop = nest.kernel.index(low), nest.kernel.index(high)
            nest.each(
                (start, stop), "k", lambda inside, k, s=start: _eliminate(inside, packed, pivots, line, m, k, s, n)
            )

    work.launch(batch if n else 0, n * n + 2 * n * n * n // 3, [operand], [packed, pivots], body)


def _vector(n: int, element: Attribute) -> AnyMemRef:
    return MemRefType(element, [n])


def _eliminate(
    nest: Nest, a: SSAValue, pivots: SSAValue, line: SSAValue, m: SSAValue, k: SSAValue, start: SSAValue, n: int
) -> None:
    """
    Step `k`: choose the pivot of line `k`, interchange, divide the line by it, and subtract it from the later lines.

    Loops along lines begin at `start <= k`, which is a constant, and leave what is in front of `k` as it is.
    """
    kernel, end = nest.kernel, nest.kernel.index(n)
    pivot = _pivot(nest, a, m, k, start, n)
    nest.store(nest.scalars.cast(nest.scalars.of(pivot) + 1, i32), pivots, (m, k))

    def interchange(inside: Nest, j: SSAValue) -> None:
        first, second = inside.load(a, (m, j, k)), inside.load(a, (m, j, pivot))
        inside.store(second, a, (m, j, k))
        inside.store(first, a, (m, j, pivot))

    nest.guard(
        nest.scalars.ne(nest.scalars.of(pivot), nest.scalars.of(k)).value,
        lambda inside: inside.each((kernel.index(0), end), "j", interchange),
    )
    s = nest.scalars
    largest = nest.load(a, (m, k, k))
    divisor = s.select(s.eq(largest, 0.0), 1.0, largest)

    def divide(inside: Nest, i: SSAValue) -> None:
        t = inside.scalars
        x = inside.load(a, (m, k, i))
        quotient = x / t.of(divisor.value)
        inside.store(quotient, line, (i,))
        inside.store(t.select(t.of(i) > t.of(k), quotient, x), a, (m, k, i))

    nest.each((start, end), "i", divide)

    def subtract(inside: Nest, j: SSAValue) -> None:
        factor = -inside.load(a, (m, j, k))

        def one(deepest: Nest, i: SSAValue) -> None:
            t = deepest.scalars
            x = deepest.load(a, (m, j, i))
            less = t.fma(t.of(factor.value), deepest.load(line, (i,)), x)
            deepest.store(t.select(t.of(i) > t.of(k), less, x), a, (m, j, i))

        inside.each((start, end), "i", one)

    nest.each((_next(nest, k), end), "j", subtract)


def _pivot(nest: Nest, a: SSAValue, m: SSAValue, k: SSAValue, start: SSAValue, n: int) -> SSAValue:
    """
    The first index from `k` on of the largest magnitude in line `k`.

    Magnitudes are compared as integers, which orders NaN above all: there is always an index, whatever the numbers are.
    """
    end = nest.kernel.index(n)
    s = nest.scalars
    single = memref_of(a).element_type == f32
    bits = i32 if single else i64
    magnitude_bits = (1 << (31 if single else 63)) - 1

    def magnitude(inside: Nest, i: SSAValue) -> Scalar:
        t = inside.scalars
        value = t.bitcast(inside.load(a, (m, k, i)), bits) & magnitude_bits
        return t.select(t.of(i) < t.of(k), -1, value)

    def larger(inside: Nest, i: SSAValue, carried: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
        t = inside.scalars
        return (t.maximum(t.of(carried[0]), magnitude(inside, i)).value,)

    (largest,) = nest.loop((start, end), (s.const(-1, bits).value,), larger, "i")

    def earlier(inside: Nest, i: SSAValue, carried: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
        t = inside.scalars
        here = t.select(t.eq(magnitude(inside, i), t.of(largest)), t.cast(t.of(i), bits), n)
        return (t.minimum(t.of(carried[0]), here).value,)

    (first,) = nest.loop((start, end), (s.const(n - 1, bits).value,), earlier, "i")
    return s.cast(s.of(first), INDEX).value


@NEST.rule(LuSolveOp)
def lu_solve_nest(op: LuSolveOp, work: Work) -> None:
    """
    An iteration solves with one matrix, in the result's buffer.

    `P a^T = L U`, so `a^-1 = P^T L^-T U^-T` and `a^-T = U^-1 L^-1 P`.
    """
    shape, element = shape_of(op.packed), element_of(op.packed)
    batch, n = prod(shape[:-2]), shape[-1]
    columns = shape_of(op.b)[-1] if len(shape_of(op.b)) == len(shape) else 1
    if fits(batch, n, columns):
        lu_solve_side_by_side(op, work)
        return
    packed, pivots = work.read(op.packed, (batch, n, n)), work.read(op.pivots, (batch, n))
    rhs, result = work.read(op.b, (batch, n, columns)), work.write(op.result, (batch, n, columns))
    extent, cost = batch if n * columns else 0, 2 * n * n * columns
    reads, transpose = [packed, pivots, rhs], op.transpose is not None
    if n > SMALL:
        lines = work.scratch_per_piece(extent, cost, (columns, n), element, "lines")
        steps = work.scratch_per_piece(extent, cost, (n,), i32, "steps")

        def by_lapack(
            it: Iteration,
            packed: SSAValue,
            pivots: SSAValue,
            b: SSAValue,
            x: SSAValue,
            lines: SSAValue,
            steps: SSAValue,
        ) -> None:
            _solve_by_lapack(it, packed, pivots, b, x, lines, steps, transpose)

        work.launch(extent, cost, reads, [result, lines, steps], by_lapack)
        return

    def body(it: Iteration, packed: SSAValue, pivots: SSAValue, b: SSAValue, x: SSAValue) -> None:
        _copy(it.nest, [n, columns], b, x, [it.index])
        solve = _Solve(packed, pivots, x, it.index, n, columns)
        if transpose:
            solve.interchange(it.nest, backwards=False)
            solve.forwards(it.nest)
        else:
            solve.backwards(it.nest)
            solve.interchange(it.nest, backwards=True)

    work.launch(extent, cost, reads, [result], body)


def _solve_by_lapack(
    it: Iteration,
    packed: SSAValue,
    pivots: SSAValue,
    b: SSAValue,
    x: SSAValue,
    lines: SSAValue,
    steps: SSAValue,
    transpose: bool,
) -> None:
    """The columns of the right hand side as lines, the solve, and back."""
    nest, m, piece = it.nest, it.index, it.piece
    _, n, columns = memref_of(b).get_shape()

    def checked(inside: Nest, indices: tuple[SSAValue, ...], _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
        inside.store(chosen_row(inside, pivots, (m, *indices), n) + 1, steps, (piece, *indices))
        return ()

    def there(inside: Nest, at: tuple[SSAValue, ...], _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
        inside.store(inside.load(b, (m, *at)), lines, (piece, at[1], at[0]))
        return ()

    def back(inside: Nest, at: tuple[SSAValue, ...], _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
        inside.store(inside.load(lines, (piece, at[1], at[0])), x, (m, *at))
        return ()

    nest.loops([n], (), checked, "j")
    nest.loops([n, columns], (), there, "j")
    nest.builder.insert(
        GetrsOp(
            packed,
            steps,
            lines,
            lu_indices=[m],
            pivots_indices=[piece],
            b_indices=[piece],
            transpose=not transpose,
        )
    )
    nest.loops([n, columns], (), back, "j")


@dataclass(frozen=True)
class _Solve:
    """Triangular solves in place with the factors `c` of one small matrix: `c[k]` is column `k` of `L` and of `U`."""

    c: SSAValue
    pivots: SSAValue
    x: SSAValue
    m: SSAValue
    n: int
    columns: int

    def interchange(self, nest: Nest, backwards: bool) -> None:
        """The interchanges of the factorisation, applied to the rows of `x`, or undone."""

        def step(inside: Nest, at: SSAValue) -> None:
            k = mirrored(inside, at, self.n) if backwards else at
            s = inside.scalars
            other = s.cast(chosen_row(inside, self.pivots, (self.m, k), self.n), INDEX).value

            def swap(deepest: Nest, r: SSAValue) -> None:
                first, second = deepest.load(self.x, (self.m, k, r)), deepest.load(self.x, (self.m, other, r))
                deepest.store(second, self.x, (self.m, k, r))
                deepest.store(first, self.x, (self.m, other, r))

            inside.each((nest.kernel.index(0), nest.kernel.index(self.columns)), "r", swap)

        nest.each((nest.kernel.index(0), nest.kernel.index(self.n)), "k", step)

    def forwards(self, nest: Nest) -> None:
        """`x := U^-1 L^-1 x`: what is known of a row is taken out of the rows that wait for it."""
        self._each(nest, True, False, lambda inside, k, span: self._take_out(inside, k, span, below=True))

        def divide(inside: Nest, k: SSAValue, span: tuple[int, int]) -> None:
            self._divide(inside, k)
            self._take_out(inside, k, span, below=False)

        self._each(nest, False, True, divide)

    def backwards(self, nest: Nest) -> None:
        """`x := L^-T U^-T x`: a row is what is left when all that it waits for has been taken out of it."""

        def divide(inside: Nest, k: SSAValue, span: tuple[int, int]) -> None:
            self._gather(inside, k, span, below=False)
            self._divide(inside, k)

        self._each(nest, False, False, divide)
        self._each(nest, True, True, lambda inside, k, span: self._gather(inside, k, span, below=True))

    def _each(
        self, nest: Nest, below: bool, descending: bool, step: Callable[[Nest, SSAValue, tuple[int, int]], None]
    ) -> None:
        """`step` for every row, in order; it gets the block of constant bounds that the row is in."""
        blocks = _blocks(self.n, below)
        for low, high in reversed(blocks) if descending else blocks:
            first, last = nest.kernel.index(low), nest.kernel.index(high)

            def one(inside: Nest, at: SSAValue, low: int = low, high: int = high) -> None:
                k = at
                if descending:
                    s = inside.scalars
                    k = (s.of(inside.kernel.index(low + high - 1)) - s.of(at)).value
                step(inside, k, (low, high))

            nest.each((first, last), "k", one)

    def _divide(self, nest: Nest, k: SSAValue) -> None:
        pivot = nest.load(self.c, (self.m, k, k))

        def one(inside: Nest, r: SSAValue) -> None:
            at = (self.m, k, r)
            inside.store(inside.load(self.x, at) / inside.scalars.of(pivot.value), self.x, at)

        nest.each((nest.kernel.index(0), nest.kernel.index(self.columns)), "r", one)

    def _take_out(self, nest: Nest, k: SSAValue, span: tuple[int, int], below: bool) -> None:
        """`x[i] -= c[k, i] x[k]` for `i > k` (`below`: of `L`), or `i < k` (of `U`)."""
        if self.columns > 1:
            self._rows(nest, k, below, lambda i: (i, k))
            return
        c0 = nest.kernel.index(0)
        factor = -nest.load(self.x, (self.m, k, c0))

        def one(inside: Nest, i: SSAValue) -> None:
            s = inside.scalars
            x = inside.load(self.x, (self.m, i, c0))
            less = s.fma(s.of(factor.value), inside.load(self.c, (self.m, k, i)), x)
            inside.store(s.select(self._waits(s, i, k, below), less, x), self.x, (self.m, i, c0))

        nest.each(self._span(nest, span, below), "i", one)

    def _gather(self, nest: Nest, k: SSAValue, span: tuple[int, int], below: bool) -> None:
        """`x[k] -= sum of c[k, i] x[i]` over `i > k` (`below`: of `L`), or `i < k` (of `U`)."""
        if self.columns > 1:
            self._rows(nest, k, below, lambda i: (k, i))
            return
        c0 = nest.kernel.index(0)
        before = nest.load(self.x, (self.m, k, c0))

        def one(inside: Nest, i: SSAValue, carried: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            s = inside.scalars
            term = inside.load(self.c, (self.m, k, i)) * inside.load(self.x, (self.m, i, c0))
            return (s.accumulate_add(s.of(carried[0]), s.select(self._waits(s, i, k, below), term, 0.0)).value,)

        zero = nest.scalars.const(0.0, before.type)
        (total,) = nest.loop(self._span(nest, span, below), (zero.value,), one, "i")
        nest.store(before - nest.scalars.of(total), self.x, (self.m, k, c0))

    def _rows(
        self, nest: Nest, k: SSAValue, below: bool, pair: Callable[[SSAValue], tuple[SSAValue, SSAValue]]
    ) -> None:
        """`x[to] -= c[k, i] x[of]` for rows `to, of = pair(i)` of several columns."""
        kernel = nest.kernel

        def row(inside: Nest, i: SSAValue) -> None:
            factor = -inside.load(self.c, (self.m, k, i))
            to, of = pair(i)

            def one(deepest: Nest, r: SSAValue) -> None:
                s = deepest.scalars
                x = deepest.load(self.x, (self.m, to, r))
                deepest.store(
                    s.fma(s.of(factor.value), deepest.load(self.x, (self.m, of, r)), x), self.x, (self.m, to, r)
                )

            inside.each((kernel.index(0), kernel.index(self.columns)), "r", one)

        bounds = (_next(nest, k), kernel.index(self.n)) if below else (kernel.index(0), k)
        nest.each(bounds, "i", row)

    def _waits(self, s: ScalarBuilder, i: SSAValue, k: SSAValue, below: bool) -> Scalar:
        return s.of(i) > s.of(k) if below else s.of(i) < s.of(k)

    def _span(self, nest: Nest, span: tuple[int, int], below: bool) -> tuple[SSAValue, SSAValue]:
        """Constant bounds of the indices beyond `k`, whichever row of the block that is."""
        low, high = (span[0], self.n) if below else (0, span[1])
        return nest.kernel.index(low), nest.kernel.index(high)
