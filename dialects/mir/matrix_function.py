"""Matrix functions: matrices defined by the spectrum of another one, whose derivatives exist at repeated values."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType, f32, f64
from xdsl.ir import Attribute
from xdsl.irdl import result_def
from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects.mir.core import MirOp
from xdsl_rlx.dialects.mir.fields import AnyTensorConstr, Flag, Real, Tensor, flag, real, tensor
from xdsl_rlx.dialects.mir.value import BuilderCore, method
from xdsl_rlx.dialects.shapes import check_element, dims, element_of, same_element_type, shape_of


class MatrixFunctionOp(MirOp, name="mir.matrix_function"):
    """
    `result = left diag(images) right^T`, where `operand = left diag(values) right^T` is a spectral decomposition.

    `operand` is [..., m, n] with `m >= n`, `values` and `images` are [..., n], `left` is [..., m, n] and `right` [...,
    n, n]. They are the eigenvalues and eigenvectors of the symmetric part of `operand`, or with `singular` its singular
    values and vectors.

    The derivative with respect to `operand` uses divided differences of `images` by `values` (Daleckii and Krein),
    which become slopes for equal values. The slopes are derived from the ops that compute `images` from `values` in the
    same body. Nothing flows to `values`, `left` and `right`: the derivative with respect to `operand` accounts for
    them.
    """

    operand: Tensor = tensor(alias="a")
    values: Tensor = tensor()
    left: Tensor = tensor()
    right: Tensor = tensor()
    images: Tensor = tensor()
    singular: Flag = flag(default=False)
    result = result_def(AnyTensorConstr)

    def infer_types(self) -> tuple[Attribute]:
        check_element(same_element_type(*self.operands), (f32, f64))
        shape = shape_of(self.operand)
        if len(shape) < 2 or shape[-2] < shape[-1] or (self.singular is None and shape[-2] != shape[-1]):
            raise VerifyException(f"expected matrices with a spectral decomposition, got {dims(shape)}")
        *batch, _, n = shape
        expected = {"values": (*batch, n), "left": shape, "right": (*batch, n, n), "images": (*batch, n)}
        for name, like in expected.items():
            found = shape_of(getattr(self, name))
            if tuple(found) != tuple(like):
                raise VerifyException(f"expected {name} of shape {dims(like)}, got {dims(found)}")
        return (self.operand.type,)


class PinvOp(MirOp, name="mir.pinv"):
    """
    The pseudo-inverse of each matrix of [..., m, n], f32 or f64: [..., n, m].

    Singular values of at most `rcond` times the largest count as 0. The derivative assumes constant rank (Golub and
    Pereyra, 1973); it has no quotients of singular values.
    """

    operand: Tensor = tensor(alias="a")
    rcond: Real = real(default=1e-15)
    result = result_def(AnyTensorConstr)

    def infer_types(self) -> tuple[Attribute]:
        element, shape = element_of(self.operand), shape_of(self.operand)
        check_element(element, (f32, f64))
        if len(shape) < 2:
            raise VerifyException(f"expected matrices, got a tensor of shape {dims(shape)}")
        *batch, rows, columns = shape
        return (TensorType(element, (*batch, columns, rows)),)


class LstsqOp(MirOp, name="mir.lstsq"):
    """
    `result = pinv(a) b`, the least `x` of those with the least `|a x - b|`, for each matrix of [..., m, n], f32 or f64.

    `b` is [..., m, k], the result [..., n, k]. Singular values of at most `rcond` times the largest count as 0. The
    derivative is that of `mir.pinv`.
    """

    a: Tensor = tensor()
    b: Tensor = tensor()
    rcond: Real = real(default=1e-15)
    result = result_def(AnyTensorConstr)

    def infer_types(self) -> tuple[Attribute]:
        element = same_element_type(self.a, self.b)
        check_element(element, (f32, f64))
        shape, given = shape_of(self.a), shape_of(self.b)
        if len(shape) < 2:
            raise VerifyException(f"expected matrices, got a tensor of shape {dims(shape)}")
        *batch, rows, columns = shape
        if tuple(given[:-1]) != (*batch, rows):
            expected = ", ".join([*map(str, (*batch, rows)), "k"])
            raise VerifyException(f"expected a right-hand side of shape [{expected}], got {dims(given)}")
        return (TensorType(element, (*batch, columns, given[-1])),)


class MatrixFunctionBuilder(BuilderCore):
    """Builder methods of this family."""

    matrix_function = method(MatrixFunctionOp)
    pinv = method(PinvOp)
    lstsq = method(LstsqOp)
