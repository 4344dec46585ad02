"""Values that are wanted in several places, or in a part of another one: against JAX, and what is launched for it."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from loop_runs import assert_close, compiled, structured
from numerics import jaxpr
from xdsl.dialects.builtin import ModuleOp

import xdsl_rlx as rlx
from xdsl_rlx.dialects.lir import LaunchOp, LoopOp, ProgramOp

Values = list[Any]
Case = Callable[[Any, Any, Any], Values]
WIDTH = 32


class InJax:
    """The words of the cases below, which a graph has, too."""

    tanh, sin, where = staticmethod(jnp.tanh), staticmethod(jnp.sin), staticmethod(jnp.where)

    def __init__(self, reverse: bool):
        self.reverse = reverse

    def concat(self, parts: Sequence[Any], axis: int) -> Any:
        return jnp.concatenate(parts, axis)

    def softmax(self, x: Any) -> Any:
        return jax.nn.softmax(x)

    def matmul(self, a: Any, b: Any) -> Any:
        return a @ b

    def transpose(self, x: Any) -> Any:
        return jnp.swapaxes(x, -1, -2)

    def total(self, x: Any) -> Any:
        return jnp.sum(x, 0, keepdims=True)

    def loop(self, body: Any, init: Any, xs: Any) -> Any:
        return jax.lax.scan(body, init, xs, reverse=self.reverse)

    def cond(self, p: Any, then: Any, otherwise: Any) -> Any:
        return jax.lax.cond(p, then, otherwise)


class InGraph:
    """The same in a graph."""

    def __init__(self, graph: rlx.Graph, reverse: bool, checkpoints: int | None):
        self.g, self.reverse, self.checkpoints = graph, reverse, checkpoints
        self.tanh, self.sin, self.where, self.concat = graph.tanh, graph.sin, graph.where, graph.concat
        self.softmax, self.matmul, self.cond = graph.softmax, graph.matmul, graph.cond

    def transpose(self, x: Any) -> Any:
        return self.g.transpose(x, (*range(len(x.shape) - 2), len(x.shape) - 1, len(x.shape) - 2))

    def total(self, x: Any) -> Any:
        return self.g.reduce_sum(x, [0], keep_dim=True)

    def loop(self, body: Any, init: Any, xs: Any) -> Any:
        return self.g.scan(body, init, xs, reverse=self.reverse, checkpoints=self.checkpoints)


def carried_and_two_results(o: Any, x: Any, h: Any) -> Values:
    """One value is the carry and two results, of which the caller gets one; the carry before is two results, too."""

    def body(c: Any, e: Any) -> Any:
        y = o.tanh(c + e)
        return y, (y, y, c, c)

    last, (a, b, p, q) = o.loop(body, h, x)
    return [last, a, o.sin(b), p, o.sin(q)]


def stacked_for_later(o: Any, x: Any, h: Any) -> Values:
    """The carry before and after is read behind the loop only, in several ways."""

    def body(c: Any, e: Any) -> Any:
        y = o.tanh(c + e)
        return y, (c, y)

    last, (before, after) = o.loop(body, h, x)
    return [last + before[0], after - before, o.sin(after[-1])]


def swapped(o: Any, x: Any, h: Any) -> Values:
    """Carries that change places, with and without a step in between, and all of them stacked."""

    def body(c: Any, e: Any) -> Any:
        a, b, p, q = c
        return (b, a, o.tanh(q + e), p), (a, b, p, q)

    last, ys = o.loop(body, (h, h * 2.0, h * 3.0, h * 4.0), x)
    return [*(o.sin(v) for v in last), *(o.sin(y) for y in ys)]


def handed_on(o: Any, x: Any, h: Any) -> Values:
    """Three carries that begin as one input, of which the first does not change; all are read afterwards."""

    def body(c: Any, e: Any) -> Any:
        same, one, two = c
        return (same, o.tanh(one + e * same), two * 0.5 + one), (same, one, two)

    last, ys = o.loop(body, (h, h, h), x)
    return [*last, *(o.sin(y) for y in ys), h * 2.0]


def one_value_in_all(o: Any, x: Any, h: Any) -> Values:
    """One value is two carries, a stacked result, and a part of another one, twice."""

    def body(c: Any, e: Any) -> Any:
        y = o.tanh(c[0] + c[1] * e)
        return (y, y), (y, o.concat([y, c[0], y], 1))

    (a, b), (ys, wide) = o.loop(body, (h, h), x)
    return [a, b, o.sin(ys), o.sin(wide)]


def parts(o: Any, x: Any, h: Any) -> Values:
    """Parts side by side that the loop reads otherwise, or not, and a concat of a concat."""

    def body(c: Any, e: Any) -> Any:
        a, b = o.tanh(c + e), o.sin(c * e)
        inner = o.concat([a, b * 0.5], 1)
        return a * b, o.concat([a, inner, e, b], 1)

    last, ys = o.loop(body, h, x)
    return [last, ys]


def all_kinds_of_parts(o: Any, x: Any, h: Any) -> Values:
    """Parts that are products, sums, rows of softmax, arguments, views, narrow ones; along both axes."""
    a = o.tanh(h)
    square = o.matmul(h, o.transpose(h))
    made = [o.matmul(square, a), o.total(x).reshape((4, WIDTH)), o.softmax(a), o.sin(a)]
    side = o.concat([a, square, h, *made, a[:, :3], o.sin(a)[:, 3:24], o.tanh(a[:, :3])], 1)
    below = o.concat([a, o.matmul(square, h), o.total(h), o.softmax(h)[1:], o.sin(h)], 0)
    return [side, below, o.concat([o.transpose(below), o.transpose(o.sin(below))], 1)]


def shared_with_results(o: Any, x: Any, h: Any) -> Values:
    """Parts that are results themselves, a result that is given twice, and one reshaped into another's part."""
    a, b = o.tanh(h), o.sin(h)
    flat = o.concat([a.reshape((-1,)), b.reshape((-1,)), a.reshape((-1,))], 0)
    return [a, o.concat([a, b], 1), o.concat([b, a], 0), b, b, flat]


