"""Rounding twice to the same levels: what goes, what stays, and that no bit of values and gradients changes."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xdsl_rlx as rlx

Array = np.ndarray[Any, Any]


def _count(graph: Any) -> int:
    return str(graph).count("mir.fake_quantize ")


def _pass(graph: rlx.Graph) -> rlx.GraphModule:
    return rlx.run_passes(graph, "mir-propagate-fake-quantize")


X = (2, 4, 6, 6)

KEEPING: dict[str, Callable[[rlx.Graph, Any], Any]] = {
    "nothing": lambda g, x: x,
    "relu": lambda g, x: g.relu(x),
    "neg and abs": lambda g, x: g.abs(g.neg(x)),
    "reshape": lambda g, x: g.reshape(x, (2, 4, 36)),
    "transpose": lambda g, x: g.transpose(x, (0, 1, 3, 2)),
    "narrow": lambda g, x: x[:, :, 1:5],
    "max pool": lambda g, x: g.pool(x, "max", (2, 2), (1, 1), 1),
    "min pool": lambda g, x: g.pool(x, "min", (3, 3)),
    "resize": lambda g, x: g.resize_nearest_2x(x),
    "concat with itself": lambda g, x: g.concat([x, g.relu(x)], 2),
    "choice": lambda g, x: g.where(x > 0.5, x, g.neg(x)),
    "larger": lambda g, x: g.max(x, x[:, :, :1]),
    "several": lambda g, x: g.relu(g.reshape(x, (2, 4, 36)))[:, :, 3:],
    "stopped": lambda g, x: g.stop_gradient(x),
}


def _program(between: Callable[[rlx.Graph, Any], Any], axis: int | None, ste: str) -> rlx.Graph:
    g = rlx.Graph("g")
    x, state = g.input("x", X), g.input("state", (1 if axis is None else 4,))

    def quantize(v: Any) -> Any:
        return g.fake_quantize(v, state, bits=4, axis=axis, ste=ste, scale_mode="fixed")

    y = quantize(between(g, quantize(x)))
    g.set_outputs([g.reduce_sum(y * y), y])
    return g


@pytest.mark.sampled
@pytest.mark.parametrize("axis", [None, 1])
@pytest.mark.parametrize("between", KEEPING.values(), ids=KEEPING.keys())
def test_the_second_rounding_goes_and_no_bit_changes(
    between: Callable[[rlx.Graph, Any], Any], axis: int | None
) -> None:
    graph = _program(between, axis, "identity" if axis is None else "clipped_identity")
    less = _pass(graph)
    assert (_count(graph), _count(less)) == (2, 1)
    x = np.random.default_rng(5).normal(size=X).astype(np.float32)
    x.reshape(-1)[:5] = [0.0, -0.0, np.inf, -np.inf, 1e-30]
    arrays = {"x": x, "state": np.array([0.3, 1e-12, 0.07, 2e30], np.float32)[: 1 if axis is None else 4]}
    wrt = () if between is KEEPING["stopped"] else ("x",)
    outcomes = [rlx.compile(rlx.grad_with_loss(one, wrt) if wrt else one, threads=1)(**arrays) for one in (graph, less)]
    before, after = outcomes
    # the sum of equal numbers: in which order they are added is a kernel's own business
    np.testing.assert_allclose(before[0], after[0], rtol=1e-6)
    for one, other in zip(before[1:], after[1:], strict=True):
        np.testing.assert_array_equal(one, other)


def test_every_level_of_any_scale_is_rounded_to_itself() -> None:
    """What the pass rests on: `round(fl(k s) / s) = k`, in f32 and f64."""
    rng = np.random.default_rng(0)
    for dtype in (np.float32, np.float64):
        scales = np.concatenate([10 ** rng.uniform(-12, 36, 20000), [1e-12, 1.0, 0.1]]).astype(dtype)
        levels = np.arange(-127, 128, dtype=dtype)[:, None]
        np.testing.assert_array_equal(np.round((levels * scales) / scales), np.broadcast_to(levels, (255, len(scales))))


STAYING: dict[str, Callable[[rlx.Graph, Any, Any], Any]] = {
    "another scale": lambda g, x, s: g.fake_quantize(
        g.fake_quantize(x, s, scale_mode="fixed"), s * 2.0, scale_mode="fixed"
    ),
    "other bits": lambda g, x, s: g.fake_quantize(
        g.fake_quantize(x, s, bits=8, scale_mode="fixed"), s, bits=4, scale_mode="fixed"
    ),
    "another estimator": lambda g, x, s: g.fake_quantize(
        g.fake_quantize(x, s, scale_mode="fixed"), s, ste="clipped_identity", scale_mode="fixed"
    ),
    "a slope that is not 1": lambda g, x, s: g.fake_quantize(
        g.fake_quantize(x, s, ste="tanh", scale_mode="fixed"), s, ste="tanh", scale_mode="fixed"
    ),
    "the scale of the data": lambda g, x, s: g.fake_quantize(g.fake_quantize(x)),
    "a moving scale": lambda g, x, s: g.fake_quantize(
        g.fake_quantize(x, s, scale_mode="ema", decay=0.9), s, scale_mode="ema", decay=0.9
    ),
    "a sum": lambda g, x, s: g.fake_quantize(
        g.fake_quantize(x, s, scale_mode="fixed") + g.fake_quantize(x, s, scale_mode="fixed"), s, scale_mode="fixed"
    ),
    "a mean of windows": lambda g, x, s: g.fake_quantize(
        g.pool(g.fake_quantize(x, s, scale_mode="fixed"), "mean", (2, 2)), s, scale_mode="fixed"
    ),
    "one part that is not rounded": lambda g, x, s: g.fake_quantize(
        g.concat([g.fake_quantize(x, s, scale_mode="fixed"), x], 0), s, scale_mode="fixed"
    ),
}


@pytest.mark.parametrize("build", STAYING.values(), ids=STAYING.keys())
def test_what_is_not_the_same_stays(build: Callable[[rlx.Graph, Any, Any], Any]) -> None:
    g = rlx.Graph("g")
    g.set_outputs([build(g, g.input("x", X), g.input("s", (1,)))])
    assert str(_pass(g)) == str(rlx.run_passes(g, []))


@pytest.mark.parametrize(
    "between",
    [
        lambda g, x: g.concat([x[:, :2], x[:, 2:]], 1),
        lambda g, x: g.transpose(x, (0, 2, 1, 3)),
        lambda g, x: g.reshape(x, (4, 4, 3, 6)),
        lambda g, x: g.max(x, g.reshape(x[:, 1, 0, 0], (2, 1, 1, 1))),
    ],
    ids=["concat", "transpose", "reshape", "broadcast"],
)
def test_channels_that_move_are_rounded_again(between: Callable[[rlx.Graph, Any], Any]) -> None:
    g = rlx.Graph("g")
    s = g.input("s", (4,))
    moved = between(g, g.fake_quantize(g.input("x", X), s, axis=1, scale_mode="fixed"))
    with_it = moved.shape == (2, 6, 4, 6)
    g.set_outputs([g.fake_quantize(moved, s, axis=2 if with_it else 1, scale_mode="fixed")])
    # a transpose takes the axis of the channels with it
    assert _count(_pass(g)) == (1 if with_it else 2)


def test_scales_and_chains_follow_what_is_left() -> None:
    g = rlx.Graph("g")
    x, state = g.input("x", (8,)), g.constant([0.25])
    scales: list[Any] = []
    for _ in range(4):
        x, scale = g.fake_quantize_with_scale(x, state, scale_mode="fixed")
        scales.append(scale)
        x = g.relu(x)
    g.set_outputs([x, *scales])
    less = _pass(g)
    assert _count(less) == 1 and str(less).count("mir.relu") == 4
    x_ = np.linspace(-3, 3, 8, dtype=np.float32)
    for before, after in zip(rlx.compile(g, threads=1)(x_), rlx.compile(less, threads=1)(x_), strict=True):
        np.testing.assert_array_equal(before, after)
