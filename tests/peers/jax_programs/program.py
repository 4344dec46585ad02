"""What a program of the corpus is: a function of JAX, arguments, and what is compared."""

# pyright: reportMissingImports=false

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

VALUES, REVERSE, BOTH, SECOND = "values", "gradient", "gradient and tangent", "and Hessian-vector product"


@dataclass(frozen=True)
class Program:
    """A function of JAX that restates a public program."""

    name: str
    source: str
    """The page or the package that it is from."""
    f: Callable[..., Any]
    args: tuple[Any, ...]
    compared: str
    """Which derivatives are compared beside the values."""
    argnums: tuple[int, ...] | None
    """Arguments that derivatives are taken by; None for all that are floats."""
    tolerance: float | None
    """Largest difference of values; None is that of the element types."""
    slack: float
    """Largest difference of derivatives."""


class Programs:
    """The programs of one source, in order."""

    def __init__(self, source: str):
        self.source = source
        self.all: list[Program] = []

    def add(
        self,
        *args: Any,
        compared: str = BOTH,
        argnums: tuple[int, ...] | None = None,
        tolerance: float | None = None,
        slack: float = 1e-9,
        page: str = "",
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Decorator that adds a function with arguments."""

        def decorate(f: Callable[..., Any]) -> Callable[..., Any]:
            name = f.__name__.strip("_")
            source = f"{self.source}, {page}" if page else self.source
            self.all.append(Program(name, source, f, args, compared, argnums, tolerance, slack))
            return f

        return decorate


def numbers(seed: int) -> Callable[..., Any]:
    """A function that draws f32 numbers around 0, of a shape."""
    rng = np.random.default_rng(seed)
    return lambda *shape, scale=1.0: (rng.standard_normal(shape) * scale).astype(np.float32)


def arrays(tree: Any) -> Any:
    """A tree with NumPy's arrays for those of JAX, in types of 32 bits."""
    narrow = {"float64": np.float32, "int64": np.int32}

    def one(x: Any) -> Any:
        if not isinstance(x, jax.Array) or _is_key(x):
            return x
        return np.asarray(x, narrow.get(str(x.dtype), x.dtype))

    return jax.tree.map(one, tree)


def _is_key(x: Any) -> bool:
    return jax.dtypes.issubdtype(x.dtype, jax.dtypes.prng_key)
