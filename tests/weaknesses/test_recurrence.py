"""Recurrences: what a state that is a value makes possible, and what is easily wrong with a state.

Each test names in its docstring the weakness that it guards against.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numerics import jaxpr

import xdsl_rlx as rlx

jax.config.update("jax_enable_x64", True)

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(0)
B, S, H, N = 2, 6, 3, 4
DELTA: dict[str, Array] = {
    "q": RNG.standard_normal((B, S, H, N)) * 0.6,
    "k": RNG.standard_normal((B, S, H, N)) * 0.6,
    "v": RNG.standard_normal((B, S, H, N)),
    "g": -RNG.uniform(0.1, 1.0, (B, S, H)),
    "beta": RNG.uniform(0.1, 0.9, (B, S, H)),
    "state": RNG.standard_normal((B, H, N, N)),
}
SELECTIVE: dict[str, Array] = {
    "x": RNG.standard_normal((B, S, H)),
    "delta": RNG.uniform(0.1, 1.0, (B, S, H)),
    "a": -RNG.uniform(0.1, 1.5, (H, N)),
    "b": RNG.standard_normal((B, S, N)),
    "c": RNG.standard_normal((B, S, N)),
    "state": RNG.standard_normal((B, H, N)),
}
OVER_TIME = {"q", "k", "v", "g", "beta", "x", "delta", "b", "c"}
ARRAYS = {"gated_delta_net": DELTA, "selective_scan": SELECTIVE}
both = pytest.mark.parametrize("op", ARRAYS)


def delta_in_jax(q: Any, k: Any, v: Any, g: Any, beta: Any, state: Any) -> tuple[Any, Any]:
    ys = []
    for t in range(q.shape[1]):
        state = jnp.exp(g[:, t])[..., None, None] * state
        d = (v[:, t] - jnp.einsum("bhi,bhij->bhj", k[:, t], state)) * beta[:, t, :, None]
        state = state + k[:, t, :, :, None] * d[:, :, None]
        ys.append(jnp.einsum("bhi,bhij->bhj", q[:, t], state) / N**0.5)
    return jnp.stack(ys, 1), state


def selective_in_jax(x: Any, delta: Any, a: Any, b: Any, c: Any, state: Any) -> tuple[Any, Any]:
    ys = []
    for t in range(x.shape[1]):
        taken = (delta[:, t] * x[:, t])[:, :, None] * b[:, t, None]
        state = jnp.exp(delta[:, t, :, None] * a) * state + taken
        ys.append(jnp.sum(state * c[:, t, None], -1))
    return jnp.stack(ys, 1), state


IN_JAX = {"gated_delta_net": delta_in_jax, "selective_scan": selective_in_jax}


def two_parts(op: str, at: int) -> rlx.Graph:
    """A loss of both results of a recurrence whose second part begins with the final state of the first."""
    g = rlx.Graph("parts")
    given = [g.param(name, array.shape, "f64") for name, array in ARRAYS[op].items()]
    ys: list[Any] = []
    state = given[-1]
    for part in (slice(0, at), slice(at, S)):
        chosen = [x[:, part] if name in OVER_TIME else x for name, x in zip(ARRAYS[op], given[:-1], strict=False)]
        y, state = getattr(g, op)(*chosen, state)
        ys.append(y)
    y = g.concat(ys, 1)
    g.set_outputs([g.reduce_sum(g.sin(y)) + g.reduce_sum(state * state)])
    return g


@pytest.mark.sampled
@both
@pytest.mark.parametrize("at", [0, 1, 4, S])
def test_a_gradient_flows_into_a_later_consumer_of_the_final_state(op: str, at: int) -> None:
    """W-20: the final state is a value; a sequence in two parts has the value and the gradients of the whole."""
    arrays = ARRAYS[op]

    def loss(*xs: Any) -> Any:
        y, state = IN_JAX[op](*xs)
        return jnp.sum(jnp.sin(y)) + jnp.sum(state * state)

    expected = jaxpr.evaluate(jax.value_and_grad(loss, tuple(range(len(arrays)))), *arrays.values())
    found = rlx.compile(rlx.grad_with_loss(two_parts(op, at), list(arrays)))(**arrays)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-11)


@both
def test_a_gradient_flows_into_the_final_state_alone(op: str) -> None:
    """W-20: nothing reads the outputs; what they alone depend on gets zeros."""
    arrays = ARRAYS[op]
    g = rlx.Graph("last")
    given = [g.param(name, array.shape, "f64") for name, array in arrays.items()]
    g.set_outputs([g.reduce_sum(getattr(g, op)(*given)[1] ** 3)])
    cubes = jax.grad(lambda *xs: jnp.sum(IN_JAX[op](*xs)[1] ** 3), tuple(range(len(arrays))))
    expected = jaxpr.evaluate(cubes, *arrays.values())
    found = rlx.compile(rlx.grad(g, list(arrays)))(**arrays)
    for name, ours, theirs in zip(arrays, found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-11, err_msg=name)
    read_only = dict(zip(arrays, found, strict=True))["q" if op == "gated_delta_net" else "c"]
    assert not read_only.any()


@both
def test_unfusing_keeps_the_final_state(op: str) -> None:
    """W-20: the definition has both results, and nothing is overwritten."""
    arrays = ARRAYS[op]
    g = rlx.Graph("both")
    given = [g.input(name, array.shape, "f64") for name, array in arrays.items()]
    g.set_outputs(list(getattr(g, op)(*given)))
    expected = IN_JAX[op](*arrays.values())
    before = arrays["state"].copy()
    for graph in (g, rlx.run_passes(g, "mir-convert-scans-for-ad{recurrences=unroll}")):
        for ours, theirs in zip(rlx.compile(graph)(**arrays), expected, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-13)
    np.testing.assert_array_equal(arrays["state"], before)


@both
def test_every_sequence_of_a_batch_begins_anew(op: str) -> None:
    """No state goes from one sequence to the next, nor from one call to the next."""
    g = rlx.Graph("batch")
    given = [g.input(name, array.shape) for name, array in ARRAYS[op].items() if name != "state"]
    g.set_outputs(list(getattr(g, op)(*given)))
    arrays = {name: array.astype(np.float32) for name, array in ARRAYS[op].items() if name != "state"}
    step = rlx.compile(g)
    first = step(**arrays)
    turned = {name: x[::-1].copy() if name in OVER_TIME else x for name, x in arrays.items()}
    for there, back in zip(first, step(**turned), strict=True):
        np.testing.assert_array_equal(there, back[::-1])
    for there, again in zip(first, step(**arrays), strict=True):
        np.testing.assert_array_equal(there, again)


@pytest.mark.sampled
@both
@pytest.mark.parametrize("lost", [B, S, H], ids=["sequences", "times", "channels"])
@pytest.mark.parametrize("with_state", [False, True])
def test_gradients_of_nothing_are_compiled(op: str, lost: int, with_state: bool) -> None:
    """Without sequences, times, channels: carries and elements that no launch writes or reads."""
    g = rlx.Graph("nothing")
    shapes = {name: tuple(0 if n == lost else n for n in array.shape) for name, array in ARRAYS[op].items()}
    names = [name for name in shapes if with_state or name != "state"]
    y, state = getattr(g, op)(*(g.param(name, shapes[name], "f64") for name in names))
    g.set_outputs([g.reduce_sum(y) + g.reduce_sum(state * state) if with_state else g.reduce_sum(y)])
    start = ARRAYS[op]["state"] if lost == S and with_state else np.zeros(shapes["state"])
    arrays = {name: start if name == "state" else np.zeros(shapes[name]) for name in names}
    gradient = rlx.grad_with_loss(g, names, zero_missing_wrt=True)
    rlx.lower(gradient).module.verify()
    loss, *gradients = rlx.compile(gradient)(**arrays)
    np.testing.assert_allclose(loss, np.sum(start * start), rtol=1e-12)
    for name, gradient in zip(names, gradients, strict=True):
        np.testing.assert_allclose(gradient, 2 * start if name == "state" else np.zeros(shapes[name]), rtol=1e-14)


@both
def test_the_state_of_half_floats_is_not_rounded_from_time_to_time(op: str) -> None:
    """2,000 times that each change the state by less than half floats can show."""
    times = 2000
    g = rlx.Graph("long")
    if op == "selective_scan":
        one, row = g.full((1, times, 1), 1.0, "bf16"), g.full((1, times, 1), 1.0, "bf16")
        small = g.full((1, times, 1), 2.0**-10, "bf16")
        y, state = g.selective_scan(one, small, g.full((1, 1), 0.0, "bf16"), row, row)
    else:
        column, scalar = g.full((1, times, 1, 1), 1.0, "bf16"), g.full((1, times, 1), 0.0, "bf16")
        small = g.full((1, times, 1), 2.0**-12, "bf16")
        y, state = g.gated_delta_net(column, column, g.full((1, times, 1, 1), 4.0, "bf16"), scalar, small)
    g.set_outputs([state, y])
    last, ys = rlx.compile(g)()
    assert last.dtype == np.float32
    expected = times * 2.0**-10 if op == "selective_scan" else 4.0 * (1 - (1 - 2.0**-12) ** times)
    np.testing.assert_allclose(np.ravel(last), expected, rtol=1e-5)
    np.testing.assert_allclose(np.ravel(ys)[-1].astype(np.float32), expected, rtol=2.0**-8)
