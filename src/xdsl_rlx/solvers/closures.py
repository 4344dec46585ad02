"""Functions of a solver as functions of all that they read: their arguments, and the traced values they capture."""

# Trees, and what NumPy is called with, are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from xdsl_rlx.binding import parameters_of
from xdsl_rlx.builder import HirGraph
from xdsl_rlx.dialects.calls import called_as, shown
from xdsl_rlx.dialects.errors import GraphError, GraphTypeError
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder
from xdsl_rlx.dialects.mir.value import Value
from xdsl_rlx.nn.arguments import kind_of
from xdsl_rlx.op_functions import function
from xdsl_rlx.static_keys import is_array_like
from xdsl_rlx.tracing import builder_of, name_of, traced
from xdsl_rlx.tree import Spec, Tree, flatten, paths, ravel, unflatten


@dataclass(frozen=True)
class Closed:
    """A function of traced values without captures: `function(captured, *args)` for arguments like the examples."""

    function: Callable[..., Tree]
    captured: tuple[Any, ...]
    """The values that the given function captured; custom derivative rules need them as arguments."""

    def __call__(self, *args: Tree) -> Tree:
        """The result with the values that it captured."""
        return self.function(self.captured, *args)


def closed(builder: MirBuilder, function: Callable[..., Any], *examples: Tree) -> Closed:
    """Trace a function for arguments like `examples`, as `jax.closure_convert`; their numbers stay as they are."""
    if not callable(function):  # pyright: ignore[reportUnnecessaryComparison]
        raise GraphTypeError(f"expected a function, got {shown(function)}")
    parameters = parameters_of(function)
    made = traced(
        parameters,
        parameters.bind(examples, {}),
        name_of(function),
        builder,
        lambda _, leaf: isinstance(leaf, Value) or is_array_like(leaf),
        modes=(),
    )
    names = list(made.captured)

    def call(captured: Sequence[Any], *args: Tree) -> Tree:
        given = dict(zip(names, captured, strict=True))
        for one, tree in zip(made.arguments, args, strict=True):
            leaves, _ = flatten(tree)
            given |= {name: x for name, x in zip(one.inputs, leaves, strict=True) if name is not None}
        inner: Any = builder_of(captured, args)
        return made.unflatten(inner.inline(made.graph, **given))

    return Closed(call, tuple(made.captured.values()))


@dataclass(frozen=True)
class Unknowns:
    """the unknowns of a solver: a floating-point tree, and the same as one vector."""

    what: str
    """Function and argument, for messages."""
    spec: Spec
    vector: Any
    unravel: Callable[[Any], Tree]

    @classmethod
    def of(cls, builder: MirBuilder, tree: Tree, what: str) -> Unknowns:
        """
        Integers are converted to the default float type; GraphError for a leaf that is no array.

        Python's numbers have the type of the arrays among the leaves, else f64.
        """
        leaves, spec = flatten(tree)
        arrays = [x for x in leaves if hasattr(x, "dtype") and kind_of(x) in "fc"]
        kind = np.dtype(arrays[0].dtype) if arrays else np.dtype(np.float64)
        values: list[Value] = []
        for leaf, place in zip(leaves, paths(spec), strict=True):
            if not isinstance(leaf, Value) and not is_array_like(leaf) and not isinstance(leaf, int | float | complex):
                raise GraphError(f"{what}{place}: expected an array, got {shown(leaf)}")
            if not hasattr(leaf, "dtype") and isinstance(leaf, int | float):
                leaf = np.asarray(leaf, kind)
            value: Any = builder.value(builder.operand(leaf))
            values.append(value if kind_of(value) in "fc" else value * 1.0)
        vector, unravel = ravel(unflatten(spec, values))
        return cls(what, spec, vector if values else builder.constant(np.zeros(0, np.float32)), unravel)

    def read(self, tree: Tree, what: str) -> Any:
        """The vector of a tree like the unknowns; GraphError for another structure or another shape of a leaf."""
        leaves, spec = flatten(tree)
        if spec != self.spec:
            raise GraphError(f"{what}: expected a tree {self.spec} like {self.what}, got {spec}")
        if not leaves:
            return self.vector
        like, parts = flatten(self.unravel(self.vector))[0], list[Any]()
        for place, one, leaf in zip(paths(spec), like, leaves, strict=True):
            if tuple(np.shape(leaf)) != tuple(one.shape):
                raise GraphError(
                    f"{what}{place}: expected shape {list(one.shape)} like {self.what}{place}, got "
                    f"{list(np.shape(leaf))}; reshape it"
                )
            parts.append(one.b.operand(leaf) if not hasattr(leaf, "dtype") else leaf)
        vector = ravel(unflatten(spec, parts))[0]
        if kind_of(vector) == "c" and kind_of(self.vector) != "c":
            raise GraphError(f"{what}: expected real numbers like {self.what}, got complex ones")
        return vector.astype(self.vector.dtype)

    @property
    def count(self) -> int:
        """The number of unknowns."""
        return int(self.vector.shape[0])


def builder_for(*trees: Tree) -> MirBuilder:
    """Return the builder of a call of a composite, which is always traced."""
    builder = builder_of(*trees)
    assert builder is not None
    return builder


def scope(name: str) -> AbstractContextManager[None]:
    """Locate ops in a scope, which the message of `rlx.debug.check_nans` has: say there why a solver gives NaN."""
    graph = builder_of()
    return graph.named(name) if isinstance(graph, HirGraph) else nullcontext()


def arguments_of(args: Any) -> tuple[Any, ...]:
    """Return further arguments of a function as SciPy takes them: a tuple, or a single one."""
    return args if type(args) is tuple else (args,)


def norm(x: Any) -> Any:
    """Return the Euclidean norm of a vector, whose derivative at 0 is 0."""
    return function("safe_sqrt")(squared(x))


def squared(x: Any) -> Any:
    """Return the squared Euclidean norm of a vector."""
    return np.vdot(x, x).real if kind_of(x) == "c" else np.dot(x, x)


def check_function(what: str, found: object) -> None:
    """Raise GraphTypeError unless an argument is a function."""
    if not callable(found):
        raise GraphTypeError(f"{what}: expected a function, got {shown(found)}")


def given_function(what: str, parameters: str, found: Callable[..., Any]) -> Callable[..., Any]:
    """An argument as a function of these parameters; GraphTypeError for another object, and in calls for others."""
    check_function(what, found)
    return called_as(f"{what}({parameters})", found)
