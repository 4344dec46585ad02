"""`rlx.random`: distributions beside SciPy's, with fixed keys, so a sample is the same in every run.

Samples are evaluated by the oracle: the loops of each op are compared with it elsewhere. One program is compiled. A
p-value of 1e-4 is one that a right sampler exceeds with nearly every key.
"""

from collections.abc import Callable
from typing import Any
from zlib import crc32

import numpy as np
import oracle
import pytest
from scipy import stats

import xdsl_rlx as rlx
from xdsl_rlx import random

Array = np.ndarray[Any, Any]
KEY = random.key(20)
COUNT = 4000
LEAST = 1e-4

N = (COUNT,)
CONTINUOUS: dict[str, tuple[Callable[[Any, str], Any], Any]] = {
    "uniform": (lambda k, d: random.uniform(k, N, d, -1.0, 3.0), stats.uniform(-1, 4)),
    "normal": (lambda k, d: random.normal(k, N, d), stats.norm),
    "lognormal": (lambda k, d: random.lognormal(k, 0.5, N, d), stats.lognorm(0.5)),
    "truncated_normal": (lambda k, d: random.truncated_normal(k, -0.5, 2.0, N, d), stats.truncnorm(-0.5, 2)),
    "truncated_normal-tail": (
        lambda k, d: random.truncated_normal(k, 12.0, np.inf, N, d),
        stats.truncnorm(12, np.inf),
    ),
    "exponential": (lambda k, d: random.exponential(k, N, d), stats.expon),
    "gumbel": (lambda k, d: random.gumbel(k, N, d), stats.gumbel_r),
    "laplace": (lambda k, d: random.laplace(k, N, d), stats.laplace),
    "logistic": (lambda k, d: random.logistic(k, N, d), stats.logistic),
    "cauchy": (lambda k, d: random.cauchy(k, N, d), stats.cauchy),
    "rayleigh": (lambda k, d: random.rayleigh(k, 2.0, N, d), stats.rayleigh(scale=2)),
    "pareto": (lambda k, d: random.pareto(k, 3.0, N, d), stats.pareto(3)),
    "weibull_min": (lambda k, d: random.weibull_min(k, 2.0, 1.5, N, d), stats.weibull_min(1.5, scale=2)),
    "maxwell": (lambda k, d: random.maxwell(k, N, d), stats.maxwell),
    "double_sided_maxwell": (lambda k, d: abs(random.double_sided_maxwell(k, 0.0, 2.0, N, d)), stats.maxwell(0, 2)),
    "triangular": (lambda k, d: random.triangular(k, -1.0, 0.0, 3.0, N, d), stats.triang(0.25, -1, 4)),
    "wald": (lambda k, d: random.wald(k, 2.0, N, d), stats.invgauss(2.0)),
    "gamma": (lambda k, d: random.gamma(k, 3.5, N, d), stats.gamma(3.5)),
    "gamma-small": (lambda k, d: random.gamma(k, 0.4, N, d), stats.gamma(0.4)),
    "loggamma": (lambda k, d: random.loggamma(k, 0.7, N, d), stats.loggamma(0.7)),
    "beta": (lambda k, d: random.beta(k, 0.6, 2.5, N, d), stats.beta(0.6, 2.5)),
    "dirichlet": (
        lambda k, d: random.dirichlet(k, np.array([0.6, 1.5, 1.0]), N, d)[:, 0],
        stats.beta(0.6, 2.5),
    ),
    "chisquare": (lambda k, d: random.chisquare(k, 3.0, N, d), stats.chi2(3)),
    "t": (lambda k, d: random.t(k, 4.0, N, d), stats.t(4)),
    "f": (lambda k, d: random.f(k, 5.0, 8.0, N, d), stats.f(5, 8)),
    "generalized_normal": (lambda k, d: random.generalized_normal(k, 1.5, N, d), stats.gennorm(1.5)),
    "ball": (lambda k, d: (random.ball(k, 3, shape=N, dtype=d) ** 2).sum(-1) ** 1.5, stats.uniform),
    "sphere": (lambda k, d: random.sphere(k, 3, N, d)[:, 2], stats.uniform(-1, 2)),
}

