"""The driver's fast call: the C function that Python calls, in the Python that `words.py` compiles.
It reads arguments, allocates results and has the scheduler run the plan; what it cannot serve goes to the slow call."""

from xdsl_rlx.lowering.backend.driver.layout import (
    FLAGS_WRITABLE,
    KEPT_COUNT,
    TOO_LONG,
    CallBlock,
    CopyRow,
    KeptRow,
    NumpyArray,
    PlanTable,
    PoolTable,
    PythonObject,
    PythonTuple,
    SpecRow,
)
from xdsl_rlx.lowering.backend.driver.primitives import invoke, invoke_int, peek, peek32, poke
from xdsl_rlx.lowering.backend.driver.scheduler import execute

KEEP_GIL_NS = 20_000
"""A shorter run keeps the interpreter lock: another Python thread would hold it for milliseconds."""


def usable(pool: int, spec: int, value: int) -> int:
    """The data address of an array that can be used as it is, else 0."""
    if peek(value + PythonObject.TYPE) != peek(pool + PoolTable.ARRAY_TYPE):
        return 0
    flags = peek(spec + SpecRow.FLAGS)
    if (
        peek(value + NumpyArray.DTYPE) != peek(spec + SpecRow.DTYPE)
        or peek32(value + NumpyArray.FLAGS) & flags != flags
    ):
        return 0
    rank = peek(spec + SpecRow.RANK)
    if peek32(value + NumpyArray.RANK) != rank:
        return 0
    shape = peek(value + NumpyArray.SHAPE)
    expected = peek(spec + SpecRow.SHAPE)
    for axis in range(rank):
        if peek(shape + 8 * axis) != peek(expected + 8 * axis):
            return 0
    return peek(value + NumpyArray.DATA)


def place(pool: int, specs: int, count: int, slots: int, index: int, value: int) -> bool:
    """Put an argument's address in its slot; gives whether it can be used as it is."""
    data = usable(pool, specs + index * SpecRow.size, value)
    poke(slots + 8 * index, data)
    return data != 0


def find(pool: int, specs: int, count: int, first: int, name: int) -> int:
    """The position of a name, looked for from `first` on, or -1."""
    # names come in the order of the signature, and are the very same objects, more often than not
    for index in range(first, count):
        if peek(specs + index * SpecRow.size + SpecRow.NAME) == name:
            return index
    for index in range(count):
        if (
            invoke_int(peek(pool + PoolTable.COMPARE_STRINGS), peek(specs + index * SpecRow.size + SpecRow.NAME), name)
            == 0
        ):
            return index
    return -1


def bind(plan: int, block: int, args: int, positional: int, names: int) -> int:
    """Fill a block's slots from a call's arguments; gives the `out` object, 0 without one, or -1 for the slow call."""
    pool = peek(plan + PlanTable.POOL)
    specs = peek(plan + PlanTable.ARGUMENTS)
    count = peek(plan + PlanTable.ARGUMENT_COUNT)
    slots = block + CallBlock.BUFFERS
    out = 0
    if positional > count:
        return -1
    for index in range(positional):
        if not place(pool, specs, count, slots, index, peek(args + 8 * index)):
            return -1
    if names:
        cursor = positional
        for keyword in range(peek(names + PythonTuple.LENGTH)):
            name = peek(names + PythonTuple.ITEMS + 8 * keyword)
            value = peek(args + 8 * (positional + keyword))
            if name == peek(pool + PoolTable.OUT_NAME):
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


def sort_by_address(plan: int, slots: int) -> None:
    """
    Sort the numbers of arguments and outputs by their addresses: a merge sort from the bottom up.

    It begins with the order of the call before, and so takes one comparison a buffer where the same ones come again.
    """
    order = peek(plan + PlanTable.ORDER)
    count = peek(plan + PlanTable.ARGUMENT_COUNT) + peek(plan + PlanTable.OUTPUT_COUNT)
    width = 1
    while width < count:
        start = 0
        while start + width < count:
            middle = order + 8 * (start + width)
            if peek(slots + 8 * peek(middle - 8)) > peek(slots + 8 * peek(middle)):
                merge(plan, slots, start, start + width, min(start + 2 * width, count))
            start = start + 2 * width
        width = 2 * width


def merge(plan: int, slots: int, start: int, middle: int, end: int) -> None:
    """Merge two sorted parts of the order, which lie next to each other."""
    order = peek(plan + PlanTable.ORDER)
    scratch = peek(plan + PlanTable.SCRATCH)
    for index in range(start, middle):
        poke(scratch + 8 * index, peek(order + 8 * index))
    left = start
    right = middle
    target = start
    while left < middle:
        first = peek(scratch + 8 * left)
        second = peek(order + 8 * right) if right < end else first
        if peek(slots + 8 * second) < peek(slots + 8 * first):
            poke(order + 8 * target, second)
            right = right + 1
        else:
            poke(order + 8 * target, first)
            left = left + 1
        target = target + 1


