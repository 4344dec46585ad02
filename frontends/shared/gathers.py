"""XLA's gather: slices at positions that are traced or constant, with its dimension numbers."""

# Tensors are traced or constant.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from xdsl_rlx.frontends.shared.values import cast, category, dtype_of, full, is_constant, shape_of, traced
from xdsl_rlx.op_functions import function

CLIP_MODES = ("clip", "promise_in_bounds")


@dataclass(frozen=True)
class GatherDims:
    """Dimension numbers of a gather; names are those of `jax.lax.GatherDimensionNumbers`."""

    offset_dims: tuple[int, ...]
    collapsed_slice_dims: tuple[int, ...]
    start_index_map: tuple[int, ...]
    operand_batching_dims: tuple[int, ...] = ()
    start_indices_batching_dims: tuple[int, ...] = ()
    index_vector_dim: int | None = None
    """None is the last dimension; the rank of the indices is an implicit dimension of extent 1 behind them."""


def starts_of(indices: Any, index_vector_dim: int | None) -> tuple[list[Any], int]:
    """The i64 indices of each indexed axis, without the dimension that holds them, and that dimension."""
    rank = np.ndim(indices)
    dim = rank - 1 if index_vector_dim is None else index_vector_dim
    wide = cast(indices, "i64")
    if dim == rank:
        return [wide], dim
    last = np.moveaxis(wide, dim, -1)
    return [last[..., number] for number in range(shape_of(last)[-1])], dim


def batch_in_front(starts: Sequence[Any], rank: int, batching: Sequence[int], dim: int) -> tuple[list[Any], list[int]]:
    """Indices with their batching dimensions in front, and the `rank` dimensions of a start in the new order."""
    axes = [axis - (axis > dim) for axis in batching]
    order = axes + [axis for axis in range(rank) if axis not in axes]
    return [np.transpose(one, order) if order != sorted(order) else one for one in starts], order


def flat_positions(starts: Sequence[Any], sizes: Sequence[int], extents: Sequence[int]) -> Any:
    """
    The positions of windows in axes that are flattened to one: `[batch.., window..]` without window axes of extent 1.

    `starts` are those of each axis, which are in range.
    """
    wide = [n for n, size in enumerate(sizes) if size != 1]
    found: Any = None
    for number, (start, size) in enumerate(zip(starts, sizes, strict=True)):
        at = start
        if wide:
            at = np.reshape(at, (*shape_of(at), *(1,) * len(wide)))
        if size != 1:
            steps = np.arange(size, dtype=np.int64)
            at = at + np.reshape(steps, tuple(size if n == number else 1 for n in wide))
        stride = prod(extents[number + 1 :])
        at = at * np.int64(stride) if stride != 1 else at
        found = at if found is None else found + at
    return found


def in_range(starts: Sequence[Any], sizes: Sequence[int], extents: Sequence[int]) -> Any:
    """Whether each window is inside of its axes; True for no axes."""
    found: Any = np.True_
    for start, size, extent in zip(starts, sizes, extents, strict=True):
        found = found & (start >= 0) & (start <= extent - size)
    return found


def clamped(start: Any, size: int, extent: int) -> Any:
    """Starts moved so that a window is inside of its axis."""
    return np.clip(start, np.int64(0), np.int64(max(extent - size, 0)))


def transposed_to(x: Any, labels: Sequence[Hashable], wanted: Sequence[Hashable]) -> Any:
    """A tensor whose dimensions have labels, with these in another order."""
    order = [list(labels).index(label) for label in wanted]
    return np.transpose(x, order) if order != list(range(len(order))) else x


def gather(
    operand: Any,
    indices: Any,
    dims: GatherDims,
    slice_sizes: Sequence[int],
    mode: str = "clip",
    fill_value: Any = None,
) -> Any:
    """
    Return slices of `slice_sizes` of `operand` at `indices`, as `jax.lax.gather`.

    Starts are clamped so that each slice is in range; with mode "fill", slices out of range are `fill_value`: by
    default NaN, the least of signed and the largest of unsigned integers, True.
    """
    starts, vector = starts_of(indices, dims.index_vector_dim)
    shape = shape_of(operand)
    batch = tuple(n for axis, n in enumerate(shape_of(indices)) if axis != vector)
    out = _Output(dims, shape, tuple(slice_sizes), batch)
    if 0 in out.shape:
        return full(out.shape, 0, dtype_of(operand))
    fronted, order = batch_in_front(starts, len(batch), dims.start_indices_batching_dims, vector)
    found = out.taken(operand, fronted, order)
    if mode in CLIP_MODES:
        return found
    sizes = [slice_sizes[axis] for axis in dims.start_index_map]
    valid = in_range(starts, sizes, [shape[axis] for axis in dims.start_index_map])
    if is_constant(valid) and np.all(valid):
        return found
    spread = np.reshape(valid, out.spread(shape_of(valid)))
    fill = _missing(dtype_of(operand)) if fill_value is None else fill_value
    return function("where")(traced(spread), traced(found), cast(np.asarray(fill), dtype_of(operand)))


