"""Loop nests of fusion groups: `RowKernel` (rows in parallel, several passes over a row, matrix products in front) and
`ColumnKernel` (elementwise and column reductions). What a group is and which values it reads is in `group.py`."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, MemRefType, i1
from xdsl.ir import Attribute, Operation, SSAValue

from xdsl_rlx.dialects.lir import KernelOp
from xdsl_rlx.dialects.lir.memory import row_major_strides
from xdsl_rlx.dialects.shapes import element_of
from xdsl_rlx.lowering.buffers import Argument, Buffer
from xdsl_rlx.lowering.group import BATCH, ROW, UNIT, Group
from xdsl_rlx.lowering.nest import Kernel, Nest
from xdsl_rlx.lowering.products import Product
from xdsl_rlx.transforms.iteration_space import Reduces
from xdsl_rlx.transforms.rules.lowering import REDUCTION, Reduction, compute_type
from xdsl_rlx.transforms.rules.table import SCALAR
from xdsl_rlx.transforms.scalar import Scalar


@dataclass(frozen=True)
class Launch:
    """A kernel, the buffers it is given, and how its iterations are cut up."""

    kernel: KernelOp
    extent: int
    chunk: int
    reads: tuple[Argument, ...]
    writes: tuple[Argument, ...]


@dataclass(frozen=True)
class Accumulator:
    """A reduction that is complete only after the last row: where its (partial) results go."""

    op: Operation
    shape: tuple[int, ...]
    target: Buffer
    partial: Buffer | None

    @property
    def rule(self) -> Reduction:
        """Identity and step."""
        return REDUCTION.lookup(self.op)

    @property
    def element(self) -> Attribute:
        """The type that is accumulated."""
        return compute_type(element_of(self.op.results[0]))

    def identity(self, nest: Nest) -> Scalar:
        """The value to start from."""
        return nest.scalars.const(self.rule.identity(self.element), self.element)


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

    def __init__(
        self, group: Group, chunk: int, accumulators: Sequence[Accumulator], homes: Mapping[Operation, Buffer]
    ):
        """`homes` says where each matrix product is computed into."""
        self.group = group
        self.chunk = chunk
        self.accumulators = {acc.op: acc for acc in accumulators}
        self.products = [Product.of(group, op, homes[op]) for op in group.products]
        self.reads, self.writes = self._arguments()

    def _arguments(self) -> tuple[list[Argument], list[Argument]]:
        group = self.group
        reads: list[Argument] = []
        writes: list[Argument] = []
        read_at: dict[SSAValue, tuple[int, tuple[int, ...]]] = {}
        write_at: dict[SSAValue, tuple[int, tuple[int, ...]]] = {}
        accumulator_at: dict[Operation, int] = {}
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
            accumulator_at[op] = len(writes)
            writes.append(Argument(buffer, shape, row_major_strides(shape), op.results[0].name_hint))
        self.kernel = Kernel([a.type for a in (*reads, *writes)], [a.name for a in (*reads, *writes)])
        args = self.kernel.block.args
        made = {product.op.results[0] for product in self.products}
        self.stored = {value for value in write_at if value not in made}
        self.store_at = {value: (args[len(reads) + index], dims) for value, (index, dims) in write_at.items()}
        self.access = {value: (args[index], dims) for value, (index, dims) in read_at.items()}
        self.access |= {value: self.store_at[value] for value in made}
        self.targets = {op: args[len(reads) + index] for op, index in accumulator_at.items()}
        for product in self.products:
            home = len(reads) + write_at[product.op.results[0]][0]
            product.arguments = (reads.index(product.lhs), reads.index(product.rhs), home)
        return reads, writes

    def launch(self, extent: int) -> Launch:
        """The finished kernel with its buffers."""
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

    def combine(self, nest: Nest, op: Operation, acc: SSAValue, x: Scalar) -> SSAValue:
        """One step of a reduction."""
        scalars = nest.scalars
        return REDUCTION.lookup(op).combine(scalars, scalars.of(acc), scalars.of(x.value)).value

    def accumulate_column(
        self, frame: Frame, op: Operation, piece: SSAValue | None, columns: Sequence[SSAValue]
    ) -> None:
        """Add the operand's element to its column's accumulator in memory."""
        target = self.targets[op]
        indices = [*([] if piece is None else [piece]), *columns]
        x = self.value(frame, op.operands[0])
        before = frame.nest.load(target, indices)
        frame.nest.store(frame.nest.scalars.of(self.combine(frame.nest, op, before.value, x)), target, indices)


class RowKernel(GroupKernel):
    """Rows [lo, hi): matrix products first, then for each row the passes of its levels."""

    row_linear = True

    def build(self) -> None:
        """Emit products, accumulators, and the loop over rows."""
        group, kernel, entry = self.group, self.kernel, self.kernel.entry
        self.scratch: dict[SSAValue, SSAValue] = {}
        top = Frame(entry, {})
        for op in group.ops:
            for result in op.results:
                early = group.space.extents and not group.level(result) and not group.loops_of[result]
                if early and op not in group.structure.kinds:
                    self.value(top, result)
        self.partial = {op: acc.partial is not None for op, acc in self.accumulators.items()}
        piece = self.piece(entry) if any(self.partial.values()) else None
        self.pieces = {op: piece if partial else None for op, partial in self.partial.items()}
        self._clear_columns(entry)
        scalars_of = [op for op in self.accumulators if group.structure.kinds[op] is Reduces.ALL]
        start = [self.accumulators[op].identity(entry).value for op in scalars_of]
        batched = [p for p in self.products if p.batched]
        for product in self.products:
            if not product.batched:
                product.emit(entry, None, kernel.bounds)

        def row(nest: Nest, r: SSAValue, carried: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            if not batched:
                return self._row(Frame(nest, {**self._unravel(nest, r, group.outer), ROW: r}, top), scalars_of, carried)
            for product in batched:
                product.emit(nest, r, None)
            rows = batched[0].row_loops
            around = self._unravel(nest, r, batched[0].batch_loops)

            def each(inner: Nest, i: tuple[SSAValue, ...], values: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
                at = {**around, **dict(zip(rows, i, strict=True)), ROW: self._linear_row(inner, r, i, rows), BATCH: r}
                return self._row(Frame(inner, at, top), scalars_of, values)

            return nest.loops([group.space.extents[loop] for loop in rows], carried, each, "m")

        if self._has_row_work():
            ends = entry.loop(kernel.bounds, start, row, "i")
        elif batched:
            entry.loop(kernel.bounds, (), row, "i")
            ends = ()
        else:
            ends = ()
        for op, end in zip(scalars_of, ends, strict=True):
            at = self.pieces[op]
            entry.store(entry.scalars.of(end), self.targets[op], [] if at is None else [at])

    def _has_row_work(self) -> bool:
        return bool(self.stored or self.accumulators)

    def _linear_row(self, nest: Nest, batch: SSAValue, i: tuple[SSAValue, ...], rows: Sequence[int]) -> SSAValue:
        if not i:
            return batch
        (m,) = i
        scaled = nest.scalars.of(batch) * self.group.count(rows) + nest.scalars.of(m)
        return scaled.value

    def _unravel(self, nest: Nest, r: SSAValue, loops: Sequence[int]) -> dict[int, SSAValue]:
        """The index of each loop from the number of the row."""
        if len(loops) == 1:
            return {loops[0]: r}
        indices: dict[int, SSAValue] = {}
        rest = r
        for loop in reversed(loops[1:]):
            extent = self.group.space.extents[loop]
            indices[loop] = nest.remainder(rest, extent)
            rest = nest.quotient(rest, extent)
        if loops:
            indices[loops[0]] = rest
        return indices

    def _inner_extents(self) -> list[int]:
        return [self.group.space.extents[loop] for loop in self.group.inner]

    def _clear_columns(self, entry: Nest) -> None:
        for op, acc in self.accumulators.items():
            if self.group.structure.kinds[op] is not Reduces.COLUMN:
                continue
            at = self.pieces[op]
            identity = acc.identity(entry)

            def clear(nest: Nest, i: tuple[SSAValue, ...], _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
                nest.store(nest.scalars.of(identity.value), self.targets[op], [*([] if at is None else [at]), *i])  # noqa: B023
                return ()

            entry.loops(acc.shape, (), clear, "j")

    def _row(self, frame: Frame, scalars_of: Sequence[Operation], carried: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
        group = self.group
        totals = dict(zip(scalars_of, carried, strict=True))
        for product in self.products:
            if not group.is_inner(product.op.results[0]):
                self.value(frame, product.op.results[0])
        last = max([group.level(v) for op in group.ops for v in op.results], default=0)
        for level in range(last + 1):
            for op in group.ops:
                for value in op.results:
                    if op in self.accumulators or op in group.structure.kinds:
                        continue
                    if group.level(value) == level and not group.is_inner(value):
                        self.value(frame, value)
                        if value in self.stored:
                            self.write(frame, value)
            for op in scalars_of:
                if group.level(op.operands[0]) == level and not group.is_inner(op.operands[0]):
                    totals[op] = self.combine(frame.nest, op, totals[op], self.value(frame, op.operands[0]))
            self._pass(frame, level, totals)
        return [totals[op] for op in scalars_of]

    def _pass(self, frame: Frame, level: int, totals: dict[Operation, SSAValue]) -> None:
        """One pass over the row: everything within it that is first known at this level."""
        group, kinds = self.group, self.group.structure.kinds
        at_level = [op for op in group.ops if op in kinds and group.level(op.operands[0]) == level]
        rows = [op for op in at_level if kinds[op] is Reduces.ROW]
        alls = [op for op in at_level if kinds[op] is Reduces.ALL and group.is_inner(op.operands[0])]
        columns = [op for op in at_level if kinds[op] is Reduces.COLUMN]
        results = [value for op in group.ops for value in op.results if group.level(value) == level]
        stores = [v for v in results if v in self.stored and group.is_inner(v)]
        saves = [v for v in results if v in group.saved and v not in stores]
        if not (rows or alls or columns or stores or saves):
            return
        reduced = [*rows, *alls]
        homes = {self.store_at[v][0] for v in stores}
        replaced = [p.op.results[0] for p in self.products if self.access[p.op.results[0]][0] in homes]
        start = [self._identity(frame.nest, op).value for op in reduced]

        def element(nest: Nest, i: tuple[SSAValue, ...], carried: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            inner = Frame(nest, {**frame.indices, **dict(zip(group.inner, i, strict=True))}, frame, level)
            for product in replaced:
                self.value(inner, product)
            for value in saves:
                self._save(inner, value, i)
            for value in stores:
                self.write(inner, value)
            for op in columns:
                self.accumulate_column(inner, op, self.pieces[op], i)
            return [
                self.combine(nest, op, acc, self.value(inner, op.operands[0]))
                for op, acc in zip(reduced, carried, strict=True)
            ]

        ends = frame.nest.loops(self._inner_extents(), start, element, "j")
        for op, end in zip(reduced, ends, strict=True):
            found = frame.nest.scalars.of(end)
            if op in rows:
                (result,) = op.results
                found.value.name_hint = result.name_hint
                frame.values[result] = found
                if result in self.stored:
                    self.write(frame, result)
            else:
                totals[op] = self.combine(frame.nest, op, totals[op], found)

    def _identity(self, nest: Nest, op: Operation) -> Scalar:
        element = compute_type(element_of(op.results[0]))
        return nest.scalars.const(REDUCTION.lookup(op).identity(element), element)

    def _save(self, frame: Frame, value: SSAValue, i: tuple[SSAValue, ...]) -> None:
        if value not in self.scratch:
            type_ = MemRefType(compute_type(element_of(value)), self._inner_extents())
            self.scratch[value] = self.kernel.scratch(type_, value.name_hint)
        frame.nest.store(self.value(frame, value), self.scratch[value], i)

    def read_back(self, frame: Frame, value: SSAValue) -> Scalar | None:
        """An element of the row from its scratch buffer, or from the output that an earlier pass has stored."""
        if value not in self.group.saved or self.group.level(value) >= frame.level:
            return None
        if value in self.scratch:
            return frame.nest.load(self.scratch[value], [frame.indices[loop] for loop in self.group.inner])
        buffer, dims = self.store_at[value]
        return frame.nest.load(buffer, self.indices(frame, dims))


class ColumnKernel(GroupKernel):
    """
    Elementwise groups and reductions over outer or middle loops: pieces of the columns (or of the loops in front of the
    reduced ones), and inside them the reduced loops around the columns.
    """

    row_linear = False

    def __init__(
        self,
        group: Group,
        chunk: int,
        accumulators: Sequence[Accumulator],
        homes: Mapping[Operation, Buffer],
        cut: int | None,
    ):
        """`cut` is the loop whose iterations a launch is given pieces of."""
        self.cut = cut
        super().__init__(group, chunk, accumulators, homes)

    def build(self) -> None:
        """Emit the loops in front, then the sequential ones, then the columns."""
        group, entry = self.group, self.kernel.entry
        top = Frame(entry, {})
        for op in group.ops:
            for result in op.results:
                if not group.loops_of[result] and op not in self.accumulators:
                    self.value(top, result)
        kinds = group.structure.kinds
        totals = [op for op in self.accumulators if kinds[op] is Reduces.ALL]
        columns = [op for op in self.accumulators if kinds[op] is Reduces.COLUMN]
        start = [self.accumulators[op].identity(entry).value for op in totals]
        front, sequential = ((), group.outer) if group.structure.middle is None else (group.outer, group.middle)
        pieces = {op: self.piece(entry) for op, acc in self.accumulators.items() if acc.partial is not None}

        def clear(nest: Nest, known: Mapping[int, SSAValue]) -> None:
            if not columns:
                return
            identity = {op: self.accumulators[op].identity(nest) for op in columns}

            def one(inner: Nest, at: Mapping[int, SSAValue], _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
                for op in columns:
                    inner.store(inner.scalars.of(identity[op].value), self.targets[op], self._column(op, at))
                return ()

            self._over(nest, group.inner, known, (), one)

        def element(nest: Nest, at: Mapping[int, SSAValue], carried: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            frame = Frame(nest, at, top)
            for value in self.store_at:
                self.write(frame, value)
            for op in columns:
                self.accumulate_column(frame, op, None, self._column(op, at))
            return [
                self.combine(nest, op, acc, self.value(frame, op.operands[0]))
                for op, acc in zip(totals, carried, strict=True)
            ]

        def block(nest: Nest, at: Mapping[int, SSAValue], carried: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            clear(nest, at)
            return self._over(nest, [*sequential, *group.inner], at, carried, element)

        ends = self._over(entry, front, {}, start, block)
        for op, end in zip(totals, ends, strict=True):
            at = [pieces[op]] if op in pieces else []
            entry.store(entry.scalars.of(end), self.targets[op], at)

    def _column(self, op: Operation, at: Mapping[int, SSAValue]) -> list[SSAValue]:
        first = [self.kernel.index(0)] if self.accumulators[op].partial is not None else []
        return [*first, *(at[loop] for loop in self.group.space.maps[op.results[0]] if loop is not None)]

    def _over(
        self,
        nest: Nest,
        loops: Sequence[int],
        known: Mapping[int, SSAValue],
        carried: Sequence[SSAValue],
        body: Callable[[Nest, Mapping[int, SSAValue], tuple[SSAValue, ...]], Sequence[SSAValue]],
    ) -> Sequence[SSAValue]:
        """A nest over `loops`, of which the cut one runs over the piece only."""
        if not loops:
            return body(nest, known, tuple(carried))
        loop, rest = loops[0], loops[1:]
        whole = (self.kernel.index(0), self.kernel.index(self.group.space.extents[loop]))
        bounds = self.kernel.bounds if loop == self.cut else whole
        return nest.loop(
            bounds,
            carried,
            lambda inner, i, values: self._over(inner, rest, {**known, loop: i}, values, body),
            f"i{loop}",
        )


def fill_kernel(acc: Accumulator) -> Launch:
    """The kernel for a reduction over nothing: its result is the identity throughout."""
    count = prod(acc.shape)
    target = Argument(acc.target, (count,), (1,), acc.op.results[0].name_hint)
    kernel = Kernel([target.type], [target.name])

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
    kernel = Kernel([source.type, target.type], [source.name, target.name])
    arg, out = kernel.block.args[0], kernel.block.args[1]

    def column(nest: Nest, j: SSAValue, _: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
        def step(inner: Nest, p: SSAValue, carried: tuple[SSAValue, ...]) -> Sequence[SSAValue]:
            scalars = inner.scalars
            return [acc.rule.combine(scalars, scalars.of(carried[0]), inner.load(arg, [p, j])).value]

        (total,) = nest.loop((kernel.index(0), kernel.index(pieces)), [acc.identity(nest).value], step, "p")
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
