"""Rows of collective ops. A sum over processes is linear, and its own transpose: each process has a cotangent of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from xdsl.ir import Operation
from xdsl.utils.exceptions import PassFailedException

from xdsl_rlx.dialects.locations import named
from xdsl_rlx.dialects.mir.collectives import (
    AllGatherOp,
    AllReduceOp,
    BroadcastOp,
    CollectiveOp,
    ReduceScatterOp,
    ReduceToOp,
    Reduction,
    RootedOp,
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


Build: TypeAlias = Callable[[Any, MirBuilder, Value], Value]
"""From an op and another operand, what the op, or its transpose, makes of that."""


def _linear(kind: type[CollectiveOp], same: Build, transposed: Build, in_front: bool = False) -> None:
    """The rows of a linear op; `in_front`: of one whose first axis changes, behind which a batch has its axis."""

    def vjp(op: Operation, b: MirBuilder, g: Value) -> Sequence[Cotangent]:
        return [transposed(op, b, g)]

    def jvp(op: Operation, b: MirBuilder, t: Value) -> Sequence[Value | None]:
        return [same(op, b, t)]

    def vmap(op: Operation, b: MirBuilder, batched: Sequence[bool], size: int, x: Value) -> Sequence[Value]:
        if not in_front:
            return [same(op, b, x)]
        return [move_axis(b, same(op, b, move_axis(b, x, 0, 1)), 1, 0)]

    VJP.add(kind, vjp)
    JVP.add(kind, jvp)
    VMAP.add(kind, vmap)


def _gather(op: CollectiveOp, b: MirBuilder, x: Value) -> Value:
    return b.all_gather(x, op.count)


def _scatter(op: CollectiveOp, b: MirBuilder, x: Value) -> Value:
    return b.reduce_scatter(x, op.count)


def _broadcast(op: RootedOp, b: MirBuilder, x: Value) -> Value:
    return b.broadcast(x, op.root_number, op.count)


def _reduce(op: RootedOp, b: MirBuilder, x: Value) -> Value:
    return b.reduce_to(x, op.root_number, op.count)


_linear(AllGatherOp, _gather, _scatter, in_front=True)
_linear(ReduceScatterOp, _scatter, _gather, in_front=True)
_linear(BroadcastOp, _broadcast, _reduce)
_linear(ReduceToOp, _reduce, _broadcast)
