"""Convolution as plain Python: products of windows, sums tap by tap, and their transposes."""

from typing import Any

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
