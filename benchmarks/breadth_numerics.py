"""Cases of `breadth.py` about numerics: transforms, linear algebra, special functions, draws and optimisers."""

# Functions of three libraries, of arrays of any of them.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false, reportMissingImports=false

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
import optax
from breadth_case import F32, F64, Case, Function, both, everywhere, normal, positive_definite, torch

import xdsl_rlx as rlx

t: Any = torch


def transforms() -> Iterator[Case]:
    """Fourier transforms of lengths that are powers of two, composite, odd and prime."""
    for rows, n in ((64, 1024), (100, 1000), (50, 675), (30, 1009), (1, 65_536), (1000, 17), (4, 12_289)):
        x = normal(rows, n)
        yield from everywhere(
            "transforms",
            f"rfft {rows}x{n}",
            (x,),
            lambda xp, x: abs(xp.fft.rfft(x)),
            lambda x: t.fft.rfft(x).abs(),
            grad=n < 2000,
        )
    for side in (64, 60, 101):
        x = normal(4, side, side)
        yield from everywhere(
            "transforms",
            f"fft2 {side}",
            (x,),
            lambda xp, x: abs(xp.fft.fft2(x)),
            lambda x: t.fft.fft2(x).abs(),
            grad=True,
        )
    x, w = normal(8, 500), normal(500, seed=1)
    yield from everywhere(
        "transforms", "convolution by fft", (x, w),
        lambda xp, x, w: xp.fft.irfft(xp.fft.rfft(x, n=1024) * xp.fft.rfft(w, n=1024), n=1024),
        lambda x, w: t.fft.irfft(t.fft.rfft(x, n=1024) * t.fft.rfft(w, n=1024), n=1024), grad=True,
    )  # fmt: skip


@dataclass(frozen=True)
class Factorisation:
    """A function of positive definite matrices and right-hand sides, or of matrices alone."""

    name: str
    f: Function
    by_torch: Function
    operands: int = 1
    single: bool = False
    """Whether it is timed in f32 too."""
    grad: bool = True


FACTORISATIONS = [
    Factorisation("solve", lambda xp, a, b: xp.linalg.solve(a, b), lambda a, b: t.linalg.solve(a, b), 2, single=True),
    Factorisation("cholesky", lambda xp, a: xp.linalg.cholesky(a), lambda a: t.linalg.cholesky(a), single=True),
    Factorisation("slogdet", lambda xp, a: xp.linalg.slogdet(a)[1], lambda a: t.linalg.slogdet(a)[1]),
    Factorisation("inv", lambda xp, a: xp.linalg.inv(a), lambda a: t.linalg.inv(a)),
    Factorisation("eigvalsh", lambda xp, a: xp.linalg.eigvalsh(a), lambda a: t.linalg.eigvalsh(a), grad=False),
    Factorisation("qr", lambda xp, a: abs(xp.linalg.qr(a)[1]), lambda a: t.linalg.qr(a)[1].abs()),
    Factorisation(
        "singular values", lambda xp, a: xp.linalg.svd(a, compute_uv=False), lambda a: t.linalg.svdvals(a), grad=False
    ),
]


def linear_algebra() -> Iterator[Case]:
    """Factorisations and solves of one large, many small and few middle matrices."""
    for batch, n in (((), 500), ((200,), 6), ((20,), 32), ((), 64)):
        size = "x".join(map(str, (*batch, n)))
        for dtype in (F64, F32):
            arrays = positive_definite(n, *batch, dtype=dtype), normal(*batch, n, 1, dtype=dtype, seed=1)
            for one in FACTORISATIONS:
                if dtype == F32 and not one.single:
                    continue
                grad = one.grad and dtype == F64 and (one.name != "qr" or n < 100)
                given, title = arrays[: one.operands], f"{one.name} {size}"
                yield from everywhere("linear algebra", title, given, one.f, one.by_torch, grad=grad)
    a, b = np.tril(positive_definite(1000)), normal(1000, dtype=F64)
    yield from both(
        "linear algebra", "triangular solve 1000", (a, b), lambda a, b: rlx.triangular_solve(a, b, lower=True),
        lambda a, b: jax.scipy.linalg.solve_triangular(a, b, lower=True),
        lambda a, b: t.linalg.solve_triangular(a, b[:, None], upper=False)[:, 0],
    )  # fmt: skip
    a, b = normal(400, 50, dtype=F64), normal(400, dtype=F64, seed=1)
    yield from everywhere(
        "linear algebra",
        "lstsq 400x50",
        (a, b),
        lambda xp, a, b: xp.linalg.lstsq(a, b)[0],
        lambda a, b: t.linalg.lstsq(a, b[:, None])[0][:, 0],
    )


def special_functions() -> Iterator[Case]:
    """Special functions over 100,000 numbers."""
    x = np.abs(normal(100_000)) + np.float32(0.1)
    unit = np.random.default_rng(0).uniform(0.01, 0.99, 100_000).astype(np.float32)
    theirs: Any = t.special if t else None
    for name, arrays in [
        *[("gammaln", x), ("digamma", x), ("erf", x), ("erfc", x), ("erfinv", unit), ("ndtri", unit), ("ndtr", x)],
        *[("i0e", x), ("expit", x), ("xlogy", x), ("gammainc", x), ("zeta", x + 1), ("log_ndtr", x)],
    ]:
        two = name in ("xlogy", "gammainc", "zeta")
        yield from both(
            "special functions", name, (arrays, unit + 1) if two else (arrays,), getattr(rlx.special, name),
            getattr(jax.scipy.special, name), getattr(theirs, name, None), wrt=(1,) if two else (0,),
            grad=name not in ("zeta",), tolerance=1e-3,
        )  # fmt: skip


