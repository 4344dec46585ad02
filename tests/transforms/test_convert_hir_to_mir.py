"""Lowering of blocks: both policies mean the same, options are checked, what is missing is named."""

import numpy as np
import pytest
from oracle import evaluate
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

import xdsl_rlx as rlx
from xdsl_rlx.dialects.contexts import context
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
    with pytest.raises(ValueError, match="fusion-policy is one of direct, fusable, for_autodiff, got 'fast'"):
        ConvertHirToMirPass("fast")
    with pytest.raises(rlx.GraphError, match="direct, fusable, for_autodiff"):
        rlx.lower_hir(ModuleOp([]), fusion_policy="fast")
