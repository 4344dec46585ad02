"""Loop nests of fusion groups: what `RowKernel` and `ColumnKernel` share. What a group is and which values it
reads is in `group.py`."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from xdsl.dialects.builtin import AnyFloat, DenseIntOrFPElementsAttr, MemRefType, f64, i1
from xdsl.ir import Attribute, Operation, SSAValue

from xdsl_rlx.dialects.lir.memory import row_major_strides
from xdsl_rlx.dialects.lir.scalar_builder import Scalar
from xdsl_rlx.dialects.shapes import compute_type, element_of
from xdsl_rlx.lowering.buffers import Argument, Buffer, Launch
from xdsl_rlx.lowering.fuse.loop_tables import REDUCTION, Reduction
from xdsl_rlx.lowering.groups.group import UNIT, Group
from xdsl_rlx.lowering.groups.products import Product
from xdsl_rlx.lowering.nest.builder import Kernel, Nest
from xdsl_rlx.transforms.rules.table import SCALAR


@dataclass(frozen=True)
class Accumulator:
    """
    A reduction that is complete only after the last row: where its (partial) results go.

    If it is long, the columns of at most BLOCK rows are summed by themselves, in `block` or in a buffer of the kernel's
    `own` of that shape, and then added to the totals, of type `wide`.
    """

    op: Operation
    shape: tuple[int, ...]
    target: Buffer
    partial: Buffer | None
    block: Buffer | None
    own: tuple[int, ...] | None
    long: bool

    @property
    def rule(self) -> Reduction:
        """Identity and step."""
        return REDUCTION.lookup(self.op)

    @property
    def element(self) -> Attribute:
        """The type that is accumulated."""
        return compute_type(element_of(self.op.results[0]))

    @property
    def wide(self) -> Attribute:
        """The type of the totals."""
        return wide_type(self.op) if self.long else self.element

    def identity(self, nest: Nest) -> Scalar:
        """The value to start from."""
        return identity(nest, self.op, self.element)

    def start(self, nest: Nest) -> Scalar:
        """The total to start from."""
        return identity(nest, self.op, self.wide)


BLOCK = 128
"""Steps of a reduction, one after the other, after which the result goes into a total of more digits."""

LANES = 16
"""Results that a vectorised loop carries side by side at least: four vectors of 16 bytes, the smallest there are."""


UNROLLED = 64
"""Iterations of a vectorised loop at a time at most: four of the largest vectors, of single precision."""


def identity(nest: Nest, op: Operation, element: Attribute) -> Scalar:
    """What a reduction starts from, as a scalar of this type."""
    return nest.scalars.const(REDUCTION.lookup(op).identity(element), element)


def narrow_identity(nest: Nest, op: Operation) -> Scalar:
    """What a reduction starts from, as a scalar of the type it is computed in."""
    return identity(nest, op, compute_type(element_of(op.results[0])))


def wide_type(op: Operation) -> Attribute:
    """The type of the totals of a long reduction."""
    element = compute_type(element_of(op.results[0]))
    return f64 if REDUCTION.lookup(op).rounds and isinstance(element, AnyFloat) else element


def most_steps(sizes: Sequence[int]) -> int:
    """Elements that one narrow sum may have in a nest of loops of these sizes, of which the innermost is vectorised."""
    return BLOCK * max(1, min(LANES, sizes[-1] if sizes else 1))


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
        self.reads, self.writes = self._arguments()

    def _arguments(self) -> tuple[list[Argument], list[Argument]]:
        group = self.group
        reads: list[Argument] = []
        writes: list[Argument] = []
        read_at: dict[SSAValue, tuple[int, tuple[int, ...]]] = {}
        write_at: dict[SSAValue, tuple[int, tuple[int, ...]]] = {}
        total_at: dict[Operation, int] = {}
        block_at: dict[Operation, int] = {}
        operands = {operand for op in group.ops if op not in group.products for operand in op.operands}
        for value, buffer in group.reads.items():
            if value in operands:
                argument, dims = group.argument(buffer, value, row_linear=self.row_linear)
                read_at[value] = len(reads), dims
                reads.append(argument)
        homes: dict[Buffer, tuple[int, tuple[int, ...]]] = {}
        for product in self.products:
            homes[product.home.buffer] = len(writes), product.home_dims
            write_at[product.op.results[0]] = homes[product.home.buffer]
            writes.append(product.home)
            reads += [product.lhs, product.rhs]
        for op in group.ops:
            if op in self.accumulators or op in group.products:
                continue
            for value in op.results:
                if (buffer := group.writes.get(value)) is None:
                    continue
                if buffer in homes:
                    write_at[value] = homes[buffer]
                    continue
                argument, dims = group.argument(buffer, value, row_linear=self.row_linear)
                write_at[value] = len(writes), dims
                writes.append(argument)
        for op, acc in self.accumulators.items():
            buffer = acc.target if acc.partial is None else acc.partial
            shape = acc.shape if acc.partial is None else (buffer.layout.shape[0], *acc.shape)
            for home, places in ((buffer, total_at), (acc.block, block_at)):
                if home is not None:
                    places[op] = len(writes)
                    writes.append(Argument(home, shape, row_major_strides(shape), op.results[0].name_hint))
        self.kernel = Kernel([a.type for a in (*reads, *writes)], [a.name for a in (*reads, *writes)])
        args = self.kernel.block.args
        made = {product.op.results[0] for product in self.products}
        self.stored = [value for value in write_at if value not in made]
        self.store_at = {value: (args[len(reads) + index], dims) for value, (index, dims) in write_at.items()}
        self.access = {value: (args[index], dims) for value, (index, dims) in read_at.items()}
        self.access |= {value: self.store_at[value] for value in made}
        self.totals = {op: args[len(reads) + index] for op, index in total_at.items()}
        self.targets: dict[Operation, SSAValue] = {}
        self.targets.update(self.totals)
        self.targets.update({op: args[len(reads) + index] for op, index in block_at.items()})
        for op, acc in self.accumulators.items():
            if acc.own is not None:
                self.targets[op] = self.kernel.scratch(MemRefType(acc.element, acc.own), "block")
        for product in self.products:
            home = len(reads) + write_at[product.op.results[0]][0]
            product.arguments = (reads.index(product.lhs), reads.index(product.rhs), home)
        return reads, writes

    def launch(self, extent: int) -> Launch:
        """The finished kernel with its buffers."""
        self.kernel.extent = extent
        self.is_exact = extent % self.chunk == 0
        self.build()
        return Launch(self.kernel.finish(), extent, self.chunk, tuple(self.reads), tuple(self.writes))

    @abc.abstractmethod
    def build(self) -> None:
        """Emit the loops."""

    def piece(self, nest: Nest) -> SSAValue:
        """The number of the piece of the launch that this call computes."""
        return nest.quotient(self.kernel.bounds[0], self.chunk)

    def indices(self, frame: Frame, dims: Sequence[int]) -> list[SSAValue]:
        """The indices of a buffer in this frame."""
        return [self.kernel.index(0) if dim == UNIT else frame.indices[dim] for dim in dims]

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
        result = SCALAR.lookup(op)(op, scalars, *operands)
        result.value.name_hint = value.name_hint
        return result

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
        whole = _whole_blocks(first.size, most // below) if first.exact else None
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
        nest.store(acc.start(nest), self.totals[op], at)
        if acc.long:
            nest.store(acc.identity(nest), self.targets[op], self._place_in_block(nest, op, at))

    def flush_column(self, nest: Nest, op: Operation, at: Sequence[SSAValue]) -> None:
        """Add the block of a column to its total, and start the next block."""
        scalars, place = nest.scalars, self._place_in_block(nest, op, at)
        total, block = nest.load(self.totals[op], at), nest.load(self.targets[op], place)
        combined = self.combine(nest, op, total.value, scalars.cast(block, total.type))
        nest.store(scalars.of(combined), self.totals[op], at)
        nest.store(self.accumulators[op].identity(nest), self.targets[op], place)

    def _place_in_block(self, nest: Nest, op: Operation, at: Sequence[SSAValue]) -> Sequence[SSAValue]:
        """Where the block of a column is, of which the total is at `at`."""
        acc = self.accumulators[op]
        if acc.own is None:
            return at
        return self.own_column(nest, op, at if acc.partial is None else at[1:])

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
        if self.accumulators[op].long:
            indices = self._place_in_block(frame.nest, op, indices)
        x = self.value(frame, op.operands[0])
        before = frame.nest.load(target, indices)
        frame.nest.store(frame.nest.scalars.of(self.combine(frame.nest, op, before.value, x)), target, indices)


def _whole_blocks(size: int, most: int) -> int | None:
    """
    Into blocks of how many iterations, not much fewer than `most`, a loop is cut without a rest, if into any.

    They are whole vectors, so that code for single elements behind them is neither compiled nor run.
    """
    return next((n for n in range(most - most % UNROLLED, most // 2, -UNROLLED) if size % n == 0), None)


def fill_kernel(acc: Accumulator) -> Launch:
    """The kernel for a reduction over nothing: its result is the identity throughout."""
    count = prod(acc.shape)
    target = Argument(acc.target, (count,), (1,), acc.op.results[0].name_hint)
    kernel = Kernel([target.type], [target.name], count)

    def column(nest: Nest, j: SSAValue, _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
        nest.store(acc.identity(nest), kernel.block.args[0], [j])
        return ()

    kernel.entry.loop(kernel.bounds, (), column, "j")
    return Launch(kernel.finish(), count, max(count, 1), (), (target,))


def combine_kernel(acc: Accumulator) -> Launch:
    """The kernel that combines the partial results of all pieces, in the order of the pieces."""
    assert acc.partial is not None
    pieces = acc.partial.layout.shape[0]
    count = prod(acc.shape)
    source = Argument(acc.partial, (pieces, count), (count, 1), "partial")
    target = Argument(acc.target, (count,), (1,), acc.op.results[0].name_hint)
    kernel = Kernel([source.type, target.type], [source.name, target.name], count)
    arg, out = kernel.block.args[0], kernel.block.args[1]

    def column(nest: Nest, j: SSAValue, _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
        def step(inner: Nest, p: SSAValue, carried: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            scalars = inner.scalars
            piece = scalars.cast(inner.load(arg, [p, j]), acc.wide)
            return [acc.rule.combine(scalars, scalars.of(carried[0]), piece).value]

        (total,) = nest.loop((kernel.index(0), kernel.index(pieces)), [acc.start(nest).value], step, "p")
        nest.store(nest.scalars.of(total), out, [j])
        return ()

    kernel.entry.loop(kernel.bounds, (), column, "j")
    return Launch(kernel.finish(), count, max(count, 1), (source,), (target,))


def constant_scalar(op: Operation) -> float | int:
    """The one value of a splat constant."""
    value = op.properties["value"]
    assert isinstance(value, DenseIntOrFPElementsAttr)
    first = value.get_values()[0]
    assert isinstance(first, int | float)
    return int(bool(first)) if value.get_element_type() == i1 else first
