"""Rows of tables at integer indices, and one-hot vectors."""

# Trees, and what NumPy is called with, are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from xdsl_rlx.composite import composite
from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.nn.arguments import check_choice, check_integer, check_shape, kind_of
from xdsl_rlx.op_functions import function


@composite
def one_hot(x: Any, num_classes: int, dtype: Any = "f32", axis: int = -1) -> Any:
    """
    Return 1 at the index of each class and 0 elsewhere, along a new `axis` of length `num_classes`.

    A class outside of `[0, num_classes)` gives zeros. As `jax.nn.one_hot`, which has the default float type.
    """
    check_integer("one_hot", "num_classes", num_classes, 0)
    return function("one_hot")(x, num_classes, axis, dtype)


def _rows(name: str, input: Any, weight: Any, padding_idx: int | None) -> tuple[Any, Any]:
    """The rows of the table, and which indices count."""
    if kind_of(input) not in "iu" or np.ndim(weight) != 2:
        raise GraphError(
            f"{name}: expected integers as input and a weight [V, D], got an input of {np.dtype(input.dtype)} and a "
            f"weight of shape {list(np.shape(weight))}"
        )
    rows = function("gather")(weight, input)
    if padding_idx is None:
        return rows, None
    if not -weight.shape[0] <= padding_idx < weight.shape[0]:
        raise GraphError(f"{name}: padding_idx: expected an index of {weight.shape[0]} rows, got {padding_idx}")
    return rows, input != padding_idx % weight.shape[0]


@composite
def embedding(input: Any, weight: Any, padding_idx: int | None = None) -> Any:
    """
    Return the rows of a table: `result[..., :] = weight[input[...], :]`.

    `input` has integers, `weight` is `[V, D]`, the result `[..., D]`. The row `padding_idx` gets no gradient from this
    call. Indices are clamped to the table.
    """
    rows, counts = _rows("embedding", input, weight, padding_idx)
    return rows if counts is None else np.where(counts[..., None], rows, function("stop_gradient")(rows))


@composite
def embedding_bag(
    input: Any,
    weight: Any,
    offsets: Any = None,
    mode: str = "mean",
    per_sample_weights: Any = None,
    padding_idx: int | None = None,
) -> Any:
    """
    Return the mean, sum or maximum of the rows of a table for each bag of indices: `[N, D]`.

    `weight` is `[V, D]`. `input` is `[N, S]`, a bag for each row; or `[L]` with `offsets` `[N]`, the increasing starts
    of the bags, the first of which is 0. `per_sample_weights`, for the mode "sum", multiply the rows and have the shape
    of `input`. Indices equal to `padding_idx` do not count; an empty bag is 0.
    """
    name = "embedding_bag"
    check_choice(name, "mode", mode, ("mean", "sum", "max"))
    if np.ndim(input) != (2 if offsets is None else 1):
        raise GraphError(f"{name}: input: expected [N, S], or [L] with offsets, got {list(np.shape(input))}")
    rows, counts = _rows(name, input, weight, padding_idx)
    counts = np.ones(input.shape, bool) if counts is None else counts
    if per_sample_weights is not None:
        if mode != "sum":
            raise GraphError(f"{name}: per_sample_weights: expected the mode 'sum', got {mode!r}")
        check_shape(name, "per_sample_weights", per_sample_weights, input.shape, "that of input")
        rows = rows * per_sample_weights[..., None]
    if offsets is not None:
        bag = np.sum(np.arange(input.shape[0])[:, None] >= offsets, axis=1) - 1
        inside = bag == np.arange(offsets.shape[0])[:, None]
        if mode != "max":
            kept = function("scatter_add")(np.where(counts[:, None], rows, 0), bag, offsets.shape[0])
            number = np.sum(np.where(inside & counts, 1, 0), axis=1)
            return kept if mode == "sum" else kept / np.maximum(number, 1).astype(kept.dtype)[:, None]
        rows, counts = rows[None], inside & counts
    number = np.sum(np.where(counts, 1, 0), axis=1)[:, None]
    if mode == "max":
        largest = np.max(np.where(counts[..., None], rows, -inf), axis=1, initial=-inf)
        return np.where(number > 0, largest, 0)
    total = np.sum(np.where(counts[..., None], rows, 0), axis=1)
    return total if mode == "sum" else total / np.maximum(number, 1).astype(total.dtype)
