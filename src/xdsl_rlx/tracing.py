"""Python functions on trees of arrays called with values of a graph: what they build is a graph like any other."""

# Trees, and what NumPy is called with, are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue

from xdsl_rlx.builder import GraphModule, HirGraph
from xdsl_rlx.dialects import constants
from xdsl_rlx.dialects.calls import shown
from xdsl_rlx.dialects.errors import GraphError, GraphTypeError
from xdsl_rlx.dialects.hir.block import HirOp
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder
from xdsl_rlx.dialects.mir.value import Operand, Value
from xdsl_rlx.dialects.shapes import check_size, f64, i1, i64
from xdsl_rlx.inlined import InlinedOp
from xdsl_rlx.tree import Spec, Tree, flatten, names, paths, unflatten

Function: TypeAlias = Callable[..., Any]
"""A Python function of trees whose leaves may be values, to such a tree."""

_tracing: ContextVar[Trace | None] = ContextVar("_tracing", default=None)
"""What this thread is tracing, innermost: where functions without operands, such as `rlx.iota`, build."""

_PLAIN: dict[type, Attribute] = {bool: i1, int: i64, float: f64}
"""Element types of Python's numbers, which give way to those of the values that they meet."""


class Trace(HirGraph):
    """A graph that a Python function is called to build; it takes values of the graphs around it as further inputs."""

    def __init__(self, name: str, outer: MirBuilder | None):
        super().__init__(name if name.isidentifier() else "function")
        self.depth = 1 + getattr(outer, "depth", 0)
        self.names: dict[SSAValue, str] = {}
        """Those of the inputs that are arguments of the function."""
        self.captured: dict[SSAValue, tuple[Value, Value]] = {}
        """Values from around, and the inputs that stand for them here."""

    def operand(self, x: Operand, like: Operand | None = None) -> SSAValue:
        """As of any graph, and a value of a graph around this one."""
        if isinstance(x, Value) and x.b is not self and getattr(x.b, "depth", 0) < self.depth:
            x = self._captured(x)
        return super().operand(x, like)

    def declare(self, name: str, type_: Attribute) -> Value:
        """An input of that name, or of one made from it."""
        name = name if name.isidentifier() else f"x_{name}"
        unique, number = name, 1
        while unique in self._arguments:
            number += 1
            unique = f"{name}_{number}"
        value = self._argument(unique, "input", type_)
        self.names[value.ssa] = unique
        return value

    @property
    def stage_of_content(self) -> str:
        """`hir` if there are blocks in it, else `mir`."""
        blocks = (
            isinstance(op, HirOp) or (isinstance(op, InlinedOp) and op.source.stage == "hir")
            for op in self._module.walk()
        )
        return "hir" if any(blocks) else "mir"

    def _captured(self, x: Value) -> Value:
        if x.ssa not in self.captured:
            inside = self._argument(f"captured_{len(self.captured)}", "input", x.ssa.type)
            self.captured[x.ssa] = x, inside
        return self.captured[x.ssa][1]

    def cut(self, last: Any, arguments: int) -> None:
        super().cut(last, arguments)
        kept = {name for name, _ in self._arguments.items()}
        self.captured = {ssa: pair for n, (ssa, pair) in enumerate(self.captured.items()) if f"captured_{n}" in kept}


@dataclass(frozen=True)
class Traced:
    """What a function has built: a graph of all leaves of its arguments, and the containers around these."""

    graph: GraphModule
    arguments: tuple[Spec, ...]
    """The containers of each argument given by position, then of those by name."""
    names: tuple[tuple[str, ...], ...]
    """The inputs that the leaves of each are, in order."""
    results: Spec
    captured: tuple[Value, ...]
    """Values of graphs around it, which the last inputs stand for."""

    def inputs(self, leaves: Iterable[Operand]) -> dict[str, Operand]:
        """The operands of the graph by name, from the leaves of all arguments."""
        given: dict[str, Operand] = dict(zip((name for one in self.names for name in one), leaves, strict=True))
        return given | {f"captured_{number}": value for number, value in enumerate(self.captured)}


def trace(function: Function, /, *args: Tree, **kwargs: Tree) -> GraphModule:
    """
    The graph that a function on trees of arrays builds, for arguments of these shapes and element types.

    `str(rlx.trace(f, ...))` is its IR. An argument that is no array, such as a text or a function, is passed on as it
    is. GraphTypeError for a leaf that can be no array.
    """
    return traced(function, args, kwargs).graph


