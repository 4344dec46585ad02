"""Train a variational autoencoder on handwritten digits, with a two-dimensional latent code.

The encoder returns the mean `m` and the log standard deviation `l` of a normal distribution of latent codes. The
decoder returns the logits of the pixels from a code `z = m + e^l noise`. The loss is the negative evidence lower bound:
the cross-entropy of the pixels plus the KL divergence `(m^2 + e^(2 l) - 1)/2 - l` from the standard normal
distribution. The noise is an argument.
"""

from itertools import pairwise

import numpy as np

import xdsl_rlx as rlx

CODES = 2


def layers(rng, sizes):
    return [(rng.standard_normal((m, n)) / np.sqrt(m), np.zeros(n)) for m, n in pairwise(sizes)]


def initial(rng, width):
    return {"encoder": layers(rng, (64, width, 2 * CODES)), "decoder": layers(rng, (CODES, width, 64))}


def network(params, x):
    for w, b in params[:-1]:
        x = np.maximum(x @ w + b, 0)
    return x @ params[-1][0] + params[-1][1]


def loss(params, images, noise):
    found = network(params["encoder"], images)
    mean, log_deviation = found[:, :CODES], found[:, CODES:]
    logits = network(params["decoder"], mean + np.exp(log_deviation) * noise)
    cross_entropy = np.sum(np.logaddexp(0, logits) - images * logits, axis=-1)
    divergence = np.sum(0.5 * (mean**2 + np.exp(2 * log_deviation) - 1) - log_deviation, axis=-1)
    return np.mean(cross_entropy + divergence)


def images():
    from sklearn.datasets import load_digits

    return load_digits().data / 16


def example():
    rng = np.random.default_rng(0)
    return initial(rng, 10), images()[:8], rng.standard_normal((8, CODES))


def main():
    rng, pixels = np.random.default_rng(0), images()
    params, adam = initial(rng, 64), rlx.optim.Adam(3e-3)

    @rlx.compile
    def step(params, state, batch, noise):
        value, grads = rlx.value_and_grad(loss)(params, batch, noise)
        return value, *adam.update(grads, state, params)

    state = adam.init(params)
    for _ in range(1200):
        batch = pixels[rng.integers(len(pixels), size=100)]
        _, params, state = step(params, state, batch, rng.standard_normal((100, CODES)))
    print(f"loss of all images {loss(params, pixels, rng.standard_normal((len(pixels), CODES))):.2f} nats")
    drawn = 1 / (1 + np.exp(-network(params["decoder"], np.array([[-1.5, 0.0], [0.0, 0.0], [1.5, 0.0]]))))
    for row in drawn.reshape(3, 8, 8).swapaxes(0, 1):
        print("   ".join("".join(" .:-=+*#%@"[int(9.99 * pixel)] for pixel in line) for line in row))


if __name__ == "__main__":
    main()
