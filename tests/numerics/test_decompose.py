"""Definitions of composite ops: they compute what the oracle says, and their derivatives are the direct rules' ones."""

import numpy as np
import oracle
import pytest
from levels import EVERY
from numerics.choice import by_op, thinned
from numerics.derivatives import gradient, names, result_like, vjp
from numerics.families import SAMPLES
from numerics.sample import Sample, named
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from xdsl_rlx.transforms.driver import rewrite
from xdsl_rlx.transforms.engines.define import Decompose
from xdsl_rlx.transforms.rules import DECOMPOSE, VJP

COMPOSITES = [sample for sample in SAMPLES if DECOMPOSE.get(sample.op) is not None]
SAMPLES_OF = by_op(COMPOSITES)
DIRECT = [s for s in COMPOSITES if s.differentiable and VJP.get(s.op) is not None and "f64" in s.dtypes]


def dtypes_of(sample: Sample) -> list[str]:
    """Double precision, or single where there is no other; with EVERY_SAMPLE both."""
    found = [dtype for dtype in ("f64", "f32") if dtype in sample.dtypes]
    return found if EVERY else found[:1]


def decomposed(module: ModuleOp) -> ModuleOp:
    """A copy of the module in primitive ops."""
    copy = module.clone()
    rewrite(copy, Decompose(lambda op: True))
    copy.verify()
    assert not any(DECOMPOSE.get(type(op)) for op in copy.walk())
    return copy


@pytest.mark.parametrize("op", [pytest.param(op, id=op.name) for op in SAMPLES_OF])
def test_a_definition_computes_the_op(op: type[Operation]):
    for sample in SAMPLES_OF[op]:
        for dtype in dtypes_of(sample):
            with named(sample, dtype):
                module, inputs = sample.module(dtype), sample.arrays(dtype)
                found = oracle.evaluate(decomposed(module), *inputs)
                for result, reference in zip(found, oracle.evaluate(module, *inputs), strict=True):
                    oracle.assert_close(result, reference, 4 * sample.tol)


@pytest.mark.parametrize("sample", [pytest.param(s, id=s.id) for s in thinned(DIRECT, 1)])
def test_a_direct_rule_agrees_with_the_definition(sample: Sample):
    module, inputs = sample.module("f64"), sample.arrays("f64")
    g = result_like(sample, "f64", np.random.default_rng(7))
    direct = vjp(sample, "f64", inputs, g)
    derived = oracle.evaluate(gradient(decomposed(module), names(sample)), *inputs, g)[-len(direct) :]
    for result, reference in zip(direct, derived, strict=True):
        oracle.assert_close(result, reference, 16 * sample.tol)
