"""Train a character LSTM on Python's language reference, which ships with Python, and sample text from it.

The model is one layer of `hir.lstm` between an embedding table and a linear layer, with mean cross-entropy as the loss.
Adam with gradient clipping is a second compiled graph. The state is carried between batches: the final state of one
batch is the initial state of the next (truncated backpropagation through time). `--epochs n` sets the number of epochs.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

import numpy as np
from adam import Adam, adam_graph

import xdsl_rlx as rlx

HIDDEN, TABLE = 128, 32
BATCH, TIMES = 32, 64
CHARACTERS = 160_000
EPOCHS = 7
RATE = 4e-3
CLIP = 1.0
TEMPERATURE = 0.5

Arrays = dict[str, np.ndarray]


def load_text() -> str:
    """Return the first topics of `help()` in alphabetical order, without non-ASCII characters."""
    from pydoc_data.topics import topics

    text = "\n".join(topics[name] for name in sorted(topics))
    return text.encode("ascii", "ignore").decode()[:CHARACTERS]


def shapes(alphabet: int) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the weights by name."""
    return {
        "table": (alphabet, TABLE),
        "w_ih": (TABLE, 4 * HIDDEN),
        "w_hh": (HIDDEN, 4 * HIDDEN),
        "b_ih": (4 * HIDDEN,),
        "w_out": (HIDDEN, alphabet),
        "b_out": (alphabet,),
    }


def model(alphabet: int, batch: int, times: int) -> Any:
    """
    Build the network in `hir`: characters [batch, times] and a state to logits [batch, times, alphabet] and a state.
    """

    def layers(m: Any) -> Any:
        ids = m.input("ids", (batch, times), dtype="i32")
        h0, c0 = m.input("h0", (batch, HIDDEN)), m.input("c0", (batch, HIDDEN))
        w = {name: m.param(name, shape) for name, shape in shapes(alphabet).items()}
        x = m.gather(w["table"], ids)
        outputs, h, c = m.lstm(x, w["w_ih"], w["w_hh"], w["b_ih"], h0=h0, c0=c0)
        return m.linear(outputs, w["w_out"], w["b_out"]), h, c

    return rlx.GraphModule.define("char_lstm", layers)


def loss_graph(alphabet: int) -> Any:
    """Build the mean cross-entropy of the next characters and the final state."""
    g = rlx.Graph("char_lstm_loss")
    logits, h, c = g.inline(rlx.lower_hir(model(alphabet, BATCH, TIMES)))
    following = g.input("following", (BATCH, TIMES), dtype="i32")
    g.set_outputs([g.reduce_mean(g.softmax_cross_entropy_with_logits(logits, following)), h, c])
    return g


def initial_weights(alphabet: int) -> Arrays:
    """Draw normal weights scaled by fan-in, from a fixed seed; biases are 0, forget-gate biases 1."""
    rng = np.random.default_rng(0)
    weights = {
        name: (rng.standard_normal(shape) / np.sqrt(shape[0] if name != "table" else 1)).astype(np.float32)
        for name, shape in shapes(alphabet).items()
    }
    for name in ("b_ih", "b_out"):
        weights[name][:] = 0
    weights["b_ih"][HIDDEN : 2 * HIDDEN] = 1
    return weights


def train(text: str, alphabet: list[str], epochs: int) -> tuple[Arrays, list[float]]:
    """Train for some epochs; return the weights and the mean loss of each epoch, in nats per character."""
    names = list(shapes(len(alphabet)))
    step = rlx.compile(rlx.grad_with_loss(loss_graph(len(alphabet)), wrt=names))
    adam = rlx.compile(adam_graph(shapes(len(alphabet)), RATE, clip=CLIP))
    number = {character: i for i, character in enumerate(alphabet)}
    ids = np.array([number[character] for character in text], np.int32)
    steps = (len(ids) - 1) // (BATCH * TIMES)
    rows = ids[: BATCH * TIMES * steps].reshape(BATCH, steps * TIMES)
    following = ids[1 : BATCH * TIMES * steps + 1].reshape(BATCH, steps * TIMES)

    weights = initial_weights(len(alphabet))
    optimizer, history = Adam(adam, weights), list[float]()
    for epoch in range(epochs):
        start, total = time.perf_counter(), 0.0
        h = c = np.zeros((BATCH, HIDDEN), np.float32)
        for at in range(0, steps * TIMES, TIMES):
            part = slice(at, at + TIMES)
            batch = {"ids": rows[:, part], "following": following[:, part], "h0": h, "c0": c}
            loss, h, c, *gradients = step(**batch, **weights)
            optimizer.step(gradients)
            total += float(loss)
        history.append(total / steps)
        print(f"epoch {epoch + 1:2}: loss {history[-1]:.3f} nats per character, {time.perf_counter() - start:.1f} s")
    return weights, history


def sample(weights: Arrays, alphabet: list[str], beginning: str, length: int) -> str:
    """Continue the given text with characters sampled one by one, from a fixed seed."""
    predict, rng = rlx.compile(model(len(alphabet), 1, 1)), np.random.default_rng(2)
    h = c = np.zeros((1, HIDDEN), np.float32)
    logits, drawn = np.zeros(len(alphabet)), beginning
    for at in range(length):
        if at >= len(beginning):
            chances = np.exp((logits - logits.max()) / TEMPERATURE)
            drawn += alphabet[rng.choice(len(alphabet), p=chances / chances.sum())]
        found, h, c = predict(ids=np.array([[alphabet.index(drawn[at])]], np.int32), h0=h, c0=c, **weights)
        logits = found[0, 0].astype(np.float64)
    return drawn


def main() -> int:
    """Train, report and print a sample; return status 1 if the loss is too high."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=EPOCHS, help="of the whole text")
    epochs = parser.parse_args().epochs
    text = load_text()
    alphabet = sorted(set(text))
    print(f"{len(text)} characters of {len(alphabet)} kinds; an LSTM of {HIDDEN} on {BATCH} sequences of {TIMES}")
    weights, history = train(text, alphabet, epochs)
    print(sample(weights, alphabet, "The ", 600))
    return 0 if epochs < EPOCHS or history[-1] < 1.45 else 1


if __name__ == "__main__":
    sys.exit(main())
