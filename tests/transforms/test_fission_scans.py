"""`mir-fission-scans`: what leaves a loop computes what it did inside, and what must stay does."""

from collections.abc import Callable
from typing import Any

import numpy as np
import oracle
import pytest
from xdsl.context import Context

import xdsl_rlx as rlx
from xdsl_rlx.builder import as_graph_module
from xdsl_rlx.dialects.mir.conv import ConvOp
from xdsl_rlx.dialects.mir.linalg import DotGeneralOp, MatmulOp
from xdsl_rlx.dialects.mir.scan import ScanOp
from xdsl_rlx.dialects.shapes import shape_of
from xdsl_rlx.lowering.fusion.mir_fuse import MirFusePass
from xdsl_rlx.lowering.prepare.mir_prepare_for_fusion import MirPrepareForFusionPass
from xdsl_rlx.transforms import mir_fission_scans
from xdsl_rlx.transforms.mir_fission_scans import CACHED, WIDE, MirFissionScansPass

T = 5
SHAPES = {"x": (T, 2, 3), "h": (2, 3), "w": (3, 3), "u": (3, 3)}
Made = list[Any]
Body = Callable[[rlx.Graph, Any, Any, Any, Any], Made]


def early(g: rlx.Graph, x: Any, h: Any, w: Any, u: Any) -> Made:
    """A product of an element, through views, and one of captured values alone."""
    last, _ = g.scan(lambda c, e: (g.tanh(c + g.transpose(e, (1, 0)).T @ (w @ u)), None), h, x)
    return [last]


def chained(g: rlx.Graph, x: Any, h: Any, w: Any, u: Any) -> Made:
    """A product of a product, and the first of them used for itself too."""

    def body(c: Any, e: Any) -> Any:
        first = e @ w
        return g.tanh(c + g.sin(first) @ u), first

    last, ys = g.scan(body, h, x)
    return [last, ys]


def summed(g: rlx.Graph, x: Any, h: Any, w: Any, u: Any) -> Made:
    """Sums of products of what the loop makes: by themselves, of what is stacked anyway, and either way round."""

    def body(c: Any, e: Any) -> Any:
        state, one, two = c
        after = g.tanh(state @ w + e)
        return (after, one + after.T @ e, state.T @ after + two), after

    (last, one, two), ys = g.scan(body, (h, w, u), x)
    return [last, one, two, ys]


def stacked(g: rlx.Graph, x: Any, h: Any, w: Any, u: Any) -> Made:
    """A stacked product that nothing else in the loop uses."""

    def body(c: Any, e: Any) -> Any:
        after = g.tanh(c @ w + e)
        return after, g.transpose(after, (1, 0)).T @ u.T

    last, ys = g.scan(body, h, x, reverse=True)
    return [last, ys]


def kept(g: rlx.Graph, x: Any, h: Any, w: Any, u: Any) -> Made:
    """A sum that is read at each time, a product that a carry needs, and a term that is the same each time."""

    def body(c: Any, e: Any) -> Any:
        state, read, same = c
        product = state @ w
        return (g.tanh(product), read + e.T @ product, same + w @ u), g.reduce_sum(read)

    (last, read, same), ys = g.scan(body, (h, w, u), x)
    return [last, read, same, ys]


def unused(g: rlx.Graph, x: Any, h: Any, w: Any, u: Any) -> Made:
    """A carry and results that nothing uses."""
    (last, _), _ = g.scan(lambda c, e: ((c[0] * 0.5 + e, c[1] @ w), (c[1], e @ u)), (h, h), x)
    return [last]


def batched(g: rlx.Graph, x: Any, h: Any, w: Any, u: Any) -> Made:
    """A sum of contractions with batch dimensions."""

    def body(c: Any, e: Any) -> Any:
        state, total = c
        after = g.tanh(state + e)
        return (after, total + g.dot_general(after, e, (), (), (0,), (0,))), None

    (last, total), _ = g.scan(body, (h, g.full((2, 3, 3), 0.0, "f64")), x)
    return [last, total]


INSIDE: dict[Body, tuple[int, int, int]] = {
    early: (0, 1, 0),
    chained: (0, 1, 1),
    summed: (1, 1, 2),
    stacked: (1, 1, 1),
    kept: (2, 3, 1),
    unused: (0, 1, 0),
    batched: (0, 1, 1),
}
"""Products that stay in the loop, carries and stacked results that are left."""


