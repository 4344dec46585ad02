"""Loop nests of elementwise groups and of reductions over columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import cast

from xdsl.ir import Operation, SSAValue

from xdsl_rlx.dialects.lir import PrefetchOp
from xdsl_rlx.dialects.lir.memory import AnyMemRef, element_bytes, strides_of
from xdsl_rlx.dialects.lir.scalar_builder import Scalar
from xdsl_rlx.lowering.fusion.analysis.nesting import Reduces
from xdsl_rlx.lowering.fusion.codegen.accumulators import Accumulator, most_steps
from xdsl_rlx.lowering.fusion.codegen.group import ROW, Group
from xdsl_rlx.lowering.fusion.codegen.group_kernel import Frame, GroupKernel, Range
from xdsl_rlx.lowering.fusion.codegen.products import Product
from xdsl_rlx.lowering.fusion.codegen.transposed_tiles import TransposedTiles
from xdsl_rlx.lowering.kernel_dsl.kernel_builder import Nest
from xdsl_rlx.transforms.rules.rule_table import SCALAR
from xdsl_rlx.transforms.scalar_cost import scalar_cost

NOTHING: Mapping[SSAValue, Scalar] = {}


def _at_once(rows: Range, most: int) -> int:
    """How many rows a sum over columns adds up at a time: all of a few."""
    return rows.size if rows.exact and rows.size < 2 * most else min(rows.size, most)


class ColumnKernel(GroupKernel):
    """
    Elementwise groups and reductions over outer or middle loops: pieces of the columns (or of the loops in front of the
    reduced ones), and inside them the reduced loops around the columns. Matrix products come first: of a single row, or
    one product with nothing behind it.
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
        """`cut` is the loop whose iterations a launch is given pieces of; all rows of `products` have these columns."""
        self.cut = cut
        super().__init__(group, chunk, accumulators, products)

    def build(self) -> None:
        """Emit the products, the loops in front, then the sequential ones, then the columns."""
        group, entry = self.group, self.kernel.entry
        self.top = top = Frame(entry, {ROW: self.kernel.index(0)} if self.products else {})
        for product in self.products:
            product.emit(entry, self.factors[product.op], columns=self.kernel.bounds)
        if not self.visits_elements:
            return
        for op in group.ops:
            for result in op.results:
                if not group.loops_of[result] and op not in self.accumulators:
                    self.value(top, result)
        start = [self.accumulators[op].start(entry).value for op in self._totals]
        pieces = {op: self.piece(entry) for op, acc in self.accumulators.items() if acc.partial is not None}
        front = () if group.structure.middle is None else group.outer
        ends = self.over(entry, self.ranges(front), {}, start, self._columns)
        for op, end in zip(self._totals, ends, strict=True):
            at = [pieces[op]] if op in pieces else []
            entry.store(entry.scalars.of(end), self.totals[op], at)

    def over(
        self,
        nest: Nest,
        ranges: Sequence[Range],
        known: Mapping[int, SSAValue],
        carried: Sequence[SSAValue],
        body: Callable[[Nest, Mapping[int, SSAValue], tuple[SSAValue, ...]], Sequence[SSAValue]],
    ) -> Sequence[SSAValue]:
        """A nest over `ranges`; rows that are cut out of longer ones are prefetched."""
        if len(ranges) == 1 and not self.accumulators:
            for buffer, dims in self.access.values():
                if len(dims) > 1 and dims[-1] == ranges[0].loop and all(dim in known for dim in dims[:-1]):
                    self._prefetch(nest, buffer, [known[dim] for dim in dims[:-1] if isinstance(dim, int)])
        return super().over(nest, ranges, known, carried, body)

    def _prefetch(self, nest: Nest, buffer: SSAValue, row: Sequence[SSAValue]) -> None:
        """Prefetch a later row of a buffer, if it has gaps between rows that are long enough."""
        type_, costs = cast("AnyMemRef", buffer.type), self.group.costs
        (*_, rows, columns), (*_, pitch, step) = type_.get_shape(), strides_of(type_)
        each = element_bytes(type_.element_type)
        if pitch <= columns or step != 1 or rows * pitch * each < costs.l2_bytes:
            return
        if not costs.min_prefetched_row_bytes <= columns * each <= costs.max_prefetched_row_bytes:
            return
        s, index = nest.scalars, self.kernel.index
        *front, number = row
        later = s.minimum(
            s.of(number) + -(-costs.prefetch_distance_bytes // (pitch * each)), s.of(index(rows - 1))
        ).value
        for column in range(0, columns, costs.line_bytes // each):
            nest.builder.insert(PrefetchOp(buffer, [*front, later, index(column)]))

    @cached_property
    def _totals(self) -> list[Operation]:
        return [op for op in self.accumulators if self.group.structure.kinds[op] is Reduces.ALL]

    @cached_property
    def _sums(self) -> list[Operation]:
        return [op for op in self.accumulators if self.group.structure.kinds[op] is Reduces.COLUMN]

    @cached_property
    def _long(self) -> list[Operation]:
        return [op for op in self._sums if self.accumulators[op].long]

    @cached_property
    def _kept(self) -> list[Operation]:
        return [op for op in self._sums if self.accumulators[op].own_totals is not None]

    def _columns(self, nest: Nest, at: Mapping[int, SSAValue], carried: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
        """The sums of all columns, where the loops in front are: cleared, then added to in blocks if they are long."""
        group = self.group
        sequential = self.ranges(group.outer if group.structure.middle is None else group.middle)
        if not self._adds_all_rows(sequential):
            self._each_column(nest, at, self._sums, self.clear_column)
        if self._long:
            ends = self.in_blocks(nest, sequential, group.costs.sum_steps, at, carried, self._rows)
        else:
            ends = self._rows(nest, at, sequential, carried)
        self._each_column(nest, at, self._kept, self.finish_column)
        return ends

    def _each_column(
        self,
        nest: Nest,
        known: Mapping[int, SSAValue],
        ops: Sequence[Operation],
        visit: Callable[[Nest, Operation, Sequence[SSAValue]], None],
    ) -> None:
        """Visit the columns of reductions, if there are any."""

        def one(inner: Nest, at: Mapping[int, SSAValue], _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            for op in ops:
                visit(inner, op, self._column(op, at))
            return ()

        if ops:
            self.over(nest, self.ranges(self.group.inner), known, (), one)

    def _rows(
        self, nest: Nest, at: Mapping[int, SSAValue], left: Sequence[Range], carried: tuple[SSAValue, ...]
    ) -> Sequence[SSAValue]:
        """All columns of these rows; if their totals are long, in blocks of which each is added to them."""
        both = self._neighbours_last([*left, *self.ranges(self.group.inner)])

        def sums(
            nest: Nest, at: Mapping[int, SSAValue], left: Sequence[Range], carried: tuple[SSAValue, ...]
        ) -> Sequence[SSAValue]:
            return self.widely(
                nest, self._totals, carried, lambda starts: self.over(nest, left, at, starts, self._element)
            )

        if self._adds_rows(left):
            ends = self._in_groups_of_rows(nest, at, left)
        elif (along := self._read_across(both)) is not None:
            ends = self._in_strips(nest, both, along, at, carried)
        elif any(self.accumulators[op].long for op in self._totals):
            ends = self.in_blocks(nest, both, most_steps([r.size for r in both], self.group.costs), at, carried, sums)
        else:
            ends = self.over(nest, both, at, carried, self._element)
        self._each_column(nest, at, self._long, self.flush_column)
        return ends

    def _adds_rows(self, rows: Sequence[Range]) -> bool:
        """Whether this is nothing but sums over columns, of a few values, with rows and columns enough."""
        if self._totals or self.stored or self.products or not self._sums or not rows:
            return False
        inner, group, costs = self.ranges(self.group.inner), self.group, self.group.costs
        if not inner or inner[-1].size < costs.sum_lanes or _at_once(rows[-1], costs.column_sum_rows) <= 1:
            return False
        if len(group.reads) > costs.max_column_sum_reads:
            return False
        additions = sum(scalar_cost(op) for op in group.ops if SCALAR.get(type(op)) is not None)
        return additions <= costs.max_column_sum_additions

    def _adds_all_rows(self, rows: Sequence[Range]) -> bool:
        """Whether all rows are added up at a time, so that the sum needs no total to begin with."""
        if len(rows) != 1 or not rows[0].exact or not self._adds_rows(rows):
            return False
        is_whole = rows[0].loop != self.cut and _at_once(rows[0], self.group.costs.column_sum_rows) == rows[0].size
        return is_whole and all(self.accumulators[op].is_result for op in self._sums)

    def _in_groups_of_rows(self, nest: Nest, at: Mapping[int, SSAValue], rows: Sequence[Range]) -> Sequence[SSAValue]:
        """Sums over columns, to which some rows at a time are added, and then those that are left."""
        *outer, last = rows
        columns = self.ranges(self.group.inner)
        count, are_all = _at_once(last, self.group.costs.column_sum_rows), self._adds_all_rows(rows)

        def groups(inner: Nest, known: Mapping[int, SSAValue], _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            s = inner.scalars
            first, end = (s.of(bound) for bound in last.bounds)
            is_whole = last.exact and last.size % count == 0
            middle = last.bounds[1]
            if not is_whole:
                middle = (first + s.of(inner.quotient((end - first).value, count)) * count).value

            def some(deep: Nest, row: SSAValue, _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
                numbers = [row, *((deep.scalars.of(row) + n).value for n in range(1, count))]
                of_rows = [{**known, last.loop: number} for number in numbers]
                return self.over(deep, columns, known, (), lambda n, i, _: self._add_rows(n, of_rows, i, are_all))

            inner.loop((last.bounds[0], middle), (), some, last.name, step=count)
            if not is_whole:
                left = replace(last, bounds=(middle, last.bounds[1]), size=count - 1, exact=False)
                self.over(inner, [left, *columns], known, (), self._element)
            return ()

        return self.over(nest, outer, at, (), groups)

    def _add_rows(
        self, nest: Nest, rows: Sequence[Mapping[int, SSAValue]], columns: Mapping[int, SSAValue], are_all: bool
    ) -> Sequence[SSAValue]:
        """Add the elements of some rows in one column to its totals, or of all rows to nothing."""
        frames = [self._frame(nest, {**columns, **row}) for row in rows]
        # all elements before the first total: what one sum adds up, another one may compute with
        elements = [[self.value(frame, op.operands[0]) for frame in frames] for op in self._sums]
        for op, found in zip(self._sums, elements, strict=True):
            while len(found) > 1:
                sums = [self.combine(nest, op, x.value, y) for x, y in zip(found[::2], found[1::2], strict=False)]
                found = [nest.scalars.of(x) for x in sums] + found[2 * len(sums) :]
            frames[0].values[op.operands[0]] = found[0]
            column = self._column(op, frames[0].indices)
            if are_all:
                nest.store(found[0], self.targets[op], column)
            else:
                self.accumulate_column(frames[0], op, None, column)
        return ()

    def _read_across(self, ranges: Sequence[Range]) -> Range | None:
        """The loop over neighbours of a value that the columns are far apart in, if any order of the loops will do."""
        group, costs = self.group, self.group.costs
        if group.structure.kinds or self.products or not ranges or ranges[-1].size < 2 * costs.strip_columns:
            return None
        columns = ranges[-1].loop
        for one in ranges[:-1]:
            if one.size >= costs.min_strip_rows and any(self._across(columns, one.loop)):
                return one
        return None

    def _in_strips(
        self,
        nest: Nest,
        ranges: Sequence[Range],
        along: Range,
        at: Mapping[int, SSAValue],
        carried: tuple[SSAValue, ...],
    ) -> Sequence[SSAValue]:
        """
        Some columns after the others, each time with the loop `along` neighbours around them.

        What is read across is transposed in the first cache, some rows at a time.
        """
        *others, columns = (one for one in ranges if one is not along)
        widest = max(element_bytes(buffer.element) for buffer in self.group.writes.values())
        costs = self.group.costs
        strip = min(costs.strip_columns, costs.line_bytes // widest)
        across = {value: self.group.reads[value] for value in self._across(columns.loop, along.loop)}
        tiles = TransposedTiles(self.kernel, strip, across, costs)
        for value, argument in across.items():
            buffer, dims = self.access[value]
            tiles.add(value, buffer, argument, lambda n, i, dims=dims: self.indices(self._frame(n, i), dims))
        exact = columns.exact and columns.size % strip == 0, along.exact and along.size % tiles.rows == 0

        def strips(inner: Nest, known: Mapping[int, SSAValue], values: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            def one(deep: Nest, ends: tuple[SSAValue, SSAValue], v: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
                some = replace(columns, bounds=ends, size=strip, exact=exact[0])

                def rows(n: Nest, ends: tuple[SSAValue, SSAValue], v: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
                    both = replace(along, bounds=ends, size=tiles.rows, exact=exact[1]), some
                    tiles.fill(n, *both, columns.bounds[1], known)
                    return self.over(
                        n, both, known, v, lambda n, i, v: self._element(n, i, v, tiles.values(n, i, both))
                    )

                return deep.blocks(along.bounds, tiles.rows, v, rows, exact=exact[1])

            return inner.blocks(columns.bounds, strip, values, one, exact=exact[0])

        return self.over(nest, others, at, carried, strips)

    def _across(self, columns: int, along: int) -> Iterator[SSAValue]:
        """The values whose neighbours lie along the one loop, and that are read across, along the other one."""
        for value, buffer in self.group.reads.items():
            axes, strides = self.group.space.maps.get(value, ()), buffer.layout.strides
            if {columns, along} <= {*axes} and strides[axes.index(along)] == 1 and strides[axes.index(columns)]:
                yield value

    def _neighbours_last(self, ranges: Sequence[Range]) -> list[Range]:
        """
        Loops with those last that are few steps over neighbours of a value that is read, if any order will do.

        Written out, they read or write every n-th element of several lines at once, which compilers do in vectors.
        """
        group = self.group
        if group.structure.kinds or self.products or not ranges or ranges[-1].size < group.costs.sum_lanes:
            return list(ranges)

        def is_over_neighbours(one: Range) -> bool:
            if one.size > group.costs.max_gathered_steps or one.loop == self.cut:
                return False
            read = ((group.space.maps.get(value, ()), buffer.layout.strides) for value, buffer in group.reads.items())
            return any(one.loop in axes and strides[axes.index(one.loop)] == 1 for axes, strides in read)

        few = [one for one in ranges if is_over_neighbours(one)]
        return [*(one for one in ranges if one not in few), *few]

    def _element(
        self,
        nest: Nest,
        at: Mapping[int, SSAValue],
        carried: tuple[SSAValue, ...],
        known: Mapping[SSAValue, Scalar] = NOTHING,
    ) -> Sequence[SSAValue]:
        """One element of a row: what is stored of it, and what is added to the sums; some values are known."""
        frame = self._frame(nest, at)
        frame.values.update(known)
        for product in self.products:
            self.value(frame, product.op.results[0])
        for value in self.stored:
            self.write(frame, value)
        for op in self._sums:
            self.accumulate_column(frame, op, None, self._column(op, at))
        return self.steps(frame, self._totals, carried)

    def _frame(self, nest: Nest, at: Mapping[int, SSAValue]) -> Frame:
        return Frame(nest, {**self.top.indices, **at}, self.top)

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
