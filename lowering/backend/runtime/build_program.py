"""From a planned `lir` module to what the runtime runs: manifest, constants and launch table.
Code is emitted elsewhere."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException

from xdsl_rlx.dialects import lir
from xdsl_rlx.dialects.lir.buffers import NamedBufferOp
from xdsl_rlx.dialects.lir.collectives import NETWORK_OPS, CallOp
from xdsl_rlx.dialects.lir.control_flow import program_ops
from xdsl_rlx.dialects.lir.memory import memref_of
from xdsl_rlx.dialects.lir.places import ByteSpan, place_of
from xdsl_rlx.dialects.shapes import DTYPE_NAMES, element_of, shape_of
from xdsl_rlx.dialects.walks import ops_within
from xdsl_rlx.lowering.backend.driver.manifest import (
    BASE_ARENA,
    BASE_CONSTANTS,
    FIRST_BUFFER,
    ArgumentMove,
    Branch,
    Item,
    Loop,
    Predicate,
    Program,
    ScheduledLaunch,
    TensorSpec,
    While,
)

CONSTANT_ALIGNMENT = 64

AHEAD = 8
"""Launches that one further down may be brought in front of."""

_Part: TypeAlias = tuple[int, ByteSpan]


def build_program(module: ModuleOp) -> Program:
    """The program of a planned module; PassFailedException if there is not exactly one, or a slot has no place."""
    return launched_program(module)[0]


def launched_program(module: ModuleOp) -> tuple[Program, tuple[lir.LaunchOp, ...]]:
    """As `build_program`, and what each of its launches is made of, in the order of `Program.launches`."""
    programs = [op for op in module.ops if isinstance(op, lir.ProgramOp)]
    if len(programs) != 1:
        raise PassFailedException(f"expected a module with one lir.program, got {len(programs)}")
    (program,) = programs
    if program.arena_bytes is None or program.alignment is None:
        raise PassFailedException(f"the slots of @{program.sym_name.data} have no offset: run lir-plan-memory")
    builder = _Builder(program)
    return builder.build(module), tuple(builder.launched)


class _Builder:
    """The places of the buffers of one program."""

    def __init__(self, program: lir.ProgramOp):
        self.program = program
        self.ops = list(program_ops(program))
        self.places: dict[SSAValue, ByteSpan] = {}
        """Those of slots in the arena, with the arena's start as theirs."""
        self.bases: dict[SSAValue, int] = {}
        """The base number of what is no alias."""
        self.constants = bytearray()
        self.polling: set[str] = set()
        """The kernels that have loops of unknown length."""
        self.collective: set[str] = set()
        """The kernels that connect processes."""
        self.launched: list[lir.LaunchOp] = []
        """The launches as they were written down."""

    def build(self, module: ModuleOp) -> Program:
        """Number the buffers, then write down the launches."""
        program = self.program
        kinds = {op: {type(x) for x in ops_within(op)} for op in module.ops}
        kernels = [op for op in kinds if isinstance(op, lir.KernelOp)]
        self.polling = {x.sym_name.data for x in kernels if lir.PollOp in kinds[x]}
        self.collective = {x.sym_name.data for x in kernels if not kinds[x].isdisjoint(NETWORK_OPS)}
        inputs = [op for op in self.ops if isinstance(op, lir.InputOp)]
        params = [op for op in self.ops if isinstance(op, lir.ParamOp)]
        outputs = sorted((op for op in self.ops if isinstance(op, lir.OutputOp)), key=lambda op: op.number.value.data)
        optional = {name.data for name in program.optional or ()}
        required = [op for op in inputs if op.buffer_name.data not in optional]
        late = [op for op in inputs if op.buffer_name.data in optional]
        # the order of Program.arguments
        for base, op in enumerate((*required, *params, *late, *outputs), FIRST_BUFFER):
            self.bases[op.result] = base
        for op in self.ops:
            if op.results:
                self._place(op)
        assert program.arena_bytes is not None and program.alignment is not None
        all_kinds = set[type[Operation]]().union(*kinds.values())
        prints = lir.DebugPrintOp in all_kinds
        return Program(
            name=program.sym_name.data,
            inputs=tuple(_spec(op.buffer_name.data, op.result) for op in inputs),
            params=tuple(_spec(op.buffer_name.data, op.result) for op in params),
            outputs=tuple(
                _spec(f"output {op.number.value.data}" if op.label is None else op.label.data, op.result)
                for op in outputs
            ),
            optional=tuple(op.buffer_name.data for op in late),
            arena_bytes=program.arena_bytes.value.data,
            alignment=program.alignment.value.data,
            constants=bytes(self.constants),
            schedule=tuple(self._schedule(program.body.block, [])),
            updated=tuple(op.buffer_name.data for op in (*inputs, *params) if op.is_written),
            repeatable=not prints and not self.collective and self._is_repeatable(),
            needs_blas=not all_kinds.isdisjoint(lir.LIBRARY_OPS),
            prints=prints,
            polls=bool(self.polling),
            processes=_processes(module) if self.collective else 1,
        )

    def _is_repeatable(self) -> bool:
        """Whether no launch writes to an updated argument before the last while loop ends."""
        ops = list(self.program.body.block.ops)
        loops = (n for n, op in enumerate(ops) if any(map(self._is_while, ops_within(op))))
        until = max(loops, default=-1) + 1
        launches = [inner for op in ops[:until] for inner in ops_within(op) if isinstance(inner, lir.LaunchOp)]
        written = {self.places[value].root.owner for launch in launches for value in launch.writes}
        return not any(isinstance(op, NamedBufferOp) and op.is_written for op in written)

    def _is_while(self, op: Operation) -> bool:
        """Whether an op, or its kernel, is a loop of unknown length."""
        if isinstance(op, lir.LaunchOp):
            return op.kernel.root_reference.data in self.polling
        return isinstance(op, lir.WhileOp)

    def _place(self, op: Operation) -> None:
        start, (result,) = 0, op.results
        if isinstance(op, lir.SlotOp):
            if op.at is None:
                raise PassFailedException("a lir.slot has no offset: run lir-plan-memory")
            self.bases[result], start = BASE_ARENA, op.at.value.data
        elif isinstance(op, lir.ConstantOp):
            self.constants += b"\0" * (-len(self.constants) % CONSTANT_ALIGNMENT)
            self.bases[result], start = BASE_CONSTANTS, len(self.constants)
            self.constants += constant_bytes(op.value)
        self.places[result] = place_of(op, self.places.__getitem__, start)

    def _schedule(self, block: Block, loops: list[lir.LoopOp]) -> Iterator[Item]:
        """
        Launches that wait for others, and those that need not, in turn, between loops and branches, which all wait for.

        A launch that is one piece leaves threads idle: one of many that may run at the same time is brought forward.
        """
        launches: list[_Touched] = []
        for op in block.ops:
            if isinstance(op, lir.LaunchOp):
                launches.append(_Touched.of(op, self._interval))
            elif isinstance(op, lir.LoopOp | lir.IfOp | lir.WhileOp):
                yield from self._phases(launches, loops)
                launches = []
                yield self._control(op, loops)
        yield from self._phases(launches, loops)

    def _phases(self, launches: list[_Touched], loops: Sequence[lir.LoopOp]) -> Iterator[Item]:
        waiting = deque(launches)
        while waiting:
            first = waiting.popleft()
            yield self._launch(first, False, loops)
            if self._is_collective(first):
                continue
            passed, touched = list[_Touched](), _TouchedBytes()
            touched.add(first)
            is_wide = first.op.chunk_count > 1
            while waiting and len(passed) < AHEAD:
                if passed and is_wide:
                    break
                launch = waiting.popleft()
                # what is one piece itself costs less than threads that meet
                in_turn = passed and launch.op.chunk_count == 1
                if in_turn or touched.holds_up(launch) or self._is_collective(launch):
                    passed.append(launch)
                else:
                    is_wide |= launch.op.chunk_count > 1
                    yield self._launch(launch, True, loops)
                touched.add(launch)
            waiting.extendleft(reversed(passed))

    def _is_collective(self, launch: _Touched) -> bool:
        """Whether a launch connects processes: it runs alone, on the thread that runs the program."""
        return launch.op.kernel.root_reference.data in self.collective

    def _control(self, op: lir.LoopOp | lir.IfOp | lir.WhileOp, loops: list[lir.LoopOp]) -> Item:
        inside = [*loops, op] if isinstance(op, lir.LoopOp) else loops
        first, *rest = (tuple(self._schedule(region.block, inside)) for region in op.regions)
        if isinstance(op, lir.LoopOp):
            return Loop(op.count, op.reverse is not None, first)
        base, place = self._interval(op.predicate)
        predicate = Predicate(base, place.start, tuple(_moves(0, place, loops)))
        return Branch(predicate, first, *rest) if isinstance(op, lir.IfOp) else While(predicate, first, *rest)

    def _launch(self, launch: _Touched, independent: bool, loops: Sequence[lir.LoopOp]) -> ScheduledLaunch:
        op, args = launch.op, (*launch.reads, *launch.writes)
        self.launched.append(op)
        return ScheduledLaunch(
            op.kernel.root_reference.data,
            op.extent.value.data,
            op.chunk.value.data,
            tuple((base, place.start) for base, place in args),
            independent,
            tuple(move for number, (_, place) in enumerate(args) for move in _moves(number, place, loops)),
            op.in_order is not None,
            op.most_blas_threads,
        )

    def _interval(self, value: SSAValue) -> tuple[int, ByteSpan]:
        place = self.places[value]
        return self.bases[place.root], place


