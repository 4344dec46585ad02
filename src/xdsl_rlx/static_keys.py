"""Keys of static values: equal for values that a traced function cannot tell apart, and different for all others."""

# Any value can be static.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import pathlib
import re
import struct
import types
import uuid
from collections.abc import Hashable, Iterator
from typing import Any, TypeAlias

import numpy as np
from xdsl.ir import Attribute

from xdsl_rlx.dialects.errors import GraphTypeError
from xdsl_rlx.dialects.mir.value import Value

Key: TypeAlias = Hashable
"""Compares by type and value, deep: the keys of 2, 2.0 and True differ, and so do those of 0.0 and -0.0."""

_BY_VALUE = (int, str, bytes, bool, type(None), type(Ellipsis), type(NotImplemented))
_BY_IDENTITY = (
    type,
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodWrapperType,
    types.WrapperDescriptorType,
    types.MethodDescriptorType,
    types.ModuleType,
    types.GenericAlias,
    np.ufunc,
)
HEAP_TYPE = 1 << 9
"""The flag of classes that a `class` statement has made (Py_TPFLAGS_HEAPTYPE)."""

_EQUAL_IS_ALIKE = (
    range,
    np.dtype,
    Attribute,
    re.Pattern,
    pathlib.PurePath,
    decimal.Decimal,
    fractions.Fraction,
    datetime.date,
    datetime.time,
    datetime.timedelta,
    datetime.tzinfo,
    uuid.UUID,
)
"""Immutable values of one type that behave alike when they are equal."""


_CHANGE_WHEN_USED = (np.random.Generator, np.random.RandomState, np.random.BitGenerator, Iterator)

_NO_OBJECTS = (
    Value,
    enum.Enum,
    types.ModuleType,
    type,
    BaseException,
    Iterator,
    tuple,
    list,
    dict,
    set,
    frozenset,
    *_EQUAL_IS_ALIKE,
)


_STATIC_LEAVES = (str, bytes, enum.Enum, types.MethodType, functools.partial, *_BY_IDENTITY, *_EQUAL_IS_ALIKE)


class _Same:
    """Compares by the identity of what it holds, and keeps it alive, so that no other object gets its address."""

    __slots__ = ("held",)

    def __init__(self, held: object):
        self.held = held

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.held is self.held

    def __hash__(self) -> int:
        return id(self.held)


def static_key(value: object, what: str) -> Key:
    """
    The key of a static value: its type and its value, to any depth.

    Tuples, dataclasses and objects count by what is in them when they are passed, lists in objects too; functions,
    classes and modules by identity. GraphTypeError, which begins with `what`, for an array, a traced value, and for
    containers of Python without a hash, such as a list.
    """
    if type(value) in _BY_VALUE:
        return type(value), value
    found = _key(value, what, ())
    if isinstance(value, tuple | list | dict | set | bytearray):
        try:
            hash(value)
        except TypeError as error:
            raise GraphTypeError(
                f"{what} is a {type(value).__name__}, which is not hashable ({error}); pass tuples"
            ) from None
    return found


def is_array_like(value: object) -> bool:
    """Whether a value is an array, or can be read as one: of NumPy or of another library."""
    if isinstance(value, type):
        return False
    return (
        hasattr(type(value), "__array__") or hasattr(type(value), "__dlpack__") or hasattr(value, "__array_interface__")
    )


def is_plain_object(value: object) -> bool:
    """Whether a value is an instance of a class written in Python, not of this package, described by attributes."""
    kind = type(value)
    heap = bool(kind.__flags__ & HEAP_TYPE)
    own = hasattr(value, "__dict__") or any("__slots__" in vars(one) for one in kind.__mro__)
    if not heap or not own or kind.__module__.partition(".")[0] in ("xdsl_rlx", "xdsl", "jax", "jaxlib"):
        return False
    return not isinstance(value, _NO_OBJECTS) and not is_array_like(value)


def is_static_leaf(value: object) -> bool:
    """Whether a leaf is none of the numbers that a graph computes with: a text, a function, a class, an enum."""
    if isinstance(value, _STATIC_LEAVES):
        return True
    return callable(value) and not is_array_like(value)


