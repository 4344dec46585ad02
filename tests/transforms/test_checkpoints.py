"""Scans with `checkpoints`: derivatives are those without and those of JAX, and what a gradient keeps is bounded."""

from collections.abc import Callable
from math import prod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numerics import jaxpr
from oracle import run

import xdsl_rlx as rlx
from xdsl_rlx.builder import as_graph_module
from xdsl_rlx.dialects.mir.linalg import DotGeneralOp, MatmulOp
from xdsl_rlx.dialects.mir.scan import ScanOp
from xdsl_rlx.dialects.shapes import shape_of
from xdsl_rlx.transforms.checkpoints import runs_segments, segment_lengths

Array = np.ndarray[Any, Any]
NAMES = ["x", "z", "w", "h", "d"]
SHAPES = ((3,), (), (3, 3), (3,), ())
both_ways = pytest.mark.parametrize("reverse", [False, True])


def recurrence(length: int, reverse: bool, checkpoints: int | None) -> rlx.Graph:
    """Two carries of numbers and one that counts, two things gone along, two results, and a matrix from outside."""
    g = rlx.Graph("recurrence")
    x, z = g.param("x", (length, 3), "f64"), g.param("z", (length,), "f64")
    w, h, d = g.param("w", (3, 3), "f64"), g.param("h", (3,), "f64"), g.param("d", (), "f64")

    def body(carry: Any, e: Any) -> Any:
        (c, total, n), (row, factor) = carry, e
        after = g.tanh(c @ w + row) * factor
        return (after, total + g.reduce_sum(after * c) * g.cast(n, "f64"), n + 1), (g.sin(c), n)

    start = (h, d, g.full((), 1, "i64"))
    (last, total, n), (ys, ns) = g.scan(body, start, (x, z), reverse=reverse, checkpoints=checkpoints)
    loss = g.reduce_sum(last * last) + total * total + g.reduce_sum(ys * ys * ys)
    g.set_outputs([loss, n, ns])
    return g


def in_jax(reverse: bool) -> Callable[..., Any]:
    def loss(x: Any, z: Any, w: Any, h: Any, d: Any) -> Any:
        def body(carry: Any, e: Any) -> Any:
            (c, total, n), (row, factor) = carry, e
            after = jnp.tanh(c @ w + row) * factor
            return (after, total + jnp.sum(after * c) * n, n + 1), jnp.sin(c)

        (last, total, _), ys = jax.lax.scan(body, (h, d, 1), (x, z), reverse=reverse)
        return jnp.sum(last * last) + total * total + jnp.sum(ys**3)

    return loss


def values(length: int, *leading: int) -> list[Array]:
    rng = np.random.default_rng(length)
    shapes = [(length, *shape) if number < 2 else shape for number, shape in enumerate(SHAPES)]
    return [rng.standard_normal((*leading, *shape)) for shape in shapes]


def assert_close(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-10, atol=1e-11)


CUTS = [(1, 1), (2, 1), (2, 2), (3, 2), (4, 1), (7, 3), (10, 7), (12, 12), (16, 4), (19, 4), (23, 2), (28, 3), (30, 1)]


@pytest.mark.sampled
@both_ways
@pytest.mark.parametrize(("length", "checkpoints"), CUTS)
def test_the_gradient_is_that_of_all_stored_and_of_jax(length: int, checkpoints: int, reverse: bool) -> None:
    by_name = dict(zip(NAMES, values(length), strict=True))
    gradient, stored = (rlx.grad_with_loss(recurrence(length, reverse, kept), NAMES) for kept in (checkpoints, None))
    expected = run(stored, **by_name)
    found = run(gradient, **by_name)
    derivatives = jaxpr.evaluate(jax.value_and_grad(in_jax(reverse), (0, 1, 2, 3, 4)), *by_name.values())
    for one, other in zip(found, expected, strict=True):
        assert_close(one, other)
    for one, other in zip([found[0], *found[3:]], derivatives, strict=True):
        assert_close(one, other)


@pytest.mark.sampled
@both_ways
@pytest.mark.parametrize(("length", "checkpoints"), [(7, 3), (9, 2)])
def test_other_modes_take_checkpoints(length: int, checkpoints: int, reverse: bool) -> None:
    graph, loss = recurrence(length, reverse, checkpoints), in_jax(reverse)
    arrays, along = values(length), [0.5 * a for a in values(length + 40)]
    along[:2] = [a[:length] for a in along[:2]]
    by_name = dict(zip(NAMES, arrays, strict=True))
    everything = by_name | dict(zip((f"tangent_{n}" for n in NAMES), along, strict=True))

    _, tangent = jaxpr.evaluate(lambda xs, us: jax.jvp(loss, tuple(xs), tuple(us)), arrays, along)
    assert_close(run(rlx.jvp(graph, NAMES), **everything)[3], tangent)

    grads = jax.grad(loss, (0, 1, 2, 3, 4))
    products = jaxpr.evaluate(lambda xs, us: jax.jvp(grads, tuple(xs), tuple(us))[1], arrays, along)
    for found, wanted in zip(run(rlx.hvp(graph, NAMES), **everything)[-5:], products, strict=True):
        assert_close(found, wanted)

    batch = values(length, 2)
    wanted = jaxpr.evaluate(jax.vmap(grads), *batch)
    for program in (rlx.vmap(rlx.grad(graph, NAMES), NAMES, 2), rlx.grad(rlx.vmap(graph, NAMES, 2), NAMES)):
        for found, expected in zip(run(program, **dict(zip(NAMES, batch, strict=True))), wanted, strict=True):
            assert_close(found, expected)


