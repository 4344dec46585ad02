"""Where gradients and values of arithmetic are easily wrong: ties, zeros, infinities, element types, broadcasting.

Each test names in its docstring the weakness that it guards against.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from ml_dtypes import bfloat16
from xdsl.utils.exceptions import VerifyException

import xdsl_rlx as rlx

Array = np.ndarray[Any, Any]
INF, NAN = np.inf, np.nan


def graph(build: Callable[..., Any], *arrays: Array) -> rlx.Graph:
    """A graph of inputs `x0`, `x1`, ... with the shapes and element types of the arrays."""
    g = rlx.Graph("f")
    inputs = [g.input(f"x{i}", a.shape, dtype=a.dtype) for i, a in enumerate(arrays)]
    built = build(g, *inputs)
    g.set_outputs(list(built) if isinstance(built, tuple) else [built])
    return g


def value(build: Callable[..., Any], *arrays: Array) -> Array:
    """The first output."""
    return rlx.compile(graph(build, *arrays))(*arrays)[0]


def gradients(build: Callable[..., Any], *arrays: Array, wrt: Sequence[int] | None = None) -> tuple[Array, ...]:
    """The gradients of the sum of the outputs' elements."""
    names = [f"x{i}" for i in (range(len(arrays)) if wrt is None else wrt)]
    return rlx.compile(rlx.grad(graph(build, *arrays), wrt=names, zero_missing_wrt=True))(*arrays)


def tangents(build: Callable[..., Any], *arrays: Array) -> Array:
    """The directional derivative along ones for every input."""
    names = [f"x{i}" for i in range(len(arrays))]
    made = rlx.jvp(graph(build, *arrays), tangent_for=names)
    return rlx.compile(made)(*arrays, *(np.ones_like(a) for a in arrays))[-1]


def f64(*numbers: float) -> Array:
    return np.array(numbers, np.float64)


@pytest.mark.parametrize("kind", ["max", "min"])
def test_tied_operands_of_max_and_min_share_the_gradient(kind: str):
    """W-10: half to each, in both modes."""
    a, b = f64(1, 2, 3), f64(1, 3, 2)
    da, db = gradients(lambda g, x, y: getattr(g, kind)(x, y), a, b)
    first = [0.5, 0.0, 1.0] if kind == "max" else [0.5, 1.0, 0.0]
    np.testing.assert_array_equal(da, first)
    np.testing.assert_array_equal(db, 1 - np.array(first))
    np.testing.assert_array_equal(tangents(lambda g, x, y: getattr(g, kind)(x, y), a, b), [1, 1, 1])


def test_nan_passes_nothing_to_the_operands_of_max_min_and_relu():
    """W-10, W-44: neither operand is the one that was taken, in both modes, as in JAX; the value is NaN."""
    a, b = f64(NAN, 1, NAN, 3), f64(1, NAN, NAN, 2)
    for kind, slopes in (("max", [0, 0, 0, 1]), ("min", [0, 0, 0, 0])):
        build = lambda g, x, y, kind=kind: getattr(g, kind)(x, y)  # noqa: E731
        da, db = gradients(build, a, b)
        np.testing.assert_array_equal(da, slopes)
        np.testing.assert_array_equal(db, [0, 0, 0, 1 - slopes[3]])
        np.testing.assert_array_equal(tangents(build, a, b), [0, 0, 0, 1])
        theirs = jax.grad(lambda x, y, kind=kind: getattr(jnp, f"{kind}imum")(x, y).sum())(a, b)
        np.testing.assert_array_equal(da, theirs)
    np.testing.assert_array_equal(gradients(lambda g, x: g.relu(x), a)[0], [0, 1, 0, 1])
    np.testing.assert_array_equal(tangents(lambda g, x: g.relu(x), a), [0, 1, 0, 1])


def test_where_passes_a_nan_only_to_the_branch_that_was_taken():
    """W-44, W-15: a comparison with NaN is false; the cotangent of the other branch is 0, whatever its value."""
    x, y = f64(NAN, 1, 2, -1), f64(5, NAN, 6, NAN)

    def build(g: Any, x: Any, y: Any) -> Any:
        return g.where(x > 0.0, x, y)

    np.testing.assert_array_equal(value(build, x, y), [5, 1, 2, NAN])
    dx, dy = gradients(build, x, y)
    np.testing.assert_array_equal(dx, [0, 1, 1, 0])
    np.testing.assert_array_equal(dy, [1, 0, 0, 1])
    np.testing.assert_array_equal(tangents(build, x, y), [1, 1, 1, 1])


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.complex128])
def test_a_condition_may_be_a_number(dtype: type[Any]):
    """Spec 3.4: what is not 0 selects the first; the op itself takes i1, the builder compares."""
    cond = np.array([0, 1, -1, 2]).astype(dtype)
    ours = value(lambda g, c: g.where(c, g.constant([1.0, 2.0, 3.0, 4.0]), 0.0), cond)
    np.testing.assert_array_equal(ours, [0, 2, 3, 4])
    np.testing.assert_array_equal(value(lambda g, c: g.where(c, 1.0, 2.0), f64(NAN, -0.0)), [1, 2])
    assert value(lambda g: g.where(0, 1.0, 2.0)) == 2 and value(lambda g: g.where(0.5, 1.0, 2.0)) == 1


