"""Python functions on trees of arrays called with values of a graph: what they build is a graph like any other."""

# Trees, and what NumPy is called with, are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, is_dataclass
from enum import Enum, auto
from functools import cached_property
from typing import Any, cast

import numpy as np
import optree
from xdsl.dialects.builtin import IntegerType, TensorType
from xdsl.ir import Attribute, SSAValue

from xdsl_rlx.binding import Argument, Function, Parameters, parameters_of
from xdsl_rlx.builder import GraphModule, HirGraph
from xdsl_rlx.dialects import constants
from xdsl_rlx.dialects.arrays import read_array
from xdsl_rlx.dialects.calls import checked, shown
from xdsl_rlx.dialects.errors import GraphError, GraphTypeError
from xdsl_rlx.dialects.hir.block import HirOp
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder
from xdsl_rlx.dialects.mir.value import Operand, Value
from xdsl_rlx.dialects.shapes import c128, check_size, f64, i1, i64
from xdsl_rlx.held_arrays import HeldArrays, large_array
from xdsl_rlx.inlined import InlinedOp
from xdsl_rlx.static_keys import attributes_of, is_plain_object, is_static_leaf
from xdsl_rlx.tree import NAMESPACE, Spec, Tree, flatten, names, paths, unflatten
from xdsl_rlx.weak_integers import Fit, Number, number_of

_tracing: ContextVar[MirBuilder | None] = ContextVar("_tracing", default=None)
"""What this thread is tracing, innermost: where functions without operands, such as `rlx.iota`, build."""

EAGER: ContextVar[bool] = ContextVar("EAGER", default=False)
"""Whether compiled functions and loops run in Python; see `debug.py`."""

PLAIN: dict[type, Attribute] = {bool: i1, int: i64, float: f64, complex: c128}
"""Element types of Python's numbers, which give way to those of the values that they meet."""


class Mode(Enum):
    """How a graph is differentiated."""

    REVERSE = auto()
    TRANSPOSE = auto()
    """Reverse mode of a function that is linear."""
    FORWARD = auto()


Modes = tuple[Mode, ...]
"""The derivatives that are taken of a graph, the first one first."""


