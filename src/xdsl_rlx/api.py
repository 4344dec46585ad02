"""
The public functions that take a graph or a Python function. One table, `FORMS`, has the function for each.

A graph is normalised here, once: forms of graphs take a `GraphModule`. Arguments are converted here, too.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    NamedTuple,
    ParamSpec,
    SupportsIndex,
    TypeVar,
    cast,
    get_overloads,
    overload,
)

import xdsl_rlx.derivatives as on_graphs
import xdsl_rlx.jacobians as graph_jacobians
import xdsl_rlx.tree_functions as on_functions
from xdsl_rlx.binding import Which
from xdsl_rlx.builder import AnyGraph, GraphModule, as_graph_module, is_graph, no_graph
from xdsl_rlx.compiled_function import CompiledFunction
from xdsl_rlx.compiled_function import compile as compile_function
from xdsl_rlx.compiling import compile as compile_graph
from xdsl_rlx.dialects.calls import signature_of
from xdsl_rlx.dialects.errors import GraphError, GraphTypeError
from xdsl_rlx.dialects.mir.value import Value
from xdsl_rlx.function_types import HvpFunction, JvpFunction
from xdsl_rlx.jacobian_columns import by_columns
from xdsl_rlx.jacobians import Jacobians
from xdsl_rlx.lowering.backend.runtime.compiled_graph import CompiledGraph
from xdsl_rlx.lowering.backend.runtime.weights import Weights
from xdsl_rlx.passes import above_lir
from xdsl_rlx.signatures import bare_signature

if TYPE_CHECKING:
    import numpy as np

_P = ParamSpec("_P")
_R = TypeVar("_R")


def _any_stage(graph: AnyGraph, _name: str) -> GraphModule:
    return as_graph_module(graph)


def _as_given(graph: AnyGraph, _name: str) -> AnyGraph:
    """Of a graph that is being built, `wrt` may have values; `grad` normalises it after it has named them."""
    return graph


class Forms(NamedTuple):
    """What a public function is for each kind of its first argument."""

    of_function: Callable[..., Any]
    of_graph: Callable[..., Any]
    normalised: Callable[[Any, str], Any] = above_lir
    """Makes of the graph what `of_graph` takes; GraphError, in the name of the public function, for another."""
    of_program: Callable[..., Any] | None = None
    """The form for a compiled graph, called with the arguments of `of_graph`."""


FORMS = {
    "compile": Forms(compile_function, compile_graph, _any_stage),
    "grad": Forms(on_functions.grad, on_graphs.grad, _as_given),
    "jvp": Forms(on_functions.jvp, on_graphs.jvp),
    "hvp": Forms(on_functions.hvp, on_graphs.hvp),
    "vmap": Forms(on_functions.vmap, on_graphs.vmap),
    "jacfwd": Forms(on_functions.jacfwd, graph_jacobians.jacfwd, of_program=by_columns),
    "jacrev": Forms(on_functions.jacrev, graph_jacobians.jacrev),
    "hessian": Forms(on_functions.hessian, graph_jacobians.hessian),
}
"""The forms of each public function that has several."""


def _call(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Call the form of a public function for its first argument; GraphError for one that it has no form for."""
    if not args:
        raise GraphTypeError(f"{name}: expected a graph or a Python function as the first argument, by position")
    forms, graph = FORMS[name], args[0]
    if isinstance(graph, classmethod | staticmethod):
        kind: Any = type(cast("object", graph))
        return kind(_call(name, (cast("Any", graph).__func__, *args[1:]), kwargs))
    is_program = hasattr(graph, "program")
    if is_graph(graph) or is_program:
        positional, named = signature_of(forms.of_graph).bind(args, kwargs)
        if is_program and forms.of_program is not None:
            return forms.of_program(*positional, **named)
        return forms.of_graph(forms.normalised(graph, name), *positional[1:], **named)
    if not callable(graph):
        raise GraphError(f"{name}: {no_graph(graph, 'a Python function, or ')}")
    positional, named = signature_of(forms.of_function).bind(args, kwargs)
    return forms.of_function(*positional, **named)


@overload
def compile(
    graph: AnyGraph,
    threads: SupportsIndex | None = None,
    backend: Literal["llvm", "numba"] = "llvm",
    donate: Mapping[str, SupportsIndex] | None = None,
    weights: Weights | None = None,
    memory_budget: SupportsIndex | None = None,
    strict_donation: bool = False,
    unchecked: bool = False,
    scratch: Sequence[str] = (),
) -> CompiledGraph: ...
@overload
def compile(
    function: Callable[_P, _R],
    /,
    static: str | int | Sequence[str | int] = (),
    donate: Mapping[str | int, int] | str | int | Sequence[str | int] | None = None,
    *,
    threads: SupportsIndex | None = None,
    backend: Literal["llvm", "numba"] = "llvm",
    memory_budget: SupportsIndex | None = None,
    strict_donation: bool = False,
    scratch: str | int | Sequence[str | int] = (),
) -> CompiledFunction[_P, _R]: ...
@overload
def compile(
    *,
    static: str | int | Sequence[str | int] = (),
    donate: Mapping[str | int, int] | str | int | Sequence[str | int] | None = None,
    threads: SupportsIndex | None = None,
    backend: Literal["llvm", "numba"] = "llvm",
    memory_budget: SupportsIndex | None = None,
    strict_donation: bool = False,
    scratch: str | int | Sequence[str | int] = (),
) -> Callable[[Callable[_P, _R]], CompiledFunction[_P, _R]]: ...
def compile(*args: Any, **kwargs: Any) -> Any:
    """Compile a Python function of trees of arrays, or a graph; see `compiling.py`."""
    if args or "graph" in kwargs:
        return _call("compile", args, kwargs)

    def decorator(function: Callable[..., Any]) -> Any:
        return _call("compile", (function,), kwargs)

    return decorator


