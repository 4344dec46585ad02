"""A call of the engine that connects the processes, from a kernel."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, prop_def, traits_def
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects.lir.memory import AnyMemRef, is_contiguous
from xdsl_rlx.dialects.mir.collectives import COMMUNICATED, Reduction, ReductionAttr
from xdsl_rlx.dialects.mir.fields import I64, i64_attr


@irdl_op_definition
class AllReduceOp(IRDLOperation):
    """
    Reduce the elements of a contiguous buffer over all processes into another one of its type.

    `network` is a buffer that all collective ops of a program write to, so that their order is one of memory. Nothing
    is stored there.
    """

    name = "lir.all_reduce"

    kind = prop_def(ReductionAttr)
    processes = prop_def(I64)
    source = operand_def(MemRefType.constr())
    target = operand_def(MemRefType.constr())
    network = operand_def(MemRefType.constr())

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = (
        "$kind $source `to` $target `by` $network `over` $processes attr-dict "
        "`:` type($source) `,` type($target) `,` type($network)"
    )

    def __init__(self, kind: Reduction, source: SSAValue, target: SSAValue, network: SSAValue, processes: int):
        properties = {"kind": ReductionAttr(kind), "processes": i64_attr(processes)}
        super().__init__(operands=[source, target, network], properties=properties)

    def verify_(self) -> None:
        types = [cast(AnyMemRef, x.type) for x in (self.source, self.target)]
        if types[0].get_shape() != types[1].get_shape() or types[0].element_type != types[1].element_type:
            raise VerifyException(f"expected two buffers of one type, got {types[0]} and {types[1]}")
        for type_ in types:
            if not is_contiguous(type_) or type_.element_type not in COMMUNICATED:
                raise VerifyException(f"expected a contiguous buffer of f32, f64, i32 or i64, got {type_}")
