"""How each op becomes loops: iteration space, reduction, view, product, placement. A row an op.
Elementwise arithmetic is in SCALAR."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import inf

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute, Operation, SSAValue

from xdsl_rlx.dialects import mir
from xdsl_rlx.dialects.lir.scalar_builder import Scalar, ScalarBuilder
from xdsl_rlx.dialects.mir import complex, creation, index, linalg, reduce, shape
from xdsl_rlx.dialects.mir.core import Elementwise
from xdsl_rlx.dialects.shapes import normalize_axis, shape_of
from xdsl_rlx.lowering.fusion.analysis.loop_tables import (
    LOOPS,
    PLACE,
    PRODUCT,
    REDUCTION,
    UPDATED,
    VIEW,
    Axes,
    Loops,
    Reduction,
    StridedLayout,
    pointwise_loops,
    result_loops,
)
from xdsl_rlx.plugins import modules
from xdsl_rlx.transforms.rules.rule_table import SCALAR

for _op in mir.Mir.operations:
    if _op.has_trait(Elementwise):
        LOOPS.add(_op, pointwise_loops)


def _reduce_loops(op: Operation) -> Loops:
    assert isinstance(op, reduce.ReduceOp)
    extents = shape_of(op.operand)
    kept = [axis for axis in range(len(extents)) if axis not in op.axis_list]
    result: Axes = tuple(kept)
    if op.keep_dim is not None:
        result = tuple(axis if axis in kept else None for axis in range(len(extents)))
    return extents, {op.operand: tuple(range(len(extents))), op.result: result}


def _least(type_: Attribute) -> float | int:
    return -(1 << (type_.bitwidth - 1)) if isinstance(type_, IntegerType) else -inf


def _greatest(type_: Attribute) -> float | int:
    return (1 << (type_.bitwidth - 1)) - 1 if isinstance(type_, IntegerType) else inf


for _op, _reduction in (
    (reduce.ReduceSumOp, Reduction(lambda t: 0, lambda b, acc, x: b.accumulate_add(acc, x), rounds=True)),
    (reduce.ReduceProdOp, Reduction(lambda t: 1, lambda b, acc, x: b.accumulate_mul(acc, x), rounds=True)),
    (reduce.ReduceMaxOp, Reduction(_least, lambda b, acc, x: b.accumulate_max(acc, x))),
    (reduce.ReduceMinOp, Reduction(_greatest, lambda b, acc, x: b.accumulate_min(acc, x))),
):
    LOOPS.add(_op, _reduce_loops)
    REDUCTION.add(_op, _reduction)


def _reshape_loops(op: Operation) -> Loops | None:
    """A reshape that only adds or drops extents of 1 is a loop over the same elements."""
    assert isinstance(op, shape.ReshapeOp)
    before, after = shape_of(op.operand), shape_of(op.result)
    if [n for n in before if n != 1] != [n for n in after if n != 1]:
        return None
    source = [axis for axis, n in enumerate(before) if n != 1]
    rest = iter(source)
    return before, {
        op.operand: tuple(range(len(before))),
        op.result: tuple(None if n == 1 else next(rest) for n in after),
    }


LOOPS.add(shape.ReshapeOp, _reshape_loops)
LOOPS.add(shape.ExpandOp, pointwise_loops)
LOOPS.add(creation.IotaOp, result_loops)


@SCALAR.rule(shape.ReshapeOp)
def _reshaped(op: shape.ReshapeOp, b: ScalarBuilder, x: Scalar) -> Scalar:
    return x


@SCALAR.rule(shape.ExpandOp)
def _expanded(op: shape.ExpandOp, b: ScalarBuilder, x: Scalar) -> Scalar:
    return x


def _reshape_view(op: Operation, layout: StridedLayout) -> StridedLayout | None:
    """Strides of the new shape, found from the innermost axis outwards, where runs of old axes are evenly spaced."""
    after = shape_of(op.results[0])
    if 0 in after:
        return StridedLayout(layout.offset, after, (1,) * len(after))
    old = [(n, s) for n, s in zip(layout.shape, layout.strides, strict=True) if n != 1]
    strides: list[int] = []
    available, stride = 1, 1
    for extent in reversed(after):
        if extent == 1:
            # as in row-major order, so that views that a program writes in several ways are one layout
            strides.append(stride)
            continue
        if available == 1:
            available, stride = old.pop()
        while available % extent and old and old[-1][1] == stride * available:
            available *= old.pop()[0]
        if available % extent:
            return None
        strides.append(stride)
        available //= extent
        stride *= extent
    return StridedLayout(layout.offset, after, tuple(reversed(strides)))


def _transpose_view(op: Operation, layout: StridedLayout) -> StridedLayout:
    assert isinstance(op, shape.TransposeOp)
    perm = op.perm_list
    return StridedLayout(layout.offset, tuple(layout.shape[p] for p in perm), tuple(layout.strides[p] for p in perm))


def _narrow_view(op: Operation, layout: StridedLayout) -> StridedLayout:
    assert isinstance(op, shape.NarrowOp)
    return _window(layout, *op.bounds)


def _window(layout: StridedLayout, axis: int, start: int, length: int) -> StridedLayout:
    extents = (*layout.shape[:axis], length, *layout.shape[axis + 1 :])
    offset = layout.offset if 0 in extents else layout.offset + start * layout.strides[axis]
    return StridedLayout(offset, extents, layout.strides)


def _expand_view(op: Operation, layout: StridedLayout) -> StridedLayout:
    after = shape_of(op.results[0])
    missing = len(after) - len(layout.shape)
    strides = [0] * missing + [0 if n == 1 else s for n, s in zip(layout.shape, layout.strides, strict=True)]
    return StridedLayout(layout.offset, after, tuple(strides))


def _flip_view(op: Operation, layout: StridedLayout) -> StridedLayout:
    """From the last element of the axis on, backwards."""
    assert isinstance(op, shape.FlipOp)
    axis = op.axis_index
    extent, stride = layout.shape[axis], layout.strides[axis]
    if extent <= 1 or 0 in layout.shape:
        return layout
    strides = (*layout.strides[:axis], -stride, *layout.strides[axis + 1 :])
    return StridedLayout(layout.offset + (extent - 1) * stride, layout.shape, strides)


VIEW.add(shape.ReshapeOp, _reshape_view)
VIEW.add(shape.TransposeOp, _transpose_view)
VIEW.add(shape.NarrowOp, _narrow_view)
VIEW.add(shape.ExpandOp, _expand_view)
VIEW.add(shape.FlipOp, _flip_view)


def _part_view(first: int, op: Operation, layout: StridedLayout) -> StridedLayout:
    """The parts of complex numbers lie one behind the other: every second element from the first or second on."""
    first = 0 if 0 in layout.shape else first
    return StridedLayout(2 * layout.offset + first, layout.shape, tuple(2 * stride for stride in layout.strides))


VIEW.add(complex.RealOp, partial(_part_view, 0))
VIEW.add(complex.ImagOp, partial(_part_view, 1))
PLACE.add(
    complex.ComplexOp,
    lambda op, layout: [(part, _part_view(first, op, layout)) for first, part in enumerate(op.operands)],
)


def _concat_places(op: Operation, layout: StridedLayout) -> Sequence[tuple[SSAValue, StridedLayout]]:
    assert isinstance(op, shape.ConcatOp)
    axis = normalize_axis(op.axis.value.data, len(layout.shape))
    places: list[tuple[SSAValue, StridedLayout]] = []
    start = 0
    for part in op.parts:
        length = shape_of(part)[axis]
        places.append((part, _window(layout, axis, start, length)))
        start += length
    return places


PLACE.add(shape.ConcatOp, _concat_places)
UPDATED.add(index.IndexAddOp, lambda op: op.operands[0])


LOOPS.add(linalg.MatmulOp, result_loops)
PRODUCT.add(linalg.MatmulOp, lambda op: (op.operands[0], op.operands[1]))

modules("loops")
