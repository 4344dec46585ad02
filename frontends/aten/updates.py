"""Rows of operators that return a tensor with another part, and operators whose results have shapes by data."""

# Arguments of operators are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from xdsl_rlx.frontends.aten.rows import ROWS, Call
from xdsl_rlx.frontends.aten.values import cast, traced
from xdsl_rlx.op_functions import function

_BY_DATA = "the shape of its result, or what it reads, depends on concrete values of tensors"

ROWS.refuse(
    f"{_BY_DATA}; torch.where(mask, x, other) keeps the shape",
    "masked_select.default",
)
ROWS.refuse(
    _BY_DATA,
    "nonzero.default",
    "_unique2.default",
    "unique_dim.default",
    "unique_consecutive.default",
    "unique_dim_consecutive.default",
    "bincount.default",
    "repeat_interleave.Tensor",
    "_local_scalar_dense.default",
    "item.default",
    "equal.default",
    "allclose.default",
)
ROWS.refuse("tensors are dense here; write it with index_add or scatter_reduce", "_to_sparse.default")
ROWS.refuse("the seed and the order of PyTorch's own hash are not reproduced", "hash_tensor.default")
ROWS.refuse(
    "its regions are drawn by a sequence of its own; torch.nn.functional.max_pool2d has fixed ones",
    "fractional_max_pool2d.default",
    "fractional_max_pool3d.default",
)
ROWS.refuse(
    "memory is not made longer in place; write it with torch.cat",
    "resize.default",
    "resize_.default",
    "resize_as.default",
)


@ROWS.add("put.default")
def _put(c: Call, self: Any, index: Any, source: Any, accumulate: bool = False) -> Any:
    flat = traced(self).reshape(-1).at[index.reshape(-1)]
    new = source.reshape(-1)
    return (flat.add(new) if accumulate else flat.set(new)).reshape(self.shape)


@ROWS.add("slice_scatter.default")
def _slice_scatter(
    c: Call, self: Any, src: Any, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Any:
    at = (slice(None),) * (dim % np.ndim(self)) + (slice(start, end, step),)
    return traced(self).at[at].set(cast(src, c.dtype))


@ROWS.add("select_scatter.default")
def _select_scatter(c: Call, self: Any, src: Any, dim: int, index: int) -> Any:
    at = (slice(None),) * (dim % np.ndim(self)) + (index,)
    return traced(self).at[at].set(cast(src, c.dtype))


@ROWS.add("diagonal_scatter.default")
def _diagonal_scatter(c: Call, self: Any, src: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    return _with_diagonal(self, cast(src, c.dtype), offset, dim1, dim2)


@ROWS.add("diagonal_backward.default")
def _diagonal_backward(c: Call, grad_output: Any, input_sizes: Sequence[int], offset: int, dim1: int, dim2: int) -> Any:
    zeros = function("full")(tuple(input_sizes), 0, c.dtype)
    return _with_diagonal(zeros, grad_output, offset, dim1, dim2)


@ROWS.add("diag_embed.default")
def _diag_embed(c: Call, self: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    rank, n = np.ndim(self) + 1, self.shape[-1] + abs(offset)
    first, second = dim1 % rank, dim2 % rank
    rest = iter(self.shape[:-1])
    sizes = [n if axis in (first, second) else next(rest) for axis in range(rank)]
    return _with_diagonal(function("full")(tuple(sizes), 0, c.dtype), self, offset, first, second)


def _with_diagonal(self: Any, src: Any, offset: int, dim1: int, dim2: int) -> Any:
    first, second = dim1 % np.ndim(self), dim2 % np.ndim(self)
    x = np.moveaxis(traced(self), (first, second), (-2, -1))
    count = src.shape[-1]
    rows, columns = np.arange(count) + max(-offset, 0), np.arange(count) + max(offset, 0)
    x = x.at[..., rows, columns].set(src)
    return np.moveaxis(x, (-2, -1), (first, second))
