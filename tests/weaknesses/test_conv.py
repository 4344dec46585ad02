"""What the specification lists as weaknesses of convolution, pooling and resizing, each by its right numbers."""

import numpy as np
import pytest

import xdsl_rlx as rlx


def test_the_image_cotangent_of_a_convolution_is_differentiated_by_the_weight() -> None:
    """W-04: the mixed term of `y = w x`, `sum y^2 / 2`: d/dw of `dx = w^2 x` along `u` is `2 w x u`."""
    g = rlx.Graph("f")
    x, w = g.input("x", (1, 1, 1, 1), dtype="f64"), g.param("w", (1, 1, 1, 1), dtype="f64")
    y = g.conv(x, w)
    g.set_outputs([g.reduce_sum(y * y) * 0.5])
    gradient = rlx.grad(g, wrt=["x"])
    (second,) = rlx.compile(rlx.grad(gradient, wrt=["w"]))(x=np.full((1, 1, 1, 1), 3.0), w=np.full((1, 1, 1, 1), 5.0))
    np.testing.assert_allclose(second, [[[[30.0]]]], rtol=1e-14)


def test_max_pooling_has_second_derivatives() -> None:
    """W-04: `sum maxpool(x)^3` has the Hessian `6 x` at the maxima; its product with ones is `6 x` there, else 0."""
    g = rlx.Graph("f")
    x = g.input("x", (1, 1, 2, 4), dtype="f64")
    y = g.pool(x, "max", 2)
    g.set_outputs([g.reduce_sum(y * y * y)])
    data = np.array([[[[1.0, 2.0, -1.0, 4.0], [3.0, 0.0, 5.0, -2.0]]]])
    (*_, product) = rlx.compile(rlx.hvp(g, wrt=["x"]))(data, np.ones_like(data))
    np.testing.assert_allclose(product, [[[[0, 0, 0, 0], [18, 0, 30, 0]]]], rtol=1e-14)


def test_resizing_repeats_each_pixel_of_each_image() -> None:
    """W-27, W-47: neither tiled, nor wrong from the second image on."""
    g = rlx.Graph("f")
    x = g.input("x", (2, 1, 1, 2))
    g.set_outputs([g.resize_nearest_2x(x)])
    (y,) = rlx.compile(g)(np.array([[[[1, 2]]], [[[3, 4]]]], np.float32))
    np.testing.assert_array_equal(y, [[[[1, 1, 2, 2], [1, 1, 2, 2]]], [[[3, 3, 4, 4], [3, 3, 4, 4]]]])


@pytest.mark.parametrize(
    ("kind", "expected"), [("max", 4.0), ("min", -2.0), ("sum", 3.0), ("mean", 0.75)], ids=lambda v: str(v)
)
def test_every_kind_of_pooling_is_its_own(kind: str, expected: float) -> None:
    """W-40, W-41: none runs as a sum, in neither precision."""
    data = np.array([[[[1, 4], [-2, 0]]]])
    for dtype in ("f32", "f64"):
        g = rlx.Graph("f")
        g.set_outputs([g.pool(g.input("x", (1, 1, 2, 2), dtype=dtype), kind, 2)])
        (y,) = rlx.compile(g)(data.astype(dtype.replace("f", "float")))
        np.testing.assert_array_equal(y, [[[[expected]]]])


def test_a_convolution_of_one_dimension_is_one() -> None:
    """W-40: images of one dimension are convolved, those of three are refused."""
    g = rlx.Graph("f")
    x, w = g.input("x", (1, 1, 4)), g.param("w", (1, 1, 2))
    g.set_outputs([g.conv(x, w)])
    (y,) = rlx.compile(g)(np.array([[[1, 2, 4, 8]]], np.float32), np.array([[[10, 1]]], np.float32))
    np.testing.assert_array_equal(y, [[[12, 24, 48]]])
    with pytest.raises(rlx.GraphError, match=r"expected \[N, C, W\]"):
        g.conv(g.input("volume", (1, 1, 4, 4, 4)), g.param("kernel", (1, 1, 2, 2, 2)))


