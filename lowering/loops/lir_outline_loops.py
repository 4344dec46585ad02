"""`lir-outline-loops`: a loop or branch over small launches becomes one kernel that has it inside."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from xdsl_rlx.dialects.lir import IfOp, KernelOp, LoopOp, ProgramOp, WhileOp
from xdsl_rlx.lowering.kernel_pass import erase_unused, symbols_of
from xdsl_rlx.lowering.loops.outlined_branch import OutlinedBranch
from xdsl_rlx.lowering.loops.outlined_loop import OutlinedLoop
from xdsl_rlx.lowering.target import LoopCosts
from xdsl_rlx.transforms.driver import verify_dominance


@dataclass(frozen=True)
class LirOutlineLoopsPass(LoopCosts, ModulePass):
    """
    Outline each `lir.loop` with small iterations into one kernel, inner loops first.

    ```mlir
    lir.loop %t = 0 to 1000 {
      %x = lir.step %xs at %t : memref<1000x8xf32> to memref<8xf32>
      lir.launch @f over 8 by 8 reads(%x : ..) writes(%y : ..)
      lir.launch @g over 8 by 8 reads(%y : ..) writes(%z : ..)
    }
    // becomes
    lir.launch @loop_f_g over 1000 by 1000 reads(%xs : memref<8000xf32>) writes(%y, %z : ..)
    ```

    The kernel iterates over the loop. It receives each buffer once, flattened; offsets are computed from the iteration.
    Slots of the body move in front of the launch.

    If launches have several chunks, the kernel iterates over chunks (`loop_parts.py`): each runs all iterations of the
    loop on its share of the buffers, without synchronisation. Small buffers that stay in place across iterations are on
    the stack of the chunk.

    A `lir.while`, and a `lir.if` inside of a loop, become a kernel in the same way if all launches have one chunk. The
    kernel of a `lir.while` asks `lir.poll` in each iteration whether the run goes on.
    """

    name = "lir-outline-loops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        programs = [x for x in op.ops if isinstance(x, ProgramOp)]
        if not any(isinstance(x, LoopOp | WhileOp) for program in programs for x in program.walk()):
            return
        verify_dominance(op)
        kernels = {kernel.sym_name.data: kernel for kernel in op.ops if isinstance(kernel, KernelOp)}
        taken, changed = symbols_of(op), False
        for program in programs:
            for control in reversed([x for x in program.walk() if isinstance(x, LoopOp | IfOp | WhileOp)]):
                if isinstance(control, LoopOp):
                    outline = OutlinedLoop(control, taken, kernels, self)
                else:
                    outline = OutlinedBranch(control, taken, kernels, self)
                if outline.fits():
                    kernel = outline.replace()
                    kernels[kernel.sym_name.data] = kernel
                    op.body.block.add_op(kernel)
                    changed = True
        if changed:
            erase_unused(op, kernels)
