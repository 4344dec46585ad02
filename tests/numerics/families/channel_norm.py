"""Norms per channel and over groups of channels, and their backward ops."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numerics.sample import NARROW, Operand, Sample, method, uniform, values
from oracle import Array, widen

from xdsl_rlx.dialects.mir import channel_norm as mir


def _group_samples() -> list[Sample]:
    rows: list[Sample] = []
    for suffix, shape, groups in (
        ("", (2, 6, 3, 2), 3),
        ("-one-group", (3, 4, 5), 1),
        ("-per-channel", (2, 3, 4), 3),
        ("-flat", (3, 6), 2),
        ("-volume", (2, 4, 2, 1, 3), 2),
        ("-long", (1, 4, 5, 7), 2),
        ("-empty", (0, 4, 2), 2),
        ("-no-positions", (2, 4, 0), 2),
    ):
        x, vector = Operand(shape), Operand((shape[1],))
        op, build = mir.GroupNormOp, method("group_norm", groups, 1e-3)
        rows.append(Sample(f"group_norm{suffix}", op, build, (x, vector, vector), differentiable=(0, 1, 2), tol=128))
        op, build = mir.GroupNormBackwardInputOp, method("group_norm_backward_input", groups, 1e-3)
        given = (x, vector, vector, x)
        name = "group_norm_backward_input"
        rows.append(Sample(f"{name}{suffix}", op, build, given, differentiable=(0, 1, 2, 3), tol=512))
        op, build = mir.GroupNormBackwardGammaOp, method("group_norm_backward_gamma", groups, 1e-3)
        rows.append(Sample(f"group_norm_backward_gamma{suffix}", op, build, (x, x), differentiable=(0, 1), tol=256))
        op, build = mir.GroupNormBackwardBetaOp, method("group_norm_backward_beta", groups, 1e-3)
        rows.append(Sample(f"group_norm_backward_beta{suffix}", op, build, (x, x), differentiable=(0, 1), tol=16))
    build, vector = method("group_norm", 2), Operand((4,))
    offset = (Operand((2, 4, 5), uniform(1000.0, 1001.0)), vector, vector)
    rows.append(Sample("group_norm-offset", mir.GroupNormOp, build, offset, tol=16384))
    flat = (Operand((2, 4, 5), values(2.5)), vector, vector)
    rows.append(Sample("group_norm-constant", mir.GroupNormOp, build, flat))
    small = (Operand((2, 4, 5)), vector, vector)
    rows.append(Sample("group_norm-narrow", mir.GroupNormOp, build, small, NARROW, tol=64))
    return rows


def _layer_samples() -> list[Sample]:
    rows: list[Sample] = []
    build = method("layer_norm_2d", 1e-3)
    for suffix, shape in (("", (2, 3, 4, 5)), ("-one", (3, 4, 1, 1)), ("-empty", (2, 3, 0, 2))):
        vector = Operand((shape[1],))
        given = (Operand(shape), vector, vector)
        rows.append(Sample(f"layer_norm_2d{suffix}", mir.LayerNorm2dOp, build, given, differentiable=(0, 1, 2), tol=64))
    return rows


def _batch_samples() -> list[Sample]:
    rows: list[Sample] = []
    for suffix, shape, axis in (
        ("", (3, 5), -1),
        ("-image", (2, 3, 4, 2), 1),
        ("-first", (3, 4), 0),
        ("-vector", (5,), 0),
        ("-empty", (0, 3), 1),
    ):
        x, vector, var = Operand(shape), Operand((shape[axis],)), Operand((shape[axis],), uniform(0.2, 2.0))
        name = "batch_norm_inference"
        op, build = mir.BatchNormInferenceOp, method(name, axis, 1e-3)
        given = (x, vector, vector, vector, var)
        rows.append(Sample(f"{name}{suffix}", op, build, given, differentiable=(0, 1, 2, 3, 4), tol=64))
        op, build = mir.BatchNormInferenceBackwardInputOp, method(f"{name}_backward_input", axis, 1e-3)
        given = (x, vector, vector, var, x)
        rows.append(Sample(f"{name}_backward_input{suffix}", op, build, given, differentiable=(0, 1, 2, 3, 4), tol=64))
        op, build = mir.BatchNormInferenceBackwardGammaOp, method(f"{name}_backward_gamma", axis, 1e-3)
        given = (x, vector, var, x)
        rows.append(Sample(f"{name}_backward_gamma{suffix}", op, build, given, differentiable=(0, 1, 2, 3), tol=128))
        op, build = mir.BatchNormInferenceBackwardBetaOp, method(f"{name}_backward_beta", axis)
        rows.append(Sample(f"{name}_backward_beta{suffix}", op, build, (x,), differentiable=(0,), tol=16))
    vector = Operand((5,))
    zero_var = (Operand((3, 5)), vector, vector, vector, Operand((5,), values(0.0, 1.0)))
    rows.append(
        Sample(
            "batch_norm_inference-no-variance",
            mir.BatchNormInferenceOp,
            method("batch_norm_inference"),
            zero_var,
            differentiable=(0, 1, 2, 3),
            tol=64,
        )
    )
    small = (Operand((3, 5)), vector, vector, vector, Operand((5,), uniform(0.2, 2.0)))
    build = method("batch_norm_inference")
    rows.append(Sample("batch_norm_inference-narrow", mir.BatchNormInferenceOp, build, small, NARROW, tol=64))
    return rows


def _wide(row: Any) -> Any:
    return lambda op, *xs: row(np, op, *(widen(x) for x in xs))


def _jax(row: Any) -> Any:
    return lambda op, *xs: row(jnp, op, *xs)


def _grouped(op: Any, x: Any) -> Any:
    shape, groups = x.shape, op.num_groups.value.data
    return x.reshape(shape[0], groups, shape[1] // groups, int(np.prod(shape[2:])))


def _mean(np_: Any, groups: Any) -> Any:
    return np_.sum(groups, axis=(2, 3), keepdims=True) / (groups.shape[2] * groups.shape[3])


def _group_statistics(np_: Any, op: Any, x: Any) -> tuple[Any, Any]:
    """The normalised groups and the factor that made them so."""
    parts = _grouped(op, x)
    d = parts - _mean(np_, parts)
    inv = 1 / np_.sqrt(_mean(np_, d * d) + op.eps.value.data)
    return d * inv, inv


def _channel(vector: Any, x: Any, axis: int = 1) -> Any:
    return vector.reshape([-1 if a == axis else 1 for a in range(x.ndim)])


def _per_channel(np_: Any, x: Any, axis: int = 1) -> Any:
    return np_.sum(x, axis=tuple(a for a in range(x.ndim) if a != axis))


def _group_norm(np_: Any, op: Any, x: Any, gamma: Any, beta: Any) -> Any:
    n, _ = _group_statistics(np_, op, x)
    return n.reshape(x.shape) * _channel(gamma, x) + _channel(beta, x)


def _oracle_group_input(op: Any, x: Array, gamma: Array, beta: Array, dy: Array) -> Array:
    x = widen(x)
    n, inv = _group_statistics(np, op, x)
    s = _grouped(op, widen(dy) * _channel(widen(gamma), x))
    mean_s, mean_sn = (_mean(np, v) for v in (s, s * n))
    return (inv * (s - mean_s - n * mean_sn)).reshape(x.shape)


def _jax_group_input(op: Any, x: Any, gamma: Any, beta: Any, dy: Any) -> Any:
    return jax.vjp(lambda x: _group_norm(jnp, op, x, gamma, beta), x)[1](dy)[0]


def _group_gamma(np_: Any, op: Any, x: Any, dy: Any) -> Any:
    n, _ = _group_statistics(np_, op, x)
    return _per_channel(np_, dy * n.reshape(x.shape))


def _group_beta(np_: Any, op: Any, x: Any, dy: Any) -> Any:
    return _per_channel(np_, dy)


def _layer_norm_2d(np_: Any, op: Any, x: Any, gamma: Any, beta: Any) -> Any:
    d = x - np_.mean(x, axis=1, keepdims=True)
    n = d / np_.sqrt(np_.mean(d * d, axis=1, keepdims=True) + op.eps.value.data)
    return n * _channel(gamma, x) + _channel(beta, x)


def _batch_norm(np_: Any, op: Any, x: Any, gamma: Any, beta: Any, mean: Any, var: Any) -> Any:
    gamma, beta, mean, var = (_channel(v, x, op.axis_index) for v in (gamma, beta, mean, var))
    return (x - mean) / np_.sqrt(var + op.eps.value.data) * gamma + beta


def _batch_input(np_: Any, op: Any, x: Any, gamma: Any, mean: Any, var: Any, dy: Any) -> Any:
    gamma, var = (_channel(v, x, op.axis_index) for v in (gamma, var))
    return dy * gamma / np_.sqrt(var + op.eps.value.data)


def _batch_gamma(np_: Any, op: Any, x: Any, mean: Any, var: Any, dy: Any) -> Any:
    mean, var = (_channel(v, x, op.axis_index) for v in (mean, var))
    return _per_channel(np_, dy * (x - mean) / np_.sqrt(var + op.eps.value.data), op.axis_index)


_ROWS = {
    mir.GroupNormOp: _group_norm,
    mir.GroupNormBackwardGammaOp: _group_gamma,
    mir.GroupNormBackwardBetaOp: _group_beta,
    mir.LayerNorm2dOp: _layer_norm_2d,
    mir.BatchNormInferenceOp: _batch_norm,
    mir.BatchNormInferenceBackwardInputOp: _batch_input,
    mir.BatchNormInferenceBackwardGammaOp: _batch_gamma,
    mir.BatchNormInferenceBackwardBetaOp: lambda np_, op, dy: _per_channel(np_, dy, op.axis_index),
}

SAMPLES = (*_group_samples(), *_layer_samples(), *_batch_samples())
ORACLE = {op: _wide(row) for op, row in _ROWS.items()} | {mir.GroupNormBackwardInputOp: _oracle_group_input}
JAX = {op: _jax(row) for op, row in _ROWS.items()} | {mir.GroupNormBackwardInputOp: _jax_group_input}
