"""Reductions over rows, whose totals are a row: few rows are added up at a time, and more in groups."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import xdsl_rlx as rlx

DTYPES: dict[str, Any] = {
    "f32": np.float32,
    "f64": np.float64,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "i32": np.int32,
    "i64": np.int64,
    "u8": np.uint8,
}
ROWS = (1, 2, 3, 4, 5, 7, 8, 9, 12)


@pytest.mark.sampled
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("rows", ROWS)
def test_reductions_of_few_rows(rows: int, axis: int, dtype: str, threads: int) -> None:
    """Exact, as the numbers are small; of rows in the middle too."""
    shape = (rows, 35) if axis == 0 else (33, rows, 35)
    x = np.random.default_rng(rows).integers(0, 4, shape).astype(DTYPES[dtype])

    def f(x: Any) -> Any:
        y = x * 2
        return y.sum(axis), y.max(axis), y.min(axis), y.sum(axis) + (x * x).sum(axis)

    y = (x * 2).astype(DTYPES[dtype])
    total = y.sum(axis)
    wanted = total, y.max(axis), y.min(axis), total + (x * x).sum(axis)
    for found, expected in zip(rlx.compile(f, threads=threads)(x), wanted, strict=True):
        np.testing.assert_array_equal(np.asarray(found), expected.astype(np.asarray(found).dtype))


@pytest.mark.parametrize("shape", [(0, 35), (33, 0, 35), (2, 0, 3)])
def test_sums_of_no_rows(shape: tuple[int, ...]) -> None:
    x = np.ones(shape, np.float32)
    axis = len(shape) - 2
    total, product = rlx.compile(lambda x: ((x * 2).sum(axis), (x * 2).prod(axis)))(x)
    np.testing.assert_array_equal(total, x.sum(axis))
    np.testing.assert_array_equal(product, x.prod(axis))


@pytest.mark.parametrize("rows", [2, 3, 8])
def test_zeros_and_what_is_not_finite(rows: int) -> None:
    x = np.zeros((rows, 40), np.float32)
    x[0, 3], x[1, 5], x[0, 7], x[1, 7] = np.nan, np.inf, np.inf, -np.inf
    with np.errstate(invalid="ignore"):
        expected = x.sum(0), x.max(0), x.min(0)
    for found, wanted in zip(rlx.compile(lambda x: (x.sum(0), x.max(0), x.min(0)))(x), expected, strict=True):
        np.testing.assert_array_equal(np.asarray(found), wanted)


@pytest.mark.parametrize("columns", [2, 7, 8, 11, 15])
def test_copies_of_many_columns_are_added_up_in_a_loop(columns: int) -> None:
    """Unrolled they would be half of the text of the kernel, and of LLVM's time; those of few columns are."""
    x = np.random.default_rng(0).integers(0, 9, (1000, columns)).astype(np.float32)
    text = str(rlx.lower(rlx.trace(lambda x: x.sum(0), x)))
    assert ("lir.no_unroll" in text) == (columns >= 8)
    np.testing.assert_array_equal(rlx.compile(lambda x: x.sum(0))(x), x.sum(0))
