"""`custom_op`: how users and plugins add ops. What a registered op is in the IR is in `dialects/mir/custom.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from inspect import Parameter, signature
from os import urandom
from typing import Any, cast

from xdsl.builder import Builder
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block
from xdsl.rewriter import InsertPoint

from xdsl_rlx.dialects import constants
from xdsl_rlx.dialects.calls import called_as, checked, shown
from xdsl_rlx.dialects.errors import GraphError, GraphTypeError
from xdsl_rlx.dialects.mir.custom import Option, Registration, Shaped, ShapeRule, find, register
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder
from xdsl_rlx.dialects.mir.value import Value
from xdsl_rlx.graph_methods.graph_builder import GraphBuilder
from xdsl_rlx.lowering.kernels import NEST
from xdsl_rlx.lowering.kernels.custom import custom_nest
from xdsl_rlx.op_functions import function
from xdsl_rlx.tracing import building_in
from xdsl_rlx.transforms.rules.custom import Functions, add_rows

__all__ = ["CustomKernel", "Shaped", "custom_op"]

KINDS = ("graph", "nest")


class CustomKernel:
    """A registered op; a call with arrays and options computes, and one with values of a graph builds the op there."""

    def __init__(self, name: str, function: Callable[..., Any]):
        self.name = name
        self.function = function
        self.__doc__ = function.__doc__

    def __repr__(self) -> str:
        return f"CustomKernel({self.name!r})"

    def __call__(self, *inputs: Any, **options: Option) -> Any:
        return function("custom")(self.name, *inputs, **options)


@checked
def custom_op(
    name: str,
    *,
    kernel: str = "graph",
    shape: ShapeRule | None = None,
    vjp: Callable[..., Any] | None = None,
    jvp: Callable[..., Any] | None = None,
    vmap: Callable[..., Any] | None = None,
    inert: Mapping[int, str] | None = None,
    version: str | None = None,
    replace: bool = False,
    iterations: int | Callable[..., int] = 1,
) -> Callable[[Callable[..., Any]], CustomKernel]:
    """
    Register the decorated function as the definition of the op `mir.custom "name"`.

    `kernel="graph"`: `function(b, *inputs, **options)` builds the results from other ops with the builder `b`.

    `kernel="nest"` (for "loop nest"): `function(it, *inputs, *outputs, **options)` is the body of a parallel loop,
    plain Python on arrays that is translated to a kernel. `it.index` is the index of the iteration. docs/custom-ops.md
    lists the supported subset. `iterations` is an integer, or a function of the arguments of `shape` that returns one.

    `shape(*operands, **options)` takes a `Shaped` per operand and returns the `Shaped` of the result, or a list of
    them. With `kernel="graph"` the default is the shapes that the function builds. `vjp(b, inputs, outputs, cotangents,
    **options)` returns a cotangent for each input, and `jvp(b, inputs, outputs, tangents, **options)` a tangent for
    each output. `vmap(b, size, batched, inputs, **options)` returns the outputs with a leading axis.

    With `kernel="graph"`, an op without `vjp` and `jvp` is differentiated through its definition, and one without
    `vmap` is batched through it. With `kernel="nest"`, or with only one of `vjp` and `jvp`, a missing rule is an error
    that names the op. A rule, also `shape` or `iterations`, that requires an option gets its default where a call
    does not give it. `inert` maps the indices of non-differentiable inputs to the reason.

    Change `version` when the function or a rule changes: it is part of the cache key of programs with the op. Without a
    version they are cached for this process only. Raises GraphError for a name that is already registered, unless
    `replace` is set.
    """
    _check(name, kernel, shape)

    def decorate(function: Callable[..., Any]) -> CustomKernel:
        if not callable(function):
            raise GraphTypeError(f'op "{name}": expected a function, got {shown(function)}')
        if not replace and find(name) is not None:
            raise GraphError(f'op "{name}" is already registered; pass replace=True to replace it')
        lasts, own_nest = version is not None, kernel == "nest"
        # not a number: children of a process would count from the same one
        key = f"version {version}" if lasts else f"registered {urandom(16).hex()}"
        shapes = _shape_of_graph(function) if shape is None else _with_defaults(shape, function)
        kind = register(Registration(name, shapes, key, lasts), own_nest)
        definition = None if own_nest else _building(function)
        rules = _rules(name, function, {"vjp": vjp, "jvp": jvp, "vmap": vmap})
        add_rows(kind, Functions(definition, rules[0], rules[1], rules[2], dict(inert or {})))
        if own_nest:
            counts = iterations if isinstance(iterations, int) else _with_defaults(iterations, function)
            NEST.add(kind, custom_nest(function, counts))
        return CustomKernel(name, function)

    return decorate


def _check(name: str, kernel: str, shape: ShapeRule | None) -> None:
    """GraphError for a definition that lacks something."""
    if kernel not in KINDS:
        raise GraphError(f'op "{name}": expected kernel to be one of {", ".join(KINDS)}, got {kernel!r}')
    if not name:
        raise GraphError("expected a name for the op, got ''")
    if kernel == "nest" and shape is None:
        raise GraphError(f'op "{name}": expected a shape rule with kernel="nest", got none; pass shape=')


def _with_defaults(rule: Callable[..., Any], function: Callable[..., Any]) -> Callable[..., Any]:
    """A rule that gets the defaults of the op's options where it requires them, and a call does not give them."""
    options, own = signature(function).parameters, signature(rule).parameters
    required = [name for name, one in own.items() if one.default is one.empty and name in options]
    missing = {name: options[name].default for name in required if options[name].default is not Parameter.empty}

    @wraps(rule)
    def call(*values: Any, **options: Option) -> Any:
        return rule(*values, **missing | options)

    return call if missing else rule


def _building(function: Callable[..., Any]) -> Callable[..., Any]:
    """A definition or a rule, for which NumPy's functions and those of ops build where the op is."""

    @wraps(function)
    def call(b: MirBuilder, *given: Any, **options: Option) -> Any:
        own = GraphBuilder(b.builder)
        with building_in(own):
            return _moved(function(own, *_moved(given, own), **options), b)

    return call


def _rules(
    name: str, function: Callable[..., Any], rules: Mapping[str, Callable[..., Any] | None]
) -> list[Callable[..., Any] | None]:
    """The rules of the op that `function` defines; GraphTypeError for one in a call that it does not take."""
    return [
        None if rule is None else _building(called_as(f'op "{name}": {what}', _with_defaults(rule, function)))
        for what, rule in rules.items()
    ]


def _moved(given: Any, to: MirBuilder) -> Any:
    """Values, or lists and tuples of such, as those of another builder at the same place."""
    if isinstance(given, Value):
        return Value(given.ssa, to, given.weak)
    if isinstance(given, list | tuple):
        return [_moved(one, to) for one in cast("Sequence[Any]", given)]
    return given


def _shape_of_graph(function: Callable[..., Any]) -> ShapeRule:
    """The shapes of what a definition builds."""

    def shape(*operands: Shaped, **options: Option) -> Sequence[Shaped]:
        types = [TensorType(constants.element_type(dtype), shape) for shape, dtype in operands]
        block = Block(arg_types=types)
        b = GraphBuilder(Builder(InsertPoint.at_end(block)))
        found = _building(function)(b, *map(b.value, block.args), **options)
        return [Shaped(y.shape, y.dtype.short) for y in ([found] if isinstance(found, Value) else found)]

    return shape
