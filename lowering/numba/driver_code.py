"""The driver in Numba Python: launch walker, worker loop and the C function that Python calls; compiled once per machine.
Memory is addressed as 64-bit words, so that the machine code holds no address; who fills the words is in `driver.py`."""

from typing import Any

from llvmlite import ir
from numba import cfunc, njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from xdsl_rlx.lowering.numba.layout import *  # noqa: F403 (a hundred offsets, and Numba takes plain globals only)

_WORD = ir.IntType(64)
_jit = njit(error_model="numpy", no_cpython_wrapper=True)

WAKE_RUN_NS = 20_000
"""Sleeping workers are woken for a run that takes longer: waking costs several microseconds."""
WAKE_PHASE_NS = 10_000
"""The same for a later phase of a run, by the mean duration of its phases."""
KEEP_GIL_NS = 20_000
"""A shorter run keeps the interpreter lock: another Python thread would hold it for milliseconds."""
SPINS_BEFORE_YIELD = 2_000


def _address(builder: Any, value: Any, kind: Any = _WORD) -> Any:
    return builder.inttoptr(value, kind.as_pointer())


@intrinsic
def peek(context: Any, address: Any) -> Any:
    """The word at an address."""
    return types.int64(types.int64), lambda c, b, s, args: b.load(_address(b, args[0]))


@intrinsic
def peek32(context: Any, address: Any) -> Any:
    """The signed 32-bit integer at an address."""
    return types.int64(types.int64), lambda c, b, s, args: b.sext(b.load(_address(b, args[0], ir.IntType(32))), _WORD)


@intrinsic
def poke(context: Any, address: Any, value: Any) -> Any:
    """Store a word."""

    def codegen(c: Any, b: Any, s: Any, args: Any) -> Any:
        b.store(args[1], _address(b, args[0]))
        return c.get_dummy_value()

    return types.void(types.int64, types.int64), codegen


@intrinsic
def atomic_peek(context: Any, address: Any) -> Any:
    """Sequentially consistent load."""
    return types.int64(types.int64), lambda c, b, s, args: b.load_atomic(_address(b, args[0]), "seq_cst", 8)


@intrinsic
def atomic_poke(context: Any, address: Any, value: Any) -> Any:
    """Sequentially consistent store."""

    def codegen(c: Any, b: Any, s: Any, args: Any) -> Any:
        b.store_atomic(args[1], _address(b, args[0]), "seq_cst", 8)
        return c.get_dummy_value()

    return types.void(types.int64, types.int64), codegen


@intrinsic
def atomic_add(context: Any, address: Any, value: Any) -> Any:
    """Add to a word; gives its value before."""
    return types.int64(types.int64, types.int64), lambda c, b, s, args: b.atomic_rmw(
        "add", _address(b, args[0]), args[1], "seq_cst"
    )


@intrinsic
def swap_if(context: Any, address: Any, expected: Any, value: Any) -> Any:
    """Replace a word if it is as expected; gives whether it was."""

    def codegen(c: Any, b: Any, s: Any, args: Any) -> Any:
        return b.extract_value(b.cmpxchg(_address(b, args[0]), args[1], args[2], "seq_cst", "seq_cst"), 1)

    return types.boolean(types.int64, types.int64, types.int64), codegen


@intrinsic
def pause(context: Any) -> Any:
    """Tell the core that this is a spin loop."""

    def codegen(c: Any, b: Any, s: Any, args: Any) -> Any:
        triple = b.module.triple
        if triple.startswith(("x86", "i386", "i686")):
            b.call(
                cgutils.get_or_insert_function(b.module, ir.FunctionType(ir.VoidType(), []), "llvm.x86.sse2.pause"), []
            )
        elif triple.startswith(("aarch64", "arm64")):
            hint = ir.FunctionType(ir.VoidType(), [ir.IntType(32)])
            b.call(
                cgutils.get_or_insert_function(b.module, hint, "llvm.aarch64.hint"), [ir.Constant(ir.IntType(32), 1)]
            )
        return c.get_dummy_value()

    return types.void(), codegen


def _call(b: Any, s: Any, args: Any, result: Any) -> Any:
    values = cgutils.unpack_tuple(b, args[1])
    signature = ir.FunctionType(result, [_WORD] * len(values))
    return b.call(_address(b, args[0], signature), values)


@intrinsic
def invoke(context: Any, function: Any, arguments: Any) -> Any:
    """Call a C function on words; for a void function the result means nothing."""
    signature = types.int64(types.int64, types.UniTuple(types.int64, len(arguments)))
    return signature, lambda c, b, s, args: _call(b, s, args, _WORD)


