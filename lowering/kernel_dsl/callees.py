"""What is called in nests: functions of the kernel, of Python, and which values are the kernel's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import is_dataclass
from functools import cache, partial
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, cast

from xdsl.ir import SSAValue

from xdsl_rlx.dialects.lir.scalar_builder import Scalar
from xdsl_rlx.lowering.kernel_dsl.array_views import ArrayView, ViewProduct
from xdsl_rlx.lowering.kernel_dsl.frames import Closure, unwrapped
from xdsl_rlx.lowering.kernel_dsl.language import WORDS, Indices
from xdsl_rlx.lowering.kernel_dsl.meanings import MEANINGS, Steps
from xdsl_rlx.lowering.kernel_dsl.trees import fields_of, is_of_xdsl

_OF_PYTHON = {range, min, max, abs, sum, reversed, int, float}
"""Functions of Python's own that have rows in `MEANINGS`."""


_OF_KERNEL = (Scalar, ArrayView, Closure, ViewProduct, Steps, Indices)
_OF_PLAIN_PYTHON = (int, float, str, type(None), type, FunctionType, BuiltinFunctionType)


def is_of_kernel(value: object) -> bool:
    """Whether a value is one of the kernel, or holds some: what is done with it becomes ops."""
    inside = _inside_of(type(value))
    return inside if isinstance(inside, bool) else any(map(is_of_kernel, inside(value)))


@cache
def _inside_of(kind: type[Any]) -> bool | Callable[[Any], Iterable[Any]]:
    """Whether all or no values of a class are the kernel's, else what is to be looked at in one."""
    if issubclass(kind, _OF_KERNEL) or SSAValue in kind.__mro__:
        return True
    if issubclass(kind, _OF_PLAIN_PYTHON) or is_of_xdsl(kind):
        return False
    if issubclass(kind, list | tuple | set | frozenset):
        return iter
    if issubclass(kind, dict):
        return dict[Any, Any].values
    if names := fields_of(kind):
        return partial(_fields, names)
    return _bound if issubclass(kind, MethodType | partial) else False


def _fields(names: Sequence[str], value: object) -> list[Any]:
    return [getattr(value, name) for name in names]


def _bound(function: Any) -> list[Any]:
    """The arguments that a function brings with it."""
    _, first, named = unwrapped(function)
    return [*first, *named.values()]


ALWAYS = ("scratch", "empty", "cast", "ndrange", "ndindex", "rolled", "lanes", "outlined", "reversed")
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
