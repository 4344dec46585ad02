"""`mir.scan` against `jax.lax.scan`: values, both modes, second order and batches, and what is said of wrong bodies."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numerics import jaxpr
from oracle import run

import xdsl_rlx as rlx
from xdsl_rlx.dialects.mir.scan import ScanOp

Array = np.ndarray[Any, Any]
NAMES = ["x", "w", "h"]


def recurrence(length: int, reverse: bool) -> rlx.Graph:
    """A loss of the last carry and of all results; the body uses the carry, an element, and a matrix from outside."""
    g = rlx.Graph("recurrence")
    x, w, h = g.param("x", (length, 3), "f64"), g.param("w", (3, 3), "f64"), g.param("h", (3,), "f64")

    def body(c: Any, e: Any) -> Any:
        after = g.tanh(c @ w + e) * w[0]
        return after, after * 2.0 + g.sin(c)

    last, ys = g.scan(body, h, x, reverse=reverse)
    g.set_outputs([g.reduce_sum(last * last) + g.reduce_sum(ys * ys * ys)])
    return g


def recurrence_in_jax(reverse: bool) -> Callable[..., Any]:
    def loss(x: Any, w: Any, h: Any) -> Any:
        def body(c: Any, e: Any) -> Any:
            after = jnp.tanh(c @ w + e) * w[0]
            return after, after * 2.0 + jnp.sin(c)

        last, ys = jax.lax.scan(body, h, x, reverse=reverse)
        return jnp.sum(last * last) + jnp.sum(ys**3)

    return loss


def values(length: int, *leading: int) -> list[Array]:
    rng = np.random.default_rng(length)
    return [rng.standard_normal((*leading, *shape)) for shape in ((length, 3), (3, 3), (3,))]


def assert_close(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-11, atol=1e-12)


both_ways = pytest.mark.parametrize("reverse", [False, True])


@pytest.mark.sampled
@both_ways
@pytest.mark.parametrize("length", [0, 1, 2, 7])
def test_a_scan_has_the_derivatives_of_jax(length: int, reverse: bool) -> None:
    graph, loss = recurrence(length, reverse), recurrence_in_jax(reverse)
    arrays, along = values(length), [0.5 * a for a in values(length + 10)]
    along[0] = along[0][:length]
    by_name, tangents = dict(zip(NAMES, arrays, strict=True)), zip((f"tangent_{n}" for n in NAMES), along, strict=True)
    everything = {**by_name, **dict(tangents)}

    gradient = rlx.grad_with_loss(graph, NAMES, zero_missing_wrt=True)
    expected = jaxpr.evaluate(jax.value_and_grad(loss, (0, 1, 2)), *arrays)
    for found, wanted in zip(run(gradient, **by_name), expected, strict=True):
        assert_close(found, wanted)

    _, tangent = jaxpr.evaluate(lambda xs, us: jax.jvp(loss, tuple(xs), tuple(us)), arrays, along)
    assert_close(run(rlx.jvp(graph, NAMES), **everything)[-1], tangent)

    grads = jax.grad(loss, (0, 1, 2))
    products = jaxpr.evaluate(lambda xs, us: jax.jvp(grads, tuple(xs), tuple(us))[1], arrays, along)
    for found, wanted in zip(run(rlx.hvp(graph, NAMES), **everything)[-3:], products, strict=True):
        assert_close(found, wanted)


@both_ways
def test_the_gradient_of_a_gradient_is_the_product_with_the_hessian(reverse: bool) -> None:
    graph, loss = recurrence(4, reverse), recurrence_in_jax(reverse)
    arrays, u = values(4), np.arange(9.0).reshape(3, 3) / 5
    first = rlx.grad(graph, ["w"])
    g = rlx.Graph("contracted")
    (gw,) = g.inline(first)
    g.set_outputs([g.reduce_sum(gw * u)])
    second = rlx.grad(g, NAMES)
    wanted = jaxpr.evaluate(jax.grad(lambda *a: jnp.sum(jax.grad(loss, 1)(*a) * u), (0, 1, 2)), *arrays)
    for found, expected in zip(run(second, **dict(zip(NAMES, arrays, strict=True))), wanted, strict=True):
        assert_close(found, expected)


@both_ways
def test_a_batch_of_gradients_is_compiled(reverse: bool) -> None:
    gradient = rlx.grad_with_loss(recurrence(5, reverse), NAMES)
    (x, _, h), (_, w, _) = values(5, 4), values(5)
    batch = rlx.vmap(gradient, ["x", "h"], 4)
    of_each = jax.value_and_grad(recurrence_in_jax(reverse), (0, 1, 2))
    expected = jaxpr.evaluate(jax.vmap(lambda x, h: of_each(x, w, h)), x, h)
    for found, wanted in zip(rlx.compile(batch)(x=x, w=w, h=h), expected, strict=True):
        assert_close(found, wanted)


@pytest.mark.parametrize(("inside", "outside"), [(None, None), (1, 3), (2, 3), (4, 3)])
def test_a_scan_in_a_scan_has_the_gradient_of_jax(inside: int | None, outside: int | None) -> None:
    """Whether they keep all times or have checkpoints."""
    g = rlx.Graph("nested")
    x, h = g.param("x", (6, 5), "f64"), g.param("h", (), "f64")

    def outer(c: Any, row: Any) -> Any:
        inner, _ = g.scan(lambda d, e: (g.sin(d) * e + c, None), c, row, checkpoints=inside)
        return inner, inner * c

    last, ys = g.scan(outer, h, x, checkpoints=outside)
    g.set_outputs([last + g.reduce_sum(ys)])

    def loss(x: Any, h: Any) -> Any:
        def body(c: Any, row: Any) -> Any:
            inner, _ = jax.lax.scan(lambda d, e: (jnp.sin(d) * e + c, None), c, row)
            return inner, inner * c

        last, ys = jax.lax.scan(body, h, x)
        return last + jnp.sum(ys)

    arrays = np.random.default_rng(3).standard_normal((6, 5)), np.array(0.3)
    expected = jaxpr.evaluate(jax.value_and_grad(loss, (0, 1)), *arrays)
    found = run(rlx.grad_with_loss(g, ["x", "h"]), x=arrays[0], h=arrays[1])
    for one, wanted in zip(found, expected, strict=True):
        assert_close(one, wanted)


OUTSIDE: dict[str, tuple[Any, Any]] = {
    "captured": (lambda c, e, x: (c + 1.0, x), 0.0),
    "captured as the carry": (lambda c, e, x: (x, x), 0.0),
    "captured twice": (lambda c, e, x: (c * x, (x, x)), 1.0),
    "the carry": (lambda c, e, x: (c, c), 1.0),
    "the element": (lambda c, e, x: (c * x, e), 1.0),
    "a constant": (lambda c, e, x: (c * x + c, 0.0 * c + 2.0), 1.0),
    "what is computed of captured values": (lambda c, e, x: (c + 1.0, x * x), 0.0),
}
"""Bodies that yield what they do not compute, and the carry that they start with, for each element."""


def _of_outside(name: str, scan: Callable[..., Any], like: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A loss of a vector; its square is what the body uses from outside."""
    body, start = OUTSIDE[name]

    def loss(v: Any) -> Any:
        x = v * v
        last, ys = scan(lambda c, e: body(c, e, x), like(x) + start, (x + 1.0).reshape(3, 1) * x)
        several = ys if isinstance(ys, tuple) else (ys,)
        return (last * x).sum() + sum((y * y * y).sum() for y in several)

    return loss


