"""The driver: launch walker, worker loop and the C function that Python calls, in the Python that `words.py` compiles.
Memory is addressed as 64-bit words, so that the machine code holds no address; who fills the words is in `process.py`.

Numba's front end takes 4 s for these functions, longer than a whole model may take to compile; their translation 0.2 s.
"""

# ruff: noqa: F403, F405 (a hundred offsets, and nothing else, are in scope without a prefix)
from xdsl_rlx.lowering.numba.driver.layout import *
from xdsl_rlx.lowering.numba.driver.primitives import (
    atomic_add,
    atomic_peek,
    atomic_poke,
    invoke,
    invoke_int,
    load_float_state,
    pause,
    peek,
    peek8,
    peek32,
    poke,
    save_float_state,
    swap_if,
)

WAKE_RUN_NS = 20_000
"""Sleeping workers are woken for a run that takes longer: waking costs several microseconds."""
WAKE_PHASE_NS = 10_000
"""The same for a later phase of a run, by the mean duration of its phases."""
KEEP_GIL_NS = 20_000
"""A shorter run keeps the interpreter lock: another Python thread would hold it for milliseconds."""
SPINS_BEFORE_YIELD = 2_000
FLOAT_MODES = 0xFFC0
"""The bits of MXCSR that change results; the others only record what happened."""
STRICT = 0x1F80
"""MXCSR for IEEE 754: to nearest even, denormals kept, no traps."""


def nanoseconds(pool: int, buffer: int) -> int:
    """The monotonic clock, read through a buffer of two words."""
    monotonic = 1
    invoke(peek(pool + POOL_CLOCK), monotonic, buffer)
    return peek(buffer) * 1_000_000_000 + peek(buffer + 8)


def run_chunks(phase: int, bases: int, first: int, last: int) -> None:
    """The chunks [first, last) of a phase, counted through its launches."""
    launch = peek(phase + PHASE_LAUNCH)
    start = first
    left = last - first
    # where a check has failed, nothing begins any more
    while left > 0 and peek(bases + BLOCK_STATUS - BLOCK_BASES) == 0:
        count = peek(launch + LAUNCH_CHUNKS)
        if start < count:
            kernel = peek(launch + LAUNCH_KERNEL)
            arguments = peek(launch + LAUNCH_ARGUMENTS)
            extent = peek(launch + LAUNCH_EXTENT)
            chunk = peek(launch + LAUNCH_CHUNK)
            stop = min(start + left, count)
            left -= stop - start
            while start < stop and peek(bases + BLOCK_STATUS - BLOCK_BASES) == 0:
                low = start * chunk
                invoke(kernel, bases, arguments, low, min(low + chunk, extent))
                start += 1
        start -= count
        launch += LAUNCH_SIZE


def run_ticket(phase: int, bases: int, ticket: int) -> None:
    granule = peek(phase + PHASE_GRANULE)
    first = ticket * granule
    run_chunks(phase, bases, first, min(first + granule, peek(phase + PHASE_CHUNKS)))


def wake(pool: int) -> None:
    mutex = peek(pool + POOL_SLEEP_MUTEX)
    invoke(peek(pool + POOL_MUTEX_LOCK), mutex)
    poke(pool + POOL_WAKE, peek(pool + POOL_WAKE) + 1)
    invoke(peek(pool + POOL_CONDITION_BROADCAST), peek(pool + POOL_CONDITION))
    invoke(peek(pool + POOL_MUTEX_UNLOCK), mutex)


def run_parallel(pool: int, phase: int, bases: int, limit: int, may_wake: int) -> None:
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
            invoke(peek(pool + POOL_YIELD))


def turn(row: int, bases: int) -> int:
    """
    Begin a loop, end one of its iterations, or jump; gives the row behind which the next phase stands.

    Only between phases, while no thread looks at arguments, and with the run lock. What a loop has added to an offset
    is kept beside it, so that a run that was left in the middle of a loop leaves nothing to be undone.
    """
    if peek(row + TURN_KIND) >= TURN_JUMP:
        if peek(row + TURN_KIND) == TURN_JUMP_UNLESS:
            predicate = peek(row + TURN_PREDICATE)
            if peek8(peek(bases + 8 * peek(predicate)) + peek(predicate + 8)) != 0:
                return row
        return peek(row + TURN_TARGET) - PHASE_SIZE
    loop = peek(row + TURN_LOOP)
    patch = peek(loop + LOOP_PATCHES)
    end = peek(loop + LOOP_PATCHES_END)
    begins = peek(row + TURN_KIND) == TURN_BEGIN
    left = peek(loop + LOOP_COUNT) if begins else peek(loop + LOOP_LEFT) - 1
    poke(loop + LOOP_LEFT, left)
    if left == 0:
        return row
    while patch < end:
        position = peek(patch + PATCH_POSITION)
        if begins:
            new = peek(patch + PATCH_START)
        elif position == peek(patch + PATCH_EDGE):
            new = peek(patch + PATCH_AFTER)
        else:
            new = position + peek(patch + PATCH_STEP)
        poke(patch + PATCH_POSITION, new)
        offset = peek(patch + PATCH_WORD)
        poke(offset, peek(offset) + new - position)
        patch += PATCH_SIZE
    return row if begins else peek(loop + LOOP_FIRST)


