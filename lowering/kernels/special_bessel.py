"""Bessel functions of orders 0 and 1, and exponential integrals, of f64 numbers, for kernels.

Polynomials interpolate at Chebyshev nodes (50 digits); the comments give the interval."""

from __future__ import annotations

from math import inf, nan, pi

from xdsl_rlx.lowering.kernel_dsl import Number, cast, copysign, cos, exp, floor, fma, log, select, sin, sqrt
from xdsl_rlx.lowering.kernels.special_gamma import EPSILON, polynomial

# I0(x) / x^0 in x^2 for |x| <= 8
_I0_NEAR = (
    1.0,
    0.25,
    0.015625000000000007,
    0.00043402777777777445,
    6.781684027778812e-06,
    6.781684027758202e-08,
    4.709502797312111e-10,
    2.4028075474081917e-12,
    9.385967122158306e-15,
    2.896902788810415e-17,
    7.242279005317181e-20,
    1.4962822964042478e-22,
    2.5987841051325663e-25,
    3.829411247002327e-28,
    5.0327117729737235e-31,
    4.601357767863732e-34,
    8.487698345602824e-37,
)
# sqrt(x) e^-x I0(x) in 16 / x - 1 from 8 on
_I0_FAR = (
    0.4021765094450081,
    0.0033605519836677235,
    0.00013621607439187193,
    1.1143033802583682e-05,
    1.4838475863096976e-06,
    2.9735956581528157e-07,
    8.872154618944625e-08,
    3.932926571091252e-08,
    2.155681110989874e-08,
    7.532386417555123e-09,
    -6.805980075129678e-09,
    -1.331979859201994e-08,
    -5.162517880939013e-09,
    7.323310735122893e-09,
    6.789790403895736e-09,
    -3.11851456121224e-09,
    -4.8482509221176966e-09,
    1.0924527246468664e-09,
    2.3981927228949238e-09,
    -2.748111637276033e-10,
    -7.473844621887592e-10,
    3.525321019700796e-11,
    1.0881994785468934e-10,
)
# I1(x) / x^1 in x^2 for |x| <= 8
_I1_NEAR = (
    0.5,
    0.06250000000000001,
    0.0026041666666666574,
    5.42534722222271e-05,
    6.781684027764357e-07,
    5.651403356704746e-09,
    3.3639305668982475e-11,
    1.5017547367976848e-13,
    5.214425120919993e-16,
    1.448455537254395e-18,
    3.2918259018287706e-21,
    6.2370206832638684e-24,
    9.956969230500738e-27,
    1.408926251589232e-29,
    1.3808181584914298e-32,
    2.716505589516919e-35,
)
# sqrt(x) e^-x I1(x) in 16 / x - 1 from 8 on
_I1_FAR = (
    0.38939845902587233,
    -0.009749577193235609,
    -0.000219235763833829,
    -1.503854721127423e-05,
    -1.8349101539664522e-06,
    -3.483853071371078e-07,
    -1.0001220638799958e-07,
    -4.31323156237458e-08,
    -2.3382691353601083e-08,
    -8.407326839577817e-09,
    6.795073490187386e-09,
    1.3952625102162603e-08,
    5.722677527454156e-09,
    -7.432535335623792e-09,
    -7.222524178953976e-09,
    3.0717395650769477e-09,
    5.094016301574338e-09,
    -1.0476127785270019e-09,
    -2.5062162405593894e-09,
    2.582169443152386e-10,
    7.79067217908059e-10,
    -3.2677656089803323e-11,
    -1.13288885034257e-10,
)
# the same for f32 numbers, rounded to them: 2^-27.8, 2^-24.5, 2^-26.4, 2^-26.4
_SHORT_I0_NEAR = (
    1.0,
    0.25,
    0.01562500186264515,
    0.00043402696610428393,
    6.781830506952247e-06,
    6.780235395353884e-08,
    4.717998769443454e-10,
    2.3721387267666705e-12,
    1.0069564099375854e-14,
    1.9913380630479078e-17,
    1.3566382431329069e-19,
)
_SHORT_I0_FAR = (
    0.40217649936676025,
    0.00336055806837976,
    0.00013615653733722866,
    1.1102880307589658e-05,
    1.6386256902478635e-06,
    3.699968544879084e-07,
)
_SHORT_I1_NEAR = (
    0.5,
    0.0625,
    0.0026041667442768812,
    5.425341805675998e-05,
    6.781770593988767e-07,
    5.6506186396632074e-09,
    3.368225490185672e-11,
    1.4871177206332575e-13,
    5.525323499277481e-16,
    1.0528416875120878e-18,
    5.9672987104160145e-21,
)
_SHORT_I1_FAR = (
    0.389398455619812,
    -0.009749584831297398,
    -0.00021916875266470015,
    -1.4990881936682854e-05,
    -2.0091138139832765e-06,
    -4.3141818650838104e-07,
)
# J0(x) / x^0 without its first zeros, in x^2 / 19 - 1 for x^2 <= 38
_J0_NEAR = (
    0.0023107298719687724,
    -0.0022313288244205473,
    0.0008942858913809936,
    -0.00020426595584383233,
    3.0560650942238736e-05,
    -3.246842919702442e-06,
    2.5844190449442706e-07,
    -1.601658756879045e-08,
    7.956386219804061e-10,
    -3.241309551360038e-11,
    1.1030627487652424e-12,
    -3.1895227157210496e-14,
    7.906290616048812e-16,
)
# P of DLMF 10.17.3, in 1 / x^2 from x^2 = 38 on: numerator and denominator
_J0_P = (
    (
        1.0,
        203.08789984819472,
        13827.69345213522,
        394713.12644174346,
        4837901.918176558,
        23356006.461697757,
        34840705.63928061,
        7774766.848760462,
    ),
    (
        1.0,
        203.15821234819472,
        13841.865861841346,
        395664.17051650153,
        4864279.895174664,
        23660452.085770458,
        36120547.72819984,
        9066715.524775878,
    ),
)
# Q of DLMF 10.17.3, times x, in 1 / x^2 from x^2 = 38 on: numerator and denominator
_J0_Q = (
    (
        -0.125,
        -28.09702932873111,
        -2140.0914320235274,
        -69272.6781154893,
        -979571.0145183039,
        -5571671.6423391,
        -9963212.474436268,
        -2424244.5813178737,
    ),
    (
        1.0,
        225.3621721298488,
        17250.962739907147,
        563893.7803034149,
        8138551.8460464105,
        48516432.21044055,
        98623979.46110934,
        41360113.34842353,
    ),
)
# J1(x) / x^1 without its first zeros, in x^2 / 15 - 1 for x^2 <= 30
_J1_NEAR = (
    -0.01342150114658995,
    0.013779145947330186,
    -0.005482311763964177,
    0.0011908916372407644,
    -0.00016453890352929117,
    1.5802198548905387e-05,
    -1.1187110254523508e-06,
    6.088133151344233e-08,
    -2.6285870359820934e-09,
    9.22872308604765e-11,
    -2.687532449403437e-12,
    6.606566194257869e-14,
    -1.3858954280997054e-15,
)
# P of DLMF 10.17.3, in 1 / x^2 from x^2 = 30 on: numerator and denominator
_J1_P = (
    (
        1.0,
        128.5780133233525,
        5140.468411470987,
        77488.0066938604,
        425973.67100526224,
        691337.1055209142,
        180532.34851160503,
    ),
    (
        1.0,
        128.46082582335276,
        5125.558604000989,
        76905.20218301628,
        417620.39350942546,
        650781.452719545,
        135409.47702977518,
    ),
)
# Q of DLMF 10.17.3, times x, in 1 / x^2 from x^2 = 30 on: numerator and denominator
_J1_Q = (
    (
        0.375,
        100.39183360370225,
        9509.508400704059,
        406667.2972998128,
        8314113.178664573,
        79320064.34579125,
        318775708.0616268,
        423010831.1760014,
        90573522.01352872,
    ),
    (
        1.0,
        267.98499377653934,
        25431.22601142254,
        1091206.929553787,
        22451873.047046132,
        216968972.09047824,
        897109018.462782,
        1282027243.5279744,
        365123218.7060831,
    ),
)
# The same for results of f32, near to 2^-32; P and Q as polynomials, to 2^-48
_SHORT_J0_NEAR = (
    0.002310729871970931,
    -0.002231328823278283,
    0.0008942858912730689,
    -0.00020426597107173328,
    3.0560651805535265e-05,
    -3.2467881129639193e-06,
    2.5843948773976165e-07,
    -1.6089626673539404e-08,
    7.983995401971982e-10,
)
_SHORT_J0_P = (
    0.9999999999999997,
    -0.07031249998539507,
    0.1121520715410996,
    -0.5724799259130028,
    6.0653177231785715,
    -107.84473794774746,
    2673.051511416925,
    -73991.81738041235,
    1843606.8295209021,
    -34689386.65342731,
    414145079.55456597,
    -2294731144.3630815,
)
_SHORT_J0_Q = (
    -0.12499999999999993,
    0.07324218749743919,
    -0.22710799398951173,
    1.7277181603739185,
    -24.374483458839123,
    548.9108691709278,
    -17595.922069537286,
    700893.8665152295,
    -29519289.095730707,
    1137757582.6749244,
    -36079549770.06228,
    867231519902.7058,
    -14531651169329.416,
    149739768577091.28,
    -710366866580054.5,
)
_SHORT_J1_NEAR = (
    -0.013421501146595207,
    0.013779145944080038,
    -0.005482311763701365,
    0.0011908916805713728,
    -0.00016453890563160564,
    1.58020425871026e-05,
    -1.1187051398054969e-06,
    6.108920488359134e-08,
    -2.6353115839242433e-09,
)
_SHORT_J1_P = (
    1.0000000000000027,
    0.11718749997991956,
    -0.14419552055717536,
    0.6765666411316195,
    -6.8739574169179765,
    119.23096006464212,
    -2917.707757511651,
    81254.5680413771,
    -2108776.217236164,
    43925113.38061768,
    -651498706.5979999,
    5968028659.2043495,
    -25090109429.303997,
)
_SHORT_J1_Q = (
    0.3749999999999991,
    -0.10253906248490297,
    0.2775764101333554,
    -1.993496529720462,
    27.230577634766234,
    -597.9524159301519,
    18413.14298846977,
    -676008.3928807186,
    24969515.074647397,
    -811899751.7400992,
    21190635603.1694,
    -413105063800.0336,
    5564867005632.028,
    -45847819402052.08,
    173290072391048.44,
)
_J0_ZEROS = ((2.404825557695773, -1.176691651530894e-16), (5.520078110286311, 8.088597146146722e-17))
_J1_ZERO = (3.8317059702075125, -1.5269184090088067e-16)
"""Zeros as sums of two numbers."""
_EULER = 0.5772156649015329


