"""log, log2, log10, log1p, pow, asinh, acosh, atanh and cbrt as branch-free scalar expressions.

With s = f / (2 + f), log(1 + f) = 2 s + s^3 R(s^2) (the series of atanh), R by minimax fits (Remez, 45 digits)."""

from __future__ import annotations

from xdsl.dialects.builtin import f64

from xdsl_rlx.dialects.lir.scalar_builder import Scalar, ScalarBuilder
from xdsl_rlx.lowering.backend.math.math_core import (
    F32,
    F64,
    INF,
    LOG2_E,
    NAN,
    Pair,
    Split,
    at_least,
    at_most,
    fast_two_sum,
    format_of,
    pair_product,
    pair_sum,
    polynomial,
    power_of_two,
    round_scaled,
    scale_by_power,
    split_exponent,
    two_product,
    two_sum,
)
from xdsl_rlx.lowering.backend.math.math_exp import EXP, EXP2

# (log(1 + f) - f + f^2/2) / f^3 for 1 + f between sqrt(1/2) and sqrt(2): 2^-25.4
_LOG_F32 = (
    0.3333333134651184,
    -0.24999980628490448,
    0.2000068873167038,
    -0.16669151186943054,
    0.14251156151294708,
    -0.12396694719791412,
    0.11634648591279984,
    -0.11659951508045197,
    0.07332585752010345,
)
# R on the same interval: 2^-58.8, and 2^-44.3 where the result is rounded to f32
_R = (
    0.6666666666666666,
    0.40000000000000885,
    0.2857142857079859,
    0.22222222392736177,
    0.1818179554102748,
    0.1538624463620677,
    0.13268651343324372,
    0.13087807553482023,
)
_R_SHORT = (
    0.6666666666666202,
    0.40000000011311204,
    0.28571424109994137,
    0.22222864970363823,
    0.18140089437337223,
    0.166232346579316,
)
# (R(z) - 2/3) / z: 2^-58.9
_R_TAIL = (
    0.4,
    0.28571428571429375,
    0.2222222222165164,
    0.1818181833624872,
    0.15384594880315328,
    0.1333480874725823,
    0.11706137221665287,
    0.11724130820559074,
)
# cbrt(m) for m between sqrt(1/2) and sqrt(2): 2^-16.7
_CBRT = (0.4516618740978059, 0.904812200412215, -0.5355821033029152, 0.2168813313393324, -0.03776898217817377)
_CBRT_2 = 1.2599210498948732
_LN2 = 0.6931471805599453
_FAR = 2.0**60
"""From here on asinh and acosh are log(x) + log(2)."""
_TWO_THIRDS = (0.6666666666666666, 3.700743415417188e-17)
_LOG2_E_LOW = 2.0355273740931033e-17
_LOG10_E = 0.4342944819032518
_LOG10_E_LOW = 1.098319650216765e-17


def _at_edges(b: ScalarBuilder, x: Scalar, result: Scalar, at: float = 0.0) -> Scalar:
    """The logarithm of a number that is `x - at`: -inf there, NaN below, inf and NaN as they are."""
    inside = b.select(x < INF, result, x)
    return b.select(x < at, NAN, b.select(b.eq(x, at), -INF, inside))


def _log_short(b: ScalarBuilder, parts: Split) -> Scalar:
    """The logarithm in f64 with some 44 correct bits, for results rounded to f32."""
    s = parts.f / (parts.f + 2.0)
    z = s * s
    of_f = b.fma(s * z, polynomial(b, z, _R_SHORT), s + s)
    return b.fma(parts.exponent, F64.ln2_high + F64.ln2_low, of_f)


def _log_f64(b: ScalarBuilder, parts: Split, correction: Scalar | None = None) -> Scalar:
    """`exponent ln 2 + log(1 + f) + correction`, arranged as in fdlibm: the largest terms are added last."""
    e, f = parts.exponent, parts.f
    s = f / (f + 2.0)
    z = s * s
    half_square = (f * f) * 0.5
    low = e * F64.ln2_low if correction is None else b.fma(e, F64.ln2_low, correction)
    tail = b.fma(s, b.fma(z, polynomial(b, z, _R), half_square), low)
    return b.fma(e, F64.ln2_high, f - (half_square - tail))


