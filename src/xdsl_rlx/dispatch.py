"""Functions that take a graph, and just as well a Python function of trees."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, cast

from xdsl_rlx.builder import GraphModule
from xdsl_rlx.dialects.calls import checked


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
