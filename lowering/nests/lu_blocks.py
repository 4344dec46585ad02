"""LU factorisations of many rows, block by block: most of the work is that of matmuls. The layout is of `solve.py`."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i32
from xdsl.ir import Attribute

from xdsl_rlx.dialects.lir.scalar_builder import INDEX
from xdsl_rlx.lowering.buffers import Argument
from xdsl_rlx.lowering.nest import Array, Iteration, Number, cast, getrf, lanes, rolled, scratch
from xdsl_rlx.lowering.nests.substitution import columns_of, padded, substitute
from xdsl_rlx.lowering.nests.work import Work

BLOCK = 32
"""Lines that LAPACK factorises together, a multiple of the rows of a tile. Larger blocks leave less to matmuls, which
are faster; smaller ones make these thin. Benchmark: `slogdet 500` of breadth.py."""

LARGE, LARGE_BLOCK = 1024, 96
"""Rows from which on a block has more lines, and how many: matrices leave the caches, and fewer blocks read them fewer
times. LU of 2000 rows in f64 takes 0.95 of the time of LAPACK, and 1.3 times as long with the smaller blocks; of 1000
rows, both take as long. Benchmark: `slogdet 500` of breadth.py with other numbers of rows."""

APART = 16
"""Elements between lines of a block: distances of powers of two share sets of caches."""


def factorise(work: Work, operand: Argument, writes: Sequence[Argument]) -> None:
    """
    An iteration factorises one matrix, in the result's buffer.

    LAPACK factorises the lines of a block in scratch, from the diagonal on. Then other lines are interchanged as these
    are, tiles solve for the elements of the lines below in the columns of the block, and a matmul subtracts the block
    from what is behind it.
    """
    batch, n, _ = writes[0].shape
    element, cost = operand.buffer.element, n * n + 2 * n * n * n // 3
    size = BLOCK if n < LARGE else LARGE_BLOCK
    shapes = {"panel": (size, n + APART), "below": (n, size)}
    room = [work.scratch_per_piece(batch, cost, shape, element, name) for name, shape in shapes.items()]

    @work.over(batch, cost, [operand], [*writes, *room])
    def factorise(it: Iteration, operand: Array, packed: Array, pivots: Array, panel: Array, below: Array) -> None:
        a, steps, panel, below = packed[it.index], pivots[it.index], panel[it.piece], below[it.piece]
        chosen, inverse = scratch(size, i32), scratch((size, padded(size, columns_of(element))), element)
        a[...] = operand[it.index]
        for block in rolled(range(-(-n // size))):
            first = block * size
            many, rest = min(size, n - first), n - first
            for k in rolled(range(many)):
                for i in rolled(range(rest)):
                    panel[k, i] = a[first + k, first + i]
            getrf(panel[:many, :rest], chosen)
            for k in rolled(range(many)):
                steps[first + k] = chosen[k] + cast(first, i32)
            for i in rolled(range(n)):
                _interchange(a, chosen, i, first, many)
            for k in rolled(range(many)):
                for i in rolled(range(rest)):
                    a[first + k, first + i] = panel[k, i]
            if rest > size:
                low, count = first + size, rest - size
                _negative_inverse(panel, inverse, element)
                below[:count, :] = a[low:n, first:low] @ inverse[:, :size].T
                for i in rolled(range(count)):
                    for k in lanes(range(size)):
                        a[low + i, first + k] = -below[i, k]
                a[low:n, low:n] += below[:count, :] @ a[first:low, low:n]


def _negative_inverse(u: Array, inverse: Array, element: Attribute) -> None:
    """The negative of the transposed inverse of the upper triangle of `u`, whose diagonal counts as ones."""
    rows, width = inverse.shape
    for i in rolled(range(rows)):
        for j in lanes(range(width)):
            inverse[i, j] = 0.0
        inverse[i, i] = 1.0
    substitute(u, inverse, width // columns_of(element), element, divides=False, negates=True)


def _interchange(a: Array, chosen: Array, i: Number, first: Number, many: Number) -> None:
    """The interchanges of a block in a line."""
    for k in rolled(range(many)):
        other = cast(chosen[k], INDEX) - 1
        a[i, first + k], a[i, first + other] = a[i, first + other], a[i, first + k]
