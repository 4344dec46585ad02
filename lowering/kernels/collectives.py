"""The launches of collective ops: kernels that call the engine that connects the processes."""

from __future__ import annotations

from math import prod

from xdsl_rlx.dialects import lir
from xdsl_rlx.dialects.lir.collectives import Collective
from xdsl_rlx.dialects.mir.collectives import (
    AllGatherOp,
    AllReduceOp,
    BroadcastOp,
    CollectiveOp,
    ReduceScatterOp,
    ReduceToOp,
)
from xdsl_rlx.dialects.shapes import shape_of
from xdsl_rlx.lowering.buffers import Launch
from xdsl_rlx.lowering.kernel_dsl import Array, Iteration
from xdsl_rlx.lowering.kernel_dsl.kernel_builder import Kernel
from xdsl_rlx.lowering.kernels.work import NEST, Work


@NEST.rule(AllReduceOp)
def all_reduce_nest(op: AllReduceOp, work: Work) -> None:
    _launch(op, Collective(op.reduction), work)


@NEST.rule(AllGatherOp)
def all_gather_nest(op: AllGatherOp, work: Work) -> None:
    _launch(op, Collective.GATHER, work)


@NEST.rule(ReduceScatterOp)
def reduce_scatter_nest(op: ReduceScatterOp, work: Work) -> None:
    _launch(op, Collective.SCATTER, work)


@NEST.rule(BroadcastOp)
def broadcast_nest(op: BroadcastOp, work: Work) -> None:
    _launch(op, Collective.BROADCAST, work, op.root_number)


@NEST.rule(ReduceToOp)
def reduce_to_nest(op: ReduceToOp, work: Work) -> None:
    _launch(op, Collective.REDUCE, work, op.root_number)


def _launch(op: CollectiveOp, call: Collective, work: Work, root: int = 0) -> None:
    """One iteration, which writes to the console, as all effects of the program do; of one process, a copy."""
    if op.count == 1:
        _copy(op, work)
        return
    read, written, console = work.read(op.operand), work.write(op.result), work.console()
    arguments = (read, written, console)
    kernel = Kernel([x.type for x in arguments], [x.name for x in arguments], 1, 1)
    source, target, network = kernel.block.args[:-2]
    kernel.entry.builder.insert(lir.CollectiveOp(call, source, target, network, op.count, root))
    work.launches.append(Launch(kernel.finish(), 1, 1, (read,), (written, console)))


def _copy(op: CollectiveOp, work: Work) -> None:
    """A program of one process is connected to no other, and has no engine to call."""
    size = prod(shape_of(op.operand))
    x, y = work.read(op.operand, (size,)), work.write(op.result, (size,))

    @work.over(size, 1, [x], [y])
    def copied(it: Iteration, x: Array, y: Array) -> None:
        y[it.index] = x[it.index]
