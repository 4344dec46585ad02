"""How blocks of gguf are decoded, and the kernel of products with the weights of experts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from xdsl.dialects.builtin import f32, i8, i32

from xdsl_rlx.dialects.shapes import element_of, shape_of
from xdsl_rlx.lowering.kernel_dsl import Array, Number, bitcast, cast, select
from xdsl_rlx.lowering.kernels.quant import PackedWeights, Panels
from xdsl_rlx.lowering.kernels.quant_decode import BLOCKS, small_float
from xdsl_rlx.lowering.kernels.work import NEST, Work
from xdsl_rlx.plugins.gguf.ops import DequantGroupedMatmulBackwardInputOp, DequantGroupedMatmulOp


def _signed(byte: Number) -> Number:
    return cast(cast(byte, i8), i32)


def _word(block: Array, at: int, size: int) -> Number:
    """Bytes of a block as an i32, the lowest first."""
    bits = cast(block[at], i32)
    for n in tuple(range(1, size)):
        bits = bits | (cast(block[at + n], i32) << (8 * n))
    return bits


def _half(block: Array, at: int) -> Number:
    """The f16 in two bytes of a block, as an f32."""
    return small_float(_word(block, at, 2), 5, 10, ieee=True)


def _single(block: Array, at: int) -> Number:
    """The f32 in four bytes of a block."""
    return bitcast(_word(block, at, 4), f32)


def _q4_0(block: Array, out: Array) -> None:
    d = _half(block, 0)
    for j in range(16):
        q = cast(block[j + 2], i32)
        out[j] = cast((q & 15) - 8, f32) * d
        out[j + 16] = cast((q >> 4) - 8, f32) * d


def _q8(block: Array, out: Array, scale: Callable[[Array, int], Number], first: int, count: int) -> None:
    """q8_0 and q8_k: a scale, and bytes from `first` on."""
    d = scale(block, 0)
    for j in range(count):
        out[j] = cast(_signed(block[j + first]), f32) * d


# A k-quant is eight runs of 32 elements. In q2_k, q3_k and q6_k the two halves of a run have a scale each. Loops of 32
# with a choice of scale become vector code, loops of 16 do not: LLVM unrolls those first and then takes runs side by
# side, a byte at a time.


def _two_bits(v: Number) -> tuple[Number, Number]:
    """Run v = 4t + r has its 2-bit quants in the bytes 32t + j, shifted by 2r: (32t, 2r)."""
    return (v >> 2) << 5, cast((v & 3) << 1, i32)


def _q2_k(block: Array, out: Array) -> None:
    d, least = _half(block, 80), _half(block, 82)
    for v in range(8):
        codes = [cast(block[2 * v + h], i32) for h in (0, 1)]
        scales = [cast(code & 15, f32) * d for code in codes]
        offsets = [cast(code >> 4, f32) * least for code in codes]
        (first, shift), start = _two_bits(v), 32 * v
        for j in range(32):
            q = (cast(block[j + first + 16], i32) >> shift) & 3
            out[j + start] = cast(q, f32) * select(j < 16, *scales) - select(j < 16, *offsets)


def _q3_k(block: Array, out: Array) -> None:
    d = _half(block, 108)

    def scale(u: Number) -> Number:
        """Scale u of 16: its four low bits lie in one of eight bytes, its two high bits in one of four."""
        number = cast(u, i32)
        low = (cast(block[(u & 7) + 96], i32) >> ((number >> 3) << 2)) & 15
        high = (cast(block[(u & 3) + 104], i32) >> ((number >> 2) << 1)) & 3
        return cast((low | (high << 4)) - 32, f32) * d

    for v in range(8):
        scales, number = [scale(2 * v + h) for h in (0, 1)], cast(v, i32)
        (first, shift), start = _two_bits(v), 32 * v
        for j in range(32):
            high = (cast(block[j], i32) >> number) & 1
            q = ((cast(block[j + first + 32], i32) >> shift) & 3) + (high << 2) - 4
            out[j + start] = cast(q, f32) * select(j < 16, *scales)


def _q6_k(block: Array, out: Array) -> None:
    d = _half(block, 208)
    for v in range(8):
        scales = [cast(_signed(block[2 * v + (192 + h)]), f32) * d for h in (0, 1)]
        nibbles, nibble_shift = ((v >> 2) << 6) + ((v & 1) << 5), cast((v & 2) << 1, i32)
        (first, shift), start = _two_bits(v), 32 * v
        for j in range(32):
            low = (cast(block[j + nibbles], i32) >> nibble_shift) & 15
            high = (cast(block[j + first + 128], i32) >> shift) & 3
            out[j + start] = cast((low | (high << 4)) - 32, f32) * select(j < 16, *scales)


def _eighths(block: Array, out: Array, quants: int, high_bits: int | None = None) -> None:
    """q4_k and q5_k: a run has a 6-bit scale and a 6-bit minimum."""
    d, least = _half(block, 0), _half(block, 2)
    for v in range(8):
        early, number = v < 4, cast(v, i32)
        low, middle, high = [cast(block[(v & 3) + at], i32) for at in (4, 8, 12)]
        scale = cast(select(early, low & 63, (high & 15) | ((low >> 6) << 4)), f32) * d
        offset = cast(select(early, middle & 63, (high >> 4) | ((middle >> 6) << 4)), f32) * least
        first, shift, start = (v >> 1) << 5, (number & 1) << 2, 32 * v
        for j in range(32):
            q = (cast(block[j + first + quants], i32) >> shift) & 15
            if high_bits is not None:
                q = q | (((cast(block[j + high_bits], i32) >> number) & 1) << 4)
            out[j + start] = cast(q, f32) * scale - offset


BLOCKS.update(
    {
        "gguf_q4_0": _q4_0,
        "gguf_q8_0": partial(_q8, scale=_half, first=2, count=32),
        "gguf_q2_k": _q2_k,
        "gguf_q3_k": _q3_k,
        "gguf_q4_k": partial(_eighths, quants=16),
        "gguf_q5_k": partial(_eighths, quants=48, high_bits=16),
        "gguf_q6_k": _q6_k,
        "gguf_q8_k": partial(_q8, scale=_single, first=4, count=256),
    }
)


@NEST.rule(DequantGroupedMatmulOp, DequantGroupedMatmulBackwardInputOp)
def dequant_grouped_matmul_nest(op: DequantGroupedMatmulOp | DequantGroupedMatmulBackwardInputOp, work: Work) -> None:
    """An iteration dequantises some columns of the weights of one expert, or of their transpose, if a row wants it."""
    is_backward = isinstance(op, DequantGroupedMatmulBackwardInputOp)
    rows, (k, n) = op.dy if is_backward else op.x, op.matrix
    weights = PackedWeights(op.scheme, n, k, element_of(op.result), op.experts.value.data)
    reads = [*weights.reads(work, op.packed), work.read(op.indices)]
    Panels(weights, shape_of(rows)[0], by_rows=not is_backward, chosen=True).launches(work, reads, rows, op.result)
