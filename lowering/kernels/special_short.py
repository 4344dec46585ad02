"""Kernels of special functions for results in f32: no loop that depends on the numbers and no branch, so that a loop
over elements is vectors. They hold for common numbers only; `special.py` chooses the general kernel elsewhere."""

from __future__ import annotations

from math import log as log_of
from math import pi

from xdsl_rlx.lowering.kernel_dsl import Number, cast, exp, log, power, select
from xdsl_rlx.lowering.kernels.special_gamma import polynomial

SERIES = 48
"""Terms of the series of the incomplete gamma function: with `x < a + 1/2 <= 40.5`, the rest is 2^-33 of it."""

_FROM_LAST = tuple(reversed(range(1, SERIES)))

FRACTION = 32
"""Terms of its continued fraction: with `max(a, 1/2) + 1/2 <= x <= 80`, the rest is 2^-28 of it."""

LEAST_A, MOST_A, LEAST_X, MOST_X = 1e-3, 40.0, 1e-30, 80.0
"""Between which numbers these hold; of smaller `a`, 1 less the lower function cancels."""

_STIRLING = (1.0 / 12.0, -1.0 / 360.0, 1.0 / 1260.0, -1.0 / 1680.0, 1.0 / 1188.0)


def _weight(a: Number, x: Number) -> Number:
    """`x^a e^-x / gamma(a + 1)` in f64, by Stirling's series for `a + 9` (DLMF 5.11.1)."""
    shifted, product = a + 9.0, a + 1.0
    for k in tuple(range(2, 9)):
        product = product * (a + float(k))
    inverse = 1.0 / shifted
    square = inverse * inverse
    rest = inverse * polynomial(square, _STIRLING)
    exponent = a * log(x) - x - ((shifted - 0.5) * log(shifted) - shifted + 0.5 * log_of(2.0 * pi) + rest)
    return product * exp(exponent)


def _series(a: Number, x: Number) -> Number:
    """`1 + x / (a + 1) + x^2 / ((a + 1) (a + 2)) + ...` as one quotient, from the last term on (DLMF 8.11.4)."""
    above, below = a * 0.0 + 1.0, a * 0.0 + 1.0
    for n in _FROM_LAST:
        below = (a + float(n)) * below
        above = below + x * above
    return above / below


def _fraction(a: Number, x: Number) -> Number:
    """`gamma(a, x) / (x^a e^-x)` as one quotient, by the recurrences of the continued fraction DLMF 8.9.2."""
    step = x + (1.0 - a)
    above, below = a * 0.0 + 1.0, step
    above_before, below_before = a * 0.0, a * 0.0 + 1.0
    for n in tuple(range(1, FRACTION)):
        step = step + 2.0
        factor = float(n) * (a - float(n))
        above, above_before = step * above + factor * above_before, above
        below, below_before = step * below + factor * below_before, below
    return above / below


def _by_fraction(a: Number, x: Number) -> Number:
    """Whether the continued fraction converges faster than the series."""
    return x >= select(a > 0.5, a, 0.5) + 0.5


def igamma_short(a: Number, x: Number) -> Number:
    """The lower incomplete gamma function."""
    u, v = cast(a, "f64"), cast(x, "f64")
    weight = _weight(u, v)
    return cast(select(_by_fraction(u, v), 1.0 - weight * u * _fraction(u, v), weight * _series(u, v)), "f32")


def igammac_short(a: Number, x: Number) -> Number:
    """The upper one."""
    u, v = cast(a, "f64"), cast(x, "f64")
    weight = _weight(u, v)
    return cast(select(_by_fraction(u, v), weight * u * _fraction(u, v), 1.0 - weight * _series(u, v)), "f32")


def weight_of_gamma_short(a: Number, x: Number) -> Number:
    """`x^(a - 1) e^-x / gamma(a)`."""
    u, v = cast(a, "f64"), cast(x, "f64")
    return cast(_weight(u, v) * u / v, "f32")


def gamma_excess(a: Number, x: Number) -> Number:
    """0 where the functions above hold, else 1."""
    fits = (a >= LEAST_A) & (a <= MOST_A) & (x >= LEAST_X) & (x <= MOST_X)
    return select(fits, cast(0.0, "f32"), 1.0)


ADDED = 7
"""Terms of zeta that are added one by one."""

MOST_S, MOST_Q = 30.0, 1e6
"""Up to here the terms of Euler's and Maclaurin's formula below are enough for f32."""

_EULER = (12.0, -720.0, 30240.0, -1209600.0, 47900160.0, -1307674368000.0 / 691.0)
"""`(2 j)! / B(2 j)`, as in special.py."""


def zeta_short(s: Number, q: Number) -> Number:
    """
    Hurwitz's zeta function for `s > 1` and `q > 0` by the formula of Euler and Maclaurin (DLMF 25.11.43).

    The first powers are f32; the last one, from which the tail is, and all sums are f64.
    """
    total = cast(power(q, -s), "f64")
    for k in tuple(range(1, ADDED)):
        base = q + float(k)
        # what the rounded sum has lost, to first order
        lost = q - (base - float(k))
        term = power(base, -s)
        total = total + cast(term - term * (s * lost / base), "f64")
    last, order = cast(q, "f64") + float(ADDED), cast(s, "f64")
    inverse = 1.0 / last
    square = inverse * inverse
    rest = last / (order - 1.0) + 0.5
    factor = order * inverse
    for j in tuple(range(len(_EULER))):
        rest = rest + factor * (1.0 / _EULER[j])
        factor = factor * ((order + (2.0 * j + 1.0)) * (order + (2.0 * j + 2.0)) * square)
    return cast(total + exp(-order * log(last)) * rest, "f32")


def zeta_excess(s: Number, q: Number) -> Number:
    """0 where `zeta_short` holds, and where no term is denormal, else 1."""
    fits = (s > 1.0) & (s <= MOST_S) & (q > 1e-30) & (q <= MOST_Q) & (s * log(q + float(ADDED)) <= 80.0)
    return select(fits, cast(0.0, "f32"), 1.0)
