"""Kernels of fusion groups: what `RowKernel` and `ColumnKernel` share. Their loops are in `row_loops.py` and
`column_loops.py`; what a group is and which values it reads is in `group.py`."""

from __future__ import annotations

import abc
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import TypeAlias

from xdsl.dialects.builtin import MemRefType, i1
from xdsl.ir import Operation, SSAValue

from xdsl_rlx.dialects.dense_text import elements_of
from xdsl_rlx.dialects.lir.scalar_builder import Scalar
from xdsl_rlx.dialects.mir.core import PositionDependent
from xdsl_rlx.dialects.shapes import compute_type, element_of
from xdsl_rlx.lowering.buffers import Launch
from xdsl_rlx.lowering.fusion.analysis.loop_tables import REDUCTION
from xdsl_rlx.lowering.fusion.analysis.nesting import Reduces
from xdsl_rlx.lowering.fusion.codegen.accumulators import Accumulator, Reducer
from xdsl_rlx.lowering.fusion.codegen.group import BATCH, ROW, UNIT, Backwards, Dim, Group
from xdsl_rlx.lowering.fusion.codegen.group_arguments import GroupArguments
from xdsl_rlx.lowering.fusion.codegen.loop_frames import Frame, Range, Sums
from xdsl_rlx.lowering.fusion.codegen.products import Product
from xdsl_rlx.lowering.kernel_dsl.kernel_builder import Kernel
from xdsl_rlx.transforms.rules.rule_table import SCALAR

Element: TypeAlias = tuple[SSAValue, Sequence[SSAValue]]
"""A buffer, and the indices of one of its elements."""


class Totals:
    """
    Where a kernel adds up a reduction that ends with the last row: one total, or one in each column.

    If it is long, rows are added to a block, of which there may be several copies, and blocks to the totals.
    """

    def __init__(self, kernel: GroupKernel, acc: Accumulator):
        self.kernel, self.acc = kernel, acc
        self.loops = [loop for loop in kernel.group.space.maps[acc.result] if loop is not None]
        args, arguments, scratch = kernel.kernel.block.args, kernel.arguments, kernel.kernel.scratch
        self.results = args[arguments.total_at[acc.op]]
        self.own_totals = None if acc.own_totals is None else scratch(MemRefType(acc.type, acc.own_totals), "totals")
        self.block = args[arguments.block_at[acc.op]] if acc.block is not None else None
        if acc.own is not None:
            shape = acc.own if acc.turns == 1 else (acc.turns, *acc.own)
            self.block = scratch(MemRefType(acc.element, shape), "block")

    def clear(self, frame: Frame) -> None:
        """Start the total of a column, and its first block."""
        frame.nest.store(self.acc.start(frame.nest, self.acc.type), *self._total(frame))
        self._clear_blocks(frame, self._blocks(frame) if self.acc.long else ())

    def add(self, frame: Frame) -> None:
        """Add an element to its column: to the block if there is one."""
        nest, acc = frame.nest, self.acc
        buffer, column = self._block(frame) if acc.long else self._total(frame)
        if acc.turns > 1:
            column = [nest.remainder(frame.indices[ROW], acc.turns), *column]
        x = self.kernel.value(frame, acc.operand)
        total = acc.combine(nest, nest.load(buffer, column).value, x.value)
        nest.store(nest.scalars.of(total), buffer, column)

    def flush(self, frame: Frame) -> None:
        """Add the block of a column to its total, and start the next block."""
        nest, acc, blocks = frame.nest, self.acc, self._blocks(frame)
        added, *others = (nest.load(*block).value for block in blocks)
        for other in others:
            added = acc.combine(nest, added, other)
        buffer, column = self._total(frame)
        total = acc.combine(nest, nest.load(buffer, column).value, added)
        nest.store(nest.scalars.of(total), buffer, column)
        self._clear_blocks(frame, blocks)

    def finish(self, frame: Frame) -> None:
        """Store the total of a column that the kernel has had to itself."""
        self.store(frame, frame.nest.load(*self._total(frame)))

    def store(self, frame: Frame, x: Scalar) -> None:
        """Store a total, or that of a column."""
        frame.nest.store(x, *self._result(frame))

    def _clear_blocks(self, frame: Frame, blocks: Sequence[Element]) -> None:
        for block in blocks:
            frame.nest.store(self.acc.start(frame.nest, self.acc.element), *block)

    def _result(self, frame: Frame) -> Element:
        piece = [] if self.acc.partial is None else [self.kernel.piece_of(self.acc)]
        return self.results, [*piece, *self._column(frame)]

    def _total(self, frame: Frame) -> Element:
        return self._result(frame) if self.own_totals is None else (self.own_totals, self._own_column(frame))

    def _block(self, frame: Frame) -> Element:
        assert self.block is not None
        return self.block, self._result(frame)[1] if self.acc.own is None else self._own_column(frame)

    def _blocks(self, frame: Frame) -> list[Element]:
        """All copies of the block."""
        (block, column), copies = self._block(frame), self.acc.turns
        if copies == 1:
            return [(block, column)]
        return [(block, [frame.nest.kernel.index(copy), *column]) for copy in range(copies)]

    def _column(self, frame: Frame) -> list[SSAValue]:
        return [frame.indices[loop] for loop in self.loops]

    def _own_column(self, frame: Frame) -> list[SSAValue]:
        """Where a buffer of the kernel's own, which begins with the piece, has the column."""
        s, columns = frame.nest.scalars, zip(self.loops, self._column(frame), strict=True)
        first = s.of(self.kernel.kernel.bounds[0])
        return [(s.of(j) - first).value if loop == self.kernel.cut else j for loop, j in columns]


