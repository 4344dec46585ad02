"""Backward ops of activations, layer norm and cross entropy."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numerics.families import loss, norm
from numerics.families.elementwise import DOMAIN, JAX_FUNCTIONS, gelu_approx_exponent, vanishing
from numerics.sample import Operand, Sample, apart, method, normal, values
from oracle import Array, widen
from scipy import special

from xdsl_rlx.dialects.mir import backward
from xdsl_rlx.dialects.mir.core import Activation

INF, NAN = np.inf, np.nan


def _activation_samples() -> list[Sample]:
    rows: list[Sample] = []
    op = backward.ActivationBackwardOp
    for kind in (Activation.GELU, Activation.GELU_APPROX, Activation.SILU):
        far = (Operand((6,), values(INF, -INF, 1e30, -1e30, 40.0, -40.0)), Operand((6,)))
        rows.append(Sample(f"{kind}-slope-at-infinity", op, method("activation_backward", kind), far))
    for kind in Activation:
        rows.append(
            Sample(
                f"activation_backward-{kind}",
                op,
                method("activation_backward", kind),
                (Operand((3, 5), DOMAIN.get(kind, normal(1.5))), Operand((3, 5))),
                differentiable=(0, 1),
                smooth=kind is not Activation.ROUND,
                tol=32,
            )
        )
    build = method("relu_backward")
    kink = (Operand((8,), values(0.0, -0.0, 1.0, -1.0, INF, -INF, NAN, 1e-40)), Operand((8,)))
    rows.append(Sample("relu_backward-kink", backward.ReluBackwardOp, build, kink, exact=True))
    plain = (Operand((3, 5), apart()), Operand((3, 5)))
    rows.append(Sample("relu_backward", backward.ReluBackwardOp, build, plain, differentiable=(0, 1), exact=True))
    return rows


def _layer_norm_samples() -> list[Sample]:
    rows: list[Sample] = []
    for suffix, shape, axis in norm.CASES:
        x, gamma = Operand(shape), Operand((shape[axis],))
        op, name = backward.LayerNormBackwardInputOp, "layer_norm_backward_input"
        build = method(name, axis, 1e-3)
        rows.append(Sample(f"{name}{suffix}", op, build, (x, gamma, x), differentiable=(0, 1, 2), tol=256))
        op, name = backward.LayerNormBackwardGammaOp, "layer_norm_backward_gamma"
        build = method(name, axis, 1e-3)
        rows.append(Sample(f"{name}{suffix}", op, build, (x, x), differentiable=(0, 1), tol=64))
    return rows


def _cross_entropy_samples() -> list[Sample]:
    rows: list[Sample] = []
    op = backward.SoftmaxCrossEntropyBackwardOp
    for suffix, logits, labels, ignore, more in loss.CASES:
        given = (logits, labels, Operand(logits.shape[:-1]))
        build = method("softmax_cross_entropy_backward", ignore)
        own = {**more, "differentiable": (0, 2)} if "differentiable" in more else more
        rows.append(Sample(f"cross_entropy_backward{suffix}", op, build, given, **own))
    return rows


def _gelu_approx_derivative(x: Array) -> Array:
    y = gelu_approx_exponent(x)
    s = special.expit(y)
    return s + vanishing(s * special.expit(-y), x * 2 * np.sqrt(2 / np.pi) * (1 + 3 * 0.044715 * x**2))


DERIVATIVES: dict[Activation, Callable[[Array], Array]] = {
    Activation.GELU: lambda x: special.ndtr(x) + vanishing(np.exp(-x * x / 2), x) / np.sqrt(2 * np.pi),
    Activation.GELU_APPROX: _gelu_approx_derivative,
    Activation.SILU: lambda x: special.expit(x) + vanishing(special.expit(x) * special.expit(-x), x),
    Activation.RELU: lambda x: np.where(x > 0, 1.0, 0.0),
    Activation.SIGMOID: lambda x: special.expit(x) * special.expit(-x),
    Activation.TANH: lambda x: 1 / np.cosh(x) ** 2,
    Activation.EXP: np.exp,
    Activation.LOG: lambda x: 1 / x,
    Activation.ERF: lambda x: 2 / np.sqrt(np.pi) * np.exp(-x * x),
    Activation.SQRT: lambda x: 0.5 / np.sqrt(x),
    Activation.RSQRT: lambda x: -0.5 / (x * np.sqrt(x)),
    Activation.RECIP: lambda x: -1 / (x * x),
    Activation.NEG: lambda x: np.full_like(x, -1.0),
    Activation.ABS: np.sign,
    Activation.SIN: np.cos,
    Activation.COS: lambda x: -np.sin(x),
    Activation.TAN: lambda x: 1 / np.cos(x) ** 2,
    Activation.ATAN: lambda x: 1 / (1 + x * x),
    Activation.ROUND: np.ones_like,
}


def _layer_norm_input(op: backward.LayerNormBackwardInputOp, x: Array, gamma: Array, dy: Array) -> Array:
    x, axis = widen(x), op.axis_index
    n, inv = norm.normalized(x, axis, op.eps.value.data)
    s = widen(dy) * norm.along(widen(gamma), x, axis)
    mean_s, mean_sn = (np.mean(v, axis=axis, keepdims=True) for v in (s, s * n))
    return inv * (s - mean_s - n * mean_sn)


def _layer_norm_gamma(op: backward.LayerNormBackwardGammaOp, x: Array, dy: Array) -> Array:
    n, _ = norm.normalized(widen(x), op.axis_index, op.eps.value.data)
    return np.sum(widen(dy) * n, axis=norm.others(op, x))


def _cross_entropy(op: backward.SoftmaxCrossEntropyBackwardOp, logits: Array, labels: Array, d_loss: Array) -> Array:
    x = widen(logits)
    label, valid, ignored = loss.classes(op, x, labels)
    one_hot = np.arange(x.shape[-1]) == label[..., None]
    grad = (norm.softmax(x, -1) - one_hot) * widen(d_loss)[..., None]
    return np.where(ignored[..., None], 0.0, np.where(valid[..., None], grad, np.nan))


def _jax_activation(op: backward.ActivationBackwardOp, x: Any, dy: Any) -> Any:
    return jax.vjp(JAX_FUNCTIONS[op.kind.data], x)[1](dy)[0]


def _jax_layer_norm_input(op: backward.LayerNormBackwardInputOp, x: Any, gamma: Any, dy: Any) -> Any:
    axis, eps = op.axis_index, op.eps.value.data
    return jax.vjp(lambda x: norm.jax_normalized(x, axis, eps) * norm.along(gamma, x, axis), x)[1](dy)[0]


def _jax_layer_norm_gamma(op: backward.LayerNormBackwardGammaOp, x: Any, dy: Any) -> Any:
    return jnp.sum(dy * norm.jax_normalized(x, op.axis_index, op.eps.value.data), axis=norm.others(op, x))


def _jax_cross_entropy(op: backward.SoftmaxCrossEntropyBackwardOp, logits: Any, labels: Any, d_loss: Any) -> Any:
    return jax.vjp(lambda x: loss.jax_cross_entropy(op, x, labels), logits)[1](d_loss)[0]


SAMPLES = (*_activation_samples(), *_layer_norm_samples(), *_cross_entropy_samples())
ORACLE = {
    backward.ReluBackwardOp: lambda op, x, dy: np.where(widen(x) > 0, widen(dy), 0.0),
    backward.ActivationBackwardOp: lambda op, x, dy: DERIVATIVES[op.kind.data](widen(x)) * widen(dy),
    backward.LayerNormBackwardInputOp: _layer_norm_input,
    backward.LayerNormBackwardGammaOp: _layer_norm_gamma,
    backward.SoftmaxCrossEntropyBackwardOp: _cross_entropy,
}
JAX = {
    backward.ReluBackwardOp: lambda op, x, dy: jnp.where(x > 0, dy, 0.0),
    backward.ActivationBackwardOp: _jax_activation,
    backward.LayerNormBackwardInputOp: _jax_layer_norm_input,
    backward.LayerNormBackwardGammaOp: _jax_layer_norm_gamma,
    backward.SoftmaxCrossEntropyBackwardOp: _jax_cross_entropy,
}
