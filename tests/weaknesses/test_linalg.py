"""Contractions, low-rank products and solves where a simpler system goes wrong."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import xdsl_rlx as rlx
from xdsl_rlx.lowering.backend.runtime.compile_module import lower_to_lir

jax.config.update("jax_enable_x64", True)


@pytest.mark.parametrize("prepared", [False, True])
def test_a_general_contraction_has_a_gradient_in_both_modes(prepared: bool):
    """W-65: two contracted dimensions, crossed, and a batch dimension, with and without preparation for AD."""
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((3, 2, 5, 4)), rng.standard_normal((5, 4, 6, 2))
    g = rlx.Graph("f")
    x, y = g.input("x", a.shape, "f64"), g.input("y", b.shape, "f64")
    z = g.dot_general(x, y, [3, 2], [1, 0], [1], [3])
    g.set_outputs([g.reduce_sum(z * z)])
    source: Any = rlx.prepare_for_ad(g) if prepared else g
    loss, dx, dy = rlx.compile(rlx.grad_with_loss(source, wrt=["x", "y"]))(x=a, y=b)
    expected = np.einsum("ibjk,jkob->bio", a, b)
    np.testing.assert_allclose(loss, (expected**2).sum(), rtol=1e-12)
    np.testing.assert_allclose(dx, 2 * np.einsum("bio,jkob->ibjk", expected, b), rtol=1e-11)
    np.testing.assert_allclose(dy, 2 * np.einsum("bio,ibjk->jkob", expected, a), rtol=1e-11)
    *_, t = rlx.compile(rlx.jvp(source, ["x"]))(x=a, y=b, tangent_x=a)
    np.testing.assert_allclose(t, 2 * (expected**2).sum(), rtol=1e-12)


def test_the_scale_of_a_low_rank_product_is_exact_in_double_precision():
    """W-30: 0.1 as f64, not as the nearest f32."""
    rng = np.random.default_rng(1)
    shapes = {"x": (3, 5), "w": (5, 4), "a": (5, 2), "b": (2, 4)}
    arrays = {name: rng.standard_normal(shape) for name, shape in shapes.items()}
    g = rlx.Graph("f")
    y = g.lora_matmul(*(g.input(name, shape, "f64") for name, shape in shapes.items()), scale=0.1)
    g.set_outputs([y])
    (found,) = rlx.compile(g)(**arrays)
    x, w, a, b = arrays.values()
    np.testing.assert_allclose(found, x @ w + 0.1 * (x @ a @ b), rtol=1e-13)


def _solve_graph(shape: tuple[int, ...]) -> rlx.Graph:
    g = rlx.Graph("f")
    a, b = g.input("a", (*shape, shape[-1]), "f64"), g.input("b", shape, "f64")
    x = g.dense_solve(a, b) if len(shape) == 1 else g.batched_dense_solve(a, b)
    g.set_outputs([g.reduce_sum(x * x * x)])
    return g


def _regular(*shape: int) -> np.ndarray:
    rng = np.random.default_rng(2)
    return rng.standard_normal((*shape, shape[-1])) + 3 * np.eye(shape[-1])[::-1]


def test_the_gradient_of_a_solve_reuses_its_factorisation():
    """Spec 3.7: one factorisation of the matrix serves the solve and the solve of its gradient."""
    grad = rlx.grad_with_loss(_solve_graph((2, 4)), wrt=["a", "b"])
    program = lower_to_lir(grad.module)
    launches = [op for op in program.walk() if op.name == "lir.launch"]
    kernels = [str(op.properties["kernel"]) for op in launches]
    assert sum(name.endswith("_lu") for name in kernels) == 1
    assert sum(name.endswith("_lu_solve") for name in kernels) == 2


def test_a_batched_solve_has_a_tangent_and_a_batch_of_batches():
    """W-73: batched solves were neither differentiated forwards nor batched."""
    a, b = _regular(2, 3), np.random.default_rng(3).standard_normal((2, 3))
    g = _solve_graph((2, 3))

    def f(a: Any, b: Any) -> Any:
        return jnp.sum(jnp.linalg.solve(a, b[..., None])[..., 0] ** 3)

    *_, t = rlx.compile(rlx.jvp(g, ["a", "b"]))(a=a, b=b, tangent_a=b[..., None] * a, tangent_b=b)
    np.testing.assert_allclose(t, jax.jvp(f, (a, b), (b[..., None] * a, b))[1], rtol=1e-10)
    stacked = np.stack([a, 2 * a, a + 1])
    (found,) = rlx.compile(rlx.vmap(g, ["a"], 3))(a=stacked, b=b)
    np.testing.assert_allclose(found, [f(m, b) for m in stacked], rtol=1e-10)


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("transpose", [False, True])
def test_a_complex_solve_has_the_gradient_of_the_conjugate_transpose(dtype: type[Any], transpose: bool):
    """W-21: `db = a^-H g`, not `a^-T g`; values are those of numpy.linalg.solve, and one factorisation serves both."""
    rng = np.random.default_rng(5)
    a, b = (
        (rng.standard_normal(s) + 1j * rng.standard_normal(s) + 3 * shift).astype(dtype)
        for s, shift in (((4, 4), np.eye(4)), ((4, 2), 0))
    )
    g = rlx.Graph("f")
    x = g.dense_solve(g.input("a", a.shape, dtype), g.input("b", b.shape, dtype), transpose)
    g.set_outputs([x])
    tol: dict[str, float] = {"rtol": 0, "atol": 64 * float(np.finfo(dtype).eps)}
    np.testing.assert_allclose(rlx.compile(g)(a=a, b=b)[0], np.linalg.solve(a.T if transpose else a, b), **tol)
    g.set_outputs([g.reduce_sum(g.complex_norm_sq(x))])
    made = rlx.grad_with_loss(g, wrt=["a", "b"])
    _, da, db = rlx.compile(made)(a=a, b=b)
    wide, rhs = a.astype(np.complex128), b.astype(np.complex128)

    def loss(a: Any, b: Any) -> Any:
        return jnp.sum(jnp.abs(jnp.linalg.solve(a.T if transpose else a, b)) ** 2)

    for ours, theirs in zip((da, db), jax.grad(loss, (0, 1))(wide, rhs), strict=True):
        np.testing.assert_allclose(ours, np.conj(theirs), **tol)
    kernels = [str(op.properties["kernel"]) for op in lower_to_lir(made.module).walk() if op.name == "lir.launch"]
    assert sum(name.endswith("_lu") for name in kernels) == 1


def test_a_solve_has_second_derivatives():
    """W-04: the gradient of a solve is made of solves, which have gradients."""
    a, b = _regular(3), np.random.default_rng(4).standard_normal(3)
    grad = rlx.grad(_solve_graph((3,)), wrt=["a"])
    *_, t = rlx.compile(rlx.jvp(grad, ["a"]))(a=a, b=b, tangent_a=np.eye(3), d_output=1.0)
    first = jax.grad(lambda a: jnp.sum(jnp.linalg.solve(a, b) ** 3))
    np.testing.assert_allclose(t, jax.jvp(first, (a,), (np.eye(3),))[1], rtol=1e-9)


@pytest.mark.parametrize("n", [2, 70])
def test_a_singular_matrix_gives_infinities_and_not_an_end_of_the_process(n: int):
    """Spec 3.7: where the reference panics, the result says it; with loops of our own and with LAPACK."""
    a = np.ones((n, n), np.float32)
    g = rlx.Graph("f")
    g.set_outputs([g.dense_solve(g.input("a", (n, n)), g.input("b", (n,)))])
    (x,) = rlx.compile(g)(a=a, b=np.arange(n, dtype=np.float32))
    assert not np.isfinite(x).all()
    (x,) = rlx.compile(g)(a=np.eye(n, dtype=np.float32), b=np.arange(n, dtype=np.float32))
    np.testing.assert_array_equal(x, np.arange(n))


@pytest.mark.parametrize("n", [2, 70])
def test_the_log_determinant_of_a_singular_matrix(n: int):
    """Its value is -inf, its derivative not finite, and neither ends the process."""

    def program(a: Any) -> Any:
        return np.linalg.slogdet(a)

    def loss(a: Any) -> Any:
        return np.linalg.slogdet(a)[1]

    a = np.ones((n, n))
    sign, size = rlx.compile(program)(a)
    assert sign == 0 and size == -np.inf
    assert not np.isfinite(rlx.compile(rlx.grad(loss))(a)).all()


@pytest.mark.parametrize("n", [2, 7, 70])
def test_the_log_determinant_has_second_derivatives(n: int):
    """`d(a^-T) = -a^-T da^T a^-T`."""
    a, t = _regular(n), np.random.default_rng(4).standard_normal((n, n))

    def slope(a: Any) -> Any:
        return rlx.grad(lambda a: np.linalg.slogdet(a)[1])(a)

    turned = np.linalg.inv(a).T
    _, found = rlx.compile(lambda a, t: rlx.jvp(slope)((a,), (t,)))(a, t)
    np.testing.assert_allclose(found, -turned @ t.T @ turned, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("n", [3, 70])
def test_pivots_that_no_factorisation_gave_touch_no_other_memory(n: int):
    g = rlx.Graph("f")
    pivots = g.input("pivots", (n,), "i32")
    g.set_outputs([g.lu_solve(g.input("a", (n, n)), pivots, g.input("b", (n,)))])
    a, b = np.eye(n, dtype=np.float32), np.arange(n, dtype=np.float32)
    (x,) = rlx.compile(g)(a=a, b=b, pivots=np.full(n, 2**31 - 1, np.int32))
    assert sorted(x) == sorted(b)


def test_a_factor_that_is_one_number_throughout_is_read_from_memory():
    """A product alone, on either side of what follows it, and in a chain."""
    rng = np.random.default_rng(3)
    x, y = rng.standard_normal((3, 5)), rng.standard_normal((5, 3))

    def program(x: Any, y: Any) -> Any:
        halves = np.full((5, 2), 0.5)
        return (
            x @ halves,
            (x @ halves) ** 2,
            np.ones((2, 3)) @ x + 1,
            y @ (x @ halves),
            np.ones((4, 5)) @ (y @ halves[:3]),
        )

    for found, expected in zip(rlx.compile(program)(x, y), program(x, y), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-13)


@pytest.mark.parametrize(
    ("shape", "columns"), [((6, 3), ()), ((5, 5), (2,)), ((3, 6), ()), ((60, 50), (7,)), ((9, 1), ())]
)
def test_least_squares_of_any_rank(shape: tuple[int, int], columns: tuple[int, ...]):
    """Full, ill-conditioned but of full rank, with columns twice, zero, not finite: as singular values say."""
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal(shape), rng.standard_normal((shape[0], *columns))
    run = rlx.compile(lambda a, b: np.linalg.lstsq(a, b, rcond=None))
    n = shape[1]
    matrices = {
        "full": a,
        "ill-conditioned": a * 10.0 ** -np.linspace(0, 11, n),
        "twice": a[:, np.arange(n) // 2],
        "zero": 0 * a,
    }
    for name, matrix in matrices.items():
        found, exact = run(matrix, b), np.linalg.lstsq(matrix, b, rcond=None)
        assert found[2] == exact[2], name
        size = np.abs(exact[0]).max()
        np.testing.assert_allclose(found[0], exact[0], rtol=1e-9, atol=1e-9 * size, err_msg=name)
    a[0, 0] = np.nan
    assert np.isnan(run(a, b)[0]).all()