def copy_at_end(plan: int, block: int, number: int, copies: int) -> bool:
    """Have an output computed aside, and copied behind `copies` others; False without memory for that yet."""
    aside = peek(plan + PlanTable.ASIDE)
    if aside == 0:
        return False
    spec = peek(plan + PlanTable.OUTPUTS) + number * SpecRow.size
    slot = block + CallBlock.BUFFERS + 8 * (peek(plan + PlanTable.ARGUMENT_COUNT) + number)
    copy = block + peek(plan + PlanTable.COPIES) + CopyRow.size * copies
    poke(copy + CopyRow.TARGET, peek(slot))
    poke(copy + CopyRow.SOURCE, aside + peek(spec + SpecRow.ASIDE))
    poke(copy + CopyRow.BYTES, peek(spec + SpecRow.BYTES))
    poke(slot, aside + peek(spec + SpecRow.ASIDE))
    return True


def separate(plan: int, block: int) -> bool:
    """
    Have outputs in memory of arguments computed aside; False where only the slow call can serve, or explain.

    That is where outputs overlap each other, or an argument that is updated, and where such an argument overlaps
    another one. `overlaps.py` is the same in Python.
    """
    slots = block + CallBlock.BUFFERS
    count = peek(plan + PlanTable.ARGUMENT_COUNT)
    total = count + peek(plan + PlanTable.OUTPUT_COUNT)
    order = peek(plan + PlanTable.ORDER)
    sort_by_address(plan, slots)
    copies = 0
    # where what begins before ends: arguments that are read, those that are updated, and outputs
    read = 0
    updated = 0
    written = 0
    last = -1
    for position in range(total):
        index = peek(order + 8 * position)
        specs = peek(plan + PlanTable.ARGUMENTS) if index < count else peek(plan + PlanTable.OUTPUTS)
        spec = specs + SpecRow.size * (index if index < count else index - count)
        begin = peek(slots + 8 * index)
        size = peek(spec + SpecRow.BYTES)
        if size == 0:
            continue
        aside = -1
        if begin < updated:
            return False
        if index >= count:
            if begin < written:
                return False
            aside = index - count if begin < read else -1
            last = -1 if begin < read else index - count
            written = begin + size
        elif peek(spec + SpecRow.FLAGS) == FLAGS_WRITABLE:
            if (begin < read) | (begin < written):
                return False
            updated = begin + size
        else:
            # outputs do not overlap: none but the last one reaches as far
            aside = last if begin < written else -1
            last = -1 if begin < written else last
            read = max(read, begin + size)
        if aside >= 0:
            if not copy_at_end(plan, block, aside, copies):
                return False
            copies += 1
    poke(block + CallBlock.COPY_COUNT, copies)
    return True


def new_array(pool: int, spec: int) -> int:
    """An uninitialised array for an output, over memory that only the plan refers to, or over new memory."""
    kept = peek(spec + SpecRow.KEPT)
    memory = 0
    data = 0
    flags = 0
    if kept:
        for index in range(KEPT_COUNT):
            row = kept + KeptRow.size * index
            owner = peek(row + KeptRow.OWNER)
            if memory == 0 and peek32(owner + PythonObject.REFERENCES) == 1:
                memory = owner
                data = peek(row + KeptRow.START)
                flags = FLAGS_WRITABLE
    dtype = peek(spec + SpecRow.DTYPE)
    # the constructor takes over a reference to the dtype
    invoke(peek(pool + PoolTable.INCREF), dtype)
    shape = peek(spec + SpecRow.SHAPE)
    array_type = peek(pool + PoolTable.ARRAY_TYPE)
    rank = peek(spec + SpecRow.RANK)
    value = invoke(peek(pool + PoolTable.NEW_ARRAY), array_type, dtype, rank, shape, 0, data, flags, 0)
    if value != 0 and memory != 0:
        # the result takes over a reference to its base
        invoke(peek(pool + PoolTable.INCREF), memory)
        invoke_int(peek(pool + PoolTable.SET_BASE), value, memory)
    return value


def bind_outputs(plan: int, block: int, result: int, out: int) -> int:
    """Fill the result tuple and the output slots; gives 1, 0 for the slow call, or -1 with an exception set."""
    pool = peek(plan + PlanTable.POOL)
    count = peek(plan + PlanTable.OUTPUT_COUNT)
    specs = peek(plan + PlanTable.OUTPUTS)
    slots = block + CallBlock.BUFFERS
    outputs = slots + 8 * peek(plan + PlanTable.ARGUMENT_COUNT)
    given = out != 0 and out != peek(pool + PoolTable.NONE)
    if given and (
        peek(out + PythonObject.TYPE) != peek(pool + PoolTable.TUPLE_TYPE) or peek(out + PythonTuple.LENGTH) != count
    ):
        return 0
    for index in range(count):
        spec = specs + index * SpecRow.size
        value = peek(out + PythonTuple.ITEMS + 8 * index) if given else peek(pool + PoolTable.NONE)
        if value == peek(pool + PoolTable.NONE):
            value = new_array(pool, spec)
            if value == 0:
                return -1
            poke(result + PythonTuple.ITEMS + 8 * index, value)
            poke(outputs + 8 * index, peek(value + NumpyArray.DATA))
            continue
        data = usable(pool, spec, value)
        if data == 0:
            return 0
        invoke(peek(pool + PoolTable.INCREF), value)
        poke(result + PythonTuple.ITEMS + 8 * index, value)
        poke(outputs + 8 * index, data)
    # new arrays, and arguments that are only read, need no look
    if given or peek(plan + PlanTable.UPDATED_COUNT) != 0:
        return 1 if separate(plan, block) else 0
    return 1


