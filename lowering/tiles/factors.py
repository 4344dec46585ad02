"""The factors and the result of a product as tiles see them: by row and column, wherever their blocks begin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

from xdsl.dialects.builtin import i32
from xdsl.ir import Attribute, SSAValue

from xdsl_rlx.dialects.lir import BlockGemmOp, GemmOp
from xdsl_rlx.dialects.lir.bounds import constant_index
from xdsl_rlx.dialects.lir.memory import strides_of
from xdsl_rlx.dialects.lir.program import memref_of
from xdsl_rlx.dialects.lir.scalar_builder import Scalar
from xdsl_rlx.dialects.shapes import compute_type
from xdsl_rlx.lowering.nest.kernel_builder import Kernel, Nest


class Along(IntEnum):
    """Which of the numbers of an element, row and column, counts pairs."""

    ROW = 0
    COLUMN = 1


@dataclass(frozen=True)
class Matrix:
    """
    The last two dimensions of a buffer from `begin` on, if it does not begin at 0, perhaps seen transposed.

    With `pairs` its elements are packed pairs of bf16, which are neighbours along rows or columns.
    """

    buffer: SSAValue
    leading: Sequence[SSAValue]
    begin: tuple[SSAValue, SSAValue] | None = None
    transposed: bool = False
    pairs: Along | None = None

    @property
    def lies_in_lines(self) -> bool:
        """Whether the elements of a row lie side by side."""
        return strides_of(memref_of(self.buffer))[-2 if self.transposed else -1] == 1

    @property
    def columns(self) -> int:
        """How many columns the buffer has."""
        return memref_of(self.buffer).get_shape()[-2 if self.transposed else -1]

    def at(self, nest: Nest, row: SSAValue, column: SSAValue) -> list[SSAValue]:
        """Where an element is."""
        places = (column, row) if self.transposed else (row, column)
        if self.begin is not None:
            s = nest.scalars
            first, second = ((s.of(start) + s.of(n)).value for start, n in zip(self.begin, places, strict=True))
            places = first, second
        return [*self.leading, *places]

    def places(self, nest: Nest, row: SSAValue, column: SSAValue) -> list[list[SSAValue]]:
        """The row and column of an element, or of both that are a pair."""
        if self.pairs is None:
            return [[row, column]]
        first, second = [row, column], [row, column]
        number = constant_index(first[self.pairs])
        if number is not None:
            low, high = nest.kernel.index(2 * number), nest.kernel.index(2 * number + 1)
        else:
            doubled = nest.scalars.of(first[self.pairs]) * 2
            low, high = doubled.value, (doubled + 1).value
        first[self.pairs], second[self.pairs] = low, high
        return [first, second]

    def load(self, nest: Nest, row: SSAValue, column: SSAValue) -> Scalar:
        """An element, as it is computed with."""
        if self.pairs is None:
            return nest.load(self.buffer, self.at(nest, row, column))
        low, high = (nest.element(self.buffer, self.at(nest, *place)) for place in self.places(nest, row, column))
        return nest.scalars.pack_bf16(low, high)


@dataclass(frozen=True)
class Factors:
    """
    `into[i, j] = sum over k < depth of left[i, k] right[k, j]`, or that much more.

    With `pairs`, a term is the dot product of two pairs of bf16, and `depth` counts these. `last` is the term of an odd
    number that is in no pair.
    """

    left: Matrix
    right: Matrix
    into: Matrix
    depth: int
    accumulate: bool
    terms: SSAValue | None = None
    """How many terms there are, where that is not known: at most `depth`."""
    pairs: bool = False
    last: Factors | None = None

    def ends(self, kernel: Kernel) -> tuple[SSAValue, SSAValue]:
        """The range of the inner dimension."""
        return kernel.index(0), kernel.index(self.depth) if self.terms is None else self.terms

    @property
    def element(self) -> Attribute:
        """The element type of sums."""
        return compute_type(memref_of(self.into.buffer).element_type)

    @property
    def copied(self) -> Attribute:
        """The element type of copies of the factors."""
        return i32 if self.pairs else self.element

    @property
    def is_rounded(self) -> bool:
        """Whether sums are of more digits than the result."""
        return memref_of(self.into.buffer).element_type != self.element

    def in_pairs(self, kernel: Kernel) -> Factors:
        """The same of bf16."""
        left, right = replace(self.left, pairs=Along.COLUMN), replace(self.right, pairs=Along.ROW)
        last = self._last(kernel) if self.depth % 2 else None
        return replace(self, left=left, right=right, depth=self.depth // 2, pairs=True, last=last)

    def _last(self, kernel: Kernel) -> Factors:
        zero, last = kernel.index(0), kernel.index(self.depth - 1)
        left, right = replace(self.left, begin=(zero, last)), replace(self.right, begin=(last, zero))
        return replace(self, left=left, right=right, depth=1)

    def multiply_add(self, nest: Nest, factor: Scalar, term: Scalar, total: Scalar) -> Scalar:
        """A sum and one more term."""
        s = nest.scalars
        return s.dot_bf16(total, factor, term) if self.pairs else s.multiply_add(factor, term, total)

    @staticmethod
    def of(op: GemmOp) -> Factors:
        """Those of a product of whole matrices."""
        sides = ((op.a, op.a_indices), (op.b, op.b_indices), (op.c, op.c_indices))
        left, right, into = (Matrix(buffer, indices) for buffer, indices in sides)
        return Factors(left, right, into, left.columns, op.accumulate is not None)

    @staticmethod
    def of_blocks(op: BlockGemmOp, depth: int) -> Factors:
        """Those of a product of blocks with so many terms, or at most so many."""
        sides = ((op.a, op.a_indices), (op.b, op.b_indices), (op.c, op.c_indices))
        flips = op.transpose_a is not None, op.transpose_b is not None, False
        left, right, into = (
            Matrix(buffer, indices[:-2], (indices[-2], indices[-1]), flip)
            for (buffer, indices), flip in zip(sides, flips, strict=True)
        )
        terms = op.depth if constant_index(op.depth) is None else None
        return Factors(left, right, into, depth, op.accumulate is not None, terms)
