"""Small vectors of scalars in nests, for splats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from xdsl.ir import SSAValue

from xdsl_rlx.dialects.lir.scalar_builder import Scalar, ScalarBuilder
from xdsl_rlx.lowering.nest.builder import Nest

Vector: TypeAlias = list[Scalar]


def row(nest: Nest, buffer: SSAValue, at: Sequence[SSAValue], length: int, start: int = 0) -> Vector:
    """Elements `start` to `start + length` along the last axis."""
    return [nest.load(buffer, (*at, nest.kernel.index(a))) for a in range(start, start + length)]


def store_row(nest: Nest, values: Sequence[Scalar], buffer: SSAValue, at: Sequence[SSAValue]) -> None:
    """Store along the last axis."""
    for a, value in enumerate(values):
        nest.store(value, buffer, (*at, nest.kernel.index(a)))


def here(s: ScalarBuilder, values: Sequence[Scalar]) -> Vector:
    """Values from further out as handles that compute here."""
    return [s.of(x.value) for x in values]


def dot(a: Sequence[Scalar], b: Sequence[Scalar]) -> Scalar:
    """The inner product, summed from the front."""
    total = a[0] * b[0]
    for x, y in zip(a[1:], b[1:], strict=True):
        total = total + x * y
    return total


def scaled(v: Sequence[Scalar], factor: Scalar) -> Vector:
    """`v` times a number."""
    return [x * factor for x in v]


def cross(a: Sequence[Scalar], b: Sequence[Scalar]) -> Vector:
    """The cross product."""
    return [a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3] for i in range(3)]


def unit(s: ScalarBuilder, v: Sequence[Scalar]) -> Vector:
    """`v` over its length."""
    return scaled(v, s.rsqrt(dot(v, v)))


def clamped(s: ScalarBuilder, x: Scalar) -> Scalar:
    """`x` in [0, 1]."""
    return s.select(x < 0.0, 0.0, s.select(x > 1.0, 1.0, x))
