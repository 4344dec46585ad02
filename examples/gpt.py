"""Train a two-layer character GPT on Python's reference text, which ships with Python, and sample text from it.

The model and its training are between the two "--8<--" lines. They take 20 lines, and a test limits them to 20.
gpt_jax.py and gpt_torch.py are the same model in JAX with optax and in PyTorch. `python benchmarks/gpt_twins.py` trains
all three from the same weights on the same batches. Layer norms have no gains, as in OLMo (Groeneveld et al., 2024).
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import xdsl_rlx as rlx

WIDTH, HEADS, DEPTH, LENGTH, BATCH = 128, 4, 2, 64, 16
STEPS, WARMUP, RATE, DECAY, CLIP = 1000, 100, 3e-3, 0.1, 1.0
STEPS_PER_EPOCH = 100
HELD_OUT = 0.1
TEMPERATURE = 0.7
OUTPUT = Path(__file__).resolve().parent.parent / "build" / "gpt"

Batch = tuple[np.ndarray, np.ndarray]


# --8<-- the model and its training
def initial_params(key: Any, alphabet: int) -> Any:
    layer = {"qkv": (WIDTH, 3 * WIDTH), "out": (WIDTH, WIDTH), "up": (WIDTH, 4 * WIDTH), "down": (4 * WIDTH, WIDTH)}
    shapes = {"characters": (alphabet, WIDTH), "places": (LENGTH, WIDTH), "layers": [layer] * DEPTH}
    return rlx.init.params(key, shapes, rlx.init.lecun_normal)


def model(params: Any, ids: Any) -> Any:
    x = params["characters"][ids] + params["places"]
    for layer in params["layers"]:
        q, k, v = np.split(rlx.layer_norm(x) @ layer["qkv"], 3, axis=-1)
        x = x + rlx.attention(q, k, v, num_heads=HEADS, mask_kind="causal") @ layer["out"]
        x = x + rlx.gelu(rlx.layer_norm(x) @ layer["up"]) @ layer["down"]
    return rlx.layer_norm(x) @ params["characters"].T


def loss(params: Any, ids: Any, following: Any) -> Any:
    return rlx.softmax_cross_entropy(model(params, ids), following).mean()


def step(state: Any, ids: Any, following: Any) -> Any:
    params, kept = state
    value, gradients = rlx.value_and_grad(loss)(params, ids, following)
    return value, optimiser.update(gradients, kept, params)


rate = rlx.optim.warmup(WARMUP, rlx.optim.cosine(RATE, STEPS - WARMUP))
optimiser = rlx.optim.AdamW(rate, weight_decay=DECAY, clip_norm=CLIP)
train = rlx.compile(step, donate={"state": 1})
# --8<--


def load_text() -> str:
    """Return the topics of `help()` in alphabetical order, without non-ASCII characters."""
    from pydoc_data.topics import topics

    return "\n".join(topics[name] for name in sorted(topics)).encode("ascii", "ignore").decode()


def encode(text: str, alphabet: str) -> np.ndarray:
    """Return the id of each character."""
    number = {character: n for n, character in enumerate(alphabet)}
    return np.array([number[character] for character in text], np.int32)


def windows(ids: np.ndarray, starts: np.ndarray) -> Batch:
    """Return windows of the text, and the next character at each position."""
    rows = ids[starts[:, None] + np.arange(LENGTH + 1)]
    return rows[:, :-1], rows[:, 1:]


def batches(ids: np.ndarray, count: int, epoch: int) -> Iterator[Batch]:
    """Yield `count` batches of random windows; the epoch number is the seed."""
    rng = np.random.default_rng((1, epoch))
    for _ in range(count):
        yield windows(ids, rng.integers(0, len(ids) - LENGTH, BATCH))


def mean_loss(judge: Any, params: Any, ids: np.ndarray) -> float:
    """Return the mean loss over a text, in non-overlapping windows; the last batch may be smaller."""
    every = windows(ids, np.arange(0, len(ids) - LENGTH, LENGTH))
    parts = [judge(params, *part) * len(part[0]) for part in rlx.Batches(every, BATCH, seed=None).of_epoch(0)]
    return float(sum(parts)) / len(every[0])


@rlx.compile
def write(params: Any, window: Any, keys: Any) -> Any:
    """Sample one character per key after a window; each character sees the window with the ones before it."""

    def draw(window: Any, key: Any) -> Any:
        logits = model(params, window[None])[:, -1]
        character = rlx.sample(logits, key, temperature=TEMPERATURE).astype(np.int32)
        return np.concatenate([window[1:], character]), character[0]

    return rlx.scan(draw, window, keys)[1]


def main() -> int:
    """Train, print losses and a sample, save the weights; return status 1 if the loss is too high."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=STEPS // STEPS_PER_EPOCH, help=f"of {STEPS_PER_EPOCH} steps each")
    parser.add_argument("--profile", action="store_true", help="show where time and memory of a step go, and stop")
    options = parser.parse_args()
    text = load_text()
    alphabet = "".join(sorted(set(text)))
    ids = encode(text, alphabet)
    split = int(len(ids) * (1 - HELD_OUT))
    params = initial_params(rlx.key(0), len(alphabet))
    count = sum(leaf.size for leaf in rlx.tree.flatten(params)[0])
    print(f"{len(text)} characters of {len(alphabet)} kinds; {DEPTH} layers, {count} weights")
    state = params, optimiser.init(params)
    if options.profile:
        arguments = state, *next(batches(ids, 1, 0))
        print(rlx.inspect(train.compiled(*arguments)), train.profile(*arguments), sep="\n\n")
        return 0

    judge = rlx.compile(loss)
    params, _ = rlx.fit(
        train,
        state,
        partial(batches, ids[:split], STEPS_PER_EPOCH),
        options.epochs,
        evaluate=lambda state: f"held out {mean_loss(judge, state[0], ids[split:]):.3f}",
    )
    judged = mean_loss(judge, params, ids[split:])
    print(f"{judged:.3f} nats per character on held-out text")
    begin = ids[text.index("\nThe ", split) :][:LENGTH]
    print("".join(alphabet[n] for n in (*begin, *write(params, begin, rlx.rng_split(rlx.key(5), 400)))))
    OUTPUT.mkdir(parents=True, exist_ok=True)
    rlx.save(OUTPUT / "params.safetensors", params, {"alphabet": alphabet})
    print(f"weights: {os.path.relpath(OUTPUT / 'params.safetensors')}")
    return 0 if options.epochs * STEPS_PER_EPOCH < STEPS or judged < 1.7 else 1


if __name__ == "__main__":
    sys.exit(main())
