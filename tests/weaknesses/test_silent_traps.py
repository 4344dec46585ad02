"""What used to go wrong without a word: sums that wrap, masks of floats, masked arrays, inputs that may be left out."""

import numpy as np
import pytest

import xdsl_rlx as rlx
from xdsl_rlx.lowering.run_errors import ArgumentError


def run(build, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    g = rlx.Graph("g")
    g.set_outputs(build(g, *(g.input(f"x{i}", x.shape, x.dtype) for i, x in enumerate(arrays))))
    return rlx.compile(g)(*arrays)


def test_sums_of_integers_are_those_of_numpy():
    rng = np.random.default_rng(0)
    arrays = [
        rng.integers(100, 127, (4, 99)).astype(np.int8),
        rng.integers(200, 255, (4, 99)).astype(np.uint8),
        rng.integers(2**30, 2**31 - 1, (4, 99)).astype(np.int32),
        rng.integers(0, 2, (4, 99)).astype(bool),
    ]
    small = rng.integers(2, 4, (3, 9)).astype(np.int8)
    found = run(
        lambda g, *xs: [
            *(g.reduce_sum(x, 1) for x in xs[:4]),
            *(g.cumsum(x) for x in xs[:4]),
            g.reduce_prod(xs[4], [0, 1]),
            xs[1].sum(),
            g.reduce_sum(xs[0], 1, dtype="i8"),
            g.reduce_sum(xs[0], 1, dtype="f64"),
        ],
        *arrays,
        small,
    )
    expected = [
        *(x.sum(1) for x in arrays),
        *(x.cumsum(-1) for x in arrays),
        small.astype(np.int64).prod(),
        arrays[1].sum(),
        arrays[0].sum(1, dtype=np.int8),
        arrays[0].sum(1, dtype=np.float64),
    ]
    for ours, numpys in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, numpys)
    assert all(y.dtype == np.int64 for y in found[:10]) and found[10].dtype == np.int8


@pytest.mark.parametrize("method", ["attention", "attention_backward"])
def test_the_kind_of_a_mask_of_floats_must_be_said(method: str):
    g = rlx.Graph("g")
    q = g.input("q", (1, 4, 8))
    mask = np.where(np.tril(np.ones((4, 4))), 0.0, -1e4).astype(np.float32)[None, None]
    operands = (q, q, q, q)[: 3 + (method == "attention_backward")]
    with pytest.raises(
        rlx.GraphError, match=r"expected a mask_kind for a mask of f32: mask_kind='bias' adds it to the scores"
    ):
        getattr(g, method)(*operands, mask, num_heads=2)
    getattr(g, method)(*operands, mask, num_heads=2, mask_kind="bias")
    getattr(g, method)(*operands, mask >= 0, num_heads=2)
    with pytest.raises(rlx.GraphError, match=r"expected a mask of i1, true where a key is seen, got one of f32"):
        g.fused_attention_block(q, np.ones((8, 24), np.float32), np.ones((8, 8), np.float32), mask, num_heads=2)


def test_a_mask_of_keys_is_the_same_for_all_queries():
    rng = np.random.default_rng(1)
    q, k, v = (rng.standard_normal((2, 2, n, 3)) for n in (4, 5, 5))
    hidden = rng.random((2, 1, 1, 5)) < 0.4
    bias = np.where(hidden, -np.inf, rng.standard_normal((2, 1, 1, 5)))
    options = {"num_heads": 2, "layout": "bhsd"}
    found = run(
        lambda g, q, k, v, m, b: [
            g.attention(q, k, v, m, **options),
            g.attention(q, k, v, g.expand(m, (2, 2, 4, 5)), **options),
            g.attention(q, k, v, b, mask_kind="bias", **options),
            g.attention(q, k, v, g.expand(b, (2, 2, 4, 5)), mask_kind="bias", **options),
        ],
        q,
        k,
        v,
        ~hidden,
        bias,
    )
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[2], found[3])


def test_a_bias_of_keys_in_batches_of_examples():
    rng = np.random.default_rng(2)
    q, k, v = (rng.standard_normal((3, 2, 4, 6)) for _ in range(3))
    bias = rng.standard_normal((3, 1, 1, 1, 4))
    g = rlx.Graph("g")
    tensors = [g.input(name, (2, 4, 6), "f64") for name in "qkv"]
    out = g.attention(*tensors, g.input("bias", (1, 1, 1, 4), "f64"), num_heads=2, mask_kind="bias")
    g.set_outputs(g.reduce_sum(out * out))
    one = rlx.grad_with_loss(g, ["q", "bias"])
    single = rlx.compile(one)
    expected = [np.stack(rows) for rows in zip(*(single(*x) for x in zip(q, k, v, bias, strict=True)), strict=True)]
    for ours, each in zip(rlx.compile(rlx.vmap(one, ["q", "k", "v", "bias"], 3))(q, k, v, bias), expected, strict=True):
        np.testing.assert_allclose(ours, each, rtol=1e-12, atol=1e-13)


def test_a_masked_array_is_no_argument():
    g = rlx.Graph("g")
    g.set_outputs(g.input("x", (2,)) * g.param("w", (2,)))
    step, plain = rlx.compile(g), np.ones(2, np.float32)
    masked = np.ma.array(plain, mask=[True, False])
    for wrong in (
        lambda: step(masked, plain),
        lambda: step(x=[np.ma.masked, 1.0], w=plain),
        lambda: step(plain, plain, out=masked),
        lambda: step.set_param("w", masked),
    ):
        with pytest.raises(ArgumentError, match=r"got a masked array; pass array\.filled\(number\)"):
            wrong()
    np.testing.assert_array_equal(step(masked.filled(2), plain)[0], [2, 1])


def test_a_number_that_would_be_infinite_is_no_argument():
    g = rlx.Graph("g")
    g.set_outputs(g.input("x", (2,), "f16") * 2.0)
    with pytest.raises(ArgumentError, match=r"expected f16\[2\], got 70000, which overflows to infinity"):
        rlx.compile(g)([1, 70000])
    np.testing.assert_array_equal(rlx.compile(g)([1.0, np.inf])[0], [2, np.inf])


def test_what_may_be_left_out_of_a_graph_may_be_left_out_of_one_that_it_is_inlined_in():
    g = rlx.Graph("g")
    g.set_outputs(g.reduce_sum(g.tanh(g.input("x", (3,)))))
    h = rlx.Graph("h")
    (dx,) = h.inline(rlx.grad(g, "x"))
    h.set_outputs(dx * 2.0)
    x = np.array([0.0, 0.5, 1.0], np.float32)
    for graph in (h, rlx.vmap(h, "x", 2), rlx.run_passes(h, "canonicalize,cse,dce")):
        assert "mir.optional" in str(graph)
    np.testing.assert_allclose(rlx.compile(h)(x)[0], 2 / np.cosh(x) ** 2, rtol=1e-6)
    np.testing.assert_allclose(rlx.compile(h)(x, d_output=0.5)[0], 1 / np.cosh(x) ** 2, rtol=1e-6)
    again = rlx.Graph("again")
    seed = again.input("d_output", ())
    again.set_outputs(again.inline(rlx.grad(g, "x")))
    assert seed.shape == () and "mir.optional" not in str(again)
