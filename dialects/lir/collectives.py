"""A call of the engine that connects the processes, from a kernel."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, cast

from xdsl.dialects.builtin import IntegerAttr, MemRefType, i64
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, SpacedOpaqueSyntaxAttribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    prop_def,
    traits_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from xdsl_rlx.dialects.lir.memory import AnyMemRef, is_contiguous
from xdsl_rlx.dialects.mir.collectives import COMMUNICATED
from xdsl_rlx.dialects.mir.fields import I64, i64_attr


class Collective(StrEnum):
    """What the engine does: reduce to all, with one of three functions, or the other collective ops of `mir`."""

    SUM = "sum"
    MAX = "max"
    MIN = "min"
    GATHER = "gather"
    SCATTER = "scatter"
    BROADCAST = "broadcast"
    REDUCE = "reduce"


@irdl_attr_definition
class CollectiveAttr(EnumAttribute[Collective], SpacedOpaqueSyntaxAttribute):
    """A collective as a property."""

    name = "lir.collective"


REQUEST = MemRefType(i64, [1])
"""The buffer that holds the number of a collective that has been started; 0 for one that has ended already."""

IN_PLACE = (Collective.SUM, Collective.MAX, Collective.MIN, Collective.BROADCAST)
"""The collectives whose source may be their target: all processes leave there as many elements as they read."""


class CallOp(IRDLOperation):
    """A call of the engine that reads the elements of a buffer, of all processes, and writes those of another one."""

    if TYPE_CHECKING:
        call: CollectiveAttr
        root: IntegerAttr
        processes: IntegerAttr
        source: SSAValue
        target: SSAValue

    @property
    def elements(self) -> int:
        """The elements that a process has of what all of them have, or of all if each has all."""
        return min(prod(cast(AnyMemRef, x.type).get_shape()) for x in (self.source, self.target))

    def verify_(self) -> None:
        source, target = (cast(AnyMemRef, x.type) for x in (self.source, self.target))
        for type_ in (source, target):
            if not is_contiguous(type_) or type_.element_type not in COMMUNICATED:
                raise VerifyException(f"expected a contiguous buffer of f32, f64, i32 or i64, got {type_}")
        counts, call, processes = (
            [prod(x.get_shape()) for x in (source, target)],
            self.call.data,
            self.processes.value.data,
        )
        factors = {Collective.GATHER: (processes, 1), Collective.SCATTER: (1, processes)}
        of_source, of_target = factors.get(call, (1, 1))
        if source.element_type != target.element_type or counts[0] * of_source != counts[1] * of_target:
            raise VerifyException(f"a {call} over {processes} processes cannot be from {source} to {target}")
        if not 0 <= self.root.value.data < processes:
            raise VerifyException(f"expected a root from 0 to {processes - 1}, got {self.root.value.data}")
        if self.source is self.target and call not in IN_PLACE:
            raise VerifyException(f"a {call} cannot be in place: expected a source that is not the target")


def _properties(call: Collective, processes: int, root: int) -> dict[str, Attribute]:
    return {"call": CollectiveAttr(call), "root": i64_attr(root), "processes": i64_attr(processes)}


@irdl_op_definition
class CollectiveOp(CallOp):
    """
    Have the engine read the elements of a contiguous buffer, of all processes, and write those of another one.

    The two may be one buffer if the collective leaves as many elements as it reads. `root` is a process where there is
    one that is not as the others. `network` is a buffer that all collective ops of a program write to, so that their
    order is one of memory. Nothing is stored there.
    """

    name = "lir.collective"

    call = prop_def(CollectiveAttr)
    root = prop_def(I64)
    processes = prop_def(I64)
    source = operand_def(MemRefType.constr())
    target = operand_def(MemRefType.constr())
    network = operand_def(MemRefType.constr())

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = (
        "$call $source `to` $target `by` $network `root` $root `over` $processes attr-dict "
        "`:` type($source) `,` type($target) `,` type($network)"
    )

    def __init__(
        self, call: Collective, source: SSAValue, target: SSAValue, network: SSAValue, processes: int, root: int = 0
    ):
        super().__init__(operands=[source, target, network], properties=_properties(call, processes, root))


@irdl_op_definition
class CollectiveStartOp(CallOp):
    """
    Start a `lir.collective` that the `lir.collective_wait` of the same `request` waits for.

    Until then nothing may store to the source, or read or store to the target. An engine that cannot start a collective
    has done all of it when this op is over.
    """

    name = "lir.collective_start"

    call = prop_def(CollectiveAttr)
    root = prop_def(I64)
    processes = prop_def(I64)
    source = operand_def(MemRefType.constr())
    target = operand_def(MemRefType.constr())
    request = operand_def(REQUEST)
    network = operand_def(MemRefType.constr())

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = (
        "$call $source `to` $target `as` $request `by` $network `root` $root `over` $processes attr-dict "
        "`:` type($source) `,` type($target) `,` type($network)"
    )

    def __init__(self, call: CallOp, source: SSAValue, target: SSAValue, request: SSAValue, network: SSAValue):
        properties = _properties(call.call.data, call.processes.value.data, call.root.value.data)
        super().__init__(operands=[source, target, request, network], properties=properties)


@irdl_op_definition
class CollectiveWaitOp(IRDLOperation):
    """Wait until the collective that was started as `request` has read its source and written its target."""

    name = "lir.collective_wait"

    request = operand_def(REQUEST)
    target = operand_def(MemRefType.constr())
    source = opt_operand_def(MemRefType.constr())

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = "$request `for` $target (`from` $source^)? attr-dict `:` type($target) (`,` type($source)^)?"

    def __init__(self, request: SSAValue, target: SSAValue, source: SSAValue | None):
        super().__init__(operands=[request, target, source])


@irdl_op_definition
class CollectivePollOp(IRDLOperation):
    """
    Give the engine time for the collectives that have been started, of which `request` is one, without waiting.

    A library of MPI may transfer only while it is called.
    """

    name = "lir.collective_poll"

    request = operand_def(REQUEST)

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = "$request attr-dict"

    def __init__(self, request: SSAValue):
        super().__init__(operands=[request])


NETWORK_OPS = (CollectiveOp, CollectiveStartOp, CollectiveWaitOp, CollectivePollOp)
"""The ops that call the engine that connects the processes."""
