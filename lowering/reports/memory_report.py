"""Where the memory of a planned program goes: the slots of its arena, when they are in use, and what else it needs."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.utils.exceptions import PassFailedException

from xdsl_rlx.dialects import lir
from xdsl_rlx.dialects.lir.buffers import NamedBufferOp
from xdsl_rlx.dialects.lir.liveness import launches_of, lives_of
from xdsl_rlx.dialects.lir.memory import byte_size, memref_of
from xdsl_rlx.dialects.locations import where
from xdsl_rlx.dialects.shapes import DTYPE_NAMES
from xdsl_rlx.lowering.reports.text_tables import TextTable


@dataclass(frozen=True)
class SlotUse:
    """A buffer in the arena: `size` bytes at offset `at`, live from launch `first` to launch `last`, both inclusive."""

    name: str
    type: str
    at: int
    size: int
    first: int
    last: int
    computed: str
    """The kernel that computes it, and its source line or block, if known."""


@dataclass(frozen=True)
class MemoryReport:
    """The memory use of a program, in bytes."""

    name: str
    arena: int
    """All temporary buffers, with overlap of those whose lifetimes are disjoint."""
    unshared: int
    """The size of the arena without overlap."""
    inputs: int
    params: int
    outputs: int
    """Outputs that do not overwrite arguments."""
    constants: int
    donated: int
    """The number of donated arguments."""
    copied: int
    """The number of donated results that are computed in another buffer and copied to their argument at the end."""
    copied_bytes: int
    slots: tuple[SlotUse, ...]
    """The slots, the largest first."""
    fullest: int
    """The index of the launch with the most memory in use."""

    @property
    def at_fullest(self) -> tuple[SlotUse, ...]:
        """The slots in use during the launch with index `fullest`."""
        return tuple(slot for slot in self.slots if slot.first <= self.fullest <= slot.last)

    def __str__(self) -> str:
        donated = (
            f"donated arguments {self.donated}, of which {self.copied} copied at the end ({self.copied_bytes:,} bytes)"
        )
        lines = [
            f"@{self.name}: arena {self.arena:,} bytes ({self.unshared:,} if nothing shared), params {self.params:,}, "
            f"inputs {self.inputs:,}, outputs {self.outputs:,}, constants {self.constants:,}",
            *([donated] if self.donated else []),
            f"most in use during launch {self.fullest}:",
        ]
        rows = tuple(
            (f"{slot.at:,}", f"{slot.size:,}", f"{slot.first}-{slot.last}", f"{slot.name} {slot.type}", slot.computed)
            for slot in self.at_fullest
        )
        table = TextTable(("at", "bytes", "launches", "buffer", "computed by"), rows, frozenset((3, 4)))
        return "\n".join([*lines, *table.lines()])


def memory_report(module: ModuleOp) -> MemoryReport:
    """The report of the program of a planned module; PassFailedException if there is none."""
    programs = [op for op in module.ops if isinstance(op, lir.ProgramOp)]
    if len(programs) != 1 or (arena := programs[0].arena_bytes) is None:
        raise PassFailedException("expected a module with one planned lir.program")
    (program,) = programs
    launches = launches_of(program)
    times = [time for time, _ in launches]
    slots: list[SlotUse] = []
    for life in lives_of(program):
        if isinstance(life.op, lir.SlotOp) and life.op.at is not None and life.first >= 0:
            first, last = bisect_left(times, life.first), bisect_right(times, life.last) - 1
            slots.append(_use(life.op, life.op.at.value.data, first, last, launches[first][1]))
    slots.sort(key=lambda slot: (-slot.size, slot.at))
    held = [0] * (len(launches) + 1)
    for slot in slots:
        for number in range(slot.first, slot.last + 1):
            held[number] += slot.size
    inputs, params, outputs, constants = (
        sum(_bytes(op) for op in program.walk() if isinstance(op, kind)) for kind in _KINDS
    )
    updated = [op for op in program.walk() if isinstance(op, NamedBufferOp) and op.donated is not None]
    copied = [op for op in updated if op.copied_back is not None]
    return MemoryReport(
        program.sym_name.data,
        arena.value.data,
        sum(slot.size for slot in slots),
        inputs,
        params,
        outputs,
        constants,
        len(updated),
        len(copied),
        sum(map(_bytes, copied)),
        tuple(slots),
        max(range(len(held)), key=held.__getitem__),
    )


_KINDS: Sequence[type[Operation]] = (lir.InputOp, lir.ParamOp, lir.OutputOp, lir.ConstantOp)


def _use(slot: lir.SlotOp, at: int, first: int, last: int, launch: lir.LaunchOp) -> SlotUse:
    type_, known = memref_of(slot.result), buffer_type(slot)
    computed = f"{launch.kernel.string_value()}{where(launch)}"
    return SlotUse(f"%{slot.result.name_hint or ''}", known, at, byte_size(type_), first, last, computed)


def buffer_type(op: Operation) -> str:
    """The type of a buffer as callers know it: `f32[4, 3]`."""
    type_ = memref_of(op.results[0])
    return f"{DTYPE_NAMES.get(type_.element_type, type_.element_type)}[{', '.join(map(str, type_.get_shape()))}]"


def _bytes(op: Operation) -> int:
    return byte_size(memref_of(op.results[0]))
