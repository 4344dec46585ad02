"""RMS norm and its backward ops."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numerics.sample import Operand, Sample, normal, uniform, values
from oracle import Array, widen

from xdsl_rlx.dialects.mir import norm


def _samples() -> list[Sample]:
    rows: list[Sample] = []
    for suffix, shape, axis in (
        ("", (3, 5), -1),
        ("-columns", (3, 5), 0),
        ("-middle", (2, 3, 4), 1),
        ("-vector", (7,), 0),
        ("-one", (4, 1), 1),
        ("-long", (2, 67), 1),
        ("-empty", (0, 3), 1),
        ("-no-features", (3, 0), 1),
    ):
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
    rows.append(Sample("rms_norm-narrow", norm.RmsNormOp, build, small, ("f16", "bf16"), tol=64))
    return rows


def _along(np_: Any, vector: Any, x: Any, axis: int) -> Any:
    return np_.reshape(vector, [-1 if a == axis else 1 for a in range(x.ndim)])


def _scale(np_: Any, op: Any, x: Any) -> Any:
    mean = np_.sum(x * x, axis=op.axis_index, keepdims=True) / x.shape[op.axis_index]
    return 1 / np_.sqrt(mean + op.eps.value.data)


def _others(op: Any, x: Any) -> tuple[int, ...]:
    return tuple(a for a in range(x.ndim) if a != op.axis_index)


def _rms_norm(np_: Any, op: Any, x: Any, gamma: Any, beta: Any) -> Any:
    axis = op.axis_index
    return x * _scale(np_, op, x) * _along(np_, gamma, x, axis) + _along(np_, beta, x, axis)


def _oracle_input(op: norm.RmsNormBackwardInputOp, x: Array, gamma: Array, beta: Array, dy: Array) -> Array:
    """`r (gamma dy - x r^2 mean(gamma dy x))`."""
    x, axis = widen(x), op.axis_index
    r, s = _scale(np, op, x), widen(dy) * _along(np, widen(gamma), x, axis)
    return r * (s - x * r**2 * np.sum(s * x, axis=axis, keepdims=True) / x.shape[axis])


def _jax_input(op: norm.RmsNormBackwardInputOp, x: Any, gamma: Any, beta: Any, dy: Any) -> Any:
    return jax.vjp(lambda x: _rms_norm(jnp, op, x, gamma, beta), x)[1](dy)[0]


def _gamma(np_: Any, op: Any, x: Any, dy: Any) -> Any:
    return np_.sum(dy * x * _scale(np_, op, x), axis=_others(op, x))


SAMPLES = tuple(_samples())
ORACLE = {
    norm.RmsNormOp: lambda op, x, g, b: _rms_norm(np, op, widen(x), widen(g), widen(b)),
    norm.RmsNormBackwardInputOp: _oracle_input,
    norm.RmsNormBackwardGammaOp: lambda op, x, g, b, dy: _gamma(np, op, widen(x), widen(dy)),
    norm.RmsNormBackwardBetaOp: lambda op, x, g, b, dy: np.sum(widen(dy), axis=_others(op, x)),
}
JAX = {
    norm.RmsNormOp: lambda op, x, g, b: _rms_norm(jnp, op, x, g, b),
    norm.RmsNormBackwardInputOp: _jax_input,
    norm.RmsNormBackwardGammaOp: lambda op, x, g, b, dy: _gamma(jnp, op, x, dy),
    norm.RmsNormBackwardBetaOp: lambda op, x, g, b, dy: jnp.sum(dy, axis=_others(op, x)),
}
