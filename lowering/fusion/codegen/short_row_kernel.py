"""Loop nests over rows too short to fill vectors: vectors go across the rows instead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation, SSAValue

from xdsl_rlx.dialects.lir.memory import element_bytes
from xdsl_rlx.dialects.lir.scalar_builder import Scalar
from xdsl_rlx.dialects.shapes import compute_type, element_of
from xdsl_rlx.lowering.fusion.analysis.loop_tables import REDUCTION
from xdsl_rlx.lowering.fusion.analysis.nesting import Reduces
from xdsl_rlx.lowering.fusion.codegen.accumulators import narrow_identity
from xdsl_rlx.lowering.fusion.codegen.group import LANE, Group
from xdsl_rlx.lowering.fusion.codegen.group_kernel import Frame
from xdsl_rlx.lowering.fusion.codegen.row_kernel import RowKernel
from xdsl_rlx.lowering.kernel_dsl.kernel_builder import Nest
from xdsl_rlx.transforms.scalar_cost import DEAR, scalar_cost


class Across(Enum):
    """Whether vectors go across the rows of a group."""

    NO = auto()
    UNLESS_UNROLLED = auto()
    """If the loops over a row are not unrolled."""
    YES = auto()


def across_rows(group: Group) -> Across:
    """Whether vectors go across the rows of a group."""
    if not _are_rows_short(group):
        return Across.NO
    if group.count(group.inner) < group.costs.min_short_row_elements:
        return Across.UNLESS_UNROLLED
    # the index of each loop is a remainder, which has no vectors
    return Across.YES if len(group.outer) == 1 else Across.NO


def _are_rows_short(group: Group) -> bool:
    """
    Whether vectors may go across the rows of a group: short ones, enough of them, and dear.

    Something else than a sum is needed of each, which takes long within a vector, and a function that is worth to bring
    elements from row to row side by side. What is reduced over all rows has to add up in any order.
    """
    kinds, costs = group.structure.kinds, group.costs
    chosen = [op for op, kind in kinds.items() if kind is Reduces.ROW and not REDUCTION.lookup(op).rounds]
    inner = group.count(group.inner)
    return (
        bool(chosen and group.outer)
        and all(kind is Reduces.ROW or REDUCTION.lookup(op).rounds for op, kind in kinds.items())
        and 2 <= inner <= costs.max_short_row_elements
        and inner * element_bytes(element_of(chosen[0].operands[0])) % costs.widest_vector_bytes != 0
        and group.count(group.outer) > costs.max_short_row_elements
        and any(scalar_cost(op) >= DEAR for op in group.ops if group.is_inner(op.results[0]))
    )


@dataclass(frozen=True)
class RowBlock:
    """A block of rows: the first one, and which numbers they have in the block."""

    first: SSAValue
    lanes: tuple[SSAValue, SSAValue]


class ShortRowKernel(RowKernel):
    """
    As a `RowKernel`, but each pass goes over a block of rows before the next one does: its innermost loop is over them.

    What a pass finds of each row waits in a buffer on the stack.
    """

    def build(self) -> None:
        """Emit products, accumulators, and the loop over blocks of rows."""
        self.lanes = (min(self.chunk, self.group.costs.sum_steps),)
        self.waiting: dict[SSAValue, SSAValue] = {}
        self.everywhere = frozenset(range(len(self.group.space.extents)))
        super().build()

    def over_rows(
        self, nest: Nest, bounds: tuple[SSAValue, SSAValue], carried: Sequence[SSAValue]
    ) -> Sequence[SSAValue]:
        """A loop over blocks of rows, and what it makes of the totals."""
        (most,) = self.lanes
        whole = self.is_exact and self.chunk % most == 0

        def block(inner: Nest, ends: tuple[SSAValue, SSAValue], values: Sequence[SSAValue]) -> Sequence[SSAValue]:
            scalars = inner.scalars
            count = self.kernel.index(most) if whole else (scalars.of(ends[1]) - scalars.of(ends[0])).value
            rows = RowBlock(ends[0], (self.kernel.index(0), count))
            totals = dict(zip(self._of_kind(Reduces.ALL), values, strict=True))
            for level in range(max(self.group.levels.values(), default=0) + 1):
                self._heads(inner, rows, level, totals)
                self._elements(inner, rows, level, totals)
            return list(totals.values())

        steps = self.group.costs.sum_steps
        is_block = self.chunk <= steps or any(acc.long for acc in self.accumulators.values())
        return block(nest, bounds, carried) if is_block else nest.blocks(bounds, steps, carried, block, whole)

    def _at(self, nest: Nest, lane: SSAValue, block: RowBlock, level: int, known: Mapping[int, SSAValue]) -> Frame:
        r = nest.scalars.of(block.first) + nest.scalars.of(lane)
        return Frame(nest, {**self.indices_of_row(nest, r.value), LANE: lane, **known}, self.top, level)

    def _heads(self, nest: Nest, block: RowBlock, level: int, totals: dict[Operation, SSAValue]) -> None:
        """What is known of each row before the elements of this level, and what reductions over these begin with."""
        group, kinds = self.group, self.group.structure.kinds
        known = [v for v in group.first_known(level) if not group.is_inner(v) and v not in self.top.values]
        made = [v for v in known if v.owner not in kinds]
        of_rows = [op.results[0] for op, kind in kinds.items() if kind is Reduces.ROW]
        reduced = [v for v in of_rows if v in known and v in self.stored]
        work = self.work_of(level)
        begun = () if work is None else work.rows
        alls = [op for op in group.reduced_at(level) if op in totals and not group.is_inner(op.operands[0])]
        if not (made or reduced or begun or alls):
            return

        def row(inner: Nest, lane: SSAValue, carried: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            frame = self._at(inner, lane, block, level, {})
            for value in (*made, *reduced):
                if value.owner not in kinds:
                    self._wait(frame, value, self.value(frame, value))
                if value in self.stored:
                    self.write(frame, value)
            for op in begun:
                self._wait(frame, op.results[0], narrow_identity(inner, op))
            return self.steps(frame, alls, carried)

        ends = nest.loop(block.lanes, [totals[op] for op in alls], row, "i")
        totals |= dict(zip(alls, ends, strict=True))

    def _elements(self, nest: Nest, block: RowBlock, level: int, totals: dict[Operation, SSAValue]) -> None:
        """The pass of this level over the elements of the rows, those of one place in all rows at a time."""
        work = self.work_of(level)
        if work is None:
            return

        def place(inner: Nest, known: Mapping[int, SSAValue], carried: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            def element(innermost: Nest, lane: SSAValue, values: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
                frame = self._at(innermost, lane, block, level, known)
                self.visit(frame, work)
                waiting = [self.waiting[op.results[0]] for op in work.rows]
                before = [innermost.load(buffer, [lane]).value for buffer in waiting]
                for buffer, after in zip(waiting, self.steps(frame, work.rows, before), strict=True):
                    innermost.store(innermost.scalars.of(after), buffer, [lane])
                return self.steps(frame, work.alls, values)

            return inner.loop(block.lanes, carried, element, "i")

        ends = self.over(nest, self.ranges_of_row(), {}, [totals[op] for op in work.alls], place)
        totals |= dict(zip(work.alls, ends, strict=True))

    def _wait(self, frame: Frame, value: SSAValue, x: Scalar) -> None:
        """Keep what is known of a row."""
        if value not in self.waiting:
            type_ = MemRefType(compute_type(element_of(value)), self.lanes)
            self.waiting[value] = self.kernel.scratch(type_, value.name_hint)
        frame.nest.store(x, self.waiting[value], [frame.indices[LANE]])

    def read(self, frame: Frame, value: SSAValue) -> Scalar | None:
        """As ever, but elements of rows, which lie apart, are brought side by side for later passes."""
        group = self.group
        if value not in self.access or group.loops_of[value] != self.everywhere:
            return super().read(frame, value)
        if value in self.scratch:
            return frame.nest.load(self.scratch[value], self.in_scratch(frame))
        x = super().read(frame, value)
        if x is not None and group.last_pass_reading(value) > frame.level:
            frame.values[value] = x
            self.save(frame, value)
        return x

    def read_back(self, frame: Frame, value: SSAValue) -> Scalar | None:
        """What waits of the row, or of its elements."""
        if value in self.waiting:
            return frame.nest.load(self.waiting[value], [frame.indices[LANE]])
        return super().read_back(frame, value)
