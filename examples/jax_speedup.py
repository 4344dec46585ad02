"""Fit an epidemic by a JAX training loop whose solver is compiled by this package: one decorator.

An SEIR model of 12 regions that infect each other is integrated by the classical Runge-Kutta method. The rates of
infection and the coupling between regions are fitted to noisy counts of infected people. The same solver is written
once with NumPy and `rlx.scan`, for this package, and once with `jax.numpy` and `lax.scan`; both fits are timed.

    python examples/jax_speedup.py
"""

# JAX's arrays, and trees of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import xdsl_rlx as rlx

REGIONS, DAYS, SUBSTEPS = 12, 60, 10
RATE, STEPS = 0.03, 200
INCUBATION, RECOVERY = 1 / 3, 1 / 5
"""Per day."""


def slope(params: Any, state: Any) -> Any:
    """The derivative of the state by time: parts of the population that are susceptible, exposed and infected."""
    s, e, i = state
    infected = s * params["rate"] * (params["coupling"] @ i)
    return -infected, infected - INCUBATION * e, INCUBATION * e - RECOVERY * i


def runge_kutta(params: Any, state: Any, h: float) -> Any:
    """One step of the classical method."""

    def moved(k: Any, by: float) -> Any:
        return tuple(x + by * d for x, d in zip(state, k, strict=True))

    k1 = slope(params, state)
    k2 = slope(params, moved(k1, h / 2))
    k3 = slope(params, moved(k2, h / 2))
    k4 = slope(params, moved(k3, h))
    return tuple(x + h / 6 * (a + 2 * b + 2 * c + d) for x, a, b, c, d in zip(state, k1, k2, k3, k4, strict=True))


@rlx.to_jax(run="rlx")
def solve(params: Any, start: Any) -> Any:
    """Infected parts of the regions each day, by this package."""

    def day(state: Any, _: Any) -> Any:
        state, _ = rlx.scan(lambda x, _: (runge_kutta(params, x, 1 / SUBSTEPS), None), state, None, SUBSTEPS)
        return state, state[2]

    return rlx.scan(day, start, None, DAYS)[1]


def solve_in_jax(params: Any, start: Any) -> Any:
    """The same by XLA."""

    def day(state: Any, _: Any) -> Any:
        state, _ = jax.lax.scan(lambda x, _: (runge_kutta(params, x, 1 / SUBSTEPS), None), state, None, SUBSTEPS)
        return state, state[2]

    return jax.lax.scan(day, start, None, DAYS)[1]


def problem() -> tuple[Any, Any, Any]:
    """The true parameters, the start, and what was observed."""
    rng = np.random.default_rng(0)
    near = np.exp(-np.abs(np.subtract.outer(np.arange(REGIONS), np.arange(REGIONS))) * 1.5)
    params = {"rate": jnp.asarray(rng.uniform(0.3, 0.6, REGIONS)), "coupling": jnp.asarray(near)}
    infected = jnp.zeros(REGIONS).at[0].set(0.01)
    start = (1 - infected, jnp.zeros(REGIONS), infected)
    noise = 1 + 0.02 * rng.standard_normal((DAYS, REGIONS))
    return params, start, solve_in_jax(params, start) * noise


def training_step(solver: Callable[[Any, Any], Any], start: Any, observed: Any) -> Callable[..., Any]:
    """A step of Adam: `(logarithms of the parameters, moments, count) -> (loss, logarithms, moments)`."""

    def loss(logs: Any) -> Any:
        found = solver(jax.tree.map(jnp.exp, logs), start)
        return (jnp.log(found + 1e-6) - jnp.log(observed + 1e-6)).var()

    @jax.jit
    def step(logs: Any, moments: tuple[Any, Any], count: Any) -> Any:
        value, grads = jax.value_and_grad(loss)(logs)
        mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, moments[0], grads)
        square = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, moments[1], grads)

        def updated(x: Any, m: Any, v: Any) -> Any:
            return x - RATE * (m / (1 - 0.9**count)) / (jnp.sqrt(v / (1 - 0.99**count)) + 1e-8)

        return value, jax.tree.map(updated, logs, mean, square), (mean, square)

    return step


def fit(step: Callable[..., Any], steps: int = STEPS) -> tuple[Any, list[float]]:
    """Fit the parameters; return them, and the losses."""
    coupling = -jnp.ones((REGIONS, REGIONS)) - 2 * (1 - jnp.eye(REGIONS))
    logs = {"rate": -jnp.ones(REGIONS), "coupling": coupling}
    zeros = jax.tree.map(jnp.zeros_like, logs)
    moments, losses = (zeros, zeros), list[float]()
    for count in range(1, steps + 1):
        value, logs, moments = step(logs, moments, float(count))
        losses.append(float(value))
    return jax.tree.map(jnp.exp, logs), losses


def main() -> None:
    """Fit by both solvers."""
    _, start, observed = problem()
    for name, solver in (("xdsl-rlx", solve), ("JAX", solve_in_jax)):
        step = training_step(solver, start, observed)
        began = perf_counter()
        fit(step, 1)
        compiled = perf_counter() - began
        began = perf_counter()
        _, losses = fit(step)
        took = 1e3 * (perf_counter() - began) / STEPS
        print(f"{name:9} loss {losses[0]:.3f} to {losses[-1]:.4f}, {took:.2f} ms a step, compiled in {compiled:.1f} s")


if __name__ == "__main__":
    main()
