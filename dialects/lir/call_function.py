"""Calls of functions that are compiled once per machine, by name."""

from collections.abc import Iterator, Sequence
from typing import cast

from xdsl.dialects.builtin import DenseArrayBase, IndexType, MemRefType, StringAttr, i64
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    prop_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects.lir.memory import AnyMemRef

INDEX = IndexType()


@irdl_op_definition
class CallFunctionOp(IRDLOperation):
    """
    Call a function of the library with the addresses of elements of buffers.

    `words` are constants that the function reads, such as strides. It gets the element of each buffer at its indices,
    which are those of one buffer after the other, and two numbers, the range `low` to `high`. It writes to `writes`.
    """

    name = "lir.call_function"

    function = prop_def(StringAttr)
    words = prop_def(DenseArrayBase.constr(i64))
    reads = var_operand_def(MemRefType.constr())
    writes = var_operand_def(MemRefType.constr())
    indices = var_operand_def(INDEX)
    low = operand_def(INDEX)
    high = operand_def(INDEX)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = (
        "$function $words `(` $reads `)` `to` `(` $writes `)` `at` `[` $indices `]` `range` $low `to` $high attr-dict "
        "`:` `(` type($reads) `)` `to` `(` type($writes) `)`"
    )

    def __init__(
        self,
        function: str,
        words: Sequence[int],
        reads: Sequence[tuple[SSAValue, Sequence[SSAValue]]],
        writes: Sequence[tuple[SSAValue, Sequence[SSAValue]]],
        bounds: tuple[SSAValue, SSAValue],
    ):
        """Buffers with the indices of the elements whose addresses are passed."""
        indices = [index for _, at in (*reads, *writes) for index in at]
        super().__init__(
            operands=[[x for x, _ in reads], [x for x, _ in writes], indices, *bounds],
            properties={"function": StringAttr(function), "words": DenseArrayBase.from_list(i64, words)},
        )

    @property
    def places(self) -> Iterator[tuple[SSAValue, Sequence[SSAValue]]]:
        """The buffers, and the indices of each."""
        indices = list(self.indices)
        for buffer in (*self.reads, *self.writes):
            rank = cast(AnyMemRef, buffer.type).get_num_dims()
            yield buffer, indices[:rank]
            del indices[:rank]

    @property
    def plan(self) -> list[int]:
        """The words as numbers."""
        return [*self.words.get_values()]

    def verify_(self) -> None:
        ranks = sum(cast(AnyMemRef, x.type).get_num_dims() for x in (*self.reads, *self.writes))
        if len(self.indices) != ranks:
            raise VerifyException(f"expected {ranks} indices, one for each dimension, got {len(self.indices)}")
        if not self.writes:
            raise VerifyException("expected a buffer that the function writes to")
