"""What the bytes of quantised weights mean, scheme by scheme. The loops over matrices of them are in `quant.py`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import nan
from typing import TypeAlias

from xdsl.dialects.builtin import f32, i8, i32

from xdsl_rlx.dialects.mir.quant_schemes import Scheme
from xdsl_rlx.lowering.nest import Array, Number, bitcast, cast, select

Special: TypeAlias = Callable[[Number, Number, int], Number]
"""`(magnitude, value, mantissa)`: the value where codes do not mean what exponent and mantissa say."""


def small_float(code: Number, exponent: int, mantissa: int, special: Special | None = None) -> Number:
    """
    The f32 of a sign-exponent-mantissa code, held in an i32 without higher bits.

    Exponent and mantissa moved to where f32 has them are the value but for the bias, subnormal ones included; a product
    with a power of two, which is exact, puts that right.
    """
    magnitude = code & ((1 << (exponent + mantissa)) - 1)
    bias = (1 << (exponent - 1)) - 1
    value = bitcast(magnitude << (23 - mantissa), f32) * 2.0 ** (127 - bias)
    if special is not None:
        value = special(magnitude, value, mantissa)
    sign = (code >> (exponent + mantissa)) << 31
    return bitcast(bitcast(value, i32) | sign, f32)


def _nan_of_ones(magnitude: Number, value: Number, mantissa: int) -> Number:
    return select(magnitude == 0x7F, cast(nan, f32), value)


def _zero_of_ones(magnitude: Number, value: Number, mantissa: int) -> Number:
    return select(magnitude == 0x7F, cast(0.0, f32), value)


def _ieee(magnitude: Number, value: Number, mantissa: int) -> Number:
    """The greatest of five bits of exponent is for infinity and NaN, as in IEEE 754."""
    beyond = bitcast(((magnitude & ((1 << mantissa) - 1)) << (23 - mantissa)) | 0x7F800000, f32)
    return select(magnitude >= 0x1F << mantissa, beyond, value)


def fp8(scheme: Scheme, code: Number) -> Number:
    """A weight of one byte: e4m3 as of the OCP, whose only special magnitude is a NaN, or e5m2 as of IEEE 754."""
    return small_float(code, 4, 3, _nan_of_ones) if scheme == Scheme.FP8_E4M3 else small_float(code, 5, 2, _ieee)


def scale_code(code: Number) -> Number:
    """An e4m3 scale of nvfp4: the code for NaN is 0."""
    return small_float(code, 4, 3, _zero_of_ones)


def fp4(code: Number) -> Number:
    """An e2m1 weight: 0, 1/2, 1, 3/2, 2, 3, 4, 6 and their negatives."""
    return small_float(code, 2, 1)


def _unsigned(byte: Number) -> Number:
    return cast(byte, i32)


def _signed(byte: Number) -> Number:
    return cast(cast(byte, i8), i32)


def _half(block: Array, at: int) -> Number:
    """The f16 in two bytes of a block, as an f32."""
    return small_float(_unsigned(block[at]) | (_unsigned(block[at + 1]) << 8), 5, 10, _ieee)


def _q4_0(block: Array, out: Array) -> None:
    d = _half(block, 0)
    for j in range(16):
        q = _unsigned(block[j + 2])
        out[j] = cast((q & 15) - 8, f32) * d
        out[j + 16] = cast((q >> 4) - 8, f32) * d


def _q8_0(block: Array, out: Array) -> None:
    d = _half(block, 0)
    for j in range(32):
        out[j] = cast(_signed(block[j + 2]), f32) * d


def _q8_k(block: Array, out: Array) -> None:
    bits = _unsigned(block[0])
    for n in (1, 2, 3):
        bits = bits | (_unsigned(block[n]) << (8 * n))
    d = bitcast(bits, f32)
    for j in range(256):
        out[j] = cast(_signed(block[j + 4]), f32) * d


# A k-quant is eight runs of 32 elements. In q2_k, q3_k and q6_k the two halves of a run have a scale each. Loops of 32
# with a choice of scale become vector code, loops of 16 do not: LLVM unrolls those first and then takes runs side by
# side, a byte at a time.


def _two_bits(v: Number) -> tuple[Number, Number]:
    """Run v = 4t + r has its 2-bit quants in the bytes 32t + j, shifted by 2r: (32t, 2r)."""
    return (v >> 2) << 5, cast((v & 3) << 1, i32)


def _q2_k(block: Array, out: Array) -> None:
    d, least = _half(block, 80), _half(block, 82)
    for v in range(8):
        codes = [_unsigned(block[2 * v + h]) for h in (0, 1)]
        scales = [cast(code & 15, f32) * d for code in codes]
        offsets = [cast(code >> 4, f32) * least for code in codes]
        (first, shift), start = _two_bits(v), 32 * v
        for j in range(32):
            q = (_unsigned(block[j + first + 16]) >> shift) & 3
            out[j + start] = cast(q, f32) * select(j < 16, *scales) - select(j < 16, *offsets)


def _q3_k(block: Array, out: Array) -> None:
    d = _half(block, 108)

    def scale(u: Number) -> Number:
        """Scale u of 16: its four low bits lie in one of eight bytes, its two high bits in one of four."""
        number = cast(u, i32)
        low = (_unsigned(block[(u & 7) + 96]) >> ((number >> 3) << 2)) & 15
        high = (_unsigned(block[(u & 3) + 104]) >> ((number >> 2) << 1)) & 3
        return cast((low | (high << 4)) - 32, f32) * d

    for v in range(8):
        scales, number = [scale(2 * v + h) for h in (0, 1)], cast(v, i32)
        (first, shift), start = _two_bits(v), 32 * v
        for j in range(32):
            high = (_unsigned(block[j]) >> number) & 1
            q = ((_unsigned(block[j + first + 32]) >> shift) & 3) + (high << 2) - 4
            out[j + start] = cast(q, f32) * select(j < 16, *scales)


def _q6_k(block: Array, out: Array) -> None:
    d = _half(block, 208)
    for v in range(8):
        scales = [cast(_signed(block[2 * v + (192 + h)]), f32) * d for h in (0, 1)]
        nibbles, nibble_shift = ((v >> 2) << 6) + ((v & 1) << 5), cast((v & 2) << 1, i32)
        (first, shift), start = _two_bits(v), 32 * v
        for j in range(32):
            low = (_unsigned(block[j + nibbles]) >> nibble_shift) & 15
            high = (_unsigned(block[j + first + 128]) >> shift) & 3
            out[j + start] = cast((low | (high << 4)) - 32, f32) * select(j < 16, *scales)


def _eighths(block: Array, out: Array, quants: int, high_bits: int | None = None) -> None:
    """q4_k and q5_k: a run has a 6-bit scale and a 6-bit minimum."""
    d, least = _half(block, 0), _half(block, 2)
    for v in range(8):
        early, number = v < 4, cast(v, i32)
        low, middle, high = [_unsigned(block[(v & 3) + at]) for at in (4, 8, 12)]
        scale = cast(select(early, low & 63, (high & 15) | ((low >> 6) << 4)), f32) * d
        offset = cast(select(early, middle & 63, (high >> 4) | ((middle >> 6) << 4)), f32) * least
        first, shift, start = (v >> 1) << 5, (number & 1) << 2, 32 * v
        for j in range(32):
            q = (_unsigned(block[j + first + quants]) >> shift) & 15
            if high_bits is not None:
                q = q | (((_unsigned(block[j + high_bits]) >> number) & 1) << 4)
            out[j + start] = cast(q, f32) * scale - offset


GGUF: dict[Scheme, Callable[[Array, Array], None]] = {
    Scheme.GGUF_Q4_0: _q4_0,
    Scheme.GGUF_Q8_0: _q8_0,
    Scheme.GGUF_Q2_K: _q2_k,
    Scheme.GGUF_Q3_K: _q3_k,
    Scheme.GGUF_Q4_K: partial(_eighths, quants=16),
    Scheme.GGUF_Q5_K: partial(_eighths, quants=48, high_bits=16),
    Scheme.GGUF_Q6_K: _q6_k,
    Scheme.GGUF_Q8_K: _q8_k,
}
"""How a block of each scheme, bytes of it, is decoded into its elements."""
