"""The pass `mir-prepare-for-ad`: the pipeline of that name in `pipelines.py`, to a fixpoint."""

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from xdsl_rlx.transforms.driver import run_to_fixpoint
from xdsl_rlx.transforms.pipelines import PREPARE_FOR_AD


class MirPrepareForAdPass(ModulePass):
    """Run the passes that make a function differentiable, in nested regions too, until none has anything left to do."""

    name = "mir-prepare-for-ad"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        run_to_fixpoint(ctx, op, PREPARE_FOR_AD)
