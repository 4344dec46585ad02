"""Lines of plain NumPy, run on arrays and compiled: both give the same numbers, shapes and element types."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

import xdsl_rlx as rlx

RNG = np.random.default_rng(0)
S = RNG.uniform(-1, 1, (4, 4)) + 4 * np.eye(4)

ARGUMENTS: dict[str, Any] = {
    "a": RNG.uniform(0.2, 0.8, (3, 4)),
    "b": RNG.uniform(-2, 2, (3, 4)),
    "c": RNG.uniform(-1, 1, (2, 3, 4)),
    "f": RNG.uniform(-1, 1, (3, 4)).astype(np.float32),
    "h": RNG.uniform(-1, 1, (3, 4)).astype(np.float16),
    "v": RNG.uniform(-1, 1, 4),
    "w": RNG.uniform(-1, 1, 3),
    "r": np.float64(0.7),
    "s": S,
    "q": S @ S.T,
    "batch": RNG.uniform(-1, 1, (2, 3, 3)) + 4 * np.eye(3),
    "tall": RNG.uniform(-1, 1, (5, 3)),
    "one": np.array([[2.5]]),
    "n": RNG.integers(-9, 9, (3, 4)),
    "m": RNG.integers(1, 5, (3, 4)),
    "i": np.int64(3),
    "k": np.array([2, 0, 1]),
    "i32": RNG.integers(-9, 9, (3, 4)).astype(np.int32),
    "i8": RNG.integers(-100, 100, (3, 4)).astype(np.int8),
    "u8": RNG.integers(0, 200, (3, 4)).astype(np.uint8),
    "t": RNG.uniform(size=(3, 4)) < 0.5,
    "z": RNG.uniform(-1, 1, (3, 4)) + 1j * RNG.uniform(-1, 1, (3, 4)),
    "nan": np.array([1.0, np.nan, -np.inf, np.inf, 0.0, -0.0]),
    "empty": np.zeros((0, 3)),
}
"""What the lines compute with, as attributes of `x`."""

NAMES = {
    "np": np,
    "A": RNG.uniform(-1, 1, (3, 4)),
    "K": np.array([2, 0, 1]),
    "MASK": np.array([True, False, True]),
    "windows": np.lib.stride_tricks.sliding_window_view,
    "deepcopy": copy.deepcopy,
}
"""What else they may name: arrays that are no arguments."""

TOLERANCE = {"float16": 2e-3, "float32": 1e-5, "complex64": 1e-5}


class Named:
    """Attributes for keys."""

    def __init__(self, values: dict[str, Any]):
        vars(self).update(values)


def lines(text: str) -> list[str]:
    """The lines that there are in a text."""
    return [line.strip() for line in text.strip().splitlines() if line.strip()]


def value(line: str, arguments: dict[str, Any]) -> Any:
    """What a line gives."""
    return eval(line, NAMES | {"x": Named(arguments)})


def compiled(every: list[str]) -> dict[str, Any]:
    """What all lines give, as one program."""

    def program(arguments: dict[str, Any]) -> dict[str, Any]:
        return {line: value(line, arguments) for line in every}

    return rlx.compile(program)(ARGUMENTS)


def check(line: str, found: Any) -> None:
    """That NumPy gives the same."""
    with np.errstate(all="ignore"):
        expected = value(line, copy.deepcopy(ARGUMENTS))
    ones, others = _leaves(found), _leaves(expected)
    assert len(ones) == len(others)
    for one, other in zip(ones, map(np.asarray, others), strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        near = TOLERANCE.get(other.dtype.name, 1e-12)
        np.testing.assert_allclose(one, other, rtol=near, atol=near)


def _leaves(found: Any) -> list[Any]:
    if isinstance(found, tuple | list):
        return [leaf for part in found for leaf in _leaves(part)]
    return [found]
