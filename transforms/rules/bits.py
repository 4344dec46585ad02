"""Rows of the ops on the bits of numbers. Bits as another type, and counts of bits, have no derivative."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import bf16, f16, f32, f64, i16, i32, i64
from xdsl.ir import Attribute

from xdsl_rlx.dialects.lir.scalar_builder import Scalar, ScalarBuilder
from xdsl_rlx.dialects.mir import bits as mir
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.shapes import compute_type, element_of
from xdsl_rlx.transforms.rules.rows import diagonal, linear, pointwise, zero
from xdsl_rlx.transforms.rules.rule_table import SCALAR, Cotangent

for _op in (mir.PopulationCountOp, mir.ClzOp):
    zero(_op, "the operand is an integer")
    pointwise(_op)


@SCALAR.rule(mir.PopulationCountOp)
def population_count_scalar(op: mir.PopulationCountOp, b: ScalarBuilder, x: Scalar) -> Scalar:
    return b.population_count(x)


@SCALAR.rule(mir.ClzOp)
def clz_scalar(op: mir.ClzOp, b: ScalarBuilder, x: Scalar) -> Scalar:
    return b.leading_zeros(x)


zero(mir.BitcastConvertTypeOp, "bits are integers")
pointwise(mir.BitcastConvertTypeOp)

_INTEGERS: dict[Attribute, Attribute] = {f64: i64, f32: i32, f16: i16, bf16: i16}


def _bits(b: ScalarBuilder, x: Scalar, element: Attribute) -> Scalar:
    """The bits of a float, or the integer itself; half floats are scalars of f32."""
    return b.bitcast(b.cast(x, element), _INTEGERS[element]) if element in _INTEGERS else x


def _of_bits(b: ScalarBuilder, bits: Scalar, element: Attribute) -> Scalar:
    """The inverse of `_bits`."""
    return b.cast(b.bitcast(bits, element), compute_type(element)) if element in _INTEGERS else bits


@SCALAR.rule(mir.BitcastConvertTypeOp)
def bitcast_scalar(op: mir.BitcastConvertTypeOp, b: ScalarBuilder, x: Scalar) -> Scalar:
    return _of_bits(b, _bits(b, x, element_of(op.operand)), element_of(op.result))


diagonal(
    mir.NextafterOp,
    lambda b, g, lhs, rhs, y: g,
    lambda b, g, lhs, rhs, y: b.zeros_like(y),
)


@SCALAR.rule(mir.NextafterOp)
def nextafter_scalar(op: mir.NextafterOp, b: ScalarBuilder, lhs: Scalar, rhs: Scalar) -> Scalar:
    """Bits of floats of one sign are ordered as the sizes: one more is the next number away from zero."""
    element = element_of(op.lhs)
    bits = _bits(b, lhs, element)
    away = (lhs < rhs) ^ (lhs < 0.0)
    moved = _of_bits(b, bits + b.select(away, b.const(1, bits.type), -1), element)
    least = _of_bits(b, b.const(1, bits.type), element)
    moved = b.select(b.eq(lhs, 0.0), b.copysign(least, rhs), moved)
    moved = b.select(b.eq(lhs, rhs), rhs, moved)
    return b.select(b.is_nan(lhs) | b.is_nan(rhs), lhs + rhs, moved)


def _reduce_precision_transpose(op: mir.ReducePrecisionOp, b: MirBuilder, g: Value) -> Sequence[Cotangent]:
    return [b.reduce_precision(g, op.exponent_bits.value.data, op.mantissa_bits.value.data)]


linear(mir.ReducePrecisionOp, _reduce_precision_transpose)
pointwise(mir.ReducePrecisionOp)


@SCALAR.rule(mir.ReducePrecisionOp)
def reduce_precision_scalar(op: mir.ReducePrecisionOp, b: ScalarBuilder, x: Scalar) -> Scalar:
    """
    On the bits: half of the last kept bit is added, and one less where that is even, before the rest is cut off.

    A mantissa that overflows raises the exponent, as it should. Bits of half floats are in i32, without a sign.
    """
    element = element_of(op.operand)
    has_mantissa, has_exponent = mir.MANTISSA_BITS[element], mir.EXPONENT_BITS[element]
    mantissa = min(op.mantissa_bits.value.data, has_mantissa)
    exponent = min(op.exponent_bits.value.data, has_exponent)
    if (mantissa, exponent) == (has_mantissa, has_exponent):
        return x
    bits = b.cast(_bits(b, x, element), i64 if element == f64 else i32, signed=False)
    sign = bits & (1 << (has_mantissa + has_exponent))
    if gone := has_mantissa - mantissa:
        odd = b.shift_right_logical(bits, gone) & 1
        bits = (bits + odd + ((1 << (gone - 1)) - 1)) & -(1 << gone)
    if exponent < has_exponent:
        infinite = ((1 << has_exponent) - 1) << has_mantissa
        bias, reach = (1 << (has_exponent - 1)) - 1, (1 << (exponent - 1)) - 1
        size = bits & infinite
        bits = b.select(size > (bias + reach) << has_mantissa, sign | infinite, bits)
        bits = b.select(size <= (bias - reach) << has_mantissa, sign, bits)
    narrow = _INTEGERS[element]
    return b.select(b.is_nan(x), x, _of_bits(b, b.cast(bits, narrow), element))


zero(mir.Threefry2x32Op, "the operands are integers")
pointwise(mir.Threefry2x32Op)

THREEFRY_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
THREEFRY_PARITY = 0x1BD11BDA
"""The published constants of Threefry 2x32: bits that rounds rotate by, and what the third word of the key has."""


@SCALAR.rule(mir.Threefry2x32Op)
def threefry2x32_scalar(
    op: mir.Threefry2x32Op, b: ScalarBuilder, key0: Scalar, key1: Scalar, x: Scalar, y: Scalar
) -> Scalar:
    """Five times four rounds, a word of the key added behind each four; a rotation is one instruction where it is."""
    keys = (key0, key1, key0 ^ key1 ^ THREEFRY_PARITY)
    x, y = x + key0, y + key1
    for number in range(5):
        for rotation in THREEFRY_ROTATIONS[number % 2]:
            x = x + y
            y = x ^ ((y << rotation) | b.shift_right_logical(y, 32 - rotation))
        x = x + keys[(number + 1) % 3]
        y = y + keys[(number + 2) % 3] + (number + 1)
    return y if op.word.value.data else x
