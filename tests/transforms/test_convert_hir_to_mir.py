"""Lowering of blocks: policies mean the same, options are checked, what is missing is named, and blocks are found again
in what becomes of them."""

import re
from typing import Any

import numpy as np
import pytest
from oracle import evaluate, run
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

import xdsl_rlx as rlx
from xdsl_rlx.dialects.contexts import context
from xdsl_rlx.dialects.lir import LaunchOp
from xdsl_rlx.dialects.mir.core import Activation
from xdsl_rlx.transforms.convert_hir_to_mir import ConvertHirToMirPass
from xdsl_rlx.transforms.rules.block_table import BlockTable


def layer(activation: Activation | None, bias: bool) -> rlx.GraphModule:
    def build(m):
        x, w = m.input("x", (2, 3, 4), "f64"), m.param("w", (4, 5), "f64")
        return m.linear(x, w, m.param("b", (5,), "f64") if bias else None, activation=activation)

    return rlx.GraphModule.define("layer", build)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("activation", [None, "relu", "gelu", "silu"])
def test_both_policies_mean_the_same(activation, bias: bool):
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(s) for s in ((2, 3, 4), (4, 5), *([(5,)] if bias else []))]
    module = layer(activation, bias)
    direct, fusable = (rlx.lower_hir(module, fusion_policy=policy) for policy in ("direct", "fusable"))
    assert direct.stage == fusable.stage == "mir" and module.stage == "hir"
    np.testing.assert_allclose(
        evaluate(direct.module, *arrays)[0], evaluate(fusable.module, *arrays)[0], rtol=1e-15, atol=1e-15
    )
    fused = [op.name for op in direct.module.walk()].count("mir.fused_matmul_bias_act")
    assert fused == (1 if bias else 0)
    assert "mir.fused_matmul_bias_act" not in str(fusable)


def test_a_block_without_lowering_is_named(monkeypatch: pytest.MonkeyPatch):
    module = layer(None, False).module.clone()
    monkeypatch.setattr("xdsl_rlx.transforms.convert_hir_to_mir.BLOCKS", BlockTable("block"))
    with pytest.raises(
        PassFailedException, match=r"no lowering for hir.linear at .*: add one to transforms/rules/hir/linear.py"
    ):
        ConvertHirToMirPass().apply(context(), module)


def test_an_unknown_policy_is_refused():
    with pytest.raises(ValueError, match="fusion-policy: expected one of direct, fusable, for_autodiff, got 'fast'"):
        ConvertHirToMirPass("fast")
    with pytest.raises(rlx.GraphError, match="direct, fusable, for_autodiff"):
        rlx.lower_hir(ModuleOp([]), fusion_policy="fast")


def test_a_gradient_is_of_primitive_ops():
    """A graph lowered with composite ops has them, its gradient has none, and forward values are the same bits."""
    rng = np.random.default_rng(1)
    arrays = {"x": rng.standard_normal((2, 8)), "w": rng.standard_normal((8, 8)), "b": rng.standard_normal(8)}

    def build(m):
        return m.linear(m.input("x", (2, 8), "f64"), m.param("w", (8, 8), "f64"), m.param("b", (8,), "f64"))

    direct = rlx.lower_hir(rlx.GraphModule.define("layer", build))
    gradient = rlx.grad_with_loss(direct, ["w", "b"])
    assert "mir.fused_matmul_bias_act" in str(direct) and "mir.fused_matmul_bias_act" not in str(gradient)
    y, dw, db = run(gradient, **arrays)
    np.testing.assert_array_equal(y, run(direct, **arrays)[0])
    np.testing.assert_allclose(dw, arrays["x"].T @ np.ones((2, 8)), rtol=1e-14)
    np.testing.assert_allclose(db, np.full(8, 2.0), rtol=1e-14)


def test_derivatives_have_a_policy_of_their_own_name():
    module = layer(Activation.RELU, True)
    found, expected = (rlx.lower_hir(module, policy) for policy in ("for_autodiff", "fusable"))
    assert found.module.is_structurally_equivalent(expected.module)
    assert "mir.fused" not in str(found)


def stack(m: Any, layers: int) -> Any:
    """Equal layers one after the other, each a named part."""
    x, cos, sin = m.input("x", (2, 5, 8)), m.input("cos", (5, 2)), m.input("sin", (5, 2))
    shapes = {"q_w": (8, 16), "k_w": (8, 8), "v_w": (8, 8), "o_w": (16, 8)}
    inner = {"gate_w": (8, 12), "up_w": (8, 12), "down_w": (12, 8)}
    for number in range(layers):
        w = {key: m.param(f"{key}{number}", shape) for key, shape in (shapes | inner).items()}
        gains = {key: m.param(f"{key}{number}", (8,)) for key in ("ln1_g", "ln2_g")}
        with m.named(f"layer{number}"):
            x = m.llama_decoder_block(x, **gains, ln1_b=None, ln2_b=None, **w, cos=cos, sin=sin, num_heads=4)
    return m.reduce_sum(x)


