"""The driver's scheduler: launch walker and worker loop, in the Python that `words.py` compiles.
Memory is addressed as 64-bit words, so that the machine code holds no address; who fills the words is in `process.py`.

Numba's front end takes 4 s for the driver, longer than a whole model may take to compile; this takes 0.4 s, once.
"""

from xdsl_rlx.lowering.backend.driver.layout import (
    MAX_TICKETS,
    TOO_LONG,
    TURN_BEGIN,
    TURN_JUMP,
    TURN_JUMP_BACK,
    TURN_JUMP_UNLESS,
    WORD,
    ArgumentRow,
    CallBlock,
    CopyRow,
    EngineTable,
    LaunchRow,
    LoopRow,
    PatchRow,
    PhaseRow,
    PlanTable,
    PoolTable,
    TraceRow,
    TraceTable,
    TurnRow,
)
from xdsl_rlx.lowering.backend.driver.manifest import BASE_ARENA
from xdsl_rlx.lowering.backend.driver.primitives import (
    atomic_add,
    atomic_peek,
    atomic_poke,
    invoke,
    invoke_int,
    load_float_state,
    pause,
    peek,
    peek8,
    poke,
    save_float_state,
    swap_if,
)

WAKE_RUN_NS = 20_000
"""Sleeping workers are woken for a run that takes longer: waking costs several microseconds."""
WAKE_PHASE_NS = 10_000
"""The same for a later phase of a run, by the mean duration of its phases."""
SPINS_BEFORE_YIELD = 2_000
FLOAT_MODES = 0xFFC0
"""The bits of MXCSR that change results; the others only record what happened."""
STRICT = 0x1F80
"""MXCSR for IEEE 754: to nearest even, denormals kept, no traps."""


def nanoseconds(pool: int, buffer: int) -> int:
    """The monotonic clock, read through a buffer of two words."""
    monotonic = 1
    invoke(peek(pool + PoolTable.CLOCK), monotonic, buffer)
    return peek(buffer) * 1_000_000_000 + peek(buffer + 8)


def run_kernel(kernel: int, bases: int, row: int, low: int, high: int) -> int:
    """The iterations [low, high) of a kernel, whose arguments begin with a row: a base's number, and an offset."""
    count = peek(row - WORD)
    if count == 0:
        return invoke(kernel, bases, row, low, high)
    a = peek(bases + WORD * peek(row)) + peek(row + WORD)
    if count == 1:
        return invoke(kernel, bases, a, low, high)
    b = peek(bases + WORD * peek(row + 2 * WORD)) + peek(row + 3 * WORD)
    if count == 2:
        return invoke(kernel, bases, a, b, low, high)
    c = peek(bases + WORD * peek(row + 4 * WORD)) + peek(row + 5 * WORD)
    if count == 3:
        return invoke(kernel, bases, a, b, c, low, high)
    d = peek(bases + WORD * peek(row + 6 * WORD)) + peek(row + 7 * WORD)
    if count == 4:
        return invoke(kernel, bases, a, b, c, d, low, high)
    e = peek(bases + WORD * peek(row + 8 * WORD)) + peek(row + 9 * WORD)
    if count == 5:
        return invoke(kernel, bases, a, b, c, d, e, low, high)
    f = peek(bases + WORD * peek(row + 10 * WORD)) + peek(row + 11 * WORD)
    if count == 6:
        return invoke(kernel, bases, a, b, c, d, e, f, low, high)
    g = peek(bases + WORD * peek(row + 12 * WORD)) + peek(row + 13 * WORD)
    if count == 7:
        return invoke(kernel, bases, a, b, c, d, e, f, g, low, high)
    h = peek(bases + WORD * peek(row + 14 * WORD)) + peek(row + 15 * WORD)
    if count == 8:
        return invoke(kernel, bases, a, b, c, d, e, f, g, h, low, high)
    i = peek(bases + WORD * peek(row + 16 * WORD)) + peek(row + 17 * WORD)
    if count == 9:
        return invoke(kernel, bases, a, b, c, d, e, f, g, h, i, low, high)
    j = peek(bases + WORD * peek(row + 18 * WORD)) + peek(row + 19 * WORD)
    if count == 10:
        return invoke(kernel, bases, a, b, c, d, e, f, g, h, i, j, low, high)
    k = peek(bases + WORD * peek(row + 20 * WORD)) + peek(row + 21 * WORD)
    if count == 11:
        return invoke(kernel, bases, a, b, c, d, e, f, g, h, i, j, k, low, high)
    m = peek(bases + WORD * peek(row + 22 * WORD)) + peek(row + 23 * WORD)
    return invoke(kernel, bases, a, b, c, d, e, f, g, h, i, j, k, m, low, high)


