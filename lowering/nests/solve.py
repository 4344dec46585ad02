"""Nests of factorisations and solves: loops of our own for small matrices, LAPACK for others; an iteration is a matrix.
Not here: many very small matrices (solve_lanes.py), of which an iteration handles a block.

The lines of a matrix in memory are the columns that LAPACK sees, so what is factorised is the transpose of the operand,
and nothing is ever transposed in memory but right hand sides of several columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import prod

from xdsl.dialects.builtin import i32
from xdsl.ir import Attribute

from xdsl_rlx.dialects.lir.scalar_builder import INDEX
from xdsl_rlx.dialects.mir.solve import LuOp, LuSolveOp
from xdsl_rlx.dialects.shapes import element_of, shape_of
from xdsl_rlx.lowering.buffers import Argument
from xdsl_rlx.lowering.nest import Array, Iteration, Number, accumulate, cast, fma, getrf, getrs, ndrange, nest, scratch
from xdsl_rlx.lowering.nests.solve_lanes import (
    beyond,
    bits_of,
    chosen_row,
    fits,
    lu_side_by_side,
    lu_solve_side_by_side,
    magnitude,
)
from xdsl_rlx.lowering.nests.work import NEST, Work

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
    if fits(batch, n):
        lu_side_by_side(op, work)
        return
    operand = work.read(op.operand, (batch, n, n))
    packed, pivots = work.write(op.packed, (batch, n, n)), work.write(op.pivots, (batch, n))

    @nest
    def factorise(it: Iteration, operand: Array, packed: Array, pivots: Array) -> None:
        a, steps = packed[it.index], pivots[it.index]
        a[...] = operand[it.index]
        if n > SMALL:
            getrf(a, steps)
            return
        line = scratch(n, element)
        for low, high in _blocks(n, below=True):
            for k in range(low, high):
                pivot = _pivot(a[k], k, low, bits_of(element))
                steps[k] = pivot + 1
                _eliminate(a, line, k, pivot, low)

    work.launch(batch if n else 0, n * n + 2 * n * n * n // 3, [operand], [packed, pivots], factorise)


def _pivot(line: Array, k: Number, start: int, bits: Attribute) -> Number:
    """
    The first index from `k` on of the largest magnitude in line `k`.

    Magnitudes are compared as integers, which orders NaN above all: there is always an index, whatever the numbers are.
    """
    (n,) = line.shape

    def size(i: Number) -> Number:
        found = magnitude(line[i], bits)
        return -1 if i < k else found

    largest, first = cast(-1, bits), cast(n - 1, bits)
    for i in range(start, n):
        largest = max(largest, size(i))
    for i in range(start, n):
        first = min(first, cast(i, bits) if size(i) == largest else n)
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
    shape = shape_of(op.packed)
    batch, n = prod(shape[:-2]), shape[-1]
    columns = shape_of(op.b)[-1] if len(shape_of(op.b)) == len(shape) else 1
    if fits(batch, n, columns):
        lu_solve_side_by_side(op, work)
        return
    packed, pivots = work.read(op.packed, (batch, n, n)), work.read(op.pivots, (batch, n))
    reads = [packed, pivots, work.read(op.b, (batch, n, columns))]
    result = work.write(op.result, (batch, n, columns))
    if n > SMALL:
        _solve_by_lapack(op, work, reads, result)
        return

    @nest
    def solve(it: Iteration, packed: Array, pivots: Array, b: Array, result: Array) -> None:
        c, steps, x = packed[it.index], pivots[it.index], result[it.index]
        x[...] = b[it.index]
        if op.transpose is not None:
            _interchange(steps, x, range(n))
            _forwards(c, x)
        else:
            _backwards(c, x)
            _interchange(steps, x, reversed(range(n)))

    work.launch(batch if n * columns else 0, 2 * n * n * columns, reads, [result], solve)


def _solve_by_lapack(op: LuSolveOp, work: Work, reads: Sequence[Argument], result: Argument) -> None:
    """The columns of the right hand side as lines, the solve, and back."""
    batch, n, columns = result.shape
    extent, cost = batch if columns else 0, 2 * n * n * columns
    lines = work.scratch_per_piece(extent, cost, (columns, n), element_of(op.packed), "lines")
    steps = work.scratch_per_piece(extent, cost, (n,), i32, "steps")

    @nest
    def solve(it: Iteration, packed: Array, pivots: Array, b: Array, x: Array, lines: Array, steps: Array) -> None:
        m, piece = it.index, it.piece
        for j in range(n):
            steps[piece, j] = chosen_row(pivots[m, j], n) + 1
        for j, r in ndrange(n, columns):
            lines[piece, r, j] = b[m, j, r]
        getrs(packed[m], steps[piece], lines[piece], transpose=op.transpose is None)
        for j, r in ndrange(n, columns):
            x[m, j, r] = lines[piece, r, j]

    work.launch(extent, cost, reads, [result, lines, steps], solve)


def _interchange(pivots: Array, x: Array, order: Iterable[Number]) -> None:
    """The interchanges of the factorisation, applied to the rows of `x`, or undone."""
    n, columns = x.shape
    for k in order:
        other = cast(chosen_row(pivots[k], n), INDEX)
        for r in range(columns):
            x[k, r], x[other, r] = x[other, r], x[k, r]


# Triangular solves in place: `c[k]` is column `k` of `L` and of `U`. Beyond `k` are the rows behind it (`below`: of
# `L`) or in front of it (of `U`); `span` has all of them and constant bounds, whichever row of a block `k` is.


def _forwards(c: Array, x: Array) -> None:
    """`x := U^-1 L^-1 x`: what is known of a row is taken out of the rows that wait for it."""
    n, _ = x.shape
    for low, high in _blocks(n, below=True):
        for k in range(low, high):
            _take_out(c, x, k, range(low, n), below=True)
    for low, high in reversed(_blocks(n, below=False)):
        for k in reversed(range(low, high)):
            _divide(c, x, k)
            _take_out(c, x, k, range(high), below=False)


def _backwards(c: Array, x: Array) -> None:
    """`x := L^-T U^-T x`: a row is what is left when all that it waits for has been taken out of it."""
    n, _ = x.shape
    for low, high in _blocks(n, below=False):
        for k in range(low, high):
            _gather(c, x, k, range(high), below=False)
            _divide(c, x, k)
    for low, high in reversed(_blocks(n, below=True)):
        for k in reversed(range(low, high)):
            _gather(c, x, k, range(low, n), below=True)


def _divide(c: Array, x: Array, k: Number) -> None:
    pivot = c[k, k]
    for r in range(x.shape[1]):
        x[k, r] /= pivot


def _take_out(c: Array, x: Array, k: Number, span: range, below: bool) -> None:
    """`x[i] -= c[k, i] x[k]` for all `i` beyond `k`."""
    n, columns = x.shape
    if columns > 1:
        for i in beyond(k, n, below):
            _subtract(x, i, k, c[k, i])
        return
    factor = -x[k, 0]
    for i in span:
        before = x[i, 0]
        less = fma(factor, c[k, i], before)
        x[i, 0] = less if (i > k if below else i < k) else before


def _gather(c: Array, x: Array, k: Number, span: range, below: bool) -> None:
    """`x[k] -= sum of c[k, i] x[i]` over all `i` beyond `k`."""
    n, columns = x.shape
    if columns > 1:
        for i in beyond(k, n, below):
            _subtract(x, k, i, c[k, i])
        return
    before = x[k, 0]
    total = 0.0
    for i in span:
        term = c[k, i] * x[i, 0]
        total = accumulate(total, term if (i > k if below else i < k) else 0.0)
    x[k, 0] = before - total


def _subtract(x: Array, to: Number, of: Number, factor: Number) -> None:
    """`x[to] -= factor x[of]`, of several columns."""
    minus = -factor
    for r in range(x.shape[1]):
        x[to, r] = fma(minus, x[of, r], x[to, r])
