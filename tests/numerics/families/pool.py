"""Pooling and resizing of images."""

from itertools import product
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numerics.sample import NARROW, Operand, Sample, apart, values
from oracle import Array, widen

from xdsl_rlx.dialects.mir import pool
from xdsl_rlx.dialects.mir.pool import Frames, PoolKind
from xdsl_rlx.dialects.shapes import shape_of

CASES: tuple[tuple[str, tuple[int, ...], dict[str, Any]], ...] = (
    ("", (2, 3, 4, 6), {"kernel_size": 2}),
    ("-odd", (1, 2, 5, 7), {"kernel_size": [2, 3]}),
    ("-overlapping", (2, 1, 6, 5), {"kernel_size": 3, "stride": [1, 2]}),
    ("-padded", (1, 2, 5, 6), {"kernel_size": [3, 2], "stride": 2, "padding": 1}),
    ("-apart", (1, 2, 7, 5), {"kernel_size": 2, "stride": 3}),
    ("-global", (2, 2, 6, 7), {"kernel_size": [6, 7]}),
    ("-large", (1, 1, 9, 9), {"kernel_size": 6, "stride": 2, "padding": 2}),
    ("-tall", (1, 1, 35, 2), {"kernel_size": [34, 1], "stride": 1}),
    ("-one", (1, 2, 3, 3), {"kernel_size": 1}),
    ("-none", (0, 2, 4, 4), {"kernel_size": 2}),
)
DY_CASES = [(suffix, shape, frames) for suffix, shape, frames in CASES if suffix not in ("-odd", "-one")]


def _frames(attributes: dict[str, Any]) -> Frames:
    kernel = attributes["kernel_size"]
    lists = (kernel, attributes.get("stride", kernel), attributes.get("padding", 0))
    return Frames(*((n, n) if isinstance(n, int) else tuple(n) for n in lists))


def _pool_samples() -> list[Sample]:
    rows: list[Sample] = []
    for kind, (suffix, shape, frames) in product(PoolKind, CASES):
        build = lambda m, x, k=kind, a=frames: m.pool(x, k, **a)  # noqa: E731
        operand = Operand(shape, apart()) if kind in (PoolKind.MAX, PoolKind.MIN) else Operand(shape)
        exact = kind in (PoolKind.MAX, PoolKind.MIN)
        rows.append(Sample(f"pool-{kind}{suffix}", pool.PoolOp, build, (operand,), differentiable=(0,), exact=exact))
    for suffix, shape, frames in (CASES[3], CASES[6]):
        build = lambda m, x, a=frames: m.pool(x, "mean", count_include_pad=False, **a)  # noqa: E731
        id_ = f"pool-mean-excluding{suffix}"
        rows.append(Sample(id_, pool.PoolOp, build, (Operand(shape),), differentiable=(0,)))
    special = values(np.nan, -np.inf, 1, np.inf, -np.inf, -np.inf, 0.0, 2, -np.inf, np.nan, -np.inf, -np.inf)
    for kind in PoolKind:
        build = lambda m, x, k=kind: m.pool(x, k, 2, 1, 1)  # noqa: E731
        rows.append(Sample(f"pool-{kind}-special", pool.PoolOp, build, (Operand((1, 2, 3, 4), special),)))
        build = lambda m, x, k=kind: m.pool(x, k, 2, 2, 1, False)  # noqa: E731
        rows.append(Sample(f"pool-{kind}-narrow", pool.PoolOp, build, (Operand((2, 2, 4, 5)),), NARROW))
    return rows


