"""Convolutions by Winograd's tiles, and gradients by them, against JAX: sizes, taps, groups, and their errors."""

import itertools
from typing import Any

import jax
import numpy as np
import pytest
from cost_models import costs
from jax import lax
from xdsl.dialects.builtin import bf16, f16, f32, f64

import xdsl_rlx as rlx
from xdsl_rlx.dialects.mir.conv import ConvExtents
from xdsl_rlx.lowering.kernels import winograd
from xdsl_rlx.lowering.kernels.winograd import are_better
from xdsl_rlx.lowering.kernels.winograd_tiles import COLUMNS, PointRows, TapBlocks, WindowTiles
from xdsl_rlx.lowering.target import COMMON

Array = np.ndarray
Values = tuple[Array, Array, Array]

ALWAYS = {"direct_conv_efficiency": 1e-9}
NEVER = {"direct_conv_efficiency": 1e9}


def expected(x: Array, w: Array, dy: Array, padding: tuple[int, int], dilation: tuple[int, int]) -> Values:
    """The result and both gradients in f64."""
    groups = x.shape[1] // w.shape[1]

    def conv(x: Any, w: Any) -> Any:
        pads = [(n, n) for n in padding]
        return lax.conv_general_dilated(x, w, (1, 1), pads, rhs_dilation=dilation, feature_group_count=groups)

    library: Any = jax
    with jax.enable_x64(True):
        y, vjp = library.vjp(conv, x.astype(np.float64), w.astype(np.float64))
        dx, dw = vjp(dy.astype(np.float64))
        return np.asarray(y), np.asarray(dx), np.asarray(dw)


def found(x: Array, w: Array, dy: Array, threads: int = 1, **options: Any) -> Values:
    """The same in f32."""

    def conv(x: Any, w: Any) -> Any:
        return rlx.nn.conv2d(x, w, **options)

    def loss(x: Any, w: Any, dy: Any) -> Any:
        return (conv(x, w) * dy).sum()

    dx, dw = rlx.compile(rlx.grad(loss, argnums=(0, 1)), threads=threads)(x, w, dy)
    return rlx.compile(conv, threads=threads)(x, w), dx, dw


def compare(image: tuple[int, ...], weight: tuple[int, ...], threads: int = 1, **options: Any) -> None:
    """Small integers, whose sums and halves are exact in f32."""
    rng = np.random.default_rng(sum(image + weight))
    x, w = (rng.integers(-3, 4, shape).astype(np.float32) for shape in (image, weight))
    padding, dilation = options.get("padding", (0, 0)), options.get("dilation", (1, 1))
    spans = [d * (k - 1) for d, k in zip(dilation, weight[2:], strict=True)]
    rest = [n + 2 * p - span for n, p, span in zip(image[2:], padding, spans, strict=True)]
    shape = (image[0], weight[0], *rest)
    dy = rng.integers(-3, 4, shape).astype(np.float32)
    for one, wanted in zip(found(x, w, dy, threads, **options), expected(x, w, dy, padding, dilation), strict=True):
        np.testing.assert_array_equal(one, wanted)


STEPS = [((0, 0), (1, 1)), ((1, 2), (1, 1)), ((2, 1), (1, 2)), ((2, 2), (2, 2))]
SIZES = [(1, 1, 1, 1, 9, 8), (2, 3, 5, 1, 9, 11), (3, 17, 19, 1, 7, 7), (4, 2, 3, 2, 13, 12), (1, 40, 33, 1, 12, 35)]
KERNELS = [(3, 3), (2, 2), (4, 5), (1, 9), (5, 3), (1, 4), (1, 3), (6, 3)]


@pytest.mark.sampled
@pytest.mark.parametrize("step", range(len(STEPS)))
@pytest.mark.parametrize("size", range(len(SIZES)))
def test_values_and_gradients_are_those_of_jax(size: int, step: int) -> None:
    images, inputs, outputs, groups, rows, columns = SIZES[size]
    padding, dilation = STEPS[step]
    options = {"padding": padding, "dilation": dilation, "groups": groups}
    with costs(**ALWAYS):
        for kernel in (KERNELS[0], KERNELS[1 + (size + step) % (len(KERNELS) - 1)]):
            axes = zip((rows, columns), padding, dilation, kernel, strict=True)
            if all(n + 2 * p > d * (k - 1) for n, p, d, k in axes):
                image, weight = (images, groups * inputs, rows, columns), (groups * outputs, inputs, *kernel)
                compare(image, weight, threads=1 + (size + step) % 2, **options)


