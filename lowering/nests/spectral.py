"""Nests of Fourier transforms: Stockham's algorithm on a block of frames at once, so that loops run over neighbours."""

from __future__ import annotations

from cmath import exp, pi
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import cos, prod, sin

from xdsl.ir import Attribute, SSAValue

from xdsl_rlx.dialects import constants
from xdsl_rlx.dialects.lir.program import memref_of
from xdsl_rlx.dialects.lir.scalar_builder import Scalar
from xdsl_rlx.dialects.mir.complex import part_type
from xdsl_rlx.dialects.mir.spectral import FftOp, IrfftOp, RfftOp
from xdsl_rlx.dialects.shapes import COMPLEXES, element_of, shape_of
from xdsl_rlx.lowering.buffers import Argument, Buffer
from xdsl_rlx.lowering.fuse.loop_tables import StridedLayout
from xdsl_rlx.lowering.fuse.normal_forms import RADICES
from xdsl_rlx.lowering.nest.builder import Nest
from xdsl_rlx.lowering.nests.table import NEST, Iteration, Work

WIDTH = 8
"""Frames of a block."""

Number = tuple[Scalar, Scalar]
"""Real and imaginary part."""


def radices(n: int) -> list[int]:
    """Factors of `n` from `RADICES`, whose product it is."""
    found: list[int] = []
    for radix in RADICES:
        while n % radix == 0:
            found.append(radix)
            n //= radix
    assert n == 1
    return found


def _add(x: Number, y: Number) -> Number:
    return x[0] + y[0], x[1] + y[1]


def _sub(x: Number, y: Number) -> Number:
    return x[0] - y[0], x[1] - y[1]


def _scale(x: Number, factor: float) -> Number:
    return x[0] * factor, x[1] * factor


def _times(x: Number, w: Number) -> Number:
    return x[0] * w[0] - x[1] * w[1], x[0] * w[1] + x[1] * w[0]


