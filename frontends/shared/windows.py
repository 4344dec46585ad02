"""XLA's `reduce_window`: cumulative operations, pools, and windows of any kind."""

# Tensors are traced or constant.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np

from xdsl_rlx.frontends.shared.errors import FrontendError
from xdsl_rlx.frontends.shared.slices import pad, pad_mask
from xdsl_rlx.frontends.shared.values import cast, category, dtype_of, full, is_constant, numpy_dtype, shape_of, traced
from xdsl_rlx.op_functions import function

LARGEST = 64
"""Elements of a window up to which a reduction that is not one operation is unrolled."""

_JOINS: dict[str, str] = {"add": "add", "max": "max", "min": "min", "mul": "mul", "and": "and_", "or": "or_"}
_CUMULATIVE = {"add": "cumsum", "max": "cummax", "min": "cummin", "mul": "cumprod"}
_POOLS = {"add": "sum", "max": "max", "min": "min"}
_OF_BOOLEANS = {"add": "or", "max": "or", "min": "and", "mul": "and"}

Combine = Callable[[Sequence[Any], Sequence[Any]], Sequence[Any]]

KINDS = tuple(_JOINS)
"""Reductions that are one operation on two elements."""


@dataclass(frozen=True)
class Windows:
    """How windows lie in a tensor, by axis: the arguments of `jax.lax.reduce_window`."""

    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]
    base_dilation: tuple[int, ...]
    window_dilation: tuple[int, ...]

    def counts(self, shape: Sequence[int]) -> tuple[int, ...]:
        """How many windows there are along each axis."""
        found: list[int] = []
        for axis, n in enumerate(shape):
            width = max((n - 1) * self.base_dilation[axis] + 1, 0) + sum(self.padding[axis])
            reach = (self.sizes[axis] - 1) * self.window_dilation[axis] + 1
            found.append((width - reach) // self.strides[axis] + 1 if width >= reach else 0)
        return tuple(found)


def neutral(kind: str, dtype: str) -> Any:
    """The number that a reduction leaves other numbers as they are with."""
    if kind in ("add", "mul"):
        return int(kind == "mul")
    if dtype == "i1":
        return kind in ("and", "min")
    if category(dtype) == 2:
        return {"max": -np.inf, "min": np.inf}[kind]
    info = np.iinfo(numpy_dtype(dtype))
    return {"max": info.min, "min": info.max, "and": -1 if info.min else info.max, "or": 0}[kind]


def is_neutral(init: Any, kind: str, dtype: str) -> bool:
    """Whether the initial value of a reduction is a constant that changes nothing."""
    return is_constant(init) and bool(np.all(np.asarray(init) == np.asarray(neutral(kind, dtype), numpy_dtype(dtype))))


def join(kind: str, x: Any, y: Any) -> Any:
    """Two tensors of one element type combined element by element."""
    if dtype_of(x) == "i1":
        kind = _OF_BOOLEANS.get(kind, kind)
    return function(_JOINS[kind])(traced(x), traced(y))


def reduce_window(operand: Any, init: Any, kind: str, windows: Windows) -> Any:
    """
    Return the reduction of each window, and of `init`, as `jax.lax.reduce_window`; `kind` is one of `KINDS`.

    Elements of a window that are outside of the operand are left out, as XLA does.
    """
    x, dtype = traced(operand), dtype_of(operand)
    if dtype == "i1":
        kind = _OF_BOOLEANS.get(kind, kind)
    counts = windows.counts(x.shape)
    if 0 in counts:
        return full(counts, 0, dtype)
    plain = is_neutral(init, kind, dtype)
    if plain and (axis := _cumulative(x.shape, windows)) is not None and category(dtype) in (1, 2):
        return _running(x, kind, *axis)
    if plain and kind == "add" and (at := _exclusive(x.shape, windows)) is not None and category(dtype) in (1, 2):
        return cumulative_sum(x, *at, exclusive=True)
    if plain and kind == "add" and (found := _spread(x, windows, counts)) is not None:
        return found
    if any(step > 1 for step in windows.base_dilation) or any(map(any, windows.padding)) or 0 in x.shape:
        low, high = zip(*windows.padding, strict=True)
        between = [step - 1 for step in windows.base_dilation]
        x = traced(_padded(x, np.asarray(neutral(kind, dtype), numpy_dtype(dtype)), low, high, between))
    found = _pooled(x, kind, windows) if category(dtype) == 2 and kind in _POOLS else None
    if found is None:
        found = x
        for axis in reversed(range(np.ndim(x))):
            at = windows.sizes[axis], windows.strides[axis], windows.window_dilation[axis]
            found = _along(found, kind, axis, *at, counts[axis])
    return found if plain else join(kind, found, np.broadcast_to(traced(cast(init, dtype)), counts))


def _padded(x: Any, filler: Any, low: Sequence[int], high: Sequence[int], between: Sequence[int]) -> Any:
    if 0 in x.shape:
        shape = tuple(n + before + after for n, before, after in zip(x.shape, low, high, strict=True))
        return full(shape, filler.item(), dtype_of(x))
    return pad(x, filler, low, high, between)


def _cumulative(shape: Sequence[int], windows: Windows) -> tuple[int, bool] | None:
    """The axis along which the reduction is cumulative, and whether from its end; None if it is not."""
    return _along_axis(shape, windows, 0)


def _exclusive(shape: Sequence[int], windows: Windows) -> tuple[int, bool] | None:
    """As `_cumulative`, of the elements before each position, or with a reduction from the end of those behind it."""
    return _along_axis(shape, windows, 1)


def _along_axis(shape: Sequence[int], windows: Windows, apart: int) -> tuple[int, bool] | None:
    """The axis of windows that end so many elements before each position, or begin so many behind: then with True."""
    wide = [axis for axis, size in enumerate(windows.sizes) if size > 1]
    steps = (*windows.strides, *windows.base_dilation, *windows.window_dilation)
    if len(wide) != 1 or any(step != 1 for step in steps):
        return None
    (axis,) = wide
    n = shape[axis]
    others = [pair for number, pair in enumerate(windows.padding) if number != axis]
    if windows.sizes[axis] != n or any(map(any, others)):
        return None
    if windows.padding[axis] == (n - 1 + apart, -apart):
        return axis, False
    return (axis, True) if windows.padding[axis] == (-apart, n - 1 + apart) else None


def _running(x: Any, kind: str, axis: int, reverse: bool) -> Any:
    """A cumulative reduction, in the element type of its operand."""
    if kind == "add":
        return cumulative_sum(x, axis, reverse)
    if kind not in _CUMULATIVE:
        return _doubled([x], lambda a, b: [join(kind, a[0], b[0])], axis, reverse)[0]
    turned = np.flip(x, axis) if reverse else x
    found = function(_CUMULATIVE[kind])(turned, axis, **({"dtype": x.dtype} if kind == "mul" else {}))
    return np.flip(found, axis) if reverse else found


def cumulative_sum(x: Any, axis: int, reverse: bool = False, exclusive: bool = False) -> Any:
    """The sums up to each position of an axis, or from there on, in the element type of `x`."""
    return function("cumsum")(traced(x), axis, exclusive, reverse, dtype_of(x))


def _spread(x: Any, windows: Windows, counts: Sequence[int]) -> Any:
    """
    Sums of windows of images with zeros between elements, or many around: the cotangent of a pool of sums.

    None for other windows, and those that are a pool.
    """
    sizes, steps = windows.sizes, windows.base_dilation
    if len(counts) != 4 or category(dtype_of(x)) != 2 or 0 in x.shape:
        return None
    if max(steps) == 1 and all(2 * max(pair) <= k for k, pair in zip(sizes, windows.padding, strict=True)):
        return None
    if any(n != 1 for n in (*windows.strides, *windows.window_dilation, *sizes[:2], *steps[:2])):
        return None
    if any(map(any, windows.padding[:2])):
        return None
    kernel, stride, image = sizes[2:], steps[2:], counts[2:]
    padding = [k - 1 - low for k, (low, _) in zip(kernel, windows.padding[2:], strict=True)]
    for n, k, s, p, count in zip(image, kernel, stride, padding, x.shape[2:], strict=True):
        if not 0 <= 2 * p <= k or n + 2 * p < k or (n + 2 * p - k) // s + 1 != count:
            return None
    return x.b.sumpool2d_backward(x, image, kernel, stride, padding)


def _doubled(xs: Sequence[Any], combine: Combine, axis: int, reverse: bool) -> Sequence[Any]:
    """A cumulative reduction in a logarithmic number of steps."""
    step, n = 1, xs[0].shape[axis]
    while step < n:
        both = combine([_span(x, axis, 0, n - step) for x in xs], [_span(x, axis, step, n - step) for x in xs])
        rest = [_span(x, axis, n - step if reverse else 0, step) for x in xs]
        pairs = zip(both, rest, strict=True)
        xs = [np.concatenate([traced(y), z] if reverse else [z, traced(y)], axis) for y, z in pairs]
        step *= 2
    return xs


def _span(x: Any, axis: int, start: int, count: int, step: int = 1) -> Any:
    return x[(*(slice(None),) * axis, slice(start, start + (count - 1) * step + 1, step))]


def _pooled(x: Any, kind: str, windows: Windows) -> Any:
    """Windows of one or two axes as a pool; None for others. More axes are reduced two by two, the last ones first."""
    if any(step != 1 for step in windows.window_dilation):
        return None
    wide = [axis for axis, size in enumerate(windows.sizes) if size > 1 or windows.strides[axis] > 1]
    while wide:
        # windows of the last axis but one need no transpose
        pair = [wide[0], wide[0] + 1] if wide == [np.ndim(x) - 2] else wide[-2:]
        wide = wide[:-2]
        x = _pool(x, kind, pair, windows)
    return x


def _pool(x: Any, kind: str, axes: list[int], windows: Windows) -> Any:
    """One or two axes reduced by windows inside of the tensor."""
    others = [axis for axis in range(np.ndim(x)) if axis not in axes]
    order = [*others, *axes]
    moved = np.transpose(x, order) if order != sorted(order) else x
    lead, size = moved.shape[: len(others)], moved.shape[len(others) :]
    kernel = [windows.sizes[axis] for axis in axes]
    steps = [windows.strides[axis] for axis in axes]
    if len(axes) == 1:
        size, kernel, steps = (1, *size), [1, *kernel], [1, *steps]
    images = moved.reshape(*(lead if len(lead) == 2 else (1, prod(lead))), *size)
    found = function("pool")(images, _POOLS[kind], kernel, steps)
    found = found.reshape(*lead, *found.shape[4 - len(axes) :])
    back = [order.index(axis) for axis in range(len(order))]
    return np.transpose(found, back) if back != sorted(back) else found


def _along(x: Any, kind: str, axis: int, size: int, stride: int, dilation: int, count: int) -> Any:
    """Windows along one axis, joined by doubling: a window of `2^k` elements is two of half as many."""
    if size == 1:
        return _span(x, axis, 0, count, stride) if stride > 1 or count < x.shape[axis] else x
    reach = (count - 1) * stride + 1
    found: Any = None
    start, width = 0, 1
    block = x
    while size:
        if size & 1:
            part = _span(block, axis, start * dilation, reach)
            found = part if found is None else join(kind, found, part)
            start += width
        size >>= 1
        if size:
            n = block.shape[axis] - width * dilation
            block = join(kind, _span(block, axis, 0, n), _span(block, axis, width * dilation, n))
            width *= 2
    return _span(found, axis, 0, count, stride)


def reduce_window_by(
    operands: Sequence[Any],
    inits: Sequence[Any],
    combine: Combine,
    windows: Windows,
) -> list[Any]:
    """
    Return the reduction of each window by any function of two lists of tensors of one shape, which is associative.

    Cumulative reductions take a logarithmic number of steps. FrontendError for other windows of more than `LARGEST`
    elements.
    """
    if (along := _cumulative(shape_of(operands[0]), windows)) is not None:
        axis, reverse = along
        found = _doubled([traced(x) for x in operands], combine, axis, reverse)
        starts = [
            np.broadcast_to(traced(cast(init, dtype_of(x))), x.shape) for x, init in zip(found, inits, strict=True)
        ]
        return list(combine(starts, found))
    if (elements := prod(windows.sizes)) > LARGEST:
        raise FrontendError(
            f"a reduction of windows of {elements} elements by a function that is not one operation: expected at most "
            f"{LARGEST}"
        )
    counts = windows.counts(shape_of(operands[0]))
    low, high = zip(*windows.padding, strict=True)
    between = [step - 1 for step in windows.base_dilation]
    extents = shape_of(operands[0])
    padded = [traced(pad(x, np.asarray(0, np.int8), low, high, between)) for x in operands]
    inside = pad_mask(extents, windows.padding, between)
    total: Sequence[Any] = [
        np.broadcast_to(traced(cast(init, dtype_of(x))), counts) for x, init in zip(operands, inits, strict=True)
    ]
    for tap in product(*map(range, windows.sizes)):
        part = tuple(
            slice(k * d, k * d + (count - 1) * s + 1, s)
            for k, d, s, count in zip(tap, windows.window_dilation, windows.strides, counts, strict=True)
        )
        after, mask = combine(total, [x[part] for x in padded]), inside[part]
        if not mask.all():
            where = function("where")
            after = [where(traced(mask), traced(new), traced(old)) for new, old in zip(after, total, strict=True)]
        total = after
    return list(total)
