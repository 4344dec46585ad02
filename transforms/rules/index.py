"""Rows of gather and scatter_add, which are each other's transposes, of topk, and of running sums."""

from collections.abc import Callable, Sequence
from functools import partial
from math import prod

from xdsl_rlx.dialects.mir.compositions import running_scan
from xdsl_rlx.dialects.mir.index import (
    BisectOp,
    CumprodOp,
    CumsumBackwardOp,
    CumsumOp,
    GatherBackwardOp,
    GatherOp,
    IndexAddOp,
    ScatterAddOp,
    ScatterMaxOp,
    ScatterOp,
    SortOp,
    TopkOp,
)
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.mir.shape import NarrowOp
from xdsl_rlx.dialects.shapes import shape_of
from xdsl_rlx.transforms.rules.raise_table import RAISE, Missed, Raised, Reason
from xdsl_rlx.transforms.rules.rows import decompose, leading, lift, linear, move_axis, zero
from xdsl_rlx.transforms.rules.rule_table import INERT, JVP, NARROW, VJP, VMAP, Cotangent

_ENCODED = "indices are integers, whatever type encodes them"

INERT.add(GatherOp, "indices", _ENCODED)
INERT.add(ScatterAddOp, "indices", _ENCODED)
INERT.add(ScatterMaxOp, "indices", _ENCODED)
INERT.add(GatherBackwardOp, "indices", _ENCODED)


@VJP.rule(GatherOp)
def gather_vjp(op: GatherOp, b: MirBuilder, g: Value) -> Sequence[Cotangent]:
    return [lambda: b.scatter_add(g, op.indices, op.extents.extent, op.axis_index, op.batch_dims.value.data), None]


@JVP.rule(GatherOp)
def gather_jvp(op: GatherOp, b: MirBuilder, table: Value | None, indices: None) -> Sequence[Value | None]:
    assert table is not None
    return [b.gather(table, op.indices, op.axis_index, op.batch_dims.value.data)]


@VJP.rule(ScatterAddOp)
def scatter_add_vjp(op: ScatterAddOp, b: MirBuilder, g: Value) -> Sequence[Cotangent]:
    return [lambda: b.gather(g, op.indices, op.axis_index, op.batch_dims.value.data), None]


@JVP.rule(ScatterAddOp)
def scatter_add_jvp(op: ScatterAddOp, b: MirBuilder, updates: Value | None, indices: None) -> Sequence[Value | None]:
    assert updates is not None
    return [b.scatter_add(updates, op.indices, op.extents.extent, op.axis_index, op.batch_dims.value.data)]


@decompose(IndexAddOp)
def index_add_decompose(op: IndexAddOp, b: MirBuilder) -> Sequence[Value]:
    axis, dims, extent = op.axis_index, op.batch_dims.value.data, op.extent.value.data
    added = b.scatter_add(op.updates, op.indices, extent, axis, dims)
    return [b.value(op.input) + b.narrow(added, axis, 0, op.extents.extent)]


def _shares(op: ScatterMaxOp, b: MirBuilder) -> tuple[Value, Value]:
    """1 for each update that is the largest at its index, and how many there are."""
    updates, axis, dims = b.value(op.updates), op.axis_index, op.batch_dims.value.data
    largest = b.gather(op.result, op.indices, axis, dims)
    shares = b.cast((updates == largest) | ((updates != updates) & (largest != largest)), updates.dtype)
    counts = b.scatter_add(shares, op.indices, op.extents.extent, axis, dims)
    return shares, b.max(counts, 1.0)


@VJP.rule(ScatterMaxOp)
def scatter_max_vjp(op: ScatterMaxOp, b: MirBuilder, g: Value) -> Sequence[Cotangent]:
    def updates() -> Value:
        shares, counts = _shares(op, b)
        return shares * b.gather(g / counts, op.indices, op.axis_index, op.batch_dims.value.data)

    return [updates, None]


@JVP.rule(ScatterMaxOp)
def scatter_max_jvp(op: ScatterMaxOp, b: MirBuilder, updates: Value | None, indices: None) -> Sequence[Value | None]:
    assert updates is not None
    shares, counts = _shares(op, b)
    axis, dims = op.axis_index, op.batch_dims.value.data
    return [b.scatter_add(shares * updates, op.indices, op.extents.extent, axis, dims) / counts]


@VMAP.rule(GatherOp)
def gather_vmap(
    op: GatherOp, b: MirBuilder, batched: Sequence[bool], size: int, table: Value, indices: Value
) -> Sequence[Value]:
    """The axis is one more batch dimension, or one more of the outer ones (table), or of the indices'."""
    axis, dims = op.axis_index, op.batch_dims.value.data
    match tuple(batched):
        case (True, True):
            return [b.gather(table, indices, axis + 1, dims + 1)]
        case (True, False):
            return [move_axis(b, b.gather(move_axis(b, table, 0, dims), indices, axis + 1, dims), dims, 0)]
        case _:
            return [move_axis(b, b.gather(table, move_axis(b, indices, 0, dims), axis, dims), axis, 0)]


@VMAP.rule(ScatterAddOp)
def scatter_add_vmap(
    op: ScatterAddOp, b: MirBuilder, batched: Sequence[bool], size: int, updates: Value, indices: Value
) -> Sequence[Value]:
    return _scattered(op, b, b.scatter_add, batched, size, updates, indices)


