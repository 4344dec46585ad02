"""Transformations of Python functions on trees: values, gradients and Jacobians against JAX, signatures, mistakes."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import xdsl_rlx as rlx
from xdsl_rlx import compiled_function
from xdsl_rlx import tree as trees

jax.config.update("jax_enable_x64", True)

RNG = np.random.default_rng(0)


class Layer(NamedTuple):
    w: Any
    b: Any


@dataclasses.dataclass(frozen=True)
class Model:
    first: Layer
    rest: list[Any]
    power: int = dataclasses.field(default=2, metadata={"static": True})


def draw(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape)


MODEL = Model(Layer(draw(3, 4), draw(4)), [{"scale": draw(4)}, None, (draw(4, 2),)])
X, Y = draw(5, 3), draw(5, 2)


def loss(model: Model, x: Any, y: Any) -> Any:
    h = np.tanh(x @ model.first.w + model.first.b) * model.rest[0]["scale"]
    return (np.abs(h @ model.rest[2][0] - y) ** model.power).mean()


def loss_of_jax(leaves: list[Any], x: Any, y: Any) -> Any:
    w, b, scale, last = leaves
    h = jnp.tanh(x @ w + b) * scale
    return (jnp.abs(h @ last - y) ** 2).mean()


def close(found: Any, expected: Any) -> None:
    one, other = jax.tree_util.tree_leaves(found), jax.tree_util.tree_leaves(expected)
    assert len(one) == len(other)
    for a, b in zip(one, other, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


def test_value_and_gradients_have_the_tree_of_the_argument():
    value, grads = rlx.value_and_grad(loss)(MODEL, X, Y)
    leaves, spec = trees.flatten(MODEL)
    expected, expected_grads = jax.value_and_grad(loss_of_jax)(leaves, X, Y)
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    assert isinstance(grads, Model) and isinstance(grads.first, Layer) and grads.rest[1] is None
    found, same = trees.flatten(grads)
    assert same == spec
    close(found, expected_grads)


def test_argnums_and_aux():
    def f(a: Any, b: Any, *, c: Any) -> Any:
        return (a * b * c).sum(), {"c": c, "product": a * b}

    a, b, c = draw(3), draw(3), 2.0
    grads, aux = rlx.grad(f, argnums=(1, 0), has_aux=True)(a, b, c=c)
    close(grads, (a * c, b * c))
    close(aux["product"], a * b)
    close(rlx.grad(lambda a, b: (a * b).sum(), argnums="b")(a, b), a)
    close(rlx.grad(lambda a, b: (a * b).sum(), argnums=-1)(a, b), a)
    close(rlx.grad(lambda a, b: (a * a).sum())(a, b), 2 * a)


def test_an_argument_that_does_not_matter_has_zeros():
    grads = rlx.grad(lambda p: (p["a"] ** 3).sum())({"a": draw(2), "b": draw(3)})
    np.testing.assert_array_equal(grads["b"], np.zeros(3))


def vector(w: Any) -> Any:
    return {"y": np.sin(w["a"]) * w["b"].sum(), "z": (w["a"] ** 3).sum()}


def vector_of_jax(w: Any) -> Any:
    return {"y": jnp.sin(w["a"]) * w["b"].sum(), "z": (w["a"] ** 3).sum()}


W = {"a": draw(3), "b": draw(2)}
V = {"a": draw(3), "b": draw(2)}


@pytest.mark.parametrize("name", ["jacfwd", "jacrev", "hessian"])
def test_jacobians_are_trees_of_trees(name: str):
    close(getattr(rlx, name)(vector)(W), getattr(jax, name)(vector_of_jax)(W))


def test_both_modes_along_vectors():
    close(rlx.jvp(vector)((W,), (V,)), jax.jvp(vector_of_jax, (W,), (V,)))
    cotangents = {"y": draw(3), "z": np.array(0.7)}
    results, pull = jax.vjp(vector_of_jax, W)
    close(rlx.vjp(vector)((W,), cotangents), (results, pull(cotangents)))
    close(rlx.jvp(vector, (W,), (V,)), jax.jvp(vector_of_jax, (W,), (V,)))
    found, ours = rlx.vjp(vector, W)
    close((found, ours(cotangents), ours(cotangents)), (results, pull(cotangents), pull(cotangents)))
    close(rlx.compile(lambda w, c: rlx.vjp(vector, w)[1](c))(W, cotangents), pull(cotangents))
    many = jax.tree.map(lambda x: np.stack([x, 2 * x]), cotangents)
    close(rlx.vmap(ours)(many), jax.vmap(pull)(many))
    of_one = lambda w: (w["a"] ** 3).sum() * w["b"].sum()  # noqa: E731
    close(rlx.hvp(of_one)((W,), V), jax.jvp(jax.grad(of_one), (W,), (V,))[1])


def test_vjp_of_primals_is_that_of_jax_in_other_functions():
    w = draw(3)
    nested = [
        lambda m, w: m.grad(lambda w: m.vjp(lambda x: (x * x * w).sum(), w)[1](1.0)[0].sum())(w),
        lambda m, w: m.vjp(lambda x: (x * w).sum(), 2.0 * np.ones(3))[1](1.0),
        lambda m, w: m.jvp(lambda x: (x * w).sum(), (2.0,), (1.0,)),
        lambda m, w: m.grad(lambda c: m.vjp(lambda x: x * x * x, w)[1](c)[0].sum())(w),
    ]
    for call in nested:
        close(call(rlx, w), call(jax, w))
        close(rlx.compile(lambda w, call=call: call(rlx, w))(w), call(jax, w))
    _, f_vjp = rlx.vjp(lambda x, n: x * n, w, 3)
    gradient, of_integer = f_vjp(np.ones(3))
    close(gradient, np.full(3, 3.0))
    assert of_integer is None
    for wrong in ((), (w, w)):
        with pytest.raises(rlx.GraphError, match="f_vjp"):
            f_vjp(*wrong)
    with pytest.raises(rlx.GraphError, match=r"cotangents: expected shape \[3\]"):
        f_vjp(np.ones(2))


def test_hvp_by_several_arguments():
    x, y, along = W["a"], {"a": V["a"]}, (V["a"], {"a": W["a"]})

    def f(module: Any) -> Any:
        return lambda x, y, z: (module.sin(x) * y["a"] ** 2).sum() + (x * x).sum() * z

    for chosen in ((0, 1), ("x", "y"), (0, -2)):
        found = rlx.hvp(f(np), chosen)((x, y, 2.0), along)
        close(found, jax.jvp(lambda x, y: jax.grad(f(jnp), (0, 1))(x, y, 2.0), (x, y), along)[1])
    with pytest.raises(rlx.GraphError, match="tangent: expected a tree for each of 2 arguments, got 1"):
        rlx.hvp(f(np), (0, 1))((x, y, 2.0), along[:1])


def test_transformations_nest():
    def f(w: Any, x: Any) -> Any:
        return ((w * x) ** 3).sum()

    w, xs = draw(3), draw(4, 3)
    mapped = rlx.vmap(rlx.grad(f), in_axes=(None, 0))
    close(mapped(w, xs), jax.vmap(jax.grad(f), (None, 0))(w, xs))
    inner = lambda g: lambda x: (g(lambda w: (w * w * x).sum())(x) ** 2).sum()  # noqa: E731
    close(rlx.grad(inner(rlx.grad))(w), jax.grad(inner(jax.grad))(w))
    third = rlx.grad(rlx.grad(rlx.grad(lambda x: x**4)))
    assert third(2.0) == 48


def test_vmap_over_trees_and_axes():
    def f(p: Any, x: Any) -> Any:
        return {"s": p["w"] @ x + p["b"]}

    p, x = {"w": draw(2, 3), "b": draw(2, 4)}, draw(3, 4)
    axes = ({"w": None, "b": 1}, 1)
    expected = jax.vmap(f, axes, 1)(p, x)
    close(rlx.vmap(f, in_axes=axes, out_axes=1)(p, x), expected)
    with pytest.raises(rlx.GraphError, match="of equal length, got 3, 4"):
        rlx.vmap(f, in_axes=({"w": 1, "b": 1}, 1))(p, x)
    with pytest.raises(rlx.GraphError, match="is out of range for shape"):
        rlx.vmap(f, in_axes=(None, 2))(p, x)


def test_a_function_is_traced_once_for_each_signature():
    calls: list[tuple[int, ...]] = []

    def f(p: Any, x: Any) -> Any:
        calls.append(x.shape)
        return (x @ p["w"]).sum(0)

    step = rlx.compile(f)
    p = {"w": draw(3, 2)}
    for rows in (5, 2, 5, 2, 5):
        x = draw(rows, 3)
        close(step(p, x), (x @ p["w"]).sum(0))
    assert calls == [(5, 3), (2, 3)]
    step(p, draw(5, 3).astype(np.float32))
    assert len(calls) == 3
    assert "3 signatures" in repr(step)
    assert "mir.matmul" in str(step.trace(p, draw(5, 3)))
    assert step.compiled(p, draw(5, 3)).outputs[0].shape == (2,)


def test_what_was_compiled_for_a_number_is_built_into_a_trace():
    square = rlx.compile(lambda x: x * x)
    for number in (3.0, np.float64(3.0), np.array(3.0)):
        assert square(number) == 9 and rlx.grad(square)(number) == 6


def test_static_arguments_belong_to_the_signature():
    def power(x: Any, n: int, how: str = "up") -> Any:
        for _ in range(n):
            x = x * x
        return x if how == "up" else 1 / x

    f = rlx.compile(power, static=("n", "how"))
    assert f(2.0, 3) == 256 and f(2.0, n=1) == 4 and f(2.0, 1, how="down") == 0.25
    with pytest.raises(rlx.GraphError, match="static: no argument 'm'; arguments are x, n, how"):
        rlx.compile(power, static="m")
    with pytest.raises(rlx.GraphError, match="which is not hashable"):
        f(2.0, [1])
    with pytest.raises(rlx.GraphError, match=r"static= of rlx\.compile"):
        rlx.compile(power)(2.0, 3)


def test_a_profile_is_of_the_program_for_these_arguments_and_updates_nothing():
    def step(p: Any, scale: float, how: str, n: int) -> Any:
        return (p["w"] * scale).sum(), {"w": p["w"] * float(n)}

    run, p = rlx.compile(step, static="n", donate={"p": 1}), {"w": np.ones((64, 8))}
    profile = run.profile(p, 0.5, "same", n=3, runs=2)
    assert len(profile.steps) == 2
    assert profile.work == rlx.inspect(run.compiled(p, 0.5, "same", n=3)).work
    np.testing.assert_array_equal(p["w"], np.ones((64, 8)))


def test_a_number_cannot_be_written_over():
    run = rlx.compile(lambda count: count + 1, donate={"count": 0})
    message = r"'count' .* is donated: expected an array f64\[\], got float64; np\.array"
    with pytest.raises(rlx.ArgumentError, match=message):
        run(np.float64(1))


def test_donated_trees_are_updated_where_they_are():
    def step(p: Any, rate: Any, x: Any) -> Any:
        value, grads = rlx.value_and_grad(lambda p: ((x * p["w"] + p["b"]) ** 2).sum())(p)
        return value, trees.map(lambda w, g: w - rate * g, p, grads)

    p, x = {"w": draw(3), "b": draw(3)}, draw(3)
    expected = trees.map(np.copy, p)
    run, plain = rlx.compile(step, donate={"p": 1}), rlx.compile(step)
    for _ in range(3):
        value, after = run(p, 0.1, x)
        wanted, expected = plain(expected, 0.1, x)
        assert after["w"] is p["w"] and after["b"] is p["b"]
        assert value == wanted
        close(after, expected)
    with pytest.raises(rlx.GraphError, match=r"donate: result 0 is .*, argument 'p' is "):
        rlx.compile(step, donate={"p": 0})(p, 0.1, x)


def test_python_numbers_give_way():
    def f(x: Any, rate: Any) -> Any:
        return x * rate + np.exp(rate) * 2

    x = draw(3).astype(np.float32)
    found = rlx.compile(f)(x, 0.1)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, f(x, 0.1), rtol=1e-6)
    assert rlx.compile(f)(x.astype(np.float64), 0.1).dtype == np.float64
    assert rlx.compile(lambda a, b: a * b)(2, 3.5) == 7


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: x if x.sum() > 0 else -x, "has no truth value"),
        (lambda x: x[x > 0], "where"),
        (lambda x: np.unique(x), "np.unique does not support traced values"),
        (lambda x: [1, 2][x.sum()], "expected a Python integer"),
        (lambda x: float(x.sum()), "expected a number, got a traced value"),
        (lambda x: np.zeros(x.sum()), r'a shape, .* of a Python loop are needed .* static="n"'),
        (lambda x: np.full(x.sum(), 2.0), r'static="n"'),
        (lambda x: [x for _ in range(x.sum())], r'static="n"'),
        (lambda x: np.arange(x.sum().astype(int)), r'A shape that depends on x, .* static="n"'),
        (lambda x: np.tile(x, x.sum()), r'static="n"'),
        (lambda x: rlx.full((x.sum(),), 1.0), r'static="n"'),
        (lambda x: np.array([[1.0, x[0]], [x[1], 1.0]]), r"np\.block\(\[\[x, 1\.0\], \[1\.0, y\]\]\)"),
        (lambda x: np.stack([[1.0, x[0]], [x[1], 1.0]]), r"np\.block\(\[\[x, 1\.0\], \[1\.0, y\]\]\)"),
        (lambda x: None, "to return at least one array or number"),
        (lambda x: object(), "expected a value, a number or an array"),
    ],
)
def test_what_cannot_be_traced_is_said(function: Callable[..., Any], message: str):
    with pytest.raises(rlx.RlxError, match=message):
        rlx.compile(function)(np.ones(3))


def test_the_message_about_a_size_names_its_argument_and_compile_knows_the_arguments_of_jit():
    with pytest.raises(rlx.GraphError, match='static="steps"'):
        rlx.compile(lambda x, steps: [x for _ in range(steps)])(1.0, 3)
    for name in inspect.signature(jax.jit).parameters.keys() - {"fun", "backend"}:
        with pytest.raises(rlx.GraphError, match=f"compile has no argument '{name}': (did you mean|.*; omit it)"):
            rlx.compile(lambda x, n: x, **{name: "n"})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: rlx.grad(lambda x: x)(np.ones(3)), "take its sum or mean"),
        (lambda: rlx.grad(lambda x: (x.sum(), x))(np.ones(3)), "has_aux"),
        (
            lambda: rlx.grad(lambda x: (x * 0.5).sum())(np.ones(3, np.int32)),
            "expected floating-point arguments, got tensor<3xi32> for x",
        ),
        (lambda: rlx.grad(lambda x: x.sum(), 1)(np.ones(3)), "argnums: no argument 1; arguments are x"),
        (lambda: rlx.compile(lambda x: x.sum())({"a": object()}), r"x\['a'\] is an object"),
        (
            lambda: rlx.jvp(lambda x: x)((np.ones(3),), ([np.ones(3)],)),
            r"tangents\[0\]: expected an array of shape \[3\], got ",
        ),
        (lambda: rlx.value_and_grad(3), "expected a Python function"),
    ],
)
def test_wrong_use_names_the_function_and_the_place(make: Callable[[], Any], message: str):
    with pytest.raises(rlx.RlxError, match=message):
        make()


def test_values_of_a_function_around_are_inputs():
    def outer(w: Any, x: Any) -> Any:
        scaled = w * 2
        inner = rlx.grad(lambda v: (v * v * scaled).sum())
        return inner(x).sum()

    w, x = draw(3), draw(3)
    close(rlx.grad(outer, (0, 1))(w, x), (4 * x, 4 * w))


def test_control_flow_carries_trees():
    def f(w: Any, xs: Any) -> Any:
        def step(carry: Any, x: Any) -> Any:
            h = np.tanh(carry["h"] @ w + x["in"])
            return {"h": h, "n": carry["n"] + 1}, (h.sum(),)

        carry, (sums,) = rlx.scan(step, {"h": np.zeros(3), "n": 0}, xs)
        return carry["h"].sum() + sums.mean(), carry["n"]

    def of_jax(w: Any, xs: Any) -> Any:
        def step(h: Any, x: Any) -> Any:
            h = jnp.tanh(h @ w + x["in"])
            return h, h.sum()

        h, sums = jax.lax.scan(step, jnp.zeros(3), xs)
        return h.sum() + sums.mean()

    w, xs = draw(3, 3), {"in": draw(6, 3)}
    (value, count), grads = rlx.value_and_grad(f, has_aux=True)(w, xs)
    close((value, grads), jax.value_and_grad(of_jax)(w, xs))
    assert count == 6


def test_branches_and_loops():
    f = rlx.compile(lambda x: rlx.cond(x > 0, lambda: {"a": x * 2}, lambda: {"a": x - 1}))
    assert f(3.0)["a"] == 6 and f(-3.0)["a"] == -4
    with pytest.raises(rlx.GraphError, match="the other"):
        rlx.compile(lambda x: rlx.cond(x > 0, lambda: {"a": x}, lambda: {"b": x}))(1.0)
    doubled = rlx.compile(lambda x: rlx.while_loop(lambda c: c < 100.0, lambda c: c * 2, x))
    assert doubled(3.0) == 192
    assert rlx.compile(lambda n: rlx.fori_loop(0, n, lambda i, c: c + i, 0))(5) == 10
    power = lambda x: rlx.fori_loop(0, 4, lambda i, c: c * x, 1.0)  # noqa: E731
    assert rlx.grad(power)(2.0) == 32


def test_ops_are_functions():
    x = draw(2, 3)
    close(rlx.softmax(x), jax.nn.softmax(x))
    close(rlx.compile(lambda x: rlx.gelu(x))(x), jax.nn.gelu(x, approximate=False))
    losses = rlx.softmax_cross_entropy(x, np.array([0, 2]))
    close(losses, -np.log(jax.nn.softmax(x))[[0, 1], [0, 2]])
    assert "ndtr" in (rlx.gelu.__doc__ or "")


def test_an_op_of_arrays_is_traced_once(monkeypatch: pytest.MonkeyPatch):
    calls: list[Any] = []
    trace = compiled_function.traced

    def counted(*args: Any, **options: Any) -> Any:
        calls.append(args)
        return trace(*args, **options)

    monkeypatch.setattr(compiled_function, "traced", counted)
    x = np.arange(7.0) - 3
    for _ in range(3):
        np.testing.assert_array_equal(rlx.clip(x, -1.25, 1.25), np.clip(x, -1.25, 1.25))
    assert len(calls) == 1
    rlx.clip(x, -1.25, 1.5)
    rlx.clip(x[:2], -1.25, 1.5)
    assert len(calls) == 3
    # numbers that are equal, but not the same
    assert not np.signbit(rlx.full((2,), 0.0)).any() and np.signbit(rlx.full((2,), -0.0)).all()


def test_an_op_that_is_given_a_function_is_traced_each_time():
    factor, x = 2.0, np.ones(3)

    def scaled(x: Any) -> Any:
        return factor * x

    np.testing.assert_array_equal(rlx.elementwise_region(scaled, x), 2 * x)
    factor = 3.0
    np.testing.assert_array_equal(rlx.elementwise_region(scaled, x), 3 * x)


def test_a_compiled_function_is_profiled_as_it_is_called():
    def step(state: Any, x: Any, scale: float, name: str) -> Any:
        return (state["w"] * x).sum(), {"w": state["w"] - scale * x}

    function = rlx.compile(step, static="scale", donate={"state": 1})
    state, x = {"w": np.zeros(5)}, np.ones(5)
    profile = function.profile(state, x, 0.5, "name", runs=2)
    np.testing.assert_array_equal(state["w"], np.zeros(5))
    assert profile.step > 0 and "mul" in str(profile)
    function(state, x, 0.5, "name")
    np.testing.assert_array_equal(state["w"], np.full(5, -0.5))
    assert "1 signatures" in repr(function)


def test_compile_with_keywords_alone_is_a_decorator():
    @rlx.compile(static="n", donate={"x": 0})
    def power(x: Any, n: int) -> Any:
        return x**n

    x = np.arange(3.0)
    assert power(x, 2) is x
    np.testing.assert_array_equal(x, [0.0, 1.0, 4.0])

    class Scaled:
        @rlx.compile(static="n")
        def by(self, x: Any, n: int) -> Any:
            return x * n

    assert Scaled().by(2.0, 3) == 6.0
    with pytest.raises(rlx.GraphError, match="did you mean static="):
        rlx.compile(stat="n")(lambda x: x)
    with pytest.raises(TypeError, match="graph"):
        rlx.compile(graph=lambda x: x)


@pytest.mark.parametrize(
    "number",
    [2.0, 3, True, 1j, np.float32(2), np.float64(2), np.int8(2), np.bool_(1), np.complex64(2j)],
    ids=repr,
)
def test_a_number_is_an_array_without_axes(number: Any):
    """The second call takes the short way, which gives what the first one gave."""
    run = rlx.compile(lambda x, y: (x * 2, x + y))
    y = np.ones(3)
    for _ in range(2):
        for given in (number, np.asarray(number)):
            doubled, added = run(given, y)
            np.testing.assert_array_equal(doubled, number * 2)
            np.testing.assert_array_equal(added, number + y)
            assert added.dtype == (number + y).dtype
    assert type(run(number, y)[0]) is np.ndarray


def test_an_integer_beyond_i64_is_an_error():
    run = rlx.compile(lambda x: x + 1)
    assert run(3) == 4
    for _ in range(2):
        with pytest.raises(rlx.ArgumentError, match="i64"):
            run(2**70)


def test_a_number_is_not_donated():
    run = rlx.compile(lambda x: x + 1, donate={"x": 0})
    x = np.array(1.0)
    assert run(x) is x and x == 2
    for _ in range(2):
        with pytest.raises(rlx.ArgumentError, match=r"argument 'x' .* expected"):
            run(np.float64(1.0))


def test_calls_that_differ_from_the_last_one_are_bound_anew():
    """A call of plain arrays by position repeats the last one's program only for the same types and shapes."""
    run = rlx.compile(lambda x, y=1.0, *more, scale=2.0: (x + y + sum(more)) * scale)
    x, y = np.arange(3.0), np.ones(3)
    for _ in range(2):
        for args, named in [
            ((x, y), {}),
            ((x,), {}),
            ((x, y, y), {}),
            ((x, 3.0), {}),
            ((x, y), {"scale": 3.0}),
            ((x[:2], y[:2]), {}),
            ((x.astype(np.float32), y.astype(np.float32)), {}),
            ((np.arange(6.0)[::2], y), {}),
            ((x, [y])[:1], {"y": y}),
        ]:
            for _ in range(2):
                found, expected = run(*args, **named), run.__wrapped__(*args, **named)
                np.testing.assert_array_equal(found, expected)
                assert found.dtype == expected.dtype
        with pytest.raises(TypeError, match="missing"):
            run()


