"""Calls of LAPACK as the emitters write them: arguments in Fortran order, all by reference."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from xdsl.dialects.builtin import Float32Type, Float64Type
from xdsl.ir import SSAValue

from xdsl_rlx.dialects.lir.lapack import BufferArgument, CallArgument, LapackOp


class LlvmWriter(Protocol):
    """What `llvm_body.py` offers: addresses of buffers, and integers by reference."""

    def matrix(self, value: SSAValue, leading: Sequence[SSAValue], at: Sequence[str]) -> str:
        """The address of element `at` of what the `leading` indices choose."""
        ...

    def size(self, value: SSAValue) -> str:
        """An index as a 32-bit integer."""
        ...

    def integers(self, values: Sequence[str]) -> list[str]:
        """Addresses of 32-bit integers of these values."""
        ...

    def call_library(self, function: str, pointers: Sequence[str]) -> None:
        """Call a function of the table of BLAS and LAPACK functions."""
        ...


def _element(op: LapackOp) -> Float32Type | Float64Type:
    element = op.buffers()[0].type.element_type
    assert isinstance(element, Float32Type | Float64Type)
    return element


def _function(op: LapackOp) -> str:
    return f"{'s' if isinstance(_element(op), Float32Type) else 'd'}{op.ROUTINE.name}"


def _is_integer(x: CallArgument) -> bool:
    return isinstance(x, SSAValue) or type(x) is int


def _origin(x: BufferArgument) -> tuple[str, ...]:
    return ("0",) * x.parameter.rank


def llvm_lapack(op: LapackOp, w: LlvmWriter) -> None:
    """The lines of a call."""
    arguments = op.arguments()
    sizes = [w.size(x) if isinstance(x, SSAValue) else str(x) for x in arguments if _is_integer(x)]
    cells = iter(w.integers(sizes))
    given, pointers = iter(arguments), list[str]()
    for kind in op.ROUTINE.kinds:
        if kind.isupper():
            pointers.append(f"@blas_{kind.lower()}")
        elif isinstance(x := next(given), BufferArgument):
            pointers.append(w.matrix(x.buffer, x.indices, _origin(x)))
        elif isinstance(x, bool):
            pointers.append(f"@blas_{kind if x else 'u' if kind == 'l' else 'n'}")
        else:
            pointers.append(f"@blas_one_{_element(op).name}" if kind == "o" else next(cells))
    w.call_library(_function(op), pointers)


def python_lapack(
    op: LapackOp, at: Callable[[SSAValue, Sequence[SSAValue], Sequence[str]], str], names: Mapping[SSAValue, str]
) -> str:
    """The call in a printed module; `at` says the address of an element."""

    def shown(x: CallArgument) -> str:
        if isinstance(x, BufferArgument):
            return at(x.buffer, x.indices, _origin(x))
        return names[x] if isinstance(x, SSAValue) else str(x)

    arguments = map(shown, op.arguments())
    return f"{_function(op)}({', '.join(arguments)})"
