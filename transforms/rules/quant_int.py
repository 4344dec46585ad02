"""Rows of integer products."""

from collections.abc import Sequence

from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.mir.quant_int import QConv2dOp, QMatmulOp
from xdsl_rlx.dialects.shapes import shape_of
from xdsl_rlx.transforms.rules.rows import fold, lifted, unfold, zero
from xdsl_rlx.transforms.rules.rule_table import VMAP

_INTEGERS = "its operands and its result are integers; train with floats"

zero(QMatmulOp, _INTEGERS)
zero(QConv2dOp, _INTEGERS)


@VMAP.rule(QMatmulOp)
def q_matmul_vmap(
    op: QMatmulOp, b: MirBuilder, batched: Sequence[bool], size: int, x: Value, w: Value, bias: Value
) -> Sequence[Value]:
    """More rows, or more columns; for both, a convolution of single pixels whose groups are the batch."""
    (m, k), n = shape_of(op.x), shape_of(op.w)[1]
    numbers = op.multiplier.value.data, *op.zero_points
    if not any(batched[1:]):
        return [unfold(b, b.op(QMatmulOp, fold(b, x).ssa, w.ssa, bias.ssa, *numbers), size, m)]
    if not size:
        return [b.full((0, m, n), 0, "i8")]
    w, bias = lifted(b, batched[1:], size, (w, bias))
    if not batched[0]:
        columns = b.op(QMatmulOp, x.ssa, fold(b, w, 1).ssa, fold(b, bias).ssa, *numbers)
        return [unfold(b, columns, size, n, 1)]
    pixels = b.reshape(fold(b, x, 1), (m, size * k, 1, 1))
    kernels = b.reshape(b.transpose(w, (0, 2, 1)), (size * n, k, 1, 1))
    found = b.op(QConv2dOp, pixels.ssa, kernels.ssa, fold(b, bias).ssa, *numbers, groups=size)
    return [unfold(b, b.reshape(found, (m, size * n)), size, n, 1)]


@VMAP.rule(QConv2dOp)
def q_conv2d_vmap(
    op: QConv2dOp, b: MirBuilder, batched: Sequence[bool], size: int, x: Value, w: Value, bias: Value
) -> Sequence[Value]:
    """More images; with weights of their own, more groups of channels."""

    def product(x: Value, w: Value, bias: Value, groups: int) -> Value:
        geometry = [[int(n) for n in values.get_values()] for values in (op.strides, op.padding, op.dilations)]
        return b.op(
            QConv2dOp, x.ssa, w.ssa, bias.ssa, op.multiplier.value.data, *op.zero_points, *geometry, groups=groups
        )

    groups = op.groups.value.data
    if not any(batched[1:]):
        return [unfold(b, product(fold(b, x), w, bias, groups), size, shape_of(op.x)[0])]
    if not size:
        return [b.full((0, *shape_of(op.result)), 0, "i8")]
    x, w, bias = lifted(b, batched, size, (x, w, bias))
    found = product(fold(b, x, 1), fold(b, w), fold(b, bias), groups * size)
    return [unfold(b, found, size, shape_of(op.w)[0], 1)]