@pytest.mark.parametrize("name", OUTSIDE)
def test_what_a_scan_yields_unchanged_is_differentiated(name: str) -> None:
    g = rlx.Graph("loss")
    g.set_outputs([_of_outside(name, g.scan, lambda x: x * 0.0)(g.param("x", (3,), "f64"))])
    gradient = jax.grad(_of_outside(name, jax.lax.scan, jnp.zeros_like))
    x, v = np.array([0.5, -1.0, 2.0]), np.array([1.0, 2.0, -0.5])
    at_x, along = jaxpr.evaluate(lambda x, v: jax.jvp(gradient, (x,), (v,)), x, v)
    assert_close(run(rlx.grad(g, "x"), x=x)[0], at_x)
    _, found, slope, found_along = run(rlx.hvp(g, "x"), x=x, tangent_x=v)
    assert_close(found, at_x)
    assert_close(slope, at_x @ v)
    assert_close(found_along, along)
    many = run(rlx.vmap(rlx.grad(g, "x"), "x", 2), x=np.stack([x, v]))[0]
    assert_close(many, [at_x, *run(rlx.grad(g, "x"), x=v)])


def test_a_scan_that_stacks_a_value_from_outside_has_its_gradient() -> None:
    def stacked(x: Any) -> Any:
        return rlx.scan(lambda c, _: (c + 1.0, x), 0.0, length=4)[1].sum()

    x = np.arange(3.0)
    assert rlx.grad(stacked)(x).tolist() == [4.0, 4.0, 4.0]
    assert rlx.hessian(stacked)(x).tolist() == np.zeros((3, 3)).tolist()
    assert rlx.vmap(rlx.grad(stacked))(np.stack([x, x])).tolist() == [[4.0] * 3] * 2
    assert rlx.jvp(stacked)((x,), (x,))[1] == 12.0
    assert rlx.hvp(lambda x: stacked(x * x))((x,), x).tolist() == [0.0, 8.0, 16.0]

    g = rlx.Graph("stacked")
    inside = g.param("x", (3,), "f64")
    g.set_outputs([g.reduce_sum(g.scan(lambda c, _: (c + 1.0, inside), g.full((), 0.0), length=4)[1])])
    assert rlx.compile(rlx.grad(g, "x"))(x)[0].tolist() == [4.0, 4.0, 4.0]