def run_traced(launch: int, bases: int, chunk: int, thread: int, trace: int) -> None:
    """One chunk of a launch, and when it was."""
    index = atomic_add(trace + TraceTable.COUNT, 1)
    row = trace + TraceTable.size + TraceRow.size * min(index, peek(trace + TraceTable.ROWS) - 1)
    monotonic = 1
    clock = peek(trace + TraceTable.CLOCK)
    poke(row + TraceRow.LAUNCH, launch)
    poke(row + TraceRow.CHUNK, chunk)
    poke(row + TraceRow.THREAD, thread)
    low = chunk * peek(launch + LaunchRow.CHUNK)
    high = min(low + peek(launch + LaunchRow.CHUNK), peek(launch + LaunchRow.EXTENT))
    invoke(clock, monotonic, row + TraceRow.BEGAN)
    run_kernel(peek(launch + LaunchRow.KERNEL), bases, peek(launch + LaunchRow.ARGUMENTS), low, high)
    invoke(clock, monotonic, row + TraceRow.ENDED)


def run_chunks(phase: int, bases: int, first: int, last: int, thread: int) -> None:
    """The chunks [first, last) of a phase, counted through its launches."""
    trace = peek(bases + CallBlock.TRACE - CallBlock.BASES)
    launch = peek(phase + PhaseRow.LAUNCH)
    start = first
    left = last - first
    # where a check has failed, nothing begins any more
    while left > 0 and peek(bases + CallBlock.STATUS - CallBlock.BASES) == 0:
        count = peek(launch + LaunchRow.CHUNKS)
        if start < count:
            kernel = peek(launch + LaunchRow.KERNEL)
            arguments = peek(launch + LaunchRow.ARGUMENTS)
            extent = peek(launch + LaunchRow.EXTENT)
            chunk = peek(launch + LaunchRow.CHUNK)
            stop = min(start + left, count)
            left -= stop - start
            while start < stop and peek(bases + CallBlock.STATUS - CallBlock.BASES) == 0:
                if trace != 0:
                    run_traced(launch, bases, start, thread, trace)
                else:
                    low = start * chunk
                    run_kernel(kernel, bases, arguments, low, min(low + chunk, extent))
                start += 1
        start -= count
        launch += LaunchRow.size


def run_ticket(phase: int, bases: int, ticket: int, thread: int) -> None:
    granule = peek(phase + PhaseRow.GRANULE)
    first = ticket * granule
    run_chunks(phase, bases, first, min(first + granule, peek(phase + PhaseRow.CHUNKS)), thread)


def wake(pool: int) -> None:
    mutex = peek(pool + PoolTable.SLEEP_MUTEX)
    invoke(peek(pool + PoolTable.MUTEX_LOCK), mutex)
    poke(pool + PoolTable.WAKE, peek(pool + PoolTable.WAKE) + 1)
    invoke(peek(pool + PoolTable.CONDITION_BROADCAST), peek(pool + PoolTable.CONDITION))
    invoke(peek(pool + PoolTable.MUTEX_UNLOCK), mutex)


