"""A fusion group as loops: class, level, access of each value. `row_kernel.py` and `column_kernel.py` build nests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import TypeAlias

from xdsl.ir import Operation, SSAValue
from xdsl.traits import ConstantLike

from xdsl_rlx.lowering.buffers import Argument, Buffer, merge_axes
from xdsl_rlx.lowering.fusion.analysis.iteration_space import Space
from xdsl_rlx.lowering.fusion.analysis.loop_tables import PRODUCT
from xdsl_rlx.lowering.fusion.analysis.nesting import GroupLoops, Reduces, Structure
from xdsl_rlx.lowering.fusion.codegen.merging import Merging
from xdsl_rlx.lowering.target import GroupCosts
from xdsl_rlx.transforms.scalar_cost import scalar_cost

ROW, UNIT, BATCH, LANE = -1, -2, -3, -4
"""
Indices beside those of loops: the number of the row over all outer loops, a constant 0, the number of the matrix, the
number of the row in its block.
"""


@dataclass(frozen=True)
class Backwards:
    """The index of a dimension of a buffer from its last element on: `extent - 1` less the index of a loop."""

    loop: int
    extent: int


Dim: TypeAlias = int | Backwards
"""What indexes a dimension of a buffer: a loop, one of the indices above, or a loop backwards."""


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
    space: Space
    structure: Structure
    costs: GroupCosts

    @staticmethod
    def of(
        ops: Sequence[Operation],
        reads: Mapping[SSAValue, Buffer],
        writes: Mapping[SSAValue, Buffer],
        factors: Mapping[SSAValue, Buffer],
        loops: GroupLoops,
        costs: GroupCosts,
    ) -> Group:
        """The group, of which neighbouring loops are taken as one where every value and every buffer allows it."""
        space, structure = loops.space, loops.structure
        if any(PRODUCT.get(type(op)) is not None for op in ops):
            return Group(ops, reads, writes, factors, space, structure, costs)
        merging = Merging.of(space, structure, {**reads, **writes})
        reads = {value: merging.buffer(buffer, space.maps.get(value)) for value, buffer in reads.items()}
        writes = {value: merging.buffer(buffer, space.maps.get(value)) for value, buffer in writes.items()}
        space, structure = merging.space(space), merging.structure(structure)
        if not structure.kinds and _is_by_lines(space, reads, writes):
            structure = replace(structure, split=_first_of_many(space.extents, costs.min_cut_iterations))
        return Group(ops, reads, writes, factors, space, structure, costs)

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
        return max(self.loops_of[value], default=-1) >= self.structure.split

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

    def argument(self, buffer: Buffer, value: SSAValue, *, row_linear: bool) -> tuple[Argument, tuple[Dim, ...]]:
        """
        How a kernel sees a value's buffer: the argument, and what indexes each of its dimensions.

        A buffer that lies backwards is given from its first element in memory on.

        With `row_linear`, a buffer that is evenly spaced along all outer loops is indexed by the number of the row.
        """
        axes = self.space.maps[value]
        dims: list[Dim] = [loop for loop in axes if loop is not None]
        shape = [n for n, loop in zip(buffer.layout.shape, axes, strict=True) if loop is not None]
        strides = [s for s, loop in zip(buffer.layout.strides, axes, strict=True) if loop is not None]
        lead = len([loop for loop in dims if loop in self.outer])
        if row_linear and lead == len(self.outer) and lead > 1:
            stride = merge_axes(shape[:lead], strides[:lead])
            if stride is not None:
                shape[:lead], strides[:lead], dims[:lead] = [prod(shape[:lead])], [stride], [ROW]
        first = sum((n - 1) * min(s, 0) for n, s in zip(shape, strides, strict=True))
        for place, (extent, stride) in enumerate(zip(shape, strides, strict=True)):
            if stride < 0:
                loop = dims[place]
                assert isinstance(loop, int)
                dims[place], strides[place] = Backwards(loop, extent), -stride
        begin = replace(buffer, layout=replace(buffer.layout, offset=buffer.layout.offset + first))
        return Argument(begin, tuple(shape), tuple(strides), value.name_hint), tuple(dims)

    @cached_property
    def saved(self) -> frozenset[SSAValue]:
        """Values within a row that later passes read back from scratch instead of computing them again."""
        if (
            not any(kind is Reduces.ROW for kind in self.structure.kinds.values())
            or self.scratch_row_bytes > self.costs.max_row_scratch_bytes
        ):
            return frozenset()
        cost: dict[SSAValue, int] = {}
        total: dict[SSAValue, int] = {}
        saved: set[SSAValue] = set()
        most, most_in_all = self.costs.row_recompute_additions, self.costs.row_recompute_total_additions
        for op in self.ops:
            if op in self.products:
                continue
            operands = [operand for operand in dict.fromkeys(op.operands) if self.is_inner(operand)]
            for operand in operands:
                dear = cost.get(operand, 0) > most or total.get(operand, 0) > most_in_all
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


def _first_of_many(extents: Sequence[int], enough: int) -> int:
    """The first loop of iterations enough to be cut into pieces, or the last loop."""
    many = [loop for loop, extent in enumerate(extents) if extent >= enough]
    return many[0] if many else max(len(extents) - 1, 0)


def _is_by_lines(space: Space, reads: Mapping[SSAValue, Buffer], writes: Mapping[SSAValue, Buffer]) -> bool:
    """Whether each result varies over all loops, and the last one goes from neighbour to neighbour in memory."""
    last = len(space.extents) - 1
    if 0 in space.extents or any(len(space.loops(value)) <= last for value in writes):
        return False
    buffers = {**reads, **writes}
    inside = [(axes, buffers[value]) for value, axes in space.maps.items() if value in buffers and last in axes]
    return all(abs(buffer.layout.strides[axes.index(last)]) <= 1 for axes, buffer in inside)
