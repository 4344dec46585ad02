"""Complex buffers and transforms, from the LLVM text, by Numba and as plain Python: all agree to the bit."""

from types import SimpleNamespace

import numpy as np
import pytest

import xdsl_rlx as rlx
from xdsl_rlx.lowering.numba.runtime.compile_module import lower_to_lir


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_both_readings_agree_on_complex_buffers_and_transforms(run: SimpleNamespace, dtype: str):
    g = rlx.Graph("step")
    z = g.input("z", (11, 12), "c64" if dtype == "f32" else "c128")
    x = g.input("x", (3, 10), dtype)
    weights = g.constant(np.arange(12) + 1j, z.dtype)
    g.set_outputs([g.fft(z * weights), z, g.sqrt(z) / z, g.rfft(x), g.fft(x, inverse=True)])
    rng = np.random.default_rng(0)
    numbers = rng.standard_normal((11, 12)) + 1j * rng.standard_normal((11, 12))
    wide, narrow = np.complex64 if dtype == "f32" else np.complex128, np.float32 if dtype == "f32" else np.float64
    arrays = {"z": numbers.astype(wide), "x": rng.standard_normal((3, 10)).astype(narrow)}
    transformed, same, *_ = run.agree(lower_to_lir(g.module, 1), **arrays)
    np.testing.assert_array_equal(same, arrays["z"])
    np.testing.assert_allclose(transformed, np.fft.fft(numbers * (np.arange(12) + 1j)), rtol=1e-4)
