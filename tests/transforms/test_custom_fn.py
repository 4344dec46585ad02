"""Functions with derivative rules of their own against `jax.custom_vjp` and `jax.custom_jvp`: rules that are right, and
rules that are not, which show that it is they that were used."""

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
from xdsl_rlx.dialects.mir.custom_fn import CustomFnOp
from xdsl_rlx.lowering.backend.machine.llvm import Effort
from xdsl_rlx.lowering.backend.runtime.compile_module import compile_module

jax.config.update("jax_enable_x64", True)

Array = np.ndarray[Any, Any]
NAMES = ["x", "w"]
Rule = Callable[..., Any]


def with_vjp(fn: Rule, vjp: Rule) -> Rule:
    """`fn` in JAX, with a rule of our form for reverse mode."""
    made = jax.custom_vjp(fn)

    def forward(*xs: Any) -> Any:
        y = made(*xs)
        return y, (xs, y)

    def backward(saved: Any, g: Any) -> Any:
        xs, y = saved
        found = vjp(*xs, *_several(y), *_several(g))
        return _several(found)

    made.defvjp(forward, backward)
    return made


def with_jvp(fn: Rule, jvp: Rule) -> Rule:
    """`fn` in JAX, with a rule of our form for forward mode."""
    made = jax.custom_jvp(fn)
    made.defjvp(lambda xs, ts: (made(*xs), jvp(*xs, *ts)))
    return made


def _several(x: Any) -> tuple[Any, ...]:
    return x if isinstance(x, tuple) else (x,)


@dataclass(frozen=True)
class Case:
    """A loss of x [3] and w [3], here and in JAX, both by the same functions of an array library."""

    name: str
    build: Callable[[rlx.Graph, Any, Any], Any]
    in_jax: Callable[[Any, Any], Any]
    forward: bool = False
    """Whether it has forward mode."""


def odd(g: rlx.Graph, x: Any, w: Any) -> Any:
    """A square whose cotangent is a sine."""
    return g.reduce_sum(g.custom_fn(lambda a: a * a, x, vjp=lambda a, y, d: g.sin(d)) * w)


def odd_in_jax(x: Any, w: Any) -> Any:
    return jnp.sum(with_vjp(lambda a: a * a, lambda a, y, d: jnp.sin(d))(x) * w)


def clipped(g: rlx.Graph, x: Any, w: Any) -> Any:
    y = g.custom_fn(lambda a: a, x * w, vjp=lambda a, y, d: g.max(g.min(d, 0.5), -0.5))
    return g.reduce_sum(y * y * x)


def clipped_in_jax(x: Any, w: Any) -> Any:
    y = with_vjp(lambda a: a, lambda a, y, d: jnp.clip(d, -0.5, 0.5))(x * w)
    return jnp.sum(y * y * x)


def straight_through(g: rlx.Graph, x: Any, w: Any) -> Any:
    """Rounding is handed on as if it were nothing: in reverse mode too, by the transpose."""
    return g.reduce_sum(g.custom_fn(g.round, x * 3.0, jvp=lambda a, t: t) * w * w)


def straight_through_in_jax(x: Any, w: Any) -> Any:
    return jnp.sum(with_jvp(lambda a: jnp.round(a), lambda a, t: t)(x * 3.0) * w * w)


def several(g: rlx.Graph, x: Any, w: Any) -> Any:
    """Two operands, two results, rules that read them all, and are not those of the function."""
    y, z = g.custom_fn(
        lambda a, b: (a * b, g.reduce_sum(a + b)),
        x,
        w,
        vjp=lambda a, b, y, z, d, e: (d * b + e * y, d * z + g.sin(a) * e),
    )
    return g.reduce_sum(y * x) * z


def several_in_jax(x: Any, w: Any) -> Any:
    rule = lambda a, b, y, z, d, e: (d * b + e * y, d * z + jnp.sin(a) * e)  # noqa: E731
    y, z = with_vjp(lambda a, b: (a * b, jnp.sum(a + b)), rule)(x, w)
    return jnp.sum(y * x) * z


def transposed(g: rlx.Graph, x: Any, w: Any) -> Any:
    """A rule for forward mode with a choice, a product and a sum in it, which is not that of the function."""
    y, z = g.custom_fn(
        lambda a, b: (g.sin(a) * b, g.reduce_sum(a)),
        x,
        w,
        jvp=lambda a, b, s, t: (g.where(a > 0, s * b * 3.0, -t) + g.reduce_sum(s * a), g.reduce_sum(t / (b * b + 1.0))),
    )
    return g.reduce_sum(y * y) * z