def launches(graph: rlx.GraphModule) -> list[tuple[str, str]]:
    """The kernel and the location of each launch."""
    ops = rlx.lower(graph).module.walk()
    return [(op.kernel.string_value(), str(op.location)) for op in ops if isinstance(op, LaunchOp)]


@pytest.mark.parametrize("gradient", [False, True], ids=["forward", "gradient"])
def test_launches_say_of_which_layer_they_are_and_share_their_kernels(gradient: bool):
    two, three = (rlx.GraphModule.define("model", lambda m, n=n: stack(m, n)) for n in (2, 3))
    if gradient:
        two, three = rlx.grad_with_loss(two), rlx.grad_with_loss(three)
    found = launches(three)
    for number in range(3):
        assert sum(f'"hir.llama_decoder_block"("layer{number}"("{__file__}"' in place for _, place in found) > 8
    assert sum("llama" not in place for _, place in found) <= 1
    assert len({kernel for kernel, _ in found}) == len({kernel for kernel, _ in launches(two)})


def test_both_policies_lead_to_the_same_kernels():
    model = rlx.GraphModule.define("model", lambda m: stack(m, 1))
    direct, fusable = (launches(rlx.lower_hir(model, policy)) for policy in ("direct", "fusable"))
    assert [kernel for kernel, _ in direct] == [kernel for kernel, _ in fusable]


def test_an_error_names_the_part_and_the_block():
    def build(m):
        x, mask = m.input("x", (1, 2, 4)), m.param("mask", (1, 2))
        with m.named("model"), m.named("layer3"):
            return m.reduce_sum(m.attention(x, x, x, mask, num_heads=1, mask_kind="custom"))

    place = re.escape(f'mir.attention at loc("hir.attention"("model"("layer3"("{__file__}":')
    with pytest.raises(rlx.GraphError, match=f"{place}.* stops it, because a mask is compared with 0.5"):
        rlx.grad(rlx.GraphModule.define("f", build), "mask")


def test_parts_are_named():
    inner = rlx.Graph("inner")
    inner.set_outputs(inner.tanh(inner.input("x", (2,))))
    g = rlx.Graph("g")
    x = g.input("x", (2,))
    with g.named("first"):
        (y,) = g.inline(inner, x)
        with g.named("second"):
            y = y + 1.0
        y = g.exp(y)
    g.set_outputs(g.neg(y))
    parts = [
        re.findall(r'"(\w+)"\(', str(op.location))
        for op in g.module.walk()
        if op.name.startswith("mir.") and op.operands
    ]
    assert parts == [["first"], ["first", "second"], ["first"], []]
    for wrong, message in (
        ("", "named: expected a non-empty scope in graph 'g', got ''"),
        (3, "named: name: expected a string, got 3"),
    ):
        with pytest.raises(rlx.GraphError, match=message):
            g.named(wrong)


def test_blocks_stand_in_bodies_and_between_mir_ops():
    """A scan of a block, a block that is computed again for its gradient, and mir ops around them."""
    rng = np.random.default_rng(2)
    arrays = {name: 0.5 * rng.standard_normal(shape) for name, shape in {"x": (3, 4), "w": (4, 4)}.items()}

    def build(m):
        x, w = m.input("x", (3, 4), "f64"), m.param("w", (4, 4), "f64")
        h, _ = m.scan(lambda h, _: (m.linear(h, w, activation="tanh"), None), m.exp(x), length=3)
        return m.reduce_sum(m.remat(lambda h: m.swiglu(h, w, w, w), m.concat([h, x], 0)) * 2.0)

    model = rlx.GraphModule.define("model", build)
    assert model.stage == "hir" and {"hir.linear", "hir.swiglu", "mir.exp"} <= {op.name for op in model.module.walk()}

    def expected(w: Any) -> Any:
        h = np.exp(arrays["x"])
        for _ in range(3):
            h = np.tanh(h @ w)
        y = np.concatenate([h, arrays["x"]])
        return 2 * ((y @ w) / (1 + np.exp(-(y @ w))) * (y @ w) @ w).sum()

    loss, dw = run(rlx.grad_with_loss(model, ["w"]), **arrays)
    np.testing.assert_allclose(loss, expected(arrays["w"]), rtol=1e-13)
    along = rng.standard_normal((4, 4))
    slope = (expected(arrays["w"] + 1e-6 * along) - expected(arrays["w"] - 1e-6 * along)) / 2e-6
    np.testing.assert_allclose(np.vdot(dw, along), slope, rtol=1e-7)
