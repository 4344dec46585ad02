"""A call of the engine that connects the processes, from a kernel."""

from __future__ import annotations

from math import prod
from typing import cast

from xdsl.dialects.builtin import MemRefType
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import SpacedOpaqueSyntaxAttribute, SSAValue
from xdsl.irdl import IRDLOperation, irdl_attr_definition, irdl_op_definition, operand_def, prop_def, traits_def
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


@irdl_op_definition
class CollectiveOp(IRDLOperation):
    """
    Have the engine read the elements of a contiguous buffer, of all processes, and write those of another one.

    `root` is a process where there is one that is not as the others. `network` is a buffer that all collective ops of a
    program write to, so that their order is one of memory. Nothing is stored there.
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
        properties = {"call": CollectiveAttr(call), "root": i64_attr(root), "processes": i64_attr(processes)}
        super().__init__(operands=[source, target, network], properties=properties)

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
