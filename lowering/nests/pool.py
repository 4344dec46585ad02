"""Nests of pooling. An iteration is one plane of the images."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, prod

from xdsl.dialects.builtin import i32, i64
from xdsl.ir import SSAValue

from xdsl_rlx.dialects.lir.scalar_builder import Scalar, ScalarBuilder
from xdsl_rlx.dialects.mir.pool import (
    Frames,
    Maxpool2dBackwardOp,
    Maxpool2dTakeOp,
    PoolKind,
    PoolOp,
    Sumpool2dBackwardOp,
)
from xdsl_rlx.dialects.shapes import compute_type, element_of, shape_of
from xdsl_rlx.lowering.buffers import Argument
from xdsl_rlx.lowering.nest.builder import INDEX, Nest
from xdsl_rlx.lowering.nests.depthwise import Taps
from xdsl_rlx.lowering.nests.table import NEST, Iteration, Work
from xdsl_rlx.lowering.nests.windows import UNROLLED, Plane, Room, affine, each, number, over_plane, over_taps

COMBINE: dict[PoolKind, tuple[float, Callable[[ScalarBuilder, Scalar, Scalar], Scalar]]] = {
    PoolKind.MAX: (-inf, lambda b, x, y: b.maximum(x, y)),
    PoolKind.MIN: (inf, lambda b, x, y: b.minimum(x, y)),
    PoolKind.SUM: (0.0, lambda b, x, y: x + y),
    PoolKind.MEAN: (0.0, lambda b, x, y: x + y),
}
"""What is around an image and a window starts from, and one step."""


SELECTED = 16
"""Elements of a window up to which all are written, one of them the cotangent, rather than one of them found."""


@dataclass(frozen=True)
class Images:
    """The planes of a pooling's operand, and its windows."""

    planes: int
    size: tuple[int, ...]
    counts: tuple[int, ...]
    at: Frames

    @staticmethod
    def of(image: SSAValue, frames: Frames) -> Images:
        """The planes of `[N, C, H, W]`."""
        shape = shape_of(image)
        return Images(prod(shape[:2]), shape[2:], frames.counts(shape)[2:], frames)

    @property
    def room(self) -> Room:
        """Room for all windows of a plane."""
        return Room.around(self.size, self.counts, *self.at)

    @property
    def taps(self) -> Taps:
        """The windows in that room."""
        return Taps(self.room, self.counts, self.at.kernel, self.at.stride, (1, 1))

    @property
    def tiles(self) -> bool:
        """Whether windows lie side by side, without padding."""
        return self.at.stride == self.at.kernel and not any(self.at.padding)

    @property
    def cost(self) -> int:
        """About how many scalar operations a plane is."""
        return prod(self.size) + prod(self.counts) * prod(self.at.kernel)

    def image(self, seen: Callable[..., Argument], value: SSAValue) -> Argument:
        """An image as planes."""
        return seen(value, (self.planes, prod(self.size)))

    def upper(self, seen: Callable[..., Argument], value: SSAValue) -> Argument:
        """A result as planes."""
        return seen(value, (self.planes, prod(self.counts)))

    def scratch(self, work: Work, room: Room, like: SSAValue) -> list[Argument]:
        """Room for a padded plane, if there is padding."""
        if room.is_whole:
            return []
        element = compute_type(element_of(like))
        return [work.scratch_per_piece(self.planes, self.cost, (room.count,), element, "padded")]

    def placed(self, it: Iteration, room: Room, source: Plane, scratch: Sequence[SSAValue], fill: float) -> Plane:
        """A plane in its room."""
        if not scratch:
            return source
        target = Plane(scratch[0], (it.piece,), room.extents[1])
        room.place(it.nest, source, target, fill)
        return target

    def width(self, nest: Nest, window: Sequence[SSAValue], axis: int) -> Scalar:
        """How many elements of a window along an axis are not padding."""
        b = nest.scalars
        start = b.of(affine(nest, -self.at.padding[axis], (window[axis], self.at.stride[axis])))
        return b.minimum(start + self.at.kernel[axis], self.size[axis]) - b.maximum(start, 0)

    def varies(self, op: PoolOp) -> bool:
        """Whether windows are means of different numbers of elements."""
        return op.kind.data is PoolKind.MEAN and any(self.at.padding) and not op.includes_padding

    def finished(self, nest: Nest, op: PoolOp, total: Scalar, window: Sequence[SSAValue]) -> Scalar:
        """The result of a window from its sum, or largest or least element."""
        if op.kind.data is not PoolKind.MEAN:
            return total
        if not self.varies(op):
            return total / float(prod(self.at.kernel))
        count = self.width(nest, window, 0) * self.width(nest, window, 1)
        return total / nest.scalars.cast(nest.scalars.cast(count, i64), total.type)


