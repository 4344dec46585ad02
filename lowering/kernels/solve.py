"""Nests of factorisations and solves: loops of our own for small matrices, LAPACK for others; an iteration is a matrix.
Not here: many very small matrices (solve_lanes.py), of which an iteration handles a block, and triangles of many rows
and several right-hand sides (solve_blocks.py).

The lines of a matrix in memory are the columns that LAPACK sees, so what is factorised is the transpose of the operand,
and nothing is ever transposed in memory but right hand sides of several columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import prod

from xdsl.dialects.builtin import i32

from xdsl_rlx.dialects.lir.scalar_builder import INDEX
from xdsl_rlx.dialects.mir.solve import InterchangeRowsOp, LuInverseOp, LuOp, LuSolveOp, TriangularSolveOp
from xdsl_rlx.dialects.shapes import element_of, shape_of
from xdsl_rlx.lowering.buffers import Argument
from xdsl_rlx.lowering.kernel_dsl import (
    Array,
    Iteration,
    Number,
    accumulate,
    cast,
    fma,
    getrs,
    ndrange,
    rolled,
    scratch,
    trsv,
)
from xdsl_rlx.lowering.kernel_dsl.number_order import FloatOrder
from xdsl_rlx.lowering.kernels import lu_blocks, solve_blocks, solve_lanes
from xdsl_rlx.lowering.kernels.solve_lanes import beyond, chosen_row
from xdsl_rlx.lowering.kernels.work import NEST, Work

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


@NEST.rule(LuOp)
def lu_nest(op: LuOp, work: Work) -> None:
    """An iteration factorises one matrix, in the result's buffer, or a block of small ones."""
    shape, element = shape_of(op.operand), element_of(op.operand)
    batch, n = prod(shape[:-2]), shape[-1]
    many, cost = solve_lanes.fits(batch, n), n * n + 2 * n * n * n // 3
    matrices = (batch, n * n) if many else (batch, n, n)
    operand, packed = work.read(op.operand, matrices), work.write(op.packed, matrices)
    writes = [packed, work.write(op.pivots, (batch, n))]
    if many:
        solve_lanes.factorise(work, cost, operand, writes)
        return
    if n > SMALL:
        lu_blocks.factorise(work, operand, writes)
        return

    @work.over(batch if n else 0, cost, [operand], writes)
    def factorise(it: Iteration, operand: Array, packed: Array, pivots: Array) -> None:
        a, steps = packed[it.index], pivots[it.index]
        a[...] = operand[it.index]
        line = scratch(n, element)
        for low, high in _blocks(n, below=True):
            for k in range(low, high):
                pivot = _pivot(a[k], k, low, FloatOrder.of(element))
                steps[k] = pivot + 1
                _eliminate(a, line, k, pivot, low)


def _pivot(line: Array, k: Number, start: int, order: FloatOrder) -> Number:
    """
    The first index from `k` on of the largest magnitude in line `k`.

    Magnitudes are compared as integers, which orders NaN above all: there is always an index, whatever the numbers are.
    """
    (n,) = line.shape

    def size(i: Number) -> Number:
        found = order.magnitude(line[i])
        return -1 if i < k else found

    largest, first = cast(-1, order.bits), cast(n - 1, order.bits)
    for i in range(start, n):
        largest = max(largest, size(i))
    for i in range(start, n):
        first = min(first, cast(i, order.bits) if size(i) == largest else n)
    return cast(first, INDEX)


def _eliminate(a: Array, line: Array, k: Number, pivot: Number, start: int) -> None:
    """
    Step `k`: interchange with the pivot of line `k`, divide the line by it, and subtract it from the later lines.

    Loops along lines begin at `start <= k`, which is a constant, and leave what is in front of `k` as it is.
    """
    n, _ = a.shape
    if pivot != k:
        for j in range(n):
            a[j, k], a[j, pivot] = a[j, pivot], a[j, k]
    largest = a[k, k]
    divisor = 1.0 if largest == 0.0 else largest
    for i in range(start, n):
        x = a[k, i]
        quotient = x / divisor
        line[i] = quotient
        a[k, i] = quotient if i > k else x
    for j in range(k + 1, n):
        factor = -a[j, k]
        for i in range(start, n):
            x = a[j, i]
            less = fma(factor, line[i], x)
            a[j, i] = less if i > k else x


