"""The engine of Gloo, by `torch.distributed`: kernels call a function of Python, since PyTorch has none in C."""

# PyTorch may not be installed
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import atexit
import ctypes
import itertools
import os
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any, NamedTuple

import numpy as np

from xdsl_rlx.dialects.lir.collectives import Collective
from xdsl_rlx.distributed.failures import place, reason
from xdsl_rlx.lowering.backend.driver.collectives import COLLECTIVES, ELEMENTS, Engine
from xdsl_rlx.lowering.backend.driver.communicate import DIFFERENT, I64, STOPPED, TIMED_OUT
from xdsl_rlx.lowering.backend.driver.layout import WORD, EngineTable
from xdsl_rlx.lowering.backend.driver.process import address, driver, words
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


class _Started(NamedTuple):
    """A collective that has begun: PyTorch's handle, and what is left to do, which keeps its tensors alive."""

    work: Any
    finish: Callable[[], object]


def _function(of: Callable[..., int], count: int) -> Any:
    """A function that machine code can call with so many addresses and numbers."""
    return ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * count)(of)


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


class GlooEngine(Engine):
    """All processes of `torch.distributed`, in a group of this package's own."""

    def __init__(self, timeout: float) -> None:
        try:
            # not installed everywhere
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
        self._started: dict[int, _Started] = {}
        self._words = words(EngineTable.filled({}))
        self._functions = _function(self._call, 8), _function(self._start, 9), _function(self._wait, 3)
        atexit.register(self._leave)

    @property
    def table(self) -> int:
        # the key of the program of a run; all else is in this object
        return address(self._words)

    def function(self) -> int:
        return _address(self._functions[0])

    def starting(self) -> tuple[int, int, int]:
        _, start, wait = map(_address, self._functions)
        return start, wait, driver().goes_on

    def failure(self) -> str | None:
        return self._failure

    def settle(self) -> None:
        status = words([0, 0])
        for number in [*self._started]:
            if self._failure is None:
                self._wait(0, address(words([number])), address(status))

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
        """As `communicate.rlx_collective`."""

        def run() -> int:
            if (code := self._compare(status)) or not count:
                return code
            return self._end(self._begin(source, target, count, element, COLLECTIVES[call], root), status)

        return self._guarded(run)

    def _start(
        self,
        engine: int,
        source: int,
        target: int,
        request: int,
        count: int,
        element: int,
        call: int,
        root: int,
        status: int,
    ) -> int:
        """As `communicate.rlx_start`."""

        def run() -> int:
            number = ctypes.c_int64.from_address(request)
            number.value = 0
            if (code := self._compare(status)) or not count:
                return code
            begun = self._begin(source, target, count, element, COLLECTIVES[call], root)
            number.value = next(n for n in itertools.count(1) if n not in self._started)
            self._started[number.value] = begun
            return 0

        return self._guarded(run)

    def _wait(self, engine: int, request: int, status: int) -> int:
        """As `communicate.rlx_wait`."""

        def run() -> int:
            begun = self._started.pop(ctypes.c_int64.from_address(request).value, None)
            return 0 if begun is None else self._end(begun, status)

        return self._guarded(run)

    def _guarded(self, run: Callable[[], int]) -> int:
        """What `run` gives: 0, or why a collective did not end. No exception may pass through machine code."""
        if self._failure is not None:
            return _FAILED
        try:
            code = run()
        except KeyboardInterrupt:
            code = STOPPED
        except BaseException as error:
            why = f"a collective failed, since another process has ended or is unreachable: {error}"
            self._failure = f"{place(self)}: {why}"
            return _FAILED
        if code:
            self._failure = reason(self, code)
        return code

    def _compare(self, status: int) -> int:
        """
        Compare the program of a run with those of the others, before its first collective; 0 if all are equal.

        Gloo ends a process whose collective meets a longer one, so this is not done beside it, as on MPI.
        """
        word = EngineTable.PROGRAM // WORD
        key = int(self._words[word])
        if not key:
            return 0
        self._words[word] = 0
        keys = words([key, ~key])
        code = self._end(self._begin(address(keys), address(keys), 2, I64, Collective.MIN, 0), status)
        return code or (DIFFERENT if keys[0] != ~keys[1] else 0)

    def _begin(self, source: int, target: int, count: int, element: int, call: Collective, root: int) -> _Started:
        """Start a collective."""
        dist, group = self._dist, self._group
        factors = {Collective.GATHER: (1, self.size), Collective.SCATTER: (self.size, 1)}.get(call, (1, 1))
        read, written = (
            self._tensor(place, n * count, element) for place, n in zip((source, target), factors, strict=True)
        )
        if call is Collective.GATHER:
            return _Started(dist.all_gather_single(written, read, group, async_op=True), lambda: (read, written))
        if call is Collective.BROADCAST:
            if self.rank == root:
                written.copy_(read)
            return _Started(dist.broadcast(written, group_src=root, group=group, async_op=True), lambda: written)
        # sums are left in the whole of a tensor, and of some processes in those of a reduction to one
        is_part = call in (Collective.SCATTER, Collective.REDUCE)
        total = read.clone() if is_part else written.copy_(read)
        if call is Collective.REDUCE:
            work = dist.reduce(total, group_dst=root, group=group, async_op=True)
            return _Started(work, lambda: written.copy_(total) if self.rank == root else written.zero_())
        op = {Collective.MAX: dist.ReduceOp.MAX, Collective.MIN: dist.ReduceOp.MIN}.get(call, dist.ReduceOp.SUM)
        # a reduction to parts is this and a copy in PyTorch too, which has no way to ask whether it is done
        work = dist.all_reduce(total, op, group, async_op=True)
        part = slice(self.rank * count, (self.rank + 1) * count)
        return _Started(work, (lambda: written.copy_(total[part])) if is_part else lambda: total)

    def _end(self, begun: _Started, status: int) -> int:
        """Wait for a collective, and do what is left: 0, or why it did not end."""
        deadline = time.monotonic() + self.timeout
        stopped = ctypes.c_int64.from_address(status)
        spins = 0
        while not begun.work.is_completed():
            if stopped.value:
                return STOPPED
            if time.monotonic() > deadline:
                return TIMED_OUT
            spins += 1
            time.sleep(0.0 if spins < _SPINS else _PAUSE)
        begun.work.wait()
        begun.finish()
        return 0

    def _tensor(self, place: int, count: int, element: int) -> Any:
        """Memory of a kernel as a tensor."""
        size = np.dtype(_TYPES[element]).itemsize
        memory = (ctypes.c_char * (count * size)).from_address(place)
        return self._torch.frombuffer(memory, dtype=self._types[element], count=count)


_NAMES = {"f32": "float32", "f64": "float64", "i32": "int32", "i64": "int64"}
_TYPES = [_NAMES[str(element)] for element in ELEMENTS]
