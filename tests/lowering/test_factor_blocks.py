"""Factorisations and solves by blocks: residuals around the edges of blocks, and matrices that have no factors."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg
from cost_models import costs

import xdsl_rlx as rlx
from xdsl_rlx.builder import as_graph_module
from xdsl_rlx.dialects.lir import LaunchOp
from xdsl_rlx.lowering.backend.machine.llvm import Effort
from xdsl_rlx.lowering.backend.runtime.compile_module import compile_module, lower_to_lir
from xdsl_rlx.lowering.kernels import lu_blocks

Array = np.ndarray[Any, Any]

TYPES = {"f32": np.float32, "f64": np.float64}

MOST = 1.0
"""What residuals are at most, in roundings of the largest elements times the rows: LAPACK's are 0.01 to 0.6."""

SIZES = [*range(63, 71), 79, 80, 81, *range(95, 98), 113, *range(126, 131), 191, 192, 193]


def _matrices(kind: str, n: int, dtype: Any) -> Array:
    rng = np.random.default_rng(n)
    random = rng.standard_normal((n, n))

    def ill_conditioned() -> Array:
        left, right = (np.linalg.qr(rng.standard_normal((n, n)))[0] for _ in range(2))
        return left * np.logspace(0, -12, n) @ right

    kinds: dict[str, Callable[[], Array]] = {
        "random": lambda: random,
        "ill-conditioned": ill_conditioned,
        "hilbert": lambda: scipy.linalg.hilbert(n),
        "scaled": lambda: random * np.logspace(0, 10, n)[:, None],
    }
    return kinds[kind]().astype(dtype)


def _lu(a: Array) -> tuple[Array, Array]:
    g = rlx.Graph("lu")
    g.set_outputs(list(g.lu(g.input("a", a.shape, "f32" if a.dtype == np.float32 else "f64"))))
    packed, pivots = rlx.compile(g, threads=1)(a=a)
    return packed, pivots - 1


def _cholesky(a: Array) -> Array:
    return rlx.compile(lambda a: np.linalg.cholesky(a), threads=1)(a)


def _relative(left: Array, a: Array, dtype: Any) -> float:
    return float(np.abs(left).max() / (a.shape[-1] * np.finfo(dtype).eps * np.abs(a).max()))


def _lu_residual(a: Array, packed: Array, pivots: Array) -> float:
    """Of `P a^T = L U`."""
    n = len(a)
    exact, packed = a.astype(np.float64), packed.astype(np.float64)
    for k, other in enumerate(pivots):
        exact[:, [k, other]] = exact[:, [other, k]]
    return _relative(np.tril(packed) @ (np.triu(packed, 1) + np.eye(n)) - exact, exact, a.dtype)


@pytest.mark.sampled(most=6)
@pytest.mark.parametrize("dtype", TYPES.values())
@pytest.mark.parametrize("n", [*SIZES, 1030])
def test_lu_chooses_the_pivots_of_lapack(n: int, dtype: Any):
    a = _matrices("random", n, dtype)
    packed, pivots = _lu(a)
    np.testing.assert_array_equal(pivots, scipy.linalg.lu_factor(a.T)[1])
    assert _lu_residual(a, packed, pivots) < MOST


