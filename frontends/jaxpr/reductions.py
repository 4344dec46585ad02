"""Rows of reductions along axes, running reductions, and matmuls."""

# Operands of rows are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from xdsl_rlx.frontends.jaxpr.rows import ROWS, Call
from xdsl_rlx.frontends.jaxpr.types import like, wider
from xdsl_rlx.frontends.shared import numbers
from xdsl_rlx.frontends.shared.values import cast, dtype_of, is_constant, numpy_dtype, traced
from xdsl_rlx.op_functions import function
from xdsl_rlx.tree_control import associative_scan


def _axes(c: Call) -> tuple[int, ...]:
    return tuple(int(axis) for axis in c.params["axes"])


def _over_axes(of: Callable[[Any, tuple[int, ...]], Any]) -> Callable[[Call, Any], Any]:
    """A reduction; over no axes it is the identity."""
    return lambda c, x: of(x, _axes(c)) if _axes(c) else x


def _sum(x: Any, axes: tuple[int, ...]) -> Any:
    if is_constant(x):
        return np.sum(x, axes, dtype=x.dtype)
    return function("reduce_sum")(x, axes, dtype=dtype_of(x))


def _prod(x: Any, axes: tuple[int, ...]) -> Any:
    if is_constant(x):
        return np.prod(x, axes, dtype=x.dtype)
    return function("reduce_prod")(x, axes, dtype=dtype_of(x))


def _bound(dtype: str, least: bool) -> Any:
    """The least or the greatest number of an element type."""
    if dtype == "i1":
        return like(not least, dtype)
    if dtype[0] in "iu":
        limits = np.iinfo(numpy_dtype(dtype))
        return like(limits.min if least else limits.max, dtype)
    return like(-np.inf if least else np.inf, dtype)


def _extreme(is_max: bool) -> Callable[[Any, tuple[int, ...]], Any]:
    def reduced(x: Any, axes: tuple[int, ...]) -> Any:
        if dtype_of(x) == "i1":
            return np.any(x, axes) if is_max else np.all(x, axes)
        if any(x.shape[axis] == 0 for axis in axes):
            kept = tuple(n for axis, n in enumerate(x.shape) if axis not in axes)
            return np.broadcast_to(_bound(dtype_of(x), is_max), kept)
        return np.max(x, axes) if is_max else np.min(x, axes)

    return reduced


def _bitwise(of: Callable[[Any, Any], Any], neutral: int) -> Callable[[Any, tuple[int, ...]], Any]:
    """A reduction of bits, by halves."""

    def reduced(x: Any, axes: tuple[int, ...]) -> Any:
        rest = tuple(n for n in range(np.ndim(x)) if n not in axes)
        x = np.transpose(x, (*axes, *rest))
        count = int(np.prod(x.shape[: len(axes)]))
        x = np.reshape(x, (count, *x.shape[len(axes) :]))
        if not count:
            return np.broadcast_to(like(neutral, dtype_of(x)), x.shape[1:])
        while count > 1:
            half = count // 2
            joined = of(x[:half], x[half : 2 * half])
            x = np.concatenate([joined, x[2 * half :]]) if count % 2 else joined
            count -= half
        return x[0]

    return reduced


def _logical_or_bits(
    logical: Callable[..., Any], bits: Callable[[Any, tuple[int, ...]], Any]
) -> Callable[[Any, tuple[int, ...]], Any]:
    return lambda x, axes: logical(x, axes) if dtype_of(x) == "i1" else bits(x, axes)


for _name, _of in {
    "reduce_sum": _sum,
    "reduce_prod": _prod,
    "reduce_max": _extreme(True),
    "reduce_min": _extreme(False),
    "reduce_and": _logical_or_bits(np.all, _bitwise(np.bitwise_and, -1)),
    "reduce_or": _logical_or_bits(np.any, _bitwise(np.bitwise_or, 0)),
    "reduce_xor": _bitwise(np.bitwise_xor, 0),
}.items():
    ROWS.add(_name)(_over_axes(_of))


@ROWS.add("argmax", "argmin", composite=True)
def _arg_extreme(c: Call, x: Any) -> Any:
    """The first of the extreme elements; NaN is the extreme one."""
    (axis,) = _axes(c)
    x = cast(x, "u8") if dtype_of(x) == "i1" else x
    return getattr(numbers, c.eqn.primitive.name)(x, axis, c.dtype)


def _running(c: Call, x: Any, of: Callable[[Any, int], Any]) -> Any:
    axis, reverse = int(c.params["axis"]), bool(c.params["reverse"])
    if not x.shape[axis]:
        return x
    found = of(np.flip(x, axis) if reverse else x, axis)
    return np.flip(found, axis) if reverse else found


@ROWS.add("cumsum")
def _cumsum(c: Call, x: Any) -> Any:
    axis, reverse = int(c.params["axis"]), bool(c.params["reverse"])
    if is_constant(x) or not x.shape[axis]:
        return _running(c, x, lambda x, axis: np.cumsum(x, axis, dtype=x.dtype))
    return function("cumsum")(x, axis, reverse=reverse, dtype=dtype_of(x))


@ROWS.add("cumprod")
def _cumprod(c: Call, x: Any) -> Any:
    return _running(c, x, lambda x, axis: np.cumprod(x, axis, dtype=x.dtype))


@ROWS.add("cummax", "cummin")
def _cumulative_extreme(c: Call, x: Any) -> Any:
    name = c.eqn.primitive.name
    # by pairs, as JAX differentiates it: equal elements share a cotangent
    of = np.maximum if name == "cummax" else np.minimum
    return _running(c, traced(x), lambda x, axis: associative_scan(of, x, axis=axis))


@ROWS.add("cumlogsumexp", composite=True)
def _cumlogsumexp(c: Call, x: Any) -> Any:
    return _running(c, traced(x), lambda x, axis: associative_scan(np.logaddexp, x, axis=axis))


@ROWS.add("dot_general")
def _dot_general(c: Call, x: Any, y: Any) -> Any:
    (left, right), (left_batch, right_batch) = (
        tuple(tuple(int(axis) for axis in axes) for axes in pair) for pair in c.params["dimension_numbers"]
    )
    contracting, batch = (left, right), (left_batch, right_batch)
    return numbers.dot_general(x, y, contracting, batch, wider(c.given, c.dtype))


@ROWS.add("top_k", composite=True)
def _top_k(c: Call, x: Any) -> Any:
    """The greatest elements with their positions, the first of equal ones first; NaN is the greatest."""
    axis, count = int(c.params.get("axis", -1)) % np.ndim(x), int(c.params["k"])
    return _greatest(traced(x), axis, count)


@ROWS.add("approx_top_k", composite=True)
def _approx_top_k(c: Call, x: Any) -> Any:
    """Exactly."""
    axis, count = int(c.params["reduction_dimension"]) % np.ndim(x), int(c.params["k"])
    if c.params["is_max_k"]:
        return _greatest(traced(x), axis, count)
    values, places = _greatest(-traced(x), axis, count)
    return [-values, places]


def _greatest(x: Any, axis: int, count: int) -> list[Any]:
    down = np.flip(np.argsort(np.flip(x, axis), axis, stable=True), axis)
    places = x.shape[axis] - 1 - down
    places = places[(*(slice(None),) * axis, slice(0, count))]
    return [np.take_along_axis(x, places, axis), places]
