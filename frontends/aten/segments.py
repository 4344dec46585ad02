"""Rows of reductions of segments, whose lengths are a tensor."""

# Arguments of operators are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any

import numpy as np

from xdsl_rlx.frontends.aten.rows import ROWS, Call
from xdsl_rlx.frontends.aten.values import cast, dtype_of, traced
from xdsl_rlx.op_functions import function

_METHODS = {"sum": "add", "mean": "add", "prod": "multiply", "max": "max", "min": "min"}
"""Methods of `x.at[i]`."""

_START = {"sum": 0, "mean": 0, "prod": 1, "max": -np.inf, "min": np.inf}


class _Segments:
    """Segments along an axis behind those that lengths, or offsets, have in front."""

    def __init__(self, data: Any, lengths: Any, offsets: Any):
        given = traced(lengths if offsets is None else offsets)
        self.axis = np.ndim(given) - 1
        if offsets is None:
            self.ends = np.cumsum(given, axis=-1)
            starts = self.ends - given
        else:
            starts, self.ends = given[..., :-1], given[..., 1:]
        self.sizes = self.ends - starts
        self.rest = tuple(data.shape[self.axis + 1 :])
        self.count = self.ends.shape[-1]
        numbers = np.arange(data.shape[self.axis])
        if self.axis:
            behind = np.expand_dims(self.ends, -2) <= numbers.reshape(-1, 1)
            places = np.sum(cast(behind, "i64"), axis=-1)
        else:
            places = cast(np.searchsorted(self.ends, numbers, "right"), "i64")
        # elements of no segment go to one more behind the others
        places = np.where(numbers >= starts[..., :1], places, self.count)
        rows = np.ix_(*(np.arange(n) for n in (*self.ends.shape[:-1], 1)))[:-1]
        self.at = (*rows, places)

    def reduced(self, data: Any, reduce: str, start: float) -> Any:
        """The elements of each segment combined with a number."""
        shape = (*self.ends.shape[:-1], self.count + 1, *self.rest)
        table = traced(function("full")(shape, start, dtype_of(data)))
        found = getattr(table.at[self.at], _METHODS[reduce])(data)
        return found[(slice(None),) * self.axis + (slice(0, self.count),)]

    def spread(self, x: Any) -> Any:
        """For each element the number of its segment, or 0."""
        widths = [(0, 1) if axis == self.axis else (0, 0) for axis in range(np.ndim(x))]
        return np.pad(x, widths)[self.at]

    def lengths(self, dtype: str) -> Any:
        """The numbers of elements, with an axis of 1 for each axis behind."""
        return cast(self.sizes, dtype).reshape(*self.sizes.shape, *[1] * len(self.rest))


@ROWS.add("segment_reduce.default", composite=True)
def _segment_reduce(
    c: Call,
    data: Any,
    reduce: str,
    *,
    lengths: Any = None,
    indices: Any = None,
    offsets: Any = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: float | None = None,
) -> Any:
    """The mean of an empty segment is NaN, or the initial number."""
    segments = _Segments(data, lengths, offsets)
    found = segments.reduced(traced(data), reduce, _START[reduce] if initial is None else initial)
    if reduce != "mean":
        return found
    sizes = segments.lengths(c.dtype)
    empty = found if initial is not None else found * 0 + cast(np.nan, c.dtype)
    return np.where(sizes > 0, found / np.maximum(sizes, cast(1, c.dtype)), empty)


@ROWS.add("_segment_reduce_backward.default", composite=True)
def _segment_reduce_backward(
    c: Call,
    grad: Any,
    output: Any,
    data: Any,
    reduce: str,
    *,
    lengths: Any = None,
    offsets: Any = None,
    axis: int = 0,
    initial: float | None = None,
) -> Any:
    segments = _Segments(data, lengths, offsets)
    zero, one = cast(0, c.dtype), cast(1, c.dtype)
    if reduce == "sum":
        return segments.spread(grad)
    if reduce == "mean":
        return segments.spread(grad / np.maximum(segments.lengths(c.dtype), one))
    if reduce == "prod":
        zeros = segments.reduced(cast(data == 0, c.dtype), "sum", 0)
        others = segments.reduced(np.where(data == 0, one, data), "prod", 1 if initial is None else initial)
        slopes = segments.spread(grad * others) / np.where(data == 0, one, data)
        left = segments.spread(zeros) - cast(data == 0, c.dtype)
        return np.where(left > 0, zero, slopes)
    best = cast((data == segments.spread(output)) | (data != data), c.dtype)
    many = np.maximum(segments.reduced(best, "sum", 0), one)
    return best * segments.spread(grad / many)
