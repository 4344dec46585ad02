"""Rows of distances between vectors."""

# Arguments of operators are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from xdsl_rlx.frontends.aten.rows import ROWS, Call
from xdsl_rlx.frontends.aten.values import cast, dtype_of, traced
from xdsl_rlx.op_functions import function


def _norm(x: Any, p: float) -> Any:
    """The norm of differences along the last axis."""
    size = abs(x)
    if p == 0:
        return np.sum(cast(x != 0, dtype_of(x)), axis=-1)
    if p == 1:
        return np.sum(size, axis=-1)
    if p == 2:
        return np.sqrt(np.sum(x * x, axis=-1))
    if p == inf:
        return np.max(size, axis=-1)
    return np.sum(size**p, axis=-1) ** (1 / p)


def _slopes(x: Any, distance: Any, p: float) -> Any:
    """The derivatives of the norm by the differences: 0 where vectors are equal."""
    length = np.expand_dims(distance, -1)
    whole = np.where(length == 0, 1, length)
    if p == 0:
        return x * 0
    if p == 1:
        return np.sign(x)
    if p == 2:
        return np.where(length == 0, 0, x / whole)
    if p == inf:
        return np.sign(x) * cast(abs(x) == length, dtype_of(x))
    size = np.where(x == 0, 1, abs(x))
    return np.where((length == 0) | (x == 0), 0, np.sign(x) * size ** (p - 1) / whole ** (p - 1))


def _differences(x1: Any, x2: Any) -> Any:
    return np.expand_dims(x1, -2) - np.expand_dims(x2, -3)


@ROWS.add("_cdist_forward.default", composite=True)
def _cdist(c: Call, x1: Any, x2: Any, p: float, compute_mode: int | None) -> Any:
    if 0 in (x1.shape[-1], x1.shape[-2], x2.shape[-2]):
        front = np.broadcast_shapes(tuple(x1.shape[:-2]), tuple(x2.shape[:-2]))
        return function("full")((*front, x1.shape[-2], x2.shape[-2]), 0, c.dtype)
    return _norm(_differences(x1, x2), p)


@ROWS.add("_cdist_backward.default", composite=True)
def _cdist_backward(c: Call, grad: Any, x1: Any, x2: Any, p: float, cdist: Any) -> Any:
    front = np.broadcast_shapes(tuple(x1.shape[:-2]), tuple(x2.shape[:-2]))
    shape = (*front, *x1.shape[-2:])
    if 0 in shape or 0 in x2.shape:
        return function("full")(shape, 0, c.dtype)
    found = np.expand_dims(grad, -1) * _slopes(_differences(x1, x2), cdist, p)
    return np.broadcast_to(np.sum(found, axis=-2), shape)


@ROWS.add("_pdist_forward.default", composite=True)
def _pdist(c: Call, self: Any, p: float = 2.0) -> Any:
    """Of all pairs of rows, the first one in front."""
    n = self.shape[0]
    if n < 2 or not self.shape[1]:
        return function("full")((n * (n - 1) // 2,), 0, c.dtype)
    first, second = np.triu_indices(n, 1)
    return _norm(self[first] - self[second], p)


@ROWS.add("_pdist_backward.default", composite=True)
def _pdist_backward(c: Call, grad: Any, self: Any, p: float, pdist: Any) -> Any:
    n = self.shape[0]
    zeros = function("full")(tuple(self.shape), 0, c.dtype)
    if n < 2 or not self.shape[1]:
        return zeros
    first, second = np.triu_indices(n, 1)
    found = np.expand_dims(grad, -1) * _slopes(self[first] - self[second], pdist, p)
    return traced(zeros).at[first].add(found).at[second].subtract(found)
