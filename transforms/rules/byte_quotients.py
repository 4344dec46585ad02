"""Quotients of 8-bit integers by a constant, as pixels by 255, without a division."""

from __future__ import annotations

import struct
from fractions import Fraction
from functools import cache
from math import isfinite

from xdsl.dialects import arith
from xdsl.dialects.builtin import Float32Type, Float64Type, FloatAttr, i8

from xdsl_rlx.dialects.lir.scalar_builder import Scalar, ScalarBuilder

DIGITS = {False: 24, True: 53}
"""Bits of a mantissa: of f32, and of f64."""


def quotient(b: ScalarBuilder, x: Scalar, y: Scalar) -> Scalar:
    """`x / y`; two products if `x` is converted from 8 bits, `y` is a constant, and all quotients keep their bits."""
    divisor, integer = y.value.owner, x.value.owner
    if not isinstance(divisor, arith.ConstantOp) or not isinstance(integer, arith.UIToFPOp | arith.SIToFPOp):
        return x / y
    value = divisor.value
    if not isinstance(value, FloatAttr) or not isinstance(x.type, Float32Type | Float64Type):
        return x / y
    if integer.input.type != i8:
        return x / y
    inverse = _inverse(value.value.data, isinstance(integer, arith.SIToFPOp), isinstance(x.type, Float64Type))
    return x / y if inverse is None else x * inverse[0] + x * inverse[1]


@cache
def _inverse(divisor: float, signed: bool, wide: bool) -> tuple[float, float] | None:
    """
    `1 / divisor` in two parts, of which all 8-bit multiples add up to the rounded quotient; None if one does not.

    Multiples of the first part are exact. In f64, products and sums of f32 numbers here are exact, and quotients are so
    close that rounding them again to f32 changes nothing.
    """
    if not isfinite(divisor) or divisor == 0.0:
        return None
    exact = 1 / Fraction(divisor)
    if not 2.0**-60 < abs(exact) < 2.0**60:
        # no product of two parts is denormal
        return None
    high = _rounded_to(exact, DIGITS[wide] - 8)
    low = _stored(float(exact - Fraction(high)), wide)
    for n in range(-128, 128) if signed else range(256):
        x = float(n)
        found = _stored(_stored(x * high, wide) + _stored(x * low, wide), wide)
        if struct.pack("d", found) != struct.pack("d", _stored(x / divisor, wide)):
            return None
    return high, low


def _rounded_to(x: Fraction, digits: int) -> float:
    """A number of so many bits near `x`."""
    scale = Fraction(2) ** (digits - 1)
    while abs(x) * scale >= 2**digits:
        scale /= 2
    while abs(x) * scale < 2 ** (digits - 1):
        scale *= 2
    return float(Fraction(round(x * scale)) / scale)


def _stored(x: float, wide: bool) -> float:
    """A number as it is stored in f32, or in f64."""
    return x if wide else struct.unpack("f", struct.pack("f", x))[0]
