"""Sums, products and extremes of the rows that have one number, by scatters and sorting; no op is defined here."""

# What NumPy is called with is of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl_rlx.dialects.mir.compositions import argsort

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
    if data.dtype == "i1":
        found = segment_extreme(b, b.cast(data, "u8"), ids, count, smallest)
        # of no element, the least number is False, and the largest is True
        return found > 0
    return b.narrow(b.scatter_max(data, ids, count + 1, smallest=smallest), 0, 0, count)


def segment_product(b: MirBuilder, data: Value, ids: Value, count: int) -> Value:
    """`result[s] = product of data[k] over the k with ids[k] = s`, 1 where there is none; `count` is dropped."""
    shape = (count, *data.shape[1:])
    if not data.shape[0] or not count:
        return b.full(shape, 1, data.dtype)
    order = argsort(b, ids)
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
