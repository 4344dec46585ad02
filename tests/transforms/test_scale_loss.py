"""Loss scaling: small gradients survive f16, an overflow is seen, and the scale finds its size."""

from typing import Any

import numpy as np
import pytest
from oracle import numpy_dtype

import xdsl_rlx as rlx

Array = np.ndarray[Any, Any]


def _tiny() -> rlx.GraphModule:
    """A loss whose gradient passes through f16 where it is 1e-9 times x: less than the least f16."""
    g = rlx.Graph("loss")
    w, x = g.param("w", (4,)), g.input("x", (4,))
    h = g.cast(w * x, "f16")
    g.set_outputs([g.reduce_sum(g.cast(h, "f32") * 1e-9)])
    return rlx.grad_with_loss(g)


ARRAYS = {"w": np.ones(4, np.float32), "x": np.arange(1, 5, dtype=np.float32)}


def test_a_fixed_scale_keeps_small_gradients() -> None:
    loss, gradient = rlx.compile(_tiny(), threads=1)(**ARRAYS)
    assert not gradient.any()
    scaled_loss, gradient, finite = rlx.compile(rlx.scale_loss(_tiny(), 2.0**15), threads=1)(**ARRAYS)
    assert finite and scaled_loss == loss
    np.testing.assert_allclose(gradient, 1e-9 * ARRAYS["x"], rtol=1e-3)


def test_a_dynamic_scale_halves_at_an_overflow_and_doubles_after_good_steps() -> None:
    step = rlx.compile(rlx.scale_loss(_tiny(), growth_interval=3), threads=1)
    scale, good = np.float32(2.0**50), np.int32(0)
    history: list[tuple[float, int, bool]] = []
    for _ in range(14):
        _, gradient, finite, scale, good = step(loss_scale=scale, good_steps=good, **ARRAYS)
        history.append((float(np.log2(scale)), int(good), bool(finite)))
        assert finite == np.isfinite(gradient).all()
        if finite:
            np.testing.assert_allclose(gradient, 1e-9 * ARRAYS["x"], rtol=1e-3)
    # 2^45 1e-9 is 35184; an f16 is at most 65504
    assert history[:5] == [(49, 0, False), (48, 0, False), (47, 0, False), (46, 0, False), (45, 0, False)]
    assert history[5:9] == [(45, 1, True), (45, 2, True), (46, 0, True), (45, 0, False)] == history[9:13]


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32", "f64"])
def test_one_element_that_is_not_finite_is_found(bad: float, dtype: str) -> None:
    g = rlx.Graph("loss")
    w, v, x = g.param("w", (40,), dtype), g.param("v", (3,), dtype), g.input("x", (40,))
    g.set_outputs([g.reduce_sum(w * x.cast(dtype)).cast("f32") + g.reduce_sum(v * v).cast("f32")])
    graph = rlx.compile(rlx.scale_loss(rlx.grad_with_loss(g), 256.0), threads=1)
    x_ = np.ones(40, np.float32)
    arrays: dict[str, Any] = {"w": np.ones(40), "v": np.ones(3), "x": x_}
    found = graph(**{n: a.astype(numpy_dtype(dtype)) if n != "x" else a for n, a in arrays.items()})
    assert found[-1] and found[1].dtype == (np.float64 if dtype == "f64" else np.float32)
    np.testing.assert_array_equal(found[1], np.ones(40))
    np.testing.assert_array_equal(found[2], np.full(3, 2.0))
    x_[17] = bad
    assert not graph(**{n: a.astype(numpy_dtype(dtype)) if n != "x" else a for n, a in arrays.items()})[-1]


def test_training_in_f16_with_a_dynamic_scale_reaches_what_f32_reaches() -> None:
    """A step that is not finite is left out; master weights are f32."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(32, 8)).astype(np.float32)
    target = x @ rng.normal(size=(8, 1)).astype(np.float32)
    g = rlx.Graph("loss")
    error = g.input("x", (32, 8)) @ g.param("w", (8, 1)) - g.input("y", (32, 1))
    g.set_outputs([g.reduce_mean(error * error)])
    mixed = rlx.scale_loss(rlx.grad_with_loss(rlx.mixed_precision(g, "mixed_conservative")), growth_interval=20)
    step = rlx.compile(mixed, threads=1)
    w, scale, good, left_out = np.zeros((8, 1), np.float32), np.float32(2.0**24), np.int32(0), 0
    for _ in range(150):
        loss, gradient, finite, scale, good = step(x=x, y=target, w=w, loss_scale=scale, good_steps=good)
        left_out += not finite
        if finite:
            w = w - np.float32(0.1) * gradient
    assert float(loss) < 1e-3 and 0 < left_out < 30


def test_the_scale_stays_a_number_that_can_be_divided_by() -> None:
    step = rlx.compile(rlx.scale_loss(_tiny(), growth_interval=1), threads=1)
    arrays = {"w": ARRAYS["w"], "x": np.full(4, np.nan, np.float32)}
    *_, scale, _ = step(loss_scale=np.float32(2.0**-126), good_steps=np.int32(0), **arrays)
    assert scale == 2.0**-126
    zeros = {"w": ARRAYS["w"], "x": np.zeros(4, np.float32), "d_output": np.float32(0)}
    *_, finite, scale, _ = step(loss_scale=np.float32(2.0**127), good_steps=np.int32(0), **zeros)
    assert finite and scale == 2.0**127


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scale": 0.0}, "scale: expected a positive number, got 0.0"),
        ({"scale": float("nan")}, "scale: expected a positive number, got nan"),
        ({"growth": 1.0}, "growth: expected a number above 1, got 1.0"),
        ({"backoff": 1.5}, "backoff: expected a number between 0 and 1, got 1.5"),
        ({"growth_interval": 0}, "growth_interval: expected at least 1, got 0"),
        ({"seed": "w2"}, 'has no argument "w2"'),
        (
            {"seed": "w"},
            '"w" of @.* is not a cotangent; optional arguments are d_output$',
        ),
    ],
)
def test_wrong_options_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(rlx.GraphError, match=message):
        rlx.scale_loss(_tiny(), **options)
