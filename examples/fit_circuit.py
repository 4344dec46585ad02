"""Estimate the element values of an RLC ladder from the voltage measured at its end.

The trapezoidal rule, an implicit method, integrates the ladder: one linear solve per step, in one scan. The gradient of
the misfit with respect to all element values is one scan in reverse. SciPy's L-BFGS-B minimises the misfit. The
waveforms before and after the fit, and the loss, are plotted to build/fit_circuit.png.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize

import xdsl_rlx as rlx

SECTIONS = 3
"""Number of sections; each is an inductor with its series resistance, and a capacitor to ground."""
STEPS, STEP = 600, 2e-7
"""Number of integration steps, and step size in seconds."""
NOMINAL = {"inductance": 10e-6, "capacitance": 10e-9, "resistance": 2.0}
"""Nominal values of a section, in henry, farad and ohm."""
SOURCE, LOAD = 30.0, 50.0
"""Known resistances of the source and the load, in ohm."""
NOISE = 2e-3
"""Standard deviation of the measurement noise, in volt."""
OUTPUT = Path(__file__).resolve().parent.parent / "build"


def drive() -> np.ndarray:
    """Return the source voltage at the steps and at the end: a pulse, then a rising tone."""
    t = STEP * np.arange(STEPS + 1)
    pulse = (t > 2e-6) & (t < 12e-6)
    return np.where(pulse, 1.0, 0.0) + np.where(t > 40e-6, np.sin(2 * np.pi * (2e4 * t + 2.5e9 * t * t)), 0.0)


def simulate(g: Any, logs: Any) -> Any:
    """
    Return the voltage at the load after each step.

    `logs` [3, SECTIONS] holds the log ratios of inductances, capacitances and resistances to their nominal values. The
    state holds the inductor currents, then the capacitor voltages.
    """
    n = SECTIONS
    scale = g.constant(np.array(list(NOMINAL.values())).reshape(3, 1))
    values = g.exp(logs) * scale
    inductance, capacitance, resistance = (g.reshape(values[i : i + 1], (n, 1)) for i in range(3))
    # L di/dt = v_before - v - R i,  C dv/dt = i - i_after; source and load are the boundary conditions
    first, last, here, below = np.zeros((n, n)), np.zeros((n, n)), np.eye(n), np.eye(n, k=-1)
    first[0, 0], last[-1, -1] = SOURCE, 1 / LOAD
    currents = g.concat([-(resistance * here) - first, g.constant(below - here)], 1) / inductance
    voltages = g.concat([g.constant(here - below.T), g.constant(-last)], 1) / capacitance
    rates = g.concat([currents, voltages], 0) * (STEP / 2)
    into = g.concat([g.constant(np.eye(n, 1)) / inductance, g.constant(np.zeros((n, 1)))], 0) * (STEP / 2)
    identity = g.constant(np.eye(2 * n))

    def step(state: Any, driven: Any) -> tuple[Any, Any]:
        after = g.dense_solve(identity - rates, (identity + rates) @ state + into * driven)
        return after, after[2 * n - 1 :]

    u = drive()
    _, measured = g.scan(step, g.constant(np.zeros((2 * n, 1))), g.constant((u[1:] + u[:-1]).reshape(-1, 1, 1)))
    return g.reshape(measured, (STEPS,))


def graphs() -> tuple[Any, Any]:
    """Compile the simulation, and the mean squared misfit to a measured waveform with its gradient."""
    g = rlx.Graph("simulation")
    g.set_outputs([simulate(g, g.input("logs", (3, SECTIONS), dtype="f64"))])
    h = rlx.Graph("misfit")
    distance = simulate(h, h.input("logs", (3, SECTIONS), dtype="f64")) - h.input("measured", (STEPS,), dtype="f64")
    h.set_outputs([h.reduce_mean(distance * distance, axes=[0])])
    return rlx.compile(g), rlx.compile(rlx.grad_with_loss(h, wrt=["logs"]))


def fit(misfit: Any, measured: np.ndarray) -> tuple[np.ndarray, list[float]]:
    """
    Fit the element values, starting at the nominal ones; return their log ratios and the loss after each iteration.
    """
    start, shape = np.zeros((3, SECTIONS)), (3, SECTIONS)
    history = [float(misfit(logs=start, measured=measured)[0])]

    def loss(x: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = misfit(logs=x.reshape(shape), measured=measured)
        return float(value) * 1e4, gradient.ravel() * 1e4

    def note(intermediate_result: Any) -> None:
        history.append(float(intermediate_result.fun) / 1e4)

    found = minimize(loss, start.ravel(), jac=True, method="L-BFGS-B", callback=note, options={"maxiter": 300})
    return found.x.reshape(shape), history


def check_gradient(misfit: Any, logs: np.ndarray, measured: np.ndarray) -> float:
    """Return the relative error of the gradient against central differences in a random direction."""
    direction, h = np.random.default_rng(1).standard_normal(logs.shape), 1e-6
    expected = (misfit(logs=logs, measured=measured)[1] * direction).sum()
    above, below = (float(misfit(logs=logs + s * h * direction, measured=measured)[0]) for s in (1, -1))
    return abs((above - below) / (2 * h) - expected) / abs(expected)


def plot(waveforms: dict[str, np.ndarray], history: list[float]) -> Path:
    """Plot the waveforms, and the loss over the iterations."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained", width_ratios=(2, 1))
    times = 1e6 * STEP * np.arange(1, STEPS + 1)
    for (name, values), style in zip(waveforms.items(), ("k.", "tab:orange", "tab:blue"), strict=True):
        left.plot(times, values, style, markersize=2, label=name)
    left.set_xlabel("microseconds")
    left.set_ylabel("volt at the load")
    left.legend()
    right.semilogy(history)
    right.set_xlabel("iteration")
    right.set_ylabel("mean square error")
    path = OUTPUT / "fit_circuit.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    return path


def main() -> None:
    """Simulate a measurement with unknown element values, fit it, and report the errors."""
    rng = np.random.default_rng(0)
    true = rng.uniform(np.log(0.6), np.log(1.7), (3, SECTIONS))
    begin = time.perf_counter()
    simulation, misfit = graphs()
    print(f"compiled in {time.perf_counter() - begin:.2f} s")
    measured = simulation(logs=true)[0] + NOISE * rng.standard_normal(STEPS)
    print(f"relative error of the gradient: {check_gradient(misfit, true * 0.5, measured):.1e}")
    begin = time.perf_counter()
    for _ in range(100):
        misfit(logs=true, measured=measured)
    print(f"loss and gradient of {STEPS} implicit steps: {(time.perf_counter() - begin) * 10:.2f} ms")
    found, history = fit(misfit, measured)
    print(f"mean square error {history[0]:.1e} to {history[-1]:.1e} in {len(history) - 1} iterations")
    print(f"that of the noise is {NOISE**2:.1e}")
    print(f"{'':14}{'true':>10}{'nominal':>10}{'found':>10}")
    for row, (name, unit) in enumerate(NOMINAL.items()):
        for section in range(SECTIONS):
            values = (unit * np.exp(true[row, section]), unit, unit * np.exp(found[row, section]))
            print(f"{name + ' ' + str(section + 1):14}" + "".join(f"{value:10.3g}" for value in values))
    before, after = (simulation(logs=logs)[0] for logs in (np.zeros_like(true), found))
    path = plot({"measured": measured, "nominal": before, "fitted": after}, history)
    print(f"drawn to {path.relative_to(OUTPUT.parent)}")


if __name__ == "__main__":
    main()
