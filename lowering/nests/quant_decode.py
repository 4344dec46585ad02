"""What the bytes of quantised weights mean, scheme by scheme, as scalar code. The loops around them are in `quant.py`.

An operator inserts its op where its left operand was made, so what belongs to the innermost loop stands on the left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue

from xdsl_rlx.dialects.lir.scalar_builder import Scalar, ScalarBuilder
from xdsl_rlx.dialects.mir.quant_schemes import Scheme
from xdsl_rlx.lowering.nest.builder import Nest

Put: TypeAlias = Callable[[Nest, Scalar, Scalar], None]
"""`(nest, place, value)`: what becomes of one element; the place is an index."""

Special: TypeAlias = Callable[[ScalarBuilder, Scalar, Scalar], Scalar]
"""`(b, magnitude, value)`: the value where codes do not mean what exponent and mantissa say."""


def small_float(b: ScalarBuilder, code: Scalar, exponent: int, mantissa: int, special: Special | None = None) -> Scalar:
    """
    The f32 of a sign-exponent-mantissa code, held in an i32 without higher bits.

    Exponent and mantissa moved to where f32 has them are the value but for the bias, subnormal ones included; a product
    with a power of two, which is exact, puts that right.
    """
    magnitude = code & ((1 << (exponent + mantissa)) - 1)
    bias = (1 << (exponent - 1)) - 1
    value = b.bitcast(magnitude << (23 - mantissa), f32) * 2.0 ** (127 - bias)
    if special is not None:
        value = special(b, magnitude, value)
    sign = (code >> (exponent + mantissa)) << 31
    return b.bitcast(b.bitcast(value, i32) | sign, f32)


def _nan_of_ones(b: ScalarBuilder, magnitude: Scalar, value: Scalar) -> Scalar:
    return b.select(b.eq(magnitude, 0x7F), float("nan"), value)


def _zero_of_ones(b: ScalarBuilder, magnitude: Scalar, value: Scalar) -> Scalar:
    return b.select(b.eq(magnitude, 0x7F), 0.0, value)


def _ieee(mantissa: int, largest: int) -> Special:
    """The greatest exponent is for infinity and NaN, as in IEEE 754."""

    def special(b: ScalarBuilder, magnitude: Scalar, value: Scalar) -> Scalar:
        beyond = b.bitcast(((magnitude & ((1 << mantissa) - 1)) << (23 - mantissa)) | 0x7F800000, f32)
        return b.select(magnitude >= largest, beyond, value)

    return special


def half(b: ScalarBuilder, code: Scalar) -> Scalar:
    """The f32 of the bits of an f16."""
    return small_float(b, code, 5, 10, _ieee(10, 0x7C00))


def fp8(b: ScalarBuilder, scheme: Scheme, code: Scalar) -> Scalar:
    """A weight of one byte: e4m3 as of the OCP, whose only special magnitude is a NaN, or e5m2 as of IEEE 754."""
    if scheme == Scheme.FP8_E4M3:
        return small_float(b, code, 4, 3, _nan_of_ones)
    return small_float(b, code, 5, 2, _ieee(2, 0x7C))


def scale_code(b: ScalarBuilder, code: Scalar) -> Scalar:
    """An e4m3 scale of nvfp4: the code for NaN is 0."""
    return small_float(b, code, 4, 3, _zero_of_ones)


def fp4(b: ScalarBuilder, code: Scalar) -> Scalar:
    """An e2m1 weight: 0, 1/2, 1, 3/2, 2, 3, 4, 6 and their negatives."""
    return small_float(b, code, 2, 1)


def load_byte(nest: Nest, buffer: SSAValue, at: Sequence[SSAValue], signed: bool = False) -> Scalar:
    """A byte as an i32."""
    return nest.scalars.cast(nest.load(buffer, at), i32, signed=signed)


@dataclass(frozen=True)
class Block:
    """A gguf block: the bytes `buffer[at, :]`, decoded element by element into `put`."""

    nest: Nest
    buffer: SSAValue
    at: tuple[SSAValue, ...]
    put: Put

    def byte(self, nest: Nest, offset: Scalar | int, signed: bool = False) -> Scalar:
        """The byte at an offset, as an i32."""
        place = nest.kernel.index(offset) if isinstance(offset, int) else offset.value
        return load_byte(nest, self.buffer, (*self.at, place), signed)

    def half(self, offset: int) -> Scalar:
        """The f16 at an offset, as an f32."""
        return half(self.nest.scalars, self.byte(self.nest, offset) | (self.byte(self.nest, offset + 1) << 8))

    def each(self, nest: Nest, count: int, name: str, body: Callable[[Nest, Scalar], None]) -> None:
        """A loop over `count` numbers."""

        def step(inside: Nest, at: tuple[SSAValue, ...], _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            body(inside, inside.scalars.of(at[0]))
            return ()

        nest.loops([count], (), step, name)


def _number(nest: Nest, q: Scalar) -> Scalar:
    return nest.scalars.cast(q, f32)


def _q4_0(block: Block) -> None:
    d = block.half(0)

    def pair(nest: Nest, j: Scalar) -> None:
        q = block.byte(nest, j + 2)
        block.put(nest, j, _number(nest, (q & 15) - 8) * d)
        block.put(nest, j + 16, _number(nest, (q >> 4) - 8) * d)

    block.each(block.nest, 16, "j", pair)


def _q8_0(block: Block) -> None:
    d = block.half(0)

    def one(nest: Nest, j: Scalar) -> None:
        block.put(nest, j, _number(nest, block.byte(nest, j + 2, signed=True)) * d)

    block.each(block.nest, 32, "j", one)


def _q8_k(block: Block) -> None:
    b = block.nest.scalars
    bits = block.byte(block.nest, 0)
    for n in range(1, 4):
        bits = bits | (block.byte(block.nest, n) << (8 * n))
    d = b.bitcast(bits, f32)

    def one(nest: Nest, j: Scalar) -> None:
        block.put(nest, j, _number(nest, block.byte(nest, j + 4, signed=True)) * d)

    block.each(block.nest, 256, "j", one)


def _runs(block: Block, body: Callable[[Nest, Scalar], None]) -> None:
    """
    Eight runs of 32 elements. Run v = 4t + r has its 2-bit quants in the bytes 32t + j, shifted by 2r.

    Its two halves have a scale each. Loops of 32 with a choice of scale become vector code, loops of 16 do not: LLVM
    unrolls those first and then takes runs side by side, a byte at a time.
    """
    block.each(block.nest, 8, "v", body)


def _two_bits(block: Block, nest: Nest, run: Scalar, j: Scalar, offset: int) -> Scalar:
    """The 2-bit quant of element j of a run."""
    shift = nest.scalars.cast((run & 3) << 1, i32)
    return (block.byte(nest, j + ((run >> 2) << 5) + offset) >> shift) & 3


def _of_half(j: Scalar, halves: Sequence[Scalar]) -> Scalar:
    """What belongs to the half of a run that element j is in."""
    return j.b.select(j < 16, *halves)


def _q2_k(block: Block) -> None:
    d, least = block.half(80), block.half(82)

    def run(nest: Nest, v: Scalar) -> None:
        codes = [block.byte(nest, (v << 1) + h) for h in range(2)]
        scales = [_number(nest, s & 15) * d for s in codes]
        offsets = [_number(nest, s >> 4) * least for s in codes]

        def one(inside: Nest, j: Scalar) -> None:
            q = _two_bits(block, inside, v, j, 16)
            value = _number(inside, q) * _of_half(j, scales) - _of_half(j, offsets)
            block.put(inside, j + (v << 5), value)

        block.each(nest, 32, "j", one)

    _runs(block, run)


def _q3_k(block: Block) -> None:
    d = block.half(108)

    def scale(nest: Nest, u: Scalar) -> Scalar:
        number = nest.scalars.cast(u, i32)
        under = (block.byte(nest, (u & 7) + 96) >> ((number >> 3) << 2)) & 15
        over = (block.byte(nest, (u & 3) + 104) >> ((number >> 2) << 1)) & 3
        return _number(nest, (under | (over << 4)) - 32) * d

    def run(nest: Nest, v: Scalar) -> None:
        scales = [scale(nest, (v << 1) + h) for h in range(2)]
        number = nest.scalars.cast(v, i32)

        def one(inside: Nest, j: Scalar) -> None:
            high = (block.byte(inside, j) >> number) & 1
            q = _two_bits(block, inside, v, j, 32) + (high << 2) - 4
            block.put(inside, j + (v << 5), _number(inside, q) * _of_half(j, scales))

        block.each(nest, 32, "j", one)

    _runs(block, run)


def _q6_k(block: Block) -> None:
    d = block.half(208)

    def run(nest: Nest, v: Scalar) -> None:
        scales = [_number(nest, block.byte(nest, (v << 1) + (192 + h), signed=True)) * d for h in range(2)]
        first = ((v >> 2) << 6) + ((v & 1) << 5)
        shift = nest.scalars.cast((v & 2) << 1, i32)

        def one(inside: Nest, j: Scalar) -> None:
            under = (block.byte(inside, j + first) >> shift) & 15
            over = _two_bits(block, inside, v, j, 128)
            block.put(inside, j + (v << 5), _number(inside, (under | (over << 4)) - 32) * _of_half(j, scales))

        block.each(nest, 32, "j", one)

    _runs(block, run)


def _eighths(block: Block, quants: int, high_bits: int | None) -> None:
    """q4_k and q5_k: eight runs of 32 elements with a 6-bit scale and a 6-bit minimum each."""
    d, least = block.half(0), block.half(2)

    def run(nest: Nest, j: Scalar) -> None:
        b = nest.scalars
        low, middle, high = (block.byte(nest, (j & 3) + offset) for offset in (4, 8, 12))
        early = j < 4
        s = b.select(early, low & 63, (high & 15) | ((low >> 6) << 4))
        m = b.select(early, middle & 63, (high >> 4) | ((middle >> 6) << 4))
        scale, offset = _number(nest, s) * d, _number(nest, m) * least
        number = b.cast(j, i32)

        def one(inside: Nest, i: Scalar) -> None:
            q = (block.byte(inside, i + ((j >> 1) << 5) + quants) >> ((number & 1) << 2)) & 15
            if high_bits is not None:
                q = q | (((block.byte(inside, i + high_bits) >> number) & 1) << 4)
            block.put(inside, i + (j << 5), _number(inside, q) * scale - offset)

        block.each(nest, 32, "i", one)

    block.each(block.nest, 8, "j", run)


GGUF: dict[Scheme, Callable[[Block], None]] = {
    Scheme.GGUF_Q4_0: _q4_0,
    Scheme.GGUF_Q8_0: _q8_0,
    Scheme.GGUF_Q2_K: _q2_k,
    Scheme.GGUF_Q3_K: _q3_k,
    Scheme.GGUF_Q4_K: lambda block: _eighths(block, 16, None),
    Scheme.GGUF_Q5_K: lambda block: _eighths(block, 48, 16),
    Scheme.GGUF_Q6_K: _q6_k,
    Scheme.GGUF_Q8_K: _q8_k,
}
"""How a block of each scheme is decoded."""
