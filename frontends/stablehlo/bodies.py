"""What the regions of reductions, sorts and scatters compute: one operation, or an order, found by evaluation."""

# Arrays of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from xdsl_rlx.frontends.shared.values import is_constant
from xdsl_rlx.frontends.stablehlo.attributes import numpy_type
from xdsl_rlx.frontends.stablehlo.rows import Walker
from xdsl_rlx.frontends.stablehlo.tree import Block, Type
from xdsl_rlx.frontends.stablehlo.types import kept

_KINDS = {
    "stablehlo.add": "add",
    "stablehlo.subtract": "sub",
    "stablehlo.multiply": "mul",
    "stablehlo.maximum": "max",
    "stablehlo.minimum": "min",
    "stablehlo.and": "and",
    "stablehlo.or": "or",
}

_ORDERS = frozenset(
    (
        "stablehlo.and",
        "stablehlo.compare",
        "stablehlo.constant",
        "stablehlo.maximum",
        "stablehlo.minimum",
        "stablehlo.not",
        "stablehlo.or",
        "func.return",
        "stablehlo.return",
        "stablehlo.select",
        "stablehlo.xor",
    )
)
"""Operations of a body that only compares its arguments: it is known from all ways in which these can be ordered."""

_MOST_KEYS = 16

_EXHAUSTIVE = 3
"""Keys up to which all pairs of samples are compared; of more keys, random ones."""

_DRAWN = 1 << 15
"""Pairs of random samples."""


def kind_of(block: Block) -> str | None:
    """The reduction whose body is one operation on both arguments: `add`, `max`, ..; None for other bodies."""
    if len(block.ops) != 2 or len(block.arguments) != 2:
        return None
    op, end = block.ops
    if op.results != end.operands or len(op.operands) != 2 or len(set(block.types)) != 1:
        return None
    kind = _KINDS.get(op.name)
    if kind == "sub":
        return kind if op.operands == block.arguments else None
    return kind if set(op.operands) == set(block.arguments) else None


def replaces(block: Block) -> bool:
    """Whether the body of a scatter returns the update."""
    return len(block.ops) == 1 and block.returned.operands == block.arguments[1:]


def is_comparison(block: Block, directions: Sequence[str]) -> bool:
    """Whether a body is one comparison of its arguments, in order, in one of these directions."""
    if len(block.ops) != 2 or block.ops[0].name != "stablehlo.compare":
        return False
    op = block.ops[0]
    return op.operands == block.arguments and op.attributes.get("comparison_direction") in directions


def argument_reduction(walker: Walker, block: Block) -> str | None:
    """
    `max` or `min` if a body on pairs of a number and a position keeps the first extreme; None for other bodies.

    Of two numbers of which one is NaN, that one is kept; of equal numbers the one at the lower position.
    """
    if len(block.arguments) != 4 or not _only_compares(block):
        return None
    block = _widened(block)
    values, places = _samples(block.types[0], ()), np.array([3, 5])
    grid = [np.array(one) for one in zip(*product(values, places, values, places), strict=True)]
    a, i, b, j = (x.astype(_dtype(t)) for x, t in zip(grid, block.types, strict=True))
    try:
        found = walker.elementwise(block, [a, i, b, j])
    except (TypeError, ValueError):
        return None
    if len(found) != 2 or not is_constant(*found):
        return None
    for kind in ("max", "min"):
        before = (a > b) if kind == "max" else (a < b)
        nan = a != a
        first = before | (nan & (b == b)) | (((a == b) | (nan & (b != b))) & (i < j))
        # the body of JAX keeps the first of two NaN, whatever their positions
        keeps = np.where(first, i, j)
        unclear = nan & (b != b)
        same = (np.asarray(found[1]) == keeps) | unclear
        if same.all() and _alike(np.asarray(found[0]), np.where(first, a, b)).all():
            return kind
    return None


@dataclass(frozen=True)
class Order:
    """A comparator of a sort: the first `keys` operands, one after the other."""

    keys: int
    descending: bool


