"""How a call binds to the parameters of a Python function, in one place: as Python binds it.

`static`, `donate`, `argnums`, `in_axes` and the names of leaves refer to this binding.
"""

# Any function is bound, to arguments of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import FunctionType
from typing import Any, TypeAlias

import numpy as np

from xdsl_rlx.dialects.calls import is_of_call, shown
from xdsl_rlx.dialects.errors import GraphError, GraphTypeError
from xdsl_rlx.static_keys import Static, is_plain_object
from xdsl_rlx.tree import Instance, Tree, instance_of, register_leafless

Function: TypeAlias = Callable[..., Any]
"""A Python function of trees whose leaves may be values, to such a tree."""

Which: TypeAlias = int | str | Sequence[int | str]
"""Arguments by position or by name: one, or several."""


Place: TypeAlias = "tuple[int, int | str | None]"
"""Where an argument is among the bound values: its slot, and its key in `*args` or `**kwargs`."""


class Default:
    """In the place of an argument that a call leaves to its default: a node of a tree without leaves."""

    def __repr__(self) -> str:
        return "its default"


DEFAULT = Default()
register_leafless(Default, lambda _: DEFAULT)


@dataclass(frozen=True)
class Argument:
    """One argument of a call: of a parameter, or an element of `*args` or `**kwargs`."""

    name: str
    """What its leaves are named after."""
    value: Tree
    slot: int
    """Which of the bound values it is, or is an element of."""
    key: int | str | None = None
    """Which element of `*args` or `**kwargs` it is."""


