"""What the backward graph of AOTAutograd reads of the forward graph, and what it computes again: a minimum cut."""

# Objects of torch, which is not installed everywhere.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportMissingImports=false, reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from operator import getitem
from typing import Any

import torch

from xdsl_rlx.transforms.engines.residuals import PRICE, side_of_source
from xdsl_rlx.transforms.scalar_cost import DEAR

TENSOR = 24_000
"""What keeping a tensor costs beside its bytes, in additions: 3 us for an output, its place in autograd, an input."""

_THERE = 0.5
"""The part of the price of a byte for a value that is in memory anyway: it is read again, but not written."""

_UNKNOWN = 64
"""The extent that an unknown size counts for."""

_CHEAP = frozenset(
    (
        *("_to_copy", "abs", "add", "bitwise_and", "bitwise_not", "bitwise_or", "clamp", "clamp_max", "clamp_min"),
        *("clone", "eq", "ge", "gt", "le", "logical_and", "logical_not", "logical_or", "lt", "masked_fill", "maximum"),
        *("minimum", "mul", "ne", "neg", "relu", "rsub", "sgn", "sign", "sub", "threshold_backward", "where"),
    )
)
"""Elementwise operators that take about as long as an addition."""

_CREATIONS = frozenset(
    (
        *("arange", "full", "full_like", "new_full", "new_ones", "new_zeros", "ones", "ones_like", "scalar_tensor"),
        *("zeros", "zeros_like"),
    )
)
"""Operators whose elements are known without reading any."""


def with_least_residuals(joint: Any, num_fwd_outputs: int) -> Any:
    """
    Have a joint graph compute again for its backward part what costs less than to keep; return it.

    Views are free, elementwise operators cost time, and all others are not repeated. The forward part remains as it
    is: a value that the backward part computes again is a new node.
    """
    graph = joint.graph
    if any(node.meta.get("recompute") is not None for node in graph.nodes):
        # torch.utils.checkpoint says what is computed again
        return joint
    (output,) = [node for node in graph.nodes if node.op == "output"]
    results = {one for one in output.args[0][:num_fwd_outputs] if hasattr(one, "op")}
    forward = _forward(graph, results)
    known = {*forward, output}
    backward = [node for node in graph.nodes if node not in known]
    _compute_again(graph, forward, backward, _kept(forward, set(backward), results))
    graph.eliminate_dead_code()
    joint.recompile()
    return joint


def _forward(graph: Any, results: set[Any]) -> list[Any]:
    """The nodes of the forward part, in order: those up to its end that are computed from no cotangent."""
    nodes = list(graph.nodes)
    later = {node for node in nodes if node.op == "placeholder" and "tangents" in str(node.target)}
    needed = set(results)
    for node in reversed(nodes):
        if node in needed:
            needed.update(node.all_input_nodes)
    end = max(
        (n for n, node in enumerate(nodes) if node in needed or node.meta.get("partitioner_tag") == "is_forward"),
        default=-1,
    )
    for node in nodes:
        if not later.isdisjoint(node.all_input_nodes):
            later.add(node)
    return [node for n, node in enumerate(nodes) if node not in later and (n <= end or node.op == "placeholder")]


def _kept(forward: Sequence[Any], backward: set[Any], results: set[Any]) -> set[Any]:
    """The nodes of the forward part that the backward part reads as the forward part left them."""
    changed = {node.args[0] for node in forward if torch.Tag.inplace in getattr(node.target, "tags", ())}
    number = {node: 2 + 2 * n for n, node in enumerate(forward)}
    source, sink = 0, 1
    edges: dict[tuple[int, int], float] = {}
    for node, place in number.items():
        time = inf if not changed.isdisjoint(node.all_input_nodes) else _time(node)
        edges[source, place] = time
        edges[place, place + 1] = _cost(node, time == inf, node in results)
        for user in node.users:
            if user in number:
                edges[place + 1, number[user]] = inf
            elif user in backward:
                edges[place + 1, sink] = inf
    reached = side_of_source(edges, 2 + 2 * len(forward))
    return {node for node, place in number.items() if place in reached and place + 1 not in reached}


def _time(node: Any) -> float:
    """About how many additions a node takes; infinite for one that is not repeated."""
    if node.op != "call_function":
        return inf
    if node.target is getitem or getattr(node.target, "is_view", False):
        return 0
    tags = getattr(node.target, "tags", ())
    if torch.Tag.nondeterministic_seeded in tags or torch.Tag.inplace in tags:
        return inf
    name = str(node.target).removeprefix("aten.").split(".")[0]
    if name in _CREATIONS or name == "_unsafe_view":
        return 0
    if torch.Tag.pointwise in tags or name in _CHEAP:
        return _elements(node) * (1 if name in _CHEAP else DEAR)
    return inf


def _cost(node: Any, is_there: bool, is_result: bool) -> float:
    """What keeping a node costs, in additions."""
    val = node.meta.get("val")
    if not isinstance(val, torch.Tensor):
        # several tensors, which are kept one by one, or a size
        return inf if isinstance(val, list | tuple) else 0
    if is_result or node.op == "placeholder":
        return TENSOR
    return TENSOR + _elements(node) * val.element_size() * PRICE * (_THERE if is_there else 1)


def _elements(node: Any) -> int:
    val = node.meta.get("val")
    count = 1
    for extent in getattr(val, "shape", ()):
        count *= extent if isinstance(extent, int) else _UNKNOWN
    return count


def _compute_again(graph: Any, forward: Sequence[Any], backward: Sequence[Any], kept: set[Any]) -> None:
    """Give the backward part nodes of its own for what is not kept, each in front of the first one that needs it."""
    order = {node: n for n, node in enumerate(forward) if node not in kept and _time(node) != inf}
    again: dict[Any, Any] = {}
    for user in backward:
        needed: set[Any] = set()
        waiting = list(user.all_input_nodes)
        while waiting:
            node = waiting.pop()
            if node in order and node not in again and node not in needed:
                needed.add(node)
                waiting += node.all_input_nodes
        with graph.inserting_before(user):
            for node in sorted(needed, key=order.__getitem__):
                again[node] = graph.node_copy(node, lambda one: again.get(one, one))
                again[node].meta.pop("partitioner_tag", None)
        for node in user.all_input_nodes:
            if node in again:
                user.replace_input_with(node, again[node])
