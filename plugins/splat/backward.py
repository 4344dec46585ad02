"""The nest of the derivative of the picture of splats: tile by tile, back to front, then splat by splat.

A group of tiles adds up what its pixels say of each splat; how many groups there are does not depend on the threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from xdsl.ir import Attribute

from xdsl_rlx.dialects.lir.scalar_builder import INDEX
from xdsl_rlx.dialects.shapes import element_of
from xdsl_rlx.lowering.buffers import Argument
from xdsl_rlx.lowering.kernel_dsl import Array, Iteration, Number, accumulate, cast, maximum, minimum, power, scratch
from xdsl_rlx.lowering.kernels.work import NEST, Work
from xdsl_rlx.plugins.splat.kernels import Cloud, Seen, camera, has_harmonics, prepare, seen
from xdsl_rlx.plugins.splat.ops import GaussianSplatRenderBackwardOp
from xdsl_rlx.plugins.splat.rules import HARMONIC_0, HARMONIC_1
from xdsl_rlx.plugins.splat.tiles import LANES, SIDE, Prepared, Tile, Tiles, conics, cover
from xdsl_rlx.plugins.splat.vectors import Vector, dot, scaled, unit_or_zero

GROUPS = 16
"""Groups of tiles at most."""

SUMS = 16
"""Numbers that pixels add up for a splat: cotangents of its origin (3), frame (9), tint (3) and alpha."""


@NEST.rule(GaussianSplatRenderBackwardOp)
def gaussian_splat_render_backward_nest(op: GaussianSplatRenderBackwardOp, work: Work) -> None:
    """The picture once more, its cotangents to those of what is prepared, those to the cloud's."""
    picture, clip, element = op.picture, op.clip, element_of(op.d_rgba)
    seen_by = camera(work, op.meta, picture.height)
    prepared, rank = prepare(work, op, seen_by)
    tiles = Tiles(picture, op.count, element)
    reads = [seen_by, *prepared, conics(work, tiles, seen_by, prepared)]
    per_group = max(1, ceil(tiles.total / GROUPS))
    groups, cost = ceil(tiles.total / per_group), 3 * tiles.cost * per_group
    sums = work.scratch((max(groups, 1), op.count, SUMS), element, "sums")
    room = tiles.room(work, groups, cost)
    before = work.scratch_per_piece(groups, cost, (op.count, LANES), element, "before")
    given = work.read(op.d_rgba, (picture.height, picture.width, 4))

    @work.over(groups if op.count else 0, cost, [*reads, given], [*room, before, sums])
    def pull_group(it: Iteration, camera: Array, *buffers: Array) -> None:
        splats, (conic, given, *lists, sums) = Prepared(*buffers[:4]), buffers[4:]
        hits, ids, before = [rows[it.piece] for rows in lists]
        sums[it.index] = 0.0
        first = it.index * per_group
        for number in range(first, min(first + per_group, tiles.total)):
            tile = tiles.enter(number, camera)
            done = tiles.composite(tile, splats, conic, hits, ids, before)
            grads = pull_pixels(tiles, tile, camera[12:], given, clip)
            for k in reversed(range(done)):
                i = tiles.number(ids, k)
                found = pull_splat(tiles, tile, splats.splat(i), before[k], grads)
                sums[it.index, i] = [a + b for a, b in zip(sums[it.index, i], found, strict=True)]

    pull_cloud(work, op, seen_by, rank, sums, groups)


def pull_pixels(tiles: Tiles, tile: Tile, background: Array, given: Array, clip: float | None) -> list[Array]:
    """Cotangents of what is composited: of the colour, and of the light that is left."""
    grads = [scratch(LANES, tiles.element) for _ in range(4)]
    for j in range(LANES):
        for lanes in grads:
            lanes[j] = 0.0
    for y in range(tile.rows):
        for x in range(tile.columns):
            lane = y * SIDE + x
            g = list(given[tile.row + y, tile.column + x])
            if clip is not None:
                g = [maximum(minimum(d, clip), -clip) for d in g]
            left = tile.left[lane]
            behind = -g[3]
            for c, shown in enumerate(background):
                linear = tile.color[c][lane] + left * shown
                pulled = g[c] * slope(linear, tiles.picture.gamma, tiles.element)
                grads[c][lane] = pulled
                behind = behind + pulled * shown
            grads[3][lane] = behind
    return grads


def slope(x: Number, gamma: float, element: Attribute) -> Number:
    """The derivative of `max(x, 0)^gamma`."""
    if gamma == 1.0:
        return 0.0 if x < 0.0 else cast(1.0, element)
    return power(x if x > 0.0 else 1.0, gamma - 1.0) * gamma if x > 0.0 else 0.0


def pull_splat(tiles: Tiles, tile: Tile, splat: Prepared, before: Array, grads: Sequence[Array]) -> list[Number]:
    """One splat at all pixels of the tile. `grads[3]` is the cotangent of the light that it lets through."""
    picture = tiles.picture
    totals = [cast(0.0, tiles.element)] * SUMS
    for j in range(LANES):
        ray = [lanes[j] for lanes in tile.ray]
        w, t, bell, covered, counts = cover(splat, ray, picture.alpha_cutoff)
        left = before[j]
        counts = counts and left >= picture.transmittance_threshold
        alpha = covered if counts else 0.0
        *color, behind = [lanes[j] for lanes in grads]
        lit = dot(splat.tint, color)
        d_alpha = left * (lit - behind) if counts else 0.0
        grads[3][j] = alpha * lit + (1.0 - alpha) * behind
        pull = -(d_alpha * alpha)
        parts = [
            *scaled(w, pull),
            *(a * d for a in scaled(w, pull * t) for d in ray),
            *scaled(color, alpha * left),
            d_alpha * bell,
        ]
        # A splat that does not count may be where none of these is finite.
        totals = [accumulate(a, part if counts else 0.0) for a, part in zip(totals, parts, strict=True)]
    return totals