TWICE: dict[str, Callable[[Any, Callable[[], Any]], Any]] = {
    "scan": lambda g, body: g.scan(lambda c, _: (c * 0.5 + body(), None), g.full((), 0.0, "f64"), length=2)[0],
    "cond": lambda g, body: g.cond(g.input("p", (), "i1"), body, lambda: 0.0),
    "switch": lambda g, body: g.switch(g.input("p", (), "i1").cast("i32"), [lambda: g.full((), 0.0, "f64"), body]),
    "remat": lambda g, body: g.remat(body),
    "while_loop": lambda g, body: g.while_loop(
        lambda c: c < 99.0, lambda c: c * 0.5 + body(), g.full((), 0.0, "f64"), max_iterations=2
    ),
}
"""A body run for 1.5 times its value, or once."""


@pytest.mark.parametrize("name", TWICE)
def test_a_value_that_is_captured_twice_is_differentiated_as_the_one_that_counts(name: str) -> None:
    """A branch of one choice becomes `x`: of the two arguments that are `x` then, the body only compares the first."""
    g = rlx.Graph("twice")
    x, k = g.param("x", (), "f64"), g.input("k", (), "i32")
    same = g.switch(k, [lambda: x])
    g.set_outputs([TWICE[name](g, lambda: g.where(x > 0.0, 1.0, 2.0) * same * same)])
    at, p = np.array(3.0), np.array(True)
    times = 1.5 if name in ("scan", "while_loop") else 1.0
    assert_close(run(rlx.grad(g, "x"), x=at, k=np.int32(0), p=p)[0], times * 6.0)
    assert_close(run(rlx.hvp(g, "x"), x=at, tangent_x=np.array(1.0), k=np.int32(0), p=p)[-1], times * 2.0)


