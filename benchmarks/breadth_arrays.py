"""Cases of `breadth.py` about arrays: elementwise ops, reductions, layouts, indices, sorting and products."""

# Functions of three libraries, of arrays of any of them.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false, reportMissingImports=false

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from breadth_case import BF16, F32, F64, I32, I64, Case, both, everywhere, integers, normal, torch

import xdsl_rlx as rlx

t: Any = torch


def elementwise() -> Iterator[Case]:
    """Chains of elementwise ops: sizes, broadcasts and element types."""
    chains: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
        "axpy": (lambda xp, x, y: 2 * x + y, lambda x, y: 2 * x + y),
        "gaussian": (lambda xp, x, y: xp.exp(-((x - y) ** 2)), lambda x, y: t.exp(-((x - y) ** 2))),
        "clipped": (
            lambda xp, x, y: xp.where(x > y, xp.minimum(x, 1), xp.maximum(y, -1)),
            lambda x, y: t.where(x > y, t.clamp(x, max=1), t.clamp(y, min=-1)),
        ),
        "waves": (
            lambda xp, x, y: xp.sin(x) * xp.cos(y) + xp.tanh(x * y),
            lambda x, y: t.sin(x) * t.cos(y) + t.tanh(x * y),
        ),
        "logs": (
            lambda xp, x, y: xp.log1p(x * x) * xp.sqrt(1 + y * y) / (1 + abs(x)),
            lambda x, y: t.log1p(x * x) * t.sqrt(1 + y * y) / (1 + abs(x)),
        ),
    }
    for name, (f, by_torch) in chains.items():
        for size in (100, 65_537, 2_000_000):
            for dtype in (F32, F64) if size < 1_000_000 else (F32, F64)[: 1 + (name == "axpy")]:
                x, y = normal(size, dtype=dtype), normal(size, dtype=dtype, seed=1)
                yield from everywhere("elementwise", f"{name} {size}", (x, y), f, by_torch, grad=size == 65_537)
    f, by_torch = chains["logs"]
    for name, first, second in [
        *[("row", (999, 1001), (1001,)), ("column", (999, 1001), (999, 1)), ("outer", (700, 1), (1, 900))],
        *[("short rows", (30_000, 7), (7,)), ("batches", (50, 3, 64, 64), (3, 1, 1))],
    ]:
        x, y = normal(*first), normal(*second)
        yield from everywhere("elementwise", f"logs by {name}", (x, y), f, by_torch, grad=True)
    for dtype in (I32, I64, np.dtype("int8"), np.dtype("uint8")):
        x, y = integers(100, 100_003, dtype=dtype), integers(20, 100_003, dtype=dtype, seed=1)
        yield from everywhere(
            "elementwise", "integers", (x, y), lambda xp, x, y: xp.where(x > y, x * 3 + y, x ^ y) // (y | 1),
            lambda x, y: t.where(x > y, x * 3 + y, x ^ y) // (y | 1),
        )  # fmt: skip
    x, y = normal(100_003, dtype=BF16), normal(100_003, dtype=BF16, seed=1)
    yield from everywhere("elementwise", "gaussian", (x, y), *chains["gaussian"], grad=True)


def reductions() -> Iterator[Case]:
    """Sums, extrema and norms along every axis of many shapes."""
    kinds: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
        "sum": (lambda xp, x, a: xp.sum(x, axis=a), lambda x, a: t.sum(x, a)),
        "max": (lambda xp, x, a: xp.max(x, axis=a), lambda x, a: t.amax(x, a)),
        "var": (lambda xp, x, a: xp.var(x, axis=a), lambda x, a: t.var(x, a, correction=0)),
        "argmax": (lambda xp, x, a: xp.argmax(x, axis=a), lambda x, a: t.argmax(x, a)),
        "softmax": (
            lambda xp, x, a: (lambda e: e / xp.sum(e, axis=a, keepdims=True))(
                xp.exp(x - xp.max(x, axis=a, keepdims=True))
            ),
            lambda x, a: t.softmax(x, a),
        ),
    }
    for shape in ((16, 100_000), (100_000, 16), (64, 127, 65), (1_000_003,), (5, 7, 11, 13), (2000, 1)):
        for axis in range(len(shape)):
            for name, (f, by_torch) in kinds.items():
                if (name == "var" and len(shape) > 2) or (name == "softmax" and len(shape) == 4):
                    continue
                yield from everywhere(
                    "reductions", f"{name} of {_by(shape)} axis {axis}", (normal(*shape),),
                    lambda xp, x, f=f, a=axis: f(xp, x, a), lambda x, f=by_torch, a=axis: f(x, a),
                    grad=name in ("var", "softmax") and len(shape) == 2,
                )  # fmt: skip
    for shape in ((3000, 1000), (1000, 3000)):
        for axis in (0, 1):
            yield from everywhere(
                "reductions", f"sum of transposed {_by(shape)} axis {axis}", (normal(*shape),),
                lambda xp, x, a=axis: xp.sum(x.T * 2, axis=a), lambda x, a=axis: (x.T * 2).sum(a),
            )  # fmt: skip
    for dtype in (F64, I32, BF16, np.dtype("int8")):
        x = integers(9, 512, 1025, dtype=dtype) if dtype.kind == "i" else normal(512, 1025, dtype=dtype)
        for axis in (0, 1):
            yield from everywhere(
                "reductions", f"sum of 512x1025 axis {axis}", (x,), lambda xp, x, a=axis: xp.sum(x, axis=a),
                lambda x, a=axis: x.sum(a),
            )  # fmt: skip
    yield from _prefixes()


