"""Convolution as plain Python: products of windows, sums tap by tap, and their transposes."""

from typing import Any

import jax
import numpy as np
import pytest
from as_python import run_as_python

import xdsl_rlx as rlx

IMAGE = (2, 4, 6, 5)
WEIGHTS: dict[str, tuple[tuple[int, ...], dict[str, Any]]] = {
    "windows": ((6, 4, 3, 2), {"padding": 1}),
    "image": ((3, 4, 1, 1), {}),
    "groups": ((6, 2, 3, 3), {"groups": 2, "stride": 2, "padding": [1, 0], "dilation": [1, 2]}),
    "few-outputs": ((1, 4, 2, 2), {"stride": [1, 2]}),
    "depthwise": ((8, 1, 3, 3), {"groups": 4, "padding": 1}),
    "depthwise-strided": ((4, 1, 2, 3), {"groups": 4, "stride": 2, "padding": [0, 2]}),
    "many-taps": ((4, 1, 6, 6), {"groups": 4, "padding": 1}),
    "long-taps": ((4, 1, 1, 33), {"groups": 4, "padding": [0, 15]}),
}


@pytest.mark.sampled
@pytest.mark.parametrize("case", WEIGHTS)
@pytest.mark.parametrize("ask", ["forward", "image", "weight"])
def test_convolutions_run_as_python(ask: str, case: str) -> None:
    shape, attributes = WEIGHTS[case]
    rng = np.random.default_rng(0)
    g = rlx.Graph("conv")
    probe = rlx.Graph("shape")
    upper = probe.conv(probe.input("x", IMAGE), probe.input("w", shape), **attributes)
    shapes = {"x": IMAGE, "w": shape, "dy": upper.type.get_shape()}
    names = {"forward": ("x", "w"), "image": ("dy", "w"), "weight": ("x", "dy")}[ask]
    values = [g.input(name, shapes[name]) for name in names]
    if ask == "forward":
        made = g.conv(*values, **attributes)
    elif ask == "image":
        made = g.conv2d_backward_input(*values, IMAGE[2:], **attributes)
    else:
        made = g.conv2d_backward_weight(*values, shape[2:], **attributes)
    g.set_outputs([made])
    data = [rng.integers(-3, 4, shapes[name]).astype(np.float32) for name in names]
    (found,) = run_as_python(g, *data)
    np.testing.assert_array_equal(found.reshape(-1), rlx.compile(g)(*data)[0].reshape(-1))


@pytest.mark.parametrize(
    ("image", "weight", "attributes"),
    [
        ((1, 4, 70, 300), (3, 4, 3, 3), {"padding": 1}),
        ((3, 4, 67, 150), (6, 2, 5, 3), {"groups": 2, "stride": [1, 2]}),
        ((2, 96, 40, 40), (2, 96, 3, 3), {}),
    ],
    ids=["one-image", "groups", "many-channels"],
)
def test_gradient_of_the_weight_of_images_in_several_blocks(
    image: tuple[int, ...], weight: tuple[int, ...], attributes: dict[str, Any]
) -> None:
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal(image), rng.standard_normal(weight)
    padding = attributes.get("padding", 0)
    stride = attributes.get("stride", 1)

    def theirs(w: Any) -> Any:
        strides = stride if isinstance(stride, list) else [stride] * 2
        groups = attributes.get("groups", 1)
        y = jax.lax.conv_general_dilated(x, w, strides, [(padding, padding)] * 2, feature_group_count=groups)
        return (y * y).sum()

    def ours(w: Any, x: Any) -> Any:
        y = rlx.conv(x, w, **attributes)
        return (y * y).sum()

    with jax.enable_x64(True):
        expected = np.asarray(jax.grad(theirs)(w))
    for threads in (1, 2):
        found = rlx.compile(rlx.grad(ours), threads=threads)(w, x)
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10 * np.abs(expected).max())
