"""The gradient of a strided convolution with respect to its image, computed by phases, is JAX's."""

from itertools import product
from typing import Any

import jax
import numpy as np
import pytest
from sampling import sample

import xdsl_rlx as rlx
from xdsl_rlx.dialects.mir.conv import ConvOp
from xdsl_rlx.lowering.prepare.mir_prepare_for_fusion import MirPrepareForFusionPass
from xdsl_rlx.pass_cache import context

KERNELS = ((1, 1), (3, 3), (2, 5), (7, 7), (4, 4))
STRIDES = ((2, 2), (1, 3), (4, 1))
PADDINGS = ((0, 0), (3, 2))
SIZES = ((9, 7), (24, 21))


@pytest.mark.sampled
@pytest.mark.parametrize(("groups", "outputs"), [(1, 6), (2, 6), (1, 20)])
@pytest.mark.parametrize("stride", STRIDES, ids=str)
def test_gradients_of_the_image_are_those_of_jax(stride: tuple[int, int], groups: int, outputs: int) -> None:
    rng = np.random.default_rng(0)
    for kernel, padding, size in sample(list(product(KERNELS, PADDINGS, SIZES))):
        x, w = rng.standard_normal((2, 4, *size)), rng.standard_normal((outputs, 4 // groups, *kernel))
        if any(n + 2 * around < k for n, around, k in zip(size, padding, kernel, strict=True)):
            continue

        def theirs(x: Any, w: Any = w, padding: Any = padding) -> Any:
            around = [(one, one) for one in padding]
            return jax.lax.conv_general_dilated(x, w, stride, around, feature_group_count=groups)

        def ours(x: Any, w: Any = w, padding: Any = padding) -> Any:
            return rlx.conv(x, w, stride=stride, padding=padding, groups=groups)

        with jax.enable_x64(True):
            cotangent = rng.standard_normal(jax.eval_shape(theirs, x).shape)
            (expected,) = jax.linear_transpose(theirs, x)(jax.numpy.asarray(cotangent))
        _, (found,) = rlx.compile(rlx.vjp(ours))((x,), cotangent)
        np.testing.assert_allclose(found, np.asarray(expected), rtol=1e-11, atol=1e-11, err_msg=f"{kernel} {padding}")


def test_phases_of_as_many_taps_are_one_convolution() -> None:
    assert convolutions((8, 3, 24, 24), (3, 6, 4, 4)) == 1
    assert convolutions((8, 3, 24, 24), (3, 6, 4, 2)) == 1
    # taps of two and of four elements; the phase of one is a product
    assert convolutions((8, 3, 24, 24), (3, 6, 3, 3)) == 3
    # a third of the windows of all phases would be those of none
    assert convolutions((8, 3, 5, 5), (3, 6, 8, 8)) == 4


def convolutions(image: tuple[int, ...], kernel: tuple[int, ...]) -> int:
    """How many convolutions a transposed one by steps of two becomes."""
    g = rlx.Graph("transposed")
    x, w = g.input("x", image), g.input("w", kernel)
    g.set_outputs(g.conv_transpose2d(x, w, stride=2, padding=1))
    module = g.module.clone()
    MirPrepareForFusionPass().apply(context(), module)
    return sum(isinstance(op, ConvOp) for op in module.walk())
