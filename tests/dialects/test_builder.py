"""MirBuilder and Value: operators, numbers as constants, indexing, and the helpers that rules use."""

import sys
from collections.abc import Callable
from inspect import Parameter, signature
from keyword import iskeyword
from types import CodeType

import numpy as np
import pytest
from numerics.sample import build_module
from oracle import evaluate
from xdsl.builder import Builder
from xdsl.dialects.builtin import TensorType, f16, f32, f64, i1, i32
from xdsl.ir import Block, Operation
from xdsl.rewriter import InsertPoint
from xdsl.utils.exceptions import VerifyException

import xdsl_rlx as rlx
from xdsl_rlx.dialects.errors import GraphError
from xdsl_rlx.dialects.hir import Hir
from xdsl_rlx.dialects.hir.hir_builder import HirBuilder
from xdsl_rlx.dialects.mir import Mir, branch, compositions, control, elementwise, index
from xdsl_rlx.dialects.mir.core import Activation
from xdsl_rlx.dialects.mir.mir_builder import ACTIVATIONS, MirBuilder, Value
from xdsl_rlx.dialects.mir.value import OP, BuilderCore
from xdsl_rlx.graph_methods.graph_builder import GraphBuilder

X = np.arange(24, dtype=np.float64).reshape(2, 3, 4) / 7 - 1.3


def builder(*types: TensorType) -> tuple[MirBuilder, list[Value]]:
    block = Block(arg_types=types)
    b = MirBuilder(Builder(InsertPoint.at_end(block)))
    return b, [b.value(arg) for arg in block.args]


def run(build, *arrays: np.ndarray) -> np.ndarray:
    types = [TensorType({"float64": f64, "float32": f32, "bool": i1}[a.dtype.name], a.shape) for a in arrays]
    (result,) = evaluate(build_module(build, types), *arrays)
    return result


def op_names(b: MirBuilder) -> list[str]:
    block = b.builder.insertion_point.block
    return [op.name.removeprefix("mir.") for op in block.ops]


OPERATORS = [
    lambda x, y: x + y,
    lambda x, y: x - y,
    lambda x, y: x * y,
    lambda x, y: x / y,
    lambda x, y: -x,
    lambda x, y: abs(x),
    lambda x, y: abs(x) ** y,
    lambda x, y: x < y,
    lambda x, y: x <= y,
    lambda x, y: x > y,
    lambda x, y: x >= y,
    lambda x, y: x == y,
    lambda x, y: x != y,
    lambda x, y: (x < y) & (x > 0),
    lambda x, y: 1 + x,
    lambda x, y: 1 - x,
    lambda x, y: 2 * x,
    lambda x, y: 2 / y,
    lambda x, y: 2.0**y,
    lambda x, y: x**2,
    lambda x, y: x > 1,
    lambda x, y: np.float32(3) * x,
    lambda x, y: np.full((4,), 2.0) * x,
    lambda x, y: x - np.arange(4.0),
    lambda x, y: x.T,
    lambda x, y: x.reshape(3, -1),
    lambda x, y: x.sum(),
]


@pytest.mark.parametrize("number", range(len(OPERATORS)))
def test_operators_mean_what_they_mean_in_numpy(number: int):
    apply = OPERATORS[number]
    y = np.linspace(0.5, 2.0, 4)
    np.testing.assert_allclose(run(lambda m, x, y: apply(x, y), X, y), apply(X, y), rtol=1e-15)


def test_matmul_operator():
    w = np.arange(12.0).reshape(4, 3)
    np.testing.assert_allclose(run(lambda m, x, w: x @ w, X, w), X @ w)
    np.testing.assert_allclose(run(lambda m, x: np.ones((5, 3)) @ x, X), np.ones((5, 3)) @ X)


