"""What stands in a gradient program, and the numbers it gives: small graphs whose structure can be told beforehand."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import xdsl_rlx as rlx
from xdsl_rlx.dialects import mir
from xdsl_rlx.dialects.lir import LaunchOp, ParamOp, ViewOp
from xdsl_rlx.dialects.mir import elementwise, fused, linalg, solve

Array = np.ndarray[Any, Any]


def count(made: rlx.Graph | rlx.GraphModule, op: type) -> int:
    """How many ops of a kind the module holds."""
    return sum(isinstance(inner, op) for inner in made.module.walk())


def run(made: rlx.GraphModule, *arrays: Array) -> Sequence[Array]:
    return rlx.compile(made)(*arrays)


def two_inputs() -> tuple[rlx.Graph, Any, Any]:
    g = rlx.Graph("f")
    return g, g.input("x", (4,)), g.input("y", (4,))


A, B = np.arange(1, 5, dtype=np.float32), np.array([2, -1, 0.5, 3], np.float32)


def test_the_gradient_of_a_sum_is_the_cotangent():
    g, x, y = two_inputs()
    g.set_outputs([x + y])
    made = rlx.grad(g, wrt=["x", "y"])
    assert len(made.signature.outputs) == 2
    dx, dy = run(made, A, B, B)
    np.testing.assert_array_equal(dx, B)
    np.testing.assert_array_equal(dy, B)


def test_the_gradient_of_a_product_uses_the_other_operand():
    g, x, y = two_inputs()
    g.set_outputs([x * y])
    made = rlx.grad(g, wrt=["x", "y"])
    assert count(made, elementwise.MulOp) >= 2
    dx, dy = run(made, A, B)
    np.testing.assert_array_equal(dx, B)
    np.testing.assert_array_equal(dy, A)


def test_the_loss_comes_first():
    g, x, y = two_inputs()
    g.set_outputs([x + y])
    made = rlx.grad_with_loss(g, wrt=["x", "y"])
    loss, dx, dy = run(made, A, B)
    np.testing.assert_array_equal(loss, A + B)
    np.testing.assert_array_equal(dx, np.ones(4))
    np.testing.assert_array_equal(dy, np.ones(4))


def test_the_gradient_of_a_solve_is_a_solve_with_the_transpose():
    """By the implicit function: `db = A^-T g`, `dA = -db x^T`; one factorisation serves both solves."""
    g = rlx.Graph("f")
    a, b = g.param("a", (2, 2)), g.input("b", (2,))
    g.set_outputs([g.reduce_sum(g.dense_solve(a, b))])
    made = rlx.grad_with_loss(g, wrt=["a", "b"])
    assert len(made.signature.outputs) == 3
    assert count(made, solve.DenseSolveOp) == 2
    assert [op.transpose is not None for op in made.module.walk() if isinstance(op, solve.DenseSolveOp)] == [
        False,
        True,
    ]
    for op in (mir.shape.TransposeOp, linalg.MatmulOp, elementwise.NegOp):
        assert count(made, op) == 1
    kernels = [op.kernel.string_value() for op in rlx.lower(made).module.walk() if isinstance(op, LaunchOp)]
    assert sum(name.endswith("_lu") for name in kernels) == 1
    assert sum(name.endswith("_lu_solve") for name in kernels) == 2
    # A = [[0, 2], [4, 1]] and b = [6, 5]: x = [0.5, 3]; A^T y = [1, 1]: y = [0.375, 0.25].
    loss, da, db = rlx.compile(made)(a=np.array([[0, 2], [4, 1]], np.float32), b=np.array([6, 5], np.float32))
    np.testing.assert_allclose(loss, 3.5, rtol=1e-6)
    np.testing.assert_allclose(db, [0.375, 0.25], rtol=1e-6)
    np.testing.assert_allclose(da, [[-0.1875, -1.125], [-0.125, -0.75]], rtol=1e-6)


def linear(activation: str | None) -> rlx.GraphModule:
    return rlx.GraphModule.define(
        "linear", lambda m: m.linear(m.input("x", (2, 8)), m.param("w", (8, 8)), m.param("b", (8,)), activation)
    )


def linear_arrays() -> list[Array]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal(shape).astype(np.float32) for shape in ((2, 8), (8, 8), (8,))]


def test_a_block_is_lowered_fused_and_unfused_for_its_gradient():
    model = linear("gelu")
    assert count(rlx.lower_hir(model, fusion_policy="direct"), fused.FusedMatmulBiasActOp) == 1
    made = rlx.grad_with_loss(model, wrt=["w", "b"])
    assert count(made, fused.FusedMatmulBiasActOp) == 0
    assert count(made, linalg.MatmulOp) >= 2
    x, w, b = linear_arrays()
    y, dw, db = run(made, x, w, b)

    def same(w: Any, b: Any) -> Any:
        return jax.nn.gelu(x @ w + b, approximate=False)

    np.testing.assert_allclose(y, same(w, b), rtol=0, atol=1e-5)
    for got, expected in zip((dw, db), jax.grad(lambda *p: jnp.sum(same(*p)), (0, 1))(w, b), strict=True):
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-5)


def test_preparation_as_a_pass_and_as_a_function_is_the_same():
    model = rlx.lower_hir(linear("silu"))
    prepared = rlx.run_passes(model, "mir-prepare-for-ad"), rlx.prepare_for_ad(model)
    assert str(prepared[0]) == str(prepared[1])
    assert sum(1 for _ in prepared[0].module.walk()) == sum(1 for _ in prepared[1].module.walk())
    x, w, b = linear_arrays()

    def same(w: Any, b: Any) -> Any:
        return jax.nn.silu(x @ w + b)

    expected = jax.grad(lambda *p: jnp.sum(same(*p)), (0, 1))(w, b)
    for made in (model, *prepared):
        y, *grads = run(rlx.grad_with_loss(made, wrt=["w", "b"]), x, w, b)
        np.testing.assert_allclose(y, same(w, b), rtol=0, atol=1e-5)
        for got, wanted in zip(grads, expected, strict=True):
            np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-5)


def test_a_gradient_of_a_plain_product_holds_no_fused_op():
    g = rlx.Graph("f")
    x, w = g.input("x", (2, 8)), g.param("w", (8, 3))
    g.set_outputs([x @ w])
    made = rlx.run_passes(rlx.grad(g, wrt=["w"]), "canonicalize,dce")
    assert count(made, fused.FusedMatmulBiasActOp) == 0
    assert {type(op) for op in made.module.walk() if op.name.startswith("mir.")} == {
        linalg.MatmulOp,
        mir.shape.TransposeOp,
    }
    a, seed = linear_arrays()[0], np.ones((2, 3), np.float32)
    np.testing.assert_allclose(run(made, a, np.zeros((8, 3), np.float32), seed)[0], a.T @ seed, rtol=1e-5)


def test_forward_and_backward_of_a_step_read_the_same_weights():
    model = rlx.grad_with_loss(linear(None), wrt=["x", "w"], zero_missing_wrt=True)
    lowered = rlx.lower(model)
    params = [op for op in lowered.module.walk() if isinstance(op, ParamOp)]
    assert [op.buffer_name.data for op in params] == ["w", "b"]
    (weights,) = [op.result for op in params if op.buffer_name.data == "w"]
    views = [op for op in lowered.module.walk() if isinstance(op, ViewOp) and op.source is weights]
    assert [op.offset.value.data for op in views] == [0]
    names = {weights, *(op.result for op in views)}
    readers = [op for op in lowered.module.walk() if isinstance(op, LaunchOp) and names & set(op.operands)]
    assert len(readers) == 2
    # Nothing lies beside the caller's arrays: neither program has a copy of the weights.
    forward, step = rlx.compile(linear(None)), rlx.compile(model)
    assert forward.arena_bytes == step.arena_bytes == 0
    x, w, b = linear_arrays()
    for new in (w.copy(), np.linspace(-1, 1, 64, dtype=np.float32).reshape(8, 8)):
        w[:] = new  # as an optimiser does, in place
        np.testing.assert_allclose(forward(x, w, b)[0], x @ w + b, rtol=0, atol=1e-5)
        y, dx, dw = step(x, w, b)
        np.testing.assert_allclose(y, x @ w + b, rtol=0, atol=1e-5)
        np.testing.assert_allclose(dx, np.ones((2, 8)) @ w.T, rtol=0, atol=1e-5)
        np.testing.assert_allclose(dw, x.T @ np.ones((2, 8)), rtol=0, atol=1e-5)
