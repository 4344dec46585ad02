"""What a user can do wrong with graphs: each ends in an exception of ours that names the thing and says what to do.

Wrong calls of single arguments are in lowering/backend/test_compiled_graph.py, wrong IR is in the files invalid.mlir of
filecheck/dialects.
"""

import copy
import pickle
import re
from collections.abc import Callable
from pathlib import Path

import models
import numpy as np
import pytest

import xdsl_rlx as rlx
from xdsl_rlx.lowering.backend.driver.process import thread_count
from xdsl_rlx.lowering.cache import limit
from xdsl_rlx.lowering.run_errors import ArgumentError, ArgumentTypeError, ConfigurationError

IDENTITY = """
func.func @f(%x: tensor<3xf32> {mir.name = "x", mir.kind = "input"}) -> tensor<3xf32> {
  func.return %x : tensor<3xf32>
}
"""


def loss() -> rlx.Graph:
    g = rlx.Graph("loss")
    x, w = g.input("x", (4, 3)), g.param("w", (3, 2))
    g.set_outputs(g.reduce_sum(g.tanh(x @ w)))
    return g


def detached() -> rlx.Graph:
    """A loss that its param and its integer input do not reach, and a second output that the param is."""
    g = rlx.Graph("detached")
    x, w, i = g.input("x", (4,)), g.param("w", (4,)), g.input("i", (4,), "i32")
    g.set_outputs([g.reduce_sum(g.stop_gradient(w) * x), w, i])
    return g


def integer_loss() -> rlx.Graph:
    g = rlx.Graph("count")
    g.set_outputs(g.reduce_sum(g.cast(g.param("w", (4,)), "i32")))
    return g


def blocks() -> rlx.GraphModule:
    return rlx.parse((Path(__file__).parents[1] / "examples" / "mlp.mlir").read_text())


def argument_type(type_: str) -> Callable[[], object]:
    return lambda: rlx.compile(rlx.parse(IDENTITY.replace("tensor<3xf32>", type_)))