INDICES = [
    0,
    -1,
    (slice(None), 1),
    (slice(1, 2),),
    (slice(None), slice(-2, None)),
    (..., 2),
    (0, ..., slice(1, 3)),
    (None, 0),
    (..., None),
    (slice(None), None, slice(0, 0)),
    (1, 2, 3),
    (slice(5, 9), 0),
    (slice(None, 100), slice(-100, 2)),
    ...,
    (slice(None, None, 2),),
    (0, slice(None, None, -1)),
    (..., slice(3, None, -2)),
    (slice(None), slice(2, 0, -5)),
    (np.array([1, 0, -1]),),
    (slice(None), [[0, -1], [2, 1]]),
    (None, slice(None), slice(1, 3), np.array([3], np.uint8)),
    (np.zeros((0,), np.int64),),
    (np.int64(1), slice(None), np.int8(-1)),
    ([0, 1], [2, -1]),
    (0, [2, 1]),
    ([1, 0], slice(None), [3, 1]),
    (1, slice(None), [3, 1]),
    ([[1], [0]], [2, 1, 0], [0, 0, 1]),
    ([0, 1], None, [2, 0]),
    (slice(None), [0, 2], [1, 1]),
    (..., [0, 2], 1),
    np.ix_([1, 0], [0, 2]),
    (slice(1, 2), slice(None), range(2)),
    [True, False],
    (slice(None), np.array([True, False, True]), 1),
    np.arange(24).reshape(2, 3, 4) % 5 == 0,
    [],
]


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_indexing_is_numpys(index):
    np.testing.assert_array_equal(run(lambda m, x: x[index], X), X[index])


@pytest.mark.parametrize(
    ("index", "error", "words"),
    [
        (slice(None, None, 0), TypeError, "slice step cannot be zero"),
        (slice("a"), TypeError, "slice indices must be integers"),
        (np.array([2]), IndexError, "index 2 is out of range for an axis of extent 2"),
        (np.array([0.5]), TypeError, "expected integers as indices, got an array of float64"),
        (np.array([True, False, True]), IndexError, "a mask of extent 3 cannot index an axis of extent 2"),
        (([0, 1], [0, 1, 2]), IndexError, r"shapes \[2\] and \[3\] do not broadcast"),
        (([0], slice(None), [4]), IndexError, "index 4 is out of range for an axis of extent 4"),
        ([[0], [1, 2]], TypeError, "cannot convert an index to an array"),
        ("a", TypeError, "got 'a'"),
        ({}, TypeError, "got an object of type dict"),
        (2, IndexError, "index 2 is out of range for an axis of extent 2"),
        ((0, 0, 0, 0), IndexError, r"too many indices: 4 for a tensor of shape \[2, 3, 4\]"),
        ((..., ...), IndexError, "one ellipsis"),
        (1.5, TypeError, "got 1.5"),
        (True, TypeError, "got True"),
    ],
)
def test_a_wrong_index_says_why(index, error: type[Exception], words: str):
    (x,) = builder(TensorType(f32, [2, 3, 4]))[1]
    with pytest.raises(error, match=words) as caught:
        _ = x[index]
    assert isinstance(caught.value, GraphError)


def test_an_index_that_the_graph_computes_counts_from_the_end_and_is_clamped():
    at = np.array([0, -1, 2, -4, 9])
    found = run(lambda m, x, at: x[:, m.cast(at, "i32")], X, at.astype(float))
    np.testing.assert_array_equal(found, X[:, [0, 2, 2, 0, 2]])
    (x,) = builder(TensorType(f32, [2, 3, 4]))[1]
    with pytest.raises(GraphError, match="expected integers as indices, got an array of f32"):
        _ = x[x]


def test_functions_of_numpy_that_are_ops_build_them():
    np.testing.assert_allclose(run(lambda m, x: np.exp(x) + np.maximum(2.0, np.tanh(x)), X), np.exp(X) + 2)
    (x,) = builder(TensorType(f32, [2]))[1]
    for wrong in (np.asarray, float, "{:.3f}".format):
        with pytest.raises(GraphError, match="it has no concrete value yet"):
            wrong(x)
    with pytest.raises(GraphError, match=r"np\.spacing does not support traced values: no op computes it"):
        np.spacing(rlx.Graph("f").input("x", (2,)))
    for numpy in (np.exp, np.sum, lambda x: x.sum()):
        with pytest.raises(GraphError, match=r"the builder of a rule has ops, and no functions of NumPy's"):
            numpy(x)


