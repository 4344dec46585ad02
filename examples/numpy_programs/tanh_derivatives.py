"""Differentiate a hand-written hyperbolic tangent up to the fifth derivative.

Each derivative is the gradient of the sum of the one before. Since `t' = 1 - t^2`, the derivatives are polynomials in
`t`.
"""

import numpy as np

import xdsl_rlx as rlx


def tanh(x):
    decayed = np.exp(-2 * x)
    return (1.0 - decayed) / (1.0 + decayed)


def loss(x):
    return np.sum(tanh(x))


def derivative(function):
    return rlx.grad(lambda x: np.sum(function(x)))


def polynomials(order):
    """Return the coefficients of the derivatives as polynomials in `t`, highest power first."""
    found = [np.poly1d([1.0, 0.0])]
    for _ in range(order):
        found.append(found[-1].deriv() * np.poly1d([-1.0, 0.0, 1.0]))
    return found


def example():
    return (np.linspace(-3, 3, 7),)


def main():
    x = np.linspace(-3, 3, 200)
    function = tanh
    for order, polynomial in enumerate(polynomials(5)):
        error = np.max(np.abs(function(x) - polynomial(np.tanh(x))))
        print(f"derivative {order}: largest {np.max(np.abs(function(x))):8.4f}, error {error:.1e}")
        function = derivative(function)


if __name__ == "__main__":
    main()