def _processes(module: ModuleOp) -> int:
    """The processes of a module's collective ops; PassFailedException if they differ."""
    counts = {op.processes.value.data for op in module.walk() if isinstance(op, CallOp)}
    if len(counts) > 1:
        raise PassFailedException(f"expected collective ops of one number of processes, got {sorted(counts)}")
    return next(iter(counts), 1)


def _moves(argument: int, place: ByteSpan, loops: Sequence[lir.LoopOp]) -> Iterator[ArgumentMove]:
    for move in place.moves:
        yield ArgumentMove(argument, loops.index(move.loop), move.stride, move.shift, move.period or 0)


@dataclass(frozen=True)
class _Touched:
    """A launch with the bytes that it reads and writes, and the number of their base."""

    op: lir.LaunchOp
    reads: Sequence[_Part]
    writes: Sequence[_Part]

    @staticmethod
    def of(op: lir.LaunchOp, interval: Callable[[SSAValue], _Part]) -> _Touched:
        return _Touched(op, [interval(value) for value in op.reads], [interval(value) for value in op.writes])


class _TouchedBytes:
    """The bytes that launches read and write, by their base: few launches touch what another one does."""

    def __init__(self) -> None:
        self._read: dict[int, _Spans] = {}
        self._written: dict[int, _Spans] = {}

    def add(self, launch: _Touched) -> None:
        """Take in a launch."""
        for spans, parts in ((self._read, launch.reads), (self._written, launch.writes)):
            for base, place in parts:
                spans.setdefault(base, _Spans()).add(place)

    def holds_up(self, launch: _Touched) -> bool:
        """Whether a launch touches what one of these writes, or writes what one reads."""
        return (
            _meet(self._written, launch.reads)
            or _meet(self._written, launch.writes)
            or _meet(self._read, launch.writes)
        )


