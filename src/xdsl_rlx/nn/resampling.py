"""Resizing of images, and their values at given positions.

`resize` is that of `jax.image`; `interpolate`, `grid_sample` and `affine_grid` are those of `torch.nn.functional`.
Resizing is a product with a matrix along each axis whose length changes. Where its rows repeat, as they do for twice
the length, it is a sum of slices for each of the rows that differ.
"""

# Trees, and what NumPy is called with, are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from math import floor, gcd, prod
from operator import add
from typing import Any

import numpy as np

from xdsl_rlx.composite import composite
from xdsl_rlx.dialects.calls import shown
from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.nn.arguments import accumulating, check_choice, check_shape, floating, per_axis
from xdsl_rlx.nn.pooling import adaptive_avg_pool
from xdsl_rlx.op_functions import function

Array = np.ndarray[Any, Any]

_METHODS = {
    "nearest": "nearest",
    **dict.fromkeys(("linear", "bilinear", "trilinear", "triangle"), "linear"),
    **dict.fromkeys(("cubic", "bicubic", "tricubic"), "cubic"),
    "lanczos3": "lanczos3",
    "lanczos5": "lanczos5",
}


def _triangle(x: Any) -> Any:
    return np.maximum(0, 1 - x)


def _cubic(x: Any, a: float = -0.5) -> Any:
    """The kernel of Keys (1981); with `a = -1/2` it is exact for quadratic functions."""
    inner = ((a + 2) * x - (a + 3)) * x * x + 1
    outer = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return np.where(x < 1, inner, np.where(x < 2, outer, 0))


def _lanczos(x: Any, radius: float) -> Any:
    return np.where(x > radius, 0, np.sinc(x) * np.sinc(x / radius))


_KERNELS: dict[str, Callable[[Any], Any]] = {
    "linear": _triangle,
    "cubic": _cubic,
    "lanczos3": lambda x: _lanczos(x, 3.0),
    "lanczos5": lambda x: _lanczos(x, 5.0),
}


def _weights(n: int, count: int, kernel: Callable[[Any], Any], antialias: bool) -> Any:
    """The matrix `[count, n]` of `jax.image.resize`: a kernel around each position, with a sum of 1 inside of `x`."""
    inverse = n / count
    width = max(inverse, 1.0) if antialias else 1.0
    at = (np.arange(count) + 0.5) * inverse - 0.5
    weights = kernel(abs(at[:, None] - np.arange(n)) / width)
    total = weights.sum(1, keepdims=True)
    found = np.where(abs(total) > 1000 * np.finfo(np.float32).eps, weights / np.where(total == 0, 1, total), 0)
    return np.where(((at >= -0.5) & (at <= n - 0.5))[:, None], found, 0)


_PHASES, _TAPS = 8, 8
"""Rows of a matrix that differ, and elements of a row, up to which slices are faster than a product."""


@dataclass(frozen=True)
class _Phases:
    """
    The rows of a matrix `[count, n]` that repeat: row `p m + r` has the weights of phase `r`, moved by `q m` columns.

    `count / n = p / q` in lowest terms. Columns outside of the matrix count as its first or last one.
    """

    steps: int
    stride: int
    taps: list[list[tuple[int, float]]]
    """Of each phase, columns at its first row and weights."""

    @staticmethod
    def of(matrix: Array) -> _Phases | None:
        """Those that the matrix is made of; None for another matrix, and for many phases."""
        count, n = matrix.shape
        steps = gcd(count, n)
        period, stride, middle = count // steps, n // steps, steps // 2
        if period > _PHASES:
            return None
        rows = matrix[period * middle : period * (middle + 1)]
        taps = [[(int(k) - stride * middle, float(row[k])) for k in np.flatnonzero(row)] for row in rows]
        if not all(0 < len(own) <= _TAPS for own in taps):
            return None
        found, step = np.zeros_like(matrix), np.arange(steps)
        for phase, own in enumerate(taps):
            for column, weight in own:
                found[period * step + phase, (stride * step + column).clip(0, n - 1)] += weight
        near = 16 * np.finfo(np.float64).eps
        return _Phases(steps, stride, taps) if np.abs(found - matrix).max() <= near else None

    def apply(self, x: Any, axis: int) -> Any:
        """The product of the matrix with an axis of `x`."""
        columns, last = [column for taps in self.taps for column, _ in taps], self.stride * (self.steps - 1)
        before, behind = max(0, -min(columns)), max(0, max(columns) + last + 1 - x.shape[axis])
        if before or behind:
            x = np.pad(x, [(before, behind) if k == axis else (0, 0) for k in range(np.ndim(x))], mode="edge")

        def tap(column: int, weight: float) -> Any:
            start = column + before
            piece = x[(slice(None),) * axis + (slice(start, start + last + 1, self.stride),)]
            return piece if weight == 1 else piece * weight

        phases = [reduce(add, (tap(*one) for one in taps)) for taps in self.taps]
        shape = (*x.shape[:axis], self.steps * len(phases), *x.shape[axis + 1 :])
        return phases[0] if len(phases) == 1 else np.stack(phases, axis + 1).reshape(shape)


