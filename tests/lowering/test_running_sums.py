"""Running sums over lengths around those of chains and blocks, types, directions and threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import xdsl_rlx as rlx
from xdsl_rlx.lowering.nests.index import CHAINS, LENGTH

GROUP = CHAINS * LENGTH
SHAPES = [
    *[(1,), (LENGTH - 1,), (LENGTH,), (LENGTH + 1,), (GROUP - 1,), (GROUP,), (GROUP + 1,), (GROUP + LENGTH + 1,)],
    *[(3, GROUP + 904), (7, LENGTH + 1), (8, 100), (10, 33), (11, 3000), (2, 3, GROUP + 4)],
]


@pytest.mark.sampled
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
