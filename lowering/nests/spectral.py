"""Nests of Fourier transforms: Stockham's algorithm on a block of frames at once, so that loops run over neighbours."""

from __future__ import annotations

from cmath import exp, pi
from collections.abc import Sequence
from dataclasses import dataclass
from math import cos, prod, sin
from typing import TypeAlias

from xdsl.ir import Attribute

from xdsl_rlx.dialects import constants
from xdsl_rlx.dialects.mir.complex import part_type
from xdsl_rlx.dialects.mir.spectral import FftOp, IrfftOp, RfftOp
from xdsl_rlx.dialects.shapes import COMPLEXES, element_of, shape_of
from xdsl_rlx.lowering.buffers import Argument, Buffer
from xdsl_rlx.lowering.fuse.loop_tables import StridedLayout
from xdsl_rlx.lowering.fuse.normal_forms import RADICES
from xdsl_rlx.lowering.nest import Array, Iteration, Number, nest
from xdsl_rlx.lowering.nests.table import NEST, Work

WIDTH = 8
"""Frames of a block."""

Complex: TypeAlias = tuple[Number, Number]
"""Real and imaginary part."""


def _add(x: Complex, y: Complex) -> Complex:
    return x[0] + y[0], x[1] + y[1]


def _sub(x: Complex, y: Complex) -> Complex:
    return x[0] - y[0], x[1] - y[1]


def _scale(x: Complex, factor: float) -> Complex:
    return x[0] * factor, x[1] * factor


def _times(x: Complex, w: Complex) -> Complex:
    return x[0] * w[0] - x[1] * w[1], x[0] * w[1] + x[1] * w[0]


def _conjugate(x: Complex) -> Complex:
    return x[0], -x[1]


def _times_i(x: Complex) -> Complex:
    return -x[1], x[0]


def _sum(first: Complex, *others: Complex) -> Complex:
    for x in others:
        first = _add(first, x)
    return first


