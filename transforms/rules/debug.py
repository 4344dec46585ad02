"""Rows of `mir.debug_print`, and the predicate of effects where a batch runs what some of its examples do not."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.builder import Builder
from xdsl.dialects.builtin import DenseArrayBase, i32
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from xdsl_rlx.dialects.effects import with_effects
from xdsl_rlx.dialects.mir.debug import DebugPrintOp
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.transforms.rules.rows import lifted, zero
from xdsl_rlx.transforms.rules.rule_table import VMAP

zero(DebugPrintOp, "it prints, and has no results")


@VMAP.rule(DebugPrintOp)
def debug_print_vmap(
    op: DebugPrintOp, b: MirBuilder, batched: Sequence[bool], size: int, *operands: Value
) -> Sequence[Value]:
    """The same with one more batch axis."""
    values = [x.ssa for x in lifted(b, batched, size, operands)]
    count = len(op.inputs)
    b.emit(DebugPrintOp, op.text.data, values[:count], op.batch_rank + 1, next(iter(values[count:]), None))
    return []


def print_where(block: Block, truth: Attribute) -> None:
    """
    Have a body print only where a predicate of the type `truth` is true, which becomes its last argument.

    Where a body is batched, it runs for all examples and prints for some.
    """
    _guard(block, block.insert_arg(truth, len(block.args)))


def _guard(block: Block, predicate: SSAValue) -> None:
    for op in with_effects(block.ops):
        if isinstance(op, DebugPrintOp):
            b = MirBuilder(Builder(InsertPoint.before(op)))
            taken = b.expand(predicate, op.batch_shape)
            when = taken if op.when is None else b.and_(taken, op.when)
            copy = DebugPrintOp(op.text.data, op.inputs, op.batch_rank or None, when.ssa)
            copy.location = op.location
            block.insert_op_before(copy, op)
            op.detach()
            op.erase()
        elif op.regions and not _has_rules(op):
            _capture(op, predicate)


def _has_rules(op: Operation) -> bool:
    return any(getattr(op, name, None) is not None for name in ("vjp", "jvp"))


def _capture(op: Operation, predicate: SSAValue) -> None:
    """Pass the predicate to the bodies of an op, whose captured values are its last operands."""
    op.operands = [*op.operands, predicate]
    if isinstance(sizes := op.properties.get("operandSegmentSizes"), DenseArrayBase):
        *first, last = sizes.get_values()
        op.properties["operandSegmentSizes"] = DenseArrayBase.from_list(i32, [*map(int, first), int(last) + 1])
    for region in op.regions:
        _guard(region.block, region.block.insert_arg(predicate.type, len(region.block.args)))
