"""`lir-plan-memory`: a byte offset in the arena for every slot, so that slots that are never live together share."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from xdsl_rlx.dialects.lir import LaunchOp, ProgramOp, SlotOp, ViewOp
from xdsl_rlx.dialects.lir.memory import byte_size
from xdsl_rlx.dialects.lir.program import memref_of
from xdsl_rlx.transforms.driver import verify_dominance


@dataclass(frozen=True)
class LirPlanMemoryPass(ModulePass):
    """
    Give every `lir.slot` its place.

    A slot is live from the first launch that writes it to the last one that uses it, through any view. Largest first,
    each slot takes the tightest gap between the slots that are live with it (best fit). Slots nothing uses are erased.
    """

    name = "lir-plan-memory"

    alignment: int = 64

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
    size: int
    first: int
    last: int
    at: int = 0


def plan(program: ProgramOp, alignment: int) -> None:
    """Place the slots of one program and note the size of its arena."""
    slots = _live_ranges(program)
    placed: list[_Slot] = []
    for slot in sorted(slots, key=lambda s: (-s.size, s.first)):
        together = sorted((o for o in placed if o.first <= slot.last and slot.first <= o.last), key=lambda o: o.at)
        slot.at = _best_gap(slot.size, together, alignment)
        placed.append(slot)
    for slot in placed:
        slot.op.at = IntegerAttr(slot.at, i64)
    program.arena_bytes = IntegerAttr(max((s.at + s.size for s in placed), default=0), i64)
    program.alignment = IntegerAttr(alignment, i64)


def _best_gap(size: int, together: list[_Slot], alignment: int) -> int:
    best: tuple[int, int] | None = None
    free = 0
    for other in together:
        if (gap := other.at - free) >= size and (best is None or gap < best[0]):
            best = gap, free
        free = max(free, -(-(other.at + other.size) // alignment) * alignment)
    return free if best is None else best[1]


def _live_ranges(program: ProgramOp) -> list[_Slot]:
    roots: dict[SSAValue, SSAValue] = {}
    slots: dict[SSAValue, _Slot] = {}
    for time, op in enumerate(list(program.body.block.ops)):
        if isinstance(op, SlotOp):
            slots[op.result] = _Slot(op, byte_size(memref_of(op.result)), -1, -1)
            roots[op.result] = op.result
        elif isinstance(op, ViewOp) and op.source in roots:
            roots[op.result] = roots[op.source]
        elif isinstance(op, LaunchOp):
            for value in op.operands:
                if value in roots:
                    slot = slots[roots[value]]
                    slot.first = time if slot.first < 0 else slot.first
                    slot.last = time
    used = [slot for slot in slots.values() if slot.first >= 0]
    for slot in slots.values():
        if slot.first < 0:
            for use in list(slot.op.result.uses):
                use.operation.erase()
            slot.op.erase()
    return used
