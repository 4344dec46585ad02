"""What programs wish to say in one line: vectors in products, norms without gains, biases, some outputs of a graph."""

import numpy as np
import pytest

import xdsl_rlx as rlx

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("left", "right"),
    [((3,), (3,)), ((3,), (3, 2)), ((2, 3), (3,)), ((3,), (4, 3, 2)), ((4, 2, 3), (3,)), ((0,), (0, 2))],
)
def test_products_of_vectors_are_those_of_numpy_and_have_gradients(left: tuple[int, ...], right: tuple[int, ...]):
    a, b = RNG.standard_normal(left), RNG.standard_normal(right)
    g = rlx.Graph("g")
    x, y = g.input("x", left, "f64"), g.input("y", right, "f64")
    product = x @ y
    assert product.shape == (a @ b).shape
    g.set_outputs([g.reduce_sum(product * product), product])
    loss, found, da, db = rlx.compile(rlx.grad_with_loss(g, ["x", "y"]))(a, b)
    np.testing.assert_allclose(found, a @ b, rtol=1e-13, atol=1e-15)
    v, w, step = RNG.standard_normal(left), RNG.standard_normal(right), 1e-6
    ahead, behind = (np.sum(((a + s * v) @ (b + s * w)) ** 2) for s in (step, -step))
    np.testing.assert_allclose(np.sum(da * v) + np.sum(db * w), (ahead - behind) / (2 * step), rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(loss, np.sum((a @ b) ** 2), rtol=1e-13)


def test_a_scalar_has_no_product():
    g = rlx.Graph("g")
    with pytest.raises(rlx.GraphError, match="matmul: expected no scalar operand; use"):
        _ = g.input("x", ()) @ g.input("y", (3,))


def test_norms_without_gain_and_offset():
    x = RNG.standard_normal((4, 6))
    g = rlx.Graph("g")
    v, ones, zeros = g.input("x", x.shape, "f64"), np.ones(6), np.zeros(6)
    g.set_outputs(
        [
            g.reduce_sum(g.rms_norm(v) * x + g.layer_norm(v, axis=0) * x),
            g.rms_norm(v),
            g.rms_norm(v, ones, zeros),
            g.rms_norm(v, ones),
            g.layer_norm(v),
            g.layer_norm(v, ones, zeros),
        ]
    )
    _, rms, same, gained, layer, plain, dx = rlx.compile(rlx.grad_with_loss(g, "x"))(x)
    np.testing.assert_array_equal(rms, same)
    np.testing.assert_array_equal(rms, gained)
    np.testing.assert_array_equal(layer, plain)
    np.testing.assert_allclose(rms, x / np.sqrt(np.mean(x * x, -1, keepdims=True) + 1e-5), rtol=1e-12)
    assert np.isfinite(dx).all() and dx.shape == x.shape


@pytest.mark.parametrize("name", ["conv", "conv_transpose2d"])
def test_a_convolution_with_a_bias(name: str):
    x, b = RNG.standard_normal((2, 3, 5, 5)), RNG.standard_normal(3)
    w = RNG.standard_normal((3, 3, 2, 2))
    g = rlx.Graph("g")
    image, weight, bias = g.input("x", x.shape, "f64"), g.input("w", w.shape, "f64"), g.input("b", b.shape, "f64")
    y = getattr(g, name)(image, weight, bias=bias)
    g.set_outputs([g.reduce_sum(y), y, getattr(g, name)(image, weight)])
    _, with_bias, without, db = rlx.compile(rlx.grad_with_loss(g, "b"))(x, w, b)
    np.testing.assert_allclose(with_bias, without + b[:, None, None], rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(db, np.full(3, with_bias[:, 0].size), rtol=1e-13)
    with pytest.raises(rlx.GraphError, match=r"expected a bias of shape \[3\], got \[2\]"):
        getattr(g, name)(image, weight, bias=np.ones(2))


def losses() -> rlx.Graph:
    """Two losses and a prediction."""
    g = rlx.Graph("losses")
    x, w = g.input("x", (4, 3), "f64"), g.param("w", (3,), "f64")
    y = g.tanh(x @ w)
    g.set_outputs([g.reduce_sum(y), y, g.reduce_sum(y * y)])
    return g


def test_a_hessian_of_any_output_alone():
    x, w, v = RNG.standard_normal((4, 3)), RNG.standard_normal(3), RNG.standard_normal(3)
    of_squares = rlx.select_outputs(losses(), 2)
    product = rlx.select_outputs(rlx.hvp(of_squares, "w"), -1)
    assert len(rlx.compile(product).outputs) == 1
    (found,) = rlx.compile(product)(x=x, w=w, tangent_w=v)
    gradient = rlx.compile(rlx.grad(of_squares, "w"))
    step = 1e-6
    ahead, behind = (gradient(x, w + s * v)[0] for s in (step, -step))
    np.testing.assert_allclose(found, (ahead - behind) / (2 * step), rtol=1e-6, atol=1e-8)
    both = rlx.compile(rlx.select_outputs(losses(), [2, 0]))(x, w)
    y = np.tanh(x @ w)
    np.testing.assert_allclose(both, [np.sum(y * y), np.sum(y)], rtol=1e-12)
    with pytest.raises(rlx.GraphError, match="'losses' has 3 outputs, got output number 3"):
        rlx.select_outputs(losses(), 3)


def test_jacobians_are_a_graph_that_other_transformations_take():
    x, w = RNG.standard_normal((2, 4, 3)), RNG.standard_normal(3)
    graph = rlx.jacfwd(rlx.select_outputs(losses(), 1), "w")
    (one,) = graph(x[0], w)
    np.testing.assert_allclose(one, (1 - np.tanh(x[0] @ w) ** 2)[:, None] * x[0], rtol=1e-12)
    (batch,) = rlx.compile(rlx.vmap(graph, "x", 2))(x, w)
    np.testing.assert_allclose(batch[0], one, rtol=1e-12)
    assert rlx.compile(rlx.grad(graph, "x")).outputs[0].shape == (4, 3)


@pytest.mark.parametrize("dtype", [None, "f32", np.int32])
def test_a_constant_outside_of_a_traced_function_is_an_array(dtype: object):
    given = np.array([[1.0, 2.0], [3.0, 4.0]])
    for array in (given, given.T, np.ones((200, 200)), np.float64(2.0)):
        found = rlx.constant(array, dtype)
        expected = np.asarray(array).astype({"f32": np.float32}.get(dtype, dtype or np.float64))
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
    given[0, 0] = 5.0
    assert rlx.constant(given)[0, 0] == 5.0


def test_arrays_may_be_given_for_constants_of_the_graph():
    x = np.arange(6.0).reshape(2, 3)
    assert rlx.reshape(x, np.array([3, 2])).shape == (3, 2)
    np.testing.assert_array_equal(rlx.cumsum(x, np.int64(0)), np.cumsum(x, 0))
    np.testing.assert_array_equal(rlx.full(np.array([2]), np.float32(3.0)), np.full(2, 3.0))
    np.testing.assert_array_equal(rlx.transpose(x, (np.int32(1), np.int32(0))), x.T)
    np.testing.assert_array_equal(rlx.nn.prelu(x, np.ones(3), axis=np.int64(1)), x)
    assert rlx.cast(x, np.float32).dtype == np.float32
    scales = np.array([0.5, 2.0])
    np.testing.assert_array_equal(rlx.quantize(np.float32(x), scales, np.array([0, 1]), axis=0)[1], [3, 3, 3])