def log(b: ScalarBuilder, x: Scalar) -> Scalar:
    parts = split_exponent(b, x)
    if format_of(x) is F64:
        return _at_edges(b, x, _log_f64(b, parts))
    e, f = parts.exponent, parts.f
    square = f * f
    tail = b.fma(f * square, polynomial(b, f, _LOG_F32), e * F32.ln2_low)
    return _at_edges(b, x, b.fma(e, F32.ln2_high, f + b.fma(square, -0.5, tail)))


def log_for_f32(b: ScalarBuilder, x: Scalar) -> Scalar:
    """The logarithm of an f64, precise enough for a result in f32."""
    return _at_edges(b, x, _log_short(b, split_exponent(b, x)))


def log2(b: ScalarBuilder, x: Scalar) -> Scalar:
    if format_of(x) is F32:
        wide = split_exponent(b, b.cast(x, f64))
        return _at_edges(b, x, b.cast(_log_short(b, wide) * LOG2_E, x.type))
    parts = split_exponent(b, x)
    of_f = _log_pair(b, Split(b.const(0.0, f64), parts.f))
    scaled = pair_product(b, of_f, Pair(b.const(LOG2_E, f64), b.const(_LOG2_E_LOW, f64)))
    return _at_edges(b, x, parts.exponent + scaled.high)


def log10(b: ScalarBuilder, x: Scalar) -> Scalar:
    """Rounded once of a pair, so that it is exact of powers of 10."""
    if format_of(x) is F32:
        wide = split_exponent(b, b.cast(x, f64))
        return _at_edges(b, x, b.cast(_log_short(b, wide) * _LOG10_E, x.type))
    logarithm = _log_pair(b, split_exponent(b, x))
    scaled = pair_product(b, logarithm, Pair(b.const(_LOG10_E, f64), b.const(_LOG10_E_LOW, f64)))
    return _at_edges(b, x, scaled.high)


def log1p(b: ScalarBuilder, x: Scalar) -> Scalar:
    """log(1 + x), exact for tiny x: see `_log1p_f32` and `_log1p_f64`."""
    if format_of(x) is F32:
        return _log1p_f32(b, x)
    return b.copysign(_at_edges(b, x, _log1p_f64(b, x), -1.0), x)


def _log1p_f32(b: ScalarBuilder, x: Scalar) -> Scalar:
    """
    `e ln 2 + log(1 + f)` with `f = (1 + x) 2^-e - 1 = x 2^-e + (2^-e - 1)`, which is rounded once.

    The exponent is that of the rounded `1 + x`. The power is made four times as large: 2^-128 has no normal number.
    """
    f = F32
    field = b.bitcast(x + 1.0, f.int_type) + (f.one_bits - f.sqrt_half_bits)
    power = b.bitcast(((f.bias << 1) + 2 << f.digits) - (field & -(1 << f.digits)), f.type)
    e = b.cast((field >> f.digits) - f.bias, f.type)
    part = b.fma(x * power, 0.25, b.fma(power, 0.25, -1.0))
    # beside which its powers are nothing, but products that are denormal take ten times as long
    whole, part = part, b.select(b.abs(x) < 2.0**-26, 0.0, part)
    square = part * part
    tail = b.fma(part * square, polynomial(b, part, _LOG_F32), e * f.ln2_low)
    result = b.fma(e, f.ln2_high, whole + b.fma(square, -0.5, tail))
    outside = b.select(b.eq(x, -1.0), -INF, b.const(NAN, f.type))
    return b.select(x > -1.0, b.select(x < INF, b.copysign(result, x), x), outside)


def _log1p_short(b: ScalarBuilder, x: Scalar) -> Scalar:
    """log(1 + x) in f64 with some 44 correct bits, for results rounded to f32."""
    sum = x + 1.0
    lost = b.select(x < 1.0, x - (sum - 1.0), 0.0)
    return _log_short(b, split_exponent(b, sum)) + lost