def test_elements_that_carry_no_derivative_stop_no_other() -> None:
    """One that is not used, integers, and one that is only compared, beside others; a carry that counts."""
    shapes = {"x": (4, 3), "unused": (4, 3), "compared": (4, 3), "limit": (3,), "h": (3,)}
    rng = np.random.default_rng(5)
    arrays, ks = {name: rng.standard_normal(shape) for name, shape in shapes.items()}, np.array([1, 2, 1, 3], np.int32)
    g = rlx.Graph("mixed")
    x, unused, compared, limit, h = (g.param(name, shape, "f64") for name, shape in shapes.items())

    def body(carry: Any, elements: Any) -> Any:
        (c, n), (a, _, d, k) = carry, elements
        after = g.where(d > limit, g.sin(c) * a, c) * g.cast(k, "f64")
        return (after, n + k), (after * 2.0, n)

    start = (h, g.full((), 0, "i32"))
    (last, n), (ys, ns) = g.scan(body, start, (x, unused, compared, g.input("k", (4,), "i32")))
    g.set_outputs([g.reduce_sum(last) + g.reduce_sum(ys * ys), n, ns])

    def loss(x: Any, unused: Any, compared: Any, limit: Any, h: Any) -> Any:
        def body(c: Any, elements: Any) -> Any:
            a, d, k = elements
            after = jnp.where(d > limit, jnp.sin(c) * a, c) * k
            return after, after * 2.0

        last, ys = jax.lax.scan(body, h, (x, compared, ks))
        return jnp.sum(last) + jnp.sum(ys * ys)

    expected = jaxpr.evaluate(jax.value_and_grad(loss, range(5)), *arrays.values())
    value, n, ns, *found = rlx.compile(rlx.grad_with_loss(g, list(shapes), zero_missing_wrt=True))(**arrays, k=ks)
    for one, wanted in zip([value, *found], expected, strict=True):
        assert_close(one, wanted)
    assert int(n) == 7 and ns.tolist() == [0, 1, 3, 4]
    slope = sum(np.vdot(one, array) for one, array in zip(found, arrays.values(), strict=True))
    tangents = {f"tangent_{name}": array for name, array in arrays.items()}
    _, _, _, along, *others = run(rlx.jvp(g, list(shapes)), **arrays, **tangents, k=ks)
    assert_close(along, slope)
    assert not any(one.any() for one in others)
    for name in ("unused", "compared", "limit"):
        with pytest.raises(rlx.GraphError, match=f'to "{name}": mir.scan at .* no result of it depends on that'):
            rlx.grad(g, ["x", name])


@pytest.mark.parametrize("count", [1, 3])
def test_a_gradient_by_any_number_of_sequences_is_one_loop_back(count: int) -> None:
    """What they share, a matrix, is neither copied for each time nor is its gradient stacked."""
    length, n = 64, 8
    rng = np.random.default_rng(6)
    shapes = {"w": (n, n), "h": (1, n)} | {f"x{i}": (length, 1, n) for i in range(count)}
    arrays = {name: 0.3 * rng.standard_normal(shape) for name, shape in shapes.items()}
    g = rlx.Graph("sums")
    w, h, *xs = (g.param(name, shape, "f64") for name, shape in shapes.items())
    last, _ = g.scan(lambda c, e: (g.tanh(sum(e, c @ w)), None), h, tuple(xs))
    g.set_outputs([g.reduce_sum(last * last)])

    def loss(w: Any, h: Any, *xs: Any) -> Any:
        last, _ = jax.lax.scan(lambda c, e: (jnp.tanh(sum(e, c @ w)), None), h, xs)
        return jnp.sum(last * last)

    gradient = rlx.grad_with_loss(g, list(shapes))
    expected = jaxpr.evaluate(jax.value_and_grad(loss, range(2 + count)), *arrays.values())
    for one, wanted in zip(run(gradient, **arrays), expected, strict=True):
        assert_close(one, wanted)
    scans = [op for op in gradient.module.walk() if isinstance(op, ScanOp)]
    assert [scan.reverse is not None for scan in scans] == [False, True]
    # one stack of carries, and a few rows
    assert rlx.memory_report(gradient, threads=1).arena < 8 * n * (length + 16)


