"""Primitives of Equinox, with those of Lineax: values, derivatives and batches."""

# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false, reportUnknownParameterType=false
# pyright: reportMissingParameterType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import equinox.internal as eqxi
import jax
import jax.numpy as jnp
import lineax as lx
import numpy as np
import pytest
from peers import jax_compare

import xdsl_rlx as rlx
from xdsl_rlx.frontends.jaxpr import walk

RNG = np.random.default_rng(2)
X = RNG.standard_normal(5).astype(np.float32)
MATRIX = (RNG.standard_normal((3, 3)) + 3 * np.eye(3)).astype(np.float32)


def _loop(kind: Any) -> Callable[..., Any]:
    """A loop that stacks its steps, in a buffer that is written in place."""

    def f(x):
        def step(carry):
            n, y, found = carry
            y = jnp.sin(y) + x
            return n + 1, y, found.at[n].set(y.sum())

        start = 0, x, jnp.zeros(4, x.dtype)
        return eqxi.while_loop(
            lambda carry: carry[0] < 4, step, start, kind=kind, max_steps=4, buffers=lambda carry: carry[2],
            **({"checkpoints": 2} if kind == "checkpointed" else {}),
        )[1:]  # fmt: skip

    return f


def _solve(a, b):
    return lx.linear_solve(lx.MatrixLinearOperator(a), b, solver=lx.LU()).value


CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...], float]] = {
    "unvmap": (
        lambda x: x * eqxi.unvmap_any(x > 0) + eqxi.unvmap_all(x > -9) - eqxi.unvmap_max(jnp.int32(x[0])), (X,), 2,
    ),
    "identities": (
        lambda x: eqxi.nondifferentiable_backward(jnp.floor(x)) + eqxi.nonbatchable(x) + eqxi.nontraceable(x[0] > 0),
        (X,), 0,
    ),
    "error_if": (lambda x: eqx.error_if(x, jnp.any(x > 99), "too large") ** 2, (X,), 2),
    "loop_lax": (_loop("lax"), (X,), 0),
    "loop_bounded": (_loop("bounded"), (X,), 1),
    "loop_checkpointed": (_loop("checkpointed"), (X,), 0.5),
    "batched_loop": (jax.vmap(_loop("checkpointed")), (np.stack([X, 2 * X]),), 0.5),
    "linear_solve": (_solve, (MATRIX, X[:3]), 1),
    "batch_of_solves": (jax.vmap(_solve, (None, 0)), (MATRIX, np.stack([X[:3], X[2:]])), 1),
    "transposed_solve": (lambda a, b: jax.grad(lambda b: jnp.sum(_solve(a, b) ** 2))(b), (MATRIX, X[:3]), 0.5),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_primitive_is_as_in_jax(name: str) -> None:
    f, args, orders = CASES[name]
    jax_compare.values(f, *args, tolerance=1e-5)
    if orders:
        jax_compare.derivatives(f, *args, orders=orders)


def test_each_row_has_a_case() -> None:
    used: set[str] = set()
    for f, args, _ in CASES.values():
        used |= {name for name, _ in walk.fired(jax.make_jaxpr(f)(*args).jaxpr)}
    assert used >= {
        "linear_solve", "maybe_set", "nonbatchable", "nondifferentiable_backward", "nontraceable", "pure_callback",
        "select_if_vmap", "unvmap_all", "unvmap_any", "unvmap_max", "vprim",
    }  # fmt: skip


def test_an_error_makes_results_nan() -> None:
    def f(x):
        return eqx.error_if(x, x < 0, "negative"), eqx.error_if(jnp.int32(x), x < 0, "negative")

    imported = rlx.from_jax(f)
    assert imported(np.float32(2)) == (2, 2)
    number, integer = imported(np.float32(-1))
    assert np.isnan(number) and integer == np.iinfo(np.int32).max


def test_other_callbacks_are_refused() -> None:
    def f(x):
        return jax.pure_callback(np.sin, jax.ShapeDtypeStruct(x.shape, x.dtype), x)

    with pytest.raises(rlx.FrontendError, match=r"pure_callback \(once, first at .*: it calls Python while"):
        rlx.from_jax(f, X)


def test_a_value_that_must_not_be_differentiated_is_a_constant() -> None:
    def f(x, t):
        return eqxi.nondifferentiable(jnp.sin(t)) * x

    gradient = rlx.grad(rlx.from_jax(f))(2.0, 0.5)
    assert np.isclose(gradient, np.sin(0.5))
