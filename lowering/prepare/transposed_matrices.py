"""Transposed matrices: whether a value is one, and the transpose of one without a copy where that is possible."""

from __future__ import annotations

from xdsl.ir import SSAValue

from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.mir.shape import TransposeOp


def is_transposed(x: SSAValue) -> bool:
    """Whether the matrices of a value are those of another one, transposed."""
    owner = x.owner
    if not isinstance(owner, TransposeOp):
        return False
    *lead, row, column = owner.perm_list
    return [*lead] == [*range(len(lead))] and (row, column) == (len(lead) + 1, len(lead))


def turned(b: MirBuilder, x: Value) -> Value:
    """The matrices transposed: a row or a column is reshaped, a transpose undone."""
    if is_transposed(x.ssa):
        owner = x.ssa.owner
        assert isinstance(owner, TransposeOp)
        return b.value(owner.operand)
    *lead, rows, columns = x.shape
    return b.reshape(x, (*lead, columns, rows)) if 1 in (rows, columns) else b.swapaxes(x, -1, -2)
