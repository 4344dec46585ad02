"""A line of ops for a whole batch at once: each op copied with a leading axis, where that is needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException

from xdsl_rlx.dialects.mir.mir_builder import MirBuilder
from xdsl_rlx.dialects.mir.shape import ExpandOp
from xdsl_rlx.dialects.shapes import element_of, shape_of
from xdsl_rlx.transforms.engines.define import define_aside
from xdsl_rlx.transforms.located import located
from xdsl_rlx.transforms.rules.rows import lift
from xdsl_rlx.transforms.rules.rule_table import DECOMPOSE, VMAP


@dataclass
class Batch:
    """
    Copies ops one by one to where `b` inserts.

    `values` has the new value of each old one; those in `batched` have the leading axis, of extent `size`, the others
    are as they were.
    """

    size: int
    b: MirBuilder
    values: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    batched: set[SSAValue] = field(default_factory=set[SSAValue])

    def copy(self, ops: Sequence[Operation]) -> None:
        """Copy ops that use only what is in `values`, or each other's results."""
        for op in ops:
            if self.batched.isdisjoint(op.operands):
                self.b.builder.insert(op.clone(self.values))
            else:
                self._batch(op)

    def with_axis(self, old: SSAValue) -> SSAValue:
        """The new value of an old one, repeated along the leading axis if it does not have it."""
        new = self.values[old]
        return new if old in self.batched else lift(self.b, self.b.value(new), self.size).ssa

    def _batch(self, op: Operation) -> None:
        rule = VMAP.get(type(op))
        if rule is None and DECOMPOSE.get(type(op)) is None:
            rule = VMAP.lookup(op)
        if rule is not None:
            has_axis = [x in self.batched for x in op.operands]
            operands = [self.b.value(self.values[x]) for x in op.operands]
            with located(self.b.builder, op.location):
                results = rule(op, self.b, has_axis, self.size, *operands)
            if results is not None:
                for old, new in zip(op.results, results, strict=True):
                    self._take(op, old, new.ssa)
                return
        self._through_definition(op)

    def _take(self, op: Operation, old: SSAValue, new: SSAValue) -> None:
        expected = TensorType(element_of(old), (self.size, *shape_of(old)))
        if new.type != expected:
            raise PassFailedException(f"the vmap rule of {op.name} gave a value of type {new.type}, not {expected}")
        if op.regions and isinstance(new.owner, ExpandOp) and new.owner.operand.type == old.type:
            # what a body computes for all at once is the same for all
            self.values[old] = new.owner.operand
            return
        new.name_hint = new.name_hint or old.name_hint
        self.values[old] = new
        self.batched.add(old)

    def _through_definition(self, op: Operation) -> None:
        """Batch the ops of the definition of `op`, which are made aside, of the old values."""
        aside, found = define_aside(op)
        for old, value in zip(op.results, found, strict=True):
            value.ssa.name_hint = value.ssa.name_hint or old.name_hint
        self.copy(list(aside.ops))
        for old, value in zip(op.results, found, strict=True):
            self.values[old] = self.values[value.ssa]
            if value.ssa in self.batched:
                self.batched.add(old)
        aside.erase(safe_erase=False)
