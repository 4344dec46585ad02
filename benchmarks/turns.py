"""Interleaved turns of calls that are compared."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Turns:
    """How long turns are, in seconds of wall time, and how many there are."""

    each: float
    """A turn repeats a call until it takes this long, unless one call takes longer."""
    together: float
    """All turns, unless `least` of them take longer."""
    least: int
    most: int
    before: float = 0.0
    """How long calls at the begin of a turn are not timed, in seconds: for some milliseconds after a call, idle threads
    of PyTorch and of BLAS keep cores busy that the threads of the next library need."""

    def times_of(self, calls: Mapping[str, Callable[[], Any]], clock: Callable[[], float]) -> dict[str, float]:
        """
        Return the seconds of a call by `clock`: the least of the turns. Calls are compiled at first.

        Each call follows each other one in some turns: a core that was idle may be slow for some tenths of a second.
        """
        best, counts = dict.fromkeys(calls, math.inf), dict[str, int]()
        for name, call in calls.items():
            call()
            start = time.perf_counter()
            call()
            counts[name] = max(1, int(self.each / max(time.perf_counter() - start, 1e-7)))
        begin = time.perf_counter()
        for turn in range(self.most):
            if turn >= self.least and time.perf_counter() - begin > self.together:
                break
            order = [*calls.items()][:: 1 if turn % 2 else -1]
            for name, call in order[turn % len(order) :] + order[: turn % len(order)]:
                end = time.perf_counter() + self.before
                while time.perf_counter() < end:
                    call()
                start = clock()
                for _ in range(counts[name]):
                    call()
                best[name] = min(best[name], (clock() - start) / counts[name])
        return best
