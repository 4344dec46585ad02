"""Binary searches of several numbers side by side: every count of numbers and length of a table, beside NumPy."""

from typing import Any

import numpy as np
import pytest

import xdsl_rlx as rlx

DTYPES = ["float32", "float64", "float16", "int8", "int32", "uint32", "int64"]


def numbers(size: int, dtype: Any, seed: int) -> np.ndarray:
    """Some of them twice, of floats also those that are special."""
    rng = np.random.default_rng(seed)
    found = rng.integers(0, 40, size).astype(dtype)
    if np.dtype(dtype).kind == "f" and size > 6:
        found[:6] = [np.nan, np.inf, -np.inf, 0.0, -0.0, np.nan]
    return found


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("length", [33, 34, 63, 64, 65, 100, 129])
def test_places_of_numbers(length: int, dtype: str):
    table = np.sort(numbers(length, dtype, length))

    def program(table: Any, x: Any) -> Any:
        return np.searchsorted(table, x), np.searchsorted(table, x, side="right")

    run = rlx.compile(program, threads=1)
    for many in (0, 1, 2, 31, 32, 33, 64, 70, 100) if length == 65 else (length % 40,):
        x = numbers(many, dtype, many)
        for ours, exact in zip(run(table, x), program(table, x), strict=True):
            np.testing.assert_array_equal(ours, exact)


def test_a_number_alone_and_a_table_for_each_row():
    table, x = np.sort(np.random.default_rng(0).standard_normal((3, 50))), np.random.default_rng(1).standard_normal(3)
    found = rlx.compile(rlx.vmap(lambda table, x: np.searchsorted(table, x)))(table, x)
    np.testing.assert_array_equal(found, [np.searchsorted(t, v) for t, v in zip(table, x, strict=True)])
