"""Canonicalization keeps the value of every sample, bit for bit where no sum is reordered."""

import numpy as np
import pytest
from numerics.families import SAMPLES
from numerics.sample import Sample
from oracle import evaluate, widen
from xdsl.transforms.canonicalize import CanonicalizePass

from xdsl_rlx.api import context
from xdsl_rlx.dialects.mir import Mir
from xdsl_rlx.transforms.canonicalize.mir import patterns_of


@pytest.mark.parametrize(("sample", "dtype"), [pytest.param(s, s.dtypes[0], id=s.id) for s in SAMPLES])
def test_canonicalize_keeps_the_value(sample: Sample, dtype: str):
    module, arrays = sample.module(dtype), sample.arrays(dtype)
    expected = evaluate(module, *arrays)
    CanonicalizePass().apply(context(), module)
    module.verify()
    for before, after in zip(expected, evaluate(module, *arrays), strict=True):
        assert before.dtype == after.dtype
        before, after = widen(before), widen(after)
        np.testing.assert_array_equal(before, after)
        if before.dtype.kind == "f":
            np.testing.assert_array_equal(np.signbit(before[before == 0]), np.signbit(after[after == 0]))


def test_patterns_belong_to_ops_of_the_dialect():
    assert any(patterns_of(op) for op in Mir.operations)