def transposed_in_jax(x: Any, w: Any) -> Any:
    def rule(a: Any, b: Any, s: Any, t: Any) -> Any:
        return jnp.where(a > 0, s * b * 3.0, -t) + jnp.sum(s * a), jnp.sum(t / (b * b + 1.0))

    y, z = with_jvp(lambda a, b: (jnp.sin(a) * b, jnp.sum(a)), rule)(x, w)
    return jnp.sum(y * y) * z


def plain(g: rlx.Graph, x: Any, w: Any) -> Any:
    """No rules, and a value from around it."""
    y, z = g.custom_fn(lambda a: (g.sin(a) * w, g.reduce_sum(a)), x * w)
    return g.reduce_sum(y * x) * z


def plain_in_jax(x: Any, w: Any) -> Any:
    return jnp.sum(jnp.sin(x * w) * w * x) * jnp.sum(x * w)


def root(g: rlx.Graph, x: Any, w: Any) -> Any:
    """A function that a loop without a bound computes, and its derivative by the equation that it solves: y^2 = a."""

    def newton(a: Any) -> Any:
        going = lambda y: g.reduce_max(g.abs(y * y - a)) > 1e-13 * g.reduce_max(a)  # noqa: E731
        return g.while_loop(going, lambda y: 0.5 * (y + a / y), a)

    return g.reduce_sum(g.custom_fn(newton, x * x + 1.0, vjp=lambda a, y, d: d / (2.0 * y)) * w * x)


def root_in_jax(x: Any, w: Any) -> Any:
    def newton(a: Any) -> Any:
        going = lambda y: jnp.max(jnp.abs(y * y - a)) > 1e-13 * jnp.max(a)  # noqa: E731
        return jax.lax.while_loop(going, lambda y: 0.5 * (y + a / y), a)

    return jnp.sum(with_vjp(newton, lambda a, y, d: d / (2.0 * y))(x * x + 1.0) * w * x)


def in_a_scan(g: rlx.Graph, x: Any, w: Any) -> Any:
    def body(c: Any, e: Any) -> Any:
        y = g.custom_fn(lambda a, b: g.tanh(a * b), c, w, vjp=lambda a, b, y, d: (g.sin(d) * b, d * y))
        z = g.custom_fn(lambda a: g.sin(a) * e, y)
        return z + e, g.reduce_sum(y * c)

    last, ys = g.scan(body, x, x * w)
    return g.reduce_sum(last * last) + g.reduce_sum(ys)


def in_a_scan_in_jax(x: Any, w: Any) -> Any:
    odd = with_vjp(lambda a, b: jnp.tanh(a * b), lambda a, b, y, d: (jnp.sin(d) * b, d * y))

    def body(c: Any, e: Any) -> Any:
        y = odd(c, w)
        return jnp.sin(y) * e + e, jnp.sum(y * c)

    last, ys = jax.lax.scan(body, x, x * w)
    return jnp.sum(last * last) + jnp.sum(ys)


def forwards_in_a_scan(g: rlx.Graph, x: Any, w: Any) -> Any:
    def body(c: Any, e: Any) -> Any:
        y = g.custom_fn(lambda a, b: g.tanh(a * b), c, w, jvp=lambda a, b, s, t: s * b * 2.0 + g.cos(a) * t)
        return y + e, g.reduce_sum(y * c)

    last, ys = g.scan(body, x, x * w)
    return g.reduce_sum(last * last) + g.reduce_sum(ys)


def forwards_in_a_scan_in_jax(x: Any, w: Any) -> Any:
    """Written out: `jax.lax.scan` forgets the rule in what its gradient saves, and has another second derivative."""
    odd = with_jvp(lambda a, b: jnp.tanh(a * b), lambda a, b, s, t: s * b * 2.0 + jnp.cos(a) * t)
    c, total = x, 0.0
    for e in x * w:
        y = odd(c, w)
        total, c = total + jnp.sum(y * c), y + e
    return jnp.sum(c * c) + total


def nested(g: rlx.Graph, x: Any, w: Any) -> Any:
    """In a branch, in a region that is computed again, and one in the rule and the function of another."""

    def inner(a: Any) -> Any:
        return g.custom_fn(g.sin, a, jvp=lambda a, t: 2.0 * t * a)

    def outer(a: Any) -> Any:
        return g.custom_fn(lambda a: inner(a) * a, a, jvp=lambda a, t: inner(a) * t)

    return g.reduce_sum(g.cond(g.reduce_sum(x * w) > 0, lambda: outer(x), lambda: x) * g.remat(lambda b: inner(b), w))


