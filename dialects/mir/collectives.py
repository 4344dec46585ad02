"""Collective ops: all processes of a program take part. Their effect, see `dialects/effects.py`, keeps their order."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import TensorType, f32, f64, i32, i64
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import SpacedOpaqueSyntaxAttribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    VarConstraint,
    base,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from xdsl_rlx.dialects.mir.core import HasKernel
from xdsl_rlx.dialects.mir.fields import I64, i64_attr, word_of
from xdsl_rlx.dialects.mir.value import BuilderCore, Operand, Value
from xdsl_rlx.dialects.shapes import FLOATS, check_element, compute_type, element_of

COMMUNICATED = (f32, f64, i32, i64)
"""Element types of which MPI has sums; others are cast by who builds the op."""


MEAN = "mean"
"""The reduction that is a sum and a product."""


class Reduction(StrEnum):
    """How the values of all processes become one."""

    SUM = "sum"
    MAX = "max"
    MIN = "min"


@irdl_attr_definition
class ReductionAttr(EnumAttribute[Reduction], SpacedOpaqueSyntaxAttribute):
    """A reduction over processes as a property."""

    name = "mir.reduction"


@irdl_op_definition
class AllReduceOp(IRDLOperation):
    """
    The sum, largest or smallest of the operands of all `processes`, elementwise; each process gets all of it.

    Every process runs the op, in the same order among collective ops: its effect keeps that order. The order of a sum
    is that of the engine (MPI). Of f32, f64, i32 and i64.
    """

    name = "mir.all_reduce"

    T: ClassVar = VarConstraint("T", base(TensorType))

    kind = prop_def(ReductionAttr)
    processes = prop_def(I64)
    operand = operand_def(T)
    result = result_def(T)

    traits = traits_def(HasKernel(), MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = "$kind $operand `over` $processes attr-dict `:` type($result)"

    def __init__(self, operand: SSAValue, kind: Reduction, processes: int):
        super().__init__(
            operands=[operand],
            properties={"kind": ReductionAttr(kind), "processes": i64_attr(processes)},
            result_types=[operand.type],
        )

    @property
    def reduction(self) -> Reduction:
        """How values become one."""
        return self.kind.data

    @property
    def count(self) -> int:
        """How many processes there are."""
        return self.processes.value.data

    def verify_(self) -> None:
        element = element_of(self.operand)
        check_element(element, COMMUNICATED)
        if self.count < 1:
            raise VerifyException(f"expected at least 1 process, got {self.count}")
        if self.operand.type != self.result.type:
            raise VerifyException(f"expected result of type {self.operand.type}, got {self.result.type}")


class CollectivesBuilder(BuilderCore):
    """Builder methods of this family."""

    def all_reduce(self, x: Operand, kind: Reduction | str, processes: int) -> Value:
        """
        `mir.all_reduce`: the sum, mean, max or min of `x` over `processes` processes; `x` itself of one.

        Of floats and integers; f16 and bf16 are summed in f32. A mean is a sum times `1 / processes`, so that the
        product is part of what reads it.
        """
        value = self.value(self.operand(x))
        if processes == 1:
            return value
        element, b = element_of(value.ssa), self._this
        if kind == MEAN:
            check_element(element, FLOATS)
            total = b.all_reduce(b.cast(value, compute_type(element)), Reduction.SUM, processes)
            return b.cast(total * (1.0 / processes), element)
        found = word_of(Reduction, "reduction", kind)
        wide = element if element in COMMUNICATED else f32 if element in FLOATS else i64
        op = self.emit(AllReduceOp, b.cast(value, wide).ssa, found, processes)
        op.verify_()
        return b.cast(op.result, element)
