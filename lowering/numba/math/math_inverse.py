"""erf_inv and ndtri as branch-free scalar expressions; ndtri in f64 also for f32.

Rational functions interpolate at Chebyshev nodes (60 digits); the comments give the interval and the error."""

from __future__ import annotations

from math import sqrt

from xdsl.dialects.builtin import f64

from xdsl_rlx.dialects.lir.scalar_builder import Scalar, ScalarBuilder
from xdsl_rlx.lowering.numba.math.math_core import F32, F64, INF, NAN, Format, format_of, horner, polynomial
from xdsl_rlx.lowering.numba.math.math_log import log, log_for_f32

_CENTRE = {
    # erf_inv(x) / x in 0.7225 - x^2 for |x| <= 0.85: 2^-34.4 and 2^-54.0
    F32: (
        (
            1.1975323115126246,
            7.835318133734383,
            16.5656937491191,
            12.820535553955764,
            3.009820866180662,
            0.09799560102117187,
        ),
        (
            1.0,
            7.294200902826759,
            17.934805675183508,
            17.379065683858702,
            5.950214309849622,
            0.46615548322042916,
        ),
    ),
    F64: (
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
    ),
}
_TAIL = {
    # erf_inv(1 - e^(-r^2)) / r in r - 1.37 up to r = 6.1: 2^-34.7 and 2^-54.8
    F32: (
        (
            0.737451749750132,
            1.8150935387442602,
            1.7802692524910109,
            0.8702209715875145,
            0.21295358396122,
            0.02276112692471242,
            0.0007390648648870157,
        ),
        (
            1.0,
            2.170271542347543,
            1.9570347349948183,
            0.9035754913628256,
            0.21473282521993226,
            0.02276762891383063,
            0.0007390212006781203,
        ),
    ),
    F64: (
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
    ),
}
_FAR = {
    # the same in r - 6 up to r = 27.4: 2^-34.4 and 2^-53.6
    F32: (
        (
            0.9668851724593169,
            0.45837755971687755,
            0.07862215592448578,
            0.0058622582157193265,
            0.00017853704685978392,
            1.6114604949298323e-06,
        ),
        (
            1.0,
            0.46500321383890364,
            0.07897721171048842,
            0.005867165390450201,
            0.0001785409763846535,
            1.6114532630157719e-06,
        ),
    ),
    F64: (
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
    ),
}


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


def _log(b: ScalarBuilder, f: Format, x: Scalar) -> Scalar:
    return log_for_f32(b, x) if f is F32 else log(b, x)


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
    f = format_of(x)
    if f is F32:
        return _erf_inv_f32(b, x)
    size = b.abs(x)
    r = b.sqrt(-log(b, 1.0 - size))
    central = size <= 0.85
    choices = [(0.7225 - size * size, _CENTRE[f]), (r - 1.37, _TAIL[f])]
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
    f = format_of(p)
    wide = b.cast(p, f64)
    tail = b.select(wide > 0.5, 1.0 - wide, wide)
    double = (wide - 0.5) * 2.0
    r = b.sqrt(-_log(b, f, tail * 2.0))
    central, near = b.abs(double) <= 0.85, r < 6.05
    choices = [(0.7225 - double * double, _CENTRE[f]), (r - 1.37, _TAIL[f]), (r - 6.0, _FAR[f])]
    size = b.select(central, double, b.select(wide < 0.5, -r, r))
    result = (size * sqrt(2.0)) * _quotient(b, choices, [central, near])
    result = b.select(b.eq(tail, 0.0), b.select(wide < 0.5, b.const(-INF, f64), INF), result)
    return b.cast(b.select(tail < 0.0, NAN, result), p.type)
