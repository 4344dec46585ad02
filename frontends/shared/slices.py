"""Slices at positions that are traced, and padding between elements and by negative amounts, as XLA has them."""

# Tensors are traced or constant.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from xdsl_rlx.frontends.shared.gathers import clamped
from xdsl_rlx.frontends.shared.values import cast, dtype_of, full, is_constant, shape_of, traced
from xdsl_rlx.op_functions import function


def dynamic_slice(operand: Any, starts: Sequence[Any], sizes: Sequence[int]) -> Any:
    """
    Return the slice of `sizes` elements that begins at `starts`, an integer for each axis.

    Starts are clamped so that the slice is in range. Unlike those of `jax.lax.dynamic_slice`, negative ones do not
    count from the end.
    """
    for axis, (start, size) in enumerate(zip(starts, sizes, strict=True)):
        extent = shape_of(operand)[axis]
        if size == extent:
            continue
        first = cast(start, "i64")
        if size != 1 or is_constant(first):
            # of one element, mir.gather clamps it
            first = clamped(first, size, extent)
        if is_constant(first):
            operand = operand[(*(slice(None),) * axis, slice(int(first), int(first) + size))]
        elif size == 1:
            operand = function("gather")(traced(operand), np.reshape(first, (1,)), axis)
        else:
            operand = function("gather")(traced(operand), first + np.arange(size), axis)
    return operand


def dynamic_update_slice(operand: Any, update: Any, starts: Sequence[Any]) -> Any:
    """Return `operand` with the slice that begins at `starts` replaced by `update`; see `dynamic_slice`."""
    sizes, extents = shape_of(update), shape_of(operand)
    if 0 in sizes:
        return operand
    firsts = [
        clamped(cast(start, "i64"), size, extent) for start, size, extent in zip(starts, sizes, extents, strict=True)
    ]
    if is_constant(operand, update, *firsts):
        result = np.array(operand)
        result[tuple(slice(int(first), int(first) + size) for first, size in zip(firsts, sizes, strict=True))] = update
        return result
    mask: Any = None
    new = traced(cast(update, dtype_of(operand)))
    for axis, (first, size, extent) in enumerate(zip(firsts, sizes, extents, strict=True)):
        if size == extent:
            continue
        # each element of the slice at its place; around the slice, any
        if size == 1:
            inside = np.arange(extent) == first
        else:
            at = np.arange(extent) - first
            inside = (at >= 0) & (at < size)
            new = _spread(new, at, axis)
        inside = np.reshape(inside, (extent, *(1,) * (len(extents) - axis - 1)))
        mask = inside if mask is None else mask & inside
    return new if mask is None else function("where")(traced(mask), traced(new), traced(operand))


def _spread(x: Any, at: Any, axis: int) -> Any:
    return function("gather")(traced(x), traced(np.clip(at, 0, shape_of(x)[axis] - 1)), axis)


def pad(operand: Any, value: Any, low: Sequence[int], high: Sequence[int], interior: Sequence[int]) -> Any:
    """
    Return `operand` with `interior` copies of `value` between neighbours, `low` in front and `high` behind.

    Negative amounts of `low` and `high` remove elements, as in `jax.lax.pad`.
    """
    extents, widths = shape_of(operand), list(zip(low, high, strict=True))
    between = [max(n - 1, 0) * step for n, step in zip(extents, interior, strict=True)]
    shape = tuple(
        max(n + more + before + after, 0) for n, more, (before, after) in zip(extents, between, widths, strict=True)
    )
    dtype = dtype_of(operand)
    # no element is left of an axis of which one side removes all, and to which the other one adds
    gone = any(
        n + more + min(before, 0) + min(after, 0) <= 0
        for n, more, (before, after) in zip(extents, between, widths, strict=True)
    )
    if gone:
        return np.broadcast_to(traced(cast(value, dtype)), shape) if 0 not in shape else full(shape, 0, dtype)
    if not any(before or after for before, after in widths) and not any(interior):
        return operand
    if is_constant(value):
        number = np.asarray(value).item()
        return function("pad")(traced(operand), widths, constant_values=number, interior=tuple(interior))
    padded = function("pad")(traced(operand), widths, constant_values=0, interior=tuple(interior))
    mask = pad_mask(extents, widths, interior)
    return padded if mask.all() else function("where")(traced(mask), padded, traced(value))


def pad_mask(
    extents: Sequence[int], widths: Sequence[tuple[int, int]], interior: Sequence[int]
) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which elements of a padded tensor are those of the operand."""
    shape = [
        n + max(n - 1, 0) * step + before + after
        for n, step, (before, after) in zip(extents, interior, widths, strict=True)
    ]
    mask = np.ones(shape, np.bool_)
    for axis, (n, step, (before, _)) in enumerate(zip(extents, interior, widths, strict=True)):
        inside = np.zeros(shape[axis], np.bool_)
        places = before + np.arange(n) * (step + 1)
        inside[places[(places >= 0) & (places < shape[axis])]] = True
        mask &= inside.reshape(-1, *(1,) * (len(shape) - axis - 1))
    return mask
