"""Functions of the library for tiled matrix products: sizes and strides are numbers that they are called with.

A tile and the copies that it reads are those of `lowering/tiles`. What calls them is `tiles/called_product.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from xdsl.dialects.builtin import MemRefType, i64
from xdsl.ir import SSAValue

from xdsl_rlx.dialects.lir import PrefetchOp
from xdsl_rlx.dialects.lir.memory import AnyMemRef, element_bytes, strided_memref
from xdsl_rlx.dialects.lir.scalar_builder import INDEX, Scalar
from xdsl_rlx.dialects.shapes import DTYPES
from xdsl_rlx.lowering.kernel_dsl.kernel_builder import Kernel, Nest
from xdsl_rlx.lowering.kernel_library.called import MANY, CalledFunction, Work
from xdsl_rlx.lowering.target import CostModel
from xdsl_rlx.lowering.tile_blocks.factors import Factors, Strided
from xdsl_rlx.lowering.tile_blocks.side_by_side import SideBySide
from xdsl_rlx.lowering.tile_blocks.tile_block import Panel, StridedPanel, TileBlock, TileRows, padded_columns

MOST_FIRST, MOST_STEP = 1 << 34, 1 << 24
"""Extents of a buffer with two indices that are added: all pairs are less than 2^63 bytes, and NumPy has no larger
arrays."""


@dataclass(frozen=True)
class _Building:
    """A function under construction: the kernel, the buffers by name, and the words of its plan."""

    kernel: Kernel
    buffers: dict[str, SSAValue]
    model: CostModel

    @classmethod
    def of(cls, function: CalledFunction, model: CostModel, pairs: tuple[str, ...] = ()) -> _Building:
        """Elements of the buffers `pairs` have two indices, which are added."""
        element, names = DTYPES[function.element], (*function.READS, *function.WRITES)
        flat, two = MemRefType[Any](element, (MANY,)), strided_memref(element, (MOST_FIRST, MOST_STEP), (1, 1))
        types: list[AnyMemRef] = [MemRefType[Any](i64, (MANY,)), *(two if name in pairs else flat for name in names)]
        kernel = Kernel(types, ["plan", *names])
        return cls(kernel, dict(zip(("plan", *names), kernel.block.args[:-2], strict=True)), model)

    @property
    def nest(self) -> Nest:
        return self.kernel.entry

    def word(self, number: int) -> Scalar:
        """A word of the plan."""
        loaded = self.nest.element(self.buffers["plan"], [self.kernel.index(number)])
        return self.nest.scalars.cast(loaded, INDEX)

    @property
    def length(self) -> Scalar:
        """How many numbers the range has."""
        low, high = self.kernel.bounds
        return self.nest.scalars.of(high) - self.nest.scalars.of(low)


@dataclass(frozen=True)
class TileFunction(CalledFunction):
    """
    Tiles of so many rows and columns below each other, of the terms of a range.

    In a range from 0 on, the result is stored, in others it is added to what there is. `chains` are sums that are added
    up at the end. Lines that are used next are prefetched: of the result, and of a panel. They are spread over the
    terms, some before each of as many parts as a tile has rows: memory answers about ten requests at a time, and a
    processor that waits to make more does not multiply.
    """

    FORM = "gemm_tile_{rows}x{columns}_v{lanes}_t{by_columns:d}_by{chains}_{element}"
    WORDS, READS, WRITES = 9, ("left", "right", "next"), ("into",)
    COUNT, LEFT_ROW, LEFT_COLUMN, LEFT_TILE, RIGHT_LINE, RIGHT_VECTOR, INTO_LINE, NEXT_LINE, NEXT_COUNT = range(WORDS)
    """Words: tiles; elements from row to row of the LHS, from column to column, and from tile to tile; from line to
    line of the RHS, and from vector to vector; from row to row of the result; and from line to line of the panel that
    is prefetched, with the lines for a tile."""

    rows: int
    columns: int
    lanes: int
    by_columns: bool = False
    chains: int = 1

    PADDED: ClassVar[bool] = False
    """Whether zeros fill the last vector of a line of the panel."""

    @property
    def is_unrolled(self) -> bool:
        # a column is no vector
        return self.columns > 1

    def work(self, words: Sequence[int], length: int) -> Work:
        count = words[self.COUNT]
        left, right, into = self.rows * length * count, self.columns * length * count, self.rows * self.columns * count
        return Work(into * length, (left, right, 0), (into,))

    def build(self, model: CostModel) -> Kernel:
        made = _Building.of(self, model, pairs=() if self.by_columns else ("left",))
        words = [made.word(n) for n in range(self.WORDS)]
        length = made.length

        def tile(inside: Nest, n: SSAValue) -> None:
            s = inside.scalars
            row, column = words[self.LEFT_ROW].value, words[self.LEFT_COLUMN].value
            strides = (None, column) if self.by_columns else (row, None)
            first = (s.of(n) * words[self.LEFT_TILE]).value
            left = Strided(made.buffers["left"], (), first=first, strides=strides)
            first = (s.of(n) * (words[self.INTO_LINE] * self.rows)).value
            into = Strided(made.buffers["into"], (), first=first, strides=(words[self.INTO_LINE].value, None))
            block = self._block(inside, made, left, into, words, length)

            def before(deep: Nest, part: SSAValue) -> None:
                self._fetch_panel(deep, made, words, length, (n, part))
                self._fetch_result(deep, made, into, part)

            replace(block, before=before).emit(inside)

        for inside, n in made.nest.over((made.kernel.index(0), words[self.COUNT].value), "i"):
            tile(inside, n)
        return made.kernel

    def _fetch_result(self, nest: Nest, made: _Building, into: Strided, row: SSAValue) -> None:
        """Prefetch the lines of a row of the result, which would else be waited for behind the last term."""
        for ahead in range(0, self.columns, self._elements_in_line(made)):
            place = into.at(nest, row, made.kernel.index(ahead))
            nest.builder.insert(PrefetchOp(into.buffer, place, write=True))

    def _block(
        self, nest: Nest, made: _Building, left: Strided, into: Strided, words: list[Scalar], length: Scalar
    ) -> TileBlock:
        zero, right = made.kernel.index(0), made.buffers["right"]
        panel = StridedPanel(
            zero,
            length.value,
            zero,
            self.columns,
            copy=right,
            by_vectors=True,
            apart=(words[self.RIGHT_LINE].value, words[self.RIGHT_VECTOR].value),
            padded=self.PADDED,
        )
        factors = Factors(left, Strided(right, ()), into, 0, accumulate=True)
        return TileBlock(
            factors,
            panel,
            None,
            TileRows(zero, self.rows),
            self.lanes,
            goes_on=True,
            begins=made.kernel.bounds[0],
            chains=self.chains,
        )

    def _fetch_panel(
        self, nest: Nest, made: _Building, words: list[Scalar], length: Scalar, at: tuple[SSAValue, SSAValue]
    ) -> None:
        """Prefetch a part of the lines that the plan says for a tile."""
        s, (tile, part) = nest.scalars, at
        of_tile = s.of(tile) * words[self.NEXT_COUNT]
        count = s.div(words[self.NEXT_COUNT] + (self.rows - 1), self.rows)
        first, end = of_tile + s.of(part) * count, s.minimum(of_tile + words[self.NEXT_COUNT], length)
        for inside, k in nest.over((first.value, s.minimum(first + count, end).value), "k"):
            start = inside.scalars.of(k) * words[self.NEXT_LINE]
            for ahead in range(0, self.columns, self._elements_in_line(made)):
                inside.builder.insert(PrefetchOp(made.buffers["next"], [(start + ahead).value]))

    def _elements_in_line(self, made: _Building) -> int:
        return made.model.line_bytes // element_bytes(DTYPES[self.element])


@dataclass(frozen=True)
class PaddedTileFunction(TileFunction):
    """The same of a panel whose lines are padded to whole vectors."""

    FORM = "gemm_padded_tile_{rows}x{columns}_v{lanes}_t{by_columns:d}_by{chains}_{element}"
    PADDED = True


@dataclass(frozen=True)
class LinesFunction(CalledFunction):
    """Copy so many columns of lines of an RHS, which are side by side in memory, line by line."""

    FORM = "gemm_lines_{columns}_v{lanes}_{element}"
    WORDS, READS, WRITES = 1, ("right",), ("copy",)
    LINE = 0
    """The word: elements from line to line."""

    columns: int
    lanes: int

    PADDED: ClassVar[bool] = False
    """Whether zeros follow the columns up to a whole vector."""

    @property
    def width(self) -> int:
        """Columns of the copy."""
        return padded_columns(self.columns, self.lanes) if self.PADDED else self.columns

    def work(self, words: Sequence[int], length: int) -> Work:
        return Work(0, (self.columns * length,), (self.width * length,))

    def build(self, model: CostModel) -> Kernel:
        made = _Building.of(self, model)
        zero = made.kernel.index(0)
        right = Strided(made.buffers["right"], (), strides=(made.word(self.LINE).value, None))
        copy = Strided(made.buffers["copy"], (), strides=(made.kernel.index(self.width), None))
        panel = Panel(zero, zero, zero, self.columns)
        for inside, k in made.nest.over((zero, made.length.value), "k"):
            for deep, j, _ in panel.lanes(inside, self.lanes):
                deep.store(right.load(deep, k, j), copy.buffer, copy.at(deep, k, j))
            for j in map(made.kernel.index, range(self.columns, self.width)):
                zero_of = inside.scalars.const(0, DTYPES[self.element])
                inside.store(zero_of, copy.buffer, copy.at(inside, k, j))
        return made.kernel


@dataclass(frozen=True)
class PaddedLinesFunction(LinesFunction):
    """The same, with zeros behind the columns up to a whole vector."""

    FORM = "gemm_padded_lines_{columns}_v{lanes}_{element}"
    PADDED = True


@dataclass(frozen=True)
class TransposedFunction(CalledFunction):
    """
    Copy columns of an RHS, which are lines in memory: all lines of the first vector, then of the next one.

    Zeros fill the last vector if columns are left over.
    """

    FORM = "gemm_transposed_v{lanes}x{lines}_{element}"
    WORDS, READS, WRITES = 5, ("right",), ("between", "copy")
    WHOLE, REST, COLUMN, VECTOR, COLUMNS = range(WORDS)
    """Words: whole vectors, columns behind these, elements from column to column, and from vector to vector of the
    copy, and all columns."""

    lanes: int
    lines: int
    """Lines at most."""

    @property
    def is_unrolled(self) -> bool:
        return False

    def work(self, words: Sequence[int], length: int) -> Work:
        elements = words[self.COLUMNS] * length
        return Work(0, (elements,), (0, elements))

    def build(self, model: CostModel) -> Kernel:
        made = _Building.of(self, model)
        lanes, zero, length = self.lanes, made.kernel.index(0), made.length
        whole, rest, column, apart = (made.word(n) for n in range(4))
        right, copy = Strided(made.buffers["right"], (), strides=(None, column.value)), made.buffers["copy"]
        merged = SideBySide(lanes, self.lines, made.buffers["between"])

        def bring(inside: Nest, vector: SSAValue) -> None:
            s = inside.scalars
            first, start = s.of(vector) * lanes, s.of(vector) * apart
            merged.bring(
                inside,
                length.value,
                lambda deep, number: (deep.scalars.of(first.value) + number).value,
                lambda deep, at, k: right.load(deep, k, at),
                lambda deep, x, at: deep.store(x, copy, [(deep.scalars.of(start.value) + deep.scalars.of(at)).value]),
            )

        for inside, vector in made.nest.over((zero, whole.value), "vector"):
            bring(inside, vector)
        lines = zero, length.value
        behind = made.nest.scalars.select(
            rest < 1, made.nest.scalars.of(zero), made.nest.scalars.of(made.kernel.index(lanes))
        )
        for inside, j in made.nest.over((rest.value, behind.value), "j"):
            for deep, k in inside.over(lines, "k"):
                s = deep.scalars
                place = s.of(whole.value) * apart + s.of(k) * lanes + s.of(j)
                deep.store(s.const(0, DTYPES[self.element]), copy, [place.value])
        for inside, j in made.nest.over((zero, rest.value), "j"):
            for deep, k in inside.over(lines, "k"):
                s = deep.scalars
                place = s.of(whole.value) * apart + s.of(k) * lanes + s.of(j)
                number = right.load(deep, k, (s.of(whole.value) * lanes + s.of(j)).value)
                deep.store(number, copy, [place.value])
        return made.kernel


@dataclass(frozen=True)
class RowsFunction(CalledFunction):
    """Copy columns of an LHS tile by tile, in each line by line: of so many tiles beside each other at a time."""

    FORM = "gemm_rows_{rows}x{beside}_{element}"
    WORDS, READS, WRITES = 3, ("left",), ("copy",)
    COUNT, LINE, TILE = range(WORDS)
    """Words: how often so many tiles, elements from line to line, and from tile to tile of the copy."""

    rows: int
    beside: int

    def work(self, words: Sequence[int], length: int) -> Work:
        elements = words[self.COUNT] * self.beside * self.rows * length
        return Work(0, (elements,), (elements,))

    def build(self, model: CostModel) -> Kernel:
        made = _Building.of(self, model)
        count, line, tile = (made.word(n) for n in (self.COUNT, self.LINE, self.TILE))
        zero, length = made.kernel.index(0), made.length

        def one(nest: Nest, k: SSAValue, number: SSAValue) -> None:
            s = nest.scalars
            left = Strided(made.buffers["left"], (), first=(s.of(number) * self.rows).value, strides=(None, line.value))
            start = s.of(number) * tile + s.of(k) * self.rows
            for deep, r in nest.over((zero, made.kernel.index(self.rows)), "r", lanes=True):
                place = deep.scalars.of(start.value) + deep.scalars.of(r)
                deep.store(left.load(deep, r, k), made.buffers["copy"], [place.value])

        for inside, n in made.nest.over((zero, count.value), "i"):
            first = inside.scalars.of(n) * self.beside
            for deep, k in inside.over((zero, length.value), "k"):
                for m in range(self.beside):
                    one(deep, k, (deep.scalars.of(first.value) + m).value)
        return made.kernel


PRODUCTS: tuple[type[CalledFunction], ...] = (
    TileFunction,
    PaddedTileFunction,
    LinesFunction,
    PaddedLinesFunction,
    TransposedFunction,
    RowsFunction,
)
