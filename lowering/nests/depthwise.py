"""Loops of convolutions of one input channel a group (depthwise, or of gray images): sums tap by tap, neighbours at
once. Which op they are for is in `conv.py`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import SSAValue

from xdsl_rlx.dialects.lir.scalar_builder import Scalar
from xdsl_rlx.dialects.mir.conv import ConvExtents
from xdsl_rlx.dialects.shapes import element_of
from xdsl_rlx.lowering.nest.builder import Nest
from xdsl_rlx.lowering.nests.table import Iteration, Work
from xdsl_rlx.lowering.nests.windows import UNROLLED, Each, Plane, Room, affine, each, number, over_plane, over_taps


@dataclass(frozen=True)
class Taps:
    """`target[i] = sum over k of source[i steps + k dilation] w[k]`, the source in its room; flipped: `w[-k]`."""

    room: Room
    counts: tuple[int, ...]
    kernel: tuple[int, ...]
    steps: tuple[int, ...]
    dilation: tuple[int, ...]
    flipped: bool = False

    def place(self, nest: Nest, plane: Plane, window: Sequence[SSAValue], tap: Sequence[SSAValue]) -> SSAValue:
        """Where the plane has the tap of a window."""
        rows, columns = ([(window[axis], self.steps[axis]), (tap[axis], self.dilation[axis])] for axis in range(2))
        return plane.at(nest, rows, columns)

    def weight_at(self, nest: Nest, tap: Sequence[SSAValue]) -> SSAValue:
        """The number of the weight's element for a tap."""
        width = self.kernel[1]
        if self.flipped:
            return affine(nest, prod(self.kernel) - 1, (tap[0], -width), (tap[1], -1))
        return affine(nest, 0, (tap[0], width), (tap[1], 1))

    def sum(
        self, nest: Nest, source: Plane, target: Plane, weight: tuple[SSAValue, SSAValue] | None, add: bool
    ) -> None:
        """
        Sum all windows, with the weights in the row of a buffer or with ones; `add` to what is there.

        Many taps are gone through a row, or one, at a time, with the sums so far in the target.
        """
        rows, columns = self.kernel
        if rows * columns <= UNROLLED:
            over_plane(nest, self.counts, self._window(source, target, weight, add, (rows, columns)), "o")
            return
        if not add:
            target.fill(nest, prod(self.counts), 0.0)
        written = columns if columns <= UNROLLED else 1

        def tap(inside: Nest, k: tuple[SSAValue, ...]) -> None:
            over_plane(inside, self.counts, self._window(source, target, weight, True, (1, written), k), "o")

        each(nest, (rows, columns // written), tap, "k")

    def _window(
        self,
        source: Plane,
        target: Plane,
        weight: tuple[SSAValue, SSAValue] | None,
        add: bool,
        kernel: tuple[int, int],
        first: tuple[SSAValue, ...] = (),
    ) -> Each:
        """The sum of a window over the taps of `kernel`, from the tap `first` on."""

        def window(inside: Nest, i: tuple[SSAValue, ...]) -> None:
            at = target.at(inside, [(i[0], 1)], [(i[1], 1)])
            start = target.load(inside, at) if add else number(inside, source.buffer)

            def step(deepest: Nest, near: tuple[SSAValue, SSAValue], total: tuple[Scalar, ...]) -> Sequence[Scalar]:
                tap = [affine(deepest, 0, (n, 1), (f, 1)) for n, f in zip(near, first, strict=True)] if first else near
                x = source.load(deepest, self.place(deepest, source, i, tap))
                if weight is None:
                    return [total[0] + x]
                w = deepest.load(weight[0], (weight[1], self.weight_at(deepest, tap)))
                return [deepest.scalars.fma(x, w, total[0])]

            (total,) = over_taps(inside, kernel, [start], step)
            target.store(inside, total, at)

        return window


def forward(work: Work, e: ConvExtents, x: SSAValue, w: SSAValue, result: SSAValue) -> None:
    """An iteration is a plane of the image: padded, then convolved with each of its weights."""
    room = Room.around(e.size, e.counts, e.kernel, e.stride, e.padding, e.dilation)
    taps = Taps(room, e.counts, e.kernel, e.stride, e.dilation)
    planes, weight = e.images * e.groups, (e.groups * e.outputs, prod(e.kernel))
    cost = room.count + e.outputs * prod(e.counts) * prod(e.kernel)
    source = work.read(x, (planes, prod(e.size)))
    weights = work.read(w, weight)
    target = work.write(result, (planes * e.outputs, prod(e.counts)))
    scratch = [] if room.is_whole else [work.scratch_per_piece(planes, cost, (room.count,), element_of(x), "padded")]

    def body(it: Iteration, x: SSAValue, w: SSAValue, y: SSAValue, *padded: SSAValue) -> None:
        nest = it.nest
        plane = _placed(nest, room, Plane(x, (it.index,), e.size[1]), it.piece, padded)
        group = nest.remainder(it.index, e.groups)

        def output(inside: Nest, o: tuple[SSAValue, ...]) -> None:
            upper = Plane(y, (affine(inside, 0, (it.index, e.outputs), (o[0], 1)),), e.counts[1])
            taps.sum(inside, plane, upper, (w, affine(inside, 0, (group, e.outputs), (o[0], 1))), add=False)

        each(nest, [e.outputs], output, "c")

    work.launch(planes, cost, [source, weights], [target, *scratch], body)


def _placed(nest: Nest, room: Room, source: Plane, piece: SSAValue, padded: Sequence[SSAValue]) -> Plane:
    """A plane in its room: copied into scratch, if there is any."""
    if not padded:
        return source
    target = Plane(padded[0], (piece,), room.extents[1])
    room.place(nest, source, target, 0.0)
    return target


def backward_input(work: Work, e: ConvExtents, dy: SSAValue, w: SSAValue, result: SSAValue) -> None:
    """An iteration is a plane of the image: what each output channel gives it."""
    room = Room.between(e.size, e.counts, e.kernel, e.stride, e.padding, e.dilation)
    taps = Taps(room, e.size, e.kernel, (1, 1), e.dilation, flipped=True)
    planes = e.images * e.groups
    cost = e.outputs * (room.count + prod(e.size) * prod(e.kernel))
    source = work.read(dy, (planes * e.outputs, prod(e.counts)))
    weights = work.read(w, (e.groups * e.outputs, prod(e.kernel)))
    target = work.write(result, (planes, prod(e.size)))
    scratch = [] if room.is_whole else [work.scratch_per_piece(planes, cost, (room.count,), element_of(dy), "padded")]

    def body(it: Iteration, dy: SSAValue, w: SSAValue, dx: SSAValue, *padded: SSAValue) -> None:
        nest = it.nest
        group = nest.remainder(it.index, e.groups)
        lower = Plane(dx, (it.index,), e.size[1])
        many = e.outputs > 1
        if many:
            lower.fill(nest, prod(e.size), 0.0)

        def output(inside: Nest, o: tuple[SSAValue, ...]) -> None:
            upper = Plane(dy, (affine(inside, 0, (it.index, e.outputs), (o[0], 1)),), e.counts[1])
            plane = _placed(inside, room, upper, it.piece, padded)
            taps.sum(inside, plane, lower, (w, affine(inside, 0, (group, e.outputs), (o[0], 1))), add=many)

        each(nest, [e.outputs], output, "c")

    work.launch(planes, cost, [source, weights], [target, *scratch], body)


def backward_weight(work: Work, e: ConvExtents, x: SSAValue, dy: SSAValue, result: SSAValue) -> None:
    """An iteration is an output channel: a sum over images and windows for each tap."""
    room = Room.around(e.size, e.counts, e.kernel, e.stride, e.padding, e.dilation)
    taps = Taps(room, e.counts, e.kernel, e.stride, e.dilation)
    channels, count = e.groups * e.outputs, prod(e.kernel)
    cost = e.images * (room.count + prod(e.counts) * count)
    source = work.read(x, (e.images * e.groups, prod(e.size)))
    upper = work.read(dy, (e.images * channels, prod(e.counts)))
    target = work.write(result, (channels, count))
    scratch = [] if room.is_whole else [work.scratch_per_piece(channels, cost, (room.count,), element_of(x), "padded")]

    def body(it: Iteration, x: SSAValue, dy: SSAValue, dw: SSAValue, *padded: SSAValue) -> None:
        nest, group = it.nest, it.nest.quotient(it.index, e.outputs)
        each(nest, [count], lambda n, k: n.store(number(n, dw), dw, (it.index, *k)), "z")

        def image(inside: Nest, n: tuple[SSAValue, ...]) -> None:
            number_of = affine(inside, 0, (n[0], e.groups), (group, 1))
            plane = _placed(inside, room, Plane(x, (number_of,), e.size[1]), it.piece, padded)
            above = Plane(dy, (affine(inside, 0, (n[0], channels), (it.index, 1)),), e.counts[1])
            _correlate(inside, taps, plane, above, dw, it.index)

        each(nest, [e.images], image, "n")

    work.launch(channels, cost, [source, upper], [target, *scratch], body)


def _correlate(nest: Nest, taps: Taps, plane: Plane, above: Plane, dw: SSAValue, channel: SSAValue) -> None:
    """Add `sum over windows i of plane[i + k] above[i]` to each tap `k` of the weight."""

    def sums(inside: Nest, some: Sequence[tuple[SSAValue, SSAValue]]) -> None:
        """The sums of some taps, in one pass."""

        def window(deepest: Nest, i: tuple[SSAValue, ...], totals: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            b = deepest.scalars
            g = above.load(deepest, above.at(deepest, [(i[0], 1)], [(i[1], 1)]))
            terms = [plane.load(deepest, taps.place(deepest, plane, i, tap)) * g for tap in some]
            return [b.accumulate_add(b.of(t), term).value for t, term in zip(totals, terms, strict=True)]

        zeros = [number(inside, dw).value for _ in some]
        totals = inside.loops(taps.counts, zeros, window, "o", rolled=True)
        for tap, total in zip(some, totals, strict=True):
            at = (channel, taps.weight_at(inside, tap))
            inside.store(inside.load(dw, at) + inside.scalars.of(total), dw, at)

    if prod(taps.kernel) > UNROLLED:
        each(nest, taps.kernel, lambda inside, k: sums(inside, [(k[0], k[1])]), "k")
        return
    index = nest.kernel.index
    sums(nest, [(index(r), index(c)) for r in range(taps.kernel[0]) for c in range(taps.kernel[1])])
