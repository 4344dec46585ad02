"""Graphs at the edges of what can be written, from the API to results: odd outputs, odd wrt, odd shapes, odd calls."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import oracle
import pytest
from numerics import jaxpr

import xdsl_rlx as rlx
from xdsl_rlx.dialects.shapes import shape_of
from xdsl_rlx.transforms.signature import graph_of

Array = np.ndarray[Any, Any]


def graph(build: Callable[..., Any], **inputs: tuple[int, ...]) -> rlx.Graph:
    """A graph of f64 inputs of these shapes whose outputs are those of `build(g, *values)`."""
    g = rlx.Graph("g")
    g.set_outputs(build(g, *(g.input(name, shape, "f64") for name, shape in inputs.items())))
    return g


def numbers(*shape: int) -> Array:
    return np.random.default_rng(7).uniform(0.5, 2.0, shape)


def check(made: rlx.Graph | rlx.GraphModule, *arrays: Array) -> tuple[Array, ...]:
    """The compiled results, which are the oracle's; a cotangent that is left out is ones."""
    arguments = graph_of(made.module, "test").arguments
    given = dict(zip((argument.name for argument in arguments), arrays, strict=False))
    results = rlx.compile(made, threads=2)(**given)
    ones = [np.ones(shape_of(argument.value)) for argument in arguments[len(arrays) :]]
    for result, expected in zip(results, oracle.evaluate(made.module, *arrays, *ones), strict=True):
        oracle.assert_close(result, expected, 64)
    return results


def gradients(made: rlx.Graph, wrt: list[str], *arrays: Array, **options: Any) -> tuple[Array, ...]:
    """Loss and gradients, compiled, and checked against the oracle."""
    return check(rlx.grad_with_loss(made, wrt, **options), *arrays)


def test_one_value_as_several_outputs():
    x = numbers(5)
    made = graph(lambda g, x: [y := g.exp(x), y, g.reduce_sum(y), y], x=(5,))
    a, b, _, c = check(made, x)
    assert np.array_equal(a, b) and np.array_equal(a, c)
    a[:] = 0
    assert b.all() and c.all()


def test_an_argument_returned_unchanged_is_a_copy():
    x = numbers(3, 4)
    same, twice, turned = check(graph(lambda g, x: [x, x, g.transpose(x, (1, 0))], x=(3, 4)), x)
    same[:] = 0
    assert x.all() and twice.all() and turned.all() and np.array_equal(turned, x.T)


def test_a_param_returned_unchanged_is_a_copy():
    g = rlx.Graph("g")
    w = g.param("w", (4,))
    g.set_outputs([w, w + 1])
    compiled = rlx.compile(g)
    compiled.set_param("w", np.arange(4, dtype=np.float32))
    compiled()[0][:] = -1
    assert compiled()[0].tolist() == [0, 1, 2, 3]


def test_constant_outputs():
    g = rlx.Graph("g")
    g.set_outputs(
        [g.constant([[1.5, -0.0], [np.inf, 3.0]]), g.constant(2, "i64"), g.full((3,), 7.0), g.constant([True])]
    )
    matrix, scalar, full, flag = rlx.compile(g)()
    assert matrix.tolist() == [[1.5, 0.0], [np.inf, 3.0]] and np.signbit(matrix[0, 1])
    assert scalar == 2 and scalar.dtype == np.int64 and full.tolist() == [7, 7, 7] and flag.tolist() == [True]


def test_unused_arguments_can_still_be_given():
    g = rlx.Graph("g")
    x, _, _ = g.input("x", (3,)), g.input("unused", (1000, 2)), g.param("w", (2,))
    g.set_outputs(x * 2)
    given = {"x": np.ones(3, np.float32), "unused": np.zeros((1000, 2), np.float32), "w": np.zeros(2, np.float32)}
    assert rlx.compile(g)(**given)[0].tolist() == [2, 2, 2]
    with pytest.raises(rlx.ArgumentError, match="'unused' of graph 'g' is missing"):
        rlx.compile(g)(x=given["x"], w=given["w"])


