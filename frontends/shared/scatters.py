"""XLA's scatter: updates of windows at positions that are traced or constant, with its dimension numbers."""

# Tensors are traced or constant.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from xdsl_rlx.dialects.mir.index_updates import scattered
from xdsl_rlx.frontends.shared.gathers import (
    CLIP_MODES,
    batch_in_front,
    clamped,
    flat_positions,
    in_range,
    starts_of,
    transposed_to,
)
from xdsl_rlx.frontends.shared.values import cast, dtype_of, is_constant, numpy_dtype, shape_of, traced
from xdsl_rlx.frontends.shared.windows import is_neutral
from xdsl_rlx.op_functions import function
from xdsl_rlx.transforms.canonicalize.mir import splat
from xdsl_rlx.transforms.int_ranges import IntRanges

KINDS = ("set", "add", "sub", "mul", "min", "max")
"""What an update does to the element that it meets; of several updates in `set`, the last wins."""

_NAMES = {"mul": "multiply"}
_OF_BOOLEANS = {"add": "max", "mul": "min"}
_COMBINED_ALONE = {"add": "scatter_add", "max": "scatter_max", "min": "scatter_max"}
"""Functions that combine updates with the neutral element."""
_OPTIONS: dict[str, dict[str, Any]] = {"min": {"smallest": True}}


@dataclass(frozen=True)
class ScatterDims:
    """Dimension numbers of a scatter; names are those of `jax.lax.ScatterDimensionNumbers`."""

    update_window_dims: tuple[int, ...]
    inserted_window_dims: tuple[int, ...]
    scatter_dims_to_operand_dims: tuple[int, ...]
    operand_batching_dims: tuple[int, ...] = ()
    scatter_indices_batching_dims: tuple[int, ...] = ()
    index_vector_dim: int | None = None
    """None is the last dimension; the rank of the indices is an implicit dimension of extent 1 behind them."""


def scatter(
    operand: Any,
    indices: Any,
    updates: Any,
    dims: ScatterDims,
    kind: str,
    mode: str = "drop",
    unique: bool = False,
) -> Any:
    """
    Return `operand` with windows at `indices` updated by `updates`, as `jax.lax.scatter` and its relatives.

    `kind` is one of `KINDS`. A window that is not wholly in range is dropped, or moved into the range with mode "clip".
    With `unique`, no element is updated twice.
    """
    dtype = dtype_of(operand)
    if 0 in (*shape_of(updates), *shape_of(operand)):
        return operand
    if dtype == "i1" and kind != "set":
        kind = _OF_BOOLEANS.get(kind, kind)
        return cast(scatter(cast(operand, "i8"), indices, cast(updates, "i8"), dims, kind, mode, unique), "i1")
    if kind == "sub":
        kind, updates = "add", -traced(updates)
    return _Scatter(dims, operand, indices, updates).built(_NAMES.get(kind, kind), mode, unique)


def _number(x: Any) -> Any:
    """The number that a value is everywhere, or the value."""
    found = splat(x.ssa)
    return x if found is None else np.asarray(found, numpy_dtype(dtype_of(x)))


