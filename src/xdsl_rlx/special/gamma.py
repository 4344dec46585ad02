"""The gamma function, its relatives and its integrals."""

# Trees, and what NumPy is called with, are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false

from __future__ import annotations

from math import gamma as gamma_of_number
from math import log, pi
from typing import Any

import numpy as np

from xdsl_rlx.composite import composite
from xdsl_rlx.dialects.calls import shown
from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.dialects.mir.special import SpecialFunction
from xdsl_rlx.op_functions import function
from xdsl_rlx.special.calls import computed_in_floats, elementwise, iterated


@composite
def gammaln(x: Any) -> Any:
    """Return `ln |gamma(x)|` (DLMF 5.2.1): infinite at 0 and negative integers. Its derivative is `digamma`."""
    return elementwise("lgamma", x)


lgamma = gammaln


@composite
def gamma(x: Any) -> Any:
    """Return the gamma function (DLMF 5.2.1): infinite at 0, NaN at negative integers, exact for integers up to 23."""
    return iterated(SpecialFunction.GAMMA, x)


@composite
def gammasgn(x: Any) -> Any:
    """Return the sign of `gamma(x)`: 1 or -1, at 0 that of the zero, NaN at negative integers and -inf, as in SciPy."""
    whole = np.floor(x)
    sign = 1 - 2 * np.mod(whole, 2)
    negative = np.where(whole == x, np.nan, sign)
    return np.where(x > 0, 1, np.where(x == 0, np.copysign(1, x), negative)) + 0 * np.where(abs(x) < np.inf, 0, 0)


@composite
def digamma(x: Any) -> Any:
    """Return the derivative of `gammaln` (DLMF 5.2.2): -inf at 0, NaN at negative integers."""
    return elementwise("digamma", x)


psi = digamma


@composite
def zeta(x: Any, q: Any = 1.0) -> Any:
    """
    Return Hurwitz's zeta function `sum over k >= 0 of (q + k)^-x` (DLMF 25.11.1); the operands broadcast.

    It is infinite for `x = 1` and at integers `q <= 0`; NaN for other `x` below 1, and for fractional `x` and `q < 0`.
    It is differentiated with respect to `q` only; by `x` a derivative is a GraphError.
    """
    return iterated(SpecialFunction.ZETA, x, q)


@composite
def polygamma(n: Any, x: Any) -> Any:
    """
    Return the n-th derivative of `digamma` at `x` (DLMF 5.15.1), for whole `n >= 0`; the operands broadcast.

    It is `(-1)^(n + 1) n! zeta(n + 1, x)`, differentiable with respect to `x`, and NaN for other `n`.
    """
    if isinstance(n, int) and n in (0, 1):
        return iterated(SpecialFunction.TRIGAMMA, x) if n else digamma(x)
    sign = 2 * np.mod(n, 2) - 1
    above = sign * iterated(SpecialFunction.GAMMA, n + 1.0) if not isinstance(n, int | float) else _signed_factorial(n)
    higher = above * zeta(n + 1.0, x)
    if isinstance(n, int | float):
        return higher
    return np.where(n == 0, digamma(x), np.where((n > 0) & (np.floor(n) == n), higher, np.nan))


def _signed_factorial(n: float) -> float:
    if not n >= 0 or n % 1 != 0:
        return np.nan
    return (1.0 if n % 2 else -1.0) * (gamma_of_number(n + 1.0) if n < 170 else np.inf)


@composite
def factorial(n: Any, exact: bool = False) -> Any:
    """Return `gamma(n + 1)`, and 0 below 0. Exact for integers up to 22; `exact=True` is not supported."""
    if exact:
        raise GraphError(
            f"factorial: expected exact=False, got {shown(exact)}; use math.factorial for integers of Python"
        )
    return np.where(n < 0, 0, gamma(np.where(n < 0, 0, n) + 1.0))


@composite
def beta(a: Any, b: Any) -> Any:
    """
    Return `gamma(a) gamma(b) / gamma(a + b)` (DLMF 5.12.1); the operands broadcast.

    It is infinite at 0. At a negative integer it is NaN, but the limit along that operand if the other is a positive
    integer and the sum is below 1.
    """
    return iterated(SpecialFunction.BETA, a, b)


@composite
def betaln(a: Any, b: Any) -> Any:
    """Return `ln |beta(a, b)|`, also where `beta` underflows. The operands broadcast."""
    return iterated(SpecialFunction.BETALN, a, b)


