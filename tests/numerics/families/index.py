"""Reading and writing by indices."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from numerics.sample import Operand, Sample, integers, values
from oracle import Array, convert, widen

from xdsl_rlx.dialects.mir import index
from xdsl_rlx.dialects.shapes import shape_of


def _gather_samples() -> list[Sample]:
    rows: list[Sample] = []
    for suffix, table, indices, axis, batch in (
        ("", (5, 3), (4,), 0, 0),
        ("-matrix", (5, 3), (2, 3), 0, 0),
        ("-one", (5, 3), (), 0, 0),
        ("-columns", (2, 5), (3,), 1, 0),
        ("-last", (2, 3, 5), (4,), -1, 0),
        ("-batch", (2, 5, 3), (2, 4), 1, 1),
        ("-batch-outer", (2, 3, 5, 2), (2, 4), 2, 1),
        ("-vector", (5,), (7,), 0, 0),
        ("-none", (5, 3), (0,), 0, 0),
        ("-empty", (5, 0), (2,), 0, 0),
    ):
        build = lambda m, x, i, a=axis, d=batch: m.gather(x, i, a, d)  # noqa: E731
        operands = (Operand(table), Operand(indices, integers(0, 5), "i64"))
        rows.append(Sample(f"gather{suffix}", index.GatherOp, build, operands, differentiable=(0,), exact=True))
    outside = Operand((4,), values(-3, 7, 4, 0), "i32")
    build = lambda m, x, i: m.gather(x, i)  # noqa: E731
    rows.append(Sample("gather-outside", index.GatherOp, build, (Operand((5, 2)), outside), differentiable=(0,)))
    encoded = Operand((4,), values(3, 0, 4, 3), "f32")
    rows.append(Sample("gather-f32-indices", index.GatherOp, build, (Operand((5, 2)), encoded), differentiable=(0,)))
    narrow = (Operand((5, 2)), Operand((3,), integers(0, 5), "i32"))
    rows.append(Sample("gather-narrow", index.GatherOp, build, narrow, ("f16", "bf16", "i32", "i1"), exact=True))
    return rows


def _scatter_samples() -> list[Sample]:
    rows: list[Sample] = []
    op = index.ScatterAddOp
    for suffix, updates, indices, axis, batch in (
        ("", (6, 3), (6,), 0, 0),
        ("-matrix", (2, 3, 4), (2, 3), 0, 0),
        ("-one", (3,), (), 0, 0),
        ("-columns", (2, 4), (4,), 1, 0),
        ("-last", (2, 3, 6), (6,), -1, 0),
        ("-batch", (2, 4, 3), (2, 4), 1, 1),
        ("-batch-outer", (2, 3, 4, 2), (2, 4), 2, 1),
        ("-wide", (4, 131), (4,), 0, 0),
        ("-none", (0, 3), (0,), 0, 0),
        ("-empty", (2, 0), (2,), 0, 0),
    ):
        build = lambda m, x, i, a=axis, d=batch: m.scatter_add(x, i, 5, a, d)  # noqa: E731
        operands = (Operand(updates), Operand(indices, integers(0, 5), "i64"))
        rows.append(Sample(f"scatter_add{suffix}", op, build, operands, differentiable=(0,)))
    build = lambda m, x, i: m.scatter_add(x, i, 5)  # noqa: E731
    outside = Operand((4,), values(-3, 7, 4, 0), "i32")
    rows.append(Sample("scatter_add-outside", op, build, (Operand((4, 2)), outside), differentiable=(0,)))
    encoded = Operand((4,), values(3, 0, 4, 3), "f32")
    rows.append(Sample("scatter_add-f32-indices", op, build, (Operand((4, 2)), encoded), differentiable=(0,)))
    narrow = (Operand((9, 2)), Operand((9,), integers(0, 5), "i32"))
    rows.append(Sample("scatter_add-narrow", op, build, narrow, ("f16", "bf16")))
    ints = (Operand((9, 2), integers(-5, 5), "i32"), Operand((9,), integers(0, 5), "i32"))
    rows.append(Sample("scatter_add-int", op, build, ints, ("i32",), exact=True))
    return rows


def _gather(np_: Any, op: index.GatherOp, table: Any, indices: Any) -> Any:
    e = op.extents
    flat = table.reshape(e.batches, e.outer, e.extent, e.inner)
    at = np_.clip(indices, 0, max(e.extent - 1, 0)).reshape(e.batches, 1, e.indices, 1)
    return np_.take_along_axis(flat, at, 2).reshape(shape_of(op.result)) if e.extent else flat


def _oracle_gather(op: index.GatherOp, table: Array, indices: Array) -> Array:
    return _gather(np, op, table, convert(indices, np.dtype(np.int64)))


def _places(np_: Any, op: index.ScatterAddOp, updates: Any, indices: Any) -> tuple[Any, Any, Any]:
    """Zeros to add to, the index arrays of where, and the updates as [batch, outer, k, inner]."""
    e = op.extents
    flat = updates.reshape(e.batches, e.outer, e.indices, e.inner)
    at = np_.clip(indices, 0, max(e.extent - 1, 0)).reshape(e.batches, 1, e.indices)
    where = (np_.arange(e.batches)[:, None, None], np_.arange(e.outer)[None, :, None], at)
    return np_.zeros((e.batches, e.outer, e.extent, e.inner), updates.dtype), where, flat


def _oracle_scatter_add(op: index.ScatterAddOp, updates: Array, indices: Array) -> Array:
    total, where, flat = _places(np, op, widen(updates), convert(indices, np.dtype(np.int64)))
    np.add.at(total, where, flat)
    return total.reshape(shape_of(op.result))


def _jax_scatter_add(op: index.ScatterAddOp, updates: Any, indices: Any) -> Any:
    total, where, flat = _places(jnp, op, updates, indices.astype(jnp.int64))
    return total.at[where].add(flat).reshape(shape_of(op.result))


SAMPLES = (*_gather_samples(), *_scatter_samples())
ORACLE = {index.GatherOp: _oracle_gather, index.ScatterAddOp: _oracle_scatter_add}
JAX = {
    index.GatherOp: lambda op, table, indices: _gather(jnp, op, table, indices.astype(jnp.int64)),
    index.ScatterAddOp: _jax_scatter_add,
}
