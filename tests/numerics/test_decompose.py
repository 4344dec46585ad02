"""Definitions of composite ops: they compute what the oracle says, and their derivatives are the direct rules' ones."""

import numpy as np
import oracle
import pytest
from numerics.derivatives import names, result_like, vjp
from numerics.families import SAMPLES
from numerics.sample import Sample
from xdsl.dialects.builtin import ModuleOp

from xdsl_rlx.transforms.decompose import decompose
from xdsl_rlx.transforms.rules import DECOMPOSE, VJP

COMPOSITES = [sample for sample in SAMPLES if DECOMPOSE.get(sample.op) is not None]
CASES = [pytest.param(s, d, id=f"{s.id}-{d}") for s in COMPOSITES for d in ("f32", "f64") if d in s.dtypes]
DIRECT = [
    pytest.param(s, id=s.id) for s in COMPOSITES if s.differentiable and VJP.get(s.op) is not None and "f64" in s.dtypes
]


def decomposed(module: ModuleOp) -> ModuleOp:
    """A copy of the module in primitive ops."""
    copy = module.clone()
    decompose(copy, lambda op: True)
    copy.verify()
    assert not any(DECOMPOSE.get(type(op)) for op in copy.walk())
    return copy


@pytest.mark.parametrize(("sample", "dtype"), CASES)
def test_a_definition_computes_the_op(sample: Sample, dtype: str):
    module, inputs = sample.module(dtype), sample.arrays(dtype)
    for result, reference in zip(
        oracle.evaluate(decomposed(module), *inputs), oracle.evaluate(module, *inputs), strict=True
    ):
        oracle.assert_close(result, reference, 4 * sample.tol)


@pytest.mark.parametrize("sample", DIRECT)
def test_a_direct_rule_agrees_with_the_definition(sample: Sample):
    module, inputs = sample.module("f64"), sample.arrays("f64")
    g = result_like(sample, "f64", np.random.default_rng(7))
    direct = vjp(module, inputs, names(sample), g)
    derived = vjp(decomposed(module), inputs, names(sample), g)
    for result, reference in zip(direct, derived, strict=True):
        oracle.assert_close(result, reference, 16 * sample.tol)
