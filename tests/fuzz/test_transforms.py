"""Fourier transforms of all lengths and numbers of frames beside those of NumPy.

`make test` takes a few lengths; with EVERY_SAMPLE set in the environment, all up to 130 and some long ones.
"""

# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false, reportUnknownMemberType=false

from typing import Any

import numpy as np
import pytest
from levels import EVERY

import xdsl_rlx as rlx

LENGTHS = (*range(1, 131), 243, 509, 1000, 1009, 2018, 4096, 6007) if EVERY else (12, 67)
ALL_FRAMES = (7, 30, 67) if EVERY else ()
"""Lengths of which every number of frames up to 20 is transformed; of others, a part of a block, and blocks."""
ROUNDING = {np.float32: 6e-7, np.float64: 1e-15}
"""Of a transform of two points."""


def _transforms(n: int) -> Any:
    def transforms(x: Any, z: Any, bins: Any) -> Any:
        return np.fft.fft(z), np.fft.ifft(z), np.fft.rfft(x), np.fft.irfft(bins, n=n), np.fft.fft(z, norm="ortho")

    return transforms


@pytest.mark.sampled
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", LENGTHS)
def test_transforms_agree_with_numpy(n: int, dtype: type[np.floating[Any]], threads: int) -> None:
    rng = np.random.default_rng(n)
    complex_type = np.result_type(dtype, np.complex64)
    for frames in range(1, 21) if n in ALL_FRAMES else (1 + n % 7, 8 + n % 13):
        x = rng.standard_normal((frames, n)).astype(dtype)
        z = (x + 1j * rng.standard_normal((frames, n))).astype(complex_type)
        bins = np.fft.rfft(x).astype(complex_type)
        found = rlx.compile(_transforms(n), threads=threads)(x, z, bins)
        expected = _transforms(n)(x.astype(np.float64), z.astype(np.complex128), bins.astype(np.complex128))
        for ours, numpys in zip(found, expected, strict=True):
            error = np.max(np.abs(ours - numpys)) / np.max(np.abs(numpys))
            assert error <= ROUNDING[dtype] * (1 + np.log2(n)), (frames, error)
