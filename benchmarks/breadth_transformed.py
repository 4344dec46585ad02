"""Cases of `breadth.py` about transformed functions: derivatives of derivatives, of batches, and Jacobians."""

# Functions of three libraries, of arrays of any of them.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false, reportMissingImports=false

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from breadth_case import F64, Case, both, integers, normal, torch

import xdsl_rlx as rlx

t: Any = torch
Of = Callable[[Any, Any], Callable[..., Any]]
"""A function of NumPy's functions in a library, and of the library's transformations."""


def transformed() -> Iterator[Case]:
    """Second derivatives, Jacobians, derivatives of each example, forward mode, inner loops and penalties."""
    for f in (_per_example, _jacobians, _second, _forward, _nested):
        yield from f()


def _case(name: str, arrays: tuple[Any, ...], f: Of, tolerance: float = 1e-3) -> Iterator[Case]:
    by_torch = f(_Torch(), t.func) if torch else None
    yield from both("transformed", name, arrays, f(np, _Ours()), f(jnp, jax), by_torch, grad=False, tolerance=tolerance)


class _Ours:
    """The transformations of this package, called as JAX's are."""

    def __getattr__(self, name: str) -> Any:
        return getattr(rlx, name)

    def jvp(self, f: Any, primals: Any, tangents: Any) -> Any:
        return rlx.jvp(f)(primals, tangents)

    def vjp(self, f: Any, *primals: Any) -> Any:
        return f(*primals), lambda cotangent: rlx.vjp(f)(primals, cotangent)[1]


class _Torch:
    """The functions of PyTorch under NumPy's names."""

    def __getattr__(self, name: str) -> Any:
        return getattr(t, name)


def _mlp(xp: Any, w: Any, v: Any, x: Any) -> Any:
    return xp.tanh(x @ w) @ v


def _per_example() -> Iterator[Case]:
    def of(xp: Any, lib: Any) -> Any:
        one = lib.grad(lambda w, v, x: (_mlp(xp, w, v, x) ** 2).sum(), (0, 1))
        return lib.vmap(one, (None, None, 0))

    def norms(xp: Any, lib: Any) -> Any:
        each = of(xp, lib)
        return lambda w, v, x: sum((g**2).sum(tuple(range(1, g.ndim))) for g in each(w, v, x))

    def clipped(xp: Any, lib: Any) -> Any:
        each = of(xp, lib)

        def f(w: Any, v: Any, x: Any) -> Any:
            dw, dv = each(w, v, x)
            norm = xp.sqrt((dw**2).sum((1, 2)) + (dv**2).sum((1, 2)))
            scale = 1 / (1 + norm)
            return (dw * scale[:, None, None]).sum(0), (dv * scale[:, None, None]).sum(0)

        return f

    for batch, inner in ((32, 64), (128, 100), (500, 33)):
        arrays = (normal(20, inner) / 5, normal(inner, 7) / 8, normal(batch, 20))
        yield from _case(f"gradients of {batch} examples", arrays, of)
        yield from _case(f"norms of {batch} gradients", arrays, norms)
        yield from _case(f"clipped gradients of {batch}", arrays, clipped)


def _jacobians() -> Iterator[Case]:
    def field(xp: Any) -> Any:
        return lambda x, w, v: xp.tanh(x @ w) @ v

    for n in (8, 30, 100):
        arrays = (normal(n), normal(n, 64) / n**0.5, normal(64, n) / 8)
        yield from _case(f"jacrev of {n}", arrays, lambda xp, lib: lib.jacrev(field(xp)))
        yield from _case(f"jacfwd of {n}", arrays, lambda xp, lib: lib.jacfwd(field(xp)))
        batched = (normal(64, n), *arrays[1:])
        yield from _case(
            f"jacfwd of {n} by 64", batched,
            lambda xp, lib: lib.vmap(lib.jacfwd(field(xp)), (0, None, None)),
        )  # fmt: skip
        yield from _case(
            f"divergence of {n} by 64", batched,
            lambda xp, lib: lib.vmap(lambda *a: xp.trace(lib.jacrev(field(xp))(*a)), (0, None, None)),
        )  # fmt: skip