@NEST.rule(LuSolveOp)
def lu_solve_nest(op: LuSolveOp, work: Work) -> None:
    """
    An iteration solves with one matrix, in the result's buffer.

    `P a^T = L U`, so `a^-1 = P^T L^-T U^-T` and `a^-T = U^-1 L^-1 P`.
    """
    shape, given = shape_of(op.packed), shape_of(op.b)
    batch, n, columns = prod(shape[:-2]), shape[-1], given[-1] if len(given) == len(shape) else 1
    many, cost, forwards = solve_lanes.fits(batch, n, columns), 2 * n * n * columns, op.transpose is not None
    matrices, sides = ((batch, n * n), (batch, n * columns)) if many else ((batch, n, n), (batch, n, columns))
    reads = [work.read(op.packed, matrices), work.read(op.pivots, (batch, n)), work.read(op.b, sides)]
    result = work.write(op.result, sides)
    if many:
        solve_lanes.solve(work, cost, reads, result, forwards)
        return
    if n > SMALL and columns == 1:
        _solve_by_lapack(op, work, reads, result)
        return
    if n > SMALL:
        solve_blocks.solve_with_factors(work, reads, result, forwards)
        return

    @work.over(batch if n * columns else 0, cost, reads, [result])
    def solve(it: Iteration, packed: Array, pivots: Array, b: Array, result: Array) -> None:
        c, steps, x = packed[it.index], pivots[it.index], result[it.index]
        x[...] = b[it.index]
        if forwards:
            _interchange(steps, x, range(n))
        for below in (True, False) if forwards else (False, True):
            _solve_triangle(c, x, forwards, below, divides=not below)
        if not forwards:
            _interchange(steps, x, reversed(range(n)))


@NEST.rule(LuInverseOp)
def lu_inverse_nest(op: LuInverseOp, work: Work) -> None:
    """An iteration computes some columns of an inverse."""
    shape = shape_of(op.packed)
    batch, n = prod(shape[:-2]), shape[-1]
    factors = [work.read(op.packed, (batch, n, n)), work.read(op.pivots, (batch, n))]
    solve_blocks.invert(work, factors, work.write(op.result, (batch, n, n)))


def _solve_by_lapack(op: LuSolveOp, work: Work, reads: Sequence[Argument], result: Argument) -> None:
    """The columns of the right hand side as lines, the solve, and back."""
    batch, n, columns = result.shape
    extent, cost = batch if columns else 0, 2 * n * n * columns
    lines = work.scratch_per_piece(extent, cost, (columns, n), element_of(op.packed), "lines")
    steps = work.scratch_per_piece(extent, cost, (n,), i32, "steps")

    @work.over(extent, cost, reads, [result, lines, steps])
    def solve(it: Iteration, packed: Array, pivots: Array, b: Array, x: Array, lines: Array, steps: Array) -> None:
        m, piece = it.index, it.piece
        for j in range(n):
            steps[piece, j] = chosen_row(pivots[m, j], n) + 1
        for j, r in ndrange(n, columns):
            lines[piece, r, j] = b[m, j, r]
        getrs(packed[m], steps[piece], lines[piece], transpose=op.transpose is None)
        for j, r in ndrange(n, columns):
            x[m, j, r] = lines[piece, r, j]


def _interchange(pivots: Array, x: Array, order: Iterable[Number]) -> None:
    """The interchanges of the factorisation, applied to the rows of `x`, or undone."""
    n, columns = x.shape
    for k in order:
        other = cast(chosen_row(pivots[k], n), INDEX)
        for r in range(columns):
            x[k, r], x[other, r] = x[other, r], x[k, r]


def _solve_triangle(c: Array, x: Array, forwards: bool, below: bool, divides: bool) -> None:
    """
    `x := T^-1 x` (`forwards`), or `x := T^-T x`, in place; `c[k]` is column `k` of `T`, or row `k` of its transpose.

    Beyond `k` are the columns of `c` behind it (`below`) or in front of it; `span` has all of them and constant bounds,
    whichever row of a block `k` is. Without `divides`, the diagonal of `T` counts as ones.
    """
    n, columns = x.shape
    parts, goes_up = _blocks(n, below), below == forwards
    for low, high in parts if goes_up else reversed(parts):
        span = range(low, n) if below else range(high)
        for k in range(low, high) if goes_up else reversed(range(low, high)):
            if forwards and divides:
                _divide(c, x, k)
            if columns > 1:
                _subtract_rows(c, x, k, below, forwards)
            elif forwards:
                _take_out(c, x, k, span, below)
            else:
                _gather(c, x, k, span, below)
            if not forwards and divides:
                _divide(c, x, k)


