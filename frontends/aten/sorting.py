"""Rows of operators that order elements along an axis, and search in ordered ones."""

# Arguments of operators are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any

import numpy as np

from xdsl_rlx.frontends.aten.rows import ROWS, Call
from xdsl_rlx.frontends.aten.values import cast, category, dtype_of, is_tensor, traced
from xdsl_rlx.op_functions import function


def _order(x: Any, dim: int, descending: bool = False) -> Any:
    """Positions in stable order along an axis; NaN is larger than all numbers."""
    x = cast(x, "i8") if dtype_of(x) == "i1" else x
    if not descending:
        return np.argsort(x, axis=dim)
    return x.shape[dim] - 1 - np.flip(np.argsort(np.flip(x, dim), axis=dim), dim)


def _taken(x: Any, order: Any, dim: int) -> list[Any]:
    return [np.take_along_axis(x, order, dim), order]


@ROWS.add("sort.default")
def _sort(c: Call, self: Any, dim: int = -1, descending: bool = False) -> Any:
    if not np.ndim(self):
        return [self, np.zeros((), np.int64)]
    return _taken(self, _order(self, dim, descending), dim)


@ROWS.add("sort.stable")
def _sort_stable(c: Call, self: Any, *, stable: bool | None = True, dim: int = -1, descending: bool = False) -> Any:
    return _sort(c, self, dim, descending)


@ROWS.add("argsort.default")
def _argsort(c: Call, self: Any, dim: int = -1, descending: bool = False) -> Any:
    return _sort(c, self, dim, descending)[1]


