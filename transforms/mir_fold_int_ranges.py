"""The pass `mir-fold-int-ranges`: integers whose range is known make checks of indices and shifts superfluous.
The ranges are in `int_ranges.py`."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from xdsl_rlx.dialects.mir import creation, elementwise, rounding, shape
from xdsl_rlx.dialects.mir.core import MirOp
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.shapes import element_of, shape_of
from xdsl_rlx.transforms.dead_ops import is_pure
from xdsl_rlx.transforms.driver import RewritingPass, is_differentiated, rewrite
from xdsl_rlx.transforms.int_ranges import IntRanges

_CONSTANTS = (elementwise.ConstantOp, creation.IotaOp, shape.ExpandOp, shape.ReshapeOp)


class MirFoldIntRangesPass(RewritingPass):
    """
    Fold comparisons, selections, minima and maxima of integers that their ranges decide.

    ```
    %i = mir.iota {axis = 0} : tensor<4xi64>
    %j = mir.max %i, %zero
    %k = mir.min %j, %three
    %y = mir.gather %x, %k
    // becomes
    %i = mir.iota {axis = 0} : tensor<4xi64>
    %y = mir.gather %x, %i
    ```

    Ranges go through arithmetic, views, loops and branches. Values stay the same.
    """

    name = "mir-fold-int-ranges"

    def run(self, ctx: Context, module: ModuleOp) -> bool:
        return rewrite(module, _FoldRanges(IntRanges()))


class _FoldRanges(RewritePattern):
    """Replaces an op by a constant, or by an operand."""

    def __init__(self, ranges: IntRanges):
        self.ranges = ranges

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if not isinstance(op, MirOp) or len(op.results) != 1 or isinstance(op, _CONSTANTS) or is_differentiated(op):
            return
        b = MirBuilder(rewriter)
        if (found := self._folded(op, b)) is not None:
            rewriter.replace(op, [], [found.ssa])

    def _folded(self, op: Operation, b: MirBuilder) -> Value | None:
        (result,) = op.results
        if isinstance(op, elementwise.WhereOp):
            known = self.ranges.of(op.cond)
            if known is not None and known[0] == known[1]:
                return b.expand(op.on_true if known[0] else op.on_false, shape_of(result))
        known = self.ranges.of(result)
        if known is None:
            return None
        if known[0] == known[1] and is_pure(op):
            return b.full(shape_of(result), known[0], element_of(result))
        kept = self._kept(op)
        return None if kept is None else b.expand(kept, shape_of(result))

    def _kept(self, op: Operation) -> SSAValue | None:
        """The operand that an op of two equals."""
        if not isinstance(op, elementwise.MinOp | elementwise.MaxOp | elementwise.AndOp | rounding.OrOp):
            return None
        lhs, rhs = op.operands
        for one, other in ((lhs, rhs), (rhs, lhs)):
            (low, high), (other_low, other_high) = self.ranges.known(one), self.ranges.known(other)
            match op:
                case elementwise.MinOp():
                    decided = high <= other_low
                case elementwise.MaxOp():
                    decided = low >= other_high
                case elementwise.AndOp():
                    decided = other_low == other_high and _has_all_bits(other_low, high, low)
                case _:
                    decided = other_low == other_high == 0
            if decided:
                return one
        return None


def _has_all_bits(mask: int, high: int, low: int) -> bool:
    """Whether numbers of a range are as they are under a mask."""
    return mask == -1 or (low >= 0 and mask >= 0 and not (mask + 1) & mask and high <= mask)
