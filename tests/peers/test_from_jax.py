"""`rlx.from_jax`: signatures, trees, batches, donation, composition, functions of `rlx.to_jax`, and errors."""

# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false, reportUnknownParameterType=false
# pyright: reportMissingParameterType=false

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from peers.jax_compare import same

import xdsl_rlx as rlx

RNG = np.random.default_rng(3)
W, X = RNG.standard_normal((3, 2)), RNG.standard_normal((4, 3))
TABLE = RNG.standard_normal(20000).astype(np.float32)


def loss(params: Any, x: Any) -> Any:
    return jnp.mean(jnp.tanh(x @ params["w"]) ** 2)


def f32(x: Any) -> Any:
    return np.asarray(x, np.float32)


def test_vmap() -> None:
    batch = f32(RNG.standard_normal((5, 4, 3)))
    imported = rlx.from_jax(loss)
    each = rlx.vmap(rlx.grad(imported), (None, 0))({"w": f32(W)}, batch)
    same(each, jax.vmap(jax.grad(loss), (None, 0))({"w": f32(W)}, batch))
    assert "1 signatures" in repr(imported)
    sums = rlx.vmap(rlx.vmap(rlx.from_jax(jnp.cumsum)))(batch)
    same(sums, np.cumsum(batch, 2), 1e-5)


def test_donation() -> None:
    def step(state, x):
        return {"m": 0.9 * state["m"] + x, "n": state["n"] + 1}

    compiled = rlx.compile(rlx.from_jax(step), donate="state")
    state = {"m": np.zeros(4, np.float32), "n": np.zeros(1, np.int32)}
    memory = state["m"]
    for _ in range(3):
        state = compiled(state, np.ones(4, np.float32))
    assert state["m"] is memory and state["n"] == 3
    assert np.allclose(memory, 1 + 0.9 + 0.81)


@jax.enable_x64(False)
def test_each_signature_is_traced_once() -> None:
    traces: list[Any] = []

    def f(x, y):
        traces.append((x.shape, str(x.dtype)))
        return x * y

    imported = rlx.from_jax(f, np.ones(3, np.float32), 2.0)
    assert traces == [((3,), "float32")]
    assert imported(np.ones(3, np.float32), 2.0).dtype == np.float32
    assert imported(np.ones(3, np.float32), 5.0).sum() == 15
    assert len(traces) == 1
    assert imported(np.ones((2, 2)), 2.0).dtype == np.float64
    assert imported(np.ones(3, np.int32), 2).dtype == np.int32
    assert imported(np.ones(3, np.int32), 2.5).dtype == np.float32
    assert len(traces) == 4 and "4 signatures" in repr(imported)
    compiled = rlx.compile(lambda x: imported(x, x))
    assert compiled(np.ones(7, np.float32)).shape == (7,) and compiled(np.ones(7, np.float32)).shape == (7,)
    assert len(traces) == 5


def test_composition_inside_of_traced_functions() -> None:
    imported = rlx.from_jax(loss)

    def total(params, x):
        def body(carry, row):
            slopes = rlx.grad(imported)(carry, row[None])
            return {"w": carry["w"] - 0.1 * slopes["w"]}, imported(carry, row[None])

        last, values = rlx.scan(body, params, x)
        return np.sum(values) + rlx.cond(values[0] > 0, lambda p: np.sum(p["w"]), lambda p: 0 * np.sum(p["w"]), last)

    def expected(params, x):
        def body(carry, row):
            slopes = jax.grad(loss)(carry, row[None])
            return {"w": carry["w"] - 0.1 * slopes["w"]}, loss(carry, row[None])

        last, values = jax.lax.scan(body, params, x)
        return jnp.sum(values) + jnp.where(values[0] > 0, 1, 0) * jnp.sum(last["w"])

    with jax.enable_x64(True):
        same(rlx.grad(total)({"w": W}, X), jax.grad(expected)({"w": W}, X), 1e-12)
        same(rlx.hessian(lambda w: total({"w": w}, X))(W), jax.hessian(lambda w: expected({"w": w}, X))(W), 1e-11)


@dataclass
class Point:
    x: Any
    y: Any
    name: str


jax.tree_util.register_dataclass(Point, ["x", "y"], ["name"])


def test_trees_static_leaves_and_keywords() -> None:
    def f(first, *rest, scale=None, kind="sum", act=jnp.tanh, point=None):
        total = act(first["a"]) * (1.0 if scale is None else scale)
        for one in rest:
            total = total + one
        found = {"total": total.sum() if kind == "sum" else total.max(), "none": None}
        return found if point is None else (found, Point(point.y, point.x, point.name))

    imported = rlx.from_jax(f)
    a, b = f32(X), f32(2 * X)
    cases: list[tuple[Any, Any]] = [
        (({"a": a, "b": None},), {}),
        (({"a": a, "b": None}, b, 2), {"kind": "max", "scale": 3.0}),
        (({"a": a}, b), {"act": jnp.sin, "point": Point(a, b, "p")}),
    ]
    for args, kwargs in cases:
        same(imported(*args, **kwargs), f(*args, **kwargs))
    gradient = rlx.grad(lambda p: imported({"a": a}, point=p)[1].x.sum())(Point(a, b, "p"))
    assert gradient.name == "p" and gradient.y.all() and not gradient.x.any()
    assert imported({"a": a}, point=Point(a, b, "other"))[1].name == "other"


