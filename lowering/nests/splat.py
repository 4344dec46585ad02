"""Nests of splats: their order, what the camera sees of each, and the picture by tiles.
The derivative is in `splat_backward.py`; what is computed is in docs/math.md."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import pi

from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute, SSAValue

from xdsl_rlx.dialects.lir.scalar_builder import Scalar, ScalarBuilder
from xdsl_rlx.dialects.mir.splat import (
    CAMERA,
    NEAREST,
    SMALLEST_RADIUS,
    GaussianSplatPrepareOp,
    GaussianSplatRasterizeOp,
    GaussianSplatRenderOp,
    SplatOp,
)
from xdsl_rlx.dialects.shapes import element_of
from xdsl_rlx.lowering.buffers import Argument
from xdsl_rlx.lowering.nest.builder import INDEX, Nest
from xdsl_rlx.lowering.nests.splat_tiles import Lanes, Tiles, conics
from xdsl_rlx.lowering.nests.splat_vectors import Vector, clamped, cross, dot, row, scaled, store_row, unit
from xdsl_rlx.lowering.nests.table import NEST, Iteration, Work
from xdsl_rlx.transforms.rules.splat import HARMONIC_0, HARMONIC_1


def camera(work: Work, meta: SSAValue, height: int) -> Argument:
    """Position, steps to the next pixel at depth 1 to the right and up, forward, background, in a row."""
    given = work.read(meta)
    made = work.scratch((CAMERA,), element_of(meta), "camera")

    def body(it: Iteration, meta: SSAValue, made: SSAValue) -> None:
        nest, s = it.nest, it.nest.scalars
        numbers = row(nest, meta, (), CAMERA)
        position = numbers[:3]
        forward = unit(s, [a - b for a, b in zip(numbers[3:6], position, strict=True)])
        right = unit(s, cross(numbers[6:9], forward))
        step = s.tan(numbers[9] * (pi / 360)) * (2 / max(height, 1))
        axes = [*scaled(right, step), *scaled(cross(forward, right), step), *forward]
        store_row(nest, [*position, *axes, *numbers[12:]], made, ())

    work.launch(1, 64, [given], [made], body)
    return made


def ranks(work: Work, op: SplatOp, camera: Argument) -> Argument:
    """The place of each splat in the order of distances, equal ones in theirs."""
    count = op.count
    keys = work.scratch((count,), element_of(op.operands[0]), "distance")
    order = work.scratch((2, count), i64, "order")
    made = work.scratch((count,), i64, "rank")

    def measure(it: Iteration, positions: SSAValue, camera: SSAValue, keys: SSAValue) -> None:
        away = _away(it.nest, positions, camera, it.index)
        it.nest.store(dot(away, away), keys, (it.index,))

    def sort(it: Iteration, keys: SSAValue, order: SSAValue, made: SSAValue) -> None:
        kernel = it.nest.kernel
        c0, every = kernel.index(0), (kernel.index(0), kernel.index(count))
        rounds = max(count - 1, 0).bit_length()

        def number(inner: Nest, k: SSAValue, _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            inner.store(inner.scalars.cast(inner.scalars.of(k), i64), order, (c0, k))
            return ()

        def merge(inner: Nest, pass_: SSAValue, carried: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            merge_runs(inner, keys, order, inner.scalars.of(pass_), inner.scalars.of(carried[0]), count)
            return ((inner.scalars.of(carried[0]) * 2).value,)

        def place(inner: Nest, k: SSAValue, _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            b = inner.scalars
            which = b.cast(inner.load(order, (kernel.index(rounds % 2), k)), INDEX)
            inner.store(b.cast(b.of(k), i64), made, (which.value,))
            return ()

        it.nest.loop(every, (), number, "k")
        it.nest.loop((c0, kernel.index(rounds)), (kernel.index(1),), merge, "pass")
        it.nest.loop(every, (), place, "k")

    work.launch(count, 12, [work.read(op.operands[0], (count, 3)), camera], [keys], measure)
    work.launch(min(count, 1), 8 * count * count.bit_length(), [keys], [order, made], sort)
    return made


def merge_runs(nest: Nest, keys: SSAValue, order: SSAValue, pass_: Scalar, width: Scalar, count: int) -> None:
    """Merge neighbouring runs of `width` in row `pass_ % 2` of `order` into the other; of equal keys the first wins."""
    s, last = nest.scalars, count - 1
    source = s.rem(pass_, 2)
    target = 1 - source

    def run(inner: Nest, number: SSAValue, _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
        b = inner.scalars
        low = b.of(number) * b.of(width.value) * 2
        middle = b.minimum(low + b.of(width.value), count)
        high = b.minimum(middle + b.of(width.value), count)

        def take(deepest: Nest, k: SSAValue, carried: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            d = deepest.scalars
            i, j = (d.of(x) for x in carried)
            x, y = (deepest.load(order, (source.value, d.minimum(at, last).value)) for at in (i, j))
            of_x, of_y = (deepest.load(keys, (d.cast(at, INDEX).value,)) for at in (x, y))
            first = (i < d.of(middle.value)) & ((j >= d.of(high.value)) | (of_x <= of_y))
            deepest.store(d.select(first, x, y), order, (target.value, k))
            step = d.cast(first, INDEX)
            return ((i + step).value, (j + 1 - step).value)

        inner.loop((low.value, high.value), (low.value, middle.value), take, "k")
        return ()

    both = width * 2
    runs = s.div(both + last, both)
    nest.loop((nest.kernel.index(0), runs.value), (), run, "run")


def _away(nest: Nest, positions: SSAValue, camera: SSAValue, i: SSAValue) -> Vector:
    """From a splat to the camera."""
    return [a - b for a, b in zip(row(nest, camera, (), 3), row(nest, positions, (i,), 3), strict=True)]


@dataclass
class Turn:
    """The rotation of a quaternion wxyz."""

    q: Vector
    twice: Scalar
    """2 over its squared length, 0 for a quaternion of 0."""
    rows: list[Vector]


def turn(s: ScalarBuilder, q: Vector) -> Turn:
    """The rotation of a quaternion."""
    w, x, y, z = q
    norm = dot(q, q)
    some = norm > 0.0
    t = s.select(some, 2.0 / s.select(some, norm, 1.0), 0.0)
    rows = [
        [1.0 - t * (y * y + z * z), t * (x * y - w * z), t * (x * z + w * y)],
        [t * (x * y + w * z), 1.0 - t * (x * x + z * z), t * (y * z - w * x)],
        [t * (x * z - w * y), t * (y * z + w * x), 1.0 - t * (x * x + y * y)],
    ]
    return Turn(q, t, rows)


@dataclass
class Seen:
    """One splat as the camera sees it."""

    away: Vector
    turn: Turn
    free: Vector
    """1 along axes whose radius is not the least one, else 0."""
    inverse: Vector
    """1 over the radii."""
    frame: list[Vector]
    in_front: Scalar


def seen(nest: Nest, op: SplatOp, cloud: Sequence[SSAValue], camera: SSAValue, i: SSAValue) -> Seen:
    """One splat; `cloud` are positions, scales, rotations by rows."""
    s = nest.scalars
    away = _away(nest, cloud[0], camera, i)
    free: Vector = []
    inverse: Vector = []
    for scale in row(nest, cloud[1], (i,), 3):
        radius = s.exp(scale) * op.radius_scale.value.data
        large = radius > SMALLEST_RADIUS
        free.append(s.select(large, s.const(1.0, radius.type), 0.0))
        inverse.append(1.0 / s.select(large, radius, SMALLEST_RADIUS))
    turned = turn(s, row(nest, cloud[2], (i,), 4))
    frame = [scaled(axis, factor) for axis, factor in zip(turned.rows, inverse, strict=True)]
    forward = row(nest, camera, (), 3, 9)
    return Seen(away, turned, free, inverse, frame, s.neg(dot(away, forward)) > NEAREST)


def has_harmonics(nest: Nest, op: SplatOp, sh: SSAValue, i: SSAValue) -> Scalar:
    """Whether a splat has a coefficient that is not 0; `sh` by rows."""

    def step(inner: Nest, j: SSAValue, carried: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
        b = inner.scalars
        x = inner.load(sh, (i, j))
        return (b.select(b.ne(x, 0.0), 1.0, b.of(carried[0])).value,)

    zero = nest.scalars.const(0.0, element_of(op.operands[0]))
    bounds = (nest.kernel.index(0), nest.kernel.index(3 * op.bands))
    (found,) = nest.loop(bounds, (zero.value,), step, "j")
    return nest.scalars.of(found) > 0.0


def unit_or_zero(s: ScalarBuilder, v: Vector) -> tuple[Vector, Scalar]:
    """`v` over its length, and 1 over that; zeros for 0."""
    square = dot(v, v)
    some = square > 0.0
    inverse = s.select(some, s.rsqrt(s.select(some, square, 1.0)), 0.0)
    return scaled(v, inverse), inverse


def tint(nest: Nest, op: SplatOp, colors: SSAValue, sh: SSAValue, away: Vector, i: SSAValue) -> Vector:
    """The colour of one splat in the direction of view."""
    s = nest.scalars
    plain = [clamped(s, c) for c in row(nest, colors, (i,), 3)]
    if not op.bands:
        return plain
    lit = [k * HARMONIC_0 + 0.5 for k in row(nest, sh, (i,), 3)]
    if op.bands >= 4:
        (x, y, z), _ = unit_or_zero(s, away)
        k = row(nest, sh, (i,), 9, 3)
        lit = [a + (z * k[3 + c] - y * k[c] - x * k[6 + c]) * HARMONIC_1 for c, a in enumerate(lit)]
    given = has_harmonics(nest, op, sh, i)
    return [s.select(given, a, b) for a, b in zip(lit, plain, strict=True)]


def cloud_of(work: Work, op: SplatOp) -> list[Argument]:
    """The six parts of a cloud by rows, a row per splat."""
    count = op.count
    shapes = ((count, 3), (count, 3), (count, 4), (count,), (count, 3), (count, 3 * op.bands))
    return [work.read(x, shape) for x, shape in zip(op.cloud, shapes, strict=True)]


def prepare(work: Work, op: SplatOp, camera: Argument, rank: Argument, made: Sequence[Argument]) -> None:
    """Fill origins, frames, tints and alphas, each splat at its place."""

    def body(it: Iteration, *buffers: SSAValue) -> None:
        nest, s, i = it.nest, it.nest.scalars, it.index
        cloud, (camera, rank), (origins, frames, tints, alphas) = buffers[:6], buffers[6:8], buffers[8:]
        found = seen(nest, op, cloud, camera, i)
        at = s.cast(nest.load(rank, (i,)), INDEX).value
        store_row(nest, [dot(axis, found.away) for axis in found.frame], origins, (at,))
        for a, axis in enumerate(found.frame):
            store_row(nest, axis, frames, (at, nest.kernel.index(a)))
        store_row(nest, tint(nest, op, cloud[4], cloud[5], found.away, i), tints, (at,))
        peak = clamped(s, nest.load(cloud[3], (i,)))
        nest.store(s.select(found.in_front, peak, 0.0), alphas, (at,))

    work.launch(op.count, 200, [*cloud_of(work, op), camera, rank], made, body)


def room_for_prepared(work: Work, count: int, element: Attribute) -> list[Argument]:
    """Room for origins, frames, tints and alphas."""
    shapes = {"origins": (count, 3), "frames": (count, 3, 3), "tints": (count, 3), "alphas": (count,)}
    return [work.scratch(shape, element, name) for name, shape in shapes.items()]


@NEST.rule(GaussianSplatPrepareOp)
def gaussian_splat_prepare_nest(op: GaussianSplatPrepareOp, work: Work) -> None:
    """Camera, distances, ranks, splats."""
    seen_by = camera(work, op.meta, 1)
    prepare(work, op, seen_by, ranks(work, op, seen_by), [work.write(result) for result in op.results])


@NEST.rule(GaussianSplatRenderOp)
def gaussian_splat_render_nest(op: GaussianSplatRenderOp, work: Work) -> None:
    """What prepare does, then the picture."""
    seen_by = camera(work, op.meta, op.picture.height)
    prepared = room_for_prepared(work, op.count, element_of(op.result))
    prepare(work, op, seen_by, ranks(work, op, seen_by), prepared)
    paint(work, op, seen_by, prepared)


@NEST.rule(GaussianSplatRasterizeOp)
def gaussian_splat_rasterize_nest(op: GaussianSplatRasterizeOp, work: Work) -> None:
    """The picture of what is prepared."""
    paint(work, op, camera(work, op.meta, op.picture.height), [work.read(x) for x in op.prepared])


def paint(
    work: Work, op: GaussianSplatRenderOp | GaussianSplatRasterizeOp, seen_by: Argument, prepared: list[Argument]
) -> None:
    """An iteration is a tile."""
    tiles = Tiles(op.picture, op.count, element_of(op.result))
    picture = op.picture
    result = work.write(op.result, (picture.height, picture.width, 4))
    bounds = conics(work, tiles, seen_by, prepared)
    extent, cost = tiles.total, tiles.cost
    room = tiles.room(work, extent, cost)

    def body(it: Iteration, *buffers: SSAValue) -> None:
        nest = it.nest
        (camera, *splats), (conic, hits, ids, result) = buffers[:5], buffers[5:]
        lanes = Lanes(nest.kernel, tiles.element)
        tile = tiles.enter(nest, it.index, camera, lanes)
        count = tiles.reaching(nest, tile, conic, (hits, ids), it.piece)
        tiles.composite(nest, lanes, splats, (ids, it.piece), count, None)
        background = [x.value for x in row(nest, camera, (), 3, 12)]

        def pixel(inner: Nest, at: tuple[SSAValue, SSAValue], lane: SSAValue) -> None:
            b = inner.scalars
            left = inner.load(lanes.left, (lane,))
            for c, (color, behind) in enumerate(zip(lanes.color, background, strict=True)):
                linear = inner.load(color, (lane,)) + left * b.of(behind)
                inner.store(developed(b, linear, picture.gamma), result, (*at, inner.kernel.index(c)))
            inner.store(1.0 - left, result, (*at, inner.kernel.index(3)))

        tiles.each_pixel(nest, tile, pixel)

    work.launch(extent, cost, [seen_by, *prepared, bounds], [*room, result], body)


def developed(s: ScalarBuilder, x: Scalar, gamma: float) -> Scalar:
    """`max(x, 0)^gamma`."""
    if gamma == 1.0:
        return s.select(x < 0.0, 0.0, x)
    some = x > 0.0
    return s.select(some, s.pow(s.select(some, x, 1.0), gamma), 0.0)
