"""Train a small Llama on Python's language reference, which ships with Python, and sample text from it.

The model has decoder blocks of `hir` between an embedding and a head with tied weights. Loss, gradients, clipping and
AdamW with a cosine schedule are one compiled graph, which updates weights and moments in place. `--steps n` sets the
number of steps.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import xdsl_rlx as rlx

STEPS, WARM_UP = 1200, 60
BATCH = 16
RATE, DECAY, CLIP = 4e-3, 0.1, 1.0
BETA1, BETA2, EPSILON = 0.9, 0.99, 1e-8
HELD_OUT = 0.1
TEMPERATURE = 0.6

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Size:
    """Dimensions of the model."""

    alphabet: int
    length: int = 96
    width: int = 128
    heads: int = 4
    kv_heads: int = 2
    inner: int = 344
    depth: int = 3

    @property
    def head(self) -> int:
        return self.width // self.heads

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the weights by name."""
        d, kv, f = self.width, self.kv_heads * self.head, self.inner
        block = {"ln1_g": (d,), "q_w": (d, d), "k_w": (d, kv), "v_w": (d, kv), "o_w": (d, d), "ln2_g": (d,)}
        block |= {"gate_w": (d, f), "up_w": (d, f), "down_w": (f, d)}
        blocks = {f"{name}_{n}": shape for n in range(self.depth) for name, shape in block.items()}
        return {"table": (self.alphabet, d), **blocks, "norm_g": (d,)}


def load_text() -> str:
    """Return the topics of `help()` in alphabetical order, without non-ASCII characters."""
    from pydoc_data.topics import topics

    return "\n".join(topics[name] for name in sorted(topics)).encode("ascii", "ignore").decode()


def rotations(size: Size) -> tuple[np.ndarray, np.ndarray]:
    """Return cosines and sines of the rotary embedding, [length, head / 2]."""
    pairs = size.head // 2
    angle = np.arange(size.length)[:, None] * 10000.0 ** (-np.arange(pairs) / pairs)
    return np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)


def model(size: Size, batch: int) -> Any:
    """Build the network in `hir`: characters [batch, length] to logits [batch, length, alphabet]."""

    def layers(m: Any) -> Any:
        ids = m.input("ids", (batch, size.length), dtype="i32")
        w = {name: m.param(name, shape) for name, shape in size.shapes.items()}
        cos, sin = (m.constant(table) for table in rotations(size))
        h = m.embedding(ids, w["table"])
        for n in range(size.depth):
            of = {name: w[f"{name}_{n}"] for name in ("ln1_g", "q_w", "k_w", "v_w", "o_w", "ln2_g")}
            of |= {name: w[f"{name}_{n}"] for name in ("gate_w", "up_w", "down_w")}
            h = m.llama_decoder_block(
                h, ln1_b=None, ln2_b=None, cos=cos, sin=sin, num_heads=size.heads, num_kv_heads=size.kv_heads, **of
            )
        return m.tied_head(m.rms_norm(h, w["norm_g"]), w["table"])

    return rlx.GraphModule.define("tiny_llama", layers)


def loss_graph(size: Size, batch: int) -> Any:
    """Build the mean cross-entropy of the next characters, in nats."""
    g = rlx.Graph("loss")
    (logits,) = g.inline(rlx.lower_hir(model(size, batch)))
    following = g.input("following", (batch, size.length), dtype="i32")
    g.set_outputs(g.reduce_mean(g.softmax_cross_entropy_with_logits(logits, following)))
    return g


def training_graph(size: Size, batch: int) -> Any:
    """
    Build an AdamW step (Loshchilov and Hutter 2019, algorithm 2) with global-norm clipping; it returns the loss.

    `rate` is the learning rate, `step` counts from 1. Gains have no weight decay.
    """
    shapes = size.shapes
    g = rlx.Graph("train")
    rate, step = g.input("rate", ()), g.input("step", ())
    weights = {name: g.param(name, shape) for name, shape in shapes.items()}
    loss, *gradients = g.inline(rlx.grad_with_loss(loss_graph(size, batch), wrt=list(shapes)), d_output=1.0)
    square = g.full((), 0.0)
    for gradient in gradients:
        square = square + g.reduce_sum(gradient * gradient)
    shorter = g.min(CLIP * g.safe_rsqrt(square), 1.0)
    first_part = 1.0 - g.exp(step * float(np.log(BETA1)))
    second_part = 1.0 - g.exp(step * float(np.log(BETA2)))
    new: dict[str, Any] = {}
    for (name, shape), gradient in zip(shapes.items(), gradients, strict=True):
        w, first, second = weights[name], g.param(f"m_{name}", shape), g.param(f"v_{name}", shape)
        gradient = shorter * gradient
        first = BETA1 * first + (1 - BETA1) * gradient
        second = BETA2 * second + (1 - BETA2) * gradient * gradient
        move = (first / first_part) / (g.sqrt(second / second_part) + EPSILON)
        decay = 0.0 if len(shape) == 1 else DECAY
        new |= {name: w - rate * (move + decay * w), f"m_{name}": first, f"v_{name}": second}
    g.set_outputs(loss, donate=new)
    return g


