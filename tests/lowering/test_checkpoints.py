"""Checkpointed scans as compiled programs: their values and gradients, and how little memory they take."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numerics import jaxpr

import xdsl_rlx as rlx
from xdsl_rlx.builder import as_graph_module
from xdsl_rlx.dialects.lir import LaunchOp
from xdsl_rlx.lowering.backend.machine.llvm import Effort
from xdsl_rlx.lowering.backend.runtime.compile_module import compile_module
from xdsl_rlx.lowering.backend.runtime.compiled_graph import CompiledGraph

STATE = 16


def gradient(length: int, checkpoints: int | None, reverse: bool = False) -> rlx.GraphModule:
    g = rlx.Graph("recurrence")
    x, h, w = g.param("x", (length, 1), "f64"), g.param("h", (1, STATE), "f64"), g.param("w", (STATE, STATE), "f64")

    def body(c: Any, e: Any) -> Any:
        after = g.tanh(c @ w + e)
        return after, g.reduce_sum(after * c)

    last, ys = g.scan(body, h, x, reverse=reverse, checkpoints=checkpoints)
    g.set_outputs([g.reduce_sum(last * last) + g.reduce_sum(ys * ys)])
    return rlx.grad_with_loss(g, ["x", "h", "w"])


def compiled(graph: Any, threads: int = 1) -> CompiledGraph:
    return compile_module(as_graph_module(graph).module, threads, Effort.QUICK)


def values(length: int) -> dict[str, Any]:
    draw = np.random.default_rng(length).standard_normal
    return {"x": draw((length, 1)), "h": draw((1, STATE)), "w": 0.3 * draw((STATE, STATE))}


@pytest.mark.sampled
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(("length", "checkpoints"), [(2, 1), (7, 3), (100, 10), (103, 10), (103, 4), (100, 2)])
def test_values_and_gradients_are_those_of_jax(length: int, checkpoints: int, reverse: bool) -> None:
    def loss(x: Any, h: Any, w: Any) -> Any:
        def body(c: Any, e: Any) -> Any:
            after = jnp.tanh(c @ w + e)
            return after, jnp.sum(after * c)

        last, ys = jax.lax.scan(body, h, x, reverse=reverse)
        return jnp.sum(last * last) + jnp.sum(ys * ys)

    arrays = values(length)
    expected = jaxpr.evaluate(jax.value_and_grad(loss, (0, 1, 2)), *arrays.values())
    found = compiled(gradient(length, checkpoints, reverse), 2)(**arrays)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, np.asarray(theirs), rtol=1e-9, atol=1e-10)


def arena(length: int, checkpoints: int | None) -> int:
    """Of a recurrence in which nothing else is of the length."""
    g = rlx.Graph("bare")
    h, w = g.param("h", (1, STATE), "f64"), g.param("w", (STATE, STATE), "f64")
    last, _ = g.scan(lambda c, _: (g.tanh(c @ w), None), h, length=length, checkpoints=checkpoints)
    g.set_outputs([g.reduce_sum(last * last)])
    return compiled(rlx.grad_with_loss(g, ["h", "w"])).arena_bytes


def test_memory_grows_with_the_square_root_of_the_length() -> None:
    state = 8 * STATE
    # the carry and its tanh at each time
    assert arena(4096, None) > 2 * 4096 * state
    found = {root: arena(root * root, root) for root in (128, 256, 512)}
    for root, taken in found.items():
        # the starts of all segments, a few values at each time of one, and some gradients of w
        assert taken < 6 * root * state + 8 * STATE * state
    assert found[512] - found[256] == 2 * (found[256] - found[128])


def test_the_gradient_of_what_is_gone_along_is_computed_where_it_is_returned() -> None:
    g = rlx.Graph("along")
    x, w = g.param("x", (1024, 1, STATE), "f64"), g.param("w", (STATE, STATE), "f64")
    start = g.full((1, STATE), 0.0, "f64")
    last, _ = g.scan(lambda c, e: (g.tanh(c @ w + e), None), start, x, checkpoints=32)
    g.set_outputs([g.reduce_sum(last * last)])
    program = compiled(rlx.grad(g, ["x", "w"]))
    assert program.outputs[0].shape == (1024, 1, STATE)
    assert program.arena_bytes < 1.2 * arena(1024, 32)


def test_what_is_left_over_takes_no_more_memory() -> None:
    assert arena(4100, 64) < 1.5 * arena(4096, 64)


def test_few_checkpoints_take_memory_that_grows_with_the_levels() -> None:
    """256 times by two are 8 levels, 4096 times 12."""
    assert arena(4096, 2) < 1.75 * arena(256, 2) < 1.75 * 64 * STATE * 8 * STATE


def test_what_is_launched_does_not_depend_on_the_length() -> None:
    """From lengths on whose segments are as much work as a kernel does at once."""
    counts = set[int]()
    for length, checkpoints in ((1 << 16, 256), (1 << 20, 1024)):
        module = rlx.lower(gradient(length, checkpoints)).module
        counts.add(sum(isinstance(op, LaunchOp) for op in module.walk()))
    assert len(counts) == 1
