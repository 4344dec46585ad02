"""Nests of topk, which sorts - by a heap, by ranks or by digits - and of binary search."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from math import log, log2, prod
from typing import NamedTuple

from xdsl.dialects.builtin import AnyFloat, IntegerType, f64, i32, i64
from xdsl.ir import Attribute

from xdsl_rlx.dialects.constants import is_integer
from xdsl_rlx.dialects.lir.memory import element_bytes
from xdsl_rlx.dialects.mir.index import BisectOp, TopkOp
from xdsl_rlx.dialects.shapes import element_of, shape_of, u8, u32
from xdsl_rlx.lowering.buffers import Argument
from xdsl_rlx.lowering.kernel_dsl import Array, Iteration, Number, cast, isnan, rolled, scratch, select
from xdsl_rlx.lowering.kernel_dsl.kernel_builder import INDEX
from xdsl_rlx.lowering.kernel_dsl.number_order import FloatOrder
from xdsl_rlx.lowering.kernels.radix import BUCKETS, DIGIT, Entries, RadixPasses, pieces_of_rows, sort_shared
from xdsl_rlx.lowering.kernels.work import NEST, Work


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


def sort_key(x: Number, element: Attribute) -> Number:
    """A signed integer in the order of the numbers, of which NaN is the largest."""
    if isinstance(element, AnyFloat):
        order = FloatOrder.of(element)
        return select(isnan(x), order.most, order.place(x))
    if element == u32:
        return cast(x, i32) ^ -(1 << 31)
    return cast(x, i64 if element == i64 else i32)


LOW_WORD = 0xFFFFFFFF


@dataclass(frozen=True)
class Rows:
    """What a sort of rows reads and writes: positions of the first `k` of `extent` in order, a row an iteration."""

    work: Work
    operand: Argument
    result: Argument
    element: Attribute
    k: int
    is_ascending: bool

    @property
    def rows(self) -> int:
        return self.operand.shape[0]

    @property
    def extent(self) -> int:
        return self.operand.shape[1]

    @property
    def key_type(self) -> IntegerType:
        return i64 if self.element in (f64, i64) else i32

    @property
    def is_narrow(self) -> bool:
        """Whether a key and a position fit into one i64."""
        return self.key_type == i32

    @property
    def digits(self) -> int:
        """How many digits a key has, counted from the smallest key of the row."""
        return 8 * element_bytes(self.element if is_integer(self.element) else self.key_type) // DIGIT

    @property
    def turned(self) -> int:
        """What a key is combined with by exclusive or, for ascending keys in the order that is wanted."""
        return 0 if self.is_ascending else -1

    def key(self, x: Number) -> Number:
        return sort_key(x, self.element) ^ self.turned


@NEST.rule(TopkOp)
def topk_nest(op: TopkOp, work: Work) -> None:
    """
    An iteration is a row. Of three ways the one of the smallest cost is taken, in nanoseconds of an AVX2 core.

    A heap costs a comparison for each element, and a walk down the heap for each that is among the best so far, of
    numbers in random order about `k (1 + ln(extent / k))`, and once more for each at the end. Ranks cost `extent`
    comparisons an element, several in an instruction. A radix sort costs a pass over the row and over a table a digit.
    """
    *outer, extent = shape_of(op.operand)
    rows, k = prod(outer), op.k.value.data
    result = work.write(op.result, (rows, k))
    if not rows * k:
        return
    given = Rows(
        work, work.read(op.operand, (rows, extent)), result, element_of(op.operand), k, op.smallest is not None
    )
    walks = k * (2 + log(extent / k))
    ways: list[tuple[float, Callable[[Rows, int], None]]] = [
        (extent + 5 * walks * max(log2(k), 1), _select_by_heap),
        (extent * (8 + extent / (12 if given.is_narrow else 6)), _sort_by_rank),
        (given.digits * (BUCKETS + 2.5 * extent), _sort_by_radix),
    ]
    cost, way = min(ways, key=lambda way: way[0])
    way(given, int(2 * cost))


def _select_by_heap(given: Rows, each: int) -> None:
    """A heap of the best `k` as the row goes by, from which the worst is then taken last."""
    work, k, extent = given.work, given.k, given.extent
    keys = work.scratch_per_piece(given.rows, each, (k,), given.key_type, "keys")

    @work.over(given.rows, each, [given.operand], [given.result, keys])
    def topk(it: Iteration, x: Array, positions: Array, keys: Array) -> None:
        heap = Heap(keys[it.piece], positions[it.index])

        def entry(at: Number) -> Entry:
            # The best have the largest keys here.
            return Entry(given.key(x[it.index, at]) ^ -1, cast(at, i64))

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


def _sort_by_rank(given: Rows, each: int) -> None:
    """The place of an element is the number of those before it in the order; all comparisons are made, in vectors."""
    work, k, extent, key_type = given.work, given.k, given.extent, given.key_type
    keys = work.scratch_per_piece(given.rows, each, (extent,), key_type, "keys")

    @work.over(given.rows, each, [given.operand], [given.result, keys])
    def ranks(it: Iteration, x: Array, positions: Array, keys: Array) -> None:
        row = keys[it.piece]
        for at in rolled(range(extent)):
            row[at] = given.key(x[it.index, at])
        for at in rolled(range(extent)):
            own, place = row[at], cast(0, key_type)
            for j in rolled(range(at)):
                place = place + cast(row[j] <= own, key_type)
            for j in rolled(range(at + 1, extent)):
                place = place + cast(row[j] < own, key_type)
            if place < k:
                positions[it.index, cast(place, INDEX)] = cast(at, i64)


@dataclass(frozen=True)
class _Positions(Entries):
    """A key and its position: one number, or two of wide keys."""

    given: Rows

    def key(self, x: Number) -> Number:
        return self.given.key(x)

    def entry(self, key: Number, at: Number) -> tuple[Number, ...]:
        if self.given.is_narrow:
            return ((cast(key, i64) << 32) | cast(at, i64),)
        return key, cast(at, i64)

    def value(self, entry: tuple[Number, ...], least: Number) -> Number:
        return entry[0] & LOW_WORD if self.given.is_narrow else entry[1]


def _sort_by_radix(given: Rows, each: int) -> None:
    """
    Stable passes from the lowest digit up; one whose digits are all equal is left out (Knuth, TAOCP 3, 5.2.5).

    Keys count from the smallest of the row, so the high digits of small integers are equal, whatever their signs.
    """
    work, k, extent, narrow, digits = given.work, given.k, given.extent, given.is_narrow, given.digits
    if digits == 1 and k == extent:
        _sort_bytes(given, each)
        return
    # A narrow key and its position are one number.
    count = 1 if narrow else 2
    if (pieces := pieces_of_rows(work, given.rows, extent, each)) > 1:
        form = _Positions(count, i64, given.key_type, given)
        sort_shared(work, given.operand, given.result, pieces, RadixPasses(digits, i64, 32 if narrow else 0), form)
        return
    entries = work.scratch_per_piece(given.rows, each, (count, 2, extent), i64, "entries")
    tallies = work.scratch_per_piece(given.rows, each, (digits, BUCKETS), i64, "tallies")
    passes = RadixPasses(digits, i64, 32 if narrow else 0)

    @work.over(given.rows, each, [given.operand], [given.result, entries, tallies])
    def radix(it: Iteration, x: Array, positions: Array, entries: Array, tallies: Array) -> None:
        row, tally = entries[it.piece], tallies[it.piece]
        tally[...] = 0
        least = given.key(x[it.index, 0])
        for at in rolled(range(extent)):
            least = min(least, given.key(x[it.index, at]))
        for at in rolled(range(extent)):
            key = cast(given.key(x[it.index, at]) - least, i64)
            if narrow:
                key = (key << 32) | cast(at, i64)
            row[0, 0, at] = key
            if not narrow:
                row[1, 0, at] = cast(at, i64)
            passes.count(tally, key)
        side = passes.sort(row, tally, extent)
        for at in rolled(range(k)):
            positions[it.index, at] = row[0, side, at] & LOW_WORD if narrow else row[1, side, at]


def _sort_bytes(given: Rows, each: int) -> None:
    """One pass over keys of a digit, right into the result."""
    work, extent = given.work, given.extent
    tallies = work.scratch_per_piece(given.rows, each, (1, BUCKETS), i64, "tallies")
    passes = RadixPasses(1, i32)
    least = given.turned & -BUCKETS if given.element == u8 else -BUCKETS // 2

    @work.over(given.rows, each, [given.operand], [given.result, tallies])
    def radix(it: Iteration, x: Array, positions: Array, tallies: Array) -> None:
        tally = tallies[it.piece]
        tally[...] = 0
        for at in rolled(range(extent)):
            passes.count(tally, given.key(x[it.index, at]) - least)
        passes.begin(tally, 0)
        for at in rolled(range(extent)):
            place = passes.next(tally, given.key(x[it.index, at]) - least, 0)
            positions[it.index, place] = cast(at, i64)


SEARCHES = 32
"""Numbers that are looked up side by side: while one waits for memory, others go on; benchmark: `searchsorted` of
breadth.py. They are two vectors of gathers."""


@NEST.rule(BisectOp)
def bisect_nest(op: BisectOp, work: Work) -> None:
    """An iteration looks up some numbers side by side, all in as many steps, without a branch."""
    *rows, length = shape_of(op.table)
    count, many = prod(rows), prod(shape_of(op.x)[len(rows) :])
    if not count * many:
        work.write(op.result, (count, many))
        return
    reads = [work.read(op.table, (count, length)), work.read(op.x, (count, many))]
    result, element, left = work.write(op.result, (count, many)), element_of(op.table), op.left is not None
    halves, size = tuple(_halves(length)), min(SEARCHES, many)
    blocks, compare = -(-many // size), partial(_is_before, element=element, left=left)
    # of short indices, as many as of f32 fit into a vector
    narrow = i32 if length < 1 << 31 else i64

    @work.over(count * blocks, 8 * size * length.bit_length(), reads, [result])
    def bisect(it: Iteration, table: Array, x: Array, result: Array) -> None:
        row, block = it.unravel(count, blocks)
        # the last block begins earlier, so that it is whole
        start, first = min(block * size, many - size), scratch(size, narrow)
        for k in range(size):
            first[k] = 0
        for half in halves:
            for k in range(size):
                at = first[k]
                is_before = compare(table[row, cast(at, INDEX) + (half - 1)], x[row, start + k])
                first[k] = select(is_before, at + half, at)
        for k in range(size):
            result[row, start + k] = cast(first[k], i64)


def _is_before(y: Number, own: Number, element: Attribute, left: bool) -> Number:
    """Whether a number of a table is less than the one looked up, or not `left` and equal; NaN is the largest."""
    if not isinstance(element, AnyFloat):
        key, other = sort_key(y, element), sort_key(own, element)
        return key < other if left else key <= other
    if left:
        return (y < own) | (isnan(own) & (y == y))
    return (y <= own) | isnan(own)


def _halves(length: int) -> Iterator[int]:
    """How far each step of a search goes: what is left are `length - half` places, the last of which is an end."""
    while length:
        half = (length + 1) // 2
        yield half
        length -= half
