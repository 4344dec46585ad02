"""Grouped matmuls: rows times the matrix of the expert that each row is sent to (mixture of experts)."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import result_def, traits_def
from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects.mir.core import HasKernel, MirOp
from xdsl_rlx.dialects.mir.fields import AnyTensorConstr, Flag, Integer, Tensor, flag, integer, tensor
from xdsl_rlx.dialects.mir.value import BuilderCore, method
from xdsl_rlx.dialects.shapes import FLOATS, INTS, check_element, dims, element_of, same_element_type, shape_of


def _check_ids(ids: SSAValue, rows: int) -> None:
    check_element(element_of(ids), (*INTS, f32), "expert_idx")
    if shape_of(ids) != (rows,):
        raise VerifyException(f"expected an expert for each of {rows} rows, got ids of shape {dims(shape_of(ids))}")


def _check_rank(name: str, value: SSAValue, rank: int) -> tuple[int, ...]:
    shape = shape_of(value)
    if len(shape) != rank:
        raise VerifyException(f"expected {name} of rank {rank}, got {dims(shape)}")
    return shape


class GroupedMatmulOp(MirOp, name="mir.grouped_matmul"):
    """
    `result[i] = x[i] @ w[expert_idx[i]]`: rows `x` `[m, k]` times the matrix of their expert, `w` `[e, k, n]`.

    With `transpose_rhs` the matrices are used transposed: `w` is `[e, n, k]`. The result is `[m, n]`. Ids of experts
    are integers; f32 ids are converted as by `mir.cast`. An id outside of `[0, e)` is clamped to it. The rows of one
    expert are one matmul: no tensor of size `m k n` is made.
    """

    x: Tensor = tensor()
    w: Tensor = tensor()
    expert_idx: Tensor = tensor(alone=True)
    transpose_rhs: Flag = flag(default=False)
    result = result_def(AnyTensorConstr)

    traits = traits_def(HasKernel())

    @property
    def transposed(self) -> bool:
        """Whether the matrices are used transposed."""
        return self.transpose_rhs is not None

    def infer_types(self) -> tuple[Attribute]:
        x = self.x
        check_element(same_element_type(x, self.w), FLOATS)
        (rows, k), (experts, *matrix) = _check_rank("x", x, 2), _check_rank("w", self.w, 3)
        inner, columns = reversed(matrix) if self.transposed else matrix
        if inner != k:
            raise VerifyException(f"rows of {k} elements do not fit matrices of shape {dims(matrix)}")
        _check_ids(self.expert_idx, rows)
        if rows and not experts:
            raise VerifyException("cannot send rows to one of 0 experts")
        return (TensorType(element_of(x), (rows, columns)),)


class GroupedMatmulBackwardWeightOp(MirOp, name="mir.grouped_matmul_backward_weight"):
    """
    `result[e] = sum of x[i] (x) g[i] over the rows i with expert_idx[i] = e`, zeros for an expert without rows.

    The cotangent of `w` in `mir.grouped_matmul`: `x` is `[m, k]`, `g` `[m, n]`, the result `[experts, k, n]`. Ids are
    as in `mir.grouped_matmul`. The cotangent of `x` is `mir.grouped_matmul` with the transposed matrices.
    """

    x: Tensor = tensor()
    g: Tensor = tensor()
    expert_idx: Tensor = tensor(alone=True)
    experts: Integer = integer()
    result = result_def(AnyTensorConstr)

    traits = traits_def(HasKernel())

    def infer_types(self) -> tuple[Attribute]:
        x, experts = self.x, self.experts.value.data
        check_element(same_element_type(x, self.g), FLOATS)
        (rows, k), (others, n) = _check_rank("x", x, 2), _check_rank("g", self.g, 2)
        if others != rows:
            raise VerifyException(f"{rows} rows of x do not fit {others} rows of g")
        _check_ids(self.expert_idx, rows)
        if experts < 0 or (rows and not experts):
            raise VerifyException(f"cannot send rows to one of {experts} experts")
        return (TensorType(element_of(x), (experts, k, n)),)


class MoeBuilder(BuilderCore):
    """Builder methods of this family."""

    grouped_matmul = method(GroupedMatmulOp)
    grouped_matmul_backward_weight = method(GroupedMatmulBackwardWeightOp)
