"""`lir-plan-memory`: a byte offset in the arena for every slot, so that slots that are never live together share."""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from xdsl_rlx.dialects.lir import InputOp, OutputOp, ProgramOp, SlotOp, ViewOp
from xdsl_rlx.dialects.lir.liveness import lives_of
from xdsl_rlx.dialects.lir.memory import byte_size, element_bytes, memref_of
from xdsl_rlx.transforms.driver import verify_dominance


@dataclass(frozen=True)
class LirPlanMemoryPass(ModulePass):
    """
    Assign every `lir.slot` an offset in the arena, or a place in the buffer of an output or of a `scratch` input.

    A slot is live from its first write to its last use, through any view; if it is declared outside of a loop that uses
    it, for the whole loop. Slots are placed largest first, each in the tightest gap between slots live at the same time
    (best fit). A slot that is dead before an output is first written can become a view of that output's buffer. The
    output then moves in front of it. A slot that would enlarge the arena can become a view of a `scratch` input that
    has been read for the last time; inputs in which no slot lies are `scratch` no more. Unused slots are erased.
    """

    name = "lir-plan-memory"

    alignment: int = 64
    """Alignment of every slot in bytes."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.alignment < 1 or self.alignment & (self.alignment - 1):
            raise PassFailedException(f"alignment must be a power of two, got {self.alignment}")
        verify_dominance(op)
        for program in op.ops:
            if isinstance(program, ProgramOp):
                plan(program, self.alignment)


@dataclass
class _Slot:
    op: SlotOp
    element: Attribute
    size: int
    declared: int
    first: int
    last: int
    at: int = 0


@dataclass
class _Room:
    """
    Memory that slots share: the arena, the buffer of an output up to the launch that first writes it, or that of an
    input from the launch on that follows the last one that reads it.

    `slots` are in the order of their places.
    """

    buffer: OutputOp | InputOp | None
    size: float
    until: float = inf
    since: int = -1
    declared: int = 0
    slots: list[_Slot] = field(default_factory=list[_Slot])

    def gap(self, slot: _Slot, alignment: int) -> int | None:
        """The tightest place for a slot, clear of all that are live with it; None if there is none."""
        if slot.last >= self.until or slot.first < self.since:
            return None
        if slot.size > self.size:
            return None
        together = [o for o in self.slots if o.first <= slot.last and slot.first <= o.last]
        best: tuple[float, int] | None = None
        free = 0
        for other in together:
            if (room := other.at - free) >= slot.size and (best is None or room < best[0]):
                best = room, free
            free = max(free, -(-(other.at + other.size) // alignment) * alignment)
        if best is None and free + slot.size <= self.size:
            return free
        return None if best is None else best[1]

    def take(self, slot: _Slot, at: int) -> None:
        """Put a slot in its place."""
        slot.at = at
        insort(self.slots, slot, key=lambda s: s.at)


def plan(program: ProgramOp, alignment: int) -> None:
    """Place the slots of one program and note the size of its arena."""
    slots, buffers = _live_ranges(program)
    arena = _Room(None, 0)
    rooms = {element: _in_turn(element, buffers, arena) for element in {slot.element for slot in slots}}
    for slot in sorted(slots, key=lambda s: (-s.size, s.first)):
        found = ((room, room.gap(slot, alignment)) for room in rooms[slot.element])
        room, place = next(((room, place) for room, place in found if place is not None), (arena, None))
        if place is None:
            size, arena.size = arena.size, inf
            place = arena.gap(slot, alignment)
            assert place is not None
            arena.size = max(size, place + slot.size)
        room.take(slot, place)
    for slot in arena.slots:
        slot.op.at = IntegerAttr(slot.at, i64)
    for room in buffers:
        for slot in room.slots:
            _move_into(slot, room)
        if isinstance(room.buffer, InputOp) and not room.slots:
            room.buffer.scratch = None
    program.arena_bytes = IntegerAttr(int(arena.size), i64)
    program.alignment = IntegerAttr(alignment, i64)


def _in_turn(element: Attribute, buffers: Sequence[_Room], arena: _Room) -> list[_Room]:
    """The rooms for slots of an element type: outputs, the arena as it is, then inputs, which are rarely in a cache."""
    found: dict[type, list[_Room]] = {OutputOp: [], InputOp: []}
    for room in sorted(buffers, key=lambda room: room.size):
        assert room.buffer is not None
        if memref_of(room.buffer.result).element_type == element:
            found[type(room.buffer)].append(room)
    return [*found[OutputOp], arena, *found[InputOp]]


def _move_into(slot: _Slot, room: _Room) -> None:
    """Make a slot a view of a buffer that is none of the arena."""
    buffer, block = room.buffer, slot.op.parent_block()
    assert buffer is not None and block is not None
    view = ViewOp(buffer.result, slot.at // element_bytes(slot.element), memref_of(slot.op.result))
    view.location = slot.op.location
    view.result.name_hint = slot.op.result.name_hint
    if slot.declared < room.declared:
        program = buffer.parent_block()
        assert program is not None
        buffer.detach()
        program.insert_op_before(buffer, _ancestor(slot.op, program))
        room.declared = slot.declared
    block.insert_op_before(view, slot.op)
    slot.op.result.replace_all_uses_with(view.result)
    slot.op.detach()
    slot.op.erase()


def _ancestor(op: Operation, block: Block) -> Operation:
    """The op of a block in which an op is, or that it is."""
    while op.parent_block() is not block:
        parent = op.parent_op()
        assert parent is not None
        op = parent
    return op


def _live_ranges(program: ProgramOp) -> tuple[list[_Slot], list[_Room]]:
    """The slots that launches use, and buffers with room: outputs until their first use, inputs from their last one."""
    slots: list[_Slot] = []
    rooms: list[_Room] = []
    unused: list[SSAValue] = []
    for life in lives_of(program):
        op, type_ = life.op, memref_of(life.op.result)
        if isinstance(op, OutputOp):
            if life.first >= 0:
                rooms.append(_Room(op, byte_size(type_), life.first, declared=life.declared))
        elif isinstance(op, InputOp):
            rooms.append(_Room(op, byte_size(type_), since=life.last + 1, declared=life.declared))
        elif life.first < 0:
            unused.append(op.result)
        else:
            slots.append(_Slot(op, type_.element_type, byte_size(type_), life.declared, life.first, life.last))
    for value in unused:
        _erase(value)
    return sorted(slots, key=lambda slot: slot.declared), rooms


def _erase(value: SSAValue) -> None:
    """Remove a buffer that no launch uses, and all that is an alias of it."""
    for use in list(value.uses):
        _erase(use.operation.results[0])
    assert isinstance(value.owner, Operation)
    value.owner.detach()
    value.owner.erase()