def _prefixes() -> Iterator[Case]:
    for dtype in (F32, I64):
        for shape, axis in (((1_000_000,), 0), ((1000, 1000), 0), ((1000, 1000), 1)):
            x = normal(*shape) if dtype == F32 else integers(9, *shape, dtype=dtype)
            yield from everywhere(
                "reductions", f"cumsum of {_by(shape)} axis {axis}", (x,), lambda xp, x, a=axis: xp.cumsum(x, axis=a),
                lambda x, a=axis: t.cumsum(x, a), grad=dtype == F32 and len(shape) == 2,
            )  # fmt: skip


def layouts() -> Iterator[Case]:
    """Copies: transposes, slices with strides, joins and shifts."""
    for shape, order in [
        *[((2000, 1500), (1, 0)), ((512, 512), (1, 0)), ((4, 500_000), (1, 0)), ((500_000, 4), (1, 0))],
        *[((32, 64, 28, 28), (0, 2, 3, 1)), ((32, 28, 28, 64), (0, 3, 1, 2)), ((8, 128, 8, 64), (0, 2, 1, 3))],
        *[((97, 101, 103), (2, 1, 0)), ((97, 101, 103), (1, 0, 2))],
    ]:
        for dtype in (F32, F64) if len(shape) == 2 else (F32,):
            yield from everywhere(
                "layouts", f"transpose {_by(shape)} to {order}", (normal(*shape, dtype=dtype),),
                lambda xp, x, o=order: xp.transpose(x, o) + 1, lambda x, o=order: (x.permute(o) + 1).contiguous(),
            )  # fmt: skip
    x = normal(1000, 1001)
    same: dict[str, Callable[[Any], Any]] = {
        "every other row": lambda x: x[::2] * 2,
        "every other column": lambda x: x[:, ::2] * 2,
        "every third of both": lambda x: x[1::3, 2::3] * 2,
        "inner block": lambda x: x[10:-10, 7:-3] * 2,
        "differences": lambda x: x[:, 1:] - x[:, :-1],
        "Laplacian": lambda x: x[1:-1, :-2] + x[1:-1, 2:] + x[:-2, 1:-1] + x[2:, 1:-1] - 4 * x[1:-1, 1:-1],
    }
    for name, f in same.items():
        yield from everywhere("layouts", name, (x,), lambda xp, x, f=f: f(x), f, grad=True)
    y = normal(1000, 1001, seed=1)
    for name, g, by_torch in [
        ("flip rows", lambda xp, x, y: xp.flip(x, 0) + y, lambda x, y: t.flip(x, (0,)) + y),
        ("flip columns", lambda xp, x, y: xp.flip(x, 1) + y, lambda x, y: t.flip(x, (1,)) + y),
        ("roll", lambda xp, x, y: xp.roll(x, 3, axis=1) * y, lambda x, y: t.roll(x, 3, 1) * y),
        (
            "pad",
            lambda xp, x, y: xp.pad(x * y, ((1, 1), (2, 2))),
            lambda x, y: t.nn.functional.pad(x * y, (2, 2, 1, 1)),
        ),
        ("concatenate rows", lambda xp, x, y: xp.concatenate([x, y * 2], axis=0), lambda x, y: t.cat([x, y * 2], 0)),
        ("concatenate columns", lambda xp, x, y: xp.concatenate([x, y * 2], axis=1), lambda x, y: t.cat([x, y * 2], 1)),
        (
            "rows of two parts",
            lambda xp, x, y: xp.concatenate([xp.maximum(x[:, :33], 0), xp.tanh(y[:, :31])], axis=1),
            lambda x, y: t.cat([t.relu(x[:, :33]), t.tanh(y[:, :31])], 1),
        ),
        ("stack last", lambda xp, x, y: xp.stack([x, y * 2], axis=-1), lambda x, y: t.stack([x, y * 2], -1)),
        ("repeat", lambda xp, x, y: xp.repeat(x, 3, axis=0) * 2, lambda x, y: t.repeat_interleave(x, 3, 0) * 2),
        ("triangle", lambda xp, x, y: xp.tril(x * y), lambda x, y: t.tril(x * y)),
        ("transposed sum", lambda xp, x, y: x[:, :1000].T + y[:, :1000], lambda x, y: x[:, :1000].T + y[:, :1000]),
    ]:
        yield from everywhere("layouts", name, (x, y), g, by_torch, grad=True)


