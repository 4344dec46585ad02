"""Products of rows with the matrix of the expert that each row is sent to (mixture of experts)."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType, UnitAttr, f32
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects.mir.core import I64, AnyTensorConstr, MirOp, OwnNest, i64_attr
from xdsl_rlx.dialects.mir.value import BuilderCore, Operand, Value
from xdsl_rlx.dialects.shapes import FLOATS, INTS, check_element, dims, element_of, same_element_type, shape_of


def _check_ids(ids: SSAValue, rows: int) -> None:
    check_element(element_of(ids), (*INTS, f32))
    if shape_of(ids) != (rows,):
        raise VerifyException(f"expected an expert for each of {rows} rows, got ids of shape {dims(shape_of(ids))}")


def _check_rank(name: str, value: SSAValue, rank: int) -> tuple[int, ...]:
    shape = shape_of(value)
    if len(shape) != rank:
        raise VerifyException(f"expected {name} of rank {rank}, got {dims(shape)}")
    return shape


@irdl_op_definition
class GroupedMatmulOp(MirOp):
    """
    `result[i] = x[i] @ w[expert_idx[i]]`: rows `x` `[m, k]` times the matrix of their expert, `w` `[e, k, n]`.

    With `transpose_rhs` the matrices are used transposed: `w` is `[e, n, k]`. The result is `[m, n]`. Ids of experts
    are integers; f32 ones are converted as by `mir.cast`. An id outside of `[0, e)` is clamped to it. Rows of one
    expert are one product: nothing of size `m k n` is made.
    """

    name = "mir.grouped_matmul"

    x = operand_def(AnyTensorConstr)
    w = operand_def(AnyTensorConstr)
    expert_idx = operand_def(AnyTensorConstr)
    transpose_rhs = opt_prop_def(UnitAttr)
    result = result_def(AnyTensorConstr)

    traits = traits_def(OwnNest())
    assembly_format = (
        "$x `,` $w `,` $expert_idx (`transpose_rhs` $transpose_rhs^)? attr-dict `:` functional-type(operands, results)"
    )

    def __init__(self, x: SSAValue, w: SSAValue, expert_idx: SSAValue, transpose_rhs: bool = False):
        super().__init__(
            operands=[x, w, expert_idx],
            properties={"transpose_rhs": UnitAttr() if transpose_rhs else None},
            result_types=[self._infer(x, w, expert_idx, transpose_rhs)],
        )

    @property
    def transposed(self) -> bool:
        """Whether the matrices are used transposed."""
        return self.transpose_rhs is not None

    @staticmethod
    def _infer(x: SSAValue, w: SSAValue, ids: SSAValue, transposed: bool) -> Attribute:
        check_element(same_element_type(x, w), FLOATS)
        (rows, k), (experts, *matrix) = _check_rank("x", x, 2), _check_rank("w", w, 3)
        inner, columns = reversed(matrix) if transposed else matrix
        if inner != k:
            raise VerifyException(f"rows of {k} elements do not fit matrices of {dims(matrix)}")
        _check_ids(ids, rows)
        if rows and not experts:
            raise VerifyException("cannot send rows to one of 0 experts")
        return TensorType(element_of(x), (rows, columns))

    def infer_types(self) -> tuple[Attribute]:
        return (self._infer(self.x, self.w, self.expert_idx, self.transposed),)


@irdl_op_definition
class GroupedMatmulBackwardWeightOp(MirOp):
    """
    `result[e] = sum of x[i] (x) g[i] over the rows i with expert_idx[i] = e`, zeros for an expert without rows.

    The cotangent of `w` in `mir.grouped_matmul`: `x` is `[m, k]`, `g` `[m, n]`, the result `[experts, k, n]`. Ids are
    read as there. The cotangent of `x` is `mir.grouped_matmul` by the transposed matrices.
    """

    name = "mir.grouped_matmul_backward_weight"

    x = operand_def(AnyTensorConstr)
    g = operand_def(AnyTensorConstr)
    expert_idx = operand_def(AnyTensorConstr)
    experts = prop_def(I64)
    result = result_def(AnyTensorConstr)

    traits = traits_def(OwnNest())
    assembly_format = "$x `,` $g `,` $expert_idx `experts` $experts attr-dict `:` functional-type(operands, results)"

    def __init__(self, x: SSAValue, g: SSAValue, expert_idx: SSAValue, experts: int):
        super().__init__(
            operands=[x, g, expert_idx],
            properties={"experts": i64_attr(experts)},
            result_types=[self._infer(x, g, expert_idx, experts)],
        )

    @staticmethod
    def _infer(x: SSAValue, g: SSAValue, ids: SSAValue, experts: int) -> Attribute:
        check_element(same_element_type(x, g), FLOATS)
        (rows, k), (others, n) = _check_rank("x", x, 2), _check_rank("g", g, 2)
        if others != rows:
            raise VerifyException(f"{rows} rows of x do not fit {others} rows of g")
        _check_ids(ids, rows)
        if experts < 0 or (rows and not experts):
            raise VerifyException(f"cannot send rows to one of {experts} experts")
        return TensorType(element_of(x), (experts, k, n))

    def infer_types(self) -> tuple[Attribute]:
        return (self._infer(self.x, self.g, self.expert_idx, self.experts.value.data),)


class MoeBuilder(BuilderCore):
    """Builder methods of this family."""

    def grouped_matmul(self, x: Operand, w: Operand, expert_idx: Operand, transpose_rhs: bool = False) -> Value:
        """`mir.grouped_matmul`: each row of `x` times the matrix of its expert."""
        x, w = self.operands(x, w)
        return self.op(GroupedMatmulOp, x, w, self.operand(expert_idx), transpose_rhs)

    def grouped_matmul_backward_weight(self, x: Operand, g: Operand, expert_idx: Operand, experts: int) -> Value:
        """`mir.grouped_matmul_backward_weight`: per expert, the outer products of its rows summed."""
        x, g = self.operands(x, g)
        return self.op(GroupedMatmulBackwardWeightOp, x, g, self.operand(expert_idx), experts)