def _missing(dtype: str) -> Any:
    """What stands for an element that there is not."""
    if category(dtype) >= 2:
        return float("nan")
    if dtype == "i1":
        return True
    info = np.iinfo(np.dtype(dtype.replace("i", "int").replace("u", "uint")))
    return info.min if info.min < 0 else info.max


class _Output:
    """The dimensions of a gather's result: `("batch", n)` is one of the indices, `("axis", n)` one of the operand."""

    def __init__(self, dims: GatherDims, shape: tuple[int, ...], sizes: tuple[int, ...], batch: tuple[int, ...]):
        self.dims, self.operand, self.sizes, self.batch = dims, shape, sizes, batch
        dropped = {*dims.collapsed_slice_dims, *dims.operand_batching_dims}
        windows = iter(axis for axis in range(len(shape)) if axis not in dropped)
        batches = iter(range(len(batch)))
        rank = len(batch) + len(shape) - len(dropped)
        self.labels: list[tuple[str, int]] = [
            ("axis", next(windows)) if n in dims.offset_dims else ("batch", next(batches)) for n in range(rank)
        ]
        self.shape = tuple(batch[n] if kind == "batch" else sizes[n] for kind, n in self.labels)

    def spread(self, batch: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of something of each index that broadcasts to the result."""
        return tuple(batch[n] if kind == "batch" else 1 for kind, n in self.labels)

    def taken(self, operand: Any, starts: Sequence[Any], order: Sequence[int]) -> Any:
        """The slices at starts, whose batching dimensions are in front, as the result has them."""
        dims, sizes, shape = self.dims, self.sizes, self.operand
        batching = list(dims.operand_batching_dims)
        by_axis = dict(zip(dims.start_index_map, starts, strict=True))
        indexed = [axis for axis in range(len(shape)) if axis in by_axis and sizes[axis] < shape[axis]]
        rest = [axis for axis in range(len(shape)) if axis not in indexed and axis not in batching]
        cut = tuple(
            slice(0, sizes[axis]) if axis in rest and sizes[axis] < shape[axis] else slice(None)
            for axis in range(len(shape))
        )
        table = operand[cut] if any(one != slice(None) for one in cut) else operand
        front = [axis for axis in rest if indexed and axis < indexed[0]]
        back = [axis for axis in rest if axis not in front]
        table = transposed_to(table, range(len(shape)), [*batching, *front, *indexed, *back])
        batch = [("batch", n) for n in order]
        windows = [("axis", axis) for axis in indexed]
        lead = [*(("batch", n) for n in order[: len(batching)]), *(("axis", axis) for axis in front)]
        labels = [*lead, *batch[len(batching) :], *windows, *(("axis", axis) for axis in back)]
        extents = [self.batch[n] if kind == "batch" else sizes[n] for kind, n in labels]
        if indexed:
            flat = np.reshape(
                table,
                (
                    *(shape[axis] for axis in batching),
                    *(sizes[axis] for axis in front),
                    prod(shape[axis] for axis in indexed),
                    *(sizes[axis] for axis in back),
                ),
            )
            inside = [by_axis[axis] for axis in indexed]
            if len(indexed) > 1 or sizes[indexed[0]] != 1 or is_constant(inside[0]):
                inside = [clamped(one, sizes[axis], shape[axis]) for one, axis in zip(inside, indexed, strict=True)]
            # else mir.gather clamps it
            at = flat_positions(inside, [sizes[axis] for axis in indexed], [shape[axis] for axis in indexed])
            found = _along(flat, at, len(batching) + len(front), len(batching))
        else:
            count = len(order) - len(batching)
            size = shape_of(table)
            found = np.reshape(table, (*size[: len(batching)], *(1,) * count, *size[len(batching) :]))
            found = np.broadcast_to(found, tuple(extents)) if count else found
        # window axes of extent 1, which positions do not have, are put in; those that are collapsed are left out
        kept = [(label, n) for label, n in zip(labels, extents, strict=True) if label in self.labels]
        found = np.reshape(found, tuple(n for _, n in kept))
        return transposed_to(found, [label for label, _ in kept], self.labels)


def _along(table: Any, at: Any, axis: int, batch_dims: int) -> Any:
    """Slices along an axis; constant positions that rise evenly are a slice."""
    if is_constant(at) and not batch_dims and np.size(at):
        flat = np.reshape(at, -1)
        step = int(flat[1] - flat[0]) if flat.size > 1 else 1
        if step > 0 and np.array_equal(flat, flat[0] + step * np.arange(flat.size)):
            taken = table[(*(slice(None),) * axis, slice(int(flat[0]), int(flat[-1]) + 1, step))]
            return np.reshape(taken, (*shape_of(table)[:axis], *np.shape(at), *shape_of(table)[axis + 1 :]))
    return function("gather")(traced(table), traced(at), axis, batch_dims)
