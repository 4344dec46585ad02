"""The driver's process side: its machine code (cached), the thread pool, and the tables of a compiled graph.
The machine code is in `scheduler.py`, `fast_call.py` and `ffi_call.py`; a call's arguments in `binding.py`."""

import ctypes
import hashlib
import importlib
import os
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, wraps
from operator import index
from typing import Any, SupportsIndex, TypeVar

import numpy as np
from numpy.typing import NDArray

from xdsl_rlx.forks import at_fork
from xdsl_rlx.lowering import cache as disk_cache
from xdsl_rlx.lowering.backend.driver import collectives, communicate, debug_prints, fast_call, ffi_call, scheduler
from xdsl_rlx.lowering.backend.driver.arena import Arena, aligned_bytes
from xdsl_rlx.lowering.backend.driver.layout import CACHE_LINE, WORD, CallBlock, CopyRow, PlanTable, PoolTable
from xdsl_rlx.lowering.backend.driver.manifest import BASE_BLAS, BASE_CONSTANTS, FIRST_BUFFER, Program
from xdsl_rlx.lowering.backend.driver.phases import Tables, make_tables
from xdsl_rlx.lowering.backend.driver.words import llvm_text
from xdsl_rlx.lowering.backend.machine import blas_library, llvm
from xdsl_rlx.lowering.backend.machine.workers import cores
from xdsl_rlx.lowering.run_errors import ConfigurationError, RlxError

Words = NDArray[np.int64]
"""A table of 64-bit words; what it points to is kept alive by whoever keeps it."""

T = TypeVar("T")
MUTEX_BYTES = 128
"""More than any C library's mutex or condition variable takes."""
SPIN_NS = 50_000
LONG_NS = 5_000_000
"""From how long a run of a program with loops on, of which nobody knows how long the next one takes, it may be
interrupted."""
STRAIGHT_LONG_NS = 200_000_000
"""The same of other programs: their runs take one time, and people do not notice that they wait for a shorter one."""
MAX_THREADS = 1024

making = threading.RLock()
"""Held by the thread that makes what all threads use."""
# a child forked while another thread makes something would wait for that thread forever
at_fork.hold(making)


def once(make: Callable[[], T]) -> Callable[[], T]:
    """
    Make a thing at the first call and keep it.

    `functools.cache` lets two threads make two, and machine code would go on pointing to the one that is dropped.
    """
    kept = cache(make)

    @wraps(make)
    def get() -> T:
        with making:
            return kept()

    return get


def thread_count(threads: object = None) -> int:
    """
    Threads of a run: the argument, else `XDSL_RLX_NUM_THREADS`, else the cores this process may use.

    Never more than these cores: further threads would take turns with the others, and cut work into smaller pieces.
    Raises `ConfigurationError` for anything but an integer from 1 to 1024.
    """
    if threads is None:
        text = os.environ.get("XDSL_RLX_NUM_THREADS", "")
        if not text:
            return min(cores(), MAX_THREADS)
        # int() refuses thousands of digits with an error of its own
        if not text.isdecimal() or len(text) > 20 or not 1 <= int(text) <= MAX_THREADS:
            raise ConfigurationError(
                f"XDSL_RLX_NUM_THREADS must be an integer from 1 to {MAX_THREADS}, got {text[:40]!r}"
            )
        return min(int(text), cores())
    count = None if isinstance(threads, bool) or not isinstance(threads, SupportsIndex) else index(threads)
    if count is None or not 1 <= count <= MAX_THREADS:
        raise ConfigurationError(f"threads must be an integer from 1 to {MAX_THREADS}, got {threads!r}")
    return min(count, cores())


def words(values: Sequence[int]) -> Words:
    return np.array(values, np.int64)


def address(array: NDArray[Any]) -> int:
    return int(array.ctypes.data)


@dataclass(frozen=True)
class Driver:
    """The machine code of the driver."""

    run: Callable[[int, int], None]
    """(plan, block), both addresses; releases the interpreter lock."""
    call: int
    """Address of the C function that Python calls."""
    call_exact: int
    """Address of the same that gives None for arguments that are not arrays as they are declared."""
    work: int
    """Address of the worker's thread function."""
    ffi: int
    """Address of the function that XLA's handlers call, with a `FfiTable` and the frame."""
    collective: int
    """Address of the function that kernels call to connect processes, with an `EngineTable`."""
    starting: tuple[int, int, int]
    """Addresses of those that start a collective, wait for it, and let it go on."""
    goes_on: int
    """Address of what stands for the last one where collectives go on by themselves."""


