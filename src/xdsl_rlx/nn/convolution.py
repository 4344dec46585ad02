"""Convolutions with one to three spatial axes, their transposes, and rearrangements of pixels and channels.

Images are `[N, C, ...]` or, for one image, `[C, ...]`; names and defaults are those of `torch.nn.functional`.
"""

# Trees, and what NumPy is called with, are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from xdsl_rlx.composite import composite
from xdsl_rlx.dialects.calls import shown
from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.nn.arguments import axis_index, check_element_types, check_integer, check_shape, floating, per_axis
from xdsl_rlx.op_functions import function

Steps = int | Sequence[int]
Padding = int | str | Sequence[int] | Sequence[Sequence[int]]


def _spatial(name: str, x: Any, weight: Any, axes: int | None) -> int:
    """The number of spatial axes, which the rank of the weight says."""
    found = np.ndim(weight) - 2
    if axes is not None and found != axes:
        raise GraphError(
            f"{name}: weight: expected rank {axes + 2}, two channel axes and {axes} spatial ones, got "
            f"{list(np.shape(weight))}"
        )
    if not 1 <= found <= 3:
        raise GraphError(f"{name}: weight: expected 1 to 3 spatial axes, got shape {list(np.shape(weight))}")
    if np.ndim(x) not in (found + 1, found + 2):
        raise GraphError(
            f"{name}: x: expected [N, C, ...] or [C, ...] with {found} spatial axes for a weight of shape "
            f"{list(np.shape(weight))}, got {list(np.shape(x))}"
        )
    return found


