"""Rows of splats: their definition by dense tensors, one number for each splat and pixel."""

from __future__ import annotations

from collections.abc import Sequence
from math import pi

from xdsl.builder import Builder
from xdsl.ir import Block
from xdsl.rewriter import InsertPoint

from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.plugins.splat.ops import (
    NEAREST,
    SMALLEST_RADIUS,
    GaussianSplatPrepareOp,
    GaussianSplatRasterizeOp,
    GaussianSplatRenderBackwardOp,
    GaussianSplatRenderOp,
    Picture,
)
from xdsl_rlx.transforms.engines.reverse import pull_back
from xdsl_rlx.transforms.op_kinds import OpKind, set_kind
from xdsl_rlx.transforms.rules.rows import decompose
from xdsl_rlx.transforms.rules.rule_table import INERT, VJP, Cotangent

HARMONIC_0 = 0.28209479177387814
"""The spherical harmonic of band 0, 1 / (2 sqrt pi)."""

HARMONIC_1 = 0.4886025119029199
"""The factor of the three of band 1, sqrt(3 / (4 pi))."""

for _op in (GaussianSplatRenderOp, GaussianSplatRenderBackwardOp, GaussianSplatPrepareOp, GaussianSplatRasterizeOp):
    INERT.add(_op, "meta", "the camera is not differentiated")
    set_kind(OpKind.COMPUTE, _op)


def _dot(b: MirBuilder, x: Value, y: Value, axis: int = -1) -> Value:
    return b.reduce_sum(x * y, axis)


def _cross(b: MirBuilder, x: Value, y: Value) -> Value:
    """The cross product of vectors (3)."""

    def turned(v: Value, by: int) -> Value:
        return b.concat([v[by:], v[:by]], 0)

    return turned(x, 1) * turned(y, 2) - turned(x, 2) * turned(y, 1)


def _unit(b: MirBuilder, x: Value) -> Value:
    return x * b.rsqrt(_dot(b, x, x))


def _axes(b: MirBuilder, meta: Value) -> tuple[Value, Value, Value]:
    """Right, up and forward of the camera."""
    forward = _unit(b, meta[3:6] - meta[0:3])
    right = _unit(b, _cross(b, meta[6:9], forward))
    return right, _cross(b, forward, right), forward


def _clamped(b: MirBuilder, x: Value) -> Value:
    """`x` in [0, 1], with slope 1 on the ends."""
    return b.where(x < 0.0, 0.0, b.where(x > 1.0, 1.0, x))


def _turns(b: MirBuilder, rotations: Value, count: int) -> Value:
    """The matrices (N x 3 x 3) of quaternions wxyz (4N) of any length; that of 0 is the identity."""
    q = b.reshape(rotations, (count, 4))
    norm = _dot(b, q, q)
    some = norm > 0.0
    twice = b.where(some, 2.0 / b.where(some, norm, 1.0), 0.0)
    w, x, y, z = (b.reshape(b.narrow(q, 1, i, 1), (count,)) for i in range(4))
    rows = (
        (1.0 - twice * (y * y + z * z), twice * (x * y - w * z), twice * (x * z + w * y)),
        (twice * (x * y + w * z), 1.0 - twice * (x * x + z * z), twice * (y * z - w * x)),
        (twice * (x * z - w * y), twice * (y * z + w * x), 1.0 - twice * (x * x + y * y)),
    )
    flat = [b.reshape(entry, (count, 1)) for row in rows for entry in row]
    return b.reshape(b.concat(flat, 1), (count, 3, 3))


def _tints(b: MirBuilder, op: GaussianSplatPrepareOp, away: Value) -> Value:
    """Colours (N x 3) in the direction of view, of which `away` is the opposite, of any length."""
    count, bands = op.count, op.bands
    plain = _clamped(b, b.reshape(op.colors, (count, 3)))
    if not bands:
        return plain
    sh = b.reshape(op.sh_coeffs, (count, bands, 3))
    lit = sh[:, 0] * HARMONIC_0 + 0.5
    if bands >= 4:
        square = _dot(b, away, away)
        some = square > 0.0
        unit = away * b.where(some, b.rsqrt(b.where(some, square, 1.0)), 0.0)[:, None]
        x, y, z = (b.narrow(unit, 1, i, 1) for i in range(3))
        lit = lit + (z * sh[:, 2] - y * sh[:, 1] - x * sh[:, 3]) * HARMONIC_1
    given = b.ne(b.reduce_max(b.abs(sh), (1, 2)), 0.0)
    return b.where(given[:, None], lit, plain)