def _other_samples() -> list[Sample]:
    rows: list[Sample] = []
    ties = values(1, 1, 0, 2, 2, -np.inf, -np.inf, np.nan, 3, np.nan, 1, 1, -np.inf)
    for suffix, shape, frames in DY_CASES:
        at = _frames(frames)
        upper = Operand(at.counts(shape))
        take = lambda m, x, t, a=frames: m.maxpool2d_take(x, t, **a)  # noqa: E731
        back = lambda m, x, dy, a=frames: m.maxpool2d_backward(x, dy, **a)  # noqa: E731
        spread = lambda m, dy, s=shape, a=frames: m.sumpool2d_backward(dy, s[2:], **a)  # noqa: E731
        for tag, image in (("", Operand(shape, apart())), ("-ties", Operand(shape, ties))):
            id_ = f"maxpool2d_take{suffix}{tag}"
            rows.append(Sample(id_, pool.Maxpool2dTakeOp, take, (image, Operand(shape)), differentiable=(1,)))
            id_ = f"maxpool2d_backward{suffix}{tag}"
            rows.append(Sample(id_, pool.Maxpool2dBackwardOp, back, (image, upper), differentiable=(1,)))
        rows.append(
            Sample(f"sumpool2d_backward{suffix}", pool.Sumpool2dBackwardOp, spread, (upper,), differentiable=(0,))
        )
    image, upper = Operand((2, 2, 4, 5), apart()), Operand((2, 2, 3, 3))
    take = lambda m, x, t: m.maxpool2d_take(x, t, 2, 2, 1)  # noqa: E731
    back = lambda m, x, dy: m.maxpool2d_backward(x, dy, 2, 2, 1)  # noqa: E731
    spread = lambda m, dy: m.sumpool2d_backward(dy, (4, 5), 2, 2, 1)  # noqa: E731
    rows.append(Sample("maxpool2d_take-narrow", pool.Maxpool2dTakeOp, take, (image, image), NARROW))
    rows.append(Sample("maxpool2d_backward-narrow", pool.Maxpool2dBackwardOp, back, (image, upper), NARROW))
    rows.append(Sample("sumpool2d_backward-narrow", pool.Sumpool2dBackwardOp, spread, (upper,), NARROW))
    for suffix, shape in (("", (2, 3, 2, 5)), ("-one", (1, 1, 1, 1)), ("-none", (2, 0, 3, 4))):
        build = lambda m, x: m.resize_nearest_2x(x)  # noqa: E731
        op = pool.ResizeNearest2xOp
        rows.append(Sample(f"resize_nearest_2x{suffix}", op, build, (Operand(shape),), differentiable=(0,), exact=True))
    return rows


def _windows(x: Array, at: Frames, fill: float) -> Array:
    """The windows of a padded image in row-major order, `[N, C, H', W', k]`."""
    padded = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in at.padding)], constant_values=fill)
    counts = at.counts(x.shape)[2:]
    axes = list(zip(counts, at.stride, strict=True))
    taps = [
        padded[(..., *(slice(t, t + (n - 1) * s + 1, s) for t, (n, s) in zip(tap, axes, strict=True)))]
        for tap in product(*map(range, at.kernel))
    ]
    return np.stack(taps, -1)


FILL = {PoolKind.MAX: -np.inf, PoolKind.MIN: np.inf, PoolKind.SUM: 0.0, PoolKind.MEAN: 0.0}


def _oracle_pool(op: pool.PoolOp, x: Array) -> Array:
    kind, at = op.kind.data, op.frames
    windows = _windows(widen(x), at, FILL[kind])
    with np.errstate(invalid="ignore"):
        match kind:
            case PoolKind.MAX:
                return windows.max(-1)
            case PoolKind.MIN:
                return windows.min(-1)
            case PoolKind.SUM:
                return windows.sum(-1)
            case PoolKind.MEAN:
                inside = _windows(np.ones(x.shape), at, 1.0 if op.includes_padding else 0.0)
                return windows.sum(-1) / inside.sum(-1)


def _places(np_: Any, x: Any, at: Frames) -> Any:
    """The number in the image of the first largest element of each window; NaN counts as larger than all numbers."""
    (height, width), images = x.shape[2:], x.shape[:2]
    numbers = np.broadcast_to(np.arange(height * width, dtype=np.float64).reshape(height, width), x.shape)
    where = _windows(numbers, at, -1.0).astype(np.int64)
    if not where.size:
        return where.reshape(*images, where.shape[2] * where.shape[3])
    inside = np.maximum(where, 0).reshape(*images, -1)
    found = np_.take_along_axis(x.reshape(*images, -1), np_.asarray(inside), 2).reshape(where.shape)
    # What is padding comes last among equals, NaN first among all.
    big = np.finfo(np.float64).max
    order = np_.where(np_.isnan(found), np.inf, np_.clip(found.astype(np.float64), -big, big))
    best = np_.where(where < 0, -np.inf, order).argmax(-1)
    return np_.take_along_axis(np_.asarray(where), best[..., None], -1).reshape(*images, -1)


def _oracle_take(op: pool.Maxpool2dTakeOp, x: Array, t: Array) -> Array:
    flat = widen(t).reshape(*t.shape[:2], t.shape[2] * t.shape[3])
    return np.take_along_axis(flat, _places(np, x, op.frames), 2).reshape(shape_of(op.result))


