"""What kernels call to connect processes, in the Python that `words.py` compiles: collectives of MPI with a time limit.

The functions of MPI that begin a collective return at once; waiting asks whether it is done, so that a process whose
peer has died or hangs does not wait forever.
"""

from xdsl_rlx.dialects.lir.collectives import Collective
from xdsl_rlx.lowering.numba.driver.collectives import COLLECTIVES
from xdsl_rlx.lowering.numba.driver.layout import EngineTable
from xdsl_rlx.lowering.numba.driver.primitives import invoke, invoke_int, pause, peek, peek32, poke

GATHER, SCATTER, BROADCAST = map(COLLECTIVES.index, (Collective.GATHER, Collective.SCATTER, Collective.BROADCAST))
"""What does not reduce to all, beside `Collective.REDUCE`, which is behind them."""
TIMED_OUT = -1
STOPPED = -2
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


def wait_for_peers(engine: int, status: int) -> int:
    """Wait for the collective that has begun; gives 0, or why it did not end."""
    deadline = engine_time(engine) + peek(engine + EngineTable.TIMEOUT_NS)
    spins = 0
    while True:
        failed = invoke_int(
            peek(engine + EngineTable.TEST),
            engine + EngineTable.REQUEST,
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


def all_reduce(engine: int, source: int, target: int, count: int, element: int, call: int, status: int) -> int:
    """Reduce elements to all, in messages of at most `MOST_ELEMENTS`."""
    done = 0
    failed = 0
    while failed == 0 and done < count:
        most = min(count - done, MOST_ELEMENTS)
        offset = done * peek(engine + EngineTable.BYTES + 8 * element)
        failed = invoke_int(
            peek(engine + EngineTable.ALL_REDUCE),
            source + offset,
            target + offset,
            most,
            peek(engine + EngineTable.TYPES + 8 * element),
            peek(engine + EngineTable.KINDS + 8 * call),
            peek(engine + EngineTable.COMM),
            engine + EngineTable.REQUEST,
        )
        if failed == 0:
            failed = wait_for_peers(engine, status)
        done += most
    return failed


def begin_other(engine: int, source: int, target: int, count: int, element: int, call: int, root: int) -> int:
    """Begin a collective that is no reduction to all; gives 0 or an error of MPI."""
    type = peek(engine + EngineTable.TYPES + 8 * element)
    total = peek(engine + EngineTable.KINDS)
    comm = peek(engine + EngineTable.COMM)
    request = engine + EngineTable.REQUEST
    bytes = count * peek(engine + EngineTable.BYTES + 8 * element)
    is_root = peek(engine + EngineTable.RANK) == root
    if call == GATHER:
        gather = peek(engine + EngineTable.GATHER)
        return invoke_int(gather, source, count, type, target, count, type, comm, request)
    if call == SCATTER:
        return invoke_int(peek(engine + EngineTable.SCATTER), source, target, count, type, total, comm, request)
    if call == BROADCAST:
        if is_root:
            invoke(peek(engine + EngineTable.MEMCPY), target, source, bytes)
        return invoke_int(peek(engine + EngineTable.BROADCAST), target, count, type, root, comm, request)
    if not is_root:
        invoke(peek(engine + EngineTable.MEMSET), target, 0, bytes)
    return invoke_int(peek(engine + EngineTable.REDUCE), source, target, count, type, total, root, comm, request)


def rlx_collective(
    engine: int, source: int, target: int, count: int, element: int, call: int, root: int, status: int
) -> int:
    """What a `lir.collective` calls; gives 0, an error of MPI, or why it did not end."""
    if call < GATHER:
        failed = all_reduce(engine, source, target, count, element, call, status)
    else:
        failed = begin_other(engine, source, target, count, element, call, root)
        if failed == 0:
            failed = wait_for_peers(engine, status)
    if failed != 0:
        poke(engine + EngineTable.FAILED, failed)
    return failed
