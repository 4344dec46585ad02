"""`custom_op`: how users and plugins add ops. What a registered op is in the IR is in `dialects/mir/custom.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from os import urandom
from typing import Any

from xdsl.builder import Builder
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block
from xdsl.rewriter import InsertPoint

from xdsl_rlx.dialects import constants
from xdsl_rlx.dialects.calls import checked
from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.dialects.mir.custom import Option, Registration, Shaped, ShapeRule, find, register
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value

__all__ = ["CustomKernel", "Shaped", "custom_op"]

KINDS = ("graph", "nest")


class CustomKernel:
    """A registered op: called with the values of a graph (and options), it inserts the op there."""

    def __init__(self, name: str, function: Callable[..., Any]):
        self.name = name
        self.function = function
        self.__doc__ = function.__doc__

    def __repr__(self) -> str:
        return f"CustomKernel({self.name!r})"

    def __call__(self, *inputs: Any, **options: Option) -> Value | tuple[Value, ...]:
        graph = next((x.b for x in inputs if isinstance(x, Value)), None)
        if graph is None:
            raise GraphError(f'op "{self.name}": expected a traced value among the operands, got none')
        return graph.custom(self.name, *inputs, **options)


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
    Decorator: the function is what the op `mir.custom "name"` does.

    `kernel="graph"`: `function(b, *inputs, **options)` builds the results of other ops with the builder `b`.
    `kernel="nest"`: `function(it, *inputs, *outputs, **options)` is one iteration of a loop whose iterations run at the
    same time: plain Python on arrays, which is translated (docs/custom-ops.md has the subset). `iterations` is how
    many there are, or a function that computes it as `shape` computes shapes.

    `shape(*operands, **options)` gives a `Shaped`, or a list of them, from those of the operands; those of a graph are
    what it builds. `vjp(b, inputs, outputs, cotangents, **options)` gives a cotangent for each input, `jvp(b, inputs,
    outputs, tangents, **options)` a tangent for each output, and `vmap(b, size, batched, inputs, **options)` the
    outputs with a leading axis. A graph without either derivative is differentiated through its definition, and batched
    through it without `vmap`; in all other cases a rule that is missed is an error that names the op. `inert` has the
    numbers of inputs with respect to which nothing is differentiated, with the reason.

    Change `version` when the function or a rule changes: programs with the op are cached by it. Without one they are
    cached for this process only. A name that is registered already is a GraphError unless `replace` is set.
    """
    if kernel not in KINDS:
        raise GraphError(f'op "{name}": expected kernel to be one of {", ".join(KINDS)}, got {kernel!r}')
    if not name:
        raise GraphError("expected a name for the op, got ''")
    if kernel == "nest" and shape is None:
        raise GraphError(f'op "{name}": expected a shape rule with kernel="nest", got none; pass shape=')

    def decorate(function: Callable[..., Any]) -> CustomKernel:
        if not replace and find(name) is not None:
            raise GraphError(f'op "{name}" is already registered; pass replace=True to replace it')
        lasts, own_nest = version is not None, kernel == "nest"
        # not a number: children of a process would count from the same one
        key = f"version {version}" if lasts else f"registered {urandom(16).hex()}"
        kind = register(Registration(name, shape or _shape_of_graph(function), key, lasts), own_nest)
        from xdsl_rlx.transforms.rules.custom import Functions, add_rows

        add_rows(kind, Functions(None if own_nest else function, vjp, jvp, vmap, dict(inert or {})))
        if own_nest:
            from xdsl_rlx.lowering.nests import NEST
            from xdsl_rlx.lowering.nests.custom import custom_nest

            NEST.add(kind, custom_nest(function, iterations))
        return CustomKernel(name, function)

    return decorate


def _shape_of_graph(function: Callable[..., Any]) -> ShapeRule:
    """The shapes of what a definition builds."""

    def shape(*operands: Shaped, **options: Option) -> Sequence[Shaped]:
        types = [TensorType(constants.element_type(dtype), shape) for shape, dtype in operands]
        block = Block(arg_types=types)
        b = MirBuilder(Builder(InsertPoint.at_end(block)))
        found = function(b, *map(b.value, block.args), **options)
        return [Shaped(y.shape, y.dtype.short) for y in ([found] if isinstance(found, Value) else found)]

    return shape
