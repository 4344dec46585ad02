"""NumPy's functions on values of a graph, by NumPy's names and with NumPy's arguments: `np.sum(x, axis=0)`, `x.sum(0)`.

They are rows in the files beside this one; what is in none of them, the caller is told by name.
"""

# Trees, and what NumPy is called with, are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false

from __future__ import annotations

import inspect
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from xdsl.utils.exceptions import VerifyException

from xdsl_rlx.dialects.constants import numpy_type
from xdsl_rlx.dialects.errors import GraphError, GraphTypeError, RlxError
from xdsl_rlx.dialects.mir.promotion import in_one_graph, values_of
from xdsl_rlx.dialects.mir.value import Value
from xdsl_rlx.dialects.shapes import element_of, i1
from xdsl_rlx.frontends.numpy import joins, linalg, reductions, series
from xdsl_rlx.frontends.numpy.elements import ufunc
from xdsl_rlx.frontends.numpy.rows import FUNCTIONS, Function, as_value, composed
from xdsl_rlx.graph_methods import sorting, statistics

ROWS = (joins, linalg, series)
"""The files that have rows and that no other file needs."""

_BY_DATA = "the shape of its result depends on concrete values; np.where(mask, x, 0) keeps the shape"
_SIZED = ("nonzero", "flatnonzero", "argwhere", "unique", "union1d", "intersect1d", "setdiff1d")
_NO_OP = "no op computes it"
_IN_PLACE = "it changes an array, and traced values are immutable"
_REASONS = {
    **{name: f"{_BY_DATA}, rlx.{name}(.., size=n) gives the first n" for name in _SIZED},
    **dict.fromkeys(("extract", "trim_zeros"), _BY_DATA),
    "bincount": "the shape of its result depends on concrete values; write rlx.bincount(x, length=n)",
    "put_along_axis": f"{_IN_PLACE}; build a new one with np.where",
    "put": f"{_IN_PLACE}; build a new one with np.where",
    "place": f"{_IN_PLACE}; np.where(mask, new, x) is a new one",
    "putmask": f"{_IN_PLACE}; np.where(mask, new, x) is a new one",
    "copyto": f"{_IN_PLACE}; np.where(mask, new, x) is a new one, np.full_like(a, x) is x * np.ones_like(a)",
    "fill_diagonal": f"{_IN_PLACE}; np.where(np.eye(n) > 0, new, x) is a new one",
    "at": f"{_IN_PLACE}; rlx.scatter_add(numbers, indices, n) adds to n elements",
    **dict.fromkeys(
        ("array", "asarray", "asanyarray"),
        "np.stack([x, y]) makes one of values and numbers, np.block([[x, 1.0], [1.0, y]]) one of nested lists",
    ),
    "apply_along_axis": "write it with the axis of NumPy's functions, or with rlx.vmap",
    "apply_over_axes": "write it with the axis of NumPy's functions",
    "save": "it has no concrete value yet; return it, and save the result",
    "savez": "it has no concrete value yet; return it, and save the result",
    "savetxt": "it has no concrete value yet; return it, and save the result",
}
"""Why some functions have no meaning here, and what to write."""


