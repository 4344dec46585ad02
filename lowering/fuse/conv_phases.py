"""The gradient of a strided convolution with respect to its image, as convolutions without a stride.

Elements of the image whose positions are equal modulo the stride, a phase, meet the same taps of the kernel. For a
stride `s`, padding `p` and phase `u`, these are the taps `r0 + s t` with `r0 = (u + p) mod s`. With
`q = (u + p - r0) / s`

    dx[u + s a] = sum over t of w[r0 + s t] dy[a + q - t]

which is a convolution of `dy` with the reversed taps. No element is added to twice, as where windows are scattered.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl_rlx.dialects.mir.conv import Conv2dBackwardInputOp
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.shapes import shape_of
from xdsl_rlx.lowering.target import NormalizeCosts


def has_few_phases(op: Conv2dBackwardInputOp, costs: NormalizeCosts) -> bool:
    """Whether a gradient is computed by phases: of a stride with few, and of several channels a group, as many about as
    the cotangent has."""
    at, (outputs, inputs, *_) = op.windows, shape_of(op.w)
    small = 1 < prod(at.stride) <= costs.max_conv_phases and set(at.dilation) == {1}
    several = inputs > 1 and outputs // at.groups <= costs.min_scattered_channels_ratio * inputs
    return small and several and 0 not in shape_of(op.dy) and 0 not in shape_of(op.result)


def by_phases(op: Conv2dBackwardInputOp, b: MirBuilder) -> Value:
    """The gradient: a convolution for each phase of rows and columns, and their elements in turns."""
    dy, at = b.value(op.dy), op.windows
    images, channels, *size = shape_of(op.result)
    w = _turned(b, b.value(op.w), at.groups)
    counts = [-(-n // step) for n, step in zip(size, at.stride, strict=True)]
    rows: list[Value] = []
    for row in range(at.stride[0]):
        columns: list[Value] = []
        for column in range(at.stride[1]):
            phase = _phase(b, dy, w, (row, column), at.stride, at.padding, counts, at.groups)
            columns.append(b.full((images, channels, *counts), 0, dy.dtype) if phase is None else phase)
        rows.append(_in_turns(b, columns, 3))
    return b.narrow(b.narrow(_in_turns(b, rows, 2), 2, 0, size[0]), 3, 0, size[1])


def _turned(b: MirBuilder, w: Value, groups: int) -> Value:
    """The weight with input and output channels exchanged in each group."""
    outputs, inputs, *kernel = w.shape
    apart = b.transpose(b.reshape(w, (groups, outputs // groups, inputs, *kernel)), (0, 2, 1, 3, 4))
    return b.reshape(apart, (groups * inputs, outputs // groups, *kernel))


def _phase(
    b: MirBuilder,
    dy: Value,
    w: Value,
    phase: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    counts: Sequence[int],
    groups: int,
) -> Value | None:
    """The elements of one phase; None if no tap meets them."""
    widths: list[tuple[int, int]] = []
    for axis, (u, step, around, count) in enumerate(zip(phase, stride, padding, counts, strict=True), 2):
        first = (u + around) % step
        taps = len(range(first, w.shape[axis], step))
        if not taps:
            return None
        w = w[(slice(None),) * axis + (slice(first, None, step),)]
        ahead = (u + around - first) // step
        widths.append((taps - 1 - ahead, count + ahead - dy.shape[axis]))
    for axis, (before, behind) in enumerate(widths, 2):
        low, high = max(-before, 0), dy.shape[axis] - max(-behind, 0)
        if low >= high:
            return None
        dy = b.narrow(dy, axis, low, high - low)
    around = [(max(before, 0), max(behind, 0)) for before, behind in widths]
    if all(before == behind for before, behind in around):
        return b.conv(dy, b.flip(w, (2, 3)), padding=[before for before, _ in around], groups=groups)
    return b.conv(b.pad(dy, [(0, 0), (0, 0), *around]), b.flip(w, (2, 3)), groups=groups)


def _in_turns(b: MirBuilder, parts: Sequence[Value], axis: int) -> Value:
    """The elements of all parts along an axis in turns."""
    if len(parts) == 1:
        return parts[0]
    stacked = b.stack(parts, axis + 1)
    shape = parts[0].shape
    return b.reshape(stacked, (*shape[:axis], shape[axis] * len(parts), *shape[axis + 1 :]))
