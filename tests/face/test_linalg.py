"""NumPy's linalg on graphs: values beside NumPy's, derivatives of any order beside JAX's, singular matrices."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numerics import jaxpr
from words import Word, check_gradients, check_values

import xdsl_rlx as rlx

RNG = np.random.default_rng(0)
ARRAYS = {
    "a": RNG.standard_normal((4, 4)) + 2 * np.eye(4)[[2, 0, 3, 1]],
    "s": RNG.standard_normal((2, 3, 3)) + 2 * np.eye(3),
    "b": RNG.standard_normal((2, 3, 2)),
    "v": RNG.standard_normal(4),
}


def _of(m: Any) -> Any:
    """Where the functions of linear algebra are: a graph has them beside the others."""
    return m if isinstance(m, rlx.Graph) else m.linalg


def _same(call: Callable[..., Any]) -> Word:
    return call, call


def _triangular(lower: bool, transpose: bool, unit: bool) -> list[Word]:
    def meaning(m: Any, a: Any, v: Any) -> Any:
        triangle = m.tril(a, -1 if unit else 0) if lower else m.triu(a, 1 if unit else 0)
        triangle = triangle + m.eye(a.shape[-1]) if unit else triangle
        return m.linalg.solve(m.swapaxes(triangle, -1, -2) if transpose else triangle, v)

    flags = (lower, transpose, unit)
    return [
        (lambda g, a, s, b, v: g.triangular_solve(a, v, *flags), lambda m, a, s, b, v: meaning(m, a, v)),
        (lambda g, a, s, b, v: g.triangular_solve(s, b, *flags), lambda m, a, s, b, v: meaning(m, s, b)),
    ]


SOLVES = [word for flags in np.ndindex(2, 2, 2) for word in _triangular(*map(bool, flags))]
WORDS = [
    _same(lambda m, a, s, b, v: (_of(m).inv(a), _of(m).inv(s))),
    _same(lambda m, a, s, b, v: (_of(m).det(a), _of(m).det(s), _of(m).det(s[:, :2, :2]), _of(m).det(s[..., :1, :1]))),
    _same(lambda m, a, s, b, v: (*_of(m).slogdet(a), *_of(m).slogdet(s), *_of(m).slogdet(-s))),
    _same(lambda m, a, s, b, v: _of(m).cholesky(a @ m.swapaxes(a, 0, 1))),
]


def _svd(m: Any, x: Any) -> Any:
    return m.svd(x) if isinstance(m, rlx.Graph) else m.linalg.svd(x, full_matrices=False)


SIGNLESS = [
    _same(lambda m, a, s, b, v: [abs(part) for part in (*_of(m).qr(a), *_of(m).qr(b))]),
    _same(lambda m, a, s, b, v: [abs(part) for part in _svd(m, b)]),
    _same(lambda m, a, s, b, v: _svd(m, m.swapaxes(b, 1, 2))[1]),
    _same(lambda m, a, s, b, v: abs(_of(m).eigh(a + m.swapaxes(a, 0, 1))[1])),
]
"""What libraries choose the signs of."""


def test_values_are_those_of_numpy():
    wide = _same(lambda m, a, s, b, v: [abs(part) for part in _of(m).qr(m.swapaxes(b, 1, 2))])
    check_values([*SOLVES, *WORDS, *SIGNLESS, wide], ARRAYS, 1e-10)


def test_derivatives_are_those_of_jax():
    check_gradients([*WORDS, *SIGNLESS], ARRAYS, ["a", "s", "b"], 1e-7, second=False)
    determinants = _same(lambda m, s, **_: (_of(m).inv(s), *_of(m).slogdet(s)))
    check_gradients([determinants], {"s": ARRAYS["s"]}, ["s"], 1e-7)
    check_gradients(SOLVES[::5], ARRAYS, ["a", "s", "b", "v"], 1e-7, second=False)


def test_a_small_determinant_has_its_derivative_where_it_is_zero():
    a = np.array([[1.0, 2, 3], [2, 4, 6], [0, 1, 1]])
    g = rlx.Graph("det")
    g.set_outputs(g.det(g.input("a", (3, 3), "f64")))
    (found,) = rlx.compile(rlx.grad(g, "a"))(a=a)
    minors = np.array([[np.linalg.det(np.delete(np.delete(a, i, 0), j, 1)) for j in range(3)] for i in range(3)])
    np.testing.assert_allclose(found, minors * (-1.0) ** np.add.outer(range(3), range(3)), atol=1e-12)


def test_of_singular_and_indefinite_matrices():
    g = rlx.Graph("singular")
    a = g.input("a", (4, 4), "f64")
    g.set_outputs([*g.slogdet(a), g.det(a), g.cholesky(a)])
    sign, log, det, factor = rlx.compile(g)(a=np.diag([1.0, 4.0, 0.0, -2.0]))
    assert (sign, log, det) == (0, -np.inf, 0)
    np.testing.assert_array_equal(np.diag(factor)[:3], [1, 2, 0])
    assert np.isnan(factor[3, 3])


def test_hessian_of_a_log_likelihood():
    """The curvature of `-log N(v; 0, a a^T + e^t)` by its covariance's scale, through a factor and its solves."""
    given = {"a": ARRAYS["a"], "v": ARRAYS["v"], "t": np.array(0.3)}

    def build(m: Any, a: Any, v: Any, t: Any) -> Any:
        covariance = a @ m.swapaxes(a, 0, 1) + m.exp(t) * m.eye(4, dtype="f64" if isinstance(m, rlx.Graph) else float)
        factor = _of(m).cholesky(covariance)
        if isinstance(m, rlx.Graph):
            white = m.triangular_solve(factor, v)
            return m.reduce_sum(white * white) * 0.5 + m.reduce_sum(m.log(m.diagonal(factor)))
        white = m.linalg.solve(factor, v)
        return m.sum(white * white) * 0.5 + m.sum(m.log(m.diagonal(factor)))

    g = rlx.Graph("likelihood")
    g.set_outputs(build(g, *(g.input(name, x.shape, "f64") for name, x in given.items())))
    (found,) = (np.asarray(x) for x in rlx.hessian(g, "a")(**given)[-1:])
    hessian = jax.hessian(lambda a: build(jnp, a, given["v"], given["t"]))
    (expected,) = jaxpr.evaluate(hessian, given["a"])
    np.testing.assert_allclose(found.reshape(expected.shape), expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("name", ["inv", "det", "slogdet"])
def test_matrices_are_square(name: str):
    g = rlx.Graph("wrong")
    with pytest.raises(rlx.GraphError, match=r"expected square matrices, got \[2, 3\]"):
        getattr(g, name)(g.input("a", (2, 3)))


def test_eigenvectors_of_equal_values_and_of_nan():
    equal = np.ones((4, 4)) + 2 * np.eye(4)
    g = rlx.Graph("eigh")
    a = g.input("a", (3, 4, 4), "f64")
    values, vectors = g.eigh(a)
    g.set_outputs([values, vectors, g.einsum("bik,bk,bjk->bij", vectors, g.exp(values), vectors)])
    given = np.stack([equal, np.zeros((4, 4)), np.full((4, 4), np.nan)])
    w, v, power = rlx.compile(g)(a=given)
    np.testing.assert_allclose(w[0], [2, 2, 2, 6], rtol=1e-14)
    np.testing.assert_allclose(v[0] * w[0] @ v[0].T, equal, atol=1e-14)
    np.testing.assert_allclose(v[0].T @ v[0], np.eye(4), atol=1e-14)
    np.testing.assert_array_equal(power[1], np.eye(4))
    assert np.isnan(w[2]).all()


def test_a_gradient_that_does_not_depend_on_the_choice_of_vectors():
    """Of `tr(a^2)`, through values of which three are equal: `2 a`."""
    given = np.diag([1.0, 3.0, 1.0, 1.0])
    g = rlx.Graph("squares")
    values, vectors = g.eigh(g.input("a", (4, 4), "f64"))
    again = g.einsum("ik,k,jk->ij", vectors, values, vectors)
    g.set_outputs(g.reduce_sum(again * again))
    (found,) = rlx.compile(rlx.grad(g, "a"))(a=given)
    np.testing.assert_allclose(found, 2 * given, atol=1e-13)


def test_singular_values_of_singular_matrices():
    given = np.stack([np.zeros((4, 3)), np.ones((4, 3)), np.diag([1.0, 0.0, -2.0, 0.0])[:, :3]])
    g = rlx.Graph("svd")
    g.set_outputs(list(g.svd(g.input("a", (3, 4, 3), "f64"))))
    u, s, vt = rlx.compile(g)(a=given)
    np.testing.assert_allclose(s, np.linalg.svd(given, compute_uv=False), atol=1e-14)
    assert not np.signbit(s).any()
    np.testing.assert_allclose(u * s[:, None] @ vt, given, atol=1e-14)
    for orthonormal in (np.swapaxes(u, 1, 2) @ u, vt @ np.swapaxes(vt, 1, 2)):
        np.testing.assert_allclose(orthonormal, np.broadcast_to(np.eye(3), (3, 3, 3)), atol=1e-14)
