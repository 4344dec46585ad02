"""Gamma and beta functions of f64 numbers, for kernels: series, continued fractions, Temme's expansion."""

from __future__ import annotations

from math import inf, nan, pi

from xdsl_rlx.lowering.kernel_dsl import (
    Number,
    cast,
    digamma,
    erfc,
    exp,
    expm1,
    fma,
    log,
    log1p,
    maximum,
    minimum,
    power,
    rint,
    sin,
    sqrt,
)

EPSILON = 2.0**-53

# lgamma(1.75 + t) / ((t + 0.75) (t - 0.25)) for |t| <= 0.75; of lgamma in lowering/backend/math/math_gamma.py, too
LGAMMA = (
    0.4501393121092563,
    -0.11948158662524268,
    0.044520447198509644,
    -0.019053957830260832,
    0.008776370425257302,
    -0.004226194125189418,
    0.0020955338799232407,
    -0.0010605660937984334,
    0.0005448969907212743,
    -0.00028319036037842405,
    0.0001485167612603942,
    -7.8464050392945e-05,
    4.170547456941329e-05,
    -2.226821449897537e-05,
    1.194925036645649e-05,
    -6.487859797094674e-06,
    3.5071990932812468e-06,
    -1.76764375827818e-06,
    9.597109616498142e-07,
    -7.562612463459416e-07,
    4.142761109248788e-07,
    3.404324894896923e-08,
    -1.9561462574604242e-08,
    -1.577723410210679e-07,
    8.702854149462274e-08,
)
# x (lgamma(x) - (x - 1/2) log x + x - log(2 pi) / 2) in 1 / x^2 from x = 6.5 on
STIRLING = (
    0.08333333333333333,
    -0.0027777777777380146,
    0.0007936507665900421,
    -0.0005952311428421684,
    0.000840891399401838,
    -0.0018619001080884038,
    0.0045368906301007815,
)
# d(k, n) of DLMF 8.12.8 and 8.12.12: the coefficient of eta^n in that of a^-k, as far as they matter from a = 20 on
_TEMME = (
    (
        -0.3333333333333333,
        0.08333333333333333,
        -0.014814814814814815,
        0.0011574074074074073,
        0.0003527336860670194,
        -0.0001787551440329218,
        3.919263178522438e-05,
        -2.185448510679992e-06,
        -1.85406221071516e-06,
        8.296711340953087e-07,
        -1.7665952736826078e-07,
        6.707853543401498e-09,
        1.0261809784240309e-08,
        -4.382036018453353e-09,
        9.14769958223679e-10,
        -2.5514193994946248e-11,
        -5.830772132550426e-11,
    ),
    (
        -0.001851851851851852,
        -0.003472222222222222,
        0.0026455026455026454,
        -0.0009902263374485596,
        0.00020576131687242798,
        -4.018775720164609e-07,
        -1.8098550334489977e-05,
        7.64916091608111e-06,
        -1.6120900894563446e-06,
        4.647127802807434e-09,
        1.378633446915721e-07,
        -5.752545603517705e-08,
        1.1951628599778148e-08,
        -1.7543241719747647e-11,
        -1.0091543710600413e-09,
        4.162792991842583e-10,
    ),
    (
        0.004133597883597883,
        -0.0026813271604938273,
        0.0007716049382716049,
        2.0093878600823047e-06,
        -0.0001073665322636516,
        5.2923448829120125e-05,
        -1.2760635188618728e-05,
        3.423578734096138e-08,
        1.3721957309062934e-06,
        -6.298992138380055e-07,
        1.4280614206064242e-07,
        -2.0477098421990866e-10,
        -1.409252991086752e-08,
        6.228974084922022e-09,
        -1.3670488396617114e-09,
    ),
    (
        0.0006494341563786008,
        0.00022947209362139917,
        -0.0004691894943952557,
        0.00026772063206283885,
        -7.561801671883977e-05,
        -2.396505113867297e-07,
        1.1082654115347302e-05,
        -5.6749528269915965e-06,
        1.4230900732435883e-06,
        -2.7861080291528143e-11,
        -1.6958404091930278e-07,
        8.099464905388083e-08,
        -1.9111168485973655e-08,
    ),
    (
        -0.0008618882909167117,
        0.0007840392217200666,
        -0.0002990724803031902,
        -1.4638452578843418e-06,
        6.641498215465122e-05,
        -3.968365047179435e-05,
        1.1375726970678419e-05,
        2.507497226237533e-10,
        -1.6954149536558305e-06,
        8.907507532205309e-07,
        -2.292934834000805e-07,
    ),
    (
        -0.00033679855336635813,
        -6.972813758365857e-05,
        0.0002772753244959392,
        -0.00019932570516188847,
        6.797780477937208e-05,
        1.419062920643967e-07,
        -1.3594048189768693e-05,
        8.018470256334202e-06,
        -2.291481176508095e-06,
        -3.252473551298454e-10,
        3.4652846491085265e-07,
    ),
    (
        0.0005313079364639922,
        -0.0005921664373536939,
        0.0002708782096718045,
        7.902353232660328e-07,
        -8.153969367561969e-05,
        5.61168275310625e-05,
        -1.8329116582843375e-05,
        -3.0796134506033047e-09,
        3.465155368803609e-06,
        -2.0291327396058603e-06,
    ),
    (
        0.00034436760689237765,
        5.171790908260592e-05,
        -0.00033493161081142234,
        0.0002812695154763237,
        -0.00010976582244684731,
        -1.2741009095484485e-07,
        2.7744451511563645e-05,
        -1.8263488805711332e-05,
        5.7876949497350525e-06,
    ),
    (
        -0.0006526239185953094,
        0.0008394987206720873,
        -0.000438297098541721,
        -6.969091458420552e-07,
        0.00016644846642067547,
        -0.00012783517679769218,
        4.629953263691304e-05,
    ),
    (
        -0.0005967612901927463,
        -7.204895416020011e-05,
        0.0006782308837667328,
        -0.0006401475260262758,
        0.00027750107634328704,
    ),
    (
        0.0013324454494800656,
        -0.0019144384985654776,
        0.0011089369134596636,
    ),
    (
        0.001579727660730835,
        0.00016251626278391583,
        -0.0020633421035543276,
    ),
)