@overload
def grad(
    graph: AnyGraph, wrt: Sequence[str | Value] | str | Value = (), zero_missing_wrt: bool = False
) -> GraphModule: ...
@overload
def grad(
    function: Callable[_P, Any], /, argnums: Which = 0, has_aux: bool = False, reduce: str | None = None
) -> Callable[_P, Any]: ...
def grad(*args: Any, **kwargs: Any) -> Any:
    """Return the function of the gradients of a function, or the graph of those of a graph."""
    return _call("grad", args, kwargs)


@overload
def jvp(graph: AnyGraph, tangent_for: Sequence[str] | str) -> GraphModule: ...
@overload
def jvp(function: Callable[..., _R], /) -> JvpFunction[_R]: ...
@overload
def jvp(function: Callable[..., _R], /, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[_R, Any]: ...
def jvp(*args: Any, **kwargs: Any) -> Any:
    """Return the Jacobian-vector product of a function, or of a graph."""
    return _call("jvp", args, kwargs)


@overload
def hvp(graph: AnyGraph, wrt: Sequence[str] | str, zero_missing_wrt: bool = False) -> GraphModule: ...
@overload
def hvp(function: Callable[..., Any], /, argnums: Which = 0) -> HvpFunction: ...
def hvp(*args: Any, **kwargs: Any) -> Any:
    """Return the Hessian-vector product of a function, or of a graph."""
    return _call("hvp", args, kwargs)


@overload
def vmap(
    graph: AnyGraph, inputs: Sequence[str] | str, size: int, in_axes: int | Mapping[str, int] = 0
) -> GraphModule: ...
@overload
def vmap(function: Callable[_P, _R], /, in_axes: Any = 0, out_axes: Any = 0) -> Callable[_P, _R]: ...
def vmap(*args: Any, **kwargs: Any) -> Any:
    """Return a function, or a graph, for a batch of examples."""
    return _call("vmap", args, kwargs)


@overload
def jacfwd(graph: AnyGraph, wrt: Sequence[str] | str) -> Jacobians: ...
@overload
def jacfwd(graph: CompiledGraph, wrt: str) -> Callable[..., tuple[np.ndarray[Any, Any], ...]]: ...
@overload
def jacfwd(function: Callable[_P, Any], /, argnums: Which = 0) -> Callable[_P, Any]: ...
def jacfwd(*args: Any, **kwargs: Any) -> Any:
    """Return the Jacobians of a function, a graph or a compiled `jvp`, in forward mode."""
    return _call("jacfwd", args, kwargs)


@overload
def jacrev(graph: AnyGraph, wrt: Sequence[str] | str) -> Jacobians: ...
@overload
def jacrev(function: Callable[_P, Any], /, argnums: Which = 0) -> Callable[_P, Any]: ...
def jacrev(*args: Any, **kwargs: Any) -> Any:
    """Return the Jacobians of a function, or of a graph, in reverse mode."""
    return _call("jacrev", args, kwargs)


@overload
def hessian(graph: AnyGraph, wrt: Sequence[str] | str) -> Jacobians: ...
@overload
def hessian(function: Callable[_P, Any], /, argnums: Which = 0) -> Callable[_P, Any]: ...
def hessian(*args: Any, **kwargs: Any) -> Any:
    """Return the second derivatives of a function, or of a graph."""
    return _call("hessian", args, kwargs)


def _describe(public: Callable[..., Any], forms: Forms) -> None:
    """
    Have `help` and `inspect.signature` show the form of `public` for Python functions first, then that for graphs.

    The docstrings are those of the forms.
    """
    signatures = [bare_signature(form) for form in get_overloads(public)]
    takes_function = [next(iter(one.parameters.values())).annotation.startswith("Callable") for one in signatures]
    name = public.__name__
    of_graph, of_function = (inspect.getdoc(form) or "" for form in (forms.of_graph, forms.of_function))
    first, others = (
        [form for form, one in zip(signatures, takes_function, strict=True) if one is of] for of in (True, False)
    )
    parts = ["\n  ".join(["Forms:", *(f"{name}{form}" for form in (*first, *others))])]
    if of_function.startswith("See "):
        parts.append(of_graph)
    else:
        parts += [f"Of a Python function: {of_function}", f"Of a graph: {of_graph}"]
    public.__doc__ = "\n\n".join(parts)
    vars(public)["__signature__"] = first[0]


for _name, _forms in FORMS.items():
    _describe(globals()[_name], _forms)
