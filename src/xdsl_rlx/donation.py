"""Which results of a traced function are written over its donated arguments, tree by tree."""

# Trees are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from xdsl.ir import Attribute

from xdsl_rlx.binding import Parameters
from xdsl_rlx.compiling import donations
from xdsl_rlx.dialects.calls import shown
from xdsl_rlx.dialects.errors import GraphError, GraphTypeError
from xdsl_rlx.lowering.backend.runtime.overlaps import CallBuffer, Use, overlapping
from xdsl_rlx.lowering.run_errors import ArgumentError
from xdsl_rlx.tracing import Traced, TracedArgument
from xdsl_rlx.tree import Spec, flatten, paths

Donate: TypeAlias = "Mapping[str | int, int] | str | int | Sequence[str | int] | None"
"""Donated arguments by name or position; a mapping also gives the number of the result that overwrites each."""

_Types: TypeAlias = "tuple[Attribute | None, ...]"
"""Types of the leaves of a tree, None for one that is not an array."""


def asked(donate: Donate) -> dict[str | int, int | None]:
    """The donated arguments, and the numbers of their results where those are given; GraphTypeError for other types."""
    if donate is None or isinstance(donate, Mapping):
        return {**donations(donate, str | int)}
    given = (donate,) if isinstance(donate, str | int) else donate
    if not isinstance(given, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise GraphTypeError(
            f"donate: expected the name or position of an argument, several in a tuple, or a dict from these to result "
            f"numbers, got {shown(donate)}"
        )
    return dict.fromkeys(given)


def check_overlaps(parameters: Parameters, values: Sequence[Any], donate: Iterable[str | int]) -> None:
    """
    Raise ArgumentError for an array of a donated argument that overlaps another array of the call.

    The message names both as the caller does: `state['ema']['w']`.
    """
    donated = {place for one in donate for place in parameters.places(values, one)}
    buffers: list[CallBuffer] = []
    for argument in parameters.arguments(values):
        use = Use.UPDATED if (argument.slot, argument.key) in donated else Use.READ
        leaves, spec = flatten(argument.value)
        for leaf, place in zip(leaves, paths(spec) if leaves else (), strict=True):
            # a call reads a copy of any other array
            if type(leaf) is np.ndarray and leaf.flags.c_contiguous and leaf.flags.aligned and leaf.dtype.isnative:
                begin = leaf.__array_interface__["data"][0]
                name = f"{argument.name}{place}"
                buffers.append(CallBuffer(begin, begin + leaf.nbytes, use, len(buffers), name))
    for pair in overlapping(buffers):
        one, other = sorted(pair, key=lambda buffer: (buffer.use is not Use.UPDATED, buffer.number))
        if one.use is Use.UPDATED:
            raise ArgumentError(
                f"argument {one.name} is donated, but overlaps another argument: {other.name}; copy one of them "
                "before the call with np.copy, or a whole tree with rlx.tree.map(np.copy, tree)"
            )


@dataclass(frozen=True)
class _Result:
    """A result that may overwrite an argument: an item of the tuple that a function returns, or all that it returns."""

    name: str
    spec: Spec
    types: _Types
    outputs: tuple[int | None, ...]
    items: frozenset[int]
    """The items of the tuple that it consists of."""


class Donations:
    """The donations of a traced function."""

    def __init__(self, made: Traced, parameters: Parameters, values: Sequence[Any]):
        self._made, self._parameters, self._values = made, parameters, values
        signature = made.graph.signature
        self._inputs = {argument.name: argument.value.type for argument in signature.arguments}
        self._outputs = [output.type for output in signature.outputs]
        self._taken: set[int] = set()

    def of(self, donate: Mapping[str | int, int | None]) -> dict[str, int]:
        """
        The numbers of the outputs by the names of the inputs that they overwrite.

        GraphError for an argument that no result has the tree and the types of.
        """
        found: dict[str, int] = {}
        # results that are given are not for others
        for name, number in sorted(donate.items(), key=lambda one: one[1] is None):
            argument = self._argument(name)
            result = self._chosen(name, argument) if number is None else self._given(name, argument, number)
            self._taken |= result.items
            pairs = zip(argument.inputs, result.outputs, strict=True)
            found |= {one: n for one, n in pairs if one is not None and n is not None}
        return found

    def scratch(self, names: Iterable[str | int]) -> tuple[str, ...]:
        """The names of the inputs that these arguments are; GraphError for an argument that is none."""
        places = {place for name in names for place in self._parameters.find(self._values, name, "scratch")}
        found = [one for one in self._made.arguments if (one.argument.slot, one.argument.key) in places]
        return tuple(name for one in found for name in one.inputs if name is not None)

    def _argument(self, name: str | int) -> TracedArgument:
        places = self._parameters.find(self._values, name, "donate")
        found = [one for one in self._made.arguments if (one.argument.slot, one.argument.key) in places]
        if len(found) != 1:
            raise GraphError(
                f"donate: expected one argument that is not static, got {name!r}, which means {len(found)}; donate "
                "each by its position"
            )
        return found[0]

    @cached_property
    def _results(self) -> list[_Result]:
        """The items of the returned tuple, then all of them as one tree."""
        made, results = self._made, self._made.results
        numbers = iter(range(made.count))
        outputs = [None if n in made.fixed else next(numbers) for n in range(results.num_leaves)]
        types = [None if n is None else self._outputs[n] for n in outputs]
        found: list[_Result] = []
        start = 0
        for number, child in enumerate(results.children() if results.type is tuple else []):
            end = start + child.num_leaves
            items = frozenset([number])
            found.append(_Result(f"result {number}", child, (*types[start:end],), (*outputs[start:end],), items))
            start = end
        name = "the result" if not found else "the whole result"
        return [*found, _Result(name, results, (*types,), (*outputs,), frozenset(range(len(found))) or frozenset([0]))]

    def _fits(self, result: _Result, argument: TracedArgument) -> bool:
        return result.spec == argument.spec and result.types == self._types_of(argument)

    def _types_of(self, argument: TracedArgument) -> _Types:
        return tuple([None if name is None else self._inputs[name] for name in argument.inputs])

    def _chosen(self, name: str | int, argument: TracedArgument) -> _Result:
        for one in self._results:
            if self._fits(one, argument) and not one.items & self._taken:
                return one
        listed = "; ".join(f"{one.name} is {_tree(one.spec, one.types)}" for one in self._results)
        raise GraphError(
            f"donate: no result can overwrite argument {name!r}, which is "
            f"{_tree(argument.spec, self._types_of(argument))}; {listed}. Return a new value for it, of its tree and "
            "types, as an item of a tuple or alone"
        )

    def _given(self, name: str | int, argument: TracedArgument, number: int) -> _Result:
        items = self._results[:-1] or self._results
        if not 0 <= number < len(items):
            raise GraphError(f"donate: {name!r}: expected the index of a result, below {len(items)}, got {number}")
        one = items[number]
        if one.spec == argument.spec:
            types = zip(paths(one.spec), one.types, self._types_of(argument), strict=True)
            if wrong := [place for place, a, b in types if (a is None) != (b is None)]:
                raise GraphError(f"donate: result {number}{wrong[0]} or that of argument {name!r} is not an array")
            return one
        if number == 0 and self._fits(whole := self._results[-1], argument):
            # the state itself is a tuple
            return whole
        fitting = [other for other in self._results if self._fits(other, argument)]
        cure = f"donate={name!r} selects {fitting[0].name}" if fitting else "return a new value of the same tree"
        raise GraphError(f"donate: result {number} is {one.spec}, argument {name!r} is {argument.spec}; {cure}")


def _tree(spec: Spec, types: _Types) -> str:
    """A tree with the types of its leaves, in short."""
    leaves = [f"{place or ''} {type_ or 'no array'}".strip() for place, type_ in zip(paths(spec), types, strict=True)]
    return ", ".join(leaves[:4]) + (f" and {len(leaves) - 4} more" if len(leaves) > 4 else "") or "empty"
