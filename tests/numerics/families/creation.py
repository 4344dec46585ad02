"""Tensors made of their positions."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from numerics.sample import EVERY_FLOAT, Build, Operand, Sample, ints
from oracle import numpy_dtype

from xdsl_rlx.dialects.mir.creation import IotaOp
from xdsl_rlx.dialects.shapes import DTYPE_NAMES, element_of, shape_of


def _counted(axis: int) -> Build:
    return lambda m, x: m.iota(x.shape, axis, x.dtype) * x


def _samples() -> list[Sample]:
    rows: list[Sample] = []
    for suffix, shape, axis in (
        ("", (7,), 0),
        ("-rows", (3, 5), 0),
        ("-columns", (3, 5), -1),
        ("-middle", (2, 3, 4), 1),
        ("-long", (3, 300), 1),
        ("-one", (1, 4), 0),
        ("-empty", (0, 3), 1),
    ):
        operands = (Operand(shape),)
        rows.append(Sample(f"iota{suffix}", IotaOp, _counted(axis), operands, differentiable=(0,), exact=True))
    rows.append(Sample("iota-narrow", IotaOp, _counted(0), (Operand((9, 2)),), EVERY_FLOAT))
    rows.append(Sample("iota-int", IotaOp, _counted(1), (ints((3, 40), "i8"),), ("i8",), exact=True))
    summed: Build = lambda m, x: m.reduce_sum(x * m.iota((4, 6), 1, x.dtype), 1)  # noqa: E731
    rows.append(Sample("iota-in-rows", IotaOp, summed, (Operand((4, 6)),), differentiable=(0,)))
    columns: Build = lambda m, x: m.reduce_sum(x * m.iota((40, 6), 0, x.dtype), 0)  # noqa: E731
    rows.append(Sample("iota-in-columns", IotaOp, columns, (Operand((40, 6)),), differentiable=(0,)))
    behind: Build = lambda m, x, y: x @ y + m.iota((2, 3, 4), 1, x.dtype) * m.iota((4,), 0, x.dtype)  # noqa: E731
    operands = (Operand((2, 3, 5)), Operand((2, 5, 4)))
    rows.append(Sample("iota-behind-product", IotaOp, behind, operands, differentiable=(0, 1)))
    return rows


def _positions(np_: Any, op: IotaOp) -> Any:
    shape, axis = shape_of(op.result), op.axis_index
    line = np_.arange(shape[axis]).reshape((-1, *([1] * (len(shape) - axis - 1))))
    return np_.broadcast_to(line, shape).astype(numpy_dtype(DTYPE_NAMES[element_of(op.result)]))


SAMPLES = tuple(_samples())
ORACLE = {IotaOp: lambda op: _positions(np, op)}
JAX = {IotaOp: lambda op: _positions(jnp, op)}
