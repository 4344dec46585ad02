"""`lir-plan-memory`: a byte offset in the arena for every slot, so that slots that are never live together share."""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass, field
from math import inf

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from xdsl_rlx.dialects.lir import OutputOp, ProgramOp, SlotOp, ViewOp
from xdsl_rlx.dialects.lir.liveness import lives_of
from xdsl_rlx.dialects.lir.memory import byte_size, element_bytes
from xdsl_rlx.dialects.lir.program import memref_of
from xdsl_rlx.transforms.driver import verify_dominance


@dataclass(frozen=True)
class LirPlanMemoryPass(ModulePass):
    """
    Assign every `lir.slot` an offset in the arena, or a place in an output buffer.

    A slot is live from its first write to its last use, through any view; if it is declared outside of a loop that uses
    it, for the whole loop. Slots are placed largest first, each in the tightest gap between slots live at the same time
    (best fit). A slot that is dead before an output is first written can become a view of that output's buffer. The
    output then moves in front of it. Unused slots are erased.
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
    Memory that slots share: the arena, or the buffer of an output up to the launch that first writes it.

    `slots` are in the order of their places.
    """

    output: OutputOp | None
    size: float
    until: float
    declared: int = 0
    slots: list[_Slot] = field(default_factory=list[_Slot])

    def gap(self, slot: _Slot, alignment: int) -> int | None:
        """The tightest place for a slot, clear of all that are live with it; None if there is none."""
        if slot.last >= self.until:
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
    slots, outputs = _live_ranges(program)
    arena = _Room(None, inf, inf)
    rooms: dict[Attribute, list[_Room]] = {slot.element: [] for slot in slots}
    for room in sorted(outputs, key=lambda room: room.size):
        assert room.output is not None
        rooms.setdefault(memref_of(room.output.result).element_type, []).append(room)
    for slot in sorted(slots, key=lambda s: (-s.size, s.first)):
        for room in (*rooms[slot.element], arena):
            if (place := room.gap(slot, alignment)) is not None:
                room.take(slot, place)
                break
    for slot in arena.slots:
        slot.op.at = IntegerAttr(slot.at, i64)
    for room in outputs:
        for slot in room.slots:
            _move_into(slot, room)
    program.arena_bytes = IntegerAttr(max((s.at + s.size for s in arena.slots), default=0), i64)
    program.alignment = IntegerAttr(alignment, i64)


def _move_into(slot: _Slot, room: _Room) -> None:
    """Make a slot a view of an output's buffer."""
    output, block = room.output, slot.op.parent_block()
    assert output is not None and block is not None
    view = ViewOp(output.result, slot.at // element_bytes(slot.element), memref_of(slot.op.result))
    view.location = slot.op.location
    view.result.name_hint = slot.op.result.name_hint
    if slot.declared < room.declared:
        program = output.parent_block()
        assert program is not None
        output.detach()
        program.insert_op_before(output, _ancestor(slot.op, program))
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
    """The slots that launches use, and the outputs in the order of their first use, as room until then."""
    slots: list[_Slot] = []
    outputs: list[_Room] = []
    unused: list[SSAValue] = []
    for life in lives_of(program):
        op, type_ = life.op, memref_of(life.op.result)
        if isinstance(op, OutputOp):
            if life.first >= 0:
                outputs.append(_Room(op, byte_size(type_), life.first, life.declared))
        elif life.first < 0:
            unused.append(op.result)
        else:
            slots.append(_Slot(op, type_.element_type, byte_size(type_), life.declared, life.first, life.last))
    for value in unused:
        _erase(value)
    return sorted(slots, key=lambda slot: slot.declared), outputs


def _erase(value: SSAValue) -> None:
    """Remove a buffer that no launch uses, and all that is an alias of it."""
    for use in list(value.uses):
        _erase(use.operation.results[0])
    assert isinstance(value.owner, Operation)
    value.owner.detach()
    value.owner.erase()
