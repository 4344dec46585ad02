"""Builder methods of NumPy's vocabulary that build other ops, beside what NumPy, SciPy and JAX say."""

from typing import Any

import jax
import ml_dtypes
import numpy as np
import pytest
import scipy.special
from words import Array, Word, check_gradients, check_values

import xdsl_rlx as rlx

RNG = np.random.default_rng(0)
ARRAYS = {
    "x": RNG.standard_normal((2, 3, 4)),
    "e": np.array([[np.inf, -np.inf, np.nan, -0.0], [0.0, 0.0, -0.0, 0.0], [1e-320, 1e308, -1.0, 2.0]]),
    "n": RNG.integers(-2, 2, (3, 5)),
    "t": RNG.random((2, 3)) < 0.5,
}


def _special(m: Any) -> Any:
    """Where NumPy has not got it, SciPy's and JAX's functions by their common names."""
    return scipy.special if m is np else jax.nn


SMOOTH: list[Word] = [
    (lambda g, x, e, n, t: (g.var(x), g.std(x)), lambda m, x, e, n, t: (m.var(x), m.std(x))),
    (lambda g, x, e, n, t: g.var(x, 1, 1), lambda m, x, e, n, t: m.var(x, axis=1, ddof=1)),
    (lambda g, x, e, n, t: g.std(x, (0, -1), keepdims=True),
     lambda m, x, e, n, t: m.std(x, axis=(0, -1), keepdims=True)),
    (lambda g, x, e, n, t: (g.logsumexp(x), g.logsumexp(x, 1)),
     lambda m, x, e, n, t: (_special(m).logsumexp(x), _special(m).logsumexp(x, 1))),
    (lambda g, x, e, n, t: g.logsumexp(x * 1000.0, (0, 2), True),
     lambda m, x, e, n, t: _special(m).logsumexp(x * 1000.0, (0, 2), keepdims=True)),
    (lambda g, x, e, n, t: (g.log_softmax(x * 500.0), g.log_softmax(x, 0)),
     lambda m, x, e, n, t: (_special(m).log_softmax(x * 500.0, axis=-1), _special(m).log_softmax(x, axis=0))),
]  # fmt: skip

CLIPPED: list[Word] = [
    (lambda g, x, e, n, t: g.clip(x, -0.5, 0.5), lambda m, x, e, n, t: m.clip(x, -0.5, 0.5)),
    (lambda g, x, e, n, t: (g.clip(x, low=0.1), g.clip(x, None, x[0])),
     lambda m, x, e, n, t: (m.clip(x, 0.1, None), m.clip(x, None, x[0]))),
]  # fmt: skip

WORDS: list[Word] = [
    *SMOOTH,
    *CLIPPED,
    (lambda g, x, e, n, t: (g.clip(e, -1.0, 1.0), g.clip(n, None, 0), g.clip(e)),
     lambda m, x, e, n, t: (m.clip(e, -1.0, 1.0), m.clip(n, None, 0), e)),
    (lambda g, x, e, n, t: (g.is_nan(e), g.is_inf(e), g.is_finite(e)),
     lambda m, x, e, n, t: (m.isnan(e), m.isinf(e), m.isfinite(e))),
    (lambda g, x, e, n, t: (g.is_nan(n), g.is_inf(n), g.is_finite(n)),
     lambda m, x, e, n, t: (m.isnan(n), m.isinf(n), m.isfinite(n))),
    (lambda g, x, e, n, t: (g.any(e), g.any(e, 1), g.any(n, 0, True), g.any(t, (0, 1))),
     lambda m, x, e, n, t: (m.any(e), m.any(e, 1), m.any(n, 0, keepdims=True), m.any(t, (0, 1)))),
    (lambda g, x, e, n, t: (g.all(e), g.all(e, 0), g.all(n, -1, True), g.all(t)),
     lambda m, x, e, n, t: (m.all(e), m.all(e, 0), m.all(n, -1, keepdims=True), m.all(t))),
    (lambda g, x, e, n, t: (g.any(x[:, :0], 1), g.all(x[:, :0], 1)),
     lambda m, x, e, n, t: (m.any(x[:, :0], 1), m.all(x[:, :0], 1))),
    (lambda g, x, e, n, t: (g.not_(n), g.not_(t)), lambda m, x, e, n, t: (m.invert(n), m.logical_not(t))),
    (lambda g, x, e, n, t: (g.var(n), g.std(n, 1), g.var(t, 0)),
     lambda m, x, e, n, t: (m.var(n), m.std(n, 1), m.var(t, 0))),
    (lambda g, x, e, n, t: (g.var(x, 1, 3), g.var(x[:, :1], 1, 2)),
     lambda m, x, e, n, t: (m.full((2, 4), m.inf), m.full((2, 4), m.nan))),
    (lambda g, x, e, n, t: (g.logsumexp(e, 1), g.logsumexp(-g.abs(e / 0.0), 1)),
     lambda m, x, e, n, t: (scipy.special.logsumexp(e, 1), [m.nan, m.nan, -m.inf])),
]  # fmt: skip


