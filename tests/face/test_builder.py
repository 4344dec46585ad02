"""Graph and GraphModule: arguments, outputs, inlining, stages, locations, and errors at the call that is wrong."""

import numpy as np
import pytest
from oracle import evaluate
from xdsl.dialects.builtin import FileLineColLoc, NameLoc

import xdsl_rlx as rlx


def small() -> rlx.Graph:
    g = rlx.Graph("loss")
    x, w = g.input("x", (4, 3), dtype="f64"), g.param("w", (3, 2), dtype=np.float64)
    g.set_outputs([g.reduce_sum(g.tanh(g.matmul(x, w)), axes=[0, 1])])
    return g


def linear(activation: str | None = "relu") -> rlx.GraphModule:
    return rlx.GraphModule.define(
        "layer",
        lambda m: m.linear(m.input("x", (2, 8)), m.param("w", (8, 8)), m.param("b", (8,)), activation=activation),
    )


def test_a_graph_is_the_text_it_prints():
    g = small()
    assert g.stage == "mir"
    assert rlx.parse(str(g)).is_structurally_equivalent(g.module)
    assert '%w: tensor<3x2xf64> {mir.name = "w", mir.kind = "param"}' in str(g)
    x, w = np.ones((4, 3)), np.full((3, 2), 0.1)
    np.testing.assert_allclose(evaluate(g.module, x, w)[0], np.tanh(x @ w).sum())


def test_building_goes_on_after_the_module_was_looked_at():
    g = small()
    before = str(g)
    extra = g.input("extra", (), "f64")
    assert before != str(g) and "%extra" in str(g)
    g.set_outputs([extra * 2.0, extra])
    assert len(evaluate(g.module, np.ones((4, 3)), np.ones((3, 2)), 4.0)) == 2


def test_ops_remember_the_line_that_built_them():
    g = rlx.Graph("g")
    y = g.tanh(g.input("x", (2,))) + 1.0
    assert isinstance(y.ssa.owner.location, FileLineColLoc)
    assert y.ssa.owner.location.filename.data == __file__


def test_a_block_graph_holds_mir_ops_too():
    m = rlx.GraphModule.define("n", lambda m: m.exp(m.linear(m.input("x", (2, 3)), m.param("w", (3, 3)))) * 2.0)
    assert m.stage == "hir" and m.name == "n"
    assert rlx.lower_hir(m).stage == "mir"
    assert str(m) == str(m.module)


def test_inline_binds_by_position_name_and_default():
    layer = rlx.lower_hir(linear())
    g = rlx.Graph("two")
    (first,) = g.inline(layer)
    (second,) = g.inline(layer, first, b=g.param("b2", (8,)))
    g.set_outputs([second])
    names = [a.name for a in rlx.run_passes(g, "cse").signature.arguments]
    assert names == ["x", "w", "b", "b2"]
    rng = np.random.default_rng(0)
    x, w, b, b2 = (rng.standard_normal(s).astype(np.float32) for s in ((2, 8), (8, 8), (8,), (8,)))
    hidden = np.maximum(x @ w + b, 0)
    np.testing.assert_allclose(evaluate(g.module, x, w, b, b2)[0], np.maximum(hidden @ w + b2, 0), rtol=1e-5)


def test_inline_takes_numbers_for_scalars():
    inner = rlx.Graph("scaled")
    inner.set_outputs([inner.input("x", (2,), "f64") * inner.input("s", (), "f64")])
    g = rlx.Graph("outer")
    g.set_outputs(g.inline(inner, s=3))
    np.testing.assert_array_equal(evaluate(g.module, np.ones(2))[0], [3.0, 3.0])


def test_numbers_and_arrays_are_constant_results():
    g = rlx.Graph("constants")
    x = g.input("x", (2,), "f64")
    g.set_outputs({"y": x + 1.0, "n": 3.0, "a": np.arange(3)})
    found = rlx.compile(g)(np.ones(2))
    np.testing.assert_array_equal(found.y, [2.0, 2.0])
    np.testing.assert_array_equal(found.a, np.arange(3), strict=True)
    assert (found.n, found.n.dtype) == (3.0, np.float32)
    with pytest.raises(rlx.GraphError, match="output 2 of graph 'constants': expected a value"):
        g.set_outputs([x, 1.0, None])
    np.testing.assert_array_equal(rlx.compile(g)(np.ones(2)).y, [2.0, 2.0])


def test_an_integer_that_f32_does_not_hold_is_no_result():
    g = rlx.Graph("counts")
    with pytest.raises(rlx.GraphError, match=r"output 0 .* 16777217 is not exact in f32; pass an array of its type"):
        g.set_outputs([2**24 + 1])
    g.set_outputs([np.int64(2**24 + 1), 2**24])
    found = rlx.compile(g)()
    assert (int(found[0]), float(found[1])) == (2**24 + 1, 2**24)


DONATIONS = {
    "'a' is f32[2, 3], the value is f32[3, 2]; cast or reshape it": lambda a, w: {"a": w},
    "no argument 'zz'; arguments are a, w": lambda a, w: {"zz": a},
    "'w' is f32[3, 2], the value is f32[]": lambda a, w: {"w": 1.0},
    "expected values by argument, got ['a']": lambda a, w: ["a"],
}