def run_parallel(pool: int, phase: int, bases: int, limit: int, may_wake: int) -> None:
    """
    Publish a phase, work on it, wait until every ticket taken by a worker is done.

    A worker reads the phase only while it holds a ticket, and the phase cannot end before that ticket is done:
    so no worker must take part, and one that was asleep or lost its core never holds up a phase it has not joined.
    """
    tickets = peek(phase + PhaseRow.TICKETS)
    poke(pool + PoolTable.PHASE, phase)
    poke(pool + PoolTable.BASES, bases)
    atomic_poke(pool + PoolTable.LIMIT, limit)
    atomic_poke(pool + PoolTable.DONE, 0)
    epoch = (peek(pool + PoolTable.EPOCH) + 1) & 0x7FFFFFFF
    poke(pool + PoolTable.EPOCH, epoch)
    atomic_poke(pool + PoolTable.TICKET, (epoch << 32) | tickets)
    if may_wake and atomic_peek(pool + PoolTable.SLEEPERS) > 0:
        wake(pool)
    elsewhere = tickets
    while True:
        ticket = atomic_peek(pool + PoolTable.TICKET)
        low = (ticket >> 16) & MAX_TICKETS
        if low >= ticket & MAX_TICKETS:
            break
        if swap_if(pool + PoolTable.TICKET, ticket, ticket + 0x10000):
            run_ticket(phase, bases, low, 0)
            elsewhere -= 1
    spins = 0
    while atomic_peek(pool + PoolTable.DONE) != elsewhere:
        pause()
        spins += 1
        if spins > SPINS_BEFORE_YIELD:
            invoke(peek(pool + PoolTable.YIELD))


def turn(row: int, bases: int) -> int:
    """
    Begin a loop, end one of its iterations, or jump; gives the row behind which the next phase stands.

    Only between phases, while no thread looks at arguments, and with the run lock. What a loop has added to an offset
    is kept beside it, so that a run that was left in the middle of a loop leaves nothing to be undone.
    """
    if peek(row + TurnRow.KIND) >= TURN_JUMP:
        if peek(row + TurnRow.KIND) == TURN_JUMP_UNLESS:
            predicate = peek(row + TurnRow.ABOUT)
            pointer = peek(bases + 8 * peek(predicate + ArgumentRow.BASE))
            if peek8(pointer + peek(predicate + ArgumentRow.OFFSET)) != 0:
                return row
        return peek(row + TurnRow.TARGET) - PhaseRow.size
    loop = peek(row + TurnRow.ABOUT)
    patch = peek(loop + LoopRow.PATCHES)
    end = peek(loop + LoopRow.PATCHES_END)
    begins = peek(row + TurnRow.KIND) == TURN_BEGIN
    left = peek(loop + LoopRow.COUNT) if begins else peek(loop + LoopRow.LEFT) - 1
    poke(loop + LoopRow.LEFT, left)
    if left == 0:
        return row
    while patch < end:
        position = peek(patch + PatchRow.POSITION)
        if begins:
            new = peek(patch + PatchRow.START)
        elif position == peek(patch + PatchRow.EDGE):
            new = peek(patch + PatchRow.AFTER)
        else:
            new = position + peek(patch + PatchRow.STEP)
        poke(patch + PatchRow.POSITION, new)
        offset = peek(patch + PatchRow.OFFSET)
        poke(offset, peek(offset) + new - position)
        patch += PatchRow.size
    return row if begins else peek(loop + LoopRow.FIRST)


def run_alone(plan: int, phase: int, bases: int, blas_threads: int) -> None:
    """A phase on this thread; BLAS and LAPACK may have up to so many, which are the caller's while it runs."""
    blas_threads = min(blas_threads, peek(peek(phase + PhaseRow.LAUNCH) + LaunchRow.BLAS_THREADS))
    set_threads = peek(plan + PlanTable.SET_BLAS_THREADS)
    if blas_threads > 1:
        invoke(set_threads, blas_threads)
    run_chunks(phase, bases, 0, peek(phase + PhaseRow.CHUNKS), 0)
    if blas_threads > 1:
        invoke(set_threads, 1)


