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
class Block:
    """
    The points of a block of frames, by parts: `part[first + point, frame]`, or `part[first + frames point + frame, 0]`.

    No address depends on the number of points: loops over blocks are equal for transforms of all lengths.
    """

    re: Array
    im: Array
    first: Number
    frames: int = 0
    """Frames in a row; 0 if they are an axis."""

    def __getitem__(self, at: tuple[Number, Number]) -> Complex:
        point, frame = at
        return self.get(point * self.frames + frame, 0) if self.frames else self.get(point, frame)

    def __setitem__(self, at: tuple[Number, Number], value: Complex) -> None:
        point, frame = at
        if self.frames:
            self.put(point * self.frames + frame, 0, value)
        else:
            self.put(point, frame, value)

    def get(self, at: Number, lane: Number) -> Complex:
        return Complex(self.re[self.first + at, lane], self.im[self.first + at, lane])

    def put(self, at: Number, lane: Number, value: Complex) -> None:
        self.re[self.first + at, lane] = value.re
        self.im[self.first + at, lane] = value.im

    def copy(self, target: Number, source: Number, frames: int) -> None:
        """Set a point of all frames to another one."""
        for v in lanes(range(frames)):
            self[target, v] = self[source, v]


@dataclass(frozen=True)
class Stage:
    """
    `y[q + stride (radix p + k)] = w^(pk) sum_j x[q + stride (p + rest j)] e^(-2 pi i jk/radix)`, for `p < rest`.

    Of a whole vector of frames, `rest`, `step` and `first` come from memory: stages of equal radix are equal loops,
    which are compiled once for all transforms of a program. Of fewer frames, these are part of `step`.
    """

    number: int
    radix: int
    rest: int
    step: int
    vectors: bool
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
        """For each place, `e^(-2 pi i pk/length)` for `k` from 1 on."""
        import numpy as np

        length = self.radix * self.rest
        places = np.outer(np.arange(self.rest if self.turns else 0), np.arange(1, self.radix))
        return unit(-2 * pi * (places % length) / length).ravel()

    def run(self, plan: Array, table: Array, number: Number, source: Block, target: Block) -> None:
        """The stage of this one's radix that has the `number`."""
        if not self.vectors:
            for p in range(self.rest):
                factors = self.factors_at(table, p * (self.radix - 1) + self.first)
                for q in range(self.step):
                    self.butterflies(factors, source, target, 0, self.rest, self.step, p, q)
            return
        rest, step, first = (cast(plan[number, n], INDEX) for n in range(3))
        for p in outlined(range(rest)):
            factors = self.factors_at(table, p * (self.radix - 1) + first)
            for q in rolled(range(step)):
                for t in lanes(range(WIDTH)):
                    self.butterflies(factors, source, target, t, rest, step, p, q)

    def factors_at(self, table: Array, row: Number) -> list[Complex]:
        return [Complex(*table[row + k]) for k in range(self.radix - 1)] if self.turns else []

    def butterflies(
        self,
        factors: list[Complex],
        source: Block,
        target: Block,
        lane: Number,
        rest: Number,
        step: Number,
        p: Number,
        q: Number,
    ) -> None:
        """The results of one place."""
        read, write = p * step + q, p * (self.radix * step) + q
        values = butterfly([source.get(read + j * (rest * step), lane) for j in range(self.radix)])
        for k in tuple(range(self.radix)):
            value = values[k] * factors[k - 1] if k and self.turns else values[k]
            target.put(write + k * step, lane, value)


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
class Side:
    """
    The numbers in front of or behind a transform: part `c` of point `j` of a frame `f` is at
    `c part + f frame + j point`.
    """

    argument: Argument
    points: int
    parts: int
    part: int
    frame: int
    point: int

    def get(self, buffer: Array, frame: Number, j: Number) -> Complex:
        at = frame * self.frame + j * self.point
        return Complex(buffer[at], buffer[at + self.part]) if self.parts == 2 else Complex(buffer[at])

    def put(self, buffer: Array, frame: Number, j: Number, value: Complex) -> None:
        at = frame * self.frame + j * self.point
        buffer[at] = value.re
        if self.parts == 2:
            buffer[at + self.part] = value.im