@pytest.mark.parametrize("message", DONATIONS)
def test_a_wrong_donation_is_told_at_the_call_and_leaves_the_graph_usable(message: str):
    g = rlx.Graph("m")
    a, w = g.input("a", (2, 3)), g.param("w", (3, 2))
    g.set_outputs(a)
    with pytest.raises(rlx.GraphError) as caught:
        g.set_outputs(a, donate=DONATIONS[message](a, w))
    assert message in str(caught.value)
    assert str(g).count("func.return") == 1
    g.set_outputs(a, donate={"w": w * 2.0})
    rlx.compile(g)


def value_of_another_graph(g: rlx.Graph):
    return g.tanh(rlx.Graph("other").input("x", (4, 3), "f64"))


MISTAKES = {
    "already has an argument 'x', the input f64[4, 3]": lambda g: g.input("x", (1,)),
    "needs an identifier as its name": lambda g: g.input("", (1,)),
    "expected integers of at least 0": lambda g: g.input("y", (2, -1)),
    "dtype 'f12' is not supported": lambda g: g.input("y", (2,), "f12"),
    "of [4, 3] @ [4, 3] differ: expected 3 rows in the RHS, got 4; transpose the RHS": lambda g: g.matmul(X(g), X(g)),
    "mir.add: shapes [4, 3] and [3, 4] do not broadcast": lambda g: X(g) + X(g).T,
    "mir.add: operands have different element types: lhs is f64, rhs is f32; cast one": lambda g: g.add(
        X(g), g.constant(1.0)
    ),
    "mir.reduce_sum: axes [0, 0] repeat one": lambda g: g.reduce_sum(X(g), [0, 0]),
    "mir.softmax: axis 2 is out of range for rank 2": lambda g: g.softmax(X(g), 2),
    "mir.relu: element type i32 is not supported": lambda g: g.relu(g.constant([1, 2], "i32")),
    "a value of graph 'other' is used in graph 'loss'": value_of_another_graph,
    "needs at least one output": lambda g: g.set_outputs([]),
    "output 1 of graph 'loss': expected a value, a number or an array, got list": lambda g: g.set_outputs(
        [X(g), [1.0]]
    ),
    "'layer' is at stage hir, graph 'loss' at mir": lambda g: g.inline(linear()),
    "'layer' has 3 arguments, got 4": lambda g: g.inline(rlx.lower_hir(linear()), 1, 2, 3, 4),
    "'layer' has no argument 'v'; it has x, w, b": lambda g: g.inline(rlx.lower_hir(linear()), v=X(g)),
    "argument 'x' of 'layer' is given by position and by name": lambda g: g.inline(
        rlx.lower_hir(linear()), X(g), x=X(g)
    ),
    "argument 'x' of 'layer' is tensor<2x8xf32>, got a value of tensor<4x3xf64>": lambda g: g.inline(
        rlx.lower_hir(linear()), X(g)
    ),
    "graph 'loss' already has an argument 'x'": lambda g: g.inline(rlx.lower_hir(linear())),
    "expected a Graph, GraphModule or ModuleOp, got str; parse(text) makes one": lambda g: g.inline("text"),
    "graph 'e' has no outputs; call set_outputs": lambda g: rlx.Graph("e").module,
    "expected a name for the graph": lambda g: rlx.Graph(""),
}


def X(g: rlx.Graph) -> rlx.Value:
    return g.value(g.module.body.block.first_op.body.block.args[0])


@pytest.mark.parametrize("message", MISTAKES)
def test_a_mistake_is_told_where_it_is_made(message: str):
    g = small()
    with pytest.raises(rlx.GraphError) as caught:
        MISTAKES[message](g)
    assert message in str(caught.value)
    assert isinstance(caught.value, rlx.RlxError) and isinstance(caught.value, ValueError)
    g.module.verify()


def test_outputs_with_names_are_a_named_tuple():
    g = rlx.Graph("model")
    x, w = g.input("x", (3,)), g.param("w", (3,))
    g.set_outputs({"loss": g.reduce_sum(x * w * w), "scaled": x * w})
    a, b = np.arange(3, dtype=np.float32), np.full(3, 2, np.float32)
    found = rlx.compile(g)(a, b)
    assert found.loss == 12 and found._fields == ("loss", "scaled")
    step = rlx.compile(rlx.grad_with_loss(g, "w"))
    for result in (step(a, b), rlx.compile(rlx.parse(str(rlx.grad_with_loss(g, "w"))))(a, b)):
        np.testing.assert_array_equal(result.d_w, 4 * a)
        assert result._fields == ("loss", "scaled", "d_w") and type(result).__name__ == "model_grad"
    lowered = rlx.lower(g)
    assert 'lir.output 0 "loss"' in str(lowered) and rlx.compile(lowered)(a, b).loss == 12
    for names in ({"a b": x}, {"class": x}, {"_x": x}):
        with pytest.raises(rlx.GraphError, match=r"expected a Python identifier as the name"):
            g.set_outputs(names)
    g.set_outputs([x])
    assert type(rlx.compile(g)(a, b)) is tuple


def test_ops_stand_at_lines_of_the_user_however_a_function_is_traced():
    def loss(w: rlx.Value, x: rlx.Value):
        return (np.tanh(x @ w) ** 2).sum()

    arguments = np.ones((3, 2)), np.ones((4, 3))
    step = rlx.compile(rlx.value_and_grad(loss))
    for graph in (step.trace(*arguments), rlx.trace(rlx.value_and_grad(loss), *arguments)):
        for op in graph.module.walk():
            location = op.location
            while isinstance(location, NameLoc):
                location = location.location
            if isinstance(location, FileLineColLoc):
                assert location.filename.data.endswith("test_builder.py"), (op.name, location)
