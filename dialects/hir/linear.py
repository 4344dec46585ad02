"""Dense layers: matmuls with weights, with bias and activation."""

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import result_def
from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects.hir.block import HirOp, OneOp, float_element
from xdsl_rlx.dialects.mir.core import Activation, ActivationAttr
from xdsl_rlx.dialects.mir.fields import (
    AnyTensorConstr,
    Field,
    OptionalTensor,
    OptionalWord,
    Tensor,
    Tensors,
    attribute,
    optional_tensor,
    tensor,
    tensors,
    word,
)
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.mir.quant import DequantMatmulOp as MirDequantMatmulOp
from xdsl_rlx.dialects.mir.quant_schemes import SchemeAttr
from xdsl_rlx.dialects.shapes import dims, matmul_shape, shape_of


def linear_shape(
    x: tuple[int, ...], w: SSAValue, b: SSAValue | None, names: tuple[str, str] = ("a weight", "a bias")
) -> tuple[int, ...]:
    """The shape of `x @ w + b`; VerifyException if one does not fit, under its name."""
    if len(shape_of(w)) != 2:
        raise VerifyException(f"expected {names[0]} of rank 2, got {dims(shape_of(w))}")
    shape = matmul_shape(x, shape_of(w))
    if b is not None and shape_of(b) != shape[-1:]:
        raise VerifyException(f"expected {names[1]} of shape [{shape[-1]}], got {dims(shape_of(b))}")
    return shape


class LinearOp(HirOp, name="hir.linear"):
    """
    `result = f(x @ w + b)`: x `[..., m, k]`, w `[k, n]`, optional b `[n]`, optional `f` named by `activation`.
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
        shape = linear_shape(shape_of(self.x), self.w, self.b)
        return (TensorType(float_element(*self.operands), shape),)


class SharedLinearPairOp(HirOp, name="hir.shared_linear_pair"):
    """
    `first = x @ w1 + b1`, `second = x @ w2 + b2`: two dense layers of one input, x `[..., m, k]`, w1 `[k, n1]`, w2 `[k,
    n2]`. Both biases are optional.
    """

    x: Tensor = tensor()
    w1: Tensor = tensor()
    w2: Tensor = tensor()
    b1: OptionalTensor = optional_tensor(default=None)
    b2: OptionalTensor = optional_tensor(default=None)
    first = result_def(AnyTensorConstr)
    second = result_def(AnyTensorConstr)

    def infer_types(self) -> tuple[Attribute, Attribute]:
        element = float_element(*self.operands)
        first = linear_shape(shape_of(self.x), self.w1, self.b1, ("w1", "b1"))
        second = linear_shape(shape_of(self.x), self.w2, self.b2, ("w2", "b2"))
        return TensorType(element, first), TensorType(element, second)


class DequantMatmulOp(OneOp, name="hir.dequant_matmul"):
    """
    `result = x @ W` with x `[..., K]` and quantised weights `W` `[K, N]`: `mir.dequant_matmul` with any of its schemes.

    `scales` are the operands that the scheme needs beside the weights, in its order.
    """

    x: Tensor = tensor()
    w: Tensor = tensor(alone=True)
    scheme: Field[SchemeAttr, SchemeAttr] = attribute(SchemeAttr)
    scales: Tensors = tensors(default=())
    result = result_def(AnyTensorConstr)

    assembly_format = (
        "$x `,` $w (`scales` `(` $scales^ `)`)? `scheme` $scheme attr-dict `:` functional-type(operands, results)"
    )

    def as_mir(self, b: MirBuilder) -> list[Value]:
        return [b.op(MirDequantMatmulOp, self.x, self.w, self.scheme, self.scales)]