@pytest.mark.parametrize("kind", ["reduce_max", "reduce_min"])
def test_ties_of_a_reduction_share_the_gradient(kind: str):
    """W-11: the gradients of ties add up to one, as in JAX."""
    x = f64(2, 5, 5, 5, 2).reshape(1, 5)
    (dx,) = gradients(lambda g, x: getattr(g, kind)(x, 1), x)
    expected = jax.grad(lambda v: getattr(jnp, kind[-3:])(v, axis=1).sum())(x)
    np.testing.assert_allclose(dx, expected, rtol=1e-15)
    assert dx.sum() == pytest.approx(1, abs=1e-15)


@pytest.mark.parametrize("kind", ["reduce_max", "reduce_min"])
@pytest.mark.parametrize(("axes", "ties"), [((0, 1), 4), ((0, 2), 6), ((0, 1, 2), 12)])
def test_ties_over_several_axes_share_evenly(kind: str, axes: tuple[int, ...], ties: int):
    """W-11: `1/k` to each of k ties, not axis by axis."""
    x = np.ones((2, 2, 3))
    (dx,) = gradients(lambda g, x: getattr(g, kind)(x, axes), x)
    np.testing.assert_array_equal(dx, np.full(x.shape, 1 / ties))
    # one tie in the first row and two in the second: a third each
    x = f64(1, 2, 1, 1).reshape(2, 2) if kind == "reduce_min" else f64(1, 0, 1, 1).reshape(2, 2)
    (dx,) = gradients(lambda g, x: getattr(g, kind)(x, (0, 1)), x)
    np.testing.assert_array_equal(dx, np.array([[1, 0], [1, 1]]) / 3)


@pytest.mark.parametrize("kind", ["reduce_max", "reduce_min"])
def test_the_slope_of_an_extreme_that_is_nan_is_nan(kind: str):
    """W-44: in both modes, for all elements of the row and for no other row, as in JAX where XLA leaves it alone."""
    x = f64(1, NAN, 3, 2, 5, 5).reshape(2, 3)
    build = lambda g, x: getattr(g, kind)(x, 1)  # noqa: E731
    (dx,) = gradients(build, x)
    expected = jax.grad(lambda v: getattr(jnp, kind[-3:])(v, axis=1).sum())(x)
    np.testing.assert_array_equal(dx, expected)
    assert np.isnan(dx).tolist() == [[True] * 3, [False] * 3]
    np.testing.assert_array_equal(tangents(build, x), [NAN, 1])


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [((2, 0, 3, 4), (0, 24, 0, 0)), ((2, 0, 3, 0), (0, 0, 0, 0)), ((2, 5, 3, 4), (60, 24, 40, 30)), ((0,), (1,))],
)
def test_the_gradient_of_a_product_with_zeros_is_the_product_of_the_others(
    numbers: tuple[float, ...], expected: tuple[float, ...]
):
    """W-11: exact with no, one and several zeros."""
    (dx,) = gradients(lambda g, x: g.reduce_prod(x, 0), f64(*numbers))
    np.testing.assert_array_equal(dx, expected)


def test_the_gradient_of_pow_at_zero_and_below_is_the_limit():
    """W-12: `x^2` at 0 has slope 0, `(-2)^3` slope 12, `0^0` slope 0; the exponent of 0 gets 0."""
    base, exponent = f64(0, -2, 0, 3), f64(2, 3, 0, 2)
    da, db = gradients(lambda g, x, y: g.pow(x, y), base, exponent)
    np.testing.assert_array_equal(da, [0, 12, 0, 6])
    np.testing.assert_allclose(db, [0, NAN, 0, 9 * np.log(3)], rtol=1e-15)


@pytest.mark.parametrize(
    ("power", "name"),
    [
        (lambda g, x, n: g.pow(x, n), "mir.pow"),
        (lambda g, x, n: g.pow(x, 2.0), "mir.pow"),
        (lambda g, x, n: g.pow(x, g.constant(f64(2, 2, 2))), "mir.pow"),
        (lambda g, x, n: x**2.0, "mir.mul"),
    ],
    ids=["tensor", "number", "constant", "operator"],
)
def test_a_square_has_the_same_slope_however_it_is_written(power: Callable[..., Any], name: str):
    """W-12: with an exponent that is a tensor, a constant, and as the product that the operator makes of it."""
    arguments = f64(0, -3, 2), f64(2, 2, 2)
    assert name in {op.name for op in graph(power, *arguments).module.walk()}
    (slope,) = gradients(power, *arguments, wrt=[0])
    np.testing.assert_array_equal(slope, [0, -6, 4])


