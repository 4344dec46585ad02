"""Values that consist of several: tuples, lists and dataclasses of numbers, taken apart where a loop carries them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, cast

from xdsl.ir import Attribute, IRNode, SSAValue

from xdsl_rlx.dialects.lir.scalar_builder import Scalar
from xdsl_rlx.lowering.kernel_dsl.frames import Closure


def parts(value: object) -> list[tuple[str, Any]] | None:
    """The parts of a compound value by name or place; None for any other."""
    if isinstance(value, list | tuple):
        items = cast("Sequence[Any]", value)
        return [(str(n), x) for n, x in enumerate(items)]
    names = fields_of(type(value))
    return None if names is None else [(name, getattr(value, name)) for name in names]


@cache
def fields_of(kind: type[Any]) -> tuple[str, ...] | None:
    """The fields of a dataclass whose values are taken apart; None for another class, xDSL's own among them."""
    if not is_dataclass(kind) or is_of_xdsl(kind) or kind in (Scalar, Closure):
        return None
    return tuple(field.name for field in fields(kind))


@cache
def is_of_xdsl(kind: type[Any]) -> bool:
    """Whether a class is one of attributes, values or other IR; without `isinstance`, which asks every such class."""
    return any(base in (Attribute, IRNode, SSAValue) for base in kind.__mro__)


def leaves(value: object) -> list[Any]:
    """What a value consists of in the end, in order."""
    found = parts(value)
    return [value] if found is None else [leaf for _, part in found for leaf in leaves(part)]


def rebuilt(value: object, given: Iterator[Any]) -> Any:
    """A value of the same kind whose leaves are the next of `given`."""
    found = parts(value)
    if found is None:
        return next(given)
    made = [rebuilt(part, given) for _, part in found]
    if isinstance(value, list):
        return made
    kind = cast("Callable[..., Any]", type(value))
    if isinstance(value, tuple):
        return kind(*made) if hasattr(kind, "_fields") else tuple(made)
    return kind(**dict(zip([name for name, _ in found], made, strict=True)))


def is_alike(a: object, b: object) -> bool:
    """Whether two values are of one structure, so that leaf stands for leaf."""
    first, second = parts(a), parts(b)
    if first is None or second is None:
        return first is second
    return (
        type(a) is type(b)
        and [name for name, _ in first] == [name for name, _ in second]
        and all(is_alike(x, y) for (_, x), (_, y) in zip(first, second, strict=True))
    )


def is_number(value: object) -> bool:
    """Whether a value is a number of Python, which has no type in a kernel yet."""
    return isinstance(value, bool | int | float)
