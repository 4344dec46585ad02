"""Running sums and products over lengths around those of chains and blocks, types, directions and threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import xdsl_rlx as rlx
from xdsl_rlx.lowering.kernels.running import CHAINS, LENGTH

GROUP = CHAINS * LENGTH
SHAPES = [
    *[(1,), (LENGTH - 1,), (LENGTH,), (LENGTH + 1,), (GROUP - 1,), (GROUP,), (GROUP + 1,), (GROUP + LENGTH + 1,)],
    *[(3, GROUP + 904), (7, LENGTH + 1), (8, 100), (10, 33), (11, 3000), (2, 3, GROUP + 4)],
]


@pytest.mark.sampled(most=9)
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i4", "i8"])
@pytest.mark.parametrize("shape", SHAPES)
def test_running_sums(shape: tuple[int, ...], dtype: str) -> None:
    x = (np.random.default_rng(0).standard_normal(shape) * 5).astype(dtype)
    wide = x.astype("f8") if dtype[0] == "f" else x
    tolerance = 0.02 if dtype == "f2" else 1e-5

    def forwards(x: Any) -> Any:
        return np.cumsum(x, axis=-1)

    def backwards(x: Any) -> Any:
        return np.flip(np.cumsum(np.flip(x, -1), axis=-1), -1)

    for function in (forwards, backwards):
        one, two = (rlx.compile(function, threads=threads)(x) for threads in (1, 2))
        np.testing.assert_array_equal(one, two)
        np.testing.assert_allclose(one, function(wide), tolerance, 100 * tolerance)


@pytest.mark.parametrize("shape", [(GROUP + 3,), (9, 50)])
def test_their_gradients(shape: tuple[int, ...]) -> None:
    x, w = np.random.default_rng(1).standard_normal((2, *shape))

    def loss(x: Any, w: Any) -> Any:
        return (np.cumsum(x, axis=-1) * w).sum()

    found = rlx.compile(rlx.grad(loss))(x, w)
    np.testing.assert_allclose(found, np.flip(np.cumsum(np.flip(w, -1), -1), -1), 1e-10, 1e-10)


@pytest.mark.sampled(most=9)
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i4", "i8"])
@pytest.mark.parametrize("shape", [*SHAPES, (0, 5), (5, 0), (4, 9, 70), (130, 1)])
def test_running_products(shape: tuple[int, ...], dtype: str) -> None:
    """Along the last axis and the first one; integers wrap."""
    rng = np.random.default_rng(2)
    x = rng.integers(-3, 4, shape).astype(dtype) if dtype[0] == "i" else (2 ** rng.normal(0, 0.05, shape)).astype(dtype)
    wide = x.astype("f8") if dtype[0] == "f" else x
    rounding = max(np.finfo(x.dtype).eps, 1e-15) * 2 * max(max(shape), 1) if dtype[0] == "f" else 0
    for axis in (-1, 0):

        def function(x: Any, axis: int = axis) -> Any:
            return np.cumprod(x, axis=axis, dtype=x.dtype)

        one, two = (rlx.compile(function, threads=threads)(x) for threads in (1, 2))
        assert one.dtype == x.dtype
        np.testing.assert_array_equal(one, two)
        np.testing.assert_allclose(one, function(wide), rounding)
