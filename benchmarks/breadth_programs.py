"""Cases of `breadth.py` about programs of users: layers, searches, filters, simulations, images and statistics."""

# Functions of three libraries, of arrays of any of them.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false, reportMissingImports=false

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from breadth_case import F32, F64, I32, Case, F, both, everywhere, integers, normal, torch

import xdsl_rlx as rlx

t: Any = torch
own: Any = rlx
U8, I8, BOOL = (np.dtype(name) for name in ("uint8", "int8", "bool"))


def layers_of_models() -> Iterator[Case]:
    """Parts of models: norms of odd widths, position biases, pixel shuffles, gates and losses."""
    x, g, b = normal(8, 30, 14, 14), normal(30, seed=1), normal(30, seed=2)
    yield from both(
        "model parts", "group_norm 30 in 5", (x, g, b), lambda x, g, b: _group_norm(np, x, g, b),
        lambda x, g, b: _group_norm(jnp, x, g, b), lambda x, g, b: F.group_norm(x, 5, g, b),
    )  # fmt: skip
    yield from both(
        "model parts", "batch_norm 30", (x, g, b), lambda x, g, b: _batch_norm(np, x, g, b),
        lambda x, g, b: _batch_norm(jnp, x, g, b), lambda x, g, b: F.batch_norm(x, None, None, g, b, True), wrt=(1, 2),
    )  # fmt: skip
    scores, slopes = normal(4, 12, 128, 128), (2.0 ** -np.arange(1, 13) / 2).astype(F32)
    yield from everywhere(
        "model parts", "ALiBi softmax", (scores, slopes),
        lambda xp, s, m: _softmax(xp, s + m[:, None, None] * (xp.arange(128) - xp.arange(128)[:, None])),
        lambda s, m: t.softmax(s + m[:, None, None] * (t.arange(128) - t.arange(128)[:, None]), -1), grad=True,
    )  # fmt: skip
    table, q = normal(12, 255), normal(2, 12, 128, 64)
    places = (np.arange(128)[:, None] - np.arange(128) + 127).astype(np.int32)
    yield from both(
        "model parts", "relative position bias", (table, q, places),
        lambda w, q, i: q @ q.swapaxes(-1, -2) + w[:, i], lambda w, q, i: q @ q.swapaxes(-1, -2) + w[:, i],
        lambda w, q, i: q @ q.transpose(-1, -2) + w[:, i.long()], wrt=(0, 1),
    )  # fmt: skip
    yield from everywhere(
        "model parts", "pixel shuffle", (normal(4, 36, 28, 28),),
        lambda xp, x: xp.transpose(x.reshape(4, 9, 2, 2, 28, 28), (0, 1, 4, 2, 5, 3)).reshape(4, 9, 56, 56) * 2,
        lambda x: F.pixel_shuffle(x, 2) * 2, grad=True,
    )  # fmt: skip
    yield from everywhere(
        "model parts", "GLU 301", (normal(500, 602),),
        lambda xp, x: x[:, :301] / (1 + xp.exp(-x[:, 301:])), lambda x: F.glu(x, 1), grad=True,
    )  # fmt: skip
    a, c = normal(300, 50), normal(400, 50, seed=1)
    yield from everywhere(
        "model parts", "cosine similarities", (a, c),
        lambda xp, a, c: (a / xp.sqrt((a * a).sum(1, keepdims=True))) @ (c / xp.sqrt((c * c).sum(1, keepdims=True))).T,
        lambda a, c: F.normalize(a) @ F.normalize(c).T, grad=True,
    )  # fmt: skip
    yield from everywhere(
        "model parts", "contrastive loss", (a, normal(300, 50, seed=2)),
        lambda xp, a, c: -_log_diagonal(xp, a @ c.T / 7).mean(),
        lambda a, c: F.cross_entropy(a @ c.T / 7, t.arange(300)), grad=True,
    )  # fmt: skip
    yield from both(
        "model parts", "rotary", (normal(4, 100, 8, 64), normal(100, 32, seed=1)), lambda x, a: _rotary(np, x, a),
        lambda x, a: _rotary(jnp, x, a), lambda x, a: _rotary(t, x, a), wrt=(0,),
    )  # fmt: skip
    logits, labels = normal(2000, 33), integers(33, 2000)
    yield from everywhere(
        "model parts", "one-hot cross entropy", (logits, labels),
        lambda xp, x, y: -((y[:, None] == xp.arange(33)) * _log_softmax(xp, x)).sum() / 2000,
        lambda x, y: F.cross_entropy(x, y.long()), grad=True,
    )  # fmt: skip
    blocks, v = normal(50, 16, 16), normal(50, 16, 30, seed=1)
    yield from everywhere(
        "model parts", "block-diagonal product", (blocks, v), lambda xp, b, v: xp.tanh(b @ v),
        lambda b, v: t.tanh(b @ v), grad=True,
    )  # fmt: skip
    yield from everywhere(
        "model parts", "masked scores", (normal(16, 200, 200),),
        lambda xp, x: _softmax(xp, xp.where(xp.tril(xp.ones((200, 200), bool)), x, -1e9)),
        lambda x: t.softmax(x.masked_fill(~t.ones(200, 200).bool().tril(), -1e9), -1), grad=True,
    )  # fmt: skip


