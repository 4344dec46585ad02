"""Minimise Rosenbrock's function with BFGS and with Newton-CG.

`f(x) = sum_i 100 (x_(i+1) - x_i^2)^2 + (1 - x_i)^2` has its minimum 0 at the vector of ones. BFGS uses the gradient.
Newton-CG also uses the Hessian-vector product, which costs little more than a gradient.
"""

import numpy as np
from scipy.optimize import minimize

import xdsl_rlx as rlx


def loss(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def example():
    return (np.linspace(-1.0, 1.5, 6),)


def main():
    start = np.linspace(-1.0, 1.5, 20)
    function, product = rlx.compile(rlx.value_and_grad(loss)), rlx.compile(rlx.hvp(loss))
    found = minimize(function, start, jac=True, method="BFGS")
    print(f"BFGS:      f = {found.fun:.1e} after {found.nfev} values and gradients")
    found = minimize(function, start, jac=True, hessp=lambda x, v: product((x,), v), method="Newton-CG")
    print(f"Newton-CG: f = {found.fun:.1e} after {found.nfev} values and gradients, {found.nhev} products")
    print(f"farthest from 1: {np.max(np.abs(found.x - 1)):.1e}")


if __name__ == "__main__":
    main()