def run_from_python(plan: int, block: int) -> None:
    """One run by a thread that holds the interpreter lock, which it never waits for while it holds the run lock."""
    pool = peek(plan + PlanTable.POOL)
    mutex = peek(pool + PoolTable.RUN_MUTEX)
    state = 0
    if peek(plan + PlanTable.NS) > KEEP_GIL_NS:
        state = invoke(peek(pool + PoolTable.SAVE_THREAD))
    if invoke_int(peek(pool + PoolTable.MUTEX_TRYLOCK), mutex) != 0:
        if state == 0:
            state = invoke(peek(pool + PoolTable.SAVE_THREAD))
        invoke(peek(pool + PoolTable.MUTEX_LOCK), mutex)
    execute(plan, block)
    invoke(peek(pool + PoolTable.MUTEX_UNLOCK), mutex)
    if state != 0:
        invoke(peek(pool + PoolTable.RESTORE_THREAD), state)


def report(plan: int, block: int) -> None:
    """Set the exception of the check that failed: the plan's callable, which raises it, gets both words as numbers."""
    pool = peek(plan + PlanTable.POOL)
    pair = block + CallBlock.STATUS
    message = invoke(peek(pool + PoolTable.NEW_INT), peek(pair))
    value = invoke(peek(pool + PoolTable.NEW_INT), peek(pair + 8))
    poke(pair, message)
    poke(pair + 8, value)
    if message != 0 and value != 0:
        invoke(peek(pool + PoolTable.VECTORCALL), peek(plan + PlanTable.REPORT), pair, 2, 0)
    invoke(peek(pool + PoolTable.DECREF), message)
    invoke(peek(pool + PoolTable.DECREF), value)


def serve(plan: int, args: int, positional: int, names: int, exact: int) -> int:
    """
    Serve a call whose arguments can all be used as they are, of a program that ends soon; gives its results.

    Any other call, and a run that does not end soon, goes to the plan's Python callable, which converts or says what is
    wrong, and lets signals interrupt a run. An `exact` call gives None instead where an argument has to be converted.
    """
    pool = peek(plan + PlanTable.POOL)
    block = invoke(peek(pool + PoolTable.MALLOC), peek(plan + PlanTable.BLOCK_SIZE))
    invoke(peek(pool + PoolTable.MEMCPY), block, peek(plan + PlanTable.TEMPLATE), peek(plan + PlanTable.COPIES))
    status = 0
    result = 0
    out = -1
    brief = (peek(plan + PlanTable.NS) < peek(plan + PlanTable.LONG_NS)) & (
        (peek(plan + PlanTable.PARALLEL) == 0) | (peek(pool + PoolTable.WORKERS) >= peek(plan + PlanTable.THREADS) - 1)
    )
    if brief | (exact != 0):
        out = bind(plan, block, args, positional, names)
    if brief and out != -1:
        result = invoke(peek(pool + PoolTable.NEW_TUPLE), peek(plan + PlanTable.OUTPUT_COUNT))
        status = -1
        if result != 0:
            status = bind_outputs(plan, block, result, out)
    failed = False
    if status == 1:
        poke(block + CallBlock.BRIEF, 1)
        run_from_python(plan, block)
        failed = peek(block + CallBlock.STATUS) != 0
    if failed and peek(block + CallBlock.STATUS) == TOO_LONG:
        status = 0
        failed = False
    if result != 0 and (failed or status != 1):
        invoke(peek(pool + PoolTable.DECREF), result)
        result = 0
    if failed:
        report(plan, block)
    invoke(peek(pool + PoolTable.FREE), block)
    if status == 0:
        if exact != 0 and out == -1:
            none = peek(pool + PoolTable.NONE)
            invoke(peek(pool + PoolTable.INCREF), none)
            return none
        return invoke(peek(pool + PoolTable.VECTORCALL), peek(plan + PlanTable.SLOW_CALL), args, positional, names)
    return result


def rlx_call(self: int, args: int, positional: int, names: int) -> int:
    """`METH_FASTCALL | METH_KEYWORDS` function of a compiled graph; `self` is the array that holds the plan."""
    return serve(peek(self + NumpyArray.DATA), args, positional, names, 0)


def rlx_call_exact(self: int, args: int, positional: int) -> int:
    """`METH_FASTCALL` function, for arguments by position: None where one of them has to be converted."""
    return serve(peek(self + NumpyArray.DATA), args, positional, 0, 1)
