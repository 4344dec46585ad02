"""The pass `mir-prepare-for-fusion`, and the passes that it runs."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from xdsl_rlx.lowering.pass_costs import with_costs
from xdsl_rlx.lowering.prepare.mir_decompose import MirDecomposePass
from xdsl_rlx.lowering.prepare.mir_normalize import MirNormalizePass
from xdsl_rlx.lowering.prepare.mir_sink_copies import MirSinkCopiesPass
from xdsl_rlx.lowering.prepare.mir_split_axes import MirSplitAxesPass
from xdsl_rlx.lowering.target import PrepareCosts
from xdsl_rlx.transforms.driver import RewritingPass, run_once, verify_dominance
from xdsl_rlx.transforms.mir_bucket_all_reduce import MirBucketAllReducePass
from xdsl_rlx.transforms.mir_canonicalize import MirCanonicalizePass
from xdsl_rlx.transforms.mir_cse import MirCsePass
from xdsl_rlx.transforms.mir_fission_scans import MirFissionScansPass
from xdsl_rlx.transforms.mir_fuse_batch_preprocess import MirFuseBatchPreprocessPass
from xdsl_rlx.transforms.mir_lower_complex import MirLowerComplexPass
from xdsl_rlx.transforms.mir_lower_regions import MirLowerRegionsPass
from xdsl_rlx.transforms.mir_slice_gathers import MirSliceGathersPass


def prepared_for_fusion(costs: PrepareCosts) -> tuple[RewritingPass, ...]:
    """
    The passes between a function and its kernels, with the options of `mir-prepare-for-fusion`.

    They run again if what the others bring up lets something more leave a scan. Computing on parts brings up composite
    ops. Equal ops become one before results that nothing reads go: of equal scans, one may stack what another one is
    read for.
    """
    return (
        MirSliceGathersPass(),
        MirFissionScansPass(),
        MirFuseBatchPreprocessPass(),
        MirLowerRegionsPass(),
        MirDecomposePass(),
        MirLowerComplexPass(),
        MirDecomposePass(),
        MirBucketAllReducePass(costs.bucket_bytes),
        with_costs(MirNormalizePass, costs),
        MirCsePass(),
        with_costs(MirSplitAxesPass, costs),
        with_costs(MirSinkCopiesPass, costs),
        MirCanonicalizePass(),
        MirCsePass(),
    )


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
