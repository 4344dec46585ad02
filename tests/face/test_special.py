"""Special functions beside those of JAX and SciPy. The errors of those in mathlib are in lowering/test_mathlib.py."""

from typing import Any

import jax.numpy as jnp
import jax.scipy.special as jsp
import ml_dtypes
import mpmath
import numpy as np
import pytest
import scipy.special
from jax import lax
from peer_rows import Family, Row

import xdsl_rlx as rlx
from xdsl_rlx import special

RNG = np.random.default_rng(0)
POSITIVE = RNG.uniform(0.3, 7.5, (2, 4))
OTHER = RNG.uniform(0.3, 7.5, (2, 4))
"""From 8 on JAX's betaln is right to 6 digits only."""
X = RNG.uniform(-3.0, 3.0, (2, 4))
SHARE = RNG.uniform(0.05, 0.95, (2, 4))
WHOLE = np.arange(1.0, 9.0).reshape(2, 4)
WEIGHTS = RNG.uniform(0.1, 2.0, (2, 4))


def parts(x: Any) -> tuple[Any, Any]:
    """The real and the imaginary part."""
    return np.real(x), np.imag(x)


FAMILY = Family(
    [
        *(Row(name, getattr(special, name), getattr(jsp, name), [X]) for name in ("erf", "erfc", "ndtr", "log_ndtr")),
        *(Row(name, getattr(special, name), getattr(jsp, name), [X]) for name in ("expit",)),
        Row("sinc", special.sinc, jnp.sinc, [X]),
        *(Row(name, getattr(special, name), getattr(jsp, name), [X], f64=1e-10) for name in ("i0e", "i1e", "i0", "i1")),
        *(Row(name, getattr(special, name), getattr(jsp, name), [SHARE]) for name in ("erfinv", "ndtri", "logit")),
        *(Row(name, getattr(special, name), getattr(jsp, name), [POSITIVE]) for name in ("gammaln", "digamma", "entr")),
        *(
            Row(name, getattr(special, name), getattr(jsp, name), [POSITIVE, OTHER], (0, 1))
            for name in ("xlogy", "xlog1py", "rel_entr", "kl_div", "betaln")
        ),
        *(Row(name, getattr(special, name), getattr(jsp, name), [SHARE, X], (0, 1)) for name in ("boxcox", "boxcox1p")),
        Row("poch", special.poch, jsp.poch, [POSITIVE, SHARE], (0, 1), half=0.1),
        Row("comb", special.comb, jsp.comb, [POSITIVE + OTHER, OTHER], (0, 1), half=0.1),
        Row(
            "comb-repeated",
            lambda n, k: special.comb(n, k, repetition=True),
            lambda n, k: scipy.special.comb(n + k - 1, k),
            [WHOLE, WHOLE.T.reshape(2, 4)],
            orders=0,
            half=0.2,
        ),
        Row("beta", special.beta, jsp.beta, [POSITIVE, OTHER], (0, 1), f64=1e-10),
        Row("gamma", special.gamma, jsp.gamma, [POSITIVE], half=0.1),
        Row("factorial", special.factorial, jsp.factorial, [SHARE], half=5e-2),
        Row("zeta", lambda q: special.zeta(3.5, q), lambda q: jsp.zeta(3.5, q), [POSITIVE], half=0.1),
        Row("polygamma", lambda x: special.polygamma(2, x), lambda x: jsp.polygamma(2, x), [POSITIVE], half=0.2),
        Row("gammainc", special.gammainc, jsp.gammainc, [POSITIVE, OTHER], (0, 1), orders=1),
        Row("gammaincc", special.gammaincc, jsp.gammaincc, [POSITIVE, OTHER], (0, 1), orders=1),
        Row("gammainc-x", special.gammainc, jsp.gammainc, [POSITIVE, OTHER], (1,), orders=1, half=0),
        Row("betainc", special.betainc, jsp.betainc, [POSITIVE, OTHER, SHARE], (2,), half=5e-2),
        Row("multigammaln", lambda a: special.multigammaln(a + 2, 3), lambda a: jsp.multigammaln(a + 2, 3), [POSITIVE]),
        Row("exp1", special.exp1, scipy.special.exp1, [POSITIVE], orders=0),
        Row("erfcx", special.erfcx, scipy.special.erfcx, [X], orders=0, half=5e-2),
        Row("j0", special.j0, scipy.special.j0, [4.0 * X], orders=0, half=5e-2),
        Row("j1", special.j1, scipy.special.j1, [4.0 * X], orders=0, half=5e-2),
        Row("expn", special.expn, scipy.special.expn, [WHOLE, POSITIVE], (1,), orders=0),
        *(Row(name, getattr(special, name), getattr(jsp, name), [POSITIVE]) for name in ("expi", "spence")),
        *(
            Row(name, getattr(special, name), getattr(jsp, name), [X], half=5e-2)
            for name in ("dawsn", "sici", "fresnel")
        ),
        Row("owens_t", special.owens_t, jsp.owens_t, [X, POSITIVE], (0, 1)),
        Row("hyp1f1", special.hyp1f1, jsp.hyp1f1, [POSITIVE, OTHER, X], (2,), half=0.1),
        Row(
            "sph_harm_y",
            lambda t, p: parts(special.sph_harm_y(5, -3, t, p)),
            lambda t, p: parts(scipy.special.sph_harm_y(5, -3, t, p)),
            [SHARE, X],
            orders=0,
            half=0,
        ),
        Row("logsumexp", special.logsumexp, jsp.logsumexp, [X]),
        Row(
            "logsumexp-weights",
            lambda a, b: special.logsumexp(a, 1, b, True),
            lambda a, b: jsp.logsumexp(a, 1, b, True),
            [X, WEIGHTS],
            (0, 1),
        ),
        Row(
            "logsumexp-sign",
            lambda a: special.logsumexp(a, axis=0, b=np.array([[1.0], [-2.0]]), return_sign=True),
            lambda a: jsp.logsumexp(a, axis=0, b=np.array([[1.0], [-2.0]]), return_sign=True),
            [X],
            half=5e-2,
        ),
        Row("grad-a", special.igamma_grad_a, lax.igamma_grad_a, [POSITIVE, OTHER], orders=0, half=5e-2),
    ]
)


