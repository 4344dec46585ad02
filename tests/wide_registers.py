"""Graphs lowered as for a processor whose registers are many and wide, on which most products are tiles."""

from collections import deque

from xdsl.dialects.builtin import ModuleOp

import xdsl_rlx as rlx
from xdsl_rlx.dialects.contexts import context
from xdsl_rlx.lowering.kernel_pass import lower_by_kernel
from xdsl_rlx.lowering.pipelines import compile_passes
from xdsl_rlx.lowering.target import CostModel


def lowered(graph: rlx.Graph, threads: int) -> ModuleOp:
    """The planned program, which runs on this processor too, whatever it has."""
    module = graph.module.clone()
    deque(
        lower_by_kernel(context(), module, compile_passes(module, threads, CostModel(lanes=16, registers=32))), maxlen=0
    )
    return module
