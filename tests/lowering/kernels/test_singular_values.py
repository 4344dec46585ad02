"""Singular values without vectors, beside those of LAPACK in f64 and of arithmetic with more digits."""

from collections.abc import Callable

import numpy as np
import pytest
from as_python import run_as_python

import xdsl_rlx as rlx
from xdsl_rlx.lowering.kernels import factor, singular_values

mpmath = pytest.importorskip("mpmath", reason="values of graded matrices need more digits than f64 has")

Array = np.ndarray

SIZES = [(n, n) for n in (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 31, 33, 64, 65, 100, 130)]
SIZES += [(7, 6), (8, 5), (13, 7), (30, 6), (64, 20), (65, 40), (130, 64), (180, 70), (200, 5), (200, 6), (400, 140)]
SIZES += [(1000, 30), (5, 6), (6, 30), (20, 32), (3, 200), (0, 5), (5, 0)]


def values(a: Array) -> Array:
    return np.linalg.svd(a, compute_uv=False)


def dense(m: int, n: int) -> Array:
    return np.random.default_rng(m + 1000 * n).standard_normal((m, n))


def scales(count: int) -> Array:
    return 10.0 ** -np.linspace(0.0, 8.0, count)


def clustered(m: int, n: int) -> Array:
    """Each of three singular values many times."""
    left, right = (np.linalg.qr(dense(k, k + 1)[:, :k])[0] for k in (m, n))
    k = min(m, n)
    return left[:, :k] * (np.arange(k) % 3 + 1.0) @ right[:k]


