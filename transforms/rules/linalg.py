"""Rows of matrix products and contractions. Fused forms are in `fused.py`, solves in `solve.py`."""

from collections.abc import Sequence
from itertools import pairwise
from math import prod

from xdsl.dialects.builtin import f32

from xdsl_rlx.dialects.mir.linalg import DotGeneralOp, LoraMatmulOp, MatmulOp, Side
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.shapes import element_of, shape_of
from xdsl_rlx.transforms.rules.rows import decompose, move_axis, pointwise
from xdsl_rlx.transforms.rules.rule_table import JVP, NARROW, VJP, VMAP, Cotangent
from xdsl_rlx.transforms.rules.wide import is_half


def transposed(b: MirBuilder, x: Value) -> Value:
    """The last two dimensions swapped."""
    return b.transpose(x, [*range(x.rank - 2), x.rank - 1, x.rank - 2])


def _rhs_cotangent(b: MirBuilder, g: Value, lhs: Value, rhs: Value) -> Value:
    """`lhs^T g`, summed over the batch dimensions that `rhs` repeats."""
    batch = lhs.shape[:-2]
    lhs = b.conjugate(lhs)
    if prod(rhs.shape[:-2]) == 1 and batch == g.shape[:-2]:
        # One product over all rows, rather than a product per batch entry and then their sum.
        lhs = b.reshape(lhs, (prod(lhs.shape[:-1]), lhs.shape[-1]))
        g = b.reshape(g, (prod(g.shape[:-1]), g.shape[-1]))
        return b.reshape(transposed(b, lhs) @ g, rhs.shape)
    return b.unbroadcast(transposed(b, lhs) @ g, rhs.shape)


pointwise(MatmulOp)
NARROW.add(MatmulOp, when=lambda op: len({shape_of(x)[:-2] for x in op.operands}) == 1)
NARROW.add(DotGeneralOp)


@VJP.rule(MatmulOp)
def matmul_vjp(op: MatmulOp, b: MirBuilder, g: Value) -> Sequence[Cotangent]:
    """`dlhs = g rhs^T`, `drhs = lhs^T g`, with complex factors conjugated."""
    lhs, rhs = b.value(op.lhs), b.value(op.rhs)
    return (
        lambda: b.unbroadcast(g @ transposed(b, b.conjugate(rhs)), lhs.shape),
        lambda: _rhs_cotangent(b, g, lhs, rhs),
    )


@JVP.rule(MatmulOp)
def matmul_jvp(op: MatmulOp, b: MirBuilder, lhs: Value | None, rhs: Value | None) -> Sequence[Value | None]:
    left = None if lhs is None else lhs @ op.rhs
    right = None if rhs is None else b.matmul(op.lhs, rhs)
    return [right if left is None else left if right is None else left + right]


def _contract(b: MirBuilder, op: DotGeneralOp, lhs: Value, rhs: Value) -> Value:
    """The contraction of `op`, of other operands."""
    left, right = op.sides
    return b.dot_general(lhs, rhs, left.contracting, right.contracting, left.batch, right.batch)


def _other_cotangent(b: MirBuilder, mine: Side, other: Side, x: Value, g: Value, g_free: range) -> Value:
    """
    The cotangent of the operand with the dimensions `mine`; `x` is the other one.

    `g` is contracted with `x` over the free dimensions of `x`, which are `g_free` of `g`. Of the two orders of the
    factors, the one that gives the dimensions in place is taken.
    """
    x = b.conjugate(x)
    batch = range(len(mine.batch))
    by_x = [mine.contracting[i] for i in sorted(range(len(other.contracting)), key=other.contracting.__getitem__)]
    swapped = [*mine.batch, *by_x, *mine.free]
    if swapped == sorted(swapped):
        return b.dot_general(x, g, other.free, g_free, other.batch, batch)
    order = [*mine.batch, *mine.free, *by_x]
    found = b.dot_general(g, x, g_free, other.free, batch, other.batch)
    return b.transpose(found, [order.index(axis) for axis in range(len(order))])


@VJP.rule(DotGeneralOp)
def dot_general_vjp(op: DotGeneralOp, b: MirBuilder, g: Value) -> Sequence[Cotangent]:
    """Contractions of the cotangent with the other operand, conjugated, over what only that one has."""
    left, right = op.sides
    lhs, rhs = b.value(op.lhs), b.value(op.rhs)
    start, middle = len(left.batch), len(left.batch) + len(left.free)
    of_lhs, of_rhs = range(start, middle), range(middle, g.rank)
    return (
        lambda: _other_cotangent(b, left, right, rhs, g, of_rhs),
        lambda: _other_cotangent(b, right, left, lhs, g, of_lhs),
    )


@JVP.rule(DotGeneralOp)
def dot_general_jvp(op: DotGeneralOp, b: MirBuilder, lhs: Value | None, rhs: Value | None) -> Sequence[Value | None]:
    left = None if lhs is None else _contract(b, op, lhs, b.value(op.rhs))
    right = None if rhs is None else _contract(b, op, b.value(op.lhs), rhs)
    return [right if left is None else left if right is None else left + right]