def initial_weights(size: Size) -> Arrays:
    """Draw normal weights scaled by fan-in, from a fixed seed; gains are 1."""
    rng = np.random.default_rng(0)

    def draw(name: str, shape: tuple[int, ...]) -> np.ndarray:
        if len(shape) == 1:
            return np.ones(shape, np.float32)
        scale = 0.02 if name == "table" else shape[0] ** -0.5 / (1 + name.startswith(("o_w", "down_w")))
        return (scale * rng.standard_normal(shape)).astype(np.float32)

    return {name: draw(name, shape) for name, shape in size.shapes.items()}


def rate_at(step: int, steps: int) -> float:
    """Return the learning rate: linear warmup to RATE, then a cosine decay to a tenth of it."""
    if step <= WARM_UP:
        return RATE * step / WARM_UP
    along = (step - WARM_UP) / max(1, steps - WARM_UP)
    return RATE * (0.55 + 0.45 * float(np.cos(np.pi * along)))


def pieces(ids: np.ndarray, starts: np.ndarray, length: int) -> dict[str, np.ndarray]:
    """Return windows of the text, and the next character at each position."""
    rows = ids[starts[:, None] + np.arange(length + 1)]
    return {"ids": np.ascontiguousarray(rows[:, :-1]), "following": np.ascontiguousarray(rows[:, 1:])}


def train(ids: np.ndarray, size: Size, steps: int, batch: int = BATCH) -> tuple[Any, list[tuple[int, float, float]]]:
    """Train for some steps; return the weights and a curve of (step, training loss, validation loss)."""
    weights = rlx.Weights(initial_weights(size))
    step = rlx.compile(training_graph(size, batch), weights=weights)
    judge = rlx.compile(loss_graph(size, batch), weights=weights)
    for name, shape in size.shapes.items():
        weights[f"m_{name}"] = weights[f"v_{name}"] = np.zeros(shape, np.float32)
    print(f"a step in {step.arena_bytes / 1e6:.1f} MB besides {weights.nbytes / 1e6:.1f} MB of weights and moments")
    split = int(len(ids) * (1 - HELD_OUT))
    seen, held = ids[:split], ids[split:]
    tests = np.arange(0, len(held) - size.length - 1, size.length)
    tests = tests[: len(tests) // batch * batch].reshape(-1, batch)
    rng, curve, recent = np.random.default_rng(1), list[tuple[int, float, float]](), list[float]()
    begin = time.perf_counter()
    for n in range(1, steps + 1):
        part = pieces(seen, rng.integers(0, len(seen) - size.length - 1, batch), size.length)
        recent.append(float(step(**part, rate=rate_at(n, steps), step=float(n))[0]))
        if n % max(1, steps // 8) == 0 or n == steps:
            judged = float(np.mean([judge(**pieces(held, row, size.length))[0] for row in tests]))
            curve.append((n, float(np.mean(recent)), judged))
            took = time.perf_counter() - begin
            print(f"step {n:5}: loss {curve[-1][1]:.3f}, validation {judged:.3f} nats per character, {took:.0f} s")
            recent.clear()
    return weights, curve


def drawn(curve: list[tuple[int, float, float]], width: int = 60) -> str:
    """Draw the validation loss as a bar chart in text."""
    most = max(loss for _, _, loss in curve)
    return "\n".join(f"{n:6} {'#' * round(width * loss / most)} {loss:.3f}" for n, _, loss in curve)


def sample(weights: Mapping[str, np.ndarray], size: Size, alphabet: list[str], beginning: str, count: int) -> str:
    """Continue the given text with characters sampled one by one, from a fixed seed."""
    predict, rng = rlx.compile(model(size, 1)), np.random.default_rng(2)
    predict.weights.update({name: weights[name] for name in size.shapes})
    ids = [alphabet.index(character) for character in beginning]
    for _ in range(count):
        last = ids[-size.length :]
        row = np.zeros((1, size.length), np.int32)
        row[0, : len(last)] = last
        logits = predict(ids=row)[0][0, len(last) - 1].astype(np.float64)
        chances = np.exp((logits - logits.max()) / TEMPERATURE)
        ids.append(int(rng.choice(len(alphabet), p=chances / chances.sum())))
    return "".join(alphabet[n] for n in ids)


def main() -> int:
    """Train, report, print a curve and a sample; return status 1 if the loss is too high."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=STEPS)
    steps = parser.parse_args().steps
    text = load_text()
    alphabet = sorted(set(text))
    size = Size(len(alphabet))
    number = {character: n for n, character in enumerate(alphabet)}
    ids = np.array([number[character] for character in text], np.int32)
    count = sum(int(np.prod(shape)) for shape in size.shapes.values())
    print(f"{len(text)} characters of {len(alphabet)} kinds; {size.depth} Llama blocks, {count} weights")
    weights, curve = train(ids, size, steps)
    print(drawn(curve))
    print(sample(weights, size, alphabet, "The ", 500))
    return 0 if steps < STEPS or curve[-1][2] < 1.9 else 1


if __name__ == "__main__":
    sys.exit(main())
