"""Canonicalization keeps the value of every sample, bit for bit where no sum is reordered."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
from numerics.choice import by_op
from numerics.families import SAMPLES
from numerics.sample import Sample, named
from oracle import evaluate, widen
from xdsl.ir import Operation
from xdsl.transforms.canonicalize import CanonicalizePass

import xdsl_rlx as rlx
from xdsl_rlx.dialects.contexts import context
from xdsl_rlx.dialects.mir import Mir
from xdsl_rlx.transforms.canonicalize.mir import patterns_of
from xdsl_rlx.transforms.simplify import share_common, share_reductions

SAMPLES_OF = by_op(SAMPLES)


@pytest.mark.parametrize("op", [pytest.param(op, id=op.name) for op in SAMPLES_OF])
def test_canonicalize_keeps_the_values(op: type[Operation]):
    for sample in SAMPLES_OF[op]:
        with named(sample, sample.dtypes[0]):
            _keeps_the_value(sample, sample.dtypes[0])


def _keeps_the_value(sample: Sample, dtype: str) -> None:
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


def test_what_only_dead_ops_read_goes_with_them():
    """In a region too: a chain of ops that ends in nothing is gone whole, and so is one that a shared op leaves."""
    g = rlx.Graph("dead")
    x = g.input("x", (3,))

    def body(c: Any, e: Any) -> Any:
        g.sin(g.cos(g.exp(e)))
        return g.tanh(g.sqrt(e)) * c + g.tanh(g.sqrt(e)), None

    last, _ = g.scan(body, x, g.reshape(x, (3, 1)))
    g.sin(g.exp(x))
    g.set_outputs([last])
    module = g.module.clone()
    share_common(module)
    module.verify()
    found = Counter(op.name for op in module.walk())
    assert not any(found[f"mir.{name}"] for name in ("sin", "cos", "exp"))
    assert found["mir.tanh"] == found["mir.sqrt"] == 1


def test_reductions_that_differ_in_keep_dim_are_one():
    """Whichever comes first, in each block for itself; other axes and other values stay apart."""
    g = rlx.Graph("kept")
    x = g.input("x", (2, 3), dtype="f64")

    def body(c: Any, e: Any) -> Any:
        return c * g.reduce_sum(x, axes=[1], keep_dim=True) + g.reshape(g.reduce_sum(x, axes=[1]), (2, 1)), None

    last, _ = g.scan(body, x, length=2)
    ends = [g.reduce_sum(x, axes=[1]), g.reduce_sum(x, axes=[1], keep_dim=True), g.reduce_sum(x, axes=[0])]
    largest = [g.reduce_max(x, axes=[0], keep_dim=True), g.reduce_max(x, axes=[0])]
    g.set_outputs([last, *ends, *largest])
    module = g.module.clone()
    share_reductions(module)
    module.verify()
    found = Counter(op.name for op in module.walk())
    assert (found["mir.reduce_sum"], found["mir.reduce_max"]) == (3, 1)
    array = np.arange(6.0).reshape(2, 3)
    for before, after in zip(evaluate(g.module, array), evaluate(module, array), strict=True):
        np.testing.assert_array_equal(before, after)
