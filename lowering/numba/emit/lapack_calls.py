"""Calls of LAPACK as the emitters write them: arguments in Fortran order, all by reference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from xdsl.dialects.builtin import Float32Type
from xdsl.ir import SSAValue

from xdsl_rlx.dialects.lir import GetrfOp, GetrsOp
from xdsl_rlx.lowering.numba.emit.gemm_calls import Operand, row_leading_dimension


class LlvmWriter(Protocol):
    """What `llvm_module.py` offers: addresses of buffers, and integers by reference."""

    def matrix(self, value: SSAValue, leading: Sequence[SSAValue], at: Sequence[str]) -> str:
        """The address of element `at` of what the `leading` indices choose."""
        ...

    def integers(self, values: Sequence[str]) -> list[str]:
        """Addresses of 32-bit integers of these values."""
        ...

    def call_library(self, function: str, pointers: Sequence[str]) -> None:
        """Call a function of the table of BLAS and LAPACK functions."""
        ...


def _letter(x: Operand) -> str:
    return "s" if isinstance(x.element, Float32Type) else "d"


def llvm_getrf(op: GetrfOp, w: LlvmWriter) -> None:
    """`?getrf(m, n, a, lda, ipiv, info)`."""
    a = Operand.of(op.a.type)
    n, lda, info = w.integers([str(a.rows), str(row_leading_dimension(op.a.type)), "0"])
    matrix = w.matrix(op.a, op.a_indices, ("0", "0"))
    pivots = w.matrix(op.pivots, op.pivots_indices, ("0",))
    w.call_library(f"{_letter(a)}getrf", [n, n, matrix, lda, pivots, info])


def llvm_getrs(op: GetrsOp, w: LlvmWriter) -> None:
    """`?getrs(trans, n, nrhs, a, lda, ipiv, b, ldb, info)`."""
    lu, b = Operand.of(op.lu.type), Operand.of(op.b.type)
    n, nrhs, lda, ldb, info = w.integers(
        [str(lu.rows), str(b.rows), str(row_leading_dimension(op.lu.type)), str(row_leading_dimension(op.b.type)), "0"]
    )
    matrix = w.matrix(op.lu, op.lu_indices, ("0", "0"))
    pivots = w.matrix(op.pivots, op.pivots_indices, ("0",))
    lines = w.matrix(op.b, op.b_indices, ("0", "0"))
    letter = f"@blas_{'n' if op.transpose is None else 't'}"
    w.call_library(f"{_letter(lu)}getrs", [letter, n, nrhs, matrix, lda, pivots, lines, ldb, info])


def python_getrf(op: GetrfOp, places: Sequence[str]) -> str:
    """The call in a printed module; `places` are the addresses of the matrix and the pivots."""
    a = Operand.of(op.a.type)
    return f"{_letter(a)}getrf({a.rows}, {a.rows}, {places[0]}, {row_leading_dimension(op.a.type)}, {places[1]})"


def python_getrs(op: GetrsOp, places: Sequence[str]) -> str:
    """The call in a printed module; `places` are those of the factors, the pivots and the right hand sides."""
    lu, b = Operand.of(op.lu.type), Operand.of(op.b.type)
    ldlu, ldb = (row_leading_dimension(x.type) for x in (op.lu, op.b))
    sizes = f"{op.transpose is not None}, {lu.rows}, {b.rows}"
    return f"{_letter(lu)}getrs({sizes}, {places[0]}, {ldlu}, {places[1]}, {places[2]}, {ldb})"
