"""Where the frames of a block of a `lir.fft` are, for the functions that read and write them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl_rlx.dialects.lir.fourier import FRAMES, FftOp, blocks_of
from xdsl_rlx.lowering.kernel_library.fourier_calls import Frames

if TYPE_CHECKING:
    from xdsl_rlx.lowering.backend.numba.python_body import PythonBody


def _python_columns(op: FftOp, frames: Frames, columns: int, w: PythonBody) -> list[str]:
    """The addresses of frames of columns: where those at the end of a matrix overlap others, these are skipped."""
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
