"""Repeats, resizes and sums over parts of an axis: over sizes, axes, types and layouts, with their gradients."""

# Functions of arrays of either library.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from sampling import sample

import xdsl_rlx as rlx
from xdsl_rlx.lowering.prepare.mir_split_axes import split

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "repeat": lambda x, w: np.repeat(x, 3, axis=0) * 2 + w,
    "repeat the last": lambda x, w: np.exp(np.repeat(x, 3, axis=-1)) * w.reshape(x.shape[0], -1),
    "tile": lambda x, w: np.tile(x, (3, 1)) * w,
    "sum of parts": lambda x, w: (np.tanh(w) * 2).reshape(x.shape[0], 3, x.shape[1]).sum(1) + x,
    "maximum of parts": lambda x, w: abs(w + 1).reshape(x.shape[0], 3, x.shape[1]).max(1) * x,
    "row": lambda x, w: np.repeat(x, 3, axis=0) * w[0] + w[:, :1],
}


@pytest.mark.sampled
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("shape", [(1, 1), (2, 5), (5, 1), (1, 40), (33, 65), (200, 17)])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_gradients(name: str, shape: tuple[int, int], threads: int) -> None:
    rng = np.random.default_rng(0)
    function = FUNCTIONS[name]
    x, w = rng.standard_normal(shape), rng.standard_normal((3 * shape[0], shape[1]))
    for dtype in ("f4", "f8"):
        a, b = x.astype(dtype), w.astype(dtype)
        tolerance = 32 * float(np.finfo(dtype).eps)
        expected = function(a.astype("f8"), b.astype("f8"))
        np.testing.assert_allclose(rlx.compile(function, threads=threads)(a, b), expected, tolerance, tolerance)
        across = np.asfortranarray(a)
        np.testing.assert_allclose(rlx.compile(function, threads=threads)(across, b), expected, tolerance, tolerance)

    def loss(x: Any, w: Any) -> Any:
        return (function(x, w) ** 2).sum()

    gradients = rlx.compile(rlx.grad(loss, (0, 1)), threads=threads)(x, w)
    direction = [rng.standard_normal(value.shape) for value in (x, w)]
    step = 1e-6
    ahead, behind = (
        loss(*(value + sign * step * d for value, d in zip((x, w), direction, strict=True))) for sign in (1, -1)
    )
    slope = sum(float((g * d).sum()) for g, d in zip(gradients, direction, strict=True))
    np.testing.assert_allclose(slope, (ahead - behind) / (2 * step), rtol=1e-5, atol=1e-5)


def test_a_repeat_is_one_kernel() -> None:
    x, w = np.ones((20, 30), np.float32), np.ones((60, 30), np.float32)
    assert rlx.compile(FUNCTIONS["repeat"]).compiled(x, w).kernel_count == 1
    assert rlx.compile(FUNCTIONS["sum of parts"]).compiled(x, w).kernel_count <= 2


def test_split() -> None:
    assert split((6, 4), (2, 3, 4)) == [[2, 3], [4]]
    assert split((6, 4), (2, 3, 2, 2)) == [[2, 3], [2, 2]]
    assert split((6, 4), (6, 2, 2)) == [[6], [2, 2]]
    assert split((6, 4), (3, 8)) is None
    assert split((6, 4), (6, 4)) is None
    assert split((6,), (6, 1)) is None
    assert split((1, 6), (1, 2, 3, 1)) == [[1], [2, 3, 1]]


@pytest.mark.sampled(most=5)
@pytest.mark.parametrize("rows", [1, 2, 3, 4, 5, 7, 8, 9, 127, 129, 300])
@pytest.mark.parametrize("columns", [16, 17, 65, 200])
def test_sums_over_columns(rows: int, columns: int) -> None:
    x = np.random.default_rng(1).standard_normal((3, rows, columns))
    cases = list(product(("f4", "f8", "i4", "u1"), (1, 2), (0, 1, (0, 1))))
    for kind, threads, axis in sample(cases, turn=rows + columns):
        y = np.asarray(abs(x) * 5 if kind == "u1" else x * 5).astype(kind)
        wide = y.astype("f8") if kind[0] == "f" else y
        total = rlx.compile(lambda x, axis=axis: np.sum(x * 2, axis=axis), threads=threads)(y)
        np.testing.assert_allclose(total, np.sum(wide * 2, axis=axis), 1e-4, 1e-3)
        most = rlx.compile(lambda x, axis=axis: np.max(x, axis=axis), threads=threads)(y)
        np.testing.assert_array_equal(most, np.max(y, axis=axis))


@pytest.mark.sampled
@pytest.mark.parametrize("rows", [1, 3, 4, 6, 8, 40, 41])
@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (2, 1, 0)])
def test_sums_over_columns_that_compute_with_each_others_elements(rows: int, order: tuple[int, ...]) -> None:
    def sums(x: Any, w: Any) -> Any:
        square = x * x
        parts = [np.sum(square, 1), np.sum(square * w, 1), np.max(square * w + x, 1)]
        return [parts[n] for n in order]

    rng = np.random.default_rng(rows)
    x, w = rng.standard_normal((2, rows, 17)), rng.standard_normal((rows, 1))
    for found, expected in zip(rlx.compile(sums)(x, w), sums(x, w), strict=True):
        np.testing.assert_allclose(found, expected, 1e-13, 1e-13)
