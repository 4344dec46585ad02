"""Nests of ops that read and write by indices held in tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import TypeAlias

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from xdsl_rlx.dialects.constants import integer_range, is_integer
from xdsl_rlx.dialects.mir.index import GatherOp, IndexAddOp, ScatterAddOp, ScatterMaxOp, ScatterOp
from xdsl_rlx.dialects.shapes import compute_type, element_of, u8, u32
from xdsl_rlx.lowering.buffers import Argument
from xdsl_rlx.lowering.kernel_dsl import Array, Iteration, Number, cast, clamp, maximum, minimum, scratch
from xdsl_rlx.lowering.kernel_dsl.kernel_builder import INDEX
from xdsl_rlx.lowering.kernels.work import NEST, Work


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
"""Columns of a scatter that one iteration goes through at least."""

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
