"""Losses. The backward op of the cross-entropy is in `backward.py`."""

from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import result_def
from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects.mir.core import MirOp
from xdsl_rlx.dialects.mir.fields import AnyTensorConstr, OptionalInteger, Tensor, integer, tensor
from xdsl_rlx.dialects.shapes import FLOATS, INTS, check_element, dims, element_of, shape_of


def check_labels(logits: SSAValue, labels: SSAValue) -> None:
    """Logits `[..., C]` of floats and labels `[...]` of integers, or of integers encoded as f32."""
    check_element(element_of(logits), FLOATS, "logits")
    check_element(element_of(labels), (*INTS, f32), "labels")
    if not shape_of(logits):
        raise VerifyException("expected logits of rank 1 or more, got a scalar")
    if shape_of(labels) != shape_of(logits)[:-1]:
        raise VerifyException(
            f"expected labels of shape {dims(shape_of(logits)[:-1])} for logits of shape {dims(shape_of(logits))}, "
            f"got {dims(shape_of(labels))}"
        )


class SoftmaxCrossEntropyWithLogitsOp(MirOp, name="mir.softmax_cross_entropy_with_logits"):
    """
    `result[i] = logsumexp_c(logits[i, c]) - logits[i, labels[i]]`, stabilised by the maximum of the logits.

    `logits` is `[..., C]`, `labels` and the result `[...]`. Labels are integers; f32 labels are converted as by
    `mir.cast`. A label equal to `ignore_index` gives 0 and no gradient; any other label outside of `[0, C)` gives NaN.
    """

    logits: Tensor = tensor()
    labels: Tensor = tensor(alone=True)
    ignore_index: OptionalInteger = integer(default=None)
    result = result_def(AnyTensorConstr)

    def infer_types(self) -> tuple[Attribute]:
        check_labels(self.logits, self.labels)
        return (TensorType(element_of(self.logits), shape_of(self.logits)[:-1]),)
