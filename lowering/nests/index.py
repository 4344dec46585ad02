"""Nests of ops that read and write by indices held in tensors, and of running sums."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, prod
from typing import TypeAlias

from xdsl.dialects.builtin import AnyFloat, f64, i64
from xdsl.ir import Attribute, SSAValue

from xdsl_rlx.dialects.constants import integer_range, is_integer
from xdsl_rlx.dialects.mir.index import CumsumOp, GatherOp, IndexAddOp, ScatterAddOp, ScatterMaxOp, ScatterOp
from xdsl_rlx.dialects.shapes import compute_type, element_of, shape_of, u8, u32
from xdsl_rlx.lowering.buffers import Argument
from xdsl_rlx.lowering.nest import Array, Iteration, Number, cast, clamp, maximum, minimum, rolled, scratch
from xdsl_rlx.lowering.nest.kernel_builder import INDEX
from xdsl_rlx.lowering.nests.work import NEST, Work


def clamped(index: Number, extent: int) -> Number:
    """An index of any integer type as one of an axis: the nearest, where it is outside."""
    return cast(clamp(cast(index, i64), 0, extent - 1), INDEX)


TAKEN = 256
"""Elements that one iteration of a gather copies in short slices."""

SHORT = 32
"""Elements from which on a slice is an iteration of its own: its loop then takes longer than to find it."""


LINES = 16
"""Lines of a table that one iteration of a gather of single elements reads at the same indices."""

MOST_TAKEN = 2048
"""Elements that one iteration of it copies of each line at most: as many are more than the cache lines of a line that
fits L1. Each thread has some iterations. benchmarks/breadth.py: "grid_sample"."""

TOGETHER = 2
"""Lines that are read with one load of the index; those of more lines would not be in L1. benchmarks/breadth.py:
"grid_sample"."""


def _gather_elements(op: GatherOp, work: Work) -> None:
    """An iteration copies the elements of some lines at some neighbouring indices, which it clamps once."""
    batches, outer, extent, count, _ = op.extents
    reads = [work.read(op.table, (batches, outer, extent)), work.read(op.indices, (batches, count))]
    result = work.write(op.result, (batches, outer, count))
    lines = min(LINES, outer)
    share = count if work.buffers.threads == 1 else count // (4 * work.buffers.threads)
    length = min(max(share, TAKEN), MOST_TAKEN, count)
    together = TOGETHER if outer % TOGETHER == 0 else 1
    blocks, groups = -(-count // length), -(-outer // lines)

    @work.over(batches * groups * blocks, (1 + 4 * lines) * length, reads, [result])
    def gather_elements(it: Iteration, table: Array, indices: Array, result: Array) -> None:
        b, group, block = it.unravel(batches, groups, blocks)
        first = block * length
        some = range(min(length, count - first))
        places = scratch(length, i64)
        for k in some:
            places[k] = cast(clamped(indices[b, first + k], extent), i64)
        for o in range(group * lines, min((group + 1) * lines, outer), together):
            for k in some:
                for line in range(together):
                    result[b, o + line, first + k] = table[b, o + line, cast(places[k], INDEX)]


@NEST.rule(GatherOp)
def gather_nest(op: GatherOp, work: Work) -> None:
    """An iteration copies the slices of some neighbouring indices."""
    batches, outer, extent, count, inner = op.extents
    if inner == 1 and outer > 1 and count > 1:
        _gather_elements(op, work)
        return
    rest = () if inner == 1 else (inner,)
    reads = [work.read(op.table, (batches, outer, extent, *rest)), work.read(op.indices, (batches, count))]
    result = work.write(op.result, (batches, outer, count, *rest))
    length = max(min(TAKEN // inner, count), 1) if 0 < inner < SHORT else 1
    blocks = -(-count // length)

    @work.over(batches * outer * blocks if inner else 0, (4 + inner) * length, reads, [result])
    def gather(it: Iteration, table: Array, indices: Array, result: Array) -> None:
        b, o, block = it.unravel(batches, outer, blocks)
        for k in range(block * length, min((block + 1) * length, count)):
            result[b, o, k] = table[b, o, clamped(indices[b, k], extent)]


COLUMNS = 64
"""Columns that one iteration of a running sum goes through, and of a scatter at least."""

MOST_COLUMNS = 1024
"""Columns of a scatter that one iteration goes through at most: longer lines are read faster, as there are fewer of
them; each thread has some. benchmarks/breadth.py: "gather rows of 1000x768 f32 grad"."""


SCATTERED = 4
"""Single elements that one iteration of a loop scatters, in their order. benchmarks/breadth.py: "bincount"."""

Combine: TypeAlias = Callable[[Number, Number], Number]


def _sum(x: Number, y: Number) -> Number:
    return x + y


@NEST.rule(ScatterAddOp)
def scatter_add_nest(op: ScatterAddOp, work: Work) -> None:
    _scatter(op, work, 0, _sum)


@NEST.rule(ScatterMaxOp)
def scatter_max_nest(op: ScatterMaxOp, work: Work) -> None:
    element = element_of(op.updates)
    least, most = integer_range(element) if is_integer(element) else (-inf, inf)
    _scatter(op, work, *((least, maximum) if op.smallest is None else (most, minimum)))


@NEST.rule(IndexAddOp)
def index_add_nest(op: IndexAddOp, work: Work) -> None:
    """As a scatter, into the copy of the input that is in the result."""
    _scatter(op, work, None, _sum)


def _scatter(op: ScatterOp | IndexAddOp, work: Work, start: float | None, combine: Combine) -> None:
    """
    An iteration fills and combines a block of columns, index by index: equal indices never meet in two threads.

    Without `start`, nothing is filled. What is added behind the last slice is dropped.
    """
    batches, outer, extent, count, inner = op.extents
    updates = _all_alike(op.updates, (batches, outer, count, inner), work)
    indices = work.read(op.indices, (batches, count))
    result = work.write(op.result, (batches, outer, extent, inner))
    share = -(-inner // (COLUMNS * work.buffers.threads)) * COLUMNS
    most = min(max(share, COLUMNS), MOST_COLUMNS)
    blocks, width, element = -(-inner // most), max(min(inner, most), 1), element_of(op.updates)
    type_ = i64 if element in (u8, u32) else compute_type(element)
    fills, ends = start is not None, op.extent.value.data
    drops = ends > extent
    size = ((extent if fills else 0) + 2 * count) * width

    @work.over(batches * outer * blocks if extent else 0, size, [updates, indices], [result])
    def scatter(it: Iteration, updates: Array, indices: Array, result: Array) -> None:
        b, o, block = it.unravel(batches, outer, blocks)
        columns = range(block * most, min((block + 1) * most, inner))
        if fills:
            for v in range(extent):
                for j in columns:
                    result[b, o, v, j] = cast(start, type_)
        blocked = count - count % SCATTERED if inner == 1 else 0
        for first in range(0, blocked, SCATTERED):
            for n in range(SCATTERED):
                target = clamped(indices[b, first + n], ends)
                if not drops or target < extent:
                    before = cast(result[b, o, target, 0], type_)
                    result[b, o, target, 0] = combine(before, cast(updates[b, o, first + n, 0], type_))
        for k in range(blocked, count):
            target = clamped(indices[b, k], ends)
            if not drops or target < extent:
                for j in columns:
                    before = cast(result[b, o, target, j], type_)
                    result[b, o, target, j] = combine(before, cast(updates[b, o, k, j], type_))


def _all_alike(value: SSAValue, shape: Sequence[int], work: Work) -> Argument:
    """An operand seen as `shape`: not copied if all of its elements are one in memory."""
    there = work.read_strided(value)
    if any(there.strides[axis] for axis, n in enumerate(there.shape) if n != 1):
        return work.read(value, shape)
    return Argument(there.buffer, tuple(shape), (0,) * len(shape), there.name)


LENGTH = 1024
"""Positions of a long row that one chain of additions sums up: fixed, so that results do not depend on threads."""

CHAINS = 4
"""Running sums of floats that are continued side by side: each waits for its own last addition, 3 or 4 cycles."""

AT_ONCE = 4
"""Additions of a chain that are written out, so that a jump does not take as long as one. Benchmark: `cumsum of
1000x1000 axis 1` of breadth.py."""

STARTS = 8
"""Sums side by side in which such a block is added up; a divisor of `LENGTH`."""

FEW_ROWS = 8
"""Rows below which a long one is taken apart."""


@NEST.rule(CumsumOp)
def cumsum_nest(op: CumsumOp, work: Work) -> None:
    """Rows one by one, columns in blocks of neighbours."""
    given, axis = shape_of(op.operand), op.axis_index
    outer, extent, inner = prod(given[:axis]), given[axis], prod(given[axis + 1 :])
    shape = (outer, extent) if inner == 1 else (outer, extent, inner)
    x, result = work.read(op.operand, shape), work.write(op.result, shape)
    if outer * extent * inner:
        (_running_rows if inner == 1 else _running_columns)(op, work, x, result)


def _running_type(op: CumsumOp) -> Attribute:
    """What a sum is continued in: f64 for floats, so that rounding errors of long ones do not add up."""
    element = compute_type(element_of(op.result))
    return f64 if isinstance(element, AnyFloat) else element


def _running_columns(op: CumsumOp, work: Work, x: Argument, result: Argument) -> None:
    """An iteration goes down a block of columns, with their running sums on the stack."""
    outer, extent, inner = x.shape
    blocks, width = -(-inner // COLUMNS), min(inner, COLUMNS)
    type_, exclusive = _running_type(op), op.is_exclusive
    places = range(extent)[::-1] if op.is_reverse else range(extent)

    @work.over(outer * blocks, 2 * extent * width, [x], [result])
    def running_columns(it: Iteration, x: Array, result: Array) -> None:
        o, block = it.unravel(outer, blocks)
        first = block * COLUMNS
        columns = range(min(COLUMNS, inner - first))
        sums = scratch(width, type_)
        sums[...] = 0
        for at in rolled(places):
            for j in columns:
                before = sums[j]
                total = before + cast(x[o, at, first + j], type_)
                result[o, at, first + j] = before if exclusive else total
                sums[j] = total


def _running_rows(op: CumsumOp, work: Work, x: Argument, result: Argument) -> None:
    """Chains of additions: along a row, or a block of a long one, which begins with the sum of the blocks before."""
    outer, extent = x.shape
    type_ = _running_type(op)
    # integers are added up in any order, and on one thread they are read once
    at_once = outer >= FEW_ROWS or (not isinstance(type_, AnyFloat) and work.buffers.threads == 1)
    blocks = 1 if at_once else -(-extent // LENGTH)
    starts = [_block_starts(op, work, x, blocks)] if blocks > 1 else []
    groups = (outer if blocks == 1 else extent // LENGTH) // CHAINS if isinstance(type_, AnyFloat) else 0
    if groups:
        _side_by_side(op, work, x, starts, result, groups)
    done = groups * CHAINS
    if blocks == 1 and done < outer:
        _one_by_one(op, work, x, starts, result, (done, outer - done), (0, 1, extent))
    elif blocks > done:
        _one_by_one(op, work, x, starts, result, (0, outer), (done, blocks - done, LENGTH))


def _one_by_one(
    op: CumsumOp,
    work: Work,
    x: Argument,
    starts: list[Argument],
    result: Argument,
    rows: tuple[int, int],
    blocks: tuple[int, int, int],
) -> None:
    """A chain an iteration: the first and the number of the rows, and those of blocks and their length."""
    extent = x.shape[1]
    (first_row, outer), (first_block, count, length) = rows, blocks
    type_, exclusive, reverse = _running_type(op), op.is_exclusive, op.is_reverse

    @work.over(outer * count, 4 * length, [x, *starts], [result])
    def one_by_one(it: Iteration, x: Array, *rest: Array) -> None:
        *starts, result = rest
        row, number = it.unravel(outer, count)
        o, block = row + first_row, number + first_block
        first, end = block * length, min((block + 1) * length, extent)
        whole = first + (end - first) // AT_ONCE * AT_ONCE

        def add(before: Number, p: Number) -> Number:
            at = extent - 1 - p if reverse else p
            total = before + cast(x[o, at], type_)
            result[o, at] = before if exclusive else total
            return total

        before = starts[0][o, block] if starts else cast(0, type_)
        for p in range(first, whole, AT_ONCE):
            for n in tuple(range(AT_ONCE)):
                before = add(before, p + n)
        for p in range(whole, end):
            before = add(before, p)


def _side_by_side(op: CumsumOp, work: Work, x: Argument, starts: list[Argument], result: Argument, groups: int) -> None:
    """Some chains an iteration: the rows of a group, or the blocks of a group in a row."""
    outer, extent = x.shape
    type_, exclusive, reverse = _running_type(op), op.is_exclusive, op.is_reverse
    count, length = (outer, LENGTH) if starts else (1, extent)

    @work.over(count * groups, 4 * CHAINS * length, [x, *starts], [result])
    def side_by_side(it: Iteration, x: Array, *rest: Array) -> None:
        *starts, result = rest
        o, group = it.unravel(count, groups)
        first = group * CHAINS
        rows = [o if starts else first + chain for chain in range(CHAINS)]
        begins = [(first + chain) * length if starts else 0 for chain in range(CHAINS)]
        totals = [starts[0][o, first + chain] if starts else cast(0, type_) for chain in range(CHAINS)]
        for p in range(length):
            places = [extent - 1 - (begin + p) if reverse else begin + p for begin in begins]
            sums = [total + cast(x[row, at], type_) for total, row, at in zip(totals, rows, places, strict=True)]
            for row, at, found in zip(rows, places, totals if exclusive else sums, strict=True):
                result[row, at] = found
            totals = sums


def _block_starts(op: CumsumOp, work: Work, x: Argument, blocks: int) -> Argument:
    """
    The sum of what comes before each block of each row: first the sums of the blocks, then those run up.

    Added up in lanes of our own, without leave to reassociate: a vectoriser's lanes are as many as the processor has.
    """
    outer, extent = x.shape
    type_, reverse = _running_type(op), op.is_reverse
    starts = work.scratch((outer, blocks), type_, "starts")

    @work.over(outer * blocks, LENGTH, [x], [starts])
    def add_up(it: Iteration, x: Array, starts: Array) -> None:
        o, block = it.unravel(outer, blocks)
        first, end = block * LENGTH, min((block + 1) * LENGTH, extent)
        whole = end // STARTS * STARTS

        def element(p: Number) -> Number:
            return cast(x[o, extent - 1 - p if reverse else p], type_)

        sums = [cast(0, type_)] * STARTS
        for p in range(first, whole, STARTS):
            sums = [total + element(p + lane) for lane, total in enumerate(sums)]
        total = in_pairs(sums)
        for p in range(whole, end):
            total = total + element(p)
        starts[o, block] = total

    @work.over(outer, 4 * blocks, [], [starts])
    def run_up(it: Iteration, starts: Array) -> None:
        total = cast(0, type_)
        for block in range(blocks):
            own = starts[it.index, block]
            starts[it.index, block] = total
            total = total + own

    return starts


def in_pairs(numbers: list[Number]) -> Number:
    """The sum of a power of two of numbers: neighbours first, then neighbouring sums."""
    if len(numbers) == 1:
        return numbers[0]
    return in_pairs([a + b for a, b in zip(numbers[::2], numbers[1::2], strict=True)])
