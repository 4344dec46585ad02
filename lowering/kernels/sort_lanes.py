"""Sorts of values alone: networks over many rows side by side, and passes by digits over few long ones.

The functions of a network are in `lowering/kernel_library/sorting.py`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from xdsl_rlx.dialects import constants
from xdsl_rlx.dialects.constants import is_integer
from xdsl_rlx.dialects.lir import CallFunctionOp
from xdsl_rlx.dialects.lir.memory import element_bytes
from xdsl_rlx.dialects.mir.index import SortOp
from xdsl_rlx.dialects.shapes import DTYPE_NAMES, element_of, shape_of
from xdsl_rlx.lowering.buffers import Argument
from xdsl_rlx.lowering.kernel_dsl import Array, Iteration, Number, rolled
from xdsl_rlx.lowering.kernel_dsl.kernel_builder import Nest
from xdsl_rlx.lowering.kernel_dsl.number_order import Keys
from xdsl_rlx.lowering.kernel_library.sorting import (
    BLOCK,
    NetworkSizes,
    SortNetworkFunction,
    SortReadFunction,
    SortWriteFunction,
    bring_back,
    sort_first,
)
from xdsl_rlx.lowering.kernels.radix import BUCKETS, DIGIT, Entries, RadixPasses, pieces_of_rows, sort_shared
from xdsl_rlx.lowering.kernels.selection import by_selection
from xdsl_rlx.lowering.kernels.work import NEST, Work
from xdsl_rlx.lowering.tile_blocks.side_by_side import MERGED

COMPARED = 0.8
"""Nanoseconds of a comparison of two vectors of 64 bytes, of an AVX-512 core."""

MOVED = 1.5
"""Nanoseconds of an element in a pass by digits."""


@NEST.rule(SortOp)
def sort_nest(op: SortOp, work: Work) -> None:
    """By a network where that is cheaper than passes by digits; see `topk_nest`. A part of a row is selected."""
    *outer, extent = shape_of(op.operand)
    rows, keys, (first, count) = prod(outer), Keys(element_of(op.operand), op.descending is not None), op.part
    operand, result = work.read(op.operand, (rows, extent)), work.write(op.result, (rows, count))
    if not rows * count:
        return
    if count < extent:
        by_selection(work, operand, result, keys, first)
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


def _by_network(work: Work, operand: Argument, result: Argument, keys: Keys, each: int) -> None:
    """An iteration sorts a block of rows: functions bring keys side by side, sort them, and take them back."""
    (rows, extent), size = operand.shape, keys.lanes
    sizes, blocks = NetworkSizes(rows, extent), -(-rows // size)
    shapes = {"block": (sizes.whole, size), "line": (sizes.padded * size,), "between": (extent * size,)}
    room = [work.scratch_per_piece(blocks, each, shape, keys.type, name) for name, shape in shapes.items()]
    if extent <= BLOCK:
        _in_registers(work, operand, result, keys, each, room)
        return
    table, name = work.constant(constants.from_nested(sizes.table, i64)), DTYPE_NAMES[keys.element]
    reads, writes = SortReadFunction(name, keys.is_descending), SortWriteFunction(name, keys.is_descending)
    sorts = SortNetworkFunction(DTYPE_NAMES[keys.type], size)

    def sort(inside: Nest, index: SSAValue, piece: SSAValue, buffers: Sequence[SSAValue]) -> None:
        x, table, y, *room = buffers
        zero, one = inside.kernel.index(0), inside.kernel.index(1)
        block, line, between = ((buffer, [piece, *[zero] * n]) for buffer, n in zip(room, (2, 1, 1), strict=True))
        this, words, call = (index, (inside.scalars.of(index) + 1).value), sizes.words, inside.builder.insert
        call(CallFunctionOp(reads.name, words, [(x, [zero, zero])], [between, line], this))
        call(CallFunctionOp(sorts.name, words, [(table, [zero, zero])], [line, block], (zero, one)))
        call(CallFunctionOp(writes.name, words, [line], [between, (y, [zero, zero])], this))

    work.launch(blocks, each, [operand, table], [result, *room], sort)


def _in_registers(
    work: Work, operand: Argument, result: Argument, keys: Keys, each: int, room: Sequence[Argument]
) -> None:
    """The same of so few elements that there is nothing to merge. Loops of a known length are faster for these."""
    (rows, extent), size, groups = operand.shape, keys.lanes, keys.lanes // MERGED
    sizes = NetworkSizes(rows, extent)
    words, first = sizes.words, sizes.first

    @work.over(-(-rows // size), each, [operand], [result, *room])
    def sort(it: Iteration, x: Array, y: Array, block: Array, line: Array, between: Array) -> None:
        line, part = line[it.piece], between[it.piece]
        for group in rolled(range(groups)):
            row = tuple(min(it.index * size + group + number * groups, rows - 1) for number in tuple(range(MERGED)))
            for e in rolled(range(extent)):
                for number in tuple(range(MERGED)):
                    part[(group * extent + e) * MERGED + number] = keys.key(x[row[number], e])
        for e in rolled(range(extent * MERGED)):
            for group in tuple(range(groups)):
                line[e * groups + group] = part[group * extent * MERGED + e]
        sort_first(words, line, block[it.piece], first, keys.most)
        bring_back(words, line, block[it.piece])
        for e in rolled(range(extent * MERGED)):
            for group in tuple(range(groups)):
                part[group * extent * MERGED + e] = line[e * groups + group]
        for group in rolled(range(groups)):
            row = tuple(min(it.index * size + group + number * groups, rows - 1) for number in tuple(range(MERGED)))
            for e in rolled(range(extent)):
                for number in tuple(range(MERGED)):
                    y[row[number], e] = keys.number(part[(group * extent + e) * MERGED + number])


@dataclass(frozen=True)
class _Values(Entries):
    """A key alone."""

    keys: Keys

    def key(self, x: Number) -> Number:
        return self.keys.key(x)

    def entry(self, key: Number, at: Number) -> tuple[Number, ...]:
        return (key,)

    def value(self, entry: tuple[Number, ...], least: Number) -> Number:
        return self.keys.number(entry[0] + least)


def _by_digits(work: Work, operand: Argument, result: Argument, keys: Keys, digits: int, each: int) -> None:
    """A row an iteration: passes from the lowest digit up, as in `topk`, without positions."""
    rows, extent = operand.shape
    if (pieces := pieces_of_rows(work, rows, extent, each)) > 1:
        form = _Values(1, keys.type, keys.type, keys)
        sort_shared(work, operand, result, pieces, RadixPasses(digits, keys.type), form)
        return
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
        side = passes.sort(row, tally, extent)
        for at in rolled(range(extent)):
            y[it.index, at] = keys.number(row[0, side, at] + least)
