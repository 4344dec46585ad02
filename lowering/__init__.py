"""The passes that lower to `lir`, those that run a pipeline, and the targets, lazily."""

from xdsl.passes import ModulePass
from xdsl.universe import XDSL_UNIVERSE, Universe
from xdsl.utils.target import Target


def _get_convert_mir_to_lir() -> type[ModulePass]:
    from xdsl_rlx.lowering.convert_mir_to_lir import ConvertMirToLirPass

    return ConvertMirToLirPass


def _get_lir_check_bounds() -> type[ModulePass]:
    from xdsl_rlx.lowering.lir_check_bounds import LirCheckBoundsPass

    return LirCheckBoundsPass


def _get_lir_tile_products() -> type[ModulePass]:
    from xdsl_rlx.lowering.lir_tile_products import LirTileProductsPass

    return LirTileProductsPass


def _get_lir_outline_loops() -> type[ModulePass]:
    from xdsl_rlx.lowering.lir_outline_loops import LirOutlineLoopsPass

    return LirOutlineLoopsPass


def _get_lir_plan_memory() -> type[ModulePass]:
    from xdsl_rlx.lowering.lir_plan_memory import LirPlanMemoryPass

    return LirPlanMemoryPass


def _get_mir_decompose() -> type[ModulePass]:
    from xdsl_rlx.lowering.mir_decompose import MirDecomposePass

    return MirDecomposePass


def _get_mir_normalize() -> type[ModulePass]:
    from xdsl_rlx.lowering.mir_normalize import MirNormalizePass

    return MirNormalizePass


def _get_mir_prepare_for_ad() -> type[ModulePass]:
    from xdsl_rlx.lowering.mir_prepare_for_ad import MirPrepareForAdPass

    return MirPrepareForAdPass


def _get_mir_prepare_for_fusion() -> type[ModulePass]:
    from xdsl_rlx.lowering.mir_prepare_for_fusion import MirPrepareForFusionPass

    return MirPrepareForFusionPass


def _get_numba() -> type[Target]:
    from xdsl_rlx.lowering.numba.target import NumbaTarget

    return NumbaTarget


def _get_llvm() -> type[Target]:
    from xdsl_rlx.lowering.numba.target import LlvmTarget

    return LlvmTarget


def _get_asm() -> type[Target]:
    from xdsl_rlx.lowering.numba.target import AsmTarget

    return AsmTarget


UNIVERSE = Universe(
    all_passes={
        "convert-mir-to-lir": _get_convert_mir_to_lir,
        "lir-check-bounds": _get_lir_check_bounds,
        "lir-tile-products": _get_lir_tile_products,
        "lir-outline-loops": _get_lir_outline_loops,
        "lir-plan-memory": _get_lir_plan_memory,
        "mir-decompose": _get_mir_decompose,
        "mir-normalize": _get_mir_normalize,
        "mir-prepare-for-ad": _get_mir_prepare_for_ad,
        "mir-prepare-for-fusion": _get_mir_prepare_for_fusion,
    },
    all_targets={"numba": _get_numba, "asm": _get_asm},
)

# xDSL has a target of this name and refuses a second one: ours takes its place, and leaves it the modules of others
XDSL_UNIVERSE.all_targets["llvm"] = _get_llvm

TARGETS = {**UNIVERSE.all_targets, "llvm": _get_llvm}
"""All targets of this package."""
