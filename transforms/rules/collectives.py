"""Rows of collective ops. A sum over processes is linear, and its own transpose: each process has a cotangent of it."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.utils.exceptions import PassFailedException

from xdsl_rlx.dialects.locations import named
from xdsl_rlx.dialects.mir.collectives import AllReduceOp, Reduction
from xdsl_rlx.dialects.mir.mir_builder import MirBuilder, Value
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
