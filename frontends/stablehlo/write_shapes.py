"""Ops that move, index, reduce and sort elements, as StableHLO."""

# Types of xDSL are generic in their attributes.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false

from __future__ import annotations

from collections.abc import Sequence
from math import inf, prod
from typing import Any

import numpy as np
from xdsl.dialects.builtin import IntegerType, Signedness, TensorType, bf16, f16, f32, f64, i1, i32, i64
from xdsl.ir import Attribute, Block, SSAValue

from xdsl_rlx.dialects.constants import NAMED
from xdsl_rlx.dialects.mir import creation, shape
from xdsl_rlx.dialects.mir import index as indexing
from xdsl_rlx.dialects.mir import reduce as reductions
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.shapes import FLOATS, element_of, shape_of
from xdsl_rlx.frontends.stablehlo.write_constants import LARGEST_CONSTANT
from xdsl_rlx.frontends.stablehlo.write_elements import kind_of
from xdsl_rlx.frontends.stablehlo.writer import Writer, defined, number, numbers, pairs, row, struct, truth
from xdsl_rlx.transforms.int_ranges import IntRanges


@row(shape.ReshapeOp)
def _reshape(op: shape.ReshapeOp, w: Writer) -> Sequence[SSAValue]:
    return [w.reshape(w[op.operand], shape_of(op.result))]


@row(shape.TransposeOp)
def _transpose(op: shape.TransposeOp, w: Writer) -> Sequence[SSAValue]:
    return [w.transpose(w[op.operand], op.perm_list)]


@row(shape.NarrowOp)
def _narrow(op: shape.NarrowOp, w: Writer) -> Sequence[SSAValue]:
    axis, start, length = op.bounds
    return [w.narrow(w[op.operand], axis, start, start + length)]


@row(shape.FlipOp)
def _flip(op: shape.FlipOp, w: Writer) -> Sequence[SSAValue]:
    return [w.op("reverse", [w[op.operand]], op.result.type, dimensions=numbers([op.axis_index]))]


@row(shape.ConcatOp)
def _concat(op: shape.ConcatOp, w: Writer) -> Sequence[SSAValue]:
    return [w.op("concatenate", [w[x] for x in op.parts], op.result.type, dimension=number(op.axis_index))]


@row(shape.ExpandOp)
def _expand(op: shape.ExpandOp, w: Writer) -> Sequence[SSAValue]:
    return [w.expand(w[op.operand], shape_of(op.result))]


@row(creation.IotaOp)
def _iota(op: creation.IotaOp, w: Writer) -> Sequence[SSAValue]:
    shape, element = shape_of(op.result), element_of(op.result)
    if element in (f32, f64, i32, i64):
        return [w.iota(shape, op.axis_index, element)]
    if isinstance(element, IntegerType) and prod(shape) <= LARGEST_CONSTANT:
        line = np.arange(shape[op.axis_index]).astype(f"u{element.width.data // 8}")
        at = (-1, *(1,) * (len(shape) - op.axis_index - 1))
        return [w.constant(np.broadcast_to(line.reshape(at), shape), element)]
    return [w.convert(w.iota(shape, op.axis_index, i64), element)]


# Reductions


def _reduced(op: Any, w: Writer, kind: str, initial: float) -> Sequence[SSAValue]:
    x, element = w[op.operand], element_of(op.operand)
    if not op.axis_list:
        return [w.reshape(x, shape_of(op.result))]
    if 0 in shape_of(x):
        return [w.full(initial, shape_of(op.result), element)]
    # a sum of half floats is rounded once
    wide = f32 if element in (f16, bf16) else element
    found = w.reduce(w.convert(x, wide), op.axis_list, kind, w.scalar(initial, wide))
    return [w.reshape(w.convert(found, element), shape_of(op.result))]


def extreme(element: Attribute, largest: bool) -> float:
    """The largest or smallest number of an element type."""
    if not isinstance(element, IntegerType):
        return inf if largest else -inf
    bits = element.width.data
    if element.signedness.data is Signedness.UNSIGNED or element == i1:
        return (1 << bits) - 1 if largest else 0
    return (1 << (bits - 1)) - 1 if largest else -(1 << (bits - 1))


