"""lgamma and digamma as branch-free scalar expressions, in f64 also for f32.

Arguments are shifted into one interval of a polynomial fit, up to where the series of Stirling holds; negative ones are
reflected. Polynomials interpolate at Chebyshev nodes (60 digits); the comments give the interval and the error."""

from __future__ import annotations

from math import pi

from xdsl.dialects.builtin import f64

from xdsl_rlx.dialects.lir.scalar_builder import Scalar, ScalarBuilder
from xdsl_rlx.lowering.backend.math.math_core import F32, F64, INF, NAN, Format, format_of, polynomial
from xdsl_rlx.lowering.backend.math.math_log import log, log_for_f32
from xdsl_rlx.lowering.kernels.special_gamma import LGAMMA, STIRLING

_LGAMMA = {
    # lgamma(1.75 + t) / ((t + 0.75) (t - 0.25)) for |t| <= 0.75: 2^-35.0 and 2^-54.0
    F32: (
        0.4501393121092563,
        -0.11948158682918279,
        0.044520447309150356,
        -0.019053944354853112,
        0.008776363114801563,
        -0.0042264500325827434,
        0.002095672702914102,
        -0.00105844151383717,
        0.0005437445754677835,
        -0.00029212466234906974,
        0.00015336210701206188,
        -5.884596393689939e-05,
        3.1069095361256445e-05,
        -4.287023109309364e-05,
        2.3112221450489204e-05,
    ),
    F64: LGAMMA,
}
_SINPI = {
    # sin(pi r) / r in r^2 for |r| <= 1/2: 2^-35.1 and 2^-54.5
    F32: (
        3.141592653536132,
        -5.167712764593,
        2.550163317938427,
        -0.599252186531583,
        0.08205035020147247,
        -0.007028303855203096,
    ),
    F64: (
        3.141592653589793,
        -5.167712780049969,
        2.5501640398773007,
        -0.5992645293189447,
        0.0821458865731029,
        -0.007370430505916944,
        0.0004662998161898394,
        -2.1903497074626018e-05,
        7.697826768224191e-07,
    ),
}
_STIRLING = {
    # x (lgamma(x) - (x - 1/2) log x + x - log(2 pi) / 2) in 1 / x^2 from x = 6.5 on: 2^-28.4 and 2^-52.4
    F32: (
        0.0833333330983815,
        -0.002777598774073095,
        0.0007732731869351053,
    ),
    F64: STIRLING,
}
_DIGAMMA_FAR_SERIES = {
    # x^2 (log x - 1 / 2x - digamma(x)) in 1 / x^2 from x = 7.2 on: 2^-26.5 and 2^-54.0
    F32: (
        0.08333333244510444,
        -0.008332502936096903,
        0.0038522051922668917,
    ),
    F64: (
        0.08333333333333333,
        -0.00833333333332674,
        0.003968253961033269,
        -0.004166663637624775,
        0.007575128664711224,
        -0.021020960558834453,
        0.07867087504777907,
        -0.2755944795531356,
    ),
}
_DIGAMMA = {
    # digamma(1.6 + t) / (1.6 + t - root) for |t| <= 0.6: 2^-32.9 and 2^-55.6
    F32: (
        0.9109590718008618,
        -0.379619808206081,
        0.20115702165169952,
        -0.11587171408564201,
        0.06931062857409422,
        -0.04226071589613389,
        0.026017660908892074,
        -0.016123876505614226,
        0.010179445072343293,
        -0.0063430509323478095,
        0.0033342211016317465,
        -0.002081188816089289,
        0.0025582288245504675,
        -0.0015984102340108363,
    ),
    F64: (
        0.9109590717053151,
        -0.3796198081463711,
        0.20115704762430217,
        -0.11587173031668997,
        0.06930948272140086,
        -0.042259999818532006,
        0.02603647999829243,
        -0.016135637139471203,
        0.010033885372600203,
        -0.006252085464452177,
        0.0039003367121148214,
        -0.002434986463786888,
        0.0015208209534634538,
        -0.0009499513184530279,
        0.0005935665136883938,
        -0.00037189801908361604,
        0.00023241374039823567,
        -0.000141256335693485,
        8.828188842196207e-05,
        -6.607362766813478e-05,
        4.129552381976625e-05,
        -6.779994919563113e-06,
        4.237428843090256e-06,
        -2.1870101988951138e-05,
        1.3668798676921101e-05,
    ),
}
_COT = {
    # (pi cot(pi r) - 1 / r) / r in r^2 for |r| <= 1/2: 2^-33.8 and 2^-55.0
    F32: (
        -3.289868133899223,
        -2.1646463362299073,
        -2.0347000082581084,
        -2.007593027572551,
        -2.013267744396918,
        -1.8749497644854423,
        -2.8033044849664264,
        0.8708620857686712,
        -6.967141302805352,
    ),
    F64: (
        -3.289868133696453,
        -2.1646464674222803,
        -2.034686123967514,
        -2.008154712581119,
        -2.001989137271178,
        -2.000492722028886,
        -2.000107311804003,
        -2.0003196741577174,
        -1.996097485576224,
        -2.0382490222156067,
        -1.727615124757811,
        -3.4058369233965187,
        3.1611194298940593,
        -14.94347381679524,
        18.39196776357757,
        -18.391967765908955,
    ),
}
_DIGAMMA_BELOW = {
    # digamma(t - 1/2) / (t - 1/2 - root) for t from -0.08 to 0.07
    F32: (
        8.93703162360204,
        -0.5460245967894071,
        32.23757437640184,
        -0.6678192977464655,
        128.10255136050998,
        -2.1422663329030844,
        511.48737297953363,
        -9.642677458983782,
        2166.993756318003,
    ),
    F64: (
        8.937031623531025,
        -0.5460246078251515,
        32.23757513641645,
        -0.6677994684350614,
        128.10139610877636,
        -2.151160540908699,
        512.0739810163731,
        -8.388899204062614,
        2048.152033157584,
        -33.46823571513229,
        8193.267042662326,
        -132.74878940960002,
        32633.08201699468,
        -617.652790210362,
        144659.13507528885,
    ),
}
_LGAMMA_STEPS = (2.5, 3.5, 4.5, 5.5)
_LGAMMA_FAR = 6.5
_DIGAMMA_STEPS = (2.2, 3.2, 4.2, 5.2, 6.2)
_DIGAMMA_FAR = 7.2
_HALF_LOG_2PI = 0.9189385332046728
_ROOT = (1.4616321449683622, 9.549995429965697e-17)
"""The positive zero of digamma, as a sum."""
_ROOT_BELOW = (-0.5040830082644554, -8.15428206243813e-18)
"""The zero between -1 and 0."""


