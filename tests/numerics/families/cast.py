"""Conversions between element types."""

from dataclasses import replace
from typing import Any

import numpy as np
from numerics.sample import Build, Operand, Sample, integers, values
from oracle import convert, numpy_dtype

from xdsl_rlx.dialects.mir import cast
from xdsl_rlx.dialects.shapes import element_of

INF, NAN = np.inf, np.nan


def _samples() -> list[Sample]:
    rows: list[Sample] = []
    numbers = values(0.0, -0.0, 1.5, -1.5, 2.5, 250.0, -3.9, 1e-3)
    for source in ("f32", "f64", "f16", "bf16", "i32", "i64", "i1"):
        for to in ("f32", "f64", "f16", "bf16", "i32", "i64", "i1"):
            if source == to:
                continue
            operand = Operand((2, 4), integers(0, 2) if source == "i1" else numbers, source)
            build = _cast_to(to)
            rows.append(Sample(f"cast-{source}-{to}", cast.CastOp, build, (operand,), (source,), exact=True))
    for to in ("f32", "f64"):
        operand, source = (Operand((3, 4)),), "f64" if to == "f32" else "f32"
        row = Sample(f"cast-to-{to}", cast.CastOp, _cast_to(to), operand, (source,), differentiable=(0,), exact=True)
        rows.append(replace(row, smooth=False))
    odd = Operand((10,), values(INF, -INF, NAN, 3e9, -3e9, 1e20, -1e20, 2147483647.0, -2147483648.0, 0.99))
    for to in ("i32", "i64", "i1", "f16", "bf16"):
        rows.append(Sample(f"cast-saturating-{to}", cast.CastOp, _cast_to(to), (odd,), exact=True))
    return rows


def _cast_to(to: str) -> Build:
    return lambda m, x: m.cast(x, to)


def _jax_cast(op: cast.CastOp, x: Any) -> Any:
    return x.astype(numpy_dtype(element_of(op.result)))


SAMPLES = tuple(_samples())
ORACLE = {cast.CastOp: lambda op, x: convert(x, numpy_dtype(element_of(op.result)))}
JAX = {cast.CastOp: _jax_cast}