_LARGE = 6.5
"""From here on the series of Stirling holds."""
_POWER_TO = 200.0
"""Up to here a power is more precise than an exponential of a large number."""
_TEMME_FROM = 20.0
_TEMME_NEAR = 0.3
"""Where Temme's expansion is used: from this `a` on, for `|x - a| < 0.3 a`."""


def polynomial(x: Number, coefficients: tuple[float, ...]) -> Number:
    """`c[0] + c[1] x + ...`."""
    total = coefficients[-1] + 0.0 * x
    for c in reversed(coefficients[:-1]):
        total = fma(total, x, cast(c, "f64"))
    return total


def excess(u: Number) -> Number:
    """`u - log(1 + u)`, by the series of atanh where that cancels: it is `u s - 2 (s^3/3 + s^5/5 + ...)`."""
    result = u - log1p(u)
    if -0.35 < u < 0.5:
        s = u / (2.0 + u)
        square = s * s
        result = u * s - 2.0 * s * square * polynomial(square, tuple(1.0 / (2 * k + 3) for k in range(13)))
    return result


def lgamma_of_one_plus(a: Number) -> Number:
    """`lgamma(1 + a)` for `0 <= a <= 1.5`, with the relative precision of `a`."""
    return a * (a - 1.0) * polynomial(a - 0.75, LGAMMA)


def stirling(a: Number) -> Number:
    """`lgamma(a) - (a - 1/2) log a + a - log(2 pi) / 2` for a large `a`."""
    return polynomial(1.0 / (a * a), STIRLING) / a


