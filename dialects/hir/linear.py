"""Dense layers."""

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, opt_prop_def, result_def
from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects.hir.block import HirOp
from xdsl_rlx.dialects.mir.core import Activation, ActivationAttr
from xdsl_rlx.dialects.mir.fields import AnyTensorConstr
from xdsl_rlx.dialects.shapes import FLOATS, check_element, dims, matmul_shape, same_element_type, shape_of


@irdl_op_definition
class LinearOp(HirOp):
    """
    `result = f(x @ w + b)`: x `[..., m, k]`, w `[k, n]`, b `[n]` if there is one, `f` named by `activation`, if any.
    """

    name = "hir.linear"

    x = operand_def(AnyTensorConstr)
    w = operand_def(AnyTensorConstr)
    b = opt_operand_def(AnyTensorConstr)
    activation = opt_prop_def(ActivationAttr)
    result = result_def(AnyTensorConstr)

    assembly_format = (
        "$x `,` $w (`bias` $b^)? (`activation` $activation^)? attr-dict `:` functional-type(operands, results)"
    )

    def __init__(self, x: SSAValue, w: SSAValue, b: SSAValue | None = None, activation: Activation | None = None):
        super().__init__(
            operands=[x, w, b],
            properties={"activation": None if activation is None else ActivationAttr(activation)},
            result_types=[self._infer(x, w, b)],
        )

    @staticmethod
    def _infer(x: SSAValue, w: SSAValue, b: SSAValue | None) -> Attribute:
        if len(shape_of(w)) != 2:
            raise VerifyException(f"expected a weight of rank 2, got {dims(shape_of(w))}")
        shape = matmul_shape(shape_of(x), shape_of(w))
        if b is not None and shape_of(b) != shape[-1:]:
            raise VerifyException(f"expected a bias of shape {shape[-1]}, got {dims(shape_of(b))}")
        type_ = same_element_type(x, w) if b is None else same_element_type(x, w, b)
        check_element(type_, FLOATS)
        return TensorType(type_, shape)

    def infer_types(self) -> tuple[Attribute]:
        return (self._infer(self.x, self.w, self.b),)
