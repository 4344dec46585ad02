"""Functions and other arguments that do not fit: errors of ours that name the argument, not Python's or optree's."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xdsl_rlx as rlx
from xdsl_rlx import solvers
from xdsl_rlx.dialects.errors import GraphTypeError

X = np.arange(3, dtype=np.float32)
TIMES = np.linspace(0, 1, 3).astype(np.float32)


def none() -> int:
    """A function of no parameters."""
    return 1


def three(a: Any, b: Any, c: Any) -> Any:
    """A function of three."""
    return a


def same(x: Any) -> Any:
    """The identity."""
    return x


def with_rule(fwd: Callable[..., Any], bwd: Callable[..., Any]) -> Any:
    """The gradient of a function with this rule."""
    total = rlx.custom_vjp(lambda x: x.sum())
    total.defvjp(fwd, bwd)
    return rlx.grad(lambda x: total(x))(X)


def with_jvp(*rules: Callable[..., Any], each: bool = False) -> Any:
    """The gradient of a function with a rule of forward mode, or with one for each argument."""
    itself = rlx.custom_jvp(same)
    (itself.defjvps if each else itself.defjvp)(*rules)
    return rlx.grad(lambda x: itself(x).sum())(X)


CALLS: dict[str, Callable[[Callable[..., Any]], Any]] = {
    "scan: body(carry, x)": lambda f: rlx.scan(f, X, np.ones(4)),
    "cond: then(*operands)": lambda f: rlx.cond(X[0] < 1, f, same, X),
    "cond: otherwise(*operands)": lambda f: rlx.cond(X[0] < 1, same, f, X),
    "switch: branches[1](*operands)": lambda f: rlx.switch(1, [same, f], X),
    "map: f(x)": lambda f: rlx.map(f, X),
    "associative_scan: fn(a, b)": lambda f: rlx.associative_scan(f, X),
    "while_loop: test(carry)": lambda f: rlx.while_loop(f, same, X),
    "while_loop: body(carry)": lambda f: rlx.while_loop(lambda x: x.sum() < 1, f, X),
    "fori_loop: body(i, carry)": lambda f: rlx.fori_loop(0, 2, f, X),
    "remat": lambda f: rlx.remat(f)(X),
    "odeint: func(y, t, *args)": lambda f: solvers.odeint(f, X, TIMES),
    "root: f(x, *args)": lambda f: solvers.root(f, X),
    "fixed_point: f(x, *args)": lambda f: solvers.fixed_point(f, X),
    "bisect: f(x, *args)": lambda f: solvers.bisect(f, 0.0, 1.0),
    "lbfgs: fun(x, *args)": lambda f: solvers.lbfgs(f, X),
    "levenberg_marquardt: residual(x, *args)": lambda f: solvers.levenberg_marquardt(f, X),
    "cg: A(x)": lambda f: solvers.cg(f, X),
    "gmres: M(x)": lambda f: solvers.gmres(same, X, M=f),
    "custom_root: f(x)": lambda f: solvers.custom_root(f, X, lambda f, x: x, lambda g, y: y),
    "custom_root: solve(f, initial_guess)": lambda f: solvers.custom_root(same, X, f, lambda g, y: y),
    "custom_linear_solve: matvec(x)": lambda f: solvers.custom_linear_solve(f, X, lambda f, b: b),
    "custom_linear_solve: solve(matvec, b)": lambda f: solvers.custom_linear_solve(same, X, f),
    "<lambda>: fwd(*args)": lambda f: with_rule(f, lambda x, g: (g,)),
    "<lambda>: bwd(*nondiff, residuals, cotangents)": lambda f: with_rule(lambda x: (x.sum(), x), f),
    "same: jvp(*nondiff, primals, tangents)": lambda f: with_jvp(f),
    "same: jvps[0](tangent, result, *primals)": lambda f: with_jvp(f, each=True),
}


def in_graph(build: Callable[[rlx.Graph, rlx.Value], Any]) -> Any:
    """What a method of a graph builds of an input."""
    g = rlx.Graph("g")
    return build(g, g.input("x", (3,)))


def with_rule_of_op(rule: Callable[..., Any]) -> Any:
    """The gradient of a custom op with this rule."""

    @rlx.custom_op("given.twice", vjp=rule, replace=True)
    def twice(b: rlx.GraphBuilder, x: rlx.Value) -> rlx.Value:
        return x * 2.0

    return rlx.grad(lambda x: twice(x).sum())(X)


METHODS: dict[str, Callable[[Callable[..., Any]], Any]] = {
    "scan: body(carry, x)": lambda f: in_graph(lambda g, x: g.scan(f, x, x)),
    "while_loop: cond(carry)": lambda f: in_graph(lambda g, x: g.while_loop(f, same, x)),
    "while_loop: body(carry)": lambda f: in_graph(lambda g, x: g.while_loop(lambda x: x.sum() < 1, f, x)),
    "cond: the first branch": lambda f: in_graph(lambda g, x: g.cond(True, f, same, x)),
    "switch: branch 1": lambda f: in_graph(lambda g, x: g.switch(0, [same, f], x)),
    "remat: the body": lambda f: in_graph(lambda g, x: g.remat(f, x)),
    "elementwise_region: fn": lambda f: in_graph(lambda g, x: g.elementwise_region(f, x)),
    'op "given.twice": vjp': with_rule_of_op,
}


@pytest.mark.parametrize("call", METHODS)
def test_a_function_that_a_method_of_a_graph_does_not_call_so_is_named(call: str):
    # a rule is called by a pass, which makes GraphError of all that it raises
    kind = rlx.GraphError if call.startswith("op ") else GraphTypeError
    for function in (none, three):
        with pytest.raises(kind) as caught:
            METHODS[call](function)
        assert str(caught.value).startswith(f"{call}: {function.__name__}() ")


@pytest.mark.parametrize("call", CALLS)
def test_a_function_that_does_not_take_its_arguments_is_named(call: str):
    three_fit = call.startswith("same: jvps")
    for function in (none,) if three_fit else (none, three):
        with pytest.raises(GraphTypeError) as caught:
            CALLS[call](function)
        assert str(caught.value).startswith(f"{call}: {function.__name__}() ")


@pytest.mark.parametrize("call", ["scan: body(carry, x)", "fori_loop: body(i, carry)", "associative_scan: fn(a, b)"])
def test_a_type_error_inside_of_a_function_stays(call: str):
    def broken(a: Any, b: Any) -> Any:
        return len(3)  # pyright: ignore

    with pytest.raises(TypeError, match="has no len") as caught:
        CALLS[call](broken)
    assert not isinstance(caught.value, rlx.GraphError)


def test_functions_are_named_in_eager_mode():
    with rlx.eager(), pytest.raises(GraphTypeError, match=r"^scan: body\(carry, x\): none\(\) takes 0"):
        rlx.scan(none, X, X)  # pyright: ignore


@pytest.mark.parametrize("axes", [(0, 0, 0), None, (0, None), "x", 1.5, object(), (0, "x"), {"a": 0}, (0, (0, 0))])
def test_axes_of_results_are_integers_in_a_prefix_of_their_tree(axes: Any):
    with pytest.raises(rlx.GraphError, match=r"^out_axes: expected "):
        rlx.vmap(lambda x: (x, 2 * x), out_axes=axes)(np.ones((3, 2)))


def test_axes_of_results_may_be_a_prefix():
    found = rlx.vmap(lambda x: ({"a": x, "b": x}, x), out_axes=(1, np.int64(0)))(np.ones((3, 2)))
    assert (found[0]["a"].shape, found[0]["b"].shape, found[1].shape) == ((2, 3), (2, 3), (3, 2))


def test_a_tree_is_made_of_as_many_leaves_as_it_has():
    spec = rlx.tree.flatten((1, {"a": 2}))[1]
    for leaves, found in (([1], "1"), ([1, 2, 3], "3"), (iter([1]), "fewer"), (iter([1, 2, 3]), "more")):
        with pytest.raises(rlx.GraphError, match=f"^unflatten: leaves: expected 2 for the tree .*, got {found}$"):
            rlx.tree.unflatten(spec, leaves)  # pyright: ignore
    with pytest.raises(GraphTypeError, match=r"^unflatten: leaves: expected a sequence of 2, got 5$"):
        rlx.tree.unflatten(spec, 5)  # pyright: ignore
    with pytest.raises(GraphTypeError, match="expected the spec of a tree"):
        rlx.tree.unflatten(3, [1])  # pyright: ignore


def test_arguments_of_value_and_grad_are_positions_or_names():
    for wrong in (1.5, None, (0, 1.5), True):
        with pytest.raises(GraphTypeError, match=r"^argnums: expected the position or the name of an argument, got "):
            rlx.value_and_grad(lambda x: x.sum(), argnums=wrong)  # pyright: ignore
    for one in (0, np.int64(0), "x"):
        np.testing.assert_array_equal(rlx.value_and_grad(lambda x: x.sum(), argnums=one)(X)[1], np.ones(3))


@pytest.mark.parametrize("name", ["normal", "uniform", "truncated_normal", "orthogonal"])
def test_one_integer_is_a_shape_of_initial_weights(name: str):
    draw, key = getattr(rlx.init, name), rlx.key(0)
    np.testing.assert_array_equal(draw(key, 3), draw(key, (3,)))
    assert draw(key, np.int64(3)).shape == (3,)


@pytest.mark.parametrize("name", sorted({*rlx.init.__all__} - {"fans", "key", "params"}))
def test_what_is_no_shape_of_initial_weights_is_named(name: str):
    for wrong in ("ab", 2.5, None, (2, 1.5)):
        with pytest.raises(GraphTypeError, match=r"^shape: expected a sequence of integers, got "):
            getattr(rlx.init, name)(rlx.key(0), wrong)
    if name.startswith(("glorot", "he", "lecun")):
        with pytest.raises(rlx.GraphError, match="two or more dimensions"):
            getattr(rlx.init, name)(rlx.key(0), 3)


def test_a_sequence_in_the_signature_of_an_op_of_several_is_checked():
    with pytest.raises(GraphTypeError, match=r"^stack: arrays: expected a sequence of values, got -1$"):
        rlx.stack(-1)  # pyright: ignore
    with pytest.raises(GraphTypeError, match=r"^stack: arrays: expected a sequence of values, got -1$"):
        rlx.Graph("g").stack(-1)  # pyright: ignore
    assert rlx.stack((x for x in (X, X)), axis=-1).shape == (3, 2)  # pyright: ignore


def test_what_is_no_path_is_named():
    g = rlx.Graph("g")
    g.set_outputs(g.input("x", (3,)) * 2.0)
    with pytest.raises(GraphTypeError, match=r"^report: path: expected a string or an os.PathLike, got 5"):
        rlx.report(g, 5)  # pyright: ignore
    with pytest.raises(GraphTypeError, match=r"^load_export: path: expected a string or an os.PathLike, got 5"):
        rlx.load_export(5)  # pyright: ignore


@pytest.mark.parametrize("values", [5, 0, "ab", [1]])
def test_weights_are_made_of_a_dict(values: Any):
    with pytest.raises(rlx.ArgumentError, match=r"^Weights: values: expected a dict from the names of params"):
        rlx.Weights(values)