_NAMES = ("rlx_run", "rlx_call", "rlx_call_exact", "rlx_work", "rlx_ffi", "rlx_collective")
_EXPORTED = (*_NAMES, "rlx_start", "rlx_wait", "rlx_poll", "rlx_goes_on")


@once
def driver() -> Driver:
    """The driver's machine code: from the cache, else compiled, once per machine."""
    loaded = _driver_of_cache()
    if loaded is None:
        code = driver_code()
        disk_cache.store(driver_key(), code)
        loaded = llvm.load_object(code, _EXPORTED)
    loaded.keep_forever()
    prototype = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64)
    return Driver(
        prototype(loaded["rlx_run"]),
        loaded["rlx_call"],
        loaded["rlx_call_exact"],
        loaded["rlx_work"],
        loaded["rlx_ffi"],
        loaded["rlx_collective"],
        (loaded["rlx_start"], loaded["rlx_wait"], loaded["rlx_poll"]),
        loaded["rlx_goes_on"],
    )


def driver_code() -> bytes:
    """The driver's machine code, compiled for this processor."""
    return llvm.compile_llvm(_driver_text(), effort=llvm.Effort.DIRECT)


def driver_key() -> str:
    """The key of the driver's machine code in the cache."""
    return hashlib.sha256(f"driver {llvm.environment_key()}".encode()).hexdigest()


@once
def _driver_of_cache() -> llvm.LoadedObject | None:
    return disk_cache.load_as(driver_key(), lambda code: llvm.load_object(code, _EXPORTED))


@once
def _driver_text() -> str:
    return llvm_text((scheduler, fast_call, ffi_call, communicate), _EXPORTED, llvm.processor())


@cache
def begin_driver() -> None:
    """
    Compile the driver in a thread of its own, so that it is there when kernels are; errors wait for who needs it.

    Its text is made here: a thread that runs Python would take turns with this one.
    """
    if _driver_of_cache() is None:
        _driver_text()

    def make() -> None:
        with suppress(Exception):
            driver()

    with suppress(RuntimeError):
        threading.Thread(target=make).start()