def test_wrt_listed_twice_is_given_twice():
    x = numbers(4)
    _, first, second = gradients(graph(lambda g, x: g.reduce_sum(x * x * x), x=(4,)), ["x", "x"], x)
    np.testing.assert_allclose(first, 3 * x * x)
    assert np.array_equal(first, second)


def test_wrt_is_the_loss_itself():
    x = numbers(2, 3)
    loss, grad = gradients(graph(lambda g, x: x, x=(2, 3)), ["x"], x)
    assert np.array_equal(loss, x) and np.array_equal(grad, np.ones((2, 3)))
    seed = numbers(2, 3) + 1
    (only,) = rlx.compile(rlx.grad(graph(lambda g, x: x, x=(2, 3)), ["x"]))(x, seed)
    assert np.array_equal(only, seed)


def test_order_of_wrt_is_the_order_of_gradients():
    x, y = numbers(3), numbers(3) + 1
    made = graph(lambda g, x, y: g.reduce_sum(x * y * y), x=(3,), y=(3,))
    _, dy, dx = gradients(made, ["y", "x"], x, y)
    np.testing.assert_allclose(dx, y * y)
    np.testing.assert_allclose(dy, 2 * x * y)


def test_a_loss_independent_of_wrt():
    made = graph(lambda g, x, y: g.reduce_sum(g.exp(x)), x=(3,), y=(2, 2))
    with pytest.raises(rlx.GraphError, match='from the loss to "y": the loss does not depend on it'):
        rlx.grad_with_loss(made, ["x", "y"])
    x, y = numbers(3), numbers(2, 2)
    _, dx, dy = gradients(made, ["x", "y"], x, y, zero_missing_wrt=True)
    np.testing.assert_allclose(dx, np.exp(x))
    assert dy.shape == (2, 2) and not dy.any()


def test_a_constant_loss():
    made = graph(lambda g, x: g.constant(2.0, "f64"), x=(3,))
    loss, dx = gradients(made, ["x"], numbers(3), zero_missing_wrt=True)
    assert loss == 2 and not dx.any()


def test_auxiliary_outputs_are_passed_on_and_not_differentiated():
    x = numbers(4)
    made = graph(lambda g, x: [g.reduce_sum(g.tanh(x)), g.exp(x), g.reduce_max(x)], x=(4,))
    loss, aux, top, dx = gradients(made, ["x"], x)
    np.testing.assert_allclose(loss, np.tanh(x).sum())
    np.testing.assert_allclose(aux, np.exp(x))
    assert top == x.max()
    np.testing.assert_allclose(dx, 1 / np.cosh(x) ** 2)
    (alone,) = rlx.compile(rlx.grad(made, "x"))(x)
    np.testing.assert_array_equal(alone, dx)


def test_the_loss_is_also_an_auxiliary_output():
    x = numbers(4)
    loss, again, dx = gradients(graph(lambda g, x: [y := g.reduce_sum(x * x), y], x=(4,)), ["x"], x)
    assert loss == again and np.allclose(dx, 2 * x)


@pytest.mark.parametrize("seed", [0.0, -2.5, np.inf])
def test_a_given_cotangent_scales_the_gradient(seed: float):
    x = numbers(4)
    step = rlx.compile(rlx.grad_with_loss(graph(lambda g, x: g.reduce_sum(x * x), x=(4,)), ["x"]))
    np.testing.assert_allclose(step(x, d_output=seed)[1], seed * 2 * x)
    np.testing.assert_allclose(step(x, seed)[1], seed * 2 * x)
    np.testing.assert_allclose(step(x)[1], 2 * x)


def test_the_cotangent_of_a_tensor_makes_a_vector_jacobian_product():
    x, seed = numbers(3, 4), numbers(3, 4) - 1
    made = rlx.grad_with_loss(graph(lambda g, x: g.softmax(x), x=(3, 4)), ["x"])
    y, dx = check(made, x, seed)
    np.testing.assert_allclose(dx, y * (seed - (seed * y).sum(-1, keepdims=True)), rtol=1e-12)


