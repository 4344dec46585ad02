"""`mir.scan` to `lir.loop`: a carry has two places that iterations read and write by turns, or is read and written in
its stack, and what is stacked or scanned over is seen element by element. Which scans become loops is decided in
`lowering/prepare/mir_decompose.py`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from xdsl.ir import Operation, SSAValue

from xdsl_rlx.dialects import lir
from xdsl_rlx.dialects.lir.memory import memref_of
from xdsl_rlx.dialects.mir.scan import ScanOp, ops_of_body
from xdsl_rlx.dialects.shapes import element_of, shape_of
from xdsl_rlx.lowering.bufferize.launches import Launches
from xdsl_rlx.lowering.bufferize.program_buffers import ProgramBuffers
from xdsl_rlx.lowering.buffers import Buffer, contiguous
from xdsl_rlx.lowering.fusion.analysis.loop_tables import StridedLayout


class Lowering(Protocol):
    """What lowers ops where it stands: here it is led into a loop and out again."""

    @property
    def buffers(self) -> ProgramBuffers:
        """Where values are."""
        ...

    @property
    def launches(self) -> Launches:
        """What is launched where it stands."""
        ...

    def block_of(self, ops: Sequence[Operation], results: Sequence[tuple[SSAValue, Buffer]]) -> None:
        """Lower ops, and have their results in these buffers at the end."""
        ...


@dataclass(frozen=True)
class _Carry:
    """
    Where a carry lies: in two places that iterations read and write by turns, or in one for each time and one more.

    Forward, iteration `t` reads place `t` and writes place `t + 1`, in reverse the other way round; with two places, in
    either case modulo 2.
    """

    places: Buffer
    times: int
    reverse: bool
    by_turns: bool

    @property
    def period(self) -> int | None:
        """After how many iterations a place is used again, if it is."""
        return 2 if self.by_turns else None

    def at(self, time: int) -> Buffer:
        """The carry when `time` iterations are done."""
        number = self.times - time if self.reverse else time
        return _element(self.places, number % 2 if self.by_turns else number)

    def stack(self, after: bool) -> Buffer:
        """What iterations read, or what they write, of all times."""
        layout = self.places.layout
        first = layout.strides[0] if after != self.reverse else 0
        rows = StridedLayout(layout.offset + first, (self.times, *layout.shape[1:]), layout.strides)
        return Buffer(self.places.root, rows, self.places.element)


def lower_scan(op: ScanOp, into: Lowering) -> lir.LoopOp:
    """Launch what is to happen in front of the loop that a scan becomes; gives that loop, for behind it."""
    loop = lir.LoopOp(op.times, reverse=op.reverse is not None)
    loop.location = op.location
    carries = [_carry(op, number, into) for number in range(len(op.init))]
    scanned = [into.buffers.seen_as(into.launches.read(x)) for x in op.xs]
    same = captured_by_loop(op.captured, into)
    others = [(y, value) for y, value in _stacked(op) if y not in into.buffers.of]
    stacked: list[SSAValue] = []
    for y, _ in others:
        destination = into.buffers.destination(y)
        into.buffers.of[y] = (
            destination if destination.is_contiguous else into.buffers.room(shape_of(y), element_of(y), y)
        )
        stacked.append(into.buffers.seen_as(into.buffers.of[y]))

    def step(source: SSAValue, shift: int = 0, period: int | None = None) -> Buffer:
        found = lir.StepOp(source, loop.index, shift=shift, modulo=period)
        found.result.name_hint = source.name_hint
        loop.body.block.add_op(found)
        element = memref_of(found.result)
        return contiguous(found.result, element.get_shape(), element.element_type)

    def body() -> None:
        reads, writes = (1, 0) if op.reverse is not None else (0, 1)
        old = [step(into.buffers.seen_as(carry.places), reads, carry.period) for carry in carries]
        elements = [step(x) for x in scanned]
        for arg, buffer in zip(op.body.block.args, (*old, *elements, *same), strict=True):
            into.buffers.of[arg] = buffer
        new = [*(step(into.buffers.seen_as(x.places), writes, x.period) for x in carries), *(step(y) for y in stacked)]
        values = [*op.last.values[: len(carries)], *(value for _, value in others)]
        into.block_of(ops_of_body(op), list(zip(values, new, strict=True)))

    into.buffers.inside(loop.body.block, body)
    return loop


def _stacked(op: ScanOp) -> list[tuple[SSAValue, SSAValue]]:
    """The stacked results, and what the body yields for them."""
    return list(zip(op.ys, op.last.values[len(op.init) :], strict=True))


def _carry(op: ScanOp, number: int, into: Lowering) -> _Carry:
    """
    The places of a carry, of which the first one is filled.

    Where it is stacked, before an iteration or after it, the stack is those places, and so is one of each.
    """
    init, result = op.init[number], op.carries[number]
    before, after = op.body.block.args[number], op.last.values[number]
    free = [(y, value) for y, value in _stacked(op) if y not in into.buffers.of and not into.buffers.is_wanted(y)]
    stacks = [(y, value is after) for y, value in free if value in (before, after)] if op.times else []
    places = into.buffers.room((op.times + 1 if stacks else 2, *shape_of(init)), element_of(init), result)
    carry = _Carry(places, op.times, op.reverse is not None, not stacks)
    into.launches.copy(into.launches.read(init, False), carry.at(0), init, op.location)
    into.buffers.of[result] = carry.at(op.times)
    into.buffers.of |= {y: carry.stack(is_after) for y, is_after in stacks}
    return carry


def captured_by_loop(values: Sequence[SSAValue], into: Lowering) -> list[Buffer]:
    """
    What iterations read of values from outside.

    A transposed matrix is copied once: each product of few rows would have to do as much.
    """
    return [into.launches.read(value, 0 not in into.buffers.of[value].layout.strides) for value in values]


def _element(buffer: Buffer, number: int) -> Buffer:
    """An element of the leading axis."""
    layout = buffer.layout
    offset = layout.offset + number * layout.strides[0]
    return Buffer(buffer.root, StridedLayout(offset, layout.shape[1:], layout.strides[1:]), buffer.element)
