"""Norms of vectors and distances between them."""

# Trees, and what NumPy is called with, are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from xdsl_rlx.composite import composite
from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.nn.arguments import floating


def vector_norm(x: Any, p: float, axis: int, keepdims: bool = False) -> Any:
    """Return the norm `(sum |x|^p)^(1/p)` along an axis, whose gradient at 0 is 0."""
    if p == inf:
        return np.max(abs(x), axis=axis, keepdims=keepdims)
    if p == 0:
        return np.sum(np.where(x != 0, 1.0, 0.0 * x), axis=axis, keepdims=keepdims)
    if p == 1:
        return np.sum(abs(x), axis=axis, keepdims=keepdims)
    if p == 2:
        total = np.sum(x * x, axis=axis, keepdims=keepdims)
    else:
        nothing = x == 0
        total = np.sum(np.where(nothing, 0, abs(np.where(nothing, 1, x)) ** p), axis=axis, keepdims=keepdims)
    nothing = total == 0
    some = np.where(nothing, 1, total)
    return np.where(nothing, 0, np.sqrt(some) if p == 2 else some ** (1 / p))


@composite
def normalize(x: Any, p: float = 2.0, axis: int = 1, eps: float = 1e-12) -> Any:
    """Return `x / max(norm, eps)`, with the norm `(sum |x|^p)^(1/p)` along `axis`. Zeros stay 0."""
    x = floating(x)
    return x / np.maximum(vector_norm(x, p, axis, keepdims=True), eps)


@composite
def cosine_similarity(x1: Any, x2: Any, axis: int = 1, eps: float = 1e-8) -> Any:
    """
    Return the cosine of the angle between vectors along `axis`: `x1 . x2 / (max(|x1|, eps) max(|x2|, eps))`.

    The shapes are broadcast.
    """
    x1, x2 = floating(x1), floating(x2)
    sizes = [np.maximum(vector_norm(x, 2, axis, keepdims=True), eps) for x in (x1, x2)]
    return np.sum((x1 / sizes[0]) * (x2 / sizes[1]), axis=axis)


@composite
def pairwise_distance(x1: Any, x2: Any, p: float = 2.0, eps: float = 1e-6, keepdims: bool = False) -> Any:
    """Return the norm `(sum |x1 - x2 + eps|^p)^(1/p)` along the last axis. The shapes are broadcast."""
    return vector_norm(floating(x1 - x2) + eps, p, -1, keepdims)


@composite
def cdist(x1: Any, x2: Any, p: float = 2.0) -> Any:
    """
    Return the distances `(sum |x1[..., i, :] - x2[..., j, :]|^p)^(1/p)` of all pairs of rows.

    `x1` is `[..., P, M]`, `x2` is `[..., R, M]`, the result `[..., P, R]`. The gradient at equal rows is 0.
    """
    if np.ndim(x1) < 2 or np.ndim(x2) < 2 or x1.shape[-1] != x2.shape[-1]:
        raise GraphError(
            f"cdist: x2: expected [..., R, M] for x1 of shape [..., P, M], got {list(np.shape(x2))} for "
            f"{list(np.shape(x1))}; the last axes must be equal"
        )
    return vector_norm(floating(x1[..., :, None, :] - x2[..., None, :, :]), p, -1)


@composite
def pdist(x: Any, p: float = 2.0) -> Any:
    """
    Return the distances `(sum |x[i, :] - x[j, :]|^p)^(1/p)` of the rows `i < j`, in the order of `i`, then `j`.

    `x` is `[N, M]`, the result `[N (N - 1) / 2]`. The gradient at equal rows is 0.
    """
    if np.ndim(x) != 2:
        raise GraphError(f"pdist: x: expected [N, M], got {list(np.shape(x))}; reshape it")
    first, second = np.triu_indices(x.shape[0], 1)
    return vector_norm(floating(x[first] - x[second]), p, -1)
