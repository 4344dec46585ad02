"""Recurrences with a name on their way to a gradient: what they become, and that both ways give the same numbers."""

from collections import Counter
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numerics import jaxpr

import xdsl_rlx as rlx
from xdsl_rlx.dialects.mir.recurrence import RecurrenceOp, SelectiveScanOp
from xdsl_rlx.dialects.mir.scan import ScanOp
from xdsl_rlx.transforms.driver import rewrite
from xdsl_rlx.transforms.engines.define import Decompose

jax.config.update("jax_enable_x64", True)

Array = np.ndarray[Any, Any]
UNROLL = "mir-convert-scans-for-ad{recurrences=unroll}"


def selective_scan(times: int = 3, dtype: str = "f32") -> tuple[rlx.Graph, list[str]]:
    """x, delta [1, times, 2], a param [2, 4], b, c [1, times, 4]."""
    g = rlx.Graph("selective")
    x, delta = (g.input(name, (1, times, 2), dtype) for name in ("x", "delta"))
    a = g.param("a", (2, 4), dtype)
    b, c = (g.input(name, (1, times, 4), dtype) for name in ("b", "c"))
    g.set_outputs([g.reduce_sum(g.selective_scan(x, delta, a, b, c)[0])])
    return g, ["a"]


def gated_delta_net(times: int = 3, dtype: str = "f32") -> tuple[rlx.Graph, list[str]]:
    """q, k, v [1, times, 2, 4], g, beta [1, times, 2]."""
    m = rlx.Graph("delta")
    q, k, v = (m.input(name, (1, times, 2, 4), dtype) for name in ("q", "k", "v"))
    g, beta = (m.input(name, (1, times, 2), dtype) for name in ("g", "beta"))
    m.set_outputs([m.reduce_sum(m.gated_delta_net(q, k, v, g, beta)[0])])
    return m, ["q", "k", "v", "g", "beta"]


BOTH = pytest.mark.parametrize("make", [selective_scan, gated_delta_net], ids=lambda f: f.__name__)


def counts(graph: rlx.GraphModule) -> Counter[str]:
    return Counter(op.name.removeprefix("mir.") for op in graph.module.walk())


def arrays_for(graph: Any) -> dict[str, Array]:
    rng = np.random.default_rng(1)
    types = {a.name: a.value.type for a in graph.signature.arguments if a.name != "d_output"}
    return {name: rng.uniform(0.1, 0.6, type_.get_shape()) for name, type_ in types.items()}


def test_unrolling_a_selective_scan() -> None:
    """A sum and an exponential for each time, one concatenation, a slice of each operand for each time."""
    graph, _ = selective_scan()
    found = counts(rlx.run_passes(graph, UNROLL))
    assert found["selective_scan"] == found["scan"] == 0
    # the sum of the loss is one more
    assert (found["concat"], found["reduce_sum"], found["exp"]) == (1, 3 + 1, 3) and found["narrow"] >= 12


def test_unrolling_a_gated_delta_net() -> None:
    graph, _ = gated_delta_net()
    found = counts(rlx.run_passes(graph, UNROLL))
    assert found["gated_delta_net"] == found["scan"] == 0
    assert (found["concat"], found["exp"]) == (1, 3) and found["matmul"] >= 3


@pytest.mark.sampled
@BOTH
@pytest.mark.parametrize("times", [0, 1, 2, 7])
def test_the_reverse_recurrence_gives_the_gradient_of_the_unrolled_one(make: Any, times: int) -> None:
    graph, wrt = make(times, "f64")
    closed = rlx.grad_with_loss(graph, wrt, zero_missing_wrt=True)
    unrolled = rlx.grad_with_loss(rlx.run_passes(graph, UNROLL), wrt, zero_missing_wrt=True)
    assert len(closed.signature.outputs) == len(unrolled.signature.outputs) == 1 + len(wrt)
    assert counts(unrolled)["scan"] == 0 and counts(closed)["scan"] == 1
    arrays = arrays_for(closed)
    for ours, theirs in zip(rlx.compile(closed)(**arrays), rlx.compile(unrolled)(**arrays), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-13)


@BOTH
@pytest.mark.parametrize("kind", ["gradient", "tangent", "hessian product"])
def test_what_is_emitted_does_not_depend_on_the_length(make: Any, kind: str) -> None:
    found: list[Counter[str]] = []
    for times in (8, 4096):
        graph, wrt = make(times)
        make_derivative = {"gradient": rlx.grad_with_loss, "tangent": rlx.jvp, "hessian product": rlx.hvp}[kind]
        found.append(counts(make_derivative(graph, wrt)))
    assert found[0] == found[1]


@BOTH
def test_the_states_are_computed_once(make: Any) -> None:
    """The gradient has one scan forward, which stacks the states, and one back, in half precision too."""
    for dtype in ("f32", "f16"):
        graph, wrt = make(16, dtype)
        gradient = rlx.grad_with_loss(graph, wrt)
        (op,) = {type(op): op for op in gradient.module.walk() if isinstance(op, RecurrenceOp)}.values()
        assert op.states is not None
        fused = rlx.run_passes(gradient, "mir-prepare-for-fusion,mir-fuse")
        scans = [op for op in fused.module.walk() if isinstance(op, ScanOp)]
        assert [scan.reverse is not None for scan in scans] == [False, True]


