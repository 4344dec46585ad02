"""Multi-layer perceptrons, and the gated feed-forward layer of transformers."""

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import result_def
from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects.hir.block import HirOp, check_shapes, features_of, float_element
from xdsl_rlx.dialects.hir.linear import linear_shape
from xdsl_rlx.dialects.mir.core import Activation, ActivationAttr
from xdsl_rlx.dialects.mir.fields import (
    AnyTensorConstr,
    OptionalWord,
    Tensor,
    Tensors,
    Word,
    tensor,
    tensors,
    word,
)
from xdsl_rlx.dialects.shapes import dims, shape_of


def check_swiglu(features: int, up_w: SSAValue, gate_w: SSAValue, down_w: SSAValue) -> int:
    """Require weights `[k, n]`, `[k, n]` and `[n, m]`; m."""
    # down_w says which of two widths that differ is meant
    inner, out = (shape_of(down_w) or (0,))[0], (shape_of(down_w) or (0,))[-1]
    if (columns := shape_of(up_w)[-1:]) == shape_of(gate_w)[-1:] and columns:
        (inner,) = columns
    check_shapes(up_w=(up_w, (features, inner)), gate_w=(gate_w, (features, inner)), down_w=(down_w, (inner, out)))
    return out


class SwigluOp(HirOp, name="hir.swiglu"):
    """
    `result = (silu(x @ gate_w) * (x @ up_w)) @ down_w`: x `[..., m, k]`, up_w and gate_w `[k, n]`, down_w `[n, l]`.
    """

    x: Tensor = tensor()
    up_w: Tensor = tensor()
    gate_w: Tensor = tensor()
    down_w: Tensor = tensor()
    result = result_def(AnyTensorConstr)

    def infer_types(self) -> tuple[Attribute]:
        element = float_element(*self.operands)
        out = check_swiglu(features_of("x", self.x), self.up_w, self.gate_w, self.down_w)
        return (TensorType(element, (*shape_of(self.x)[:-1], out)),)


class MlpOp(HirOp, name="hir.mlp"):
    """
    A multi-layer perceptron: `h = f(h @ weights[i] + biases[i])` for each layer, starting with h = x `[..., m, k]`.

    `f` is the elementwise op named by `activation`; after the last layer it is `last_activation`, if any. A weight is
    `[k, n]`. There is one bias `[n]` per weight, or none.
    """

    x: Tensor = tensor()
    weights: Tensors = tensors()
    biases: Tensors = tensors(default=())
    activation: Word[Activation] = word(ActivationAttr, "activation", default=Activation.RELU)
    last_activation: OptionalWord[Activation] = word(ActivationAttr, "last_activation", default=None)
    result = result_def(AnyTensorConstr)

    def infer_types(self) -> tuple[Attribute]:
        weights, biases = self.weights, self.biases
        if not weights:
            raise VerifyException("expected at least one weight, got none")
        if biases and len(biases) != len(weights):
            raise VerifyException(f"expected {len(weights)} biases, one for each weight, or none, got {len(biases)}")
        element = float_element(*self.operands)
        features_of("x", self.x)
        shape = shape_of(self.x)
        for number, w in enumerate(weights):
            names = f"weights[{number}]", f"biases[{number}]"
            if shape_of(w)[:-1] != shape[-1:]:
                raise VerifyException(f"expected {names[0]} of shape [{shape[-1]}, n], got {dims(shape_of(w))}")
            shape = linear_shape(shape, w, biases[number] if biases else None, names)
        return (TensorType(element, shape),)
