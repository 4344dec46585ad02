"""`jvp`, `hvp`, `nth_order_grad` and `jacfwd` from Python: what they return, and what a wrong call says."""

import re
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import oracle
import pytest
from models import mlp, mlp_arrays
from numerics import jaxpr

import xdsl_rlx as rlx

Array = np.ndarray[Any, Any]

X = np.array([0.5, -1.25, 2.0])
V = np.array([1.0, 3.0, -0.5])


def power(exponent: int) -> rlx.Graph:
    """`sum x^exponent` of three numbers."""
    g = rlx.Graph("power")
    x = g.input("x", (3,), "f64")
    g.set_outputs(g.reduce_sum(g.pow(x, float(exponent))))
    return g


def layer(dtype: str = "f64") -> rlx.Graph:
    """A loss, and a tensor of another shape."""
    g = rlx.Graph("layer")
    x, w, n = g.input("x", (2, 3), dtype), g.param("w", (3, 4), dtype), g.input("n", (2,), "i32")
    y = g.tanh(x @ w)
    g.set_outputs([y, g.reduce_sum(y * y, 0), n])
    return g


def arguments(dtype: str = "f64") -> dict[str, Array]:
    rng = np.random.default_rng(0)
    to = np.float32 if dtype == "f32" else np.float64
    x, w = (rng.standard_normal(shape).astype(to) for shape in ((2, 3), (3, 4)))
    return {"x": x, "w": w, "n": np.array([4, 5], np.int32)}


def run(graph: rlx.GraphModule, *arrays: Array) -> list[Array]:
    return oracle.evaluate(graph.module, *arrays)


def test_a_jvp_returns_outputs_and_their_tangents():
    given = arguments()
    x, w, n = given.values()
    dx, dw = np.ones_like(x), np.full_like(w, 0.5)
    program = rlx.jvp(layer(), ["w", "x"])
    assert [a.name for a in program.signature.arguments] == ["x", "w", "n", "tangent_w", "tangent_x"]
    y, squares, same, t_y, t_squares, t_n = rlx.compile(program)(**given, tangent_w=dw, tangent_x=dx)
    slope = (1 - np.tanh(x @ w) ** 2) * (dx @ w + x @ dw)
    np.testing.assert_allclose(y, np.tanh(x @ w), rtol=1e-13)
    np.testing.assert_allclose(squares, (y * y).sum(0), rtol=1e-13)
    np.testing.assert_allclose(t_y, slope, rtol=1e-12)
    np.testing.assert_allclose(t_squares, (2 * y * slope).sum(0), rtol=1e-12)
    np.testing.assert_array_equal(same, n)
    np.testing.assert_array_equal(t_n, np.zeros(2, np.int32))


def test_the_hessian_of_the_sum_of_squares_is_twice_the_identity():
    loss, gradient, t_loss, product = rlx.compile(rlx.hvp(power(2), wrt=["x"]))(x=X, tangent_x=V)
    assert loss == pytest.approx(np.sum(X**2), rel=1e-14)
    np.testing.assert_allclose(gradient, 2 * X, rtol=1e-14)
    assert t_loss == pytest.approx(2 * X @ V, rel=1e-14)
    np.testing.assert_allclose(product, 2 * V, rtol=1e-14)


def test_the_hessian_of_the_sum_of_fourth_powers():
    program = rlx.hvp(power(4), wrt="x")
    np.testing.assert_allclose(rlx.compile(program)(x=X, tangent_x=V)[-1], 12 * X**2 * V, rtol=1e-13)
    np.testing.assert_allclose(run(program, X, np.array(1.0), V)[-1], 12 * X**2 * V, rtol=1e-13)


