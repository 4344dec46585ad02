"""From a planned `lir` module to what the runtime runs: manifest, constants and launch table.
Code is emitted elsewhere."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException

from xdsl_rlx.dialects import lir
from xdsl_rlx.dialects.lir.control_flow import program_ops
from xdsl_rlx.dialects.lir.places import ByteSpan, place_of
from xdsl_rlx.dialects.lir.program import memref_of
from xdsl_rlx.dialects.shapes import DTYPE_NAMES, element_of, shape_of
from xdsl_rlx.lowering.numba.driver.manifest import (
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


def build_program(module: ModuleOp) -> Program:
    """The program of a planned module; PassFailedException if there is not exactly one, or a slot has no place."""
    programs = [op for op in module.ops if isinstance(op, lir.ProgramOp)]
    if len(programs) != 1:
        raise PassFailedException(f"expected a module with one lir.program, got {len(programs)}")
    (program,) = programs
    if program.arena_bytes is None or program.alignment is None:
        raise PassFailedException(f"the slots of @{program.sym_name.data} have no place: run lir-plan-memory")
    return _Builder(program).build(module)


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

    def build(self, module: ModuleOp) -> Program:
        """Number the buffers, then write down the launches."""
        program = self.program
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
        return Program(
            name=program.sym_name.data,
            inputs=tuple(_spec(op.buffer_name.data, op.result) for op in inputs),
            params=tuple(_spec(op.buffer_name.data, op.result) for op in params),
            outputs=tuple(_spec(f"output {op.number.value.data}", op.result) for op in outputs),
            optional=tuple(op.buffer_name.data for op in late),
            arena_bytes=program.arena_bytes.value.data,
            alignment=program.alignment.value.data,
            constants=bytes(self.constants),
            schedule=tuple(self._schedule(program.body.block, [])),
            updated=tuple(op.buffer_name.data for op in (*inputs, *params) if op.updated is not None),
            needs_blas=any(isinstance(op, lir.LIBRARY_OPS) for op in module.walk()),
        )

    def _place(self, op: Operation) -> None:
        start, (result,) = 0, op.results
        if isinstance(op, lir.SlotOp):
            if op.at is None:
                raise PassFailedException("a lir.slot has no place: run lir-plan-memory")
            self.bases[result], start = BASE_ARENA, op.at.value.data
        elif isinstance(op, lir.ConstantOp):
            self.constants += b"\0" * (-len(self.constants) % CONSTANT_ALIGNMENT)
            self.bases[result], start = BASE_CONSTANTS, len(self.constants)
            self.constants += constant_bytes(op.value)
        self.places[result] = place_of(op, self.places.__getitem__, start)

    def _schedule(self, block: Block, loops: list[lir.LoopOp]) -> Iterator[Item]:
        """
        Launches in order; one that touches nothing that its forerunners since the last wait write need not wait.

        The first launch of a body or branch waits, and so does the first one behind a loop or branch.
        """
        reads: defaultdict[int, list[ByteSpan]] = defaultdict(list)
        writes: defaultdict[int, list[ByteSpan]] = defaultdict(list)
        for op in block.ops:
            if isinstance(op, lir.LoopOp | lir.IfOp | lir.WhileOp):
                reads.clear()
                writes.clear()
                yield self._control(op, loops)
            if not isinstance(op, lir.LaunchOp):
                continue
            own_reads = [self._interval(value) for value in op.reads]
            own_writes = [self._interval(value) for value in op.writes]
            independent = bool(writes) and not (
                _overlap(own_reads, writes) or _overlap(own_writes, writes) or _overlap(own_writes, reads)
            )
            if not independent:
                reads.clear()
                writes.clear()
            for own, known in ((own_reads, reads), (own_writes, writes)):
                for base, part in own:
                    known[base].append(part)
            yield self._launch(op, [*own_reads, *own_writes], independent, loops)

    def _control(self, op: lir.LoopOp | lir.IfOp | lir.WhileOp, loops: list[lir.LoopOp]) -> Item:
        inside = [*loops, op] if isinstance(op, lir.LoopOp) else loops
        first, *rest = (tuple(self._schedule(region.block, inside)) for region in op.regions)
        if isinstance(op, lir.LoopOp):
            return Loop(op.count, op.reverse is not None, first)
        base, place = self._interval(op.predicate)
        predicate = Predicate(base, place.start, tuple(_moves(0, place, loops)))
        return Branch(predicate, first, *rest) if isinstance(op, lir.IfOp) else While(predicate, first, *rest)

    def _launch(
        self, op: lir.LaunchOp, args: Sequence[tuple[int, ByteSpan]], independent: bool, loops: Sequence[lir.LoopOp]
    ) -> ScheduledLaunch:
        return ScheduledLaunch(
            op.kernel.root_reference.data,
            op.extent.value.data,
            op.chunk.value.data,
            tuple((base, place.start) for base, place in args),
            independent,
            tuple(move for number, (_, place) in enumerate(args) for move in _moves(number, place, loops)),
            op.in_order is not None,
        )

    def _interval(self, value: SSAValue) -> tuple[int, ByteSpan]:
        place = self.places[value]
        return self.bases[place.root], place


def _moves(argument: int, place: ByteSpan, loops: Sequence[lir.LoopOp]) -> Iterator[ArgumentMove]:
    for move in place.moves:
        yield ArgumentMove(argument, loops.index(move.loop), move.stride, move.shift, move.period or 0)


def _overlap(own: list[tuple[int, ByteSpan]], known: Mapping[int, list[ByteSpan]]) -> bool:
    return any(part.may_meet(other) for base, part in own for other in known.get(base, ()))


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
