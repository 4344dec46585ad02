"""Kernels: outlined loop nests over buffers. Library calls are in `blas.py`, `lapack.py`, programs in `program.py`."""

from collections.abc import Sequence
from typing import Any, Self, cast

from xdsl.dialects import scf
from xdsl.dialects.builtin import (
    FunctionType,
    IndexType,
    IntegerAttr,
    MemRefType,
    StringAttr,
    SymbolNameConstraint,
    i1,
    i64,
)
from xdsl.dialects.utils import parse_func_op_like, print_func_op_like
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    HasParent,
    IsolatedFromAbove,
    IsTerminator,
    MemoryReadEffect,
    MemoryWriteEffect,
    SymbolOpInterface,
)
from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects.lir.bounds import trip_count, verify_kernel_body, written_buffers
from xdsl_rlx.dialects.lir.memory import AnyMemRef, is_any_length, verify_buffer_type

INDEX = IndexType()

NO_UNROLL = "lir.no_unroll"
"""
The attribute of an `scf.for` that is to stay a loop: over neighbours in memory, or around rows better done one by one.

LLVM writes short loops of known length out, and then looks for vectors in the loop around them, where elements lie far
apart.
"""

LANES = "lir.vectorize"
"""The attribute of an `scf.for` over neighbours in memory that is few vectors, and is to be written out as these."""

OUTLINE = "lir.outline"
"""
The attribute of an `scf.for` that carries nothing and is better compiled by itself, with registers of its own.

LLVM makes a function of it, which equal loops share. A `memref.alloca` that has the attribute, too, holds nothing when
a loop that alone uses it begins: it is that function's.
"""

UNROLL = "lir.unroll"
"""
The attribute of an `scf.for` with constant bounds that is to be written out: how many iterations side by side.

LLVM writes out these loops and no others. Few iterations are written out before it looks for vectors, others after.
"""

MASKED = "lir.masked"
"""The attribute of an `scf.for` whose last iterations, fewer than a vector has lanes, are a vector with a mask."""

GUARDED = "lir.guarded"
"""
The attribute of an `scf.for` behind which it runs again if its last carries, as many as the number, are not all zero.

They say whether an argument was too large for the functions in it. A backend whose functions find that out themselves
leaves them zero.
"""

AT_ONCE = 8
"""Iterations of a loop that may be side by side, if they are not all."""


