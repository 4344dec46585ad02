"""Graphs whose passes wait until somebody looks: which are, that nothing but time tells them apart, and the cache."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

import xdsl_rlx as rlx
from xdsl_rlx.builder import as_graph_module
from xdsl_rlx.lowering.fingerprint import fingerprint
from xdsl_rlx.lowering.run_errors import CacheWarning


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDSL_RLX_CACHE_DIR", str(tmp_path))
    return tmp_path


def small() -> rlx.Graph:
    g = rlx.Graph("loss")
    x, w = g.input("x", (4, 3)), g.param("w", (3, 2))
    g.set_outputs([g.reduce_sum(g.softmax(g.matmul(x, w), axis=-1) ** 2.0), x * 2.0])
    return g


def layer() -> rlx.GraphModule:
    return rlx.GraphModule.define(
        "layer", lambda m: m.linear(m.input("x", (2, 3)), m.param("w", (3, 4)), m.param("b", (4,)), activation="tanh")
    )


DERIVED = {
    "lower_hir": lambda: rlx.lower_hir(layer(), "fusable"),
    "prepare_for_ad": lambda: rlx.prepare_for_ad(small()),
    "grad_with_loss": lambda: rlx.grad_with_loss(small(), wrt=["w", "x"]),
    "grad": lambda: rlx.grad(layer()),
    "jvp": lambda: rlx.jvp(layer(), ["x"]),
    "hvp": lambda: rlx.hvp(small(), ["w", "x"]),
    "nth_order_grad": lambda: rlx.nth_order_grad(small(), "w", 3),
    "vmap": lambda: rlx.vmap(layer(), ["x", "w"], 5, in_axes={"w": -1}),
    "run_passes": lambda: rlx.run_passes(small(), "mir-prepare-for-fusion,mir-fuse,convert-mir-to-lir{threads=2}"),
    "lower": lambda: rlx.lower(small(), 2),
    "chain": lambda: rlx.run_passes(rlx.grad(rlx.lower_hir(layer()), wrt="w"), "mir-prepare-for-fusion,mir-fuse"),
}


def with_locations(module: ModuleOp) -> list[str]:
    return [f"{op.name} {op.location}" for op in module.walk()]


@pytest.mark.parametrize("derived", DERIVED.values(), ids=DERIVED)
def test_the_second_time_nothing_runs_and_the_result_is_the_same(derived, folder: Path):
    first, second = derived(), derived()
    assert first.pending is None and second.pending is not None
    assert (second.stage, second.fingerprint) == (first.stage, fingerprint(first.module))
    assert second.pending is not None
    assert str(second) == str(first)
    assert with_locations(second.module) == with_locations(first.module)
    assert second.pending is None and second.module is second.module


def test_an_error_comes_at_once_each_time(folder: Path):
    for _ in range(2):
        with pytest.raises(rlx.GraphError, match="no argument"):
            rlx.grad(small(), wrt="v")


def test_what_is_built_later_is_not_in_it(folder: Path):
    text = str(rlx.grad_with_loss(small()))
    g = small()
    late = rlx.grad_with_loss(g)
    assert late.pending is not None
    g.set_outputs([g.reduce_sum(g.exp(g.input("y", (2,))))])
    assert str(late) == text


def test_a_changed_module_is_another_graph(folder: Path):
    first = as_graph_module(rlx.grad(small(), wrt="w"))
    rlx.run_passes(first, "dce")
    again = as_graph_module(rlx.grad(small(), wrt="w"))
    before = again.fingerprint
    again.module.attributes["changed"] = again.module.attributes.get("sym_name", next(again.module.walk()).location)
    assert again.fingerprint != before
    assert rlx.run_passes(again, "dce").pending is None


def test_passes_from_elsewhere_always_run(folder: Path):
    runs = list[str]()

    class Foreign(ModulePass):
        name = "foreign"

        def apply(self, ctx: Context, op: ModuleOp) -> None:
            runs.append(self.name)

    for _ in range(2):
        assert rlx.run_passes(small(), [Foreign()]).pending is None
    assert len(runs) == 2


@pytest.mark.parametrize("payload", [b"", b"mir 12", b"mir " + b"g" * 64, b"mir " + b"0" * 64 + b"\nneeded input"])
def test_an_entry_that_says_nothing_is_a_miss(folder: Path, payload: bytes):
    from xdsl_rlx.lowering import cache

    text = str(rlx.grad(small()))
    for path in folder.glob("*.bin"):
        cache.store(path.stem, payload)
    with pytest.warns(CacheWarning, match="cannot be loaded"):
        again = rlx.grad(small())
    assert again.pending is None and str(again) == text
    assert rlx.grad(small()).pending is not None


def test_a_damaged_entry_is_a_miss_and_replaced(folder: Path):
    text = str(rlx.grad(small()))
    for path in folder.glob("*.bin"):
        path.write_bytes(path.read_bytes()[:-1])
    with pytest.warns(CacheWarning, match="damaged"):
        again = rlx.grad(small())
    assert again.pending is None and str(again) == text
    assert rlx.grad(small()).pending is not None


PROCESS = """
import sys
sys.path.insert(0, sys.argv[1])
import numpy as np
from test_pass_cache import arrays, small
from xdsl.passes import PassPipeline
import xdsl_rlx as rlx

