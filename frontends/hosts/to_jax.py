"""`rlx.to_jax`: a function of trees of arrays as a differentiable function of JAX arrays."""

# Trees of any type, and modules of jax, which is not installed everywhere.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Literal, SupportsIndex

from xdsl_rlx.dialects.calls import shown
from xdsl_rlx.frontends.shared.errors import FrontendError
from xdsl_rlx.frontends.shared.needed import jax_module
from xdsl_rlx.tree import Tree


def to_jax(
    f: Callable[..., Tree],
    /,
    *example: Tree,
    run: Literal["rlx", "xla"] = "xla",
    threads: SupportsIndex | None = None,
    memory_budget: SupportsIndex | None = None,
    **kwargs: Tree,
) -> Callable[..., Tree]:
    """Return a function of trees of arrays as a differentiable function of JAX arrays."""
    jax_module("to_jax")
    if not callable(f):
        raise FrontendError(f"to_jax: f: expected a function of trees of arrays, got {shown(f)}")
    given = {"threads": threads, "memory_budget": memory_budget}
    options = {name: x for name, x in given.items() if x is not None}
    if run not in ("rlx", "xla"):
        raise FrontendError(f"to_jax: run: expected 'rlx' or 'xla', got {shown(run)}")
    kind: Any = import_module("xdsl_rlx.frontends.hosts.jax_function")
    function = kind.JaxFunction(f, kind.Run(run), options)
    if example or kwargs:
        function.compile(*example, **kwargs)
    return function
