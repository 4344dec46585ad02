"""Rows of windows, of views by strides, and of elements chosen by a mask."""

# Arguments of operators are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from xdsl_rlx.frontends.aten.rows import ROWS, Call
from xdsl_rlx.frontends.aten.values import cast, traced
from xdsl_rlx.op_functions import function


def _windows(count: int, size: int, step: int) -> Any:
    return np.arange(count).reshape(-1, 1) * step + np.arange(size)


@ROWS.add("unfold.default", "unfold_copy.default")
def _unfold(c: Call, self: Any, dimension: int, size: int, step: int) -> Any:
    """Windows along an axis, whose elements are along a new last axis."""
    if not np.ndim(self):
        return self.reshape(1)[:size]
    dim = dimension % np.ndim(self)
    count = (self.shape[dim] - size) // step + 1
    return np.moveaxis(np.take(self, _windows(count, size, step), axis=dim), dim + 1, -1)


@ROWS.add("unfold_backward.default")
def _unfold_backward(c: Call, grad_in: Any, input_sizes: Sequence[int], dim: int, size: int, step: int) -> Any:
    if not input_sizes:
        return np.sum(grad_in, axis=-1)
    axis = dim % len(input_sizes)
    rows = [n for k, n in enumerate(input_sizes) if k != axis]
    grad = np.moveaxis(grad_in, axis, -2)
    zeros = traced(function("full")((*rows, input_sizes[axis]), 0, c.dtype))
    found = zeros.at[..., _windows(grad.shape[-2], size, step)].add(grad)
    return np.moveaxis(found, -1, axis)


@ROWS.add("empty_permuted.default")
def _empty_permuted(c: Call, size: Sequence[int], physical_layout: Any, dtype: str | None = None) -> Any:
    return function("full")(tuple(size), 0, c.dtype)


@ROWS.add("_efficientzerotensor.default")
def _zeros(c: Call, size: Sequence[int], dtype: str | None = None) -> Any:
    return function("full")(tuple(size), 0, c.dtype)


def _places(size: Sequence[int], stride: Sequence[int], offset: int | None) -> Any:
    """The place in memory of each element."""
    places = np.full(tuple(size), offset or 0, np.int64)
    for axis, (n, step) in enumerate(zip(size, stride, strict=True)):
        places += np.arange(n).reshape([-1 if k == axis else 1 for k in range(len(size))]) * step
    return places


@ROWS.add("as_strided.default", "as_strided_copy.default")
def _as_strided(
    c: Call, self: Any, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Any:
    """Of a tensor that is contiguous, and has its memory for itself: see `walk.missing`."""
    return self.reshape(-1)[_places(size, stride, storage_offset)]


@ROWS.add("as_strided_scatter.default")
def _as_strided_scatter(
    c: Call, self: Any, src: Any, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Any:
    flat = traced(self).reshape(-1).at[_places(size, stride, storage_offset)].set(src)
    return flat.reshape(tuple(self.shape))


def _ranks(mask: Any) -> tuple[Any, Any]:
    """The elements of a mask in order, and how many before each one are true."""
    flat = traced(mask).reshape(-1)
    return flat, np.cumsum(cast(flat, "i64")) - 1


@ROWS.add("masked_scatter.default", composite=True)
def _masked_scatter(c: Call, self: Any, mask: Any, source: Any) -> Any:
    """The first elements of the source where the mask is true."""
    x, mask = np.broadcast_arrays(traced(self), traced(mask))
    if not np.size(x) or not np.size(source):
        return x
    flat, rank = _ranks(mask)
    chosen = source.reshape(-1)[np.clip(rank, 0, np.size(source) - 1)]
    return np.where(flat, chosen, x.reshape(-1)).reshape(tuple(x.shape))


@ROWS.add("masked_scatter_backward.default", composite=True)
def _masked_scatter_backward(c: Call, grad_output: Any, mask: Any, sizes: Sequence[int]) -> Any:
    """The elements where the mask is true, in order, and zeros behind them."""
    count = prod(sizes)
    grad, mask = np.broadcast_arrays(traced(grad_output), traced(mask))
    flat, rank = _ranks(mask)
    # one more element takes what the mask hides
    zeros = traced(function("full")((count + 1,), 0, c.dtype))
    at = np.where(flat & (rank < count), rank, count)
    return zeros.at[at].add(np.where(flat, grad.reshape(-1), cast(0, c.dtype)))[:count].reshape(tuple(sizes))


@ROWS.add("nonzero_static.default", composite=True)
def _nonzero_static(c: Call, self: Any, *, size: int, fill_value: int = -1) -> Any:
    """The indices of the first elements that are not 0; as many rows as asked for."""
    if not np.ndim(self):
        return function("full")((size, 0), 0, "i64")
    flat, order = _ranks(cast(self, "i1"))
    at = np.where(flat & (order < size), order, size)
    numbers = np.arange(np.size(self))
    start = traced(function("full")((size + 1,), fill_value, "i64"))
    columns = [
        start.at[at].set(np.asarray(one, np.int64))[:size] for one in np.unravel_index(numbers, tuple(self.shape))
    ]
    return np.stack(columns, -1)
