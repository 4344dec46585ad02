"""A neural differential equation learns the cycle of the sunspots, and forecasts years that it has not seen."""

from typing import Any

import numpy as np
import pytest


@pytest.fixture(scope="module")
def ode(load_example: Any) -> Any:
    """The example as a module."""
    return load_example("neural_ode")


def in_numpy(ode: Any, past: np.ndarray, weights: dict[str, np.ndarray]) -> np.ndarray:
    def rate(z: np.ndarray) -> np.ndarray:
        return np.tanh(z @ weights["f1"] + weights["c1"]) @ weights["f2"]

    z, h, found = np.tanh(past @ weights["e1"]) @ weights["e2"], 1 / ode.SUBSTEPS, []
    for _ in range(ode.FUTURE):
        for _ in range(ode.SUBSTEPS):
            k1 = rate(z)
            k2 = rate(z + h / 2 * k1)
            k3 = rate(z + h / 2 * k2)
            z = z + h / 6 * (k1 + 2 * k2 + 2 * k3 + rate(z + h * k3))
        found.append(z @ weights["r"])
    return np.concatenate(found, 1)


def test_forecasts_are_better_than_the_last_cycle_again(ode: Any) -> None:
    _, trained, judged = ode.load_windows()
    loss, forecasts, adam = ode.graphs(len(trained["past"]), len(judged["past"]))
    weights, history = ode.train(loss, adam, trained, 600)
    assert history[-1] < 0.2 * history[0]
    (found,) = forecasts(past=judged["past"], **weights)
    np.testing.assert_allclose(found, in_numpy(ode, judged["past"], weights), rtol=2e-4, atol=2e-4)
    errors = ode.errors(found, judged)
    assert errors["neural ODE"] < 0.9 * errors["eleven years ago"] < errors["mean"]
