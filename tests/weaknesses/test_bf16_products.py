"""Products of bf16 of a compiled function, on this processor and on one without an instruction for them.

Each element is a sum in f32 of exact products, rounded to bf16 once: against f64 it is off by at most
`(k + 1) 2^-23 sum |a| |b|` for the sum of `k` terms, and by `2^-8` of itself for the rounding.
"""

import os
import subprocess
import sys
from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from levels import EVERY

import xdsl_rlx as rlx

Array = np.ndarray[Any, Any]
BF16 = np.dtype(ml_dtypes.bfloat16)
EXTENTS = range(1, 131) if EVERY else (1, 2, 3, 16, 17, 64, 130)
TRANSPOSED = [(left, right) for left in (False, True) for right in (False, True)]


def numbers(seed: int, *shape: int) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(BF16)


def wide(x: Any) -> Array:
    return np.asarray(x).astype(np.float64)


def turned(x: Any, flag: bool) -> Any:
    return x.swapaxes(-1, -2) if flag else x


def check(found: Any, a: Array, b: Array) -> None:
    """Hold a product against f64."""
    a, b = wide(a), wide(b)
    exact = a @ b
    bound = (a.shape[-1] + 1) * 2.0**-23 * (abs(a) @ abs(b)) + 2.0**-8 * abs(exact)
    assert np.asarray(found).dtype == BF16
    assert (abs(wide(found) - exact) <= bound).all()


def matmul(a: Any, b: Any) -> Any:
    return a @ b


def products_of(shapes: list[tuple[int, int, int]], batch: tuple[int, ...] = ()) -> None:
    """All transpositions of products of these sizes in one program."""
    cases = list(product(shapes, TRANSPOSED))
    pairs = [
        (turned(numbers(2 * i, *batch, m, k), ta), turned(numbers(2 * i + 1, *batch, k, n), tb))
        for i, ((m, k, n), (ta, tb)) in enumerate(cases)
    ]

    def all_of(pairs: Any) -> Any:
        return [turned(a, ta) @ turned(b, tb) for (a, b), (_, (ta, tb)) in zip(pairs, cases, strict=True)]

    for found, (a, b), (_, (ta, tb)) in zip(rlx.compile(all_of)(pairs), pairs, cases, strict=True):
        check(found, turned(a, ta), turned(b, tb))


@pytest.mark.parametrize("k", EXTENTS)
def test_products_of_all_transpositions(k: int):
    rng = np.random.default_rng(k)
    m, n = (rng.choice(np.array(EXTENTS), 3) for _ in range(2))
    products_of([(int(rows), k, int(columns)) for rows, columns in zip(m, n, strict=True)])


def test_products_with_vectors():
    products_of([(1, 70, 33), (33, 70, 1), (1, 70, 1), (1, 1, 5), (5, 1, 1)])
    x, v = numbers(0, 40, 70), numbers(1, 70)
    found = rlx.compile(matmul)(x, v)
    check(np.asarray(found)[:, None], x, v[:, None])


@pytest.mark.parametrize("batch", [(3,), (2, 3)])
def test_batches(batch: tuple[int, ...]):
    products_of([(9, 17, 20), (64, 33, 16)], batch)


def test_one_matrix_for_a_batch():
    x, w = numbers(0, 4, 10, 65), numbers(1, 65, 30)
    check(rlx.compile(matmul)(x, w), x, w)


@pytest.mark.parametrize("threads", [1, 2])
def test_columns_in_uneven_pieces(threads: int):
    """Few rows: a launch computes columns, and the last piece of them is shorter."""
    x, w = numbers(0, 3, 2100), numbers(1, 2100, 1001)
    check(rlx.compile(matmul, threads=threads)(x, w), x, w)


def test_what_is_rounded_is_read_by_the_epilogue():
    """As in PyTorch and JAX: a product is a bf16 before anything is computed with it."""
    x, w, b = numbers(0, 40, 300), numbers(1, 300, 50), numbers(2, 50)

    def both(x: Any, w: Any, b: Any) -> Any:
        return np.tanh(x @ w + b), x @ w

    found, raw = rlx.compile(both)(x, w, b)
    expected = np.tanh((raw + b).astype(BF16).astype(np.float64))
    np.testing.assert_allclose(wide(found), expected, rtol=2**-7, atol=1e-6)


def test_gradients_are_products_of_bf16():
    x, w, g = numbers(0, 40, 90), numbers(1, 90, 50), numbers(2, 40, 50)
    _, (d_x, d_w) = rlx.compile(rlx.vjp(matmul))((x, w), g)
    check(d_x, g, w.T)
    check(d_w, x.T, g)


def test_convolutions_of_one_element():
    x, w, g = numbers(0, 2, 30, 5, 7), numbers(1, 20, 30, 1, 1), numbers(2, 2, 20, 5, 7)
    op: Any = rlx.conv

    def conv(x: Any, w: Any) -> Any:
        return op(x, w)

    y, (d_x, _) = rlx.compile(rlx.vjp(conv))((x, w), g)
    rows, weights = x.reshape(2, 30, 35), w.reshape(20, 30)
    check(np.asarray(y).reshape(2, 20, 35), weights, rows)
    check(np.asarray(d_x).reshape(2, 30, 35), weights.T, g.reshape(2, 20, 35))


def test_products_in_a_scan():
    x, w = numbers(0, 5, 16, 40), numbers(1, 40, 40) * np.array(0.125, BF16)

    def run(x: Any, w: Any) -> Any:
        def body(h: Any, row: Any) -> Any:
            h = np.tanh(h @ w + row)
            return h, h @ w

        return rlx.scan(body, x[0], x)

    _, found = rlx.compile(run)(x, w)
    h = wide(x[0])
    for row, y in zip(x, found, strict=True):
        h = np.tanh(h @ wide(w) + wide(row))
        np.testing.assert_allclose(wide(y), h @ wide(w), atol=0.05)


def test_not_finite_where_numpy_is_not():
    x, w = np.zeros((16, 129), BF16), np.ones((129, 70), BF16)
    x[3, 5], x[4, 128], w[7, 69], w[9, 0] = np.nan, np.inf, np.inf, np.nan
    with np.errstate(invalid="ignore"):
        expected = wide(x) @ wide(w)
    np.testing.assert_array_equal(wide(rlx.compile(matmul)(x, w)), expected)


@pytest.mark.parametrize("name", ["x86-64-v3", "x86-64-v4"] if EVERY else ["x86-64-v3"])
def test_without_the_instruction(name: str):
    """The same tests on a processor that has no dot products of bf16, in a process of its own."""
    environment = {**os.environ, "XDSL_RLX_CPU": name}
    tests = [f"{__file__}::{test}" for test in ("test_products_with_vectors", "test_batches")]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