def walk(plan: int, bases: int) -> int:
    """Run every phase in order, as often as its loops say; gives how many. The caller holds the run lock."""
    pool = peek(plan + PLAN_POOL)
    phase = peek(plan + PLAN_PHASES)
    count = peek(plan + PLAN_PHASE_COUNT)
    end = phase + count * PHASE_SIZE
    limit = peek(plan + PLAN_THREADS) - 1
    alone = limit == 0 or peek(pool + POOL_WORKERS) == 0
    usual = peek(plan + PLAN_NS)
    may_wake = usual > WAKE_RUN_NS
    wake_again = usual > WAKE_PHASE_NS * peek(plan + PLAN_PHASE_RUNS)
    brief = peek(bases + BLOCK_BRIEF - BLOCK_BASES)
    deadline = 0
    runs = 0
    while phase < end:
        if peek(phase + PHASE_TICKETS) == 0:
            if brief != 0 and peek(phase + TURN_KIND) == TURN_JUMP_BACK:
                now = nanoseconds(pool, pool + POOL_TIME)
                if deadline == 0:
                    deadline = now + peek(plan + PLAN_LONG_NS)
                elif now > deadline and peek(bases + BLOCK_STATUS - BLOCK_BASES) == 0:
                    poke(bases + BLOCK_STATUS - BLOCK_BASES, TOO_LONG)
                    poke(plan + PLAN_NS, peek(plan + PLAN_LONG_NS))
            # where a check has failed, this takes too long, or is an interrupt, no loop goes on
            phase = turn(phase, bases) if peek(bases + BLOCK_STATUS - BLOCK_BASES) == 0 else end
        elif alone or peek(phase + PHASE_TICKETS) == 1:
            run_chunks(phase, bases, 0, peek(phase + PHASE_CHUNKS))
            runs += 1
        else:
            run_parallel(pool, phase, bases, limit, may_wake)
            may_wake = wake_again
            runs += 1
        phase += PHASE_SIZE
    return runs


def execute(plan: int, block: int) -> None:
    """One run with its copies; the caller holds the run lock."""
    pool = peek(plan + PLAN_POOL)
    # a library built with fast-math may have made this thread, and not the workers, flush denormals to zero
    save_float_state(pool + POOL_TIME)
    modes = peek(pool + POOL_TIME)
    if modes & FLOAT_MODES != STRICT:
        poke(pool + POOL_TIME, STRICT)
        load_float_state(pool + POOL_TIME)
    runs = peek(plan + PLAN_RUNS)
    poke(plan + PLAN_RUNS, runs + 1)
    timed = runs & 15 < 2
    start = nanoseconds(pool, pool + POOL_TIME) if timed else 0
    set_threads = peek(plan + PLAN_SET_BLAS_THREADS)
    threads = 1
    if set_threads:
        threads = invoke_int(peek(plan + PLAN_GET_BLAS_THREADS))
        if threads != 1:
            invoke(set_threads, 1)
    phases = walk(plan, block + BLOCK_BASES)
    if threads != 1:
        invoke(set_threads, threads)
    copy = block + peek(plan + PLAN_COPIES)
    copies = peek(block + BLOCK_COPY_COUNT) if peek(block + BLOCK_STATUS) == 0 else 0
    for _ in range(copies):
        invoke(peek(pool + POOL_MEMCPY), peek(copy), peek(copy + 8), peek(copy + 16))
        copy += COPY_SIZE
    if timed:
        poke(plan + PLAN_NS, nanoseconds(pool, pool + POOL_TIME) - start)
        poke(plan + PLAN_PHASE_RUNS, phases)
    if modes & FLOAT_MODES != STRICT:
        poke(pool + POOL_TIME, modes)
        load_float_state(pool + POOL_TIME)


