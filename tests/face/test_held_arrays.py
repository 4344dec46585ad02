"""Large arrays that functions capture: params of what they are compiled to, each once, and no text in the IR."""

# What a traced function is called with is of any type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false

from collections.abc import Callable
from typing import Any, cast

import jax.numpy as jnp
import numpy as np
import pytest

import xdsl_rlx as rlx
from xdsl_rlx.held_arrays import LARGEST_CONSTANT, LARGEST_MASK
from xdsl_rlx.tree import flatten

N = 100
BIG = np.random.default_rng(0).standard_normal((N, N))
SMALL = BIG[:8, :8].copy()
X = np.linspace(-1, 1, N)
MASK = BIG > 0


def loss(x: Any) -> Any:
    return np.sum(np.tanh(x @ BIG) * x)


def in_scan(x: Any) -> Any:
    return rlx.scan(lambda c, e: (np.tanh(c @ BIG) + e, c.sum()), x, np.ones((3, 1)) * X)


USES: dict[str, Callable[[Any], Any]] = {
    "operand": lambda x: x @ BIG,
    "operand of an array": lambda x: BIG @ x,
    "twice": lambda x: x @ BIG + BIG @ x,
    "result": lambda x: (x, BIG),
    "function of a graph": lambda x: cast(Any, rlx).add(x, BIG),
    "list": lambda x: np.concatenate([x[None], BIG]),
    "scan": in_scan,
    "loop": lambda x: rlx.fori_loop(0, 3, lambda i, c: c @ BIG + i, x),
    "carry": lambda x: rlx.fori_loop(0, 2, lambda _, c: c * x, BIG),
    "while": lambda x: rlx.while_loop(lambda c: c[1] < 2, lambda c: (c[0] @ BIG, c[1] + 1), (x, 0))[0],
    "branch": lambda x: rlx.cond(x.sum() > 0, lambda: x @ BIG, lambda: BIG @ x),
    "gradient": rlx.grad(loss),
    "value and gradient": rlx.value_and_grad(loss),
    "second derivative": rlx.grad(lambda x: np.sum(rlx.grad(loss)(x) ** 2)),
    "tangent": lambda x: rlx.jvp(loss)((x,), (x,)),
    "batch": lambda x: rlx.vmap(lambda a: BIG @ (a * X))(x),
    "gradients of a batch": lambda x: rlx.vmap(rlx.grad(lambda a: loss(a * X)))(x),
    "compiled in compiled": lambda x: rlx.compile(lambda y: y @ BIG)(x) + rlx.compile(lambda y: BIG @ y)(x),
    "gradient in a scan": lambda x: rlx.scan(lambda c, _: (c - 0.1 * rlx.grad(loss)(c), None), x, length=2)[0],
}


@pytest.mark.parametrize("name", USES)
def test_a_captured_array_is_one_param(name: str):
    compiled = rlx.compile(USES[name])
    found, _ = flatten(compiled(X))
    graph = compiled.trace(X)
    params = [one for one in graph.interface.arguments if one.kind == "param"]
    assert len(params) == 1 and len(str(graph)) < 30_000
    # what rlx.trace gives has the numbers in it, and says the same
    whole = rlx.trace(USES[name], X)
    assert all(one.kind == "input" for one in whole.interface.arguments) and len(str(whole)) > BIG.nbytes
    for ours, theirs in zip(found, rlx.compile(whole)(X), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-10)


def params_of(function: Callable[[Any], Any], x: Any = X) -> list[str]:
    graph = rlx.compile(function).trace(x)
    return [str(one.value.type) for one in graph.interface.arguments if one.kind == "param"]