def test_a_transposed_convolution_has_both_gradients() -> None:
    """W-65: `y[2 i + k] = x[i] w[k]`; with cotangent `g` that is `dx[i] = sum g[2 i + k] w[k]`, and so for `w`."""
    g = rlx.Graph("f")
    x, w = g.input("x", (1, 1, 1, 2), dtype="f64"), g.param("w", (1, 1, 1, 2), dtype="f64")
    y = g.conv_transpose2d(x, w, stride=[1, 2])
    seed = np.array([[[[1.0, 10.0, 100.0, 1000.0]]]])
    g.set_outputs([g.reduce_sum(y * g.constant(seed))])
    step = rlx.compile(rlx.grad(g, wrt=["x", "w"]))
    dx, dw = step(x=np.array([[[[2.0, 3.0]]]]), w=np.array([[[[5.0, 7.0]]]]))
    np.testing.assert_allclose(dx, [[[[75.0, 7500.0]]]], rtol=1e-14)
    np.testing.assert_allclose(dw, [[[[302.0, 3020.0]]]], rtol=1e-14)


@pytest.mark.parametrize(("kind", "expected"), [("sum", [[1, 1], [1, 1]]), ("min", [[0, 0], [1, 0]])])
def test_sum_and_min_pooling_have_gradients(kind: str, expected: list[list[int]]) -> None:
    """W-65."""
    g = rlx.Graph("f")
    x = g.input("x", (1, 1, 2, 2))
    g.set_outputs([g.reduce_sum(g.pool(x, kind, 2))])
    (dx,) = rlx.compile(rlx.grad(g, wrt=["x"]))(x=np.array([[[[1, 4], [-2, 0]]]], np.float32))
    np.testing.assert_array_equal(dx, [[expected]])


def test_resizing_has_a_gradient() -> None:
    """W-65: the sum of the four copies' cotangents."""
    g = rlx.Graph("f")
    x = g.input("x", (1, 1, 1, 2))
    weights = np.arange(8, dtype=np.float32).reshape(1, 1, 2, 4)
    g.set_outputs([g.reduce_sum(g.resize_nearest_2x(x) * g.constant(weights))])
    (dx,) = rlx.compile(rlx.grad(g, wrt=["x"]))(x=np.zeros((1, 1, 1, 2), np.float32))
    np.testing.assert_array_equal(dx, [[[[0 + 1 + 4 + 5, 2 + 3 + 6 + 7]]]])


@pytest.mark.parametrize(("include", "value", "slope"), [(True, 1.5, 0.25), (False, 6.0, 1.0)])
def test_an_average_divides_by_the_count_that_is_asked_for(include: bool, value: float, slope: float) -> None:
    """W-67: the corner window holds one element, 6, and three of padding."""
    g = rlx.Graph("f")
    x = g.input("x", (1, 1, 2, 2), dtype="f64")
    y = g.pool(x, "mean", 2, 2, 1, count_include_pad=include)
    g.set_outputs([g.reduce_sum(y), y])
    _, mean, dx = rlx.compile(rlx.grad_with_loss(g, wrt=["x"]))(x=np.full((1, 1, 2, 2), 6.0))
    np.testing.assert_allclose(mean, np.full((1, 1, 2, 2), value), rtol=1e-15)
    np.testing.assert_allclose(dx, np.full((1, 1, 2, 2), slope), rtol=1e-15)


