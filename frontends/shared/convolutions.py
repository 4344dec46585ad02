"""XLA's convolution: any layout, dilations on both sides, groups of features and of images, negative padding."""

# Tensors are traced or constant.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import Any

import numpy as np

from xdsl_rlx import nn
from xdsl_rlx.frontends.shared.errors import FrontendError
from xdsl_rlx.frontends.shared.numbers import dot_general
from xdsl_rlx.frontends.shared.slices import pad
from xdsl_rlx.frontends.shared.values import cast, category, dtype_of, full, shape_of, traced
from xdsl_rlx.op_functions import function

Pairs = Sequence[tuple[int, int]]


@dataclass(frozen=True)
class ConvDims:
    """The dimensions of a convolution as `jax.lax.ConvDimensionNumbers` has them: two, then those of space."""

    lhs_spec: tuple[int, ...]
    """Batch, features, space."""
    rhs_spec: tuple[int, ...]
    """Output features, input features, space."""
    out_spec: tuple[int, ...]
    """Batch, features, space."""


@dataclass(frozen=True)
class ConvWindows:
    """How the windows of a convolution lie, by axis of space."""

    strides: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]
    lhs_dilation: tuple[int, ...]
    rhs_dilation: tuple[int, ...]
    reversal: tuple[bool, ...] = ()
    """Which axes of the kernel are flipped; empty is none."""

    def reversed(self, kernel: Any, others: bool = False) -> Any:
        """The kernel `[O, I, ..]` with the axes flipped that are, or with `others` those that are not."""
        flipped = self.reversal or (False,) * len(self.strides)
        axes = tuple(axis + 2 for axis, one in enumerate(flipped) if one != others)
        return np.flip(kernel, axes) if axes else kernel

    def counts(self, size: Sequence[int], kernel: Sequence[int]) -> tuple[int, ...]:
        """How many windows there are along each axis, which may be none."""
        found: list[int] = []
        for axis, (n, k) in enumerate(zip(size, kernel, strict=True)):
            before, after = self.padding[axis]
            width = max((n - 1) * self.lhs_dilation[axis] + 1, 0) + before + after
            reach = max((k - 1) * self.rhs_dilation[axis] + 1, 0)
            found.append(max((width - reach) // self.strides[axis] + 1, 0) if width >= reach else 0)
        return tuple(found)


def convolution(
    lhs: Any,
    rhs: Any,
    dims: ConvDims,
    windows: ConvWindows,
    feature_groups: int = 1,
    batch_groups: int = 1,
    dtype: str | None = None,
) -> Any:
    """
    Return the convolution of images `lhs` by a kernel `rhs`, as `jax.lax.conv_general_dilated`.

    It is computed in the element type `dtype`, by default that of the operands.
    """
    wide = dtype or dtype_of(lhs)
    if _is_of_weights(dims, windows, feature_groups, wide, shape_of(lhs), shape_of(rhs)):
        return _of_weights(traced(cast(lhs, wide)), traced(cast(rhs, wide)), dims, windows, batch_groups)
    images = np.transpose(traced(cast(lhs, wide)), dims.lhs_spec)
    kernel = np.transpose(traced(cast(rhs, wide)), dims.rhs_spec)
    groups = feature_groups
    if batch_groups > 1:
        # a group of images meets its own output features: it is a group of features
        n, rest = images.shape[0] // batch_groups, images.shape[1:]
        apart = images.reshape(batch_groups, n, *rest)
        images = np.moveaxis(apart, 0, 1).reshape(n, batch_groups * rest[0], *rest[1:])
        groups = batch_groups
    return _laid_out(_by_type(images, kernel, windows, groups), dims.out_spec)


def _laid_out(found: Any, spec: Sequence[int]) -> Any:
    """A result whose dimension `n` is dimension `spec[n]` of what it becomes."""
    return np.transpose(found, [list(spec).index(axis) for axis in range(len(spec))])


def _is_of_weights(
    dims: ConvDims, windows: ConvWindows, groups: int, dtype: str, lhs: Sequence[int], rhs: Sequence[int]
) -> bool:
    """Whether a convolution is a sum over the first axes, that of images, with more taps than results: cotangents."""
    taps = [rhs[axis] for axis in dims.rhs_spec[2:]]
    counts = windows.counts([lhs[axis] for axis in dims.lhs_spec[2:]], taps)
    return (
        dims.lhs_spec[1] == dims.rhs_spec[1] == 0
        and prod(taps) >= prod(counts) > 0
        and 0 not in (*lhs, *rhs)
        and len(counts) == 2
        and groups == 1
        and category(dtype) == 2
        and all(step == 1 for step in windows.lhs_dilation)
        and not any(windows.reversal)
    )


def _of_weights(images: Any, cotangents: Any, dims: ConvDims, windows: ConvWindows, groups: int) -> Any:
    """The cotangent of the weights of a convolution of images, where that of its result is the kernel."""
    steps, dilation = windows.rhs_dilation, windows.strides
    images, cotangents = (
        np.transpose(x, (spec[1], spec[0], *spec[2:]))
        for x, spec in ((images, dims.lhs_spec), (cotangents, dims.rhs_spec))
    )
    size, taps = images.shape[2:], cotangents.shape[2:]
    counts = windows.counts(size, taps)
    before = [low for low, _ in windows.padding]
    # what the windows of the convolution whose weights these are reach
    reach = [d * (k - 1) + s * (n - 1) + 1 for d, k, s, n in zip(dilation, counts, steps, taps, strict=True)]
    rest = [far - n - low for far, n, low in zip(reach, size, before, strict=True)]
    slack = [low - high for low, high in zip(before, rest, strict=True)]
    if not all(low >= 0 and 0 <= more < s for low, more, s in zip(before, slack, steps, strict=True)):
        images = pad(images, np.zeros((), np.float32), (0, 0, *before), (0, 0, *rest), (0,) * 4)
        before = [0] * 2
    found = traced(images).b.conv2d_backward_weight(images, cotangents, counts, steps, before, dilation, groups)
    return _laid_out(found, _swapped(dims.out_spec))


def _swapped(spec: Sequence[int]) -> tuple[int, ...]:
    """The dimensions of a layout with the first two interchanged."""
    first, second, *space = spec
    return (second, first, *space)


def _by_type(images: Any, kernel: Any, windows: ConvWindows, groups: int) -> Any:
    """A convolution in the layout `[N, C, ..]` and `[O, C / groups, ..]`, for all element types."""
    dtype, counts = dtype_of(images), windows.counts(images.shape[2:], kernel.shape[2:])
    shape = (images.shape[0], kernel.shape[0], *counts)
    if 0 in (*shape, *images.shape, *kernel.shape):
        return full(shape, 0, dtype)
    if category(dtype) == 3:
        re, im = images.real, images.imag
        left, right = kernel.real, kernel.imag
        one = _by_type(re, left, windows, groups) - _by_type(im, right, windows, groups)
        other = _by_type(re, right, windows, groups) + _by_type(im, left, windows, groups)
        return function("complex")(one, other)
    if category(dtype) < 2:
        return _by_taps(images, kernel, windows, groups, counts)
    if len(counts) > 3:
        raise FrontendError(f"a convolution with {len(counts)} axes of space: expected at most 3")
    return _floating(images, kernel, windows, groups, counts)


def _floating(images: Any, kernel: Any, windows: ConvWindows, groups: int, counts: Sequence[int]) -> Any:
    if not counts:
        flat = _floating(images[..., None], kernel[..., None], _points(1), groups, (1,))
        return flat[..., 0]
    if any(step > 1 for step in windows.lhs_dilation):
        if all(step == 1 for step in windows.strides):
            return _transposed(images, kernel, windows, groups)
        images, windows = _dilated(images, windows)
    return nn.conv(
        images, windows.reversed(kernel), None, windows.strides, windows.padding, windows.rhs_dilation, groups
    )


def _points(axes: int) -> ConvWindows:
    return ConvWindows((1,) * axes, ((0, 0),) * axes, (1,) * axes, (1,) * axes)


def _dilated(images: Any, windows: ConvWindows) -> tuple[Any, ConvWindows]:
    """Images with the zeros between their elements, and windows without dilation."""
    zeros, axes = (0, 0), len(windows.strides)
    between = (*zeros, *(step - 1 for step in windows.lhs_dilation))
    none = (0,) * (axes + 2)
    apart = pad(images, np.zeros((), np.float32), none, none, between)
    return apart, replace(windows, lhs_dilation=(1,) * axes)


def _transposed(images: Any, kernel: Any, windows: ConvWindows, groups: int) -> Any:
    """Dilated images by windows that lie side by side: a transposed convolution by the flipped kernel."""
    axes = len(windows.strides)
    outputs, inputs, taps = kernel.shape[0], kernel.shape[1], kernel.shape[2:]
    turned = windows.reversed(kernel, others=True)
    turned = turned.reshape(groups, outputs // groups, inputs, *taps)
    turned = np.moveaxis(turned, 1, 2).reshape(groups * inputs, outputs // groups, *taps)
    reach = [(k - 1) * d for k, d in zip(taps, windows.rhs_dilation, strict=True)]
    crops = [far - before for far, (before, _) in zip(reach, windows.padding, strict=True)]
    more = [after - before for before, after in windows.padding]
    bounds = [max(steps) for steps in zip(windows.lhs_dilation, windows.rhs_dilation, strict=True)]
    fits = all(crop >= 0 and 0 <= one < most for crop, one, most in zip(crops, more, bounds, strict=True))
    options: Any = (groups, windows.rhs_dilation)
    if fits:
        return nn.conv_transpose(images, turned, None, windows.lhs_dilation, crops, more, *options)
    found = nn.conv_transpose(images, turned, None, windows.lhs_dilation, 0, 0, *options)
    low = [before - far for (before, _), far in zip(windows.padding, reach, strict=True)]
    high = [after - far for (_, after), far in zip(windows.padding, reach, strict=True)]
    return pad(found, np.zeros((), np.float32), (0, 0, *low), (0, 0, *high), (0,) * (axes + 2))


def _by_taps(images: Any, kernel: Any, windows: ConvWindows, groups: int, counts: Sequence[int]) -> Any:
    """A convolution of integers: the sum over the taps of the kernel of matrix products."""
    taps, axes = kernel.shape[2:], len(counts)
    if prod(taps) > _LARGEST:
        raise FrontendError(f"a convolution of integers by a kernel of {list(taps)}: expected at most {_LARGEST} taps")
    images, at = _dilated(images, windows)
    low, high = ([pair[side] for pair in at.padding] for side in (0, 1))
    images = pad(images, np.zeros((), np.int32), (0, 0, *low), (0, 0, *high), (0,) * (axes + 2))
    n, outputs, kernel = images.shape[0], kernel.shape[0], windows.reversed(kernel)
    apart = images.reshape(n, groups, kernel.shape[1], *images.shape[2:])
    weights = kernel.reshape(groups, outputs // groups, *kernel.shape[1:])
    total: Any = None
    for tap in product(*map(range, taps)):
        window = tuple(
            slice(k * d, k * d + (count - 1) * s + 1, s)
            for k, d, s, count in zip(tap, at.rhs_dilation, at.strides, counts, strict=True)
        )
        part = apart[(slice(None), slice(None), slice(None), *window)]
        # [groups, O / groups, N, ..]
        one = dot_general(weights[(..., *tap)], part, ((2,), (2,)), ((0,), (1,)))
        total = one if total is None else total + one
    return np.moveaxis(total, 2, 0).reshape(n, outputs, *counts)


_LARGEST = 1024
"""Taps of a kernel of integers up to which the loop over them is unrolled."""
