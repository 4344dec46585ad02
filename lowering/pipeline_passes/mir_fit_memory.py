"""`mir-fit-memory`: so much computed again that the arena of the program fits into a number of bytes."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from xdsl_rlx.dialects import lir
from xdsl_rlx.dialects.mir.scan import ScanOp
from xdsl_rlx.lowering.pass_costs import with_costs
from xdsl_rlx.lowering.pipelines import remaining_passes
from xdsl_rlx.lowering.target import CostModel
from xdsl_rlx.transforms.driver import run_in_order
from xdsl_rlx.transforms.mir_rematerialize import MirRematerializePass

TRIALS = (
    None,
    *(MirRematerializePass(price) for price in (1.0, 3.0, 10.0, 30.0, 100.0, 1e6)),
    *(MirRematerializePass(1e6, stride) for stride in (2, 4, 8, 16)),
)
"""What is tried, one after the other: nothing, then more and more computed again, at last in longer segments. With each
but the first, products stay in their loops."""


@dataclass(frozen=True)
class MirFitMemoryPass(CostModel, ModulePass):
    """
    Rematerialise values until the arena of the program fits into `budget` bytes.

    Tries `mir-rematerialize` with each setting of `TRIALS` in turn. Each trial lowers the module to a planned program,
    so the size is exact. Arguments, results and constants do not count. If the unchanged program does not fit, matmuls
    that `mir-fission-scans` would move also stay in their loops.
    """

    name = "mir-fit-memory"

    budget: int
    """Maximum bytes of the arena."""

    threads: int = 1
    """Threads of the program. More threads need more workspace for partial results."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.budget < 0:
            raise PassFailedException(f"{self.name}: expected a budget in bytes of at least 0, got {self.budget}")
        least = self._arena(ctx, op, None)
        if least <= self.budget:
            return
        _keep_products_in_loops(op)
        for trial in TRIALS:
            needed = self._arena(ctx, op, trial)
            if needed <= self.budget:
                if trial is not None:
                    trial.apply(ctx, op)
                return
            least = min(least, needed)
        raise PassFailedException(
            f"{self.name}: the arena takes at least {least:,} bytes, even if everything is rematerialised; "
            f"the budget is {self.budget:,}"
        )

    def _arena(self, ctx: Context, module: ModuleOp, trial: MirRematerializePass | None) -> int:
        copy = module.clone()
        passes = remaining_passes(copy, self.threads, with_costs(CostModel, self))
        run_in_order(ctx, copy, [*([trial] if trial is not None else ()), *passes])
        programs = [x for x in copy.ops if isinstance(x, lir.ProgramOp)]
        if len(programs) != 1 or programs[0].arena_bytes is None:
            raise PassFailedException(f"{self.name}: expected a module of one function, got {len(programs)} programs")
        return programs[0].arena_bytes.value.data


def _keep_products_in_loops(module: ModuleOp) -> None:
    """Have each scan say that memory counts, as one with `checkpoints` does: here, at all times."""
    for op in module.walk():
        if isinstance(op, ScanOp) and op.checkpoints is None and op.times > 0:
            op.properties["checkpoints"] = op.length
