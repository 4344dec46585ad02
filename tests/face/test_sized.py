"""Functions whose results have a given size, and histograms, against JAX and NumPy on the oracle."""

import re
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import oracle
import pytest
from numerics import jaxpr

import xdsl_rlx as rlx

jax.config.update("jax_enable_x64", True)

X = np.array([[3.0, 0.0, 1.0], [3.0, -2.0, 0.0]])
N = np.array([5, 1, 5, 7, 0, 1, -3])
M = np.array([7, 2, 1, 1, 7])
NAN = np.array([np.nan, 1.0, np.nan, 0.0])
CALLS: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "nonzero": lambda f, x, n, m: [
        [f.nonzero(x, size=size), f.nonzero(x, size=size, fill_value=-1), f.nonzero(n, size=size)]
        for size in (0, 2, 4, 9)
    ],
    "nonzero of bools": lambda f, x, n, m: f.nonzero(x > 0, size=3, fill_value=(7, 8)),
    "flatnonzero": lambda f, x, n, m: [f.flatnonzero(x, size=6), f.flatnonzero(x, size=6, fill_value=9)],
    "argwhere": lambda f, x, n, m: [f.argwhere(x, size=3), f.argwhere(n, size=9, fill_value=-1)],
    "unique": lambda f, x, n, m: [f.unique(one, size=size) for one in (x, n) for size in (0, 2, 4, 8)],
    "unique with all": lambda f, x, n, m: [
        f.unique(one, True, True, True, size=9, fill_value=fill) for one in (x, n, NAN) for fill in (None, 4)
    ],
    "unique, cut": lambda f, x, n, m: f.unique(n, return_counts=True, return_index=True, size=2),
    "union1d": lambda f, x, n, m: [f.union1d(n, m, size=5), f.union1d(n, x, size=20, fill_value=-9)],
    "intersect1d": lambda f, x, n, m: [f.intersect1d(n, m, size=4), f.intersect1d(n, m, size=4, fill_value=-9)],
    "setdiff1d": lambda f, x, n, m: [f.setdiff1d(n, m, size=5), f.setdiff1d(n, m, size=5, fill_value=-9)],
    "bincount": lambda f, x, n, m: [
        [f.bincount(one, length=length), f.bincount(one, x.ravel()[:5].repeat(2)[: len(one)], length=length)]
        for one in (n, m)
        for length in (0, 3, 9)
    ],
    "histogram": lambda f, x, n, m: [
        f.histogram(x, 4),
        f.histogram(n, np.array([0, 2, 5])),
        f.histogram(x, 2, (0, 3), weights=x, density=True),
        f.histogram(x, np.linspace(-2.0, 3.0, 301)),
    ],
}


def arrays(tree: Any) -> list[Any]:
    """The leaves of a tree."""
    return rlx.tree.flatten(tree)[0]


@pytest.mark.parametrize("name", CALLS)
def test_a_function_with_a_size_is_that_of_jax(name: str) -> None:
    graph = rlx.trace(lambda x, n, m: arrays(CALLS[name](rlx, x, n, m)), X, N, M)
    found = oracle.evaluate(graph.module, X, N, M)
    if name == "histogram":
        # the counts of JAX are floats
        expected = arrays(CALLS[name](np, X, N, M))
    else:
        expected = jaxpr.evaluate(lambda x, n, m: arrays(CALLS[name](jnp, x, n, m)), X, N, M)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)
        assert ours.dtype == theirs.dtype or ours.dtype.kind == theirs.dtype.kind == "i"


def test_they_compute_arrays_and_batches() -> None:
    np.testing.assert_array_equal(rlx.unique(N, size=3), [-3, 0, 1])
    np.testing.assert_array_equal(rlx.nonzero(X[0], size=2)[0], [0, 2])
    np.testing.assert_array_equal(
        rlx.vmap(lambda n: rlx.bincount(n, length=3))(np.array([[0, 0, 2], [1, 1, 5]])), [[2, 0, 1], [0, 2, 0]]
    )


def test_the_weights_of_counts_are_differentiable() -> None:
    weights = np.arange(3.0)
    slope = rlx.trace(rlx.grad(lambda w: (rlx.bincount(N[:3], w, length=8) ** 2).sum()), weights)
    np.testing.assert_array_equal(oracle.evaluate(slope.module, weights)[0], [4, 2, 4])


WRONG: dict[str, Callable[[Any], Any]] = {
    "bincount: length: expected an integer, the number of bins, got None": lambda x: rlx.bincount(x),
    "bincount: x: expected a vector of integers, got tensor<2x3xf64>": lambda x: rlx.bincount(x, length=3),
    "bincount: weights: expected shape [2], as x, got [3]": lambda x: rlx.bincount(N[:2], x[0], length=3),
    "nonzero: size: expected an integer, the number of elements of the result, got None": lambda x: rlx.nonzero(x),
    "nonzero: size: expected an integer of at least 0, got -1": lambda x: rlx.nonzero(x, size=-1),
    "nonzero: fill_value: expected one for each of 2 axes, got 3": lambda x: rlx.nonzero(
        x, size=1, fill_value=(1, 2, 3)
    ),
    "nonzero: a: expected at least one axis, got a scalar": lambda x: rlx.nonzero(x.sum(), size=1),
    "unique: ar: expected at least one element, got an empty array": lambda x: rlx.unique(x[:0], size=1),
    "np.unique does not support traced values: the shape of its result depends on concrete values; np.where(mask, x, 0)"
    " keeps the shape, rlx.unique(.., size=n) gives the first n": lambda x: np.unique(x),
    "np.histogram: bins: expected an integer or a vector of edges, got 'auto'": lambda x: np.histogram(x, "auto"),
    "np.histogram: bins: expected an integer of at least 1, got 0": lambda x: np.histogram(x, 0),
}


@pytest.mark.parametrize("message", WRONG)
def test_a_wrong_call_is_an_error_that_names_the_argument(message: str) -> None:
    with pytest.raises(rlx.GraphError, match=re.escape(message)):
        rlx.trace(WRONG[message], X)
