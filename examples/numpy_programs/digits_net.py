"""Classify handwritten digits with two tanh layers and a softmax.

With `z = model(x)` the loss is the mean of `ln sum_c e^(z_c) - z_label` plus L2 regularisation of all weights.
"""

from itertools import pairwise

import numpy as np

import xdsl_rlx as rlx

DECAY = 1e-4


def initial(rng, sizes):
    return [(rng.standard_normal((m, n)) / np.sqrt(m), np.zeros(n)) for m, n in pairwise(sizes)]


def logsumexp(z):
    top = z.max(axis=1, keepdims=True)
    return top + np.log(np.sum(np.exp(z - top), axis=1, keepdims=True))


def log_probabilities(params, images):
    *hidden, (w, b) = params
    x = images
    for weights, bias in hidden:
        x = np.tanh(np.dot(x, weights) + bias)
    z = np.dot(x, w) + b
    return z - logsumexp(z)


def loss(params, images, labels):
    logs = log_probabilities(params, images)
    squares = sum(np.sum(w**2) for w, _ in params)
    return DECAY * squares - np.mean(logs[np.arange(len(labels)), labels])


def data():
    """Load scikit-learn's 1,797 images of 8 by 8 pixels; the last 360 are the test set."""
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    return images / 16, labels


def example():
    images, labels = data()
    return initial(np.random.default_rng(0), (64, 20, 10)), images[:30], labels[:30]


def main():
    images, labels = data()
    rng = np.random.default_rng(0)
    params = initial(rng, (64, 64, 32, 10))
    moved = [(np.zeros_like(w), np.zeros_like(b)) for w, b in params]
    gradient = rlx.grad(loss)
    for _ in range(20):
        for batch in np.split(rng.permutation(1400), 20):
            grads = gradient(params, images[batch], labels[batch])
            moved = [(0.9 * u - 0.1 * dw, 0.9 * v - 0.1 * db) for (u, v), (dw, db) in zip(moved, grads, strict=True)]
            params = [(w + u, b + v) for (w, b), (u, v) in zip(params, moved, strict=True)]
    found = log_probabilities(params, images[1437:]).argmax(axis=1)
    print(f"accuracy on 360 other images: {100 * np.mean(found == labels[1437:]):.1f} %")


if __name__ == "__main__":
    main()
