"""Loop nests of fusion groups: what `RowKernel` and `ColumnKernel` share. What a group is and which values it
reads is in `group.py`."""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, i1
from xdsl.ir import Attribute, Operation, SSAValue

from xdsl_rlx.dialects.lir.memory import row_major_strides
from xdsl_rlx.dialects.shapes import element_of
from xdsl_rlx.lowering.buffers import Argument, Buffer, Launch
from xdsl_rlx.lowering.group import UNIT, Group
from xdsl_rlx.lowering.nest import Kernel, Nest
from xdsl_rlx.lowering.products import Product
from xdsl_rlx.transforms.rules.lowering import REDUCTION, Reduction, compute_type
from xdsl_rlx.transforms.rules.table import SCALAR
from xdsl_rlx.transforms.scalar import Scalar


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