class _Scatter:
    """One scatter: its window sizes, and the order of axes in which it is built."""

    def __init__(self, dims: ScatterDims, operand: Any, indices: Any, updates: Any):
        self.dims, self.operand, self.updates = dims, operand, updates
        self.starts, self.vector = starts_of(indices, dims.index_vector_dim)
        self.batch = tuple(n for axis, n in enumerate(shape_of(indices)) if axis != self.vector)
        self.shape = shape_of(operand)
        dropped = {*dims.inserted_window_dims, *dims.operand_batching_dims}
        windows = iter(axis for axis in range(len(self.shape)) if axis not in dropped)
        batches = iter(range(len(self.batch)))
        self.labels: list[tuple[str, int]] = [
            ("axis", next(windows)) if n in dims.update_window_dims else ("batch", next(batches))
            for n in range(np.ndim(updates))
        ]
        by_axis = {
            n: extent for (kind, n), extent in zip(self.labels, shape_of(updates), strict=True) if kind == "axis"
        }
        self.sizes = tuple(by_axis.get(axis, 1) for axis in range(len(self.shape)))

    def built(self, kind: str, mode: str, unique: bool) -> Any:
        """The operand with its updates."""
        dims, sizes, shape = self.dims, self.sizes, self.shape
        batching = list(dims.operand_batching_dims)
        starts, order = batch_in_front(self.starts, len(self.batch), dims.scatter_indices_batching_dims, self.vector)
        by_axis = dict(zip(dims.scatter_dims_to_operand_dims, starts, strict=True))
        batch = tuple(self.batch[n] for n in order)
        indexed = [axis for axis in range(len(shape)) if axis not in batching and sizes[axis] < shape[axis]]
        indexed = indexed or list(by_axis)[:1]
        valid = self._valid(by_axis, mode)
        alone = _COMBINED_ALONE.get(kind)
        if valid is not None or (alone is not None and not self._is_neutral(kind)):
            alone = None
        # the other kinds have no batches of their own, and take those of positions
        groups = len(batching) if alone or kind == "add" else 0
        rest = [axis for axis in range(len(shape)) if axis not in indexed and axis not in batching]
        front = [axis for axis in rest if groups == len(batching) and axis < min(indexed, default=0)]
        back = [axis for axis in rest if axis not in front]
        at = self._positions(by_axis, indexed, batch, len(batching) - groups, valid)
        moved = [*batching[:groups], *front, *batching[groups:], *indexed, *back]
        lead, tail = [shape[axis] for axis in (*batching[:groups], *front)], [shape[axis] for axis in back]
        extent = prod(shape[axis] for axis in (*batching[groups:], *indexed))
        at = np.reshape(at, (*batch[:groups], -1))
        table = traced(np.reshape(transposed_to(self.operand, range(len(shape)), moved), (*lead, extent, *tail)))
        values = np.reshape(self._updates(front, order, indexed, back, groups), (*lead, shape_of(at)[-1], *tail))
        values, axis = traced(cast(values, dtype_of(table))), len(lead)
        if alone is not None:
            found = function(alone)(values, traced(at), extent, axis, groups, **_OPTIONS.get(kind, {}))
        elif groups:
            b = table.b
            found = table + b.narrow(b.scatter_add(values, traced(at), extent + 1, axis, groups), axis, 0, extent)
        else:
            static = np.asarray(at) if is_constant(at) else None
            found = scattered(table.b, kind, table, values, traced(at), static, axis, unique or prod(batch) == 1)
        found = np.reshape(found, tuple(shape[axis] for axis in moved))
        return transposed_to(found, moved, range(len(shape)))

    def _is_neutral(self, kind: str) -> bool:
        """Whether the operand leaves updates as they are."""
        return is_neutral(_number(traced(self.operand)), kind, dtype_of(self.operand))

    def _valid(self, by_axis: dict[int, Any], mode: str) -> Any:
        """Which windows `[batch..]` are in range; None for all."""
        if mode in CLIP_MODES:
            return None
        axes = list(by_axis)
        sizes, extents = [self.sizes[axis] for axis in axes], [self.shape[axis] for axis in axes]
        valid = in_range([by_axis[axis] for axis in axes], sizes, extents)
        return None if (is_constant(valid) and np.all(valid)) or self._is_inside(by_axis) else valid

    def _is_inside(self, by_axis: dict[int, Any]) -> bool:
        """Whether all starts are seen to be in range."""
        ranges = IntRanges()
        for axis, start in by_axis.items():
            low, high = ranges.known(traced(start).ssa)
            if low < 0 or high > self.shape[axis] - self.sizes[axis]:
                return False
        return True

    def _positions(
        self, by_axis: dict[int, Any], indexed: list[int], batch: tuple[int, ...], batching: int, valid: Any
    ) -> Any:
        """
        The positions `[batch.., window..]` in the axes that are indexed, and the first `batching` axes of the batch.

        It is behind the last one for windows that are not valid.
        """
        windows = [self.sizes[axis] for axis in indexed]
        extents = [self.shape[axis] for axis in indexed]
        zero = np.zeros((1,) * len(batch), np.int64)
        inside = [clamped(by_axis.get(axis, zero), self.sizes[axis], self.shape[axis]) for axis in indexed]
        at = flat_positions(inside, windows, extents)
        wide = tuple(n for n in windows if n != 1)
        if at is None:
            at = zero
        count = prod(batch[:batching])
        if batching:
            lead = np.reshape(np.arange(count, dtype=np.int64), (*batch[:batching],))
            ones = (1,) * (len(batch) - batching + len(wide))
            at = at + np.reshape(lead * np.int64(prod(extents)), (*batch[:batching], *ones))
        whole = (*batch, *wide)
        at = at if shape_of(at) == whole else np.broadcast_to(at, whole)
        if valid is None:
            return at
        valid = np.broadcast_to(np.reshape(valid, (*shape_of(valid), *(1,) * len(wide))), whole)
        return np.where(valid, at, np.int64(count * prod(extents)))

    def _updates(self, front: list[int], order: list[int], indexed: list[int], back: list[int], groups: int) -> Any:
        """The updates `[groups.., front.., batch.., window.., back..]`."""
        wanted: list[tuple[str, int]] = [
            *(("batch", n) for n in order[:groups]),
            *(("axis", axis) for axis in front),
            *(("batch", n) for n in order[groups:]),
            *(("axis", axis) for axis in indexed),
            *(("axis", axis) for axis in back),
        ]
        return transposed_to(self.updates, self.labels, [label for label in wanted if label in self.labels])
