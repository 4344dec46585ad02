"""The derivative of the picture of splats written out in NumPy, for `families/splat.py`.
JAX's is what it is held to."""

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def compositing(picture: Any, prepared: Any, d: Array, background: Array, g: Array) -> tuple[Array, ...]:
    """Cotangents of origins, frames, tints and alphas."""
    u, frames, tints, peaks = prepared
    v = np.einsum("iab,pb->ipa", frames, d)
    t = -np.einsum("ia,ipa->ip", u, v) / np.sum(v * v, -1)
    w = u[:, None] + t[..., None] * v
    bell = np.exp(-0.5 * np.sum(w * w, -1))
    alpha = peaks[:, None] * bell
    kept = (t > 0) & (alpha >= picture.alpha_cutoff)
    left = np.ones((len(u) + 1, len(d)))
    for i in range(len(u)):
        kept[i] &= left[i] >= picture.transmittance_threshold
        left[i + 1] = left[i] * (1 - np.where(kept[i], alpha[i], 0))
    alpha = np.where(kept, alpha, 0)
    linear = np.einsum("ip,ip,ic->pc", alpha, left[:-1], tints) + left[-1][:, None] * background
    if picture.gamma == 1:
        slope = np.where(linear < 0, 0, 1.0)
    else:
        slope = np.where(linear > 0, picture.gamma * np.where(linear > 0, linear, 1) ** (picture.gamma - 1), 0)
    g_color, behind = g[:, :3] * slope, (g[:, :3] * slope) @ background - g[:, 3]
    d_alpha = np.zeros_like(alpha)
    for i in reversed(range(len(u))):
        lit = g_color @ tints[i]
        d_alpha[i] = np.where(kept[i], left[i] * (lit - behind), 0)
        behind = alpha[i] * lit + (1 - alpha[i]) * behind
    pull = -d_alpha * alpha
    return (
        np.einsum("ip,ipa->ia", pull, w),
        np.einsum("ip,ip,ipa,pb->iab", pull, t, w, d),
        np.einsum("ip,ip,pc->ic", alpha, left[:-1], g_color),
        np.einsum("ip,ip->i", d_alpha, bell),
    )


def quaternions(q: Array, g: Array) -> Array:
    """Cotangents of quaternions wxyz (N x 4) from those of their matrices `1 + 2 K(q) / |q|^2` (N x 3 x 3)."""
    w, x, y, z = q.T
    norm = np.sum(q * q, -1)
    twice = np.where(norm > 0, 2 / np.where(norm > 0, norm, 1), 0)
    (a, b, c), (d, e, f), (h, i, j) = np.moveaxis(g, 0, -1)
    slope = np.stack(
        [
            z * (d - b) + y * (c - h) + x * (i - f),
            y * (b + d) + z * (c + h) - 2 * x * (e + j) + w * (i - f),
            x * (b + d) + z * (f + i) - 2 * y * (a + j) + w * (c - h),
            x * (c + h) + y * (f + i) - 2 * z * (a + e) + w * (d - b),
        ],
        -1,
    )
    # K is quadratic: its product with g is half of <q, slope>.
    return twice[:, None] * slope - (twice * twice * 0.5 * np.sum(q * slope, -1))[:, None] * q


def cloud(op: Any, xs: Any, frames: Array, radii: Array, forward: Array, cotangents: Any) -> tuple[Array, ...]:
    """Cotangents of the cloud from those of origins, frames, tints and alphas, in the order of the cloud."""
    p, s, q, o, c, sh, meta = xs
    count, bands = op.count, op.bands
    d_u, d_frames, d_tints, d_alphas = cotangents
    away = meta[:3] - p.reshape(count, 3)
    d_frames = d_frames + d_u[:, :, None] * away[:, None, :]
    d_away = np.einsum("iab,ia->ib", frames, d_u)
    d_radii = -np.sum(d_frames * frames, -1) / radii
    free = np.exp(s.reshape(count, 3)) * op.radius_scale.value.data > 1e-6 / 3
    k, d_sh = sh.reshape(count, bands, 3), np.zeros((count, bands, 3))
    given = np.any(k != 0, (1, 2))[:, None]
    d_lit = np.where(given, d_tints, 0)
    if bands:
        d_sh[:, 0] = d_lit / np.sqrt(4 * np.pi)
    if bands >= 4:
        length = np.sqrt(np.sum(away * away, -1))[:, None]
        unit, h = away / length, np.sqrt(0.75 / np.pi)
        d_sh[:, 1], d_sh[:, 2], d_sh[:, 3] = (sign * h * unit[:, [a]] * d_lit for sign, a in ((-1, 1), (1, 2), (-1, 0)))
        d_unit = h * np.stack(
            [-np.sum(d_lit * k[:, 3], -1), -np.sum(d_lit * k[:, 1], -1), np.sum(d_lit * k[:, 2], -1)], -1
        )
        d_away = d_away + (d_unit - unit * np.sum(unit * d_unit, -1)[:, None]) / length
    color = c.reshape(count, 3)
    return (
        -d_away.reshape(-1),
        np.where(free, d_radii * radii, 0).reshape(-1),
        quaternions(q.reshape(count, 4), d_frames / radii[:, :, None]).reshape(-1),
        np.where((o >= 0) & (o <= 1) & (-away @ forward > 1e-4), d_alphas, 0),
        np.where(~given & (color >= 0) & (color <= 1), d_tints, 0).reshape(-1),
        d_sh.reshape(-1),
    )
