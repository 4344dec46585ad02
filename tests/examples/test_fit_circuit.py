"""Element values are found again from a noisy waveform, by the gradient of an implicit integrator."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest


@pytest.fixture(scope="module")
def circuit(load_example: Any) -> Any:
    """The example as a module."""
    return load_example("fit_circuit")


def trapezoidal(circuit: Any, logs: np.ndarray) -> np.ndarray:
    """The same ladder, section by section, in NumPy."""
    n = circuit.SECTIONS
    inductance, capacitance, resistance = np.exp(logs) * np.array(list(circuit.NOMINAL.values()))[:, None]
    rates, source = np.zeros((2 * n, 2 * n)), np.zeros(2 * n)
    for k in range(n):
        rates[k, k], rates[k, n + k] = -resistance[k] / inductance[k], -1 / inductance[k]
        rates[n + k, k] = 1 / capacitance[k]
        if k:
            rates[k, n + k - 1] = 1 / inductance[k]
            rates[n + k - 1, k] = -1 / capacitance[k - 1]
    rates[0, 0] -= circuit.SOURCE / inductance[0]
    rates[-1, -1] -= 1 / circuit.LOAD / capacitance[-1]
    source[0] = 1 / inductance[0]
    state, half, u, found = np.zeros(2 * n), circuit.STEP / 2, circuit.drive(), []
    for before, after in pairwise(u):
        right = state + half * (rates @ state + source * (before + after))
        state = np.linalg.solve(np.eye(2 * n) - half * rates, right)
        found.append(state[-1])
    return np.array(found)


def test_the_elements_are_found(circuit: Any) -> None:
    rng = np.random.default_rng(0)
    true = rng.uniform(np.log(0.6), np.log(1.7), (3, circuit.SECTIONS))
    simulation, misfit = circuit.graphs()
    waveform = simulation(logs=true)[0]
    np.testing.assert_allclose(waveform, trapezoidal(circuit, true), rtol=1e-9, atol=1e-12)
    measured = waveform + circuit.NOISE * rng.standard_normal(circuit.STEPS)
    assert circuit.check_gradient(misfit, true * 0.5, measured) < 1e-7
    found, history = circuit.fit(misfit, measured)
    assert history[0] > 1e3 * circuit.NOISE**2 and history[-1] < 1.05 * circuit.NOISE**2
    assert np.abs(found - true).max() < 0.1