def searches() -> Iterator[Case]:
    """Neighbours, beams, orders of several keys, quantiles and unique numbers."""
    points, data = normal(200, 16), normal(1500, 16, seed=1)
    yield from both(
        "searches", "8 nearest neighbours", (points, data),
        lambda p, x: own.topk_values(-_distances(np, p, x), 8),
        lambda p, x: jax.lax.top_k(-_distances(jnp, p, x), 8)[0],
        lambda p, x: -t.topk(t.cdist(p, x) ** 2, 8, largest=False)[0], grad=False,
    )  # fmt: skip
    beams, steps = normal(8, 5), normal(8, 5, 3000, seed=1)
    yield from both(
        "searches", "beam search step", (beams, steps),
        lambda s, x: own.topk_values((s[..., None] + x).reshape(8, -1), 5),
        lambda s, x: jax.lax.top_k((s[..., None] + x).reshape(8, -1), 5)[0],
        lambda s, x: t.topk((s[..., None] + x).reshape(8, -1), 5)[0], grad=False,
    )  # fmt: skip
    yield from everywhere(
        "searches", "row quantiles", (normal(300, 101),), lambda xp, x: xp.quantile(x, np.float32(0.9), axis=1),
        lambda x: t.quantile(x, 0.9, dim=1),
    )  # fmt: skip
    keys = integers(300, 20_000), integers(300, 20_000, seed=1)
    yield from everywhere(
        "searches", "order of pairs", keys, lambda xp, a, b: _stable_order(xp, a * 300 + b),
        lambda a, b: t.argsort(a * 300 + b, stable=True),
    )  # fmt: skip
    yield from both(
        "searches", "unique of 20000", (keys[0],), lambda x: own.unique(x, size=300), lambda x: jnp.unique(x, size=300),
        None, grad=False,
    )  # fmt: skip
    small = integers(50, 100_000, dtype=I8)
    yield from everywhere(
        "searches", "argsort of bytes", (small,), lambda xp, x: _stable_order(xp, x),
        lambda x: t.argsort(x, stable=True),
    )  # fmt: skip
    yield from everywhere(
        "searches", "any and all", (integers(2, 2000, 513, dtype=BOOL),),
        lambda xp, x: xp.stack([x.any(axis=1), x.all(axis=1)]), lambda x: t.stack([x.any(1), x.all(1)]),
    )  # fmt: skip
    with_nan = np.where(normal(1000, 333) > 2, np.float32(np.nan), normal(1000, 333, seed=1))
    yield from everywhere(
        "searches", "nan mean and max", (with_nan,), lambda xp, x: xp.nanmean(x, axis=1) + xp.nanmax(x, axis=1),
        lambda x: t.nanmean(x, 1) + t.where(x.isnan(), -t.inf, x).amax(1),
    )  # fmt: skip
    x, y = np.random.default_rng(0).uniform(0, 1, (2, 50_000)).astype(F32)
    yield from both(
        "searches", "histogram of pairs", (x, y),
        lambda x, y: rlx.bincount((x * 32).astype(I32) * 32 + (y * 32).astype(I32), length=1024),
        lambda x, y: jnp.bincount((x * 32).astype(I32) * 32 + (y * 32).astype(I32), length=1024),
        lambda x, y: t.bincount((x * 32).int() * 32 + (y * 32).int(), minlength=1024), grad=False,
    )  # fmt: skip


