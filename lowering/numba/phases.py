"""The schedule of a program as the driver runs it: threaded code whose instructions are phases and turns of loops.
What the driver does with these tables is in `driver_code.py`, the offsets of their fields in `layout.py`."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from xdsl_rlx.lowering.numba import layout
from xdsl_rlx.lowering.numba.program import Launch, Loop, Move

WORD = 8
MOST_PHASES = 1 << 40
"""What the phases of a run are counted to, so that their number times some nanoseconds fits into a word."""


@dataclass
class Phase:
    """Launches between two barriers: one thread runs them in order, or all threads share out their chunks."""

    launches: list[Launch]
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
    body: "list[Phase | PhaseLoop]"


def phases(schedule: Sequence[Launch | Loop]) -> list[Phase | PhaseLoop]:
    """Split a schedule where the threads must wait for each other; what does nothing is left out."""
    split = list[Phase | PhaseLoop]()
    for item in schedule:
        if isinstance(item, Loop):
            if item.count and (body := phases(item.body)):
                split.append(PhaseLoop(item, body))
            continue
        if not item.chunks:
            continue
        last = split[-1] if split else None
        if not isinstance(last, Phase):
            split.append(Phase([item], item.is_serial))
        elif item.independent and not item.in_order and (not last.serial or last.is_one_chunk):
            last.launches.append(item)
            last.serial = False
        elif last.serial and item.is_serial:
            last.launches.append(item)
        else:
            split.append(Phase([item], item.is_serial))
    return split


@dataclass
class Tables:
    """The instructions of a program, and what they refer to, as words in one block of memory."""

    memory: NDArray[np.int64]
    rows: int
    """Address of the first instruction."""
    count: int
    """Instructions."""
    runs: int
    """Phases that a run goes through."""
    parallel: bool
    """Whether a phase has more than one ticket."""
    long: bool
    """Whether phases are run more than once, or one thread runs many chunks: there are places to stop at."""


def make_tables(schedule: Sequence[Launch | Loop], kernels: Mapping[str, int]) -> Tables:
    """The tables of a schedule whose kernels lie at the addresses given."""
    split = phases(schedule)
    writer = _Writer(kernels)
    writer.items(split, [])
    sections = (writer.rows, writer.launches, writer.arguments, writer.loops, writer.patches)
    memory = np.zeros(sum(map(len, sections)), np.int64)
    starts = list[int]()
    place = int(memory.ctypes.data)
    for section in sections:
        starts.append(place)
        place += WORD * len(section)
    words = [word if isinstance(word, int) else starts[word.section] + word.offset for one in sections for word in one]
    memory[:] = words
    count = len(writer.rows) * WORD // layout.PHASE_SIZE
    long = any(isinstance(item, PhaseLoop) or (item.serial and len(item.launches) < item.chunks) for item in split)
    return Tables(memory, starts[_ROWS], count, _runs(split), writer.parallel, long)


def _runs(split: Sequence[Phase | PhaseLoop]) -> int:
    runs = (item.loop.count * _runs(item.body) if isinstance(item, PhaseLoop) else 1 for item in split)
    return min(sum(runs), MOST_PHASES)


_ROWS, _LAUNCHES, _ARGUMENTS, _LOOPS, _PATCHES = range(5)


@dataclass(frozen=True)
class _At:
    """An address that is known once all tables are: bytes behind the start of one of them."""

    section: int
    offset: int


_Word = int | _At


@dataclass
class _OpenLoop:
    """A loop around what is being written, and the arguments that its iterations move: where they lie, and how."""

    loop: Loop
    moved: list[tuple[_At, Move]] = field(default_factory=list[tuple[_At, Move]])


class _Writer:
    """Writes instructions in order; addresses come last."""

    def __init__(self, kernels: Mapping[str, int]) -> None:
        self.kernels = kernels
        self.rows = list[_Word]()
        self.launches = list[_Word]()
        self.arguments = list[_Word]()
        self.loops = list[_Word]()
        self.patches = list[_Word]()
        self.parallel = False

    def items(self, split: Sequence[Phase | PhaseLoop], loops: Sequence[_OpenLoop]) -> None:
        for item in split:
            if isinstance(item, PhaseLoop):
                self.loop(item, loops)
            else:
                self.phase(item, loops)

    def phase(self, phase: Phase, loops: Sequence[_OpenLoop]) -> None:
        granule = phase.chunks if phase.serial else -(-phase.chunks // layout.MAX_TICKETS)
        tickets = -(-phase.chunks // granule)
        self.parallel |= tickets > 1
        self.rows += [_At(_LAUNCHES, WORD * len(self.launches)), phase.chunks, tickets, granule]
        for launch in phase.launches:
            first = WORD * len(self.arguments)
            kernel = self.kernels[launch.kernel]
            self.launches += [kernel, _At(_ARGUMENTS, first), launch.extent, launch.chunk, launch.chunks]
            self.arguments += [word for pair in launch.args for word in pair]
            for move in launch.moves:
                offset = _At(_ARGUMENTS, first + WORD * (2 * move.argument + 1))
                loops[move.depth].moved.append((offset, move))

    def loop(self, item: PhaseLoop, loops: Sequence[_OpenLoop]) -> None:
        """The instruction at which a loop begins, its body, and the one at which an iteration ends."""
        here = _OpenLoop(item.loop)
        at = _At(_LOOPS, WORD * len(self.loops))
        fields = len(self.loops)
        self.loops += [0] * (layout.LOOP_SIZE // WORD)
        begin = _At(_ROWS, WORD * len(self.rows))
        self.rows += [at, layout.TURN_BEGIN, 0, 0]
        self.items(item.body, [*loops, here])
        self.rows += [at, layout.TURN_END, 0, 0]
        patches = [word for place, move in here.moved for word in _patch(place, move, item.loop)]
        self.loops[fields : fields + layout.LOOP_SIZE // WORD] = [
            item.loop.count,
            0,
            _At(_PATCHES, WORD * len(self.patches)),
            _At(_PATCHES, WORD * (len(self.patches) + len(patches))),
            begin,
        ]
        self.patches += patches


def _patch(place: _At, move: Move, loop: Loop) -> Iterator[_Word]:
    """How an argument moves: from where, how far at a time, and from which position back to which other."""
    stride, wraps = move.stride, move.modulo
    first = (loop.count - 1 if loop.reverse else 0) + move.shift
    start = stride * (first % wraps if wraps else first)
    top = stride * (wraps - 1) if wraps else -1
    edge, after = (0 if wraps else -1, top) if loop.reverse else (top, 0)
    yield from (place, 0, start, -stride if loop.reverse else stride, edge, after)
