"""Random programs of bodies in each other: all modes by the interpreter, and some compiled, against JAX in f64."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from levels import EVERY
from numerics import jaxpr
from oracle import run

import xdsl_rlx as rlx
from xdsl_rlx.builder import as_graph_module
from xdsl_rlx.lowering.backend.machine.llvm import Effort
from xdsl_rlx.lowering.backend.runtime.compile_module import compile_module
from xdsl_rlx.transforms import mir_fission_scans

sys.path.insert(0, str(Path(__file__).parent))

from bodies import ARGUMENTS, KINDS, NAMES, TIMES, Program, program

jax.config.update("jax_enable_x64", True)

Arrays = dict[str, Any]
NUMBERS = tuple(n for n, name in enumerate(ARGUMENTS) if name in NAMES)


def of_loss(made: Program) -> rlx.GraphModule:
    return rlx.grad_with_loss(made.graph(), NAMES, zero_missing_wrt=True)


def values_of(rng: np.random.Generator, *leading: int) -> Arrays:
    """Arrays for the arguments; indices are out of range too, where they are clamped."""
    return {
        name: np.asarray(rng.normal(size=(*leading, *KINDS[kind][0])))
        if name in NAMES
        else np.asarray(rng.integers(-1, TIMES + 1, (*leading, *KINDS[kind][0])), np.int32)
        for name, kind in ARGUMENTS.items()
    }


def compare(made: Program, found: Sequence[Any], expected: Sequence[Any]) -> None:
    """Within 1e-8, or where values are f32 within what that rounds; of the largest element, at least 1."""
    tolerance = 3e-5 if made.is_mixed else 1e-8
    for one, wanted in zip(found, expected, strict=True):
        limit = tolerance * max(1.0, np.abs(wanted).max(initial=0.0))
        np.testing.assert_allclose(one, wanted, rtol=0.0, atol=limit)


def tangent(made: Program, rng: np.random.Generator, arrays: Arrays) -> None:
    along = values_of(rng)
    given = {f"tangent_{name}": along[name] for name in NAMES}

    wanted = jaxpr.evaluate(_pushed(made.in_jax), [*arrays.values()], [along[name] for name in NAMES])
    compare(made, run(rlx.jvp(made.graph(), NAMES), **arrays, **given), wanted)


def _pushed(function: Callable[..., Any]) -> Callable[..., Any]:
    """What a function of the arguments returns, and its tangents along those of the differentiated ones."""

    def pushed(arguments: list[Any], along: list[Any]) -> Any:
        def of_differentiated(*differentiated: Any) -> Any:
            return function(*differentiated, *arguments[len(NAMES) :])

        return jax.jvp(of_differentiated, arguments[: len(NAMES)], along)

    return pushed


def batch_of(what: Callable[[Program], rlx.GraphModule], how: Callable[..., Any]) -> Callable[..., None]:
    """A batch, of which one vector is the same for all."""

    def checked(made: Program, rng: np.random.Generator, arrays: Arrays) -> None:
        many = values_of(rng, 2) | {"w": arrays["w"]}
        axes = tuple(None if name == "w" else 0 for name in ARGUMENTS)
        wanted = jaxpr.evaluate(jax.vmap(how(made.in_jax), axes), *many.values())
        compare(made, run(rlx.vmap(what(made), [name for name in ARGUMENTS if name != "w"], 2), **many), wanted)

    return checked


def product_with_the_hessian(made: Program, rng: np.random.Generator, arrays: Arrays) -> None:
    along = values_of(rng)
    given = {f"tangent_{name}": along[name] for name in NAMES}

    gradient = _pushed(jax.value_and_grad(made.in_jax, NUMBERS))
    wanted = jaxpr.evaluate(gradient, [*arrays.values()], [along[name] for name in NAMES])
    compare(made, run(rlx.hvp(made.graph(), NAMES, zero_missing_wrt=True), **arrays, **given), wanted)


def gradient_of_gradient(made: Program, rng: np.random.Generator, arrays: Arrays) -> None:
    along = rng.normal(size=TIMES)
    g = rlx.Graph("contracted")
    (gx,) = g.inline(rlx.grad(made.graph(), ["x"], zero_missing_wrt=True))
    g.set_outputs([g.reduce_sum(gx * along)])

    def contracted(*arguments: Any) -> Any:
        return jnp.sum(jax.grad(made.in_jax)(*arguments[:-1]) * arguments[-1])

    found = run(rlx.grad(g, NAMES, zero_missing_wrt=True), **arrays)
    compare(made, found, jaxpr.evaluate(jax.grad(contracted, NUMBERS), *arrays.values(), along))


def compiled(made: Program, rng: np.random.Generator, arrays: Arrays) -> None:
    full = Effort.FULL if EVERY else Effort.QUICK
    gradient = of_loss(made)
    found = compile_module(as_graph_module(gradient).module, 1, effort=full)(**arrays)
    compare(made, found, run(gradient, **arrays))


MODES = (
    tangent,
    product_with_the_hessian,
    batch_of(lambda made: as_graph_module(made.graph()), lambda loss: loss),
    batch_of(of_loss, lambda loss: jax.value_and_grad(loss, NUMBERS)),
    gradient_of_gradient,
    compiled,
)
"""What is claimed beside the gradient, of each program in turn; the first two are forward mode."""

SECOND = (product_with_the_hessian, gradient_of_gradient)
"""Those that differentiate twice."""


def test_a_random_program_of_bodies_has_the_derivatives_of_jax(body_seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if body_seed % 3 and not EVERY:
        # to verify behind each pass takes a third of the time
        monkeypatch.setenv("XDSL_RLX_CHECK", "0")
    if body_seed % 2:
        # some products leave their loops, and some are too large
        monkeypatch.setattr(mir_fission_scans, "CACHED", 128)
    rng = np.random.default_rng(body_seed)
    made, arrays = program(body_seed), values_of(rng)
    gradient = of_loss(made)
    expected = jaxpr.evaluate(jax.value_and_grad(made.in_jax, NUMBERS), *arrays.values())
    compare(made, run(gradient, **arrays), expected)
    tidied = rlx.run_passes(gradient, "canonicalize,cse,mir-prepare-for-fusion")
    compare(made, run(tidied, **arrays), expected)
    modes = MODES if made.has_tangents else MODES[2:]
    mode = modes[body_seed % len(modes)]
    mode(replace(made, true_rules=True) if mode in SECOND else made, rng, arrays)