@pytest.mark.sampled(most=5)
@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize(("n", "batch"), [*itertools.product(SIZES[2:], (1, 3)), (1030, 1)])
def test_threads_share_matrices_that_are_fewer(n: int, batch: int, dtype: str):
    """With every access checked; the panel behind a block is factorised while others are subtracted from."""
    a = np.stack([np.roll(_matrices("random", n, TYPES[dtype]), k, axis=0) for k in range(batch)])
    g = rlx.Graph("lu")
    g.set_outputs(list(g.lu(g.input("a", a.shape, dtype))))
    with costs(parallel_ops=1):
        lowered = lower_to_lir(as_graph_module(g).module, 8, checked=True)
    launches = [op.extent.value.data for op in lowered.walk() if isinstance(op, LaunchOp)]
    size = lu_blocks.BLOCK if n < lu_blocks.LARGE else lu_blocks.LARGE_BLOCK
    blocks = -(-n // size)
    assert launches[2:-1] == [batch * left for left in range(blocks - 1, 0, -1)]
    packed, pivots = compile_module(lowered, 8, Effort.QUICK)(a=a)
    for one, factors, swaps in zip(a, packed, pivots - 1, strict=True):
        np.testing.assert_array_equal(swaps, scipy.linalg.lu_factor(one.T)[1])
        assert _lu_residual(one, factors, swaps) < MOST


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", TYPES.values())
@pytest.mark.parametrize("kind", ["ill-conditioned", "hilbert", "scaled"])
def test_factors_of_hard_matrices_are_as_exact_as_those_of_lapack(kind: str, dtype: Any):
    a = _matrices(kind, 200, dtype)
    packed, swaps = scipy.linalg.lu_factor(a.T)
    assert _lu_residual(a, *_lu(a)) <= 4 * _lu_residual(a, packed.T, swaps) + 0.1
    wide = a.astype(np.float64)
    positive = (wide @ wide.T + 1e3 * np.finfo(dtype).eps * np.abs(wide @ wide.T).max() * np.eye(200)).astype(dtype)
    exact = positive.astype(np.float64)
    ours, theirs = (x.astype(np.float64) for x in (_cholesky(positive), scipy.linalg.cholesky(positive, lower=True)))
    assert (
        _relative(ours @ ours.T - exact, exact, dtype) <= 4 * _relative(theirs @ theirs.T - exact, exact, dtype) + 0.1
    )


@pytest.mark.parametrize("dtype", TYPES.values())
def test_first_of_equal_pivots(dtype: Any):
    """Elements 1 and -1 tie in each step."""
    n = 100
    a = scipy.linalg.hadamard(128)[:n, :n].astype(dtype) + np.eye(n, dtype=dtype) * 0
    packed, pivots = _lu(a)
    np.testing.assert_array_equal(pivots[:4], scipy.linalg.lu_factor(a.T)[1][:4])
    assert _lu_residual(a, packed, pivots) < MOST


@pytest.mark.sampled(most=6)
@pytest.mark.parametrize("dtype", TYPES.values())
@pytest.mark.parametrize("n", SIZES)
def test_cholesky(n: int, dtype: Any):
    """Only the mean of the triangles is read."""
    a = _matrices("random", n, np.float64)
    a = (a @ a.T + n * np.eye(n) + np.triu(a) - np.tril(a).T).astype(dtype)
    factor, exact = _cholesky(a).astype(np.float64), (a.astype(np.float64) + a.T) / 2
    assert (np.triu(factor, 1) == 0).all() and (np.diagonal(factor) > 0).all()
    assert _relative(factor @ factor.T - exact, exact, dtype) < MOST


@pytest.mark.sampled(most=3)
@pytest.mark.parametrize("dtype", TYPES.values())
@pytest.mark.parametrize("n", [65, 96, 100, 129, 190])
def test_solves_and_inverses(n: int, dtype: Any):
    """With right-hand sides of fewer than a tile, more than one, and of triangles of all kinds."""
    a = _matrices("random", n, dtype)
    b = np.random.default_rng(1).standard_normal((n, 70)).astype(dtype)

    def programs(a: Any, b: Any) -> Any:
        return np.linalg.solve(a, b), np.linalg.solve(a.T, b[:, :3]), np.linalg.inv(a)

    def residual(matrix: Array, x: Array, right: Array) -> float:
        return float(_relative(matrix.astype(np.float64) @ x - right, matrix, dtype) / np.abs(x).max())

    x, y, inverse = map(np.asarray, rlx.compile(programs, threads=1)(a, b))
    assert residual(a, x, b) < MOST and residual(a.T, y, b[:, :3]) < MOST and residual(a, inverse, np.eye(n)) < MOST
    triangle = np.tril(a) + n * np.eye(n, dtype=dtype)
    g, name = rlx.Graph("triangles"), "f32" if dtype is np.float32 else "f64"
    t, side = g.input("t", (n, n), name), g.input("b", (n, 70), name)
    flags = [
        (lower, transpose, unit) for lower in (True, False) for transpose in (True, False) for unit in (True, False)
    ]
    g.set_outputs(
        [g.triangular_solve(t, side, lower=low, transpose=turned, unit_diagonal=unit) for low, turned, unit in flags]
    )
    both = (triangle + triangle.T) / n
    for (low, turned, unit), found in zip(flags, rlx.compile(g, threads=1)(t=both, b=b), strict=True):
        matrix = np.tril(both) if low else np.triu(both)
        if unit:
            matrix[range(n), range(n)] = 1
        assert residual(matrix.T if turned else matrix, found, b) < MOST


def test_batches_have_the_bits_of_single_matrices():
    """Whatever thread they are on."""
    a = np.stack([_matrices("random", 100, np.float64) + k for k in range(5)])

    def program(a: Any) -> Any:
        return np.linalg.cholesky(a @ np.swapaxes(a, -1, -2)), np.linalg.inv(a), np.linalg.slogdet(a)[1]

    whole = rlx.compile(program, threads=2)(a)
    for k in range(5):
        for one, found in zip(rlx.compile(program, threads=1)(a[k : k + 1]), whole, strict=True):
            np.testing.assert_array_equal(one[0], found[k])


@pytest.mark.parametrize("dtype", TYPES.values())
def test_singular_matrices(dtype: Any):
    """A step without a pivot is left as it is: rows of zeros, and equal rows."""
    a = _matrices("random", 100, dtype)
    a[:, 40] = 0
    a[70] = a[3]
    packed, pivots = _lu(a)
    assert np.isfinite(packed).all() and _lu_residual(a, packed, pivots) < MOST
    packed, pivots = _lu(np.zeros((70, 70), dtype))
    assert (packed == 0).all()
    np.testing.assert_array_equal(pivots, range(70))


@pytest.mark.sampled
@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("at", [(3, 5), (70, 66), (99, 99)])
def test_numbers_that_are_not_finite(value: float, at: tuple[int, int]):
    """Of a batch, only their own matrix has others: all of them but an inverse, where a pivot may be infinite."""
    a = np.stack([_matrices("random", 100, np.float64)] * 3)
    a[1][at] = value

    def program(a: Any) -> Any:
        square = a @ np.swapaxes(a, -1, -2) + np.eye(100)
        return np.linalg.slogdet(a)[1], np.linalg.inv(a), np.linalg.cholesky(square)

    logarithm, inverse, factor = map(np.asarray, rlx.compile(program, threads=1)(a))
    for found in (logarithm, inverse, factor):
        assert np.isfinite(found[[0, 2]]).all()
    assert not np.isfinite(logarithm[1]) and not np.isfinite(factor[1]).all()
    assert value == np.inf or not np.isfinite(inverse[1]).all()
