"""The small Llama, smaller still: a step is AdamW of the gradient, it learns, and it samples from its alphabet."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest


@pytest.fixture(scope="module")
def example(load_example: Any) -> Any:
    """The example as a module."""
    return load_example("tiny_llama")


@pytest.fixture(scope="module")
def size(example: Any) -> Any:
    """Two blocks of width 16."""
    return example.Size(7, length=10, width=16, heads=4, kv_heads=2, inner=24, depth=2)


def _logits(w: dict[str, Any], size: Any, ids: Any, cos: Any, sin: Any) -> Any:
    """The model in JAX, written from the papers."""

    def norm(x: Any, gain: Any) -> Any:
        return x / jnp.sqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-5) * gain

    def heads(x: Any, count: int, turned: bool) -> Any:
        x = x.reshape(*ids.shape, count, size.head)
        if not turned:
            return x
        a, b = jnp.split(x, 2, -1)
        c, s = cos[:, None], sin[:, None]
        return jnp.concatenate([a * c - b * s, b * c + a * s], -1)

    h = w["table"][ids]
    for n in range(size.depth):
        of = {name.removesuffix(f"_{n}"): x for name, x in w.items() if name.endswith(f"_{n}")}
        x = norm(h, of["ln1_g"])
        q, k, v = (heads(x @ of[f"{name}_w"], count, name != "v") for name, count in zip("qkv", (4, 2, 2), strict=True))
        k, v = (jnp.repeat(y, 2, 2) for y in (k, v))
        scores = jnp.einsum("bihd,bjhd->bhij", q, k) / np.sqrt(size.head)
        scores = jnp.where(jnp.tril(jnp.ones(scores.shape[-2:], bool)), scores, -jnp.inf)
        a = jnp.einsum("bhij,bjhd->bihd", jax.nn.softmax(scores), v).reshape(h.shape)
        h = h + a @ of["o_w"]
        x = norm(h, of["ln2_g"])
        h = h + (jax.nn.silu(x @ of["gate_w"]) * (x @ of["up_w"])) @ of["down_w"]
    return norm(h, w["norm_g"]) @ w["table"].T


def test_a_step_is_adamw_of_the_gradient(example: Any, size: Any) -> None:
    rng, batch = np.random.default_rng(3), 3
    given = {name: rng.integers(0, 7, (batch, 10)).astype(np.int32) for name in ("ids", "following")}
    start = {
        name: array + 0.1 * rng.standard_normal(array.shape).astype("f4")
        for name, array in example.initial_weights(size).items()
    }
    weights = example.rlx.Weights(start)
    step = example.rlx.compile(example.training_graph(size, batch), weights=weights)
    for name, array in start.items():
        weights[f"m_{name}"] = weights[f"v_{name}"] = np.zeros_like(array)

    def loss(w: dict[str, Any]) -> Any:
        scores = jax.nn.log_softmax(_logits(w, size, given["ids"], *example.rotations(size)))
        return -jnp.mean(jnp.take_along_axis(scores, given["following"][..., None], -1))

    w, value_and_gradients = dict(start), jax.jit(jax.value_and_grad(loss))
    m, v = ({name: np.zeros_like(x) for name, x in w.items()} for _ in range(2))
    for n in range(1, 4):
        found = step(**given, rate=1e-2, step=float(n))[0]
        value, gradients = value_and_gradients(w)
        np.testing.assert_allclose(found, value, 2e-5)
        length = np.sqrt(sum(float(np.sum(np.square(g))) for g in gradients.values()))
        for name, g in gradients.items():
            g = np.asarray(g) * min(1.0, example.CLIP / length)
            m[name] = example.BETA1 * m[name] + (1 - example.BETA1) * g
            v[name] = example.BETA2 * v[name] + (1 - example.BETA2) * g * g
            move = m[name] / (1 - example.BETA1**n) / (np.sqrt(v[name] / (1 - example.BETA2**n)) + example.EPSILON)
            decay = example.DECAY if w[name].ndim > 1 else 0.0
            w[name] = w[name] - 1e-2 * (move + decay * w[name])
    for name, expected in w.items():
        np.testing.assert_allclose(weights[name], expected, 2e-3, 2e-4, err_msg=name)


def test_it_learns_a_text_and_samples_from_it(example: Any, size: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(example, "WARM_UP", 10)
    monkeypatch.setattr(example, "RATE", 1e-2)
    text = "abcdefg" * 60
    alphabet = sorted(set(text))
    ids = np.array([alphabet.index(character) for character in text], np.int32)
    weights, curve = example.train(ids, size, 160, batch=4)
    assert curve[0][2] > curve[-1][2] and curve[-1][2] < 0.3
    assert example.sample(weights, size, alphabet, "abc", 20) == ("abcdefg" * 4)[:23]
    assert example.drawn(curve).count("\n") == len(curve) - 1


def test_rates_rise_and_fall(example: Any) -> None:
    rates = [example.rate_at(n, 1000) for n in (1, example.WARM_UP, 500, 1000)]
    assert rates[0] < rates[2] < rates[1] == example.RATE and rates[3] == pytest.approx(example.RATE / 10)