@NEST.rule(PoolOp)
def pool_nest(op: PoolOp, work: Work) -> None:
    """Rows of each window first, which are neighbours in memory, then its columns."""
    images, kind = Images.of(op.x, op.frames), op.kind.data
    room, (identity, combine) = images.room, COMBINE[kind]
    x, y = images.image(work.read, op.x), images.upper(work.write, op.result)
    element, width = compute_type(element_of(op.x)), images.size[1] if room.is_whole else room.extents[1]
    rows = work.scratch_per_piece(images.planes, images.cost, (images.counts[0] * width,), element, "rows")

    def down(nest: Nest, plane: Plane, half: Plane) -> None:
        """`half[i, j]`, the rows of the windows `i` in column `j`; many are gone through one at a time."""
        high, steps = images.at.kernel[0], images.at.stride[0]

        def column(inside: Nest, i: tuple[SSAValue, ...]) -> None:
            """Window, row of it if they are gone through, column."""

            def step(deepest: Nest, tap: tuple[SSAValue, SSAValue], total: tuple[Scalar, ...]) -> Sequence[Scalar]:
                row = i[1] if many else tap[0]
                at = plane.at(deepest, [(i[0], steps), (row, 1)], [(i[-1], 1)])
                return [combine(deepest.scalars, total[0], plane.load(deepest, at))]

            place = half.at(inside, [(i[0], 1)], [(i[-1], 1)])
            first = half.load(inside, place) if many else number(inside, half.buffer, identity)
            (total,) = over_taps(inside, (1 if many else high, 1), [first], step)
            half.store(inside, total, place)

        many = high > UNROLLED
        if many:
            half.fill(nest, images.counts[0] * width, identity)
        each(nest, (images.counts[0], *([high] if many else []), width), column, "r")

    def across(nest: Nest, half: Plane, upper: Plane) -> None:
        """`upper[i, j]`, the columns of the windows; as one row where rows continue each other."""
        step_width = images.at.stride[1]
        flat = images.counts[1] * step_width == width and not images.varies(op)
        counts = (1, prod(images.counts)) if flat else images.counts

        def window(inside: Nest, i: tuple[SSAValue, ...]) -> None:
            def step(deepest: Nest, tap: tuple[SSAValue, SSAValue], total: tuple[Scalar, ...]) -> Sequence[Scalar]:
                at = half.at(deepest, [(i[0], 1)], [(i[1], step_width), (tap[1], 1)])
                return [combine(deepest.scalars, total[0], half.load(deepest, at))]

            (total,) = over_taps(inside, (1, images.at.kernel[1]), [number(inside, half.buffer, identity)], step)
            upper.store(inside, images.finished(inside, op, total, i), upper.at(inside, [(i[0], 1)], [(i[1], 1)]))

        each(nest, counts, window, "o")

    def body(it: Iteration, x: SSAValue, y: SSAValue, rows: SSAValue, *scratch: SSAValue) -> None:
        plane = images.placed(it, room, Plane(x, (it.index,), images.size[1]), scratch, identity)
        half = Plane(rows, (it.piece,), width)
        down(it.nest, plane, half)
        across(it.nest, half, Plane(y, (it.index,), images.counts[1]))

    work.launch(images.planes, images.cost, [x], [y, rows, *images.scratch(work, room, op.x)], body)


