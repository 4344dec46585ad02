"""Splats: samples, and a dense renderer that composites splat by splat, in NumPy and in JAX.
Its derivative is JAX's, and in NumPy that of `splat_by_hand.py`."""

from dataclasses import asdict
from functools import partial
from math import pi
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numerics import splat_by_hand as by_hand
from numerics.sample import Array, Operand, Sample, Sampler, normal, uniform, values

from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.shapes import shape_of
from xdsl_rlx.plugins.splat import ops as splat
from xdsl_rlx.plugins.splat.ops import Picture

SMOOTH = Picture(6, 5, 0.0, 0.0)
"""Nothing left out, so that derivatives exist everywhere."""

CAMERA = (0.3, -0.2, -4.0, 0.05, 0.0, 0.1, 0.1, 1.0, 0.0, 40.0, 0.1, 100.0, 0.2, 0.5, 0.7)
BLACK = (*CAMERA[:12], 0.0, 0.0, 0.0)


def cloud(count: int, bands: int, camera: tuple[float, ...] = CAMERA, **other: Sampler) -> tuple[Operand, ...]:
    """Operands of `count` splats around the origin, which the camera looks at."""
    samplers: dict[str, tuple[int, Sampler]] = {
        "positions": (3, normal(0.5)),
        "scales": (3, uniform(-2.2, -1.0)),
        "rotations": (4, normal()),
        "opacities": (1, uniform(0.3, 0.9)),
        "colors": (3, uniform(0.1, 0.9)),
        "sh_coeffs": (3 * bands, normal(0.3)),
    }
    made = [Operand((each * count,), other.get(name, sampler)) for name, (each, sampler) in samplers.items()]
    return (*made, Operand((len(camera),), values(*camera)))


def _render(picture: Picture, b: MirBuilder, *xs: Value) -> Value:
    return b.gaussian_splat_render(*xs, **asdict(picture))


def _backward(picture: Picture, clip: float | None, b: MirBuilder, *xs: Value) -> tuple[Value, ...]:
    return b.gaussian_splat_render_backward(*xs, **asdict(picture), loss_grad_clip=clip)


def _prepare(b: MirBuilder, *xs: Value) -> tuple[Value, ...]:
    return b.gaussian_splat_prepare(*xs)


def _rasterize(picture: Picture, b: MirBuilder, *xs: Value) -> Value:
    return b.gaussian_splat_rasterize(*xs, **asdict(picture))


HARD = Picture(5, 7, 1 / 255, 0.3)
"""Cutoff and threshold leave something out."""

ODD: dict[str, Sampler] = {
    "opacities": values(0.7, 1.0, 0.0, 1.5, -0.5, 0.4, 0.001),
    "rotations": values(0, 0, 0, 0, 1, 0, 0, 0, 0.5, -2, 1, 0.3, 0, 0, 3, 0),
    "colors": values(0.5, 1.0, 0.0, 1.25, -0.25, 0.75, 0.1),
    "sh_coeffs": values(*[0.0] * 12, 0.3, -0.2, 0.9, 0.0, 0.1, 0.4, -0.3, 0.2, 0.5, 0.1, 0.0, -0.6),
    "scales": values(-1.0, -1.5, -1.2, -2.0, -1.0),
    "positions": values(0.1, 0.2, 0.0, 0.1, 0.2, 0.0, -0.3, 0.1, 0.4, 0.2, -0.3, -0.5, 0.0, 0.3, -6.0, 0.5, 0.1),
}
"""Opacities and colours out of range, a quaternion of 0, no coefficients, equal places, one behind the camera."""

EVERY = tuple(range(6))


def _render_samples() -> list[Sample]:
    sample = partial(Sample, op=splat.GaussianSplatRenderOp, differentiable=EVERY, tol=64.0)
    build = partial(partial, _render)
    rows = [
        sample("splat", build=build(SMOOTH), operands=cloud(5, 4)),
        sample("splat-one", build=build(SMOOTH), operands=cloud(1, 1)),
        sample(
            "splat-colors", build=build(Picture(4, 3, 0.0, 0.0)), operands=cloud(3, 0), differentiable=(0, 1, 2, 3, 4)
        ),
        sample("splat-gamma", build=build(Picture(3, 4, 0.0, 0.0, 2.2)), operands=cloud(4, 9)),
        sample("splat-cut", build=build(HARD), operands=cloud(12, 4), smooth=False),
        sample("splat-odd", build=build(HARD), operands=cloud(7, 4, BLACK, **ODD), smooth=False),
        sample("splat-meta23", build=build(SMOOTH), operands=cloud(2, 1, (*CAMERA, *[0.0] * 8))),
        sample("splat-none", build=build(Picture(3, 2)), operands=cloud(0, 0)),
        sample("splat-nothing", build=build(Picture(3, 0)), operands=cloud(2, 1)),
    ]
    return rows


