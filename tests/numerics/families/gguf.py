"""Products with gguf weights of several experts. What one matrix of them means is in `quant.py`."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from numerics.families.quant import blocks, dequantized, element_of_product
from numerics.sample import Operand, Sample, integers, values
from oracle import convert, widen

from xdsl_rlx.dialects.mir.quant_schemes import Scheme, SchemeAttr
from xdsl_rlx.plugins.gguf import ops as gguf


def _experts(np_: Any, attr: SchemeAttr, packed: Any, extents: tuple[int, int, int], element: Any) -> Any:
    experts, k, n = extents
    return dequantized(np_, attr, (experts * n, k), packed, (), element).reshape(experts, n, k).transpose(0, 2, 1)


def _grouped(np_: Any, transposed: bool) -> Any:
    def row(op: Any, x: Any, packed: Any, indices: Any) -> Any:
        experts = op.experts.value.data
        weights = _experts(np_, op.scheme, packed, (experts, *op.matrix), element_of_product(x))
        at = convert(indices, np.dtype(np.int64)) if np_ is np else indices.astype(jnp.int64)
        chosen = weights[np_.clip(at, 0, experts - 1)]
        if np_ is np:
            x, chosen = widen(x), widen(chosen)
        return np_.einsum("mn,mkn->mk" if transposed else "mk,mkn->mn", x, chosen)

    return row


def _grouped_samples() -> list[Sample]:
    rows: list[Sample] = []
    forward, back = gguf.DequantGroupedMatmulOp, gguf.DequantGroupedMatmulBackwardInputOp
    at = Operand((6,), values(2, 0, 2, 2, 9, -4), "i32")
    for name, scheme, k, n, indices in (
        ("q4_0", "gguf_q4_0", 32, 4, at),
        ("q8_0-f32", "gguf_q8_0", 64, 3, Operand((6,), values(1, 0, 1, 2, 1, 1), "f32")),
        ("q5_k", "gguf_q5_k", 256, 1, at),
        ("across", "gguf_q4_0", 8, 4, at),
    ):
        kind = Scheme(scheme)
        packed = Operand((3, k * n // kind.block * kind.block_bytes), blocks(kind), "u8")
        product = lambda m, x, w, i, s=kind: m.dequant_grouped_matmul(x, w, i, 3, s)  # noqa: E731
        operands = (Operand((6, k)), packed, indices)
        key = f"dequant_grouped_matmul-{name}"
        rows.append(Sample(key, forward, product, operands, differentiable=(0,), tol=64))
        transposed = lambda m, x, w, i, s=kind, d=k: m.dequant_grouped_matmul_backward_input(x, w, i, 3, d, s)  # noqa: E731
        operands = (Operand((6, n)), packed, indices)
        key = f"dequant_grouped_matmul_backward_input-{name}"
        rows.append(Sample(key, back, transposed, operands, differentiable=(0,), tol=64))
    half = (Operand((6, 32)), Operand((3, 36), blocks("gguf_q4_0"), "u8"), at)
    product = lambda m, x, w, i: m.dequant_grouped_matmul(x, w, i, 3, "gguf_q4_0")  # noqa: E731
    rows.append(Sample("dequant_grouped_matmul-half", forward, product, half, ("f16", "bf16"), tol=4))
    half = (Operand((6, 2)), *half[1:])
    product = lambda m, x, w, i: m.dequant_grouped_matmul_backward_input(x, w, i, 3, 32, "gguf_q4_0")  # noqa: E731
    rows.append(Sample("dequant_grouped_matmul_backward_input-half", back, product, half, ("f16",), tol=4))
    many = (
        Operand((40, 544)),
        Operand((3, 5 * 17 * 34), blocks("gguf_q8_0"), "u8"),
        Operand((40,), integers(0, 4), "i32"),
    )
    product = lambda m, x, w, i: m.dequant_grouped_matmul(x, w, i, 3, "gguf_q8_0")  # noqa: E731
    rows.append(Sample("dequant_grouped_matmul-many", forward, product, many, ("f32",), tol=128))
    moe = lambda m, w: m.dequant_moe_weights(w, (2, 32, 3), "gguf_q8_0")  # noqa: E731
    packed = Operand((2 * 3 * 34,), blocks("gguf_q8_0"), "u8")
    rows.append(Sample("dequant_moe_weights", gguf.DequantMoeWeightsOp, moe, (packed,), ("f32",), exact=True))
    return rows


SAMPLES = _grouped_samples()

ORACLE = {
    gguf.DequantMoeWeightsOp: lambda op, packed: _experts(np, op.scheme, packed, op.extents, np.float32),
    gguf.DequantGroupedMatmulOp: _grouped(np, False),
    gguf.DequantGroupedMatmulBackwardInputOp: _grouped(np, True),
}

JAX = {
    gguf.DequantMoeWeightsOp: lambda op, packed: _experts(jnp, op.scheme, packed, op.extents, jnp.float32),
    gguf.DequantGroupedMatmulOp: _grouped(jnp, False),
    gguf.DequantGroupedMatmulBackwardInputOp: _grouped(jnp, True),
}
