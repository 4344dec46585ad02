"""Rows of primitives that move elements, and change shapes."""

# Operands of rows are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any

import numpy as np

from xdsl_rlx.frontends.jaxpr.rows import ROWS, Call
from xdsl_rlx.frontends.jaxpr.types import MOST_FOLDED, like
from xdsl_rlx.frontends.shared.values import is_constant, numpy_dtype, traced
from xdsl_rlx.op_functions import function


@ROWS.add("broadcast_in_dim")
def _broadcast_in_dim(c: Call, x: Any, *_: Any) -> Any:
    axes = [int(axis) for axis in c.params["broadcast_dimensions"]]
    # keys have an axis of words behind those that JAX sees
    own, shape = list(np.shape(x)), c.shape
    hidden = len(own) - len(axes)
    wide = [1] * (len(shape) - hidden) + own[len(axes) :]
    for axis, extent in zip(axes, own, strict=False):
        wide[axis] = extent
    return np.broadcast_to(_reshaped(x, wide), shape)


@ROWS.add("broadcast_to")
def _broadcast_to(c: Call, x: Any) -> Any:
    return np.broadcast_to(x, c.shape)


def _reshaped(x: Any, shape: Any) -> Any:
    return x if tuple(np.shape(x)) == tuple(shape) else np.reshape(x, tuple(shape))


@ROWS.add("reshape", "squeeze")
def _reshape(c: Call, x: Any, *_: Any) -> Any:
    if c.params.get("dimensions") is not None and c.eqn.primitive.name == "reshape":
        x = np.transpose(x, tuple(c.params["dimensions"]))
    return _reshaped(x, c.shape)


@ROWS.add("transpose")
def _transpose(c: Call, x: Any) -> Any:
    axes = [int(axis) for axis in c.params["permutation"]]
    return np.transpose(x, (*axes, *range(len(axes), np.ndim(x))))


@ROWS.add("rev")
def _rev(c: Call, x: Any) -> Any:
    axes = tuple(int(axis) for axis in c.params["dimensions"])
    return np.flip(x, axes) if axes else x


@ROWS.add("concatenate")
def _concatenate(c: Call, *xs: Any) -> Any:
    return np.concatenate(list(xs), int(c.params["dimension"]))


@ROWS.add("stack")
def _stack(c: Call, *xs: Any) -> Any:
    return np.stack(xs, int(c.params["axis"]))


@ROWS.add("unstack")
def _unstack(c: Call, x: Any) -> Any:
    axis = int(c.params["axis"])
    return [_at(x, axis, slice(n, n + 1)).reshape(shape) for n, shape in enumerate(c.shapes)]


@ROWS.add("split")
def _split(c: Call, x: Any) -> Any:
    axis, start, found = int(c.params["axis"]), 0, list[Any]()
    for size in map(int, c.params["sizes"]):
        found.append(_at(x, axis, slice(start, start + size)))
        start += size
    return found


def _at(x: Any, axis: int, part: slice) -> Any:
    return x[(*(slice(None),) * axis, part)]


@ROWS.add("slice")
def _slice(c: Call, x: Any) -> Any:
    starts, stops = c.params["start_indices"], c.params["limit_indices"]
    steps = c.params["strides"] or (1,) * len(starts)
    return x[tuple(slice(int(a), int(b), int(s)) for a, b, s in zip(starts, stops, steps, strict=True))]


@ROWS.add("tile")
def _tile(c: Call, x: Any) -> Any:
    return np.tile(x, tuple(int(n) for n in c.params["reps"]))


@ROWS.add("iota")
def _iota(c: Call, *_: Any) -> Any:
    axis, shape, dtype = int(c.params["dimension"]), c.shape, numpy_dtype(c.dtype)
    if int(np.prod(shape)) * dtype.itemsize > MOST_FOLDED:
        whole = c.dtype if c.dtype[0] in "iu" and c.dtype != "i1" else "i64"
        found = function("iota")(shape, axis, whole)
        return found if whole == c.dtype else found.astype(dtype)
    column = np.arange(shape[axis]).astype(dtype).reshape([-1 if n == axis else 1 for n in range(len(shape))])
    return np.broadcast_to(column, shape)


@ROWS.add("empty", "empty2")
def _empty(c: Call) -> Any:
    return np.zeros(c.shape, numpy_dtype(c.dtype))


@ROWS.add("optimization_barrier", "pvary", "pin", "unpin")
def _several(c: Call, *xs: Any) -> Any:
    return list(xs)


@ROWS.add("device_put")
def _device_put(c: Call, *xs: Any) -> Any:
    return list(xs)


@ROWS.add("name", "stage", "sharding_constraint", "layout_constraint", "reshard", "with_memory_space_constraint")
def _identity(c: Call, x: Any) -> Any:
    return x


@ROWS.add("dce_sink")
def _dce_sink(c: Call, *xs: Any) -> Any:
    return []


@ROWS.add("tie")
def _tie(c: Call, _: Any, x: Any) -> Any:
    return x


@ROWS.add("symmetric_product", composite=True)
def _symmetric_product(c: Call, a: Any, x: Any) -> Any:
    """`alpha a a^T + beta x`"""
    a = traced(a)
    alpha, beta = (like(c.params[name], c.dtype) for name in ("alpha", "beta"))
    product = a @ np.swapaxes(a, -1, -2)
    return alpha * product + beta * x if not is_constant(beta) or c.params["beta"] else alpha * product