def _log(b: ScalarBuilder, f: Format, x: Scalar) -> Scalar:
    """The logarithm of an f64, as precise as a result of that format asks for."""
    return log_for_f32(b, x) if f is F32 else log(b, x)


def lgamma(b: ScalarBuilder, x: Scalar) -> Scalar:
    """
    `log |gamma(x)|`: infinite at 0 and negative integers; at -inf -inf, as in SciPy.

    It is `lgamma(u) +- log(product)` with `u` from 1 to 2.5 and the product of the factors between. Below 0 it is
    `lgamma(1 - x)` subtracted from `log(pi / |sin(pi x)|)`, as one logarithm where the product is known.
    """
    f = format_of(x)
    wide = b.cast(x, f64)
    below = wide < 0.0
    v = b.select(below, 1.0 - wide, wide)
    short, far = v < 1.0, v >= _LGAMMA_FAR
    product = b.select(short, v, 1.0)
    shift = b.select(short, b.const(0.0, f64), 1.0)
    for k, step in enumerate(_LGAMMA_STEPS, 1):
        beyond = v >= step
        product = product * b.select(beyond, v - float(k), 1.0)
        shift = b.select(beyond, b.const(k + 1.0, f64), shift)
    t = v - shift
    near = (t * (t - 1.0)) * polynomial(b, t - 0.75, _LGAMMA[f])
    logarithm = _log(b, f, b.select(far, v, product))
    inverse = 1.0 / v
    series = b.fma(inverse, polynomial(b, inverse * inverse, _STIRLING[f]), _HALF_LOG_2PI - 0.5)
    distant = b.fma(v - 0.5, logarithm - 1.0, series)
    positive = b.select(far, distant, near + b.select(short, -logarithm, logarithm))
    r = wide - b.round_even(wide)
    sine = b.abs(r * polynomial(b, r * r, _SINPI[f])) * (1 / pi)
    reflected = -_log(b, f, b.select(far, sine, sine * product)) - b.select(far, distant, near)
    reflected = b.select(b.eq(r, 0.0), INF, b.select(b.eq(wide, -INF), wide, reflected))
    return b.cast(b.select(below, reflected, positive), x.type)


def digamma(b: ScalarBuilder, x: Scalar) -> Scalar:
    """
    The derivative of lgamma: -inf at 0, inf at -0.0, NaN at negative integers and -inf, as in SciPy.

    `digamma(v) = digamma(v - n) + sum of 1 / (v - k)`, the sum as one quotient. Below 0 it is
    `digamma(1 - x) - pi cot(pi x)`, but around the zero next to -1/2.
    """
    f = format_of(x)
    wide = b.cast(x, f64)
    below = wide < 0.0
    v = b.select(below, 1.0 - wide, wide)
    short, far = v < 1.0, v >= _DIGAMMA_FAR
    numerator, denominator = b.select(short, b.const(-1.0, f64), 0.0), b.select(short, v, 1.0)
    shift = b.select(short, b.const(-1.0, f64), 0.0)
    for k, step in enumerate(_DIGAMMA_STEPS, 1):
        beyond = v >= step
        factor = b.select(beyond, v - float(k), 1.0)
        numerator = b.fma(numerator, factor, b.select(beyond, denominator, 0.0))
        denominator = denominator * factor
        shift = b.select(beyond, b.const(float(k), f64), shift)
    u = v - shift
    near = ((u - _ROOT[0]) - _ROOT[1]) * polynomial(b, u - 1.6, _DIGAMMA[f]) + numerator / denominator
    inverse = 1.0 / v
    square = inverse * inverse
    series = b.fma(square, polynomial(b, square, _DIGAMMA_FAR_SERIES[f]), inverse * 0.5)
    positive = b.select(far, _log(b, f, v) - series, near)
    r = wide - b.round_even(wide)
    cotangent = b.fma(r, polynomial(b, r * r, _COT[f]), 1.0 / r)
    reflected = b.select(b.eq(r, 0.0), NAN, positive - cotangent)
    t = wide + 0.5
    around = ((wide - _ROOT_BELOW[0]) - _ROOT_BELOW[1]) * polynomial(b, t, _DIGAMMA_BELOW[f])
    reflected = b.select((t > -0.08) & (t < 0.07), around, reflected)
    return b.cast(b.select(below, reflected, positive), x.type)
