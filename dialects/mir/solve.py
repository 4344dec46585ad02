"""Systems of linear equations: solves, the factorisation they share, and their builder methods."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType, f32, f64, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import result_def, traits_def
from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects.mir.core import HasKernel, MirOp
from xdsl_rlx.dialects.mir.fields import AnyTensorConstr, Flag, Tensor, flag, tensor
from xdsl_rlx.dialects.mir.value import BuilderCore, method, pair
from xdsl_rlx.dialects.shapes import (
    COMPLEXES,
    check_element,
    check_square,
    dims,
    element_of,
    same_element_type,
    shape_of,
)


def _check_right_hand_side(matrices: Sequence[int], given: Sequence[int]) -> None:
    """A vector or some columns for each matrix."""
    if tuple(given) != tuple(matrices[:-1]) and (
        len(given) != len(matrices) or tuple(given[:-1]) != tuple(matrices[:-1])
    ):
        vectors, columns = dims(matrices[:-1]), ", ".join([*map(str, matrices[:-1]), "k"])
        raise VerifyException(f"expected a right-hand side of shape {vectors} or [{columns}], got {dims(given)}")


def _check_factors(packed: SSAValue, pivots: SSAValue) -> None:
    """What `mir.lu` gives for some matrices."""
    shape = shape_of(packed)
    check_square(shape)
    expected = TensorType(i32, shape[:-1])
    if pivots.type != expected:
        raise VerifyException(f"expected pivots of type {expected}, got {pivots.type}")


class SolveOp(MirOp):
    """The base of solves: `a` and `b` are [..., n, n] and [..., n] or [..., n, k], real or complex."""

    a: Tensor = tensor()
    b: Tensor = tensor()
    transpose: Flag = flag(default=False)
    result = result_def(AnyTensorConstr)

    @classmethod
    def check_rank(cls, rank: int) -> None:
        """VerifyException if `a` may not have this rank."""

    def infer_types(self) -> tuple[Attribute]:
        a, b = self.a, self.b
        type_ = same_element_type(a, b)
        check_element(type_, (f32, f64, *COMPLEXES))
        self.check_rank(len(shape_of(a)))
        check_square(shape_of(a))
        _check_right_hand_side(shape_of(a), shape_of(b))
        return (b.type,)


class DenseSolveOp(SolveOp, name="mir.dense_solve"):
    """
    `result = a^-1 b`, with `transpose` `a^-T b`: `a` is [n, n], `b` and the result [n] or [n, k], real or complex.

    Uses LU factorisation with partial pivoting. If `a` is singular to working precision, a pivot may be exactly 0: the
    result then has infinities or NaN, and no error is raised. A complex system is solved as a real one, with the matrix
    `[[re a, -im a], [im a, re a]]`.
    """

    @classmethod
    def check_rank(cls, rank: int) -> None:
        if rank != 2:
            raise VerifyException(f"expected one matrix, got a tensor of rank {rank}; see mir.batched_dense_solve")


class BatchedDenseSolveOp(SolveOp, name="mir.batched_dense_solve"):
    """
    `mir.dense_solve` for each of a batch: `a` is [b.., n, n], `b` and the result [b.., n] or [b.., n, k].

    The batch dimensions are equal; they do not broadcast.
    """

    @classmethod
    def check_rank(cls, rank: int) -> None:
        if rank < 3:
            raise VerifyException(f"expected a batch of matrices, got a tensor of rank {rank}; see mir.dense_solve")


class LuOp(MirOp, name="mir.lu"):
    """
    `P operand^T = L U` for each matrix of [..., n, n], of f32 or f64: LU factorisation with partial pivoting.

    The transpose is factored, because LAPACK is column-major. `packed[..., j, i]` holds `U[i, j]` for `i <= j` and
    `L[i, j]` below the diagonal; the diagonal of `L` is 1. `pivots` is [..., n]: in step `i`, counted from 1, row `i`
    of the transpose was interchanged with row `pivots[i] >= i`. A column without a nonzero pivot is left as it is, and
    `U` has a 0 there.

    Each call chooses pivots. The derivative is that of the factors with the chosen interchanges held fixed. Of the
    elements on the diagonal of `U`, it allows only the last one to be 0.
    """

    operand: Tensor = tensor(alias="a")
    packed = result_def(AnyTensorConstr)
    pivots = result_def(AnyTensorConstr)

    traits = traits_def(HasKernel())

    def infer_types(self) -> tuple[Attribute, Attribute]:
        operand = self.operand
        check_element(element_of(operand), (f32, f64))
        shape = shape_of(operand)
        check_square(shape)
        return operand.type, TensorType(i32, shape[:-1])


class LuSolveOp(MirOp, name="mir.lu_solve"):
    """
    `result = a^-1 b`, with `transpose` `a^-T b`, for each matrix `a` that `mir.lu` factored into `packed` and `pivots`.

    `packed` is [..., n, n], `pivots` [..., n], `b` and the result [..., n] or [..., n, k]. Division by a 0 on the
    diagonal of `U` follows IEEE 754.
    """

    packed: Tensor = tensor()
    pivots: Tensor = tensor(alone=True)
    b: Tensor = tensor()
    transpose: Flag = flag(default=False)
    result = result_def(AnyTensorConstr)

    traits = traits_def(HasKernel())

    def infer_types(self) -> tuple[Attribute]:
        b = self.b
        check_element(same_element_type(self.packed, b), (f32, f64))
        _check_factors(self.packed, self.pivots)
        _check_right_hand_side(shape_of(self.packed), shape_of(b))
        return (b.type,)


class LuInverseOp(MirOp, name="mir.lu_inverse"):
    """
    `result = a^-1` for each matrix `a` that `mir.lu` factored into `packed` and `pivots`, as `getri` of LAPACK.

    `packed` and the result are [..., n, n], `pivots` is [..., n]. Takes two thirds of the operations of `mir.lu_solve`
    with the identity. Division by a 0 on the diagonal of `U` follows IEEE 754.
    """

    packed: Tensor = tensor()
    pivots: Tensor = tensor(alone=True)
    result = result_def(AnyTensorConstr)

    traits = traits_def(HasKernel())

    def infer_types(self) -> tuple[Attribute]:
        check_element(element_of(self.packed), (f32, f64))
        _check_factors(self.packed, self.pivots)
        return (self.packed.type,)


class InterchangeRowsOp(MirOp, name="mir.interchange_rows"):
    """
    `result = P b`, with `inverse` `P^T b`: the interchanges that `pivots` of `mir.lu` name, in order or in reverse.

    In step `i`, counted from 1, row `i` is interchanged with row `pivots[i]`. `pivots` is [..., n]; `b` and the result
    are [..., n] or [..., n, k]. A pivot that is no row counts as the nearest one.
    """

    b: Tensor = tensor()
    pivots: Tensor = tensor(alone=True)
    inverse: Flag = flag(default=False)
    result = result_def(AnyTensorConstr)

    traits = traits_def(HasKernel())

    def infer_types(self) -> tuple[Attribute]:
        b, pivots = self.b, self.pivots
        check_element(element_of(b), (f32, f64))
        shape = shape_of(pivots)
        if not shape or pivots.type != TensorType(i32, shape):
            raise VerifyException(f"expected pivots [..., n] of type i32, got {pivots.type}")
        _check_right_hand_side((*shape, shape[-1]), shape_of(b))
        return (b.type,)


class TriangularSolveOp(MirOp, name="mir.triangular_solve"):
    """
    `result = a^-1 b`, with `transpose` `a^-T b`, for each triangular matrix of [..., n, n], f32 or f64.

    Only the upper triangle of `a` is read, with `lower` the lower one; with `unit_diagonal` its diagonal counts as
    ones. `b` and the result are [..., n] or [..., n, k]. Division by a zero on the diagonal follows IEEE 754.
    """

    a: Tensor = tensor()
    b: Tensor = tensor()
    lower: Flag = flag(default=True)
    transpose: Flag = flag(default=False)
    unit_diagonal: Flag = flag(default=False)
    result = result_def(AnyTensorConstr)

    traits = traits_def(HasKernel())

    def infer_types(self) -> tuple[Attribute]:
        a, b = self.a, self.b
        check_element(same_element_type(a, b), (f32, f64))
        check_square(shape_of(a))
        _check_right_hand_side(shape_of(a), shape_of(b))
        return (b.type,)


class SolveBuilder(BuilderCore):
    """Builder methods of this family."""

    dense_solve = method(DenseSolveOp)
    batched_dense_solve = method(BatchedDenseSolveOp)

    lu = pair(LuOp)
    lu_solve = method(LuSolveOp)
    lu_inverse = method(LuInverseOp)
    interchange_rows = method(InterchangeRowsOp)
    triangular_solve = method(TriangularSolveOp)