def function(name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """A function of NumPy's; GraphTypeError for one that no op computes, and for an argument that has no meaning."""
    found = FUNCTIONS.get(name)
    if found is None:
        raise GraphTypeError(f"np.{name} does not support traced values: {_REASONS.get(name, _NO_OP)}")
    signature, arrays = _signature(found)
    inside = in_one_graph([*args, *kwargs.values()])
    args, kwargs = inside[: len(args)], dict(zip(kwargs, inside[len(args) :], strict=True))
    try:
        given = signature.bind(*args, **kwargs)
    except TypeError as error:
        names = ", ".join(name for name in signature.parameters if name != "out")
        raise GraphTypeError(f"np.{name} of a traced value: {error}; its arguments are {names}") from None
    if given.arguments.pop("out", None) is not None:
        raise GraphTypeError(f"np.{name} of a traced value does not support out=: {_IN_PLACE}; use the result")
    if given.arguments.get("dtype") is not None:
        given.arguments["dtype"] = numpy_type(given.arguments["dtype"])
    for one in arrays:
        if one in given.arguments and not isinstance(given.arguments[one], Value):
            given.arguments[one] = as_value(given.arguments[one], *values_of(inside))
    if given.arguments.get("axis") in (0, -1) and found.__module__ == reductions.__name__:
        _forget_the_axis_of_a_scalar(given.arguments)
    try:
        return found(*given.args, **given.kwargs)
    except RlxError:
        raise
    except (VerifyException, ValueError, IndexError, TypeError) as error:
        raise GraphError(f"np.{name}: {error}") from error


def _forget_the_axis_of_a_scalar(arguments: dict[str, Any]) -> None:
    """NumPy's reductions take a scalar as if it had an axis."""
    first = next(iter(arguments.values()))
    if isinstance(first, Value) and not first.rank:
        arguments["axis"] = None


@lru_cache(maxsize=512)
def _signature(function: Function) -> tuple[inspect.Signature, tuple[str, ...]]:
    """The parameters of a row, and those that are values."""
    signature = inspect.signature(function)
    return signature, tuple(name for name, one in signature.parameters.items() if one.annotation in ("Value", Value))


REDUCED = {
    "add": "sum",
    "multiply": "prod",
    "maximum": "max",
    "minimum": "min",
    "logical_and": "all",
    "logical_or": "any",
}
ACCUMULATED = {"add": "cumsum", "multiply": "cumprod"}
RUNNING = {"maximum": sorting.cummax, "minimum": sorting.cummin}
"""The functions that are reductions and running reductions of universal ones."""


def of_ufunc(name: str, method: str, inputs: Sequence[Any], options: dict[str, Any]) -> Any:
    """A universal function of NumPy's, or a method of one; GraphTypeError for what no op computes."""
    if options.pop("out", None) is not None:
        raise GraphTypeError(
            f"np.{name} of a traced value does not support out=: {_IN_PLACE}; "
            "with an array `a`, write a = a + x instead of a += x"
        )
    if method == "__call__":
        return _called(name, inputs, options)
    if method == "reduce":
        return _reduced(name, *inputs, **options)
    if method == "accumulate":
        return _accumulated(name, *inputs, **options)
    if method == "outer" and len(inputs) == 2 and not options:
        a, b = (as_value(x, *values_of(inputs)) for x in in_one_graph(inputs))
        return ufunc(name, a[(..., *(None,) * b.rank)], b)
    raise GraphTypeError(f"np.{name}.{method} does not support traced values: {_REASONS.get(method, _NO_OP)}")


def _called(name: str, inputs: Sequence[Any], options: dict[str, Any]) -> Any:
    """One element at a time; `dtype` is the type that is computed in."""
    if options.pop("where", True) is not True:
        raise GraphTypeError(
            f"np.{name} of a traced value does not support where=: without out= the elements outside of the mask "
            "would be undefined; write np.where(mask, f(np.where(mask, x, 1)), 0)"
        )
    dtype = None if (named := options.pop("dtype", None)) is None else numpy_type(named)
    left = sorted(options.keys() - {"casting", "order", "subok"})
    if left:
        raise GraphTypeError(f"np.{name} of a traced value does not support {left[0]}=")
    if dtype is None:
        return ufunc(name, *inputs)
    result = ufunc(name, *(x.astype(dtype) if hasattr(x, "astype") else x for x in inputs))
    return result.astype(dtype)


def _reduced(
    name: str, x: Value, axis: Any = 0, dtype: object = None, out: None = None, keepdims: bool = False, **options: Any
) -> Any:
    """`np.add.reduce` and its like, by default along the first axis."""
    if name == "logaddexp" and dtype is None and not options:
        return composed(statistics.logsumexp, x.b, x, axis, keepdims)
    if name not in REDUCED:
        raise GraphTypeError(f"np.{name}.reduce does not support traced values: {_NO_OP}")
    typed = {} if dtype is None else {"dtype": dtype}
    return function(REDUCED[name], (x, axis), {**options, **typed, "keepdims": keepdims})


def _accumulated(name: str, x: Value, axis: int = 0, dtype: object = None) -> Any:
    """`np.add.accumulate` and its like, along the first axis."""
    if name in ACCUMULATED:
        return function(ACCUMULATED[name], (x, axis), {} if dtype is None else {"dtype": dtype})
    if name in RUNNING and dtype is None and element_of(x.ssa) == i1:
        return composed(RUNNING[name], x.b, x.astype("int8"), axis) > 0
    if name in RUNNING and dtype is None:
        return composed(RUNNING[name], x.b, x, axis)
    raise GraphTypeError(f"np.{name}.accumulate does not support traced values: {_NO_OP}")
