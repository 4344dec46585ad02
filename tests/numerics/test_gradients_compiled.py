"""Compiled gradient programs against the oracle's evaluation of the same programs: the first sample of each op.

That the programs are right is in `test_vjp.py`.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import oracle
import pytest
from levels import EVERY
from numerics.choice import effort_of_derivatives, first_of_each, first_of_modes
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


MODES = first_of_modes([s for s in SAMPLES if s.differentiable], 1)
FIRST = {sample.id for sample in first_of_each(MODES)}
CASES = cases(map(_with_types, MODES))


def _weights(shape: Sequence[int]) -> oracle.Array:
    return np.random.default_rng(6).standard_normal(shape)


def gradient(sample: Sample, dtype: str) -> ModuleOp:
    """Loss and gradients of the sum of the first result's elements times fixed weights."""

    def loss(m: MirBuilder, *xs: Value) -> Value:
        y, *_ = sample.results(m, *xs)
        return m.reduce_sum(m.real(m.mul(y, m.constant(_weights(y.shape), y.dtype))))

    function = next(op for op in sample.module(dtype).ops if isinstance(op, FuncOp))
    module = build_module(loss, list(function.body.block.arg_types))
    names = [f"x{index}" for index in sample.differentiable]
    return rlx.grad_with_loss(module, names, zero_missing_wrt=True).module


def _cancelling(sample: Sample, dtype: str, loss: oracle.Array) -> float:
    """How much larger than the loss its terms are, whose errors it has."""
    y, *_ = oracle.evaluate(sample.module(dtype), *sample.arrays(dtype))
    terms = float(np.abs(oracle.widen(y) * _weights(y.shape)).sum())
    return max(1.0, terms) / max(1.0, abs(float(loss))) if np.isfinite(terms) else 1.0


@pytest.mark.parametrize(("sample", "dtype"), CASES)
def test_compiled_gradients_are_the_oracles(sample: Sample, dtype: str):
    module, arrays = gradient(sample, dtype), sample.arrays(dtype)
    expected = oracle.evaluate(module, *arrays, 1.0)
    factors = [_cancelling(sample, dtype, expected[0]), *[1.0] * (len(expected) - 1)]
    for run in runs(sample, dtype):
        results = run(module, *arrays, effort=effort_of_derivatives(sample, dtype))
        for result, reference, factor in zip(results, expected, factors, strict=True):
            oracle.assert_close(result, reference, 8 * sample.tol * factor)
