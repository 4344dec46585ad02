"""The schedule of a program as the driver runs it: threaded code whose instructions are phases, turns of loops, jumps.
What the driver does with these tables is in `scheduler.py`, what they are in `layout.py`."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from xdsl_rlx.lowering.backend.driver.layout import (
    MAX_TICKETS,
    TURN_BEGIN,
    TURN_END,
    TURN_JUMP,
    TURN_JUMP_BACK,
    TURN_JUMP_UNLESS,
    WORD,
    ArgumentRow,
    LaunchRow,
    LoopRow,
    PatchRow,
    PhaseRow,
    TurnRow,
    passed,
)
from xdsl_rlx.lowering.backend.driver.manifest import (
    ArgumentMove,
    Branch,
    Item,
    Loop,
    Predicate,
    ScheduledLaunch,
    While,
)


@dataclass
class Phase:
    """Launches between two barriers: one thread runs them in order, or all threads share out their chunks."""

    launches: list[ScheduledLaunch]
    serial: bool

    @property
    def chunks(self) -> int:
        return sum(launch.chunks for launch in self.launches)

    @property
    def is_one_chunk(self) -> bool:
        return self.chunks == 1


@dataclass
class PhaseLoop:
    """A loop over phases."""

    loop: Loop
    body: "list[Step]"


@dataclass
class PhaseBranch:
    """A branch of phases."""

    predicate: Predicate
    then: "list[Step]"
    otherwise: "list[Step]"


@dataclass
class PhaseWhile:
    """A loop over phases that ends when it finds out."""

    predicate: Predicate
    test: "list[Step]"
    body: "list[Step]"


Step: TypeAlias = Phase | PhaseLoop | PhaseBranch | PhaseWhile


def phases(schedule: Sequence[Item]) -> list[Step]:
    """Split a schedule where the threads must wait for each other; what does nothing is left out."""
    split = list[Step]()
    for item in schedule:
        if not isinstance(item, ScheduledLaunch):
            split += _control(item)
            continue
        if not item.chunks:
            continue
        last = split[-1] if split else None
        if not isinstance(last, Phase) or item.blas_threads > 1 or last.launches[0].blas_threads > 1:
            split.append(Phase([item], item.is_serial))
        elif item.independent and not item.in_order and (not last.serial or last.is_one_chunk):
            last.launches.append(item)
            last.serial = False
        elif last.serial and item.is_serial:
            last.launches.append(item)
        else:
            split.append(Phase([item], item.is_serial))
    return split


def _control(item: Loop | Branch | While) -> list[Step]:
    if isinstance(item, Loop):
        return [PhaseLoop(item, body)] if item.count and (body := phases(item.body)) else []
    if isinstance(item, While):
        return [PhaseWhile(item.predicate, phases(item.test), phases(item.body))]
    then, otherwise = phases(item.then), phases(item.otherwise)
    return [PhaseBranch(item.predicate, then, otherwise)] if then or otherwise else []


@dataclass
class Tables:
    """The instructions of a program, and what they refer to, as words in one block of memory."""

    memory: NDArray[np.int64]
    rows: int
    """Address of the first instruction."""
    count: int
    """Instructions."""
    parallel: bool
    """Whether a phase has more than one ticket."""
    long: bool
    """Whether phases are run more than once, or one thread runs many chunks: a run may take any time."""
    launches: int
    """Address of the first `LaunchRow`."""
    scheduled: tuple[ScheduledLaunch, ...]
    """What the rows of launches are of, in order."""


@dataclass(frozen=True)
class KernelAddress:
    """The address of a kernel, known once it is loaded."""

    name: str


@dataclass(frozen=True)
class Offset:
    """An address inside of the tables: bytes from their start."""

    bytes: int


@dataclass(frozen=True)
class PlacedTables:
    """The tables of a program, before they and the kernels have addresses; rows come first."""

    words: tuple[int | Offset | KernelAddress, ...]
    count: int
    parallel: bool
    long: bool
    launches: int
    """Bytes in front of the first `LaunchRow`."""
    scheduled: tuple[ScheduledLaunch, ...]


def make_tables(schedule: Sequence[Item], kernels: Mapping[str, int]) -> Tables:
    """The tables of a schedule whose kernels lie at the addresses given."""
    placed = place_tables(schedule)
    memory = np.zeros(len(placed.words), np.int64)
    start = int(memory.ctypes.data)
    memory[:] = [_resolved(word, start, kernels) for word in placed.words]
    return Tables(memory, start, placed.count, placed.parallel, placed.long, start + placed.launches, placed.scheduled)


def _resolved(word: int | Offset | KernelAddress, start: int, kernels: Mapping[str, int]) -> int:
    if isinstance(word, Offset):
        return start + word.bytes
    return kernels[word.name] if isinstance(word, KernelAddress) else word


def place_tables(schedule: Sequence[Item]) -> PlacedTables:
    """The tables of a schedule as words, of which those that are addresses say of what."""
    writer = _Writer()
    writer.items(phases(schedule), [])
    sections = (writer.rows, writer.launches, writer.arguments, writer.loops, writer.patches)
    starts = [WORD * before for before in itertools.accumulate(map(len, sections[:-1]), initial=0)]
    words = tuple(
        Offset(starts[word.section] + word.offset) if isinstance(word, _At) else word
        for one in sections
        for word in one
    )
    count = len(writer.rows) * WORD // PhaseRow.size
    return PlacedTables(words, count, writer.parallel, writer.long, starts[_LAUNCHES], tuple(writer.scheduled))


_ROWS, _LAUNCHES, _ARGUMENTS, _LOOPS, _PATCHES = range(5)


@dataclass(frozen=True)
class _At:
    """An address that is known once all tables are: bytes behind the start of one of them."""

    section: int
    offset: int


_Word = int | _At | KernelAddress


@dataclass
class _OpenLoop:
    """A loop around what is being written, and the arguments that its iterations move: where they lie, and how."""

    loop: Loop
    moved: list[tuple[_At, ArgumentMove]] = field(default_factory=list[tuple[_At, ArgumentMove]])


class _Writer:
    """Writes instructions in order; addresses come last."""

    def __init__(self) -> None:
        self.rows = list[_Word]()
        self.launches = list[_Word]()
        self.scheduled = list[ScheduledLaunch]()
        self.arguments = list[_Word]()
        self.loops = list[_Word]()
        self.patches = list[_Word]()
        self.parallel = self.long = False

    def items(self, split: Sequence[Step], loops: Sequence[_OpenLoop]) -> None:
        for item in split:
            match item:
                case Phase():
                    self.phase(item, loops)
                case PhaseLoop():
                    self.loop(item, loops)
                case PhaseBranch():
                    self.branch(item, loops)
                case PhaseWhile():
                    self.repeat(item, loops)

    def phase(self, phase: Phase, loops: Sequence[_OpenLoop]) -> None:
        granule = phase.chunks if phase.serial else -(-phase.chunks // MAX_TICKETS)
        tickets = -(-phase.chunks // granule)
        self.parallel |= tickets > 1
        self.long |= phase.serial and len(phase.launches) < phase.chunks
        self.rows += PhaseRow.filled(
            {
                PhaseRow.LAUNCH: _At(_LAUNCHES, WORD * len(self.launches)),
                PhaseRow.CHUNKS: phase.chunks,
                PhaseRow.TICKETS: tickets,
                PhaseRow.GRANULE: granule,
            }
        )
        self.scheduled += phase.launches
        for launch in phase.launches:
            self.arguments.append(passed(len(launch.args)))
            first = WORD * len(self.arguments)
            self.launches += LaunchRow.filled(
                {
                    LaunchRow.KERNEL: KernelAddress(launch.kernel),
                    LaunchRow.ARGUMENTS: _At(_ARGUMENTS, first),
                    LaunchRow.EXTENT: launch.extent,
                    LaunchRow.CHUNK: launch.chunk,
                    LaunchRow.CHUNKS: launch.chunks,
                    LaunchRow.BLAS_THREADS: launch.blas_threads,
                }
            )
            for base, offset in launch.args:
                self.argument(base, offset)
            for move in launch.moves:
                place = _At(_ARGUMENTS, first + ArgumentRow.size * move.argument + ArgumentRow.OFFSET)
                loops[move.depth].moved.append((place, move))

    def argument(self, base: int, offset: int) -> None:
        """Where an argument begins, or a predicate stands."""
        self.arguments += ArgumentRow.filled({ArgumentRow.BASE: base, ArgumentRow.OFFSET: offset})

    def turn(self, kind: int, about: _Word) -> None:
        """The instruction at which a loop begins or an iteration of it ends, or a jump."""
        self.rows += TurnRow.filled({TurnRow.ABOUT: about, TurnRow.KIND: kind})

    def loop(self, item: PhaseLoop, loops: Sequence[_OpenLoop]) -> None:
        """The instruction at which a loop begins, its body, and the one at which an iteration ends."""
        self.long = True
        here = _OpenLoop(item.loop)
        at = _At(_LOOPS, WORD * len(self.loops))
        fields = slice(len(self.loops), len(self.loops) + LoopRow.size // WORD)
        self.loops += LoopRow.filled({})
        begin = self.here()
        self.turn(TURN_BEGIN, at)
        self.items(item.body, [*loops, here])
        self.turn(TURN_END, at)
        first = _At(_PATCHES, WORD * len(self.patches))
        for place, move in here.moved:
            self.patches += _patch(place, move, item.loop)
        self.loops[fields] = LoopRow.filled(
            {
                LoopRow.COUNT: item.loop.count,
                LoopRow.PATCHES: first,
                LoopRow.PATCHES_END: _At(_PATCHES, WORD * len(self.patches)),
                LoopRow.FIRST: begin,
            }
        )

    def branch(self, item: PhaseBranch, loops: Sequence[_OpenLoop]) -> None:
        """A jump over the first part, which ends with one over the second."""
        to_otherwise = self.jump_unless(item.predicate, loops)
        self.items(item.then, loops)
        if not item.otherwise:
            self.rows[to_otherwise] = self.here()
            return
        to_end = self.jump()
        self.rows[to_otherwise] = self.here()
        self.items(item.otherwise, loops)
        self.rows[to_end] = self.here()

    def repeat(self, item: PhaseWhile, loops: Sequence[_OpenLoop]) -> None:
        """A jump out between test and body, and one back behind them."""
        self.long = True
        begin = self.here()
        self.items(item.test, loops)
        to_end = self.jump_unless(item.predicate, loops)
        self.items(item.body, loops)
        self.rows[self.jump(TURN_JUMP_BACK)] = begin
        self.rows[to_end] = self.here()

    def here(self) -> _At:
        """Where the next instruction stands."""
        return _At(_ROWS, WORD * len(self.rows))

    def jump(self, kind: int = TURN_JUMP, about: _Word = 0) -> int:
        """A jump; gives the number of the word that says where to."""
        self.turn(kind, about)
        return len(self.rows) + (TurnRow.TARGET - TurnRow.size) // WORD

    def jump_unless(self, predicate: Predicate, loops: Sequence[_OpenLoop]) -> int:
        """A jump where a predicate is 0; gives the same."""
        at = _At(_ARGUMENTS, WORD * len(self.arguments))
        self.argument(predicate.base, predicate.offset)
        for move in predicate.moves:
            loops[move.depth].moved.append((_At(_ARGUMENTS, at.offset + ArgumentRow.OFFSET), move))
        return self.jump(TURN_JUMP_UNLESS, at)


def _patch(place: _At, move: ArgumentMove, loop: Loop) -> Sequence[_Word]:
    """How an argument moves: from where, how far at a time, and from which position back to which other."""
    stride, wraps = move.stride, move.modulo
    first = (loop.count - 1 if loop.reverse else 0) + move.shift
    start = stride * (first % wraps if wraps else first)
    top = stride * (wraps - 1) if wraps else -1
    edge, after = (0 if wraps else -1, top) if loop.reverse else (top, 0)
    return PatchRow.filled(
        {
            PatchRow.OFFSET: place,
            PatchRow.START: start,
            PatchRow.STEP: -stride if loop.reverse else stride,
            PatchRow.EDGE: edge,
            PatchRow.AFTER: after,
        }
    )
