"""
`rlx.custom_vjp` and `rlx.custom_jvp` beside those of JAX, with rules that are not the derivative of the function.

Only where JAX differentiates `fwd` once more, in second derivatives of a `custom_vjp`, a rule is the derivative.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import oracle
import pytest
from numerics import jaxpr
from peer_rows import Family, Row

import xdsl_rlx as rlx

Make = Callable[[Any, Any, Any], Callable[..., Any]]
"""A function made with the custom derivatives of a library, its array functions and its scan."""

X = np.linspace(-1.0, 1.5, 4)
W = np.linspace(0.5, 2.0, 4)


def trees(lib: Any, xp: Any, scan: Any) -> Callable[..., Any]:
    """Trees as arguments, residuals and results, and a default."""

    @lib.custom_vjp
    def f(p: Any, x: Any, scale: Any = 2.0) -> Any:
        return {"y": xp.sin(p["w"] * x) * scale, "sizes": (p["w"] * p["w"], x)}

    def fwd(p: Any, x: Any, scale: Any = 2.0) -> Any:
        y = {"y": xp.sin(p["w"] * x) * scale, "sizes": (p["w"] * p["w"], x)}
        return y, {"cos": xp.cos(p["w"] * x) * scale, "both": (p["w"], [x])}

    def bwd(saved: Any, g: Any) -> Any:
        w, (x,) = saved["both"]
        of_y, (of_size, _) = saved["cos"] * g["y"], g["sizes"]
        return {"w": of_y * x + 2 * w * of_size}, of_y * w, None

    f.defvjp(fwd, bwd)
    return lambda x, w: f({"w": w}, x=x)


def itself(lib: Any, xp: Any, scan: Any) -> Callable[..., Any]:
    """A forward rule that calls the function, which is how most are written."""

    @lib.custom_vjp
    def f(x: Any, w: Any) -> Any:
        return xp.exp(x) * w

    f.defvjp(lambda x, w: (y := f(x, w), (y, w)), lambda saved, g: (saved[0] * g * 2, saved[0] / saved[1] * g))
    return lambda x, w: f(x, w) ** 2


def recursive(lib: Any, xp: Any, scan: Any) -> Callable[..., Any]:
    """A linear function whose transpose is itself between two reversals."""

    @lib.custom_vjp
    def f(x: Any) -> Any:
        return xp.cumsum(x)

    f.defvjp(lambda x: (xp.cumsum(x), None), lambda _, g: (f(g[::-1])[::-1],))
    return lambda x, w: f(f(x * w) * w)


def chosen(lib: Any, xp: Any, scan: Any) -> Callable[..., Any]:
    """Functions, texts and integers that have no derivative."""

    @partial(lib.custom_vjp, nondiff_argnums=(0, 3))
    def f(h: Any, x: Any, n: Any, kind: str) -> Any:
        return h(x) * 2 if kind == "scaled" else x, n + 1

    def bwd(h: Any, kind: str, saved: Any, g: Any) -> Any:
        assert kind == "scaled"
        return h(saved) * g[0], None

    f.defvjp(lambda h, x, n, kind: ((h(x) * 2, n + 1), x), bwd)
    return lambda x, w: f(xp.tanh, x * w, xp.array([3, 1, 2, 0]) if lib is jax else np.array([3, 1, 2, 0]), "scaled")[0]


def forward(lib: Any, xp: Any, scan: Any) -> Callable[..., Any]:
    @partial(lib.custom_jvp, nondiff_argnums=(1,))
    def f(p: Any, n: int) -> Any:
        return {"a": p["x"] ** n, "b": p["w"].sum()}

    @f.defjvp
    def _(n: int, primals: Any, tangents: Any) -> Any:
        (p,), (t,) = primals, tangents
        y = f(p, n)
        return y, {"a": (n + 1) * y["a"] / p["x"] * t["x"], "b": (t["w"] * p["x"]).sum()}

    return lambda x, w: f({"x": x, "w": w}, 3)


def by_argument(lib: Any, xp: Any, scan: Any) -> Callable[..., Any]:
    @lib.custom_jvp
    def f(x: Any, y: Any, z: Any) -> Any:
        return x * y + z

    f.defjvps(lambda t, ans, x, y, z: t * y * y, lambda t, ans, x, y, z: ans * t, None)
    return lambda x, w: f(x, w, x) * f(w, x, w)


def looped(lib: Any, xp: Any, scan: Any) -> Callable[..., Any]:
    """Both kinds inside of a scan, by values from around it."""
    f, g = recursive(lib, xp, scan), by_argument(lib, xp, scan)

    def body(carry: Any, x: Any) -> Any:
        new = xp.sin(f(carry, x) + 0.1 * g(carry, x))
        return new, new.sum()

    return lambda x, w: scan(body, x, xp.stack([w, x, w * x]))


CASES: dict[str, Make] = {one.__name__: one for one in (trees, itself, recursive, chosen, forward, by_argument, looped)}
FAMILY = Family(
    [
        Row(
            name,
            make(rlx, np, rlx.scan),
            make(jax, jnp, jax.lax.scan),
            [X, W],
            (0, 1),
            # JAX has no forward mode of a rule that calls a custom_vjp function
            orders=1 if make is itself or make is recursive or make is looped else 2,
            half=2e-1 if make is looped else 2e-2,
        )
        for name, make in CASES.items()
    ]
)


@pytest.mark.parametrize("name", FAMILY.names)
def test_a_function_with_rules_is_that_of_jax(name: str) -> None:
    FAMILY.check(name)


def test_rules_that_call_their_function_hold_for_second_derivatives() -> None:
    """JAX has reverse over reverse of these."""
    for make in (itself, recursive):
        ours, theirs = make(rlx, np, rlx.scan), make(jax, jnp, jax.lax.scan)

        def second(lib: Any, f: Any) -> Any:
            return lib.grad(lambda x, w: (lib.grad(lambda x, w: (f(x, w) ** 2).sum())(x, w) * w).sum(), argnums=(0, 1))

        found = oracle.evaluate(rlx.trace(second(rlx, ours), X, W).module, X, W)
        for one, other in zip(found, jaxpr.evaluate(second(jax, theirs), X, W), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-11)


def test_wrong_rules_are_told() -> None:
    @rlx.custom_vjp
    def f(x: Any, y: Any) -> Any:
        return x * y

    with pytest.raises(rlx.GraphError, match="f: no rule is defined for this custom_vjp function"):
        rlx.trace(f, X, W)
    wrong: list[tuple[Any, Any, str]] = [
        (lambda x, y: x, lambda r, g: (g, g), "f: expected fwd to return a pair"),
        (lambda x, y: ([x], None), lambda r, g: (g, g), "but fwd returns PyTreeSpec"),
        (lambda x, y: (x, None), lambda r, g: g, "f: expected bwd to return a tuple with a cotangent for each of 2"),
        (lambda x, y: (x, None), lambda r, g: (g,), "f: expected bwd to return cotangents for 2 arguments, got 1"),
        (lambda x, y: (x, None), lambda r, g: (g, [g]), r"argument: expected a tree|argument\[1\]"),
        (lambda x, y: (x, None), lambda r, g: (g, g.sum()), r"argument\[1\]: expected tensor<4xf64> like the value"),
    ]
    for fwd, bwd, message in wrong:
        f.defvjp(fwd, bwd)
        with pytest.raises(rlx.GraphError, match=message):
            rlx.trace(f, X, W)
    g = rlx.custom_jvp(lambda x: x, nondiff_argnums=(3,))
    g.defjvp(lambda primals, tangents: (primals, tangents))
    with pytest.raises(rlx.GraphError, match="nondiff_argnums: expected positions of 1 arguments, got 3"):
        rlx.trace(g, X)
    with pytest.raises(rlx.GraphError, match="defjvps cannot be used with nondiff_argnums"):
        g.defjvps(None)


def test_rules_are_traced_as_far_as_derivatives_need_them() -> None:
    """A graph that is compiled has none; one to look at, or to differentiate later, has them."""
    traced = list[str]()

    @rlx.custom_vjp
    def f(x: Any) -> Any:
        return x * x

    def bwd(x: Any, g: Any) -> Any:
        traced.append("vjp")
        return (f(g) + x,)

    def jvp(primals: Any, tangents: Any) -> Any:
        traced.append("jvp")
        return f(*primals), tangents[0] * 5

    f.defvjp(lambda x: (f(x), x), bwd)

    def rules(function: Any) -> list[str]:
        traced.clear()
        rlx.compile(function)(1.0)
        return traced.copy()

    assert rules(f) == []
    assert rules(rlx.grad(f)) == ["vjp"]
    assert rules(rlx.grad(rlx.grad(f))) == ["vjp", "vjp"]
    assert rules(lambda x: rlx.grad(f)(x) + f(x)) == ["vjp"]
    f.defjvp(jvp)
    assert rules(rlx.grad(f)) == ["vjp"]
    assert "jvp" in rules(lambda x: rlx.jvp(f)((x,), (x,)))
    assert rlx.jvp(f)((3.0,), (1.0,)) == (9, 5)
    graph = rlx.compile(f).trace(3.0)
    assert "mir.custom_fn" in str(graph)
    assert rlx.compile(rlx.grad_with_loss(graph, ["x"]))(3.0, 1.0)[1] == 4


RULES_OF_TANGENTS = {
    "square": (lambda p, t: (p[0], t[0] ** 2), False),
    "abs": (lambda p, t: (p[0], np.abs(t[0])), False),
    "maximum": (lambda p, t: (p[0], np.maximum(t[0], 0.0)), False),
    "scaled": (lambda p, t: (p[0] ** 2, 2.0 * p[0] * t[0]), True),
    "chosen by the place": (lambda p, t: (p[0], np.where(p[0] > 2.0, t[0], 0.0)), True),
}


@pytest.mark.parametrize("name", RULES_OF_TANGENTS)
def test_reverse_mode_transposes_linear_rules_only(name: str):
    """The gradient of a rule that is not linear at zero is none; it would be zero in silence."""
    rule, linear = RULES_OF_TANGENTS[name]
    own = rlx.custom_jvp(lambda x: x)
    own.defjvp(rule)
    x = np.arange(1.0, 4.0)
    _, forward = rlx.jvp(lambda x: own(x).sum())((x,), (np.ones(3),))
    if linear:
        np.testing.assert_allclose(rlx.grad(lambda x: own(x).sum())(x).sum(), forward)
        return
    for change in (rlx.grad, rlx.jacrev, lambda f: rlx.compile(rlx.grad(f))):
        with pytest.raises(rlx.GraphError, match="its jvp is not linear in the tangents: reverse mode"):
            change(lambda x: own(x).sum())(x)
