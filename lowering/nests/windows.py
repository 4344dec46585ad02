"""What nests of convolution and pooling share: planes of an image with room around them, and loops over taps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from math import prod
from typing import Any, TypeAlias, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import SSAValue

from xdsl_rlx.dialects.lir.program import memref_of
from xdsl_rlx.dialects.lir.scalar_builder import Scalar
from xdsl_rlx.dialects.shapes import compute_type
from xdsl_rlx.lowering.nest.builder import Nest

UNROLLED = 32
"""Taps up to which a window is written out: the loop inside is then over neighbours in memory, and vectorises."""

SHORT_ROW = 64
"""Columns below which the rest of a row counts."""

Each: TypeAlias = Callable[[Nest, tuple[SSAValue, ...]], None]
"""Emits what stands inside of the loops with these indices."""

Terms: TypeAlias = Sequence[tuple[SSAValue, int]]
"""Indices and what each is multiplied by."""


def each(nest: Nest, extents: Sequence[int], body: Each, name: str) -> None:
    """A perfect nest over `extents` that carries nothing."""

    def inside(deepest: Nest, indices: tuple[SSAValue, ...], _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
        body(deepest, indices)
        return ()

    nest.loops(extents, (), inside, name, rolled=True)


def over_plane(nest: Nest, counts: Sequence[int], body: Each, name: str) -> None:
    """
    `each` over rows and columns, where the rest of a short row that does not fill a vector of 8 has loops of its own.

    LLVM would go through that rest element by element.
    """
    index = nest.kernel.index
    ends = [0, counts[1] - counts[1] % 8] if counts[1] < SHORT_ROW else [0]
    if len(ends) > 1 and counts[1] % 8 >= 4:
        ends.append(ends[-1] + 4)
    ends.append(counts[1])

    def row(inside: Nest, i: SSAValue) -> None:
        for low, high in pairwise(ends):
            if low < high:
                span(inside, index(low), index(high), lambda deepest, j: body(deepest, (i, j)), f"{name}1", rolled=True)

    span(nest, index(0), index(counts[0]), row, f"{name}0")


def span(
    nest: Nest, low: SSAValue, high: SSAValue, body: Callable[[Nest, SSAValue], None], name: str, rolled: bool = False
) -> None:
    """A loop from `low` to `high` that carries nothing; see `Nest.loop`."""

    def inside(deepest: Nest, index: SSAValue, _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
        body(deepest, index)
        return ()

    nest.loop((low, high), (), inside, name, rolled)


def affine(nest: Nest, constant: int, *terms: tuple[SSAValue, int]) -> SSAValue:
    """`constant + sum of value * factor`."""
    total: Scalar | None = None
    for value, factor in terms:
        known = _constant(value)
        if known is not None or not factor:
            constant += factor * (known or 0)
            continue
        term = nest.scalars.of(value)
        term = term if factor == 1 else term * factor
        total = term if total is None else total + term
    if total is None:
        return nest.kernel.index(constant)
    return (total + constant if constant else total).value


def _constant(value: SSAValue) -> int | None:
    owner = value.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
        return cast("IntegerAttr[Any]", owner.value).value.data
    return None


def number(nest: Nest, buffer: SSAValue, value: float = 0.0) -> Scalar:
    """The constant, by default 0, of the type that elements of the buffer are computed in."""
    return nest.scalars.const(value, compute_type(memref_of(buffer).element_type))


@dataclass(frozen=True)
class Plane:
    """One image of one channel in a buffer: `lead` chooses it, its elements are one dimension, rows `pitch` apart."""

    buffer: SSAValue
    lead: tuple[SSAValue, ...]
    pitch: int

    def at(self, nest: Nest, rows: Terms, columns: Terms) -> SSAValue:
        """The place of the element in the row and column that the sums of the terms are."""
        return affine(nest, 0, *((value, factor * self.pitch) for value, factor in rows), *columns)

    def load(self, nest: Nest, place: SSAValue) -> Scalar:
        """The element at a place."""
        return nest.load(self.buffer, (*self.lead, place))

    def store(self, nest: Nest, value: Scalar, place: SSAValue) -> None:
        """Set the element at a place."""
        nest.store(value, self.buffer, (*self.lead, place))

    def fill(self, nest: Nest, count: int, value: float) -> None:
        """Set `count` elements from the start on."""
        one = number(nest, self.buffer, value)
        each(nest, [count], lambda n, i: self.store(n, one, i[0]), "z")


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
    def around(
        size: Sequence[int],
        counts: Sequence[int],
        kernel: Sequence[int],
        stride: Sequence[int],
        padding: Sequence[int],
        dilation: Sequence[int] = (1, 1),
    ) -> Room:
        """Room for all windows of a padded image."""
        axes = zip(counts, kernel, stride, dilation, strict=True)
        reach = tuple((n - 1) * s + (k - 1) * d + 1 for n, k, s, d in axes)
        return Room(tuple(size), reach, (1, 1), tuple(padding))

    @staticmethod
    def between(
        size: Sequence[int],
        counts: Sequence[int],
        kernel: Sequence[int],
        stride: Sequence[int],
        padding: Sequence[int],
        dilation: Sequence[int] = (1, 1),
    ) -> Room:
        """Room for the cotangents of all windows, apart by the stride: the windows of it are those an element is in."""
        reach = tuple((k - 1) * d for k, d in zip(kernel, dilation, strict=True))
        extents = tuple(n + r for n, r in zip(size, reach, strict=True))
        return Room(tuple(counts), extents, tuple(stride), tuple(r - p for r, p in zip(reach, padding, strict=True)))

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

    def place(self, nest: Nest, source: Plane, target: Plane, fill: float) -> None:
        """Fill the target, of the extents, and copy the source, of the size, into it."""
        target.fill(nest, self.count, fill)

        def copy(inside: Nest, i: SSAValue, j: SSAValue) -> None:
            target.store(
                inside, source.load(inside, source.at(inside, [(i, 1)], [(j, 1)])), self._at(inside, target, i, j)
            )

        self._inside(nest, copy)

    def unplace(self, nest: Nest, source: Plane, target: Plane) -> None:
        """Copy the plane, of the size, out of the source, of the extents: the transpose of `place`."""
        if self.bounds != [(0, n) for n in self.size]:
            target.fill(nest, prod(self.size), 0.0)

        def copy(inside: Nest, i: SSAValue, j: SSAValue) -> None:
            value = source.load(inside, self._at(inside, source, i, j))
            target.store(inside, value, target.at(inside, [(i, 1)], [(j, 1)]))

        self._inside(nest, copy)

    def _at(self, nest: Nest, plane: Plane, i: SSAValue, j: SSAValue) -> SSAValue:
        start = self.offsets[0] * plane.pitch + self.offsets[1]
        return affine(nest, start, (i, self.steps[0] * plane.pitch), (j, self.steps[1]))

    def _inside(self, nest: Nest, body: Callable[[Nest, SSAValue, SSAValue], None]) -> None:
        """`body` for every element of the plane that lies inside."""
        (top, bottom), (left, right) = (map(nest.kernel.index, bounds) for bounds in self.bounds)

        def row(inside: Nest, i: SSAValue) -> None:
            span(inside, left, right, lambda deepest, j: body(deepest, i, j), "j", rolled=True)

        span(nest, top, bottom, row, "i")


def over_taps(
    nest: Nest,
    kernel: Sequence[int],
    carried: Sequence[Scalar],
    step: Callable[[Nest, tuple[SSAValue, SSAValue], tuple[Scalar, ...]], Sequence[Scalar]],
) -> tuple[Scalar, ...]:
    """`step` for each tap of a window in row-major order, written out if there are few."""
    if prod(kernel) <= UNROLLED:
        values = tuple(carried)
        for row, column in product(*map(range, kernel)):
            values = tuple(step(nest, (nest.kernel.index(row), nest.kernel.index(column)), values))
        return values

    def inside(deepest: Nest, tap: tuple[SSAValue, ...], values: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
        scalars = tuple(deepest.scalars.of(v) for v in values)
        return [s.value for s in step(deepest, (tap[0], tap[1]), scalars)]

    return tuple(map(nest.scalars.of, nest.loops(kernel, [s.value for s in carried], inside, "k")))
