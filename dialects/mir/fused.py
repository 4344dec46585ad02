"""Composite ops that users or fusion name as one; each is defined by its decomposition."""

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, result_def
from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects.mir.core import Activation, ActivationAttr, AnyTensorConstr, MirOp
from xdsl_rlx.dialects.shapes import (
    FLOATS,
    broadcasts_to,
    check_element,
    dims,
    matmul_shape,
    same_element_type,
    shape_of,
)


@irdl_op_definition
class FusedMatmulBiasActOp(MirOp):
    """`result = f(x @ w + bias)`, with `f` the elementwise op named by `activation`, if any; bias broadcasts."""

    name = "mir.fused_matmul_bias_act"

    x = operand_def(AnyTensorConstr)
    w = operand_def(AnyTensorConstr)
    bias = operand_def(AnyTensorConstr)
    activation = opt_prop_def(ActivationAttr)
    result = result_def(AnyTensorConstr)

    assembly_format = (
        "$x `,` $w `,` $bias (`activation` $activation^)? attr-dict `:` functional-type(operands, results)"
    )

    def __init__(self, x: SSAValue, w: SSAValue, bias: SSAValue, activation: Activation | None = None):
        super().__init__(
            operands=[x, w, bias],
            properties={"activation": None if activation is None else ActivationAttr(activation)},
            result_types=[self._infer(x, w, bias)],
        )

    @staticmethod
    def _infer(x: SSAValue, w: SSAValue, bias: SSAValue) -> Attribute:
        shape = matmul_shape(shape_of(x), shape_of(w))
        if not broadcasts_to(shape_of(bias), shape):
            raise VerifyException(f"a bias of shape {dims(shape_of(bias))} does not broadcast to {dims(shape)}")
        return TensorType(same_element_type(x, w, bias), shape)

    def infer_types(self) -> tuple[Attribute]:
        result = self._infer(self.x, self.w, self.bias)
        check_element(same_element_type(self.x), FLOATS)
        return (result,)
