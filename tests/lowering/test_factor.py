"""Factorisations around the sizes from which on LAPACK or blocks do them: the same promises, whoever computes."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from cost_models import costs
from numerics.families.factor import positive, spread

import xdsl_rlx as rlx
from xdsl_rlx.dialects.lir import LapackOp, LaunchOp
from xdsl_rlx.lowering.backend.runtime.compile_module import lower_to_lir
from xdsl_rlx.lowering.kernels import factor

Array = np.ndarray[Any, Any]
Parts = tuple[Array, ...]

MOST = {
    "cholesky": factor.SMALL_CHOLESKY,
    "eigh": factor.SMALL_EIGH,
    "qr": factor.SMALL_QR,
    "svd": factor.SMALL_SVD,
}
"""The columns up to which loops of our own do it."""

CASES = [(op, most + more, dtype) for op, most in MOST.items() for more, dtype in ((0, "f64"), (1, "f32"), (21, "f64"))]
TYPES = {"f32": np.float32, "f64": np.float64}


def _graph(op: str, shape: tuple[int, ...], dtype: str = "f64") -> rlx.Graph:
    g = rlx.Graph(op)
    made: Any = getattr(g, op)(g.input("a", shape, dtype))
    g.set_outputs(list(made) if isinstance(made, tuple) else made)
    return g


def _shape(op: str, n: int) -> tuple[int, ...]:
    return (3, n + 5, n) if op in ("qr", "svd") else (3, n, n)


def _given(op: str, shape: tuple[int, ...]) -> Array:
    rng = np.random.default_rng(shape[-1])
    if op in ("cholesky", "eigh"):
        return (positive if op == "cholesky" else spread)(rng, shape)
    return rng.standard_normal(shape)


def _turned(x: Array) -> Array:
    return np.swapaxes(x, -1, -2)


def _check_cholesky(a: Array, factor: Array) -> Array:
    assert (np.triu(factor, 1) == 0).all() and (np.diagonal(factor, 0, 1, 2) > 0).all()
    return factor @ _turned(factor) - (a + _turned(a)) / 2


def _check_eigh(a: Array, w: Array, v: Array) -> Array:
    assert (np.diff(w) >= 0).all() and (v[:, 0] >= 0).all()
    _check_orthonormal(v)
    return v * w[:, None] @ _turned(v) - (a + _turned(a)) / 2


def _check_qr(a: Array, q: Array, r: Array) -> Array:
    assert (np.tril(r, -1) == 0).all() and (np.diagonal(r, 0, 1, 2) >= 0).all()
    _check_orthonormal(q)
    return q @ r - a


def _check_svd(a: Array, u: Array, s: Array, vt: Array) -> Array:
    assert (np.diff(s) <= 0).all() and (s >= 0).all() and (vt[..., 0] >= 0).all()
    _check_orthonormal(u)
    _check_orthonormal(_turned(vt))
    np.testing.assert_allclose(s, np.linalg.svd(a, compute_uv=False), atol=_tolerance(s))
    return u * s[:, None] @ vt - a


def _check_orthonormal(x: Array) -> None:
    np.testing.assert_allclose(_turned(x) @ x, np.broadcast_to(np.eye(x.shape[-1]), _square(x)), atol=_tolerance(x))


def _square(x: Array) -> tuple[int, ...]:
    return *x.shape[:-2], x.shape[-1], x.shape[-1]


def _tolerance(x: Array) -> float:
    return float(x.shape[-1] * 8 * np.finfo(x.dtype).eps)


CHECKS: dict[str, Callable[..., Array]] = {
    "cholesky": _check_cholesky,
    "eigh": _check_eigh,
    "qr": _check_qr,
    "svd": _check_svd,
}


@pytest.mark.parametrize(("op", "n", "dtype"), CASES)
def test_factors_are_those_of_the_matrix(monkeypatch: pytest.MonkeyPatch, op: str, n: int, dtype: str):
    """Three matrices, one after the other and by two threads, with every access checked: the same bits."""
    shape = _shape(op, n)
    g = _graph(op, shape, dtype)
    calls = [x for x in lower_to_lir(g.module).walk() if isinstance(x, LapackOp)]
    assert bool(calls) == (n > MOST[op] and op != "cholesky")
    a = _given(op, shape).astype(TYPES[dtype])
    found = rlx.compile(g, threads=1)(a=a)
    left = CHECKS[op](a, *found)
    assert np.abs(left).max() <= _tolerance(a) * np.abs(a).max() * 4
    monkeypatch.setenv("XDSL_RLX_CHECK", "1")
    with costs(parallel_ops=1):
        again = rlx.compile(g, threads=2)(a=a)
    for one, other in zip(found, again, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("more", [0, 1])
@pytest.mark.parametrize("op", MOST)
def test_numbers_that_are_not_finite_give_nan(op: str, more: int):
    """Of their own matrices of a batch, and not of the other one."""
    shape = _shape(op, MOST[op] + more)
    a = _given(op, shape)
    a[0, 3, 2], a[2, 3, 2] = np.nan, np.inf
    found = rlx.compile(_graph(op, shape))(a=a)
    for x in found:
        assert np.isfinite(x[1]).all()
        for other in x[[0, 2]]:
            missing = np.isnan(other)
            assert missing.all() if op in ("eigh", "svd") else missing.any()


@pytest.mark.parametrize("more", [0, 1, 21])
@pytest.mark.parametrize("at", [0, 11, 40])
def test_cholesky_has_nan_from_the_column_on_that_has_none(at: int, more: int):
    shape = _shape("cholesky", MOST["cholesky"] + more)
    a = _given("cholesky", shape)
    (right,) = rlx.compile(_graph("cholesky", shape))(a=a)
    a[1, at, at] = -1.0
    (found,) = rlx.compile(_graph("cholesky", shape))(a=a)
    np.testing.assert_array_equal(found[[0, 2]], right[[0, 2]])
    np.testing.assert_allclose(found[1, :, :at], right[1, :, :at], rtol=1e-12, atol=1e-13)
    n = shape[-1]
    rows, columns = np.tril_indices(n)
    assert np.isnan(found[1, rows, columns][columns >= at]).all()
    assert (np.triu(found[1], 1)[:, : at + 1] == 0).all()


@pytest.mark.parametrize("op", ["eigh", "svd"])
def test_matrices_of_no_rank_and_of_extreme_size(op: str):
    """Zeros, ones, and numbers of which squares overflow or vanish."""
    n = MOST[op] + 1
    whole = _given(op, (n, n))
    a = np.stack([np.zeros((n, n)), np.ones((n, n)), whole * 1e200, whole * 1e-200])
    found = rlx.compile(_graph(op, a.shape))(a=a)
    scale = np.array([1, n, 1e200, 1e-200])
    parts = (found[0] / scale[:, None], found[1]) if op == "eigh" else (found[0], found[1] / scale[:, None], found[2])
    left = CHECKS[op](a / scale[:, None, None], *parts)
    assert np.abs(left).max() <= _tolerance(a) * n


@pytest.mark.parametrize("op", MOST)
def test_gradients_of_what_lapack_computed(op: str):
    """Along one direction, beside a difference of second order."""
    shape = _shape(op, MOST[op] + 1)[1:]
    a, rng = _given(op, shape), np.random.default_rng(1)
    if op == "svd":
        a[: shape[1]] += np.diag(3.0 * np.arange(1, shape[1] + 1))
    g = rlx.Graph(op)
    made: Any = getattr(g, op)(g.input("a", shape, "f64"))
    parts: tuple[Any, ...] = made if isinstance(made, tuple) else (made,)
    total: Any = sum(g.reduce_sum(x * g.constant(rng.standard_normal(x.shape))) for x in parts)
    g.set_outputs(total)
    run, step = rlx.compile(g), 1e-5
    (slope,) = rlx.compile(rlx.grad(g, "a"))(a=a)
    toward = rng.standard_normal(shape)
    toward /= np.abs(toward).max()
    ends = [float(run(a=a + way * step * toward)[0]) for way in (1, -1)]
    np.testing.assert_allclose((slope * toward).sum(), (ends[0] - ends[1]) / (2 * step), rtol=1e-5)


@pytest.mark.parametrize(
    ("op", "shape", "most"),
    [
        ("eigvalsh", (512, 512), [4]),
        ("eigvalsh", (1, 400, 400), [3]),
        ("eigvalsh", (399, 399), []),
        ("eigvalsh", (2, 400, 400), []),
        ("qr", (800, 800), [6]),
    ],
)
def test_lapack_has_threads_for_a_single_large_matrix(op: str, shape: tuple[int, ...], most: list[int]):
    """Batches are cut up instead: each thread has matrices of its own."""
    function: Any = getattr(np.linalg, op)
    a = np.random.default_rng(0).standard_normal(shape)
    a = a + a.swapaxes(-1, -2) if op == "eigvalsh" else a
    launches = [x for x in lower_to_lir(rlx.trace(function, a).module, 2).walk() if isinstance(x, LaunchOp)]
    assert [x.most_blas_threads for x in launches if x.blas_threads] == most
    for ours, exact in zip(np.atleast_1d(rlx.compile(function, threads=2)(a)), np.atleast_1d(function(a)), strict=True):
        np.testing.assert_allclose(abs(ours), abs(exact), atol=1e-11 * abs(exact).max(), rtol=0)


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("backend", ["llvm", "numba"])
def test_values_alone_are_those_beside_vectors(dtype: str, backend: Any):
    """LAPACK is asked for no vectors where none are read, from fewer columns on."""

    def singular(a: Any) -> Any:
        return np.linalg.svd(a, compute_uv=False)

    def eigen(a: Any) -> Any:
        return np.linalg.eigvalsh(a)

    def both(a: Any, b: Any) -> Any:
        return singular(a), eigen(b)

    for n in (1, 2, 3, 4, 6, 7, 9, 33) if backend == "llvm" else (9,):
        x = np.random.default_rng(n).standard_normal((2, n + 1, n)).astype(dtype)
        square = x[:, :n] + x[:, :n].swapaxes(1, 2)
        values = rlx.compile(both, backend=backend, threads=1)
        limit = 1e-5 if dtype == "float32" else 1e-13
        for ours, exact in zip(values(x, square), (singular(x), eigen(square)), strict=True):
            np.testing.assert_allclose(ours, exact, atol=limit * n * abs(exact).max())
    gone = np.full((3, 3), np.nan, dtype)
    assert np.isnan(rlx.compile(eigen)(gone)).all()
    assert np.isnan(rlx.compile(singular)(gone)).all()


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(3, 1, 1), (2, 9, 4), (4, 7), (2, 53, 49), (60, 60)])
def test_a_triangle_alone_is_that_beside_its_columns(shape: tuple[int, ...], dtype: str):
    """`q` is not made where only `r` is read."""
    a = np.random.default_rng(1).standard_normal(shape).astype(dtype)

    def factors(a: Any) -> Any:
        return np.linalg.qr(a)

    def triangle(a: Any) -> Any:
        return np.linalg.qr(a)[1]

    np.testing.assert_array_equal(rlx.compile(triangle)(a), rlx.compile(factors)(a)[1])


@pytest.mark.parametrize("n", [5, 60])
def test_a_factorisation_without_vectors_is_no_kernel_of_one_with_them(n: int):
    """Equal ops share kernels, but not with one whose results are read when others are not."""
    a, b = np.random.default_rng(1).standard_normal((2, n, n))

    def program(a: Any, b: Any) -> Any:
        values = np.linalg.qr(a)[1], np.linalg.svd(a, compute_uv=False), np.linalg.eigvalsh(a + a.T)
        return *values, *np.linalg.qr(b), *np.linalg.svd(b), *np.linalg.eigh(b + b.T)

    for ours, exact in zip(rlx.compile(program)(a, b), program(a, b), strict=True):
        # signs are chosen
        np.testing.assert_allclose(abs(ours), abs(exact), rtol=1e-7, atol=1e-9)
