"""What is called in nests: functions of the kernel, of Python, and which values are the kernel's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, cast

from xdsl.ir import Attribute, IRNode, SSAValue

from xdsl_rlx.dialects.lir.scalar_builder import Scalar
from xdsl_rlx.lowering.nest.array_views import ArrayView, ViewProduct
from xdsl_rlx.lowering.nest.frames import Closure, unwrapped
from xdsl_rlx.lowering.nest.language import WORDS, Indices
from xdsl_rlx.lowering.nest.meanings import MEANINGS, Steps

_OF_PYTHON = {range, min, max, abs, sum, reversed, int, float}
"""Functions of Python's own that have rows in `MEANINGS`."""


_OF_KERNEL = (Scalar, ArrayView, Closure, ViewProduct, Steps, Indices)
_OF_PLAIN_PYTHON = (int, float, str, type(None), type, FunctionType, BuiltinFunctionType)


def is_of_kernel(value: object) -> bool:
    """Whether a value is one of the kernel, or holds some: what is done with it becomes ops."""
    if isinstance(value, _OF_KERNEL):
        return True
    if isinstance(value, _OF_PLAIN_PYTHON):
        return False
    if isinstance(value, list | tuple | set | frozenset):
        return any(is_of_kernel(x) for x in cast("Sequence[Any]", value))
    if isinstance(value, dict):
        return any(is_of_kernel(x) for x in cast("Mapping[Any, Any]", value).values())
    if isinstance(value, Attribute | IRNode):
        return isinstance(value, SSAValue)
    if is_dataclass(value):
        return any(is_of_kernel(getattr(value, field.name)) for field in fields(value))
    _, first, named = unwrapped(value)
    return any(map(is_of_kernel, (*first, *named.values())))


ALWAYS = ("scratch", "empty", "cast", "ndrange", "ndindex", "rolled", "lanes", "reversed")
"""Functions that are of the kernel whatever they are given."""

OF_VALUES: tuple[Any, ...] = (tuple, list, zip, enumerate)
"""Functions that go through the values of what they are given, a window's too."""

_CONTAINERS: set[type] = {tuple, list, dict, zip, enumerate, map, filter}
_LOOKING = {len, isinstance, sorted, next, iter, any, all}


def meaning_of(function: Any) -> Callable[..., Any] | None:
    """The row of a function of Python, NumPy or the language."""
    try:
        known = function in WORDS or function in _OF_PYTHON
    except TypeError:
        return None
    if known or type(function).__module__ == "numpy" or getattr(function, "__module__", "") == "numpy":
        return MEANINGS.get(getattr(function, "__name__", ""))
    return None


def takes_anything(function: Any) -> bool:
    """Whether a function of Python only puts values together or takes them apart."""
    if isinstance(function, type):
        kind = cast("type[Any]", function)
        return kind in _CONTAINERS or is_dataclass(kind) or hasattr(kind, "_fields")
    return isinstance(function, BuiltinFunctionType | ModuleType) and function in _LOOKING
