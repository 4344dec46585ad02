"""Dense layers."""

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute
from xdsl.irdl import result_def
from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects.hir.block import HirOp
from xdsl_rlx.dialects.mir.core import Activation, ActivationAttr
from xdsl_rlx.dialects.mir.fields import (
    AnyTensorConstr,
    OptionalTensor,
    OptionalWord,
    Tensor,
    optional_tensor,
    tensor,
    word,
)
from xdsl_rlx.dialects.shapes import FLOATS, check_element, dims, matmul_shape, same_element_type, shape_of


class LinearOp(HirOp, name="hir.linear"):
    """
    `result = f(x @ w + b)`: x `[..., m, k]`, w `[k, n]`, b `[n]` if there is one, `f` named by `activation`, if any.
    """

    x: Tensor = tensor()
    w: Tensor = tensor()
    b: OptionalTensor = optional_tensor(default=None)
    activation: OptionalWord[Activation] = word(ActivationAttr, "activation", default=None)
    result = result_def(AnyTensorConstr)

    assembly_format = (
        "$x `,` $w (`bias` $b^)? (`activation` $activation^)? attr-dict `:` functional-type(operands, results)"
    )

    def infer_types(self) -> tuple[Attribute]:
        if len(shape_of(self.w)) != 2:
            raise VerifyException(f"expected a weight of rank 2, got {dims(shape_of(self.w))}")
        shape = matmul_shape(shape_of(self.x), shape_of(self.w))
        if self.b is not None and shape_of(self.b) != shape[-1:]:
            raise VerifyException(f"expected a bias of shape {shape[-1]}, got {dims(shape_of(self.b))}")
        element = same_element_type(*self.operands)
        check_element(element, FLOATS)
        return (TensorType(element, shape),)
