"""The gradient of a strided convolution with respect to its image, as convolutions without a stride.

Elements of the image whose positions are equal modulo the stride, a phase, meet the same taps of the kernel. For a
stride `s`, padding `p` and phase `u`, these are the taps `r0 + s t` with `r0 = (u + p) mod s`. With
`q = (u + p - r0) / s`

    dx[u + s a] = sum over t of w[r0 + s t] dy[a + q - t]

which is a convolution of `dy` with the reversed taps. No element is added to twice, as where windows are scattered.
Where all phases have as many taps, their weights are the channels of one convolution.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl_rlx.dialects.mir.compositions import pad, stack
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


@dataclass(frozen=True)
class AxisPhase:
    """The taps that meet a phase along an axis, and how far its windows reach over the ends of the cotangent."""

    taps: range
    before: int
    behind: int

    @staticmethod
    def all(kernel: int, stride: int, padding: int, count: int, extent: int) -> list[AxisPhase]:
        """The phases of `count` elements each, of a cotangent of an `extent`."""
        found: list[AxisPhase] = []
        for u in range(stride):
            taps = range((u + padding) % stride, kernel, stride)
            ahead = (u + padding - taps.start) // stride
            found.append(AxisPhase(taps, len(taps) - 1 - ahead, count + ahead - extent))
        return found


@dataclass(frozen=True)
class Phases:
    """The phases of the rows and columns of a gradient, of `counts` elements each."""

    axes: tuple[list[AxisPhase], list[AxisPhase]]
    counts: tuple[int, int]
    extents: tuple[int, int]
    """Of the cotangent."""

    @property
    def around(self) -> list[tuple[int, int]]:
        """How far the windows of all phases reach over the ends of the cotangent."""
        return [
            (max(0, *(phase.before for phase in axis)), max(0, *(phase.behind for phase in axis))) for axis in self.axes
        ]

    def are_joint(self, costs: NormalizeCosts) -> bool:
        """Whether one convolution with the weights of all phases computes few windows that no phase has."""
        taps = [{len(phase.taps) for phase in axis} for axis in self.axes]
        if any(len(found) > 1 or 0 in found for found in taps):
            return False
        windows = (
            extent + before + behind - found.pop() + 1
            for found, extent, (before, behind) in zip(taps, self.extents, self.around, strict=True)
        )
        return prod(windows) <= costs.max_joint_phase_windows_ratio * prod(self.counts)


def by_phases(op: Conv2dBackwardInputOp, b: MirBuilder, costs: NormalizeCosts) -> Value:
    """The gradient: convolutions for the phases of rows and columns, or one for all, and their elements in turns."""
    dy, at = b.value(op.dy), op.windows
    images, channels, *size = shape_of(op.result)
    w = _turned(b, b.value(op.w), at.groups)
    counts = [-(-n // step) for n, step in zip(size, at.stride, strict=True)]
    rows, columns = (
        AxisPhase.all(*numbers)
        for numbers in zip(w.shape[2:], at.stride, at.padding, counts, dy.shape[2:], strict=True)
    )
    phases = Phases((rows, columns), (counts[0], counts[1]), (dy.shape[2], dy.shape[3]))
    if phases.are_joint(costs):
        parts = _joint(b, dy, w, phases, at.groups)
    else:
        nothing = (images, channels, *counts)
        found = ([_phase(b, dy, w, (row, column), at.groups) for column in columns] for row in rows)
        parts = [[b.full(nothing, 0, dy.dtype) if part is None else part for part in line] for line in found]
    whole = _in_turns(b, [_in_turns(b, line, 3) for line in parts], 2)
    return b.narrow(b.narrow(whole, 2, 0, size[0]), 3, 0, size[1])


def _turned(b: MirBuilder, w: Value, groups: int) -> Value:
    """The weight with input and output channels exchanged in each group."""
    outputs, inputs, *kernel = w.shape
    apart = b.transpose(b.reshape(w, (groups, outputs // groups, inputs, *kernel)), (0, 2, 1, 3, 4))
    return b.reshape(apart, (groups * inputs, outputs // groups, *kernel))


def _phase(b: MirBuilder, dy: Value, w: Value, phase: tuple[AxisPhase, AxisPhase], groups: int) -> Value | None:
    """The elements of one phase; None if no tap meets them."""
    if not all(one.taps for one in phase):
        return None
    for axis, one in enumerate(phase, 2):
        low, high = max(-one.before, 0), dy.shape[axis] - max(-one.behind, 0)
        if low >= high:
            return None
        dy = b.narrow(dy, axis, low, high - low)
    return _convolved(b, dy, _taps(b, w, phase), [(max(one.before, 0), max(one.behind, 0)) for one in phase], groups)


def _joint(b: MirBuilder, dy: Value, w: Value, phases: Phases, groups: int) -> list[list[Value]]:
    """The elements of all phases, of one convolution over the windows that any of them has."""
    rows, columns = phases.axes
    weights = [_taps(b, w, (row, column)) for row in rows for column in columns]
    channels, *rest = weights[0].shape
    each = (groups, channels // groups, *rest)
    together = b.concat([b.reshape(one, each) for one in weights], 1)
    around = phases.around
    y = _convolved(b, dy, b.reshape(together, (channels * len(weights), *rest)), around, groups)
    images, size = y.shape[0], y.shape[2:]
    y = b.reshape(y, (images, groups, len(weights), channels // groups, *size))

    def part(number: int, phase: tuple[AxisPhase, AxisPhase]) -> Value:
        found = b.reshape(b.narrow(y, 2, number, 1), (images, channels, *size))
        for axis, (one, (before, _), count) in enumerate(zip(phase, around, phases.counts, strict=True), 2):
            found = b.narrow(found, axis, before - one.before, count)
        return found

    return [
        [part(r * len(columns) + c, (row, column)) for c, column in enumerate(columns)] for r, row in enumerate(rows)
    ]


def _taps(b: MirBuilder, w: Value, phase: tuple[AxisPhase, AxisPhase]) -> Value:
    """The taps that meet a phase, reversed."""
    row, column = (slice(one.taps.start, None, one.taps.step) for one in phase)
    return b.flip(w[:, :, row, column], (2, 3))


def _convolved(b: MirBuilder, dy: Value, w: Value, around: Sequence[tuple[int, int]], groups: int) -> Value:
    """The convolution of a cotangent with zeros around."""
    if all(before == behind for before, behind in around):
        return b.conv(dy, w, padding=[before for before, _ in around], groups=groups)
    return b.conv(pad(b, dy, [(0, 0), (0, 0), *around]), w, groups=groups)


def _in_turns(b: MirBuilder, parts: Sequence[Value], axis: int) -> Value:
    """The elements of all parts along an axis in turns."""
    if len(parts) == 1:
        return parts[0]
    stacked = stack(b, parts, axis + 1)
    shape = parts[0].shape
    return b.reshape(stacked, (*shape[:axis], shape[axis] * len(parts), *shape[axis + 1 :]))
