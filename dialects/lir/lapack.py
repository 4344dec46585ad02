"""Calls of LAPACK inside kernels. BLAS is in `kernel.py`."""

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import IndexType, MemRefType, UnitAttr, f32, f64, i32
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects.lir.memory import AnyMemRef, strides_of

INDEX = IndexType()


def _trailing(value: SSAValue, indices: Sequence[SSAValue], rank: int) -> tuple[int, ...]:
    """The last `rank` extents, which the indices have to leave, and the last of which has to be of unit stride."""
    type_ = cast(AnyMemRef, value.type)
    if len(indices) != type_.get_num_dims() - rank:
        raise VerifyException(f"expected {type_.get_num_dims() - rank} leading indices for {type_}")
    shape = type_.get_shape()
    if strides_of(type_)[-1] != 1 and shape[-1] != 1:
        raise VerifyException(f"expected lines of unit stride, got {type_}")
    return shape[-rank:]


def _check_factors(matrix: SSAValue, rows: tuple[int, ...], pivots: SSAValue, steps: tuple[int, ...]) -> None:
    element = cast(AnyMemRef, matrix.type).element_type
    if element not in (f32, f64):
        raise VerifyException(f"expected f32 or f64, got {element}")
    if rows[0] != rows[1]:
        raise VerifyException(f"expected a square matrix, got {rows[0]}x{rows[1]}")
    if steps != rows[:1] or cast(AnyMemRef, pivots.type).element_type != i32:
        raise VerifyException(f"expected {rows[0]} pivots of type i32, got {pivots.type}")


@irdl_op_definition
class GetrfOp(IRDLOperation):
    """
    LU factorisation with partial pivoting, in place, of the matrix whose *columns* are the lines of `a`, by LAPACK.

    `pivots` gets the row, counted from 1, with which each row was interchanged. The leading dimensions of each buffer
    are fixed by its index operands. f32 or f64.
    """

    name = "lir.getrf"

    a = operand_def(MemRefType.constr())
    a_indices = var_operand_def(INDEX)
    pivots = operand_def(MemRefType.constr())
    pivots_indices = var_operand_def(INDEX)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = (
        "$a `[` $a_indices `]` `,` $pivots `[` $pivots_indices `]` attr-dict `:` type($a) `,` type($pivots)"
    )

    def __init__(
        self,
        a: SSAValue,
        pivots: SSAValue,
        *,
        a_indices: Sequence[SSAValue] = (),
        pivots_indices: Sequence[SSAValue] = (),
    ):
        super().__init__(operands=[a, a_indices, pivots, pivots_indices])

    def verify_(self) -> None:
        rows = _trailing(self.a, self.a_indices, 2)
        _check_factors(self.a, rows, self.pivots, _trailing(self.pivots, self.pivots_indices, 1))


@irdl_op_definition
class GetrsOp(IRDLOperation):
    """
    Solves with the factors of a `lir.getrf`, in place: each line of `b` is a right hand side that becomes a solution.

    The matrix is the one whose columns were the lines of `lir.getrf`'s operand; with `transpose` its transpose.
    """

    name = "lir.getrs"

    lu = operand_def(MemRefType.constr())
    lu_indices = var_operand_def(INDEX)
    pivots = operand_def(MemRefType.constr())
    pivots_indices = var_operand_def(INDEX)
    b = operand_def(MemRefType.constr())
    b_indices = var_operand_def(INDEX)
    transpose = opt_prop_def(UnitAttr)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = (
        "$lu `[` $lu_indices `]` `,` $pivots `[` $pivots_indices `]` `,` $b `[` $b_indices `]` "
        "(`transpose` $transpose^)? attr-dict `:` type($lu) `,` type($pivots) `,` type($b)"
    )

    def __init__(
        self,
        lu: SSAValue,
        pivots: SSAValue,
        b: SSAValue,
        *,
        lu_indices: Sequence[SSAValue] = (),
        pivots_indices: Sequence[SSAValue] = (),
        b_indices: Sequence[SSAValue] = (),
        transpose: bool = False,
    ):
        super().__init__(
            operands=[lu, lu_indices, pivots, pivots_indices, b, b_indices],
            properties={"transpose": UnitAttr() if transpose else None},
        )

    def verify_(self) -> None:
        rows = _trailing(self.lu, self.lu_indices, 2)
        _check_factors(self.lu, rows, self.pivots, _trailing(self.pivots, self.pivots_indices, 1))
        lines = _trailing(self.b, self.b_indices, 2)
        given, element = cast(AnyMemRef, self.b.type).element_type, cast(AnyMemRef, self.lu.type).element_type
        if given != element or lines[1] != rows[0]:
            raise VerifyException(
                f"expected right hand sides of {rows[0]} elements of type {element}, got {self.b.type}"
            )
