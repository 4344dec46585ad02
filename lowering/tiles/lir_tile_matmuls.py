"""`lir-tile-matmuls`: matrix products become loops where these beat the library."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import cast

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import AnyFloat, ModuleOp, bf16, i8, i32
from xdsl.ir import Block, Operation, SSAValue

from xdsl_rlx.dialects.lir import BlockGemmOp, GemmOp, KernelOp, LaunchOp, LoopOp, WhileOp
from xdsl_rlx.dialects.lir.bounds import constant_index, trip_count
from xdsl_rlx.dialects.lir.memory import element_bytes, memref_of, strides_of
from xdsl_rlx.dialects.walks import ops_within
from xdsl_rlx.lowering.kernel_dsl.kernel_builder import Kernel, Nest
from xdsl_rlx.lowering.kernel_pass import KernelPass
from xdsl_rlx.lowering.target import COMMON, TileCosts
from xdsl_rlx.lowering.tile_blocks.factors import Factors
from xdsl_rlx.lowering.tile_blocks.tile_sizes import TileSize, best_tile, vectors_of_panel
from xdsl_rlx.lowering.tiles.called_product import CalledProduct, can_be_called
from xdsl_rlx.lowering.tiles.integer_product import emit_integer_sums, with_offsets
from xdsl_rlx.lowering.tiles.register_product import RegisterProduct, fits_registers, register_tile
from xdsl_rlx.lowering.tiles.rounded_product import RoundedProduct
from xdsl_rlx.lowering.tiles.tiled_product import TiledProduct, emit_sums
from xdsl_rlx.transforms.driver import verify_dominance

_MATMULS = (GemmOp, BlockGemmOp)


@dataclass(frozen=True)
class LirTileMatmulsPass(TileCosts, KernelPass):
    """
    Replace `lir.gemm`s by tiled loop nests where these beat the library.

    Libraries pack large operands first. That pays if many rows read the RHS, and is slow for few rows and columns with
    many terms. Inside of a loop, matmuls of any size become loops, so that the loop can become one kernel (see
    `lir-outline-loops`). Panels of a transposed or frequently read RHS are copied, and so are rows of a strided LHS.
    The next panel of a large RHS is prefetched. The options describe the processor: `lanes` (32-bit elements per vector
    register) and `registers` (their number), the sizes of its caches, and costs. Matmuls of bf16 and of i8, which no
    library has, always become loops; with `bf16` and `int8` by the dot products of AVX512-BF16 and AVX512-VNNI, with
    `amx` of many rows in tile registers.

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

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite all kernels, of a module that is sound."""
        if any(type(x) in _MATMULS for x in ops_within(op)):
            verify_dominance(op)
            super().apply(ctx, op)

    def ops_of(self, op: Operation) -> int:
        """A matmul becomes many."""
        return self.matmul_ops if type(op) in _MATMULS else 1

    def rewrite(self, kernel: KernelOp, launches: Sequence[LaunchOp]) -> None:
        """Make loops of the products of one kernel."""
        repeated, lengths = any(map(_is_repeated, launches)), frozenset(n for x in launches for n in _lengths(x))
        found: list[_Product | _Blocks] = []
        for op in ops_within(kernel):
            if type(op) is GemmOp:
                found.append(_Product(op, kernel, lengths, self))
            elif type(op) is BlockGemmOp:
                found.append(_Blocks(op, sum(x.extent.value.data for x in launches), self))
        if better := [x for x in found if x.is_better_as_loops(repeated)]:
            again = Kernel.reopened(kernel)
            for product in better:
                product.replace(again, repeated)
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
    costs: TileCosts

    def is_better_as_loops(self, repeated: bool) -> bool:
        """Whether the library is slower: few rows, of more than it packs for, or of any size if loops repeat them."""
        if self._has_no_library:
            # no library has it
            return True
        if self.op.inner_lo is not None or self._columns() is None:
            return False
        rows, costs = self._most_rows(), self.costs
        b = memref_of(self.op.b)
        depth, columns = b.get_shape()[-2:]
        most = costs.max_looped_rows if repeated else costs.max_tiled_rows
        size = depth * columns * element_bytes(b.element_type)
        wide = _are_wide(costs, cast("AnyFloat", b.element_type), size)
        near = size <= costs.l2_operand_bytes and strides_of(memref_of(self.op.a))[-1] == 1
        close = size <= costs.l2_bytes or rows <= costs.max_tiled_rows >= columns
        fits = rows <= costs.max_wide_rows or near if wide else rows <= most and close
        lines = strides_of(b)[-1] == 1
        if not lines:
            is_copied = repeated and rows <= most and depth * columns <= costs.max_copied_rhs_elements
            fits = (wide and fits and rows >= costs.min_wide_rows) or is_copied
        few = rows <= costs.max_tiled_rows and costs.min_deep_columns <= columns <= costs.max_tiled_rows
        deep = lines and few and depth >= costs.min_deep_terms
        work = rows * depth * columns
        small = lines and work <= costs.max_call_multiplications
        beats_library = work > costs.min_packed_multiplications or deep or small
        return fits and (repeated or (beats_library and columns >= costs.min_matmul_columns))

    def replace(self, kernel: Kernel, repeated: bool) -> None:
        """Put loops in the place of the op."""
        block, rows, columns = Block(), self._rows(), self._columns()
        nest = Nest(block, kernel)
        if columns is None:
            for inside, width in self._each_length(nest, (self.op.col_lo, self.op.col_hi)):
                self._emit(inside, rows, width, repeated)
        elif rows is None and self._asks_for_rows(columns, repeated):
            for inside, height in self._each_length(nest, (self.op.row_lo, self.op.row_hi)):
                self._emit(inside, height, columns, repeated)
        else:
            self._emit(nest, rows, columns, repeated)
        _put(block, self.op)

    def _each_length(self, nest: Nest, ends: tuple[SSAValue, SSAValue]) -> Iterator[tuple[Nest, int]]:
        """Loops for each length of a chunk, of which one is chosen where the code runs."""
        for count in sorted(self.lengths):
            s = nest.scalars
            is_this = s.eq(s.of(ends[1]) - s.of(ends[0]), count)
            with nest.guard(is_this.value) as inside:
                yield inside, count

    def _asks_for_rows(self, columns: int, repeated: bool) -> bool:
        """Whether loops are made for each length of a chunk: as blocks of tile registers, and as calls, have one."""
        if not self._is_of_pieces(self.op.row_lo, self.op.row_hi):
            return False
        rows, factors = min(self.lengths, default=None), Factors.of(self.op)
        if self._has_registers or rows is None:
            return self._has_registers
        calls = not repeated and can_be_called(factors, rows, columns, self.costs)
        return calls and not self._is_narrow(factors, rows, columns)

    @property
    def _has_registers(self) -> bool:
        """Whether the processor has tile registers for its elements."""
        return self._has_no_library and self.costs.amx

    def _emit(self, nest: Nest, known: int | None, columns: int, repeated: bool) -> None:
        """The loops of so many columns, and rows where their number is known."""
        op, factors, costs = self.op, Factors.of(self.op), self.costs
        rows = self._most_rows() if known is None else known
        ends, across = (op.row_lo, op.row_hi), (op.col_lo, op.col_hi)
        packs = self._is_packed(factors)
        is_narrow = self._is_narrow(factors, rows, columns)
        if factors.element == i32 and (is_narrow or not packs or rows > costs.max_offset_rows):
            emit_integer_sums(factors, nest, ends, across, costs.integer_rows)
            return
        if is_narrow:
            emit_sums(factors, nest, ends, across)
            return
        if packs:
            factors = factors.in_packs(nest.kernel)
        if factors.element == i32:
            factors = with_offsets(factors, nest, ends, rows)
        if fits_registers(factors, known, columns, costs):
            tile, copies, kind = register_tile(rows, columns, costs), True, RegisterProduct
        else:
            tile, copies = _tile(factors, rows, columns, costs)
            is_called = not repeated and can_be_called(factors, known, columns, costs)
            kind = CalledProduct if is_called else TiledProduct
        # a copy of several blocks reads long runs, which the processor prefetches
        fetches = (
            kind is not RegisterProduct and copies and factors.right.lies_in_lines and not repeated and self._is_far()
        )
        goes_on = factors.accumulate
        few = rows < costs.min_copied_panel_rows
        product = kind(factors, nest, tile, costs, ends, known, op.col_lo, columns, copies, goes_on, fetches, few=few)
        if factors.is_rounded:
            RoundedProduct(product).emit()
        else:
            product.emit()

    @property
    def _has_no_library(self) -> bool:
        return memref_of(self.op.a).element_type in (bf16, i8)

    def _is_narrow(self, factors: Factors, rows: int, columns: int) -> bool:
        """Whether there are too few columns for tiles, or too few rows to share what is loaded of them."""
        shares = factors.right.lies_in_lines or rows >= self.costs.min_sharing_rows
        return columns < self.costs.min_matmul_columns or not shares

    def _is_packed(self, factors: Factors) -> bool:
        """Whether the processor has dot products of packed elements, of which there are enough."""
        element = memref_of(self.op.a).element_type
        has_dots = (element == bf16 and self.costs.bf16) or (element == i8 and self.costs.int8)
        return has_dots and factors.depth >= factors.left.each

    def _is_far(self) -> bool:
        """Whether the right factor is so large that its next panel is brought nearer."""
        b = memref_of(self.op.b)
        depth, columns = b.get_shape()[-2:]
        return depth * columns * element_bytes(b.element_type) > self.costs.l2_operand_bytes

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
    costs: TileCosts

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

    def is_better_as_loops(self, repeated: bool) -> bool:
        """Whether the library is slower: blocks of few sizes, which it lays out anew, if registers are many."""
        (rows, columns, depth), costs = self._most, self.costs
        element = cast("AnyFloat", memref_of(self.op.c).element_type)
        lanes = costs.lanes_of(element)
        if max(rows, columns, depth) > costs.max_uncut_depth or not _are_wide(costs, element):
            return False
        unknown = None in self._known
        is_short = self._work < costs.min_unknown_columns_multiplications
        if self._known[1] is None and (self.op.accumulate is not None or is_short):
            return False
        return min(rows, depth) >= costs.min_wide_rows and columns >= lanes * (1 + unknown)

    @property
    def _work(self) -> int:
        """Multiplications of all launches, about: of the loops around the op, the outermost is their iterations."""
        rows, columns, depth = self._most
        trips = list[int]()
        around = self.op.parent_op()
        while isinstance(around, scf.ForOp):
            known = trip_count(around)
            trips.append(self.costs.assumed_trips if known is None else known)
            around = around.parent_op()
        return rows * columns * depth * self.iterations * prod(trips[:-1])

    def replace(self, kernel: Kernel, repeated: bool) -> None:
        """Put loops in the place of the op."""
        (rows, width, _), (most, columns, depth) = self._known, self._most
        block, factors = Block(), Factors.of_blocks(self.op, depth)
        nest, zero, costs = Nest(block, kernel), kernel.index(0), self.costs
        tile, copies = _tile(factors, most, columns, costs)
        if None in self._known:
            # tiles that sizes which are cut into blocks are multiples of
            height = costs.min_wide_rows
            tile = TileSize(height if costs.registers > height * 2 else height // 2, 2 * tile.lanes, tile.lanes)
        unknown = self.op.cols if width is None else None
        TiledProduct(
            factors,
            nest,
            tile,
            costs,
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


def _are_wide(costs: TileCosts, element: AnyFloat, rhs_bytes: int | None = None) -> bool:
    """
    Whether tiles of many rows beat the library.

    Those of 32 bits do with the registers of AVX2, but not with half of AVX-512, of which the library uses the whole.
    Those of 64 bits do with AVX-512 while the RHS is in L2, if its size is known: breadth.py "129x257x513" and
    "512x512x512"; blocks of a factorisation do not: "cholesky 500".
    """
    if (costs.lanes, costs.registers) == (COMMON.lanes, COMMON.registers):
        return element_bytes(element) <= 4
    registers = costs.lanes_of(element) * element_bytes(element) * costs.registers
    is_near = element_bytes(element) <= 4 or (rhs_bytes is not None and rhs_bytes <= costs.l2_bytes)
    return registers >= costs.wide_register_bytes and is_near


def _tile(factors: Factors, rows: int, columns: int, costs: TileCosts) -> tuple[TileSize, bool]:
    """The tiles of a product, and whether its right factor is copied panel by panel."""
    element = cast("AnyFloat", factors.element)
    copies, most = not factors.right.lies_in_lines, vectors_of_panel(factors.depth, costs, element)
    is_read_often = rows >= costs.min_copied_panel_rows and columns > most * costs.lanes_of(element)
    if is_read_often or (factors.packed and rows > costs.max_tile_rows):
        # so that elements are packed once, not by each tile
        copies = True
    return best_tile(rows, columns, costs, element, most if copies else None), copies


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
