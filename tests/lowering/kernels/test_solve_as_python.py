"""Factorisations and solves as plain Python: what the functions say is what the kernels do."""

import numpy as np
import pytest
from as_python import run_as_python

import xdsl_rlx as rlx

SHAPES = [(1, 1), (2, 9), (2, 17), (9, 3), (9, 5), (2, 65)]
"""Matrices and rows: one by one in one block and in several, side by side, and block by block."""


def matrices(batch: int, n: int, dtype: str) -> np.ndarray:
    """Some singular, some with NaN, some that interchange every row."""
    rng = np.random.default_rng(n)
    a = rng.standard_normal((batch, n, n)).astype(dtype)
    if 1 < n < 65:
        a[0] = np.roll(np.diag(1.0 + np.arange(n)), 1, 0)
        a[1, :, n // 2] = 0.0
        a[-1, n - 1, 0] = np.nan if batch > 2 else 0.0
    return a


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(("batch", "n"), SHAPES)
def test_a_factorisation(batch: int, n: int, dtype: str):
    a = matrices(batch, n, dtype)
    g = rlx.Graph("factors")
    g.set_outputs(list(g.lu(g.input("a", a.shape, "f32" if dtype == "f4" else "f64"))))
    packed, pivots = rlx.compile(g)(a=a)
    found, steps = run_as_python(g, a)
    np.testing.assert_array_equal(steps, pivots)
    rtol, atol = (1e-4, 2e-5) if dtype == "f4" else (1e-12, 1e-13)
    np.testing.assert_allclose(found, packed, rtol, atol)


@pytest.mark.sampled
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("columns", [0, 1, 2])
@pytest.mark.parametrize(("batch", "n"), SHAPES)
def test_a_solve(batch: int, n: int, columns: int, transposed: bool):
    rng = np.random.default_rng(n)
    a = rng.standard_normal((batch, n, n)) / n + np.eye(n)
    steps = rng.integers(-1, n + 3, (batch, n)).astype(np.int32)
    b = rng.standard_normal((batch, n, columns) if columns else (batch, n))
    g = rlx.Graph("solves")
    operands = g.input("a", a.shape, "f64"), g.input("p", steps.shape, "i32"), g.input("b", b.shape, "f64")
    g.set_outputs([g.lu_solve(*operands, transposed)])
    (compiled,) = rlx.compile(g)(a=a, p=steps, b=b)
    (found,) = run_as_python(g, a, steps, b)
    np.testing.assert_allclose(found, compiled, rtol=1e-9, atol=1e-9)


@pytest.mark.sampled
@pytest.mark.parametrize("flags", list(np.ndindex(2, 2, 2)))
@pytest.mark.parametrize("columns", [0, 1, 3])
@pytest.mark.parametrize(("batch", "n"), [(1, 1), (2, 9), (2, 17), (9, 5), (2, 65), (1, 130)])
def test_a_triangle(batch: int, n: int, columns: int, flags: tuple[int, int, int]):
    """The other triangle is NaN: it is not read."""
    lower, transpose, unit = map(bool, flags)
    rng = np.random.default_rng(n)
    a = rng.standard_normal((batch, n, n)) / n + np.eye(n)
    a[(..., *(np.triu_indices(n, 1) if lower else np.tril_indices(n, -1)))] = np.nan
    b = rng.standard_normal((batch, n, columns) if columns else (batch, n))
    g = rlx.Graph("triangles")
    operands = g.input("a", a.shape, "f64"), g.input("b", b.shape, "f64")
    g.set_outputs([g.triangular_solve(*operands, lower, transpose, unit)])
    (compiled,) = rlx.compile(g, threads=1)(a=a, b=b)
    (found,) = run_as_python(g, a, b)
    np.testing.assert_allclose(found, compiled, rtol=1e-9, atol=1e-9)
    triangle = (np.tril if lower else np.triu)(a)
    triangle[:, range(n), range(n)] = 1.0 if unit else triangle[:, range(n), range(n)]
    matrices = np.swapaxes(triangle, 1, 2) if transpose else triangle
    exact = np.linalg.solve(matrices, b.reshape(batch, n, -1)).reshape(b.shape)
    np.testing.assert_allclose(compiled, exact, rtol=1e-9, atol=1e-9)
