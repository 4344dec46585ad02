"""Rows of sorts; comparators are recognised by what they return for all ways in which numbers are ordered."""

# Operands of rows are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from xdsl_rlx.frontends.shared.errors import FrontendError
from xdsl_rlx.frontends.shared.values import cast, category, dtype_of, is_constant, traced
from xdsl_rlx.frontends.stablehlo.bodies import Order, order_of
from xdsl_rlx.frontends.stablehlo.custom_calls import TARGETS
from xdsl_rlx.frontends.stablehlo.rows import ROWS, Call
from xdsl_rlx.frontends.stablehlo.types import AS_SIGNED, least
from xdsl_rlx.op_functions import function


@ROWS.add("sort", composite=True)
def _sort(c: Call, *operands: Any) -> Any:
    axis = int(c.get("dimension", -1)) % max(np.ndim(operands[0]), 1)
    xs: list[Any] = [traced(x) for x in operands]
    if not xs[0].rank or xs[0].shape[axis] < 2 or 0 in xs[0].shape:
        return xs
    order = order_of(c.walk, c.op.blocks[0])
    if order is None:
        raise FrontendError("the comparator of the sort is not an ascending or descending order of its first operands")
    position = positions(xs, order, axis, c.given)
    return [
        cast(position, dtype_of(x)) if _is_positions(operand, axis) else np.take_along_axis(x, position, axis)
        for operand, x in zip(operands, xs, strict=True)
    ]


def _is_positions(x: Any, axis: int) -> bool:
    """Whether elements are their positions along an axis."""
    if not is_constant(x) or np.asarray(x).dtype.kind not in "iu":
        return False
    line = np.arange(np.shape(x)[axis]).reshape(-1, *(1,) * (np.ndim(x) - axis - 1))
    return bool(np.array_equal(x, np.broadcast_to(line, np.shape(x))))


def positions(xs: Sequence[Any], order: Order, axis: int, given: Sequence[str]) -> Any:
    """The positions that sort along an axis by the first operands, the first one first; the sort is stable."""
    found: Any = None
    for n in reversed(range(order.keys)):
        key = _key(xs[n], given[n])
        key = np.moveaxis(key, axis, -1)
        key = key if found is None else np.take_along_axis(key, found, -1)
        at = function("topk")(key, key.shape[-1], smallest=not order.descending)
        found = at if found is None else np.take_along_axis(found, at, -1)
    return np.moveaxis(found, -1, axis)


def _key(x: Any, dtype: str) -> Any:
    """Numbers in the order of the operand, of a type that is sorted."""
    if dtype in AS_SIGNED:
        return x ^ least(dtype_of(x))
    return cast(x, "i8") if category(dtype_of(x)) == 0 else x


@TARGETS.add("ApproxTopK")
def _approximate_top_k(c: Call, x: Any, numbers: Any, *inits: Any) -> Any:
    """The first elements in the order of a comparator, which are exact here, and what stands beside them."""
    options = c.get("mhlo.backend_config") or {}
    axis, k = int(options["reduction_dim"]), int(options["top_k"])
    (comparator,) = c.get("called_computations")
    order = order_of(c.walk, c.walk.function(str(comparator)))
    if order is None or order.keys != 1 or c.shape[axis] != k:
        raise FrontendError("expected the largest or the smallest elements, all of which are returned")
    xs: list[Any] = [traced(x), traced(numbers)]
    keys = np.moveaxis(_key(xs[0], c.given[0]), axis, -1)
    found = np.moveaxis(function("topk")(keys, k, smallest=not order.descending), -1, axis)
    return [np.take_along_axis(one, found, axis) for one in xs]


@ROWS.add("chlo.top_k")
def _top_k(c: Call, x: Any) -> Any:
    x, k = traced(x), int(c.get("k"))
    position = function("topk")(_key(x, c.given[0]), k)
    return [np.take_along_axis(x, position, -1), cast(position, c.dtypes[1])]
