"""Clusters know of all others that they depend on and that depend on them, whatever has merged before."""

from collections.abc import Iterable
from random import Random
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.func import FuncOp

import xdsl_rlx as rlx
from xdsl_rlx.builder import as_graph_module
from xdsl_rlx.dialects.lir import LaunchOp
from xdsl_rlx.lowering.fusion.analysis.bit_sets import WIDTH, BitSet
from xdsl_rlx.lowering.fusion.analysis.clusters import Cluster, Clusters
from xdsl_rlx.lowering.kernel_pass import kernels_of
from xdsl_rlx.lowering.prepare.mir_prepare_for_fusion import MirPrepareForFusionPass
from xdsl_rlx.lowering.target import COMMON
from xdsl_rlx.pass_cache import context


def network(seed: int) -> Clusters:
    """Those of a graph with paths that part and meet, over which elements, rows and sums of columns go."""
    random = Random(seed)
    g = rlx.Graph("network")
    values = [g.input(name, (4, 4)) for name in "abc"]
    for _ in range(40):
        x, y = random.choice(values[-8:]), random.choice(values)
        made = (g.exp(x), x + y, g.softmax(x), x - g.reduce_sum(y, [0], keep_dim=True), x.T, g.reduce_mean(y) * x)
        values.append(random.choice(made))
    g.set_outputs(random.sample(values[3:], 4))
    module = as_graph_module(g).module.clone()
    MirPrepareForFusionPass().apply(context(), module)
    (function,) = (op for op in module.ops if isinstance(op, FuncOp))
    return Clusters(function.body.block, {}, COMMON)


def union(sets: Iterable[BitSet]) -> BitSet:
    """All numbers of several sets."""
    found = BitSet()
    for one in sets:
        found |= one
    return found


def users_of(cluster: Cluster, clusters: Clusters) -> set[Cluster]:
    """The clusters that use a result of this one."""
    uses = (use for op in cluster.ops for result in op.results for use in result.uses)
    found = {clusters.of[use.operation] for use in uses if use.operation in clusters.of}
    return found - {cluster}


@pytest.mark.sampled(most=5)
@pytest.mark.parametrize("seed", range(20))
def test_clusters_know_what_they_depend_on(seed: int) -> None:
    clusters = network(seed)
    alone = len(clusters.in_order())
    clusters.grow()
    left = clusters.in_order()
    assert len(left) < alone
    names = union(cluster.name for cluster in left)
    before = dict.fromkeys(left, BitSet())
    after = dict.fromkeys(left, BitSet())
    for cluster in left:
        reached = {cluster}
        waiting = [cluster]
        while waiting:
            new = users_of(waiting.pop(), clusters) - reached
            reached |= new
            waiting += new
        for other in reached - {cluster}:
            after[cluster] |= other.name
            before[other] |= cluster.name
    assert {cluster: cluster.before & names for cluster in left} == before
    assert {cluster: cluster.after & names for cluster in left} == after


def test_a_set_of_bits_is_a_set_of_numbers() -> None:
    random = Random(0)
    for _ in range(300):
        most = random.choice((10, 3 * WIDTH, 10**6))
        a, b = ({random.randrange(most) for _ in range(random.randrange(20))} for _ in range(2))
        first, second = (union(map(BitSet.of, numbers)) for numbers in (a, b))
        for found, expected in ((first | second, a | b), (first & second, a & b), (first - second, a - b)):
            assert list(found) == sorted(expected)
            assert bool(found) == bool(expected)


def test_what_clusters_know_takes_memory_in_proportion_to_the_ops() -> None:
    """Many arguments, each with a few ops of its own and one value that all share."""
    chunks: list[int] = []
    for count in (WIDTH, 4 * WIDTH):
        g = rlx.Graph("many")
        shared = g.exp(g.input("shared", (1, 4)))
        g.set_outputs([g.tanh(g.exp(g.input(f"x{n}", (4,))) * shared) for n in range(count)])
        (function,) = (op for op in as_graph_module(g).module.ops if isinstance(op, FuncOp))
        clusters = Clusters(function.body.block, {}, COMMON)
        found = {*clusters.of.values()}
        chunks.append(sum(c.before.chunk_count + c.after.chunk_count + c.members.chunk_count for c in found))
    assert chunks[1] < 5 * chunks[0]


def test_long_chains_of_functions_are_cut_into_groups_that_share_a_kernel() -> None:
    g = rlx.Graph("chain")
    x = g.input("x", (1000,))
    for _ in range(3 * COMMON.max_group_functions):
        x = g.tanh(x)
    g.set_outputs([x])
    lowered = rlx.lower(g).module
    assert len([op for op in lowered.walk() if isinstance(op, LaunchOp)]) == 3
    assert len(kernels_of(lowered)) == 1


def test_a_constant_that_is_read_as_a_row_and_as_a_column() -> None:
    def f(a: Any, x: Any) -> Any:
        zero = np.zeros(4)
        return (a * np.reshape(zero, (1, 4))).sum(1), (np.reshape(zero, (4, 1)) * a).sum(0), a @ zero + x, zero @ a

    a, x = np.arange(16.0).reshape(4, 4), np.arange(4.0)
    for found, expected in zip(rlx.compile(f)(a, x), f(a, x), strict=True):
        np.testing.assert_array_equal(found, expected)
