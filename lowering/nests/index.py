"""Nests of ops that read and write by indices held in tensors, of topk, and of running sums."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import NamedTuple

from xdsl.dialects.builtin import AnyFloat, f32, f64, i32, i64
from xdsl.ir import Attribute

from xdsl_rlx.dialects.mir.index import CumsumOp, GatherOp, ScatterAddOp, TopkOp
from xdsl_rlx.dialects.shapes import compute_type, element_of, shape_of, u8, u32
from xdsl_rlx.lowering.buffers import Argument
from xdsl_rlx.lowering.nest import Array, Iteration, Number, bitcast, cast, clamp, isnan, rolled, scratch, select
from xdsl_rlx.lowering.nest.kernel_builder import INDEX
from xdsl_rlx.lowering.nests.work import NEST, Work


def clamped(index: Number, extent: int) -> Number:
    """An index of any integer type as one of an axis: the nearest, where it is outside."""
    return cast(clamp(cast(index, i64), 0, extent - 1), INDEX)


@NEST.rule(GatherOp)
def gather_nest(op: GatherOp, work: Work) -> None:
    """An iteration copies the slice of one index."""
    batches, outer, extent, count, inner = op.extents
    reads = [work.read(op.table, (batches, outer, extent, inner)), work.read(op.indices, (batches, count))]
    result = work.write(op.result, (batches, outer, count, inner))

    @work.over(batches * outer * count if inner else 0, 4 + inner, reads, [result])
    def gather(it: Iteration, table: Array, indices: Array, result: Array) -> None:
        b, o, k = it.unravel(batches, outer, count)
        result[b, o, k] = table[b, o, clamped(indices[b, k], extent)]


COLUMNS = 64
"""Columns of a scatter that one iteration goes through."""


@NEST.rule(ScatterAddOp)
def scatter_add_nest(op: ScatterAddOp, work: Work) -> None:
    """An iteration clears and sums a block of columns, index by index: equal indices never meet in two threads."""
    batches, outer, extent, count, inner = op.extents
    updates = work.read(op.updates, (batches, outer, count, inner))
    indices = work.read(op.indices, (batches, count))
    result = work.write(op.result, (batches, outer, extent, inner))
    blocks, width, element = -(-inner // COLUMNS), max(min(inner, COLUMNS), 1), element_of(op.updates)
    sum_type = i64 if element in (u8, u32) else compute_type(element)

    @work.over(batches * outer * blocks if extent else 0, (extent + 2 * count) * width, [updates, indices], [result])
    def scatter_add(it: Iteration, updates: Array, indices: Array, result: Array) -> None:
        b, o, block = it.unravel(batches, outer, blocks)
        columns = range(block * COLUMNS, min((block + 1) * COLUMNS, inner))
        for v in range(extent):
            for j in columns:
                result[b, o, v, j] = 0
        for k in range(count):
            target = clamped(indices[b, k], extent)
            for j in columns:
                total = cast(result[b, o, target, j], sum_type) + cast(updates[b, o, k, j], sum_type)
                result[b, o, target, j] = total


class Entry(NamedTuple):
    """What a heap holds. Of two the one of larger key is better, of equal keys the one of smaller position."""

    key: Number
    position: Number

    def is_worse(self, other: Entry) -> Number:
        return self.key < other.key or (self.key == other.key and self.position > other.position)


@dataclass(frozen=True)
class Heap:
    """The best entries so far of a row, as a heap whose root is the worst of them."""

    keys: Array
    positions: Array

    def __getitem__(self, at: Number) -> Entry:
        return Entry(self.keys[at], self.positions[at])

    def __setitem__(self, at: Number, entry: Entry) -> None:
        self.keys[at], self.positions[at] = entry

    def sink(self, hole: Number, size: Number, entry: Entry) -> None:
        """Place `entry` at `hole` of a heap of `size`, or below: worse children move up."""
        last = size - 1
        while True:
            left, right = min(2 * hole + 1, last), min(2 * hole + 2, last)
            a, b = self[left], self[right]
            is_right = b.is_worse(a)
            worse = Entry(select(is_right, b.key, a.key), select(is_right, b.position, a.position))
            if 2 * hole + 1 > last or not worse.is_worse(entry):
                break
            self[hole] = worse
            hole = select(is_right, right, left)
        self[hole] = entry


@dataclass(frozen=True)
class FloatOrder:
    """Floats by their place in the order of all of them, an integer; the bits of negative ones run backwards."""

    element: Attribute
    bits: Attribute
    most: int
    """The largest place, one that no number has."""

    @staticmethod
    def of(element: Attribute) -> FloatOrder:
        return FloatOrder(f64, i64, 2**63 - 1) if element == f64 else FloatOrder(f32, i32, 2**31 - 1)

    def turned(self, x: Number) -> Number:
        return x ^ ((x >> self.most.bit_length()) & self.most)

    def place(self, x: Number) -> Number:
        """Both zeros are one number."""
        return self.turned(bitcast(x + 0.0, self.bits))

    def number(self, place: Number) -> Number:
        return bitcast(self.turned(place), self.element)

    def magnitude(self, x: Number) -> Number:
        """An integer that is the larger the larger a float is, whatever its sign; NaN is above all."""
        return bitcast(x, self.bits) & self.most


def sort_key(x: Number, element: Attribute) -> Number:
    """A signed integer in the order of the numbers, of which NaN is the largest."""
    if isinstance(element, AnyFloat):
        order = FloatOrder.of(element)
        return select(isnan(x), order.most, order.place(x))
    if element == u32:
        return cast(x, i32) ^ -(1 << 31)
    return cast(x, i64 if element == i64 else i32)


@NEST.rule(TopkOp)
def topk_nest(op: TopkOp, work: Work) -> None:
    """An iteration is a row: a heap of the best `k` as the row goes by, from which the worst is then taken last."""
    *outer, extent = shape_of(op.operand)
    rows, k, element = prod(outer), op.k.value.data, element_of(op.operand)
    turned = -1 if op.smallest is not None else 0
    result = work.write(op.result, (rows, k))
    if not rows * k:
        return
    each = 4 * extent + 16 * k
    keys = work.scratch_per_piece(rows, each, (k,), i64 if element in (f64, i64) else i32, "keys")

    @work.over(rows, each, [work.read(op.operand, (rows, extent))], [result, keys])
    def topk(it: Iteration, x: Array, positions: Array, keys: Array) -> None:
        heap = Heap(keys[it.piece], positions[it.index])

        def entry(at: Number) -> Entry:
            return Entry(sort_key(x[it.index, at], element) ^ turned, cast(at, i64))

        for at in range(k):
            heap[at] = entry(at)
        for hole in reversed(range(k // 2)):
            heap.sink(hole, k, heap[hole])
        for at in range(k, extent):
            new = entry(at)
            if new.key > heap.keys[0]:
                heap.sink(0, k, new)
        for last in reversed(range(1, k)):
            moved, heap[last] = heap[last], heap[0]
            heap.sink(0, last, moved)


LENGTH = 4096
"""Positions of a long row that one iteration sums up: fixed, so that results do not depend on threads."""

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
    """An iteration is a row, or a block of a long one, which begins with the sum of the blocks before."""
    outer, extent = x.shape
    blocks = -(-extent // LENGTH) if outer < FEW_ROWS else 1
    length = LENGTH if blocks > 1 else extent
    type_, exclusive, reverse = _running_type(op), op.is_exclusive, op.is_reverse
    starts = [_block_starts(op, work, x, blocks)] if blocks > 1 else []

    @work.over(outer * blocks, 4 * length, [x, *starts], [result])
    def running_rows(it: Iteration, x: Array, *rest: Array) -> None:
        *starts, result = rest
        o, block = it.unravel(outer, blocks)
        before = starts[0][o, block] if starts else cast(0, type_)
        for p in range(block * length, min((block + 1) * length, extent)):
            at = extent - 1 - p if reverse else p
            total = before + cast(x[o, at], type_)
            result[o, at] = before if exclusive else total
            before = total


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
