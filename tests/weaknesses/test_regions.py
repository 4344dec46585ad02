"""Ops with regions, where a simpler system looks at the outside only.

Each test names in its docstring the weakness that it guards against.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import oracle
import pytest
from numerics import jaxpr
from xdsl.dialects.builtin import ModuleOp

import xdsl_rlx as rlx

jax.config.update("jax_enable_x64", True)

Array = np.ndarray[Any, Any]


def count(module: ModuleOp, name: str) -> int:
    return sum(op.name == name for op in module.walk())


X = '%x: tensor<3xf64> {mir.name = "x", mir.kind = "input"}'


def test_a_contraction_inside_of_a_region_is_lowered():
    """W-05: mir-lower-dot-general reaches into regions, and the numbers are those of the contraction."""
    module = rlx.parse(f"""
func.func @f({X}) -> tensor<3x3xf64> {{
  %y = mir.fusion(%x) : (tensor<3xf64>) -> tensor<3x3xf64> {{
  ^bb0(%a: tensor<3xf64>):
    %0 = mir.dot_general %a, %a contracting [] x [] batch [] x [] : (tensor<3xf64>, tensor<3xf64>) -> tensor<3x3xf64>
    mir.yield %0 : tensor<3x3xf64>
  }}
  func.return %y : tensor<3x3xf64>
}}""")
    lowered = rlx.run_passes(module, "mir-lower-dot-general")
    assert count(lowered.module, "mir.dot_general") == 0 and count(lowered.module, "mir.mul") == 1
    assert count(lowered.module, "mir.fusion") == 1
    x, g = np.array([1.0, -2.0, 0.5]), np.arange(9.0).reshape(3, 3)
    # preparation takes the ops of a fusion out
    prepared = rlx.prepare_for_ad(lowered)
    np.testing.assert_array_equal(rlx.compile(prepared)(x)[0], np.outer(x, x))
    for source in (module, lowered, prepared):
        (dx,) = rlx.compile(rlx.grad(source, ["x"]))(x, g)
        np.testing.assert_allclose(dx, (g + g.T) @ x, rtol=1e-15)


def test_preparation_reaches_a_fixpoint_inside_of_nested_regions():
    """
    W-05: of a region in a region, with what each pass of the preparation brings up for another.

    A fused op, a contraction of its result, and a product over two axes of that.
    """
    module = rlx.parse("""