class _Spans:
    """Byte ranges of one base in the order in which they start: only those near another one can meet it."""

    def __init__(self) -> None:
        self._places: list[ByteSpan] = []
        self._longest = 0

    def add(self, place: ByteSpan) -> None:
        self._longest = max(self._longest, place.end - place.start)
        insort(self._places, place, key=_start)

    def meet(self, place: ByteSpan) -> bool:
        first = bisect_left(self._places, place.start - self._longest, key=_start)
        last = bisect_left(self._places, max(place.end, place.start + 1), key=_start)
        return any(place.may_meet(other) for other in self._places[first:last])


def _start(place: ByteSpan) -> int:
    return place.start


def _meet(some: Mapping[int, _Spans], others: Sequence[_Part]) -> bool:
    return any((spans := some.get(base)) is not None and spans.meet(place) for base, place in others)


def _spec(name: str, value: SSAValue) -> TensorSpec:
    type_ = memref_of(value)
    if type_.element_type not in DTYPE_NAMES:
        raise PassFailedException(f"kernels do not compute with {type_.element_type}")
    return TensorSpec(name, type_.get_shape(), DTYPE_NAMES[type_.element_type])


def spec_of(name: str, value: SSAValue) -> TensorSpec:
    """How a caller sees an argument that is a tensor of a graph."""
    return TensorSpec(name, shape_of(value), DTYPE_NAMES[element_of(value)])


def constant_bytes(value: DenseIntOrFPElementsAttr) -> bytes:
    """The elements as they lie in memory; an i1 takes a byte."""
    if DTYPE_NAMES[value.get_element_type()] == "i1":
        return bytes(bool(x) for x in value.get_values())
    return value.data.data