@VMAP.rule(ScatterMaxOp)
def scatter_max_vmap(
    op: ScatterMaxOp, b: MirBuilder, batched: Sequence[bool], size: int, updates: Value, indices: Value
) -> Sequence[Value]:
    scatter = partial(b.scatter_max, smallest=op.smallest is not None)
    return _scattered(op, b, scatter, batched, size, updates, indices)


def _scattered(
    op: ScatterOp,
    b: MirBuilder,
    scatter: Callable[[Value, Value, int, int, int], Value],
    batched: Sequence[bool],
    size: int,
    updates: Value,
    indices: Value,
) -> Sequence[Value]:
    """The axis is one more batch dimension, or one more of the outer ones where the indices are the same for all."""
    axis, dims, extent = op.axis_index, op.batch_dims.value.data, op.extents.extent
    if batched[1]:
        whole = updates if batched[0] else lift(b, updates, size)
        return [scatter(whole, indices, extent, axis + 1, dims + 1)]
    return [move_axis(b, scatter(move_axis(b, updates, 0, dims), indices, extent, axis + 1, dims), dims, 0)]


@decompose(GatherBackwardOp)
def gather_backward_decompose(op: GatherBackwardOp, b: MirBuilder) -> Sequence[Value]:
    axis, batch_dims = op.axis.value.data, op.batch_dims.value.data
    return [b.scatter_add(op.dy, op.indices, op.extent.value.data, axis, batch_dims)]


zero(TopkOp, "positions are integers")
leading(TopkOp)
leading(SortOp)


@decompose(SortOp)
def sort_decompose(op: SortOp, b: MirBuilder) -> Sequence[Value]:
    x, (first, count) = b.value(op.operand), op.part
    last = x.rank - 1
    if not count:
        return [b.narrow(x, last, 0, 0)]
    ordered = b.gather(x, b.topk(x, x.shape[last], smallest=op.descending is None), last, last)
    return [b.narrow(ordered, last, first, count) if count < x.shape[last] else ordered]


MOST_PARTS = 3
"""Parts of sorted rows up to which each is selected for itself."""

MIN_SELECTED_FROM = 1024
"""Elements of a row from which a part of it is selected: a shorter one is sorted in less."""

ROWS_SIDE_BY_SIDE = 16
"""Rows that a network sorts at once, of 32 bits on AVX-512."""


@RAISE.rule(SortOp, GatherOp, among=(TopkOp,))
def sort_raise(op: GatherOp) -> Raised | Missed | None:
    """Values at the positions of all of them in order."""
    topk, table = op.indices.owner, op.table
    last = len(shape_of(table)) - 1
    if (
        not isinstance(topk, TopkOp)
        or topk.operand != table
        or (op.axis_index, op.batch_dims.value.data) != (last, last)
    ):
        return None
    if topk.k.value.data != shape_of(table)[last]:
        return None
    if not topk.result.has_one_use():
        return Missed(Reason.MULTI_CONSUMER, "the positions are read too")
    descending = topk.smallest is None
    return Raised((table,), lambda b: b.op(SortOp, table, descending))


@RAISE.rule(SortOp, NarrowOp, among=(TopkOp, SortOp))
def sort_part_raise(op: NarrowOp) -> Raised | None:
    """Some elements of each row in order, of a few that are read: a median, an extreme and a quantile."""
    sort, (axis, start, length) = op.operand.owner, op.bounds
    if not isinstance(sort, SortOp) or sort.first is not None or axis != len(shape_of(op.operand)) - 1:
        return None
    users = [use.operation for use in sort.result.uses]
    # one that reads more needs the sorted rows in any case
    parts = [user.bounds for user in users if isinstance(user, NarrowOp) and user.bounds[0] == axis]
    if not len(parts) == len(users) <= MOST_PARTS:
        return None
    *outer, extent = shape_of(op.operand)
    longest = max(count for _, _, count in parts)
    # a sorting network takes steps (steps + 1) / 4 comparisons an element, over so many rows side by side
    steps, rows = (extent - 1).bit_length(), min(prod(outer), ROWS_SIDE_BY_SIDE)
    is_faster = extent >= max(MIN_SELECTED_FROM, 8 * longest) and steps * (steps + 1) > 8 * rows
    x, descending = sort.operand, sort.descending is not None
    return Raised((op.operand,), lambda b: b.op(SortOp, x, descending, start, length), is_faster)


zero(BisectOp, "it counts")
leading(BisectOp)


def _cumsum_transpose(op: CumsumOp, b: MirBuilder, g: Value) -> Sequence[Cotangent]:
    return [b.cumsum(g, op.axis.value.data, op.is_exclusive, not op.is_reverse)]


linear(CumsumOp, _cumsum_transpose)
leading(CumsumOp, "axis")
NARROW.add(GatherOp, ScatterAddOp, ScatterMaxOp, CumsumOp, CumprodOp)


@decompose(CumprodOp)
def cumprod_decompose(op: CumprodOp, b: MirBuilder) -> Sequence[Value]:
    return [running_scan(b, b.value(op.operand), op.axis_index, b.mul)]


leading(CumprodOp, "axis")


@decompose(CumsumBackwardOp)
def cumsum_backward_decompose(op: CumsumBackwardOp, b: MirBuilder) -> Sequence[Value]:
    x = b.value(op.operand)
    return [b.cumsum(x, op.axis.value.data, op.is_exclusive, not op.is_reverse, x.dtype)]
