"""Rows of pooling and resizing. Where a maximum lies does not change nearby, so nothing flows to the choice."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.mir.pool import (
    Maxpool2dBackwardOp,
    Maxpool2dTakeOp,
    PoolKind,
    PoolLike,
    PoolOp,
    ResizeNearest2xOp,
    Sumpool2dBackwardOp,
)
from xdsl_rlx.dialects.shapes import shape_of
from xdsl_rlx.transforms.rules.rows import decompose, lift, linear
from xdsl_rlx.transforms.rules.rule_table import INERT, JVP, VJP, VMAP, Cotangent

_CHOICE = "which element is largest is constant wherever a derivative exists"

INERT.add(Maxpool2dTakeOp, "x", _CHOICE)
INERT.add(Maxpool2dBackwardOp, "x", _CHOICE)


def _axis_counts(extent: int, kernel: int, stride: int, padding: int, count: int) -> list[int]:
    """How many elements of each window along an axis are not padding."""
    starts = [i * stride - padding for i in range(count)]
    return [min(start + kernel, extent) - max(start, 0) for start in starts]


def _divided(op: PoolOp, b: MirBuilder, g: Value) -> Value:
    """The cotangent of a mean as that of a sum: divided by how many elements each mean is of."""
    at = op.frames
    if op.includes_padding or not any(at.padding):
        return g * (1.0 / prod(at.kernel))
    along = zip(shape_of(op.x)[2:], *at, shape_of(op.result)[2:], strict=True)
    rows, columns = (_axis_counts(*axis) for axis in along)
    return g * b.constant([[1.0 / (r * c) for c in columns] for r in rows], g.dtype)


@VJP.rule(PoolOp)
def pool_vjp(op: PoolOp, b: MirBuilder, g: Value) -> Sequence[Cotangent]:
    """A minimum is a maximum of `-x`, negated: both signs cancel in the cotangent."""
    x, at = b.value(op.x), op.frames
    match op.kind.data:
        case PoolKind.MAX:
            return [b.maxpool2d_backward(x, g, *at)]
        case PoolKind.MIN:
            return [b.maxpool2d_backward(-x, g, *at)]
        case PoolKind.SUM:
            return [b.sumpool2d_backward(g, x.shape[2:], *at)]
        case PoolKind.MEAN:
            return [b.sumpool2d_backward(_divided(op, b, g), x.shape[2:], *at)]


@JVP.rule(PoolOp)
def pool_jvp(op: PoolOp, b: MirBuilder, t: Value) -> Sequence[Value | None]:
    x, at = b.value(op.x), op.frames
    match op.kind.data:
        case PoolKind.MAX:
            return [b.maxpool2d_take(x, t, *at)]
        case PoolKind.MIN:
            return [b.maxpool2d_take(-x, t, *at)]
        case kind:
            return [b.pool(t, kind, *at, op.includes_padding)]


@VJP.rule(Maxpool2dTakeOp)
def maxpool2d_take_vjp(op: Maxpool2dTakeOp, b: MirBuilder, g: Value) -> Sequence[Cotangent]:
    return [None, lambda: b.maxpool2d_backward(op.x, g, *op.frames)]


@JVP.rule(Maxpool2dTakeOp)
def maxpool2d_take_jvp(op: Maxpool2dTakeOp, b: MirBuilder, x: Value | None, t: Value | None) -> Sequence[Value | None]:
    return [None if t is None else b.maxpool2d_take(op.x, t, *op.frames)]


@VJP.rule(Maxpool2dBackwardOp)
def maxpool2d_backward_vjp(op: Maxpool2dBackwardOp, b: MirBuilder, g: Value) -> Sequence[Cotangent]:
    return [None, lambda: b.maxpool2d_take(op.x, g, *op.frames)]


@JVP.rule(Maxpool2dBackwardOp)
def maxpool2d_backward_jvp(
    op: Maxpool2dBackwardOp, b: MirBuilder, x: Value | None, dy: Value | None
) -> Sequence[Value | None]:
    return [None if dy is None else b.maxpool2d_backward(op.x, dy, *op.frames)]


def _sumpool2d_transpose(op: Sumpool2dBackwardOp, b: MirBuilder, g: Value) -> Sequence[Cotangent]:
    return [b.pool(g, PoolKind.SUM, *op.frames)]


linear(Sumpool2dBackwardOp, _sumpool2d_transpose)


@decompose(ResizeNearest2xOp)
def resize_nearest_2x_decompose(op: ResizeNearest2xOp, b: MirBuilder) -> Sequence[Value]:
    n, c, h, w = shape_of(op.x)
    apart = b.expand(b.reshape(op.x, (n, c, h, 1, w, 1)), (n, c, h, 2, w, 2))
    return [b.reshape(apart, (n, c, 2 * h, 2 * w))]


# Batching: the new axis is more images.


def _images(b: MirBuilder, batched: Sequence[bool], size: int, operands: Sequence[Value]) -> list[Value]:
    whole = [x if has else lift(b, x, size) for x, has in zip(operands, batched, strict=True)]
    return [b.reshape(x, (x.shape[0] * x.shape[1], *x.shape[2:])) for x in whole]


def _examples(op: PoolLike, b: MirBuilder, y: Value, size: int) -> Sequence[Value]:
    return [b.reshape(y, (size, *shape_of(op.result)))]


@VMAP.rule(PoolOp)
def pool_vmap(op: PoolOp, b: MirBuilder, batched: Sequence[bool], size: int, x: Value) -> Sequence[Value]:
    (images,) = _images(b, batched, size, [x])
    return _examples(op, b, b.pool(images, op.kind.data, *op.frames, op.includes_padding), size)


@VMAP.rule(Maxpool2dTakeOp)
def maxpool2d_take_vmap(
    op: Maxpool2dTakeOp, b: MirBuilder, batched: Sequence[bool], size: int, x: Value, t: Value
) -> Sequence[Value]:
    images, tangents = _images(b, batched, size, [x, t])
    return _examples(op, b, b.maxpool2d_take(images, tangents, *op.frames), size)


@VMAP.rule(Maxpool2dBackwardOp)
def maxpool2d_backward_vmap(
    op: Maxpool2dBackwardOp, b: MirBuilder, batched: Sequence[bool], size: int, x: Value, dy: Value
) -> Sequence[Value]:
    images, upper = _images(b, batched, size, [x, dy])
    return _examples(op, b, b.maxpool2d_backward(images, upper, *op.frames), size)


@VMAP.rule(Sumpool2dBackwardOp)
def sumpool2d_backward_vmap(
    op: Sumpool2dBackwardOp, b: MirBuilder, batched: Sequence[bool], size: int, dy: Value
) -> Sequence[Value]:
    (upper,) = _images(b, batched, size, [dy])
    return _examples(op, b, b.sumpool2d_backward(upper, shape_of(op.result)[2:], *op.frames), size)
