"""Rows of ops on quantised weights. Codes are integers and have no derivative; the weights are linear in every scale
and, with the scale, in the zero point."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from math import prod

from xdsl.dialects.builtin import BFloat16Type, Float16Type
from xdsl.ir import Operation, SSAValue

from xdsl_rlx.dialects.mir.fields import i64_list
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.mir.quant import (
    DequantizeWeightsOp,
    DequantMatmulBackwardInputOp,
    DequantMatmulOp,
)
from xdsl_rlx.dialects.mir.quant_schemes import Scheme, SchemeAttr
from xdsl_rlx.dialects.shapes import element_of, shape_of
from xdsl_rlx.transforms.rules.rows import decompose, leading, lifted, rebuilt
from xdsl_rlx.transforms.rules.rule_table import IN_F32, JVP, VJP, VMAP, Cotangent

IN_F32.update((DequantMatmulOp, DequantMatmulBackwardInputOp))


def _weights(
    b: MirBuilder, w: SSAValue, attr: SchemeAttr, shape: Sequence[int], scales: Sequence[SSAValue | Value]
) -> Value:
    given = [scale.ssa if isinstance(scale, Value) else scale for scale in scales]
    return b.op(DequantizeWeightsOp, w, attr, shape, given)


def _block_sums(b: MirBuilder, v: Value, block: int) -> Value:
    """`[K, N]` to `[ceil(K / block), N]`: sums of `block` rows, of fewer at the end."""
    k, n = v.shape
    blocks = -(-k // block)
    if blocks * block != k:
        v = b.concat([v, b.full((blocks * block - k, n), 0, v.dtype)], 0)
    return b.reduce_sum(b.reshape(v, (blocks, block, n)), 1)


def _block_rows(b: MirBuilder, v: Value, block: int, k: int) -> Value:
    """`[ceil(K / block), N]` to `[K, N]`: every row `block` times, as often as there is room at the end."""
    blocks, n = v.shape
    spread = b.reshape(b.expand(b.reshape(v, (blocks, 1, n)), (blocks, block, n)), (blocks * block, n))
    return spread if blocks * block == k else b.narrow(spread, 0, 0, k)


def _scale_cotangents(
    b: MirBuilder, w: SSAValue, attr: SchemeAttr, scales: Sequence[SSAValue], g: Callable[[], Value]
) -> Sequence[Cotangent]:
    """
    What the scales get when the weights, as stored, get `g`.

    `W = (q - z) s`: the weights with s = 1 are the derivative by s, and `-s` is that by z, both summed over what shares
    them. The last scale of fp8 and nvfp4 is a factor likewise.
    """
    if attr.scheme.has_block_size:
        block = attr.block_size

        def scale() -> Value:
            dw = g()
            return _block_sums(b, dw * _weights(b, w, attr, dw.shape, [b.ones_like(scales[0]), *scales[1:]]), block)

        return [scale, lambda: -(b.value(scales[0]) * _block_sums(b, g(), block))][: len(scales)]

    def last() -> Value:
        dw = g()
        terms = dw * _weights(b, w, attr, dw.shape, [*scales[:-1], b.ones_like(scales[-1])])
        return b.reshape(b.reduce_sum(terms), (1,)) if attr.scheme == Scheme.NVFP4_BLOCK else b.reduce_sum(terms, 0)

    return [None, last] if attr.scheme == Scheme.NVFP4_BLOCK else [last][: len(scales)]


def _weight_tangent(
    b: MirBuilder,
    w: SSAValue,
    attr: SchemeAttr,
    shape: Sequence[int],
    scales: Sequence[SSAValue],
    tangents: Sequence[Value | None],
) -> Value | None:
    """The tangent of the weights; None if no scale has one."""
    parts: list[Value] = []
    factor = 1 if attr.scheme == Scheme.NVFP4_BLOCK else 0
    for number, tangent in enumerate(tangents):
        if tangent is None:
            continue
        if number == factor:
            replaced = [*scales[:number], tangent, *scales[number + 1 :]]
            parts.append(_weights(b, w, attr, shape, replaced))
        else:
            parts.append(-_block_rows(b, b.value(scales[0]) * tangent, attr.block_size, shape[0]))
    if not parts:
        return None
    return parts[0] if len(parts) == 1 else parts[0] + parts[1]


@VJP.rule(DequantizeWeightsOp)
def dequantize_weights_vjp(op: DequantizeWeightsOp, b: MirBuilder, g: Value) -> Sequence[Cotangent]:
    return [None, *_scale_cotangents(b, op.w, op.scheme, op.scales, lambda: g)]


@JVP.rule(DequantizeWeightsOp)
def dequantize_weights_jvp(
    op: DequantizeWeightsOp, b: MirBuilder, w: None, *scales: Value | None
) -> Sequence[Value | None]:
    return [_weight_tangent(b, op.w, op.scheme, op.extents, op.scales, scales)]


def _side_cotangents(
    b: MirBuilder, op: DequantMatmulOp | DequantMatmulBackwardInputOp, x: Value, dy: Value
) -> Sequence[Cotangent]:
    """What the scales get in `dy` of `y = x @ W`, or in `x` of `x = dy @ transpose(W)`: W gets `transpose(x) @ dy`."""
    flat_x, flat_dy = (b.reshape(v, (prod(v.shape[:-1]), v.shape[-1])) for v in (x, dy))
    dw = cache(lambda: b.matmul(b.transpose(flat_x, (1, 0)), flat_dy))
    return _scale_cotangents(b, op.w, op.scheme, op.scales, dw)


def _narrowed(b: MirBuilder, op: DequantMatmulOp | DequantMatmulBackwardInputOp, v: Value) -> Value:
    """Half floats as f32, the type of their scales."""
    return b.cast(v, "f32") if _is_half(op) else v


def _is_half(op: Operation) -> bool:
    return isinstance(element_of(op.results[0]), Float16Type | BFloat16Type)


@VJP.rule(DequantMatmulOp)
def dequant_matmul_vjp(op: DequantMatmulOp, b: MirBuilder, g: Value) -> Sequence[Cotangent]:
    x, dy = _narrowed(b, op, b.value(op.x)), _narrowed(b, op, g)

    def dx() -> Value:
        return b.op(DequantMatmulBackwardInputOp, g.ssa, op.w, op.scheme, op.matrix[0], op.scales)

    return [dx, None, *_side_cotangents(b, op, x, dy)]


@VJP.rule(DequantMatmulBackwardInputOp)
def dequant_matmul_backward_input_vjp(op: DequantMatmulBackwardInputOp, b: MirBuilder, g: Value) -> Sequence[Cotangent]:
    x, dy = _narrowed(b, op, g), _narrowed(b, op, b.value(op.dy))

    def d_dy() -> Value:
        return b.op(DequantMatmulOp, g.ssa, op.w, op.scheme, op.scales)

    return [d_dy, None, *_side_cotangents(b, op, x, dy)]


@JVP.rule(DequantMatmulOp)
def dequant_matmul_jvp(
    op: DequantMatmulOp, b: MirBuilder, x: Value | None, w: None, *scales: Value | None
) -> Sequence[Value | None]:
    parts: list[Value] = []
    if x is not None:
        parts.append(b.op(DequantMatmulOp, x.ssa, op.w, op.scheme, op.scales))
    dw = _weight_tangent(b, op.w, op.scheme, op.stored, op.scales, scales)
    if dw is not None:
        parts.append(b.cast(b.matmul(_narrowed(b, op, b.value(op.x)), dw), element_of(op.result)))
    return [parts[0] if len(parts) == 1 else parts[0] + parts[1]]


@JVP.rule(DequantMatmulBackwardInputOp)
def dequant_matmul_backward_input_jvp(
    op: DequantMatmulBackwardInputOp, b: MirBuilder, dy: Value | None, w: None, *scales: Value | None
) -> Sequence[Value | None]:
    parts: list[Value] = []
    if dy is not None:
        parts.append(b.op(DequantMatmulBackwardInputOp, dy.ssa, op.w, op.scheme, op.matrix[0], op.scales))
    dw = _weight_tangent(b, op.w, op.scheme, op.stored, op.scales, scales)
    if dw is not None:
        product = b.matmul(_narrowed(b, op, b.value(op.dy)), b.transpose(dw, (1, 0)))
        parts.append(b.cast(product, element_of(op.result)))
    return [parts[0] if len(parts) == 1 else parts[0] + parts[1]]


def _whole(op: DequantMatmulOp | DequantMatmulBackwardInputOp, b: MirBuilder) -> Value:
    """W as a tensor `[K, N]`, in the type that `op` computes in."""
    stored = _weights(b, op.w, op.scheme, op.stored, op.scales)
    weights = b.transpose(stored, (1, 0)) if op.scheme.scheme.embeds_scales else stored
    return weights if _is_half(op) else b.cast(weights, element_of(op.result))


@decompose(DequantMatmulOp)
def dequant_matmul_decompose(op: DequantMatmulOp, b: MirBuilder) -> Sequence[Value]:
    product = b.matmul(_narrowed(b, op, b.value(op.x)), _whole(op, b))
    return [b.cast(product, element_of(op.result))]


@decompose(DequantMatmulBackwardInputOp)
def dequant_matmul_backward_input_decompose(op: DequantMatmulBackwardInputOp, b: MirBuilder) -> Sequence[Value]:
    product = b.matmul(_narrowed(b, op, b.value(op.dy)), b.transpose(_whole(op, b), (1, 0)))
    return [b.cast(product, element_of(op.result))]


@VMAP.rule(DequantizeWeightsOp)
def dequantize_weights_vmap(
    op: DequantizeWeightsOp, b: MirBuilder, batched: Sequence[bool], size: int, w: Value, *scales: Value
) -> Sequence[Value]:
    """Blocks with scales become more blocks. One list of codes has many scales; lists are decoded one by one."""
    kind, element = op.scheme.scheme, element_of(op.result)
    if not size:
        return [b.full((0, *op.extents), 0, element)]
    if kind.embeds_scales:
        return rebuilt(op, b, size, [w], {"shape": i64_list((size, *op.extents))})
    is_nvfp4 = kind == Scheme.NVFP4_BLOCK
    if batched[0] or (is_nvfp4 and batched[1]):
        return [_one_by_one(op, b, batched, size, (w, *scales))]
    floats = lifted(b, batched[-1:] if is_nvfp4 else batched[1:], size, scales[-1:] if is_nvfp4 else scales)
    if not op.scheme.scheme.has_block_size:
        one = b.ones_like(op.scales[-1])
        codes = _weights(b, w.ssa, op.scheme, op.extents, [scales[0], one] if is_nvfp4 else [one])
        return [codes * b.reshape(floats[0], (size, 1, floats[0].shape[-1]))]
    scale = floats[0]
    zero = [b.zeros_like(op.scales[0])] if kind != Scheme.INT8_BLOCK else []
    codes = _weights(b, w.ssa, op.scheme, op.extents, [b.ones_like(op.scales[0]), *zero])
    if len(floats) > 1:
        codes = codes - _batched_rows(b, floats[1], op)
    elif kind == Scheme.INT4_BLOCK:
        codes = codes - b.scalar(8.0, element)
    return [codes * _batched_rows(b, scale, op)]


def _batched_rows(b: MirBuilder, v: Value, op: DequantizeWeightsOp) -> Value:
    """`[B, blocks, N]` to `[B, K, N]`."""
    size, blocks, n = v.shape
    block, k = op.scheme.block_size, op.extents[0]
    spread = b.expand(b.reshape(v, (size, blocks, 1, n)), (size, blocks, block, n))
    return b.narrow(b.reshape(spread, (size, blocks * block, n)), 1, 0, k)


def _one_by_one(op: Operation, b: MirBuilder, batched: Sequence[bool], size: int, operands: Sequence[Value]) -> Value:
    parts: list[Value] = []
    for number in range(size):
        slices = [x[number] if has else x for x, has in zip(operands, batched, strict=True)]
        one = type(op).create(
            operands=[x.ssa for x in slices], result_types=[op.results[0].type], properties=dict(op.properties)
        )
        b.builder.insert(one)
        parts.append(b.reshape(one.results[0], (1, *shape_of(op.results[0]))))
    return b.concat(parts, 0)


leading(DequantMatmulOp, shared=("w", "scales"))
leading(DequantMatmulBackwardInputOp, shared=("w", "scales"))
