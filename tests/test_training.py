"""Training from end to end: Adam steps of a compiled classifier, in place, against the same steps in JAX."""

from typing import Any

import jax
import jax.numpy as jnp
import models
import numpy as np
import pytest

import xdsl_rlx as rlx

STEPS = 8
RATE, BETA1, BETA2, EPSILON = 1e-2, 0.9, 0.999, 1e-8


def adam(shapes: dict[str, tuple[int, ...]]) -> rlx.Graph:
    """New weights and moments, in the order of the arguments `w`, `m`, `v`, from gradients `g` at step `t`."""
    g = rlx.Graph("adam")
    t = g.input("t", (), "f64")
    grads = {name: g.input(f"g_{name}", shape, "f64") for name, shape in shapes.items()}
    outputs: list[rlx.Value] = []
    for name, shape in shapes.items():
        w, m, v = (g.input(f"{kind}_{name}", shape, "f64") for kind in "wmv")
        m = BETA1 * m + (1 - BETA1) * grads[name]
        v = BETA2 * v + (1 - BETA2) * grads[name] * grads[name]
        step = (m / (1 - g.pow(BETA1, t))) / (g.sqrt(v / (1 - g.pow(BETA2, t))) + EPSILON)
        outputs += [w - RATE * step, m, v]
    g.set_outputs(outputs)
    return g


def losses_by_jax(arrays: models.Arrays) -> list[float]:
    def loss(params: dict[str, Any]) -> Any:
        logits = jnp.tanh(arrays["x"] @ params["w1"] + params["b1"]) @ params["w2"] + params["b2"]
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), arrays["labels"][:, None], 1))

    both = jax.jit(jax.value_and_grad(loss))
    params = {name: jnp.asarray(arrays[name]) for name in models.WEIGHTS}
    m = {name: jnp.zeros_like(w) for name, w in params.items()}
    v, losses = dict(m), list[float]()
    for t in range(1, STEPS + 1):
        value, grads = both(params)
        losses.append(float(value))
        for name, g in grads.items():
            m[name] = BETA1 * m[name] + (1 - BETA1) * g
            v[name] = BETA2 * v[name] + (1 - BETA2) * g * g
            step = (m[name] / (1 - BETA1**t)) / (jnp.sqrt(v[name] / (1 - BETA2**t)) + EPSILON)
            params[name] = params[name] - RATE * step
    return losses


@pytest.mark.parametrize("threads", [1, 2])
def test_adam_in_place_follows_jax(threads: int):
    arrays = models.mlp_arrays("f64")
    step = rlx.compile(models.mlp_step("f64"), threads)
    update = rlx.compile(adam({name: arrays[name].shape for name in models.WEIGHTS}), threads)
    weights = {name: arrays[name].copy() for name in models.WEIGHTS}
    state = {name: (weights[name], np.zeros_like(weights[name]), np.zeros_like(weights[name])) for name in weights}
    buffers = (np.empty(()), *(np.empty_like(w) for w in weights.values()))
    grads = {f"g_{name}": buffer for name, buffer in zip(weights, buffers[1:], strict=True)}
    slots = {f"{kind}_{name}": x for name, three in state.items() for kind, x in zip("wmv", three, strict=True)}
    losses: list[float] = []
    for t in range(1, STEPS + 1):
        results = step(x=arrays["x"], labels=arrays["labels"], **weights, out=buffers)
        assert all(result is buffer for result, buffer in zip(results, buffers, strict=True))
        losses.append(float(buffers[0]))
        updated = update(t=float(t), **grads, **slots, out=tuple(slots.values()))
        assert all(result is slot for result, slot in zip(updated, slots.values(), strict=True))
    np.testing.assert_allclose(losses, losses_by_jax(arrays), rtol=1e-9)
    assert losses[-1] < 0.9 * losses[0]


def test_params_set_between_steps_are_the_ones_used():
    arrays = models.mlp_arrays("f64")
    step = rlx.compile(models.mlp_step("f64"))
    data = {name: arrays[name] for name in ("x", "labels")}
    for name in models.WEIGHTS:
        step.set_param(name, arrays[name])
    first, *grads = step(**data)
    for name, grad in zip(models.WEIGHTS, grads, strict=True):
        step.set_param(name, arrays[name] - 0.1 * grad)
    second = step(**data)[0]
    assert second < first
    again = step(**data, **{name: arrays[name] for name in models.WEIGHTS})[0]
    assert again == first and step(**data)[0] == second