def test_cotangents_of_several_outputs_make_one_vector_jacobian_product():
    """The loss is the sum of the outputs along their cotangents."""
    x, u, v = numbers(3), numbers(3) - 1, 2.5
    two = graph(lambda g, x: [g.sin(x), g.reduce_sum(x * x)], x=(3,))
    g = rlx.Graph("along")
    first, second = g.inline(two)
    g.set_outputs(g.reduce_sum(first * g.input("u", (3,), "f64")) + second * g.input("v", (), "f64"))
    (dx,) = rlx.compile(rlx.grad(g, "x"))(x=x, u=u, v=v)
    np.testing.assert_allclose(dx, np.cos(x) * u + 2 * x * v, rtol=1e-13)


@pytest.mark.parametrize("keep_dim", [False, True])
@pytest.mark.parametrize("shape", [(), (1,), (5,), (1, 1)])
def test_a_loss_of_rank_zero_or_of_one_element(shape: tuple[int, ...], keep_dim: bool):
    x = numbers(*shape)
    loss, dx = gradients(graph(lambda g, x: g.reduce_sum(x * x, keep_dim=keep_dim), x=shape), ["x"], x)
    assert loss.shape == ((1,) * len(shape) if keep_dim else ()) and dx.shape == shape
    np.testing.assert_allclose(dx, 2 * x)


def test_both_operands_broadcast():
    x, y = numbers(5, 1), numbers(1, 3) + 1
    _, dx, dy = gradients(graph(lambda g, x, y: g.reduce_sum(x / y), x=(5, 1), y=(1, 3)), ["x", "y"], x, y)
    np.testing.assert_allclose(dx, np.broadcast_to((1 / y).sum(), (5, 1)))
    np.testing.assert_allclose(dy, -x.sum() / y**2)


@pytest.mark.parametrize(
    ("lhs", "rhs"), [((2, 3, 4), (4, 5)), ((3, 4), (2, 4, 5)), ((2, 1, 3, 4), (6, 4, 5)), ((1, 3, 4), (2, 4, 5))]
)
def test_matrix_products_with_a_batch_on_one_side(lhs: tuple[int, ...], rhs: tuple[int, ...]):
    x, y = numbers(*lhs), numbers(*rhs)
    made = graph(lambda g, x, y: g.reduce_sum(g.tanh(x @ y * 0.1)), x=lhs, y=rhs)
    _, dx, dy = gradients(made, ["x", "y"], x, y)
    inner = 0.1 / np.cosh(0.1 * (x @ y)) ** 2
    expected = np.einsum("...ij,...kj->...ik", inner, y), np.einsum("...ij,...ik->...jk", x, inner)
    for found, wide in zip((dx, dy), expected, strict=True):
        extra = tuple(range(wide.ndim - found.ndim))
        narrow = wide.sum(extra)
        ones = tuple(a for a in range(found.ndim) if found.shape[a] == 1 and narrow.shape[a] != 1)
        np.testing.assert_allclose(found, narrow.sum(ones, keepdims=True), rtol=1e-12)


@pytest.mark.parametrize("bias", [(2, 3, 4), (2, 1, 4), (6, 1, 1), (2, 3, 1), (3, 1, 1, 4)])
@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("columns", [1, 4])
def test_a_product_smaller_than_what_it_is_added_to(bias: tuple[int, ...], rows: int, columns: int):
    """Each of its rows is used for several rows of the sum, so it is no part of their loop."""
    bias = tuple(1 if n == 3 and rows == 1 else n for n in bias)
    made = graph(lambda g, x, w, b: [g.tanh(x @ w + b)], x=(rows, 5), w=(5, columns), b=bias)
    x, w, b = numbers(rows, 5), numbers(5, columns), numbers(*bias)
    (y,) = check(made, x, w, b)
    np.testing.assert_allclose(y, np.tanh(x @ w + b), rtol=1e-13)