class Trace(HirGraph):
    """A graph that a Python function is called to build; it takes values of the graphs around it as further inputs."""

    def __init__(self, name: str, outer: MirBuilder | None, hold: bool = False, modes: Modes | None = None):
        """
        With `hold`, large arrays that it and the traces inside of it capture are params of it, not constants.

        `modes` are the derivatives that are taken of it before those of the trace around; None stands for any.
        """
        super().__init__(name if name.isidentifier() else "function")
        self.held = HeldArrays(lambda name, type_: self.declare(name, type_, "param")) if hold else None
        self.outermost: Trace = outer.outermost if isinstance(outer, Trace) else self
        around = outer.modes if isinstance(outer, Trace) else () if outer is None else None
        self.modes = None if modes is None or around is None else modes + around
        self.left_out = False
        """Whether derivative rules of functions are left out, since nothing differentiates them (outermost trace)."""
        self.depth = 1 + (0 if outer is None else outer.depth)
        self.names: dict[SSAValue, str] = {}
        """Those of the inputs that are arguments of the function."""
        self.fits: list[Fit] = []
        """What integers of Python's have to fit in, as calls check."""
        self.given: dict[SSAValue, Value] = {}
        """Arguments that stand for values of traces around."""
        self.captured: dict[SSAValue, tuple[Value, Value, str]] = {}
        """Values from around, the inputs that stand for them here, and the names of these."""

    def operand(self, x: Operand, like: Operand | None = None) -> SSAValue:
        """As of any graph, and a value of a graph around this one."""
        if isinstance(x, Value) and x.b is not self and x.b.depth < self.depth:
            x = self._captured(x)
        return super().operand(x, like)

    def constant(self, value: Any, dtype: object = None) -> Value:
        """As of any graph, or the param that stands for a large array."""
        held = self.outermost.held
        if held is not None and not isinstance(value, Value) and (array := large_array(value)) is not None:
            return self.value(self.operand(held.value(array, dtype)))
        return super().constant(value, dtype)

    def declare(self, name: str, type_: Attribute, kind: str = "input") -> Value:
        """An argument of that name, or of one made from it."""
        unique = self._unique(name)
        value = self._argument(unique, kind, type_)
        self.names[value.ssa] = unique
        return value

    def _unique(self, name: str) -> str:
        name = name if name.isidentifier() else "".join(c if f"x{c}".isidentifier() else "_" for c in f"x_{name}")
        unique, number = name, 1
        while unique in self._arguments:
            number += 1
            unique = f"{name}_{number}"
        return unique

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
            name = self._unique(f"captured_{len(self.captured)}")
            inside = self._argument(name, "input", x.ssa.type)
            self.captured[x.ssa] = x, inside, name
            self.given[inside.ssa] = x
        return self.captured[x.ssa][1]

    def require_fit(self, x: Value, to: IntegerType) -> None:
        """Have calls check it; GraphTypeError for what is computed from Python's integers in a way not followed."""
        found = number_of(x.ssa, cast("Trace", x.b)._number_of_argument)
        if found is None:
            name = constants.NAMED[to].name
            raise GraphTypeError(
                f"an integer computed from Python integers meets an array of {name}, where it may not fit; convert "
                f"it with astype({name!r}), which wraps, or pass np.int64 for an integer that has a type of its own"
            )
        self.outermost.fits.append(Fit(found[0], to, found[1]))

    def _number_of_argument(self, x: SSAValue) -> tuple[Number, str] | None:
        """That of an argument of the outermost trace, or of one that stands for it in a trace inside."""
        if x in self.given:
            outer = self.given[x]
            return number_of(outer.ssa, cast("Trace", outer.b)._number_of_argument)
        if self.outermost is not self or x not in self.names:
            return None
        number = list(self.names).index(x)
        return (lambda operands: int(operands[number])), self.names[x]

    def cut(self, last: Any, arguments: int) -> None:
        super().cut(last, arguments)
        kept = set(self._arguments)
        if self.held is not None:
            self.held.keep(lambda value: self.names[value.ssa] in kept)
        self.captured = {ssa: found for ssa, found in self.captured.items() if found[2] in kept}


@dataclass(frozen=True)
class TracedArgument:
    """An argument of a traced function: its tree, and the inputs that its leaves are."""

    argument: Argument
    leaves: tuple[Any, ...]
    spec: Spec
    inputs: tuple[str | None, ...]
    """None for a leaf that is passed on as it is."""

    def unflatten(self, found: Mapping[str, Any]) -> Tree:
        """What was found for its inputs, as its tree; None where there is nothing for a leaf."""
        return unflatten(self.spec, [None if name is None else found.get(name) for name in self.inputs])


@dataclass(frozen=True)
class Traced:
    """What a function has built: a graph of the leaves of its arguments, and the containers around these."""

    graph: GraphModule
    arguments: tuple[TracedArgument, ...]
    results: Spec
    fixed: Mapping[int, Any]
    """Leaves of the results that are none of the graph, such as texts, by number."""
    captured: Mapping[str, Value]
    """Values of graphs around it, by the names of the inputs that stand for them."""
    held: Mapping[str, np.ndarray[Any, Any]]
    """Values of the params that stand for large arrays."""
    fits: tuple[Fit, ...]
    """What integers of Python's among the operands have to fit in."""
    left_out: bool
    """Whether the graph lacks the derivative rules of functions in it."""

    @property
    def count(self) -> int:
        """How many outputs the graph has."""
        return self.results.num_leaves - len(self.fixed)

    def unflatten(self, outputs: Sequence[Any]) -> Tree:
        """The outputs of the graph as the tree of results."""
        return unflatten(self.results, self.with_fixed(outputs))

    def with_fixed(self, outputs: Sequence[Any]) -> Sequence[Any]:
        """The leaves of the results."""
        if not self.fixed:
            return outputs
        left = iter(outputs)
        return [self.fixed[n] if n in self.fixed else next(left) for n in range(self.results.num_leaves)]

    def inputs(self) -> dict[str, Operand]:
        """The operands of the graph by name: the leaves of the arguments, and what was captured."""
        given = {
            name: leaf
            for one in self.arguments
            for name, leaf in zip(one.inputs, one.leaves, strict=True)
            if name is not None
        }
        return given | dict(self.captured)


