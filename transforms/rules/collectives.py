"""Rows of collective ops. A sum over processes is linear, and its own transpose: each process has a cotangent of it."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.utils.exceptions import PassFailedException

from xdsl_rlx.dialects.locations import named
from xdsl_rlx.dialects.mir.collectives import (
    AllGatherOp,
    AllReduceOp,
    BroadcastOp,
    ReduceScatterOp,
    ReduceToOp,
    Reduction,
)
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
from xdsl_rlx.transforms.rules.rows import move_axis
from xdsl_rlx.transforms.rules.rule_table import JVP, VJP, VMAP, Cotangent


def _check_linear(op: AllReduceOp) -> None:
    if op.reduction is not Reduction.SUM:
        raise PassFailedException(
            f"{named(op)}: the {op.reduction} over processes has no derivative; differentiate a sum or mean, or take "
            "it of values that nothing is differentiated through (rlx.stop_gradient)"
        )


@VJP.rule(AllReduceOp)
def all_reduce_vjp(op: AllReduceOp, b: MirBuilder, g: Value) -> Sequence[Cotangent]:
    _check_linear(op)
    return [b.all_reduce(g, op.reduction, op.count)]


@JVP.rule(AllReduceOp)
def all_reduce_jvp(op: AllReduceOp, b: MirBuilder, t: Value) -> Sequence[Value | None]:
    _check_linear(op)
    return [b.all_reduce(t, op.reduction, op.count)]


@VMAP.rule(AllReduceOp)
def all_reduce_vmap(op: AllReduceOp, b: MirBuilder, batched: Sequence[bool], size: int, x: Value) -> Sequence[Value]:
    return [b.all_reduce(x, op.reduction, op.count)]


@VJP.rule(AllGatherOp)
def all_gather_vjp(op: AllGatherOp, b: MirBuilder, g: Value) -> Sequence[Cotangent]:
    return [b.reduce_scatter(g, op.count)]


@JVP.rule(AllGatherOp)
def all_gather_jvp(op: AllGatherOp, b: MirBuilder, t: Value) -> Sequence[Value | None]:
    return [b.all_gather(t, op.count)]


@VMAP.rule(AllGatherOp)
def all_gather_vmap(op: AllGatherOp, b: MirBuilder, batched: Sequence[bool], size: int, x: Value) -> Sequence[Value]:
    """The axis that grows stays in front; the batch follows it."""
    return [move_axis(b, b.all_gather(move_axis(b, x, 0, 1), op.count), 1, 0)]


@VJP.rule(ReduceScatterOp)
def reduce_scatter_vjp(op: ReduceScatterOp, b: MirBuilder, g: Value) -> Sequence[Cotangent]:
    return [b.all_gather(g, op.count)]


@JVP.rule(ReduceScatterOp)
def reduce_scatter_jvp(op: ReduceScatterOp, b: MirBuilder, t: Value) -> Sequence[Value | None]:
    return [b.reduce_scatter(t, op.count)]


@VMAP.rule(ReduceScatterOp)
def reduce_scatter_vmap(
    op: ReduceScatterOp, b: MirBuilder, batched: Sequence[bool], size: int, x: Value
) -> Sequence[Value]:
    return [move_axis(b, b.reduce_scatter(move_axis(b, x, 0, 1), op.count), 1, 0)]


@VJP.rule(BroadcastOp)
def broadcast_vjp(op: BroadcastOp, b: MirBuilder, g: Value) -> Sequence[Cotangent]:
    return [b.reduce_to(g, op.root_number, op.count)]


@JVP.rule(BroadcastOp)
def broadcast_jvp(op: BroadcastOp, b: MirBuilder, t: Value) -> Sequence[Value | None]:
    return [b.broadcast(t, op.root_number, op.count)]


@VMAP.rule(BroadcastOp)
def broadcast_vmap(op: BroadcastOp, b: MirBuilder, batched: Sequence[bool], size: int, x: Value) -> Sequence[Value]:
    return [b.broadcast(x, op.root_number, op.count)]


@VJP.rule(ReduceToOp)
def reduce_to_vjp(op: ReduceToOp, b: MirBuilder, g: Value) -> Sequence[Cotangent]:
    return [b.broadcast(g, op.root_number, op.count)]


@JVP.rule(ReduceToOp)
def reduce_to_jvp(op: ReduceToOp, b: MirBuilder, t: Value) -> Sequence[Value | None]:
    return [b.reduce_to(t, op.root_number, op.count)]


@VMAP.rule(ReduceToOp)
def reduce_to_vmap(op: ReduceToOp, b: MirBuilder, batched: Sequence[bool], size: int, x: Value) -> Sequence[Value]:
    return [b.reduce_to(x, op.root_number, op.count)]