def test_powers_by_squarings():
    for exponent in (0, 1, 2, 7):
        np.testing.assert_allclose(run(lambda m, x, e=exponent: m.power_by_squarings(x, e), X), X**exponent, rtol=1e-6)
    b, (x,) = builder(TensorType(f32, [2]))
    with pytest.raises(GraphError, match="exponent of at least 0, got -1"):
        compositions.power_by_squarings(b, x, -1)


def test_iteration_gives_the_rows():
    (x,) = builder(TensorType(f32, [2, 3]))[1]
    first, second = x
    assert (first.shape, second.shape, len(x)) == ((3,), (3,), 2)


@pytest.mark.parametrize("type_", [f32, f64, f16, i32])
def test_a_number_takes_the_element_type_of_the_other_operand(type_):
    b, (x,) = builder(TensorType(type_, [3]))
    for result in (x + 1, 1 - x, b.max(x, 0), b.where(True, x, 0), b.where(x > 0, 0, x)):
        assert result.type == TensorType(type_, [3])
    constants = [op for op in b.builder.insertion_point.block.ops if isinstance(op, elementwise.ConstantOp)]
    assert all(op.result.type in (TensorType(type_, []), TensorType(i1, [])) for op in constants)


def test_a_fraction_is_no_integer():
    b, (x,) = builder(TensorType(i32, [3]))
    # the operator has NumPy's rule, the op of the IR none
    assert (x + 1.5).type == TensorType(f64, [3])
    with pytest.raises(GraphError, match=r"1\.5 is not an integer; cast the i32 operand"):
        b.add(x, 1.5)
    with pytest.raises(GraphError, match="out of range for i32"):
        _ = x + 2**40


def test_no_op_is_built_for_what_changes_nothing():
    b, (x,) = builder(TensorType(f32, [2, 3]))
    for same in (
        b.reshape(x, (2, -1)),
        b.transpose(x, (0, 1)),
        b.expand(x, (2, 3)),
        b.cast(x, "float32"),
        b.unbroadcast(x, (2, 3)),
        b.activation(x, None),
        x[:],
    ):
        assert same.ssa is x.ssa
    assert op_names(b) == []


def test_values_hash_by_identity_and_have_no_truth():
    b, (x,) = builder(TensorType(f32, [2]))
    assert {x: 1}[b.value(x.ssa)] == 1 if hash(x) != hash(x.ssa) else hash(b.value(x.ssa)) == hash(x)
    with pytest.raises(GraphError, match="use where"):
        bool(x == x)
    assert repr(x) == "Value(tensor<2xf32>)"
    assert (x.dtype, x.shape, x.rank) == ("f32", (2,), 1)


def test_shapes_that_do_not_fit_are_verify_exceptions():
    b, (x,) = builder(TensorType(f32, [2, 3]))
    with pytest.raises(VerifyException, match="do not broadcast"):
        b.add(x, b.reshape(x, (3, 2)))
    with pytest.raises(GraphError, match="-1 cannot be inferred"):
        b.reshape(x, (4, -1))
    with pytest.raises(GraphError, match="expected a value, a number or an array, got str"):
        b.add(x, "1")  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ((2, 3), []),
        ((3,), ["reduce_sum"]),
        ((1, 3), ["reduce_sum", "reshape"]),
        ((2, 1), ["reduce_sum", "reshape"]),
        ((), ["reduce_sum"]),
        ((1, 1), ["reduce_sum", "reshape"]),
    ],
)
def test_unbroadcast_is_one_sum(shape: tuple[int, ...], expected: list[str]):
    b, (g,) = builder(TensorType(f32, [2, 3]))
    assert b.unbroadcast(g, shape).shape == shape
    assert op_names(b) == expected


@pytest.mark.parametrize("shape", [(), (4,), (1, 4), (3, 1), (1, 1, 1), (2, 3, 4), (2, 1, 1)])
def test_unbroadcast_is_the_transpose_of_expand(shape: tuple[int, ...]):
    v = np.arange(np.prod(shape, dtype=int), dtype=float).reshape(shape) - 1
    expanded = run(lambda m, v: m.expand(v, X.shape), v)
    summed = run(lambda m, g: m.unbroadcast(g, shape), X)
    assert np.vdot(expanded, X) == pytest.approx(np.vdot(v, summed))


