"""A call of the library's Fourier transform from a kernel. The function is in `lowering/kernel_library/fourier.py`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, cast

from xdsl.dialects.builtin import IndexType, MemRefType, UnitAttr, f32, f64
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import SpacedOpaqueSyntaxAttribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    traits_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from xdsl_rlx.dialects.lir.memory import AnyMemRef, is_contiguous
from xdsl_rlx.dialects.mir.fields import I64, i64_attr

INDEX = IndexType()

RADICES = (4, 2, 3, 5, 7, 11, 13)
"""Factors that a transform takes at a time: a length with others is decomposed."""

FRAMES = 8
"""Frames that are transformed at once."""

LANES = (FRAMES, 4, 2)
"""Numbers of the vectors that stages have."""

LONG_STEP = 32
"""Numbers from which on a step is a loop of which LLVM makes vectors, rather than one of short vectors."""


class Fourier(StrEnum):
    """The direction of a transform: of complex numbers, from real numbers, to real numbers."""

    FORWARD = "forward"
    INVERSE = "inverse"
    FROM_REAL = "from_real"
    TO_REAL = "to_real"


@irdl_attr_definition
class FourierAttr(EnumAttribute[Fourier], SpacedOpaqueSyntaxAttribute):
    """The direction of a transform as a property."""

    name = "lir.fourier"


class Stage(NamedTuple):
    """
    `y[q + step (radix p + k)] = w^(pk) sum_j x[q + step (p + rest j)] e^(-2 pi i jk/radix)` for `p < rest`, `q < step`.

    The factors `w^(pk)`, for `k` from 1, are in the table from row `first` on, unless `rest` is 1.
    """

    radix: int
    rest: int
    step: int
    first: int

    @property
    def has_factors(self) -> bool:
        """Whether there are factors other than 1."""
        return self.rest > 1

    @property
    def rows(self) -> int:
        """The rows of the table that it reads."""
        return self.rest * (self.radix - 1) if self.has_factors else 0


def stages_of(points: int) -> list[Stage]:
    """The stages of a transform; VerifyException for a number of points that has a factor besides `RADICES`."""
    found, rest, step, first = list[Stage](), points, 1, 1
    for radix in RADICES:
        while rest % radix == 0:
            rest //= radix
            found.append(Stage(radix, rest, step, first))
            first, step = first + found[-1].rows, step * radix
    if rest != 1 or points < 1:
        supported = ", ".join(map(str, RADICES))
        raise VerifyException(f"a Fourier transform of {points} points has the factor {rest}, expected {supported}")
    return found


def is_smooth(points: int) -> bool:
    """Whether a number of points is a product of `RADICES`."""
    for radix in RADICES:
        while points % radix == 0:
            points //= radix
    return points == 1


class Layout(StrEnum):
    """How the numbers of a frame lie."""

    INTERLEAVED = "interleaved"
    """Real and imaginary part of a point in turn."""
    PLANAR = "planar"
    """All real parts, then all imaginary ones."""
    REAL = "real"
    """Real parts only."""
    COLUMNS = "columns"
    """As interleaved, but frames are beside each other, and points apart."""


class Side(NamedTuple):
    """The numbers in front of or behind the transform of a frame: points in a layout."""

    layout: Layout
    points: int

    @property
    def numbers(self) -> int:
        """The numbers of a frame."""
        return self.points if self.layout is Layout.REAL else 2 * self.points


POINTS, SOURCE_POINTS, RESULT_POINTS, APART, STAGES = range(5)
"""The 64-bit words of a plan, which functions of the library are given: complex points of a frame, points of its sides,
numbers from point to point of columns, three words per stage."""


class Tables(NamedTuple):
    """The tables of a transform, as `FftOp` has them."""

    table: SSAValue
    turns: SSAValue | None
    chirp: SSAValue | None


@irdl_op_definition
class FftOp(IRDLOperation):
    """
    Transform a block of frames of `length` points each: eight frames, of fewer all.

    `result[k] = s sum_j source[j] e^(-2 pi i jk/length)` for each frame. The factor `s` is 1, or with `scaled` the
    first number of `table`. The exponent of `inverse` and `to_real` has `+`. `from_real` gives the bins up to the
    middle, which `to_real` takes; with `full` all of them, and `to_real` takes those of any signal, whose real part it
    gives. An even number of real points is transformed as half as many complex ones.

    Source and result are flat. With `columns`, frames of the source are columns of matrices of that width, whose rows
    are contiguous; eight or more, of which the last eight overlap others if they are no multiple of it. A complex
    number is its real and imaginary part in turn; with `planar`, all real parts are in front of all imaginary ones.
    `table` has the factors of the stages, and `turns` those of the bins of an even number of real points, both `[rows,
    2]`. The workspace is four buffers `[pieces, points + 1, width]`, of which the call uses those of a `piece`; `width`
    is the number of frames of a block. Frames behind the last one are skipped.

    Points with a factor besides `RADICES` are `convolved`, by Bluestein's algorithm, with transforms of that many
    points, of which the workspace has as many. `chirp`, `[points + convolved, 2]`, has `e^(-pi i j^2 / points)` for
    each point `j`, and behind these the spectrum that the transform is multiplied by. The bins of a `full` transform
    have to fit in, too.
    """

    name = "lir.fft"

    direction = prop_def(FourierAttr)
    length = prop_def(I64)
    frames = prop_def(I64)
    full = opt_prop_def(UnitAttr)
    columns = opt_prop_def(I64)
    planar = opt_prop_def(UnitAttr)
    scaled = opt_prop_def(UnitAttr)
    convolved = opt_prop_def(I64)
    source = operand_def(MemRefType.constr())
    result = operand_def(MemRefType.constr())
    table = operand_def(MemRefType.constr())
    turns = opt_operand_def(MemRefType.constr())
    chirp = opt_operand_def(MemRefType.constr())
    here_re = operand_def(MemRefType.constr())
    here_im = operand_def(MemRefType.constr())
    there_re = operand_def(MemRefType.constr())
    there_im = operand_def(MemRefType.constr())
    piece = operand_def(INDEX)
    block = operand_def(INDEX)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = (
        "$direction $length `by` $frames (`full` $full^)? (`columns` $columns^)? (`planar` $planar^)? "
        "(`scaled` $scaled^)? (`convolved` $convolved^)? "
        "$source `to` $result `with` $table (`turns` $turns^)? (`chirp` $chirp^)? "
        "`in` $here_re `,` $here_im `,` $there_re `,` $there_im `piece` $piece `block` $block attr-dict "
        "`:` type($source) `to` type($result) `with` type($table) (`turns` type($turns)^)? "
        "(`chirp` type($chirp)^)? `in` type($here_re) `,` type($here_im) `,` type($there_re) `,` type($there_im)"
    )

    def __init__(
        self,
        direction: Fourier,
        length: int,
        frames: int,
        ends: tuple[SSAValue, SSAValue],
        tables: Tables,
        workspace: Sequence[SSAValue],
        at: tuple[SSAValue, SSAValue],
        planar: bool = False,
        scaled: bool = False,
        convolved: int | None = None,
        full: bool = False,
        columns: int | None = None,
    ):
        """`at` is the piece and the block."""
        super().__init__(
            operands=[*ends, *tables, *workspace, *at],
            properties={
                "direction": FourierAttr(direction),
                "length": i64_attr(length),
                "frames": i64_attr(frames),
                "full": UnitAttr() if full else None,
                "columns": None if columns is None else i64_attr(columns),
                "planar": UnitAttr() if planar else None,
                "scaled": UnitAttr() if scaled else None,
                "convolved": None if convolved is None else i64_attr(convolved),
            },
        )

    @property
    def is_halved(self) -> bool:
        """Whether two real points are a complex one."""
        return is_halved(self.direction.data, self.length.value.data)

    @property
    def points(self) -> int:
        """The complex points of a frame."""
        length = self.length.value.data
        return length // 2 if self.is_halved else length

    @property
    def width(self) -> int:
        """The frames of a block."""
        return min(self.frames.value.data, FRAMES)

    @property
    def is_several(self) -> bool:
        """Whether there are several blocks, or may be."""
        return self.width == FRAMES

    @property
    def inner(self) -> int:
        """The points that stages transform."""
        return self.points if self.convolved is None else self.convolved.value.data

    @property
    def rows(self) -> int:
        """The points of the workspace."""
        return rows_of(self.inner, None if self.full is None else self.length.value.data)

    @property
    def stages(self) -> list[Stage]:
        """The stages of the transform."""
        return stages_of(self.inner)

    @property
    def workspace(self) -> tuple[SSAValue, SSAValue, SSAValue, SSAValue]:
        """The real and imaginary parts of what a stage reads and of what it writes, in turn."""
        return self.here_re, self.here_im, self.there_re, self.there_im

    @property
    def sides(self) -> tuple[Side, Side]:
        """How the source and the result of a frame lie."""
        length = self.length.value.data
        bins = Side(Layout.INTERLEAVED, length // 2 + 1 if self.full is None else length)
        numbers = Side(Layout.INTERLEAVED, length // 2) if self.is_halved else Side(Layout.REAL, length)
        is_columns = self.columns is not None
        match self.direction.data:
            case Fourier.FROM_REAL:
                return numbers, bins
            case Fourier.TO_REAL:
                return bins._replace(layout=Layout.COLUMNS) if is_columns else bins, numbers
            case _:
                side = Side(Layout.INTERLEAVED if self.planar is None else Layout.PLANAR, length)
                return side._replace(layout=Layout.COLUMNS) if is_columns else side, side

    @property
    def plan(self) -> list[int]:
        """
        The words that functions of the library read: of a stage `rest`, `step` and `first`.

        Behind them are those of the steps of a convolution: the row of `chirp`, and the points of the stages.
        """
        words = ((stage.rest, self.step(stage), stage.first) for stage in self.stages)
        apart = 0 if self.columns is None else 2 * self.columns.value.data
        sizes = [self.points, *(side.points for side in self.sides), apart]
        return [*sizes, *(word for stage in words for word in stage), 0, self.inner, self.points, self.inner]

    @property
    def convolution_words(self) -> tuple[int, int]:
        """Where the words of the chirp and of the spectrum are in the plan."""
        first = STAGES + 3 * len(self.stages)
        return first, first + 2

    def step(self, stage: Stage) -> int:
        """The step of a stage, in vectors if it has `lanes`."""
        return stage.step * self.width // (self.lanes(stage) or 1)

    def lanes(self, stage: Stage) -> int | None:
        """The numbers that a stage reads and writes together, if its step is so many vectors; None for a long step."""
        step = stage.step * self.width
        if step % FRAMES == 0 or step == 2:
            return min(step, FRAMES)
        return 4 if step % 4 == 0 and step < LONG_STEP else None

    def _verify_columns(self) -> None:
        if self.columns is None:
            return
        columns, frames = self.columns.value.data, self.frames.value.data
        if self.direction.data is Fourier.FROM_REAL or self.planar is not None:
            raise VerifyException("columns are of interleaved complex numbers")
        if columns < FRAMES or frames % columns:
            raise VerifyException(f"expected matrices of {FRAMES} columns or more, got {frames} frames by {columns}")

    def verify_(self) -> None:
        length, frames = self.length.value.data, self.frames.value.data
        if length < 1 or frames < 1:
            raise VerifyException(f"expected at least one frame of one point, got {frames} of {length}")
        real = self.direction.data in (Fourier.FROM_REAL, Fourier.TO_REAL)
        if real and self.planar is not None:
            raise VerifyException("planar is for transforms of complex numbers")
        if not real and self.full is not None:
            raise VerifyException("full is for transforms of real numbers")
        self._verify_columns()
        if (self.turns is None) == self.is_halved:
            raise VerifyException("expected turns for an even number of real points, and for no others")
        element = _type(self.source).element_type
        if element not in (f32, f64):
            raise VerifyException(f"expected f32 or f64, got {element}")
        ends = zip((self.source, self.result), self.sides, strict=True)
        shapes: list[tuple[SSAValue, tuple[int, ...]]]
        shapes = [(value, (frames * side.numbers,)) for value, side in ends]
        if (self.convolved is None) != (self.chirp is None):
            raise VerifyException("expected a chirp for points that are convolved, and for no others")
        if self.convolved is not None and self.inner < 2 * self.points - 1:
            raise VerifyException(f"expected a convolution of at least {2 * self.points - 1} points, got {self.inner}")
        shapes.append((self.table, (1 + sum(stage.rows for stage in self.stages), 2)))
        shapes += [] if self.turns is None else [(self.turns, (self.points + 1, 2))]
        shapes += [] if self.chirp is None else [(self.chirp, (self.points + self.inner, 2))]
        pieces, *_ = _type(self.here_re).get_shape() or (0,)
        shapes += [(value, (pieces, self.rows, self.width)) for value in self.workspace]
        for value, shape in shapes:
            type_ = _type(value)
            if type_.element_type != element or type_.get_shape() != shape or not is_contiguous(type_):
                expected = "x".join(map(str, (*shape, element)))
                raise VerifyException(f"expected a contiguous memref<{expected}>, got {type_}")
        if len({*self.workspace, self.source, self.result}) != 6:
            raise VerifyException("expected a source, a result and a workspace of different buffers")


def blocks_of(frames: int, columns: int | None) -> int:
    """The blocks of so many frames; those of columns do not go on from one matrix to the next."""
    return frames // columns * -(-columns // FRAMES) if columns else -(-frames // max(1, min(frames, FRAMES)))


def rows_of(inner: int, bins: int | None = None) -> int:
    """The points of a workspace: those that stages transform, or all bins, and one more."""
    return max(inner, bins or 0) + 1


def is_halved(direction: Fourier, length: int) -> bool:
    """Whether a transform of real points is one of half as many complex ones."""
    return direction in (Fourier.FROM_REAL, Fourier.TO_REAL) and length % 2 == 0


def _type(value: SSAValue) -> AnyMemRef:
    return cast(AnyMemRef, value.type)
