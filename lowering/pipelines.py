"""In which order passes run, from blocks to a planned program. What `mir-prepare-for-ad` and `mir-prepare-for-fusion`
run is in their files."""

import os

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from xdsl_rlx.dialects import lir
from xdsl_rlx.dialects.mir.control import FusionOp
from xdsl_rlx.dialects.walks import ops_within
from xdsl_rlx.lowering.bufferize.convert_mir_to_lir import ConvertMirToLirPass
from xdsl_rlx.lowering.bufferize.lir_elide_copies import LirElideCopiesPass
from xdsl_rlx.lowering.bufferize.lir_merge_launches import LirMergeLaunchesPass
from xdsl_rlx.lowering.bufferize.lir_merge_lengths import LirMergeLengthsPass
from xdsl_rlx.lowering.bufferize.lir_plan_memory import LirPlanMemoryPass
from xdsl_rlx.lowering.collectives.lir_overlap_collectives import LirOverlapCollectivesPass
from xdsl_rlx.lowering.collectives.lir_reduce_in_place import LirReduceInPlacePass
from xdsl_rlx.lowering.fusion.mir_fuse import MirFusePass
from xdsl_rlx.lowering.loops.lir_check_bounds import LirCheckBoundsPass
from xdsl_rlx.lowering.loops.lir_guard_range import LirGuardRangePass
from xdsl_rlx.lowering.loops.lir_mark_unrolled import LirMarkUnrolledPass
from xdsl_rlx.lowering.loops.lir_outline_loops import LirOutlineLoopsPass
from xdsl_rlx.lowering.loops.lir_prefetch_stores import LirPrefetchStoresPass
from xdsl_rlx.lowering.pass_costs import with_costs
from xdsl_rlx.lowering.prepare.mir_prepare_for_ad import MirPrepareForAdPass
from xdsl_rlx.lowering.prepare.mir_prepare_for_fusion import MirPrepareForFusionPass
from xdsl_rlx.lowering.run_errors import ConfigurationError
from xdsl_rlx.lowering.target import COMMON, CostModel
from xdsl_rlx.lowering.tiles.lir_tile_matmuls import LirTileMatmulsPass
from xdsl_rlx.transforms.convert_hir_to_mir import ConvertHirToMirPass
from xdsl_rlx.transforms.driver import RewritingPass
from xdsl_rlx.transforms.mir_canonicalize import MirCanonicalizePass
from xdsl_rlx.transforms.mir_cse import MirCsePass
from xdsl_rlx.transforms.mir_grad import MirGradPass
from xdsl_rlx.transforms.mir_jvp import MirJvpPass
from xdsl_rlx.transforms.mir_pin_taps import MirPinTapsPass
from xdsl_rlx.transforms.mir_raise_composites import MirRaiseCompositesPass

SIMPLIFY: tuple[RewritingPass, ...] = (MirCanonicalizePass(), MirCsePass())
"""Between two derivatives: what repeats is shared, and what nothing reads goes."""


def prepared_for_ad(reverse: bool = True) -> tuple[ModulePass, ...]:
    """The passes from blocks or tensor operations to operations that have derivatives; `reverse` converts loops too."""
    return ConvertHirToMirPass("fusable"), MirPrepareForAdPass(reverse)


def gradient_passes(wrt: tuple[str, ...], zero_missing_wrt: bool, loss: bool) -> tuple[ModulePass, ...]:
    """The passes from a function to its gradient, with `mir-grad`'s options; without `loss`, the gradient alone."""
    grad = MirGradPass(wrt=wrt, zero_missing_wrt=zero_missing_wrt, loss=loss)
    pinned = (MirPinTapsPass(wrt),) if wrt else ()
    return *pinned, *prepared_for_ad(), grad


def tangent_passes(wrt: tuple[str, ...]) -> tuple[ModulePass, ...]:
    """The passes from a function to its Jacobian-vector product, with the option of `mir-jvp`."""
    return *prepared_for_ad(reverse=False), MirJvpPass(wrt=wrt)


def checks_bounds() -> bool:
    """Whether `XDSL_RLX_CHECK` asks for `lir-check-bounds`; ConfigurationError for anything but 0 and 1."""
    text = os.environ.get("XDSL_RLX_CHECK", "")
    if text not in ("", "0", "1"):
        raise ConfigurationError(f"XDSL_RLX_CHECK must be 0 or 1, got {text!r}")
    return text == "1"


def compile_passes(module: ModuleOp, threads: int, model: CostModel, checked: bool = False) -> list[ModulePass]:
    """As `remaining_passes`, and checks of bounds if they are asked for, here or by the environment."""
    checks = [LirCheckBoundsPass()] if checked or checks_bounds() else []
    return [*remaining_passes(module, threads, model), *checks]


def remaining_passes(module: ModuleOp, threads: int, model: CostModel = COMMON) -> list[ModulePass]:
    """The passes from where the module is to a planned program for `threads` threads of a processor."""
    programs = [op for op in module.ops if isinstance(op, lir.ProgramOp)]
    if programs:
        return [] if all(_is_planned(program) for program in programs) else [LirPlanMemoryPass()]
    passes = fusion_passes(module, model)
    tiles, outline = with_costs(LirTileMatmulsPass, model), with_costs(LirOutlineLoopsPass, model)
    unroll = with_costs(LirMarkUnrolledPass, model)
    network = [LirReduceInPlacePass(), with_costs(LirOverlapCollectivesPass, model)]
    loops = [
        LirElideCopiesPass(),
        with_costs(LirMergeLaunchesPass, model),
        *network,
        LirMergeLengthsPass(),
        with_costs(LirPrefetchStoresPass, model),
        LirGuardRangePass(),
        tiles,
        outline,
        unroll,
    ]
    kernels = with_costs(ConvertMirToLirPass, model, threads=threads)
    return [*passes, kernels, *loops, LirPlanMemoryPass()]


def fusion_passes(module: ModuleOp, model: CostModel = COMMON) -> list[ModulePass]:
    """The passes from blocks or tensor ops to groups that are one kernel each."""
    passes: list[ModulePass] = []
    ops = ops_within(module)
    if any(op.name.startswith("hir.") for op in ops):
        passes.append(ConvertHirToMirPass())
    if not any(isinstance(op, FusionOp) for op in ops):
        prepare, fuse = with_costs(MirPrepareForFusionPass, model), with_costs(MirFusePass, model)
        passes += [MirRaiseCompositesPass("kernels"), prepare, fuse]
    return passes


def _is_planned(program: lir.ProgramOp) -> bool:
    slots = (op for op in program.walk() if isinstance(op, lir.SlotOp))
    return program.arena_bytes is not None and all(slot.at is not None for slot in slots)
