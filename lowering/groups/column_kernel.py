"""Loop nests of elementwise groups and of reductions over columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from xdsl.ir import Operation, SSAValue

from xdsl_rlx.lowering.fuse.nesting import Reduces
from xdsl_rlx.lowering.groups.group import ROW, Group
from xdsl_rlx.lowering.groups.group_kernel import BLOCK, Accumulator, Frame, GroupKernel, Range, most_steps
from xdsl_rlx.lowering.groups.products import Product
from xdsl_rlx.lowering.nest.builder import Nest


class ColumnKernel(GroupKernel):
    """
    Elementwise groups and reductions over outer or middle loops: pieces of the columns (or of the loops in front of the
    reduced ones), and inside them the reduced loops around the columns. Matrix products of a single row come first.
    """

    row_linear = False

    def __init__(
        self,
        group: Group,
        chunk: int,
        accumulators: Sequence[Accumulator],
        cut: int | None,
        products: Sequence[Product] = (),
    ):
        """`cut` is the loop whose iterations a launch is given pieces of; `products` have one row, of these columns."""
        self.cut = cut
        super().__init__(group, chunk, accumulators, products)

    def build(self) -> None:
        """Emit the products, the loops in front, then the sequential ones, then the columns."""
        group, entry = self.group, self.kernel.entry
        top = Frame(entry, {ROW: self.kernel.index(0)} if self.products else {})
        for product in self.products:
            product.emit(entry, columns=self.kernel.bounds)
        for op in group.ops:
            for result in op.results:
                if not group.loops_of[result] and op not in self.accumulators:
                    self.value(top, result)
        kinds = group.structure.kinds
        totals = [op for op in self.accumulators if kinds[op] is Reduces.ALL]
        columns = [op for op in self.accumulators if kinds[op] is Reduces.COLUMN]
        long = [op for op in columns if self.accumulators[op].long]
        start = [self.accumulators[op].start(entry).value for op in totals]
        front, sequential = ((), group.outer) if group.structure.middle is None else (group.outer, group.middle)
        pieces = {op: self.piece(entry) for op, acc in self.accumulators.items() if acc.partial is not None}

        def clear(nest: Nest, known: Mapping[int, SSAValue]) -> None:
            def one(inner: Nest, at: Mapping[int, SSAValue], _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
                for op in columns:
                    self.clear_column(inner, op, self._column(op, at))
                return ()

            if columns:
                self.over(nest, self.ranges(group.inner), known, (), one)

        def flush(nest: Nest, known: Mapping[int, SSAValue]) -> None:
            def one(inner: Nest, at: Mapping[int, SSAValue], _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
                for op in long:
                    self.flush_column(inner, op, self._column(op, at))
                return ()

            self.over(nest, self.ranges(group.inner), known, (), one)

        def element(nest: Nest, at: Mapping[int, SSAValue], carried: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            frame = Frame(nest, {**top.indices, **at}, top)
            for product in self.products:
                self.value(frame, product.op.results[0])
            for value in self.stored:
                self.write(frame, value)
            for op in columns:
                self.accumulate_column(frame, op, None, self._column(op, at))
            return self.steps(frame, totals, carried)

        def sums(
            nest: Nest, at: Mapping[int, SSAValue], left: Sequence[Range], carried: tuple[SSAValue, ...]
        ) -> Sequence[SSAValue]:
            return self.widely(nest, totals, carried, lambda starts: self.over(nest, left, at, starts, element))

        def rows(
            nest: Nest, at: Mapping[int, SSAValue], left: Sequence[Range], carried: tuple[SSAValue, ...]
        ) -> Sequence[SSAValue]:
            both = [*left, *self.ranges(group.inner)]
            if any(self.accumulators[op].long for op in totals):
                ends = self.in_blocks(nest, both, most_steps([r.size for r in both]), at, carried, sums)
            else:
                ends = self.over(nest, both, at, carried, element)
            if long:
                flush(nest, at)
            return ends

        def body(nest: Nest, at: Mapping[int, SSAValue], carried: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            clear(nest, at)
            if long:
                return self.in_blocks(nest, self.ranges(sequential), BLOCK, at, carried, rows)
            return rows(nest, at, self.ranges(sequential), carried)

        ends = self.over(entry, self.ranges(front), {}, start, body)
        for op, end in zip(totals, ends, strict=True):
            at = [pieces[op]] if op in pieces else []
            entry.store(entry.scalars.of(end), self.totals[op], at)

    def _column(self, op: Operation, at: Mapping[int, SSAValue]) -> list[SSAValue]:
        first = [self.kernel.index(0)] if self.accumulators[op].partial is not None else []
        return [*first, *(at[loop] for loop in self.group.space.maps[op.results[0]] if loop is not None)]

    def own_column(self, nest: Nest, op: Operation, columns: Sequence[SSAValue]) -> Sequence[SSAValue]:
        """Where a kernel's own buffer, which begins with the piece, has these columns."""
        loops = [loop for loop in self.group.space.maps[op.results[0]] if loop is not None]
        first = nest.scalars.of(self.kernel.bounds[0])
        return [
            (nest.scalars.of(column) - first).value if loop == self.cut else column
            for loop, column in zip(loops, columns, strict=True)
        ]

    def ranges(self, loops: Sequence[int]) -> list[Range]:
        """Whole loops, of which the cut one runs over the piece only."""
        piece = self.kernel.bounds
        return [
            replace(r, bounds=piece, size=min(self.chunk, r.size), exact=self.is_exact) if r.loop == self.cut else r
            for r in super().ranges(loops)
        ]
