"""Products along a long inner dimension: cut into a part for each thread, against NumPy in float64."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import xdsl_rlx as rlx
from xdsl_rlx.dialects.lir import LaunchOp
from xdsl_rlx.lowering.backend.runtime.compile_module import lower_to_lir
from xdsl_rlx.lowering.target import COMMON

LENGTH, LONG = COMMON.min_part_terms, COMMON.min_terms_per_extent
LARGE, MOST = COMMON.min_split_multiplications, COMMON.max_split_elements
ROWS, LINES, COLUMNS = 33, 6 * LENGTH, 70


def gradient(lines: int, rows: int, columns: int, dtype: str = "f32", bias: bool = True) -> rlx.Graph:
    """`tanh(b + x^T y)`, of factors that lie line by line."""
    g = rlx.Graph("gradient")
    x, y = g.input("x", (lines, rows), dtype), g.input("y", (lines, columns), dtype)
    product = g.transpose(x, (1, 0)) @ y
    g.set_outputs([g.tanh(g.input("b", (columns,), dtype) + product) if bias else product])
    return g


def parts(graph: rlx.Graph, threads: int) -> list[int]:
    """In how many parts each product of a program is cut."""
    launches = [op for op in lower_to_lir(graph.module, threads).walk() if isinstance(op, LaunchOp)]
    return [op.extent.value.data for op in launches if op.kernel.string_value().endswith("_matmul")]


@pytest.mark.sampled
@pytest.mark.usefixtures("eight_cores")
@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_the_sum_of_all_parts(threads: int, dtype: str):
    graph = gradient(LINES, ROWS, COLUMNS, dtype)
    assert parts(graph, threads) == ([threads] if threads > 1 else [])
    rng = np.random.default_rng(threads)
    x, y, b = (rng.standard_normal(shape) / 50 for shape in ((LINES, ROWS), (LINES, COLUMNS), (COLUMNS,)))
    kind = np.float32 if dtype == "f32" else np.float64
    found = rlx.compile(graph, threads=threads)(*(a.astype(kind) for a in (x, y, b)))
    np.testing.assert_allclose(found[0], np.tanh(b + x.T @ y), rtol=0, atol=1e-6 if dtype == "f32" else 1e-14)


def test_a_factor_that_is_added_too():
    n, columns = 2 * LENGTH, 64
    g = rlx.Graph("square")
    w, y = g.input("w", (n, n)), g.input("y", (n, columns))
    g.set_outputs([y + g.transpose(w, (1, 0)) @ y])
    assert parts(g, 2) == [2]
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape).astype(np.float32) / 32 for shape in ((n, n), (n, columns)))
    expected = b + a.T.astype(np.float64) @ b
    np.testing.assert_allclose(rlx.compile(g, threads=2)(a, b)[0], expected, rtol=0, atol=1e-6)


OTHERS: dict[str, Any] = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "i32": np.int32, "c64": np.complex64}


@pytest.mark.parametrize("dtype", OTHERS)
def test_other_types(dtype: str):
    rng = np.random.default_rng(0)
    x, y = (rng.integers(-1, 2, shape).astype(OTHERS[dtype]) for shape in ((LINES, ROWS), (LINES, COLUMNS)))
    found = rlx.compile(gradient(LINES, ROWS, COLUMNS, dtype, bias=False), threads=2)(x, y)[0]
    exact = np.real(x).astype(np.int64).T @ np.real(y).astype(np.int64)
    np.testing.assert_array_equal(found.astype(np.complex128), exact.astype(OTHERS[dtype]).astype(np.complex128))


def test_not_finite_where_numpy_is_not():
    x, y = np.zeros((LINES, ROWS), np.float32), np.ones((LINES, COLUMNS), np.float32)
    x[3, 5], x[-1, 6], y[7, 9] = np.nan, np.inf, np.inf
    with np.errstate(invalid="ignore"):
        expected = x.T @ y
    found = rlx.compile(gradient(LINES, ROWS, COLUMNS, bias=False), threads=2)(x, y)[0]
    np.testing.assert_array_equal(found, expected)


def rows_first(graph: rlx.Graph) -> rlx.Graph:
    """A product of which the left factor lies in lines of the inner dimension."""
    graph.set_outputs([graph.input("x", (ROWS, LINES)) @ graph.input("y", (LINES, COLUMNS))])
    return graph


@pytest.mark.usefixtures("common_caches")
@pytest.mark.parametrize(
    "graph",
    [
        gradient(LINES + 1, ROWS, COLUMNS),
        gradient(2 * LENGTH - 2, 256, 256),
        gradient(2 * LENGTH, 2 * LENGTH // LONG + 1, 2 * LENGTH // LONG + 1),
        gradient(LINES, LARGE // LINES // COLUMNS, COLUMNS),
        gradient(LINES, 64, MOST // 64 + 1),
        rows_first(rlx.Graph("rows")),
    ],
    ids=["odd", "short", "wide", "small", "large", "rows-first"],
)
def test_what_is_not_cut_along_its_inner_dimension(graph: rlx.Graph):
    launches = [op for op in lower_to_lir(graph.module, 2).walk() if isinstance(op, LaunchOp)]
    assert len(launches) == 1 and launches[0].extent.value.data > 2
