"""Approximate an unnormalised density by a normal distribution: black-box variational inference.

The density is a funnel, `x ~ N(0, e^(2 s))` with `s ~ N(0, 1.35^2)`. The bound `E[ln p(z)] + entropy` with `z = m + e^l
noise` needs only the log density at some points. The noise is an argument.
"""

import numpy as np

import xdsl_rlx as rlx


def log_normal(x, log_deviation):
    return -0.5 * (x * np.exp(-log_deviation)) ** 2 - log_deviation - 0.5 * np.log(2 * np.pi)


def log_density(z):
    x, s = z[:, 0], z[:, 1]
    return log_normal(s, np.log(1.35)) + log_normal(x, s)


def loss(params, noise):
    mean, log_deviation = params[:2], params[2:]
    samples = noise * np.exp(log_deviation) + mean
    entropy = np.sum(log_deviation) + 0.5 * len(mean) * (1.0 + np.log(2 * np.pi))
    return -(entropy + np.mean(log_density(samples)))


def example():
    return np.array([0.3, -0.5, -1.0, -0.5]), np.random.default_rng(0).standard_normal((6, 2))


def main():
    rng, params = np.random.default_rng(1), np.array([-1.0, -1.0, -3.0, -3.0])
    adam, gradient = rlx.optim.Adam(0.05), rlx.compile(rlx.grad(loss))
    state = adam.init(params)
    for _ in range(600):
        params, state = adam.update(gradient(params, rng.standard_normal((200, 2))), state, params)
    bound = -loss(params, rng.standard_normal((100_000, 2)))
    print(f"mean {params[:2].round(2)}, deviation {np.exp(params[2:]).round(2)}, bound {bound:.3f} of at most 0")


if __name__ == "__main__":
    main()