@VMAP.rule(DotGeneralOp)
def dot_general_vmap(
    op: DotGeneralOp, b: MirBuilder, batched: Sequence[bool], size: int, lhs: Value, rhs: Value
) -> Sequence[Value]:
    """One more pair of batch dimensions, or one more free dimension of the operand that has the axis."""
    left, right = op.sides

    def up(axes: Sequence[int], by: bool) -> list[int]:
        return [axis + by for axis in axes]

    contracting = up(left.contracting, batched[0]), up(right.contracting, batched[1])
    batch = up(left.batch, batched[0]), up(right.batch, batched[1])
    if all(batched):
        return [b.dot_general(lhs, rhs, *contracting, [0, *batch[0]], [0, *batch[1]])]
    at = len(left.batch) + (0 if batched[0] else len(left.free))
    return [move_axis(b, b.dot_general(lhs, rhs, *contracting, *batch), at, 0)]


def _moved(x: Value, side: Side, order: Sequence[int]) -> int:
    """The elements of an operand that has to be copied if its contracted dimensions become one in this order."""
    axes = [side.contracting[i] for i in order]
    return 0 if all(second == first + 1 for first, second in pairwise(axes)) else prod(x.shape)


def _is_by_elements(lhs: Value, left: Side, rhs: Value, right: Side) -> bool:
    """Whether no matrix of the product has rows or columns, or none has anything to sum over."""
    rows, columns = (prod(x.shape[axis] for axis in side.free) for x, side in ((lhs, left), (rhs, right)))
    summed = prod(lhs.shape[axis] for axis in left.contracting)
    return rows == columns == 1 or summed == 1


def _by_elements(b: MirBuilder, lhs: Value, left: Side, rhs: Value, right: Side) -> Value:
    """The products of elements, as those of `lhs` lie, and their sums."""
    batch, summed = (
        [(kind, n) for n in range(len(axes))] for kind, axes in (("b", left.batch), ("c", left.contracting))
    )
    free = [[(kind, axis) for axis in side.free] for kind, side in (("l", left), ("r", right))]
    first, second = (
        dict(zip((*side.batch, *side.contracting, *side.free), (*batch, *summed, *own), strict=True))
        for side, own in zip((left, right), free, strict=True)
    )
    order = [*(first[axis] for axis in range(lhs.rank)), *free[1]]
    sides: list[Value] = []
    for x, labels in ((lhs, first), (rhs, second)):
        wide = b.cast(x, f32) if is_half(x.ssa) else x
        axes = {label: axis for axis, label in labels.items()}
        moved = b.transpose(wide, [axes[label] for label in order if label in axes])
        sides.append(b.expand_dims(moved, [n for n, label in enumerate(order) if label not in axes]))
    total = sides[0] * sides[1]
    if summed:
        total = b.reduce_sum(total, [n for n, label in enumerate(order) if label in summed])
    kept = [label for label in order if label not in summed]
    return b.transpose(total, [kept.index(label) for label in (*batch, *free[0], *free[1])])


@decompose(DotGeneralOp)
def dot_general_decompose(op: DotGeneralOp, b: MirBuilder) -> Sequence[Value]:
    """
    A matrix product: batch dimensions in front, free ones as rows and columns, contracted ones as what is summed over.

    The contracted pairs are taken in the order that they have in one of the operands: that for which fewer elements
    have to be moved to make one dimension of them. Where nothing is summed over, or each number is a sum of its own, it
    is a product of elements, of floats in f32 at least.
    """
    left, right = op.sides
    lhs, rhs = b.value(op.lhs), b.value(op.rhs)
    if _is_by_elements(lhs, left, rhs, right):
        return [b.cast(_by_elements(b, lhs, left, rhs, right), element_of(op.result))]
    orders = [sorted(range(len(side.contracting)), key=side.contracting.__getitem__) for side in (left, right)]
    pairs = min(orders, key=lambda order: _moved(lhs, left, order) + _moved(rhs, right, order))

    def matrices(x: Value, side: Side, rows: Sequence[int], columns: Sequence[int]) -> Value:
        extents = [x.shape[axis] for axis in side.batch]
        moved = b.transpose(x, [*side.batch, *rows, *columns])
        height, width = (prod(x.shape[axis] for axis in axes) for axes in (rows, columns))
        return b.reshape(moved, [*extents, height, width])

    first = matrices(lhs, left, left.free, [left.contracting[i] for i in pairs])
    second = matrices(rhs, right, [right.contracting[i] for i in pairs], right.free)
    return [b.reshape(first @ second, shape_of(op.result))]


@decompose(LoraMatmulOp)
def lora_matmul_decompose(op: LoraMatmulOp, b: MirBuilder) -> Sequence[Value]:
    """The scale stands at the product of fewest elements."""
    x = b.value(op.x)
    low = (x @ op.a) * op.scale.value.data
    return [x @ op.w + low @ op.b]
