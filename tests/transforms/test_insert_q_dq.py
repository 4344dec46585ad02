"""Quantisation by a record: values are what i8 leaves of them, and records come from ranges."""

from typing import Any

import numpy as np
import pytest

import xdsl_rlx as rlx
from xdsl_rlx import CalibrationEntry

Array = np.ndarray[Any, Any]


def _model() -> rlx.Graph:
    g = rlx.Graph("model")
    x, w = g.input("x", (5, 4)), g.param("w", (4, 3))
    h = g.tap(g.tanh(x @ w), "h")
    g.set_outputs([h * 2.0, h])
    return g


def _arrays(seed: int = 0) -> dict[str, Array]:
    rng = np.random.default_rng(seed)
    return {"x": rng.normal(size=(5, 4)).astype(np.float32), "w": rng.normal(size=(4, 3)).astype(np.float32)}


def _rounded(x: Array, entry: CalibrationEntry) -> Array:
    shape = [1] * x.ndim
    if entry.axis is not None:
        shape[entry.axis] = -1
    scale, point = (np.array(v, np.float32).reshape(shape) for v in (entry.scales, entry.zero_points))
    return ((np.clip(np.round(x / scale) + point, -128, 127) - point) * scale).astype(np.float32)


def test_all_users_and_outputs_see_what_is_left() -> None:
    record = {
        "x": CalibrationEntry.per_tensor(0.05, 3),
        "w": CalibrationEntry.per_channel(1, [0.02, 0.03, 0.01]),
        "h": CalibrationEntry.per_tensor(1 / 128),
    }
    arrays = _arrays()
    doubled, h = rlx.compile(rlx.insert_q_dq(_model(), record), threads=1)(**arrays)
    product = _rounded(arrays["x"], record["x"]) @ _rounded(arrays["w"], record["w"])
    expected = _rounded(np.tanh(product), record["h"])
    np.testing.assert_allclose(h, expected, atol=1e-6)
    np.testing.assert_array_equal(doubled, h * 2)


def test_an_empty_record_changes_nothing() -> None:
    graph = _model()
    assert str(rlx.insert_q_dq(graph, {})) == str(rlx.run_passes(graph, []))


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("axes", [{}, {"w": 1, "h": -1}], ids=["tensor", "channel"])
def test_a_calibrated_program_is_right_to_half_a_level(symmetric: bool, axes: dict[str, int]) -> None:
    batches = [_arrays(seed) for seed in range(3)]
    record = rlx.calibrate(_model(), ["x", "w", "h"], batches, axes, symmetric)
    assert record["w"].axis == axes.get("w") and len(record["w"].scales) == (3 if axes else 1)
    for name in ("x", "w"):
        entry = record[name]
        scale = np.array(entry.scales, np.float32)
        for batch in batches:
            assert (np.abs(_rounded(batch[name], entry) - batch[name]) <= 0.5001 * scale).all()
    plain, quantised = (
        rlx.compile(graph, threads=1)(**batches[0])[1] for graph in (_model(), rlx.insert_q_dq(_model(), record))
    )
    np.testing.assert_allclose(quantised, plain, atol=0.08)
    assert (plain != quantised).any()


def test_ranges_hold_zero_and_what_is_always_zero_has_a_scale() -> None:
    one = np.array([1.0])
    assert CalibrationEntry.of_range(one * 0, one * 0) == CalibrationEntry((1.0,), (0,))
    shifted = CalibrationEntry.of_range(one, one * 2.55, symmetric=False)
    assert shifted.zero_points == (-128,) and shifted.scales == pytest.approx((0.01,))
    below = CalibrationEntry.of_range(-one * 2.55, -one, symmetric=False)
    assert below.zero_points == (127,)


def test_taps_in_half_precision_and_in_the_text() -> None:
    g = rlx.Graph("g")
    g.set_outputs([g.tap(g.exp(g.input("x", (4,), "bf16")), "y") + 1.0])
    record = {"y": CalibrationEntry.per_tensor(0.5)}
    quantised = rlx.insert_q_dq(rlx.parse(str(g)), record)
    assert "tensor<4xi8> to tensor<4xbf16>" in str(quantised)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"z": CalibrationEntry.per_tensor(1.0)}, "no value named 'z'; there are x, w, h"),
        ({"h": CalibrationEntry.per_tensor(0.0)}, "'h': expected positive and finite scales"),
        ({"h": CalibrationEntry.per_tensor(1.0, 1 << 40)}, "'h': expected zero points that fit in i32"),
        ({"h": CalibrationEntry.per_channel(1, [1.0, 2.0])}, "expected the number of scales to be 1 or 3, got 2"),
        ({"h": CalibrationEntry.per_channel(4, [1.0, 2.0])}, "axis 4 is out of range"),
        ({"h": CalibrationEntry((1.0,), (0.5,))}, "'h': zero_points: expected integers"),  # pyright: ignore
        ({"h": 0.5}, "'h': expected a CalibrationEntry, got 0.5"),
    ],
)
def test_a_wrong_record_is_an_error(record: dict[str, Any], message: str) -> None:
    with pytest.raises(rlx.GraphError, match=message):
        rlx.insert_q_dq(_model(), record)


def test_wrong_taps_and_batches_are_errors() -> None:
    g = rlx.Graph("g")
    x, n = g.input("x", (3,)), g.input("n", (3,), "i32")
    for wrong, message in (
        (lambda: g.tap(x, "y"), "an argument is known by its own name"),
        (lambda: g.tap(g.exp(x), ""), "got an empty one"),
        (lambda: g.tap(g.tap(g.exp(x), "a"), "b"), "named \"a\" already, got 'b'"),
    ):
        with pytest.raises(rlx.GraphError, match=message):
            wrong()
    g.set_outputs([g.tap(x + 1.0, "x"), n])
    with pytest.raises(rlx.GraphError, match='two values of @g are named "x"'):
        rlx.insert_q_dq(g, {})
    with pytest.raises(rlx.GraphError, match="expected at least one batch"):
        rlx.calibrate(_model(), ["h"], [])
    for wrong in (3, [_arrays()["x"]]):
        with pytest.raises(rlx.GraphError, match="batches: expected"):
            rlx.calibrate(_model(), ["h"], wrong)  # pyright: ignore
    with pytest.raises(rlx.GraphError, match="axes names 'x'"):
        rlx.calibrate(_model(), ["h"], [], {"x": 0})
    with pytest.raises(rlx.GraphError, match="'h': axis 7 is out of range"):
        rlx.calibrate(_model(), ["h"], [], {"h": 7})
    arrays = _arrays()
    arrays["x"][0, 0] = np.nan
    with pytest.raises(rlx.GraphError, match="'h' is empty, or has elements"):
        rlx.calibrate(_model(), ["h"], [_arrays(), arrays])
    h = rlx.Graph("h")
    h.set_outputs([h.input("n", (3,), "i32") + 1])
    with pytest.raises(rlx.GraphError, match="'n' is tensor<3xi32>: only floating-point values are quantised"):
        rlx.insert_q_dq(h, {"n": CalibrationEntry.per_tensor(1.0)})
