"""Estimate the rates of a predator-prey equation from counts of hares and lynxes.

The equation is `x' = a x - b x y`, `y' = d x y - c y` (Lotka and Volterra). In logarithms it is `u' = a - b e^v`, `v' =
d e^u - c`. Each variable changes with the other one alone, so leapfrog steps are explicit, of second order, and keep
orbits closed. The counts are those of the Hudson's Bay Company from 1900 to 1918, in thousands of pelts, with
proportional errors. The rates and initial counts are positive, so the parameters are logarithms.
"""

import numpy as np
from scipy.optimize import minimize

import xdsl_rlx as rlx

HARES = [30, 47.2, 70.2, 77.4, 36.3, 20.6, 18.1, 21.4, 22, 25.4, 27.1, 40.3, 57, 76.6, 52.3, 19.5, 11.2, 7.6, 14.6]
LYNXES = [4, 6.1, 9.8, 35.2, 59.4, 41.7, 19, 13, 8.3, 9.1, 7.4, 8, 12.3, 19.5, 45.7, 51.1, 29.7, 15.8, 9.7]
STEPS = 5
"""Integration steps per year."""


def followed(theta, years):
    """Integrate the equation; return the logarithms of both counts in each year: `[years, 2]`."""
    a, b, c, d = np.exp(theta[:4])
    u, v = theta[4:]
    step = 1 / STEPS
    found = [np.stack([u, v])]
    for _ in range(years - 1):
        for _ in range(STEPS):
            u = u + step / 2 * (a - b * np.exp(v))
            v = v + step * (d * np.exp(u) - c)
            u = u + step / 2 * (a - b * np.exp(v))
        found.append(np.stack([u, v]))
    return np.stack(found)


def loss(theta, counted):
    return np.mean((followed(theta, len(counted)) - np.log(counted)) ** 2)


def initial():
    return np.log([0.5, 0.02, 0.8, 0.02, 30.0, 5.0])


def example():
    return initial(), np.column_stack([HARES, LYNXES])[:4]


def main():
    counted = np.column_stack([HARES, LYNXES])
    found = minimize(rlx.value_and_grad(loss), initial(), args=(counted,), jac=True, method="BFGS")
    a, b, c, d = np.exp(found.x[:4])
    print(f"x' = {a:.3f} x - {b:.4f} x y,  y' = {d:.4f} x y - {c:.3f} y")
    print(f"a count is off by a factor of {np.exp(np.sqrt(found.fun)):.2f}")


if __name__ == "__main__":
    main()