def _log1p_f64(b: ScalarBuilder, x: Scalar, low: Scalar | None = None) -> Scalar:
    """log(1 + x + low), where `low` is what rounding x has lost."""
    sum = two_sum(b, x, b.const(1.0, x.type))
    parts = split_exponent(b, sum.high)
    near_one = b.eq(parts.exponent, 0.0)
    if low is None:
        correction = b.select(near_one, 0.0, sum.low / sum.high)
    else:
        correction = b.select(near_one, low, sum.low + low) / sum.high
    return _log_f64(b, Split(parts.exponent, b.select(near_one, x, parts.f)), correction)


def asinh(b: ScalarBuilder, x: Scalar) -> Scalar:
    """log(1 + a + a^2 / (1 + sqrt(1 + a^2))) with a = |x|."""
    size = b.abs(x)
    a = b.cast(size, f64)
    square = a * a
    more = square / (b.sqrt(square + 1.0) + 1.0)
    if format_of(x) is F32:
        result = b.cast(_log1p_short(b, a + more), x.type)
    else:
        far = a > _FAR
        sum = fast_two_sum(b, a, more)
        near = _log1p_f64(b, b.select(far, a, sum.high), b.select(far, 0.0, sum.low))
        result = near + b.select(far, b.const(_LN2, f64), 0.0)
    return b.copysign(b.select(size < INF, result, size), x)


def acosh(b: ScalarBuilder, x: Scalar) -> Scalar:
    """log(1 + t + sqrt(t (t + 2))) with t = x - 1; NaN below 1."""
    if format_of(x) is F32:
        t = b.cast(x, f64) - 1.0
        result = b.cast(_log1p_short(b, t + b.sqrt(t * (t + 2.0))), x.type)
    else:
        result = _acosh_f64(b, x)
    return b.select(x < 1.0, NAN, b.select(x < INF, result, x))


def _acosh_f64(b: ScalarBuilder, x: Scalar) -> Scalar:
    """What the root and its operand lose is found by fma, since it shows near 1."""
    far = x > _FAR
    t = fast_two_sum(b, x, b.const(-1.0, f64))
    product = two_product(b, t.high, t.high + 2.0)
    root = b.sqrt(product.high)
    rest = (b.fma(-root, root, product.high) + product.low) * 0.5 / root
    sum = two_sum(b, t.high, root)
    low = sum.low + (t.low + b.select(b.eq(root, 0.0), 0.0, rest))
    result = _log1p_f64(b, b.select(far, x, sum.high), b.select(far, 0.0, low))
    return result + b.select(far, b.const(_LN2, f64), 0.0)


def atanh(b: ScalarBuilder, x: Scalar) -> Scalar:
    """log(1 + 2 a / (1 - a)) / 2 with a = |x|; infinite at 1, NaN beyond."""
    size = b.abs(x)
    a = b.cast(size, f64)
    double = a + a
    below = fast_two_sum(b, b.const(1.0, f64), -a)
    quotient = double / below.high
    if format_of(x) is F32:
        result = b.cast(_log1p_short(b, quotient) * 0.5, x.type)
    else:
        rest = b.fma(-quotient, below.low, b.fma(-quotient, below.high, double))
        result = _log1p_f64(b, quotient, rest / below.high) * 0.5
    inside = b.select(size < 1.0, result, b.select(b.eq(size, 1.0), INF, b.const(NAN, x.type)))
    return b.copysign(inside, x)


def cbrt(b: ScalarBuilder, x: Scalar) -> Scalar:
    """2^k cbrt(m 2^r) for x = 2^(3 k + r) m: a polynomial, a step of Halley's, and in f64 one of Newton's."""
    size = b.abs(x)
    parts = split_exponent(b, b.cast(size, f64))
    third = round_scaled(b, parts.exponent, 1 / 3)
    r = parts.exponent - third.value * 3.0
    m = parts.f + 1.0
    z = m * b.select(r < 0.0, b.const(0.5, f64), b.select(r > 0.0, b.const(2.0, f64), 1.0))
    start = b.select(r < 0.0, b.const(1 / _CBRT_2, f64), b.select(r > 0.0, b.const(_CBRT_2, f64), 1.0))
    y = polynomial(b, m, _CBRT) * start
    cube = y * y * y
    y = y * ((cube + (z + z)) / (cube + cube + z))
    if format_of(x) is F64:
        square = two_product(b, y, y)
        excess = b.fma(y, square.low, b.fma(y, square.high, -z))
        y = y - excess / (square.high * 3.0)
    result = b.cast(y * power_of_two(b, third), x.type)
    return b.copysign(b.select((size > 0.0) & (size < INF), result, size), x)


