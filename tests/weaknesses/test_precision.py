"""Element types that passes get wrong: half precision of what is no f32, constants in another type; and relus lost."""

from math import erf, pi, sqrt, tanh
from typing import Any

import numpy as np
import pytest
from oracle import numpy_dtype

import xdsl_rlx as rlx

Array = np.ndarray[Any, Any]


def _fold(graph: rlx.Graph) -> list[Array]:
    """The values of a graph of constants, after folding, which leaves no op but them."""
    folded = rlx.run_passes(graph, "mir-fold-constants")
    ops = {op.name for op in folded.module.walk() if op.name.startswith("mir.")}
    assert ops == {"mir.constant"}
    return list(rlx.compile(folded, threads=1)())


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32", "f64"])
def test_gelu_is_folded_by_its_own_formula(dtype: str) -> None:
    """By the error function, not by tanh: at 3 they differ by 4e-4."""
    g = rlx.Graph("g")
    g.set_outputs([g.gelu(g.constant(3.0).cast(dtype)), g.gelu_approx(g.constant(3.0).cast(dtype))])
    exact, approx = (float(y) for y in _fold(g))
    tol = {"f16": 2e-3, "bf16": 1e-2, "f32": 1e-6, "f64": 1e-14}[dtype]
    assert abs(exact - 1.5 * (1 + erf(3 / sqrt(2)))) < tol
    assert abs(approx - 1.5 * (1 + tanh(sqrt(2 / pi) * (3 + 0.044715 * 27)))) < tol


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f64", "i8", "u8", "i16", "i32", "u32", "i64", "c64", "c128"])
def test_constants_of_every_type_are_folded_in_it(dtype: str) -> None:
    """Four bytes for each element would be too many or too few."""
    g = rlx.Graph("g")
    x = g.constant(np.array([3, 5, 7], numpy_dtype(dtype)))
    g.set_outputs([x * x + x, g.reshape(g.concat([x, x], 0), (2, 3))])
    squares, twice = _fold(g)
    assert squares.dtype == numpy_dtype(dtype) == twice.dtype
    np.testing.assert_array_equal(squares.astype(np.complex128), [12, 30, 56])
    np.testing.assert_array_equal(twice.astype(np.complex128), [[3, 5, 7]] * 2)


def test_integers_wrap_where_they_are_folded() -> None:
    g = rlx.Graph("g")
    big = g.constant(np.array([2**31 - 1, 2**24 + 1], np.int32))
    g.set_outputs([big + 1, g.constant(np.array([200], np.uint8)) * 2, big.cast("i64") * 3, big.cast("i8")])
    sums, bytes_, long, low = _fold(g)
    np.testing.assert_array_equal(sums, [-(2**31), 2**24 + 2])
    np.testing.assert_array_equal(bytes_, [400 % 256])
    np.testing.assert_array_equal(long, [3 * (2**31 - 1), 3 * (2**24 + 1)])
    np.testing.assert_array_equal(low, [-1, 1])


def test_random_numbers_are_not_folded() -> None:
    g = rlx.Graph("g")
    key = g.constant(np.array([1, 2], np.int64))
    g.set_outputs([g.rng_uniform(key, (3,)) + 1.0])
    assert "mir.rng_uniform" in str(rlx.run_passes(g, "mir-fold-constants"))


def test_compare_results_and_integers_are_not_retagged() -> None:
    """A comparison of half floats gives i1, and an index stays an integer."""
    g = rlx.Graph("g")
    x, n = g.input("x", (4,)), g.input("n", (4,), "i32")
    g.set_outputs([g.where(x * 2.0 > 1.0, x, 0.0), g.gather(x, n, 0), x.cast("f64") * 2.0, x.cast("i32")])
    mixed = rlx.mixed_precision(g, "always_f16")
    assert [str(v.type) for v in mixed.signature.outputs] == [f"tensor<4x{t}>" for t in ("f32", "f32", "f64", "i32")]
    arrays = {"x": np.array([0.25, 0.75, 2.0, -1.0], np.float32), "n": np.array([3, 0, 1, 2], np.int32)}
    chosen, taken, wide, whole = rlx.compile(mixed, threads=1)(**arrays)
    np.testing.assert_array_equal(chosen, [0, 0.75, 2.0, 0])
    np.testing.assert_array_equal(taken, arrays["x"][arrays["n"]])
    np.testing.assert_array_equal(wide, 2.0 * arrays["x"])
    np.testing.assert_array_equal(whole, [0, 0, 2, -1])


@pytest.mark.parametrize("dtype", ["f64", "f16", "bf16", "c128"])
def test_numbers_that_a_precision_pass_makes_are_of_the_type_of_the_graph(dtype: str) -> None:
    """No f32 beside what is not f32: every op verifies, and gradients keep their type (W10)."""
    g = rlx.Graph("g")
    w = g.param("w", (3,), dtype)
    square = w * w
    g.set_outputs([g.reduce_sum(g.real(square) if dtype == "c128" else square)])
    scaled = rlx.scale_loss(rlx.mixed_precision(rlx.grad_with_loss(g), "always_bf16"), 8.0)
    loss, gradient, finite = rlx.compile(scaled, threads=1)(w=np.ones(3, numpy_dtype(dtype)))
    assert loss == 3 and finite
    wide = np.float32 if dtype in ("f16", "bf16") else numpy_dtype(dtype)
    assert gradient.dtype == wide
    np.testing.assert_array_equal(gradient, np.full(3, 2, wide))


def test_a_relu_between_two_roundings_is_not_lost() -> None:
    g = rlx.Graph("g")
    x, s = g.input("x", (4,)), g.constant([0.1])
    once = g.fake_quantize(x, s, scale_mode="fixed")
    g.set_outputs([g.fake_quantize(g.relu(once), s, scale_mode="fixed")])
    less = rlx.run_passes(g, "mir-propagate-fake-quantize")
    assert str(less).count("mir.fake_quantize ") == 1
    (y,) = rlx.compile(less, threads=1)(np.array([-1.0, 0.5, -0.26, 0.26], np.float32))
    np.testing.assert_allclose(y, [0, 0.5, 0, 0.3], atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("exponent", [1.5, 2.5])
def test_powers_by_a_root_are_those_of_ieee(exponent: float, dtype: type[np.floating]):
    about = np.finfo(dtype)
    special = [0, -0.0, np.inf, -np.inf, np.nan, -1, about.max, about.tiny, about.smallest_subnormal, -about.tiny]
    rng = np.random.default_rng(0)
    spread = np.exp(rng.uniform(np.log(about.tiny), np.log(about.max), 20_000))
    x = np.concatenate([special, spread, rng.uniform(0.5, 2, 5000)]).astype(dtype)
    with np.errstate(all="ignore"):
        exact = np.power(x.astype(np.longdouble), np.longdouble(exponent))
        expected = exact.astype(dtype)
    found = rlx.compile(lambda x: x**exponent)(x)
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(found[~finite], expected[~finite])
    np.testing.assert_array_equal(np.signbit(found[x == 0]), False)
    units = np.abs(found[finite] - exact[finite]) / np.spacing(np.maximum(expected[finite], about.tiny))
    assert units.max() < 2


def test_the_gradient_of_a_power_by_a_root_is_zero_at_zero():
    x = np.array([0.0, 4.0])
    np.testing.assert_allclose(rlx.compile(rlx.grad(lambda x: (x**1.5).sum()))(x), [0, 3])
    np.testing.assert_allclose(rlx.compile(rlx.grad(lambda x: (x**2.5).sum()))(x), [0, 20])
