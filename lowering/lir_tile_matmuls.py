"""`lir-tile-matmuls`: matrix products become loops where these beat the library."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import cast

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import AnyFloat, ModuleOp, bf16, i8, i32
from xdsl.ir import Block, Operation, SSAValue

from xdsl_rlx.dialects.lir import BlockGemmOp, GemmOp, KernelOp, LaunchOp, LoopOp, WhileOp
from xdsl_rlx.dialects.lir.bounds import constant_index, trip_count
from xdsl_rlx.dialects.lir.memory import element_bytes, strides_of
from xdsl_rlx.dialects.lir.program import memref_of
from xdsl_rlx.lowering.kernel_pass import KernelPass
from xdsl_rlx.lowering.nest.kernel_builder import Kernel, Nest
from xdsl_rlx.lowering.tiles.factors import Factors
from xdsl_rlx.lowering.tiles.integer_product import emit_integer_sums, with_offsets
from xdsl_rlx.lowering.tiles.rounded_product import RoundedProduct
from xdsl_rlx.lowering.tiles.tile_sizes import (
    COMMON,
    COPIED_ROWS,
    MOST_ROWS,
    MOST_VECTORS,
    ONE_PART,
    Registers,
    TileSize,
    best_tile,
    vectors_of_panel,
)
from xdsl_rlx.lowering.tiles.tiled_product import TiledProduct, emit_sums
from xdsl_rlx.transforms.driver import verify_dominance

ROWS = 16
"""Rows up to which the right factor is better read as it lies than packed first, as libraries do."""

LOOPED_ROWS = 64
"""The same in a loop, for which it matters more that no library is called."""

FACTOR = 1 << 20
"""Bytes of the right factor up to which it is in a core's own cache when the next rows read it."""

FAR = 1 << 18
"""Bytes of a right factor beyond which the next panel is brought nearer: other things are in caches too."""

WIDE = 512
"""Numbers that fit into all vector registers from which on tiles beat the library for more rows than those; those of
32 bits do where registers are those of AVX2, but not with half of AVX-512, of which the library uses the whole."""

WIDE_ROWS = 512
"""Rows up to which they do for any right factor."""

NEAR = 1 << 18
"""Bytes of the right factor up to which they do for any rows that lie in lines."""

PACKED = 1_000_000
"""Multiplications up to which libraries read factors as they lie; they lose by packing more if rows are few."""

DEEP = 256
"""Length of the inner dimension from which on they lose too, if both rows and columns are few."""

FEW = 8
"""Columns of such a product at least."""

NARROW = 4
"""Columns below which there is too little of a vector."""

COPIED = 1 << 12
"""Elements of a transposed right factor up to which it is copied onto the stack, in a loop."""

SHARING = 4
"""Rows from which on that copy pays; fewer are sums along both factors as they lie."""

MUCH = 1 << 25
"""Multiplications of a step from which on a product of unknown columns is worth the time to compile its tiles."""

MOST_OFFSETS = 1 << 14
"""Rows of a product of i8 of which the sums of bytes are on the stack at most."""

TIMES = 4
"""How often a loop runs of which that is not known, about."""

MANY = 8
"""Rows from which on it pays for any factor."""


