"""The pass `rlx-to-lir`: the pipeline `compile_passes` of `pipelines.py`, under one name."""

from collections import deque
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from xdsl_rlx.lowering.backend.machine.model import cost_model
from xdsl_rlx.lowering.kernel_pass import lower_by_kernel
from xdsl_rlx.lowering.pipelines import compile_passes


@dataclass(frozen=True)
class RlxToLirPass(ModulePass):
    """
    Lower a function from any stage to a planned `lir` program: the passes that `rlx.compile` runs before LLVM.

    The options of these passes are those of the target processor, which `XDSL_RLX_CPU` names. `XDSL_RLX_CHECK=1` adds
    `lir-check-bounds`.
    """

    name = "rlx-to-lir"

    threads: int = 1
    """The number of threads that a large launch is split into chunks for; at least 1."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.threads < 1:
            raise PassFailedException(f"{self.name}: threads must be at least 1, got {self.threads}")
        passes = compile_passes(op, self.threads, cost_model())
        deque(lower_by_kernel(ctx, op, passes), maxlen=0)