@pytest.mark.parametrize("by_points", [False, True])
def test_gradients_by_parts_and_by_points_are_those_of_jax(by_points: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(winograd, "_are_points_far_better", lambda *_: by_points)
    with costs(**ALWAYS):
        compare((6, 6, 21, 23), (7, 6, 3, 3), threads=2, padding=(1, 1))
        compare((5, 4, 9, 10), (6, 2, 5, 3), padding=(1, 1), groups=2)
        compare((2, 256, 6, 6), (3, 256, 3, 3), threads=2, padding=(1, 1))
        compare((2, 6, 3, 40), (5, 6, 1, 9), padding=(0, 4))


def test_many_channels_are_cut() -> None:
    with costs(**ALWAYS):
        compare((1, 512, 5, 6), (8, 512, 3, 3), threads=2, padding=(1, 1))
        compare((2, 6, 9, 8), (257, 6, 3, 3), threads=2, padding=(1, 1))
        compare((20, 4, 14, 14), (256, 4, 3, 3), padding=(1, 1))


def test_errors_are_near_those_of_direct_convolutions() -> None:
    rng = np.random.default_rng(0)
    x, w, dy = (rng.standard_normal(shape, np.float32) for shape in ((2, 64, 28, 28), (64, 64, 3, 3), (2, 64, 28, 28)))
    wanted = expected(x, w, dy, (1, 1), (1, 1))
    errors: list[list[float]] = []
    for changed in (ALWAYS, NEVER):
        with costs(**changed):
            values = found(x, w, dy, padding=1)
        errors.append([float(abs(a - b).max() / abs(b).max()) for a, b in zip(values, wanted, strict=True)])
    assert all(ours <= 4 * direct for ours, direct in zip(*errors, strict=True)), errors


def extents(images: int, channels: int, size: int, kernel: int = 3, stride: int = 1) -> ConvExtents:
    count = (size - 1) // stride + 1
    around = kernel // 2
    shapes = (size, size), (kernel, kernel), (count, count), (stride, stride), (around, around), (1, 1)
    return ConvExtents(images, 1, channels, channels, *shapes)


def test_few_channels_windows_and_other_types_are_direct() -> None:
    assert are_better(extents(1, 64, 56), f32, COMMON) and are_better(extents(8, 512, 7), f32, COMMON)
    assert not are_better(extents(1, 2, 56), f32, COMMON) and not are_better(extents(1, 512, 3), f32, COMMON)
    assert not any(are_better(extents(1, 64, 56), other, COMMON) for other in (f64, f16, bf16))
    assert not are_better(extents(1, 64, 56, stride=2), f32, COMMON)
    assert not are_better(extents(1, 64, 56, kernel=7), f32, COMMON)


def test_iterations_have_all_tiles_and_as_many_columns_as_are_near() -> None:
    for images, size in itertools.product((1, 2, 3, 8), (1, 2, 7, 13, 28, 56, 300)):
        tiles = WindowTiles.of(extents(images, 16, size))
        assert images % tiles.images == 0 and tiles.parts * tiles.rows >= tiles.height
        assert tiles.columns <= COLUMNS or tiles.rows == 1
        assert tiles.columns >= tiles.rows * tiles.line
        lines = PointRows.of_image(tiles).room[1]
        assert lines[2] >= (tiles.rows + 1) * tiles.line


def test_points_of_missing_taps_are_left_out() -> None:
    assert [TapBlocks((n, n)).all_points for n in (2, 3, 4, 5)] == [9, 16, 49, 49]
    assert [TapBlocks((1, n)).all_points for n in (2, 3, 9, 10)] == [3, 4, 12, 15]