class Parameters:
    """
    The parameters of a function, and what a call binds to them.

    A method of an object has that object as its first bound value, and so has an object that is called: what it holds
    is an argument like any other.
    """

    def __init__(
        self,
        layout: Layout,
        run: Function,
        instance: tuple[Any, ...] = (),
        shown: inspect.Signature | None = None,
        from_values: Callable[[Sequence[Any]], Any] | None = None,
    ):
        """
        `run` is called with the arguments, or `from_values` with the bound values; `shown` is the signature that a
        function says it has.
        """
        self.layout = layout
        self.instance = instance
        self.names = layout.names
        """Of all parameters, in the order of the bound values."""
        self.hidden = len(instance)
        """How many of the first bound values are no arguments of the call."""
        self._run, self._shown, self._from_values = run, shown, from_values
        self._count, self._rest, self._others = layout.positional, layout.rest, layout.others
        self._binder = layout.binder(run)

    def bound_to(self, instance: Any) -> Parameters:
        """Those of a method of an object, which is the first value."""
        return Parameters(
            self.layout, self._run, (*self.instance, instance_of(instance)), self._shown, self._from_values
        )

    def of(self, from_values: Callable[[Sequence[Any]], Any]) -> Parameters:
        """Those of another function that takes the same arguments, as bound values."""
        return Parameters(self.layout, self._run, self.instance, self._shown, from_values)

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
        """
        The values of the parameters, in order: `*args` as a tuple, `**kwargs` as a dict, DEFAULT where none is given.

        GraphTypeError with the text of Python's TypeError for an illegal call.
        """
        try:
            return self._binder(*self.instance, *args, **kwargs)
        except TypeError as error:
            raise GraphTypeError(str(error)) from None

    def are_leaves(self, values: Sequence[Any], leaves: Sequence[Any]) -> bool:
        """Whether a call of these leaves by position, all plain arrays, is bound to these values."""
        bound = [*values[: self._count], *(values[self._rest] if self._rest is not None else ())]
        named = [values[n] for n in self.layout.named_only]
        given, others = len(leaves), self._others is not None and values[self._others]
        return (
            not self.instance
            and not others
            and given <= len(bound)
            and all(type(x) is np.ndarray and x is leaf for x, leaf in zip(bound[:given], leaves, strict=True))
            and all(x is DEFAULT for x in (*bound[given:], *named))
        )

    def call(self, values: Sequence[Any]) -> Any:
        """The function called with bound values."""
        if self._from_values is not None:
            return self._from_values(values)
        given = [x.value if type(x) in (Static, Instance) else x for x in values]
        defaults = [n for n in range(self._count) if given[n] is DEFAULT]
        first = defaults[0] if defaults else self._count
        args = given[:first]
        kwargs = {self.names[n]: given[n] for n in range(first, self._count) if given[n] is not DEFAULT}
        if self._rest is not None:
            args += [x.value if type(x) is Static else x for x in given[self._rest]]
        kwargs |= {self.names[n]: given[n] for n in self.layout.named_only if given[n] is not DEFAULT}
        if self._others is not None:
            kwargs |= {key: x.value if type(x) is Static else x for key, x in given[self._others].items()}
        try:
            return self._run(*args, **kwargs)
        except TypeError as error:
            if is_of_call(error):
                raise GraphTypeError(str(error)) from None
            raise

    def arguments(self, values: Sequence[Any]) -> list[Argument]:
        """The arguments of a call that are not static, in the order of their leaves."""
        found: list[Argument] = []
        for slot, (name, value) in enumerate(zip(self.names, values, strict=True)):
            if slot == self._rest:
                found += [Argument(self._rest_name(slot, n), x, slot, n) for n, x in enumerate(value)]
            elif slot == self._others:
                found += [Argument(key, value[key], slot, key) for key in _as_flattened(value)]
            else:
                found.append(Argument(name, value, slot))
        return [one for one in found if type(one.value) not in (Static, Default)]

    def replaced(self, values: Sequence[Any], arguments: Sequence[Argument], others: Sequence[Any]) -> tuple[Any, ...]:
        """Bound values with other trees in the place of some arguments."""
        found = list(values)
        for number in (self._rest, self._others):
            if number is not None:
                found[number] = list(found[number]) if number == self._rest else dict(found[number])
        for one, other in zip(arguments, others, strict=True):
            if one.key is None:
                found[one.slot] = other
            else:
                found[one.slot][one.key] = other
        if self._rest is not None:
            found[self._rest] = tuple(found[self._rest])
        return tuple(found)

    def find(self, values: Sequence[Any], which: int | str, what: str) -> list[Place]:
        """
        Slot and key of the arguments that a position or a name means; several for the name of `*args` or `**kwargs`.

        GraphError, which begins with `what`, if there is none, or none was given.
        """
        if isinstance(which, bool) or not isinstance(which, int | str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise GraphTypeError(f"{what}: expected the position or the name of an argument, got {shown(which)}")
        found = self._places(values, which)
        if found is None:
            raise GraphError(f"{what}: no argument {which!r}; {self._known(values)}")
        given = [place for place in found if not isinstance(self.value_at(values, place), Default)]
        if found and not given:
            name = self.names[found[0][0]]
            raise GraphError(f"{what}: argument {which!r} is left to its default; pass '{name}' in the call")
        return found

    def places(self, values: Sequence[Any], which: int | str) -> list[Place]:
        """As `find`, and none where none was given."""
        return self._places(values, which) or []

    def _places(self, values: Sequence[Any], which: int | str) -> list[Place] | None:
        return self._at(values, which) if isinstance(which, int) else self._named(values, which)

    def value_at(self, values: Sequence[Any], place: Place) -> Any:
        """The bound value of an argument."""
        slot, key = place
        return values[slot] if key is None else values[slot][key]

    def position(self, argument: Argument) -> int | None:
        """The position of an argument in the call, below 0 for the object of a method; None for one by name alone."""
        if argument.key is None:
            return argument.slot - self.hidden if argument.slot < self._count else None
        return self._count - self.hidden + argument.key if isinstance(argument.key, int) else None

    def positions(self, values: Sequence[Any]) -> int:
        """How many positions a call has, static ones too: up to the last argument that has one and is given."""
        rest = 0 if self._rest is None else len(values[self._rest])
        given = [slot for slot in range(self.hidden, self._count) if values[slot] is not DEFAULT]
        last = self._count - self.hidden if rest else given[-1] - self.hidden + 1 if given else 0
        return last + rest

    def kind_of_many(self, values: Sequence[Any], which: int | str) -> type | None:
        """`tuple` or `dict` for the name of `*args` or `**kwargs`, which means all of their elements; else None."""
        if isinstance(which, int) or which not in self.names or self._places(values, which) is None:
            return None
        slot = self.names.index(which)
        if slot not in (self._rest, self._others) or (self._others is not None and which in values[self._others]):
            return None
        return None if which in self._passed_on else tuple if slot == self._rest else dict

    def check_known(self, which: int | str, what: str) -> None:
        """GraphError, which begins with `what`, for an argument that no call can have."""
        if isinstance(which, bool) or not isinstance(which, int | str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise GraphTypeError(f"{what}: expected the position or the name of an argument, got {shown(which)}")
        if isinstance(which, str):
            wrong = which not in self.names[self.hidden :] and self._others is None
        else:
            count = self._count - self.hidden
            wrong = self._rest is None and not -count <= which < count
        if wrong:
            raise GraphError(f"{what}: no argument {which!r}; {self._known(None)}")

    def fixed_slot(self, which: int | str) -> int | None:
        """The bound value that a position or a name means in each call; None if that depends on the call."""
        if isinstance(which, str):
            slot = self.names.index(which) if which in self.names else None
            return None if slot in (self._rest, self._others) else slot
        slot = which + self.hidden
        return slot if which >= 0 and slot < self._count else None

    @cached_property
    def _passed_on(self) -> list[str]:
        """Names of the positional parameters of the function to which one of `*args` alone passes them on."""
        if self._shown is None or self._rest is None or self._count or self.layout.named_only:
            return []
        kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        return [one.name for one in self._shown.parameters.values() if one.kind in kinds]

    def _rest_name(self, slot: int, number: int) -> str:
        if number < len(self._passed_on):
            return self._passed_on[number]
        name = self.names[slot]
        return f"arg{number}" if name == "args" else f"{name}_{number}"

    def _at(self, values: Sequence[Any], which: int) -> list[Place] | None:
        places: list[Place] = [(slot, None) for slot in range(self._count)]
        if self._rest is not None:
            places += [(self._rest, number) for number in range(len(values[self._rest]))]
        places = places[self.hidden :]
        if which < 0:
            # as in JAX, from the last one that is given
            places = [(slot, key) for slot, key in places if values[slot] is not DEFAULT]
            which += len(places)
        if 0 <= which < len(places):
            return [places[which]]
        if 0 <= which + self.hidden < len(self._passed_on) and self._others is not None:
            name = self._passed_on[which + self.hidden]
            return [(self._others, name)] if name in values[self._others] else None
        return None

    def _named(self, values: Sequence[Any], which: str) -> list[Place] | None:
        slot = self.names.index(which) if which in self.names else None
        if slot is not None and slot not in (self._rest, self._others):
            return [(slot, None)]
        number = self._passed_on.index(which) if self._rest is not None and which in self._passed_on else None
        if self._rest is not None and number is not None and number < len(values[self._rest]):
            return [(self._rest, number)]
        if self._others is not None and which in values[self._others]:
            return [(self._others, which)]
        if number is not None:
            return None
        if slot is not None and slot == self._rest:
            return [(slot, number) for number in range(len(values[slot]))]
        if slot is not None and slot == self._others:
            return [(slot, key) for key in _as_flattened(values[slot])]
        return None

    def _known(self, values: Sequence[Any] | None) -> str:
        shown = range(self.hidden, len(self.names))
        names = [self.names[slot] for slot in shown if slot not in (self._rest, self._others)]
        if values is not None:
            names += [one.name for one in self.arguments(values) if one.key is not None]
        return f"arguments are {', '.join(names)}" if names else "there are none"


@dataclass(frozen=True)
class Layout:
    """The parameters that a function itself has, whatever it wraps or says of its signature; numbers are slots."""

    names: tuple[str, ...]
    positional_only: int
    """How many are."""
    positional: int
    """How many are, in front of all others."""
    named_only: tuple[int, ...]
    rest: int | None
    """That of `*args`."""
    others: int | None
    """That of `**kwargs`."""
    optional: frozenset[int]

    @staticmethod
    def of(function: FunctionType) -> Layout:
        """That of a function written in Python."""
        code = function.__code__
        positional, named = code.co_argcount, code.co_kwonlyargcount
        names, after = code.co_varnames, positional + named
        order = list(names[:positional])
        rest = others = None
        if code.co_flags & inspect.CO_VARARGS:
            rest = len(order)
            order.append(names[after])
            after += 1
        named_only = tuple(range(len(order), len(order) + named))
        order += names[positional : positional + named]
        if code.co_flags & inspect.CO_VARKEYWORDS:
            others = len(order)
            order.append(names[after])
        optional = {*range(positional - len(function.__defaults__ or ()), positional)}
        optional |= {n for n in named_only if order[n] in (function.__kwdefaults__ or {})}
        return Layout(tuple(order), code.co_posonlyargcount, positional, named_only, rest, others, frozenset(optional))

    def binder(self, function: Function) -> Callable[..., tuple[Any, ...]]:
        """A function with these parameters that returns what Python binds to them, and fails as `function` does."""
        if self is _ANY:
            return lambda *args, **kwargs: (args, kwargs)
        parts: list[str] = []
        for slot, name in enumerate(self.names):
            if slot in self.named_only and self.rest is None and slot == self.named_only[0]:
                parts.append("*")
            stars = "*" if slot == self.rest else "**" if slot == self.others else ""
            parts.append(f"{stars}{name}{'=DEFAULT' if slot in self.optional else ''}")
            if slot + 1 == self.positional_only:
                parts.append("/")
        made: dict[str, Any] = {"DEFAULT": DEFAULT}
        exec(f"def bound({', '.join(parts)}):\n return ({''.join(f'{name}, ' for name in self.names)})", made)
        binder = made["bound"]
        # Python's errors begin with it
        binder.__qualname__ = getattr(function, "__qualname__", getattr(function, "__name__", "function"))
        return binder


_ANY = Layout(("args", "kwargs"), 0, 0, (), 0, 1, frozenset())
"""That of a function that is not written in Python, which checks its arguments itself."""


def parameters_of(function: Function) -> Parameters:
    """The parameters of a function, a method, an object that can be called, or of what this package made of one."""
    made = getattr(function, "parameters", None)
    if isinstance(made, Parameters):
        return made
    if isinstance(function, FunctionType):
        return Parameters(Layout.of(function), function, shown=_signature_of(function))
    inner: Any = getattr(function, "__func__", None)
    if isinstance(inner, FunctionType) or hasattr(inner, "parameters"):
        made = parameters_of(inner)
        return made.bound_to(getattr(function, "__self__")) if hasattr(function, "__self__") else made  # noqa: B009
    call = getattr(type(function), "__call__")  # noqa: B004, B009
    if isinstance(call, FunctionType) and is_plain_object(function):
        return parameters_of(call).bound_to(function)
    return Parameters(_ANY, function, shown=_signature_of(function))


def _signature_of(function: Function) -> inspect.Signature | None:
    """What a function says of its signature, through what it wraps."""
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


def _as_flattened(values: Mapping[str, Any]) -> list[str]:
    """Keys of `**kwargs` in the order in which a tree of them has its leaves."""
    return sorted(values)