@pytest.mark.parametrize("name", FAMILY.names)
def test_a_function_is_that_of_jax(name: str) -> None:
    FAMILY.check(name)


EDGES = np.array([0.0, -0.0, -1.0, -2.0, np.inf, -np.inf, np.nan, 1.0, 2.0, 0.4, 1e-300, -3.5, 30.0])
UNARY = ("gammaln", "gamma", "gammasgn", "psi", "factorial", "erf", "erfc", "erfcx", "erfinv", "ndtr", "ndtri")
UNARY_MORE = ("expi", "dawsn", "log_ndtr", "expit", "logit", "entr", "i0e", "i1e", "i0", "i1", "j0", "j1", "exp1")
PAIRS = ("sici", "fresnel")
BINARY = ("owens_t", "xlogy", "xlog1py", "rel_entr", "gammainc", "gammaincc")
ENDS = np.array([0.0, 1.0, 2.0, np.inf, -1.0, np.nan, 0.3, 1.4, 1e-10])


def test_edges_are_those_of_scipy() -> None:
    a, b = np.meshgrid(ENDS, ENDS)
    c = np.array([0.0, 0.3, 1.0, -0.1, np.nan])[:, None, None]

    def program(x, a, b, c):
        return {
            **{name: getattr(special, name)(x) for name in (*UNARY, *UNARY_MORE)},
            **{name: getattr(special, name)(a, b) for name in BINARY},
            **{f"{name} {k}": getattr(special, name)(x)[k] for name in PAIRS for k in range(2)},
            "betainc": special.betainc(a, b, c),
        }

    found = rlx.compile(program)(EDGES, a, b, c)
    with np.errstate(all="ignore"):
        for name, value in found.items():
            if " " in name:
                name, _, number = name.partition(" ")
                expected = getattr(scipy.special, name)(EDGES)[int(number)]
                np.testing.assert_allclose(value, expected, rtol=2e-13, err_msg=name)
                continue
            given = (EDGES,) if name in UNARY + UNARY_MORE else (a, b, c) if name == "betainc" else (a, b)
            np.testing.assert_allclose(value, getattr(scipy.special, name)(*given), rtol=2e-13, err_msg=name)