def reciprocal_gamma(a: Number) -> Number:
    """`1 / gamma(a)` for `0 < a < 6.5`."""
    product, u = cast(1.0, "f64"), a
    if a < 1.0:
        product, u = a, a + 1.0
    while u >= 2.5:
        u = u - 1.0
        product = product / u
    return product * exp(-lgamma_of_one_plus(u - 1.0))


def gamma_weight(a: Number, x: Number) -> Number:
    """
    `x^a e^-x / gamma(a)` for positive `a` and `x`.

    Of a moderate `a`, `(x / a)^a` is a power, corrected by what the quotient lost; halves of it do not underflow.
    """
    result = cast(0.0, "f64")
    if x > 2.0 * a + 2000.0:
        # its power may be infinite
        result = cast(0.0, "f64")
    elif a < _LARGE:
        half = exp(-0.5 * x)
        result = power(x, a) * half * half * reciprocal_gamma(a)
    elif a > _POWER_TO or abs(x - a) < 0.35 * a:
        u = (x - a) / a
        exponent = a * excess(u) if x > 0.5 * a else (x - a) - a * log(x / a)
        result = sqrt(a * (0.5 / pi)) * exp(-exponent - stirling(a))
    else:
        ratio = x / a
        half = power(ratio, 0.5 * a) * exp(0.5 * (a - x))
        lost = fma(-ratio, a, x) / ratio
        result = sqrt(a * (0.5 / pi)) * exp(lost - stirling(a)) * half * half
    return result


def lower_series(a: Number, x: Number) -> Number:
    """`1 + x / (a + 1) + x^2 / ((a + 1) (a + 2)) + ...` (DLMF 8.11.4)."""
    term, total, at = cast(1.0, "f64"), cast(1.0, "f64"), a
    while term > EPSILON * total:
        at = at + 1.0
        term = term * (x / at)
        total = total + term
    return total


def upper_fraction(a: Number, x: Number) -> Number:
    """`gamma(a, x) / (x^a e^-x)`, the continued fraction DLMF 8.9.2, by the method of Steed."""
    below, n = x + 1.0 - a, cast(0.0, "f64")
    ratio = 1.0 / below
    change, total = ratio, ratio
    while abs(change) > EPSILON * abs(total):
        n = n + 1.0
        below = below + 2.0
        ratio = 1.0 / (below + n * (a - n) * ratio)
        change = change * (below * ratio - 1.0)
        total = total + change
    return total


def upper_of_small(a: Number, x: Number) -> Number:
    """`gamma(a, x) / gamma(a)` for `x` up to about 1, where 1 less the lower one cancels (DLMF 8.7.1)."""
    scaled, total, factor, n = a * log(x), cast(0.0, "f64"), cast(1.0, "f64"), cast(0.0, "f64")
    going = True
    while going:
        n = n + 1.0
        factor = factor * (-x / n)
        term = factor / (a + n)
        total = total + term
        going = abs(term) > EPSILON * abs(total)
    shifted = lgamma_of_one_plus(a)
    return -expm1(scaled - shifted) - a * exp(scaled - shifted) * total


def temme(a: Number, x: Number, upper: bool) -> Number:
    """`gamma(a, x) / gamma(a)`, or 1 less that, for large `a` near `x` (DLMF 8.12.3, 8.12.4)."""
    u = (x - a) / a
    half = excess(u)
    size = sqrt(2.0 * half)
    eta = size if u > 0.0 else -size
    series = temme_series(a, eta)
    rest = series * exp(-a * half) / sqrt(2.0 * pi * a)
    tail = 0.5 * erfc(sqrt(a * half))
    near = 1.0 - tail
    if upper:
        return (tail if u > 0.0 else near) + rest
    return (near if u > 0.0 else tail) - rest


