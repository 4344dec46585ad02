"""Functions of the library for tiled matrix products: sizes and strides are numbers that they are called with.

A tile and the copies that it reads are those of `lowering/tiles`. What calls them is `tiles/called_product.py`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from xdsl.dialects.builtin import MemRefType, i64
from xdsl.ir import Attribute, SSAValue

from xdsl_rlx.dialects.lir import PrefetchOp
from xdsl_rlx.dialects.lir.memory import AnyMemRef, element_bytes, strided_memref
from xdsl_rlx.dialects.lir.scalar_builder import INDEX, Scalar
from xdsl_rlx.dialects.shapes import DTYPES
from xdsl_rlx.lowering.nest.kernel_builder import Kernel, Nest
from xdsl_rlx.lowering.target import CostModel
from xdsl_rlx.lowering.tiles.factors import Factors, Strided
from xdsl_rlx.lowering.tiles.side_by_side import SideBySide
from xdsl_rlx.lowering.tiles.tile_block import Panel, StridedPanel, TileBlock, TileRows

MANY = 1 << 40
"""Elements of a buffer whose length a function does not know."""

MOST_FIRST, MOST_STEP = 1 << 34, 1 << 24
"""The same of two indices that are added, of which all pairs are less than 2^63 bytes: NumPy has no larger arrays."""


class Work(NamedTuple):
    """What a call computes, and the elements that it loads of each buffer it reads and stores to each it writes."""

    multiplications: int
    reads: tuple[int, ...]
    writes: tuple[int, ...]


@dataclass(frozen=True)
class _Building:
    """A function under construction: the kernel, the buffers by name, and the words of its plan."""

    kernel: Kernel
    buffers: dict[str, SSAValue]
    model: CostModel

    @classmethod
    def of(cls, element: Attribute, names: tuple[str, ...], model: CostModel, pairs: tuple[str, ...] = ()) -> _Building:
        """Elements of the buffers `pairs` have two indices, which are added."""
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
class TileFunction:
    """
    Tiles of so many rows and columns below each other, of the terms of a range.

    In a range from 0 on, the result is stored, in others it is added to what there is. Before each tile, lines of a
    panel that is used next are prefetched. `chains` are sums that are added up at the end.
    """

    PATTERN: ClassVar[re.Pattern[str]] = re.compile(
        r"gemm_tile_(?P<rows>\d+)x(?P<columns>\d+)_v(?P<lanes>\d+)"
        r"(?P<by_columns>_t)?(_by(?P<chains>\d))?_(?P<element>f32|f64)"
    )
    COUNT, LEFT_ROW, LEFT_COLUMN, LEFT_TILE, RIGHT_LINE, RIGHT_VECTOR, INTO_LINE, NEXT_LINE, NEXT_COUNT = range(9)
    """Words: tiles; elements from row to row of the LHS, from column to column, and from tile to tile; from line to
    line of the RHS, and from vector to vector; from row to row of the result; and from line to line of the panel that
    is prefetched, with the lines for a tile."""

    element: str
    rows: int
    columns: int
    lanes: int
    by_columns: bool = False
    chains: int = 1

    @property
    def name(self) -> str:
        """The name of the function."""
        chains = f"_by{self.chains}" if self.chains > 1 else ""
        return f"gemm_tile_{self.rows}x{self.columns}_v{self.lanes}{'_t' * self.by_columns}{chains}_{self.element}"

    @property
    def is_unrolled(self) -> bool:
        """Whether its loops are vectors; a column is none."""
        return self.columns > 1

    @classmethod
    def of(cls, words: dict[str, str | None]) -> TileFunction:
        """The function whose name has these words."""
        rows, columns, lanes, chains = (int(words[x] or 1) for x in ("rows", "columns", "lanes", "chains"))
        return cls(str(words["element"]), rows, columns, lanes, words["by_columns"] is not None, chains)

    def work(self, words: Sequence[int], length: int) -> Work:
        """The work of a call for so many terms."""
        count = words[self.COUNT]
        left, right, into = self.rows * length * count, self.columns * length * count, self.rows * self.columns * count
        return Work(into * length, (left, right, 0), (into,))

    def build(self, model: CostModel) -> Kernel:
        """The loop over tiles."""
        made = _Building.of(
            DTYPES[self.element], ("left", "right", "next", "into"), model, pairs=() if self.by_columns else ("left",)
        )
        words = [made.word(n) for n in range(self.NEXT_COUNT + 1)]
        length = made.length

        def tile(inside: Nest, n: SSAValue) -> None:
            s = inside.scalars
            self._fetch(inside, made, s.of(n) * words[self.NEXT_COUNT], words, length)
            row, column = words[self.LEFT_ROW].value, words[self.LEFT_COLUMN].value
            strides = (None, column) if self.by_columns else (row, None)
            first = (s.of(n) * words[self.LEFT_TILE]).value
            left = Strided(made.buffers["left"], (), first=first, strides=strides)
            first = (s.of(n) * (words[self.INTO_LINE] * self.rows)).value
            into = Strided(made.buffers["into"], (), first=first, strides=(words[self.INTO_LINE].value, None))
            self._block(inside, made, left, into, words, length).emit(inside)

        made.nest.each((made.kernel.index(0), words[self.COUNT].value), "i", tile)
        return made.kernel

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

    def _fetch(self, nest: Nest, made: _Building, first: Scalar, words: list[Scalar], length: Scalar) -> None:
        """Prefetch as many lines as the plan says for a tile."""
        each = made.model.line_bytes // element_bytes(DTYPES[self.element])
        ends = first.value, nest.scalars.minimum(first + words[self.NEXT_COUNT], length).value

        def line(inside: Nest, k: SSAValue) -> None:
            s = inside.scalars
            start = s.of(k) * words[self.NEXT_LINE]
            for ahead in range(0, self.columns, each):
                inside.builder.insert(PrefetchOp(made.buffers["next"], [(start + ahead).value]))

        nest.each(ends, "k", line)


@dataclass(frozen=True)
class LinesFunction:
    """Copy so many columns of lines of an RHS, which are side by side in memory, line by line."""

    PATTERN: ClassVar[re.Pattern[str]] = re.compile(r"gemm_lines_(?P<columns>\d+)_v(?P<lanes>\d+)_(?P<element>f32|f64)")
    LINE = 0
    """The word: elements from line to line."""
    is_unrolled: ClassVar[bool] = True

    element: str
    columns: int
    lanes: int

    @property
    def name(self) -> str:
        """The name of the function."""
        return f"gemm_lines_{self.columns}_v{self.lanes}_{self.element}"

    @classmethod
    def of(cls, words: dict[str, str | None]) -> LinesFunction:
        """The function whose name has these words."""
        return cls(str(words["element"]), int(words["columns"] or 0), int(words["lanes"] or 0))

    def work(self, words: Sequence[int], length: int) -> Work:
        """The work of a call for so many lines."""
        return Work(0, (self.columns * length,), (self.columns * length,))

    def build(self, model: CostModel) -> Kernel:
        """The loop over lines."""
        made = _Building.of(DTYPES[self.element], ("right", "copy"), model)
        zero = made.kernel.index(0)
        right = Strided(made.buffers["right"], (), strides=(made.word(self.LINE).value, None))
        copy = Strided(made.buffers["copy"], (), strides=(made.kernel.index(self.columns), None))
        panel = Panel(zero, zero, zero, self.columns)

        def one(nest: Nest, k: SSAValue, j: SSAValue) -> None:
            nest.store(right.load(nest, k, j), copy.buffer, copy.at(nest, k, j))

        def line(inside: Nest, k: SSAValue) -> None:
            panel.lanes(inside, self.lanes, lambda deep, j, _: one(deep, k, j))

        made.nest.each((zero, made.length.value), "k", line)
        return made.kernel


@dataclass(frozen=True)
class TransposedFunction:
    """Copy columns of an RHS, which are lines in memory: all lines of the first vector, then of the next one."""

    PATTERN: ClassVar[re.Pattern[str]] = re.compile(
        r"gemm_transposed_v(?P<lanes>\d+)x(?P<lines>\d+)_(?P<element>f32|f64)"
    )
    WHOLE, REST, COLUMN, VECTOR = range(4)
    """Words: whole vectors, columns behind these, elements from column to column, and from vector to vector of the
    copy. Behind them is how many columns that are in all."""
    is_unrolled: ClassVar[bool] = False

    element: str
    lanes: int
    lines: int
    """Lines at most."""

    @property
    def name(self) -> str:
        """The name of the function."""
        return f"gemm_transposed_v{self.lanes}x{self.lines}_{self.element}"

    @classmethod
    def of(cls, words: dict[str, str | None]) -> TransposedFunction:
        """The function whose name has these words."""
        return cls(str(words["element"]), int(words["lanes"] or 0), int(words["lines"] or 0))

    def work(self, words: Sequence[int], length: int) -> Work:
        """The work of a call for so many lines."""
        columns = words[self.VECTOR + 1]
        return Work(0, (columns * length,), (0, columns * length))

    def build(self, model: CostModel) -> Kernel:
        """The loops over vectors and lines."""
        made = _Building.of(DTYPES[self.element], ("right", "between", "copy"), model)
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

        def one(nest: Nest, k: SSAValue, j: SSAValue) -> None:
            s = nest.scalars
            place = s.of(whole.value) * apart + s.of(k) * lanes + s.of(j)
            number = right.load(nest, k, (s.of(whole.value) * lanes + s.of(j)).value)
            nest.store(number, copy, [place.value])

        made.nest.each((zero, whole.value), "vector", bring)
        lines = zero, length.value
        made.nest.each(
            (zero, rest.value), "j", lambda inside, j: inside.each(lines, "k", lambda deep, k: one(deep, k, j))
        )
        return made.kernel


@dataclass(frozen=True)
class RowsFunction:
    """Copy columns of an LHS tile by tile, in each line by line: of so many tiles beside each other at a time."""

    PATTERN: ClassVar[re.Pattern[str]] = re.compile(r"gemm_rows_(?P<rows>\d+)x(?P<beside>\d+)_(?P<element>f32|f64)")
    COUNT, LINE, TILE = range(3)
    """Words: how often so many tiles, elements from line to line, and from tile to tile of the copy."""

    is_unrolled: ClassVar[bool] = True

    element: str
    rows: int
    beside: int

    @property
    def name(self) -> str:
        """The name of the function."""
        return f"gemm_rows_{self.rows}x{self.beside}_{self.element}"

    @classmethod
    def of(cls, words: dict[str, str | None]) -> RowsFunction:
        """The function whose name has these words."""
        return cls(str(words["element"]), int(words["rows"] or 0), int(words["beside"] or 0))

    def work(self, words: Sequence[int], length: int) -> Work:
        """The work of a call for so many lines."""
        elements = words[self.COUNT] * self.beside * self.rows * length
        return Work(0, (elements,), (elements,))

    def build(self, model: CostModel) -> Kernel:
        """The loops over tiles and lines."""
        made = _Building.of(DTYPES[self.element], ("left", "copy"), model)
        count, line, tile = (made.word(n) for n in (self.COUNT, self.LINE, self.TILE))
        zero, length = made.kernel.index(0), made.length

        def some(inside: Nest, n: SSAValue) -> None:
            first = inside.scalars.of(n) * self.beside

            def bring(deep: Nest, k: SSAValue) -> None:
                for m in range(self.beside):
                    one(deep, k, (deep.scalars.of(first.value) + m).value)

            inside.each((zero, length.value), "k", bring)

        def one(nest: Nest, k: SSAValue, number: SSAValue) -> None:
            s = nest.scalars
            left = Strided(made.buffers["left"], (), first=(s.of(number) * self.rows).value, strides=(None, line.value))
            start = s.of(number) * tile + s.of(k) * self.rows

            def element(deep: Nest, r: SSAValue) -> None:
                place = deep.scalars.of(start.value) + deep.scalars.of(r)
                deep.store(left.load(deep, r, k), made.buffers["copy"], [place.value])

            nest.lanes((zero, made.kernel.index(self.rows)), "r", element)

        made.nest.each((zero, count.value), "i", some)
        return made.kernel


ProductFunction = TileFunction | LinesFunction | TransposedFunction | RowsFunction
_KINDS: tuple[type[ProductFunction], ...] = (TileFunction, LinesFunction, TransposedFunction, RowsFunction)


def product_function(name: str) -> ProductFunction | None:
    """The function of a name, None if it is none of matrix products."""
    for kind in _KINDS:
        if (found := kind.PATTERN.fullmatch(name)) is not None:
            return kind.of(found.groupdict())
    return None
