"""Error functions, the normal distribution, entropies and logarithms of sums."""

# Trees, and what NumPy is called with, are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false

from __future__ import annotations

from math import log, pi, sqrt
from typing import Any

import numpy as np

from xdsl_rlx.composite import composite
from xdsl_rlx.op_functions import function
from xdsl_rlx.special.calls import computed_in_floats, elementwise, with_tangent

_SCALES = {"f64": (600, -1022), "f32": (100, -126), "bf16": (100, -126), "f16": (14, -14)}
"""
By element type, exponents of two: by how much to scale two positive numbers so that their quotient is in its range, and
of its smallest normal number.
"""


@composite
def erf(x: Any) -> Any:
    """Return the error function `2 / sqrt(pi) integral from 0 to x of e^(-t^2)` (DLMF 7.2.1)."""
    return elementwise("erf", x)


@composite
def erfc(x: Any) -> Any:
    """Return `1 - erf(x)`, accurate where that is small (DLMF 7.2.2)."""
    return elementwise("erfc", x)


@composite
def erfcx(x: Any) -> Any:
    """Return `e^(x^2) erfc(x)` (DLMF 7.2.3), finite where its factors are not."""
    return elementwise("erfcx", x)


@composite
def erf_inv(x: Any) -> Any:
    """Return the inverse of `erf`: infinite at -1 and 1, NaN beyond. Named `erfinv` in SciPy and JAX."""
    return elementwise("erf_inv", x)


erfinv = erf_inv


@composite
def ndtr(x: Any) -> Any:
    """Return the distribution function of the standard normal distribution, `erfc(-x / sqrt 2) / 2`."""
    return elementwise("ndtr", x)


@composite
def ndtri(p: Any) -> Any:
    """Return the inverse of `ndtr`, the normal quantile: infinite at 0 and 1, NaN beyond."""
    return elementwise("ndtri", p)


@composite
def log_ndtr(x: Any) -> Any:
    """
    Return `ln ndtr(x)`, accurate in both tails.

    Below -1 it is `ln(erfcx(-x / sqrt 2) / 2) - x^2 / 2`. Its derivative is `sqrt(2 / pi) / erfcx(-x / sqrt 2)`.
    """
    return with_tangent(_log_ndtr, lambda x, t: t * sqrt(2 / pi) / elementwise("erfcx", x * -sqrt(0.5)), x)


def _log_ndtr(x: Any) -> Any:
    low = np.where(x < -1, x, -1)
    tail = np.log(elementwise("erfcx", low * -sqrt(0.5)) * 0.5) - low * low * 0.5
    return np.where(x < -1, tail, np.log1p(-elementwise("ndtr", -x)))


@composite
def expit(x: Any) -> Any:
    """Return `1 / (1 + e^-x)`: `rlx.nn.sigmoid`."""
    return elementwise("sigmoid", x)


@composite
def logit(p: Any) -> Any:
    """Return `ln(p / (1 - p))`, the inverse of `expit`: infinite at 0 and 1, NaN beyond."""
    return with_tangent(_logit, lambda p, t: t / (p * (1.0 - p)), p)


def _logit(p: Any) -> Any:
    # ln(p / q) = log1p((p - q) / q) for q = 1 - p <= 1/2: p - q = 2 p - 1 is exact where it is small
    size = np.log1p(abs(2.0 * p - 1.0) / np.where(p == 0, 0.0, np.minimum(p, 1.0 - p)))
    return np.where(p < 0.5, -size, size)


@composite
def xlogy(x: Any, y: Any) -> Any:
    """Return `x ln y`, and 0 where `x` is 0, whatever `y` is but NaN; the operands broadcast."""
    return with_tangent(lambda x, y: _product(x, np.log, y), lambda x, y, tx, ty: tx * np.log(y) + ty * (x / y), x, y)


@composite
def xlog1py(x: Any, y: Any) -> Any:
    """Return `x ln(1 + y)`, and 0 where `x` is 0, whatever `y` is but NaN; the operands broadcast."""
    return with_tangent(
        lambda x, y: _product(x, np.log1p, y), lambda x, y, tx, ty: tx * np.log1p(y) + ty * (x / (1.0 + y)), x, y
    )


def _product(x: Any, logarithm: Any, y: Any) -> Any:
    return np.where((x == 0) & ~np.isnan(y), 0, x * logarithm(y))


@composite
def entr(x: Any) -> Any:
    """Return `-x ln x`: 0 at 0, -inf below. The derivative is `-1 - ln x`."""
    positive = np.where(x < 0, 1.0, x)
    found = with_tangent(lambda x: -_product(x, np.log, x), lambda x, t: -t * (np.log(x) + 1.0), positive)
    return np.where(x < 0, -np.inf, found)


