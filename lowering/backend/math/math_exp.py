"""exp, exp2, expm1, sigmoid, sinh, cosh, tanh and erf as branch-free scalar expressions. Logarithms are in math_log.py.

Polynomials are minimax fits (Remez, 45 digits); the comments give the interval and the error of the fit."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl_rlx.dialects.lir.scalar_builder import Scalar, ScalarBuilder
from xdsl_rlx.lowering.backend.math.math_core import (
    F32,
    F64,
    LOG2_E,
    Rounded,
    at_least,
    at_most,
    format_of,
    horner,
    polynomial,
    power_of_two,
    round_scaled,
)


@dataclass(frozen=True)
class _Range:
    """
    Arguments beyond these give 0 (-1 for expm1) or infinity whatever they are.

    At the lowest ones a power of 2 has the bits of 0, or of infinity in the divisor of sigmoid. A product that is less
    than all numbers takes a processor ten times as long as 0 does, and masks are -1e9 or -inf.
    """

    lowest: float
    """-226 and -1122 times ln(2), about."""
    highest: float
    lowest_normal: float
    """Below this the result may be denormal."""
    lowest_exp2: float
    highest_exp2: float
    lowest_sigmoid: float
    """-192 and -1536 times ln(2), about."""
    highest_sigmoid: float
    """From here on sigmoid is 1."""
    shift: int
    """2^-shift is the numerator of sigmoid; exponents from that of `e^-highest_sigmoid` on, plus this, are normal."""


_RANGE = {
    F32: _Range(-156.65, 88.8, -80.0, -226.0, 128.0, -133.08, 43.0, 64),
    F64: _Range(-777.71, 709.8, -700.0, -1122.0, 1024.0, -1064.67, 350.0, 512),
}

EXP = {
    # (e^r - 1 - r) / r^2 on |r| <= ln(2)/2: 2^-23.9 and 2^-53.1
    F32: (0.5, 0.16666576266288757, 0.04166637361049652, 0.00836329348385334, 0.0013941320357844234),
    F64: (
        0.5000000000000001,
        0.16666666666666674,
        0.04166666666662348,
        0.008333333333322038,
        0.0013888888917537624,
        0.0001984126988710704,
        2.480152079367125e-05,
        2.7557241754208647e-06,
        2.762032690043801e-07,
        2.5110269001889788e-08,
    ),
}
EXP2 = {
    # (2^r - 1) / r on |r| <= 1/2: 2^-32.5 and 2^-62.4
    F32: (
        0.6931471824645996,
        0.24022650718688965,
        0.05550410971045494,
        0.009618056938052177,
        0.0013333454262465239,
        0.0001546144630992785,
        1.5310110029531643e-05,
    ),
    F64: (
        0.6931471805599453,
        0.24022650695910072,
        0.055504108664821625,
        0.009618129107628487,
        0.0013333558146406469,
        0.00015403530393354772,
        1.5252733841558486e-05,
        1.321548682329694e-06,
        1.017805708696995e-07,
        7.054891467560106e-09,
        4.4558180252628303e-10,
        2.5737813810947433e-11,
    ),
}
_SINH = {
    # (sinh(x) - x) / x^3 in x^2 for |x| <= 1: 2^-27.5 and 2^-56.6
    F32: (0.1666666716337204, 0.008333349600434303, 0.0001983615948120132, 2.8169506549602374e-06),
    F64: (
        0.16666666666666669,
        0.008333333333333148,
        0.0001984126984143188,
        2.7557319157069565e-06,
        2.505212313705771e-08,
        1.6057259744547826e-10,
        7.758749491235195e-13,
    ),
}
_TANH_F32 = (
    -0.3333333432674408,
    0.13333305716514587,
    -0.053959548473358154,
    0.021770993247628212,
    -0.008350004442036152,
    0.0022989388089627028,
)
"""(tanh(x) - x) / x^3 in x^2 for |x| <= 0.625: 2^-29.3."""
# erf(x) / x - 1 in x^2 for |x| <= 1.15 in f32, 0.93 in f64: 2^-26.9 and 2^-59.4
_ERF_F32 = (
    0.12837915122509003,
    -0.3761257529258728,
    0.11283040046691895,
    -0.026832157745957375,
    0.005149471573531628,
    -0.000768883153796196,
    6.856321851955727e-05,
)
_ERF_F64 = (
    0.1283791670955126,
    -0.3761263890318371,
    0.11283791670952671,
    -0.026866170644598408,
    0.0052239776194641565,
    -0.0008548326627380614,
    0.00012055316322158268,
    -1.4925187980160828e-05,
    1.6453519630605418e-06,
    -1.62595724221356e-07,
    1.3961899535449473e-08,
    -8.290015552719562e-10,
)
_ROOT_OF_ERFC = (
    0.2615223228931427,
    -0.2888628840446472,
    0.09913559257984161,
    0.006910975091159344,
    -0.012218214571475983,
    0.0015247208066284657,
    0.0007215040386654437,
    -0.0001826225925469771,
)
"""erfc(x)^(1/4) in x - 2 on [1.15, 3.95], weighted by erfc(x)^(3/4) / erf(x): 2^-27.0."""
# -log(erfc(x)) / x - 1 on [0.92, 5.95], weighted by x erfc(x): 2^-61.6
_LOG_ERFC = (
    0.12837920320975338,
    0.636619344321378,
    0.10277499057152313,
    -0.019136778359276862,
    -0.00018878742549360657,
    0.0016589157222767353,
    -0.0005374026319257074,
    -3.3111644481314624e-05,
    0.00011740560263323898,
    -6.79467145918595e-05,
    2.551635762679265e-05,
    -7.169422737635439e-06,
    1.565320331168652e-06,
    -2.667575547013598e-07,
    3.497461484440804e-08,
    -3.4150846407180144e-09,
    2.3410747718649107e-10,
    -1.0053681181074087e-11,
    2.0345157595627456e-13,
)
_SINH_INFINITE = {F32: 90.0, F64: 711.0}
_TANH_ONE = {F32: 10.0, F64: 20.0}
_ERF_ONE = {F32: 3.95, F64: 5.95}


def _reduce(b: ScalarBuilder, x: Scalar) -> tuple[Rounded, Scalar]:
    """Cody and Waite: n and `r = x - n ln 2` with |r| <= ln(2)/2."""
    f = format_of(x)
    n = round_scaled(b, x, LOG2_E)
    return n, b.fma(n.value, -f.ln2_low, b.fma(n.value, -f.ln2_high, x))


def _exp_moderate(b: ScalarBuilder, x: Scalar) -> Scalar:
    """e^x where that is a normal number."""
    n, r = _reduce(b, x)
    p = b.fma(r, b.fma(r, polynomial(b, r, EXP[format_of(x)]), 1.0), 1.0)
    return p * power_of_two(b, n)


def _scaled(b: ScalarBuilder, p: Scalar, n: Rounded, may_be_denormal: Scalar) -> Scalar:
    """
    `p * 2^n`, rounded once. Large powers are made as 2 * 2^(n-1), because 2^n overflows before the result does, and
    small ones as 2^-99 * 2^(n+99).
    """
    f = format_of(p)
    unit = 1 << f.digits
    bias = b.select(may_be_denormal, b.const(f.one_bits + 99 * unit, f.int_type), f.one_bits - unit)
    scale = b.bitcast((n.bits(b) << f.digits) + bias, f.type)
    return (p * scale) * b.select(may_be_denormal, b.const(2.0**-99, f.type), 2.0)


def exp(b: ScalarBuilder, x: Scalar) -> Scalar:
    f = format_of(x)
    limits = _RANGE[f]
    bounded = at_most(b, at_least(b, x, limits.lowest), limits.highest)
    n, r = _reduce(b, bounded)
    p = b.fma(r, b.fma(r, polynomial(b, r, EXP[f]), 1.0), 1.0)
    return _scaled(b, p, n, bounded < limits.lowest_normal)


def exp2(b: ScalarBuilder, x: Scalar) -> Scalar:
    f = format_of(x)
    limits = _RANGE[f]
    bounded = at_most(b, at_least(b, x, limits.lowest_exp2), limits.highest_exp2)
    n = round_scaled(b, bounded, 1.0)
    r = bounded - n.value
    return _scaled(b, b.fma(r, polynomial(b, r, EXP2[f]), 1.0), n, bounded < limits.lowest_normal)


def expm1(b: ScalarBuilder, x: Scalar) -> Scalar:
    """
    2^n (1 + r + tail) - 1, computed at half size because 2^n may overflow where the result does not.

    Reduction and polynomial are those of exp: a loop over both, as the gradient of elu is, computes them once. The
    power is at least 2^-64, beside which the result is -1.
    """
    f = format_of(x)
    limits = _RANGE[f]
    n, r = _reduce(b, at_most(b, at_least(b, x, limits.lowest), limits.highest))
    tail = (r * r) * polynomial(b, r, EXP[f])
    bounded = Rounded(n.value, at_least(b, n.shifted, f.magic - 64.0))
    scale = b.bitcast((bounded.bits(b) << f.digits) + (f.one_bits - (1 << f.digits)), f.type)
    sum = b.fma(scale, tail, b.fma(scale, r, scale - 0.5))
    return b.copysign(b.select(b.eq(n.value, 0.0), r + tail, sum + sum), x)


def sigmoid(b: ScalarBuilder, x: Scalar) -> Scalar:
    """
    `1 / (1 + e^-x)` as `c / (c + c e^-x)` with a power of two c: neither a power nor the quotient's operands overflow.

    It is rounded once where it is denormal.
    """
    f = format_of(x)
    limits = _RANGE[f]
    n, r = _reduce(b, -at_most(b, at_least(b, x, limits.lowest_sigmoid), limits.highest_sigmoid))
    p = b.fma(r, b.fma(r, polynomial(b, r, EXP[f]), 1.0), 1.0)
    scale = b.bitcast((n.bits(b) << f.digits) + (f.one_bits - (limits.shift << f.digits)), f.type)
    c = 2.0**-limits.shift
    return c / b.fma(p, scale, c)


def _quarter_exp(b: ScalarBuilder, size: Scalar) -> Scalar:
    """e^size / 4 for a size from 0 on: infinite where e^size / 2 is, not before."""
    f = format_of(size)
    n, r = _reduce(b, at_most(b, size, _SINH_INFINITE[f]))
    p = b.fma(r, b.fma(r, polynomial(b, r, EXP[f]), 1.0), 1.0)
    return p * b.bitcast((n.bits(b) << f.digits) + (f.one_bits - (2 << f.digits)), f.type)


def sinh(b: ScalarBuilder, x: Scalar) -> Scalar:
    """x + x^3 P(x^2) below 1, 2 (q - 1 / 16 q) with q = e^x / 4 above."""
    size = b.abs(x)
    square = x * x
    small = b.fma(x * square, polynomial(b, square, _SINH[format_of(x)]), x)
    quarter = _quarter_exp(b, size)
    return b.copysign(b.select(size < 1.0, small, (quarter - 0.0625 / quarter) * 2.0), x)


def cosh(b: ScalarBuilder, x: Scalar) -> Scalar:
    """2 (q + 1 / 16 q) with q = e^|x| / 4."""
    quarter = _quarter_exp(b, b.abs(x))
    return (quarter + 0.0625 / quarter) * 2.0


def tanh(b: ScalarBuilder, x: Scalar) -> Scalar:
    """
    t = m / (m + 2) with m = e^2|x| - 1 = 2^n (1 + r + tail) - 1, which is r + tail where n is 0.

    One step of Newton makes up for what the quotient and m + 2 are rounded by. In f32, a polynomial for small numbers
    and a quotient for the others take less time in a loop with other functions; benchmark: run.py "c".
    """
    f = format_of(x)
    if f is F32:
        return _tanh_f32(b, x)
    n, r = _reduce(b, at_most(b, b.abs(x), _TANH_ONE[f]) * 2.0)
    tail = (r * r) * polynomial(b, r, EXP[f])
    scale = power_of_two(b, n)
    m = b.fma(scale, tail, b.fma(scale, r, scale - 1.0))
    below = m + 2.0
    lost, inverse = m - (below - 2.0), 1.0 / below
    t = m * inverse
    rest = b.fma(-t, lost, b.fma(-t, below, m))
    return b.copysign(b.fma(rest, inverse, t), x)


def _tanh_f32(b: ScalarBuilder, x: Scalar) -> Scalar:
    """x + x^3 P(x^2) below 0.625, 1 - 2 / (e^2x + 1) above, 1 where that is the nearest number."""
    size = b.abs(x)
    square = x * x
    small = b.fma(x * square, polynomial(b, square, _TANH_F32), x)
    e = _exp_moderate(b, at_most(b, size, _TANH_ONE[F32]) * 2.0)
    large = 1.0 - 2.0 / (e + 1.0)
    return b.copysign(b.select(size < 0.625, small, large), x)


def erf(b: ScalarBuilder, x: Scalar) -> Scalar:
    """x + x P(x^2) for small numbers, 1 - erfc for the others, 1 where that is the nearest number."""
    size = b.abs(x)
    square = x * x
    bounded = at_most(b, size, _ERF_ONE[format_of(x)])
    if format_of(x) is F32:
        # errors of erfc are small beside 1: neither an exponential nor a quotient is needed
        small = horner(b, square, _ERF_F32)
        root = horner(b, bounded - 2.0, _ROOT_OF_ERFC)
        square_root = root * root
        erfc, bound = square_root * square_root, 1.15
    else:
        small = polynomial(b, square, _ERF_F64)
        erfc = _exp_moderate(b, -b.fma(bounded, polynomial(b, bounded, _LOG_ERFC), bounded))
        bound = 0.925
    return b.copysign(b.select(size < bound, b.fma(x, small, x), 1.0 - erfc), x)
