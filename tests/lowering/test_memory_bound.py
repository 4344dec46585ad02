"""What memory bounds: products with a vector, reductions of any axis, positions of extremes; swept, against NumPy."""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from sampling import sample

import xdsl_rlx as rlx

ROWS = (1, 2, 7, 8, 9, 127, 128, 129, 300)
"""Around the rows that take turns, and those that a block has."""


def _numbers(*shape: int, dtype: Any = np.float32) -> Any:
    x = np.random.default_rng(shape).standard_normal(shape) * 9
    return x.astype(dtype) if np.dtype(dtype).kind != "u" else abs(x).astype(dtype)


@pytest.mark.sampled
@pytest.mark.parametrize("columns", [1, 3, 16, 17, 64, 65])
@pytest.mark.parametrize("threads", [1, 2])
def test_sums_and_extremes_of_few_columns(columns: int, threads: int):
    """Rows take turns in adding to copies of the columns: all rows count, whatever their number."""

    def f(x: Any, y: Any) -> Any:
        z = x * y
        return z.sum(0), z.max(0), z.min(0), z.sum(), np.sum(z, axis=1)

    compiled = rlx.compile(f, threads=threads)
    for rows in (*ROWS, 5000):
        x, y = _numbers(rows, columns), _numbers(columns)
        for ours, exact in zip(compiled(x, y), f(x.astype(np.float64), y.astype(np.float64)), strict=True):
            np.testing.assert_allclose(ours, exact, rtol=2e-5, atol=2e-4 * rows**0.5)


@pytest.mark.sampled
@pytest.mark.parametrize("columns", [1023, 1025, 9000])
@pytest.mark.parametrize("threads", [1, 2])
def test_sums_over_many_columns_are_in_pieces_whose_sums_are_near(columns: int, threads: int):
    def f(x: Any) -> Any:
        e = np.exp(x - x.max(0))
        return e / e.sum(0), x.var(axis=0), x.reshape(-1, columns // 5, 5).min(0)

    for rows in (2, 7, 130):
        x = _numbers(rows, columns // 5 * 5) / 9
        columns = x.shape[1]
        for ours, exact in zip(rlx.compile(f, threads=threads)(x), f(x.astype(np.float64)), strict=True):
            np.testing.assert_allclose(ours, exact, rtol=2e-5, atol=1e-6)
    for columns, chunk in ((8192, 8192), (20_000, 1024)):
        lowered = str(rlx.lower(rlx.trace(lambda x: x.max(0), _numbers(7, columns))))
        assert f"over {columns} by {chunk} " in lowered


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "int32", "int64", "uint8", "uint32"])
def test_positions_of_extremes_are_those_of_numpy(dtype: str):
    """The first of equal elements, along every axis; numbers are few, so that many are equal."""
    shapes = ((1,), (5,), (130,), (3, 1), (7, 65), (130, 16), (4, 6, 5), (1, 3, 1, 2))
    cases = [(shape, axis) for shape in shapes for axis in (None, *range(len(shape)), -1)]
    for shape, axis in sample(cases, turn=np.dtype(dtype).num):
        x = (_numbers(*shape) % 5).astype(dtype)
        f = rlx.compile(lambda x, axis=axis: (np.argmax(x, axis), np.argmin(x.swapaxes(0, -1), axis)))
        ours = f(x)
        assert [y.dtype for y in ours] == ["int64", "int64"]
        np.testing.assert_array_equal(ours[0], np.argmax(x, axis))
        np.testing.assert_array_equal(ours[1], np.argmin(x.swapaxes(0, -1), axis))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_nan_is_the_extreme_and_zeros_are_equal(dtype: str):
    x = np.array([[1, np.nan, np.inf, np.nan], [-0.0, 0.0, -1, -0.0], [np.nan] * 4, [-np.inf] * 4], dtype)
    x[2, 1] = -x[2, 1]
    with np.errstate(invalid="ignore"):
        for f in (np.argmax, np.argmin, np.max, np.min):
            for axis in (0, 1):
                np.testing.assert_array_equal(rlx.compile(lambda x, f=f, axis=axis: f(x, axis))(x), f(x, axis))


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("transposed", list(itertools.product([False, True], repeat=2)))
def test_products_with_a_vector(dtype: str, transposed: tuple[bool, bool]):
    """A row or a column by a matrix as it lies or transposed, with and without a batch."""
    limit = 1e-4 if dtype == "float32" else 1e-12

    def f(x: Any, y: Any) -> Any:
        return np.tanh(np.swapaxes(x, -1, -2) if transposed[0] else x) @ (
            np.swapaxes(y, -1, -2) if transposed[1] else y
        )

    compiled = rlx.compile(f)
    for m, k, n in (
        (1, 33, 65),
        (65, 33, 1),
        (1, 1, 5),
        (5, 1, 1),
        (1, 300, 1),
        (300, 9, 1),
        (1, 9, 300),
        (0, 4, 3),
        (1, 0, 3),
        (3, 4, 0),
    ):
        for batch in ((), (3,)):
            x = _numbers(*batch, *((k, m) if transposed[0] else (m, k)), dtype=dtype)
            y = _numbers(*batch, *((n, k) if transposed[1] else (k, n)), dtype=dtype)
            np.testing.assert_allclose(compiled(x, y), f(x, y), rtol=limit, atol=limit * 30)
            # many vectors by one matrix, and one by many
            for one, other in ((x[0], y), (x, y[0])) if batch else ():
                np.testing.assert_allclose(compiled(one, other), f(one, other), rtol=limit, atol=limit * 30)