def _applied(x: Any, matrix: Array, axis: int) -> Any:
    """The product with a matrix along an axis."""
    rank = np.ndim(x)
    axis %= rank
    if (phases := _Phases.of(matrix)) is not None:
        return phases.apply(x, axis)
    weights = function("constant")(matrix, x.dtype)
    if axis == rank - 1:
        return x @ weights.T
    before, after = x.shape[:axis], x.shape[axis + 1 :]
    rows = x.reshape(prod(before), x.shape[axis], prod(after))
    return (weights @ rows).reshape(*before, matrix.shape[0], *after)


@composite
def resize(image: Any, shape: Sequence[int], method: str, antialias: bool = True) -> Any:
    """
    Return an image of the given shape, as `jax.image.resize`.

    `shape` has the length of every axis; axes of equal length are not resampled. `method` is "nearest", "linear",
    "cubic", "lanczos3" or "lanczos5"; "bilinear", "trilinear", "triangle", "bicubic" and "tricubic" are other names.
    Pixels are at the centres of unit cells. With `antialias` the kernel is widened where an image becomes smaller; the
    nearest pixel is that at `floor((i + 1/2) n / m)`. The cubic kernel is that of Keys (1981), with `a = -1/2`.
    """
    check_choice("resize", "method", method, tuple(_METHODS))
    sizes = per_axis("resize", "shape", tuple(shape), np.ndim(image), 0)
    kind = _METHODS[method]
    _not_empty("resize", image.shape, sizes)
    if kind == "nearest":
        return _taken(
            image, [(2 * np.arange(m) + 1) * n // max(2 * m, 1) for n, m in zip(image.shape, sizes, strict=True)]
        )
    y = accumulating(image)
    for axis in _order(image.shape, sizes):
        y = _applied(y, _weights(image.shape[axis], sizes[axis], _KERNELS[kind], antialias), axis)
    return y.astype(floating(image).dtype)


def _taken(x: Any, sources: Sequence[Any]) -> Any:
    """
    The pixels of `x` with these indices along each axis.

    Axes that repeat each pixel equally often are one broadcast, and so one copy, whatever their number.
    """
    whole = [_repeats(n, source) for n, source in zip(x.shape, sources, strict=True)]
    for axis, (times, source) in enumerate(zip(whole, sources, strict=True)):
        if times is None:
            x = np.take(x, source, axis=axis)
    if all(times in (None, 1) for times in whole):
        return x
    pairs = list(zip(x.shape, [times or 1 for times in whole], strict=True))
    apart = x.reshape([k for n, times in pairs for k in ((n, 1) if times > 1 else (n,))])
    repeated = np.broadcast_to(apart, [k for n, times in pairs for k in ((n, times) if times > 1 else (n,))])
    return repeated.reshape([n * times for n, times in pairs])


def _repeats(n: int, source: Any) -> int | None:
    """How often indices of an axis of length `n` have each pixel, one after the other; None if not equally often."""
    times = len(source) // n if n else 0
    return times if times and np.array_equal(source, np.repeat(np.arange(n), times)) else None


def _order(before: Sequence[int], after: Sequence[int]) -> list[int]:
    """The axes to resample, those first that shrink most."""
    axes = [axis for axis, (n, count) in enumerate(zip(before, after, strict=True)) if n != count]
    return sorted(axes, key=lambda axis: after[axis] / before[axis])


def _not_empty(name: str, before: Sequence[int], after: Sequence[int]) -> None:
    if any(n == 0 and count for n, count in zip(before, after, strict=True)):
        raise GraphError(f"{name}: expected an image with elements to resample, got {list(before)} for {list(after)}")


def _sources(n: int, count: int, scale: float, align_corners: bool) -> Any:
    """The position in an axis of length `n` of each of `count` pixels; `scale` is the distance of two."""
    index = np.arange(count)
    if align_corners:
        return index * ((n - 1) / (count - 1) if count > 1 else 0.0)
    return (index + 0.5) * scale - 0.5


def _torch_weights(n: int, count: int, scale: float, cubic: bool, align_corners: bool) -> Any:
    """The matrix `[count, n]` of PyTorch, whose taps outside of the image are those of its border."""
    at = _sources(n, count, scale, align_corners)
    at = at if cubic or align_corners else np.maximum(at, 0)
    first = np.floor(at).astype(np.int64)
    taps = (-1, 0, 1, 2) if cubic else (0, 1)
    weights = np.zeros((count, n))
    for tap in taps:
        distance = abs(at - first - tap)
        share = _cubic(distance, -0.75) if cubic else _triangle(distance)
        np.add.at(weights, (np.arange(count), (first + tap).clip(0, n - 1)), share)
    return weights


def _smooth_weights(n: int, count: int, scale: float, cubic: bool, align_corners: bool) -> Any:
    """The matrix `[count, n]` of PyTorch with `antialias`: a kernel that is as wide as a pixel of the result."""
    if align_corners:
        scale = (n - 1) / (count - 1) if count > 1 else 0.0
    width = max(scale, 1.0)
    centre = (np.arange(count) + 0.5) * scale
    support = (2.0 if cubic else 1.0) * width
    start = np.maximum((centre - support + 0.5).astype(np.int64), 0)
    end = np.minimum((centre + support + 0.5).astype(np.int64), n)
    index = np.arange(n)
    inside = (index >= start[:, None]) & (index < end[:, None])
    weights = np.where(inside, (_cubic if cubic else _triangle)(abs(index - centre[:, None] + 0.5) / width), 0)
    return weights / weights.sum(1, keepdims=True)


@composite
def interpolate(
    x: Any,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool = False,
    recompute_scale_factor: bool = False,
    antialias: bool = False,
) -> Any:
    """
    Return `x` `[N, C, ...]` with its spatial axes resampled to `size`, or to `floor(n scale_factor)`, as in PyTorch.

    `mode` is "nearest", "nearest-exact", "area" (an adaptive mean), "linear", "bilinear", "trilinear" or "bicubic".
    With `align_corners` the centres of the outer pixels of both images coincide, else their outer edges. Pixels of the
    border stand for those outside of `x`. Distances between pixels are `1 / scale_factor` if it is given, unless
    `recompute_scale_factor` is true. `antialias` widens the kernels of "bilinear" and "bicubic" (there with
    `a = -1/2`, else `-3/4`) where an image becomes smaller.
    """
    name, axes = "interpolate", np.ndim(x) - 2
    modes = {"linear": 1, "bilinear": 2, "trilinear": 3, "bicubic": 2}
    check_choice(name, "mode", mode, ("nearest", "nearest-exact", "area", *modes))
    if not 1 <= axes <= 3 or modes.get(mode, axes) != axes:
        raise GraphError(
            f"{name}: x: expected [N, C, ...] with {modes.get(mode, '1 to 3')} spatial axes for the mode {mode!r}, got "
            f"{list(np.shape(x))}"
        )
    if align_corners and mode not in modes:
        raise GraphError(f"{name}: align_corners: expected False for the mode {mode!r}, got True")
    if antialias and mode not in ("bilinear", "bicubic"):
        raise GraphError(f"{name}: antialias: expected the mode 'bilinear' or 'bicubic', got {mode!r}")
    if (size is None) == (scale_factor is None):
        raise GraphError(f"{name}: expected either size or scale_factor, got {'neither' if size is None else 'both'}")
    before, scales = x.shape[2:], [1.0] * axes
    if scale_factor is not None:
        factors = tuple(scale_factor) if isinstance(scale_factor, Sequence) else (scale_factor,) * axes
        if len(factors) != axes or min(factors) <= 0:
            raise GraphError(f"{name}: scale_factor: expected a positive number, or {axes}, got {shown(scale_factor)}")
        size = tuple(floor(n * factor) for n, factor in zip(before, factors, strict=True))
        scales = [1 / factor for factor in factors]
    counts = per_axis(name, "size", size, axes, 1)
    _not_empty(name, before, counts)
    if scale_factor is None or recompute_scale_factor:
        scales = [n / count for n, count in zip(before, counts, strict=True)]
    if mode == "area":
        return adaptive_avg_pool(x, counts)
    if mode.startswith("nearest"):
        half = 0.5 if mode == "nearest-exact" else 0.0
        sources = [
            np.minimum(((np.arange(count) + half) * scale).astype(np.int64), n - 1)
            for n, count, scale in zip(before, counts, scales, strict=True)
        ]
        return _taken(x, [*(np.arange(n) for n in x.shape[:2]), *sources])
    weights, y = _smooth_weights if antialias else _torch_weights, accumulating(x)
    for axis in range(axes):
        matrix = weights(before[axis], counts[axis], scales[axis], mode == "bicubic", align_corners)
        if matrix.shape != (before[axis],) * 2 or not np.array_equal(matrix, np.eye(before[axis])):
            y = _applied(y, matrix, axis + 2)
    return y.astype(floating(x).dtype)


def _reflected(at: Any, n: int, align_corners: bool) -> Any:
    """Positions outside of an axis, reflected at its outer pixels or at their outer edges until they are inside."""
    low, span = (0.0, n - 1) if align_corners else (-0.5, n)
    if span == 0:
        return 0 * at
    distance = abs(at - low)
    turns = function("stop_gradient")(np.floor(distance / span))
    rest = distance - turns * span
    return np.clip(np.where(turns % 2 == 0, rest + low, span - rest + low), 0, n - 1)


def _padded(at: Any, n: int, padding_mode: str, align_corners: bool) -> Any:
    if padding_mode == "border":
        return np.clip(at, 0, n - 1)
    return _reflected(at, n, align_corners) if padding_mode == "reflection" else at


@composite
def grid_sample(
    x: Any, grid: Any, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool = False
) -> Any:
    """
    Return the values of images at the positions of a grid, as in PyTorch.

    `x` is `[N, C, H, W]` and `grid` is `[N, H', W', 2]`, pairs of x along W and y along H; or `x` is `[N, C, D, H, W]`
    and `grid` is `[N, D', H', W', 3]`. The result is `[N, C, H', W']` or `[N, C, D', H', W']`. Positions of -1 and 1
    are the outer edges of the image, with `align_corners` the centres of its outer pixels.

    `mode` is "bilinear" (also for three axes), "nearest" or "bicubic" (two axes, `a = -3/4`); `padding_mode` says what
    is outside of the image: "zeros", the "border", or its "reflection". Both arguments are differentiated.
    """
    name, axes = "grid_sample", np.ndim(x) - 2
    check_choice(name, "mode", mode, ("bilinear", "nearest", "bicubic"))
    check_choice(name, "padding_mode", padding_mode, ("zeros", "border", "reflection"))
    if axes not in (2, 3) or (mode == "bicubic" and axes == 3):
        raise GraphError(
            f"{name}: x: expected [N, C, H, W]{'' if mode == 'bicubic' else ' or [N, C, D, H, W]'}, got "
            f"{list(np.shape(x))}"
        )
    if np.ndim(grid) != axes + 2 or grid.shape[0] != x.shape[0] or grid.shape[-1] != axes:
        raise GraphError(
            f"{name}: grid: expected [{x.shape[0]}, {'' if axes == 2 else 'D, '}H, W, {axes}], got "
            f"{list(np.shape(grid))}"
        )
    x = floating(x)
    size, shape = x.shape[2:], grid.shape[1:-1]
    _not_empty(name, size, (1,) * axes)
    places = [grid[..., axes - 1 - axis].reshape(x.shape[0], prod(shape)) for axis in range(axes)]
    places = [
        (one + 1) * 0.5 * (n - 1) if align_corners else ((one + 1) * n - 1) * 0.5
        for one, n in zip(places, size, strict=True)
    ]
    if mode != "bicubic":
        places = [_padded(one, n, padding_mode, align_corners) for one, n in zip(places, size, strict=True)]
    if mode == "nearest":
        taps = [(np.rint(function("stop_gradient")(one))[..., None, :], None) for one in places]
    else:
        taps = [_taps(one, mode == "bicubic") for one in places]
    index, share = None, None
    for (at, weight), n in zip(taps, size, strict=True):
        at = _padded(at, n, padding_mode, align_corners) if mode == "bicubic" else at
        if padding_mode == "zeros":
            inside = (at >= 0) & (at < n)
            weight = np.where(inside, 1.0 if weight is None else weight, 0)
        at = np.clip(np.rint(at), 0, n - 1).astype(np.int32 if prod(size) < 1 << 31 else np.int64)
        index = at if index is None else _products(index * n, at, np.add)
        share = weight if share is None else _products(share, weight, np.multiply)
    return _weighted(x, index, share).reshape(*x.shape[:2], *shape)


def _products(first: Any, second: Any, combine: Any) -> Any:
    """All pairs of the taps of two axes, `[N, K, L]` and `[N, M, L]`, combined: `[N, K M, L]`."""
    n, _, length = first.shape
    return combine(first[:, :, None], second[:, None]).reshape(n, -1, length)


def _weighted(x: Any, index: Any, share: Any) -> Any:
    """The sums `[N, C, L]` of the pixels of `x` at flat indices `[N, K, L]`, times their weights."""
    flat = x.reshape(*x.shape[:2], prod(x.shape[2:]))
    found = function("gather")(flat, index.reshape(index.shape[0], -1), 2, 1)
    found = found.reshape(*x.shape[:2], *index.shape[1:])
    return (found[:, :, 0] if share is None else np.sum(found * share[:, None], axis=2)).astype(x.dtype)


def _taps(at: Any, cubic: bool) -> tuple[Any, Any]:
    """
    The pixels around positions along an axis, and the weight of each, along a new axis before the last one.

    Few taps are not the last axis: the loop over positions is in vectors.
    """

    def column(*numbers: float) -> Any:
        return np.array(numbers)[:, None]

    first = function("stop_gradient")(np.floor(at))[..., None, :]
    rest = at[..., None, :] - first
    if not cubic:
        return first + column(0.0, 1.0), column(1.0, 0.0) + column(-1.0, 1.0) * rest
    # without an absolute value, whose derivative at 0 is none of a weight
    distance = column(1.0, 0.0, 1.0, 2.0) + column(1.0, 1.0, -1.0, -1.0) * rest
    return first + column(-1.0, 0.0, 1.0, 2.0), _cubic(distance, -0.75)


@composite
def affine_grid(theta: Any, size: Sequence[int], align_corners: bool = False) -> Any:
    """
    Return the grid for `grid_sample` of an affine map: `theta (x, y, 1)` at each pixel of an image of the given size.

    `theta` is `[N, 2, 3]` with `size = (N, C, H, W)`, the result `[N, H, W, 2]`; or `[N, 3, 4]` with
    `(N, C, D, H, W)`, the result `[N, D, H, W, 3]`.
    """
    axes = len(size) - 2
    if axes not in (2, 3):
        raise GraphError(f"affine_grid: size: expected (N, C, H, W) or (N, C, D, H, W), got {shown(size)}")
    check_shape("affine_grid", "theta", theta, (size[0], axes, axes + 1), "a matrix per image")
    lines = []
    for n in size[2:]:
        index = np.arange(n)
        lines.append(np.linspace(-1, 1, n) if align_corners and n > 1 else (2 * index + 1) / n - 1)
    base = np.stack([*reversed(np.meshgrid(*lines, indexing="ij")), np.ones(tuple(size[2:]))], axis=-1)
    rows = function("constant")(base.reshape(-1, axes + 1), floating(theta).dtype)
    return (rows @ np.swapaxes(theta, 1, 2)).reshape(size[0], *size[2:], axes)