def test_an_array_of_another_library_is_one_param_too():
    wide = np.outer(X, np.linspace(1, 2, 2 * N))
    w = jnp.asarray(wide.astype(np.float32))
    assert params_of(lambda x: x @ w + x @ (w * 1)) == ["tensor<100x200xf64>"] * 2
    assert params_of(lambda x: x @ w + x @ w) == ["tensor<100x200xf64>"]
    x = X.astype(np.float32)
    # an array gives way to a value of its kind, and is converted where it is captured
    assert params_of(lambda x: x @ wide, x) == ["tensor<100x200xf32>"]
    np.testing.assert_allclose(rlx.compile(lambda x: x @ wide)(x), x @ wide.astype(np.float32), rtol=1e-4, atol=1e-5)
    with pytest.raises(rlx.GraphError, match="is out of range for f32"):
        rlx.compile(lambda x: x @ (wide * 1e300))(x)


def test_what_is_small_or_looked_into_is_a_constant():
    side = LARGEST_CONSTANT // 8
    assert params_of(lambda x: x + np.arange(side, dtype=np.float64)[:, None]) == []
    assert len(params_of(lambda x: x + np.arange(side + 1, dtype=np.float64)[:, None])) == 1
    assert params_of(lambda x: x[:8] @ SMALL) == []
    assert params_of(lambda x: x + np.full((N, N), 2.5)) == []
    assert params_of(lambda x: np.where(np.tri(2 * N, N, dtype=bool), x, 0)) == []
    assert MASK.nbytes < LARGEST_MASK


def test_a_captured_array_is_as_it_was_when_the_function_was_compiled():
    w = BIG.copy()
    compiled = rlx.compile(lambda x: x @ w)
    before = compiled(X)
    w *= 2
    np.testing.assert_array_equal(compiled(X), before)
    # another array of the same type needs no other code
    other = rlx.compile(lambda x: x @ w)
    np.testing.assert_allclose(other(X), 2 * before)
    assert other.trace(X).fingerprint == compiled.trace(X).fingerprint


def test_arguments_and_donations_go_on_as_they_are():
    def step(array: Any, x: Any) -> Any:
        return array - 0.1 * (x @ BIG), x.sum()

    compiled = rlx.compile(step, donate={"array": 0})
    array = X.copy()
    found, total = compiled(array, X)
    # the order of a sum depends on the width of vectors
    assert found is array and abs(total - X.sum()) < 1e-13
    np.testing.assert_allclose(array, X - 0.1 * (X @ BIG))
    assert compiled.profile(X.copy(), X, runs=2) is not None


def test_a_branch_that_fails_leaves_no_param():
    def function(x: Any) -> Any:
        with pytest.raises(rlx.GraphError):
            cast(Any, rlx).add(BIG, x[:3])
        return x * 2

    assert params_of(function) == []


def test_a_counted_loop_is_as_long_in_the_ir_whatever_its_length():
    lengths = [
        len(str(rlx.trace(lambda x, n=n: rlx.fori_loop(0, n, lambda i, c: c * 0.5 + i, x), 1.0))) for n in (3, 10**9)
    ]
    assert lengths[1] - lengths[0] < 50


@pytest.mark.parametrize(("lower", "upper"), [(0, 5), (-2, 3), (3, 3), (4, 1), (2**62, 2**62 + 3)])
def test_a_counted_loop_counts_in_int64(lower: int, upper: int):
    def body(i: Any, carry: Any) -> Any:
        return carry[0] + (i - lower), i

    total, last = rlx.fori_loop(lower, upper, body, (np.int64(0), np.int64(-7)))
    numbers = range(lower, upper)
    assert (total, last) == (sum(i - lower for i in numbers), numbers[-1] if numbers else -7)
    assert total.dtype == last.dtype == np.int64


def test_a_counted_loop_has_its_gradient():
    found = rlx.grad(lambda x: rlx.fori_loop(1, 5, lambda i, c: c * x + i, x))(2.0)
    wanted = rlx.grad(lambda x: (((x * x + 1) * x + 2) * x + 3) * x + 4)(2.0)
    assert found == wanted
    assert rlx.fori_loop(0, np.int64(3), lambda _, c: c * 0.5, 1.0) == 0.125
