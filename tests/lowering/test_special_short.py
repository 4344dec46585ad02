"""Branch-free forms of special functions for f32: beside SciPy in units of the last place, and beyond their numbers."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special

import xdsl_rlx as rlx
from xdsl_rlx.lowering.kernels import special_short

COUNT = 64 * 256
Array = np.ndarray[Any, Any]
reference: Any = scipy.special


def spread(low: float, high: float, seed: int) -> Array:
    """Numbers of every size between two."""
    return np.exp(np.random.default_rng(seed).uniform(np.log(low), np.log(high), COUNT)).astype(np.float32)


def of_gamma() -> tuple[Array, Array]:
    """Half of the numbers are where `x` is next to `a`, where both series are the slowest."""
    rng = np.random.default_rng(2)
    a = spread(special_short.LEAST_A * 1.01, special_short.MOST_A * 0.99, 0)
    x = spread(1e-6, special_short.MOST_X * 0.99, 1)
    x[::2] = np.clip(a[::2] + rng.standard_normal(COUNT // 2) * np.sqrt(a[::2] + 0.5), 1e-5, 79).astype(np.float32)
    return a, x


def of_zeta() -> tuple[Array, Array]:
    s, q = 1 + spread(1e-4, 28, 0), spread(1e-3, 1e6, 1)
    return np.where(s * np.log(q + 7) < 79, s, np.float32(1.5)), q


def density(a: Any, x: Any) -> Any:
    return rlx.grad(lambda x, a: rlx.special.gammainc(a, x).sum())(x, a)


def exact_density(a: Array, x: Array) -> Array:
    return np.exp((a - 1) * np.log(x) - x - reference.gammaln(a))


CASES: dict[str, tuple[Callable[..., Any], Callable[..., Array], Callable[[], tuple[Array, Array]]]] = {
    "gammainc": (rlx.special.gammainc, reference.gammainc, of_gamma),
    "gammaincc": (rlx.special.gammaincc, reference.gammaincc, of_gamma),
    "density": (density, exact_density, of_gamma),
    "zeta": (rlx.special.zeta, reference.zeta, of_zeta),
}


@pytest.mark.parametrize("name", CASES)
def test_the_last_place(name: str):
    function, exact, operands = CASES[name]
    given = operands()
    found = rlx.compile(function, threads=1)(*given)
    expected = exact(*(x.astype(np.float64) for x in given))
    # SciPy's density has lost digits where its exponent is large
    counted = (np.abs(expected) > 1e-37) & (np.abs(expected) < 3e38)
    unit = np.spacing(np.abs(expected[counted]).astype(np.float32)).astype(np.float64)
    assert counted.mean() > 0.8
    assert (np.abs(found[counted] - expected[counted]) / unit).max() < 1.5


@pytest.mark.parametrize("name", ["gammainc", "gammaincc", "zeta"])
def test_numbers_beyond_the_form_are_those_of_the_general_kernel(name: str):
    """One of each kind in a block of common numbers, and alone."""
    function, _, operands = CASES[name]
    run = rlx.compile(function, threads=1)
    first, second = operands()
    hard = np.array([0.0, -1.5, 1.0, 1e-30, 200.0, 1e6, np.inf, np.nan, 2.0], np.float32)
    pairs = np.array([(p, r) for p in hard for r in hard])
    a, b = first[:1000].copy(), second[:1000].copy()
    a[: len(pairs) * 7 : 7], b[: len(pairs) * 7 : 7] = pairs[:, 0], pairs[:, 1]
    with np.errstate(all="ignore"):
        expected = run(a.astype(np.float64), b.astype(np.float64)).astype(np.float32)
    np.testing.assert_allclose(run(a, b), expected, rtol=1e-5, atol=1e-37)


@pytest.mark.parametrize("size", [0, 1, 255, 256, 257])
def test_blocks_of_every_length(size: int):
    a, x = (x[:size] for x in of_gamma())
    found = rlx.compile(rlx.special.gammainc, threads=1)(a, x)
    np.testing.assert_allclose(found, reference.gammainc(a, x), rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_other_types(dtype: Any):
    """f16 by the form of f32, f64 by the kernel that iterates."""
    a, x = (x[:600].astype(dtype) for x in of_gamma())
    found = rlx.compile(rlx.special.gammainc, threads=1)(a, x)
    exact = reference.gammainc(a.astype(np.float64), x.astype(np.float64))
    np.testing.assert_allclose(found, exact, rtol=1e-3 if dtype == np.float16 else 1e-13, atol=1e-7)
