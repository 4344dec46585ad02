"""Quantised weights and integer products: byte orders, signs, zero points, and which operands have a gradient.

Each test names in its docstring the weakness that it guards against.
"""

from typing import Any

import gguf
import ml_dtypes
import numpy as np
import pytest
from numerics.families.quant import blocks

import xdsl_rlx as rlx
from xdsl_rlx.dialects.mir.quant_schemes import Scheme

Array = np.ndarray[Any, Any]
KINDS = [s for s in Scheme if s.embeds_scales and s != Scheme.GGUF_Q8_K]


def reference(scheme: Scheme, packed: Array) -> Array:
    """What the package gguf decodes."""
    kind = gguf.GGMLQuantizationType[scheme.removeprefix("gguf_").upper()]
    with np.errstate(all="ignore"):
        return np.asarray(gguf.dequantize(packed.reshape(-1, scheme.block_bytes), kind))


def decoded(scheme: Scheme, packed: Array) -> Array:
    """What we decode."""
    g = rlx.Graph("f")
    count = packed.size // scheme.block_bytes
    g.set_outputs([g.dequantize_weights(g.input("w", packed.shape, "u8"), (count, scheme.block), scheme)])
    return rlx.compile(g)(packed)[0]


def same_bits(ours: Array, theirs: Array) -> None:
    """Equal to the bit, NaN being NaN."""
    nan = np.isnan(theirs)
    np.testing.assert_array_equal(np.isnan(ours), nan)
    np.testing.assert_array_equal(ours[~nan].view(np.uint32), theirs[~nan].view(np.uint32))


@pytest.mark.parametrize("scheme", KINDS)
def test_blocks_of_any_bytes_are_what_ggml_says(scheme: Scheme):
    """W-25, W-35: any bytes, infinite and NaN scales included; scales signed or not, in GGML's order."""
    packed = np.random.default_rng(0).integers(0, 256, (600, scheme.block_bytes)).astype(np.uint8)
    same_bits(decoded(scheme, packed), reference(scheme, packed))


@pytest.mark.parametrize("scheme", [Scheme.GGUF_Q4_0, Scheme.GGUF_Q8_0])
def test_what_gguf_quantises_comes_back(scheme: Scheme):
    """W-25: numbers quantised by the package are decoded as it decodes them, and are near what they were."""
    x = np.random.default_rng(1).standard_normal((64, scheme.block)).astype(np.float32)
    packed = gguf.quantize(x, gguf.GGMLQuantizationType[scheme.removeprefix("gguf_").upper()])
    ours = decoded(scheme, packed)
    same_bits(ours, reference(scheme, packed))
    step = np.abs(x).max(1, keepdims=True) / (8 if scheme == Scheme.GGUF_Q4_0 else 127)
    assert (np.abs(ours - x) <= 1.01 * step).all()


def test_q6_k_scales_are_signed():
    """W-25: a block scale of 0xFF is -1, also in a product."""
    block = np.zeros(210, np.uint8)
    block[192:208], block[208:] = 0xFF, np.array([1.0], np.float16).view(np.uint8)
    g = rlx.Graph("f")
    g.set_outputs([g.dequant_matmul(g.input("x", (1, 256)), g.input("w", (210,), "u8"), "gguf_q6_k")])
    (found,) = rlx.compile(g)(x=np.ones((1, 256), np.float32), w=block)
    assert found.tolist() == [[256 * 32.0]]


