"""Fit planes to points with a mixture of probabilistic principal component analysers.

Component `k` is normal with mean `m_k` and covariance `C_k = W_k W_k' + s_k^2 1`, where `W_k` has one column for each
dimension of the plane (Tipping and Bishop, 1999). The loss is minus the mean of `ln sum_k p_k N(x; m_k, C_k)`.
"""

import numpy as np

import xdsl_rlx as rlx


def initial(rng, components, dimensions, planes):
    return {
        "logits": np.zeros(components),
        "means": rng.standard_normal((components, dimensions)),
        "loadings": 0.5 * rng.standard_normal((components, dimensions, planes)),
        "log_noise": np.full(components, -1.0),
    }


def log_densities(params, points):
    """Return the weighted log density of each component: `[components, points]`."""
    dimensions = points.shape[1]
    loadings = params["loadings"]
    noise = np.exp(2 * params["log_noise"])[:, None, None]
    covariances = loadings @ np.swapaxes(loadings, 1, 2) + noise * np.eye(dimensions)
    apart = points[None] - params["means"][:, None]
    solved = np.linalg.solve(covariances, np.swapaxes(apart, 1, 2))
    distances = np.einsum("knd,kdn->kn", apart, solved)
    logs = params["logits"] - np.log(np.sum(np.exp(params["logits"])))
    log_volumes = np.linalg.slogdet(covariances)[1] + dimensions * np.log(2 * np.pi)
    return (logs - 0.5 * log_volumes)[:, None] - 0.5 * distances


def loss(params, points):
    return -np.mean(np.logaddexp.reduce(log_densities(params, points), axis=0))


def data(count=200):
    rng = np.random.default_rng(8)
    parts = []
    for _ in range(2):
        basis, _ = np.linalg.qr(rng.standard_normal((4, 4)))
        parts.append(rng.normal(0, 1.5, 4) + rng.standard_normal((count, 2)) * [2, 1] @ basis[:2])
    return np.concatenate(parts) + 0.1 * rng.standard_normal((2 * count, 4))


def example():
    return initial(np.random.default_rng(0), 2, 4, 2), data(6)


def main():
    points, params = data(), initial(np.random.default_rng(0), 2, 4, 2)
    adam = rlx.optim.Adam(0.03)

    @rlx.compile
    def step(params, state):
        value, grads = rlx.value_and_grad(loss)(params, points)
        return value, *adam.update(grads, state, params)

    state = adam.init(params)
    for _ in range(600):
        value, params, state = step(params, state)
    chosen = np.argmax(log_densities(params, points), axis=0)
    right = np.mean(chosen == np.repeat([0, 1], len(points) // 2))
    print(f"mean log density {-float(value):.3f}, noise {np.exp(params['log_noise']).round(3)} (it was 0.1)")
    print(f"{100 * max(right, 1 - right):.1f} % of the points with the plane that they are from")


if __name__ == "__main__":
    main()
