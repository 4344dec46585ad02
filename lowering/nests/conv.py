"""
Nests of convolutions: the windows of an image, or of some of its rows, are the columns of a matrix for BLAS.

Convolutions of one input channel a group are in `depthwise.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

from xdsl.ir import SSAValue

from xdsl_rlx.dialects.lir import GemmOp
from xdsl_rlx.dialects.lir.memory import row_major_strides
from xdsl_rlx.dialects.mir.conv import Conv2dBackwardInputOp, Conv2dBackwardWeightOp, ConvExtents, ConvOp
from xdsl_rlx.dialects.shapes import element_of, shape_of
from xdsl_rlx.lowering.buffers import Argument
from xdsl_rlx.lowering.nest.builder import Nest
from xdsl_rlx.lowering.nests import depthwise
from xdsl_rlx.lowering.nests.table import NEST, Iteration, Work
from xdsl_rlx.lowering.nests.windows import Plane, Room, affine, each, number, span

COLUMNS = 1 << 17
"""Elements of the matrix of windows that is made at once: about what the second cache holds."""

PARTS = 8
"""Into how many parts the images are divided whose gradients of the weight are added up at the end."""

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
        """All channels, as many rows as fit."""
        return Blocks(e, e.inputs, _divisor(e.counts[0], COLUMNS / (e.inputs * prod(e.kernel) * e.counts[1])))

    @staticmethod
    def some(e: ConvExtents, tasks: int) -> Blocks:
        """As many rows, then channels, as fit; fewer channels where there are few other tasks."""
        row = prod(e.kernel) * e.counts[1]
        rows = _divisor(e.counts[0], COLUMNS / row)
        return Blocks(e, _divisor(e.inputs, min(COLUMNS / (row * rows), max(4, e.inputs * tasks / TASKS))), rows)

    @property
    def depth(self) -> int:
        """Rows of the matrix: channels and taps."""
        return self.channels * prod(self.e.kernel)

    @property
    def columns(self) -> int:
        """Columns of the matrix: windows."""
        return self.rows * self.e.counts[1]

    @property
    def row_blocks(self) -> int:
        """How many blocks of rows there are."""
        return self.e.counts[0] // self.rows

    @property
    def channel_blocks(self) -> int:
        """How many blocks of channels there are."""
        return self.e.inputs // self.channels

    @property
    def weight_elements(self) -> int:
        """Elements of the weight of one group."""
        return self.e.outputs * self.e.inputs * prod(self.e.kernel)

    @property
    def room(self) -> Room:
        """Room for all windows of one channel."""
        e = self.e
        return Room.around(e.size, e.counts, e.kernel, e.stride, e.padding, e.dilation)

    @property
    def is_image(self) -> bool:
        """Whether the matrix is the image itself: windows of one element, in order."""
        return self.room.is_whole and set(self.e.kernel) == {1} and set(self.e.stride) == {1}

    def upper(self, seen: Callable[..., Argument], value: SSAValue) -> Argument:
        """The side of the result as `[image and group, block of rows, channel, window]`."""
        e, windows = self.e, prod(self.e.counts)
        shape = (e.images * e.groups, self.row_blocks, e.outputs, self.columns)
        return seen(value, shape, (e.outputs * windows, self.columns, windows, 1))

    def image(self, work: Work, value: SSAValue, transposed: bool) -> Argument:
        """The image as `[image and group, block of channels, block of rows, channel, window]`, or the last swapped."""
        e, size = self.e, prod(self.e.size)
        leading = (e.images * e.groups, self.channel_blocks, self.row_blocks)
        steps = (e.inputs * size, self.channels * size, self.columns)
        if transposed:
            return work.read(value, (*leading, self.columns, self.channels), (*steps, 1, size))
        return work.read(value, (*leading, self.channels, self.columns), (*steps, size, 1))

    def elements(self, nest: Nest, body: Callable[[Nest, tuple[SSAValue, ...], SSAValue, SSAValue], None]) -> None:
        """`body(nest, (channel, tap, window), row, column)` for every element of the matrix."""
        e = self.e

        def element(inside: Nest, i: tuple[SSAValue, ...]) -> None:
            row = affine(inside, 0, (i[0], prod(e.kernel)), (i[1], e.kernel[1]), (i[2], 1))
            body(inside, i, row, affine(inside, 0, (i[3], e.counts[1]), (i[4], 1)))

        each(nest, (self.channels, *e.kernel, self.rows, e.counts[1]), element, "q")

    def place(self, nest: Nest, plane: Plane, block: SSAValue, i: tuple[SSAValue, ...]) -> SSAValue:
        """Where a plane has the element for `i`: channel, tap, window of a block of rows."""
        e = self.e
        rows = [(block, self.rows * e.stride[0]), (i[3], e.stride[0]), (i[1], e.dilation[0])]
        return plane.at(nest, rows, [(i[4], e.stride[1]), (i[2], e.dilation[1])])


def _padded(work: Work, e: ConvExtents, room: Room, value: SSAValue) -> tuple[Argument, int]:
    """The planes of an image with zeros around, and the distance of their rows."""
    planes, (height, width) = e.images * e.groups * e.inputs, e.size
    source = work.read(value, (planes, height * width))
    if room.is_whole:
        return source, width
    target = work.scratch((planes, room.count), element_of(value), "padded")

    def body(it: Iteration, source: SSAValue, target: SSAValue) -> None:
        lead = (it.index,)
        room.place(it.nest, Plane(source, lead, width), Plane(target, lead, room.extents[1]), 0.0)

    work.launch(planes, room.count, [source], [target], body)
    return target, room.extents[1]


@dataclass(frozen=True)
class _Matrix:
    """A matrix in a buffer: the indices of its leading dimensions."""

    buffer: SSAValue
    at: tuple[SSAValue, ...]


def _gemm(nest: Nest, a: _Matrix, b: _Matrix, c: _Matrix, size: tuple[int, int], accumulate: bool = False) -> None:
    """`c (+)= a @ b`, of `size`."""
    index = nest.kernel.index
    rows, columns = (index(0), index(size[0])), (index(0), index(size[1]))
    op = GemmOp(
        a.buffer,
        b.buffer,
        c.buffer,
        rows,
        columns,
        a_indices=a.at,
        b_indices=b.at,
        c_indices=c.at,
        accumulate=accumulate,
    )
    nest.builder.insert(op)


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
    blocks = Blocks.whole(e)
    count, size = blocks.row_blocks, (e.outputs, blocks.columns)
    launch = e.images * e.groups * count, blocks.depth * blocks.columns * max(1, e.outputs // 4)
    y = blocks.upper(work.write, result)

    def place(it: Iteration) -> tuple[SSAValue, SSAValue, SSAValue]:
        """Block of rows, image and group together, group."""
        plane = it.nest.quotient(it.index, count)
        return it.nest.remainder(it.index, count), plane, it.nest.remainder(plane, e.groups)

    def whole(it: Iteration, w: SSAValue, x: SSAValue, y: SSAValue) -> None:
        block, plane, group = place(it)
        at = (plane, it.nest.kernel.index(0), block)
        _gemm(it.nest, _Matrix(w, (group,)), _Matrix(x, at), _Matrix(y, (plane, block)), size)

    if blocks.is_image:
        work.launch(*launch, [w, blocks.image(work, image, transposed=False)], [y], whole)
        return
    x, pitch = _padded(work, e, blocks.room, image)
    matrix = work.scratch_per_piece(*launch, (blocks.depth, blocks.columns), element_of(image), "windows")

    def body(it: Iteration, w: SSAValue, x: SSAValue, y: SSAValue, matrix: SSAValue) -> None:
        block, plane, group = place(it)
        first = Plane(x, (affine(it.nest, 0, (plane, e.inputs)),), pitch)
        _gather(it.nest, blocks, first, block, matrix, lambda row, column: (it.piece, row, column))
        _gemm(it.nest, _Matrix(w, (group,)), _Matrix(matrix, (it.piece,)), _Matrix(y, (plane, block)), size)

    work.launch(*launch, [w, x], [y, matrix], body)


def _gather(
    nest: Nest,
    blocks: Blocks,
    first: Plane,
    block: SSAValue,
    matrix: SSAValue,
    at: Callable[[SSAValue, SSAValue], tuple[SSAValue, ...]],
) -> None:
    """Fill the matrix, stored by `at(row, column)`, from the planes that begin with `first`."""

    def element(inside: Nest, i: tuple[SSAValue, ...], row: SSAValue, column: SSAValue) -> None:
        plane = Plane(first.buffer, (affine(inside, 0, (first.lead[0], 1), (i[0], 1)),), first.pitch)
        inside.store(plane.load(inside, blocks.place(inside, plane, block, i)), matrix, at(row, column))

    blocks.elements(nest, element)


@NEST.rule(Conv2dBackwardInputOp)
def conv2d_backward_input_nest(op: Conv2dBackwardInputOp, work: Work) -> None:
    """`windows of result += w^T @ dy`, or a convolution of `dy`."""
    e = op.extents
    if e.inputs == 1:
        depthwise.backward_input(work, e, op.dy, op.w, op.result)
    elif (turned := _turned(e)) is not None:
        _convolve(work, turned, op.dy, _turned_weight(work, e, op.w), op.result)
    else:
        _scatter(op, work)


def _turned(e: ConvExtents) -> ConvExtents | None:
    """The convolution with the weight turned round that gives the cotangent of the image, if windows are all there."""
    padding = tuple(d * (k - 1) - p for d, k, p in zip(e.dilation, e.kernel, e.padding, strict=True))
    if set(e.stride) != {1} or min(padding) < 0 or e.outputs > 4 * e.inputs:
        return None
    return ConvExtents(
        e.images, e.groups, e.outputs, e.inputs, e.counts, e.kernel, e.size, e.stride, padding, e.dilation
    )


def _turned_weight(work: Work, e: ConvExtents, w: SSAValue) -> Argument:
    """`result[g, c, (o, k)] = w[g, o, c, -k]`."""
    taps = prod(e.kernel)
    source = work.read(w, (e.groups, e.outputs, e.inputs, taps))
    target = work.scratch((e.groups * e.inputs, e.outputs, taps), element_of(w), "turned")

    def body(it: Iteration, w: SSAValue, turned: SSAValue) -> None:
        group, channel = it.nest.quotient(it.index, e.inputs), it.nest.remainder(it.index, e.inputs)

        def element(inside: Nest, i: tuple[SSAValue, ...]) -> None:
            opposite = affine(inside, taps - 1, (i[1], -1))
            inside.store(inside.load(w, (group, i[0], channel, opposite)), turned, (it.index, *i))

        each(it.nest, (e.outputs, taps), element, "o")

    work.launch(e.groups * e.inputs, e.outputs * taps, [source], [target], body)
    shape = (e.groups, e.inputs, e.outputs * taps)
    return Argument(target.buffer, shape, row_major_strides(shape), "turned")


def _scatter(op: Conv2dBackwardInputOp, work: Work) -> None:
    """An iteration is some channels of one image: products with the weight, added up where their windows lie."""
    e = op.extents
    blocks = Blocks.some(e, e.images * e.groups)
    element, room, count = element_of(op.w), blocks.room, blocks.channel_blocks
    launch = e.images * e.groups * count, blocks.depth * prod(e.counts) * max(1, e.outputs // 4)
    columns = e.inputs * prod(e.kernel)
    w = work.read(op.w, (e.groups, count, blocks.depth, e.outputs), (blocks.weight_elements, blocks.depth, 1, columns))
    dy = blocks.upper(work.read, op.dy)
    dx = work.write(op.result, (e.images * e.groups * e.inputs, prod(e.size)))
    matrix = work.scratch_per_piece(*launch, (blocks.depth, blocks.columns), element, "windows")
    sums = work.scratch_per_piece(*launch, (blocks.channels, room.count), element, "padded")
    pitch = room.extents[1]

    def body(it: Iteration, w: SSAValue, dy: SSAValue, dx: SSAValue, matrix: SSAValue, sums: SSAValue) -> None:
        nest, part = it.nest, it.nest.remainder(it.index, count)
        image = nest.quotient(it.index, count)
        group = nest.remainder(image, e.groups)

        def clear(inside: Nest, c: tuple[SSAValue, ...]) -> None:
            Plane(sums, (it.piece, *c), pitch).fill(inside, room.count, 0.0)

        def add(inside: Nest, block: SSAValue, i: tuple[SSAValue, ...], row: SSAValue, column: SSAValue) -> None:
            plane = Plane(sums, (it.piece, i[0]), pitch)
            at = blocks.place(inside, plane, block, i)
            plane.store(inside, plane.load(inside, at) + inside.load(matrix, (it.piece, row, column)), at)

        def rows(inside: Nest, block: SSAValue) -> None:
            product = _Matrix(matrix, (it.piece,))
            size = (blocks.depth, blocks.columns)
            _gemm(inside, _Matrix(w, (group, part)), _Matrix(dy, (image, block)), product, size)
            blocks.elements(inside, lambda n, i, row, column: add(n, block, i, row, column))

        def finish(inside: Nest, c: tuple[SSAValue, ...]) -> None:
            number_of = affine(inside, 0, (image, e.inputs), (part, blocks.channels), (c[0], 1))
            room.unplace(inside, Plane(sums, (it.piece, *c), pitch), Plane(dx, (number_of,), e.size[1]))

        each(nest, [blocks.channels], clear, "c")
        span(nest, nest.kernel.index(0), nest.kernel.index(blocks.row_blocks), rows, "r")
        each(nest, [blocks.channels], finish, "c")

    work.launch(*launch, [w, dy], [dx, matrix, sums], body)


@NEST.rule(Conv2dBackwardWeightOp)
def conv2d_backward_weight_nest(op: Conv2dBackwardWeightOp, work: Work) -> None:
    """`result = sum over images of dy @ windows^T`: parts of the images first, then the sum of the parts, in order."""
    e = op.extents
    if e.inputs == 1:
        depthwise.backward_weight(work, e, op.x, op.dy, op.result)
        return
    elements = prod(shape_of(op.result))
    parts = max(1, min(PARTS, e.images, PARTS_ELEMENTS // elements))
    blocks = Blocks.some(e, e.groups * parts)
    dy = blocks.upper(work.read, op.dy)
    columns = e.inputs * prod(e.kernel)
    shape = (parts, e.groups, blocks.channel_blocks, e.outputs, blocks.depth)
    strides = (elements, blocks.weight_elements, blocks.depth, columns, 1)
    total = work.write(op.result, shape, strides)
    if parts > 1:
        buffer = work.scratch((parts, elements), element_of(op.x), "parts").buffer
        total = Argument(buffer, shape, strides, "parts")
    _weight_parts(op, work, blocks, dy, total)
    if parts > 1:
        _sum_parts(work, Argument(total.buffer, (parts, elements), (elements, 1), "parts"), op.result, columns)


def _weight_parts(op: Conv2dBackwardWeightOp, work: Work, blocks: Blocks, dy: Argument, total: Argument) -> None:
    """An iteration sums over a part of the images, for a group and a block of channels."""
    e, (parts, groups, count) = op.extents, total.shape[:3]
    each_part = -(-e.images // parts)
    launch = parts * groups * count, each_part * blocks.depth * prod(e.counts) * max(1, e.outputs // 4)
    reads, writes = [dy], [total]
    pitch = 0
    if blocks.is_image:
        reads.append(blocks.image(work, op.x, transposed=True))
    else:
        x, pitch = _padded(work, e, blocks.room, op.x)
        reads.append(x)
        room = work.scratch_per_piece(*launch, (blocks.depth * blocks.columns,), element_of(op.x), "windows").buffer
        extents = (room.layout.shape[0], blocks.columns, blocks.depth)
        writes.append(Argument(room, extents, (blocks.depth * blocks.columns, 1, blocks.columns), "windows"))

    def body(it: Iteration, dy: SSAValue, x: SSAValue, total: SSAValue, *scratch: SSAValue) -> None:
        nest, index = it.nest, it.nest.kernel.index
        channel, rest = nest.remainder(it.index, count), nest.quotient(it.index, count)
        group, part = nest.remainder(rest, groups), nest.quotient(rest, groups)
        target = _Matrix(total, (part, group, channel))
        size = (e.outputs, blocks.depth)
        each(nest, size, lambda n, i: n.store(number(n, total), total, (*target.at, *i)), "z")

        def rows(inside: Nest, image: SSAValue, block: SSAValue) -> None:
            plane = affine(inside, 0, (image, groups), (group, 1))
            upper = _Matrix(dy, (plane, block))
            if not scratch:
                _gemm(inside, upper, _Matrix(x, (plane, channel, block)), target, size, accumulate=True)
                return
            first = Plane(x, (affine(inside, 0, (plane, e.inputs), (channel, blocks.channels)),), pitch)
            _gather(inside, blocks, first, block, scratch[0], lambda row, column: (it.piece, column, row))
            _gemm(inside, upper, _Matrix(scratch[0], (it.piece,)), target, size, accumulate=True)

        def images(inside: Nest, image: SSAValue) -> None:
            span(inside, index(0), index(blocks.row_blocks), lambda n, block: rows(n, image, block), "r")

        low = affine(nest, 0, (part, each_part))
        high = nest.scalars.minimum(nest.scalars.of(low) + each_part, e.images).value
        span(nest, low, high, images, "n")

    work.launch(*launch, reads, writes, body)


def _sum_parts(work: Work, parts: Argument, result: SSAValue, columns: int) -> None:
    """The sum of the parts, in order; an iteration is a row of the weight."""
    count, elements = parts.shape
    parts = Argument(parts.buffer, (count, elements // columns, columns), (elements, columns, 1), parts.name)
    y = work.write(result, (elements // columns, columns))

    def body(it: Iteration, parts: SSAValue, y: SSAValue) -> None:
        def element(inside: Nest, j: tuple[SSAValue, ...]) -> None:
            values = [inside.load(parts, (inside.kernel.index(p), it.index, *j)) for p in range(count)]
            total = values[0]
            for value in values[1:]:
                total = total + value
            inside.store(total, y, (it.index, *j))

        each(it.nest, [columns], element, "j")

    work.launch(elements // columns, count * columns, [parts], [y], body)
