"""Pooling of images `[N, C, ...]` or `[C, ...]` with one to three spatial axes.

Names and defaults are those of `torch.nn.functional`; `max_pool` and the like take the number of spatial axes from the
length of `kernel_size`, or from the rank if that is one number, which is read as `[N, C, ...]`.
"""

# Trees, and what NumPy is called with, are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Sequence
from math import inf, prod
from typing import Any, NamedTuple

import numpy as np

from xdsl_rlx.composite import composite
from xdsl_rlx.dialects.calls import shown
from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.nn.arguments import accumulating, floating, per_axis
from xdsl_rlx.op_functions import function

Steps = int | Sequence[int]


class Windows(NamedTuple):
    """The windows of a pooling, by spatial axis."""

    size: tuple[int, ...]
    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    counts: tuple[int, ...]

    @property
    def after(self) -> tuple[int, ...]:
        """The padding behind each axis that the last window reaches, which may be negative."""
        lies = zip(self.size, self.kernel, self.stride, self.padding, self.dilation, self.counts, strict=True)
        return tuple((count - 1) * s + d * (k - 1) + 1 - p - n for n, k, s, p, d, count in lies)

    def indices(self) -> tuple[Any, Any]:
        """The flat indices `[L, K]` of the elements of each window, and whether each is inside of the image."""
        found, inside = np.zeros((1, 1), np.int64), np.ones((1, 1), bool)
        for n, k, s, p, d, count in zip(*self, strict=True):
            index = np.arange(count)[:, None] * s - p + np.arange(k) * d
            found = (found[:, None, :, None] * n + index.clip(0, n - 1)[:, None, :]).reshape(len(found) * count, -1)
            fits = (index >= 0) & (index < n)
            inside = (inside[:, None, :, None] & fits[:, None, :]).reshape(len(inside) * count, -1)
        return found, inside


def _spatial(name: str, x: Any, kernel_size: Any) -> int:
    """The number of spatial axes."""
    rank = np.ndim(x)
    axes = len(kernel_size) if isinstance(kernel_size, Sequence) else rank - 2
    if not 1 <= axes <= 3 or rank not in (axes + 1, axes + 2):
        raise GraphError(
            f"{name}: x: expected [N, C, ...] or [C, ...] with 1 to 3 spatial axes, as many as the length of "
            f"kernel_size, got {list(np.shape(x))} with {shown(kernel_size)}"
        )
    return axes


