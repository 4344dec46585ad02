"""The loops of elementwise kernels and of reductions over columns.

Python runs the body of each loop over frames once, and the body inserts the ops of an iteration (`Frame`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl_rlx.lowering.fusion.codegen.column_kernel import ColumnKernel, Strips
    from xdsl_rlx.lowering.fusion.codegen.loop_frames import Frame, Range, Sums
    from xdsl_rlx.lowering.fusion.codegen.transposed_tiles import TransposedTiles


def column_loops(k: ColumnKernel, /) -> None:
    """The products, and then for each iteration of the loops in front all columns."""
    for product in k.products:
        k.multiply(k.top, product, columns=k.kernel.bounds)
    if k.visits_elements:
        k.begin_kernel()
        totals = k.total_starts()
        for frame in k.top.over(k.front, totals):
            all_columns(k, frame, totals)
        k.store_totals(totals)


def all_columns(k: ColumnKernel, here: Frame, totals: Sums) -> None:
    """All columns: their sums are cleared, then the rows are added, in blocks if these are many."""
    if not k.adds_all_rows:
        for column, frame in k.each_column(here, k.columns):
            column.clear(frame)
    for block, rows in here.blocks(k.rows, k.most_rows, k.group.costs.unrolled_iterations, totals):
        add_rows(k, block, rows, totals)
    for column, frame in k.each_column(here, k.own_columns):
        column.finish(frame)


def add_rows(k: ColumnKernel, here: Frame, rows: Sequence[Range], totals: Sums) -> None:
    """All columns of some rows; blocks of columns are added to their totals then."""
    every = k.neighbours_last(rows)
    if k.adds_rows(rows):
        several_rows(k, here, rows)
    elif (strips := k.strips(every)) is not None:
        strip_by_strip(k, here, strips, totals)
    else:
        for block, ranges, sums in k.in_blocks(here, every, k.most_elements(every), totals):
            elements(k, block, ranges, sums)
    for column, frame in k.each_column(here, k.long_columns):
        column.flush(frame)


def elements(
    k: ColumnKernel, here: Frame, ranges: Sequence[Range], sums: Sums, tiles: TransposedTiles | None = None
) -> None:
    """Each element of a loop nest; some values of it are read from tiles of all its loops."""
    for row in here.over(ranges[:-1], sums):
        k.prefetch(row, ranges[-1:])
        for element in row.over(ranges[-1:], sums):
            if tiles is not None:
                tiles.read(element, ranges)
            k.visit(element)
            k.add(element, sums)


def several_rows(k: ColumnKernel, here: Frame, rows: Sequence[Range]) -> None:
    """Sums over columns, to which some rows at a time are added, and then those that are left."""
    for around in here.over(rows[:-1]):
        groups, rest = k.groups_of_rows(around, rows[-1])
        for first in around.over([groups]):
            numbers = k.rows_of_group(first, groups)
            for column in first.over(k.inner):
                k.add_together([column.at({groups.loop: number}) for number in numbers])
        if rest is not None:
            elements(k, around, [rest, *k.inner], {})


def strip_by_strip(k: ColumnKernel, here: Frame, strips: Strips, sums: Sums) -> None:
    """
    Some columns after the others, each time with the loop along neighbours around them.

    What is read across is transposed in the first cache, some rows at a time.
    """
    tiles, (exact_columns, exact_rows) = strips.tiles, strips.exact
    for around in here.over(strips.others, sums):
        for strip, columns in around.cut(strips.columns, tiles.columns, exact_columns, sums):
            for part, rows in strip.cut(strips.along, tiles.rows, exact_rows, sums):
                tiles.fill(part, rows, columns, strips.columns.bounds[1])
                elements(k, part, [rows, columns], sums, tiles)
