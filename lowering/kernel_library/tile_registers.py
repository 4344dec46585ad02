"""A function of the library for matmuls in tile registers (AMX): blocks of at most 32 rows and 32 columns.

What calls it is `tiles/register_product.py`; its LLVM text is in `backend/llvm/llvm_tiles.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from xdsl.dialects.builtin import MemRefType, f32, i32, i64
from xdsl.ir import Attribute

from xdsl_rlx.dialects.lir.memory import element_bytes
from xdsl_rlx.dialects.lir.scalar_builder import INDEX, Scalar
from xdsl_rlx.dialects.shapes import DTYPES
from xdsl_rlx.lowering.kernel_dsl.kernel_builder import Kernel
from xdsl_rlx.lowering.kernel_library.called import MANY, CalledFunction, Work
from xdsl_rlx.lowering.target import CostModel

SIDE = 16
"""Rows of a tile register, and packed elements of 4 bytes in a row: two bf16 or four i8."""

PACK_BYTES = 4

CONFIGURATION_BYTES = 64
"""Bytes that the instruction LDTILECFG reads."""


@dataclass(frozen=True)
class BlockLayout:
    """Where the operands of a block are, in bytes, and how large the block is."""

    rows: int
    columns: int
    rest: int
    """Packs behind the last whole register, of every range that is no multiple of `SIDE`."""
    left_row: int
    """From row to row of the LHS."""
    left_step: int
    """From `SIDE` packs of the LHS to the next ones."""
    right_line: int
    """From packs to packs of the RHS, whose columns are side by side."""
    right_step: int
    """From `SIDE` columns of the RHS to the next ones."""
    into_row: int
    """From row to row of the result."""

    @property
    def words(self) -> list[int]:
        """The plan of a call: two configurations of the registers, for whole ones and for the rest, and the fields."""
        return [*self._configuration(SIDE), *self._configuration(self.rest), *vars(self).values()]

    def _configuration(self, packs: int) -> list[int]:
        """
        The bytes that LDTILECFG reads, as words: palette 1, and the bytes of a row and the rows of each register.
        Registers 0 to 3 have the result, 4 and 5 the LHS, 6 and 7 the RHS.
        """
        rows, columns = _halves(self.rows), _halves(self.columns)
        shapes = [(r, PACK_BYTES * c) for r in rows for c in columns]
        shapes += [(r, PACK_BYTES * packs) for r in rows] + [(packs, PACK_BYTES * c) for c in columns]
        shapes = [(r, c) if r and c else (0, 0) for r, c in shapes]
        found = bytearray(CONFIGURATION_BYTES)
        found[0] = 1
        for number, (count, length) in enumerate(shapes):
            found[16 + 2 * number : 18 + 2 * number] = length.to_bytes(2, "little")
            found[48 + number] = count
        return [int.from_bytes(found[n : n + 8], "little") for n in range(0, CONFIGURATION_BYTES, 8)]


LAYOUT_WORDS = {field.name: 2 * CONFIGURATION_BYTES // 8 + number for number, field in enumerate(fields(BlockLayout))}
"""The place of each field in the plan, behind the configurations."""


def _halves(count: int) -> tuple[int, int]:
    return min(count, SIDE), max(count - SIDE, 0)


@dataclass(frozen=True)
class RegisterBlockFunction(CalledFunction):
    """
    `into[i, j] = sum of left[i, k] right[k, j]` for the packs `k` of the range, of a block that is one or two tile
    registers high and wide.

    In a range from 0 on, the result is stored, in others it is added to what there is. A pack of the LHS is two bf16
    or four i8; with `copied`, the buffer has packs as i32. Those of the RHS are i32, of i8 as unsigned bytes.
    Sums of bf16 are in f32, rounded to nearest even; subnormal numbers are zeros.
    """

    FORM = "gemm_registers_{high}x{wide}_c{copied:d}_{element}"
    ELEMENTS = ("bf16", "i8")
    WORDS, READS, WRITES = 2 * CONFIGURATION_BYTES // 8 + len(LAYOUT_WORDS), ("left", "right"), ("into",)

    high: int
    wide: int
    copied: bool = False

    @property
    def elements(self) -> Mapping[str, Attribute]:
        left = i32 if self.copied else DTYPES[self.element]
        return {"left": left, "right": i32, "into": f32 if self.element == "bf16" else i32}

    def work(self, words: Sequence[int], length: int) -> Work:
        rows, columns = words[LAYOUT_WORDS["rows"]], words[LAYOUT_WORDS["columns"]]
        left = rows * length * (1 if self.copied else self._each)
        found = rows * columns * length * self._each if self.element == "bf16" else 0
        return Work(found, (left, columns * length), (rows * columns,), found)

    @property
    def _each(self) -> int:
        """Elements in a pack."""
        return PACK_BYTES // element_bytes(DTYPES[self.element])

    def build(self, model: CostModel) -> Kernel:
        """The same as loops, for modules of Numba."""
        types = [MemRefType[Any](i64, (MANY,)), *(MemRefType[Any](x, (MANY,)) for x in self.elements.values())]
        kernel = Kernel(types, ["plan", *self.elements])
        plan, left, right, into = kernel.block.args[:-2]
        low, high = kernel.bounds
        nest, zero = kernel.entry, kernel.index(0)

        def field(name: str, unit: int = 1) -> Scalar:
            word = nest.scalars.cast(nest.element(plan, [kernel.index(LAYOUT_WORDS[name])]), INDEX)
            return word if unit == 1 else nest.scalars.div(word, unit)

        each = 1 if self.copied else self._each
        left_row, left_step = (field(name, PACK_BYTES // each) for name in ("left_row", "left_step"))
        right_line, right_step = (field(name, PACK_BYTES) for name in ("right_line", "right_step"))
        into_row, terms = field("into_row", PACK_BYTES), nest.scalars.of(high) - nest.scalars.of(low)

        columns = field("columns")
        for row, i in nest.over((zero, field("rows").value), "i"):
            for inside, j in row.over((zero, columns.value), "j"):
                s = inside.scalars
                column = s.div(s.of(j), SIDE) * right_step + s.rem(s.of(j), SIDE)
                place = [(s.of(i) * into_row + s.of(j)).value]
                there = inside.element(into, place)
                total = {"sum": s.select(s.of(low) < 1, s.like(0, there), there).value}
                for deep, k in inside.over((zero, terms.value), "k", total):
                    t = deep.scalars
                    steps, rest = t.div(t.of(k), SIDE), t.rem(t.of(k), SIDE)
                    at = t.of(i) * left_row + steps * left_step + rest * each
                    packs = [deep.element(left, [(at + n).value if n else at.value]) for n in range(each)]
                    a = packs[0] if each == 1 else (t.pack_bf16 if each == 2 else t.pack_i8)(*packs)
                    b = deep.element(right, [(t.of(k) * right_line + column).value])
                    dot = t.dot_bf16 if self.element == "bf16" else t.dot_i8
                    total["sum"] = dot(t.of(total["sum"]), a, b).value
                inside.store(s.of(total["sum"]), into, place)
        return kernel
