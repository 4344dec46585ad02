"""Rows of reductions. Ties of max and min share evenly; products are exact with zeros, infinities and at any order."""

from collections.abc import Sequence
from math import prod

from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.mir.reduce import (
    ReduceMaxOp,
    ReduceMeanOp,
    ReduceMinOp,
    ReduceOp,
    ReduceProdOp,
    ReduceSumOp,
)
from xdsl_rlx.dialects.shapes import shape_of
from xdsl_rlx.transforms.rules.rows import leading, linear
from xdsl_rlx.transforms.rules.rule_table import DECOMPOSE, JVP, NARROW, VJP, Cotangent

for _op in ReduceOp.__subclasses__():
    leading(_op, "axes")


def _broadcastable(op: ReduceOp, b: MirBuilder, v: Value) -> Value:
    """`v`, of the shape of the result, as a tensor that broadcasts with the operand."""
    if op.keep_dim is not None or op.axis_list == tuple(range(len(op.axis_list))):
        return v
    shape = shape_of(op.operand)
    return b.reshape(v, [1 if axis in op.axis_list else n for axis, n in enumerate(shape)])


def _expand(op: ReduceOp, b: MirBuilder, v: Value) -> Value:
    """`v`, of the shape of the result, repeated over what was reduced."""
    return b.expand(_broadcastable(op, b, v), shape_of(op.operand))


def _sum(op: ReduceOp, b: MirBuilder, v: Value) -> Value:
    """`v`, of the shape of the operand, summed as the op reduces."""
    return b.reduce_sum(v, op.axis_list, op.keep_dim is not None)


def _count(op: ReduceOp) -> int:
    shape = shape_of(op.operand)
    return prod(shape[axis] for axis in op.axis_list)


def _sum_transpose(op: ReduceSumOp, b: MirBuilder, g: Value) -> Sequence[Cotangent]:
    return [_expand(op, b, g)]


def _mean_transpose(op: ReduceMeanOp, b: MirBuilder, g: Value) -> Sequence[Cotangent]:
    return [_expand(op, b, g if _count(op) == 1 else g / float(_count(op)))]


linear(ReduceSumOp, _sum_transpose)
linear(ReduceMeanOp, _mean_transpose)
NARROW.add(ReduceSumOp)


def _extreme_vjp(op: ReduceOp, b: MirBuilder, g: Value) -> Sequence[Cotangent]:
    """`g / ties` where `x = y`, else 0; NaN where y is, as the tangent is: no element is equal to it."""
    y = b.value(op.results[0])
    hit = b.eq(op.operand, _broadcastable(op, b, y))
    ties = _sum(op, b, b.cast(hit, g.dtype))
    missed = b.where(b.eq(y, y), 0.0, b.stop_gradient(y))
    return [b.where(hit, _broadcastable(op, b, g / ties), _broadcastable(op, b, missed))]


def _extreme_jvp(op: ReduceOp, b: MirBuilder, t: Value) -> Sequence[Value | None]:
    """The mean of the tangents where `x = y`."""
    hit = b.eq(op.operand, _broadcastable(op, b, b.value(op.results[0])))
    return [_sum(op, b, b.where(hit, t, 0.0)) / _sum(op, b, b.cast(hit, t.dtype))]


for _op in (ReduceMaxOp, ReduceMinOp):
    VJP.add(_op, _extreme_vjp)
    JVP.add(_op, _extreme_jvp)


def products_of_others(b: MirBuilder, x: Value, axes: Sequence[int]) -> Value:
    """
    `result[i] = product over j != i of x[j]` along `axes`, without dividing.

    Halves are multiplied pairwise, the products of the others of those n/2 products found, and each element gets that
    of its pair times its partner: linear work, and a polynomial, so that derivatives of any order are right at zeros.
    """
    axis, *rest = axes
    others = _others_along(b, x, axis)
    if not rest:
        return others
    return others * products_of_others(b, b.reduce_prod(x, [axis], keep_dim=True), rest)


def _others_along(b: MirBuilder, x: Value, axis: int) -> Value:
    n = x.shape[axis]
    if n < 2:
        return b.ones_like(x)
    half = n // 2
    first, second = b.narrow(x, axis, 0, half), b.narrow(x, axis, half, half)
    if n == 2:
        return b.concat([second, first], axis)
    pairs = first * second
    if n % 2 == 0:
        others = _others_along(b, pairs, axis)
        return b.concat([others * second, others * first], axis)
    last = b.narrow(x, axis, n - 1, 1)
    others = _others_along(b, b.concat([pairs, last], axis), axis)
    shared = b.narrow(others, axis, 0, half)
    return b.concat([shared * second, shared * first, b.narrow(others, axis, half, 1)], axis)


def _long_axes(op: ReduceProdOp) -> list[int]:
    shape = shape_of(op.operand)
    return [axis for axis in op.axis_list if shape[axis] != 1]


@VJP.rule(ReduceProdOp)
def reduce_prod_vjp(op: ReduceProdOp, b: MirBuilder, g: Value) -> Sequence[Cotangent]:
    axes = _long_axes(op)
    if not axes:
        return [_expand(op, b, g)]
    return [_broadcastable(op, b, g) * products_of_others(b, b.value(op.operand), axes)]


@JVP.rule(ReduceProdOp)
def reduce_prod_jvp(op: ReduceProdOp, b: MirBuilder, t: Value) -> Sequence[Value | None]:
    axes = _long_axes(op)
    return [_sum(op, b, t * products_of_others(b, b.value(op.operand), axes) if axes else t)]


@DECOMPOSE.rule(ReduceMeanOp)
def reduce_mean_decompose(op: ReduceMeanOp, b: MirBuilder) -> Sequence[Value]:
    """`sum / count`; 0/0 over an empty extent."""
    count = prod(shape_of(op.operand)[axis] for axis in op.axis_list)
    total = b.reduce_sum(op.operand, axes=op.axis_list, keep_dim=op.keep_dim is not None)
    return [total / float(count)]