@dataclass(frozen=True)
class LirTileMatmulsPass(KernelPass):
    """
    Replace `lir.gemm`s by tiled loop nests where these beat the library.

    Libraries pack large operands first. That pays if many rows read the RHS, and is slow for few rows and columns with
    many terms. Inside of a loop, matmuls of any size become loops, so that the loop can become one kernel (see
    `lir-outline-loops`). Panels of a transposed or frequently read RHS are copied, and so are rows of a strided LHS.
    The next panel of a large RHS is prefetched. `lanes` (32-bit elements per vector register) and `registers` (their
    number) describe the processor. Products of bf16 and of i8, which no library has, become loops in any case; with
    `bf16` and `int8` by the dot products of AVX512-BF16 and AVX512-VNNI.

    ```mlir
    lir.gemm %x[], %w[], %y[] rows %c0 to %c6 cols %c0 to %c16 : memref<6x64xf32>, memref<64x16xf32>, memref<6x16xf32>
    // becomes
    scf.for %k = %c0 to %c64 step %c1 {
      scf.for %r = %c0 to %c6 step %c1 {
        %x = memref.load %x[%r, %k] : memref<6x64xf32>
        scf.for %j = %c0 to %c16 step %c1 {
          // sums[r, j] += x * w[k, j]
        } {lir.vectorize}
      }
    }
    ```
    """

    name = "lir-tile-matmuls"

    lanes: int = Registers.lanes
    """32-bit elements per vector register."""

    registers: int = Registers.count
    """Number of vector registers."""

    bf16: bool = False
    """Whether the processor has dot products of bf16 (AVX512-BF16)."""

    int8: bool = False
    """Whether it has those of i8 (AVX512-VNNI)."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite all kernels, of a module that is sound."""
        if any(isinstance(x, GemmOp | BlockGemmOp) for x in op.walk()):
            verify_dominance(op)
            super().apply(ctx, op)

    def rewrite(self, kernel: KernelOp, launches: Sequence[LaunchOp]) -> None:
        """Make loops of the products of one kernel."""
        repeated, lengths = any(map(_is_repeated, launches)), frozenset(n for x in launches for n in _lengths(x))
        registers = Registers(self.lanes, self.registers, self.bf16, self.int8)
        found: list[_Product | _Blocks] = []
        for op in kernel.walk():
            if isinstance(op, GemmOp):
                found.append(_Product(op, kernel, lengths))
            elif isinstance(op, BlockGemmOp):
                found.append(_Blocks(op, sum(x.extent.value.data for x in launches)))
        if better := [x for x in found if x.is_better_as_loops(repeated, registers)]:
            again = Kernel.reopened(kernel)
            for product in better:
                product.replace(again, registers, repeated)
            again.close()


def _is_repeated(launch: LaunchOp) -> bool:
    """Whether a launch is in a loop."""
    around = launch.parent_op()
    while around is not None and not isinstance(around, LoopOp | WhileOp):
        around = around.parent_op()
    return around is not None


def _lengths(launch: LaunchOp) -> set[int]:
    """How many iterations the pieces of a launch have."""
    extent, chunk = launch.extent.value.data, launch.chunk.value.data
    return {n for n in (min(extent, chunk), extent % chunk) if n}


