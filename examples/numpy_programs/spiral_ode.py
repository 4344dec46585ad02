"""Fit a neural ordinary differential equation to a spiral.

`y' = W2 tanh(W1 y^3 + b1) + b2` is integrated with the classical Runge-Kutta method. The loss is the mean distance to
the spiral of `y' = A y^3` over short windows, each integrated from its first point.
"""

import numpy as np

import xdsl_rlx as rlx

TRUE = np.array([[-0.1, 2.0], [-2.0, -0.1]])
STEP = 0.05


def field(params, y):
    return np.tanh(y**3 @ params["w1"] + params["b1"]) @ params["w2"] + params["b2"]


def followed(slope, y, times):
    """Integrate from `y`; return the states at all `times`, including `y`."""
    path = [y]
    for _ in range(times - 1):
        k1 = slope(y)
        k2 = slope(y + STEP / 2 * k1)
        k3 = slope(y + STEP / 2 * k2)
        k4 = slope(y + STEP * k3)
        y = y + STEP / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        path.append(y)
    return np.stack(path)


def loss(params, windows):
    """Return the mean distance to `windows` `[times, windows, 2]`."""
    path = followed(lambda y: field(params, y), windows[0], len(windows))
    return np.mean(np.abs(path - windows))


def spiral(times):
    return followed(lambda y: y**3 @ TRUE.T, np.array([2.0, 0.0]), times)


def initial(rng, width):
    return {
        "w1": 0.3 * rng.standard_normal((2, width)),
        "b1": np.zeros(width),
        "w2": 0.3 * rng.standard_normal((width, 2)),
        "b2": np.zeros(2),
    }


def windows_of(path, times):
    return np.stack([path[n : len(path) - times + n] for n in range(times)])


def example():
    return initial(np.random.default_rng(0), 8), windows_of(spiral(12), 4)


def main():
    path, rng = spiral(300), np.random.default_rng(0)
    windows, params = windows_of(path, 8), initial(rng, 48)
    adam = rlx.optim.Adam(rlx.optim.cosine(0.01, 1500))

    @rlx.compile
    def step(params, state, batch):
        value, grads = rlx.value_and_grad(loss)(params, batch)
        return value, *adam.update(grads, state, params)

    state = adam.init(params)
    for _ in range(1500):
        _, params, state = step(params, state, windows[:, rng.integers(windows.shape[1], size=32)])
    whole = followed(lambda y: field(params, y), path[0], len(path))
    far = np.mean(np.abs(whole - path))
    print(f"mean distance over windows {loss(params, windows):.4f}, over the whole path {far:.4f}")


if __name__ == "__main__":
    main()
