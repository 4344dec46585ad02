"""Reductions over what is computed of pairs of rows, as of points and centres: vectors go across the pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import prod

from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from xdsl_rlx.dialects.mir.mir_builder import MirBuilder
from xdsl_rlx.dialects.mir.reduce import ReduceOp
from xdsl_rlx.dialects.mir.shape import ExpandOp
from xdsl_rlx.dialects.shapes import shape_of
from xdsl_rlx.lowering.prepare.elementwise_chains import computing, transposed
from xdsl_rlx.lowering.target import SinkCosts
from xdsl_rlx.transforms.scalar_cost import scalar_cost


@dataclass
class ReduceAcrossPairs(RewritePattern):
    """
    The reduction of `f(x[..., 1, j], y[k, j])` over the last axis as one over the axis before, of transposed operands.

    The numbers of a row of pairs are then next to each other, where each was a short sum within a vector. There are as
    many pairs as fill vectors, `f` is a few elementwise ops, and what varies over the pairs of a row is small beside
    them all, so that it is transposed for next to nothing.
    """

    costs: SinkCosts

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if not isinstance(op, ReduceOp) or not self._is_of_pairs(op):
            return
        b, rank = MirBuilder(rewriter), len(shape_of(op.operand))
        turned = transposed(b, op.operand, (*range(rank - 2), rank - 1, rank - 2))
        result = b.op(type(op), turned, [rank - 2])
        rewriter.replace(op, [], [b.reshape(result, shape_of(op.result)).ssa])

    def _is_of_pairs(self, op: ReduceOp) -> bool:
        shape, costs = shape_of(op.operand), self.costs
        if len(shape) < 2 or op.axis_list != (len(shape) - 1,) or 0 in shape:
            return False
        pairs, length = shape[-2:]
        if pairs < costs.min_pairs or not 2 <= length <= costs.max_pair_elements:
            return False
        operands = _Operands(shape)
        operands.add(op.operand)
        return (
            operands.vary
            and sum(map(scalar_cost, operands.ops)) <= costs.max_transposed_additions
            and all(prod(shape_of(x)) * costs.min_reads_of_transposed <= prod(shape) for x in operands.across)
        )


@dataclass
class _Operands:
    """The elementwise ops that compute a value of pairs, and what these read."""

    shape: Sequence[int]
    ops: dict[Operation, None] = field(default_factory=dict[Operation, None])
    values: dict[SSAValue, None] = field(default_factory=dict[SSAValue, None])

    def add(self, value: SSAValue) -> None:
        """A value, and all that it is computed of."""
        op = value.owner if isinstance(value.owner, ExpandOp) else computing(value)
        if op is None:
            self.values[value] = None
        elif op not in self.ops:
            self.ops[op] = None
            for x in op.operands:
                self.add(x)

    def _extent(self, x: SSAValue, axis: int) -> int:
        return (*[1] * len(self.shape), *shape_of(x))[axis]

    @property
    def across(self) -> Iterator[SSAValue]:
        """What varies over the pairs of a row."""
        return (x for x in self.values if self._extent(x, -2) > 1)

    @property
    def vary(self) -> bool:
        """Whether of what varies along the reduced axis some varies over the pairs of a row, and some does not."""
        return {self._extent(x, -2) > 1 for x in self.values if self._extent(x, -1) > 1} == {False, True}