@intrinsic
def invoke_int(context: Any, function: Any, arguments: Any) -> Any:
    """Call a C function that returns an int."""
    signature = types.int64(types.int64, types.UniTuple(types.int64, len(arguments)))
    return signature, lambda c, b, s, args: b.sext(_call(b, s, args, ir.IntType(32)), _WORD)


@intrinsic
def nanoseconds(context: Any, clock_gettime: Any) -> Any:
    """The monotonic clock."""

    def codegen(c: Any, b: Any, s: Any, args: Any) -> Any:
        time = cgutils.alloca_once(b, ir.ArrayType(_WORD, 2))
        word = b.ptrtoint(time, _WORD)
        monotonic = ir.Constant(_WORD, 1)
        b.call(_address(b, args[0], ir.FunctionType(ir.IntType(32), [_WORD, _WORD])), [monotonic, word])
        seconds = b.load(_address(b, word))
        rest = b.load(_address(b, b.add(word, ir.Constant(_WORD, 8))))
        return b.add(b.mul(seconds, ir.Constant(_WORD, 1_000_000_000)), rest)

    return types.int64(types.int64), codegen


@_jit
def run_chunks(phase, bases, first, last):
    """The chunks [first, last) of a phase, counted through its launches."""
    launch = peek(phase + PHASE_LAUNCH)
    start = first
    left = last - first
    while left > 0:
        count = peek(launch + LAUNCH_CHUNKS)
        if start < count:
            kernel = peek(launch + LAUNCH_KERNEL)
            arguments = peek(launch + LAUNCH_ARGUMENTS)
            extent = peek(launch + LAUNCH_EXTENT)
            chunk = peek(launch + LAUNCH_CHUNK)
            stop = min(start + left, count)
            left -= stop - start
            while start < stop:
                low = start * chunk
                invoke(kernel, (bases, arguments, low, min(low + chunk, extent)))
                start += 1
        start -= count
        launch += LAUNCH_SIZE


@_jit
def run_ticket(phase, bases, ticket):
    granule = peek(phase + PHASE_GRANULE)
    first = ticket * granule
    run_chunks(phase, bases, first, min(first + granule, peek(phase + PHASE_CHUNKS)))


@_jit
def wake(pool):
    mutex = peek(pool + POOL_SLEEP_MUTEX)
    invoke(peek(pool + POOL_MUTEX_LOCK), (mutex,))
    poke(pool + POOL_WAKE, peek(pool + POOL_WAKE) + 1)
    invoke(peek(pool + POOL_CONDITION_BROADCAST), (peek(pool + POOL_CONDITION),))
    invoke(peek(pool + POOL_MUTEX_UNLOCK), (mutex,))


@_jit
def run_parallel(pool, phase, bases, limit, may_wake):
    """
    Publish a phase, work on it, wait until every ticket taken by a worker is done.

    A worker reads the phase only while it holds a ticket, and the phase cannot end before that ticket is done:
    so no worker must take part, and one that was asleep or lost its core never holds up a phase it has not joined.
    """
    tickets = peek(phase + PHASE_TICKETS)
    poke(pool + POOL_PHASE, phase)
    poke(pool + POOL_BASES, bases)
    atomic_poke(pool + POOL_LIMIT, limit)
    atomic_poke(pool + POOL_DONE, 0)
    epoch = (peek(pool + POOL_EPOCH) + 1) & 0x7FFFFFFF
    poke(pool + POOL_EPOCH, epoch)
    atomic_poke(pool + POOL_TICKET, (epoch << 32) | tickets)
    if may_wake and atomic_peek(pool + POOL_SLEEPERS) > 0:
        wake(pool)
    elsewhere = tickets
    while True:
        ticket = atomic_peek(pool + POOL_TICKET)
        low = (ticket >> 16) & MAX_TICKETS
        if low >= ticket & MAX_TICKETS:
            break
        if swap_if(pool + POOL_TICKET, ticket, ticket + 0x10000):
            run_ticket(phase, bases, low)
            elsewhere -= 1
    spins = 0
    while atomic_peek(pool + POOL_DONE) != elsewhere:
        pause()
        spins += 1
        if spins > SPINS_BEFORE_YIELD:
            invoke(peek(pool + POOL_YIELD), ())


