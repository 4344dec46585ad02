"""`mir.scan` to `lir.loop`: a carry has two places that iterations read and write by turns, and what is stacked or
scanned over is seen element by element. Which scans become loops is decided in `transforms/decompose.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from xdsl.ir import Attribute, Block, Operation, SSAValue

from xdsl_rlx.dialects import lir
from xdsl_rlx.dialects.lir.program import memref_of
from xdsl_rlx.dialects.mir.scan import ScanOp, ops_of_body
from xdsl_rlx.dialects.shapes import element_of, shape_of
from xdsl_rlx.lowering.buffers import Buffer, contiguous
from xdsl_rlx.transforms.rules.lowering import Layout


class Lowering(Protocol):
    """What lowers ops where it stands: here it is led into a loop and out again."""

    buffers: dict[SSAValue, Buffer]

    def room(self, shape: Sequence[int], element: Attribute, like: SSAValue | None = None) -> Buffer:
        """A new slot."""
        ...

    def read(self, value: SSAValue, contiguous: bool = True) -> Buffer:
        """The buffer of a value, without gaps."""
        ...

    def home(self, value: SSAValue) -> Buffer:
        """Where a value is computed into."""
        ...

    def seen_as(self, buffer: Buffer) -> SSAValue:
        """A `lir` value that is the buffer, without gaps, and nothing else."""
        ...

    def copy(self, source: Buffer, target: Buffer, value: SSAValue) -> None:
        """Launch a copy of what is in the buffer of a value."""
        ...

    def inside(self, block: Block, lower: Callable[[], None]) -> None:
        """Lower into another block, whose values are not seen afterwards."""
        ...

    def block_of(self, ops: Sequence[Operation], results: Sequence[tuple[SSAValue, Buffer]]) -> None:
        """Lower ops, and have their results in these buffers at the end."""
        ...


def lower_scan(op: ScanOp, into: Lowering) -> lir.LoopOp:
    """Launch what is to happen in front of the loop that a scan becomes; gives that loop, for behind it."""
    loop = lir.LoopOp(op.times, reverse=op.reverse is not None)
    loop.location = op.location
    # forward, iteration t reads place t mod 2; in reverse, it writes that place
    reads, writes, begin, end = (1, 0, op.times % 2, 0) if op.reverse is not None else (0, 1, 0, op.times % 2)
    carries: list[Buffer] = []
    for init, result in zip(op.init, op.carries, strict=True):
        places = into.room((2, *shape_of(init)), element_of(init), result)
        into.copy(into.read(init, False), _element(places, begin), init)
        into.buffers[result] = _element(places, end)
        carries.append(places)
    scanned = [into.seen_as(into.read(x)) for x in op.xs]
    same = captured_by_loop(op.captured, into)
    stacked: list[SSAValue] = []
    for y in op.ys:
        home = into.home(y)
        into.buffers[y] = home if home.is_contiguous else into.room(shape_of(y), element_of(y), y)
        stacked.append(into.seen_as(into.buffers[y]))

    def step(source: SSAValue, shift: int = 0, period: int | None = None) -> Buffer:
        found = lir.StepOp(source, loop.index, shift=shift, modulo=period)
        found.result.name_hint = source.name_hint
        loop.body.block.add_op(found)
        element = memref_of(found.result)
        return contiguous(found.result, element.get_shape(), element.element_type)

    def body() -> None:
        old = [step(into.seen_as(places), reads, 2) for places in carries]
        elements = [step(x) for x in scanned]
        for arg, buffer in zip(op.body.block.args, (*old, *elements, *same), strict=True):
            into.buffers[arg] = buffer
        new = [*(step(into.seen_as(places), writes, 2) for places in carries), *(step(y) for y in stacked)]
        into.block_of(ops_of_body(op), list(zip(op.last.values, new, strict=True)))

    into.inside(loop.body.block, body)
    return loop


def captured_by_loop(values: Sequence[SSAValue], into: Lowering) -> list[Buffer]:
    """
    What iterations read of values from outside.

    A transposed matrix is copied once: each product of few rows would have to do as much.
    """
    return [into.read(value, 0 not in into.buffers[value].layout.strides) for value in values]


def _element(buffer: Buffer, number: int) -> Buffer:
    """An element of the leading axis."""
    layout = buffer.layout
    offset = layout.offset + number * layout.strides[0]
    return Buffer(buffer.root, Layout(offset, layout.shape[1:], layout.strides[1:]), buffer.element)
