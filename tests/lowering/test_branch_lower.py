"""Branches and loops that depend on values, as they run: against JAX, at every place a value can come from or go to."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cost_models import costs
from jax import lax
from numerics import jaxpr
from xdsl.context import Context

import xdsl_rlx as rlx
from xdsl_rlx.builder import as_graph_module
from xdsl_rlx.dialects import lir
from xdsl_rlx.dialects.mir.bodies import BodyOp
from xdsl_rlx.dialects.mir.control import FusionOp
from xdsl_rlx.lowering.backend.driver.layout import PlanTable
from xdsl_rlx.lowering.backend.machine.llvm import Effort
from xdsl_rlx.lowering.backend.runtime.compile_module import compile_module, lower_to_lir
from xdsl_rlx.lowering.backend.runtime.compiled_graph import CompiledGraph
from xdsl_rlx.lowering.bufferize.convert_mir_to_lir import ConvertMirToLirPass

Array = np.ndarray[Any, Any]
Made = Callable[[rlx.Graph, Any, Any], list[Any]]


def compiled(graph: Any, threads: int = 1) -> CompiledGraph:
    return compile_module(as_graph_module(graph).module, threads, Effort.QUICK)


def graph_of(make: Made, shape: tuple[int, ...] = (5, 3), dtype: str = "f64") -> rlx.Graph:
    g = rlx.Graph("branch")
    x, n = g.input("x", shape, dtype), g.input("n", (), "i32")
    g.set_outputs(make(g, x, n))
    return g


def assert_same(found: tuple[Array, ...], expected: Any) -> None:
    leaves = jax.tree.leaves(expected)
    assert len(found) == len(leaves)
    for ours, theirs in zip(found, map(np.asarray, leaves), strict=True):
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-11)


X = np.random.default_rng(0).standard_normal((5, 3))

# What a branch yields may come from anywhere; the branch is chosen by n > 1.


def computed(g: rlx.Graph, x: Any, n: Any) -> list[Any]:
    """Products, rows and sums in a branch, and little in the other."""
    w = g.constant(np.linspace(-1, 1, 9).reshape(3, 3))
    y, z = g.cond(
        n > 1,
        lambda: (g.softmax(g.tanh(x @ w)), g.reduce_sum(x, axes=[0])),
        lambda: (x * 2.0, g.sin(x[0])),
    )
    return [y + 1.0, z]


def computed_jax(x: Any, n: Any) -> Any:
    w = jnp.linspace(-1, 1, 9).reshape(3, 3)
    y, z = lax.cond(n > 1, lambda: (jax.nn.softmax(jnp.tanh(x @ w)), x.sum(0)), lambda: (x * 2.0, jnp.sin(x[0])))
    return y + 1.0, z


def handed_on(g: rlx.Graph, x: Any, n: Any) -> list[Any]:
    """Arguments unchanged, one value twice, constants."""
    a, b, c = x[0], x[1] * 3.0, x[2]
    table = np.arange(3.0)

    def then() -> Any:
        y = a + b
        return y, y, a, g.constant(table)

    return list(g.cond(n > 1, then, lambda: (b, c, c, b * c)))


def handed_on_jax(x: Any, n: Any) -> Any:
    a, b, c = x[0], x[1] * 3.0, x[2]
    return lax.cond(n > 1, lambda: (a + b, a + b, a, jnp.arange(3.0)), lambda: (b, c, c, b * c))


def views(g: rlx.Graph, x: Any, n: Any) -> list[Any]:
    """Transposed and sliced values, captured and yielded."""
    t, s = g.transpose(x, (1, 0)), x[1:3]
    square = g.cond(
        n > 1, lambda: (t @ x, g.transpose(s, (1, 0))), lambda: (g.transpose(t @ x * 2.0, (1, 0)), t[:, :2])
    )
    return [square[0], square[1], g.transpose(square[1], (1, 0))[1:]]


def views_jax(x: Any, n: Any) -> Any:
    a, b = lax.cond(n > 1, lambda: (x.T @ x, x[1:3].T), lambda: ((x.T @ x * 2.0).T, x.T[:, :2]))
    return a, b, b.T[1:]


def nothing(g: rlx.Graph, x: Any, n: Any) -> list[Any]:
    """Values without an element, and results that nobody reads."""
    e = x[:0]
    y, _, z = g.cond(n > 1, lambda: (e * 2.0, x, g.reduce_sum(e, axes=[0])), lambda: (e, x + 1.0, x[0]))
    return [y, z]


def nothing_jax(x: Any, n: Any) -> Any:
    return lax.cond(n > 1, lambda: (x[:0] * 2.0, x[:0].sum(0)), lambda: (x[:0], x[0]))


def nested(g: rlx.Graph, x: Any, n: Any) -> list[Any]:
    """Branches in branches in loops, which see values of all around them."""

    def step(c: Any, row: Any) -> Any:
        big = g.reduce_sum(row) > 0.0
        after = g.cond(
            n > 1,
            lambda: g.cond(big, lambda: c * 0.5 + row, lambda: g.sin(c)),
            lambda: g.while_loop(lambda d: g.reduce_sum(d * d) < 9.0, lambda d: d * 1.5 + row, c),
        )
        return after, g.cond(big, lambda: after, lambda: row)

    last, ys = g.scan(step, x[0], x)
    return [last, ys]


def nested_jax(x: Any, n: Any) -> Any:
    def step(c: Any, row: Any) -> Any:
        big = row.sum() > 0.0
        after = lax.cond(
            n > 1,
            lambda: lax.cond(big, lambda: c * 0.5 + row, lambda: jnp.sin(c)),
            lambda: lax.while_loop(lambda d: (d * d).sum() < 9.0, lambda d: d * 1.5 + row, c),
        )
        return after, lax.cond(big, lambda: after, lambda: row)

    return lax.scan(step, x[0], x)


def chosen(g: rlx.Graph, x: Any, n: Any) -> list[Any]:
    """One of several, of which the index may be outside."""
    return [g.switch(n, [lambda: x, lambda: x * 2.0, lambda: g.exp(x), lambda: x @ g.transpose(x, (1, 0)) @ x])]


def chosen_jax(x: Any, n: Any) -> Any:
    return lax.switch(n, [lambda: x, lambda: x * 2.0, lambda: jnp.exp(x), lambda: x @ x.T @ x])


# Loops: the carries of n iterations.


def counted(g: rlx.Graph, x: Any, n: Any) -> list[Any]:
    """Carries of several kinds, one of which stays as it is and one of which is not looked at."""
    w = x @ g.transpose(x, (1, 0))
    (left, y, same, _), trips = g.while_loop(
        lambda c: c[0] > 0,
        lambda c: (c[0] - 1, g.tanh(c[1] + c[2] @ c[1]), c[2], c[3] + 1.0),
        (n, x, w * 0.1, x[0]),
        return_trips=True,
    )
    return [left, y, same, trips]


def counted_jax(x: Any, n: Any) -> Any:
    w = x @ x.T * 0.1
    left, y = lax.while_loop(lambda c: c[0] > 0, lambda c: (c[0] - 1, jnp.tanh(c[1] + w @ c[1])), (n, x))
    return left, y, w, jnp.maximum(n, 0)


def limited(g: rlx.Graph, x: Any, n: Any) -> list[Any]:
    """A loop that would go on."""
    (_, y), trips = g.while_loop(
        lambda c: c[0] >= n, lambda c: (c[0] + 1, c[1] * 1.25), (n, x), max_iterations=3, return_trips=True
    )
    none = g.while_loop(lambda c: n > 0, lambda c: c + 1.0, x, max_iterations=0)
    return [y, trips, none]


def limited_jax(x: Any, n: Any) -> Any:
    return x * 1.25**3, jnp.int32(3), x


def swapped(g: rlx.Graph, x: Any, n: Any) -> list[Any]:
    """Carries handed on as others, views and captured values as carries, and one value as two."""
    start = x[:3]

    def body(c: Any) -> Any:
        k, a, b, _, e = c
        y = g.transpose(a, (1, 0)) + e
        return k + 1, b, y, y, g.transpose(start, (1, 0))

    return list(g.while_loop(lambda c: c[0] < n, body, (g.full((), 0, "i32"), start, start * 2.0, start, start + 1.0)))


def swapped_jax(x: Any, n: Any) -> Any:
    start = x[:3]

    def body(c: Any) -> Any:
        k, a, b, _, e = c
        return k + 1, b, a.T + e, a.T + e, start.T

    return lax.while_loop(lambda c: c[0] < n, body, (jnp.int32(0), start, start * 2.0, start, start + 1.0))


def captured_test(g: rlx.Graph, x: Any, n: Any) -> list[Any]:
    """A condition that is a carry itself, and a loop without an element."""
    _, k, e = g.while_loop(
        lambda c: c[0], lambda c: (c[1] < n, c[1] + 1, c[2] * 2.0), (n > 0, g.full((), 0, "i32"), x[:0])
    )
    return [k, e]


def captured_test_jax(x: Any, n: Any) -> Any:
    _, k, e = lax.while_loop(lambda c: c[0], lambda c: (c[1] < n, c[1] + 1, c[2] * 2.0), (n > 0, jnp.int32(0), x[:0]))
    return k, e


def loops_in_loops(g: rlx.Graph, x: Any, n: Any) -> list[Any]:
    """A loop that ends when it finds out around one of the same kind and a scan, one of them counted."""

    def body(c: Any) -> Any:
        k, y = c
        halved, trips = g.while_loop(lambda d: g.reduce_max(d) > 1.0, lambda d: d * 0.5, y * 3.0, return_trips=True)
        last, ys = g.scan(lambda d, row: (g.sin(d + row), d * row), halved[0], x)
        return k + g.max(trips, 1), halved + ys + last

    return list(g.while_loop(lambda c: c[0] < n, body, (g.full((), 0, "i32"), x)))


def loops_in_loops_jax(x: Any, n: Any) -> Any:
    def halve(d: Any) -> Any:
        return d[0] + 1, d[1] * 0.5

    def body(c: Any) -> Any:
        k, y = c
        trips, halved = lax.while_loop(lambda d: d[1].max() > 1.0, halve, (jnp.int32(0), y * 3.0))
        last, ys = lax.scan(lambda d, row: (jnp.sin(d + row), d * row), halved[0], x)
        return k + jnp.maximum(trips, 1), halved + ys + last

    return lax.while_loop(lambda c: c[0] < n, body, (jnp.int32(0), x))


def again(g: rlx.Graph, x: Any, n: Any) -> list[Any]:
    """What is computed again, among it a branch, an argument and one value twice."""

    def body(v: Any) -> Any:
        y = g.cond(n > 1, lambda: g.exp(v), lambda: v * 2.0)
        return y, y, v, g.softmax(y @ g.transpose(v, (1, 0)))

    y, z, v, s = g.remat(body, x)
    k = g.while_loop(lambda k: k < n, lambda k: g.remat(lambda k: k + 1, k), n - 3)
    return [y, z + 1.0, v, s, k]


def again_jax(x: Any, n: Any) -> Any:
    y = lax.cond(n > 1, lambda: jnp.exp(x), lambda: x * 2.0)
    return y, y + 1.0, x, jax.nn.softmax(y @ x.T), n


ALL: list[tuple[Made, Callable[[Any, Any], Any]]] = [
    (computed, computed_jax),
    (handed_on, handed_on_jax),
    (views, views_jax),
    (nothing, nothing_jax),
    (nested, nested_jax),
    (chosen, chosen_jax),
    (counted, counted_jax),
    (limited, limited_jax),
    (swapped, swapped_jax),
    (captured_test, captured_test_jax),
    (loops_in_loops, loops_in_loops_jax),
    (again, again_jax),
]
each = pytest.mark.parametrize(("make", "expected"), ALL, ids=[make.__name__ for make, _ in ALL])


@pytest.mark.sampled
@each
@pytest.mark.parametrize("threads", [1, 2])
def test_values_are_those_of_jax(make: Made, expected: Callable[[Any, Any], Any], threads: int) -> None:
    # all that can be cut into chunks is
    with costs(parallel_ops=1):
        graph = compile_module(lower_to_lir(as_graph_module(graph_of(make)).module, threads), threads, Effort.QUICK)
    theirs = jaxpr.trace(expected, X, np.int32(0))
    for n in (0, 1, 2, 7, -1, 3):
        assert_same(graph(x=X, n=np.int32(n)), theirs(X, np.int32(n)))


@each
def test_the_printed_module_computes_them_too(make: Made, expected: Callable[[Any, Any], Any], run: Any) -> None:
    module = run.text(lower_to_lir(as_graph_module(graph_of(make)).module), jit=False)
    theirs = jaxpr.trace(expected, X, np.int32(0))
    for n in (0, 2):
        assert_same(module(x=X, n=np.int32(n)), theirs(X, np.int32(n)))


@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16"])
def test_branches_and_carries_are_rounded_to_their_type(dtype: str) -> None:
    """As where everything is written out: in the same type, from time to time."""

    def make(g: rlx.Graph, x: Any, n: Any) -> list[Any]:
        first = g.cast(x, dtype)
        c = g.cond(n > 1, lambda: first * 1.25, lambda: g.sin(first))
        zero = g.full((), 0, "i32")
        _, c = g.while_loop(lambda d: d[0] < 3, lambda d: (d[0] + 1, d[1] * 0.75 + first[0, 0]), (zero, c))
        return [g.cast(c, "f32")]

    def written_out(g: rlx.Graph, x: Any, n: Any) -> list[Any]:
        first = g.cast(x, dtype)
        c = g.where(n > 1, first * 1.25, g.sin(first))
        for _ in range(3):
            c = c * 0.75 + first[0, 0]
        return [g.cast(c, "f32")]

    x = X.astype(np.float32)

    def values(make: Made) -> list[Array]:
        g = rlx.Graph("halves")
        given, n = g.input("x", x.shape, "f32"), g.input("n", (), "i32")
        g.set_outputs(make(g, given, n))
        graph = compiled(g)
        return [graph(x=x, n=np.int32(k))[0] for k in (0, 2)]

    tolerance = {"f32": 1e-6, "f16": 2e-3, "bf16": 2e-2}[dtype]
    for one, other in zip(values(make), values(written_out), strict=True):
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


def spiral(g: rlx.Graph, x: Any, n: Any) -> list[Any]:
    """Complex carries, captured values and results of branches and loops, arithmetic and a transform in them."""
    z = g.complex(x, x * 0.5)
    turn = g.constant(np.exp(0.3j), "c128")

    def body(c: Any) -> Any:
        k, a, b = c
        return k + 1, g.cond(k > 1, lambda: a * turn + b, lambda: g.fft(a)), a

    k, a, b = g.while_loop(lambda c: c[0] < n, body, (g.full((), 0, "i32"), z, z * turn))
    y = g.remat(lambda v: v * g.conjugate(v) + z, a)
    return [k, a, b, y, g.real(a) + g.imag(b)]


def spiral_jax(x: Any, n: Any) -> Any:
    z = x + 0.5j * x
    turn = jnp.exp(0.3j)

    def body(c: Any) -> Any:
        k, a, b = c
        return k + 1, lax.cond(k > 1, lambda: a * turn + b, lambda: jnp.fft.fft(a)), a

    k, a, b = lax.while_loop(lambda c: c[0] < n, body, (jnp.int32(0), z, z * turn))
    return k, a, b, a * a.conj() + z, a.real + b.imag


@pytest.mark.parametrize("threads", [1, 2])
def test_complex_values_are_carried_and_yielded(threads: int) -> None:
    graph = compiled(graph_of(spiral), threads)
    for n in (0, 1, 2, 5):
        assert_same(graph(x=X, n=np.int32(n)), spiral_jax(jnp.asarray(X), jnp.int32(n)))


def test_a_branch_that_is_not_taken_is_not_run() -> None:
    def make(g: rlx.Graph, x: Any, n: Any) -> list[Any]:
        zero = g.full((), 0, "i32")

        def loop() -> Any:
            return g.while_loop(lambda c: c[0] < 50, lambda c: (c[0] + 1, g.sin(c[1])), (zero, x))[1]

        return [g.cond(n > 1, loop, lambda: x)]

    # too much for the iterations to be one kernel
    shape = 400, 400
    graph, x = compiled(graph_of(make, shape)), np.ones(shape)
    runs = list[int]()
    for n in (0, 2):
        for _ in range(16):
            graph(x=x, n=np.int32(n))
        runs.append(graph._binding.plan.get(PlanTable.PHASE_RUNS))
    assert runs[0] < 4 and runs[1] > 100


def test_the_ops_of_a_body_are_fused_by_themselves() -> None:
    def make(g: rlx.Graph, x: Any, n: Any) -> list[Any]:
        a = x * 2.0
        y = g.remat(lambda v: g.exp(g.sin(v) + 1.0) * v, a)
        z = g.cond(n > 1, lambda: g.exp(g.sin(y) + 1.0) * y, lambda: g.tanh(y) + y)
        _, w = g.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, g.exp(c[1]) * 0.5 - c[1]), (n - 2, z))
        return [w * 3.0]

    module = rlx.run_passes(graph_of(make), "mir-prepare-for-fusion,mir-fuse").module
    fused = {
        op.name: [sum(isinstance(inner, FusionOp) for inner in region.block.ops) for region in op.regions]
        for op in module.walk()
        if isinstance(op, BodyOp)
    }
    assert fused == {"mir.remat": [1], "mir.if": [1, 1], "mir.while": [1, 2]}
    ConvertMirToLirPass(1).apply(Context(), module)
    launched = {
        op.name: [sum(isinstance(inner, lir.LaunchOp) for inner in region.block.ops) for region in op.regions]
        for op in module.walk()
        if isinstance(op, lir.IfOp | lir.WhileOp)
    }
    # behind the two of a body a copy of each carry
    assert launched == {"lir.if": [1, 1], "lir.while": [1, 4]}


def test_memory_is_that_of_the_larger_branch() -> None:
    def wide(g: rlx.Graph, x: Any, scale: float) -> Any:
        y = x * scale
        square = y @ g.transpose(y, (1, 0))
        return g.reduce_sum(square @ g.softmax(square), axes=[0])

    def one(g: rlx.Graph, x: Any, n: Any) -> list[Any]:
        return [g.cond(n > 1, lambda: wide(g, x, 2.0), lambda: g.full((64,), 1.0, "f64"))]

    def both(g: rlx.Graph, x: Any, n: Any) -> list[Any]:
        return [g.cond(n > 1, lambda: wide(g, x, 2.0), lambda: wide(g, x, 3.0))]

    sizes = [compile_module(as_graph_module(graph_of(make, (64, 32))).module, 1).arena_bytes for make in (one, both)]
    assert sizes[0] == sizes[1] > 64 * 64 * 8
