"""Rows of reductions of axes and of windows."""

# Operands of rows are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from xdsl_rlx.frontends.shared import numbers
from xdsl_rlx.frontends.shared.errors import FrontendError
from xdsl_rlx.frontends.shared.values import cast, dtype_of, full, is_constant, numpy_dtype, shape_of, traced
from xdsl_rlx.frontends.shared.windows import Windows, is_neutral, join, neutral, reduce_window, reduce_window_by
from xdsl_rlx.frontends.stablehlo.bodies import argument_reduction, is_comparison, kind_of
from xdsl_rlx.frontends.stablehlo.rows import ROWS, Call
from xdsl_rlx.frontends.stablehlo.types import AS_SIGNED, least
from xdsl_rlx.tree_functions import vjp

Combine = Callable[[Sequence[Any], Sequence[Any]], Sequence[Any]]


@ROWS.add("reduce", composite=True)
def _reduce(c: Call, *operands: Any) -> Any:
    count = len(operands) // 2
    xs, inits = operands[:count], operands[count:]
    axes, block = tuple(c.get("dimensions")), c.op.blocks[0]
    if 0 in shape_of(xs[0]):
        return [np.broadcast_to(traced(init), one.extents) for init, one in zip(inits, c.op.made, strict=True)]
    kind = kind_of(block) if count == 1 else None
    if kind is not None and kind != "sub" and (found := _by_kind(c, xs[0], inits[0], kind, axes)) is not None:
        return found
    if count == 2 and len(axes) == 1 and (found := _extreme_with_position(c, xs, inits, axes[0])) is not None:
        return found
    return _by_halves([traced(x) for x in xs], inits, axes, lambda a, b: c.walk.elementwise(block, [*a, *b]))


def _by_kind(c: Call, x: Any, init: Any, kind: str, axes: tuple[int, ...]) -> Any:
    """A reduction by one operation; None if there is none on axes."""
    x = traced(x)
    dtype = dtype_of(x)
    if c.given[0] in AS_SIGNED and kind in ("max", "min"):
        bits = least(dtype)
        flipped = init ^ bits
        return _by_op(x ^ bits, flipped, kind, axes) ^ bits
    if kind in ("and", "or") and dtype != "i1":
        return None
    return _by_op(x, init, kind, axes)


def _by_op(x: Any, init: Any, kind: str, axes: tuple[int, ...]) -> Any:
    dtype = dtype_of(x)
    if dtype == "i1":
        found = np.any(x, axes) if kind in ("add", "max", "or") else np.all(x, axes)
    else:
        found = REDUCTIONS[kind](x, axes)
    return found if is_neutral(init, kind, dtype) else join(kind, found, cast(init, dtype))


REDUCTIONS: dict[str, Callable[[Any, tuple[int, ...]], Any]] = {
    "add": lambda x, axes: np.sum(x, axes, dtype=x.dtype),
    "mul": lambda x, axes: np.prod(x, axes, dtype=x.dtype),
    "max": np.max,
    "min": np.min,
}
"""Reductions of axes, in the element type of the operand."""


def _extreme_with_position(c: Call, xs: Sequence[Any], inits: Sequence[Any], axis: int) -> Any:
    """The first extreme along an axis, and its position; None for another reduction."""
    if not _counts(xs[1], axis) or not is_constant(*inits) or int(inits[1]) != 0 or c.given[0] in AS_SIGNED:
        return None
    kind = argument_reduction(c.walk, c.op.blocks[0])
    x: Any = traced(xs[0])
    if kind is None or not is_neutral(inits[0], kind, dtype_of(x)):
        return None
    of = numbers.argmax if kind == "max" else numbers.argmin
    position = of(x, axis, "i64")
    value = np.take_along_axis(x, np.expand_dims(position, axis), axis)
    return [np.squeeze(value, axis), cast(position, c.dtypes[1])]


def _counts(x: Any, axis: int) -> bool:
    """Whether a constant has the numbers of positions along an axis."""
    if not is_constant(x):
        return False
    array = np.asarray(x)
    line = np.arange(array.shape[axis]).reshape(-1, *(1,) * (array.ndim - axis - 1))
    # strides of 0 say that the other axes repeat it
    first = array[tuple(slice(None) if n == axis or array.strides[n] else slice(0, 1) for n in range(array.ndim))]
    return bool(np.all(first == line))


def _by_halves(xs: Sequence[Any], inits: Sequence[Any], axes: tuple[int, ...], combine: Combine) -> list[Any]:
    """A reduction by any function of two lists of tensors, in a logarithmic number of steps."""
    rank = np.ndim(xs[0])
    kept = [n for n in range(rank) if n not in axes]
    shape = tuple(shape_of(xs[0])[n] for n in kept)
    found = [np.transpose(x, [*axes, *kept]).reshape(-1, *shape) for x in xs]
    while (n := found[0].shape[0]) > 1:
        # neighbours, so that a function that is not commutative meets them in order
        whole = n // 2 * 2
        both = combine([x[:whole:2] for x in found], [x[1:whole:2] for x in found])
        last = [x[whole:] for x in found]
        found = [np.concatenate([traced(x), y], 0) if n % 2 else traced(x) for x, y in zip(both, last, strict=True)]
    first = [x[0] for x in found]
    starts = [np.broadcast_to(traced(cast(init, dtype_of(x))), shape) for init, x in zip(inits, first, strict=True)]
    return list(combine(starts, first))


def windows_of(c: Call, rank: int) -> Windows:
    """How the windows of an operation lie."""
    ones = (1,) * rank
    padding = c.get("padding")
    pairs = tuple((int(a), int(b)) for a, b in padding) if padding is not None else ((0, 0),) * rank
    return Windows(
        tuple(c.get("window_dimensions", ones)),
        tuple(c.get("window_strides", ones)),
        pairs,
        tuple(c.get("base_dilations", ones)),
        tuple(c.get("window_dilations", ones)),
    )


@ROWS.add("reduce_window", composite=True)
def _reduce_window(c: Call, *operands: Any) -> Any:
    count = len(operands) // 2
    xs, inits, block = operands[:count], operands[count:], c.op.blocks[0]
    windows = windows_of(c, np.ndim(xs[0]))
    kind = kind_of(block) if count == 1 else None
    unsigned = c.given[0] in AS_SIGNED and kind in ("max", "min")
    if kind is not None and kind != "sub" and not unsigned:
        return reduce_window(xs[0], inits[0], kind, windows)
    return reduce_window_by(xs, inits, lambda a, b: c.walk.elementwise(block, [*a, *b]), windows)


@ROWS.add("select_and_scatter", composite=True)
def _select_and_scatter(c: Call, x: Any, source: Any, init: Any) -> Any:
    """Cotangents of windows added to the elements that are the first extremes of these."""
    select, scatter = c.op.blocks
    kinds = {"max": ("GE", "GT"), "min": ("LE", "LT")}
    kind = next((name for name, directions in kinds.items() if is_comparison(select, directions)), None)
    if kind is None or kind_of(scatter) != "add":
        raise FrontendError("expected the first extreme of each window to be selected, and sources to be added")
    windows = windows_of(c, np.ndim(x))
    x, dtype = traced(x), dtype_of(x)
    if 0 in (*shape_of(x), *shape_of(source)):
        return full(shape_of(x), 0, dtype)
    start = np.asarray(neutral(kind, dtype), numpy_dtype(dtype))
    _, (found,) = vjp(lambda y: reduce_window(y, start, kind, windows))((x,), traced(source))
    return found if is_neutral(init, "add", dtype) else found + init