@both_ways
def test_the_gradient_of_a_gradient_takes_checkpoints(reverse: bool) -> None:
    arrays, u = values(11), np.arange(9.0).reshape(3, 3) / 5
    g = rlx.Graph("contracted")
    (gw,) = g.inline(rlx.grad(recurrence(11, reverse, 3), ["w"]))
    g.set_outputs([g.reduce_sum(gw * u)])
    contracted = jax.grad(lambda *a: jnp.sum(jax.grad(in_jax(reverse), 2)(*a) * u), (0, 1, 2, 3, 4))
    wanted = jaxpr.evaluate(contracted, *arrays)
    second = rlx.grad(g, NAMES, zero_missing_wrt=True)
    for found, expected in zip(run(second, **dict(zip(NAMES, arrays, strict=True))), wanted, strict=True):
        assert_close(found, expected)


def bare(length: int, checkpoints: int | None) -> rlx.Graph:
    """One carry of a hundred numbers."""
    g = rlx.Graph("bare")
    h, w = g.param("h", (100,)), g.param("w", (100,))
    last, _ = g.scan(lambda c, _: (g.tanh(c * w), None), h, length=length, checkpoints=checkpoints)
    g.set_outputs([g.reduce_sum(last)])
    return g


def scans(graph: Any) -> list[ScanOp]:
    return [op for op in as_graph_module(graph).module.walk() if isinstance(op, ScanOp)]


def test_the_ops_of_a_gradient_do_not_depend_on_the_length() -> None:
    counts = set[int]()
    for length, checkpoints in ((8, 4), (4096, 64), (65536, 256)):
        gradient = rlx.grad_with_loss(recurrence(length, False, checkpoints), NAMES)
        counts.add(sum(1 for _ in gradient.module.walk()))
    assert len(counts) == 1


@pytest.mark.parametrize(("length", "checkpoints"), [(4096, 64), (4100, 64), (4096, 512), (4096, 16), (4096, 2)])
def test_no_level_stacks_more_than_its_checkpoints(length: int, checkpoints: int) -> None:
    """At each level two values of a time, the carry and tanh of it, of as many times as are kept or left over."""
    program = rlx.run_passes(rlx.grad_with_loss(bare(length, checkpoints), ["h", "w"]), "mir-fission-scans")
    stacked = [sum(prod(shape_of(y)) for y in scan.ys) for scan in scans(program)]
    assert 0 < max(stacked) <= 2 * 100 * checkpoints
    levels = len(segment_lengths(length, checkpoints))
    assert max(checkpoints, 2) ** levels >= length // 2


def test_products_do_not_leave_segments_for_all_times() -> None:
    """Neither `x[t] @ u` nor the sum of the gradient of `w`: only for the times of one segment."""
    g = rlx.Graph("products")
    x, h = g.input("x", (64, 1, 4)), g.param("h", (1, 50))
    u, w = g.param("u", (4, 50)), g.param("w", (50, 50))
    last, _ = g.scan(lambda c, e: (g.tanh(c @ w + e @ u), None), h, x, checkpoints=8)
    g.set_outputs([g.reduce_sum(last)])
    program = rlx.run_passes(rlx.grad_with_loss(g, ["u", "w"]), "mir-fission-scans")
    products = [op for op in program.module.walk() if isinstance(op, MatmulOp | DotGeneralOp)]
    around = [op.parent_op() for op in products]
    assert all(isinstance(op, ScanOp) for op in around)
    assert sum(isinstance(op, ScanOp) and op.times == 8 and runs_segments(op) for op in around) >= 4


def test_what_is_left_over_is_kept_and_a_linear_body_is_not_cut() -> None:
    cut = rlx.prepare_for_ad(bare(14, 4))
    assert [(scan.times, scan.recomputed is not None) for scan in scans(cut)] == [(3, False), (4, True), (2, False)]
    g = rlx.Graph("linear")
    last, _ = g.scan(lambda c, _: (c * 0.5, None), g.param("h", (3,)), length=10, checkpoints=3)
    g.set_outputs([g.reduce_sum(last)])
    assert [scan.times for scan in scans(rlx.prepare_for_ad(g))] == [10]


@pytest.mark.parametrize("kept", [1, 2, 3, 4, 7, 16, 40])
def test_segments_fit_into_the_length_with_as_many_starts_as_asked_for(kept: int) -> None:
    for length in range(kept, 600):
        sizes = segment_lengths(length, kept)
        assert 0 <= length - prod(sizes) < max(prod(sizes), 2)
        assert all(size <= max(kept, 2) for size in sizes)


@pytest.mark.parametrize("checkpoints", [0, -1, 5])
def test_checkpoints_are_of_the_length(checkpoints: int) -> None:
    g = rlx.Graph("wrong")
    x = g.input("x", (4, 3))
    with pytest.raises(rlx.GraphError, match=f"scan: expected checkpoints from 1 to the length 4, got {checkpoints}"):
        g.scan(lambda c, e: (c + e, None), x[0], x, checkpoints=checkpoints)
