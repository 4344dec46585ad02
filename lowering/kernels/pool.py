"""Nests of pooling. An iteration is one plane of the images."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import inf, prod
from typing import TypeAlias

from xdsl.dialects.builtin import i32, i64
from xdsl.ir import SSAValue

from xdsl_rlx.dialects.mir.conv import ConvExtents
from xdsl_rlx.dialects.mir.pool import Maxpool2dBackwardOp, Maxpool2dTakeOp, PoolKind, PoolOp, Sumpool2dBackwardOp
from xdsl_rlx.dialects.shapes import compute_type, element_of, shape_of
from xdsl_rlx.lowering.kernel_dsl import Array, Iteration, Number, cast, maximum, minimum, ndrange, rolled, select
from xdsl_rlx.lowering.kernels.depthwise import Taps
from xdsl_rlx.lowering.kernels.windows import UNROLLED, Plane, Room, runs, taps_of
from xdsl_rlx.lowering.kernels.work import NEST, Work

Combine: TypeAlias = Callable[[Number, Number], Number]


def _add(x: Number, y: Number) -> Number:
    return x + y


COMBINE: dict[PoolKind, tuple[float, Combine]] = {
    PoolKind.MAX: (-inf, maximum),
    PoolKind.MIN: (inf, minimum),
    PoolKind.SUM: (0.0, _add),
    PoolKind.MEAN: (0.0, _add),
}
"""What is around an image and a window starts from, and one step."""


SELECTED = 16
"""Elements of a window up to which all are written, one of them the cotangent, rather than one of them found."""


def _extents(image: SSAValue, upper: SSAValue, frames: tuple[tuple[int, ...], ...]) -> ConvExtents:
    """The planes of images [N, C, H, W], each an image of its own, and its windows."""
    shape, (kernel, stride, padding) = shape_of(image), frames
    return ConvExtents(prod(shape[:2]), 1, 1, 1, shape[2:], kernel, shape_of(upper)[2:], stride, padding, (1, 1))


def _cost(e: ConvExtents) -> int:
    """About how many scalar operations a plane is."""
    return prod(e.size) + prod(e.counts) * prod(e.kernel)


def _are_tiles(e: ConvExtents) -> bool:
    """Whether windows lie side by side, without padding."""
    return e.stride == e.kernel and not any(e.padding)


def _cleared(e: ConvExtents, target: Array) -> Plane:
    """The plane of a result, cleared unless windows that lie side by side write all of it."""
    plane = Plane(target, e.size[1])
    if any(count * kernel != size for count, kernel, size in zip(e.counts, e.kernel, e.size, strict=True)):
        plane.fill(prod(e.size))
    return plane


@NEST.rule(PoolOp)
def pool_nest(op: PoolOp, work: Work) -> None:
    """Rows of each window first, which are neighbours in memory, then its columns."""
    e, kind, element = _extents(op.x, op.result, op.frames), op.kind.data, compute_type(element_of(op.x))
    room, (identity, combine) = Room.around(e), COMBINE[kind]
    x, y = work.read(op.x, (e.images, prod(e.size))), work.write(op.result, (e.images, prod(e.counts)))
    rows = work.scratch_per_piece(e.images, _cost(e), (e.counts[0] * room.pitch,), element, "rows")
    varies = kind is PoolKind.MEAN and any(e.padding) and not op.includes_padding
    flat = e.counts[1] * e.stride[1] == room.pitch and not varies

    def finished(total: Number, i: Number, j: Number) -> Number:
        """The result of a window from its sum, or largest or least element."""
        if varies:
            return total / cast(cast(_width(e, 0, i) * _width(e, 1, j), i64), element)
        return total / float(prod(e.kernel)) if kind is PoolKind.MEAN else total

    @room.over(work, e.images, _cost(e), [x], [y, rows])
    def pool(it: Iteration, x: Array, y: Array, rows: Array, *scratch: Array) -> None:
        half, upper = Plane(rows[it.piece], room.pitch), Plane(y[it.index], e.counts[1])
        _combine_rows(e, combine, identity, room.placed(x[it.index], scratch, it.piece, identity), half)
        for i in range(1 if flat else e.counts[0]):  # as one row where rows continue each other
            for j in rolled(range(prod(e.counts) if flat else e.counts[1])):
                total = identity
                for _, c in taps_of((1, e.kernel[1])):
                    total = combine(total, half.every((1, e.stride[1]), c)[i, j])
                upper[i, j] = finished(total, i, j)


def _combine_rows(e: ConvExtents, combine: Combine, identity: float, source: Plane, half: Plane) -> None:
    """`half[i, j]`, the rows of the windows `i` in column `j`; many are gone through one at a time."""
    high = e.kernel[0]
    at_once = 1 if high > UNROLLED else high
    if at_once < high:
        half.fill(e.counts[0] * half.pitch, identity)
    for i, first in ndrange(e.counts[0], high // at_once):
        for j in rolled(range(half.pitch)):
            total = half[i, j] if at_once < high else identity
            for r in tuple(range(at_once)):
                total = combine(total, source.every((e.stride[0], 1), source.at(first + r, 0))[i, j])
            half[i, j] = total


def _width(e: ConvExtents, axis: int, window: Number) -> Number:
    """How many elements of a window along an axis are not padding."""
    start = window * e.stride[axis] - e.padding[axis]
    return min(start + e.kernel[axis], e.size[axis]) - max(start, 0)


def _is_larger(value: Number, best: Number) -> Number:
    """Whether a value takes the place of the best so far: a NaN does, and keeps it."""
    return not value <= best and best == best


def _find_largest(e: ConvExtents, source: Plane, places: Array) -> None:
    """
    The number of the first largest element of each window, counted in the image without padding.

    Padding holds -inf, which nothing is smaller than, so it is never the place: the first element of the image in the
    window is, until a larger one or NaN is found.
    """
    width = e.size[1]
    for i in range(e.counts[0]):
        for columns in runs(e.counts[1]):
            for j in rolled(columns):
                row, column = [k * s - p for k, s, p in zip((i, j), e.stride, e.padding, strict=True)]
                first = (max(row, 0) if e.padding[0] else row) * width + (max(column, 0) if e.padding[1] else column)
                best, found, corner = -inf, cast(first, i32), cast(row * width + column, i32)
                for tap in taps_of(e.kernel):
                    value = Taps(e).of_windows(source, tap)[i, j]
                    taken = _is_larger(value, best)
                    found = select(taken, corner + cast(tap[0] * width + tap[1], i32), found)
                    best = select(taken, value, best)
                places[i * e.counts[1] + j] = found


@NEST.rule(Maxpool2dTakeOp)
def maxpool2d_take_nest(op: Maxpool2dTakeOp, work: Work) -> None:
    """The places of the largest elements, then what is there."""
    e = _extents(op.x, op.result, op.frames)
    room, places = Room.around(e), work.scratch_per_piece(e.images, _cost(e), (prod(e.counts),), i32, "places")
    reads = [work.read(value, (e.images, prod(e.size))) for value in (op.x, op.t)]
    y = work.write(op.result, (e.images, prod(e.counts)))

    @room.over(work, e.images, _cost(e), reads, [y, places])
    def take(it: Iteration, x: Array, t: Array, y: Array, places: Array, *scratch: Array) -> None:
        _find_largest(e, room.placed(x[it.index], scratch, it.piece, -inf), places[it.piece])
        for window in rolled(range(prod(e.counts))):
            y[it.index, window] = t[it.index, places[it.piece, window]]


def _write_largest(e: ConvExtents, source: Plane, target: Plane, i: Number, j: Number, g: Number) -> None:
    """`g` to the first largest element of a window, 0 to the others; without branches."""
    first, *others = [Taps(e).of_windows(source, tap).at(i, j) for tap in product(*map(range, e.kernel))]
    best, taken = source.elements[first], ()
    for value in [source.elements[at] for at in others]:
        taken = (*taken, _is_larger(value, best))
        best = select(taken[-1], value, best)
    later = None
    for at, own in zip(reversed(others), reversed(taken), strict=True):
        target.elements[at] = select(own if later is None else own and not later, g, 0.0)
        later = own if later is None else later or own
    target.elements[first] = g if later is None else select(later, 0.0, g)


@NEST.rule(Maxpool2dBackwardOp)
def maxpool2d_backward_nest(op: Maxpool2dBackwardOp, work: Work) -> None:
    """Where windows lie side by side each writes its own elements, else each adds to one."""
    e = _extents(op.x, op.dy, op.frames)
    room, (height, width) = Room.around(e), e.counts
    reads = [work.read(op.x, (e.images, prod(e.size))), work.read(op.dy, (e.images, height * width))]
    dx = work.write(op.result, (e.images, prod(e.size)))

    if _are_tiles(e) and prod(e.kernel) <= SELECTED:

        @work.over(e.images, _cost(e), reads, [dx])
        def choose(it: Iteration, x: Array, dy: Array, dx: Array) -> None:
            source, lower = Plane(x[it.index], e.size[1]), _cleared(e, dx[it.index])
            for i in range(height):
                for columns in runs(width):
                    for j in rolled(columns):
                        _write_largest(e, source, lower, i, j, dy[it.index, i * width + j])

        return
    places = work.scratch_per_piece(e.images, _cost(e), (height * width,), i32, "places")

    @room.over(work, e.images, _cost(e), reads, [dx, places])
    def add(it: Iteration, x: Array, dy: Array, dx: Array, places: Array, *scratch: Array) -> None:
        Plane(dx[it.index], e.size[1]).fill(prod(e.size))
        _find_largest(e, room.placed(x[it.index], scratch, it.piece, -inf), places[it.piece])
        for window in rolled(range(height * width)):
            dx[it.index, places[it.piece, window]] += dy[it.index, window]


@NEST.rule(Sumpool2dBackwardOp)
def sumpool2d_backward_nest(op: Sumpool2dBackwardOp, work: Work) -> None:
    """Windows side by side are filled; else an element sums the windows it is in, by taps."""
    e = _extents(op.result, op.dy, op.frames)
    room, (height, width) = Room.between(e), e.counts
    dy, dx = work.read(op.dy, (e.images, height * width)), work.write(op.result, (e.images, prod(e.size)))

    if _are_tiles(e):

        @work.over(e.images, _cost(e), [dy], [dx])
        def fill(it: Iteration, dy: Array, dx: Array) -> None:
            lower = _cleared(e, dx[it.index])
            for i in range(height):
                for columns in runs(width):
                    for j in rolled(columns):
                        g = dy[it.index, i * width + j]
                        for tap in taps_of(e.kernel):
                            Taps(e).of_windows(lower, tap)[i, j] = g

        return

    @room.over(work, e.images, _cost(e), [dy], [dx])
    def add(it: Iteration, dy: Array, dx: Array, *scratch: Array) -> None:
        Taps.turned(e).sum(room.placed(dy[it.index], scratch, it.piece), Plane(dx[it.index], e.size[1]))
