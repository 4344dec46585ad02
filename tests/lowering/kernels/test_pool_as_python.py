"""Pooling and its transposes as plain Python, with ties, infinities and NaN in windows."""

from typing import Any

import numpy as np
import pytest
from as_python import run_as_python

import xdsl_rlx as rlx

FRAMES: dict[str, tuple[Any, Any, Any]] = {
    "tiles": (2, 2, 0),
    "tiles-with-a-rest": ([2, 3], [2, 3], 0),
    "wide-tiles": ([3, 6], [3, 6], 0),
    "overlapping": (3, 2, 1),
    "many-columns": ([1, 34], [1, 3], [0, 17]),
    "many-rows": ([33, 2], [2, 1], [16, 0]),
}
OPS = ("max", "min", "sum", "mean", "mean of the image", "take", "max backward", "sum backward")


def data(shape: tuple[int, ...], seed: int) -> Any:
    return np.random.default_rng(seed).integers(-2, 3, shape).astype(np.float32)


@pytest.mark.sampled
@pytest.mark.parametrize("case", FRAMES)
@pytest.mark.parametrize("ask", OPS)
def test_pooling_runs_as_python(ask: str, case: str) -> None:
    frames = FRAMES[case]
    image = (2, 2, *(max(n, 5 + m) for m, n in enumerate(np.broadcast_to(frames[0], 2).tolist())))
    g, probe = rlx.Graph("pool"), rlx.Graph("shape")
    upper = tuple(probe.pool(probe.input("x", image), "max", *frames).type.get_shape())
    x = data(image, 0)
    x.flat[[3, 8, 20]] = np.nan, -np.inf, np.inf
    given = [x]
    if ask == "take":
        given.append(data(image, 1))
    elif ask == "max backward":
        given.append(data(upper, 1))
    elif ask == "sum backward":
        given = [data(upper, 1)]
    values = [g.input(f"x{n}", array.shape) for n, array in enumerate(given)]
    if ask == "take":
        made = g.maxpool2d_take(*values, *frames)
    elif ask == "max backward":
        made = g.maxpool2d_backward(*values, *frames)
    elif ask == "sum backward":
        made = g.sumpool2d_backward(*values, image[2:], *frames)
    else:
        made = g.pool(*values, ask.split(maxsplit=1)[0], *frames, ask != "mean of the image")
    g.set_outputs([made])
    (found,) = run_as_python(g, *given)
    np.testing.assert_array_equal(found.reshape(-1), rlx.compile(g)(*given)[0].reshape(-1))