@checked
def trace(function: Function, /, *args: Tree, **kwargs: Tree) -> GraphModule:
    """
    Trace a function of trees of arrays into a graph, for arguments of these shapes and element types.

    `str` of the graph is its IR, a whole program. Captured arrays become constants of the graph. Arguments that are not
    arrays, such as strings or functions, are passed to the function unchanged. Raises GraphTypeError for a leaf that
    cannot become an array, and for a call that Python does not allow.
    """
    parameters = parameters_of(function)
    return traced(parameters, parameters.bind(args, kwargs), name_of(function)).graph


def name_of(function: Function) -> str:
    """What the graph of a function is called."""
    return getattr(function, "__name__", type(function).__name__)


def traced(
    parameters: Parameters,
    values: Sequence[Any],
    name: str,
    outer: MirBuilder | None = None,
    declares: Callable[[int, Any], bool] | None = None,
    hold: bool = False,
    modes: Modes | None = None,
) -> Traced:
    """
    Call a function with values that stand for what is bound to its parameters.

    `outer` is the graph that what it builds is for. `declares` says of an argument, by number, and a leaf of it whether
    that becomes an input; by default all do that can. Others are passed on as they are. With `hold`, large arrays that
    the function captures are params of the graph. `modes` are the derivatives that will be taken of this graph,
    before those of what contains it; None stands for any. They need derivative rules of custom functions.
    """
    graph = Trace(name, outer, hold, modes)
    found = [_declared_argument(graph, n, one, declares) for n, one in enumerate(parameters.arguments(values))]
    given = [unflatten(one.spec, leaves) for one, leaves in found]
    before = _objects(given)
    with building_in(graph):
        called = parameters.call(parameters.replaced(values, [one.argument for one, _ in found], given))
        leaves, results = flatten(called)
        _check_unchanged(before, called, name)
        fixed = {n: leaf for n, leaf in enumerate(leaves) if is_static_leaf(leaf)}
        outputs = [_result(graph, leaf) for n, leaf in enumerate(leaves) if n not in fixed]
        if not outputs:
            raise GraphError(
                f"expected '{graph.name}' to return at least one array or number that it computes, got none"
            )
        graph.set_outputs(outputs)
    return Traced(
        GraphModule(graph.content, graph.stage_of_content),
        tuple(one for one, _ in found),
        results,
        fixed,
        {name: value for value, _, name in graph.captured.values()},
        {} if graph.held is None else {graph.names[value.ssa]: array for value, array in graph.held.arrays},
        tuple(graph.fits),
        graph.left_out,
    )


def _declared_argument(
    graph: Trace, number: int, argument: Argument, declares: Callable[[int, Any], bool] | None
) -> tuple[TracedArgument, list[Any]]:
    """An argument with its inputs, and what stands for its leaves."""
    leaves, spec = flatten(argument.value)
    places = paths(spec)
    wanted = names(spec, argument.name)
    given = [
        _declared(graph, one, f"{argument.name}{place}", leaf)
        if not is_static_leaf(leaf) and (declares is None or declares(number, leaf))
        else leaf
        for leaf, one, place in zip(leaves, wanted, places, strict=True)
    ]
    inputs = tuple(graph.names.get(x.ssa) if isinstance(x, Value) else None for x in given)
    return TracedArgument(argument, tuple(leaves), spec, inputs), given


