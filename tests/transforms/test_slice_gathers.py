"""`mir-slice-gathers`: values and gradients of gathers at even places are those of NumPy's indexing."""

# Traced functions have no types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false, reportCallIssue=false

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import xdsl_rlx as rlx

CASES: dict[str, tuple[tuple[int, ...], int, tuple[int, ...], int, tuple[int, ...]]] = {
    "frames": ((100,), 0, (3, 24), 2, (16, 1)),
    "window first": ((100,), 0, (24, 3), 2, (1, 16)),
    "apart": ((100,), 0, (3, 16), 1, (20, 1)),
    "rows": ((20, 8), 0, (4, 3), 1, (2, 1)),
    "columns": ((3, 90), 1, (3, 24), 0, (16, 1)),
    "inside": ((3, 40, 5), 1, (5, 9), 0, (7, 1)),
    "strided": ((40,), 0, (9,), 3, (4,)),
    "clamped": ((40,), 0, (3, 24), 2, (16, 1)),
}


@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients(name: str) -> None:
    shape, axis, extents, start, steps = CASES[name]
    places: Any = start + sum(n * i for n, i in zip(steps, np.indices(extents), strict=True))
    places = np.clip(places, 0, shape[axis] - 1)
    x: Any = np.random.default_rng(0).standard_normal(shape)

    def taken(x: Any) -> Any:
        loops: list[Any] = [rlx.iota(extents, d, "i64") for d in range(len(extents))]
        at = sum((step * i for step, i in zip(steps, loops, strict=True)), start)
        return rlx.gather(x, at, axis)

    weights: Any = np.random.default_rng(1).standard_normal(np.take(x, places, axis).shape)
    np.testing.assert_array_equal(rlx.compile(taken)(x), np.take(x, places, axis))

    def loss(x: Any) -> Any:
        return (taken(x) * weights).sum()

    found = rlx.compile(rlx.grad(loss))(x)
    expected: Any = np.zeros_like(x)
    np.add.at(
        np.moveaxis(expected, axis, 0),
        places,
        np.moveaxis(weights, range(axis, axis + len(extents)), range(len(extents))),
    )
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    program = str(rlx.lower(rlx.trace(taken, x)))
    assert ("gather" in program) == (name == "clamped")
