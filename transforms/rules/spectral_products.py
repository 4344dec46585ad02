"""How products with eigenvectors or singular vectors are seen to be functions of a matrix: rows of RAISE.
The op and its derivative are in `matrix_function.py`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from xdsl.ir import Operation, SSAValue

from xdsl_rlx.dialects.mir.elementwise import DivOp, MulOp, WhereOp
from xdsl_rlx.dialects.mir.factor import EighOp, SvdOp
from xdsl_rlx.dialects.mir.linalg import MatmulOp
from xdsl_rlx.dialects.mir.matrix_function import MatrixFunctionOp
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.mir.shape import ReshapeOp, TransposeOp
from xdsl_rlx.dialects.shapes import shape_of
from xdsl_rlx.transforms.canonicalize.mir import splat
from xdsl_rlx.transforms.identity_matrix import is_identity
from xdsl_rlx.transforms.rules.linalg import transposed
from xdsl_rlx.transforms.rules.raise_table import RAISE, Raised


class _Factor(NamedTuple):
    """What each column of vectors is multiplied by, or divided by."""

    value: SSAValue
    axis: int | None
    """The axis of extent 1 that it has beside that of the vectors, counted from the end; None if it has none."""
    divides: bool = False


@dataclass(frozen=True)
class _Scaled:
    """The vectors of a decomposition, left ones as columns or right ones as rows, with factors for each of them."""

    op: Operation
    factors: tuple[_Factor, ...] = ()
    applied_to: SSAValue | None = None
    """The columns that right vectors were multiplied by, if they were."""

    def times(self, value: SSAValue, axis: int | None, divides: bool = False) -> _Scaled:
        """The same with one more factor."""
        axis = None if axis is not None and len(shape_of(value)) < -axis else axis
        return _Scaled(self.op, (*self.factors, _Factor(value, axis, divides)), self.applied_to)


def _scaled(value: SSAValue, rows: bool) -> _Scaled | None:
    """The left vectors that a value is columns of, or with `rows` the right ones that it is rows of."""
    owner = value.owner
    if isinstance(owner, EighOp):
        return None if rows or value is not owner.vectors else _Scaled(owner)
    if isinstance(owner, SvdOp):
        return _Scaled(owner) if value is (owner.vt if rows else owner.u) else None
    if isinstance(owner, TransposeOp) and _swaps_last(owner):
        found = _scaled(owner.operand, not rows)
        # the transpose of left vectors is right vectors of eigenvectors alone
        return found if found is not None and isinstance(found.op, EighOp) else None
    if isinstance(owner, MulOp | DivOp) and (found := _times_factor(owner, rows)) is not None:
        return found
    if isinstance(owner, MatmulOp):
        vectors, diagonal = (owner.rhs, owner.lhs) if rows else (owner.lhs, owner.rhs)
        factor, found = _diagonal(diagonal), _scaled(vectors, rows)
        return None if factor is None or found is None else found.times(*factor)
    return None


def _times_factor(op: MulOp | DivOp, rows: bool) -> _Scaled | None:
    """Vectors times, or over, what broadcasts along them."""
    sides = [(op.lhs, op.rhs)] if isinstance(op, DivOp) else [(op.lhs, op.rhs), (op.rhs, op.lhs)]
    for vectors, factor in sides:
        if shape_of(vectors) == shape_of(op.result) and _is_factor(factor, rows):
            found = _scaled(vectors, rows)
            if found is not None:
                return found.times(factor, -1 if rows else -2, isinstance(op, DivOp))
    return None


def _is_factor(value: SSAValue, rows: bool) -> bool:
    """Whether a value is one number for each column, or with `rows` for each row."""
    shape = shape_of(value)
    if not shape:
        return True
    return shape[-1] == 1 if rows else len(shape) == 1 or shape[-2] == 1


def _swaps_last(op: TransposeOp) -> bool:
    *others, first, second = op.perm_list if len(op.perm_list) > 1 else (0, 0)
    return (first, second) == (len(others) + 1, len(others)) and list(others) == list(range(len(others)))


def _diagonal(value: SSAValue) -> tuple[SSAValue, int] | None:
    """What stands on the diagonal of a matrix of zeros, with its other axis: `np.diag(x)`, the identity times `x`."""
    owner = value.owner
    sides: list[tuple[SSAValue, SSAValue]] = []
    if isinstance(owner, WhereOp) and splat(owner.on_false) == 0:
        sides = [(owner.on_true, owner.cond)]
    elif isinstance(owner, MulOp):
        sides = [(owner.lhs, owner.rhs), (owner.rhs, owner.lhs)]
    for factor, identity in sides:
        if len(shape_of(identity)) == 2 and is_identity(identity):
            for axis in (-2, -1):
                if _is_factor(factor, axis == -1):
                    return factor, axis
    return None


def _applied(value: SSAValue) -> _Scaled | None:
    """Right vectors with factors, times columns: `f[:, None] * (V^T b)`."""
    owner = value.owner
    if isinstance(owner, MatmulOp):
        found = _scaled(owner.lhs, True)
        return None if found is None else _Scaled(found.op, found.factors, owner.rhs)
    if isinstance(owner, MulOp | DivOp):
        sides = [(owner.lhs, owner.rhs)] if isinstance(owner, DivOp) else [owner.operands, owner.operands[::-1]]
        for columns, factor in sides:
            if shape_of(columns) == shape_of(owner.result) and _is_factor(factor, True):
                found = _applied(columns)
                if found is not None:
                    return found.times(factor, -1, isinstance(owner, DivOp))
    if isinstance(owner, ReshapeOp) and shape_of(value) == (*shape_of(owner.operand), 1):
        return _applied_vector(owner.operand)
    return None


def _applied_vector(value: SSAValue) -> _Scaled | None:
    """The same of one column, as a vector: `f * (V^T b)`."""
    owner = value.owner
    if isinstance(owner, ReshapeOp) and shape_of(owner.operand) == (*shape_of(value), 1):
        return _applied(owner.operand)
    if isinstance(owner, MulOp | DivOp):
        sides = [(owner.lhs, owner.rhs)] if isinstance(owner, DivOp) else [owner.operands, owner.operands[::-1]]
        for column, factor in sides:
            if shape_of(column) == shape_of(owner.result):
                found = _applied_vector(column)
                if found is not None:
                    return found.times(factor, None, isinstance(owner, DivOp))
    return None


@RAISE.rule(MatrixFunctionOp, MatmulOp, among=(EighOp, SvdOp))
def raise_matrix_function(op: MatmulOp) -> Raised | None:
    """`(V * f) V^T`, and `V (f * V^T b)`, with the factors on either side and in any number."""
    left = _scaled(op.lhs, False)
    if left is None:
        return None
    right = _scaled(op.rhs, True)
    right = _applied(op.rhs) if right is None else right
    if right is None or right.op is not left.op or not (left.factors or right.factors):
        return None
    if len(shape_of(op.result)) != len(shape_of(left.op.operands[0])):
        return None
    return Raised([op.lhs, op.rhs], lambda b: _build(b, left, right))


def _build(b: MirBuilder, left: _Scaled, right: _Scaled) -> Value:
    values, vectors, rows = _spectrum(b, left.op)
    images = b.constant(1.0, values.dtype)
    for factor in (*left.factors, *right.factors):
        x = b.value(factor.value)
        if factor.axis is not None:
            x = b.reshape(x, [n for d, n in enumerate(x.shape) if d != x.rank + factor.axis])
        images = images / x if factor.divides else images * x
    images = b.expand(images, values.shape)
    found = b.matrix_function(left.op.operands[0], values, vectors, rows, images, isinstance(left.op, SvdOp))
    return found if right.applied_to is None else found @ b.value(right.applied_to)


def _spectrum(b: MirBuilder, op: Operation) -> tuple[Value, Value, Value]:
    """Values, left vectors and right vectors, both as columns."""
    if isinstance(op, SvdOp):
        return b.value(op.values), b.value(op.u), transposed(b, b.value(op.vt))
    assert isinstance(op, EighOp)
    return b.value(op.values), b.value(op.vectors), b.value(op.vectors)
