"""Where quantisation is easily wrong: the scale that the gradient uses, clipping, rounding, factors, states.

Each test names in its docstring the weakness that it guards against.
"""

from typing import Any

import numpy as np
import pytest

import xdsl_rlx as rlx

Array = np.ndarray[Any, Any]


def f64(*numbers: float) -> Array:
    return np.array(numbers, np.float64)


def gradient(x: Array, state: Array | None, **given: Any) -> Array:
    """The gradient of the sum of `fake_quantize`."""
    g = rlx.Graph("f")
    v = g.input("x", x.shape, dtype=x.dtype)
    s = None if state is None else g.input("state", state.shape, dtype=x.dtype)
    g.set_outputs([g.reduce_sum(g.fake_quantize(v, s, **given))])
    arrays = [x] if state is None else [x, state]
    return rlx.compile(rlx.grad(g, wrt=["x"]))(*arrays)[0]


def test_clipping_is_by_the_scale_that_was_used():
    """W-32: with a fixed scale of 0.5 and 4 bits, what is beyond 3.5 gets nothing; 3.5 itself is not clipped."""
    x, state = f64(0.2, 3.5, -3.5, 3.6, -100.0), f64(0.5)
    got = gradient(x, state, bits=4, ste="clipped_identity", scale_mode="fixed")
    np.testing.assert_array_equal(got, [1, 1, 1, 0, 0])


def test_clipping_is_by_the_moving_average_that_was_used():
    """W-32: the scale is `decay state + (1 - decay) cur`, here 0.75, not that of the batch, 1."""
    x, state = f64(7.0, 5.2, 5.3, -1.0), f64(0.5)
    got = gradient(x, state, bits=4, ste="clipped_identity", scale_mode="ema", decay=0.5)
    np.testing.assert_array_equal(got, [0, 1, 0, 1])


@pytest.mark.parametrize("seed", range(20))
def test_a_scale_of_the_batch_clips_nothing(seed: int):
    """W-32: the largest magnitude is the largest level, whatever rounding makes of `max / q * q`."""
    x = np.random.default_rng(seed).standard_normal(50)
    got = gradient(x, None, bits=8, ste="clipped_identity")
    np.testing.assert_array_equal(got, np.ones(50))


def test_the_next_state_is_a_result():
    """W-32: nothing is updated in place; a state of 0 or less is replaced by the scale of the batch."""
    g = rlx.Graph("f")
    x, state = g.input("x", (2, 3), dtype="f64"), g.input("state", (2,), dtype="f64")
    g.set_outputs(list(g.fake_quantize_with_scale(x, state, 4, 0, "identity", "ema", 0.75)))
    step = rlx.compile(g)
    numbers, before = np.array([[1.0, -7.0, 2.0], [0.5, 14.0, 3.0]]), f64(0.0, 1.0)
    y, after = step(numbers, before)
    np.testing.assert_array_equal(after, [1.0, 0.75 + 0.25 * 2.0])
    np.testing.assert_array_equal(before, [0.0, 1.0])
    np.testing.assert_array_equal(y, [[1, -7, 2], [0, 8.75, 2.5]])
    np.testing.assert_array_equal(step(numbers, after)[1], [1.0, 0.75 * 1.25 + 0.5])


def test_quantisers_round_half_to_even():
    """W-43: in f32 and f64 alike."""
    for dtype in (np.float32, np.float64):
        g = rlx.Graph("f")
        x = g.input("x", (6,), dtype=dtype)
        g.set_outputs([g.quantize(x, [0.5]), g.fake_quantize(x, 0.5 * g.ones_like(x[:1]), scale_mode="fixed")])
        q, fake = rlx.compile(g)(np.array([0.25, 0.75, 1.25, -0.25, -0.75, -1.25], dtype))
        assert q.dtype == np.int8
        np.testing.assert_array_equal(q, [0, 2, 2, 0, -2, -2])
        np.testing.assert_array_equal(fake, [0, 1, 1, 0, -1, -1])


def test_quantize_saturates():
    """W-18: beyond the range are its ends, infinities too; NaN is 0."""
    g = rlx.Graph("f")
    g.set_outputs([g.quantize(g.input("x", (6,)), [0.5], [10])])
    x = np.array([1e30, np.inf, -np.inf, np.nan, 58.5, 58.0], np.float32)
    np.testing.assert_array_equal(rlx.compile(g)(x)[0], [127, 127, -128, 0, 127, 126])