COUNTS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "randint": (lambda k: random.randint(k, N, -3, 4), stats.randint(-3, 4)),
    "randint-arrays": (lambda k: random.randint(k, N, np.array([2]), np.array([9]), "i64"), stats.randint(2, 9)),
    "bernoulli": (lambda k: random.bernoulli(k, 0.3, N), stats.bernoulli(0.3)),
    "rademacher": (lambda k: random.rademacher(k, N) > 0, stats.bernoulli(0.5)),
    "geometric": (lambda k: random.geometric(k, 0.2, N), stats.geom(0.2)),
    "poisson": (lambda k: random.poisson(k, 3.7, N), stats.poisson(3.7)),
    "poisson-large": (lambda k: random.poisson(k, 40.0, N), stats.poisson(40)),
    "binomial": (lambda k: random.binomial(k, 12.0, 0.7, N), stats.binom(12, 0.7)),
    "binomial-large": (lambda k: random.binomial(k, 90.0, 0.4, N), stats.binom(90, 0.4)),
    "categorical": (
        lambda k: random.categorical(k, np.log(np.array([0.1, 0.0, 0.6, 0.3]) + 1e-300), shape=N),
        stats.rv_discrete(values=((0, 2, 3), (0.1, 0.6, 0.3))),
    ),
    "categorical-rows": (
        lambda k: random.categorical(k, np.broadcast_to(np.arange(3.0)[:, None], (3, *N)), 0),
        stats.rv_discrete(values=((0, 1, 2), np.exp(np.arange(3)) / np.exp(np.arange(3)).sum())),
    ),
    "choice": (
        lambda k: random.choice(k, np.array([3, 5, 7, 9]), N, p=np.array([0.5, 0.0, 1.5, 0.0])),
        stats.rv_discrete(values=((3, 7), (0.25, 0.75))),
    ),
    "bits": (lambda k: random.bits(k, N, "u8") >> 4, stats.randint(0, 16)),
}

ORDERS: dict[str, Callable[[Any], Any]] = {
    "permutation": lambda k: random.permutation(k, np.broadcast_to(np.arange(4), (COUNT, 4)), axis=1, independent=True),
    "choice": lambda k: rlx.vmap(lambda k: random.choice(k, 4, (4,), replace=False))(random.split(k, COUNT)),
}


def _evaluated(function: Callable[..., Any], *arrays: Array) -> list[Array]:
    return list(oracle.evaluate(rlx.trace(function, *arrays).module, *arrays))


def _number(name: str) -> int:
    return crc32(name.encode())


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("name", CONTINUOUS)
def test_a_distribution_is_scipys_in_the_middle_and_in_the_tails(name: str, dtype: str):
    draw, law = CONTINUOUS[name]
    (x,) = _evaluated(lambda key: draw(key, dtype), random.key(_number(name), 3))
    assert x.dtype == {"f32": np.float32, "f64": np.float64}[dtype] and x.shape == N and np.isfinite(x).all()
    assert stats.kstest(x.astype(np.float64), law.cdf).pvalue > LEAST
    for share in (1e-3, 0.01):
        for beyond in (x < law.ppf(share), x > law.isf(share)):
            assert stats.binomtest(int(beyond.sum()), COUNT, share).pvalue > LEAST
    # the smallest and the largest number are uniform when mapped by the distribution of the extreme of all
    for least in (-np.expm1(COUNT * law.logsf(x.min())), -np.expm1(COUNT * law.logcdf(x.max()))):
        assert LEAST < least < 1 - LEAST


@pytest.mark.parametrize("name", COUNTS)
def test_integers_have_scipys_probabilities(name: str):
    draw, law = COUNTS[name]
    (x,) = (found.astype(np.int64) for found in _evaluated(draw, random.key(_number(name))))
    values = np.arange(int(law.ppf(1e-3)), int(law.ppf(1 - 1e-3)) + 1)
    shares = np.array([law.cdf(values[0] - 1), *law.pmf(values), law.sf(values[-1])])
    found = np.array([(x < values[0]).sum(), *((x == value).sum() for value in values), (x > values[-1]).sum()])
    assert (found[shares == 0] == 0).all()
    kept = shares * COUNT >= 5
    if shares[~kept].sum() * COUNT >= 5:
        found, shares = (np.append(part[kept], part[~kept].sum()) for part in (found, shares))
    else:
        found, shares = found[kept], shares[kept]
    assert stats.chisquare(found, shares * found.sum() / shares.sum()).pvalue > LEAST


@pytest.mark.parametrize("name", ORDERS)
def test_all_orders_are_equally_probable(name: str):
    (orders,) = _evaluated(ORDERS[name], KEY)
    _, counts = np.unique(orders, axis=0, return_counts=True)
    assert len(counts) == 24 and stats.chisquare(counts).pvalue > LEAST


