"""What forward mode gets wrong elsewhere: W-50 to W-53 of the op sheet, and W-04, second order through composites."""

from collections.abc import Callable
from math import erf, exp, pi, sqrt
from typing import Any

import numpy as np
import oracle
import pytest

import xdsl_rlx as rlx

Array = np.ndarray[Any, Any]
Build = Callable[..., Any]


def graph(build: Build, *shapes: tuple[int, ...]) -> rlx.Graph:
    """A graph of f64 inputs `x0`, `x1`, ... of these shapes."""
    g = rlx.Graph("g")
    g.set_outputs(build(g, *(g.input(f"x{n}", shape, "f64") for n, shape in enumerate(shapes))))
    return g


def pushed(made: rlx.Graph, wrt: int, tangent: Array, *arrays: Array) -> Array:
    """The tangent of the only output along one of the inputs, compiled and by the oracle."""
    program = rlx.jvp(made, f"x{wrt}")
    (_, compiled), (_, evaluated) = (
        rlx.compile(program)(*arrays, tangent),
        oracle.evaluate(program.module, *arrays, tangent),
    )
    oracle.assert_close(compiled, evaluated, 64)
    return compiled


def difference(made: rlx.Graph, wrt: int, tangent: Array, *arrays: Array) -> Array:
    """The same by central differences."""

    def at(h: float) -> Array:
        moved = list(arrays)
        moved[wrt] = arrays[wrt] + h * tangent
        return oracle.evaluate(made.module, *moved)[0]

    return (8 * (at(1e-3) - at(-1e-3)) - (at(2e-3) - at(-2e-3))) / 12e-3


POINTS = np.linspace(-3, 3, 13)


def test_gelu_pushes_its_own_derivative():
    """W-50: Phi(x) + x phi(x)."""
    found = pushed(graph(lambda g, x: g.gelu(x), (13,)), 0, np.ones(13), POINTS)
    expected = [0.5 * (1 + erf(x / sqrt(2))) + x * exp(-x * x / 2) / sqrt(2 * pi) for x in POINTS]
    np.testing.assert_allclose(found, expected, atol=1e-14)


def test_gelu_by_tanh_pushes_its_own_derivative():
    """W-50: not the derivative of silu."""
    found = pushed(graph(lambda g, x: g.gelu_approx(x), (13,)), 0, np.ones(13), POINTS)
    c, a = sqrt(2 / pi), 0.044715
    t = np.tanh(c * (POINTS + a * POINTS**3))
    expected = 0.5 * (1 + t) + 0.5 * POINTS * (1 - t * t) * c * (1 + 3 * a * POINTS**2)
    np.testing.assert_allclose(found, expected, atol=1e-14)
    sigmoid = 1 / (1 + np.exp(-POINTS))
    assert np.abs(found - sigmoid * (1 + POINTS * (1 - sigmoid))).max() > 0.05


def test_round_is_straight_through_in_both_modes():
    """W-51."""
    made, v = graph(lambda g, x: g.round(x), (13,)), np.arange(13.0)
    np.testing.assert_array_equal(pushed(made, 0, v, POINTS), v)
    np.testing.assert_array_equal(rlx.compile(rlx.grad(made, "x0"))(POINTS, d_output=v)[0], v)


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "max", "min", "pow"])
@pytest.mark.parametrize("wrt", [0, 1])
def test_the_tangent_of_one_operand_has_the_shape_of_the_result(name: str, wrt: int):
    """W-52: both operands are smaller than the result; the other one has no tangent."""
    made = graph(lambda g, x, y: getattr(g, name)(x, y), (3, 1), (4,))
    arrays = np.array([[0.5], [1.5], [2.5]]), np.array([0.7, 1.1, 2.9, 3.1])
    tangent = np.ones_like(arrays[wrt])
    found = pushed(made, wrt, tangent, *arrays)
    assert found.shape == (3, 4)
    np.testing.assert_allclose(found, difference(made, wrt, tangent, *arrays), atol=1e-8)


@pytest.mark.parametrize("wrt", [0, 1, 2])
def test_layer_norm_moves_its_statistics_and_its_gain_and_bias(wrt: int):
    """W-53: neither frozen nor dropped."""
    rng = np.random.default_rng(0)
    made = graph(lambda g, x, gamma, beta: g.layer_norm(x, gamma, beta), (3, 5), (5,), (5,))
    arrays = [rng.standard_normal(shape) for shape in ((3, 5), (5,), (5,))]
    tangent = rng.standard_normal(arrays[wrt].shape)
    found = pushed(made, wrt, tangent, *arrays)
    np.testing.assert_allclose(found, difference(made, wrt, tangent, *arrays), atol=1e-7)
    assert np.abs(found).max() > 0.1


def test_softmax_is_not_linear():
    """W-53, as attention needs it: `y (t - sum y t)`."""
    rng = np.random.default_rng(1)
    x, t = rng.standard_normal((2, 3, 5))
    y = np.exp(x) / np.exp(x).sum(-1, keepdims=True)
    found = pushed(graph(lambda g, x: g.softmax(x), (3, 5)), 0, t, x)
    np.testing.assert_allclose(found, y * (t - (y * t).sum(-1, keepdims=True)), atol=1e-14)


