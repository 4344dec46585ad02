"""Loops of fusion groups: a frame has the indices and values that are known inside of some, and begins further ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TypeAlias

from xdsl.ir import SSAValue

from xdsl_rlx.dialects.lir.scalar_builder import Scalar
from xdsl_rlx.lowering.fusion.codegen.accumulators import Reducer
from xdsl_rlx.lowering.kernel_dsl.kernel_builder import Nest

Sums: TypeAlias = dict[Reducer, SSAValue]
"""What some reductions have come to: a loop carries it, and the body of the loop replaces it."""


@dataclass(frozen=True)
class Range:
    """What a loop, or a part of it, runs over: at most `size` iterations, or just as many if that is `exact`."""

    loop: int
    bounds: tuple[SSAValue, SSAValue]
    size: int
    name: str
    exact: bool = True
    step: int = 1
    rolled: bool = False


class Frame:
    """
    Values known at one place of a kernel, on top of those known around it.

    `for frame in here.over(ranges, sums): ...` is a loop nest. Python runs the body once: it inserts the ops of an
    iteration, with the frame of that iteration.
    """

    def __init__(self, nest: Nest, indices: Mapping[int, SSAValue], parent: Frame | None = None, level: int = 0):
        """`indices` by loop, or by ROW, UNIT and BATCH; `level` is the pass over the row."""
        self.nest = nest
        self.indices = indices
        self.parent = parent
        self.level = level
        self.values: dict[SSAValue, Scalar] = {}

    def find(self, value: SSAValue) -> Scalar | None:
        """The value, if it is known here or around."""
        frame: Frame | None = self
        while frame is not None:
            if (known := frame.values.get(value)) is not None:
                return known
            frame = frame.parent
        return None

    def at(self, indices: Mapping[int, SSAValue], nest: Nest | None = None, level: int | None = None) -> Frame:
        """The frame with further indices. What is later found in this one is not known there."""
        parent = self if self.values else self.parent
        return Frame(nest or self.nest, {**self.indices, **indices}, parent, self.level if level is None else level)

    def over(self, ranges: Sequence[Range], sums: Sums | None = None, level: int | None = None) -> Iterator[Frame]:
        """A loop nest, which carries the sums."""
        for nest, indices in _nested(self.nest, ranges, {}, sums):
            yield self.at(indices, nest, level)

    def cut(self, whole: Range, size: int, exact: bool, sums: Sums | None = None) -> Iterator[tuple[Frame, Range]]:
        """A loop over blocks of `size` iterations of another one, or of at most as many if not all are `exact`."""
        for nest, bounds in self.nest.blocks(whole.bounds, size, sums, exact=exact):
            yield self.at({}, nest), replace(whole, bounds=bounds, size=size, exact=exact)

    def blocks(
        self, ranges: Sequence[Range], most: int | None, unrolled: int, sums: Sums
    ) -> Iterator[tuple[Frame, Sequence[Range]]]:
        """
        A loop nest in blocks of at most about `most` iterations, each of which is loops again; or all of it in one.

        If they can be, blocks are multiples of `unrolled` iterations.
        """
        if most is None or prod(r.size for r in ranges) <= most:
            yield self, ranges
            return
        first, *rest = ranges
        below = prod(r.size for r in rest)
        if rest and below >= most:
            for frame in self.over([first], sums):
                yield from frame.blocks(rest, most, unrolled, sums)
            return
        whole = _whole_blocks(first.size, most // below, unrolled) if first.exact else None
        for frame, block in self.cut(first, whole or most // below, whole is not None, sums):
            yield frame, [block, *rest]


def _nested(
    nest: Nest, ranges: Sequence[Range], indices: Mapping[int, SSAValue], sums: Sums | None
) -> Iterator[tuple[Nest, Mapping[int, SSAValue]]]:
    if not ranges:
        yield nest, indices
        return
    first = ranges[0]
    for inside, i in nest.over(first.bounds, first.name, sums, step=first.step, rolled=first.rolled):
        yield from _nested(inside, ranges[1:], {**indices, first.loop: i}, sums)


def _whole_blocks(size: int, most: int, unrolled: int) -> int | None:
    """
    Into blocks of how many iterations, not much fewer than `most`, a loop is cut without a rest, if into any.

    They are whole vectors, so that code for single elements behind them is neither compiled nor run.
    """
    return next((n for n in range(most - most % unrolled, most // 2, -unrolled) if size % n == 0), None)