def bidiagonal(m: int, n: int) -> Array:
    """Three blocks that do not meet, and rows of zeros."""
    d, e = np.arange(n) % 5.0, np.ones(max(n - 1, 0))
    e[n // 3 :: max(n // 3, 1)] = 0.0
    return np.pad(np.diag(d) + (np.diag(e, 1) if n > 1 else 0.0), ((0, max(m - n, 0)), (0, 0)))[:m]


KINDS: dict[str, Callable[[int, int], Array]] = {
    "dense": dense,
    "graded columns": lambda m, n: dense(m, n) * scales(n),
    "graded columns upwards": lambda m, n: dense(m, n) * scales(n)[::-1],
    "graded rows": lambda m, n: dense(m, n) * scales(m)[:, None],
    "graded rows upwards": lambda m, n: dense(m, n) * scales(m)[::-1, None],
    "clustered": clustered,
    "bidiagonal": bidiagonal,
    "diagonal": lambda m, n: np.eye(m, n) * np.arange(n),
    "identity": np.eye,
    "rank 2": lambda m, n: dense(m, 2) @ dense(2, n),
    "zero": lambda m, n: np.zeros((m, n)),
    "ones": lambda m, n: np.ones((m, n)),
    "zero row and column": lambda m, n: dense(m, n) * (np.arange(m) != m // 2)[:, None] * (np.arange(n) != n // 2),
    "large": lambda m, n: dense(m, n) * 2.0**100,
    "small": lambda m, n: dense(m, n) * 2.0**-100,
}


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape", SIZES, ids=lambda shape: "x".join(map(str, shape)))
def test_values(shape: tuple[int, int], dtype: str):
    a = np.stack([kind(*shape) for kind in KINDS.values()]).astype(dtype)
    found, n = rlx.compile(values)(a), min(shape)
    expected = np.linalg.svd(a.astype("f8"), compute_uv=False)
    scale = np.maximum(expected.max(-1, keepdims=True, initial=0.0), np.finfo(dtype).tiny)
    assert found.dtype == a.dtype
    assert (np.diff(found) <= 0.0).all() and not np.signbit(found).any()
    np.testing.assert_allclose(found / scale, expected / scale, 0, (n + 8) * np.finfo(dtype).eps)


def spectrum(diagonal: Array, beside: Array) -> Array:
    """The singular values of a bidiagonal matrix, to 200 digits: those of a symmetric one of zero diagonal."""
    n = len(diagonal)
    with mpmath.workdps(200):
        golub = mpmath.zeros(2 * n)
        entries = np.zeros(2 * n - 1)
        entries[::2], entries[1::2] = diagonal, beside
        for k, x in enumerate(entries):
            golub[k, k + 1] = golub[k + 1, k] = mpmath.mpf(float(x))
        found = mpmath.eigsy(golub, eigvals_only=True)
        return np.array(sorted((float(abs(x)) for x in found), reverse=True)[::2])


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("ratio", [0.9, 0.3, 1e-2])
@pytest.mark.parametrize("upwards", [False, True])
def test_small_values_of_bidiagonal_matrices_are_as_accurate_as_large_ones(dtype: str, ratio: float, upwards: bool):
    n, digits = 24, 1e-36 if dtype == "f8" else 1e-14
    sizes = np.maximum(ratio ** np.arange(n), digits)[:: -1 if upwards else 1]
    diagonal, beside = sizes.astype(dtype), (sizes[1:] * 0.7).astype(dtype)
    found = rlx.compile(values)(np.diag(diagonal) + np.diag(beside, 1))
    np.testing.assert_allclose(found, spectrum(diagonal, beside), 8 * np.finfo(dtype).eps)


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("dtype", "powers"), [("f4", [-149, -140, -126, -60, 60, 120]), ("f8", [-1074, -1022, -1000, 1000])]
)
@pytest.mark.parametrize("shape", [(6, 6), (40, 33), (90, 12)])
def test_scales(dtype: str, powers: list[int], shape: tuple[int, int]):
    """Matrices of any power of two, with subnormal numbers too, have the values of those near 1, times that power."""
    a = dense(*shape).astype(dtype)
    for power in powers:
        scaled = np.ldexp(a, power)
        # of subnormal numbers, the last digits are lost before
        expected = np.linalg.svd(np.ldexp(scaled.astype("f8"), -power), compute_uv=False)
        found, least = rlx.compile(values)(scaled).astype("f8"), float(np.finfo(dtype).smallest_subnormal)
        error = np.abs(np.ldexp(found, -power) - expected)
        limit = (min(shape) + 8) * np.finfo(dtype).eps * expected.max() + 0.5 * np.ldexp(least, -power)
        assert (error <= limit).all(), power


def test_values_beyond_the_largest_number_are_infinite():
    found = rlx.compile(values)(np.full((8, 8), 3e38, np.float32))
    assert np.isposinf(found[0]) and (found[1:] < 1e33).all()


@pytest.mark.sampled
@pytest.mark.parametrize("shape", [(5, 5), (9, 7), (40, 40), (90, 20), (20, 90)])
@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite_make_their_matrix_nan(shape: tuple[int, int], wrong: float):
    a = np.stack([dense(*shape)] * 3)
    a[1, shape[0] // 2, shape[1] - 1] = wrong
    found = rlx.compile(values)(a)
    assert np.isnan(found[1]).all()
    np.testing.assert_array_equal(found[0], found[2])
    assert np.isfinite(found[0]).all()


def test_bidiagonal_matrices_of_any_numbers_converge():
    """Graded, split and random spectra: no transform comes near the limit of iterations."""
    rng, n = np.random.default_rng(3), 40
    exponents = rng.uniform(-30.0, 0.0, (60, 2, n)) * (np.arange(60) % 3)[:, None, None] / 2.0
    numbers = 10.0**exponents * (rng.random((60, 2, n)) > np.arange(60)[:, None, None] % 4 / 20.0)
    a = numbers[:, 0, :, None] * np.eye(n) + numbers[:, 1, :, None] * np.eye(n, k=1)
    found, expected = rlx.compile(values)(a), np.linalg.svd(a, compute_uv=False)
    np.testing.assert_allclose(found, expected, 0, (n + 8) * 2.0**-52 * 2.0)


@pytest.mark.parametrize("shape", [(5, 5), (12, 9), (17, 17), (40, 6)])
def test_as_python(shape: tuple[int, int]):
    a = np.stack([dense(*shape), KINDS["graded rows upwards"](*shape), bidiagonal(*shape)])
    graph = rlx.trace(values, a)
    found = run_as_python(graph, a)[1]
    np.testing.assert_allclose(found, rlx.compile(values)(a), 1e-12, 1e-13)


@pytest.mark.parametrize("shape", [(300, 6, 6), (7, 40, 40), (5, 200, 30)])
def test_threads_do_not_change_values(shape: tuple[int, ...]):
    a = np.random.default_rng(0).standard_normal(shape)
    one, three = (rlx.compile(values, threads=threads)(a) for threads in (1, 3))
    np.testing.assert_array_equal(one, three)
    np.testing.assert_allclose(one, np.linalg.svd(a, compute_uv=False), 1e-12, 1e-12)


@pytest.mark.parametrize("n", [factor.SMALL_SVD_VALUES, factor.SMALL_SVD_VALUES + 1])
def test_values_are_those_of_a_program_with_vectors(n: int):
    a = dense(n + 2, n)
    _, found, _ = rlx.compile(lambda a: np.linalg.svd(a, full_matrices=False))(a)
    np.testing.assert_allclose(rlx.compile(values)(a), found, 1e-13)


def test_more_columns_are_those_of_lapack(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(singular_values, "MOST_COLUMNS", 8)
    a = dense(12, 9)
    np.testing.assert_allclose(rlx.compile(values)(a), values(a), 1e-13)