def test_the_hessian_in_several_arguments_together():
    """Against central differences of the gradient, of a model with softmax cross-entropy and with aux outputs."""
    wrt, given = ["w1", "b2"], mlp_arrays("f64")
    rng = np.random.default_rng(1)
    directions = {name: rng.standard_normal(given[name].shape) for name in wrt}
    gradient = rlx.compile(rlx.grad(mlp("f64"), wrt))
    moved = [gradient(**given | {n: given[n] + h * v for n, v in directions.items()}) for h in (1e-5, -1e-5)]
    tangents = {f"tangent_{name}": v for name, v in directions.items()}
    found = rlx.compile(rlx.hvp(mlp("f64"), wrt))(**given, **tangents)
    assert len(found) == 6
    for product, ahead, behind in zip(found[-2:], *moved, strict=True):
        np.testing.assert_allclose(product, (ahead - behind) / 2e-5, atol=1e-9)


def test_each_order_differentiates_the_one_before():
    derivatives = [X**5, 5 * X**4, 20 * X**3, 60 * X**2, 120 * X, 120 + 0 * X, 0 * X]
    for order, expected in enumerate(derivatives):
        program = rlx.nth_order_grad(power(5), wrt="x", order=order)
        (found,) = rlx.compile(program)(x=X)
        np.testing.assert_allclose(found, expected.sum() if order == 0 else expected, rtol=1e-12)


def test_higher_derivatives_of_a_product_of_functions_are_those_of_jax():
    """Each order differentiates the rules that the one before has applied."""
    g = rlx.Graph("g")
    x = g.input("x", (), "f64")
    g.set_outputs(g.tanh(x) * g.sin(x) + g.gelu(x) / (1.0 + x * x))
    function = lambda x: jnp.tanh(x) * jnp.sin(x) + jax.nn.gelu(x, approximate=False) / (1 + x * x)  # noqa: E731
    for order in range(6):
        (found,) = run(rlx.nth_order_grad(g, "x", order), np.array(0.7), *np.ones(order))
        np.testing.assert_allclose(found, jaxpr.evaluate(function, 0.7)[0], rtol=1e-11)
        function = jax.grad(function)


def test_an_order_has_no_more_than_three_times_the_ops_of_the_one_before():
    """Each order differentiates forward and backward pass; what both compute is computed once."""
    g = rlx.Graph("g")
    x = g.input("x", (4,), "f64")
    g.set_outputs(g.reduce_sum(g.tanh(g.tanh(x * g.param("w", (4,), "f64")) * x)))
    derived = (rlx.run_passes(rlx.nth_order_grad(g, "x", n), "mir-canonicalize,mir-cse") for n in range(1, 5))
    sizes = [sum(op.name.startswith("mir.") for op in program.module.walk()) for program in derived]
    assert all(after <= 3 * before for before, after in pairwise(sizes)), sizes


def test_seeds_of_higher_orders_are_directions():
    """Of `(sum x)^3`, whose mixed derivatives are all 6: the gradient of the second derivative along v and w."""
    g = rlx.Graph("g")
    x = g.input("x", (3,), "f64")
    g.set_outputs(g.reduce_sum(x) ** 3.0)
    program = rlx.nth_order_grad(g, "x", 3)
    assert [a.name for a in program.signature.arguments] == ["x", "d_output", "d_output_2", "d_output_3"]
    w = np.array([2.0, -1.0, 0.25])
    (found,) = rlx.compile(program)(x=X, d_output_2=V, d_output_3=w)
    np.testing.assert_allclose(found, np.full(3, 6 * V.sum() * w.sum()), rtol=1e-13)


