"""Resizing beside JAX, and PyTorch's resampling beside its definition for one number at a time."""

from functools import partial
from itertools import product
from math import floor
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.scipy.ndimage import map_coordinates
from peer_rows import Family, Row

import xdsl_rlx as rlx
from xdsl_rlx import nn

RNG = np.random.default_rng(0)
LINE, PLANE, SPACE = RNG.normal(size=(2, 3, 7)), RNG.normal(size=(2, 2, 5, 8)), RNG.normal(size=(1, 2, 3, 4, 5))
GRID = RNG.uniform(-1.4, 1.4, (2, 2, 2, 2))
DEEP = RNG.uniform(-1.2, 1.2, (1, 1, 2, 3, 3))


def _cubic(x: float, a: float) -> float:
    x = abs(x)
    if x < 1:
        return (a + 2) * x**3 - (a + 3) * x**2 + 1
    return a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a if x < 2 else 0.0


def _line(n: int, count: int, kind: str, scale: float, corners: bool, smooth: bool) -> Any:
    """The matrix of PyTorch's loops, pixel by pixel and tap by tap."""
    found = np.zeros((count, n))
    step = (n - 1) / (count - 1) if corners and count > 1 else 0.0 if corners else scale
    for i in range(count):
        if smooth:
            width, centre = max(step, 1.0), step * (i + 0.5)
            reach = (2 if kind == "cubic" else 1) * width
            low, high = max(int(centre - reach + 0.5), 0), min(int(centre + reach + 0.5), n)
            for j in range(low, high):
                x = (j - centre + 0.5) / width
                found[i, j] = _cubic(x, -0.5) if kind == "cubic" else max(0.0, 1 - abs(x))
            found[i] /= found[i].sum()
            continue
        at = i * step if corners else (i + 0.5) * step - 0.5
        at = max(at, 0.0) if kind == "linear" else at
        first = floor(at)
        for tap in (0, 1) if kind == "linear" else (-1, 0, 1, 2):
            share = _cubic(at - first - tap, -0.75) if kind == "cubic" else max(0.0, 1 - abs(at - first - tap))
            found[i, min(max(first + tap, 0), n - 1)] += share
    return found


def _interpolate(
    x: Any, counts: Any, kind: str, scales: Any = None, corners: bool = False, smooth: bool = False
) -> Any:
    for axis, count in enumerate(counts, 2):
        n = x.shape[axis]
        matrix = _line(n, count, kind, 1 / scales[axis - 2] if scales else n / count, corners, smooth)
        x = jnp.moveaxis(jnp.tensordot(x, matrix, (axis, 1)), -1, axis)
    return x


def _reflect(at: Any, n: int, corners: bool) -> Any:
    low, high = (0.0, n - 1.0) if corners else (-0.5, n - 0.5)
    for _ in range(3):
        at = jnp.where(at < low, 2 * low - at, at)
        at = jnp.where(at > high, 2 * high - at, at)
    return jnp.clip(at, 0, n - 1)


def _sample(x: Any, grid: Any, mode: str = "bilinear", padding: str = "zeros", corners: bool = False) -> Any:
    size = x.shape[2:]
    outer = {"zeros": lambda a, n: a, "border": lambda a, n: jnp.clip(a, 0, n - 1)}
    pad = outer.get(padding, lambda a, n: _reflect(a, n, corners))
    at = [
        (grid[..., -1 - axis] + 1) / 2 * (n - 1) if corners else ((grid[..., -1 - axis] + 1) * n - 1) / 2
        for axis, n in enumerate(size)
    ]
    if mode != "bicubic":
        at = [pad(one, n) for one, n in zip(at, size, strict=True)]
        order = {"bilinear": 1, "nearest": 0}[mode]
        each = jax.vmap(lambda image, *at: map_coordinates(image, list(at), order, cval=0.0), (0, *[None] * len(at)))
        return jax.vmap(each)(x, *at)
    total: Any = 0.0
    for taps in product((-1, 0, 1, 2), repeat=2):
        share: Any = 1.0
        index = []
        for one, tap, n in zip(at, taps, size, strict=True):
            first = jnp.floor(one)
            distance = jnp.abs(one - first - tap)
            inner = 1.25 * distance**3 - 2.25 * distance**2 + 1
            outside = -0.75 * distance**3 + 3.75 * distance**2 - 6 * distance + 3
            place = pad(first + tap, n)
            share = share * jnp.where(distance < 1, inner, outside) * ((place >= 0) & (place < n))
            index.append(jnp.clip(jnp.round(place), 0, n - 1).astype(int))
        values = jax.vmap(lambda image, i, j: image[:, i, j])(x, *index)
        total = total + share[:, None] * values
    return total


