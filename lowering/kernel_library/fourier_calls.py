"""The calls of the library that a `lir.fft` is, for the emitters."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.ir import SSAValue

from xdsl_rlx.dialects.lir.fourier import FRAMES, POINTS, STAGES, FftOp, Fourier, Layout, Side
from xdsl_rlx.dialects.lir.memory import memref_of
from xdsl_rlx.dialects.shapes import DTYPE_NAMES
from xdsl_rlx.lowering.kernel_library.fourier import (
    StageLoop,
    append_first,
    append_first_convolved,
    conjugates,
    convolved,
    doubled_halves,
    halves,
    mirror,
    pad,
    prepend_last,
    read,
    real_ends,
    real_part,
    times,
    write,
)
from xdsl_rlx.lowering.kernel_library.functions import TOGETHER, Step, stage_name


@dataclass(frozen=True)
class Frames:
    """The frames of the op's block in a buffer, each of so many numbers; those behind the last one are elsewhere."""

    buffer: SSAValue
    numbers: int
    spare: tuple[SSAValue, SSAValue] | None = None
    """Workspace for what is written; what is read is the last frame again."""

    def spare_of(self, v: int, op: FftOp) -> tuple[SSAValue, int]:
        """Where in the workspace the frame of a lane is written if it is none: a part, and the first number."""
        assert self.spare is not None
        return self.spare[v % 2], v // 2 * 2 * op.rows


@dataclass(frozen=True)
class LibraryCall:
    """A call for all iterations below a bound: the plan from a word on, tables and workspace, and frames."""

    function: str
    buffers: tuple[SSAValue, ...]
    iterations: int
    word: int = POINTS
    frames: Frames | None = None


@dataclass
class _Calls:
    """The calls of an op so far, and where its points are: what a step reads, and what the next one may write."""

    op: FftOp
    calls: list[LibraryCall] = field(default_factory=list[LibraryCall])

    def __post_init__(self) -> None:
        self.element = DTYPE_NAMES[memref_of(self.op.source).element_type]
        self.here = (self.op.here_re, self.op.here_im)
        self.there = (self.op.there_re, self.op.there_im)

    def swap(self) -> None:
        """Go on where the last step wrote."""
        self.here, self.there = self.there, self.here

    def step(self, step: Step, iterations: int, word: int = POINTS) -> None:
        """A step that has tables or not, in place or from here to there."""
        workspace = {1: self.here[1:], 2: self.here, 4: (*self.here, *self.there)}[len(step.parts)]
        tables = {"table": self.op.table, "turns": self.op.turns, "chirp": self.op.chirp}
        buffers = [x for name in step.tables if (x := tables[name]) is not None]
        self.calls.append(LibraryCall(step.name(self.element), (*buffers, *workspace), iterations, word))

    def read(self, side: Side, backwards: bool) -> None:
        """Read the block."""
        together = self.together(side)
        name = Step(read, self.op.width, side.layout, together, backwards=backwards).name(self.element)
        frames = Frames(self.op.source, side.numbers)
        self.calls.append(LibraryCall(name, self.here, -(-side.points // together), frames=frames))

    def write(self, side: Side) -> None:
        """Write the block."""
        # to two places of each of eight frames, the long vectors that LLVM chooses are faster
        together = 1 if side.layout is Layout.PLANAR else self.together(side)
        scaled = self.op.scaled is not None
        name = Step(write, self.op.width, side.layout, together, scaled=scaled).name(self.element)
        frames, buffers = Frames(self.op.result, side.numbers, self.there), (self.op.table, *self.here)
        self.calls.append(LibraryCall(name, buffers, -(-side.points // together), frames=frames))

    def together(self, side: Side) -> int:
        """How many points are read or written at once."""
        are_many = self.element == "f32" and self.op.width == FRAMES and side.points >= TOGETHER
        are_many = are_many and side.layout is not Layout.COLUMNS
        return TOGETHER if are_many else 1

    def transform(self) -> None:
        """
        The stages; or `jk = (j^2 + k^2 - (k - j)^2) / 2`: a convolution with `e^(pi i j^2/n)`, by two transforms.

        The second one is an inverse, of which the points are from the last to the first.
        """
        if self.op.convolved is None:
            self.stages()
            return
        n, inner, width = self.op.points, self.op.inner, self.op.width
        chirp, spectrum = self.op.convolution_words
        self.step(Step(times, width), n, chirp)
        self.step(Step(pad, width), inner - n)
        self.stages()
        self.step(Step(times, width), inner, spectrum)
        self.stages()
        self.step(Step(append_first_convolved, width), 1, chirp)
        self.step(Step(convolved, width), n, chirp)
        self.swap()

    def stages(self) -> None:
        """The stages, of which each writes where the one before it read."""
        for number, stage in enumerate(self.op.stages):
            lanes, step = self.op.lanes(stage), self.op.step(stage)
            loop = StageLoop(stage.radix, stage.has_factors, lanes, None if lanes or step >= FRAMES else step)
            buffers = (self.op.table, *self.here, *self.there)
            name = stage_name(loop, self.element)
            self.calls.append(LibraryCall(name, buffers, stage.rest, STAGES + 3 * number))
            self.swap()


def fourier_calls(op: FftOp) -> list[LibraryCall]:
    """Read the block, run the stages, and write the block; and what transforms of real numbers need in between."""
    calls, (source, result), n, width = _Calls(op), op.sides, op.points, op.width
    match op.direction.data:
        case Fourier.FORWARD:
            calls.read(source, False)
            calls.transform()
        case Fourier.INVERSE:
            calls.read(source, True)
            calls.step(Step(prepend_last, width), 1)
            calls.transform()
        case Fourier.FROM_REAL:
            calls.read(source, False)
            calls.transform()
            if op.is_halved:
                calls.step(Step(append_first, width), 1)
                calls.step(Step(halves, width), n + 1)
                calls.swap()
                if op.full is not None:
                    calls.step(Step(conjugates, width), n - 1)
        case Fourier.TO_REAL:
            calls.read(source, not op.is_halved)
            if op.full is not None and op.is_halved:
                calls.step(Step(real_part, width), n - 1)
            if op.full is None or op.is_halved:
                calls.step(Step(real_ends, width), 1)
            if op.is_halved:
                calls.step(Step(doubled_halves, width), n)
                calls.swap()
            elif op.full is None:
                calls.step(Step(mirror, width), n // 2)
            calls.step(Step(prepend_last, width), 1)
            calls.transform()
    calls.write(result)
    return calls.calls
