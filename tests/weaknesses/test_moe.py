"""Weaknesses of the reference in products by experts (spec/ops.md, section 5), as numbers that are right here."""

import numpy as np
import pytest

import xdsl_rlx as rlx

RNG = np.random.default_rng(6)
X, W, IDS = RNG.normal(size=(7, 3)), RNG.normal(size=(4, 3, 5)), np.array([3, 0, 3, 3, 1, 0, 3])


def graph() -> rlx.Graph:
    """The rows of x times the matrices of their experts."""
    g = rlx.Graph("moe")
    x, w = g.input("x", X.shape, dtype="f64"), g.param("w", W.shape, dtype="f64")
    g.set_outputs([g.grouped_matmul(x, w, g.input("ids", IDS.shape, dtype="i64"))])
    return g


def test_nothing_of_the_size_of_a_matrix_per_row_is_made():
    """W-59: 256 rows, 4 experts, 64 x 64; a matrix per row would be 4 MiB."""
    g = rlx.Graph("moe")
    x, w = g.input("x", (256, 64)), g.param("w", (4, 64, 64))
    g.set_outputs([g.reduce_sum(g.grouped_matmul(x, w, g.input("ids", (256,), dtype="i32")))])
    assert rlx.compile(g).arena_bytes < 2**18
    assert rlx.compile(rlx.grad_with_loss(g, wrt=["x", "w"])).arena_bytes < 2**19


def test_forward_mode():
    """W-73: both operands have tangents."""
    dx, dw = RNG.normal(size=X.shape), RNG.normal(size=W.shape)
    *_, tangent = rlx.compile(rlx.jvp(graph(), ["x", "w"]))(x=X, w=W, ids=IDS, tangent_x=dx, tangent_w=dw)
    expected = np.einsum("mk,mkn->mn", dx, W[IDS]) + np.einsum("mk,mkn->mn", X, dw[IDS])
    np.testing.assert_allclose(tangent, expected, rtol=1e-12)


@pytest.mark.parametrize("named", [["x"], ["w"], ["ids"], ["x", "w", "ids"]])
def test_batches(named: list[str]):
    """W-73: any operand may have the new axis; a batch of weights is a batch of experts, ids out of range included."""
    batch = {"x": RNG.normal(size=(3, *X.shape)), "w": RNG.normal(size=(3, *W.shape))}
    batch["ids"] = RNG.integers(-2, 7, (3, *IDS.shape))
    arrays = {"x": X, "w": W, "ids": IDS, **{name: batch[name] for name in named}}
    (results,) = rlx.compile(rlx.vmap(graph(), named, 3))(**arrays)
    for example, result in enumerate(results):
        x, w, ids = (arrays[name][example] if name in named else arrays[name] for name in ("x", "w", "ids"))
        expected = np.einsum("mk,mkn->mn", x, w[np.clip(ids, 0, 3)])
        np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-12)


def test_an_expert_without_rows_has_zero_gradients():
    """No row goes to expert 2; its gradient is written all the same."""
    g = graph()
    _, dw = rlx.compile(rlx.grad_with_loss(g, wrt=["w"]))(x=X, w=W, ids=IDS)
    assert not dw[2].any()
    np.testing.assert_allclose(dw[3], np.repeat(X[IDS == 3].sum(0)[:, None], 5, 1), rtol=1e-12)


def test_ids_out_of_range_are_clamped():
    """W-58, W-57: integers of any width, below to the first and above to the last expert."""
    (result,) = rlx.compile(graph())(x=X, w=W, ids=np.array([-(2**40), 2**40, 0, 3, 4, -1, 2]))
    np.testing.assert_allclose(result, np.einsum("mk,mkn->mn", X, W[[0, 3, 0, 3, 3, 0, 2]]), rtol=1e-12)
