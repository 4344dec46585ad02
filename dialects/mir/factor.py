"""
Matrix factorisations, and the functions of NumPy's `linalg` that follow from them. LU and solves are in `solve.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from xdsl.dialects.builtin import TensorType, f32, f64, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import VarConstraint, base, result_def, traits_def
from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects.mir.core import HasKernel, MirOp
from xdsl_rlx.dialects.mir.fields import AnyTensorConstr, Tensor, tensor
from xdsl_rlx.dialects.mir.value import BuilderCore, Operand, Value, method, pair
from xdsl_rlx.dialects.shapes import check_element, check_square, dims, element_of, shape_of

if TYPE_CHECKING:
    from xdsl_rlx.dialects.mir.mir_builder import MirBuilder

EXPANDED = 3
"""Rows up to which a determinant is a sum of products, which is faster than a factorisation."""


class CholeskyOp(MirOp, name="mir.cholesky"):
    """
    `result result^T = operand`, lower triangular with a positive diagonal, for each matrix of [..., n, n], f32 or f64.

    Uses the symmetric part `(operand + operand^T) / 2`. If it is not positive definite, the result is NaN from the
    first failing column on; no error is raised.
    """

    T: ClassVar = VarConstraint("T", base(TensorType))

    operand: Tensor = tensor(T, alias="a")
    result = result_def(T)

    traits = traits_def(HasKernel())
    assembly_format = "$operand attr-dict `:` type($result)"

    def infer_types(self) -> tuple[Attribute]:
        check_element(element_of(self.operand), (f32, f64))
        check_square(shape_of(self.operand))
        return (self.operand.type,)


class EighOp(MirOp, name="mir.eigh"):
    """
    `operand = vectors diag(values) vectors^T` for each matrix of [..., n, n], f32 or f64.

    Uses the symmetric part `(operand + operand^T) / 2`. The values, [..., n], ascend. The vectors are the columns, of
    length 1, with a first element that is not negative. The vectors of equal values are not unique. Their derivative
    omits rotations among them, so it is correct for functions that do not depend on their choice. NaN and infinities
    give NaN.
    """

    operand: Tensor = tensor(alias="a")
    values = result_def(AnyTensorConstr)
    vectors = result_def(AnyTensorConstr)

    traits = traits_def(HasKernel())

    def infer_types(self) -> tuple[Attribute, Attribute]:
        element, shape = element_of(self.operand), shape_of(self.operand)
        check_element(element, (f32, f64))
        check_square(shape)
        return TensorType(element, shape[:-1]), self.operand.type


class QrOp(MirOp, name="mir.qr"):
    """
    `operand = q r` for each matrix of [..., m, n] with `m >= n`, f32 or f64, by Householder reflections.

    `q`, [..., m, n], has orthonormal columns; `r`, [..., n, n], is upper triangular, with a non-negative diagonal. The
    derivative requires full rank; it is infinite or NaN otherwise.
    """

    operand: Tensor = tensor(alias="a")
    q = result_def(AnyTensorConstr)
    r = result_def(AnyTensorConstr)

    traits = traits_def(HasKernel())

    def infer_types(self) -> tuple[Attribute, Attribute]:
        element, shape = _check_tall(self.operand)
        return self.operand.type, TensorType(element, (*shape[:-2], shape[-1], shape[-1]))


class SvdOp(MirOp, name="mir.svd"):
    """
    `operand = u diag(values) vt` for each matrix of [..., m, n] with `m >= n`, f32 or f64.

    `u`, [..., m, n], has orthonormal columns and `vt`, [..., n, n], orthonormal rows, with a first element that is not
    negative. The values, [..., n], descend. The derivative of vectors of equal values is as in `mir.eigh`, and omits
    terms that would be divided by zero values. NaN and infinities give NaN.
    """

    operand: Tensor = tensor(alias="a")
    u = result_def(AnyTensorConstr)
    values = result_def(AnyTensorConstr)
    vt = result_def(AnyTensorConstr)

    traits = traits_def(HasKernel())

    def infer_types(self) -> tuple[Attribute, Attribute, Attribute]:
        element, shape = _check_tall(self.operand)
        *batch, _, n = shape
        return self.operand.type, TensorType(element, (*batch, n)), TensorType(element, (*batch, n, n))


def _check_tall(operand: SSAValue) -> tuple[Attribute, tuple[int, ...]]:
    """Element type and shape of matrices that may be factorised as they lie."""
    element, shape = element_of(operand), shape_of(operand)
    check_element(element, (f32, f64))
    if len(shape) < 2 or shape[-2] < shape[-1]:
        raise VerifyException(f"expected matrices of at least as many rows as columns, got {dims(shape)}")
    return element, shape


class DetOp(MirOp, name="mir.det"):
    """
    `result = det operand` for each matrix of [..., n, n], f32 or f64: the product of the pivots of `mir.lu`.

    The determinant of an empty matrix is 1. The derivative is `mir.cofactors`.
    """

    operand: Tensor = tensor(alias="a")
    result = result_def(AnyTensorConstr)

    def infer_types(self) -> tuple[Attribute]:
        element, shape = element_of(self.operand), shape_of(self.operand)
        check_element(element, (f32, f64))
        check_square(shape)
        return (TensorType(element, shape[:-2]),)


class SlogdetOp(MirOp, name="mir.slogdet"):
    """
    `det operand = sign exp(logabsdet)` for each matrix of [..., n, n], f32 or f64, from the pivots of `mir.lu`.

    `sign` is 1, -1, or 0 for a singular matrix, whose `logabsdet` is -inf. The derivative of `logabsdet` is `a^-T`,
    which is infinite or NaN where the matrix is singular; that of `sign` is 0.
    """

    operand: Tensor = tensor(alias="a")
    sign = result_def(AnyTensorConstr)
    logabsdet = result_def(AnyTensorConstr)

    def infer_types(self) -> tuple[Attribute, Attribute]:
        element, shape = element_of(self.operand), shape_of(self.operand)
        check_element(element, (f32, f64))
        check_square(shape)
        return TensorType(element, shape[:-2]), TensorType(element, shape[:-2])


class CofactorsOp(MirOp, name="mir.cofactors"):
    """
    The matrix of cofactors of each matrix of [..., n, n], f32 or f64: `det(a) a^-T`, and its limit for singular `a`.

    It is the derivative of the determinant. Its own derivative is right for matrices of rank `n - 1` and regular ones;
    it may be NaN for those of lower rank.
    """

    T: ClassVar = VarConstraint("T", base(TensorType))

    operand: Tensor = tensor(T, alias="a")
    result = result_def(T)

    assembly_format = "$operand attr-dict `:` type($result)"

    def infer_types(self) -> tuple[Attribute]:
        check_element(element_of(self.operand), (f32, f64))
        check_square(shape_of(self.operand))
        return (self.operand.type,)


def parity_of(m: MirBuilder, pivots: Value, dtype: object) -> Value:
    """Return 1 or -1 for an even or odd number of interchanges of `mir.lu`."""
    moved = m.ne(pivots, m.iota(pivots.shape[-1], 0, i32) + 1)
    return m.reduce_prod(m.where(moved, m.constant(-1.0, dtype), 1), -1)


class FactorBuilder(BuilderCore):
    """Builder methods of this family."""

    cholesky = method(CholeskyOp)
    eigh = pair(EighOp)
    cofactors = method(CofactorsOp)
    slogdet = pair(SlogdetOp)

    def qr(self, a: Operand) -> tuple[Value, Value]:
        """
        `mir.qr`: `a = q r` with orthonormal columns of `q` and an upper triangular `r`.

        The inner dimension is `min(m, n)`. The diagonal of `r` is non-negative; NumPy's can be negative. With more
        columns than rows, the first columns determine `q`.
        """
        m, matrices = self._this, self.value(self.operand(a))
        if matrices.rank < 2:
            raise VerifyException(f"expected matrices, got a tensor of shape {dims(matrices.shape)}")
        rows, columns = matrices.shape[-2:]
        first = m.narrow(matrices, -1, 0, rows) if rows < columns else matrices
        op = self.emit(QrOp, first.ssa)
        q, r = self.value(op.q), self.value(op.r)
        if rows >= columns:
            return q, r
        rest = m.narrow(matrices, -1, rows, columns - rows)
        return q, m.concat([r, m.swapaxes(q, -1, -2) @ rest], -1)

    def svd(self, a: Operand) -> tuple[Value, Value, Value]:
        """
        `mir.svd`: `u`, values `s` that descend, and `vt` with `a = u diag(s) vt`, each of `min(m, n)` in common.

        As `np.linalg.svd` with `full_matrices=False`. With more columns than rows, the transpose is decomposed.
        """
        m, matrices = self._this, self.value(self.operand(a))
        if matrices.rank < 2:
            raise VerifyException(f"expected matrices, got a tensor of shape {dims(matrices.shape)}")
        is_wide = matrices.shape[-2] < matrices.shape[-1]
        op = self.emit(SvdOp, (m.swapaxes(matrices, -1, -2) if is_wide else matrices).ssa)
        u, s, vt = (self.value(x) for x in op.results)
        return (m.swapaxes(vt, -1, -2), s, m.swapaxes(u, -1, -2)) if is_wide else (u, s, vt)

    def det(self, a: Operand) -> Value:
        """
        Return the determinant of each matrix of [..., n, n]: a sum of products up to 3 rows, else `mir.det`.

        The derivative is the matrix of cofactors, also where `a` is singular; for second ones, see `mir.cofactors`.
        """
        matrices = self.value(self.operand(a))
        check_square(matrices.shape)
        n = matrices.shape[-1]
        if 1 <= n <= EXPANDED:
            return _expanded([[matrices[..., i, j] for j in range(n)] for i in range(n)])
        return self.op(DetOp, matrices.ssa)


def _expanded(rows: list[list[Value]]) -> Value:
    """A determinant by its first row."""
    if len(rows) == 1:
        return rows[0][0]
    minors = [_expanded([[*row[:j], *row[j + 1 :]] for row in rows[1:]]) for j in range(len(rows))]
    total = rows[0][0] * minors[0]
    for j in range(1, len(rows)):
        term = rows[0][j] * minors[j]
        total = total - term if j % 2 else total + term
    return total
