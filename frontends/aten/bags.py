"""Rows of bags of embeddings and of their gradients; modes are 0 for sums, 1 for means and 2 for maxima."""

# Arguments of operators are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

from typing import Any

import numpy as np

from xdsl_rlx import nn
from xdsl_rlx.frontends.aten.backward import gradients
from xdsl_rlx.frontends.aten.rows import ROWS, Call
from xdsl_rlx.frontends.aten.values import cast, dtype_of
from xdsl_rlx.op_functions import function

_MODES = ("sum", "mean", "max")


def _bag_of(indices: Any, offsets: Any) -> Any:
    """The number of the bag of each index."""
    return np.sum(np.arange(indices.shape[0])[:, None] >= offsets, axis=1) - 1


def _length(x: Any) -> int:
    return int(np.shape(x)[0])


def bags(
    weight: Any, indices: Any, offsets: Any, mode: int, weights: Any, padding_idx: int, include_last: bool = False
) -> Any:
    """A sum, mean or maximum of rows for each bag."""
    starts = offsets[:-1] if include_last else offsets
    return nn.embedding_bag(indices, weight, starts, _MODES[mode], weights, None if padding_idx < 0 else padding_idx)


@ROWS.add("_embedding_bag.default", "_embedding_bag_forward_only.default", composite=True)
def _embedding_bag(
    c: Call,
    weight: Any,
    indices: Any,
    offsets: Any,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Any = None,
    include_last_offset: bool = False,
    padding_idx: int = -1,
) -> Any:
    """With the bag of each index, the number of indices of each bag, and the indices of maxima."""
    y = bags(weight, indices, offsets, mode, per_sample_weights, padding_idx, include_last_offset)
    starts = offsets[:-1] if include_last_offset else offsets
    bag, count = _bag_of(indices, starts), _length(starts)
    kept = np.ones(indices.shape, np.int64) if padding_idx < 0 else cast(indices != padding_idx, "i64")
    here = bag == np.arange(count)[:, None]
    size = np.sum(np.where(here, kept, 0), axis=1)
    most: Any = np.zeros(0, np.int64)
    if mode == 2:
        rows = np.where((here & (kept > 0))[..., None], np.take(weight, indices, axis=0)[None], -np.inf)
        first = np.argmax(rows, axis=1)
        most = np.where(size[:, None] > 0, np.take(indices, first), -1)
    return [y, *(cast(one, kind) for one, kind in zip((bag, size, most), c.dtypes[1:], strict=True))]


@ROWS.add("_embedding_bag_backward.default", composite=True)
def _embedding_bag_backward(
    c: Call,
    grad: Any,
    indices: Any,
    offsets: Any,
    offset2bag: Any,
    bag_size: Any,
    maximum_indices: Any,
    num_weights: int,
    scale_grad_by_freq: bool,
    mode: int,
    sparse: bool,
    per_sample_weights: Any,
    padding_idx: int = -1,
) -> Any:
    return _dense(
        c,
        grad,
        indices,
        offset2bag,
        bag_size,
        maximum_indices,
        num_weights,
        scale_grad_by_freq,
        mode,
        per_sample_weights,
        padding_idx,
    )


@ROWS.add("_embedding_bag_dense_backward.default", composite=True)
def _dense(
    c: Call,
    grad: Any,
    indices: Any,
    offset2bag: Any,
    bag_size: Any,
    maximum_indices: Any,
    num_weights: int,
    scale_grad_by_freq: bool,
    mode: int,
    per_sample_weights: Any,
    padding_idx: int = -1,
) -> Any:
    if mode == 2:
        return _of_maxima(grad, maximum_indices, num_weights)
    if mode == 1:
        grad = grad / np.maximum(bag_size, 1).astype(grad.dtype)[:, None]
    rows = np.take(grad, offset2bag, axis=0)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights[:, None]
    if scale_grad_by_freq:
        rows = rows / np.sum(cast(indices[:, None] == indices, c.dtype), axis=1)[:, None]
    if padding_idx >= 0:
        rows = np.where((indices != padding_idx)[:, None], rows, cast(0, c.dtype))
    return function("scatter_add")(rows, indices, num_weights)


def _of_maxima(grad: Any, maximum_indices: Any, num_weights: int) -> Any:
    """Each element of a bag's gradient goes to the row that it is of."""
    kept = np.where(maximum_indices >= 0, grad, cast(0, dtype_of(grad)))
    table = function("full")((num_weights, grad.shape[1]), 0, dtype_of(grad))
    index = np.maximum(maximum_indices, 0)
    return gradients(lambda w: np.take_along_axis(w, index, 0), (table,), kept)[0]


@ROWS.add("_embedding_bag_per_sample_weights_backward.default", composite=True)
def _per_sample_weights(
    c: Call, grad: Any, weight: Any, indices: Any, offsets: Any, offset2bag: Any, mode: int, padding_idx: int = -1
) -> Any:
    found = np.sum(np.take(grad, offset2bag, axis=0) * np.take(weight, indices, axis=0), axis=1)
    return found if padding_idx < 0 else np.where(indices != padding_idx, found, cast(0, c.dtype))
