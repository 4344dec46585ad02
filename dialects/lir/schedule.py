"""What a program may do with its buffers: places in the arena, what launches pass, which bytes meet.
What kernels do inside of their buffers is in `bounds.py`."""

from bisect import bisect, insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects.lir.kernel import KernelOp
from xdsl_rlx.dialects.lir.memory import LARGEST_BUFFER, byte_size, element_bytes, is_contiguous, span_elements
from xdsl_rlx.dialects.lir.program import (
    ConstantOp,
    InputOp,
    LaunchOp,
    ParamOp,
    ProgramOp,
    SlotOp,
    ViewOp,
    memref_of,
)

LARGEST_ALIGNMENT = 1 << 21
"""Bytes of a huge page; more is asked for by mistake."""


@dataclass(frozen=True)
class _Place:
    """Where a buffer lies: bytes `[start, stop)` of what `root` declares; `dense` when it takes all, and not none."""

    root: SSAValue
    start: int
    stop: int
    dense: bool

    def meets(self, other: "_Place") -> bool:
        """Whether bytes of both are surely the same."""
        return (
            self.root is other.root
            and self.dense
            and other.dense
            and self.start < other.stop
            and other.start < self.stop
        )


def verify_schedule(program: ProgramOp) -> None:
    """VerifyException for what a program declares or launches and cannot have; kernels are looked up in its module."""
    ops = list(program.body.block.ops)
    inputs = {op.buffer_name.data for op in ops if isinstance(op, InputOp)}
    for name in program.optional or ():
        if name.data not in inputs:
            raise VerifyException(f"'{name.data}' is optional, but no input is named so")
    _verify_arena(program, [op for op in ops if isinstance(op, SlotOp)])
    places: dict[SSAValue, _Place] = {}
    launches: list[LaunchOp] = []
    for op in ops:
        if isinstance(op, LaunchOp):
            launches.append(op)
        elif isinstance(op, ViewOp):
            places[op.result] = _view_place(op, places)
        else:
            (result,) = op.results
            size = byte_size(memref_of(result))
            places[result] = _Place(result, 0, size, size > 0)
    kernels = _kernels(program)
    written = {name: kernel.written for name, kernel in kernels.items()} if launches else {}
    for launch in launches:
        if kernels or isinstance(program.parent_op(), ModuleOp):
            _verify_call(launch, kernels, written)
        _verify_buffers(launch, places)
    _verify_live_slots(launches, places)


def _kernels(program: ProgramOp) -> dict[str, KernelOp]:
    block = program.parent_block()
    return {op.sym_name.data: op for op in block.ops if isinstance(op, KernelOp)} if block is not None else {}


def _verify_arena(program: ProgramOp, slots: Sequence[SlotOp]) -> None:
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


def _view_place(op: ViewOp, places: dict[SSAValue, _Place]) -> _Place:
    type_ = memref_of(op.result)
    source = places.get(op.source)
    if source is None:
        raise VerifyException(f"a view of {memref_of(op.source)} comes before what it is a view of")
    size = element_bytes(type_.element_type)
    start, span = source.start + op.offset.value.data * size, span_elements(type_) * size
    return _Place(source.root, start, start + span, span > 0 and is_contiguous(type_))


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
        if found != type_:
            raise VerifyException(f"buffer {number} of @{name} is {type_}, got {found}")
    for number in sorted(written[name]):
        if number < len(launch.reads):
            raise VerifyException(f"@{name} writes to its buffer {number}, which the launch only reads")


def _verify_buffers(launch: LaunchOp, places: dict[SSAValue, _Place]) -> None:
    passed = list(launch.operands)
    for value in passed:
        if value not in places:
            raise VerifyException(f"@{launch.kernel.string_value()} gets a buffer before it is defined")
    for number, value in enumerate(launch.writes, len(launch.reads)):
        place = places[value]
        if isinstance(place.root.owner, InputOp | ParamOp | ConstantOp):
            raise VerifyException(f"@{launch.kernel.string_value()} would write to a {place.root.owner.name}")
        for other, read in enumerate(passed):
            if other != number and places[read].meets(place):
                raise VerifyException(
                    f"buffers {other} and {number} of @{launch.kernel.string_value()} overlap, and {number} is written"
                )


def _verify_live_slots(launches: Sequence[LaunchOp], places: dict[SSAValue, _Place]) -> None:
    """A slot is live from the first launch that uses it to the last; slots that are live together do not overlap."""
    first: dict[SSAValue, int] = {}
    last: dict[SSAValue, int] = {}
    for time, launch in enumerate(launches):
        for slot in _slots(launch, places):
            first.setdefault(slot, time)
            last[slot] = time
    live: list[tuple[int, int, str]] = []
    for time, launch in enumerate(launches):
        used = dict.fromkeys(_slots(launch, places))
        for slot in used:
            if first[slot] == time:
                _enter(live, _interval(slot))
        for slot in used:
            if last[slot] == time:
                live.remove(_interval(slot))


def _slots(launch: LaunchOp, places: dict[SSAValue, _Place]) -> Iterator[SSAValue]:
    """The slots with a place, and bytes, that a launch uses."""
    for value in launch.operands:
        root = places[value].root
        if isinstance(root.owner, SlotOp) and root.owner.at is not None and byte_size(memref_of(root)):
            yield root


def _interval(slot: SSAValue) -> tuple[int, int, str]:
    assert isinstance(slot.owner, SlotOp) and slot.owner.at is not None
    start, type_ = slot.owner.at.value.data, memref_of(slot)
    return start, start + byte_size(type_), str(type_)


def _enter(live: list[tuple[int, int, str]], new: tuple[int, int, str]) -> None:
    """Add an interval to disjoint ones in order, of which only its neighbours can overlap it."""
    at = bisect(live, new)
    for start, stop, type_ in live[max(at - 1, 0) : at + 1]:
        if start < new[1] and new[0] < stop:
            raise VerifyException(
                f"the slots {type_} at {start} and {new[2]} at {new[0]} overlap and are in use at the same time"
            )
    insort(live, new)
