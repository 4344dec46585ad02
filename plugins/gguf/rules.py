"""Rows of ops on the weights of experts: they are integers, and have no derivative."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.mir.quant import DequantizeWeightsOp
from xdsl_rlx.dialects.mir.quant_schemes import SchemeAttr
from xdsl_rlx.dialects.shapes import element_of, shape_of
from xdsl_rlx.plugins.gguf.ops import (
    DequantGroupedMatmulBackwardInputOp,
    DequantGroupedMatmulOp,
    DequantMoeWeightsOp,
)
from xdsl_rlx.transforms.op_kinds import OpKind, set_kind
from xdsl_rlx.transforms.rules.rows import decompose, fold, lifted, unfold
from xdsl_rlx.transforms.rules.rule_table import IN_F32, INERT, JVP, VJP, VMAP, Cotangent
from xdsl_rlx.transforms.rules.wide import is_half

set_kind(OpKind.ELEMENTWISE, DequantMoeWeightsOp)
for _op in (DequantGroupedMatmulOp, DequantGroupedMatmulBackwardInputOp):
    IN_F32.add(_op)
    INERT.add(_op, "indices", "indices are integers, whatever type encodes them")
    set_kind(OpKind.COMPUTE, _op)


def _moe_weights(b: MirBuilder, packed: SSAValue, attr: SchemeAttr, extents: tuple[int, int, int]) -> Value:
    experts, k, n = extents
    return b.transpose(b.op(DequantizeWeightsOp, packed, attr, (experts, n, k), ()), (0, 2, 1))


@decompose(DequantMoeWeightsOp)
def dequant_moe_weights_decompose(op: DequantMoeWeightsOp, b: MirBuilder) -> Sequence[Value]:
    return [_moe_weights(b, op.packed, op.scheme, op.extents)]


def _of_experts(op: DequantGroupedMatmulOp | DequantGroupedMatmulBackwardInputOp, b: MirBuilder) -> Value:
    """The weights of the expert of each row, `[M, K, N]`."""
    weights = _moe_weights(b, op.packed, op.scheme, (op.experts.value.data, *op.matrix))
    if not is_half(op.results[0]):
        weights = b.cast(weights, element_of(op.results[0]))
    return b.gather(weights, op.indices, 0)


def _row_products(b: MirBuilder, op: Operation, rows: SSAValue, weights: Value) -> Sequence[Value]:
    x = b.value(rows)
    wide = b.cast(x, "f32") if is_half(op.results[0]) else x
    product = b.matmul(b.reshape(wide, (x.shape[0], 1, x.shape[1])), weights)
    return [b.cast(b.reshape(product, shape_of(op.results[0])), element_of(op.results[0]))]


@decompose(DequantGroupedMatmulOp)
def dequant_grouped_matmul_decompose(op: DequantGroupedMatmulOp, b: MirBuilder) -> Sequence[Value]:
    return _row_products(b, op, op.x, _of_experts(op, b))


@decompose(DequantGroupedMatmulBackwardInputOp)
def dequant_grouped_matmul_backward_input_decompose(
    op: DequantGroupedMatmulBackwardInputOp, b: MirBuilder
) -> Sequence[Value]:
    return _row_products(b, op, op.dy, b.transpose(_of_experts(op, b), (0, 2, 1)))


@VJP.rule(DequantGroupedMatmulOp)
def dequant_grouped_matmul_vjp(op: DequantGroupedMatmulOp, b: MirBuilder, g: Value) -> Sequence[Cotangent]:
    back = DequantGroupedMatmulBackwardInputOp

    def dx() -> Value:
        return b.op(back, g.ssa, op.packed, op.indices, op.scheme, op.experts.value.data, op.matrix[0])

    return [dx, None, None]


@VJP.rule(DequantGroupedMatmulBackwardInputOp)
def dequant_grouped_matmul_backward_input_vjp(
    op: DequantGroupedMatmulBackwardInputOp, b: MirBuilder, g: Value
) -> Sequence[Cotangent]:
    experts = op.experts.value.data

    def d_dy() -> Value:
        return b.op(DequantGroupedMatmulOp, g.ssa, op.packed, op.indices, op.scheme, experts)

    return [d_dy, None, None]


@JVP.rule(DequantGroupedMatmulOp)
def dequant_grouped_matmul_jvp(
    op: DequantGroupedMatmulOp, b: MirBuilder, x: Value | None, packed: None, indices: None
) -> Sequence[Value | None]:
    assert x is not None
    return [b.op(DequantGroupedMatmulOp, x.ssa, op.packed, op.indices, op.scheme, op.experts.value.data)]


@JVP.rule(DequantGroupedMatmulBackwardInputOp)
def dequant_grouped_matmul_backward_input_jvp(
    op: DequantGroupedMatmulBackwardInputOp, b: MirBuilder, dy: Value | None, packed: None, indices: None
) -> Sequence[Value | None]:
    assert dy is not None
    back, experts = DequantGroupedMatmulBackwardInputOp, op.experts.value.data
    return [b.op(back, dy.ssa, op.packed, op.indices, op.scheme, experts, op.matrix[0])]


@VMAP.rule(DequantGroupedMatmulOp)
def dequant_grouped_matmul_vmap(
    op: DequantGroupedMatmulOp, b: MirBuilder, batched: Sequence[bool], size: int, x: Value, packed: Value, at: Value
) -> Sequence[Value] | None:
    """More rows, for the same experts."""
    if batched[1]:
        return None
    x, at = (fold(b, v) for v in lifted(b, (batched[0], batched[2]), size, (x, at)))
    product = b.op(DequantGroupedMatmulOp, x.ssa, packed.ssa, at.ssa, op.scheme, op.experts.value.data)
    return [unfold(b, product, size, shape_of(op.x)[0])]


@VMAP.rule(DequantGroupedMatmulBackwardInputOp)
def dequant_grouped_matmul_backward_input_vmap(
    op: DequantGroupedMatmulBackwardInputOp,
    b: MirBuilder,
    batched: Sequence[bool],
    size: int,
    dy: Value,
    packed: Value,
    at: Value,
) -> Sequence[Value] | None:
    """More rows, for the same experts."""
    if batched[1]:
        return None
    dy, at = (fold(b, v) for v in lifted(b, (batched[0], batched[2]), size, (dy, at)))
    back, experts = DequantGroupedMatmulBackwardInputOp, op.experts.value.data
    product = b.op(back, dy.ssa, packed.ssa, at.ssa, op.scheme, experts, op.matrix[0])
    return [unfold(b, product, size, shape_of(op.dy)[0])]
