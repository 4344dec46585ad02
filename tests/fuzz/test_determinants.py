"""Derivatives of determinants beside those by mpmath: of matrices of any rank, with zero pivots anywhere.

`make test` takes one size in each type, and few modes; with EVERY_SAMPLE set in the environment, all.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false, reportUnknownLambdaType=false

from typing import Any

import mpmath as mp
import numpy as np
import pytest
from levels import EVERY

import xdsl_rlx as rlx

Array = np.ndarray[Any, Any]
SIZES = {np.float64: (*range(9), 40), np.float32: (*range(9), 40)} if EVERY else {np.float64: (4,), np.float32: (5,)}


def _cofactors(a: Any) -> Any:
    """`det(x) x^-T` of a regular matrix `x` so near that the rest does not count, of a matrix of mpmath."""
    n = a.rows
    noise = mp.matrix(np.random.default_rng(n).standard_normal((n, n)).tolist())
    x = a + noise * mp.mpf(10) ** -400
    return mp.det(x) * mp.inverse(x).T


def _array(x: Any) -> Array:
    return np.array([[float(x[i, j]) for j in range(x.cols)] for i in range(x.rows)])


def _expected(a: Array, t: Array) -> tuple[Array, Array]:
    """The cofactors of a matrix, and how they change along `t`."""
    if not a.size:
        return a, a
    with mp.workdps(1000):
        center, step = mp.matrix(a.tolist()), mp.mpf(10) ** -40
        cofactors = _cofactors(center)
        change = (_cofactors(center + mp.matrix(t.tolist()) * step) - cofactors) / step
        return _array(cofactors), _array(change)


def _turned(rng: np.random.Generator, a: Array) -> Array:
    """The same with its rows and columns in another order."""
    n = a.shape[0]
    return a[rng.permutation(n)][:, rng.permutation(n)]


def _matrices(rng: np.random.Generator, n: int) -> list[Array]:
    """Matrices of any rank, of norm 1."""
    found = [np.eye(n), _turned(rng, np.diag(rng.uniform(1, 2, n)))]
    for rank in {n, max(n - 1, 0), max(n - 2, 0), 0}:
        found.append(rng.standard_normal((n, rank)) @ rng.standard_normal((rank, n)))
        found.append(rng.integers(-2, 3, (n, rank)) @ rng.integers(-2, 3, (rank, n)) * 1.0)
        found.append(_turned(rng, np.diag(np.arange(n) < rank)) * rng.uniform(1, 2, (n, 1)))
    for k in {0, n // 2, n - 1} if n > 1 else ():
        for zeros in (k, rng.integers(n, size=2)):
            lower = np.eye(n) + np.tril(rng.integers(-1, 2, (n, n)), -1) / 2
            upper = np.triu(rng.integers(-2, 3, (n, n)), 1) / 4 + np.diag(rng.choice([1.0, 2.0, -1.0], n))
            upper[zeros, zeros] = 0
            found += [(lower @ upper).T, _turned(rng, (lower @ upper).T)]
        row, column, equal, sums = rng.standard_normal((4, n, n))
        row[k], column[:, k], equal[k] = 0, 0, equal[k - 1]
        sums[k] -= sums.sum(0)
        found += [row, column, equal, sums]
    if n > 1:
        triangle = np.tril(rng.standard_normal((n, n)), -1)
        found += [triangle, triangle.T, _turned(rng, triangle), np.eye(n, k=1), np.eye(n, k=-1)]
    return [x / (np.linalg.norm(x, 2) if x.any() else 1.0) for x in found]


def _modes(dtype: Any) -> Any:
    """Gradients, tangents and second derivatives along `t`, by names whose first word says which of the three."""

    def run(a: Any, t: Any) -> dict[str, Any]:
        det = np.linalg.det
        gradient = rlx.grad(det)

        def tangent(x: Any) -> Any:
            return rlx.jvp(det)((x,), (t,))[1]

        found: dict[str, Any] = {"gradient by vmap": rlx.vmap(gradient)(a)}
        if EVERY or dtype == np.float64:
            found["tangent"] = rlx.vmap(tangent)(a)
            found["change, forward over reverse"] = rlx.vmap(lambda x: rlx.jvp(gradient)((x,), (t,))[1])(a)
        if EVERY:
            found["gradient of a batch"] = rlx.grad(lambda a: det(a).sum())(a)
            found["change, reverse over forward"] = rlx.vmap(rlx.grad(tangent))(a)
            found["change, reverse twice"] = rlx.vmap(rlx.grad(lambda x: (gradient(x) * t).sum()))(a)
        return found

    return run


@pytest.mark.parametrize("dtype", SIZES)
def test_derivatives_of_determinants(dtype: Any):
    info = np.finfo(dtype)
    for n in SIZES[dtype]:
        rng = np.random.default_rng([n, 7])
        a = np.stack(_matrices(rng, n)).astype(dtype)
        t = rng.standard_normal((n, n)).astype(dtype)
        found = rlx.compile(_modes(dtype))(a, t)
        for k, x in enumerate(a.astype(np.float64)):
            cofactors, change = _expected(x, t.astype(np.float64))
            expected = {"gradient": cofactors, "tangent": (cofactors * t).sum(), "change": change}
            # errors are those of a matrix whose elements are off by roundings: a derivative of the next order
            values = np.linalg.svd(x, compute_uv=False)
            first, second = values[: max(n - 2, 0)].prod(), values[: max(n - 3, 0)].prod()
            least = float(values[n - 2]) if n > 1 else 1.0
            for mode, result in found.items():
                what = mode.split()[0].rstrip(",")
                size = max(abs(cofactors).max(initial=0), first)
                if what == "change":
                    if least < 1e3 * n * float(info.eps):
                        continue  # a matrix of lower rank than n - 1
                    size = max(abs(change).max(initial=0), second) / least
                allowed = 16 * (n + 1) * float(info.eps) * size + float(info.tiny)
                np.testing.assert_allclose(result[k], expected[what], 0, allowed, err_msg=f"{mode} {n} {k}: {x}")
