"""Cases of `breadth.py` about layers: convolutions, pools, attention, norms, losses, recurrences and optimisers."""

# Functions of three libraries, of arrays of any of them.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false, reportMissingImports=false

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from breadth_case import BF16, F32, F64, Case, F, both, everywhere, integers, normal, torch

import xdsl_rlx as rlx

t: Any = torch


def convolutions() -> Iterator[Case]:
    """Convolutions over sizes of kernels, strides, dilations, groups and spatial axes."""
    for name, image, filters, options in [
        ("1x1 56x56", (4, 64, 56, 56), (64, 64, 1, 1), {}),
        ("3x3 batch 1 56x56", (1, 64, 56, 56), (64, 64, 3, 3), {"padding": 1}),
        ("3x3 14x14", (4, 256, 14, 14), (256, 256, 3, 3), {"padding": 1}),
        ("3x3 7x7", (8, 512, 7, 7), (512, 512, 3, 3), {"padding": 1}),
        ("3x3 odd 29x31", (3, 17, 29, 31), (19, 17, 3, 3), {"padding": 1}),
        ("5x5", (4, 64, 28, 28), (64, 64, 5, 5), {"padding": 2}),
        ("7x7 stride 2 of 3", (2, 3, 112, 112), (64, 3, 7, 7), {"padding": 3, "stride": 2}),
        ("3x3 stride 2", (4, 64, 56, 56), (128, 64, 3, 3), {"padding": 1, "stride": 2}),
        ("3x3 dilated", (4, 32, 40, 40), (32, 32, 3, 3), {"padding": 2, "dilation": 2}),
        ("3x3 groups 4", (4, 64, 28, 28), (64, 16, 3, 3), {"padding": 1, "groups": 4}),
        ("depthwise 3x3", (4, 96, 28, 28), (96, 1, 3, 3), {"padding": 1, "groups": 96}),
        ("1-D 9", (8, 32, 1000), (64, 32, 9), {"padding": 4}),
        ("3-D 3x3x3", (1, 8, 16, 24, 24), (16, 8, 3, 3, 3), {"padding": 1}),
    ]:
        n = len(image) - 2
        stride, padding = (options.get("stride", 1),) * n, options.get("padding", 0)
        dilation, groups = (options.get("dilation", 1),) * n, options.get("groups", 1)
        ours, theirs = getattr(rlx.nn, f"conv{n}d"), F and getattr(F, f"conv{n}d")
        yield from both(
            "convolutions", name, (normal(*image), normal(*filters, seed=1) / 9),
            lambda x, w, f=ours, o=options: f(x, w, **o),
            lambda x, w, s=stride, p=padding, d=dilation, g=groups: jax.lax.conv_general_dilated(
                x, w, s, [(p, p)] * len(s), rhs_dilation=d, feature_group_count=g
            ),
            lambda x, w, f=theirs, o=options: f(x, w, **o), tolerance=1e-3,
        )  # fmt: skip
    yield from both(
        "convolutions", "transposed 4x4 stride 2", (normal(4, 64, 14, 14), normal(64, 32, 4, 4) / 9),
        lambda x, w: rlx.nn.conv_transpose2d(x, w, stride=2, padding=1), None,
        lambda x, w: F.conv_transpose2d(x, w, stride=2, padding=1), tolerance=1e-3,
    )  # fmt: skip
    x = normal(4, 32, 57, 57)
    for window, stride in ((2, 2), (3, 2), (3, 1)):
        steps = (1, 1, stride, stride)
        yield from both(
            "convolutions", f"max_pool {window} by {stride}", (x,),
            lambda x, k=window, s=stride: rlx.nn.max_pool(x, (k, k), (s, s)),
            lambda x, k=window, s=steps: jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 1, k, k), s, "VALID"),
            lambda x, k=window, s=stride: F.max_pool2d(x, k, s),
        )  # fmt: skip
        yield from both(
            "convolutions", f"avg_pool {window} by {stride}", (x,),
            lambda x, k=window, s=stride: rlx.nn.avg_pool(x, (k, k), (s, s)),
            lambda x, k=window, s=steps: jax.lax.reduce_window(x, 0.0, jax.lax.add, (1, 1, k, k), s, "VALID") / k**2,
            lambda x, k=window, s=stride: F.avg_pool2d(x, k, s),
        )  # fmt: skip