def loop_in_a_loop(o: Any, x: Any, h: Any) -> Values:
    """Loops whose carries go on in the loop around them, and are parts of what it stacks."""

    def inner(c: Any, e: Any) -> Any:
        y = o.tanh(c + e)
        return y, (c, y)

    def outer(c: Any, e: Any) -> Any:
        last, (before, after) = o.loop(inner, c, x)
        return last, (o.concat([last, e], 1), o.sin(before) + after, after)

    last, (ends, sums, ys) = o.loop(outer, h, x)
    return [last, o.concat([sums, ys, sums], 0), ends, o.sin(ys)]


def branches(o: Any, x: Any, h: Any) -> Values:
    """Branches of which only one computes what both are asked for in two places, beside each other."""

    def body(c: Any, e: Any) -> Any:
        def then() -> Any:
            y = o.tanh(c)
            return y, y, o.concat([y, c], 1)

        a, b, both = o.cond(e[0, 0] > 0.0, then, lambda: (c, o.sin(c), o.concat([c, o.sin(c)], 1)))
        return b, (o.concat([a, b, both], 1), o.concat([b, a, b], 0))

    last, (side, below) = o.loop(body, h, x)
    return [last, side, below]


CASES: tuple[Case, ...] = (
    carried_and_two_results,
    stacked_for_later,
    swapped,
    handed_on,
    one_value_in_all,
    parts,
    all_kinds_of_parts,
    shared_with_results,
    loop_in_a_loop,
    branches,
)


def arrays_of(length: int) -> dict[str, Any]:
    rng = np.random.default_rng(length)
    return {"x": rng.standard_normal((length, 4, WIDTH)), "h": rng.standard_normal((4, WIDTH))}


def graph_of(case: Case, length: int, reverse: bool) -> rlx.Graph:
    g = rlx.Graph("case")
    given = [g.param(name, array.shape, "f64") for name, array in arrays_of(length).items()]
    g.set_outputs(case(InGraph(g, reverse, None), *given))
    return g


cases = pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)


@pytest.mark.sampled
@cases
@pytest.mark.parametrize(("length", "reverse", "threads"), [(1, False, 1), (2, True, 2), (5, False, 3), (5, True, 1)])
def test_a_value_is_in_all_the_places_in_which_it_is_wanted(
    case: Case, length: int, reverse: bool, threads: int
) -> None:
    arrays = arrays_of(length)
    expected = jaxpr.evaluate(partial(case, InJax(reverse)), *arrays.values())
    for ours, theirs in zip(compiled(graph_of(case, length, reverse), threads, **arrays), expected, strict=True):
        assert_close(ours, theirs)


@pytest.mark.sampled
@cases
@pytest.mark.parametrize(("reverse", "checkpoints", "threads"), [(False, None, 2), (True, 2, 1)])
def test_gradients_are_those_of_jax(case: Case, reverse: bool, checkpoints: int | None, threads: int) -> None:
    arrays = arrays_of(4)

    def loss(x: Any, h: Any) -> Any:
        return sum(jnp.sum(value * value) for value in case(InJax(reverse), x, h))

    g = rlx.Graph("loss")
    given = [g.param(name, array.shape, "f64") for name, array in arrays.items()]
    values = case(InGraph(g, reverse, checkpoints), *given)
    total = g.reduce_sum(values[0] * values[0])
    for value in values[1:]:
        total = total + g.reduce_sum(value * value)
    g.set_outputs([total])
    expected = jaxpr.evaluate(jax.value_and_grad(loss, (0, 1)), *arrays.values())
    gradient = rlx.grad_with_loss(g, ["x", "h"], zero_missing_wrt=True)
    for ours, theirs in zip(compiled(gradient, threads, **arrays), expected, strict=True):
        assert_close(ours, theirs)


