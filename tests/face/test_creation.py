"""Ranges, identities, triangles and one-hot vectors, against NumPy; and that none of them is a constant in memory."""

import jax
import numpy as np
import pytest
from words import Word, check_gradients, check_values

import xdsl_rlx as rlx
from xdsl_rlx.dialects.errors import GraphError

RNG = np.random.default_rng(0)
ARRAYS = {"x": RNG.standard_normal((2, 3, 4)), "n": np.array([[0, 4, 7], [-1, 2, 2]])}

TRIANGLES: list[Word] = [
    (lambda g, x, n, k=k: (g.tril(x, k), g.triu(x, k)), lambda np_, x, n, k=k: (np_.tril(x, k), np_.triu(x, k)))
    for k in (0, 1, -1, 5)
]
WORDS: list[Word] = [
    *TRIANGLES,
    (lambda g, x, n: g.eye(3, 4, 1, "f64"), lambda np_, x, n: np_.eye(3, 4, 1)),
    (lambda g, x, n: g.eye(3, k=-1), lambda np_, x, n: np_.eye(3, k=-1)),
    (lambda g, x, n: g.one_hot(n, 5), lambda np_, x, n: np_.asarray(jax.nn.one_hot(n, 5))),
    (lambda g, x, n: g.one_hot(n, 5, 0), lambda np_, x, n: np_.asarray(jax.nn.one_hot(n, 5, axis=0))),
    (lambda g, x, n: g.one_hot(n, 5, 1, "i32"), lambda np_, x, n: np_.asarray(jax.nn.one_hot(n, 5, axis=1))),
    (lambda g, x, n: g.arange(7), lambda np_, x, n: np_.arange(7)),
    (lambda g, x, n: g.arange(2, 11, 3), lambda np_, x, n: np_.arange(2, 11, 3)),
    (lambda g, x, n: g.arange(5, -4, -2), lambda np_, x, n: np_.arange(5, -4, -2)),
    (lambda g, x, n: g.arange(5, 2), lambda np_, x, n: np_.arange(5, 2)),
    (lambda g, x, n: g.arange(0.5, 3, 0.7, "f64"), lambda np_, x, n: np_.arange(0.5, 3, 0.7)),
    (lambda g, x, n: g.linspace(1, 4, 7, dtype="f64"), lambda np_, x, n: np_.linspace(1, 4, 7)),
    (lambda g, x, n: g.linspace(1, 4, 7, False, "f64"), lambda np_, x, n: np_.linspace(1, 4, 7, False)),
    (lambda g, x, n: g.linspace(1, 4, 1, dtype="f64"), lambda np_, x, n: np_.linspace(1, 4, 1)),
    (lambda g, x, n: g.linspace(0.1, 0.7, 50, dtype="f64"), lambda np_, x, n: np_.linspace(0.1, 0.7)),
]


def test_values_are_those_of_numpy():
    check_values(WORDS, ARRAYS)


def test_derivatives_of_triangles_are_those_of_jax():
    check_gradients(TRIANGLES, ARRAYS, ["x"])


def test_element_types_are_those_of_numpy_or_f32():
    g = rlx.Graph("types")
    made = [g.arange(3), g.arange(3.0), g.arange(0, 1, 0.5), g.linspace(0, 1, 3), g.eye(2), g.arange(4, dtype="i8")]
    assert [value.dtype for value in made] == ["i64", "f32", "f32", "f32", "f32", "i8"]


def test_a_mask_is_no_constant_of_its_size():
    g = rlx.Graph("masked")
    x = g.input("x", (200, 300))
    g.set_outputs(g.reduce_sum(g.tril(x), 1))
    assert len(str(rlx.lower(g).module)) < 20_000
    assert len(rlx.fusion_report(g).groups) == 1
    a = np.random.default_rng(1).standard_normal((200, 300)).astype(np.float32)
    np.testing.assert_allclose(rlx.compile(g)(x=a)[0], np.tril(a).sum(1), rtol=1e-4, atol=1e-4)


def test_what_makes_no_range_is_said():
    g = rlx.Graph("wrong")
    with pytest.raises(GraphError, match="arange: expected a step other than 0"):
        g.arange(0, 3, 0)
    with pytest.raises(GraphError, match="arange: expected finite numbers, got 0 to inf by 1"):
        g.arange(float("inf"))
    with pytest.raises(GraphError, match="expected at least 0 points, got -1"):
        g.linspace(0, 1, -1)
    with pytest.raises(GraphError, match="one_hot: expected integers, got f32"):
        g.one_hot(g.constant([1.0]), 3)
