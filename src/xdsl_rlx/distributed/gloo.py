"""The engine of Gloo, by `torch.distributed`: kernels call a function of Python, since PyTorch has none in C."""

# PyTorch may not be installed
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import atexit
import ctypes
import os
import sys
import time
from datetime import timedelta
from typing import Any

import numpy as np

from xdsl_rlx.dialects.lir.collectives import Collective
from xdsl_rlx.lowering.numba.driver.collectives import COLLECTIVES, ELEMENTS, Engine
from xdsl_rlx.lowering.numba.driver.communicate import STOPPED, TIMED_OUT
from xdsl_rlx.lowering.run_errors import DistributedError

NEEDED = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
"""Variables of the environment by which processes find each other."""

_FAILED = 1
_LONGEST_START = 60.0
"""Seconds that the start of another process may take, beside the time limit: PyTorch is imported by each."""
_SPINS = 200
_PAUSE = 5e-5
"""Seconds between two looks at a collective that takes longer than `_SPINS` of them."""


def is_initialized() -> bool:
    """Whether the program has initialised `torch.distributed`."""
    dist = sys.modules.get("torch.distributed")
    return dist is not None and dist.is_available() and dist.is_initialized()


class GlooEngine(Engine):
    """All processes of `torch.distributed`, in a group of this package's own."""

    def __init__(self, timeout: float) -> None:
        try:
            import torch
            import torch.distributed as dist
        except ImportError as error:
            raise DistributedError(f"engine 'gloo' needs PyTorch: pip install torch ({error})") from None
        if not dist.is_initialized() and (missing := [name for name in NEEDED if name not in os.environ]):
            raise DistributedError(
                f"engine 'gloo' needs {missing[0]} in the environment: start the program by torchrun, or set "
                f"{', '.join(NEEDED)} in each process"
            )
        try:
            self._owns_all = not dist.is_initialized()
            if self._owns_all:
                dist.init_process_group("gloo", timeout=timedelta(seconds=max(timeout, _LONGEST_START)))
            self._group = dist.new_group(backend="gloo", timeout=timedelta(seconds=max(timeout, _LONGEST_START)))
        except (RuntimeError, ValueError) as error:
            raise DistributedError(f"engine 'gloo' cannot connect the processes: {error}") from None
        self.rank, self.size, self.timeout = dist.get_rank(), dist.get_world_size(), timeout
        self._dist, self._torch = dist, torch
        self._types = [getattr(torch, name) for name in _TYPES]
        self._failure: str | None = None
        self._function = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 8)(self._call)
        atexit.register(self._leave)

    @property
    def table(self) -> int:
        # its function has all in this object
        return 0

    def function(self) -> int:
        return ctypes.cast(self._function, ctypes.c_void_p).value or 0

    def failure(self) -> str | None:
        return self._failure

    def _leave(self) -> None:
        if self._failure is not None:
            # the end of PyTorch would wait for a collective that does not end
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(1)
        # threads of a group that lives at the end of a process end it by a signal at times
        if self._dist.is_initialized():
            self._dist.destroy_process_group(None if self._owns_all else self._group)

    def _call(
        self, engine: int, source: int, target: int, count: int, element: int, call: int, root: int, status: int
    ) -> int:
        """As `communicate.rlx_collective`: 0, or why it did not end. No exception may pass through machine code."""
        here = f"process {self.rank} of {self.size}"
        try:
            code = self._run(source, target, count, element, COLLECTIVES[call], root, status)
        except KeyboardInterrupt:
            code = STOPPED
        except BaseException as error:
            self._failure = f"{here}: a collective failed, since another process has ended or is unreachable: {error}"
            return _FAILED
        if code == TIMED_OUT:
            self._failure = (
                f"{here} waited {self.timeout:g} s for the others in a collective: one has ended, hangs, or is behind"
            )
        elif code == STOPPED:
            self._failure = f"{here} was interrupted in a collective"
        return code

    def _run(self, source: int, target: int, count: int, element: int, call: Collective, root: int, status: int) -> int:
        # there is no memory of no bytes
        if not count:
            return 0
        dist, group = self._dist, self._group
        factors = {Collective.GATHER: (1, self.size), Collective.SCATTER: (self.size, 1)}.get(call, (1, 1))
        read, written = (
            self._tensor(place, n * count, element) for place, n in zip((source, target), factors, strict=True)
        )
        if call is Collective.GATHER:
            return self._wait(dist.all_gather_single(written, read, group, async_op=True), status)
        if call is Collective.BROADCAST:
            if self.rank == root:
                written.copy_(read)
            return self._wait(dist.broadcast(written, group_src=root, group=group, async_op=True), status)
        # sums are left in the whole of a tensor, and of some processes in those of a reduction to one
        is_part = call in (Collective.SCATTER, Collective.REDUCE)
        total = read.clone() if is_part else written.copy_(read)
        if call is Collective.REDUCE:
            work = dist.reduce(total, group_dst=root, group=group, async_op=True)
        else:
            op = {Collective.MAX: dist.ReduceOp.MAX, Collective.MIN: dist.ReduceOp.MIN}.get(call, dist.ReduceOp.SUM)
            # a reduction to parts is this and a copy in PyTorch too, which has no way to ask whether it is done
            work = dist.all_reduce(total, op, group, async_op=True)
        code = self._wait(work, status)
        if code == 0 and call is Collective.SCATTER:
            written.copy_(total[self.rank * count : (self.rank + 1) * count])
        elif code == 0 and call is Collective.REDUCE:
            written.copy_(total) if self.rank == root else written.zero_()
        return code

    def _wait(self, work: Any, status: int) -> int:
        """Wait for a collective: 0, or why it did not end."""
        deadline = time.monotonic() + self.timeout
        stopped = ctypes.c_int64.from_address(status)
        spins = 0
        while not work.is_completed():
            if stopped.value:
                return STOPPED
            if time.monotonic() > deadline:
                return TIMED_OUT
            spins += 1
            time.sleep(0.0 if spins < _SPINS else _PAUSE)
        work.wait()
        return 0

    def _tensor(self, place: int, count: int, element: int) -> Any:
        """Memory of a kernel as a tensor."""
        size = np.dtype(_TYPES[element]).itemsize
        memory = (ctypes.c_char * (count * size)).from_address(place)
        return self._torch.frombuffer(memory, dtype=self._types[element], count=count)


_NAMES = {"f32": "float32", "f64": "float64", "i32": "int32", "i64": "int64"}
_TYPES = [_NAMES[str(element)] for element in ELEMENTS]
