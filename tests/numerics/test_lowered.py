"""Compiled programs against the oracle: every sample, every element type."""


import numpy as np
import oracle
import pytest
from numerics.samples import SAMPLES, Sample

from xdsl_rlx.lowering.numba.compilation import compile_module


@pytest.mark.parametrize(
    ("sample", "dtype"), [pytest.param(s, d, id=f"{s.id}-{d}") for s in SAMPLES for d in s.dtypes]
)
def test_compiled_equals_oracle(sample: Sample, dtype: str):
    module = sample.module(dtype)
    arrays = sample.arrays(dtype)
    expected = oracle.evaluate(module, *arrays)
    for threads in (1, 2):
        results = compile_module(module, threads)(*arrays)
        assert len(results) == len(expected)
        for result, reference in zip(results, expected, strict=True):
            assert result.dtype == reference.dtype
            assert result.shape == reference.shape
            oracle.assert_close(result, reference, sample.tol) if hasattr(oracle, "assert_close") else check(result, reference, sample.tol)


def check(result, reference, tol):
    if result.dtype.kind in "iub":
        np.testing.assert_array_equal(result, reference)
        return
    r, e = result.astype(np.float64), reference.astype(np.float64)
    np.testing.assert_array_equal(np.isnan(r), np.isnan(e))
    np.testing.assert_array_equal(np.isinf(r), np.isinf(e))
    finite = np.isfinite(e)
    np.testing.assert_array_equal(np.sign(r[np.isinf(e)]), np.sign(e[np.isinf(e)]))
    import ml_dtypes
    eps = float(ml_dtypes.finfo(reference.dtype).eps)
    scale = max(1.0, np.abs(e[finite]).max(initial=0.0))
    assert np.abs(r[finite] - e[finite]).max(initial=0.0) <= tol * eps * scale