def test_words_are_numpys() -> None:
    check_values(WORDS, ARRAYS)


def test_first_and_second_derivatives_are_those_of_jax() -> None:
    check_gradients([*SMOOTH, *CLIPPED], ARRAYS, ["x"], rtol=1e-8)


def _run(build: Any, *arrays: Array, wrt: bool = False) -> Any:
    g = rlx.Graph("f")
    g.set_outputs([build(g, *(g.input(f"x{i}", a.shape, a.dtype) for i, a in enumerate(arrays)))])
    return rlx.compile(rlx.grad(g, ["x0"]) if wrt else g)(*arrays)[0]


def test_the_slope_on_a_bound_of_clip_is_half() -> None:
    x = np.array([-1.0, 0.0, 1.0, 2.0, np.nan])
    slopes = _run(lambda g, x: g.reduce_sum(g.clip(x, -1.0, 1.0)), x, wrt=True)
    np.testing.assert_array_equal(slopes, jax.grad(lambda x: jax.numpy.clip(x, -1.0, 1.0).sum())(x))
    np.testing.assert_array_equal(slopes, [0.5, 1.0, 0.5, 0.0, 0.0])


def test_the_slope_of_a_deviation_of_equal_numbers_is_nan_unless_the_root_is_safe() -> None:
    x = np.ones(3)
    assert np.isnan(_run(lambda g, x: g.std(x), x, wrt=True)).all()
    np.testing.assert_array_equal(_run(lambda g, x: g.safe_sqrt(g.var(x)), x, wrt=True), np.zeros(3))


def test_the_variance_of_complex_numbers_is_real() -> None:
    z = RNG.standard_normal((3, 4)) + 1j * RNG.standard_normal((3, 4))
    np.testing.assert_allclose(_run(lambda g, z: g.var(z, 1), z), np.var(z, 1), rtol=1e-14)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_half_floats_are_rounded_once(dtype: Any) -> None:
    """Of a sum of 70,000 exponentials, and of squares beyond the range of f16."""
    wide = np.random.default_rng(1).uniform(300.0, 900.0, 70_000).astype(dtype)
    exact = wide.astype(np.float64)
    half = np.finfo(np.float16).eps if dtype is np.float16 else 2.0**-7
    np.testing.assert_allclose(float(_run(lambda g, x: g.var(x), wide)), exact.var(), rtol=half)
    assert float(_run(lambda g, x: g.std(x), wide)) == float(dtype(exact.std()))
    narrow = (exact / 500).astype(dtype)
    expected = scipy.special.logsumexp(narrow.astype(np.float64))
    assert float(_run(lambda g, x: g.logsumexp(x), narrow)) == float(dtype(expected))
