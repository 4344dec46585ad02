"""Sorting, searching and running extremes beside NumPy's, with NaN, ties and both zeros; derivatives beside JAX's."""

from typing import Any

import numpy as np
import pytest
from words import Word, check_gradients, check_values

import xdsl_rlx as rlx
from xdsl_rlx.dialects.errors import GraphError

RNG = np.random.default_rng(0)
HARD = np.array([np.nan, 1, -np.inf, -0.0, 0.0, np.inf, 1, np.nan, -1, np.inf, -1e-30, 2])
ARRAYS = {
    "x": RNG.permutation(24).reshape(2, 3, 4) / 7.0 - 1.5,
    "h": np.stack([HARD, np.roll(HARD, 5), np.arange(12.0) % 3]),
    "n": RNG.integers(-2, 2, (3, 5)),
    "u": RNG.integers(0, 256, (3, 5)).astype(np.uint8),
}

SORTED: list[Word] = [
    (lambda g, x, h, n, u: (g.sort(x), g.sort(x, 0)), lambda m, x, h, n, u: (m.sort(x), m.sort(x, 0))),
    (lambda g, x, h, n, u: g.sort(x, None), lambda m, x, h, n, u: m.sort(x, None)),
    (lambda g, x, h, n, u: g.sort(x, 1), lambda m, x, h, n, u: m.sort(x, 1)),
]


def _accumulated(name: str, m: Any, x: Any, axis: int) -> Any:
    """NumPy and JAX say these by their functions of two arguments."""
    return getattr(m, name).accumulate(x, axis)


RUNNING: list[Word] = [
    (lambda g, x, h, n, u: (g.cumprod(x, 1), g.cumprod(x)), lambda m, x, h, n, u: (m.cumprod(x, 1), m.cumprod(x, -1))),
    (lambda g, x, h, n, u: g.cummax(x, 1), lambda m, x, h, n, u: _accumulated("maximum", m, x, 1)),
    (lambda g, x, h, n, u: g.cummin(x, -1), lambda m, x, h, n, u: _accumulated("minimum", m, x, -1)),
]


def _searches(side: str) -> list[Word]:
    return [
        (lambda g, x, h, n, u: g.searchsorted(g.sort(h[2]), x, side),
         lambda m, x, h, n, u: m.searchsorted(m.sort(h[2]), x, side)),
        (lambda g, x, h, n, u: g.searchsorted(g.sort(h[0]), h, side),
         lambda m, x, h, n, u: m.searchsorted(m.sort(h[0]), h, side)),
        (lambda g, x, h, n, u: g.searchsorted(g.sort(n[0]), n, side),
         lambda m, x, h, n, u: m.searchsorted(m.sort(n[0]), n, side)),
    ]  # fmt: skip


WORDS: list[Word] = [
    *SORTED,
    *RUNNING,
    *_searches("left"),
    *_searches("right"),
    (lambda g, x, h, n, u: (g.sort(h), g.argsort(h)), lambda m, x, h, n, u: (m.sort(h), m.argsort(h, stable=True))),
    (lambda g, x, h, n, u: g.argsort(n, 0), lambda m, x, h, n, u: m.argsort(n, 0, stable=True)),
    (lambda g, x, h, n, u: g.argsort(u, None), lambda m, x, h, n, u: m.argsort(u, None, stable=True)),
    (lambda g, x, h, n, u: g.argsort(n > 0), lambda m, x, h, n, u: m.argsort(n > 0, stable=True)),
    (lambda g, x, h, n, u: (g.argmax(h), g.argmin(h)), lambda m, x, h, n, u: (m.argmax(h), m.argmin(h))),
    (lambda g, x, h, n, u: (g.argmax(h, 1), g.argmin(h, 0)), lambda m, x, h, n, u: (m.argmax(h, 1), m.argmin(h, 0))),
    (lambda g, x, h, n, u: (g.argmax(n, 0), g.argmin(n, 1)), lambda m, x, h, n, u: (m.argmax(n, 0), m.argmin(n, 1))),
    (lambda g, x, h, n, u: (g.argmax(u), g.argmin(u, -1)), lambda m, x, h, n, u: (m.argmax(u), m.argmin(u, -1))),
    (lambda g, x, h, n, u: g.argmin(n > 0, 1), lambda m, x, h, n, u: m.argmin(n > 0, 1)),
    (
        lambda g, x, h, n, u: (g.argmax(x, 1, keepdims=True), g.argmin(x, keepdims=True)),
        lambda m, x, h, n, u: (m.argmax(x, 1, keepdims=True), m.argmin(x, keepdims=True)),
    ),
    (lambda g, x, h, n, u: (g.cummax(h), g.cummin(h, 0)), lambda m, x, h, n, u: (np.maximum.accumulate(h, 1), np.minimum.accumulate(h, 0))),  # noqa: E501
    (lambda g, x, h, n, u: g.cumprod(n, 0), lambda m, x, h, n, u: m.cumprod(n, 0)),
]  # fmt: skip


def test_values_are_those_of_numpy():
    check_values(WORDS, ARRAYS)


def test_derivatives_are_those_of_jax():
    check_gradients([*SORTED, *RUNNING], ARRAYS, ["x"])


def test_a_running_product_has_derivatives_at_zeros():
    arrays = {"x": np.array([[2.0, 0.0, 3.0, -1.5], [0.0, 1.0, 0.0, 2.0]])}
    check_gradients([(lambda g, x: g.cumprod(x, 1), lambda m, x: m.cumprod(x, 1))], arrays, ["x"])


def test_what_cannot_be_searched_is_said():
    g = rlx.Graph("wrong")
    x = g.input("x", (3, 0))
    with pytest.raises(GraphError, match=r"expected at least one element along the axis to reduce, got shape \[3, 0\]"):
        g.argmax(x, 1)
    with pytest.raises(GraphError, match=r"expected a vector to search in, got shape \[3, 0\]"):
        g.searchsorted(x, 1.0)
    with pytest.raises(GraphError, match="side 'middle' is not one of left, right"):
        g.searchsorted(g.input("y", (3,)), 1.0, "middle")


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "uint32", "float16"])
def test_searchsorted_is_that_of_numpy_at_any_length(dtype: str) -> None:
    rng = np.random.default_rng(5)
    numbers = rng.integers(0, 40, 130).astype(dtype)
    lengths = (0, 1, 2, 3, 31, 32, 33, 34, 63, 64, 65, 127, 130)
    wanted = numbers[:50].copy()
    if dtype.startswith("float"):
        numbers[::5], wanted[:4] = np.nan, (np.nan, np.inf, -np.inf, -0.0)
    rows = [np.sort(numbers[:n]) for n in lengths]

    def search(rows: list[Any], x: Any) -> list[Any]:
        return [np.searchsorted(row, x, side=side) for row in rows for side in ("left", "right")]

    for found, expected in zip(rlx.compile(search)(rows, wanted), search(rows, wanted), strict=True):
        np.testing.assert_array_equal(found, expected)
