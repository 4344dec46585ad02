"""Rows of ops that move elements: all linear, each with its transpose."""

from collections.abc import Sequence
from functools import partial

from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.mir.shape import ConcatOp, ExpandOp, FlipOp, NarrowOp, ReshapeOp, TransposeOp
from xdsl_rlx.dialects.shapes import shape_of
from xdsl_rlx.transforms.rules.rows import align, leading, linear
from xdsl_rlx.transforms.rules.rule_table import NARROW, VMAP, Cotangent


def _reshape_transpose(op: ReshapeOp, b: MirBuilder, g: Value) -> Sequence[Cotangent]:
    return [b.reshape(g, shape_of(op.operand))]


def _transpose_transpose(op: TransposeOp, b: MirBuilder, g: Value) -> Sequence[Cotangent]:
    perm = op.perm_list
    return [b.transpose(g, sorted(range(len(perm)), key=perm.__getitem__))]


def _narrow_transpose(op: NarrowOp, b: MirBuilder, g: Value) -> Sequence[Cotangent]:
    """The cotangent between zeros. Empty parts are left out."""
    axis, start, length = op.bounds
    shape = list(shape_of(op.operand))
    after = shape[axis] - start - length

    def zeros(extent: int) -> list[Value]:
        return [b.full([*shape[:axis], extent, *shape[axis + 1 :]], 0, g.dtype)] if extent else []

    parts = [*zeros(start), *([g] if length else []), *zeros(after)]
    return [b.concat(parts, axis) if len(parts) > 1 else parts[0] if parts else g]


def _flip_transpose(op: FlipOp, b: MirBuilder, g: Value) -> Sequence[Cotangent]:
    return [b.flip(g, op.axis_index)]


def _concat_transpose(op: ConcatOp, b: MirBuilder, g: Value) -> Sequence[Cotangent]:
    axis = op.axis_index
    cotangents: list[Cotangent] = []
    start = 0
    for part in op.parts:
        extent = shape_of(part)[axis]
        whole = extent == g.shape[axis]
        cotangents.append(g if whole else partial(b.narrow, g, axis, start, extent))
        start += extent
    return cotangents


def _expand_transpose(op: ExpandOp, b: MirBuilder, g: Value) -> Sequence[Cotangent]:
    return [b.unbroadcast(g, shape_of(op.operand))]


linear(ReshapeOp, _reshape_transpose)
linear(TransposeOp, _transpose_transpose)
linear(NarrowOp, _narrow_transpose)
linear(FlipOp, _flip_transpose)
linear(ConcatOp, _concat_transpose)
linear(ExpandOp, _expand_transpose)

NARROW.add(ReshapeOp, TransposeOp, NarrowOp, FlipOp, ConcatOp, ExpandOp)

leading(NarrowOp, "axis")
leading(FlipOp, "axis")
leading(ConcatOp, "axis")


@VMAP.rule(ReshapeOp)
def reshape_vmap(op: ReshapeOp, b: MirBuilder, batched: Sequence[bool], size: int, x: Value) -> Sequence[Value]:
    return [b.reshape(x, (size, *shape_of(op.result)))]


@VMAP.rule(TransposeOp)
def transpose_vmap(op: TransposeOp, b: MirBuilder, batched: Sequence[bool], size: int, x: Value) -> Sequence[Value]:
    return [b.transpose(x, (0, *(axis + 1 for axis in op.perm_list)))]


@VMAP.rule(ExpandOp)
def expand_vmap(op: ExpandOp, b: MirBuilder, batched: Sequence[bool], size: int, x: Value) -> Sequence[Value]:
    shape = shape_of(op.result)
    return [b.expand(align(b, x, len(shape)), (size, *shape))]
