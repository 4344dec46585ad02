"""Graphs with loops, lowered and run with and without `lir-outline-loops`."""

from typing import Any

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import PassPipeline

from xdsl_rlx.builder import as_graph_module
from xdsl_rlx.lowering.backend.machine.llvm import Effort
from xdsl_rlx.lowering.backend.runtime.compile_module import compile_module
from xdsl_rlx.lowering.bufferize.convert_mir_to_lir import ConvertMirToLirPass
from xdsl_rlx.lowering.bufferize.lir_plan_memory import LirPlanMemoryPass
from xdsl_rlx.lowering.fusion.mir_fuse import MirFusePass
from xdsl_rlx.lowering.prepare.mir_prepare_for_fusion import MirPrepareForFusionPass

Array = np.ndarray[Any, Any]


def structured(graph: Any, threads: int) -> ModuleOp:
    """What a graph is lowered to without `lir-outline-loops`: loops of launches stay."""
    passes = (MirPrepareForFusionPass(), MirFusePass(), ConvertMirToLirPass(threads), LirPlanMemoryPass())
    module = as_graph_module(graph).module.clone()
    PassPipeline(passes).apply(Context(), module)
    module.verify()
    return module


def compiled(graph: Any, threads: int = 1, **arrays: Array) -> tuple[Array, ...]:
    """The results, which are the same whether loops are outlined or not."""
    found = compile_module(as_graph_module(graph).module, threads, Effort.QUICK)(**arrays)
    for one, other in zip(
        found, compile_module(structured(graph, threads), threads, Effort.QUICK)(**arrays), strict=True
    ):
        tolerance = 64 * float(np.finfo(one.dtype).eps) if one.dtype.kind in "fc" else 0
        wide = "c16" if one.dtype.kind == "c" else "f8"
        np.testing.assert_allclose(one.astype(wide), other.astype(wide), rtol=tolerance, atol=tolerance)
    return found


def assert_close(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-10, atol=1e-11)