WRONG: dict[str, tuple[Callable[[], object], str]] = {
    "a text as constant": (lambda: rlx.Graph("g").constant("a"), "expected numbers for a constant, got 'a'"),
    "a text in a constant": (lambda: rlx.Graph("g").constant(["a", "b"]), "expected numbers for a constant, got 'a'"),
    "a name that is no identifier": (
        lambda: rlx.Graph("g").input("a b", (3,)),
        "an argument of graph 'g' needs an identifier as its name, got 'a b'",
    ),
    "a number as name": (
        lambda: rlx.Graph("g").param(3, (3,)),
        "param: name: expected a string, got 3",
    ),
    "half an extent": (
        lambda: rlx.Graph("g").input("x", (2.5, 3)),
        "input: shape: expected integers, got (2.5, 3)",
    ),
    "half a step": (
        lambda: (g := rlx.Graph("g")).conv(g.input("x", (1, 1, 5, 5)), g.input("w", (1, 1, 3, 3)), stride=1.5),
        "conv: stride: expected an integer or integers, got 1.5",
    ),
    "a misspelt argument": (
        lambda: (g := rlx.Graph("g")).reduce_sum(g.input("x", (3,)), axis=0),
        "reduce_sum has no argument 'axis': did you mean axes=?",
    ),
    "an argument too many": (
        lambda: (g := rlx.Graph("g")).softmax(g.input("x", (3,)), 0, 1),
        "softmax takes 2 arguments by position, got 3; they are x, axis",
    ),
    "an argument too few": (
        lambda: rlx.Graph("g").softmax(),
        "softmax: x is missing; its arguments are x, axis",
    ),
    "a word for a step": (
        lambda: (g := rlx.Graph("g")).conv(g.input("x", (1, 1, 5, 5)), g.input("w", (1, 1, 3, 3)), stride="same"),
        "conv: stride: expected an integer or integers, got 'same'",
    ),
    "a word for eps": (
        lambda: (g := rlx.Graph("g")).rms_norm(g.input("x", (3,)), eps="a"),
        "rms_norm: eps: expected a number, got 'a'",
    ),
    "a fraction as axis": (
        lambda: (g := rlx.Graph("g")).softmax(g.input("x", (3,)), axis=1.0),
        "softmax: axis: expected an integer, got 1.0",
    ),
    "an axis of 200 bits": (
        lambda: (g := rlx.Graph("g")).softmax(g.input("x", (3,)), 2**200),
        "more than 64 bits",
    ),
    "more elements than there are addresses": (
        lambda: rlx.Graph("g").input("x", (2**61, 2)),
        "a tensor of shape [2305843009213693952, 2] has more elements than a process can address",
    ),
    "a result larger than memory": (
        lambda: (g := rlx.Graph("g")).expand(g.input("x", ()), (2**24, 2**24)),
        "a tensor of shape [16777216, 16777216] has more elements than a process can address",
    ),
    "a batch larger than memory": (
        lambda: rlx.vmap(loss(), "x", 2**62),
        "a tensor of shape [4611686018427387904, 4, 2] has more elements than a process can address",
    ),
    "an index out of range": (
        lambda: rlx.Graph("g").input("x", (3,))[3],
        "index 3 is out of range for an axis of extent 3",
    ),
    "a value as array": (
        lambda: np.asarray(rlx.Graph("g").input("x", (3,))),
        "expected an array, got a traced value: it has no concrete value yet",
    ),
    "a path as text": (
        lambda: rlx.parse(Path("model.mlir")),
        "parse: expected the text of a module, got a path: parse(Path('model.mlir').read_text())",
    ),
    "the name of a file as text": (lambda: rlx.parse("model.mlir"), "got a path"),
    "nothing as text": (lambda: rlx.parse(None), "parse: expected the text of a module, got None"),
    "a half float out of range in text": (
        lambda: rlx.parse("%0 = mir.constant dense<70000.0> : tensor<3xf16>"),
        "a dense constant has a number that its element type cannot hold",
    ),
    "the same in the generic form": (
        lambda: rlx.parse('%0 = "mir.constant"() <{value = dense<70000.0> : tensor<3xf16>}> : () -> tensor<3xf16>'),
        "float too large to pack",
    ),
    "a real number in a complex constant": (
        lambda: rlx.parse("%0 = mir.constant dense<1.0> : tensor<3xcomplex<f32>>"),
        "a dense constant has a number that its element type cannot hold",
    ),
    "a tensor too large in text": (
        lambda: rlx.compile(argument_type("tensor<4611686018427387904x3xf32>")()),
        "has more elements than a process can address",
    ),
    "a pass that is no pass": (
        lambda: rlx.run_passes(loss(), [3]),
        "expected passes, or the text of a pipeline, got 3",
    ),
    "a misspelt keyword": (lambda: rlx.grad(loss(), wrts="w"), "grad has no argument 'wrts': did you mean wrt=?"),
    "a model that is no function": (
        lambda: rlx.GraphModule.define("m", 3),
        "define: expected a function that builds the model, got 3",
    ),
    "a name that is a list": (lambda: rlx.custom_op(["a"]), "custom_op: name: expected a string, got ['a']"),
    "a block to lower": (
        lambda: rlx.run_passes(blocks(), "mir-prepare-for-fusion,mir-fuse,convert-mir-to-lir"),
        "hir.linear has no loop form: run convert-hir-to-mir before convert-mir-to-lir",
    ),
    "a block to differentiate": (
        lambda: rlx.run_passes(blocks(), "mir-grad{wrt=w1}"),
        "no vjp rule for hir.linear: run convert-hir-to-mir first",
    ),
    "unknown wrt": (lambda: rlx.grad_with_loss(loss(), ["v"]), '@loss has no argument "v"; it has x, w'),
    "wrt is no name": (
        lambda: rlx.grad_with_loss(loss(), [["w"]]),
        "grad: wrt: expected names and values, got ['w']",
    ),
    "wrt is None": (lambda: rlx.grad(loss(), None), "grad: wrt: expected names and values, got None"),
    "wrt stopped": (
        lambda: rlx.grad(detached(), "w"),
        f'no gradient flows from the loss to "w": mir.stop_gradient at loc("{__file__}"',
    ),
    "wrt integer": (lambda: rlx.grad(detached(), "i"), '"i": its type tensor<4xi32> is not floating-point'),
    "loss integer": (lambda: rlx.grad(integer_loss()), "the loss of type tensor<i64> is not floating-point"),
    "lir to grad": (lambda: rlx.grad(rlx.lower(loss())), "grad takes a graph at stage hir or mir, 'loss' is at lir"),
    "lir to grad_with_loss": (
        lambda: rlx.grad_with_loss(rlx.lower(loss()), ["w"]),
        "grad takes a graph at stage hir or mir, 'loss' is at lir",
    ),
    "lir to prepare_for_ad": (
        lambda: rlx.prepare_for_ad(rlx.lower(loss())),
        "prepare_for_ad takes a graph at stage hir or mir, 'loss' is at lir",
    ),
    "lir to lower_hir": (
        lambda: rlx.lower_hir(rlx.lower(loss())),
        "lower_hir takes a graph at stage hir or mir, 'loss' is at lir",
    ),
    "no rule": (
        lambda: rlx.grad(
            rlx.parse(IDENTITY.replace("func.return %x", "%0 = arith.negf %x : tensor<3xf32>\n  func.return %0")), "x"
        ),
        "no vjp rule for arith.negf: ops of mir have some, and custom ones (rlx.custom_op)",
    ),
    "no loops": (
        lambda: rlx.compile(
            rlx.parse(IDENTITY.replace("func.return %x", "%0 = arith.negf %x : tensor<3xf32>\n  func.return %0"))
        ),
        "arith.negf has no loop form; expected mir ops, or ops registered with rlx.custom_op",
    ),
    "fusion policy": (
        lambda: rlx.lower_hir(loss(), fusion_policy="some"),
        "fusion-policy: expected one of direct, fusable, for_autodiff, got 'some'",
    ),
    "text for a graph": (
        lambda: rlx.compile(IDENTITY),
        "compile: expected a Python function, or a Graph, GraphModule or ModuleOp, got str; parse(text)",
    ),
    "a function": (lambda: rlx.inspect(rlx.compile(np.tanh)), "got CompiledFunction; rlx.trace(function, arguments"),
    "no graph": (
        lambda: rlx.compile(3),
        "compile: expected a Python function, or a Graph, GraphModule or ModuleOp, got int",
    ),
    "no function and no graph": (lambda: rlx.grad(None), "grad: expected a Python function, or a Graph, GraphModule"),
    "an unknown kind of argument": (
        lambda: rlx.parse(IDENTITY.replace('"input"', '"parm"')),
        'argument 0 of @f: mir.kind: expected "input" or "param", got "parm"',
    ),
    "no text": (lambda: rlx.parse("func.func @f("), "Expected"),
    "no function": (lambda: rlx.compile(rlx.parse("builtin.module {}")), "expected a module with one function, got 0"),
    "no function to differentiate": (
        lambda: rlx.grad(rlx.parse("builtin.module {}")),
        "one public function, found none",
    ),
    "two functions": (
        lambda: rlx.compile(rlx.parse("func.func @f() { func.return }\nfunc.func @g() { func.return }")),
        "expected a module with one function, got 2",
    ),
    "only declared": (
        lambda: rlx.compile(rlx.parse("func.func private @f() -> tensor<3xf32>")),
        "expected @f to have one block, got 0",
    ),
    "names left out": (
        lambda: rlx.grad(rlx.parse(re.sub(r" \{mir.*?\}", "", IDENTITY)), "x"),
        "argument 0 of @f needs mir.name and mir.kind",
    ),
    "names twice": (
        lambda: rlx.compile(
            rlx.parse(IDENTITY.replace("@f(", '@f(%y: tensor<i1> {mir.name = "x", mir.kind = "input"}, '))
        ),
        'two arguments of @f are named "x"',
    ),
    "dynamic shape": (argument_type("tensor<?xf32>"), "expected a static shape, got tensor<?xf32>"),
    "no tensor": (argument_type("memref<3xf32>"), "expected a ranked tensor, got memref<3xf32>"),
    "no arithmetic": (argument_type("tensor<3xi4>"), "kernels do not compute with i4"),
    "unknown pass": (lambda: rlx.run_passes(loss(), "mir-fuze"), "mir-fuze"),
    "unknown option": (lambda: rlx.run_passes(loss(), "mir-grad{with=w}"), "with"),
    "half a pipeline": (lambda: rlx.run_passes(loss(), "mir-grad{wrt=w"), "pass-pipeline:1:15"),
    "no outputs": (lambda: rlx.compile(rlx.Graph("empty")), "graph 'empty' has no outputs; call set_outputs"),
    "an option of a function": (
        lambda: rlx.compile(np.tanh, static_argnums=0),
        "compile has no argument 'static_argnums': did you mean static=?",
    ),
    "weights of a function": (lambda: rlx.compile(np.tanh, weights={}), "compile has no argument 'weights'"),
    "half a budget": (
        lambda: rlx.compile(loss(), memory_budget=1e6 / 2),
        "memory_budget: expected a whole number of bytes, got 500000.0",
    ),
    "a budget in words": (lambda: rlx.compile(loss(), memory_budget="1MB"), "whole number of bytes, got '1MB'"),
    "a misspelt op": (lambda: rlx.Graph("g").matmull, "a graph has no 'matmull': did you mean 'matmul'?"),
    "a method of another framework": (
        lambda: rlx.Graph("g").input("x", ()).backward(),
        "a traced value has no attribute 'backward': rlx.grad(function)",
    ),
    "a scaled loss": (lambda: rlx.scale_loss(loss()), 'has no argument "d_output", the cotangent of a loss'),
    "a loss scaled twice": (
        lambda: rlx.scale_loss(rlx.scale_loss(rlx.grad_with_loss(loss(), "w"))),
        'is scaled already, by "loss_scale"',
    ),
    "a function of integers": (
        lambda: rlx.grad(lambda i: (i * 2).sum())(np.arange(3)),
        "got tensor<i64>; x.astype(np.float32) converts integers to floats",
    ),
    "a tree for its spec": (lambda: rlx.tree.paths({"w": 1}), "expected the spec of a tree, which is flatten(tree)[1]"),
    "trees of two kinds": (
        lambda: rlx.tree.map(max, {"w": 1, "b": 2}, {"w": 1, "v": 3}),
        "map: expected the tree structure of the first tree, got one that lacks ['b'] and has the extra ['v']",
    ),
    "an optimiser's arguments swapped": (
        lambda: rlx.optim.AdamW(1e-3).update({"step": 0}, {"w": X}, {"w": X}),
        "update: state: expected the result of init(params)",
    ),
    "a state without moments": (
        lambda: rlx.optim.AdamW(1e-3).update({"w": X}, {"step": np.int64(0)}, {"w": X}),
        "update: state: expected the result of init(params)",
    ),
    "gradients of another model": (
        lambda: rlx.optim.AdamW(1e-3).update({"v": X}, rlx.optim.AdamW(1e-3).init({"w": X}), {"w": X}),
        "update: grads: expected the tree structure of params, got one that lacks ['w'] and has the extra ['v']",
    ),
    "a schedule back in time": (lambda: rlx.optim.cosine(1e-3, -1), "expected a number of steps of at least 0, got -1"),
    "lower for no threads": (lambda: rlx.lower(loss(), threads=0), "threads must be at least 1, got 0"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_use_of_a_graph_is_a_graph_error(name: str):
    wrong, message = WRONG[name]
    with pytest.raises(rlx.GraphError, match=re.escape(message)) as caught:
        wrong()
    assert not str(caught.value).endswith((".", "!")) and isinstance(caught.value, ValueError)


FUSIONS = {
    "constant": (
        "%y = mir.constant dense<1.0> : tensor<3x3xf32>",
        "the ops of a fusion (mir.constant) do not share one loop nest",
    ),
    "product of what is computed": (
        "%e = mir.exp %a : tensor<3x3xf32>\n"
        "%y = mir.matmul %e, %a : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>",
        "mir.matmul reads a result of its own fusion",
    ),
    "contraction": (
        "%y = mir.dot_general %a, %a contracting [0] x [1] batch [] x []"
        " : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>",
        "the ops of a fusion (mir.dot_general) do not share one loop nest",
    ),
}


@pytest.mark.parametrize("name", FUSIONS)
def test_a_fusion_written_by_hand_that_is_no_kernel_is_a_graph_error(name: str):
    body, message = FUSIONS[name]
    module = rlx.parse(f"""
    func.func @f(%x: tensor<3x3xf32> {{mir.name = "x", mir.kind = "input"}}) -> tensor<3x3xf32> {{
      %r = mir.fusion(%x) : (tensor<3x3xf32>) -> tensor<3x3xf32> {{
      ^bb0(%a: tensor<3x3xf32>):
        {body}
        mir.yield %y : tensor<3x3xf32>
      }}
      func.return %r : tensor<3x3xf32>
    }}""")
    with pytest.raises(rlx.GraphError, match=re.escape(message)):
        rlx.compile(module)


@pytest.mark.parametrize("threads", [0, -1, 1.5, "2", True])
def test_a_wrong_thread_count_is_an_error(threads: object):
    with pytest.raises(ConfigurationError, match=r"threads must be an integer from 1 to 1024, got"):
        rlx.compile(loss(), threads=threads)


def test_names_are_taken_once_in_a_graph():
    g = rlx.Graph("g")
    g.input("x", (2, 3))
    with pytest.raises(rlx.GraphError, match=r"graph 'g' already has an argument 'x', the input f32\[2, 3\]"):
        g.param("x", (3,))
    # and the graph is as it was
    g.set_outputs(g.exp(g.param("y", (3,))))
    assert [argument.name for argument in rlx.compile(g).inputs] == ["x"]


def test_an_argument_called_like_the_cotangent_keeps_its_name():
    g = rlx.Graph("g")
    x = g.input("d_output", (4,))
    g.set_outputs(g.reduce_sum(x * x))
    compiled = rlx.compile(rlx.grad_with_loss(g, ["d_output"]))
    values = np.arange(4, dtype=np.float32)
    assert [spec.name for spec in compiled.inputs] == ["d_output", "d_output_2"]
    value, grad = compiled(d_output=values)
    assert value == 14 and np.array_equal(grad, 2 * values)
    assert np.array_equal(compiled(d_output=values, d_output_2=0.5)[1], values)


def test_an_argument_called_like_a_tangent_keeps_its_name():
    """And the tangent, which has a number then, is the one that directions and unit vectors go to."""
    g = rlx.Graph("g")
    x, t = g.input("x", (3,), "f64"), g.input("tangent_x", (3,), "f64")
    g.set_outputs(g.reduce_sum(g.sin(x) * t))
    compiled = rlx.compile(rlx.jvp(g, ["x"]))
    assert [spec.name for spec in compiled.inputs] == ["x", "tangent_x", "tangent_x_2"]
    a, b, u, v = np.random.default_rng(0).standard_normal((4, 3))
    np.testing.assert_allclose(compiled(a, b, u)[1], np.sum(np.cos(a) * b * u), rtol=1e-13)
    for jacobian in (rlx.jacfwd(compiled, "x"), rlx.jacfwd(g, "x")):
        np.testing.assert_allclose(jacobian(x=a, tangent_x=b)[0], np.cos(a) * b, rtol=1e-13)
    twice = rlx.compile(rlx.jvp(rlx.jvp(g, ["x"]), ["x"]))
    *_, second = twice(x=a, tangent_x=b, tangent_x_2=u, tangent_x_3=v)
    np.testing.assert_allclose(second, np.sum(-np.sin(a) * b * u * v), rtol=1e-13)
    *_, second = rlx.jacfwd(twice, "x")(x=a, tangent_x=b, tangent_x_2=u)
    np.testing.assert_allclose(second, -np.sin(a) * b * u, rtol=1e-13)


def test_tangents_of_arguments_called_like_each_other_are_told_apart():
    g = rlx.Graph("g")
    x, y = g.input("x", (2,), "f64"), g.input("x_2", (2,), "f64")
    g.set_outputs(x * y * y)
    compiled = rlx.compile(rlx.jvp(g, ["x", "x_2"]))
    a, b, none = np.array([1.0, 2.0]), np.array([3.0, 5.0]), np.zeros(2)
    np.testing.assert_allclose(rlx.jacfwd(compiled, "x")(x=a, x_2=b, tangent_x_2=none)[0], np.diag(b * b))
    np.testing.assert_allclose(rlx.jacfwd(compiled, "x_2")(x=a, x_2=b, tangent_x=none)[0], np.diag(2 * a * b))


X, W = np.ones((4, 3), np.float32), np.ones((3, 2), np.float32)
WRONG_CALLS: dict[str, tuple[dict[str, object], type[Exception], str]] = {
    "unknown": ({"x": X, "w": W, "z": X}, ArgumentTypeError, "graph 'loss_grad' has no argument 'z'"),
    "close": ({"x": X, "w": W, "d_outptu": X}, ArgumentTypeError, "did you mean 'd_output'?"),
    "shape": (
        {"x": X.T, "w": W},
        ArgumentError,
        "argument 'x' of graph 'loss_grad': expected f32[4, 3], got f32[3, 4]",
    ),
    "param shape": (
        {"x": X, "w": X},
        ArgumentError,
        "argument 'w' of graph 'loss_grad': expected f32[3, 2], got f32[4, 3]",
    ),
    "dtype": (
        {"x": X.astype("f8"), "w": W},
        ArgumentTypeError,
        "expected f32[4, 3], got f64[4, 3]; pass x.astype('float32')",
    ),
    "missing": ({"w": W}, ArgumentTypeError, "input 'x' of graph 'loss_grad' is missing: expected f32[4, 3]"),
    "missing param": (
        {"x": X},
        ArgumentTypeError,
        "param 'w' of graph 'loss_grad' has no value: expected f32[3, 2]; set .weights",
    ),
    "cotangent": (
        {"x": X, "w": W, "d_output": [1.0]},
        ArgumentError,
        "'d_output' of graph 'loss_grad': expected f32[]",
    ),
    "none": (
        {"x": None, "w": W},
        ArgumentTypeError,
        "argument 'x' of graph 'loss_grad': expected f32[4, 3], got NoneType",
    ),
}


@pytest.mark.parametrize("name", WRONG_CALLS)
def test_a_wrong_call_names_the_argument_and_changes_nothing(name: str):
    arguments, kind, message = WRONG_CALLS[name]
    compiled = rlx.compile(rlx.grad_with_loss(loss(), ["w"]))
    with pytest.raises(kind, match=re.escape(message)) as caught:
        compiled(**arguments)
    assert isinstance(caught.value, rlx.RlxError)
    right = [result.tobytes() for result in compiled(x=X, w=W)]
    compiled.set_param("w", W)
    with pytest.raises(rlx.RlxError):
        compiled.set_param("w", X)
    with pytest.raises(kind):
        compiled(**{"w": 2 * W, **arguments} if "missing" not in name else {"w": 2 * W})
    assert [result.tobytes() for result in compiled(x=X)] == right


def test_errors_leave_the_cache_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDSL_RLX_CACHE_DIR", str(tmp_path))
    step, arrays = models.mlp_step(), models.mlp_arrays()
    right = [result.tobytes() for result in rlx.compile(step)(**arrays)]
    before = {path.name: path.read_bytes() for path in tmp_path.glob("*.bin")}
    for wrong, _ in WRONG.values():
        with pytest.raises(rlx.GraphError):
            wrong()
    assert {name: (tmp_path / name).read_bytes() for name in before} == before
    again = rlx.compile(step)
    assert again.from_cache and [result.tobytes() for result in again(**arrays)] == right


def test_a_graph_is_not_changed_by_a_pass_that_fails():
    graph = detached()
    before = str(graph)
    with pytest.raises(rlx.GraphError):
        rlx.grad_with_loss(graph, ["x", "w"])
    assert str(graph) == before
    assert len(rlx.compile(graph).outputs) == 3


@pytest.mark.parametrize("backend", ["llvm", "numba"])
def test_a_compiled_graph_can_be_taken_elsewhere(backend: str):
    graph = rlx.Graph("scaled")
    x, w = graph.input("x", (3,)), graph.param("w", (3,))
    graph.set_outputs(x * w)
    compiled = rlx.compile(graph, threads=1, backend=backend)
    compiled.set_param("w", [1.0, 2.0, 3.0])
    x = np.ones(3, np.float32)
    for other in (pickle.loads(pickle.dumps(compiled)), copy.deepcopy(compiled)):
        np.testing.assert_array_equal(other(x)[0], [1, 2, 3])
        other.set_param("w", [5.0, 5.0, 5.0])
        assert other.threads == 1 and other.name == "scaled" and other.origin.backend == backend
    np.testing.assert_array_equal(compiled(x)[0], [1, 2, 3])
    graph.set_outputs(x * 2 * w)
    with pytest.raises(rlx.RlxError, match="has changed since it was compiled"):
        pickle.dumps(compiled)


def test_a_derived_graph_can_be_pickled():
    again = pickle.loads(pickle.dumps(rlx.vmap(loss(), "x", 2)))
    assert str(again) == str(rlx.vmap(loss(), "x", 2))


@pytest.mark.parametrize("name", ["XDSL_RLX_NUM_THREADS", "XDSL_RLX_CACHE_BYTES"])
def test_thousands_of_digits_are_no_setting(name: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(name, "1" * 5000)
    with pytest.raises(ConfigurationError, match=name) as caught:
        thread_count() if name == "XDSL_RLX_NUM_THREADS" else limit()
    assert len(str(caught.value)) < 200


def test_a_call_that_fails_leaves_the_graph_as_it_was():
    g = loss()
    before = str(g)
    x = g.input("y", (4, 3))
    g.set_outputs(x)
    with_input = str(g)
    other = rlx.Graph("other")
    other.set_outputs(other.input("new", (2,)) + other.input("y", (2,)))
    for wrong in (
        lambda: g.fft_conv1d(x, np.ones((3, 0))),
        lambda: g.add(x, "a"),
        lambda: g.inline(other),
        lambda: g.unbroadcast(x, (5, 5, 5, 5)),
        lambda: g.attention(x, x, x, np.ones((2, 3)), num_heads=1),
        lambda: g.set_outputs([x, 3, None]),
    ):
        with pytest.raises(rlx.GraphError):
            wrong()
    assert str(g) == with_input != before


@pytest.mark.parametrize("backend", ["llvm", "numba"])
def test_a_result_has_as_many_axes_as_numpy_knows(backend: str):
    def of(rank: int) -> rlx.Graph:
        g = rlx.Graph("axes")
        g.set_outputs(g.reshape(g.input("x", (1,)), (1,) * rank) + 1.0)
        return g

    (found,) = rlx.compile(of(64), backend=backend)(np.ones(1, np.float32))
    assert found.shape == (1,) * 64
    with pytest.raises(ArgumentError, match=r"of graph 'axes' has 65 axes: expected at most 64, .*; reshape it"):
        rlx.compile(of(65), backend=backend)