@_jit
def walk(plan, bases):
    """Run every phase in order; the caller holds the run lock."""
    pool = peek(plan + PLAN_POOL)
    phase = peek(plan + PLAN_PHASES)
    count = peek(plan + PLAN_PHASE_COUNT)
    end = phase + count * PHASE_SIZE
    limit = peek(plan + PLAN_THREADS) - 1
    alone = limit == 0 or peek(pool + POOL_WORKERS) == 0
    usual = peek(plan + PLAN_NS)
    may_wake = usual > WAKE_RUN_NS
    wake_again = usual > WAKE_PHASE_NS * count
    while phase < end:
        if alone or peek(phase + PHASE_TICKETS) == 1:
            run_chunks(phase, bases, 0, peek(phase + PHASE_CHUNKS))
        else:
            run_parallel(pool, phase, bases, limit, may_wake)
            may_wake = wake_again
        phase += PHASE_SIZE


@_jit
def execute(plan, block):
    """One run with its copies; the caller holds the run lock."""
    pool = peek(plan + PLAN_POOL)
    runs = peek(plan + PLAN_RUNS)
    poke(plan + PLAN_RUNS, runs + 1)
    timed = runs & 15 < 2
    start = nanoseconds(peek(pool + POOL_CLOCK)) if timed else 0
    set_threads = peek(plan + PLAN_SET_BLAS_THREADS)
    threads = 1
    if set_threads:
        threads = invoke_int(peek(plan + PLAN_GET_BLAS_THREADS), ())
        if threads != 1:
            invoke(set_threads, (1,))
    walk(plan, block + BLOCK_BASES)
    if threads != 1:
        invoke(set_threads, (threads,))
    copy = block + peek(plan + PLAN_COPIES)
    for _ in range(peek(block + BLOCK_COPY_COUNT)):
        invoke(peek(pool + POOL_MEMCPY), (peek(copy), peek(copy + 8), peek(copy + 16)))
        copy += COPY_SIZE
    if timed:
        poke(plan + PLAN_NS, nanoseconds(peek(pool + POOL_CLOCK)) - start)


@cfunc(types.void(types.int64, types.int64), error_model="numpy")
def run(plan, block):
    """One run, for a caller that has released the interpreter lock."""
    pool = peek(plan + PLAN_POOL)
    invoke(peek(pool + POOL_MUTEX_LOCK), (peek(pool + POOL_RUN_MUTEX),))
    execute(plan, block)
    invoke(peek(pool + POOL_MUTEX_UNLOCK), (peek(pool + POOL_RUN_MUTEX),))


@_jit
def available(pool, worker):
    ticket = atomic_peek(pool + POOL_TICKET)
    return (ticket >> 16) & MAX_TICKETS < ticket & MAX_TICKETS and worker < atomic_peek(pool + POOL_LIMIT)


@_jit
def sleep(pool, worker):
    mutex = peek(pool + POOL_SLEEP_MUTEX)
    invoke(peek(pool + POOL_MUTEX_LOCK), (mutex,))
    # published before the last look for work: who publishes work looks for sleepers afterwards
    atomic_add(pool + POOL_SLEEPERS, 1)
    seen = peek(pool + POOL_WAKE)
    while atomic_peek(pool + POOL_WAKE) == seen and not available(pool, worker):
        invoke(peek(pool + POOL_CONDITION_WAIT), (peek(pool + POOL_CONDITION), mutex))
    atomic_add(pool + POOL_SLEEPERS, -1)
    invoke(peek(pool + POOL_MUTEX_UNLOCK), (mutex,))


@cfunc(types.int64(types.int64), error_model="numpy")
def work(pool):
    """The life of a worker thread; it ends with the process."""
    block_signals = 0
    # Python's signal handlers belong to Python's threads: a signal taken here would not interrupt the main thread
    invoke(peek(pool + POOL_SIGMASK), (block_signals, peek(pool + POOL_ALL_SIGNALS), 0))
    worker = atomic_add(pool + POOL_NEXT_WORKER, 1)
    from_top = worker & 1 == 0
    clock = peek(pool + POOL_CLOCK)
    idle_since = 0
    spins = 0
    while True:
        ticket = atomic_peek(pool + POOL_TICKET)
        low = (ticket >> 16) & MAX_TICKETS
        high = ticket & MAX_TICKETS
        if low < high and worker < atomic_peek(pool + POOL_LIMIT):
            # the caller takes from the bottom, its neighbour from the top: phase after phase, each finds its own
            # part of the data in its cache
            mine = high - 1 if from_top else low
            if swap_if(pool + POOL_TICKET, ticket, ticket - 1 if from_top else ticket + 0x10000):
                run_ticket(peek(pool + POOL_PHASE), peek(pool + POOL_BASES), mine)
                atomic_add(pool + POOL_DONE, 1)
                spins = 0
            continue
        pause()
        spins += 1
        if spins == 1:
            idle_since = nanoseconds(clock)
        elif spins & 63 == 0:
            if nanoseconds(clock) - idle_since > peek(pool + POOL_SPIN_NS):
                sleep(pool, worker)
                spins = 0
            else:
                invoke(peek(pool + POOL_YIELD), ())
    return 0


