"""Sums of two products of one factor, as the gradient of `x^T x` is: one product, of the sum of the other factors."""

from __future__ import annotations

from typing import NamedTuple

from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from xdsl_rlx.dialects.mir.elementwise import AddOp
from xdsl_rlx.dialects.mir.linalg import MatmulOp
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.mir.shape import TransposeOp
from xdsl_rlx.dialects.shapes import FLOATS, element_of, shape_of
from xdsl_rlx.transforms.sum_of_windows import is_sum


class Factor(NamedTuple):
    """A factor of a product: a value, or that with its last two axes swapped."""

    root: SSAValue
    swapped: bool

    @classmethod
    def of(cls, value: SSAValue, swapped: bool = False) -> Factor:
        """What is left of a value without swaps of the last two axes."""
        while (inner := _behind_swap(value)) is not None:
            value, swapped = inner, not swapped
        return cls(value, swapped)

    @property
    def shape(self) -> tuple[int, ...]:
        """Its extents."""
        *batch, rows, columns = shape_of(self.root)
        return (*batch, columns, rows) if self.swapped else (*batch, rows, columns)

    def value(self, b: MirBuilder) -> Value:
        """The factor as a value."""
        return b.transpose(self.root, _swap(len(self.shape))) if self.swapped else b.value(self.root)


class MergeProducts(RewritePattern):
    """
    Multiply once where a sum has two products that share a factor: `x a + x b = x (a + b)`.

    The other factors have one shape. Results are as exact as those of two products, with other last digits.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AddOp, rewriter: PatternRewriter) -> None:
        if not is_sum(op) or element_of(op.result) not in FLOATS:
            return
        first, second = map(_factors, op.operands)
        if first is None or second is None:
            return
        b = MirBuilder(rewriter)
        (left, right), (other_left, other_right) = first, second
        if left == other_left and right.shape == other_right.shape:
            product = b.matmul(left.value(b), b.add(right.value(b), other_right.value(b)))
        elif right == other_right and left.shape == other_left.shape:
            product = b.matmul(b.add(left.value(b), other_left.value(b)), right.value(b))
        else:
            return
        sides = [*op.operands]
        rewriter.replace(op, [], [product.ssa])
        for side in sides:
            _erase(side, rewriter)


def _factors(value: SSAValue) -> tuple[Factor, Factor] | None:
    """The factors of a product that nothing else reads, itself or with its last two axes swapped."""
    swapped = False
    while (inner := _behind_swap(value)) is not None and value.has_one_use():
        value, swapped = inner, not swapped
    op = value.owner
    if not isinstance(op, MatmulOp) or not value.has_one_use() or min(map(len, map(shape_of, op.operands))) < 2:
        return None
    if swapped:
        return Factor.of(op.rhs, True), Factor.of(op.lhs, True)
    return Factor.of(op.lhs), Factor.of(op.rhs)


def _swap(rank: int) -> tuple[int, ...]:
    return (*range(rank - 2), rank - 1, rank - 2)


def _behind_swap(value: SSAValue) -> SSAValue | None:
    """The value of which another one is that with its last two axes swapped, if it is one."""
    op = value.owner
    if not isinstance(op, TransposeOp) or len(op.perm_list) < 2 or op.perm_list != _swap(len(op.perm_list)):
        return None
    return op.operand


def _erase(value: SSAValue, rewriter: PatternRewriter) -> None:
    """Erase a product that nothing uses any more, and swaps around it."""
    op = value.owner
    if isinstance(op, MatmulOp | TransposeOp) and op.parent is not None and op.results[0].first_use is None:
        operands = [*op.operands]
        rewriter.erase(op)
        for operand in operands:
            _erase(operand, rewriter)
