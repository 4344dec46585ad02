"""Primitives of Equinox and of the libraries on it: Lineax, Optimistix and Diffrax."""

# Objects of jax, which is not installed everywhere, and operands of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from itertools import count
from typing import Any

import numpy as np

from xdsl_rlx.frontends.jaxpr.rows import ROWS, Call
from xdsl_rlx.frontends.shared.values import numpy_dtype, traced


@ROWS.add("unvmap_any")
def _any(c: Call, x: Any) -> Any:
    return np.any(traced(x))


@ROWS.add("unvmap_all")
def _all(c: Call, x: Any) -> Any:
    return np.all(traced(x))


@ROWS.add("unvmap_max")
def _max(c: Call, x: Any) -> Any:
    return np.max(traced(x))


@ROWS.add("nontraceable", "nonbatchable", "nondifferentiable_backward")
def _identity(c: Call, x: Any) -> Any:
    """JAX raises where such a value is transformed; here only what JAX has traced is transformed."""
    return x


@ROWS.add("select_if_vmap")
def _select(c: Call, holds: Any, x: Any, y: Any) -> Any:
    """`x`, but `y` for the examples of a batch whose loop has ended."""
    return np.where(traced(holds), x, y)


def _definition(eqn: Any) -> Callable[..., Any]:
    """The function that Equinox makes all rules of a primitive of."""
    registry = import_module("equinox.internal._primitive")._vprim_impl_registry
    return partial(registry[eqn.primitive], **eqn.params)


def _batched(eqn: Any) -> tuple[str, Any]:
    """The name and the parameters of an equation, or of the one that it is a batch of."""
    name, params = eqn.primitive.name, eqn.params
    while name == "vprim":
        name, params = params["prim"].name, dict(params["params"])
    return name, params


def _by_jvp(eqn: Any) -> bool:
    """Whether forward mode is the simpler rule: solvers have solvers in their rules, which reverse mode transposes."""
    return _batched(eqn)[0] != "linear_solve"


def _differentiable(eqn: Any) -> Sequence[int] | None:
    """Of a solver, the matrix and the vector, but not what it has computed of these before."""
    name, params = _batched(eqn)
    if name != "linear_solve":
        return None
    tree = import_module("jax").tree
    # operands are the leaves that are not static, in order
    static = params["static"]
    missing = import_module("equinox.internal._primitive")._missing_dynamic
    number = count()
    places = [_Place(next(number)) if x is missing else None for x in static]
    operator, _, vector, *_ = tree.unflatten(params["treedef"], places)
    return [one.number for one in tree.leaves((operator, vector)) if isinstance(one, _Place)]


@dataclass(frozen=True)
class _Place:
    """The number of an operand."""

    number: int


ROWS.define("linear_solve", "maybe_set", "vprim", by_jvp=_by_jvp, differentiable=_differentiable)(_definition)


def _not_an_error(eqn: Any) -> str | None:
    callback = getattr(eqn.params.get("callback"), "callback_func", None)
    if getattr(callback, "__module__", "") == "equinox._errors":
        return None
    return "it calls Python while the program runs; compute that outside, or print with jax.debug.print"


@ROWS.add("pure_callback", composite=True, why_not=_not_an_error)
def _error(c: Call, *_: Any) -> Any:
    """The results of `equinox.error_if` where there is an error: those that it has with `EQX_ON_ERROR=nan`."""
    return [_invalid(dtype, shape) for dtype, shape in zip(c.dtypes, c.shapes, strict=True)]


def _invalid(dtype: str, shape: tuple[int, ...]) -> Any:
    kind = numpy_dtype(dtype)
    if dtype == "i1":
        return np.ones(shape, kind)
    return np.full(shape, np.iinfo(kind).max if dtype[0] in "iu" else np.nan, kind)
