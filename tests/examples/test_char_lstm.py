"""The character LSTM in small: it learns, its gradient is that of its loss, and what it samples is of its alphabet."""

from typing import Any

import numpy as np
import pytest


@pytest.fixture(scope="module")
def example(load_example: Any) -> Any:
    """The example as a module, its model small."""
    module = load_example("char_lstm")
    module.HIDDEN, module.TABLE, module.BATCH, module.TIMES, module.RATE = 24, 8, 4, 12, 2e-2
    return module


def test_it_learns_a_text_and_samples_from_it(example: Any) -> None:
    text = "def f(x): return x + 1\n" * 40
    alphabet = sorted(set(text))
    weights, history = example.train(text, alphabet, 12)
    assert history[0] > 1.5 and history[-1] < 0.2
    sampled = example.sample(weights, alphabet, "def", 60)
    assert len(sampled) == 60 and sampled.startswith("def") and "return x + 1" in sampled


def test_there_is_text_and_it_is_the_same_each_time(example: Any) -> None:
    text = example.load_text()
    assert len(text) == example.CHARACTERS and text.isascii() and text == example.load_text()


def test_the_gradient_is_the_derivative_of_the_loss(example: Any) -> None:
    rng, alphabet = np.random.default_rng(3), 7
    weights = {name: array.astype(np.float32) for name, array in example.initial_weights(alphabet).items()}
    names = list(weights)
    step = example.rlx.compile(example.rlx.grad_with_loss(example.loss_graph(alphabet), wrt=names))
    size = (example.BATCH, example.TIMES)
    given = {key: rng.integers(0, alphabet, size).astype(np.int32) for key in ("ids", "following")}
    given |= {key: rng.standard_normal((example.BATCH, example.HIDDEN)).astype(np.float32) for key in ("h0", "c0")}
    gradients = dict(zip(names, step(**given, **weights)[3:], strict=True))
    for name in names:
        direction = rng.standard_normal(weights[name].shape).astype(np.float32)
        direction /= np.linalg.norm(direction)
        above, below = (
            float(step(**given, **{**weights, name: weights[name] + s * direction})[0]) for s in (0.02, -0.02)
        )
        expected = float((gradients[name] * direction).sum())
        assert (above - below) / 0.04 == pytest.approx(expected, abs=2e-3)
