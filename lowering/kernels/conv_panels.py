"""Convolutions as products with panels: the windows that some columns of the result are of, one below the other.

A row of a panel is one tap of one channel of neighbouring windows. Where a row of windows is short, those of the next
row, and of the same row of the next image, are its neighbours, so that panels are as wide as the processor's vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

from xdsl.ir import SSAValue

from xdsl_rlx.dialects.mir.conv import ConvExtents
from xdsl_rlx.dialects.shapes import element_of
from xdsl_rlx.lowering.buffers import Argument
from xdsl_rlx.lowering.kernel_dsl import Array, Iteration, Number, lanes, rolled
from xdsl_rlx.lowering.kernels.work import Runs, Work

WIDTHS = (32, 48, 16)
"""Columns of a panel, the best first: tiles of many rows are two vectors wide."""

WASTE = 1 / 32
"""The share of columns that may be computed for nothing, rather than have images share panels."""

DEPTH = 256
"""Rows of a panel at most, so that it stays in the first cache while all output channels are multiplied by it."""

LINES = 1 << 17
"""Elements of the lines that panels are read from at once: about half of what the second cache holds."""

FEW_LINES = 4
"""How many times as many lines as are read below its last windows an iteration has, rather than to be in that cache:
the next iteration fills those again."""

UNROLLED = 5
"""Taps along a row at most: each has loops of its own, of constant bounds."""

SHORT_ROW = 64
"""Windows of a row up to which it takes several rows to fill the columns of a product."""

MANY_OUTPUTS = 48
"""Output channels from which on a product takes many times as long as to fill its panel."""

TASKS = 8
"""Iterations that a launch should have at least, for threads."""


@dataclass(frozen=True)
class WindowPanels:
    """The panels of a convolution: of `images` images side by side, `width` columns each, `count` in an iteration."""

    e: ConvExtents
    images: int
    width: int
    count: int

    @classmethod
    def of(cls, e: ConvExtents, tasks: int) -> WindowPanels:
        """
        As few columns for nothing as possible; the lines of an iteration fit into the cache, or are those of one panel.

        There are `tasks` iterations at least, as far as there are panels.
        """
        windows = prod(e.counts)

        def waste(images: int, width: int) -> float:
            return -(-images * windows // width) * width / (images * windows) - 1

        def best(images: int) -> int:
            enough = [width for width in WIDTHS if waste(images, width) <= WASTE]
            return enough[0] if enough else min(WIDTHS, key=lambda width: waste(images, width))

        side_by_side = [n for n in range(1, e.images + 1) if e.images % n == 0]
        images = next((n for n in side_by_side if waste(n, best(n)) <= WASTE), side_by_side[-1])
        width = best(images)
        found = cls(e, images, width, cls(e, images, width, 1).in_all)
        while found.count > 1:
            fewer = cls(e, images, width, -(-found.count // 2))
            is_dear = fewer.touched < FEW_LINES * fewer.below
            if (prod(found.lines) <= LINES or is_dear) and e.images // images * e.groups * found.parts >= tasks:
                break
            found = fewer
        return found

    @property
    def in_all(self) -> int:
        """Panels of some images side by side."""
        return -(-self.images * prod(self.e.counts) // self.width)

    @property
    def parts(self) -> int:
        """Iterations for some images side by side."""
        return -(-self.in_all // self.count)

    @property
    def line(self) -> int:
        """Windows of a row of all images."""
        return self.images * self.e.counts[1]

    @property
    def depth(self) -> int:
        """Elements of a window."""
        return self.e.inputs * prod(self.e.kernel)

    @property
    def channels(self) -> list[Runs]:
        """The input channels whose windows are in a panel at a time."""
        return Runs.of(self.e.inputs, max(1, min(self.e.inputs, DEPTH // prod(self.e.kernel))))

    @property
    def is_direct(self) -> bool:
        """
        Whether the columns of a product lie side by side in the result. The last of these may begin in the ones before
        it, if they are of one iteration.
        """
        windows = prod(self.e.counts)
        if self.images > 1 or windows < self.width:
            return False
        return windows % self.width == 0 or self.in_all - (self.parts - 1) * self.count > 1

    @cached_property
    def rows(self) -> list[tuple[int, int]]:
        """For each tap along rows, of which rows of the image it reads every so many, and how many lines below."""
        step, apart = self.e.stride[0], self.e.dilation[0]
        return [(self.phases.index(r * apart % step), r * apart // step) for r in range(self.e.kernel[0])]

    @cached_property
    def phases(self) -> list[int]:
        """The first rows, where windows move by several."""
        step, apart = self.e.stride[0], self.e.dilation[0]
        return sorted({r * apart % step for r in range(self.e.kernel[0])})

    @property
    def taps(self) -> Sequence[int]:
        """The taps along a row, written out."""
        return tuple(range(self.e.kernel[1]))

    @property
    def lines(self) -> tuple[int, int, int, int]:
        """Channels, phases, taps along a row, and elements of the lines of an iteration."""
        return self.e.inputs, len(self.phases), self.e.kernel[1], (self.touched + self.below) * self.line

    @property
    def touched(self) -> int:
        """Rows of windows that an iteration has windows of."""
        return -(-(self.count * self.width - 1) // self.line) + 1

    @property
    def below(self) -> int:
        """Lines that the last of these rows reads below its own."""
        return max(shift for _, shift in self.rows)

    def fill_lines(self, x: Array, lines: Array, first: Number, group: Number, row: Number) -> None:
        """Each tap along a row of all windows, from a row of windows on; zeros are outside of the image."""
        for c in range(self.e.inputs):
            for p, phase in enumerate(self.phases):
                for q in range(self.lines[3] // self.line):
                    at = (row + q) * self.e.stride[0] + (phase - self.e.padding[0])
                    for n in range(self.images):
                        plane = ((first + n) * self.e.groups + group) * self.e.inputs + c
                        start = q * self.line + n * self.e.counts[1]
                        if (at >= 0) & (at < self.e.size[0]):
                            for k in self.taps:
                                self._fill_line(x, lines, (plane, at), (c, p, k), start)
                        else:
                            for k in rolled(range(self.e.kernel[1])):
                                for j in rolled(range(self.e.counts[1])):
                                    lines[c, p, k, start + j] = 0.0

    def _fill_line(
        self,
        x: Array,
        lines: Array,
        source: tuple[Number, Number],
        target: tuple[Number, int, Number],
        start: Number,
    ) -> None:
        """One tap of a row of windows."""
        (plane, at), (c, p, k) = source, target
        step, count, width = self.e.stride[1], self.e.counts[1], self.e.size[1]
        shift = k * self.e.dilation[1] - self.e.padding[1]
        low = min(count, (max(0, -shift) + step - 1) // step)
        high = max(low, min(count, max(0, width - 1 - shift + step) // step))
        for j in rolled(range(low)):
            lines[c, p, k, start + j] = 0.0
        for j in rolled(range(low, high)):
            lines[c, p, k, start + j] = x[plane, at, j * step + shift]
        for j in rolled(range(high, count)):
            lines[c, p, k, start + j] = 0.0

    def fill_panel(self, lines: Array, panel: Array, start: Number) -> None:
        """The windows of some channels from a place in their lines on."""
        rows, columns = self.e.kernel
        for c in range(panel.shape[0] // (rows * columns)):
            for r, (p, shift) in enumerate(self.rows):
                for k in self.taps:
                    for j in lanes(range(self.width)):
                        panel[(c * rows + r) * columns + k, j] = lines[c, p, k, start + shift * self.line + j]

    def place(self, product: Array, y: Array, first: Number, group: Number, start: Number) -> None:
        """What a product with a panel has of rows of windows, where these are in the result."""
        width, (rows, _) = self.e.counts[1], self.e.counts
        end = min(start + self.width, self.images * rows * width)
        for q in range(start // width, (end + (width - 1)) // width):
            row, image = q // self.images, q % self.images
            low, high = max(start, q * width), min(end, q * width + width)
            plane = (first + image) * self.e.groups + group
            for o in range(self.e.outputs):
                for j in rolled(range(low, high)):
                    y[plane, o, row * width + (j - q * width)] = product[o, j - start]


def are_better(e: ConvExtents) -> bool:
    """Whether rows of windows are short, and so many products are with a panel that to fill it costs little."""
    return (
        bool(e.images)
        and e.counts[0] > 1
        and 1 < e.counts[1] <= SHORT_ROW
        and 1 < e.kernel[1] <= UNROLLED
        and e.outputs >= MANY_OUTPUTS
    )


def convolve(work: Work, e: ConvExtents, image: SSAValue, w: Argument, result: SSAValue) -> None:
    """`result = w @ windows of the image`; an iteration is some panels of a group of images side by side."""
    work_of_all = e.images * e.groups * prod(e.counts) * e.inputs * prod(e.kernel) * max(1, e.outputs // 4)
    panels = WindowPanels.of(e, work.pieces(TASKS, work_of_all // TASKS))
    several, windows, taps = e.images // panels.images, prod(e.counts), prod(e.kernel)
    launch = several * e.groups * panels.parts, panels.count * panels.depth * panels.width * max(1, e.outputs // 4)
    element, segments = element_of(image), panels.channels
    x = work.read(image, (e.images * e.groups * e.inputs, *e.size))
    factors = [
        w.seen(
            (e.groups, s.count, e.outputs, s.size * taps),
            (e.outputs * panels.depth, s.size * taps, panels.depth, 1),
            s.first * taps,
        )
        for s in segments
    ]
    room = [
        work.scratch_per_piece(*launch, panels.lines, element, "lines"),
        *(work.scratch_per_piece(*launch, (s.size * taps, panels.width), element, "panel") for s in segments),
    ]
    if not panels.is_direct:
        room.append(work.scratch_per_piece(*launch, (e.outputs, panels.width), element, "product"))
    target = work.write(result, (e.images * e.groups, e.outputs, windows))

    @work.over(*launch, [x, *factors], [target, *room])
    def convolve(it: Iteration, x: Array, *buffers: Array) -> None:
        images, group, part = it.unravel(several, e.groups, panels.parts)
        n = len(segments)
        y, lines, product = buffers[n], buffers[n + 1][it.piece], buffers[2 * n + 2 :]
        first = part * panels.count
        row = first * panels.width // panels.line
        panels.fill_lines(x, lines, images * panels.images, group, row)
        for block in range(first, min(first + panels.count, panels.in_all)):
            start = block * panels.width
            if not product:
                start = min(start, windows - panels.width)
                plane = images * e.groups + group
                target = y[plane, :, start : start + panels.width]
            else:
                target = product[0][it.piece]
            target[...] = 0.0
            for segment, factor, rooms in zip(segments, buffers[:n], buffers[n + 2 : 2 * n + 2], strict=True):
                for s in range(segment.count):
                    panel, channel = rooms[it.piece], s * segment.size + segment.first
                    panels.fill_panel(lines[channel : channel + segment.size], panel, start - row * panels.line)
                    target[...] += factor[group, s] @ panel
            if product:
                panels.place(product[0][it.piece], y, images * panels.images, group, start)
