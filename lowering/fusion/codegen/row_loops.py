"""The loops of kernels with reductions over rows, such as a layer norm or a softmax.

Python runs the body of each loop over frames once, and the body inserts the ops of an iteration (`Frame`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl_rlx.lowering.fusion.codegen.loop_frames import Frame, Range, Sums
    from xdsl_rlx.lowering.fusion.codegen.row_kernel import RowKernel
    from xdsl_rlx.lowering.fusion.codegen.short_row_kernel import ShortRowKernel


def row_loops(k: RowKernel, /) -> None:
    """Matrix products, then the rows; of a batch, matrix by matrix."""
    k.begin_kernel()
    for column, frame in k.each_column(k.top, k.columns):
        column.clear(frame)
    totals = k.total_starts()
    if k.is_batched:
        for block, matrices, sums in k.in_blocks(k.top, k.matrices, k.most_matrices, totals, k.long_columns):
            for frame in block.over(matrices, sums):
                for product in k.products:
                    k.multiply(frame, product)
                if k.visits_elements:
                    all_rows(k, k.matrix(frame), sums)
    else:
        for product in k.products:
            k.multiply(k.top, product, rows=k.kernel.bounds)
        if k.visits_elements:
            all_rows(k, k.top, totals)
    k.store_totals(totals)


def all_rows(k: RowKernel, here: Frame, totals: Sums) -> None:
    """The rows; if reductions over them are long, blocks of rows, each of which is then added to the totals."""
    for block, rows, sums in k.in_blocks(here, k.rows, k.most_rows, totals, k.long_columns):
        k.each_row(block, rows, sums)


def each_row(k: RowKernel, here: Frame, rows: Sequence[Range], totals: Sums) -> None:
    """For each row the passes over it, and in each pass its elements, in blocks if their sums are long."""
    for frame in here.over(rows, totals):
        row = k.row(frame)
        for work in k.passes:
            k.begin(row, work, totals)
            if work.visits_elements:
                sums = k.starts(row, work.reducers, are_wide=work.most_elements is not None)
                for block, ranges, part in k.in_blocks(row, k.inner, work.most_elements, sums):
                    for element in block.over(ranges, part, work.level):
                        k.visit(element, work)
                        k.add(element, part)
                k.end(row, work, sums, totals)


def each_short_row(k: ShortRowKernel, here: Frame, rows: Sequence[Range], totals: Sums) -> None:
    """
    For each pass what is known of the rows, then their elements: those of one place in all rows at a time.

    So many rows at a time as there are lanes, which the innermost loops are over.
    """
    for block, first, lanes in k.in_lanes(here, rows, totals):
        for work in k.passes:
            if k.begins(work):
                sums: Sums = {acc: totals[acc] for acc in work.row_totals}
                for frame in block.over([lanes], sums):
                    k.begin_waiting(k.lane(frame, first, work), work, sums)
                totals |= sums
            if work.visits_elements:
                sums = {acc: totals[acc] for acc in work.element_totals}
                for place in block.over(k.inner, sums):
                    for frame in place.over([lanes], sums):
                        k.visit_waiting(k.lane(frame, first, work), work, sums)
                totals |= sums
