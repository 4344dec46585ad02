"""Recurrent layers: values against loops in NumPy written from PyTorch's equations, gradients against JAX."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numerics import jaxpr
from numerics.blocks.recurrent import B, F, H, N, P, operands, reference
from oracle import evaluate

import xdsl_rlx as rlx
from xdsl_rlx.dialects.lir import LaunchOp, LoopOp

jax.config.update("jax_enable_x64", True)

Array = np.ndarray[Any, Any]


def layer(name: str, arrays: dict[str, Array], dtype: str = "f64") -> rlx.GraphModule:
    """The block, and a loss of all its results in front; the state of a mamba2 of half floats is f32."""
    state = "f32" if name == "mamba2" and dtype != "f64" else dtype

    def build(m: Any) -> Any:
        types = {key: state if key == "h0" else dtype for key in arrays}
        given = {key: m.param(key, array.shape, types[key]) for key, array in arrays.items()}
        results = getattr(m, name)(**given)
        assert [y.dtype for y in results[1:]] == [state] * (len(results) - 1)
        loss = m.reduce_sum(m.sin(results[0]))
        for last in results[1:]:
            loss = loss + m.cast(m.reduce_sum(last * last), dtype)
        return [loss, *results]

    return rlx.GraphModule.define(name, build)


def loss_in_jax(name: str, keys: list[str]) -> Callable[..., Any]:
    def loss(*xs: Any) -> Any:
        given = dict(zip(keys, xs, strict=True))
        x = given.pop("x")
        outputs, *last = reference(jnp, name, x, given)
        return jnp.sum(jnp.sin(outputs)) + sum(jnp.sum(h * h) for h in last)

    return loss


def value_and_grads(name: str, arrays: dict[str, Array]) -> list[Array]:
    """The loss, and its derivatives by all operands, by the rules of JAX."""
    loss = loss_in_jax(name, list(arrays))
    return jaxpr.evaluate(jax.value_and_grad(loss, tuple(range(len(arrays)))), *arrays.values())


LAYERS = pytest.mark.parametrize("name", ["rnn", "lstm", "gru", "mamba2"])


@pytest.mark.sampled
@LAYERS
@pytest.mark.parametrize("optional", [False, True])
@pytest.mark.parametrize("times", [0, 1, 2, 7])
def test_values_and_gradients(name: str, optional: bool, times: int) -> None:
    arrays = operands(name, times, optional)
    module = layer(name, arrays)
    _, *found = evaluate(rlx.lower_hir(module).module, *arrays.values())
    given = dict(arrays)
    for ours, theirs in zip(found, reference(np, name, given.pop("x"), given), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-13)
    keys, expected = list(arrays), value_and_grads(name, arrays)
    gradient = rlx.grad_with_loss(module, keys, zero_missing_wrt=True)
    outputs = evaluate(gradient.module, *arrays.values(), 1.0)
    for ours, theirs in zip((outputs[0], *outputs[-len(keys) :]), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-11)


@LAYERS
def test_compiled_gradients_on_two_threads(name: str) -> None:
    arrays = operands(name, 9, True)
    keys, expected = list(arrays), value_and_grads(name, arrays)
    found = rlx.compile(rlx.grad_with_loss(layer(name, arrays), keys), threads=2)(**arrays)
    for ours, theirs in zip((found[0], *found[-len(keys) :]), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-10)


@LAYERS
def test_second_derivatives_and_gradients_of_examples(name: str) -> None:
    """The Hessian along a direction, and a batch of gradients, each with the weights that all share."""
    arrays = operands(name, 3, False)
    keys = list(arrays)
    loss, rng = loss_in_jax(name, keys), np.random.default_rng(4)
    along = [rng.standard_normal(array.shape) for array in arrays.values()]
    grads = jax.grad(loss, tuple(range(len(keys))))
    expected = jaxpr.evaluate(lambda xs, us: jax.jvp(grads, tuple(xs), tuple(us))[1], [*arrays.values()], along)
    module = rlx.select_outputs(layer(name, arrays), 0)
    product = rlx.hvp(module, keys)
    found = evaluate(product.module, *_in_order(product, arrays | _tangents(keys, along)))[-len(keys) :]
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-10)

    xs = rng.standard_normal((4, *arrays["x"].shape))
    each = rlx.vmap(rlx.grad(module, keys), ["x"], 4)
    rest = list(arrays.values())[1:]
    expected = jaxpr.evaluate(jax.vmap(lambda x: grads(x, *rest)), xs)
    found = evaluate(each.module, *_in_order(each, arrays | {"x": xs}))
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-11)


def _tangents(keys: list[str], along: list[Array]) -> dict[str, Array]:
    return {f"tangent_{key}": direction for key, direction in zip(keys, along, strict=True)}


def _in_order(graph: rlx.GraphModule, arrays: dict[str, Any]) -> list[Any]:
    return [arrays.get(argument.name, 1.0) for argument in graph.signature.arguments]


@LAYERS
def test_both_policies_mean_the_same(name: str) -> None:
    arrays = operands(name, 5, True)
    direct, fusable = (rlx.lower_hir(layer(name, arrays), policy) for policy in ("direct", "fusable"))
    for one, other in zip(*(evaluate(g.module, *arrays.values()) for g in (direct, fusable)), strict=True):
        np.testing.assert_array_equal(one, other)


@LAYERS
def test_what_is_launched_does_not_depend_on_the_length(name: str) -> None:
    counts = set[tuple[int, int]]()
    for times in (64, 4096):
        arrays = operands(name, times, True)
        ops = list(rlx.lower(rlx.grad_with_loss(layer(name, arrays), list(arrays))).module.walk())
        counts.add((sum(isinstance(op, LaunchOp) for op in ops), sum(isinstance(op, LoopOp) for op in ops)))
    assert len(counts) == 1


@LAYERS
@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_half_floats(name: str, dtype: str) -> None:
    arrays = {key: 0.3 * array for key, array in operands(name, 6, True).items()}
    module = rlx.lower_hir(layer(name, arrays, dtype))
    _, *found = evaluate(module.module, *arrays.values())
    given = dict(arrays)
    for ours, theirs in zip(found, reference(np, name, given.pop("x"), given), strict=True):
        np.testing.assert_allclose(ours.astype(np.float64), theirs, atol={"f16": 4e-3, "bf16": 3e-2}[dtype])


def test_mamba2_is_a_selective_scan_whose_channels_share_their_decay() -> None:
    arrays = operands("mamba2", 6, False)
    _, outputs, last = evaluate(rlx.lower_hir(layer("mamba2", arrays)).module, *arrays.values())
    g = rlx.Graph("selective")
    x, b, c = (g.input(key, arrays[key].shape, "f64") for key in ("x", "b", "c"))
    dt, a = g.input("dt", arrays["dt"].shape, "f64"), g.input("a", (H,), "f64")
    delta = g.expand(g.reshape(dt, (B, 6, H, 1)), (B, 6, H, P)).reshape(B, 6, H * P)
    decay = g.expand(g.reshape(a, (H, 1)), (H, P * N)).reshape(H * P, N)
    g.set_outputs(list(g.selective_scan(x.reshape(B, 6, H * P), delta, decay, b, c)))
    y, state = evaluate(g.module, *(arrays[key] for key in ("x", "b", "c", "dt", "a")))
    np.testing.assert_allclose(outputs.reshape(y.shape), y, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(last.reshape(state.shape), state, rtol=1e-12, atol=1e-13)


def test_a_layer_goes_on_from_the_state_it_ended_with() -> None:
    arrays = operands("lstm", 7, True)

    def build(m: Any) -> Any:
        p = {key: m.param(key, array.shape, "f64") for key, array in arrays.items()}
        x, h, c = p.pop("x"), p.pop("h0"), p.pop("c0")
        first, h, c = m.lstm(x[:, :3], **p, h0=h, c0=c)
        second, h, c = m.lstm(x[:, 3:], **p, h0=h, c0=c)
        return [m.concat([first, second], 1), h, c]

    parts = evaluate(rlx.lower_hir(rlx.GraphModule.define("parts", build)).module, *arrays.values())
    _, *whole = evaluate(rlx.lower_hir(layer("lstm", arrays)).module, *arrays.values())
    for ours, theirs in zip(parts, whole, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize(
    ("name", "wrong", "message"),
    [
        ("lstm", {"w_ih": (F, 3 * H)}, r"expected w_ih of shape \[5, 16\], got \[5, 12\]"),
        ("gru", {"w_hh": (H, 4 * H)}, r"expected w_hh of shape \[4, 12\], got \[4, 16\]"),
        ("rnn", {"b_hh": (H + 1,)}, r"expected b_hh of shape \[4\], got \[5\]"),
        ("lstm", {"c0": (H, B)}, r"expected c0 of shape \[3, 4\], got \[4, 3\]"),
        ("mamba2", {"a": (H, N)}, r"expected a of shape \[4\], got \[4, 2\]"),
        ("mamba2", {"h0": (B, H, N, P)}, "expected h0 of type tensor<3x4x3x2xf64>, got"),
    ],
)
def test_operands_that_do_not_fit_are_named(name: str, wrong: dict[str, tuple[int, ...]], message: str) -> None:
    arrays = operands(name, 2, True) | {key: np.zeros(shape) for key, shape in wrong.items()}
    with pytest.raises(rlx.GraphError, match=message):
        layer(name, arrays)
