"""Values that consist of several: tuples, lists and dataclasses of numbers, taken apart where a loop carries them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, cast

from xdsl.ir import Attribute, IRNode, SSAValue

from xdsl_rlx.dialects.lir.scalar_builder import Scalar
from xdsl_rlx.lowering.nest.frames import Closure


def parts(value: object) -> list[tuple[str, Any]] | None:
    """The parts of a compound value by name or place; None for any other."""
    if isinstance(value, list | tuple):
        items = cast("Sequence[Any]", value)
        return [(str(n), x) for n, x in enumerate(items)]
    if is_dataclass(value) and not isinstance(value, type | Attribute | IRNode | SSAValue | Scalar | Closure):
        return [(f.name, getattr(value, f.name)) for f in fields(value)]
    return None


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
