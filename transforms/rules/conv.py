"""Rows of convolutions. A convolution, its transpose and its weight's cotangent are linear in each operand, and each is
the cotangent of another, so they are closed under every derivative."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from xdsl_rlx.dialects.mir.conv import (
    Conv2dBackwardInputOp,
    Conv2dBackwardWeightOp,
    ConvLike,
    ConvOp,
    ConvTranspose2dOp,
    Im2colOp,
    Windows,
)
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.shapes import element_of, shape_of
from xdsl_rlx.transforms.rules.rows import decompose, lift, move_axis
from xdsl_rlx.transforms.rules.rule_table import JVP, VJP, VMAP, Cotangent


def plane(b: MirBuilder, x: Value) -> Value:
    """Images or weights of one dimension as those of two."""
    return x if x.rank == 4 else b.reshape(x, (*x.shape[:2], 1, x.shape[2]))


def planar(at: Windows) -> Windows:
    """The windows of one dimension as those of two."""
    if len(at.stride) == 2:
        return at
    return Windows((1, *at.stride), (0, *at.padding), (1, *at.dilation), at.groups)


def _sum(left: Value | None, right: Value | None) -> list[Value | None]:
    return [right if left is None else left if right is None else left + right]


@VJP.rule(ConvOp)
def conv_vjp(op: ConvOp, b: MirBuilder, g: Value) -> Sequence[Cotangent]:
    x, w, dy = (plane(b, v) for v in (b.value(op.x), b.value(op.w), g))
    at = planar(op.windows)
    return [
        lambda: b.reshape(b.conv2d_backward_input(dy, w, x.shape[2:], *at), shape_of(op.x)),
        lambda: b.reshape(b.conv2d_backward_weight(x, dy, w.shape[2:], *at), shape_of(op.w)),
    ]


@JVP.rule(ConvOp)
def conv_jvp(op: ConvOp, b: MirBuilder, x: Value | None, w: Value | None) -> Sequence[Value | None]:
    at = op.windows
    return _sum(None if x is None else b.conv(x, op.w, *at), None if w is None else b.conv(op.x, w, *at))


@VJP.rule(Conv2dBackwardInputOp)
def conv2d_backward_input_vjp(op: Conv2dBackwardInputOp, b: MirBuilder, g: Value) -> Sequence[Cotangent]:
    at = op.windows
    return [lambda: b.conv(g, op.w, *at), lambda: b.conv2d_backward_weight(g, op.dy, shape_of(op.w)[2:], *at)]


@JVP.rule(Conv2dBackwardInputOp)
def conv2d_backward_input_jvp(
    op: Conv2dBackwardInputOp, b: MirBuilder, dy: Value | None, w: Value | None
) -> Sequence[Value | None]:
    size, at = shape_of(op.result)[2:], op.windows
    return _sum(
        None if dy is None else b.conv2d_backward_input(dy, op.w, size, *at),
        None if w is None else b.conv2d_backward_input(op.dy, w, size, *at),
    )


@VJP.rule(Conv2dBackwardWeightOp)
def conv2d_backward_weight_vjp(op: Conv2dBackwardWeightOp, b: MirBuilder, g: Value) -> Sequence[Cotangent]:
    at = op.windows
    return [lambda: b.conv2d_backward_input(op.dy, g, shape_of(op.x)[2:], *at), lambda: b.conv(op.x, g, *at)]


@JVP.rule(Conv2dBackwardWeightOp)
def conv2d_backward_weight_jvp(
    op: Conv2dBackwardWeightOp, b: MirBuilder, x: Value | None, dy: Value | None
) -> Sequence[Value | None]:
    size, at = shape_of(op.result)[2:], op.windows
    return _sum(
        None if x is None else b.conv2d_backward_weight(x, op.dy, size, *at),
        None if dy is None else b.conv2d_backward_weight(op.x, dy, size, *at),
    )


@decompose(ConvTranspose2dOp)
def conv_transpose2d_decompose(op: ConvTranspose2dOp, b: MirBuilder) -> Sequence[Value]:
    """A result that has room for more windows than `x` has elements is that of `x` with zeros behind."""
    x, size = b.value(op.x), shape_of(op.result)[2:]
    for axis, count in enumerate(op.windows.counts(size, shape_of(op.w)[2:]), 2):
        if more := count - x.shape[axis]:
            zeros = b.full([more if d == axis else n for d, n in enumerate(x.shape)], 0, x.dtype)
            x = b.concat([x, zeros], axis)
    return [b.conv2d_backward_input(x, op.w, size, *op.windows)]


@decompose(Im2colOp)
def im2col_decompose(op: Im2colOp, b: MirBuilder) -> Sequence[Value]:
    """A convolution of each channel with a weight for each tap, 1 there and 0 elsewhere."""
    x, kernel = b.value(op.x), op.kernel
    taps, channels = prod(kernel), x.shape[1]
    identity = b.constant([[1.0 if i == j else 0.0 for j in range(taps)] for i in range(taps)], x.dtype)
    w = b.expand(b.reshape(identity, (1, taps, *kernel)), (channels, taps, *kernel))
    rows = b.conv(x, b.reshape(w, (channels * taps, 1, *kernel)), *op.windows)
    return [b.reshape(b.transpose(rows, (0, 2, 3, 1)), shape_of(op.result))]


# Batching. Of one weight, the new axis is more images; of a batch of weights, it is more groups.


def _more_images(b: MirBuilder, x: Value) -> Value:
    return b.reshape(x, (x.shape[0] * x.shape[1], *x.shape[2:]))


def _more_channels(b: MirBuilder, x: Value) -> Value:
    """`[B, N, C, ...]` as `[N, B C, ...]`."""
    moved = move_axis(b, x, 0, 1)
    return b.reshape(moved, (moved.shape[0], moved.shape[1] * moved.shape[2], *moved.shape[3:]))


def _fewer_channels(b: MirBuilder, y: Value, size: int) -> Value:
    """`[N, B C, ...]` as `[B, N, C, ...]`."""
    return move_axis(b, b.reshape(y, (y.shape[0], size, y.shape[1] // size, *y.shape[2:])), 1, 0)


def _none(op: ConvLike, b: MirBuilder) -> Sequence[Value]:
    """The results for a batch of no examples."""
    return [b.full((0, *shape_of(op.result)), 0, element_of(op.result))]


def _image_by_weight(
    op: ConvLike,
    b: MirBuilder,
    batched: Sequence[bool],
    size: int,
    operands: Sequence[Value],
    call: Callable[[Value, Value, int], Value],
) -> Sequence[Value]:
    """Batch `call(image, weight, groups)`."""
    (image, weight), groups = operands, op.windows.groups
    if not batched[1]:
        y = call(_more_images(b, image), weight, groups)
        return [b.reshape(y, (size, *shape_of(op.result)))]
    if not size:
        return _none(op, b)
    image = image if batched[0] else lift(b, image, size)
    return [_fewer_channels(b, call(_more_channels(b, image), _more_images(b, weight), size * groups), size)]


@VMAP.rule(ConvOp)
def conv_vmap(op: ConvOp, b: MirBuilder, batched: Sequence[bool], size: int, x: Value, w: Value) -> Sequence[Value]:
    at = op.windows
    return _image_by_weight(op, b, batched, size, (x, w), lambda x, w, n: b.conv(x, w, *at[:3], n))


@VMAP.rule(Conv2dBackwardInputOp)
def conv2d_backward_input_vmap(
    op: Conv2dBackwardInputOp, b: MirBuilder, batched: Sequence[bool], size: int, dy: Value, w: Value
) -> Sequence[Value]:
    at, extents = op.windows, shape_of(op.result)[2:]

    def call(dy: Value, w: Value, groups: int) -> Value:
        return b.conv2d_backward_input(dy, w, extents, *at[:3], groups)

    return _image_by_weight(op, b, batched, size, (dy, w), call)


@VMAP.rule(Conv2dBackwardWeightOp)
def conv2d_backward_weight_vmap(
    op: Conv2dBackwardWeightOp, b: MirBuilder, batched: Sequence[bool], size: int, x: Value, dy: Value
) -> Sequence[Value]:
    """The images of each example make a gradient of their own: more groups."""
    if not size:
        return _none(op, b)
    at = op.windows
    image, upper = (_more_channels(b, v if has else lift(b, v, size)) for v, has in zip((x, dy), batched, strict=True))
    dw = b.conv2d_backward_weight(image, upper, shape_of(op.result)[2:], *at[:3], size * at.groups)
    return [b.reshape(dw, (size, *shape_of(op.result)))]
