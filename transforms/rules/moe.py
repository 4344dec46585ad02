"""Rows of products by experts. Both ops are bilinear, and each one's transposes are the two ops again."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.dialects.mir.moe import GroupedMatmulBackwardWeightOp, GroupedMatmulOp
from xdsl_rlx.dialects.shapes import shape_of
from xdsl_rlx.transforms.rules.rows import fold, lifted, unfold
from xdsl_rlx.transforms.rules.rule_table import INERT, JVP, VJP, VMAP, Cotangent

_ENCODED = "ids of experts are integers, whatever type encodes them"

INERT.add(GroupedMatmulOp, "expert_idx", _ENCODED)
INERT.add(GroupedMatmulBackwardWeightOp, "expert_idx", _ENCODED)


@VJP.rule(GroupedMatmulOp)
def grouped_matmul_vjp(op: GroupedMatmulOp, b: MirBuilder, g: Value) -> Sequence[Cotangent]:
    """`dx[i] = g[i] w[e]^T`, `dw[e]` sums `x[i] (x) g[i]`, or its transpose."""
    left, right = (g, op.x) if op.transposed else (op.x, g)
    experts = shape_of(op.w)[0]
    return [
        lambda: b.grouped_matmul(g, op.w, op.expert_idx, not op.transposed),
        lambda: b.grouped_matmul_backward_weight(left, right, op.expert_idx, experts),
        None,
    ]


@JVP.rule(GroupedMatmulOp)
def grouped_matmul_jvp(
    op: GroupedMatmulOp, b: MirBuilder, x: Value | None, w: Value | None, ids: None
) -> Sequence[Value | None]:
    pairs = [(x, op.w), (op.x, w)]
    parts = [b.grouped_matmul(p, q, op.expert_idx, op.transposed) for p, q in pairs if p is not None and q is not None]
    return [parts[0] if len(parts) == 1 else parts[0] + parts[1]]


@VJP.rule(GroupedMatmulBackwardWeightOp)
def grouped_matmul_backward_weight_vjp(
    op: GroupedMatmulBackwardWeightOp, b: MirBuilder, u: Value
) -> Sequence[Cotangent]:
    """`dx[i] = u[e] g[i]`, `dg[i] = x[i] u[e]`."""
    return [
        lambda: b.grouped_matmul(op.g, u, op.expert_idx, transpose_rhs=True),
        lambda: b.grouped_matmul(op.x, u, op.expert_idx),
        None,
    ]


@JVP.rule(GroupedMatmulBackwardWeightOp)
def grouped_matmul_backward_weight_jvp(
    op: GroupedMatmulBackwardWeightOp, b: MirBuilder, x: Value | None, g: Value | None, ids: None
) -> Sequence[Value | None]:
    experts = op.experts.value.data
    pairs = [(x, op.g), (op.x, g)]
    parts = [
        b.grouped_matmul_backward_weight(p, q, op.expert_idx, experts)
        for p, q in pairs
        if p is not None and q is not None
    ]
    return [parts[0] if len(parts) == 1 else parts[0] + parts[1]]


def _expert_of_all(b: MirBuilder, ids: Value, size: int, experts: int) -> Value:
    """Ids `[size, m]` of experts per example as ids `[size m]` among the experts of all examples."""
    own = b.max(b.min(b.cast(ids, "i64"), experts - 1), 0)
    first = b.constant([example * experts for example in range(size)], "i64")
    return fold(b, own + b.reshape(first, (size, 1)))


@VMAP.rule(GroupedMatmulOp)
def grouped_matmul_vmap(
    op: GroupedMatmulOp, b: MirBuilder, batched: Sequence[bool], size: int, *operands: Value
) -> Sequence[Value] | None:
    """The rows of all examples are rows of one product; weights per example are more experts."""
    x, w, ids = operands
    x, ids = lifted(b, (batched[0], batched[2]), size, (x, ids))
    if batched[1]:
        w, ids = fold(b, w), _expert_of_all(b, ids, size, shape_of(op.w)[0])
    else:
        ids = fold(b, ids)
    return [unfold(b, b.grouped_matmul(fold(b, x), w, ids, op.transposed), size, shape_of(op.x)[0])]


@VMAP.rule(GroupedMatmulBackwardWeightOp)
def grouped_matmul_backward_weight_vmap(
    op: GroupedMatmulBackwardWeightOp, b: MirBuilder, batched: Sequence[bool], size: int, *operands: Value
) -> Sequence[Value]:
    """The experts of all examples are experts of one sum."""
    x, g, ids = lifted(b, batched, size, operands)
    experts = op.experts.value.data
    everyone = _expert_of_all(b, ids, size, experts)
    total = b.grouped_matmul_backward_weight(fold(b, x), fold(b, g), everyone, size * experts)
    return [unfold(b, total, size, experts)]
