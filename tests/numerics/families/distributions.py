"""Draws by rejection and by shuffling, element by element, with the probabilities of SciPy and the slope of JAX."""

from functools import cache
from math import cos, exp, floor, log, pi, prod, sqrt
from typing import Any

import jax
import numpy as np
from jax import lax
from numerics.families.random import KEY, KEYS, NARROW, philox
from numerics.sample import Operand, Sample, method, uniform, values
from oracle import Array, widen
from scipy.stats import binom, poisson

from xdsl_rlx.dialects.mir import distributions as mir
from xdsl_rlx.dialects.shapes import compute_type, element_of, f32, shape_of

SHAPES = Operand((9,), values(0.3, 1.0, 4.5, 0.02, 30.0, 400.0, 1.0, 0.9, 12.0))
EDGES = Operand((6,), values(0.0, -1.0, np.nan, np.inf, 2.0, 1e30))
QUANTILES = Operand((9,), values(0.2, 1.6, 3.0, 1e-3, 36.0, 390.0, 0.1, 2.5, 4.0))
LOGARITHMS = Operand((9,), values(-1.6, 0.5, 1.1, -12.0, 3.6, 5.95, -2.3, 0.9, 1.4))
"""Of such quantiles: far from them, the reference of JAX has three digits."""


def _gamma_samples() -> list[Sample]:
    rows: list[Sample] = []
    for suffix, key, alpha in (
        ("", KEY, SHAPES),
        ("-i32", NARROW, Operand((2, 3), uniform(0.1, 5))),
        ("-keys", KEYS, Operand((3, 4), uniform(0.1, 5))),
        ("-scalar", KEY, Operand((), values(2.5))),
        ("-edges", KEY, EDGES),
        ("-empty", KEY, Operand((0, 2))),
    ):
        for is_log in (False, True):
            name, build = f"rng_gamma{'-log' * is_log}{suffix}", method("rng_gamma", is_log)
            # in f32 a draw is made of other words, so its derivative is another one
            wrt = () if suffix in ("-edges", "-empty") else (1,)
            rows.append(Sample(name, mir.RngGammaOp, build, (key, alpha), ("f64",), wrt, smooth=False, tol=64))
            rows.append(Sample(f"{name}-narrow", mir.RngGammaOp, build, (key, alpha), ("f32",), tol=64))
    half = method("rng_gamma", False)
    rows.append(Sample("rng_gamma-half", mir.RngGammaOp, half, (KEY, Operand((4,), uniform(1, 5))), ("f16", "bf16")))
    for is_log, x in ((False, QUANTILES), (True, LOGARITHMS)):
        name, build = f"gamma_slope{'-log' * is_log}", method("gamma_slope", is_log)
        rows.append(Sample(name, mir.GammaSlopeOp, build, (SHAPES, x), tol=32))
        # the derivative is a central difference
        given = (Operand((2, 3), uniform(0.5, 3)), Operand((2, 3), uniform(0.5, 3)))
        wrt = (0, 1)
        rows.append(Sample(f"{name}-matrix", mir.GammaSlopeOp, build, given, ("f64",), wrt, smooth=False, tol=3e5))
    ends = (Operand((4,), values(1.0, np.nan, 0.5, -1.0)), Operand((4,), values(0.0, 1.0, np.nan, 1.0)))
    rows.append(Sample("gamma_slope-ends", mir.GammaSlopeOp, method("gamma_slope", False), ends))
    return rows


def _count_samples() -> list[Sample]:
    rates = values(0.0, 0.4, 9.0, 10.0, 47.5, 1e5, -1.0, np.nan, 3e7)
    trials, shares = values(10.0, 3.7, 100.0, 1e4, 0.0, -1.0, np.inf, 60.0), values(0.5, 0.3, 0.45, 0.999, 0.5, 0.1)
    rows: list[Sample] = []
    for suffix, key, shape in (
        ("", KEY, (18,)),
        ("-keys", KEYS, (3, 5)),
        ("-i32", NARROW, (4,)),
        ("-empty", KEY, (0,)),
    ):
        given = (key, Operand(shape, rates))
        rows.append(Sample(f"rng_poisson{suffix}", mir.RngPoissonOp, method("rng_poisson"), given, exact=True))
        given = (key, Operand(shape, trials), Operand(shape, shares))
        rows.append(Sample(f"rng_binomial{suffix}", mir.RngBinomialOp, method("rng_binomial"), given, exact=True))
    odd = (KEY, Operand((4,), values(5.0, 5.0, 5.0, 5.0)), Operand((4,), values(0.0, 1.0, 1.5, np.nan)))
    rows.append(Sample("rng_binomial-odd", mir.RngBinomialOp, method("rng_binomial"), odd, exact=True))
    for suffix, key, shape in (
        ("", KEY, (9,)),
        ("-rows", KEY, (2, 3, 4)),
        ("-keys", KEYS, (2, 5)),
        ("-one", NARROW, (1,)),
        ("-none", KEY, (2, 0)),
    ):
        for dtype in ("i32", "i64"):
            build = method("rng_permutation", shape, dtype)
            rows.append(
                Sample(f"rng_permutation-{dtype}{suffix}", mir.RngPermutationOp, build, (key,), (dtype,), exact=True)
            )
    return rows