def test_one_program_of_all_kinds_gives_what_the_oracle_gives():
    """Draws of each kernel and fused draws, compiled, for a batch of keys; so a batch is a loop over its keys."""
    keys = random.split(KEY, 3)

    def program(key: Any, a: Any) -> Any:
        uniform, tail = (
            random.uniform(key, (5,), "f32", -1.0, 1.0),
            random.truncated_normal(key, 11.0, 12.0, (5,), "f64"),
        )
        order = random.permutation(random.fold_in(key, 1), np.arange(14).reshape(2, 7), axis=1)
        ids = random.categorical(key, np.array([0.0, -np.inf, 1.0]), shape=(6,))
        counts = random.poisson(key, a * 8.0), random.binomial(key, 50.0, a / 4.0), random.bernoulli(key, a / 4.0)
        return uniform, tail, order, ids, random.beta(key, a, 2.0), random.randint(key, (4,), -(2**62), 2**62), counts

    a = np.array([0.3, 1.0, 2.5])
    compiled = rlx.tree.flatten(rlx.compile(lambda keys, a: rlx.vmap(lambda key: program(key, a))(keys))(keys, a))[0]
    for number, key in enumerate(keys):
        for ours, exact in zip(compiled, _evaluated(lambda key: program(key, a), key), strict=True):
            np.testing.assert_allclose(ours[number], exact, rtol=2e-6 if exact.dtype == np.float32 else 1e-12)


def test_gradients_are_those_at_fixed_probability():
    """Central differences of SciPy's quantiles at the probability of what was drawn."""

    def sums(key: Any, a: Any, b: Any) -> Any:
        kinds = random.gamma(key, a), random.loggamma(key, a), random.truncated_normal(key, -a, b)
        return tuple(
            rlx.grad(lambda a, b, i=i: kind(key, a, b, i).sum(), argnums=(0, 1))(a, b) for i in range(3)
        ), kinds

    def kind(key: Any, a: Any, b: Any, number: int) -> Any:
        return (random.gamma(key, a), random.loggamma(key, a) + 0.0 * b, random.truncated_normal(key, -a, b))[
            number
        ] + 0.0 * b

    a, b = np.array([0.2, 0.9, 1.7, 6.0, 40.0]), np.array([0.1, 2.0, 30.0, 0.5, 3.0])
    found = _evaluated(sums, KEY, a, b)
    gamma, logs, normal = found[6:]
    laws: list[tuple[Array, Array, Callable[[Array, Array], Any]]] = [
        (found[0], gamma, lambda a, b: stats.gamma(a)),
        (found[2], logs, lambda a, b: stats.loggamma(a)),
        (found[4], normal, lambda a, b: stats.truncnorm(-a, b)),
        (found[5], normal, lambda a, b: stats.truncnorm(-a, b)),
    ]
    for number, (slope, x, law) in enumerate(laws):
        share = law(a, b).cdf(x)
        by_a, by_b = (1e-5 * a, 0.0) if number != 3 else (0.0, 1e-5 * b)
        ends = [law(a + sign * by_a, b + sign * by_b).ppf(share) for sign in (1, -1)]
        np.testing.assert_allclose(slope, (ends[0] - ends[1]) / (2 * (by_a + by_b)), rtol=1e-5, atol=1e-8)


def test_a_sample_of_several_numbers_has_their_covariance():
    mean, cov = np.array([1.0, -2.0]), np.array([[2.0, 0.6], [0.6, 0.5]])
    for method in ("cholesky", "eigh", "svd"):
        (x,) = _evaluated(lambda k, m=method: random.multivariate_normal(k, mean, cov, N, method=m), KEY)
        np.testing.assert_allclose(x.mean(0), mean, atol=4 * np.sqrt(2 / COUNT))
        np.testing.assert_allclose(np.cov(x.T), cov, atol=0.2)
    (q,) = _evaluated(lambda k: random.orthogonal(k, 3, (500,), "f64", m=4), KEY)
    np.testing.assert_allclose(q @ np.swapaxes(q, -1, -2), np.broadcast_to(np.eye(3), (500, 3, 3)), atol=1e-13)
    assert stats.kstest(q[:, 0, 0], lambda x: stats.beta(1.5, 1.5).cdf((x + 1) / 2)).pvalue > LEAST


def test_keys_derived_from_a_key_are_independent():
    def program(key: Any) -> Any:
        split, folded = random.split(key, (2, 2)), [random.fold_in(key, data) for data in (0, 1, -1, 2**40)]
        return tuple(random.normal(k, N, "f64") for k in (key, *(split[i, j] for i in (0, 1) for j in (0, 1)), *folded))

    rows = np.array(_evaluated(program, KEY))
    off = np.corrcoef(rows) - np.eye(len(rows))
    assert abs(off).max() < 4.5 / np.sqrt(COUNT)


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_half_floats_keep_their_type_and_their_bounds(dtype: str):
    def program(key: Any) -> Any:
        wide = random.uniform(key, N, dtype, -2.0, np.array(1.5))
        return random.uniform(key, N, dtype), wide, random.gamma(key, 2.0, N, dtype), random.gumbel(key, N, dtype)

    unit, bounded, *others = _evaluated(program, KEY)
    assert unit.min() >= 0 and unit.max() < 1 and bounded.min() >= -2 and bounded.max() < 1.5
    assert all(np.isfinite(x.astype(np.float32)).all() and x.dtype == unit.dtype for x in others)


