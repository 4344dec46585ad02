"""Fourier transforms as plain Python."""

from typing import Any

import numpy as np
import pytest
from as_python import run_as_python

import xdsl_rlx as rlx

RNG = np.random.default_rng(2)


def complex_numbers(*shape: int) -> np.ndarray[Any, Any]:
    """Normally distributed parts, f64."""
    return RNG.normal(size=shape) + 1j * RNG.normal(size=shape)


@pytest.mark.sampled
@pytest.mark.parametrize("n", [1, 2, 3, 8, 15, 26, 67])
@pytest.mark.parametrize("inverse", [False, True])
def test_complex_transforms_run_as_python(n: int, inverse: bool):
    z, pairs = complex_numbers(11, n), RNG.normal(size=(3, 2 * n))
    for array, dtype in ((z, "c128"), (pairs, "f64")):
        g = rlx.Graph("transform")
        g.set_outputs([g.fft(g.input("z", array.shape, dtype), inverse)])
        (found,) = run_as_python(g, array)
        np.testing.assert_allclose(found, rlx.compile(g)(array)[0], rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("n", [1, 2, 5, 12, 15, 16])
def test_real_transforms_run_as_python(n: int):
    x, bins = RNG.normal(size=(11, n)), complex_numbers(3, n // 2 + 1)
    g = rlx.Graph("bins")
    g.set_outputs([g.rfft(g.input("x", x.shape, "f64"))])
    np.testing.assert_allclose(run_as_python(g, x)[0], rlx.compile(g)(x)[0], rtol=1e-14, atol=1e-14)
    g = rlx.Graph("numbers")
    g.set_outputs([g.irfft(g.input("z", bins.shape, "c128"), n)])
    np.testing.assert_allclose(run_as_python(g, bins)[0] / n, rlx.compile(g)(bins)[0], rtol=1e-14, atol=1e-14)
