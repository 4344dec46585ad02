"""Which passes a module at any stage still has to go through before it runs: the one place that decides their order."""

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from xdsl_rlx.dialects import lir
from xdsl_rlx.dialects.mir.control import FusionOp
from xdsl_rlx.lowering.convert_mir_to_lir import ConvertMirToLirPass
from xdsl_rlx.lowering.lir_plan_memory import LirPlanMemoryPass
from xdsl_rlx.transforms.convert_hir_to_mir import ConvertHirToMirPass
from xdsl_rlx.transforms.mir_fuse import MirFusePass


def remaining_passes(module: ModuleOp, threads: int) -> list[ModulePass]:
    """The passes from where the module is to a planned program for `threads` threads."""
    programs = [op for op in module.ops if isinstance(op, lir.ProgramOp)]
    if programs:
        return [LirPlanMemoryPass()] if any(p.arena_bytes is None for p in programs) else []
    passes: list[ModulePass] = []
    ops = list(module.walk())
    if any(op.name.startswith("hir.") for op in ops):
        passes.append(ConvertHirToMirPass())
    if not any(isinstance(op, FusionOp) for op in ops):
        passes.append(MirFusePass())
    return [*passes, ConvertMirToLirPass(threads), LirPlanMemoryPass()]
