"""Collective ops: all processes of a program take part. Their effect, see `dialects/effects.py`, keeps their order."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING, ClassVar

from xdsl.dialects.builtin import TensorType, f32, f64, i32, i64
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, OpResult, SpacedOpaqueSyntaxAttribute, SSAValue
from xdsl.irdl import (
    VarConstraint,
    base,
    irdl_attr_definition,
    result_def,
    traits_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from xdsl_rlx.dialects.mir.core import DeclaredOp, HasKernel
from xdsl_rlx.dialects.mir.fields import (
    AnyTensorConstr,
    Integer,
    Tensor,
    Word,
    inherited,
    integer,
    tensor,
    word,
    word_of,
)
from xdsl_rlx.dialects.mir.value import BuilderCore, Operand, Value
from xdsl_rlx.dialects.shapes import FLOATS, check_element, compute_type, element_of, shape_of

COMMUNICATED = (f32, f64, i32, i64)
"""Element types of which MPI has sums; others are cast by who builds the op."""


MOST_ELEMENTS = 1 << 30
"""Of one message: MPI counts in 32 bits. An `all_reduce` of more is several."""

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


class CollectiveOp(DeclaredOp):
    """An op in which all `processes` take part, with an operand of each and a result for each."""

    operand: Tensor = tensor()
    processes: Integer = integer()
    if TYPE_CHECKING:
        result: OpResult = inherited()

    traits = traits_def(HasKernel(), MemoryReadEffect(), MemoryWriteEffect())

    @property
    def count(self) -> int:
        """How many processes there are."""
        return self.processes.value.data

    def infer_types(self) -> tuple[Attribute]:
        check_element(element_of(self.operand), COMMUNICATED)
        if self.count < 1:
            raise VerifyException(f"expected at least 1 process, got {self.count}")
        return (TensorType(element_of(self.operand), self.result_shape()),)

    def verify_(self) -> None:
        (expected,) = self.infer_types()
        most = max(prod(shape_of(self.operand)), prod(shape_of(self.result)))
        if most > MOST_ELEMENTS and not isinstance(self, AllReduceOp):
            raise VerifyException(f"expected at most {MOST_ELEMENTS} elements, got {most}")
        if self.result.type != expected:
            raise VerifyException(f"expected result of type {expected}, got {self.result.type}")

    def result_shape(self) -> tuple[int, ...]:
        """The extents of the result: here those of the operand."""
        return shape_of(self.operand)


class RootedOp(CollectiveOp):
    """A collective op in which the process `root` is another one than the rest."""

    root: Integer = integer()

    @property
    def root_number(self) -> int:
        """The number of that process."""
        return self.root.value.data

    def verify_(self) -> None:
        super().verify_()
        if not 0 <= self.root_number < self.count:
            raise VerifyException(f"expected a root from 0 to {self.count - 1}, got {self.root_number}")


class AllReduceOp(CollectiveOp, name="mir.all_reduce"):
    """
    The sum, largest or smallest of the operands of all `processes`, elementwise; each process gets all of it.

    Every process runs the op, in the same order among collective ops: its effect keeps that order. The order of a sum
    is that of the engine (MPI). Of f32, f64, i32 and i64.
    """

    T: ClassVar = VarConstraint("T", base(TensorType))

    operand: Tensor = tensor(T)
    kind: Word[Reduction] = word(ReductionAttr, "reduction")
    result = result_def(T)

    assembly_format = "$kind $operand `over` $processes attr-dict `:` type($result)"

    @property
    def reduction(self) -> Reduction:
        """How values become one."""
        return self.kind.data


class AllGatherOp(CollectiveOp, name="mir.all_gather"):
    """The operands of all `processes`, one behind the other along the first axis; each process gets all of them."""

    result = result_def(AnyTensorConstr)

    assembly_format = "$operand `over` $processes attr-dict `:` type($operand) `->` type($result)"

    def result_shape(self) -> tuple[int, ...]:
        first, *rest = _with_axis(self.operand)
        return (first * self.count, *rest)


class ReduceScatterOp(CollectiveOp, name="mir.reduce_scatter"):
    """
    Of the sum of the operands of all `processes`, the part along the first axis that has this process's number.

    The extent of the first axis is a multiple of the number of processes.
    """

    result = result_def(AnyTensorConstr)

    assembly_format = "$operand `over` $processes attr-dict `:` type($operand) `->` type($result)"

    def result_shape(self) -> tuple[int, ...]:
        first, *rest = _with_axis(self.operand)
        if first % self.count:
            raise VerifyException(f"expected a first axis that {self.count} processes share out evenly, got {first}")
        return (first // self.count, *rest)


class BroadcastOp(RootedOp, name="mir.broadcast"):
    """The operand of the process `root`, in each process."""

    T: ClassVar = VarConstraint("T", base(TensorType))

    operand: Tensor = tensor(T)
    result = result_def(T)

    assembly_format = "$operand `from` $root `over` $processes attr-dict `:` type($result)"


class ReduceToOp(RootedOp, name="mir.reduce_to"):
    """The sum of the operands of all `processes` in the process `root`, and 0 in the others."""

    T: ClassVar = VarConstraint("T", base(TensorType))

    operand: Tensor = tensor(T)
    result = result_def(T)

    assembly_format = "$operand `to` $root `over` $processes attr-dict `:` type($result)"


def _with_axis(x: SSAValue) -> tuple[int, ...]:
    if not shape_of(x):
        raise VerifyException("expected a first axis, got a tensor of rank 0")
    return shape_of(x)


COLLECTIVES = (AllReduceOp, AllGatherOp, ReduceScatterOp, BroadcastOp, ReduceToOp)


class CollectivesBuilder(BuilderCore):
    """Builder methods of this family."""

    def all_reduce(self, x: Operand, kind: Reduction | str, processes: int) -> Value:
        """
        `mir.all_reduce`: the sum, mean, max or min of `x` over `processes` processes; `x` itself of one.

        Of floats and integers; f16 and bf16 are summed in f32. A mean is a sum times `1 / processes`, so that the
        product is part of what reads it.
        """
        value = self.value(self.operand(x))
        element, b = element_of(value.ssa), self._this
        if kind == MEAN:
            check_element(element, FLOATS)
            if processes == 1:
                return value
            total = b.all_reduce(b.cast(value, compute_type(element)), Reduction.SUM, processes)
            return b.cast(total * (1.0 / processes), element)
        found = word_of(Reduction, "reduction", kind)
        return self._communicated(value, lambda x: AllReduceOp(x, processes, found))

    def all_gather(self, x: Operand, processes: int) -> Value:
        """`mir.all_gather`: `x` of all processes, one behind the other along the first axis."""
        return self._communicated(x, lambda x: AllGatherOp(x, processes))

    def reduce_scatter(self, x: Operand, processes: int) -> Value:
        """`mir.reduce_scatter`: this process's part, along the first axis, of the sum of `x` over all processes."""
        return self._communicated(x, lambda x: ReduceScatterOp(x, processes))

    def broadcast(self, x: Operand, root: int, processes: int) -> Value:
        """`mir.broadcast`: `x` of the process `root`."""
        return self._communicated(x, lambda x: BroadcastOp(x, processes, root))

    def reduce_to(self, x: Operand, root: int, processes: int) -> Value:
        """`mir.reduce_to`: the sum of `x` over all processes in the process `root`, 0 in the others."""
        return self._communicated(x, lambda x: ReduceToOp(x, processes, root))

    def _communicated(self, x: Operand, make: Callable[[SSAValue], CollectiveOp]) -> Value:
        """The op, of a wider element type where MPI has not that of `x`; of one process, which is checked too, `x`."""
        value = self.value(self.operand(x))
        element, b = element_of(value.ssa), self._this
        wide = element if element in COMMUNICATED else f32 if element in FLOATS else i64
        op = make(b.cast(value, wide).ssa)
        self.builder.insert(op)
        op.verify_()
        if op.count > 1:
            return b.cast(op.result, element)
        op.detach()
        op.erase()
        return value
