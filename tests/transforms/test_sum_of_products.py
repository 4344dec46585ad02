"""Gradients of products of a value with itself: one product for both cotangents, and right."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xdsl_rlx as rlx

FORMS: dict[str, tuple[Callable[[Any], Any], tuple[int, ...], int]] = {
    "columns": (lambda x: x.T @ x, (7, 3), 2),
    "rows": (lambda x: x @ x.T, (3, 7), 2),
    "batch": (lambda x: np.swapaxes(x, 1, 2) @ x, (2, 5, 3), 2),
    "batch of rows": (lambda x: x @ np.swapaxes(x, -1, -2), (2, 2, 3, 4), 2),
    "square": (lambda x: x @ x, (4, 4), 3),
    "centred": (lambda x: (lambda c: c.T @ c)(x - x.mean(0)), (9, 4), 2),
    "three factors": (lambda x: x @ x.T @ x, (3, 4), 6),
    "twice": (lambda x: x @ np.eye(4)[:, :2] @ np.ones((2, 3)) + x @ np.ones((4, 3)), (5, 4), 0),
    "read elsewhere": (lambda x: (x.T @ x, np.exp(x.T @ x)), (6, 3), 4),
    "a vector": (lambda x: (x @ x) * x, (5,), 0),
}
"""Functions of one argument, its shape, and how many products the value and the gradient have together at most; 0 if it
does not matter."""


@pytest.mark.parametrize("name", FORMS)
def test_gradients_equal_finite_differences(name: str) -> None:
    f, shape, most = FORMS[name]
    rng = np.random.default_rng(len(name))
    x, direction = rng.standard_normal(shape), rng.standard_normal(shape)
    found = f(x)
    weights = [rng.standard_normal(np.shape(y)) for y in (found if isinstance(found, tuple) else (found,))]

    def loss(x: Any) -> Any:
        ys = f(x)
        return sum((y * w).sum() for y, w in zip(ys if isinstance(ys, tuple) else (ys,), weights, strict=True))

    gradient = rlx.compile(rlx.grad(loss))
    assert str(gradient.trace(x).module).count("mir.matmul") <= most or not most
    slope = float((gradient(x) * direction).sum())
    step = 1e-6
    np.testing.assert_allclose(
        slope, (loss(x + step * direction) - loss(x - step * direction)) / (2 * step), rtol=1e-7, atol=1e-7
    )


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(1, 1), (2, 65), (65, 2), (130, 31), (0, 3), (3, 0)])
def test_the_gradient_of_a_gram_matrix_is_the_closed_form(shape: tuple[int, int], dtype: Any) -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal(shape).astype(dtype)
    w = rng.standard_normal((shape[1], shape[1])).astype(dtype)
    found = rlx.compile(rlx.grad(lambda x: (w * (x.T @ x)).sum()))(x)
    expected = x.astype(np.float64) @ (w + w.T).astype(np.float64)
    scale = 1 + np.abs(x.astype(np.float64)) @ np.abs(w + w.T)
    assert (np.abs(np.asarray(found) - expected) <= 8 * np.finfo(dtype).eps * scale * (1 + shape[1] / 16)).all()


def test_second_derivatives() -> None:
    x, v = (np.random.default_rng(n).standard_normal((5, 3)) for n in range(2))

    def loss(x: Any) -> Any:
        return ((x.T @ x) ** 2).sum()

    step = 1e-5
    first = rlx.grad(loss)
    found = rlx.compile(rlx.grad(lambda x: (first(x) * v).sum()))(x)
    expected = (rlx.compile(first)(x + step * v) - rlx.compile(first)(x - step * v)) / (2 * step)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
