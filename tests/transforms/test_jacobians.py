"""`jacfwd`, `jacrev` and `hessian` against JAX in f64, and as graphs that other transformations take."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from oracle import run

import xdsl_rlx as rlx

Array = np.ndarray[Any, Any]
X, W = np.random.default_rng(1).standard_normal((2, 3)), np.random.default_rng(2).standard_normal((3, 4))


def layer() -> rlx.Graph:
    """Results of three shapes, of which one does not depend on the first argument."""
    g = rlx.Graph("layer")
    x, w = g.input("x", (2, 3), "f64"), g.param("w", (3, 4), "f64")
    y = g.tanh(x @ w)
    g.set_outputs([y, g.reduce_sum(y * y, 1), g.reduce_sum(g.sin(w))])
    return g


def layer_in_jax(x: Any, w: Any) -> Any:
    y = jnp.tanh(x @ w)
    return y, jnp.sum(y * y, 1), jnp.sum(jnp.sin(w))


def recurrence() -> rlx.Graph:
    g = rlx.Graph("recurrence")
    x, w = g.input("x", (2, 3), "f64"), g.param("w", (3, 4), "f64")
    last, ys = g.scan(lambda c, e: (g.sin(c) * e, c * c), x[0], w[:, :3], checkpoints=2)
    g.set_outputs([last, g.reduce_sum(ys, 0) * x])
    return g


def recurrence_in_jax(x: Any, w: Any) -> Any:
    last, ys = jax.lax.scan(lambda c, e: (jnp.sin(c) * e, c * c), x[0], w[:, :3])
    return last, jnp.sum(ys, 0) * x


TRANSFORMATIONS = {rlx.jacfwd: jax.jacfwd, rlx.jacrev: jax.jacrev, rlx.hessian: jax.hessian}
PROGRAMS = {"layer": (layer, layer_in_jax), "recurrence": (recurrence, recurrence_in_jax)}
of_all = pytest.mark.parametrize("ours", TRANSFORMATIONS, ids=lambda one: one.__name__)


def assert_close(found: Any, expected: Any) -> None:
    leaves = jax.tree.leaves(expected)
    assert len(found) == len(leaves)
    for one, other in zip(found, leaves, strict=True):
        assert one.shape == other.shape
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-12)


@pytest.mark.sampled
@of_all
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("wrt", ["x", "w", ["w"], ["x", "w"], ["w", "x"]], ids=str)
def test_jacobians_are_those_of_jax_in_its_order(ours: Any, program: str, wrt: str | list[str]) -> None:
    graph, function = PROGRAMS[program]
    numbers = tuple("xw".index(name) for name in wrt)
    expected = jax.jit(TRANSFORMATIONS[ours](function, numbers if isinstance(wrt, list) else numbers[0]))(X, W)
    assert_close(run(ours(graph(), wrt), x=X, w=W), expected)


@of_all
def test_jacobians_compose(ours: Any) -> None:
    """Batched; differentiated, in both modes; and inlined."""
    made, theirs = ours(layer(), "w"), TRANSFORMATIONS[ours](layer_in_jax, 1)
    batch = np.stack([X, 2 * X, X - 1])
    assert_close(run(rlx.vmap(made, "x", 3), x=batch, w=W), jax.jit(jax.vmap(theirs, (0, None)))(batch, W))

    g = rlx.Graph("contracted")
    first, *_ = g.inline(made)
    g.set_outputs([g.reduce_sum(first * first)])

    def contracted(x: Any, w: Any) -> Any:
        return jnp.sum(theirs(x, w)[0] ** 2)

    assert_close(run(rlx.grad(g, ["x", "w"]), x=X, w=W), jax.jit(jax.grad(contracted, (0, 1)))(X, W))
    _, tangent = jax.jit(lambda: jax.jvp(contracted, (X, W), (X, 0 * W)))()
    assert_close(run(rlx.jvp(g, "x"), x=X, w=W, tangent_x=X)[1:], tangent)


def test_third_derivatives_by_repeated_jacobians() -> None:
    g = rlx.Graph("cube")
    x = g.input("x", (3,), "f64")
    g.set_outputs([g.reduce_sum(x * x * x) * x[0]])
    expected = jax.jit(jax.jacrev(jax.hessian(lambda x: jnp.sum(x**3) * x[0])))(X[0])
    assert_close(run(rlx.jacrev(rlx.hessian(g, "x"), "x"), x=X[0]), expected)
    assert_close(run(rlx.jacfwd(rlx.jacrev(rlx.jacfwd(g, "x"), "x"), "x"), x=X[0]), expected)


@pytest.mark.parametrize("ours", [rlx.jacfwd, rlx.jacrev], ids=lambda one: one.__name__)
def test_results_that_nothing_flows_to_have_zeros(ours: Any) -> None:
    """An argument handed on, twice; integers; an empty result; a result that does not depend on the argument."""
    g = rlx.Graph("trivial")
    x, n = g.input("x", (2,), "f64"), g.input("n", (3,), "i32")
    g.set_outputs([x, x, n, x[:0], g.cast(n, "f64")])
    found = ours(g, "x")(x=X[0, :2], n=np.arange(3, dtype=np.int32))
    expected = [np.eye(2), np.eye(2), np.zeros((3, 2), np.int32), np.zeros((0, 2)), np.zeros((3, 2))]
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


def test_jacobians_are_compiled_once_and_at_the_first_call() -> None:
    for ours in (rlx.jacrev, rlx.jacfwd):
        made = ours(layer(), "x")
        assert isinstance(made, rlx.GraphModule) and made.stage == "mir"
        assert_close(made(X, W), jax.jacrev(layer_in_jax)(X, W))
        assert made.compiled is made.compiled and made.compiled.params == ("w",)


WRONG: dict[str, tuple[Callable[[rlx.Graph], object], str]] = {
    "unknown": (lambda g: rlx.jacrev(g, "y"), 'mir-jacrev: @wrong has no argument "y"'),
    "integer": (lambda g: rlx.jacrev(g, "n"), 'mir-jacrev: "n" of type tensor<2xi32> is not floating-point'),
    "complex": (lambda g: rlx.jacrev(g, "x"), "mir-jacrev: a result is complex, of type tensor<2xcomplex<f64>>"),
    "nothing": (lambda g: rlx.jacrev(g, []), "mir-jacrev: name the arguments of @wrong to differentiate by"),
    "nothing forward": (lambda g: rlx.jacfwd(g, []), "mir-jacfwd: name the arguments of @wrong to differentiate by"),
    "twice": (lambda g: rlx.jacrev(g, ["x", "x"]), 'mir-jacrev: "x" is named twice'),
    "lir": (lambda g: rlx.hessian(rlx.lower(g), "x"), "hessian takes a graph at stage hir or mir"),
    "compiled": (lambda g: rlx.jacfwd(rlx.compile(rlx.jvp(g, "x")), ["x", "n"]), "expected one argument in wrt, got 2"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_call_is_a_graph_error(name: str) -> None:
    wrong, message = WRONG[name]
    g = rlx.Graph("wrong")
    x, _ = g.input("x", (2,), "f64"), g.input("n", (2,), "i32")
    g.set_outputs([x, g.complex(x, x)] if name == "complex" else [x])
    with pytest.raises(rlx.GraphError, match=message):
        wrong(g)
