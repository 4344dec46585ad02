"""What a program may do with its buffers: places in the arena, what launches pass, which bytes meet.
Where they lie is in `places.py`, how long they live in `liveness.py`, what kernels do inside of them in `bounds.py`."""

from bisect import bisect, insort
from collections.abc import Sequence
from heapq import heappop, heappush
from typing import TYPE_CHECKING, cast

from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects.lir.buffers import ConstantOp, InputOp, OutputOp, ParamOp, SlotOp
from xdsl_rlx.dialects.lir.control_flow import IfOp, LoopOp, StepOp, WhileOp, program_ops
from xdsl_rlx.dialects.lir.kernel import KernelOp
from xdsl_rlx.dialects.lir.launch import LaunchOp
from xdsl_rlx.dialects.lir.liveness import Life, lives_of
from xdsl_rlx.dialects.lir.memory import LARGEST_BUFFER, AnyMemRef, byte_size, is_any_length, memref_of
from xdsl_rlx.dialects.lir.places import ByteSpan, place_of

if TYPE_CHECKING:
    from xdsl_rlx.dialects.lir.program import ProgramOp

_Interval = tuple[int, int, str]
"""The bytes of the arena that a slot takes, from and to, and its type."""

LARGEST_ALIGNMENT = 1 << 21
"""Bytes of a huge page; more is asked for by mistake."""


def verify_schedule(program: "ProgramOp") -> None:
    """VerifyException for what a program declares or launches and cannot have; kernels are looked up in its module."""
    ops = list(program_ops(program))
    inputs = {op.buffer_name.data for op in ops if isinstance(op, InputOp)}
    for name in program.optional or ():
        if name.data not in inputs:
            raise VerifyException(f"'{name.data}' is optional, but no input is named so")
    _verify_arena(program, [op for op in ops if isinstance(op, SlotOp)])
    kernels = _kernels(program)
    launches = any(isinstance(op, LaunchOp) for op in ops)
    schedule = _Schedule(
        kernels if kernels or isinstance(program.parent_op(), ModuleOp) else None,
        {name: kernel.written for name, kernel in kernels.items()} if launches else {},
    )
    schedule.verify(program.body.block)
    for op in ops:
        if isinstance(op, OutputOp) and op.result in schedule.perhaps:
            raise VerifyException(f"output {op.number.value.data} {_UNWRITTEN}")
    _verify_live_slots(lives_of(program))


_UNWRITTEN = "is only written in a branch or loop that may not run"


