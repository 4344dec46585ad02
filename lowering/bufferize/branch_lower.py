"""`mir.if` and `mir.while` to `lir.if` and `lir.while`, and `mir.remat` to its body.
Loops whose length is known are in `scan_loop.py`."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i1
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, SSAValue

from xdsl_rlx.dialects import lir
from xdsl_rlx.dialects.mir.bodies import end_of, ops_of
from xdsl_rlx.dialects.mir.branch import IfOp, RematOp, WhileOp
from xdsl_rlx.dialects.shapes import element_of, shape_of
from xdsl_rlx.lowering.bufferize.scan_loop import Lowering, captured_by_loop
from xdsl_rlx.lowering.buffers import Buffer
from xdsl_rlx.transforms.located import replace


def lower_if(op: IfOp, into: Lowering) -> lir.IfOp:
    """Launch what is to happen in front of a branch; gives that branch, both parts of which compute the results."""
    branch = lir.IfOp(into.buffers.seen_as(into.launches.read(op.predicate)))
    branch.location = op.location
    destinations = [_destination(result, into) for result in op.results]
    captured = [into.buffers.of[value] for value in op.captured]
    for block, part in zip(op.branches, (branch.then, branch.otherwise), strict=True):
        _fill(part.block, block, captured, destinations, into)
    into.buffers.of |= dict(zip(op.results, destinations, strict=True))
    return branch


def lower_while(op: WhileOp, into: Lowering) -> lir.WhileOp:
    """
    Launch what is to happen in front of a loop; gives that loop.

    A carry has one place. The body computes the carries of the next time elsewhere, and copies them when it has read
    all of them; one that does not change stays where it is.
    """
    predicate = into.buffers.room((), i1, op.asked)
    loop = lir.WhileOp(into.buffers.seen_as(predicate))
    loop.location = op.location
    places: list[Buffer] = []
    for init, result in zip(op.init, op.carries, strict=True):
        place = _destination(result, into)
        into.launches.copy(into.launches.read(init, False), place, init, op.location)
        places.append(place)
    captured = captured_by_loop(op.captured, into)
    _fill(loop.test.block, op.condition.block, [*places, *captured], [predicate], into)

    def body() -> None:
        block, last = op.body.block, op.last.values
        changed = [n for n, value in enumerate(last) if value is not block.args[n]]
        into.buffers.of |= dict(zip(block.args, [*places, *captured], strict=True))
        new = [(last[n], into.buffers.room(shape_of(last[n]), element_of(last[n]), last[n])) for n in changed]
        into.block_of(ops_of(block), new)
        for n, (value, buffer) in zip(changed, new, strict=True):
            into.launches.copy(buffer, places[n], value)

    into.buffers.inside(loop.body.block, body)
    into.buffers.of |= dict(zip(op.carries, places, strict=True))
    return loop


def inline_remats(func: FuncOp) -> None:
    """Put what every `mir.remat` computes where it stands: it was kept apart until its ops were grouped."""
    for op in [op for op in func.walk() if isinstance(op, RematOp)]:
        block, parent = op.body.block, op.parent_block()
        assert parent is not None
        for arg, value in zip(block.args, op.captured, strict=True):
            arg.replace_all_uses_with(value)
        for inner in ops_of(block):
            inner.detach()
            parent.insert_op_before(inner, op)
        replace(op, end_of(block).values)


def _destination(value: SSAValue, into: Lowering) -> Buffer:
    """Where a value is computed into: without gaps, and nothing else."""
    destination = into.buffers.destination(value)
    return destination if destination.is_contiguous else into.buffers.room(shape_of(value), element_of(value), value)


def _fill(target: Block, block: Block, given: Sequence[Buffer], destinations: Sequence[Buffer], into: Lowering) -> None:
    """Lower the ops of a body into a part of a program, so that what it yields is in these buffers at the end."""

    def lower() -> None:
        into.buffers.of |= dict(zip(block.args, given, strict=True))
        into.block_of(ops_of(block), list(zip(end_of(block).values, destinations, strict=True)))

    into.buffers.inside(target, lower)