def _oracle_backward(op: pool.Maxpool2dBackwardOp, x: Array, dy: Array) -> Array:
    dx = np.zeros((*x.shape[:2], x.shape[2] * x.shape[3]))
    n, c = np.arange(x.shape[0])[:, None, None], np.arange(x.shape[1])[None, :, None]
    np.add.at(dx, (n, c, _places(np, x, op.frames)), widen(dy).reshape(*dy.shape[:2], dy.shape[2] * dy.shape[3]))
    return dx.reshape(x.shape)


def _oracle_spread(op: pool.Sumpool2dBackwardOp, dy: Array) -> Array:
    at, shape = op.frames, shape_of(op.result)
    padded = np.zeros((*shape[:2], *(n + 2 * p for n, p in zip(shape[2:], at.padding, strict=True))))
    for tap in product(*map(range, at.kernel)):
        axes = zip(tap, dy.shape[2:], at.stride, strict=True)
        padded[(..., *(slice(t, t + (n - 1) * s + 1, s) for t, n, s in axes))] += widen(dy)
    return padded[(..., *(slice(p, p + n) for p, n in zip(at.padding, shape[2:], strict=True)))]


def _jax_reduce(at: Frames, x: Any, init: float, combine: Any) -> Any:
    padding = [(0, 0), (0, 0), *((p, p) for p in at.padding)]
    return jax.lax.reduce_window(
        x, np.array(init, x.dtype)[()], combine, (1, 1, *at.kernel), (1, 1, *at.stride), padding
    )


def _jax_pool(op: pool.PoolOp, x: Any) -> Any:
    at = op.frames
    match op.kind.data:
        case PoolKind.MAX:
            return _jax_reduce(at, x, -np.inf, jax.lax.max)
        case PoolKind.MIN:
            return _jax_reduce(at, x, np.inf, jax.lax.min)
        case PoolKind.SUM:
            return _jax_reduce(at, x, 0.0, jax.lax.add)
        case PoolKind.MEAN:
            total = _jax_reduce(at, x, 0.0, jax.lax.add)
            if op.includes_padding:
                return total / np.prod(at.kernel)
            return total / _jax_reduce(at, jnp.ones_like(x), 0.0, jax.lax.add)


def _jax_take(op: pool.Maxpool2dTakeOp, x: Any, t: Any) -> Any:
    places = _places(jnp, x, op.frames)
    return jnp.take_along_axis(t.reshape(*t.shape[:2], t.shape[2] * t.shape[3]), places, 2).reshape(shape_of(op.result))


def _jax_backward(op: pool.Maxpool2dBackwardOp, x: Any, dy: Any) -> Any:
    n, c = np.arange(x.shape[0])[:, None, None], np.arange(x.shape[1])[None, :, None]
    upper = dy.reshape(*dy.shape[:2], dy.shape[2] * dy.shape[3])
    flat = jnp.zeros((*x.shape[:2], x.shape[2] * x.shape[3]), dy.dtype)
    return flat.at[n, c, _places(jnp, x, op.frames)].add(upper).reshape(x.shape)


def _jax_spread(op: pool.Sumpool2dBackwardOp, dy: Any) -> Any:
    def forward(x: Any) -> Any:
        return _jax_reduce(op.frames, x, 0.0, jax.lax.add)

    (dx,) = jax.linear_transpose(forward, jnp.zeros(shape_of(op.result), dy.dtype))(dy)
    return dx


SAMPLES = (*_pool_samples(), *_other_samples())
ORACLE = {
    pool.PoolOp: _oracle_pool,
    pool.Maxpool2dTakeOp: _oracle_take,
    pool.Maxpool2dBackwardOp: _oracle_backward,
    pool.Sumpool2dBackwardOp: _oracle_spread,
    pool.ResizeNearest2xOp: lambda op, x: x.repeat(2, 2).repeat(2, 3),
}
JAX = {
    pool.PoolOp: _jax_pool,
    pool.Maxpool2dTakeOp: _jax_take,
    pool.Maxpool2dBackwardOp: _jax_backward,
    pool.Sumpool2dBackwardOp: _jax_spread,
    pool.ResizeNearest2xOp: lambda op, x: x.repeat(2, 2).repeat(2, 3),
}
