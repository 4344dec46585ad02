"""How ops compute on complex tensors: by the real and imaginary parts, two real tensors.

The pass is `mir_lower_complex.py`. An op without a row here gets and gives complex tensors as they lie in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, Concatenate, TypeAlias

from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import Operation

from xdsl_rlx.dialects import constants
from xdsl_rlx.dialects.constants import is_dense
from xdsl_rlx.dialects.mir import cast, complex, elementwise, fake_quantize, index, linalg, reduce, shape
from xdsl_rlx.dialects.mir.complex import part_type
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.shapes import COMPLEXES, element_of, shape_of
from xdsl_rlx.transforms.rules.rule_table import RuleTable


@dataclass(frozen=True)
class Parts:
    """A complex tensor as two real ones."""

    re: Value
    im: Value


PartsRule: TypeAlias = Callable[Concatenate[Any, MirBuilder, ...], Sequence[Value | Parts]]
"""`(op, b, *operands) -> results`, each a pair where `op` has a complex tensor, else a value."""

PARTS: RuleTable[PartsRule] = RuleTable("parts")


def _each(op: Operation, b: MirBuilder, *operands: Value | Parts) -> Sequence[Parts]:
    """The op on the real parts, and on the imaginary parts; operands that are real (indices, say) serve both."""

    def of(part: Callable[[Parts], Value]) -> list[Value]:
        copy = type(op).create(
            operands=[part(x).ssa if isinstance(x, Parts) else x.ssa for x in operands],
            result_types=[TensorType(part_type(element_of(result)), shape_of(result)) for result in op.results],
            properties=dict(op.properties),
        )
        b.builder.insert(copy)
        return [b.value(result) for result in copy.results]

    return [Parts(re, im) for re, im in zip(of(lambda z: z.re), of(lambda z: z.im), strict=True)]


for _op in (
    elementwise.AddOp,
    elementwise.SubOp,
    elementwise.NegOp,
    elementwise.StopGradientOp,
    elementwise.WhereOp,
    fake_quantize.StraightThroughOp,
    shape.ReshapeOp,
    shape.TransposeOp,
    shape.NarrowOp,
    shape.FlipOp,
    shape.ConcatOp,
    shape.ExpandOp,
    reduce.ReduceSumOp,
    index.GatherOp,
    index.ScatterAddOp,
):
    PARTS.add(_op, _each)


def _mul(op: Operation, b: MirBuilder, z: Parts, w: Parts) -> Sequence[Parts]:
    return [Parts(z.re * w.re - z.im * w.im, z.re * w.im + z.im * w.re)]


def _matmul(op: Operation, b: MirBuilder, z: Parts, w: Parts) -> Sequence[Parts]:
    return [Parts(z.re @ w.re - z.im @ w.im, z.re @ w.im + z.im @ w.re)]


def _quartered(b: MirBuilder, z: Parts) -> tuple[Parts, Value, Value]:
    """A quarter of numbers so large that the sum of their parts may overflow, others as they are; both factors."""
    limit = 2.0**126 if element_of(z.re.ssa) == f32 else 2.0**1022
    large = b.max(b.abs(z.re), b.abs(z.im)) > limit
    one = b.ones_like(z.re)
    factor = b.where(large, 0.25, one)
    return Parts(z.re * factor, z.im * factor), factor, b.where(large, 4.0, one)


def _div(op: Operation, b: MirBuilder, z: Parts, w: Parts) -> Sequence[Parts]:
    """
    Smith's algorithm, which divides by the larger part of the denominator first: only the result can overflow.

    A zero denominator divides both parts by +0. Two infinite parts of a denominator give NaN.
    """
    z, _, back = _quartered(b, z)
    w, factor, _ = _quartered(b, w)
    back = back * factor
    first = b.ge(b.abs(w.re), b.abs(w.im))
    large, small = b.where(first, w.re, w.im), b.where(first, w.im, w.re)
    zero = b.eq(large, 0.0)
    ratio = b.where(zero, 0.0, small / large)
    scale = b.where(zero, 0.0, large + small * ratio)
    x, y = b.where(first, z.re, z.im), b.where(first, z.im, z.re)
    im = (y - x * ratio) / scale * back
    return [Parts((x + y * ratio) / scale * back, b.where(first, im, -im))]


def _exp(op: Operation, b: MirBuilder, z: Parts) -> Sequence[Parts]:
    """
    `e^x (cos y + i sin y)`, where the square root of `e^x` is multiplied in twice: only the result can overflow.

    Real for a real argument, `x` infinite or not; 0 for `x = -inf`, whatever `y` is.
    """
    root = b.exp(z.re * 0.5)
    vanishes, real = b.eq(root, 0.0), b.eq(z.im, 0.0)
    re = b.where(vanishes, 0.0, root * b.cos(z.im) * root)
    im = b.where(vanishes, 0.0, root * b.sin(z.im) * root)
    return [Parts(re, b.where(real, z.im, im))]


def _log(op: Operation, b: MirBuilder, z: Parts) -> Sequence[Parts]:
    """`ln |z| + i arg z` with the angle in [-pi, pi]: the cut is the negative axis, its sides by the sign of a zero."""
    return [Parts(b.log_hypot(z.re, z.im), b.atan2(z.im, z.re))]


def _sqrt(op: Operation, b: MirBuilder, z: Parts) -> Sequence[Parts]:
    """
    With `t = sqrt((|x| + |z|) / 2)`: `t + i y / (2 t)`; for a negative `x` `|y| / (2 t) + i t`, below the axis `- i t`.

    The real part is not negative. Very large and very small numbers are scaled by a power of 4 first.
    """
    largest, smallest = (2.0**120, 2.0**-100) if element_of(z.re.ssa) == f32 else (2.0**1000, 2.0**-900)
    x, y = b.abs(z.re), b.abs(z.im)
    size = b.max(x, y)
    large, small = size > largest, size < smallest

    def by_size(down: float, up: float) -> Value:
        return b.where(large, down, b.where(small, up, b.ones_like(size)))

    scale, back = by_size(2.0**-4, 2.0**48), by_size(2.0**2, 2.0**-24)
    x, y = x * scale, y * scale
    t = b.sqrt((x + b.hypot(x, y)) * 0.5)
    other = b.where(b.eq(t, 0.0), 0.0, y * 0.5 / t) * back
    t = t * back
    unbounded = b.eq(y, inf)
    right = z.re >= 0.0
    re = b.where(unbounded, y, b.where(right, t, other))
    im = b.where(unbounded, y, b.where(right, other, t))
    # A reciprocal has the sign of a zero.
    below = b.where(b.eq(z.im, 0.0), b.recip(z.im), z.im) < 0.0
    return [Parts(re, b.where(below, -im, im))]


def _eq(op: Operation, b: MirBuilder, z: Parts, w: Parts) -> Sequence[Value]:
    return [b.eq(z.re, w.re) & b.eq(z.im, w.im)]


def _ne(op: Operation, b: MirBuilder, z: Parts, w: Parts) -> Sequence[Value]:
    return [b.where(b.ne(z.re, w.re), True, b.ne(z.im, w.im))]


def _cast(op: cast.CastOp, b: MirBuilder, x: Value | Parts) -> Sequence[Parts]:
    to = part_type(element_of(op.result))
    if isinstance(x, Parts):
        return [Parts(b.cast(x.re, to), b.cast(x.im, to))]
    re = b.cast(x, to)
    return [Parts(re, b.zeros_like(re))]


def _constant(op: elementwise.ConstantOp, b: MirBuilder) -> Sequence[Parts]:
    type_, value = element_of(op.result), op.value
    assert is_dense(value) and type_ in COMPLEXES
    data, size = value.data.data, value.get_element_type().compile_time_size // 2

    def part(first: int) -> Value:
        chosen = b"".join(data[at : at + size] for at in range(first * size, len(data), 2 * size))
        return b.constant(constants.from_bytes(chosen, part_type(type_), shape_of(op.result)))

    return [Parts(part(0), part(1))]


def _real(op: Operation, b: MirBuilder, z: Parts) -> Sequence[Value]:
    return [z.re]


def _imag(op: Operation, b: MirBuilder, z: Parts) -> Sequence[Value]:
    return [z.im]


def _complex(op: Operation, b: MirBuilder, re: Value, im: Value) -> Sequence[Parts]:
    return [Parts(re, im)]


PARTS.add(elementwise.MulOp, _mul)
PARTS.add(elementwise.DivOp, _div)
PARTS.add(elementwise.ExpOp, _exp)
PARTS.add(elementwise.LogOp, _log)
PARTS.add(elementwise.SqrtOp, _sqrt)
PARTS.add(elementwise.EqOp, _eq)
PARTS.add(elementwise.NeOp, _ne)
PARTS.add(elementwise.ConstantOp, _constant)
PARTS.add(cast.CastOp, _cast)
PARTS.add(linalg.MatmulOp, _matmul)
PARTS.add(complex.RealOp, _real)
PARTS.add(complex.ImagOp, _imag)
PARTS.add(complex.ComplexOp, _complex)