def order_of(walker: Walker, block: Block) -> Order | None:
    """
    The order of a comparator; None if it is no order of the first operands.

    Ascending orders have NaN last and descending ones have it first; zeros of either sign are equal, or in order.
    """
    if not _only_compares(block):
        return None
    block = _widened(block)
    constants = [np.asarray(op.attributes["value"]) for op in block.ops if op.name == "stablehlo.constant"]
    for keys in range(1, min(len(block.types) // 2, _MOST_KEYS) + 1):
        found = _compared(walker, block, keys, constants)
        if found is None:
            return None
        result, pairs = found
        for descending in (False, True):
            if _agrees(result, pairs, descending):
                return Order(keys, descending)
    return None


def _compared(
    walker: Walker, block: Block, keys: int, constants: Sequence[Any]
) -> tuple[Any, list[tuple[Any, Any]]] | None:
    """What a comparator returns for all pairs of samples of its first operands, and for any of the others."""
    types = block.types[::2]
    samples = [_samples(type_, constants)[: 64 if keys < 3 else 5] for type_ in types[:keys]]
    rng = np.random.default_rng(0)
    if keys <= _EXHAUSTIVE:
        columns = [np.array(one) for one in zip(*product(*(s for s in samples for _ in range(2))), strict=True)]
    else:
        # few numbers, so that keys in front are often equal
        columns = [rng.choice(np.array(s[:2]), _DRAWN) for s in samples for _ in range(2)]
    given: list[Any] = []
    for n, type_ in enumerate(types):
        dtype = _dtype(type_)
        if n < keys:
            given += [columns[2 * n].astype(dtype), columns[2 * n + 1].astype(dtype)]
        else:
            given += [rng.integers(0, 2, columns[0].shape).astype(dtype) for _ in range(2)]
    try:
        (found,) = walker.elementwise(block, [kept(x) for x in given])
    except (TypeError, ValueError):
        return None
    if not is_constant(found):
        return None
    return np.asarray(found), [(given[2 * n], given[2 * n + 1]) for n in range(keys)]


def _agrees(result: Any, pairs: Sequence[tuple[Any, Any]], descending: bool) -> bool:
    """
    Whether a comparator is the lexicographic order, wherever zeros of two signs do not meet.

    One that is false wherever a NaN is compared says nothing of the order of these.
    """
    less = np.zeros(result.shape, np.bool_)
    equal, unclear = np.ones(result.shape, np.bool_), np.zeros(result.shape, np.bool_)
    nan = np.zeros(result.shape, np.bool_)
    for a, b in pairs:
        x, y = (b, a) if descending else (a, b)
        below, same = x < y, x == y
        if a.dtype.kind == "f":
            nan |= equal & ((x != x) | (y != y))
            below = below | ((x == x) & (y != y))
            same = same | ((x != x) & (y != y))
            unclear |= equal & (x == 0) & (y == 0) & (np.signbit(x) != np.signbit(y))
        less, equal = less | (equal & below), equal & same
    if not np.any(result & nan):
        unclear |= nan
    return bool(np.all((result == less) | unclear))


def _widened(block: Block) -> Block:
    """A body on half floats as one on floats, which NumPy compares."""

    def type_of(one: Type) -> Type:
        return replace(one, dtype="f32") if one.dtype in ("f16", "bf16") else one

    def types_of(types: tuple[Type, ...]) -> tuple[Type, ...]:
        return tuple(map(type_of, types))

    def attribute_of(one: Any) -> Any:
        return one.astype(np.float32) if isinstance(one, np.ndarray) and one.dtype.itemsize == 2 else one

    ops = [
        replace(
            op,
            given=types_of(op.given),
            made=types_of(op.made),
            attributes={name: attribute_of(one) for name, one in op.attributes.items()}
            if types_of(op.made) != op.made
            else op.attributes,
        )
        for op in block.ops
    ]
    return Block(block.arguments, types_of(block.types), ops)


def _only_compares(block: Block) -> bool:
    return all(op.name in _ORDERS and not op.blocks for op in block.ops)


def _dtype(type_: Type) -> np.dtype[Any]:
    found = numpy_type(type_.dtype)
    assert found is not None
    return found


def _samples(type_: Type, constants: Sequence[Any]) -> list[Any]:
    """Numbers that are ordered in all ways, with those that a body knows, and their neighbours."""
    if type_.dtype == "i1":
        return [False, True]
    if type_.dtype[0] in "iu":
        least = [] if type_.dtype[0] == "u" else [-1]
        known = [int(x) for x in constants if np.ndim(x) == 0 and x.dtype.kind in "iu"]
        return [0, 1, *least, 2, *known]
    known = [float(x) for x in constants if np.ndim(x) == 0 and x.dtype.kind == "f"]
    return [1.0, np.nan, -1.0, 0.0, np.inf, -np.inf, -0.0, *known]


def _alike(a: Any, b: Any) -> Any:
    return (a == b) | ((a != a) & (b != b))
