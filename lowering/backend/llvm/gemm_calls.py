"""How BLAS sees the buffers of `lir.gemm`: transposition and leading dimensions. The emitters write the calls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import MemRefType, f32, f64
from xdsl.ir import Attribute
from xdsl.utils.exceptions import PassFailedException

from xdsl_rlx.dialects.lir import GemmOp
from xdsl_rlx.dialects.lir.memory import AnyMemRef, strides_of


@dataclass(frozen=True)
class Operand:
    """The trailing matrix of a buffer: `rows` x `cols` elements, `row_stride` and `col_stride` elements apart."""

    element: Attribute
    rows: int
    cols: int
    row_stride: int
    col_stride: int

    @staticmethod
    def of(type: Attribute) -> Operand:
        assert isinstance(type, MemRefType)
        memref = cast("AnyMemRef", type)
        return Operand(memref.element_type, *memref.get_shape()[-2:], *strides_of(memref)[-2:])

    @property
    def transposed(self) -> bool:
        """Whether columns, not rows, are contiguous. A single column of any stride counts as rows of one element."""
        return self.col_stride != 1 and self.cols != 1


def check_library(op: GemmOp) -> None:
    """Raise `PassFailedException` for a product that BLAS does not have."""
    if (element := Operand.of(op.a.type).element) not in (f32, f64):
        raise PassFailedException(f"lir.gemm: BLAS has no product in {element}: run lir-tile-matmuls first")


def leading_dimension(x: Operand) -> int:
    """
    The distance of two contiguous lines, as legal for BLAS (at least the length of a line and at least 1).

    Raises `PassFailedException` when lines overlap, which BLAS cannot express.
    """
    lines, length, stride = (x.cols, x.rows, x.col_stride) if x.transposed else (x.rows, x.cols, x.row_stride)
    least = max(length, 1)
    if lines <= 1 or length == 0:
        return max(stride, least)
    if stride < least:
        raise PassFailedException(
            f"lir.gemm: expected a row stride of at least {length}, got {stride}: copy the operand"
        )
    return stride


def row_leading_dimension(type: Attribute) -> int:
    """The leading dimension of the result, whose rows are contiguous."""
    c = Operand.of(type)
    return leading_dimension(Operand(c.element, c.rows, c.cols, c.row_stride, 1))
