"""Which function of the library a `lir.call_function` calls."""

from __future__ import annotations

from xdsl.utils.exceptions import PassFailedException

from xdsl_rlx.dialects.lir import CallFunctionOp
from xdsl_rlx.dialects.lir.memory import memref_of
from xdsl_rlx.dialects.shapes import DTYPE_NAMES
from xdsl_rlx.lowering.kernel_library.called import CalledFunction
from xdsl_rlx.lowering.kernel_library.copies import COPIES
from xdsl_rlx.lowering.kernel_library.products import PRODUCTS
from xdsl_rlx.lowering.kernel_library.sorting import SORTS
from xdsl_rlx.lowering.kernel_library.tile_registers import RegisterBlockFunction

_KINDS = (*COPIES, *PRODUCTS, *SORTS, RegisterBlockFunction)


def function_of(name: str) -> CalledFunction | None:
    """Return the function of a name, None if no op can call such a one."""
    return next((found for kind in _KINDS if (found := kind.of(name)) is not None), None)


def called_function(op: CallFunctionOp) -> CalledFunction:
    """Return the function that an op calls. PassFailedException if there is none that has such arguments."""
    name = op.function.data
    if (found := function_of(name)) is None:
        raise PassFailedException(f"{op.name} calls {name!r}, which the library does not have")
    expected = found.WORDS, len(found.READS), len(found.WRITES)
    given = len(op.plan), len(op.reads), len(op.writes)
    if given != expected:
        raise PassFailedException(
            f"{op.name}: {name} takes {expected[0]} words, reads {expected[1]} buffers and writes {expected[2]}, got "
            f"{given[0]} words, {given[1]} and {given[2]}"
        )
    for buffer, expects in zip((*op.reads, *op.writes), found.elements.values(), strict=True):
        if (element := memref_of(buffer).element_type) != expects:
            names = DTYPE_NAMES[expects], DTYPE_NAMES.get(element, element)
            raise PassFailedException(f"{op.name}: {name} expected buffers of {names[0]}, got {names[1]}")
    return found