@pytest.mark.parametrize("scheme", [s for s in Scheme if s.embeds_scales])
def test_every_gguf_scheme_serves_experts(scheme: Scheme):
    """W-25, W-65: values and gradient of a grouped product, for q4_0 and q8_0 as for the others."""
    experts, k, n = 2, scheme.block, 2
    packed = blocks(scheme)(np.random.default_rng(2), (experts, n * scheme.block_bytes))
    at = np.array([1, 0, 1], np.int32)
    rng = np.random.default_rng(3)
    x, dy = rng.standard_normal((3, k)).astype(np.float32), rng.standard_normal((3, n)).astype(np.float32)
    g = rlx.Graph("f")
    inputs = g.input("x", x.shape), g.input("w", packed.shape, "u8"), g.input("at", (3,), "i32")
    g.set_outputs([g.reduce_sum(g.dequant_grouped_matmul(*inputs, experts, scheme) * dy)])
    loss, dx = rlx.compile(rlx.grad_with_loss(g, wrt=["x"]))(x=x, w=packed, at=at)
    whole = rlx.Graph("f")
    whole.set_outputs([whole.dequant_moe_weights(whole.input("w", packed.shape, "u8"), (experts, k, n), scheme)])
    weights = rlx.compile(whole)(packed)[0].astype(np.float64)[at]
    np.testing.assert_allclose(dx, np.einsum("mn,mkn->mk", dy, weights), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(loss, np.einsum("mk,mkn,mn->", x, weights, dy), rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize(
    ("scheme", "dtype"), [("fp8_e4m3", ml_dtypes.float8_e4m3fn), ("fp8_e5m2", ml_dtypes.float8_e5m2)]
)
def test_every_fp8_code_is_the_number_of_its_format(scheme: str, dtype: Any):
    """W-26: e4m3 reaches 448 and only 0x7F and 0xFF are NaN; e5m2 has infinities."""
    codes = np.arange(256, dtype=np.uint8).reshape(16, 16)
    g = rlx.Graph("f")
    g.set_outputs([g.dequantize_weights(g.input("w", (16, 16), "u8"), (16, 16), scheme)])
    (found,) = rlx.compile(g)(codes)
    same_bits(found, codes.view(dtype).astype(np.float32))
    if scheme == "fp8_e4m3":
        assert found[7, 14] == 448.0 and np.isnan(found).sum() == 2


def test_every_fp4_code_and_its_scales():
    """W-26: the table of e2m1, times an e4m3 scale per 16 rows, times the global scale; a NaN code as scale is 0."""
    g = rlx.Graph("f")
    w, scale, whole = g.input("w", (24,), "u8"), g.input("s", (3, 1), "u8"), g.input("g", (1,))
    g.set_outputs([g.dequantize_weights(w, (48, 1), "nvfp4_block", scale, global_scale=whole)])
    codes = np.array([2 * j | (2 * j + 1) << 4 for j in range(8)] * 3, np.uint8)
    (found,) = rlx.compile(g)(w=codes, s=np.array([[0x38], [0xC0], [0x7F]], np.uint8), g=np.array([0.5], np.float32))
    table = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6], np.float32)
    expected = np.concatenate([table * 0.5, table * -1.0, table * 0.0])
    np.testing.assert_array_equal(found[:, 0].view(np.uint32), expected.view(np.uint32))


def test_int4_weights_can_be_negative():
    """W-34: the zero point counts; without one it is 8."""
    g = rlx.Graph("f")
    w, scale, zero = g.input("w", (2,), "u8"), g.input("s", (1, 2)), g.input("z", (1, 2))
    build = lambda *z: g.dequantize_weights(w, (2, 2), "int4_block", scale, *z, block_size=2)  # noqa: E731
    g.set_outputs([build(), build(zero)])
    symmetric, shifted = rlx.compile(g)(
        w=np.array([0xF0, 0x38], np.uint8),
        s=np.array([[1.0, 0.5]], np.float32),
        z=np.array([[1.0, 15.0]], np.float32),
    )
    assert symmetric.tolist() == [[-8.0, 3.5], [0.0, -2.5]]
    assert shifted.tolist() == [[-1.0, 0.0], [7.0, -6.0]]


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_scales_and_zero_points_of_several_blocks_get_their_gradients(dtype: str):
    """W-36, W-30: two blocks of four and one of two; the gradients have the shapes and types of the operands."""
    rng = np.random.default_rng(4)
    x, w = rng.standard_normal((3, 10)).astype(np.float64), rng.integers(-128, 128, (10, 4)).astype(np.int8)
    s, z = rng.uniform(0.1, 0.5, (3, 4)), rng.uniform(-5, 5, (3, 4))
    dy = rng.standard_normal((3, 4))
    real = np.dtype(np.float32 if dtype == "f32" else np.float64)
    arrays = {"x": x.astype(real), "w": w, "s": s.astype(real), "z": z.astype(real)}
    g = rlx.Graph("f")
    x_, w_, s_, z_ = (g.input(name, a.shape, a.dtype) for name, a in arrays.items())
    y = g.dequant_matmul(x_, w_, "int8_block_asym", s_, z_, block_size=4)
    g.set_outputs([g.reduce_sum(y * g.constant(dy, dtype))])
    found = rlx.compile(rlx.grad(g, wrt=["x", "s", "z"]))(**arrays)
    rows = [slice(0, 4), slice(4, 8), slice(8, 10)]
    weights = (w - np.repeat(z, 4, 0)[:10]) * np.repeat(s, 4, 0)[:10]
    dw = x.T @ dy
    ds = np.stack([((w[r] - z[b]) * dw[r]).sum(0) for b, r in enumerate(rows)])
    dz = np.stack([-(s[b] * dw[r]).sum(0) for b, r in enumerate(rows)])
    for got, expected in zip(found, (dy @ weights.T, ds, dz), strict=True):
        assert got.dtype == real
        np.testing.assert_allclose(got, expected, rtol=1e-5 if dtype == "f32" else 1e-12, atol=100 * np.finfo(real).eps)


