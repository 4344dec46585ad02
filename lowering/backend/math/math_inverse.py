"""erf_inv and ndtri as branch-free scalar expressions, in the format of their argument.

Rational functions interpolate at Chebyshev nodes (60 digits); the comments give the interval and the error."""

from __future__ import annotations

from math import sqrt

from xdsl.dialects.builtin import f64

from xdsl_rlx.dialects.lir.scalar_builder import Scalar, ScalarBuilder
from xdsl_rlx.lowering.backend.math.math_core import F32, INF, NAN, format_of, horner, polynomial
from xdsl_rlx.lowering.backend.math.math_log import log

# erf_inv(x) / x in 0.7225 - x^2 for |x| <= 0.85: 2^-54.0
_CENTRE = (
    (
        1.1975323115670913,
        14.917264831517214,
        74.77500651813618,
        193.88864417606922,
        278.7734462009156,
        221.8510096438938,
        92.41900225578318,
        17.76423444112681,
        1.2005704394944918,
        0.012593233792352242,
    ),
    (
        1.0,
        13.20798431235725,
        70.98563264072445,
        200.28507368091604,
        319.7560068460914,
        290.84687748826445,
        144.7209041473258,
        35.79017683423445,
        3.6223989748303365,
        0.09407040939547513,
    ),
)
# erf_inv(1 - e^(-r^2)) / r in r - 1.37 up to r = 6.1: 2^-54.8
_TAIL = (
    (
        0.7374517497773155,
        2.9546056950637887,
        5.320550640071835,
        5.658897359172988,
        3.9280394072126255,
        1.857198192256098,
        0.6064014473072635,
        0.13579202021953019,
        0.020270563711474572,
        0.0019030884668975888,
        0.00010150518773506392,
        2.5850288227844e-06,
        2.179891924219926e-08,
    ),
    (
        1.0,
        3.715473867338515,
        6.308025043616473,
        6.400589633382925,
        4.27968501770413,
        1.9653723779409282,
        0.6278511423186816,
        0.13841679140709232,
        0.020450918442527354,
        0.0019089995265816095,
        0.00010157225102549042,
        2.585082791663283e-06,
        2.179880397056271e-08,
    ),
)
# the same in r - 6 up to r = 27.4: 2^-53.6
_FAR = (
    (
        0.9668851725025905,
        0.6259054134269267,
        0.16376637370676853,
        0.02224985119790937,
        0.0016808885257835174,
        7.030950848416369e-05,
        1.531396504399095e-06,
        1.507277003503688e-08,
        4.75345361735544e-11,
    ),
    (
        1.0,
        0.638268725594833,
        0.16546543928982174,
        0.022357272914299137,
        0.0016840847017868133,
        7.035037148862915e-05,
        1.5315662012022534e-06,
        1.5072813293485685e-08,
        4.753450296382767e-11,
    ),
)


# erf_inv(x) / x - 1 with w = -log(1 - x^2): in w - 2.5 up to 5, in sqrt(w) - 3 up to 17.4, rounded: 2^-27.2 and 2^-27.1
_SHORT_NEAR = (
    0.5014093518257141,
    0.24664027988910675,
    -0.004177367780357599,
    -0.001252732239663601,
    0.00021833268692716956,
    -4.968020675732987e-06,
    -3.460095967966481e-06,
    4.6706583134437096e-07,
    2.3042286301233617e-08,
    -8.850173927044125e-09,
)
_SHORT_FAR = (
    1.8329768180847168,
    1.0016752481460571,
    0.009444483555853367,
    -0.007643112447112799,
    0.005693958606570959,
    -0.0035661940928548574,
    0.001459083054214716,
    -0.00011839193030027673,
    -0.0002629432128742337,
    0.00015669433923903853,
    -3.1859126465860754e-05,
)
# ndtri(p) / (p - 1/2) - 2.5 in w - 2.5 with w = -log(4 p (1 - p)) up to 5: 2^-26.7
_SHORT_QUANTILE_NEAR = (
    1.7466269731521606,
    0.6976040601730347,
    -0.011815492995083332,
    -0.003543271915987134,
    0.0006176120368763804,
    -1.40457723318832e-05,
    -9.803566172195133e-06,
    1.3198757642385317e-06,
    6.643404049100354e-08,
    -2.4954145416700158e-08,
)
# -ndtri(p) - 1.5 s in s - 3 with s = sqrt(-log p) up to 10.2: 2^-28.7
_SHORT_QUANTILE_FAR = (
    (
        -0.8344624638557434,
        -0.4544900059700012,
        -0.09527784585952759,
        -0.010296166874468327,
        -0.0004379420424811542,
    ),
    (
        1.0,
        0.5870537161827087,
        0.10350720584392548,
        0.0051171062514185905,
    ),
)


