"""Eigenvalues without vectors, beside those of LAPACK in f64."""

from collections.abc import Callable

import numpy as np
import pytest
from as_python import run_as_python

import xdsl_rlx as rlx

Array = np.ndarray

SIZES = [4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 100, 127, 128, 129]


def dense(n: int) -> Array:
    a = np.random.default_rng(n).standard_normal((n, n))
    return a + a.T


def graded(n: int) -> Array:
    """From large numbers to small ones, and the other way round: blocks that are turned."""
    scales = 10.0 ** -np.linspace(0.0, 6.0, n)
    return dense(n) * np.outer(scales, scales)


def tridiagonal(n: int) -> Array:
    """Two blocks that do not meet."""
    beside = np.ones(n - 1)
    beside[n // 2] = 0.0
    return np.diag(np.arange(n) % 3 - 1.0) + np.diag(beside, 1) + np.diag(beside, -1)


def repeated(n: int) -> Array:
    """Each of three eigenvalues many times."""
    q, _ = np.linalg.qr(np.random.default_rng(n).standard_normal((n, n)))
    return (q * (np.arange(n) % 3 - 1.0)) @ q.T


KINDS: dict[str, Callable[[int], Array]] = {
    "dense": dense,
    "graded": graded,
    "graded upwards": lambda n: graded(n)[::-1, ::-1],
    "tridiagonal": tridiagonal,
    "repeated": repeated,
    "zero": lambda n: np.zeros((n, n)),
    "diagonal": lambda n: np.diag(np.random.default_rng(n).permutation(n) - 2.0),
    "ones": lambda n: np.ones((n, n)),
    "opposite": lambda n: np.kron(np.eye(-(-n // 2)), [[0.0, 1.0], [1.0, 0.0]])[:n, :n],
    "large": lambda n: dense(n) * 2.0**100,
    "small": lambda n: dense(n) * 2.0**-100,
}


@pytest.mark.sampled(most=11)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("n", SIZES)
def test_eigenvalues(n: int, dtype: str):
    a = np.stack([kind(n) for kind in KINDS.values()]).astype(dtype)
    found = rlx.compile(np.linalg.eigvalsh)(a)
    expected = np.linalg.eigvalsh(a.astype("f8"))
    scale = np.maximum(np.abs(expected).max(-1, keepdims=True), np.finfo(dtype).tiny)
    assert found.dtype == a.dtype
    np.testing.assert_allclose(found / scale, expected / scale, 0, (n + 8) * np.finfo(dtype).eps)


@pytest.mark.sampled
@pytest.mark.parametrize("n", [4, 9, 40, 128])
@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite_make_their_matrix_nan(n: int, wrong: float):
    a = np.stack([dense(n)] * 3)
    a[1, n // 2, n - 1] = wrong
    found = rlx.compile(np.linalg.eigvalsh)(a)
    assert np.isnan(found[1]).all()
    np.testing.assert_array_equal(found[0], found[2])
    assert np.isfinite(found[0]).all()


@pytest.mark.parametrize("n", [4, 6, 19])
def test_as_python(n: int):
    a = np.stack([dense(n), graded(n), tridiagonal(n)])
    graph = rlx.trace(np.linalg.eigvalsh, a)
    found = run_as_python(graph, a)[0]
    np.testing.assert_allclose(found, rlx.compile(np.linalg.eigvalsh)(a), 1e-12, 1e-13)


@pytest.mark.parametrize("threads", [1, 2])
def test_many_matrices(threads: int):
    a = np.random.default_rng(0).standard_normal((300, 6, 6))
    found = rlx.compile(np.linalg.eigvalsh, threads=threads)(a)
    np.testing.assert_allclose(found, np.linalg.eigvalsh((a + a.swapaxes(-1, -2)) / 2), 1e-12, 1e-12)
