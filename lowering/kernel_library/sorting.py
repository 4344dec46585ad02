"""Functions of the library that sort rows by a network, many side by side.

In a network, the same element of several rows is one vector, whose places are called lanes: a comparison of elements is
a minimum and a maximum of vectors, whatever the numbers are. It is a bitonic sort whose merges begin with a mirrored
comparison, so that all of them ascend (Batcher, 1968); elements behind the end of a row count as the largest key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute

from xdsl_rlx.dialects.shapes import DTYPES
from xdsl_rlx.lowering.kernel_dsl import Array, Iteration, Nested, Number, cast, lanes, rolled
from xdsl_rlx.lowering.kernel_dsl.kernel_builder import INDEX
from xdsl_rlx.lowering.kernel_dsl.number_order import Keys
from xdsl_rlx.lowering.kernel_library.called import CalledFunction, IteratedFunction, Work
from xdsl_rlx.lowering.tile_blocks.side_by_side import MERGED

BLOCK = 8
"""Elements that are sorted in registers, and that a pass over a merge holds there: three of its steps. Trades loads and
stores for registers; benchmark: `sort 1000x64` of breadth.py."""


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


_KINDS = (*(_Shape(width, mirrored=True) for width in (2, 4, 8)), _Shape(BLOCK, mirrored=False))
"""What passes compare at once, of networks of more elements than a block."""


WORDS = 5
"""Numbers that functions are called with: see `NetworkSizes.words`."""

COLUMNS = 5
"""Numbers of a pass in `NetworkSizes.table`."""

Numbers: TypeAlias = Sequence[Number]


@dataclass(frozen=True)
class NetworkSizes:
    """How many elements a network sorts."""

    rows: int
    extent: int

    @property
    def whole(self) -> int:
        """The next power of two."""
        return 1 << (self.extent - 1).bit_length()

    @property
    def first(self) -> int:
        """Elements that are sorted at first, in registers."""
        return min(BLOCK, self.whole)

    @property
    def padded(self) -> int:
        """The elements of all of these blocks."""
        return -(-self.extent // self.first) * self.first

    @property
    def table(self) -> list[list[int]]:
        """The passes: the number of the kind, elements of a merge, how far they are apart, of a group, and groups."""
        powers = range(self.first.bit_length(), self.whole.bit_length())
        steps = [step for power in powers for step in _passes(1 << power)]
        found = [
            [_KINDS.index(step.shape), step.size, step.apart, step.block, -(-self.padded // step.block)]
            for step in steps
        ]
        # a table is not empty
        return found or [[0] * COLUMNS]

    @property
    def words(self) -> list[int]:
        """What the functions are called with."""
        steps = len(self.table) if self.whole > self.first else 0
        return [self.extent, self.rows, self.padded, self.whole, steps]


def read(it: Iteration, plan: Array, x: Array, between: Array, line: Array, keys: Keys) -> None:
    """Bring the keys of a block of rows side by side; those of the last row again, if there are no more."""
    extent, rows = cast(plan[0], INDEX), cast(plan[1], INDEX)
    size, groups = keys.lanes, keys.lanes // MERGED
    # two loops, of which each merges a few lines into one: LLVM has good shuffles for as many
    for group in rolled(range(groups)):
        row = tuple(min(it.index * size + group + number * groups, rows - 1) for number in tuple(range(MERGED)))
        for e in rolled(range(extent)):
            for number in tuple(range(MERGED)):
                between[(group * extent + e) * MERGED + number] = keys.key(x[row[number] * extent + e])
    for e in rolled(range(extent * MERGED)):
        for group in tuple(range(groups)):
            line[e * groups + group] = between[group * (extent * MERGED) + e]


def write(it: Iteration, plan: Array, line: Array, between: Array, y: Array, keys: Keys) -> None:
    """Take the keys of a block of rows back, as numbers."""
    extent, rows = cast(plan[0], INDEX), cast(plan[1], INDEX)
    size, groups = keys.lanes, keys.lanes // MERGED
    for e in rolled(range(extent * MERGED)):
        for group in tuple(range(groups)):
            between[group * (extent * MERGED) + e] = line[e * groups + group]
    for group in rolled(range(groups)):
        row = tuple(min(it.index * size + group + number * groups, rows - 1) for number in tuple(range(MERGED)))
        for e in rolled(range(extent)):
            for number in tuple(range(MERGED)):
                y[row[number] * extent + e] = keys.number(between[(group * extent + e) * MERGED + number])


def sort_first(sizes: Numbers, line: Array, block: Array, first: int, most: int) -> None:
    """Sort blocks of so many elements of each lane; elements behind the last one count as the largest key."""
    _, size = block.shape
    extent, _, padded, *_ = sizes
    for e in rolled(range(extent, padded)):
        for lane in lanes(range(size)):
            line[e * size + lane] = most
    for begin in rolled(range(0, padded, first)):
        for lane in lanes(range(size)):
            places = tuple(begin + at for at in tuple(range(first)))
            found = _exchanged(tuple(line[place * size + lane] for place in places), _sorting_pairs(first))
            for at in tuple(range(first)):
                block[places[at], lane] = found[at]


def bring_back(sizes: Numbers, line: Array, block: Array) -> None:
    """The sorted lanes as a line."""
    _, size = block.shape
    for e in rolled(range(sizes[0])):
        for lane in lanes(range(size)):
            line[e * size + lane] = block[e, lane]


def merge(sizes: Numbers, table: Array, block: Array, most: int) -> None:
    """Merge sorted blocks of each lane; those behind the last one are of largest keys."""
    _, size = block.shape
    _, _, padded, whole, steps = sizes
    for e in rolled(range(padded, whole)):
        for lane in lanes(range(size)):
            block[e, lane] = most
    for step in rolled(range(steps)):
        kind, full, apart, spread, count = (cast(table[step, n], INDEX) for n in range(COLUMNS))
        for number in tuple(range(len(_KINDS))):
            if kind == number:
                _merge(block, _KINDS[number], full, apart, count, spread)


def sort(it: Iteration, plan: Array, table: Array, line: Array, block: Array, most: int) -> None:
    sizes = tuple(cast(plan[n], INDEX) for n in tuple(range(WORDS)))
    sort_first(sizes, line, block, BLOCK, most)
    merge(sizes, table, block, most)
    bring_back(sizes, line, block)


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


@dataclass(frozen=True)
class _KeysFunction(IteratedFunction):
    """What has numbers on one side, and keys on the other one."""

    WORDS = WORDS

    ELEMENTS: ClassVar[tuple[str, ...]] = tuple(DTYPES)

    is_descending: bool = False

    @property
    def keys(self) -> Keys:
        """The keys of the numbers."""
        return Keys(DTYPES[self.element], bool(self.is_descending))

    def work(self, words: Sequence[int], length: int) -> Work:
        elements = words[0] * self.keys.lanes * length
        return Work(0, (elements,), (elements, elements))


@dataclass(frozen=True)
class SortReadFunction(_KeysFunction):
    """Bring the keys of blocks of rows side by side."""

    FORM = "sort_read_d{is_descending:d}_{element}"
    READS, WRITES = ("x",), ("between", "line")

    @property
    def elements(self) -> Mapping[str, Attribute]:
        return {"x": self.keys.element, "between": self.keys.type, "line": self.keys.type}

    @property
    def body(self) -> Nested:
        return Nested(read, {"keys": self.keys})


@dataclass(frozen=True)
class SortWriteFunction(_KeysFunction):
    """Take the keys of blocks of rows back, as numbers."""

    FORM = "sort_write_d{is_descending:d}_{element}"
    READS, WRITES = ("line",), ("between", "y")

    @property
    def elements(self) -> Mapping[str, Attribute]:
        return {"line": self.keys.type, "between": self.keys.type, "y": self.keys.element}

    @property
    def body(self) -> Nested:
        return Nested(write, {"keys": self.keys})


@dataclass(frozen=True)
class SortNetworkFunction(IteratedFunction):
    """Sort the lanes of vectors of keys."""

    WORDS = WORDS
    FORM = "sort_network_v{lanes}_{element}"
    ELEMENTS = ("i32", "i64")
    READS, WRITES = ("table",), ("line", "block")

    lanes: int

    @property
    def elements(self) -> Mapping[str, Attribute]:
        return {"table": i64, **dict.fromkeys(self.WRITES, DTYPES[self.element])}

    @property
    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        return {"table": (COLUMNS,), "block": (self.lanes,)}

    def work(self, words: Sequence[int], length: int) -> Work:
        elements = words[0] * self.lanes * length
        return Work(0, (COLUMNS * words[4] * length,), (2 * elements, elements))

    @property
    def body(self) -> Nested:
        most = Keys(DTYPES[self.element], False).most
        return Nested(sort, {"most": most})


SORTS: tuple[type[CalledFunction], ...] = (SortReadFunction, SortNetworkFunction, SortWriteFunction)
