"""Copies of matrices to buffers where they lie the other way around."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import SSAValue

from xdsl_rlx.dialects.lir import CallFunctionOp
from xdsl_rlx.dialects.lir.memory import element_bytes
from xdsl_rlx.dialects.shapes import DTYPE_NAMES
from xdsl_rlx.lowering.buffers import Argument, Buffer, merge_axes
from xdsl_rlx.lowering.kernel_dsl.kernel_builder import Nest
from xdsl_rlx.lowering.kernel_library.copies import TOGETHER, TransposeFunction
from xdsl_rlx.lowering.kernels.work import Work


@dataclass(frozen=True)
class TransposedCopy:
    """A copy of matrices whose columns are lines in memory, row by row, which a function of the library makes."""

    source: Argument
    target: Argument

    @staticmethod
    def of(source: Buffer, target: Buffer, most_bytes: int) -> TransposedCopy | None:
        """
        The copy of one buffer to another; None if it is another one, or both have more than `most_bytes`.

        A kernel of its own would be as much work to compile as all that reads the copy; it pays for the tiles and
        threads of larger ones.
        """
        sides = [x for x in zip(source.layout.shape, source.layout.strides, strict=True) if x[0] > 1]
        if len(sides) < 2 or not target.is_contiguous or target.element != source.element:
            return None
        *outer, (rows, down), (columns, along) = sides
        extents = [n for n, _ in outer]
        stride = merge_axes(extents, [n for _, n in outer])
        matrices = prod(extents)
        if down != 1 or along < rows or columns < TOGETHER or stride is None or stride < 0:
            return None
        if 2 * matrices * rows * columns * element_bytes(source.element) > most_bytes:
            return None
        shape = matrices, rows, columns
        to = Argument(target, shape, (rows * columns, columns, 1))
        return TransposedCopy(Argument(source, shape, (stride, down, along)), to)

    def launch(self, work: Work) -> None:
        """Add the launch: a matrix an iteration."""
        matrices, rows, columns = self.source.shape
        function = TransposeFunction(DTYPE_NAMES[self.source.buffer.element])
        stride, _, apart = self.source.strides
        words, element, each = [rows, columns, apart, stride], self.source.buffer.element, rows * columns
        between = work.scratch_per_piece(matrices, each, (rows * TOGETHER,), element, "between")

        def copy(inside: Nest, index: SSAValue, piece: SSAValue, buffers: Sequence[SSAValue]) -> None:
            x, y, between = buffers
            zero, this = inside.kernel.index(0), (index, (inside.scalars.of(index) + 1).value)
            at, near = [zero, zero, zero], [piece, zero]
            call = CallFunctionOp(function.name, words, [(x, at)], [(between, near), (y, at)], this)
            inside.builder.insert(call)

        work.launch(matrices, each, [self.source], [self.target, between], copy)
