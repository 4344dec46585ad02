"""Small vectors in nests of splats: lists of numbers, or lines of buffers."""

from __future__ import annotations

from xdsl_rlx.lowering.kernel_dsl import Array, Number, rsqrt

Vector = Array


def dot(a: Vector, b: Vector) -> Number:
    """The inner product, summed from the front."""
    return sum(x * y for x, y in zip(a, b, strict=True))


def scaled(v: Vector, factor: Number) -> list[Number]:
    """`v` times a number."""
    return [x * factor for x in v]


def difference(a: Vector, b: Vector) -> list[Number]:
    """From `b` to `a`."""
    return [x - y for x, y in zip(a, b, strict=True)]


def cross(a: Vector, b: Vector) -> list[Number]:
    """The cross product."""
    return [a[i - 2] * b[i - 1] - a[i - 1] * b[i - 2] for i in range(3)]


def unit(v: Vector) -> list[Number]:
    """`v` over its length."""
    return scaled(v, rsqrt(dot(v, v)))


def unit_or_zero(v: Vector) -> tuple[list[Number], Number]:
    """`v` over its length, and 1 over that; zeros for 0."""
    square = dot(v, v)
    inverse = rsqrt(square if square > 0.0 else 1.0) if square > 0.0 else 0.0
    return scaled(v, inverse), inverse


def clamped(x: Number) -> Number:
    """`x` in [0, 1]."""
    return 0.0 if x < 0.0 else 1.0 if x > 1.0 else x
