"""Which passes a module at any stage still has to go through before it runs: the one place that decides their order."""

import os

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from xdsl_rlx.dialects import lir
from xdsl_rlx.dialects.mir.control import FusionOp
from xdsl_rlx.lowering.convert_mir_to_lir import ConvertMirToLirPass
from xdsl_rlx.lowering.fuse.mir_fuse import MirFusePass
from xdsl_rlx.lowering.lir_check_bounds import LirCheckBoundsPass
from xdsl_rlx.lowering.lir_guard_range import LirGuardRangePass
from xdsl_rlx.lowering.lir_mark_unrolled import LirMarkUnrolledPass
from xdsl_rlx.lowering.lir_outline_loops import LirOutlineLoopsPass
from xdsl_rlx.lowering.lir_plan_memory import LirPlanMemoryPass
from xdsl_rlx.lowering.lir_tile_products import LirTileProductsPass
from xdsl_rlx.lowering.run_errors import ConfigurationError
from xdsl_rlx.lowering.tiles.tile_sizes import COMMON, Registers
from xdsl_rlx.transforms.convert_hir_to_mir import ConvertHirToMirPass


def checks_bounds() -> bool:
    """Whether `XDSL_RLX_CHECK` asks for `lir-check-bounds`; ConfigurationError for anything but 0 and 1."""
    text = os.environ.get("XDSL_RLX_CHECK", "")
    if text not in ("", "0", "1"):
        raise ConfigurationError(f"XDSL_RLX_CHECK must be 0 or 1, got {text!r}")
    return text == "1"


def compile_passes(module: ModuleOp, threads: int, registers: Registers) -> list[ModulePass]:
    """As `remaining_passes`, and the checks that the environment asks for."""
    return [*remaining_passes(module, threads, registers), *([LirCheckBoundsPass()] if checks_bounds() else [])]


def remaining_passes(module: ModuleOp, threads: int, registers: Registers = COMMON) -> list[ModulePass]:
    """The passes from where the module is to a planned program for `threads` threads of a processor."""
    programs = [op for op in module.ops if isinstance(op, lir.ProgramOp)]
    if programs:
        return [] if all(_is_planned(program) for program in programs) else [LirPlanMemoryPass()]
    passes: list[ModulePass] = []
    ops = list(module.walk())
    if any(op.name.startswith("hir.") for op in ops):
        passes.append(ConvertHirToMirPass())
    if not any(isinstance(op, FusionOp) for op in ops):
        passes.append(MirFusePass())
    tiles = LirTileProductsPass(registers.lanes, registers.count)
    loops = [LirGuardRangePass(), tiles, LirOutlineLoopsPass(), LirMarkUnrolledPass()]
    return [*passes, ConvertMirToLirPass(threads), *loops, LirPlanMemoryPass()]


def _is_planned(program: lir.ProgramOp) -> bool:
    slots = (op for op in program.walk() if isinstance(op, lir.SlotOp))
    return program.arena_bytes is not None and all(slot.at is not None for slot in slots)
