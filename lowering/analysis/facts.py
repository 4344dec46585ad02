"""Sums of symbols that are known not to be negative at a place of a kernel, and what follows from them."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager

from xdsl_rlx.lowering.analysis.linear_sums import Linear, Symbols

MOST_FACTS = 24
"""Facts that a question is asked with, the latest ones."""


class Facts:
    """Invariant: `facts` are sums known not to be negative where one is."""

    def __init__(self) -> None:
        self.symbols = Symbols()
        self.facts: list[Linear] = []

    def holds(self, x: Linear) -> bool:
        """Whether `x >= 0` here."""
        symbols = self.symbols
        if symbols.is_nonnegative(x):
            return True
        named = {symbol for symbol, _ in x.terms}
        recent = self.facts[-MOST_FACTS:]
        near = [fact for fact in recent if any(symbol in named for symbol, _ in fact.terms)]
        if any(symbols.is_nonnegative(x.plus(fact, -1)) for fact in near):
            return True
        return any(symbols.is_nonnegative(x.plus(a, -1).plus(b, -1)) for a in near for b in recent)

    @contextmanager
    def given(self, facts: Sequence[Linear] = ()) -> Generator[None]:
        """More facts for a while, and none of those learnt meanwhile afterwards."""
        count = len(self.facts)
        self.facts += facts
        yield
        del self.facts[count:]

    def range(self, x: Linear) -> tuple[int, int]:
        """The least and the greatest value here."""
        low, high = self.symbols.range(x)
        for fact in self.facts:
            # x = +-fact + number, and fact >= 0
            if fact.terms == x.terms:
                low = max(low, x.constant - fact.constant)
            elif fact.terms == x.times(-1).terms:
                high = min(high, x.constant + fact.constant)
        return low, high
