"""Gradients of graphs with respect to values that are no arguments: passed themselves, or named by `tap`."""

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import oracle
import pytest

import xdsl_rlx as rlx

RNG = np.random.default_rng(0)
X, W, B = RNG.standard_normal((4, 3)), RNG.standard_normal((3, 2)), RNG.standard_normal(2)


def layer() -> tuple[rlx.Graph, Any, Any]:
    """The sum of squares of a layer, the layer, and the matmul in it, which is a part of a composite op."""
    g = rlx.Graph("layer")
    x, w, b = g.input("x", (4, 3), "f64"), g.param("w", (3, 2), "f64"), g.param("b", (2,), "f64")
    h = x @ w
    y = g.relu(h + b)
    g.set_outputs([g.reduce_sum(y * y), y])
    return g, h, y


def test_values_taps_and_arguments_are_differentiated_together() -> None:
    """The gradient of an argument still is the whole one, through the values; further outputs are returned."""
    g, h, y = layer()
    g.tap(y, "y")
    unused, before = g.exp(y), str(g)
    gradient = rlx.grad_with_loss(g, ["w", h, "y", unused, "b", h], zero_missing_wrt=True)
    assert str(g) == before
    loss, aux, dw, dh, dy, other, db, again = rlx.compile(gradient)(x=X, w=W, b=B)
    out = np.maximum(X @ W + B, 0)
    for found, expected in zip(
        (loss, aux, dw, dh, dy, other, db, again),
        ((out**2).sum(), out, X.T @ (2 * out), 2 * out, 2 * out, 0 * out, 2 * out.sum(0), 2 * out),
        strict=True,
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-13)
    assert len(rlx.grad(g, h).interface.outputs) == 1


def test_a_tap_is_found_in_finished_graphs_blocks_and_training() -> None:
    net = rlx.GraphModule.define(
        "net", lambda m: m.tanh(m.tap(m.linear(m.input("x", (4, 3)), m.param("w", (3, 2)), m.param("b", (2,))), "h"))
    )
    (dh,) = oracle.run(rlx.grad(net, "h"), x=X, w=W, b=B)
    np.testing.assert_allclose(dh, 1 - np.tanh(X @ W + B) ** 2, atol=1e-6)
    g, h, y = layer()
    g.tap(y, "y")
    (again,) = oracle.run(rlx.grad(rlx.parse(str(g)), "y"), x=X, w=W, b=B)
    training = rlx.compile_training(g, wrt=["w", h])
    training.weights.update({"w": W, "b": B})
    *_, dw, dh = training.step(x=X)
    np.testing.assert_array_equal(dh, again * (again > 0))
    training.forward(x=X)
    for found, expected in zip(training.backward(), (dw, dh), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_complex_values_have_gradients() -> None:
    g = rlx.Graph("g")
    z = g.input("z", (3,), "c128")
    y = z * z
    g.set_outputs(g.reduce_sum(g.real(y * y)))
    given = np.array([1, 1j, 1 + 2j])
    (found,) = rlx.compile(rlx.grad(g, y))(z=given)
    cut = rlx.Graph("cut")
    w = cut.input("w", (3,), "c128")
    cut.set_outputs(cut.reduce_sum(cut.real(w * w)))
    np.testing.assert_array_equal(found, rlx.compile(rlx.grad(cut, "w"))(w=given * given)[0])


def program(seed: int, shifted: bool) -> tuple[rlx.Graph, list[Any]]:
    """Ops that passes recognise, cancel or decompose, and their values; `shifted`, plus an input of zeros each."""
    random, g = Random(seed), rlx.Graph("g")
    values: list[Any] = []
    pool = [g.input("x", (3, 4), "f64"), g.input("w", (4, 4), "f64")]
    steps: tuple[Callable[[Any], Any], ...] = (
        g.neg,
        lambda x: x @ pool[1],
        lambda x: g.relu(x + pool[1][0]),
        lambda x: g.softmax(x, -1),
        lambda x: x * g.sigmoid(x),
        lambda x: (x - x.mean(-1, keepdims=True)) * g.rsqrt(x.var(-1, keepdims=True) + 1e-5),
        lambda x: g.transpose(g.transpose(x, (1, 0)), (1, 0)),
        lambda x: x + pool[-1],
        lambda x: g.scan(lambda c, _: (c * 0.5 + x, None), x, None, length=3)[0],
    )
    x = pool[0]
    for n in range(5):
        x = random.choice(steps)(x)
        if shifted:
            x = x + g.input(f"e{n}", (3, 4), "f64")
        values.append(x)
        pool.append(x)
        x = random.choice((x, x, pool[-2] if n else x))
    g.set_outputs(g.reduce_sum(g.tanh(x) * pool[-1]))
    return g, values


@pytest.mark.parametrize("seed", range(6))
def test_the_gradient_of_a_value_is_that_of_a_number_added_to_it(seed: int) -> None:
    arrays = {"x": X[:3, :1] + np.arange(4.0) / 4, "w": np.random.default_rng(seed).standard_normal((4, 4))}
    g, values = program(seed, shifted=False)
    found = oracle.run(rlx.grad(g, [*values, "x"], zero_missing_wrt=True), **arrays)
    g, values = program(seed, shifted=True)
    names = [f"e{n}" for n in range(len(values))]
    arrays |= {name: np.zeros((3, 4)) for name in names}
    expected = oracle.run(rlx.grad(g, [*names, "x"], zero_missing_wrt=True), **arrays)
    for number, (ours, theirs) in enumerate(zip(found, expected, strict=True)):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-11, err_msg=f"{number} of\n{g}")


def _of_a_body(g: rlx.Graph) -> Any:
    found: list[Any] = []

    def body() -> Any:
        found.append(g.constant(2.0) * 3.0)
        return found[0]

    g.remat(body)
    return found[0]


@pytest.mark.parametrize(
    ("wrt", "message"),
    [
        (lambda g, h: [rlx.Graph("other").input("x", (3,))], "a value of graph 'other' is used in graph 'layer'"),
        (lambda g, h: _of_a_body(g), "a value of the body of mir.remat is used outside of it"),
        (lambda g, h: h > 0.0, "wrt: expected floating-point values, got one of type tensor<4x2xi1>"),
        (lambda g, h: g.exp(h), "the loss does not depend on it"),
        (lambda g, h: [h, 3], "wrt: expected names and values, got 3"),
        (lambda g, h: [g.tap(h > 0.0, "k"), "k"][1], '"k" is tensor<4x2xi1>, which is not floating-point'),
        (lambda g, h: ["h"], 'no argument "h"; it has x, w, b'),
        (lambda g, h: [g.tap(h, "h"), "k"], 'no argument or tap "k"; it has x, w, b, h'),
    ],
)
def test_a_value_that_is_not_one_of_the_graph_is_an_error(wrt: Callable[[Any, Any], Any], message: str) -> None:
    g, h, _ = layer()
    with pytest.raises(rlx.GraphError) as caught:
        rlx.grad(g, wrt(g, h))
    assert message in str(caught.value)


def test_a_finished_graph_takes_names() -> None:
    g, h, _ = layer()
    with pytest.raises(rlx.GraphError, match="a value belongs to a Graph that is being built"):
        rlx.grad(rlx.lower_hir(g), h)
