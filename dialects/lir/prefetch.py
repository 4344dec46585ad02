"""Memory hints inside kernels, which do not change results."""

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import IndexType, MemRefType, UnitAttr
from xdsl.ir import SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, opt_prop_def, traits_def, var_operand_def
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects.lir.memory import AnyMemRef

INDEX = IndexType()


@irdl_op_definition
class PrefetchOp(IRDLOperation):
    """
    Prefetch the cache line of an element into the cache of the core; with `write`, so that it can be stored to.

    Processors without such an instruction prefetch it for reading.
    """

    name = "lir.prefetch"

    buffer = operand_def(MemRefType.constr())
    indices = var_operand_def(INDEX)
    write = opt_prop_def(UnitAttr)

    # an effect on memory, so that it is neither removed nor moved
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = "$buffer `[` $indices `]` (`write` $write^)? attr-dict `:` type($buffer)"

    def __init__(self, buffer: SSAValue, indices: Sequence[SSAValue], write: bool = False):
        super().__init__(operands=[buffer, indices], properties={"write": UnitAttr() if write else None})

    def verify_(self) -> None:
        type_ = cast(AnyMemRef, self.buffer.type)
        if len(self.indices) != type_.get_num_dims():
            raise VerifyException(f"expected {type_.get_num_dims()} indices for {type_}, got {len(self.indices)}")
