"""Nests of running sums and products."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

from xdsl.dialects.builtin import AnyFloat, f64
from xdsl.ir import Attribute

from xdsl_rlx.dialects.mir.index import CumprodOp, CumsumOp, RunningOp
from xdsl_rlx.dialects.shapes import compute_type, element_of, shape_of
from xdsl_rlx.lowering.buffers import Argument
from xdsl_rlx.lowering.kernel_dsl import Array, Iteration, Number, cast, rolled, scratch
from xdsl_rlx.lowering.kernels.work import NEST, Work

COLUMNS = 64
"""Columns that one iteration goes through."""

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

Combine: TypeAlias = Callable[[Number, Number], Number]


@dataclass(frozen=True)
class _Chain:
    """How results follow each other: `start` is what is there before the first element."""

    type: Attribute
    start: int
    combine: Combine
    exclusive: bool = False
    reverse: bool = False

    @property
    def is_float(self) -> bool:
        return isinstance(self.type, AnyFloat)


def _sum(x: Number, y: Number) -> Number:
    return x + y


def _product(x: Number, y: Number) -> Number:
    return x * y


@NEST.rule(CumsumOp)
def cumsum_nest(op: CumsumOp, work: Work) -> None:
    """Sums of floats are continued in f64, so that rounding errors of long ones do not add up."""
    element = compute_type(element_of(op.result))
    type_ = f64 if isinstance(element, AnyFloat) else element
    _run(op, work, _Chain(type_, 0, _sum, op.is_exclusive, op.is_reverse), by_blocks=True)


@NEST.rule(CumprodOp)
def cumprod_nest(op: CumprodOp, work: Work) -> None:
    _run(op, work, _Chain(compute_type(element_of(op.result)), 1, _product))


def _run(op: RunningOp, work: Work, chain: _Chain, by_blocks: bool = False) -> None:
    """Rows one by one, `by_blocks` if they are long and few, and columns in blocks of neighbours."""
    given, axis = shape_of(op.operand), op.axis_index
    outer, extent, inner = prod(given[:axis]), given[axis], prod(given[axis + 1 :])
    shape = (outer, extent) if inner == 1 else (outer, extent, inner)
    x, result = work.read(op.operand, shape), work.write(op.result, shape)
    if not outer * extent * inner:
        return
    if inner > 1:
        _columns(chain, work, x, result)
    else:
        _rows(chain, work, x, result, by_blocks)


def _columns(chain: _Chain, work: Work, x: Argument, result: Argument) -> None:
    """An iteration goes down a block of columns, with what they have come to on the stack."""
    outer, extent, inner = x.shape
    blocks, width = -(-inner // COLUMNS), min(inner, COLUMNS)
    type_, start, combine, exclusive = chain.type, chain.start, chain.combine, chain.exclusive
    places = range(extent)[::-1] if chain.reverse else range(extent)

    @work.over(outer * blocks, 2 * extent * width, [x], [result])
    def running_columns(it: Iteration, x: Array, result: Array) -> None:
        o, block = it.unravel(outer, blocks)
        first = block * COLUMNS
        columns = range(min(COLUMNS, inner - first))
        totals = scratch(width, type_)
        totals[...] = start
        for at in rolled(places):
            for j in columns:
                before = totals[j]
                total = combine(before, cast(x[o, at, first + j], type_))
                result[o, at, first + j] = before if exclusive else total
                totals[j] = total


def _rows(chain: _Chain, work: Work, x: Argument, result: Argument, by_blocks: bool) -> None:
    """Chains along rows, or blocks of long ones, which begin with the sum of the blocks before."""
    outer, extent = x.shape
    # integers are added up in any order, and on one thread they are read once
    at_once = outer >= FEW_ROWS or not by_blocks or (not chain.is_float and work.buffers.threads == 1)
    blocks = 1 if at_once else -(-extent // LENGTH)
    starts = [_block_starts(chain, work, x, blocks)] if blocks > 1 else []
    groups = (outer if blocks == 1 else extent // LENGTH) // CHAINS if chain.is_float else 0
    if groups:
        _side_by_side(chain, work, x, starts, result, groups)
    done = groups * CHAINS
    if blocks == 1 and done < outer:
        _one_by_one(chain, work, x, starts, result, (done, outer - done), (0, 1, extent))
    elif blocks > done:
        _one_by_one(chain, work, x, starts, result, (0, outer), (done, blocks - done, LENGTH))


def _one_by_one(
    chain: _Chain,
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
    type_, combine, exclusive, reverse = chain.type, chain.combine, chain.exclusive, chain.reverse
    start = chain.start

    @work.over(outer * count, 4 * length, [x, *starts], [result])
    def one_by_one(it: Iteration, x: Array, *rest: Array) -> None:
        *starts, result = rest
        row, number = it.unravel(outer, count)
        o, block = row + first_row, number + first_block
        first, end = block * length, min((block + 1) * length, extent)
        whole = first + (end - first) // AT_ONCE * AT_ONCE

        def step(before: Number, p: Number) -> Number:
            at = extent - 1 - p if reverse else p
            total = combine(before, cast(x[o, at], type_))
            result[o, at] = before if exclusive else total
            return total

        before = starts[0][o, block] if starts else cast(start, type_)
        for p in range(first, whole, AT_ONCE):
            for n in tuple(range(AT_ONCE)):
                before = step(before, p + n)
        for p in range(whole, end):
            before = step(before, p)


def _side_by_side(
    chain: _Chain, work: Work, x: Argument, starts: list[Argument], result: Argument, groups: int
) -> None:
    """Some chains an iteration: the rows of a group, or the blocks of a group in a row."""
    outer, extent = x.shape
    type_, combine, exclusive, reverse = chain.type, chain.combine, chain.exclusive, chain.reverse
    start = chain.start
    count, length = (outer, LENGTH) if starts else (1, extent)

    @work.over(count * groups, 4 * CHAINS * length, [x, *starts], [result])
    def side_by_side(it: Iteration, x: Array, *rest: Array) -> None:
        *starts, result = rest
        o, group = it.unravel(count, groups)
        first = group * CHAINS
        rows = [o if starts else first + n for n in range(CHAINS)]
        begins = [(first + n) * length if starts else 0 for n in range(CHAINS)]
        totals = [starts[0][o, first + n] if starts else cast(start, type_) for n in range(CHAINS)]
        for p in range(length):
            places = [extent - 1 - (begin + p) if reverse else begin + p for begin in begins]
            after = [
                combine(total, cast(x[row, at], type_)) for total, row, at in zip(totals, rows, places, strict=True)
            ]
            for row, at, found in zip(rows, places, totals if exclusive else after, strict=True):
                result[row, at] = found
            totals = after


def _block_starts(chain: _Chain, work: Work, x: Argument, blocks: int) -> Argument:
    """
    The sum of what comes before each block of each row: first the sums of the blocks, then those run up.

    Added up in lanes of our own, without leave to reassociate: a vectoriser's lanes are as many as the processor has.
    """
    outer, extent = x.shape
    type_, reverse = chain.type, chain.reverse
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
