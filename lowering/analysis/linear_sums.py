"""Integers known as sums of symbols, and symbols known by bounds: what index arithmetic is proved with.
No IR is known here; who makes the symbols is `index_ranges.py`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

WIDE = 1 << 63
MOST_STEPS = 400
"""Bounds tried for one question; past it only bounds that are numbers count."""


@dataclass(frozen=True)
class Linear:
    """`constant + sum of coefficient * symbol`; symbols are numbers, in ascending order, coefficients not 0."""

    constant: int
    terms: tuple[tuple[int, int], ...] = ()

    def plus(self, other: Linear, times: int = 1) -> Linear:
        """`self + times * other`."""
        total = dict(self.terms)
        for symbol, coefficient in other.terms:
            total[symbol] = total.get(symbol, 0) + times * coefficient
        terms = tuple(sorted((s, c) for s, c in total.items() if c))
        return Linear(self.constant + times * other.constant, terms)

    def add(self, number: int) -> Linear:
        return Linear(self.constant + number, self.terms)

    def times(self, factor: int) -> Linear:
        return Linear(0).plus(self, factor)


@dataclass(frozen=True)
class _Symbol:
    """Bounds by numbers, and by sums of earlier symbols."""

    low: int
    high: int
    above: tuple[Linear, ...]
    below: tuple[Linear, ...]


@dataclass
class Symbols:
    """The symbols made so far."""

    known: list[_Symbol] = field(default_factory=list[_Symbol])

    def new(self, low: int, high: int, above: Sequence[Linear] = (), below: Sequence[Linear] = ()) -> Linear:
        """A symbol of at least `low` and all `above`, at most `high` and all `below`; a number when that settles it."""
        low = max([low, *(self.range(x)[0] for x in above)])
        high = min([high, *(self.range(x)[1] for x in below)])
        if low == high:
            return Linear(low)
        kept = [tuple(x for x in given if x.terms) for given in (above, below)]
        self.known.append(_Symbol(low, high, *kept))
        return Linear(0, ((len(self.known) - 1, 1),))

    def range(self, x: Linear) -> tuple[int, int]:
        """The least and the greatest value by the bounds that are numbers."""
        low = high = x.constant
        for number, coefficient in x.terms:
            symbol = self.known[number]
            ends = coefficient * symbol.low, coefficient * symbol.high
            low, high = low + min(ends), high + max(ends)
        return low, high

    def is_nonnegative(self, x: Linear) -> bool:
        """Whether `x >= 0` follows from the bounds."""
        return self._follows(x, [MOST_STEPS])

    def _follows(self, x: Linear, steps: list[int]) -> bool:
        if self.range(x)[0] >= 0:
            return True
        # the latest symbol is bounded by earlier ones: putting its bounds in its place ends with a number
        for number, coefficient in reversed(x.terms):
            symbol = self.known[number]
            rest = Linear(x.constant, tuple(t for t in x.terms if t[0] != number))
            for bound in symbol.above if coefficient > 0 else symbol.below:
                steps[0] -= 1
                if steps[0] < 0:
                    return False
                if self._follows(rest.plus(bound, coefficient), steps):
                    return True
        return False