def optimisers() -> Iterator[Case]:
    """Steps of optimisers, of optax here too, over weights of several shapes."""
    weights = tuple(normal(*shape, seed=n) for n, shape in enumerate([(256, 256), (256,), (256, 100), (100,)]))
    gradients = tuple(normal(*w.shape, seed=9) for w in weights)
    for name, make in [
        *[("adamw", lambda: optax.adamw(1e-3)), ("sgd momentum", lambda: optax.sgd(1e-2, momentum=0.9))],
        *[("lion", lambda: optax.lion(1e-3)), ("rmsprop", lambda: optax.rmsprop(1e-3))],
        *[("adafactor", lambda: optax.adafactor(1e-3)), ("muon", lambda: optax.contrib.muon(1e-3))],
        ("clipped adam", lambda: optax.chain(optax.clip_by_global_norm(1.0), optax.adam(1e-3))),
    ]:
        optimiser = make()

        def step(*xs: Any, optimiser: Any = optimiser) -> Any:
            p, g = list(xs[:4]), list(xs[4:])
            updates, _ = optimiser.update(g, optimiser.init(p), p)
            return tuple(optax.apply_updates(p, updates))

        arrays = (*weights, *gradients)
        imported = rlx.from_jax(step, *arrays)
        yield from both("optimisers", name, arrays, imported, step, None, grad=False, tolerance=2e-3)


def draws() -> Iterator[Case]:
    """Random numbers, 100,000 of each distribution."""
    for name, options, by_torch in [
        *[("normal", (), lambda: t.randn(100_000)), ("uniform", (), lambda: t.rand(100_000))],
        *[("exponential", (), lambda: t.empty(100_000).exponential_()), ("gumbel", (), None)],
        ("gamma", (2.5,), lambda: t._standard_gamma(t.full((100_000,), 2.5))),
        ("bernoulli", (0.3,), lambda: t.bernoulli(t.full((100_000,), 0.3))),
    ]:
        seed = np.zeros(1, np.float32)

        def ours(x: Any, name: str = name, options: tuple[float, ...] = options) -> Any:
            return getattr(rlx.random, name)(rlx.random.key(1), *options, (100_000,)) + x

        def by_jax(x: Any, name: str = name, options: tuple[float, ...] = options) -> Any:
            return getattr(jax.random, name)(jax.random.PRNGKey(1), *options, (100_000,)).astype(np.float32) + x

        # draws differ between libraries, by any amount
        yield from both(
            "draws",
            name,
            (seed,),
            ours,
            by_jax,
            by_torch and (lambda x, f=by_torch: f() + x),
            grad=False,
            tolerance=np.inf,
        )


def statistics() -> Iterator[Case]:
    """Programs of statistics and simulation."""
    x, y = normal(300, 3), normal(300, 3, seed=1)
    yield from everywhere(
        "statistics", "kernel matrix", (x, y),
        lambda xp, x, y: xp.exp(-((x[:, None, :] - y[None, :, :]) ** 2).sum(axis=-1) / 2),
        lambda x, y: t.exp(-((x[:, None, :] - y[None]) ** 2).sum(-1) / 2), grad=True,
    )  # fmt: skip

    def gravity(x: Any) -> Any:
        d = x[:, None] - x[None]
        return (d / ((d * d).sum(-1)[..., None] + 0.1) ** 1.5).sum(1)

    yield from everywhere("statistics", "gravity of 300", (x,), lambda xp, x: gravity(x), gravity, grad=True)
    data = normal(20_000, 10)
    yield from everywhere(
        "statistics", "covariance", (data,), lambda xp, x: xp.cov(x, rowvar=False), lambda x: t.cov(x.T), grad=True
    )
    means, points = normal(16, 8), normal(5000, 8, seed=1)
    yield from everywhere(
        "statistics", "mixture likelihood", (means, points),
        lambda xp, m, x: _logsumexp(xp, -((x[:, None] - m[None]) ** 2).sum(axis=-1)).sum(),
        lambda m, x: t.logsumexp(-((x[:, None] - m[None]) ** 2).sum(-1), -1).sum(), grad=True,
    )  # fmt: skip
    yield from everywhere(
        "statistics",
        "k-means assignment",
        (means, points),
        lambda xp, m, x: xp.argmin(((x[:, None] - m[None]) ** 2).sum(axis=-1), axis=-1),
        lambda m, x: ((x[:, None] - m[None]) ** 2).sum(-1).argmin(-1),
    )
    field = normal(256, 300)

    def heat(xp: Any, u: Any) -> Any:
        return u + 0.1 * (xp.roll(u, 1, 0) + xp.roll(u, -1, 0) + xp.roll(u, 1, 1) + xp.roll(u, -1, 1) - 4 * u)

    yield from everywhere("statistics", "heat equation", (field,), heat, lambda u: heat(t, u), grad=True)


def _logsumexp(xp: Any, x: Any) -> Any:
    top = xp.max(x, axis=-1, keepdims=True)
    return xp.log(xp.exp(x - top).sum(axis=-1)) + top[..., 0]
