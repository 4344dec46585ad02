"""Inverse trigonometric and hyperbolic functions of complex numbers, by real functions of roots.

The formulas are exact on the branch cuts, where signs of zeros decide (W. Kahan 1987, "Branch cuts for complex
elementary functions").
"""

# Tensors are traced.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any

import numpy as np

from xdsl_rlx.op_functions import function


def _joined(re: Any, im: Any) -> Any:
    return function("complex")(re, im)


def _turned(z: Any) -> Any:
    """`i z`."""
    return _joined(-np.imag(z), np.real(z))


def _turned_back(z: Any) -> Any:
    """`-i z`."""
    return _joined(np.imag(z), -np.real(z))


def _shifted(z: Any, by: int, sign: int = 1) -> Any:
    """`by + sign z`, with the sign of a zero of the imaginary part as it follows."""
    re, im = np.real(z), np.imag(z)
    return _joined(by + sign * re, im if sign > 0 else -im)


def arcsin(z: Any) -> Any:
    """Return the inverse sine."""
    below, above = np.sqrt(_shifted(z, 1, -1)), np.sqrt(_shifted(z, 1))
    re = np.arctan2(np.real(z), np.real(below * above))
    return _joined(re, np.arcsinh(np.imag(np.conj(below) * above)))


def arccos(z: Any) -> Any:
    """Return the inverse cosine."""
    below, above = np.sqrt(_shifted(z, 1, -1)), np.sqrt(_shifted(z, 1))
    re = 2 * np.arctan2(np.real(below), np.real(above))
    return _joined(re, np.arcsinh(np.imag(np.conj(above) * below)))


def arccosh(z: Any) -> Any:
    """Return the inverse hyperbolic cosine."""
    less, more = np.sqrt(_shifted(z, -1)), np.sqrt(_shifted(z, 1))
    return _joined(np.arcsinh(np.real(np.conj(less) * more)), 2 * np.arctan2(np.imag(less), np.real(more)))


def arcsinh(z: Any) -> Any:
    """Return the inverse hyperbolic sine."""
    return _turned_back(arcsin(_turned(z)))


def arctanh(z: Any) -> Any:
    """Return the inverse hyperbolic tangent."""
    x, y = np.real(z), np.imag(z)
    re = np.log1p(4 * x / ((1 - x) ** 2 + y**2)) / 4
    return _joined(re, np.arctan2(2 * y, (1 - x) * (1 + x) - y**2) / 2)


def arctan(z: Any) -> Any:
    """Return the inverse tangent."""
    return _turned_back(arctanh(_turned(z)))
