"""Nests of products by experts: rows are put in the order of their experts, so that each expert has one product."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from xdsl_rlx.dialects.lir.scalar_builder import INDEX
from xdsl_rlx.dialects.mir.moe import GroupedMatmulBackwardWeightOp, GroupedMatmulOp
from xdsl_rlx.dialects.shapes import element_of, shape_of
from xdsl_rlx.lowering.buffers import Argument
from xdsl_rlx.lowering.kernel_dsl import Array, Iteration, Number, cast
from xdsl_rlx.lowering.kernels.index import clamped
from xdsl_rlx.lowering.kernels.work import NEST, Work

ROWS = 512
"""Rows of one expert that one iteration multiplies."""

COLUMNS = 256
"""Columns of a product that one iteration computes; rows, where it is a product of whole columns."""


def _window(block: Number, width: int, extent: int) -> tuple[Number, Number]:
    """The ends of a block of `width`, the last one cut off at `extent`."""
    first = block * width
    return first, min(first + width, extent)


def _rows_of(expert: Number, starts: Array) -> tuple[Number, Number]:
    """Where the rows of an expert begin and end."""
    return cast(starts[expert], INDEX), cast(starts[expert + 1], INDEX)


def _by_expert(work: Work, ids: SSAValue, experts: int) -> tuple[Argument, Argument]:
    """
    A stable counting sort: `order` has the rows by expert, those of expert `e` at `[starts[e], starts[e + 1])`.

    Rows are counted at `starts[e + 2]`. Summed up, `starts[e + 1]` is where `e` begins; it moves on as rows are placed.
    """
    rows = shape_of(ids)[0]
    starts, order = work.scratch((experts + 2,), i64, "starts"), work.scratch((rows,), i64, "order")

    @work.over(1, 2 * (rows + experts), [work.read(ids)], [starts, order])
    def sort(it: Iteration, ids: Array, starts: Array, order: Array) -> None:
        starts[...] = 0
        for row in range(rows):
            starts[clamped(ids[row], experts) + 2] += 1
        for e in range(experts + 1):
            starts[e + 1] += starts[e]
        for row in range(rows):
            following = clamped(ids[row], experts) + 1
            order[starts[following]] = row
            starts[following] += 1

    return starts, order


def _packed(work: Work, value: SSAValue, order: Argument, name: str) -> Argument:
    """The rows of `value` in that order."""
    rows, columns = shape_of(value)
    packed = work.scratch((rows, columns), element_of(value), name)

    @work.over(rows, 4 + columns, [work.read(value), order], [packed])
    def pack(it: Iteration, source: Array, order: Array, packed: Array) -> None:
        packed[it.index] = source[order[it.index]]

    return packed


@NEST.rule(GroupedMatmulOp)
def grouped_matmul_nest(op: GroupedMatmulOp, work: Work) -> None:
    """An iteration multiplies a block of one expert's rows by a block of its columns, and puts them in their places."""
    (rows, k), (_, columns), experts = shape_of(op.x), shape_of(op.result), shape_of(op.w)[0]
    result = work.write(op.result)
    if not rows * columns:
        return
    starts, order = _by_expert(work, op.expert_idx, experts)
    packed = _packed(work, op.x, order, "packed")
    w = work.read(op.w).transposed if op.transposed else work.read(op.w)
    product = work.scratch((rows, columns), element_of(op.result), "product")
    grid = experts, -(-rows // ROWS), -(-columns // COLUMNS)

    @work.over(prod(grid), 2 * rows * k * columns // prod(grid), [packed, w, starts, order], [product, result])
    def multiply(it: Iteration, x: Array, w: Array, starts: Array, order: Array, product: Array, result: Array) -> None:
        expert, row_block, column_block = it.unravel(*grid)
        left, right = _window(column_block, COLUMNS, columns)
        begin, end = _rows_of(expert, starts)
        first = begin + row_block * ROWS
        last = min(first + ROWS, end)
        if first < last:
            product[first:last, left:right] = x[first:last] @ w[expert, :, left:right]
            for p in range(first, last):
                result[order[p], left:right] = product[p, left:right]


@NEST.rule(GroupedMatmulBackwardWeightOp)
def grouped_matmul_backward_weight_nest(op: GroupedMatmulBackwardWeightOp, work: Work) -> None:
    """An iteration is a block of one expert's matrix: a product along the expert's rows."""
    experts, k, columns = shape_of(op.result)
    rows = shape_of(op.x)[0]
    result = work.write(op.result)
    if not experts * k * columns:
        return
    starts, order = _by_expert(work, op.expert_idx, experts)
    packed, cotangents = _packed(work, op.x, order, "packed"), _packed(work, op.g, order, "cotangents")
    grid = experts, -(-k // COLUMNS), -(-columns // COLUMNS)

    @work.over(
        prod(grid), 2 * max(rows, 1) * k * columns // prod(grid), [packed.transposed, cotangents, starts], [result]
    )
    def multiply(it: Iteration, x: Array, g: Array, starts: Array, result: Array) -> None:
        expert, row_block, column_block = it.unravel(*grid)
        top, bottom = _window(row_block, COLUMNS, k)
        left, right = _window(column_block, COLUMNS, columns)
        first, last = _rows_of(expert, starts)
        result[expert, top:bottom, left:right] = x[top:bottom, first:last] @ g[first:last, left:right]
