"""Canonicalization keeps the value of every sample, bit for bit where no sum is reordered."""

from collections import Counter
from itertools import product
from typing import Any

import numpy as np
import pytest
from numerics.choice import by_op
from numerics.families import SAMPLES
from numerics.sample import Sample, named
from oracle import evaluate, widen
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.transforms.canonicalize import CanonicalizePass

import xdsl_rlx as rlx
from xdsl_rlx.dialects.contexts import context
from xdsl_rlx.dialects.mir import Mir
from xdsl_rlx.dialects.mir.index import GatherOp
from xdsl_rlx.lowering.prepare.mir_decompose import MirDecomposePass
from xdsl_rlx.transforms.canonicalize.mir import patterns_of
from xdsl_rlx.transforms.mir_canonicalize import MirCanonicalizePass
from xdsl_rlx.transforms.mir_cse import MirCsePass

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
    MirCsePass().apply(context(), module)
    module.verify()
    found = Counter(op.name for op in module.walk())
    assert not any(found[f"mir.{name}"] for name in ("sin", "cos", "exp"))
    assert found["mir.tanh"] == found["mir.sqrt"] == 1


def test_reductions_that_differ_in_keep_dim_are_one():
    """Whichever comes first, in each block for itself; other axes and other values stay apart."""
    g = rlx.Graph("kept")
    x = g.input("x", (3, 3), dtype="f64")

    def body(c: Any, e: Any) -> Any:
        return c * g.reduce_sum(x, axes=[1], keep_dim=True) + g.reshape(g.reduce_sum(x, axes=[1]), (3, 1)), None

    last, _ = g.scan(body, x, length=2)
    ends = [g.reduce_sum(x, axes=[1]), g.reduce_sum(x, axes=[1], keep_dim=True), g.reduce_sum(x, axes=[0])]
    largest = [g.reduce_max(x, axes=[0], keep_dim=True), g.reduce_max(x, axes=[0])]
    g.set_outputs([last, *ends, *largest])
    module = g.module.clone()
    MirCanonicalizePass().apply(context(), module)
    MirCsePass().apply(context(), module)
    module.verify()
    found = Counter(op.name for op in module.walk())
    assert (found["mir.reduce_sum"], found["mir.reduce_max"]) == (3, 1)
    array = np.arange(9.0).reshape(3, 3)
    for before, after in zip(evaluate(g.module, array), evaluate(module, array), strict=True):
        np.testing.assert_array_equal(before, after)


def test_a_gradient_sums_exponentials_once() -> None:
    """The loss sums them without the axis, its gradient with: two sums of one value each, before; one of it, after."""
    g = rlx.Graph("loss")
    x = g.input("x", (4, 10), dtype="f64")
    labels = g.input("labels", (4,), dtype="i32")
    g.set_outputs([g.softmax_cross_entropy_with_logits(x, labels)])
    module = rlx.grad_with_loss(g, wrt=["x"]).module.clone()
    MirDecomposePass().apply(context(), module)
    MirCsePass().apply(context(), module)
    assert _sums_of_exponentials(module) == 2
    shared = module.clone()
    MirCanonicalizePass().apply(context(), shared)
    MirCsePass().apply(context(), shared)
    assert _sums_of_exponentials(shared) == 1
    arrays = np.random.default_rng(3).normal(size=(4, 10)), np.array([1, 9, 0, 4], np.int32), np.ones(4)
    for before, after in zip(evaluate(module, *arrays), evaluate(shared, *arrays), strict=True):
        np.testing.assert_array_equal(before, after)


def _sums_of_exponentials(module: ModuleOp) -> int:
    return sum(op.name == "mir.reduce_sum" and op.operands[0].owner.name == "mir.exp" for op in module.walk())


def test_slices_at_even_places_are_no_gathers():
    """Of all sequences of up to four places in an axis of three, some of which are clamped."""
    sequences = [places for count in range(1, 5) for places in product(range(-1, 4), repeat=count)]
    g, x = rlx.Graph("g"), np.arange(12.0, dtype=np.float32).reshape(2, 3, 2)
    table = g.input("x", x.shape)
    g.set_outputs([g.gather(table, g.constant(list(places), "i64"), axis=1) for places in sequences])
    CanonicalizePass().apply(context(), g.module)
    for places, found in zip(sequences, evaluate(g.module, x), strict=True):
        np.testing.assert_array_equal(found, x[:, np.clip(places, 0, 2)])
    left = sum(isinstance(op, GatherOp) for op in g.module.walk())
    assert left == sum(not _are_even(np.clip(places, 0, 2)) for places in sequences)


def _are_even(places: Any) -> bool:
    """Whether each of some evenly spaced places stands there equally often."""
    divisors = [n for n in range(1, len(places) + 1) if len(places) % n == 0]
    return any(
        np.array_equal(places, np.repeat(places[0] + step * np.arange(len(places) // n), n))
        for n in divisors
        for step in (-2, -1, 1, 2)
    )