class Pool:
    """The worker threads of this process and the lock that serialises runs; use `pool()`."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None)
        self._lock = threading.Lock()
        self._memory = aligned_bytes(PoolTable.size, CACHE_LINE)
        self._memory[:] = 0
        self.table: Words = self._memory.view(np.int64)
        self._sync = aligned_bytes(3 * MUTEX_BYTES, CACHE_LINE)
        self._signals = np.full(128, 0xFF, np.uint8)
        self.arena = Arena()
        self._reset()
        at_fork.add(self._before_fork, self._after_fork_in_parent, self._reset)
        # who moves the arena waits for the run
        at_fork.hold(self.arena.lock)

    @property
    def address(self) -> int:
        return address(self.table)

    @property
    def workers(self) -> int:
        return int(self.table[PoolTable.WORKERS // WORD])

    def ensure_workers(self, count: int) -> None:
        """Start workers until there are `count`; raises `RlxError` when the system refuses a thread."""
        with self._lock:
            for _ in range(self.workers, count):
                thread = ctypes.c_size_t()
                arguments = (ctypes.byref(thread), None, ctypes.c_void_p(driver().work), ctypes.c_void_p(self.address))
                if error := self._libc.pthread_create(*arguments):
                    raise RlxError(f"cannot start a worker thread: {os.strerror(error)}")
                self._libc.pthread_detach(thread)
                self._set(PoolTable.WORKERS, self.workers + 1)

    def _set(self, offset: int, value: int) -> None:
        self.table[offset // WORD] = value

    def _before_fork(self) -> None:
        """Wait for the run: a child that began in one would keep the single thread that BLAS has for its duration."""
        self._lock.acquire()
        self._libc.pthread_mutex_lock(self._run_mutex)

    def _after_fork_in_parent(self) -> None:
        self._libc.pthread_mutex_unlock(self._run_mutex)
        self._lock.release()

    @property
    def _run_mutex(self) -> ctypes.c_void_p:
        return ctypes.c_void_p(int(self.table[PoolTable.RUN_MUTEX // WORD]))

    def _reset(self) -> None:
        """Start without workers: at the beginning, and in a forked child, which has the memory but not the threads."""
        self._lock = threading.Lock()
        arena = int(self.table[PoolTable.ARENA // WORD])
        self.table[:] = 0
        self._set(PoolTable.ARENA, arena)
        self._sync[:] = 0
        first = address(self._sync)
        run_mutex, sleep_mutex, condition = (first + i * MUTEX_BYTES for i in range(3))
        self._libc.pthread_mutex_init(ctypes.c_void_p(run_mutex), None)
        self._libc.pthread_mutex_init(ctypes.c_void_p(sleep_mutex), None)
        self._libc.pthread_cond_init(ctypes.c_void_p(condition), None)
        self._set(PoolTable.SPIN_NS, SPIN_NS)
        self._set(PoolTable.RUN_MUTEX, run_mutex)
        self._set(PoolTable.SLEEP_MUTEX, sleep_mutex)
        self._set(PoolTable.CONDITION, condition)
        self._set(PoolTable.ALL_SIGNALS, address(self._signals))
        for offset, name in _C_FUNCTIONS.items():
            self._set(offset, _function_address(self._libc, name))
        for offset, name in _PYTHON_FUNCTIONS.items():
            self._set(offset, _function_address(ctypes.pythonapi, name))
        self._set(PoolTable.NEW_ARRAY, _numpy_function(94))
        self._set(PoolTable.SET_BASE, _numpy_function(282))
        for offset, value in _OBJECTS.items():
            self._set(offset, id(value))


_C_FUNCTIONS = {
    PoolTable.MUTEX_LOCK: "pthread_mutex_lock",
    PoolTable.MUTEX_TRYLOCK: "pthread_mutex_trylock",
    PoolTable.MUTEX_UNLOCK: "pthread_mutex_unlock",
    PoolTable.CONDITION_WAIT: "pthread_cond_wait",
    PoolTable.CONDITION_BROADCAST: "pthread_cond_broadcast",
    PoolTable.YIELD: "sched_yield",
    PoolTable.CLOCK: "clock_gettime",
    PoolTable.SIGMASK: "pthread_sigmask",
    PoolTable.MEMCPY: "memcpy",
    PoolTable.MALLOC: "malloc",
    PoolTable.FREE: "free",
}
_PYTHON_FUNCTIONS = {
    PoolTable.SAVE_THREAD: "PyEval_SaveThread",
    PoolTable.RESTORE_THREAD: "PyEval_RestoreThread",
    PoolTable.NEW_TUPLE: "PyTuple_New",
    PoolTable.VECTORCALL: "PyObject_Vectorcall",
    PoolTable.INCREF: "Py_IncRef",
    PoolTable.DECREF: "Py_DecRef",
    PoolTable.COMPARE_STRINGS: "PyUnicode_Compare",
    PoolTable.NEW_INT: "PyLong_FromLongLong",
}
_OUT = "out"
_OBJECTS: dict[int, object] = {
    PoolTable.ARRAY_TYPE: np.ndarray,
    PoolTable.TUPLE_TYPE: tuple,
    PoolTable.NONE: None,
    PoolTable.OUT_NAME: _OUT,
}


def _function_address(library: ctypes.CDLL, name: str) -> int:
    return ctypes.cast(library[name], ctypes.c_void_p).value or 0


def _numpy_function(index: int) -> int:
    """Address of an entry of NumPy's C API table, which is frozen: 94 is NewFromDescr, 282 SetBaseObject."""
    numpy_core: Any = importlib.import_module("numpy._core._multiarray_umath")
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = get(numpy_core._ARRAY_API, None)
    return ctypes.c_int64.from_address(table + index * WORD).value


@once
def pool() -> Pool:
    """The one pool of this process."""
    return Pool()


def copy_between_runs(target: int, source: NDArray[Any]) -> None:
    """Copy bytes in a run of nothing else, so that it waits for other runs, and they for it."""
    _copier()(target, source)


def _copier() -> Callable[[int, NDArray[Any]], None]:
    """As `copy_between_runs`, which takes no lock but that of runs."""
    run, plan = driver().run, address(_copy_plan())

    def copy(target: int, source: NDArray[Any]) -> None:
        row = {CopyRow.TARGET: target, CopyRow.SOURCE: address(source), CopyRow.BYTES: source.nbytes}
        block = words([*CallBlock.filled({CallBlock.COPY_COUNT: 1}), *CopyRow.filled(row)])
        run(plan, address(block))

    return copy


@once
def _copy_plan() -> Words:
    """A plan without launches, whose runs do the copies in their block."""
    fields = {PlanTable.POOL: pool().address, PlanTable.THREADS: 1, PlanTable.COPIES: CallBlock.size}
    return words(PlanTable.filled(fields))


