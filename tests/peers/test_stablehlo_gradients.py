"""Gradients of programs of JAX by their StableHLO, against jax.grad in f64."""

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportMissingParameterType=false, reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from peers.stablehlo_programs import FORWARD_ONLY, PROGRAMS

import xdsl_rlx as rlx


@pytest.fixture(autouse=True)
def _wide() -> Generator[None]:  # pyright: ignore[reportUnusedFunction]
    with jax.enable_x64(True):
        yield


def weighted(function: Any) -> Any:
    """A sum of the results of a function, each with a weight of its own."""

    def of(*args):
        total = 0.0
        for leaf in jax.tree.leaves(function(*args)):
            if leaf.dtype == np.float64:
                total = total + (leaf * jnp.cos(jnp.arange(float(leaf.size))).reshape(leaf.shape)).sum()
        return total

    return of


def differentiable() -> list[str]:
    """Programs of numbers with results that depend on them."""
    found: list[str] = []
    for name, (function, *args) in PROGRAMS.items():
        with jax.enable_x64(True):
            leaves = jax.tree.leaves(jax.eval_shape(function, *args))
        takes = any(np.asarray(x).dtype == np.float64 for x in args)
        if takes and any(x.dtype == np.float64 for x in leaves) and name not in FORWARD_ONLY:
            found.append(name)
    return found


@pytest.mark.parametrize("name", differentiable())
def test_gradients_are_those_of_jax(name: str) -> None:
    function, *args = PROGRAMS[name]
    wrt = tuple(n for n, x in enumerate(args) if np.asarray(x).dtype == np.float64)
    loss = weighted(function)
    program = rlx.from_stablehlo(jax.jit(loss, keep_unused=True).lower(*args).as_text())
    found = rlx.compile(rlx.grad(program, argnums=wrt))(*args)
    for one, other in zip(found, jax.grad(loss, argnums=wrt)(*args), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-8)


def test_forward_mode_and_second_derivatives() -> None:
    x = np.linspace(-1, 1, 5)

    def energy(x):
        return jax.lax.scan(lambda c, a: (jnp.sin(c * a) + a, c * c), 0.5 * x[0], x)[1].sum()

    program = rlx.from_stablehlo(jax.jit(energy).lower(x).as_text())
    np.testing.assert_allclose(rlx.compile(rlx.hessian(program))(x), jax.hessian(energy)(x), rtol=1e-9, atol=1e-10)
    value, slope = rlx.compile(rlx.jvp(program))((x,), (x**2,))
    expected = jax.jvp(energy, (x,), (x**2,))
    np.testing.assert_allclose((value, slope), expected, rtol=1e-12)
    batch = np.stack([x, 2 * x, -x])
    np.testing.assert_allclose(rlx.compile(rlx.vmap(program))(batch), jax.vmap(energy)(batch), rtol=1e-12)


def test_programs_are_parts_of_traced_functions() -> None:
    x = np.linspace(-1, 1, 5)
    program = rlx.from_stablehlo(jax.jit(lambda x: (jnp.tanh(x), x.sum())).lower(x).as_text())

    def ours(x):
        y, total = program(2 * x)
        return (y * total).sum()

    def theirs(x):
        return (jnp.tanh(2 * x) * (2 * x).sum()).sum()

    np.testing.assert_allclose(rlx.compile(rlx.grad(ours))(x), jax.grad(theirs)(x), rtol=1e-12)


def test_a_scan_compiles_to_the_same_kernels_by_text_jaxpr_and_builder() -> None:
    rng = np.random.default_rng(0)
    w, u, b, xs = (rng.standard_normal(shape).astype(np.float32) for shape in ((16, 16), (8, 16), (16,), (20, 4, 8)))

    def recurrence(scan, tanh):
        def of(w, u, b, xs):
            def body(h, a):
                h = tanh(h @ w + a @ u + b)
                return h, h * 2

            return scan(body, np.zeros((4, 16), np.float32), xs)[1].sum()

        return of

    theirs = recurrence(jax.lax.scan, jnp.tanh)
    text = rlx.from_stablehlo(jax.jit(theirs).lower(w, u, b, xs).as_text())
    counts = {
        str(rlx.lower(rlx.trace(rlx.grad(f, argnums=(0, 1, 2)), w, u, b, xs))).count("lir.launch")
        for f in (text, rlx.from_jax(theirs), recurrence(rlx.scan, np.tanh))
    }
    assert len(counts) == 1
