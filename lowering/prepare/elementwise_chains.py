"""Elementwise ops that compute a value of others, and the same ops on transposed ones."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from xdsl_rlx.dialects.mir.mir_builder import MirBuilder
from xdsl_rlx.dialects.mir.shape import ExpandOp, ReshapeOp
from xdsl_rlx.dialects.shapes import element_of, shape_of
from xdsl_rlx.transforms.driver import is_constant, is_elementwise


def computing(value: SSAValue) -> Operation | None:
    """The elementwise op that computes a value, and no other."""
    owner = value.owner
    if not isinstance(owner, Operation) or isinstance(owner, ReshapeOp | ExpandOp) or is_constant(owner):
        return None
    return owner if is_elementwise(type(owner)) and len(owner.results) == 1 else None


def transposed(b: MirBuilder, value: SSAValue, perm: Sequence[int]) -> SSAValue:
    """A value that broadcasts to the operand of a transpose, with its axes in the order of the result."""
    return _Transposed(b, perm).of(value)


class _Transposed:
    """Values with their axes in another order; one that several ops read is computed once."""

    def __init__(self, b: MirBuilder, perm: Sequence[int]):
        self.b = b
        self.perm = perm
        self._found: dict[SSAValue, SSAValue] = {}

    def of(self, value: SSAValue) -> SSAValue:
        """The value, or one that broadcasts to it, transposed."""
        if value not in self._found:
            self._found[value] = self._new(value)
        return self._found[value]

    def _new(self, value: SSAValue) -> SSAValue:
        b, shape, owner = self.b, shape_of(value), value.owner
        if all(n == 1 for n in shape):
            return b.reshape(value, [1] * len(self.perm) if shape else []).ssa
        full = [1] * (len(self.perm) - len(shape)) + list(shape)
        turned = [full[axis] for axis in self.perm]
        if isinstance(owner, ExpandOp):
            return b.expand(b.value(self.of(owner.operand)), turned).ssa
        if (op := computing(value)) is None:
            return b.transpose(b.reshape(value, full), self.perm).ssa
        copy = type(op).create(
            operands=[self.of(operand) for operand in op.operands],
            result_types=[TensorType(element_of(value), turned)],
            properties=dict(op.properties),
        )
        return b.builder.insert(copy).results[0]