def test_edges_of_parameters():
    def program(key: Any) -> Any:
        nothing, one = np.array([0.0, -np.inf]), np.zeros((3, 1))
        return (
            random.bernoulli(key, np.array([0.0, 1.0] * 500)),
            random.poisson(key, np.array([0.0, -1.0, np.nan])),
            random.binomial(key, 5.0, np.array([0.0, 1.0, 2.0])),
            random.categorical(key, nothing, shape=(500,)),
            random.categorical(key, one),
            random.categorical(key, np.zeros(4), shape=(4,), replace=False),
            random.uniform(key, (3,), "f64", np.array([1.0, 2.0, 3.0]), 1.0),
            random.randint(key, (3,), 5, np.array([5, 6, 1])),
            random.geometric(key, np.array([1.0, 0.0])),
            random.gamma(key, np.array([0.0, np.nan, -1.0])),
            random.choice(key, 5, (2,), False, np.array([0.0, 1.0, 0.0, 2.0, 0.0])),
            random.permutation(key, 0),
            random.normal(key, (0, 3)),
        )

    flips, events, successes, certain, single, ids, bounds, numbers, trials, zero, chosen, *empty = _evaluated(
        program, KEY
    )
    assert (flips == [False, True] * 500).all() and list(events) == [0, -1, -1]
    np.testing.assert_array_equal(successes, [0, 5, np.nan])
    assert not certain.any() and not single.any() and sorted(ids) == [0, 1, 2, 3]
    assert list(bounds) == [1, 2, 3] and list(numbers) == [5, 5, 5]
    assert list(trials) == [1, 2**63 - 1] and sorted(chosen) == [1, 3]
    np.testing.assert_array_equal(zero, [0, np.nan, np.nan])
    assert [x.shape for x in empty] == [(0,), (0, 3)]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: random.normal(np.zeros((3, 2), np.int64)), "key: expected one key, an i64 array of shape"),
        (lambda: random.normal(KEY, (-1,)), "shape: expected extents of at least 0, got"),
        (lambda: random.normal(KEY, (2,), "i32"), "dtype: expected one of f16, bf16, f32, f64, got i32"),
        (lambda: random.gamma(KEY, np.ones(3), (2,)), "shape: expected one to which a of shape"),
        (lambda: random.gamma(KEY, "x"), "a: expected numbers or an array of them, got 'x'"),
        (lambda: random.beta(KEY, np.ones(3), np.ones(2)), "a and b: expected shapes that broadcast"),
        (lambda: random.randint(KEY, (2,), 0, 300, "u8"), "maxval: expected an integer that u8 holds, got 300"),
        (lambda: random.categorical(KEY, np.zeros(3), 1), "axis: expected one of the 1 axes of logits, got 1"),
        (lambda: random.categorical(KEY, np.zeros(3), shape=(4,), replace=False), "shape: expected at most as many"),
        (lambda: random.choice(KEY, 3, (4,), replace=False), "shape: expected at most 3 draws"),
        (lambda: random.choice(KEY, 3, p=np.ones(2)), "p: expected the shape"),
        (lambda: random.multivariate_normal(KEY, np.ones(2), np.ones((3, 3))), "cov: expected a shape that ends with"),
        (lambda: random.multivariate_normal(KEY, np.ones(1), np.ones((1, 1)), method="qr"), "method: expected one of"),
    ],
)
def test_a_wrong_argument_is_named(call: Callable[[], Any], message: str):
    with pytest.raises(rlx.GraphError) as error:
        call()
    assert message in str(error.value)


@pytest.mark.sampled
@pytest.mark.parametrize(("keys", "each"), [(3, 600), (300, 3), (520, 1)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_compiled_gamma_draws_are_the_same_for_one_key_and_for_many(keys: int, each: int, dtype: type) -> None:
    a = np.resize(np.array([0.05, 0.9, 1.0, 2.5, 40.0, 0.0, np.inf], dtype), (keys, each))
    many = np.asarray(rlx.compile(lambda key: random.split(key, keys))(KEY))
    found = rlx.compile(rlx.vmap(random.gamma))(many, a)
    one = rlx.compile(random.gamma)
    for row in (0, keys // 2, keys - 1):
        np.testing.assert_array_equal(one(many[row], a[row]), found[row])
    (expected,) = _evaluated(lambda key: random.gamma(key, a[0]), many[0])
    np.testing.assert_allclose(found[0], expected, 64 * np.finfo(dtype).eps)