def test_the_ops_of_a_gradient_do_not_depend_on_the_length() -> None:
    counts = {sum(1 for _ in rlx.grad_with_loss(recurrence(n, False), NAMES).module.walk()) for n in (8, 4096)}
    assert len(counts) == 1


def test_carries_and_results_are_tuples_or_none() -> None:
    g = rlx.Graph("fibonacci")
    one = g.full((), 1, "i64")
    (a, b), nothing = g.scan(lambda c, _: ((c[1], c[0] + c[1]), None), (one, one), length=10)
    assert nothing is None
    g.set_outputs([a, b])
    assert [int(x) for x in rlx.compile(g)()] == [89, 144]


def test_a_carry_that_does_not_vary_has_no_tangent() -> None:
    g = rlx.Graph("mixed")
    x, k = g.param("x", (6,)), g.input("k", ())
    (total, count), _ = g.scan(lambda c, e: ((c[0] + e, c[1] * 2.0), None), (g.full((), 0.0), k), x)
    g.set_outputs([total, count])
    (scan,) = [op for op in rlx.jvp(g, ["x"]).module.walk() if isinstance(op, ScanOp)]
    assert len(scan.carries) == 3


def _graph() -> tuple[rlx.Graph, Any]:
    g = rlx.Graph("wrong")
    return g, g.input("x", (4, 3))


WRONG: dict[str, tuple[Callable[[rlx.Graph, Any], object], str]] = {
    "dtype": (
        lambda g, x: g.scan(lambda c, e: (g.cast(c, "f64"), None), x[0], x),
        "expected carry 0 of the body as in init, tensor<3xf32>",
    ),
    "count": (
        lambda g, x: g.scan(lambda c, e: ((c, e), None), x[0], x),
        "expected the body to return 1 carries, as in init, got 2",
    ),
    "no pair": (lambda g, x: g.scan(lambda c, e: c, x[0], x), "expected the body to return a pair"),
    "lengths": (
        lambda g, x: g.scan(lambda c, e: (c, None), x[0], (x, x[1:])),
        "expected equal lengths of all xs and of length=, got 3, 4",
    ),
    "length": (lambda g, x: g.scan(lambda c, e: (c, None), x[0]), "expected xs or length, got neither"),
    "negative": (lambda g, x: g.scan(lambda c, e: (c, None), x[0], length=-1), "at least 0, got -1"),
    "scalar": (lambda g, x: g.scan(lambda c, e: (c, None), x[0], x[0, 0]), "has no leading axis"),
    "foreign": (
        lambda g, x: g.scan(lambda c, e: (c + rlx.Graph("b").input("y", (3,)), None), x[0], x),
        "a value of graph 'b' is used in graph 'wrong'",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_body_is_our_error_and_leaves_the_graph_as_it_was(name: str) -> None:
    g, x = _graph()
    wrong, message = WRONG[name]
    with pytest.raises(rlx.GraphError, match=message):
        wrong(g, x)
    g.set_outputs([g.reduce_sum(x)])
    assert not any(isinstance(op, ScanOp) for op in g.module.walk())


def test_an_error_in_a_body_leaves_no_use_of_what_is_around_it() -> None:
    g, x = _graph()
    w, h = g.input("w", (3,)), g.input("h", (3,))
    with pytest.raises(rlx.GraphError, match="return a pair"):
        g.scan(lambda c, e: c * w + e, h, x)
    assert w.ssa.first_use is None and x.ssa.first_use is None
    last, _ = g.scan(lambda c, e: (c * w + e, None), h, x)
    g.set_outputs([last])
    x_, w_, h_ = (np.full(shape, 2.0, np.float32) for shape in ((4, 3), (3,), (3,)))
    assert_close(run(g, x=x_, w=w_, h=h_)[0], np.full(3, 62.0))
