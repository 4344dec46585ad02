"""Scans that run as loops of launches: against JAX, at every place a value of a body can come from or go to."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from loop_runs import assert_close, compiled, structured
from numerics import jaxpr

import xdsl_rlx as rlx
from xdsl_rlx.dialects.lir import LaunchOp, LoopOp
from xdsl_rlx.dialects.lir.memory import is_contiguous, memref_of

both_ways = pytest.mark.parametrize("reverse", [False, True])


def recurrence(length: int, reverse: bool) -> rlx.Graph:
    g = rlx.Graph("recurrence")
    x, w, h = g.param("x", (length, 2, 3), "f64"), g.param("w", (3, 3), "f64"), g.param("h", (2, 3), "f64")

    def body(c: Any, e: Any) -> Any:
        after = g.tanh(c @ w + e)
        return after, g.softmax(after) * c

    last, ys = g.scan(body, h, x, reverse=reverse)
    g.set_outputs([g.reduce_sum(last * last) + g.reduce_sum(ys * ys)])
    return g


@pytest.mark.sampled
@both_ways
@pytest.mark.parametrize("length", [0, 1, 2, 7, 1000])
def test_values_and_gradients_are_those_of_jax(length: int, reverse: bool) -> None:
    rng = np.random.default_rng(length)
    arrays = [rng.standard_normal(shape) for shape in ((length, 2, 3), (3, 3), (2, 3))]

    def loss(x: Any, w: Any, h: Any) -> Any:
        def body(c: Any, e: Any) -> Any:
            after = jnp.tanh(c @ w + e)
            return after, jax.nn.softmax(after) * c

        last, ys = jax.lax.scan(body, h, x, reverse=reverse)
        return jnp.sum(last * last) + jnp.sum(ys * ys)

    expected = jaxpr.evaluate(jax.value_and_grad(loss, (0, 1, 2)), *arrays)
    gradient = rlx.grad_with_loss(recurrence(length, reverse), ["x", "w", "h"], zero_missing_wrt=True)
    for threads in (1, 2):
        found = compiled(gradient, threads, **dict(zip(("x", "w", "h"), arrays, strict=True)))
        for ours, theirs in zip(found, expected, strict=True):
            assert_close(ours, theirs)


def test_what_is_launched_does_not_depend_on_the_length() -> None:
    counts = set[tuple[int, int]]()
    for length in (8, 4096):
        module = structured(rlx.grad_with_loss(recurrence(length, False), ["x", "w", "h"]), 1)
        ops = list(module.walk())
        counts.add((sum(isinstance(op, LaunchOp) for op in ops), sum(isinstance(op, LoopOp) for op in ops)))
    assert len(counts) == 1 and counts.pop()[1] == 2


def swapped(g: rlx.Graph, x: Any) -> list[Any]:
    """Carries that are handed on as others, and one that is stacked as it comes in."""
    (a, b), ys = g.scan(lambda c, e: ((c[1], c[0]), c[0]), (x[0], x[1]), x)
    return [a, b, ys]


def one_value_twice(g: rlx.Graph, x: Any) -> list[Any]:
    """One value is both carries and both results."""

    def body(c: Any, e: Any) -> Any:
        y = c[0] * 0.5 + e
        return (y, y), (y, y)

    (a, b), (p, q) = g.scan(body, (x[0], x[1]), x)
    return [a, b, p, q]


def views(g: rlx.Graph, x: Any) -> list[Any]:
    """Transposed and sliced operands, carries and results."""
    square = g.matmul(x, g.transpose(x, (1, 0)))

    def body(c: Any, e: Any) -> Any:
        y = g.transpose(c, (1, 0)) + e
        return y, g.transpose(y, (1, 0))[1:]

    last, ys = g.scan(body, square, g.transpose(x, (1, 0)))
    return [last, ys, ys[1:, :, 0]]


def constants(g: rlx.Graph, x: Any) -> list[Any]:
    """What is neither a carry nor an element nor from outside."""
    table = np.arange(3.0)
    last, ys = g.scan(lambda c, e: (c + g.constant(table) * 2.0, g.constant(table)), x[0], x)
    return [last, ys]


def counted(g: rlx.Graph, x: Any) -> list[Any]:
    """Numbers of other element types, and no elements."""
    start = g.full((), 7, "i64")
    (n, flag), ys = g.scan(lambda c, _: ((c[0] * 3, c[0] > 100), c[1]), (start, start > 100), length=6)
    return [n, flag, ys]


def nested(g: rlx.Graph, x: Any) -> list[Any]:
    """A loop in a loop, which sees values of both."""

    def outer(c: Any, row: Any) -> Any:
        inner, ys = g.scan(lambda d, e: (g.sin(d) * e + c, d * e), c, row)
        return inner, ys * c

    last, ys = g.scan(outer, x[0, 0], x)
    return [last, ys]


def one_after_the_other(g: rlx.Graph, x: Any) -> list[Any]:
    """A scan over what another has stacked, the other way round."""
    last, ys = g.scan(lambda c, e: (g.tanh(c + e), c), x[0], x)
    first, zs = g.scan(lambda c, e: (c * 0.5 + e, c - e), last, ys, reverse=True)
    return [first, zs]


def empty_elements(g: rlx.Graph, x: Any) -> list[Any]:
    """Carries and results without an element."""
    last, ys = g.scan(lambda c, e: (c + 1.0, (c, e)), x[0, :0], x)
    return [last, *ys]


def in_jax(x: Any) -> dict[Callable[..., list[Any]], Callable[[], Any]]:
    def body_twice(c: Any, e: Any) -> Any:
        y = c[0] * 0.5 + e
        return (y, y), (y, y)

    def body_views(c: Any, e: Any) -> Any:
        y = c.T + e
        return y, y.T[1:]

    def seen() -> Any:
        last, ys = jax.lax.scan(body_views, x @ x.T, x.T)
        return last, ys, ys[1:, :, 0]

    def outer(c: Any, row: Any) -> Any:
        inner, ys = jax.lax.scan(lambda d, e: (jnp.sin(d) * e + c, d * e), c, row)
        return inner, ys * c

    def both() -> Any:
        last, ys = jax.lax.scan(lambda c, e: (jnp.tanh(c + e), c), x[0], x)
        return jax.lax.scan(lambda c, e: (c * 0.5 + e, c - e), last, ys, reverse=True)

    start = jnp.asarray(7)
    return {
        swapped: lambda: jax.lax.scan(lambda c, e: ((c[1], c[0]), c[0]), (x[0], x[1]), x),
        one_value_twice: lambda: jax.lax.scan(body_twice, (x[0], x[1]), x),
        views: seen,
        constants: lambda: jax.lax.scan(lambda c, e: (c + np.arange(3.0) * 2.0, jnp.arange(3.0)), x[0], x),
        counted: lambda: jax.lax.scan(lambda c, _: ((c[0] * 3, c[0] > 100), c[1]), (start, start > 100), length=6),
        nested: lambda: jax.lax.scan(outer, x[0, 0], x),
        one_after_the_other: both,
        empty_elements: lambda: jax.lax.scan(lambda c, e: (c + 1.0, (c, e)), x[0, :0], x),
    }


@pytest.mark.parametrize("make", list(in_jax(np.ones((2, 3)))), ids=lambda make: make.__name__)
def test_values_may_come_from_and_go_to_anywhere(make: Callable[..., list[Any]]) -> None:
    array = np.random.default_rng(1).standard_normal((5, 3))
    g = rlx.Graph("scan")
    g.set_outputs(make(g, g.input("x", array.shape, "f64")))
    expected = jaxpr.evaluate(lambda x: in_jax(x)[make](), array)
    for threads in (1, 2):
        found = compiled(g, threads, x=array)
        assert len(found) == len(expected)
        for ours, theirs in zip(found, expected, strict=True):
            assert ours.dtype == np.asarray(theirs).dtype
            assert_close(ours, theirs)


@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16"])
def test_a_carry_is_rounded_to_its_type_each_time(dtype: str) -> None:
    """As the body written out: in the same type, from time to time."""
    g, once = rlx.Graph("loop"), rlx.Graph("once")
    x = np.random.default_rng(2).standard_normal((9, 4)).astype(np.float32)

    def body(c: Any, e: Any) -> Any:
        return c * 0.75 + e, c

    for graph in (g, once):
        xs = graph.cast(graph.input("x", x.shape, "f32"), dtype)
        if graph is g:
            last, ys = g.scan(body, xs[0], xs)
        else:
            last, rows = xs[0], list[Any]()
            for t in range(9):
                last, y = body(last, xs[t])
                rows.append(once.reshape(y, (1, 4)))
            ys = once.concat(rows, 0)
        graph.set_outputs([graph.cast(last, "f32"), graph.cast(ys, "f32")])
    ours, theirs = compiled(g, x=x), compiled(once, x=x)
    tolerance = {"f32": 1e-6, "f16": 2e-3, "bf16": 2e-2}[dtype]
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


def test_a_transposed_matrix_is_copied_once_in_front_of_the_loop() -> None:
    g = rlx.Graph("transposed")
    w, c = g.param("w", (40, 40), "f64"), g.param("c", (3, 40), "f64")
    last, _ = g.scan(lambda c, _: (g.tanh(c @ g.transpose(w, (1, 0))), None), c, length=5)
    g.set_outputs([last])
    (loop,) = (op for op in structured(g, 1).walk() if isinstance(op, LoopOp))
    passed = [memref_of(x) for op in loop.walk() if isinstance(op, LaunchOp) for x in op.operands]
    assert passed and all(map(is_contiguous, passed))
    arrays = [np.random.default_rng(0).standard_normal(shape) * 0.2 for shape in ((40, 40), (3, 40))]
    expected = arrays[1]
    for _ in range(5):
        expected = np.tanh(expected @ arrays[0].T)
    assert_close(compiled(g, w=arrays[0], c=arrays[1])[0], expected)


def test_complex_numbers_are_carried_scanned_and_stacked() -> None:
    x = np.random.default_rng(3).standard_normal((6, 2, 4))

    def in_jax(x: Any) -> Any:
        z, turn = x + 0.5j * x, jnp.exp(0.3j)

        def body(c: Any, e: Any) -> Any:
            after = jnp.fft.fft(c[0]) * 0.2 + e * turn
            return (after, c[0]), (after * c[1], after.real)

        (a, b), (ys, parts) = jax.lax.scan(body, (z[0], z[1]), z)
        return ((a * b).real + a.imag + (ys.imag + parts).sum(0)).sum()

    g = rlx.Graph("spiral")
    given = g.param("x", x.shape, "f64")
    z, turn = g.complex(given, given * 0.5), g.constant(np.exp(0.3j), "c128")

    def body(c: Any, e: Any) -> Any:
        after = g.fft(c[0]) * 0.2 + e * turn
        return (after, c[0]), (after * c[1], g.real(after))

    (a, b), (ys, parts) = g.scan(body, (z[0], z[1]), z)
    stacked = g.reduce_sum(g.imag(ys) + parts, axes=[0])
    g.set_outputs([g.reduce_sum(g.real(a * b) + g.imag(a) + stacked)])
    gradient = rlx.grad_with_loss(g, ["x"])
    assert sum(isinstance(op, LoopOp) for op in structured(gradient, 1).walk()) == 2
    for ours, theirs in zip(compiled(gradient, x=x), jaxpr.evaluate(jax.value_and_grad(in_jax), x), strict=True):
        assert_close(ours, theirs)
