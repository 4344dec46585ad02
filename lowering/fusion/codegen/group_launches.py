"""The launches of a fusion group: which kind of kernel, into how many pieces it is cut, and the room that it takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from xdsl.dialects.builtin import AnyFloat
from xdsl.ir import Attribute, Operation, SSAValue

from xdsl_rlx.dialects.lir.memory import element_bytes
from xdsl_rlx.dialects.shapes import compute_type, element_of, shape_of
from xdsl_rlx.lowering.buffers import Buffer, Launch, is_updated
from xdsl_rlx.lowering.fusion.analysis.loop_tables import PRODUCT, REDUCTION
from xdsl_rlx.lowering.fusion.analysis.nesting import Reduces
from xdsl_rlx.lowering.fusion.codegen.accumulators import (
    Accumulator,
    Reducer,
    combine_kernel,
    fill_kernel,
    most_steps,
)
from xdsl_rlx.lowering.fusion.codegen.column_kernel import ColumnKernel
from xdsl_rlx.lowering.fusion.codegen.group import Group
from xdsl_rlx.lowering.fusion.codegen.group_kernel import GroupKernel
from xdsl_rlx.lowering.fusion.codegen.products import Product
from xdsl_rlx.lowering.fusion.codegen.row_kernel import RowKernel
from xdsl_rlx.lowering.fusion.codegen.short_row_kernel import Across, ShortRowKernel, across_rows
from xdsl_rlx.lowering.kernels.work import Buffers
from xdsl_rlx.lowering.loops.lir_mark_unrolled import leaves_short_loops
from xdsl_rlx.lowering.scalar_functions import ends_in_mask
from xdsl_rlx.lowering.target import GroupCosts, LaunchCosts
from xdsl_rlx.transforms.rules.rule_table import SCALAR
from xdsl_rlx.transforms.scalar_cost import DEAR, scalar_cost


def pieces_of(threads: int, extent: int, work: int, most: int, costs: LaunchCosts) -> int:
    """Into how many pieces, as many for each thread and at most `most`, a launch of so much work in all is cut."""
    if threads == 1 or extent < 2 or work < costs.parallel_ops:
        return 1
    pieces = min(extent, most, max(1, 2 * work // costs.parallel_ops))
    return pieces - pieces % threads if pieces > threads else pieces


def _fits_kernel(shape: Sequence[int], element: Attribute, costs: GroupCosts) -> bool:
    """
    Whether a kernel has a buffer of columns to itself.

    Not so few that the loop over them may be unrolled: LLVM then keeps them in registers, one by one.
    """
    is_long = bool(shape) and shape[-1] > costs.unrolled_iterations
    return is_long and prod(shape) * element_bytes(element) <= costs.private_sums_bytes


def group_launches(group: Group, buffers: Buffers) -> list[Launch]:
    """The launches that compute a group, one after the other."""
    return _GroupLaunches(group, buffers).all()


class _GroupLaunches:
    def __init__(self, group: Group, buffers: Buffers):
        self.group = group
        self.buffers = buffers
        self.threads = buffers.threads
        self.costs = group.costs

    def all(self) -> list[Launch]:
        group = self.group
        kinds = group.structure.kinds
        rows = bool(group.products) or any(kind is Reduces.ROW for kind in kinds.values())
        covered = frozenset(range(len(group.space.extents)))
        reduced = [op.operands[0] for op in kinds]
        written = [value for value in group.writes if value.owner not in kinds]
        partly = any(group.loops_of[value] != covered for value in (*reduced, *written))
        if not rows and not partly and group.inner and not self._is_tall():
            return self._column_launches()
        products = Product.all_of(group, {op: self._product_destination(op) for op in group.products})
        if products and not partly and (self._is_one_row(products) or self._is_wide(products)):
            return self._column_launches(products)
        return self._row_launches(products)

    def _is_tall(self) -> bool:
        """Whether pieces of sums over rows are better rows: far more than columns, of which each has its own sums."""
        group, kinds = self.group, self.group.structure.kinds
        if (
            not kinds
            or any(kind is not Reduces.COLUMN for kind in kinds.values())
            or group.structure.middle is not None
        ):
            return False
        rows, columns = group.count(group.outer), group.count(group.inner)
        if rows > self.costs.sum_steps and columns <= self.costs.max_copied_columns:
            # they take turns; and the loop over few columns is one over vectors where their number is known
            return True
        return self.threads > 1 and rows >= self.costs.min_tall_chunk_rows * self.threads and columns <= rows // 4

    def _is_one_row(self, products: Sequence[Product]) -> bool:
        """Whether all is about the columns of products of one row, so that it can be cut into pieces there."""
        group = self.group
        flat = len(group.space.extents) == len(group.inner) == 1 and not any(product.batched for product in products)
        return flat and Reduces.ROW not in group.structure.kinds.values()

    def _is_wide(self, products: Sequence[Product]) -> bool:
        """
        Whether it is a product by itself of which pieces are better columns: each reads all of the left factor then.

        In pieces of rows it reads all of the right one, and copies that panel by panel.
        """
        group = self.group
        if len(group.ops) != 1 or products[0].batched or self.threads == 1:
            return False
        rows, columns = products[0].destination.shape
        lies_across = products[0].lhs.strides[-1] != 1
        even = columns % (self.threads * self.costs.line_columns) == 0
        return lies_across and even and 1 < rows < columns and len(group.inner) == 1

    def _whole_lines(self, chunk: int) -> int:
        line = self.costs.line_columns
        return -(-chunk // line) * line

    def _pieces(self, extent: int, most: int) -> int:
        """Into how many pieces a launch of this group is cut."""
        group = self.group
        factors = {x for op in group.products for x in PRODUCT.lookup(op)(op)}
        work = prod(group.space.extents) * (len(group.ops) + len(group.reads.keys() - factors))
        costs = self.costs
        shared = costs.multiplications_per_op if group.outer else costs.row_multiplications_per_op
        for op in group.products:
            depth = group.factors[PRODUCT.lookup(op)(op)[0]].layout.shape[-1]
            work += prod(group.space.extents) * depth // shared
        return pieces_of(self.threads, extent, work, most, costs)

    def _row_launches(self, products: Sequence[Product]) -> list[Launch]:
        group = self.group
        batched = any(product.batched for product in products)
        extent = products[0].destination.shape[0] if batched else group.count(group.outer)
        accumulating = [op for op, kind in group.structure.kinds.items() if kind is not Reduces.ROW]
        most = self.threads * (1 if accumulating or group.products else self.costs.chunks_per_thread)
        pieces = self._pieces(extent, most)
        chunk = max(1, -(-extent // pieces))
        across = Across.NO if batched else across_rows(group)
        if across is not Across.NO and pieces > 1:
            chunk = self._whole_lines(chunk)
        rows = chunk * (group.count(group.outer) // extent if extent else 1)
        accumulators = self._accumulators(accumulating, -(-extent // chunk), rows > self.costs.sum_steps)
        kind = ShortRowKernel if across is Across.YES else RowKernel
        found = self._with_combines(kind(group, chunk, accumulators, products), extent, accumulators)
        if across is Across.UNLESS_UNROLLED and leaves_short_loops(found[0].kernel, self.costs):
            return self._with_combines(ShortRowKernel(group, chunk, accumulators, products), extent, accumulators)
        return found

    def _column_launches(self, products: Sequence[Product] = ()) -> list[Launch]:
        """
        Pieces of the loops in front of the reduced ones if there are enough of them, else pieces of the columns.

        Without reductions, pieces are rows where there are enough, which lie together in memory, or columns are few:
        threads would write to the same lines, and a loop over few columns is written out only where its bounds are
        known.
        """
        group, most = self.group, self.threads * self.costs.chunks_per_thread
        kinds = group.structure.kinds
        front = group.outer if group.structure.middle is not None else ()
        cut = group.inner[0]
        if front and group.space.extents[front[0]] >= self.threads:
            cut = front[0]
        elif not kinds and group.outer:
            rows, columns = group.space.extents[group.outer[0]], group.space.extents[cut]
            if (self.threads > 1 and rows >= most and not products) or columns < self.costs.line_columns * self.threads:
                cut = group.outer[0]
        extent = group.space.extents[cut]
        totals = [op for op, kind in kinds.items() if kind is Reduces.ALL]
        pieces = self._pieces(extent, self.threads if kinds or products else most)
        chunk = max(1, -(-extent // pieces))
        shares_lines = cut in group.inner or group.count(group.inner) < self.costs.line_columns
        if chunk > self.costs.line_columns and pieces > 1 and shares_lines:
            chunk = self._whole_lines(chunk)
        if kinds and cut == group.inner[0] and not totals and not products:
            chunk = self._near_columns(chunk)
        sizes = [chunk if loop == cut else n for loop, n in enumerate(group.space.extents)]
        accumulators = self._accumulators(totals, -(-extent // chunk), prod(sizes) > most_steps(sizes, self.costs))
        columns = [op for op, kind in kinds.items() if kind is Reduces.COLUMN]
        rows = group.outer if group.structure.middle is None else group.middle
        accumulators += self._accumulators(columns, 1, group.count(rows) > self.costs.sum_steps, {cut: chunk})
        return self._with_combines(ColumnKernel(group, chunk, accumulators, cut, products), extent, accumulators)

    def _near_columns(self, chunk: int) -> int:
        """How many of so many columns of the first loop over them a chunk has: its sums are in L1 while rows go by."""
        beside = max(1, self.group.count(self.group.inner[1:]))
        if 4 * chunk * beside <= self.costs.l1_bytes:
            return chunk
        return min(chunk, self._whole_lines(max(1, self.costs.near_sums // beside)))

    def _with_combines(self, kernel: GroupKernel, extent: int, accumulators: Sequence[Accumulator]) -> list[Launch]:
        if extent == 0:
            return [fill_kernel(acc) for acc in accumulators]
        return [kernel.launch(extent), *(combine_kernel(acc) for acc in accumulators if acc.partial is not None)]

    def _accumulators(
        self, ops: Sequence[Operation], pieces: int, many: bool, cut: Mapping[int, int] | None = None
    ) -> list[Accumulator]:
        """
        Where reductions go that many elements are added to in a piece, or not.

        `cut`: pieces have columns of their own, of which these loops have as many in one.
        """
        group, costs = self.group, self.costs
        found: list[Accumulator] = []
        for op in ops:
            (result,) = op.results
            loops = [loop for loop in group.space.maps[result] if loop is not None]
            shape = tuple(group.space.extents[loop] for loop in loops)
            mine = tuple((cut or {}).get(loop, group.space.extents[loop]) for loop in loops)
            target = group.writes[result]
            element = compute_type(target.element)
            is_column = group.structure.kinds[op] is Reduces.COLUMN
            few = is_column and cut is None and 1 <= prod(mine) <= costs.max_copied_columns
            long = many and (few or (REDUCTION.lookup(op).rounds and isinstance(element, AnyFloat)))
            wide = Reducer(op).wide if long else element
            partial = block = own = own_totals = None
            if cut is not None and wide != target.element and _fits_kernel(mine, wide, costs):
                own_totals = mine
            elif pieces > 1 or (wide != target.element and shape):
                partial = self.buffers.room((pieces, *shape), wide, result)
            if long and is_column:
                if few or _fits_kernel(mine, element, costs):
                    own = mine
                else:
                    lead = () if partial is None else (pieces,)
                    block = self.buffers.room((*lead, *shape), element, result)
            turns = costs.column_copies if few and own is not None else 1
            found.append(Accumulator(op, shape, target, partial, block, own, own_totals, long, turns))
        return found

    def _product_destination(self, op: Operation) -> Buffer:
        """Where a product is computed into: its own buffer, one of an output that replaces it, or a slot."""
        group = self.group
        (result,) = op.results
        if result in group.writes:
            return group.writes[result]
        if self._would_wait_for_stores(result):
            return self.buffers.room(shape_of(result), element_of(result), result)
        last_read = group.last_pass_reading(result)
        taken = {group.writes.get(p.results[0]) for p in group.products}
        everywhere = frozenset(range(len(group.space.extents)))
        for value, buffer in group.writes.items():
            # a product that other loops run over again is read again after the first time it would be replaced
            once = group.loops_of[value] == group.loops_of[result] == everywhere
            fits = once and buffer.element == element_of(result)
            single = len(group.products) == 1
            fits = fits and not is_updated(buffer) and buffer.is_contiguous and buffer not in taken
            if fits and single and group.level(value) >= last_read:
                return buffer
        return self.buffers.room(shape_of(result), element_of(result), result)

    def _would_wait_for_stores(self, product: SSAValue) -> bool:
        """
        Whether functions replace the rows of a product that is near, and these end in a masked vector.

        That is stored with a mask, and the next row, which the vector reaches into, is read when that is done:
        breadth.py "block-diagonal product" takes 0.7 of the time with a copy.
        """
        shape, ops = shape_of(product), self.group.ops
        is_near = prod(shape) * element_bytes(element_of(product)) <= self.costs.l2_bytes // 2
        dear = any(SCALAR.get(type(op)) is not None and scalar_cost(op) >= DEAR for op in ops)
        return is_near and dear and ends_in_mask(shape[-1])