def test_ops_that_line_up_only_together():
    """`c b` shares one operand with `a b`, and `c b + a` the other: neither says where all three loops are."""
    made = graph(lambda g, a, b, c: [a * b, c * b + a], a=(3, 4), b=(5, 1, 4), c=(3, 4))
    a, b, c = numbers(3, 4), numbers(5, 1, 4), numbers(3, 4)
    check(made, a, b, c)
    assert rlx.compile(made).kernel_count == 1


def test_no_elements():
    made = graph(
        lambda g, x, w: [g.reduce_sum(g.tanh(x @ w)), g.softmax(x @ w), g.concat([x, x], 0)], x=(0, 3), w=(3, 4)
    )
    x, w = numbers(0, 3), numbers(3, 4)
    loss, rows, both, dx, dw = gradients(made, ["x", "w"], x, w)
    assert loss == 0 and rows.shape == (0, 4) and both.shape == (0, 3) and dx.shape == (0, 3)
    assert dw.shape == (3, 4) and not dw.any()


def test_a_product_over_nothing_is_zero():
    x, w = numbers(2, 0), numbers(0, 3)
    product, dx, dw = gradients(graph(lambda g, x, w: x @ w, x=(2, 0), w=(0, 3)), ["x", "w"], x, w)
    assert product.shape == (2, 3) and not product.any() and dx.shape == (2, 0) and dw.shape == (0, 3)


def test_moves_that_move_nothing():
    def build(g: rlx.Graph, x: rlx.Value) -> list[rlx.Value]:
        moved = g.narrow(g.concat([x], axis=0), axis=1, start=0, len=3)
        moved = g.transpose(g.expand(g.reshape(moved, (2, 3)), (2, 3)), (0, 1))
        return [g.reduce_sum(moved * moved), moved]

    x = numbers(2, 3)
    _, moved, dx = gradients(graph(build, x=(2, 3)), ["x"], x)
    assert np.array_equal(moved, x)
    np.testing.assert_allclose(dx, 2 * x)


def test_moves_take_no_memory():
    """A slice, another order of the axes and an axis that is repeated are read where the argument lies."""

    def build(g: rlx.Graph, x: Any, w: Any) -> Any:
        turned = g.transpose(g.narrow(x, 0, 16, 32), (1, 0))
        return g.reduce_sum(g.expand(g.reshape(w, (64, 1)), (64, 32)) * turned, 0)

    x, w = numbers(64, 64), numbers(64) - 1
    made = graph(build, x=(64, 64), w=(64,))
    check(made, x, w)
    assert rlx.memory_report(made, threads=1).arena < 1024
    _, dx, dw = gradients(made, ["x", "w"], x, w)
    np.testing.assert_allclose(dx[16:48], np.broadcast_to(w, (32, 64)))
    assert not dx[:16].any() and not dx[48:].any()
    np.testing.assert_allclose(dw, x[16:48].sum(0), rtol=1e-12)


def test_softmax_over_one_element_is_one_with_no_gradient():
    x = numbers(4, 1)
    _, y, dx = gradients(graph(lambda g, x: [g.reduce_sum(g.softmax(x) * x), g.softmax(x)], x=(4, 1)), ["x"], x)
    assert (y == 1).all()
    np.testing.assert_allclose(dx, np.ones((4, 1)))
    _, dx = gradients(graph(lambda g, x: g.reduce_sum(g.softmax(x)), x=(4, 1)), ["x"], x)
    assert not dx.any()