@irdl_op_definition
class KernelOp(IRDLOperation):
    """
    A loop nest outlined from a program: `@k(buffers..., %lo: index, %hi: index)` computes the iterations [lo, hi).

    Distinct buffers do not overlap unless both are only read. A buffer of type `memref<?xT>` has one element per
    iteration of the launch, and iteration `i` accesses element `i` only, so that one kernel serves all lengths.
    """

    name = "lir.kernel"

    sym_name = prop_def(SymbolNameConstraint())
    function_type = prop_def(FunctionType)
    body = region_def("single_block")

    traits = traits_def(IsolatedFromAbove(), SymbolOpInterface())

    def __init__(self, name: str, buffer_types: Sequence[Attribute], body: Region | None = None):
        function_type = FunctionType.from_lists([*buffer_types, INDEX, INDEX], [])
        super().__init__(
            properties={"sym_name": StringAttr(name), "function_type": function_type},
            regions=[body if body is not None else Region(Block(arg_types=function_type.inputs))],
        )

    @property
    def buffer_types(self) -> tuple[AnyMemRef, ...]:
        """The memref types of the buffer arguments, without the two bounds."""
        return tuple(cast(AnyMemRef, t) for t in self.function_type.inputs if isinstance(t, MemRefType))

    @property
    def written(self) -> frozenset[int]:
        """The numbers of the buffer arguments that the body writes to."""
        written = written_buffers(self.body.block)
        return frozenset(n for n, arg in enumerate(self.body.block.args) if arg in written)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        name, inputs, _, body, extra, _, _ = parse_func_op_like(
            parser, reserved_attr_names=("sym_name", "function_type")
        )
        op = cls(name, inputs[:-2], body)
        op.function_type = FunctionType.from_lists(inputs, [])
        if extra is not None:
            op.attributes |= extra.data
        return op

    def print(self, printer: Printer) -> None:
        print_func_op_like(
            printer,
            self.sym_name,
            self.function_type,
            self.body,
            self.attributes,
            reserved_attr_names=("sym_name", "function_type"),
        )

    def verify_(self) -> None:
        inputs = self.function_type.inputs.data
        if self.function_type.outputs.data:
            raise VerifyException("a kernel returns nothing")
        if len(inputs) < 2 or any(t != INDEX for t in inputs[-2:]):
            raise VerifyException("the last two arguments of a kernel are its bounds, of type index")
        for type_ in inputs[:-2]:
            if not isinstance(type_, MemRefType):
                raise VerifyException(f"a kernel takes buffers and two bounds, got {type_}")
            if not is_any_length(cast(AnyMemRef, type_)):
                verify_buffer_type(cast(AnyMemRef, type_))
        if tuple(self.body.block.arg_types) != inputs:
            raise VerifyException("the block arguments do not match the kernel's type")
        verify_kernel_body(self.body.block)
        for loop in self.body.walk():
            if isinstance(loop, scf.ForOp) and UNROLL in loop.attributes:
                _verify_unroll(loop)
            if isinstance(loop, scf.ForOp) and OUTLINE in loop.attributes and loop.results:
                raise VerifyException(f"expected {OUTLINE} on a loop without carries")


def _verify_unroll(loop: scf.ForOp) -> None:
    mark, trips = loop.attributes[UNROLL], trip_count(loop)
    if not isinstance(mark, IntegerAttr) or trips is None:
        raise VerifyException(f"{UNROLL} is a number, on a loop whose bounds are constants")
    count = cast("IntegerAttr[Any]", mark).value.data
    if not (2 <= count <= AT_ONCE or count >= trips):
        raise VerifyException(f"{UNROLL} is from 2 to {AT_ONCE}, or all {trips} iterations, got {count}")


@irdl_op_definition
class ReturnOp(IRDLOperation):
    """The end of a kernel."""

    name = "lir.return"

    traits = traits_def(IsTerminator(), HasParent(KernelOp))
    assembly_format = "attr-dict"


@irdl_op_definition
class CheckOp(IRDLOperation):
    """
    Stop the run of the program unless `0 <= value <= limit`: the caller gets `message` and the value.

    The rest of the kernel and all later launches are skipped; results are undefined.
    """

    name = "lir.check"

    value = operand_def(INDEX)
    limit = operand_def(INDEX)
    message = prop_def(StringAttr)

    # an effect on memory, so that it is neither removed nor moved
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = "$value `at_most` $limit `,` $message attr-dict"

    def __init__(self, value: SSAValue, limit: SSAValue, message: str):
        super().__init__(operands=[value, limit], properties={"message": StringAttr(message)})


@irdl_op_definition
class PollOp(IRDLOperation):
    """
    Whether a loop of unknown length goes on: not where the run of the program was interrupted, or a check has failed.

    `count` is the number of iterations so far. More than `limit` take milliseconds: where nobody has said that the
    program may run so long, the run ends, and begins anew where it can be interrupted.
    """

    name = "lir.poll"

    count = operand_def(INDEX)
    limit = prop_def(IntegerAttr.constr(i64))
    result = result_def(i1)

    # other threads write what it reads
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = "$count `of` $limit attr-dict"

    def __init__(self, count: SSAValue, limit: int):
        super().__init__(operands=[count], properties={"limit": IntegerAttr(limit, i64)}, result_types=[i1])

    def verify_(self) -> None:
        if self.limit.value.data < 1:
            raise VerifyException(f"expected limit >= 1, got {self.limit.value.data}")