class GroupKernel(abc.ABC):
    """One group being made into a kernel: arguments, constants, and the computation of values in a frame."""

    row_linear: bool
    cut: int | None = None
    """The loop that runs over the piece only, if it is one within a row."""

    def __init__(self, group: Group, chunk: int, accumulators: Sequence[Accumulator], products: Sequence[Product]):
        self.group = group
        self.chunk = chunk
        self.accumulators = accumulators
        self.products = products
        self.arguments = arguments = GroupArguments.of(group, accumulators, products, row_linear=self.row_linear)
        self.kernel = Kernel([a.type for a in arguments.all], [a.name for a in arguments.all])
        args = self.kernel.block.args
        self.store_at = {value: (args[number], dims) for value, (number, dims) in arguments.write_at.items()}
        self.access = {value: (args[number], dims) for value, (number, dims) in arguments.read_at.items()}
        self.made = [product.op.results[0] for product in products]
        self.access |= {value: self.store_at[value] for value in self.made}
        self.stored = [value for value in self.store_at if value not in self.made]
        self.summed = {acc.op: Totals(self, acc) for acc in accumulators}
        self.totals, self.columns = (
            [total for op, total in self.summed.items() if group.structure.kinds[op] is kind]
            for kind in (Reduces.ALL, Reduces.COLUMN)
        )
        self.long_columns = [column for column in self.columns if column.acc.long]

    @property
    def visits_elements(self) -> bool:
        """Whether anything is done with single elements: not so where there is nothing but products."""
        return bool(self.stored or self.accumulators)

    def launch(self, extent: int) -> Launch:
        """The finished kernel with its buffers."""
        self.kernel.extent = extent
        self.is_exact = extent % self.chunk == 0
        self.top = Frame(self.kernel.entry, {})
        self.prepare()
        self.loops()
        return Launch(self.kernel.finish(), extent, self.chunk, self.arguments.reads, self.arguments.writes)

    @abc.abstractmethod
    def prepare(self) -> None:
        """Decide which of the loops there are."""

    @abc.abstractmethod
    def loops(self, /) -> None:
        """Insert the loops."""

    @abc.abstractmethod
    def early_values(self) -> Iterator[SSAValue]:
        """The values that are the same everywhere in the kernel."""

    @cached_property
    def piece(self) -> SSAValue:
        """The number of the piece of the launch that this call computes."""
        return self.kernel.entry.quotient(self.kernel.bounds[0], self.chunk)

    def piece_of(self, acc: Accumulator) -> SSAValue:
        """The number of the piece, for results of which each piece has its own."""
        return self.piece

    def begin_kernel(self) -> None:
        """Compute the values that are the same everywhere, and the number of the piece if it is needed."""
        for value in self.early_values():
            self.value(self.top, value)
        if any(acc.partial is not None for acc in self.accumulators):
            _ = self.piece

    def multiply(
        self,
        frame: Frame,
        product: Product,
        rows: tuple[SSAValue, SSAValue] | None = None,
        columns: tuple[SSAValue, SSAValue] | None = None,
    ) -> None:
        """A matrix product, or these rows or columns of it; of a batch, the matrix of the frame."""
        factors = [self.kernel.block.args[number] for number in self.arguments.product_at[product.op]]
        product.emit(frame.nest, factors, frame.indices.get(BATCH), rows, columns)

    def starts(self, frame: Frame, reducers: Iterable[Reducer], are_wide: bool = False) -> Sums:
        """What reductions start from, in the type of long ones if they `are_wide`."""
        return {r: r.start(frame.nest, r.wide if are_wide else r.element).value for r in reducers}

    def total_starts(self) -> Sums:
        """What reductions to a number start from."""
        return {total.acc: total.acc.start(self.top.nest, total.acc.type).value for total in self.totals}

    def store_totals(self, sums: Sums) -> None:
        """Store what reductions to a number have come to."""
        for total in self.totals:
            total.store(self.top, self.top.nest.scalars.of(sums[total.acc]))

    def add(self, frame: Frame, sums: Sums) -> None:
        """Add the elements of the frame to the sums."""
        found = [self.value(frame, reducer.operand).value for reducer in sums]
        for (reducer, total), x in zip(sums.items(), found, strict=True):
            sums[reducer] = reducer.combine(frame.nest, total, x)

    @abc.abstractmethod
    def each_column(self, frame: Frame, columns: Sequence[Totals]) -> Iterator[tuple[Totals, Frame]]:
        """Loops over the columns of some reductions."""

    def in_blocks(
        self,
        frame: Frame,
        ranges: Sequence[Range],
        most: int | None,
        sums: Sums,
        columns: Sequence[Totals] = (),
    ) -> Iterator[tuple[Frame, Sequence[Range], Sums]]:
        """
        A loop nest, in blocks of at most about `most` iterations if that is given.

        Each block has narrow sums, which are added to the sums behind it, and so are the blocks of these `columns`.
        """
        if most is None:
            yield frame, ranges, sums
            return
        for block, some in frame.blocks(ranges, most, self.group.costs.unrolled_iterations, sums):
            part = self.starts(block, sums)
            yield block, some, part
            for reducer, x in part.items():
                sums[reducer] = reducer.combine(block.nest, sums[reducer], x)
            for column, at in self.each_column(block, columns):
                column.flush(at)

    def indices(self, frame: Frame, dims: Sequence[Dim]) -> list[SSAValue]:
        """The indices of a buffer in this frame."""
        return [self._index(frame, dim) for dim in dims]

    def _index(self, frame: Frame, dim: Dim) -> SSAValue:
        if isinstance(dim, Backwards):
            last = frame.nest.scalars.of(self.kernel.index(dim.extent - 1))
            return (last - frame.nest.scalars.of(self._index(frame, dim.loop))).value
        return self.kernel.index(0) if dim == UNIT else frame.indices[dim]

    def value(self, frame: Frame, value: SSAValue) -> Scalar:
        """The value at the indices of the frame: known, read, or computed here, operands first."""
        waiting = [value]
        while waiting:
            current = waiting[-1]
            if frame.find(current) is None:
                known = self.read(frame, current)
                if known is None:
                    op = current.owner
                    assert isinstance(op, Operation)
                    missing = [operand for operand in op.operands if frame.find(operand) is None]
                    if missing and op not in self.group.constants:
                        waiting += reversed(missing)
                        continue
                    known = self.apply(frame, op)
                frame.values[current] = known
            waiting.pop()
        known = frame.find(value)
        assert known is not None
        return known

    def read(self, frame: Frame, value: SSAValue) -> Scalar | None:
        """The value from memory: an operand of the group, a product, or what an earlier pass kept."""
        if value not in self.access:
            return self.read_back(frame, value)
        buffer, dims = self.access[value]
        return frame.nest.load(buffer, self.indices(frame, dims))

    def read_back(self, frame: Frame, value: SSAValue) -> Scalar | None:
        """What an earlier pass over the row kept of the value, if it kept it."""
        return None

    def apply(self, frame: Frame, op: Operation) -> Scalar:
        """Compute an op at the indices of the frame; its operands are known."""
        scalars = frame.nest.scalars
        (value,) = op.results
        if op in self.group.constants:
            return scalars.const(constant_scalar(op), compute_type(element_of(value)))
        operands: list[Scalar] = []
        for operand in op.operands:
            known = frame.find(operand)
            assert known is not None
            operands.append(scalars.of(known.value))
        if REDUCTION.get(type(op)) is not None:
            return operands[0]
        if op.has_trait(PositionDependent):
            operands.append(scalars.of(self.position(frame, value)))
        result = SCALAR.lookup(op)(op, scalars, *operands)
        result.value.name_hint = value.name_hint
        return result

    def position(self, frame: Frame, value: SSAValue) -> SSAValue:
        """Where the frame is along the one axis of the value."""
        loops = [loop for loop in self.group.space.maps[value] if loop is not None]
        return self.indices(frame, loops or [UNIT])[0]

    def write(self, frame: Frame, value: SSAValue) -> None:
        """Store an output at the indices of the frame."""
        buffer, dims = self.store_at[value]
        frame.nest.store(self.value(frame, value), buffer, self.indices(frame, dims))

    def ranges(self, loops: Sequence[int]) -> list[Range]:
        """Loops from their first to their last iteration."""
        extents, index = self.group.space.extents, self.kernel.index
        return [Range(loop, (index(0), index(extents[loop])), extents[loop], f"i{loop}") for loop in loops]


def constant_scalar(op: Operation) -> float | int:
    """The one value of a splat constant."""
    value = elements_of(op.properties["value"])
    assert value is not None
    first = value.get_values()[0]
    assert isinstance(first, int | float)
    return int(bool(first)) if value.get_element_type() == i1 else first
