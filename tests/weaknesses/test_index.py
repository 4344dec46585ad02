"""Weaknesses of the reference in indexing and running sums (spec/ops.md, section 5), as numbers that are right here."""

import numpy as np

import xdsl_rlx as rlx

RNG = np.random.default_rng(5)


def test_every_id_of_a_matrix_of_ids_gets_its_gradient():
    """W-17: the embedding of ids [B, S] adds up the cotangents of all B S rows."""
    g = rlx.Graph("embedding")
    table, ids = g.param("table", (7, 3), dtype="f64"), g.input("ids", (4, 5), dtype="i64")
    weight = g.input("weight", (4, 5, 3), dtype="f64")
    g.set_outputs([g.reduce_sum(g.gather(table, ids) * weight)])
    at, factors = RNG.integers(0, 7, (4, 5)), RNG.normal(size=(4, 5, 3))
    _, grad = rlx.compile(rlx.grad_with_loss(g, wrt=["table"]))(table=np.zeros((7, 3)), ids=at, weight=factors)
    expected = np.zeros((7, 3))
    np.add.at(expected, at, factors)
    np.testing.assert_allclose(grad, expected, rtol=1e-12)


def test_a_batched_gather_and_its_backward_agree_about_the_batch():
    """W-17: with batch_dims, example b reads and adds to its own table."""
    x, at = RNG.normal(size=(2, 6, 3)), RNG.integers(0, 6, (2, 4))
    g = rlx.Graph("rows")
    table, ids = g.input("x", x.shape, dtype="f64"), g.input("at", at.shape, dtype="i64")
    rows = g.gather(table, ids, 1, 1)
    g.set_outputs([rows, g.gather_backward(rows, ids, 6, 1, 1)])
    taken, added = rlx.compile(g)(x=x, at=at)
    expected = np.zeros_like(x)
    for b in range(2):
        np.testing.assert_array_equal(taken[b], x[b, at[b]])
        np.add.at(expected[b], at[b], x[b, at[b]])
    np.testing.assert_allclose(added, expected, rtol=1e-12)


def test_integer_ids_are_exact_beyond_what_f32_holds():
    """W-57: 2^24 + 1 is an id of its own."""
    size = 2**24 + 2
    g = rlx.Graph("pick")
    table, ids = g.input("table", (size,), dtype="i8"), g.input("ids", (3,), dtype="i32")
    g.set_outputs([g.gather(table, ids)])
    data = np.zeros(size, np.int8)
    data[-2:] = 1, 2
    (picked,) = rlx.compile(g)(table=data, ids=np.array([2**24 - 1, 2**24, 2**24 + 1], np.int32))
    assert picked.tolist() == [0, 1, 2]


def test_an_index_out_of_range_is_clamped_in_both_directions():
    """W-58: below to the first, above to the last element, in the gather and in its gradient."""
    g = rlx.Graph("clamp")
    x = g.input("x", (3,), dtype="f64")
    g.set_outputs([g.reduce_sum(g.gather(x, g.input("at", (4,), dtype="i64")) * np.array([1.0, 10.0, 100.0, 1000.0]))])
    step = rlx.compile(rlx.grad_with_loss(g, wrt=["x"]))
    loss, grad = step(x=np.array([1.0, 2.0, 3.0]), at=np.array([-(2**60), 2**60, 1, 3]))
    assert loss == 1 + 30 + 200 + 3000
    assert grad.tolist() == [1, 100, 1010]


def test_cumsum_and_its_gradient_along_any_axis():
    """W-49, W-41: an axis that is not the last, in f64."""
    x, weight = RNG.normal(size=(2, 5, 3)), RNG.normal(size=(2, 5, 3))
    for axis in (0, 1, 2, -2):
        g = rlx.Graph("sums")
        y = g.cumsum(g.input("x", x.shape, dtype="f64"), axis)
        g.set_outputs([g.reduce_sum(y * g.input("weight", x.shape, dtype="f64")), y])
        _, sums, grad = rlx.compile(rlx.grad_with_loss(g, wrt=["x"]))(x=x, weight=weight)
        np.testing.assert_allclose(sums, np.cumsum(x, axis), rtol=1e-12)
        np.testing.assert_allclose(grad, np.flip(np.cumsum(np.flip(weight, axis), axis), axis), rtol=1e-12)


def test_a_batched_cumsum_along_a_negative_axis_leaves_the_batch_alone():
    """W-55."""
    g = rlx.Graph("sums")
    g.set_outputs([g.cumsum(g.input("x", (4, 3), dtype="f64"), -1)])
    x = RNG.normal(size=(5, 4, 3))
    (sums,) = rlx.compile(rlx.vmap(g, ["x"], 5))(x=x)
    np.testing.assert_allclose(sums, np.cumsum(x, -1), rtol=1e-12)


def test_second_derivatives_go_through_cumsum_and_gather():
    """W-04: the Hessian of sum (cumsum x)[at]^3 / 6 times v."""
    n, at = 5, np.array([4, 2, 2])
    g = rlx.Graph("cubes")
    x = g.input("x", (n,), dtype="f64")
    y = g.gather(g.cumsum(x), g.input("at", (3,), dtype="i64"))
    g.set_outputs([g.reduce_sum(y * y * y) * (1 / 6)])
    point, v = RNG.normal(size=n), RNG.normal(size=n)
    *_, product = rlx.compile(rlx.hvp(g, wrt=["x"]))(x=point, at=at, tangent_x=v)
    rows = np.tril(np.ones((n, n)))[at]
    np.testing.assert_allclose(product, rows.T @ ((rows @ point) * (rows @ v)), rtol=1e-10)


def test_topk_handles_ties_and_nan():
    """The smaller index first among equals; NaN is the largest."""
    g = rlx.Graph("best")
    g.set_outputs([g.topk(g.input("x", (6,)), 4)])
    (ids,) = rlx.compile(g)(x=np.array([1, 3, -np.inf, 3, np.nan, 0], np.float32))
    assert ids.tolist() == [4, 1, 3, 0]
