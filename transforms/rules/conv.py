"""Rows of convolutions. A convolution, its transpose and its weight's cotangent are linear in each operand, and each is
the cotangent of another, so they are closed under every derivative."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from xdsl.dialects.builtin import BFloat16Type, Float16Type
from xdsl.ir import Operation, SSAValue

from xdsl_rlx.dialects.mir.builder import MirBuilder, Value
from xdsl_rlx.dialects.mir.conv import (
    Conv2dBackwardInputOp,
    Conv2dBackwardWeightOp,
    ConvLike,
    ConvOp,
    ConvTranspose2dOp,
    Im2colOp,
    Windows,
)
from xdsl_rlx.dialects.shapes import DTYPE_NAMES, element_of, shape_of
from xdsl_rlx.transforms.rules.lowering import NORMALIZE
from xdsl_rlx.transforms.rules.rows import decompose, lift, move_axis
from xdsl_rlx.transforms.rules.table import JVP, VJP, VMAP, Cotangent


def _plane(b: MirBuilder, x: Value) -> Value:
    """Images or weights of one dimension as those of two."""
    return x if x.rank == 4 else b.reshape(x, (*x.shape[:2], 1, x.shape[2]))


def _planar(at: Windows) -> Windows:
    """The windows of one dimension as those of two."""
    if len(at.stride) == 2:
        return at
    return Windows((1, *at.stride), (0, *at.padding), (1, *at.dilation), at.groups)


def _sum(left: Value | None, right: Value | None) -> list[Value | None]:
    return [right if left is None else left if right is None else left + right]


@VJP.rule(ConvOp)
def conv_vjp(op: ConvOp, b: MirBuilder, g: Value) -> Sequence[Cotangent]:
    x, w, dy = (_plane(b, v) for v in (b.value(op.x), b.value(op.w), g))
    at = _planar(op.windows)
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


# What loops want: two dimensions, f32 or f64, and matrix products where a window is one element.


def _is_half(x: SSAValue) -> bool:
    return isinstance(element_of(x), Float16Type | BFloat16Type)


def _wide(b: MirBuilder, x: SSAValue) -> Value:
    return b.cast(x, "f32") if _is_half(x) else b.value(x)


def _is_pointwise(at: Windows, kernel: Sequence[int]) -> bool:
    """Whether the windows are the elements of the image, in order, of all channels."""
    return at.groups == 1 and set(kernel) == {1} and set(at.stride) == {1} and set(at.padding) == {0}


def _rows(b: MirBuilder, x: Value) -> Value:
    """Images with their elements in one row, and weights of one element as a matrix."""
    return b.reshape(x, (*x.shape[:2], prod(x.shape[2:])))


def _normal_conv(op: Operation, b: MirBuilder) -> Sequence[Value] | None:
    assert isinstance(op, ConvOp)
    at, kernel = op.windows, shape_of(op.w)[2:]
    pointwise = _is_pointwise(at, kernel)
    if not pointwise and len(kernel) == 2 and not _is_half(op.x):
        return None
    x, w = _wide(b, op.x), _wide(b, op.w)
    y = b.reshape(w, w.shape[:2]) @ _rows(b, x) if pointwise else b.conv(_plane(b, x), _plane(b, w), *_planar(at))
    return [b.cast(b.reshape(y, shape_of(op.result)), DTYPE_NAMES[element_of(op.result)])]


def _normal_backward_input(op: Operation, b: MirBuilder) -> Sequence[Value] | None:
    assert isinstance(op, Conv2dBackwardInputOp)
    at, pointwise = op.windows, _is_pointwise(op.windows, shape_of(op.w)[2:])
    if not pointwise and not _is_half(op.dy):
        return None
    dy, w, shape = _wide(b, op.dy), _wide(b, op.w), shape_of(op.result)
    if pointwise:
        dx = b.reshape(b.reshape(w, w.shape[:2]).T @ _rows(b, dy), shape)
    else:
        dx = b.conv2d_backward_input(dy, w, shape[2:], *at)
    return [b.cast(dx, DTYPE_NAMES[element_of(op.result)])]


def _normal_backward_weight(op: Operation, b: MirBuilder) -> Sequence[Value] | None:
    assert isinstance(op, Conv2dBackwardWeightOp)
    if not _is_half(op.x):
        return None
    dw = b.conv2d_backward_weight(_wide(b, op.x), _wide(b, op.dy), shape_of(op.result)[2:], *op.windows)
    return [b.cast(dw, DTYPE_NAMES[element_of(op.result)])]


NORMALIZE.add(ConvOp, _normal_conv)
NORMALIZE.add(Conv2dBackwardInputOp, _normal_backward_input)
NORMALIZE.add(Conv2dBackwardWeightOp, _normal_backward_weight)
