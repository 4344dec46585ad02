"""Conversions, and functions that move and combine elements, in all element types, by their StableHLO."""

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportMissingParameterType=false, reportUnknownLambdaType=false

from __future__ import annotations

import zlib
from collections.abc import Callable, Generator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from peers.stablehlo_compare import ALL, FLOATS, INTEGERS, NUMBERS, TRUTHS, check, sample

STRUCTURAL: dict[str, tuple[Callable[[Any], Any], tuple[str, ...]]] = {
    "sum": (lambda x: jnp.sum(x, 0, dtype=x.dtype), NUMBERS),
    "any": (lambda x: (jnp.any(x, 0), jnp.all(x, 1)), TRUTHS),
    "transpose": (lambda x: x.T, ALL),
    "concatenate": (lambda x: jnp.concatenate([x, x]), ALL),
    "where": (lambda x: jnp.where(x == x[0], x, x[::-1]), ALL),
    "gather": (lambda x: x[jnp.array([2, 0])], ALL),
    "pad": (lambda x: jnp.pad(x, 1), ALL),
    "iota": (lambda x: x + lax.iota(x.dtype, 4), NUMBERS),
    "scan": (lambda x: lax.scan(lambda c, a: (a, c), x[0], x), ALL),
    "set": (lambda x: x.at[jnp.array([1, 1])].set(x[:2]), ALL),
    "dot": (lambda x: lax.dot(x, x.T), NUMBERS),
    "cumsum": (lax.cumsum, NUMBERS),
    "at_add": (lambda x: x.at[jnp.array([1, 1])].add(x[:2]), NUMBERS),
    "max": (lambda x: x.max(0), (*FLOATS, *INTEGERS)),
    "argmax": (lambda x: (jnp.argmax(x, 0), jnp.argmin(x, 1)), (*FLOATS, *INTEGERS, *TRUTHS)),
    "sort": (lambda x: jnp.sort(x, 0), (*FLOATS, *INTEGERS, *TRUTHS)),
    "argsort": (lambda x: jnp.argsort(x, 1, descending=True), (*FLOATS, *INTEGERS)),
    "clamp": (lambda x: lax.clamp(x[1], x[0], x[2]), (*FLOATS, *INTEGERS)),
    "top_k": (lambda x: lax.top_k(x, 2), (*FLOATS, *INTEGERS)),
    "cummax": (lax.cummax, (*FLOATS, *INTEGERS)),
}
"""Functions that move elements or combine them."""


@pytest.fixture(autouse=True)
def _wide() -> Generator[None]:  # pyright: ignore[reportUnusedFunction]
    with jax.enable_x64(True):
        yield


@pytest.mark.parametrize("source", ALL)
def test_conversions(source: str) -> None:
    x = sample(source, np.random.default_rng(3))
    x = x * np.asarray(50).astype(x.dtype) if source in FLOATS else x
    check("convert", lambda x: [lax.convert_element_type(x, target) for target in ALL], x)


@pytest.mark.parametrize("name, dtype", [(name, dtype) for name, (_, dtypes) in STRUCTURAL.items() for dtype in dtypes])
def test_functions_that_move_and_combine(name: str, dtype: str) -> None:
    rng = np.random.default_rng(zlib.crc32(f"{name} {dtype}".encode()))
    check(name, STRUCTURAL[name][0], sample(dtype, rng))
