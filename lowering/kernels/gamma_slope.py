"""The derivative of a quantile of the gamma distribution by its shape, in f64, each of its branches to about 1e-13."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import f64

from xdsl_rlx.dialects.mir.distributions import GammaSlopeOp
from xdsl_rlx.dialects.shapes import compute_type, element_of, shape_of
from xdsl_rlx.lowering.kernel_dsl import Array, Iteration, Number, cast, exp, isnan, log, log1p, sqrt
from xdsl_rlx.lowering.kernels.work import NEST, Work

LARGE = 200.0
"""From this shape on the expansion for large ones is used, whose error is below 1e-13."""

NEAR = 0.8
"""The largest `|eta|` of the expansion: its coefficients are series of a radius of convergence of 3.5."""

TEMME = (
    (
        *(-0.3333333333333333, 0.08333333333333333, -0.014814814814814815, 0.0011574074074074073),
        *(0.0003527336860670194, -0.0001787551440329218, 3.919263178522438e-05, -2.185448510679992e-06),
        *(-1.85406221071516e-06, 8.296711340953087e-07, -1.7665952736826078e-07, 6.707853543401498e-09),
        *(1.0261809784240309e-08, -4.382036018453353e-09, 9.14769958223679e-10, -2.5514193994946248e-11),
        *(-5.830772132550426e-11, 2.4361948020667415e-11),
    ),
    (
        *(-0.001851851851851852, -0.003472222222222222, 0.0026455026455026454, -0.0009902263374485596),
        *(0.00020576131687242798, -4.018775720164609e-07, -1.8098550334489977e-05, 7.64916091608111e-06),
        *(-1.6120900894563446e-06, 4.647127802807434e-09, 1.378633446915721e-07, -5.752545603517705e-08),
    ),
    (
        *(0.004133597883597883, -0.0026813271604938273, 0.0007716049382716049, 2.0093878600823047e-06),
        *(-0.0001073665322636516, 5.2923448829120125e-05, -1.2760635188618728e-05, 3.423578734096138e-08),
    ),
    (0.0006494341563786008, 0.00022947209362139917, -0.0004691894943952557, 0.00026772063206283885),
)
"""Taylor coefficients of `c_k(eta)` of DLMF 8.12.10: `c_0 = 1/mu - 1/eta`, `c_k = c_(k-1)'/eta + (-1)^k g_k/mu`."""


def digamma(a: Number) -> Number:
    """The derivative of `ln Gamma(a)`, `a > 0`: by recurrence and DLMF 5.11.2."""
    total, x = cast(0.0, f64), a
    while x < 10.0:
        total = total - 1.0 / x
        x = x + 1.0
    r = 1.0 / (x * x)
    tail = r * (
        1 / 12 - r * (1 / 120 - r * (1 / 252 - r * (1 / 240 - r * (1 / 132 - r * (691 / 32760 - r * (1 / 12))))))
    )
    return total + log(x) - 0.5 / x - tail


def by_series(a: Number, x: Number, log_x: Number, psi: Number) -> Number:
    """`d ln x / da = sum r_n (psi(a + n + 1) - ln x)`, `r_0 = 1/a`, `r_(n+1) = r_n x / (a + n + 1)`."""
    ratio, slope, n = 1.0 / a, psi + 1.0 / a - log_x, a + 1.0
    total = ratio * slope
    going = True
    while going:
        ratio = ratio * x / n
        slope = slope + 1.0 / n
        term = ratio * slope
        total = total + term
        n = n + 1.0
        going = x > n or abs(term) > 1e-17 * abs(total)
    return total


def by_fraction(a: Number, x: Number, log_x: Number, psi: Number) -> Number:
    """
    `d ln x / da = (ln x - psi(a)) K + dK/da` for `Q(a, x) = x p(x) K`: Steed's algorithm and its derivative.

    `K = 1/(b_0 + a_1/(b_1 + ..))` with `b_n = x + 2 n + 1 - a` and `a_n = -n (n - a)`.
    """
    b, n = x + 1.0 - a, cast(0.0, f64)
    d = 1.0 / b
    slope = d * d
    step, step_slope = d, slope
    total, total_slope = step, step_slope
    going = True
    while going:
        n = n + 1.0
        b = b + 2.0
        numerator = n * (a - n)
        new = 1.0 / (b + numerator * d)
        slope = new * new * (1.0 - n * d - numerator * slope)
        d = new
        factor = b * d - 1.0
        step_slope = (b * slope - d) * step + factor * step_slope
        step = factor * step
        total, total_slope = total + step, total_slope + step_slope
        going = abs(step) > 1e-17 * abs(total) or abs(step_slope) > 1e-17 * abs(total_slope)
    return (log_x - psi) * total + total_slope


def with_slope(coefficients: tuple[float, ...], x: Number) -> tuple[Number, Number]:
    """A polynomial and its derivative, by Horner's rule."""
    value, slope = cast(0.0, f64), cast(0.0, f64)
    for coefficient in reversed(coefficients):
        slope = slope * x + value
        value = value * x + coefficient
    return value, slope


