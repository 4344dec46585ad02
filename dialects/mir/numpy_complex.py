"""Universal functions and comparisons of complex numbers that no op computes, as functions of their parts.

Two numbers are compared by their real parts, and by their imaginary parts where these are equal.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl_rlx.dialects.mir.value import Value


def _parts(z: Value) -> tuple[Value, Value]:
    return z.b.real(z), z.b.imag(z)


def _sin(z: Value) -> Value:
    x, y, b = *_parts(z), z.b
    return b.complex(b.sin(x) * b.cosh(y), b.cos(x) * b.sinh(y))


def _cos(z: Value) -> Value:
    x, y, b = *_parts(z), z.b
    return b.complex(b.cos(x) * b.cosh(y), -(b.sin(x) * b.sinh(y)))


def _sinh(z: Value) -> Value:
    x, y, b = *_parts(z), z.b
    return b.complex(b.sinh(x) * b.cos(y), b.cosh(x) * b.sin(y))


def _cosh(z: Value) -> Value:
    x, y, b = *_parts(z), z.b
    return b.complex(b.cosh(x) * b.cos(y), b.sinh(x) * b.sin(y))


def _tanh(z: Value) -> Value:
    """`(t + i u) / (1 + i t u)` with `t = tanh x` and `u = tan y`."""
    return z.b.complex(*_tanh_parts(*_parts(z)))


def _tan(z: Value) -> Value:
    """`-i tanh(i z)`."""
    x, y = _parts(z)
    real, imag = _tanh_parts(y, x)
    return z.b.complex(imag, real)


def _tanh_parts(x: Value, y: Value) -> tuple[Value, Value]:
    b = x.b
    t, u, root = b.tanh(x), b.tan(y), 1 / b.cosh(x)
    below = 1 + (t * u) ** 2
    return t * (1 + u * u) / below, u * (root * root) / below


def _log1p(z: Value) -> Value:
    x, y, b = *_parts(z), z.b
    near = b.log1p(x * (x + 2) + y * y) * 0.5
    return b.complex(b.where(b.abs(x) + b.abs(y) < 0.5, near, b.log_hypot(x + 1, y)), b.atan2(y, x + 1))


def _expm1(z: Value) -> Value:
    x, y, b = *_parts(z), z.b
    half = b.sin(y * 0.5)
    return b.complex(b.expm1(x) * b.cos(y) - 2 * half * half, b.exp(x) * b.sin(y))


def _sign(z: Value) -> Value:
    b, size = z.b, z.b.hypot(*_parts(z))
    return z / b.cast(b.where(b.eq(size, 0), 1, size), z.dtype)


_UNARY: dict[str, Callable[[Value], Value]] = {
    "sin": _sin,
    "cos": _cos,
    "tan": _tan,
    "sinh": _sinh,
    "cosh": _cosh,
    "tanh": _tanh,
    "exp2": lambda z: z.b.exp(z * log(2)),
    "log2": lambda z: z.b.log(z) * (1 / log(2)),
    "log10": lambda z: z.b.log(z) * (1 / log(10)),
    "log1p": _log1p,
    "expm1": _expm1,
    "sign": _sign,
    "round": lambda z: z.b.complex(*map(z.b.round, _parts(z))),
}


def _compared(strict: str, last: str) -> Callable[[Value, Value], Value]:
    def found(z: Value, w: Value) -> Value:
        (x, y), (u, v), b = _parts(z), _parts(w), z.b
        return b.or_(getattr(b, strict)(x, u), b.and_(b.eq(x, u), getattr(b, last)(y, v)))

    return found


def _extreme(better: Callable[[Value, Value], Value]) -> Callable[[Value, Value], Value]:
    """The first of equal numbers; a number with NaN in a part before others."""

    def found(z: Value, w: Value) -> Value:
        b = z.b
        return b.where(b.or_(better(z, w), b.ne(z, z)), z, w)

    return found


_GE, _LE = _compared("gt", "ge"), _compared("lt", "le")

TABLE: dict[str, Callable[..., Value]] = {
    **_UNARY,
    "lt": _compared("lt", "lt"),
    "le": _LE,
    "gt": _compared("gt", "gt"),
    "ge": _GE,
    "max": _extreme(_GE),
    "min": _extreme(_LE),
}
"""By the names of builder methods, which take real numbers only."""
