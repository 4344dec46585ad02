"""What the mathlib functions share: the two float formats, polynomials, exact sums, powers of two, tables.
No function of mathematics is here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import memref
from xdsl.dialects.builtin import Float64Type, MemRefType, f32, f64, i32, i64
from xdsl.ir import Attribute

from xdsl_rlx.dialects.lir.scalar_builder import INDEX, Scalar, ScalarBuilder


@dataclass(frozen=True)
class Format:
    """The constants of a binary float format."""

    type: Attribute
    int_type: Attribute
    digits: int
    """Bits of the mantissa that are stored."""
    bias: int
    magic: float
    """Adding and subtracting it rounds to an integer, which then stands in the low bits."""
    magic_bits: int
    ln2_high: float
    """ln 2 with so few bits that products with an exponent are exact."""
    ln2_low: float
    sqrt_half_bits: int
    tiny: float
    """The smallest normal number."""

    @property
    def one_bits(self) -> int:
        return self.bias << self.digits


F32 = Format(f32, i32, 23, 127, 12582912.0, 0x4B400000, 0.693145751953125, 1.428606765330187e-06, 0x3F3504F3, 2.0**-126)
F64 = Format(
    f64,
    i64,
    52,
    1023,
    6755399441055744.0,
    0x4338000000000000,
    0.6931471805598903,
    5.497923018708371e-14,
    0x3FE6A09E667F3BCD,
    2.0**-1022,
)
LOG2_E = 1.4426950408889634
NAN, INF = float("nan"), float("inf")


def format_of(x: Scalar) -> Format:
    return F64 if isinstance(x.type, Float64Type) else F32


def polynomial(b: ScalarBuilder, x: Scalar, coefficients: Sequence[float]) -> Scalar:
    """`c[0] + c[1] x + ...`; long ones as two interleaved chains, since the latency of one would show."""
    if len(coefficients) < 6:
        return horner(b, x, coefficients)
    square = x * x
    return b.fma(horner(b, square, coefficients[1::2]), x, horner(b, square, coefficients[::2]))


def horner(b: ScalarBuilder, x: Scalar, coefficients: Sequence[float]) -> Scalar:
    *rest, last = coefficients
    total = b.const(last, x.type)
    for c in reversed(rest):
        total = b.fma(total, x, b.const(c, x.type))
    return total


def at_most(b: ScalarBuilder, x: Scalar, bound: float) -> Scalar:
    """The smaller of `x` and `bound`; NaN stays."""
    return b.select(x > bound, bound, x)


def at_least(b: ScalarBuilder, x: Scalar, bound: float) -> Scalar:
    """The larger of `x` and `bound`; NaN stays."""
    return b.select(x < bound, bound, x)


@dataclass(frozen=True)
class Rounded:
    """An integer in three forms: `shifted` is `value + magic`, whose low mantissa bits hold it."""

    value: Scalar
    shifted: Scalar

    def bits(self, b: ScalarBuilder) -> Scalar:
        """The integer in the low bits of an integer; the high bits are those of magic."""
        return b.bitcast(self.shifted, format_of(self.value).int_type)


def round_scaled(b: ScalarBuilder, x: Scalar, scale: float) -> Rounded:
    """`x * scale` rounded to the nearest integer; it must be small beside 2^22 (f32) or 2^51 (f64)."""
    magic = format_of(x).magic
    shifted = b.fma(x, scale, magic) if scale != 1.0 else x + magic
    return Rounded(shifted - magic, shifted)


def power_of_two(b: ScalarBuilder, n: Rounded) -> Scalar:
    """2^n for a normal result."""
    f = format_of(n.value)
    return b.bitcast((n.bits(b) << f.digits) + f.one_bits, f.type)


def scale_by_power(b: ScalarBuilder, x: Scalar, n: Rounded) -> Scalar:
    """`x * 2^n` for x about 1, rounded once, down to denormal and up to infinite results."""
    half = round_scaled(b, n.value, 0.5)
    rest = round_scaled(b, n.value - half.value, 1.0)
    return (x * power_of_two(b, half)) * power_of_two(b, rest)


def negate_if(b: ScalarBuilder, x: Scalar, bits: Scalar, bit: int) -> Scalar:
    """`-x` when bit number `bit` of the integer `bits` is set."""
    f = format_of(x)
    sign_bit = 63 if f is F64 else 31
    sign = (bits & (1 << bit)) << (sign_bit - bit)
    return b.bitcast(b.bitcast(x, f.int_type) ^ sign, f.type)


@dataclass(frozen=True)
class Split:
    """A positive `x = 2^exponent * (1 + f)` with `1 + f` between sqrt(1/2) and sqrt(2)."""

    exponent: Scalar
    f: Scalar


def split_exponent(b: ScalarBuilder, x: Scalar) -> Split:
    """
    The parts of `x`, which may be denormal.

    The bits of sqrt(1/2) are subtracted so that the exponent field steps there instead of at 1.
    """
    f = format_of(x)
    denormal = x < f.tiny
    bits = b.bitcast(b.select(denormal, x * 2.0 ** (f.digits + 1), x), f.int_type)
    from_one = bits + (f.one_bits - f.sqrt_half_bits)
    if f is F32:
        step = (from_one >> f.digits) - f.bias
        exponent = b.cast(step, f.type)
        mantissa = b.bitcast(bits - (step << f.digits), f.type)
    else:
        # There is no packed int64 -> double conversion below AVX-512: put the field into the mantissa of 2^52.
        field = b.shift_right_logical(from_one, f.digits)
        exponent = b.bitcast(field | 0x4330000000000000, f.type) - (2.0**52 + f.bias)
        mantissa = b.bitcast(bits - (field << f.digits) + f.one_bits, f.type)
    offset = b.select(denormal, b.const(-float(f.digits + 1), f.type), 0.0)
    return Split(exponent + offset, mantissa - 1.0)


def table_entry(b: ScalarBuilder, table: str, size: int, index: Scalar) -> Scalar:
    """The f64 number `index` of a constant table (see mathlib.TABLES)."""
    base = b.insert(memref.GetGlobalOp(table, MemRefType(f64, [size]))).memref
    return b.of(b.insert(memref.LoadOp.get(base, [b.cast(index, INDEX).value])).res)


# Numbers of about twice the precision: an unevaluated sum of two


@dataclass(frozen=True)
class Pair:
    high: Scalar
    low: Scalar


def two_sum(b: ScalarBuilder, x: Scalar, y: Scalar) -> Pair:
    """x + y exactly (Knuth)."""
    total = x + y
    part = total - x
    return Pair(total, (x - (total - part)) + (y - part))


def fast_two_sum(b: ScalarBuilder, x: Scalar, y: Scalar) -> Pair:
    """x + y exactly, for |x| >= |y| (Dekker)."""
    total = x + y
    return Pair(total, y - (total - x))


def two_product(b: ScalarBuilder, x: Scalar, y: Scalar) -> Pair:
    """x * y exactly."""
    product = x * y
    return Pair(product, b.fma(x, y, -product))


def pair_product(b: ScalarBuilder, x: Pair, y: Pair) -> Pair:
    """x * y to about twice the precision."""
    product = two_product(b, x.high, y.high)
    low = b.fma(x.high, y.low, b.fma(x.low, y.high, product.low))
    return fast_two_sum(b, product.high, low)


def pair_sum(b: ScalarBuilder, x: Pair, y: Pair) -> Pair:
    """x + y to about twice the precision, where |x| >= |y| or the signs agree."""
    total = two_sum(b, x.high, y.high)
    return fast_two_sum(b, total.high, total.low + (x.low + y.low))
