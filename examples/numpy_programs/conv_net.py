"""Classify handwritten digits with a convolutional network, written with windows and einsum.

A convolution is `y[n, o, i, j] = sum_(c, p, q) x[n, c, i + p, j + q] w[o, c, p, q]`: `sliding_window_view` of the
image, then `np.einsum`.
"""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

import xdsl_rlx as rlx


def convolution(images, weights):
    windows = sliding_window_view(images, weights.shape[2:], axis=(2, 3))
    return np.einsum("ncijpq,ocpq->noij", windows, weights)


def pooled(images):
    """Return the 2x2 max pooling of the images."""
    n, c, h, w = images.shape
    return images.reshape(n, c, h // 2, 2, w // 2, 2).max(axis=(3, 5))


def model(params, images):
    x = np.pad(images[:, None], ((0, 0), (0, 0), (1, 1), (1, 1)))
    x = pooled(np.tanh(convolution(x, params["first"]) + params["first_bias"][:, None, None]))
    x = np.tanh(convolution(x, params["second"]) + params["second_bias"][:, None, None])
    return x.reshape(len(x), -1) @ params["last"] + params["last_bias"]


def loss(params, images, labels):
    z = model(params, images)
    return np.mean(np.logaddexp.reduce(z, axis=1) - np.take_along_axis(z, labels[:, None], axis=1)[:, 0])


def initial(rng, channels):
    return {
        "first": rng.standard_normal((channels, 1, 3, 3)) / 3,
        "first_bias": np.zeros(channels),
        "second": rng.standard_normal((2 * channels, channels, 3, 3)) / (3 * np.sqrt(channels)),
        "second_bias": np.zeros(2 * channels),
        "last": rng.standard_normal((8 * channels, 10)) / np.sqrt(8 * channels),
        "last_bias": np.zeros(10),
    }


def data():
    """Load scikit-learn's 1,797 images of 8 by 8 pixels; the last 360 are the test set."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    return digits.images / 16, digits.target


def example():
    images, labels = data()
    return initial(np.random.default_rng(0), 3), images[:6], labels[:6]


def main():
    images, labels = data()
    rng = np.random.default_rng(0)
    params, adam = initial(rng, 16), rlx.optim.Adam(3e-3)

    @rlx.compile
    def step(params, state, images, labels):
        value, grads = rlx.value_and_grad(loss)(params, images, labels)
        return value, *adam.update(grads, state, params)

    state = adam.init(params)
    for _ in range(8):
        for batch in np.split(rng.permutation(1400), 14):
            value, params, state = step(params, state, images[batch], labels[batch])
    right = np.mean(model(params, images[1437:]).argmax(axis=1) == labels[1437:])
    print(f"loss {float(value):.3f}; accuracy on 360 other images {100 * right:.1f} %")


if __name__ == "__main__":
    main()
