"""Compiled programs against the oracle: every mode and circumstance of an op, all element types, one thread and two."""

import oracle
import pytest
from numerics.choice import circumstances, effort_of_values
from numerics.compiled import cases, runs
from numerics.families import SAMPLES
from numerics.sample import Sample


@pytest.mark.parametrize(("sample", "dtype"), cases(circumstances(SAMPLES)))
def test_compiled_results_are_the_oracles(sample: Sample, dtype: str):
    module, arrays = sample.module(dtype), sample.arrays(dtype)
    expected = oracle.evaluate(module, *arrays)
    for run in runs(sample, dtype):
        results = run(module, *arrays, effort=effort_of_values(sample))
        for result, reference in zip(results, expected, strict=True):
            oracle.assert_close(result, reference, sample.tol, sample.exact)
