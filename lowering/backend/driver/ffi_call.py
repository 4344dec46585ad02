"""The driver's handler for XLA: the C function that JAX programs call, in the Python that `words.py` compiles.
It puts the addresses of XLA's buffers into a call's block, and has the scheduler run the plan: nothing is copied."""

from xdsl_rlx.lowering.backend.driver.layout import (
    FFI_METADATA,
    FFI_VERSION,
    CallBlock,
    FfiBuffer,
    FfiExtension,
    FfiFrame,
    FfiMetadata,
    FfiTable,
    PlanTable,
    PoolTable,
)
from xdsl_rlx.lowering.backend.driver.primitives import invoke, peek, peek32, poke
from xdsl_rlx.lowering.backend.driver.scheduler import rlx_run


def point(slots: int, buffers: int, count: int) -> None:
    """Put the data addresses of XLA's buffers into slots."""
    for index in range(count):
        poke(slots + 8 * index, peek(peek(buffers + 8 * index) + FfiBuffer.DATA))


def rlx_ffi(table: int, frame: int) -> int:
    """
    `XLA_FFI_Handler` of a program, behind its table: gives 0 or the address of an error.

    Threads of XLA call it, without the interpreter lock. XLA has the results in memory of their own, or, where the
    program writes them over arguments, in that of these.
    """
    extension = peek(frame + FfiFrame.EXTENSION)
    if extension != 0 and peek32(extension + FfiExtension.KIND) == FFI_METADATA:
        poke(peek(extension + FfiExtension.METADATA) + FfiMetadata.VERSION, FFI_VERSION)
        return 0
    plan = peek(table + FfiTable.PLAN)
    pool = peek(plan + PlanTable.POOL)
    block = invoke(peek(pool + PoolTable.MALLOC), peek(plan + PlanTable.BLOCK_SIZE))
    invoke(peek(pool + PoolTable.MEMCPY), block, peek(plan + PlanTable.TEMPLATE), peek(plan + PlanTable.COPIES))
    slots = block + CallBlock.BUFFERS
    point(slots, peek(frame + FfiFrame.ARGUMENTS), peek(frame + FfiFrame.ARGUMENT_COUNT))
    outputs = slots + 8 * peek(plan + PlanTable.ARGUMENT_COUNT)
    point(outputs, peek(frame + FfiFrame.RESULTS), peek(plan + PlanTable.OUTPUT_COUNT))
    rlx_run(plan, block)
    error = 0
    if peek(block + CallBlock.STATUS) != 0:
        status = block + CallBlock.STATUS
        error = invoke(peek(table + FfiTable.REPORT), frame, peek(status), peek(status + 8))
    elif peek(table + FfiTable.CHECK) != 0:
        error = invoke(peek(table + FfiTable.CHECK), frame)
    invoke(peek(pool + PoolTable.FREE), block)
    return error