def butterfly(x: Sequence[Number], sign: int) -> list[Number]:
    """The transform of a few numbers: 2, 4, or an odd count."""
    if len(x) == 2:
        return [_add(*x), _sub(*x)]
    if len(x) == 4:
        even, odd = (_add(x[0], x[2]), _sub(x[0], x[2])), (_add(x[1], x[3]), _sub(x[1], x[3]))
        turned = (-odd[1][1], odd[1][0]) if sign > 0 else (odd[1][1], -odd[1][0])
        return [_add(even[0], odd[0]), _add(even[1], turned), _sub(even[0], odd[0]), _sub(even[1], turned)]
    n = len(x)
    half = range(1, n // 2 + 1)
    sums, differences = [_add(x[j], x[n - j]) for j in half], [_sub(x[j], x[n - j]) for j in half]
    total = x[0]
    for term in sums:
        total = _add(total, term)
    result = [total] * n
    for k in half:
        along, across = x[0], (sums[0][0] * 0.0, sums[0][0] * 0.0)
        for j in half:
            angle = 2 * pi * (j * k % n) / n
            along = _add(along, _scale(sums[j - 1], cos(angle)))
            term = _scale(differences[j - 1], sign * sin(angle))
            across = term if j == 1 else _add(across, term)
        turned = (-across[1], across[0])
        result[k], result[n - k] = _add(along, turned), _sub(along, turned)
    return result


@dataclass
class Plan:
    """A transform of `n` points of a block of `width` frames: its stages, and the table of their factors."""

    n: int
    width: int
    sign: int

    def table(self) -> list[complex]:
        """For each stage and place, `e^(sign 2 pi i pk/length)` for `k` from 1 on."""
        rows: list[complex] = []
        length = self.n
        for radix in radices(self.n):
            rest = length // radix
            if rest > 1:
                rows += [
                    exp(self.sign * 2j * pi * (p * k % length) / length) for p in range(rest) for k in range(1, radix)
                ]
            length = rest
        return rows

    def emit(self, nest: Nest, table: SSAValue, source: Place, target: Place) -> Place:
        """Transform what is in `source`, using `target`; which of them has the result."""
        length, stride, first = self.n, 1, 0
        for radix in radices(self.n):
            rest = length // radix
            stage = Stage(self, radix, rest, stride, first)
            stage.emit(nest, table, source, target)
            first += rest * (radix - 1) if rest > 1 else 0
            length, stride = rest, stride * radix
            source, target = target, source
        return source


@dataclass
class Place:
    """Room for a block: `buffer[piece, part, j width + frame]`."""

    buffer: SSAValue
    piece: SSAValue

    def load(self, nest: Nest, at: SSAValue) -> Number:
        re, im = (nest.load(self.buffer, (self.piece, nest.kernel.index(part), at)) for part in (0, 1))
        return re, im

    def store(self, nest: Nest, value: Number, at: SSAValue) -> None:
        for part, x in enumerate(value):
            nest.store(x, self.buffer, (self.piece, nest.kernel.index(part), at))


@dataclass
class Stage:
    """
    `y[q + stride (radix p + k)] = w^(pk) sum_j x[q + stride (p + rest j)] e^(sign 2 pi i jk/radix)`, for `p < rest`.

    `q` and the frame are one loop over neighbours.
    """

    plan: Plan
    radix: int
    rest: int
    stride: int
    first: int
    """Where the factors of this stage begin in the table."""

    def emit(self, nest: Nest, table: SSAValue, source: Place, target: Place) -> None:
        def place(inside: Nest, p: SSAValue, _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            self._place(inside, p, table, source, target)
            return ()

        nest.loop((nest.kernel.index(0), nest.kernel.index(self.rest)), (), place, "p")

    def _place(self, nest: Nest, p: SSAValue, table: SSAValue, source: Place, target: Place) -> None:
        step, s = self.stride * self.plan.width, nest.scalars
        row = s.of(p) * (self.radix - 1) + self.first
        factors: list[Number] = []
        if self.rest > 1:
            for k in range(self.radix - 1):
                at = (row + k).value
                re, im = (nest.load(table, (at, nest.kernel.index(part))) for part in (0, 1))
                factors.append((re, im))
        reads = [s.of(p) * step + j * self.rest * step for j in range(self.radix)]
        writes = [s.of(p) * (self.radix * step) + k * step for k in range(self.radix)]

        def one(inside: Nest, t: SSAValue, _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            b = inside.scalars
            x = [source.load(inside, b.add(b.of(at.value), b.of(t)).value) for at in reads]
            for k, y in enumerate(butterfly(x, self.plan.sign)):
                turned = _times(y, factors[k - 1]) if k and factors else y
                target.store(inside, turned, b.add(b.of(writes[k].value), b.of(t)).value)
            return ()

        nest.loop((nest.kernel.index(0), nest.kernel.index(step)), (), one, "t")


@dataclass
class Batch:
    """The loops of one op over blocks of frames."""

    work: Work
    frames: int
    plan: Plan
    element: Attribute
    factor: float
    halves: bool = False
    """Whether the `n` points are `2n` real numbers, of which there are the bins up to the middle."""
    to_real: bool = False
    """Whether the source has bins, the others being their conjugates, and the result is real."""

    def launch(self, source: Argument, result: Argument) -> None:
        plan = self.plan
        blocks = -(-self.frames // plan.width)
        cost = plan.n * plan.width * (4 + 8 * len(radices(plan.n)))
        shape = (2, (plan.n + 1) * plan.width)
        room = [self.work.scratch_per_piece(blocks, cost, shape, self.element, name) for name in ("a", "b")]
        tables = [self._table(plan.table())]
        if self.halves:
            tables.append(self._table([exp(plan.sign * 1j * pi * k / plan.n) for k in range(plan.n + 1)]))
        self.work.launch(blocks, cost, [source, *tables], [*room, result], self._block)

    def _table(self, numbers: Sequence[complex]) -> Argument:
        rows = [[w.real, w.imag] for w in numbers] or [[1.0, 0.0]]
        return self.work.constant(constants.from_nested(rows, self.element))

    def _block(self, it: Iteration, *buffers: SSAValue) -> None:
        source, table, *others = buffers
        *halves, a, b, result = others
        nest, plan = it.nest, self.plan
        first = nest.scalars.of(it.index) * plan.width
        count = nest.kernel.index(plan.width)
        if self.frames % plan.width:
            count = nest.scalars.minimum(self.frames - first, plan.width).value
        one, other = Place(a, it.piece), Place(b, it.piece)
        frames = (first.value, count)
        self._copy(nest, memref_of(source).get_shape()[-1], frames, partial(self._read, source, one))
        if self.to_real:
            self._clear_imaginary(nest, one)
            if halves:
                self._split(nest, halves[0], one, other)
                one, other = other, one
            else:
                self._mirror(nest, one)
        done = plan.emit(nest, table, one, other)
        if halves and not self.to_real:
            self._join(nest, halves[0], done, other if done is one else one)
            done = other if done is one else one
        self._copy(nest, memref_of(result).get_shape()[-1], frames, partial(self._write, done, result))

    def _copy(
        self,
        nest: Nest,
        rows: int,
        frames: tuple[SSAValue, SSAValue],
        move: Callable[[Nest, SSAValue, SSAValue, SSAValue], None],
    ) -> None:
        """`move(nest, frame, j, place)` for each element of the block."""
        first, count = frames

        def row(inside: Nest, j: SSAValue, _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            begin = inside.scalars.of(j) * self.plan.width

            def one(deepest: Nest, v: SSAValue, _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
                b = deepest.scalars
                frame, at = b.add(b.of(first), b.of(v)), b.add(b.of(begin.value), b.of(v))
                move(deepest, frame.value, j, at.value)
                return ()

            inside.loop((inside.kernel.index(0), count), (), one, "v")
            return ()

        nest.loop((nest.kernel.index(0), nest.kernel.index(rows)), (), row, "j")

    def _read(self, source: SSAValue, to: Place, nest: Nest, frame: SSAValue, j: SSAValue, at: SSAValue) -> None:
        parts = memref_of(source).get_shape()[0]
        values = [nest.load(source, (nest.kernel.index(part), frame, j)) for part in range(parts)]
        re, im = values if parts == 2 else (values[0], nest.scalars.like(0.0, values[0]))
        to.store(nest, (re, im), at)

    def _write(self, done: Place, result: SSAValue, nest: Nest, frame: SSAValue, j: SSAValue, at: SSAValue) -> None:
        parts = memref_of(result).get_shape()[0]
        for part, x in enumerate(done.load(nest, at)[:parts]):
            scaled = x if self.factor == 1.0 else x * self.factor
            nest.store(scaled, result, (nest.kernel.index(part), frame, j))

    def _join(self, nest: Nest, table: SSAValue, source: Place, target: Place) -> None:
        """
        From the transform `z` of even elements `+ i` odd elements that of all: `(z[k] + z'[n-k]) / 2` is that of the
        even ones, `(z[k] - z'[n-k]) / 2i` that of the odd ones, which is turned by half a step per bin and added.
        """
        n, width = self.plan.n, self.plan.width

        def bin_(inside: Nest, k: SSAValue, _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            s = inside.scalars
            near = s.rem(s.of(k), n) * width
            far = s.rem(n - s.of(k), n) * width
            here = s.of(k) * width
            re, im = (inside.load(table, (k, inside.kernel.index(part))) for part in (0, 1))

            def one(deepest: Nest, v: SSAValue, _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
                b = deepest.scalars
                at = [b.add(b.of(place.value), b.of(v)).value for place in (near, far, here)]
                z, (x, y) = source.load(deepest, at[0]), source.load(deepest, at[1])
                even, odd = _scale(_add(z, (x, -y)), 0.5), _scale(_sub(z, (x, -y)), 0.5)
                target.store(deepest, _add(even, _times((odd[1], -odd[0]), (re, im))), at[2])
                return ()

            inside.loop((inside.kernel.index(0), inside.kernel.index(width)), (), one, "v")
            return ()

        nest.loop((nest.kernel.index(0), nest.kernel.index(n + 1)), (), bin_, "k")

    def _clear_imaginary(self, nest: Nest, place: Place) -> None:
        """The bins that are real by definition: the first, and that in the middle."""

        def one(inside: Nest, v: SSAValue, _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            b = inside.scalars
            for row in (0, self.plan.n) if self.halves else (0,):
                at = (b.of(v) + row * self.plan.width).value
                re, _im = place.load(inside, at)
                place.store(inside, (re, b.like(0.0, re)), at)
            return ()

        nest.loop((nest.kernel.index(0), nest.kernel.index(self.plan.width)), (), one, "v")

    def _mirror(self, nest: Nest, place: Place) -> None:
        """All bins from those up to the middle."""
        n, width = self.plan.n, self.plan.width

        def bin_(inside: Nest, k: SSAValue, _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            s = inside.scalars
            near, far = (s.of(k) + 1) * width, (n - 1 - s.of(k)) * width

            def one(deepest: Nest, v: SSAValue, _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
                b = deepest.scalars
                re, im = place.load(deepest, b.add(b.of(near.value), b.of(v)).value)
                place.store(deepest, (re, -im), b.add(b.of(far.value), b.of(v)).value)
                return ()

            inside.loop((inside.kernel.index(0), inside.kernel.index(width)), (), one, "v")
            return ()

        nest.loop((nest.kernel.index(0), nest.kernel.index(n // 2)), (), bin_, "k")

    def _split(self, nest: Nest, table: SSAValue, source: Place, target: Place) -> None:
        """
        From the bins of all the transform of even elements `+ i` odd elements, twice: `x[k] + x'[n-k]` is that of the
        even ones, `x[k] - x'[n-k]`, turned by half a step per bin, that of the odd ones.
        """
        n, width = self.plan.n, self.plan.width

        def bin_(inside: Nest, k: SSAValue, _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            s = inside.scalars
            here, far = s.of(k) * width, (n - s.of(k)) * width
            re, im = (inside.load(table, (k, inside.kernel.index(part))) for part in (0, 1))

            def one(deepest: Nest, v: SSAValue, _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
                b = deepest.scalars
                at = [b.add(b.of(place.value), b.of(v)).value for place in (here, far)]
                x, (y, z) = source.load(deepest, at[0]), source.load(deepest, at[1])
                odd = _times(_sub(x, (y, -z)), (re, im))
                target.store(deepest, _add(_add(x, (y, -z)), (-odd[1], odd[0])), at[0])
                return ()

            inside.loop((inside.kernel.index(0), inside.kernel.index(width)), (), one, "v")
            return ()

        nest.loop((nest.kernel.index(0), nest.kernel.index(n)), (), bin_, "k")


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
    Batch(work, frames, plan, element, 1.0, halves).launch(source, result)


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
    Batch(work, frames, plan, element, 1.0, halves, to_real=True).launch(source, result)
