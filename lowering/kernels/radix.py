"""Stable passes over the digits of keys: of rows that a thread sorts alone, and of long rows that threads share."""

from __future__ import annotations

import abc
from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerType, i32, i64

from xdsl_rlx.dialects import constants
from xdsl_rlx.lowering.buffers import Argument
from xdsl_rlx.lowering.kernel_dsl import Array, Iteration, Number, cast, nest, rolled, scratch, select
from xdsl_rlx.lowering.kernel_dsl.kernel_builder import INDEX
from xdsl_rlx.lowering.kernels.work import Work

DIGIT = 8
"""Bits by which a pass sorts."""

BUCKETS = 1 << DIGIT


@dataclass(frozen=True)
class RadixPasses:
    """
    Stable passes over `digits` digits of keys, the lowest of which begins at a bit.

    A digit that is equal in all keys is left out (Knuth, TAOCP 3, 5.2.5).
    """

    digits: int
    type: IntegerType
    first_bit: int = 0

    def digit(self, key: Number, number: Number | int) -> Number:
        """A digit of a key, counted from the lowest one."""
        first = number * DIGIT + self.first_bit
        return cast((key >> (first if isinstance(first, int) else cast(first, self.type))) & (BUCKETS - 1), INDEX)

    def count(self, tally: Array, key: Number) -> None:
        """Count the digits of a key in [digits, buckets]."""
        for number in tuple(range(self.digits)):
            place = self.digit(key, number)
            tally[number, place] = tally[number, place] + 1

    def sort(self, row: Array, tally: Array, extent: Number | int) -> Number:
        """
        Sort `extent` keys of `row[0, 0]`, and with them what is in the other parts.

        Gives the side `row[:, side]` where all are in the end.
        """
        parts = row.shape[0]
        side = cast(0, INDEX)
        for number in rolled(range(self.digits)):
            if tally[number, self.digit(row[0, side, 0], number)] < cast(extent, i64):
                self.begin(tally, number)
                for at in rolled(range(extent)):
                    place = self.next(tally, row[0, side, at], number)
                    for part in tuple(range(parts)):
                        row[part, 1 - side, place] = row[part, side, at]
                side = 1 - side
        return side

    def begin(self, tally: Array, number: Number | int) -> None:
        """Make of the sizes of the buckets of a digit where each begins."""
        before = cast(0, i64)
        for bucket in rolled(range(BUCKETS)):
            size = tally[number, bucket]
            tally[number, bucket] = before
            before = before + size

    def next(self, tally: Array, key: Number, number: Number | int) -> Number:
        """The place of a key by a digit, behind those of its bucket so far."""
        bucket = self.digit(key, number)
        place = tally[number, bucket]
        tally[number, bucket] = place + 1
        return cast(place, INDEX)