def test_convolution_and_pooling_have_tangents() -> None:
    """W-71: along `t` the maximum of `w x` moves by `w t` at the maximum."""
    g = rlx.Graph("f")
    x, w = g.input("x", (1, 1, 1, 3), dtype="f64"), g.param("w", (1, 1, 1, 1), dtype="f64")
    g.set_outputs([g.pool(g.conv(x, w), "max", [1, 3])])
    tangent = rlx.compile(rlx.jvp(g, tangent_for=["x"]))
    data, t = np.array([[[[1.0, 7.0, 2.0]]]]), np.array([[[[10.0, 20.0, 30.0]]]])
    _, pushed = tangent(x=data, w=np.full((1, 1, 1, 1), 3.0), tangent_x=t)
    np.testing.assert_allclose(pushed, [[[[60.0]]]], rtol=1e-15)


def test_gradients_of_weights_batch() -> None:
    """W-72, W-73: a gradient of the weight for each example, of weights that differ."""
    rng = np.random.default_rng(0)
    g = rlx.Graph("f")
    x, w = g.input("x", (2, 2, 4, 4), dtype="f64"), g.input("w", (3, 2, 3, 3), dtype="f64")
    y = g.conv(x, w)
    g.set_outputs([g.reduce_sum(y * y)])
    gradient = rlx.grad(g, wrt=["w"])
    xs, ws = rng.standard_normal((4, 2, 2, 4, 4)), rng.standard_normal((4, 3, 2, 3, 3))
    one, many = rlx.compile(gradient), rlx.compile(rlx.vmap(gradient, ["x", "w"], 4))
    (found,) = many(x=xs, w=ws)
    for index in range(4):
        np.testing.assert_allclose(found[index], one(x=xs[index], w=ws[index])[0], rtol=1e-12)


def test_a_kernel_larger_than_the_padded_image_is_refused() -> None:
    """W-75: so is a transposed convolution of which padding leaves nothing."""
    g = rlx.Graph("f")
    x = g.input("x", (1, 1, 3, 3))
    with pytest.raises(rlx.GraphError, match=r"a kernel over 5 elements exceeds the extent 3 \+ 2\*0"):
        g.conv(x, g.param("w", (1, 1, 3, 1)), dilation=2)
    with pytest.raises(rlx.GraphError, match=r"leaves nothing: the result has extents \[-1, -1\]"):
        g.conv_transpose2d(x, g.param("v", (1, 1, 1, 1)), padding=2)


def test_a_window_never_lies_in_padding_alone() -> None:
    """W-76."""
    g = rlx.Graph("f")
    with pytest.raises(rlx.GraphError, match="padding of at most half the kernel"):
        g.pool(g.input("x", (1, 1, 4, 4)), "max", 2, 1, 2)


def test_an_output_padding_below_the_dilation_makes_room_for_one_more_window() -> None:
    """Spec 3.13: `y[i + 3 k] = x[i] w[k]` with two rows more, which nothing reaches; as in PyTorch."""
    g = rlx.Graph("f")
    x, w = g.input("x", (1, 1, 2, 1), dtype="f64"), g.input("w", (1, 1, 2, 1), dtype="f64")
    y = g.conv_transpose2d(x, w, dilation=[3, 1], output_padding=[2, 0])
    weights = np.arange(1.0, 8.0).reshape(1, 1, 7, 1)
    g.set_outputs([g.reduce_sum(y * weights), y])
    a, b = np.array([2.0, 3.0]).reshape(1, 1, 2, 1), np.array([5.0, 7.0]).reshape(1, 1, 2, 1)
    _, y, dx, dw = rlx.compile(rlx.grad_with_loss(g, wrt=["x", "w"]))(x=a, w=b)
    np.testing.assert_array_equal(y.ravel(), [10, 15, 0, 14, 21, 0, 0])
    np.testing.assert_array_equal(dx.ravel(), [1 * 5 + 4 * 7, 2 * 5 + 5 * 7])
    np.testing.assert_array_equal(dw.ravel(), [1 * 2 + 2 * 3, 4 * 2 + 5 * 3])
    with pytest.raises(rlx.GraphError, match=r"below the larger of stride and dilation, \[3, 1\]"):
        g.conv_transpose2d(x, w, dilation=[3, 1], output_padding=[3, 0])