@pytest.mark.parametrize("shape", [(2, 24), (1, 1)])
def test_complex_parts_may_be_computed_in_another_order_than_they_lie(shape: tuple[int, int]) -> None:
    g = rlx.Graph("complex")
    h = g.input("h", shape, "f64")
    late = g.fft(g.complex(g.tanh(h), h))
    rows = [late, g.complex(h, g.sin(h)), g.complex(g.sin(h), g.real(late))]
    g.set_outputs([g.concat(rows, 1), rows[2], g.concat([rows[1], rows[0]], 0)])
    array = np.random.default_rng(5).standard_normal(shape)
    first = np.fft.fft(np.tanh(array) + 1j * array)
    expected = [first, array + 1j * np.sin(array), np.sin(array) + 1j * first.real]
    found = compiled(g, h=array)
    assert_close(found[0], np.concatenate(expected, 1))
    assert_close(found[1], expected[2])
    assert_close(found[2], np.concatenate([expected[1], expected[0]], 0))


def launched(module: ModuleOp) -> list[list[str]]:
    """The kernels that each loop launches, by what they are for."""
    loops = [op for op in module.walk() if isinstance(op, LoopOp)]
    return [
        [x.kernel.string_value().partition("_")[2] for x in loop.body.block.ops if isinstance(x, LaunchOp)]
        for loop in loops
    ]


def lstm(times: int, width: int) -> rlx.Graph:
    g = rlx.Graph("lstm")
    x, w, u = g.param("x", (times, 8, 16)), g.param("w", (16, 4 * width)), g.param("u", (width, 4 * width))
    b, zeros = g.param("b", (4 * width,)), g.input("zeros", (8, width))

    def body(carry: Any, e: Any) -> Any:
        h, c = carry
        gates = e @ w + h @ u + b
        i, f, o, a = (gates[:, k * width : (k + 1) * width] for k in range(4))
        c = g.sigmoid(f) * c + g.sigmoid(i) * g.tanh(a)
        h = g.sigmoid(o) * g.tanh(c)
        return (h, c), h

    _, ys = g.scan(body, (zeros, zeros), x)
    g.set_outputs([g.reduce_mean(ys * ys)])
    return rlx.grad_with_loss(g, ["x", "w", "u", "b"])


def test_no_step_of_an_lstm_and_its_gradient_copies() -> None:
    """Four launches: the gates, what follows from them, their cotangents, and the carry's."""
    there, back = launched(structured(lstm(16, 32), 1))
    assert [name.split("_")[0] for name in there] == ["matmul", "sigmoid"]
    assert len(back) == 2 and back[1] == "matmul" and "copy" not in back[0]


def test_a_view_that_is_copied_is_copied_to_where_it_is_wanted() -> None:
    """Chains of views, as results and as carries: one launch for a result, whatever the number of views."""
    rng = np.random.default_rng(0)

    def chain(x: Any, seed: int) -> Any:
        choices = np.random.default_rng(seed)
        for _ in range(5):
            if choices.integers(2):
                x = np.transpose(x, choices.permutation(np.ndim(x)))
            else:
                x = np.reshape(x, (choices.choice([2, 3, 4, 6]), -1))
            if choices.integers(4) == 0:
                wide = np.broadcast_to(np.reshape(x, (*x.shape, 1)), (*x.shape, 2))
                x = np.reshape(wide, (*x.shape[:-1], -1))
        return x

    def turned(c: Any) -> Any:
        return np.reshape(np.transpose(np.reshape(c, (4, 6))), (24,))

    def program(x: Any) -> dict[str, Any]:
        return {str(seed): chain(x, seed) for seed in range(40)}

    x = rng.standard_normal((2, 3, 4))
    for name, found in rlx.compile(program)(x).items():
        np.testing.assert_array_equal(found, program(x)[name])
    (last, other), _ = rlx.compile(lambda c: rlx.scan(lambda p, _: ((turned(p[1]), turned(p[0])), None), c, length=5))(
        (x.reshape(24), -x.reshape(24))
    )
    expected = [x.reshape(24), -x.reshape(24)]
    for _ in range(5):
        expected = [turned(expected[1]), turned(expected[0])]
    np.testing.assert_array_equal([last, other], expected)
    shuffle = rlx.compile(lambda x: np.reshape(np.transpose(np.reshape(x, (2, 2, 3, 2)), (2, 0, 3, 1)), (6, 4)))
    assert len(shuffle.compiled(x.reshape(4, 6)).program.launches) == 1


def test_a_stacked_carry_takes_one_place_more_than_its_stack() -> None:
    times, width = 64, 512

    def arena(stacks: int) -> int:
        g = rlx.Graph("stacked")
        x, h = g.input("x", (times, width)), g.input("h", (width,))
        last, ys = g.scan(lambda c, e: (g.tanh(c + e), tuple(c * 1.0 if k > 1 else c for k in range(stacks))), h, x)
        g.set_outputs([g.reduce_sum(last), *(g.reduce_sum(g.sin(y)) for y in ys)])
        (program,) = [op for op in structured(g, 1).ops if isinstance(op, ProgramOp)]
        assert program.arena_bytes is not None
        return program.arena_bytes.value.data

    carry, stack = 4 * width, 4 * width * times
    assert arena(0) <= 2 * carry + 64
    assert arena(1) <= stack + carry + 64
    assert arena(2) <= stack + carry + 64
