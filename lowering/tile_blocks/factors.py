"""The factors and the result of a product as tiles see them: by row and column, wherever their blocks begin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

from xdsl.dialects.builtin import i8, i32
from xdsl.ir import Attribute, SSAValue

from xdsl_rlx.dialects.lir import BlockGemmOp, GemmOp
from xdsl_rlx.dialects.lir.bounds import constant_index
from xdsl_rlx.dialects.lir.memory import element_bytes, memref_of, strides_of
from xdsl_rlx.dialects.lir.scalar_builder import Scalar
from xdsl_rlx.dialects.shapes import compute_type
from xdsl_rlx.lowering.kernel_dsl.kernel_builder import Kernel, Nest


class Along(IntEnum):
    """Which of the numbers of an element, row and column, counts packed elements."""

    ROW = 0
    COLUMN = 1


UNSIGNED = -0x7F7F7F80
"""What makes four i8 unsigned bytes that are 128 more."""


@dataclass(frozen=True)
class Matrix:
    """
    The last two dimensions of a buffer from `begin` on, if it does not begin at 0, perhaps seen transposed.

    `packed`: its elements are i32, of two bf16 or four i8 that are neighbours along rows or columns. Those along rows,
    of a right factor, are unsigned bytes, which are 128 more than the i8.
    """

    buffer: SSAValue
    leading: Sequence[SSAValue]
    begin: tuple[SSAValue, SSAValue] | None = None
    transposed: bool = False
    packed: Along | None = None

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

    @property
    def each(self) -> int:
        """How many elements are packed into an i32."""
        return 4 // element_bytes(memref_of(self.buffer).element_type)

    def places(self, nest: Nest, row: SSAValue, column: SSAValue) -> list[list[SSAValue]]:
        """The row and column of an element, or of all that are packed."""
        if self.packed is None:
            return [[row, column]]
        found = [[row, column] for _ in range(self.each)]
        number = constant_index(found[0][self.packed])
        start = nest.scalars.of(found[0][self.packed]) * self.each if number is None else None
        for n, place in enumerate(found):
            if start is not None:
                place[self.packed] = (start + n).value if n else start.value
            elif number is not None:
                place[self.packed] = nest.kernel.index(self.each * number + n)
        return found

    def load(self, nest: Nest, row: SSAValue, column: SSAValue) -> Scalar:
        """An element, as it is computed with."""
        s, is_bytes = nest.scalars, memref_of(self.buffer).element_type == i8
        if self.packed is None:
            found = nest.load(self.buffer, self.at(nest, row, column))
            return s.cast(found, i32) if is_bytes else found
        parts = [nest.element(self.buffer, self.at(nest, *place)) for place in self.places(nest, row, column)]
        if not is_bytes:
            return s.pack_bf16(parts[0], parts[1])
        four = s.pack_i8(parts[0], parts[1], parts[2], parts[3])
        return four ^ UNSIGNED if self.packed is Along.ROW else four


@dataclass(frozen=True)
class Strided(Matrix):
    """A matrix in a flat buffer from element `first` on, of which strides are known where code runs; None is 1."""

    first: SSAValue | None = None
    strides: tuple[SSAValue | None, SSAValue | None] = (None, None)

    def at(self, nest: Nest, row: SSAValue, column: SSAValue) -> list[SSAValue]:
        """Where an element is."""
        s = nest.scalars
        terms = [] if self.first is None else [s.of(self.first)]
        for number, stride in zip((row, column), self.strides, strict=True):
            if constant_index(number) != 0:
                terms.append(s.of(number) if stride is None else s.of(number) * s.of(stride))
        if not terms:
            return [nest.kernel.index(0)]
        total = terms[0]
        for term in terms[1:]:
            total = total + term
        return [total.value]


@dataclass(frozen=True)
class Offsets:
    """What the sums of rows from `first` on start from."""

    buffer: SSAValue
    first: SSAValue


@dataclass(frozen=True)
class Factors:
    """
    `into[i, j] = sum over k < depth of left[i, k] right[k, j]`, or that much more.

    `packed`: a term is the dot product of two bf16, or four i8, with as many others, and `depth` counts these. `last`
    are the few terms that are left over, and `offsets` what sums start from.
    """

    left: Matrix
    right: Matrix
    into: Matrix
    depth: int
    accumulate: bool
    terms: SSAValue | None = None
    """How many terms there are, where that is not known: at most `depth`."""
    packed: bool = False
    last: Factors | None = None
    offsets: Offsets | None = None

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
        return i32 if self.packed else self.element

    @property
    def is_rounded(self) -> bool:
        """Whether sums are of more digits than the result."""
        return memref_of(self.into.buffer).element_type != self.element

    def in_packs(self, kernel: Kernel) -> Factors:
        """The same of bf16 or i8, packed."""
        left, right = replace(self.left, packed=Along.COLUMN), replace(self.right, packed=Along.ROW)
        depth, rest = divmod(self.depth, left.each)
        last = self._last(kernel, rest) if rest else None
        return replace(self, left=left, right=right, depth=depth, packed=True, last=last)

    def _last(self, kernel: Kernel, count: int) -> Factors:
        zero, first = kernel.index(0), kernel.index(self.depth - count)
        left, right = replace(self.left, begin=(zero, first)), replace(self.right, begin=(first, zero))
        return replace(self, left=left, right=right, depth=count)

    def multiply_add(self, nest: Nest, factor: Scalar, term: Scalar, total: Scalar) -> Scalar:
        """A sum and one more term."""
        s = nest.scalars
        if self.element == i32:
            return s.dot_i8(total, factor, term) if self.packed else factor * term + total
        return s.dot_bf16(total, factor, term) if self.packed else s.multiply_add(factor, term, total)

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
