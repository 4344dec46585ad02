"""Small values that are broadcast have kernels of their own where that pays, and every program means the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import xdsl_rlx as rlx
from xdsl_rlx import optim


def broadcast(x: Any, y: Any) -> Any:
    return np.log1p(x * x) * np.sqrt(1 + y * y) / (1 + abs(x)) + np.exp(-(y * y))


def loss(x: Any, y: Any) -> Any:
    return (broadcast(x, y) * broadcast(x, y)).sum()


def root_times(x: Any, y: Any) -> Any:
    return x * np.sqrt(y)


def size_times(x: Any, y: Any) -> Any:
    return x * abs(y)


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(
    ("first", "second"),
    [
        *[((700, 1), (1, 900)), ((900,), (700, 1)), ((1,), (70_001,)), ((3, 1), (1, 5)), ((2, 400, 1), (400, 333))],
        *[((50, 3, 64, 64), (3, 1, 1)), ((300, 1, 200), (1, 7, 1)), ((0, 1), (1, 900)), ((1, 30_000), (5, 1))],
    ],
)
def test_functions_of_broadcast_values(first: tuple[int, ...], second: tuple[int, ...], dtype: str) -> None:
    rng = np.random.default_rng(0)
    x, y = (rng.standard_normal(shape).astype(dtype) for shape in (first, second))
    found = rlx.compile(broadcast)(x, y)
    assert found.dtype == dtype
    expected = broadcast(x.astype("f8"), y.astype("f8"))
    np.testing.assert_allclose(found, expected, rtol=8 * float(np.finfo(dtype).eps))
    d_x, d_y = rlx.compile(rlx.grad(loss, (0, 1)))(x.astype("f8"), y.astype("f8"))
    assert d_x.shape == first and d_y.shape == second
    if x.size and y.size:
        step = 1e-6
        at = (0,) * y.ndim
        ahead, behind = y.astype("f8"), y.astype("f8")
        ahead[at] += step
        behind[at] -= step
        slope = (loss(x.astype("f8"), ahead) - loss(x.astype("f8"), behind)) / (2 * step)
        np.testing.assert_allclose(d_y[at], slope, rtol=1e-3, atol=1e-3)


def test_a_function_of_a_row_is_computed_once() -> None:
    x, y = np.ones((700, 1), np.float32), np.ones((1, 900), np.float32)
    assert rlx.compile(root_times).compiled(x, y).kernel_count == 2
    assert rlx.compile(size_times).compiled(x, y).kernel_count == 1


def test_a_scalar_of_many_users_is_computed_once() -> None:
    params = [np.ones((4, n), np.float32) for n in range(1, 41)]
    optimiser = optim.AdamW(0.1)

    def step(grads: Any, state: Any, params: Any) -> Any:
        return optimiser.update(grads, state, params)

    counted = rlx.trace(step, params, optimiser.init(params), params)
    assert str(counted.module).count("mir.pow") <= 2
    moved, state = rlx.compile(step)(params, optimiser.init(params), params)
    assert state["step"] == 1
    for leaf in moved:
        np.testing.assert_allclose(leaf, 1 - 0.1 * 1.01, rtol=1e-5)
