"""Trains a small convolutional network on handwritten digits, with dropout, to 98 % of those it has not seen.

A model is a function, its parameters a tree that begins as a tree of shapes. Dropout takes a key, which is a part of
the state of training; without one it does nothing, so the same model is judged. The last batch of a pass is smaller.
Settings were chosen by cross-validation within the images for training.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
from digits import load_digits

import xdsl_rlx as rlx

PASSES, BATCH = 30, 64
RATE, DECAY, DROPOUT, SMOOTHING = 3e-3, 0.05, 0.5, 0.1
SHAPES = {
    "convolutions": [{"w": (32, 1, 3, 3), "b": (32,)}, {"w": (64, 32, 3, 3), "b": (64,)}],
    "dense": [{"w": (256, 128), "b": (128,)}, {"w": (128, 10), "b": (10,)}],
}


def model(params: Any, images: Any, key: Any = None) -> Any:
    """Logits of images [n, 1, 8, 8]: two convolutions, each with a pool behind it, and two dense layers."""
    x = images
    for layer in params["convolutions"]:
        x = rlx.pool(rlx.relu(rlx.conv(x, layer["w"], padding=1, bias=layer["b"])), "max", 2)
    hidden, last = params["dense"]
    x = rlx.relu(x.reshape(len(x), -1) @ hidden["w"] + hidden["b"])
    return rlx.dropout(x, DROPOUT, key) @ last["w"] + last["b"]


def loss(params: Any, images: Any, labels: Any, key: Any) -> Any:
    """The mean cross-entropy, labels smoothed (Szegedy et al., 2016): of each, SMOOTHING is shared by all digits."""
    logits = model(params, images, key)
    of_label, of_all = rlx.softmax_cross_entropy(logits, labels), -rlx.log_softmax(logits).mean(axis=1)
    return ((1 - SMOOTHING) * of_label + SMOOTHING * of_all).mean()


def step(state: Any, images: Any, labels: Any) -> Any:
    """The loss of a batch, and the state after a step of AdamW."""
    now, later = rlx.rng_split(state["key"], 2)
    value, gradients = rlx.value_and_grad(loss)(state["params"], images, labels, now)
    params, kept = optimiser.update(gradients, state["adamw"], state["params"])
    return value, {"params": params, "adamw": kept, "key": later}


def right(params: Any, images: Any, labels: Any) -> Any:
    """How many images are recognised."""
    return (model(params, images).argmax(axis=1) == labels).sum()


optimiser = rlx.optim.AdamW(
    rlx.optim.cosine(RATE, PASSES * 23), weight_decay=DECAY, decay_mask=lambda _, leaf: leaf.ndim > 1
)
train, count_right = rlx.compile(step, donate={"state": 1}), rlx.compile(right)


def initial_state() -> Any:
    """Weights as He et al. (2015) draw them, and what else changes with a step."""
    one, two = rlx.rng_split(rlx.key(0), 2)
    params = rlx.init.params(one, SHAPES)
    return {"params": params, "adamw": optimiser.init(params), "key": two}


def load_images() -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """Images [n, 1, 8, 8] and labels, for training and for the test, split as in digits.py."""
    seen, unseen = load_digits()
    return tuple((part["x"].reshape(-1, 1, 8, 8), part["labels"]) for part in (seen, unseen))


def main() -> int:
    """Train and report; status 1 when fewer than 98 % are recognised."""
    seen, unseen = load_images()

    def accuracy(state: Any) -> str:
        return f"accuracy {count_right(state['params'], *unseen) / len(unseen[1]):.1%}"

    begin = time.perf_counter()
    state = rlx.fit(train, initial_state(), rlx.Batches(seen, BATCH, seed=1), PASSES, evaluate=accuracy)
    print(f"{PASSES} passes over {len(seen[1])} images in {time.perf_counter() - begin:.1f} s")
    found = int(count_right(state["params"], *unseen))
    print(f"test accuracy: {found / len(unseen[1]):.1%}, {len(unseen[1]) - found} of {len(unseen[1])} wrong")
    return 0 if found >= 0.98 * len(unseen[1]) else 1


if __name__ == "__main__":
    sys.exit(main())
