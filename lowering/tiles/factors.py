"""The factors and the result of a product as tiles see them: by row and column, wherever their blocks begin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Attribute, SSAValue

from xdsl_rlx.dialects.lir import BlockGemmOp, GemmOp
from xdsl_rlx.dialects.lir.bounds import constant_index
from xdsl_rlx.dialects.lir.memory import strides_of
from xdsl_rlx.dialects.lir.program import memref_of
from xdsl_rlx.dialects.lir.scalar_builder import Scalar
from xdsl_rlx.lowering.nest.kernel_builder import Kernel, Nest


@dataclass(frozen=True)
class Matrix:
    """The last two dimensions of a buffer from `begin` on, if it does not begin at 0, perhaps seen transposed."""

    buffer: SSAValue
    leading: Sequence[SSAValue]
    begin: tuple[SSAValue, SSAValue] | None = None
    transposed: bool = False

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

    def load(self, nest: Nest, row: SSAValue, column: SSAValue) -> Scalar:
        """An element."""
        return nest.load(self.buffer, self.at(nest, row, column))


@dataclass(frozen=True)
class Factors:
    """`into[i, j] = sum over k < depth of left[i, k] right[k, j]`, or that much more."""

    left: Matrix
    right: Matrix
    into: Matrix
    depth: int
    accumulate: bool
    terms: SSAValue | None = None
    """How many terms there are, where that is not known: at most `depth`."""

    def ends(self, kernel: Kernel) -> tuple[SSAValue, SSAValue]:
        """The range of the inner dimension."""
        return kernel.index(0), kernel.index(self.depth) if self.terms is None else self.terms

    @property
    def element(self) -> Attribute:
        """The element type of all three."""
        return memref_of(self.into.buffer).element_type

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