def rlx_run(plan: int, block: int) -> None:
    """One run, for a caller that has released the interpreter lock."""
    pool = peek(plan + PLAN_POOL)
    invoke(peek(pool + POOL_MUTEX_LOCK), peek(pool + POOL_RUN_MUTEX))
    execute(plan, block)
    invoke(peek(pool + POOL_MUTEX_UNLOCK), peek(pool + POOL_RUN_MUTEX))


def available(pool: int, worker: int) -> bool:
    ticket = atomic_peek(pool + POOL_TICKET)
    return (ticket >> 16) & MAX_TICKETS < ticket & MAX_TICKETS and worker < atomic_peek(pool + POOL_LIMIT)


def sleep(pool: int, worker: int) -> None:
    mutex = peek(pool + POOL_SLEEP_MUTEX)
    invoke(peek(pool + POOL_MUTEX_LOCK), mutex)
    # published before the last look for work: who publishes work looks for sleepers afterwards
    atomic_add(pool + POOL_SLEEPERS, 1)
    seen = peek(pool + POOL_WAKE)
    while atomic_peek(pool + POOL_WAKE) == seen and not available(pool, worker):
        invoke(peek(pool + POOL_CONDITION_WAIT), peek(pool + POOL_CONDITION), mutex)
    atomic_add(pool + POOL_SLEEPERS, -1)
    invoke(peek(pool + POOL_MUTEX_UNLOCK), mutex)


def rlx_work(pool: int) -> int:
    """The life of a worker thread; it ends with the process."""
    block_signals = 0
    # Python's signal handlers belong to Python's threads: a signal taken here would not interrupt the main thread
    invoke(peek(pool + POOL_SIGMASK), block_signals, peek(pool + POOL_ALL_SIGNALS), 0)
    worker = atomic_add(pool + POOL_NEXT_WORKER, 1)
    from_top = worker & 1 == 0
    time = invoke(peek(pool + POOL_MALLOC), 16)
    poke(time, STRICT)
    load_float_state(time)
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
            idle_since = nanoseconds(pool, time)
        elif spins & 63 == 0:
            if nanoseconds(pool, time) - idle_since > peek(pool + POOL_SPIN_NS):
                sleep(pool, worker)
                spins = 0
            else:
                invoke(peek(pool + POOL_YIELD))
    return 0


def usable(pool: int, spec: int, value: int, flags: int) -> int:
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


def place(pool: int, specs: int, count: int, slots: int, index: int, value: int) -> bool:
    """Put an argument's address in its slot; gives whether it can be used as it is."""
    data = usable(pool, specs + index * SPEC_SIZE, value, FLAGS_READABLE)
    poke(slots + 8 * index, data)
    return data != 0


def find(pool: int, specs: int, count: int, first: int, name: int) -> int:
    """The position of a name, looked for from `first` on, or -1."""
    # names come in the order of the signature, and are the very same objects, more often than not
    for index in range(first, count):
        if peek(specs + index * SPEC_SIZE + SPEC_NAME) == name:
            return index
    for index in range(count):
        if invoke_int(peek(pool + POOL_COMPARE_STRINGS), peek(specs + index * SPEC_SIZE + SPEC_NAME), name) == 0:
            return index
    return -1


def bind(plan: int, block: int, args: int, positional: int, names: int) -> int:
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


def overlaps(plan: int, slots: int, last: int, data: int, size: int) -> bool:
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


def new_array(pool: int, spec: int) -> int:
    """An uninitialised array for an output, over memory that only the plan refers to, or over new memory."""
    kept = peek(spec + SPEC_KEPT)
    memory = 0
    data = 0
    flags = 0
    if kept:
        for index in range(KEPT_COUNT):
            owner = peek(kept + KEPT_SIZE * index)
            if memory == 0 and peek32(owner + OBJECT_REFERENCES) == 1:
                memory = owner
                data = peek(kept + KEPT_SIZE * index + 8)
                flags = FLAGS_WRITABLE
    dtype = peek(spec + SPEC_DTYPE)
    # the constructor takes over a reference to the dtype
    invoke(peek(pool + POOL_INCREF), dtype)
    shape = peek(spec + SPEC_SHAPE)
    array_type = peek(pool + POOL_ARRAY_TYPE)
    rank = peek(spec + SPEC_RANK)
    value = invoke(peek(pool + POOL_NEW_ARRAY), array_type, dtype, rank, shape, 0, data, flags, 0)
    if value != 0 and memory != 0:
        # the result takes over a reference to its base
        invoke(peek(pool + POOL_INCREF), memory)
        invoke_int(peek(pool + POOL_SET_BASE), value, memory)
    return value


