"""Nests of Fourier transforms: Stockham's algorithm on a block of frames at once, so that loops run over neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import cos, pi, prod, sin
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import i64
from xdsl.utils.exceptions import PassFailedException

from xdsl_rlx.dialects import constants
from xdsl_rlx.dialects.mir.complex import part_type
from xdsl_rlx.dialects.mir.spectral import FftOp, IrfftOp, RfftOp
from xdsl_rlx.dialects.shapes import COMPLEXES, element_of, shape_of
from xdsl_rlx.lowering.buffers import Argument, Buffer
from xdsl_rlx.lowering.fuse.loop_tables import StridedLayout
from xdsl_rlx.lowering.fuse.normal_forms import RADICES
from xdsl_rlx.lowering.nest import Array, Iteration, Number, cast, lanes, outlined, rolled
from xdsl_rlx.lowering.nest.kernel_builder import INDEX
from xdsl_rlx.lowering.nests.work import NEST, Work
from xdsl_rlx.transforms.rules.dft import unit

if TYPE_CHECKING:
    import numpy as np

WIDTH = 8
"""Frames of a block."""

LEAST_PAIRED = 3
"""Stages up to which each has a call of its own."""


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

    def scaled(self, factor: float) -> Complex:
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


def butterfly(x: Sequence[Complex], sign: int) -> list[Complex]:
    """The transform of a few numbers: 2, 4, or an odd count."""
    n, half = len(x), tuple(range(1, len(x) // 2 + 1))
    if n == 2:
        return [x[0] + x[1], x[0] - x[1]]
    if n == 4:
        even, odd, turned = (x[0] + x[2], x[0] - x[2]), x[1] + x[3], (x[1] - x[3]).turned(sign)
        return [even[0] + odd, even[1] + turned, even[0] - odd, even[1] - turned]
    sums, differences = [x[j] + x[n - j] for j in half], [x[j] - x[n - j] for j in half]
    near, far = [_sum([x[0], *sums])], list[Complex]()
    for k in half:
        angles = [2 * pi * (j * k % n) / n for j in half]
        along = _sum([x[0], *[both.scaled(cos(angle)) for both, angle in zip(sums, angles, strict=True)]])
        across = _sum([both.scaled(sign * sin(angle)) for both, angle in zip(differences, angles, strict=True)])
        near, far = [*near, along + across.turned()], [along - across.turned(), *far]
    return near + far


@dataclass(frozen=True)
class Block:
    """The points of a block of frames: `buffer[part, point, frame]`, or `buffer[part, frames point + frame, 0]`."""

    buffer: Array
    frames: int = 0
    """Frames in a row; 0 if they are an axis."""

    def __getitem__(self, at: tuple[Number, Number]) -> Complex:
        point, frame = self._place(*at)
        return Complex(*self.buffer[:, point, frame])

    def __setitem__(self, at: tuple[Number, Number], value: Complex) -> None:
        point, frame = self._place(*at)
        self.buffer[:, point, frame] = [value.re, value.im]

    def _place(self, point: Number, frame: Number) -> tuple[Number, Number]:
        return (point * self.frames + frame, 0) if self.frames else (point, frame)


@dataclass(frozen=True)
class Stage:
    """
    `y[q + stride (radix p + k)] = w^(pk) sum_j x[q + stride (p + rest j)] e^(sign 2 pi i jk/radix)`, for `p < rest`.

    Of a whole vector of frames, `rest`, `step` and `first` come from memory: stages of equal radix are equal loops,
    which are compiled once. Of fewer frames, these are part of `step`.
    """

    number: int
    radix: int
    rest: int
    step: int
    vectors: bool
    sign: int
    first: int
    """Where the factors of this stage begin in the table."""

    @property
    def turns(self) -> bool:
        """Whether there are factors but 1."""
        return self.rest > 1

    @property
    def numbers(self) -> list[int]:
        """What a stage has in memory."""
        return [self.rest, self.step, self.first]

    def factors(self) -> np.ndarray[Any, Any]:
        """For each place, `e^(sign 2 pi i pk/length)` for `k` from 1 on."""
        import numpy as np

        length = self.radix * self.rest
        places = np.outer(np.arange(self.rest if self.turns else 0), np.arange(1, self.radix))
        return unit(self.sign * 2 * pi * (places % length) / length).ravel()

    def run(self, plan: Array, table: Array, number: Number, source: Block, target: Block) -> None:
        """The stage of this one's radix that has the `number`."""
        if not self.vectors:
            for p in range(self.rest):
                factors = self.factors_at(table, p * (self.radix - 1) + self.first)
                for q in range(self.step):
                    self.butterflies(
                        factors, source.buffer[:, :, 0], target.buffer[:, :, 0], self.rest, self.step, p, q
                    )
            return
        rest, step, first = (cast(plan[number, n], INDEX) for n in range(3))
        for p in outlined(range(rest)):
            factors = self.factors_at(table, p * (self.radix - 1) + first)
            for q in rolled(range(step)):
                for t in lanes(range(WIDTH)):
                    self.butterflies(factors, source.buffer[:, :, t], target.buffer[:, :, t], rest, step, p, q)

    def factors_at(self, table: Array, row: Number) -> list[Complex]:
        return [Complex(*table[row + k]) for k in range(self.radix - 1)] if self.turns else []

    def butterflies(
        self, factors: list[Complex], source: Array, target: Array, rest: Number, step: Number, p: Number, q: Number
    ) -> None:
        """The results of one place, of `buffer[part, point]`."""
        read, write = p * step + q, p * (self.radix * step) + q
        values = butterfly([Complex(*source[:, read + j * (rest * step)]) for j in range(self.radix)], self.sign)
        for k in tuple(range(self.radix)):
            value = values[k] * factors[k - 1] if k and self.turns else values[k]
            target[:, write + k * step] = [value.re, value.im]


