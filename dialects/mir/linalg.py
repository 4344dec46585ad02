"""Matrix products. Fused forms are in `fused.py`, quantised weights in `quant.py`."""

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, result_def

from xdsl_rlx.dialects.mir.core import AnyTensorConstr, MirOp
from xdsl_rlx.dialects.shapes import COMPLEXES, FLOATS, INTS, check_element, matmul_shape, same_element_type, shape_of


@irdl_op_definition
class MatmulOp(MirOp):
    """`result[..., i, j] = sum_k lhs[..., i, k] rhs[..., k, j]`; the leading dimensions broadcast."""

    name = "mir.matmul"

    lhs = operand_def(AnyTensorConstr)
    rhs = operand_def(AnyTensorConstr)
    result = result_def(AnyTensorConstr)

    assembly_format = "$lhs `,` $rhs attr-dict `:` functional-type(operands, results)"

    def __init__(self, lhs: SSAValue, rhs: SSAValue):
        super().__init__(operands=[lhs, rhs], result_types=[self._infer(lhs, rhs)])

    @staticmethod
    def _infer(lhs: SSAValue, rhs: SSAValue) -> Attribute:
        type_ = same_element_type(lhs, rhs)
        check_element(type_, (*FLOATS, *INTS, *COMPLEXES))
        return TensorType(type_, matmul_shape(shape_of(lhs), shape_of(rhs)))

    def infer_types(self) -> tuple[Attribute]:
        return (self._infer(self.lhs, self.rhs),)