passes = []
apply = PassPipeline.apply
PassPipeline.apply = lambda self, ctx, op: (passes.extend(self.passes), apply(self, ctx, op))[1]
graph = rlx.compile(rlx.grad_with_loss(small(), wrt=["w"]))
print(len(passes), graph.from_cache, "xdsl_rlx.lowering.backend.llvm.llvm_module" in sys.modules)
print([float(np.abs(result).sum()) for result in graph(**arrays())])
"""


def arrays() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    return {"x": rng.standard_normal((4, 3), dtype=np.float32), "w": rng.standard_normal((3, 2), dtype=np.float32)}


def test_a_second_process_runs_no_pass(folder: Path):
    command = [sys.executable, "-c", PROCESS, str(Path(__file__).parent)]
    environment = os.environ | {"PYTHONPATH": str(Path(rlx.__file__ or "").parents[1])}
    cold, warm = (
        subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout.splitlines()
        for _ in range(2)
    )
    assert int(cold[0].split()[0]) > 0 and cold[0].split()[1] == "False"
    assert warm[0] == "0 True False"
    assert warm[1] == cold[1]


def step() -> rlx.Graph:
    """A step of descent on a gradient that is copied into it twice, once in a named part and once with other data."""
    g = rlx.Graph("step")
    x, w = g.input("x", (4, 3)), g.param("w", (3, 2))
    gradient = rlx.grad_with_loss(small(), wrt="w")
    loss, aux, dw = g.inline(gradient, x, w, 1.0)
    with g.named("again"):
        *_, other = g.inline(gradient, aux, w - dw)
    g.set_outputs([loss, w - 0.5 * dw - other])
    return g


def test_what_is_inlined_waits_until_somebody_looks(folder: Path, monkeypatch: pytest.MonkeyPatch):
    first, second = step(), step()
    key = as_graph_module(first).fingerprint
    assert as_graph_module(second).fingerprint == key
    x, w = np.random.default_rng(0).standard_normal((2, 4, 3)).astype(np.float32)
    arguments = {"x": x, "w": w[:3, :2]}
    expected = rlx.compile(first)(**arguments)
    assert str(second) == str(first) and "mir.inlined" not in str(first)
    assert with_locations(second.module) == with_locations(first.module)
    assert any('"again"' in line for line in with_locations(first.module))
    with monkeypatch.context() as nothing_runs:
        nothing_runs.setattr("xdsl_rlx.pass_cache.apply_passes", lambda *_: pytest.fail("a pass runs"))
        third = rlx.compile(step())
    assert third.from_cache
    for found, wanted in zip(third(**arguments), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_building_goes_on_after_somebody_has_looked(folder: Path):
    g = step()
    before = str(g)
    loss, new = g._outputs
    g.set_outputs([loss + g.reduce_sum(new)])
    assert str(g) != before
    total = rlx.grad(g, wrt="w")
    rng = np.random.default_rng(1)
    x, w = rng.standard_normal((4, 3)).astype(np.float32), rng.standard_normal((3, 2)).astype(np.float32)
    value, result = rlx.compile(step())(x, w)
    np.testing.assert_allclose(rlx.compile(g)(x, w)[0], value + result.sum(), rtol=1e-6)
    assert rlx.compile(total)(x, w)[0].shape == (3, 2)


def test_what_is_inlined_in_a_body_is_copied_at_once(folder: Path):
    g = rlx.Graph("loop")
    w, xs = g.param("w", (3, 2)), g.input("xs", (5, 4, 3))
    gradient = rlx.grad(small(), wrt="w")
    last, _ = g.scan(lambda w, x: (w - 0.1 * g.inline(gradient, x, w, 1.0)[0], x), w, xs)
    g.set_outputs(last)
    rng = np.random.default_rng(2)
    x, w0 = rng.standard_normal((5, 4, 3)).astype(np.float32), rng.standard_normal((3, 2)).astype(np.float32)
    single = rlx.compile(gradient)
    expected = w0
    for one in x:
        expected = expected - np.float32(0.1) * single(one, expected)[0]
    np.testing.assert_allclose(rlx.compile(g)(xs=x, w=w0)[0], expected, rtol=1e-5, atol=1e-6)


def test_an_error_behind_what_is_inlined_takes_only_itself_away(folder: Path):
    g = rlx.Graph("g")
    (dw,) = g.inline(rlx.grad(small(), wrt="w"), d_output=1.0)
    with pytest.raises(rlx.GraphError, match="matmul"):
        g.matmul(dw, dw)
    g.set_outputs(dw)
    assert str(g) == str(rlx.parse(str(g)))


def test_graphs_that_inline_different_graphs_are_different(folder: Path):
    def scaled(by: float) -> rlx.Graph:
        loss, g = rlx.Graph("loss"), rlx.Graph("g")
        loss.set_outputs(loss.reduce_sum(by * loss.param("w", (3,)) ** 2.0))
        g.set_outputs(g.inline(rlx.grad(loss), d_output=1.0))
        return g

    w = np.ones(3, np.float32)
    for _ in range(2):
        assert [rlx.compile(scaled(by))(w=w)[0].tolist() for by in (1.0, 2.0)] == [[2.0] * 3, [4.0] * 3]
