"""A module of StableHLO as a neutral tree of operations, which both readers make and the table is walked over.

Values are numbers, unique in a module. Attributes are Python's numbers, texts, tuples and dicts, and NumPy arrays.
"""

# Attributes are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Attribute = Any
"""A number, a text, an array, a tuple or a dict."""


@dataclass(frozen=True, slots=True)
class Type:
    """The type of a value: a tensor of elements such as `f32`, `u64`, `c64` or `i1`, or a token, or a tuple."""

    dtype: str
    shape: tuple[int | None, ...] = ()
    """None is an extent that is not known."""

    @property
    def is_static(self) -> bool:
        """Whether all extents are known."""
        return None not in self.shape

    @property
    def extents(self) -> tuple[int, ...]:
        """The shape, of which all extents are known."""
        return tuple(n for n in self.shape if n is not None)

    def __str__(self) -> str:
        extents = "".join("?x" if n is None else f"{n}x" for n in self.shape)
        return f"tensor<{extents}{self.dtype}>"


@dataclass(slots=True)
class Op:
    """An operation, such as `stablehlo.add`."""

    name: str
    operands: tuple[int, ...]
    given: tuple[Type, ...]
    """Types of the operands."""
    results: tuple[int, ...]
    made: tuple[Type, ...]
    """Types of the results."""
    attributes: Mapping[str, Attribute]
    blocks: tuple[Block, ...]
    """The block of each region; an empty region has one without operations."""
    location: str

    def walk(self) -> Iterator[Op]:
        """This operation, and those inside of it."""
        yield self
        for block in self.blocks:
            yield from block.walk()


@dataclass(slots=True)
class Block:
    """Operations, of which the last one returns values, and arguments that these use."""

    arguments: tuple[int, ...]
    types: tuple[Type, ...]
    ops: list[Op]

    def walk(self) -> Iterator[Op]:
        """All operations, those inside of others behind these."""
        for op in self.ops:
            yield from op.walk()

    @property
    def returned(self) -> Op:
        """The operation at the end."""
        return self.ops[-1]


@dataclass(slots=True)
class Function:
    """A function of a module."""

    name: str
    block: Block
    names: tuple[str | None, ...]
    """Of the arguments, where the text has them."""
    results: tuple[Type, ...] = ()


WHOLE = "pass the whole text of one module, as `jax.jit(f).lower(..).as_text()` returns it"
"""The cure for a text that does not parse."""

OUTSIDE = ("sdy.mesh",)
"""Operations beside the functions of a module that say nothing of values."""


@dataclass(slots=True)
class Module:
    """Functions by name."""

    functions: dict[str, Function] = field(default_factory=dict[str, Function])

    def same(self, other: Module) -> str | None:
        """None if two trees are equal but for locations and the numbers of values, else the first difference."""
        if list(self.functions) != list(other.functions):
            return f"functions {list(self.functions)} and {list(other.functions)}"
        for name, one in self.functions.items():
            numbers: dict[int, int] = {}
            if (found := _differ(one.block, other.functions[name].block, numbers)) is not None:
                return f"@{name}: {found}"
        return None


def _differ(one: Block, other: Block, numbers: dict[int, int]) -> str | None:
    if one.types != other.types or len(one.ops) != len(other.ops):
        return f"blocks of {one.types} with {len(one.ops)} operations and {other.types} with {len(other.ops)}"
    numbers.update(zip(one.arguments, other.arguments, strict=True))
    for mine, its in zip(one.ops, other.ops, strict=True):
        if (mine.name, mine.given, mine.made) != (its.name, its.given, its.made):
            return f"{mine.name} {mine.given} and {its.name} {its.given}"
        if tuple(numbers[n] for n in mine.operands) != its.operands:
            return f"operands of {mine.name}"
        if not _equal(_told(mine), _told(its)):
            return f"attributes of {mine.name}: {mine.attributes} and {its.attributes}"
        if len(mine.blocks) != len(its.blocks):
            return f"regions of {mine.name}"
        for inner, outer in zip(mine.blocks, its.blocks, strict=True):
            if (found := _differ(inner, outer, numbers)) is not None:
                return found
        numbers.update(zip(mine.results, its.results, strict=True))
    return None


_BOOKKEEPING = ("api_version", "called_computations", "has_side_effect")
"""Attributes of custom calls that one text has and another one leaves out, as they have their usual values."""


def _told(op: Op) -> dict[str, Attribute]:
    return {name: one for name, one in op.attributes.items() if name not in _BOOKKEEPING}


def _equal(one: Attribute, other: Attribute) -> bool:
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return sorted(one) == sorted(other) and all(_equal(x, other[name]) for name, x in one.items())
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(_equal, one, other))
    return bool(one == other or (one != one and other != other))
