"""Named pipelines as tuples of passes: the one place where their order is decided."""

from xdsl_rlx.transforms.driver import RewritingPass
from xdsl_rlx.transforms.mir_convert_scans_for_ad import MirConvertScansForAdPass
from xdsl_rlx.transforms.mir_decompose_fusion_regions import MirDecomposeFusionRegionsPass
from xdsl_rlx.transforms.mir_emit_vjp import MirEmitVjpPass
from xdsl_rlx.transforms.mir_fuse_gaussian_splat import MirFuseGaussianSplatPass
from xdsl_rlx.transforms.mir_inline_custom_fn import MirInlineCustomFnPass
from xdsl_rlx.transforms.mir_legalize_multi_axis_reduce import MirLegalizeMultiAxisReducePass
from xdsl_rlx.transforms.mir_lower_dot_general import MirLowerDotGeneralPass
from xdsl_rlx.transforms.mir_unfuse_elementwise_regions import MirUnfuseElementwiseRegionsPass
from xdsl_rlx.transforms.mir_unfuse_for_ad import MirUnfuseForAdPass
from xdsl_rlx.transforms.mir_unroll_while import MirUnrollWhilePass

PREPARE_FOR_AD: tuple[RewritingPass, ...] = (
    MirEmitVjpPass(),
    MirDecomposeFusionRegionsPass(),
    MirUnfuseElementwiseRegionsPass(),
    MirFuseGaussianSplatPass(),
    MirUnfuseForAdPass(),
    MirLowerDotGeneralPass(),
    MirLegalizeMultiAxisReducePass(),
    MirInlineCustomFnPass(without_rules=True),
)
"""What stands between a function and its derivatives. Unfusing may bring up what legalisation splits, and would take
apart what fusing keeps."""

PREPARE_FOR_REVERSE: tuple[RewritingPass, ...] = (
    *PREPARE_FOR_AD,
    MirUnrollWhilePass(differentiable=True),
    MirConvertScansForAdPass(),
)
"""The same for reverse mode, which goes back over loops."""
