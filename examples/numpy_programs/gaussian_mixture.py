"""Fit a mixture of normal distributions by its gradient.

Component `k` has the log density `ln w_k + ln |det P_k| - |P_k (x - m_k)|^2 / 2 - d/2 ln 2 pi`. `P_k` is lower
triangular with an exponential on the diagonal, so the parameters are unconstrained.
"""

import numpy as np
from scipy.optimize import minimize

import xdsl_rlx as rlx

COMPONENTS, DIMENSIONS = 3, 2
SIZES = (COMPONENTS, COMPONENTS * DIMENSIONS, COMPONENTS * DIMENSIONS * DIMENSIONS)
ENDS = np.cumsum(SIZES)[:-1]


def unpacked(theta):
    logits, means, factors = np.split(theta, ENDS)
    factors = factors.reshape(COMPONENTS, DIMENSIONS, DIMENSIONS)
    logs = np.diagonal(factors, axis1=1, axis2=2)
    factors = np.tril(factors, -1) + np.exp(logs)[:, :, None] * np.eye(DIMENSIONS)
    return logits, means.reshape(COMPONENTS, DIMENSIONS), factors, logs


def logsumexp(x, axis):
    top = np.max(x, axis=axis, keepdims=True)
    return np.squeeze(top, axis) + np.log(np.sum(np.exp(x - top), axis=axis))


def log_densities(theta, points):
    """Return the log density of each component at each point: `[points, components]`."""
    logits, means, factors, logs = unpacked(theta)
    apart = points[:, None, :] - means
    turned = np.einsum("kij,nkj->nki", factors, apart)
    constant = logits - logsumexp(logits, 0) + logs.sum(axis=1) - 0.5 * DIMENSIONS * np.log(2 * np.pi)
    return constant - 0.5 * np.sum(turned**2, axis=2)


def loss(theta, points):
    return -np.mean(logsumexp(log_densities(theta, points), 1))


def data(count=150):
    """Generate points of a pinwheel with three arms."""
    rng = np.random.default_rng(2)
    arms = np.repeat(np.arange(3), count // 3)
    along, across = rng.normal(1, 0.3, len(arms)), rng.normal(0, 0.06, len(arms))
    angle = 2 * np.pi * arms / 3 + 0.3 * along
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return np.einsum("ijn,jn->ni", turn, np.array([along, across]))


def initial():
    return np.random.default_rng(3).normal(0, 0.5, sum(SIZES))


def example():
    return initial(), data(30)


def main():
    points = data(600)
    found = minimize(rlx.value_and_grad(loss), initial(), args=(points,), jac=True, method="L-BFGS-B")
    weights = np.exp(unpacked(found.x)[0])
    print(f"mean log density {-found.fun:.3f} after {found.nit} steps")
    print(f"weights {np.sort(weights / weights.sum()).round(2)}")


if __name__ == "__main__":
    main()
