"""Products with bias and activation, norms of sums, the gated activation."""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numerics.families.elementwise import FUNCTIONS, JAX_FUNCTIONS
from numerics.sample import NARROW, Operand, Sample, values
from oracle import Array, numpy_dtype, widen
from xdsl.ir import Operation

from xdsl_rlx.dialects.mir import fused
from xdsl_rlx.dialects.mir.core import Activation
from xdsl_rlx.dialects.shapes import element_of

_UNDEFINED = {Activation.LOG, Activation.SQRT, Activation.RSQRT, Activation.RECIP, Activation.TAN}
"""Activations that are singular, or not defined, where a product may lie."""


def _matmul_samples() -> list[Sample]:
    rows: list[Sample] = []
    op = fused.FusedMatmulBiasActOp
    for activation in (None, *Activation):
        if activation in _UNDEFINED:
            continue
        rows.append(
            Sample(
                f"fused_matmul_bias_act-{activation or 'none'}",
                op,
                lambda m, x, w, b, kind=activation: m.fused_matmul_bias_act(x, w, b, kind),
                (Operand((3, 5)), Operand((5, 4)), Operand((4,))),
                differentiable=(0, 1, 2),
                smooth=activation is not Activation.ROUND,
                tol=64,
            )
        )
    for suffix, x, w, b in (
        ("-batch", (2, 3, 5), (5, 4), (4,)),
        ("-row-bias", (2, 3, 5), (2, 5, 4), (3, 1)),
        ("-scalar-bias", (3, 5), (5, 4), ()),
    ):
        operands = (Operand(x), Operand(w), Operand(b))
        build = lambda m, x, w, b: m.fused_matmul_bias_act(x, w, b, "tanh")  # noqa: E731
        rows.append(Sample(f"fused_matmul_bias_act{suffix}", op, build, operands, differentiable=(0, 1, 2), tol=64))
    return rows


def _residual_samples() -> list[Sample]:
    rows: list[Sample] = []
    ops: tuple[tuple[str, type[Operation]], ...] = (
        ("fused_residual_ln", fused.FusedResidualLnOp),
        ("fused_residual_rms_norm", fused.FusedResidualRmsNormOp),
    )
    for name, op in ops:
        for suffix, shape in (("", (3, 5)), ("-deep", (2, 3, 4)), ("-empty", (0, 3)), ("-one", (4, 1))):
            x, vector = Operand(shape), Operand(shape[-1:])
            build = lambda m, x, r, g, b, name=name: getattr(m, name)(x, r, g, b, eps=1e-3)  # noqa: E731
            given = (x, x, vector, vector)
            rows.append(Sample(f"{name}{suffix}", op, build, given, differentiable=(0, 1, 2, 3), tol=64))
            build = lambda m, x, r, c, g, b, name=name: getattr(m, name)(x, r, g, b, c, 1e-3)  # noqa: E731
            given = (x, x, vector, vector, vector)
            row = Sample(f"{name}-bias{suffix}", op, build, given, differentiable=(0, 1, 2, 3, 4), tol=64)
            rows.append(row)
            if not suffix:
                rows.append(replace(row, id=f"{name}-narrow", dtypes=NARROW, differentiable=(), tol=64))
    return rows


def _swiglu_samples() -> list[Sample]:
    rows: list[Sample] = []
    op = fused.FusedSwigluOp
    for suffix, shape in (
        ("", (3, 10)),
        ("-vector", (4,)),
        ("-deep", (2, 3, 2)),
        ("-empty", (0, 4)),
        ("-none", (3, 0)),
    ):
        for first in (False, True):
            build = lambda m, x, first=first: m.fused_swiglu(x, gate_first=first)  # noqa: E731
            name = f"fused_swiglu{'-gate-first' if first else ''}{suffix}"
            rows.append(Sample(name, op, build, (Operand(shape),), differentiable=(0,), tol=16))
    large = (Operand((2, 4), values(1.0, -2.0, 800.0, -800.0)),)
    rows.append(Sample("fused_swiglu-large", op, lambda m, x: m.fused_swiglu(x), large, differentiable=(0,)))
    wide = lambda m, x: m.fused_swiglu(x, cast_to="f32")  # noqa: E731
    rows.append(Sample("fused_swiglu-widen", op, wide, (Operand((3, 6)),), NARROW, tol=32768))
    half = lambda m, x: m.fused_swiglu(x, cast_to="bf16", gate_first=True)  # noqa: E731
    rows.append(Sample("fused_swiglu-round", op, half, (Operand((3, 6)),), tol=16))
    double = lambda m, x: m.fused_swiglu(x, "f64")  # noqa: E731
    rows.append(Sample("fused_swiglu-cast", op, double, (Operand((3, 6)),), ("f64",), differentiable=(0,), tol=16))
    return rows


def _matmul(op: fused.FusedMatmulBiasActOp, x: Array, w: Array, bias: Array) -> Array:
    y = np.matmul(widen(x), widen(w)) + widen(bias)
    return y if op.activation is None else FUNCTIONS[op.activation.data](y)


def _jax_matmul(op: fused.FusedMatmulBiasActOp, x: Any, w: Any, bias: Any) -> Any:
    y = x @ w + bias
    return y if op.activation is None else JAX_FUNCTIONS[op.activation.data](y)


def _residual_norm(np_: Any, centre: bool, op: Any, x: Any, residual: Any, *rest: Any) -> Any:
    gamma, beta, *bias = rest
    x = sum(bias, x + residual)
    d = x - np_.mean(x, axis=-1, keepdims=True) if centre else x
    return d / np_.sqrt(np_.mean(d * d, axis=-1, keepdims=True) + op.eps.value.data) * gamma + beta


def _halves(op: fused.FusedSwigluOp, packed: Any) -> tuple[Any, Any]:
    """`up` and `gate`."""
    n = packed.shape[-1] // 2
    parts = packed[..., :n], packed[..., n:]
    return parts if op.gate_first is None else parts[::-1]


def _swiglu(op: fused.FusedSwigluOp, packed: Any) -> Any:
    up, gate = _halves(op, widen(packed))
    return FUNCTIONS[Activation.SILU](gate) * up


def _jax_swiglu(op: fused.FusedSwigluOp, packed: Any) -> Any:
    up, gate = _halves(op, packed)
    return (jax.nn.silu(gate) * up).astype(numpy_dtype(element_of(op.result)))


SAMPLES = (*_matmul_samples(), *_residual_samples(), *_swiglu_samples())
ORACLE = {
    fused.FusedMatmulBiasActOp: _matmul,
    fused.FusedResidualLnOp: lambda op, *xs: _residual_norm(np, True, op, *map(widen, xs)),
    fused.FusedResidualRmsNormOp: lambda op, *xs: _residual_norm(np, False, op, *map(widen, xs)),
    fused.FusedSwigluOp: _swiglu,
}
JAX = {
    fused.FusedMatmulBiasActOp: _jax_matmul,
    fused.FusedResidualLnOp: lambda op, *xs: _residual_norm(jnp, True, op, *xs),
    fused.FusedResidualRmsNormOp: lambda op, *xs: _residual_norm(jnp, False, op, *xs),
    fused.FusedSwigluOp: _jax_swiglu,
}
