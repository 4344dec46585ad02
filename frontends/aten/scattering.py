"""Rows of operators that write elements at positions, or add to them."""

# Arguments of operators are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from xdsl_rlx.dialects.mir.shape import ExpandOp
from xdsl_rlx.dialects.mir.value import Value
from xdsl_rlx.frontends.aten.rows import ROWS, Call
from xdsl_rlx.frontends.aten.values import cast, category, dtype_of, numpy_dtype, traced
from xdsl_rlx.op_functions import function

_REDUCTIONS = {
    "sum": "add",
    "add": "add",
    "prod": "multiply",
    "multiply": "multiply",
    "amax": "max",
    "amin": "min",
    "mean": "add",
}
"""Methods of `x.at[i]`."""


def _value(x: Any) -> Value:
    """A tensor that has `at`."""
    return x if isinstance(x, Value) else function("constant")(np.asarray(x))


def rows_of(x: Any, dim: int, index: Any) -> Any:
    """
    The index `[n]` of whole rows along `dim` that an index of all axes stands for, or None.

    It is one that was expanded along all other axes, which have the length of the tensor's there.
    """
    if not isinstance(index, Value) or not isinstance(index.ssa.owner, ExpandOp):
        return None
    before, dim = index.b.value(index.ssa.owner.operand), dim % np.ndim(x)
    lengths = (1,) * (index.rank - before.rank) + before.shape
    others = [axis for axis in range(index.rank) if axis != dim]
    if any(lengths[axis] != 1 or index.shape[axis] != x.shape[axis] for axis in others):
        return None
    return None if lengths[dim] != index.shape[dim] else before.reshape((index.shape[dim],))


def _along(x: Any, dim: int, index: Any) -> tuple[Any, ...]:
    """The index of all axes for one along `dim`, which has an axis for each of the tensor's."""
    if (rows := rows_of(x, dim, index)) is not None:
        return _one_axis(x, dim, rows)
    rank = np.ndim(x)
    axes = [
        np.arange(n).reshape(tuple(-1 if k == axis else 1 for k in range(rank))) for axis, n in enumerate(index.shape)
    ]
    axes[dim % rank] = index
    return tuple(axes)


def _one_axis(x: Any, dim: int, index: Any) -> tuple[Any, ...]:
    """The index of rows along `dim`."""
    return (slice(None),) * (dim % np.ndim(x)) + (index,)


def _first(x: Any, shape: Sequence[int]) -> Any:
    """The elements that an index of a shape names: the first ones along each axis."""
    return x if tuple(x.shape) == tuple(shape) else x[tuple(slice(0, n) for n in shape)]


def _identity(reduce: str, dtype: str) -> Any:
    """The number that a reduction starts from."""
    if reduce in ("amax", "amin"):
        if category(dtype) == 2:
            return -np.inf if reduce == "amax" else np.inf
        info = np.iinfo(numpy_dtype(dtype))
        return info.min if reduce == "amax" else info.max
    return 1 if reduce in ("prod", "multiply") else 0


def _counts(x: Any, at: tuple[Any, ...], source: Any) -> Any:
    """How many elements of the source come to each place; for whole rows with lengths of 1 along other axes."""
    lengths, places = np.shape(source), tuple(x.shape)
    if all(isinstance(one, slice) for one in at[:-1]):
        lengths, places = (
            tuple(n if axis == len(at) - 1 else 1 for axis, n in enumerate(shape)) for shape in (lengths, places)
        )
    zeros: Value = function("full")(places, 0, "i64")
    return zeros.at[at].add(np.ones(lengths, np.int64))


