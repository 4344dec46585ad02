"""Sums, products and extremes of the rows that have one number, by sorting and scatters; no op is defined here."""

# What NumPy is called with is of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.dialects.builtin import AnyFloat

from xdsl_rlx.dialects.shapes import element_of

if TYPE_CHECKING:
    from xdsl_rlx.dialects.mir.mir_builder import MirBuilder
    from xdsl_rlx.dialects.mir.value import Value


def segment_total(b: MirBuilder, data: Value, ids: Value, count: int) -> Value:
    """`result[s] = sum of data[k] over the k with ids[k] = s`; an id of `count` is dropped."""
    return b.narrow(b.scatter_add(data, ids, count + 1), 0, 0, count)


def segment_extreme(b: MirBuilder, data: Value, ids: Value, count: int, smallest: bool) -> Value:
    """
    `result[s] = the largest of data[k] over the k with ids[k] = s`, or the smallest; an id of `count` is dropped.

    NaN if one of them is; the least number of the element type where there is none, or the largest. Equal elements
    share the derivative.
    """
    if not isinstance(element_of(data.ssa), AnyFloat):
        return _extreme(b, data, ids, count, smallest)

    def rule(data: Value, ids: Value, tangent: Value) -> Value:
        largest = b.concat([_extreme(b, data, ids, count, smallest), b.full((1, *data.shape[1:]), 0, data.dtype)], 0)
        each = b.gather(largest, ids)
        shares = b.cast((data == each) | ((data != data) & (each != each)), data.dtype)
        counts = b.max(segment_total(b, shares, ids, count), 1.0)
        return segment_total(b, shares * tangent, ids, count) / counts

    return b.custom_fn(lambda data, ids: _extreme(b, data, ids, count, smallest), data, ids, jvp=rule)


def _extreme(b: MirBuilder, data: Value, ids: Value, count: int, smallest: bool) -> Value:
    fill = _least(data, smallest)
    shape = (count, *data.shape[1:])
    if not data.shape[0] or not count:
        return b.full(shape, fill, data.dtype)
    # by column: in the order of the elements first, then of their ids, which keeps that order among equal ones
    columns = b.moveaxis(data, 0, -1)
    last = columns.rank - 1
    order = b.argsort(_turned(columns) if smallest else columns, -1)
    by_id = b.argsort(b.gather(ids, order), -1)
    order = b.gather(order, by_id, last, last)
    ends = b.cumsum(segment_total(b, b.full(ids.shape, 1, "i64"), ids, count)) - 1
    winner = b.gather(order, ends, last)
    found = b.moveaxis(b.gather(columns, winner, last, last), -1, 0)
    has = segment_total(b, b.full(ids.shape, 1, "i32"), ids, count) > 0
    return b.where(b.reshape(has, (count, *(1,) * (data.rank - 1))), found, b.constant(fill, data.dtype))


def _least(data: Value, smallest: bool) -> float | int:
    """The identity of the maximum, or of the minimum."""
    import numpy as np

    if isinstance(element_of(data.ssa), AnyFloat):
        return float("inf" if smallest else "-inf")
    if data.dtype == "i1":
        return smallest
    info = np.iinfo(np.dtype(data.dtype))
    return int(info.max if smallest else info.min)


def _turned(x: Value) -> Value:
    """Numbers in the opposite order; NaN stays NaN."""
    import numpy as np

    if isinstance(element_of(x.ssa), AnyFloat):
        return -x
    if x.dtype == "i1":
        return ~x
    info = np.iinfo(np.dtype(x.dtype))
    return int(info.max) - x if info.min == 0 else -1 - x


def segment_product(b: MirBuilder, data: Value, ids: Value, count: int) -> Value:
    """`result[s] = product of data[k] over the k with ids[k] = s`, 1 where there is none; `count` is dropped."""
    shape = (count, *data.shape[1:])
    if not data.shape[0] or not count:
        return b.full(shape, 1, data.dtype)
    order = b.argsort(ids)
    rows, starts = b.gather(data, order), b.gather(ids, order)
    one = b.constant(1, data.dtype)
    step, length = 1, data.shape[0]
    while step < length:
        # each row is the product of up to `step` rows of its id that end with it
        same = b.narrow(starts, 0, step, length - step) == b.narrow(starts, 0, 0, length - step)
        mask = b.reshape(same, (length - step, *(1,) * (data.rank - 1)))
        before = b.where(mask, b.narrow(rows, 0, 0, length - step), one)
        rows = b.concat([b.narrow(rows, 0, 0, step), b.narrow(rows, 0, step, length - step) * before], 0)
        step *= 2
    counts = segment_total(b, b.full(ids.shape, 1, "i64"), ids, count)
    found = b.gather(rows, b.cumsum(counts) - 1)
    return b.where(b.reshape(counts > 0, (count, *(1,) * (data.rank - 1))), found, one)