@dataclass(frozen=True)
class Transform:
    """
    A transform of `n` points of many frames, by blocks of `width` of them.

    An inverse is that of the points from the last to the first, behind point 0.
    """

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
        rest, step, first = self.n, 1 if self.vectors else self.width, 1
        for radix in RADICES:
            while rest % radix == 0:
                rest //= radix
                found.append(Stage(len(found), radix, rest, step, self.vectors, first))
                first, step = first + (rest * (radix - 1) if rest > 1 else 0), step * radix
        if rest != 1:
            raise PassFailedException(
                f"a Fourier transform of {self.n} points has the factor {rest}; the kernel supports "
                f"{', '.join(map(str, RADICES))}: run mir-decompose"
            )
        return found

    def launch(self, work: Work, source: Side, result: Side) -> None:
        """The launch: a block of frames an iteration."""
        import numpy as np

        stages, blocks, element = self.stages(), -(-self.frames // self.width), source.argument.buffer.element
        cost = self.n * self.width * (4 + 8 * len(stages))

        def table(numbers: np.ndarray[Any, Any]) -> Argument:
            return work.constant(constants.from_array(np.stack([numbers.real, numbers.imag], 1), element))

        # behind the stages, the points
        numbers = [*(stage.numbers for stage in stages), [self.n, 0, 0]]
        plan = work.constant(constants.from_nested(numbers, i64))
        tables = [plan, table(np.array([self.factor + 0.0j, *(x for stage in stages for x in stage.factors())]))]
        if self.halves:
            tables.append(table(unit(self.sign * pi * np.arange(self.n + 1) / self.n)))
        rows = work.pieces(blocks, cost) * (self.n + 1)
        shape = (rows, WIDTH) if self.vectors else (rows * self.width, 1)
        room = [work.scratch(shape, element, name) for name in ("a", "a_im", "b", "b_im")]
        arguments = [source.argument, *tables], [*room, result.argument]

        @work.over(blocks, cost, *arguments)
        def transform(it: Iteration, given: Array, plan: Array, table: Array, *rest: Array) -> None:
            *turns, a, a_im, b, b_im, found = rest
            first = it.index * self.width
            here, there = self.block(a, a_im, it.piece), self.block(b, b_im, it.piece)
            self.read(given, source, first, here)
            if self.to_real:
                if self.halves:
                    for v in range(self.width):
                        for k in (0, self.n):  # bins that are real by definition
                            here[k, v] = Complex(here[k, v].re, 0.0)
                    self.turn_halves(turns[0], plan, len(stages), here, there)
                    here, there = there, here
                else:
                    for v in range(self.width):
                        here[self.n, v] = Complex(here[self.n, v].re, 0.0)
                    self.mirror(here)
            if self.sign > 0:
                here.copy(0, self.n, self.width)
            for stage, pairs in _by_pairs(stages):
                if pairs:
                    for n in rolled(range(pairs)):
                        stage.run(plan, table, stage.number + 2 * n, here, there)
                        stage.run(plan, table, stage.number + 2 * n + 1, there, here)
                else:
                    stage.run(plan, table, stage.number, here, there)
                    here, there = there, here
            if self.halves and not self.to_real:
                here.copy(self.n, 0, self.width)  # bins repeat
                self.turn_halves(turns[0], plan, len(stages), here, there)
                here = there
            self.write(here, found, result, table[0, 0], first)

    def block(self, re: Array, im: Array, piece: Number) -> Block:
        """The block of a piece."""
        if self.vectors:
            return Block(re, im, piece * (self.n + 1))
        return Block(re, im, piece * ((self.n + 1) * self.width), self.width)

    def read(self, source: Array, side: Side, first: Number, block: Block) -> None:
        """Read a block of frames, point by point."""
        if self.vectors:
            for j in outlined(range(side.points)):
                self.read_point(source, side, first, block, j)
        else:
            for j in range(side.points):
                self.read_point(source, side, first, block, j)

    def read_point(self, source: Array, side: Side, first: Number, block: Block, j: Number) -> None:
        """Read a point of a block of frames, for an inverse from the last to the first; behind the last frame, that one
        again."""
        whole = self.frames % self.width == 0
        point = self.n - j if self.sign > 0 and not self.halves else j
        for v in range(self.width):
            block[point, v] = side.get(source, first + v if whole else min(first + v, self.frames - 1), j)

    def write(self, block: Block, result: Array, side: Side, factor: Number, first: Number) -> None:
        """Write a block of frames, point by point, but for those behind the last one."""
        if self.frames % self.width == 0 or first + self.width <= self.frames:
            self.write_frames(block, result, side, factor, first, self.width)
        else:
            self.write_frames(block, result, side, factor, first, self.frames % self.width)

    def write_frames(self, block: Block, result: Array, side: Side, factor: Number, first: Number, count: int) -> None:
        if self.vectors:
            for j in outlined(range(side.points)):
                self.write_point(block, result, side, factor, first, count, j)
        else:
            for j in range(side.points):
                self.write_point(block, result, side, factor, first, count, j)

    def write_point(
        self, block: Block, result: Array, side: Side, factor: Number, first: Number, count: int, j: Number
    ) -> None:
        for v in range(count):
            x = block[j, v]
            side.put(result, first + v, j, x if self.factor == 1.0 else x.scaled(factor))

    def turn_halves(self, turns: Array, plan: Array, row: int, source: Block, target: Block) -> None:
        """
        From the transform `z` of even elements `+ i` odd elements that of all: `(z[k] + z'[n-k]) / 2` is that of the
        even ones, `(z[k] - z'[n-k]) / 2i` that of the odd ones, which is turned by half a step per bin and added.

        Or (`to_real`) from the bins `z` of all twice that of even `+ i` odd ones: `z[k] + z'[n-k]` is that of the even
        ones, `z[k] - z'[n-k]`, turned by half a step per bin, that of the odd ones; from the last to the first.
        """
        if self.vectors:
            n = cast(plan[row, 0], INDEX)
            for k in outlined(range(n if self.to_real else n + 1)):
                self.turn(turns, n, k, source, target)
            return
        for k in range(self.n if self.to_real else self.n + 1):
            self.turn(turns, self.n, k, source, target)

    def turn(self, turns: Array, n: Number, k: Number, source: Block, target: Block) -> None:
        """A bin of all frames."""
        turn = Complex(*turns[k])
        for v in lanes(range(self.width)):
            z, other = source[k, v], source[n - k, v].conjugate()
            if self.to_real:
                target[n - k, v] = z + other + ((z - other) * turn).turned()
            else:
                even, odd = (z + other).scaled(0.5), (z - other).scaled(0.5).turned(-1)
                target[k, v] = even + odd * turn

    def mirror(self, block: Block) -> None:
        """All bins from those up to the middle, from the last to the first."""
        for k in range(self.n // 2):
            for v in range(self.width):
                block[k + 1, v] = block[self.n - 1 - k, v].conjugate()


def _flat(argument: Argument) -> Argument:
    """A contiguous buffer of reals, or of complex numbers taken as their parts, as a row."""
    element, offset, size = argument.buffer.element, argument.buffer.layout.offset, prod(argument.shape)
    if element in COMPLEXES:
        element, offset, size = part_type(element), 2 * offset, 2 * size
    buffer = Buffer(argument.buffer.root, StridedLayout(offset, (size,), (1,)), element)
    return Argument(buffer, (size,), (1,), argument.name)


@NEST.rule(FftOp)
def fft_nest(op: FftOp, work: Work) -> None:
    """An iteration transforms a block of frames."""
    n, frames = op.points, prod(shape_of(op.operand)[:-1])
    is_complex = element_of(op.operand) in COMPLEXES
    part, point = (1, 2) if is_complex else (n, 1)
    ends = (Side(_flat(x), n, 2, part, 2 * n, point) for x in (work.read(op.operand), work.write(op.result)))
    Transform(n, frames, -1 if op.inverse is None else 1, op.factor).launch(work, *ends)


@NEST.rule(RfftOp, IrfftOp)
def real_fft_nest(op: RfftOp | IrfftOp, work: Work) -> None:
    """An iteration transforms a block of frames; those of even length as half as many complex numbers."""
    to_real, ends = isinstance(op, IrfftOp), (work.read(op.operand), work.write(op.result))
    real, spectrum = reversed(ends) if to_real else ends
    *batch, n = real.shape
    frames, bins, halves = prod(batch), n // 2 + 1, n % 2 == 0
    points = n // 2 if halves else n
    numbers = Side(_flat(real), points, 2 if halves else 1, 1, n, 2 if halves else 1)
    spectra = Side(_flat(spectrum), bins, 2, 1, 2 * bins, 2)
    transform = Transform(points, frames, 1 if to_real else -1, halves=halves, to_real=to_real)
    transform.launch(work, *((spectra, numbers) if to_real else (numbers, spectra)))