def nested_in_jax(x: Any, w: Any) -> Any:
    inner = with_jvp(jnp.sin, lambda a, t: 2.0 * t * a)
    outer = with_jvp(lambda a: inner(a) * a, lambda a, t: inner(a) * t)
    return jnp.sum(jax.lax.cond(jnp.sum(x * w) > 0, lambda: outer(x), lambda: x) * jax.checkpoint(inner)(w))


CASES = [
    Case("odd", odd, odd_in_jax),
    Case("clipped", clipped, clipped_in_jax),
    Case("straight-through", straight_through, straight_through_in_jax, forward=True),
    Case("several", several, several_in_jax),
    Case("transposed", transposed, transposed_in_jax, forward=True),
    Case("plain", plain, plain_in_jax, forward=True),
    Case("root", root, root_in_jax),
    Case("in a scan", in_a_scan, in_a_scan_in_jax),
    Case("forwards in a scan", forwards_in_a_scan, forwards_in_a_scan_in_jax, forward=True),
    Case("nested", nested, nested_in_jax, forward=True),
]
cases = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
forwards = pytest.mark.parametrize("case", [c for c in CASES if c.forward], ids=lambda case: case.name)


def graph(case: Case) -> rlx.Graph:
    g = rlx.Graph("loss")
    g.set_outputs(case.build(g, g.param("x", (3,), "f64"), g.param("w", (3,), "f64")))
    return g


def values(*leading: int) -> list[Array]:
    rng = np.random.default_rng(8)
    return [rng.standard_normal((*leading, 3)) for _ in NAMES]


def assert_close_all(found: Sequence[Any], expected: Sequence[Any]) -> None:
    for one, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(np.asarray(one), np.asarray(wanted), rtol=1e-11, atol=1e-11)


@cases
def test_values_and_gradients_are_those_of_jax(case: Case) -> None:
    x, w = values()
    expected = jaxpr.evaluate(jax.value_and_grad(case.in_jax, (0, 1)), x, w)
    assert_close_all(run(graph(case), x=x, w=w), expected[:1])
    assert_close_all(run(rlx.grad_with_loss(graph(case), NAMES, zero_missing_wrt=True), x=x, w=w), expected)


@forwards
def test_tangents_and_products_with_the_hessian_are_those_of_jax(case: Case) -> None:
    x, w = values()
    u, v = 0.5 * w, x[::-1].copy()

    def products(x: Any, w: Any, u: Any, v: Any) -> Any:
        return jax.jvp(jax.grad(case.in_jax, (0, 1)), (x, w), (u, v))[1]

    tangents = jaxpr.evaluate(lambda x, w, u, v: jax.jvp(case.in_jax, (x, w), (u, v)), x, w, u, v)
    moved = {"x": x, "w": w, "tangent_x": u, "tangent_w": v}
    assert_close_all(run(rlx.jvp(graph(case), NAMES), **moved), tangents)
    found = run(rlx.hvp(graph(case), NAMES), **moved)
    assert_close_all(found[-2:], jaxpr.evaluate(products, x, w, u, v))


@cases
def test_the_gradient_of_a_gradient_is_that_of_jax(case: Case) -> None:
    (x, w), u = values(), np.array([0.3, -1.2, 0.7])
    g = rlx.Graph("contracted")
    gx, gw = g.inline(rlx.grad(graph(case), NAMES))
    g.set_outputs([g.reduce_sum(gx * u + gw * gw)])

    def contracted(x: Any, w: Any) -> Any:
        dx, dw = jax.grad(case.in_jax, (0, 1))(x, w)
        return jnp.sum(dx * u + dw * dw)

    second = rlx.grad(g, NAMES, zero_missing_wrt=True)
    assert_close_all(run(second, x=x, w=w), jaxpr.evaluate(jax.grad(contracted, (0, 1)), x, w))


