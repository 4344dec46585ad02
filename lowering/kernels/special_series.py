"""Kummer's function of f64 numbers, for kernels: series, and asymptotic expansions."""

from __future__ import annotations

from math import inf

from xdsl_rlx.lowering.kernel_dsl import Number, cast, exp, power
from xdsl_rlx.lowering.kernels.special_gamma import EPSILON, gamma, is_pole


def hyp1f1_series(a: Number, b: Number, x: Number) -> Number:
    """`sum over k of (a)_k / (b)_k x^k / k!` (DLMF 13.2.2), up to where its terms shrink and are small."""
    term, total, k = cast(1.0, "f64"), cast(1.0, "f64"), cast(0.0, "f64")
    going = term * x == term * x
    while going:
        term = term * ((a + k) / (b + k) * (x / (k + 1.0)))
        total = total + term
        k = k + 1.0
        small = abs(term) <= EPSILON * abs(total) and k > -a and k > -b
        going = term != 0.0 and not small and k < 20000.0 and abs(total) < inf
    return total


def hyp1f1_tail(c: Number, d: Number, x: Number) -> Number:
    """`sum over k of (c)_k (d)_k / k! x^-k`, the expansion of DLMF 13.7.2, up to its smallest term."""
    term, total, k = cast(1.0, "f64"), cast(1.0, "f64"), cast(0.0, "f64")
    going = term == 1.0
    while going:
        after = term * ((c + k) * (d + k) / ((k + 1.0) * x))
        going = abs(after) < abs(term) and abs(after) > EPSILON * abs(total)
        total = total + after if abs(after) < abs(term) else total
        term = after
        k = k + 1.0
    return total


def hyp1f1(a: Number, b: Number, x: Number) -> Number:
    """
    For negative `x` as `e^x 1F1(b - a, b, -x)` (DLMF 13.2.39), unless it is a polynomial; far out by expansions.

    Infinite where `b` is 0 or a negative integer, unless the series ends before.
    """
    result = a + b + x
    if a == a and b == b and x == x:
        if is_pole(b) and not (is_pole(a) and a > b):
            result = cast(inf, "f64")
        elif a == 0.0 or x == 0.0:
            result = cast(1.0, "f64")
        elif a == b:
            result = exp(x)
        elif is_pole(a):
            result = hyp1f1_series(a, b, x)
        elif x < -600.0 and not is_pole(b - a):
            result = gamma(b) / gamma(b - a) * power(-x, -a) * hyp1f1_tail(a, a - b + 1.0, -x)
        elif x < 0.0:
            result = exp(x) * hyp1f1_series(b - a, b, -x)
        elif x > 600.0:
            root = exp(0.5 * x)
            result = gamma(b) / gamma(a) * power(x, a - b) * hyp1f1_tail(b - a, 1.0 - a, x) * root * root
        else:
            result = hyp1f1_series(a, b, x)
    return result