def pull_cloud(
    work: Work, op: GaussianSplatRenderBackwardOp, seen_by: Argument, rank: Argument, sums: Argument, groups: int
) -> None:
    """From the sums of all groups to the cotangents of the cloud; an iteration is a splat."""
    scale, element = op.radius_scale.value.data, element_of(op.d_rgba)
    reads = [*Cloud.arguments(op, op.cloud, work.read), seen_by, rank, sums]

    @work.over(op.count, 300 + SUMS * groups, reads, Cloud.arguments(op, op.results, work.write))
    def pull(it: Iteration, *buffers: Array) -> None:
        cloud, (camera, rank, sums), made = Cloud(*buffers[:6]), buffers[6:9], Cloud(*buffers[9:])
        i, place = it.index, cast(rank[it.index], INDEX)
        g = [cast(0.0, element)] * SUMS
        for group in range(groups):
            g = [a + b for a, b in zip(g, sums[group, place], strict=True)]
        splat = seen(cloud, camera, i, scale, element)
        made.scales[i], made.rotations[i], d_away = pull_frame(splat, list(cloud.rotations[i]), g[:3], g[3:12])
        colors, sh = cloud.colors[i], cloud.sh_coeffs[i]
        made.colors[i], d_sh, d_view = pull_tint(colors, sh, splat.away, g[12:15], element)
        made.sh_coeffs[i, : len(d_sh)] = d_sh
        for j in range(len(d_sh), sh.shape[0]):
            made.sh_coeffs[i, j] = 0.0
        made.positions[i] = [-(a + b) for a, b in zip(d_away, d_view, strict=True)] if d_view else [-a for a in d_away]
        opacity = cloud.opacities[i]
        made.opacities[i] = g[15] if splat.in_front and opacity >= 0.0 and opacity <= 1.0 else 0.0


def pull_frame(splat: Seen, q: Vector, d_origin: Vector, d_frame: Vector) -> tuple[Vector, Vector, Vector]:
    """The cotangents of scales, rotation, and the way to the camera."""
    pulled = [[d_frame[3 * a + b] + d_origin[a] * splat.away[b] for b in range(3)] for a in range(3)]
    scales = [-(dot(g, axis) * free) for g, axis, free in zip(pulled, splat.frame, splat.free, strict=True)]
    turned = [scaled(g, factor) for g, factor in zip(pulled, splat.inverse, strict=True)]
    away = [dot([axis[b] for axis in splat.frame], d_origin) for b in range(3)]
    return scales, pull_turn(q, splat.twice, turned), away


def pull_turn(q: Vector, twice: Number, g: Sequence[Vector]) -> Vector:
    """The cotangent of a quaternion. Its matrix is `1 + 2 K(q) / |q|^2`, and `<K(q), g> = <q, dK(q) g> / 2`."""
    w, x, y, z = q
    (a, b, c), (d, e, f), (h, i, j) = g
    along = [
        z * (d - b) + y * (c - h) + x * (i - f),
        y * (b + d) + z * (c + h) - x * (e + j) * 2.0 + w * (i - f),
        x * (b + d) + z * (f + i) - y * (a + j) * 2.0 + w * (c - h),
        x * (c + h) + y * (f + i) - z * (a + e) * 2.0 + w * (d - b),
    ]
    drop = twice * twice * dot(q, along) * 0.5
    return [twice * k - drop * one for k, one in zip(along, q, strict=True)]


def pull_tint(colors: Array, sh: Array, away: Vector, g: Vector, element: Attribute) -> tuple[Vector, Vector, Vector]:
    """The cotangents of colours, of the coefficients that are read, and of the way to the camera, if that is."""
    inside = [c >= 0.0 and c <= 1.0 for c in colors]
    if not sh.shape[0]:
        return [x if ok else 0.0 for ok, x in zip(inside, g, strict=True)], [], []
    harmonic = has_harmonics(sh, element)
    plain = [x if ok and not harmonic else 0.0 for ok, x in zip(inside, g, strict=True)]
    lit = [x if harmonic else 0.0 for x in g]
    flat = [x * HARMONIC_0 for x in lit]
    if sh.shape[0] < 12:
        return plain, flat, []
    (x, y, z), inverse = unit_or_zero(away)
    around = [-dot(lit, sh[9:12]), -dot(lit, sh[3:6]), dot(lit, sh[6:9])]
    radial = dot([x, y, z], around)
    d_away = [(a - radial * e) * (inverse * HARMONIC_1) for a, e in zip(around, (x, y, z), strict=True)]
    facing = [*scaled(lit, -y), *scaled(lit, z), *scaled(lit, -x)]
    return plain, [*flat, *scaled(facing, HARMONIC_1)], d_away
