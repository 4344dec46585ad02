"""The pass `mir-prepare-for-ad`: the pipelines of that name in `pipelines.py`, to a fixpoint."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from xdsl_rlx.lowering.pipelines import PREPARE_FOR_AD, PREPARE_FOR_REVERSE
from xdsl_rlx.transforms.driver import run_to_fixpoint


@dataclass(frozen=True)
class MirPrepareForAdPass(ModulePass):
    """Run the passes that make a function differentiable, in nested regions too, to a fixpoint."""

    name = "mir-prepare-for-ad"

    reverse: bool = True
    """Also prepare loops for reverse mode."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        run_to_fixpoint(ctx, op, PREPARE_FOR_REVERSE if self.reverse else PREPARE_FOR_AD)
