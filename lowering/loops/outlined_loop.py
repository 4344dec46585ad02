"""A loop over small launches as one kernel: whether it fits, what the kernel is given, and the loop inside of it.
Which loops are asked for is in `lir_outline_loops.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import TypeAlias

from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType, StringAttr
from xdsl.ir import SSAValue

from xdsl_rlx.dialects.lir import KernelOp, LaunchOp, LoopOp, SlotOp, StepOp, ViewOp
from xdsl_rlx.dialects.lir.memory import element_bytes, memref_of, strides_of
from xdsl_rlx.dialects.lir.places import ByteSpan, LoopMove
from xdsl_rlx.dialects.lir.scalar_builder import Scalar
from xdsl_rlx.lowering.kernel_dsl.kernel_builder import Kernel, Nest
from xdsl_rlx.lowering.loops.in_place import store_in_place
from xdsl_rlx.lowering.loops.inlining import BufferWindow, inline
from xdsl_rlx.lowering.loops.loop_parts import WHOLE, parts_of
from xdsl_rlx.lowering.loops.merge_loops import merge_loops
from xdsl_rlx.lowering.loops.outlined import BufferLine, Outlined
from xdsl_rlx.lowering.target import LoopCosts


class OutlinedLoop(Outlined):
    """One loop, and what is known of it."""

    def __init__(self, loop: LoopOp, taken: set[str], kernels: dict[str, KernelOp], costs: LoopCosts):
        self.loop = loop
        self.ops = list(loop.body.block.ops)
        super().__init__([op for op in self.ops if isinstance(op, LaunchOp)], taken, kernels, costs)
        self.swapped: dict[SSAValue, int] = {}
        self.parts = WHOLE
        self.own: dict[BufferLine, SSAValue] = {}
        """Of parts: the buffers of the kernel itself that stand for some lines."""

    def fits(self) -> bool:
        """Whether the loop can be a kernel, and is better as one."""
        if not self.launches or not self.loop.count:
            return False
        if not all(isinstance(op, LaunchOp | ViewOp | StepOp | SlotOp) for op in self.ops):
            return False
        if not self.can_be_one():
            return False
        if all(launch.chunk_count == 1 for launch in self.launches):
            self.swapped = self._find_swapped()
            return self.work() <= self.costs.max_iteration_work
        return self._fits_in_parts()

    def _fits_in_parts(self) -> bool:
        """The same for launches of several pieces. Carries must be small: to look for one costs as much as to wait."""
        work = self.work()
        parts = parts_of(self.launches, self.kernels, self.places)
        chunk, whole = self.costs.max_chunk_work, self.costs.max_chunk_loop_work
        if parts is None or max(work // chunk, self.loop.count * work // whole) >= parts.count:
            return False
        self.parts, self.swapped = parts, self._find_swapped()
        if not self._find_own().keys() >= self.swapped.keys():
            return False
        return not any(move.period and p.root not in self.swapped for p in self.places.values() for move in p.moves)

    def follows(self, step: StepOp) -> bool:
        return step.loop is self.loop

    def replace(self) -> KernelOp:
        """Put the launch of a kernel in the place of the loop."""
        loop, block = self.loop, self.loop.parent_block()
        assert block is not None
        written = dict.fromkeys(self.places[x].root for launch in self.launches for x in launch.writes)
        own = [line for lines in self._find_own().values() for line in lines]
        of_body = [op.result for op in self.ops if isinstance(op, SlotOp)]
        inner = [line for line in own if line.buffer in of_body]
        for slot in of_body:
            if all(line.buffer is not slot for line in inner):
                slot.owner.detach()
                block.insert_op_before(slot.owner, loop)
        lines = dict.fromkeys(line for place in self.places.values() for line in self._lines(place.root))
        lines = [line for line in lines if line not in inner]
        reads, writes = ([x for x in lines if (x.buffer in written) == wanted] for wanted in (False, True))
        views = [line.view(loop) for line in (*reads, *writes)]
        into = Kernel([memref_of(view) for view in views], [view.name_hint for view in views])
        args = dict(zip((*reads, *writes), into.block.args, strict=False))
        extent, chunk = self.parts.count, 1
        for line in own:
            type_ = MemRefType(memref_of(line.buffer).element_type, [line.size // extent])
            self.own[line] = into.scratch(type_, line.buffer.name_hint)
        if extent > 1:
            for inside, part in into.entry.over(into.bounds, "part"):
                self._part(inside, part, args)
        else:
            for inside, n in into.entry.over(into.bounds, "n"):
                self._iteration(inside, n, args, {})
            extent, chunk = loop.count, min(loop.count, max(1, self.costs.return_work // max(self.work(), 1)))
        into.close()
        into.op.sym_name = StringAttr(self.name("loop"))
        launch = LaunchOp(
            into.op.sym_name.data,
            extent,
            chunk,
            views[: len(reads)],
            views[len(reads) :],
            in_order=self.parts.count == 1 and chunk < extent,
        )
        launch.location = loop.location
        block.insert_op_before(launch, loop)
        loop.detach()
        loop.erase()
        return into.op

    def _find_own(self) -> dict[SSAValue, list[BufferLine]]:
        """
        The buffers instead of which each part has some of its own, carries first.

        They are small, and all iterations touch the same of them: all that one touches at a time is a place.
        """
        found: dict[SSAValue, list[BufferLine]] = {}
        if self.parts.count == 1:
            return found
        room = self.costs.private_carries_bytes * self.parts.count
        most = self.costs.private_carry_bytes * self.parts.count
        written = [self.places[value].root for launch in self.launches for value in launch.writes]
        for base in dict.fromkeys([*self.swapped, *written]):
            places, lines = [place for place in self.places.values() if place.root is base], self._lines(base)
            stays = all(move.period is not None and base in self.swapped for place in places for move in place.moves)
            size = lines[0].size * element_bytes(memref_of(base).element_type)
            whole = any(place.stop - place.start == size for place in places)
            if stays and whole and size <= most and size * len(lines) <= room:
                found[base] = lines
                room -= size * len(lines)
        return found

    def _find_swapped(self) -> dict[SSAValue, int]:
        """The buffers of two small halves that iterations read and write by turns, and their halves' elements."""
        found: dict[SSAValue, int] = {}
        for root in dict.fromkeys(self.places[value].root for launch in self.launches for value in launch.writes):
            type_ = memref_of(root)
            half, odd = divmod(prod(type_.get_shape()), 2)
            turning = [[m for m in p.moves if m.period is not None] for p in self.places.values() if p.root is root]
            by_turns = 2, half * element_bytes(type_.element_type)
            if (
                not odd
                and 0 < half <= self.costs.max_swapped_elements
                and all(len(moves) == 1 and (moves[0].period, moves[0].stride) == by_turns for moves in turning)
            ):
                found[root] = half
        return found

    def _lines(self, base: SSAValue) -> list[BufferLine]:
        if (half := self.swapped.get(base)) is not None:
            return [BufferLine(base, 0, half), BufferLine(base, half, half)]
        return [BufferLine.whole(base)]

    def _line(self, place: ByteSpan) -> BufferLine:
        """Where an element is in the first iteration, and in all of them if halves are swapped in between."""
        lines = self._lines(place.root)
        if len(lines) == 1:
            return lines[0]
        first = self.loop.count - 1 if self.loop.reverse is not None else 0
        (move,) = [move for move in place.moves if move.period is not None]
        return lines[(first + move.shift) % 2]

    def _part(self, nest: Nest, part: SSAValue, args: Mapping[BufferLine, SSAValue]) -> None:
        """All iterations of a part."""
        sizes = {*self.parts.apart.values(), *(line.size // self.parts.count for line in self.own)} - {0}
        ahead = {size: (nest.scalars.of(part) * size).value for size in sorted(sizes)}
        bounds = nest.kernel.index(0), nest.kernel.index(self.loop.count)

        def move(line: BufferLine, comes: bool) -> None:
            size = line.size // self.parts.count
            for inside, j in nest.times(size, "j"):
                s = inside.scalars
                places = [(args[line], (s.of(ahead[size]) + s.of(j)).value), (self.own[line], j)]
                (source, at), (to, there) = places if comes else reversed(places)
                value = inside.builder.insert(memref.LoadOp.get(source, [at])).res
                inside.builder.insert(memref.StoreOp.get(value, to, [there]))

        outer = [line for line in self.own if line in args]
        for line in outer:
            move(line, True)
        for inside, n in nest.over(bounds, "n"):
            self._iteration(inside, n, {**args, **self.own}, ahead)
        for line in outer:
            move(line, False)

    def _iteration(
        self, nest: Nest, n: SSAValue, args: Mapping[BufferLine, SSAValue], ahead: Mapping[int, SSAValue]
    ) -> None:
        """
        The kernels of an iteration, one behind the other; then its carries are handed on.

        `ahead` has where a part begins, by the elements that two parts are apart.
        """
        index = nest.scalars.of(n)
        if self.loop.reverse is not None:
            index = nest.scalars.of(nest.kernel.index(self.loop.count - 1)) - index
        moved: dict[tuple[LoopMove, int], Scalar] = {}
        for launch in self.launches:
            windows: list[BufferWindow] = []
            for value in launch.operands:
                place, size = self.places[value], element_bytes(memref_of(value).element_type)
                offset = nest.scalars.of(nest.kernel.index(place.start // size)) if place.start else None
                for move in place.moves:
                    if place.root in self.swapped and move.period is not None:
                        continue
                    if (move, size) not in moved:
                        moved[move, size] = _elements(nest, index, move, size)
                    offset = moved[move, size] if offset is None else offset + moved[move, size]
                if self._line(place) not in self.own and (apart := self.parts.apart.get(value, 0)):
                    begin = nest.scalars.of(ahead[apart])
                    offset = begin if offset is None else offset + begin
                start = None if offset is None else offset.value
                windows.append(BufferWindow(args[self._line(place)], start, strides_of(memref_of(value))))
            inline(self.kernel_of(launch), nest, windows, launch.extent.value.data // self.parts.count)
        merge_loops(nest)
        self._hand_on(nest, n, args)

    def _hand_on(self, nest: Nest, n: SSAValue, args: Mapping[BufferLine, SSAValue]) -> None:
        """
        What the next iteration reads is where this one has read; after the last, all is where the loop has it.

        Most carries are stored over those before. Of others the halves are swapped.
        """
        kept: list[_Halves] = []
        swapped: list[_Halves] = []
        for base, half in self.swapped.items():
            size, (a, b) = half // self.parts.count, (args[line] for line in self._lines(base))
            done = next((order for order in ((a, b), (b, a)) if store_in_place(nest, *order, size)), None)
            if done is None:
                swapped.append((size, a, b))
            else:
                kept.append((size, *done))

        def each(inside: Nest, halves: Sequence[_Halves], body: Callable[..., None]) -> None:
            for size, a, b in halves:
                for deep, j in inside.times(size, "j"):
                    body(deep, j, a, b)

        s, last = nest.scalars, self.loop.count - 1
        if last % 2:
            each(nest, swapped, _exchange)
            return
        if swapped:
            again = s.of(n) < s.of(nest.kernel.index(last))
            with nest.guard(again.value) as inside:
                each(inside, swapped, _exchange)
        if kept:
            ends = s.of(nest.kernel.index(last - 1)) < s.of(n)
            with nest.guard(ends.value) as inside:
                each(inside, kept, _copy)


_Halves: TypeAlias = tuple[int, SSAValue, SSAValue]
"""The elements of a half, and two halves."""


def _copy(nest: Nest, j: SSAValue, source: SSAValue, to: SSAValue) -> None:
    value = nest.builder.insert(memref.LoadOp.get(source, [j])).res
    nest.builder.insert(memref.StoreOp.get(value, to, [j]))


def _exchange(nest: Nest, j: SSAValue, a: SSAValue, b: SSAValue) -> None:
    first = nest.builder.insert(memref.LoadOp.get(a, [j])).res
    second = nest.builder.insert(memref.LoadOp.get(b, [j])).res
    nest.builder.insert(memref.StoreOp.get(second, a, [j]))
    nest.builder.insert(memref.StoreOp.get(first, b, [j]))


def _elements(nest: Nest, index: Scalar, move: LoopMove, size: int) -> Scalar:
    """How many elements of so many bytes a place is moved by in the iteration of that index."""
    s, kernel = nest.scalars, nest.kernel
    step = index + s.of(kernel.index(move.shift)) if move.shift else index
    if move.period is not None:
        step = s.rem(step, s.of(kernel.index(move.period)))
    return step * s.of(kernel.index(move.stride // size))