def signals() -> Iterator[Case]:
    """Filters, windows, running products and extrema, polynomials and complex numbers."""
    x = normal(64, 1000)
    yield from _running(x)
    yield from everywhere(
        "signals", "unfold 5", (x,), lambda xp, x: xp.stack([x[:, i : 996 + i] for i in range(5)], -1) * 2,
        lambda x: x.unfold(1, 5, 1) * 2, grad=True,
    )  # fmt: skip
    yield from everywhere(
        "signals", "polyval 7", (normal(8), normal(100_000, seed=1)), lambda xp, c, x: xp.polyval(c, x),
        lambda c, x: _horner(c, x), grad=True,
    )  # fmt: skip
    yield from everywhere(
        "signals", "convolve 31", (normal(20_000), normal(31, seed=1)),
        lambda xp, x, w: xp.convolve(x, w, mode="valid"),
        lambda x, w: F.conv1d(x[None, None], w.flip(0)[None, None])[0, 0], grad=True,
    )  # fmt: skip
    b, a = np.array([0.2, 0.3, 0.2], F32), np.array([-0.5, 0.2], F32)

    def biquad(lax: Any, x: Any) -> Any:
        def step(s: Any, v: Any) -> Any:
            y = b[0] * v + s[0]
            return (b[1] * v - a[0] * y + s[1], b[2] * v - a[1] * y), y

        return lax.scan(step, (np.zeros(64, F32), np.zeros(64, F32)), x)[1]

    yield from both(
        "signals", "IIR filter", (normal(1000, 64),), lambda x: biquad(rlx, x), lambda x: biquad(jax.lax, x)
    )

    def decays(lax: Any, x: Any) -> Any:
        return lax.scan(lambda h, v: (h + np.float32(0.1) * (v - h),) * 2, np.zeros(33, F32), x)[1]

    yield from both("signals", "EMA 33", (normal(3000, 33),), lambda x: decays(rlx, x), lambda x: decays(jax.lax, x))
    yield from everywhere(
        "signals", "complex product", (normal(50_000), normal(50_000, seed=1), normal(50_000, seed=2)),
        lambda xp, a, b, c: abs((a + 1j * b) * (c + 1j * a) * xp.exp(1j * b)),
        lambda a, b, c: (t.complex(a, b) * t.complex(c, a) * t.exp(1j * b)).abs(), grad=True,
    )  # fmt: skip
    yield from everywhere(
        "signals", "Hann spectrogram", (normal(16_000), np.hanning(400).astype(F32)),
        lambda xp, x, w: abs(xp.fft.rfft(xp.stack([x[i * 160 : i * 160 + 400] for i in range(97)]) * w)),
        lambda x, w: t.fft.rfft(x.unfold(0, 400, 160)[:97] * w).abs(), grad=True,
    )  # fmt: skip


def _running(x: Any) -> Iterator[Case]:
    yield from both(
        "signals", "cummax", (x,), lambda x: own.cummax(x, 1), lambda x: jax.lax.cummax(x, 1),
        lambda x: t.cummax(x, 1)[0], grad=False,
    )  # fmt: skip
    yield from everywhere(
        "signals", "cumprod", (1 + x / 100,), lambda xp, x: xp.cumprod(x, axis=1), lambda x: t.cumprod(x, 1), grad=True
    )
    yield from both(
        "signals", "logcumsumexp", (x,), lambda x: _log_cumsum(np, x), lambda x: jax.lax.cumlogsumexp(x, 1),
        lambda x: t.logcumsumexp(x, 1),
    )  # fmt: skip


