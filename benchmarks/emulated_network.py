"""An engine of one process that takes itself for several: reductions take the time of a network, and no core."""

from __future__ import annotations

import ctypes
import time
from dataclasses import dataclass

from xdsl_rlx.lowering.backend.driver.collectives import ELEMENTS, Engine
from xdsl_rlx.lowering.backend.driver.layout import WORD, EngineTable
from xdsl_rlx.lowering.backend.driver.process import driver, words


@dataclass(frozen=True)
class Link:
    """How long a reduction takes: seconds of any, and of a byte. One follows the other."""

    latency: float
    byte: float

    def seconds(self, count: int) -> float:
        """Return the time of a reduction of so many bytes."""
        return self.latency + self.byte * count


class EmulatedNetwork(Engine):
    """Functions as `MPI_Iallreduce` and `MPI_Test`, which leave numbers as they are and look at the clock."""

    rank = 0

    def __init__(self, size: int, link: Link) -> None:
        self.size, self.link = size, link
        self._free = 0.0
        self._ends: dict[int, float] = {}
        whole, pointer = ctypes.c_int, ctypes.c_int64
        self._reduce = ctypes.CFUNCTYPE(whole, *[pointer] * 7)(self._begin)
        self._test = ctypes.CFUNCTYPE(whole, *[pointer] * 3)(self._is_done)
        process, table = ctypes.CDLL(None), EngineTable
        fields = {
            table.ALL_REDUCE: _address(self._reduce),
            table.TEST: _address(self._test),
            table.TIMEOUT_NS: 60 * 10**9,
            table.CLOCK: _address(process.clock_gettime),
            table.YIELD: _address(process.sched_yield),
        }
        for number in range(len(ELEMENTS)):
            fields[table.TYPES + WORD * number] = fields[table.BYTES + WORD * number] = (4, 8, 4, 8)[number]
        self._words = words(table.filled(fields))

    @property
    def table(self) -> int:
        return int(self._words.ctypes.data)

    def function(self) -> int:
        return driver().collective

    def starting(self) -> tuple[int, int, int]:
        return driver().starting

    def agree(self, key: str, what: str) -> None:
        """All processes are this one."""

    def failure(self) -> str | None:
        return None

    def settle(self) -> None:
        """Nothing is read or written later."""

    def _begin(self, source: int, target: int, count: int, type_: int, kind: int, comm: int, request: int) -> int:
        if source not in (0, target):
            ctypes.memmove(target, source, count * type_)
        self._free = max(self._free, time.perf_counter()) + self.link.seconds(count * type_)
        self._ends[request] = self._free
        return 0

    def _is_done(self, request: int, flag: int, status: int) -> int:
        done = time.perf_counter() >= self._ends[request]
        ctypes.c_int.from_address(flag).value = done
        return 0


def _address(function: object) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0  # type: ignore[arg-type]
