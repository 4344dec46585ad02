"""Programs of several processes: each runs the same steps on its part of the data, and sums over all of them.

A launcher starts the processes (`mpiexec`, `torchrun`, Slurm); without one, everything is a program of one process.
"""

from __future__ import annotations

import os
from typing import Any

from xdsl_rlx.composite import composite
from xdsl_rlx.dialects.mir.collectives import MEAN
from xdsl_rlx.distributed.gloo import GlooEngine, is_initialized
from xdsl_rlx.distributed.mpi import MpiEngine
from xdsl_rlx.lowering.backend.driver.collectives import connect, connected
from xdsl_rlx.lowering.run_errors import ConfigurationError, DistributedError
from xdsl_rlx.tracing import builder_of
from xdsl_rlx.tree import map as map_tree

__all__ = ["DistributedError", "all_gather", "all_reduce", "broadcast", "init", "rank", "reduce_scatter", "size"]

_LAUNCHED = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK")
"""What launchers of MPI set."""
_TORCHRUN = "TORCHELASTIC_RUN_ID"


def init(engine: str | None = None, timeout: float = 10.0) -> None:
    """
    Connect this process to the others that its launcher has started.

    `engine` is "mpi" (mpi4py with any implementation), "gloo" (PyTorch) or None: MPI if a launcher of MPI started the
    process, Gloo if `torchrun` did or `torch.distributed` is initialised, else none, which is a program of one process.
    Gloo finds the other processes by `torch.distributed`, or by `RANK`, `WORLD_SIZE`, `MASTER_ADDR` and `MASTER_PORT`.

    `timeout` is how many seconds a process waits for the others in a collective. A process that raises ends them all.
    Calls after the first do nothing. Raises ConfigurationError for another engine, and DistributedError if its library
    is not installed or the processes cannot be connected.
    """
    if connected() is not None:
        return
    if engine not in (None, "mpi", "gloo"):
        raise ConfigurationError(f"engine must be 'mpi', 'gloo' or None, got {engine!r}")
    if not isinstance(timeout, int | float) or not timeout > 0:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigurationError(f"timeout must be a number of seconds above 0, got {timeout!r}")
    if engine == "mpi" or (engine is None and any(name in os.environ for name in _LAUNCHED)):
        connect(MpiEngine(float(timeout)))
    elif engine == "gloo" or _TORCHRUN in os.environ or is_initialized():
        connect(GlooEngine(float(timeout)))


def rank() -> int:
    """Return the number of this process, from 0."""
    engine = connected()
    return 0 if engine is None else engine.rank


def size() -> int:
    """Return how many processes there are; 1 before `init`."""
    engine = connected()
    return 1 if engine is None else engine.size


def all_reduce(tree: Any, op: str = MEAN) -> Any:
    """
    Return the tree of arrays with each leaf reduced over all processes, elementwise: "sum", "mean", "max" or "min".

    All processes call it with trees of the same types. Sums and means are differentiable: the gradient is that of the
    sum of the processes' losses. In a program of one process, it is the tree itself.
    """

    def reduced(leaf: Any) -> Any:
        return _reduced(leaf, op)

    return map_tree(reduced, tree)


def broadcast(tree: Any, root: int = 0) -> Any:
    """Return the tree of arrays that the process `root` has; all processes call it with trees of the same types."""

    def from_root(leaf: Any) -> Any:
        return _broadcast(leaf, root)

    return map_tree(from_root, tree)


@composite
def all_gather(x: Any) -> Any:
    """
    Return the arrays of all processes, `[n, ..]` each, one behind the other: `[n * size, ..]`. Differentiable.

    Raises GraphError for an array of rank 0.
    """
    b = builder_of(x)
    assert b is not None
    return b.all_gather(x, size())


@composite
def reduce_scatter(x: Any) -> Any:
    """
    Return this process's part, `[n, ..]`, of the sum of the arrays `[n * size, ..]` of all processes. Differentiable.

    Raises GraphError if the first axis is no multiple of `size`.
    """
    b = builder_of(x)
    assert b is not None
    return b.reduce_scatter(x, size())


@composite
def _reduced(x: Any, op: str) -> Any:
    b = builder_of(x)
    assert b is not None
    return b.all_reduce(x, op, size())


@composite
def _broadcast(x: Any, root: int) -> Any:
    b = builder_of(x)
    assert b is not None
    return b.broadcast(x, root, size())
