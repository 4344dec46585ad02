"""Tiles of a picture: which splats can reach one, and compositing them, all pixels of a tile side by side.

A splat that is left out covers no pixel of the tile by `alpha_cutoff`, so the picture is the same to the bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, inf

from xdsl.dialects.builtin import Float32Type, MemRefType, f64, i64
from xdsl.ir import Attribute, SSAValue

from xdsl_rlx.dialects.lir.scalar_builder import Scalar, ScalarBuilder
from xdsl_rlx.dialects.mir.splat import Picture
from xdsl_rlx.lowering.buffers import Argument
from xdsl_rlx.lowering.nest.builder import INDEX, Kernel, Nest
from xdsl_rlx.lowering.nests.splat_vectors import Vector, dot, here, row
from xdsl_rlx.lowering.nests.table import Iteration, Work

SIDE = 8
"""Pixels of a tile along each side."""

LANES = SIDE * SIDE
"""Pixels of a tile."""

COST = 48
"""What one splat costs at one pixel, in scalar operations."""

CONIC = 7
"""Numbers of a conic: those of its quadratic form, and what counts as 0."""


class Lanes:
    """Numbers of the pixels of a tile, on the stack: rays, the light that is left, colours so far."""

    def __init__(self, kernel: Kernel, element: Attribute):
        def room(name: str, length: int = LANES) -> SSAValue:
            return kernel.scratch(MemRefType(element, [length]), name)

        self.ray = [room(f"ray{a}") for a in range(3)]
        self.left = room("left")
        self.color = [room(f"color{c}") for c in range(3)]
        self.alive = room("alive", 1)


@dataclass
class Splat:
    """What compositing reads of one splat."""

    origin: Vector
    frame: list[Vector]
    tint: Vector
    peak: Scalar


@dataclass
class Cover:
    """One splat at one pixel: `w` from its centre to the nearest point of the ray, at `t`; what it covers, and whether
    that counts."""

    w: Vector
    t: Scalar
    bell: Scalar
    alpha: Scalar
    counts: Scalar


def load_splat(nest: Nest, prepared: Sequence[SSAValue], i: SSAValue) -> Splat:
    """One splat of origins, frames, tints and alphas."""
    origins, frames, tints, alphas = prepared
    frame = [row(nest, frames, (i, nest.kernel.index(a)), 3) for a in range(3)]
    return Splat(row(nest, origins, (i,), 3), frame, row(nest, tints, (i,), 3), nest.load(alphas, (i,)))


def cover(s: ScalarBuilder, splat: Splat, ray: Vector, cutoff: float) -> Cover:
    """One splat at one pixel."""
    u = here(s, splat.origin)
    v = [dot(here(s, axis), ray) for axis in splat.frame]
    square = dot(v, v)
    t = -(dot(u, v) / s.select(square > 0.0, square, 1.0))
    w = [a + t * b for a, b in zip(u, v, strict=True)]
    bell = s.exp(dot(w, w) * -0.5)
    alpha = s.of(splat.peak.value) * bell
    return Cover(w, t, bell, alpha, (t > 0.0) & (alpha >= cutoff))


@dataclass
class Tile:
    """One tile: the pixel of its first lane, and how many rows and columns of it are in the picture."""

    column: Scalar
    row: Scalar
    columns: Scalar
    rows: Scalar


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

    def enter(self, nest: Nest, tile: SSAValue, camera: SSAValue, lanes: Lanes) -> Tile:
        """Set up the rays; nothing is covered yet."""
        s, kernel = nest.scalars, nest.kernel
        picture = self.picture
        first = s.of(nest.remainder(tile, self.across)) * SIDE
        top = s.of(nest.quotient(tile, self.across)) * SIDE
        right, up, forward = (row(nest, camera, (), 3, start) for start in (3, 6, 9))

        def lane(inner: Nest, j: SSAValue, _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            b = inner.scalars
            column = b.of(inner.remainder(j, SIDE)) + b.of(first.value)
            line = b.of(inner.quotient(j, SIDE)) + b.of(top.value)
            x = b.cast(column, self.element) + (0.5 - picture.width / 2)
            y = (picture.height / 2 - 0.5) - b.cast(line, self.element)
            for a, buffer in enumerate(lanes.ray):
                ray = b.of(forward[a].value) + x * b.of(right[a].value) + y * b.of(up[a].value)
                inner.store(ray, buffer, (j,))
            inner.store(b.const(1.0, self.element), lanes.left, (j,))
            for buffer in lanes.color:
                inner.store(b.const(0.0, self.element), buffer, (j,))
            return ()

        nest.loop((kernel.index(0), kernel.index(LANES)), (), lane, "j")
        nest.store(s.const(1.0, self.element), lanes.alive, (kernel.index(0),))
        columns = s.minimum(picture.width - first, SIDE)
        return Tile(first, top, columns, s.minimum(picture.height - top, SIDE))

    def reaching(
        self, nest: Nest, tile: Tile, conic: SSAValue, lists: tuple[SSAValue, SSAValue], piece: SSAValue
    ) -> SSAValue:
        """List the splats that may cover a pixel of the tile, in order; how many they are."""
        kernel, s = nest.kernel, nest.scalars
        if not self.culls:
            return kernel.index(self.count)
        hits, ids = lists
        half = (SIDE - 1) / 2
        x = s.cast(tile.column, f64) + (0.5 + half - self.picture.width / 2)
        y = (self.picture.height / 2 - 0.5 - half) - s.cast(tile.row, f64)

        def test(inner: Nest, i: SSAValue, _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            b = inner.scalars
            a, c, e, f, g, h, slack = (inner.load(conic, (kernel.index(n), i)) for n in range(CONIC))
            at_x, at_y = b.of(x.value), b.of(y.value)
            slope_x, slope_y = a * at_x + e * at_y + f, e * at_x + c * at_y + g
            middle = at_x * (slope_x + f) + at_y * (slope_y + g) + h
            bent = (b.minimum(a, 0.0) + b.minimum(c, 0.0) - b.abs(e) * 2.0) * (half * half)
            least = middle - (b.abs(slope_x) + b.abs(slope_y)) * (2.0 * half) + bent
            inner.store(b.cast(b.not_(least > slack), i64), hits, (piece, i))
            return ()

        bounds = (kernel.index(0), kernel.index(self.count))
        nest.loop(bounds, (), test, "i")

        def collect(inner: Nest, i: SSAValue, carried: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            b = inner.scalars
            inner.store(b.cast(b.of(i), i64), ids, (piece, carried[0]))
            hit = b.cast(inner.load(hits, (piece, i)), INDEX)
            return ((b.of(carried[0]) + hit).value,)

        return nest.loop(bounds, (kernel.index(0),), collect, "i")[0]

    def number(self, nest: Nest, lists: tuple[SSAValue, SSAValue], k: SSAValue) -> SSAValue:
        """The splat at place `k` of a list."""
        if not self.culls:
            return k
        ids, piece = lists
        return nest.scalars.cast(nest.load(ids, (piece, k)), INDEX).value

    def composite(
        self,
        nest: Nest,
        lanes: Lanes,
        prepared: Sequence[SSAValue],
        lists: tuple[SSAValue, SSAValue],
        count: SSAValue,
        before: SSAValue | None,
    ) -> SSAValue:
        """Composite the splats listed; how many it took until no pixel of the tile passed the threshold.

        `before` gets, by piece, place in the list and lane, the light that reaches each of them.
        """
        threshold = self.picture.transmittance_threshold
        c0 = nest.kernel.index(0)

        def add(inner: Nest, k: SSAValue) -> None:
            splat = load_splat(inner, prepared, self.number(inner, lists, k))
            start = inner.scalars.const(0.0, self.element).value

            def lane(deepest: Nest, j: SSAValue, carried: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
                b = deepest.scalars
                found = cover(b, splat, [deepest.load(x, (j,)) for x in lanes.ray], self.picture.alpha_cutoff)
                left = deepest.load(lanes.left, (j,))
                if before is not None:
                    deepest.store(left, before, (lists[1], k, j))
                alpha = b.select(found.counts & (left >= threshold), found.alpha, 0.0)
                weight = alpha * left
                for buffer, tint in zip(lanes.color, splat.tint, strict=True):
                    deepest.store(deepest.load(buffer, (j,)) + weight * b.of(tint.value), buffer, (j,))
                after = left * (1.0 - alpha)
                deepest.store(after, lanes.left, (j,))
                passing = b.select(after >= threshold, b.const(1.0, self.element), 0.0)
                return (b.accumulate_add(b.of(carried[0]), passing).value,)

            (passing,) = inner.loop((c0, inner.kernel.index(LANES)), (start,), lane, "j")
            inner.store(inner.scalars.of(passing), lanes.alive, (c0,))

        def step(inner: Nest, k: SSAValue, carried: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            b = inner.scalars
            alive = inner.load(lanes.alive, (c0,)) > 0.0
            inner.guard(alive.value, lambda inside: add(inside, k))
            return ((b.of(carried[0]) + b.cast(alive, INDEX)).value,)

        return nest.loop((c0, count), (c0,), step, "k")[0]

    def each_pixel(
        self, nest: Nest, tile: Tile, body: Callable[[Nest, tuple[SSAValue, SSAValue], SSAValue], None]
    ) -> None:
        """`body(nest, (row, column), lane)` for the pixels of the tile that are in the picture."""
        c0 = nest.kernel.index(0)

        def line(inner: Nest, i: SSAValue, _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            def pixel(deepest: Nest, j: SSAValue, _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
                b = deepest.scalars
                at = (b.of(i) + b.of(tile.row.value)).value, (b.of(j) + b.of(tile.column.value)).value
                body(deepest, at, (b.of(i) * SIDE + b.of(j)).value)
                return ()

            inner.loop((c0, tile.columns.value), (), pixel, "x")
            return ()

        nest.loop((c0, tile.rows.value), (), line, "y")


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

    def body(
        it: Iteration, camera: SSAValue, origins: SSAValue, frames: SSAValue, alphas: SSAValue, made: SSAValue
    ) -> None:
        nest, s, i = it.nest, it.nest.scalars, it.index

        def wide(values: Vector) -> Vector:
            return [s.cast(x, f64) for x in values]

        u = wide(row(nest, origins, (i,), 3))
        frame = [wide(row(nest, frames, (i, nest.kernel.index(a)), 3)) for a in range(3)]
        peak = s.cast(nest.load(alphas, (i,)), f64)
        along = [[dot(axis, wide(row(nest, camera, (), 3, start))) for axis in frame] for start in (3, 6, 9)]
        size = dot(u, u)
        radius = reach(s, u, frame, peak, picture.alpha_cutoff, eps)
        factor = size - radius * radius
        entries = [
            factor * dot(along[a], along[b]) - dot(u, along[a]) * dot(u, along[b])
            for a, b in ((0, 0), (1, 1), (0, 1), (0, 2), (1, 2), (2, 2))
        ]
        longest = sum_of(
            s, [s.sqrt(dot(v, v)) * n for v, n in zip(along, (picture.width, picture.height, 1), strict=True)]
        )
        slack = (size + radius * radius) * longest * longest * 1e-13
        hidden = peak < picture.alpha_cutoff
        values = [s.select(hidden, 0.0, x) for x in entries[:5]]
        values += [s.select(hidden, inf, entries[5]), s.select(hidden, 0.0, slack)]
        for n, value in enumerate(values):
            nest.store(value, made, (nest.kernel.index(n), i))

    origins, frames, _, alphas = prepared
    work.launch(tiles.count, 150, [seen_by, origins, frames, alphas], [made], body)
    return made


def sum_of(s: ScalarBuilder, values: Sequence[Scalar]) -> Scalar:
    """The sum from the front."""
    total = values[0]
    for x in values[1:]:
        total = total + x
    return total


def reach(s: ScalarBuilder, u: Vector, frame: list[Vector], peak: Scalar, cutoff: float, eps: float) -> Scalar:
    """
    The distance from the centre within which the density may be computed as at least the cutoff.

    Rounding moves the nearest point of a ray by some `eps |u|` times the condition number of the frame, of which `|A|^3
    / (2 |det A|)` with the Frobenius norm is a bound; and the density by some `eps`, which moves a small radius most.
    """
    (a, b, c), (d, e, f), (g, h, i) = frame
    det = a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)
    squares = sum_of(s, [dot(axis, axis) for axis in frame])
    condition = squares * s.sqrt(squares) * 0.5 / s.abs(det)
    blur = s.sqrt(dot(u, u)) * condition * (16 * eps)
    return s.sqrt(s.log(peak / cutoff) * 2.0 + 64 * eps) + blur