def _backward_samples() -> list[Sample]:
    sample = partial(Sample, op=splat.GaussianSplatRenderBackwardOp, tol=64.0)
    rows: list[Sample] = []
    for name, count, bands, picture, clip in (
        ("splat_backward", 4, 4, SMOOTH, None),
        ("splat_backward-gamma", 3, 1, Picture(5, 3, 0.0, 0.0, 1.5), None),
        ("splat_backward-cut", 9, 4, HARD, 0.5),
        ("splat_backward-many", 12, 9, Picture(19, 10, 1 / 255, 0.01), None),
        ("splat_backward-none", 0, 0, HARD, None),
        ("splat_backward-nothing", 2, 1, Picture(0, 3), None),
    ):
        operands = (*cloud(count, bands), Operand((4 * picture.width * picture.height,)))
        smooth = picture.alpha_cutoff == 0
        build = partial(_backward, picture, clip)
        wrt = (*EVERY, 7) if smooth else ()
        rows.append(sample(name, build=build, operands=operands, differentiable=wrt, smooth=smooth))
    operands = (*cloud(7, 4, BLACK, **ODD), Operand((140,)))
    rows.append(sample("splat_backward-odd", build=partial(_backward, HARD, None), operands=operands))
    return rows


def _prepare_samples() -> list[Sample]:
    sample = partial(Sample, op=splat.GaussianSplatPrepareOp, build=_prepare, tol=16.0)
    return [
        sample("splat_prepare", operands=cloud(5, 4), differentiable=EVERY),
        sample("splat_prepare-one", operands=cloud(1, 0), differentiable=(0, 1, 2)),
        sample("splat_prepare-odd", operands=cloud(7, 4, BLACK, **ODD), differentiable=EVERY, smooth=False),
        sample("splat_prepare-tiny", operands=cloud(3, 1, scales=values(-20.0, -1.0)), smooth=False),
        sample("splat_prepare-none", operands=cloud(0, 0)),
    ]


def _rasterize_samples() -> list[Sample]:
    sample = partial(Sample, op=splat.GaussianSplatRasterizeOp, tol=64.0)
    rows: list[Sample] = []
    for name, count, picture in (("rasterize", 4, SMOOTH), ("rasterize-cut", 9, HARD), ("rasterize-none", 0, HARD)):
        operands = (
            Operand((count, 3), lambda rng, shape: rng.standard_normal(shape) + np.array([0.1, -0.2, -3.0])),
            Operand((count, 3, 3), lambda rng, shape: 0.3 * rng.standard_normal(shape) + np.eye(3)),
            Operand((count, 3), uniform(0.1, 0.9)),
            Operand((count,), uniform(0.3, 0.9)),
            Operand((len(CAMERA),), values(*CAMERA)),
        )
        build = partial(_rasterize, picture)
        rows.append(sample(name, build=build, operands=operands, differentiable=(0, 1, 2, 3), smooth=picture is SMOOTH))
    return rows


def camera(np_: Any, meta: Any) -> tuple[Any, Any, Any]:
    """Right, up and forward."""

    def unit(x: Any) -> Any:
        return x / np_.sqrt(np_.sum(x * x))

    forward = unit(meta[3:6] - meta[:3])
    right = unit(np_.cross(meta[6:9], forward))
    return right, np_.cross(forward, right), forward


def clamped(np_: Any, x: Any) -> Any:
    """Into [0, 1], with slope 1 on the ends."""
    return np_.where(x < 0, 0.0, np_.where(x > 1, 1.0, x))


def turns(np_: Any, q: Any) -> Any:
    """The matrices of quaternions wxyz (N x 4)."""
    norm = np_.sum(q * q, -1)
    w, x, y, z = (q * np_.where(norm > 0, 1 / np_.sqrt(np_.where(norm > 0, norm, 1.0)), 0.0)[:, None]).T
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np_.moveaxis(np_.stack([np_.stack(row) for row in rows]), -1, 0)


def prepare(np_: Any, op: Any, p: Any, s: Any, q: Any, o: Any, c: Any, sh: Any, meta: Any) -> tuple[Any, ...]:
    """Origins, frames, tints, alphas in order of depth."""
    count, bands = op.count, op.bands
    away = meta[:3] - p.reshape(count, 3)
    radii = np_.exp(s.reshape(count, 3)) * op.radius_scale.value.data
    radii = np_.where(radii > 1e-6 / 3, radii, 1e-6 / 3)
    frames = turns(np_, q.reshape(count, 4)) / radii[:, :, None]
    tints = clamped(np_, c.reshape(count, 3))
    if bands:
        k = sh.reshape(count, bands, 3)
        lit = 0.5 + 0.5 / np.sqrt(pi) * k[:, 0]
        if bands >= 4:
            x, y, z = (away / np_.sqrt(np_.sum(away * away, -1))[:, None]).T[:, :, None]
            lit = lit + np.sqrt(0.75 / pi) * (-y * k[:, 1] + z * k[:, 2] - x * k[:, 3])
        tints = np_.where(np_.any(k != 0, (1, 2))[:, None], lit, tints)
    seen = -away @ camera(np_, meta)[2] > 1e-4
    alphas = np_.where(seen, clamped(np_, o), 0.0)
    order = np_.argsort(np_.sum(away * away, -1), stable=True)
    return tuple(x[order] for x in (np_.einsum("iab,ib->ia", frames, away), frames, tints, alphas))