def indices() -> Iterator[Case]:
    """Gathers and scatters: scalars, rows, columns and along an axis."""
    table, many, few = normal(50_000), integers(50_000, 200_000), integers(50_000, 1000, seed=1)
    for name, at in (("200000", many), ("1000", few)):
        values = normal(len(at), seed=2)
        yield from everywhere(
            "indices", f"gather {name} scalars", (table, at), lambda xp, x, i: x[i], lambda x, i: x[i.long()], grad=True
        )
        yield from both(
            "indices", f"scatter-add {name} scalars", (table, at, values),
            lambda x, i, v: x.at[i].add(v), lambda x, i, v: x.at[i].add(v),
            lambda x, i, v: x.index_add(0, i, v), wrt=(0, 2),
        )  # fmt: skip
    for rows, width in ((10_000, 64), (1000, 768), (100_000, 3)):
        table, at = normal(rows, width), integers(rows, 4096)
        yield from everywhere(
            "indices",
            f"gather rows of {rows}x{width}",
            (table, at),
            lambda xp, x, i: x[i],
            lambda x, i: x[i.long()],
            grad=True,
        )
    x, at = normal(512, 2000), integers(2000, 100, seed=3)
    yield from everywhere(
        "indices", "gather columns", (x, at), lambda xp, x, i: x[:, i], lambda x, i: x[:, i.long()], grad=True
    )
    along = integers(2000, 512, 50, seed=4)
    yield from everywhere(
        "indices", "take_along_axis", (x, along), lambda xp, x, i: xp.take_along_axis(x, i, axis=1),
        lambda x, i: t.gather(x, 1, i.long()), grad=True,
    )  # fmt: skip
    i, j = integers(512, 20_000, seed=5), integers(2000, 20_000, seed=6)
    yield from everywhere(
        "indices",
        "gather of pairs",
        (x, i, j),
        lambda xp, x, i, j: x[i, j],
        lambda x, i, j: x[i.long(), j.long()],
        grad=True,
    )
    data, segments = normal(20_000, 32), integers(500, 20_000, seed=7)
    yield from both(
        "indices", "segment_sum", (data, segments), lambda x, s: rlx.segment_sum(x, s, 500),
        lambda x, s: jax.ops.segment_sum(x, s, 500), lambda x, s: t.zeros(500, 32).index_add(0, s, x),
    )  # fmt: skip
    image, grid = normal(1, 8, 64, 64), np.clip(normal(1, 50, 50, 2) / 2, -1, 1)
    yield from both(
        "indices", "grid_sample", (image, grid), rlx.nn.grid_sample, None,
        lambda x, g: t.nn.functional.grid_sample(x, g, align_corners=False),
    )  # fmt: skip


def sorting() -> Iterator[Case]:
    """Sorts, selections, searches and histograms of floats and integers."""
    for dtype in (F32, F64, I32, I64):
        for shape in ((1000,), (1_000_000,), (1000, 64), (64, 1000)):
            x = normal(*shape, dtype=dtype) if dtype.kind == "f" else integers(1 << 30, *shape, dtype=dtype)
            yield from everywhere(
                "sorting", f"sort {_by(shape)}", (x,), lambda xp, x: xp.sort(x), lambda x: t.sort(x)[0],
                grad=dtype == F32 and shape == (1000, 64),
            )  # fmt: skip
            if dtype in (F32, I32):
                yield from everywhere(
                    "sorting",
                    f"argsort {_by(shape)}",
                    (x,),
                    lambda xp, x: xp.argsort(x, **({"kind": "stable"} if xp is np else {})),
                    lambda x: t.argsort(x, stable=True),
                )
    x = normal(30_000)
    yield from everywhere(
        "sorting", "median 30000", (x,), lambda xp, x: xp.median(x), lambda x: t.quantile(x.double(), 0.5).float()
    )
    rows = normal(500, 301)
    yield from everywhere(
        "sorting", "median 500x301", (rows,), lambda xp, x: xp.median(x, axis=1), lambda x: t.median(x, 1)[0], grad=True
    )
    yield from both(
        "sorting", "topk 10 of 100x10000", (normal(100, 10_000),), lambda x: rlx.topk_values(x, 10),
        lambda x: jax.lax.top_k(x, 10)[0], lambda x: t.topk(x, 10)[0], grad=False,
    )  # fmt: skip
    for n, m in ((1000, 1000), (100_000, 100_000), (16, 100_000)):
        keys, wanted = np.sort(normal(n)), normal(m, seed=1)
        yield from everywhere(
            "sorting",
            f"searchsorted {m} in {n}",
            (keys, wanted),
            lambda xp, k, v: xp.searchsorted(k, v),
            lambda k, v: t.searchsorted(k, v),
        )
        yield from everywhere(
            "sorting", f"interp {m} in {n}", (keys, wanted), lambda xp, k, v: xp.interp(v, k, k * 2), None
        )
    counts = integers(256, 200_000)
    yield from both(
        "sorting",
        "bincount",
        (counts,),
        lambda x: rlx.bincount(x, length=256),
        lambda x: jnp.bincount(x, length=256),
        lambda x: t.bincount(x, minlength=256),
        grad=False,
    )
    yield from everywhere(
        "sorting",
        "quantiles",
        (normal(100_000),),
        lambda xp, x: xp.quantile(x, np.float32([0.1, 0.5, 0.9])),
        lambda x: t.quantile(x, t.tensor([0.1, 0.5, 0.9])),
    )