def _windows(name: str, x: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool) -> Windows:
    axes = _spatial(name, x, kernel_size)
    size = tuple(x.shape[-axes:])
    kernel = per_axis(name, "kernel_size", kernel_size, axes, 1)
    steps = per_axis(name, "stride", kernel if stride is None else stride, axes, 1)
    pads = per_axis(name, "padding", padding, axes, 0)
    apart = per_axis(name, "dilation", dilation, axes, 1)
    if any(2 * p > k for p, k in zip(pads, kernel, strict=True)):
        raise GraphError(f"{name}: padding: expected at most half of kernel_size {list(kernel)}, got {list(pads)}")
    counts: list[int] = []
    for n, k, s, p, d in zip(size, kernel, steps, pads, apart, strict=True):
        free = n + 2 * p - d * (k - 1) - 1
        count = (-(-free // s) if ceil_mode else free // s) + 1
        # as in PyTorch, a window does not start in the padding behind the image
        count -= ceil_mode and (count - 1) * s >= n + p
        counts.append(count)
    if min(counts) < 1:
        raise GraphError(
            f"{name}: kernel_size: windows of {list(kernel)} do not fit an image of {list(size)}; reduce "
            f"kernel_size or dilation, or add padding"
        )
    return Windows(size, kernel, steps, pads, apart, tuple(counts))


def _reduced(x: Any, kind: str, at: Windows, filler: float) -> Any:
    """The windows of an image, reduced; three axes are reduced as planes first, and then along the other axis."""
    axes = len(at.size)
    lead = x.shape[: np.ndim(x) - axes]
    if axes == 3:
        planes = _reduced(x, kind, Windows(*(one[1:] for one in at)), filler)
        rest = planes.shape[-2:]
        area = prod(rest)
        lines = planes.reshape(*lead, at.size[0], area)
        along = Windows(*((one[0], other) for one, other in zip(at, (area, 1, 1, 0, 1, area), strict=True)))
        return _reduced(lines, kind, along, filler).reshape(*lead, at.counts[0], *rest)
    padding = at.padding
    if any(after > p for after, p in zip(at.after, padding, strict=True)):
        widths = [(p, max(after, 0)) for p, after in zip(padding, at.after, strict=True)]
        x = function("pad")(x, (*[(0, 0)] * len(lead), *widths), constant_values=filler)
        padding = (0,) * axes
    planar = [(fill,) * (2 - axes) + tuple(one) for fill, one in ((1, at.kernel), (1, at.stride), (0, padding))]
    images = x.reshape(prod(lead), 1, *(1,) * (2 - axes), *x.shape[len(lead) :])
    return function("pool")(images, kind, *planar).reshape(*lead, *at.counts)


def _taken(x: Any, at: Windows) -> tuple[Any, Any]:
    """The elements of each window `[..., L, K]`, `-inf` outside of the image, and their flat indices `[L, K]`."""
    index, inside = at.indices()
    flat = x.reshape(*x.shape[: np.ndim(x) - len(at.size)], prod(at.size))
    elements = np.take(flat, index, axis=-1)
    return elements if inside.all() else np.where(inside, elements, -inf), index


def _first_largest(elements: Any, index: Any, counts: tuple[int, ...], return_indices: bool) -> Any:
    """The largest element of each row `[..., L, K]`, of equal ones the first, and its index in the image."""
    lead, (length, width) = elements.shape[:-2], elements.shape[-2:]
    rows = elements.reshape(prod(lead), 1, length, width)
    largest = function("pool")(rows, "max", (1, width), (1, width), 0).reshape(*lead, *counts)
    if not return_indices:
        return largest
    where = np.expand_dims(np.argmax(elements, axis=-1), -1)
    found = np.take_along_axis(np.broadcast_to(function("constant")(index), elements.shape), where, -1)
    return largest, found.reshape(*lead, *counts)


_MOST_TAPS = 64
"""Elements of a window up to which the position of the largest is found by one comparison after the other."""


def _largest_by_taps(x: Any, at: Windows) -> tuple[Any, Any]:
    """
    The largest element of each window and its flat index, in one pass: the taps are strided slices.

    Of equal elements it is the first. A window of `-inf` has the index of its first element inside of the image.
    """
    axes = len(at.size)
    lead = np.ndim(x) - axes
    steps = [prod(at.size[axis + 1 :]) for axis in range(axes)]
    widths = [(p, max(after, 0)) for p, after in zip(at.padding, at.after, strict=True)]
    padded = function("pad")(x, (*[(0, 0)] * lead, *widths), constant_values=-inf) if any(map(any, widths)) else x
    start, first = [], []
    for axis, (s, p, d, count) in enumerate(zip(at.stride, at.padding, at.dilation, at.counts, strict=True)):
        along = tuple(-1 if i == axis else 1 for i in range(axes))
        begins = np.arange(count) * s - p
        start.append((begins * steps[axis]).reshape(along))
        first.append((-(-np.maximum(-begins, 0) // d) * d * steps[axis]).reshape(along))
    best: Any = None
    # as narrow as the elements, for vectors of as many lanes
    offset: Any = np.asarray(sum(first), np.int32)
    for tap in np.ndindex(*at.kernel):
        shifts = [k * d for k, d in zip(tap, at.dilation, strict=True)]
        spans = [slice(k, k + (count - 1) * s + 1, s) for k, count, s in zip(shifts, at.counts, at.stride, strict=True)]
        element = padded[(*[slice(None)] * lead, *spans)]
        better = (element > (-inf if best is None else best)) | (element != element)
        best = element if best is None else np.where(better, element, best)
        offset = np.where(better, np.int32(sum(k * n for k, n in zip(shifts, steps, strict=True))), offset)
    offset = offset.astype(np.int64)
    for one in start:
        offset = offset + one
    return best, offset


def max_and_positions(
    x: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
) -> tuple[Any, Any]:
    """`max_pool` with `return_indices`, in one pass over windows that are small; its gradient takes several."""
    at = _windows("max_pool", x, kernel_size, stride, padding, dilation, ceil_mode)
    if prod(at.kernel) > _MOST_TAPS:
        return _first_largest(*_taken(x, at), at.counts, True)
    return _largest_by_taps(x, at)


@composite
def max_pool(
    x: Any,
    kernel_size: Steps,
    stride: Steps | None = None,
    padding: Steps = 0,
    dilation: Steps = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """
    Return the largest element of each window: `max over k of x[..., i stride + k dilation - padding]`.

    The default `stride` is `kernel_size`. Padding counts as minus infinity. There are `floor((n + 2 padding - dilation
    (kernel - 1) - 1) / stride) + 1` windows along an axis; with `ceil_mode` the quotient is rounded up, unless the last
    window starts behind the image. NaN in a window gives NaN. Of equal elements the first has the gradient. With
    `return_indices` the result is `(y, indices)`: the positions of the elements in the flattened spatial axes.
    """
    x = floating(x)
    at = _windows("max_pool", x, kernel_size, stride, padding, dilation, ceil_mode)
    if return_indices and prod(at.kernel) <= _MOST_TAPS:
        _largest, found = _largest_by_taps(function("stop_gradient")(x), at)
        return max_pool(x, kernel_size, stride, padding, dilation, ceil_mode), found
    if return_indices or max(at.dilation) > 1:
        return _first_largest(*_taken(x, at), at.counts, return_indices)
    return _reduced(x, "max", at, -inf)


@composite
def avg_pool(
    x: Any,
    kernel_size: Steps,
    stride: Steps | None = None,
    padding: Steps = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Any:
    """
    Return the mean of each window: `sum over k of x[..., i stride + k - padding]` by the number of its elements.

    Windows lie as in `max_pool`. Zeros of the padding count as elements unless `count_include_pad` is false; what a
    last window of `ceil_mode` has beyond the padding does not. `divisor_override` replaces the number of elements.
    """
    x = floating(x)
    at = _windows("avg_pool", x, kernel_size, stride, padding, 1, ceil_mode)
    divisor = np.ones((1,) * len(at.size))
    for axis, (n, k, s, p, _, count) in enumerate(zip(*at, strict=True)):
        first = np.arange(count) * s - p
        ends = np.minimum(first + k, n + p)
        lengths = ends - first if count_include_pad else np.minimum(ends, n) - np.maximum(first, 0)
        divisor = divisor * lengths.reshape(tuple(-1 if i == axis else 1 for i in range(len(at.size))))
    if divisor_override is not None:
        divisor = np.full_like(divisor, divisor_override)
    total = _reduced(accumulating(x), "sum", at, 0.0)
    return (total / (divisor if np.ptp(divisor) else float(divisor.flat[0]))).astype(x.dtype)


@composite
def lp_pool(x: Any, norm_type: float, kernel_size: Steps, stride: Steps | None = None, ceil_mode: bool = False) -> Any:
    """
    Return `(sum x^p)^(1/p)` of each window, with `p = norm_type`; 0, without a gradient, where the sum is not positive.

    Windows lie as in `max_pool`. Elements are not made positive: an odd or broken `p` is for positive numbers.
    """
    x = floating(x)
    at = _windows("lp_pool", x, kernel_size, stride, 0, 1, ceil_mode)
    total = _reduced(x * x if norm_type == 2 else x**norm_type, "sum", at, 0.0)
    nothing = total == 0
    return np.where(nothing, 0, np.where(nothing, 1, total) ** (1 / norm_type))


class _Bins(NamedTuple):
    """The bins of an adaptive pooling along an axis: bin `i` has elements `start[i]` to `end[i]`."""

    start: Any
    end: Any

    @classmethod
    def of(cls, n: int, count: int) -> _Bins:
        i = np.arange(count)
        return cls(i * n // count, -(-(i + 1) * n // count))

    @property
    def length(self) -> int | None:
        """The length of all bins if it is one and they do not overlap."""
        lengths = {int(n) for n in self.end - self.start}
        apart = bool((self.start[1:] == self.end[:-1]).all())
        return lengths.pop() if apart and len(lengths) == 1 else None

    def means(self, n: int) -> Any:
        """The matrix `[count, n]` that takes the mean of each bin."""
        index = np.arange(n)
        inside = (index >= self.start[:, None]) & (index < self.end[:, None])
        return inside / (self.end - self.start)[:, None]

    def indices(self) -> Any:
        """The indices `[count, longest]` of the elements of each bin; the last one is repeated in shorter bins."""
        width = int((self.end - self.start).max(initial=1))
        return np.minimum(self.start[:, None] + np.arange(width), self.end[:, None] - 1)


def _bins(name: str, x: Any, output_size: Any) -> list[_Bins]:
    """The bins along each spatial axis; None in `output_size` keeps the length of an axis."""
    many = isinstance(output_size, Sequence)
    axes = len(output_size) if many else np.ndim(x) - 2
    if not 1 <= axes <= 3 or np.ndim(x) not in (axes + 1, axes + 2) or not prod(x.shape[-axes:]):
        raise GraphError(
            f"{name}: x: expected [N, C, ...] or [C, ...] with 1 to 3 spatial axes that are not empty, as many as the "
            f"length of output_size, got {list(np.shape(x))} with {shown(output_size)}"
        )
    given = (
        [n if one is None else one for n, one in zip(x.shape[-axes:], output_size, strict=True)]
        if many
        else output_size
    )
    counts = per_axis(name, "output_size", given, axes, 1)
    return [_Bins.of(n, count) for n, count in zip(x.shape[-axes:], counts, strict=True)]


@composite
def adaptive_avg_pool(x: Any, output_size: int | Sequence[int | None]) -> Any:
    """
    Return the means of `output_size` bins along each spatial axis.

    Bin `i` of `m` along an axis of length `n` has the elements from `floor(i n / m)` to below `ceil((i + 1) n / m)`.
    `output_size` is a number for all spatial axes of `[N, C, ...]`, or one per axis of `[N, C, ...]` or `[C, ...]`,
    where None keeps the length.
    """
    x = floating(x)
    bins = _bins("adaptive_avg_pool", x, output_size)
    lengths = [one.length for one in bins]
    if all(length is not None for length in lengths):
        return avg_pool(x, tuple(length or 1 for length in lengths))
    axes, y = len(bins), accumulating(x)
    for axis, one in zip(range(-axes, 0), bins, strict=True):
        if len(one.start) != y.shape[axis]:
            matrix = function("constant")(one.means(y.shape[axis]), y.dtype)
            y = np.moveaxis(np.moveaxis(y, axis, -1) @ matrix.T, -1, axis)
    return y.astype(x.dtype)


@composite
def adaptive_max_pool(x: Any, output_size: int | Sequence[int | None], return_indices: bool = False) -> Any:
    """
    Return the largest elements of `output_size` bins along each spatial axis, which are those of `adaptive_avg_pool`.

    With `return_indices` the result is `(y, indices)`, as of `max_pool`.
    """
    x = floating(x)
    bins = _bins("adaptive_max_pool", x, output_size)
    lengths = [one.length for one in bins]
    if all(length is not None for length in lengths):
        return max_pool(x, tuple(length or 1 for length in lengths), return_indices=return_indices)
    size, counts = tuple(x.shape[-len(bins) :]), tuple(len(one.start) for one in bins)
    index = np.zeros((1, 1), np.int64)
    for n, one in zip(size, bins, strict=True):
        along = one.indices()
        index = (index[:, None, :, None] * n + along[:, None, :]).reshape(len(index) * len(along), -1)
    flat = x.reshape(*x.shape[: np.ndim(x) - len(bins)], prod(size))
    return _first_largest(np.take(flat, index, axis=-1), index, counts, return_indices)


@composite
def global_avg_pool(x: Any, keepdims: bool = False) -> Any:
    """Return the mean over the spatial axes of `[N, C, ...]`: `[N, C]`, or with `keepdims` `[N, C, 1, ...]`."""
    return np.mean(floating(x), axis=tuple(range(2, np.ndim(x))), keepdims=keepdims)


@composite
def global_max_pool(x: Any, keepdims: bool = False) -> Any:
    """Return the maximum over the spatial axes of `[N, C, ...]`: `[N, C]`, or with `keepdims` `[N, C, 1, ...]`."""
    return np.max(x, axis=tuple(range(2, np.ndim(x))), keepdims=keepdims)


@composite
def max_unpool(x: Any, indices: Any, output_size: Sequence[int]) -> Any:
    """
    Return an image of zeros with the elements of `x` at the `indices` that `max_pool` returned.

    `x` and `indices` are `[N, C, ...]` or `[C, ...]`, `output_size` has the lengths of the spatial axes of the result.
    Of elements with one index the sum is taken; PyTorch keeps one of them.
    """
    axes = len(output_size)
    size = per_axis("max_unpool", "output_size", output_size, axes, 1)
    if tuple(np.shape(indices)) != tuple(x.shape) or np.ndim(x) not in (axes + 1, axes + 2):
        raise GraphError(
            f"max_unpool: indices: expected the shape of x, {list(x.shape)}, with {axes} spatial axes, got "
            f"{list(np.shape(indices))}"
        )
    lead = x.shape[: np.ndim(x) - axes]
    rows, each = prod(lead), prod(x.shape[len(lead) :])
    flat = np.reshape(indices, (rows, each)) + np.arange(rows)[:, None] * prod(size)
    found = function("scatter_add")(x.reshape(rows * each), flat.reshape(rows * each), rows * prod(size))
    return found.reshape(*lead, *size)