def _largest(nest: Nest, images: Images, plane: Plane, window: tuple[SSAValue, ...]) -> Scalar:
    """
    The number of the first largest element of a window, counted in the image without padding.

    Padding holds -inf, which nothing is smaller than, so it is never the place: the first element of the image in the
    window is, until a larger one or NaN is found.
    """
    at, b, width = images.at, nest.scalars, images.size[1]
    starts = [b.of(affine(nest, -p, (i, s))) for i, s, p in zip(window, at.stride, at.padding, strict=True)]
    first = [b.maximum(start, 0) if p else start for start, p in zip(starts, at.padding, strict=True)]
    best = number(nest, plane.buffer, -inf)
    found = b.cast(first[0] * width + first[1], i32)
    corner = b.cast(starts[0] * width + starts[1], i32)

    def step(deepest: Nest, tap: tuple[SSAValue, SSAValue], carried: tuple[Scalar, ...]) -> Sequence[Scalar]:
        best, found = carried
        s = deepest.scalars
        value = plane.load(deepest, images.taps.place(deepest, plane, window, tap))
        here = s.of(corner.value) + s.cast(s.of(affine(deepest, 0, (tap[0], width), (tap[1], 1))), i32)
        taken = s.compare("ugt", "sgt", value, best) & s.eq(best, best)
        return [s.select(taken, value, best), s.select(taken, here, found)]

    return over_taps(nest, at.kernel, [best, found], step)[1]


def _places(work: Work, images: Images) -> Argument:
    """Scratch for where the largest element of each window of a plane is."""
    return work.scratch_per_piece(images.planes, images.cost, (prod(images.counts),), i32, "places")


def _at_largest(
    it: Iteration, images: Images, plane: Plane, places: SSAValue, body: Callable[[Nest, SSAValue, SSAValue], None]
) -> None:
    """`body(nest, window, place)` for each window in order: first all places, many at once."""
    found = Plane(places, (it.piece,), images.counts[1])

    def window(inside: Nest, i: tuple[SSAValue, ...]) -> None:
        found.store(inside, _largest(inside, images, plane, i), found.at(inside, [(i[0], 1)], [(i[1], 1)]))

    def use(inside: Nest, i: tuple[SSAValue, ...]) -> None:
        body(inside, i[0], inside.scalars.cast(found.load(inside, i[0]), INDEX).value)

    over_plane(it.nest, images.counts, window, "o")
    each(it.nest, [prod(images.counts)], use, "p")


@NEST.rule(Maxpool2dTakeOp)
def maxpool2d_take_nest(op: Maxpool2dTakeOp, work: Work) -> None:
    """The places of the largest elements, then what is there."""
    images = Images.of(op.x, op.frames)
    room, places = images.room, _places(work, images)
    x, t = images.image(work.read, op.x), images.image(work.read, op.t)
    y = images.upper(work.write, op.result)

    def body(it: Iteration, x: SSAValue, t: SSAValue, y: SSAValue, places: SSAValue, *scratch: SSAValue) -> None:
        def take(inside: Nest, window: SSAValue, place: SSAValue) -> None:
            inside.store(inside.load(t, (it.index, place)), y, (it.index, window))

        plane = images.placed(it, room, Plane(x, (it.index,), images.size[1]), scratch, -inf)
        _at_largest(it, images, plane, places, take)

    work.launch(images.planes, images.cost, [x, t], [y, places, *images.scratch(work, room, op.x)], body)


@NEST.rule(Maxpool2dBackwardOp)
def maxpool2d_backward_nest(op: Maxpool2dBackwardOp, work: Work) -> None:
    """Where windows lie side by side each writes its own elements, else each adds to one."""
    images = Images.of(op.x, op.frames)
    room = images.room
    x, dy = images.image(work.read, op.x), images.upper(work.read, op.dy)
    dx = images.image(work.write, op.result)

    def tiles(it: Iteration, x: SSAValue, dy: SSAValue, dx: SSAValue) -> None:
        plane, lower = (Plane(buffer, (it.index,), images.size[1]) for buffer in (x, dx))
        upper = Plane(dy, (it.index,), images.counts[1])
        if not _covers(images):
            lower.fill(it.nest, prod(images.size), 0.0)

        def window(inside: Nest, i: tuple[SSAValue, ...]) -> None:
            g = upper.load(inside, upper.at(inside, [(i[0], 1)], [(i[1], 1)]))
            _write_largest(inside, images, plane, lower, i, g)

        over_plane(it.nest, images.counts, window, "o")

    def overlapping(
        it: Iteration, x: SSAValue, dy: SSAValue, dx: SSAValue, places: SSAValue, *scratch: SSAValue
    ) -> None:
        def add(inside: Nest, window: SSAValue, place: SSAValue) -> None:
            g = inside.load(dy, (it.index, window))
            inside.store(inside.load(dx, (it.index, place)) + g, dx, (it.index, place))

        Plane(dx, (it.index,), images.size[1]).fill(it.nest, prod(images.size), 0.0)
        plane = images.placed(it, room, Plane(x, (it.index,), images.size[1]), scratch, -inf)
        _at_largest(it, images, plane, places, add)

    if images.tiles and prod(images.at.kernel) <= SELECTED:
        work.launch(images.planes, images.cost, [x, dy], [dx], tiles)
        return
    writes = [dx, _places(work, images), *images.scratch(work, room, op.x)]
    work.launch(images.planes, images.cost, [x, dy], writes, overlapping)


