"""The engine that connects this process to others, as kernels see it. Who makes one is in `xdsl_rlx.distributed`."""

from __future__ import annotations

import ctypes
from abc import ABC, abstractmethod
from typing import Any, TypeAlias

import numpy as np
from xdsl.dialects.builtin import i64

from xdsl_rlx.dialects.lir.collectives import Collective
from xdsl_rlx.dialects.mir.collectives import COMMUNICATED
from xdsl_rlx.lowering.backend.machine.blas_library import FUNCTIONS
from xdsl_rlx.lowering.run_errors import DistributedError

Array: TypeAlias = "np.ndarray[Any, Any]"

ELEMENTS = COMMUNICATED
COLLECTIVES = tuple(Collective)
ENGINE, ENGINE_CALL, ENGINE_START, ENGINE_WAIT, ENGINE_POLL = range(len(FUNCTIONS) + 1, len(FUNCTIONS) + 6)
"""Where the table of an engine, and the functions that kernels call, are in the table of library functions."""


class Engine(ABC):
    """A connection of `size` processes, of which this one has the number `rank`."""

    rank: int
    size: int
    timeout: float
    """Seconds that a process waits for the others."""

    @property
    @abstractmethod
    def table(self) -> int:
        """The address of its `EngineTable`."""

    @abstractmethod
    def function(self) -> int:
        """The address of what kernels call, as `communicate.rlx_collective`."""

    @abstractmethod
    def starting(self) -> tuple[int, int, int]:
        """The addresses of what starts a collective, waits for it, and lets it go on, as `communicate.rlx_start`, .."""

    def agree(self, key: str, what: str) -> None:
        """Return when all processes are here with the same key; DistributedError if keys differ."""
        if not self.is_same(bytes.fromhex(key)):
            raise DistributedError(
                f"{what} differs between processes (this one is {self.rank} of {self.size}): "
                "shapes, code and versions of packages have to be the same on all"
            )

    def is_same(self, key: bytes) -> bool:
        """Whether all processes are here with the same digest, whose first 32 bytes are compared."""
        mine = np.frombuffer(key[:32], np.int64)
        both = np.concatenate([mine, ~mine])
        found = np.empty_like(both)
        self.run(Collective.MIN, both, found)
        return np.array_equal(found[: mine.size], ~found[mine.size :])

    def run(self, call: Collective, source: Array, target: Array, root: int = 0) -> None:
        """
        Do a collective on two contiguous arrays of 64-bit integers, outside of a program.

        Raises DistributedError if it does not end.
        """
        function = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 8)(self.function())
        status = np.zeros(2, np.int64)
        count = min(source.size, target.size)
        how = ELEMENTS.index(i64), COLLECTIVES.index(call), root
        if function(self.table, source.ctypes.data, target.ctypes.data, count, *how, status.ctypes.data):
            raise DistributedError(self.failure() or "a collective failed")

    @abstractmethod
    def failure(self) -> str | None:
        """Why a collective did not end, if one did not."""

    @abstractmethod
    def settle(self) -> None:
        """
        End the collectives that a run has started and not waited for: an error or interrupt has stopped it.

        They would go on to read and write memory that other runs use. One that cannot be ended is a `failure`.
        """


class _Connection:
    """The engine of this process."""

    engine: Engine | None = None


def connect(engine: Engine | None) -> None:
    """Have programs of this process use an engine from now on."""
    _Connection.engine = engine


def connected() -> Engine | None:
    """The engine of this process, if it is connected."""
    return _Connection.engine


def engine_for(processes: int, graph: str) -> Engine:
    """The engine for a program of so many processes. Raises DistributedError if this process has no such one."""
    engine = connected()
    if engine is None or engine.size != processes:
        found = "is not connected" if engine is None else f"is one of {engine.size}"
        raise DistributedError(
            f"graph {graph!r} is a program of {processes} processes, and this process {found}: call "
            f"rlx.distributed.init() under a launcher such as mpiexec -n {processes}"
        )
    return engine
