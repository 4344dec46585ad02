"""Iteration spaces of groups of ops: which loop dimension each tensor axis runs over. No IR is changed here.

A group's space is the ordered list of extents of its loops. Every value of the group maps each of its axes to one loop,
or to none where its extent is 1. Two groups join when the values that they share embed one space in the other.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from math import prod
from typing import NamedTuple

from xdsl.ir import Operation, SSAValue

from xdsl_rlx.lowering.fuse.loop_tables import LOOPS, REDUCTION

AxisMap = tuple[int | None, ...]
"""The loop of each axis of a value; None for an axis of extent 1."""

SMALL_ROW = 1 << 14
"""Most elements that a kernel with a single row works on without being cut up."""


@dataclass(frozen=True)
class Space:
    """The loops of a group and the axis maps of the values it touches element by element. Only `take_in` changes it."""

    extents: tuple[int, ...]
    maps: dict[SSAValue, AxisMap]

    @staticmethod
    def of(op: Operation) -> Space | None:
        """The space of one op, or None when the op is no loop over its elements (a view, a concat)."""
        rule = LOOPS.get(type(op))
        if rule is None:
            return None
        axes = rule(op)
        if axes is None:
            return None
        shape, maps = axes
        kept = [axis for axis, extent in enumerate(shape) if extent != 1]
        number = {axis: loop for loop, axis in enumerate(kept)}
        compact = {
            value: tuple(None if axis is None else number.get(axis) for axis in value_axes)
            for value, value_axes in maps.items()
        }
        return Space(tuple(shape[axis] for axis in kept), compact)

    def embedding(self, other: Space) -> tuple[int, ...] | None:
        """The loops of this space that those of a space with no more loops are, or None where the values that both have
        do not line up."""
        pairs: dict[int, int] = {}
        ours, theirs = self.maps, other.maps
        for value in ours if len(ours) < len(theirs) else theirs:
            mine, their = ours.get(value), theirs.get(value)
            if mine is None or their is None:
                continue
            for a, b in zip(mine, their, strict=True):
                if (a is None) != (b is None):
                    return None
                if a is not None and b is not None and pairs.setdefault(b, a) != a:
                    return None
        if len(pairs) != len(other.extents):
            return None
        images = tuple(pairs[loop] for loop in range(len(other.extents)))
        return None if any(a >= b for a, b in pairwise(images)) else images

    def moved(self, images: Sequence[int]) -> Mapping[SSAValue, AxisMap]:
        """The axis maps with each loop replaced by its image."""
        if all(loop == image for loop, image in enumerate(images)):
            return self.maps
        return {
            value: tuple(None if loop is None else images[loop] for loop in axes) for value, axes in self.maps.items()
        }

    def join(self, other: Space) -> Space | None:
        """The union of two groups over the larger space, or None when the values they share do not line up."""
        if (len(other.extents), len(other.maps)) > (len(self.extents), len(self.maps)):
            return other.join(self)
        images = self.embedding(other)
        return None if images is None else Space(self.extents, {**self.maps, **other.moved(images)})

    def take_in(self, other: Space) -> bool:
        """Join a space with no more loops to this one, in place; False, and no change, if they do not line up."""
        images = self.embedding(other)
        if images is None:
            return False
        self.maps.update(other.moved(images))
        return True

    def loops(self, value: SSAValue) -> frozenset[int]:
        """The loops that a value varies over."""
        return frozenset(loop for loop in self.maps[value] if loop is not None)

    @staticmethod
    def of_group(ops: Sequence[Operation]) -> Space | None:
        """The joint space of ops, or None if they do not join."""
        spaces = [space for op in ops if (space := Space.of(op)) is not None]
        if len(spaces) != len(ops):
            return None
        spaces.sort(key=lambda s: -len(s.extents))
        while len(spaces) > 1:
            # Some ops share enough with the rest only when taken together, so several parts may grow side by side.
            parts: list[Space] = []
            for space in spaces:
                if not any(part.take_in(space) for part in parts):
                    parts.append(Space(space.extents, dict(space.maps)))
            if len(parts) == len(spaces):
                return None
            spaces = sorted(parts, key=lambda s: -len(s.extents))
        return spaces[0]


class Reduces(StrEnum):
    """What a reduction of a group does to the group's loops."""

    ROW = "row"
    """Over the inner loops: a value per row, of use later in the same row."""
    COLUMN = "column"
    """Over the outer (or middle) loops: a value per column, complete after the last row."""
    ALL = "all"
    """Over every loop: complete after the last row."""


