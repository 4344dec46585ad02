"""What nests of convolution and pooling share: planes of an image with room around them, and the taps of windows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from math import prod

from xdsl_rlx.dialects.mir.conv import ConvExtents
from xdsl_rlx.dialects.shapes import compute_type
from xdsl_rlx.lowering.buffers import Argument
from xdsl_rlx.lowering.kernel_dsl import Array, Number, ndrange, rolled
from xdsl_rlx.lowering.kernels.work import Work

UNROLLED = 32
"""Taps up to which a window is written out: the loop inside is then over neighbours in memory, and vectorises."""

SHORT_ROW = 64
"""Columns below which the rest of a row counts."""


def taps_of(kernel: Sequence[int]) -> Iterable[tuple[Number, ...]]:
    """Each tap of a window in row-major order, written out if there are few."""
    return tuple(product(*map(range, kernel))) if prod(kernel) <= UNROLLED else ndrange(*kernel)


def runs(count: int) -> list[range]:
    """
    The columns of a row, where the rest of a short one that does not fill a vector of 8 has loops of its own.

    LLVM would go through that rest element by element.
    """
    ends = [0, count - count % 8] if count < SHORT_ROW else [0]
    if len(ends) > 1 and count % 8 >= 4:
        ends.append(ends[-1] + 4)
    return [range(low, high) for low, high in pairwise([*ends, count]) if low < high]


@dataclass(frozen=True)
class Plane:
    """One image of one channel, by row and column, `pitch` and `step` apart in elements of one dimension."""

    elements: Array
    pitch: int
    step: int = 1
    start: Number = 0

    def at(self, i: Number, j: Number) -> Number:
        """The place of an element."""
        return i * self.pitch + j * self.step + self.start

    def __getitem__(self, at: tuple[Number, Number]) -> Number:
        return self.elements[self.at(*at)]

    def __setitem__(self, at: tuple[Number, Number], value: Number) -> None:
        self.elements[self.at(*at)] = value

    def every(self, steps: Sequence[int], start: Number = 0) -> Plane:
        """One in so many rows and columns, from a place on."""
        return Plane(self.elements, self.pitch * steps[0], self.step * steps[1], start)

    def fill(self, count: int, value: float = 0.0) -> None:
        """Set `count` elements from the start on."""
        for at in rolled(range(count)):
            self.elements[at] = value


@dataclass(frozen=True)
class Room:
    """
    Where a plane of `size` lies inside one of `extents`: element `i` at `i * steps + offsets`, along both axes.

    What lies outside of the extents is left out, what is between or around is filled.
    """

    size: tuple[int, ...]
    extents: tuple[int, ...]
    steps: tuple[int, ...]
    offsets: tuple[int, ...]

    @staticmethod
    def around(e: ConvExtents) -> Room:
        """Room for all windows of a padded image."""
        axes = zip(e.counts, e.kernel, e.stride, e.dilation, strict=True)
        return Room(e.size, tuple((n - 1) * s + (k - 1) * d + 1 for n, k, s, d in axes), (1, 1), e.padding)

    @staticmethod
    def between(e: ConvExtents) -> Room:
        """Room for the cotangents of all windows, apart by the stride: the windows of it are those an element is in."""
        reach = [(k - 1) * d for k, d in zip(e.kernel, e.dilation, strict=True)]
        extents = tuple(n + r for n, r in zip(e.size, reach, strict=True))
        return Room(e.counts, extents, e.stride, tuple(r - p for r, p in zip(reach, e.padding, strict=True)))

    @property
    def count(self) -> int:
        """Elements of the whole."""
        return prod(self.extents)

    @property
    def bounds(self) -> list[tuple[int, int]]:
        """The elements of the plane, along each axis, that lie inside."""
        axes = zip(self.size, self.extents, self.steps, self.offsets, strict=True)
        return [(max(0, -(q // s)), max(0, min(n, (room - 1 - q) // s + 1))) for n, room, s, q in axes]

    @property
    def is_whole(self) -> bool:
        """Whether the plane can be used as it lies: nothing around, nothing between."""
        return set(self.steps) == {1} and set(self.offsets) == {0} and self.size[1] >= self.extents[1]

    @property
    def pitch(self) -> int:
        """The distance of rows of a plane, in its room or as it lies."""
        return self.size[1] if self.is_whole else self.extents[1]

    def over(
        self, work: Work, planes: int, cost: int, reads: Sequence[Argument], writes: Sequence[Argument]
    ) -> Callable[[Callable[..., None]], None]:
        """As `Work.over`: the function gets scratch for a plane of the first argument, unless it can be used so."""
        if not self.is_whole:
            element = compute_type(reads[0].buffer.element)
            writes = [*writes, work.scratch_per_piece(planes, cost, (self.count,), element, "padded")]
        return work.over(planes, cost, reads, writes)

    def placed(self, source: Array, scratch: Sequence[Array], piece: Number, fill: float = 0.0) -> Plane:
        """A plane in its room: copied into scratch, if there is any."""
        if not scratch:
            return Plane(source, self.pitch)
        target = Plane(scratch[0][piece], self.pitch)
        self.place(source, target, fill)
        return target

    def place(self, source: Array, target: Plane, fill: float = 0.0) -> None:
        """Fill the target, of the extents, and copy the source, of the size, into it."""
        target.fill(self.count, fill)
        lower, inside, (rows, columns) = Plane(source, self.size[1]), self._inside(target), self.bounds
        for i in range(*rows):
            for j in rolled(range(*columns)):
                inside[i, j] = lower[i, j]

    def unplace(self, source: Plane, target: Array) -> None:
        """Copy the plane, of the size, out of the source, of the extents: the transpose of `place`."""
        lower, inside, (rows, columns) = Plane(target, self.size[1]), self._inside(source), self.bounds
        if self.bounds != [(0, n) for n in self.size]:
            lower.fill(prod(self.size))
        for i in range(*rows):
            for j in rolled(range(*columns)):
                lower[i, j] = inside[i, j]

    def _inside(self, plane: Plane) -> Plane:
        """What a plane of the extents has of one of the size."""
        return plane.every(self.steps, plane.at(*self.offsets))