def by_expansion(a: Number, mu: Number, eta: Number) -> Number:
    """
    `d ln x / da = 1/a + (eta/mu) deta/da`, `x = a (1 + mu)`, at fixed `Q = Phi(-z) + phi(z) C / sqrt(a)`.

    With `z = eta sqrt(a)` that is `(a deta/da + eta/2) (1 + eta C) = dC/da - C / (2 a)`, where the derivative of
    `C = sum c_k(eta) a^-k` is total.
    """
    c, c_eta, c_a, scale = cast(0.0, f64), cast(0.0, f64), cast(0.0, f64), cast(1.0, f64)
    for k, coefficients in enumerate(TEMME):
        value, slope = with_slope(coefficients, eta)
        c, c_eta, c_a = c + value * scale, c_eta + slope * scale, c_a - k * value * scale / a
        scale = scale / a
    factor = 1.0 + eta * c
    eta_slope = (c_a - c / (2.0 * a) - 0.5 * eta * factor) / (a * factor - c_eta)
    ratio = 1.0 if mu == 0.0 else eta / mu
    return 1.0 / a + ratio * eta_slope


def log_slope(a: Number, x: Number, log_x: Number) -> Number:
    """`d ln x / da`; a shape that is not positive gives NaN."""
    found = a * 0.0 / 0.0
    if a > 0.0 and a < 1e300 and x < 1e300:
        mu = x / a - 1.0
        half = mu - log1p(mu)
        root = sqrt(2.0 * half) if half > 0.0 else 0.0
        eta = -root if mu < 0.0 else root
        if a >= LARGE and root <= NEAR:
            found = by_expansion(a, mu, eta)
        else:
            psi = digamma(a)
            found = by_series(a, x, log_x, psi) if x <= 1.5 or log_x <= psi else by_fraction(a, x, log_x, psi)
    return found


@NEST.rule(GammaSlopeOp)
def gamma_slope_nest(op: GammaSlopeOp, work: Work) -> None:
    """An iteration is an element."""
    count, is_log, element = prod(shape_of(op.result)), op.log is not None, element_of(op.result)
    reads = [work.read(x, (count,)) for x in op.operands]
    result = work.write(op.result, (count,))
    wide = compute_type(element)

    @work.over(count, 400, reads, [result])
    def gamma_slope(it: Iteration, alpha: Array, x: Array, result: Array) -> None:
        a, given = cast(alpha[it.index], f64), cast(x[it.index], f64)
        at = exp(given) if is_log else given
        slope = log_slope(a, at, given if is_log else log(given))
        if not is_log:
            slope = 0.0 if at == 0.0 else slope * at
        result[it.index] = cast(a + given if isnan(a) or isnan(given) else slope, wide)