@dataclass(frozen=True)
class _Product:
    """A product of a kernel, and how many iterations this is launched for at a time."""

    op: GemmOp
    kernel: KernelOp
    lengths: frozenset[int]

    def is_better_as_loops(self, repeated: bool, registers: Registers) -> bool:
        """Whether the library is slower: few rows, of more than it packs for, or of any size if loops repeat them."""
        if self._has_no_library:
            # no library has it
            return True
        if self.op.inner_lo is not None or self._columns() is None:
            return False
        rows = self._most_rows()
        b = memref_of(self.op.b)
        depth, columns = b.get_shape()[-2:]
        most = LOOPED_ROWS if repeated else ROWS
        size = depth * columns * element_bytes(b.element_type)
        wide = _are_wide(registers, cast("AnyFloat", b.element_type))
        near = size <= NEAR and strides_of(memref_of(self.op.a))[-1] == 1
        fits = rows <= WIDE_ROWS or near if wide else rows <= most and (size <= FACTOR or rows <= ROWS >= columns)
        lines = strides_of(b)[-1] == 1
        if not lines:
            fits = (wide and fits and rows >= MANY) or (repeated and rows <= most and depth * columns <= COPIED)
        deep = lines and rows <= ROWS and FEW <= columns <= ROWS and depth >= DEEP
        return fits and (repeated or ((rows * depth * columns > PACKED or deep) and columns >= NARROW))

    def replace(self, kernel: Kernel, registers: Registers, repeated: bool) -> None:
        """Put loops in the place of the op."""
        block, columns = Block(), self._columns()
        nest = Nest(block, kernel)
        if columns is not None:
            self._emit(nest, columns, registers, repeated)
        for count in sorted(self.lengths) if columns is None else ():
            s = nest.scalars
            is_this = s.eq(s.of(self.op.col_hi) - s.of(self.op.col_lo), count)
            nest.guard(is_this.value, lambda at, count=count: self._emit(at, count, registers, repeated))
        _put(block, self.op)

    def _emit(self, nest: Nest, columns: int, registers: Registers, repeated: bool) -> None:
        """The loops of so many columns."""
        op, factors, rows = self.op, Factors.of(self.op), self._most_rows()
        ends, across = (op.row_lo, op.row_hi), (op.col_lo, op.col_hi)
        packs = self._is_packed(factors, registers)
        is_narrow = columns < NARROW or not (factors.right.lies_in_lines or rows >= SHARING)
        if factors.element == i32 and (is_narrow or not packs or rows > MOST_OFFSETS):
            emit_integer_sums(factors, nest, ends, across)
            return
        if is_narrow:
            emit_sums(factors, nest, ends, across)
            return
        if packs:
            factors = factors.in_packs(nest.kernel)
        if factors.element == i32:
            factors = with_offsets(factors, nest, ends, rows)
        tile, copies = _tile(factors, rows, columns, registers)
        fetches = copies and factors.right.lies_in_lines and not repeated and self._is_far()
        goes_on = factors.accumulate
        product = TiledProduct(factors, nest, tile, ends, self._rows(), op.col_lo, columns, copies, goes_on, fetches)
        if factors.is_rounded:
            RoundedProduct(product).emit()
        else:
            product.emit()

    @property
    def _has_no_library(self) -> bool:
        return memref_of(self.op.a).element_type in (bf16, i8)

    def _is_packed(self, factors: Factors, registers: Registers) -> bool:
        """Whether the processor has dot products of packed elements, of which there are enough."""
        element = memref_of(self.op.a).element_type
        has_dots = (element == bf16 and registers.bf16) or (element == i8 and registers.int8)
        return has_dots and factors.depth >= factors.left.each

    def _is_far(self) -> bool:
        """Whether the right factor is so large that its next panel is brought nearer."""
        b = memref_of(self.op.b)
        depth, columns = b.get_shape()[-2:]
        return depth * columns * element_bytes(b.element_type) > FAR

    def _columns(self) -> int | None:
        """How many columns, if that is known."""
        return self._count(self.op.col_lo, self.op.col_hi)

    def _rows(self) -> int | None:
        """How many rows, if that is known."""
        return self._count(self.op.row_lo, self.op.row_hi)

    def _count(self, low: SSAValue, high: SSAValue) -> int | None:
        """The length of a range of constants, or of a piece if all pieces are of one length."""
        first, last = constant_index(low), constant_index(high)
        if first is not None and last is not None:
            return last - first
        if self._is_of_pieces(low, high) and len(self.lengths) == 1:
            return max(self.lengths)
        return None

    def _is_of_pieces(self, low: SSAValue, high: SSAValue) -> bool:
        return (low, high) == self.kernel.body.block.args[-2:]

    def _most_rows(self) -> int:
        if (known := self._rows()) is not None:
            return known
        rows = memref_of(self.op.c).get_shape()[-2]
        if self._is_of_pieces(self.op.row_lo, self.op.row_hi):
            return min(rows, max(self.lengths, default=rows))
        return rows