def rays(np_: Any, picture: Picture, meta: Any) -> Any:
    """Directions through the centres of pixels (pixels x 3)."""
    right, up, forward = camera(np_, meta)
    width, height = picture.width, picture.height
    focal = 0.5 * height / np_.tan(meta[9] * pi / 360)
    y, x = np.mgrid[:height, :width].reshape(2, -1) + 0.5
    return forward + (x[:, None] - width / 2) / focal * right + (height / 2 - y[:, None]) / focal * up


def rasterize(np_: Any, op: Any, u: Any, frames: Any, tints: Any, peaks: Any, meta: Any) -> Any:
    """The picture: one splat after the other."""
    picture = op.picture
    pixels = picture.width * picture.height
    d = rays(np_, picture, meta) if pixels else np_.zeros((0, 3))
    color, left = np_.zeros((pixels, 3)), np_.ones(pixels)
    for i in range(op.count):
        v = d @ frames[i].T
        apart = np_.cross(u[i], v)
        t = -(v @ u[i]) / np_.sum(v * v, -1)
        alpha = peaks[i] * np_.exp(-0.5 * np_.sum(apart * apart, -1) / np_.sum(v * v, -1))
        alpha = np_.where((t > 0) & (alpha >= picture.alpha_cutoff), alpha, 0.0)
        alpha = np_.where(left >= picture.transmittance_threshold, alpha, 0.0)
        color = color + (left * alpha)[:, None] * tints[i]
        left = left * (1 - alpha)
    linear = color + left[:, None] * meta[12:15]
    if picture.gamma == 1:
        developed = np_.where(linear < 0, 0.0, linear)
    else:
        developed = np_.where(linear > 0, np_.where(linear > 0, linear, 1.0) ** picture.gamma, 0.0)
    return np_.concatenate([developed, 1 - left[:, None]], 1).reshape(-1)


def render(np_: Any, op: Any, *xs: Any) -> Any:
    """The picture of a cloud."""
    if not op.count:
        return rasterize(np_, op, *[np.zeros((0, 3))] * 4, xs[6])
    return rasterize(np_, op, *prepare(np_, op, *xs), xs[6])


def backward_by_jax(op: Any, *xs: Any) -> tuple[Any, ...]:
    """What JAX makes of the picture."""
    *parts, meta, g = xs
    if op.clip is not None:
        g = jnp.clip(g, -op.clip, op.clip)
    return tuple(jax.vjp(lambda *cloud: render(jnp, op, *cloud, meta), *parts)[1](g))


def _wide(xs: Any) -> list[Array]:
    return [np.asarray(x, np.float64) for x in xs]


def _oracle_prepare(op: splat.GaussianSplatPrepareOp, *xs: Array) -> tuple[Array, ...]:
    if not op.count:
        return tuple(np.zeros(shape_of(result)) for result in op.results)
    return prepare(np, op, *_wide(xs))


def _jax_prepare(op: splat.GaussianSplatPrepareOp, *xs: Any) -> tuple[Any, ...]:
    return prepare(jnp, op, *xs)


def _oracle_render(op: splat.GaussianSplatRenderOp, *xs: Array) -> Array:
    return render(np, op, *_wide(xs))


def _oracle_rasterize(op: splat.GaussianSplatRasterizeOp, *xs: Array) -> Array:
    return rasterize(np, op, *_wide(xs))


def _oracle_backward(op: splat.GaussianSplatRenderBackwardOp, *xs: Array) -> tuple[Array, ...]:
    *parts, g = _wide(xs)
    if not op.count:
        return tuple(np.zeros(0) for _ in op.results)
    p, s, q, *_, meta = parts
    if op.clip is not None:
        g = np.clip(g, -op.clip, op.clip)
    d = rays(np, op.picture, meta)
    found = by_hand.compositing(op.picture, prepare(np, op, *parts), d, meta[12:15], g.reshape(-1, 4))
    away = meta[:3] - p.reshape(-1, 3)
    order = np.argsort(np.sum(away * away, -1), stable=True)
    unsorted = [x[np.argsort(order)] for x in found]
    radii = np.maximum(np.exp(s.reshape(-1, 3)) * op.radius_scale.value.data, 1e-6 / 3)
    frames = turns(np, q.reshape(-1, 4)) / radii[:, :, None]
    return by_hand.cloud(op, parts, frames, radii, camera(np, meta)[2], unsorted)


ORACLE = {
    splat.GaussianSplatRenderOp: _oracle_render,
    splat.GaussianSplatRenderBackwardOp: _oracle_backward,
    splat.GaussianSplatPrepareOp: _oracle_prepare,
    splat.GaussianSplatRasterizeOp: _oracle_rasterize,
}
SAMPLES = (*_render_samples(), *_backward_samples(), *_prepare_samples(), *_rasterize_samples())
JAX = {
    splat.GaussianSplatRenderOp: partial(render, jnp),
    splat.GaussianSplatRenderBackwardOp: backward_by_jax,
    splat.GaussianSplatPrepareOp: _jax_prepare,
    splat.GaussianSplatRasterizeOp: partial(rasterize, jnp),
}
