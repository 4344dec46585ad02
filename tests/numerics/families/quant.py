"""Quantised weights. gguf is decoded by the package of that name, the rest by formulas and tables."""

from typing import Any

import gguf
import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from numerics.sample import Operand, Sample, Sampler, integers, uniform, values
from oracle import Array, widen

from xdsl_rlx.dialects.mir import elementwise, quant, reduce
from xdsl_rlx.dialects.mir.quant_schemes import Scheme, SchemeAttr
from xdsl_rlx.dialects.shapes import shape_of

HALVES = {
    "gguf_q4_0": (0,),
    "gguf_q8_0": (0,),
    "gguf_q2_k": (80, 82),
    "gguf_q3_k": (108,),
    "gguf_q4_k": (0, 2),
    "gguf_q5_k": (0, 2),
    "gguf_q6_k": (208,),
}
"""Where the scales of a block stand, as f16."""

FP4 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])
E4M3 = np.arange(256, dtype=np.uint8).view(ml_dtypes.float8_e4m3fn).astype(np.float64)
E5M2 = np.arange(256, dtype=np.uint8).view(ml_dtypes.float8_e5m2).astype(np.float64)


def blocks(scheme: Scheme | str) -> Sampler:
    """Random gguf blocks, their scales of moderate size."""
    kind = Scheme(scheme)

    def sample(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        count = int(np.prod(shape)) // kind.block_bytes
        found = rng.integers(0, 256, (count, kind.block_bytes)).astype(np.uint8)
        if kind == Scheme.GGUF_Q8_K:
            found[:, :4] = rng.uniform(-0.1, 0.1, (count, 1)).astype(np.float32).view(np.uint8)
        else:
            for at in HALVES[kind]:
                found[:, at : at + 2] = rng.uniform(-0.1, 0.1, (count, 1)).astype(np.float16).view(np.uint8)
        return found.reshape(shape)

    return sample


def gguf_elements(scheme: Scheme, packed: Array) -> Array:
    """The f32 numbers of packed blocks, in their order."""
    flat = np.ascontiguousarray(packed).reshape(-1, scheme.block_bytes)
    if scheme == Scheme.GGUF_Q8_K:
        return (flat[:, :4].view(np.float32) * flat[:, 4:260].view(np.int8).astype(np.float32)).reshape(-1)
    if not flat.size:
        return np.zeros(0, np.float32)
    kind = gguf.GGMLQuantizationType[scheme.removeprefix("gguf_").upper()]
    return np.asarray(gguf.dequantize(flat, kind)).reshape(-1)


def _nibbles(np_: Any, w: Any, k: int, n: int) -> Any:
    flat = w.reshape(-1)
    return np_.stack([flat & 15, flat >> 4], -1).reshape(-1)[: k * n].reshape(k, n)


def _per_row(np_: Any, scale: Any, block: int, k: int) -> Any:
    return np_.repeat(scale, block, axis=0)[:k]


def dequantized(np_: Any, attr: SchemeAttr, stored: tuple[int, int], w: Any, scales: Any, element: Any) -> Any:
    """The weights as they are stored, computed in `element`."""
    kind, (k, n), size = attr.scheme, stored, attr.block_size
    if kind.embeds_scales:
        if np_ is np:
            return gguf_elements(kind, w).reshape(stored).astype(element)
        like = jax.ShapeDtypeStruct(stored, np.float32)
        decoded = jax.pure_callback(lambda packed: gguf_elements(kind, np.asarray(packed)).reshape(stored), like, w)
        return decoded.astype(element)
    if kind == Scheme.NVFP4_BLOCK:
        table = np_.asarray(np.where(np.isnan(E4M3), 0.0, E4M3).astype(element))
        codes = np_.asarray(FP4.astype(element))[_nibbles(np_, w, k, n)]
        return codes * _per_row(np_, table[scales[0]], size, k) * scales[1]
    if kind in (Scheme.FP8_E4M3, Scheme.FP8_E5M2):
        decoded = np_.asarray((E4M3 if kind == Scheme.FP8_E4M3 else E5M2).astype(element))[w]
        return decoded * scales[0] if len(scales) else decoded
    codes = (_nibbles(np_, w, k, n) if kind == Scheme.INT4_BLOCK else w).astype(element)
    if len(scales) > 1:
        codes = codes - _per_row(np_, scales[1], size, k)
    elif kind == Scheme.INT4_BLOCK:
        codes = codes - 8
    return codes * _per_row(np_, scales[0], size, k)


def _dequantize(np_: Any) -> Any:
    def row(op: quant.DequantizeWeightsOp, w: Any, *scales: Any) -> Any:
        element = scales[-1].dtype if scales else np.dtype(np.float32)
        found = dequantized(np_, op.scheme, op.stored, w, scales, element)
        return found.reshape(shape_of(op.result))

    return row


def _whole(np_: Any, op: Any, w: Any, scales: Any, element: Any) -> Any:
    """W as `[K, N]`."""
    stored = dequantized(np_, op.scheme, op.stored, w, scales, element)
    return stored.T if op.scheme.scheme.embeds_scales else stored


def element_of_product(rows: Any) -> Any:
    """What a product with these rows is computed in."""
    return rows.dtype if rows.dtype in (np.float32, np.float64) else np.dtype(np.float32)


def _matmul(np_: Any) -> Any:
    wide = widen if np_ is np else lambda v: v
    return lambda op, x, w, *scales: np_.matmul(wide(x), wide(_whole(np_, op, w, scales, element_of_product(x))))


def _matmul_back(np_: Any) -> Any:
    wide = widen if np_ is np else lambda v: v
    return lambda op, dy, w, *scales: np_.matmul(wide(dy), wide(_whole(np_, op, w, scales, element_of_product(dy)).T))


FINITE = values(*(n for n in range(256) if n % 128 < 120))
"""fp8 codes that are small numbers in both schemes."""


def _scale(shape: tuple[int, ...]) -> Operand:
    return Operand(shape, uniform(0.1, 0.5))


def _packings() -> list[tuple[str, str, int | None, tuple[int, int], tuple[Operand, ...], tuple[int, ...]]]:
    """Name, scheme, block size, (K, N), weights and scales, and which of those are differentiated."""
    codes = integers(0, 256)
    zero = lambda *shape: Operand(shape, uniform(-2.0, 9.0))  # noqa: E731
    return [
        ("int8", "int8_block", 4, (10, 3), (Operand((10, 3), integers(-128, 128), "i8"), _scale((3, 3))), (1,)),
        (
            "int8_asym",
            "int8_block_asym",
            5,
            (10, 4),
            (Operand((10, 4), integers(-128, 128), "i8"), _scale((2, 4)), zero(2, 4)),
            (1, 2),
        ),
        ("int4", "int4_block", 3, (6, 4), (Operand((12,), codes, "u8"), _scale((2, 4))), (1,)),
        ("int4-odd", "int4_block", 2, (5, 3), (Operand((8,), codes, "u8"), _scale((3, 3)), zero(3, 3)), (1, 2)),
        ("e4m3", "fp8_e4m3", None, (7, 5), (Operand((7, 5), FINITE, "u8"), _scale((5,))), (1,)),
        ("e5m2", "fp8_e5m2", None, (7, 5), (Operand((7, 5), values(*range(0, 64, 3)), "u8"), _scale((5,))), (1,)),
        (
            "nvfp4",
            "nvfp4_block",
            None,
            (20, 4),
            (Operand((40,), codes, "u8"), Operand((2, 4), FINITE, "u8"), _scale((1,))),
            (2,),
        ),
    ]


def _dequantize_samples() -> list[Sample]:
    op = quant.DequantizeWeightsOp
    rows: list[Sample] = []
    for name, scheme, size, shape, operands, wrt in _packings():
        build = lambda m, *v, s=scheme, z=size, d=shape: m.op(op, v[0].ssa, SchemeAttr.of(s, z), d, _ssa(v[1:]))  # noqa: E731
        rows.append(Sample(f"dequantize_weights-{name}", op, build, operands, differentiable=wrt, exact=True))
    every = Operand((16, 16), values(*range(256)), "u8")
    for scheme in ("fp8_e4m3", "fp8_e5m2"):
        build = lambda m, w, s=scheme: m.dequantize_weights(w, (16, 16), s)  # noqa: E731
        rows.append(Sample(f"dequantize_weights-{scheme}-codes", op, build, (every,), ("f32",), exact=True))
    for name, k, n in (("rows", 0, 3), ("columns", 4, 0)):
        build = lambda m, w, s, d=(k, n): m.dequantize_weights(w, d, "int8_block", s, block_size=2)  # noqa: E731
        operands = (Operand((k, n), integers(-9, 9), "i8"), _scale((-(-k // 2), n)))
        rows.append(Sample(f"dequantize_weights-no-{name}", op, build, operands, ("f32",), exact=True))
    for scheme in Scheme:
        if scheme.embeds_scales:
            build = lambda m, w, s=scheme: m.dequantize_weights(w, (s.block // 8, 8, 3), s)  # noqa: E731
            packed = Operand((3 * scheme.block_bytes,), blocks(scheme), "u8")
            rows.append(Sample(f"dequantize_weights-{scheme}", op, build, (packed,), ("f32",), exact=True))
    return rows


def _ssa(scales: Any) -> list[Any]:
    return [scale.ssa for scale in scales]


def _product_samples() -> list[Sample]:
    rows: list[Sample] = []
    forward, back = quant.DequantMatmulOp, quant.DequantMatmulBackwardInputOp
    for name, scheme, size, (k, n), operands, wrt in _packings():
        attr = SchemeAttr.of(scheme, size)
        moved = (0, *(at + 1 for at in wrt))
        product = lambda m, x, w, *s, a=attr: m.op(forward, x.ssa, w.ssa, a, _ssa(s))  # noqa: E731
        lead = (2, 3) if name == "int8" else (3,)
        every = (Operand((*lead, k)), *operands)
        rows.append(Sample(f"dequant_matmul-{name}", forward, product, every, differentiable=moved, tol=32))
        transposed = lambda m, x, w, *s, a=attr, d=k: m.op(back, x.ssa, w.ssa, a, d, _ssa(s))  # noqa: E731
        every = (Operand((*lead, n)), *operands)
        key = f"dequant_matmul_backward_input-{name}"
        rows.append(Sample(key, back, transposed, every, differentiable=moved, tol=32))
    for name, scheme, k, n in (
        ("q4_0", "gguf_q4_0", 64, 3),
        ("q4_0-across", "gguf_q4_0", 8, 8),
        ("q8_0", "gguf_q8_0", 32, 5),
        ("q4_k", "gguf_q4_k", 256, 2),
        ("q6_k", "gguf_q6_k", 512, 2),
    ):
        kind = Scheme(scheme)
        packed = Operand((k * n // kind.block * kind.block_bytes,), blocks(kind), "u8")
        product = lambda m, x, w, s=kind: m.dequant_matmul(x, w, s)  # noqa: E731
        key = f"dequant_matmul-{name}"
        rows.append(Sample(key, forward, product, (Operand((3, k)), packed), differentiable=(0,), tol=64))
        transposed = lambda m, x, w, s=kind, d=k: m.dequant_matmul_backward_input(x, w, d, s)  # noqa: E731
        key = f"dequant_matmul_backward_input-{name}"
        rows.append(Sample(key, back, transposed, (Operand((3, n)), packed), differentiable=(0,), tol=64))
    return rows + _odd_product_samples()


def _odd_product_samples() -> list[Sample]:
    """Half floats, missing scales, several panels, many rows, empty extents."""
    forward, back = quant.DequantMatmulOp, quant.DequantMatmulBackwardInputOp
    int8 = lambda m, x, w, s: m.dequant_matmul(x, w, "int8_block", s, block_size=2)  # noqa: E731
    int8_back = lambda m, x, w, s: m.dequant_matmul_backward_input(x, w, 6, "int8_block", s, block_size=2)  # noqa: E731
    weights = Operand((6, 4), integers(-9, 9), "i8")
    half = (Operand((3, 6)), weights, Operand((3, 4), uniform(0.1, 0.5), "f32"))
    half_back = (Operand((3, 4)), *half[1:])
    plain = lambda m, x, w: m.dequant_matmul(x, w, "fp8_e4m3")  # noqa: E731
    bytes_ = Operand((5, 4), FINITE, "u8")
    q8 = lambda m, x, w: m.dequant_matmul(x, w, "gguf_q8_0")  # noqa: E731
    q8_back = lambda m, x, w: m.dequant_matmul_backward_input(x, w, 4096, "gguf_q8_0")  # noqa: E731
    long = Operand((4096 // 32 * 34 * 20,), blocks("gguf_q8_0"), "u8")
    nibbles = lambda m, x, w, s: m.dequant_matmul(x, w, "int4_block", s, block_size=64)  # noqa: E731
    rows = [
        Sample("dequant_matmul-half", forward, int8, half, ("f16", "bf16"), tol=4),
        Sample("dequant_matmul_backward_input-half", back, int8_back, half_back, ("f16", "bf16"), tol=4),
        Sample("dequant_matmul-plain", forward, plain, (Operand((3, 5)), bytes_), differentiable=(0,), tol=32),
        Sample("dequant_matmul-panels", forward, q8, (Operand((2, 4096)), long), ("f32",), tol=256),
        Sample("dequant_matmul_backward_input-panels", back, q8_back, (Operand((2, 20)), long), ("f32",), tol=64),
        Sample(
            "dequant_matmul-many-rows",
            forward,
            nibbles,
            (Operand((40, 600)), Operand((600 * 300 // 2,), integers(0, 256), "u8"), _scale((10, 300))),
            ("f32",),
            tol=128,
        ),
    ]
    by_rows = (Operand((40, 544)), Operand((5 * 17 * 34,), blocks("gguf_q8_0"), "u8"))
    rows.append(Sample("dequant_matmul-many-blocks", forward, q8, by_rows, ("f32",), tol=128))
    for name, m_, k, n in (("no-rows", 0, 6, 4), ("no-columns", 3, 6, 0), ("no-depth", 3, 0, 4)):
        operands = (Operand((m_, k)), Operand((k, n), integers(-9, 9), "i8"), _scale((k // 2, n)))
        rows.append(Sample(f"dequant_matmul-{name}", forward, int8, operands, ("f32",)))
    return rows


def _byte_samples() -> list[Sample]:
    """Other ops on the element types that weights are packed in."""
    rows: list[Sample] = []
    for dtype, most in (("u8", 256), ("u32", 2**32), ("i16", 2**15)):
        least = -most if dtype == "i16" else 0
        pair = (Operand((9,), integers(least, most), dtype), Operand((9,), integers(least, most), dtype))
        for name, op, build in (
            ("add", elementwise.AddOp, lambda m, x, y: x + y),
            ("max", elementwise.MaxOp, lambda m, x, y: m.max(x, y)),
            ("min", elementwise.MinOp, lambda m, x, y: m.min(x, y)),
            ("lt", elementwise.LtOp, lambda m, x, y: x < y),
        ):
            rows.append(Sample(f"{name}-{dtype}", op, build, pair, (dtype,), exact=True))
        casts = lambda m, x: (m.abs(x), x.cast("f64"), x.cast("i8"), x.cast("u32"), (x.cast("f64") * 2).cast(x.dtype))  # noqa: E731
        rows.append(Sample(f"abs-{dtype}", elementwise.AbsOp, casts, pair[:1], (dtype,), exact=True))
        extremes = lambda m, x: (m.reduce_max(x, 0), m.reduce_min(x, 0), m.reduce_sum(x))  # noqa: E731
        both = (Operand((3, 4), integers(least, most), dtype),)
        rows.append(Sample(f"reduce_max-{dtype}", reduce.ReduceMaxOp, extremes, both, (dtype,), exact=True))
    return rows


SAMPLES = (*_dequantize_samples(), *_product_samples(), *_byte_samples())
ORACLE = {
    quant.DequantizeWeightsOp: _dequantize(np),
    quant.DequantMatmulOp: _matmul(np),
    quant.DequantMatmulBackwardInputOp: _matmul_back(np),
}
JAX = {
    quant.DequantizeWeightsOp: _dequantize(jnp),
    quant.DequantMatmulOp: _matmul(jnp),
    quant.DequantMatmulBackwardInputOp: _matmul_back(jnp),
}