def traced(
    function: Function, args: Sequence[Tree], kwargs: Mapping[str, Tree], outer: MirBuilder | None = None
) -> Traced:
    """Call a function with values that stand for its arguments; `outer` is the graph that what it builds is for."""
    graph = Trace(getattr(function, "__name__", type(function).__name__), outer)
    called = [*_positions(function, len(args)), *kwargs]
    flat = [flatten(argument) for argument in (*args, *kwargs.values())]
    given: list[Tree] = []
    inputs: list[tuple[str, ...]] = []
    for name, (leaves, spec) in zip(called, flat, strict=True):
        places = paths(spec)
        wanted = names(spec, name)
        values = [
            leaf if is_passed_on(leaf) else _declared(graph, one, f"{name}{place}", leaf)
            for leaf, one, place in zip(leaves, wanted, places, strict=True)
        ]
        given.append(unflatten(spec, values))
        inputs.append(tuple(graph.names[value.ssa] for value in values if isinstance(value, Value)))
    with _innermost(graph):
        found = function(*given[: len(args)], **dict(zip(kwargs, given[len(args) :], strict=True)))
        leaves, results = flatten(found)
        if not leaves:
            raise GraphError(f"'{graph.name}' returns no value; what is computed has to be among its results")
        graph.set_outputs([_result(graph, leaf) for leaf in leaves])
    return Traced(
        GraphModule(graph.content, graph.stage_of_content),
        tuple(spec for _, spec in flat),
        tuple(inputs),
        results,
        tuple(value for value, _ in graph.captured.values()),
    )


@contextmanager
def _innermost(graph: Trace) -> Generator[None, None, None]:
    token = _tracing.set(graph)
    try:
        yield
    finally:
        _tracing.reset(token)


def builder_of(*trees: Tree) -> MirBuilder | None:
    """
    Where a function of these operands builds: in what this thread traces, else where they were built.

    None where they are arrays and nothing is traced.
    """
    if (graph := _tracing.get()) is not None:
        return graph
    return next((leaf.b for leaf in flatten(trees)[0] if isinstance(leaf, Value)), None)


def _positions(function: Function, count: int) -> list[str]:
    """Names for arguments by position: those of the parameters, as far as there are any."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    found: list[str] = []
    for number in range(count):
        one = parameters[number] if number < len(parameters) else None
        if one is not None and one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD):
            found.append(one.name)
        else:
            found.append(f"arg{number}")
    return found


def is_passed_on(leaf: object) -> bool:
    """Whether a leaf is none of the numbers that a graph computes with: a text, a function, a type."""
    return isinstance(leaf, str | bytes | type) or (callable(leaf) and not hasattr(leaf, "dtype"))


def _declared(graph: Trace, name: str, place: str, leaf: object) -> Value:
    """An input that stands for a leaf of an argument."""
    element, shape, weak = type_of(leaf, place)
    type_ = TensorType(element, shape)
    check_size(type_)
    value = graph.declare(name, type_)
    return Value(value.ssa, graph, True) if weak else value


def type_of(leaf: object, place: str) -> tuple[Attribute, tuple[int, ...], bool]:
    """Element type and shape of a leaf, and whether it gives way; GraphTypeError, naming its place."""
    if isinstance(leaf, Value):
        return leaf.type.get_element_type(), leaf.shape, leaf.weak
    if (plain := _PLAIN.get(type(leaf))) is not None:
        return plain, (), True
    if not hasattr(leaf, "dtype"):
        array = np.asarray(leaf) if hasattr(leaf, "__array__") else None
        if array is None or array.dtype == object:
            raise GraphTypeError(
                f"{place} is {shown(leaf)}: the arguments of a traced function are trees of arrays and numbers; "
                "name it in static= of rlx.compile"
            )
        leaf = array
    array = cast("np.ndarray[Any, Any]", leaf)
    constants.check_not_masked(array)
    return constants.element_type(array.dtype), tuple(array.shape), False


def _result(graph: Trace, leaf: object) -> Value:
    """A leaf of what a function returns; one that depends on no argument is a constant."""
    if (plain := _PLAIN.get(type(leaf))) is not None:
        return graph.scalar(cast("float", leaf), plain)
    try:
        return graph.value(graph.operand(cast("Operand", leaf)))
    except GraphError as error:
        raise GraphTypeError(f"'{graph.name}' returns {shown(leaf)}: {error}") from None
