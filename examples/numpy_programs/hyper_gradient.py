"""Optimise a schedule of learning rates by differentiating through training.

A logistic regression is trained by `w -> w + v`, `v -> m v - r_t dL/dw` for a few steps. The loss on held-out points is
a function of the logarithms of all `r_t` and of the initial weights. Its gradient passes through all steps, and so
through the gradients in them (Maclaurin et al., 2015).
"""

import numpy as np

import xdsl_rlx as rlx

STEPS, MOMENTUM = 8, 0.7


def training_loss(w, x, labels):
    return np.mean(np.logaddexp(0, -labels * (x @ w))) + 1e-3 * np.sum(w**2)


def trained(log_rates, w, x, labels, gradient):
    v = np.zeros_like(w)
    for log_rate in log_rates:
        v = MOMENTUM * v - np.exp(log_rate) * gradient(w, x, labels)
        w = w + v
    return w


def loss(log_rates, w, training, validation):
    """Return the loss on held-out points after training."""
    return training_loss(trained(log_rates, w, *training, rlx.grad(training_loss)), *validation)


def data(count, seed):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((count, 5)) * [1, 2, 0.5, 1, 1]
    return x, np.where(x @ [1.0, -0.5, 2.0, 0.0, 0.5] + 0.3 * rng.standard_normal(count) > 0, 1.0, -1.0)


def example():
    return np.linspace(-1.0, -2.0, 3), np.zeros(5), data(20, 0), data(10, 1)


def main():
    log_rates, w = np.full(STEPS, -2.0), np.zeros(5)
    given = w, data(200, 0), data(200, 1)
    function = rlx.compile(rlx.value_and_grad(loss))
    before = function(log_rates, *given)[0]
    adam = rlx.optim.Adam(0.1)
    state = adam.init(log_rates)
    for _ in range(100):
        value, slopes = function(log_rates, *given)
        log_rates, state = adam.update(slopes, state, log_rates)
    print(f"loss on other points after {STEPS} steps: from {before:.4f} to {value:.4f}")
    print(f"rates {np.exp(log_rates).round(2)}")


if __name__ == "__main__":
    main()