def _by_depth(b: MirBuilder, key: Value) -> Value:
    """The numbers of the splats in ascending order of `key`, equal ones in theirs: by counting those in front."""
    (count,) = key.shape
    mine, other = key[:, None], key[None, :]
    number = b.constant([float(i) for i in range(count)])
    tie = b.cast(b.eq(mine, other), "f32") * b.cast(number[None, :] < number[:, None], "f32")
    ahead = b.reduce_sum(b.cast(other < mine, "f32") + tie, 1)
    return b.scatter_add(b.cast(number, "i32"), b.cast(ahead, "i32"), count)


@decompose(GaussianSplatPrepareOp)
def gaussian_splat_prepare_decompose(op: GaussianSplatPrepareOp, b: MirBuilder) -> Sequence[Value]:
    count = op.count
    meta = b.stop_gradient(op.meta)
    *_, forward = _axes(b, meta)
    away = meta[0:3] - b.reshape(op.positions, (count, 3))
    radii = b.exp(b.reshape(op.scales, (count, 3))) * op.radius_scale.value.data
    radii = b.where(radii > SMALLEST_RADIUS, radii, SMALLEST_RADIUS)
    frames = _turns(b, b.value(op.rotations), count) / radii[:, :, None]
    origins = _dot(b, frames, away[:, None, :])
    seen = -_dot(b, away, forward) > NEAREST
    alphas = b.where(seen, _clamped(b, b.value(op.opacities)), 0.0)
    prepared = (origins, frames, _tints(b, op, away), alphas)
    if count < 2:
        return prepared
    order = _by_depth(b, b.stop_gradient(_dot(b, away, away)))
    return [b.gather(x, order) for x in prepared]


def _rays(b: MirBuilder, meta: Value, picture: Picture) -> Value:
    """Directions (3 x pixels) through the centres of pixels, at depth 1."""
    right, up, forward = _axes(b, meta)
    width, height = picture.width, picture.height
    columns = [(j + 0.5 - width / 2) * 2 / height for _ in range(height) for j in range(width)]
    rows = [(height / 2 - i - 0.5) * 2 / height for i in range(height) for _ in range(width)]
    tangent = b.tan(meta[9] * (pi / 360))
    x, y = (b.constant(numbers, meta.dtype) * tangent for numbers in (columns, rows))
    return forward[:, None] + right[:, None] * x[None, :] + up[:, None] * y[None, :]


def _passed(b: MirBuilder, alpha: Value) -> Value:
    """What is left of the light behind each splat: products of `1 - alpha` along axis 0, by doubling.

    No quotients and no logarithms, so an alpha of 1 has finite derivatives of all orders.
    """
    left, step = 1.0 - alpha, 1
    count, pixels = alpha.shape
    while step < count:
        ones = b.full((step, pixels), 1.0, alpha.dtype)
        left = left * b.concat([ones, left[: count - step]], 0)
        step *= 2
    return left


def _developed(b: MirBuilder, x: Value, gamma: float) -> Value:
    """`max(x, 0)^gamma`; at 0 the slope is 1 for gamma 1, else 0."""
    if gamma == 1.0:
        return b.where(x < 0.0, 0.0, x)
    some = x > 0.0
    return b.where(some, b.where(some, x, 1.0) ** gamma, 0.0)


