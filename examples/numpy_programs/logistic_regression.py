"""Fit a linear and a logistic regression by gradient descent.

The logistic loss of points with labels 0 and 1 is the mean of `ln(1 + e^(-s m))`, with the margin `m = x w + b` and the
sign `s` of the label. The linear loss is the mean squared error; its minimum also solves the normal equations.
"""

import numpy as np

import xdsl_rlx as rlx


def linear_loss(params, x, y):
    w, b = params
    return np.mean((np.dot(x, w) + b - y) ** 2)


def probability(params, x):
    w, b = params
    return 0.5 * (np.tanh(0.5 * (np.dot(x, w) + b)) + 1)


def loss(params, x, labels):
    w, b = params
    margins = np.where(labels == 1, 1.0, -1.0) * (np.dot(x, w) + b)
    return np.mean(np.maximum(-margins, 0) + np.log1p(np.exp(-np.abs(margins)))) + 1e-3 * np.dot(w, w)


def data(count=200):
    rng = np.random.default_rng(4)
    x = rng.standard_normal((count, 3))
    y = x @ [1.5, -2.0, 0.5] + 0.7 + 0.5 * rng.standard_normal(count)
    return x, y, (y > 0).astype(int)


def example():
    x, _, labels = data(40)
    return (np.array([0.3, -0.1, 0.2]), 0.1), x, labels


def descended(gradient, params, *given, rate=0.5, steps=300):
    for _ in range(steps):
        params = tuple(one - rate * slope for one, slope in zip(params, gradient(params, *given), strict=True))
    return params


def main():
    x, y, labels = data()
    w, b = descended(rlx.grad(linear_loss), (np.zeros(3), 0.0), x, y, rate=0.2)
    exact = np.linalg.lstsq(np.column_stack([x, np.ones(len(x))]), y, rcond=None)[0]
    print(f"linear: {np.append(w, b).round(4)}, by the normal equations {exact.round(4)}")
    params = descended(rlx.grad(loss), (np.zeros(3), 0.0), x, labels)
    right = np.mean((probability(params, x) > 0.5) == labels)
    print(f"logistic: loss {loss(params, x, labels):.4f}, {100 * right:.1f} % on the right side")


if __name__ == "__main__":
    main()