def i0e(x: Number) -> Number:
    """`e^-|x| I0(x)`."""
    size = abs(x)
    result = exp(-size) * polynomial(size * size, _I0_NEAR)
    if size > 8.0:
        result = polynomial(16.0 / size - 1.0, _I0_FAR) / sqrt(size)
    return result


def i1e(x: Number) -> Number:
    """`e^-|x| I1(x)`, odd."""
    size = abs(x)
    result = exp(-size) * polynomial(size * size, _I1_NEAR) * x
    if size > 8.0:
        result = polynomial(16.0 / size - 1.0, _I1_FAR) / sqrt(size)
        result = result if x > 0.0 else -result
    return result


def i0e_f32(x: Number) -> Number:
    """`e^-|x| I0(x)` of an f32 number: 3 ulp."""
    size = abs(x)
    near = exp(-size) * short_polynomial(size * size, _SHORT_I0_NEAR)
    far = short_polynomial(16.0 / size - 1.0, _SHORT_I0_FAR) / sqrt(size)
    return select(size > 8.0, far, near)


def i1e_f32(x: Number) -> Number:
    """`e^-|x| I1(x)` of an f32 number: 3 ulp."""
    size = abs(x)
    near = size * (exp(-size) * short_polynomial(size * size, _SHORT_I1_NEAR))
    far = short_polynomial(16.0 / size - 1.0, _SHORT_I1_FAR) / sqrt(size)
    return copysign(select(size > 8.0, far, near), x)