def _derivative_of_pow(order: Sequence[int], base: Array, exponent: Array | float) -> Array:
    """By the base (0) and the exponent (1), one after the other."""
    g = rlx.Graph("f")
    x = g.input("x0", base.shape, dtype="f64")
    y = exponent if isinstance(exponent, float) else g.input("x1", exponent.shape, dtype="f64")
    g.set_outputs([g.pow(x, y)])
    derived: Any = g
    for number in order:
        derived = rlx.grad(derived, wrt=[f"x{number}"], zero_missing_wrt=True)
    given = {"x0": base} if isinstance(exponent, float) else {"x0": base, "x1": exponent}
    return rlx.compile(derived)(**given)[0]


@pytest.mark.parametrize("order", [1, 2, 3])
def test_higher_slopes_of_a_power_at_zero_are_those_of_the_polynomial(order: int):
    """W-12: `x^n` at 0 for n = 0, 1, 2, 3, as a tensor and as a number: `n!` in the n-th derivative, else 0."""
    exponent = f64(0, 1, 2, 3)
    expected = np.where(exponent == order, [1, 1, 2, 6], 0.0)
    for zero in (0.0, -0.0):
        found = _derivative_of_pow([0] * order, np.full(4, zero), exponent)
        np.testing.assert_array_equal(found, expected)
    for n, slope in zip(exponent, expected, strict=True):
        np.testing.assert_array_equal(_derivative_of_pow([0] * order, f64(0), float(n)), [slope])


@pytest.mark.parametrize("order", [(1,), (0, 1), (1, 0), (1, 1), (1, 1, 1)])
def test_slopes_of_a_power_of_zero_by_its_exponent_are_zero(order: tuple[int, ...]):
    """W-12: the logarithm of 0 stays out of `0^2` and `0^3`, in mixed derivatives as well."""
    np.testing.assert_array_equal(_derivative_of_pow(order, f64(0, -0.0), f64(2, 3)), [0, 0])


def test_mixed_slopes_of_a_power_do_not_depend_on_their_order():
    """W-12: `d/dx d/dy x^y` is `1/x` at exponent 0, either way around; only `0^0` is an exception."""
    for order in ((0, 1), (1, 0)):
        np.testing.assert_array_equal(_derivative_of_pow(order, f64(2, 0.5), f64(0, 0)), [0.5, 2])


def test_the_slope_of_sqrt_and_rsqrt_at_zero_is_infinite():
    """W-33: +inf and -inf at 0, NaN below, as in JAX and PyTorch."""
    x = f64(0, 4, -1)
    np.testing.assert_array_equal(gradients(lambda g, x: g.sqrt(x), x)[0], [INF, 0.25, NAN])
    np.testing.assert_array_equal(gradients(lambda g, x: g.rsqrt(x), x)[0], [-INF, -0.0625, NAN])


SLOPES: list[tuple[str, Callable[[Any], Any], list[float], list[float]]] = [
    ("asin", jnp.arcsin, [-1, 1, 1.5], [INF, INF, NAN]),
    ("acos", jnp.arccos, [-1, 1, 1.5], [-INF, -INF, NAN]),
    ("acosh", jnp.arccosh, [1, 0.5], [INF, NAN]),
    ("atanh", jnp.arctanh, [-1, 1], [INF, INF]),
    ("cbrt", jnp.cbrt, [0, -0.0, -8], [INF, INF, 1 / 12]),
    ("floor", jnp.floor, [0, 0.5, -2], [0, 0, 0]),
    ("sign", jnp.sign, [0, 3, -0.0], [0, 0, 0]),
    ("softplus", jax.nn.softplus, [0, -1000, 1000, -INF, INF], [0.5, 0, 1, 0, 1]),
    ("rem", lambda x: jnp.fmod(x, 2.0), [4, -3, 5.5], [1, 1, 1]),
    ("mod", lambda x: jnp.mod(x, 2.0), [4, -3, 5.5], [1, 1, 1]),
    ("copysign", lambda x: jnp.copysign(x, 2.0), [0, 4, -3], [1, 1, -1]),
]


@pytest.mark.parametrize(("name", "theirs", "at", "expected"), SLOPES, ids=[row[0] for row in SLOPES])
def test_slopes_at_kinks_and_ends_are_those_of_jax(
    name: str, theirs: Callable[[Any], Any], at: list[float], expected: list[float]
):
    """W-33: infinite where the function is upright, 0 where it is flat, NaN outside of its domain."""
    x = f64(*at)
    operands = () if name not in ("rem", "mod", "copysign") else (2.0,)
    (slopes,) = gradients(lambda g, x: getattr(g, name)(x, *operands), x)
    np.testing.assert_allclose(slopes, expected, rtol=1e-15)
    with jax.enable_x64():
        np.testing.assert_allclose(slopes, jax.grad(lambda x: theirs(x).sum())(jnp.asarray(x)), rtol=1e-6)


