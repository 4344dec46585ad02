"""Slices and updates at positions that are known when a program runs, as `jax.lax.dynamic_slice`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from xdsl_rlx.composite import composite
from xdsl_rlx.dialects.calls import shown
from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.dialects.mir.compositions import clip
from xdsl_rlx.dialects.mir.value import Value
from xdsl_rlx.dialects.shapes import INTS, dims, element_of, integers
from xdsl_rlx.tracing import builder_of

if TYPE_CHECKING:
    from xdsl_rlx.dialects.mir.mir_builder import MirBuilder

__all__ = [
    "dynamic_index_in_dim",
    "dynamic_slice",
    "dynamic_slice_in_dim",
    "dynamic_update_index_in_dim",
    "dynamic_update_slice",
    "dynamic_update_slice_in_dim",
]


@composite
def dynamic_slice(operand: Any, start_indices: Any, slice_sizes: Sequence[int]) -> Any:
    """
    Return the slice of `slice_sizes` elements along each axis that begins at `start_indices`; as `jax.lax`.

    `start_indices` are an integer for each axis: a sequence, or one array. A negative one counts from the end. They are
    clamped so that the slice is in range. Raises GraphError for a slice larger than `operand`.
    """
    b, x = _value(operand)
    sizes = _sizes(slice_sizes, x)
    for axis, (start, size) in enumerate(zip(_starts(b, start_indices, x), sizes, strict=True)):
        x = _sliced(b, x, start, size, axis)
    return x


@composite
def dynamic_slice_in_dim(operand: Any, start_index: Any, slice_size: int, axis: int = 0) -> Any:
    """Return the `slice_size` elements along `axis` from `start_index` on; see `dynamic_slice`."""
    b, x = _value(operand)
    axis = _axis("dynamic_slice_in_dim", axis, x.rank)
    sizes = _sizes([slice_size if n == axis else extent for n, extent in enumerate(x.shape)], x)
    return _sliced(b, x, _start(b, start_index, x.shape[axis]), sizes[axis], axis)


@composite
def dynamic_index_in_dim(operand: Any, index: Any, axis: int = 0, keepdims: bool = True) -> Any:
    """Return the slice at `index` along `axis`, which has extent 1 or is dropped; see `dynamic_slice`."""
    b, x = _value(operand)
    axis = _axis("dynamic_index_in_dim", axis, x.rank)
    found = dynamic_slice_in_dim(x, index, 1, axis)
    return found if keepdims else b.squeeze(found, axis)


@composite
def dynamic_update_slice(operand: Any, update: Any, start_indices: Any) -> Any:
    """
    Return `operand` with the slice that begins at `start_indices` replaced by `update`; as `jax.lax`.

    `update` has the rank and element type of `operand`. Indices are those of `dynamic_slice`.
    """
    b, x = _value(operand)
    return _updated(b, x, update, _starts(b, start_indices, x))


@composite
def dynamic_update_slice_in_dim(operand: Any, update: Any, start_index: Any, axis: int) -> Any:
    """Return `operand` with the slice that begins at `start_index` along `axis` replaced by `update`."""
    b, x = _value(operand)
    axis = _axis("dynamic_update_slice_in_dim", axis, x.rank)
    starts = [_start(b, start_index if n == axis else 0, extent) for n, extent in enumerate(x.shape)]
    return _updated(b, x, update, starts)


@composite
def dynamic_update_index_in_dim(operand: Any, update: Any, index: Any, axis: int) -> Any:
    """Return `operand` with the slice at `index` along `axis` replaced by `update`, with that axis or without it."""
    b, x = _value(operand)
    axis = _axis("dynamic_update_index_in_dim", axis, x.rank)
    _, new = _value(update, b)
    if new.rank != x.rank:
        new = b.expand_dims(new, axis)
    return dynamic_update_slice_in_dim(x, new, index, axis)


def _value(x: Any, builder: MirBuilder | None = None) -> tuple[MirBuilder, Value]:
    b = builder_of(x) if builder is None else builder
    assert b is not None
    return b, b.value(b.operand(x))


def _axis(function: str, axis: int, rank: int) -> int:
    """Return `axis` counted from the front; GraphError if it is no axis of that rank."""
    if rank == 0:
        raise GraphError(f"{function}: operand: expected at least one axis, got rank 0; reshape it to [1]")
    found = integers(f"{function}: axis", axis)
    if len(found) != 1 or not -rank <= found[0] < rank:
        raise GraphError(f"{function}: axis: expected an integer from {-rank} to {rank - 1}, got {shown(axis)}")
    return found[0] % rank


def _sizes(sizes: Sequence[int], x: Value) -> list[int]:
    found = list(sizes)
    if len(found) != x.rank or any(not 0 <= size <= n for size, n in zip(found, x.shape, strict=False)):
        raise GraphError(f"slice_sizes: expected at most the shape {dims(x.shape)} of the operand, got {found}")
    return found


def _starts(b: MirBuilder, indices: Any, x: Value) -> list[Any]:
    if hasattr(indices, "shape"):
        indices = [indices[n] for n in range(indices.shape[0])] if len(indices.shape) == 1 else [indices]
    found = list(indices)
    if len(found) != x.rank:
        raise GraphError(f"start_indices: expected an index for each of {x.rank} axes, got {len(found)}")
    return [_start(b, one, extent) for one, extent in zip(found, x.shape, strict=True)]


def _start(b: MirBuilder, index: Any, extent: int) -> Any:
    """A position counted from the front: a Python integer, or a value of rank 0."""
    if hasattr(index, "__index__") and not isinstance(index, Value):
        return int(index) + (extent if int(index) < 0 else 0)
    value = b.value(b.operand(index))
    if value.shape != () or element_of(value.ssa) not in INTS:
        raise GraphError(f"start_indices: expected integers of rank 0, got {shown(index)} of {value.type}")
    value = value.astype(np.int64)
    return b.where(value < 0, value + extent, value)


def _clamped(b: MirBuilder, start: Any, most: int) -> Any:
    return min(max(start, 0), most) if isinstance(start, int) else clip(b, start, 0, most)


def _sliced(b: MirBuilder, x: Value, start: Any, size: int, axis: int) -> Value:
    extent = x.shape[axis]
    if size == extent:
        return x
    first = _clamped(b, start, extent - size)
    if isinstance(first, int):
        return b.narrow(x, axis, first, size)
    return b.gather(x, first + b.constant(np.arange(size)), axis)


def _updated(b: MirBuilder, x: Value, update: Any, starts: Sequence[Any]) -> Value:
    new = b.value(b.operand(update, x))
    if new.rank != x.rank or any(size > extent for size, extent in zip(new.shape, x.shape, strict=True)):
        raise GraphError(f"update: expected at most the shape {dims(x.shape)} of the operand, got {dims(new.shape)}")
    if new.type.get_element_type() != x.type.get_element_type():
        raise GraphError(f"update: expected {x.dtype} like the operand, got {new.dtype}; convert it with astype")
    if 0 in new.shape:
        return x
    mask: Any = None
    for axis, start in enumerate(starts):
        extent, size = x.shape[axis], new.shape[axis]
        if size == extent:
            continue
        first, numbers = _clamped(b, start, extent - size), b.constant(np.arange(extent))
        if size == 1:
            inside = b.eq(numbers, first)
        else:
            # the slice with each element at its place; around it, any
            at = numbers - first
            inside, new = (at >= 0) & (at < size), b.gather(new, at, axis)
        inside = b.reshape(inside, (extent, *(1,) * (x.rank - axis - 1)))
        mask = inside if mask is None else mask & inside
    return new if mask is None else b.where(mask, new, x)
