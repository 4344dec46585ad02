"""What a case of `breadth.py` is, and the data that cases are made from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

torch: Any = import_module("torch") if find_spec("torch") else None
F: Any = torch.nn.functional if torch else None

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_enable_x64", True)

Function = Callable[..., Any]
Array = np.ndarray[Any, Any]

F32, F64, I32, I64 = (np.dtype(name) for name in ("float32", "float64", "int32", "int64"))
BF16 = np.dtype(jnp.bfloat16)


@dataclass(frozen=True)
class Case:
    """A function of arrays in each library; it is differentiated by the arguments `wrt`, if there are any."""

    family: str
    name: str
    arrays: tuple[Array, ...]
    ours: Function
    jax: Function | None = None
    torch: Function | None = None
    numpy: Function | None = None
    wrt: tuple[int, ...] = ()
    tolerance: float = 2e-4
    """The largest difference allowed between two libraries, relative to the largest element."""


def everywhere(
    family: str,
    name: str,
    arrays: tuple[Array, ...],
    f: Function,
    by_torch: Function | None = None,
    *,
    grad: bool = False,
) -> list[Case]:
    """Return the case of `f(xp, *arrays)`, which this package, JAX and NumPy write alike, and that of its gradient."""

    def ours(*xs: Any) -> Any:
        return f(np, *xs)

    def by_jax(*xs: Any) -> Any:
        return f(jnp, *xs)

    of_types = f"{name} {kind(arrays[0].dtype)}"
    numpy = ours if arrays[0].dtype != BF16 else None
    tolerance = 4e-2 if arrays[0].dtype == BF16 else 2e-4
    cases = [Case(family, of_types, arrays, ours, by_jax, by_torch, numpy, tolerance=tolerance)]
    if grad:
        wrt = tuple(n for n, x in enumerate(arrays) if x.dtype in (F32, F64, BF16))
        cases.append(Case(family, f"{of_types} grad", arrays, ours, by_jax, by_torch, None, wrt, tolerance))
    return cases


def both(
    family: str,
    name: str,
    arrays: tuple[Array, ...],
    ours: Function,
    by_jax: Function | None,
    by_torch: Function | None = None,
    *,
    grad: bool = True,
    value: bool = True,
    wrt: tuple[int, ...] | None = None,
    tolerance: float = 2e-4,
) -> list[Case]:
    """Return the case of functions that each library writes its own way, and that of their gradient."""
    of_types = f"{name} {kind(arrays[0].dtype)}"
    floats = tuple(n for n, x in enumerate(arrays) if x.dtype in (F32, F64, BF16))
    cases = [Case(family, of_types, arrays, ours, by_jax, by_torch, None, (), tolerance)] if value else []
    if grad:
        cases.append(
            Case(
                family,
                f"{of_types} grad",
                arrays,
                ours,
                by_jax,
                by_torch,
                None,
                floats if wrt is None else wrt,
                tolerance,
            )
        )
    return cases


def kind(dtype: np.dtype[Any]) -> str:
    """Return the short name of an element type."""
    return "bf16" if dtype == BF16 else f"{dtype.kind}{8 * dtype.itemsize}"


def normal(*shape: int, dtype: np.dtype[Any] = F32, seed: int = 0) -> Array:
    """Return standard normal numbers."""
    return np.random.default_rng((seed, *shape)).standard_normal(shape).astype(dtype)


def integers(below: int, *shape: int, dtype: np.dtype[Any] = I32, seed: int = 0) -> Array:
    """Return integers from 0 to `below`, exclusive."""
    return np.random.default_rng((seed, *shape)).integers(0, below, shape).astype(dtype)


def positive_definite(n: int, *batch: int, dtype: np.dtype[Any] = F64) -> Array:
    """Return matrices `[*batch, n, n]` whose eigenvalues lie between 1 and about 5."""
    x = normal(*batch, n, n, dtype=dtype)
    return (x @ np.swapaxes(x, -1, -2) / n + np.eye(n)).astype(dtype)
