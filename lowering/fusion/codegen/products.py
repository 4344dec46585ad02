"""Matrix products inside kernels: the buffers as `lir.gemm` wants them, for rows, parts of one, or batch by batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import Operation, SSAValue

from xdsl_rlx.dialects.lir import GemmOp
from xdsl_rlx.dialects.lir.memory import row_major_strides
from xdsl_rlx.dialects.shapes import shape_of
from xdsl_rlx.lowering.buffers import Argument, Buffer, merge_axes
from xdsl_rlx.lowering.fusion.analysis.loop_tables import PRODUCT, StridedLayout
from xdsl_rlx.lowering.fusion.codegen.group import BATCH, ROW, UNIT, Group
from xdsl_rlx.lowering.kernel_dsl.kernel_builder import Nest


@dataclass(frozen=True)
class Product:
    """
    `destination[..., m, n] = lhs[..., m, k] @ rhs[..., k, n]` as part of a kernel.

    Not batched: all leading dimensions are rows of one product, and a launch computes the rows [lo, hi), or in a column
    kernel the columns [lo, hi). Batched: a launch computes whole matrices, the loops of the batch are its iterations
    and that over rows is a loop inside.
    """

    op: Operation
    lhs: Argument
    rhs: Argument
    destination: Argument
    destination_dims: tuple[int, ...]
    batched: bool

    @staticmethod
    def all_of(group: Group, destinations: Mapping[Operation, Buffer]) -> list[Product]:
        """The products of a group as their buffers allow them, all batched if one has to be; buffers are `is_ready`."""
        strides = [_flat_stride(group, op) for op in destinations]
        flat = [stride for stride in strides if stride is not None]
        if len(flat) < len(strides):
            return [Product._batched(group, op, destination) for op, destination in destinations.items()]
        return [
            Product._flat(group, op, destination, stride)
            for (op, destination), stride in zip(destinations.items(), flat, strict=True)
        ]

    @staticmethod
    def _flat(group: Group, op: Operation, destination: Buffer, stride: int) -> Product:
        (result,) = op.results
        lhs_value, rhs_value = PRODUCT.lookup(op)(op)
        lhs, rhs = group.factors[lhs_value], group.factors[rhs_value]
        *lead, n = shape_of(result)
        rows, k = prod(lead), lhs.layout.shape[-1]
        a = Argument(lhs, (rows, k), (stride, lhs.layout.strides[-1]), lhs_value.name_hint)
        b = Argument(rhs, (k, n), rhs.layout.strides[-2:], rhs_value.name_hint)
        c = Argument(destination, (rows, n), row_major_strides((rows, n)), result.name_hint)
        column = group.space.maps[result][-1]
        return Product(op, a, b, c, (ROW, UNIT if column is None else column), False)

    @staticmethod
    def _batched(group: Group, op: Operation, destination: Buffer) -> Product:
        (result,) = op.results
        lhs_value, rhs_value = PRODUCT.lookup(op)(op)
        *batch, m, n = shape_of(result)
        count = prod(batch)
        stacked = (count, m, n)
        return Product(
            op,
            _stacked(group.factors[lhs_value], batch, lhs_value),
            _stacked(group.factors[rhs_value], batch, rhs_value),
            Argument(destination, stacked, row_major_strides(stacked), result.name_hint),
            (BATCH, *(UNIT if loop is None else loop for loop in group.space.maps[result][-2:])),
            True,
        )

    def emit(
        self,
        nest: Nest,
        buffers: Sequence[SSAValue],
        batch: SSAValue | None = None,
        rows: tuple[SSAValue, SSAValue] | None = None,
        columns: tuple[SSAValue, SSAValue] | None = None,
    ) -> None:
        """The product of two buffers into a third: of these rows and columns, or all, of one matrix of the batch."""
        kernel = nest.kernel
        a, b, c = buffers
        m, n = self.destination.shape[-2:]
        at = [] if batch is None else [batch]
        rows = rows or (kernel.index(0), kernel.index(m))
        columns = columns or (kernel.index(0), kernel.index(n))
        nest.builder.insert(GemmOp(a, b, c, rows, columns, a_indices=at, b_indices=at, c_indices=at))


def _flat_stride(group: Group, op: Operation) -> int | None:
    """
    The row stride of the left operand if its leading dimensions are all rows, of which BLAS can read as many, and the
    right one has no batch.
    """
    lhs, rhs = (group.factors[operand].layout for operand in PRODUCT.lookup(op)(op))
    batch = shape_of(op.results[0])[:-2]
    if any(n != 1 for n in rhs.shape[:-2]) or prod(lhs.shape[:-2]) != prod(batch):
        return None
    stride = merge_axes(lhs.shape[:-1], lhs.strides[:-1])
    if stride is None or not _is_readable(prod(lhs.shape[:-1]), lhs.shape[-1], stride, lhs.strides[-1]):
        return None
    return stride


def _batch_stride(layout: StridedLayout, batch: Sequence[int]) -> int | None:
    """The stride from one matrix to the next over the broadcast batch, or None if it is not even."""
    missing = len(batch) - (len(layout.shape) - 2)
    strides = [0] * missing + [0 if n == 1 else s for n, s in zip(layout.shape[:-2], layout.strides[:-2], strict=True)]
    return merge_axes(batch, strides)


def _stacked(buffer: Buffer, batch: Sequence[int], value: SSAValue) -> Argument:
    layout = buffer.layout
    stride = _batch_stride(layout, batch)
    assert stride is not None
    return Argument(buffer, (prod(batch), *layout.shape[-2:]), (stride, *layout.strides[-2:]), value.name_hint)


def is_ready(layout: StridedLayout, batch: Sequence[int]) -> bool:
    """Whether BLAS can read an operand as it lies: lines of unit stride that do not overlap, matrices evenly spaced."""
    return _is_readable(*layout.shape[-2:], *layout.strides[-2:]) and _batch_stride(layout, batch) is not None


def has_short_matrices(lhs: StridedLayout, op: Operation) -> bool:
    """
    Whether matrices of a left operand do not lie one behind the other, and have fewer rows than the right one columns.

    The right operand would be read, and put in order, once for each of them: to copy the left one takes less time.
    """
    if len(lhs.shape) < 3 or merge_axes(lhs.shape[:-1], lhs.strides[:-1]) is not None:
        return False
    return lhs.shape[-2] < shape_of(op.results[0])[-1]


def _is_readable(rows: int, columns: int, row_stride: int, column_stride: int) -> bool:
    by_rows = (column_stride == 1 or columns == 1) and (rows <= 1 or row_stride >= columns)
    by_columns = (row_stride == 1 or rows == 1) and (columns <= 1 or column_stride >= rows)
    return (by_rows or by_columns) and row_stride >= 0 and column_stride >= 0
