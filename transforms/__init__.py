"""The passes on `hir` and `mir`, lazily. One getter a pass; the pass name with `-` as `_` is its file's stem."""

from xdsl.passes import ModulePass
from xdsl.universe import Universe


def _get_convert_hir_to_mir() -> type[ModulePass]:
    from xdsl_rlx.transforms.convert_hir_to_mir import ConvertHirToMirPass

    return ConvertHirToMirPass


def _get_mir_canonicalize() -> type[ModulePass]:
    from xdsl_rlx.transforms.mir_canonicalize import MirCanonicalizePass

    return MirCanonicalizePass


def _get_mir_fission_scans() -> type[ModulePass]:
    from xdsl_rlx.transforms.mir_fission_scans import MirFissionScansPass

    return MirFissionScansPass


def _get_mir_convert_scans_for_ad() -> type[ModulePass]:
    from xdsl_rlx.transforms.mir_convert_scans_for_ad import MirConvertScansForAdPass

    return MirConvertScansForAdPass


def _get_mir_cse() -> type[ModulePass]:
    from xdsl_rlx.transforms.mir_cse import MirCsePass

    return MirCsePass


def _get_mir_decompose_fusion_regions() -> type[ModulePass]:
    from xdsl_rlx.transforms.mir_decompose_fusion_regions import MirDecomposeFusionRegionsPass

    return MirDecomposeFusionRegionsPass


def _get_mir_emit_vjp() -> type[ModulePass]:
    from xdsl_rlx.transforms.mir_emit_vjp import MirEmitVjpPass

    return MirEmitVjpPass


def _get_mir_fuse() -> type[ModulePass]:
    from xdsl_rlx.transforms.mir_fuse import MirFusePass

    return MirFusePass


def _get_mir_fuse_gaussian_splat() -> type[ModulePass]:
    from xdsl_rlx.transforms.mir_fuse_gaussian_splat import MirFuseGaussianSplatPass

    return MirFuseGaussianSplatPass


def _get_mir_grad() -> type[ModulePass]:
    from xdsl_rlx.transforms.mir_grad import MirGradPass

    return MirGradPass


def _get_mir_hvp() -> type[ModulePass]:
    from xdsl_rlx.transforms.mir_hvp import MirHvpPass

    return MirHvpPass


def _get_mir_inline_custom_fn() -> type[ModulePass]:
    from xdsl_rlx.transforms.mir_inline_custom_fn import MirInlineCustomFnPass

    return MirInlineCustomFnPass


def _get_mir_inline_if() -> type[ModulePass]:
    from xdsl_rlx.transforms.mir_inline_if import MirInlineIfPass

    return MirInlineIfPass


def _get_mir_jacfwd() -> type[ModulePass]:
    from xdsl_rlx.transforms.mir_jacfwd import MirJacfwdPass

    return MirJacfwdPass


def _get_mir_jacrev() -> type[ModulePass]:
    from xdsl_rlx.transforms.mir_jacrev import MirJacrevPass

    return MirJacrevPass


def _get_mir_jvp() -> type[ModulePass]:
    from xdsl_rlx.transforms.mir_jvp import MirJvpPass

    return MirJvpPass


def _get_mir_legalize_multi_axis_reduce() -> type[ModulePass]:
    from xdsl_rlx.transforms.mir_legalize_multi_axis_reduce import MirLegalizeMultiAxisReducePass

    return MirLegalizeMultiAxisReducePass


def _get_mir_lower_complex() -> type[ModulePass]:
    from xdsl_rlx.transforms.mir_lower_complex import MirLowerComplexPass

    return MirLowerComplexPass


def _get_mir_lower_dot_general() -> type[ModulePass]:
    from xdsl_rlx.transforms.mir_lower_dot_general import MirLowerDotGeneralPass

    return MirLowerDotGeneralPass


def _get_mir_select_outputs() -> type[ModulePass]:
    from xdsl_rlx.transforms.mir_select_outputs import MirSelectOutputsPass

    return MirSelectOutputsPass


def _get_mir_unfuse_elementwise_regions() -> type[ModulePass]:
    from xdsl_rlx.transforms.mir_unfuse_elementwise_regions import MirUnfuseElementwiseRegionsPass

    return MirUnfuseElementwiseRegionsPass


def _get_mir_unfuse_for_ad() -> type[ModulePass]:
    from xdsl_rlx.transforms.mir_unfuse_for_ad import MirUnfuseForAdPass

    return MirUnfuseForAdPass


def _get_mir_unroll_while() -> type[ModulePass]:
    from xdsl_rlx.transforms.mir_unroll_while import MirUnrollWhilePass

    return MirUnrollWhilePass


def _get_mir_vmap() -> type[ModulePass]:
    from xdsl_rlx.transforms.mir_vmap import MirVmapPass

    return MirVmapPass


UNIVERSE = Universe(
    all_passes={
        "convert-hir-to-mir": _get_convert_hir_to_mir,
        "mir-canonicalize": _get_mir_canonicalize,
        "mir-cse": _get_mir_cse,
        "mir-fission-scans": _get_mir_fission_scans,
        "mir-convert-scans-for-ad": _get_mir_convert_scans_for_ad,
        "mir-decompose-fusion-regions": _get_mir_decompose_fusion_regions,
        "mir-emit-vjp": _get_mir_emit_vjp,
        "mir-fuse": _get_mir_fuse,
        "mir-fuse-gaussian-splat": _get_mir_fuse_gaussian_splat,
        "mir-grad": _get_mir_grad,
        "mir-hvp": _get_mir_hvp,
        "mir-inline-custom-fn": _get_mir_inline_custom_fn,
        "mir-inline-if": _get_mir_inline_if,
        "mir-jacfwd": _get_mir_jacfwd,
        "mir-jacrev": _get_mir_jacrev,
        "mir-jvp": _get_mir_jvp,
        "mir-legalize-multi-axis-reduce": _get_mir_legalize_multi_axis_reduce,
        "mir-lower-complex": _get_mir_lower_complex,
        "mir-lower-dot-general": _get_mir_lower_dot_general,
        "mir-select-outputs": _get_mir_select_outputs,
        "mir-unfuse-elementwise-regions": _get_mir_unfuse_elementwise_regions,
        "mir-unfuse-for-ad": _get_mir_unfuse_for_ad,
        "mir-unroll-while": _get_mir_unroll_while,
        "mir-vmap": _get_mir_vmap,
    }
)