def test_jacfwd_of_a_multiple_is_diagonal():
    g = rlx.Graph("scale")
    b = g.input("b", (4,), "f64")
    g.set_outputs(3.0 * b)
    (jacobian,) = rlx.jacfwd(g, "b")(b=np.arange(4.0))
    assert jacobian.shape == (4, 4) and jacobian.dtype == np.float64
    np.testing.assert_allclose(jacobian, 3 * np.eye(4), rtol=0, atol=1e-12)
    (columns,) = rlx.jacfwd(rlx.compile(rlx.jvp(g, "b")), "b")(np.arange(4.0))
    np.testing.assert_array_equal(columns, jacobian)


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_jacobians_have_the_shape_of_the_output_then_of_the_argument(dtype: str):
    given = arguments(dtype)
    x, w, _ = given.values()
    slope = 1 - np.tanh(x @ w) ** 2
    dy = np.einsum("ij,aj,ib->ijba", slope, w, np.eye(2)).astype(x.dtype)
    tolerance = 1e-5 if dtype == "f32" else 1e-12
    for call in (rlx.jacfwd(layer(dtype), "x"), rlx.jacfwd(rlx.compile(rlx.jvp(layer(dtype), ["x"])), "x")):
        of_y, of_squares, of_n = call(**given)
        assert (of_y.dtype, of_y.shape, of_n.dtype, of_n.shape) == (x.dtype, (2, 4, 2, 3), np.int32, (2, 2, 3))
        np.testing.assert_allclose(of_y, dy, atol=tolerance)
        np.testing.assert_allclose(of_squares, (2 * np.tanh(x @ w)[..., None, None] * dy).sum(0), atol=tolerance)
        assert not of_n.any()


def test_the_jacobian_by_an_empty_argument_is_empty():
    g = rlx.Graph("g")
    x = g.input("x", (0, 2), "f64")
    g.set_outputs([g.reduce_sum(x, 0), g.exp(x)])
    empty = np.zeros((0, 2))
    for call in (rlx.jacfwd(g, "x"), rlx.jacfwd(rlx.compile(rlx.jvp(g, "x")), "x")):
        assert [jacobian.shape for jacobian in call(x=empty)] == [(2, 0, 2), (0, 2, 0, 2)]


def test_the_jacobian_of_the_gradient_is_the_hessian():
    hessian = rlx.jacfwd(rlx.grad(power(3), "x"), "x")(x=X)[0]
    np.testing.assert_allclose(hessian, np.diag(6 * X), rtol=1e-13)


def test_columns_take_params_that_were_set_and_arguments_by_position():
    given = arguments()
    compiled = rlx.compile(rlx.jvp(layer(), "x"))
    call = rlx.jacfwd(compiled, "x")
    by_position = call(given["x"], given["n"], given["w"])
    compiled.set_param("w", given["w"])
    for one, other in zip(call(given["x"], n=given["n"]), by_position, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rlx.jvp(power(2), ["y"]), 'has no argument "y"; it has x'),
        (lambda: rlx.jvp(power(2), ["x", "x"]), '"x" is named twice'),
        (lambda: rlx.jvp(power(2), 3), "jvp: tangent_for: expected names or a string, got 3"),
        (lambda: rlx.jvp(layer(), ["n"]), '"n" of type tensor<2xi32> is not floating-point'),
        (lambda: rlx.hvp(layer(), ["n"]), "not floating-point"),
        (lambda: rlx.nth_order_grad(power(2), "x", -1), "order: expected an integer of at least 0, got -1"),
        (lambda: rlx.nth_order_grad(power(2), "x", 1.5), "nth_order_grad: order: expected an integer, got 1.5"),
        (lambda: rlx.nth_order_grad(power(2), ["x"]), "nth_order_grad: wrt: expected a string, got ['x']"),
        (lambda: rlx.nth_order_grad(power(2), "y"), 'has no argument "y"'),
        (lambda: rlx.jacfwd(power(2), 3), "jacfwd: wrt: expected names or a string, got 3"),
        (
            lambda: rlx.jacfwd(rlx.compile(power(2)), "x"),
            "jacfwd by 'x': expected a compiled jvp for it, got graph 'power'",
        ),
        (lambda: rlx.jacfwd(rlx.compile(rlx.jvp(power(2), "x")), "x")(X, V), "takes 1 arguments, got 2 by position"),
        (lambda: rlx.jacfwd(rlx.compile(rlx.jvp(power(2), "x")), "x")(X, x=X), "argument 'x' of graph"),
    ],
)
def test_a_wrong_call_is_a_graph_error(call, message: str):
    with pytest.raises(rlx.GraphError, match=re.escape(message)):
        call()
