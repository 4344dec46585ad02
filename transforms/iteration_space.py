"""Iteration spaces of groups of ops: which loop dimension each tensor axis runs over. No IR is changed here.

A group's space is the ordered list of extents of its loops. Every value of the group maps each of its axes to one loop,
or to none where its extent is 1. Two groups join when the values that they share embed one space in the other.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from math import prod

from xdsl.ir import Operation, SSAValue

from xdsl_rlx.transforms.rules.lowering import LOOPS, REDUCTION

AxisMap = tuple[int | None, ...]
"""The loop of each axis of a value; None for an axis of extent 1."""

SMALL_ROW = 1 << 14
"""Most elements that a kernel with a single row works on without being cut up."""


@dataclass(frozen=True)
class Space:
    """The loops of a group and the axis maps of the values it touches element by element."""

    extents: tuple[int, ...]
    maps: Mapping[SSAValue, AxisMap]

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

    def join(self, other: Space) -> Space | None:
        """The union of two groups over the larger space, or None when the values they share do not line up."""
        if (len(other.extents), len(other.maps)) > (len(self.extents), len(self.maps)):
            return other.join(self)
        pairs: dict[int, int] = {}
        for value, theirs in other.maps.items():
            ours = self.maps.get(value)
            if ours is None:
                continue
            for mine, their in zip(ours, theirs, strict=True):
                if (mine is None) != (their is None):
                    return None
                if mine is not None and their is not None and pairs.setdefault(their, mine) != mine:
                    return None
        if len(pairs) != len(other.extents):
            return None
        images = [pairs[loop] for loop in range(len(other.extents))]
        if any(a >= b for a, b in pairwise(images)):
            return None
        moved = {
            value: tuple(None if loop is None else images[loop] for loop in axes) for value, axes in other.maps.items()
        }
        if any(self.maps.get(value, axes) != axes for value, axes in moved.items()):
            return None
        return Space(self.extents, {**self.maps, **moved})

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
                for number, part in enumerate(parts):
                    if (larger := part.join(space)) is not None:
                        parts[number] = larger
                        break
                else:
                    parts.append(space)
            if len(parts) == len(spaces):
                return None
            spaces = parts
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
    return nesting(space, [op for op in ops if REDUCTION.get(type(op)) is not None], set(ops), row_split)


def nesting(
    space: Space, reductions: Iterable[Operation], inside: Container[Operation], row_split: int | None
) -> Structure | None:
    """`structure_of` for a group whose reductions are known."""
    rank = len(space.extents)
    split = row_split
    middle: tuple[int, int] | None = None
    kinds: dict[Operation, Reduces] = {}
    pending: list[Operation] = []
    for op in reductions:
        operand, result = space.loops(op.operands[0]), space.loops(op.results[0])
        gone = sorted(operand - result)
        if not gone:
            continue
        used_inside = any(use.operation in inside for use in op.results[0].uses)
        if len(gone) == rank:
            if used_inside:
                if prod(space.extents) > SMALL_ROW or split not in (None, 0):
                    return None
                split = 0
                kinds[op] = Reduces.ROW
            else:
                kinds[op] = Reduces.ALL
            continue
        first, last = gone[0], gone[-1] + 1
        if last - first != len(gone):
            return None
        if last == rank and len(operand) == rank:
            if split not in (None, first):
                return None
            split = first
            kinds[op] = Reduces.ROW
        elif used_inside:
            return None
        elif len(operand) == rank:
            if first != 0:
                if middle not in (None, (first, last)):
                    return None
                middle = (first, last)
            elif split not in (None, last):
                return None
            else:
                split = last
            kinds[op] = Reduces.COLUMN
        else:
            pending.append(op)
    for op in pending:
        # A value per row, summed over all rows: the loops it lacks are exactly the inner ones.
        operand, result = space.loops(op.operands[0]), space.loops(op.results[0])
        if result or operand != frozenset(range(len(operand))) or split not in (None, len(operand)):
            return None
        split = len(operand)
        kinds[op] = Reduces.ALL
    if middle is not None:
        if any(kind is not Reduces.COLUMN for kind in kinds.values()) or split is not None:
            return None
        return Structure(middle[0], middle, kinds)
    if split is None:
        split = max(rank - 1, 0)
    return Structure(split, None, kinds)


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