def test_keys() -> None:
    def f(key, x):
        first, second = jax.random.split(key)
        return jax.random.normal(first, x.shape) * x, jax.random.fold_in(second, 3)

    for key in (jax.random.key(7), jax.random.PRNGKey(7)):
        same(rlx.from_jax(f)(key, f32(X)), f(key, f32(X)))
    seeded = rlx.from_jax(lambda seed: jax.random.bits(jax.random.key(seed), (3,)))
    same(seeded(np.uint32(11)), jax.random.bits(jax.random.key(np.uint32(11)), (3,)))
    keys = jax.random.split(jax.random.key(1), 4)
    same(rlx.from_jax(jax.vmap(jax.random.normal))(keys), jax.vmap(jax.random.normal)(keys))


@pytest.mark.parametrize("run", ["rlx", "xla"])
def test_functions_of_to_jax(run: Any) -> None:
    @rlx.to_jax(run=run)
    def inner(w, x):
        return np.tanh(x @ w).sum(), {"t": x * 2 + TABLE[:20000].sum()}

    def outer(w, x):
        a, b = inner(w, jnp.sin(x))
        return a**2 + b["t"].sum()

    def slopes(w, x):
        return (jax.grad(outer)(w, x) ** 2).sum()

    def batch(w, x):
        return jax.vmap(inner)(w[None], x[None])

    def steps(w, x):
        return jax.lax.scan(lambda c, _: (inner(w, c)[1]["t"] * 0.1, inner(w, c)[0]), x, None, length=3)

    with jax.enable_x64(True):
        imported = rlx.from_jax(outer, W, X)
        assert imported.report.exact["xdsl_rlx"] == 1
        for f in (outer, slopes, steps, batch, lambda w, x: jax.jvp(lambda w: outer(w, x), (w,), (w,))):
            same(rlx.from_jax(f)(W, X), jax.tree.map(np.asarray, f(W, X)), 1e-10)
        same(rlx.grad(imported)(W, X), jax.grad(outer)(W, X), 1e-12)
        same(rlx.grad(rlx.from_jax(slopes))(W, X), jax.grad(slopes)(W, X), 1e-11)
    assert np.isclose(rlx.from_jax(lambda: inner(jnp.ones((3, 2)), jnp.ones((4, 3)))[0])(), 8 * np.tanh(3))


def test_there_and_back() -> None:
    """A function of this package, by JAX, is the function."""

    def f(x: Any) -> Any:
        return np.tanh(x).sum()

    there: Any = rlx.to_jax(f, run="rlx")
    back: Any = rlx.from_jax(there)
    same(_slope(back), np.asarray(_slope(f)), 1e-12)


def _slope(f: Any) -> Any:
    gradient: Any = rlx.grad(f)
    return gradient(X)


@jax.enable_x64(False)
def test_all_missing_primitives_are_one_error() -> None:
    def f(x):
        y = jax.pure_callback(np.sin, jax.ShapeDtypeStruct(x.shape, x.dtype), x)
        y = jax.pure_callback(np.sin, jax.ShapeDtypeStruct(x.shape, x.dtype), y)
        jax.debug.callback(print, y)
        branches = (lambda: jnp.linalg.eig(x @ x.T)[0]), lambda: jnp.zeros(4, np.complex64)
        return jnp.linalg.eigvals(y @ y.T) + jax.lax.cond(y[0, 0] > 0, *branches)

    with pytest.raises(rlx.FrontendError) as caught:
        rlx.from_jax(f, f32(X))
    text = str(caught.value)
    assert text.startswith("f: 3 operators cannot be read:")
    assert {one.op: one.count for one in caught.value.missing} == {"pure_callback": 2, "debug_callback": 1, "eig": 2}
    assert text.count("test_from_jax.py:") == 3
    assert "it calls Python while the program runs; compute that outside" in text
    assert text.endswith("Replace them in the function, or take that part out of it.")


def test_errors_of_arguments() -> None:
    imported = rlx.from_jax(loss)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        imported({"w": f32(W)})
    with pytest.raises(KeyError, match="w"):
        imported({"v": f32(W)}, f32(X))
    with pytest.raises(TypeError, match=r"dot_general requires contracting dimensions to have the same shape"):
        imported({"w": f32(X)}, f32(X))
    with pytest.raises(rlx.FrontendError, match="expected arrays, numbers, texts and functions as leaves, got"):
        imported({"w": np.array(["a"])}, f32(X))
    with pytest.raises(rlx.FrontendError, match="expected a function of JAX, got 3"):
        rlx.from_jax(3)  # pyright: ignore[reportArgumentType]
    with pytest.raises(rlx.FrontendError, match="'loss' is not traced yet; call it, or pass an example"):
        _ = imported.report


def test_leaks_and_branches_on_values_are_errors_of_jax() -> None:
    leaked: list[Any] = []

    def f(x):
        leaked.append(x)
        return x * 2

    rlx.from_jax(f)(np.float32(1))
    with pytest.raises(rlx.FrontendError, match=r"it uses a value that JAX traces in another function, float32\[\]"):
        rlx.from_jax(lambda x: x + leaked[0])(np.float32(1))
    with pytest.raises(jax.errors.TracerBoolConversionError, match="The error occurred while tracing the function"):
        rlx.from_jax(lambda x: x if x > 0 else -x)(np.float32(1))
    with pytest.raises(jax.errors.TracerArrayConversionError):
        rlx.from_jax(lambda x: np.sin(x))(np.float32(1))
    assert rlx.from_jax(f)(np.float32(1)) == 2