@pytest.mark.parametrize("keep_dim", [False, True])
@pytest.mark.parametrize("axes", [(0,), (1, 2), (-1,), (0, 1, 2), ()])
def test_expand_to_is_the_transpose_of_reduce_sum(axes: tuple[int, ...], keep_dim: bool):
    v = X.sum(axis=axes, keepdims=keep_dim) + 1
    back = run(lambda m, v: m.expand_to(v, X.shape, axes, keep_dim), v)
    assert np.vdot(back, X) == pytest.approx(np.vdot(v, X.sum(axis=axes, keepdims=keep_dim)))


def test_full_is_an_expanded_scalar():
    b, (x,) = builder(TensorType(f64, [2, 3]))
    zeros = b.zeros_like(x)
    assert zeros.type == x.type and op_names(b) == ["constant", "expand"]
    assert b.ones_like(x).type == x.type and b.full((2,), 3, "i64").dtype == "i64"


STRUCTURE = {control.YieldOp, control.VjpOp, control.FusionOp, branch.IfOp, branch.WhileOp, index.SortOp}
"""Ops that no method is named after: two are keywords of Python, and passes make the others."""

METHOD_OF = {
    f"{name}_" if iskeyword(name) else name: op
    for op in Mir.operations
    if op not in STRUCTURE
    for name in [op.name.removeprefix("mir.")]
}
"""The op of each method that is named after one."""


def test_every_op_has_a_method_of_its_name():
    for name, op in METHOD_OF.items():
        file = op.__module__.removeprefix("xdsl_rlx.").replace(".", "/") + ".py"
        mixins = [x.__name__ for x in vars(sys.modules[op.__module__]).values() if _is_mixin(x, op.__module__)]
        place = f"{mixins[0]} in {file}" if mixins else "dialects/mir/mir_builder.py"
        assert hasattr(MirBuilder, name), (
            f"MirBuilder has no method {name}: add one to {place}; a mixin is among the bases of MirBuilder"
        )


UNDER_ANOTHER_NAME: dict[str, tuple[str, Callable[..., object]]] = {
    "activation": ("tanh", lambda b, x: b.activation(x, "tanh")),
    "cond": ("if", lambda b, x: b.cond(x[0, 0] > 0, lambda y: y, lambda y: y, x)),
    "expand_dims": ("reshape", lambda b, x: b.expand_dims(x, 1)),
    "fake_quantize_with_scale": ("fake_quantize", lambda b, x: b.fake_quantize_with_scale(x, None, 8)),
    "is_nan": ("ne", lambda b, x: b.is_nan(x)),
    "moveaxis": ("transpose", lambda b, x: b.moveaxis(x, 0, 1)),
    "not_": ("xor", lambda b, x: b.not_(x < 0)),
    "ravel": ("reshape", lambda b, x: b.ravel(x)),
    "squeeze": ("reshape", lambda b, x: b.squeeze(x[:1], 0)),
    "swapaxes": ("transpose", lambda b, x: b.swapaxes(x, 0, 1)),
    "while_loop": ("while", lambda b, x: b.while_loop(lambda y: y[0, 0] > 0, lambda y: y, x, max_iterations=2)),
}
"""Methods that build one op whose name they have not: the op, and a call that builds it last."""

OF_NO_OP = {
    **dict.fromkeys(("emit", "op"), "inserts any op"),
    **dict.fromkeys(("value", "operand", "operands", "require_fit"), "what methods do to their operands"),
    **dict.fromkeys(("scalar", "full", "zeros_like", "ones_like"), "a constant, which may be expanded"),
    "accumulated": "a cast to the element type of sums",
    "unbroadcast": "the transpose of mir.expand",
    "expand_to": "the transpose of mir.reduce_sum",
    "tap": "names a value",
    "depth": "a number: functions that are traced around that of a graph",
}
"""The other methods, and why derivative rules and passes have them."""


def _names_in(code: CodeType) -> set[str]:
    """The names that a function and those in it mention."""
    inner = [_names_in(one) for one in code.co_consts if isinstance(one, CodeType)]
    return {*code.co_names, *(name for names in inner for name in names)}


