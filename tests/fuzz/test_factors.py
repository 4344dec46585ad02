"""Factorisations of matrices of any size and scale, graded in any way, beside LAPACK's in f64."""

from collections.abc import Callable
from typing import Any

import numpy as np

import xdsl_rlx as rlx

Array = np.ndarray[Any, Any]

RANGE = {np.float32: (-37.0, 37.0), np.float64: (-307.0, 307.0)}
"""Decimal exponents of normal numbers."""


def _powers(rng: np.random.Generator, low: float, high: float, shape: tuple[int, ...]) -> Array:
    return 10.0 ** rng.uniform(low, high, shape)


def _matrices(rng: np.random.Generator, n: int, dtype: type[Any]) -> Array:
    """Of `n + 2` rows: of all scales, and such whose rows, columns or elements are of different ones."""
    low, high = RANGE[dtype]
    # sums of as many of the largest elements are numbers
    high -= np.log10(4.0 * (n + 2))
    rows = n + 2
    found: list[Array] = []
    for exponent in (low, 0.6 * low, 0.3 * low, 0.0, 0.3 * high, 0.6 * high, high):
        x = rng.standard_normal((rows, n))
        found.append(x / np.abs(x).max() * 10.0**exponent)
    x = rng.uniform(-1, 1, (rows, n))
    found.append(x * _powers(rng, low, high, (n,)))
    found.append(x * _powers(rng, low, high, (rows, 1)))
    found.append(x * _powers(rng, low, high, (rows, n)))
    found.append(np.concatenate([np.diag(_powers(rng, low / 2, high / 2, (n,))), np.zeros((2, n))]))
    found.append(np.concatenate([x[:, :1], x[:, 1:] * 10.0 ** (0.8 * low)], 1))
    found.append(np.zeros((rows, n)))
    return np.stack(found).astype(dtype)


def _factors(n: int) -> Callable[[Any], Any]:
    def program(a: Any) -> Any:
        square = a[:, :n]
        return np.linalg.qr(a), np.linalg.svd(a, full_matrices=False), np.linalg.eigh(square)

    return program


def _check_factors(n: int, dtype: type[Any], rng: np.random.Generator) -> None:
    a = _matrices(rng, n, dtype)
    (q, r), (u, s, vt), (w, v) = rlx.compile(_factors(n))(a)
    wide, tolerance = np.float64, 8 * (n + 2) * np.finfo(dtype).eps
    for k, given in enumerate(a):
        largest = float(np.abs(given).max()) or 1.0
        x = given.astype(wide) / largest
        mean = (x[:n] + x[:n].T) / 2
        for columns in (q[k], u[k], vt[k].T, v[k]):
            np.testing.assert_allclose(columns.T.astype(wide) @ columns, np.eye(n), rtol=0, atol=tolerance)
        left = [
            q[k].astype(wide) @ (r[k] / largest) - x,
            (u[k] * (s[k].astype(wide) / largest)) @ vt[k] - x,
            (v[k] * (w[k].astype(wide) / largest)) @ v[k].T - mean,
            s[k] / largest - np.linalg.svd(x, compute_uv=False),
            w[k] / largest - np.linalg.eigvalsh(mean),
        ]
        for rest in left:
            np.testing.assert_allclose(rest, 0, rtol=0, atol=tolerance, err_msg=f"matrix {k}")


def test_factors_of_matrices_of_any_scale(rare_seed: int):
    rng = np.random.default_rng([35, rare_seed])
    n = (1, 3, 8, 9, 24, 48)[rare_seed // 5] if rare_seed < 30 else int(rng.integers(1, 49))
    for dtype in RANGE:
        _check_factors(n, dtype, rng)


def test_cholesky_of_the_largest_and_the_smallest_numbers():
    base = np.array([[1.0, 0.5, 0.25], [0.5, 1.0, 0.5], [0.25, 0.5, 1.0]])
    for dtype in RANGE:
        limits = np.finfo(dtype)
        scales = np.array([limits.tiny * 16, 1e-20, 1.0, 1e20, limits.max], dtype)
        a = (base * scales[:, None, None]).astype(dtype)
        factors = rlx.compile(np.linalg.cholesky)(a)
        expected = np.linalg.cholesky(base) * np.sqrt(scales.astype(np.float64))[:, None, None]
        np.testing.assert_allclose(factors, expected, rtol=8 * float(limits.eps))
