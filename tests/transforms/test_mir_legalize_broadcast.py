"""Explicit broadcasting: the values are those of NumPy's, and operands have the shape of the result."""

import itertools

import numpy as np
from numerics.families import SAMPLES
from numerics.sample import named
from oracle import evaluate

import xdsl_rlx as rlx
from xdsl_rlx.dialects.contexts import context
from xdsl_rlx.dialects.mir.core import Elementwise
from xdsl_rlx.dialects.shapes import shape_of
from xdsl_rlx.transforms.mir_legalize_broadcast import MirLegalizeBroadcastPass

SHAPES = [(), (1,), (3,), (1, 3), (2, 1), (2, 3), (4, 1, 3), (4, 2, 1), (0, 1, 1), (4, 2, 0)]


def test_every_pair_of_shapes_broadcasts_as_in_numpy() -> None:
    for first, second in itertools.product(SHAPES, SHAPES):
        try:
            expected = np.broadcast_shapes(first, second)
        except ValueError:
            continue
        g = rlx.Graph("g")
        x, y = g.input("x", first), g.input("y", second)
        g.set_outputs([x * y, g.where(x < y, x, 2.0)])
        legal = rlx.run_passes(g, "mir-legalize-broadcast")
        for op in legal.module.walk():
            if op.has_trait(Elementwise):
                assert {shape_of(v) for v in op.operands} == {expected}
        a = np.arange(np.prod(first)).reshape(first).astype(np.float32)
        b = np.arange(np.prod(second)).reshape(second).astype(np.float32) - 2
        product, chosen = evaluate(legal.module, a, b)
        np.testing.assert_array_equal(product, a * b)
        np.testing.assert_array_equal(chosen, np.where(a < b, a, np.float32(2)))


def test_samples_of_elementwise_ops_keep_their_values_bit_for_bit() -> None:
    for sample in SAMPLES:
        if not sample.op.has_trait(Elementwise):
            continue
        dtype = sample.dtypes[0]
        with named(sample, dtype):
            module, arrays = sample.module(dtype), sample.arrays(dtype)
            expected = evaluate(module, *arrays)
            MirLegalizeBroadcastPass().run(context(), module)
            module.verify()
            for before, after in zip(expected, evaluate(module, *arrays), strict=True):
                assert before.dtype == after.dtype and before.tobytes() == after.tobytes()


def test_canonicalization_leaves_broadcasting_to_the_ops_again() -> None:
    g = rlx.Graph("g")
    x, b = g.input("x", (4, 3)), g.input("b", (3,))
    g.set_outputs([g.tanh(x + b)])
    back = rlx.run_passes(g, "mir-legalize-broadcast,mir-canonicalize")
    assert str(back) == str(rlx.run_passes(g, "mir-canonicalize"))
