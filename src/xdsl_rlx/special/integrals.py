"""Integrals of elementary functions, the dilogarithm and Kummer's function."""

# Trees, and what NumPy is called with, are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false

from __future__ import annotations

from typing import Any

from xdsl_rlx.composite import composite
from xdsl_rlx.dialects.mir.special import SpecialFunction
from xdsl_rlx.special.calls import iterated


@composite
def expi(x: Any) -> Any:
    """
    Return the exponential integral, the principal value of `integral up to x of e^t / t` (DLMF 6.2.5).

    It is -inf at 0, and `-exp1(-x)` below.
    """
    return iterated(SpecialFunction.EXPI, x)


@composite
def spence(x: Any) -> Any:
    """Return the dilogarithm of `1 - x`, `integral from 1 to x of ln t / (1 - t)` (DLMF 25.12.1): NaN below 0."""
    return iterated(SpecialFunction.SPENCE, x)


@composite
def dawsn(x: Any) -> Any:
    """Return Dawson's function `e^(-x^2) integral from 0 to x of e^(t^2)` (DLMF 7.2.5)."""
    return iterated(SpecialFunction.DAWSN, x)


@composite
def sici(x: Any) -> Any:
    """
    Return the sine and the cosine integral, `integral from 0 to x of sin t / t` and `-integral from x of cos t / t`.

    Of negative numbers the second one is that of `|x|`, without the imaginary part (DLMF 6.2.9 and 6.2.11).
    """
    return iterated(SpecialFunction.SI, x), iterated(SpecialFunction.CI, x)


@composite
def fresnel(x: Any) -> Any:
    """Return the integrals from 0 to `x` of `sin(pi t^2 / 2)` and of `cos(pi t^2 / 2)` (DLMF 7.2.7 and 7.2.8)."""
    return iterated(SpecialFunction.FRESNEL_S, x), iterated(SpecialFunction.FRESNEL_C, x)


@composite
def owens_t(h: Any, a: Any) -> Any:
    """
    Return Owen's function `1 / (2 pi) integral from 0 to a of e^(-h^2 (1 + t^2) / 2) / (1 + t^2)`; operands broadcast.

    It is the probability of `X > h` and `0 < Y < a X` for independent standard normal X and Y. (Owen, 1956)
    """
    return iterated(SpecialFunction.OWENS_T, h, a)


@composite
def hyp1f1(a: Any, b: Any, x: Any) -> Any:
    """
    Return Kummer's function `sum over k of (a)_k / (b)_k x^k / k!` (DLMF 13.2.2); the operands broadcast.

    It is infinite where `b` is 0 or a negative integer. By its series, which is precise for positive `a` and `b`; for
    negative ones terms of both signs cancel. It is differentiated with respect to `x` only; by `a` or `b` a derivative
    is a GraphError.
    """
    return iterated(SpecialFunction.HYP1F1, a, b, x)
