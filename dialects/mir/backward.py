"""Backward ops: vector-Jacobian products that have kernels of their own, or a name for use in graphs."""

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute
from xdsl.irdl import result_def, traits_def
from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects.mir.core import Activation, ActivationAttr, AlongAxis, Elementwise, MirOp
from xdsl_rlx.dialects.mir.fields import (
    AnyTensorConstr,
    Integer,
    OptionalInteger,
    Real,
    Tensor,
    Word,
    axis,
    integer,
    real,
    tensor,
    word,
)
from xdsl_rlx.dialects.mir.loss import check_labels
from xdsl_rlx.dialects.mir.norm import check_cotangent, check_feature_vector, feature_axis
from xdsl_rlx.dialects.shapes import FLOATS, check_element, dims, element_of, shape_of


class ReluBackwardOp(MirOp, name="mir.relu_backward"):
    """`result = dy where x > 0, else 0`; x and dy have one type."""

    x: Tensor = tensor()
    dy: Tensor = tensor()
    result = result_def(AnyTensorConstr)

    traits = traits_def(Elementwise())

    def infer_types(self) -> tuple[Attribute]:
        check_element(element_of(self.x), FLOATS)
        check_cotangent(self.dy, self.x)
        return (self.x.type,)


class ActivationBackwardOp(MirOp, name="mir.activation_backward"):
    """`result = f'(x) * dy` with `f` the elementwise op named by `kind`; x and dy have one type."""

    x: Tensor = tensor()
    dy: Tensor = tensor()
    kind: Word[Activation] = word(ActivationAttr, "activation")
    result = result_def(AnyTensorConstr)

    traits = traits_def(Elementwise())
    assembly_format = "$kind $x `,` $dy attr-dict `:` functional-type(operands, results)"

    def infer_types(self) -> tuple[Attribute]:
        check_element(element_of(self.x), FLOATS)
        check_cotangent(self.dy, self.x)
        return (self.x.type,)


class LayerNormBackwardInputOp(AlongAxis, MirOp, name="mir.layer_norm_backward_input"):
    """
    The cotangent of `x` in `mir.layer_norm`: `inv (s - mean(s) - n mean(s n))`.

    Here `s = dy * gamma`, `inv = 1 / sqrt(var + eps)`, `n = (x - mean) inv`, and means are along `axis`.
    """

    x: Tensor = tensor()
    gamma: Tensor = tensor()
    dy: Tensor = tensor()
    axis: Integer = axis(default=-1)
    eps: Real = real(default=1e-05)
    result = result_def(AnyTensorConstr)

    def infer_types(self) -> tuple[Attribute]:
        axis = feature_axis(self.x, self.axis.value.data, self.eps)
        check_feature_vector("gamma", self.gamma, self.x, axis)
        check_cotangent(self.dy, self.x)
        return (self.x.type,)


class LayerNormBackwardGammaOp(AlongAxis, MirOp, name="mir.layer_norm_backward_gamma"):
    """The cotangent of `gamma` in `mir.layer_norm`: `dy (x - mean) / sqrt(var + eps)` summed over the other axes."""

    x: Tensor = tensor()
    dy: Tensor = tensor()
    axis: Integer = axis(default=-1)
    eps: Real = real(default=1e-05)
    result = result_def(AnyTensorConstr)

    def infer_types(self) -> tuple[Attribute]:
        axis = feature_axis(self.x, self.axis.value.data, self.eps)
        check_cotangent(self.dy, self.x)
        return (TensorType(element_of(self.x), [shape_of(self.x)[axis]]),)


class SoftmaxCrossEntropyBackwardOp(MirOp, name="mir.softmax_cross_entropy_backward"):
    """
    The cotangent of `logits`: `result[i, c] = (softmax(logits[i])[c] - [c = labels[i]]) d_loss[i]`.

    Rows whose label is `ignore_index` are 0; rows with another label outside of `[0, C)` are NaN.
    """

    logits: Tensor = tensor()
    labels: Tensor = tensor(alone=True)
    d_loss: Tensor = tensor()
    ignore_index: OptionalInteger = integer(default=None)
    result = result_def(AnyTensorConstr)

    def infer_types(self) -> tuple[Attribute]:
        check_labels(self.logits, self.labels)
        expected = TensorType(element_of(self.logits), shape_of(self.logits)[:-1])
        if self.d_loss.type != expected:
            raise VerifyException(f"expected d_loss of shape {dims(expected.get_shape())}, got {self.d_loss.type}")
        return (self.logits.type,)