def short_polynomial(x: Number, coefficients: tuple[float, ...]) -> Number:
    """`c[0] + c[1] x + ...` of f32 numbers."""
    total = coefficients[-1] + 0.0 * x
    for c in reversed(coefficients[:-1]):
        total = fma(total, x, cast(c, "f32"))
    return total


def quotient(x: Number, parts: tuple[tuple[float, ...], tuple[float, ...]]) -> Number:
    """A rational function."""
    return polynomial(x, parts[0]) / polynomial(x, parts[1])


def without(size: Number, zero: tuple[float, float]) -> Number:
    """`x^2 - zero^2`, precise near the zero."""
    return ((size - zero[0]) - zero[1]) * (size + zero[0])


def j0_near(x: Number) -> Number:
    """`J0(x)` for `|x| <= 6.16`: its first two zeros as factors, and a polynomial."""
    size = abs(x)
    near = without(size, _J0_ZEROS[0]) * without(size, _J0_ZEROS[1])
    return near * polynomial(size * size / 19.0 - 1.0, _J0_NEAR)


def j0(x: Number) -> Number:
    """`j0_near`, and from `sqrt 38` on `sqrt(2 / pi x) (P cos(x - pi/4) - Q sin(x - pi/4))`."""
    size = abs(x)
    square = size * size
    at = 1.0 / square
    p, q = quotient(at, _J0_P), quotient(at, _J0_Q) / size
    s, c = sin(size), cos(size)
    return select(square > 38.0, (p * (c + s) - q * (s - c)) / sqrt(pi * size), j0_near(x))