def butterfly(x: Sequence[Complex], sign: int) -> list[Complex]:
    """The transform of a few numbers: 2, 4, or an odd count."""
    n, half = len(x), tuple(range(1, len(x) // 2 + 1))
    if n == 2:
        return [_add(*x), _sub(*x)]
    if n == 4:
        even, odd = (_add(x[0], x[2]), _sub(x[0], x[2])), (_add(x[1], x[3]), _sub(x[1], x[3]))
        turned = _times_i(odd[1]) if sign > 0 else (odd[1][1], -odd[1][0])
        return [_add(even[0], odd[0]), _add(even[1], turned), _sub(even[0], odd[0]), _sub(even[1], turned)]
    sums, differences = [_add(x[j], x[n - j]) for j in half], [_sub(x[j], x[n - j]) for j in half]
    near, far = [_sum(x[0], *sums)], list[Complex]()
    for k in half:
        angles = [2 * pi * (j * k % n) / n for j in half]
        along = _sum(x[0], *[_scale(both, cos(angle)) for both, angle in zip(sums, angles, strict=True)])
        across = _sum(*[_scale(both, sign * sin(angle)) for both, angle in zip(differences, angles, strict=True)])
        near, far = [*near, _add(along, _times_i(across))], [_sub(along, _times_i(across)), *far]
    return near + far


@dataclass(frozen=True)
class Block:
    """The points of a block of frames: `buffer[part, j width + frame]`."""

    buffer: Array

    def get(self, at: Number) -> Complex:
        return self.buffer[0, at], self.buffer[1, at]

    def put(self, at: Number, value: Complex) -> None:
        self.buffer[0, at], self.buffer[1, at] = value


@dataclass(frozen=True)
class Stage:
    """
    `y[q + stride (radix p + k)] = w^(pk) sum_j x[q + stride (p + rest j)] e^(sign 2 pi i jk/radix)`, for `p < rest`.

    `q` and the frame are one loop over `step` neighbours.
    """

    radix: int
    rest: int
    step: int
    sign: int
    first: int
    """Where the factors of this stage begin in the table."""

    def run(self, table: Array, source: Block, target: Block) -> None:
        for p in range(self.rest):
            row = p * (self.radix - 1) + self.first
            factors = [pair(table, row + k) for k in range(self.radix - 1)] if self.rest > 1 else []
            reads = [p * self.step + j * self.rest * self.step for j in range(self.radix)]
            writes = [p * (self.radix * self.step) + k * self.step for k in range(self.radix)]
            for t in range(self.step):
                values = butterfly([source.get(at + t) for at in reads], self.sign)
                for k, at in enumerate(writes):
                    target.put(at + t, _times(values[k], factors[k - 1]) if k and factors else values[k])


def pair(table: Array, row: Number) -> Complex:
    """A complex number of a table."""
    return table[row, 0], table[row, 1]


@dataclass(frozen=True)
class Plan:
    """A transform of `n` points of a block of `width` frames: its stages, and the table of their factors."""

    n: int
    width: int
    sign: int

    def stages(self) -> list[Stage]:
        found: list[Stage] = []
        rest, step, first = self.n, self.width, 0
        for radix in self._radices():
            rest //= radix
            found.append(Stage(radix, rest, step, self.sign, first))
            first += rest * (radix - 1) if rest > 1 else 0
            step *= radix
        return found

    def _radices(self) -> list[int]:
        """Factors of `n` from `RADICES`, whose product it is."""
        found, rest = list[int](), self.n
        for radix in RADICES:
            while rest % radix == 0:
                found.append(radix)
                rest //= radix
        assert rest == 1
        return found

    def table(self) -> list[complex]:
        """For each stage and place, `e^(sign 2 pi i pk/length)` for `k` from 1 on."""
        return [
            exp(self.sign * 2j * pi * (p * k % (stage.radix * stage.rest)) / (stage.radix * stage.rest))
            for stage in self.stages()
            if stage.rest > 1
            for p in range(stage.rest)
            for k in range(1, stage.radix)
        ]

    def half_turns(self) -> list[complex]:
        """What the bins of odd elements are turned by: half a step per bin."""
        return [exp(self.sign * 1j * pi * k / self.n) for k in range(self.n + 1)]

    def transform(self, table: Array, source: Block, target: Block) -> tuple[Block, Block]:
        """Transform what is in `source`, using `target`: the one that has the result, and the other."""
        for stage in self.stages():
            stage.run(table, source, target)
            source, target = target, source
        return source, target

    def join(self, turns: Array, source: Block, target: Block) -> None:
        """
        From the transform `z` of even elements `+ i` odd elements that of all: `(z[k] + z'[n-k]) / 2` is that of the
        even ones, `(z[k] - z'[n-k]) / 2i` that of the odd ones, which is turned by half a step per bin and added.
        """
        for k in range(self.n + 1):
            near, far, turn = k % self.n * self.width, (self.n - k) % self.n * self.width, pair(turns, k)
            for v in range(self.width):
                z, other = source.get(near + v), _conjugate(source.get(far + v))
                even, odd = _scale(_add(z, other), 0.5), _scale(_sub(z, other), 0.5)
                target.put(k * self.width + v, _add(even, _times((odd[1], -odd[0]), turn)))

    def split(self, turns: Array, source: Block, target: Block) -> None:
        """
        From the bins of all the transform of even elements `+ i` odd elements, twice: `x[k] + x'[n-k]` is that of the
        even ones, `x[k] - x'[n-k]`, turned by half a step per bin, that of the odd ones.
        """
        for k in range(self.n):
            here, far, turn = k * self.width, (self.n - k) * self.width, pair(turns, k)
            for v in range(self.width):
                x, other = source.get(here + v), _conjugate(source.get(far + v))
                odd = _times(_sub(x, other), turn)
                target.put(here + v, _add(_add(x, other), _times_i(odd)))

    def mirror(self, block: Block) -> None:
        """All bins from those up to the middle."""
        for k in range(self.n // 2):
            near, far = (k + 1) * self.width, (self.n - 1 - k) * self.width
            for v in range(self.width):
                block.put(far + v, _conjugate(block.get(near + v)))

    def clear_imaginary(self, block: Block, bins: tuple[int, ...]) -> None:
        """Of bins that are real by definition."""
        for v in range(self.width):
            for k in bins:
                block.buffer[1, v + k * self.width] = 0.0


@dataclass(frozen=True)
class Batch:
    """The loops of one op over blocks of frames."""

    work: Work
    frames: int
    plan: Plan
    element: Attribute
    factor: float = 1.0
    halves: bool = False
    """Whether the `n` points are `2n` real numbers, of which there are the bins up to the middle."""
    to_real: bool = False
    """Whether the source has bins, the others being their conjugates, and the result is real."""

    def launch(self, source: Argument, result: Argument) -> None:
        plan, width = self.plan, self.plan.width
        blocks = -(-self.frames // width)
        cost = plan.n * width * (4 + 8 * len(plan.stages()))

        @nest
        def transform(it: Iteration, source: Array, table: Array, *rest: Array) -> None:
            *turns, a, b, result = rest
            first = it.index * width
            count = min(self.frames - first, width) if self.frames % width else width
            here, there = Block(a[it.piece]), Block(b[it.piece])
            for j in range(source.shape[2]):
                for v in range(count):
                    imaginary = source[1, first + v, j] if source.shape[0] == 2 else 0.0
                    here.put(j * width + v, (source[0, first + v, j], imaginary))
            if self.to_real:
                plan.clear_imaginary(here, (0, plan.n) if turns else (0,))
                if turns:
                    plan.split(turns[0], here, there)
                    here, there = there, here
                else:
                    plan.mirror(here)
            here, there = plan.transform(table, here, there)
            if turns and not self.to_real:
                plan.join(turns[0], here, there)
                here = there
            for j in range(result.shape[2]):
                for v in range(count):
                    value = here.get(j * width + v)
                    for part in tuple(range(result.shape[0])):
                        x = value[part]
                        result[part, first + v, j] = x if self.factor == 1.0 else x * self.factor

        shape = (2, (plan.n + 1) * width)
        room = [self.work.scratch_per_piece(blocks, cost, shape, self.element, name) for name in ("a", "b")]
        tables = [self._table(plan.table()), *([self._table(plan.half_turns())] if self.halves else [])]
        self.work.launch(blocks, cost, [source, *tables], [*room, result], transform)

    def _table(self, numbers: Sequence[complex]) -> Argument:
        rows = [[w.real, w.imag] for w in numbers] or [[1.0, 0.0]]
        return self.work.constant(constants.from_nested(rows, self.element))


def _seen(argument: Argument, element: Attribute, shape: tuple[int, ...], strides: tuple[int, ...]) -> Argument:
    """A contiguous buffer of reals, or of complex numbers taken as their parts, by other axes."""
    buffer = argument.buffer
    offset = buffer.layout.offset * (2 if buffer.element in COMPLEXES else 1)
    return Argument(Buffer(buffer.root, StridedLayout(offset, shape, strides), element), shape, strides, argument.name)


@NEST.rule(FftOp)
def fft_nest(op: FftOp, work: Work) -> None:
    """An iteration transforms a block of frames."""
    n, type_, frames = op.points, element_of(op.operand), prod(shape_of(op.operand)[:-1])
    element = part_type(type_) if type_ in COMPLEXES else type_
    strides = (1, 2 * n, 2) if type_ in COMPLEXES else (n, 2 * n, 1)
    source = _seen(work.read(op.operand), element, (2, frames, n), strides)
    result = _seen(work.write(op.result), element, (2, frames, n), strides)
    plan = Plan(n, max(1, min(WIDTH, frames)), -1 if op.inverse is None else 1)
    Batch(work, frames, plan, element, op.factor).launch(source, result)


@NEST.rule(RfftOp)
def rfft_nest(op: RfftOp, work: Work) -> None:
    """An iteration transforms a block of frames; those of even length as half as many complex numbers."""
    element, shape = element_of(op.operand), shape_of(op.operand)
    n, frames = shape[-1], prod(shape[:-1])
    bins, halves = n // 2 + 1, n % 2 == 0
    points = (2, frames, n // 2) if halves else (1, frames, n)
    source = _seen(work.read(op.operand), element, points, (1, n, 2) if halves else (1, n, 1))
    result = _seen(work.write(op.result), element, (2, frames, bins), (1, 2 * bins, 2))
    plan = Plan(n // 2 if halves else n, max(1, min(WIDTH, frames)), -1)
    Batch(work, frames, plan, element, halves=halves).launch(source, result)


@NEST.rule(IrfftOp)
def irfft_nest(op: IrfftOp, work: Work) -> None:
    """As `rfft_nest`, backwards."""
    element, shape = element_of(op.result), shape_of(op.result)
    n, frames = shape[-1], prod(shape[:-1])
    bins, halves = n // 2 + 1, n % 2 == 0
    points = (2, frames, n // 2) if halves else (1, frames, n)
    source = _seen(work.read(op.operand), element, (2, frames, bins), (1, 2 * bins, 2))
    result = _seen(work.write(op.result), element, points, (1, n, 2) if halves else (1, n, 1))
    plan = Plan(n // 2 if halves else n, max(1, min(WIDTH, frames)), 1)
    Batch(work, frames, plan, element, halves=halves, to_real=True).launch(source, result)
