"""The pass `mir-split-axes`: elementwise ops run over the finer of two shapes, so that a reshape does not part kernels.

A reshape that splits axes is a view of any buffer; one that merges them is not, where an axis is broadcast.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import InsertPoint

from xdsl_rlx.dialects.mir.mir_builder import MirBuilder
from xdsl_rlx.dialects.mir.shape import ExpandOp, ReshapeOp
from xdsl_rlx.dialects.shapes import element_of, shape_of
from xdsl_rlx.lowering.fusion.analysis.loop_tables import LOOPS, PRODUCT, REDUCTION
from xdsl_rlx.lowering.target import SinkCosts
from xdsl_rlx.transforms.driver import RewritingPass, is_constant, is_elementwise, rewrite

Axes = list[list[int]]
"""The extents that each axis is split into."""


@dataclass(frozen=True)
class MirSplitAxesPass(RewritingPass):
    """
    Move reshapes that split or merge axes past elementwise ops, where both sides then become one kernel.

    A reshape that splits axes for a reduction moves in front of the elementwise ops that compute its operand. A reshape
    that merges axes, of which one is broadcast, moves behind the elementwise ops that read it.

    ```mlir
    %0 = mir.exp %x : tensor<6x4xf32>
    %1 = mir.reshape %0 : tensor<6x4xf32> to tensor<2x3x4xf32>
    %y = mir.reduce_sum %1 axes [1] : (tensor<2x3x4xf32>) -> tensor<2x4xf32>
    // becomes
    %0 = mir.reshape %x : tensor<6x4xf32> to tensor<2x3x4xf32>
    %1 = mir.exp %0 : tensor<2x3x4xf32>
    %y = mir.reduce_sum %1 axes [1] : (tensor<2x3x4xf32>) -> tensor<2x4xf32>
    ```
    """

    name = "mir-split-axes"

    max_moved_ops: int = SinkCosts.max_moved_ops
    """Elementwise ops in a row that a reshape is moved past."""

    def run(self, ctx: Context, module: ModuleOp) -> bool:
        return rewrite(module, SplitAxes(self.max_moved_ops))


@dataclass
class SplitAxes(RewritePattern):
    """A reshape moves up from a reduction, or down past an elementwise op."""

    depth: int
    """Elementwise ops in a row that are moved together."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if not isinstance(op, ReshapeOp):
            return
        before, after = shape_of(op.operand), shape_of(op.result)
        if 0 in before or before == after:
            return
        users = [use.operation for use in op.result.uses]
        if (axes := split(before, after)) is not None:
            if any(REDUCTION.get(type(user)) is not None for user in users) and self._is_computed(op.operand, axes):
                rewriter.replace(op, [], [_in_parts(MirBuilder(rewriter), op.operand, axes)])
        elif (axes := split(after, before)) is not None and len(users) == 1 and _is_broadcast(op.operand):
            _move_behind(op, users[0], axes, self.depth, rewriter)

    def _is_computed(self, value: SSAValue, axes: Axes) -> bool:
        owner = value.owner
        return isinstance(owner, Operation) and is_elementwise(type(owner)) and _is_free(value, axes, self.depth)


def split(coarse: Sequence[int], fine: Sequence[int]) -> Axes | None:
    """The extents of `fine` that each extent of `coarse` is the product of, in order; None if it is no finer shape."""
    left = list(reversed(fine))
    axes: Axes = []
    for extent in coarse:
        parts: list[int] = []
        size = 1
        while left and (size < extent or not parts):
            parts.append(left.pop())
            size *= parts[-1]
        if size != extent or not parts:
            return None
        axes.append(parts)
    if axes and all(n == 1 for n in left):
        axes[-1] += reversed(left)
        return axes if any(sum(n != 1 for n in parts) > 1 for parts in axes) else None
    return None


def _is_broadcast(value: SSAValue) -> bool:
    """Whether a value is expanded, or an elementwise op of such a value alone reads it."""
    owner = value.owner
    if isinstance(owner, ExpandOp):
        return True
    if not isinstance(owner, Operation) or not is_elementwise(type(owner)) or not value.has_one_use():
        return False
    return any(isinstance(x.owner, ExpandOp) for x in owner.operands)


def _is_free(value: SSAValue, axes: Axes, depth: int) -> bool:
    """Whether a value of these axes, or that broadcasts to them, can be had with the axes split, at no cost."""
    owner = value.owner
    if not isinstance(owner, Operation) or is_constant(owner):
        return True
    if PRODUCT.get(type(owner)) is not None or REDUCTION.get(type(owner)) is not None:
        # it would have to be in memory
        return all(n == 1 for n in shape_of(value))
    if not is_elementwise(type(owner)) and not isinstance(owner, ExpandOp):
        return LOOPS.get(type(owner)) is None or isinstance(owner, ReshapeOp)
    if not depth or not value.has_one_use() or len(owner.results) != 1:
        return False
    own = axes[len(axes) - len(shape_of(value)) :]
    return all(_is_free(operand, own, depth - 1) for operand in owner.operands)


def _in_parts(b: MirBuilder, value: SSAValue, axes: Axes) -> SSAValue:
    """A value that broadcasts to these axes, with the axes split."""
    owner, shape = value.owner, shape_of(value)
    own = axes[len(axes) - len(shape) :]
    wanted = [m for n, parts in zip(shape, own, strict=True) for m in (parts if n != 1 else [1] * len(parts))]
    if not shape:
        return value
    if isinstance(owner, ExpandOp):
        return b.expand(b.value(_in_parts(b, owner.operand, own)), wanted).ssa
    if not isinstance(owner, Operation) or not is_elementwise(type(owner)) or is_constant(owner):
        return b.reshape(value, wanted).ssa
    copy = type(owner).create(
        operands=[_in_parts(b, operand, own) for operand in owner.operands],
        result_types=[TensorType(element_of(value), wanted)],
        properties=dict(owner.properties),
    )
    return b.builder.insert(copy).results[0]


def _move_behind(op: ReshapeOp, user: Operation, axes: Axes, depth: int, rewriter: PatternRewriter) -> None:
    """Let the one elementwise op that reads a reshape read its operand instead, and reshape what that computes."""
    if not is_elementwise(type(user)) or isinstance(user, ReshapeOp) or len(user.results) != 1:
        return
    (result,) = user.results
    if shape_of(result) != shape_of(op.result):
        return
    others = [x for x in user.operands if x is not op.result]
    if not all(_is_free(x, axes[len(axes) - len(shape_of(x)) :], depth) for x in others):
        return
    rewriter.insertion_point = InsertPoint.before(user)
    b = MirBuilder(rewriter)
    operands = [op.operand if x is op.result else _in_parts(b, x, axes) for x in user.operands]
    types = [TensorType(element_of(result), shape_of(op.operand))]
    copy = type(user).create(operands=operands, result_types=types, properties=dict(user.properties))
    rewriter.insert(copy)
    rewriter.replace(user, [], [b.reshape(copy.results[0], shape_of(result)).ssa])
