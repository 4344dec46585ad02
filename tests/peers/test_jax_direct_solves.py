"""Systems that JAX solves by LU factors and `custom_linear_solve`: one op of mir, without the factors."""

# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import xdsl_rlx as rlx

RNG = np.random.default_rng(0)


def near_identity(*shape: int, axis: int = -1) -> Any:
    """Matrices whose last two dimensions are in front of `axis`."""
    return np.moveaxis(RNG.standard_normal((*shape, 5, 5)) + 6 * np.eye(5), 0, axis) if shape else _one()


def _one() -> Any:
    return RNG.standard_normal((5, 5)) + 6 * np.eye(5)


def real(*shape: int) -> Any:
    return RNG.standard_normal(shape)


CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "vector": (jnp.linalg.solve, (_one(), real(5))),
    "columns": (jnp.linalg.solve, (_one(), real(5, 3))),
    "batch": (lambda a, b: jnp.linalg.solve(a, b[..., None])[..., 0], (near_identity(4, axis=0), real(4, 5))),
    "batch of columns": (jnp.linalg.solve, (near_identity(4, axis=0), real(4, 5, 3))),
    "transposed": (lambda a, b: jnp.linalg.solve(a.T, b), (_one(), real(5, 2))),
    "mapped right sides": (jax.vmap(jnp.linalg.solve, (None, 0)), (_one(), real(7, 5))),
    "mapped matrices": (jax.vmap(jnp.linalg.solve, (2, None)), (near_identity(7), real(5, 5))),
    "inverse": (jnp.linalg.inv, (_one(),)),
}


@pytest.mark.parametrize("name", CASES)
def test_factors_become_one_solve(name: str) -> None:
    f, args = CASES[name]
    with jax.enable_x64(True):

        def loss(*xs: Any) -> Any:
            return jnp.sin(f(*xs)).sum()

        numbers = tuple(range(len(args)))
        expected = jax.value_and_grad(loss, numbers)(*args)
        imported = rlx.from_jax(loss, *args)
        found = rlx.compile(rlx.value_and_grad(imported, numbers))(*args)
        for x, y in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-10, atol=1e-12)
        text = str(rlx.trace(imported, *args))
        lowered = str(rlx.lower(rlx.trace(rlx.value_and_grad(imported, numbers), *args)))
    assert "dense_solve" in text
    assert "_gather" not in lowered


def test_factors_of_another_matrix_solve_as_they_did() -> None:
    """A solver that is given is not replaced unless its factors are those of the matrix in the product."""
    from jax.scipy.linalg import lu_factor, lu_solve

    a, b = _one().astype(np.float32), real(5).astype(np.float32)

    def f(a: Any, b: Any) -> Any:
        factors = lu_factor(2 * a)
        return jax.lax.custom_linear_solve(lambda x: a @ x, b, lambda _, b: lu_solve(factors, b))

    np.testing.assert_allclose(rlx.from_jax(f)(a, b), jax.jit(f)(a, b), rtol=1e-5)
