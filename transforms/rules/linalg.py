"""Rows of matrix products. Fused forms are in `fused.py`."""

from collections.abc import Sequence
from math import prod

from xdsl_rlx.dialects.mir.builder import MirBuilder, Value
from xdsl_rlx.dialects.mir.linalg import MatmulOp
from xdsl_rlx.transforms.rules.rows import pointwise
from xdsl_rlx.transforms.rules.table import JVP, VJP, Cotangent


def transposed(b: MirBuilder, x: Value) -> Value:
    """The last two dimensions swapped."""
    return b.transpose(x, [*range(x.rank - 2), x.rank - 1, x.rank - 2])


def _rhs_cotangent(b: MirBuilder, g: Value, lhs: Value, rhs: Value) -> Value:
    """`lhs^T g`, summed over the batch dimensions that `rhs` repeats."""
    batch = lhs.shape[:-2]
    lhs = b.conjugate(lhs)
    if prod(rhs.shape[:-2]) == 1 and batch == g.shape[:-2]:
        # One product over all rows, rather than a product per batch entry and then their sum.
        lhs = b.reshape(lhs, (prod(lhs.shape[:-1]), lhs.shape[-1]))
        g = b.reshape(g, (prod(g.shape[:-1]), g.shape[-1]))
        return b.reshape(transposed(b, lhs) @ g, rhs.shape)
    return b.unbroadcast(transposed(b, lhs) @ g, rhs.shape)


pointwise(MatmulOp)


@VJP.rule(MatmulOp)
def matmul_vjp(op: MatmulOp, b: MirBuilder, g: Value) -> Sequence[Cotangent]:
    """`dlhs = g rhs^T`, `drhs = lhs^T g`, with complex factors conjugated."""
    lhs, rhs = b.value(op.lhs), b.value(op.rhs)
    return (
        lambda: b.unbroadcast(g @ transposed(b, b.conjugate(rhs)), lhs.shape),
        lambda: _rhs_cotangent(b, g, lhs, rhs),
    )


@JVP.rule(MatmulOp)
def matmul_jvp(op: MatmulOp, b: MirBuilder, lhs: Value | None, rhs: Value | None) -> Sequence[Value | None]:
    left = None if lhs is None else lhs @ op.rhs
    right = None if rhs is None else b.matmul(op.lhs, rhs)
    return [right if left is None else left if right is None else left + right]
