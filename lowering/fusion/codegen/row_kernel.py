"""Loop nests over rows: rows in parallel, several passes over a row, matrix products in front."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TypeAlias

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation, SSAValue

from xdsl_rlx.dialects.lir.scalar_builder import Scalar
from xdsl_rlx.dialects.shapes import compute_type, element_of
from xdsl_rlx.lowering.fusion.analysis.loop_tables import REDUCTION
from xdsl_rlx.lowering.fusion.analysis.nesting import Reduces, rows_of
from xdsl_rlx.lowering.fusion.codegen.accumulators import identity, most_steps, narrow_identity, wide_type
from xdsl_rlx.lowering.fusion.codegen.group import BATCH, LANE, ROW
from xdsl_rlx.lowering.fusion.codegen.group_kernel import Frame, GroupKernel, Range
from xdsl_rlx.lowering.kernel_dsl.kernel_builder import Nest

Step: TypeAlias = Callable[[Nest, SSAValue, tuple[SSAValue, ...]], Sequence[SSAValue]]
"""What one row, or the rows of one matrix, make of the totals."""

Walk: TypeAlias = Callable[[Nest, tuple[SSAValue, SSAValue], Sequence[SSAValue]], Sequence[SSAValue]]
"""What the rows of a range make of the totals."""


def _loop_of(step: Step, name: str) -> Walk:
    return lambda nest, bounds, carried: nest.loop(bounds, carried, step, name)


@dataclass(frozen=True)
class Pass:
    """
    What one pass over a row does: reductions of its elements to the row, to all and to the columns, results to store,
    values to save for later passes, and products that are replaced by what is stored.
    """

    rows: Sequence[Operation]
    alls: Sequence[Operation]
    columns: Sequence[Operation]
    stores: Sequence[SSAValue]
    saves: Sequence[SSAValue]
    replaced: Sequence[SSAValue]


class RowKernel(GroupKernel):
    """Rows [lo, hi): matrix products first, then for each row the passes of its levels."""

    row_linear = True

    lanes: Sequence[int] = ()
    """Rows at a time, for each of which a value is saved."""

    def build(self) -> None:
        """Emit products, accumulators, and the loop over rows."""
        group, kernel, entry = self.group, self.kernel, self.kernel.entry
        self.scratch: dict[SSAValue, SSAValue] = {}
        self.top = top = Frame(entry, {})
        for op in group.ops:
            for result in op.results:
                early = group.space.extents and not group.level(result) and not group.loops_of[result]
                if early and op not in group.structure.kinds:
                    self.value(top, result)
        self.partial = {op: acc.partial is not None for op, acc in self.accumulators.items()}
        piece = self.piece(entry) if any(self.partial.values()) else None
        self.pieces = {op: piece if partial else None for op, partial in self.partial.items()}
        for op in self._of_kind(Reduces.COLUMN):
            self._columns(entry, op, self.clear_column)
        totals = self._of_kind(Reduces.ALL)
        start = [self.accumulators[op].start(entry).value for op in totals]
        if any(product.batched for product in self.products):
            ends = self._batch(top, start)
        else:
            for product in self.products:
                product.emit(entry, self.factors[product.op], rows=kernel.bounds)

            ends = (
                self._rows(entry, kernel.bounds, group.costs.sum_steps, start, self.over_rows)
                if self.visits_elements
                else ()
            )
        for op, end in zip(totals, ends, strict=True):
            at = self.pieces[op]
            entry.store(entry.scalars.of(end), self.totals[op], [] if at is None else [at])

    def _of_kind(self, kind: Reduces) -> list[Operation]:
        return [op for op in self.accumulators if self.group.structure.kinds[op] is kind]

    def _batch(self, top: Frame, start: Sequence[SSAValue]) -> Sequence[SSAValue]:
        """For each matrix of the batch the products, then the loop over its rows."""
        group, kernel, entry = self.group, self.kernel, self.kernel.entry
        totals = self._of_kind(Reduces.ALL)
        loops = rows_of(group.products, group.space)
        assert loops is not None
        m = group.count(loops.row)

        def matrix(nest: Nest, r: SSAValue, carried: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            for product in self.products:
                product.emit(nest, self.factors[product.op], r)
            if not self.visits_elements:
                return ()
            around = self._unravel(nest, r, loops.batch)

            def row(inner: Nest, i: SSAValue, values: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
                own = dict.fromkeys(loops.row, i)
                at = {**around, **own, ROW: self._linear_row(inner, r, i, m) if own else r, BATCH: r}
                return self._row(Frame(inner, at, top), totals, values)

            if not loops.row:
                return row(nest, r, carried)
            bounds = kernel.index(0), kernel.index(m)
            return (
                self._rows(nest, bounds, group.costs.sum_steps, carried, _loop_of(row, "m"))
                if m > group.costs.sum_steps
                else nest.loop(bounds, carried, row, "m")
            )

        if m > group.costs.sum_steps:
            return entry.loop(kernel.bounds, start, matrix, "i")
        return self._rows(entry, kernel.bounds, group.costs.sum_steps // max(m, 1), start, _loop_of(matrix, "i"))

    def _rows(
        self,
        nest: Nest,
        bounds: tuple[SSAValue, SSAValue],
        block: int,
        carried: Sequence[SSAValue],
        walk: Walk,
    ) -> Sequence[SSAValue]:
        """A walk over rows; if reductions over them are long, in blocks of which each is added to the totals."""
        if not any(acc.long for acc in self.accumulators.values()):
            return walk(nest, bounds, carried)
        totals = self._of_kind(Reduces.ALL)

        def part(inner: Nest, ends: tuple[SSAValue, SSAValue], values: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            added = self.widely(inner, totals, values, lambda starts: walk(inner, ends, starts))
            for op in self._of_kind(Reduces.COLUMN):
                if self.accumulators[op].long:
                    self._columns(inner, op, self.flush_column)
            return added

        return nest.blocks(bounds, block, carried, part)

    def over_rows(
        self, nest: Nest, bounds: tuple[SSAValue, SSAValue], carried: Sequence[SSAValue]
    ) -> Sequence[SSAValue]:
        """A loop over rows, and what it makes of the totals."""
        totals = self._of_kind(Reduces.ALL)

        def row(inner: Nest, r: SSAValue, values: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            return self._row(Frame(inner, self.indices_of_row(inner, r), self.top), totals, values)

        return nest.loop(bounds, carried, row, "i")

    def _columns(self, nest: Nest, op: Operation, visit: Callable[[Nest, Operation, Sequence[SSAValue]], None]) -> None:
        """Visit every column of a reduction."""
        at = self.pieces[op]

        def column(inner: Nest, i: tuple[SSAValue, ...], _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            visit(inner, op, [*([] if at is None else [at]), *i])
            return ()

        # what adds up the copies of many columns is much text, and runs once for many rows: in memory it stays a loop
        is_rolled = 1 < (acc := self.accumulators[op]).turns <= prod(acc.shape)
        nest.loops(acc.shape, (), column, "j", rolled=is_rolled)

    @staticmethod
    def _linear_row(nest: Nest, batch: SSAValue, i: SSAValue, m: int) -> SSAValue:
        return (nest.scalars.of(batch) * m + nest.scalars.of(i)).value

    def indices_of_row(self, nest: Nest, r: SSAValue) -> dict[int, SSAValue]:
        """The indices of the outer loops, and the number of the row itself."""
        return {**self._unravel(nest, r, self.group.outer), ROW: r}

    def _unravel(self, nest: Nest, r: SSAValue, loops: Sequence[int]) -> dict[int, SSAValue]:
        """The index of each loop from the number of the row."""
        if len(loops) == 1:
            return {loops[0]: r}
        indices: dict[int, SSAValue] = {}
        rest = r
        for loop in reversed(loops[1:]):
            extent = self.group.space.extents[loop]
            indices[loop] = nest.remainder(rest, extent)
            rest = nest.quotient(rest, extent)
        if loops:
            indices[loops[0]] = rest
        return indices

    def _inner_extents(self) -> list[int]:
        return [self.group.space.extents[loop] for loop in self.group.inner]

    def _row(self, frame: Frame, scalars_of: Sequence[Operation], carried: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
        group = self.group
        totals = dict(zip(scalars_of, carried, strict=True))
        for product in self.products:
            if not group.is_inner(product.op.results[0]):
                self.value(frame, product.op.results[0])
        for level in range(max(group.levels.values(), default=0) + 1):
            for value in group.first_known(level):
                if value.owner not in group.structure.kinds and not group.is_inner(value):
                    self.value(frame, value)
                    if value in self.stored:
                        self.write(frame, value)
            for op in group.reduced_at(level):
                if op in totals and not group.is_inner(op.operands[0]):
                    totals[op] = self.combine(frame.nest, op, totals[op], self.value(frame, op.operands[0]))
            self._pass(frame, level, totals)
        return [totals[op] for op in scalars_of]

    def _pass(self, frame: Frame, level: int, totals: dict[Operation, SSAValue]) -> None:
        """One pass over the row: everything within it that is first known at this level."""
        work = self.work_of(level)
        if work is None:
            return
        reduced = [*work.rows, *work.alls]

        def element(nest: Nest, known: Mapping[int, SSAValue], carried: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            inner = Frame(nest, {**frame.indices, **known}, frame, level)
            self.visit(inner, work)
            return self.steps(inner, reduced, carried)

        for op, end in zip(reduced, self._within(frame.nest, reduced, element), strict=True):
            found = frame.nest.scalars.cast(frame.nest.scalars.of(end), compute_type(element_of(op.results[0])))
            if op in work.rows:
                (result,) = op.results
                found.value.name_hint = result.name_hint
                frame.values[result] = found
                if result in self.stored:
                    self.write(frame, result)
            else:
                totals[op] = self.combine(frame.nest, op, totals[op], found)

    def work_of(self, level: int) -> Pass | None:
        """What a pass over a row does, if anything."""
        group, kinds = self.group, self.group.structure.kinds
        at_level = group.reduced_at(level)
        results = group.first_known(level)
        stores = [v for v in results if v in self.stored and group.is_inner(v)]
        destinations = {self.store_at[v][0] for v in stores}
        work = Pass(
            [op for op in at_level if kinds[op] is Reduces.ROW],
            [op for op in at_level if kinds[op] is Reduces.ALL and group.is_inner(op.operands[0])],
            [op for op in at_level if kinds[op] is Reduces.COLUMN],
            stores,
            [v for v in results if v in group.saved and v not in stores],
            [p.op.results[0] for p in self.products if self.access[p.op.results[0]][0] in destinations],
        )
        return work if work.rows or work.alls or work.columns or work.stores or work.saves else None

    def visit(self, frame: Frame, work: Pass) -> None:
        """Store what a pass stores of one element, and add it to the columns."""
        for product in work.replaced:
            self.value(frame, product)
        for value in work.saves:
            self.save(frame, value)
        for value in work.stores:
            self.write(frame, value)
        for op in work.columns:
            at = [frame.indices[loop] for loop in self.group.inner]
            self.accumulate_column(frame, op, self.pieces[op], at)

    def _within(
        self,
        nest: Nest,
        reduced: Sequence[Operation],
        element: Callable[[Nest, Mapping[int, SSAValue], tuple[SSAValue, ...]], Sequence[SSAValue]],
    ) -> Sequence[SSAValue]:
        """The nest within a row, and what is reduced in it; in blocks if that is long."""
        ranges = self.ranges_of_row()
        most = most_steps([r.size for r in ranges], self.group.costs)
        long = prod(r.size for r in ranges) > most and any(REDUCTION.lookup(op).rounds for op in reduced)
        if not long:
            return self.over(nest, ranges, {}, [narrow_identity(nest, op).value for op in reduced], element)

        def part(
            inner: Nest, known: Mapping[int, SSAValue], left: Sequence[Range], totals: tuple[SSAValue, ...]
        ) -> Sequence[SSAValue]:
            return self.widely(inner, reduced, totals, lambda starts: self.over(inner, left, known, starts, element))

        totals = [identity(nest, op, wide_type(op)).value for op in reduced]
        return self.in_blocks(nest, ranges, most, {}, totals, part)

    def ranges_of_row(self) -> list[Range]:
        """The loops within a row."""
        inner = self.group.inner
        names = [f"j{number}" for number in range(len(inner))] if len(inner) > 1 else ["j"]
        return [replace(r, name=name) for r, name in zip(self.ranges(inner), names, strict=False)]

    def save(self, frame: Frame, value: SSAValue) -> None:
        """Keep an element of the row for later passes."""
        # before there is a buffer that it might be read from
        x = self.value(frame, value)
        if value not in self.scratch:
            shape = [*self._inner_extents(), *self.lanes]
            self.scratch[value] = self.kernel.scratch(
                MemRefType(compute_type(element_of(value)), shape), value.name_hint
            )
        frame.nest.store(x, self.scratch[value], self.in_scratch(frame))

    def in_scratch(self, frame: Frame) -> list[SSAValue]:
        """Where the element is kept."""
        lanes = [LANE] if self.lanes else []
        return [frame.indices[loop] for loop in (*self.group.inner, *lanes)]

    def read_back(self, frame: Frame, value: SSAValue) -> Scalar | None:
        """An element of the row from its scratch buffer, or from the output that an earlier pass has stored."""
        if value not in self.group.saved or self.group.level(value) >= frame.level:
            return None
        if value in self.scratch:
            return frame.nest.load(self.scratch[value], self.in_scratch(frame))
        buffer, dims = self.store_at[value]
        return frame.nest.load(buffer, self.indices(frame, dims))
