"""Parts of rows in order are selected: all element types, lengths, patterns, places, layouts and numbers of threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xdsl_rlx as rlx
from xdsl_rlx.dialects.mir.index import SortOp, TopkOp
from xdsl_rlx.lowering.kernels.selection import MIN_SAMPLE, SAMPLE
from xdsl_rlx.lowering.pipelines import fusion_passes

TYPES = ["float16", "float32", "float64", "int8", "uint8", "int16", "int32", "uint32", "int64"]
LENGTHS = [*range(1, 131), 1023, 1024, 1025, 4097, 16 * SAMPLE + 1]
"""Around where a sample is taken, and where it is full."""

Pattern = Callable[[np.random.Generator, int, int], np.ndarray[Any, Any]]
PATTERNS: dict[str, Pattern] = {
    "random": lambda rng, rows, extent: rng.standard_normal((rows, extent)) * 50,
    "few": lambda rng, rows, extent: rng.integers(-2, 3, (rows, extent)),
    "equal": lambda rng, rows, extent: np.full((rows, extent), 7.0),
    "ascending": lambda rng, rows, extent: np.arange(rows * extent).reshape(rows, extent) / 9 - 100,
    "descending": lambda rng, rows, extent: 100 - np.arange(rows * extent).reshape(rows, extent) / 9,
    # every step of a sample hits the same residue
    "periodic": lambda rng, rows, extent: np.arange(rows * extent).reshape(rows, extent) % 16,
    "far": lambda rng, rows, extent: np.exp(rng.uniform(-80, 80, (rows, extent))),
}


def selected(x: np.ndarray[Any, Any], first: int, count: int, descending: bool = False, threads: int = 1) -> Any:
    """The elements of each row of `x` in these places."""
    g = rlx.Graph("selected")
    g.set_outputs([g.op(SortOp, g.input("x", x.shape, rlx_type(x)).ssa, descending, first, count)])
    return rlx.compile(g, threads=threads)(x)[0]


def rlx_type(x: np.ndarray[Any, Any]) -> str:
    """The name of the element type of an array."""
    return f"{ {'f': 'f', 'i': 'i', 'u': 'u'}[x.dtype.kind] }{8 * x.itemsize}"


def numbers(pattern: str, rows: int, extent: int, dtype: str) -> np.ndarray[Any, Any]:
    """Rows of a pattern, in the range of a type."""
    x = PATTERNS[pattern](np.random.default_rng(extent), rows, extent)
    if dtype.startswith("float"):
        return x.clip(-60000, 60000).astype(dtype)
    limits = np.iinfo(dtype)
    return x.clip(max(limits.min, -(2**31)), min(limits.max, 2**31 - 1)).astype(dtype)


@pytest.mark.sampled(most=14)
@pytest.mark.parametrize("extent", LENGTHS)
@pytest.mark.parametrize("dtype", TYPES)
def test_lengths_and_types(dtype: str, extent: int) -> None:
    x = numbers("random", 2, extent, dtype)
    for first in {0, extent // 2, extent - 1}:
        expected = np.sort(x, axis=-1)[:, first : first + 1]
        np.testing.assert_array_equal(selected(x, first, 1), expected)


@pytest.mark.sampled
@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_patterns(dtype: str, pattern: str) -> None:
    x = numbers(pattern, 3, 5000, dtype)
    for first, count in ((0, 1), (0, 40), (2499, 2), (4990, 10), (10, 4000)):
        expected = np.sort(x, axis=-1)
        np.testing.assert_array_equal(selected(x, first, count, threads=2), expected[:, first : first + count])
        part = expected[:, ::-1][:, first : first + count]
        np.testing.assert_array_equal(selected(x, first, count, descending=True), part)


def test_a_sample_that_misleads_does_not_matter() -> None:
    """All that is sampled is large."""
    extent = 32 * SAMPLE
    x = np.random.default_rng(0).standard_normal((1, extent)).astype(np.float32)
    x[:, ::32] += 1000
    np.testing.assert_array_equal(selected(x, extent // 2, 3), np.sort(x)[:, extent // 2 : extent // 2 + 3])


def test_nan_and_zeros_are_in_order() -> None:
    x = np.zeros((1, 64 * MIN_SAMPLE), np.float32)
    x[0, ::3], x[0, 1::7], x[0, 2::50] = -0.0, np.nan, -np.inf
    ordered = np.sort(x)
    for first in (0, 60, 1000, 3400, x.shape[1] - 2):
        np.testing.assert_array_equal(selected(x, first, 2), ordered[:, first : first + 2])


MEDIANS: dict[str, Callable[[Any], Any]] = {
    "median": np.median,
    "median of columns": lambda x: np.median(x, axis=0),
    "median of rows": lambda x: np.median(x, axis=1, keepdims=True),
    "quantile": lambda x: np.quantile(x, 0.9, axis=1),
    "percentiles": lambda x: np.percentile(x, [2, 50.5, 100]),
    "largest": lambda x: np.sort(x, axis=1)[:, -3:],
}


@pytest.mark.sampled
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", MEDIANS)
@pytest.mark.parametrize("layout", ["C", "F", "steps"])
def test_functions_of_numpy(name: str, layout: str, threads: int) -> None:
    function, x = MEDIANS[name], np.random.default_rng(1).standard_normal((3, 4100))
    x = np.asfortranarray(x) if layout == "F" else np.repeat(x, 2, axis=1)[:, ::2] if layout == "steps" else x
    compiled = rlx.compile(function, threads=threads)
    np.testing.assert_allclose(compiled(x), function(x), 1e-14)
    x[1, 17] = np.nan
    np.testing.assert_allclose(compiled(x), function(x), 1e-14)


def kinds(function: Callable[[Any], Any], x: Any) -> list[Any]:
    """The ops of what is fused."""
    graph = rlx.trace(function, x)
    return list(rlx.run_passes(graph, fusion_passes(graph.module)).module.walk())


def test_where_parts_are_selected() -> None:
    x, rows = np.ones(30000, np.float32), np.ones((500, 301), np.float32)

    def parts(function: Callable[[Any], Any], x: Any) -> list[bool]:
        return [op.first is not None for op in kinds(function, x) if isinstance(op, SortOp)]

    assert parts(np.median, x) == [True]
    assert parts(lambda x: np.percentile(x, [1, 50, 99]), x) == [True, True, True]
    # what reads most of a sorted row needs all of it, and so does what reads another axis
    assert parts(lambda x: (lambda y: (y[5], y[:20000]))(np.sort(x)), x) == [False]
    assert parts(lambda x: (lambda y: (y[0], y[:, 5]))(np.sort(x)), np.ones((2, 30000), np.float32)) == [False]
    # many rows are sorted side by side, and so is what is read in many places
    assert parts(lambda x: np.median(x, axis=1), rows) == [False]
    assert parts(lambda x: np.percentile(x, [1, 5, 50, 95, 99]), x) == [False]


def test_gradients_reach_the_elements() -> None:
    x = np.random.default_rng(2).standard_normal(4001)
    compiled = rlx.compile(rlx.grad(lambda x: 3 * np.median(x) + np.quantile(x, 0.25)))
    expected = np.zeros_like(x)
    expected[np.argsort(x)[2000]], expected[np.argsort(x)[1000]] = 3, 1
    np.testing.assert_array_equal(compiled(x), expected)
    assert any(isinstance(op, TopkOp) for op in kinds(rlx.grad(np.median), x))
