"""NumPy's ways to move elements, as builder methods: they build the ops of `shape.py`, and gathers."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TypeAlias

from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects.constants import Number
from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.dialects.mir.shape import FlipOp
from xdsl_rlx.dialects.mir.subscripts import wrapped
from xdsl_rlx.dialects.mir.value import BuilderCore, Operand, Value
from xdsl_rlx.dialects.shapes import broadcast_shapes, dims, integers, normalize_axes, normalize_axis

PadWidth: TypeAlias = "int | Sequence[int] | Sequence[Sequence[int]]"
"""Elements in front and behind, for all axes or for each, as NumPy's `pad_width`."""


class MovesBuilder(BuilderCore):
    """Builder methods of this family."""

    def flip(self, x: Operand, axis: int | Sequence[int] | None = None) -> Value:
        """`mir.flip`: reverse one or several axes, by default all."""
        value = self.value(self.operand(x))
        axes = range(value.rank) if axis is None else normalize_axes(integers("flip", axis), value.rank)
        for one in axes:
            if value.shape[one] > 1:
                value = self.op(FlipOp, value.ssa, one)
        return value

    def pad(
        self, x: Operand, pad_width: PadWidth, *, constant_values: Number = 0, interior: int | Sequence[int] = 0
    ) -> Value:
        """
        Pad with constants, as `np.pad`: `pad_width` is one number, `(before, after)`, or a pair for each axis.

        A negative width crops. `interior`, one number or one for each axis, is the number of constants between
        neighbours. GraphError for a width that crops more than the extent.
        """
        value = self.value(self.operand(x))
        inner = integers("pad", interior)
        inner = inner * value.rank if len(inner) == 1 else inner
        pairs = _pairs(pad_width, value.rank)
        if len(inner) != value.rank or min(inner, default=0) < 0:
            raise GraphError(f"pad: expected an interior of at least 0 for each of {value.rank} axes, got {interior}")
        for axis, ((before, after), between) in enumerate(zip(pairs, inner, strict=True)):
            value = self._spread(value, axis, between, constant_values)
            left = value.shape[axis] + min(before, 0) + min(after, 0)
            if left < 0:
                raise GraphError(
                    f"pad: {(before, after)} removes more than the {value.shape[axis]} elements of axis {axis}"
                )
            if left != value.shape[axis]:
                value = self._this.narrow(value, axis, max(-before, 0), left)
            value = self._between(value, axis, before, after, constant_values)
        return value

    def _between(self, value: Value, axis: int, before: int, after: int, number: Number) -> Value:
        def filled(extent: int) -> list[Value]:
            shape = (*value.shape[:axis], extent, *value.shape[axis + 1 :])
            return [self.full(shape, number, value.dtype)] if extent > 0 else []

        parts = [*filled(before), value, *filled(after)]
        return self._this.concat(parts, axis) if len(parts) > 1 else value

    def _spread(self, value: Value, axis: int, between: int, number: Number) -> Value:
        """Constants between the elements along an axis: behind each, without those behind the last."""
        extent = value.shape[axis]
        if not between or extent < 2:
            return value
        lines = self._between(self.expand_dims(value, axis + 1), axis + 1, 0, between, number)
        spread = self._this.reshape(lines, (*value.shape[:axis], extent * (between + 1), *value.shape[axis + 1 :]))
        return self._this.narrow(spread, axis, 0, extent * (between + 1) - between)

    def stack(self, arrays: Sequence[Operand], axis: int = 0) -> Value:
        """Join tensors of one shape along a new axis; GraphError for an empty list."""
        values = [self.value(x) for x in self.operands(*arrays)]
        if not values:
            raise GraphError("stack: expected at least one value")
        if len(shapes := list(dict.fromkeys(value.shape for value in values))) > 1:
            raise VerifyException(f"stack: shapes {' and '.join(map(dims, shapes))} differ")
        axis = normalize_axis(axis, values[0].rank + 1)
        return self._this.concat([self.expand_dims(value, axis) for value in values], axis)

    def split(self, x: Operand, indices_or_sections: int | Sequence[int], axis: int = 0) -> tuple[Value, ...]:
        """
        Split along `axis`, as `np.split`: into a number of equal sections, or at the given positions.

        GraphError if the number of sections does not divide the extent.
        """
        value = self.value(self.operand(x))
        axis = normalize_axis(axis, value.rank)
        extent = value.shape[axis]
        if isinstance(indices_or_sections, Sequence):
            ends = [min(max(n + extent if n < 0 else n, 0), extent) for n in integers("split", indices_or_sections)]
        else:
            (count,) = integers("split", indices_or_sections)
            if count < 1 or extent % count:
                raise GraphError(f"split: {count} equal parts do not make up an axis of extent {extent}")
            ends = [extent // count * n for n in range(1, count)]
        starts = [0, *ends]
        return tuple(
            self._this.narrow(value, axis, start, max(end - start, 0))
            for start, end in zip(starts, [*ends, extent], strict=True)
        )

    def roll(self, x: Operand, shift: int | Sequence[int], axis: int | Sequence[int] | None = None) -> Value:
        """Shift elements along `axis`, as `np.roll`, with wrap-around; without `axis`, shift the flattened `x`."""
        value = self.value(self.operand(x))
        if axis is None:
            return self._this.reshape(self.roll(self.ravel(value), sum(integers("roll", shift)), 0), value.shape)
        axes, shifts = integers("roll", axis), integers("roll", shift)
        if 1 in (len(axes), len(shifts)):
            axes, shifts = axes * len(shifts), shifts * len(axes)
        if len(axes) != len(shifts):
            raise GraphError(f"roll: {len(shifts)} shifts for {len(axes)} axes")
        for one, by in zip(axes, shifts, strict=True):
            at = normalize_axis(one, value.rank)
            extent = value.shape[at]
            if extent and (end := by % extent):
                b = self._this
                parts = [b.narrow(value, at, extent - end, end), b.narrow(value, at, 0, extent - end)]
                value = b.concat(parts, at)
        return value

    def tile(self, x: Operand, reps: int | Sequence[int]) -> Value:
        """Repeat `x` along each axis, as `np.tile`; `reps` is aligned with the last axis."""
        value, counts = self.value(self.operand(x)), integers("tile", reps)
        if min(counts, default=0) < 0:
            raise GraphError(f"tile: expected repetitions of at least 0, got {reps}")
        rank = max(value.rank, len(counts))
        shape = (*([1] * (rank - value.rank)), *value.shape)
        counts = (*([1] * (rank - len(counts))), *counts)
        apart = self._this.reshape(value, [n for extent in shape for n in (1, extent)])
        whole = [n for pair in zip(counts, shape, strict=True) for n in pair]
        together = [count * extent for count, extent in zip(counts, shape, strict=True)]
        return self._this.reshape(self._this.expand(apart, whole), together)

    def repeat(self, x: Operand, repeats: int | Sequence[int], axis: int | None = None) -> Value:
        """Repeat each element `repeats` times, or as often as a list says; without `axis`, repeat the flattened `x`."""
        value = self.value(self.operand(x))
        if axis is None:
            value, axis = self.ravel(value), 0
        axis, counts = normalize_axis(axis, value.rank), integers("repeat", repeats)
        extent = value.shape[axis]
        if len(counts) not in (1, extent) or min(counts) < 0:
            raise GraphError(f"repeat: expected one count of at least 0 or {extent} of them, got {repeats}")
        if len(counts) != 1:
            places = [place for place, count in enumerate(counts) for _ in range(count)]
            return self._this.gather(value, self.constant(places, "i64"), axis)
        behind = value.shape[axis + 1 :]
        lines = self._this.expand(self.expand_dims(value, axis + 1), (*value.shape[: axis + 1], counts[0], *behind))
        return self._this.reshape(lines, (*value.shape[:axis], extent * counts[0], *behind))

    def moveaxis(self, x: Operand, source: int | Sequence[int], destination: int | Sequence[int]) -> Value:
        """Move the axes `source` to the positions `destination`; the others keep their order."""
        value = self.value(self.operand(x))
        ends: list[list[int]] = []
        for given in (source, destination):
            ends.append([normalize_axis(axis, value.rank) for axis in integers("moveaxis", given)])
        old, new = ends
        if len(old) != len(new) or len({*old}) != len(old) or len({*new}) != len(new):
            raise GraphError(f"moveaxis: expected as many distinct axes twice, got {source} and {destination}")
        perm = [axis for axis in range(value.rank) if axis not in old]
        for to, axis in sorted(zip(new, old, strict=True)):
            perm.insert(to, axis)
        return self._this.transpose(value, perm)

    def swapaxes(self, x: Operand, axis1: int, axis2: int) -> Value:
        """Interchange two axes."""
        value = self.value(self.operand(x))
        perm = list(range(value.rank))
        first, second = normalize_axis(axis1, value.rank), normalize_axis(axis2, value.rank)
        perm[first], perm[second] = second, first
        return self._this.transpose(value, perm)

    def squeeze(self, x: Operand, axis: int | Sequence[int] | None = None) -> Value:
        """Remove axes of extent 1, by default all of them; GraphError for an axis of another extent."""
        value = self.value(self.operand(x))
        if axis is None:
            return self._this.reshape(value, [n for n in value.shape if n != 1])
        gone = normalize_axes(integers("squeeze", axis), value.rank)
        if longer := [one for one in gone if value.shape[one] != 1]:
            raise GraphError(f"squeeze: expected extent 1 at axis {longer[0]}, got shape {dims(value.shape)}")
        return self._this.reshape(value, [n for one, n in enumerate(value.shape) if one not in gone])

    def expand_dims(self, x: Operand, axis: int | Sequence[int]) -> Value:
        """Insert axes of extent 1 at these positions of the result."""
        value, new = self.value(self.operand(x)), integers("expand_dims", axis)
        places = normalize_axes(new, value.rank + len(new))
        rest = iter(value.shape)
        return self._this.reshape(value, [1 if n in places else next(rest) for n in range(value.rank + len(new))])

    def broadcast_to(self, x: Operand, shape: int | Sequence[int]) -> Value:
        """`mir.expand` with NumPy's name and arguments."""
        return self._this.expand(x, integers("broadcast_to", shape))

    def ravel(self, x: Operand) -> Value:
        """Flatten to one dimension."""
        value = self.value(self.operand(x))
        return self._this.reshape(value, (prod(value.shape),))

    def flatten(self, x: Operand) -> Value:
        """Flatten to one dimension; same as `ravel`, since values are immutable."""
        return self.ravel(x)

    def take_along_axis(self, x: Operand, indices: Operand, axis: int = -1) -> Value:
        """
        Return `result[.., i, ..] = x[.., indices[.., i, ..], ..]` along `axis`; other axes broadcast, as in NumPy.

        Negative indices count from the end; out-of-range indices are clamped.
        """
        value = self.value(self.operand(x))
        axis, b = normalize_axis(axis, value.rank), self._this
        at = wrapped(value, self.value(self.operand(indices)), value.shape[axis])
        if at.rank != value.rank:
            raise VerifyException(f"expected indices of rank {value.rank}, got {dims(at.shape)}")
        table, at = b.moveaxis(value, axis, -1), b.moveaxis(at, axis, -1)
        outer = broadcast_shapes(table.shape[:-1], at.shape[:-1])
        table, at = (b.expand(part, (*outer, part.shape[-1])) for part in (table, at))
        return b.moveaxis(b.gather(table, at, table.rank - 1, table.rank - 1), -1, axis)


def _pairs(pad_width: PadWidth, rank: int) -> list[tuple[int, int]]:
    """Elements in front and behind for each axis; GraphError for what does not say so."""
    given: list[tuple[int, ...]] = []
    whole = isinstance(pad_width, Sequence) and all(isinstance(one, Sequence) for one in pad_width)
    for one in pad_width if isinstance(pad_width, Sequence) and whole else [pad_width]:
        width = integers("pad", one)  # pyright: ignore[reportArgumentType]
        given.append(width * 2 if len(width) == 1 else width)
    given = given * rank if len(given) == 1 else given
    if len(given) != rank or any(len(pair) != 2 for pair in given):
        raise GraphError(f"pad: expected a number, a pair or {rank} pairs, got {pad_width}")
    return [(before, after) for before, after in given]
