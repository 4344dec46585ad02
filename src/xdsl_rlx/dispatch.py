"""Functions that take a graph, and just as well a Python function of trees."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from enum import Enum
from functools import wraps
from typing import Any, cast, get_overloads

from xdsl.dialects.builtin import ModuleOp

from xdsl_rlx.builder import Graph, GraphModule, no_graph
from xdsl_rlx.dialects.calls import checked
from xdsl_rlx.dialects.errors import GraphError


def of_functions(on_graphs: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator of a function on graphs: given a Python function, it is that of its name in `tree_functions.py`."""

    @wraps(on_graphs)
    def call(graph: object, /, *args: Any, **kwargs: Any) -> Any:
        if isinstance(graph, classmethod | staticmethod):
            kind: Any = type(cast("object", graph))
            return kind(call(cast("Any", graph).__func__, *args, **kwargs))
        if callable(graph) and not isinstance(graph, GraphModule) and not hasattr(graph, "program"):
            from xdsl_rlx import tree_functions

            return checked(getattr(tree_functions, on_graphs.__name__))(graph, *args, **kwargs)
        if not isinstance(graph, Graph | GraphModule | ModuleOp) and not hasattr(graph, "program"):
            raise GraphError(f"{on_graphs.__name__}: {no_graph(graph, 'a Python function, or ')}")
        return on_graphs(graph, *args, **kwargs)

    return call


def as_decorator(on_function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator of a function that takes a function: called with keywords alone, it returns a decorator with these."""

    @wraps(on_function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if args or "graph" in kwargs:
            return on_function(*args, **kwargs)

        def decorator(function: Callable[..., Any]) -> Any:
            return on_function(function, **kwargs)

        return decorator

    return call


def describe(public: Callable[..., Any], of_functions: Callable[..., Any]) -> None:
    """
    Have `help` and `inspect.signature` show the form of `public` for Python functions first, then that for graphs.

    The docstring of `of_functions` describes the first.
    """
    forms = [bare_signature(form) for form in get_overloads(public)]
    takes_function = [next(iter(form.parameters.values())).annotation.startswith("Callable") for form in forms]
    name = public.__name__
    text = inspect.getdoc(inspect.unwrap(public)) or ""
    own = inspect.getdoc(of_functions) or ""
    first, others = (
        [form for form, one in zip(forms, takes_function, strict=True) if one is of] for of in (True, False)
    )
    parts = ["\n  ".join(["Forms:", *(f"{name}{form}" for form in (*first, *others))])]
    parts += [text] if own.startswith("See ") else [f"Of a Python function: {own}", f"Of a graph: {text}"]
    public.__doc__ = "\n\n".join(parts)
    vars(public)["__signature__"] = first[0]


class _Bare(str):
    """An annotation as it is written."""

    def __repr__(self) -> str:
        return str(self)


def bare_signature(function: Callable[..., Any], hidden: int = 0) -> inspect.Signature:
    """The signature of a function without its first `hidden` parameters, with annotations as they are written."""
    found = inspect.signature(function)
    parameters = [
        one.replace(
            annotation=_bare(one.annotation),
            default=one.default.value if isinstance(one.default, Enum) else one.default,
        )
        for one in list(found.parameters.values())[hidden:]
    ]
    return inspect.Signature(parameters, return_annotation=_bare(found.return_annotation))


def _bare(annotation: Any) -> Any:
    if annotation is inspect.Signature.empty:
        return annotation
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return _Bare(re.sub(r"\b(collections\.abc|typing|xdsl_rlx[\w.]*)\.", "", text))
