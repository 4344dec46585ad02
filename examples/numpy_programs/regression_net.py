"""Fit a curve to noisy points with a network of two layers of 16 units, by Adam.

The loss is the negative log posterior, with normal noise around the curve and a normal prior of the weights.
"""

from itertools import pairwise

import numpy as np

import xdsl_rlx as rlx

NOISE = 0.1


def initial(rng, sizes):
    return [
        {"w": rng.standard_normal((m, n)) / np.sqrt(m), "b": 0.1 * rng.standard_normal(n)} for m, n in pairwise(sizes)
    ]


def curve(params, x):
    for layer in params[:-1]:
        x = np.tanh(x @ layer["w"] + layer["b"])
    return (x @ params[-1]["w"] + params[-1]["b"]).squeeze(axis=1)


def log_normal(x, mean, deviation):
    return -0.5 * ((x - mean) / deviation) ** 2 - np.log(np.sqrt(2 * np.pi) * deviation)


def loss(params, x, y):
    prior = sum(log_normal(one, 0.0, 1.0).sum() for layer in params for one in layer.values())
    likelihood = log_normal(y, curve(params, x), NOISE).sum()
    return -(prior + likelihood) / len(y)


def data(count=80):
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.uniform(0, 2, count // 2), rng.uniform(4, 8, count // 2)]).reshape(-1, 1) / 2 - 2
    return x, np.cos(2 * x[:, 0]) * np.exp(-0.2 * x[:, 0]) + NOISE * rng.standard_normal(count)


def example():
    return initial(np.random.default_rng(0), (1, 8, 8, 1)), *data(12)


def main():
    x, y = data()
    params = initial(np.random.default_rng(0), (1, 16, 16, 1))
    adam = rlx.optim.Adam(0.01)

    @rlx.compile
    def step(params, state, x, y):
        value, grads = rlx.value_and_grad(loss)(params, x, y)
        return value, *adam.update(grads, state, params)

    state = adam.init(params)
    for _ in range(2000):
        value, params, state = step(params, state, x, y)
    print(f"loss {value:.3f}, root mean square distance {np.sqrt(np.mean((curve(params, x) - y) ** 2)):.3f}")


if __name__ == "__main__":
    main()
