"""Tiles of a picture: which splats can reach one, and compositing them, all pixels of a tile side by side.

A splat that is left out covers no pixel of the tile by `alpha_cutoff`, so the picture is the same to the bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, inf

from xdsl.dialects.builtin import Float32Type, f64, i64
from xdsl.ir import Attribute

from xdsl_rlx.dialects.lir.scalar_builder import INDEX
from xdsl_rlx.lowering.buffers import Argument
from xdsl_rlx.lowering.kernel_dsl import Array, Iteration, Number, accumulate, cast, exp, log, minimum, scratch, sqrt
from xdsl_rlx.lowering.kernels.work import Work
from xdsl_rlx.plugins.splat.ops import Picture
from xdsl_rlx.plugins.splat.vectors import Vector, dot

SIDE = 8
"""Pixels of a tile along each side."""

LANES = SIDE * SIDE
"""Pixels of a tile."""

COST = 48
"""What one splat costs at one pixel, in scalar operations."""

CONIC = 7
"""Numbers of a conic: those of its quadratic form, and what counts as 0."""


@dataclass
class Prepared:
    """Splats as the camera sees them, in the order of their distances; or one of them, as numbers."""

    origin: Array
    frame: Array
    tint: Array
    peak: Array

    def splat(self, i: Number) -> Prepared:
        """One of them, loaded once for all pixels."""
        frame = [list(axis) for axis in self.frame[i]]
        return Prepared(list(self.origin[i]), frame, list(self.tint[i]), self.peak[i])


def cover(splat: Prepared, ray: Vector, cutoff: float) -> tuple[Vector, Number, Number, Number, Number]:
    """One splat at one pixel: from its centre to the nearest point of the ray, the place of that along the ray; density
    there, of 1 in the centre, what it covers, and whether that counts."""
    v = [dot(axis, ray) for axis in splat.frame]
    square = dot(v, v)
    t = -(dot(splat.origin, v) / (square if square > 0.0 else 1.0))
    w = [a + t * b for a, b in zip(splat.origin, v, strict=True)]
    bell = exp(dot(w, w) * -0.5)
    alpha = splat.peak * bell
    return w, t, bell, alpha, t > 0.0 and alpha >= cutoff


@dataclass
class Tile:
    """One tile: the pixel of its first lane, how many rows and columns of it are in the picture; and, on the stack, for
    each lane the ray, the light that is left and the colour so far."""

    column: Number
    row: Number
    columns: Number
    rows: Number
    ray: Sequence[Array]
    left: Array
    color: Sequence[Array]
    alive: Array
    """How many lanes have light left, as one number."""


@dataclass
class Tiles:
    """The tiles of a picture of `count` splats."""

    picture: Picture
    count: int
    element: Attribute

    @property
    def across(self) -> int:
        """Tiles in a row of them."""
        return ceil(self.picture.width / SIDE)

    @property
    def total(self) -> int:
        """All tiles."""
        return self.across * ceil(self.picture.height / SIDE)

    @property
    def cost(self) -> int:
        """What one tile costs, in scalar operations."""
        return LANES * (8 + COST * self.count)

    @property
    def culls(self) -> bool:
        """Whether some splats may be left out."""
        return self.picture.alpha_cutoff > 0

    def room(self, work: Work, extent: int, cost: int) -> list[Argument]:
        """For each piece of a launch: which splats reach a tile, and their numbers."""
        length = self.count + 1
        return [work.scratch_per_piece(extent, cost, (length,), i64, name) for name in ("reaches", "reaching")]

    def enter(self, number: Number, camera: Array) -> Tile:
        """A tile whose rays are set up; nothing is covered yet."""
        width, height = self.picture.width, self.picture.height
        column, row = number % self.across * SIDE, number // self.across * SIDE
        ray = [scratch(LANES, self.element) for _ in range(3)]
        left = scratch(LANES, self.element)
        color = [scratch(LANES, self.element) for _ in range(3)]
        alive = scratch(1, self.element)
        right, up, forward = list(camera[3:6]), list(camera[6:9]), list(camera[9:12])
        for j in range(LANES):
            x = cast(j % SIDE + column, self.element) + (0.5 - width / 2)
            y = (height / 2 - 0.5) - cast(j // SIDE + row, self.element)
            for a, lanes in enumerate(ray):
                lanes[j] = forward[a] + x * right[a] + y * up[a]
            left[j] = 1.0
            for lanes in color:
                lanes[j] = 0.0
        alive[0] = 1.0
        return Tile(column, row, min(width - column, SIDE), min(height - row, SIDE), ray, left, color, alive)

    def reaching(self, tile: Tile, conic: Array, hits: Array, ids: Array) -> Number:
        """List in `ids` the splats that may cover a pixel of the tile, in order; how many they are."""
        if not self.culls:
            return self.count
        half = (SIDE - 1) / 2
        x = cast(tile.column, f64) + (0.5 + half - self.picture.width / 2)
        y = (self.picture.height / 2 - 0.5 - half) - cast(tile.row, f64)
        for i in range(self.count):
            a, c, e, f, g, h, slack = conic[:, i]
            slope_x, slope_y = a * x + e * y + f, e * x + c * y + g
            middle = x * (slope_x + f) + y * (slope_y + g) + h
            bent = (minimum(a, 0.0) + minimum(c, 0.0) - abs(e) * 2.0) * (half * half)
            least = middle - (abs(slope_x) + abs(slope_y)) * (2.0 * half) + bent
            hits[i] = not least > slack
        reached = cast(0, INDEX)
        for i in range(self.count):
            ids[reached] = i
            reached = reached + cast(hits[i], INDEX)
        return reached

    def number(self, ids: Array, k: Number) -> Number:
        """The splat at place `k` of a list."""
        return cast(ids[k], INDEX) if self.culls else k

    def composite(
        self, tile: Tile, splats: Prepared, conic: Array, hits: Array, ids: Array, before: Array | None = None
    ) -> Number:
        """Composite the splats that reach the tile; how many it took until none of its pixels passed the threshold.

        `ids` gets those splats, `before` for each of them the light that reaches it, by lane.
        """
        taken = cast(0, INDEX)
        for k in range(self.reaching(tile, conic, hits, ids)):
            alive = tile.alive[0] > 0.0
            if alive:
                self._add(tile, splats.splat(self.number(ids, k)), None if before is None else before[k])
            taken = taken + cast(alive, INDEX)
        return taken

    def _add(self, tile: Tile, splat: Prepared, before: Array | None) -> None:
        """One splat, on top of nothing but what is behind it."""
        threshold = self.picture.transmittance_threshold
        one, passing = cast(1.0, self.element), cast(0.0, self.element)
        for j in range(LANES):
            _, _, _, covered, counts = cover(splat, [lanes[j] for lanes in tile.ray], self.picture.alpha_cutoff)
            left = tile.left[j]
            if before is not None:
                before[j] = left
            alpha = covered if counts and left >= threshold else 0.0
            weight = alpha * left
            for lanes, tint in zip(tile.color, splat.tint, strict=True):
                lanes[j] += weight * tint
            after = left * (1.0 - alpha)
            tile.left[j] = after
            passing = accumulate(passing, one if after >= threshold else 0.0)
        tile.alive[0] = passing


def conics(work: Work, tiles: Tiles, seen_by: Argument, prepared: Sequence[Argument]) -> Argument:
    """
    For each splat the conic in which it covers pixels, in pixels from the middle of the picture.

    With `u` and `v` in the frame of the splat, the ray passes the centre at a distance of at most `r` where `(|u|^2 -
    r^2) |v|^2 - (u v)^2 <= 0`: a quadratic form in the pixel, because `v` is linear in it. Density falls to the cutoff
    at `r^2 = 2 log(peak / cutoff)`; that is widened by what rounding may add where the picture is computed.
    """
    made = work.scratch((CONIC, max(tiles.count, 1)), f64, "conic")
    if not tiles.culls:
        return made
    picture = tiles.picture
    eps = 2.0**-23 if isinstance(tiles.element, Float32Type) else 2.0**-52

    origins, frames, _, alphas = prepared

    @work.over(tiles.count, 150, [seen_by, origins, frames, alphas], [made])
    def conic(it: Iteration, camera: Array, origins: Array, frames: Array, alphas: Array, made: Array) -> None:
        i = it.index
        u, frame = wide(origins[i]), [wide(axis) for axis in frames[i]]
        peak = cast(alphas[i], f64)
        along = [[dot(axis, wide(camera[first : first + 3])) for axis in frame] for first in (3, 6, 9)]
        size = dot(u, u)
        radius = reach(u, frame, peak, picture.alpha_cutoff, eps)
        factor = size - radius * radius
        form = [
            factor * dot(along[a], along[b]) - dot(u, along[a]) * dot(u, along[b])
            for a, b in ((0, 0), (1, 1), (0, 1), (0, 2), (1, 2), (2, 2))
        ]
        longest = sum(sqrt(dot(v, v)) * n for v, n in zip(along, (picture.width, picture.height, 1), strict=True))
        slack = (size + radius * radius) * longest * longest * 1e-13
        hidden = peak < picture.alpha_cutoff
        values = [0.0 if hidden else x for x in form[:5]]
        made[:, i] = [*values, inf if hidden else form[5], 0.0 if hidden else slack]

    return made


def wide(values: Vector) -> list[Number]:
    """A vector of doubles."""
    return [cast(x, f64) for x in values]


def reach(u: Vector, frame: Sequence[Vector], peak: Number, cutoff: float, eps: float) -> Number:
    """
    The distance from the centre within which the density may be computed as at least the cutoff.

    Rounding moves the nearest point of a ray by some `eps |u|` times the condition number of the frame, of which `|A|^3
    / (2 |det A|)` with the Frobenius norm is a bound; and the density by some `eps`, which moves a small radius most.
    """
    (a, b, c), (d, e, f), (g, h, i) = frame
    det = a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)
    squares = sum(dot(axis, axis) for axis in frame)
    condition = squares * sqrt(squares) * 0.5 / abs(det)
    blur = sqrt(dot(u, u)) * condition * (16 * eps)
    return sqrt(log(peak / cutoff) * 2.0 + 64 * eps) + blur