@dataclass(frozen=True)
class Structure:
    """
    How a group's loops are nested: `outer` loops, then `inner` ones.

    With a row reduction or none, `outer` are the rows and `inner` runs within a row. In a column group (`middle`), the
    outer loops are [0, middle start) and the loops of `middle` run sequentially outside the inner ones.
    """

    split: int
    middle: tuple[int, int] | None
    kinds: Mapping[Operation, Reduces]


def structure_of(space: Space, ops: Collection[Operation], *, row_split: int | None = None) -> Structure | None:
    """
    The nesting of a group, or None when its reductions want different ones.

    `row_split` fixes the number of outer loops from outside (a matrix product computes whole rows).
    """
    inside = set(ops)
    reductions = [op for op in ops if REDUCTION.get(type(op)) is not None]
    return nesting(space, reductions, lambda value: any(use.operation in inside for use in value.uses), row_split)


def nesting(
    space: Space, reductions: Iterable[Operation], is_used: Callable[[SSAValue], bool], row_split: int | None
) -> Structure | None:
    """`structure_of` for a group of which it is known what its reductions are and whether it uses a value itself."""
    demands = {op: demand_of(space, op, is_used(op.results[0])) for op in reductions}
    place = agree(demands.values(), row_split)
    if place is None:
        return None
    split, middle = place
    kinds: dict[Operation, Reduces] = {}
    for of_rows in (False, True):
        # sums of values per row come last
        for op, demand in demands.items():
            if demand is not None and demand.kind is not None and demand.is_of_rows == of_rows:
                kinds[op] = demand.kind
    return Structure(max(len(space.extents) - 1, 0) if split is None else split, middle, kinds)


class Demand(NamedTuple):
    """What a reduction is to a group, and the nesting that it needs for that: a split, or loops in the middle, if any.

    Without a kind it reduces nothing here.
    """

    kind: Reduces | None
    split: int | None = None
    middle: tuple[int, int] | None = None

    @property
    def is_of_rows(self) -> bool:
        """Whether what is reduced is a value per row."""
        return self.kind is Reduces.ALL and self.split is not None


def demand_of(space: Space, op: Operation, used_inside: bool) -> Demand | None:
    """The demand of a reduction whose result its group uses itself or not; None if there is no nesting for it."""
    rank = len(space.extents)
    operand, result = space.loops(op.operands[0]), space.loops(op.results[0])
    gone = sorted(operand - result)
    if not gone:
        return Demand(None)
    if len(gone) == rank:
        if not used_inside:
            return Demand(Reduces.ALL)
        return None if prod(space.extents) > SMALL_ROW else Demand(Reduces.ROW, 0)
    first, last = gone[0], gone[-1] + 1
    if last - first != len(gone):
        return None
    if last == rank and len(operand) == rank:
        return Demand(Reduces.ROW, first)
    if used_inside:
        return None
    if len(operand) == rank:
        return Demand(Reduces.COLUMN, None, (first, last)) if first else Demand(Reduces.COLUMN, last)
    # A value per row, summed over all rows: the loops it lacks are exactly the inner ones.
    if result or operand != frozenset(range(len(operand))):
        return None
    return Demand(Reduces.ALL, len(operand))


def agree(demands: Iterable[Demand | None], row_split: int | None) -> tuple[int | None, tuple[int, int] | None] | None:
    """The split (None: any) and the middle loops that suit all demands, or None if they contradict each other."""
    distinct = set(demands)
    splits = {demand.split for demand in distinct if demand is not None} | {row_split}
    middles = {demand.middle for demand in distinct if demand is not None}
    splits.discard(None)
    middles.discard(None)
    if None in distinct or len(splits) > 1 or len(middles) > 1:
        return None
    if not middles:
        return (splits.pop() if splits else None), None
    if splits or any(demand is not None and demand.kind not in (None, Reduces.COLUMN) for demand in distinct):
        return None
    middle = middles.pop()
    return (None, None) if middle is None else (middle[0], middle)


@dataclass(frozen=True)
class Rows:
    """The outer loops of a matrix product: those of its batch, then at most one over the rows of a matrix."""

    batch: tuple[int, ...]
    row: tuple[int, ...]

    @property
    def split(self) -> int:
        """How many loops they are."""
        return len(self.batch) + len(self.row)


def rows_of(products: Iterable[Operation], space: Space) -> Rows | None:
    """
    The rows of matrix products that are computed together, over the same batch and row by row.

    None if they differ, or are not the outermost loops: each row of the group would need a product, or part of it,
    again.
    """
    found: set[Rows] = set()
    for op in products:
        *batch, row, _ = space.maps[op.results[0]]
        loops = Rows(tuple(b for b in batch if b is not None), () if row is None else (row,))
        if (*loops.batch, *loops.row) != tuple(range(loops.split)):
            return None
        found.add(loops)
    return found.pop() if len(found) == 1 else None
