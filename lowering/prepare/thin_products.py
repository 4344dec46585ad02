"""Matmuls of which one dimension is 2 to 4: a few multiplications of rows and columns, or a few sums, that fuse.

Such a product computes as many operations per element of its largest matrix, so that memory sets its time. As loops, it
shares the kernel of what computes its factors and of what reads it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import Operation

from xdsl_rlx.dialects.mir.linalg import MatmulOp
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.mir.shape import TransposeOp
from xdsl_rlx.dialects.shapes import shape_of
from xdsl_rlx.lowering.prepare.transposed_matrices import is_transposed, turned
from xdsl_rlx.lowering.target import NormalizeCosts


def thin_product(op: MatmulOp, b: MirBuilder, costs: NormalizeCosts) -> Sequence[Value] | None:
    """The matmul as loops, if one of its dimensions is thin; None otherwise."""
    lhs, rhs = b.value(op.lhs), b.value(op.rhs)
    (*_, m, n), k = shape_of(op.result), shape_of(op.lhs)[-1]
    thin, least = range(2, costs.max_thin_extent + 1), costs.min_thin_matmul_extent
    if k in thin and min(m, n) >= least and prod(lhs.shape[:-2]) == prod(rhs.shape[:-2]):
        return [_few_terms(lhs, rhs, b)]
    if len(lhs.shape) != 2 or len(rhs.shape) != 2 or k < least:
        return None
    if n in thin and m >= least and _is_computed(lhs):
        return [_few_sums(turned(b, rhs), lhs, b, by_rows=True)]
    if m in thin and n >= least and _is_computed(rhs):
        return [_few_sums(lhs, turned(b, rhs), b, by_rows=False)]
    return None


def _few_terms(lhs: Value, rhs: Value, b: MirBuilder) -> Value:
    """A sum of products of columns and rows."""
    line = _line(rhs, b)
    columns = rhs.shape[-1]
    terms = [
        b.narrow(lhs, -1, term, 1) * (b.narrow(rhs, -2, term, 1) if line is None else _row_of(line, term, columns, b))
        for term in range(lhs.shape[-1])
    ]
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def _few_sums(few: Value, matrix: Value, b: MirBuilder, *, by_rows: bool) -> Value:
    """The sums of the rows of a matrix by each of a few rows: `[m, n]` columns, or as rows of the result."""
    count, length = few.shape
    line = _line(few, b)
    rows = [b.narrow(few, 0, n, 1) if line is None else _row_of(line, n, length, b) for n in range(count)]
    if is_transposed(matrix.ssa):
        # sums along the columns of what is in memory
        source = turned(b, matrix)
        sums = [b.reduce_sum(source * b.reshape(row, (length, 1)), 0) for row in rows]
    else:
        sums = [b.reduce_sum(matrix * row, 1) for row in rows]
    shape = (-1, 1) if by_rows else (1, -1)
    size = matrix.shape[0]
    parts = [b.reshape(one, [size if extent < 0 else extent for extent in shape]) for one in sums]
    return b.concat(parts, 1 if by_rows else 0)


def _is_computed(x: Value) -> bool:
    """Whether other ops compute a matrix, which the sums can be fused with."""
    owner = x.ssa.owner
    return isinstance(owner, Operation) and not isinstance(owner, TransposeOp)


def _line(x: Value, b: MirBuilder) -> Value | None:
    """The rows of a transposed matrix, one behind the other: a flat shape asks for a copy. None for another one."""
    return b.reshape(x, (prod(x.shape),)) if is_transposed(x.ssa) and len(x.shape) == 2 else None


def _row_of(line: Value, number: int, length: int, b: MirBuilder) -> Value:
    return b.reshape(b.narrow(line, 0, number * length, length), (1, length))
