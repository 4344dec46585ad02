"""What the forward graph of AOTAutograd keeps for the backward graph alone, which may overwrite it."""

# Objects of torch, which is not installed everywhere.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportMissingImports=false, reportPrivateUsage=false, reportAttributeAccessIssue=false

from __future__ import annotations

from collections import Counter
from typing import Any

import torch


def take_donated(graph: Any) -> frozenset[int]:
    """
    Return the numbers of arguments of a backward graph that nobody else reads, while it is being compiled.

    AOTAutograd knows those that are neither arguments nor results of the model. It would raise for a later backward
    pass that keeps its graph: none is left in its list, as `Program` does not overwrite anything in such a pass. Of
    several that are views of one memory none is taken.
    """
    context = torch._guards.TracingContext.try_get()
    metadata = None if context is None else context.fw_metadata
    if metadata is None or not metadata.bw_donated_idxs:
        return frozenset()
    donated, metadata.bw_donated_idxs = metadata.bw_donated_idxs, []
    placeholders = [node for node in graph.nodes if node.op == "placeholder"]
    memory = {n: _memory(node) for n, node in enumerate(placeholders)}
    count = Counter(memory.values())
    return frozenset(n for n in donated if memory[n] is not None and count[memory[n]] == 1)


def _memory(node: Any) -> int | None:
    """What stands for the memory of a tensor, None for a node that is none."""
    val = node.meta.get("val")
    return val.untyped_storage()._cdata if isinstance(val, torch.Tensor) else None
