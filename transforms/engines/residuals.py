"""What a backward pass keeps of the forward pass, and what it computes again: a minimum cut, by time and memory."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from importlib import import_module
from itertools import accumulate
from math import inf, prod
from typing import Any

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import ConstantLike, is_side_effect_free

from xdsl_rlx.dialects.effects import with_effects
from xdsl_rlx.dialects.lir.memory import element_bytes
from xdsl_rlx.dialects.mir.attention import AttentionOp
from xdsl_rlx.dialects.mir.conv import ConvOp
from xdsl_rlx.dialects.mir.core import HasKernel
from xdsl_rlx.dialects.mir.linalg import MatmulOp
from xdsl_rlx.dialects.shapes import element_of, shape_of
from xdsl_rlx.transforms.rules.rule_table import SCALAR
from xdsl_rlx.transforms.scalar_cost import scalar_cost

PRICE = 1.0
"""What keeping a byte costs, in additions: it is written, and read again from a farther cache or from memory."""

_MULTIPLICATIONS = 8
"""Those of a product in the time of an addition that is read and written."""

_NARROW = 1.25
"""How many times as many bytes as at the narrowest place wait at a narrow one."""

_NEST = 64
"""What an element costs of an op with loops of its own of which nothing else is known."""


def time_of(op: Operation) -> float:
    """About how many additions an op takes; infinite for one that may not run twice."""
    if op.has_trait(ConstantLike):
        return 0
    if not is_side_effect_free(op):
        return inf
    elements = max(
        (prod(shape_of(x)) for x in (*op.operands, *op.results) if isinstance(x.type, TensorType)), default=0
    )
    results = prod(shape_of(op.results[0])) if op.results else 0
    if isinstance(op, MatmulOp):
        return elements + results * shape_of(op.lhs)[-1] / _MULTIPLICATIONS
    if isinstance(op, ConvOp):
        return elements + results * prod(shape_of(op.w)[1:]) / _MULTIPLICATIONS
    if isinstance(op, AttentionOp):
        return elements + results * 2 * shape_of(op.k)[-2] / _MULTIPLICATIONS
    if op.regions:
        return sum(time_of(inner) for region in op.regions for inner in region.walk()) * _times(op)
    if SCALAR.get(type(op)) is not None:
        return elements * scalar_cost(op)
    return elements * (_NEST if op.has_trait(HasKernel) else 2)


def _times(op: Operation) -> int:
    """How often the body of an op runs."""
    times = getattr(op, "times", 1)
    return times if isinstance(times, int) else 1


def kept_ops(
    forward: Sequence[Operation],
    backward: Sequence[Operation],
    price: float = PRICE,
    for_good: Container[Operation] = (),
) -> set[Operation]:
    """
    The ops of a forward pass of which the backward pass reads results as the forward pass left them.

    All else that it needs it computes again from these and from arguments. Of all such choices it is the one of least
    cost: the time of what is computed again, and `price` for each byte kept. A minimum cut: an op on the side of the
    sink is computed in the backward pass, and cutting between an op and who reads it in there keeps its results. Those
    `for_good` are on the other side.
    """
    number = {op: 2 + 2 * n for n, op in enumerate(forward)}
    source, sink = 0, 1
    inside = set(backward)
    edges: dict[tuple[int, int], float] = {}
    for op, node in number.items():
        edges[source, node] = inf if op in for_good else time_of(op)
        edges[node, node + 1] = price * sum(map(bytes_of, op.results))
        for user in (use.operation for result in op.results for use in result.uses):
            if user in number:
                edges[node + 1, number[user]] = inf
            elif user in inside:
                edges[node + 1, sink] = inf
    reached = side_of_source(edges, 2 + 2 * len(forward))
    return {op for op, node in number.items() if node in reached and node + 1 not in reached}


def side_of_source(edges: Mapping[tuple[int, int], float], count: int) -> set[int]:
    """The nodes, of so many, on the side of node 0 of the least cut that has node 1 on the other side."""
    # SciPy's types are not known
    sparse: Any = import_module("scipy.sparse")
    csgraph: Any = import_module("scipy.sparse.csgraph")
    finite = sum(weight for weight in edges.values() if weight != inf) or 1.0
    # whole numbers of 32 bits, of which all finite ones together stay below an infinite one
    scale, most = min(1.0, 2**29 / finite), 2**30
    capacities = [most if weight == inf else round(weight * scale) for weight in edges.values()]
    places = [a for a, _ in edges], [b for _, b in edges]
    graph = sparse.csr_matrix((capacities, places), shape=(count, count), dtype="int32")
    left = graph - csgraph.maximum_flow(graph, 0, 1).flow
    left.data[left.data < 0] = 0
    left.eliminate_zeros()
    return set(csgraph.breadth_first_order(left, 0, return_predecessors=False).tolist())


def at_narrow_places(forward: Sequence[Operation], stride: int) -> set[Operation]:
    """
    The ops whose results are read behind every `stride`-th place where few bytes wait for the rest of the forward pass.

    Where these are kept, what is computed again for one part of the backward pass is one segment of the forward pass
    (T. Chen, B. Xu, C. Zhang, C. Guestrin: Training deep nets with sublinear memory cost, 2016, section 4).
    """
    place = {op: n for n, op in enumerate(forward)}
    last = {
        op: max((place.get(use.operation, n) for result in op.results for use in result.uses), default=n)
        for op, n in place.items()
    }
    change = [0] * (len(forward) + 1)
    for op, n in place.items():
        if not op.has_trait(ConstantLike):
            size = sum(map(bytes_of, op.results))
            change[n] += size
            change[last[op]] -= size
    waiting = list(accumulate(change[:-1]))
    least = min((w for w in waiting[:-1] if w), default=0)
    places = [
        n
        for n in range(1, len(waiting) - 1)
        if waiting[n]
        and waiting[n] < waiting[n + 1]
        and (waiting[n] <= waiting[n - 1] or waiting[n] <= _NARROW * least)
    ]
    cuts = places[stride - 1 :: stride]
    return {op for op, n in place.items() if any(n <= cut < last[op] for cut in cuts)}


def computed_again(
    forward: Sequence[Operation], backward: Sequence[Operation], kept: set[Operation]
) -> Mapping[Operation, list[Operation]]:
    """For ops of the backward pass: those of the forward pass, in order, that are first computed again for it."""
    order = {op: n for n, op in enumerate(forward)}
    there = set(kept)
    found: dict[Operation, list[Operation]] = {}
    for op in backward:
        needed: list[Operation] = []
        waiting = [x.owner for x in op.operands]
        while waiting:
            owner = waiting.pop()
            if isinstance(owner, Operation) and owner in order and owner not in there:
                there.add(owner)
                needed.append(owner)
                waiting += [x.owner for x in owner.operands]
        if needed:
            found[op] = sorted(needed, key=order.__getitem__)
    return found


def bytes_of(value: SSAValue) -> int:
    """What a tensor takes in memory."""
    return prod(shape_of(value)) * element_bytes(element_of(value))


def forward_pass(block: Block, results: Sequence[SSAValue], seeds: Iterable[SSAValue]) -> set[Operation]:
    """
    The ops of a block that results are computed from, and the effects of the forward pass with what these read.

    `seeds` are the arguments of the backward pass alone: what depends on them is none of the forward pass.
    """
    later = set(seeds)
    for op in block.ops:
        if not later.isdisjoint(op.operands):
            later.update(op.results)
    effects = [op for op in with_effects(block.ops) if later.isdisjoint(op.operands)]
    return needed_for([*results, *(x for op in effects for x in op.operands)]) | {*effects}


def needed_for(values: Sequence[SSAValue]) -> set[Operation]:
    """The ops that values are computed from, these included."""
    found: set[Operation] = set()
    waiting = [value.owner for value in values]
    while waiting:
        op = waiting.pop()
        if isinstance(op, Operation) and op not in found:
            found.add(op)
            waiting += [x.owner for x in op.operands]
    return found
