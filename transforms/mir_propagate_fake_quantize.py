"""The pass `mir-propagate-fake-quantize`: what is rounded to levels already is not rounded to the same levels again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from xdsl_rlx.dialects.mir import elementwise, index, pool, shape
from xdsl_rlx.dialects.mir.elementwise import ConstantOp
from xdsl_rlx.dialects.mir.fake_quantize import FakeQuantizeOp, ScaleMode, StraightThrough
from xdsl_rlx.dialects.mir.pool import PoolKind
from xdsl_rlx.dialects.shapes import shape_of
from xdsl_rlx.transforms.driver import RewritingPass, is_differentiated, verify_dominance

Place: TypeAlias = tuple[SSAValue, int | None]
"""A value and the axis of its channels, None where there is one scale for all."""

Origins: TypeAlias = Callable[[Any, int | None], Sequence[Place] | None]
"""`(op, axis) -> places` that the elements of the result come from, channel by channel; None where they do not."""

_LAST_STEP_IS_ONE = (StraightThrough.IDENTITY, StraightThrough.CLIPPED_IDENTITY)
"""The derivative of rounding again what is rounded is 1, so that gradients stay as well."""


class MirPropagateFakeQuantizePass(RewritingPass):
    """
    Remove a `mir.fake_quantize` whose operand is already on its quantisation levels.

    ```
    %1, %s = mir.fake_quantize %x state %t bits 8 ste identity scale_mode fixed
    %2 = mir.relu %1
    %3, %u = mir.fake_quantize %2 state %t bits 8 ste identity scale_mode fixed
    %y = mir.exp %3
    // becomes
    %1, %s = mir.fake_quantize %x state %t bits 8 ste identity scale_mode fixed
    %2 = mir.relu %1
    %y = mir.exp %2
    ```

    Both ops must have equal state, bits, channels and `ste`. Between them are only ops that select or negate elements:
    reshapes, slices, concatenation, selects, maxima, relu. Ops with data-dependent scales (`per_batch`, `ema`) stay,
    because their scales differ. So do `tanh` and `hard_tanh`, whose slopes on the levels are not 1. Values and
    gradients are bit-identical: `round(k s / s)` is `k` for every level `k` up to 127 and finite scale `s`.
    """

    name = "mir-propagate-fake-quantize"

    def run(self, ctx: Context, module: ModuleOp) -> bool:
        verify_dominance(module)
        found = [(op, first) for op in module.walk() if (first := _rounded_before(op)) is not None]
        # the last first: what takes the place of a scale may go itself
        for op, first in reversed(found):
            op.results[0].replace_all_uses_with(op.operands[0])
            op.results[1].replace_all_uses_with(first.scale)
            op.detach()
            op.erase()
        return bool(found)


def _rounded_before(op: Operation) -> FakeQuantizeOp | None:
    """One of the ops that have put all of the operand on the levels of `op`."""
    if not isinstance(op, FakeQuantizeOp) or op.scale_mode.data != ScaleMode.FIXED or is_differentiated(op):
        return None
    if op.ste.data not in _LAST_STEP_IS_ONE:
        return None
    first: FakeQuantizeOp | None = None
    left: list[Place] = [(op.x, op.axis_index)]
    seen = set(left)
    while left:
        value, axis = left.pop()
        owner = value.owner
        if isinstance(owner, FakeQuantizeOp) and value is owner.result and _has_levels_of(owner, op, axis):
            first = owner
            continue
        row = _ORIGINS.get(type(owner)) if isinstance(owner, Operation) else None
        if row is None or (origins := row(owner, axis)) is None:
            return None
        left += [place for place in origins if place not in seen]
        seen.update(origins)
    return first


def _has_levels_of(first: FakeQuantizeOp, op: FakeQuantizeOp, axis: int | None) -> bool:
    same = first.bits == op.bits and first.ste == op.ste and first.scale_mode == op.scale_mode
    return same and first.axis_index == axis and _same_scale(first, op)


def _same_scale(first: FakeQuantizeOp, op: FakeQuantizeOp) -> bool:
    if op.state in (first.state, first.scale):
        return True
    states = [state.owner for state in (first.state, op.state) if state is not None]
    constants = [owner.value for owner in states if isinstance(owner, ConstantOp)]
    return len(constants) == 2 and constants[0] == constants[1]


def _alone(op: Operation, axis: int | None) -> Sequence[Place]:
    return [(op.operands[0], axis)]


def _broadcast(*operands: int) -> Origins:
    """Of an elementwise op: the elements of these operands."""

    def origins(op: Operation, axis: int | None) -> Sequence[Place] | None:
        found = [_expanded(op.operands[number], op.results[0], axis) for number in operands]
        return None if None in found else [place for place in found if place is not None]

    return origins


def _expanded(operand: SSAValue, result: SSAValue, axis: int | None) -> Place | None:
    """The place in an operand that broadcasts, aligned at the right; None where the channels are repeated."""
    if axis is None:
        return operand, None
    before, after = shape_of(operand), shape_of(result)
    own = axis - (len(after) - len(before))
    return (operand, own) if own >= 0 and before[own] == after[axis] else None


def _reshaped(op: shape.ReshapeOp, axis: int | None) -> Sequence[Place] | None:
    """An axis stays one where as many elements are in front of it, and its extent is the same."""
    if axis is None:
        return [(op.operand, None)]
    before, after = shape_of(op.operand), shape_of(op.result)
    for own, extent in enumerate(before):
        if extent == after[axis] and prod(before[:own]) == prod(after[:axis]):
            return [(op.operand, own)]
    return None


def _transposed(op: shape.TransposeOp, axis: int | None) -> Sequence[Place]:
    return [(op.operand, None if axis is None else op.perm_list[axis])]


def _narrowed(op: shape.NarrowOp, axis: int | None) -> Sequence[Place] | None:
    return None if axis == op.bounds[0] else [(op.operand, axis)]


def _flipped(op: shape.FlipOp, axis: int | None) -> Sequence[Place] | None:
    return None if axis == op.axis_index else [(op.operand, axis)]


def _concatenated(op: shape.ConcatOp, axis: int | None) -> Sequence[Place] | None:
    return None if axis == op.axis_index else [(part, axis) for part in op.parts]


def _gathered(op: index.GatherOp, axis: int | None) -> Sequence[Place] | None:
    return [(op.table, None)] if axis is None else None


def _pooled(op: pool.PoolOp, axis: int | None) -> Sequence[Place] | None:
    """The windows are along the axes behind the channels."""
    if op.kind.data not in (PoolKind.MAX, PoolKind.MIN) or (axis is not None and axis > 1):
        return None
    return [(op.x, axis)]


def _resized(op: pool.ResizeNearest2xOp, axis: int | None) -> Sequence[Place] | None:
    return None if axis is not None and axis > 1 else [(op.x, axis)]


_ORIGINS: dict[type[Operation], Origins] = {
    elementwise.AbsOp: _alone,
    elementwise.MaxOp: _broadcast(0, 1),
    elementwise.MinOp: _broadcast(0, 1),
    elementwise.NegOp: _alone,
    elementwise.ReluOp: _alone,
    elementwise.StopGradientOp: _alone,
    elementwise.WhereOp: _broadcast(1, 2),
    index.GatherOp: _gathered,
    pool.PoolOp: _pooled,
    pool.ResizeNearest2xOp: _resized,
    shape.ConcatOp: _concatenated,
    shape.ExpandOp: _broadcast(0),
    shape.FlipOp: _flipped,
    shape.NarrowOp: _narrowed,
    shape.ReshapeOp: _reshaped,
    shape.TransposeOp: _transposed,
}
"""Ops whose results lie on levels that are symmetric around 0 if their operands do."""
