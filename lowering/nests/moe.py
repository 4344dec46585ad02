"""Nests of products by experts: rows are put in the order of their experts, so that each expert has one product."""

from __future__ import annotations

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from xdsl_rlx.dialects.lir import GemmOp
from xdsl_rlx.dialects.mir.moe import GroupedMatmulBackwardWeightOp, GroupedMatmulOp
from xdsl_rlx.dialects.shapes import element_of, shape_of
from xdsl_rlx.lowering.buffers import Argument
from xdsl_rlx.lowering.nest.builder import INDEX, Nest
from xdsl_rlx.lowering.nests.index import clamped_index
from xdsl_rlx.lowering.nests.table import NEST, Iteration, Work

ROWS = 512
"""Rows of one expert that one iteration multiplies."""

COLUMNS = 256
"""Columns of a product that one iteration computes; rows, where it is a product of whole columns."""

Range = tuple[SSAValue, SSAValue]


def _index(nest: Nest, buffer: SSAValue, *at: SSAValue) -> SSAValue:
    """An i64 of a buffer as an index."""
    return nest.scalars.cast(nest.load(buffer, at), INDEX).value


def _window(nest: Nest, block: SSAValue, width: int, extent: int) -> Range:
    """The range of a block of `width`, the last one cut off at `extent`."""
    s = nest.scalars
    first = s.of(block) * width
    return first.value, s.minimum(first + width, extent).value


def _by_expert(work: Work, ids: SSAValue, experts: int) -> tuple[Argument, Argument]:
    """
    A stable counting sort: `order` has the rows by expert, those of expert `e` at `[starts[e], starts[e + 1])`.

    Rows are counted at `starts[e + 2]`. Summed up, `starts[e + 1]` is where `e` begins; it moves on as rows are placed.
    """
    rows = shape_of(ids)[0]
    starts, order = work.scratch((experts + 2,), i64, "starts"), work.scratch((rows,), i64, "order")

    def body(it: Iteration, ids: SSAValue, starts: SSAValue, order: SSAValue) -> None:
        nest, index = it.nest, it.nest.kernel.index

        def following(n: Nest, i: SSAValue, by: int) -> SSAValue:
            return (n.scalars.of(i) + by).value

        def clear(n: Nest, e: SSAValue) -> None:
            n.store(n.scalars.const(0, i64), starts, [e])

        def count(n: Nest, row: SSAValue) -> None:
            at = following(n, clamped_index(n, ids, [row], experts), 2)
            n.store(n.load(starts, [at]) + 1, starts, [at])

        def sum_up(n: Nest, e: SSAValue) -> None:
            at = following(n, e, 1)
            n.store(n.load(starts, [at]) + n.load(starts, [e]), starts, [at])

        def place(n: Nest, row: SSAValue) -> None:
            at = following(n, clamped_index(n, ids, [row], experts), 1)
            n.store(n.scalars.cast(n.scalars.of(row), i64), order, [_index(n, starts, at)])
            n.store(n.load(starts, [at]) + 1, starts, [at])

        nest.each((index(0), index(experts + 2)), "e", clear)
        nest.each((index(0), index(rows)), "row", count)
        nest.each((index(0), index(experts + 1)), "e", sum_up)
        nest.each((index(0), index(rows)), "row", place)

    work.launch(1, 2 * (rows + experts), [work.read(ids)], [starts, order], body)
    return starts, order


def _packed(work: Work, value: SSAValue, order: Argument, name: str) -> Argument:
    """The rows of `value` in that order."""
    rows, columns = shape_of(value)
    packed = work.scratch((rows, columns), element_of(value), name)

    def body(it: Iteration, source: SSAValue, order: SSAValue, packed: SSAValue) -> None:
        row = _index(it.nest, order, it.index)
        bounds = (it.nest.kernel.index(0), it.nest.kernel.index(columns))
        it.nest.each(bounds, "j", lambda n, j: n.store(n.load(source, [row, j]), packed, [it.index, j]))

    work.launch(rows, 4 + columns, [work.read(value), order], [packed], body)
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
    strides = (k * columns, 1, k) if op.transposed else (k * columns, columns, 1)
    w = work.read(op.w, (experts, k, columns), strides)
    product = work.scratch((rows, columns), element_of(op.result), "product")
    row_blocks, column_blocks = -(-rows // ROWS), -(-columns // COLUMNS)

    def body(
        it: Iteration,
        x: SSAValue,
        w: SSAValue,
        starts: SSAValue,
        order: SSAValue,
        product: SSAValue,
        result: SSAValue,
    ) -> None:
        nest, s = it.nest, it.nest.scalars
        bounds = _window(nest, nest.remainder(it.index, column_blocks), COLUMNS, columns)
        rest = nest.quotient(it.index, column_blocks)
        block, expert = nest.remainder(rest, row_blocks), nest.quotient(rest, row_blocks)
        end = s.of(_index(nest, starts, (s.of(expert) + 1).value))
        first = s.of(_index(nest, starts, expert)) + s.of(block) * ROWS
        last = s.minimum(first + ROWS, end)

        def multiply(n: Nest) -> None:
            some = (first.value, last.value)
            n.builder.insert(GemmOp(x, w, product, some, bounds, b_indices=[expert]))
            n.each(some, "p", place)

        def place(n: Nest, p: SSAValue) -> None:
            row = _index(n, order, p)
            n.each(bounds, "j", lambda m, j: m.store(m.load(product, [p, j]), result, [row, j]))

        nest.guard((first < last).value, multiply)

    extent = experts * row_blocks * column_blocks
    each = 2 * rows * k * columns // extent
    work.launch(extent, each, [packed, w, starts, order], [product, result], body)


@NEST.rule(GroupedMatmulBackwardWeightOp)
def grouped_matmul_backward_weight_nest(op: GroupedMatmulBackwardWeightOp, work: Work) -> None:
    """An iteration is a block of one expert's matrix: a product along the expert's rows."""
    experts, k, columns = shape_of(op.result)
    rows = shape_of(op.x)[0]
    result = work.write(op.result)
    if not experts * k * columns:
        return
    starts, order = _by_expert(work, op.expert_idx, experts)
    packed = _packed(work, op.x, order, "packed")
    left = Argument(packed.buffer, (k, rows), (1, k), packed.name)
    right = _packed(work, op.g, order, "cotangents")
    row_blocks, column_blocks = -(-k // COLUMNS), -(-columns // COLUMNS)

    def body(it: Iteration, x: SSAValue, g: SSAValue, starts: SSAValue, result: SSAValue) -> None:
        nest = it.nest
        bounds = _window(nest, nest.remainder(it.index, column_blocks), COLUMNS, columns)
        rest = nest.quotient(it.index, column_blocks)
        some = _window(nest, nest.remainder(rest, row_blocks), COLUMNS, k)
        expert = nest.quotient(rest, row_blocks)
        following = (nest.scalars.of(expert) + 1).value
        inner = _index(nest, starts, expert), _index(nest, starts, following)
        nest.builder.insert(GemmOp(x, g, result, some, bounds, inner, c_indices=[expert]))

    extent = experts * row_blocks * column_blocks
    each = 2 * max(rows, 1) * k * columns // extent
    work.launch(extent, each, [left, right, starts], [result], body)