@_jit
def usable(pool, spec, value, flags):
    """The data address of an array that can be used as it is, else 0."""
    if peek(value + OBJECT_TYPE) != peek(pool + POOL_ARRAY_TYPE):
        return 0
    if peek(value + ARRAY_DTYPE) != peek(spec + SPEC_DTYPE) or peek32(value + ARRAY_FLAGS) & flags != flags:
        return 0
    rank = peek(spec + SPEC_RANK)
    if peek32(value + ARRAY_RANK) != rank:
        return 0
    shape = peek(value + ARRAY_SHAPE)
    expected = peek(spec + SPEC_SHAPE)
    for axis in range(rank):
        if peek(shape + 8 * axis) != peek(expected + 8 * axis):
            return 0
    return peek(value + ARRAY_DATA)


@_jit
def place(pool, specs, count, slots, index, value):
    """Put an argument's address in its slot; gives whether it can be used as it is."""
    data = usable(pool, specs + index * SPEC_SIZE, value, FLAGS_READABLE)
    poke(slots + 8 * index, data)
    return data != 0


@_jit
def find(pool, specs, count, first, name):
    """The position of a name, looked for from `first` on, or -1."""
    # names come in the order of the signature, and are the very same objects, more often than not
    for index in range(first, count):
        if peek(specs + index * SPEC_SIZE + SPEC_NAME) == name:
            return index
    for index in range(count):
        if invoke_int(peek(pool + POOL_COMPARE_STRINGS), (peek(specs + index * SPEC_SIZE + SPEC_NAME), name)) == 0:
            return index
    return -1


@_jit
def bind(plan, block, args, positional, names):
    """Fill a block's slots from a call's arguments; gives the `out` object, 0 without one, or -1 for the slow call."""
    pool = peek(plan + PLAN_POOL)
    specs = peek(plan + PLAN_ARGUMENTS)
    count = peek(plan + PLAN_ARGUMENT_COUNT)
    slots = block + BLOCK_FIRST_BUFFER
    out = 0
    if positional > count:
        return -1
    for index in range(positional):
        if not place(pool, specs, count, slots, index, peek(args + 8 * index)):
            return -1
    if names:
        cursor = positional
        for keyword in range(peek(names + TUPLE_LENGTH)):
            name = peek(names + TUPLE_ITEMS + 8 * keyword)
            value = peek(args + 8 * (positional + keyword))
            if name == peek(pool + POOL_OUT_NAME):
                out = value
                continue
            index = find(pool, specs, count, cursor, name)
            if index < positional:
                return -1
            if not place(pool, specs, count, slots, index, value):
                return -1
            cursor = max(cursor, index + 1)
    for index in range(count):
        if peek(slots + 8 * index) == 0:
            return -1
    return out


@_jit
def overlaps(plan, slots, last, data, size):
    """Whether a result buffer shares memory with an argument, or with one of the result buffers before `last`."""
    count = peek(plan + PLAN_ARGUMENT_COUNT)
    arguments = peek(plan + PLAN_ARGUMENTS)
    found = False
    for index in range(count):
        other = peek(slots + 8 * index)
        found |= (other < data + size) & (data < other + peek(arguments + index * SPEC_SIZE + SPEC_BYTES))
    outputs = peek(plan + PLAN_OUTPUTS)
    for index in range(last):
        other = peek(slots + 8 * (count + index))
        found |= (other < data + size) & (data < other + peek(outputs + index * SPEC_SIZE + SPEC_BYTES))
    return found


@_jit
def new_array(pool, spec):
    dtype = peek(spec + SPEC_DTYPE)
    # the constructor takes over a reference to the dtype
    invoke(peek(pool + POOL_INCREF), (dtype,))
    shape = peek(spec + SPEC_SHAPE)
    arguments = (peek(pool + POOL_ARRAY_TYPE), dtype, peek(spec + SPEC_RANK), shape, 0, 0, 0, 0)
    return invoke(peek(pool + POOL_NEW_ARRAY), arguments)


