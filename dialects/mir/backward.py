"""Backward ops: the vector-Jacobian products that have kernels of their own, or that graphs may hold by name."""

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects.mir.core import (
    F64,
    I64,
    Activation,
    ActivationAttr,
    AnyTensorConstr,
    Elementwise,
    MirOp,
    f64_attr,
    i64_attr,
)
from xdsl_rlx.dialects.mir.loss import check_labels
from xdsl_rlx.dialects.mir.norm import check_cotangent, check_feature_vector, feature_axis
from xdsl_rlx.dialects.shapes import FLOATS, check_element, dims, element_of, normalize_axis, shape_of


@irdl_op_definition
class ReluBackwardOp(MirOp):
    """`result = dy where x > 0, else 0`; x and dy have one type."""

    name = "mir.relu_backward"

    x = operand_def(AnyTensorConstr)
    dy = operand_def(AnyTensorConstr)
    result = result_def(AnyTensorConstr)

    traits = traits_def(Elementwise())
    assembly_format = "$x `,` $dy attr-dict `:` functional-type(operands, results)"

    def __init__(self, x: SSAValue, dy: SSAValue):
        super().__init__(operands=[x, dy], result_types=[x.type])

    def infer_types(self) -> tuple[Attribute]:
        check_element(element_of(self.x), FLOATS)
        check_cotangent(self.dy, self.x)
        return (self.x.type,)


@irdl_op_definition
class ActivationBackwardOp(MirOp):
    """`result = f'(x) * dy` with `f` the elementwise op named by `kind`; x and dy have one type."""

    name = "mir.activation_backward"

    x = operand_def(AnyTensorConstr)
    dy = operand_def(AnyTensorConstr)
    kind = prop_def(ActivationAttr)
    result = result_def(AnyTensorConstr)

    traits = traits_def(Elementwise())
    assembly_format = "$kind $x `,` $dy attr-dict `:` functional-type(operands, results)"

    def __init__(self, x: SSAValue, dy: SSAValue, kind: Activation):
        super().__init__(operands=[x, dy], properties={"kind": ActivationAttr(kind)}, result_types=[x.type])

    def infer_types(self) -> tuple[Attribute]:
        check_element(element_of(self.x), FLOATS)
        check_cotangent(self.dy, self.x)
        return (self.x.type,)


@irdl_op_definition
class LayerNormBackwardInputOp(MirOp):
    """
    The cotangent of `x` in `mir.layer_norm`: `inv (s - mean(s) - n mean(s n))`.

    Here `s = dy * gamma`, `inv = 1 / sqrt(var + eps)`, `n = (x - mean) inv`, and means are along `axis`.
    """

    name = "mir.layer_norm_backward_input"

    x = operand_def(AnyTensorConstr)
    gamma = operand_def(AnyTensorConstr)
    dy = operand_def(AnyTensorConstr)
    axis = prop_def(I64)
    eps = prop_def(F64)
    result = result_def(AnyTensorConstr)

    assembly_format = "$x `,` $gamma `,` $dy `axis` $axis `eps` $eps attr-dict `:` functional-type(operands, results)"

    def __init__(self, x: SSAValue, gamma: SSAValue, dy: SSAValue, axis: int = -1, eps: float = 1e-5):
        axis = normalize_axis(axis, len(shape_of(x)))
        super().__init__(
            operands=[x, gamma, dy],
            properties={"axis": i64_attr(axis), "eps": f64_attr(eps)},
            result_types=[x.type],
        )

    @property
    def axis_index(self) -> int:
        """The axis counted from the front."""
        return normalize_axis(self.axis.value.data, len(shape_of(self.x)))

    def infer_types(self) -> tuple[Attribute]:
        axis = feature_axis(self.x, self.axis.value.data, self.eps)
        check_feature_vector("gamma", self.gamma, self.x, axis)
        check_cotangent(self.dy, self.x)
        return (self.x.type,)


@irdl_op_definition
class LayerNormBackwardGammaOp(MirOp):
    """The cotangent of `gamma` in `mir.layer_norm`: `dy (x - mean) / sqrt(var + eps)` summed over the other axes."""

    name = "mir.layer_norm_backward_gamma"

    x = operand_def(AnyTensorConstr)
    dy = operand_def(AnyTensorConstr)
    axis = prop_def(I64)
    eps = prop_def(F64)
    result = result_def(AnyTensorConstr)

    assembly_format = "$x `,` $dy `axis` $axis `eps` $eps attr-dict `:` functional-type(operands, results)"

    def __init__(self, x: SSAValue, dy: SSAValue, axis: int = -1, eps: float = 1e-5):
        axis = normalize_axis(axis, len(shape_of(x)))
        super().__init__(
            operands=[x, dy],
            properties={"axis": i64_attr(axis), "eps": f64_attr(eps)},
            result_types=[TensorType(element_of(x), [shape_of(x)[axis]])],
        )

    @property
    def axis_index(self) -> int:
        """The axis counted from the front."""
        return normalize_axis(self.axis.value.data, len(shape_of(self.x)))

    def infer_types(self) -> tuple[Attribute]:
        axis = feature_axis(self.x, self.axis.value.data, self.eps)
        check_cotangent(self.dy, self.x)
        return (TensorType(element_of(self.x), [shape_of(self.x)[axis]]),)


@irdl_op_definition
class SoftmaxCrossEntropyBackwardOp(MirOp):
    """
    The cotangent of `logits`: `result[i, c] = (softmax(logits[i])[c] - [c = labels[i]]) d_loss[i]`.

    Rows whose label is `ignore_index` are 0; rows with another label outside of `[0, C)` are NaN.
    """

    name = "mir.softmax_cross_entropy_backward"

    logits = operand_def(AnyTensorConstr)
    labels = operand_def(AnyTensorConstr)
    d_loss = operand_def(AnyTensorConstr)
    ignore_index = opt_prop_def(I64)
    result = result_def(AnyTensorConstr)

    assembly_format = (
        "$logits `,` $labels `,` $d_loss (`ignore_index` $ignore_index^)? attr-dict "
        "`:` functional-type(operands, results)"
    )

    def __init__(self, logits: SSAValue, labels: SSAValue, d_loss: SSAValue, ignore_index: int | None = None):
        super().__init__(
            operands=[logits, labels, d_loss],
            properties={"ignore_index": None if ignore_index is None else i64_attr(ignore_index)},
            result_types=[logits.type],
        )

    def infer_types(self) -> tuple[Attribute]:
        check_labels(self.logits, self.labels)
        expected = TensorType(element_of(self.logits), shape_of(self.logits)[:-1])
        if self.d_loss.type != expected:
            raise VerifyException(f"expected d_loss of shape {dims(expected.get_shape())}, got {self.d_loss.type}")
        return (self.logits.type,)