def temme_series(a: Number, eta: Number) -> Number:
    """The sum of `c(k, eta) a^-k`."""
    total = cast(0.0, "f64")
    for row in reversed(_TEMME):
        total = total / a + polynomial(eta, row)
    return total


def igamma(a: Number, x: Number) -> Number:
    """The lower one; 0 for `a` infinite, 1 for `a = 0`, NaN for negative arguments and where both limits differ."""
    result = cast(nan, "f64")
    if a >= 0.0 and x >= 0.0:
        if a == 0.0:
            result = cast(1.0, "f64") if x > 0.0 else result
        elif x == 0.0 or a == inf:
            result = cast(0.0, "f64") if x != inf else (cast(1.0, "f64") if a < inf else result)
        elif x == inf:
            result = cast(1.0, "f64")
        elif a > _TEMME_FROM and abs(x - a) < _TEMME_NEAR * a:
            result = temme(a, x, False)
        elif x > 1.0 and x > a:
            result = 1.0 - upper(a, x)
        else:
            result = gamma_weight(a, x) / a * lower_series(a, x)
    return result


def upper(a: Number, x: Number) -> Number:
    """`gamma(a, x) / gamma(a)` away from the edges and from where Temme's expansion holds."""
    result = cast(0.0, "f64")
    if x > 1.1 and x >= a:
        result = gamma_weight(a, x) * upper_fraction(a, x)
    elif x > 1.1 or (a > -0.4 / log(x) if x <= 0.5 else a > 1.1 * x):
        result = 1.0 - gamma_weight(a, x) / a * lower_series(a, x)
    else:
        result = upper_of_small(a, x)
    return result


def igammac(a: Number, x: Number) -> Number:
    """The upper one, which is 1 less the lower one, accurate where that is small."""
    result = cast(nan, "f64")
    if a >= 0.0 and x >= 0.0:
        if a == 0.0:
            result = cast(0.0, "f64") if x > 0.0 else result
        elif x == 0.0 or a == inf:
            result = cast(1.0, "f64") if x != inf else (cast(0.0, "f64") if a < inf else result)
        elif x == inf:
            result = cast(0.0, "f64")
        elif a > _TEMME_FROM and abs(x - a) < _TEMME_NEAR * a:
            result = temme(a, x, True)
        else:
            result = upper(a, x)
    return result


def igamma_grad_a(a: Number, x: Number) -> Number:
    """The derivative of the lower one by `a`: that of the series, the fraction or the expansion."""
    result = cast(nan, "f64")
    if a > 0.0 and x >= 0.0:
        if x == 0.0 or x == inf or a == inf:
            result = cast(0.0, "f64")
        elif a > _TEMME_FROM and abs(x - a) < _TEMME_NEAR * a:
            result = temme_grad_a(a, x)
        elif x > 1.1 and x > a:
            result = -upper_grad_a(a, x)
        else:
            result = lower_grad_a(a, x)
    return result


def lower_grad_a(a: Number, x: Number) -> Number:
    """The factor of the series has the logarithmic derivative `log x - digamma(a + 1)`."""
    term, total, slope, harmonic, at = cast(1.0, "f64"), cast(1.0, "f64"), cast(0.0, "f64"), cast(0.0, "f64"), a
    while term * (1.0 + harmonic) > EPSILON * (total - slope):
        at = at + 1.0
        term = term * (x / at)
        harmonic = harmonic + 1.0 / at
        total = total + term
        slope = slope - term * harmonic
    return gamma_weight(a, x) / a * (total * (log(x) - digamma(a + 1.0)) + slope)


