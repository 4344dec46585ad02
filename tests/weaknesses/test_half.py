"""Half precision: sums, counts and reciprocals are f32 until a value of the program is stored, forwards and backwards.

Each program runs in f16 and bf16 against itself in f64 on the same numbers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import oracle
import pytest
from levels import EVERY
from numpy.typing import NDArray

import xdsl_rlx as rlx

Array = NDArray[Any]
Build = Callable[..., Any]
HALVES: dict[str, Any] = {"f16": np.float16, "bf16": ml_dtypes.bfloat16}


@dataclass(frozen=True)
class Case:
    """A program of one op, the shapes of its operands for a length, and which operands hold labels or positions."""

    build: Build
    shapes: Callable[[int], Sequence[tuple[int, ...]]]
    labels: Callable[[int], Sequence[Array]] = lambda n: ()
    low: float = 0.0
    high: float = 1.0
    roundings: float = 1.0
    """How many roundings a result or a gradient goes through."""
    lost: float = 2e-5
    """What f32 sums and differences lose, relative to the largest element of what they are of."""
    terms: float = 0.0
    """How large the terms are, together, of a sum that cancels nearly all of them: it loses ten roundings of f32."""


def positions(n: int, below: int) -> Array:
    return (np.arange(n) * 7 % below).astype(np.int32)


CASES: dict[str, Case] = {
    "mean": Case(lambda g, x: g.reduce_mean(x), lambda n: [(n,)], low=15, high=25),
    "mean of rows": Case(lambda g, x: g.reduce_mean(x, [1]), lambda n: [(3, n)], low=15, high=25),
    "mean of columns": Case(lambda g, x: g.reduce_mean(x, [0]), lambda n: [(n, 3)], low=15, high=25),
    "mean of images": Case(lambda g, x: g.reduce_mean(x, [0, 2]), lambda n: [(n // 64, 2, 64)], low=15, high=25),
    "sum": Case(lambda g, x: g.reduce_sum(x), lambda n: [(n,)], high=0.01),
    "sum of images": Case(lambda g, x: g.reduce_sum(x, [0, 2]), lambda n: [(n // 64, 2, 64)], low=-30, high=30),
    "largest of ties": Case(lambda g, x: g.reduce_max(x * 0.0 + 1.0), lambda n: [(n,)]),
    "product": Case(lambda g, x: g.reduce_prod(x, [1]), lambda n: [(2, min(n, 500))], low=0.9, high=1.1),
    "softmax": Case(lambda g, x: g.softmax(x), lambda n: [(2, n)]),
    "softmax of columns": Case(lambda g, x: g.softmax(x, 0), lambda n: [(n, 2)]),
    "layer norm": Case(lambda g, x, a, b: g.layer_norm(x, a, b), lambda n: [(2, n), (n,), (n,)], low=100, high=120),
    "layer norm of few features": Case(
        lambda g, x, a, b: g.layer_norm(x, a, b), lambda n: [(n // 4, 4), (4,), (4,)], low=-1, high=1
    ),
    "rms norm": Case(lambda g, x, a, b: g.rms_norm(x, a, b), lambda n: [(2, n), (n,), (n,)], low=200, high=300),
    "group norm": Case(
        lambda g, x, a, b: g.group_norm(x, a, b, 1), lambda n: [(2, 2, n // 2), (2,), (2,)], low=-20, high=20
    ),
    "batch norm": Case(
        lambda g, x, a, b, m, v: g.batch_norm_inference(x, a, b, m, v, axis=1),
        lambda n: [(4, 2, n // 8), *[(2,)] * 4],
        low=0.1,
    ),
    "cross-entropy of many classes": Case(
        lambda g, x, t: g.softmax_cross_entropy_with_logits(x, t), lambda n: [(2, n)], lambda n: [positions(2, n)]
    ),
    "mean cross-entropy of many rows": Case(
        lambda g, x, t: g.reduce_mean(g.softmax_cross_entropy_with_logits(x, t)),
        lambda n: [(n // 4, 4)],
        lambda n: [positions(n // 4, 4)],
        roundings=2,
    ),
    "mean pool": Case(
        lambda g, x: g.pool(x, "mean", (256, 256)), lambda n: [(1, max(1, n >> 16), 256, 256)], low=15, high=25
    ),
    "sum pool": Case(lambda g, x: g.pool(x, "sum", (256, 256)), lambda n: [(1, max(1, n >> 16), 256, 256)], high=0.1),
    "running sum": Case(lambda g, x: g.cumsum(x, 0), lambda n: [(n,)], high=0.01),
    "rows of an embedding": Case(
        lambda g, x, i: g.gather(x, i), lambda n: [(3, 2)], lambda n: [positions(n, 3)], high=0.01
    ),
    "sums of rows": Case(
        lambda g, x, i: g.scatter_add(x, i, 3), lambda n: [(n, 2)], lambda n: [positions(n, 3)], high=0.01, lost=3e-4
    ),
    "one factor for all": Case(lambda g, x, s: x * s, lambda n: [(n,), ()], high=0.01),
    "products": Case(lambda g, x, w: x @ w, lambda n: [(2, n), (n, 3)], high=0.01),
    "product of a batch": Case(lambda g, x, w: x @ w, lambda n: [(n // 8, 2, 4), (4, 3)], high=0.01),
    "convolution": Case(
        lambda g, x, w: g.conv(x, w, padding=1), lambda n: [(1, 2, n // 128, 64), (3, 2, 3, 3)], low=-0.1, high=0.1
    ),
    "depthwise convolution": Case(
        lambda g, x, w: g.conv(x, w, padding=1, groups=2), lambda n: [(1, 2, n // 128, 64), (2, 1, 3, 3)], high=0.1
    ),
    "attention": Case(
        lambda g, q, k, v: g.attention(q, k, v, layout="bhsd"),
        lambda n: [(1, 1, 4, 8), *[(1, 1, n // 8, 8)] * 2],
        lost=3e-4,
        terms=0.8,
    ),
    "reciprocal root": Case(lambda g, x: g.rsqrt(x), lambda n: [(n,)], low=1e-4, high=1e-3),
    "tanh near 1": Case(lambda g, x: g.tanh(x), lambda n: [(n,)], low=3, high=4.4),
    "sigmoid near 1": Case(lambda g, x: g.sigmoid(x), lambda n: [(n,)], low=3, high=6),
    "gelu": Case(lambda g, x: g.gelu(x), lambda n: [(n,)], low=-4, high=4),
}
QUICK = [
    ("softmax", 70_016, "bf16", False),
    ("layer norm", 4096, "f16", False),
    ("one factor for all", 70_016, "f16", False),
    ("mean pool", 70_016, "bf16", True),
]
LENGTHS = (257, 4096, 70_016, 1_000_000)
SWEEP = list(product(CASES, LENGTHS, HALVES, (False, True))) if EVERY else QUICK


def run(case: Case, dtype: str, arrays: Sequence[Array], seed: Array | None) -> tuple[tuple[Array, ...], Array]:
    """The value, the gradients of what is not a label, and the cotangent that they are of."""
    g = rlx.Graph("f")
    names = [f"x{i}" for i in range(len(arrays))]
    floats = [name for name, a in zip(names, arrays, strict=True) if a.dtype != np.int32]
    inputs = [g.input(name, a.shape, dtype if name in floats else "i32") for name, a in zip(names, arrays, strict=True)]
    y = case.build(g, *inputs)
    g.set_outputs([y])
    if seed is None:
        seed = np.random.default_rng(2).uniform(0.5, 1, y.shape).astype(HALVES[dtype])
    numpy_type = HALVES.get(dtype, np.float64)
    given = [a if a.dtype == np.int32 else a.astype(numpy_type) for a in arrays]
    return rlx.compile(rlx.grad_with_loss(g, floats))(*given, seed.astype(numpy_type)), seed


def spacing(exact: Array, dtype: str) -> Array:
    """The distance of neighbouring numbers of a type where a number is."""
    info = ml_dtypes.finfo(HALVES[dtype])
    least, digits = float(info.smallest_normal), float(info.eps)
    return np.exp2(np.floor(np.log2(np.maximum(np.abs(exact), least)))) * digits


def worst(case: Case, n: int, dtype: str, equal: bool) -> list[float]:
    """The errors of value and gradients, in units in the last place of a half float."""
    rng = np.random.default_rng(n)
    half = HALVES[dtype]
    arrays: list[Array] = []
    for shape in case.shapes(n):
        x = np.full(shape, (case.low + case.high) / 2) if equal else rng.uniform(case.low, case.high, shape)
        arrays.append(x.astype(half).astype(np.float64))
    arrays += case.labels(n)
    found, seed = run(case, dtype, arrays, None)
    expected, _ = run(case, "f64", arrays, seed)
    errors: list[float] = []
    for a, b in zip(found, expected, strict=True):
        with np.errstate(over="ignore"):
            rounded = b.astype(half).astype(np.float64)
        b = np.where(np.isinf(rounded), rounded, b)
        got = a.astype(np.float64)
        same = (got == b) | (np.isnan(got) & np.isnan(b))
        lost = case.lost * np.max(np.abs(np.where(np.isfinite(b), b, 0.0)), initial=0.0) + 6e-7 * case.terms
        with np.errstate(invalid="ignore"):
            error = np.where(same, 0.0, np.maximum(np.abs(got - b) - lost, 0.0) / spacing(b, dtype))
        errors.append(float(np.max(np.where(np.isnan(error), np.inf, error), initial=0.0)))
    return errors


@pytest.mark.parametrize(("name", "n", "dtype", "equal"), SWEEP)
def test_half_floats_are_rounded_once(name: str, n: int, dtype: str, equal: bool):
    case = CASES[name]
    errors = worst(case, n, dtype, equal)
    assert max(errors) < 0.02 + 0.5 * case.roundings, errors


def mean(n: int, value: float, dtype: str) -> tuple[float, Array]:
    """The mean of equal numbers, and its gradient."""
    g = rlx.Graph("f")
    g.set_outputs([g.reduce_mean(g.input("x", (n,), dtype))])
    y, dx = rlx.compile(rlx.grad_with_loss(g, ["x"]))(np.full(n, value, HALVES[dtype]))
    return float(y), dx.astype(np.float64)


@pytest.mark.parametrize(("n", "value", "dtype"), [(4096, 20, "f16"), (140_000, 1, "f16"), (257, 3, "bf16")])
def test_neither_sum_nor_count_of_a_mean_is_a_half_float(n: int, value: float, dtype: str):
    """A sum of 81,920 and a count of 140,000 are no f16, 257 is no bf16."""
    y, dx = mean(n, value, dtype)
    assert y == value
    np.testing.assert_array_equal(dx, np.full(n, 1 / n).astype(HALVES[dtype]).astype(np.float64))


def test_the_softmax_of_65536_equal_numbers_is_not_zero():
    g = rlx.Graph("f")
    g.set_outputs([g.softmax(g.input("x", (65_536,), "f16"))])
    (found,) = rlx.compile(g)(np.ones(65_536, np.float16))
    np.testing.assert_array_equal(found, np.full(65_536, 1 / 65_536, np.float16))


@pytest.mark.parametrize(("dtype", "order"), [("f16", 3), ("bf16", 2)])
def test_higher_derivatives_of_half_floats_are_those_of_f64(dtype: str, order: int):
    """To two roundings of the largest one, of a program with a softmax and a norm in it."""

    def program(dtype: str) -> rlx.Graph:
        g = rlx.Graph("f")
        x, gain, offset = g.input("x", (8,), dtype), g.full((8,), 1.0, dtype), g.full((8,), 0.0, dtype)
        g.set_outputs(g.reduce_sum(g.tanh(x) * g.gelu(x) + g.softmax(x) * g.layer_norm(x, gain, offset)))
        return g

    x = np.linspace(-1, 1.5, 8).astype(HALVES[dtype])
    (found,) = rlx.compile(rlx.nth_order_grad(program(dtype), "x", order))(x=x)
    (expected,) = oracle.run(rlx.nth_order_grad(program("f64"), "x", order), x=x)
    assert found.dtype == HALVES[dtype]
    limit = 2 * float(ml_dtypes.finfo(HALVES[dtype]).eps) * np.abs(expected).max()
    np.testing.assert_allclose(found.astype(np.float64), expected, rtol=0, atol=limit)


SLOPED = ("exp", "tanh", "sqrt", "recip", "log", "sin", "sigmoid", "gelu", "silu", "erf", "rsqrt", "softmax")


@pytest.mark.parametrize("dtype", HALVES)
def test_tangents_of_half_floats_are_those_of_f64(dtype: str):
    """Rounded once, of each op alone; the tangents of powers, of products and of what is stopped as well."""

    def program(dtype: str) -> rlx.GraphModule:
        g = rlx.Graph("f")
        x = g.input("x", (7,), dtype)
        results = [getattr(g, name)(x) for name in SLOPED]
        g.set_outputs([*results, g.pow(x, 3.0), x * x, x / (x + 1.0), g.stop_gradient(x)])
        return rlx.jvp(g, ["x"])

    x, along = (np.linspace(first, last, 7).astype(HALVES[dtype]) for first, last in ((0.25, 2.0), (-1.0, 1.5)))
    found = rlx.compile(program(dtype))(x, along)
    expected = oracle.run(program("f64"), x=x, tangent_x=along)
    count = len(SLOPED) + 4
    for ours, right in zip(found[count:], expected[count:], strict=True):
        assert ours.dtype == HALVES[dtype]
        limit = 2 * float(ml_dtypes.finfo(HALVES[dtype]).eps)
        np.testing.assert_allclose(ours.astype(np.float64), right, rtol=limit, atol=limit * np.abs(right).max())


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("constant", [0.5, np.full(3, 0.5), np.full(3, 0.5, np.float32), None])
def test_constants_give_way_to_half_floats(dtype: str, constant: Any):
    constant = np.full(3, 0.5, HALVES[dtype]) if constant is None else constant
    x = np.arange(3).astype(HALVES[dtype])
    found = rlx.compile(lambda x: x * constant)(x)
    assert found.dtype == HALVES[dtype]
    np.testing.assert_array_equal(found.astype(np.float64), np.arange(3) * 0.5)
