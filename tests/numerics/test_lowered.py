"""Compiled programs against the oracle: every sample, every element type."""

import oracle
import pytest
from numerics.samples import SAMPLES, Sample

from xdsl_rlx.lowering.numba.compilation import compile_module


@pytest.mark.parametrize(("sample", "dtype"), [pytest.param(s, d, id=f"{s.id}-{d}") for s in SAMPLES for d in s.dtypes])
def test_compiled_equals_oracle(sample: Sample, dtype: str) -> None:
    module = sample.module(dtype)
    arrays = sample.arrays(dtype)
    expected = oracle.evaluate(module, *arrays)
    for threads in (1, 2):
        results = compile_module(module, threads)(*arrays)
        assert len(results) == len(expected)
        for result, reference in zip(results, expected, strict=True):
            oracle.assert_close(result, reference, sample.tol)