@pytest.mark.parametrize("name", ["reduce_max", "reduce_min"])
def test_an_extreme_has_the_tangent_of_where_it_is(name: str):
    """W-53: not zero; ties have the mean, as in reverse."""
    made = graph(lambda g, x: getattr(g, name)(x, 1), (2, 4))
    x = np.array([[1.0, 5.0, -2.0, 5.0], [-3.0, 0.0, -3.0, 4.0]])
    t = np.array([[1.0, 2.0, 3.0, 10.0], [20.0, 30.0, 40.0, 50.0]])
    np.testing.assert_allclose(pushed(made, 0, t, x), [6.0, 50.0] if name == "reduce_max" else [3.0, 30.0])


def test_a_product_has_an_exact_tangent_at_zeros():
    """W-53: summed, and without a small number in a denominator."""
    x = np.array([[2.0, 3.0, 4.0], [0.0, 3.0, 4.0], [0.0, 0.0, 4.0]])
    found = pushed(graph(lambda g, x: g.reduce_prod(x, 1), (3, 3)), 0, np.ones((3, 3)), x)
    np.testing.assert_array_equal(found, [12 + 8 + 6, 12, 0])


def test_the_absolute_value_has_no_slope_at_zero():
    """W-53: in both modes 0, not -t."""
    made, x = graph(lambda g, x: g.abs(x), (3,)), np.array([-2.0, 0.0, 3.0])
    np.testing.assert_array_equal(pushed(made, 0, np.ones(3), x), [-1.0, 0.0, 1.0])
    np.testing.assert_array_equal(rlx.compile(rlx.grad(made, "x0"))(x)[0], [-1.0, 0.0, 1.0])


CODES = np.array([[3, -7], [127, 0], [-128, 5], [1, 2]], np.int8)
Shapes = tuple[tuple[int, ...], ...]

FORWARD: dict[str, tuple[Build, Shapes]] = {
    "cross-entropy": (lambda g, x: g.softmax_cross_entropy_with_logits(x, g.constant([0, 3, 1], "i64")), ((3, 4),)),
    "fft": (lambda g, x: g.fft(x, inverse=True, norm="ortho"), ((2, 12),)),
    "psd": (lambda g, x: g.psd(x), ((2, 7),)),
    "irfft": (lambda g, x, y: g.irfft(g.complex(x, y), 7), ((2, 4), (2, 4))),
    "rope": (lambda g, *xs: g.rope(*xs, num_heads=2, n_rot=2), ((2, 3, 8), (3, 2), (3, 2))),
    "axial-rope": (lambda g, x: g.axial_rope_2d(x, 3, 2, num_heads=2), ((2, 6, 8),)),
    "dequant": (
        lambda g, x, s, z: g.dequant_matmul(x, g.constant(CODES), "int8_block_asym", s, z, block_size=2),
        ((3, 4), (2, 2), (2, 2)),
    ),
}


@pytest.mark.parametrize(("name", "wrt"), [(n, i) for n, (_, shapes) in FORWARD.items() for i in range(len(shapes))])
def test_losses_transforms_rotations_and_quantised_products_have_tangents(name: str, wrt: int):
    """W-71: along every operand, against differences."""
    build, shapes = FORWARD[name]
    rng = np.random.default_rng(4)
    arrays = [rng.standard_normal(shape) for shape in shapes]
    tangent = rng.standard_normal(shapes[wrt])
    made = graph(build, *shapes)
    found = pushed(made, wrt, tangent, *arrays)
    largest = max(1.0, float(np.abs(found).max()))
    np.testing.assert_allclose(found, difference(made, wrt, tangent, *arrays), atol=1e-9 * largest)
    assert np.abs(found).max() > 0.05


SECOND: dict[str, Build] = {
    "relu": lambda g, x, w: g.relu(x @ w) ** 2.0,
    "gelu": lambda g, x, w: g.gelu(x @ w),
    "norm": lambda g, x, w: (
        g.layer_norm(x @ w, g.constant([0.5, 1.5], "f64"), g.constant([0.1, 0.2], "f64")) ** 2.0 * x @ w
    ),
    "softmax": lambda g, x, w: g.softmax(x @ w) ** 2.0,
    "cross-entropy": lambda g, x, w: g.softmax_cross_entropy_with_logits(x @ w, g.constant([0, 1, 0], "i64")),
    "fused": lambda g, x, w: g.fused_matmul_bias_act(x, w, g.constant([0.1, -0.2], "f64"), "silu"),
    "backward": lambda g, x, w: g.activation_backward(x @ w, g.tanh(x @ w), "gelu_approx"),
}


@pytest.mark.parametrize("build", SECOND.values(), ids=SECOND)
def test_second_order_goes_through_composite_and_backward_ops(build: Build):
    """W-04: Hessian products forward over reverse and reverse over reverse, against differences of the gradient."""
    rng = np.random.default_rng(2)
    made = graph(lambda g, x, w: g.reduce_sum(build(g, x, w)), (3, 2), (2, 2))
    arrays = [rng.standard_normal(shape) for shape in ((3, 2), (2, 2))]
    v = rng.standard_normal((2, 2))
    first = rlx.grad(made, "x1")
    expected = difference(rlx.run_passes(first, "canonicalize"), 1, v, *arrays, np.ones(()))
    forward = oracle.evaluate(rlx.hvp(made, "x1").module, *arrays, 1.0, v)[-1]
    reverse = oracle.evaluate(rlx.nth_order_grad(made, "x1", 2).module, *arrays, 1.0, v)[-1]
    np.testing.assert_allclose(forward, expected, atol=1e-7)
    np.testing.assert_allclose(reverse, forward, atol=1e-12)
