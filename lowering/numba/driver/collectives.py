"""The engine that connects this process to others, as kernels see it. Who makes one is in `xdsl_rlx.distributed`."""

from __future__ import annotations

from abc import ABC, abstractmethod

from xdsl_rlx.dialects.lir.collectives import Collective
from xdsl_rlx.dialects.mir.collectives import COMMUNICATED
from xdsl_rlx.lowering.numba.machine.blas_library import FUNCTIONS
from xdsl_rlx.lowering.run_errors import DistributedError

ELEMENTS = COMMUNICATED
COLLECTIVES = tuple(Collective)
ENGINE, ENGINE_CALL = len(FUNCTIONS) + 1, len(FUNCTIONS) + 2
"""Where the table of an engine, and the function that kernels call, are in the table of library functions."""


class Engine(ABC):
    """A connection of `size` processes, of which this one has the number `rank`."""

    rank: int
    size: int

    @property
    @abstractmethod
    def table(self) -> int:
        """The address of its `EngineTable`."""

    @abstractmethod
    def function(self) -> int:
        """The address of what kernels call, as `communicate.rlx_collective`."""

    @abstractmethod
    def agree(self, key: str, what: str) -> None:
        """Return when all processes are here with the same key; DistributedError if keys differ."""

    @abstractmethod
    def failure(self) -> str | None:
        """Why a collective did not end, if one did not."""


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
