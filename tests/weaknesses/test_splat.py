"""What is easily wrong with splats: conventions, and derivatives that are those of another picture (W-56)."""

from dataclasses import asdict
from math import exp, log, pi, sqrt
from typing import Any

import numpy as np
import pytest
from numerics.choice import EFFORT

import xdsl_rlx as rlx
from xdsl_rlx.lowering.backend.runtime.compile_module import compile_module
from xdsl_rlx.plugins.splat.ops import Picture

Array = np.ndarray[Any, Any]

EACH = {"positions": 3, "scales": 3, "rotations": 4, "opacities": 1, "colors": 3, "sh_coeffs": 3}
DEFAULT = {
    "positions": [0.0, 0.0, 0.0],
    "scales": [-2.0] * 3,
    "rotations": [1.0, 0.0, 0.0, 0.0],
    "opacities": [0.6],
    "colors": [0.2, 0.5, 0.9],
    "sh_coeffs": [0.0] * 3,
}
AHEAD = [0.0, 0.0, -4.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 40.0, 0.1, 100.0]
"""A camera on the z axis that looks at the origin, y up."""

BACKGROUND = [0.1, 0.3, 0.8]


def values(count: int = 1, background: list[float] = BACKGROUND, **given: list[float]) -> dict[str, Array]:
    """The arrays of `count` splats."""
    arrays = {name: np.array(given.get(name, numbers * count)) for name, numbers in DEFAULT.items()}
    return arrays | {"meta": np.array(AHEAD + background)}


def picture_of(
    arrays: dict[str, Array], shape: Picture, weights: Array | None = None, clip: float | None = None
) -> list[Array]:
    """The picture; with weights, the gradients of its product with them instead."""
    g = rlx.Graph("f")
    *cloud, meta = (g.input(name, x.shape, dtype="f64") for name, x in arrays.items())
    if weights is None:
        g.set_outputs([g.gaussian_splat_render(*cloud, meta, **asdict(shape))])
    else:
        given = g.constant(weights)
        found = g.gaussian_splat_render_backward(*cloud, meta, given, **asdict(shape), loss_grad_clip=clip)
        g.set_outputs(list(found))
    found = compile_module(g.module, effort=EFFORT)(**arrays)
    return [np.asarray(x) for x in (found if isinstance(found, tuple | list) else [found])]


def pixels(arrays: dict[str, Array], shape: Picture) -> Array:
    return picture_of(arrays, shape)[0].reshape(shape.height, shape.width, 4)


ONE = Picture(1, 1, 0.0, 0.0)


def test_opacity_is_what_is_covered_in_the_middle():
    """W-56: no logistic function; the picture is linear, with no gamma."""
    (pixel,) = picture_of(values(), ONE)
    color = 0.6 * np.array([0.2, 0.5, 0.9]) + 0.4 * np.array(BACKGROUND)
    np.testing.assert_allclose(pixel, [*color, 0.6], rtol=1e-14)


def test_gamma_is_asked_for():
    """W-56: with a gamma the colours are its powers, alpha is not."""
    (linear,), (bent,) = picture_of(values(), ONE), picture_of(values(), Picture(1, 1, 0.0, 0.0, 2.2))
    np.testing.assert_allclose(bent, [*(linear[:3] ** 2.2), linear[3]], rtol=1e-14)


def test_quaternions_begin_with_the_real_part():
    """W-56: (cos, 0, 0, sin) turns about the view axis, so a splat that was long along x is long along y."""
    turned = [sqrt(0.5), 0.0, 0.0, sqrt(0.5)]
    shape = Picture(15, 15, 0.0, 0.0)
    flat = pixels(values(scales=[-1.0, -3.0, -3.0]), shape)[..., 3]
    upright = pixels(values(scales=[-1.0, -3.0, -3.0], rotations=turned), shape)[..., 3]
    assert flat[7, 12] > 0.1 > flat[12, 7]
    np.testing.assert_allclose(upright, flat.T, atol=1e-12)


