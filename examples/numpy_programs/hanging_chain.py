"""Compute the rest position of a chain that hangs between two nails, by minimising its energy.

The energy is `m g` times the height of each mass, plus `k/2` times the squared extension of each stretched link. A
chain of length `l` between nails at distance 1 is close to `y = a cosh((x - 1/2)/a) - a cosh(1/2a)`, the catenary with
`2 a sinh(1/2a) = l`.
"""

import numpy as np
from scipy.optimize import brentq, minimize

import xdsl_rlx as rlx

LINKS, LENGTH, STIFFNESS = 24, 1.5, 5e4
ENDS = np.array([[0.0, 0.0], [1.0, 0.0]])


def loss(inside):
    """Return the energy; the argument is the positions of all masses as one vector."""
    places = np.vstack([ENDS[:1], np.reshape(inside, (-1, 2)), ENDS[1:]])
    steps = np.diff(places, axis=0)
    stretched = np.sqrt(np.sum(steps**2, axis=1)) - LENGTH / len(steps)
    return 9.81 * np.sum(places[:, 1]) / len(steps) + 0.5 * STIFFNESS * np.sum(stretched**2)


def initial(links):
    x = np.linspace(0, 1, links + 1)[1:-1]
    return np.column_stack([x, -2.0 * x * (1 - x)]).ravel()


def example():
    return (initial(6),)


def main():
    function, product = rlx.compile(rlx.value_and_grad(loss)), rlx.compile(rlx.hvp(loss))
    found = minimize(
        function,
        initial(LINKS),
        jac=True,
        hessp=lambda x, v: product((x,), v),
        method="trust-ncg",
        options={"gtol": 1e-4},
    )
    x, y = found.x.reshape(-1, 2).T
    a = brentq(lambda a: 2 * a * np.sinh(0.5 / a) - LENGTH, 0.1, 10)
    catenary = a * np.cosh((x - 0.5) / a) - a * np.cosh(0.5 / a)
    print(f"energy {found.fun:.5f} after {found.nit} steps, lowest at {y.min():.4f}")
    print(f"farthest from the catenary: {np.max(np.abs(y - catenary)):.4f}")


if __name__ == "__main__":
    main()
