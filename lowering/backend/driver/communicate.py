"""What kernels call to connect processes, in the Python that `words.py` compiles: collectives of MPI with a time limit.

The functions of MPI that begin a collective return at once; waiting asks whether it is done, so that a process whose
peer has died or hangs does not wait forever.
"""

from xdsl.dialects.builtin import i64

from xdsl_rlx.dialects.lir.collectives import Collective
from xdsl_rlx.lowering.backend.driver.collectives import COLLECTIVES, ELEMENTS
from xdsl_rlx.lowering.backend.driver.layout import MOST_REQUESTS, WORD, EngineTable
from xdsl_rlx.lowering.backend.driver.primitives import invoke, invoke_int, pause, peek, peek32, poke

GATHER, SCATTER, BROADCAST = map(COLLECTIVES.index, (Collective.GATHER, Collective.SCATTER, Collective.BROADCAST))
"""What does not reduce to all, beside `Collective.REDUCE`, which is behind them."""
TIMED_OUT = -1
STOPPED = -2
DIFFERENT = -3
"""The processes run different programs."""
I64, MIN = ELEMENTS.index(i64), COLLECTIVES.index(Collective.MIN)
MOST_ELEMENTS = 1 << 30
"""Of one call: MPI counts in 32 bits."""
SPINS_PER_LOOK = 64
"""How often a process asks before it looks at the clock: a power of two."""
SPINS_BEFORE_YIELD = 2_000


def engine_time(engine: int) -> int:
    """The monotonic clock in nanoseconds."""
    monotonic = 1
    invoke(peek(engine + EngineTable.CLOCK), monotonic, engine + EngineTable.TIME)
    return peek(engine + EngineTable.TIME) * 1_000_000_000 + peek(engine + EngineTable.TIME + 8)


def wait_for_peers(engine: int, request: int, status: int) -> int:
    """Wait for the collective of a request; gives 0, or why it did not end."""
    deadline = engine_time(engine) + peek(engine + EngineTable.TIMEOUT_NS)
    spins = 0
    while True:
        failed = invoke_int(
            peek(engine + EngineTable.TEST),
            request,
            engine + EngineTable.FLAG,
            engine + EngineTable.STATUS,
        )
        if failed != 0:
            return failed
        if peek32(engine + EngineTable.FLAG) != 0:
            return 0
        spins += 1
        if spins & (SPINS_PER_LOOK - 1) == 0:
            if peek(status) != 0:
                return STOPPED
            if engine_time(engine) > deadline:
                return TIMED_OUT
            if spins > SPINS_BEFORE_YIELD:
                invoke(peek(engine + EngineTable.YIELD))
        else:
            pause()
    return 0


def begin_comparison(engine: int) -> int:
    """Begin to compare the program of a run with those of the others, at its first collective; 0 or an error of MPI."""
    key = peek(engine + EngineTable.PROGRAM)
    if key == 0:
        return 0
    poke(engine + EngineTable.PROGRAM, 0)
    poke(engine + EngineTable.KEYS, key)
    poke(engine + EngineTable.KEYS + WORD, -1 - key)
    poke(engine + EngineTable.COMPARING, 1)
    keys = engine + EngineTable.KEYS
    return begin_all_reduce(engine, keys, keys, 2, I64, MIN, engine + EngineTable.KEYS_REQUEST)


def compare(engine: int, status: int) -> int:
    """Wait for the keys, if they are on their way; gives 0 if all are equal."""
    if peek(engine + EngineTable.COMPARING) == 0:
        return 0
    failed = wait_for_peers(engine, engine + EngineTable.KEYS_REQUEST, status)
    if failed == 0:
        poke(engine + EngineTable.COMPARING, 0)
        if peek(engine + EngineTable.KEYS) != -1 - peek(engine + EngineTable.KEYS + WORD):
            return DIFFERENT
    return failed


def compare_and_wait(engine: int, request: int, status: int) -> int:
    """Wait for a collective of programs that are equal; gives 0, or why it did not end."""
    failed = compare(engine, status)
    return wait_for_peers(engine, request, status) if failed == 0 else failed


def begin_all_reduce(engine: int, source: int, target: int, count: int, element: int, call: int, request: int) -> int:
    """Begin a reduction to all of at most `MOST_ELEMENTS`; gives 0 or an error of MPI."""
    return invoke_int(
        peek(engine + EngineTable.ALL_REDUCE),
        peek(engine + EngineTable.IN_PLACE) if source == target else source,
        target,
        count,
        peek(engine + EngineTable.TYPES + 8 * element),
        peek(engine + EngineTable.KINDS + 8 * call),
        peek(engine + EngineTable.COMM),
        request,
    )


