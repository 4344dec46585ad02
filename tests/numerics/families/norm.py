"""Softmax, layer norm, RMS norm and its backward ops."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numerics.sample import NARROW, Operand, Sample, method, normal, uniform, values
from oracle import Array, widen

from xdsl_rlx.dialects.mir import norm

INF, NAN = np.inf, np.nan
CASES: tuple[tuple[str, tuple[int, ...], int], ...] = (
    ("", (3, 5), -1),
    ("-columns", (3, 5), 0),
    ("-middle", (2, 3, 4), 1),
    ("-vector", (7,), 0),
    ("-one", (4, 1), 1),
    ("-long", (2, 67), 1),
    ("-empty", (0, 3), 1),
)
"""Shapes, and the axis that is normalised."""


def _softmax_samples() -> list[Sample]:
    rows: list[Sample] = []
    op, build = norm.SoftmaxOp, method("softmax")
    for suffix, shape, axis in CASES:
        rows.append(Sample(f"softmax{suffix}", op, method("softmax", axis), (Operand(shape),), differentiable=(0,)))
    large = (Operand((2, 4), values(1000.0, 1001.0, -1000.0, 999.0)),)
    rows.append(Sample("softmax-large", op, build, large, differentiable=(0,)))
    masked = (Operand((2, 4), values(-INF, 1.0, 2.0, -INF)),)
    rows.append(Sample("softmax-masked", op, build, masked, smooth=False))
    undefined = (Operand((3, 4), values(-INF, -INF, -INF, -INF, 1.0, NAN, 2.0, 0.0, INF, 1.0, 2.0, 3.0)),)
    rows.append(Sample("softmax-undefined", op, build, undefined, smooth=False))
    rows.append(Sample("softmax-narrow", op, build, (Operand((3, 5)),), NARROW))
    return rows


def _layer_norm_samples() -> list[Sample]:
    rows: list[Sample] = []
    op, build = norm.LayerNormOp, method("layer_norm")
    for suffix, shape, axis in CASES:
        vector = Operand((shape[axis],))
        given = (Operand(shape), vector, vector)
        with_axis = method("layer_norm", axis, 1e-3)
        rows.append(Sample(f"layer_norm{suffix}", op, with_axis, given, differentiable=(0, 1, 2), tol=64))
    offset = (Operand((3, 8), uniform(1000.0, 1001.0)), Operand((8,)), Operand((8,)))
    rows.append(Sample("layer_norm-offset", op, build, offset, tol=16384))
    flat = (Operand((3, 8), values(2.5)), Operand((8,)), Operand((8,)))
    rows.append(Sample("layer_norm-constant-row", op, build, flat))
    small = (Operand((3, 5)), Operand((5,)), Operand((5,)))
    rows.append(Sample("layer_norm-narrow", op, build, small, NARROW, tol=64))
    return rows


def _rms_norm_samples() -> list[Sample]:
    rows: list[Sample] = []
    for suffix, shape, axis in (*CASES, ("-no-features", (3, 0), 1)):
        n = shape[axis]
        # A single number near 0 has a steep slope.
        x = Operand(shape, uniform(0.5, 2.0) if n == 1 else normal())
        vector = Operand((n,))
        build = lambda m, x, g, b, axis=axis: m.rms_norm(x, g, b, axis, 1e-3)  # noqa: E731
        given = (x, vector, vector)
        rows.append(Sample(f"rms_norm{suffix}", norm.RmsNormOp, build, given, differentiable=(0, 1, 2), tol=64))
        for part, op, tol in (
            ("input", norm.RmsNormBackwardInputOp, 256),
            ("gamma", norm.RmsNormBackwardGammaOp, 64),
            ("beta", norm.RmsNormBackwardBetaOp, 16),
        ):
            name = f"rms_norm_backward_{part}"
            build = lambda m, x, g, b, d, name=name, axis=axis: getattr(m, name)(x, g, b, d, axis, 1e-3)  # noqa: E731
            rows.append(Sample(f"{name}{suffix}", op, build, (*given, x), differentiable=(0, 1, 2, 3), tol=float(tol)))
    build = lambda m, x, g, b: m.rms_norm(x, g, b)  # noqa: E731
    vector = Operand((5,))
    zeros = (Operand((3, 5), values(0.0)), vector, vector)
    rows.append(Sample("rms_norm-zeros", norm.RmsNormOp, build, zeros, differentiable=(1, 2)))
    small = (Operand((3, 5)), vector, vector)
    rows.append(Sample("rms_norm-narrow", norm.RmsNormOp, build, small, NARROW, tol=64))
    return rows


def along(vector: Any, x: Any, axis: int) -> Any:
    """A vector as it broadcasts to `x` along an axis."""
    return vector.reshape([-1 if a == axis else 1 for a in range(x.ndim)])


def others(op: Any, x: Any) -> tuple[int, ...]:
    """The axes that are not normalised."""
    return tuple(a for a in range(x.ndim) if a != op.axis_index)


def softmax(x: Array, axis: int) -> Array:
    e = np.exp(x - np.max(x, axis=axis, keepdims=True, initial=-np.inf))
    return e / np.sum(e, axis=axis, keepdims=True)


def normalized(x: Array, axis: int, eps: float) -> tuple[Array, Array]:
    """`(x - mean) r`, and `r`, the reciprocal of the standard deviation."""
    d = x - np.mean(x, axis=axis, keepdims=True)
    inv = 1 / np.sqrt(np.mean(d * d, axis=axis, keepdims=True) + eps)
    return d * inv, inv


def jax_normalized(x: Any, axis: int, eps: float) -> Any:
    d = x - jnp.mean(x, axis=axis, keepdims=True)
    return d / jnp.sqrt(jnp.mean(d * d, axis=axis, keepdims=True) + eps)


def _layer_norm(op: norm.LayerNormOp, x: Array, gamma: Array, beta: Array) -> Array:
    x, gamma, beta = widen(x), widen(gamma), widen(beta)
    n, _ = normalized(x, op.axis_index, op.eps.value.data)
    return n * along(gamma, x, op.axis_index) + along(beta, x, op.axis_index)


def _jax_layer_norm(op: norm.LayerNormOp, x: Any, gamma: Any, beta: Any) -> Any:
    axis = op.axis_index
    return jax_normalized(x, axis, op.eps.value.data) * along(gamma, x, axis) + along(beta, x, axis)


def _scale(np_: Any, op: Any, x: Any) -> Any:
    mean = np_.sum(x * x, axis=op.axis_index, keepdims=True) / x.shape[op.axis_index]
    return 1 / np_.sqrt(mean + op.eps.value.data)


def _rms_norm(np_: Any, op: Any, x: Any, gamma: Any, beta: Any) -> Any:
    axis = op.axis_index
    return x * _scale(np_, op, x) * along(gamma, x, axis) + along(beta, x, axis)


def _oracle_input(op: norm.RmsNormBackwardInputOp, x: Array, gamma: Array, beta: Array, dy: Array) -> Array:
    """`r (gamma dy - x r^2 mean(gamma dy x))`."""
    x, axis = widen(x), op.axis_index
    r, s = _scale(np, op, x), widen(dy) * along(widen(gamma), x, axis)
    return r * (s - x * r**2 * np.sum(s * x, axis=axis, keepdims=True) / x.shape[axis])


def _jax_input(op: norm.RmsNormBackwardInputOp, x: Any, gamma: Any, beta: Any, dy: Any) -> Any:
    return jax.vjp(lambda x: _rms_norm(jnp, op, x, gamma, beta), x)[1](dy)[0]


def _gamma(np_: Any, op: Any, x: Any, dy: Any) -> Any:
    return np_.sum(dy * x * _scale(np_, op, x), axis=others(op, x))


SAMPLES = (*_softmax_samples(), *_layer_norm_samples(), *_rms_norm_samples())
ORACLE = {
    norm.SoftmaxOp: lambda op, x: softmax(widen(x), op.axis_index),
    norm.LayerNormOp: _layer_norm,
    norm.RmsNormOp: lambda op, x, g, b: _rms_norm(np, op, widen(x), widen(g), widen(b)),
    norm.RmsNormBackwardInputOp: _oracle_input,
    norm.RmsNormBackwardGammaOp: lambda op, x, g, b, dy: _gamma(np, op, widen(x), widen(dy)),
    norm.RmsNormBackwardBetaOp: lambda op, x, g, b, dy: np.sum(widen(dy), axis=others(op, x)),
}
JAX = {
    norm.SoftmaxOp: lambda op, x: jax.nn.softmax(x, axis=op.axis_index),
    norm.LayerNormOp: _jax_layer_norm,
    norm.RmsNormOp: lambda op, x, g, b: _rms_norm(jnp, op, x, g, b),
    norm.RmsNormBackwardInputOp: _jax_input,
    norm.RmsNormBackwardGammaOp: lambda op, x, g, b, dy: _gamma(jnp, op, x, dy),
    norm.RmsNormBackwardBetaOp: lambda op, x, g, b, dy: jnp.sum(dy, axis=others(op, x)),
}
