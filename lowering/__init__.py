"""The passes that fuse, those that lower to `lir`, and the targets, lazily."""

from xdsl.passes import ModulePass
from xdsl.universe import XDSL_UNIVERSE, Universe
from xdsl.utils.target import Target


def _get_mir_fuse() -> type[ModulePass]:
    from xdsl_rlx.lowering.fuse.mir_fuse import MirFusePass

    return MirFusePass


def _get_convert_mir_to_lir() -> type[ModulePass]:
    from xdsl_rlx.lowering.convert_mir_to_lir import ConvertMirToLirPass

    return ConvertMirToLirPass


def _get_lir_check_bounds() -> type[ModulePass]:
    from xdsl_rlx.lowering.lir_check_bounds import LirCheckBoundsPass

    return LirCheckBoundsPass


def _get_lir_guard_range() -> type[ModulePass]:
    from xdsl_rlx.lowering.lir_guard_range import LirGuardRangePass

    return LirGuardRangePass


def _get_lir_tile_products() -> type[ModulePass]:
    from xdsl_rlx.lowering.lir_tile_products import LirTileProductsPass

    return LirTileProductsPass


def _get_lir_outline_loops() -> type[ModulePass]:
    from xdsl_rlx.lowering.lir_outline_loops import LirOutlineLoopsPass

    return LirOutlineLoopsPass


def _get_lir_mark_unrolled() -> type[ModulePass]:
    from xdsl_rlx.lowering.lir_mark_unrolled import LirMarkUnrolledPass

    return LirMarkUnrolledPass


def _get_lir_plan_memory() -> type[ModulePass]:
    from xdsl_rlx.lowering.lir_plan_memory import LirPlanMemoryPass

    return LirPlanMemoryPass


def _get_numba() -> type[Target]:
    from xdsl_rlx.lowering.numba.emit.targets import NumbaTarget

    return NumbaTarget


def _get_llvm() -> type[Target]:
    from xdsl_rlx.lowering.numba.emit.targets import LlvmTarget

    return LlvmTarget


def _get_asm() -> type[Target]:
    from xdsl_rlx.lowering.numba.emit.targets import AsmTarget

    return AsmTarget


UNIVERSE = Universe(
    all_passes={
        "mir-fuse": _get_mir_fuse,
        "convert-mir-to-lir": _get_convert_mir_to_lir,
        "lir-check-bounds": _get_lir_check_bounds,
        "lir-guard-range": _get_lir_guard_range,
        "lir-tile-products": _get_lir_tile_products,
        "lir-outline-loops": _get_lir_outline_loops,
        "lir-mark-unrolled": _get_lir_mark_unrolled,
        "lir-plan-memory": _get_lir_plan_memory,
    },
    all_targets={"numba": _get_numba, "asm": _get_asm},
)

# xDSL has a target of this name and refuses a second one: ours takes its place, and leaves it the modules of others
XDSL_UNIVERSE.all_targets["llvm"] = _get_llvm

TARGETS = {**UNIVERSE.all_targets, "llvm": _get_llvm}
"""All targets of this package."""