@pytest.mark.parametrize("scheme", [s for s in Scheme if s.embeds_scales])
def test_the_gradient_through_gguf_weights_is_exact(scheme: Scheme):
    """W-36: `dx = dy @ W_stored`, for every scheme."""
    packed = blocks(scheme)(np.random.default_rng(5), (2, scheme.block_bytes))
    weights = decoded(scheme, packed)
    g = rlx.Graph("f")
    x, w = g.input("x", (1, scheme.block)), g.input("w", packed.shape, "u8")
    g.set_outputs([g.reduce_sum(g.dequant_matmul(x, w, scheme) * np.array([[2.0, -0.5]], np.float32))])
    (dx,) = rlx.compile(rlx.grad(g, wrt=["x"]))(x=np.zeros((1, scheme.block), np.float32), w=packed)
    np.testing.assert_allclose(dx[0], 2 * weights[0] - 0.5 * weights[1], rtol=1e-6, atol=1e-6)


def test_integer_weights_have_no_gradient():
    """W-36, W-37: asking for one is an error, not a gradient rounded to integers."""
    g = rlx.Graph("f")
    x, w, s = g.input("x", (2, 4)), g.input("w", (4, 3), "i8"), g.input("s", (1, 3))
    g.set_outputs([g.reduce_sum(g.dequant_matmul(x, w, "int8_block", s, block_size=4))])
    with pytest.raises(rlx.GraphError, match="tensor<4x3xi8> is not floating-point"):
        rlx.compile(rlx.grad(g, wrt=["w"]))


def test_a_loss_on_the_result_of_an_integer_product_reaches_no_operand():
    """W-37: nothing flows through i8 products, and that is said."""
    g = rlx.Graph("f")
    x, w, b = g.input("x", (2, 4)), g.input("w", (4, 3), "i8"), g.input("b", (3,), "i32")
    g.set_outputs([g.reduce_sum(g.q_matmul(x.cast("i8"), w, b, 0.5).cast("f32"))])
    with pytest.raises(rlx.GraphError, match="its result is not floating-point"):
        rlx.compile(rlx.grad(g, wrt=["x"]))


def test_integer_products_round_half_to_even_and_saturate():
    """W-37, W-43: 0.5, 1.5, 2.5, -0.5, -1.5 round to 0, 2, 2, 0, -2; what is beyond i8 is clamped."""
    g = rlx.Graph("f")
    x, w, b = g.input("x", (1, 1), "i8"), g.input("w", (1, 7), "i8"), g.input("b", (7,), "i32")
    g.set_outputs([g.q_matmul(x, w, b, 0.5), g.q_matmul(x, w, b, 0.5, out_zero_point=100)])
    sums = np.array([1, 3, 5, -1, -3, 400, -(2**31)], np.int32)
    plain, moved = rlx.compile(g)(x=np.zeros((1, 1), np.int8), w=np.ones((1, 7), np.int8), b=sums)
    assert plain.tolist() == [[0, 2, 2, 0, -2, 127, -128]]
    assert moved.tolist() == [[100, 102, 102, 100, 98, 127, -128]]
