"""The `mir` dialect: tensor ops with value semantics; what is fused, unfused and differentiated.

One file per family, and every file here is one but the shared ones: an op or attribute is registered by being defined.
Plugins have further families.
"""

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Any, TypeVar

from xdsl.dialect_interfaces.constant_materialization import ConstantMaterializationInterface
from xdsl.ir import Attribute, Dialect, Operation

from xdsl_rlx.dialects.dense_text import elements_of
from xdsl_rlx.dialects.mir import core, elementwise
from xdsl_rlx.plugins import modules

T = TypeVar("T")


def ops_of(module: ModuleType) -> list[type[Operation]]:
    """The op classes defined in a family's file, in the order of their definition."""
    return _named_classes(module, Operation)


def attributes_of(module: ModuleType) -> list[type[Attribute]]:
    """The attribute classes defined in a file, in the order of their definition."""
    return _named_classes(module, Attribute)


def _named_classes(module: ModuleType, base: type[T]) -> list[type[T]]:
    """Those of `base` with a name, by their bases: `issubclass` would ask every class that xDSL has about each."""
    found: list[type[Any]] = [value for value in vars(module).values() if isinstance(value, type)]
    return [x for x in found if x.__module__ == module.__name__ and "name" in vars(x) and base in x.__mro__]


class _Materialize(ConstantMaterializationInterface):
    def materialize_constant(self, value: Attribute, type: Attribute) -> Operation | None:
        elements = elements_of(value)
        if elements is not None and elements.type == type:
            return elementwise.ConstantOp(elements)
        return None


_SHARED = {"bodies", "core", "fields", "mir_builder", "numpy_methods", "promotion", "value"}
_FAMILIES: tuple[ModuleType, ...] = tuple(
    import_module(f"{__name__}.{info.name}") for info in iter_modules(__path__) if info.name not in _SHARED
)


@cache
def plugin_families() -> tuple[ModuleType, ...]:
    """Return the modules of ops of plugins. Raises ImportError for one without ops, and for a name that is taken."""
    found = tuple(modules("ops"))
    taken = {op.name for family in _FAMILIES for op in ops_of(family)}
    for family in found:
        if not (ops := ops_of(family)):
            raise ImportError(
                f"plugin: {family.__name__} defines no op, or imports the builder of mir when it is imported itself; "
                "do that in functions, or under TYPE_CHECKING"
            )
        for op in ops:
            if not op.name.startswith("mir.") or op.name in taken:
                raise ImportError(f"plugin: {family.__name__} defines {op.name}: expected a new name that is mir.*")
            taken.add(op.name)
    return found


class _Mir(Dialect):
    """The dialect. The ops of plugins come when they are asked for: their modules import this package."""

    @property
    def operations(self) -> Iterator[type[Operation]]:
        return iter((*self._operations, *(op for family in plugin_families() for op in ops_of(family))))

    @property
    def attributes(self) -> Iterator[type[Attribute]]:
        return iter((*self._attributes, *(x for family in plugin_families() for x in attributes_of(family))))


Mir = _Mir(
    "mir",
    [op for family in _FAMILIES for op in ops_of(family)],
    [attribute for module in (core, *_FAMILIES) for attribute in attributes_of(module)],
    [_Materialize()],
)