def pow(b: ScalarBuilder, x: Scalar, y: Scalar) -> Scalar:
    """x^y with all special cases of IEEE 754 (pow)."""
    size = b.abs(x)
    of_size = _pow_f64(b, size, y) if format_of(x) is F64 else _pow_f32(b, size, y)
    infinite_y = b.eq(b.abs(y), INF)
    infinite_x = b.eq(size, INF)
    grows = b.not_((size > 1.0) ^ (y > 0.0))
    extreme = b.eq(size, 0.0) | infinite_x | infinite_y
    result = b.select(extreme, b.select(grows, b.const(INF, x.type), 0.0), of_size)
    result = b.select(b.eq(size, 1.0), 1.0, result)
    half = y * 0.5
    whole = b.eq(b.trunc(y), y)
    odd = whole & b.ne(b.trunc(half), half)
    result = b.select(odd, b.copysign(result, x), result)
    undefined = (x < 0.0) & b.not_(whole | infinite_x) | b.compare("uno", "ne", x, y)
    return b.select(b.eq(y, 0.0) | b.eq(x, 1.0), 1.0, b.select(undefined, NAN, result))


def _pow_f32(b: ScalarBuilder, size: Scalar, y: Scalar) -> Scalar:
    """2^(y log2(size)) in f64, rounded once."""
    log2_size = _log_short(b, split_exponent(b, b.cast(size, f64))) * LOG2_E
    product = at_most(b, at_least(b, b.cast(y, f64) * log2_size, -300.0), 300.0)
    n = round_scaled(b, product, 1.0)
    r = product - n.value
    power = b.fma(r, polynomial(b, r, EXP2[F32]), 1.0)
    return b.cast(power * power_of_two(b, n), size.type)


def _log_pair(b: ScalarBuilder, parts: Split) -> Pair:
    """`exponent ln 2 + log(1 + f)` to about 2^-68 of itself."""
    e, f = parts.exponent, parts.f
    denominator = fast_two_sum(b, b.const(2.0, f64), f)
    inverse = 1.0 / denominator.high
    quotient = f * inverse
    rest = b.fma(quotient, -denominator.low, b.fma(-quotient, denominator.high, f))
    s = fast_two_sum(b, quotient, rest * inverse)
    z = pair_product(b, s, s)
    cube = pair_product(b, s, z)
    first, low = (b.const(c, f64) for c in _TWO_THIRDS)
    third = pair_product(b, cube, Pair(first, low))
    tail = (cube.high * z.high) * polynomial(b, z.high, _R_TAIL)
    small = fast_two_sum(b, third.high, third.low + tail)
    of_f = pair_sum(b, Pair(s.high + s.high, s.low + s.low), small)
    return pair_sum(b, Pair(e * F64.ln2_high, e * F64.ln2_low), of_f)


def _pow_f64(b: ScalarBuilder, size: Scalar, y: Scalar) -> Scalar:
    """e^(y log(size)) with the exponent as a pair, since its absolute error is the result's relative error."""
    logarithm = _log_pair(b, split_exponent(b, size))
    product = two_product(b, y, logarithm.high)
    low = b.fma(y, logarithm.low, product.low)
    low = b.select(b.abs(product.high) < 800.0, low, 0.0)
    high = at_most(b, at_least(b, product.high, -800.0), 800.0)
    n = round_scaled(b, high, LOG2_E)
    above = b.fma(n.value, -F64.ln2_high, high)
    r = two_sum(b, above, b.fma(n.value, -F64.ln2_low, low))
    tail = b.fma(r.high * r.high, polynomial(b, r.high, EXP[F64]), r.low)
    return scale_by_power(b, (r.high + tail) + 1.0, n)