def bind_outputs(plan: int, block: int, result: int, out: int) -> int:
    """Fill the result tuple and the output slots; gives 1, 0 for the slow call, or -1 with an exception set."""
    pool = peek(plan + PLAN_POOL)
    count = peek(plan + PLAN_OUTPUT_COUNT)
    specs = peek(plan + PLAN_OUTPUTS)
    slots = block + BLOCK_FIRST_BUFFER
    outputs = slots + 8 * peek(plan + PLAN_ARGUMENT_COUNT)
    given = out != 0 and out != peek(pool + POOL_NONE)
    if given and (peek(out + OBJECT_TYPE) != peek(pool + POOL_TUPLE_TYPE) or peek(out + TUPLE_LENGTH) != count):
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
        invoke(peek(pool + POOL_INCREF), value)
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


def run_from_python(plan: int, block: int) -> None:
    """One run by a thread that holds the interpreter lock, which it never waits for while it holds the run lock."""
    pool = peek(plan + PLAN_POOL)
    mutex = peek(pool + POOL_RUN_MUTEX)
    state = 0
    if peek(plan + PLAN_NS) > KEEP_GIL_NS:
        state = invoke(peek(pool + POOL_SAVE_THREAD))
    if invoke_int(peek(pool + POOL_MUTEX_TRYLOCK), mutex) != 0:
        if state == 0:
            state = invoke(peek(pool + POOL_SAVE_THREAD))
        invoke(peek(pool + POOL_MUTEX_LOCK), mutex)
    execute(plan, block)
    invoke(peek(pool + POOL_MUTEX_UNLOCK), mutex)
    if state != 0:
        invoke(peek(pool + POOL_RESTORE_THREAD), state)


def report(plan: int, block: int) -> None:
    """Set the exception of the check that failed: the plan's callable, which raises it, gets both words as numbers."""
    pool = peek(plan + PLAN_POOL)
    pair = block + BLOCK_STATUS
    message = invoke(peek(pool + POOL_NEW_INT), peek(pair))
    value = invoke(peek(pool + POOL_NEW_INT), peek(pair + 8))
    poke(pair, message)
    poke(pair + 8, value)
    if message != 0 and value != 0:
        invoke(peek(pool + POOL_VECTORCALL), peek(plan + PLAN_REPORT), pair, 2, 0)
    invoke(peek(pool + POOL_DECREF), message)
    invoke(peek(pool + POOL_DECREF), value)


def rlx_call(self: int, args: int, positional: int, names: int) -> int:
    """
    `METH_FASTCALL | METH_KEYWORDS` function of a compiled graph; `self` is the array that holds the plan.

    It serves calls whose arguments can all be used as they are, of programs that end soon. Any other call, and a run
    that does not end soon, goes to the plan's Python callable, which converts or says what is wrong, and lets signals
    interrupt a run.
    """
    plan = peek(self + ARRAY_DATA)
    pool = peek(plan + PLAN_POOL)
    block = invoke(peek(pool + POOL_MALLOC), peek(plan + PLAN_BLOCK_SIZE))
    invoke(peek(pool + POOL_MEMCPY), block, peek(plan + PLAN_TEMPLATE), peek(plan + PLAN_COPIES))
    status = 0
    result = 0
    brief = peek(plan + PLAN_NS) < peek(plan + PLAN_LONG_NS)
    if brief and (peek(plan + PLAN_PARALLEL) == 0 or peek(pool + POOL_WORKERS) >= peek(plan + PLAN_THREADS) - 1):
        out = bind(plan, block, args, positional, names)
        if out != -1:
            result = invoke(peek(pool + POOL_NEW_TUPLE), peek(plan + PLAN_OUTPUT_COUNT))
            status = -1
            if result != 0:
                status = bind_outputs(plan, block, result, out)
    failed = False
    if status == 1:
        poke(block + BLOCK_BRIEF, 1)
        run_from_python(plan, block)
        failed = peek(block + BLOCK_STATUS) != 0
    if failed and peek(block + BLOCK_STATUS) == TOO_LONG:
        status = 0
        failed = False
    if result != 0 and (failed or status != 1):
        invoke(peek(pool + POOL_DECREF), result)
        result = 0
    if failed:
        report(plan, block)
    invoke(peek(pool + POOL_FREE), block)
    if status == 0:
        return invoke(peek(pool + POOL_VECTORCALL), peek(plan + PLAN_SLOW_CALL), args, positional, names)
    return result
