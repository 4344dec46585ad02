"""The tables in memory that machine code and Python share, and numbers that stand in them. The machine code is in
`scheduler.py` and `fast_call.py`, what writes tables in `process.py`, `phases.py` and `runtime/binding.py`."""

from collections.abc import Mapping
from inspect import get_annotations
from typing import Annotated, ClassVar, TypeVar

from xdsl_rlx.lowering.backend.driver.manifest import FIRST_BUFFER

T = TypeVar("T")
WORD = 8
CACHE_LINE = 64
LINE = 0
"""Words that a field does not take, but that it begins a cache line: so it is marked."""


class Table:
    """
    A table as its fields, in order. Each takes a word and is its byte offset.

    `Annotated[int, 3]` is a field of three words, `Annotated[int, LINE]` one that begins a cache line. What a table is
    derived from stands in front.
    """

    size: ClassVar[int] = 0

    def __init_subclass__(cls) -> None:
        for name, kind in get_annotations(cls).items():
            (words,) = getattr(kind, "__metadata__", (1,))
            if words == LINE:
                cls.size = -(-cls.size // CACHE_LINE) * CACHE_LINE
            setattr(cls, name, cls.size)
            cls.size += WORD * max(words, 1)

    @classmethod
    def filled(cls, values: Mapping[int, T]) -> list[T | int]:
        """The words of a table with these fields, and 0 in the others."""
        return [values.get(offset, 0) for offset in range(0, cls.size, WORD)]


class PoolTable(Table):
    """The pool: one per process. What different threads write stands on different cache lines."""

    TICKET: int
    """epoch << 32 | lo << 16 | hi: the tickets [lo, hi) of the phase being run are still to be had."""
    DONE: Annotated[int, LINE]
    """Tickets of the phase that workers have finished."""
    PHASE: Annotated[int, LINE]
    BASES: int
    LIMIT: int
    """Only workers numbered below this may take tickets."""
    EPOCH: int
    SLEEPERS: Annotated[int, LINE]
    WAKE: int
    """Counts the calls to wake up."""
    NEXT_WORKER: int
    WORKERS: Annotated[int, LINE]
    """Workers started."""
    STOP: int
    """Not 0: idle workers end. Only pools of exported programs stop."""
    SPIN_NS: int
    """How long an idle worker looks for work before it sleeps."""
    RUN_MUTEX: int
    SLEEP_MUTEX: int
    CONDITION: int
    ALL_SIGNALS: int
    ARENA: int
    """Address of the arena, which is not moved while a program runs."""
    TIME: Annotated[int, 2]
    """For who holds the run lock: to read the clock, and for the modes of the floating-point unit."""
    # addresses of C functions
    MUTEX_LOCK: int
    MUTEX_TRYLOCK: int
    MUTEX_UNLOCK: int
    CONDITION_WAIT: int
    CONDITION_BROADCAST: int
    YIELD: int
    CLOCK: int
    SIGMASK: int
    MEMCPY: int
    MALLOC: int
    FREE: int
    SAVE_THREAD: int
    RESTORE_THREAD: int
    NEW_TUPLE: int
    NEW_ARRAY: int
    VECTORCALL: int
    DECREF: int
    INCREF: int
    COMPARE_STRINGS: int
    SET_BASE: int
    NEW_INT: int
    # addresses of Python objects
    ARRAY_TYPE: int
    TUPLE_TYPE: int
    NONE: int
    OUT_NAME: int


KEY_DIGITS = 15
"""Hexadecimal digits of the key of a program that fit in a word and leave it positive."""


class PlanTable(Table):
    """A plan: one per compiled graph."""

    POOL: int
    PHASES: int
    PHASE_COUNT: int
    THREADS: int
    PARALLEL: int
    """Whether a phase has more than one ticket."""
    GET_BLAS_THREADS: int
    SET_BLAS_THREADS: int
    RUNS: int
    NS: int
    """Duration of the last run that was timed."""
    TEMPLATE: int
    """A call's block before its arguments are known."""
    BLOCK_SIZE: int
    ARGUMENTS: int
    ARGUMENT_COUNT: int
    OUTPUTS: int
    OUTPUT_COUNT: int
    SLOW_CALL: int
    ASIDE: int
    """Buffers for results that may not be written in place yet; 0 before the first need."""
    COPIES: int
    """Offset of the list of copies in a call's block."""
    REPORT: int
    """The Python callable that raises what a failed check says: it takes the two words of a block's status."""
    PHASE_RUNS: int
    """Phases that the last run that was timed went through: more than there are where they stand in loops."""
    UPDATED_COUNT: int
    """Arguments that results are written over."""
    ORDER: int
    """The numbers of arguments and outputs in the order of their addresses in the last call that sorted them."""
    SCRATCH: int
    """As many words, for sorting."""
    LONG_NS: int
    """From which `NS` on a run may be interrupted, which the slow call sees to."""
    ENGINE: int
    """The `EngineTable`, if programs of several processes are to be compared in each run."""
    KEY: int
    """What is compared; 0: nothing."""


class CallBlock(Table):
    """A call's block, behind which come the other buffers and a `CopyRow` per copy."""

    COPY_COUNT: int
    STATUS: int
    """
    0, or why no iteration of a loop begins any more: the address of the message of the first `lir.check` that failed, a
    C string in the program's code, `INTERRUPTED` or `TOO_LONG`.
    """
    STATUS_VALUE: int
    """The value that was checked."""
    BRIEF: int
    """Whether the run is `TOO_LONG` when `PlanTable.LONG_NS` have passed."""
    TRACE: int
    """0, or the address of a `TraceTable` in which the run writes down what it does when."""
    BASES: Annotated[int, FIRST_BUFFER]
    BUFFERS: int
    """The first base pointer of an argument or output."""


INTERRUPTED = -1
TOO_LONG = -2
"""Nobody knew how long it takes: it is to begin anew where it may be interrupted."""


class CopyRow(Table):
    """What is copied at the end of a run."""

    TARGET: int
    SOURCE: int
    BYTES: int


class TraceTable(Table):
    """What a run does when; behind it come the rows."""

    CLOCK: int
    """Address of the C function."""
    ROWS: int
    """Rows there is room for."""
    COUNT: int
    """Chunks that were run; more than there are rows where there was no room."""


class TraceRow(Table):
    """A chunk of a launch."""

    LAUNCH: int
    """Address of the `LaunchRow`."""
    CHUNK: int
    THREAD: int
    """0 for the thread that calls."""
    BEGAN: Annotated[int, 2]
    """Seconds and nanoseconds of the monotonic clock."""
    ENDED: Annotated[int, 2]


class PhaseRow(Table):
    """A phase: launches that need no barrier between them, and are cut into tickets; or, without tickets, a turn."""

    LAUNCH: int
    CHUNKS: int
    TICKETS: int
    GRANULE: int
    """Chunks per ticket."""


MAX_TICKETS = 0xFFFF


class TurnRow(Table):
    """A turn: the loop begins, or an iteration has ended; or a jump, which may ask a predicate."""

    ABOUT: int
    """Address of the loop, or of the predicate."""
    KIND: int
    TICKETS: int
    """0, where a phase has its tickets."""
    TARGET: int
    """The row that a jump leads to."""


TURN_BEGIN = 0
TURN_END = 1
TURN_JUMP = 2
TURN_JUMP_UNLESS = 3
TURN_JUMP_BACK = 4


class LoopRow(Table):
    """A loop of a plan."""

    COUNT: int
    LEFT: int
    """Iterations that have not ended."""
    PATCHES: int
    PATCHES_END: int
    FIRST: int
    """The turn at which it begins, behind which the body stands."""


class PatchRow(Table):
    """How an argument's offset follows the iterations of one loop. The position is part of the offset at all times."""

    OFFSET: int
    """Address of the offset."""
    POSITION: int
    """The bytes that this loop has added to it."""
    START: int
    """The bytes of the first iteration."""
    STEP: int
    EDGE: int
    """The position behind which comes `AFTER`, and not one step more; -1 for none."""
    AFTER: int


class LaunchRow(Table):
    """A launch of a phase."""

    KERNEL: int
    ARGUMENTS: int
    EXTENT: int
    CHUNK: int
    CHUNKS: int
    BLAS_THREADS: int
    """How many threads BLAS and LAPACK have at most; above 1, the launch is one chunk and all of its phase."""


MOST_PASSED = 12
"""Buffers of a kernel at most that are passed to it one by one. One with more finds them by itself, from the rows."""


def passed(buffers: int) -> int:
    """How many buffers a kernel that has so many is passed: all, or none."""
    return buffers if buffers <= MOST_PASSED else 0


class ArgumentRow(Table):
    """Where an argument of a launch begins, or a predicate stands. In front of a launch's is what is `passed`."""

    BASE: int
    """The number of a base pointer."""
    OFFSET: int


class SpecRow(Table):
    """What an array must be to be used as it is."""

    NAME: int
    DTYPE: int
    RANK: int
    SHAPE: int
    BYTES: int
    FLAGS: int
    """What NumPy has to say of it: `FLAGS_READABLE`, or `FLAGS_WRITABLE` for an output or an updated argument."""
    ASIDE: int
    """Offset of an output's buffer in `PlanTable.ASIDE`."""
    KEPT: int
    """Of a large output, address of `KEPT_COUNT` buffers to use again; else 0."""


class KeptRow(Table):
    """A buffer to use again: the array that owns it, and where the output begins."""

    OWNER: int
    START: int


KEPT_COUNT = 2


class PythonObject(Table):
    """Objects of CPython; this and what is derived from it is checked before the fast call is used."""

    REFERENCES: int
    TYPE: int


class PythonTuple(PythonObject):
    """Tuples of CPython."""

    LENGTH: int
    ITEMS: int


class NumpyArray(PythonObject):
    """Arrays of NumPy; `RANK` and `FLAGS` are half a word."""

    DATA: int
    RANK: int
    SHAPE: int
    STRIDES: int
    BASE: int
    DTYPE: int
    FLAGS: int


FLAGS_READABLE = 0x101
"""NPY_ARRAY_C_CONTIGUOUS and NPY_ARRAY_ALIGNED."""
FLAGS_WRITABLE = 0x501
"""The same and NPY_ARRAY_WRITEABLE."""


class FfiTable(Table):
    """What the handler of a program needs that XLA calls."""

    PLAN: int
    REPORT: int
    """C function of a frame and the two words of a block's status, which makes the error of a failed check."""
    CHECK: int
    """0, or a C function of a frame that looks at the results, and returns an error or 0."""


class FfiFrame(Table):
    """`XLA_FFI_CallFrame`: a call of XLA's, as its header `xla/ffi/api/c_api.h` has it."""

    STRUCT_SIZE: int
    EXTENSION: int
    API: int
    CONTEXT: int
    STAGE: int
    ARGUMENTS_STRUCT_SIZE: int
    ARGUMENTS_EXTENSION: int
    ARGUMENT_COUNT: int
    ARGUMENT_KINDS: int
    ARGUMENTS: int
    """Address of the addresses of an `FfiBuffer` for each argument."""
    RESULTS_STRUCT_SIZE: int
    RESULTS_EXTENSION: int
    RESULT_COUNT: int
    RESULT_KINDS: int
    RESULTS: int


class FfiBuffer(Table):
    """`XLA_FFI_Buffer`."""

    STRUCT_SIZE: int
    EXTENSION: int
    DTYPE: int
    DATA: int
    RANK: int
    EXTENTS: int


class FfiExtension(Table):
    """`XLA_FFI_Metadata_Extension`, by which XLA asks a handler about itself."""

    STRUCT_SIZE: int
    KIND: int
    NEXT: int
    METADATA: int


FFI_METADATA = 1
"""The kind of that extension."""


class FfiMetadata(Table):
    """`XLA_FFI_Metadata`: the answer."""

    STRUCT_SIZE: int
    VERSION_STRUCT_SIZE: int
    VERSION_EXTENSION: int
    VERSION: int
    """The major and the minor version, half a word each."""


FFI_VERSION = 1 << 32
"""Version 0.1 of XLA's interface: all that is read here has been in it since."""


class FfiApi(Table):
    """`XLA_FFI_Api`, as far as the function that makes errors."""

    STRUCT_SIZE: int
    EXTENSION: int
    VERSION: Annotated[int, 3]
    INTERNAL: int
    CREATE_ERROR: int


MOST_REQUESTS = 16
"""Collectives that may have been started and not waited for; one more is waited for at once."""


class EngineTable(Table):
    """What connects this process to others: functions and handles of MPI, or functions that are called as those are."""

    ALL_REDUCE: int
    """`int (source, target, count, type, kind, comm, request)`, which returns at once; so do the next four."""
    GATHER: int
    """`int (source, count, type, target, count, type, comm, request)`."""
    SCATTER: int
    """`int (source, target, count, type, kind, comm, request)`."""
    BROADCAST: int
    """`int (buffer, count, type, root, comm, request)`."""
    REDUCE: int
    """`int (source, target, count, type, kind, root, comm, request)`."""
    RANK: int
    MEMCPY: int
    MEMSET: int
    TEST: int
    """`int (request, flag, status)`, which says whether it is done."""
    COMM: int
    TYPES: Annotated[int, 4]
    """A handle for each of `collectives.ELEMENTS`, and the bytes of an element."""
    BYTES: Annotated[int, 4]
    KINDS: Annotated[int, 3]
    """A handle for each of the functions of `collectives.COLLECTIVES` that reduce to all."""
    TIMEOUT_NS: int
    """How long a process waits for others."""
    FAILED: int
    """Why a collective did not end: it is the last one of the process."""
    CLOCK: int
    YIELD: int
    IN_PLACE: int
    """The source of a collective that is in place."""
    PROGRAM: int
    """The key of the program of the run that has begun, until its first collective; 0 for one that has none."""
    KEYS: Annotated[int, 2]
    """The least key of all processes, and the least of their complements."""
    KEYS_REQUEST: int
    COMPARING: int
    """1 while these are on their way."""
    REQUEST: int
    REQUESTS: Annotated[int, MOST_REQUESTS]
    """Of collectives that have been started."""
    STARTED: Annotated[int, MOST_REQUESTS]
    """1 for those that have not been waited for."""
    FLAG: int
    TIME: Annotated[int, 2]
    STATUS: Annotated[int, 16]
    """More than any status of MPI takes."""
