"""Compiled Python functions of trees: one graph, and one piece of machine code, for each signature they are called
with. Tracing is in `tracing.py`."""

# Trees, and what NumPy is called with, are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import update_wrapper
from typing import TYPE_CHECKING, Any

import numpy as np

from xdsl_rlx.builder import GraphModule
from xdsl_rlx.compiling import compile, donations
from xdsl_rlx.dialects.calls import shown
from xdsl_rlx.dialects.errors import GraphError, GraphTypeError, RlxError
from xdsl_rlx.dialects.mir.value import Value
from xdsl_rlx.tracing import Function, Traced, builder_of, is_passed_on, traced, type_of
from xdsl_rlx.tree import Flatten, Spec, Tree, flatten, unflatten

if TYPE_CHECKING:
    from xdsl_rlx.lowering.numba.runtime.compiled_graph import CompiledGraph
    from xdsl_rlx.lowering.numba.runtime.profile import Profile


@dataclass(frozen=True)
class _Entry:
    """A function compiled for one signature."""

    compiled: CompiledGraph
    graph: GraphModule
    kept: tuple[int, ...] | None
    """Which leaves are operands, None for all: others are passed on as they are."""
    results: Spec
    replaced: Mapping[int, int]
    """For results that are written over an operand, its number."""

    def operands(self, leaves: Sequence[Any]) -> Sequence[Any]:
        """Those of the leaves that are."""
        return leaves if self.kept is None else [leaves[number] for number in self.kept]

    def __call__(self, leaves: Sequence[Any]) -> Tree:
        operands = self.operands(leaves)
        found = self.compiled(*operands)
        if self.replaced:
            left = iter(found)
            count = len(found) + len(self.replaced)
            found = [operands[self.replaced[n]] if n in self.replaced else next(left) for n in range(count)]
        return unflatten(self.results, found)


