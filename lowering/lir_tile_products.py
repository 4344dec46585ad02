"""`lir-tile-products`: matrix products become loops where these beat the library, which is where rows are few."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import AnyFloat, ModuleOp
from xdsl.ir import Block, SSAValue
from xdsl.passes import ModulePass

from xdsl_rlx.dialects.lir import GemmOp, KernelOp, LaunchOp, LoopOp
from xdsl_rlx.dialects.lir.bounds import constant_index
from xdsl_rlx.dialects.lir.memory import element_bytes, strides_of
from xdsl_rlx.dialects.lir.program import memref_of
from xdsl_rlx.lowering.nest import Kernel, Nest
from xdsl_rlx.lowering.tiles import Registers, TiledProduct, best_tile, emit_sums
from xdsl_rlx.lowering.unroll import mark_unrolled
from xdsl_rlx.transforms.driver import verify_dominance

ROWS = 16
"""Rows up to which the right factor is better read as it lies than packed first, as libraries do."""

LOOPED_ROWS = 64
"""The same in a loop, for which it matters more that no library is called."""

FACTOR = 1 << 20
"""Bytes of the right factor up to which it is in a core's own cache when the next rows read it."""

WIDE = 512
"""Numbers that fit into all vector registers from which on tiles beat the library for more rows than those."""

WIDE_ROWS = 512
"""Rows up to which they do for any right factor."""

NEAR = 1 << 18
"""Bytes of the right factor up to which they do for any rows."""

PACKED = 1 << 20
"""Multiplications from which on libraries pack their factors, and lose by it if rows are few."""

NARROW = 4
"""Columns below which there is too little of a vector."""

COPIED = 1 << 12
"""Elements of a transposed right factor up to which it is copied onto the stack, in a loop."""

SHARING = 4
"""Rows from which on that copy pays; fewer are sums along both factors as they lie."""

MANY = 128
"""Rows from which on it pays for any factor."""


@dataclass(frozen=True)
class LirTileProductsPass(ModulePass):
    """
    Make loops of each `lir.gemm` that they are better for: tiles of few rows, of which the sums stay in registers.

    A library packs large factors first, which pays where many rows read the right one. In a loop products of any size
    become loops, so that it can be one kernel (see `lir-outline-loops`). `lanes` and `registers` describe
    the processor: numbers of 32 bits in a vector register, and how many there are.

    ```mlir
    lir.gemm %x[], %w[], %y[] rows %c0 to %c6 cols %c0 to %c16 : memref<6x64xf32>, memref<64x16xf32>, memref<6x16xf32>
    // becomes
    scf.for %k = %c0 to %c64 step %c1 {
      scf.for %r = %c0 to %c6 step %c1 {
        %x = memref.load %x[%r, %k] : memref<6x64xf32>
        scf.for %j = %c0 to %c16 step %c1 {
          // sums[r, j] += x * w[k, j]
        } {lir.lanes}
      }
    }
    ```
    """

    name = "lir-tile-products"

    lanes: int = Registers.lanes
    registers: int = Registers.count

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        verify_dominance(op)
        registers = Registers(self.lanes, self.registers)
        launches: dict[str, list[LaunchOp]] = {}
        for launch in op.walk():
            if isinstance(launch, LaunchOp):
                launches.setdefault(launch.kernel.string_value(), []).append(launch)
        for kernel in [x for x in op.ops if isinstance(x, KernelOp)]:
            own = launches.get(kernel.sym_name.data, [])
            repeated = any(isinstance(x.parent_op(), LoopOp) for x in own)
            pieces = {x.chunk.value.data: x.extent.value.data for x in own}
            found = [_Product(x, kernel, pieces) for x in kernel.walk() if isinstance(x, GemmOp)]
            if better := [x for x in found if x.is_better_as_loops(repeated, registers)]:
                again = Kernel.reopened(kernel)
                for product in better:
                    product.replace(again, registers)
                again.close()
                mark_unrolled(kernel)


@dataclass(frozen=True)
class _Product:
    """A product of a kernel, and the extents by chunk that this is launched with."""

    op: GemmOp
    kernel: KernelOp
    pieces: Mapping[int, int]

    def is_better_as_loops(self, repeated: bool, registers: Registers) -> bool:
        """Whether the library is slower: few rows, of more than it packs for, or of any size if loops repeat them."""
        if self.op.inner_lo is not None or self._columns() is None:
            return False
        rows = self._most_rows()
        b = memref_of(self.op.b)
        depth, columns = b.get_shape()[-2:]
        most = LOOPED_ROWS if repeated else ROWS
        wide = registers.lanes_of(cast("AnyFloat", b.element_type)) * registers.count >= WIDE
        size = depth * columns * element_bytes(b.element_type)
        fits = rows <= most and size <= FACTOR
        if wide:
            fits = rows <= WIDE_ROWS or size <= NEAR
        if not self._is_dense():
            fits = (wide and fits and rows >= MANY) or (repeated and rows <= most and depth * columns <= COPIED)
        return fits and (repeated or (rows * depth * columns > PACKED and columns >= NARROW))

    def _is_dense(self) -> bool:
        return strides_of(memref_of(self.op.b))[-1] == 1

    def replace(self, kernel: Kernel, registers: Registers) -> None:
        """Put loops in the place of the op."""
        op, block = self.op, Block()
        nest = Nest(block, kernel)
        columns, rows = self._columns(), self._most_rows()
        assert columns is not None
        if columns < NARROW or not (self._is_dense() or rows >= SHARING):
            emit_sums(op, nest)
        else:
            element = cast("AnyFloat", memref_of(op.c).element_type)
            tile = best_tile(rows, columns, registers.lanes_of(element), registers.count)
            goes_on = op.accumulate is not None
            TiledProduct(op, nest, tile, self._rows(), columns, not self._is_dense(), goes_on).emit()
        around = op.parent_block()
        assert around is not None
        loops = list(block.ops)
        for loop in loops:
            loop.detach()
        around.insert_ops_before(loops, op)
        op.detach()
        op.erase()

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
        if (low, high) == self.kernel.body.block.args[-2:] and len(self.pieces) == 1:
            ((chunk, extent),) = self.pieces.items()
            return min(chunk, extent) if extent % chunk == 0 or extent < chunk else None
        return None

    def _most_rows(self) -> int:
        if (known := self._rows()) is not None:
            return known
        rows = memref_of(self.op.c).get_shape()[-2]
        if (self.op.row_lo, self.op.row_hi) == self.kernel.body.block.args[-2:] and self.pieces:
            return min(rows, max(self.pieces))
        return rows