def test_a_table_that_a_loop_reads_by_index_has_the_gradient_of_its_elements():
    """The scatters of all times are one behind the loop: by finite differences, with indices that repeat."""
    rng = np.random.default_rng(0)
    table, at, h = rng.standard_normal((40, 3)), rng.integers(-40, 40, (25, 4)).astype(np.int32), np.zeros((4, 3))

    def f(table: Any, reverse: bool) -> Any:
        return rlx.scan(lambda h, i: (np.tanh(h * 0.9 + table[i]), (h * table[i]).sum()), h, at, reverse=reverse)[
            1
        ].sum()

    for reverse in (False, True):
        gradient = rlx.compile(rlx.grad(lambda t, r=reverse: f(t, r)))(table)
        value, step = rlx.compile(lambda t, r=reverse: f(t, r)), 1e-6
        for _ in range(3):
            along = rng.standard_normal(table.shape)
            slope = (value(table + step * along) - value(table - step * along)) / (2 * step)
            np.testing.assert_allclose((gradient * along).sum(), slope, rtol=1e-6, atol=1e-7)


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "bool"])
@pytest.mark.parametrize("threads", [1, 2])
def test_values_that_are_read_across(dtype: str, threads: int):
    """Columns in strips where the lines of a transposed value do not fit into the first cache; strips that are cut."""
    for shape, order in (
        *[((512, 512), (1, 0)), ((513, 1024), (1, 0)), ((1024, 257), (1, 0)), ((700, 256), (1, 0))],
        *[((3, 600, 512), (0, 2, 1)), ((300, 5, 1024), (2, 1, 0)), ((2, 1024, 3, 256), (3, 0, 2, 1))],
    ):
        x = _numbers(*shape, dtype=dtype)
        y = _numbers(*(shape[n] for n in order), dtype=dtype)

        def f(x: Any, y: Any, order: tuple[int, ...] = order) -> Any:
            turned = np.transpose(x, order)
            return (turned, turned & y) if dtype == "bool" else (turned + y, turned * y)

        for ours, exact in zip(rlx.compile(f, threads=threads)(x, y), f(x, y), strict=True):
            np.testing.assert_array_equal(ours, exact)
