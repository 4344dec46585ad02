"""Loop nests over rows: rows in parallel, several passes over a row, matrix products in front."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation, SSAValue

from xdsl_rlx.dialects.shapes import element_of
from xdsl_rlx.lowering.group import BATCH, ROW
from xdsl_rlx.lowering.group_kernel import Frame, GroupKernel
from xdsl_rlx.lowering.nest import Nest
from xdsl_rlx.transforms.iteration_space import Reduces, rows_of
from xdsl_rlx.transforms.rules.lowering import REDUCTION, compute_type
from xdsl_rlx.transforms.scalar import Scalar


class RowKernel(GroupKernel):
    """Rows [lo, hi): matrix products first, then for each row the passes of its levels."""

    row_linear = True

    def build(self) -> None:
        """Emit products, accumulators, and the loop over rows."""
        group, kernel, entry = self.group, self.kernel, self.kernel.entry
        self.scratch: dict[SSAValue, SSAValue] = {}
        top = Frame(entry, {})
        for op in group.ops:
            for result in op.results:
                early = group.space.extents and not group.level(result) and not group.loops_of[result]
                if early and op not in group.structure.kinds:
                    self.value(top, result)
        self.partial = {op: acc.partial is not None for op, acc in self.accumulators.items()}
        piece = self.piece(entry) if any(self.partial.values()) else None
        self.pieces = {op: piece if partial else None for op, partial in self.partial.items()}
        self._clear_columns(entry)
        scalars_of = [op for op in self.accumulators if group.structure.kinds[op] is Reduces.ALL]
        start = [self.accumulators[op].identity(entry).value for op in scalars_of]
        batched = any(product.batched for product in self.products)
        if not batched:
            for product in self.products:
                product.emit(entry, None, kernel.bounds)

        def row(nest: Nest, r: SSAValue, carried: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            if not batched:
                return self._row(Frame(nest, {**self._unravel(nest, r, group.outer), ROW: r}, top), scalars_of, carried)
            for product in self.products:
                product.emit(nest, r, None)
            loops = rows_of(group.products, group.space)
            assert loops is not None
            rows, around = loops.row, self._unravel(nest, r, loops.batch)

            def each(inner: Nest, i: tuple[SSAValue, ...], values: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
                at = {**around, **dict(zip(rows, i, strict=True)), ROW: self._linear_row(inner, r, i, rows), BATCH: r}
                return self._row(Frame(inner, at, top), scalars_of, values)

            return nest.loops([group.space.extents[loop] for loop in rows], carried, each, "m")

        if self._has_row_work():
            ends = entry.loop(kernel.bounds, start, row, "i")
        elif batched:
            entry.loop(kernel.bounds, (), row, "i")
            ends = ()
        else:
            ends = ()
        for op, end in zip(scalars_of, ends, strict=True):
            at = self.pieces[op]
            entry.store(entry.scalars.of(end), self.targets[op], [] if at is None else [at])

    def _has_row_work(self) -> bool:
        return bool(self.stored or self.accumulators)

    def _linear_row(self, nest: Nest, batch: SSAValue, i: tuple[SSAValue, ...], rows: Sequence[int]) -> SSAValue:
        if not i:
            return batch
        (m,) = i
        scaled = nest.scalars.of(batch) * self.group.count(rows) + nest.scalars.of(m)
        return scaled.value

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

    def _clear_columns(self, entry: Nest) -> None:
        for op, acc in self.accumulators.items():
            if self.group.structure.kinds[op] is not Reduces.COLUMN:
                continue
            at = self.pieces[op]
            identity = acc.identity(entry)

            def clear(nest: Nest, i: tuple[SSAValue, ...], _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
                nest.store(nest.scalars.of(identity.value), self.targets[op], [*([] if at is None else [at]), *i])  # noqa: B023
                return ()

            entry.loops(acc.shape, (), clear, "j")

    def _row(self, frame: Frame, scalars_of: Sequence[Operation], carried: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
        group = self.group
        totals = dict(zip(scalars_of, carried, strict=True))
        for product in self.products:
            if not group.is_inner(product.op.results[0]):
                self.value(frame, product.op.results[0])
        last = max([group.level(v) for op in group.ops for v in op.results], default=0)
        for level in range(last + 1):
            for op in group.ops:
                for value in op.results:
                    if op in self.accumulators or op in group.structure.kinds:
                        continue
                    if group.level(value) == level and not group.is_inner(value):
                        self.value(frame, value)
                        if value in self.stored:
                            self.write(frame, value)
            for op in scalars_of:
                if group.level(op.operands[0]) == level and not group.is_inner(op.operands[0]):
                    totals[op] = self.combine(frame.nest, op, totals[op], self.value(frame, op.operands[0]))
            self._pass(frame, level, totals)
        return [totals[op] for op in scalars_of]

    def _pass(self, frame: Frame, level: int, totals: dict[Operation, SSAValue]) -> None:
        """One pass over the row: everything within it that is first known at this level."""
        group, kinds = self.group, self.group.structure.kinds
        at_level = [op for op in group.ops if op in kinds and group.level(op.operands[0]) == level]
        rows = [op for op in at_level if kinds[op] is Reduces.ROW]
        alls = [op for op in at_level if kinds[op] is Reduces.ALL and group.is_inner(op.operands[0])]
        columns = [op for op in at_level if kinds[op] is Reduces.COLUMN]
        results = [value for op in group.ops for value in op.results if group.level(value) == level]
        stores = [v for v in results if v in self.stored and group.is_inner(v)]
        saves = [v for v in results if v in group.saved and v not in stores]
        if not (rows or alls or columns or stores or saves):
            return
        reduced = [*rows, *alls]
        homes = {self.store_at[v][0] for v in stores}
        replaced = [p.op.results[0] for p in self.products if self.access[p.op.results[0]][0] in homes]
        start = [self._identity(frame.nest, op).value for op in reduced]

        def element(nest: Nest, i: tuple[SSAValue, ...], carried: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            inner = Frame(nest, {**frame.indices, **dict(zip(group.inner, i, strict=True))}, frame, level)
            for product in replaced:
                self.value(inner, product)
            for value in saves:
                self._save(inner, value, i)
            for value in stores:
                self.write(inner, value)
            for op in columns:
                self.accumulate_column(inner, op, self.pieces[op], i)
            return [
                self.combine(nest, op, acc, self.value(inner, op.operands[0]))
                for op, acc in zip(reduced, carried, strict=True)
            ]

        ends = frame.nest.loops(self._inner_extents(), start, element, "j")
        for op, end in zip(reduced, ends, strict=True):
            found = frame.nest.scalars.of(end)
            if op in rows:
                (result,) = op.results
                found.value.name_hint = result.name_hint
                frame.values[result] = found
                if result in self.stored:
                    self.write(frame, result)
            else:
                totals[op] = self.combine(frame.nest, op, totals[op], found)

    def _identity(self, nest: Nest, op: Operation) -> Scalar:
        element = compute_type(element_of(op.results[0]))
        return nest.scalars.const(REDUCTION.lookup(op).identity(element), element)

    def _save(self, frame: Frame, value: SSAValue, i: tuple[SSAValue, ...]) -> None:
        if value not in self.scratch:
            type_ = MemRefType(compute_type(element_of(value)), self._inner_extents())
            self.scratch[value] = self.kernel.scratch(type_, value.name_hint)
        frame.nest.store(self.value(frame, value), self.scratch[value], i)

    def read_back(self, frame: Frame, value: SSAValue) -> Scalar | None:
        """An element of the row from its scratch buffer, or from the output that an earlier pass has stored."""
        if value not in self.group.saved or self.group.level(value) >= frame.level:
            return None
        if value in self.scratch:
            return frame.nest.load(self.scratch[value], [frame.indices[loop] for loop in self.group.inner])
        buffer, dims = self.store_at[value]
        return frame.nest.load(buffer, self.indices(frame, dims))
