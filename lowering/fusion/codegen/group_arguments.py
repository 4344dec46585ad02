"""Which buffers the kernel of a group is given, in which order, and what indexes each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.ir import Operation, SSAValue

from xdsl_rlx.dialects.lir.memory import row_major_strides
from xdsl_rlx.lowering.buffers import Argument, Buffer
from xdsl_rlx.lowering.fusion.codegen.accumulators import Accumulator
from xdsl_rlx.lowering.fusion.codegen.group import Dim, Group
from xdsl_rlx.lowering.fusion.codegen.products import Product

Access: TypeAlias = tuple[int, tuple[Dim, ...]]
"""The number of an argument of the kernel, and the loop that indexes each of its dimensions."""


@dataclass(frozen=True)
class GroupArguments:
    """
    The arguments of a kernel, those that are read in front, and where among them each value of the group is.

    `total_at` and `block_at` have the totals and blocks of reductions; `product_at` both factors and the result of each
    product.
    """

    reads: tuple[Argument, ...]
    writes: tuple[Argument, ...]
    read_at: Mapping[SSAValue, Access]
    write_at: Mapping[SSAValue, Access]
    total_at: Mapping[Operation, int]
    block_at: Mapping[Operation, int]
    product_at: Mapping[Operation, tuple[int, int, int]]

    @property
    def all(self) -> tuple[Argument, ...]:
        """The arguments in the order of the kernel's."""
        return *self.reads, *self.writes

    @staticmethod
    def of(
        group: Group, accumulators: Sequence[Accumulator], products: Sequence[Product], *, row_linear: bool
    ) -> GroupArguments:
        """What a kernel of the group is given; `row_linear` as in `Group.argument`."""
        reads, read_at = _read_by_element(group, row_linear)
        for product in products:
            reads += [product.lhs, product.rhs]
        writes, write_at = _written_by_element(group, accumulators, products, len(reads), row_linear)
        total_at: dict[Operation, int] = {}
        block_at: dict[Operation, int] = {}
        for acc in accumulators:
            total = acc.target if acc.partial is None else acc.partial
            shape = acc.shape if acc.partial is None else (total.layout.shape[0], *acc.shape)
            for destination, places in ((total, total_at), (acc.block, block_at)):
                if destination is not None:
                    places[acc.op] = len(reads) + len(writes)
                    writes.append(Argument(destination, shape, row_major_strides(shape), acc.op.results[0].name_hint))
        product_at = {
            product.op: (reads.index(product.lhs), reads.index(product.rhs), write_at[product.op.results[0]][0])
            for product in products
        }
        return GroupArguments(tuple(reads), tuple(writes), read_at, write_at, total_at, block_at, product_at)


def _read_by_element(group: Group, row_linear: bool) -> tuple[list[Argument], dict[SSAValue, Access]]:
    """What ops other than products read, and where each of these values is."""
    operands = {operand for op in group.ops if op not in group.products for operand in op.operands}
    reads: list[Argument] = []
    read_at: dict[SSAValue, Access] = {}
    for value, buffer in group.reads.items():
        if value in operands:
            argument, dims = group.argument(buffer, value, row_linear=row_linear)
            read_at[value] = len(reads), dims
            reads.append(argument)
    return reads, read_at


def _written_by_element(
    group: Group, accumulators: Sequence[Accumulator], products: Sequence[Product], first: int, row_linear: bool
) -> tuple[list[Argument], dict[SSAValue, Access]]:
    """Results of products and of other ops, which may replace these, from the argument `first` on."""
    writes: list[Argument] = []
    write_at: dict[SSAValue, Access] = {}
    destinations: dict[Buffer, Access] = {}
    for product in products:
        destinations[product.destination.buffer] = write_at[product.op.results[0]] = (
            first + len(writes),
            product.destination_dims,
        )
        writes.append(product.destination)
    summed = {acc.op for acc in accumulators}
    for op in group.ops:
        if op in summed or op in group.products:
            continue
        for value in op.results:
            if (buffer := group.writes.get(value)) is None:
                continue
            if buffer in destinations:
                write_at[value] = destinations[buffer]
                continue
            argument, dims = group.argument(buffer, value, row_linear=row_linear)
            write_at[value] = first + len(writes), dims
            writes.append(argument)
    return writes, write_at