def attention() -> Iterator[Case]:
    """Attention by length, head size, mask and number of key heads."""
    for name, batch, heads, kv, n, m, d, causal in [
        *[("causal 100x64", 2, 8, 8, 100, 100, 64, True), ("128x64", 2, 8, 8, 128, 128, 64, False)],
        *[("causal 512x128", 1, 4, 4, 512, 512, 128, True), ("cross 64x300x32", 4, 4, 4, 64, 300, 32, False)],
        *[("grouped 256x64", 1, 8, 2, 256, 256, 64, True), ("33x24", 3, 5, 5, 33, 33, 24, False)],
    ]:
        q, k, v = (normal(batch, heads if i == 0 else kv, n if i == 0 else m, d, seed=i) for i in range(3))
        yield from both(
            "attention", name, (q, k, v),
            lambda q, k, v, c=causal: rlx.nn.dot_product_attention(*map(_swapped, (q, k, v)), is_causal=c),
            lambda q, k, v, c=causal: jax.nn.dot_product_attention(*map(_swapped, (q, k, v)), is_causal=c),
            lambda q, k, v, c=causal: _swapped(F.scaled_dot_product_attention(q, k, v, is_causal=c, enable_gqa=True)),
        )  # fmt: skip
    q, k, v = (normal(2, 4, 200, 128, seed=i) for i in range(3))
    mask = (np.arange(200) < np.array([150, 190])[:, None])[:, None, None, :]
    yield from both(
        "attention", "padded 200x128", (q, k, v, mask),
        lambda q, k, v, m: rlx.nn.dot_product_attention(*map(_swapped, (q, k, v)), mask=m),
        lambda q, k, v, m: jax.nn.dot_product_attention(*map(_swapped, (q, k, v)), mask=m),
        lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, attn_mask=m).transpose(1, 2), wrt=(0, 1, 2),
    )  # fmt: skip
    for dtype in (F32, BF16):
        q, k, v = (normal(2, 8, 128, 64, seed=i, dtype=dtype) for i in range(3))
        yield from everywhere(
            "attention", "unfused 128x64", (q, k, v),
            lambda xp, q, k, v: _softmax(xp, q @ xp.swapaxes(k, -1, -2) / 8) @ v,
            lambda q, k, v: t.softmax(q @ k.transpose(-1, -2) / 8, -1) @ v, grad=True,
        )  # fmt: skip


def _swapped(x: Any) -> Any:
    return x.swapaxes(1, 2)


def _softmax(xp: Any, x: Any) -> Any:
    e = xp.exp(x - xp.max(x, axis=-1, keepdims=True))
    return e / xp.sum(e, axis=-1, keepdims=True)


def norms_and_losses() -> Iterator[Case]:
    """Norms, activations in layers and losses."""
    for rows, width in ((4096, 256), (100, 1000), (20_000, 33)):
        x, g, b = normal(rows, width), normal(width, seed=1), normal(width, seed=2)
        yield from both(
            "layers", f"layer_norm {rows}x{width}", (x, g, b), rlx.nn.layer_norm,
            lambda x, g, b: jax.nn.standardize(x, epsilon=1e-5) * g + b,
            lambda x, g, b: F.layer_norm(x, x.shape[1:], g, b),
        )  # fmt: skip
        yield from everywhere(
            "layers", f"rms_norm {rows}x{width}", (x, g),
            lambda xp, x, g: x / xp.sqrt((x * x).mean(axis=-1, keepdims=True) + np.float32(1e-6)) * g,
            lambda x, g: F.rms_norm(x, x.shape[1:], g, 1e-6), grad=True,
        )  # fmt: skip
        labels = integers(width, rows)
        yield from both(
            "layers", f"cross_entropy {rows}x{width}", (x, labels), rlx.nn.cross_entropy,
            lambda x, y: -jnp.take_along_axis(jax.nn.log_softmax(x), y[:, None], 1).mean(),
            lambda x, y: F.cross_entropy(x, y.long()),
        )  # fmt: skip
    for batch, inside, hidden, out, dtype in [
        *[(32, 784, 256, 10, F32), (1, 64, 64, 1, F32), (512, 100, 1000, 100, F32), (128, 50, 50, 3, F64)],
        *[(256, 512, 512, 512, BF16), (128, 784, 512, 10, BF16)],
    ]:
        weights = (normal(inside, hidden, dtype=dtype), normal(hidden, dtype=dtype), normal(hidden, out, dtype=dtype))
        arrays = (*(w / np.asarray(20, dtype) for w in weights), normal(batch, inside, dtype=dtype))
        yield from everywhere(
            "layers", f"MLP {batch}x{inside}x{hidden}x{out}", arrays,
            lambda xp, w, b, v, x: xp.tanh(x @ w + b) @ v, lambda w, b, v, x: t.tanh(x @ w + b) @ v, grad=True,
        )  # fmt: skip
    x, w, v = normal(200, 256), normal(256, 688) / 16, normal(256, 688, seed=1) / 16
    yield from both(
        "layers", "gated silu", (x, w, v), lambda x, w, v: rlx.nn.silu(x @ w) * (x @ v),
        lambda x, w, v: jax.nn.silu(x @ w) * (x @ v), lambda x, w, v: F.silu(x @ w) * (x @ v),
    )  # fmt: skip
    x, y = normal(300, 20), normal(250, 20, seed=1)
    yield from everywhere(
        "layers", "squared distances", (x, y), lambda xp, x, y: xp.sum((x[:, None] - y[None]) ** 2, -1),
        lambda x, y: ((x[:, None] - y[None]) ** 2).sum(-1), grad=True,
    )  # fmt: skip
    images = normal(4, 16, 32, 32)
    for mode in ("nearest", "bilinear"):
        yield from both(
            "layers", f"resize {mode}", (images,), lambda x, m=mode: rlx.nn.interpolate(x, scale_factor=2, mode=m),
            lambda x, m=mode: jax.image.resize(x, (4, 16, 64, 64), m.removeprefix("bi")),
            lambda x, m=mode: F.interpolate(x, scale_factor=2, mode=m),
        )  # fmt: skip