@ROWS.add("topk.default")
def _topk(c: Call, self: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    if not np.ndim(self):
        return [self, np.zeros((), np.int64)]
    order = _order(self, dim, largest)
    first = order[(slice(None),) * (dim % np.ndim(self)) + (slice(0, k),)]
    return _taken(self, first, dim)


def _at_rank(x: Any, rank: Any, dim: int, keepdim: bool) -> list[Any]:
    """The element that has a rank, which is one number or one for each row, and its position."""
    order = _order(x, dim)
    rows = list(x.shape)
    rows[dim] = 1
    at = np.take_along_axis(order, np.broadcast_to(rank, tuple(rows)), dim)
    found = np.take_along_axis(x, at, dim)
    return [found, at] if keepdim else [np.squeeze(found, dim), np.squeeze(at, dim)]


@ROWS.add("kthvalue.default", composite=True)
def _kthvalue(c: Call, self: Any, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    if not np.ndim(self):
        return [self, np.zeros((), np.int64)]
    return _at_rank(self, np.asarray(k - 1), dim, keepdim)


def _median_rank(x: Any, dim: int, skips_nan: bool) -> Any:
    """The rank of the lower median, which is NaN if any element is, or the one of the elements that are numbers."""
    n = x.shape[dim]
    if category(dtype_of(x)) < 2:
        return np.asarray((n - 1) // 2)
    numbers = np.sum(cast(x == x, "i64"), axis=dim, keepdims=True)
    if skips_nan:
        return np.maximum(numbers - 1, 0) // 2
    return np.where(numbers == n, (n - 1) // 2, n - 1)


def _median_dim_of(self: Any, dim: int, keepdim: bool, skips_nan: bool) -> Any:
    if not np.ndim(self):
        return [self, np.zeros((), np.int64)]
    found, at = _at_rank(self, _median_rank(self, dim, skips_nan), dim, True)
    if not skips_nan and category(dtype_of(self)) > 1:
        at = np.where(found == found, at, np.argmax(cast(self != self, "i8"), axis=dim, keepdims=True))
    return [found, at] if keepdim else [np.squeeze(found, dim), np.squeeze(at, dim)]


@ROWS.add("median.dim", composite=True)
def _median_dim(c: Call, self: Any, dim: int, keepdim: bool = False) -> Any:
    return _median_dim_of(self, dim, keepdim, False)


@ROWS.add("nanmedian.dim", composite=True)
def _nanmedian_dim(c: Call, self: Any, dim: int, keepdim: bool = False) -> Any:
    return _median_dim_of(self, dim, keepdim, True)


@ROWS.add("median.default", composite=True)
def _median(c: Call, self: Any) -> Any:
    return _median_dim_of(self.reshape(-1), 0, False, False)[0]


@ROWS.add("nanmedian.default", composite=True)
def _nanmedian(c: Call, self: Any) -> Any:
    return _median_dim_of(self.reshape(-1), 0, False, True)[0]


@ROWS.add("mode.default", composite=True)
def _mode(c: Call, self: Any, dim: int = -1, keepdim: bool = False) -> Any:
    """The least of the most frequent elements along an axis, and its last position."""
    if not np.ndim(self):
        return [self, np.zeros((), np.int64)]
    x = np.moveaxis(self, dim, -1)
    same = np.expand_dims(x, -1) == np.expand_dims(x, -2)
    count = np.sum(cast(same, "i64"), axis=-1)
    order = _order(x, -1)
    most = np.argmax(np.take_along_axis(count, order, -1), axis=-1, keepdims=True)
    value = np.take_along_axis(x, np.take_along_axis(order, most, -1), -1)
    n = x.shape[-1]
    at = n - 1 - np.argmax(cast(np.flip(x == value, -1), "i8"), axis=-1, keepdims=True)
    found = np.take_along_axis(x, at, -1)
    if keepdim:
        return [np.moveaxis(found, -1, dim), np.moveaxis(at, -1, dim)]
    return [np.squeeze(found, -1), np.squeeze(at, -1)]


def _running(self: Any, dim: int, of: Any) -> list[Any]:
    """The running extreme along an axis, and the last position that it is at."""
    if not np.ndim(self):
        return [self, np.zeros((), np.int64)]
    x = cast(self, "i8") if dtype_of(self) == "i1" else traced(self)
    rank, dim = np.ndim(x), dim % np.ndim(x)
    numbers = np.arange(x.shape[dim]).reshape([-1 if axis == dim else 1 for axis in range(rank)])
    best = of.accumulate(x, axis=dim)
    at = np.where((x == best) | (x != x), numbers, 0)
    return _taken(self, np.maximum.accumulate(at, axis=dim), dim)


@ROWS.add("cummax.default", composite=True)
def _cummax(c: Call, self: Any, dim: int) -> Any:
    return _running(self, dim, np.maximum)


@ROWS.add("cummin.default", composite=True)
def _cummin(c: Call, self: Any, dim: int) -> Any:
    return _running(self, dim, np.minimum)


@ROWS.add("searchsorted.Tensor", "searchsorted.Scalar")
def _searchsorted(
    c: Call,
    sorted_sequence: Any,
    self: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Any = None,
) -> Any:
    a = sorted_sequence if sorter is None else np.take_along_axis(sorted_sequence, sorter, -1)
    v = self if is_tensor(self) else np.asarray(self).astype(np.float64 if isinstance(self, float) else np.int64)
    right = right or side == "right"
    if np.ndim(a) == 1 and a.shape[0]:
        return cast(np.searchsorted(traced(a), v, "right" if right else "left"), c.dtype)
    below = np.expand_dims(a, -2) <= np.expand_dims(v, -1) if right else np.expand_dims(a, -2) < np.expand_dims(v, -1)
    return np.sum(cast(below, c.dtype), axis=-1)


@ROWS.add("bucketize.Tensor", "bucketize.Scalar")
def _bucketize(c: Call, self: Any, boundaries: Any, *, out_int32: bool = False, right: bool = False) -> Any:
    return _searchsorted(c, boundaries, self, right=right)


@ROWS.add("isin.Tensor_Tensor", "isin.Tensor_Scalar", "isin.Scalar_Tensor")
def _isin(c: Call, elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False) -> Any:
    return np.isin(elements, test_elements, invert=invert)


@ROWS.add("histc.default", composite=True)
def _histc(c: Call, self: Any, bins: int = 100, min: float = 0, max: float = 0) -> Any:
    """Elements counted in equal intervals; without bounds those are the extremes of the elements."""
    x = cast(self, c.dtype).reshape(-1)
    low, high = (np.min(x), np.max(x)) if min == max == 0 else (cast(min, c.dtype), cast(max, c.dtype))
    same = low == high
    low, high = np.where(same, low - 1, low), np.where(same, high + 1, high)
    place = np.minimum(np.floor((x - low) / (high - low) * bins), bins - 1)
    inside = (x >= low) & (x <= high)
    at = np.where(inside, place, -1).astype(np.int64)
    return np.sum(cast(np.expand_dims(at, 0) == np.arange(bins).reshape(-1, 1), c.dtype), axis=1)


def _counted(x: Any, edges: Any, weight: Any, density: bool, dtype: str) -> list[Any]:
    """The weights of elements between each two edges, the last one included, and the edges."""
    x = x.reshape(-1)
    bins = edges.shape[0] - 1
    inside = (x >= edges[0]) & (x <= edges[-1])
    place = np.clip(np.searchsorted(edges, x, "right") - 1, 0, bins - 1)
    given = cast(1, dtype) if weight is None else cast(weight, dtype).reshape(-1)
    counts = traced(function("full")((bins,), 0, dtype)).at[place].add(np.where(inside, given, cast(0, dtype)))
    if density:
        counts = counts / np.sum(counts) / (edges[1:] - edges[:-1])
    return [counts, edges]


@ROWS.add("histogram.bin_ct", composite=True)
def _histogram(
    c: Call, self: Any, bins: int = 100, *, range: Any = None, weight: Any = None, density: bool = False
) -> Any:
    """Without a range between the extremes of the elements."""
    if range is not None:
        low, high = (cast(one, c.dtype) for one in range)
    else:
        low, high = np.min(self), np.max(self)
    half = cast(low == high, c.dtype) * cast(0.5, c.dtype)
    low, high = low - half, high + half
    edges = low + (high - low) * cast(np.arange(bins + 1) / bins, c.dtype)
    return _counted(self, traced(edges), weight, density, c.dtype)


@ROWS.add("histogram.bins_tensor", composite=True)
def _histogram_between(c: Call, self: Any, bins: Any, *, weight: Any = None, density: bool = False) -> Any:
    return _counted(self, traced(bins), weight, density, c.dtype)