def _covers(images: Images) -> bool:
    """Whether every element is in a window, of those that lie side by side."""
    extents = zip(images.counts, images.at.kernel, images.size, strict=True)
    return all(count * kernel == size for count, kernel, size in extents)


def _write_largest(
    nest: Nest, images: Images, plane: Plane, lower: Plane, window: tuple[SSAValue, ...], g: Scalar
) -> None:
    """`g` to the first largest element of a window, 0 to the others; without branches."""
    b, zero = nest.scalars, number(nest, lower.buffer)
    rows, columns = images.at.kernel
    index = nest.kernel.index
    at = [images.taps.place(nest, plane, window, (index(r), index(c))) for r in range(rows) for c in range(columns)]
    values = [plane.load(nest, place) for place in at]
    best, taken = values[0], list[Scalar]()
    for value in values[1:]:
        taken.append(b.compare("ugt", "sgt", value, best) & b.eq(best, best))
        best = b.select(taken[-1], value, best)
    later = None
    for place, own in zip(reversed(at[1:]), reversed(taken), strict=True):
        mine = own if later is None else own & b.not_(later)
        lower.store(nest, b.select(mine, g, zero), place)
        later = own if later is None else later | own
    first = g if later is None else b.select(later, zero, g)
    lower.store(nest, first, at[0])


@NEST.rule(Sumpool2dBackwardOp)
def sumpool2d_backward_nest(op: Sumpool2dBackwardOp, work: Work) -> None:
    """Windows side by side are filled; else an element sums the windows it is in, by taps."""
    images = Images.of(op.result, op.frames)
    at = images.at
    room = Room.between(images.size, images.counts, *at)
    dy, dx = images.upper(work.read, op.dy), images.image(work.write, op.result)

    def fill(it: Iteration, dy: SSAValue, dx: SSAValue) -> None:
        upper, lower = Plane(dy, (it.index,), images.counts[1]), Plane(dx, (it.index,), images.size[1])
        if not _covers(images):
            lower.fill(it.nest, prod(images.size), 0.0)

        def window(inside: Nest, i: tuple[SSAValue, ...]) -> None:
            g = upper.load(inside, upper.at(inside, [(i[0], 1)], [(i[1], 1)]))

            def step(deepest: Nest, tap: tuple[SSAValue, SSAValue], _: tuple[Scalar, ...]) -> Sequence[Scalar]:
                lower.store(deepest, g, images.taps.place(deepest, lower, i, tap))
                return []

            over_taps(inside, at.kernel, [], step)

        over_plane(it.nest, images.counts, window, "o")

    def add(it: Iteration, dy: SSAValue, dx: SSAValue, *scratch: SSAValue) -> None:
        plane = images.placed(it, room, Plane(dy, (it.index,), images.counts[1]), scratch, 0.0)
        taps = Taps(room, images.size, at.kernel, (1, 1), (1, 1))
        taps.sum(it.nest, plane, Plane(dx, (it.index,), images.size[1]), None, add=False)

    if images.tiles:
        work.launch(images.planes, images.cost, [dy], [dx], fill)
    else:
        work.launch(images.planes, images.cost, [dy], [dx, *images.scratch(work, room, op.dy)], add)
