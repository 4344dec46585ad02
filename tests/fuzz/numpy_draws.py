"""Random arguments of NumPy's functions: element types, shapes, special values, axes and keyword arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import cache
from typing import Any

import numpy as np

DTYPES = {
    "b": ("bool",),
    "i": ("int8", "int16", "int32", "int64"),
    "u": ("uint8", "uint32"),
    "f": ("float16", "float32", "float64"),
    "c": ("complex64", "complex128"),
}
"""The element types that graphs have, by NumPy's kinds."""

Arguments = tuple[tuple[Any, ...], dict[str, Any]]


@dataclass(frozen=True)
class Plain:
    """An array that is no argument of the compiled program."""

    array: np.ndarray


class Near(Enum):
    """How far a result may be from NumPy's."""

    ULPS = auto()
    """Each element some units in the last place from what NumPy computes, or computes in a wider type."""
    SUMS = auto()
    """Some units in the last place of the same sum of absolute values."""
    NORM = auto()
    """Some units in the last place of the largest finite element of the result, or of an operand."""
    EXACT = auto()
    """Not at all."""


@dataclass(frozen=True)
class Entry:
    """How calls of one function are drawn, and how their results are compared."""

    draw: Callable[[Draw], Arguments]
    near: Near = Near.EXACT
    ulps: float = 4
    wider: bool = True
    """Whether NumPy's result in a wider type is right too."""
    seen: Callable[[Any], Any] = lambda found: found
    """What is compared of a result, as far as NumPy's documentation says what it is."""
    complex_ulps: float | None = None
    """The units of complex results, by default as many."""
    zeros: bool = True
    """Whether the signs of zeros count."""


@cache
def special(dtype: str) -> np.ndarray:
    """Zeros, infinities, NaN, extremes, ties, and powers of 2 and 10 that the type holds exactly."""
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return np.array([True, False])
    if kind.kind in "iu":
        info = np.iinfo(kind)
        ends = (info.min, info.min + 1, info.max - 1, info.max)
        numbers = {*ends, *range(-3, 12), 15, 25, 35, 63, 64, 100, 127, -100, 2**20, 10**9, -(2**31), 2**52 + 1}
        return np.array(sorted(one for one in numbers if info.min <= one <= info.max), kind)
    if kind.kind == "c":
        parts = special("float32" if dtype == "complex64" else "float64")
        rng = np.random.default_rng(0)
        found = np.array([0, 1, -1, 1j, -1j, 1 + 1j, 3 - 4j, complex(-0.0, 0.0), complex(0.0, -0.0)], kind)
        finite = parts[np.isfinite(parts)]
        mixed = rng.permutation(finite) + 1j * rng.permutation(finite)
        return np.concatenate([found, mixed[np.isfinite(mixed) & (abs(mixed) < 1e9)].astype(kind)])
    info = np.finfo(kind)
    with np.errstate(all="ignore"):
        ends = np.array([info.max, info.tiny, info.smallest_subnormal, info.eps], kind)
        tens = np.array([10.0**n for n in (-3, -1, 1, 2, 3, 4, 5, 10, 15, 22, 30)]).astype(kind)
        twos = np.array([2.0**n for n in (-20, -14, -3, 1, 3, 10, 11, 40)]).astype(kind)
        others = np.array([0.0, 1, 0.25, 0.5, 1.5, 2.5, 3.5, 3, 7, 0.1, 0.7, 6.5, 17.3, 40.5, 700.25, np.pi, 12345.67])
        found = np.concatenate([ends, tens, twos, others.astype(kind), np.array([np.inf], kind)])
        return np.concatenate([found, -found, [kind.type(np.nan), 1 + info.eps, 1 - info.epsneg]]).astype(kind)