def attributes_of(value: object) -> dict[str, Any]:
    """The attributes of an instance, those in slots too, by name."""
    found: dict[str, Any] = dict(getattr(value, "__dict__", {}))
    for kind in type(value).__mro__:
        slots = vars(kind).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name.startswith("__") and not name.endswith("__"):
                name = f"_{kind.__name__.lstrip('_')}{name}"
            if name not in ("__dict__", "__weakref__") and hasattr(value, name):
                found[name] = getattr(value, name)
    return found


def _key(value: Any, what: str, around: tuple[int, ...]) -> Key:
    kind = type(value)
    if kind in _BY_VALUE:
        return kind, value
    if kind is float:
        return kind, struct.pack("d", value)
    if kind is complex:
        return kind, struct.pack("dd", value.real, value.imag)
    if isinstance(value, np.generic) and value.dtype != object:
        return kind, value.dtype.str, value.tobytes()
    if isinstance(value, enum.Enum):
        return _Same(value)
    if isinstance(value, _BY_IDENTITY):
        return _Same(value)
    if isinstance(value, Value):
        raise GraphTypeError(
            f"{what} is a traced value, which has no concrete value yet: pass it as an argument that is not static"
        )
    if is_array_like(value):
        raise GraphTypeError(
            f"{what} is an array ({kind.__name__}), which is not hashable: static values are numbers, strings, "
            "functions and containers of these; pass arrays as arguments that are not static"
        )
    if id(value) in around:
        return "cycle", len(around) - around.index(id(value))
    return _key_of_parts(value, what, (*around, id(value)))


def _key_of_parts(value: Any, what: str, around: tuple[int, ...]) -> Key:
    kind = type(value)

    def keys(items: Any, place: str) -> tuple[Key, ...]:
        return tuple(_key(item, f"{what}{place.format(n)}", around) for n, item in enumerate(items))

    if isinstance(value, tuple | list):
        return kind, keys(value, "[{}]"), *_extra(value, what, around)
    if isinstance(value, dict | types.MappingProxyType):
        items = [(_key(k, f"a key of {what}", around), _key(v, f"{what}[{k!r}]", around)) for k, v in value.items()]
        return kind, tuple(items)
    if isinstance(value, set | frozenset):
        return kind, frozenset(keys(value, ""))
    if isinstance(value, slice):
        return kind, keys((value.start, value.stop, value.step), "")
    if isinstance(value, bytearray | memoryview):
        return kind, bytes(value)
    if isinstance(value, types.MethodType):
        return kind, _Same(value.__func__), _key(value.__self__, f"{what}.__self__", around)
    if isinstance(value, functools.partial):
        return kind, keys((value.func, value.args, value.keywords), "")
    if isinstance(value, _EQUAL_IS_ALIKE):
        return kind, value
    if isinstance(value, _CHANGE_WHEN_USED):
        raise GraphTypeError(
            f"{what} is {kind.__name__}, which changes when it is used: pass a static value that stays the same"
        )
    if is_plain_object(value):
        return kind, tuple((name, _key(one, f"{what}.{name}", around)) for name, one in attributes_of(value).items())
    if dataclasses.is_dataclass(value):
        return kind, keys([getattr(value, one.name) for one in dataclasses.fields(value)], "")
    try:
        hash(value)
    except TypeError:
        if hasattr(value, "__dict__"):
            return kind, tuple((name, _key(one, f"{what}.{name}", around)) for name, one in vars(value).items())
        raise GraphTypeError(
            f"{what} is of type {kind.__name__}, which is not hashable; pass a hashable value"
        ) from None
    return _Same(value)


def _extra(value: Any, what: str, around: tuple[int, ...]) -> tuple[Key, ...]:
    """What a subclass of a container has beside its elements."""
    if type(value) in (tuple, list) or not hasattr(value, "__dict__"):
        return ()
    return tuple((name, _key(one, f"{what}.{name}", around)) for name, one in vars(value).items())


class Static:
    """A static value in the place of an argument: a node of a tree that has no leaves and compares by its key."""

    __slots__ = ("key", "value")

    def __init__(self, value: Any, what: str, key: Key = None):
        self.value = value
        self.key = static_key(value, what) if key is None else key

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Static) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return f"static {self.value!r}"
