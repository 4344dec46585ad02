"""The LLVM texts of ops on bf16 and on bytes, of scalars and of vectors: packing, dot products, rounding.
In kernels a bf16 is its bits, an i16; only the dot product sees LLVM's `bfloat`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from xdsl.dialects import arith
from xdsl.ir import Operation

from xdsl_rlx.dialects.lir.scalar import DotBf16Op, DotI8Op, PackBf16Op, PackI8Op, RoundBf16Op

LlvmLine: TypeAlias = Callable[[str], str]
"""Emits `%new = <text>` and gives the new name."""

DotText: TypeAlias = Callable[[int, str, Sequence[str], LlvmLine], str]
"""The text of a dot product of vectors of a length: of sums and of two packed factors."""

LEAST, LEAST_ROUNDED = 4, 8
"""Lanes of the shortest vector that `vdpbf16ps` and `vpdpbusd` take, and `vcvtneps2bf16` without a mask."""


def pack_i8(op: Operation, args: Sequence[str], line: LlvmLine) -> str:
    """One i32 of four i8."""
    first, *others = (line(f"zext i8 {x} to i32") for x in args)
    for n, byte in enumerate(others[:-1], 1):
        first = line(f"or disjoint i32 {first}, {line(f'shl nuw i32 {byte}, {8 * n}')}")
    return f"or disjoint i32 {first}, {line(f'shl nuw i32 {others[-1]}, 24')}"


def pack(op: Operation, args: Sequence[str], line: LlvmLine) -> str:
    """One i32 of two bf16."""
    low, high = (line(f"zext i16 {x} to i32") for x in args)
    return f"or disjoint i32 {low}, {line(f'shl nuw i32 {high}, 16')}"


def dot(op: Operation, args: Sequence[str], line: LlvmLine) -> str:
    """One lane of a dot product."""
    t, dot_text = ("float", _dot_bf16) if isinstance(op, DotBf16Op) else ("i32", _dot_i8)
    acc, *packed = args
    wide = [line(f"insertelement <{LEAST} x i32> zeroinitializer, i32 {x}, i64 0") for x in packed]
    total = line(f"insertelement <{LEAST} x {t}> zeroinitializer, {t} {acc}, i64 0")
    return f"extractelement <{LEAST} x {t}> {line(dot_text(LEAST, total, wide, line))}, i64 0"


def round_bf16(op: Operation, args: Sequence[str], line: LlvmLine) -> str:
    """One lane of a rounded vector."""
    wide = line(f"insertelement <{LEAST_ROUNDED} x float> zeroinitializer, float {args[0]}, i64 0")
    return f"extractelement <{LEAST_ROUNDED} x i16> {line(_round_sums_vector(LEAST_ROUNDED, [wide], line))}, i64 0"


def _interleaved(bits: int, length: int, args: Sequence[str], line: LlvmLine) -> str:
    """The elements of several vectors by turns, as i32."""
    parts, count = list(args), length
    # of four, the first and the third, the second and the fourth, then these two
    while len(parts) > 1:
        half, order = len(parts) // 2, ", ".join(f"i32 {n}, i32 {n + count}" for n in range(count))
        t = f"<{count} x i{bits}>"
        parts = [
            line(f"shufflevector {t} {a}, {t} {b}, <{2 * count} x i32> <{order}>")
            for a, b in zip(parts[:half], parts[half:], strict=True)
        ]
        count *= 2
    return f"bitcast <{count} x i{bits}> {parts[0]} to <{length} x i32>"


def _pack_bf16_vector(length: int, args: Sequence[str], line: LlvmLine) -> str:
    return _interleaved(16, length, args, line)


def _pack_i8_vector(length: int, args: Sequence[str], line: LlvmLine) -> str:
    return _interleaved(8, length, args, line)


def _dot_bf16_vector(length: int, args: Sequence[str], line: LlvmLine) -> str:
    return _dot_vector("float", _dot_bf16, length, args, line)


def _dot_i8_vector(length: int, args: Sequence[str], line: LlvmLine) -> str:
    return _dot_vector("i32", _dot_i8, length, args, line)


def _dot_vector(t: str, dot_text: DotText, length: int, args: Sequence[str], line: LlvmLine) -> str:
    """A dot product in each lane; fewer lanes than the instruction has are part of a longer vector."""
    acc, *packed = args
    if length >= LEAST:
        return dot_text(length, acc, packed, line)
    longer, shorter = (", ".join(f"i32 {n}" for n in range(count)) for count in (LEAST, length))
    padded = [
        line(f"shufflevector <{length} x {e}> {x}, <{length} x {e}> zeroinitializer, <{LEAST} x i32> <{longer}>")
        for x, e in ((acc, t), *((x, "i32") for x in packed))
    ]
    total = line(dot_text(LEAST, padded[0], padded[1:], line))
    return f"shufflevector <{LEAST} x {t}> {total}, <{LEAST} x {t}> poison, <{length} x i32> <{shorter}>"


def _dot_bf16(length: int, acc: str, pairs: Sequence[str], line: LlvmLine) -> str:
    """The instruction of AVX512-BF16."""
    sums, bits = f"<{length} x float>", f"<{2 * length} x bfloat>"
    a, b = (line(f"bitcast <{length} x i32> {x} to {bits}") for x in pairs)
    return f"call {sums} @llvm.x86.avx512bf16.dpbf16ps.{32 * length}({sums} {acc}, {bits} {a}, {bits} {b})"


def _dot_i8(length: int, acc: str, bytes_: Sequence[str], line: LlvmLine) -> str:
    """The instruction of AVX512-VNNI, which has the unsigned bytes first."""
    sums, bits = f"<{length} x i32>", f"<{4 * length} x i8>"
    signed, unsigned = (line(f"bitcast {sums} {x} to {bits}") for x in bytes_)
    return f"call {sums} @llvm.x86.avx512.vpdpbusd.{32 * length}({sums} {acc}, {bits} {unsigned}, {bits} {signed})"


def _extend_vector(length: int, args: Sequence[str], line: LlvmLine) -> str:
    """The bits of bf16 as those of f32."""
    wide = f"<{length} x i32>"
    bits = line(f"shl {wide} {line(f'zext <{length} x i16> {args[0]} to {wide}')}, {_every(length, 16)}")
    return f"bitcast {wide} {bits} to <{length} x float>"


def _every(length: int, number: int) -> str:
    """A number in each lane."""
    return f"<{', '.join([f'i32 {number}'] * length)}>"


def _extend_i8_vector(length: int, args: Sequence[str], line: LlvmLine) -> str:
    return f"sext <{length} x i8> {args[0]} to <{length} x i32>"


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


def _round_sums_vector(length: int, args: Sequence[str], line: LlvmLine) -> str:
    """The instruction of AVX512-BF16; fewer lanes than it has are part of a longer vector."""
    wide, x = max(length, LEAST_ROUNDED), args[0]
    if length < wide:
        # the first zero, behind the lanes
        order = ", ".join(f"i32 {min(n, length)}" for n in range(wide))
        x = line(f"shufflevector <{length} x float> {x}, <{length} x float> zeroinitializer, <{wide} x i32> <{order}>")
    called = f"call <{wide} x bfloat> @llvm.x86.avx512bf16.cvtneps2bf16.{32 * wide}(<{wide} x float> {x})"
    bits = f"bitcast <{wide} x bfloat> {line(called)} to <{wide} x i16>"
    if length == wide:
        return bits
    order = ", ".join(f"i32 {n}" for n in range(length))
    return f"shufflevector <{wide} x i16> {line(bits)}, <{wide} x i16> poison, <{length} x i32> <{order}>"


VECTORS: dict[type[Operation], Callable[[int, Sequence[str], LlvmLine], str]] = {
    PackBf16Op: _pack_bf16_vector,
    PackI8Op: _pack_i8_vector,
    DotBf16Op: _dot_bf16_vector,
    DotI8Op: _dot_i8_vector,
    RoundBf16Op: _round_sums_vector,
    arith.ExtSIOp: _extend_i8_vector,
    arith.ExtFOp: _extend_vector,
    arith.TruncFOp: _round_vector,
}
"""The ops of a loop of lanes that are several instructions on vectors of a length."""