class CompiledFunction:
    """
    A Python function of trees of arrays, traced and compiled for each signature that it is called with.

    A signature is the containers of all arguments, the shapes and element types of their leaves, and the values of
    arguments that are `static`. Results are trees of fresh arrays.
    """

    def __init__(
        self,
        function: Function,
        static: str | int | Sequence[str | int] = (),
        donate: Mapping[str, int] | None = None,
        **options: Any,
    ):
        """`options` are those of `rlx.compile` for a graph."""
        update_wrapper(self, function, ("__module__", "__name__", "__qualname__", "__doc__"), ())
        self.__wrapped__ = function
        self._static = (static,) if isinstance(static, str | int) else tuple(static)
        self._donate = donations(donate)
        self._options = options
        self._entries: dict[Hashable, _Entry] = {}
        self._flatten = Flatten()
        self._parameters = _parameters_of(function) if self._static or self._donate else []
        for name in (*self._static, *self._donate):
            self._position(name)

    def __repr__(self) -> str:
        name = getattr(self, "__name__", "function")
        return f"<compiled function {name}, for {len(self._entries)} signatures so far>"

    def __call__(self, /, *args: Tree, **kwargs: Tree) -> Tree:
        if self._static:
            return self._with_static(args, kwargs)
        leaves, spec = self._flatten((args, kwargs))
        entry = self._entries.get((spec, _signatures(leaves)))
        if entry is None:
            if builder_of(args, kwargs) is not None:
                return self.__wrapped__(*args, **kwargs)
            entry = self._entry(leaves, spec, self.__wrapped__, args, kwargs)
        return entry(leaves)

    def trace(self, /, *args: Tree, **kwargs: Tree) -> GraphModule:
        """The graph that it compiles for such arguments."""
        return self._entry_for(args, kwargs)[0].graph

    def compiled(self, /, *args: Tree, **kwargs: Tree) -> CompiledGraph:
        """What it runs for such arguments: their leaves are its inputs, in order."""
        return self._entry_for(args, kwargs)[0].compiled

    def profile(self, /, *args: Tree, runs: int = 20, **kwargs: Tree) -> Profile:
        """
        What takes how long in a call with such arguments: medians of `runs` runs, as `CompiledGraph.profile`.

        What is donated stays as it is.
        """
        entry, leaves = self._entry_for(args, kwargs)
        return entry.compiled.profile(*entry.operands(leaves), runs=runs)

    def _entry_for(self, args: Sequence[Tree], kwargs: Mapping[str, Tree]) -> tuple[_Entry, list[Any]]:
        """What is kept for the signature of these arguments, made if it is not there, and their leaves."""
        function, args, kwargs, key = self._bound(args, kwargs)
        leaves, spec = flatten((args, kwargs))
        found = self._entries.get((*key, spec, _signatures(leaves)))
        if found is None:
            found = self._entry(leaves, spec, function, args, kwargs, key)
        return found, leaves

    def _with_static(self, args: Sequence[Tree], kwargs: Mapping[str, Tree]) -> Tree:
        function, args, kwargs, key = self._bound(args, kwargs)
        if builder_of(args, kwargs) is not None:
            return function(*args, **kwargs)
        leaves, spec = self._flatten((args, kwargs))
        entry = self._entries.get((*key, spec, _signatures(leaves)))
        if entry is None:
            entry = self._entry(leaves, spec, function, args, kwargs, key)
        return entry(leaves)

    def _bound(
        self, args: Sequence[Tree], kwargs: Mapping[str, Tree]
    ) -> tuple[Function, tuple[Tree, ...], dict[str, Tree], tuple[Hashable, ...]]:
        """The function with its static arguments given, the others, and the key that the static ones are."""
        places = {self._position(name): name for name in self._static}
        fixed: dict[str, Any] = {}
        moving = list(args)
        for place in sorted(places, reverse=True):
            if place < len(moving):
                fixed[self._parameters[place]] = moving.pop(place)
        named = dict(kwargs)
        for place in places:
            if (name := self._parameters[place]) in named:
                fixed[name] = named.pop(name)
        if not fixed:
            return self.__wrapped__, tuple(moving), named, ()
        key = tuple(sorted(fixed.items()))
        try:
            hash(key)
        except TypeError:
            wrong = next(name for name, value in key if not isinstance(value, Hashable))
            raise GraphTypeError(f"static argument '{wrong}' is {shown(fixed[wrong])}, which has no hash") from None
        return _Fixed(self.__wrapped__, self._parameters, fixed), tuple(moving), named, key

    def _position(self, name: str | int) -> int:
        if isinstance(name, int):
            if not 0 <= name < len(self._parameters):
                raise GraphError(f"there is no parameter {name} of {self._parameters}")
            return name
        if name not in self._parameters:
            raise GraphError(f"there is no parameter '{name}'; they are {', '.join(self._parameters) or 'none'}")
        return self._parameters.index(name)

    def _entry(
        self,
        leaves: Sequence[Any],
        spec: Spec,
        function: Function,
        args: Sequence[Tree],
        kwargs: Mapping[str, Tree],
        key: tuple[Hashable, ...] = (),
    ) -> _Entry:
        made = traced(function, args, kwargs)
        if made.captured:
            raise GraphError(f"'{made.graph.name}' uses a value of a graph around it; pass it as an argument")
        kept = [number for number, leaf in enumerate(leaves) if not is_passed_on(leaf)]
        donate = self._donated(made, args)
        compiled = compile(made.graph, donate=donate, **self._options)
        inputs = [name for one in made.names for name in one]
        entry = _Entry(
            compiled,
            made.graph,
            None if len(kept) == len(leaves) else tuple(kept),
            made.results,
            {number: inputs.index(name) for name, number in donate.items()},
        )
        self._entries[(*key, spec, _signatures(leaves))] = entry
        return entry

    def _donated(self, made: Traced, args: Sequence[Tree]) -> dict[str, int]:
        """The inputs that results are written over, by name; GraphError where the trees differ."""
        found: dict[str, int] = {}
        children = made.results.children() if made.results.type is tuple else [made.results]
        starts = np.cumsum([0, *(child.num_leaves for child in children)])
        names = [self._parameters[n] for n in range(len(self._parameters)) if self._parameters[n] not in self._static]
        for name, number in self._donate.items():
            place = names.index(name)
            if place >= len(args):
                raise GraphError(f"'{name}' is donated, so it is passed by position")
            if not 0 <= number < len(children):
                raise GraphError(f"donate gives '{name}' result {number}; there are {len(children)}")
            if made.arguments[place] != children[number]:
                raise GraphError(f"result {number} takes the place of '{name}', but is {children[number]}")
            found |= {one: int(starts[number]) + n for n, one in enumerate(made.names[place])}
        return found


class _Fixed:
    """A function some of whose parameters have values."""

    def __init__(self, function: Function, parameters: Sequence[str], fixed: Mapping[str, Any]):
        self._function, self._parameters, self._fixed = function, parameters, fixed
        self.__name__ = getattr(function, "__name__", "function")
        self.__signature__ = inspect.Signature(
            [
                inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD)
                for name in parameters
                if name not in fixed
            ]
        )

    def __call__(self, /, *args: Tree, **kwargs: Tree) -> Tree:
        left = [name for name in self._parameters if name not in self._fixed]
        return self._function(**dict(zip(left, args, strict=False)), **kwargs, **self._fixed)


def _parameters_of(function: Callable[..., Any]) -> list[str]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [one.name for one in parameters if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)]


def _signatures(leaves: Sequence[Any]) -> tuple[Hashable, ...]:
    array = np.ndarray
    return tuple([(x.dtype, x.shape) if type(x) is array else _signature(x) for x in leaves])


def _signature(leaf: Any) -> Hashable:
    """That of a leaf which is no array."""
    if isinstance(leaf, Value):
        # it has the type of a number that this may have been compiled for, and cannot be passed to that
        return Value, type_of(leaf, "")
    if is_passed_on(leaf):
        return leaf
    try:
        return type_of(leaf, "")
    except RlxError:
        # tracing it says where it is
        return type(leaf)
