"""The LLVM texts of ops on bf16, of scalars and of vectors: packing, dot products, rounding.
In kernels a bf16 is its bits, an i16; only the dot product sees LLVM's `bfloat`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from xdsl.dialects import arith
from xdsl.ir import Operation

from xdsl_rlx.dialects.lir.scalar import DotBf16Op, PackBf16Op

LlvmLine: TypeAlias = Callable[[str], str]
"""Emits `%new = <text>` and gives the new name."""

LEAST = 4
"""Lanes of the shortest vector that `vdpbf16ps` takes."""


def pack(op: Operation, args: Sequence[str], line: LlvmLine) -> str:
    """One i32 of two bf16."""
    low, high = (line(f"zext i16 {x} to i32") for x in args)
    return f"or disjoint i32 {low}, {line(f'shl nuw i32 {high}, 16')}"


def dot(op: Operation, args: Sequence[str], line: LlvmLine) -> str:
    """One lane of a dot product."""
    acc, *pairs = args
    wide = [line(f"insertelement <{LEAST} x i32> zeroinitializer, i32 {x}, i64 0") for x in pairs]
    total = line(f"insertelement <{LEAST} x float> zeroinitializer, float {acc}, i64 0")
    return f"extractelement <{LEAST} x float> {_dot(LEAST, total, wide, line)}, i64 0"


def _pack_vector(length: int, args: Sequence[str], line: LlvmLine) -> str:
    """The elements of two vectors by turns."""
    halves = f"<{length} x i16>"
    order = ", ".join(f"i32 {n}, i32 {n + length}" for n in range(length))
    mixed = line(f"shufflevector {halves} {args[0]}, {halves} {args[1]}, <{2 * length} x i32> <{order}>")
    return f"bitcast <{2 * length} x i16> {mixed} to <{length} x i32>"


def _dot_vector(length: int, args: Sequence[str], line: LlvmLine) -> str:
    """A dot product in each lane; fewer lanes than the instruction has are part of a longer vector."""
    acc, *pairs = args
    if length >= LEAST:
        return _dot_text(length, acc, pairs, line)
    longer, shorter = (", ".join(f"i32 {n}" for n in range(count)) for count in (LEAST, length))
    padded = [
        line(f"shufflevector <{length} x {t}> {x}, <{length} x {t}> zeroinitializer, <{LEAST} x i32> <{longer}>")
        for x, t in ((acc, "float"), *((pair, "i32") for pair in pairs))
    ]
    total = _dot(LEAST, padded[0], padded[1:], line)
    return f"shufflevector <{LEAST} x float> {total}, <{LEAST} x float> poison, <{length} x i32> <{shorter}>"


def _dot(length: int, acc: str, pairs: Sequence[str], line: LlvmLine) -> str:
    return line(_dot_text(length, acc, pairs, line))


def _dot_text(length: int, acc: str, pairs: Sequence[str], line: LlvmLine) -> str:
    """The instruction."""
    sums, bits = f"<{length} x float>", f"<{2 * length} x bfloat>"
    a, b = (line(f"bitcast <{length} x i32> {x} to {bits}") for x in pairs)
    return f"call {sums} @llvm.x86.avx512bf16.dpbf16ps.{32 * length}({sums} {acc}, {bits} {a}, {bits} {b})"


def _extend_vector(length: int, args: Sequence[str], line: LlvmLine) -> str:
    """The bits of bf16 as those of f32."""
    wide = f"<{length} x i32>"
    bits = line(f"shl {wide} {line(f'zext <{length} x i16> {args[0]} to {wide}')}, {_every(length, 16)}")
    return f"bitcast {wide} {bits} to <{length} x float>"


def _every(length: int, number: int) -> str:
    """A number in each lane."""
    return f"<{', '.join([f'i32 {number}'] * length)}>"


def _round_vector(length: int, args: Sequence[str], line: LlvmLine) -> str:
    """
    f32 to the nearest bf16, ties to even, as `rlx_truncate_bf16` does: NaN stays NaN.

    LLVM's `fptrunc` is a call of a library where processors have no instruction.
    """
    wide, mask = f"<{length} x i32>", f"<{length} x i1>"
    bits = line(f"bitcast <{length} x float> {args[0]} to {wide}")
    odd = line(f"and {wide} {line(f'lshr {wide} {bits}, {_every(length, 16)}')}, {_every(length, 1)}")
    rounded = line(f"add {wide} {line(f'add {wide} {bits}, {_every(length, 0x7FFF)}')}, {odd}")
    is_nan = line(f"fcmp uno <{length} x float> {args[0]}, {args[0]}")
    quiet = line(f"or {wide} {bits}, {_every(length, 0x400000)}")
    chosen = line(f"select {mask} {is_nan}, {wide} {quiet}, {wide} {rounded}")
    return f"trunc {wide} {line(f'lshr {wide} {chosen}, {_every(length, 16)}')} to <{length} x i16>"


VECTORS: dict[type[Operation], Callable[[int, Sequence[str], LlvmLine], str]] = {
    PackBf16Op: _pack_vector,
    DotBf16Op: _dot_vector,
    arith.ExtFOp: _extend_vector,
    arith.TruncFOp: _round_vector,
}
"""The ops of a loop of lanes that are several instructions on vectors of a length."""
