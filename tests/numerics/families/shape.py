"""Moves of elements: reshapes, transposes, parts, concatenations, broadcasts."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax
from numerics.sample import EVERY_FLOAT, Build, Operand, Sample, complex_normal, ints
from oracle import Array
from xdsl.ir import Operation

from xdsl_rlx.dialects.mir import shape
from xdsl_rlx.dialects.shapes import shape_of


def _row(name: str, op: type[Operation], build: Build, *shapes: tuple[int, ...]) -> Sample:
    operands = tuple(Operand(s) for s in shapes)
    wrt = tuple(range(len(shapes)))
    return Sample(name, op, build, operands, EVERY_FLOAT, differentiable=wrt, exact=True)


def _part(axis: int, start: int, length: int) -> Build:
    return lambda m, x: m.narrow(x, axis, start, length)


def _flips() -> list[Sample]:
    rows: list[Sample] = []
    for suffix, given, axis in (
        ("", (5,), 0),
        ("-rows", (3, 4), 0),
        ("-columns", (3, 4), -1),
        ("-middle", (2, 3, 2), 1),
        ("-long", (2, 4099), 1),
        ("-empty", (3, 0), 0),
    ):
        rows.append(_row(f"flip{suffix}", shape.FlipOp, lambda m, x, a=axis: m.flip(x, a), given))
    pair = (Operand((2, 3), complex_normal(), "complex"),)
    build: Build = lambda m, x: m.flip(x)  # noqa: E731
    rows.append(Sample("flip-complex", shape.FlipOp, build, pair, differentiable=(0,), exact=True))
    rows.append(Sample("flip-narrow", shape.FlipOp, build, (Operand((3, 5)),), ("i8", "i1", "i64"), exact=True))
    return rows


def _samples() -> list[Sample]:
    swap: Build = lambda m, x: m.transpose(x, (1, 0))  # noqa: E731
    return [
        _row("reshape", shape.ReshapeOp, lambda m, x: m.reshape(x, (3, -1)), (2, 3, 2)),
        _row("reshape-scalar", shape.ReshapeOp, lambda m, x: m.reshape(x, ()), (1, 1)),
        _row("reshape-empty", shape.ReshapeOp, lambda m, x: m.reshape(x, (0, 7)), (3, 0)),
        _row("transpose", shape.TransposeOp, swap, (3, 5)),
        _row("transpose-cycle", shape.TransposeOp, lambda m, x: m.transpose(x, (2, 0, 1)), (2, 3, 4)),
        _row("transpose-batch", shape.TransposeOp, lambda m, x: m.transpose(x, (0, 2, 1, 3)), (2, 3, 1, 4)),
        _row("transpose-empty", shape.TransposeOp, swap, (0, 5)),
        _row("narrow", shape.NarrowOp, _part(1, 1, 3), (3, 5)),
        _row("narrow-front", shape.NarrowOp, _part(0, 0, 2), (3, 5)),
        _row("narrow-last", shape.NarrowOp, _part(-1, 4, 1), (2, 3, 5)),
        _row("narrow-none", shape.NarrowOp, _part(0, 2, 0), (3, 2)),
        *_flips(),
        _row("concat", shape.ConcatOp, lambda m, *xs: m.concat(xs, 1), (3, 2), (3, 1), (3, 4)),
        _row("concat-front", shape.ConcatOp, lambda m, *xs: m.concat(xs, 0), (2, 3), (1, 3)),
        _row("concat-one", shape.ConcatOp, lambda m, x: m.concat([x], 0), (2, 3)),
        _row("concat-empty", shape.ConcatOp, lambda m, *xs: m.concat(xs, -1), (2, 0), (2, 3)),
        _row("concat-twice", shape.ConcatOp, lambda m, x: m.concat([x, x], 0), (2, 3)),
        _row("expand-row", shape.ExpandOp, lambda m, x: m.expand(x, (3, 5)), (5,)),
        _row("expand-column", shape.ExpandOp, lambda m, x: m.expand(x, (2, 3, 4)), (3, 1)),
        _row("expand-scalar", shape.ExpandOp, lambda m, x: m.expand(x, (2, 3)), ()),
        _row("expand-empty", shape.ExpandOp, lambda m, x: m.expand(x, (0, 3)), (1, 3)),
        _row("index", shape.NarrowOp, lambda m, x: x[1, ..., None, :2] * x[-1, 1, 2:], (3, 2, 4)),
        Sample("transpose-int", shape.TransposeOp, swap, (ints((2, 3)),), ("i32",), exact=True),
    ]


def _narrow(op: shape.NarrowOp, x: Array) -> Array:
    axis, start, length = op.bounds
    return x[(slice(None),) * axis + (slice(start, start + length),)]


def _jax_narrow(op: shape.NarrowOp, x: Any) -> Any:
    axis, start, length = op.bounds
    return lax.slice_in_dim(x, start, start + length, axis=axis)


SAMPLES = tuple(_samples())
ORACLE = {
    shape.ReshapeOp: lambda op, x: x.reshape(shape_of(op.result)),
    shape.TransposeOp: lambda op, x: x.transpose(op.perm_list),
    shape.NarrowOp: _narrow,
    shape.FlipOp: lambda op, x: np.flip(x, op.axis_index),
    shape.ConcatOp: lambda op, *parts: np.concatenate(parts, axis=op.axis_index),
    shape.ExpandOp: lambda op, x: np.broadcast_to(x, shape_of(op.result)),
}
JAX = {
    shape.ReshapeOp: lambda op, x: x.reshape(shape_of(op.result)),
    shape.TransposeOp: lambda op, x: x.transpose(op.perm_list),
    shape.NarrowOp: _jax_narrow,
    shape.FlipOp: lambda op, x: jnp.flip(x, op.axis_index),
    shape.ConcatOp: lambda op, *parts: jnp.concatenate(parts, axis=op.axis_index),
    shape.ExpandOp: lambda op, x: jnp.broadcast_to(x, shape_of(op.result)),
}
