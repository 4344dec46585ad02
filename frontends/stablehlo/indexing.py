"""Rows of gathers and scatters."""

# Operands of rows are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any

import numpy as np

from xdsl_rlx.frontends.shared.errors import FrontendError
from xdsl_rlx.frontends.shared.gathers import GatherDims, gather
from xdsl_rlx.frontends.shared.scatters import KINDS, ScatterDims, scatter
from xdsl_rlx.frontends.shared.values import dtype_of, traced
from xdsl_rlx.frontends.stablehlo.bodies import kind_of, replaces
from xdsl_rlx.frontends.stablehlo.rows import ROWS, Call
from xdsl_rlx.frontends.stablehlo.types import AS_SIGNED, least
from xdsl_rlx.tree_control import scan

_OF_BITS = {"and": "min", "or": "max"}
"""What an operation on booleans is as an operation on numbers."""


@ROWS.add("gather", composite=True)
def _gather(c: Call, operand: Any, indices: Any) -> Any:
    numbers = c.get("dimension_numbers")
    dims = GatherDims(
        numbers.get("offset_dims", ()),
        numbers.get("collapsed_slice_dims", ()),
        numbers.get("start_index_map", ()),
        numbers.get("operand_batching_dims", ()),
        numbers.get("start_indices_batching_dims", ()),
        numbers.get("index_vector_dim", 0),
    )
    return gather(operand, indices, dims, c.get("slice_sizes"))


@ROWS.add("scatter", composite=True)
def _scatter(c: Call, *operands: Any) -> Any:
    if len(operands) != 3:
        raise FrontendError("a scatter of several tensors at once is not supported; scatter one after the other")
    operand, indices, updates = operands
    numbers, block = c.get("scatter_dimension_numbers"), c.op.blocks[0]
    dims = ScatterDims(
        numbers.get("update_window_dims", ()),
        numbers.get("inserted_window_dims", ()),
        numbers.get("scatter_dims_to_operand_dims", ()),
        numbers.get("input_batching_dims", ()),
        numbers.get("scatter_indices_batching_dims", ()),
        numbers.get("index_vector_dim", 0),
    )
    kind = "set" if replaces(block) else kind_of(block)
    if dtype_of(operand) == "i1":
        kind = _OF_BITS.get(str(kind), kind)
    unique = bool(c.get("unique_indices", False))
    if kind not in KINDS:
        return _one_by_one(c, operand, indices, updates, dims)
    if c.given[0] in AS_SIGNED and kind in ("min", "max"):
        bits = least(dtype_of(operand))
        return scatter(operand ^ bits, indices, updates ^ bits, dims, kind, "drop", unique) ^ bits
    return scatter(operand, indices, updates, dims, kind, "drop", unique)


def _one_by_one(c: Call, operand: Any, indices: Any, updates: Any, dims: ScatterDims) -> Any:
    """A scatter by any function of an element and its update: one window after the other, as they may meet."""
    vector = dims.index_vector_dim
    rank = np.ndim(indices)
    if dims.operand_batching_dims or vector is None:
        raise FrontendError("a scatter with batching dimensions by a function that is not one operation")
    rows = np.moveaxis(traced(indices), vector, -1) if vector < rank else traced(indices).reshape(*indices.shape, 1)
    rows = rows.reshape(-1, rows.shape[-1])
    batch = [n for n in range(np.ndim(updates)) if n not in dims.update_window_dims]
    values = np.transpose(traced(updates), [*batch, *dims.update_window_dims])
    window = values.shape[len(batch) :]
    values = values.reshape(-1, *window)
    sizes, axes = [1] * np.ndim(operand), [n for n in range(np.ndim(operand)) if n not in dims.inserted_window_dims]
    for n, axis in enumerate(axes):
        sizes[axis] = window[n]
    offsets = tuple(range(len(window)))
    reads = GatherDims(offsets, dims.inserted_window_dims, dims.scatter_dims_to_operand_dims)
    writes = ScatterDims(offsets, dims.inserted_window_dims, dims.scatter_dims_to_operand_dims)

    def step(carry: Any, row: Any) -> Any:
        at, update = row
        before = gather(carry, at, reads, sizes)
        (after,) = c.walk.elementwise(c.op.blocks[0], [before, update])
        return scatter(carry, at, after, writes, "set"), None

    return scan(step, traced(operand), (rows, values))[0]


@ROWS.add("torch_index_select", composite=True)
def _torch_index_select(c: Call, operand: Any, indices: Any) -> Any:
    axis, batch = int(c.get("dim")), int(c.get("batch_dims", 0))
    rank, count = np.ndim(operand), np.ndim(indices)
    sizes = tuple(1 if n == axis or n < batch else extent for n, extent in enumerate(operand.shape))
    offsets = tuple(n if n < axis else n + count - batch - 1 for n in range(batch, rank) if n != axis)
    batching = tuple(range(batch))
    dims = GatherDims(offsets, (axis,), (axis,), batching, batching, count)
    return gather(operand, indices, dims, sizes)
