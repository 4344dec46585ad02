"""Compiled gradient programs against the oracle's evaluation of the same programs: a sample of each mode of an op.

That the programs are right is in `test_vjp.py`.
"""

from dataclasses import replace

import numpy as np
import oracle
import pytest
from levels import EVERY
from numerics.choice import effort_of_derivatives, first_of_each, thinned
from numerics.compiled import cases, runs
from numerics.families import SAMPLES
from numerics.sample import Sample, build_module
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

import xdsl_rlx as rlx
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value


def _with_types(sample: Sample) -> Sample:
    """Half floats, where others are possible, of the first sample of an op only."""
    wide = tuple(dtype for dtype in sample.dtypes if dtype not in ("f16", "bf16"))
    return sample if EVERY or sample.id in FIRST or not wide else replace(sample, dtypes=wide)


MODES = thinned([s for s in SAMPLES if s.differentiable], 1)
FIRST = {sample.id for sample in first_of_each(MODES)}
CASES = cases(map(_with_types, MODES))


def gradient(sample: Sample, dtype: str) -> ModuleOp:
    """Loss and gradients of the sum of the first result's elements times fixed weights."""

    def loss(m: MirBuilder, *xs: Value) -> Value:
        y, *_ = sample.results(m, *xs)
        weights = np.random.default_rng(6).standard_normal(y.shape)
        return m.reduce_sum(m.real(m.mul(y, m.constant(weights, y.dtype))))

    function = next(op for op in sample.module(dtype).ops if isinstance(op, FuncOp))
    module = build_module(loss, list(function.body.block.arg_types))
    names = [f"x{index}" for index in sample.differentiable]
    return rlx.grad_with_loss(module, names, zero_missing_wrt=True).module


@pytest.mark.parametrize(("sample", "dtype"), CASES)
def test_compiled_gradients_are_the_oracles(sample: Sample, dtype: str):
    module, arrays = gradient(sample, dtype), sample.arrays(dtype)
    expected = oracle.evaluate(module, *arrays, 1.0)
    for run in runs(sample, dtype):
        results = run(module, *arrays, effort=effort_of_derivatives(sample, dtype))
        for result, reference in zip(results, expected, strict=True):
            oracle.assert_close(result, reference, 8 * sample.tol)
