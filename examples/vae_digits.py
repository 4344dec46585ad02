"""Trains a variational autoencoder on handwritten digits (Kingma and Welling, 2014), and draws some of its own.

Random numbers come from keys: a step splits the key in its state, and draws from what it has split off. A pixel is the
number of ink dots among the 16 of its place, so its likelihood is binomial and the bound one on the data themselves.
"""

from __future__ import annotations

import os
import sys
import time
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
from digits import load_digits

import xdsl_rlx as rlx

HIDDEN, LATENT, DOTS = 256, 10, 16
PASSES, BATCH, RATE = 50, 32, 2e-3
OUTPUT = Path(__file__).resolve().parent.parent / "build" / "vae"
LOG_CHOICES = np.log([comb(DOTS, count) for count in range(DOTS + 1)]).astype(np.float32)
SHAPES = {
    "encoder": [{"w": (64, HIDDEN), "b": (HIDDEN,)}, {"w": (HIDDEN, 2 * LATENT), "b": (2 * LATENT,)}],
    "decoder": [{"w": (LATENT, HIDDEN), "b": (HIDDEN,)}, {"w": (HIDDEN, 64), "b": (64,)}],
}


def dense(layers: Any, x: Any) -> Any:
    """A layer with GELU and one without."""
    hidden, last = layers
    return rlx.gelu(x @ hidden["w"] + hidden["b"]) @ last["w"] + last["b"]


def bound(params: Any, counts: Any, key: Any) -> Any:
    """The mean evidence lower bound of images [n, 64] of integers, in nats, with one draw of each posterior."""
    mean, log_variance = np.split(dense(params["encoder"], counts.astype(np.float32) / DOTS), 2, axis=1)
    z = mean + np.exp(0.5 * log_variance) * rlx.rng_normal(key, mean.shape)
    logits = dense(params["decoder"], z)
    likelihood = (rlx.gather(LOG_CHOICES, counts) + counts * logits - DOTS * rlx.softplus(logits)).sum(axis=1)
    divergence = 0.5 * (mean**2 + np.exp(log_variance) - log_variance - 1).sum(axis=1)
    return (likelihood - divergence).mean()


def step(state: Any, counts: Any) -> Any:
    """The negative bound of a batch, and the state after a step of Adam."""
    now, later = rlx.rng_split(state["key"], 2)
    value, gradients = rlx.value_and_grad(lambda params: -bound(params, counts, now))(state["params"])
    params, kept = optimiser.update(gradients, state["adam"], state["params"])
    return value, {"params": params, "adam": kept, "key": later}


@rlx.compile
def draw(params: Any, keys: Any) -> Any:
    """An image [64] for each key, of numbers between 0 and 1: the decoder's mean for a latent from the prior."""
    return rlx.sigmoid(dense(params["decoder"], rlx.rng_normal(keys, (LATENT,))))


optimiser = rlx.optim.Adam(RATE)
train, judge = rlx.compile(step, donate={"state": 1}), rlx.compile(bound)


def initial_state() -> Any:
    """Weights by Glorot and Bengio (2010), and what else changes with a step."""
    one, two = rlx.rng_split(rlx.key(0), 2)
    params = rlx.init.params(one, SHAPES, rlx.init.glorot_uniform)
    return {"params": params, "adam": optimiser.init(params), "key": two}


def load_counts() -> tuple[np.ndarray, np.ndarray]:
    """Ink dots [n, 64] of the images for training and for the test, split as in digits.py."""
    return tuple(np.rint(DOTS * part["x"]).astype(np.int32) for part in load_digits())


def side_by_side(images: np.ndarray, columns: int) -> np.ndarray:
    """One picture of images [n, 64], in rows, with a rim of a pixel around each."""
    tiles = np.pad(images.reshape(-1, columns, 8, 8), ((0, 0), (0, 0), (1, 1), (1, 1)))
    return tiles.transpose(0, 2, 1, 3).reshape(-1, 10 * columns)


def write_picture(picture: np.ndarray) -> Path:
    """Write numbers between 0 and 1 as ink, each as a square."""
    from matplotlib.image import imsave

    OUTPUT.mkdir(parents=True, exist_ok=True)
    path = OUTPUT / "samples.png"
    imsave(path, picture.repeat(4, axis=0).repeat(4, axis=1), cmap="gray_r", vmin=0, vmax=1)
    return path


def main() -> int:
    """Train, print the bound on images that were not seen, draw; status 1 when it is not what it must be."""
    seen, unseen = load_counts()
    state, key = initial_state(), rlx.key(1)

    def unseen_bound(state: Any) -> float:
        return float(judge(state["params"], unseen, key))

    before, begin = unseen_bound(state), time.perf_counter()
    state = rlx.fit(
        train, state, rlx.Batches(seen, BATCH), PASSES, lambda state: f"bound, unseen {unseen_bound(state):.2f}"
    )
    after = unseen_bound(state)
    print(f"{PASSES} passes over {len(seen)} images in {time.perf_counter() - begin:.1f} s")
    print(f"evidence lower bound on {len(unseen)} unseen images, nats each: {before:.1f} before, {after:.1f} after")
    path = write_picture(side_by_side(draw(state["params"], rlx.rng_split(rlx.key(2), 96)), columns=16))
    print(f"samples: {os.path.relpath(path)}")
    return 0 if after > -140 else 1


if __name__ == "__main__":
    sys.exit(main())