def _by_pairs(stages: Sequence[Stage]) -> list[tuple[Stage, int]]:
    """
    The first stage of each loop over pairs of stages that differ in numbers alone, with the pairs; or a stage and 0.

    Of a pair, the second stage writes where the first one read.
    """
    found: list[tuple[Stage, int]] = []
    at = 0
    while at < len(stages):
        stage = stages[at]
        alike = [x for x in stages[at:] if (x.radix, x.turns) == (stage.radix, stage.turns) and stage.vectors]
        pairs = len(alike) // 2 if len(alike) > LEAST_PAIRED else 0
        found.append((stage, pairs))
        at += 2 * pairs or 1
    return found


@dataclass(frozen=True)
class Transform:
    """A transform of `n` points of many frames, by blocks of `width` of them."""

    n: int
    frames: int
    sign: int
    factor: float = 1.0
    halves: bool = False
    """Whether the `n` points are `2n` real numbers, of which there are the bins up to the middle."""
    to_real: bool = False
    """Whether the source has bins, the others being their conjugates, and the result is real."""

    @property
    def width(self) -> int:
        return max(1, min(WIDTH, self.frames))

    @property
    def vectors(self) -> bool:
        """Whether a block is a whole vector of frames."""
        return self.width == WIDTH

    def stages(self) -> list[Stage]:
        found: list[Stage] = []
        rest, step, first = self.n, 1 if self.vectors else self.width, 0
        for radix in RADICES:
            while rest % radix == 0:
                rest //= radix
                found.append(Stage(len(found), radix, rest, step, self.vectors, self.sign, first))
                first, step = first + (rest * (radix - 1) if rest > 1 else 0), step * radix
        if rest != 1:
            raise PassFailedException(
                f"a Fourier transform of {self.n} points has the factor {rest}; the kernel supports "
                f"{', '.join(map(str, RADICES))}: run mir-decompose"
            )
        return found

    def launch(self, work: Work, source: Argument, result: Argument) -> None:
        """`source[part, frame, j]` to `result[part, frame, j]`."""
        import numpy as np

        stages, blocks, element = self.stages(), -(-self.frames // self.width), source.buffer.element
        cost = self.n * self.width * (4 + 8 * len(stages))

        def table(numbers: np.ndarray[Any, Any]) -> Argument:
            return work.constant(constants.from_array(np.stack([numbers.real, numbers.imag], 1), element))

        plan = work.constant(constants.from_nested([stage.numbers for stage in stages] or [[0, 0, 0]], i64))
        factors = [x for stage in stages for x in stage.factors()] or [1.0 + 0.0j]
        tables = [plan, table(np.array(factors))]
        if self.halves:
            tables.append(table(unit(self.sign * pi * np.arange(self.n + 1) / self.n)))
        shape = (2, self.n + 1, WIDTH) if self.vectors else (2, (self.n + 1) * self.width, 1)
        room = [work.scratch_per_piece(blocks, cost, shape, element, name) for name in ("a", "b")]

        @work.over(blocks, cost, [source, *tables], [*room, result])
        def transform(it: Iteration, source: Array, plan: Array, table: Array, *rest: Array) -> None:
            *turns, a, b, result = rest
            first = it.index * self.width
            here, there = (Block(x[it.piece], 0 if self.vectors else self.width) for x in (a, b))
            self.read(source, first, here)
            if self.to_real:
                for v in range(self.width):
                    for k in (0, self.n) if self.halves else (0,):  # bins that are real by definition
                        here[k, v] = Complex(here[k, v].re, 0.0)
                if self.halves:
                    self.turn_halves(turns[0], here, there)
                    here, there = there, here
                else:
                    self.mirror(here)
            for stage, pairs in _by_pairs(stages):
                if pairs:
                    for n in rolled(range(pairs)):
                        stage.run(plan, table, stage.number + 2 * n, here, there)
                        stage.run(plan, table, stage.number + 2 * n + 1, there, here)
                else:
                    stage.run(plan, table, stage.number, here, there)
                    here, there = there, here
            if self.halves and not self.to_real:
                for v in range(self.width):
                    here[self.n, v] = here[0, v]  # bins repeat
                self.turn_halves(turns[0], here, there)
                here = there
            self.write(here, result, first)

    def read(self, source: Array, first: Number, block: Block) -> None:
        """Read a block of frames, point by point; behind the last frame, that one again."""
        _, frames, n = source.shape
        whole = frames % self.width == 0
        for j in range(n):
            for v in range(self.width):
                frame = first + v if whole else min(first + v, frames - 1)
                block[j, v] = Complex(*source[:, frame, j])

    def write(self, block: Block, result: Array, first: Number) -> None:
        """Write a block of frames, point by point, but for those behind the last one."""
        frames = result.shape[1]
        if frames % self.width == 0 or first + self.width <= frames:
            self.write_frames(block, result, first, self.width)
        else:
            self.write_frames(block, result, first, frames % self.width)

    def write_frames(self, block: Block, result: Array, first: Number, count: int) -> None:
        for j in range(result.shape[2]):
            for v in range(count):
                x = block[j, v]
                x = x if self.factor == 1.0 else x.scaled(self.factor)
                result[:, first + v, j] = [x.re, x.im][: result.shape[0]]

    def turn_halves(self, turns: Array, source: Block, target: Block) -> None:
        """
        From the transform `z` of even elements `+ i` odd elements that of all: `(z[k] + z'[n-k]) / 2` is that of the
        even ones, `(z[k] - z'[n-k]) / 2i` that of the odd ones, which is turned by half a step per bin and added.

        Or (`to_real`) from the bins `z` of all twice that of even `+ i` odd ones: `z[k] + z'[n-k]` is that of the even
        ones, `z[k] - z'[n-k]`, turned by half a step per bin, that of the odd ones.
        """
        for k in range(self.n if self.to_real else self.n + 1):
            turn = Complex(*turns[k])
            for v in lanes(range(self.width)):
                z, other = source[k, v], source[self.n - k, v].conjugate()
                if self.to_real:
                    target[k, v] = z + other + ((z - other) * turn).turned()
                else:
                    even, odd = (z + other).scaled(0.5), (z - other).scaled(0.5).turned(-1)
                    target[k, v] = even + odd * turn

    def mirror(self, block: Block) -> None:
        """All bins from those up to the middle."""
        for k in range(self.n // 2):
            for v in range(self.width):
                block[self.n - 1 - k, v] = block[k + 1, v].conjugate()


def _seen(argument: Argument, shape: tuple[int, ...], strides: tuple[int, ...]) -> Argument:
    """A contiguous buffer of reals, or of complex numbers taken as their parts, by other axes."""
    element, offset = argument.buffer.element, argument.buffer.layout.offset
    if element in COMPLEXES:
        element, offset = part_type(element), 2 * offset
    buffer = Buffer(argument.buffer.root, StridedLayout(offset, shape, strides), element)
    return Argument(buffer, shape, strides, argument.name)


@NEST.rule(FftOp)
def fft_nest(op: FftOp, work: Work) -> None:
    """An iteration transforms a block of frames."""
    n, frames = op.points, prod(shape_of(op.operand)[:-1])
    strides = (1, 2 * n, 2) if element_of(op.operand) in COMPLEXES else (n, 2 * n, 1)
    ends = (_seen(x, (2, frames, n), strides) for x in (work.read(op.operand), work.write(op.result)))
    Transform(n, frames, -1 if op.inverse is None else 1, op.factor).launch(work, *ends)


@NEST.rule(RfftOp, IrfftOp)
def real_fft_nest(op: RfftOp | IrfftOp, work: Work) -> None:
    """An iteration transforms a block of frames; those of even length as half as many complex numbers."""
    to_real, ends = isinstance(op, IrfftOp), (work.read(op.operand), work.write(op.result))
    real, spectrum = reversed(ends) if to_real else ends
    *batch, n = real.shape
    frames, bins, halves = prod(batch), n // 2 + 1, n % 2 == 0
    points = (2, frames, n // 2) if halves else (1, frames, n)
    numbers = _seen(real, points, (1, n, 2) if halves else (1, n, 1))
    spectra = _seen(spectrum, (2, frames, bins), (1, 2 * bins, 2))
    transform = Transform(points[-1], frames, 1 if to_real else -1, halves=halves, to_real=to_real)
    transform.launch(work, *((spectra, numbers) if to_real else (numbers, spectra)))