COMPOSED = ("boxcox", "boxcox1p", "comb", "poch", "beta", "betaln", "xlogy", "xlog1py", "rel_entr", "kl_div")
POINTS = (0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 3.0, 40.0, -40.0, 800.0, np.inf, -np.inf, np.nan)


def agreed(name: str, x: float, y: float) -> bool:
    """Whether a function follows SciPy at a point; the exceptions are limits, and NaN that SciPy does not pass on."""
    pole = any(one <= 0 and one == np.floor(one) for one in (x, y))
    if name == "comb":
        return not np.isnan(x) and not np.isnan(y) and not (x == np.inf and (y > 20 or y != np.floor(y)))
    if name == "poch":
        return bool(np.isfinite([x, y]).all())
    if name in ("beta", "betaln"):
        low, high = min(x, y), max(x, y)
        at_0 = (x == 0 and y >= 0) or (y == 0 and x >= 0)
        is_limit = -np.inf < low < 0 < high < np.inf and all(np.floor([x, y]) == [x, y]) and x + y < 1
        return at_0 or is_limit or not (pole or (x == y == np.inf) or (0 in (x, y) and np.isnan(x + y)))
    if name.startswith("boxcox"):
        return np.isfinite(y) or np.isnan(y)
    return name != "kl_div" or x != np.inf


@pytest.mark.parametrize("name", COMPOSED)
def test_a_composed_function_has_the_limits_of_scipy(name: str) -> None:
    points = [(x, y) for x in POINTS for y in POINTS if agreed(name, x, y)]
    assert len(points) > 50
    given = np.array(points).T
    with np.errstate(all="ignore"):
        expected = getattr(scipy.special, name)(*given)
    found = getattr(special, name)(*given)
    for point, mine, theirs in zip(points, found, expected, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-11, atol=1e-300, err_msg=f"{name}{point}")


FAR_POINTS = {
    "beta": [(-40.5, 800.0), (-800.5, 40.5), (-200.3, -0.4), (-250.25, -250.5), (-900.5, 900.75), (2.5, -1.5)],
    "betaln": [(-40.5, 800.0), (-0.5, 900.0), (-20.5, 7.0)],
    "gammainc": [(2.0, 1e300), (171.0, 1e300), (1e4, 1e300), (0.5, 2100.0), (1e300, 1e3)],
    "gammaincc": [(2.0, 1e300), (171.0, 1e300), (1e4, 1e300), (300.0, 900.0), (1e300, 1e3)],
    "owens_t": [(1.0, 1e300), (1e300, 0.5), (-2.0, -1e300), (1e200, 1e200), (38.0, 0.5), (41.0, 0.1)],
    "rel_entr": [(1e300, 1e-300), (1e-300, 1e300), (1e-310, 1e5)],
    "polygamma": [(2.0, np.inf), (3.0, 1e300), (0.5, 2.0), (-1.0, 2.0), (0.0, 3.0), (np.nan, 1.0)],
    "expn": [(2.0, 1e300), (0.0, 1e-300), (3.0, 0.0)],
}


@pytest.mark.parametrize("name", FAR_POINTS)
def test_a_function_of_large_and_negative_numbers_is_that_of_scipy(name: str) -> None:
    given = np.array(FAR_POINTS[name]).T
    with np.errstate(all="ignore"):
        expected = getattr(scipy.special, name)(*given)
    np.testing.assert_allclose(getattr(special, name)(*given), expected, rtol=3e-11, atol=1e-300)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_rel_entr_of_numbers_of_any_size_is_right_to_two_units(dtype: str) -> None:
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    info: Any = ml_dtypes.finfo(kind)
    sizes = np.log2([float(info.smallest_subnormal), float(info.max)])
    p, q = (2.0 ** RNG.uniform(sizes[0], sizes[1] - 0.01, (2, 400))).astype(kind)
    q[:100] = (p[:100].astype(np.float64) * RNG.uniform(0.4, 1.0, 100)).astype(kind)
    found = special.rel_entr(p, q).astype(np.float64)
    compared = 0
    with mpmath.workdps(40):
        for x, y, ours in zip(p.astype(np.float64), q.astype(np.float64), found, strict=True):
            if x > 0 and y > 0:
                expected = float(mpmath.mpf(x) * mpmath.log(mpmath.mpf(x) / mpmath.mpf(y)))
                if float(info.tiny) < abs(expected) < float(info.max):
                    compared += 1
                    assert abs(ours - expected) <= 2 * float(info.eps) * abs(expected), (x, y, ours, expected)
    assert compared > 250


