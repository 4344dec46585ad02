"""The nest of the derivative of the picture of splats: tile by tile, back to front, then splat by splat.

A group of tiles adds up what its pixels say of each splat; how many groups there are does not depend on the threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import SSAValue

from xdsl_rlx.dialects.lir.program import memref_of
from xdsl_rlx.dialects.lir.scalar_builder import Scalar, ScalarBuilder
from xdsl_rlx.dialects.mir.splat import GaussianSplatRenderBackwardOp
from xdsl_rlx.dialects.shapes import element_of
from xdsl_rlx.lowering.buffers import Argument
from xdsl_rlx.lowering.nest.builder import INDEX, Nest
from xdsl_rlx.lowering.nests.splat import (
    Seen,
    Turn,
    camera,
    cloud_of,
    has_harmonics,
    prepare,
    ranks,
    room_for_prepared,
    seen,
    unit_or_zero,
)
from xdsl_rlx.lowering.nests.splat_tiles import LANES, Lanes, Tile, Tiles, conics, cover, load_splat
from xdsl_rlx.lowering.nests.splat_vectors import Vector, dot, here, row, scaled, store_row
from xdsl_rlx.lowering.nests.table import NEST, Iteration, Work
from xdsl_rlx.transforms.rules.splat import HARMONIC_0, HARMONIC_1

GROUPS = 16
"""Groups of tiles at most."""

SUMS = 16
"""Numbers that pixels add up for a splat: cotangents of its origin (3), frame (9), tint (3) and alpha."""


@NEST.rule(GaussianSplatRenderBackwardOp)
def gaussian_splat_render_backward_nest(op: GaussianSplatRenderBackwardOp, work: Work) -> None:
    """The picture once more, its cotangents to those of what is prepared, those to the cloud's."""
    element, picture = element_of(op.d_rgba), op.picture
    seen_by = camera(work, op.meta, picture.height)
    rank = ranks(work, op, seen_by)
    prepared = room_for_prepared(work, op.count, element)
    prepare(work, op, seen_by, rank, prepared)
    tiles = Tiles(picture, op.count, element)
    bounds = conics(work, tiles, seen_by, prepared)
    per_group = max(1, ceil(tiles.total / GROUPS))
    groups = ceil(tiles.total / per_group)
    sums = work.scratch((max(groups, 1), op.count, SUMS), element, "sums")
    cost = 3 * tiles.cost * per_group
    room = tiles.room(work, groups, cost)
    before = work.scratch_per_piece(groups, cost, (op.count, LANES), element, "before")
    given = work.read(op.d_rgba, (picture.height, picture.width, 4))

    def body(it: Iteration, *buffers: SSAValue) -> None:
        (camera, *splats), (conic, given, hits, ids, before, sums) = buffers[:5], buffers[5:]
        nest, kernel, s = it.nest, it.nest.kernel, it.nest.scalars
        pull = PullTile(op, tiles, camera, splats, conic, given, (hits, ids), before, sums, it)
        pull.clear(nest)
        lanes = Lanes(kernel, element)
        grads = [kernel.scratch(MemRefType(element, [LANES]), f"grad{c}") for c in range(4)]
        first = s.of(it.index) * per_group
        last = s.minimum(first + per_group, tiles.total)

        def tile(inner: Nest, number: SSAValue, _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            pull.run(inner, number, lanes, grads)
            return ()

        nest.loop((first.value, last.value), (), tile, "tile")

    if op.count:
        reads = [seen_by, *prepared, bounds, given]
        work.launch(groups, cost, reads, [*room, before, sums], body)
    finish(work, op, seen_by, rank, (sums, groups))


@dataclass
class PullTile:
    """The cotangents of one tile's pixels, added to the sums of its group."""

    op: GaussianSplatRenderBackwardOp
    tiles: Tiles
    camera: SSAValue
    splats: list[SSAValue]
    conic: SSAValue
    given: SSAValue
    lists: tuple[SSAValue, SSAValue]
    before: SSAValue
    sums: SSAValue
    it: Iteration

    def clear(self, nest: Nest) -> None:
        """The sums of the group are 0."""

        def zero(inner: Nest, i: tuple[SSAValue, ...], _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            inner.store(inner.scalars.const(0.0, self.tiles.element), self.sums, (self.it.index, *i))
            return ()

        nest.loops([self.op.count, SUMS], (), zero, "j")

    def run(self, nest: Nest, number: SSAValue, lanes: Lanes, grads: list[SSAValue]) -> None:
        """Forward, the cotangents of the pixels, backward."""
        tile = self.tiles.enter(nest, number, self.camera, lanes)
        count = self.tiles.reaching(nest, tile, self.conic, self.lists, self.it.piece)
        chosen = (self.lists[1], self.it.piece)
        done = self.tiles.composite(nest, lanes, self.splats, chosen, count, self.before)
        self._pixels(nest, tile, lanes, grads)

        def step(inner: Nest, k: SSAValue, _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            b = inner.scalars
            place = (b.of(done) - 1 - b.of(k)).value
            self._splat(inner, place, self.tiles.number(inner, chosen, place), lanes, grads)
            return ()

        nest.loop((nest.kernel.index(0), done), (), step, "k")

    def _pixels(self, nest: Nest, tile: Tile, lanes: Lanes, grads: list[SSAValue]) -> None:
        """Cotangents of what is composited: of the colour, and of the light that is left."""
        gamma, clip = self.op.picture.gamma, self.op.clip

        def zero(inner: Nest, j: SSAValue, _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            for buffer in grads:
                inner.store(inner.scalars.const(0.0, self.tiles.element), buffer, (j,))
            return ()

        def pixel(inner: Nest, at: tuple[SSAValue, SSAValue], lane: SSAValue) -> None:
            b = inner.scalars
            g = row(inner, self.given, at, 4)
            if clip is not None:
                g = [b.maximum(b.minimum(x, clip), -clip) for x in g]
            left = inner.load(lanes.left, (lane,))
            behind = -g[3]
            background = row(inner, self.camera, (), 3, 12)
            for c in range(3):
                linear = inner.load(lanes.color[c], (lane,)) + left * background[c]
                pulled = g[c] * slope(b, linear, gamma)
                inner.store(pulled, grads[c], (lane,))
                behind = behind + pulled * background[c]
            inner.store(behind, grads[3], (lane,))

        nest.loop((nest.kernel.index(0), nest.kernel.index(LANES)), (), zero, "j")
        self.tiles.each_pixel(nest, tile, pixel)

    def _splat(self, nest: Nest, place: SSAValue, number: SSAValue, lanes: Lanes, grads: list[SSAValue]) -> None:
        """One splat at all pixels of the tile. `grads[3]` is the cotangent of the light that it lets through."""
        splat = load_splat(nest, self.splats, number)
        picture, kernel = self.op.picture, nest.kernel
        zero = nest.scalars.const(0.0, self.tiles.element).value

        def lane(inner: Nest, j: SSAValue, carried: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            b = inner.scalars
            ray = [inner.load(x, (j,)) for x in lanes.ray]
            found = cover(b, splat, ray, picture.alpha_cutoff)
            left = inner.load(self.before, (self.it.piece, place, j))
            counts = found.counts & (left >= picture.transmittance_threshold)
            alpha = b.select(counts, found.alpha, 0.0)
            color, behind = [inner.load(x, (j,)) for x in grads[:3]], inner.load(grads[3], (j,))
            lit = dot(here(b, splat.tint), color)
            d_alpha = b.select(counts, left * (lit - behind), 0.0)
            inner.store(alpha * lit + (1.0 - alpha) * behind, grads[3], (j,))
            pull = -(d_alpha * alpha)
            turned = scaled(found.w, pull * found.t)
            parts = [
                *scaled(found.w, pull),
                *(w * d for w in turned for d in ray),
                *scaled(color, alpha * left),
                d_alpha * found.bell,
            ]
            # A splat that does not count may be where none of these is finite.
            parts = [b.select(counts, part, 0.0) for part in parts]
            return [b.accumulate_add(b.of(c), part).value for c, part in zip(carried, parts, strict=True)]

        totals = nest.loop((kernel.index(0), kernel.index(LANES)), [zero] * SUMS, lane, "j")
        at = (self.it.index, number)
        before = row(nest, self.sums, at, SUMS)
        store_row(nest, [a + nest.scalars.of(b) for a, b in zip(before, totals, strict=True)], self.sums, at)


def slope(s: ScalarBuilder, x: Scalar, gamma: float) -> Scalar:
    """The derivative of `max(x, 0)^gamma`."""
    if gamma == 1.0:
        return s.select(x < 0.0, 0.0, s.const(1.0, x.type))
    some = x > 0.0
    return s.select(some, s.pow(s.select(some, x, 1.0), gamma - 1.0) * gamma, 0.0)


def finish(
    work: Work, op: GaussianSplatRenderBackwardOp, seen_by: Argument, rank: Argument, found: tuple[Argument, int]
) -> None:
    """From the sums of all groups to the cotangents of the cloud; an iteration is a splat."""
    count = op.count
    sums, groups = found
    shapes = ((count, 3), (count, 3), (count, 4), (count,), (count, 3), (count, 3 * op.bands))
    results = [work.write(x, shape) for x, shape in zip(op.results, shapes, strict=True)]

    def body(it: Iteration, *buffers: SSAValue) -> None:
        nest, s, i = it.nest, it.nest.scalars, it.index
        cloud, (camera, rank, sums), made = buffers[:6], buffers[6:9], buffers[9:]
        place = s.cast(nest.load(rank, (i,)), INDEX).value

        def add(inner: Nest, g: SSAValue, carried: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            numbers = row(inner, sums, (g, place), SUMS)
            return [(inner.scalars.of(c) + x).value for c, x in zip(carried, numbers, strict=True)]

        zero = s.const(0.0, element_of(op.d_rgba)).value
        bounds = (nest.kernel.index(0), nest.kernel.index(groups))
        totals = here(s, [s.of(x) for x in nest.loop(bounds, [zero] * SUMS, add, "g")])
        splat = seen(nest, op, cloud, camera, i)
        d_away = pull_frame(nest, splat, totals[:3], totals[3:12], made, i)
        d_view = pull_tint(nest, op, cloud[4:], splat.away, totals[12:15], made[4:], i)
        d_position = [s.neg(a if b is None else a + b) for a, b in zip(d_away, d_view or [None] * 3, strict=True)]
        store_row(nest, d_position, made[0], (i,))
        opacity = nest.load(cloud[3], (i,))
        counts = splat.in_front & (opacity >= 0.0) & (opacity <= 1.0)
        nest.store(s.select(counts, totals[15], 0.0), made[3], (i,))

    work.launch(count, 300 + SUMS * groups, [*cloud_of(work, op), seen_by, rank, sums], results, body)


def pull_frame(
    nest: Nest, splat: Seen, d_origin: Vector, d_frame: Vector, made: Sequence[SSAValue], i: SSAValue
) -> Vector:
    """Store the cotangents of scales and rotation; that of the way to the camera."""
    pulled = [[d_frame[3 * a + b] + d_origin[a] * splat.away[b] for b in range(3)] for a in range(3)]
    scales = [-(dot(g, axis) * free) for g, axis, free in zip(pulled, splat.frame, splat.free, strict=True)]
    store_row(nest, scales, made[1], (i,))
    turned = [scaled(g, factor) for g, factor in zip(pulled, splat.inverse, strict=True)]
    store_row(nest, pull_turn(splat.turn, turned), made[2], (i,))
    return [dot([axis[b] for axis in splat.frame], d_origin) for b in range(3)]


def pull_turn(turn: Turn, g: list[Vector]) -> Vector:
    """The cotangent of a quaternion. Its matrix is `1 + 2 K(q) / |q|^2`, and `<K(q), g> = <q, dK(q) g> / 2`."""
    w, x, y, z = turn.q
    (a, b, c), (d, e, f), (h, i, j) = g
    along = [
        z * (d - b) + y * (c - h) + x * (i - f),
        y * (b + d) + z * (c + h) - x * (e + j) * 2.0 + w * (i - f),
        x * (b + d) + z * (f + i) - y * (a + j) * 2.0 + w * (c - h),
        x * (c + h) + y * (f + i) - z * (a + e) * 2.0 + w * (d - b),
    ]
    drop = turn.twice * turn.twice * dot(turn.q, along) * 0.5
    return [turn.twice * k - drop * q for k, q in zip(along, turn.q, strict=True)]


def pull_tint(
    nest: Nest,
    op: GaussianSplatRenderBackwardOp,
    given: Sequence[SSAValue],
    away: Vector,
    g: Vector,
    made: Sequence[SSAValue],
    i: SSAValue,
) -> Vector | None:
    """Store the cotangents of colours and coefficients; that of the way to the camera, None if there is none."""
    s = nest.scalars
    colors = row(nest, given[0], (i,), 3)
    inside = [(c >= 0.0) & (c <= 1.0) for c in colors]
    if not op.bands:
        store_row(nest, [s.select(ok, x, 0.0) for ok, x in zip(inside, g, strict=True)], made[0], (i,))
        return None
    harmonic = has_harmonics(nest, op, given[1], i)
    plain = [s.select(ok & s.not_(harmonic), x, 0.0) for ok, x in zip(inside, g, strict=True)]
    store_row(nest, plain, made[0], (i,))
    lit = [s.select(harmonic, x, 0.0) for x in g]
    parts = [x * HARMONIC_0 for x in lit]
    found: Vector | None = None
    if op.bands >= 4:
        (x, y, z), inverse = unit_or_zero(s, away)
        parts += [-(c * y) * HARMONIC_1 for c in lit] + [c * z * HARMONIC_1 for c in lit]
        parts += [-(c * x) * HARMONIC_1 for c in lit]
        k = row(nest, given[1], (i,), 9, 3)
        around = [-dot(lit, k[6:9]), -dot(lit, k[:3]), dot(lit, k[3:6])]
        radial = dot([x, y, z], around)
        found = [(a - radial * e) * (inverse * HARMONIC_1) for a, e in zip(around, (x, y, z), strict=True)]
    store_row(nest, parts, made[1], (i,))
    rest = 3 * op.bands - len(parts)
    clear_rest(nest, made[1], i, len(parts), rest)
    return found


def clear_rest(nest: Nest, buffer: SSAValue, i: SSAValue, start: int, length: int) -> None:
    """Zeros where nothing is read."""

    def zero(inner: Nest, j: SSAValue, _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
        inner.store(inner.scalars.of(nothing.value), buffer, (i, j))
        return ()

    nothing = nest.scalars.const(0.0, memref_of(buffer).element_type)
    if length:
        nest.loop((nest.kernel.index(start), nest.kernel.index(start + length)), (), zero, "j")
