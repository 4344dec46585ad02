"""Lines of memory brought side by side, so that what stands at one place of each is a vector, and apart again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.ir import SSAValue

from xdsl_rlx.dialects.lir.bounds import constant_index
from xdsl_rlx.dialects.lir.scalar_builder import Scalar
from xdsl_rlx.lowering.kernel_dsl.kernel_builder import Nest

MERGED = 4
"""Lines that one loop brings together or takes apart: LLVM has good shuffles for as many."""

Line: TypeAlias = Callable[[Nest, Scalar], SSAValue]
"""Where the line of a number lies."""


@dataclass(frozen=True)
class SideBySide:
    """
    So many lines, a multiple of `MERGED`, of `most` elements at most: element `e` of line `i` to `e * lines + i`.

    Two loops do it, of which each merges a few lines into one: first every fourth or second one, then these groups.
    `between` is a buffer of `lines * most` elements for what is merged once.
    """

    lines: int
    most: int
    between: SSAValue

    def bring(
        self,
        nest: Nest,
        count: SSAValue,
        line: Line,
        load: Callable[[Nest, SSAValue, SSAValue], Scalar],
        store: Callable[[Nest, Scalar, SSAValue], None],
    ) -> None:
        """`store` the first `count` elements of all lines at their places; `load` gets where a line lies and which."""
        for inside, place, rows, e in self._by_groups(nest, count, line):
            for number, row in enumerate(rows):
                inside.store(load(inside, row, e), self.between, [_behind(inside, place, number)])
        for inside, e in _neighbours(nest, _times(nest, count, MERGED)):
            for group in range(self._groups):
                store(inside, self._merged(inside, e, group), self._place(inside, e, group))

    def take(
        self,
        nest: Nest,
        count: SSAValue,
        line: Line,
        load: Callable[[Nest, SSAValue], Scalar],
        store: Callable[[Nest, Scalar, SSAValue, SSAValue], None],
    ) -> None:
        """What `bring` does, backwards."""
        for inside, e in _neighbours(nest, _times(nest, count, MERGED)):
            for group in range(self._groups):
                inside.store(load(inside, self._place(inside, e, group)), self.between, [self._start(inside, e, group)])
        for inside, place, rows, e in self._by_groups(nest, count, line):
            for number, row in enumerate(rows):
                store(inside, inside.load(self.between, [_behind(inside, place, number)]), row, e)

    @property
    def _groups(self) -> int:
        return self.lines // MERGED

    def _merged(self, nest: Nest, e: SSAValue, group: int) -> Scalar:
        return nest.load(self.between, [self._start(nest, e, group)])

    def _start(self, nest: Nest, e: SSAValue, group: int) -> SSAValue:
        return _behind(nest, e, group * self.most * MERGED)

    def _place(self, nest: Nest, e: SSAValue, group: int) -> SSAValue:
        return _behind(nest, (nest.scalars.of(e) * self._groups).value, group)

    def _by_groups(
        self, nest: Nest, count: SSAValue, line: Line
    ) -> Iterator[tuple[Nest, SSAValue, Sequence[SSAValue], SSAValue]]:
        """
        Loops over each element of every group of lines `group`, `group + groups`, ...

        The body has the place of the element in `between`, where the lines lie, and the number of the element.
        """
        for inside, group in nest.times(self._groups, "group"):
            s = inside.scalars
            starts = [s.of(_behind(inside, group, number * self._groups)) for number in range(MERGED)]
            rows = [line(inside, start) for start in starts]
            for deep, e in _neighbours(inside, count):
                t = deep.scalars
                yield deep, ((t.of(group) * self.most + t.of(e)) * MERGED).value, rows, e


def _behind(nest: Nest, place: SSAValue, count: int) -> SSAValue:
    return (nest.scalars.of(place) + count).value if count else place


def _times(nest: Nest, count: SSAValue, factor: int) -> SSAValue:
    known = constant_index(count)
    return nest.kernel.index(known * factor) if known is not None else (nest.scalars.of(count) * factor).value


def _neighbours(nest: Nest, count: SSAValue) -> Iterator[tuple[Nest, SSAValue]]:
    """A loop over neighbours in memory that carries nothing: vectors are made of it before it is unrolled."""
    return nest.over((nest.kernel.index(0), count), "e", rolled=True)
