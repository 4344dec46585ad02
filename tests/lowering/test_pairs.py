"""Reductions over pairs of rows, and small operands that are read across their lines: values and gradients by sizes."""

# Functions of arrays of either library.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from levels import EVERY

import xdsl_rlx as rlx

SIZES = (
    (40, 16, 3),
    (7, 17, 2),
    (1, 16, 16),
    (130, 31, 9),
    (33, 64, 5),
    (300, 20, 1),
    (20, 15, 6),
    (9, 33, 129),
    (5, 16, 256),
)
"""Rows, pairs of a row, and elements; not all are rewritten."""

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "squared distances": lambda x, y: ((x[:, None, :] - y[None]) ** 2).sum(-1),
    "distances and differences": lambda x, y: (abs(x[:, None] - y) + 1).sum(-1)[..., None] * (x[:, None] - y),
    "largest product": lambda x, y: (x[:, None] * y[None]).max(-1),
    "smallest of three": lambda x, y: np.minimum(x[:, None], np.minimum(y[None], x[0] * 2)).min(axis=2, keepdims=True),
    "mean of a column": lambda x, y: (x[:, None] * y[:, :1] - y).mean(-1),
    "batch": lambda x, y: (np.stack([x, x * 2])[:, :, None] - y[None, None]).sum(-1),
    "chosen": lambda x, y: np.where(x[:, None] > y[None], x[:, None], 3 - y[None]).sum(-1),
    "rows of a transposed one": lambda x, y: (x[:, :, None] - y.T[None]).sum(1),
    "elementwise": lambda x, y: (x[:, :, None] + y.T) * 2,
}


@pytest.mark.sampled
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_gradients(name: str, sizes: tuple[int, int, int]) -> None:
    rows, pairs, length = sizes
    rng, function = np.random.default_rng(rows), FUNCTIONS[name]
    x, y = rng.standard_normal((rows, length)), rng.standard_normal((pairs, length))
    dtypes = ("f4", "f8", "i4")
    for dtype in dtypes if EVERY else (dtypes[rows % 3],):
        a, b = (value.astype(dtype) if dtype != "i4" else (value * 9).astype(dtype) for value in (x, y))
        expected = function(a.astype("f8"), b.astype("f8"))
        tolerance = 0.0 if dtype == "i4" and name != "mean of a column" else 64 * float(np.finfo("f4").eps)
        np.testing.assert_allclose(rlx.compile(function, threads=2)(a, b), expected, tolerance, tolerance)

    def loss(x: Any, y: Any) -> Any:
        return (function(x, y) ** 2).sum()

    gradients = rlx.compile(rlx.grad(loss, (0, 1)))(x, y)
    direction = rng.standard_normal(x.shape), rng.standard_normal(y.shape)
    step = 1e-6
    ahead, behind = (loss(x + sign * step * direction[0], y + sign * step * direction[1]) for sign in (1, -1))
    slope = sum(float((g * d).sum()) for g, d in zip(gradients, direction, strict=True))
    np.testing.assert_allclose(slope, (ahead - behind) / (2 * step), rtol=1e-4, atol=1e-3)


def test_nan_and_infinity_are_those_of_each_pair() -> None:
    x, y = np.zeros((8, 3), "f4"), np.ones((16, 3), "f4")
    x[2, 1], y[5, 0], y[6, 2] = np.nan, np.inf, -np.inf
    for function in (FUNCTIONS["squared distances"], FUNCTIONS["largest product"]):
        with np.errstate(invalid="ignore"):
            np.testing.assert_array_equal(rlx.compile(function)(x, y), function(x, y))


def test_a_small_transposed_operand_is_copied_once_and_a_large_one_is_read_in_place() -> None:
    def copies(rows: int, pairs: int) -> int:
        def function(x: Any, y: Any) -> Any:
            return (x[:, :, None] - y.T[None]).max(1)

        lowered = rlx.lower(rlx.trace(function, np.zeros((rows, 4), "f4"), np.zeros((pairs, 4), "f4")))
        return str(lowered).count("lir.launch @k0_copy")

    assert copies(8, 64) == 1
    assert copies(7, 64) == 0
