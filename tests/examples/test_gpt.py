"""The GPT in small: it is short, trains as its twin in JAX does, and writes the text that it has learnt."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xdsl_rlx as rlx

TEXT = "def f(x): return x + 1\n" * 40
ALPHABET = "".join(sorted(set(TEXT)))


@pytest.fixture(scope="module")
def gpt(load_example: Any) -> Any:
    """The example as a module, its model small."""
    module = load_example("gpt")
    module.WIDTH, module.LENGTH, module.BATCH = 16, 23, 6
    return module


@pytest.fixture
def state(gpt: Any) -> Any:
    """What training begins with."""
    params = gpt.initial_params(rlx.key(0), len(ALPHABET))
    return params, gpt.optimiser.init(params)


def test_the_model_and_its_training_are_twenty_lines(gpt: Any) -> None:
    part = Path(gpt.__file__).read_text().split("# --8<--")[1]
    lines = [line for line in part.splitlines()[1:] if line.strip()]
    assert lines[0].startswith("def initial_params") and len(lines) <= 20
    assert max(map(len, lines)) <= 120 and not any(";" in line for line in lines)


def test_losses_are_those_of_jax_and_optax(gpt: Any, load_example: Any, state: Any) -> None:
    step, ours, theirs = load_example("gpt_jax").trainer(state[0]), list[float](), list[float]()
    for batch in gpt.batches(gpt.encode(TEXT, ALPHABET), 40, 0):
        value, state = gpt.train(state, *batch)
        ours.append(float(value))
        theirs.append(step(batch))
    np.testing.assert_allclose(ours, theirs, atol=1e-5)
    assert ours[-1] < 0.9 * ours[0]


def test_it_writes_the_text_that_it_has_learnt(gpt: Any, state: Any) -> None:
    ids = gpt.encode(TEXT, ALPHABET)
    before = gpt.mean_loss(rlx.compile(gpt.loss), state[0], ids)
    params, _ = rlx.fit(gpt.train, state, lambda epoch: gpt.batches(ids, 300, epoch), quiet=True)
    after = gpt.mean_loss(rlx.compile(gpt.loss), params, ids)
    assert after < 0.15 and before > 1.5
    written = gpt.write(params, ids[:23], rlx.rng_split(rlx.key(1), 46))
    assert "".join(ALPHABET[n] for n in written) == TEXT[:46]


def test_there_is_text_and_it_is_the_same_each_time(gpt: Any) -> None:
    text = gpt.load_text()
    assert len(text) > 100_000 and text.isascii() and text == gpt.load_text()
    first, again = (list(gpt.batches(np.arange(100), 3, 1)) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(first[0][0] + 1, first[0][1])