def _reduced(x: Any, at: Any, source: Any, reduce: str, include_self: bool) -> Any:
    """The tensor with elements of the source combined into those at the index."""
    dtype = dtype_of(x)
    if dtype == "i1":
        return cast(_reduced(cast(x, "u8"), at, cast(source, "u8"), reduce, include_self), "i1")
    start = _value(x)
    added = _counts(x, at, source)
    if not include_self:
        # not by `set`, which sorts the index to find the last of several
        start = _value(np.where(added > 0, cast(_identity(reduce, dtype), dtype), start))
    found = getattr(start.at[at], _REDUCTIONS[reduce])(cast(source, dtype))
    if reduce != "mean":
        return found
    count = np.maximum(added + 1 if include_self else added, 1)
    return cast(found // count, dtype) if category(dtype) == 1 else found / cast(count, dtype)


@ROWS.add("scatter.value")
def _scatter_value(c: Call, self: Any, dim: int, index: Any, value: Any) -> Any:
    return _scatter(c, self, dim, index, np.broadcast_to(cast(value, c.dtype), index.shape))


@ROWS.add("scatter.src")
def _scatter(c: Call, self: Any, dim: int, index: Any, src: Any) -> Any:
    if not np.ndim(self):
        return src.reshape(()) if np.size(index) else self
    return _value(self).at[_along(self, dim, index)].set(_first(cast(src, c.dtype), index.shape))


@ROWS.add("scatter.reduce")
def _scatter_reduced(c: Call, self: Any, dim: int, index: Any, src: Any, *, reduce: str) -> Any:
    return _scatter_reduce(c, self, dim, index, src, reduce)


@ROWS.add("scatter.value_reduce")
def _scatter_value_reduced(c: Call, self: Any, dim: int, index: Any, value: Any, *, reduce: str) -> Any:
    return _scatter_reduce(c, self, dim, index, np.broadcast_to(cast(value, c.dtype), index.shape), reduce)


@ROWS.add("scatter_add.default")
def _scatter_add(c: Call, self: Any, dim: int, index: Any, src: Any) -> Any:
    return _scatter_reduce(c, self, dim, index, src, "sum")


@ROWS.add("scatter_reduce.two", composite=True)
def _scatter_reduce(
    c: Call, self: Any, dim: int, index: Any, src: Any, reduce: str, *, include_self: bool = True
) -> Any:
    if not np.ndim(self):
        src, index = np.reshape(src, (-1,)), np.reshape(index, (-1,))
        return _reduced(np.reshape(self, (1,)), (index,), src, reduce, include_self).reshape(())
    return _reduced(self, _along(self, dim, index), _first(src, index.shape), reduce, include_self)


@ROWS.add("index_add.default")
def _index_add(c: Call, self: Any, dim: int, index: Any, source: Any, *, alpha: Any = 1) -> Any:
    source = cast(source, c.dtype)
    source = source if alpha == 1 else source * cast(alpha, c.dtype)
    if not np.ndim(self):
        return self + source.reshape(())
    return _value(self).at[_one_axis(self, dim, np.reshape(index, (-1,)))].add(source)


@ROWS.add("index_copy.default")
def _index_copy(c: Call, self: Any, dim: int, index: Any, source: Any) -> Any:
    if not np.ndim(self):
        return source.reshape(())
    return _value(self).at[_one_axis(self, dim, np.reshape(index, (-1,)))].set(source)


@ROWS.add("index_fill.int_Tensor", "index_fill.int_Scalar")
def _index_fill(c: Call, self: Any, dim: int, index: Any, value: Any) -> Any:
    if not np.ndim(self):
        return cast(value, c.dtype) + self * 0
    return _value(self).at[_one_axis(self, dim, np.reshape(index, (-1,)))].set(cast(value, c.dtype))


@ROWS.add("index_reduce.default", composite=True)
def _index_reduce(
    c: Call, self: Any, dim: int, index: Any, source: Any, reduce: str, *, include_self: bool = True
) -> Any:
    at, new = np.reshape(index, (-1,)), traced(source)
    if not np.ndim(self):
        return _reduced(np.reshape(self, (1,)), (at,), new.reshape(-1), reduce, include_self).reshape(())
    return _reduced(self, _one_axis(self, dim, at), new, reduce, include_self)


@ROWS.add("index_put.default", "_unsafe_index_put.default")
def _index_put(c: Call, self: Any, indices: Sequence[Any], values: Any, accumulate: bool = False) -> Any:
    at = _value(self).at[tuple(slice(None) if one is None else one for one in indices)]
    given = cast(values, c.dtype)
    return at.add(given) if accumulate else at.set(given)


@ROWS.add("_unsafe_index.Tensor")
def _index(c: Call, self: Any, indices: Sequence[Any]) -> Any:
    return self[tuple(slice(None) if one is None else one for one in indices)]


@ROWS.add("copy.default")
def _copy(c: Call, self: Any, src: Any, non_blocking: bool = False) -> Any:
    return np.broadcast_to(cast(src, dtype_of(self)), tuple(self.shape))


@ROWS.add("new_empty_strided.default")
def _new_empty_strided(c: Call, self: Any, size: Sequence[int], stride: Any, dtype: str | None = None) -> Any:
    return function("full")(tuple(size), 0, c.dtype)


@ROWS.add("empty_strided.default")
def _empty_strided(c: Call, size: Sequence[int], stride: Any, dtype: str | None = None) -> Any:
    return function("full")(tuple(size), 0, c.dtype)
