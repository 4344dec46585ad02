"""Loops that are functions of their own: what they get, and which loops can be.
The lines of these functions are made as all others are, in `llvm_body.py`."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation, SSAValue

from xdsl_rlx.dialects.lir import LIBRARY_OPS, CallFunctionOp, CheckOp, DebugPrintOp, FftOp, PollOp
from xdsl_rlx.dialects.lir.collectives import NETWORK_OPS
from xdsl_rlx.dialects.lir.kernel import OUTLINE
from xdsl_rlx.dialects.lir.memory import byte_size, element_bytes, memref_of
from xdsl_rlx.dialects.walks import ops_within
from xdsl_rlx.lowering.backend.llvm.scalar_types import llvm_type
from xdsl_rlx.lowering.backend.machine.llvm import LIBRARY

FUNCTION = 'mustprogress noinline nounwind "frame-pointer"="all"'
"""
Attributes of a function that has loops.

With a frame pointer, LLVM aligns the stack of a function that keeps vectors there. Without one it is luck whether each
of these is in one cache line or in two: a tanh of 50,000 numbers took 22 or 31 us, by process.
"""

SMALL_BYTES = 1 << 12
"""Of a scratch buffer that is on the stack in any case, where LLVM may find that it fits in registers."""

_OF_THE_KERNEL = (*NETWORK_OPS, CallFunctionOp, CheckOp, DebugPrintOp, FftOp, PollOp, *LIBRARY_OPS)
"""Ops that need what only the kernel's function has: its status, the libraries, or tables."""


def is_apart(loop: scf.ForOp) -> bool:
    """Whether a loop is to be a function, and can be one."""
    return OUTLINE in loop.attributes and not any(type(op) in _OF_THE_KERNEL for op in ops_within(loop))


def is_within(value: SSAValue, loop: scf.ForOp) -> bool:
    """Whether a small buffer on the stack is used in a loop only, which finds nothing in it."""
    if not isinstance(value.owner, memref.AllocaOp) or OUTLINE not in value.owner.attributes:
        return False
    if byte_size(memref_of(value)) > SMALL_BYTES:
        return False
    return all(_is_inside(use.operation, loop) for use in value.uses)


def _is_inside(op: Operation | None, loop: scf.ForOp) -> bool:
    while op is not None and op is not loop:
        op = op.parent_op()
    return op is loop


def alignment(value: SSAValue) -> int:
    """Bytes of an element of a buffer."""
    return element_bytes(memref_of(value).element_type)


def buffer_parameter(value: SSAValue, name: str, written: bool) -> str:
    """A buffer as the parameter of a function: a pointer to memory that no other one points to."""
    return f"ptr noalias captures(none) {'' if written else 'readonly '}align {alignment(value)} {name}"


class Given(dict[SSAValue, str]):
    """
    The names of values in a loop's function. One from outside is a parameter once it is asked for, unless it is a
    number, or a buffer that only the loop uses.
    """

    def __init__(self, outside: Mapping[SSAValue, str], loop: scf.ForOp):
        super().__init__()
        self._outside, self._loop = outside, loop
        self.own: list[SSAValue] = []
        """The buffers that only the loop uses."""
        self._passed: dict[str, SSAValue] = {}
        """Values by their names outside."""

    def __missing__(self, value: SSAValue) -> str:
        if is_within(value, self._loop):
            name = f"%s{len(self.own)}"
            self.own.append(value)
        elif (outer := self._outside[value]).startswith("%"):
            self._passed.setdefault(outer, value)
            name = f"%p{[*self._passed].index(outer)}"
        else:
            name = outer
        self[value] = name
        return name

    def parameters(self, written: set[SSAValue]) -> str:
        """The parameters, of which these are stored to."""
        return ", ".join(
            buffer_parameter(value, f"%p{number}", value in written)
            if isinstance(value.type, MemRefType)
            else f"{llvm_type(value.type)} %p{number}"
            for number, value in enumerate(self._passed.values())
        )

    def arguments(self) -> str:
        """What is passed for them."""
        return ", ".join(
            f"{'ptr' if isinstance(value.type, MemRefType) else llvm_type(value.type)} {outer}"
            for outer, value in self._passed.items()
        )


PART = "part_"
"""What names of these functions begin with: they may be defined in another module of the same program."""


def name_of_part(text: str) -> str:
    """A name that equal functions share."""
    return f"{PART}{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def library_symbol(function: str) -> str:
    """How code calls a function of the library."""
    return f"@{LIBRARY}{function}"


def declaration(part: str) -> str:
    """What a module says of a part that another one defines."""
    head = part[: part.index(" {\n")]
    return f"{head.replace('define', 'declare', 1)}\n"