def walk(plan: int, bases: int, blas_threads: int) -> int:
    """
    Run every phase in order, as often as its loops say; gives how many. The caller holds the run lock.

    BLAS has one thread; it had `blas_threads` before.
    """
    pool = peek(plan + PlanTable.POOL)
    phase = peek(plan + PlanTable.PHASES)
    count = peek(plan + PlanTable.PHASE_COUNT)
    end = phase + count * PhaseRow.size
    limit = peek(plan + PlanTable.THREADS) - 1
    alone = limit == 0 or peek(pool + PoolTable.WORKERS) == 0
    usual = peek(plan + PlanTable.NS)
    blas_threads = min(blas_threads, limit + 1)
    may_wake = usual > WAKE_RUN_NS
    wake_again = usual > WAKE_PHASE_NS * peek(plan + PlanTable.PHASE_RUNS)
    brief = peek(bases + CallBlock.BRIEF - CallBlock.BASES)
    deadline = 0
    runs = 0
    while phase < end:
        if peek(phase + PhaseRow.TICKETS) == 0:
            if brief != 0 and peek(phase + TurnRow.KIND) == TURN_JUMP_BACK:
                now = nanoseconds(pool, pool + PoolTable.TIME)
                if deadline == 0:
                    deadline = now + peek(plan + PlanTable.LONG_NS)
                elif now > deadline and peek(bases + CallBlock.STATUS - CallBlock.BASES) == 0:
                    poke(bases + CallBlock.STATUS - CallBlock.BASES, TOO_LONG)
            # where a check has failed, this takes too long, or is an interrupt, no loop goes on
            phase = turn(phase, bases) if peek(bases + CallBlock.STATUS - CallBlock.BASES) == 0 else end
        elif alone or peek(phase + PhaseRow.TICKETS) == 1:
            run_alone(plan, phase, bases, blas_threads)
            runs += 1
        else:
            run_parallel(pool, phase, bases, limit, may_wake)
            may_wake = wake_again
            runs += 1
        phase += PhaseRow.size
    return runs


def execute(plan: int, block: int) -> None:
    """One run with its copies; the caller holds the run lock."""
    pool = peek(plan + PlanTable.POOL)
    poke(block + CallBlock.BASES + WORD * BASE_ARENA, peek(pool + PoolTable.ARENA))
    # a library built with fast-math may have made this thread, and not the workers, flush denormals to zero
    save_float_state(pool + PoolTable.TIME)
    modes = peek(pool + PoolTable.TIME)
    if modes & FLOAT_MODES != STRICT:
        poke(pool + PoolTable.TIME, STRICT)
        load_float_state(pool + PoolTable.TIME)
    runs = peek(plan + PlanTable.RUNS)
    poke(plan + PlanTable.RUNS, runs + 1)
    timed = runs & 15 < 2
    start = nanoseconds(pool, pool + PoolTable.TIME) if timed else 0
    set_threads = peek(plan + PlanTable.SET_BLAS_THREADS)
    threads = 1
    if set_threads:
        threads = invoke_int(peek(plan + PlanTable.GET_BLAS_THREADS))
        if threads != 1:
            invoke(set_threads, 1)
    engine = peek(plan + PlanTable.ENGINE)
    if engine != 0:
        poke(engine + EngineTable.PROGRAM, peek(plan + PlanTable.KEY))
    phases = walk(plan, block + CallBlock.BASES, threads)
    if threads != 1:
        invoke(set_threads, threads)
    copy = block + peek(plan + PlanTable.COPIES)
    copies = peek(block + CallBlock.COPY_COUNT) if peek(block + CallBlock.STATUS) == 0 else 0
    for _ in range(copies):
        target = peek(copy + CopyRow.TARGET)
        invoke(peek(pool + PoolTable.MEMCPY), target, peek(copy + CopyRow.SOURCE), peek(copy + CopyRow.BYTES))
        copy += CopyRow.size
    if timed:
        poke(plan + PlanTable.NS, nanoseconds(pool, pool + PoolTable.TIME) - start)
        poke(plan + PlanTable.PHASE_RUNS, phases)
    if peek(block + CallBlock.STATUS) == TOO_LONG and peek(plan + PlanTable.NS) < peek(plan + PlanTable.LONG_NS):
        poke(plan + PlanTable.NS, peek(plan + PlanTable.LONG_NS))
    if modes & FLOAT_MODES != STRICT:
        poke(pool + PoolTable.TIME, modes)
        load_float_state(pool + PoolTable.TIME)