def _quotient(
    b: ScalarBuilder, choices: list[tuple[Scalar, tuple[tuple[float, ...], tuple[float, ...]]]], chosen: list[Scalar]
) -> Scalar:
    """One of some rational functions, each of its argument: the last, or an earlier one that is chosen."""
    above, below = zip(*((polynomial(b, x, p), polynomial(b, x, q)) for x, (p, q) in choices), strict=True)
    numerator, denominator = above[-1], below[-1]
    for p, q, flag in reversed(list(zip(above, below, chosen, strict=False))):
        numerator, denominator = b.select(flag, p, numerator), b.select(flag, q, denominator)
    return numerator / denominator


def erf_inv(b: ScalarBuilder, x: Scalar) -> Scalar:
    """Infinite at -1 and 1, NaN beyond; `r R(r)` with `r = sqrt(-log(1 - |x|))` in the tails."""
    if format_of(x) is F32:
        return _erf_inv_f32(b, x)
    size = b.abs(x)
    r = b.sqrt(-log(b, 1.0 - size))
    central = size <= 0.85
    choices = [(0.7225 - size * size, _CENTRE), (r - 1.37, _TAIL)]
    result = b.select(central, size, r) * _quotient(b, choices, [central])
    result = b.select(b.eq(size, 1.0), INF, b.select(size > 1.0, NAN, result))
    return b.copysign(result, x)


def _erf_inv_f32(b: ScalarBuilder, x: Scalar) -> Scalar:
    """
    `x + x P(w)` with `w = -log((1 - |x|) (1 + |x|))`, after Giles (2012).

    The first factor is exact in the tails; elsewhere P hardly depends on w.
    """
    size = b.abs(x)
    w = -log(b, (1.0 - size) * (size + 1.0))
    near, far = horner(b, w - 2.5, _SHORT_NEAR), horner(b, b.sqrt(w) - 3.0, _SHORT_FAR)
    result = b.fma(x, b.select(w < 5.0, near, far), x)
    return b.copysign(b.select(b.eq(size, 1.0), INF, result), x)


def ndtri(b: ScalarBuilder, p: Scalar) -> Scalar:
    """`sqrt 2 erf_inv(2 p - 1)`, of the smaller one of `p` and `1 - p`; infinite at 0 and 1, NaN beyond."""
    if format_of(p) is F32:
        return _ndtri_f32(b, p)
    tail = b.select(p > 0.5, 1.0 - p, p)
    double = (p - 0.5) * 2.0
    r = b.sqrt(-log(b, tail * 2.0))
    central, near = b.abs(double) <= 0.85, r < 6.05
    choices = [(0.7225 - double * double, _CENTRE), (r - 1.37, _TAIL), (r - 6.0, _FAR)]
    size = b.select(central, double, b.select(p < 0.5, -r, r))
    result = (size * sqrt(2.0)) * _quotient(b, choices, [central, near])
    result = b.select(b.eq(tail, 0.0), b.select(p < 0.5, b.const(-INF, f64), INF), result)
    return b.select(tail < 0.0, NAN, result)


def _ndtri_f32(b: ScalarBuilder, p: Scalar) -> Scalar:
    """
    `(p - 1/2) P(w)` with `w = -log(4 p (1 - p))`, as `erf_inv`; in the tails a rational function of `sqrt(-log p)`.

    A function of w alone would be singular at complex numbers near the tails. `log p` follows from w by a short series.
    """
    tail = b.select(p > 0.5, 1.0 - p, p)
    offset = p - 0.5
    w = -log(b, (tail * 4.0) * (1.0 - tail))
    near = b.fma(offset, horner(b, w - 2.5, _SHORT_QUANTILE_NEAR), b.fma(p, 2.5, -1.25))
    # -log p and its root, with the rounding errors of both
    more = b.fma(-tail, b.fma(tail, 0.5, 1.0), 1.3862944)
    total = w + more
    s = b.sqrt(total)
    lost = b.fma(-s, s, total) + (more - (total - w))
    above, below = (horner(b, s - 3.0, part) for part in _SHORT_QUANTILE_FAR)
    far = b.fma(s, 1.5, b.fma(lost * 0.72, below, above * s) / (below * s))
    result = b.select(w < 5.0, near, b.copysign(far, offset))
    return b.select(b.eq(tail, 0.0), b.copysign(b.const(INF, p.type), offset), result)