def test_a_param_declared_after_a_fused_op():
    g = rlx.Graph("g")
    x, w, b = g.input("x", (4, 3), "f64"), g.param("w", (3, 5), "f64"), g.param("b", (5,), "f64")
    h = g.fused_matmul_bias_act(x, w, b, "tanh")
    late = g.param("late", (5,), "f64")
    g.set_outputs(g.reduce_sum(h * late))
    arrays = numbers(4, 3), numbers(3, 5) - 1, numbers(5), numbers(5) - 2
    _, dlate, dw = gradients(g, ["late", "w"], *arrays)
    h = np.tanh(arrays[0] @ arrays[1] + arrays[2])
    np.testing.assert_allclose(dlate, h.sum(0))
    np.testing.assert_allclose(dw, arrays[0].T @ ((1 - h * h) * arrays[3]), rtol=1e-12)


SHAPES = {"x": (3, 4), "w": (4, 4), "b": (4,), "packed": (4, 8), "gain": (4,), "turn": (4,), "late": (4,)}


def layers(first: Sequence[str]) -> rlx.Graph:
    """Composite ops, a branch and a function; its arguments are declared at first, and then where they are used."""
    g = rlx.Graph("layers")
    made: dict[str, Any] = {}

    def given(name: str) -> Any:
        if name not in made:
            made[name] = (g.input if name == "x" else g.param)(name, SHAPES[name], "f64")
        return made[name]

    for name in first:
        given(name)
    h = g.fused_swiglu(g.fused_matmul_bias_act(given("x"), given("w"), given("b"), "gelu") @ given("packed"))
    gain, zeros = given("gain"), g.full((4,), 0.0, "f64")
    h = g.cond(g.reduce_sum(h) > -1e9, lambda: g.fused_residual_rms_norm(h, given("x"), gain, zeros), lambda: h)
    h = g.custom_fn(lambda a, b: g.sin(a) * b, h, given("turn"))
    g.set_outputs([g.reduce_sum(h * given("late") * h), h])
    return g


def layers_in_jax(x: Any, w: Any, b: Any, packed: Any, gain: Any, turn: Any, late: Any) -> Any:
    both = jax.nn.gelu(x @ w + b, approximate=False) @ packed
    h = both[:, :4] * jax.nn.silu(both[:, 4:]) + x
    h = jnp.sin(h * jax.lax.rsqrt(jnp.mean(h * h, -1, keepdims=True) + 1e-5) * gain) * turn
    return jnp.sum(h * late * h)


@pytest.mark.parametrize("first", [(), tuple(SHAPES)[::-1]], ids=["where used", "backwards"])
def test_where_arguments_are_declared_changes_no_derivative(first: tuple[str, ...]):
    """Preparation takes the composite ops in front of them apart: what is meant by a name stays the same."""
    rng = np.random.default_rng(3)
    arrays = {name: rng.standard_normal(shape) for name, shape in SHAPES.items()}
    along = {name: rng.standard_normal(shape) for name, shape in SHAPES.items()}
    made, wrt, everything = layers(first), list(SHAPES), arrays | {f"tangent_{n}": v for n, v in along.items()}
    grads = jax.grad(layers_in_jax, range(len(wrt)))
    points, tangents = tuple(arrays.values()), tuple(along.values())
    expected, products = (
        jaxpr.evaluate(grads, *points),
        jaxpr.evaluate(lambda *moved: jax.jvp(grads, moved[: len(wrt)], moved[len(wrt) :])[1], *points, *tangents),
    )
    found = [
        *oracle.run(rlx.grad_with_loss(made, wrt), **arrays)[2:],
        *oracle.run(rlx.hvp(made, wrt), **everything)[-len(wrt) :],
        oracle.run(rlx.jvp(made, wrt), **everything)[2],
    ]
    slope = sum(np.vdot(g, v) for g, v in zip(expected, tangents, strict=True))
    for one, wanted in zip(found, [*expected, *products, slope], strict=True):
        np.testing.assert_allclose(one, wanted, rtol=1e-9, atol=1e-10)
    training = rlx.compile_training(made, threads=1)
    training.weights.update({name: array for name, array in arrays.items() if name != "x"})
    _, _, *step = training.step(x=arrays["x"])
    params = [name for name in (first or wrt) if name != "x"]
    for name, one in zip(params, step, strict=True):
        np.testing.assert_allclose(one, expected[wrt.index(name)], rtol=1e-9, atol=1e-10)


