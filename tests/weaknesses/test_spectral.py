"""Where Fourier transforms and log-mel features are easily wrong: frequencies, lengths, element types, the floor.

Each test names in its docstring the weakness that it guards against.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xdsl_rlx as rlx

Array = np.ndarray[Any, Any]


def graph(build: Callable[..., Any], *arrays: Array) -> rlx.Graph:
    g = rlx.Graph("f")
    g.set_outputs([build(g, *(g.input(f"x{i}", a.shape, dtype=a.dtype) for i, a in enumerate(arrays)))])
    return g


def run(build: Callable[..., Any], *arrays: Array) -> Array:
    return rlx.compile(graph(build, *arrays))(*arrays)[0]


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_frequencies_are_those_of_numpy(n: int):
    """W-63: the frequency in the middle of an even length is negative."""
    np.testing.assert_allclose(run(lambda g: g.fftfreq(n, 0.25, "f64")), np.fft.fftfreq(n, 0.25))
    np.testing.assert_allclose(run(lambda g: g.rfftfreq(n, 0.25, "f64")), np.fft.rfftfreq(n, 0.25))


@pytest.mark.parametrize("n", [3, 6, 7, 10, 17, 67, 100])
def test_real_transforms_have_the_length_that_they_are_given(n: int):
    """W-63: rfft of n points is that of n points, not of the next power of two; irfft brings them back."""
    x = np.random.default_rng(n).standard_normal((2, n))
    np.testing.assert_allclose(run(lambda g, x: g.rfft(x), x), np.fft.rfft(x), atol=1e-12)
    np.testing.assert_allclose(run(lambda g, x: g.irfft(g.rfft(x), n), x), x, atol=1e-13)


@pytest.mark.parametrize("n", [None, 3, 5, 8])
def test_all_bins_of_real_points_are_those_of_numpy(n: int | None):
    """W-63: fft_real gives both parts of as many bins as there are points, not of the next power of two."""
    x = np.random.default_rng(5).standard_normal((2, 5))
    expected = np.fft.fft(x, n)
    for part in (0, 1):
        found = run(lambda g, x, part=part: g.fft_real(x, n)[part], x)
        np.testing.assert_allclose(found, (expected.real, expected.imag)[part], atol=1e-13)


def test_composed_transforms_are_those_of_numpy():
    """W-63: fftn, ifftn, irfft and convolution, factors included; stft is rfft of windowed frames."""
    rng = np.random.default_rng(1)
    z = rng.standard_normal((3, 4, 5)) + 1j * rng.standard_normal((3, 4, 5))
    x, kernel, window = rng.standard_normal((2, 50)), rng.standard_normal(7), np.hanning(12)
    np.testing.assert_allclose(run(lambda g, z: g.fftn(z), z), np.fft.fftn(z), atol=1e-12)
    np.testing.assert_allclose(run(lambda g, z: g.ifftn(z, (0, 2)), z), np.fft.ifftn(z, axes=(0, 2)), atol=1e-14)
    np.testing.assert_allclose(run(lambda g, z: g.irfft(z), z), np.fft.irfft(z), atol=1e-14)
    np.testing.assert_allclose(run(lambda g, z: g.irfft(z, 9), z), np.fft.irfft(z, 9), atol=1e-14)
    full = np.stack([np.convolve(row, kernel) for row in x])
    np.testing.assert_allclose(run(lambda g, x, k: g.fft_conv1d(x, k), x, kernel), full, atol=1e-13)
    frames = np.lib.stride_tricks.sliding_window_view(x, 12, axis=-1)[:, ::5]
    found = run(lambda g, x, w: g.stft(x, 12, 5, w), x, window)
    np.testing.assert_allclose(found, np.fft.rfft(frames * window), atol=1e-13)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_factor_of_a_gradient_has_the_type_of_the_transform(dtype: type[Any]):
    """W-30: the gradient of a transform in f64 is right to f64, its factor included."""
    x = np.random.default_rng(2).standard_normal((2, 12)).astype(dtype)
    g = graph(lambda g, x: g.reduce_sum(g.fft(x, inverse=True, norm="forward") * x), x)
    (found,) = rlx.compile(rlx.grad(g, wrt=["x0"]))(x)
    matrix = np.fft.ifft(np.eye(6))
    real = np.block([[matrix.real, -matrix.imag], [matrix.imag, matrix.real]])
    expected = x.astype(np.float64) @ (real + real.T)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, expected, rtol=0, atol=8 * np.finfo(dtype).eps)


def test_a_transform_in_single_precision_is_accurate():
    """W-41: errors stay within a few units in the last place of the largest bin, at any length."""
    rng = np.random.default_rng(3)
    for n in (96, 97, 400, 512, 1009, 4096):
        z = (rng.standard_normal((2, n)) + 1j * rng.standard_normal((2, n))).astype(np.complex64)
        exact = np.fft.fft(z.astype(np.complex128))
        error = np.abs(run(lambda g, z: g.fft(z), z) - exact).max() / np.abs(exact).max()
        assert error < 6 * np.finfo(np.float32).eps, n


@pytest.mark.parametrize("clip", [False, True])
def test_log_mel_differentiates_its_floor_and_its_filters(clip: bool):
    """W-22: the floor follows the greatest band, of the frame or of the clip; filters have a gradient too."""
    rng = np.random.default_rng(4)
    spectrum = rng.standard_normal((3, 16))
    filters = rng.uniform(0.5, 1.5, (4, 5)) * np.array([[1.0], [1e-9], [1.0], [1e-9]])
    weights = rng.standard_normal((3, 4))

    def features(s: Array, f: Array) -> Array:
        power = s[:, :5] ** 2 + s[:, 8:13] ** 2
        level = np.log10(np.maximum(power @ f.T, 1e-10))
        greatest = level.max(axis=None if clip else 1, keepdims=True)
        return (np.maximum(level, greatest - 8) + 4) / 4

    g = graph(lambda g, s, f: g.reduce_sum(g.log_mel(s, f, clip) * weights), spectrum, filters)
    loss, ds, df = rlx.compile(rlx.grad_with_loss(g, wrt=["x0", "x1"]))(spectrum, filters)
    assert loss == pytest.approx(np.sum(features(spectrum, filters) * weights), rel=1e-12)
    floored = features(spectrum, filters) == features(spectrum, filters).min(axis=None if clip else 1, keepdims=True)
    assert floored.sum() > 3
    for x, found in ((spectrum, ds), (filters, df)):
        for at in np.ndindex(x.shape):
            step = 1e-6 * max(abs(x[at]), 1e-9)
            ends: list[float] = []
            for sign in (1, -1):
                moved = x.copy()
                moved[at] += sign * step
                both = (moved, filters) if x is spectrum else (spectrum, moved)
                ends.append(float(np.sum(features(*both) * weights)))
            assert found[at] == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-4, abs=1e-4)
