"""Padding of images by name or by side, as the symmetric padding that an op has and a rest that is padded before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, cast

from xdsl_rlx.dialects.calls import shown
from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.dialects.shapes import integers

Steps: TypeAlias = int | Sequence[int]
"""A number for every dimension, or one a dimension."""

Padding: TypeAlias = int | Sequence[int | Sequence[int]] | str
"""A number for every dimension, one or a pair (before, after) a dimension, or "same" or "valid"."""

Sides: TypeAlias = "tuple[tuple[int, int], ...]"
"""Before and after the elements of each dimension."""


def sides(
    name: str, padding: Padding, size: Sequence[int], kernel: Sequence[int], stride: Steps, dilation: Steps = 1
) -> Sides | None:
    """
    The padding of each side; None for a number, or one a dimension, which the op takes as it is.

    "same" gives `ceil(size / stride)` windows, with one more element after than before where the sum is odd.
    GraphError, which begins with `name`, for others.
    """
    if isinstance(padding, str):
        if padding.lower() == "valid":
            return ((0, 0),) * len(size)
        if padding.lower() != "same":
            raise GraphError(f"{name}: padding: expected 'same', 'valid' or integers, got {padding!r}")
        at = [_each(steps, len(size)) for steps in (stride, dilation)]
        found: list[tuple[int, int]] = []
        for n, k, s, d in zip(size, kernel, *at, strict=True):
            total = max((-(-n // max(s, 1)) - 1) * s + d * (k - 1) + 1 - n, 0)
            found.append((total // 2, total - total // 2))
        return tuple(found)
    if not isinstance(padding, Sequence) or all(hasattr(one, "__index__") for one in padding):
        return None
    if len(padding) != len(size):
        raise GraphError(f"{name}: padding: expected an entry for each of {len(size)} axes, got {len(padding)}")
    pairs: list[tuple[int, int]] = []
    for one in padding:
        pair = integers("padding", cast("Sequence[int]", one))
        pair = pair * 2 if len(pair) == 1 else pair
        if len(pair) != 2 or min(pair) < 0:
            raise GraphError(f"{name}: padding: expected (before, after) of at least 0 for an axis, got {shown(one)}")
        pairs.append((pair[0], pair[1]))
    return tuple(pairs)


def _each(steps: Steps, count: int) -> tuple[int, ...]:
    found = integers("steps", steps)
    return found * count if len(found) == 1 else found


def common(pairs: Sides) -> tuple[tuple[int, ...], Sides]:
    """The part of a padding that is the same before and after, and the rest of each side."""
    same = tuple(map(min, pairs))
    return same, tuple((before - n, after - n) for (before, after), n in zip(pairs, same, strict=True))
