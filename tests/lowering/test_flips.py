"""Flips are views that lie backwards: whatever reads one, the values are NumPy's."""

# Functions that are traced.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from sampling import sample

import xdsl_rlx as rlx

PROGRAMS: dict[str, Callable[[Any, Any, tuple[int, ...]], Any]] = {
    "elementwise": lambda x, y, axes: np.flip(x, axes) + y,
    "alone": lambda x, y, axes: np.flip(x, axes),
    "rows": lambda x, y, axes: np.flip(x, axes).sum(-1) + np.flip(np.exp(y), axes).sum(-1),
    "columns": lambda x, y, axes: (np.flip(x, axes) - y).sum(0),
    "softmax": lambda x, y, axes: np.exp(np.flip(x, axes) - np.flip(x, axes).max(-1, keepdims=True)),
    "product": lambda x, y, axes: np.flip(x, axes) @ np.swapaxes(y, -1, -2),
    "transposed product": lambda x, y, axes: np.swapaxes(np.flip(x, axes), -1, -2) @ y,
    "views of views": lambda x, y, axes: (np.flip(x, axes).T * 2, np.flip(x * y, axes), np.flip(x, axes).ravel()),
    "every other": lambda x, y, axes: np.flip(x, axes)[..., ::2] - y[..., ::2],
    "joined": lambda x, y, axes: np.concatenate([np.flip(x, axes), np.flip(y * 2, axes)], -1),
    "back again": lambda x, y, axes: np.flip(np.flip(x, axes) * y, axes[-1]),
    "running sum": lambda x, y, axes: np.cumsum(np.flip(x, axes), -1) + y,
    "sorted": lambda x, y, axes: np.sort(np.flip(x, axes), -1),
    "picked": lambda x, y, axes: np.flip(x, axes)[..., np.array([0, -1])] + y[..., :1],
    "broadcast": lambda x, y, axes: np.broadcast_to(np.flip(x, axes), (3, *x.shape)) + y,
}
SHAPES = ((1, 1), (33, 65), (130, 17), (3, 4, 5))


@pytest.mark.parametrize("name", PROGRAMS)
def test_flips_as_numpy(name: str) -> None:
    f, rng = PROGRAMS[name], np.random.default_rng(0)
    cases = [(one, axes, threads) for one in SHAPES for axes in _axes(len(one)) for threads in (1, 2)]
    for shape, axes, threads in sample(cases):
        x, y = rng.standard_normal((2, *shape)).astype("f4")
        found = rlx.compile(lambda x, y, axes=axes: f(x, y, axes), threads=threads)(x, y)
        results = (value if isinstance(value, tuple) else (value,) for value in (found, f(x, y, axes)))
        for a, b in zip(*results, strict=True):
            assert a.shape == b.shape
            assert np.allclose(a, b, rtol=1e-4, atol=1e-4), (shape, axes, threads)


def test_gradients_of_flips() -> None:
    rng = np.random.default_rng(0)
    for shape, axes in sample([(one, axes) for one in SHAPES for axes in _axes(len(one))]):
        x, y = rng.standard_normal((2, *shape))
        found = rlx.grad(lambda x, y, axes=axes: (np.flip(x, axes) * y * y).sum(), argnums=(0, 1))(x, y)
        assert np.allclose(found[0], np.flip(y * y, axes))
        assert np.allclose(found[1], 2 * np.flip(x, axes) * y)


def test_a_flipped_argument_is_not_overwritten_while_it_is_read() -> None:
    step = rlx.compile(lambda x: (x[0], x + np.flip(x, 0)), donate="x")
    for n in (2, 5, 64, 1001):
        x = np.arange(n, dtype="f4")
        expected = x + x[::-1]
        _, found = step(x)
        assert np.array_equal(found, expected)


def _axes(rank: int) -> list[tuple[int, ...]]:
    return [axes for count in range(1, rank + 1) for axes in combinations(range(rank), count)]
