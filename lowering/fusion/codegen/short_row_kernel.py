"""Kernels of rows too short to fill vectors: vectors go across the rows instead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum, auto

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import SSAValue

from xdsl_rlx.dialects.lir.memory import element_bytes
from xdsl_rlx.dialects.lir.scalar_builder import Scalar
from xdsl_rlx.dialects.shapes import compute_type, element_of
from xdsl_rlx.lowering.fusion.analysis.loop_tables import REDUCTION
from xdsl_rlx.lowering.fusion.analysis.nesting import Reduces
from xdsl_rlx.lowering.fusion.codegen.group import LANE, ROW, Group
from xdsl_rlx.lowering.fusion.codegen.loop_frames import Frame, Range, Sums
from xdsl_rlx.lowering.fusion.codegen.row_kernel import Pass, RowKernel
from xdsl_rlx.lowering.fusion.codegen.row_loops import each_short_row
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


class ShortRowKernel(RowKernel):
    """
    As a `RowKernel`, but each pass goes over a block of rows before the next one does: its innermost loop is over them.

    What a pass finds of each row waits in a buffer on the stack.
    """

    each_row = each_short_row

    def prepare(self) -> None:
        """Decide which of the loops there are."""
        self.lanes = (min(self.chunk, self.group.costs.sum_steps),)
        self.waiting: dict[SSAValue, SSAValue] = {}
        self.everywhere = frozenset(range(len(self.group.space.extents)))
        super().prepare()

    def in_lanes(self, frame: Frame, rows: Sequence[Range], totals: Sums) -> Iterator[tuple[Frame, SSAValue, Range]]:
        """A loop over blocks of rows, if these are more than lanes: the first row of each, and the loop over lanes."""
        (most,), (all_rows,), steps = self.lanes, rows, self.group.costs.sum_steps
        whole = self.is_exact and self.chunk % most == 0
        is_block = self.chunk <= steps or any(acc.long for acc in self.accumulators)
        for block, some in [(frame, all_rows)] if is_block else frame.cut(all_rows, steps, whole, totals):
            s, (first, end) = block.nest.scalars, some.bounds
            count = self.kernel.index(most) if whole else (s.of(end) - s.of(first)).value
            yield block, first, Range(LANE, (self.kernel.index(0), count), most, "i")

    def lane(self, frame: Frame, first: SSAValue, work: Pass) -> Frame:
        """The frame of a row of a block in a pass, by the first row and the lane."""
        s = frame.nest.scalars
        r = (s.of(first) + s.of(frame.indices[LANE])).value
        return frame.at({**self._unravel(frame.nest, r, self.group.outer), ROW: r}, level=work.level)

    def begins(self, work: Pass) -> bool:
        """Whether anything is known of a row before the elements of a pass, or begins there."""
        return bool(self._known(work) or work.row_reducers or work.row_totals)

    def _known(self, work: Pass) -> Sequence[SSAValue]:
        """What is known of a row before the elements of a pass, and reductions of rows if these are stored."""
        results, kinds = self.group.first_known(work.level), self.group.structure.kinds
        of_rows = [op.results[0] for op, kind in kinds.items() if kind is Reduces.ROW]
        made = [value for value in work.known if value not in self.top.values]
        return made + [value for value in of_rows if value in results and value in self.stored]

    def begin_waiting(self, frame: Frame, work: Pass, sums: Sums) -> None:
        """Keep what is known of a row, and what its reductions begin with; it is added to the sums."""
        for value in self._known(work):
            if value.owner not in self.group.structure.kinds:
                self._wait(frame, value, self.value(frame, value))
            if value in self.stored:
                self.write(frame, value)
        for reducer in work.row_reducers:
            self._wait(frame, reducer.result, reducer.start(frame.nest, reducer.element))
        self.add(frame, sums)

    def visit_waiting(self, frame: Frame, work: Pass, sums: Sums) -> None:
        """Store what a pass stores of one element, and add it to the sum of its row, which waits, and to the sums."""
        self.visit(frame, work)
        nest, lane = frame.nest, [frame.indices[LANE]]
        of_row: Sums = {reducer: nest.load(self.waiting[reducer.result], lane).value for reducer in work.row_reducers}
        self.add(frame, of_row)
        for reducer, x in of_row.items():
            nest.store(nest.scalars.of(x), self.waiting[reducer.result], lane)
        self.add(frame, sums)

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