def upper_grad_a(a: Number, x: Number) -> Number:
    """The steps of the continued fraction and their derivatives."""
    below, n = x + 1.0 - a, cast(0.0, "f64")
    ratio = 1.0 / below
    ratio_a = ratio * ratio
    change, change_a, total, total_a = ratio, ratio_a, ratio, ratio_a
    while abs(change) > EPSILON * abs(total) or abs(change_a) > EPSILON * abs(total_a):
        n = n + 1.0
        below = below + 2.0
        factor = n * (a - n)
        next_ratio = 1.0 / (below + factor * ratio)
        ratio_a = -next_ratio * next_ratio * (n * ratio + factor * ratio_a - 1.0)
        ratio = next_ratio
        step = below * ratio - 1.0
        change_a = change_a * step + change * (below * ratio_a - ratio)
        change = change * step
        total = total + change
        total_a = total_a + change_a
    return gamma_weight(a, x) * (total * (log(x) - digamma(a)) + total_a)


def temme_grad_a(a: Number, x: Number) -> Number:
    """With `eta^2 / 2 = u - log(1 + u)`, `u = x / a - 1`, the derivative of `eta` by `a` is `-u / (a eta)`."""
    u = (x - a) / a
    half = excess(u)
    size = sqrt(2.0 * half)
    eta = size if u > 0.0 else -size
    share = u / eta if abs(u) > 1e-8 else 1.0 + eta / 3.0
    total, slope, by_a = cast(0.0, "f64"), cast(0.0, "f64"), cast(0.0, "f64")
    for row in reversed(_TEMME):
        by_a = (by_a - total / a) / a
        total = total / a + polynomial(eta, row)
        slope = slope / a + polynomial(eta, tuple(n * c for n, c in enumerate(row))[1:])
    change = share - 0.5 * eta + (log1p(u) - 0.5 / a) * total + by_a - slope * share / a
    return -exp(-a * half) / sqrt(2.0 * pi * a) * change


def weight_of_gamma(a: Number, x: Number) -> Number:
    """`x^(a - 1) e^-x / gamma(a)`."""
    result = cast(nan, "f64")
    if a > 0.0 and x > 0.0:
        result = gamma_weight(a, x) / x if x < inf and a < inf else cast(0.0, "f64")
    elif a > 0.0 and x == 0.0:
        result = cast(0.0, "f64") if a > 1.0 else (cast(1.0, "f64") if a == 1.0 else cast(inf, "f64"))
    return result


# The incomplete beta function


def beta_weight(a: Number, b: Number, x: Number, y: Number) -> Number:
    """
    `x^a y^b / B(a, b)` with `y = 1 - x`, for positive arguments.

    `1 / B(a, b) = (1 / B(a + n, b)) (a + k) / (a + b + k), k < n` raises parameters to where the series of Stirling
    holds. Of a large parameter, `log(x / mean)` is found without the rounding of that quotient.
    """
    big_a, big_b, product = a, b, cast(1.0, "f64")
    while big_a < _LARGE:
        product = product * (big_a / (big_a + big_b))
        big_a = big_a + 1.0
    while big_b < _LARGE:
        product = product * (big_b / (big_a + big_b))
        big_b = big_b + 1.0
    total = big_a + big_b
    scale = sqrt(big_a / total * big_b * (0.5 / pi)) * exp(stirling(total) - stirling(big_a) - stirling(big_b))
    p, q = x * big_b, y * big_a
    off = (p - q) + (fma(x, big_b, -p) - fma(y, big_a, -q))
    result = cast(0.0, "f64")
    if a >= _LARGE and b >= _LARGE and abs(off) < 0.5 * a and abs(off) < 0.5 * b:
        result = exp(-a * excess(off / a) - b * excess(-off / b))
    else:
        result = beta_factor(a, big_a, off, x * (total / big_a), total) * beta_factor(
            b, big_b, -off, y * (total / big_b), total
        )
    return scale * product * result


def beta_factor(a: Number, big_a: Number, off: Number, ratio: Number, total: Number) -> Number:
    """`(x / mean)^a`, and what is left of raising `a`."""
    result = cast(0.0, "f64")
    if a >= _LARGE and abs(off) < 0.5 * a:
        result = exp(a * log1p(off / a))
    else:
        result = power(ratio, a) * power(total / big_a, big_a - a)
    return result