def test_the_slope_of_erfc_keeps_its_digits_in_the_tail():
    """W-33: rounding `x^2` alone would cost 170 units at 26."""
    x = f64(-3, 0.5, 5.3, 13.7, 26.1)
    (slopes,) = gradients(lambda g, x: g.erfc(x), x)
    with mpmath.workprec(160):
        exact = [float(-2 / mpmath.sqrt(mpmath.pi) * mpmath.exp(-(mpmath.mpf(v) ** 2))) for v in x.tolist()]
    np.testing.assert_allclose(slopes, exact, rtol=1e-15)


def test_a_safe_root_has_no_infinite_slope():
    """W-33: `safe_sqrt` and `safe_rsqrt` are 0 with slope 0 from 0 downwards, in both modes, and do not hide NaN."""
    x = f64(0, -0.0, 4, -1, NAN)
    for name, values, slopes in (("sqrt", [0, 0, 2, 0, NAN], 0.25), ("rsqrt", [0, 0, 0.5, 0, NAN], -0.0625)):
        build = lambda g, x, name=name: getattr(g, f"safe_{name}")(x)  # noqa: E731
        np.testing.assert_array_equal(value(build, x), values)
        np.testing.assert_array_equal(gradients(build, x)[0], [0, 0, slopes, 0, NAN])
        np.testing.assert_array_equal(tangents(build, x), [0, 0, slopes, 0, NAN])


