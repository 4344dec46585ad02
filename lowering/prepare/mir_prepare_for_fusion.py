"""The pass `mir-prepare-for-fusion`: the pipeline of that name in `pipelines.py`."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from xdsl_rlx.lowering.pipelines import prepared_for_fusion
from xdsl_rlx.lowering.target import PrepareCosts
from xdsl_rlx.transforms.driver import run_once, verify_dominance


@dataclass(frozen=True)
class MirPrepareForFusionPass(PrepareCosts, ModulePass):
    """
    Leave only ops with a loop form or a kernel of their own, with the options of the passes that it runs.

    Decomposes composite ops, merges equal ops, and moves work that depends on no carry out of scans.
    """

    name = "mir-prepare-for-fusion"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        verify_dominance(op)
        first, *others = prepared_for_fusion(self)
        first.run(ctx, op)
        run_once(ctx, op, others)
        # once more for what has become visible, and no more often: canonicalization takes small things into a loop that
        # fission takes out of it
        if first.run(ctx, op):
            run_once(ctx, op, others)