@row(reductions.ReduceSumOp)
def _sum(op: reductions.ReduceSumOp, w: Writer) -> Sequence[SSAValue]:
    return _reduced(op, w, "add", 0)


@row(reductions.ReduceProdOp)
def _prod(op: reductions.ReduceProdOp, w: Writer) -> Sequence[SSAValue]:
    return _reduced(op, w, "multiply", 1)


@row(reductions.ReduceMaxOp)
def _max(op: reductions.ReduceMaxOp, w: Writer) -> Sequence[SSAValue]:
    return _reduced(op, w, "maximum", extreme(element_of(op.operand), largest=False))


@row(reductions.ReduceMinOp)
def _min(op: reductions.ReduceMinOp, w: Writer) -> Sequence[SSAValue]:
    return _reduced(op, w, "minimum", extreme(element_of(op.operand), largest=True))


@row(indexing.CumsumOp)
def _cumsum(op: indexing.CumsumOp, w: Writer) -> Sequence[SSAValue]:
    return _running(op, w, "add", 0, op.is_exclusive, op.is_reverse)


@row(indexing.CumprodOp)
def _cumprod(op: indexing.CumprodOp, w: Writer) -> Sequence[SSAValue]:
    return _running(op, w, "multiply", 1)


def _running(
    op: indexing.RunningOp, w: Writer, kind: str, start: float, exclusive: bool = False, reverse: bool = False
) -> Sequence[SSAValue]:
    """Windows that end at each position, of all in front of it: so JAX writes it, and its importers know it."""
    x, axis = w[op.operand], op.axis_index
    shape, element = list(shape_of(x)), element_of(x)
    if not all(shape):
        return [x]
    size = shape[axis]
    ones = [1] * len(shape)
    sizes, sides = list(ones), [(0, 0)] * len(shape)
    before = size if exclusive else size - 1
    # an exclusive sum leaves out the last element
    after = -1 if exclusive else 0
    sizes[axis], sides[axis] = size, (after, before) if reverse else (before, after)
    found = w.op(
        "reduce_window",
        [x, w.scalar(start, element)],
        x.type,
        w.combining(kind, element),
        window_dimensions=numbers(sizes),
        window_strides=numbers(ones),
        base_dilations=numbers(ones),
        window_dilations=numbers(ones),
        padding=pairs(sides),
    )
    return [found]


# Indices


def _indices(w: Writer, x: SSAValue) -> SSAValue:
    """Indices as integers, with an axis of one behind."""
    if element_of(x) == f32:
        x = w.convert(x, i64)
    return w.reshape(x, (*shape_of(x), 1))


@row(indexing.GatherOp)
def _gather(op: indexing.GatherOp, w: Writer) -> Sequence[SSAValue]:
    table, at = w[op.table], w[op.indices]
    shape, axis, batch = shape_of(table), op.axis_index, op.batch_dims.value.data
    if not all(shape_of(op.result)):
        return [w.full(0, shape_of(op.result), element_of(table))]
    taken = len(shape_of(at)) - batch
    behind = range(axis + taken, axis + taken + len(shape) - axis - 1)
    names = struct(
        "gather",
        offset_dims=[*range(batch, axis), *behind],
        collapsed_slice_dims=[axis],
        operand_batching_dims=range(batch),
        start_indices_batching_dims=range(batch),
        start_index_map=[axis],
        index_vector_dim=len(shape_of(at)),
    )
    sizes = [1 if n < batch or n == axis else extent for n, extent in enumerate(shape)]
    found = w.op(
        "gather",
        [table, _indices(w, at)],
        op.result.type,
        dimension_numbers=names,
        slice_sizes=numbers(sizes),
        indices_are_sorted=truth(False),
    )
    return [found]


@row(indexing.ScatterAddOp)
def _scatter_add(op: indexing.ScatterAddOp, w: Writer) -> Sequence[SSAValue]:
    return _scatter(op, w, 0, "add")


