"""Loops that are counted: `max_iterations` and the trip count of a `mir.while` as a carry, before it is lowered."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.builder import Builder
from xdsl.dialects.builtin import i32
from xdsl.ir import Block, Operation
from xdsl.rewriter import InsertPoint

from xdsl_rlx.dialects.mir.bodies import end_of
from xdsl_rlx.dialects.mir.branch import COUNT, WhileOp
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.lowering.target import NormalizeCosts


def counted(op: Operation, b: MirBuilder, _: NormalizeCosts) -> Sequence[Value] | None:
    """One more carry, which a loop without a limit whose count nobody asks for can do without."""
    assert isinstance(op, WhileOp)
    if op.most is None and op.trips.first_use is None:
        return None
    n = len(op.init)
    condition, body = (region.detach_block(0) for region in op.regions)
    asked, count, inside = end_of(condition), condition.insert_arg(COUNT, n), _before_end(condition)
    if op.most is not None:
        asked.operands = [(inside.value(asked.operands[0]) & (inside.value(count) < op.most)).ssa]
    last, count, inside = end_of(body), body.insert_arg(COUNT, n), _before_end(body)
    last.operands = [*last.operands, (inside.value(count) + 1).ssa]
    zero = b.scalar(0, i32)
    loop = b.builder.insert(WhileOp([*op.init, zero.ssa], op.captured, condition, body))
    return [b.value(x) for x in loop.carries]


def _before_end(block: Block) -> MirBuilder:
    return MirBuilder(Builder(InsertPoint.before(end_of(block))))
