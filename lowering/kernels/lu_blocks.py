"""LU factorisations of many rows, block by block: most of the work is that of matmuls. The layout is of `solve.py`."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i32
from xdsl.ir import Attribute

from xdsl_rlx.dialects import constants
from xdsl_rlx.dialects.lir.scalar_builder import INDEX
from xdsl_rlx.lowering.buffers import Argument
from xdsl_rlx.lowering.kernel_dsl import Array, Iteration, Number, cast, getrf, lanes, nest, rolled, scratch
from xdsl_rlx.lowering.kernels.substitution import columns_of, padded, substitute
from xdsl_rlx.lowering.kernels.work import Work

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
    Factorise matrices in the result's buffer: each by one thread, or by several where there are fewer than threads.

    LAPACK factorises the lines of a block in scratch, from the diagonal on. Then other lines are interchanged as these
    are, tiles solve for the elements of the lines below in the columns of the block, and a matmul subtracts the block
    from what is behind it.
    """
    batch, n, _ = writes[0].shape
    size, cost = BLOCK if n < LARGE else LARGE_BLOCK, n * n + 2 * n * n * n // 3
    if batch < work.threads and work.pieces(n, cost // n) > 1:
        _factorise_shared(work, operand, writes, size)
    elif batch:
        _factorise_each(work, operand, writes, size, cost)


def _factorise_each(work: Work, operand: Argument, writes: Sequence[Argument], size: int, cost: int) -> None:
    """An iteration factorises one matrix."""
    batch, n, _ = writes[0].shape
    element = operand.buffer.element
    shapes = {"panel": (size, n + APART), "below": (n, size)}
    room = [work.scratch_per_piece(batch, cost, shape, element, name) for name, shape in shapes.items()]

    @work.over(batch, cost, [operand], [*writes, *room])
    def factorise(it: Iteration, operand: Array, packed: Array, pivots: Array, panel: Array, below: Array) -> None:
        a, steps, panel, below = packed[it.index], pivots[it.index], panel[it.piece], below[it.piece]
        inverse = scratch((size, padded(size, columns_of(element))), element)
        a[...] = operand[it.index]
        for block in rolled(range(-(-n // size))):
            first = block * size
            _factorise_panel(a, steps, panel, first)
            for i in rolled(range(first)):
                _interchange(a, steps, i, first, min(first + size, n))
            if n - first > size:
                low = first + size
                for i in rolled(range(low, n)):
                    _interchange(a, steps, i, first, low)
                _negative_inverse(panel, inverse, element)
                _subtract(a, inverse, below, first, low, n - low)


def _factorise_shared(work: Work, operand: Argument, writes: Sequence[Argument], size: int) -> None:
    """
    A launch for each block of lines, an iteration of which subtracts it from one of the blocks behind.

    The first one, which is the next to be subtracted, is also factorised there, while other threads subtract: no
    thread waits for a factorisation but the first. The lines in front of a block are interchanged at the end.
    """
    batch, n, _ = writes[0].shape
    element, blocks, wide = operand.buffer.element, -(-n // size), padded(size, columns_of(operand.buffer.element))
    panel = work.scratch((batch, size, n + APART), element, "panel")
    inverses = [work.scratch((batch, size, wide), element, "inverse") for _ in range(2)]
    numbers = work.constant(constants.from_nested(list(range(blocks)), i32))

    @work.over(batch * n, n, [operand], [writes[0]])
    def copy(it: Iteration, operand: Array, packed: Array) -> None:
        m, i = it.unravel(batch, n)
        packed[m, i] = operand[m, i]

    @work.over(batch, n * size * size, [], [*writes, panel, inverses[0]])
    def begin(it: Iteration, packed: Array, pivots: Array, panel: Array, inverse: Array) -> None:
        m = it.index
        _factorise_panel(packed[m], pivots[m], panel[m], 0)
        _negative_inverse(panel[m], inverse[m], element)

    @nest
    def subtract(
        it: Iteration, number: Array, inverse: Array, packed: Array, pivots: Array, panel: Array, following: Array
    ) -> None:
        m, block = it.index % batch, it.index // batch
        a, steps, below = packed[m], pivots[m], scratch((size, size), element)
        first = cast(number[0], INDEX) * size
        low = first + size
        begin = low + block * size
        count = min(size, n - begin)
        for i in rolled(range(begin, begin + count)):
            _interchange(a, steps, i, first, low)
        _subtract(a, inverse[m], below, first, begin, count)
        if block < 1:
            _factorise_panel(a, steps, panel[m], low)
            if n - low > size:
                _negative_inverse(panel[m], following[m], element)

    for block in range(blocks - 1):
        extent, number = batch * (blocks - 1 - block), numbers.seen((1,), (1,), block)
        inverse, following = inverses if block % 2 == 0 else reversed(inverses)
        reads, filled = [number, inverse], [*writes, panel, following]
        if block:
            work.again(extent, reads, filled)
        else:
            work.over(extent, 2 * n * size * size, reads, filled, chunk=1)(subtract)

    @work.over(batch * n, n, [], writes)
    def interchange(it: Iteration, packed: Array, pivots: Array) -> None:
        m, i = it.unravel(batch, n)
        _interchange(packed[m], pivots[m], i, min((i // size + 1) * size, n), n)


def _factorise_panel(a: Array, steps: Array, panel: Array, first: Number) -> None:
    """Factorise the lines of a block from the diagonal on: in scratch, whose lines share no sets of caches."""
    (n, _), (size, _) = a.shape, panel.shape
    chosen = scratch(size, i32)
    many, rest = min(size, n - first), n - first
    for k in rolled(range(many)):
        for i in rolled(range(rest)):
            panel[k, i] = a[first + k, first + i]
    getrf(panel[:many, :rest], chosen)
    for k in rolled(range(many)):
        steps[first + k] = chosen[k] + cast(first, i32)
    for k in rolled(range(many)):
        for i in rolled(range(rest)):
            a[first + k, first + i] = panel[k, i]


def _negative_inverse(u: Array, inverse: Array, element: Attribute) -> None:
    """The negative of the transposed inverse of the upper triangle of `u`, whose diagonal counts as ones."""
    rows, width = inverse.shape
    for i in rolled(range(rows)):
        for j in lanes(range(width)):
            inverse[i, j] = 0.0
        inverse[i, i] = 1.0
    substitute(u, inverse, width // columns_of(element), element, divides=False, negates=True)


def _subtract(a: Array, inverse: Array, below: Array, first: Number, begin: Number, count: Number) -> None:
    """Solve for the columns of the block from `first` on in `count` lines, and subtract it from what is behind it."""
    (n, _), (_, size) = a.shape, below.shape
    low = first + size
    below[:count, :] = a[begin : begin + count, first:low] @ inverse[:, :size].T
    for i in rolled(range(count)):
        for k in lanes(range(size)):
            a[begin + i, first + k] = -below[i, k]
    a[begin : begin + count, low:n] += below[:count, :] @ a[first:low, low:n]


def _interchange(a: Array, steps: Array, i: Number, first: Number, end: Number) -> None:
    """The interchanges of the columns from `first` to `end` in a line."""
    for k in rolled(range(first, end)):
        other = cast(steps[k], INDEX) - 1
        a[i, k], a[i, other] = a[i, other], a[i, k]
