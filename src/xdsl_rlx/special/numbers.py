"""Bernoulli's numbers and spherical harmonics: functions of whole numbers that are known while a function is traced."""

# Trees, and what NumPy is called with, are of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import comb, inf, pi, sqrt
from typing import Any

import numpy as np

from xdsl_rlx.composite import composite
from xdsl_rlx.dialects.calls import shown
from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.op_functions import function


def bernoulli(n: int) -> np.ndarray[Any, Any]:
    """Return Bernoulli's numbers from 0 to `n`, `[n + 1]` in f64 (DLMF 24.2.1): infinite where they overflow."""
    _check(n, "bernoulli", "n")
    return np.array(_bernoulli(n))


@lru_cache(8)
def _bernoulli(n: int) -> tuple[float, ...]:
    """By the recurrence DLMF 24.5.3, in rational numbers."""
    exact = [Fraction(1)]
    for m in range(1, n + 1):
        odd = m > 1 and m % 2 == 1
        total = sum((comb(m + 1, k) * exact[k] for k in range(m)), Fraction(0))
        exact.append(Fraction(0) if odd else -total / (m + 1))
    return tuple(map(_rounded, exact))


def _rounded(number: Fraction) -> float:
    try:
        return float(number)
    except OverflowError:
        return inf if number > 0 else -inf


@composite
def sph_harm_y(n: int, m: int, theta: Any, phi: Any) -> Any:
    """
    Return the spherical harmonic of degree `n` and order `m` at the polar angle `theta` and the azimuth `phi`, complex.

    It is `sqrt((2 n + 1) / (4 pi) (n - m)! / (n + m)!) P_n^m(cos theta) e^(i m phi)` (DLMF 14.30.1), and 0 for
    `|m| > n`. `n` and `m` are integers of Python; `theta` and `phi` broadcast.
    """
    _check(n, "sph_harm_y", "n")
    if isinstance(m, bool) or not isinstance(m, int):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise GraphError(f"sph_harm_y: expected m to be an integer, got {shown(m)}")
    size = abs(m)
    real = _legendre(n, size, theta + 0.0 * phi)
    if m < 0 and size % 2 == 1:
        real = -real
    if str(real.dtype) in ("f16", "bf16", "float16", "bfloat16"):
        real, phi = real.astype("float32"), phi.astype("float32")
    angle = phi * float(m) + 0.0 * real
    return function("complex")(real * np.cos(angle), real * np.sin(angle))


def _legendre(n: int, m: int, theta: Any) -> Any:
    """
    The part of `theta`, for `m >= 0`: upwards in the degree (DLMF 14.10.3), which is stable.

    With factors that make each degree orthonormal on the sphere, no power overflows.
    """
    if m > n:
        return 0.0 * theta
    cosine = np.cos(theta)
    first = sqrt(1 / (4 * pi))
    for k in range(1, m + 1):
        first *= -sqrt((2 * k + 1) / (2 * k))
    before, last = None, function("power_by_squarings")(np.sin(theta), m) * first
    for k in range(m + 1, n + 1):
        higher = last * cosine
        if before is not None:
            higher = higher - before * sqrt(((k - 1) ** 2 - m * m) / (4 * (k - 1) ** 2 - 1))
        before, last = last, higher * sqrt((4 * k * k - 1) / (k * k - m * m))
    return last


def _check(n: Any, name: str, argument: str) -> None:
    if isinstance(n, bool) or not isinstance(n, int) or n < 0:
        raise GraphError(f"{name}: expected {argument} to be an integer of at least 0, got {shown(n)}")
