"""Where the frames of a block of a `lir.fft` are, for the functions that read and write them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl_rlx.dialects.lir.fourier import FRAMES, FftOp, blocks_of
from xdsl_rlx.lowering.kernel_library.fourier_calls import Frames

if TYPE_CHECKING:
    from xdsl_rlx.lowering.backend.llvm.llvm_body import LlvmBody


def _llvm_columns(op: FftOp, w: LlvmBody) -> tuple[str, str, str]:
    """The matrix of a block of columns, its first column, and the first one that is read."""
    if op.columns is None:
        return "", "", ""
    columns, block = op.columns.value.data, w.names[op.block]
    blocks = blocks_of(columns, columns)
    plane = w.line(f"udiv i64 {block}, {blocks}")
    begin = w.line(f"mul i64 {w.line(f'urem i64 {block}, {blocks}')}, {FRAMES}")
    return plane, begin, w.line(f"call i64 @llvm.umin.i64(i64 {begin}, i64 {columns - FRAMES})")


def llvm_frames(op: FftOp, frames: Frames, w: LlvmBody) -> list[str]:
    """The addresses of the frames of a block; of columns, that of the first."""
    base, element = w.names[frames.buffer], w.buffer(frames.buffer).element
    places = list[str]()
    plane, begin, start = _llvm_columns(op, w)
    if frames.spare is None and op.columns is not None:
        before = w.line(f"mul i64 {plane}, {op.columns.value.data * frames.numbers}")
        place = w.line(f"add i64 {before}, {w.line(f'mul i64 {start}, 2')}")
        return [w.line(f"getelementptr {element}, ptr {base}, i64 {place}")]
    for v in range(op.width):
        if not op.is_several:
            places.append(w.line(f"getelementptr {element}, ptr {base}, i64 {v * frames.numbers}"))
            continue
        if op.columns is not None:
            number = w.line(f"add i64 {start}, {v}")
            inside = w.line(f"icmp uge i64 {number}, {begin}")
            number = w.line(f"add i64 {number}, {w.line(f'mul i64 {plane}, {op.columns.value.data}')}")
        else:
            last, first = op.frames.value.data - 1, w.line(f"mul i64 {w.names[op.block]}, {FRAMES}")
            number = w.line(f"add i64 {first}, {v}")
            inside = w.line(f"icmp ule i64 {number}, {last}")
            number = w.line(f"select i1 {inside}, i64 {number}, i64 {last}")
        place = w.line(f"mul i64 {number}, {frames.numbers}")
        places.append(w.line(f"getelementptr {element}, ptr {base}, i64 {place}"))
        if frames.spare is not None:
            part, offset = frames.spare_of(v, op)
            spare = w.matrix(part, [op.piece], ("0", "0"))
            other = w.line(f"getelementptr {element}, ptr {spare}, i64 {offset}")
            places[-1] = w.line(f"select i1 {inside}, ptr {places[-1]}, ptr {other}")
    return places