class Draw:
    """Random choices, each made of the numbers of one generator."""

    def __init__(self, *seed: int):
        self.rng = np.random.default_rng(seed)

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def of(self, choices: Sequence[Any]) -> Any:
        return choices[int(self.rng.integers(len(choices)))]

    def int(self, low: int, high: int) -> int:
        """A number of `[low, high]`."""
        return int(self.rng.integers(low, high + 1))

    def dtype(self, kinds: str = "biufc") -> str:
        return self.of([name for kind in kinds for name in DTYPES[kind]])

    def shape(self, *ranks: int, empty: bool = True) -> tuple[int, ...]:
        rank = self.of(ranks or (0, 1, 2, 2, 3))
        extents = (0, 1, 2, 3, 4, 5, 8) if empty and self.chance(0.2) else (1, 2, 3, 4, 5, 7)
        return tuple(self.of(extents) for _ in range(rank))

    def array(self, dtype: str, shape: Sequence[int], odd: float = 0.15, wild: bool = False) -> np.ndarray:
        """
        Numbers of moderate size, many of them equal, a part of them infinite or NaN in one array of some.

        `wild` arrays have any special value.
        """
        kind, shape = np.dtype(dtype), tuple(shape)
        if wild:
            return np.asarray(self.rng.choice(special(dtype), shape))
        if kind.kind == "b":
            return np.asarray(self.rng.random(shape) < 0.5)
        if kind.kind in "iu":
            low = 0 if kind.kind == "u" else -9
            found = self.rng.integers(low, 10, shape).astype(kind)
            if self.chance(odd):
                found = np.where(self.rng.random(shape) < 0.2, self.rng.choice(special(dtype), shape), found)
            return np.asarray(found, kind)
        if kind.kind == "c":
            part = "float32" if dtype == "complex64" else "float64"
            return np.asarray(self.array(part, shape, 0) + 1j * self.array(part, shape, 0), kind)
        found = np.round(self.rng.normal(0, 3, shape), self.of((0, 1, 6)))
        if self.chance(odd):
            found = np.where(
                self.rng.random(shape) < 0.15, self.rng.choice([np.nan, np.inf, -np.inf, -0.0], shape), found
            )
        return np.asarray(found, kind)

    def any(self, kinds: str = "biufc", *ranks: int, odd: float = 0.15, empty: bool = True) -> np.ndarray:
        """An array of any element type and shape."""
        return self.array(self.dtype(kinds), self.shape(*ranks, empty=empty), odd)

    def axis(self, rank: int) -> int:
        """An axis of an array, sometimes one that there is not."""
        if self.chance(0.04):
            return self.of((rank, -rank - 1))
        return self.int(-rank, rank - 1) if rank else 0

    def axes(self, rank: int) -> Any:
        """None, an axis, or several."""
        if self.chance(0.3) or not rank:
            return None
        if self.chance(0.5):
            return self.axis(rank)
        count = self.int(0, rank)
        found = [int(one) for one in self.rng.permutation(rank)[:count]]
        return tuple(one - rank if self.chance(0.3) else one for one in found)

    def some(self, **options: Any) -> dict[str, Any]:
        """Keyword arguments, each with a chance of a half; functions are called for those taken."""
        return {
            name: option() if callable(option) and not isinstance(option, type) else option
            for name, option in options.items()
            if self.chance(0.5)
        }


@dataclass(frozen=True)
class Call:
    """A call of a function of NumPy's, by its name."""

    name: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)

    @property
    def function(self) -> Callable[..., Any]:
        found: Any = np
        for part in self.name.split("."):
            found = getattr(found, part)
        return found

    def arrays(self) -> list[np.ndarray]:
        """The arguments of the compiled program."""
        found: list[np.ndarray] = []
        mapped((self.args, self.kwargs), lambda x: found.append(x))
        return found

    def run(self, replaced: Callable[[np.ndarray], Any]) -> Any:
        """The result for arguments that replace the arrays."""
        args, kwargs = mapped((self.args, self.kwargs), replaced)
        return self.function(*args, **kwargs)

    def __str__(self) -> str:
        words = [shown(one) for one in self.args] + [f"{key}={shown(one)}" for key, one in self.kwargs.items()]
        return f"np.{self.name}({', '.join(words)})"


def mapped(tree: Any, replaced: Callable[[np.ndarray], Any]) -> Any:
    """A tree of arguments with other leaves in the place of arrays."""
    if isinstance(tree, np.ndarray):
        return replaced(tree)
    if isinstance(tree, Plain):
        return tree.array
    if type(tree) in (list, tuple):
        return type(tree)(mapped(one, replaced) for one in tree)
    if isinstance(tree, dict):
        return {key: mapped(one, replaced) for key, one in tree.items()}
    return tree


def shown(x: Any) -> str:
    """An argument as it may be pasted into a program."""
    if isinstance(x, Plain):
        return shown(x.array)
    if isinstance(x, np.ndarray):
        text = np.array2string(x, separator=",", threshold=60, max_line_width=10**6).replace("\n", "")
        return f"{x.dtype.name}{list(x.shape)}:{text}"
    if type(x) in (list, tuple):
        return f"{'[' if type(x) is list else '('}{', '.join(map(shown, x))}{']' if type(x) is list else ')'}"
    return x.__name__ if callable(x) and hasattr(x, "__name__") else repr(x)
