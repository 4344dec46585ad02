"""Values that a kernel reads across their lines in memory: tiles of them are transposed in the first cache."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import SSAValue

from xdsl_rlx.dialects.lir.memory import element_bytes
from xdsl_rlx.dialects.lir.scalar_builder import Scalar
from xdsl_rlx.lowering.buffers import Buffer
from xdsl_rlx.lowering.fusion.codegen.group_kernel import GroupKernel
from xdsl_rlx.lowering.fusion.codegen.loop_frames import Frame, Range
from xdsl_rlx.lowering.kernel_dsl.kernel_builder import Nest
from xdsl_rlx.lowering.tile_blocks.side_by_side import SideBySide


class TransposedTiles:
    """
    Tiles of several values, each of so many rows and columns.

    Element `[row, column]` of a tile is at `row * columns + column` of its buffer.
    """

    def __init__(self, kernel: GroupKernel, columns: int, values: Mapping[SSAValue, Buffer]):
        """`values` with their buffers."""
        self.kernel, self.columns, costs = kernel, columns, kernel.group.costs
        sizes = (prod(x.layout.shape) * element_bytes(x.element) for x in values.values())
        self.rows = costs.transposed_rows
        if any(size > costs.l2_bytes for size in sizes):
            self.rows = max(self.rows, costs.transposed_rows_beyond_l2 // len(values))
        self.tiles = {value: self._buffers(buffer) for value, buffer in values.items()}

    def _buffers(self, buffer: Buffer) -> tuple[SSAValue, SideBySide]:
        """A tile, and what fills it."""
        type_ = MemRefType(buffer.element, (self.rows * self.columns,))
        tile, between = (self.kernel.kernel.scratch(type_, name) for name in ("tile", "between"))
        return tile, SideBySide(self.columns, self.rows, between)

    def fill(self, frame: Frame, rows: Range, columns: Range, end: SSAValue) -> None:
        """
        Copy the elements of these rows and columns of all values to their tiles.

        A tile has all its columns: those behind the last one, which stands before `end`, are that one again.
        """
        nest, s = frame.nest, frame.nest.scalars
        count = nest.kernel.index(rows.size) if rows.exact else (s.of(rows.bounds[1]) - s.of(rows.bounds[0])).value

        def column_of(inner: Nest, number: Scalar) -> SSAValue:
            column = inner.scalars.of(columns.bounds[0]) + number
            return (column if columns.exact else inner.scalars.minimum(column, inner.scalars.of(end) - 1)).value

        for value, (tile, merged) in self.tiles.items():

            def load(inner: Nest, column: SSAValue, e: SSAValue, value: SSAValue = value) -> Scalar:
                row = (inner.scalars.of(rows.bounds[0]) + inner.scalars.of(e)).value
                buffer, dims = self.kernel.access[value]
                at = frame.at({rows.loop: row, columns.loop: column}, inner)
                return inner.element(buffer, self.kernel.indices(at, dims))

            def store(inner: Nest, x: Scalar, place: SSAValue, tile: SSAValue = tile) -> None:
                inner.store(x, tile, [place])

            merged.bring(nest, count, column_of, load, store)

    def read(self, frame: Frame, ranges: Sequence[Range]) -> None:
        """Read the elements of all values from the tiles of these rows and columns."""
        nest, s = frame.nest, frame.nest.scalars
        row, column = (s.of(frame.indices[one.loop]) - s.of(one.bounds[0]) for one in ranges)
        place = (row * self.columns + column).value
        frame.values.update((value, nest.load(tile, [place])) for value, (tile, _) in self.tiles.items())