def all_reduce(engine: int, source: int, target: int, count: int, element: int, call: int, status: int) -> int:
    """Reduce elements to all, in messages of at most `MOST_ELEMENTS`."""
    done = 0
    failed = 0
    request = engine + EngineTable.REQUEST
    while failed == 0 and done < count:
        most = min(count - done, MOST_ELEMENTS)
        offset = done * peek(engine + EngineTable.BYTES + 8 * element)
        failed = begin_all_reduce(engine, source + offset, target + offset, most, element, call, request)
        if failed == 0:
            failed = compare_and_wait(engine, request, status)
        done += most
    return failed


def begin_other(
    engine: int, source: int, target: int, count: int, element: int, call: int, root: int, request: int
) -> int:
    """Begin a collective that is no reduction to all; gives 0 or an error of MPI."""
    type = peek(engine + EngineTable.TYPES + 8 * element)
    total = peek(engine + EngineTable.KINDS)
    comm = peek(engine + EngineTable.COMM)
    bytes = count * peek(engine + EngineTable.BYTES + 8 * element)
    is_root = peek(engine + EngineTable.RANK) == root
    if call == GATHER:
        gather = peek(engine + EngineTable.GATHER)
        return invoke_int(gather, source, count, type, target, count, type, comm, request)
    if call == SCATTER:
        return invoke_int(peek(engine + EngineTable.SCATTER), source, target, count, type, total, comm, request)
    if call == BROADCAST:
        if is_root and source != target:
            invoke(peek(engine + EngineTable.MEMCPY), target, source, bytes)
        return invoke_int(peek(engine + EngineTable.BROADCAST), target, count, type, root, comm, request)
    if not is_root:
        invoke(peek(engine + EngineTable.MEMSET), target, 0, bytes)
    return invoke_int(peek(engine + EngineTable.REDUCE), source, target, count, type, total, root, comm, request)


def noted(engine: int, failed: int) -> int:
    """The result of a collective, of which a failure is kept: none is begun afterwards."""
    if failed != 0:
        poke(engine + EngineTable.FAILED, failed)
    return failed


def rlx_collective(
    engine: int, source: int, target: int, count: int, element: int, call: int, root: int, status: int
) -> int:
    """What a `lir.collective` calls; gives 0, an error of MPI, or why it did not end."""
    failed = peek(engine + EngineTable.FAILED)
    if failed == 0:
        failed = noted(engine, begin_comparison(engine))
    if failed != 0:
        return failed
    if call < GATHER:
        return noted(engine, all_reduce(engine, source, target, count, element, call, status))
    request = engine + EngineTable.REQUEST
    failed = begin_other(engine, source, target, count, element, call, root, request)
    if failed == 0:
        failed = compare_and_wait(engine, request, status)
    return noted(engine, failed)


def rlx_start(
    engine: int, source: int, target: int, request: int, count: int, element: int, call: int, root: int, status: int
) -> int:
    """What a `lir.collective_start` calls; leaves in `request` its number, from 1, or 0 if all is done."""
    failed = peek(engine + EngineTable.FAILED)
    if failed == 0:
        failed = noted(engine, begin_comparison(engine))
    if failed != 0:
        return failed
    free = 0
    while free < MOST_REQUESTS and peek(engine + EngineTable.STARTED + WORD * free) != 0:
        free += 1
    if free == MOST_REQUESTS or (call < GATHER and count > MOST_ELEMENTS):
        poke(request, 0)
        return rlx_collective(engine, source, target, count, element, call, root, status)
    handle = engine + EngineTable.REQUESTS + WORD * free
    if call < GATHER:
        failed = begin_all_reduce(engine, source, target, count, element, call, handle)
    else:
        failed = begin_other(engine, source, target, count, element, call, root, handle)
    if failed == 0:
        poke(engine + EngineTable.STARTED + WORD * free, 1)
    poke(request, free + 1)
    return noted(engine, failed)


def rlx_wait(engine: int, request: int, status: int) -> int:
    """What a `lir.collective_wait` calls; gives 0, an error of MPI, or why it did not end."""
    number = peek(request) - 1
    if number < 0:
        return noted(engine, compare(engine, status))
    failed = compare_and_wait(engine, engine + EngineTable.REQUESTS + WORD * number, status)
    if failed == 0:
        poke(engine + EngineTable.STARTED + WORD * number, 0)
    return noted(engine, failed)


def rlx_poll(engine: int, request: int, status: int) -> int:
    """What a `lir.collective_poll` calls; what has failed is found by who waits."""
    number = peek(request) - 1
    if number >= 0:
        handle = engine + EngineTable.REQUESTS + WORD * number
        test = peek(engine + EngineTable.TEST)
        return noted(engine, invoke_int(test, handle, engine + EngineTable.FLAG, engine + EngineTable.STATUS))
    return 0


def rlx_goes_on(engine: int, request: int, status: int) -> int:
    """What a `lir.collective_poll` calls where threads of an engine do the work."""
    return 0