@pytest.mark.sampled
@cases
@pytest.mark.parametrize("batched", [["x"], ["w"], ["x", "w"]], ids="+".join)
def test_batches_are_those_of_jax(case: Case, batched: list[str]) -> None:
    """Values, the gradient of each, and the gradient of the sum, by what is the same for all too."""
    size = 4
    together = dict(zip(NAMES, values(size), strict=True))
    arrays = {name: a if name in batched else a[-1] for name, a in together.items()}
    axes = [0 if name in batched else None for name in NAMES]

    def compare(made: Any, in_jax: Callable[..., Any]) -> None:
        assert_close_all(run(made, **arrays), jaxpr.evaluate(in_jax, *arrays.values()))

    made = rlx.vmap(graph(case), batched, size)
    compare(made, jax.vmap(case.in_jax, axes))
    of_each = rlx.grad(graph(case), NAMES, zero_missing_wrt=True)
    compare(rlx.vmap(of_each, batched, size), jax.vmap(jax.grad(case.in_jax, (0, 1)), axes))
    losses = rlx.Graph("sum")
    (each,) = losses.inline(made)
    losses.set_outputs(losses.reduce_sum(each * each))
    squares = lambda *a: jnp.sum(jax.vmap(case.in_jax, axes)(*a) ** 2)  # noqa: E731
    compare(rlx.grad(losses, NAMES, zero_missing_wrt=True), jax.grad(squares, (0, 1)))
    if case.forward:
        u = np.array([0.3, -1.2, 0.7])
        tangent = lambda x, w: jax.jvp(lambda x: jax.vmap(case.in_jax, axes)(x, w), (x,), (u + 0 * x,))  # noqa: E731
        moved = arrays | {"tangent_x": u + 0 * arrays["x"]}
        assert_close_all(run(rlx.jvp(made, ["x"]), **moved), jaxpr.evaluate(tangent, *arrays.values()))


def test_a_rule_sees_the_cotangents_of_each_of_a_batch() -> None:
    """Of a result that is the same for all too: one by one the sum is this, whereas JAX adds up before the rule."""
    g = rlx.Graph("g")
    x, w = g.param("x", (), "f64"), g.param("w", (), "f64")
    y, z = g.custom_fn(lambda a, b: (a * b, g.sin(b)), x, w, vjp=lambda a, b, y, z, d, e: (e * y, g.sin(e) * a))
    g.set_outputs(y * z)
    losses = rlx.Graph("sum")
    (each,) = losses.inline(rlx.vmap(g, ["x"], 4))
    losses.set_outputs(losses.reduce_sum(each * each))
    x, w = np.array([0.5, -1.0, 2.0, 1.5]), 0.7
    y = x * w
    e = 2.0 * y * np.sin(w) * y
    assert_close_all(run(rlx.grad(losses, NAMES), x=x, w=w), [e * y, np.sum(np.sin(e) * x)])


@cases
def test_gradients_are_compiled(case: Case) -> None:
    gradient = as_graph_module(rlx.grad_with_loss(graph(case), NAMES, zero_missing_wrt=True))
    x, w = values()
    compiled = compile_module(gradient.module, 1, Effort.QUICK)
    assert_close_all(compiled(x=x, w=w), run(gradient, x=x, w=w))


def count(made: Any, name: str) -> int:
    return sum(op.name == name for op in as_graph_module(made).module.walk())


def test_the_body_of_a_rule_stands_in_the_gradient() -> None:
    """Section 6 of the op sheet, 16: a square whose rule returns sin(d_output)."""
    g = rlx.Graph("g")
    x = g.param("x", (4,))
    g.set_outputs(g.reduce_sum(g.custom_fn(lambda a: a * a, x, vjp=lambda a, y, d: g.sin(d))))
    gradient = rlx.grad_with_loss(g, ["x"])
    assert len(gradient.signature.outputs) == 2
    (kept,) = [op for op in gradient.module.walk() if isinstance(op, CustomFnOp)]
    outside = [op.name for op in gradient.module.walk() if op.parent_op() is not kept]
    assert outside.count("mir.sin") == 1


def test_a_function_without_rules_is_inlined_for_its_gradient() -> None:
    """Section 6 of the op sheet, 17."""
    g = rlx.Graph("g")
    x = g.param("x", (4,))
    g.set_outputs(g.reduce_sum(g.custom_fn(lambda a: a * a, x)))
    gradient = rlx.grad_with_loss(g, ["x"])
    assert len(gradient.signature.outputs) == 2
    assert not count(gradient, "mir.custom_fn") and count(gradient, "mir.mul") >= 2


