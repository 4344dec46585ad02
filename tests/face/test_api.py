"""The public functions: what they return, that they change nothing they are given, and how they fail."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from oracle import evaluate

import xdsl_rlx as rlx
from xdsl_rlx import op_functions


def small() -> rlx.Graph:
    g = rlx.Graph("loss")
    x, w = g.input("x", (4, 3), dtype="f64"), g.param("w", (3, 2), dtype="f64")
    y = g.tanh(g.matmul(x, w))
    g.set_outputs([g.reduce_sum(y), y])
    return g


def arrays() -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal((4, 3)), rng.standard_normal((3, 2))]


def test_grad_with_loss_keeps_the_outputs_in_front():
    g = small()
    text = str(g)
    x, w = arrays()
    loss, aux, dw, dx = evaluate(rlx.grad_with_loss(g, wrt=["w", "x"]).module, x, w, 1.0)
    y = np.tanh(x @ w)
    np.testing.assert_allclose(loss, y.sum())
    np.testing.assert_allclose(aux, y)
    np.testing.assert_allclose(dw, x.T @ (1 - y * y))
    np.testing.assert_allclose(dx, (1 - y * y) @ w.T)
    assert str(g) == text


def test_grad_is_the_gradients_alone():
    x, w = arrays()
    module = rlx.grad(small(), wrt="w")
    (dw,) = evaluate(module.module, x, w, 2.0)
    np.testing.assert_allclose(dw, 2 * x.T @ (1 - np.tanh(x @ w) ** 2))
    assert "mir.reduce_sum" not in str(module)


def test_the_default_is_every_param():
    assert len(rlx.grad(small()).signature.outputs) == 1


def test_a_block_graph_is_lowered_first():
    layer = rlx.GraphModule.define(
        "m", lambda m: m.linear(m.input("x", (2, 3)), m.param("w", (3, 1)), m.param("b", (1,)))
    )
    module = rlx.grad_with_loss(layer, wrt=["w", "b"])
    assert module.stage == "mir" and len(module.signature.outputs) == 3
    assert rlx.prepare_for_ad(layer).stage == "mir"
    assert "fused" not in str(rlx.prepare_for_ad(rlx.lower_hir(layer)))


def test_missing_gradients_are_errors_or_zeros():
    g = rlx.Graph("g")
    x = g.input("x", (2,), "f64")
    g.param("unused", (3,), "f64")
    g.set_outputs([g.reduce_sum(g.stop_gradient(x) * x)])
    with pytest.raises(rlx.GraphError, match="unused"):
        rlx.grad(g, wrt=["unused"])
    (zeros,) = evaluate(rlx.grad(g, wrt=["unused"], zero_missing_wrt=True).module, np.ones(2), np.ones(3), 1.0)
    np.testing.assert_array_equal(zeros, np.zeros(3))


PROGRAM = "builtin.module { lir.program @p { %0 = lir.output 0 : memref<2xf32> } }"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rlx.grad(small(), wrt=["v"]), 'has no argument "v"; it has x, w'),
        (lambda: rlx.parse("func.func @f("), "Expected"),
        (lambda: rlx.parse("%0 = mir.foo"), "mir.foo"),
        (lambda: rlx.run_passes(small(), "mir-nothing"), "mir-nothing"),
        (lambda: rlx.run_passes(small(), "mir-grad{with=x}"), "with"),
        (lambda: rlx.run_passes(small(), "mir-grad{wrt="), "wrap argument in quotes"),
        (lambda: rlx.lower_hir(rlx.parse(PROGRAM)), "lower_hir takes a graph at stage hir or mir, 'p' is at lir"),
        (lambda: rlx.grad(rlx.parse(PROGRAM)), "grad takes a graph at stage hir or mir"),
        (lambda: rlx.grad(rlx.parse("builtin.module {}")), "one public function"),
        (lambda: rlx.grad("text"), "got str; parse"),
    ],
)
def test_a_wrong_call_is_a_graph_error(call, message: str):
    with pytest.raises(rlx.GraphError) as caught:
        call()
    assert message in str(caught.value)


PLUGIN = """
from xdsl.passes import ModulePass
from xdsl.universe import Universe

class NothingPass(ModulePass):
    name = "acme-nothing"

    def apply(self, ctx, op):
        pass

UNIVERSE = Universe(all_passes={"acme-nothing": lambda: NothingPass})
"""


def test_a_pipeline_may_name_passes_of_other_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "acme_plugin.py").write_text(PLUGIN)
    info = tmp_path / "acme-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[xdsl.universe]\nacme = acme_plugin:UNIVERSE\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert str(rlx.run_passes(small(), "acme-nothing,mir-cse")) == str(rlx.run_passes(small(), "mir-cse"))


def test_parse_verifies():
    with pytest.raises(rlx.GraphError, match="expected result of type tensor<2xf32>"):
        rlx.parse(
            """%x = "test.op"() : () -> tensor<2xf32>
            %0 = mir.add %x, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<3xf32>"""
        )


def test_names_are_imported_when_used():
    heavy = "('numba', 'numpy', 'xdsl.')"
    code = f"import sys, xdsl_rlx; assert not any(m.startswith({heavy}) for m in sys.modules); xdsl_rlx.Graph"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert {n for n in dir(rlx) if not n.startswith("_")} == {*rlx.__all__, *op_functions.names()}
    for name in rlx.__all__:
        assert getattr(rlx, name) is not None
    with pytest.raises(AttributeError, match="nothing"):
        _ = rlx.nothing