def simulations() -> Iterator[Case]:
    """Cellular automata, fractals, sweeps, filters of states and equations in f64."""
    life = integers(2, 300, 301, dtype=I8)
    yield from everywhere("simulations", "Conway's life", (life,), _life, lambda x: _life(t, x))
    c = np.meshgrid(np.linspace(-2, 0.5, 120), np.linspace(-1.2, 1.2, 90))

    def mandelbrot(lax: Any, xp: Any, re: Any, im: Any) -> Any:
        def step(s: Any) -> Any:
            n, x, y, count = s
            inside = x * x + y * y <= 4
            return n + 1, x * x - y * y + re, 2 * x * y + im, count + inside

        zero = 0 * re
        return lax.while_loop(lambda s: s[0] < 30, step, (np.int32(0), zero, zero, xp.zeros((90, 120), I32)))[3]

    arrays = tuple(c)
    yield from both(
        "simulations", "Mandelbrot", arrays, lambda a, b: mandelbrot(rlx, np, a, b),
        lambda a, b: mandelbrot(jax.lax, jnp, a, b), None, grad=False,
    )  # fmt: skip
    yield from _kalman()
    a, b = normal(60, 60, dtype=F64) / 20 + 4 * np.eye(60), normal(60, dtype=F64, seed=1)

    def sweeps(lax: Any, a: Any, b: Any) -> Any:
        low, up = np.tril(np.ones((60, 60))), np.triu(np.ones((60, 60)), 1)
        solve = own.triangular_solve if lax is rlx else jax.scipy.linalg.solve_triangular
        return lax.fori_loop(0, 20, lambda n, x: solve(a * low, b - (a * up) @ x, lower=True), b)

    yield from both(
        "simulations", "Gauss-Seidel", (a, b), lambda a, b: sweeps(rlx, a, b), lambda a, b: sweeps(jax.lax, a, b), None,
        grad=False,
    )  # fmt: skip
    u = normal(200, 201, dtype=F64)

    def wave(xp: Any, u: Any) -> Any:
        inner = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
        return xp.sin(u[1:-1, 1:-1] + 0.1 * inner)

    yield from everywhere("simulations", "sine wave", (u,), wave, lambda u: wave(t, u), grad=True)
    p, m = normal(500, 3, dtype=F64), abs(normal(500, dtype=F64, seed=1))
    yield from everywhere(
        "simulations", "potential", (p, m),
        lambda xp, p, m: (m[:, None] * m / xp.sqrt(((p[:, None] - p) ** 2).sum(-1) + 0.1)).sum(),
        lambda p, m: (m[:, None] * m / t.sqrt(((p[:, None] - p) ** 2).sum(-1) + 0.1)).sum(), grad=True,
    )  # fmt: skip
    data, w = normal(5000, 13, dtype=F64), normal(13, dtype=F64, seed=1)
    yield from everywhere(
        "simulations", "Poisson regression", (w, data),
        lambda xp, w, x: (xp.exp(x @ w / 9) - (x @ w) * abs(x[:, 0])).mean(),
        lambda w, x: (t.exp(x @ w / 9) - (x @ w) * abs(x[:, 0])).mean(), grad=True,
    )  # fmt: skip


def _kalman() -> Iterator[Case]:
    f, h = np.eye(4, dtype=F64) + np.eye(4, k=2) * 0.1, np.eye(2, 4)

    def run(xp: Any, lax: Any, z: Any) -> Any:
        def step(state: Any, z: Any) -> Any:
            x, p = state
            x, p = f @ x, f @ p @ f.T + 0.01 * np.eye(4)
            s = h @ p @ h.T + 0.1 * np.eye(2)
            gain = xp.linalg.solve(s, h @ p).T
            x = x + gain @ (z - h @ x)
            return (x, p - gain @ h @ p), x

        return lax.scan(step, (np.zeros(4), np.eye(4)), z)[1]

    z = normal(200, 2, dtype=F64)
    yield from both("simulations", "Kalman filter", (z,), lambda z: run(np, rlx, z), lambda z: run(jnp, jax.lax, z))


