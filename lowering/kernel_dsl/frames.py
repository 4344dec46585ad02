"""The names of a function that is being translated: its own, those around it, and what calls bind them to."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from types import FunctionType, MethodType
from typing import Any, cast

from xdsl_rlx.lowering.kernel_dsl.syntax import tree_of


@dataclass
class CallFrame:
    """A call under way."""

    name: str
    file: str
    names: dict[str, Any]
    """What is set at this place of the function: a loop or a branch works on a copy."""
    around: Callable[[str], Any]
    """The value of a name that is not its own; KeyError."""
    flags: list[str | None] = field(default_factory=list[str | None])
    """For each loop around this place the name that says whether it goes on; None for one that is written out."""

    def look_up(self, name: str) -> Any:
        """The value of a name; KeyError."""
        try:
            return self.names[name]
        except KeyError:
            return self.around(name)


class PlainFunction:
    """A function that is always translated, whatever it is called with."""

    def __init__(self, function: FunctionType):
        self.function = function


@dataclass(frozen=True)
class Closure:
    """A function or lambda of a function that is being translated."""

    tree: ast.FunctionDef | ast.Lambda
    frame: CallFrame
    defaults: tuple[Any, ...]
    named_defaults: Mapping[str, Any]


@dataclass(slots=True)
class Callee:
    """What a call of a function that is translated needs: its tree, its defaults, the names around it."""

    name: str
    file: str
    tree: ast.FunctionDef | ast.Lambda
    defaults: Sequence[Any]
    named_defaults: Mapping[str, Any]
    around: Callable[[str], Any]

    @staticmethod
    def of_function(function: FunctionType) -> Callee:
        """A function of Python, closed over values that are known now. Raises `KernelError` without its source."""
        code = function.__code__
        cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))

        def around(name: str) -> Any:
            if name in cells:
                try:
                    return cells[name].cell_contents
                except ValueError:
                    raise KeyError(name) from None
            return function.__globals__[name] if name in function.__globals__ else vars(builtins)[name]

        return Callee(
            function.__name__,
            code.co_filename,
            tree_of(function),
            function.__defaults__ or (),
            function.__kwdefaults__ or {},
            around,
        )

    @staticmethod
    def of_closure(closure: Closure) -> Callee:
        """A function of a function that is being translated."""
        name = getattr(closure.tree, "name", "<lambda>")
        frame = closure.frame
        return Callee(name, frame.file, closure.tree, closure.defaults, closure.named_defaults, frame.look_up)

    def bind(self, given: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments by name; TypeError as Python has it."""
        arguments = self.tree.args
        names = positional(arguments)
        found = dict(zip(names, given, strict=False))
        if len(found) == len(given) == len(names) and not named and is_plain(arguments):
            return found
        if len(given) > len(names) and arguments.vararg is None:
            raise TypeError(f"{self.name} takes {len(names)} arguments, got {len(given)}")
        if arguments.vararg is not None:
            found[arguments.vararg.arg] = tuple(given[len(names) :])
        keyword_only = [a.arg for a in arguments.kwonlyargs]
        extra: dict[str, Any] = {}
        for name, value in named.items():
            if name in found or (name not in names and name not in keyword_only):
                if name in found or arguments.kwarg is None:
                    raise TypeError(f"{self.name} got an argument {name} that it does not take, or twice")
                extra[name] = value
                continue
            found[name] = value
        if arguments.kwarg is not None:
            found[arguments.kwarg.arg] = extra
        defaults = dict(zip(names[len(names) - len(self.defaults) :], self.defaults, strict=True))
        missing = [name for name in (*names, *keyword_only) if name not in found]
        for name in missing:
            if name not in defaults and name not in self.named_defaults:
                raise TypeError(f"{self.name} needs an argument {name}")
            found[name] = defaults[name] if name in defaults else self.named_defaults[name]
        return found


@cache
def positional(arguments: ast.arguments) -> tuple[str, ...]:
    """The names of the arguments that are given by position."""
    return tuple(a.arg for a in (*arguments.posonlyargs, *arguments.args))


@cache
def is_plain(arguments: ast.arguments) -> bool:
    """Whether there are no others."""
    return not (arguments.vararg or arguments.kwonlyargs or arguments.kwarg)


def unwrapped(function: Any) -> tuple[Any, tuple[Any, ...], Mapping[str, Any]]:
    """A function, and the arguments that a method or `functools.partial` adds in front."""
    if isinstance(function, MethodType):
        inner, first, named = unwrapped(function.__func__)
        return inner, (*first, function.__self__), named
    if isinstance(function, partial):
        made = cast("partial[Any]", function)
        inner, first, named = unwrapped(made.func)
        return inner, (*first, *made.args), {**named, **made.keywords}
    return function, (), {}
