"""The position of the largest element as reductions: the first part of `mir.topk` with k = 1."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import AnyFloat, i32
from xdsl.ir import Operation, SSAValue

from xdsl_rlx.dialects.mir.creation import IotaOp
from xdsl_rlx.dialects.mir.index import TopkOp
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.mir.shape import ExpandOp, TransposeOp
from xdsl_rlx.dialects.shapes import element_of, shape_of
from xdsl_rlx.lowering.target import NormalizeCosts
from xdsl_rlx.transforms.driver import is_elementwise
from xdsl_rlx.transforms.rules.wide import widened


def first_of_the_largest(op: Operation, b: MirBuilder, costs: NormalizeCosts) -> Sequence[Value] | None:
    """
    The position of the largest element as two reductions, which fuse with what computes the elements: the largest, and
    the least position of one that equals it. NaN is the largest: then no number equals it, and positions are of NaN.

    A long row that is in memory is read once, for the largest of each block.
    """
    assert isinstance(op, TopkOp)
    element = element_of(op.operand)
    if op.k.value.data != 1 or (op.smallest is not None and isinstance(element, AnyFloat)):
        return None
    *rows, extent = shape_of(op.operand)
    if extent >= 1 << 31:
        return None
    is_least = op.smallest is not None
    block = costs.argmax_block_elements
    if extent >= costs.min_argmax_blocks * block and 0 not in rows and _is_in_memory(op.operand):
        first = _by_blocks(b.reshape(op.operand, (prod(rows), extent)), block, is_least, b)
    else:
        first = _position(b.value(op.operand), is_least, b)
    return [b.reshape(b.cast(first, "i64"), (*rows, 1))]


def _is_in_memory(x: SSAValue) -> bool:
    """Whether a value is an argument, or what a kernel of its own has computed, with its last axis along memory."""
    owner = x.owner
    return not isinstance(owner, Operation) or not (
        is_elementwise(type(owner)) or isinstance(owner, TransposeOp | ExpandOp)
    )


def _best(x: Value, is_least: bool, b: MirBuilder) -> Value:
    return (b.reduce_min if is_least else b.reduce_max)(x, [-1], keep_dim=True)


def _position(given: Value, is_least: bool, b: MirBuilder) -> Value:
    """The positions along the last axis, as i32, without this axis."""
    x = widened(b, given.ssa)
    best, extent = _best(x, is_least, b), x.shape[-1]
    found = b.eq(x, best)
    if isinstance(element_of(given.ssa), AnyFloat):
        found = b.or_(found, b.ne(x, x))
    positions = b.op(IotaOp, (extent,), 0, i32)
    return b.reduce_min(b.where(found, positions, b.constant(extent, "i32")), [-1])


def _by_blocks(x: Value, size: int, is_least: bool, b: MirBuilder) -> Value:
    """As `_position`, of a matrix: the block of this size that has the first of the largest, and the position in it."""
    rows, extent = x.shape
    count = extent // size
    blocks = b.reshape(b.narrow(x, 1, 0, count * size), (rows, count, size))
    best = b.reshape(_best(widened(b, blocks.ssa), is_least, b), (rows, count))
    if extent % size:
        # the last one overlaps: in the block before, there is no first one then
        last = b.narrow(x, 1, extent - size, size)
        best = b.concat([best, _best(widened(b, last.ssa), is_least, b)], 1)
    block = b.reshape(_position(best, is_least, b), (rows, 1))
    start = b.min(b.mul(block, b.constant(size, "i32")), b.constant(extent - size, "i32"))
    places = b.add(start, b.op(IotaOp, (size,), 0, i32))
    inside = _position(b.gather(x, places, 1, 1), is_least, b)
    return b.add(b.reshape(start, (rows,)), inside)
