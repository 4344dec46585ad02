"""Conversion to i8 levels and back."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from numerics.sample import Operand, Sample, integers, normal, values
from oracle import convert, numpy_dtype, widen

from xdsl_rlx.dialects.mir import quantize
from xdsl_rlx.dialects.shapes import element_of

INF, NAN = np.inf, np.nan
TIED = values(0.25, -0.25, 0.75, -0.75, 1.25, 0.0, -0.0, 63.5, 63.75, 64.0, -64.0, -64.25, -64.5, INF, -INF, NAN)
"""Halves of a level, numbers around the last levels, and beyond, for a scale of 0.5."""


def _quantize_samples() -> list[Sample]:
    rows: list[Sample] = []
    op = quantize.QuantizeOp
    for suffix, shape, scales, points, axis in (
        ("", (3, 5), (0.05,), (3,), None),
        ("-rows", (3, 5), (0.05, 0.1, 0.02), (0, 100, -128), 0),
        ("-columns", (2, 3, 4), (0.05, 0.1, 0.02, 0.2), (0,), -1),
        ("-shared-scale", (2, 3), (0.05,), (0, 100, -128), 1),
        ("-scalar", (), (0.05,), (0,), None),
        ("-empty", (0, 3), (0.05,), (0,), None),
        ("-long", (2, 67), (0.05,), (-7,), None),
        ("-beyond", (3, 5), (0.05, 0.1, 0.02), (200, -129, 2**31 - 1), 0),
    ):
        build = lambda m, x, s=scales, z=points, a=axis: m.quantize(x, s, z, a)  # noqa: E731
        rows.append(Sample(f"quantize{suffix}", op, build, (Operand(shape, normal(3.0)),), exact=True))
    far = (Operand((4,), values(2.0**30, 2.0**30 + 128, 2.0**30 - 64, -1.0)),)
    build = lambda m, x: m.quantize(x, [1.0], [-(2**30) - 3])  # noqa: E731
    rows.append(Sample("quantize-far", op, build, far, ("f32", "f64"), exact=True))
    build = lambda m, x: m.quantize(x, [0.5])  # noqa: E731
    tied = (Operand((16,), TIED),)
    every = ("f32", "f64", "f16", "bf16")
    rows.append(Sample("quantize-ties", op, build, tied, every, smooth=False, exact=True))
    return rows


def _dequantize_samples() -> list[Sample]:
    rows: list[Sample] = []
    op = quantize.DequantizeOp
    for suffix, shape, scales, points, axis in (
        ("", (3, 5), (0.05,), (3,), None),
        ("-rows", (3, 5), (0.05, 0.1, 0.02), (0, 100, -128), 0),
        ("-columns", (2, 3, 4), (0.05, 0.1, 0.02, 0.2), (0,), -1),
        ("-empty", (0, 3), (0.05,), (0,), None),
        ("-beyond", (3, 5), (0.05, 0.1, 0.02), (200, -129, 2**31 - 1), 0),
    ):
        for dtype in ("f32", "f64", "f16", "bf16"):
            build = lambda m, q, s=scales, z=points, a=axis, d=dtype: m.dequantize(q, s, z, a, d)  # noqa: E731
            levels = Operand(shape, integers(-128, 128), "i8")
            rows.append(Sample(f"dequantize{suffix}-{dtype}", op, build, (levels,), (dtype,), tol=2))
    there_and_back = lambda m, q: m.quantize(m.dequantize(q, [0.3], [5]), [0.3], [5])  # noqa: E731
    levels = Operand((256,), lambda rng, shape: np.arange(-128, 128), "i8")
    rows.append(Sample("dequantize-inverse", op, there_and_back, (levels,), ("i8",), exact=True))
    return rows


def _parameters(op: Any, x: Any) -> tuple[Any, Any]:
    made: list[Any] = []
    for numbers in (op.scales.get_values(), op.zero_points.get_values()):
        vector = np.array(numbers, np.float64)
        shape = [vector.size if a == op.axis_index and vector.size > 1 else 1 for a in range(x.ndim)]
        made.append(vector.reshape(shape))
    return made[0], made[1]


def _quantize(op: quantize.QuantizeOp, x: Any) -> Any:
    scale, point = _parameters(op, x)
    # The scale has the type of the operand (f32 for half floats), and so has the quotient.
    to = np.float64 if x.dtype == np.float64 else np.float32
    return convert(np.rint(x.astype(to) / scale.astype(to)) + point, np.dtype(np.int8))


def _dequantize(op: quantize.DequantizeOp, q: Any) -> Any:
    scale, point = _parameters(op, q)
    wide = np.float64 if numpy_dtype(element_of(op.result)) == np.float64 else np.float32
    return (widen(q) - point) * scale.astype(wide).astype(np.float64)


def _jax_quantize(op: quantize.QuantizeOp, x: Any) -> Any:
    scale, point = _parameters(op, x)
    return jnp.clip(jnp.round(x / scale) + point, -128, 127).astype(jnp.int8)


def _jax_dequantize(op: quantize.DequantizeOp, q: Any) -> Any:
    scale, point = _parameters(op, q)
    return ((q.astype(jnp.float64) - point) * scale).astype(numpy_dtype(element_of(op.result)))


SAMPLES = (*_quantize_samples(), *_dequantize_samples())
ORACLE = {quantize.QuantizeOp: _quantize, quantize.DequantizeOp: _dequantize}
JAX = {quantize.QuantizeOp: _jax_quantize, quantize.DequantizeOp: _jax_dequantize}