@row(indexing.ScatterMaxOp)
def _scatter_max(op: indexing.ScatterMaxOp, w: Writer) -> Sequence[SSAValue]:
    element = element_of(op.result)
    if element in FLOATS:
        least, largest = -inf, inf
    else:
        limits = np.iinfo(NAMED[element])
        least, largest = limits.min, limits.max
    smallest = op.smallest is not None
    return _scatter(op, w, largest if smallest else least, "minimum" if smallest else "maximum")


def _scatter(op: indexing.ScatterOp, w: Writer, start: float, combine: str) -> Sequence[SSAValue]:
    """Updates combined at their indices, with `start` where there is none."""
    updates, at = w[op.updates], w[op.indices]
    element, shape = element_of(updates), shape_of(op.result)
    axis, batch = op.axis_index, op.batch_dims.value.data
    starts = w.full(start, shape, element)
    if not all(shape_of(updates)):
        return [starts]
    taken = len(shape_of(at)) - batch
    at = w.convert(at, i64)
    low, high = (0, 0) if element_of(op.indices) == f32 else IntRanges().known(op.indices)
    if element_of(op.indices) == f32 or low < 0 or high >= shape[axis]:
        # a window that is out of range would be dropped
        at = w.op("maximum", [at, w.like(0, at)], at.type)
        at = w.op("minimum", [at, w.like(shape[axis] - 1, at)], at.type)
    indices = _indices(w, at)
    names = struct(
        "scatter",
        update_window_dims=[*range(batch, axis), *range(axis + taken, len(shape_of(updates)))],
        inserted_window_dims=[axis],
        input_batching_dims=range(batch),
        scatter_indices_batching_dims=range(batch),
        scatter_dims_to_operand_dims=[axis],
        index_vector_dim=len(shape_of(at)),
    )
    found = w.op(
        "scatter",
        [starts, indices, updates],
        op.result.type,
        w.combining(combine, element),
        scatter_dimension_numbers=names,
        indices_are_sorted=truth(False),
        unique_indices=truth(False),
    )
    return [found]


@row(indexing.TopkOp)
def _topk(op: indexing.TopkOp, w: Writer) -> Sequence[SSAValue]:
    x, k = w[op.operand], op.k.value.data
    shape, element = shape_of(x), element_of(x)
    positions = w.iota(shape, len(shape) - 1, i64)
    if not all(shape):
        return [w.full(0, (*shape[:-1], k), i64)]
    one, position = TensorType(element, ()), TensorType(i64, ())
    block = Block(arg_types=[one, one, position, position])
    inner = w.inside(block)
    a, b = block.args[:2]
    first, second = (a, b) if op.smallest is not None else (b, a)
    before = inner.compare("LT", first, second, kind_of(element))
    if element in FLOATS:
        # NaN is larger than every number
        nan, number_ = (inner.compare(*of, "FLOAT") for of in (("NE", second, second), ("EQ", first, first)))
        before = inner.op("or", [before, inner.op("and", [nan, number_], nan.type)], before.type)
    inner.end([before])
    last = number(len(shape) - 1)
    types = [x.type, positions.type]
    _, order = w.ops("sort", [x, positions], types, [block], dimension=last, is_stable=truth(True))
    return [w.narrow(order, len(shape) - 1, 0, k)]


@defined(indexing.BisectOp)
def _bisect(op: indexing.BisectOp, b: MirBuilder) -> Sequence[Value]:
    """How many numbers of a row are at most each number: all are compared."""
    table, x = b.value(op.table), b.value(op.x)
    rows, extent = table.shape[:-1], table.shape[-1]
    row_ = b.reshape(table, (*rows, *[1] * (x.rank - len(rows)), extent))
    each = b.reshape(x, (*x.shape, 1))
    below = b.lt(row_, each) if op.left is not None else b.le(row_, each)
    if element_of(op.x) in FLOATS:
        rest = b.ne(each, each)
        # NaN is as large as NaN
        below = below | (rest & b.eq(row_, row_) if op.left is not None else rest)
    return [b.reduce_sum(b.cast(b.expand(below, (*x.shape, extent)), "i64"), -1)]
