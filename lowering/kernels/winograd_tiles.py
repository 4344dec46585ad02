"""Convolutions of small kernels by Winograd's minimal filtering: 16 multiplications for four windows of nine taps.

A tile is two by two windows, `dilation` apart, which read four by four elements of the image. With `B`, `G` and `A` of
F(2, 3) along both axes (Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", 2016),

    windows of a tile = A^T ((G w G^T) * (B^T x B)) A

The products in the middle, summed over channels, are a matmul for each of the 16 points. A kernel of more than three
taps along an axis is cut into blocks of three, whose points are further terms of these sums. The last point of a block
of fewer taps is 0 and left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

from xdsl_rlx.dialects.mir.conv import ConvExtents
from xdsl_rlx.lowering.kernel_dsl import Array, Number, lanes, minimum, rolled
from xdsl_rlx.lowering.target import ConvCosts

LANES = 16
"""Columns that a row of tiles is rounded up to: a vector of f32."""

COLUMNS = 128
"""Tiles of an iteration at most, unless a row of them is longer: their points are near, and the weight is read for as
many."""

POINTS = (0, 1, 2, 3)
"""The points along an axis."""


def image_points(x: Sequence[Number]) -> tuple[Number, ...]:
    """`B^T x`."""
    return x[0] - x[2], x[1] + x[2], x[2] - x[1], x[1] - x[3]


def weight_points(w: Sequence[Number]) -> tuple[Number, ...]:
    """`G w`, without the last one if taps are missing."""
    if len(w) == 1:
        half = w[0] * 0.5
        return w[0], half, half
    if len(w) == 2:
        return w[0], (w[0] + w[1]) * 0.5, (w[0] - w[1]) * 0.5
    ends = w[0] + w[2]
    return w[0], (ends + w[1]) * 0.5, (ends - w[1]) * 0.5, w[2]


def windows_of(points: Sequence[Number]) -> tuple[Number, Number]:
    """`A^T points`."""
    return points[0] + points[1] + points[2], points[1] - points[2] - points[3]


def gradient_points(windows: Sequence[Number]) -> tuple[Number, ...]:
    """`A windows`."""
    return windows[0], windows[0] + windows[1], windows[0] - windows[1], -windows[1]


def weight_of(points: Sequence[Number]) -> tuple[Number, ...]:
    """`G^T points`, of two or one taps if the last ones are missing."""
    half = (points[1] + points[2]) * 0.5
    first, second = points[0] + half, (points[1] - points[2]) * 0.5
    return (first, second) if len(points) == 3 else (first, second, half + points[3])


@dataclass(frozen=True)
class TapBlocks:
    """The blocks of three taps along both axes of a kernel. A column of one tap is one point."""

    kernel: tuple[int, ...]

    @property
    def is_flat(self) -> bool:
        """Whether columns are not transformed."""
        return self.kernel[0] == 1

    @property
    def size(self) -> int:
        """Points of a block."""
        return 4 if self.is_flat else 16

    @property
    def counts(self) -> tuple[int, int]:
        """Blocks along both axes."""
        return -(-self.kernel[0] // 3), -(-self.kernel[1] // 3)

    @property
    def rows(self) -> tuple[int, ...]:
        """The blocks along columns."""
        return tuple(range(self.counts[0]))

    @property
    def columns(self) -> tuple[int, ...]:
        """The blocks along rows."""
        return tuple(range(self.counts[1]))

    def taps(self, axis: int, block: int) -> tuple[int, ...]:
        """The taps of a block."""
        return tuple(range(3 * block, min(3 * block + 3, self.kernel[axis])))

    def points(self, axis: int, block: int) -> tuple[int, ...]:
        """The points of a block that are not 0."""
        if self.kernel[axis] == 1:
            return POINTS[:1]
        return POINTS[: 3 + (len(self.taps(axis, block)) == 3)]

    @property
    def is_whole(self) -> bool:
        """Whether all blocks have all points."""
        return self.kernel[1] % 3 == 0 and (self.is_flat or self.kernel[0] % 3 == 0)

    @property
    def all_points(self) -> int:
        """Points of all blocks that are not 0."""
        rows, columns = (sum(len(self.points(axis, n)) for n in range(count)) for axis, count in enumerate(self.counts))
        return rows * columns

    def point_count(self, axis: int, block: Number) -> Number:
        """How many points a block has."""
        return 1 if self.kernel[axis] == 1 else 3 + minimum(1, (self.kernel[axis] - 3 * block) // 3)


@dataclass(frozen=True)
class WindowTiles:
    """The tiles of a convolution: of `images` images side by side, `rows` rows of them in an iteration."""

    e: ConvExtents
    images: int
    rows: int

    @staticmethod
    def of(e: ConvExtents) -> WindowTiles:
        """As few columns for nothing as possible, of an iteration that is near."""
        found: list[tuple[float, WindowTiles]] = []
        for images in (n for n in range(1, e.images + 1) if e.images % n == 0):
            whole = WindowTiles(e, images, 1)
            for parts in range(1, whole.height + 1):
                some = WindowTiles(e, images, -(-whole.height // parts))
                if some.columns <= COLUMNS or some.rows == 1:
                    # long rows read the weight less often
                    found.append((some.count * some.columns * (1 + LANES / some.columns), some))
            if whole.line > COLUMNS:
                break
        return min(found, key=lambda one: one[0])[1]

    @property
    def height(self) -> int:
        """Rows of tiles of an image."""
        return self._count(0)

    @property
    def width(self) -> int:
        """Tiles in a row of an image."""
        return self._count(1)

    def _count(self, axis: int) -> int:
        if self.e.kernel[axis] == 1:
            return self.e.counts[axis]
        return -(-self.e.counts[axis] // (2 * self.e.dilation[axis])) * self.e.dilation[axis]

    @property
    def sides(self) -> tuple[int, ...]:
        """The rows of windows of a tile."""
        return (0,) if self.blocks.is_flat else (0, 1)

    def row(self, tile: Number, side: Number) -> Number:
        """The row of windows on a side of a row of tiles."""
        step = self.e.dilation[0]
        return tile if self.blocks.is_flat else (tile // step * 2 + side) * step + tile % step

    @property
    def line(self) -> int:
        """Tiles of a row of all images side by side."""
        return self.images * self.width

    @property
    def columns(self) -> int:
        """Tiles of an iteration, whole vectors of them."""
        return -(-self.rows * self.line // LANES) * LANES

    @property
    def parts(self) -> int:
        """Iterations for the rows of some images side by side."""
        return -(-self.height // self.rows)

    @property
    def several(self) -> int:
        """How many times as many images there are."""
        return self.e.images // self.images

    @property
    def count(self) -> int:
        """Iterations for all groups."""
        return self.several * self.e.groups * self.parts

    @property
    def blocks(self) -> TapBlocks:
        """The blocks of taps."""
        return TapBlocks(self.e.kernel)

    @property
    def at_once(self) -> int:
        """
        Tiles of a row of an image and a phase that are computed as vectors.

        Those for nothing are in the place of the next ones, which follow.
        """
        count = self.width // self.e.dilation[1]
        lanes = next((n for n in (4, 8) if count <= n), LANES if count % LANES > LANES // 2 else LANES // 2)
        return -(-count // lanes) * lanes

    @cached_property
    def phases(self) -> tuple[int, ...]:
        """The first columns of tiles, where taps are apart."""
        return tuple(range(self.e.dilation[1]))

    def place(self, products: Array, windows: Array, y: Array, plane: Number, row: Number) -> None:
        """The windows of an output channel, where they are in the result."""
        along, apart, down = self.e.dilation[1], self.e.groups * self.e.outputs, POINTS[: self.blocks.size // 4]
        for j in rolled(range(self.columns)):
            rows = [self._down([products[4 * q + p, j] for q in down]) for p in POINTS]
            for a in self.sides:
                left, right = windows_of([found[a] for found in rows])
                windows[a, j * 2] = left
                windows[a, j * 2 + 1] = right
        for i in range(self.rows):
            tile = row + i
            for a in self.sides:
                at = self.row(tile, a)
                if (tile < self.height) & (at < self.e.counts[0]):
                    for n in range(self.images):
                        start = (i * self.line + n * self.width) * 2
                        if along == 1:
                            for j in rolled(range(self.e.counts[1])):
                                y[plane + n * apart, at, j] = windows[a, start + j]
                        else:
                            self._place_phases(windows, y, a, start, (plane + n * apart, at))

    def _down(self, points: Sequence[Number]) -> Sequence[Number]:
        """The windows of a column of points."""
        return points if self.blocks.is_flat else windows_of(points)

    def _place_phases(self, windows: Array, y: Array, a: int, start: Number, target: tuple[Number, Number]) -> None:
        """A row of windows whose taps are apart."""
        (plane, at), step, count = target, self.e.dilation[1], self.e.counts[1]
        each = self.width // step
        for b in self.phases:
            pairs, single = (max(0, count - b - more + 2 * step - 1) // (2 * step) for more in (step, 0))
            first = start + 2 * b * each
            for q in rolled(range(pairs)):
                y[plane, at, q * (2 * step) + b] = windows[a, first + q * 2]
                y[plane, at, q * (2 * step) + (b + step)] = windows[a, first + q * 2 + 1]
            for q in rolled(range(pairs, single)):
                y[plane, at, q * (2 * step) + b] = windows[a, first + q * 2]


@dataclass(frozen=True)
class PointRows:
    """
    The rows that tiles read of images, or of cotangents of windows: their points along a row, then along both axes.

    `taps` of them are in a tile along an axis, of each of `blocks` along both axes, and `points` says their points.
    """

    tiles: WindowTiles
    size: tuple[int, ...]
    padding: tuple[int, ...]
    channels: int
    blocks: TapBlocks
    taps: tuple[int, ...]
    points: Callable[[Sequence[Number]], tuple[Number, ...]]

    @staticmethod
    def of_image(tiles: WindowTiles) -> PointRows:
        """Those of the image."""
        e = tiles.e
        return PointRows(tiles, e.size, e.padding, e.inputs, tiles.blocks, POINTS, image_points)

    @staticmethod
    def of_windows(tiles: WindowTiles) -> PointRows:
        """Those of cotangents of windows."""
        e = tiles.e
        return PointRows(
            tiles, e.counts, (0, 0), e.outputs, TapBlocks((min(e.kernel[0], 3), 3)), (0, 1), gradient_points
        )

    @property
    def below(self) -> int:
        """Rows of tiles that the last row of an iteration reads below its own."""
        if self.blocks.is_flat:
            return 0
        return (3 * self.blocks.counts[0] - 3 + self.taps[-1]) // 2 * self.tiles.e.dilation[0]

    @property
    def shape(self) -> tuple[int, int, int]:
        """Points, channels of all blocks, and tiles of an iteration."""
        return self.blocks.size, prod(self.blocks.counts) * self.channels, self.tiles.columns

    @property
    def room(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """
        The shapes of what `fill` computes in: a row with zeros around, and phases of rows, points along a row, and
        elements of the lines that an iteration reads of a channel.
        """
        tiles, count = self.tiles, self.blocks.counts[1]
        padded = (2 * tiles.at_once + 3 * count) * tiles.e.dilation[1]
        return (padded,), (len(tiles.sides), 4 * count, (tiles.rows + self.below) * tiles.line + LANES)

    def multiplications(self, costs: ConvCosts) -> int:
        """Multiplications of a group of a convolution, and those in the time of the sums before and after them."""
        tiles, e = self.tiles, self.tiles.e
        iterations, blocks = tiles.several * tiles.parts, prod(self.blocks.counts)
        rows = iterations * tiles.images * len(tiles.sides) * (tiles.rows + self.below)
        products, share = self.blocks.all_points * e.inputs * e.outputs, self.blocks.size / 16
        products += int(share * costs.winograd_windows_multiplications) * e.outputs
        products += blocks * int(share * costs.winograd_image_multiplications) * e.inputs
        weight = blocks * int(share * costs.winograd_weight_multiplications) * e.inputs * e.outputs
        return iterations * tiles.columns * products + rows * costs.winograd_row_multiplications * e.inputs + weight

    def fill(self, x: Array, room: Sequence[Array], points: Array, plane: Number, row: Number, channel: Number) -> None:
        """All points of a channel, from a row of tiles on, where those of the first block are `channel`."""
        padded, lines = room
        self._fill_lines(x, padded, lines, plane, row)
        below, columns, flat = self.tiles.e.dilation[0] * self.tiles.line, self.blocks.counts[1], self.blocks.is_flat
        for a in self.blocks.rows:
            places = [((3 * a + r) % 2, (3 * a + r) // 2 * below) for r in (self.tiles.sides if flat else self.taps)]
            for b in self.blocks.columns:
                term = (a * columns + b) * (points.shape[1] // (columns * len(self.blocks.rows)))
                for p in rolled(range(len(self.blocks.points(1, b)))):
                    for j in rolled(range(self.tiles.columns)):
                        column = [lines[phase, 4 * b + p, shift + j] for phase, shift in places]
                        found = column if flat else self.points(column)
                        for q in self.blocks.points(0, a):
                            points[4 * q + p, term + channel, j] = found[q]

    def _fill_lines(self, x: Array, padded: Array, lines: Array, plane: Number, row: Number) -> None:
        """The points along rows of a channel, from a row of tiles on."""
        tiles, (above, before), (length,) = self.tiles, self.padding, self.room[0]
        apart, end = tiles.e.groups * self.channels, self.room[1][2]
        for j in rolled(range(length)):
            padded[j] = 0.0
        for phase in tiles.sides:
            for i in range(tiles.rows + self.below):
                at = tiles.row(row + i, phase) - above
                if (at >= 0) & (at < self.size[0]):
                    for n in range(tiles.images):
                        for j in rolled(range(max(0, -before), min(self.size[1], length - before))):
                            padded[j + before] = x[plane + n * apart, at, j]
                        self._fill_line(padded, lines, phase, i * tiles.line + n * tiles.width)
                else:
                    for p in range(4 * self.blocks.counts[1]):
                        for j in rolled(range(tiles.line)):
                            lines[phase, p, i * tiles.line + j] = 0.0
            for p in range(4 * self.blocks.counts[1]):
                for j in lanes(range(LANES)):
                    lines[phase, p, end - LANES + j] = 0.0

    def _fill_line(self, padded: Array, lines: Array, phase: Number, start: Number) -> None:
        """The points of a row of an image."""
        step = self.tiles.e.dilation[1]
        count = self.tiles.width // step
        for block in self.blocks.columns:
            for b in self.tiles.phases:
                for q in rolled(range(self.tiles.at_once)):
                    at = q * (2 * step) + (b + 3 * block * step)
                    found = self.points([padded[at + s * step] for s in self.taps])
                    for p in POINTS:
                        lines[phase, 4 * block + p, start + b * count + q] = found[p]
