"""The loops that fusion decides on stand on `mir.fusion`, and lowering takes them from there."""

import re

import numpy as np
import pytest

import xdsl_rlx as rlx

ROWS = """
func.func @rows(%x: tensor<4x1x6xf32> {{mir.name = "x"}}) -> tensor<4x1x6xf32> {{
  %y = mir.fusion(%x){loops} : (tensor<4x1x6xf32>) -> tensor<4x1x6xf32> {{
  ^bb0(%a: tensor<4x1x6xf32>):
    %s = mir.reduce_sum %a axes [2] keep_dim : (tensor<4x1x6xf32>) -> tensor<4x1x1xf32>
    %d = mir.div %a, %s : (tensor<4x1x6xf32>, tensor<4x1x1xf32>) -> tensor<4x1x6xf32>
    mir.yield %d : tensor<4x1x6xf32>
  }}
  func.return %y : tensor<4x1x6xf32>
}}
"""
DECIDED = " loops <[4, 6] parallel 1 : ([0, 1]) -> ([0, 1])>"


def _lowered(text: str) -> str:
    return str(rlx.run_passes(rlx.parse(text), "convert-mir-to-lir").module)


def test_fusion_decides_what_is_found_without_it() -> None:
    assert _lowered(ROWS.format(loops="")) == _lowered(ROWS.format(loops=DECIDED))


@pytest.mark.parametrize(
    "loops",
    [
        "<[4, 6] parallel 0 : ([0, 1]) -> ([0, 1])>",
        "<[4, 6] parallel 2 : ([0, 1]) -> ([0, 1])>",
        "<[2, 4, 6] reduce 1 to 2 : ([1, 2]) -> ([1, 2])>",
        "<[4, 4, 6] parallel 1 : ([0, 2]) -> ([1, 2])>",
    ],
)
def test_loops_that_the_ops_do_not_have_are_an_error(loops: str) -> None:
    text = ROWS.format(loops=f" loops {loops}")
    with pytest.raises(
        rlx.GraphError, match=re.escape(f"the ops of a fusion do not fit its loops #mir.fusion_loops{loops}")
    ):
        _lowered(text)


def test_what_is_decided_survives_a_round_trip_and_passes_in_between() -> None:
    g = rlx.Graph("losses")
    x, w = g.input("x", (8, 16)), g.param("w", (16, 4))
    g.set_outputs([g.reduce_mean(g.log(g.softmax(x @ w)) * 0.3)])
    fused = rlx.run_passes(rlx.grad_with_loss(g, wrt=["w"]), "mir-prepare-for-fusion,mir-fuse")
    text = str(fused.module)
    assert text.count("mir.fusion(") == text.count(" loops <")
    assert str(rlx.parse(text)) == text
    assert _lowered(text) == _lowered(re.sub(r" loops <.*?\) -> \([^)]*\)>", "", text))
    rlx.compile(rlx.run_passes(fused, "canonicalize,cse"))


def test_a_product_that_only_a_total_reads_finds_its_loops() -> None:
    """Neither an input nor a result of the group runs over the loops of the product."""
    g = rlx.Graph("total")
    g.set_outputs([g.reduce_sum(g.exp(g.input("x", (8, 16)) @ g.param("w", (16, 4))))])
    fused = rlx.run_passes(g, "mir-prepare-for-fusion,mir-fuse")
    assert "loops <[8, 4] parallel 1 : (operand, operand) -> ([])>" in str(fused.module)
    rlx.compile(fused)


def test_nothing_is_left_to_loops_over_nothing():
    g = rlx.Graph("f")
    shapes = {"q": (1, 3, 2, 0), "k": (1, 3, 2, 0), "v": (1, 3, 2, 2), "g": (1, 3, 2), "beta": (1, 3, 2)}
    out, _ = g.gated_delta_net(*(g.param(name, shape, "f64") for name, shape in shapes.items()))
    g.set_outputs([g.reduce_sum(out * g.input("w", (1, 3, 2, 2), "f64"))])
    gradients = rlx.compile(rlx.grad(g, wrt=list(shapes)), threads=1)
    values = {name: np.full(shape, 0.5) for name, shape in {**shapes, "w": (1, 3, 2, 2)}.items()}
    for found, shape in zip(gradients(**values), shapes.values(), strict=True):
        np.testing.assert_array_equal(found, np.zeros(shape))
