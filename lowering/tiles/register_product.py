"""A matmul of bf16 or i8 in tile registers (AMX): the loops of `tiled_product.py` around calls of the library.

A call computes a block of 32 rows and 32 columns, as sums on the stack. The LHS is read where it is, or copied if its
rows do not lie side by side; the RHS is copied panel by panel as packs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from xdsl.dialects.builtin import MemRefType, i32
from xdsl.ir import SSAValue

from xdsl_rlx.dialects.lir import CallFunctionOp
from xdsl_rlx.dialects.lir.bounds import constant_index
from xdsl_rlx.dialects.lir.memory import element_bytes, memref_of, strides_of
from xdsl_rlx.dialects.shapes import DTYPE_NAMES
from xdsl_rlx.lowering.kernel_dsl.kernel_builder import Nest
from xdsl_rlx.lowering.kernel_library.tile_registers import PACK_BYTES, SIDE, BlockLayout, RegisterBlockFunction
from xdsl_rlx.lowering.target import TileCosts
from xdsl_rlx.lowering.tile_blocks.factors import Factors
from xdsl_rlx.lowering.tile_blocks.side_by_side import SideBySide
from xdsl_rlx.lowering.tile_blocks.tile_block import Left, Panel, TileBlock, TileRows
from xdsl_rlx.lowering.tile_blocks.tile_sizes import TileSize, rows_in_l2
from xdsl_rlx.lowering.tiles.tiled_product import TiledProduct

BLOCK = 2 * SIDE
"""Rows and columns of a block: four registers have its sums, and each register of an operand is used twice."""


def fits_registers(factors: Factors, rows: int | None, columns: int, costs: TileCosts) -> bool:
    """Whether the processor has tile registers, and a packed matmul fills enough of them."""
    if not costs.amx or not factors.packed or factors.depth < SIDE or columns < SIDE:
        return False
    # an LHS of an unknown number of rows is not copied
    return rows is not None and rows >= costs.min_register_rows


def register_tile(rows: int, columns: int, costs: TileCosts) -> TileSize:
    """The rows of a block, and the columns of a panel: of several blocks, if few rows read what is copied."""
    blocks = costs.register_panel_blocks if rows < costs.min_narrow_panel_rows else 1
    return TileSize(min(rows, BLOCK), min(columns, blocks * BLOCK), SIDE)


@dataclass(frozen=True)
class RegisterProduct(TiledProduct):
    """The same product by blocks in tile registers, of a number of rows that is known."""

    @property
    def _part(self) -> int:
        return -(-super()._part // SIDE) * SIDE

    @property
    def _overlaps(self) -> bool:
        # a block may have any number of rows
        return False

    @property
    def _packs(self) -> bool:
        return not self.factors.left.lies_in_lines or self.columns >= self.costs.min_packed_lhs_panels * BLOCK

    def _pads(self, panel: Panel) -> bool:
        # a register may have any number of columns
        return False

    def _by_rows(self, nest: Nest, low: SSAValue, high: SSAValue) -> None:
        """As many rows at a time as stay in L2 and those left over, each number of rows with code of its own."""
        assert self.rows is not None
        fitting = self.costs.l2_operand_bytes // (self._lines * PACK_BYTES) if self._packs else rows_in_l2(self.costs)
        at_once = max(fitting // BLOCK, 1) * BLOCK
        if self.rows < 2 * at_once:
            self._columns(nest, low, high)
            return
        whole, (first, end) = self.rows // at_once * at_once, self.ends
        middle = (nest.scalars.of(first) + whole).value
        for inside, ends in nest.blocks((first, middle), at_once, exact=True):
            replace(self, ends=ends, rows=at_once)._columns(inside, low, high)
        if whole < self.rows:
            replace(self, ends=(middle, end), rows=self.rows - whole)._columns(nest, low, high)

    def _packed(self, nest: Nest, low: SSAValue, high: SSAValue) -> Left:
        """A copy of the LHS along a part of the inner dimension: all rows of `SIDE` packs, then of the next ones."""
        factors, kernel, rows = self.factors, nest.kernel, self.rows
        assert rows is not None
        steps, first = -(-self._lines // SIDE), self.ends[0]
        copy = kernel.scratch(MemRefType(i32, [steps * rows * SIDE]), "left")
        if factors.left.lies_in_lines:
            return self._packed_lines(nest, low, high, copy)
        merged = SideBySide(SIDE, rows, kernel.scratch(MemRefType(i32, [SIDE * rows]), "between", outlined=True))
        length = self._length(nest, low, high)
        whole = nest.quotient(length, SIDE)

        def row(inside: Nest, e: SSAValue) -> SSAValue:
            return (inside.scalars.of(first) + inside.scalars.of(e)).value

        for inside, n in nest.over((kernel.index(0), whole), "step", outlined=True):
            t = inside.scalars
            line = t.of(low) + t.of(n) * SIDE
            start = (t.of(n) * (rows * SIDE)).value
            merged.bring(
                inside,
                kernel.index(rows),
                lambda deep, number, line=line: (deep.scalars.of(line.value) + number).value,
                lambda deep, k, e: factors.left.load(deep, row(deep, e), k),
                lambda deep, x, at, start=start: deep.store(
                    x, copy, [(deep.scalars.of(start) + deep.scalars.of(at)).value]
                ),
            )
        for inside, k in nest.over(((nest.scalars.of(whole) * SIDE).value, length), "k"):
            for at, e in inside.times(rows, "i"):
                t = at.scalars
                place = t.of(whole) * ((rows - 1) * SIDE) + t.of(k) + t.of(e) * SIDE
                number = factors.left.load(at, row(at, e), (t.of(low) + t.of(k)).value)
                at.store(number, copy, [place.value])
        return Left(copy, first, low, rows)

    def _length(self, nest: Nest, low: SSAValue, high: SSAValue) -> SSAValue:
        """The packs of a part of the inner dimension."""
        return (nest.scalars.of(high) - nest.scalars.of(low)).value if self.is_cut else nest.kernel.index(self._lines)

    def _packed_lines(self, nest: Nest, low: SSAValue, high: SSAValue, copy: SSAValue) -> Left:
        """The same of rows whose elements are side by side."""
        kernel, rows, first, left = nest.kernel, self.rows, self.ends[0], self.factors.left
        assert rows is not None
        length = self._length(nest, low, high)
        whole, rest = nest.quotient(length, SIDE), nest.remainder(length, SIDE)

        def one(deep: Nest, i: SSAValue, n: SSAValue, k: SSAValue) -> None:
            s = deep.scalars
            x = left.load(deep, (s.of(first) + s.of(i)).value, (s.of(low) + s.of(n) * SIDE + s.of(k)).value)
            deep.store(x, copy, [(s.of(n) * (rows * SIDE) + s.of(i) * SIDE + s.of(k)).value])

        for inside, i in nest.times(rows, "i"):
            for at, n in inside.over((kernel.index(0), whole), "n"):
                for deep, k in at.times(SIDE, "k", lanes=True):
                    one(deep, i, n, k)
            for at, k in inside.over((kernel.index(0), rest), "k"):
                one(at, i, whole, k)
        return Left(copy, first, low, rows)

    def _block(self, nest: Nest, panel: Panel, rows: TileRows) -> None:
        RegisterBlock(
            self.factors,
            panel,
            self.left,
            rows,
            self.tile.lanes,
            goes_on=self.goes_on,
            begins=panel.low if self.begins else None,
            chains=1,
            rest=self._depth % SIDE,
            lines=self._lines,
        ).emit(nest)


@dataclass(frozen=True)
class RegisterBlock(TileBlock):
    """A block of sums by tile registers. `rest`: terms behind whole registers; `lines`: those of a panel at most."""

    rest: int = 0
    lines: int = 0

    # so many vectors would be too long unrolled
    ROLLED = True

    def _add_up(self, nest: Nest) -> SSAValue:
        factors, panel, rows, zero = self.factors, self.panel, self.rows, nest.kernel.index(0)
        sums = nest.kernel.scratch(MemRefType(factors.element, [rows.count, panel.columns]), "sums")
        s = nest.scalars
        length = panel.length(nest)
        bounds = zero, length
        if factors.offsets is not None:
            self._rows(nest, lambda at, r, i: self._begin(at, sums, r, i), copied=False)
            one = nest.kernel.index(1)
            known = constant_index(length)
            bounds = one, nest.kernel.index(known + 1) if known is not None else (s.of(length) + 1).value
        if self.left is None:
            left = factors.left.buffer, factors.left.at(nest, *_first_of_pack(nest, factors, rows.first, panel.low))
            row = strides_of(memref_of(left[0]))[-1 if factors.left.transposed else -2]
            row, step = row * element_bytes(memref_of(left[0]).element_type), SIDE * PACK_BYTES
        else:
            begin = (s.of(rows.first) - s.of(self.left.first)) * SIDE
            left = self.left.copy, [begin.value]
            row, step = SIDE * PACK_BYTES, SIDE * PACK_BYTES * self.left.lines
        line, vector = (SIDE, self.lines * SIDE) if panel.by_vectors else (panel.columns, SIDE)
        element = DTYPE_NAMES[memref_of(factors.left.buffer).element_type]
        assert panel.copy is not None
        for column in range(0, panel.columns, BLOCK):
            columns = min(BLOCK, panel.columns - column)
            layout = BlockLayout(
                rows=rows.count,
                columns=columns,
                rest=self.rest,
                left_row=row,
                left_step=step,
                right_line=line * PACK_BYTES,
                right_step=vector * PACK_BYTES,
                into_row=panel.columns * PACK_BYTES,
            )
            high, wide = (-(-count // SIDE) for count in (rows.count, columns))
            function = RegisterBlockFunction(element, high, wide, self.left is not None)
            at = nest.kernel.index(column)
            right = [nest.kernel.index(column // SIDE), zero] if panel.by_vectors else [zero, at]
            writes = [(sums, [zero, at])]
            nest.builder.insert(
                CallFunctionOp(function.name, layout.words, [left, (panel.copy, right)], writes, bounds)
            )
        return sums


def _first_of_pack(nest: Nest, factors: Factors, row: SSAValue, pack: SSAValue) -> tuple[SSAValue, SSAValue]:
    """The row and column of the first element of a pack."""
    first, *_ = factors.left.places(nest, row, pack)
    return first[0], first[1]
