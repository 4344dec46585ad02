"""Where the frames of a block of a `lir.fft` are, for the functions that read and write them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl_rlx.dialects.lir.fourier import FRAMES, FftOp, blocks_of
from xdsl_rlx.lowering.callees.fourier_calls import Frames

if TYPE_CHECKING:
    from xdsl_rlx.lowering.numba.emit.llvm_body import LlvmBody
    from xdsl_rlx.lowering.numba.emit.python_body import PythonBody


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


def _python_columns(op: FftOp, frames: Frames, columns: int, w: PythonBody) -> list[str]:
    """The same of columns: where those at the end of a matrix overlap others, these are skipped."""
    blocks, block, buffer = blocks_of(columns, columns), w.names[op.block], w.names[frames.buffer]
    begin = f"{block} % {blocks} * {FRAMES}"
    start, plane = f"lesser({begin}, {columns - FRAMES})", f"{block} // {blocks}"
    if frames.spare is None:
        return [f"at({buffer}, ({plane} * {columns * frames.numbers} + {start} * 2,))"]
    places = list[str]()
    for v in range(op.width):
        part, first = frames.spare_of(v, op)
        place = f"at({buffer}, (({plane} * {columns} + {start} + {v}) * {frames.numbers},))"
        places.append(f"({place} if {start} + {v} >= {begin} else {w.at(part, [op.piece], ['0', str(first)])})")
    return places


def python_frames(op: FftOp, frames: Frames, w: PythonBody) -> list[str]:
    """The addresses of the frames of a block; of columns, that of the first."""
    places, last = list[str](), op.frames.value.data - 1
    if op.columns is not None:
        return _python_columns(op, frames, op.columns.value.data, w)
    for v in range(op.width):
        if not op.is_several:
            places.append(f"at({w.names[frames.buffer]}, ({v * frames.numbers},))")
            continue
        number = f"{w.names[op.block]} * {FRAMES} + {v}"
        place = f"at({w.names[frames.buffer]}, (lesser({number}, {last}) * {frames.numbers},))"
        if frames.spare is not None:
            part, first = frames.spare_of(v, op)
            place = f"({place} if {number} <= {last} else {w.at(part, [op.piece], ['0', str(first)])})"
        places.append(place)
    return places