def _pads(name: str, padding: Any, size: Sequence[int], reach: Sequence[int], stride: Sequence[int]) -> Any:
    """Numbers of zeros before and after each spatial axis; `reach` is the distance of the outer taps of a window."""
    axes = len(size)
    if isinstance(padding, str):
        word = padding.lower()
        if word == "valid":
            return ((0, 0),) * axes
        if word not in ("same", "same_lower"):
            raise GraphError(
                f"{name}: padding: expected 'same', 'same_lower', 'valid', integers or pairs, got {padding!r}"
            )
        totals = [max((-(-n // s) - 1) * s + r + 1 - n, 0) for n, r, s in zip(size, reach, stride, strict=True)]
        less = [(total // 2, total - total // 2) for total in totals]
        return tuple(less) if word == "same" else tuple((after, before) for before, after in less)
    if isinstance(padding, Sequence) and all(isinstance(one, Sequence) and len(one) == 2 for one in padding):
        if len(padding) != axes:
            raise GraphError(f"{name}: padding: expected {axes} pairs, got {shown(padding)}")
        return tuple((int(before), int(after)) for before, after in padding)
    return tuple((p, p) for p in per_axis(name, "padding", padding, axes, 0))


def _biased(name: str, y: Any, bias: Any, axes: int) -> Any:
    if bias is None:
        return y
    check_shape(name, "bias", bias, (y.shape[1],), "one number per channel of the result")
    return y + np.reshape(bias, (-1, *(1,) * axes))


def _conv(
    name: str,
    axes: int | None,
    x: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
) -> Any:
    axes = _spatial(name, x, weight, axes)
    x = floating(x)
    check_element_types(name, x=x, weight=weight)
    check_integer(name, "groups", groups, 1)
    steps = per_axis(name, "stride", stride, axes, 1)
    apart = per_axis(name, "dilation", dilation, axes, 1)
    single = np.ndim(x) == axes + 1
    x = x[None] if single else x
    kernel = weight.shape[2:]
    if x.shape[1] != weight.shape[1] * groups or weight.shape[0] % groups:
        raise GraphError(
            f"{name}: weight: expected [O, C / groups, ...] with O a multiple of groups, for {x.shape[1]} channels in "
            f"{groups} groups, got {list(weight.shape)}"
        )
    pads = _pads(name, padding, x.shape[2:], [d * (k - 1) for k, d in zip(kernel, apart, strict=True)], steps)
    for n, k, d, (before, after) in zip(x.shape[2:], kernel, apart, pads, strict=True):
        if n + before + after < d * (k - 1) + 1:
            raise GraphError(
                f"{name}: weight: a kernel of {list(kernel)} with dilation {list(apart)} does not fit an image of "
                f"{list(x.shape[2:])} with padding {list(pads)}; add padding"
            )
    if axes == 3:
        y = _conv3d(x, weight, steps, pads, apart, groups)
    else:
        if any(before != after or before < 0 for before, after in pads):
            x = function("pad")(x, ((0, 0), (0, 0), *pads))
            pads = ((0, 0),) * axes
        y = function("conv")(x, weight, steps, tuple(before for before, _ in pads), apart, groups)
    y = _biased(name, y, bias, axes)
    return y[0] if single else y


def _conv3d(x: Any, weight: Any, stride: Any, pads: Any, dilation: Any, groups: int) -> Any:
    """A convolution of planes, whose channels are those of all planes that a window reaches."""
    x = function("pad")(x, ((0, 0), (0, 0), *pads))
    images, channels, depth = x.shape[:3]
    outputs, inputs, taps = weight.shape[:3]
    count = (depth - dilation[0] * (taps - 1) - 1) // stride[0] + 1
    planes = [x[:, :, t * dilation[0] : t * dilation[0] + (count - 1) * stride[0] + 1 : stride[0]] for t in range(taps)]
    near = np.stack(planes, axis=2)
    rows = np.moveaxis(near, 3, 1).reshape(images * count, channels * taps, *x.shape[3:])
    flat = weight.reshape(outputs, inputs * taps, *weight.shape[3:])
    y = function("conv")(rows, flat, stride[1:], (0, 0), dilation[1:], groups)
    return np.moveaxis(y.reshape(images, count, *y.shape[1:]), 1, 2)


@composite
def conv(
    x: Any,
    weight: Any,
    bias: Any = None,
    stride: Steps = 1,
    padding: Padding = 0,
    dilation: Steps = 1,
    groups: int = 1,
) -> Any:
    """
    Return `sum over c, k of x[n, c, i stride + k dilation - padding] weight[o, c, k] + bias[o]`, 0 outside of `x`.

    `x` is `[N, C, ...]` or `[C, ...]` with one to three spatial axes, `weight` is `[O, C / groups, ...]`, `bias` is
    `[O]`. Output channels of group `g` read the input channels of group `g`. Steps are one number or one per spatial
    axis. `padding` is a number of zeros for both ends of all axes, one per axis, or a pair per axis; or "valid", which
    is 0; or "same", which gives `ceil(n / stride)` windows with the odd zero at the end ("same_lower": at the start),
    as in JAX. The result has `floor((n + padding - dilation (kernel - 1) - 1) / stride) + 1` windows along an axis,
    `padding` the sum of both ends.
    """
    return _conv("conv", None, x, weight, bias, stride, padding, dilation, groups)


@composite
def conv1d(
    x: Any,
    weight: Any,
    bias: Any = None,
    stride: Steps = 1,
    padding: Padding = 0,
    dilation: Steps = 1,
    groups: int = 1,
) -> Any:
    """Return `conv` of `x` `[N, C, W]` or `[C, W]` with a weight `[O, C / groups, kW]`."""
    return _conv("conv1d", 1, x, weight, bias, stride, padding, dilation, groups)


@composite
def conv2d(
    x: Any,
    weight: Any,
    bias: Any = None,
    stride: Steps = 1,
    padding: Padding = 0,
    dilation: Steps = 1,
    groups: int = 1,
) -> Any:
    """Return `conv` of `x` `[N, C, H, W]` or `[C, H, W]` with a weight `[O, C / groups, kH, kW]`."""
    return _conv("conv2d", 2, x, weight, bias, stride, padding, dilation, groups)


@composite
def conv3d(
    x: Any,
    weight: Any,
    bias: Any = None,
    stride: Steps = 1,
    padding: Padding = 0,
    dilation: Steps = 1,
    groups: int = 1,
) -> Any:
    """Return `conv` of `x` `[N, C, D, H, W]` or `[C, D, H, W]` with a weight `[O, C / groups, kD, kH, kW]`."""
    return _conv("conv3d", 3, x, weight, bias, stride, padding, dilation, groups)


def _transposed(
    name: str,
    axes: int | None,
    x: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    output_padding: Any,
    groups: int,
    dilation: Any,
) -> Any:
    axes = _spatial(name, x, weight, axes)
    x = floating(x)
    check_element_types(name, x=x, weight=weight)
    check_integer(name, "groups", groups, 1)
    steps = per_axis(name, "stride", stride, axes, 1)
    pads = per_axis(name, "padding", padding, axes, 0)
    more = per_axis(name, "output_padding", output_padding, axes, 0)
    apart = per_axis(name, "dilation", dilation, axes, 1)
    if any(extra >= max(s, d) for extra, s, d in zip(more, steps, apart, strict=True)):
        raise GraphError(
            f"{name}: output_padding: expected less than stride {list(steps)} or dilation {list(apart)}, got "
            f"{list(more)}"
        )
    single = np.ndim(x) == axes + 1
    x = x[None] if single else x
    if x.shape[1] != weight.shape[0] or x.shape[1] % groups:
        raise GraphError(
            f"{name}: weight: expected [C, O / groups, ...] for C = {x.shape[1]} channels, a multiple of groups = "
            f"{groups}, got {list(weight.shape)}"
        )
    sizes = zip(x.shape[2:], weight.shape[2:], steps, pads, more, apart, strict=True)
    size = [(n - 1) * s - 2 * p + d * (k - 1) + extra + 1 for n, k, s, p, extra, d in sizes]
    if min(size) < 1:
        raise GraphError(f"{name}: padding: {list(pads)} leaves a result of size {size}; reduce padding")
    if axes == 3:
        y = _transposed3d(x, weight, steps, pads, apart, groups, more, size[0])
    else:
        flat = axes == 1
        image, kernel = (x[:, :, None], weight[:, :, None]) if flat else (x, weight)
        options = [((fill,) * flat) + given for fill, given in ((1, steps), (0, pads), (1, apart), (0, more))]
        y = function("conv_transpose2d")(image, kernel, *options[:3], groups, options[3])
        y = y[:, :, 0] if flat else y
    y = _biased(name, y, bias, axes)
    return y[0] if single else y


def _transposed3d(
    x: Any, weight: Any, stride: Any, pads: Any, dilation: Any, groups: int, more: Any, depth: int
) -> Any:
    """The transpose over planes, with an output channel for each tap along the depth, which are added in place."""
    images, channels, planes = x.shape[:3]
    _, outputs, taps = weight.shape[:3]
    rows = np.moveaxis(x, 2, 1).reshape(images * planes, channels, *x.shape[3:])
    flat = weight.reshape(channels, outputs * taps, *weight.shape[3:])
    y = function("conv_transpose2d")(rows, flat, stride[1:], pads[1:], dilation[1:], groups, more[1:])
    y = y.reshape(images, planes, groups * outputs, taps, *y.shape[2:])
    y = np.moveaxis(y, (3, 1), (0, 3))
    return _overlapped(y, 2, stride[0], dilation[0], pads[0], depth)


def _overlapped(parts: Any, axis: int, stride: int, dilation: int, padding: int, length: int) -> Any:
    """`result[i] = sum of parts[k][j]` over `j stride + k dilation - padding = i`, the positions along `axis`."""
    count, total = parts.shape[axis + 1], 0
    for k in range(parts.shape[0]):
        before = k * dilation - padding
        widths = [(0, 0)] * (np.ndim(parts) - 1)
        widths[axis] = (before, length - before - (count - 1) * stride - 1)
        interior = [0] * (np.ndim(parts) - 1)
        interior[axis] = stride - 1
        total = total + function("pad")(parts[k], tuple(widths), interior=tuple(interior))
    return total


@composite
def conv_transpose(
    x: Any,
    weight: Any,
    bias: Any = None,
    stride: Steps = 1,
    padding: Steps = 0,
    output_padding: Steps = 0,
    groups: int = 1,
    dilation: Steps = 1,
) -> Any:
    """
    Return the transpose of `conv` by the same weight: `y[n, o, i] = sum of x[n, c, j] w[c, o, k]`.

    The sum is over `c`, `j` and `k` with `j stride + k dilation - padding = i`.

    `x` is `[N, C, ...]` or `[C, ...]` with one to three spatial axes, `weight` is `[C, O / groups, ...]`, `bias` is
    `[O]`. The result has `(n - 1) stride - 2 padding + dilation (kernel - 1) + output_padding + 1` elements along an
    axis. `output_padding` is less than `stride` or than `dilation`. The order of the arguments is that of PyTorch.
    """
    return _transposed("conv_transpose", None, x, weight, bias, stride, padding, output_padding, groups, dilation)


@composite
def conv_transpose1d(
    x: Any,
    weight: Any,
    bias: Any = None,
    stride: Steps = 1,
    padding: Steps = 0,
    output_padding: Steps = 0,
    groups: int = 1,
    dilation: Steps = 1,
) -> Any:
    """Return `conv_transpose` of `x` `[N, C, W]` or `[C, W]` with a weight `[C, O / groups, kW]`."""
    return _transposed("conv_transpose1d", 1, x, weight, bias, stride, padding, output_padding, groups, dilation)


@composite
def conv_transpose2d(
    x: Any,
    weight: Any,
    bias: Any = None,
    stride: Steps = 1,
    padding: Steps = 0,
    output_padding: Steps = 0,
    groups: int = 1,
    dilation: Steps = 1,
) -> Any:
    """Return `conv_transpose` of `x` `[N, C, H, W]` or `[C, H, W]` by a weight `[C, O / groups, kH, kW]`."""
    return _transposed("conv_transpose2d", 2, x, weight, bias, stride, padding, output_padding, groups, dilation)


@composite
def conv_transpose3d(
    x: Any,
    weight: Any,
    bias: Any = None,
    stride: Steps = 1,
    padding: Steps = 0,
    output_padding: Steps = 0,
    groups: int = 1,
    dilation: Steps = 1,
) -> Any:
    """Return `conv_transpose` of `x` `[N, C, D, H, W]` with a weight `[C, O / groups, kD, kH, kW]`."""
    return _transposed("conv_transpose3d", 3, x, weight, bias, stride, padding, output_padding, groups, dilation)


def _unfolding(
    name: str, x: Any, kernel_size: Any, dilation: Any, padding: Any, stride: Any
) -> tuple[tuple[int, ...], ...]:
    if np.ndim(x) not in (3, 4) and name == "unfold":
        raise GraphError(f"{name}: x: expected [N, C, H, W] or [C, H, W], got {list(np.shape(x))}")
    steps = (("kernel_size", kernel_size, 1), ("dilation", dilation, 1), ("padding", padding, 0), ("stride", stride, 1))
    return tuple(per_axis(name, what, given, 2, least) for what, given, least in steps)


def _counts(name: str, size: Any, kernel: Any, dilation: Any, padding: Any, stride: Any) -> tuple[int, ...]:
    lies = zip(size, kernel, dilation, padding, stride, strict=True)
    counts = tuple((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, d, p, s in lies)
    if min(counts) < 1:
        raise GraphError(f"{name}: kernel_size: windows of {list(kernel)} do not fit an image of {list(size)}")
    return counts


@composite
def unfold(x: Any, kernel_size: Steps, dilation: Steps = 1, padding: Steps = 0, stride: Steps = 1) -> Any:
    """
    Return the windows of images as columns: `[N, C kH kW, L]` for `x` `[N, C, H, W]` and L windows.

    `result[n, (c, k), i] = x[n, c, i stride + k dilation - padding]`, 0 outside of `x`. The order of the arguments is
    that of PyTorch. One image `[C, H, W]` gives `[C kH kW, L]`.
    """
    kernel, apart, pads, steps = _unfolding("unfold", x, kernel_size, dilation, padding, stride)
    single = np.ndim(x) == 3
    x = floating(x)[None] if single else floating(x)
    _counts("unfold", x.shape[2:], kernel, apart, pads, steps)
    rows = function("im2col")(x, kernel, steps, pads, apart)
    images, channels = x.shape[:2]
    length = prod(_counts("unfold", x.shape[2:], kernel, apart, pads, steps))
    y = np.swapaxes(rows.reshape(images, length, channels * prod(kernel)), 1, 2)
    return y[0] if single else y


@composite
def fold(
    x: Any,
    output_size: Steps,
    kernel_size: Steps,
    dilation: Steps = 1,
    padding: Steps = 0,
    stride: Steps = 1,
) -> Any:
    """
    Return images `[N, C, *output_size]` with the sum of all windows that overlap: the transpose of `unfold`.

    `x` is `[N, C kH kW, L]` or `[C kH kW, L]`, with the L windows that `unfold` takes of an image of `output_size`.
    """
    kernel, apart, pads, steps = _unfolding("fold", x, kernel_size, dilation, padding, stride)
    size = per_axis("fold", "output_size", output_size, 2, 1)
    counts = _counts("fold", size, kernel, apart, pads, steps)
    single = np.ndim(x) == 2
    x = x[None] if single else x
    taps = prod(kernel)
    if np.ndim(x) != 3 or x.shape[1] % taps or x.shape[2] != prod(counts):
        raise GraphError(
            f"fold: x: expected [N, C * {taps}, {prod(counts)}] for windows of {list(kernel)} in an image of "
            f"{list(size)}, got {list(np.shape(x))}"
        )
    images, channels = x.shape[0], x.shape[1] // taps
    parts = np.moveaxis(x.reshape(images, channels, *kernel, *counts), 2, 0)
    rows = _overlapped(parts, 3, steps[0], apart[0], pads[0], size[0])
    y = _overlapped(np.moveaxis(rows, 2, 0), 3, steps[1], apart[1], pads[1], size[1])
    return y[0] if single else y


@composite
def pixel_shuffle(x: Any, upscale_factor: int) -> Any:
    """
    Return `[..., C, H r, W r]` from `[..., C r^2, H, W]`, with `r = upscale_factor`.

    `result[..., c, i r + a, j r + b] = x[..., c r^2 + a r + b, i, j]` (Shi et al., 2016).
    """
    check_integer("pixel_shuffle", "upscale_factor", upscale_factor, 1)
    r = upscale_factor
    if np.ndim(x) < 3 or x.shape[-3] % (r * r):
        raise GraphError(
            f"pixel_shuffle: x: expected [..., C, H, W] with C a multiple of {r * r}, got {list(np.shape(x))}"
        )
    *lead, channels, height, width = x.shape
    parts = x.reshape(*lead, channels // (r * r), r, r, height, width)
    apart = np.moveaxis(parts, (-4, -3), (-3, -1))
    return apart.reshape(*lead, channels // (r * r), height * r, width * r)


@composite
def pixel_unshuffle(x: Any, downscale_factor: int) -> Any:
    """Return `[..., C r^2, H / r, W / r]` from `[..., C, H, W]`: the inverse of `pixel_shuffle`."""
    check_integer("pixel_unshuffle", "downscale_factor", downscale_factor, 1)
    r = downscale_factor
    if np.ndim(x) < 3 or x.shape[-1] % r or x.shape[-2] % r:
        raise GraphError(
            f"pixel_unshuffle: x: expected [..., C, H, W] with H and W multiples of {r}, got {list(np.shape(x))}"
        )
    *lead, channels, height, width = x.shape
    parts = x.reshape(*lead, channels, height // r, r, width // r, r)
    apart = np.moveaxis(parts, (-3, -1), (-4, -3))
    return apart.reshape(*lead, channels * r * r, height // r, width // r)


@composite
def channel_shuffle(x: Any, groups: int, axis: int = 1) -> Any:
    """
    Return `x` with the channels of `axis` in the order that takes one of each group in turn.

    The channel `i groups + g` is the channel `i` of group `g` of `x` (Zhang et al., 2018).
    """
    check_integer("channel_shuffle", "groups", groups, 1)
    axis = axis_index("channel_shuffle", axis, np.ndim(x))
    if x.shape[axis] % groups:
        raise GraphError(f"channel_shuffle: groups: expected a divisor of {x.shape[axis]} channels, got {groups}")
    parts = x.reshape(*x.shape[:axis], groups, x.shape[axis] // groups, *x.shape[axis + 1 :])
    return np.swapaxes(parts, axis, axis + 1).reshape(x.shape)