def recurrences() -> Iterator[Case]:
    """Scans: recurrent layers, filters, solvers and a table read by index."""
    x, w, u = normal(50, 16, 32), normal(32, 64) / 8, normal(64, 64, seed=1) / 8
    yield from _scans("tanh RNN", (w, u, x), lambda xp, h, x, w, u: xp.tanh(x @ w + h @ u), (16, 64))
    decay = np.float32(0.9)
    yield from _scans("moving mean", (normal(2000, 100),), lambda xp, h, x: decay * h + x, (100,))
    yield from _scans("scalar filter", (normal(20_000),), lambda xp, h, x: xp.sin(decay * h + x), ())
    yield from _scans("logistic map", (normal(300, 64),), lambda xp, h, x: xp.tanh(2 * h * (1 - h) + x), (64,))
    a = normal(6, 6) / 6
    yield from _scans("linear system", (a, normal(500, 6)), lambda xp, h, x, a: a @ h + x, (6,))
    yield from _scans(
        "f64 oscillator", (normal(1000, 2, dtype=F64),), lambda xp, h, x: h + 1e-2 * (x - xp.sin(h)), (2,)
    )
    table, at = normal(1000, 16), integers(1000, 200)

    def read(lax: Any, table: Any, at: Any) -> Any:
        return lax.scan(lambda h, i: (h * decay + table[i], h.sum()), h0, at)[1]

    h0 = np.zeros(16, np.float32)
    yield from both(
        "recurrences",
        "table by index",
        (table, at),
        lambda x, i: read(rlx, x, i),
        lambda x, i: read(jax.lax, x, i),
        None,
        wrt=(0,),
    )


def _scans(name: str, arrays: tuple[Any, ...], cell: Any, carry: tuple[int, ...]) -> Iterator[Case]:
    """The scan of a cell over its last array, by scan here and in JAX, and by a loop in PyTorch where that is short."""
    h0 = np.zeros(carry, arrays[-1].dtype)

    def run(xp: Any, scan: Any, *xs: Any) -> Any:
        def step(h: Any, x: Any) -> Any:
            new = cell(xp, h, x, *xs[:-1])
            return new, new

        return scan(step, h0, xs[-1])[1]

    def loop(*xs: Any) -> Any:
        h, found = t.from_numpy(h0), []
        for x in xs[-1]:
            h = cell(t, h, x, *xs[:-1])
            found.append(h)
        return t.stack(found)

    yield from both(
        "recurrences", name, arrays, lambda *xs: run(np, rlx.scan, *xs), lambda *xs: run(jnp, jax.lax.scan, *xs),
        loop if len(arrays[-1]) <= 500 and t else None, tolerance=1e-3,
    )  # fmt: skip


def graphs() -> Iterator[Case]:
    """Programs of many ops, leaves and layers."""

    def chain(xp: Any, x: Any) -> Any:
        for _ in range(60):
            x = xp.sin(x) + np.float32(0.1)
        return x

    yield from everywhere("graphs", "60 chained sines", (normal(1000),), chain, lambda x: chain(t, x), grad=True)

    def layers(xp: Any, x: Any, w: Any) -> Any:
        for n in range(24):
            x = x + xp.tanh(x @ w[n])
        return x

    arrays = normal(32, 64), normal(24, 64, 64) / 16
    yield from everywhere("graphs", "24 layers", arrays, layers, lambda x, w: layers(t, x, w), grad=True)
    leaves = tuple(normal(16 + n % 3, 8, seed=n) for n in range(60))

    def adam(xp: Any, *leaves: Any) -> Any:
        found: list[Any] = []
        for p, g, m in zip(leaves[::3], leaves[3::3], leaves[2::3], strict=False):
            if p.shape == g.shape:
                found.append((p - g / (xp.sqrt(g * g + 1e-8) + 1e-8)).sum() + m.sum())
        return xp.stack(found)

    yield from everywhere("graphs", "60 leaves", leaves, adam, lambda *x: adam(t, *x))

    def branches(xp: Any, x: Any) -> Any:
        return xp.concatenate([xp.tanh(x[n::16] * (n + 1)).sum(axis=0)[None] for n in range(16)])

    yield from everywhere("graphs", "16 branches", (normal(160, 50),), branches, None, grad=True)
