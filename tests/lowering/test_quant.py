"""Kernels of quantised weights and of unsigned integers: both readings, and that their loops are vector code."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from numerics.families import quant as family
from xdsl.dialects.builtin import ModuleOp

import xdsl_rlx as rlx
from xdsl_rlx.dialects.mir.quant_schemes import Scheme
from xdsl_rlx.lowering.backend.runtime.compile_module import lower_to_lir

Run = SimpleNamespace


def lowered(graph: rlx.Graph) -> ModuleOp:
    module = lower_to_lir(graph.module, 1)
    module.verify()
    return module


@pytest.mark.parametrize("scheme", [s for s in Scheme if s.embeds_scales])
def test_gguf_blocks_are_read_alike(run: Run, scheme: Scheme):
    packed = family.blocks(scheme)(np.random.default_rng(0), (2 * scheme.block_bytes,))
    graph = rlx.Graph("step")
    graph.set_outputs([graph.dequantize_weights(graph.input("w", packed.shape, "u8"), (2, scheme.block), scheme)])
    (found,) = run.agree(lowered(graph), jit=scheme == Scheme.GGUF_Q6_K, w=packed)
    np.testing.assert_array_equal(found.reshape(-1), family.gguf_elements(scheme, packed))


def test_bytes_are_unsigned_in_both_readings(run: Run):
    graph = rlx.Graph("step")
    x, y = graph.input("x", (6,), "u8"), graph.input("y", (6,), "u8")
    table = graph.constant(np.array([250, 1, 200, 3, 128, 5], np.uint8))
    graph.set_outputs(
        [
            x + y,
            graph.max(x, y),
            x < y,
            x.cast("f32"),
            (x.cast("f32") * 1.5).cast("u8"),
            x + table,
            graph.reduce_max(x),
            x + graph.constant(255, "u8"),
        ]
    )
    x_, y_ = np.array([0, 1, 127, 128, 200, 255], np.uint8), np.array([255, 0, 128, 127, 100, 255], np.uint8)
    found = run.agree(lowered(graph), x=x_, y=y_)
    most = np.minimum(np.trunc(x_ * 1.5), 255).astype(np.uint8)
    expected = [
        x_ + y_,
        np.maximum(x_, y_),
        x_ < y_,
        x_.astype(np.float32),
        most,
        x_ + np.array([250, 1, 200, 3, 128, 5], np.uint8),
        np.array(255, np.uint8),
        x_ + np.uint8(255),
    ]
    for result, right in zip(found, expected, strict=True):
        np.testing.assert_array_equal(result.view(right.dtype), right)


def test_products_are_read_alike(run: Run):
    rng = np.random.default_rng(1)
    graph = rlx.Graph("step")
    x, w = graph.input("x", (2, 140)), graph.input("w", (140, 3), "i8")
    scale, at = graph.input("scale", (5, 3)), graph.input("at", (2,), "i32")
    packed = graph.input("packed", (2, 3 * 34), "u8")
    bias, q = graph.input("bias", (3,), "i32"), graph.input("q", (2, 140), "i8")
    graph.set_outputs(
        [
            graph.dequant_matmul(x, w, "int8_block", scale, block_size=32),
            graph.dequant_grouped_matmul(graph.narrow(x, 1, 0, 32), packed, at, 2, "gguf_q8_0"),
            graph.q_matmul(q, w, bias, 0.01, 1, 2, 3),
        ]
    )
    run.agree(
        lowered(graph),
        jit=False,
        x=rng.normal(size=(2, 140)).astype(np.float32),
        w=rng.integers(-9, 9, (140, 3)).astype(np.int8),
        scale=rng.uniform(0.1, 0.2, (5, 3)).astype(np.float32),
        at=np.array([1, 0], np.int32),
        packed=family.blocks("gguf_q8_0")(rng, (2, 102)),
        bias=np.arange(3, dtype=np.int32),
        q=rng.integers(-9, 9, (2, 140)).astype(np.int8),
    )


@pytest.mark.parametrize("scheme", ["gguf_q4_k", "gguf_q6_k", "gguf_q2_k", "gguf_q3_k", "gguf_q8_0"])
def test_blocks_are_decoded_by_vector_code(run: Run, scheme: str):
    """Bytes are widened many at a time, and nothing is gathered or scattered."""
    kind = Scheme(scheme)
    graph = rlx.Graph("step")
    w = graph.input("w", (8 * kind.block_bytes,), "u8")
    graph.set_outputs([graph.dequantize_weights(w, (8, kind.block), kind)])
    text = run.assembly(lowered(graph))
    assert re.search(r"\bvpmov[sz]xbd\b", text)
    assert not re.search(r"\bv(p?scatter|p?gather)", text)


def test_integer_products_are_vector_code(run: Run):
    graph = rlx.Graph("step")
    x, w, bias = graph.input("x", (8, 64), "i8"), graph.input("w", (64, 256), "i8"), graph.input("b", (256,), "i32")
    graph.set_outputs([graph.q_matmul(x, w, bias, 0.01)])
    assert re.search(r"\b(vpmul(ld|dq|lw)|vpmaddwd|vpdpbusd|tdpbsud)\b", run.assembly(lowered(graph)))
