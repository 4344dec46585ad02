"""Train a variational autoencoder (Kingma and Welling, 2014) on handwritten digits, and generate digits with it.

Random numbers come from keys: each step splits the key in its state and draws from the new key. A pixel counts the ink
dots among 16, so its likelihood is binomial, and the bound is a bound on the likelihood of the data themselves.
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
EPOCHS, BATCH, RATE = 50, 32, 2e-3
OUTPUT = Path(__file__).resolve().parent.parent / "build" / "vae"
LOG_CHOICES = np.log([comb(DOTS, count) for count in range(DOTS + 1)]).astype(np.float32)
SHAPES = {
    "encoder": [{"w": (64, HIDDEN), "b": (HIDDEN,)}, {"w": (HIDDEN, 2 * LATENT), "b": (2 * LATENT,)}],
    "decoder": [{"w": (LATENT, HIDDEN), "b": (HIDDEN,)}, {"w": (HIDDEN, 64), "b": (64,)}],
}


def dense(layers: Any, x: Any) -> Any:
    """Apply a layer with GELU, then a linear layer."""
    hidden, last = layers
    return rlx.gelu(x @ hidden["w"] + hidden["b"]) @ last["w"] + last["b"]


def bound(params: Any, counts: Any, key: Any) -> Any:
    """Return the mean evidence lower bound of integer images [n, 64], in nats, with one sample of each posterior."""
    mean, log_variance = np.split(dense(params["encoder"], counts.astype(np.float32) / DOTS), 2, axis=1)
    z = mean + np.exp(0.5 * log_variance) * rlx.rng_normal(key, mean.shape)
    logits = dense(params["decoder"], z)
    likelihood = (rlx.gather(LOG_CHOICES, counts) + counts * logits - DOTS * rlx.softplus(logits)).sum(axis=1)
    divergence = 0.5 * (mean**2 + np.exp(log_variance) - log_variance - 1).sum(axis=1)
    return (likelihood - divergence).mean()


def step(state: Any, counts: Any) -> Any:
    """Return the negative bound of a batch and the state after an Adam step."""
    now, later = rlx.rng_split(state["key"], 2)
    value, gradients = rlx.value_and_grad(lambda params: -bound(params, counts, now))(state["params"])
    params, kept = optimiser.update(gradients, state["adam"], state["params"])
    return value, {"params": params, "adam": kept, "key": later}


@rlx.compile
def draw(params: Any, keys: Any) -> Any:
    """Return one image [64] in [0, 1] per key: the decoder mean for a latent drawn from the prior."""
    return rlx.sigmoid(dense(params["decoder"], rlx.rng_normal(keys, (LATENT,))))


optimiser = rlx.optim.Adam(RATE)
train, judge = rlx.compile(step, donate={"state": 1}), rlx.compile(bound)


def initial_state() -> Any:
    """Draw weights with Glorot initialisation (Glorot and Bengio, 2010); return the training state."""
    one, two = rlx.rng_split(rlx.key(0), 2)
    params = rlx.init.params(one, SHAPES, rlx.init.glorot_uniform)
    return {"params": params, "adam": optimiser.init(params), "key": two}


def load_counts() -> tuple[np.ndarray, np.ndarray]:
    """Return ink dots [n, 64] of the images for training and for testing, split as in digits.py."""
    return tuple(np.rint(DOTS * part["x"]).astype(np.int32) for part in load_digits())


def side_by_side(images: np.ndarray, columns: int) -> np.ndarray:
    """Arrange images [n, 64] in a grid with a border of one pixel."""
    tiles = np.pad(images.reshape(-1, columns, 8, 8), ((0, 0), (0, 0), (1, 1), (1, 1)))
    return tiles.transpose(0, 2, 1, 3).reshape(-1, 10 * columns)


def write_picture(picture: np.ndarray) -> Path:
    """Write a grayscale image of values in [0, 1], each pixel as a square."""
    from matplotlib.image import imsave

    OUTPUT.mkdir(parents=True, exist_ok=True)
    path = OUTPUT / "samples.png"
    imsave(path, picture.repeat(4, axis=0).repeat(4, axis=1), cmap="gray_r", vmin=0, vmax=1)
    return path


def main() -> int:
    """Train, print the test bound and generate digits; return status 1 if the bound is too low."""
    seen, unseen = load_counts()
    state, key = initial_state(), rlx.key(1)

    def unseen_bound(state: Any) -> float:
        return float(judge(state["params"], unseen, key))

    before, begin = unseen_bound(state), time.perf_counter()
    state = rlx.fit(
        train, state, rlx.Batches(seen, BATCH), EPOCHS, lambda state: f"bound, unseen {unseen_bound(state):.2f}"
    )
    after = unseen_bound(state)
    print(f"{EPOCHS} epochs of {len(seen)} images in {time.perf_counter() - begin:.1f} s")
    print(f"evidence lower bound on {len(unseen)} unseen images, nats each: {before:.1f} before, {after:.1f} after")
    path = write_picture(side_by_side(draw(state["params"], rlx.rng_split(rlx.key(2), 96)), columns=16))
    print(f"samples: {os.path.relpath(path)}")
    return 0 if after > -140 else 1


if __name__ == "__main__":
    sys.exit(main())
