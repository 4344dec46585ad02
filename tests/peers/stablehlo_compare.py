"""Samples of all element types, and the comparison of functions by their StableHLO with XLA."""

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportMissingParameterType=false, reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import xdsl_rlx as rlx

HALVES = ("float16", "bfloat16")
WIDE = ("float32", "float64")
FLOATS = (*HALVES, *WIDE)
COMPLEXES = ("complex64", "complex128")
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTEGERS = (*SIGNED, *UNSIGNED)
TRUTHS = ("bool",)
NUMBERS = (*FLOATS, *COMPLEXES, *INTEGERS)
ALL = (*NUMBERS, *TRUTHS)


def sample(dtype: str, rng: np.random.Generator) -> Any:
    """Numbers of an element type; of integers, the least and the largest too."""
    if dtype == "bool":
        return rng.random((3, 4)) > 0.5
    if dtype in COMPLEXES:
        return (rng.standard_normal((3, 4)) + 1j * rng.standard_normal((3, 4))).astype(dtype)
    if dtype in FLOATS:
        return np.asarray(jnp.asarray(2 * rng.standard_normal((3, 4)), dtype))
    info = np.iinfo(dtype)
    x = rng.integers(max(info.min, -20), 20, (3, 4)).astype(dtype)
    x.flat[:2] = info.max, info.min
    return x


def tolerance(name: str, dtype: str) -> float:
    """XLA and this package round half floats at different places, and exponentials differ by some ulps."""
    exact = {"bfloat16": 2e-2, "float16": 4e-3, "float32": 2e-5, "complex64": 2e-5}.get(dtype, 1e-9)
    return 20 * exact if name in ("exp", "exp2", "expm1", "pow", "tan", "sinh", "cosh", "dot") else exact


def check(name: str, function: Callable[..., Any], *args: Any) -> None:
    """The values of a function by its text are those of XLA."""
    lowered = jax.jit(function, keep_unused=True).lower(*args)
    found: Any = rlx.from_stablehlo(lowered.as_text())(*args)
    for one, other in zip(
        found if isinstance(found, tuple) else (found,), jax.tree.leaves(lowered.compile()(*args)), strict=True
    ):
        other = np.asarray(other)
        dtype = other.dtype.name
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        if dtype in (*FLOATS, *COMPLEXES):
            wide = np.complex128 if dtype in COMPLEXES else np.float64
            limit = tolerance(name, dtype)
            np.testing.assert_allclose(one.astype(wide), other.astype(wide), rtol=limit, atol=limit)
        else:
            np.testing.assert_array_equal(one, other)
