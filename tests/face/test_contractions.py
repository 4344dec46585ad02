"""Products, traces and norms: values beside NumPy's, derivatives beside JAX's, and what labels that do not fit say."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from words import Word, check_gradients, check_values

import xdsl_rlx as rlx
from xdsl_rlx.dialects.errors import GraphError

RNG = np.random.default_rng(0)
ARRAYS = {
    "a": RNG.standard_normal((2, 3, 3)),
    "c": RNG.standard_normal((3, 4)),
    "d": RNG.standard_normal((2, 1, 4)),
    "v": RNG.standard_normal(3),
}


def _einsum(subscripts: str, names: str) -> Word:
    def call(m: Any, **xs: Any) -> Any:
        return m.einsum(subscripts, *(xs[name] for name in names))

    return call, call


EINSUMS = [
    _einsum(subscripts, names)
    for subscripts, names in (
        ("bij,jk->bik", "ac"),
        ("bij,jk", "ac"),
        ("bij,jk,bmk->bim", "acd"),
        ("bii->bi", "a"),
        ("bii", "a"),
        ("bij->ji", "a"),
        ("bii,ik->kb", "ac"),
        ("... i j , j -> ... i", "av"),
        ("...ij,...jk", "ac"),
        ("...,...->...", "dc"),
        ("bjk,jk->bj", "dc"),
        ("i,i", "vv"),
        ("i,j->ji", "vv"),
        ("i->", "v"),
        ("bij,bji->", "aa"),
        ("bij,bij->bij", "aa"),
        ("aij,akj,i->ik", "aav"),
        ("ij,bkj->bik", "cd"),
        ("ijk,j,k->i", "avv"),
    )
]


def _same(call: Callable[..., Any]) -> Word:
    return call, call


def _norm(m: Any) -> Any:
    return m.norm if isinstance(m, rlx.Graph) else m.linalg.norm


PRODUCTS = [
    _same(lambda m, a, c, d, v: (m.outer(v, c), m.inner(a, v), m.inner(a, a), m.inner(v, v))),
    _same(lambda m, a, c, d, v: (m.dot(a, v), m.dot(v, v), m.dot(v, a), m.dot(a, a), m.dot(a, c))),
    _same(lambda m, a, c, d, v: (m.vdot(a, 2.0 * a), m.tensordot(c, c), m.tensordot(a, c, 1), m.tensordot(v, v, 0))),
    _same(lambda m, a, c, d, v: (m.tensordot(a, c, ([1], [0])), m.tensordot(a, a, ([0, 2], [0, 1])))),
    _same(lambda m, a, c, d, v: (m.matmul(v, c), m.matmul(a, v), m.matmul(v, v), m.kron(c, a), m.kron(v, v))),
    _same(lambda m, a, c, d, v: (m.diagonal(c), m.diagonal(c, 2), m.diagonal(c, -1), m.diagonal(a, 1, 1, 2))),
    _same(lambda m, a, c, d, v: (m.diagonal(a, 0, 2, 0), m.diagonal(c, 4), m.diagonal(c, -2))),
    _same(lambda m, a, c, d, v: (m.trace(c), m.trace(c, 1), m.trace(a, 0, 1, 2), m.trace(a, -1, -1, 1))),
]
NORMS = [
    _same(lambda m, a, c, d, v: (_norm(m)(v), _norm(m)(a), _norm(m)(c), _norm(m)(a, axis=(1, 2)))),
    *(
        _same(lambda m, a, c, d, v, p=p: (_norm(m)(v, p), _norm(m)(a, p, axis=1, keepdims=True)))
        for p in (1, 2, 3, -2, 0.5, np.inf, -np.inf)
    ),
    *(
        _same(lambda m, a, c, d, v, p=p: (_norm(m)(c, p), _norm(m)(a, p, axis=(0, 2), keepdims=True)))
        for p in (1, -1, np.inf, -np.inf, "fro", 2, -2, "nuc")
    ),
]
COUNTED = [_same(lambda m, a, c, d, v: _norm(m)(v, 0))]


def test_values_are_those_of_numpy():
    check_values([*EINSUMS, *PRODUCTS, *NORMS, *COUNTED], ARRAYS)


def test_derivatives_of_einsums_are_those_of_jax():
    check_gradients(EINSUMS, ARRAYS, ["a", "c", "d", "v"], second=False)


def test_derivatives_of_products_and_norms_are_those_of_jax():
    check_gradients([*PRODUCTS, *NORMS], ARRAYS, ["a", "c", "v"], second=False)
    check_gradients([NORMS[0], NORMS[3]], ARRAYS, ["a", "v"])


def test_integers_and_complex_numbers_are_multiplied_too():
    arrays = {"n": RNG.integers(-5, 5, (3, 3)), "z": RNG.standard_normal((2, 3)) + 1j * RNG.standard_normal((2, 3))}
    words = [
        _same(lambda m, n, z: (m.einsum("ij,kj->ik", n, n), m.einsum("ii", n), m.trace(n), m.outer(n, n))),
        _same(lambda m, n, z: (m.einsum("ij,kj->ik", z, z), m.vdot(z, 1j * z), m.inner(z, z))),
        _same(lambda m, n, z: (_norm(m)(z), _norm(m)(z, 1, axis=1), _norm(m)(z, 3, axis=0))),
    ]
    check_values(words, arrays)


@pytest.mark.parametrize("ord", [None, 1, 2, 3, np.inf])
def test_a_norm_of_zeros_has_slope_zero(ord: float | None):
    g = rlx.Graph("norm")
    g.set_outputs(g.reduce_sum(g.norm(g.input("x", (2, 3), "f64"), ord, axis=1)))
    x = np.array([[0.0, 0, 0], [0, 3, -4]])
    (found,) = rlx.compile(rlx.grad(g, "x"))(x=x)
    p = 2 if ord is None else ord
    expected = np.array([0, 3, -4]) / 5 if p == 2 else {1: [0, 1, -1], 3: None, np.inf: [0, 0, -1]}[p]
    if expected is None:
        expected = np.array([0, 9, -16]) / (27 + 64) ** (2 / 3)
    np.testing.assert_allclose(found, [[0, 0, 0], expected], atol=1e-15)


@pytest.mark.parametrize(
    ("subscripts", "message"),
    [
        ("ij", "names 1 operands, got 2"),
        ("ijk,jk", "'ijk' does not fit an operand of rank 2"),
        ("i,jk", "'i' does not fit an operand of rank 2"),
        ("ij,jk->il", "asks for 'l', which no operand has"),
        ("ij,jk->ii", "repeats a label of the result"),
        ("ij,ij", "has the extents 3 and 4 for 'i'"),
        ("ii,jk", r"'i' has two extents in an operand of shape \[3, 4\]"),
        ("i1,jk", "has characters other than letters"),
        ("...j,jk->k", "has '...' in an operand and not in the result"),
    ],
)
def test_labels_that_do_not_fit(subscripts: str, message: str):
    g = rlx.Graph("wrong")
    with pytest.raises(GraphError, match=message):
        g.einsum(subscripts, g.input("x", (3, 4)), g.input("y", (4, 5)))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda g, x: g.tensordot(x, x, 3), r"expected at least 3 axes, got \[3, 4\] and \[3, 4\]"),
        (lambda g, x: g.tensordot(x, x, [1]), "a number of axes or two lists"),
        (lambda g, x: g.norm(x, 3), "a matrix has the orders"),
        (lambda g, x: g.norm(x, "max"), "ord 'max' is not one of fro, nuc"),
        (lambda g, x: g.norm(x, "fro", axis=0), "ord fro is only defined for matrices"),
        (lambda g, x: g.trace(x, 0, 1, -1), "diagonal: expected two different axes"),
    ],
)
def test_a_wrong_call_says_why(call: Callable[..., Any], message: str):
    g = rlx.Graph("wrong")
    with pytest.raises(GraphError, match=message):
        call(g, g.input("x", (3, 4)))