def _grid(theta: Any, size: Any, corners: bool) -> Any:
    lines = [np.linspace(-1, 1, n) if corners else (2 * np.arange(n) + 1) / n - 1 for n in size[2:]]
    places = [*reversed(np.meshgrid(*lines, indexing="ij")), np.ones(size[2:])]
    return jnp.einsum("nij,...j->n...i", theta, np.stack(places, -1))


def _resized(shape: tuple[int, ...], method: str, antialias: bool = True) -> tuple[Any, Any]:
    return tuple(
        partial(resize, shape=shape, method=method, antialias=antialias) for resize in (nn.resize, jax.image.resize)
    )


FAMILY = Family(
    [
        Row("resize-nearest", *_resized((2, 2, 7, 3), "nearest"), [PLANE]),
        Row("resize-linear", *_resized((2, 2, 9, 3), "bilinear"), [PLANE]),
        Row("resize-sharp", *_resized((2, 2, 3, 5), "linear", False), [PLANE]),
        Row("resize-cubic", *_resized((1, 2, 7, 4), "bicubic"), [PLANE]),
        Row("resize-lanczos3", *_resized((2, 6, 11), "lanczos3"), [LINE]),
        Row("resize-lanczos5", *_resized((2, 3, 4), "lanczos5"), [LINE]),
        Row("interpolate-linear", lambda x: nn.interpolate(x, 11, mode="linear"),
            lambda x: _interpolate(x, (11,), "linear"), [LINE]),
        Row("interpolate-corners", lambda x: nn.interpolate(x, (1, 13), mode="bilinear", align_corners=True),
            lambda x: _interpolate(x, (1, 13), "linear", corners=True), [PLANE]),
        Row("interpolate-factor", lambda x: nn.interpolate(x, scale_factor=(1.3, 0.6), mode="bilinear"),
            lambda x: _interpolate(x, (6, 4), "linear", (1.3, 0.6)), [PLANE]),
        Row("interpolate-bicubic", lambda x: nn.interpolate(x, (9, 5), mode="bicubic"),
            lambda x: _interpolate(x, (9, 5), "cubic"), [PLANE]),
        Row("interpolate-smooth", lambda x: nn.interpolate(x, (3, 11), mode="bilinear", antialias=True),
            lambda x: _interpolate(x, (3, 11), "linear", smooth=True), [PLANE]),
        Row("interpolate-bicubic-smooth", lambda x: nn.interpolate(x, (2, 3), mode="bicubic", antialias=True),
            lambda x: _interpolate(x, (2, 3), "cubic", smooth=True), [PLANE]),
        Row("interpolate-trilinear", lambda x: nn.interpolate(x, scale_factor=2, mode="trilinear"),
            lambda x: _interpolate(x, (6, 8, 10), "linear", (2, 2, 2)), [SPACE]),
        Row("interpolate-nearest", lambda x: nn.interpolate(x, (7, 3)),
            lambda x: x[:, :, np.arange(7) * 5 // 7][..., np.arange(3) * 8 // 3], [PLANE]),
        Row("interpolate-exact", lambda x: nn.interpolate(x, (7, 3), mode="nearest-exact"),
            partial(jax.image.resize, shape=(2, 2, 7, 3), method="nearest"), [PLANE]),
        Row("interpolate-area", lambda x: nn.interpolate(x, 3, mode="area"), lambda x: _area(x), [LINE]),
        Row("grid_sample", nn.grid_sample, _sample, [PLANE, GRID], (0, 1), half=0),
        *(
            Row(f"grid_sample-{mode}-{padding}-{corners}",
                partial(nn.grid_sample, mode=mode, padding_mode=padding, align_corners=corners),
                partial(_sample, mode=mode, padding=padding, corners=corners), [PLANE, GRID],
                (0,) if mode == "nearest" else (0, 1), 1 if mode == "bicubic" else 2, half=0)
            for mode, padding, corners in (
                ("bilinear", "border", True), ("bilinear", "reflection", False), ("nearest", "reflection", True),
                ("bicubic", "zeros", False), ("bicubic", "reflection", True), ("nearest", "zeros", False),
            )
        ),
        Row("grid_sample-3d", nn.grid_sample, _sample, [SPACE, DEEP], (0, 1), half=0),
        Row("affine_grid", partial(nn.affine_grid, size=(2, 1, 3, 4)),
            partial(_grid, size=(2, 1, 3, 4), corners=False), [RNG.normal(size=(2, 2, 3))]),
        Row("affine_grid-3d", partial(nn.affine_grid, size=(1, 1, 2, 3, 2), align_corners=True),
            partial(_grid, size=(1, 1, 2, 3, 2), corners=True), [RNG.normal(size=(1, 3, 4))]),
        Row("empty", partial(nn.resize, shape=(0, 2, 4, 4), method="cubic"), lambda x: jnp.zeros((0, 2, 4, 4)),
            [PLANE[:0]]),
    ]
)  # fmt: skip


def _area(x: Any) -> Any:
    return jnp.stack([x[..., :3].mean(-1), x[..., 2:5].mean(-1), x[..., 4:].mean(-1)], -1)


@pytest.mark.parametrize("name", FAMILY.names)
def test_resampling_is_that_of_its_definition(name: str) -> None:
    FAMILY.check(name)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: nn.resize(PLANE, (2, 2, 5), "linear"), "shape: expected an integer of at least 0, or 4"),
        (lambda: nn.resize(PLANE, PLANE.shape, "bilinar"), "method: expected one of 'nearest', 'linear'"),
        (lambda: nn.resize(PLANE[:, :, :0], PLANE.shape, "linear"), "expected an image with elements"),
        (lambda: nn.interpolate(PLANE), "either size or scale_factor, got neither"),
        (lambda: nn.interpolate(PLANE, 3, 2.0), "either size or scale_factor, got both"),
        (lambda: nn.interpolate(LINE, 3, mode="bilinear"), "with 2 spatial axes for the mode 'bilinear'"),
        (lambda: nn.interpolate(LINE, 3, align_corners=True), "align_corners: expected False"),
        (lambda: nn.interpolate(LINE, 3, mode="linear", antialias=True), "antialias: expected the mode"),
        (lambda: nn.interpolate(LINE, scale_factor=-1.0), "scale_factor: expected a positive number"),
        (lambda: nn.grid_sample(PLANE, GRID[:1]), r"grid: expected \[2, H, W, 2\]"),
        (lambda: nn.grid_sample(SPACE, DEEP, "bicubic"), r"x: expected \[N, C, H, W\], got"),
        (lambda: nn.affine_grid(np.ones((2, 2, 2)), (2, 1, 3, 4)), r"theta: expected shape \[2, 2, 3\]"),
    ],
)
def test_wrong_arguments_are_named(call: Any, message: str) -> None:
    with pytest.raises(rlx.GraphError, match=message):
        call()
