"""Rows of backward ops: their decompositions, through which they are differentiated again."""

from collections.abc import Sequence

from xdsl_rlx.dialects.mir.backward import (
    ActivationBackwardOp,
    LayerNormBackwardGammaOp,
    LayerNormBackwardInputOp,
    ReluBackwardOp,
    SoftmaxCrossEntropyBackwardOp,
)
from xdsl_rlx.dialects.mir.mir_builder import ACTIVATIONS, MirBuilder, Value
from xdsl_rlx.transforms.rules.loss import Labels
from xdsl_rlx.transforms.rules.norm import along, normalized, other_axes
from xdsl_rlx.transforms.rules.rows import decompose, derivative, leading
from xdsl_rlx.transforms.rules.rule_table import INERT

leading(ReluBackwardOp)
leading(ActivationBackwardOp)
leading(LayerNormBackwardInputOp, "axis", shared=("gamma",))
leading(SoftmaxCrossEntropyBackwardOp)


@decompose(ReluBackwardOp)
def relu_backward_decompose(op: ReluBackwardOp, b: MirBuilder) -> Sequence[Value]:
    return [b.where(b.value(op.x) > 0.0, op.dy, 0.0)]


@decompose(ActivationBackwardOp)
def activation_backward_decompose(op: ActivationBackwardOp, b: MirBuilder) -> Sequence[Value]:
    kind = op.kind.data
    return [derivative(ACTIVATIONS[kind])(b, b.value(op.dy), b.value(op.x), b.activation(op.x, kind))]


@decompose(LayerNormBackwardInputOp)
def layer_norm_backward_input_decompose(op: LayerNormBackwardInputOp, b: MirBuilder) -> Sequence[Value]:
    x, axis = b.value(op.x), op.axis_index
    n, inv = normalized(b, x, axis, op.eps.value.data)
    s = b.value(op.dy) * along(b, b.value(op.gamma), x, axis)
    mean_s, mean_sn = (b.reduce_mean(v, axis, keep_dim=True) for v in (s, s * n))
    return [inv * (s - mean_s - n * mean_sn)]


@decompose(LayerNormBackwardGammaOp)
def layer_norm_backward_gamma_decompose(op: LayerNormBackwardGammaOp, b: MirBuilder) -> Sequence[Value]:
    x, axis = b.value(op.x), op.axis_index
    n, _ = normalized(b, x, axis, op.eps.value.data)
    return [b.reduce_sum(b.value(op.dy) * n, other_axes(x, axis))]


INERT.add(SoftmaxCrossEntropyBackwardOp, "labels", "labels are integers, whatever type encodes them")


@decompose(SoftmaxCrossEntropyBackwardOp)
def softmax_cross_entropy_backward_decompose(op: SoftmaxCrossEntropyBackwardOp, b: MirBuilder) -> Sequence[Value]:
    labels = Labels(b, op.logits, op.labels, op.ignore_index)
    p = b.softmax(op.logits)
    d_loss = b.value(op.d_loss)
    grad = b.where(labels.hit(), p - 1.0, p) * b.reshape(d_loss, (*d_loss.shape, 1))
    return [labels.guard(grad, rows=True)]