def test_inputs_come_before_params_by_position_whatever_their_order():
    g = rlx.Graph("g")
    w = g.param("w", (2,))
    x = g.input("x", (2,))
    g.set_outputs(x - w)
    compiled = rlx.compile(g)
    x_, w_ = np.array([5, 6], np.float32), np.array([1, 2], np.float32)
    for result in (compiled(x_, w_), compiled(w=w_, x=x_), compiled(x_, w=w_)):
        assert result[0].tolist() == [4, 4]
    compiled.set_param("w", w_)
    assert compiled(x_)[0].tolist() == [4, 4]


def test_the_cotangent_comes_after_the_params_by_position():
    g = rlx.Graph("g")
    x, w = g.input("x", (2,), "f64"), g.param("w", (2,), "f64")
    g.set_outputs(g.reduce_sum(x * w))
    step = rlx.compile(rlx.grad_with_loss(g, ["x", "w"]))
    x_, w_ = numbers(2), numbers(2) + 1
    for seed, given in ((1.0, (x_, w_)), (3.0, (x_, w_, 3.0))):
        _, dx, dw = step(*given)
        np.testing.assert_allclose((dx, dw), (seed * w_, seed * x_))


def test_a_hir_model_is_compiled_and_differentiated_as_it_is():
    layer = rlx.GraphModule.define(
        "layer",
        lambda m: m.linear(m.input("x", (5, 3), "f64"), m.param("w", (3, 4), "f64"), m.param("b", (4,), "f64"), "gelu"),
    )
    x, w, b = numbers(5, 3), numbers(3, 4) - 1, numbers(4)
    assert layer.stage == "hir"
    direct = rlx.compile(layer)(x, w, b)[0]
    for policy in ("direct", "fusable"):
        lowered = rlx.lower_hir(layer, fusion_policy=policy)
        assert lowered.stage == "mir"
        np.testing.assert_allclose(check(lowered, x, w, b)[0], direct, rtol=1e-12)
    loss, *grads = rlx.compile(rlx.grad_with_loss(layer))(x, w, b)
    np.testing.assert_allclose(loss, direct, rtol=1e-12)
    assert [grad.shape for grad in grads] == [(3, 4), (4,)]


def test_every_stage_as_text_compiles_to_the_same_numbers():
    made = rlx.grad_with_loss(graph(lambda g, x, w: g.reduce_mean(g.gelu(x @ w)), x=(4, 3), w=(3, 5)), ["x", "w"])
    arrays = numbers(4, 3), numbers(3, 5)
    expected = check(made, *arrays)
    lowered = rlx.lower(made, threads=2)
    assert lowered.stage == "lir"
    for text in (str(made), str(rlx.run_passes(made, "mir-prepare-for-fusion,mir-fuse")), str(lowered)):
        compiled = rlx.compile(rlx.parse(text), threads=2)
        assert [spec.name for spec in compiled.inputs] == ["x", "w", "d_output"]
        for result, right in zip(compiled(*arrays), expected, strict=True):
            assert result.tobytes() == right.tobytes()


def test_a_program_that_is_not_planned_yet_is_planned():
    made = graph(lambda g, x: g.softmax(g.softmax(x, 0), 1), x=(4, 3))
    lowered = rlx.run_passes(made, "mir-prepare-for-fusion,mir-fuse,convert-mir-to-lir")
    x = numbers(4, 3)
    np.testing.assert_array_equal(rlx.compile(lowered)(x)[0], rlx.compile(made, threads=1)(x)[0])