@dataclass(frozen=True)
class _Blocks:
    """A product of blocks, as of queries and keys, of which sizes may be known or only what they are at most."""

    op: BlockGemmOp
    iterations: int
    """How many iterations all launches of the kernel have."""

    @property
    def _known(self) -> tuple[int | None, int | None, int | None]:
        """Rows, columns and terms."""
        return constant_index(self.op.rows), constant_index(self.op.cols), constant_index(self.op.depth)

    @property
    def _most(self) -> tuple[int, int, int]:
        """The same, or what the buffers have room for."""
        rows, columns, depth = self._known
        into, left = memref_of(self.op.c).get_shape(), memref_of(self.op.a).get_shape()
        return (
            into[-2] if rows is None else rows,
            into[-1] if columns is None else columns,
            left[-1 if self.op.transpose_a is None else -2] if depth is None else depth,
        )

    def is_better_as_loops(self, repeated: bool, registers: Registers) -> bool:
        """Whether the library is slower: blocks of few sizes, which it lays out anew, if registers are many."""
        rows, columns, depth = self._most
        element = cast("AnyFloat", memref_of(self.op.c).element_type)
        lanes = registers.lanes_of(element)
        if max(rows, columns, depth) > ONE_PART or not _are_wide(registers, element):
            return False
        unknown = None in self._known
        if self._known[1] is None and (self.op.accumulate is not None or self._work < MUCH):
            return False
        return rows >= MANY and columns >= lanes * (1 + unknown) and depth >= MANY

    @property
    def _work(self) -> int:
        """Multiplications of all launches, about: of the loops around the op, the outermost is their iterations."""
        rows, columns, depth = self._most
        trips = list[int]()
        around = self.op.parent_op()
        while isinstance(around, scf.ForOp):
            known = trip_count(around)
            trips.append(TIMES if known is None else known)
            around = around.parent_op()
        return rows * columns * depth * self.iterations * prod(trips[:-1])

    def replace(self, kernel: Kernel, registers: Registers, repeated: bool) -> None:
        """Put loops in the place of the op."""
        (rows, width, _), (most, columns, depth) = self._known, self._most
        block, factors = Block(), Factors.of_blocks(self.op, depth)
        nest, zero = Nest(block, kernel), kernel.index(0)
        tile, copies = _tile(factors, most, columns, registers)
        if None in self._known:
            # tiles that sizes which are cut into blocks are multiples of
            tile = TileSize(MANY if registers.count > MANY * 2 else MANY // 2, 2 * tile.lanes, tile.lanes)
        unknown = self.op.cols if width is None else None
        TiledProduct(
            factors,
            nest,
            tile,
            ends=(zero, self.op.rows if rows is None else kernel.index(rows)),
            rows=rows,
            first_column=zero,
            columns=columns,
            copies=copies,
            goes_on=factors.accumulate,
            fetches=False,
            few=True,
            width=unknown,
        ).emit()
        _put(block, self.op)


def _are_wide(registers: Registers, element: AnyFloat) -> bool:
    """Whether tiles of many rows beat the library."""
    if registers == COMMON:
        return element_bytes(element) <= 4
    return registers.lanes_of(element) * registers.count >= WIDE


def _tile(factors: Factors, rows: int, columns: int, registers: Registers) -> tuple[TileSize, bool]:
    """The tiles of a product, and whether its right factor is copied panel by panel."""
    element = cast("AnyFloat", factors.element)
    lanes = registers.lanes_of(element)
    copies, most = not factors.right.lies_in_lines, vectors_of_panel(factors.depth, lanes, element)
    if (rows >= COPIED_ROWS and columns > most * lanes) or (factors.packed and rows > MOST_ROWS):
        # so that elements are packed once, not by each tile
        copies = True
    return best_tile(rows, columns, registers, element, most if copies else MOST_VECTORS), copies


def _put(block: Block, op: Operation) -> None:
    """Put the ops of a block in the place of an op."""
    around = op.parent_block()
    assert around is not None
    loops = list(block.ops)
    for loop in loops:
        loop.detach()
    around.insert_ops_before(loops, op)
    op.detach()
    op.erase()
