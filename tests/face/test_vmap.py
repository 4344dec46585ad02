"""`vmap` from Python: where the axis goes, what stays shared, what it composes with."""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import xdsl_rlx as rlx

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(0)
W = RNG.standard_normal((3, 2))
XS = RNG.standard_normal((5, 3))
WS = RNG.standard_normal((5, 3, 2))


def small() -> rlx.Graph:
    """A loss of a vector and a weight."""
    g = rlx.Graph("small")
    x, w = g.input("x", (3,), "f64"), g.param("w", (3, 2), "f64")
    g.set_outputs([g.reduce_sum(g.tanh(g.reshape(x, (1, 3)) @ w)), g.exp(w)])
    return g


def loss(x: Array, w: Array) -> float:
    return np.tanh(x @ w).sum()


def test_every_output_has_the_axis_in_front():
    losses, exps = rlx.compile(rlx.vmap(small(), ["x"], 5))(x=XS, w=W)
    np.testing.assert_allclose(losses, [loss(x, W) for x in XS], rtol=1e-13)
    np.testing.assert_allclose(exps, np.broadcast_to(np.exp(W), (5, 3, 2)), rtol=1e-13)


def test_a_param_can_be_batched():
    program = rlx.vmap(small(), ["w"], 5)
    assert [a.kind for a in program.signature.arguments] == ["input", "param"]
    losses, exps = rlx.compile(program)(x=XS[0], w=WS)
    np.testing.assert_allclose(losses, [loss(XS[0], w) for w in WS], rtol=1e-13)
    np.testing.assert_allclose(exps, np.exp(WS), rtol=1e-13)


@pytest.mark.parametrize("axis", [0, 1, -1, -2])
def test_in_axes_for_all(axis: int):
    program = rlx.compile(rlx.vmap(small(), ["x", "w"], 5, in_axes=axis))
    losses, _ = program(x=np.moveaxis(XS, 0, axis), w=np.moveaxis(WS, 0, axis))
    np.testing.assert_allclose(losses, [loss(x, w) for x, w in zip(XS, WS, strict=True)], rtol=1e-13)


def test_in_axes_by_name():
    program = rlx.compile(rlx.vmap(small(), ["x", "w"], 5, in_axes={"w": 2}))
    losses, exps = program(x=XS, w=np.moveaxis(WS, 0, 2))
    np.testing.assert_allclose(losses, [loss(x, w) for x, w in zip(XS, WS, strict=True)], rtol=1e-13)
    np.testing.assert_allclose(exps, np.exp(WS), rtol=1e-13)


def test_the_gradient_of_each_example():
    program = rlx.compile(rlx.vmap(rlx.grad(small(), "w"), ["x"], 5))
    (found,) = program(x=XS, w=W)
    np.testing.assert_allclose(found, [np.outer(x, 1 - np.tanh(x @ W) ** 2) for x in XS], rtol=1e-12)


def test_the_gradient_of_a_batch_is_the_sum_over_examples():
    (found,) = rlx.compile(rlx.grad(rlx.vmap(small(), ["x"], 5), "w"))(x=XS, w=W)
    np.testing.assert_allclose(found, sum(np.outer(x, 1 - np.tanh(x @ W) ** 2) for x in XS), rtol=1e-12)


def test_a_batch_of_batches():
    program = rlx.vmap(rlx.vmap(small(), ["x"], 5), ["w"], 5)
    losses, _ = rlx.compile(program)(x=XS, w=WS)
    np.testing.assert_allclose(losses, [[loss(x, w) for x in XS] for w in WS], rtol=1e-12)


def test_blocks_are_lowered_and_composite_ops_kept():
    layer = rlx.GraphModule.define(
        "layer", lambda m: m.linear(m.input("x", (2, 3), "f64"), m.param("w", (3, 2), "f64"), m.param("b", (2,), "f64"))
    )
    program = rlx.vmap(layer, ["x"], 4)
    assert "mir.fused_matmul_bias_act" in str(program) and "mir.expand" not in str(program)
    x, b = RNG.standard_normal((4, 2, 3)), RNG.standard_normal(2)
    np.testing.assert_allclose(rlx.compile(program)(x=x, w=W, b=b)[0], x @ W + b, rtol=1e-12)


def test_gradients_not_yet_emitted_are():
    structure = rlx.run_passes(small(), "mir-prepare-for-ad,mir-grad{wrt=w emit=false}")
    assert "mir.vjp" in str(structure)
    assert str(rlx.vmap(structure, ["x"], 5)).count("mir.vjp") == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rlx.vmap(small(), ["y"], 2), 'has no argument "y"; it has x, w'),
        (lambda: rlx.vmap(small(), ["x", "x"], 2), '"x" is named twice'),
        (lambda: rlx.vmap(small(), ["x"], -1), "size: expected a batch size of at least 0, got -1"),
        (lambda: rlx.vmap(small(), ["x"], "8"), "vmap: size: expected an integer, got '8'"),
        (lambda: rlx.vmap(small(), ["x"], 2, in_axes=2), '"x" with the new axis: axis 2 is out of range for rank 2'),
        (
            lambda: rlx.vmap(small(), ["x"], 2, in_axes={"w": 0}),
            "in_axes: 'w' is not a batched argument; batched arguments are x",
        ),
        (lambda: rlx.vmap(small(), ["x"], 2, in_axes=[1]), "in_axes: expected an axis or a dict of axes by name"),
        (lambda: rlx.vmap(small(), ["x"], 2, in_axes={"x": None}), "got {'x': None}"),
        (lambda: rlx.vmap(small(), 3, 2), "vmap: inputs: expected names or a string, got 3"),
        (lambda: rlx.run_passes(small(), "mir-vmap{inputs=x size=-2}"), "expected a size of at least 0, got -2"),
        (lambda: rlx.run_passes(small(), "mir-vmap{inputs=x,w size=2 in-axes=1}"), "1 in-axes for 2 inputs"),
    ],
)
def test_a_wrong_call_is_a_graph_error(call, message: str):
    with pytest.raises(rlx.GraphError, match=re.escape(message)):
        call()


@dataclass
class Pair:
    """A tree that is registered when it is first met."""

    w: Any
    b: Any


class Plain:
    """An object whose attributes are its leaves."""

    def __init__(self, w: Any, b: Any):
        self.w, self.b = w, b


@pytest.mark.parametrize("kind", [Pair, Plain, lambda w, b: {"w": w, "b": b}], ids=["dataclass", "object", "dict"])
def test_trees_of_any_class_are_results(kind: Any):
    x = np.arange(12.0).reshape(4, 3)

    def parts(tree: Any) -> tuple[Any, Any]:
        return (tree["w"], tree["b"]) if isinstance(tree, dict) else (tree.w, tree.b)

    for found in (
        rlx.vmap(lambda x: kind(2.0 * x, x.sum()))(x),
        rlx.map(lambda x: kind(2.0 * x, x.sum()), x, batch_size=2),
        rlx.compile(rlx.vmap(lambda x: kind(2.0 * x, x.sum())))(x),
    ):
        np.testing.assert_array_equal(parts(found)[0], 2.0 * x)
        np.testing.assert_array_equal(parts(found)[1], x.sum(1))
    per_example = rlx.vmap(rlx.grad(lambda p, x: (parts(p)[0] * x).sum() + parts(p)[1]), in_axes=(None, 0))
    found = per_example(kind(np.ones(3), np.float64(2.0)), x)
    np.testing.assert_array_equal(parts(found)[0], x)
    np.testing.assert_array_equal(parts(found)[1], np.ones(4))