def without_and_with(g: rlx.Graph, arrays: list[Any]) -> ScanOp:
    """The scan that is left, after a look at what the graph computes with it."""
    module = as_graph_module(g).module.clone()
    expected = oracle.evaluate(module, *arrays)
    MirFissionScansPass().apply(Context(), module)
    module.verify()
    for found, wanted in zip(oracle.evaluate(module, *arrays), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)
    (scan,) = [op for op in module.walk() if isinstance(op, ScanOp)]
    return scan


@pytest.mark.parametrize("make", INSIDE, ids=lambda make: make.__name__)
def test_what_leaves_a_loop_computes_the_same(make: Body) -> None:
    g = rlx.Graph("scan")
    g.set_outputs(make(g, *(g.input(name, shape, "f64") for name, shape in SHAPES.items())))
    rng = np.random.default_rng(4)
    scan = without_and_with(g, [rng.standard_normal(shape) for shape in SHAPES.values()])
    products = sum(isinstance(op, MatmulOp | DotGeneralOp) for op in scan.walk())
    assert (products, len(scan.carries), len(scan.ys)) == INSIDE[make]


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(("rows", "carries"), [(32, 4), (31, 8)])
def test_a_large_value_that_is_outside_anyway_is_summed_there(rows: int, carries: int, reverse: bool) -> None:
    """Of 32 rows; not of 31, nor what is not stacked, is read in between, or is the same each time."""
    columns = WIDE // 32
    g = rlx.Graph("sums")
    h, x = g.input("h", (rows, columns), "f64"), g.input("x", (T, rows, columns), "f64")
    starts = [(columns,), (columns, 1), (), (1, columns)]
    row, column, total, kept = (g.input(f"s{k}", shape, "f64") for k, shape in enumerate(starts))

    def body(c: Any, e: Any) -> Any:
        state, first, second, third, fourth, hidden, read, same = c
        after = g.tanh(state + e)
        return (
            after,
            first + g.reduce_sum(after, [0]),
            g.reduce_sum(g.reshape(after, (columns, rows)), [1], keep_dim=True) + second,
            third + g.reduce_sum(after, [0, 1]),
            fourth + g.reduce_sum(e, [0], keep_dim=True),
            hidden + g.reduce_sum(g.sin(after), [0]),
            read + g.reduce_sum(after, [0]) * g.reduce_max(read),
            same + g.reduce_sum(h, [0]),
        ), after

    last, ys = g.scan(body, (h, row, column, total, kept, row, row, row), x, reverse=reverse)
    g.set_outputs([*last, ys])
    rng = np.random.default_rng(6)
    shapes = [(rows, columns), (T, rows, columns), *starts]
    scan = without_and_with(g, [rng.standard_normal(shape) * 0.1 for shape in shapes])
    assert (len(scan.carries), len(scan.ys)) == (carries, 1)


def test_the_gradient_of_a_weight_leaves_a_loop_over_single_rows() -> None:
    """The product of a step has one term, and becomes a multiplication if it stays."""
    g = rlx.Graph("rows")
    w, h, x = g.param("w", (3, 3), "f64"), g.input("h", (3,), "f64"), g.input("x", (T, 3), "f64")
    last, _ = g.scan(lambda c, e: (g.tanh(g.reshape(g.reshape(c, (1, 3)) @ w, (3,)) + e), None), h, x)
    g.set_outputs([g.reduce_sum(last * last)])
    fused = rlx.run_passes(rlx.grad_with_loss(g, ["w"]), [MirPrepareForFusionPass(), MirFusePass()])
    scans = [op for op in fused.module.walk() if isinstance(op, ScanOp)]
    assert len(scans) == 2
    assert all(shape_of(carry) != (3, 3) for scan in scans for carry in scan.carries)


Loss = Callable[[dict[str, Any], Any, Any], Any]


def _layers(p: dict[str, Any], x: Any, y: Any) -> Any:
    h = rlx.tanh(rlx.tanh(x @ p["w1"] + p["b1"]) @ p["w2"] + p["b2"])
    return ((h @ p["w3"] - y) ** 2).mean()


def _convolutions(p: dict[str, Any], x: Any, y: Any) -> Any:
    h = rlx.relu(rlx.conv(rlx.relu(rlx.conv(x, p["c1"], padding=1)), p["c2"], padding=1))
    return ((h.mean((2, 3)) @ p["w"] - y) ** 2).mean()