@NEST.rule(InterchangeRowsOp)
def interchange_rows_nest(op: InterchangeRowsOp, work: Work) -> None:
    """An iteration interchanges the rows of one matrix."""
    shape, given = shape_of(op.pivots), shape_of(op.b)
    batch, n, columns = prod(shape[:-1]), shape[-1], given[-1] if len(given) > len(shape) else 1
    reads = [work.read(op.b, (batch, n, columns)), work.read(op.pivots, (batch, n))]
    result, inverse = work.write(op.result, (batch, n, columns)), op.inverse is not None

    @work.over(batch if n * columns else 0, 2 * n * columns, reads, [result])
    def interchange(it: Iteration, b: Array, pivots: Array, result: Array) -> None:
        x = result[it.index]
        x[...] = b[it.index]
        _interchange(pivots[it.index], x, rolled(reversed(range(n)) if inverse else range(n)))


@NEST.rule(TriangularSolveOp)
def triangular_solve_nest(op: TriangularSolveOp, work: Work) -> None:
    """An iteration solves with one matrix, in the result's buffer; of `a`, only the one triangle is read."""
    shape, given = shape_of(op.a), shape_of(op.b)
    batch, n, columns = prod(shape[:-2]), shape[-1], given[-1] if len(given) == len(shape) else 1
    below, forwards, divides = op.lower is None, op.transpose is not None, op.unit_diagonal is None
    many, cost = solve_lanes.fits(batch, n, columns), n * n * columns
    flags = {"lower": not below, "transpose": forwards, "unit_diagonal": not divides}
    if many:
        reads, result = [work.read(op.a, (batch, n * n)), work.read(op.b, (batch, n * columns))], (batch, n * columns)
        solve_lanes.solve_triangle(work, cost, reads, work.write(op.result, result), forwards, below, divides)
        return
    a = work.read(op.a, (batch, n, n))
    if n > SMALL and columns == 1:
        reads, result = [a, work.read(op.b, (batch, n))], work.write(op.result, (batch, n))

        @work.over(batch, cost, reads, [result])
        def solve_by_blas(it: Iteration, a: Array, b: Array, result: Array) -> None:
            x = result[it.index]
            x[...] = b[it.index]
            trsv(a[it.index], x, **flags)

        return
    reads, result = [a, work.read(op.b, (batch, n, columns))], work.write(op.result, (batch, n, columns))
    if n > SMALL:
        solve_blocks.solve_triangle(work, reads, result, solve_blocks.Triangle(element_of(op.a), **flags))
        return

    @work.over(batch if n * columns else 0, cost, reads, [result])
    def solve(it: Iteration, a: Array, b: Array, result: Array) -> None:
        x = result[it.index]
        x[...] = b[it.index]
        _solve_triangle(a[it.index], x, forwards, below, divides)


def _divide(c: Array, x: Array, k: Number) -> None:
    pivot = c[k, k]
    for r in range(x.shape[1]):
        x[k, r] /= pivot


def _subtract_rows(c: Array, x: Array, k: Number, below: bool, forwards: bool) -> None:
    """`_take_out` (`forwards`) or `_gather`, of several columns."""
    n, columns = x.shape
    for i in beyond(k, n, below):
        to, of = (i, k) if forwards else (k, i)
        factor = -c[k, i]
        for r in range(columns):
            x[to, r] = fma(factor, x[of, r], x[to, r])


def _take_out(c: Array, x: Array, k: Number, span: range, below: bool) -> None:
    """`x[i] -= c[k, i] x[k]` for all `i` beyond `k`: what is known of a row is taken out of those that wait for it."""
    factor = -x[k, 0]
    for i in span:
        before = x[i, 0]
        less = fma(factor, c[k, i], before)
        x[i, 0] = less if (i > k if below else i < k) else before


def _gather(c: Array, x: Array, k: Number, span: range, below: bool) -> None:
    """`x[k] -= sum of c[k, i] x[i]` over all `i` beyond `k`: a row is what is left without all that it waits for."""
    before = x[k, 0]
    total = 0.0
    for i in span:
        term = c[k, i] * x[i, 0]
        total = accumulate(total, term if (i > k if below else i < k) else 0.0)
    x[k, 0] = before - total
