"""Rows of operations that make tensors, and that move their elements."""

# Operands of rows are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from xdsl_rlx.frontends.shared import slices
from xdsl_rlx.frontends.shared.values import is_constant, numpy_dtype, shape_of, traced
from xdsl_rlx.frontends.stablehlo.rows import ROWS, Call
from xdsl_rlx.op_functions import function

LARGEST_CONSTANT = 1 << 16
"""Elements of a range of numbers up to which it is a constant."""


@ROWS.add("iota")
def _iota(c: Call) -> Any:
    axis, shape = int(c.get("iota_dimension")), c.shape
    line = np.arange(shape[axis]).astype(numpy_dtype(c.dtype)) if c.dtype not in ("bf16", "f16") else None
    if line is None or line.dtype.kind == "c" or prod(shape) > LARGEST_CONSTANT:
        if c.dtype[0] in "iu":
            return function("iota")(shape, axis, c.dtype)
        return function("iota")(shape, axis, "i64").astype(numpy_dtype(c.dtype))
    return np.broadcast_to(line.reshape(-1, *(1,) * (len(shape) - axis - 1)), shape)


@ROWS.add("broadcast_in_dim", folds=True)
def _broadcast_in_dim(c: Call, x: Any) -> Any:
    return spread(x, c.shape, c.get("broadcast_dimensions", ()))


def spread(x: Any, shape: Sequence[int], dims: Sequence[int]) -> Any:
    """A tensor whose dimensions are those `dims` of a result of this shape, repeated along the others."""
    order = sorted(range(len(dims)), key=lambda n: dims[n])
    if order != list(range(len(dims))):
        x = np.transpose(x, order)
    ones = [1] * len(shape)
    for axis, n in zip(sorted(dims), shape_of(x), strict=True):
        ones[axis] = n
    x = np.reshape(x, tuple(ones)) if tuple(ones) != shape_of(x) else x
    return np.broadcast_to(x, tuple(shape)) if tuple(ones) != tuple(shape) else x


@ROWS.add("broadcast", folds=True)
def _broadcast(c: Call, x: Any) -> Any:
    rank = len(c.shape)
    return spread(x, c.shape, tuple(range(rank - np.ndim(x), rank)))


@ROWS.add("reshape", folds=True)
def _reshape(c: Call, x: Any) -> Any:
    if is_constant(x) and np.size(x) and not any(np.asarray(x).strides):
        return np.broadcast_to(np.asarray(x).flat[0], c.shape)
    return np.reshape(x, c.shape) if c.shape != shape_of(x) else x


@ROWS.add("transpose", folds=True)
def _transpose(c: Call, x: Any) -> Any:
    order = tuple(c.get("permutation"))
    return np.transpose(x, order) if order != tuple(range(len(order))) else x


@ROWS.add("slice", folds=True)
def _slice(c: Call, x: Any) -> Any:
    bounds = zip(c.get("start_indices"), c.get("limit_indices"), c.get("strides"), strict=True)
    return x[tuple(slice(start, stop, step) for start, stop, step in bounds)] if np.ndim(x) else x


@ROWS.add("reverse", folds=True)
def _reverse(c: Call, x: Any) -> Any:
    axes = tuple(c.get("dimensions", ()))
    return np.flip(x, axes) if axes else x


@ROWS.add("concatenate")
def _concatenate(c: Call, *xs: Any) -> Any:
    axis = int(c.get("dimension"))
    if len(xs) == 1:
        return xs[0]
    return np.concatenate([traced(x) for x in xs], axis)


@ROWS.add("pad", composite=True)
def _pad(c: Call, x: Any, value: Any) -> Any:
    return slices.pad(
        x, value, *(c.get(name) for name in ("edge_padding_low", "edge_padding_high", "interior_padding"))
    )


@ROWS.add("dynamic_slice", composite=True)
def _dynamic_slice(c: Call, x: Any, *starts: Any) -> Any:
    return slices.dynamic_slice(x, starts, c.get("slice_sizes"))


@ROWS.add("dynamic_update_slice", composite=True)
def _dynamic_update_slice(c: Call, x: Any, update: Any, *starts: Any) -> Any:
    return slices.dynamic_update_slice(x, update, starts)