def test_a_zero_point_may_lie_beyond_the_levels():
    """Spec 3.5: zero points are i32; one of 200 moves what is quantised, and a large one loses no digits in f32."""
    g = rlx.Graph("f")
    x, q = g.input("x", (3,)), g.input("q", (2,), dtype="i8")
    far = 2**30 + 3
    levels = g.quantize(x, [0.5], [200]), g.quantize(x * 2.0**30, [1.0], [-far])
    g.set_outputs([*levels, g.dequantize(q, [0.5], [far], dtype="f64")])
    near, large, back = rlx.compile(g)(np.array([-100.0, -50.0, 1.0], np.float32), np.array([-128, 3], np.int8))
    np.testing.assert_array_equal(near, [0, 100, 127])
    np.testing.assert_array_equal(large, [-128, -128, -3])
    np.testing.assert_array_equal(back, [(-128 - far) / 2, -(2.0**29)])
    with pytest.raises(rlx.GraphError, match="fit in i32"):
        g.quantize(x, [0.5], [2**31])


def test_integers_carry_no_gradient_and_say_so():
    """W-18, W-37: there is no gradient through i8, rather than one without its factors."""
    g = rlx.Graph("f")
    x = g.input("x", (3,))
    g.set_outputs([g.reduce_sum(g.dequantize(g.quantize(x, [0.5]), [0.5]))])
    with pytest.raises(rlx.RlxError, match=r"mir\.fake_quantize is the op to train with"):
        rlx.grad(g, wrt=["x"]).module.verify()


def test_straight_through_states_the_factors():
    """W-18: a user's own quantiser, `round(x / s) s` clamped, gets `1` inside and `0` outside, by its carrier."""
    g = rlx.Graph("f")
    x = g.input("x", (4,), dtype="f64")
    q = g.dequantize(g.quantize(x, [0.5]), [0.5], dtype="f64")
    y = g.straight_through(q, g.where(g.abs(x) <= 63.5, x, 0.0))
    g.set_outputs([g.reduce_sum(y * y)])
    numbers = f64(0.3, -2.0, 63.5, 70.0)
    np.testing.assert_array_equal(rlx.compile(rlx.grad(g, wrt=["x"]))(numbers)[0], [1.0, -4.0, 127.0, 0.0])


def test_a_learnt_step_size_below_its_least_can_grow_again():
    """W-32: the gradient of the scale is that of the formula at the least scale, 1e-12."""
    g = rlx.Graph("f")
    x, scale = g.input("x", (3,), dtype="f64"), g.input("scale", (1,), dtype="f64")
    g.set_outputs([g.reduce_sum(g.fake_quantize_lsq(x, scale, 4))])
    (ds,) = rlx.compile(rlx.grad(g, wrt=["scale"]))(f64(1.0, 2.0, -3.0), f64(-0.5))
    np.testing.assert_array_equal(ds, [7.0])


@pytest.mark.parametrize("bits", [2, 4, 8])
def test_the_bits_of_a_fake_quantised_value_are_found(bits: int):
    """Section 2.1 of the op sheet: of both ops, of their results alone, and of no other value."""
    g = rlx.Graph("g")
    w, scale = g.param("w", (3, 4)), g.param("scale", (1,))
    rounded, step = g.fake_quantize_with_scale(w, bits=bits)
    learnt = g.tap(g.fake_quantize_lsq(w, scale, bits), "learnt")
    others = (w, scale, step, g.relu(rounded), g.reshape(rounded, (12,)))
    g.set_outputs([rounded, learnt])
    assert [rlx.quantized_weight_bits(g, x) for x in (rounded, learnt, "learnt")] == [bits] * 3
    assert [rlx.quantized_weight_bits(g, x) for x in (*others, "w")] == [None] * 6
    # in another graph, in its module, and in a text
    outer = rlx.Graph("outer")
    first, _ = outer.inline(rlx.lower_hir(g))
    assert rlx.quantized_weight_bits(outer, first) == bits
    assert rlx.quantized_weight_bits(outer, outer.relu(first)) is None
    finished = rlx.parse(str(g))
    assert rlx.quantized_weight_bits(finished, "learnt") == bits
    found = [rlx.quantized_weight_bits(finished, x) for op in finished.walk() for x in op.results]
    assert found.count(bits) == 2 and set(found) == {bits, None}


def test_a_value_without_a_graph_has_no_bits():
    g = rlx.Graph("g")
    x = g.input("x", (3,))
    g.set_outputs(x)
    for graph, value, message in (
        (g, "y", "quantized_weight_bits: no value named 'y'; there are x"),
        (rlx.lower_hir(g), x, "a Value belongs to a Graph that is being built"),
        (rlx.Graph("other"), x, "a value of graph 'g' is used in graph 'other'"),
        (g, 3, "expected a value or a name, got 3"),
    ):
        with pytest.raises(rlx.GraphError) as caught:
            rlx.quantized_weight_bits(graph, value)  # pyright: ignore[reportArgumentType]
        assert message in str(caught.value)
