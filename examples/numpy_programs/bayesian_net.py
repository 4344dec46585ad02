"""Fit a Bayesian neural network by variational inference.

Each weight has a normal distribution. The evidence lower bound is `E[ln p(y | w) + ln p(w) - ln q(w)]` with `w = m +
e^s noise`. A few samples of the noise give a differentiable estimate (the reparametrisation trick of Kingma and
Welling, 2014). The noise is an argument.
"""

import numpy as np

import xdsl_rlx as rlx

SHAPES = [(1, 16), (16,), (16, 16), (16,), (16, 1), (1,)]
*ENDS, SIZE = np.cumsum([np.prod(shape) for shape in SHAPES])
NOISE = 0.1


def curves(weights, x):
    """Evaluate the networks with the weights `[draws, all]` at `x` `[points, 1]`; return `[draws, points]`."""
    parts = np.split(weights, ENDS, axis=1)
    w1, b1, w2, b2, w3, b3 = (part.reshape(len(weights), *shape) for part, shape in zip(parts, SHAPES, strict=True))
    hidden = np.tanh(x @ w1 + b1[:, None])
    hidden = np.tanh(hidden @ w2 + b2[:, None])
    return np.squeeze(hidden @ w3 + b3[:, None], axis=-1)


def log_normal(x, mean, log_deviation):
    return -0.5 * ((x - mean) / np.exp(log_deviation)) ** 2 - log_deviation - 0.5 * np.log(2 * np.pi)


def loss(params, x, y, noise):
    """Return the negative evidence lower bound for `noise` `[draws, weights]`."""
    mean, log_deviation = params
    weights = mean + np.exp(log_deviation) * noise
    likelihood = np.sum(log_normal(y, curves(weights, x), np.log(NOISE)), axis=1)
    prior = np.sum(log_normal(weights, 0.0, 0.0), axis=1)
    entropy = np.sum(log_deviation) + 0.5 * len(mean) * (1 + np.log(2 * np.pi))
    return -np.mean(likelihood + prior) - entropy


def initial(rng):
    return 0.5 * rng.standard_normal(SIZE), np.full(SIZE, -4.0)


def data():
    rng = np.random.default_rng(5)
    x = np.concatenate([np.linspace(-2, -0.5, 20), np.linspace(0.8, 2, 20)])[:, None]
    return x, np.sin(2 * x[:, 0]) + NOISE * rng.standard_normal(len(x))


def example():
    rng = np.random.default_rng(0)
    return initial(rng), *data(), rng.standard_normal((2, SIZE))


def main():
    rng, (x, y) = np.random.default_rng(0), data()
    params, adam = initial(rng), rlx.optim.Adam(rlx.optim.cosine(0.02, 1500))

    @rlx.compile
    def step(params, state, noise):
        value, grads = rlx.value_and_grad(loss)(params, x, y, noise)
        return value, *adam.update(grads, state, params)

    state = adam.init(params)
    for _ in range(1500):
        value, params, state = step(params, state, rng.standard_normal((5, SIZE)))
    draws = params[0] + np.exp(params[1]) * rng.standard_normal((200, SIZE))
    places = np.array([[-1.0], [0.15], [1.5], [4.0]])
    print(f"bound {-float(value):.1f}; curve and deviation at {places[:, 0]}:")
    print(curves(draws, places).mean(axis=0).round(2), curves(draws, places).std(axis=0).round(2))


if __name__ == "__main__":
    main()
