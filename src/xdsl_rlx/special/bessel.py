"""Bessel functions of orders 0 and 1, and exponential integrals."""

# Trees, and what NumPy is called with, are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false

from __future__ import annotations

import math
from typing import Any

import numpy as np

from xdsl_rlx.composite import composite
from xdsl_rlx.dialects.mir.special import SpecialFunction
from xdsl_rlx.special.calls import iterated


@composite
def i0e(x: Any) -> Any:
    """Return `e^-|x| i0(x)`, which does not overflow. The derivative at 0 is 0."""
    return iterated(SpecialFunction.BESSEL_I0E, x)


@composite
def i1e(x: Any) -> Any:
    """Return `e^-|x| i1(x)`, which does not overflow. The derivative at 0 is 1/2."""
    return iterated(SpecialFunction.BESSEL_I1E, x)


def _raised(scaled: Any, x: Any) -> Any:
    """`e^|x| scaled`, which is finite for somewhat larger `x` than the power alone."""
    size = abs(x)
    large = size > 8
    return np.exp(size - np.where(large, 5, 0)) * (np.where(large, math.exp(5), 1) * scaled)


@composite
def i0(x: Any) -> Any:
    """Return the modified Bessel function of the first kind of order 0 (DLMF 10.25.2)."""
    return _raised(i0e(x), x)


@composite
def i1(x: Any) -> Any:
    """Return the modified Bessel function of the first kind of order 1 (DLMF 10.25.2)."""
    return _raised(i1e(x), x)


@composite
def j0(x: Any) -> Any:
    """Return the Bessel function of the first kind of order 0 (DLMF 10.2.2)."""
    return iterated(SpecialFunction.BESSEL_J0, x)


@composite
def j1(x: Any) -> Any:
    """Return the Bessel function of the first kind of order 1 (DLMF 10.2.2)."""
    return iterated(SpecialFunction.BESSEL_J1, x)


@composite
def expn(n: Any, x: Any) -> Any:
    """
    Return the exponential integral `integral over t >= 1 of e^(-x t) t^-n` (DLMF 8.19.3); the operands broadcast.

    `n` is whole and not negative, `x` is not negative; elsewhere it is NaN. It is differentiated by `x` only.
    """
    return iterated(SpecialFunction.EXPN, n, x)


@composite
def exp1(x: Any) -> Any:
    """Return `expn(1, x)` (DLMF 6.2.1): infinite at 0, NaN below."""
    return iterated(SpecialFunction.EXPN, 1.0, x)
