"""Convolutions by panels of windows, against JAX: sizes, steps, groups and images that share panels."""

import itertools

import jax
import numpy as np
import pytest
from jax import lax
from levels import EVERY

import xdsl_rlx as rlx
from xdsl_rlx.dialects.mir.conv import ConvExtents, ConvOp
from xdsl_rlx.lowering.kernels.conv_panels import MANY_OUTPUTS, SHORT_ROW, WIDTHS, WindowPanels, are_better

Array = np.ndarray


def drawn(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).integers(-4, 5, shape).astype(np.float64)


def expected(x: Array, w: Array, stride: tuple[int, int], padding: tuple[int, int], dilation: tuple[int, int]) -> Array:
    groups = x.shape[1] // w.shape[1]
    pads = [(n, n) for n in padding]
    with jax.enable_x64(True):
        return np.asarray(
            lax.conv_general_dilated(x, w, stride, pads, rhs_dilation=dilation, feature_group_count=groups)
        )


def extents(x: Array, w: Array, **options: object) -> ConvExtents:
    graph = rlx.trace(lambda x, w: rlx.nn.conv2d(x, w, **options), x, w)
    (op,) = (op for op in graph.module.walk() if isinstance(op, ConvOp))
    return op.extents


STEPS = [
    ((1, 1), (0, 0), (1, 1)),
    ((1, 1), (1, 2), (1, 1)),
    ((2, 1), (2, 1), (1, 2)),
    ((2, 3), (1, 2), (2, 1)),
    ((3, 2), (3, 0), (2, 2)),
]
SIZES = [(1, 2, 1, 9, 8), (2, 3, 1, 9, 11), (3, 1, 2, 7, 7), (4, 2, 2, 13, 12), (5, 9, 1, 12, 17), (1, 3, 1, 30, 64)]


@pytest.mark.sampled
@pytest.mark.parametrize(("images", "inputs", "groups", "rows", "columns"), SIZES)
@pytest.mark.parametrize("kernel", [(1, 2), (2, 3), (3, 3), (4, 5)])
@pytest.mark.parametrize("threads", [1, 2])
def test_values_are_those_of_jax(
    images: int, inputs: int, groups: int, rows: int, columns: int, kernel: tuple[int, int], threads: int
):
    outputs = groups * (MANY_OUTPUTS + rows % 3)
    x, w = drawn(images, groups * inputs, rows, columns), drawn(outputs, inputs, *kernel)
    for stride, padding, dilation in STEPS if EVERY else STEPS[(rows + kernel[1]) % 2 :: 2]:
        if any(n + 2 * p <= d * (k - 1) for n, p, d, k in zip((rows, columns), padding, dilation, kernel, strict=True)):
            continue
        options = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
        wanted = expected(x, w, stride, padding, dilation)
        found = rlx.compile(lambda x, w, o=options: rlx.nn.conv2d(x, w, **o), threads=threads)(x, w)
        np.testing.assert_array_equal(found, wanted)


def test_many_channels_are_panels_one_below_the_other():
    x, w = drawn(2, 37, 8, 8), drawn(MANY_OUTPUTS, 37, 3, 3)
    e = extents(x, w, padding=1)
    assert are_better(e) and [run.count for run in WindowPanels.of(e, 1).channels] == [1, 1]
    found = rlx.compile(lambda x, w: rlx.nn.conv2d(x, w, padding=1))(x, w)
    np.testing.assert_array_equal(found, expected(x, w, (1, 1), (1, 1), (1, 1)))


def test_every_window_is_in_a_panel():
    for images, rows, columns, tasks in itertools.product((1, 2, 3, 8), (2, 7, 14, 33), (2, 7, 31, 64), (1, 8)):
        e = ConvExtents(images, 1, 64, 64, (rows, columns), (3, 3), (rows, columns), (1, 1), (1, 1), (1, 1))
        panels = WindowPanels.of(e, tasks)
        assert are_better(e) and panels.width in WIDTHS and images % panels.images == 0
        assert panels.parts * panels.count >= panels.in_all
        assert panels.in_all * panels.width >= panels.images * rows * columns
        # the lines of an iteration hold all that its panels read
        first_rows = [part * panels.count * panels.width // panels.line for part in range(panels.parts)]
        for part, row in enumerate(first_rows):
            last = min((part + 1) * panels.count, panels.in_all) * panels.width - row * panels.line
            assert last + panels.below * panels.line <= panels.lines[3]


def test_long_rows_and_few_outputs_are_other_kernels():
    few = extents(drawn(1, 3, 9, 9), drawn(MANY_OUTPUTS - 1, 3, 3, 3), padding=1)
    long = extents(drawn(1, 3, 9, SHORT_ROW + 1), drawn(MANY_OUTPUTS, 3, 3, 3), padding=1)
    assert not are_better(few) and not are_better(long)
