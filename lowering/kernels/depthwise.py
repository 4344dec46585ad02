"""Nests of convolutions of one input channel a group (depthwise, or of gray images): sums tap by tap, neighbours at
once. Which op they are for is in `conv.py`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod

from xdsl.ir import Attribute, SSAValue

from xdsl_rlx.dialects.mir.conv import ConvExtents
from xdsl_rlx.dialects.shapes import compute_type, element_of
from xdsl_rlx.lowering.kernel_dsl import Array, Iteration, Number, accumulate, cast, fma, rolled
from xdsl_rlx.lowering.kernels.windows import UNROLLED, Plane, Room, runs, taps_of
from xdsl_rlx.lowering.kernels.work import Work


@dataclass(frozen=True)
class Taps:
    """`target[i] = sum over k of source[i steps + k dilation] w[k]`, the source in its room; flipped: `w[-k]`."""

    e: ConvExtents
    flipped: bool = False

    @staticmethod
    def turned(e: ConvExtents) -> Taps:
        """The cotangents of windows in `Room.between` that an element of the image is in."""
        return Taps(e._replace(counts=e.size, stride=(1, 1)), flipped=True)

    def of_windows(self, plane: Plane, tap: tuple[Number, ...]) -> Plane:
        """A tap of each window of a plane, by the window."""
        return plane.every(self.e.stride, plane.every(self.e.dilation).at(*tap))

    def sum(self, source: Plane, target: Plane, weight: Plane | None = None, add: bool = False) -> None:
        """
        Sum all windows, with weights or with ones; `add` to what is there.

        Many taps are gone through a row, or one, at a time, with the sums so far in the target.
        """
        rows, columns = self.e.kernel
        if rows * columns <= UNROLLED:
            self._add_up(source, target, weight, taps_of(self.e.kernel), add)
            return
        if not add:
            target.fill(prod(self.e.counts))
        written = columns if columns <= UNROLLED else 1
        for r in range(rows):
            for c in rolled(range(columns // written)):
                self._add_up(source, target, weight, [(r, c + n) for n in tuple(range(written))], True)

    def _add_up(
        self, source: Plane, target: Plane, weight: Plane | None, taps: Iterable[tuple[Number, ...]], add: bool
    ) -> None:
        """Sum all windows over some taps."""
        rows, columns = self.e.kernel
        for i in range(self.e.counts[0]):
            for run in runs(self.e.counts[1]):
                for j in rolled(run):
                    total = target[i, j] if add else 0.0
                    for r, c in taps:
                        x = self.of_windows(source, (r, c))[i, j]
                        if weight is None:
                            total = total + x
                        else:
                            total = fma(x, weight[(rows - 1 - r, columns - 1 - c) if self.flipped else (r, c)], total)
                    target[i, j] = total

    def correlate(self, source: Plane, upper: Plane, weight: Plane, element: Attribute) -> None:
        """`weight[k] += sum over i of source[i steps + k dilation] upper[i]`, all taps in one pass if they are few."""
        many = prod(self.e.kernel) > UNROLLED
        rows, columns = self.e.kernel if many else (1, 1)
        for r in range(rows):
            for c in rolled(range(columns)):
                taps = [(r, c)] if many else taps_of(self.e.kernel)
                totals = [cast(0.0, element) for _ in taps]
                for i in range(self.e.counts[0]):
                    for j in rolled(range(self.e.counts[1])):
                        g = upper[i, j]
                        terms = [self.of_windows(source, tap)[i, j] * g for tap in taps]
                        totals = [accumulate(total, term) for total, term in zip(totals, terms, strict=True)]
                for tap, total in zip(taps, totals, strict=True):
                    weight[tap] = weight[tap] + total


def forward(work: Work, e: ConvExtents, x: SSAValue, w: SSAValue, result: SSAValue) -> None:
    """An iteration is a plane of the image: padded, then convolved with each of its weights."""
    room, taps = Room.around(e), Taps(e)
    planes = e.images * e.groups
    cost = room.count + e.outputs * prod(e.counts) * prod(e.kernel)
    reads = [work.read(x, (planes, prod(e.size))), work.read(w, (e.groups * e.outputs, prod(e.kernel)))]
    target = work.write(result, (planes * e.outputs, prod(e.counts)))

    @room.over(work, planes, cost, reads, [target])
    def convolve(it: Iteration, x: Array, w: Array, y: Array, *scratch: Array) -> None:
        source, group = room.placed(x[it.index], scratch, it.piece), it.index % e.groups
        for o in rolled(range(e.outputs)):
            weight = Plane(w[group * e.outputs + o], e.kernel[1])
            taps.sum(source, Plane(y[it.index * e.outputs + o], e.counts[1]), weight)


def backward_input(work: Work, e: ConvExtents, dy: SSAValue, w: SSAValue, result: SSAValue) -> None:
    """An iteration is a plane of the image: what each output channel gives it."""
    room, taps = Room.between(e), Taps.turned(e)
    planes, many = e.images * e.groups, e.outputs > 1
    cost = e.outputs * (room.count + prod(e.size) * prod(e.kernel))
    reads = [work.read(dy, (planes * e.outputs, prod(e.counts))), work.read(w, (e.groups * e.outputs, prod(e.kernel)))]
    target = work.write(result, (planes, prod(e.size)))

    @room.over(work, planes, cost, reads, [target])
    def turn(it: Iteration, dy: Array, w: Array, dx: Array, *scratch: Array) -> None:
        group, lower = it.index % e.groups, Plane(dx[it.index], e.size[1])
        if many:
            lower.fill(prod(e.size))
        for o in rolled(range(e.outputs)):
            upper = room.placed(dy[it.index * e.outputs + o], scratch, it.piece)
            taps.sum(upper, lower, Plane(w[group * e.outputs + o], e.kernel[1]), add=many)


def backward_weight(work: Work, e: ConvExtents, x: SSAValue, dy: SSAValue, result: SSAValue) -> None:
    """An iteration is an output channel: a sum over images and windows for each tap."""
    room, taps = Room.around(e), Taps(e)
    channels, count, element = e.groups * e.outputs, prod(e.kernel), compute_type(element_of(x))
    cost = e.images * (room.count + prod(e.counts) * count)
    reads = [work.read(x, (e.images * e.groups, prod(e.size))), work.read(dy, (e.images * channels, prod(e.counts)))]
    target = work.write(result, (channels, count))

    @room.over(work, channels, cost, reads, [target])
    def correlate(it: Iteration, x: Array, dy: Array, dw: Array, *scratch: Array) -> None:
        group, weight = it.index // e.outputs, Plane(dw[it.index], e.kernel[1])
        weight.fill(count)
        for n in rolled(range(e.images)):
            source = room.placed(x[n * e.groups + group], scratch, it.piece)
            upper = Plane(dy[n * channels + it.index], e.counts[1])
            taps.correlate(source, upper, weight, element)