def rlx_run(plan: int, block: int) -> None:
    """One run, for a caller that has released the interpreter lock."""
    pool = peek(plan + PlanTable.POOL)
    invoke(peek(pool + PoolTable.MUTEX_LOCK), peek(pool + PoolTable.RUN_MUTEX))
    execute(plan, block)
    invoke(peek(pool + PoolTable.MUTEX_UNLOCK), peek(pool + PoolTable.RUN_MUTEX))


def available(pool: int, worker: int) -> bool:
    ticket = atomic_peek(pool + PoolTable.TICKET)
    return (ticket >> 16) & MAX_TICKETS < ticket & MAX_TICKETS and worker < atomic_peek(pool + PoolTable.LIMIT)


def sleep(pool: int, worker: int) -> None:
    mutex = peek(pool + PoolTable.SLEEP_MUTEX)
    invoke(peek(pool + PoolTable.MUTEX_LOCK), mutex)
    # published before the last look for work: who publishes work looks for sleepers afterwards
    atomic_add(pool + PoolTable.SLEEPERS, 1)
    seen = peek(pool + PoolTable.WAKE)
    while atomic_peek(pool + PoolTable.WAKE) == seen and not available(pool, worker):
        invoke(peek(pool + PoolTable.CONDITION_WAIT), peek(pool + PoolTable.CONDITION), mutex)
    atomic_add(pool + PoolTable.SLEEPERS, -1)
    invoke(peek(pool + PoolTable.MUTEX_UNLOCK), mutex)


def rlx_work(pool: int) -> int:
    """The life of a worker thread; it ends with the process, or when the pool stops."""
    block_signals = 0
    # Python's signal handlers belong to Python's threads: a signal taken here would not interrupt the main thread
    invoke(peek(pool + PoolTable.SIGMASK), block_signals, peek(pool + PoolTable.ALL_SIGNALS), 0)
    worker = atomic_add(pool + PoolTable.NEXT_WORKER, 1)
    from_top = worker & 1 == 0
    time = invoke(peek(pool + PoolTable.MALLOC), 16)
    poke(time, STRICT)
    load_float_state(time)
    idle_since = 0
    spins = 0
    while True:
        ticket = atomic_peek(pool + PoolTable.TICKET)
        low = (ticket >> 16) & MAX_TICKETS
        high = ticket & MAX_TICKETS
        if low < high and worker < atomic_peek(pool + PoolTable.LIMIT):
            # the caller takes from the bottom, its neighbour from the top: phase after phase, each finds its own
            # part of the data in its cache
            mine = high - 1 if from_top else low
            if swap_if(pool + PoolTable.TICKET, ticket, ticket - 1 if from_top else ticket + 0x10000):
                run_ticket(peek(pool + PoolTable.PHASE), peek(pool + PoolTable.BASES), mine, worker + 1)
                atomic_add(pool + PoolTable.DONE, 1)
                spins = 0
            continue
        pause()
        spins += 1
        if spins == 1:
            idle_since = nanoseconds(pool, time)
        elif spins & 63 == 0:
            if atomic_peek(pool + PoolTable.STOP) != 0:
                invoke(peek(pool + PoolTable.FREE), time)
                return 0
            if nanoseconds(pool, time) - idle_since > peek(pool + PoolTable.SPIN_NS):
                sleep(pool, worker)
                spins = 0
            else:
                invoke(peek(pool + PoolTable.YIELD))
    return 0