def test_gradients_that_are_reduced_over_one_process_are_the_same() -> None:
    x = np.arange(3.0)

    def loss(x: Any) -> Any:
        return (x * x).sum()

    value, found = rlx.value_and_grad(loss, reduce="mean")(x)
    assert value == 5.0 and np.array_equal(found, 2 * x)
    assert np.array_equal(rlx.grad(loss, reduce="sum")(x), 2 * x)


@pytest.mark.parametrize("derivative", [rlx.grad, rlx.value_and_grad])
@pytest.mark.parametrize("reduce", ["max", 3, ["mean"]])
def test_another_reduction_of_gradients_is_refused(derivative: Any, reduce: object) -> None:
    with pytest.raises(rlx.GraphError, match=r"reduce: expected ('mean', 'sum'|a string) or None, got"):
        derivative(lambda x: x.sum(), reduce=reduce)


@pytest.mark.parametrize("name", ["vjp", "value_and_grad"])
@pytest.mark.parametrize("given", [3, None, "f", [1]])
def test_what_is_no_function_is_said_to_be_none(name: str, given: object) -> None:
    with pytest.raises(rlx.GraphError, match=f"^{name}: expected a Python function, got {re.escape(repr(given))}$"):
        getattr(rlx, name)(given)


def _with_functions() -> list[tuple[str, Callable[..., Any], inspect.Parameter]]:
    """The public functions, also of modules, with each parameter that is a function."""
    found: dict[str, Any] = {}
    for name in rlx.__all__:
        one = getattr(rlx, name)
        own = {f"{name}.{word}": getattr(one, word) for word in one.__all__} if inspect.ismodule(one) else {}
        found |= {name: one} | own
    return [
        (name, one, parameter)
        for name, one in found.items()
        if inspect.isfunction(one) and one.__module__.startswith("xdsl_rlx")
        for parameter in inspect.signature(one).parameters.values()
        if _is_function(parameter) and parameter.kind != parameter.VAR_POSITIONAL
    ]


def _is_function(parameter: inspect.Parameter) -> bool:
    annotation = str(parameter.annotation)
    return annotation == "Function" or ("Callable" in annotation and not annotation.startswith("int |"))


@pytest.mark.parametrize(
    ("one", "parameter"),
    [pytest.param(one, parameter, id=f"{name}-{parameter.name}") for name, one, parameter in _with_functions()],
)
def test_what_is_given_for_a_function_is_said_to_be_none(one: Callable[..., Any], parameter: inspect.Parameter) -> None:
    args: list[object] = []
    named: dict[str, object] = {}
    for other in inspect.signature(one).parameters.values():
        if other.name == parameter.name:
            given: object = 3
        elif other.default is not other.empty or other.kind in (other.VAR_POSITIONAL, other.VAR_KEYWORD):
            continue
        else:
            given = (lambda *xs: xs[0]) if _is_function(other) else "f" if other.annotation == "str" else np.ones(3)
        if other.kind == other.KEYWORD_ONLY or other.default is not other.empty:
            named[other.name] = given
        else:
            args.append(given)
    with pytest.raises(rlx.RlxError, match=r"expected .*function.*, got (3|int)"):
        one(*args, **named)
