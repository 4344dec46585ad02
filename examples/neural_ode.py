"""Forecast sunspots with a neural ordinary differential equation.

One network encodes the last 22 years into a state of four numbers. Another network is the right-hand side of the
equation, which RK4 integrates in one scan. A linear map decodes the sunspots of the next 11 years from the state. Adam
trains the model on the years before 1950; the years after them are the test set. Forecasts are plotted to
build/neural_ode.png.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
from adam import Adam, adam_graph

import xdsl_rlx as rlx

PAST, FUTURE, SUBSTEPS = 22, 11, 2
"""Known years, forecast years, and integration steps per year."""
STATE, WIDTH = 4, 24
SPLIT = 1950
"""First year of the test set."""
ROUNDS, RATE, DECAY = 1000, 4e-3, 0.1
OUTPUT = Path(__file__).resolve().parent.parent / "build"

SHAPES = {
    "e1": (PAST, WIDTH),
    "e2": (WIDTH, STATE),
    "f1": (STATE, WIDTH),
    "c1": (WIDTH,),
    "f2": (WIDTH, STATE),
    "r": (STATE, 1),
}
Arrays = dict[str, np.ndarray]


def load_windows() -> tuple[np.ndarray, Arrays, Arrays]:
    """
    Return the first forecast years of the test windows, the training windows and the test windows.

    Values are square roots of the counts, divided by the mean root of the known years. statsmodels ships the series.
    """
    from statsmodels.datasets import sunspots

    data: Any = sunspots.load_pandas().data
    years, counts = data["YEAR"].to_numpy().astype(int), data["SUNACTIVITY"].to_numpy()
    values = np.sqrt(counts).astype(np.float32)
    starts = np.arange(PAST, len(values) - FUTURE + 1)
    windows = np.stack([values[s - PAST : s + FUTURE] for s in starts])
    trained = years[starts + FUTURE - 1] < SPLIT
    judged = years[starts] >= SPLIT
    scale = windows[:, :PAST].mean(1, keepdims=True)
    windows /= scale
    parts = [{"past": windows[w, :PAST], "future": windows[w, PAST:], "scale": scale[w]} for w in (trained, judged)]
    return years[starts[judged]], parts[0], parts[1]


def counts_of(values: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Convert scaled roots to sunspot counts."""
    return np.maximum(values * scale, 0) ** 2


def forecast(g: Any, past: Any, weights: dict[str, Any]) -> Any:
    """Return the forecast values [batch, FUTURE]."""

    def rate(z: Any) -> Any:
        return g.tanh(z @ weights["f1"] + weights["c1"]) @ weights["f2"]

    def year(z: Any, _: None) -> tuple[Any, Any]:
        h = 1.0 / SUBSTEPS
        for _ in range(SUBSTEPS):
            k1 = rate(z)
            k2 = rate(z + k1 * (h / 2))
            k3 = rate(z + k2 * (h / 2))
            k4 = rate(z + k3 * h)
            z = z + (k1 + k2 * 2.0 + k3 * 2.0 + k4) * (h / 6)
        return z, z @ weights["r"]

    begin = g.tanh(past @ weights["e1"]) @ weights["e2"]
    _, values = g.scan(year, begin, length=FUTURE)
    return g.transpose(g.reshape(values, (FUTURE, past.shape[0])), (1, 0))


def graphs(trained: int, judged: int) -> tuple[Any, Any, Any]:
    """Compile the loss with its gradients, the forecast, and an Adam step."""
    losses, forecasts = rlx.Graph("loss"), rlx.Graph("forecast")
    weights = {name: losses.param(name, shape) for name, shape in SHAPES.items()}
    distance = forecast(losses, losses.input("past", (trained, PAST)), weights) - losses.input(
        "future", (trained, FUTURE)
    )
    losses.set_outputs([losses.reduce_mean(distance * distance, axes=[0, 1])])
    weights = {name: forecasts.param(name, shape) for name, shape in SHAPES.items()}
    forecasts.set_outputs([forecast(forecasts, forecasts.input("past", (judged, PAST)), weights)])
    adam = adam_graph(SHAPES, RATE, DECAY)
    return rlx.compile(rlx.grad_with_loss(losses, wrt=list(SHAPES))), rlx.compile(forecasts), rlx.compile(adam)


def train(loss: Any, adam: Any, data: Arrays, rounds: int) -> tuple[Arrays, list[float]]:
    """Train for some steps on all windows; return the weights and the loss of each step."""
    rng = np.random.default_rng(0)
    weights = {n: (rng.standard_normal(s) / np.sqrt(s[0])).astype(np.float32) for n, s in SHAPES.items()}
    optimizer, history = Adam(adam, weights), list[float]()
    for _ in range(rounds):
        value, *gradients = loss(past=data["past"], future=data["future"], **weights)
        history.append(float(value))
        optimizer.step(gradients)
    return weights, history


def errors(found: np.ndarray, data: Arrays) -> dict[str, float]:
    """
    Return the RMS errors, in sunspots, of a forecast, of repeating the last years, and of the mean of the known years.
    """

    def distance(values: np.ndarray) -> float:
        apart = counts_of(values, data["scale"]) - counts_of(data["future"], data["scale"])
        return float(np.sqrt((apart**2).mean()))

    mean = np.broadcast_to(data["past"].mean(1, keepdims=True), data["future"].shape)
    return {
        "neural ODE": distance(found),
        "eleven years ago": distance(data["past"][:, -FUTURE:]),
        "mean": distance(mean),
    }


def plot(years: np.ndarray, found: np.ndarray, data: Arrays) -> Path:
    """Plot the forecast of every eleventh window over the observations."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(9, 4), layout="constrained")
    axes.plot(years, counts_of(data["future"], data["scale"])[:, 0], "k.-", label="observed")
    counts = counts_of(found, data["scale"])
    for number in range(0, len(years), FUTURE):
        label = "forecast" if number == 0 else None
        axes.plot(years[number] + np.arange(FUTURE), counts[number], "tab:blue", label=label)
    axes.set_xlabel("year")
    axes.set_ylabel("sunspots")
    axes.legend()
    path = OUTPUT / "neural_ode.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    return path


def main() -> None:
    """Train, forecast and compare with two baselines."""
    years, trained, judged = load_windows()
    begin = time.perf_counter()
    loss, forecasts, adam = graphs(len(trained["past"]), len(judged["past"]))
    print(f"compiled in {time.perf_counter() - begin:.2f} s")
    begin = time.perf_counter()
    weights, history = train(loss, adam, trained, ROUNDS)
    seconds = time.perf_counter() - begin
    print(
        f"{ROUNDS} steps on {len(trained['past'])} windows in {seconds:.1f} s: {1e3 * seconds / ROUNDS:.2f} ms a step"
    )
    print(f"mean square error {history[0]:.4f} to {history[-1]:.4f}")
    (found,) = forecasts(past=judged["past"], **weights)
    print(f"forecasts of {FUTURE} years from {SPLIT} on, root mean square error in sunspots")
    for name, value in errors(found, judged).items():
        print(f"  {name:18}{value:6.1f}")
    print(f"drawn to {plot(years, found, judged).relative_to(OUTPUT.parent)}")


if __name__ == "__main__":
    main()