def test_a_number_that_is_no_order_gives_nan() -> None:
    assert np.isnan(special.expn(np.array([0.5, -1.0, np.nan]), 1.0)).all()
    assert np.isnan([special.polygamma(n, 2.0) for n in (0.5, -1.0, np.inf)]).all()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", COMPOSED)
def test_numbers_of_python_are_computed_without_warnings(name: str) -> None:
    for x, y in ((0.0, 0.0), (-1.0, 0.5), (np.inf, 0.0), (np.inf, 0.5), (0.5, 0.5)):
        getattr(special, name)(x, y)


WIDE = {
    "igamma": (
        [(1e-4, 0.02), (0.4, 3e-4), (7.0, 0.3), (16.0, 30.0), (26.0, 27.0), (150.0, 20.0), (1e4, 9.9e3)],
        lambda a, x: mpmath.gammainc(a, 0, x, regularized=True),
    ),
    "igammac": (
        [(0.24, 0.04), (1e-3, 2.0), (7.7, 27.0), (26.0, 40.0), (1e3, 1.1e3), (1e4, 1.01e4)],
        lambda a, x: mpmath.gammainc(a, x, mpmath.inf, regularized=True),
    ),
    "betainc": (
        [(0.4, 11.0, 0.012), (6.7, 2.0, 0.07), (70.0, 900.0, 0.06), (10.0, 0.6, 1e-6), (300.0, 200.0, 0.62)],
        lambda a, b, x: mpmath.betainc(a, b, 0, x, regularized=True),
    ),
    "zeta": (
        [(1.001, 0.3), (2.5, 1e9), (39.0, 8.0), (50.0, 30.0), (3.0, -2.3), (4.0, -7.6)],
        lambda s, q: mpmath.zeta(s, q),
    ),
    "expi": ([(-3.0,), (1e-9,), (0.3725,), (3.5,), (7.5,), (20.0,), (45.0,), (700.0,), (716.0,)], mpmath.ei),
    "spence": (
        [(1e-20,), (0.4,), (0.51,), (1.001,), (1.9,), (2.1,), (1e9,)],
        lambda z: mpmath.polylog(2, 1 - z),
    ),
    "dawsn": (
        [(1e-9,), (-1.4,), (2.0,), (3.0,), (5.0,), (7.0,)],
        lambda x: mpmath.sqrt(mpmath.pi) / 2 * mpmath.exp(-x * x) * mpmath.erfi(x),
    ),
    "owens_t": (
        [(0.3, 0.01), (-1.0, 0.9), (2.0, 3.0), (0.0, 7.0), (4.0, -0.5)],
        lambda h, a: (
            mpmath.quad(lambda t: mpmath.exp(-h * h * (1 + t * t) / 2) / (1 + t * t), [0, a]) / (2 * mpmath.pi)
        ),
    ),
    "hyp1f1": (
        [
            (1.0, 2.0, 600.0),
            (0.3, 4.5, 40.0),
            (2.5, 0.7, -20.0),
            (0.3, 0.7, -900.0),
            (-2.0, -3.0, 1.0),
            (1.5, 1.5, 3.0),
        ],
        mpmath.hyp1f1,
    ),
    "betaln": (
        [(1.0, 1.0), (1e-3, 2.0), (0.5, 1e6), (100.0, 200.0)],
        lambda a, b: mpmath.loggamma(a) + mpmath.loggamma(b) - mpmath.loggamma(a + b),
    ),
}