def test_what_is_done_to_a_graph_later_does_not_change_what_was_derived_from_it():
    for _ in range(2):
        g = rlx.Graph("g")
        x = g.input("x", (3,), "f64")
        y = g.exp(x)
        g.set_outputs(g.reduce_sum(y))
        gradient, lowered, compiled = rlx.grad_with_loss(g, ["x"]), rlx.lower(g), rlx.compile(g)
        g.set_outputs(g.reduce_sum(y * y))
        values = np.log(np.array([1.0, 2.0, 3.0]))
        np.testing.assert_allclose(rlx.compile(gradient)(values)[1], [1, 2, 3])
        assert all(run(values)[0] == pytest.approx(6) for run in (compiled, rlx.compile(lowered)))
        assert rlx.compile(g)(values)[0] == pytest.approx(14)


def test_gradients_of_gradients():
    x = numbers(4)
    first = rlx.grad(graph(lambda g, x: g.reduce_sum(x * x * x), x=(4,)), "x")
    (second,) = rlx.compile(rlx.grad(first, "x"))(x)
    np.testing.assert_allclose(second, 6 * x)


@pytest.mark.parametrize("shape", [(3, 4, 5), (2, 8, 5), (1, 4, 5), (2, 3, 4, 5), (2, 1, 5)])
def test_products_with_one_matrix_and_with_a_batch_of_matrices_meet_in_one_kernel(shape: tuple[int, ...]):
    batch = shape[:-2]
    build = lambda g, x, w, u: (x @ w) * (x @ u) + g.softmax(x @ w)  # noqa: E731
    made = graph(build, x=shape, w=(5, 6), u=(*batch, 5, 6))
    check(made, numbers(*shape), numbers(5, 6), numbers(*batch, 5, 6))


def test_products_over_other_batches_are_other_kernels():
    def build(g: rlx.Graph, x: Any, w: Any, u: Any, v: Any) -> Any:
        """Over the same rows: a batch of six matrices of one row, and one of two matrices of three."""
        one = g.reshape(g.reshape(x, (2, 3, 1, 5)) @ w, (2, 3, 4))
        return one * (x @ u), one + x @ v

    made = graph(build, x=(2, 3, 5), w=(2, 3, 5, 4), u=(2, 5, 4), v=(5, 4))
    check(made, numbers(2, 3, 5), numbers(2, 3, 5, 4), numbers(2, 5, 4), numbers(5, 4))


def test_a_product_of_one_row_that_is_broadcast_and_used_as_it_is():
    def build(g: rlx.Graph, a: Any, b: Any, c: Any) -> Any:
        p = a @ b
        return g.reduce_mean(c + p, axes=[1, 2]), g.sin(p)

    check(graph(build, a=(3, 1, 2), b=(3, 2, 2), c=(3, 2, 2)), numbers(3, 1, 2), numbers(3, 2, 2), numbers(3, 2, 2))


def test_a_factor_that_is_also_read_element_by_element():
    made = graph(lambda g, x, w: (x @ w) * (w * 2.0), x=(3, 3, 2, 2), w=(3, 2, 2))
    check(made, numbers(3, 3, 2, 2), numbers(3, 2, 2))


def test_rows_of_a_batch_that_lie_too_close_together_to_be_one_matrix():
    """Real and imaginary parts alternate: a row of two numbers, two numbers further on the next one."""
    w = numbers(4, 2)
    x = numbers(2, 1, 2) + 1j * numbers(2, 1, 2)
    g = rlx.Graph("g")
    given = g.input("x", (2, 1, 2), "c128")
    g.set_outputs(g.real(given) @ g.transpose(g.input("w", (4, 2), "f64"), (1, 0)))
    np.testing.assert_allclose(rlx.compile(g)(x, w)[0], x.real @ w.T)


def test_rows_over_several_loops_that_lie_unevenly():
    """No two of the loops are one in all buffers: their indices are found from the number of the row."""
    made = graph(lambda g, x, z: [g.softmax(x + g.transpose(z, (2, 1, 0, 3)), -1)], x=(2, 3, 5, 7), z=(5, 3, 2, 7))
    check(made, numbers(2, 3, 5, 7), numbers(5, 3, 2, 7))
