"""Compares functions of JAX with what `rlx.from_jax` makes of them: values, gradients, tangents, second derivatives."""

# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import xdsl_rlx as rlx

EXACT = 1e-9
"""Largest difference of derivatives in f64, relative to the largest element or 1."""

ROUNDED = {"float64": 1e-11, "complex128": 1e-11, "float32": 5e-6, "complex64": 5e-6, "float16": 4e-3, "bfloat16": 4e-2}
"""Largest difference of values by element type; integers and booleans are equal."""


def same(found: Any, expected: Any, tolerance: float | None = None) -> None:
    """Assert that two trees of arrays have the same structure, types and, up to rounding, numbers."""
    ours, theirs = jax.tree.leaves(found), jax.tree.leaves(expected)
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    for a, b in zip(ours, theirs, strict=True):
        if jnp.issubdtype(jnp.asarray(b).dtype if not hasattr(b, "dtype") else b.dtype, jax.dtypes.prng_key):
            a, b = jax.random.key_data(a), jax.random.key_data(b)
        a, b = np.asarray(a), np.asarray(b)
        assert a.shape == b.shape and a.dtype == b.dtype, f"{a.dtype}{a.shape}, expected {b.dtype}{b.shape}"
        if not np.issubdtype(np.float64 if str(b.dtype) == "bfloat16" else b.dtype, np.inexact):
            assert np.array_equal(a, b), f"{a}, expected {b}"
            continue
        wide = np.complex128 if np.iscomplexobj(b) else np.float64
        x, y = a.astype(wide), b.astype(wide)
        assert np.array_equal(np.isfinite(x), np.isfinite(y)), f"{a}, expected {b}"
        rest = ~np.isfinite(y)
        assert np.array_equal(x[rest], y[rest], equal_nan=True), f"{a}, expected {b}"
        scale = max(1.0, float(np.max(np.abs(y[~rest]), initial=0)))
        error = float(np.max(np.abs(x[~rest] - y[~rest]), initial=0)) / scale
        limit = ROUNDED[str(b.dtype)] if tolerance is None else tolerance
        assert error <= limit, f"difference {error:.2g}: {a}, expected {b}"


def weights(shape: Sequence[int], number: int) -> Any:
    """Numbers that are none of a pattern."""
    return np.cos(np.arange(int(np.prod(shape))) * 1.7 + number).reshape(shape)


def _scalar(results: Any) -> Any:
    """A number that depends on all elements of the results that are not integers."""
    total: Any = 0.0
    for number, x in enumerate(jax.tree.leaves(results)):
        if jnp.issubdtype(x.dtype, jnp.complexfloating):
            total += (x.real * weights(x.shape, number)).sum() + (x.imag * weights(x.shape, number + 1)).sum()
        elif jnp.issubdtype(x.dtype, jnp.floating):
            total += (x * weights(x.shape, number).astype(x.dtype)).sum()
    return total


def floats(args: Sequence[Any]) -> tuple[int, ...]:
    """Positions of arguments whose leaves are all floats, with one at least."""

    def holds(arg: Any) -> bool:
        leaves = jax.tree.leaves(arg)
        kinds = [np.asarray(x).dtype for x in leaves if not _is_key(x)]
        return bool(leaves) and len(kinds) == len(leaves) and all(kind.kind in "fc" for kind in kinds)

    return tuple(n for n, arg in enumerate(args) if holds(arg))


def _is_key(x: Any) -> bool:
    return hasattr(x, "dtype") and jnp.issubdtype(x.dtype, jax.dtypes.prng_key)


def wide(tree: Any) -> Any:
    """A tree with f64 for f32, and c128 for c64."""

    def one(x: Any) -> Any:
        if _is_key(x) or not hasattr(x, "dtype"):
            return x
        kind = np.asarray(x).dtype
        return np.asarray(x, {"f": np.float64, "c": np.complex128}.get(kind.kind, kind))

    return jax.tree.map(one, tree)


def values(f: Callable[..., Any], *args: Any, tolerance: float | None = None, x64: bool = False) -> None:
    """Assert that values are JAX's, with its default types or with `x64`."""
    with jax.enable_x64(x64):
        same(rlx.from_jax(f)(*args), jax.jit(f)(*args), tolerance)


def derivatives(
    f: Callable[..., Any], *args: Any, argnums: Sequence[int] | None = None, orders: float = 2, tolerance: float = EXACT
) -> None:
    """
    Assert that derivatives in f64 by all floating-point arguments are those of JAX.

    They are the gradient, the tangent along a direction unless `orders` is less than 1, and with `orders=2` the Hessian
    times that direction.
    """
    args = wide(args)
    which = tuple(floats(args) if argnums is None else argnums)

    def of(*some: Any) -> Any:
        every = list(args)
        for n, x in zip(which, some, strict=True):
            every[n] = x
        return _scalar(f(*every))

    def all_of(lib: Any, of: Any, jvp: Any) -> Callable[..., Any]:
        gradient = lib.grad(of, tuple(range(len(which))))
        if orders < 1:
            return lambda a, b: gradient(*a)
        if orders < 2:
            return lambda a, b: (gradient(*a), jvp(of, a, b))
        return lambda a, b: (jvp(gradient, a, b), jvp(of, a, b))

    moving = tuple(args[n] for n in which)
    along = jax.tree.map(lambda x: weights(np.shape(x), 3).astype(x.dtype)[()], moving)
    with jax.enable_x64(True):
        expected = jax.jit(all_of(jax, of, jax.jvp))(moving, along)
        found = rlx.compile(all_of(rlx, rlx.from_jax(of), lambda f, a, b: tuple(rlx.jvp(f)(a, b))))(moving, along)
    same(found, jax.tree.map(np.asarray, expected), tolerance)