class _Schedule:
    """
    A walk through a program in order: what is defined where it is, and what has been written.

    Behind a branch that is what both of its parts write, and behind a `lir.while` what its test does.
    """

    def __init__(self, kernels: dict[str, KernelOp] | None, written: dict[str, frozenset[int]]) -> None:
        self.kernels = kernels
        """None where launches cannot be looked up."""
        self.kernel_writes = written
        self.places: dict[SSAValue, ByteSpan] = {}
        self.written: set[SSAValue] = set()
        """What has been written whatever was run."""
        self.perhaps: set[SSAValue] = set()
        """What has been written in some runs, and not in others."""
        self.loops: list[LoopOp] = []
        self.depth = 0

    def verify(self, block: Block) -> None:
        defined: list[SSAValue] = []
        for op in block.ops:
            if isinstance(op, LaunchOp):
                self.launch(op)
            elif isinstance(op, LoopOp):
                self.loops.append(op)
                self.part(op.body.block)
                self.loops.pop()
            elif isinstance(op, IfOp):
                self.branch(op)
            elif isinstance(op, WhileOp):
                self.part(op.test.block)
                self.predicate(op)
                tested = set(self.written)
                self.part(op.body.block)
                self.leave(tested)
            else:
                if isinstance(op, StepOp):
                    self.step(op)
                place = self.places[op.results[0]] = place_of(op, lambda value, op=op: self.source(op, value))
                if isinstance(place.root.owner, InputOp | ParamOp | ConstantOp):
                    self.written.add(place.root)
                defined.append(op.results[0])
        for value in defined if self.depth else ():
            del self.places[value]

    def part(self, block: Block) -> None:
        """What stands in a loop or branch, whose values are not seen behind it."""
        self.depth += 1
        self.verify(block)
        self.depth -= 1

    def branch(self, op: IfOp) -> None:
        self.predicate(op)
        before = set(self.written)
        self.part(op.then.block)
        then, self.written = self.written, before
        self.part(op.otherwise.block)
        both = then & self.written
        self.written |= then
        self.leave(both)

    def leave(self, written: set[SSAValue]) -> None:
        """Go on behind what may not be run, of which `written` is there anyway."""
        self.perhaps |= self.written - written
        self.perhaps -= written
        self.written = written

    def predicate(self, op: IfOp | WhileOp) -> None:
        if (place := self.places.get(op.predicate)) is None:
            raise VerifyException(f"the predicate of {op.name} comes before it is defined")
        if all(loop.count for loop in self.loops) and place.root not in self.written:
            raise VerifyException(f"the predicate of {op.name} is read before anything has written it")

    def source(self, op: Operation, value: SSAValue) -> ByteSpan:
        if (place := self.places.get(value)) is None:
            what = "an element" if isinstance(op, StepOp) else "a view"
            raise VerifyException(f"{what} of {memref_of(value)} comes before its source")
        return place

    def step(self, op: StepOp) -> None:
        """An element of what is kept from one iteration of the loop to the next, and only inside of the loop."""
        if op.loop not in self.loops:
            raise VerifyException("expected a lir.step inside of its loop")
        owner = self.source(op, op.source).root.owner
        if isinstance(owner, SlotOp) and _is_inside(owner, op.loop):
            slot = memref_of(owner.result)
            raise VerifyException(f"the slot {slot} is local to one iteration of the loop of its lir.step")

    def launch(self, op: LaunchOp) -> None:
        if self.kernels is not None:
            _verify_call(op, self.kernels, self.kernel_writes)
        _verify_buffers(op, self.places)
        if all(loop.count for loop in self.loops):
            self.verify_written(op)
            places = [self.places[value] for value in op.writes]
            roots = [place.root for place in places if place.start < place.stop]
            self.written.update(roots)
            self.perhaps.difference_update(roots)

    def verify_written(self, op: LaunchOp) -> None:
        """What an iteration or branch reads, it has written before, or the program has before it, in every run."""
        for number, value in enumerate(op.reads if self.depth or self.perhaps else ()):
            place = self.places[value]
            if place.root in self.written or place.start == place.stop:
                # of what has no element nothing need be written
                continue
            buffer = f"buffer {number} of @{op.kernel.string_value()}"
            if place.root in self.perhaps:
                raise VerifyException(f"{buffer}, which is read, {_UNWRITTEN}")
            if self.depth:
                where = "loop" if self.loops else "branch"
                raise VerifyException(f"{buffer} is read in a {where} before anything has written it")


def _is_read_only(owner: Operation | Block) -> bool:
    return isinstance(owner, ConstantOp) or (isinstance(owner, InputOp | ParamOp) and not owner.is_written)


def _is_inside(op: Operation, loop: LoopOp) -> bool:
    parent = op.parent_op()
    return parent is loop or (parent is not None and _is_inside(parent, loop))


def _kernels(program: "ProgramOp") -> dict[str, KernelOp]:
    block = program.parent_block()
    return {op.sym_name.data: op for op in block.ops if isinstance(op, KernelOp)} if block is not None else {}


