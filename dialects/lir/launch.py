"""Launches: runs of a kernel on buffers of a program, cut into chunks."""

from collections.abc import Sequence
from functools import lru_cache
from math import prod

from xdsl.dialects.builtin import DenseArrayBase, SymbolRefAttr, UnitAttr, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, OpTrait
from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects.lir.buffers import AnyMemRefConstr
from xdsl_rlx.dialects.lir.memory import memref_of
from xdsl_rlx.dialects.mir.fields import I64, i64_attr


class HoldsLaunches(OpTrait):
    """Its regions hold launches and control flow, which run in their order."""


@lru_cache(maxsize=1024)
def _segments(*sizes: int) -> Attribute:
    return DenseArrayBase.from_list(i32, sizes)


@irdl_op_definition
class LaunchOp(IRDLOperation):
    """
    Run `kernel` for the iterations [0, extent), in independent chunks of `chunk` iterations, or sequentially with
    `in_order`.

    The kernel's buffers are `reads` then `writes`. A written buffer is not read before the kernel has written it,
    unless it was complete before this launch.

    A launch of one chunk may say how many threads the library of BLAS and LAPACK has at most in its calls, where the
    program and the process have as many; else it has one.
    """

    name = "lir.launch"

    kernel = prop_def(SymbolRefAttr)
    extent = prop_def(I64)
    chunk = prop_def(I64)
    in_order = opt_prop_def(UnitAttr)
    blas_threads = opt_prop_def(I64)
    reads = var_operand_def(AnyMemRefConstr)
    writes = var_operand_def(AnyMemRefConstr)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = (
        "$kernel `over` $extent `by` $chunk (`in_order` $in_order^)? (`blas_threads` $blas_threads^)? "
        "(`reads` `(` $reads^ `:` type($reads) `)`)? "
        "`writes` `(` $writes `:` type($writes) `)` attr-dict"
    )

    def __init__(
        self,
        kernel: str | SymbolRefAttr,
        extent: int,
        chunk: int,
        reads: Sequence[SSAValue],
        writes: Sequence[SSAValue],
        *,
        in_order: bool = False,
        blas_threads: int = 1,
    ):
        options: dict[str, Attribute] = {"in_order": UnitAttr()} if in_order else {}
        if blas_threads > 1:
            options["blas_threads"] = i64_attr(blas_threads)
        Operation.__init__(
            self,
            operands=[*reads, *writes],
            properties=options
            | {
                "kernel": SymbolRefAttr(kernel) if isinstance(kernel, str) else kernel,
                "extent": i64_attr(extent),
                "chunk": i64_attr(chunk),
                AttrSizedOperandSegments.attribute_name: _segments(len(reads), len(writes)),
            },
        )

    @property
    def chunk_count(self) -> int:
        """Pieces of this launch."""
        return -(-self.extent.value.data // self.chunk.value.data)

    @property
    def most_blas_threads(self) -> int:
        """How many threads BLAS and LAPACK have at most."""
        return 1 if self.blas_threads is None else self.blas_threads.value.data

    def verify_(self) -> None:
        if self.extent.value.data < 0 or self.chunk.value.data < 1:
            raise VerifyException(
                f"expected extent >= 0 and chunk >= 1, got {self.extent.value.data} by {self.chunk.value.data}"
            )
        if self.blas_threads is not None and (self.most_blas_threads < 2 or self.chunk_count > 1):
            got = f"{self.chunk_count} chunks with {self.most_blas_threads}"
            raise VerifyException(f"expected one chunk where BLAS has threads, and at least 2 of them, got {got}")
        # what holds nothing is not written, and views of it may be one value
        written = [x for x in self.writes if prod(memref_of(x).get_shape())]
        if len({*written}) != len(written) or {*written} & {*self.reads}:
            raise VerifyException("a written buffer may be passed only once")
