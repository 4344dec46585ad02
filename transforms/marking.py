"""What the passes that mark regions share: which ops may move into one, and the body of one in the making."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from xdsl_rlx.dialects.mir.bodies import end_of, ops_of
from xdsl_rlx.dialects.mir.control import FusionOp, VjpOp, YieldOp
from xdsl_rlx.dialects.mir.elementwise import ConstantOp
from xdsl_rlx.dialects.mir.pool import ResizeNearest2xOp
from xdsl_rlx.dialects.mir.region import BatchElementwiseRegionOp, ElementwiseRegionOp, TransformRegionOp
from xdsl_rlx.dialects.shapes import shape_of

CLOSED = (BatchElementwiseRegionOp, ElementwiseRegionOp, FusionOp, TransformRegionOp, VjpOp)
"""Ops whose bodies hold ops of certain kinds, and no regions."""


def unmarked_blocks(module: ModuleOp) -> Iterator[Block]:
    """The blocks of functions and of bodies in which regions may stand."""
    waiting: list[Operation] = [module]
    while waiting:
        op = waiting.pop()
        if not isinstance(op, CLOSED):
            for region in op.regions:
                for block in region.blocks:
                    yield block
                    waiting += [inner for inner in block.ops if inner.regions]


def in_closed_body(op: Operation) -> bool:
    """Whether an op is in a body that may hold no regions."""
    return isinstance(op.parent_op(), CLOSED)


def is_free(op: Operation) -> bool:
    """Whether an op may move into a region: it has no attributes, by which other passes find it."""
    return not op.attributes


def is_number(value: SSAValue) -> bool:
    """Whether a value is a constant of rank 0, which a region holds itself."""
    return isinstance(value.owner, ConstantOp) and not shape_of(value)


def resized_inputs(region: ElementwiseRegionOp) -> set[int]:
    """The numbers of the inputs that a region resizes."""
    resizes = [op for op in region.body.block.ops if isinstance(op, ResizeNearest2xOp)]
    return {arg.index for arg in region.body.block.args if any(op.x is arg for op in resizes)}


def users_of(value: SSAValue) -> set[Operation]:
    """The ops that use a value."""
    return {use.operation for use in value.uses}


class RegionBody:
    """A body in the making: each value from outside becomes an argument, once, and a number is copied inside."""

    def __init__(self) -> None:
        self.block = Block()
        self.inputs: list[SSAValue] = []
        self._inside: dict[SSAValue, SSAValue] = {}

    def enter(self, value: SSAValue) -> SSAValue:
        """Return what stands for a value from outside in the body."""
        if (known := self._inside.get(value)) is None:
            if is_number(value) and isinstance(value.owner, Operation):
                known = self.copy(value.owner, {})
            else:
                known = self.block.insert_arg(value.type, len(self.block.args))
                known.name_hint = value.name_hint
                self.inputs.append(value)
            self._inside[value] = known
        return known

    def set(self, value: SSAValue, inside: SSAValue) -> None:
        """Have `inside` stand for a value from outside."""
        self._inside[value] = inside

    def add(self, op: Operation) -> None:
        """Copy an op into the body, or the ops of a region."""
        env = {operand: self.enter(operand) for operand in op.operands}
        if not isinstance(op, ElementwiseRegionOp | TransformRegionOp):
            self.copy(op, env)
            return
        source = op.body.block
        inner: dict[SSAValue, SSAValue] = {
            arg: env[operand] for arg, operand in zip(source.args, op.operands, strict=True)
        }
        for one in ops_of(source):
            inner[one.results[0]] = self.copy(one, inner)
        self._inside[op.results[0]] = inner[end_of(source).values[0]]

    def copy(self, op: Operation, env: dict[SSAValue, SSAValue]) -> SSAValue:
        """Copy an op whose operands are found in `env`, and return its result."""
        copy = op.clone(dict(env))
        self.block.add_op(copy)
        self._inside[op.results[0]] = copy.results[0]
        return copy.results[0]

    def end(self, value: SSAValue) -> Block:
        """Return the block, which yields what stands for a value."""
        self.block.add_op(YieldOp(self._inside[value]))
        return self.block
