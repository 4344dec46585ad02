"""The launches of Fourier transforms: kernels that call the library for each block of frames."""

from __future__ import annotations

from collections.abc import Sequence
from math import pi, prod
from typing import TYPE_CHECKING, Any

from xdsl.ir import SSAValue

from xdsl_rlx.dialects import constants, lir
from xdsl_rlx.dialects.lir.fourier import (
    FRAMES,
    Fourier,
    Stage,
    Tables,
    blocks_of,
    is_halved,
    is_smooth,
    rows_of,
    stages_of,
)
from xdsl_rlx.dialects.lir.memory import row_major_strides
from xdsl_rlx.dialects.mir.complex import part_type
from xdsl_rlx.dialects.mir.spectral import FftOp, IrfftOp, RfftOp
from xdsl_rlx.dialects.shapes import COMPLEXES, element_of, shape_of
from xdsl_rlx.lowering.buffers import Argument, Buffer
from xdsl_rlx.lowering.fusion.analysis.loop_tables import StridedLayout
from xdsl_rlx.lowering.kernel_dsl.kernel_builder import Nest
from xdsl_rlx.lowering.kernels.work import NEST, Work
from xdsl_rlx.transforms.rules.dft import chirp_and_spectrum, fast_length, unit

if TYPE_CHECKING:
    import numpy as np

    Numbers = np.ndarray[Any, Any]


def _flat(argument: Argument) -> Argument:
    """A contiguous buffer of reals, or of complex numbers taken as their parts, as a row."""
    element, offset, size = argument.buffer.element, argument.buffer.layout.offset, prod(argument.shape)
    if element in COMPLEXES:
        element, offset, size = part_type(element), 2 * offset, 2 * size
    buffer = Buffer(argument.buffer.root, StridedLayout(offset, (size,), (1,)), element)
    return Argument(buffer, (size,), (1,), argument.name)


def _source(work: Work, value: SSAValue) -> tuple[Argument, int | None]:
    """An operand as a row, and the columns of the matrices of which its frames are the columns, if they are."""
    if element_of(value) not in COMPLEXES or len(shape := shape_of(value)) < 2 or shape[-2] < FRAMES:
        return _flat(work.read(value)), None
    given = work.read_strided(value)
    *batch, columns, length = shape
    *steps, step, apart = row_major_strides((*batch, length, columns))
    if given.strides != (*steps, apart, step):
        return _flat(work.read(value)), None
    return _flat(given), columns


@NEST.rule(FftOp)
def fft_nest(op: FftOp, work: Work) -> None:
    """An iteration transforms a block of frames."""
    direction = Fourier.FORWARD if op.inverse is None else Fourier.INVERSE
    frames, planar = prod(shape_of(op.operand)[:-1]), element_of(op.operand) not in COMPLEXES
    source, columns = _source(work, op.operand)
    ends = source, work.write(op.result)
    _launch(work, direction, ends, op.points, frames, op.factor, planar=planar, columns=columns)


@NEST.rule(RfftOp, IrfftOp)
def real_fft_nest(op: RfftOp | IrfftOp, work: Work) -> None:
    """An iteration transforms a block of frames; those of even length as half as many complex numbers."""
    to_real, (source, columns) = isinstance(op, IrfftOp), _source(work, op.operand)
    ends = source, work.write(op.result)
    *batch, length = shape_of((op.operand, op.result)[to_real])
    direction = Fourier.TO_REAL if to_real else Fourier.FROM_REAL
    _launch(work, direction, ends, length, prod(batch), full=op.full is not None, columns=columns)


def _launch(
    work: Work,
    direction: Fourier,
    ends: tuple[Argument, Argument],
    length: int,
    frames: int,
    factor: float = 1.0,
    *,
    columns: int | None,
    planar: bool = False,
    full: bool = False,
) -> None:
    """The launch: a block of frames an iteration."""
    import numpy as np

    halves = is_halved(direction, length)
    points, width = length // 2 if halves else length, max(1, min(frames, FRAMES))
    source, result = ends[0], _flat(ends[1])
    inner = None if is_smooth(points) else fast_length(2 * points - 1)
    element, stages = source.buffer.element, stages_of(inner or points)
    blocks = blocks_of(frames, columns)
    cost = (inner or points) * width * (4 + 8 * len(stages)) * (1 if inner is None else 2)
    sign = 1 if direction is Fourier.TO_REAL else -1
    numbers = [
        np.concatenate([[factor], *map(_factors, stages)]),
        unit(sign * pi * np.arange(points + 1) / points) if halves else None,
        None if inner is None else chirp_and_spectrum(points, inner),
    ]
    tables = [None if x is None else work.constant(constants.from_array(_parts(x), element)) for x in numbers]
    read = [source, *(x for x in tables if x is not None)]
    pieces = work.pieces(blocks, cost)
    rows = rows_of(inner or points, length if full else None)
    names = ("here_re", "here_im", "there_re", "there_im")
    written = [*(work.scratch((pieces, rows, width), element, name) for name in names), result]

    def call(inside: Nest, block: SSAValue, piece: SSAValue, buffers: Sequence[SSAValue]) -> None:
        source, *rest = buffers[: len(read)]
        *workspace, result = buffers[len(read) :]
        given = iter(rest)
        found = Tables._make(None if x is None else next(given) for x in tables)
        at, scaled = (piece, block), factor != 1.0
        op = lir.FftOp(
            direction, length, frames, (source, result), found, workspace, at, planar, scaled, inner, full, columns
        )
        inside.builder.insert(op)

    work.launch(blocks, cost, read, written, call)


def _factors(stage: Stage) -> Numbers:
    """Return `e^(-2 pi i pk/length)` for each place `p` of a stage, and `k` from 1 on."""
    import numpy as np

    length = stage.radix * stage.rest
    places = np.outer(np.arange(stage.rest if stage.has_factors else 0), np.arange(1, stage.radix))
    return unit(-2 * pi * (places % length) / length).ravel()


def _parts(numbers: Numbers) -> Numbers:
    import numpy as np

    return np.stack([numbers.real, numbers.imag], 1)