def _verify_arena(program: "ProgramOp", slots: Sequence[SlotOp]) -> None:
    alignment = 1 if program.alignment is None else program.alignment.value.data
    if not 1 <= alignment <= LARGEST_ALIGNMENT or alignment & (alignment - 1):
        raise VerifyException(f"alignment must be a power of two up to {LARGEST_ALIGNMENT}, got {alignment}")
    if program.arena_bytes is None:
        return
    arena = program.arena_bytes.value.data
    if not 0 <= arena <= LARGEST_BUFFER:
        raise VerifyException(f"arena_bytes must be from 0 to {LARGEST_BUFFER}, got {arena}")
    for slot in slots:
        if slot.at is None:
            continue
        start, type_ = slot.at.value.data, memref_of(slot.result)
        if start + byte_size(type_) > arena:
            end = start + byte_size(type_)
            raise VerifyException(f"the slot {type_} at {start} ends at {end}, the arena at {arena}")
        if start % alignment:
            raise VerifyException(f"the slot {type_} at {start} is not aligned to {alignment} bytes")


def _verify_call(launch: LaunchOp, kernels: dict[str, KernelOp], written: dict[str, frozenset[int]]) -> None:
    name = launch.kernel.string_value()
    kernel = kernels.get(name)
    if kernel is None:
        raise VerifyException(f"no lir.kernel is named @{name}")
    given = [value.type for value in launch.operands]
    expected = kernel.function_type.inputs.data[:-2]
    if len(given) != len(expected):
        raise VerifyException(f"@{name} takes {len(expected)} buffers, got {len(given)}")
    for number, (found, type_) in enumerate(zip(given, expected, strict=True)):
        if found != type_ and not _is_line(found, type_, launch.extent.value.data):
            raise VerifyException(f"buffer {number} of @{name} is {type_}, got {found}")
    for number in sorted(written[name]):
        if number < len(launch.reads):
            raise VerifyException(f"@{name} writes to its buffer {number}, which the launch only reads")


def _is_line(found: Attribute, expected: Attribute, extent: int) -> bool:
    """Whether a buffer is a line of the length that the launch gives to one that may have any."""
    if not isinstance(expected, MemRefType) or not is_any_length(line := cast(AnyMemRef, expected)):
        return False
    return found == MemRefType(line.element_type, [extent])


def _verify_buffers(launch: LaunchOp, places: dict[SSAValue, ByteSpan]) -> None:
    passed = list(launch.operands)
    for value in passed:
        if value not in places:
            raise VerifyException(f"@{launch.kernel.string_value()} gets a buffer before it is defined")
    for number, value in enumerate(launch.writes, len(launch.reads)):
        place = places[value]
        if _is_read_only(place.root.owner):
            assert isinstance(place.root.owner, Operation)
            raise VerifyException(f"@{launch.kernel.string_value()} would write to a {place.root.owner.name}")
        for other, read in enumerate(passed):
            if other != number and places[read].meets(place):
                raise VerifyException(
                    f"buffers {other} and {number} of @{launch.kernel.string_value()} overlap, and {number} is written"
                )


def _verify_live_slots(lives: Sequence[Life]) -> None:
    """Slots that are in use at the same time do not overlap."""
    live: list[_Interval] = []
    ends: list[tuple[int, _Interval]] = []
    for life in sorted((life for life in lives if life.first >= 0), key=lambda life: life.first):
        op = life.op
        if not isinstance(op, SlotOp) or op.at is None or not byte_size(memref_of(op.result)):
            continue
        while ends and ends[0][0] < life.first:
            live.remove(heappop(ends)[1])
        start, type_ = op.at.value.data, memref_of(op.result)
        interval = start, start + byte_size(type_), str(type_)
        _enter(live, interval)
        heappush(ends, (life.last, interval))


def _enter(live: list[_Interval], new: _Interval) -> None:
    """Add an interval to disjoint ones in order, of which only its neighbours can overlap it."""
    at = bisect(live, new)
    for start, stop, type_ in live[max(at - 1, 0) : at + 1]:
        if start < new[1] and new[0] < stop:
            raise VerifyException(
                f"the slots {type_} at {start} and {new[2]} at {new[0]} overlap and are in use at the same time"
            )
    insort(live, new)
