"""Nests of splats: their order, what the camera sees of each, and the picture by tiles.
The derivative is in `backward.py`; what is computed is in docs/math.md."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import pi

from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute, SSAValue

from xdsl_rlx.dialects.lir.scalar_builder import INDEX
from xdsl_rlx.dialects.shapes import element_of
from xdsl_rlx.lowering.buffers import Argument
from xdsl_rlx.lowering.kernel_dsl import Array, Iteration, Number, cast, exp, power, tan
from xdsl_rlx.lowering.kernels.work import NEST, Work
from xdsl_rlx.plugins.splat.ops import (
    CAMERA,
    NEAREST,
    SMALLEST_RADIUS,
    GaussianSplatPrepareOp,
    GaussianSplatRasterizeOp,
    GaussianSplatRenderOp,
    SplatOp,
)
from xdsl_rlx.plugins.splat.rules import HARMONIC_0, HARMONIC_1
from xdsl_rlx.plugins.splat.tiles import SIDE, Prepared, Tiles, conics
from xdsl_rlx.plugins.splat.vectors import Vector, clamped, cross, difference, dot, scaled, unit, unit_or_zero


def camera(work: Work, meta: SSAValue, height: int) -> Argument:
    """Position, steps to the next pixel at depth 1 to the right and up, forward, background, in a row."""
    made = work.scratch((CAMERA,), element_of(meta), "camera")

    @work.over(1, 64, [work.read(meta)], [made])
    def look(it: Iteration, meta: Array, made: Array) -> None:
        position, target, upwards, background = meta[:3], meta[3:6], meta[6:9], meta[12:CAMERA]
        forward = unit(difference(target, position))
        right = unit(cross(upwards, forward))
        step = tan(meta[9] * (pi / 360)) * (2 / max(height, 1))
        steps = [*scaled(right, step), *scaled(cross(forward, right), step)]
        made[:] = [*position, *steps, *forward, *background]

    return made


def ranks(work: Work, op: SplatOp, camera: Argument) -> Argument:
    """The place of each splat in the order of distances, equal ones in theirs."""
    count = op.count
    keys = work.scratch((count,), element_of(op.operands[0]), "distance")
    order = work.scratch((2, count), i64, "order")
    made = work.scratch((count,), i64, "rank")
    rounds = max(count - 1, 0).bit_length()

    @work.over(count, 12, [work.read(op.positions, (count, 3)), camera], [keys])
    def measure(it: Iteration, positions: Array, camera: Array, keys: Array) -> None:
        away = difference(camera[:3], positions[it.index])
        keys[it.index] = dot(away, away)

    @work.over(min(count, 1), 8 * count * count.bit_length(), [keys], [order, made])
    def sort(it: Iteration, keys: Array, order: Array, made: Array) -> None:
        for k in range(count):
            order[0, k] = k
        for turn in range(rounds):
            merge_runs(keys, order[turn % 2], order[1 - turn % 2], 1 << turn, count)
        for k in range(count):
            made[order[rounds % 2, k]] = k

    return made


def merge_runs(keys: Array, source: Array, target: Array, width: Number, count: int) -> None:
    """Merge neighbouring runs of `width` in `source` into runs of `target`; of equal keys the first wins."""
    last = count - 1
    for run in range((2 * width + last) // (2 * width)):
        low = run * width * 2
        middle = min(low + width, count)
        high = min(middle + width, count)
        i, j = low, middle
        for k in range(low, high):
            x, y = source[min(i, last)], source[min(j, last)]
            of_x, of_y = keys[x], keys[y]
            first = i < middle and (j >= high or of_x <= of_y)
            target[k] = x if first else y
            step = cast(first, INDEX)
            i, j = i + step, j + 1 - step


@dataclass
class Cloud:
    """The six parts of a cloud, or what is made of them: a row per splat."""

    positions: Array
    scales: Array
    rotations: Array
    opacities: Array
    colors: Array
    sh_coeffs: Array

    @staticmethod
    def arguments(op: SplatOp, values: Sequence[SSAValue], seen_as: Callable[..., Argument]) -> list[Argument]:
        """Those of a launch, by `work.read` or `work.write`."""
        n = op.count
        shapes = ((n, 3), (n, 3), (n, 4), (n,), (n, 3), (n, 3 * op.bands))
        return [seen_as(x, shape) for x, shape in zip(values, shapes, strict=True)]


@dataclass
class Seen:
    """One splat as the camera sees it."""

    away: Vector
    twice: Number
    """2 over the squared length of its quaternion, 0 for one of 0."""
    free: Vector
    """1 along axes whose radius is not the least one, else 0."""
    inverse: Vector
    """1 over the radii."""
    frame: Sequence[Vector]
    in_front: Number


def seen(cloud: Cloud, camera: Array, i: Number, scale: float, element: Attribute) -> Seen:
    """One splat, its radii times `scale`."""
    away = difference(camera[:3], cloud.positions[i])
    radii = [exp(x) * scale for x in cloud.scales[i]]
    free = [cast(1.0, element) if radius > SMALLEST_RADIUS else 0.0 for radius in radii]
    inverse = [1.0 / (radius if radius > SMALLEST_RADIUS else SMALLEST_RADIUS) for radius in radii]
    twice, axes = turn(list(cloud.rotations[i]))
    frame = [scaled(axis, factor) for axis, factor in zip(axes, inverse, strict=True)]
    return Seen(away, twice, free, inverse, frame, -dot(away, camera[9:12]) > NEAREST)


def turn(q: Vector) -> tuple[Number, list[Vector]]:
    """2 over the squared length of a quaternion wxyz, 0 for one of 0, and the rows of its rotation."""
    w, x, y, z = q
    norm = dot(q, q)
    t = 2.0 / (norm if norm > 0.0 else 1.0) if norm > 0.0 else 0.0
    return t, [
        [1.0 - t * (y * y + z * z), t * (x * y - w * z), t * (x * z + w * y)],
        [t * (x * y + w * z), 1.0 - t * (x * x + z * z), t * (y * z - w * x)],
        [t * (x * z - w * y), t * (y * z + w * x), 1.0 - t * (x * x + y * y)],
    ]


def has_harmonics(sh: Array, element: Attribute) -> Number:
    """Whether a splat has a coefficient that is not 0."""
    found = cast(0.0, element)
    for j in range(sh.shape[0]):
        found = 1.0 if sh[j] != 0.0 else found
    return found > 0.0


def tint(colors: Array, sh: Array, away: Vector, element: Attribute) -> list[Number]:
    """The colour of one splat in the direction of view."""
    plain = [clamped(c) for c in colors]
    if not sh.shape[0]:
        return plain
    lit = [k * HARMONIC_0 + 0.5 for k in sh[:3]]
    if sh.shape[0] >= 12:
        (x, y, z), _ = unit_or_zero(away)
        along_y, along_z, along_x = sh[3:6], sh[6:9], sh[9:12]
        lit = [a + (z * along_z[c] - y * along_y[c] - x * along_x[c]) * HARMONIC_1 for c, a in enumerate(lit)]
    given = has_harmonics(sh, element)
    return [a if given else b for a, b in zip(lit, plain, strict=True)]


def prepare(
    work: Work, op: SplatOp, camera: Argument, made: list[Argument] | None = None
) -> tuple[list[Argument], Argument]:
    """Fill origins, frames, tints and alphas, new ones unless given, each splat at its place; those, and the places."""
    n, scale, element = op.count, op.radius_scale.value.data, element_of(op.positions)
    if made is None:
        shapes = {"origins": (n, 3), "frames": (n, 3, 3), "tints": (n, 3), "alphas": (n,)}
        made = [work.scratch(shape, element, name) for name, shape in shapes.items()]
    rank = ranks(work, op, camera)

    @work.over(n, 200, [*Cloud.arguments(op, op.cloud, work.read), camera, rank], made)
    def place(it: Iteration, *buffers: Array) -> None:
        cloud, (camera, rank), made = Cloud(*buffers[:6]), buffers[6:8], Prepared(*buffers[8:])
        found = seen(cloud, camera, it.index, scale, element)
        at = rank[it.index]
        made.origin[at] = [dot(axis, found.away) for axis in found.frame]
        made.frame[at] = found.frame
        made.tint[at] = tint(cloud.colors[it.index], cloud.sh_coeffs[it.index], found.away, element)
        peak = clamped(cloud.opacities[it.index])
        made.peak[at] = peak if found.in_front else 0.0

    return made, rank


@NEST.rule(GaussianSplatPrepareOp)
def gaussian_splat_prepare_nest(op: GaussianSplatPrepareOp, work: Work) -> None:
    """Camera, distances, ranks, splats."""
    prepare(work, op, camera(work, op.meta, 1), [work.write(result) for result in op.results])


@NEST.rule(GaussianSplatRenderOp, GaussianSplatRasterizeOp)
def gaussian_splat_render_nest(op: GaussianSplatRenderOp | GaussianSplatRasterizeOp, work: Work) -> None:
    """What prepare does, unless that is given, then the picture: an iteration is a tile."""
    picture, tiles = op.picture, Tiles(op.picture, op.count, element_of(op.result))
    seen_by = camera(work, op.meta, picture.height)
    is_prepared = isinstance(op, GaussianSplatRasterizeOp)
    prepared = [work.read(x) for x in op.prepared] if is_prepared else prepare(work, op, seen_by)[0]
    result = work.write(op.result, (picture.height, picture.width, 4))
    reads = [seen_by, *prepared, conics(work, tiles, seen_by, prepared)]
    room = tiles.room(work, tiles.total, tiles.cost)

    @work.over(tiles.total, tiles.cost, reads, [*room, result])
    def paint_tile(it: Iteration, camera: Array, *buffers: Array) -> None:
        splats, (conic, hits, ids, result) = Prepared(*buffers[:4]), buffers[4:]
        tile = tiles.enter(it.index, camera)
        tiles.composite(tile, splats, conic, hits[it.piece], ids[it.piece])
        background = list(camera[12:])
        for y in range(tile.rows):
            for x in range(tile.columns):
                lane = y * SIDE + x
                left = tile.left[lane]
                pixel = result[tile.row + y, tile.column + x]
                for c, shown in enumerate(background):
                    pixel[c] = developed(tile.color[c][lane] + left * shown, picture.gamma)
                pixel[3] = 1.0 - left


def developed(x: Number, gamma: float) -> Number:
    """`max(x, 0)^gamma`."""
    if gamma == 1.0:
        return 0.0 if x < 0.0 else x
    return power(x if x > 0.0 else 1.0, gamma) if x > 0.0 else 0.0