@composite
def multigammaln(a: Any, d: int) -> Any:
    """
    Return the logarithm of the multivariate gamma function of dimension `d` (DLMF 35.3.4).

    It is `d (d - 1) / 4 ln pi + sum over j < d of gammaln(a - j / 2)`.
    """
    if isinstance(d, bool) or not isinstance(d, int) or d < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise GraphError(f"multigammaln: expected d to be an integer of at least 1, got {shown(d)}")
    total = gammaln(a)
    for j in range(1, d):
        total = total + gammaln(a - 0.5 * j)
    return total + d * (d - 1) / 4 * log(pi)


@composite
def gammainc(a: Any, x: Any) -> Any:
    """
    Return the regularised lower incomplete gamma function `P(a, x)` (DLMF 8.2.4); the operands broadcast.

    It is NaN for negative operands, and differentiable with respect to both; twice with respect to `a` is a GraphError.
    """
    return iterated(SpecialFunction.IGAMMA, a, x)


igamma = gammainc


@composite
def gammaincc(a: Any, x: Any) -> Any:
    """Return `1 - gammainc(a, x)`, the regularised upper one (DLMF 8.2.4), accurate where that is small."""
    return iterated(SpecialFunction.IGAMMAC, a, x)


igammac = gammaincc


@composite
def igamma_grad_a(a: Any, x: Any) -> Any:
    """Return the derivative of `gammainc(a, x)` with respect to `a`."""
    return iterated(SpecialFunction.IGAMMA_GRAD_A, a, x)


@composite
def betainc(a: Any, b: Any, x: Any) -> Any:
    """
    Return the regularised incomplete beta function `I_x(a, b)` (DLMF 8.17.2); the operands broadcast.

    It is NaN outside of `0 <= x <= 1` and for negative `a` or `b`. It is differentiated with respect to `x` only, as in
    JAX; with respect to `a` or `b` a derivative is a GraphError.
    """
    return iterated(SpecialFunction.BETAINC, a, b, x)


@composite
def poch(z: Any, m: Any) -> Any:
    """
    Return Pochhammer's symbol `gamma(z + m) / gamma(z)` (DLMF 5.2.5), 1 where `m` is 0; the operands broadcast.

    By logarithms, as in JAX: the relative error grows with them. The sign is that of both gamma functions. Where
    both have a pole it is the product of the `m` factors, as in SciPy.
    """
    return computed_in_floats(_poch, z, m)


def _poch(z: Any, m: Any) -> Any:
    """Between two poles by reflection (DLMF 5.5.3): `(-1)^m gamma(1 - z) / gamma(1 - z - m)`."""
    end = z + m
    first, last = _is_pole(z), _is_pole(end)
    both = first & last
    above, below = np.where(both, 1.0 - z, end), np.where(both, 1.0 - end, z)
    size = np.exp(gammaln(above) - gammaln(below))
    sign = np.where(first == last, gammasgn(above) * gammasgn(below), 1)
    sign = function("stop_gradient")(np.where(both, 1 - 2 * np.mod(m, 2), sign))
    return np.where(m == 0, 1, sign * size)


def _is_pole(x: Any) -> Any:
    return (x <= 0) & (np.floor(x) == x)


@composite
def comb(N: Any, k: Any, exact: bool = False, repetition: bool = False) -> Any:
    """
    Return the number of ways to choose `k` of `N` elements, each several times with `repetition`; they broadcast.

    It is `1 / ((N + 1) beta(N - k + 1, k + 1))`, and 0 for `k < 0`, `N < 0` and `k > N`. `exact=True` is not supported.
    """
    if exact:
        raise GraphError(f"comb: expected exact=False, got {shown(exact)}; use math.comb for integers of Python")
    return computed_in_floats(lambda size, k: _comb(size + k - 1 if repetition else size, k), N, k)


def _comb(size: Any, k: Any) -> Any:
    inside = (size >= 0) & (k >= 0) & (k <= size)
    finite = inside & (size < np.inf)
    n, j = np.where(finite, size, 1.0), np.where(finite, k, 1.0)
    found = np.exp(-np.log1p(n) - betaln(n - j + 1.0, j + 1.0))
    found = np.where(finite, found, np.where(k == 0, 1, np.inf))
    return np.where(inside, found, np.where((size != size) | (k != k), np.nan, 0))
