"""A fusion group as loops: class, level, access of each value. `row_kernel.py` and `column_kernel.py` build nests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod

from xdsl.ir import Operation, SSAValue
from xdsl.traits import ConstantLike
from xdsl.utils.exceptions import PassFailedException

from xdsl_rlx.lowering.buffers import Argument, Buffer, merge_axes
from xdsl_rlx.lowering.fuse.iteration_space import Reduces, Space, Structure, rows_of, structure_of
from xdsl_rlx.lowering.fuse.loop_tables import PRODUCT, StridedLayout
from xdsl_rlx.transforms.scalar_cost import scalar_cost

ROW, UNIT, BATCH, LANE = -1, -2, -3, -4
"""
Indices beside those of loops: the number of the row over all outer loops, a constant 0, the number of the matrix, the
number of the row in its block.
"""

RECOMPUTE_AT_MOST = 6
"""What a later pass over a row spends, in additions, on what its own pass does for a value, rather than reading it."""

RECOMPUTE_IN_ALL = 24
"""The same with what the value is made of in passes before its own."""

ENOUGH = 16
"""Iterations from which on a loop is cut into pieces, rather than one inside of it: lines of memory stay whole."""

MOST_SCRATCH = 1 << 16
"""Bytes that one value may take on the stack for a whole row."""


@dataclass(frozen=True)
class Group:
    """
    Ops that share a loop nest, where their operands are read and where their results are written.

    `reads` has the values that come from outside; `writes` those that are needed outside; `factors` the operands of
    matrix products, as BLAS reads them. The loops are numbered as in `space`; `outer` are those in front of the split.
    """

    ops: Sequence[Operation]
    reads: Mapping[SSAValue, Buffer]
    writes: Mapping[SSAValue, Buffer]
    factors: Mapping[SSAValue, Buffer]
    space: Space = field(init=False)
    structure: Structure = field(init=False)

    def __post_init__(self) -> None:
        members = [op for op in self.ops if not op.has_trait(ConstantLike)]
        space = Space.of_group(members) if members else None
        products = [op for op in members if PRODUCT.get(type(op)) is not None]
        rows = None if space is None else rows_of(products, space)
        split = rows and rows.split
        whole_rows = not products or rows is not None
        structure = structure_of(space, members, row_split=split) if space is not None and whole_rows else None
        if space is None or structure is None:
            names = ", ".join(dict.fromkeys(op.name for op in self.ops))
            raise PassFailedException(f"the ops of a fusion ({names}) do not share one loop nest")
        if split is None:
            space = self._merge_loops(space, structure)
            structure = structure_of(space, members)
            assert structure is not None
            if not structure.kinds and self._is_read_by_lines(space):
                structure = replace(structure, split=_first_of_many(space.extents))
        object.__setattr__(self, "space", space)
        object.__setattr__(self, "structure", structure)

    def _merge_loops(self, space: Space, structure: Structure) -> Space:
        """Take neighbouring loops as one where every value and every buffer allows it."""
        walls = {structure.split, *(structure.middle or ())} if structure.kinds else set[int]()
        buffers = {**self.reads, **self.writes}
        rank = len(space.extents)
        joined = [loop not in walls for loop in range(rank)]
        for value, axes in space.maps.items():
            layout = buffers[value].layout if value in buffers else None
            place = {loop: axis for axis, loop in enumerate(axes) if loop is not None}
            for loop in range(1, rank):
                if (loop - 1 in place) != (loop in place):
                    joined[loop] = False
                elif loop in place and layout is not None:
                    outer, inner = layout.strides[place[loop - 1]], layout.strides[place[loop]]
                    joined[loop] = joined[loop] and outer == inner * space.extents[loop]
        if not any(joined[1:]):
            return space
        number: list[int] = []
        extents: list[int] = []
        for loop, extent in enumerate(space.extents):
            if loop and joined[loop]:
                extents[-1] *= extent
            else:
                extents.append(extent)
            number.append(len(extents) - 1)
        maps: dict[SSAValue, tuple[int | None, ...]] = {}
        for value, axes in space.maps.items():
            merged = [loop for loop in axes if loop is not None]
            maps[value] = tuple(dict.fromkeys(number[loop] for loop in merged))
        object.__setattr__(self, "reads", self._merged_buffers(self.reads, space, maps, number, extents))
        object.__setattr__(self, "writes", self._merged_buffers(self.writes, space, maps, number, extents))
        return Space(tuple(extents), maps)

    def _is_read_by_lines(self, space: Space) -> bool:
        """Whether each result varies over all loops, and the last one goes from neighbour to neighbour in memory."""
        last = len(space.extents) - 1
        if 0 in space.extents or any(len(space.loops(value)) <= last for value in self.writes):
            return False
        buffers = {**self.reads, **self.writes}
        inside = [(axes, buffers[value]) for value, axes in space.maps.items() if value in buffers and last in axes]
        return all(buffer.layout.strides[axes.index(last)] <= 1 for axes, buffer in inside)

    @staticmethod
    def _merged_buffers(
        buffers: Mapping[SSAValue, Buffer],
        space: Space,
        maps: Mapping[SSAValue, tuple[int | None, ...]],
        number: Sequence[int],
        extents: Sequence[int],
    ) -> dict[SSAValue, Buffer]:
        merged: dict[SSAValue, Buffer] = {}
        for value, buffer in buffers.items():
            if value not in space.maps:
                merged[value] = buffer
                continue
            strides: dict[int, int] = {}
            for axis, loop in enumerate(space.maps[value]):
                if loop is not None:
                    strides[number[loop]] = buffer.layout.strides[axis]
            shape = tuple(extents[loop] for loop in strides)
            layout = StridedLayout(buffer.layout.offset, shape, tuple(strides.values()))
            merged[value] = Buffer(buffer.root, layout, buffer.element)
        return merged

    @property
    def outer(self) -> tuple[int, ...]:
        """The loops over rows."""
        return tuple(range(self.structure.split))

    @property
    def middle(self) -> tuple[int, ...]:
        """The loops of a column group that run sequentially outside the inner ones."""
        if self.structure.middle is None:
            return ()
        return tuple(range(*self.structure.middle))

    @property
    def inner(self) -> tuple[int, ...]:
        """The loops within a row."""
        first = self.structure.split if self.structure.middle is None else self.structure.middle[1]
        return tuple(range(first, len(self.space.extents)))

    def count(self, loops: Sequence[int]) -> int:
        """Iterations of some loops together."""
        return prod(self.space.extents[loop] for loop in loops)

    @cached_property
    def products(self) -> tuple[Operation, ...]:
        """The matrix products."""
        return tuple(op for op in self.ops if PRODUCT.get(type(op)) is not None)

    @cached_property
    def constants(self) -> tuple[Operation, ...]:
        """Constants, scalars to the kernel whatever their shape."""
        return tuple(op for op in self.ops if op.has_trait(ConstantLike))

    @cached_property
    def loops_of(self) -> Mapping[SSAValue, frozenset[int]]:
        """The loops that each value varies over; a constant varies over none."""
        loops = {value: self.space.loops(value) for value in self.space.maps}
        return loops | {op.results[0]: frozenset[int]() for op in self.constants}

    def is_inner(self, value: SSAValue) -> bool:
        """Whether the value varies within a row."""
        return any(loop >= self.structure.split for loop in self.loops_of[value])

    @cached_property
    def levels(self) -> Mapping[SSAValue, int]:
        """The pass over a row in which each value is first known."""
        levels: dict[SSAValue, int] = {}
        for op in self.ops:
            level = 0 if op in self.products else max((levels.get(operand, 0) for operand in op.operands), default=0)
            if self.structure.kinds.get(op) is Reduces.ROW:
                level += 1
            for result in op.results:
                levels[result] = level
        return levels

    def level(self, value: SSAValue) -> int:
        """The pass over a row in which a value is first known; 0 for what is read."""
        return self.levels.get(value, 0)

    def first_known(self, level: int) -> Sequence[SSAValue]:
        """The results that are first known in this pass over a row."""
        return self._results_by_level.get(level, ())

    def reduced_at(self, level: int) -> Sequence[Operation]:
        """The reductions of values that are first known in this pass over a row."""
        return self._reductions_by_level.get(level, ())

    @cached_property
    def _results_by_level(self) -> Mapping[int, Sequence[SSAValue]]:
        found: dict[int, list[SSAValue]] = {}
        for value, level in self.levels.items():
            found.setdefault(level, []).append(value)
        return found

    @cached_property
    def _reductions_by_level(self) -> Mapping[int, Sequence[Operation]]:
        found: dict[int, list[Operation]] = {}
        for op in self.ops:
            if op in self.structure.kinds:
                found.setdefault(self.level(op.operands[0]), []).append(op)
        return found

    def argument(self, buffer: Buffer, value: SSAValue, *, row_linear: bool) -> tuple[Argument, tuple[int, ...]]:
        """
        How a kernel sees a value's buffer: the argument, and what indexes each of its dimensions.

        With `row_linear`, a buffer that is evenly spaced along all outer loops is indexed by the number of the row.
        """
        axes = self.space.maps[value]
        dims = [loop for loop in axes if loop is not None]
        shape = [n for n, loop in zip(buffer.layout.shape, axes, strict=True) if loop is not None]
        strides = [s for s, loop in zip(buffer.layout.strides, axes, strict=True) if loop is not None]
        lead = len([loop for loop in dims if loop in self.outer])
        if row_linear and lead == len(self.outer) and lead > 1:
            stride = merge_axes(shape[:lead], strides[:lead])
            if stride is not None:
                shape[:lead], strides[:lead], dims[:lead] = [prod(shape[:lead])], [stride], [ROW]
        return Argument(buffer, tuple(shape), tuple(strides), value.name_hint), tuple(dims)

    @cached_property
    def saved(self) -> frozenset[SSAValue]:
        """Values within a row that later passes read back from scratch instead of computing them again."""
        if (
            not any(kind is Reduces.ROW for kind in self.structure.kinds.values())
            or self.scratch_row_bytes > MOST_SCRATCH
        ):
            return frozenset()
        cost: dict[SSAValue, int] = {}
        total: dict[SSAValue, int] = {}
        saved: set[SSAValue] = set()
        for op in self.ops:
            if op in self.products:
                continue
            operands = [operand for operand in dict.fromkeys(op.operands) if self.is_inner(operand)]
            for operand in operands:
                dear = cost.get(operand, 0) > RECOMPUTE_AT_MOST or total.get(operand, 0) > RECOMPUTE_IN_ALL
                if self.level(operand) < self.pass_of(op) and (operand in self.writes or dear):
                    saved.add(operand)
            for result in op.results:
                if self.is_inner(result):
                    own = scalar_cost(op)
                    cost[result] = own + sum(cost.get(o, 0) for o in operands if self.level(o) == self.level(result))
                    total[result] = own + sum(total.get(o, 0) for o in operands if o not in saved)
        return frozenset(saved)

    def pass_of(self, op: Operation) -> int:
        """The pass over a row that an op is part of."""
        level = self.level(op.results[0])
        return level - 1 if self.structure.kinds.get(op) is Reduces.ROW else level

    def last_pass_reading(self, value: SSAValue) -> int:
        """The last pass over a row in which a value of pass 0 is needed, also to compute other values again."""
        last: dict[SSAValue, int] = {}
        for op in reversed(self.ops):
            if op in self.products:
                continue
            at = self.pass_of(op)
            for result in op.results:
                if self.is_inner(result) and result not in self.saved:
                    at = max(at, last.get(result, 0))
            for operand in op.operands:
                last[operand] = max(last.get(operand, 0), at)
        return last.get(value, 0)

    @property
    def scratch_row_bytes(self) -> int:
        """Bytes of one value kept for a whole row."""
        return 8 * self.count(self.inner)


def _first_of_many(extents: Sequence[int]) -> int:
    """The first loop of iterations enough to be cut into pieces, or the last loop."""
    many = [loop for loop, extent in enumerate(extents) if extent >= ENOUGH]
    return many[0] if many else max(len(extents) - 1, 0)
