"""Calls of the engine that connects the processes: which function, and with which arguments."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import Operation, SSAValue

from xdsl_rlx.dialects.lir.collectives import (
    CallOp,
    CollectivePollOp,
    CollectiveStartOp,
    CollectiveWaitOp,
)
from xdsl_rlx.dialects.lir.memory import memref_of
from xdsl_rlx.lowering.backend.driver.collectives import (
    COLLECTIVES,
    ELEMENTS,
    ENGINE_CALL,
    ENGINE_POLL,
    ENGINE_START,
    ENGINE_WAIT,
)


def engine_call(op: Operation, names: Mapping[SSAValue, str]) -> tuple[int, str]:
    """Return where the function stands in the table of library functions, and its LLVM arguments."""
    if isinstance(op, CollectiveWaitOp | CollectivePollOp):
        entry = ENGINE_WAIT if isinstance(op, CollectiveWaitOp) else ENGINE_POLL
        return entry, f"ptr {names[op.request]}"
    assert isinstance(op, CallOp)
    element, call = ELEMENTS.index(memref_of(op.source).element_type), COLLECTIVES.index(op.call.data)
    buffers = [op.source, op.target]
    entry = ENGINE_CALL
    if isinstance(op, CollectiveStartOp):
        buffers.append(op.request)
        entry = ENGINE_START
    numbers = (op.elements, element, call, op.root.value.data)
    return entry, ", ".join([*(f"ptr {names[x]}" for x in buffers), *(f"i64 {x}" for x in numbers)])
