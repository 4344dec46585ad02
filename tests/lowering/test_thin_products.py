"""Matmuls of which one dimension is 2 to 4, in all layouts and types, with gradients, on one thread and on two."""

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

FORMS: dict[str, Callable[[Any, Any], Any]] = {
    "nn": lambda x, y: x @ y,
    "nt": lambda x, y: x @ y.T,
    "tn": lambda x, y: x.T @ y,
    "tt": lambda x, y: x.T @ y.T,
}
SHAPES = [
    *[(64, 2, 64), (100, 3, 333), (70, 4, 65), (2000, 3, 70), (63, 3, 100), (100, 5, 100)],
    *[(3, 300, 100), (100, 300, 3), (4, 64, 64), (64, 64, 2)],
]


@pytest.mark.sampled
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("shape", SHAPES)
def test_products(shape: tuple[int, int, int], form: str, threads: int) -> None:
    m, k, n = shape
    rng = np.random.default_rng(0)
    x = rng.standard_normal((k, m) if form[0] == "t" else (m, k))
    y = rng.standard_normal((n, k) if form[1] == "t" else (k, n))
    product = FORMS[form]
    for dtype in ("f4", "f8") if EVERY else (f"f{4 * threads}",):
        a, b = x.astype(dtype), y.astype(dtype)
        tolerance = 64 * float(np.finfo(dtype).eps)
        expected = product(a.astype("f8"), b.astype("f8"))
        found = rlx.compile(product, threads=threads)(a, b)
        np.testing.assert_allclose(found, expected, tolerance, tolerance * k)

    def squares(x: Any, y: Any) -> Any:
        return (np.tanh(product(x, y)) ** 2).sum()

    d_x, d_y = rlx.compile(rlx.grad(squares, (0, 1)), threads=threads)(x, y)
    h = np.tanh(product(x, y))
    g = 2 * h * (1 - h * h)
    wanted_x = g @ y if form[1] == "t" else g @ y.T
    wanted_y = g.T @ x.T if form == "tt" else g.T @ x if form == "nt" else x @ g if form[0] == "t" else x.T @ g
    np.testing.assert_allclose(d_x, wanted_x.T if form[0] == "t" else wanted_x, 1e-10, 1e-10)
    np.testing.assert_allclose(d_y, wanted_y, 1e-10, 1e-10)


def test_batches() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((5, 80, 3)), rng.standard_normal((5, 3, 90))
    np.testing.assert_allclose(rlx.compile(np.matmul)(x, y), x @ y, 1e-12, 1e-12)


def test_a_gradient_of_a_thin_product_reads_no_matrix() -> None:
    x, y = np.ones((200, 3), np.float32), np.ones((3, 300), np.float32)

    def squares(x: Any, y: Any) -> Any:
        return ((x @ y) ** 2).sum()

    report = rlx.memory_report(rlx.trace(rlx.grad(squares, (0, 1)), x, y))
    assert report.arena < 4 * 200 * 300