@_jit
def bind_outputs(plan, block, result, out):
    """Fill the result tuple and the output slots; gives 1, 0 for the slow call, or -1 with an exception set."""
    pool = peek(plan + PLAN_POOL)
    count = peek(plan + PLAN_OUTPUT_COUNT)
    specs = peek(plan + PLAN_OUTPUTS)
    slots = block + BLOCK_FIRST_BUFFER
    outputs = slots + 8 * peek(plan + PLAN_ARGUMENT_COUNT)
    given = out != 0 and out != peek(pool + POOL_NONE)
    if given:
        if peek(out + OBJECT_TYPE) != peek(pool + POOL_TUPLE_TYPE) or peek(out + TUPLE_LENGTH) != count:
            return 0
    copies = 0
    for index in range(count):
        spec = specs + index * SPEC_SIZE
        value = peek(out + TUPLE_ITEMS + 8 * index) if given else peek(pool + POOL_NONE)
        if value == peek(pool + POOL_NONE):
            value = new_array(pool, spec)
            if value == 0:
                return -1
            poke(result + TUPLE_ITEMS + 8 * index, value)
            poke(outputs + 8 * index, peek(value + ARRAY_DATA))
            continue
        data = usable(pool, spec, value, FLAGS_WRITABLE)
        if data == 0:
            return 0
        size = peek(spec + SPEC_BYTES)
        invoke(peek(pool + POOL_INCREF), (value,))
        poke(result + TUPLE_ITEMS + 8 * index, value)
        if overlaps(plan, slots, index, data, size):
            aside = peek(plan + PLAN_ASIDE)
            if aside == 0:
                return 0
            aside += peek(spec + SPEC_ASIDE)
            copy = block + peek(plan + PLAN_COPIES) + COPY_SIZE * copies
            poke(copy, data)
            poke(copy + 8, aside)
            poke(copy + 16, size)
            copies += 1
            data = aside
        poke(outputs + 8 * index, data)
    poke(block + BLOCK_COPY_COUNT, copies)
    return 1


@_jit
def run_from_python(plan, block):
    """One run by a thread that holds the interpreter lock, which it never waits for while it holds the run lock."""
    pool = peek(plan + PLAN_POOL)
    mutex = peek(pool + POOL_RUN_MUTEX)
    state = 0
    if peek(plan + PLAN_NS) > KEEP_GIL_NS:
        state = invoke(peek(pool + POOL_SAVE_THREAD), ())
    if invoke_int(peek(pool + POOL_MUTEX_TRYLOCK), (mutex,)) != 0:
        if state == 0:
            state = invoke(peek(pool + POOL_SAVE_THREAD), ())
        invoke(peek(pool + POOL_MUTEX_LOCK), (mutex,))
    execute(plan, block)
    invoke(peek(pool + POOL_MUTEX_UNLOCK), (mutex,))
    if state != 0:
        invoke(peek(pool + POOL_RESTORE_THREAD), (state,))


@cfunc(types.int64(types.int64, types.int64, types.int64, types.int64), error_model="numpy")
def call(self, args, positional, names):
    """
    `METH_FASTCALL | METH_KEYWORDS` function of a compiled graph; `self` is the array that holds the plan.

    It serves calls whose arguments can all be used as they are. Any other call goes to the plan's Python callable,
    which converts or says what is wrong.
    """
    plan = peek(self + ARRAY_DATA)
    pool = peek(plan + PLAN_POOL)
    block = invoke(peek(pool + POOL_MALLOC), (peek(plan + PLAN_BLOCK_SIZE),))
    invoke(peek(pool + POOL_MEMCPY), (block, peek(plan + PLAN_TEMPLATE), peek(plan + PLAN_COPIES)))
    status = 0
    result = 0
    if peek(plan + PLAN_PARALLEL) == 0 or peek(pool + POOL_WORKERS) >= peek(plan + PLAN_THREADS) - 1:
        out = bind(plan, block, args, positional, names)
        if out != -1:
            result = invoke(peek(pool + POOL_NEW_TUPLE), (peek(plan + PLAN_OUTPUT_COUNT),))
            status = -1
            if result != 0:
                status = bind_outputs(plan, block, result, out)
    if status == 1:
        run_from_python(plan, block)
    elif result != 0:
        invoke(peek(pool + POOL_DECREF), (result,))
        result = 0
    invoke(peek(pool + POOL_FREE), (block,))
    if status == 0:
        return invoke(peek(pool + POOL_VECTORCALL), (peek(plan + PLAN_SLOW_CALL), args, positional, names))
    return result