def _alphas(op: GaussianSplatRasterizeOp, b: MirBuilder, rays: Value) -> Value:
    """What each splat covers of each pixel (N x pixels), before the threshold."""
    count, pixels = op.count, rays.shape[1]
    v = b.reshape(b.matmul(b.reshape(op.frames, (3 * count, 3)), rays), (count, 3, pixels))
    u = b.reshape(op.origins, (count, 3, 1))
    square = _dot(b, v, v, 1)
    t = -_dot(b, u, v, 1) / b.where(square > 0.0, square, 1.0)
    w = u + t[:, None, :] * v
    alpha = b.value(op.alphas)[:, None] * b.exp(_dot(b, w, w, 1) * -0.5)
    return b.where((t > 0.0) & (alpha >= op.picture.alpha_cutoff), alpha, 0.0)


@decompose(GaussianSplatRasterizeOp)
def gaussian_splat_rasterize_decompose(op: GaussianSplatRasterizeOp, b: MirBuilder) -> Sequence[Value]:
    picture, count = op.picture, op.count
    pixels = picture.width * picture.height
    meta = b.stop_gradient(op.meta)
    if not count or not pixels:
        color = b.full((pixels, 3), 0.0, meta.dtype)
        behind = b.full((pixels, 1), 1.0, meta.dtype)
    else:
        alpha = _alphas(op, b, _rays(b, meta, picture))
        first = b.full((1, pixels), 1.0, meta.dtype)
        if picture.transmittance_threshold:
            before = b.concat([first, _passed(b, b.stop_gradient(alpha))[: count - 1]], 0)
            alpha = b.where(before >= picture.transmittance_threshold, alpha, 0.0)
        left = _passed(b, alpha)
        weight = alpha * b.concat([first, left[: count - 1]], 0)
        color = b.matmul(b.transpose(weight, (1, 0)), op.tints)
        behind = b.reshape(left[count - 1], (pixels, 1))
    color = _developed(b, color + behind * meta[12:15][None, :], picture.gamma)
    return [b.reshape(b.concat([color, 1.0 - behind], 1), (4 * pixels,))]


@decompose(GaussianSplatRenderOp)
def gaussian_splat_render_decompose(op: GaussianSplatRenderOp, b: MirBuilder) -> Sequence[Value]:
    prepared = b.emit(GaussianSplatPrepareOp, *op.cloud, op.meta, op.radius_scale.value.data)
    rays = prepared.origins, prepared.frames, prepared.tints, prepared.alphas
    return [b.op(GaussianSplatRasterizeOp, *rays, op.meta, **vars(op.picture))]


@VJP.rule(GaussianSplatRenderOp)
def gaussian_splat_render_vjp(op: GaussianSplatRenderOp, b: MirBuilder, g: Value) -> Sequence[Cotangent]:
    scale = op.radius_scale.value.data
    backward = b.emit(GaussianSplatRenderBackwardOp, *op.cloud, op.meta, g.ssa, **vars(op.picture), radius_scale=scale)
    return [*map(b.value, backward.results), None]


@decompose(GaussianSplatRenderBackwardOp)
def gaussian_splat_render_backward_decompose(op: GaussianSplatRenderBackwardOp, b: MirBuilder) -> Sequence[Value]:
    """The reverse of the definition of the picture, in primitive ops, which have derivatives of all orders."""
    aside = Block()
    forward = MirBuilder(Builder(InsertPoint.at_end(aside)))
    prepare = forward.emit(GaussianSplatPrepareOp, *op.cloud, op.meta, op.radius_scale.value.data)
    origins, frames, tints, alphas = (x.ssa for x in gaussian_splat_prepare_decompose(prepare, forward))
    rasterize = forward.emit(GaussianSplatRasterizeOp, origins, frames, tints, alphas, op.meta, **vars(op.picture))
    (picture,) = gaussian_splat_rasterize_decompose(rasterize, forward)
    for composite in (prepare, rasterize):
        composite.detach()
        composite.erase()
    ops = list(aside.ops)
    for part in ops:
        part.detach()
        b.builder.insert(part)
    g = b.value(op.d_rgba)
    if op.clip is not None:
        g = b.max(b.min(g, op.clip), -op.clip)
    found = pull_back(b, ops, {picture.ssa: g.ssa}, op.cloud)
    return [b.zeros_like(x) if grad is None else b.value(grad) for x, grad in zip(op.cloud, found, strict=True)]
