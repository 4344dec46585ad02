"""The launches of collective ops: kernels that call the engine that connects the processes."""

from __future__ import annotations

from xdsl_rlx.dialects import lir
from xdsl_rlx.dialects.mir.collectives import AllReduceOp
from xdsl_rlx.lowering.buffers import Launch
from xdsl_rlx.lowering.nest.kernel_builder import Kernel
from xdsl_rlx.lowering.nests.work import NEST, Work


@NEST.rule(AllReduceOp)
def all_reduce_nest(op: AllReduceOp, work: Work) -> None:
    """One iteration, which writes to the console, as all effects of the program do."""
    read, written, console = work.read(op.operand), work.write(op.result), work.console()
    arguments = (read, written, console)
    kernel = Kernel([x.type for x in arguments], [x.name for x in arguments], 1, 1)
    source, target, network = kernel.block.args[:-2]
    kernel.entry.builder.insert(lir.AllReduceOp(op.reduction, source, target, network, op.count))
    work.launches.append(Launch(kernel.finish(), 1, 1, (read,), (written, console)))