def products() -> Iterator[Case]:
    """Products of all transpositions: square, odd, thin, tall, wide, of vectors and in batches."""
    forms: dict[str, Callable[[Any, Any], Any]] = {
        "nn": lambda x, y: x @ y, "nt": lambda x, y: x @ y.T, "tn": lambda x, y: x.T @ y, "tt": lambda x, y: x.T @ y.T
    }  # fmt: skip
    sizes = [(1, 1024, 1024), (1024, 1024, 1), (512, 512, 512), (129, 257, 513), (50, 100_000, 50), (8, 4096, 8)]
    for m, k, n in [*sizes, (2000, 3, 2000), (7, 7, 7), (33, 1000, 5)]:
        for name, f in forms.items():
            x = normal(*((k, m) if name[0] == "t" else (m, k)))
            y = normal(*((n, k) if name[1] == "t" else (k, n)), seed=1)
            yield from everywhere(
                "products", f"{m}x{k}x{n} {name}", (x, y), lambda xp, x, y, f=f: f(x, y), f, grad=name == "nn"
            )
    for m, k, n in ((512, 512, 512), (1, 1024, 1024), (129, 257, 513)):
        yield from everywhere(
            "products",
            f"{m}x{k}x{n} nn",
            (normal(m, k, dtype=F64), normal(k, n, dtype=F64)),
            lambda xp, x, y: x @ y,
            lambda x, y: x @ y,
        )
    x, w = normal(100_000, 50), normal(50)
    yield from everywhere(
        "products",
        "logistic regression",
        (w, x),
        lambda xp, w, x: xp.log1p(xp.exp(-abs(x @ w))).mean(),
        lambda w, x: t.log1p(t.exp(-abs(x @ w))).mean(),
        grad=True,
    )
    for name, path, first, second in [
        *[
            ("batched", "bij,bjk->bik", (64, 33, 47), (64, 47, 29)),
            ("batched nt", "bij,bkj->bik", (8, 128, 64), (8, 128, 64)),
        ],
        *[("heads", "bqhd,bkhd->bhqk", (2, 100, 8, 64), (2, 100, 8, 64)), ("outer", "i,j->ij", (1500,), (1300,))],
        *[("bilinear", "bi,ijk->bjk", (64, 50), (50, 30, 40)), ("trace", "ij,ji->", (1000, 1000), (1000, 1000))],
    ]:
        yield from everywhere(
            "products",
            f"einsum {name}",
            (normal(*first), normal(*second)),
            lambda xp, x, y, p=path: xp.einsum(p, x, y),
            lambda x, y, p=path: t.einsum(p, x, y),
            grad=True,
        )
    three = (normal(64, 500), normal(500, 300), normal(300, 20))
    yield from everywhere(
        "products",
        "einsum of three",
        three,
        lambda xp, x, y, z: xp.einsum("ij,jk,kl->il", x, y, z, **({"optimize": True} if xp is np else {})),
        lambda x, y, z: x @ (y @ z),
        grad=True,
    )
    for m, k, n in ((256, 512, 512), (64, 1024, 1024)):
        x, y = normal(m, k, dtype=BF16), normal(k, n, dtype=BF16, seed=1)
        yield from everywhere(
            "products", f"{m}x{k}x{n} nn", (x, y), lambda xp, x, y: x @ y, lambda x, y: x @ y, grad=True
        )


def _by(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape))