class _Blocks:
    """The blocks of each key, and the numbers that are made of their words."""

    def __init__(self, key: Array, like: Any):
        self.keys, self.bits = key.reshape(-1, 2), 64 if key.dtype == np.int64 else 32
        self.each = prod(shape_of(like)) // max(len(self.keys), 1)

    def words(self, element: int, number: int) -> list[int]:
        seed, stream = (int(part) % 2**self.bits for part in self.keys[element // self.each])
        counter = (number % 2**32, number >> 32, seed >> 32, stream >> 32)
        return philox(counter, (seed % 2**32, stream % 2**32))

    def pair(self, element: int, attempt: int) -> tuple[float, float]:
        """Two numbers of 52 bits."""
        w = self.words(element, attempt * self.each + element % self.each)
        return fraction(w[0], w[1]), fraction(w[2], w[3])


def fraction(high: int, low: int) -> float:
    return (((high << 32 | low) >> 12) + 0.5) / 2**52


def _drawn_gamma(blocks: _Blocks, element: int, alpha: float, narrow: bool) -> float:
    """The logarithm of a draw."""
    if not 0 < alpha < np.inf:
        return -np.inf if alpha == 0 else alpha if alpha > 0 else np.nan
    d = (alpha + (alpha < 1)) - 1 / 3
    for attempt in range(99):
        number = attempt * blocks.each + element % blocks.each
        if narrow:
            w = blocks.words(element, number)
            u, v, accept, boost = (w[0] + 0.5) / 2**32, w[1] / 2**32, (w[2] + 0.5) / 2**32, (w[3] + 0.5) / 2**32
        else:
            w = blocks.words(element, 2 * number) + blocks.words(element, 2 * number + 1)
            u, v, accept, boost = (fraction(w[2 * i], w[2 * i + 1]) for i in range(4))
        z = sqrt(-2 * log(u)) * cos(2 * pi * v)
        x = 1 + z / sqrt(9 * d)
        if x > 0 and (accept < 1 - 0.0331 * z**4 or log(accept) < 0.5 * z * z + d * (1 - x**3 + 3 * log(x))):
            return log(d) + 3 * log(x) + (log(boost) / alpha if alpha < 1 else 0.0)
    raise AssertionError("99 attempts")


def _rng_gamma(op: mir.RngGammaOp, key: Array, alpha: Array) -> Array:
    blocks, narrow = _Blocks(key, op.result), compute_type(element_of(op.result)) == f32
    found = [_drawn_gamma(blocks, i, float(a), narrow) for i, a in enumerate(widen(alpha).reshape(-1))]
    logs = np.reshape(np.array(found, np.float64), alpha.shape)
    return logs if op.log is not None else np.exp(logs)


@cache
def _jax_slope() -> Any:
    return jax.jit(lax.random_gamma_grad)


def _gamma_slope(op: mir.GammaSlopeOp, alpha: Array, x: Array) -> Array:
    alpha, x = alpha.astype(np.float64), x.astype(np.float64)
    at = np.exp(x) if op.log is not None else x
    found = np.array(_jax_slope()(alpha, at))
    return found / at if op.log is not None else np.where(at == 0, np.where(alpha > 0, 0.0, np.nan), found)


def _rng_poisson(op: mir.RngPoissonOp, key: Array, rate: Array) -> Array:
    blocks = _Blocks(key, op.result)
    found = [_drawn_poisson(blocks, i, float(mean)) for i, mean in enumerate(widen(rate).reshape(-1))]
    return np.reshape(np.array(found, np.int64), rate.shape)


def _drawn_poisson(blocks: _Blocks, element: int, mean: float) -> int:
    if not mean >= 10:
        return int(poisson.ppf(blocks.pair(element, 0)[0], mean)) if mean > 0 else 0 if mean == 0 else -1
    b = 0.931 + 2.53 * sqrt(mean)
    a = -0.059 + 0.02483 * b
    for attempt in range(99):
        u, v = blocks.pair(element, attempt)
        u, us = u - 0.5, 0.5 - abs(u - 0.5)
        k = floor((2 * a / us + b) * u + mean + 0.43)
        if us >= 0.07 and v <= 0.9277 - 3.6224 / (b - 2):
            return k
        if k >= 0 and (us >= 0.013 or v <= us):
            hat = v * (1.1239 + 1.1328 / (b - 3.4)) / (a / us**2 + b)
            if log(hat) <= poisson.logpmf(k, mean):
                return k
    raise AssertionError("99 attempts")


def _rng_binomial(op: mir.RngBinomialOp, key: Array, count: Array, p: Array) -> Array:
    blocks = _Blocks(key, op.result)
    pairs = zip(widen(count).reshape(-1), widen(p).reshape(-1), strict=True)
    found = [_drawn_binomial(blocks, i, float(n), float(q)) for i, (n, q) in enumerate(pairs)]
    return np.reshape(np.array(found, np.float64), count.shape)


def _drawn_binomial(blocks: _Blocks, element: int, n: float, p: float) -> float:
    if not (0 <= n < np.inf and 0 <= p <= 1):
        return np.nan
    n = floor(n)
    if p > 0.5:
        return n - _successes(blocks, element, n, 1 - p)
    return _successes(blocks, element, n, p)


def _successes(blocks: _Blocks, element: int, n: int, q: float) -> int:
    if n * q < 10:
        return int(binom.ppf(blocks.pair(element, 0)[0], n, q)) if n and q else 0
    spread = sqrt(n * q * (1 - q))
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * q
    for attempt in range(99):
        u, v = blocks.pair(element, attempt)
        u, us = u - 0.5, 0.5 - abs(u - 0.5)
        k = floor((2 * a / us + b) * u + n * q + 0.5)
        if us >= 0.07 and v <= 0.92 - 4.2 / b:
            return k
        if 0 <= k <= n:
            hat = v * (2.83 + 5.1 / b) * spread / (a / us**2 + b)
            if hat <= exp(binom.logpmf(k, n, q) - binom.logpmf(floor((n + 1) * q), n, q)):
                return k
    raise AssertionError("99 attempts")


def _rng_permutation(op: mir.RngPermutationOp, key: Array) -> Array:
    shape = shape_of(op.result)
    found: list[list[int]] = []
    blocks = _Blocks(key, op.result)
    rows = prod(shape[key.ndim - 1 : -1])
    for at in range(len(blocks.keys) if shape[-1] else 0):
        for number in range(rows):
            row: list[int] = []
            for i in range(shape[-1]):
                w = blocks.words(at * blocks.each, (number << 32) + i // 2)[2 * (i % 2) :]
                place = (w[0] << 32 | w[1]) * (i + 1) >> 64
                row.append(i)
                row[place], row[i] = i, row[place]
            found.append(row)
    return np.array(found, np.int64).reshape(shape)


def _moved(value: Any, *slopes: tuple[Any, Any]) -> Any:
    """A constant value, with these derivatives by these operands."""
    return sum((lax.stop_gradient(s) * (x - lax.stop_gradient(x)) for x, s in slopes), lax.stop_gradient(value))


def _jax_gamma(op: mir.RngGammaOp, key: Any, alpha: Any) -> Any:
    fixed = lax.stop_gradient(alpha)
    like = jax.ShapeDtypeStruct(alpha.shape, alpha.dtype)
    value = jax.pure_callback(lambda k, a: _rng_gamma(op, np.asarray(k), np.asarray(a)), like, key, fixed)
    return _moved(value, (alpha, _slope_at(op.log is not None, fixed, value)))


def _slope_at(is_log: bool, alpha: Any, x: Any) -> Any:
    at = jax.numpy.exp(x) if is_log else x
    return lax.random_gamma_grad(alpha, at) / (at if is_log else 1.0)


def _jax_gamma_slope(op: mir.GammaSlopeOp, alpha: Any, x: Any) -> Any:
    is_log, (a, y) = op.log is not None, map(lax.stop_gradient, (alpha, x))
    da, dy = 1e-4 * abs(a), 1e-4 * (jax.numpy.maximum(abs(y), 1.0) if is_log else abs(y))
    by_alpha = (_slope_at(is_log, a + da, y) - _slope_at(is_log, a - da, y)) / (2 * da)
    by_x = (_slope_at(is_log, a, y + dy) - _slope_at(is_log, a, y - dy)) / (2 * dy)
    return _moved(_slope_at(is_log, a, y), (alpha, by_alpha), (x, by_x))


SAMPLES = (*_gamma_samples(), *_count_samples())
ORACLE = {
    mir.RngGammaOp: _rng_gamma,
    mir.GammaSlopeOp: _gamma_slope,
    mir.RngPoissonOp: _rng_poisson,
    mir.RngBinomialOp: _rng_binomial,
    mir.RngPermutationOp: _rng_permutation,
}
JAX: dict[Any, Any] = {mir.RngGammaOp: _jax_gamma, mir.GammaSlopeOp: _jax_gamma_slope}