@dataclass
class RunPlan:
    """
    The tables of one program at one thread count, as the machine code reads them.

    As long as it lives, the arena of the process has room for it.
    """

    program: Program
    threads: int
    table: Words
    template: Words
    """The block of a call before its arguments are known."""
    tables: Tables
    keep: list[Any] = field(default_factory=list[Any])
    """What the tables point to."""

    @property
    def address(self) -> int:
        return address(self.table)

    @property
    def parallel(self) -> bool:
        return bool(self.get(PlanTable.PARALLEL))

    @property
    def workers(self) -> int:
        """The workers that take part in a run."""
        return self.threads - 1

    def get(self, offset: int) -> int:
        return int(self.table[offset // WORD])

    def set(self, offset: int, value: int) -> None:
        self.table[offset // WORD] = value

    def set_base(self, base: int, value: int) -> None:
        """The pointer that calls use for a base unless they bring their own."""
        self.template[CallBlock.BASES // WORD + base] = value

    def point(self, offset: int, array: NDArray[Any]) -> None:
        """Put an array's address in a field and keep the array."""
        self.keep.append(array)
        self.set(offset, address(array))


def make_plan(program: Program, kernels: dict[str, int], threads: int) -> RunPlan:
    """The plan of a program whose kernels are loaded at the addresses given."""
    arguments = len(program.inputs) + len(program.params)
    bases = FIRST_BUFFER + arguments + len(program.outputs)
    copies = CallBlock.BASES + WORD * bases
    tables = make_tables(program.schedule, kernels)
    plan = RunPlan(program, threads, words(PlanTable.filled({})), words([0] * (copies // WORD)), tables)
    copy, field = _copier(), pool().address + PoolTable.ARENA
    pool().arena.reserve(plan, program.arena_bytes, program.alignment, lambda place: copy(field, words([place])))
    constants = aligned_bytes(len(program.constants), max(program.alignment, CACHE_LINE))
    constants[:] = np.frombuffer(program.constants, np.uint8)
    plan.keep.append(constants)
    plan.set_base(BASE_CONSTANTS, address(constants))
    functions = [0] * len(blas_library.FUNCTIONS)
    if program.needs_blas:
        library = blas_library.provider()
        functions = list(library.addresses)
        plan.set(PlanTable.GET_BLAS_THREADS, library.get_threads)
        plan.set(PlanTable.SET_BLAS_THREADS, library.set_threads)
    if program.prints or program.processes > 1:
        functions.append(debug_prints.address() if program.prints else 0)
    if program.processes > 1:
        engine = collectives.engine_for(program.processes, program.name)
        functions += [engine.table, engine.function()]
        functions += engine.starting()
        plan.set(PlanTable.ENGINE, engine.table)
    if program.needs_blas or program.prints or program.processes > 1:
        table = words(functions)
        plan.keep.append(table)
        plan.set_base(BASE_BLAS, address(table))
    plan.set(PlanTable.PHASES, tables.rows)
    plan.set(PlanTable.PHASE_COUNT, tables.count)
    plan.set(PlanTable.PARALLEL, tables.parallel)
    plan.set(PlanTable.POOL, pool().address)
    plan.set(PlanTable.THREADS, threads)
    plan.set(PlanTable.NS, 1 << 40)
    plan.set(PlanTable.LONG_NS, _longest_brief_run(program, tables))
    plan.set(PlanTable.TEMPLATE, address(plan.template))
    plan.set(PlanTable.COPIES, copies)
    plan.set(PlanTable.BLOCK_SIZE, copies + CopyRow.size * len(program.outputs))
    plan.set(PlanTable.ARGUMENT_COUNT, arguments)
    plan.set(PlanTable.OUTPUT_COUNT, len(program.outputs))
    plan.set(PlanTable.UPDATED_COUNT, len(program.updated))
    plan.point(PlanTable.ORDER, words(range(arguments + len(program.outputs))))
    plan.point(PlanTable.SCRATCH, words([0] * (arguments + len(program.outputs))))
    return plan


def _longest_brief_run(program: Program, tables: Tables) -> int:
    """
    Nanoseconds from which on a run is an interruptible one.

    A brief run of a while loop may turn out to be long, and begins anew then: none is brief that may have updated an
    argument by that time.
    """
    if not program.repeatable:
        return 0
    return LONG_NS if tables.long or program.polls else STRAIGHT_LONG_NS
