"""The pass `mir-prepare-for-ad`, and the passes that it runs to a fixpoint."""

from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from xdsl_rlx.plugins import names
from xdsl_rlx.transforms import pass_of
from xdsl_rlx.transforms.driver import RewritingPass, run_to_fixpoint
from xdsl_rlx.transforms.mir_cancel_roots import MirCancelRootsPass
from xdsl_rlx.transforms.mir_convert_scans_for_ad import MirConvertScansForAdPass
from xdsl_rlx.transforms.mir_cse import MirCsePass
from xdsl_rlx.transforms.mir_decompose_fusion_regions import MirDecomposeFusionRegionsPass
from xdsl_rlx.transforms.mir_emit_vjp import MirEmitVjpPass
from xdsl_rlx.transforms.mir_inline_custom_fn import MirInlineCustomFnPass
from xdsl_rlx.transforms.mir_legalize_multi_axis_reduce import MirLegalizeMultiAxisReducePass
from xdsl_rlx.transforms.mir_lower_dot_general import MirLowerDotGeneralPass
from xdsl_rlx.transforms.mir_raise_composites import MirRaiseCompositesPass
from xdsl_rlx.transforms.mir_slice_gathers import MirSliceGathersPass
from xdsl_rlx.transforms.mir_unfuse_elementwise_regions import MirUnfuseElementwiseRegionsPass
from xdsl_rlx.transforms.mir_unfuse_for_ad import MirUnfuseForAdPass
from xdsl_rlx.transforms.mir_unroll_while import MirUnrollWhilePass

PREPARE_FOR_AD: tuple[RewritingPass, ...] = (
    MirEmitVjpPass(),
    MirDecomposeFusionRegionsPass(),
    MirUnfuseElementwiseRegionsPass(),
    *(cast(type[RewritingPass], pass_of(module))() for module in names("before_ad")),
    MirCancelRootsPass(),
    MirSliceGathersPass(),
    MirRaiseCompositesPass("differentiated"),
    MirUnfuseForAdPass(),
    MirLowerDotGeneralPass(),
    MirLegalizeMultiAxisReducePass(),
    MirInlineCustomFnPass(without_rules=True),
    MirCsePass(),
)
"""What stands between a function and its derivatives. Unfusing may bring up what legalisation splits, and would take
apart what fusing keeps. What a function computes twice has one derivative."""

PREPARE_FOR_REVERSE: tuple[RewritingPass, ...] = (
    *PREPARE_FOR_AD,
    MirUnrollWhilePass(differentiable=True),
    MirConvertScansForAdPass(),
)
"""The same for reverse mode, which goes back over loops."""


@dataclass(frozen=True)
class MirPrepareForAdPass(ModulePass):
    """Run the passes that make a function differentiable, in nested regions too, to a fixpoint."""

    name = "mir-prepare-for-ad"

    reverse: bool = True
    """Also prepare loops for reverse mode."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        run_to_fixpoint(ctx, op, PREPARE_FOR_REVERSE if self.reverse else PREPARE_FOR_AD)
