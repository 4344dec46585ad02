"""Sums of products of two values, whichever op they are written with, and how their operands are laid out anew."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from xdsl.ir import SSAValue

from xdsl_rlx.dialects.mir.linalg import DotGeneralOp, MatmulOp
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.shapes import shape_of
from xdsl_rlx.transforms.rules.terms import Term, bare, moved_from

SUMMED = 1 << 20
"""The loop that a product sums over, which its result does not have."""


class Contraction(NamedTuple):
    """The sum of the products of two values over one loop, `SUMMED`; the others are those of the result."""

    lhs: Term
    rhs: Term


def contraction(x: Term) -> Contraction | None:
    """The product along one axis of each operand that a value is."""
    x = bare(x)
    op = x.owner
    if isinstance(op, MatmulOp):
        *lead, row, column = x.at
        sides = [(*lead, row, SUMMED), (*lead, SUMMED, column)]
        return Contraction(*(_over(y, at[-len(shape_of(y)) :]) for y, at in zip(op.operands, sides, strict=True)))
    if not isinstance(op, DotGeneralOp):
        return None
    left, right = op.sides
    if sum(shape_of(op.lhs)[axis] != 1 for axis in left.contracting) > 1:
        return None
    batch, start = x.at[: len(left.batch)], len(left.batch) + len(left.free)
    operands: list[Term] = []
    for y, side, free in ((op.lhs, left, x.at[len(batch) : start]), (op.rhs, right, x.at[start:])):
        loops = dict(zip((*side.batch, *side.free), (*batch, *free), strict=True))
        operands.append(_over(y, [loops.get(axis, SUMMED) for axis in range(len(shape_of(y)))]))
    return Contraction(*operands)


def _over(value: SSAValue, loops: Sequence[int]) -> Term:
    return Term(value, tuple(-1 if n == 1 else loop for n, loop in zip(shape_of(value), loops, strict=True)))


class Laid(NamedTuple):
    """A value, the order in which its dimensions are wanted, and the shape that they have with those of 1."""

    value: SSAValue
    perm: tuple[int, ...]
    shape: tuple[int, ...]

    @property
    def is_in_place(self) -> bool:
        """Whether the value is as it is wanted."""
        return self.perm == tuple(range(len(self.perm))) and self.shape == shape_of(self.value)

    def build(self, b: MirBuilder) -> Value:
        """The value as it is wanted."""
        return b.reshape(b.transpose(self.value, self.perm), self.shape)


def laid(x: Term, loops: Sequence[int]) -> Laid | None:
    """
    A value with one dimension for each of `loops`, 1 where it has no such loop; None if it has others.

    What lies there already is taken, be it in front of transposes: what was transposed is so once, or not at all.
    """
    at: Term | None = x
    found = None
    while at is not None and (new := _laid(at, loops)) is not None:
        if new.is_in_place:
            return new
        # a value of the same rank needs no reshape
        if found is None or len(new.perm) == len(loops) or len(found.perm) != len(loops):
            found = new
        at = moved_from(at)
    return found


def _laid(x: Term, loops: Sequence[int]) -> Laid | None:
    shape = shape_of(x.value)
    places = {loop: axis for axis, loop in enumerate(x.at) if loop >= 0}
    if not places.keys() <= {*loops}:
        return None
    axes = [places.get(loop) for loop in loops]
    ones = [axis for axis, loop in enumerate(x.at) if loop < 0]
    wanted = tuple(1 if axis is None else shape[axis] for axis in axes)
    if len(loops) == len(shape):
        rest = iter(ones)
        return Laid(x.value, tuple(next(rest) if axis is None else axis for axis in axes), wanted)
    kept = [axis for axis in axes if axis is not None]
    perm = range(len(shape)) if kept == sorted(kept) else (*ones, *kept)
    return Laid(x.value, tuple(perm), wanted)
