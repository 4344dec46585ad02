"""Convolutions and gradients of weights by the tiles of `winograd_tiles.py`: a matmul for each point."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, prod

from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute, SSAValue

from xdsl_rlx.dialects.lir.memory import element_bytes
from xdsl_rlx.dialects.mir.conv import ConvExtents
from xdsl_rlx.dialects.shapes import element_of
from xdsl_rlx.lowering.buffers import Argument
from xdsl_rlx.lowering.kernel_dsl import Array, Iteration, Number, ndrange, rolled
from xdsl_rlx.lowering.kernels.winograd_tiles import LANES, PointRows, TapBlocks, WindowTiles, weight_of, weight_points
from xdsl_rlx.lowering.kernels.work import Work
from xdsl_rlx.lowering.target import ConvCosts

MOST_BLOCKS = 4
"""Blocks of taps at most: each has loops of its own."""

FARTHEST = 2
"""Distance of taps at most: windows of a row that are as far from each other have loops of their own."""

LONG_ROW = 512
"""Tiles of a row of an image at most, which are at least in an iteration, whose points are then far."""

OUTPUTS = 128
"""Output channels that are multiplied at a time at most, so that their products are near."""

DEPTH = 256
"""Terms of a matmul at most, so that its panels stay in the first cache."""

UNEVEN = 1 / 6
"""The share of its time that a thread may wait for others, rather than that points of the image are in memory."""

TASKS = 8
"""Iterations that a launch should have at least, for threads."""

APART = 80
"""Elements between the points of all channels, five cache lines: distances of powers of two share sets of caches."""

MOST_POINTS = 1 << 23
"""Points that are in memory at once at most, of the image and of the cotangents of the windows."""

PARTS = 8
"""Into how many parts tiles are divided whose gradients of the weight are added up at the end."""

PARTS_ELEMENTS = 1 << 23
"""Elements that points of these gradients may have together."""

INPUTS = 128
"""Input channels from which on it costs little to transform the cotangents of the windows for them alone."""


def divisor(n: int, most: float, least: int = 1) -> int:
    """The largest divisor of `n` that is at most `most` and at least `least`, or `n`."""
    return next((d for d in range(min(n, int(most)), least - 1, -1) if n % d == 0), n)


def _apart(work: Work, launch: tuple[int, int], shape: Sequence[int], element: Attribute, name: str) -> Argument:
    """Room for `[point, channel, tile]` of each piece of a launch."""
    points, channels, columns = shape
    each = channels * columns + APART
    room = work.scratch_per_piece(*launch, (points * each,), element, name)
    return room.seen((room.shape[0], *shape), (points * each, each, columns, 1))


def transformed_weight(work: Work, e: ConvExtents, w: Argument) -> Argument:
    """`[group, point, some terms, output, term]` of a weight, whose terms are the inputs of each block of taps."""
    (rows, columns), window, blocks = e.kernel, prod(e.kernel), TapBlocks(e.kernel)
    wide, terms = blocks.counts[1], prod(blocks.counts) * e.inputs
    depth = terms if blocks.is_whole and terms <= DEPTH else divisor(e.inputs, DEPTH, DEPTH // 4)
    some = min(depth, e.inputs)
    source = w.seen((e.groups * e.outputs, e.inputs * window), (e.inputs * window, 1))
    element, each = w.buffer.element, e.outputs * terms + APART
    target = work.scratch((e.groups, blocks.size * each), element, "points")
    shape = (e.groups, blocks.size, terms // depth, e.outputs, depth)
    target = target.seen(shape, (blocks.size * each, each, e.outputs * depth, depth, 1))
    launch = e.groups * e.outputs, terms * blocks.size * 4
    room = work.scratch_per_piece(*launch, (4 * wide, e.inputs * rows), element, "rows")

    @work.over(*launch, [source], [target, room])
    def transform(it: Iteration, w: Array, points: Array, room: Array) -> None:
        group, o = it.unravel(e.groups, e.outputs)
        lines = room[it.piece]
        for b in blocks.columns:
            for m in rolled(range(e.inputs * rows)):
                found = weight_points([w[it.index, m * columns + k] for k in blocks.taps(1, b)])
                for p in blocks.points(1, b):
                    lines[4 * b + p, m] = found[p]
        for a in blocks.rows:
            for b in blocks.columns:
                first = (a * wide + b) * e.inputs
                for p in rolled(range(len(blocks.points(1, b)))):
                    for s in range(e.inputs // some):
                        for c in rolled(range(some)):
                            taps = [lines[4 * b + p, (s * some + c) * rows + k] for k in blocks.taps(0, a)]
                            found = taps if blocks.is_flat else weight_points(taps)
                            for q in blocks.points(0, a):
                                points[group, 4 * q + p, first // depth + s, o, first % depth + c] = found[q]

    return target


def are_better(e: ConvExtents, element: Attribute, costs: ConvCosts) -> bool:
    """Whether sums take less time than the multiplications that they save. Those of f32 stay as precise as they are."""
    small = len(e.kernel) == 2 and e.kernel[1] > 1 and prod(TapBlocks(e.kernel).counts) <= MOST_BLOCKS
    if element != f32 or not small or set(e.stride) != {1} or max(e.dilation) > FARTHEST or not e.images:
        return False
    tiles = WindowTiles.of(e)
    direct = e.images * prod(e.counts) * prod(e.kernel) * e.inputs * e.outputs
    saves = PointRows.of_image(tiles).multiplications(costs) * costs.direct_conv_efficiency < direct
    return saves and tiles.columns <= LONG_ROW


def _is_even(count: int, threads: int) -> bool:
    """Whether so many iterations are several for each thread, as many about."""
    return count >= 2 * threads and ceil(count / threads) * threads <= count * (1 + UNEVEN)


def convolve(work: Work, e: ConvExtents, image: SSAValue, w: Argument, result: SSAValue) -> None:
    """`result = w @ windows of the image`; an iteration is some tiles of a group, or some output channels of them."""
    multiplications = e.images * e.groups * prod(e.counts) * e.inputs * prod(e.kernel) * max(1, e.outputs // 4)
    tiles, tasks = WindowTiles.of(e), work.pieces(TASKS, multiplications // TASKS)
    rows, outputs = PointRows.of_image(tiles), divisor(e.outputs, OUTPUTS, LANES)
    splits = tiles.count < tasks and not _is_even(tiles.count, work.buffers.threads)
    if splits:
        outputs = divisor(e.outputs, min(outputs, e.outputs * tiles.count / tasks), LANES)
    count = e.outputs // outputs
    work_of_all = prod(rows.shape) * max(1, e.outputs // 4)
    launch = (tiles.count * count, work_of_all // count) if splits else (tiles.count, work_of_all)
    element = element_of(image)
    factors = transformed_weight(work, e, w)
    x = work.read(image, (e.images * e.groups * e.inputs, *e.size))
    y = work.write(result, (e.images * e.groups * e.outputs, *e.counts))
    room = [
        _apart(work, launch, (rows.blocks.size, outputs, tiles.columns), element, "products"),
        work.scratch_per_piece(*launch, (2, 2 * tiles.columns), element, "windows"),
    ]
    if splits:
        x = all_points(work, rows, x, tasks)
    else:
        room.append(_apart(work, launch, rows.shape, element, "points"))
        room += [work.scratch_per_piece(*launch, shape, element, "rows") for shape in rows.room]

    @work.over(*launch, [x, factors], [y, *room])
    def convolve(it: Iteration, x: Array, w: Array, y: Array, *room: Array) -> None:
        products, windows, *others = [each[it.piece] for each in room]
        if splits:
            images, group, part, block = it.unravel(tiles.several, e.groups, tiles.parts, count)
            plane = images * tiles.images * e.groups + group
            first = (images * tiles.parts + part) * tiles.columns
            points = x[group, :, :, first : first + tiles.columns]
            _some_outputs(tiles, points, w[group], y, (products, windows), (plane, part * tiles.rows, block))
        else:
            images, group, part = it.unravel(tiles.several, e.groups, tiles.parts)
            points, row, plane = others[0], part * tiles.rows, images * tiles.images * e.groups + group
            for c in range(e.inputs):
                rows.fill(x, others[1:], points, plane * e.inputs + c, row, c)
            for block in range(count):
                _some_outputs(tiles, points, w[group], y, (products, windows), (plane, row, block))


def _some_outputs(
    tiles: WindowTiles, points: Array, w: Array, y: Array, room: tuple[Array, Array], at: tuple[Number, Number, Number]
) -> None:
    """Some output channels of the tiles of an iteration."""
    (products, windows), (plane, row, block), e = room, at, tiles.e
    outputs, blocks = products.shape[1], tiles.blocks
    low, segments, depth = block * outputs, w.shape[1], w.shape[3]
    for p in range(blocks.size):
        if segments == 1 and blocks.is_whole:
            products[p] = w[p, 0, low : low + outputs] @ points[p]
        else:
            products[p] = 0.0
            if blocks.is_whole:
                for s in range(segments):
                    products[p] += w[p, s, low : low + outputs] @ points[p, s * depth : s * depth + depth]
    if not blocks.is_whole:
        for a, b in ndrange(*blocks.counts):
            for q, p in ndrange(blocks.point_count(0, a), blocks.point_count(1, b)):
                for s in range(e.inputs // depth):
                    n = (a * blocks.counts[1] + b) * (e.inputs // depth) + s
                    factor = w[4 * q + p, n, low : low + outputs]
                    products[4 * q + p] += factor @ points[4 * q + p, n * depth : n * depth + depth]
    for o in range(outputs):
        tiles.place(products[:, o], windows, y, plane * e.outputs + low + o, row)


def all_points(work: Work, rows: PointRows, x: Argument, tasks: int) -> Argument:
    """`[group, point, channel, tile]` of all rows; an iteration is some channels of some tiles."""
    tiles, element, channels, (points, terms, columns) = rows.tiles, x.buffer.element, rows.channels, rows.shape
    some = divisor(channels, max(1, channels * tiles.count / tasks))
    count, length = channels // some, tiles.several * tiles.parts * columns
    launch = tiles.count * count, terms // count * points * columns * 4
    line = length + LANES
    each = terms * line + APART
    target = work.scratch((tiles.e.groups, points * each), element, "points")
    target = target.seen((tiles.e.groups, points, terms, length), (points * each, each, line, 1))
    room = [work.scratch_per_piece(*launch, shape, element, "rows") for shape in rows.room]

    @work.over(*launch, [x], [target, *room])
    def fill(it: Iteration, x: Array, target: Array, *room: Array) -> None:
        images, group, part, block = it.unravel(tiles.several, tiles.e.groups, tiles.parts, count)
        plane = (images * tiles.images * tiles.e.groups + group) * channels
        first, buffers = (images * tiles.parts + part) * columns, [each[it.piece] for each in room]
        for c in range(block * some, block * some + some):
            rows.fill(x, buffers, target[group, :, :, first : first + columns], plane + c, part * tiles.rows, c)

    return target


def backward_weight(work: Work, e: ConvExtents, image: SSAValue, upper: SSAValue, result: SSAValue) -> None:
    """`result = G^T (sum over tiles of (A dy A^T) * (B^T x B)) G`."""
    tiles = WindowTiles.of(e)
    rows, above = PointRows.of_image(tiles), PointRows.of_windows(tiles)
    x = work.read(image, (e.images * e.groups * e.inputs, *e.size))
    dy = work.read(upper, (e.images * e.groups * e.outputs, *e.counts))
    by_points = _are_points_far_better(rows, above, element_of(image), work.costs)
    sums = (_sums_by_points if by_points else _sums_by_parts)(work, rows, above, x, dy)
    _weight_of_points(work, e, sums, work.write(result, (e.groups * e.outputs, e.inputs * prod(e.kernel))))


def _are_points_far_better(rows: PointRows, above: PointRows, element: Attribute, costs: ConvCosts) -> bool:
    """
    Whether all points in memory at once take less of its time than sums of parts of them.

    Points are written and read, and a line that is written is read before. Sums of parts that are larger than half of
    the L2 cache are read and written for each part; and once more, where they are added up.
    """
    tiles = rows.tiles
    points = tiles.count * (prod(rows.shape) + prod(above.shape))
    each = tiles.e.groups * rows.shape[0] * rows.shape[1] * tiles.e.outputs
    iterations, parts = tiles.several * tiles.parts, _part_count(rows)
    is_near = 2 * each // tiles.e.groups * element_bytes(element) <= costs.l2_bytes
    return points <= MOST_POINTS and 3 * points <= 2 * each * (parts + (0 if is_near else iterations))


def _part_count(rows: PointRows) -> int:
    """Into how many parts tiles are divided if sums are by parts."""
    tiles, e, (points, terms, _) = rows.tiles, rows.tiles.e, rows.shape
    iterations = tiles.several * tiles.parts
    parts = max(1, min(PARTS, iterations, PARTS_ELEMENTS // (e.groups * points * terms * e.outputs)))
    return -(-iterations // -(-iterations // parts))


def _sums_by_points(work: Work, rows: PointRows, above: PointRows, x: Argument, dy: Argument) -> Argument:
    """The sums of points over all tiles, as one part; an iteration is a point."""
    e, blocks, (points, terms, _) = rows.tiles.e, rows.blocks, rows.shape
    lower, upper = (all_points(work, each, given, TASKS) for each, given in ((rows, x), (above, dy)))
    sums = work.scratch((1, e.groups, 1, points, e.outputs, terms), x.buffer.element, "sums")

    @work.over(e.groups * points, terms * max(1, e.outputs // 4) * lower.shape[3], [lower, upper], [sums])
    def multiply(it: Iteration, lower: Array, upper: Array, sums: Array) -> None:
        group, point = it.unravel(e.groups, points)
        if blocks.is_whole:
            sums[0, group, 0, point] = upper[group, point] @ lower[group, point].T
        else:
            for a, b in ndrange(*blocks.counts):
                if (point // 4 < blocks.point_count(0, a)) & (point % 4 < blocks.point_count(1, b)):
                    first = (a * blocks.counts[1] + b) * e.inputs
                    total = sums[0, group, 0, point, :, first : first + e.inputs]
                    total[...] = upper[group, point] @ lower[group, point, first : first + e.inputs].T

    return sums


def _sums_by_parts(work: Work, rows: PointRows, above: PointRows, x: Argument, dy: Argument) -> Argument:
    """The sums of points over parts of the tiles; an iteration is such a part, and some input channels."""
    tiles, element, e, blocks = rows.tiles, x.buffer.element, rows.tiles.e, rows.blocks
    iterations = tiles.several * tiles.parts
    (points, _, columns), width = rows.shape, prod(blocks.counts)
    parts = _part_count(rows)
    each = -(-iterations // parts)
    some = divisor(e.inputs, max(INPUTS, e.inputs * parts * e.groups / TASKS), INPUTS // 2)
    count = e.inputs // some
    launch = parts * e.groups * count, each * points * columns * width * some * max(1, e.outputs // 4)
    sums = work.scratch((parts, e.groups, count, points, e.outputs, width * some), element, "sums")
    shapes = (points, width * some, columns), above.shape
    room = [_apart(work, launch, shape, element, "points") for shape in shapes]
    room += [work.scratch_per_piece(*launch, shape, element, "rows") for shape in (*rows.room, *above.room)]

    @work.over(*launch, [x, dy], [sums, *room])
    def sum_part(it: Iteration, x: Array, dy: Array, sums: Array, *room: Array) -> None:
        part, group, block = it.unravel(parts, e.groups, count)
        lower, upper, *others = [buffer[it.piece] for buffer in room]
        total = sums[part, group, block]
        for p in range(points):
            total[p] = 0.0
        for at in range(part * each, min(part * each + each, iterations)):
            plane, row = at // tiles.parts * tiles.images * e.groups + group, at % tiles.parts * tiles.rows
            for c in range(some):
                rows.fill(x, others[:2], lower, plane * e.inputs + block * some + c, row, c)
            for o in range(e.outputs):
                above.fill(dy, others[2:], upper, plane * e.outputs + o, row, o)
            if blocks.is_whole:
                for p in range(points):
                    total[p] += upper[p] @ lower[p].T
            else:
                for a, b in ndrange(*blocks.counts):
                    first = (a * blocks.counts[1] + b) * some
                    for q, p in ndrange(blocks.point_count(0, a), blocks.point_count(1, b)):
                        target = total[4 * q + p, :, first : first + some]
                        target[...] += upper[4 * q + p] @ lower[4 * q + p, first : first + some].T

    return sums


def _weight_of_points(work: Work, e: ConvExtents, sums: Argument, result: Argument) -> None:
    """`G^T points G` of the sums of all parts; an iteration is an output channel."""
    blocks, (parts, _, count, points, _, terms) = TapBlocks(e.kernel), sums.shape
    (rows, columns), element, some = e.kernel, sums.buffer.element, e.inputs // count
    width = terms // some
    launch = e.groups * e.outputs, parts * points * terms * count * 2
    room = [
        work.scratch_per_piece(*launch, (points, width * e.inputs), element, "points"),
        work.scratch_per_piece(*launch, (4 * blocks.counts[1], e.inputs * rows), element, "rows"),
    ]

    @work.over(*launch, [sums], [result, *room])
    def transform(it: Iteration, sums: Array, result: Array, points: Array, lines: Array) -> None:
        group, o = it.unravel(e.groups, e.outputs)
        total, line = points[it.piece], lines[it.piece]
        for p in range(points.shape[1]):
            for n, block in ndrange(width, count):
                for c in rolled(range(some)):
                    found = sum(sums[part, group, block, p, o, n * some + c] for part in range(parts))
                    total[p, n * e.inputs + block * some + c] = found
        for a in blocks.rows:
            for b in blocks.columns:
                first = (a * blocks.counts[1] + b) * e.inputs
                for p in rolled(range(len(blocks.points(1, b)))):
                    for c in rolled(range(e.inputs)):
                        column = [total[4 * q + p, first + c] for q in blocks.points(0, a)]
                        found = column if blocks.is_flat else weight_of(column)
                        for n, r in enumerate(blocks.taps(0, a)):
                            line[4 * b + p, c * rows + r] = found[n]
        for b in blocks.columns:
            for m in rolled(range(e.inputs * rows)):
                found = weight_of([line[4 * b + p, m] for p in blocks.points(1, b)])
                for n, k in enumerate(blocks.taps(1, b)):
                    result[it.index, m * columns + k] = found[n]
