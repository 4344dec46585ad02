"""The normal distribution as branch-free scalar expressions: e^(-x^2/2), its integral ndtr, gelu, and erfc.
All but the last start with the same operations, which LLVM computes once where a loop has several of them."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl_rlx.dialects.lir.scalar_builder import Scalar, ScalarBuilder
from xdsl_rlx.lowering.backend.math.math_core import (
    F32,
    F64,
    LOG2_E,
    at_least,
    at_most,
    format_of,
    polynomial,
    round_scaled,
)
from xdsl_rlx.lowering.backend.math.math_exp import EXP

_GAUSSIAN_ZERO = {F32: 16.2718, F64: 38.8188}
"""Here the power of 2 in e^(-x^2/2) has the bits of 0. From 14.5 and 38.7 on that is less than half the smallest
denormal number, but a product that is less takes a processor ten times as long as 0."""
_ERFC_ZERO = {F32: 11.5059, F64: 27.4491}
"""The same for e^(-x^2), and erfc."""
_RATIO_END = {F32: 10.25, F64: 27.3}
"""`_doubled_ratio` is right up to sqrt(2) times this."""
_SQRT_2 = {F32: (1.4142135381698608, 2.420323420895794e-08), F64: (1.4142135623730951, -9.667293313452913e-17)}
_RATIO_SLOPE = 0.7978845608028654
"""The slope of `_doubled_ratio` at 0, negated: sqrt(2 / pi)."""
_ONE_OVER_ROOT_PI = 0.5641895835477563
_ERFCX_FAR = {
    F32: (1.0, -1.0, 3.0, -15.0, 105.0, -945.0),
    F64: (1.0, -1.0, 3.0, -15.0, 105.0, -945.0, 10395.0, -135135.0),
}
"""`sqrt(pi) x erfcx(x)` in `1 / (2 x^2)`."""
_SHIFT = 64
"""Exponents from -1080 to 0, or in f32 from -152, plus this are exponents of normal numbers."""

# 2 e^(x^2/2) ndtr(-x) = A(x) / (A(x) + x (9/8 A(x) + C(x))) for x from 0 to 14.5 and 38.7: 2^-27.1 and 2^-58.4
_A = {
    F32: (1.0, 0.8752017021179199, 0.36538901925086975, 0.08088652044534683, 0.008171627297997475),
    F64: (
        1.0,
        1.6550282738315376,
        1.3579283501758426,
        0.7136887969530714,
        0.26359860181341843,
        0.07116655244795825,
        0.014204228899388195,
        0.0020721097281382016,
        0.00021224803428061562,
        1.388192773315574e-05,
        4.4567012313917076e-07,
    ),
}
_C = {
    F32: (
        -0.32711514830589294,
        -0.14967593550682068,
        -0.0239127054810524,
        0.002213835483416915,
        0.001048412756063044,
    ),
    F64: (
        -0.3271154391971345,
        -0.40476552831050383,
        -0.24206369569445915,
        -0.08784807472918794,
        -0.02006721302242299,
        -0.0025103462333239705,
        1.5389972692814235e-05,
        7.103135440019134e-05,
        1.3911060345106166e-05,
        1.3355774582478411e-06,
        5.7185777377761426e-08,
    ),
}


@dataclass(frozen=True)
class _Gaussian:
    """`2^-64 scale (1 + excess)`."""

    scale: Scalar
    excess: Scalar

    def times(self, b: ScalarBuilder, x: Scalar) -> Scalar:
        """The product with `2^64 x`, which is rounded once."""
        scaled = x * self.scale
        return b.fma(scaled, self.excess, scaled)


def _size(b: ScalarBuilder, x: Scalar) -> Scalar:
    """|x|, or the bound beyond which |x| makes no difference; NaN stays."""
    return at_most(b, b.abs(x), _GAUSSIAN_ZERO[format_of(x)])


def _gaussian(b: ScalarBuilder, size: Scalar, rate: float = 0.5) -> _Gaussian:
    """
    `e^(-rate size^2)` as `2^n e^(-rate r)` with `size^2 = r - n ln 2 / rate`, for a rate of 1/2 or 1.

    What rounding `size^2` loses, up to 2^9 units in the last place of the result, is added to the remainder. The
    polynomial is that of exp.
    """
    f = format_of(size)
    square = size * size
    lost = b.fma(size, size, -square)
    n = round_scaled(b, square, -rate * LOG2_E)
    r = b.fma(n.value, f.ln2_low / rate, b.fma(n.value, f.ln2_high / rate, square)) + lost
    tail = polynomial(b, r, [c * (-rate) ** k for k, c in enumerate(EXP[f], 2)])
    scale = b.bitcast((n.bits(b) << f.digits) + (f.one_bits + (_SHIFT << f.digits)), f.type)
    return _Gaussian(scale, r * b.fma(r, tail, -rate))


def _doubled_ratio(b: ScalarBuilder, size: Scalar) -> Scalar:
    """
    `2 ndtr(-size) e^(size^2/2)`, exact at 0.

    `x C(x)` is at most 0.11 of the denominator: no more than that of the errors of A and C reaches the quotient.
    """
    f = format_of(size)
    a, c = polynomial(b, size, _A[f]), polynomial(b, size, _C[f])
    return a / b.fma(size, b.fma(a, 1.125, c), a)


def gaussian(b: ScalarBuilder, x: Scalar) -> Scalar:
    g = _gaussian(b, _size(b, x))
    return b.fma(g.scale, g.excess, g.scale) * 2.0**-_SHIFT


def ndtr(b: ScalarBuilder, x: Scalar) -> Scalar:
    """The tail below 0, 1 less the tail above."""
    size = _size(b, x)
    tail = _gaussian(b, size).times(b, _doubled_ratio(b, size)) * 2.0 ** (-_SHIFT - 1)
    return b.select(x < 0.0, tail, 1.0 - tail)


def gelu(b: ScalarBuilder, x: Scalar) -> Scalar:
    """
    `x ndtr(x) = max(x, 0) - |x| ndtr(-|x|)`: nothing cancels, since `ndtr(-|x|) <= 1/2`.

    `|x|` is multiplied before the small factor, because ndtr may be denormal where gelu is not. The bounds are those of
    its slope: a kernel that has both computes what they share once. Far below 0 the result is -0, as the maximum is.
    """
    size = _size(b, x)
    tail = _gaussian(b, size).times(b, size * _doubled_ratio(b, size))
    return b.fma(tail, -(2.0 ** (-_SHIFT - 1)), at_least(b, x, -0.0))


def erfc(b: ScalarBuilder, x: Scalar) -> Scalar:
    """
    `e^(-x^2)` times the ratio R at `sqrt(2) |x|`, subtracted from 2 below 0.

    What rounding `t = sqrt(2) |x|` loses is added by `R' = t R - sqrt(2 / pi)`.
    """
    f = format_of(x)
    high, low = _SQRT_2[f]
    size = at_most(b, b.abs(x), _ERFC_ZERO[f])
    t = size * high
    lost = b.fma(size, low, b.fma(size, high, -t))
    ratio = _doubled_ratio(b, t)
    ratio = b.fma(lost, b.fma(t, ratio, -_RATIO_SLOPE), ratio)
    tail = _gaussian(b, size, 1.0).times(b, ratio) * 2.0**-_SHIFT
    return b.select(x < 0.0, 2.0 - tail, tail)


def erfcx(b: ScalarBuilder, x: Scalar) -> Scalar:
    """
    The ratio R at `sqrt(2) x`, beyond its range the asymptotic series (DLMF 7.12.1).

    Below 0 it is `2 e^(x^2)` less that of `|x|`.
    """
    f = format_of(x)
    high, low = _SQRT_2[f]
    size = b.abs(x)
    bounded = at_most(b, size, _RATIO_END[f])
    t = bounded * high
    lost = b.fma(bounded, low, b.fma(bounded, high, -t))
    ratio = _doubled_ratio(b, t)
    ratio = b.fma(lost, b.fma(t, ratio, -_RATIO_SLOPE), ratio)
    inverse = 1.0 / size
    far = (inverse * _ONE_OVER_ROOT_PI) * polynomial(b, 0.5 * inverse * inverse, _ERFCX_FAR[f])
    ratio = b.select(size > _RATIO_END[f], far, ratio)
    g = _gaussian(b, bounded, 1.0)
    twice = (2.0 / b.fma(g.scale, g.excess, g.scale)) * 2.0**_SHIFT
    return b.select(x < 0.0, twice - ratio, ratio)
