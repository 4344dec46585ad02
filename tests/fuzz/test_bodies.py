"""Random programs of branches, loops, scans and remats in each other: all modes by the interpreter, against JAX."""

import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numerics import jaxpr
from oracle import run

import xdsl_rlx as rlx

sys.path.insert(0, str(Path(__file__).parent))

from bodies import TIMES, program

jax.config.update("jax_enable_x64", True)

NAMES = ["x", "w", "m"]


def compare(found: list[Any], expected: list[Any]) -> None:
    for one, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, wanted, rtol=1e-8, atol=1e-10)


def test_a_random_program_of_bodies_has_the_derivatives_of_jax(third_seed: int) -> None:
    rng = np.random.default_rng(third_seed)
    made = program(third_seed)
    arrays: dict[str, Any] = {"x": rng.normal(size=3), "w": rng.normal(size=3), "m": rng.normal(size=(TIMES, 3))}
    along = [rng.normal(size=a.shape) for a in arrays.values()]
    k = np.int32(rng.integers(-1, 3))

    def first(*a: Any) -> Any:
        return jax.value_and_grad(made.in_jax, (0, 1, 2))(*a, k)

    graph = made.graph()
    gradient = rlx.grad_with_loss(graph, NAMES, zero_missing_wrt=True)
    compare(run(gradient, **arrays, k=k), jaxpr.evaluate(first, *arrays.values()))
    tidied = rlx.run_passes(gradient, "canonicalize,cse")
    compare(run(tidied, **arrays, k=k), run(gradient, **arrays, k=k))
    match third_seed // 3 % 3:
        case 0:
            tangents = {f"tangent_{name}": t for name, t in zip(NAMES, along, strict=True)}
            _, wanted = jaxpr.evaluate(
                lambda *a: jax.jvp(lambda *b: made.in_jax(*b, k), a, tuple(along)), *arrays.values()
            )
            compare(run(rlx.jvp(graph, NAMES), **arrays, k=k, **tangents)[1:], [wanted])
        case 1:
            batch = {name: np.stack([a, a * 0.5, -a]) for name, a in arrays.items() if name != "w"}
            ks = np.array([k, k + 1, k - 1])
            wanted = jaxpr.evaluate(
                jax.vmap(jax.grad(made.in_jax, (0, 1, 2)), (0, None, 0, 0)), batch["x"], arrays["w"], batch["m"], ks
            )
            many = rlx.vmap(rlx.grad(graph, NAMES, zero_missing_wrt=True), ["x", "m", "k"], 3)
            compare(run(many, **batch, w=arrays["w"], k=ks), wanted)
        case _:
            g = rlx.Graph("contracted")
            (gx,) = g.inline(rlx.grad(graph, ["x"], zero_missing_wrt=True))
            g.set_outputs(g.reduce_sum(gx * along[0]))
            second = rlx.grad(g, NAMES, zero_missing_wrt=True)

            def contracted(*a: Any) -> Any:
                return jnp.sum(jax.grad(made.in_jax)(*a, k) * along[0])

            compare(run(second, **arrays, k=k), jaxpr.evaluate(jax.grad(contracted, (0, 1, 2)), *arrays.values()))
