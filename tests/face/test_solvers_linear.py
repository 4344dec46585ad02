"""Iterative solvers of linear systems beside direct ones: values, derivatives of both modes, batches, breakdowns."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numerics import jaxpr
from peer_rows import evaluated

import xdsl_rlx as rlx

RNG = np.random.default_rng(0)
N = 5
B = RNG.normal(size=(N, N))
SYMMETRIC, GENERAL = B @ B.T / N + np.eye(N), np.eye(N) * 3 + B / 2
RIGHT, ALONG = RNG.normal(size=N), RNG.normal(size=N)
NAMES = ("cg", "bicgstab", "gmres")


def near(found: Any, expected: Any, tol: float = 1e-9) -> None:
    np.testing.assert_allclose(found, expected, tol, tol)


def matrix_of(name: str) -> Any:
    return SYMMETRIC if name == "cg" else GENERAL


def loss(solve: Callable[..., Any], w: Any, b: Any) -> Any:
    """A system of trees, of which the operator captures what it is made of."""

    def product(x: Any) -> Any:
        top, (low,) = x["a"], x["b"]
        return {"a": w[:2, :2] @ top + w[:2, 2:] @ low, "b": (w[2:, :2] @ top + w[2:, 2:] @ low,)}

    x = solve(product, {"a": b[:2], "b": (b[2:],)})
    return (x["a"] ** 3).sum() + (x["b"][0] ** 2).sum() * b[0]


def theirs(w: Any, b: Any) -> Any:
    x = jnp.linalg.solve(w, b)
    return (x[:2] ** 3).sum() + (x[2:] ** 2).sum() * b[0]


def check_derivatives(solve: Callable[..., Any], w: Any, orders: int = 2) -> None:
    def ours(w: Any, b: Any) -> Any:
        return loss(solve, w, b)

    def both(w: Any, b: Any, v: Any) -> Any:
        if orders == 1:
            value, slopes = rlx.value_and_grad(ours, (0, 1))(w, b)
            return value, *slopes
        (value, slopes), (tangent, second) = rlx.jvp(rlx.value_and_grad(ours, (0, 1)))((w, b), (w * w, v))
        return value, *slopes, tangent, *second

    def expected(w: Any, b: Any, v: Any) -> Any:
        (value, slopes), (tangent, second) = jax.jvp(jax.value_and_grad(theirs, (0, 1)), (w, b), (w * w, v))
        return value, *slopes, tangent, *second

    arrays = w, RIGHT, ALONG
    for one, other in zip(evaluated(both, *arrays), jaxpr.evaluate(expected, *arrays), strict=orders == 2):
        near(one, other)


@pytest.mark.parametrize("name", NAMES)
def test_derivatives_are_those_of_a_direct_solver(name: str) -> None:
    w = matrix_of(name)
    diagonal = 1 / np.arange(1.0, 6.0)

    def preconditioned(x: Any) -> Any:
        """Not symmetric where the system is not: the transposed system has the transpose of it."""
        low = x["b"][0] * diagonal[2:]
        return {"a": x["a"] * diagonal[:2] + (0.2 * low[:2] if name != "cg" else 0.0), "b": (low,)}

    def solve(a: Any, b: Any) -> Any:
        return getattr(rlx.solvers, name)(a, b, tol=1e-13, M=preconditioned)[0]

    check_derivatives(solve, w, 2 if name == "cg" else 1)


def test_custom_linear_solve_takes_any_solver() -> None:
    def dense(matvec: Any, b: Any) -> Any:
        vector, unravel = rlx.tree.ravel(b)
        columns = rlx.jacfwd(lambda x: rlx.tree.ravel(matvec(unravel(x)))[0])(vector)
        return unravel(np.linalg.solve(columns, vector))

    def richardson(matvec: Any, b: Any) -> Any:
        """Without a derivative of its own."""

        def step(x: Any) -> Any:
            return rlx.tree.map(lambda p, q, r: p + 0.3 * (q - r), x, b, matvec(x))

        zeros = rlx.tree.map(np.zeros_like, b)
        return rlx.while_loop(lambda c: c[0] < 80, lambda c: (c[0] + 1, step(c[1])), (np.int32(0), zeros))[1]

    check_derivatives(lambda a, b: rlx.solvers.custom_linear_solve(a, b, dense), GENERAL)
    check_derivatives(lambda a, b: rlx.solvers.custom_linear_solve(a, b, richardson, richardson), GENERAL, 1)
    with_aux = evaluated(
        lambda w, b: rlx.solvers.custom_linear_solve(
            lambda x: w @ x, b, lambda f, b: (np.linalg.solve(w, b), b.sum()), symmetric=True, has_aux=True
        ),
        SYMMETRIC,
        RIGHT,
    )
    near(with_aux[0], np.linalg.solve(SYMMETRIC, RIGHT))
    near(with_aux[1], RIGHT.sum())


def test_forward_mode_repeats() -> None:
    def along(b: Any, v: Any) -> Any:
        def inner(b: Any) -> Any:
            return rlx.jvp(lambda b: loss(lambda a, b: rlx.solvers.cg(a, b)[0], SYMMETRIC, b))((b,), (v,))[1]

        return rlx.jvp(inner)((b,), (v,))[1]

    expected = jax.jvp(lambda b: jax.jvp(lambda b: theirs(SYMMETRIC, b), (b,), (ALONG,))[1], (RIGHT,), (ALONG,))[1]
    near(evaluated(along, RIGHT, ALONG), expected, 1e-4)


@pytest.mark.parametrize("name", NAMES)
def test_batches_converge_one_by_one(name: str) -> None:
    """Among them a right side of zeros, and three that end at once."""
    solve, w = getattr(rlx.solvers, name), matrix_of(name)
    matrices = np.stack([w, w + np.eye(N), w * 2, w, w, 0 * w])
    rights = np.stack([RIGHT, 0 * RIGHT, ALONG, RIGHT * np.nan, RIGHT * np.inf, RIGHT])
    x, info = evaluated(rlx.vmap(lambda a, b: solve(a, b, tol=1e-12)), matrices, rights)
    near(x[:3], np.linalg.solve(matrices[:3], rights[:3, :, None])[..., 0])
    assert np.isnan(x[3:5]).all() and np.isfinite(x[5]).all()
    assert info[:5].tolist() == [0, 0, 0, -1, -1] and info[5] != 0


@pytest.mark.parametrize("name", NAMES)
def test_options_types_and_sizes(name: str) -> None:
    solve, w = getattr(rlx.solvers, name), matrix_of(name)

    def run(a: Any, b: Any, **options: Any) -> tuple[Any, int]:
        x, info = evaluated(lambda a, b: solve(a, b, **options), a, b)
        assert x.dtype == b.dtype
        return x, int(info)

    near(run(w[:1, :1].astype(np.float32), RIGHT[:1].astype(np.float32))[0], RIGHT[:1] / w[0, 0], 1e-6)
    assert run(w[:0, :0], RIGHT[:0])[1] == 0
    few = {"restart": 2} if name == "gmres" else {}
    assert run(w, RIGHT, maxiter=1, tol=1e-12, **few)[1] == 1
    turned = w + 1j * (B - B.T) / 3
    x, info = run(turned, RIGHT + 1j * ALONG, tol=1e-12, x0=RIGHT, M=np.diag(1 / np.diag(w)), **few)
    near(x, np.linalg.solve(turned, RIGHT + 1j * ALONG))
    assert info == 0


def test_messages_name_the_argument() -> None:
    cases: list[tuple[Callable[[], Any], str]] = [
        (lambda: rlx.solvers.cg(np.ones((2, 3)), RIGHT), r"cg: A: expected a square matrix or a function, got shape"),
        (lambda: rlx.solvers.gmres(lambda x: x[:2], RIGHT), r"gmres: the result of A: expected shape \[5\] like b"),
        (lambda: rlx.solvers.cg(lambda x: (x, x), RIGHT), r"cg: the result of A: expected a tree"),
        (lambda: rlx.solvers.gmres(GENERAL, RIGHT, restart=0), r"gmres: restart: expected an integer of at least 1"),
        (lambda: rlx.solvers.cg(SYMMETRIC, "b"), r"b: expected an array, got 'b'"),
        (lambda: rlx.solvers.custom_linear_solve(3, RIGHT, np.multiply), r"matvec: expected a function, got 3"),
    ]
    for call, message in cases:
        with pytest.raises(rlx.GraphError, match=message):
            call()
