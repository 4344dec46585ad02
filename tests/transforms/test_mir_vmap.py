"""What `mir-vmap` keeps besides values: locations, names, attributes of arguments; and what it says of a wrong rule."""

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import UNKNOWN_LOC
from xdsl.utils.exceptions import PassFailedException

import xdsl_rlx as rlx
from xdsl_rlx.dialects.mir.elementwise import ExpOp
from xdsl_rlx.transforms.mir_vmap import MirVmapPass
from xdsl_rlx.transforms.rules import DECOMPOSE, VMAP


def norm() -> rlx.Graph:
    g = rlx.Graph("norm")
    x, gamma = g.input("x", (4, 3)), g.param("gamma", (3,))
    g.set_outputs([g.exp(x), g.layer_norm(x, gamma, gamma)])
    return g


@pytest.mark.parametrize("names", [("x",), ("gamma",), ("x", "gamma")])
def test_every_op_keeps_the_line_it_comes_from(names: tuple[str, ...]):
    """Those of a definition too; what repeats a result at the end comes from no line."""
    module = rlx.vmap(norm(), names, 5).module
    lines = [op.location for op in module.walk() if op.name.startswith("mir.")]
    assert lines and all(line != UNKNOWN_LOC for line in lines[: -1 if names == ("gamma",) else None])


def test_names_of_values_are_kept():
    text = """
    func.func @f(%x: tensor<3xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<3xf32> {
      %first = mir.exp %x : tensor<3xf32>
      %second = mir.relu_backward %x, %first : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
      func.return %second : tensor<3xf32>
    }"""
    batched = str(rlx.vmap(rlx.parse(text), "x", 2))
    assert "%first = mir.exp %x : tensor<2x3xf32>" in batched and "%second = mir.relu_backward" in batched


def test_a_cotangent_with_the_axis_can_still_be_left_out():
    program = rlx.vmap(rlx.grad(norm(), "x"), ["x", "d_output"], 5)
    assert "mir.optional" in str(program)
    assert rlx.compile(program).inputs[-1].shape == (5, 4, 3)


def test_a_rule_that_gives_another_shape_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(VMAP._rules, ExpOp, lambda op, b, batched, size, x: [b.reduce_sum(x, 0)])
    with pytest.raises(PassFailedException, match=r"vmap rule of mir.exp gave a value of type tensor<4x3xf32>, not"):
        MirVmapPass(("x",), 5).apply(Context(), norm().module.clone())


def test_an_op_without_a_rule_is_batched_by_its_definition(monkeypatch: pytest.MonkeyPatch):
    composite = next(op for op in norm().module.walk() if op.name == "mir.layer_norm")
    monkeypatch.delitem(VMAP._rules, type(composite))
    module = norm().module.clone()
    MirVmapPass(("x",), 5).apply(Context(), module)
    module.verify()
    assert DECOMPOSE.get(type(composite)) is not None and "mir.layer_norm" not in str(module)


def test_an_op_without_rule_or_definition_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delitem(VMAP._rules, ExpOp)
    with pytest.raises(
        PassFailedException, match=r"no vmap rule for mir.exp .*: add one to transforms/rules/elementwise.py"
    ):
        MirVmapPass(("x",), 5).apply(Context(), norm().module.clone())
