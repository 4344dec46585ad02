"""The launch of `mir.debug_print`: a kernel that calls Python."""

from __future__ import annotations

from xdsl_rlx.dialects import lir
from xdsl_rlx.dialects.mir.debug import DebugPrintOp
from xdsl_rlx.lowering.buffers import Launch
from xdsl_rlx.lowering.kernel_dsl.kernel_builder import Kernel
from xdsl_rlx.lowering.kernels.work import NEST, Work


@NEST.rule(DebugPrintOp)
def debug_print_nest(op: DebugPrintOp, work: Work) -> None:
    """One iteration, which writes to the console, as all prints of the program do."""
    values = dict.fromkeys(op.operands)
    reads, console = [work.read(x) for x in values], work.console()
    kernel = Kernel([a.type for a in (*reads, console)], [a.name for a in (*reads, console)], 1, len(reads))
    *buffers, written = kernel.block.args[:-2]
    of = dict(zip(values, buffers, strict=True))
    when = None if op.when is None else of[op.when]
    made = lir.DebugPrintOp(op.text.data, op.batch_rank, written, [of[x] for x in op.inputs], when)
    kernel.entry.builder.insert(made)
    work.launches.append(Launch(kernel.finish(), 1, 1, tuple(reads), (console,)))