def test_loops_behind_a_rule_are_not_made_ready_to_go_back_over() -> None:
    """One without a bound, alone and in a scan; one with a bound stays a loop."""
    g = rlx.Graph("g")
    x = g.param("x", (), "f64")

    def halved(a: Any, most: int | None = None) -> Any:
        return g.while_loop(lambda y: y > 1.0, lambda y: y * 0.5, a, max_iterations=most)

    def many(a: Any) -> Any:
        return g.scan(lambda c, e: (halved(c * e), None), a, g.full((5,), 3.0, "f64"))[0]

    total = x
    for function in (halved, lambda a: halved(a, 9), many):
        total = total + g.custom_fn(function, x, vjp=lambda a, y, d: d * y * 2.0)
    g.set_outputs(total)
    gradient = rlx.grad_with_loss(g, ["x"])
    assert (count(gradient, "mir.while"), count(gradient, "mir.scan")) == (3, 1)
    (scan,) = [op for op in gradient.module.walk() if op.name == "mir.scan"]
    assert len(scan.results) == 1
    y, z = 5.0 / 8, 5.0
    for _ in range(5):
        z *= 3.0
        while z > 1.0:
            z /= 2
    assert_close_all(run(gradient, x=5.0), [5.0 + 2 * y + z, 1 + 4 * y + 2 * z])


def test_both_rules_serve_a_mode_each() -> None:
    """And a product with the Hessian: forward mode of what the rule for reverse mode built."""
    g = rlx.Graph("g")
    x = g.param("x", (3,), "f64")
    y = g.custom_fn(lambda a: a * a, x, vjp=lambda a, y, d: d * a * 5.0, jvp=lambda a, t: t * a * 7.0)
    g.set_outputs(g.reduce_sum(y * y))
    a, t = np.array([1.0, -2.0, 0.5]), np.array([0.1, 0.2, -0.4])
    assert_close_all(run(rlx.grad(g, ["x"]), x=a), [2 * a**2 * 5 * a])
    assert_close_all(run(rlx.jvp(g, ["x"]), x=a, tangent_x=t)[1:], [np.sum(2 * a**2 * 7 * a * t)])
    # d/dx of 10 y x, where y moves by 7 x t
    assert_close_all(run(rlx.hvp(g, ["x"]), x=a, tangent_x=t)[-1:], [10 * (a**2 + 7 * a * a) * t])


def test_integers_go_in_and_come_out_without_cotangents() -> None:
    def build(g: rlx.Graph) -> tuple[Any, Any]:
        x, n = g.param("x", (3,), "f64"), g.input("n", (3,), "i32")

        def rule(a: Any, n: Any, y: Any, m: Any, d: Any) -> Any:
            return d * g.cast(n + m, "f64")

        return g.custom_fn(lambda a, n: (a * g.cast(n, "f64"), n + 1), x, n, vjp=rule)

    g = rlx.Graph("g")
    y, m = build(g)
    g.set_outputs([g.reduce_sum(y), m])
    x, n = np.array([1.0, 2.0, 3.0]), np.array([4, 5, 6], np.int32)
    assert_close_all(run(rlx.grad_with_loss(g, ["x"]), x=x, n=n), [32.0, n + 1, 2.0 * n + 1])
    batch = run(rlx.vmap(rlx.grad(g, ["x"]), ["n"], 2), x=x, n=np.stack([n, -n]))
    assert_close_all(batch, [[2.0 * n + 1, -2.0 * n + 1]])


def test_a_rule_for_forward_mode_has_its_adjoint_in_complex_numbers() -> None:
    """<v, J u> = <J^H v, u>, by the convention that a gradient is dL/dx + i dL/dy."""
    g = rlx.Graph("g")
    x, c = g.param("x", (3,), "c128"), g.input("c", (3,), "c128")
    g.set_outputs(g.custom_fn(lambda a, c: a * a, x, c, jvp=lambda a, c, s, t: s * c * a + t * 0.0))
    rng = np.random.default_rng(3)
    x, c, u, v = (rng.standard_normal(3) + 1j * rng.standard_normal(3) for _ in range(4))
    (_, forward) = run(rlx.jvp(g, ["x"]), x=x, c=c, tangent_x=u)
    (backward,) = run(rlx.grad(g, ["x"]), x=x, c=c, d_output=v)
    np.testing.assert_allclose(forward, u * c * x, rtol=1e-12)
    np.testing.assert_allclose(np.vdot(v, forward).real, np.vdot(backward, u).real, rtol=1e-12)


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_rules_of_half_floats_are_rules(dtype: str) -> None:
    g = rlx.Graph("g")
    x = g.param("x", (4,), dtype)
    g.set_outputs(g.reduce_sum(g.custom_fn(lambda a: a * a, x, vjp=lambda a, y, d: d * a * 4.0)))
    (dx,) = run(rlx.grad(g, ["x"]), x=[1.0, 2.0, -0.5, 0.25])
    np.testing.assert_array_equal(dx.astype(np.float64), [4.0, 8.0, -2.0, 1.0])
