"""Graphs lowered as for a processor whose registers are many and wide, on which most products are tiles."""

from collections import deque

from xdsl.dialects.builtin import ModuleOp

import xdsl_rlx as rlx
from xdsl_rlx.dialects.contexts import context
from xdsl_rlx.lowering.kernel_pass import lower_by_kernel
from xdsl_rlx.lowering.pipelines import compile_passes
from xdsl_rlx.lowering.target import CostModel


def lowered(graph: rlx.Graph, threads: int, called: bool = True) -> ModuleOp:
    """The planned program, which runs on this processor too, whatever it has; not `called`, tiles are in the kernel."""
    module = graph.module.clone()
    terms = CostModel().min_called_terms if called else 1 << 40
    model = CostModel(lanes=16, registers=32, min_called_terms=terms)
    deque(lower_by_kernel(context(), module, compile_passes(module, threads, model)), maxlen=0)
    return module
