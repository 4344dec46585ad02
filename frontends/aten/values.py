"""Arguments of rows: traced values, NumPy arrays that are constants, and Python numbers; element types as names.

PyTorch promotes by category: boolean, integer, floating-point, complex. A tensor without axes, and a Python number,
only raise the category.
"""

# Arguments of operators are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from xdsl_rlx.frontends.shared.values import (
    cast,
    category,
    dtype_of,
    is_floating,
    is_tensor,
    numpy_dtype,
    traced,
)

__all__ = [
    "alike",
    "axes_of",
    "cast",
    "category",
    "dtype_of",
    "is_floating",
    "is_tensor",
    "numpy_dtype",
    "promoted",
    "traced",
]

_WIDTHS = {"f16": 2, "bf16": 2, "f32": 4, "f64": 8, "c64": 4, "c128": 8, "i8": 1, "i16": 2, "i32": 4, "i64": 8}
_NUMBERS = {bool: 0, int: 1, float: 2, complex: 3}


def promoted(floating: str, *xs: Any) -> str:
    """The element type that PyTorch computes these tensors and numbers in."""
    kinds: list[list[str]] = [[], [], []]
    for x in xs:
        if not is_tensor(x):
            number = _NUMBERS[type(x)]
            default = ("i1", "i64", floating, "c128" if floating == "f64" else "c64")[number]
            kinds[2].append(default)
        else:
            kinds[0 if np.ndim(x) else 1].append(dtype_of(x))
    found: str | None = None
    for names in kinds:
        if not names:
            continue
        own = reduce(_wider, names)
        if found is None:
            found = own
        elif category(own) > category(found):
            found = _raised(found, own)
    assert found is not None
    return found


def _raised(low: str, high: str) -> str:
    """The type of a category raised by a number or a tensor without axes: a complex one keeps a width of floats."""
    if category(high) == 3 and category(low) == 2:
        return "c128" if low == "f64" else "c64"
    return high


def _wider(a: str, b: str) -> str:
    if a == b:
        return a
    if category(a) != category(b):
        low, high = sorted((a, b), key=category)
        if category(high) == 3 and low == "f64":
            return "c128"
        return high
    if "u8" in (a, b) and category(a) == 1:
        other = b if a == "u8" else a
        return "i16" if other == "i8" else other
    if {a, b} == {"f16", "bf16"}:
        return "f32"
    return max(a, b, key=lambda name: _WIDTHS.get(name, 8))


def alike(floating: str, *xs: Any) -> tuple[list[Any], str]:
    """The tensors and numbers cast to the element type that PyTorch computes them in, and that type."""
    dtype = promoted(floating, *xs)
    return [cast(x, dtype) for x in xs], dtype


def axes_of(dim: int | Sequence[int] | None, rank: int) -> tuple[int, ...]:
    """Axes as numbers from 0; None and the empty list stand for all. A tensor without axes takes any numbers."""
    if dim is None or (not isinstance(dim, int) and not len(dim)):
        return tuple(range(rank))
    if not rank:
        return ()
    return tuple(one % rank for one in ([dim] if isinstance(dim, int) else dim))