def images() -> Iterator[Case]:
    """Bytes: thresholds, blends, lookups, counts; and ops of mixed element types."""
    image, other = integers(256, 480, 641, dtype=U8), integers(256, 480, 641, dtype=U8, seed=1)
    yield from everywhere(
        "images", "blend of bytes", (image, other),
        lambda xp, a, b: ((a.astype(np.uint32) * 77 + b.astype(np.uint32) * 179) >> 8).astype(U8),
        lambda a, b: ((a.int() * 77 + b.int() * 179) >> 8).to(t.uint8),
    )  # fmt: skip
    yield from everywhere(
        "images", "grey of colours", (integers(256, 300, 401, 3, dtype=U8),),
        lambda xp, x: (x.astype(F32) @ np.array([0.3, 0.6, 0.1], F32)).astype(U8),
        lambda x: (x.float() @ t.tensor([0.3, 0.6, 0.1])).to(t.uint8),
    )  # fmt: skip
    mean, deviation = np.array([0.5, 0.4, 0.3], F32), np.array([0.2, 0.3, 0.4], F32)
    yield from everywhere(
        "images", "normalise colours", (integers(256, 4, 120, 161, 3, dtype=U8),),
        lambda xp, x: xp.transpose((x.astype(F32) / 255 - mean) / deviation, (0, 3, 1, 2)),
        lambda x: ((x.float() / 255 - t.from_numpy(mean)) / t.from_numpy(deviation)).permute(0, 3, 1, 2).contiguous(),
    )  # fmt: skip
    lut = integers(256, 256, dtype=U8, seed=2)
    yield from everywhere(
        "images", "lookup", (lut, image), lambda xp, w, x: w[x], lambda w, x: w[x.long()],
    )  # fmt: skip
    yield from everywhere(
        "images", "dilation of bytes", (image,),
        lambda xp, x: xp.maximum(xp.maximum(x[:, :-2], x[:, 1:-1]), x[:, 2:]),
        lambda x: t.maximum(t.maximum(x[:, :-2], x[:, 1:-1]), x[:, 2:]),
    )  # fmt: skip
    yield from everywhere(
        "images", "counts of bytes", (image,), lambda xp, x: (x > 100).sum(axis=0), lambda x: (x > 100).sum(0)
    )
    steps = integers(1000, 100_000), integers(60, 100_000, dtype=I8, seed=1), normal(100_000, seed=2)
    yield from everywhere(
        "images", "mixed types", steps,
        lambda xp, a, b, c: xp.where(b > 30, a % 7 + b, (c * 10).astype(I32)) * (a // 3),
        lambda a, b, c: t.where(b > 30, a % 7 + b, (c * 10).int()) * (a // 3),
    )  # fmt: skip
    yield from everywhere(
        "images", "chain of where", (normal(200_000),),
        lambda xp, x: xp.where(x < -1, -1, xp.where(x < 0, x * x, xp.where(x < 1, 2 * x, xp.sqrt(abs(x))))),
        lambda x: t.where(x < -1, -1, t.where(x < 0, x * x, t.where(x < 1, 2 * x, t.sqrt(abs(x))))), grad=True,
    )  # fmt: skip


def _stable_order(xp: Any, x: Any) -> Any:
    return xp.argsort(x, **({"kind": "stable"} if xp is np else {}))


def _rotary(xp: Any, x: Any, a: Any) -> Any:
    first, second, cos, sin = x[..., :32], x[..., 32:], xp.cos(a)[:, None], xp.sin(a)[:, None]
    join = xp.cat if xp is t else xp.concatenate
    return join([first * cos - second * sin, first * sin + second * cos], -1)


def _group_norm(xp: Any, x: Any, g: Any, b: Any) -> Any:
    y = x.reshape(8, 5, -1)
    y = (y - y.mean(-1, keepdims=True)) / xp.sqrt(y.var(-1, keepdims=True) + np.float32(1e-5))
    return y.reshape(x.shape) * g[:, None, None] + b[:, None, None]


def _batch_norm(xp: Any, x: Any, g: Any, b: Any) -> Any:
    mean, var = x.mean((0, 2, 3), keepdims=True), x.var((0, 2, 3), keepdims=True)
    return (x - mean) / xp.sqrt(var + np.float32(1e-5)) * g[:, None, None] + b[:, None, None]


def _softmax(xp: Any, x: Any) -> Any:
    e = xp.exp(x - xp.max(x, axis=-1, keepdims=True))
    return e / xp.sum(e, axis=-1, keepdims=True)


def _log_softmax(xp: Any, x: Any) -> Any:
    y = x - xp.max(x, axis=-1, keepdims=True)
    return y - xp.log(xp.sum(xp.exp(y), axis=-1, keepdims=True))


def _log_diagonal(xp: Any, x: Any) -> Any:
    return xp.diagonal(_log_softmax(xp, x))


def _distances(xp: Any, p: Any, x: Any) -> Any:
    return (p * p).sum(1)[:, None] - 2 * p @ x.T + (x * x).sum(1)


def _log_cumsum(xp: Any, x: Any) -> Any:
    top = xp.max(x, axis=1, keepdims=True)
    return xp.log(xp.cumsum(xp.exp(x - top), axis=1)) + top


def _horner(c: Any, x: Any) -> Any:
    y = c[0]
    for one in c[1:]:
        y = y * x + one
    return y


def _life(xp: Any, x: Any) -> Any:
    roll = xp.roll
    n = sum(roll(roll(x, i, 0), j, 1) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j)
    return xp.where((n == 3) | ((x == 1) & (n == 2)), 1, 0)