func.func @f(%x: tensor<3x4xf64> {mir.name = "x", mir.kind = "input"},
             %w: tensor<4x2xf64> {mir.name = "w", mir.kind = "param"},
             %b: tensor<2xf64> {mir.name = "b", mir.kind = "param"}) -> tensor<f64> {
  %y = mir.fusion(%x, %w, %b) : (tensor<3x4xf64>, tensor<4x2xf64>, tensor<2xf64>) -> tensor<f64> {
  ^bb0(%a: tensor<3x4xf64>, %c: tensor<4x2xf64>, %d: tensor<2xf64>):
    %0 = mir.fusion(%a, %c, %d) : (tensor<3x4xf64>, tensor<4x2xf64>, tensor<2xf64>) -> tensor<2x2xf64> {
    ^bb1(%e: tensor<3x4xf64>, %f: tensor<4x2xf64>, %g: tensor<2xf64>):
      %1 = mir.fused_matmul_bias_act %e, %f, %g activation gelu
         : (tensor<3x4xf64>, tensor<4x2xf64>, tensor<2xf64>) -> tensor<3x2xf64>
      %2 = mir.dot_general %1, %1 contracting [0] x [0] batch [] x []
         : (tensor<3x2xf64>, tensor<3x2xf64>) -> tensor<2x2xf64>
      mir.yield %2 : tensor<2x2xf64>
    }
    %3 = mir.reduce_prod %0 axes [0, 1] : (tensor<2x2xf64>) -> tensor<f64>
    mir.yield %3 : tensor<f64>
  }
  func.return %y : tensor<f64>
}""")
    prepared = rlx.prepare_for_ad(module)
    for name in ("mir.fusion", "mir.fused_matmul_bias_act", "mir.dot_general"):
        assert count(prepared.module, name) == 0
    assert count(prepared.module, "mir.reduce_prod") == 2
    assert str(rlx.prepare_for_ad(prepared)) == str(prepared)

    def same(x: Any, w: Any, b: Any) -> Any:
        y = jax.nn.gelu(x @ w + b, approximate=False)
        return jnp.prod(y.T @ y)

    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(shape) for shape in ((3, 4), (4, 2), (2,))]
    loss, *found = rlx.compile(rlx.grad_with_loss(module, ["x", "w", "b"]))(*arrays)
    np.testing.assert_allclose(loss, same(*arrays), rtol=1e-12)
    for ours, theirs in zip(found, jax.grad(same, (0, 1, 2))(*arrays), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-11, atol=1e-13)


def fusions(*bodies: str) -> ModuleOp:
    """Fusions of the same operand and the same types, each with ops from %a to %y."""
    regions = [
        f"""
  %{n} = mir.fusion(%x) : (tensor<3xf64>) -> tensor<3xf64> {{
  ^bb0(%a: tensor<3xf64>):
    {body}
    mir.yield %y : tensor<3xf64>
  }}"""
        for n, body in enumerate(bodies)
    ]
    results = ", ".join(f"%{n}" for n in range(len(bodies)))
    types = ", ".join("tensor<3xf64>" for _ in bodies)
    return rlx.parse(f"func.func @f({X}) -> ({types}) {{{''.join(regions)}\n  func.return {results} : {types}\n}}")


def test_bodies_of_one_size_that_differ_are_not_the_same():
    """W-64: two fusions of the same operand and types, with bodies of as many ops, stay two."""
    x = np.array([0.5, -1.0, 2.0])
    module = rlx.run_passes(fusions(*(f"%y = mir.{name} %a : tensor<3xf64>" for name in ("exp", "sin", "exp"))), "cse")
    assert count(module.module, "mir.sin") == 1
    found = rlx.compile(module)(x)
    for ours, theirs in zip(found, (np.exp(x), np.sin(x), np.exp(x)), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-15)


def test_bodies_that_differ_in_a_constant_are_not_the_same():
    """W-64: attributes inside count too."""
    bodies = [
        f"%c = mir.constant dense<{c}> : tensor<f64>\n"
        "    %y = mir.mul %a, %c : (tensor<3xf64>, tensor<f64>) -> tensor<3xf64>"
        for c in ("2.0", "3.0")
    ]
    x = np.array([0.5, -1.0, 2.0])
    two, three = rlx.compile(rlx.run_passes(fusions(*bodies), "cse"))(x)
    np.testing.assert_array_equal(two, 2 * x)
    np.testing.assert_array_equal(three, 3 * x)


def test_branches_of_one_size_that_differ_are_not_the_same():
    """W-64: also where it is one of several bodies that differs, or their order."""
    g = rlx.Graph("f")
    x, p = g.input("x", (3,), "f64"), g.input("p", (), "i1")
    g.set_outputs(
        [
            g.cond(p, lambda: g.sin(x), lambda: g.exp(x)),
            g.cond(p, lambda: g.sin(x), lambda: g.cos(x)),
            g.cond(p, lambda: g.exp(x), lambda: g.sin(x)),
            g.cond(p, lambda: g.sin(x), lambda: g.exp(x)),
        ]
    )
    shared = rlx.run_passes(g, "cse")
    assert count(shared.module, "mir.if") == 3
    values = np.array([0.5, -1.0, 2.0])
    for taken in (True, False):
        for module in (g, shared):
            found = rlx.compile(module)(x=values, p=taken)
            sin, exp, cos = np.sin(values), np.exp(values), np.cos(values)
            expected = [sin, sin, exp, sin] if taken else [exp, cos, sin, exp]
            for ours, theirs in zip(found, expected, strict=True):
                np.testing.assert_allclose(ours, theirs, rtol=1e-15)


@pytest.mark.parametrize("column", [(3, 1), (1, 6), (6,), (1, 1), (1,), ()], ids=str)
def test_operands_of_an_elementwise_region_broadcast_as_shapes_do(column: tuple[int, ...]):
    """W-29: an element count that divides that of the result says nothing: no operand is read modulo its count."""
    g = rlx.Graph("g")
    x, b = g.param("x", (3, 6), "f64"), g.param("b", column, "f64")
    g.set_outputs(g.elementwise_region(lambda x, b: g.tanh(x) * b + b, x, b))
    rng = np.random.default_rng(4)
    a, c, d = (rng.standard_normal(shape) for shape in ((3, 6), column, (3, 6)))
    np.testing.assert_allclose(rlx.compile(g)(x=a, b=c)[0], np.tanh(a) * c + c, rtol=1e-14)
    dx, db = rlx.compile(rlx.grad(g, ["x", "b"]))(x=a, b=c, d_output=d)
    theirs = jax.vjp(lambda x, b: jnp.tanh(x) * b + b, a, c)[1](d)
    for ours, expected in zip((dx, db), theirs, strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-12, atol=1e-14)


def test_counts_that_divide_each_other_are_no_reason_to_broadcast():
    """W-29: [2, 1] beside [3, 2] has counts that fit, and shapes that do not."""
    g = rlx.Graph("g")
    x, b = g.input("x", (3, 2)), g.input("b", (2, 1))
    with pytest.raises(rlx.GraphError, match=r"\[3, 2\] and \[2, 1\]"):
        g.elementwise_region(lambda x, b: x + b, x, b)


def images(name: str, region: bool) -> rlx.Graph:
    """Two images, each by itself: as a region of a batch, or as parts that are concatenated."""
    g = rlx.Graph(name)
    x = g.param("x", (2, 3, 8, 8), "f64")
    parts = [g.narrow(x, 0, n, 1) for n in range(2)]
    if region:
        y = g.batch_elementwise_region(lambda a: g.relu(a) * a, parts)
    else:
        y = g.concat([g.relu(a) * a for a in parts], 0)
    g.set_outputs(g.reduce_sum(y))
    return g


def test_preparation_takes_a_region_of_a_batch_apart():
    """Section 6 of the op sheet, 20, and the numbers."""
    graph = images("g", region=True)
    assert count(graph.module, "mir.batch_elementwise_region") == 1
    prepared = rlx.prepare_for_ad(graph).module
    assert count(prepared, "mir.batch_elementwise_region") == 0
    assert count(prepared, "mir.relu") == 2 and count(prepared, "mir.concat") == 1
    x = np.random.default_rng(6).standard_normal((2, 3, 8, 8))
    found, expected = (rlx.compile(rlx.grad_with_loss(images("g", one), ["x"]))(x=x) for one in (True, False))
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_allclose(found[1], 2 * np.maximum(x, 0), rtol=1e-15)


MARK = "mir-mark-elementwise-regions,mir-mark-transform-regions,mir-fuse-region-prologue,mir-fuse-batch-preprocess"


def sliced(starts: Sequence[int], size: int = 1, resized: bool = False) -> rlx.Graph:
    """Slices of four images, from these indices on, each by itself."""
    g = rlx.Graph("g")
    x = g.param("x", (4, 3, 8, 8), "f64")
    slices = [g.narrow(x, 0, n, size) for n in starts]
    parts = [g.relu(g.resize_nearest_2x(a) if resized else a) for a in slices]
    g.set_outputs(g.concat(parts, 0))
    return g


@pytest.mark.parametrize(
    ("graph", "launches"),
    [
        (sliced((1, 2)), 1),
        (sliced((0, 2), size=2), 1),
        (sliced((0, 1), resized=True), 1),
        # in any other order, one for each run of slices
        (sliced((3, 0, 1, 2)), 2),
    ],
    ids=("two", "long", "resized", "order"),
)
def test_slices_with_the_same_ops_are_one_kernel(graph: rlx.Graph, launches: int):
    """Sections 6.2 and 9.2 of the sheet of passes: batch slices, batch preprocess and prologue."""
    marked = rlx.run_passes(graph, MARK)
    assert count(marked.module, "mir.batch_elementwise_region") == 1
    assert count(rlx.prepare_for_ad(marked).module, "mir.batch_elementwise_region") == 0
    # compile finds them too
    assert [count(rlx.lower(one, 1).module, "lir.launch") for one in (graph, marked)] == [launches] * 2
    inverse = rlx.run_passes(marked, "mir-decompose-fusion-regions")
    assert str(rlx.run_passes(inverse, "mir-fuse-batch-preprocess")) == str(marked)
    assert sorted(op.name for op in inverse.module.walk()) == sorted(op.name for op in graph.module.walk())


def test_slices_of_a_batch_keep_their_order_and_their_lengths():
    """W6 of the sheet of passes: two images each, the last first; slices of different lengths are no region."""

    def concatenated(region: bool) -> rlx.Graph:
        g = rlx.Graph("g")
        x, by = g.param("x", (6, 3, 2, 2), "f64"), g.input("by", (6, 3, 2, 2), "f64")
        parts, f = [g.narrow(x, 0, n, 2) for n in (4, 0, 2)], lambda a: g.tanh(a) * a
        y = g.batch_elementwise_region(f, parts) if region else g.concat(list(map(f, parts)), 0)
        g.set_outputs([g.reduce_sum(y * by), y])
        return g

    x, by = np.random.default_rng(8).standard_normal((2, 6, 3, 2, 2))
    moved = np.concatenate([x[4:], x[:4]])
    for region in (True, False):
        _, y, dx = rlx.compile(rlx.grad_with_loss(concatenated(region)))(x=x, by=by)
        np.testing.assert_allclose(y, np.tanh(moved) * moved, rtol=1e-13, atol=1e-15)
        slope = np.tanh(x) + x * (1 - np.tanh(x) ** 2)
        np.testing.assert_allclose(dx, np.concatenate([by[2:], by[:2]]) * slope, rtol=1e-12, atol=1e-14)
    g = rlx.Graph("g")
    x = g.input("x", (3, 1, 2, 2))
    with pytest.raises(rlx.GraphError, match="expected one type"):
        g.batch_elementwise_region(g.sin, [x[:2], x[2:]])


def _composites(g: rlx.Graph, a: Any, w: Any, b: Any) -> Any:
    """Of each kind that preparation takes apart: fused ops, a contraction, a reduction over two axes."""
    y = g.fused_matmul_bias_act(a, w, b, "tanh")
    y = g.fused_swiglu(g.concat([y, a], 1))
    z = g.fused_residual_ln(g.dot_general(y, y, [0], [1]), a, b, b)
    return z * g.reduce_max(g.exp(-y * y), [0, 1])


def _composites_in_jax(a: Any, w: Any, b: Any) -> Any:
    y = jnp.tanh(a @ w + b) * jax.nn.silu(a)
    z = jax.nn.standardize(y.T @ y.T + a, epsilon=1e-5) * b + b
    return z * jnp.max(jnp.exp(-y * y))


Function = Callable[[Any], Any]


def _branch(g: rlx.Graph, x: Any, f: Function) -> Any:
    return g.cond(g.reduce_sum(x) > -99.0, lambda: f(x), lambda: x)


def _loop(g: rlx.Graph, x: Any, f: Function, times: int = 2) -> Any:
    return g.while_loop(lambda c: g.reduce_sum(c) > -99.0, f, x, max_iterations=times)


def _scan(g: rlx.Graph, x: Any, f: Function, checkpoints: int | None = None) -> Any:
    return g.scan(lambda c, _: (f(c), None), x, length=2, checkpoints=checkpoints)[0]


BODIES: dict[str, tuple[Callable[[rlx.Graph, Any, Function], Any], int]] = {
    "branch": (_branch, 1),
    "choice": (lambda g, x, f: g.switch(g.full((), 1, "i32"), [lambda: x, lambda: f(x)]), 1),
    "remat": (lambda g, x, f: g.remat(f, x), 1),
    "function": (lambda g, x, f: g.custom_fn(f, x), 1),
    "loop": (_loop, 2),
    "scan": (_scan, 2),
    "checkpointed": (lambda g, x, f: _scan(g, x, f, 1), 2),
    "branch in a loop in a scan": (
        lambda g, x, f: _scan(g, x, lambda c: _loop(g, c, lambda d: _branch(g, d, f), 1)),
        2,
    ),
}
"""What runs a body, and how often."""


@pytest.mark.parametrize("body", BODIES)
def test_composites_in_any_body_have_the_derivatives_of_jax(body: str):
    """W18 of the sheet of passes: in both modes, as often as the body is run."""
    build, times = BODIES[body]
    rng = np.random.default_rng(9)
    arrays = {name: rng.standard_normal(shape) for name, shape in (("x", (3, 3)), ("w", (3, 3)), ("b", (3,)))}
    g = rlx.Graph("g")
    x, w, b = (g.param(name, array.shape, "f64") for name, array in arrays.items())
    y = build(g, x, lambda a: _composites(g, a, w, b))
    g.set_outputs(g.reduce_sum(y * y * y))

    def loss(x: Any, w: Any, b: Any) -> Any:
        for _ in range(times):
            x = _composites_in_jax(x, w, b)
        return jnp.sum(x**3)

    prepared = rlx.prepare_for_ad(g).module
    assert not any(count(prepared, f"mir.{name}") for name in ("fused_matmul_bias_act", "fused_residual_ln", "while"))
    value, *grads = jaxpr.evaluate(jax.value_and_grad(loss, (0, 1, 2)), *arrays.values())
    found = oracle.run(rlx.grad_with_loss(g, list(arrays)), **arrays)
    for ours, theirs in zip(found, [value, *grads], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-10)
    tangents = {f"tangent_{name}": array for name, array in arrays.items()}
    slope = sum(np.vdot(grad, array) for grad, array in zip(grads, arrays.values(), strict=True))
    np.testing.assert_allclose(oracle.run(rlx.jvp(g, list(arrays)), **arrays, **tangents)[1], slope, rtol=1e-9)


def test_regions_in_regions_are_taken_apart():
    """W-05: in a branch, and in the function and the rules of a function with rules."""
    g = rlx.Graph("g")
    x = g.param("x", (2, 2, 2, 2), "f64")

    def body(a: Any) -> Any:
        return g.transform_region(g.resize_nearest_2x, g.elementwise_region(g.sin, a))

    def halved(a: Any) -> Any:
        return g.reduce_sum(g.reshape(a, (2, 2, 2, 2, 2, 2)), (3, 5))

    inner = g.custom_fn(body, x, jvp=lambda a, t: body(a) * g.resize_nearest_2x(t))
    g.set_outputs(g.reduce_sum(g.cond(g.reduce_sum(x) > -100.0, lambda: halved(inner), lambda: body(x)[:, :, :2, :2])))
    prepared = rlx.prepare_for_ad(g).module
    assert not any(op.name.endswith("_region") for op in prepared.walk())
    a = np.random.default_rng(7).standard_normal((2, 2, 2, 2))
    (dx,) = rlx.compile(rlx.grad(g, ["x"]))(x=a)
    np.testing.assert_allclose(dx, 4 * np.sin(a), rtol=1e-13)
