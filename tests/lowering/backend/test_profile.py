"""Profiles: every chunk is seen, parts add up to the step, work is counted, and what is profiled stays as it was."""

import json
from itertools import pairwise
from pathlib import Path

import loop_texts as loops
import numpy as np
import pytest

import xdsl_rlx as rlx
from xdsl_rlx.lowering.backend.runtime import launch_times
from xdsl_rlx.lowering.backend.runtime.profile import Profile
from xdsl_rlx.lowering.run_errors import ArgumentError, RlxError

X = np.linspace(-1, 1, 64 * 96, dtype=np.float32).reshape(64, 96)


def layers() -> rlx.Graph:
    g = rlx.Graph("layers")
    x, w = g.input("x", (64, 96)), g.param("w", (96, 96))
    with g.named("first"):
        x = g.tanh(x @ w)
    with g.named("second"):
        x = g.softmax(x @ w)
    g.set_outputs([x])
    return g


@pytest.fixture(scope="module")
def graph() -> rlx.CompiledGraph:
    compiled = rlx.compile(layers(), threads=2)
    compiled.set_param("w", np.eye(96, dtype=np.float32))
    return compiled


@pytest.fixture(scope="module")
def profile(graph: rlx.CompiledGraph) -> Profile:
    return graph.profile(X, runs=5)


def test_every_piece_of_every_launch_is_seen(graph: rlx.CompiledGraph, profile: Profile):
    expected = sorted((n, k) for n, one in enumerate(graph.program.launches) for k in range(one.chunks))
    assert sorted((chunk.launch.number, chunk.number) for chunk in profile.chunks) == expected
    assert {one.runs for one in profile.launches} == {1.0}
    assert profile.dropped == 0 and len(profile.steps) == 5


def test_parts_add_up_to_no_more_than_the_step(profile: Profile):
    assert 0 < sum(one.time for one in profile.launches) <= max(profile.steps)
    assert [one.time for one in profile.launches] == sorted((one.time for one in profile.launches), reverse=True)
    for chunk in profile.chunks:
        assert chunk.began >= 0 and chunk.began + chunk.took <= max(profile.steps)
        assert chunk.thread in (0, 1)
    busy = sum(one.busy for one in profile.thread_times)
    assert 0 < busy <= 2 * max(profile.steps)


def test_chunks_of_a_thread_do_not_overlap(profile: Profile):
    for thread in (0, 1):
        mine = [chunk for chunk in profile.chunks if chunk.thread == thread]
        for one, other in pairwise(mine):
            assert one.began + one.took <= other.began + 1e-9


def test_the_work_of_a_step_is_counted_and_placed(profile: Profile):
    assert profile.work is not None and not profile.work.unknown
    products = 2 * (2 * 64 * 96 * 96)
    assert products < profile.work.flops < products + 10 * 64 * 96 * 2
    assert {name for one in profile.launches for name in ("first", "second") if name in one.where} == {
        "first",
        "second",
    }
    assert profile.roof is not None and profile.roof.flops > 1e8 and profile.roof.bandwidth > 1e8


def test_a_profile_is_a_table(profile: Profile):
    text, html = str(profile), profile._repr_html_()
    for one in profile.launches:
        assert one.kernel in text and one.kernel in html
    assert "thread 1: busy" in text and "FLOP/s" in text and html.count("<tr>") == 1 + len(profile.launches)


def test_a_trace_has_a_track_per_thread_and_an_event_per_piece(profile: Profile, tmp_path: Path):
    path = tmp_path / "trace.json"
    profile.save_trace(path)
    events = json.loads(path.read_text())["traceEvents"]
    assert {e["args"]["name"] for e in events if e["name"] == "thread_name"} == {"thread 0", "thread 1"}
    spans = [e for e in events if e["ph"] == "X"]
    assert len(spans) == len(profile.chunks)
    assert all(e["dur"] >= 0 and e["args"]["flops of launch"] > 0 and e["args"]["bytes of launch"] > 0 for e in spans)


def test_the_next_call_is_as_it_was(graph: rlx.CompiledGraph, profile: Profile):
    y = np.tanh(X)
    expected = np.exp(y) / np.exp(y).sum(1, keepdims=True)
    np.testing.assert_allclose(graph(X)[0], expected, rtol=1e-5)


def test_loops_add_up_and_what_there_is_no_room_for_is_said(monkeypatch: pytest.MonkeyPatch):
    compiled = rlx.compile(rlx.parse(loops.repeated(50)), threads=1)
    w = np.ones(loops.WIDTH, np.float32)
    found = compiled.profile(x=w, w=w, runs=2)
    assert sorted(one.runs for one in found.launches)[-1] == 50
    assert found.dropped == 0
    monkeypatch.setattr(launch_times, "MOST_ROWS", 10)
    few = compiled.profile(x=w, w=w, runs=2)
    assert len(few.chunks) == 10 and few.dropped == len(found.chunks) - 10
    assert f"{few.dropped} more chunks" in str(few)


def test_what_is_updated_stays_as_it_was():
    g = rlx.Graph("update")
    x, w = g.input("x", (8,)), g.param("w", (8,))
    g.set_outputs([x + w, w * 2.0])
    compiled = rlx.compile(g, donate={"w": 1, "x": 0})
    given, weight = np.arange(8, dtype=np.float32), np.ones(8, np.float32)
    compiled.set_param("w", weight)
    compiled.profile(given, runs=3)
    assert np.array_equal(given, np.arange(8)) and np.array_equal(compiled.weights["w"], weight)
    compiled(given)
    assert np.array_equal(given, np.arange(8) + 1) and np.array_equal(compiled.weights["w"], 2 * weight)


def test_wrong_calls_say_what_is_wrong(graph: rlx.CompiledGraph):
    with pytest.raises(ArgumentError, match="input 'x' of graph 'layers' is missing"):
        graph.profile()
    with pytest.raises(ArgumentError, match="at least one run, got 0"):
        graph.profile(X, runs=0)


def test_a_graph_that_has_changed_is_profiled_without_its_work():
    g = layers()
    compiled = rlx.compile(g, threads=1)
    compiled.set_param("w", np.eye(96, dtype=np.float32))
    g.set_outputs([g.input("y", (3,))])
    with pytest.raises(RlxError, match="'layers' has changed since it was compiled"):
        compiled.origin.lowered()
    found = compiled.profile(X, runs=1)
    assert found.work is None and found.roof is None and "?" in str(found)
