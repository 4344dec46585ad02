"""Registered ops where a simpler system is silent. What they do else is in tests/face/test_custom.py."""

import pytest

import xdsl_rlx as rlx


@pytest.mark.parametrize("mode", ["vjp", "jvp"])
def test_an_op_without_a_derivative_is_not_taken_for_a_constant(mode: str):
    """W-19: neither an empty list of cotangents nor a zero tangent, but an error that names the op."""
    kernel = rlx.custom_op("weak.opaque", kernel="nest", shape=lambda x: x, replace=True)(lambda op, work: None)
    g = rlx.Graph("f")
    x = g.input("x", (3,))
    g.set_outputs([g.reduce_sum(kernel(x) + x)])
    with pytest.raises(rlx.GraphError, match=rf'mir.custom "weak.opaque" at .* has no {mode} rule'):
        if mode == "vjp":
            rlx.grad(g, wrt=["x"])
        else:
            rlx.jvp(g, ["x"])


def test_a_derivative_for_one_mode_is_not_replaced_by_the_definition_in_the_other():
    """W-06: forward mode through an op that has a vjp only is a clear error."""
    kernel = rlx.custom_op("weak.reverse", vjp=lambda b, inputs, outputs, gs: gs, replace=True)(lambda b, x: b.round(x))
    g = rlx.Graph("f")
    g.set_outputs([kernel(g.input("x", (3,)))])
    with pytest.raises(rlx.GraphError, match=r'"weak.reverse" at .* has no jvp rule'):
        rlx.jvp(g, ["x"])
