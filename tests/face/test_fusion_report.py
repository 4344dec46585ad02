"""What `rlx.fusion_report` says of a graph."""

import dataclasses
from typing import Any

import pytest

import xdsl_rlx as rlx


def _spelled() -> Any:
    g = rlx.Graph("spelled")
    x = g.input("x", (4, 6))
    for layer in range(3):
        x = g.relu(x @ g.param(f"w{layer}", (6, 6)) + g.param(f"b{layer}", (6,)))
    g.set_outputs([x])
    return g


def test_a_report_counts_composites_and_kernels() -> None:
    report = rlx.fusion_report(_spelled())
    assert report.raised == (("mir.fused_matmul_bias_act", 3),)
    assert (report.ops_before, report.ops_after) == (9, 3)
    (group,) = report.groups
    assert group.launches == report.launches == 3
    assert [name for name in group.ops if name != "mir.constant"] == ["mir.matmul", "mir.add", "mir.relu"]
    assert report.summary == "ops=9→3 fused_matmul_bias_act=3 kernels=1 launches=3 missed=0"


def test_a_report_says_where_the_ops_of_a_kernel_come_from() -> None:
    (group,) = rlx.fusion_report(_spelled()).groups
    assert group.locations and all("test_fusion_report.py" in place for place in group.locations)
    g = rlx.GraphModule.define(
        "blocks", lambda g: g.linear(g.input("x", (4, 6)), g.param("w", (6, 5)), activation="relu")
    )
    assert any("hir.linear" in place for group in rlx.fusion_report(g).groups for place in group.locations)


def test_a_report_is_a_value_and_prints_as_a_table() -> None:
    report = rlx.fusion_report(_spelled())
    graph = _spelled()
    assert rlx.fusion_report(graph) == rlx.fusion_report(graph)
    assert str(report).splitlines()[:3] == [
        report.summary,
        "  3 x mir.fused_matmul_bias_act was spelled out",
        f"  kernel 0, 3 launches: {', '.join(name.removeprefix('mir.') for name in report.groups[0].ops)}",
    ]
    with pytest.raises(dataclasses.FrozenInstanceError):
        report.ops_before = 0  # pyright: ignore[reportAttributeAccessIssue]


def test_ops_with_loops_of_their_own_are_groups() -> None:
    g = rlx.Graph("g")
    q = g.input("q", (1, 8, 6))
    g.set_outputs([g.attention(q, q, q, num_heads=2)])
    assert [group.ops for group in rlx.fusion_report(g).groups] == [("mir.attention",)]


def test_a_planned_program_has_no_report() -> None:
    with pytest.raises(rlx.GraphError, match=r"fusion_report takes a graph at stage hir or mir, 'spelled' is at lir"):
        rlx.fusion_report(rlx.lower(_spelled()))
