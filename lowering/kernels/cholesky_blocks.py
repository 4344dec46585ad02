"""Cholesky factorisations of many columns, block by block: most of the work is that of matmuls."""

from __future__ import annotations

from xdsl_rlx.lowering.buffers import Argument
from xdsl_rlx.lowering.kernel_dsl import Array, Iteration, Number, fma, lanes, rolled, scratch, sqrt
from xdsl_rlx.lowering.kernels.substitution import columns_of, padded, substitute
from xdsl_rlx.lowering.kernels.work import Work

BLOCK = 64
"""Columns that are factorised together, a multiple of the columns of a tile. Larger blocks leave less to matmuls, which
are faster; smaller ones make these thin. Benchmark: `cholesky 500` of breadth.py."""

APART = 16
"""Elements between lines of a block: distances of powers of two share sets of caches."""


def factorise(work: Work, operand: Argument, result: Argument) -> None:
    """
    An iteration factorises one matrix.

    A block of columns is made in scratch, transposed: what is left of the matrix without the columns in front of it,
    then the factor of the rows on the diagonal, and a triangular solve for those below.
    """
    batch, n, _ = result.shape
    element, cost = result.buffer.element, n * n * n // 3 + n * n
    width = BLOCK + padded(max(0, n - BLOCK), columns_of(element)) + APART
    shapes = {"part": (BLOCK, width), "diagonal": (BLOCK, BLOCK), "before": (BLOCK, n + APART)}
    room = [work.scratch_per_piece(batch, cost, shape, element, name) for name, shape in shapes.items()]

    @work.over(batch, cost, [operand], [result, *room])
    def factorise(it: Iteration, operand: Array, result: Array, part: Array, diagonal: Array, before: Array) -> None:
        a, factor = operand[it.index], result[it.index]
        part, diagonal, before = part[it.piece], diagonal[it.piece], before[it.piece]
        for block in rolled(range(-(-n // BLOCK))):
            first = block * BLOCK
            many, rest = min(BLOCK, n - first), n - first
            _fill(a, part, first, many)
            if block > 0:
                for k in rolled(range(many)):
                    for p in rolled(range(first)):
                        before[k, p] = -factor[first + k, p]
                part[:many, :rest] += before[:many, :first] @ factor[first:n, :first].T
            for k in rolled(range(many)):
                for j in lanes(range(BLOCK)):
                    diagonal[k, j] = part[k, j]
            _factorise_diagonal(diagonal, scratch(BLOCK, element), many)
            _place_diagonal(diagonal, factor, first, many)
            if rest > BLOCK:
                width = columns_of(element)
                substitute(diagonal, part[:, BLOCK:], (rest - BLOCK + (width - 1)) // width, element)
                for i in rolled(range(BLOCK, rest)):
                    for k in rolled(range(BLOCK)):
                        factor[first + i, first + k] = part[k, i]


def _fill(a: Array, part: Array, first: Number, many: Number) -> None:
    """The transposed columns of the symmetric part, from the diagonal on, and zeros behind their end."""
    (n, _), (_, width) = a.shape, part.shape
    rest = n - first
    for i in rolled(range(rest)):
        for k in rolled(range(many)):
            part[k, i] = a[first + i, first + k] * 0.5
    for k in rolled(range(many)):
        for i in rolled(range(rest)):
            part[k, i] = part[k, i] + a[first + k, first + i] * 0.5
        for i in rolled(range(rest, width)):
            part[k, i] = 0.0


def _factorise_diagonal(u: Array, line: Array, many: Number) -> None:
    """`u = U^T U` becomes `U`; what is below its diagonal is not used."""
    _, size = u.shape
    for k in rolled(range(many)):
        pivot = sqrt(u[k, k])
        for j in lanes(range(size)):
            line[j] = u[k, j] / pivot
        for j in lanes(range(size)):
            u[k, j] = line[j]
        u[k, k] = pivot
        for i in rolled(range(k + 1, many)):
            factor = -u[k, i]
            for j in lanes(range(size)):
                u[i, j] = fma(factor, line[j], u[i, j])


def _place_diagonal(u: Array, factor: Array, first: Number, many: Number) -> None:
    """The rows of the result on the diagonal, and the zeros behind them."""
    n, _ = factor.shape
    for k in rolled(range(many)):
        for p in rolled(range(k + 1)):
            factor[first + k, first + p] = u[p, k]
        for j in rolled(range(first + k + 1, n)):
            factor[first + k, j] = 0.0