@composite
def rel_entr(p: Any, q: Any) -> Any:
    """Return `p ln(p / q)`: 0 for `p = 0 <= q`, else inf where one is not positive; the operands broadcast."""
    inside = (p > 0) & (q > 0)
    found = with_tangent(_rel_entr, _rel_entr_tangent, np.where(inside, p, 1.0), np.where(inside, q, 1.0))
    outside = np.where((p == 0) & (q >= 0), 0, np.inf)
    return np.where(inside, found, np.where(np.isnan(p) | np.isnan(q), np.nan, outside))


def _rel_entr(p: Any, q: Any) -> Any:
    """Near 1 the quotient is not rounded before its logarithm is taken."""
    near = (p > 0.5 * q) & (p < 2.0 * q)
    return p * np.where(near, np.log1p(np.where(near, (p - q) / q, 0)), _log_ratio(p, q))


def _log_ratio(p: Any, q: Any) -> Any:
    """`ln(p / q)` of positive numbers: by `2^n p` and `2^-n q` where the quotient is subnormal or infinite."""
    exponent, least = _SCALES[str(p.dtype)]
    ratio = p / q
    up, down = (ratio < 2.0**least) & (q < np.inf), (ratio == np.inf) & (p < np.inf)
    scale, inverse = (np.where(up, 2.0**n, np.where(down, 2.0**-n, 1.0)) for n in (exponent, -exponent))
    shift = 2 * exponent * log(2)
    return np.log((p * scale) / (q * inverse)) + np.where(up, -shift, np.where(down, shift, 0.0))


def _rel_entr_tangent(p: Any, q: Any, tp: Any, tq: Any) -> Any:
    return tp * (_log_ratio(p, q) + 1.0) - tq * (p / q)


@composite
def kl_div(p: Any, q: Any) -> Any:
    """Return `rel_entr(p, q) - p + q`, which is not negative; inf where `rel_entr` is; the operands broadcast."""
    entropy = rel_entr(p, q)
    return np.where(entropy == np.inf, np.inf, entropy - p + q)


@composite
def sinc(x: Any) -> Any:
    """Return `sin(pi x) / (pi x)`, and 1 at 0."""
    return np.sinc(x)


@composite
def logsumexp(a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False) -> Any:
    """
    Return `ln |sum b e^a|` along `axis`, by default all, without overflow. `b` is 1 by default; it broadcasts with `a`.

    With `return_sign` the result is a pair, the second the sign of the sum; without it a negative sum gives NaN. An
    element of weight 0 counts nothing, though its exponential be infinite.
    """
    if b is None and not return_sign:
        return function("logsumexp")(a * 1.0, axis, keepdims)
    if b is None:
        b = 1.0
    a = a + 0.0 * b
    used = b != 0
    shift = function("stop_gradient")(np.max(np.where(used, a, -np.inf), axis=axis, keepdims=True, initial=-np.inf))
    shift = np.where(np.isfinite(shift), shift, 0)
    total = np.sum(np.where(used, b * np.exp(np.where(used, a, shift) - shift), 0), axis=axis, keepdims=keepdims)
    sign = np.sign(function("stop_gradient")(total))
    result = np.log(abs(total)) + np.reshape(shift, total.shape)
    if return_sign:
        return result, sign
    return np.where(sign < 0, np.nan, result)


@composite
def boxcox(x: Any, lmbda: Any) -> Any:
    """Return `(x^lmbda - 1) / lmbda`, and `ln x` where `lmbda` is 0 (Box and Cox, 1964); the operands broadcast."""
    return computed_in_floats(lambda x, lmbda: _power_minus_1(np.log(x), lmbda), x, lmbda)


@composite
def boxcox1p(x: Any, lmbda: Any) -> Any:
    """Return `boxcox(1 + x, lmbda)`, accurate for small `x`; the operands broadcast."""
    return computed_in_floats(lambda x, lmbda: _power_minus_1(np.log1p(x), lmbda), x, lmbda)


def _power_minus_1(logarithm: Any, lmbda: Any) -> Any:
    """`expm1(lmbda logarithm) / lmbda`, with the derivatives of its series at 0, and the limits at infinity."""
    unbounded = logarithm
    logarithm = np.where(abs(unbounded) == np.inf, 0.0, unbounded)
    power = lmbda * logarithm
    small = abs(power) < 1e-6
    safe = np.where(small, 1.0, power)
    series = 1.0 + power * (0.5 + power * (1 / 6 + power / 24))
    inside = logarithm * np.where(small, series, np.expm1(safe) / safe)
    # the power is 0 where the signs differ, else infinite
    bounded = lmbda * np.sign(unbounded) < 0
    limit = np.where(bounded, -1.0 / np.where(bounded, lmbda, 1.0), np.where(np.isnan(lmbda), np.nan, unbounded))
    return np.where(abs(unbounded) == np.inf, limit, inside)