def test_the_length_of_a_quaternion_does_not_matter():
    """W-56: and so its gradient has no part along it."""
    shape, q = Picture(5, 4, 0.0, 0.0), np.array([0.5, -0.3, 0.2, 0.7])
    short, long = (values(scales=[-1.0, -3.0, -2.0], rotations=list(s * q)) for s in (1, 3))
    np.testing.assert_allclose(picture_of(short, shape)[0], picture_of(long, shape)[0], atol=1e-14)
    g = picture_of(short, shape, np.cos(np.arange(80.0)))[2]
    assert np.abs(g).max() > 1e-3
    assert abs(g @ q) < 1e-13


def test_x_is_right_and_y_is_up():
    """W-56: a camera on the negative z axis sees x to the right, and the first row is the top."""
    alpha = pixels(values(positions=[0.8, 0.9, 0.0]), Picture(8, 8, 0.0, 0.0))[..., 3]
    row, column = np.unravel_index(alpha.argmax(), alpha.shape)
    assert row < 4 <= column


def test_density_falls_as_a_gaussian_of_the_scale():
    """W-56: seen from the side, at a distance of d, by exp(-(d / (1.6 e^s))^2 / 2)."""
    alpha = pixels(values(), Picture(3, 3, 0.0, 0.0))[1, 2, 3]
    step = 2 * np.tan(20 * pi / 180) / 3
    # The ray passes the origin, 4 behind the camera, at 4 sin of its angle.
    distance = 4 * step / sqrt(1 + step * step)
    assert alpha == pytest.approx(0.6 * exp(-0.5 * (distance / (1.6 * exp(-2.0))) ** 2), rel=1e-12)


def test_a_splat_is_cut_where_it_covers_less_than_the_cutoff():
    """W-56: at the radius sqrt(-2 log(cutoff / opacity)), not at a fixed one."""
    shape = Picture(41, 1, 0.05, 0.0)
    cut = pixels(values(background=[0.0] * 3), shape)[0, :, 3]
    whole = pixels(values(background=[0.0] * 3), Picture(41, 1, 0.0, 0.0))[0, :, 3]
    np.testing.assert_array_equal(cut, np.where(whole >= 0.05, whole, 0.0))
    assert 0 < np.count_nonzero(cut) < 41
    assert sqrt(-2 * log(0.05 / 0.6)) == pytest.approx(2.2293, abs=1e-4)


def two(first: float, second: float) -> dict[str, Array]:
    """Two splats in the middle; the farther one stands first."""
    return values(
        2,
        positions=[0.0, 0.0, 1.0, 0.0, 0.0, -1.0],
        opacities=[second, first],
        colors=[0.2, 0.4, 0.6, 0.9, 0.7, 0.5],
        sh_coeffs=[0.0] * 6,
    )


@pytest.mark.parametrize("first", [0.3, 1.0])
def test_the_gradient_of_opacity_is_light_times_what_it_replaces(first: float):
    """W-56: d_alpha = T (c - what is behind), once, finite where a splat is opaque."""
    weights = np.array([1.0, -2.0, 0.5, 0.0])
    g = picture_of(two(first, 0.8), ONE, weights)[3]
    near, far = np.array([0.9, 0.7, 0.5]), np.array([0.2, 0.4, 0.6])
    behind = 0.8 * far + 0.2 * np.array(BACKGROUND)
    expected = [(1 - first) * (far - BACKGROUND) @ weights[:3], (near - behind) @ weights[:3]]
    np.testing.assert_allclose(g, expected, atol=1e-14)


def test_alpha_has_a_gradient():
    """W-56: alpha is a result like the others: 1 - (1 - a) (1 - b)."""
    g = picture_of(two(0.3, 0.8), ONE, np.array([0.0, 0.0, 0.0, 1.0]))[3]
    np.testing.assert_allclose(g, [0.7, 0.2], rtol=1e-14)