ACCUMULATED: dict[str, tuple[Loss, dict[str, tuple[int, ...]], tuple[int, ...]]] = {
    "layers": (_layers, {"w1": (128, 128), "b1": (128,), "w2": (128, 128), "b2": (128,), "w3": (128, 10)}, (32, 128)),
    "convolutions": (_convolutions, {"c1": (8, 3, 3, 3), "c2": (8, 8, 3, 3), "w": (8, 10)}, (4, 3, 16, 16)),
}
"""Losses, shapes of parameters, and the shape of what one step takes."""


def accumulated(name: str, steps: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """A function that adds up the gradients of so many micro-batches in a scan, and arguments of it."""
    loss, shapes, shape = ACCUMULATED[name]

    def total(p: dict[str, Any], xs: Any, ys: Any) -> Any:
        def body(sums: dict[str, Any], e: Any) -> Any:
            grads = rlx.grad(loss)(p, *e)
            return {key: sums[key] + grads[key] for key in sums}, None

        return rlx.scan(body, {key: value * 0.0 for key, value in p.items()}, (xs, ys))[0]

    rng = np.random.default_rng(8)
    p = {key: (0.2 * rng.standard_normal(one)).astype(np.float32) for key, one in shapes.items()}
    xs, ys = (rng.standard_normal((steps, *one)).astype(np.float32) for one in (shape, (shape[0], 10)))
    return total, (p, xs, ys)


@pytest.mark.parametrize("name", ACCUMULATED)
def test_gradients_of_many_steps_are_added_up_in_the_memory_of_one(name: str) -> None:
    """All steps at once would take 6 or 12 MB."""
    arenas: list[int] = []
    for steps in (4, 64):
        function, arguments = accumulated(name, steps)
        arenas.append(rlx.memory_report(rlx.trace(function, *arguments), threads=1).arena)
    assert arenas[1] < arenas[0] + CACHED


def test_a_product_that_needs_what_stays_is_not_computed_by_computing_that_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Behind the convolutions there is a product, which would fit, but they are needed in the loop too."""
    monkeypatch.setattr(mir_fission_scans, "CACHED", 1 << 30)
    function, arguments = accumulated("convolutions", 2)
    module = as_graph_module(rlx.trace(function, *arguments)).module.clone()
    before = sum(isinstance(op, ConvOp) for op in module.walk())
    MirFissionScansPass().apply(Context(), module)
    assert before == sum(isinstance(op, ConvOp) for op in module.walk()) == 2


def _recurrence(checkpoints: int | None = None) -> rlx.Graph:
    """The gates of an LSTM: four times as wide as the state, which is twice as wide as an element."""
    g = rlx.Graph("gates")
    x, h = g.input("x", (64, 32, 32)), g.input("h", (32, 64))
    wx, wh = g.param("wx", (32, 256)), g.param("wh", (64, 256))

    def body(c: Any, e: Any) -> Any:
        gates = g.tanh(e @ wx + c @ wh)
        return gates[:, :64] * gates[:, 64:128] + gates[:, 128:192] * gates[:, 192:], None

    g.set_outputs([g.reduce_sum(g.scan(body, h, x, checkpoints=checkpoints)[0])])
    return g


def _products_in_loops(graph: Any) -> int:
    module = rlx.run_passes(graph, "mir-fission-scans").module
    scans = [op for op in module.walk() if isinstance(op, ScanOp)]
    return sum(isinstance(op, MatmulOp | DotGeneralOp) for scan in scans for op in scan.body.block.ops)


def test_products_of_elements_leave_a_recurrence_but_for_checkpoints() -> None:
    """They take 2 MB, eight times as much as the elements."""
    assert _products_in_loops(_recurrence()) == 1
    assert _products_in_loops(_recurrence(checkpoints=64)) == 2


def test_products_stay_in_a_loop_where_the_memory_budget_asks_for_that() -> None:
    graph, budget = _recurrence(), 1_000_000
    assert rlx.memory_report(graph, threads=1).arena > 2_000_000
    rng = np.random.default_rng(9)
    shapes = {"x": (64, 32, 32), "h": (32, 64), "wx": (32, 256), "wh": (64, 256)}
    arrays = {key: (0.1 * rng.standard_normal(shape)).astype(np.float32) for key, shape in shapes.items()}
    (expected,) = rlx.compile(graph, threads=1)(**arrays)
    fitting = rlx.compile(graph, threads=1, memory_budget=budget)
    np.testing.assert_allclose(fitting(**arrays)[0], expected, rtol=1e-5)
