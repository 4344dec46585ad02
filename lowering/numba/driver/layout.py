"""Byte offsets of the driver's tables, shared by the machine code (`driver_code.py`) and their writer (`process.py`).
Every field is a 64-bit word."""

# The pool: one per process. What different threads write stands on different cache lines.
POOL_TICKET = 0
"""epoch << 32 | lo << 16 | hi: the tickets [lo, hi) of the phase being run are still to be had."""
POOL_DONE = 64
"""Tickets of the phase that workers have finished."""
POOL_PHASE = 128
POOL_BASES = 136
POOL_LIMIT = 144
"""Only workers numbered below this may take tickets."""
POOL_EPOCH = 152
POOL_SLEEPERS = 192
POOL_WAKE = 200
"""Counts the calls to wake up."""
POOL_NEXT_WORKER = 208
POOL_WORKERS = 256
"""Workers started."""
POOL_SPIN_NS = 264
"""How long an idle worker looks for work before it sleeps."""
POOL_RUN_MUTEX = 272
POOL_SLEEP_MUTEX = 280
POOL_CONDITION = 288
POOL_ALL_SIGNALS = 296
POOL_TIME = 304
"""Two words for who holds the run lock: to read the clock, and for the modes of the floating-point unit."""
# addresses of C functions
POOL_MUTEX_LOCK = 320
POOL_MUTEX_TRYLOCK = 328
POOL_MUTEX_UNLOCK = 336
POOL_CONDITION_WAIT = 344
POOL_CONDITION_BROADCAST = 352
POOL_YIELD = 360
POOL_CLOCK = 368
POOL_SIGMASK = 376
POOL_MEMCPY = 384
POOL_MALLOC = 392
POOL_FREE = 400
POOL_SAVE_THREAD = 408
POOL_RESTORE_THREAD = 416
POOL_NEW_TUPLE = 424
POOL_NEW_ARRAY = 432
POOL_VECTORCALL = 440
POOL_DECREF = 448
POOL_INCREF = 488
POOL_COMPARE_STRINGS = 496
POOL_SET_BASE = 504
POOL_NEW_INT = 512
# addresses of Python objects
POOL_ARRAY_TYPE = 456
POOL_TUPLE_TYPE = 464
POOL_NONE = 472
POOL_OUT_NAME = 480
POOL_SIZE = 520

# A plan: one per compiled graph.
PLAN_POOL = 0
PLAN_PHASES = 8
PLAN_PHASE_COUNT = 16
PLAN_THREADS = 24
PLAN_PARALLEL = 32
"""Whether a phase has more than one ticket."""
PLAN_GET_BLAS_THREADS = 40
PLAN_SET_BLAS_THREADS = 48
PLAN_RUNS = 56
PLAN_NS = 64
"""Duration of the last run that was timed."""
PLAN_TEMPLATE = 72
"""A call's block before its arguments are known."""
PLAN_BLOCK_SIZE = 80
PLAN_ARGUMENTS = 88
PLAN_ARGUMENT_COUNT = 96
PLAN_OUTPUTS = 104
PLAN_OUTPUT_COUNT = 112
PLAN_SLOW_CALL = 120
PLAN_ASIDE = 128
"""Buffers for results that may not be written in place yet; 0 before the first need."""
PLAN_COPIES = 136
"""Offset of the list of copies in a call's block."""
PLAN_REPORT = 144
"""The Python callable that raises what a failed check says: it takes the two words of a block's status."""
PLAN_PHASE_RUNS = 152
"""Phases that the last run that was timed went through: more than there are where they stand in loops."""
PLAN_LONG_NS = 160
"""From which `PLAN_NS` on a run may be interrupted, which the slow call sees to; only programs with loops have one."""
PLAN_SIZE = 168

# A call's block: the number of copies, what failed, whether it may take long, the base pointers, then (destination,
# source, bytes) per copy.
BLOCK_COPY_COUNT = 0
BLOCK_STATUS = 8
"""
0, or why no iteration of a loop begins any more: the address of the message of the first `lir.check` that failed, a C
string in the program's code, `INTERRUPTED` or `TOO_LONG`.
"""
INTERRUPTED = -1
TOO_LONG = -2
"""Nobody knew how long it takes: it is to begin anew where it may be interrupted."""
BLOCK_STATUS_VALUE = 16
"""The value that was checked."""
BLOCK_BRIEF = 24
"""Whether the run is `TOO_LONG` when `PLAN_LONG_NS` have passed."""
BLOCK_BASES = 32
BLOCK_FIRST_BUFFER = 56
COPY_SIZE = 24

# A phase: launches that need no barrier between them, and are cut into tickets; or, without tickets, a turn.
PHASE_LAUNCH = 0
PHASE_CHUNKS = 8
PHASE_TICKETS = 16
PHASE_GRANULE = 24
"""Chunks per ticket."""
PHASE_SIZE = 32
MAX_TICKETS = 0xFFFF

# A turn: the loop begins, or an iteration has ended; or a jump, which may ask a predicate.
TURN_LOOP = 0
TURN_PREDICATE = 0
"""Address of base number and offset, as those of an argument."""
TURN_KIND = 8
TURN_BEGIN = 0
TURN_END = 1
TURN_JUMP = 2
TURN_JUMP_UNLESS = 3
TURN_JUMP_BACK = 4
TURN_TARGET = 24
"""The row that a jump leads to."""

LOOP_COUNT = 0
LOOP_LEFT = 8
"""Iterations that have not ended."""
LOOP_PATCHES = 16
LOOP_PATCHES_END = 24
LOOP_FIRST = 32
"""The turn at which it begins, behind which the body stands."""
LOOP_SIZE = 40

# A patch: how an argument's offset follows the iterations of one loop. The position is part of the offset at all times.
PATCH_WORD = 0
"""Address of the offset."""
PATCH_POSITION = 8
"""The bytes that this loop has added to it."""
PATCH_START = 16
"""The bytes of the first iteration."""
PATCH_STEP = 24
PATCH_EDGE = 32
"""The position behind which comes `PATCH_AFTER`, and not one step more; -1 for none."""
PATCH_AFTER = 40
PATCH_SIZE = 48

LAUNCH_KERNEL = 0
LAUNCH_ARGUMENTS = 8
LAUNCH_EXTENT = 16
LAUNCH_CHUNK = 24
LAUNCH_CHUNKS = 32
LAUNCH_SIZE = 40

# What an array must be to be used as it is.
SPEC_NAME = 0
SPEC_DTYPE = 8
SPEC_RANK = 16
SPEC_SHAPE = 24
SPEC_BYTES = 32
SPEC_ASIDE = 40
"""Offset of an output's buffer in `PLAN_ASIDE`."""
SPEC_KEPT = 48
"""Of a large output, `KEPT_COUNT` buffers to use again: the array that owns it, and where the output begins; else 0."""
SPEC_SIZE = 56
KEPT_SIZE = 16
KEPT_COUNT = 2

# CPython and NumPy objects, as checked by `process.py` before the fast call is used.
OBJECT_REFERENCES = 0
OBJECT_TYPE = 8
TUPLE_LENGTH = 16
TUPLE_ITEMS = 24
ARRAY_DATA = 16
ARRAY_RANK = 24
ARRAY_SHAPE = 32
ARRAY_DTYPE = 56
ARRAY_FLAGS = 64
FLAGS_READABLE = 0x101
"""NPY_ARRAY_C_CONTIGUOUS and NPY_ARRAY_ALIGNED."""
FLAGS_WRITABLE = 0x501
"""The same and NPY_ARRAY_WRITEABLE."""
