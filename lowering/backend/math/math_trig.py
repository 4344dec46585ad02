"""sin, cos, tan and their inverses as branch-free scalar expressions, and the table of 2/pi they reduce arguments with.

Reduction after Payne and Hanek: for all x of one group of exponents, the leading bits of 2/pi contribute only whole
turns to x * 2/pi, so the table holds the bits below them. Where |x| is at most `SMALL`, after Cody and Waite: a
multiple of pi/2 in parts is subtracted, which needs no table. x less a multiple of the first part is exact far beyond;
in f32, more turns would be rounded so much that the rest is noticeably greater than pi/4.

Polynomials are minimax fits (Remez, 45 digits)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from xdsl.dialects.builtin import f64, i32, i64

from xdsl_rlx.dialects.lir.scalar import SMALL
from xdsl_rlx.dialects.lir.scalar_builder import Scalar, ScalarBuilder
from xdsl_rlx.lowering.backend.math.math_core import (
    F32,
    F64,
    Pair,
    Rounded,
    fast_two_sum,
    format_of,
    negate_if,
    pair_product,
    polynomial,
    round_scaled,
    table_entry,
    two_product,
    two_sum,
)

# 2/pi in units of 2^-1280
_TWO_OVER_PI_BITS = 1280
_TWO_OVER_PI = int(
    "a2f9836e4e441529fc2757d1f534ddc0db6295993c439041fe5163abdebbc561b7246e3a424dd2e006492eea09d1921cfe1deb1cb129a73e"
    "e88235f52ebb4484e99c7026b45f7e413991d639835339f49c845f8bbdf9283b1ff897ffde05980fef2f118b5a0a6d1f6d367ecf27cb09b7"
    "4f463f669e5fea2d7527bac7ebe5f17b3d0739f78a5292ea6bfb5fb11f8d5d0856033046fc7b6babf0cfbc209af4361d",
    16,
)
_PI_OVER_2 = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33)
_PI_OVER_2_F32 = (1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15)
_QUARTERS = 0.6366197723675814
_FAR = 256
"""f64 arguments from 2^512 are divided by 2^256, and the table multiplied, to keep the products normal."""

# (sin(x) - x) / x^3 and (cos(x) - 1 + x^2/2) / x^4 in x^2: for |x| <= 0.789, 2^-27.8 and 2^-32.8; for |x| <= pi/4,
# 2^-35.1 and 2^-38.6; 2^-66.2 and 2^-70.4
_SIN_F32 = (-0.16666653752326965, 0.008332106284797192, -0.00019507884280756116)
_COS_F32 = (0.04166664555668831, -0.0013887304812669754, 2.443142693664413e-05)
_SIN_SHORT = (-0.166666666638585, 0.008333331875447447, -0.00019840086962682056, 2.7249940366111005e-06)
_COS_SHORT = (0.04166666666432323, -0.0013888887672439585, 2.4800600483306965e-05, -2.730096230680208e-07)
_SIN = (
    -0.16666666666666666,
    0.008333333333333331,
    -0.00019841269841265063,
    2.755731921933702e-06,
    -2.505210623165149e-08,
    1.605853148609447e-10,
    -7.586688951389652e-13,
)
_COS = (
    0.041666666666666664,
    -0.0013888888888888887,
    2.4801587301584645e-05,
    -2.7557319221401543e-07,
    2.0876755790610046e-09,
    -1.1470460809724724e-11,
    4.7458671456037075e-14,
)
# (asin(x) - x) / x^3 in x^2 for |x| <= 1/2: 2^-30.1 and 2^-58.3
_ASIN = {
    F32: (
        0.16666659712791443,
        0.07500505447387695,
        0.04451669752597809,
        0.031810011714696884,
        0.014429467730224133,
        0.03752988949418068,
    ),
    F64: (
        0.1666666666666676,
        0.07499999999970638,
        0.04464285717477545,
        0.03038194269952223,
        0.022372215231098655,
        0.017351607462289226,
        0.013980877118965151,
        0.011398433673641713,
        0.010783019701443759,
        0.003695647254762231,
        0.02173436623877964,
        -0.021038175095753394,
        0.03265370765396108,
    ),
}
# (atan(x) - x) / x^3 in x^2 for |x| <= 1: 2^-26.3; for |x| <= sqrt(2) - 1: 2^-59.7
_ATAN_F32 = (
    -0.3333333134651184,
    0.1999979019165039,
    -0.14279615879058838,
    0.11042037606239319,
    -0.08689054101705551,
    0.06318242847919464,
    -0.03667056933045387,
    0.013996666297316551,
    -0.0025086230598390102,
)
_ATAN_F64 = (
    -0.3333333333333333,
    0.19999999999999815,
    -0.14285714285662002,
    0.11111111105349288,
    -0.09090908762358037,
    0.0769229661106837,
    -0.06666428806057649,
    0.058789708011877856,
    -0.05230740529868167,
    0.04552810003876766,
    -0.03459978004007541,
    0.016316042728635783,
)


def _two_over_pi(drop: int | None, count: int, scale: int) -> list[float]:
    """2/pi without the bits of weight 2^drop and more, times 2^scale, as a sum of `count` doubles."""
    unit = Fraction(1, 1 << _TWO_OVER_PI_BITS)
    bits = _TWO_OVER_PI if drop is None else _TWO_OVER_PI % (1 << (drop + _TWO_OVER_PI_BITS))
    rest = bits * unit * Fraction(2) ** scale
    parts: list[float] = []
    for _ in range(count):
        parts.append(float(rest))
        rest -= Fraction(parts[-1])
    return parts


def two_over_pi_f32() -> tuple[float, ...]:
    """Entry i, of two doubles, serves exponents 16 i to 16 i + 15 (and all below for i = 0)."""
    return tuple(part for i in range(9) for part in _two_over_pi(25 - 16 * i if i else None, 2, 0))


def two_over_pi_f64() -> tuple[float, ...]:
    """Entry i, of four doubles, serves exponents 32 i to 32 i + 31 (and all below for i = 0)."""
    return tuple(
        part for i in range(33) for part in _two_over_pi(54 - 32 * i if i else None, 4, _FAR if i >= 16 else 0)
    )


@dataclass(frozen=True)
class _Angle:
    """x modulo a quarter turn: `high + low` within pi/4 of 0, and the quarters in the low bits of `quarters`."""

    high: Scalar
    low: Scalar | None
    quarters: Scalar


def _reduce_f32(b: ScalarBuilder, x: Scalar) -> _Angle:
    exponent = (b.shift_right_logical(b.bitcast(x, i32), 23) & 255) - 127
    entry = (b.maximum(exponent, 0) >> 4) << 1
    high, low = (table_entry(b, "two_over_pi_f32", 18, entry + i) for i in range(2))
    wide = b.cast(x, f64)
    product = two_product(b, wide, high)
    quarters = round_scaled(b, product.high, 1.0)
    rest = (product.high - quarters.value) + b.fma(wide, low, product.low)
    return _Angle(rest * _PI_OVER_2[0], None, quarters.bits(b))


def _reduce_f64(b: ScalarBuilder, x: Scalar) -> _Angle:
    """
    The products with the first two table parts are taken modulo a quarter turn each; all roundings are kept, because
    x may be as near to a multiple of pi/2 as 2^-62.
    """
    exponent = (b.shift_right_logical(b.bitcast(x, i64), 52) & 2047) - 1023
    group = b.shift_right_logical(b.select(exponent < 0, 0, exponent), 5)
    near = b.select(group > 15, x * 2.0**-_FAR, x)
    t = [table_entry(b, "two_over_pi_f64", 132, (group << 2) + i) for i in range(4)]
    first, second, third = (two_product(b, near, part) for part in t[:3])
    turn = first.high - b.round_even(first.high * 0.25) * 4.0
    whole = [b.round_even(part) for part in (turn, first.low, second.high)]
    parts = [part - n for part, n in zip((turn, first.low, second.high), whole, strict=True)]
    small = two_sum(b, parts[1], parts[2])
    total = two_sum(b, parts[0], small.high)
    last = b.round_even(total.high)
    tail = two_sum(b, second.low, third.high)
    head = two_sum(b, total.high - last, total.low)
    angle = two_sum(b, head.high, tail.high)
    rest = (angle.low + head.low) + ((tail.low + small.low) + b.fma(near, t[3], third.low))
    turns = fast_two_sum(b, angle.high, rest)
    radians = pair_product(b, turns, Pair(b.const(_PI_OVER_2[0], f64), b.const(_PI_OVER_2[1], f64)))
    quarters = round_scaled(b, (whole[0] + whole[1]) + (whole[2] + last), 1.0)
    return _Angle(radians.high, radians.low, quarters.bits(b))


def _sin_cos(b: ScalarBuilder, angle: _Angle) -> tuple[Scalar, Scalar]:
    """Sine and cosine of the reduced angle."""
    r, low = angle.high, angle.low
    z = r * r
    if low is None:
        sine = b.fma(r * z, polynomial(b, z, _SIN_SHORT), r)
        return sine, b.fma(z * z, polynomial(b, z, _COS_SHORT), b.fma(z, -0.5, 1.0))
    half = z * 0.5
    sine = r + b.fma(r * z, polynomial(b, z, _SIN), b.fma(-half, low, low))
    near_one = 1.0 - half
    lost = (1.0 - near_one) - half
    return sine, near_one + b.fma(z * z, polynomial(b, z, _COS), b.fma(-r, low, lost))


def _reduce(b: ScalarBuilder, x: Scalar) -> _Angle:
    return _reduce_f64(b, x) if format_of(x) is F64 else _reduce_f32(b, x)


def _or_small(b: ScalarBuilder, x: Scalar, small: Scalar, large: Scalar) -> Scalar:
    """
    `small` where |x| is at most `SMALL`, so that a value has the same bits whichever variant computes it.

    Where a gradient asks which element is the greatest, it may be computed again in another loop.
    """
    return b.select(b.abs(x) <= SMALL[x.type], small, b.cast(large, x.type))


def sin(b: ScalarBuilder, x: Scalar) -> Scalar:
    angle = _reduce(b, x)
    sine, cosine = _sin_cos(b, angle)
    chosen = b.select(b.ne(angle.quarters & 1, 0), cosine, sine)
    return _or_small(b, x, sin_small(b, x), negate_if(b, chosen, angle.quarters, 1))


def cos(b: ScalarBuilder, x: Scalar) -> Scalar:
    angle = _reduce(b, x)
    sine, cosine = _sin_cos(b, angle)
    chosen = b.select(b.ne(angle.quarters & 1, 0), sine, cosine)
    return _or_small(b, x, cos_small(b, x), negate_if(b, chosen, angle.quarters + 1, 1))


def tan(b: ScalarBuilder, x: Scalar) -> Scalar:
    angle = _reduce(b, x)
    sine, cosine = _sin_cos(b, angle)
    odd = b.ne(angle.quarters & 1, 0)
    quotient = b.select(odd, cosine, sine) / b.select(odd, sine, cosine)
    return _or_small(b, x, tan_small(b, x), negate_if(b, quotient, angle.quarters, 0))


def _signed(b: ScalarBuilder, result: Scalar, x: Scalar) -> Scalar:
    """`-result` where `x` has a sign, also a zero."""
    f = format_of(x)
    sign = b.bitcast(x, f.int_type) & -(1 << (63 if f is F64 else 31))
    return b.bitcast(b.bitcast(result, f.int_type) ^ sign, f.type)


def _nearest_quarter(b: ScalarBuilder, x: Scalar) -> tuple[Rounded, Scalar]:
    """The number of quarter turns nearest to `x`, and x less that many times the first part of pi/2, which is exact."""
    n = round_scaled(b, x, _QUARTERS)
    return n, b.fma(n.value, -(_PI_OVER_2 if format_of(x) is F64 else _PI_OVER_2_F32)[0], x)


def _reduce_small_wide(b: ScalarBuilder, x: Scalar) -> _Angle:
    """f32 reduced in f64."""
    n, r = _nearest_quarter(b, b.cast(x, f64))
    return _Angle(b.fma(n.value, -_PI_OVER_2[1], r), None, n.bits(b))


def _reduce_small_f64(b: ScalarBuilder, x: Scalar) -> _Angle:
    """`fast_two_sum` is exact although `r` may be the smaller one: it is a multiple of the last place of the other."""
    n, r = _nearest_quarter(b, x)
    second = two_product(b, n.value, b.const(-_PI_OVER_2[1], f64))
    sum = fast_two_sum(b, r, second.high)
    return _Angle(sum.high, sum.low + b.fma(n.value, -_PI_OVER_2[2], second.low), n.bits(b))


def _sin_cos_small(b: ScalarBuilder, x: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """Sine and cosine of `x` less a multiple of pi/2, and the quarters."""
    if format_of(x) is F64:
        angle = _reduce_small_f64(b, x)
        return *_sin_cos(b, angle), angle.quarters
    n, r = _nearest_quarter(b, x)
    r = b.fma(n.value, -_PI_OVER_2_F32[2], b.fma(n.value, -_PI_OVER_2_F32[1], r))
    z = r * r
    sine = b.fma(r * z, polynomial(b, z, _SIN_F32), r)
    cosine = b.fma(z * z, polynomial(b, z, _COS_F32), b.fma(z, -0.5, 1.0))
    return sine, cosine, n.bits(b)


def sin_small(b: ScalarBuilder, x: Scalar) -> Scalar:
    """sin(x) for |x| <= SMALL, NaN for infinities."""
    sine, cosine, quarters = _sin_cos_small(b, b.abs(x))
    chosen = b.select(b.ne(quarters & 1, 0), cosine, sine)
    return _signed(b, negate_if(b, chosen, quarters, 1), x)


def cos_small(b: ScalarBuilder, x: Scalar) -> Scalar:
    """cos(x) for |x| <= SMALL, NaN for infinities."""
    sine, cosine, quarters = _sin_cos_small(b, b.abs(x))
    chosen = b.select(b.ne(quarters & 1, 0), sine, cosine)
    return negate_if(b, chosen, quarters + 1, 1)


def tan_small(b: ScalarBuilder, x: Scalar) -> Scalar:
    """tan(x) for |x| <= SMALL, NaN for infinities; f32 in f64, because the errors of sine and cosine add up."""
    size = b.abs(x)
    angle = _reduce_small_f64(b, size) if format_of(x) is F64 else _reduce_small_wide(b, size)
    sine, cosine = _sin_cos(b, angle)
    odd = b.ne(angle.quarters & 1, 0)
    quotient = b.select(odd, cosine, sine) / b.select(odd, sine, cosine)
    return _signed(b, b.cast(negate_if(b, quotient, angle.quarters, 0), x.type), x)


def atan(b: ScalarBuilder, x: Scalar) -> Scalar:
    size = b.abs(x)
    return b.copysign(_atan_f64(b, size) if format_of(x) is F64 else _atan_f32(b, size), x)


def _atan_f32(b: ScalarBuilder, size: Scalar) -> Scalar:
    """atan(x) = pi/2 - atan(1/x) above 1."""
    beyond = size > 1.0
    t = b.select(beyond, 1.0 / size, size)
    square = t * t
    tail = (t * square) * polynomial(b, square, _ATAN_F32)
    high, low, _ = _PI_OVER_2_F32
    return b.select(beyond, (high - t) + (low - tail), t + tail)


def _atan_f64(b: ScalarBuilder, size: Scalar) -> Scalar:
    """atan(x) = c + atan((x - tan c) / (1 + x tan c)) with c = pi/4 from sqrt(2) - 1, c = pi/2 from sqrt(2) + 1."""
    middle, beyond = size > 0.41421356237309503, size > 2.414213562373095
    numerator = b.select(beyond, b.const(-1.0, f64), b.select(middle, size - 1.0, size))
    denominator = b.select(beyond, size, b.select(middle, size + 1.0, 1.0))
    high, low, _ = _PI_OVER_2
    base = b.select(beyond, b.const(high, f64), b.select(middle, b.const(high / 2, f64), 0.0))
    base_low = b.select(beyond, b.const(low, f64), b.select(middle, b.const(low / 2, f64), 0.0))
    t = numerator / denominator
    square = t * t
    tail = b.fma(t * square, polynomial(b, square, _ATAN_F64), base_low)
    sum = fast_two_sum(b, base, t)
    return b.select(middle, sum.high + (sum.low + tail), t + tail)


@dataclass(frozen=True)
class _Arc:
    """asin(size) as `root + rest`; where `far`, beyond 1/2, it is a right angle less twice that."""

    far: Scalar
    root: Scalar
    rest: Scalar


def _arc(b: ScalarBuilder, size: Scalar) -> _Arc:
    """Beyond 1/2 by asin(x) = pi/2 - 2 asin(sqrt((1 - x) / 2)), with what the root loses."""
    far = size > 0.5
    square = b.select(far, (1.0 - size) * 0.5, size * size)
    root = b.select(far, b.sqrt(square), size)
    tail = (root * square) * polynomial(b, square, _ASIN[format_of(size)])
    lost = b.fma(-root, root, square) * 0.5 / root
    return _Arc(far, root, tail + b.select(far & (size < 1.0), lost, 0.0))


def _less(b: ScalarBuilder, high: float, low: float, x: Scalar, rest: Scalar) -> Scalar:
    """`high + low - x - rest` for |x| <= high."""
    sum = fast_two_sum(b, b.const(high, x.type), -x)
    return sum.high + (sum.low + (low - rest))


def asin(b: ScalarBuilder, x: Scalar) -> Scalar:
    """NaN outside of [-1, 1]."""
    arc = _arc(b, b.abs(x))
    high, low, _ = _PI_OVER_2 if format_of(x) is F64 else _PI_OVER_2_F32
    beyond = _less(b, high, low, arc.root * 2.0, arc.rest * 2.0)
    return b.copysign(b.select(arc.far, beyond, arc.root + arc.rest), x)


def acos(b: ScalarBuilder, x: Scalar) -> Scalar:
    """NaN outside of [-1, 1]; near 1 it is twice the arc, which nothing is subtracted from."""
    arc = _arc(b, b.abs(x))
    high, low, _ = _PI_OVER_2 if format_of(x) is F64 else _PI_OVER_2_F32
    near = _less(b, high, low, x, b.copysign(arc.rest, x))
    twice, rest = arc.root * 2.0, arc.rest * 2.0
    beyond = b.select(x < 0.0, _less(b, 2 * high, 2 * low, twice, rest), twice + rest)
    return b.select(arc.far, beyond, near)
