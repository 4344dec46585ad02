"""Sorts of values alone: networks over many rows side by side, and passes by digits over few long ones.

In a network, the same element of several rows is one vector, whose places are called lanes: a comparison of elements is
a minimum and a maximum of vectors, whatever the numbers are. It is a bitonic sort whose merges begin with a mirrored
comparison, so that all of them ascend (Batcher, 1968); elements behind the end of a row count as the largest key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import AnyFloat, IntegerType, f64, i32, i64
from xdsl.ir import Attribute

from xdsl_rlx.dialects import constants
from xdsl_rlx.dialects.constants import is_integer
from xdsl_rlx.dialects.lir.memory import element_bytes
from xdsl_rlx.dialects.mir.index import SortOp
from xdsl_rlx.dialects.shapes import element_of, shape_of, u32
from xdsl_rlx.lowering.buffers import Argument
from xdsl_rlx.lowering.nest import Array, Iteration, Number, bitcast, cast, isnan, lanes, rolled, select
from xdsl_rlx.lowering.nest.kernel_builder import INDEX
from xdsl_rlx.lowering.nests.sort import BUCKETS, DIGIT, FloatOrder, RadixPasses
from xdsl_rlx.lowering.nests.work import NEST, Work
from xdsl_rlx.lowering.tiles.side_by_side import MERGED

BLOCK = 8
"""Elements that are sorted in registers, and that a pass over a merge holds there: three of its steps. Trades loads and
stores for registers; benchmark: `sort 1000x64` of breadth.py."""

COMPARED = 0.8
"""Nanoseconds of a comparison of two vectors of 64 bytes, of an AVX-512 core."""

MOVED = 1.5
"""Nanoseconds of an element in a pass by digits."""


@dataclass(frozen=True)
class Keys:
    """Numbers as signed integers of their order, which are numbers again."""

    element: Attribute
    is_descending: bool

    @property
    def type(self) -> IntegerType:
        return i64 if self.element in (f64, i64) else i32

    @property
    def lanes(self) -> int:
        """Rows of a block: 64 bytes of each element."""
        return 64 // element_bytes(self.type)

    @property
    def most(self) -> int:
        """The largest key."""
        return (1 << (8 * element_bytes(self.type) - 1)) - 1

    @property
    def turned(self) -> int:
        return -1 if self.is_descending else 0

    def key(self, x: Number) -> Number:
        """NaN has the largest key, whatever its sign; a zero with a sign comes before one without."""
        if isinstance(self.element, AnyFloat):
            order = FloatOrder.of(self.element)
            return select(isnan(x), order.most, order.turned(bitcast(x, order.bits))) ^ self.turned
        if self.element == u32:
            return cast(x, i32) ^ (-(1 << 31) ^ self.turned)
        return cast(x, self.type) ^ self.turned

    def number(self, key: Number) -> Number:
        if isinstance(self.element, AnyFloat):
            return FloatOrder.of(self.element).number(key ^ self.turned)
        return cast(key ^ (-(1 << 31) ^ self.turned if self.element == u32 else self.turned), self.element)


@NEST.rule(SortOp)
def sort_nest(op: SortOp, work: Work) -> None:
    """By a network where that is cheaper than passes by digits; see `topk_nest`."""
    *outer, extent = shape_of(op.operand)
    rows, keys = prod(outer), Keys(element_of(op.operand), op.descending is not None)
    shape = (rows, extent)
    operand, result = work.read(op.operand, shape), work.write(op.result, shape)
    if not rows * extent:
        return
    blocks, network = -(-rows // keys.lanes), int(COMPARED * _comparisons(extent)) + 2 * extent
    digits = 8 * element_bytes(keys.element if is_integer(keys.element) else keys.type) // DIGIT
    passes = int(digits * (BUCKETS + MOVED * extent))
    if blocks * network <= rows * passes:
        _by_network(work, operand, result, keys, network)
    else:
        _by_digits(work, operand, result, keys, digits, passes)


def _comparisons(extent: int) -> int:
    """About as many as a network of `extent` elements has."""
    steps = (extent - 1).bit_length()
    return extent * steps * (steps + 1) // 4


Group = tuple[int, ...]


def _exchanged(values: Sequence[Number], pairs: Sequence[tuple[int, int]]) -> Sequence[Number]:
    """The numbers with the smaller one of each pair first."""
    for a, b in pairs:
        low, high = min(values[a], values[b]), max(values[a], values[b])
        values = tuple(low if at == a else high if at == b else values[at] for at in tuple(range(len(values))))
    return values


def _sorting_pairs(count: int) -> tuple[tuple[int, int], ...]:
    """The comparisons that sort so many numbers, a power of two: odd-even mergesort (Batcher, 1968)."""
    found: list[tuple[int, int]] = []
    size = 1
    while size < count:
        step = size
        while step:
            for first in range(step % size, count - step, 2 * step):
                for at in range(first, first + step):
                    if at // (2 * size) == (at + step) // (2 * size):
                        found.append((at, at + step))
            step //= 2
        size *= 2
    return tuple(found)


def _halving_pairs(count: int, first: int = 0) -> Iterator[tuple[int, int]]:
    """The steps of a merge of so many numbers from the second one on: distances of a half, a quarter, ..."""
    step = count // 2
    while step:
        for low in range(0, count, 2 * step):
            for at in range(low, low + step):
                yield first + at, first + at + step
        step //= 2


@dataclass(frozen=True)
class _Shape:
    """
    How many elements some steps of a merge compare at once.

    With `mirrored`, the first step compares the first element with the last one, the second one with the last but one;
    the elements are then `width / 2` of the first half, and their mirror images.
    """

    width: int
    mirrored: bool

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """The comparisons, of elements in ascending order of their places."""
        half = self.width // 2
        if not self.mirrored:
            return tuple(_halving_pairs(self.width))
        first = tuple((at, self.width - 1 - at) for at in range(half))
        return (*first, *_halving_pairs(half), *_halving_pairs(half, half))

    def place(self, size: Number, apart: Number, start: Number, at: int) -> Number:
        """Where element `at` of a group is that begins `start` behind the begin of its block."""
        half = self.width // 2
        if self.mirrored and at >= half:
            return size - 1 - (self.width - 1 - at) * apart - start
        return at * apart + start


@dataclass(frozen=True)
class _Pass:
    """Steps of a merge to `size` elements that are done at once, of elements that are `apart` from each other."""

    size: int
    apart: int
    shape: _Shape

    @property
    def block(self) -> int:
        """Over how many elements the ones of one group are spread."""
        return self.size if self.shape.mirrored else self.apart * self.shape.width


def _passes(size: int) -> Iterator[_Pass]:
    """The merge of two sorted halves of `size` elements, a power of two and more than a block."""
    steps, most = size.bit_length() - 1, BLOCK.bit_length() - 1
    first = (steps - 1) % most + 1
    apart = size >> first
    yield _Pass(size, apart, _Shape(1 << first, mirrored=True))
    while apart > 1:
        apart >>= most
        yield _Pass(size, apart, _Shape(1 << most, mirrored=False))


def _by_network(work: Work, operand: Argument, result: Argument, keys: Keys, each: int) -> None:
    """An iteration sorts a block of rows."""
    (rows, extent), size = operand.shape, keys.lanes
    first = min(BLOCK, 1 << (extent - 1).bit_length())
    padded, whole = -(-extent // first) * first, 1 << (extent - 1).bit_length()
    blocks, initial = -(-rows // size), _sorting_pairs(first)
    merges = tuple(step for power in range(first.bit_length(), whole.bit_length()) for step in _passes(1 << power))
    shapes = {"block": (whole, size), "flat": (padded * size,), "between": (extent * size,)}
    room = [work.scratch_per_piece(blocks, each, shape, keys.type, name) for name, shape in shapes.items()]
    groups, kinds = size // MERGED, tuple(dict.fromkeys(step.shape for step in merges))
    # passes of one shape differ in numbers from memory alone: each shape is compiled once
    plan = [[kinds.index(step.shape), step.size, step.apart, step.block] for step in merges]
    table = work.constant(constants.from_nested([*plan, [extent, 0, 0, 0]], i64))

    @work.over(blocks, each, [operand, table], [result, *room])
    def sort(it: Iteration, x: Array, plan: Array, y: Array, block: Array, flat: Array, between: Array) -> None:
        v, line, part = block[it.piece], flat[it.piece], between[it.piece]
        # two loops, of which each merges a few lines into one: LLVM has good shuffles for as many
        for group in rolled(range(groups)):
            row = tuple(min(it.index * size + group + number * groups, rows - 1) for number in tuple(range(MERGED)))
            for e in rolled(range(extent)):
                for number in tuple(range(MERGED)):
                    part[(group * extent + e) * MERGED + number] = keys.key(x[row[number], e])
        for e in rolled(range(extent * MERGED)):
            for group in tuple(range(groups)):
                line[e * groups + group] = part[group * extent * MERGED + e]
        for e in rolled(range(extent, padded)):
            for lane in lanes(range(size)):
                line[e * size + lane] = keys.most
        for e in rolled(range(padded, whole)):
            for lane in lanes(range(size)):
                v[e, lane] = keys.most
        for begin in rolled(range(0, padded, first)):
            for lane in lanes(range(size)):
                found = _exchanged(tuple(line[(begin + at) * size + lane] for at in tuple(range(first))), initial)
                for at in tuple(range(first)):
                    v[begin + at, lane] = found[at]
        for step in rolled(range(len(merges))):
            kind, full, apart, spread = (cast(plan[step, n], INDEX) for n in range(4))
            for number in tuple(range(len(kinds))):
                if kind == number:
                    _merge(v, kinds[number], full, apart, -(-padded // spread), spread)
        # read from memory, the length is not unrolled
        for e in rolled(range(cast(plan[len(merges), 0], INDEX))):
            for lane in lanes(range(size)):
                line[e * size + lane] = v[e, lane]
        for e in rolled(range(extent * MERGED)):
            for group in tuple(range(groups)):
                part[group * extent * MERGED + e] = line[e * groups + group]
        for group in rolled(range(groups)):
            row = tuple(min(it.index * size + group + number * groups, rows - 1) for number in tuple(range(MERGED)))
            for e in rolled(range(extent)):
                for number in tuple(range(MERGED)):
                    y[row[number], e] = keys.number(part[(group * extent + e) * MERGED + number])


def _merge(v: Array, shape: _Shape, full: Number, apart: Number, blocks: Number, spread: Number) -> None:
    """One pass over the elements of all rows; blocks behind the last one are of largest keys."""
    _, size = v.shape
    for number in rolled(range(blocks)):
        begin = number * spread
        for start in rolled(range(apart)):
            for lane in lanes(range(size)):
                places = tuple(begin + shape.place(full, apart, start, at) for at in tuple(range(shape.width)))
                found = _exchanged(tuple(v[place, lane] for place in places), shape.pairs)
                for at in tuple(range(shape.width)):
                    v[places[at], lane] = found[at]


def _by_digits(work: Work, operand: Argument, result: Argument, keys: Keys, digits: int, each: int) -> None:
    """A row an iteration: passes from the lowest digit up, as in `topk`, without positions."""
    rows, extent = operand.shape
    entries = work.scratch_per_piece(rows, each, (1, 2, extent), keys.type, "entries")
    tallies = work.scratch_per_piece(rows, each, (digits, BUCKETS), i64, "tallies")
    passes = RadixPasses(digits, keys.type)

    @work.over(rows, each, [operand], [result, entries, tallies])
    def radix(it: Iteration, x: Array, y: Array, entries: Array, tallies: Array) -> None:
        row, tally = entries[it.piece], tallies[it.piece]
        tally[...] = 0
        least = keys.key(x[it.index, 0])
        for at in rolled(range(extent)):
            least = min(least, keys.key(x[it.index, at]))
        for at in rolled(range(extent)):
            row[0, 0, at] = keys.key(x[it.index, at]) - least
            passes.count(tally, row[0, 0, at])
        side = passes.sort(row, tally)
        for at in rolled(range(extent)):
            y[it.index, at] = keys.number(row[0, side, at] + least)
