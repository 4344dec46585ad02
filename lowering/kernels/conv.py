"""
Nests of convolutions: the windows of an image, or of some of its rows, are the columns of a matrix for BLAS.

Convolutions of one input channel a group are in `depthwise.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import SSAValue

from xdsl_rlx.dialects.mir.conv import Conv2dBackwardInputOp, Conv2dBackwardWeightOp, ConvExtents, ConvOp
from xdsl_rlx.dialects.shapes import element_of, shape_of
from xdsl_rlx.lowering.buffers import Argument
from xdsl_rlx.lowering.kernel_dsl import Array, Iteration, Number, ndrange, rolled
from xdsl_rlx.lowering.kernels import conv_panels, depthwise, winograd
from xdsl_rlx.lowering.kernels.windows import Plane, Room
from xdsl_rlx.lowering.kernels.work import NEST, Work, add_up
from xdsl_rlx.lowering.target import ConvCosts

COLUMNS = 1 << 17
"""Elements of the matrix of windows that is made at once: about what the second cache holds."""

LEAST_COLUMNS = 256
"""
Windows that are made at once, as far as an image has them, whatever the cache: a product of few columns reads the whole
weight for each of them. A quarter for a single image, whose blocks are all that threads can share.
"""

PARTS = 8
"""Into how many parts the rows of all images are divided whose gradients of the weight are added up at the end."""

PARTS_ELEMENTS = 1 << 20
"""Elements that these gradients may have together."""

TASKS = 8
"""Iterations that a launch should have at least, for threads."""


def _divisor(n: int, most: float) -> int:
    """The largest divisor of `n` that is at most `most`, at least 1."""
    return next((d for d in range(min(n, int(most)), 1, -1) if n % d == 0), 1)


@dataclass(frozen=True)
class Blocks:
    """How the matrix of windows of one group is cut: `channels` input channels and `rows` rows of windows at once."""

    e: ConvExtents
    channels: int
    rows: int

    @staticmethod
    def whole(e: ConvExtents) -> Blocks:
        """All channels, as many rows as fit, and enough of them for a product that does not wait for the weight."""
        least = LEAST_COLUMNS if e.images * e.groups > 1 else LEAST_COLUMNS // 4
        fit = COLUMNS / (e.inputs * prod(e.kernel) * e.counts[1])
        return Blocks(e, e.inputs, _divisor(e.counts[0], max(fit, least / e.counts[1])))

    @staticmethod
    def some(e: ConvExtents, tasks: int) -> Blocks:
        """As many rows, then channels, as fit; fewer channels where there are few other tasks."""
        row = prod(e.kernel) * e.counts[1]
        rows = _divisor(e.counts[0], COLUMNS / row)
        return Blocks(e, _divisor(e.inputs, min(COLUMNS / (row * rows), max(4, e.inputs * tasks / TASKS))), rows)

    @staticmethod
    def deep(e: ConvExtents, tasks: int) -> Blocks:
        """As many channels, then rows, as fit; fewer channels where there are few other tasks."""
        row = prod(e.kernel) * e.counts[1]
        channels = _divisor(e.inputs, min(COLUMNS / row, max(4, e.inputs * tasks / TASKS)))
        return Blocks(e, channels, _divisor(e.counts[0], COLUMNS / (row * channels)))

    @property
    def shape(self) -> tuple[int, int]:
        """Rows of the matrix, which are channels and taps, and its columns, which are windows."""
        return self.channels * prod(self.e.kernel), self.rows * self.e.counts[1]

    @property
    def counts(self) -> tuple[int, int]:
        """How many blocks of channels and of rows there are."""
        return self.e.inputs // self.channels, self.e.counts[0] // self.rows

    @property
    def is_image(self) -> bool:
        """Whether the matrix is the image itself: windows of one element, in order."""
        return Room.around(self.e).is_whole and set(self.e.kernel) == {1} and set(self.e.stride) == {1}

    def upper(self, found: Argument) -> Argument:
        """The side of the result as `[image and group, block of rows, channel, window]`."""
        e, windows, columns = self.e, prod(self.e.counts), self.shape[1]
        shape = (e.images * e.groups, self.counts[1], e.outputs, columns)
        return found.seen(shape, (e.outputs * windows, columns, windows, 1))

    def image(self, work: Work, value: SSAValue) -> Argument:
        """The image as `[image and group, block of channels, block of rows, channel, window]`."""
        e, size, columns = self.e, prod(self.e.size), self.shape[1]
        shape = (e.images * e.groups, *self.counts, self.channels, columns)
        return work.read(value).seen(shape, (e.inputs * size, self.channels * size, columns, size, 1))

    def gather(
        self, x: Array, scratch: Sequence[Array], piece: Number, at: tuple[Number, Number, Number], flipped: bool
    ) -> Array:
        """The matrix, or its transpose, of a plane and blocks of channels and rows: put together in scratch, if any."""
        if not scratch:
            return x[at]
        (plane, channel, block), matrix, width, step = at, scratch[0][piece], self.e.counts[1], self.e.stride[1]
        first = plane * self.e.inputs + channel * self.channels
        for c, r, k, i in ndrange(self.channels, *self.e.kernel, self.rows):
            row, start = self._place(Room.around(self.e).pitch, block, c, r, k, i)
            for j in rolled(range(width)):
                place = row, i * width + j
                matrix[place[::-1] if flipped else place] = x[first + c, start + j * step]
        return matrix

    def scatter(self, matrix: Array, planes: Array, pitch: int, block: Number) -> None:
        """Add the matrix to the planes, each element where it is from: the transpose of `gather`."""
        width, step = self.e.counts[1], self.e.stride[1]
        for c, r, k, i in ndrange(self.channels, *self.e.kernel, self.rows):
            row, start = self._place(pitch, block, c, r, k, i)
            for j in rolled(range(width)):
                planes[c, start + j * step] += matrix[row, i * width + j]

    def _place(self, pitch: int, block: Number, c: Number, r: Number, k: Number, i: Number) -> tuple[Number, Number]:
        """The row of the matrix of a channel and tap, and where a plane has the first window of row `i` of a block."""
        (down, _), (rows, columns) = self.e.stride, self.e.dilation
        start = (block * self.rows + i) * (down * pitch) + r * (rows * pitch) + k * columns
        return c * prod(self.e.kernel) + r * self.e.kernel[1] + k, start


def _padded(work: Work, e: ConvExtents, value: SSAValue) -> Argument:
    """The planes of an image with zeros around."""
    planes, room = e.images * e.groups * e.inputs, Room.around(e)
    source = work.read(value, (planes, prod(e.size)))
    if room.is_whole:
        return source
    target = work.scratch((planes, room.count), element_of(value), "padded")

    @work.over(planes, room.count, [source], [target])
    def pad(it: Iteration, source: Array, target: Array) -> None:
        room.place(source[it.index], Plane(target[it.index], room.pitch))

    return target


def _windows(
    work: Work, blocks: Blocks, launch: tuple[int, int], image: SSAValue, flipped: bool
) -> tuple[Argument, list[Argument]]:
    """What the matrix of windows, or its transpose, is read from: the image itself, or padded planes and scratch."""
    if blocks.is_image:
        x = blocks.image(work, image)
        return x.transposed if flipped else x, []
    x = _padded(work, blocks.e, image)
    scratch = work.scratch_per_piece(*launch, blocks.shape, element_of(image), "windows")
    return x, [scratch.transposed if flipped else scratch]


@NEST.rule(ConvOp)
def conv_nest(op: ConvOp, work: Work) -> None:
    """`result = w @ windows`."""
    e = op.extents
    if e.inputs == 1:
        depthwise.forward(work, e, op.x, op.w, op.result)
    else:
        w = work.read(op.w, (e.groups, e.outputs, e.inputs * prod(e.kernel)))
        _convolve(work, e, op.x, w, op.result)


def _convolve(work: Work, e: ConvExtents, image: SSAValue, w: Argument, result: SSAValue) -> None:
    """`result = w @ windows of the image`; an iteration is a block of rows of windows of one image and group."""
    if winograd.are_better(e, element_of(image), work.costs):
        winograd.convolve(work, e, image, w, result)
        return
    if conv_panels.are_better(e):
        conv_panels.convolve(work, e, image, w, result)
        return
    blocks = Blocks.whole(e)
    planes, (_, count) = e.images * e.groups, blocks.counts
    launch = planes * count, prod(blocks.shape) * max(1, e.outputs // 4)
    y = blocks.upper(work.write(result))
    x, scratch = _windows(work, blocks, launch, image, flipped=False)

    @work.over(*launch, [w, x], [y, *scratch])
    def convolve(it: Iteration, w: Array, x: Array, y: Array, *scratch: Array) -> None:
        plane, block = it.unravel(planes, count)
        y[plane, block] = w[plane % e.groups] @ blocks.gather(x, scratch, it.piece, (plane, 0, block), flipped=False)


@NEST.rule(Conv2dBackwardInputOp)
def conv2d_backward_input_nest(op: Conv2dBackwardInputOp, work: Work) -> None:
    """`windows of result += w^T @ dy`, or a convolution of `dy`."""
    e = op.extents
    if e.inputs == 1:
        depthwise.backward_input(work, e, op.dy, op.w, op.result)
    elif (turned := _turned(e, work.costs)) is not None:
        _convolve(work, turned, op.dy, _turned_weight(work, e, op.w), op.result)
    else:
        _scatter(op, work)


def _turned(e: ConvExtents, costs: ConvCosts) -> ConvExtents | None:
    """The convolution with the weight turned round that gives the cotangent of the image, if windows are all there."""
    padding = tuple(d * (k - 1) - p for d, k, p in zip(e.dilation, e.kernel, e.padding, strict=True))
    if set(e.stride) != {1} or min(padding) < 0 or e.outputs > costs.min_scattered_channels_ratio * e.inputs:
        return None
    return e._replace(inputs=e.outputs, outputs=e.inputs, size=e.counts, counts=e.size, padding=padding)


def _turned_weight(work: Work, e: ConvExtents, w: SSAValue) -> Argument:
    """`result[g, c, (o, k)] = w[g, o, c, -k]`."""
    taps = prod(e.kernel)
    source = work.read(w, (e.groups, e.outputs, e.inputs, taps))
    target = work.scratch((e.groups, e.inputs, e.outputs * taps), element_of(w), "turned")

    @work.over(e.groups * e.inputs, e.outputs * taps, [source], [target])
    def turn(it: Iteration, w: Array, turned: Array) -> None:
        group, channel = it.unravel(e.groups, e.inputs)
        for o in range(e.outputs):
            for tap in rolled(range(taps)):
                turned[group, channel, o * taps + tap] = w[group, o, channel, taps - 1 - tap]

    return target


def _scatter(op: Conv2dBackwardInputOp, work: Work) -> None:
    """An iteration is some channels of one image: products with the weight, added up where their windows lie."""
    e = op.extents
    blocks = Blocks.some(e, e.images * e.groups)
    element, room, (count, row_blocks), (depth, _) = element_of(op.w), Room.around(e), blocks.counts, blocks.shape
    launch = e.images * e.groups * count, depth * prod(e.counts) * max(1, e.outputs // 4)
    columns = e.inputs * prod(e.kernel)
    w = work.read(op.w).seen((e.groups, count, e.outputs, depth), (e.outputs * columns, depth, columns, 1)).transposed
    dy = blocks.upper(work.read(op.dy))
    dx = work.write(op.result, (e.images * e.groups * e.inputs, prod(e.size)))
    matrix = work.scratch_per_piece(*launch, blocks.shape, element, "windows")
    sums = work.scratch_per_piece(*launch, (blocks.channels, room.count), element, "padded")

    @work.over(*launch, [w, dy], [dx, matrix, sums])
    def scatter(it: Iteration, w: Array, dy: Array, dx: Array, matrix: Array, sums: Array) -> None:
        image, part = it.unravel(e.images * e.groups, count)
        for c in rolled(range(blocks.channels)):
            Plane(sums[it.piece, c], room.extents[1]).fill(room.count)
        for block in range(row_blocks):
            matrix[it.piece] = w[image % e.groups, part] @ dy[image, block]
            blocks.scatter(matrix[it.piece], sums[it.piece], room.extents[1], block)
        for c in rolled(range(blocks.channels)):
            plane = Plane(sums[it.piece, c], room.extents[1])
            room.unplace(plane, dx[image * e.inputs + part * blocks.channels + c])


@NEST.rule(Conv2dBackwardWeightOp)
def conv2d_backward_weight_nest(op: Conv2dBackwardWeightOp, work: Work) -> None:
    """`result = sum over images and rows of dy @ windows^T`: chunks of these first, then their sum, in order."""
    e = op.extents
    if e.inputs == 1:
        depthwise.backward_weight(work, e, op.x, op.dy, op.result)
        return
    if winograd.are_better(e, element_of(op.x), work.costs):
        winograd.backward_weight(work, e, op.x, op.dy, op.result)
        return
    elements = prod(shape_of(op.result))
    most = max(1, min(PARTS, PARTS_ELEMENTS // elements))
    # all columns of the weight at once: a block with few of them is a product as narrow
    blocks = Blocks.deep(e, e.groups * min(most, e.images * e.counts[0]))
    parts = max(1, min(most, e.images * blocks.counts[1]))
    columns, (depth, _) = e.inputs * prod(e.kernel), blocks.shape
    sums = work.write(op.result) if parts == 1 else work.scratch((parts, elements), element_of(op.x), "parts")
    shape = (parts, e.groups, blocks.counts[0], e.outputs, depth)
    _weight_parts(op, work, blocks, sums.seen(shape, (elements, e.outputs * columns, depth, columns, 1)))
    if parts == 1:
        return
    rows = elements // columns
    add_up(work, sums.seen((parts, rows, columns), (elements, columns, 1)), work.write(op.result, (rows, columns)))


def _weight_parts(op: Conv2dBackwardWeightOp, work: Work, blocks: Blocks, total: Argument) -> None:
    """An iteration sums over a chunk of the blocks of rows of all images, for a group and a block of channels."""
    e, (parts, groups, count, _, depth), (_, row_blocks) = op.extents, total.shape, blocks.counts
    every = e.images * row_blocks
    each_part = -(-every // parts)
    launch = parts * groups * count, each_part * depth * blocks.shape[1] * max(1, e.outputs // 4)
    x, scratch = _windows(work, blocks, launch, op.x, flipped=True)

    @work.over(*launch, [blocks.upper(work.read(op.dy)), x], [total, *scratch])
    def sum_part(it: Iteration, dy: Array, x: Array, total: Array, *scratch: Array) -> None:
        part, group, channel = it.unravel(parts, groups, count)
        target = total[part, group, channel]
        target[...] = 0.0
        for each in range(part * each_part, min(part * each_part + each_part, every)):
            image, block = each // row_blocks, each % row_blocks
            plane = image * groups + group
            windows = blocks.gather(x, scratch, it.piece, (plane, channel, block), flipped=True)
            target[...] += dy[plane, block] @ windows
