"""Values that a kernel reads across their lines in memory: tiles of them are transposed in the first cache."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import SSAValue

from xdsl_rlx.dialects.lir.memory import element_bytes
from xdsl_rlx.dialects.lir.scalar_builder import Scalar
from xdsl_rlx.lowering.buffers import Buffer
from xdsl_rlx.lowering.fusion.codegen.group_kernel import Range
from xdsl_rlx.lowering.kernel_dsl.kernel_builder import Kernel, Nest
from xdsl_rlx.lowering.target import GroupCosts
from xdsl_rlx.lowering.tiles.side_by_side import SideBySide

Indices = Callable[[Nest, Mapping[int, SSAValue]], Sequence[SSAValue]]
"""Where an element is, by the loops around it."""


@dataclass(frozen=True)
class Tile:
    """A transposed part of a value: element `[row, column]` of it is at `row * strip + column`."""

    source: SSAValue
    indices: Indices
    buffer: SSAValue
    merged: SideBySide


class TransposedTiles:
    """Tiles of several values, each of so many rows and columns."""

    def __init__(self, kernel: Kernel, columns: int, values: Mapping[SSAValue, Buffer], costs: GroupCosts):
        """`values` with their buffers."""
        self.kernel, self.columns = kernel, columns
        sizes = (prod(x.layout.shape) * element_bytes(x.element) for x in values.values())
        self.rows = costs.transposed_rows
        if any(size > costs.l2_bytes for size in sizes):
            self.rows = max(self.rows, costs.transposed_rows_beyond_l2 // len(values))
        self.tiles: dict[SSAValue, Tile] = {}

    def add(self, value: SSAValue, source: SSAValue, buffer: Buffer, indices: Indices) -> None:
        """Make room for tiles of a value."""
        shape = (self.rows * self.columns,)
        tile, between = (self.kernel.scratch(MemRefType(buffer.element, shape), name) for name in ("tile", "between"))
        self.tiles[value] = Tile(source, indices, tile, SideBySide(self.columns, self.rows, between))

    def fill(self, nest: Nest, rows: Range, columns: Range, end: SSAValue, known: Mapping[int, SSAValue]) -> None:
        """
        Copy the elements of these rows and columns of all values to their tiles.

        A tile has all its columns: those behind the last one, which stands before `end`, are that one again.
        """
        s = nest.scalars
        count = self.kernel.index(rows.size) if rows.exact else (s.of(rows.bounds[1]) - s.of(rows.bounds[0])).value

        def column_of(inner: Nest, number: Scalar) -> SSAValue:
            column = inner.scalars.of(columns.bounds[0]) + number
            return (column if columns.exact else inner.scalars.minimum(column, inner.scalars.of(end) - 1)).value

        for tile in self.tiles.values():

            def load(inner: Nest, column: SSAValue, e: SSAValue, tile: Tile = tile) -> Scalar:
                row = (inner.scalars.of(rows.bounds[0]) + inner.scalars.of(e)).value
                return inner.element(tile.source, tile.indices(inner, {**known, rows.loop: row, columns.loop: column}))

            def store(inner: Nest, x: Scalar, place: SSAValue, tile: Tile = tile) -> None:
                inner.store(x, tile.buffer, [place])

            tile.merged.bring(nest, count, column_of, load, store)

    def values(self, nest: Nest, at: Mapping[int, SSAValue], ranges: Iterable[Range]) -> dict[SSAValue, Scalar]:
        """The elements of all values where the loops are; `ranges` are the rows and columns of the tiles."""
        s = nest.scalars
        row, column = (s.of(at[one.loop]) - s.of(one.bounds[0]) for one in ranges)
        place = (row * self.columns + column).value
        return {value: nest.load(tile.buffer, [place]) for value, tile in self.tiles.items()}