def pieces_of_rows(work: Work, rows: int, extent: int, each: int) -> int:
    """Into how many pieces a row is cut where threads share it; 1 where a thread sorts it, in `each` operations."""
    if not 0 < rows < work.threads or work.pieces(rows * extent, each // extent) < work.threads:
        return 1
    return -(-work.threads // rows)


@dataclass(frozen=True)
class Entries(abc.ABC):
    """What a sort moves: entries of one or two numbers, of which the first holds the key in the order of the result."""

    numbers: int
    type: IntegerType
    """Of each number."""
    key_type: IntegerType

    @abc.abstractmethod
    def key(self, x: Number) -> Number:
        """The key of an element."""

    @abc.abstractmethod
    def entry(self, key: Number, at: Number) -> tuple[Number, ...]:
        """What stands for an element, of its key less the least one of the row, and its position."""

    @abc.abstractmethod
    def value(self, entry: tuple[Number, ...], least: Number) -> Number:
        """What the result has."""


def sort_shared(
    work: Work, operand: Argument, result: Argument, pieces: int, passes: RadixPasses, form: Entries
) -> None:
    """
    Sort rows in so many pieces each: for each digit all count theirs, then all move theirs behind those before.

    The result has the first elements of each row.
    """
    (rows, extent), digits = operand.shape, passes.digits
    shared = _Shared(
        work,
        pieces,
        passes,
        form,
        bounds=work.scratch((2, rows, pieces), form.key_type, "bounds"),
        entries=work.scratch((rows, form.numbers, 2, extent), form.type, "entries"),
        tallies=work.scratch((rows, pieces, BUCKETS), i64, "tallies"),
        sides=work.scratch((rows, digits + 1), i64, "sides"),
    )
    shared.enter(operand)
    shared.sort()
    shared.leave(result)


@dataclass(frozen=True)
class _Shared:
    """Rows that threads sort in pieces: an iteration of each launch is a piece of a row."""

    work: Work
    pieces: int
    passes: RadixPasses
    form: Entries
    bounds: Argument
    """The least key and the largest one of each piece."""
    entries: Argument
    """On two sides, between which entries are moved."""
    tallies: Argument
    """How many entries of each piece have which digit."""
    sides: Argument
    """Where the entries of a row are when so many digits are sorted by."""

    @property
    def iterations(self) -> int:
        return self.entries.shape[0] * self.pieces

    @property
    def each(self) -> int:
        """The elements of a piece, but of the last one."""
        return -(-self.entries.shape[-1] // self.pieces)

    def enter(self, operand: Argument) -> None:
        """Make entries of elements."""
        form, pieces, each, (rows, extent) = self.form, self.pieces, self.each, operand.shape
        numbers = tuple(range(form.numbers))

        @self.work.over(self.iterations, each, [operand], [self.bounds, self.sides], chunk=1)
        def bound(it: Iteration, x: Array, bounds: Array, sides: Array) -> None:
            row, piece = it.unravel(rows, pieces)
            first = min(piece * each, extent - 1)
            low, high = form.key(x[row, first]), form.key(x[row, first])
            for at in rolled(range(first, min(first + each, extent))):
                key = form.key(x[row, at])
                low, high = min(low, key), max(high, key)
            bounds[0, row, piece], bounds[1, row, piece] = low, high
            if piece < 1:
                sides[row, 0] = cast(0, i64)

        @self.work.over(self.iterations, 2 * each, [operand, self.bounds], [self.entries], chunk=1)
        def fill(it: Iteration, x: Array, bounds: Array, entries: Array) -> None:
            row, piece = it.unravel(rows, pieces)
            least = _least(bounds[0, row], pieces)
            for at in rolled(range(min(piece * each, extent), min(piece * each + each, extent))):
                entry = form.entry(form.key(x[row, at]) - least, at)
                for number in numbers:
                    entries[row, number, 0, at] = entry[number]

    def sort(self) -> None:
        """Two launches a digit, which is known when they run: all have the same kernels."""
        passes, form, pieces, each = self.passes, self.form, self.pieces, self.each
        rows, _, _, extent = self.entries.shape
        numbers, key_type = tuple(range(form.numbers)), form.key_type

        @nest
        def tally(it: Iteration, order: Array, bounds: Array, entries: Array, sides: Array, tallies: Array) -> None:
            row, piece = it.unravel(rows, pieces)
            digit = cast(order[0], INDEX)
            side, found = cast(sides[row, digit], INDEX), tallies[row, piece]
            if _has_digit(bounds[:, row], pieces, digit, key_type):
                found[...] = 0
                for at in rolled(range(min(piece * each, extent), min(piece * each + each, extent))):
                    place = passes.digit(entries[row, 0, side, at], digit)
                    found[place] = found[place] + 1

        @nest
        def move(it: Iteration, order: Array, bounds: Array, tallies: Array, entries: Array, sides: Array) -> None:
            row, piece = it.unravel(rows, pieces)
            digit, begins = cast(order[0], INDEX), scratch(BUCKETS, i64)
            side = cast(sides[row, digit], INDEX)
            after, largest = side, cast(extent, i64)
            if _has_digit(bounds[:, row], pieces, digit, key_type):
                largest = _begin_pieces(tallies[row], begins, piece)
            if largest < extent:
                after = 1 - side
                for at in rolled(range(min(piece * each, extent), min(piece * each + each, extent))):
                    bucket = passes.digit(entries[row, 0, side, at], digit)
                    place = cast(begins[bucket], INDEX)
                    begins[bucket] = begins[bucket] + 1
                    for number in numbers:
                        entries[row, number, after, place] = entries[row, number, side, at]
            if piece < 1:
                sides[row, digit + 1] = cast(after, i64)

        order = self.work.constant(constants.from_nested(list(range(passes.digits + 1)), i32))
        for digit in range(passes.digits):
            number = order.seen((1,), (1,), digit)
            tallied = [number, self.bounds, self.entries, self.sides], [self.tallies]
            moved = [number, self.bounds, self.tallies], [self.entries, self.sides]
            if digit:
                self.work.again(self.iterations, *tallied, back=2)
                self.work.again(self.iterations, *moved, back=2)
            else:
                self.work.over(self.iterations, each, *tallied, chunk=1)(tally)
                self.work.over(self.iterations, 2 * each, *moved, chunk=1)(move)

    def leave(self, result: Argument) -> None:
        """Make of entries what the result has."""
        form, pieces, each, digits = self.form, self.pieces, self.each, self.passes.digits
        (rows, count), numbers = result.shape, tuple(range(form.numbers))
        reads = [self.entries, self.bounds, self.sides]

        @self.work.over(self.iterations, -(-count // pieces), reads, [result], chunk=1)
        def take(it: Iteration, entries: Array, bounds: Array, sides: Array, y: Array) -> None:
            row, piece = it.unravel(rows, pieces)
            side, least = cast(sides[row, digits], INDEX), _least(bounds[0, row], pieces)
            for at in rolled(range(min(piece * each, count), min(piece * each + each, count))):
                y[row, at] = form.value(tuple(entries[row, number, side, at] for number in numbers), least)


def _least(lows: Array, pieces: int) -> Number:
    """The least key of a row, of those of its pieces."""
    found = lows[0]
    for piece in rolled(range(1, pieces)):
        found = min(found, lows[piece])
    return found


def _has_digit(bounds: Array, pieces: int, digit: Number, type_: IntegerType) -> Number:
    """Whether a key of a row, less the least one, has such a digit, or one above it."""
    low, high = bounds[0, 0], bounds[1, 0]
    for piece in rolled(range(1, pieces)):
        low, high = min(low, bounds[0, piece]), max(high, bounds[1, piece])
    # without a sign, the difference fits
    return ((high - low) >> cast(digit * DIGIT, type_)) != 0


def _begin_pieces(tallies: Array, begins: Array, piece: Number) -> Number:
    """Where each bucket begins that a piece fills, behind those of the pieces before; gives the largest bucket."""
    pieces, buckets = tallies.shape
    before, largest = cast(0, i64), cast(0, i64)
    for bucket in rolled(range(buckets)):
        size, own = cast(0, i64), cast(0, i64)
        for other in rolled(range(pieces)):
            own = select(other < piece, own + tallies[other, bucket], own)
            size = size + tallies[other, bucket]
        begins[bucket] = before + own
        before, largest = before + size, max(largest, size)
    return largest
