"""Transforms along several axes of real numbers, whose second half of bins is that of the first one mirrored."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xdsl_rlx as rlx

SHAPES = [(4, 6), (5, 7), (3, 4, 5), (2, 1), (1, 2), (3, 1), (2, 3, 2)]


@pytest.mark.sampled
@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
@pytest.mark.parametrize("name", ["fft2", "ifft2", "fftn", "ifftn"])
def test_values_are_those_of_numpy(name: str, norm: str | None):
    function: Any = getattr(np.fft, name)
    for shape in SHAPES:
        x = np.random.default_rng(0).standard_normal(shape)
        found = rlx.compile(lambda x: function(x, norm=norm))(x)
        np.testing.assert_allclose(found, function(x, norm=norm), atol=1e-12, err_msg=str(shape))


def test_lengths_axes_and_types():
    x = np.random.default_rng(0).standard_normal((3, 4, 5))
    programs: list[Callable[[Any], Any]] = [
        lambda x: np.fft.fft2(x, s=(4, 5)),
        lambda x: np.fft.fft2(x, s=(3, 4)),
        lambda x: np.fft.fftn(x, axes=(2, 0)),
        lambda x: np.fft.fftn(x, axes=(1,)),
        lambda x: np.fft.fft2(x.astype("f4")),
        lambda x: np.fft.fft2(x.astype("i4")),
    ]
    for program in programs:
        found, expected = rlx.compile(program)(x), program(x)
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("shape", [(5, 6), (4, 7)])
def test_gradients(shape: tuple[int, int]):
    rng = np.random.default_rng(1)
    x, toward, weights = rng.standard_normal((3, *shape))

    def loss(x: Any) -> Any:
        return (abs(np.fft.fft2(x)) * weights).sum()

    slope = (rlx.compile(rlx.grad(loss))(x) * toward).sum()
    np.testing.assert_allclose(slope, (loss(x + 1e-6 * toward) - loss(x - 1e-6 * toward)) / 2e-6, rtol=1e-6)