@BOTH
def test_without_preparation_the_rule_computes_the_states_itself(make: Any) -> None:
    graph, wrt = make(5, "f64")
    plain = rlx.run_passes(graph, f"mir-grad{{wrt={','.join(wrt)}}}")
    prepared = rlx.grad_with_loss(graph, wrt)
    arrays = arrays_for(prepared)
    for ours, theirs in zip(rlx.compile(plain)(**arrays), rlx.compile(prepared)(**arrays), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-13, atol=1e-14)


@BOTH
def test_a_gradient_over_a_thousand_times_is_that_of_the_scan(make: Any) -> None:
    """Compiled, on two threads, against the derivative of the definition."""
    graph, wrt = make(1000, "f64")
    closed = rlx.grad_with_loss(graph, wrt)
    plain = graph.module.clone()
    rewrite(plain, Decompose(lambda op: isinstance(op, RecurrenceOp)))
    arrays = arrays_for(closed)
    found = rlx.compile(closed, threads=2)(**arrays)
    for ours, theirs in zip(found, rlx.compile(rlx.grad_with_loss(plain, wrt))(**arrays), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-11)


def test_a_recurrence_inside_of_a_scan_has_the_gradient_of_jax() -> None:
    """Layers that share their weights: what is scanned over is the state that each begins with."""
    rng = np.random.default_rng(5)
    arrays = {
        "x": rng.standard_normal((2, 4, 3)),
        "a": -rng.uniform(0.1, 1.0, (3, 2)),
        "b": rng.standard_normal((2, 4, 2)),
        "starts": rng.standard_normal((3, 2, 3, 2)),
    }
    g = rlx.Graph("layers")
    x, a, b, starts = (g.param(name, array.shape, "f64") for name, array in arrays.items())

    def layer(y: Any, start: Any) -> Any:
        after, state = g.selective_scan(y, g.sigmoid(y), a, b, b, start)
        return g.tanh(after), state

    last, states = g.scan(layer, x, starts)
    g.set_outputs([g.reduce_sum(last * last) + g.reduce_sum(g.sin(states))])

    def loss(x: Any, a: Any, b: Any, starts: Any) -> Any:
        total = 0.0
        for h in starts:
            ys = []
            for t in range(4):
                delta = jax.nn.sigmoid(x[:, t])
                h = jnp.exp(delta[:, :, None] * a) * h + (delta * x[:, t])[:, :, None] * b[:, t, None]
                ys.append(jnp.sum(h * b[:, t, None], -1))
            x, total = jnp.tanh(jnp.stack(ys, 1)), total + jnp.sum(jnp.sin(h))
        return jnp.sum(x * x) + total

    expected = jaxpr.evaluate(jax.value_and_grad(loss, (0, 1, 2, 3)), *arrays.values())
    found = rlx.compile(rlx.grad_with_loss(g, list(arrays)))(**arrays)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-11)


def test_a_batch_is_folded_into_the_batch_unless_each_example_has_its_own_a() -> None:
    graph, _ = selective_scan()
    shared = rlx.vmap(graph, ["x", "b"], 5)
    (op,) = [op for op in shared.module.walk() if isinstance(op, SelectiveScanOp)]
    assert op.batch == 5 and counts(shared)["scan"] == 0
    own = counts(rlx.vmap(graph, ["x", "a"], 5))
    assert (own["selective_scan"], own["scan"]) == (0, 1)


def test_a_scan_stacks_what_its_gradient_needs() -> None:
    """The gradient of a sum of elements needs no trajectory, that of a product does."""
    for name, body, stacked in (
        ("sums", lambda c, e: (c + e, None), 0),
        ("products", lambda c, e: (c * e, None), 1),
    ):
        g = rlx.Graph(name)
        carry, xs = g.input("carry", (2,)), g.input("xs", (3, 2))
        g.set_outputs([g.reduce_sum(g.scan(body, carry, xs)[0])])
        gradient = rlx.grad_with_loss(g, ["carry", "xs"])
        forward, back = [op for op in gradient.module.walk() if isinstance(op, ScanOp)]
        assert (len(forward.ys), back.reverse is not None) == (stacked, True)


def test_an_unknown_way_is_refused() -> None:
    graph, _ = selective_scan()
    with pytest.raises(rlx.GraphError, match="'closed', 'unroll'"):
        rlx.run_passes(graph, "mir-convert-scans-for-ad{recurrences=twice}")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda g, x, a, b: g.selective_scan(x, x[:, 1:], a, b, b),
            r"expected delta of shape \[2, 5, 3\], got \[2, 4, 3\]",
        ),
        (lambda g, x, a, b: g.selective_scan(x, x, a[1:], b, b), r"expected a of 3 rows, .* got \[2, 4\]"),
        (lambda g, x, a, b: g.selective_scan(x, x, a, b, b, b), "expected a state of type tensor<2x3x4xf32>, got"),
        (lambda g, x, a, b: g.gated_delta_net(x, x, x, x, x), r"expected q of shape \[B, S, H, n\], got \[2, 5, 3\]"),
    ],
)
def test_operands_that_do_not_fit_are_named(make: Any, message: str) -> None:
    g = rlx.Graph("wrong")
    x, a, b = g.input("x", (2, 5, 3)), g.input("a", (3, 4)), g.input("b", (2, 5, 4))
    with pytest.raises(rlx.GraphError, match=message):
        make(g, x, a, b)
