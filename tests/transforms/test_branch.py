"""Branches, loops that depend on values, and remats against `jax.lax`: values, both modes, second order, batches."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numerics import jaxpr
from oracle import run

import xdsl_rlx as rlx
from xdsl_rlx.builder import as_graph_module
from xdsl_rlx.dialects.mir.scan import ScanOp
from xdsl_rlx.lowering.backend.machine.llvm import Effort
from xdsl_rlx.lowering.backend.runtime.compile_module import compile_module

jax.config.update("jax_enable_x64", True)

Array = np.ndarray[Any, Any]
NAMES = ["x", "w"]


@dataclass(frozen=True)
class Case:
    """A loss of x [3] and w [3], and of a number k that is not differentiated, here and in JAX."""

    name: str
    build: Callable[[rlx.Graph, Any, Any, Any], Any]
    in_jax: Callable[[Any, Any, Any], Any]
    ks: tuple[int, ...]
    """Values of k that take every way."""
    reverse: bool = True
    """Whether it has a gradient in reverse mode."""


def both(g: rlx.Graph, x: Any, w: Any, k: Any) -> Any:
    """Values from outside, operands, and a number as a result."""
    y, z = g.cond(k, lambda a: (g.sin(a) * w, 2.0), lambda a: (a * a, g.reduce_sum(w * a)), x)
    return g.reduce_sum(y * x) * z


def both_in_jax(x: Any, w: Any, k: Any) -> Any:
    y, z = jax.lax.cond(k, lambda a: (jnp.sin(a) * w, 2.0), lambda a: (a * a, jnp.sum(w * a)), x)
    return jnp.sum(y * x) * z


def by_values(g: rlx.Graph, x: Any, w: Any, k: Any) -> Any:
    """A predicate that depends on what is differentiated; one branch hands a value on."""
    y = g.cond(g.reduce_sum(x * w) > 0.1 * g.cast(k, "f64"), lambda: x, lambda: g.exp(w) * x)
    return g.reduce_sum(y * y)


def by_values_in_jax(x: Any, w: Any, k: Any) -> Any:
    y = jax.lax.cond(jnp.sum(x * w) > 0.1 * k, lambda: x, lambda: jnp.exp(w) * x)
    return jnp.sum(y * y)


def many(g: rlx.Graph, x: Any, w: Any, k: Any) -> Any:
    """Five branches, one of which uses nothing that is differentiated."""
    branches = [
        lambda a: g.sin(a) * w,
        lambda a: a,
        lambda a: a * a * w,
        lambda a: g.full((3,), 0.5, "f64"),
        lambda a: g.cond(k > 3, lambda: a * w, lambda: a),
    ]
    return g.reduce_sum(g.switch(k, branches, x) * x)


def many_in_jax(x: Any, w: Any, k: Any) -> Any:
    branches = [
        lambda a: jnp.sin(a) * w,
        lambda a: a,
        lambda a: a * a * w,
        lambda a: jnp.full((3,), 0.5),
        lambda a: jax.lax.cond(k > 3, lambda: a * w, lambda: a),
    ]
    return jnp.sum(jax.lax.switch(k, branches, x) * x)


def nan_elsewhere(g: rlx.Graph, x: Any, w: Any, k: Any) -> Any:
    """The other branch divides by 0, and its derivative is infinite."""
    zero = g.reduce_sum(x - x)
    return g.reduce_sum(g.cond(k, lambda: x * w, lambda: x / zero + g.sqrt(zero)))


def nan_elsewhere_in_jax(x: Any, w: Any, k: Any) -> Any:
    zero = jnp.sum(x - x)
    return jnp.sum(jax.lax.cond(k, lambda: x * w, lambda: x / zero + jnp.sqrt(zero)))


def again(g: rlx.Graph, x: Any, w: Any, k: Any) -> Any:
    """A body in a body, one of them with a branch."""

    def inner(a: Any) -> Any:
        return g.cond(k, lambda: g.sin(a) * w, lambda: g.tanh(a)), g.reduce_sum(a)

    y, z = g.remat(lambda a: inner(g.remat(lambda b: g.exp(b) * w, a)), x)
    return g.reduce_sum(y) * z


def again_in_jax(x: Any, w: Any, k: Any) -> Any:
    def inner(a: Any) -> Any:
        return jax.lax.cond(k, lambda: jnp.sin(a) * w, lambda: jnp.tanh(a)), jnp.sum(a)

    y, z = jax.checkpoint(lambda a: inner(jax.checkpoint(lambda b: jnp.exp(b) * w)(a)))(x)
    return jnp.sum(y) * z


def counted(g: rlx.Graph, x: Any, w: Any, k: Any) -> Any:
    """A loop with a bound that is not reached, over floats and a count."""

    def body(c: Any) -> Any:
        return g.sin(c[0]) * w + c[0], c[1] + 1

    (y, _), trips = g.while_loop(
        lambda c: c[1] < k, body, (x, g.full((), 0, "i32")), max_iterations=9, return_trips=True
    )
    return g.reduce_sum(y * y) * g.cast(trips, "f64")


def counted_in_jax(x: Any, w: Any, k: Any) -> Any:
    """A scan of branches, as JAX has no gradient of a loop in reverse mode."""

    def body(c: Any, _: Any) -> Any:
        y, i = c
        return jax.lax.cond(i < k, lambda: (jnp.sin(y) * w + y, i + 1), lambda: (y, i)), None

    (y, i), _ = jax.lax.scan(body, (x, jnp.int32(0)), None, length=9)
    return jnp.sum(y * y) * i


def until_large(g: rlx.Graph, x: Any, w: Any, k: Any) -> Any:
    """A condition on what is differentiated, the bound reached for some."""
    y = g.while_loop(lambda c: g.reduce_sum(c * c) < g.cast(k, "f64"), lambda c: c * 1.5 + w * w, x, max_iterations=4)
    return g.reduce_sum(y * x)


def until_large_in_jax(x: Any, w: Any, k: Any) -> Any:
    def body(y: Any, _: Any) -> Any:
        return jax.lax.cond(jnp.sum(y * y) < k, lambda: y * 1.5 + w * w, lambda: y), None

    y, _ = jax.lax.scan(body, x, None, length=4)
    return jnp.sum(y * x)


def endless(g: rlx.Graph, x: Any, w: Any, k: Any) -> Any:
    """No bound."""
    y, _ = g.while_loop(
        lambda c: c[1] < g.cast(k, "f64"), lambda c: (g.sin(c[0]) * w + x, c[1] + 1.0), (x, g.full((), 0, "f64"))
    )
    return g.reduce_sum(y * y)


def endless_in_jax(x: Any, w: Any, k: Any) -> Any:
    y, _ = jax.lax.while_loop(lambda c: c[1] < k, lambda c: (jnp.sin(c[0]) * w + x, c[1] + 1.0), (x, 0.0))
    return jnp.sum(y * y)


def counted_up(g: rlx.Graph, x: Any, w: Any, k: Any) -> Any:
    """`fori_loop` to a bound that is a value."""
    y, _ = g.while_loop(
        lambda c: c[1] < k, lambda c: (c[0] * w + g.cast(c[1], "f64"), c[1] + 1), (x, g.full((), 0, "i32"))
    )
    return g.reduce_sum(y)


def counted_up_in_jax(x: Any, w: Any, k: Any) -> Any:
    return jnp.sum(jax.lax.fori_loop(0, k, lambda i, y: y * w + i, x))


def halved(g: rlx.Graph, x: Any, w: Any, k: Any) -> Any:
    """How often depends on values; a carry that never varies, and one that does from the second time on."""

    def body(c: Any) -> Any:
        a, b, n = c
        return a * 0.5, b + a * w, n

    a, b, n = g.while_loop(lambda c: g.reduce_sum(c[0] * c[0]) > 1e-2, body, (x * g.cast(k, "f64"), w, w * 2.0))
    return g.reduce_sum(a + b * n)


def halved_in_jax(x: Any, w: Any, k: Any) -> Any:
    def body(c: Any) -> Any:
        a, b, n = c
        return a * 0.5, b + a * w, n

    a, b, n = jax.lax.while_loop(lambda c: jnp.sum(c[0] * c[0]) > 1e-2, body, (x * k, w, w * 2.0))
    return jnp.sum(a + b * n)


def in_a_scan(g: rlx.Graph, x: Any, w: Any, k: Any) -> Any:
    """Branches, loops and what is computed again, each time."""

    def body(c: Any, e: Any) -> Any:
        a, t = c
        b = g.cond(t < k, lambda: g.sin(a) * e, lambda: a + w)
        d = g.while_loop(lambda v: g.reduce_sum(v * v) < 2.0, lambda v: v * 1.5 + e, b, max_iterations=3)
        return (g.remat(lambda v: g.tanh(v) * w + e, d), t + 1), g.reduce_sum(d)

    (a, _), ys = g.scan(body, (x, g.full((), 0, "i32")), x * w)
    return g.reduce_sum(a * a) + g.reduce_sum(ys)


def in_a_scan_in_jax(x: Any, w: Any, k: Any) -> Any:
    def body(c: Any, e: Any) -> Any:
        a, t = c
        b = jax.lax.cond(t < k, lambda: jnp.sin(a) * e, lambda: a + w)

        def step(v: Any, _: Any) -> Any:
            return jax.lax.cond(jnp.sum(v * v) < 2.0, lambda: v * 1.5 + e, lambda: v), None

        d, _ = jax.lax.scan(step, b, None, length=3)
        return (jax.checkpoint(lambda v: jnp.tanh(v) * w + e)(d), t + 1), jnp.sum(d)

    (a, _), ys = jax.lax.scan(body, (x, jnp.int32(0)), x * w)
    return jnp.sum(a * a) + jnp.sum(ys)


def scan_in_a_branch(g: rlx.Graph, x: Any, w: Any, k: Any) -> Any:
    """A scan whose gradient needs each time, in a branch, and one in a body that is computed again."""

    def times(v: Any) -> Any:
        last, ys = g.scan(lambda c, e: (g.sin(c) * e + w, c), v, x)
        return g.reduce_sum(last * last) + g.reduce_sum(ys)

    return g.cond(k, lambda: times(x), lambda: g.reduce_sum(w * x)) + g.remat(times, w)


def scan_in_a_branch_in_jax(x: Any, w: Any, k: Any) -> Any:
    def times(v: Any) -> Any:
        last, ys = jax.lax.scan(lambda c, e: (jnp.sin(c) * e + w, c), v, x)
        return jnp.sum(last * last) + jnp.sum(ys)

    return jax.lax.cond(k, lambda: times(x), lambda: jnp.sum(w * x)) + jax.checkpoint(times)(w)


CASES = [
    Case("both", both, both_in_jax, (0, 1)),
    Case("by values", by_values, by_values_in_jax, (-30, 30)),
    Case("many", many, many_in_jax, (-1, 0, 1, 2, 3, 4, 9)),
    Case("NaN elsewhere", nan_elsewhere, nan_elsewhere_in_jax, (1,)),
    Case("again", again, again_in_jax, (0, 1)),
    Case("counted", counted, counted_in_jax, (0, 1, 4)),
    Case("until large", until_large, until_large_in_jax, (1, 9, 1000)),
    Case("endless", endless, endless_in_jax, (0, 1, 5), reverse=False),
    Case("counted up", counted_up, counted_up_in_jax, (0, 1, 5), reverse=False),
    Case("halved", halved, halved_in_jax, (0, 1, 9), reverse=False),
    Case("in a scan", in_a_scan, in_a_scan_in_jax, (0, 2, 5)),
    Case("scan in a branch", scan_in_a_branch, scan_in_a_branch_in_jax, (0, 1)),
]
cases = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
with_reverse = pytest.mark.parametrize("case", [c for c in CASES if c.reverse], ids=lambda case: case.name)


def graph(case: Case) -> rlx.Graph:
    g = rlx.Graph("loss")
    x, w = g.param("x", (3,), "f64"), g.param("w", (3,), "f64")
    g.set_outputs(case.build(g, x, w, g.input("k", (), "i32")))
    return g


def values(*leading: int) -> list[Array]:
    rng = np.random.default_rng(5)
    return [rng.standard_normal((*leading, 3)) for _ in NAMES]


def assert_close_all(found: Sequence[Any], expected: Sequence[Any]) -> None:
    for one, wanted in zip(found, expected, strict=True):
        assert_close(one, wanted)


def assert_close(found: Any, expected: Any, rtol: float = 1e-11) -> None:
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=rtol, atol=1e-11)


def along() -> list[Array]:
    return [0.5 * a[::-1] for a in values()]


@cases
def test_values_and_tangents_are_those_of_jax(case: Case) -> None:
    made, forward = graph(case), rlx.jvp(graph(case), NAMES)
    (x, w), (u, v) = values(), along()

    def in_jax(x: Any, w: Any, k: Any, u: Any, v: Any) -> Any:
        return jax.jvp(lambda x, w: case.in_jax(x, w, k), (x, w), (u, v))

    evaluated = jaxpr.trace(in_jax, x, w, np.int32(0), u, v)
    for k in map(np.int32, case.ks):
        expected = evaluated(x, w, k, u, v)
        assert_close_all(run(made, x=x, w=w, k=k), expected[:1])
        assert_close_all(run(forward, x=x, w=w, k=k, tangent_x=u, tangent_w=v), expected)


@with_reverse
def test_gradients_and_products_with_the_hessian_are_those_of_jax(case: Case) -> None:
    gradient, products = rlx.grad_with_loss(graph(case), NAMES), rlx.hvp(graph(case), NAMES)
    (x, w), (u, v) = values(), along()

    def in_jax(x: Any, w: Any, k: Any, u: Any, v: Any) -> Any:
        first = jax.value_and_grad(case.in_jax, (0, 1))(x, w, k)
        return first, jax.jvp(lambda x, w: jax.grad(case.in_jax, (0, 1))(x, w, k), (x, w), (u, v))[1]

    evaluated = jaxpr.trace(in_jax, x, w, np.int32(0), u, v)
    for k in map(np.int32, case.ks):
        expected = evaluated(x, w, k, u, v)
        assert_close_all(run(gradient, x=x, w=w, k=k), expected[:3])
        assert_close_all(run(products, x=x, w=w, k=k, tangent_x=u, tangent_w=v)[-2:], expected[3:])


@with_reverse
def test_gradients_are_those_of_central_differences(case: Case) -> None:
    made, gradient = graph(case), rlx.grad(graph(case), NAMES)
    (x, w), (u, v) = values(), along()
    h = 1e-5
    for k in case.ks:
        dx, dw = run(gradient, x=x, w=w, k=k)
        (above,) = run(made, x=x + h * u, w=w + h * v, k=k)
        (below,) = run(made, x=x - h * u, w=w - h * v, k=k)
        assert_close(np.vdot(dx, u) + np.vdot(dw, v), (above - below) / (2 * h), 1e-7)


@with_reverse
def test_the_gradient_of_a_gradient_is_the_product_with_the_hessian(case: Case) -> None:
    (x, w), u = values(), np.array([0.3, -1.2, 0.7])
    g = rlx.Graph("contracted")
    (gx,) = g.inline(rlx.grad(graph(case), ["x"]))
    g.set_outputs([g.reduce_sum(gx * u)])
    second = rlx.grad(g, NAMES, zero_missing_wrt=True)

    def contracted(x: Any, w: Any, k: Any) -> Any:
        return jnp.sum(jax.grad(case.in_jax)(x, w, k) * u)

    evaluated = jaxpr.trace(jax.grad(contracted, (0, 1)), x, w, np.int32(0))
    for k in map(np.int32, case.ks):
        assert_close_all(run(second, x=x, w=w, k=k), evaluated(x, w, k))


@pytest.mark.sampled
@cases
@pytest.mark.parametrize("batched", [["x"], ["x", "w", "k"]], ids="+".join)
def test_batches_are_those_of_jax(case: Case, batched: list[str]) -> None:
    """The predicate the same for all, or not, by its own operand or by what is differentiated."""
    size = len(case.ks)
    together = {"x": values(size)[0], "w": values(size)[1], "k": np.array(case.ks, np.int32)}
    arrays = {name: a if name in batched else a[-1] for name, a in together.items()}
    axes = [0 if name in batched else None for name in together]
    u = np.array([0.3, -1.2, 0.7])

    def tangent(x: Any, w: Any, k: Any) -> Any:
        return jax.jvp(lambda x: case.in_jax(x, w, k), (x,), (u,))

    def compare(made: Any, in_jax: Callable[..., Any]) -> None:
        assert_close_all(run(made, **arrays, tangent_x=u), jaxpr.evaluate(in_jax, *arrays.values()))

    compare(rlx.vmap(rlx.jvp(graph(case), ["x"]), batched, size), jax.vmap(tangent, axes))
    if not case.reverse:
        return
    compare(rlx.vmap(rlx.grad(graph(case), NAMES), batched, size), jax.vmap(jax.grad(case.in_jax, (0, 1)), axes))
    if case.build is nan_elsewhere and "k" in batched:
        # a choice between both branches, taken before the gradient, has 0 times infinity in it, in JAX too
        return
    losses = rlx.Graph("sum")
    (each,) = losses.inline(rlx.vmap(graph(case), batched, size))
    losses.set_outputs(losses.reduce_sum(each))
    compare(rlx.grad(losses, NAMES), jax.grad(lambda *a: jnp.sum(jax.vmap(case.in_jax, axes)(*a)), (0, 1)))


@pytest.mark.parametrize("again", [False, True])
def test_nothing_inside_of_a_remat_is_kept_until_the_backward_pass(again: bool) -> None:
    """In a scan, where what is kept is stacked: the carry, and else each result whose derivative needs it."""
    g = rlx.Graph("g")
    x, w = g.param("x", (5, 3), "f64"), g.param("w", (3,), "f64")

    def body(c: Any, e: Any) -> Any:
        def step(c: Any) -> Any:
            return g.tanh(g.exp(g.sin(c) * e) * w)

        return (g.remat(step, c) if again else step(c)), None

    g.set_outputs(g.reduce_sum(g.scan(body, w, x)[0]))
    scans = [op for op in rlx.prepare_for_ad(g).module.walk() if isinstance(op, ScanOp)]
    assert [len(op.ys) for op in scans] == ([1] if again else [4])


CAPTURED_TWICE = """
func.func @f(%x: tensor<f64> {mir.name = "x", mir.kind = "param"}) -> tensor<f64> {
  %p = mir.gt %x, %x : (tensor<f64>, tensor<f64>) -> tensor<i1>
  %0 = mir.if %p : tensor<i1> captured(%x, %x : tensor<f64>, tensor<f64>) -> (tensor<f64>) {
  ^bb0(%a: tensor<f64>, %b: tensor<f64>):
    mir.yield %a : tensor<f64>
  } else {
  ^bb1(%a: tensor<f64>, %b: tensor<f64>):
    %1 = mir.mul %a, %b : (tensor<f64>, tensor<f64>) -> tensor<f64>
    mir.yield %1 : tensor<f64>
  }
  %2 = mir.remat captured(%0, %x, %0 : tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<f64>) {
  ^bb2(%a: tensor<f64>, %b: tensor<f64>, %c: tensor<f64>):
    %3 = mir.sin %b : tensor<f64>
    %4 = mir.mul %a, %c : (tensor<f64>, tensor<f64>) -> tensor<f64>
    %5 = mir.mul %3, %4 : (tensor<f64>, tensor<f64>) -> tensor<f64>
    mir.yield %5 : tensor<f64>
  }
  %6, %u, %n = mir.while carries(%2, %2 : tensor<f64>, tensor<f64>) captured(%x, %x : tensor<f64>, tensor<f64>)
      max_iterations 2 -> (tensor<f64>, tensor<f64>) {
  ^bb3(%a: tensor<f64>, %b: tensor<f64>, %c: tensor<f64>, %d: tensor<f64>):
    %q = mir.constant dense<true> : tensor<i1>
    mir.yield %q : tensor<i1>
  } do {
  ^bb4(%a: tensor<f64>, %b: tensor<f64>, %c: tensor<f64>, %d: tensor<f64>):
    %7 = mir.mul %a, %c : (tensor<f64>, tensor<f64>) -> tensor<f64>
    %8 = mir.mul %b, %d : (tensor<f64>, tensor<f64>) -> tensor<f64>
    mir.yield %8, %7 : tensor<f64>, tensor<f64>
  }
  func.return %6 : tensor<f64>
}"""


def test_a_value_that_goes_in_twice_has_one_derivative() -> None:
    """Of x^6 sin x."""
    module = rlx.parse(
        "\n".join(CAPTURED_TWICE.splitlines()).replace(
            "-> (tensor<f64>, tensor<f64>) {", "-> (tensor<f64>, tensor<f64>) {"
        )
    )
    x = 1.3
    first = 6 * x**5 * np.sin(x) + x**6 * np.cos(x)
    second = 30 * x**4 * np.sin(x) + 12 * x**5 * np.cos(x) - x**6 * np.sin(x)
    assert_close_all(run(rlx.grad_with_loss(module, ["x"]), x=x), [x**6 * np.sin(x), first])
    assert_close_all(run(rlx.jvp(module, ["x"]), x=x, tangent_x=2.0), [x**6 * np.sin(x), 2 * first])
    assert_close(run(rlx.nth_order_grad(module, "x"), x=x)[0], second)
    assert_close(run(rlx.vmap(module, ["x"], 1), x=[x])[0], [x**6 * np.sin(x)])


BODIES: dict[str, Callable[[rlx.Graph, Callable[[Any, Any], Any], Any, Any], Any]] = {
    "branch": lambda g, f, x, u: g.cond(g.reduce_sum(x) > 0.0, f, lambda a, b: (a * 2.0, b), x, u),
    "choice": lambda g, f, x, u: g.switch(g.full((), 1, "i32"), [lambda a, b: (a, b), f], x, u),
    "remat": lambda g, f, x, u: g.remat(f, x, u),
    "function": lambda g, f, x, u: g.custom_fn(f, x, u),
    "loop": lambda g, f, x, u: g.while_loop(
        lambda c: g.reduce_sum(c[0]) < 50.0, lambda c: f(*c), (x, u), max_iterations=2
    ),
    "scan": lambda g, f, x, u: g.scan(lambda c, e: (f(*c), None), (x, u), length=2)[0],
}


@pytest.mark.parametrize("body", BODIES)
def test_a_value_that_is_compared_in_a_body_has_no_gradient_whatever_else_has(body: str) -> None:
    """A second result, which does depend on it, is none of what the loss is computed from."""
    g = rlx.Graph("compared")
    x, u = g.param("x", (3,), "f64"), g.param("u", (3,), "f64")
    y, z = BODIES[body](g, lambda a, b: (g.where(b > 0.0, a * a, a), b * 3.0), x, u)
    g.set_outputs([g.reduce_sum(y), z])
    for wrt in (["u"], ["x", "u"]):
        with pytest.raises(rlx.GraphError, match=r'no gradient flows from the loss to "u": \S'):
            rlx.grad(g, wrt)
    a, b = np.array([2.0, -3.0, 5.0]), np.array([1.0, -1.0, 2.0])
    power = 4 if body in ("loop", "scan") else 2
    slope = np.where(b > 0, power * a ** (power - 1), 1.0)
    *_, dx, du = run(rlx.grad_with_loss(g, ["x", "u"], zero_missing_wrt=True), x=a, u=b)
    assert_close_all([dx, du], [slope, np.zeros(3)])
    assert_close(run(rlx.grad(g, ["x"]), x=a, u=b)[0], slope)
    g.set_outputs([g.reduce_sum(z) + g.reduce_sum(y)])
    dx, du = run(rlx.grad(g, ["x", "u"]), x=a, u=b)
    assert_close_all([dx, du], [slope, np.full(3, 3.0 ** (power // 2))])


@pytest.mark.sampled
@pytest.mark.parametrize("bound", [0, 1, 3])
@pytest.mark.parametrize("k", [0, 1, 5])
def test_a_loop_that_would_go_on_has_the_derivatives_of_its_bound(bound: int, k: int) -> None:
    """It squares while the count is below k: as often as the smaller of k and the bound says, which may be never."""
    g = rlx.Graph("bounded")
    x, limit, start = g.param("x", (3,), "f64"), g.input("k", (), "i32"), g.full((), 0, "i32")
    (y, _), trips = g.while_loop(
        lambda c: c[1] < limit, lambda c: (c[0] * c[0], c[1] + 1), (x, start), max_iterations=bound, return_trips=True
    )
    g.set_outputs([g.reduce_sum(y), trips])
    x, v, times = np.array([0.5, -1.25, 1.5]), np.array([1.0, -2.0, 0.5]), min(bound, k)
    power = 2**times
    slope = power * x ** (power - 1)
    value, trips, dx = run(rlx.grad_with_loss(g, ["x"]), x=x, k=k)
    assert_close_all([value, trips, dx], [np.sum(x**power), times, slope])
    assert_close(run(rlx.jvp(g, ["x"]), x=x, k=k, tangent_x=v)[2], slope @ v)
    curvature = power * (power - 1) * x ** max(power - 2, 0)
    assert_close(run(rlx.hvp(g, ["x"]), x=x, k=k, tangent_x=v)[-1], curvature * v)


@pytest.mark.sampled
@with_reverse
@pytest.mark.parametrize("passes", ["", "mir-unroll-while,mir-inline-if"], ids=["as it is", "inlined"])
def test_gradients_are_compiled(case: Case, passes: str) -> None:
    gradient = as_graph_module(rlx.grad_with_loss(graph(case), NAMES))
    made = rlx.run_passes(gradient, passes) if passes else gradient
    compiled = compile_module(made.module, 1, Effort.QUICK)
    x, w = values()
    for k in map(np.int32, case.ks):
        assert_close_all(compiled(x=x, w=w, k=k), run(gradient, x=x, w=w, k=k))


@pytest.mark.parametrize("case", [c for c in CASES if not c.reverse], ids=lambda case: case.name)
def test_tangents_of_loops_are_compiled(case: Case) -> None:
    """Without a bound, of one example and of a batch in which each is done at a time of its own."""
    forward = as_graph_module(rlx.jvp(graph(case), ["x"]))
    batch = as_graph_module(rlx.vmap(forward, ["k"], len(case.ks)))
    (x, w), (u, _) = values(), along()
    compiled = compile_module(forward.module, 1, Effort.QUICK)
    for k in map(np.int32, case.ks):
        found = compiled(x=x, w=w, k=k, tangent_x=u)
        assert_close_all(found, run(forward, x=x, w=w, k=k, tangent_x=u))
    ks = np.array(case.ks, np.int32)
    found = compile_module(batch.module, 1, Effort.QUICK)(x=x, w=w, k=ks, tangent_x=u)
    assert_close_all(found, run(batch, x=x, w=w, k=ks, tangent_x=u))