def beta_fraction(a: Number, b: Number, x: Number, y: Number) -> Number:
    """`I_x(a, b) B(a, b) / (x^a y^b)` for `x` below the mean (DiDonato and Morris, 1992, eq. 9), by Steed's method."""
    m, ab, off = cast(0.0, "f64"), a + b, a * y - b * x + 1.0
    ratio = (a + 1.0) / (a * off)
    change, total = ratio, ratio
    while abs(change) > EPSILON * abs(total):
        m = m + 1.0
        d = a + (2.0 * m - 1.0)
        above = (a + (m - 1.0)) / d * ((ab + (m - 1.0)) / d) * m * (b - m) * x * x
        below = m + m * (b - m) * x / d + (a + m) / (d + 2.0) * (off + m * (1.0 + y))
        ratio = 1.0 / (below + above * ratio)
        change = change * (below * ratio - 1.0)
        total = total + change
    return total


def betainc(a: Number, b: Number, x: Number) -> Number:
    """
    `I_x(a, b)`: 1 for `a = 0` or infinite `b`, 0 for `b = 0` or infinite `a`, but 0 at 0 and 1 at 1.

    It is NaN outside of `0 <= x <= 1`, for negative parameters, and where both are 0 or infinite.
    """
    result = cast(nan, "f64")
    defined = a >= 0.0 and b >= 0.0 and a + b > 0.0 and not (a == inf and b == inf)
    if defined and 0.0 <= x <= 1.0:
        if x == 0.0 or x == 1.0:
            result = x
        elif a == 0.0 or b == inf:
            result = cast(1.0, "f64")
        elif b == 0.0 or a == inf:
            result = cast(0.0, "f64")
        elif x <= (a + 1.0) / (a + b + 2.0):
            result = beta_weight(a, b, x, 1.0 - x) * beta_fraction(a, b, x, 1.0 - x)
        else:
            result = 1.0 - beta_weight(b, a, 1.0 - x, x) * beta_fraction(b, a, 1.0 - x, x)
    return result


def weight_of_beta(a: Number, b: Number, x: Number) -> Number:
    """`x^(a - 1) (1 - x)^(b - 1) / B(a, b)`."""
    result = cast(nan, "f64")
    if a > 0.0 and b > 0.0 and 0.0 < x < 1.0:
        result = beta_weight(a, b, x, 1.0 - x) / (x * (1.0 - x))
    elif a > 0.0 and b > 0.0 and (x == 0.0 or x == 1.0):
        near, far = a if x == 0.0 else b, b if x == 0.0 else a
        result = cast(0.0, "f64") if near > 1.0 else (far if near == 1.0 else cast(inf, "f64"))
    return result


# Complete ones


def gamma(x: Number) -> Number:
    """
    Exact for integers up to 23; infinite at 0, NaN at negative integers and -inf.

    By a quotient down to -23.5, whose factors are exact; by reflection below, where `1 - x` is rounded.
    """
    result = cast(nan, "f64")
    if x > 0.0:
        result = positive_gamma(x)
    elif x == 0.0:
        result = 1.0 / x
    elif x > -23.5:
        if x != rint(x):
            product, u = cast(1.0, "f64"), x
            while u < 1.0:
                product = product * u
                u = u + 1.0
            result = exp(lgamma_of_one_plus(u - 1.0)) / product
    elif x > -inf and x != rint(x):
        result = pi / (sine_of_pi(x) * positive_gamma(1.0 - x))
    return result


def sine_of_pi(x: Number) -> Number:
    """`sin(pi x)`, whose relative error is small near its zeros."""
    sine = sin(pi * (x - rint(x)))
    return sine if is_whole(0.5 * rint(x)) else -sine