def _second() -> Iterator[Case]:
    def loss(xp: Any) -> Any:
        return lambda w, x: xp.log(1 + xp.exp(-(x @ w))).mean() + 0.1 * (w**2).sum()

    for n, rows in ((10, 200), (100, 1000), (37, 5000)):
        arrays = (normal(n) / 4, normal(rows, n))
        yield from _case(f"hessian of {n} over {rows}", arrays, lambda xp, lib: lib.hessian(loss(xp)))
        yield from _case(
            f"hvp of {n} over {rows}", (*arrays, normal(n, seed=2)),
            lambda xp, lib: lambda w, x, u: lib.jvp(lambda w: lib.grad(loss(xp))(w, x), (w,), (u,))[1],
        )  # fmt: skip

    def rosenbrock(xp: Any) -> Any:
        return lambda x: (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()

    yield from _case("hessian of rosenbrock 50", (normal(50),), lambda xp, lib: lib.hessian(rosenbrock(xp)))
    yield from _case("hessian of rosenbrock 50", (normal(50, dtype=F64),), lambda xp, lib: lib.hessian(rosenbrock(xp)))

    def laplacian(xp: Any, lib: Any) -> Any:
        def net(x: Any, w: Any, v: Any) -> Any:
            return (xp.tanh(x @ w) * v).sum()

        one = lib.hessian(net)
        return lib.vmap(lambda x, w, v: xp.trace(one(x, w, v)), (0, None, None))

    yield from _case("laplacian of 200 points", (normal(200, 3), normal(3, 64), normal(64)), laplacian)


def _forward() -> Iterator[Case]:
    def directional(xp: Any, lib: Any) -> Any:
        return lambda x, u, w, v: lib.jvp(lambda x: _mlp(xp, w, v, x), (x,), (u,))

    for rows, n in ((100, 64), (33, 257)):
        arrays = (normal(rows, n), normal(rows, n, seed=1), normal(n, 128) / 9, normal(128, 10) / 9)
        yield from _case(f"jvp of {rows}x{n}", arrays, directional)

    def linearised(xp: Any, lib: Any) -> Any:
        def f(x: Any, us: Any, w: Any, v: Any) -> Any:
            return lib.vmap(lambda u: lib.jvp(lambda x: _mlp(xp, w, v, x), (x,), (u,))[1])(us)

        return f

    arrays = (normal(64), normal(40, 64, seed=1), normal(64, 128) / 9, normal(128, 10) / 9)
    yield from _case("jvps of 40 tangents", arrays, linearised)

    def pulled(xp: Any, lib: Any) -> Any:
        def f(x: Any, us: Any, w: Any, v: Any) -> Any:
            pull = lib.vjp(lambda x: _mlp(xp, w, v, x), x)[1]
            return lib.vmap(lambda u: pull(u)[0])(us)

        return f

    arrays = (normal(64), normal(10, 10, seed=1), normal(64, 128) / 9, normal(128, 10) / 9)
    yield from _case("vjps of 10 cotangents", arrays, pulled)


def _nested() -> Iterator[Case]:
    def penalised(xp: Any, lib: Any) -> Any:
        def critic(w: Any, v: Any, x: Any) -> Any:
            return (xp.tanh(x @ w) @ v).sum()

        def loss(w: Any, v: Any, x: Any) -> Any:
            slope = lib.grad(critic, 2)(w, v, x)
            norm = xp.sqrt((slope**2).sum(1) + 1e-6)
            return critic(w, v, x) + ((norm - 1) ** 2).mean()

        return lib.grad(loss, (0, 1))

    yield from _case("gradient penalty", (normal(32, 128) / 6, normal(128) / 11, normal(100, 32)), penalised)

    def adapted(xp: Any, lib: Any) -> Any:
        def loss(w: Any, x: Any, y: Any) -> Any:
            return ((xp.tanh(x @ w[0]) @ w[1] - y) ** 2).mean()

        def outer(a: Any, b: Any, x: Any, y: Any) -> Any:
            w = (a, b)
            for _ in range(3):
                w = tuple(p - 0.1 * g for p, g in zip(w, lib.grad(loss)(w, x, y), strict=True))
            return loss(w, x, y)

        return lib.grad(outer, (0, 1))

    arrays = (normal(8, 64) / 3, normal(64, 1) / 8, normal(50, 8), normal(50, 1, seed=1))
    yield from _case("gradient through three steps", arrays, adapted)

    def distances(xp: Any, lib: Any) -> Any:
        def energy(x: Any) -> Any:
            r2 = ((x[:, None] - x[None]) ** 2).sum(-1) + 0.1
            return (1 / r2**2 - 1 / r2).sum() / 2

        return lambda x: lib.grad(energy)(x)

    for n in (20, 100, 301):
        yield from _case(f"forces of {n}", (normal(n, 3) * 3,), distances)
        yield from _case(f"forces of 16 by {n}", (normal(16, n, 3) * 3,), lambda xp, lib: lib.vmap(distances(xp, lib)))

    def ensemble(xp: Any, lib: Any) -> Any:
        def loss(w: Any, v: Any, x: Any, y: Any) -> Any:
            z = _mlp(xp, w, v, x)
            return -(z - xp.log(xp.exp(z).sum(-1))[:, None])[xp.arange(len(x)), y].mean()

        return lib.vmap(lib.grad(loss, (0, 1)), (0, 0, None, None))

    arrays = (normal(8, 20, 64) / 5, normal(8, 64, 10) / 8, normal(64, 20), integers(10, 64, dtype=np.dtype("i8")))
    yield from _case("gradients of 8 models", arrays, ensemble)
