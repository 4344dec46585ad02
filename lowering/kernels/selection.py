"""Elements of rows by their place in order: a sample of the row says between which numbers they lie."""

from __future__ import annotations

from math import ceil, sqrt

from xdsl.dialects.builtin import i64

from xdsl_rlx.dialects.lir.memory import element_bytes
from xdsl_rlx.lowering.buffers import Argument
from xdsl_rlx.lowering.kernel_dsl import Array, Iteration, cast, rolled
from xdsl_rlx.lowering.kernel_dsl.kernel_builder import INDEX
from xdsl_rlx.lowering.kernel_dsl.number_order import Keys
from xdsl_rlx.lowering.kernels.radix import BUCKETS, DIGIT, RadixPasses
from xdsl_rlx.lowering.kernels.work import Work

SAMPLE = 1024
"""Elements of a sample at most: a tenth of a long row is left between two of them. Benchmark: "median 30000"."""

MIN_SAMPLE = 64
"""Elements of a sample at least: for fewer, the whole row is sorted."""

SELECTED = 1.5
"""Nanoseconds of an element, about. Benchmark: "median 30000"."""

MARGIN = 3.0
"""Standard deviations of a place in the sample between it and the bound that is taken: of a thousand random rows, three
are sorted as a whole then. Benchmark: "median 30000"."""


def by_selection(work: Work, operand: Argument, result: Argument, keys: Keys, first: int) -> None:
    """
    A row an iteration: its numbers between two of a sample are sorted, or all of it where that did not do.

    The places of numbers in a sample of `s` have a variance of at most `s / 4` (Floyd and Rivest, 1975).
    """
    (rows, extent), count = operand.shape, result.shape[1]
    size = min(SAMPLE, extent // 16)
    size, step = (size, extent // size) if size >= MIN_SAMPLE else (0, 0)
    margin = ceil(MARGIN * sqrt(size) / 2)
    low, high = first * size // extent - margin, (first + count) * size // extent + margin
    digits = 8 * element_bytes(keys.type) // DIGIT
    each = int(SELECTED * extent) + digits * BUCKETS
    entries = work.scratch_per_piece(rows, each, (1, 2, extent), keys.type, "entries")
    tallies = work.scratch_per_piece(rows, each, (digits, BUCKETS), i64, "tallies")
    passes, bottom, top, key_type = RadixPasses(digits, keys.type), -keys.most - 1, keys.most, keys.type

    @work.over(rows, each, [operand], [result, entries, tallies])
    def select(it: Iteration, x: Array, y: Array, entries: Array, tallies: Array) -> None:
        row, tally = entries[it.piece], tallies[it.piece]
        least, most = cast(bottom, key_type), cast(top, key_type)
        if size:
            tally[...] = 0
            for at in rolled(range(size)):
                row[0, 0, at] = keys.key(x[it.index, at * step]) - bottom
                passes.count(tally, row[0, 0, at])
            side = passes.sort(row, tally, size)
            if low >= 0:
                least = row[0, side, max(low, 0)] + bottom
            if high < size:
                most = row[0, side, min(high, size - 1)] + bottom
        less, kept = cast(0, key_type), cast(0, INDEX)
        for at in rolled(range(extent)):
            key = keys.key(x[it.index, at])
            row[0, 1, at] = key - least
            less = less + cast(key < least, key_type)
        # without a sign, what is between both is at most their difference
        between = most - least + bottom
        for at in rolled(range(extent)):
            key = row[0, 1, at]
            row[0, 0, kept] = key
            kept = kept + cast(key + bottom <= between, INDEX)
        below = cast(less, INDEX)
        if below > first or below + kept < first + count:
            least, below, kept = cast(bottom, key_type), cast(0, INDEX), cast(extent, INDEX)
            for at in rolled(range(extent)):
                row[0, 0, at] = keys.key(x[it.index, at]) - bottom
        tally[...] = 0
        for at in rolled(range(kept)):
            passes.count(tally, row[0, 0, at])
        side = passes.sort(row, tally, kept)
        for at in rolled(range(count)):
            y[it.index, at] = keys.number(row[0, side, first - below + at] + least)