def positive_gamma(x: Number) -> Number:
    """By a product up to 23, from there on by the series of Stirling; halves of the power do not overflow."""
    result = cast(inf, "f64")
    if x < 23.5:
        product, u = cast(1.0, "f64"), x
        while u >= 2.5:
            u = u - 1.0
            product = product * u
        if u < 1.0:
            product, u = 1.0 / u, u + 1.0
        result = product * exp(lgamma_of_one_plus(u - 1.0))
    elif x < 172.0:
        half = power(x, 0.5 * x - 0.25)
        result = half * exp(stirling(x)) * exp(-x) * sqrt(2.0 * pi) * half
    return result


def log_beta(a: Number, b: Number) -> Number:
    """`ln |B(a, b)|`, of large arguments without the cancellation of three logarithms."""
    result = cast(nan, "f64")
    if a > 0.0 and b > 0.0 and a + b >= 60.0:
        result = log_of_large_beta(a, b)
    elif a == a:
        result = log(abs(beta(a, b)))
    return result


def log_of_large_beta(a: Number, b: Number) -> Number:
    """By the series of Stirling, small parameters raised to where it holds."""
    big_a, big_b, product = a, b, cast(1.0, "f64")
    while big_a < _LARGE:
        product = product * ((big_a + big_b) / big_a)
        big_a = big_a + 1.0
    while big_b < _LARGE:
        product = product * ((big_a + big_b) / big_b)
        big_b = big_b + 1.0
    total = big_a + big_b
    small, large = minimum(big_a, big_b), maximum(big_a, big_b)
    scale = product * sqrt(2.0 * pi / small * (total / large))
    rest = stirling(small) + stirling(large) - stirling(total)
    result = log(scale) + rest + large * log1p(-small / total) + small * log(small / total)
    return cast(-inf, "f64") if large == inf else result


def positive_beta(a: Number, b: Number) -> Number:
    """`B(a, b)` of positive parameters."""
    if a + b < 60.0:
        result = positive_gamma(a) * (positive_gamma(b) / positive_gamma(a + b))
    else:
        result = exp(log_of_large_beta(a, b))
    return result


def is_whole(x: Number) -> Number:
    """Whether it is an integer, or infinite."""
    return x == rint(x)


def is_pole(x: Number) -> Number:
    """Whether `gamma(x)` has a pole: at 0, negative integers and -inf."""
    return x <= 0.0 and is_whole(x)


def beta(a: Number, b: Number) -> Number:
    """
    `B(a, b)`; infinite where one is 0. Negative parameters by reflection (DLMF 5.5.3), so that no factor overflows.

    For a negative integer `a` and an integer `b` with `0 < b < 1 - a` it is `(-1)^b B(1 - a - b, b)`, the limit along
    `a`; for other `b` NaN.
    """
    result = cast(nan, "f64")
    low, high, total = minimum(a, b), maximum(a, b), a + b
    if (a == 0.0 and (b >= 0.0 or not is_whole(b))) or (b == 0.0 and (a >= 0.0 or not is_whole(a))):
        result = cast(inf, "f64") + total
    elif total == total and not is_pole(high) and not (is_pole(low) and not (is_whole(high) and total < 1.0)):
        p, q, front, is_inverse = low, high, cast(1.0, "f64"), False
        if low < 0.0 and high < 0.0:
            p, q, is_inverse = 1.0 - low, 1.0 - high, True
            front = pi * sine_of_pi(total) / (sine_of_pi(low) * sine_of_pi(high) * (1.0 - total))
        elif low < 0.0 and total < 1.0:
            p = 1.0 - total
            if is_whole(high):
                # the quotient of the sines, also where both are 0
                front = cast(1.0, "f64") if is_whole(0.5 * high) else cast(-1.0, "f64")
            else:
                front = sine_of_pi(total) / sine_of_pi(low)
        elif low < 0.0:
            p, q, is_inverse = 1.0 - low, total, True
            front = pi / (sine_of_pi(low) * (high if high < inf else 1.0))
        found = positive_beta(p, q)
        result = front / found if is_inverse else front * found
    return result
