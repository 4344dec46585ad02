"""Train a small convolutional network with dropout on handwritten digits, to 98 % test accuracy.

The model is a function, and its parameters are a tree that starts as a tree of shapes. Dropout takes a key from the
training state; without a key it returns its argument, so the same model serves for evaluation. The last batch of an
epoch is smaller. The settings were chosen by cross-validation on the training images.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
from digits import load_digits

import xdsl_rlx as rlx

EPOCHS, BATCH = 30, 64
RATE, DECAY, DROPOUT, SMOOTHING = 3e-3, 0.05, 0.5, 0.1
SHAPES = {
    "convolutions": [{"w": (32, 1, 3, 3), "b": (32,)}, {"w": (64, 32, 3, 3), "b": (64,)}],
    "dense": [{"w": (256, 128), "b": (128,)}, {"w": (128, 10), "b": (10,)}],
}


def model(params: Any, images: Any, key: Any = None) -> Any:
    """Return the logits of images [n, 1, 8, 8]: two convolutions with max pooling, then two dense layers."""
    x = images
    for layer in params["convolutions"]:
        x = rlx.pool(rlx.relu(rlx.conv(x, layer["w"], padding=1, bias=layer["b"])), "max", 2)
    hidden, last = params["dense"]
    x = rlx.relu(x.reshape(len(x), -1) @ hidden["w"] + hidden["b"])
    return rlx.dropout(x, DROPOUT, key) @ last["w"] + last["b"]


def loss(params: Any, images: Any, labels: Any, key: Any) -> Any:
    """Return the mean cross-entropy with label smoothing (Szegedy et al., 2016) of weight SMOOTHING."""
    logits = model(params, images, key)
    of_label, of_all = rlx.softmax_cross_entropy(logits, labels), -rlx.log_softmax(logits).mean(axis=1)
    return ((1 - SMOOTHING) * of_label + SMOOTHING * of_all).mean()


def step(state: Any, images: Any, labels: Any) -> Any:
    """Return the loss of a batch and the state after an AdamW step."""
    now, later = rlx.rng_split(state["key"], 2)
    value, gradients = rlx.value_and_grad(loss)(state["params"], images, labels, now)
    params, kept = optimiser.update(gradients, state["adamw"], state["params"])
    return value, {"params": params, "adamw": kept, "key": later}


def right(params: Any, images: Any, labels: Any) -> Any:
    """Count the images that are classified correctly."""
    return (model(params, images).argmax(axis=1) == labels).sum()


optimiser = rlx.optim.AdamW(
    rlx.optim.cosine(RATE, EPOCHS * 23), weight_decay=DECAY, decay_mask=lambda _, leaf: leaf.ndim > 1
)
train, count_right = rlx.compile(step, donate={"state": 1}), rlx.compile(right)


def initial_state() -> Any:
    """Draw weights with He initialisation (He et al., 2015); return the complete training state."""
    one, two = rlx.rng_split(rlx.key(0), 2)
    params = rlx.init.params(one, SHAPES)
    return {"params": params, "adamw": optimiser.init(params), "key": two}


def load_images() -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """Return images [n, 1, 8, 8] and labels for training and for testing, split as in digits.py."""
    seen, unseen = load_digits()
    return tuple((part["x"].reshape(-1, 1, 8, 8), part["labels"]) for part in (seen, unseen))


def main() -> int:
    """Train and report; return status 1 if the test accuracy is below 98 %."""
    seen, unseen = load_images()

    def accuracy(state: Any) -> str:
        return f"accuracy {count_right(state['params'], *unseen) / len(unseen[1]):.1%}"

    begin = time.perf_counter()
    state = rlx.fit(train, initial_state(), rlx.Batches(seen, BATCH, seed=1), EPOCHS, evaluate=accuracy)
    print(f"{EPOCHS} epochs of {len(seen[1])} images in {time.perf_counter() - begin:.1f} s")
    found = int(count_right(state["params"], *unseen))
    print(f"test accuracy: {found / len(unseen[1]):.1%}, {len(unseen[1]) - found} of {len(unseen[1])} wrong")
    return 0 if found >= 0.98 * len(unseen[1]) else 1


if __name__ == "__main__":
    sys.exit(main())
