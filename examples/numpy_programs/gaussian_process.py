"""Fit a Gaussian process regression by maximising the marginal likelihood.

With `K = a^2 e^(-d^2/2 l^2) + s^2 1` of the points, the log marginal likelihood is `-y K^-1 y / 2 - ln |K| / 2 - n/2 ln
2 pi`. The parameters are the mean and the logarithms of `a`, `l` and `s`.
"""

import numpy as np
from scipy.optimize import minimize

import xdsl_rlx as rlx


def kernel(theta, x, others):
    apart = (x[:, None, :] - others[None, :, :]) / np.exp(theta[1])
    return np.exp(2 * theta[0] - 0.5 * np.sum(apart**2, axis=-1))


def covariance(theta, x):
    return kernel(theta, x, x) + (np.exp(2 * theta[2]) + 1e-6) * np.eye(len(x))


def loss(theta, x, y):
    """Compute the loss from the Cholesky factor, whose diagonal gives the determinant."""
    factor = np.linalg.cholesky(covariance(theta, x))
    whitened = np.linalg.solve(factor, y - theta[3])
    log_determinant = 2 * np.sum(np.log(np.diag(factor)))
    return 0.5 * (np.dot(whitened, whitened) + log_determinant + len(y) * np.log(2 * np.pi))


def loss_by_determinant(theta, x, y):
    """Compute the same loss with `solve` and `slogdet`."""
    whole = covariance(theta, x)
    sign, log_determinant = np.linalg.slogdet(2 * np.pi * whole)
    rest = y - theta[3]
    return 0.5 * (rest @ np.linalg.solve(whole, rest) + sign * log_determinant)


def predicted(theta, x, y, at):
    """Return the posterior mean and standard deviation at other points."""
    both = kernel(theta, at, x)
    mean = theta[3] + both @ np.linalg.solve(covariance(theta, x), y - theta[3])
    less = np.sum(both * np.linalg.solve(covariance(theta, x), both.T).T, axis=1)
    return mean, np.sqrt(np.exp(2 * theta[0]) - less)


def data(count=40):
    rng = np.random.default_rng(6)
    x = np.sort(rng.uniform(0, 6, count))[:, None]
    return x, np.sin(2 * x[:, 0]) + 0.5 * x[:, 0] + 0.2 * rng.standard_normal(count)


def example():
    return np.array([0.2, -0.1, -1.0, 0.5]), *data(12)


def main():
    x, y = data()
    found = minimize(rlx.value_and_grad(loss), np.zeros(4), args=(x, y), jac=True, method="BFGS")
    a, length, noise = np.exp(found.x[:3])
    print(f"log likelihood {-found.fun:.3f}, by the determinant {-loss_by_determinant(found.x, x, y):.3f}")
    print(f"amplitude {a:.2f}, length {length:.2f}, noise {noise:.3f} (it was 0.2)")
    mean, deviation = predicted(found.x, x, y, np.array([[3.0], [9.0]]))
    print(f"at 3 and 9: {mean.round(2)} +- {deviation.round(2)}")


if __name__ == "__main__":
    main()
