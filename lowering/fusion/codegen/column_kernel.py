"""Kernels of elementwise groups and of reductions over columns: what the loops of `column_loops.py` do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import cast

from xdsl.ir import SSAValue

from xdsl_rlx.dialects.lir import PrefetchOp
from xdsl_rlx.dialects.lir.memory import AnyMemRef, element_bytes, strides_of
from xdsl_rlx.lowering.fusion.analysis.nesting import Reduces
from xdsl_rlx.lowering.fusion.codegen.accumulators import Accumulator, most_steps
from xdsl_rlx.lowering.fusion.codegen.column_loops import column_loops
from xdsl_rlx.lowering.fusion.codegen.group import ROW, Group
from xdsl_rlx.lowering.fusion.codegen.group_kernel import GroupKernel, Totals
from xdsl_rlx.lowering.fusion.codegen.loop_frames import Frame, Range
from xdsl_rlx.lowering.fusion.codegen.products import Product
from xdsl_rlx.lowering.fusion.codegen.transposed_tiles import TransposedTiles
from xdsl_rlx.lowering.kernel_dsl.kernel_builder import Nest
from xdsl_rlx.transforms.rules.rule_table import SCALAR
from xdsl_rlx.transforms.scalar_cost import scalar_cost


@dataclass(frozen=True)
class Strips:
    """Loops over strips of columns, around each the loop `along` neighbours of values that are read across."""

    others: Sequence[Range]
    columns: Range
    along: Range
    exact: tuple[bool, bool]
    """Whether all strips have as many columns, and all tiles as many rows."""
    tiles: TransposedTiles


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
    loops = column_loops

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

    def prepare(self) -> None:
        """Decide which of the loops there are."""
        group, is_whole = self.group, self.group.structure.middle is None
        if self.products:
            self.top.indices = {ROW: self.kernel.index(0)}
        self.front = self.ranges(() if is_whole else group.outer)
        self.rows = self.ranges(group.outer if is_whole else group.middle)
        self.inner = self.ranges(group.inner)
        self.most_rows = group.costs.sum_steps if self.long_columns else None
        self.own_columns = [column for column in self.columns if column.acc.own_totals is not None]
        self.adds_all_rows = self._adds_all_rows()

    def early_values(self) -> Iterator[SSAValue]:
        reduced = {acc.op for acc in self.accumulators}
        values = (result for op in self.group.ops if op not in reduced for result in op.results)
        return (value for value in values if not self.group.loops_of[value])

    def piece_of(self, acc: Accumulator) -> SSAValue:
        """The number of the piece; columns have one in all."""
        return self.piece if self.group.structure.kinds[acc.op] is Reduces.ALL else self.kernel.index(0)

    def each_column(self, frame: Frame, columns: Sequence[Totals]) -> Iterator[tuple[Totals, Frame]]:
        for at in frame.over(self.inner) if columns else ():
            for column in columns:
                yield column, at

    def prefetch(self, frame: Frame, last: Sequence[Range]) -> None:
        """Prefetch a later row of buffers whose rows, which the `last` loop runs over, are cut out of longer ones."""
        if self.accumulators or not last:
            return
        known = frame.indices.keys() - {ROW}
        for buffer, (*front, column) in ((buffer, dims) for buffer, dims in self.access.values() if len(dims) > 1):
            if column == last[0].loop and all(dim in known for dim in front):
                self._prefetch(frame.nest, buffer, [frame.indices[dim] for dim in front if isinstance(dim, int)])

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

    def adds_rows(self, rows: Sequence[Range]) -> bool:
        """Whether this is nothing but sums over columns, of a few values, with rows and columns enough."""
        if self.totals or self.stored or self.products or not self.columns or not rows:
            return False
        inner, group, costs = self.inner, self.group, self.group.costs
        if not inner or inner[-1].size < costs.sum_lanes or _at_once(rows[-1], costs.column_sum_rows) <= 1:
            return False
        if len(group.reads) > costs.max_column_sum_reads:
            return False
        additions = sum(scalar_cost(op) for op in group.ops if SCALAR.get(type(op)) is not None)
        return additions <= costs.max_column_sum_additions

    def _adds_all_rows(self) -> bool:
        """Whether all rows are added up at a time, so that the sum needs no total to begin with."""
        rows = self.rows
        if len(rows) != 1 or not rows[0].exact or not self.adds_rows(rows):
            return False
        is_whole = rows[0].loop != self.cut and _at_once(rows[0], self.group.costs.column_sum_rows) == rows[0].size
        return is_whole and all(column.acc.is_result for column in self.columns)

    def groups_of_rows(self, frame: Frame, rows: Range) -> tuple[Range, Range | None]:
        """A loop over groups of rows that are added up at a time, and one over those that may be left."""
        count = _at_once(rows, self.group.costs.column_sum_rows)
        if rows.exact and rows.size % count == 0:
            return replace(rows, step=count), None
        s = frame.nest.scalars
        first, end = (s.of(bound) for bound in rows.bounds)
        middle = (first + s.of(frame.nest.quotient((end - first).value, count)) * count).value
        rest = replace(rows, bounds=(middle, rows.bounds[1]), size=count - 1, exact=False)
        return replace(rows, bounds=(rows.bounds[0], middle), step=count), rest

    def rows_of_group(self, frame: Frame, rows: Range) -> list[SSAValue]:
        """The numbers of the rows of a group, by the first one."""
        first = frame.indices[rows.loop]
        return [first, *((frame.nest.scalars.of(first) + n).value for n in range(1, rows.step))]

    def add_together(self, frames: Sequence[Frame]) -> None:
        """Add the elements of some rows in one column to its totals, or of all rows to nothing."""
        nest = frames[0].nest
        # all elements before the first total: what one sum adds up, another one may compute with
        elements = [[self.value(frame, column.acc.operand) for frame in frames] for column in self.columns]
        for column, found in zip(self.columns, elements, strict=True):
            acc = column.acc
            while len(found) > 1:
                sums = [acc.combine(nest, x.value, y.value) for x, y in zip(found[::2], found[1::2], strict=False)]
                found = [nest.scalars.of(x) for x in sums] + found[2 * len(sums) :]
            frames[0].values[acc.operand] = found[0]
            if self.adds_all_rows:
                column.store(frames[0], found[0])
            else:
                column.add(frames[0])

    def most_elements(self, ranges: Sequence[Range]) -> int | None:
        """How many elements of a loop nest are added up in one narrow sum, if sums are long."""
        is_long = any(total.acc.long for total in self.totals)
        return most_steps([r.size for r in ranges], self.group.costs) if is_long else None

    def strips(self, ranges: Sequence[Range]) -> Strips | None:
        """The loops in strips, if a value is read across its neighbours, and any order of the loops will do."""
        group, costs = self.group, self.group.costs
        if group.structure.kinds or self.products or not ranges or ranges[-1].size < 2 * costs.strip_columns:
            return None
        *others, columns = ranges
        for along in others:
            across = [*self._across(columns.loop, along.loop)] if along.size >= costs.min_strip_rows else []
            if across:
                widest = max(element_bytes(buffer.element) for buffer in group.writes.values())
                strip = min(costs.strip_columns, costs.line_bytes // widest)
                tiles = TransposedTiles(self, strip, {value: group.reads[value] for value in across})
                exact = columns.exact and columns.size % strip == 0, along.exact and along.size % tiles.rows == 0
                return Strips([one for one in others if one is not along], columns, along, exact, tiles)
        return None

    def _across(self, columns: int, along: int) -> Iterator[SSAValue]:
        """The values whose neighbours lie along the one loop, and that are read across, along the other one."""
        for value, buffer in self.group.reads.items():
            axes, strides = self.group.space.maps.get(value, ()), buffer.layout.strides
            if {columns, along} <= {*axes} and strides[axes.index(along)] == 1 and strides[axes.index(columns)]:
                yield value

    def neighbours_last(self, rows: Sequence[Range]) -> list[Range]:
        """
        The loops over rows and columns. Last are few steps over neighbours of a value that is read, if any order will
        do: unrolled, they read or write every n-th element of several lines at once, which compilers do in vectors.
        """
        group, ranges = self.group, [*rows, *self.inner]
        if group.structure.kinds or self.products or not ranges or ranges[-1].size < group.costs.sum_lanes:
            return ranges

        def is_over_neighbours(one: Range) -> bool:
            if one.size > group.costs.max_gathered_steps or one.loop == self.cut:
                return False
            read = ((group.space.maps.get(value, ()), buffer.layout.strides) for value, buffer in group.reads.items())
            return any(one.loop in axes and strides[axes.index(one.loop)] == 1 for axes, strides in read)

        few = [one for one in ranges if is_over_neighbours(one)]
        return [*(one for one in ranges if one not in few), *few]

    def visit(self, frame: Frame) -> None:
        """Store what is stored of one element, and add it to the sums of its column."""
        for product in self.made:
            self.value(frame, product)
        for value in self.stored:
            self.write(frame, value)
        for column in self.columns:
            column.add(frame)

    def ranges(self, loops: Sequence[int]) -> list[Range]:
        """Whole loops, of which the cut one runs over the piece only."""
        piece = self.kernel.bounds
        return [
            replace(r, bounds=piece, size=min(self.chunk, r.size), exact=self.is_exact) if r.loop == self.cut else r
            for r in super().ranges(loops)
        ]