def test_each_splat_has_its_own_coefficients():
    """W-56: one without any has its colour, also where another has some."""
    arrays = two(0.3, 0.8)
    arrays["sh_coeffs"] = np.array([0.5, -0.5, 0.25, 0.0, 0.0, 0.0])
    weights = np.array([1.0, 1.0, 1.0, 0.0])
    far = 0.5 + np.array([0.5, -0.5, 0.25]) / sqrt(4 * pi)
    (pixel,) = picture_of(arrays, ONE)
    lit = 0.3 * np.array([0.9, 0.7, 0.5]) + 0.7 * (0.8 * far + 0.2 * np.array(BACKGROUND))
    np.testing.assert_allclose(pixel[:3], lit, rtol=1e-13)
    *_, d_colors, d_sh = picture_of(arrays, ONE, weights)
    np.testing.assert_allclose(d_colors, [0.0, 0.0, 0.0, 0.3, 0.3, 0.3], atol=1e-14)
    np.testing.assert_allclose(d_sh, [*[0.56 / sqrt(4 * pi)] * 3, 0.0, 0.0, 0.0], atol=1e-14)


def test_large_cotangents_are_clipped_only_when_asked():
    """W-56: gradients are linear in the cotangent; with `loss_grad_clip` its elements are clamped."""
    arrays, shape = two(0.3, 0.8), Picture(3, 2, 0.0, 0.0)
    weights = np.linspace(-2.0, 3.0, 24)
    small, large = picture_of(arrays, shape, weights), picture_of(arrays, shape, 1e6 * weights)
    clipped = picture_of(arrays, shape, weights, 0.5)
    clamped = picture_of(arrays, shape, np.clip(weights, -0.5, 0.5))
    for a, b, c, d in zip(small, large, clipped, clamped, strict=True):
        np.testing.assert_allclose(b, 1e6 * a, rtol=1e-10, atol=1e-6)
        np.testing.assert_array_equal(c, d)
    assert not np.allclose(small[3], clipped[3])


def test_what_is_prepared_by_hand_has_the_same_gradient():
    """W-56: preparing and rasterizing is the same picture, fused or not."""
    arrays, shape = two(0.3, 0.8), Picture(4, 3, 0.0, 0.0)
    arrays["positions"] += 0.1 * np.arange(6)

    def gradients(parts: bool, kept: bool) -> list[Array]:
        g = rlx.Graph("f")
        *cloud, meta = (g.input(name, x.shape, dtype="f64") for name, x in arrays.items())
        if parts:
            prepared = g.gaussian_splat_prepare(*cloud, meta)
            y = g.gaussian_splat_rasterize(*prepared, meta, **asdict(shape))
            extra = g.reduce_sum(prepared[3]) * (1.0 if kept else 0.0)
        else:
            y, extra = g.gaussian_splat_render(*cloud, meta, **asdict(shape)), 0.0
        loss = g.reduce_sum(y * y) + extra
        g.set_outputs([loss])
        return list(compile_module(rlx.grad_with_loss(g, wrt=list(EACH)).module, effort=EFFORT)(**arrays))[1:]

    fused, taken_apart = gradients(False, False), gradients(True, False)
    for a, b in zip(fused, taken_apart, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)
    extra = gradients(True, True)[3] - fused[3]
    np.testing.assert_allclose(extra, [1.0, 1.0], atol=1e-12)


def test_a_splat_behind_the_camera_is_not_seen():
    """W-56: and has no gradient."""
    arrays = values(positions=[0.1, 0.2, -5.0])
    (pixel,) = picture_of(arrays, ONE)
    np.testing.assert_array_equal(pixel, [*BACKGROUND, 0.0])
    for g in picture_of(arrays, ONE, np.ones(4)):
        np.testing.assert_array_equal(g, np.zeros(g.shape))
