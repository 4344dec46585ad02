"""`rlx.to_stablehlo`: graphs, and functions of trees of arrays, as StableHLO modules."""

# Trees are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Literal, overload

from xdsl.utils.exceptions import PassFailedException

from xdsl_rlx.binding import parameters_of
from xdsl_rlx.builder import AnyGraph, GraphModule, as_graph_module, is_graph
from xdsl_rlx.compiled_function import CompiledFunction
from xdsl_rlx.dialects.calls import shown
from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.frontends.shared.errors import FrontendError
from xdsl_rlx.frontends.stablehlo.convert_mir_to_stablehlo import PREPARE, Held, text_of, written_module
from xdsl_rlx.passes import above_lir, apply_passes
from xdsl_rlx.tracing import name_of, traced
from xdsl_rlx.tree import Tree


@overload
def to_stablehlo(
    graph: AnyGraph | Callable[..., Tree], /, *example: Tree, portable: Literal[False] = False, **kwargs: Tree
) -> str: ...
@overload
def to_stablehlo(
    graph: AnyGraph | Callable[..., Tree], /, *example: Tree, portable: Literal[True], **kwargs: Tree
) -> bytes: ...
def to_stablehlo(
    graph: AnyGraph | Callable[..., Tree], /, *example: Tree, portable: bool = False, **kwargs: Tree
) -> str | bytes:
    """
    Return a graph, or a function of trees of arrays, as a StableHLO module, whose function is `@main`.

    The arguments of `@main` are those of the graph, or the leaves of `example` and `kwargs` in order, and its results
    are the leaves of the results. Values of the example do not matter. Arrays that the function captures are constants
    of the module. By default the module is text in MLIR's generic form. With `portable=True` it is a portable artifact
    in bytes, which later versions of StableHLO read; that needs JAX.

    ```python
    text = rlx.to_stablehlo(rlx.grad(loss), params, x)
    ```

    Raises GraphError for an op that StableHLO has no operation for, with the reason, and FrontendError if JAX is not
    installed where it is needed.
    """
    if is_graph(graph):
        if example or kwargs:
            raise FrontendError(f"to_stablehlo: a graph takes no example, got {len(example) + len(kwargs)}; omit it")
        text = stablehlo_text(as_graph_module(graph), {})
    elif callable(graph):
        text = _of_function(graph, example, kwargs)
    else:
        raise FrontendError(f"to_stablehlo: expected a graph or a function of trees of arrays, got {shown(graph)}")
    return import_module("xdsl_rlx.frontends.hosts.jax_modules").portable(text) if portable else text


def _of_function(function: Callable[..., Tree], args: tuple[Tree, ...], kwargs: Mapping[str, Tree]) -> str:
    inner = function.__wrapped__ if isinstance(function, CompiledFunction) else function
    parameters = parameters_of(inner)
    made = traced(parameters, parameters.bind(args, dict(kwargs)), name_of(function), hold=True, modes=())
    if made.captured:
        raise GraphError(f"'{made.graph.name}' uses a traced value of an enclosing function; pass it as an argument")
    return stablehlo_text(made.graph, made.held)


def stablehlo_text(graph: GraphModule, held: Held) -> str:
    """A graph as StableHLO text; params with a value in `held` are constants of it."""
    source = above_lir(graph, "to_stablehlo")
    try:
        prepared = apply_passes(source.module, PREPARE)
        return text_of(written_module(prepared, held))
    except PassFailedException as error:
        raise GraphError(str(error)) from error
