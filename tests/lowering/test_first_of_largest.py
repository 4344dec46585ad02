"""Positions of extremes over lengths around those of blocks, with NaN, equal elements, and the largest at the end."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import xdsl_rlx as rlx
from xdsl_rlx.lowering.target import COMMON

BLOCK = COMMON.argmax_block_elements
LONG = COMMON.min_argmax_blocks * BLOCK

SHAPES = [
    *[(LONG - 1,), (LONG,), (LONG + 1,), (LONG + BLOCK - 1,), (3, LONG + 616), (2, 2, LONG + BLOCK + 1)],
    *[(1, LONG), (4, 100)],
]


def values(shape: tuple[int, ...], dtype: str, case: str) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(0)
    x = (rng.standard_normal(shape) * (100 if dtype[0] == "f" else 3)).astype(dtype)
    if case == "nan" and dtype[0] == "f":
        x.flat[rng.integers(x.size, size=3)] = np.nan
    if case == "equal":
        x[...] = 1
    if case == "last":
        x[..., -1] = x.max()
    return x


@pytest.mark.sampled
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("case", ["random", "nan", "equal", "last"])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i4", "u1"])
@pytest.mark.parametrize("shape", SHAPES)
def test_positions(shape: tuple[int, ...], dtype: str, case: str, threads: int) -> None:
    x = values(shape, dtype, case)

    def largest(x: Any) -> Any:
        return np.argmax(x, axis=-1)

    def least(x: Any) -> Any:
        return np.argmin(x, axis=-1)

    for function in (largest, least):
        np.testing.assert_array_equal(rlx.compile(function, threads=threads)(x), function(x))


def test_of_computed_and_transposed_values() -> None:
    x = np.random.default_rng(1).standard_normal((LONG, 3))

    def along_rows(x: Any) -> Any:
        return np.argmax(x.T, axis=-1)

    def of_sines(x: Any) -> Any:
        return np.argmax(np.sin(x), axis=0)

    for function in (along_rows, of_sines):
        np.testing.assert_array_equal(rlx.compile(function)(x), function(x))