def test_iterated_functions_hold_over_their_domains() -> None:
    given = {name: [np.array(x) for x in zip(*cases, strict=True)] for name, (cases, _) in WIDE.items()}
    found = rlx.compile(lambda every: {name: getattr(special, name)(*xs) for name, xs in every.items()})(given)
    with mpmath.workdps(40):
        for name, (cases, exact) in WIDE.items():
            expected = [float(exact(*map(mpmath.mpf, case)).real) for case in cases]
            np.testing.assert_allclose(found[name], expected, rtol=2e-14, atol=1e-300, err_msg=name)


def test_integrals_of_waves_hold_over_their_domains() -> None:
    x = np.array([1e-9, -0.6, 0.6165, 3.9, 5.0, -8.0, 13.0, 1e4, 1.7, 2.5, 7.5, 123456.7])
    found = rlx.compile(lambda x: (*special.sici(x), *special.fresnel(x)))(x)
    with mpmath.workdps(40):
        exact = (mpmath.si, lambda x: mpmath.ci(abs(x)), mpmath.fresnels, mpmath.fresnelc)
        for function, value in zip(exact, found, strict=True):
            np.testing.assert_allclose(value, [float(function(mpmath.mpf(one))) for one in x], rtol=2e-14)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_bessel_function_does_not_depend_on_the_other_elements(dtype: type) -> None:
    x = np.linspace(-7, 7, 700).astype(dtype)
    small = np.sort(np.where(abs(x) < 5.4, x, 0))
    for name, reference in (("j0", mpmath.j0), ("j1", mpmath.j1)):
        function = rlx.compile(getattr(special, name))
        exact = np.array([float(reference(mpmath.mpf(float(one)))) for one in x])
        np.testing.assert_allclose(function(x), exact, 4 * np.finfo(dtype).eps, 2e-16)
        for other in (30.0, 1e12, np.nan, np.inf):
            np.testing.assert_array_equal(function(np.append(small, dtype(other)))[:-1], function(small))


def test_slopes_hold_far_out_and_where_quotients_are_0_over_0() -> None:
    x, z = np.array([12.0, -30.0, 100.0]), np.array([1.0, 1.0 + 1e-9, 0.95])
    dawsn, spence, second = rlx.compile(
        lambda x, z: (
            rlx.grad(lambda x: special.dawsn(x).sum())(x),
            rlx.grad(lambda z: special.spence(z).sum())(z),
            rlx.jvp(rlx.grad(lambda z: special.spence(z).sum()))([z], [np.ones(3)])[1],
        )
    )(x, z)
    with mpmath.workdps(40):
        values = [mpmath.sqrt(mpmath.pi) * t * mpmath.exp(-t * t) * mpmath.erfi(t) for t in map(mpmath.mpf, x)]
        np.testing.assert_allclose(dawsn, [float(1 - value) for value in values], 1e-14)
    np.testing.assert_allclose(spence, [-1.0, -1.0 + 5e-10, np.log(0.95) / 0.05], 1e-14)
    np.testing.assert_allclose(second[:2], [0.5, 0.5], 1e-8)


def test_bernoulli_numbers_are_exact() -> None:
    np.testing.assert_array_equal(special.bernoulli(6), [1, -0.5, 1 / 6, 0, -1 / 30, 0, 1 / 42])
    np.testing.assert_allclose(special.bernoulli(60), scipy.special.bernoulli(60), 1e-11)
    with pytest.raises(rlx.GraphError, match="bernoulli: expected n to be an integer of at least 0, got -1"):
        special.bernoulli(-1)


def test_spherical_harmonics_are_those_of_scipy() -> None:
    theta, phi = RNG.uniform(0, np.pi, 7), RNG.uniform(-4, 4, 7)
    orders = [(0, 0), (1, -1), (4, 2), (9, -7), (30, 3), (2, 3)]
    found = rlx.compile(lambda t, p: [special.sph_harm_y(n, m, t, p) for n, m in orders])(theta, phi)
    for (n, m), value in zip(orders, found, strict=True):
        np.testing.assert_allclose(value, scipy.special.sph_harm_y(n, m, theta, phi), 1e-12, 1e-13)


def test_a_derivative_that_is_not_known_is_an_error() -> None:
    with pytest.raises(rlx.GraphError, match="zeta: no derivative with respect to argument 0 is known; use stop_grad"):
        rlx.compile(rlx.grad(lambda s: special.zeta(s, 2.0).sum()))(np.array([2.0]))