def _objects(trees: Sequence[Tree]) -> list[tuple[Any, dict[str, Any]]]:
    """Objects among trees, but dataclasses, with their attributes."""
    found: list[tuple[Any, dict[str, Any]]] = []

    def visit(tree: Tree) -> bool:
        if is_plain_object(tree) and not is_dataclass(tree):
            found.append((tree, attributes_of(tree)))
        return False

    every: Any = list(trees)
    optree.tree_flatten(every, visit, namespace=NAMESPACE)
    return found


def _check_unchanged(before: Sequence[tuple[Any, dict[str, Any]]], results: Tree, name: str) -> None:
    """GraphError for an object among the arguments that the function has changed and does not return."""
    if not before:
        return
    returned = {id(one) for one, _ in _objects([results])}
    for one, attributes in before:
        kind, now = type(one), attributes_of(one)
        for key, value in now.items():
            cached = isinstance(getattr(kind, key, None), cached_property)
            if attributes.get(key, now) is not value and not cached and id(one) not in returned:
                raise GraphError(
                    f"'{name}' sets attribute '{key}' of an argument of class {kind.__name__}, which is a copy: "
                    "return the new value, or the object, and set it outside of the function"
                )


@contextmanager
def building_in(graph: MirBuilder) -> Generator[None, None, None]:
    """Functions of ops build in this graph, or with this builder of a rule."""
    token = _tracing.set(graph)
    try:
        yield
    finally:
        _tracing.reset(token)


def is_tracing() -> bool:
    """Whether this thread is tracing a function."""
    return _tracing.get() is not None


def is_eager(*trees: Tree) -> bool:
    """Whether a function of these operands runs in Python: they are arrays, nothing is traced, in `rlx.eager`."""
    return EAGER.get() and builder_of(*trees) is None


def builder_of(*trees: Tree) -> MirBuilder | None:
    """
    Where a function of these operands builds: in what this thread traces, else where they were built.

    None where they are arrays and nothing is traced.
    """
    if (graph := _tracing.get()) is not None:
        return graph
    return next((leaf.b for leaf in flatten(trees)[0] if isinstance(leaf, Value)), None)


def _declared(graph: Trace, name: str, place: str, leaf: object) -> Value:
    """An input that stands for a leaf of an argument."""
    element, shape, weak = type_of(leaf, place)
    type_ = TensorType(element, shape)
    check_size(type_)
    value = graph.declare(name, type_)
    if isinstance(leaf, Value) and isinstance(leaf.b, Trace):
        graph.given[value.ssa] = leaf
    return Value(value.ssa, graph, True) if weak else value


def type_of(leaf: object, place: str) -> tuple[Attribute, tuple[int, ...], bool]:
    """Element type and shape of a leaf, and whether it gives way; GraphTypeError, naming its place."""
    if isinstance(leaf, Value):
        return leaf.type.get_element_type(), leaf.shape, leaf.weak
    if (plain := PLAIN.get(type(leaf))) is not None:
        return plain, (), True
    array = _read(leaf, place)
    if array is None and hasattr(leaf, "dtype") and hasattr(leaf, "shape"):
        # it stands for an array
        array = cast("np.ndarray[Any, Any]", leaf)
    if array is None or array.dtype == object:
        raise GraphTypeError(
            f"{place} is {shown(leaf)}: the arguments of a traced function are trees of arrays and numbers; "
            "name it in static= of rlx.compile"
        )
    return constants.element_type(array.dtype), tuple(array.shape), False


def _read(leaf: object, place: str) -> np.ndarray[Any, Any] | None:
    """An array of any library, or None; GraphTypeError, naming its place, for one that cannot be read."""
    try:
        return read_array(leaf)
    except GraphError as error:
        raise GraphTypeError(f"{place}: {error}") from error


def _result(graph: Trace, leaf: object) -> Value:
    """A leaf of what a function returns; one that depends on no argument is a constant."""
    if (plain := PLAIN.get(type(leaf))) is not None:
        return graph.scalar(cast("float", leaf), plain)
    try:
        return graph.value(graph.operand(cast("Operand", leaf)))
    except GraphError as error:
        raise GraphTypeError(f"'{graph.name}' returns {shown(leaf)}: {error}") from None
