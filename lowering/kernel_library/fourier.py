"""The steps of Fourier transforms of blocks of frames by Stockham's algorithm: reading frames, stages, writing frames.

Numbers of a transform are read from its plan, so that equal functions serve all lengths. An iteration is a point, or a
place of a stage. An inverse transform is that of the points from the last to the first, behind point 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import cos, pi, sin

from xdsl_rlx.dialects.lir.fourier import APART, POINTS, RESULT_POINTS, SOURCE_POINTS, Layout
from xdsl_rlx.lowering.kernel_dsl import Array, Iteration, Number, cast, lanes, rolled
from xdsl_rlx.lowering.kernel_dsl.kernel_builder import INDEX


@dataclass(frozen=True)
class Complex:
    """A complex number by its parts."""

    re: Number
    im: Number = 0.0

    def __add__(self, other: Complex) -> Complex:
        return Complex(self.re + other.re, self.im + other.im)

    def __sub__(self, other: Complex) -> Complex:
        return Complex(self.re - other.re, self.im - other.im)

    def __mul__(self, other: Complex) -> Complex:
        return Complex(self.re * other.re - self.im * other.im, self.re * other.im + self.im * other.re)

    def scaled(self, factor: Number) -> Complex:
        return Complex(self.re * factor, self.im * factor)

    def conjugate(self) -> Complex:
        return Complex(self.re, -self.im)

    def turned(self, sign: int = 1) -> Complex:
        """Times `sign i`."""
        return Complex(-self.im, self.re) if sign > 0 else Complex(self.im, -self.re)


def _sum(terms: Sequence[Complex]) -> Complex:
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def butterfly(x: Sequence[Complex]) -> list[Complex]:
    """The transform of a few numbers: 2, 4, or an odd count."""
    n, half = len(x), tuple(range(1, len(x) // 2 + 1))
    if n == 2:
        return [x[0] + x[1], x[0] - x[1]]
    if n == 4:
        even, odd, turned = (x[0] + x[2], x[0] - x[2]), x[1] + x[3], (x[1] - x[3]).turned(-1)
        return [even[0] + odd, even[1] + turned, even[0] - odd, even[1] - turned]
    sums, differences = [x[j] + x[n - j] for j in half], [x[j] - x[n - j] for j in half]
    near, far = [_sum([x[0], *sums])], list[Complex]()
    for k in half:
        angles = [2 * pi * (j * k % n) / n for j in half]
        along = _sum([x[0], *[both.scaled(cos(angle)) for both, angle in zip(sums, angles, strict=True)]])
        across = _sum([both.scaled(-sin(angle)) for both, angle in zip(differences, angles, strict=True)])
        near, far = [*near, along + across.turned()], [along - across.turned(), *far]
    return near + far


@dataclass(frozen=True)
class StageLoop:
    """
    The stages of a radix: `lir.fourier.Stage` says what one computes. An iteration is one of its `rest` places.

    With `lanes`, so many numbers are a vector: parts are `part[place, lane]`, and the plan has the step in vectors.
    Else parts are `part[place]`, and `step` is that of the plan where it is known beforehand.
    """

    radix: int
    has_factors: bool
    lanes: int | None = None
    step: int | None = None

    def places(self, first: Number, apart: Number) -> list[Number]:
        """As many places as the radix."""
        return [first + j * apart for j in range(self.radix)]

    def values(self, x: list[Complex], factors: list[Complex]) -> list[Complex]:
        """The results of one place."""
        values = butterfly(x)
        if not self.has_factors:
            return values
        return [values[0], *[value * factor for value, factor in zip(values[1:], factors, strict=True)]]


def stage(
    it: Iteration,
    plan: Array,
    table: Array,
    re: Array,
    im: Array,
    target_re: Array,
    target_im: Array,
    loop: StageLoop,
) -> None:
    """An iteration of a stage."""
    p, rest, first = it.index, cast(plan[0], INDEX), cast(plan[2], INDEX)
    step = cast(plan[1], INDEX) if loop.step is None else loop.step
    row = p * (loop.radix - 1) + first
    factors = [Complex(*table[row + k]) for k in range(loop.radix - 1)] if loop.has_factors else []
    if loop.lanes is not None:
        for q in rolled(range(step)):
            read, write = p * step + q, p * (loop.radix * step) + q
            for t in lanes(range(loop.lanes)):
                x = [Complex(re[at, t], im[at, t]) for at in loop.places(read, rest * step)]
                for at, value in zip(loop.places(write, step), loop.values(x, factors), strict=True):
                    target_re[at, t], target_im[at, t] = value.re, value.im
    else:
        for q in rolled(range(step)):
            read, write = p * step + q, p * (loop.radix * step) + q
            x = [Complex(re[at], im[at]) for at in loop.places(read, rest * step)]
            for at, value in zip(loop.places(write, step), loop.values(x, factors), strict=True):
                target_re[at], target_im[at] = value.re, value.im


def read(
    it: Iteration,
    plan: Array,
    re: Array,
    im: Array,
    *frames: Array,
    layout: Layout,
    backwards: bool,
    together: int,
    width: int,
) -> None:
    """Read so many points of each frame, the last ones if no more are left; `backwards`, the first becomes the last."""
    n, first = cast(plan[POINTS], INDEX), it.index
    if together > 1:
        first = min(first * together, cast(plan[SOURCE_POINTS], INDEX) - together)
    for u in rolled(range(together)):
        j = first + u
        at = n - j if backwards else j
        if layout is Layout.COLUMNS:
            point = j * cast(plan[APART], INDEX)
            for v in across(width):
                re[at, v], im[at, v] = frames[0][point + 2 * v], frames[0][point + 2 * v + 1]
        for v, frame in enumerate(() if layout is Layout.COLUMNS else frames):
            if layout is Layout.INTERLEAVED:
                re[at, v], im[at, v] = frame[2 * j], frame[2 * j + 1]
            elif layout is Layout.PLANAR:
                re[at, v], im[at, v] = frame[j], frame[n + j]
            else:
                re[at, v], im[at, v] = frame[j], 0.0


def write(
    it: Iteration,
    plan: Array,
    table: Array,
    re: Array,
    im: Array,
    *frames: Array,
    layout: Layout,
    together: int,
    scaled: bool,
) -> None:
    """
    Write so many points of each frame, the last ones if no more are left; `scaled`, times the factor of the transform.

    Without one, what brings the parts together takes half as many instructions.
    """
    first, factor = it.index, table[0, 0] if scaled else None
    if together > 1:
        first = min(first * together, cast(plan[RESULT_POINTS], INDEX) - together)
    for u in rolled(range(together)):
        j = first + u
        for v, frame in enumerate(frames):
            x = Complex(re[j, v], im[j, v])
            if factor is not None:
                x = x.scaled(factor)
            if layout is Layout.INTERLEAVED:
                frame[2 * j], frame[2 * j + 1] = x.re, x.im
            elif layout is Layout.PLANAR:
                frame[j], frame[cast(plan[POINTS], INDEX) + j] = x.re, x.im
            else:
                frame[j] = x.re


def across(width: int) -> Iterable[Number]:
    """The frames of a block: as vectors, or as a loop of which LLVM makes a vector with a mask."""
    return lanes(range(width)) if width & (width - 1) == 0 else rolled(range(width))


def append_first(it: Iteration, plan: Array, re: Array, im: Array, width: int) -> None:
    """Repeat point 0 behind the last one."""
    n = cast(plan[POINTS], INDEX)
    for v in across(width):
        re[n, v], im[n, v] = re[0, v], im[0, v]


def prepend_last(it: Iteration, plan: Array, re: Array, im: Array, width: int) -> None:
    """Have in front what is behind the last point."""
    n = cast(plan[POINTS], INDEX)
    for v in across(width):
        re[0, v], im[0, v] = re[n, v], im[n, v]


def real_ends(it: Iteration, plan: Array, im: Array, width: int) -> None:
    """Drop the imaginary parts of the points 0 and `n`, which are real by definition."""
    n = cast(plan[POINTS], INDEX)
    for v in across(width):
        im[0, v] = 0.0
        im[n, v] = 0.0


def mirror(it: Iteration, plan: Array, re: Array, im: Array, width: int) -> None:
    """A bin from that on the other side of the middle, where they lie from the last to the first."""
    n, k = cast(plan[POINTS], INDEX), it.index
    for v in across(width):
        re[k + 1, v], im[k + 1, v] = re[n - 1 - k, v], -im[n - 1 - k, v]


def conjugates(it: Iteration, plan: Array, re: Array, im: Array, width: int) -> None:
    """A bin behind the middle, of all those of the result, from that on the other side."""
    n, k = cast(plan[RESULT_POINTS], INDEX), it.index
    for v in across(width):
        re[n - 1 - k, v], im[n - 1 - k, v] = re[k + 1, v], -im[k + 1, v]


def real_part(it: Iteration, plan: Array, re: Array, im: Array, width: int) -> None:
    """A bin of the real part of a signal: half of the bin, and of the conjugate on the other side of the middle."""
    n, k = cast(plan[SOURCE_POINTS], INDEX), it.index
    for v in across(width):
        z, other = Complex(re[k + 1, v], im[k + 1, v]), Complex(re[n - 1 - k, v], im[n - 1 - k, v]).conjugate()
        value = (z + other).scaled(0.5)
        re[k + 1, v], im[k + 1, v] = value.re, value.im


def times(it: Iteration, plan: Array, chirp: Array, re: Array, im: Array, width: int) -> None:
    """Multiply a point by its number of the table."""
    k = it.index
    factor = Complex(*chirp[cast(plan[0], INDEX) + k])
    for v in across(width):
        value = Complex(re[k, v], im[k, v]) * factor
        re[k, v], im[k, v] = value.re, value.im


def pad(it: Iteration, plan: Array, re: Array, im: Array, width: int) -> None:
    """Set a point behind the last one to 0."""
    k = cast(plan[POINTS], INDEX) + it.index
    for v in across(width):
        re[k, v], im[k, v] = 0.0, 0.0


def append_first_convolved(it: Iteration, plan: Array, re: Array, im: Array, width: int) -> None:
    """As `append_first`, of the points of a convolution."""
    n = cast(plan[1], INDEX)
    for v in across(width):
        re[n, v], im[n, v] = re[0, v], im[0, v]


def convolved(
    it: Iteration,
    plan: Array,
    chirp: Array,
    re: Array,
    im: Array,
    target_re: Array,
    target_im: Array,
    width: int,
) -> None:
    """A point of the convolution, which lies from the last to the first, times its number of the table."""
    n, k = cast(plan[1], INDEX), it.index
    factor = Complex(*chirp[cast(plan[0], INDEX) + k])
    for v in across(width):
        value = Complex(re[n - k, v], im[n - k, v]) * factor
        target_re[k, v], target_im[k, v] = value.re, value.im


def halves(
    it: Iteration,
    plan: Array,
    turns: Array,
    re: Array,
    im: Array,
    target_re: Array,
    target_im: Array,
    width: int,
) -> None:
    """
    From the transform `z` of even elements `+ i` odd elements that of all: `(z[k] + z'[n-k]) / 2` is that of the
    even ones, `(z[k] - z'[n-k]) / 2i` that of the odd ones, which is turned by half a step per bin and added.
    """
    n, k = cast(plan[POINTS], INDEX), it.index
    turn = Complex(*turns[k])
    for v in across(width):
        z, other = Complex(re[k, v], im[k, v]), Complex(re[n - k, v], im[n - k, v]).conjugate()
        even, odd = (z + other).scaled(0.5), (z - other).scaled(0.5).turned(-1)
        value = even + odd * turn
        target_re[k, v], target_im[k, v] = value.re, value.im


def doubled_halves(
    it: Iteration,
    plan: Array,
    turns: Array,
    re: Array,
    im: Array,
    target_re: Array,
    target_im: Array,
    width: int,
) -> None:
    """
    From the bins `z` of all twice that of even `+ i` odd ones: `z[k] + z'[n-k]` is that of the even ones, `z[k] -
    z'[n-k]`, turned by half a step per bin, that of the odd ones; from the last to the first.
    """
    n, k = cast(plan[POINTS], INDEX), it.index
    turn = Complex(*turns[k])
    for v in across(width):
        z, other = Complex(re[k, v], im[k, v]), Complex(re[n - k, v], im[n - k, v]).conjugate()
        value = z + other + ((z - other) * turn).turned()
        target_re[n - k, v], target_im[n - k, v] = value.re, value.im
