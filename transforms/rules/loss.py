"""Rows of losses. The backward op of the cross-entropy is in `backward.py`."""

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerAttr, f32, i8, i16, i32, i64
from xdsl.ir import Attribute, SSAValue

from xdsl_rlx.dialects.mir.loss import SoftmaxCrossEntropyWithLogitsOp
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.shapes import element_of, shape_of, u8, u32
from xdsl_rlx.transforms.rules.rows import decompose, leading
from xdsl_rlx.transforms.rules.rule_table import INERT, VJP, Cotangent

INERT.add(SoftmaxCrossEntropyWithLogitsOp, "labels", "labels are integers, whatever type encodes them")
leading(SoftmaxCrossEntropyWithLogitsOp)


class Labels:
    """Labels `[...]` for logits `[..., C]`: which class each is, which rows count. All as tensors to select with."""

    def __init__(self, b: MirBuilder, logits: SSAValue, labels: SSAValue, ignore_index: IntegerAttr | None):
        self.b = b
        self.classes = shape_of(logits)[-1]
        self.ignore_index = None if ignore_index is None else ignore_index.value.data
        # Wide enough for any class number, and signed.
        wide: dict[Attribute, Attribute] = {f32: i64, i8: i32, u8: i32, i16: i32, u32: i64}
        self.labels = b.cast(labels, wide.get(element_of(labels), element_of(labels)))

    def hit(self) -> Value:
        """`[..., C]`: whether this class is the label."""
        column = self.b.reshape(self.labels, (*self.labels.shape, 1))
        return self.b.eq(column, self.b.constant(list(range(self.classes)), self.labels.dtype))

    def guard(self, value: Value, rows: bool) -> Value:
        """`value`, but NaN where a label is out of range, 0 where it is ignored; `rows`: `[..., C]`, else `[...]`."""
        b = self.b
        labels = b.reshape(self.labels, (*self.labels.shape, 1)) if rows else self.labels
        in_range = (labels >= 0) & (labels < self.classes)
        value = b.where(in_range, value, float("nan"))
        return value if self.ignore_index is None else b.where(b.eq(labels, self.ignore_index), 0.0, value)


@decompose(SoftmaxCrossEntropyWithLogitsOp)
def softmax_cross_entropy_with_logits_decompose(op: SoftmaxCrossEntropyWithLogitsOp, b: MirBuilder) -> Sequence[Value]:
    """`log sum exp(x - m) - (x - m)[label]`, `m` the maximum of the row."""
    x = b.value(op.logits)
    shifted = x - b.stop_gradient(b.reduce_max(x, -1, keep_dim=True))
    labels = Labels(b, op.logits, op.labels, op.ignore_index)
    picked = b.reduce_sum(b.where(labels.hit(), shifted, 0.0), -1)
    return [labels.guard(b.log(b.reduce_sum(b.exp(shifted), -1)) - picked, rows=False)]


@VJP.rule(SoftmaxCrossEntropyWithLogitsOp)
def softmax_cross_entropy_with_logits_vjp(
    op: SoftmaxCrossEntropyWithLogitsOp, b: MirBuilder, g: Value
) -> Sequence[Cotangent]:
    ignore_index = None if op.ignore_index is None else op.ignore_index.value.data
    return (lambda: b.softmax_cross_entropy_backward(op.logits, op.labels, g, ignore_index), None)
