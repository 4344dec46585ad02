"""Kernels of groups with reductions over rows, or with matrix products: what the loops of `row_loops.py` do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import prod

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import SSAValue

from xdsl_rlx.dialects.lir.scalar_builder import Scalar
from xdsl_rlx.dialects.shapes import compute_type, element_of
from xdsl_rlx.lowering.fusion.analysis.nesting import Reduces, rows_of
from xdsl_rlx.lowering.fusion.codegen.accumulators import Accumulator, Reducer, most_steps
from xdsl_rlx.lowering.fusion.codegen.group import BATCH, LANE, ROW
from xdsl_rlx.lowering.fusion.codegen.group_kernel import GroupKernel, Totals
from xdsl_rlx.lowering.fusion.codegen.loop_frames import Frame, Range, Sums
from xdsl_rlx.lowering.fusion.codegen.row_loops import each_row, row_loops
from xdsl_rlx.lowering.kernel_dsl.kernel_builder import Nest


class Pass:
    """
    What one pass over a row does.

    First it computes what is `known` of the row by then, and adds it to the `row_totals`. Then it visits elements: it
    saves some for later passes, stores results, of which some replace products, and adds to `columns` and `reducers`.
    These reduce to the row (`row_reducers`) or to totals (`element_totals`).
    """

    def __init__(self, kernel: RowKernel, level: int):
        group, kinds = kernel.group, kernel.group.structure.kinds
        at_level, results = group.reduced_at(level), group.first_known(level)
        summed = [kernel.summed[op] for op in at_level if op in kernel.summed]
        of_all = [total.acc for total in summed if total in kernel.totals]
        inner = [v for v in results if group.is_inner(v)]
        self.level = level
        self.known = [v for v in results if v.owner not in kinds and v not in inner]
        self.row_totals = [acc for acc in of_all if not group.is_inner(acc.operand)]
        self.row_reducers = [Reducer(op) for op in at_level if kinds[op] is Reduces.ROW]
        self.element_totals = [acc for acc in of_all if acc not in self.row_totals]
        self.reducers = [*self.row_reducers, *self.element_totals]
        self.columns = [total for total in summed if total in kernel.columns]
        self.stores = [v for v in inner if v in kernel.stored]
        self.saves = [v for v in results if v in kernel.saved and v not in self.stores]
        destinations = [kernel.store_at[v][0] for v in self.stores]
        self.replaced = [v for v in kernel.made if kernel.access[v][0] in destinations]
        self.visits_elements = bool(self.reducers or self.columns or self.stores or self.saves)
        is_long = kernel.most_elements is not None and any(reducer.rule.rounds for reducer in self.reducers)
        self.most_elements = kernel.most_elements if is_long else None


class RowKernel(GroupKernel):
    """Rows [lo, hi): matrix products first, then for each row the passes of its levels."""

    row_linear = True
    loops = row_loops
    each_row = each_row

    lanes: Sequence[int] = ()
    """Rows at a time, for each of which a value is saved."""

    def prepare(self) -> None:
        """Decide which of the loops there are."""
        group, steps = self.group, self.group.costs.sum_steps
        self.scratch: dict[SSAValue, SSAValue] = {}
        names = [f"j{number}" for number in range(len(group.inner))] if len(group.inner) > 1 else ["j"]
        self.inner = [replace(r, name=name) for r, name in zip(self.ranges(group.inner), names, strict=False)]
        sizes = [r.size for r in self.inner]
        most = most_steps(sizes, group.costs)
        self.most_elements = most if prod(sizes) > most else None
        self.saved = group.saved
        self.passes = [Pass(self, level) for level in range(max(group.levels.values(), default=0) + 1)]
        self.is_batched = any(product.batched for product in self.products)
        is_long = any(acc.long for acc in self.accumulators)
        number = Range(BATCH if self.is_batched else ROW, self.kernel.bounds, self.chunk, "i", exact=False)
        if self.is_batched:
            loops = rows_of(group.products, group.space)
            assert loops is not None
            self.batch, self.row_loops, m = loops.batch, loops.row, group.count(loops.row)
            self.matrices, self.most_matrices = [number], steps // max(m, 1) if is_long and m <= steps else None
            index = self.kernel.index
            self.rows = [Range(ROW, (index(0), index(m)), m, "m", exact=False)] if loops.row else []
            self.most_rows = steps if is_long and m > steps else None
        else:
            self.rows, self.most_rows = [number], steps if is_long else None

    def early_values(self) -> Iterator[SSAValue]:
        group = self.group
        for op in group.ops:
            for result in op.results:
                early = group.space.extents and not group.level(result) and not group.loops_of[result]
                if early and op not in group.structure.kinds:
                    yield result

    def each_column(self, frame: Frame, columns: Sequence[Totals]) -> Iterator[tuple[Totals, Frame]]:
        for column in columns:
            acc = column.acc
            # what adds up the copies of many columns is much text, and runs once for many rows: in memory it is a loop
            is_rolled = 1 < acc.turns <= prod(acc.shape)
            ranges = [replace(r, rolled=is_rolled and r is self.inner[-1]) for r in self.inner]
            for at in frame.over(ranges):
                yield column, at

    def matrix(self, frame: Frame) -> Frame:
        """The frame of a matrix of the batch, by its number."""
        return frame.at(self._unravel(frame.nest, frame.indices[BATCH], self.batch))

    def row(self, frame: Frame) -> Frame:
        """The frame of a row, by its number, which is that in its matrix if there is a batch."""
        nest, group = frame.nest, self.group
        if not self.is_batched:
            row = frame.at(self._unravel(nest, frame.indices[ROW], group.outer))
        elif self.row_loops:
            i, s = frame.indices[ROW], nest.scalars
            number = s.of(frame.indices[BATCH]) * group.count(self.row_loops) + s.of(i)
            row = frame.at({**dict.fromkeys(self.row_loops, i), ROW: number.value})
        else:
            row = frame.at({ROW: frame.indices[BATCH]})
        for product in self.made:
            if not group.is_inner(product):
                self.value(row, product)
        return row

    def _unravel(self, nest: Nest, r: SSAValue, loops: Sequence[int]) -> dict[int, SSAValue]:
        """The index of each loop from the number of the row, or matrix."""
        indices: dict[int, SSAValue] = {}
        rest = r
        for loop in reversed(loops[1:]):
            extent = self.group.space.extents[loop]
            indices[loop] = nest.remainder(rest, extent)
            rest = nest.quotient(rest, extent)
        if loops:
            indices[loops[0]] = rest
        return indices

    def begin(self, row: Frame, work: Pass, totals: Sums) -> None:
        """What is known of a row before the elements of a pass; it is added to totals."""
        for value in work.known:
            self.value(row, value)
            if value in self.stored:
                self.write(row, value)
        for acc in work.row_totals:
            totals[acc] = acc.combine(row.nest, totals[acc], self.value(row, acc.operand).value)

    def visit(self, frame: Frame, work: Pass) -> None:
        """Store what a pass stores of one element, and add it to the columns."""
        for product in work.replaced:
            self.value(frame, product)
        for value in work.saves:
            self.save(frame, value)
        for value in work.stores:
            self.write(frame, value)
        for column in work.columns:
            column.add(frame)

    def end(self, row: Frame, work: Pass, sums: Sums, totals: Sums) -> None:
        """What is known of a row from the sums over its elements; those to all are added to totals."""
        s = row.nest.scalars
        for reducer in work.reducers:
            found = s.cast(s.of(sums[reducer]), reducer.element)
            if isinstance(reducer, Accumulator):
                totals[reducer] = reducer.combine(row.nest, totals[reducer], found.value)
                continue
            found.value.name_hint = reducer.result.name_hint
            row.values[reducer.result] = found
            if reducer.result in self.stored:
                self.write(row, reducer.result)

    def save(self, frame: Frame, value: SSAValue) -> None:
        """Keep an element of the row for later passes."""
        # before there is a buffer that it might be read from
        x = self.value(frame, value)
        if value not in self.scratch:
            shape = [*(r.size for r in self.inner), *self.lanes]
            type_ = MemRefType(compute_type(element_of(value)), shape)
            self.scratch[value] = self.kernel.scratch(type_, value.name_hint)
        frame.nest.store(x, self.scratch[value], self.in_scratch(frame))

    def in_scratch(self, frame: Frame) -> list[SSAValue]:
        """Where the element is kept."""
        lanes = [LANE] if self.lanes else []
        return [frame.indices[loop] for loop in (*self.group.inner, *lanes)]

    def read_back(self, frame: Frame, value: SSAValue) -> Scalar | None:
        """An element of the row from its scratch buffer, or from the output that an earlier pass has stored."""
        if value not in self.saved or self.group.level(value) >= frame.level:
            return None
        if value in self.scratch:
            return frame.nest.load(self.scratch[value], self.in_scratch(frame))
        buffer, dims = self.store_at[value]
        return frame.nest.load(buffer, self.indices(frame, dims))