def test_every_method_builds_the_op_of_its_name():
    """NumPy's functions and others of several ops are in `compositions.py` and `graph_methods`."""
    public = {name: getattr(MirBuilder, name) for name in dir(MirBuilder) if not name.startswith("_")}
    assert {*UNDER_ANOTHER_NAME, *OF_NO_OP} == public.keys() - METHOD_OF.keys()
    for name, op in METHOD_OF.items():
        made = vars(public[name]).get(OP)
        mentioned = _names_in(public[name].__code__)
        assert made is op or op.__name__ in mentioned or name == "custom", f"MirBuilder.{name} does not build {op.name}"


@pytest.mark.parametrize("name", UNDER_ANOTHER_NAME)
def test_a_method_of_another_name_builds_one_op(name: str):
    op, call = UNDER_ANOTHER_NAME[name]
    b, (x,) = builder(TensorType(f32, [2, 3]))
    call(b, x)
    assert op_names(b)[-1] == op


def test_a_graph_has_methods_that_build_several_ops_and_a_rule_has_none():
    several = {name for name in vars(GraphBuilder) if not name.startswith("_")}
    assert {"kron", "einsum", "pad", "sort", "var", "stft"} <= several
    assert not several & {*dir(MirBuilder)}
    assert all(hasattr(rlx.Graph, name) and hasattr(rlx, name) for name in several)


def test_every_block_has_a_method_of_its_name():
    for op in Hir.operations:
        name = op.name.removeprefix("hir.")
        method = vars(HirBuilder).get(name)
        assert method is not None, f"HirBuilder has no method {name}: add one to dialects/hir/hir_builder.py"
        assert (method.__doc__ or "").startswith(f"`{op.name}`"), f"HirBuilder.{name} is not that of {op.name}"


def test_a_block_takes_the_arguments_of_the_method_whose_place_it_takes():
    shared = [name for name in vars(HirBuilder) if not name.startswith("_") and hasattr(MirBuilder, name)]
    assert {"attention", "rope", "rms_norm", "dequant_matmul", "gated_delta_net"} <= set(shared)
    for name in shared:
        ours, theirs = (signature(getattr(graph, name)).parameters for graph in (HirBuilder, MirBuilder))
        in_order = [key for key, one in theirs.items() if one.kind is Parameter.POSITIONAL_OR_KEYWORD]
        assert list(ours)[: len(in_order)] == in_order, name
        assert {key: one.default for key, one in theirs.items()}.items() <= {
            key: one.default for key, one in ours.items()
        }.items(), name


def _is_mixin(value: object, module: str) -> bool:
    return isinstance(value, type) and issubclass(value, BuilderCore) and value.__module__ == module


def test_every_activation_has_an_op():
    assert list(ACTIVATIONS) == list(Activation)
    b, (x,) = builder(TensorType(f32, [2]))
    with pytest.raises(GraphError, match="activation 'swish' is not one of gelu"):
        b.activation(x, "swish")


def test_the_region_ops_hold_ops():
    b, (x,) = builder(TensorType(f32, [2]))
    y = b.tanh(x)
    owner = y.ssa.owner
    assert isinstance(owner, Operation)
    vjp = control.VjpOp(owner, [x.ssa], [y.ssa], [x.ssa], [0])
    vjp.verify()
    assert vjp.op.name == "mir.tanh" and vjp.op is not owner
    assert vjp.result_cotangents == (x.ssa,) and vjp.wrt_indices == (0,)


def test_integers_of_numpy_are_integers():
    two, three = np.int64(2), np.int32(3)
    g = rlx.Graph("g")
    x = g.input("x", np.array([1, 1, 4, 6]))
    w = g.input("w", (1, 1, two, three))
    y = g.conv(x, w, stride=two, padding=np.array([0, 0]))
    assert y.shape == (1, 1, 2, 2)
    assert y.reshape(two, -1).shape == g.reshape(y, np.array([2, 2])).shape == (2, 2)
    assert g.expand(y, (three, *y.shape)).shape == (3, 1, 1, 2, 2)
    assert g.narrow(y, three, np.int64(0), np.int64(1)).shape == (1, 1, 2, 1)
    assert g.transpose(y, np.array([3, 2, 1, 0])).shape == (2, 2, 1, 1)
    assert g.reshape(y, 4).shape == (4,)
    assert g.input("v", 4).shape == (4,)
