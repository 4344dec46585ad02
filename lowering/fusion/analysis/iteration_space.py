"""Iteration spaces of groups of ops: which loop dimension each tensor axis runs over. No IR is changed here.

A group's space is the ordered list of extents of its loops. Every value of the group maps each of its axes to one loop,
or to none where its extent is 1. Two groups join when the values that they share embed one space in the other.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from xdsl.ir import Operation, SSAValue

from xdsl_rlx.lowering.fusion.analysis.loop_tables import LOOPS

AxisMap = tuple[int | None, ...]
"""The loop of each axis of a value; None for an axis of extent 1."""


@dataclass(eq=False)
class Space:
    """The loops of a group and the axis maps of the values it touches element by element; grows by what it takes in."""

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
        """
        The loops of this space that those of a space with no more loops are, or None where they cannot be.

        The values that both have line up then, and no other loop is one over nothing: in that the ops of the smaller
        space would not be computed at all.
        """
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
        if any(a >= b for a, b in pairwise(images)):
            return None
        return None if 0 in self.extents and math.prod(other.extents) else images

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

    def covers(self, ops: Sequence[Operation]) -> bool:
        """Join the spaces of ops to this one, in place; whether all line up."""
        waiting = _spaces(ops)
        if len(waiting) < len(ops):
            return False
        while waiting:
            left = [space for space in waiting if not (self.take_in(space) or self._take_in_all(space))]
            if len(left) == len(waiting):
                left = _grown(waiting)
            if len(left) == len(waiting):
                return False
            waiting = left
        return True

    def _take_in_all(self, other: Space) -> bool:
        """Join a space of all these loops, which may share no value with this one yet; False if they do not line up."""
        if other.extents != self.extents:
            return False
        if any(self.maps.get(value, axes) != axes for value, axes in other.maps.items()):
            return False
        self.maps.update(other.maps)
        return True

    @staticmethod
    def of_group(ops: Sequence[Operation]) -> Space | None:
        """The joint space of ops, or None if they do not join."""
        spaces = _spaces(ops)
        if len(spaces) != len(ops):
            return None
        while len(spaces) > 1:
            parts = _grown(spaces)
            if len(parts) == len(spaces):
                return None
            spaces = parts
        return spaces[0]


def _spaces(ops: Sequence[Operation]) -> list[Space]:
    """The spaces of ops that are loops over their elements."""
    return [space for op in ops if (space := Space.of(op)) is not None]


def _grown(spaces: Sequence[Space]) -> list[Space]:
    """Fewer spaces, of which each has taken in others; some share enough with the rest only when taken together."""
    parts: list[Space] = []
    for space in sorted(spaces, key=lambda s: -len(s.extents)):
        if not any(part.take_in(space) for part in parts):
            parts.append(Space(space.extents, dict(space.maps)))
    return parts