def j1_near(x: Number) -> Number:
    """`J1(x)` for `|x| <= 5.47`: its first zeros as factors, and a polynomial; odd."""
    size = abs(x)
    near = size * without(size, _J1_ZERO) * polynomial(size * size / 15.0 - 1.0, _J1_NEAR)
    return near * copysign(cast(1.0, "f64"), x)


def j1(x: Number) -> Number:
    """`j1_near`, and from `sqrt 30` on by `cos(x - 3 pi/4)` and its sine; odd."""
    size = abs(x)
    square = size * size
    at = 1.0 / square
    p, q = quotient(at, _J1_P), quotient(at, _J1_Q) / size
    s, c = sin(size), cos(size)
    far = (p * (s - c) + q * (s + c)) / sqrt(pi * size)
    return select(square > 30.0, far * copysign(cast(1.0, "f64"), x), j1_near(x))


def j0_near_f32(x: Number) -> Number:
    """`j0_near` of an f32 number, in f64 with a shorter polynomial."""
    size = abs(cast(x, "f64"))
    near = without(size, _J0_ZEROS[0]) * without(size, _J0_ZEROS[1])
    return near * polynomial(size * size * (1 / 19) - 1.0, _SHORT_J0_NEAR)


def j0_f32(x: Number) -> Number:
    """`j0` of an f32 number, in f64 without quotients of polynomials."""
    size = abs(cast(x, "f64"))
    inverse = 1.0 / size
    at = inverse * inverse
    p, q = polynomial(at, _SHORT_J0_P), polynomial(at, _SHORT_J0_Q) * inverse
    s, c = sin(size), cos(size)
    far = (p * (c + s) - q * (s - c)) * sqrt(inverse * (1 / pi))
    return select(size * size > 38.0, far, j0_near_f32(x))


def j1_near_f32(x: Number) -> Number:
    """`j1_near` of an f32 number, in f64 with a shorter polynomial."""
    wide = cast(x, "f64")
    size = abs(wide)
    near = size * without(size, _J1_ZERO) * polynomial(size * size * (1 / 15) - 1.0, _SHORT_J1_NEAR)
    return near * copysign(cast(1.0, "f64"), wide)


def j1_f32(x: Number) -> Number:
    """`j1` of an f32 number, in f64 without quotients of polynomials."""
    wide = cast(x, "f64")
    size = abs(wide)
    inverse = 1.0 / size
    at = inverse * inverse
    p, q = polynomial(at, _SHORT_J1_P), polynomial(at, _SHORT_J1_Q) * inverse
    s, c = sin(size), cos(size)
    far = (p * (s - c) + q * (s + c)) * sqrt(inverse * (1 / pi))
    return select(size * size > 30.0, far * copysign(cast(1.0, "f64"), wide), j1_near_f32(x))


def expn(n: Number, x: Number) -> Number:
    """
    `integral over t >= 1 of e^(-x t) t^-n` for whole `n >= 0` and `x >= 0`; elsewhere NaN.

    By the series DLMF 8.19.8 up to 1, from there on by the continued fraction 8.19.17.
    """
    result = cast(nan, "f64")
    if n >= 0.0 and x >= 0.0 and n == floor(n):
        if x == inf or n == inf:
            result = cast(0.0, "f64")
        elif x == 0.0:
            result = 1.0 / (n - 1.0) if n > 1.0 else cast(inf, "f64")
        elif n == 0.0:
            result = exp(-x) / x
        elif x > 1.0:
            result = expn_fraction(n, x)
        else:
            result = expn_series(n, x)
    return result


def expn_fraction(n: Number, x: Number) -> Number:
    """From its last partial quotient to the first, which rounds less; the error falls as `exp(-4 sqrt(k x))`."""
    k, below = floor(90.0 / x) + 10.0, cast(0.0, "f64")
    while k > 0.0:
        below = k * (n + k - 1.0) / (x + n + 2.0 * k - below)
        k = k - 1.0
    return exp(-x) / (x + n - below)


def expn_series(n: Number, x: Number) -> Number:
    """`(-x)^(n-1) / (n-1)! (digamma(n) - log x)` less `(-x)^k / (k! (k - n + 1))` for `k >= 0`, but `n - 1`."""
    logarithmic, k = -_EULER - log(x), cast(0.0, "f64")
    power, total = cast(1.0, "f64"), 1.0 / (1.0 - n) if n != 1.0 else cast(0.0, "f64")
    change = cast(1.0, "f64")
    while abs(change) > EPSILON * abs(total) or k < n - 1.0 < 30.0:
        k = k + 1.0
        power = power * (-x / k)
        if k < n:
            logarithmic = logarithmic + 1.0 / k
        change = power / (k - n + 1.0) if k != n - 1.0 else -power * logarithmic
        total = total + change
    return -total - (_EULER + log(x)) if n == 1.0 else -total