def test_gradients_of_f64_graphs_are_f64_throughout():
    """W-30, W-41: means, maxima, selections and constants in rules have the graph's element type."""

    def build(g: Any, x: Any) -> Any:
        y = g.reduce_mean(g.where(x > 0.3, g.gelu(x), x * 3.0), 1)
        return g.reduce_max(g.softmax(y, 0) + g.reduce_min(x, 1), 0)

    def same(x: Any) -> Any:
        y = jnp.where(x > 0.3, jax.nn.gelu(x, approximate=False), x * 3.0).mean(1)
        return jnp.max(jax.nn.softmax(y) + jnp.min(x, 1))

    x = np.random.default_rng(0).standard_normal((4, 7))
    with jax.enable_x64():
        expected = np.asarray(jax.grad(same)(jnp.asarray(x)))
    (dx,) = gradients(build, x)
    assert dx.dtype == np.float64
    np.testing.assert_allclose(dx, expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("dtype", ["f16", "f32", "f64"])
def test_a_missing_gradient_is_zeros_of_the_inputs_type(dtype: str):
    """W-31, W-03: a loss that does not depend on an input, or only through a comparison, has gradient 0."""
    g = rlx.Graph("f")
    x, y, z = (g.input(name, (2, 3), dtype=dtype) for name in "xyz")
    g.set_outputs([g.reduce_sum(g.where(y > 0.0, x, g.stop_gradient(z)))])
    numbers = np.ones((2, 3), {"f16": np.float16, "f32": np.float32, "f64": np.float64}[dtype])
    dx, dy, dz = rlx.compile(rlx.grad(g, wrt=["x", "y", "z"], zero_missing_wrt=True))(numbers, numbers, numbers)
    np.testing.assert_array_equal(dx, numbers)
    for zero in (dy, dz):
        assert zero.dtype == numbers.dtype
        np.testing.assert_array_equal(zero, np.zeros((2, 3)))


@pytest.mark.parametrize("through", ["topk", "sample", "compare"])
def test_a_loss_that_knows_an_input_by_integers_only_has_no_gradient(through: str):
    """W-03: an error that says so by default, zeros when they are asked for."""
    g = rlx.Graph("f")
    x, w = g.input("x", (2, 4)), g.input("w", (4,))
    at = {
        "topk": lambda: g.topk(x, 1).reshape(2),
        "sample": lambda: g.sample(x, g.constant(np.array([7, 0]))),
        "compare": lambda: g.cast(x > 0.0, "i32").sum(1),
    }[through]()
    g.set_outputs([g.reduce_sum(g.gather(w, at))])
    with pytest.raises(rlx.RlxError, match=r'no gradient flows from the loss to "x"'):
        rlx.grad(g, wrt=["x"]).module.verify()
    numbers = np.array([[1, 2, -3, 0.5], [-1, 4, 0, -2]], np.float32)
    dx, dw = rlx.compile(rlx.grad(g, wrt=["x", "w"], zero_missing_wrt=True))(numbers, np.ones(4, np.float32))
    np.testing.assert_array_equal(dx, np.zeros((2, 4)))
    assert dw.sum() == 2
    if through == "topk":
        np.testing.assert_array_equal(dw, [0, 2, 0, 0])


@pytest.mark.parametrize("to", ["i64", "i32", "i1"])
def test_a_cast_through_integers_passes_nothing_in_either_mode(to: str):
    """W7 of the sheet of passes: what else depends on the operand has its derivative, and no more."""
    x, w = f64(1.5, -2.25, 3.75), f64(0.5, 4.0, -1.0)
    whole = x.astype({"i64": np.int64, "i32": np.int32, "i1": np.bool_}[to]).astype(np.float64)

    def build(g: rlx.Graph, x: Any, w: Any) -> Any:
        return g.cast(g.cast(x, to), "f64") * w + x * x

    np.testing.assert_allclose(value(build, x, w), whole * w + x * x)
    dx, dw = gradients(build, x, w)
    np.testing.assert_allclose(dx, 2 * x)
    np.testing.assert_allclose(dw, whole)
    np.testing.assert_allclose(tangents(build, x, w), whole + 2 * x)


def test_a_cast_between_integers_wraps():
    """W-42: the value modulo 2^n, in two's complement, as NumPy has it; what is narrower keeps its value."""
    signed = np.array([300, -1, 2**31 - 1, -129, -(2**31)], np.int32)
    unsigned = np.array([2**32 - 1, 2**31, 255, 128, 127], np.uint32)
    for numbers in (signed, unsigned):
        for to, like in (("i8", np.int8), ("u8", np.uint8), ("i16", np.int16), ("i32", np.int32), ("u32", np.uint32)):
            got = value(lambda g, x, to=to: g.cast(x, to), numbers)
            assert got.dtype == like
            np.testing.assert_array_equal(got, numbers.astype(like))
        np.testing.assert_array_equal(value(lambda g, x: g.cast(x, "i64"), numbers), numbers)
        assert value(lambda g, x: g.cast(x, "i1"), numbers).all()


def test_cast_converts():
    """W-42: widths change, floats are truncated towards zero and saturate, NaN becomes 0."""
    x = f64(1.7, -1.7, 1e10, NAN, 2.5)
    np.testing.assert_array_equal(value(lambda g, x: g.cast(x, "i32"), x), [1, -1, 2**31 - 1, 0, 2])
    np.testing.assert_array_equal(value(lambda g, x: g.cast(x, "f32"), x), x.astype(np.float32))
    np.testing.assert_array_equal(value(lambda g, x: g.cast(x, "i1"), f64(0, -0.0, 0.5)), [False, False, True])


def test_round_goes_to_even_in_every_type():
    """W-43: halves go to the even neighbour."""
    x = f64(0.5, 1.5, 2.5, -0.5, -1.5)
    for dtype in (np.float32, np.float64):
        np.testing.assert_array_equal(value(lambda g, x: g.round(x), x.astype(dtype)), [0, 2, 2, -0.0, -2])


def test_nan_is_not_hidden():
    """W-44: max, min, relu and the reductions give NaN if an operand is."""
    x = np.array([[1.0, NAN], [2.0, 3.0]], np.float32)
    for kind in ("reduce_max", "reduce_min"):
        assert np.isnan(value(lambda g, x, kind=kind: getattr(g, kind)(x, 1), x)).tolist() == [True, False]
    for kind in ("max", "min"):
        both = value(lambda g, x, kind=kind: getattr(g, kind)(x, 0.5) + getattr(g, kind)(0.5, x), x)
        assert np.isnan(both).tolist() == [[False, True], [False, False]]
    assert np.isnan(value(lambda g, x: g.relu(x), x)).tolist() == [[False, True], [False, False]]


@pytest.mark.parametrize(("lhs", "rhs"), [((3, 5), (2, 5, 4)), ((2, 1, 3, 5), (4, 5, 2)), ((2, 3, 5), (5, 4))])
def test_a_matrix_times_a_batch_is_right(lhs: tuple[int, ...], rhs: tuple[int, ...]):
    """W-45: batch dimensions of unequal rank broadcast."""
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal(lhs), rng.standard_normal(rhs)
    np.testing.assert_allclose(value(lambda g, x, y: x @ y, a, b), a @ b, rtol=1e-13, atol=1e-13)


@pytest.mark.optimised
def test_the_variance_of_large_numbers_does_not_cancel():
    """W-46: layer norm of numbers around 1e4 in f32, whose mean of squares has no digits left for the variance."""
    x = (1e4 + np.random.default_rng(0).standard_normal((3, 64))).astype(np.float32)
    got = value(lambda g, x: g.layer_norm(x, g.full((64,), 1.0), g.full((64,), 0.0)), x)
    wide = x.astype(np.float64)
    expected = (wide - wide.mean(1, keepdims=True)) / np.sqrt(wide.var(1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(got, expected, atol=2e-3)


@pytest.mark.parametrize("axis", [0, 1, -1, -2])
def test_softmax_and_layer_norm_honour_their_axis(axis: int):
    """W-49, W-55."""
    x = np.random.default_rng(1).standard_normal((3, 4, 5))
    e = np.exp(x - x.max(axis, keepdims=True))
    np.testing.assert_allclose(value(lambda g, x: g.softmax(x, axis), x), e / e.sum(axis, keepdims=True), rtol=1e-13)
    n = x.shape[axis]
    got = value(lambda g, x: g.layer_norm(x, g.full((n,), 1.0, "f64"), g.full((n,), 0.0, "f64"), axis, 1e-3), x)
    centred = x - x.mean(axis, keepdims=True)
    np.testing.assert_allclose(got, centred / np.sqrt(x.var(axis, keepdims=True) + 1e-3), rtol=1e-12, atol=1e-13)


def test_a_sum_with_one_tangent_has_the_shape_of_the_sum():
    """W-52: the tangent of a broadcast operand is broadcast."""
    x, y = np.ones((1, 3)), np.ones((4, 1))
    g = graph(lambda g, x, y: x + y, x, y)
    out, tangent = rlx.compile(rlx.jvp(g, tangent_for=["x1"]))(x, y, 2 * y)
    assert tangent.shape == out.shape == (4, 3)
    np.testing.assert_array_equal(tangent, np.full((4, 3), 2.0))


def test_forward_mode_is_the_transpose_of_reverse_mode():
    """W-51, W-53: rounding passes tangents on; abs has slope 0 at 0; maxima, products and norms differentiate fully."""
    np.testing.assert_array_equal(tangents(lambda g, x: g.round(x), f64(0.3, 1.6)), [1, 1])
    np.testing.assert_array_equal(tangents(lambda g, x: g.abs(x), f64(0, -2, 2)), [0, -1, 1])
    np.testing.assert_array_equal(tangents(lambda g, x: g.reduce_max(x, 0), f64(1, 3, 2)), 1)
    np.testing.assert_array_equal(tangents(lambda g, x: g.reduce_prod(x, 0), f64(1, 3, 2)), 11)
    # a layer norm does not notice that all of its input moves together
    x = np.random.default_rng(2).standard_normal((3, 8))
    ones, zeros = np.ones(8), np.zeros(8)
    g = graph(lambda g, x, gamma, beta: g.layer_norm(x, gamma, beta), x, ones, zeros)
    tangent = rlx.compile(rlx.jvp(g, tangent_for=["x0"]))(x, ones, zeros, np.ones_like(x))[-1]
    np.testing.assert_allclose(tangent, np.zeros((3, 8)), atol=1e-14)


def test_a_mixed_pair_of_element_types_is_rejected():
    """W-60, W-69: nothing is promoted silently."""
    g = rlx.Graph("f")
    x, y = g.input("x", (3,), dtype="f32"), g.input("y", (3,), dtype="f64")
    with pytest.raises(rlx.GraphError, match=r"f32.*f64"):
        g.add(x, y)


def test_contributions_of_different_types_add_up_in_the_type_of_the_value():
    """W-69: `x` is used as it is, as f64 and as f16; each contribution is cast back before they are added."""
    x = np.array([0.5, -2, 3], np.float32)
    a, b, c = f64(1e-3, 1 / 3, 7), np.array([1, 2, 1 / 3], np.float32), np.array([1, 0.1, -1], np.float16)

    def build(g: Any, x: Any) -> Any:
        terms = g.cast(x, "f64") * a, g.cast(x * b, "f64"), g.cast(g.cast(x, "f16") * c, "f64")
        return g.reduce_sum(terms[0] + terms[1] + terms[2])

    (dx,) = gradients(build, x)
    assert dx.dtype == np.float32
    np.testing.assert_allclose(dx, a + b + c.astype(np.float64), rtol=2e-7)


def test_contributions_of_different_shapes_add_up_in_the_shape_of_the_value():
    """W-69: one number, used as a scalar, as a vector of one and broadcast to three."""
    x, w = f64(2), f64(1, 10, 100)
    (dx,) = gradients(lambda g, x: g.reduce_sum(x * w) + x.reshape(()) * 5.0 + g.reduce_sum(x * x), x)
    np.testing.assert_array_equal(dx, [111 + 5 + 4])


def test_a_size_that_is_not_known_is_refused():
    """W-68: extents are numbers, so that no broadcast along an unknown one is left unsummed."""
    g = rlx.Graph("f")
    with pytest.raises(rlx.GraphError, match=r"-1"):
        g.input("x", (-1, 3))
    text = """func.func @f(%x: tensor<?x3xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<?x3xf32> {
      %y = mir.exp %x : tensor<?x3xf32>
      func.return %y : tensor<?x3xf32>
    }"""
    with pytest.raises((rlx.GraphError, VerifyException), match=r"expected a static shape, got tensor<\?x3xf32>"):
        rlx.compile(rlx.parse(text))


def test_reshape_and_narrow_are_checked():
    """W-61, W-62."""
    g = rlx.Graph("f")
    x = g.input("x", (4, 6))
    for wrong in (lambda: g.reshape(x, (5, 5)), lambda: g.reshape(x, (7, -1)), lambda: g.narrow(x, 1, 4, 3)):
        with pytest.raises((rlx.GraphError, VerifyException)):
            wrong()
    assert g.reshape(g.input("empty", (0, 3)), (0, 5)).shape == (0, 5)


def test_where_keeps_an_infinity_of_the_other_branch_out_of_the_gradient():
    """W-15: with the guarded input, the idiom of the docs, the slope is finite everywhere."""
    x = f64(-1, 0, 4)

    def build(g: Any, x: Any) -> Any:
        positive = x > 0.0
        return g.where(positive, g.log(g.where(positive, x, 1.0)), 0.0)

    np.testing.assert_array_equal(gradients(build, x)[0], [0, 0, 0.25])


def _exact_gelu(x: Any) -> Any:
    return x * mpmath.ncdf(x)


def _exact_gelu_approx(x: Any) -> Any:
    return x / 2 * (1 + mpmath.tanh(mpmath.sqrt(2 / mpmath.pi) * (x + mpmath.mpf("0.044715") * x**3)))


@pytest.mark.parametrize(("kind", "exact"), [("gelu", _exact_gelu), ("gelu_approx", _exact_gelu_approx)])
def test_gelu_in_f64_is_accurate(kind: str, exact: Callable[[Any], Any]):
    """W-70, W-50: values and slopes of both gelus to rounding, in both modes, with the formula that goes with each."""
    x = np.linspace(-6, 6, 41)
    with mpmath.workdps(40):
        expected = [float(exact(mpmath.mpf(v))) for v in x]
        slope = [float(mpmath.diff(exact, mpmath.mpf(v))) for v in x]
    build = lambda g, x: getattr(g, kind)(x)  # noqa: E731
    np.testing.assert_allclose(value(build, x), expected, rtol=0, atol=2e-15)
    np.testing.assert_allclose(gradients(build, x)[0], slope, rtol=0, atol=6e-15)
    np.testing.assert_allclose(tangents(build, x), slope, rtol=0, atol=6e-15)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gelu_keeps_its_digits_where_it_is_small(dtype: Any):
    """`1 + erf` cancelled: in f32 4 % of gelu were wrong at -5, all of it at -6; so was its slope."""
    eps = np.finfo(dtype).eps
    x = np.linspace(-13, 5, 241).astype(dtype)
    with mpmath.workdps(60):
        points = [mpmath.mpf(float(v)) for v in x]
        expected = np.array([float(_exact_gelu(v)) for v in points])
        slope = np.array([float(mpmath.ncdf(v) + v * mpmath.npdf(v)) for v in points])
    build = lambda g, x: g.gelu(x)  # noqa: E731
    np.testing.assert_allclose(value(build, x), expected, rtol=4 * eps)
    away = abs(x + 0.752) > 0.1
    for found in (gradients(build, x)[0], tangents(build, x)):
        np.testing.assert_allclose(found[away], slope[away], rtol=16 * eps)
        np.testing.assert_allclose(found, slope, rtol=0, atol=2 * eps)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gelu_by_tanh_keeps_its_digits_where_it_is_small(dtype: Any):
    """`1 + tanh u` cancelled; `sigmoid 2u` is as exact as its argument, whose rounding the exponential shows."""
    x = np.linspace(-9.5, 5, 201).astype(dtype)
    with mpmath.workdps(60):
        expected = np.array([float(_exact_gelu_approx(mpmath.mpf(float(v)))) for v in x])
    found = value(lambda g, x: g.gelu_approx(x), x)
    exponent = np.sqrt(8 / np.pi) * abs(x * (1 + 0.044715 * x * x))
    assert np.all(abs(found - expected) <= (4 + 2 * exponent) * np.finfo(dtype).eps * abs(expected))


def test_second_derivative_of_gelu_vanishes_at_infinity():
    """`(2 - x^2) e^(-x^2/2)` is 0 there, not `inf 0`."""
    x = f64(-INF, -40, 0, 40, INF)
    g = rlx.grad(graph(lambda g, x: g.gelu(x), x), wrt=["x0"])
    second = rlx.compile(rlx.jvp(g, tangent_for=["x0"]))(x, np.ones(5))[-1]
    np.testing.assert_allclose(second, [0, 0, np.sqrt(2 / np.pi), 0, 0], rtol=1e-15)


def test_slopes_at_zero_of_abs_and_tan_are_those_of_the_function():
    """W-09: tan uses tan, abs has slope 0 at 0, the exact gelu the exact slope."""
    x = f64(0, 0.5)
    np.testing.assert_array_equal(gradients(lambda g, x: g.abs(x), x)[0], [0, 1])
    np.testing.assert_allclose(gradients(lambda g, x: g.tan(x), x)[0], 1 + np.tan(x) ** 2, rtol=1e-15)


def test_labels_are_integers_beyond_the_digits_of_f32():
    """W-57: a class number above 2^24 is told apart from its neighbour."""
    labels = np.array([2**24 + 1, 2**24], np.int64)
    same = value(lambda g, a: g.eq(a, g.constant(np.array([2**24, 2**24], np.int64), "i64")), labels)
    assert same.tolist() == [False, True]


def test_constants_fold_in_their_own_type():
    """W-28: what canonicalize folds is what would have been computed, in i32, i1, f16 and f64."""
    g = rlx.Graph("f")
    third = g.constant(1.0, "f64") / g.constant(3.0, "f64")
    half = g.cast(g.constant(0.1, "f16"), "f64")
    seven = g.cast(g.constant(3, "i32") + g.constant(4, "i32"), "f64")
    true = g.cast(g.and_(g.constant(True), g.constant(True)), "f64")
    g.set_outputs([third, half, seven, true])
    folded = rlx.run_passes(g, "canonicalize")
    expected = [1 / 3, float(np.float16(0.1)), 7.0, 1.0]
    assert [float(v) for v in rlx.compile(folded)()] == expected == [float(v) for v in rlx.compile(g)()]


def test_a_param_declared_after_a_fused_op_gets_its_own_gradient():
    """W-01: arguments are found by name, whatever preparation rewrites."""
    g = rlx.Graph("f")
    x, w, b = g.input("x", (2, 3), dtype="f64"), g.param("w", (3, 4), dtype="f64"), g.param("b", (4,), dtype="f64")
    h = g.fused_matmul_bias_act(x, w, b, "gelu")
    late = g.param("late", (4,), dtype="f64")
    g.set_outputs([g.reduce_sum(h * late)])
    rng = np.random.default_rng(3)
    values = {"x": rng.standard_normal((2, 3)), "w": rng.standard_normal((3, 4))}
    values |= {"b": rng.standard_normal(4), "late": rng.standard_normal(4)}
    (d_late,) = rlx.compile(rlx.grad(g, wrt=["late"]))(**values)
    with jax.enable_x64():
        h = jax.nn.gelu(jnp.asarray(values["x"] @ values["w"] + values["b"]), approximate=False)
        expected = np.asarray(h.sum(0))
    np.testing.assert_allclose(d_late, expected, rtol=1e-13)


def test_a_reduction_of_several_axes_can_be_used_further():
    """W-02: in the middle of a graph, with keep_dim and without."""
    x = np.random.default_rng(4).standard_normal((2, 3, 4))

    def build(g: Any, x: Any) -> Any:
        return g.reduce_sum(x / g.reduce_mean(x * x, (0, 2), keep_dim=True)) * g.reduce_max(x, (0, 1, 2))

    def same(x: Any) -> Any:
        return (x / (x * x).mean((0, 2), keepdims=True)).sum() * x.max()

    with jax.enable_x64():
        expected = np.asarray(jax.grad(same)(jnp.asarray(x)))
    np.testing.assert_allclose(gradients(build, x)[0], expected, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize(("lhs", "rhs"), [((0, 3), (1, 3)), ((2, 0), (2, 1)), ((0,), ()), ((4, 0, 1), (1, 5))])
def test_the_gradient_of_what_was_broadcast_over_nothing_is_zero(lhs: tuple[int, ...], rhs: tuple[int, ...]):
    """W-68: an extent of 1 against one of 0 is summed back, over no elements."""
    a, b = np.ones(lhs), np.ones(rhs)
    da, db = gradients(lambda g, x, y: x * y, a, b)
    assert da.shape == lhs
    np.testing.assert_array_equal(db, np.zeros(rhs))


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", [np.float16, bfloat16, np.float32, np.float64])
@pytest.mark.parametrize("exponent", [3.0, 4.0, -2.0, 0.5, -0.5])
def test_powers_by_products_and_roots_are_powers(dtype: type, exponent: float):
    """
    Signs of zeros, infinities, what overflows on the way, numbers below the least normal one; halves round once.

    Two roundings of a product, or of a root and a reciprocal: below 2 units in the last place.
    """
    rng = np.random.default_rng(0)
    ends = np.array([0.0, 1, INF, NAN, 1e-45, 1e-39, 1e-20, 5.4e-20, 1e-19, 1e19, 1e20, 3e38, 300, 1e-13, 1e13])
    spread = rng.standard_normal(2000) * 10 ** rng.uniform(-8, 8, 2000)
    with np.errstate(all="ignore"):
        x = np.concatenate([ends, -ends, spread]).astype(dtype)
        exact = np.power(x.astype(np.longdouble), np.longdouble(exponent))
        right = exact.astype(dtype).astype(np.float64)
        found = value(lambda g, x: g.pow(x, exponent), x).astype(np.float64)
        np.testing.assert_array_equal(np.signbit(found[~np.isnan(right)]), np.signbit(right[~np.isnan(right)]))
        if dtype in (np.float16, bfloat16):
            np.testing.assert_array_equal(found, right)
        else:
            least = np.finfo(dtype).smallest_subnormal
            np.testing.assert_allclose(found, right, rtol=2 * np.finfo(dtype).eps, atol=least)
