"""Loop nests of fusion groups: what `RowKernel` and `ColumnKernel` share. What a group is and which values it
reads is in `group.py`."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from xdsl.dialects.builtin import MemRefType, i1
from xdsl.ir import Operation, SSAValue

from xdsl_rlx.dialects.dense_text import elements_of
from xdsl_rlx.dialects.lir.scalar_builder import Scalar
from xdsl_rlx.dialects.mir.core import PositionDependent
from xdsl_rlx.dialects.shapes import compute_type, element_of
from xdsl_rlx.lowering.buffers import Launch
from xdsl_rlx.lowering.fusion.analysis.loop_tables import REDUCTION
from xdsl_rlx.lowering.fusion.codegen.accumulators import Accumulator, narrow_identity
from xdsl_rlx.lowering.fusion.codegen.group import ROW, UNIT, Backwards, Dim, Group
from xdsl_rlx.lowering.fusion.codegen.group_arguments import GroupArguments
from xdsl_rlx.lowering.fusion.codegen.products import Product
from xdsl_rlx.lowering.kernel_dsl.kernel_builder import Kernel, Nest
from xdsl_rlx.transforms.rules.rule_table import SCALAR


@dataclass(frozen=True)
class Range:
    """What a loop, or a part of it, runs over: at most `size` iterations, or just as many if that is `exact`."""

    loop: int
    bounds: tuple[SSAValue, SSAValue]
    size: int
    name: str
    exact: bool = True


class Frame:
    """Values known at one place of a nest, on top of those known around it."""

    def __init__(
        self,
        nest: Nest,
        indices: Mapping[int, SSAValue],
        parent: Frame | None = None,
        level: int = 0,
    ):
        """`indices` by loop, or by ROW, UNIT and BATCH; `level` is the pass over the row."""
        self.nest = nest
        self.indices = indices
        self.parent = parent
        self.level = level
        self.values: dict[SSAValue, Scalar] = {}

    def find(self, value: SSAValue) -> Scalar | None:
        """The value, if it is known here or around."""
        frame: Frame | None = self
        while frame is not None:
            if value in frame.values:
                return frame.values[value]
            frame = frame.parent
        return None


class GroupKernel(abc.ABC):
    """One group being made into a kernel: arguments, constants, and the computation of values in a frame."""

    row_linear: bool

    def __init__(self, group: Group, chunk: int, accumulators: Sequence[Accumulator], products: Sequence[Product]):
        self.group = group
        self.chunk = chunk
        self.accumulators = {acc.op: acc for acc in accumulators}
        self.products = products
        self.arguments = arguments = GroupArguments.of(group, accumulators, products, row_linear=self.row_linear)
        self.kernel = Kernel([a.type for a in arguments.all], [a.name for a in arguments.all])
        args = self.kernel.block.args
        self.store_at = {value: (args[number], dims) for value, (number, dims) in arguments.write_at.items()}
        self.access = {value: (args[number], dims) for value, (number, dims) in arguments.read_at.items()}
        self.factors = {op: [args[number] for number in numbers] for op, numbers in arguments.product_at.items()}
        made = [product.op.results[0] for product in products]
        self.access |= {value: self.store_at[value] for value in made}
        self.stored = [value for value in self.store_at if value not in made]
        self.results: dict[Operation, SSAValue] = {op: args[number] for op, number in arguments.total_at.items()}
        self.totals = {**self.results}
        self.targets = {**self.results, **{op: args[number] for op, number in arguments.block_at.items()}}
        for op, acc in self.accumulators.items():
            if acc.own_totals is not None:
                self.totals[op] = self.targets[op] = self.kernel.scratch(MemRefType(acc.wide, acc.own_totals), "totals")
            if acc.own is not None:
                shape = acc.own if acc.turns == 1 else (acc.turns, *acc.own)
                self.targets[op] = self.kernel.scratch(MemRefType(acc.element, shape), "block")

    @property
    def visits_elements(self) -> bool:
        """Whether anything is done with single elements: not so where there is nothing but products."""
        return bool(self.stored or self.accumulators)

    def launch(self, extent: int) -> Launch:
        """The finished kernel with its buffers."""
        self.kernel.extent = extent
        self.is_exact = extent % self.chunk == 0
        self.build()
        return Launch(self.kernel.finish(), extent, self.chunk, self.arguments.reads, self.arguments.writes)

    @abc.abstractmethod
    def build(self) -> None:
        """Emit the loops."""

    def piece(self, nest: Nest) -> SSAValue:
        """The number of the piece of the launch that this call computes."""
        return nest.quotient(self.kernel.bounds[0], self.chunk)

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

    def over(
        self,
        nest: Nest,
        ranges: Sequence[Range],
        known: Mapping[int, SSAValue],
        carried: Sequence[SSAValue],
        body: Callable[[Nest, Mapping[int, SSAValue], tuple[SSAValue, ...]], Sequence[SSAValue]],
    ) -> Sequence[SSAValue]:
        """A nest over `ranges`."""
        if not ranges:
            return body(nest, known, tuple(carried))
        first, rest = ranges[0], ranges[1:]
        return nest.loop(
            first.bounds,
            carried,
            lambda inner, i, values: self.over(inner, rest, {**known, first.loop: i}, values, body),
            first.name,
        )

    def in_blocks(
        self,
        nest: Nest,
        ranges: Sequence[Range],
        most: int,
        known: Mapping[int, SSAValue],
        carried: Sequence[SSAValue],
        body: Callable[[Nest, Mapping[int, SSAValue], Sequence[Range], tuple[SSAValue, ...]], Sequence[SSAValue]],
    ) -> Sequence[SSAValue]:
        """A nest over `ranges`, cut up so that `body` gets at most about `most` iterations of it, as ranges again."""
        if prod(r.size for r in ranges) <= most:
            return body(nest, known, ranges, tuple(carried))
        first, *rest = ranges
        below = prod(r.size for r in rest)
        if below >= most:
            return nest.loop(
                first.bounds,
                carried,
                lambda inner, i, v: self.in_blocks(inner, rest, most, {**known, first.loop: i}, v, body),
                first.name,
            )
        unrolled = self.group.costs.unrolled_iterations
        whole = _whole_blocks(first.size, most // below, unrolled) if first.exact else None
        step = whole or most // below

        def part(inner: Nest, bounds: tuple[SSAValue, SSAValue], v: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            return body(inner, known, [replace(first, bounds=bounds, size=step, exact=whole is not None), *rest], v)

        return nest.blocks(first.bounds, step, carried, part, exact=whole is not None)

    def widely(
        self,
        nest: Nest,
        ops: Sequence[Operation],
        totals: Sequence[SSAValue],
        body: Callable[[Sequence[SSAValue]], Sequence[SSAValue]],
    ) -> list[SSAValue]:
        """The wide totals of reductions after what `body` makes of the identities."""
        starts = [narrow_identity(nest, op).value for op in ops]
        found = zip(ops, totals, body(starts), strict=True)
        scalars = nest.scalars
        return [self.combine(nest, op, total, scalars.cast(scalars.of(end), total.type)) for op, total, end in found]

    def clear_column(self, nest: Nest, op: Operation, at: Sequence[SSAValue]) -> None:
        """Start the total of a column, and its first block."""
        acc = self.accumulators[op]
        nest.store(acc.start(nest), self.totals[op], self._place_of_total(nest, op, at))
        if acc.long:
            for place in self._places_in_block(nest, op, at):
                nest.store(acc.identity(nest), self.targets[op], place)

    def flush_column(self, nest: Nest, op: Operation, at: Sequence[SSAValue]) -> None:
        """Add the block of a column to its total, and start the next block."""
        scalars, places = nest.scalars, self._places_in_block(nest, op, at)
        first, *others = (nest.load(self.targets[op], place) for place in places)
        for block in others:
            first = scalars.of(self.combine(nest, op, first.value, block))
        total_at = self._place_of_total(nest, op, at)
        total = nest.load(self.totals[op], total_at)
        combined = self.combine(nest, op, total.value, scalars.cast(first, total.type))
        nest.store(scalars.of(combined), self.totals[op], total_at)
        for place in places:
            nest.store(self.accumulators[op].identity(nest), self.targets[op], place)

    def finish_column(self, nest: Nest, op: Operation, at: Sequence[SSAValue]) -> None:
        """Store the total of a column that the kernel has had to itself."""
        total = nest.load(self.totals[op], self._place_of_total(nest, op, at))
        nest.store(total, self.results[op], at)

    def _place_of_total(self, nest: Nest, op: Operation, at: Sequence[SSAValue]) -> Sequence[SSAValue]:
        """Where the total of a column is, of which the result is at `at`."""
        return at if self.accumulators[op].own_totals is None else self.own_column(nest, op, at)

    def _place_in_block(self, nest: Nest, op: Operation, at: Sequence[SSAValue]) -> Sequence[SSAValue]:
        """Where the block of a column is, of which the total is at `at`."""
        acc = self.accumulators[op]
        if acc.own is None:
            return at
        return self.own_column(nest, op, at if acc.partial is None else at[1:])

    def _places_in_block(self, nest: Nest, op: Operation, at: Sequence[SSAValue]) -> list[Sequence[SSAValue]]:
        """Those of all copies of the block."""
        place, turns = self._place_in_block(nest, op, at), self.accumulators[op].turns
        return [place] if turns == 1 else [[nest.kernel.index(turn), *place] for turn in range(turns)]

    def own_column(self, nest: Nest, op: Operation, columns: Sequence[SSAValue]) -> Sequence[SSAValue]:
        """Where a kernel's own buffer has these columns."""
        return columns

    def combine(self, nest: Nest, op: Operation, acc: SSAValue, x: Scalar) -> SSAValue:
        """One step of a reduction."""
        scalars = nest.scalars
        return REDUCTION.lookup(op).combine(scalars, scalars.of(acc), scalars.of(x.value)).value

    def steps(self, frame: Frame, ops: Sequence[Operation], totals: Sequence[SSAValue]) -> list[SSAValue]:
        """The totals of reductions with the element of the frame."""
        found = [self.value(frame, op.operands[0]) for op in ops]
        return [self.combine(frame.nest, op, acc, x) for op, acc, x in zip(ops, totals, found, strict=True)]

    def accumulate_column(
        self, frame: Frame, op: Operation, piece: SSAValue | None, columns: Sequence[SSAValue]
    ) -> None:
        """Add the operand's element to its column's accumulator in memory."""
        target = self.targets[op]
        indices = [*([] if piece is None else [piece]), *columns]
        place = self._place_in_block if self.accumulators[op].long else self._place_of_total
        indices = place(frame.nest, op, indices)
        if (turns := self.accumulators[op].turns) > 1:
            indices = [frame.nest.remainder(frame.indices[ROW], turns), *indices]
        x = self.value(frame, op.operands[0])
        before = frame.nest.load(target, indices)
        frame.nest.store(frame.nest.scalars.of(self.combine(frame.nest, op, before.value, x)), target, indices)


def _whole_blocks(size: int, most: int, unrolled: int) -> int | None:
    """
    Into blocks of how many iterations, not much fewer than `most`, a loop is cut without a rest, if into any.

    They are whole vectors, so that code for single elements behind them is neither compiled nor run.
    """
    return next((n for n in range(most - most % unrolled, most // 2, -unrolled) if size % n == 0), None)


def constant_scalar(op: Operation) -> float | int:
    """The one value of a splat constant."""
    value = elements_of(op.properties["value"])
    assert value is not None
    first = value.get_values()[0]
    assert isinstance(first, int | float)
    return int(bool(first)) if value.get_element_type() == i1 else first
